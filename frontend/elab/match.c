/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* `match` on integers and booleans; match_data.c has that on data.
 *
 * A few integers are tested one after the other. With many, such a chain would nest as deep as
 * there are arms. They become a search tree, balanced over the sorted constants, whose inner nodes
 * are `<`. A leaf is one arm; it compares with its constant, unless the way to it leaves nothing
 * else, and else takes the last arm, which stands for all other values.
 *
 * So the last arm is copied to every leaf that compares. Where that would be much, a first tree
 * finds out whether the value is one of the constants; if it is, a second one, which then compares
 * with no constant at its leaves, finds the arm. Both search the subject itself: comparing the
 * number of an arm, which a first tree could find, makes LLVM look at each arm's number for each
 * comparison. */
#include "frontend/elab/elab.h"
#include "frontend/kit/pieces.h"
#include "frontend/syntax/ast.h"
#include "frontend/syntax/program.h"
#include "graph/ir/build.h"

#include <stdlib.h>

typedef struct literal {
  int64_t value;
  uint32_t arm;
} literal;

/* What the subject can be: from `least` to `most`. */
typedef struct range {
  int64_t least, most;
} range;

/* Nodes of syntax that the copies of the last arm may add, for each arm. */
enum { MAX_COPIED = 8 };

typedef struct matcher {
  hia_elab *e;
  const uint32_t *arms; /* pattern, expression, ... */
  uint32_t n_arms;      /* the last one matches whatever the others do not */
  literal *literals;    /* the literals of the other arms; in a tree, sorted */
  hia_value_id subject;
  hia_dtype dtype;
  hia_itype type; /* the type of the result */
  hia_loc_id loc;
  bool tail;
} matcher;

/* Pushes the value of an arm's expression. */
static void elab_arm(matcher *m, uint32_t arm) {
  hia_elab *e = m->e;
  hia_ast_id pattern = m->arms[2 * arm];
  if (hiaF_node(e->p, pattern)->kind == HIA_AST_PAT_NAME) {
    uint32_t base = e->words.len;
    hiaR_push(e->arena, &e->words, m->subject);
    hiaF_elab_bind(e, pattern, m->dtype, base);
    e->words.len = base;
  }
  hiaF_elab(e, m->arms[2 * arm + 1], m->tail);
}

static hia_value_id compare(matcher *m, unsigned op, hia_value_id left, hia_dtype dtype,
                            int64_t right) {
  hia_elab *e = m->e;
  hia_word word = dtype == HIA_I32 ? hiaR_from_i32((int32_t)right) : hiaR_from_i64(right);
  hia_value_id in[2] = {left, hiaG_const(e->g, e->fn, e->region, dtype, word, m->loc)};
  return hiaG_op(e->g, e->fn, e->region, op, in, 2, m->loc);
}

/* Tests the arms from `arm` on one after the other. At most HIA_MATCH_CHAIN deep. */
static void elab_chain(matcher *m, uint32_t arm) {
  hia_elab *e = m->e;
  if (arm + 1 == m->n_arms) {
    elab_arm(m, arm);
    return;
  }
  hia_region_id outer = e->region;
  uint32_t base = e->words.len;
  hia_value_id is_equal = compare(m, HIA_OP_EQ, m->subject, m->dtype, m->literals[arm].value);
  hia_node_id node = hiaF_elab_if(e, is_equal, m->type, m->loc);
  e->region = hiaF_elab_regions(m->e, node);
  elab_arm(m, arm);
  hiaF_elab_yield(e, e->region, base);
  e->region = hiaF_elab_regions(m->e, node) + 1;
  elab_chain(m, arm + 1);
  hiaF_elab_yield(e, e->region, base);
  e->region = outer;
  hiaF_elab_results(e, node);
}

/* ---- the search tree ---- */

static bool is_certain(range r) { return r.least == r.most; }

/* The halves of literals[low .. high), of which there are two or more. */
static uint32_t split(const matcher *m, uint32_t low, uint32_t high, range r, range halves[2]) {
  uint32_t middle = low + (high - low) / 2;
  int64_t value = m->literals[middle].value;
  halves[0] = (range){r.least, value - 1}; /* no overflow: literals[low] is less */
  halves[1] = (range){value, r.most};
  return middle;
}

/* The number of leaves at which the last arm stands. */
static uint32_t count_copies(const matcher *m, uint32_t low, uint32_t high, range r) {
  range halves[2];
  if (high - low == 1) return !is_certain(r);
  uint32_t middle = split(m, low, high, r, halves);
  return count_copies(m, low, middle, halves[0]) + count_copies(m, middle, high, halves[1]);
}

typedef enum tree_kind {
  TREE_WHOLE,  /* gives what the match gives */
  TREE_IS_ANY, /* true if the subject is one of the constants */
  TREE_CONST,  /* as TREE_WHOLE, where the subject is one of the constants */
} tree_kind;

static void push_bool(matcher *m, bool value) {
  hia_elab *e = m->e;
  hia_value_id constant =
      hiaG_const(e->g, e->fn, e->region, HIA_BOOL, hiaR_from_bool(value), m->loc);
  hiaR_push(e->arena, &e->words, constant);
}

static void leaf(matcher *m, tree_kind kind, const literal *l, range r) {
  hia_elab *e = m->e;
  if (kind == TREE_IS_ANY && is_certain(r)) {
    push_bool(m, true);
  } else if (kind == TREE_IS_ANY) {
    hiaR_push(e->arena, &e->words, compare(m, HIA_OP_EQ, m->subject, m->dtype, l->value));
  } else if (kind == TREE_CONST || is_certain(r)) {
    elab_arm(m, l->arm);
  } else {
    hia_region_id outer = e->region;
    uint32_t base = e->words.len;
    hia_value_id is_equal = compare(m, HIA_OP_EQ, m->subject, m->dtype, l->value);
    hia_node_id node = hiaF_elab_if(e, is_equal, m->type, m->loc);
    for (uint32_t k = 0; k < 2; k++) {
      e->region = hiaF_elab_regions(m->e, node) + k;
      elab_arm(m, k == 0 ? l->arm : m->n_arms - 1);
      hiaF_elab_yield(e, e->region, base);
    }
    e->region = outer;
    hiaF_elab_results(e, node);
  }
}

/* Pushes what the tree over literals[low .. high) gives for a subject in the range. */
static void search(matcher *m, tree_kind kind, uint32_t low, uint32_t high, range r) {
  hia_elab *e = m->e;
  if (high - low == 1) {
    leaf(m, kind, &m->literals[low], r);
    return;
  }
  range halves[2];
  hia_region_id outer = e->region;
  uint32_t base = e->words.len, middle = split(m, low, high, r, halves);
  hia_value_id less = compare(m, HIA_OP_LT, m->subject, m->dtype, m->literals[middle].value);
  hia_node_id node =
      hiaF_elab_if(e, less, kind == TREE_IS_ANY ? (hia_itype)HIA_BOOL : m->type, m->loc);
  for (uint32_t k = 0; k < 2; k++) {
    e->region = hiaF_elab_regions(m->e, node) + k;
    search(m, kind, k == 0 ? low : middle, k == 0 ? middle : high, halves[k]);
    hiaF_elab_yield(e, e->region, base);
  }
  e->region = outer;
  hiaF_elab_results(e, node);
}

static void elab_tree(matcher *m) {
  hia_elab *e = m->e;
  uint32_t n = m->n_arms - 1;
  uint32_t last = hiaF_arm_size(e->p, m->arms[2 * n], m->arms[2 * n + 1]);
  range all = {INT64_MIN, INT64_MAX};
  if (m->dtype == HIA_I32) all = (range){INT32_MIN, INT32_MAX};
  if ((uint64_t)count_copies(m, 0, n, all) * last <= (uint64_t)n * MAX_COPIED) {
    search(m, TREE_WHOLE, 0, n, all);
    return;
  }
  hia_region_id outer = e->region;
  uint32_t base = e->words.len;
  search(m, TREE_IS_ANY, 0, n, all);
  hia_value_id is_any = e->words.data[base];
  e->words.len = base;
  hia_node_id node = hiaF_elab_if(e, is_any, m->type, m->loc);
  for (uint32_t k = 0; k < 2; k++) {
    e->region = hiaF_elab_regions(m->e, node) + k;
    if (k == 0)
      search(m, TREE_CONST, 0, n, all);
    else
      elab_arm(m, n);
    hiaF_elab_yield(e, e->region, base);
  }
  e->region = outer;
  hiaF_elab_results(e, node);
}

static int by_value(const void *a, const void *b) {
  const literal *x = a, *y = b;
  return x->value < y->value ? -1 : x->value > y->value;
}

static void elab_integers(matcher *m) {
  hia_program *p = m->e->p;
  m->literals = HIA_NEW_ARRAY(m->e->arena, literal, m->n_arms);
  for (uint32_t i = 0; i + 1 < m->n_arms; i++) {
    const hia_ast *pattern = hiaF_node(p, m->arms[2 * i]);
    hia_word word = 0;
    hiaF_number(p, pattern, (pattern->flags & HIA_AST_NEGATIVE) != 0, HIA_I64, &word);
    m->literals[i] = (literal){hiaR_to_i64(word), i};
  }
  if (m->n_arms <= HIA_MATCH_CHAIN) {
    elab_chain(m, 0);
    return;
  }
  qsort(m->literals, m->n_arms - 1, sizeof *m->literals, by_value);
  elab_tree(m);
}

static uint32_t bool_arm(const matcher *m, bool value) {
  for (uint32_t i = 0; i < m->n_arms; i++) {
    const hia_ast *pattern = hiaF_node(m->e->p, m->arms[2 * i]);
    if (pattern->kind != HIA_AST_PAT_BOOL || (pattern->a != 0) == value) return i;
  }
  HIA_BUG(m->e->p->comp, "a match that does not cover every case");
}

static void elab_bool(matcher *m) {
  hia_elab *e = m->e;
  uint32_t arms[2] = {bool_arm(m, true), bool_arm(m, false)};
  if (arms[0] == arms[1]) {
    elab_arm(m, arms[0]);
    return;
  }
  hia_region_id outer = e->region;
  hia_node_id node = hiaF_elab_if(e, m->subject, m->type, m->loc);
  for (uint32_t k = 0; k < 2; k++) {
    uint32_t base = e->words.len;
    e->region = hiaF_elab_regions(m->e, node) + k;
    elab_arm(m, arms[k]);
    hiaF_elab_yield(e, e->region, base);
  }
  e->region = outer;
  hiaF_elab_results(e, node);
}

uint32_t hiaF_elab_match(hia_elab *e, hia_ast_id id, bool tail) {
  const hia_ast *n = hiaF_node(e->p, id);
  uint32_t base = hiaF_elab(e, n->a, false);
  hia_itype subject = e->types[n->a - e->first];
  if (hiaF_is_data(subject)) {
    hia_value_id value = e->words.data[base];
    e->words.len = base;
    hiaF_elab_match_data(e, id, value, tail);
    return base;
  }
  matcher m = {.e = e,
               .arms = e->p->extra.data + n->b,
               .n_arms = n->c / 2,
               .subject = e->words.data[base],
               .dtype = (hia_dtype)subject,
               .type = e->types[id - e->first],
               .loc = hiaF_elab_loc(e, n->pos),
               .tail = tail};
  e->words.len = base;
  if (m.dtype == HIA_BOOL)
    elab_bool(&m);
  else
    elab_integers(&m);
  return base;
}
