/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* `match` on data.
 *
 * hiaF_match_tree finds the decisions of the match. Here each becomes tests that are true or false:
 * the constructors of a type, and integers, are tested one after the other; many by a balanced
 * search. Where two keys are possible, one test is made, and always of the first key: equal tests
 * of one value are then one test after cse.
 *
 * Several ways lead to one decision, and to one arm. But branches nest, so what several ways lead
 * to is made once for each of them. Where that would be much, such decisions are *cut*: tests
 * without arms find the number of the cut that the subject leads to, or that it leads to none, and
 * a search for that number then leads to what is made of the cut. Behind the search tests whose
 * outcome follows from the number are left out. One would expect such tests to find the number of
 * an arm. But then the search would have as many numbers as there are arms, and LLVM looks at each
 * number for each comparison.
 *
 * A field is read where a test or an arm needs it, and again where it is not yet known: where the
 * number of a cut leads, the constructors follow from the number. */
#include "frontend/check/cover.h"
#include "frontend/elab/elab.h"
#include "frontend/kit/pieces.h"
#include "frontend/syntax/ast.h"
#include "frontend/syntax/program.h"
#include "graph/ir/build.h"

typedef enum test_kind {
  TEST_IS,   /* the constructor's number, or the integer, is the key */
  TEST_LESS, /* is less than the key */
  TEST_TRUE, /* a bool is true */
} test_kind;

/* A test, or an arm. */
typedef struct decision {
  uint32_t occurrence; /* NONE: an arm */
  uint32_t arm;
  test_kind test;
  int64_t key;
  uint32_t next[2]; /* if true, else; before this one in matcher.decisions */
  uint64_t size;    /* what is made of it, if nothing is cut: roughly in nodes of syntax */
  uint64_t n_ways;  /* how often it is made */
  uint32_t cut;     /* the number that it has as a cut; NONE: it is no cut */
  bool has_cut;     /* a test of it, or further on, leads to a cut */
  bool has_arm;     /* it leads to an arm otherwise than through a cut */
} decision;

typedef struct occurrence {
  hia_match_occurrence where;
  hia_value_id value, con; /* on the way to here: of one word; the number of its constructor; NONE:
                              not read */
} occurrence;

/* The occurrences of a constructor's fields, which stand together. */
typedef struct parts {
  uint32_t occurrence, con, first;
} parts;

typedef struct matcher {
  hia_elab *e;
  const uint32_t *arms; /* pattern, expression, ... */
  uint32_t n_arms;
  hia_match_tree tree;
  hia_itype type; /* the type of the result */
  hia_loc_id loc;
  bool tail;
  HIA_VEC(occurrence) occurrences; /* the tree's, and those that only variables stand for */
  hia_index parts_index;
  HIA_VEC(parts) parts;
  hia_u32vec known; /* occurrences with values, in the order in which they were read */
  HIA_VEC(decision) decisions;
  hia_u32vec cuts; /* decisions by number; the first is the whole match */
} matcher;

/* Nodes of syntax that may be made again: of a match, and for each of its arms. Where there would
 * be more: for each decision that is not cut. */
enum { MAX_COPIED = 96, MAX_COPIED_ARM = 8, MAX_UNCUT = 16, TEST_SIZE = 2 };
#define MAX_SIZE (UINT64_C(1) << 32)

/* ---- decisions ---- */

/* The keys of an occurrence: from `least` to `most`. */
typedef struct range {
  int64_t least, most;
} range;

static range range_of(const matcher *m, hia_itype type) {
  if (type == HIA_I32) return (range){INT32_MIN, INT32_MAX};
  if (type == HIA_I64) return (range){INT64_MIN, INT64_MAX};
  return (range){0, type == HIA_BOOL ? 1 : hiaF_n_cons(m->e->p, type) - 1};
}

static uint32_t add_decision(matcher *m, decision d) {
  d.cut = HIA_NONE;
  hiaR_push(m->e->arena, &m->decisions, d);
  return m->decisions.len - 1;
}

static uint32_t add_test(matcher *m, uint32_t at, test_kind test, int64_t key, uint32_t if_true,
                         uint32_t otherwise) {
  if (if_true == otherwise) return if_true;
  return add_decision(
      m, (decision){.occurrence = at, .test = test, .key = key, .next = {if_true, otherwise}});
}

/* A node of the tree; the nodes before it have been decided: decided[...]. */
typedef struct deciding {
  matcher *m;
  const hia_match_case *cases;
  const uint32_t *decided;
  uint32_t occurrence, otherwise; /* NONE: all keys have cases */
} deciding;

/* The decision over cases[low .. high) and all other keys in the range. */
static uint32_t decide(const deciding *d, uint32_t low, uint32_t high, range r) {
  const hia_match_case *c = d->cases;
  if (high - low == 1) {
    bool is_certain = r.least == r.most || d->otherwise == HIA_NONE;
    uint32_t found = d->decided[c[low].node];
    return is_certain ? found
                      : add_test(d->m, d->occurrence, TEST_IS, c[low].key, found, d->otherwise);
  }
  uint32_t middle = low + (high - low) / 2;
  int64_t key = c[middle].key;
  uint32_t less = decide(d, low, middle, (range){r.least, key - 1});
  return add_test(d->m, d->occurrence, TEST_LESS, key, less,
                  decide(d, middle, high, (range){key, r.most}));
}

static uint32_t decide_in_turn(const deciding *d, uint32_t n) {
  uint32_t rest = d->otherwise == HIA_NONE ? d->decided[d->cases[--n].node] : d->otherwise;
  while (n-- > 0)
    rest =
        add_test(d->m, d->occurrence, TEST_IS, d->cases[n].key, d->decided[d->cases[n].node], rest);
  return rest;
}

/* The decision for one of two keys. */
static uint32_t find_case(const deciding *d, uint32_t n, int64_t key) {
  for (uint32_t i = 0; i < n; i++)
    if (d->cases[i].key == key) return d->decided[d->cases[i].node];
  return d->otherwise;
}

static uint32_t add_node(matcher *m, const hia_match_node *n, const uint32_t *decided) {
  if (n->occurrence == HIA_NONE)
    return add_decision(m, (decision){.occurrence = HIA_NONE, .arm = n->arm});
  hia_itype type = m->occurrences.data[n->occurrence].where.type;
  range r = range_of(m, type);
  const deciding d = {.m = m,
                      .cases = m->tree.cases.data + n->first,
                      .decided = decided,
                      .occurrence = n->occurrence,
                      .otherwise = n->otherwise == HIA_NONE ? HIA_NONE : decided[n->otherwise]};
  if (r.least == 0 && r.most == 1) {
    uint32_t found[2] = {find_case(&d, n->n, 0), find_case(&d, n->n, 1)};
    return type == HIA_BOOL ? add_test(m, n->occurrence, TEST_TRUE, 1, found[1], found[0])
                            : add_test(m, n->occurrence, TEST_IS, 0, found[0], found[1]);
  }
  return n->n <= HIA_MATCH_CHAIN ? decide_in_turn(&d, n->n) : decide(&d, 0, n->n, r);
}

/* Returns the decision that the match begins with. */
static uint32_t find_decisions(matcher *m) {
  const hia_match_tree *tree = &m->tree;
  uint32_t *decided = HIA_NEW_ARRAY(m->e->arena, uint32_t, tree->nodes.len);
  for (uint32_t i = 0; i < tree->nodes.len; i++)
    decided[i] = add_node(m, &tree->nodes.data[i], decided);
  return decided[tree->root];
}

/* ---- cuts ---- */

static uint64_t at_most(uint64_t limit, uint64_t x) { return x < limit ? x : limit; }

/* Finds the sizes of decisions. True if little is made again when nothing is cut. */
static bool is_small(matcher *m, uint32_t root) {
  uint64_t once = 0;
  for (uint32_t i = 0; i <= root; i++) {
    decision *d = &m->decisions.data[i];
    uint64_t own_size = TEST_SIZE;
    if (d->occurrence == HIA_NONE)
      own_size = hiaF_arm_size(m->e->p, m->arms[2 * d->arm], m->arms[2 * d->arm + 1]);
    once += own_size;
    d->size = own_size;
    for (uint32_t k = 0; k < 2 && d->occurrence != HIA_NONE; k++)
      d->size += m->decisions.data[d->next[k]].size;
    d->size = at_most(MAX_SIZE, d->size);
  }
  uint64_t size = m->decisions.data[root].size;
  uint64_t limit = MAX_COPIED + (uint64_t)MAX_COPIED_ARM * m->n_arms;
  return size < MAX_SIZE && (size - once) * m->e->n_copies <= limit;
}

static void add_cut(matcher *m, uint32_t id) {
  m->decisions.data[id].cut = m->cuts.len;
  hiaR_push(m->e->arena, &m->cuts, id);
}

static void find_cuts(matcher *m, uint32_t root) {
  bool may_cut = !is_small(m, root);
  add_cut(m, root);
  m->decisions.data[root].n_ways = 1;
  for (uint32_t i = root + 1; i-- > 0;) {
    decision *d = &m->decisions.data[i];
    if (may_cut && d->n_ways > 1 && (d->n_ways - 1) * d->size > MAX_UNCUT) {
      add_cut(m, i);
      d->n_ways = 1;
    }
    for (uint32_t k = 0; k < 2 && d->occurrence != HIA_NONE; k++) {
      uint64_t *n = &m->decisions.data[d->next[k]].n_ways;
      *n = at_most(UINT32_MAX, *n + d->n_ways);
    }
  }
  for (uint32_t i = 0; i <= root; i++) {
    decision *d = &m->decisions.data[i];
    d->has_arm = d->occurrence == HIA_NONE;
    for (uint32_t k = 0; k < 2 && d->occurrence != HIA_NONE; k++) {
      const decision *next = &m->decisions.data[d->next[k]];
      d->has_cut |= next->cut != HIA_NONE || next->has_cut;
      d->has_arm |= next->cut == HIA_NONE && next->has_arm;
    }
  }
}

/* ---- reading fields ---- */

static void index_parts(matcher *m, parts p) {
  uint32_t key[2] = {p.occurrence, p.con};
  hiaR_index_add(m->e->arena, &m->parts_index, hiaR_hash(key, sizeof key), m->parts.len);
  hiaR_push(m->e->arena, &m->parts, p);
}

static void add_occurrence(matcher *m, hia_match_occurrence where) {
  hiaR_push(m->e->arena, &m->occurrences, (occurrence){where, HIA_NONE, HIA_NONE});
}

static void add_occurrences(matcher *m) {
  for (uint32_t i = 0; i < m->tree.occurrences.len; i++) {
    hia_match_occurrence where = m->tree.occurrences.data[i];
    add_occurrence(m, where);
    if (where.parent != HIA_NONE && where.field == 0)
      index_parts(m, (parts){where.parent, where.con, i});
  }
}

/* Returns the occurrence of a field of a constructor that an occurrence holds. */
static uint32_t part_of(matcher *m, uint32_t id, const hia_decl *con, uint32_t field) {
  uint32_t key[2] = {id, con->number}, hash = hiaR_hash(key, sizeof key), at = hash, i;
  while ((i = hiaR_index_next(&m->parts_index, hash, &at)) != HIA_NONE)
    if (m->parts.data[i].occurrence == id && m->parts.data[i].con == con->number)
      return m->parts.data[i].first + field;
  uint32_t first = m->occurrences.len;
  index_parts(m, (parts){id, con->number, first});
  for (uint32_t k = 0; k < con->n_params; k++)
    add_occurrence(m, (hia_match_occurrence){id, con->number, k, con->param_types[k]});
  return first + field;
}

static hia_value_id value_of(matcher *m, uint32_t id);

/* Reads a word of an occurrence that is a field. */
static hia_value_id read_word(matcher *m, uint32_t id, uint32_t word) {
  hia_elab *e = m->e;
  const hia_match_occurrence where = m->occurrences.data[id].where;
  hia_itype data = m->occurrences.data[where.parent].where.type;
  const hia_decl *con = hiaF_cons(e->p, data) + where.con;
  for (uint32_t k = 0; k < where.field; k++)
    word += hiaF_itype_words(&e->p->it, con->param_types[k]);
  hia_value_id from = value_of(m, where.parent);
  hia_type_table types = hiaG_type_table(e->g->types);
  const hia_ctor *ctor = hiaR_ctor(&types, hiaG_type(e->fn, from), where.con);
  hia_type type = types.layout_words[ctor->layout.first + word].type;
  hia_node_id field = hiaG_add(e->g, e->fn, e->region, HIA_OP_FIELD, &from, 1, &type, 1,
                               HIA_IMM(where.con, word), m->loc);
  return hiaG_out(e->fn, field, 0);
}

/* Returns the value of an occurrence of one word. */
static hia_value_id value_of(matcher *m, uint32_t id) {
  if (m->occurrences.data[id].value != HIA_NONE) return m->occurrences.data[id].value;
  hia_value_id value = read_word(m, id, 0);
  m->occurrences.data[id].value = value;
  hiaR_push(m->e->arena, &m->known, id);
  return value;
}

static hia_value_id con_of(matcher *m, uint32_t id) {
  hia_elab *e = m->e;
  if (m->occurrences.data[id].con != HIA_NONE) return m->occurrences.data[id].con;
  hia_value_id value = value_of(m, id);
  hia_type type = HIA_I32;
  hia_node_id con = hiaG_add(e->g, e->fn, e->region, HIA_OP_CTOR, &value, 1, &type, 1, 0, m->loc);
  hiaR_push(e->arena, &m->known, id);
  return m->occurrences.data[id].con = hiaG_out(e->fn, con, 0);
}

/* Forgets what was read since `known` had this length: the region ends in which that stands. */
static void forget(matcher *m, uint32_t len) {
  while (m->known.len > len) {
    occurrence *p = &m->occurrences.data[m->known.data[--m->known.len]];
    if (p->con != HIA_NONE)
      p->con = HIA_NONE;
    else
      p->value = HIA_NONE;
  }
}

/* ---- arms ---- */

/* Makes the variables of a pattern stand for the parts of its occurrence. */
static void bind(matcher *m, hia_ast_id pattern, uint32_t id) {
  hia_elab *e = m->e;
  const hia_ast *n = hiaF_node(e->p, pattern);
  if (n->kind == HIA_AST_PAT_NAME) {
    uint32_t base = e->words.len;
    hia_itype type = m->occurrences.data[id].where.type;
    uint32_t words = hiaF_itype_words(&e->p->it, type);
    for (uint32_t i = 0; i < words; i++) {
      hia_value_id word = words == 1 ? value_of(m, id) : read_word(m, id, i);
      hiaR_push(e->arena, &e->words, word);
    }
    hiaF_elab_bind(e, pattern, type, base);
    e->words.len = base;
  } else if (n->kind == HIA_AST_PAT_CON) {
    for (uint32_t k = 0; k < n->c; k++) {
      hia_ast_id part = e->p->extra.data[n->b + k];
      uint8_t kind = hiaF_node(e->p, part)->kind;
      if (kind == HIA_AST_PAT_CON || (kind == HIA_AST_PAT_NAME && e->is_used[part - e->first]))
        bind(m, part, part_of(m, id, hiaF_pattern_con(e->p, n), k));
    }
  }
}

/* Pushes the value of an arm's expression. */
static void make_arm(matcher *m, const decision *d) {
  hia_elab *e = m->e;
  uint32_t outer = e->n_copies, known = m->known.len;
  e->n_copies = (uint32_t)at_most(UINT32_MAX, outer * d->n_ways);
  bind(m, m->arms[2 * d->arm], 0);
  hiaF_elab(e, m->arms[2 * d->arm + 1], m->tail);
  forget(m, known);
  e->n_copies = outer;
}

/* ---- tests ---- */

static hia_value_id compare(matcher *m, unsigned op, hia_value_id left, int64_t right) {
  hia_elab *e = m->e;
  hia_type type = hiaG_type(e->fn, left);
  hia_word word = type == HIA_I32 ? hiaR_from_i32((int32_t)right) : hiaR_from_i64(right);
  hia_value_id in[2] = {left, hiaG_const(e->g, e->fn, e->region, type, word, m->loc)};
  return hiaG_op(e->g, e->fn, e->region, op, in, 2, m->loc);
}

static hia_value_id test(matcher *m, const decision *d) {
  if (d->test == TEST_TRUE) return value_of(m, d->occurrence);
  bool is_data = hiaF_is_data(m->occurrences.data[d->occurrence].where.type);
  hia_value_id left = is_data ? con_of(m, d->occurrence) : value_of(m, d->occurrence);
  return compare(m, d->test == TEST_IS ? HIA_OP_EQ : HIA_OP_LT, left, d->key);
}

static void push_number(matcher *m, uint32_t number) {
  hia_elab *e = m->e;
  hia_word word = hiaR_from_i32((int32_t)number);
  hia_value_id v = hiaG_const(e->g, e->fn, e->region, HIA_I32, word, m->loc);
  hiaR_push(e->arena, &e->words, v);
}

/* Pushes what is made of a decision, as far as it leads to arms without a cut. If there is a
 * `number`, pushes the number of the cut that it leads to instead, or `number` if it leads to
 * none. */
static void follow(matcher *m, uint32_t id, uint32_t number) {
  hia_elab *e = m->e;
  const decision d = m->decisions.data[id];
  if (number != HIA_NONE && !d.has_cut) {
    push_number(m, number);
    return;
  }
  if (d.occurrence == HIA_NONE) {
    make_arm(m, &d);
    return;
  }
  for (uint32_t k = 0; k < 2 && number == HIA_NONE; k++) {
    const decision *next = &m->decisions.data[d.next[k]];
    if (next->cut == HIA_NONE && next->has_arm) continue;
    follow(m, d.next[1 - k], number);
    return;
  }
  hia_region_id outer = e->region;
  uint32_t base = e->words.len;
  hia_node_id node =
      hiaF_elab_if(e, test(m, &d), number == HIA_NONE ? m->type : (hia_itype)HIA_I32, m->loc);
  for (uint32_t k = 0; k < 2; k++) {
    uint32_t known = m->known.len, cut = m->decisions.data[d.next[k]].cut;
    e->region = hiaF_elab_regions(e, node) + k;
    if (cut == HIA_NONE)
      follow(m, d.next[k], number);
    else
      push_number(m, cut);
    hiaF_elab_yield(e, e->region, base);
    forget(m, known);
  }
  e->region = outer;
  hiaF_elab_results(e, node);
}

/* ---- cuts ---- */

/* Returns the number of the last cut that the subject leads to. A cut leads to later ones only. */
static hia_value_id find_cut(matcher *m) {
  hia_elab *e = m->e;
  uint32_t base = e->words.len;
  hia_region_id outer = e->region;
  follow(m, m->cuts.data[0], 0);
  hia_value_id number = e->words.data[base];
  e->words.len = base;
  for (uint32_t i = 1; i < m->cuts.len; i++) {
    if (!m->decisions.data[m->cuts.data[i]].has_cut) continue;
    hia_node_id node = hiaF_elab_if(e, compare(m, HIA_OP_EQ, number, i), HIA_I32, m->loc);
    uint32_t known = m->known.len;
    e->region = hiaF_elab_regions(e, node);
    follow(m, m->cuts.data[i], i);
    hiaF_elab_yield(e, e->region, base);
    forget(m, known);
    hiaR_push(e->arena, &e->words, number);
    hiaF_elab_yield(e, hiaF_elab_regions(e, node) + 1, base);
    e->region = outer;
    number = hiaG_out(e->fn, node, 0);
  }
  return number;
}

/* Pushes what is made of the cut with this number, one of cuts[low .. high). */
static void search(matcher *m, const uint32_t *cuts, uint32_t low, uint32_t high,
                   hia_value_id number) {
  hia_elab *e = m->e;
  if (high - low == 1) {
    follow(m, m->cuts.data[cuts[low]], HIA_NONE);
    return;
  }
  uint32_t base = e->words.len, middle = low + (high - low) / 2;
  hia_region_id outer = e->region;
  hia_value_id is_less = compare(m, HIA_OP_LT, number, cuts[middle]);
  hia_node_id node = hiaF_elab_if(e, is_less, m->type, m->loc);
  for (uint32_t k = 0; k < 2; k++) {
    uint32_t known = m->known.len;
    e->region = hiaF_elab_regions(e, node) + k;
    search(m, cuts, k == 0 ? low : middle, k == 0 ? middle : high, number);
    hiaF_elab_yield(e, e->region, base);
    forget(m, known);
  }
  e->region = outer;
  hiaF_elab_results(e, node);
}

void hiaF_elab_match_data(hia_elab *e, hia_ast_id id, hia_value_id subject, bool tail) {
  const hia_ast *n = hiaF_node(e->p, id);
  matcher m = {.e = e,
               .arms = e->p->extra.data + n->b,
               .n_arms = n->c / 2,
               .tree = hiaF_match_tree(e->p, e->arena, id, e->types[n->a - e->first]),
               .type = e->types[id - e->first],
               .loc = hiaF_elab_loc(e, n->pos),
               .tail = tail};
  add_occurrences(&m);
  m.occurrences.data[0].value = subject;
  uint32_t root = find_decisions(&m);
  find_cuts(&m, root);
  if (m.cuts.len == 1) {
    follow(&m, root, HIA_NONE);
    return;
  }
  hia_value_id number = find_cut(&m);
  uint32_t *cuts = HIA_NEW_ARRAY(e->arena, uint32_t, m.cuts.len), n_cuts = 0;
  for (uint32_t i = 0; i < m.cuts.len; i++)
    if (m.decisions.data[m.cuts.data[i]].has_arm) cuts[n_cuts++] = i;
  search(&m, cuts, 0, n_cuts, number);
}
