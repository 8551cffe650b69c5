/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Checks that the arms of a match cover every case and that each can be reached (Maranget,
 * "Warnings for pattern matching", JFP 2007).
 *
 * Maranget's algorithm asks for each arm if it is useful after those before it. Here one walk over
 * the decision tree of the whole match finds everything: a node of the tree is a matrix, whose rows
 * are the arms that are left and whose columns are patterns for occurrences: the subject and its
 * parts. A node whose first row takes every value is a leaf, which reaches that arm; one without
 * rows is a missing case. Any other node is split by a column in which its first row takes some
 * values only. The values of a leaf exist, since every type has values, so an arm is useful exactly
 * if a leaf reaches it.
 *
 *   - Rows are grouped by a sort of their constructors or numbers, so that thousands of arms take
 *     no comparison in pairs.
 *   - Rows behind one that takes everything are left out, and so are columns in which no row has a
 *     condition. Matrices that are equal then have equal subtrees: each is visited once. Without
 *     that the tree would be exponential for arms such as (A, _, _), (_, A, _), (_, _, A).
 *   - Matches exist whose tree is exponential all the same (the problem is NP-hard). They end with
 *     an error after MAX_CELLS.
 *   - The walk can keep the tree: hiaF_match_tree.
 *   - The walk keeps its nodes in a list of frames, without recursion: a path is as long as there
 *     are conditions. */
#include "frontend/check/cover.h"
#include "frontend/kit/typing.h"
#include "frontend/syntax/program.h"

#include <stdlib.h>

#define MAX_CELLS 40000000u /* cells of matrices: under a second */
#define MAX_KNOWN 4000000u  /* words of matrices that are kept, to know them again */
#define MAX_SHOWN 3u        /* missing cases */
#define MAX_FOUND 100u      /* then no more are looked for */

/* A part of the subject, and what the way to the present node knows of it. */
typedef struct occurrence {
  hia_match_occurrence where;
  bool is_chosen;
  bool is_one_of;      /* the choice stands for others, too: constructors that no arm names */
  int64_t choice;      /* number of a constructor, or an integer */
  uint32_t first_part; /* the occurrence of its first field; NONE: nothing looks at the fields */
} occurrence;

/* The occurrences of the fields of a constructor that an occurrence has been found to hold. */
typedef struct parts {
  uint32_t occurrence, con, first;
} parts;

/* A row that has a condition in the column of a split. */
typedef struct entry {
  int64_t key;
  uint32_t row;
} entry;

typedef struct matrix {
  uint32_t n_rows, n_columns;
  uint32_t *cells;       /* row by row: the pattern, or NONE if it takes every value */
  uint32_t *arms;        /* the arms of the rows */
  uint32_t *occurrences; /* the occurrences of the columns */
} matrix;

typedef struct frame {
  struct frame *up;
  hia_mark mark; /* where the memory below it ends */
  matrix m;
  uint32_t column;
  entry *entries; /* sorted */
  uint32_t n_entries, *others, n_others;
  uint32_t next;   /* the entry of the next case */
  uint32_t absent; /* the first key that no entry has; NONE: there is no default left, which
                      comes first, since what it lacks says more than what a case lacks */
  uint32_t hash;
  hia_match_case *cases; /* the cases that are done */
  uint32_t n_cases, otherwise;
  bool is_default; /* the present case */
  bool has_missing;
} frame;

typedef struct known {
  uint32_t first, n; /* words */
  uint32_t node;     /* the node of the tree */
} known;

typedef struct cover {
  hia_program *p;
  hia_arena *arena; /* the memory of what outlives a case of the walk */
  const hia_ast *match;
  hia_match_tree *tree; /* to be made, or NULL */
  frame *top;
  HIA_VEC(occurrence) occurrences; /* the subject is the first */
  hia_index parts_index;
  HIA_VEC(parts) parts;
  bool *reached;    /* true for arms that are reached */
  uint32_t *leaves; /* the nodes of the arms, or NONE */
  hia_index index;
  HIA_VEC(known) known;
  hia_u32vec words; /* known matrices: their numbers of rows and columns, arms, cells */
  uint64_t n_cells;
  hia_text missing[MAX_SHOWN];
  uint32_t n_missing; /* with one that is not shown */
  bool has_others;    /* there are others like one that is shown */
  uint32_t n_found;   /* with those that are parts of others */
} cover;

/* ---- patterns ---- */

static bool takes_all(const cover *c, hia_ast_id pattern) {
  if (pattern == HIA_NONE) return true;
  uint8_t kind = hiaF_node(c->p, pattern)->kind;
  return kind == HIA_AST_PAT_NAME || kind == HIA_AST_PAT_WILD;
}

static int64_t key_of(const cover *c, hia_ast_id pattern) {
  const hia_ast *n = hiaF_node(c->p, pattern);
  hia_word word = 0;
  if (n->kind == HIA_AST_PAT_BOOL) return n->a;
  if (n->kind == HIA_AST_PAT_CON) return hiaF_pattern_con(c->p, n)->number;
  hiaF_number(c->p, n, (n->flags & HIA_AST_NEGATIVE) != 0, HIA_I64, &word); /* it fits: checked */
  return hiaR_to_i64(word);
}

/* How many keys the type has; 0: more than arms can name. */
static uint32_t n_keys(const cover *c, hia_itype type) {
  return type == HIA_BOOL ? 2 : hiaF_is_data(type) ? hiaF_n_cons(c->p, type) : 0;
}

/* ---- missing cases ---- */

static void print_occurrence(const cover *c, uint32_t id, hia_text *out) {
  const occurrence *at = &c->occurrences.data[id];
  if (!at->is_chosen) {
    hiaR_text_addf(out, "_");
  } else if (at->where.type == HIA_BOOL) {
    hiaR_text_addf(out, at->choice ? "true" : "false");
  } else if (!hiaF_is_data(at->where.type)) {
    hiaR_text_addf(out, "%lld", (long long)at->choice);
  } else {
    const hia_decl *d = hiaF_cons(c->p, at->where.type) + at->choice;
    hiaR_text_addf(out, "%s", hiaF_symbol_text(c->p, d->symbol));
    for (uint32_t i = 0; i < d->n_params; i++) {
      hiaR_text_addf(out, i == 0 ? "(" : ", ");
      if (at->first_part == HIA_NONE)
        hiaR_text_addf(out, "_");
      else
        print_occurrence(c, at->first_part + i, out);
    }
    if (d->n_params > 0) hiaR_text_addf(out, ")");
  }
}

/* True if the first pattern takes all that the other one takes, of two missing cases. */
static bool contains_case(const char *pattern, const char *b) {
  for (const char *a = pattern; *a != '\0'; a++) {
    bool begins = a == pattern || a[-1] == '(' || a[-1] == ' ';
    if (*a != '_' || !begins || (a[1] != '\0' && a[1] != ',' && a[1] != ')')) {
      if (*a != *b++) return false;
      continue;
    }
    for (int depth = 0; *b != '\0'; b++) {
      if (depth == 0 && (*b == ',' || *b == ')')) break;
      depth += (*b == '(') - (*b == ')');
    }
  }
  return *b == '\0';
}

/* Adds a missing case. One that is part of another that is shown is left out: `_` stands for all
 * integers. */
static void add_missing(cover *c) {
  hia_text text;
  hiaR_text_init(&text, c->arena);
  print_occurrence(c, 0, &text);
  c->n_found++;
  for (uint32_t i = 0; i < c->occurrences.len; i++)
    c->has_others |= c->occurrences.data[i].is_one_of;
  for (uint32_t i = 0; i < c->n_missing && i < MAX_SHOWN; i++)
    if (contains_case(c->missing[i].data, text.data)) return;
  if (c->n_missing < MAX_SHOWN) c->missing[c->n_missing] = text;
  c->n_missing++;
}

static bool has_found_enough(const cover *c) {
  return c->n_missing > MAX_SHOWN || c->n_found > MAX_FOUND;
}

/* The first key from `key` on that no entry has, of those below n; else n. */
static uint32_t next_absent(const frame *f, uint32_t key, uint32_t n) {
  uint32_t low = 0, high = f->n_entries; /* the first entry that is not less */
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (f->entries[middle].key < key)
      low = middle + 1;
    else
      high = middle;
  }
  for (; key < n && low < f->n_entries && f->entries[low].key == key; key++)
    while (low < f->n_entries && f->entries[low].key == key) low++;
  return key;
}

/* Notes missing cases: no row is left in the present case of c->top. */
static void found_missing(cover *c) {
  frame *f = c->top;
  f->has_missing = true;
  occurrence *at = &c->occurrences.data[f->m.occurrences[f->column]];
  uint32_t n = n_keys(c, at->where.type);
  if (!f->is_default || n == 0) {
    add_missing(c);
    return;
  }
  at->is_one_of = false; /* all are shown */
  for (uint32_t key = 0; !has_found_enough(c); key++) {
    key = next_absent(f, key, n);
    if (key >= n) break;
    at = &c->occurrences.data[f->m.occurrences[f->column]];
    at->choice = key;
    add_missing(c);
  }
}

/* ---- matrices that were seen before ---- */

static uint32_t hash_of(const matrix *m) {
  uint32_t cells = hiaR_hash(m->cells, (size_t)m->n_rows * m->n_columns * sizeof *m->cells);
  return hiaR_hash(m->arms, m->n_rows * sizeof *m->arms) * 31 + cells + m->n_columns;
}

/* Finds a matrix that was seen before. Equal cells have equal occurrences: a pattern stands once in
 * one arm. */
static uint32_t find_known(const cover *c, const matrix *m, uint32_t hash) {
  uint32_t at = hash, i;
  size_t arms = m->n_rows * sizeof *m->arms, cells = arms * m->n_columns;
  while ((i = hiaR_index_next(&c->index, hash, &at)) != HIA_NONE) {
    const uint32_t *words = c->words.data + c->known.data[i].first;
    if (words[0] == m->n_rows && words[1] == m->n_columns &&
        memcmp(words + 2, m->arms, arms) == 0 &&
        memcmp(words + 2 + m->n_rows, m->cells, cells) == 0)
      return i;
  }
  return HIA_NONE;
}

static void add_words(cover *c, const uint32_t *words, uint32_t n) {
  hiaR_reserve(c->arena, &c->words, c->words.len + n);
  memcpy(c->words.data + c->words.len, words, n * sizeof *words);
  c->words.len += n;
}

static void add_known(cover *c, const matrix *m, uint32_t hash, uint32_t node) {
  uint64_t n = 2 + (uint64_t)m->n_rows * (m->n_columns + 1);
  if (c->words.len + n > MAX_KNOWN) return;
  known k = {c->words.len, (uint32_t)n, node};
  hiaR_index_add(c->arena, &c->index, hash, c->known.len);
  hiaR_push(c->arena, &c->known, k);
  add_words(c, &m->n_rows, 1);
  add_words(c, &m->n_columns, 1);
  add_words(c, m->arms, m->n_rows);
  add_words(c, m->cells, m->n_rows * m->n_columns);
}

/* ---- the tree that is made ---- */

static uint32_t add_node(cover *c, hia_match_node node) {
  hiaR_push(c->arena, &c->tree->nodes, node);
  return c->tree->nodes.len - 1;
}

/* Ends the present case of c->top, or the whole match: `node` is its tree. */
static void deliver(cover *c, uint32_t node) {
  frame *f = c->top;
  if (f == NULL) {
    if (c->tree != NULL) c->tree->root = node;
  } else if (f->is_default) {
    f->otherwise = node;
  } else {
    int64_t key = c->occurrences.data[f->m.occurrences[f->column]].choice;
    f->cases[f->n_cases++] = (hia_match_case){key, node};
  }
}

static uint32_t add_leaf(cover *c, uint32_t arm) {
  if (c->tree == NULL) return HIA_NONE;
  if (c->leaves[arm] == HIA_NONE)
    c->leaves[arm] =
        add_node(c, (hia_match_node){.occurrence = HIA_NONE, .arm = arm, .otherwise = HIA_NONE});
  return c->leaves[arm];
}

static uint32_t add_switch(cover *c, const frame *f) {
  if (c->tree == NULL) return HIA_NONE;
  uint32_t first = c->tree->cases.len;
  for (uint32_t i = 0; i < f->n_cases; i++) hiaR_push(c->arena, &c->tree->cases, f->cases[i]);
  return add_node(c, (hia_match_node){.occurrence = f->m.occurrences[f->column],
                                      .arm = HIA_NONE,
                                      .first = first,
                                      .n = f->n_cases,
                                      .otherwise = f->otherwise});
}

/* ---- nodes of the walk ---- */

static int by_key(const void *a, const void *b) {
  const entry *x = a, *y = b;
  if (x->key != y->key) return x->key < y->key ? -1 : 1;
  return x->row < y->row ? -1 : x->row > y->row;
}

/* Chooses a column in which the first row has a condition, and in which the most rows have one:
 * the other rows appear in several cases. */
static uint32_t choose_column(const matrix *m) {
  uint32_t best = 0, most = 0;
  for (uint32_t k = 0; k < m->n_columns; k++) {
    uint32_t n = 0;
    if (m->cells[k] == HIA_NONE) continue;
    for (uint32_t i = 0; i < m->n_rows; i++)
      n += m->cells[(size_t)i * m->n_columns + k] != HIA_NONE;
    if (n > most) best = k, most = n;
  }
  return best;
}

/* Makes the present node a matrix, whose first row has a condition. */
static void split(cover *c, matrix m, uint32_t hash, hia_mark mark) {
  hia_arena *scratch = &c->p->comp->scratch;
  frame *f = HIA_NEW(scratch, frame);
  *f = (frame){.up = c->top,
               .mark = mark,
               .m = m,
               .column = choose_column(&m),
               .entries = HIA_NEW_ARRAY(scratch, entry, m.n_rows),
               .others = HIA_NEW_ARRAY(scratch, uint32_t, m.n_rows),
               .cases = HIA_NEW_ARRAY(scratch, hia_match_case, m.n_rows),
               .otherwise = HIA_NONE,
               .hash = hash};
  for (uint32_t i = 0; i < m.n_rows; i++) {
    uint32_t pattern = m.cells[i * m.n_columns + f->column];
    if (pattern == HIA_NONE)
      f->others[f->n_others++] = i;
    else
      f->entries[f->n_entries++] = (entry){key_of(c, pattern), i};
  }
  qsort(f->entries, f->n_entries, sizeof *f->entries, by_key);
  uint32_t n = n_keys(c, c->occurrences.data[m.occurrences[f->column]].where.type);
  f->absent = n == 0 ? 0 : next_absent(f, 0, n);
  if (n != 0 && f->absent == n) f->absent = HIA_NONE;
  c->top = f;
}

/* Cell `k` of a row in a case: of the split column's fields, which come first, or of the other
 * columns. */
static hia_ast_id cell(const cover *c, const frame *f, uint32_t row, uint32_t n_fields,
                       uint32_t k) {
  const uint32_t *cells = f->m.cells + (size_t)row * f->m.n_columns;
  if (k >= n_fields) {
    k -= n_fields;
    return cells[k < f->column ? k : k + 1]; /* normal already */
  }
  if (cells[f->column] == HIA_NONE) return HIA_NONE;
  hia_ast_id pattern = c->p->extra.data[hiaF_node(c->p, cells[f->column])->b + k];
  return takes_all(c, pattern) ? HIA_NONE : pattern;
}

/* Returns the occurrence of the constructor's first field. */
static uint32_t parts_of(cover *c, uint32_t id, const hia_decl *con) {
  hia_arena *arena = c->arena;
  uint32_t key[2] = {id, con->number}, hash = hiaR_hash(key, sizeof key), at = hash, i;
  while ((i = hiaR_index_next(&c->parts_index, hash, &at)) != HIA_NONE)
    if (c->parts.data[i].occurrence == id && c->parts.data[i].con == con->number)
      return c->parts.data[i].first;
  parts p = {id, con->number, c->occurrences.len};
  hiaR_index_add(arena, &c->parts_index, hash, c->parts.len);
  hiaR_push(arena, &c->parts, p);
  for (uint32_t k = 0; k < con->n_params; k++) {
    occurrence part = {.where = {id, con->number, k, con->param_types[k]}, .first_part = HIA_NONE};
    hiaR_push(arena, &c->occurrences, part);
  }
  return p.first;
}

/* The matrix of a case: of the rows of entries[from .. to) and the others. `con`: the constructor
 * of the case, or NULL. */
static matrix specialize(cover *c, const frame *f, uint32_t from, uint32_t to,
                         const hia_decl *con) {
  hia_arena *scratch = &c->p->comp->scratch;
  uint32_t n_fields = con != NULL ? con->n_params : 0, next = 0;
  uint32_t width = f->m.n_columns - 1 + n_fields, id = f->m.occurrences[f->column],
           first_part = HIA_NONE;
  uint32_t *rows = HIA_NEW_ARRAY(scratch, uint32_t, (size_t)(to - from) + f->n_others + 1);
  bool *is_used = HIA_NEW_ARRAY(scratch, bool, (size_t)width + 1), has_condition = true;
  matrix m = {.n_rows = 0};
  while (has_condition && (from < to || next < f->n_others)) {
    bool is_entry = next == f->n_others || (from < to && f->entries[from].row < f->others[next]);
    uint32_t row = is_entry ? f->entries[from++].row : f->others[next++];
    rows[m.n_rows++] = row;
    has_condition = false;
    for (uint32_t k = 0; k < width; k++) {
      if (cell(c, f, row, n_fields, k) == HIA_NONE) continue;
      is_used[k] = has_condition = true;
    }
    c->n_cells += width + 1;
  }
  for (uint32_t k = 0; k < width; k++) {
    m.n_columns += is_used[k];
    if (is_used[k] && k < n_fields && first_part == HIA_NONE) first_part = parts_of(c, id, con);
  }
  c->occurrences.data[id].first_part = first_part;
  m.cells = HIA_NEW_ARRAY(scratch, uint32_t, (size_t)m.n_rows *m.n_columns + 1);
  m.arms = HIA_NEW_ARRAY(scratch, uint32_t, (size_t)m.n_rows + 1);
  m.occurrences = HIA_NEW_ARRAY(scratch, uint32_t, (size_t)m.n_columns + 1);
  for (uint32_t k = 0, at = 0; k < width; k++) {
    if (!is_used[k]) continue;
    uint32_t column = k - n_fields < f->column ? k - n_fields : k - n_fields + 1;
    m.occurrences[at] = k < n_fields ? first_part + k : f->m.occurrences[column];
    for (uint32_t i = 0; i < m.n_rows; i++)
      m.cells[(size_t)i * m.n_columns + at] = cell(c, f, rows[i], n_fields, k);
    at++;
  }
  for (uint32_t i = 0; i < m.n_rows; i++) m.arms[i] = f->m.arms[rows[i]];
  return m;
}

static bool has_condition(const matrix *m, uint32_t row) {
  for (uint32_t k = 0; k < m->n_columns; k++)
    if (m->cells[(size_t)row * m->n_columns + k] != HIA_NONE) return true;
  return false;
}

/* Makes a case of c->top the present node: a leaf is done at once. */
static void visit(cover *c, matrix m, hia_mark mark) {
  uint32_t hash = hash_of(&m), i = HIA_NONE;
  if (m.n_rows == 0) {
    found_missing(c);
    deliver(c, HIA_NONE);
  } else if (!has_condition(&m, 0)) {
    c->reached[m.arms[0]] = true;
    deliver(c, add_leaf(c, m.arms[0]));
  } else if ((i = find_known(c, &m, hash)) != HIA_NONE) {
    deliver(c, c->known.data[i].node);
  } else {
    split(c, m, hash, mark);
    return;
  }
  hiaR_arena_release(&c->p->comp->scratch, mark);
}

/* Leaves c->top, all of whose cases are done. */
static void leave(cover *c) {
  frame *f = c->top;
  uint32_t node = add_switch(c, f);
  /* Another visit of an equal matrix would show other missing cases. */
  if (!f->has_missing || has_found_enough(c)) add_known(c, &f->m, f->hash, node);
  if (f->up != NULL) f->up->has_missing |= f->has_missing;
  c->top = f->up;
  deliver(c, node);
  hiaR_arena_release(&c->p->comp->scratch, f->mark);
}

/* Goes to the next case of c->top, or back from it. */
static void advance(cover *c) {
  frame *f = c->top;
  uint32_t from = f->next, to = from;
  occurrence *at = &c->occurrences.data[f->m.occurrences[f->column]];
  at->is_chosen = at->is_one_of = false;
  at->first_part = HIA_NONE;
  f->is_default = f->absent != HIA_NONE;
  if (from == f->n_entries && !f->is_default) {
    leave(c);
    return;
  }
  hia_mark mark = hiaR_arena_mark(&c->p->comp->scratch);
  uint32_t n = n_keys(c, at->where.type);
  at->is_chosen = !f->is_default || n != 0;
  at->choice = f->is_default ? f->absent : f->entries[from].key;
  if (f->is_default) {
    at->is_one_of = n != 0 && next_absent(f, f->absent + 1, n) < n;
    f->absent = HIA_NONE;
    visit(c, specialize(c, f, 0, 0, NULL), mark);
    return;
  }
  while (to < f->n_entries && f->entries[to].key == at->choice) to++;
  f->next = to;
  const hia_decl *con =
      hiaF_is_data(at->where.type) ? hiaF_cons(c->p, at->where.type) + at->choice : NULL;
  visit(c, specialize(c, f, from, to, con), mark);
}

/* Walks over the whole tree. Returns false if that is too large. */
static bool walk(cover *c, hia_itype subject) {
  hia_program *p = c->p;
  hia_arena *scratch = &p->comp->scratch;
  const hia_ast *n = c->match;
  uint32_t n_arms = n->c / 2;
  c->reached = HIA_NEW_ARRAY(c->arena, bool, (size_t)n_arms + 1);
  c->leaves = HIA_NEW_ARRAY(c->arena, uint32_t, (size_t)n_arms + 1);
  for (uint32_t i = 0; i < n_arms; i++) c->leaves[i] = HIA_NONE;
  occurrence whole = {.where = {HIA_NONE, 0, 0, subject}, .first_part = HIA_NONE};
  hiaR_push(c->arena, &c->occurrences, whole);
  hia_mark mark = hiaR_arena_mark(scratch);
  matrix m = {.n_columns = 1,
              .cells = HIA_NEW_ARRAY(scratch, uint32_t, n_arms),
              .arms = HIA_NEW_ARRAY(scratch, uint32_t, n_arms),
              .occurrences = HIA_NEW_ARRAY(scratch, uint32_t, 1)};
  for (bool is_all = false; m.n_rows < n_arms && !is_all; m.n_rows++) {
    hia_ast_id pattern = p->extra.data[n->b + 2 * m.n_rows];
    is_all = takes_all(c, pattern);
    m.cells[m.n_rows] = is_all ? HIA_NONE : pattern;
    m.arms[m.n_rows] = m.n_rows;
  }
  if (m.n_rows > 0) visit(c, m, mark);
  while (c->top != NULL && c->n_cells <= MAX_CELLS) advance(c);
  hiaR_arena_release(scratch, mark);
  return c->top == NULL;
}

/* ---- reports ---- */

/* True if the pattern takes all that the other one takes, as far as single patterns show. */
static bool contains(const cover *c, hia_ast_id pattern, hia_ast_id inner) {
  if (takes_all(c, pattern)) return true;
  if (takes_all(c, inner) || key_of(c, pattern) != key_of(c, inner)) return false;
  const hia_ast *a = hiaF_node(c->p, pattern), *b = hiaF_node(c->p, inner);
  for (uint32_t i = 0; a->kind == HIA_AST_PAT_CON && i < a->c; i++)
    if (!contains(c, c->p->extra.data[a->b + i], c->p->extra.data[b->b + i])) return false;
  return true;
}

static void report_unreachable(const cover *c, hia_typing *t, uint32_t arm) {
  const uint32_t *arms = c->p->extra.data + c->match->b;
  const hia_ast *n = hiaF_node(c->p, arms[2 * arm]);
  hia_diag *diag = hiaF_type_error(t, HIA_E0311, n->pos, n->end, "this arm cannot be reached");
  if (diag == NULL) return;
  for (uint32_t i = 0; i < arm; i++) {
    if (!contains(c, arms[2 * i], arms[2 * arm])) continue;
    hiaF_note(c->p->diags, diag, hiaF_node(c->p, arms[2 * i])->pos, "this one comes first");
    return;
  }
  hiaF_note(c->p->diags, diag, HIA_NONE, "together the arms before it take all that it takes");
}

static void report_missing(const cover *c, hia_typing *t, hia_itype subject) {
  uint32_t pos = c->match->pos, n = c->n_missing;
  bool has_others = c->has_others || n > MAX_SHOWN;
  if (subject != HIA_BOOL && !hiaF_is_data(subject)) {
    hia_diag *diag =
        hiaF_type_error(t, HIA_E0310, pos, pos + 5, "the arms do not cover every integer");
    hiaF_hint(c->p->diags, diag, "the last arm of an integer match is '_' or a name: _ => ...");
    return;
  }
  hia_text text;
  hiaR_text_init(&text, c->arena);
  for (uint32_t i = 0; i < n && i < MAX_SHOWN; i++)
    hiaR_text_addf(&text, "%s%s",
                   i == 0                      ? ""
                   : i + 1 == n && !has_others ? " and "
                                               : ", ",
                   c->missing[i].data);
  if (has_others) hiaR_text_addf(&text, " and others");
  hia_diag *diag =
      hiaF_type_error(t, HIA_E0310, pos, pos + 5, "the arms do not cover %s", text.data);
  if (hiaF_is_data(subject))
    hiaF_hint(c->p->diags, diag, "add %s, or one that takes all the others: _ => ...",
              n == 1 && !has_others ? "this arm" : "these arms");
}

void hiaF_cover(hia_typing *t, hia_ast_id match, hia_itype subject) {
  hia_program *p = t->p;
  const hia_ast n = *hiaF_node(p, match);
  cover c = {.p = p, .arena = p->arena, .match = &n};
  if (!walk(&c, subject)) {
    hia_diag *diag = hiaF_type_error(t, HIA_E0324, n.pos, n.pos + 5,
                                     "this match is too large to check that it covers every case");
    hiaF_hint(p->diags, diag, "match one field after the other, in matches inside of arms");
    return;
  }
  for (uint32_t i = 0; i < n.c / 2; i++)
    if (!c.reached[i]) report_unreachable(&c, t, i);
  if (c.n_missing > 0) report_missing(&c, t, subject);
}

hia_match_tree hiaF_match_tree(hia_program *p, hia_arena *arena, hia_ast_id match,
                               hia_itype subject) {
  const hia_ast n = *hiaF_node(p, match);
  hia_match_tree tree = {.root = HIA_NONE};
  cover c = {.p = p, .arena = arena, .match = &n, .tree = &tree};
  if (!walk(&c, subject)) HIA_BUG(p->comp, "a match that cannot be covered");
  for (uint32_t i = 0; i < c.occurrences.len; i++)
    hiaR_push(arena, &tree.occurrences, c.occurrences.data[i].where);
  return tree;
}
