/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* `match` on integers and booleans.
 *
 * A few integers are tested one after the other. With many, such a chain would nest as deep as
 * there are arms. Instead, a balanced tree of comparisons first finds the number of the arm and
 * evaluates nothing else: the last arm stands at every leaf, but only as its number. A second tree
 * branches on that number. Both trees are as deep as the logarithm of the number of arms. */
#include "frontend/ast.h"

#include <stdlib.h>

typedef struct literal {
  int64_t value;
  uint32_t arm;
} literal;

typedef struct matcher {
  hia_elab *e;
  const uint32_t *arms; /* pattern, expression, ... */
  uint32_t n_arms;      /* the last one matches whatever the others do not */
  literal *literals;    /* of the others */
  hia_value_id subject;
  hia_dtype dtype;
  hia_itype type; /* of the result */
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

static hia_region_id regions_of(const matcher *m, hia_node_id node) {
  return m->e->fn->nodes.data[node].regions;
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
  hia_value_id is = compare(m, HIA_OP_EQ, m->subject, m->dtype, m->literals[arm].value);
  hia_node_id node = hiaF_elab_if(e, is, m->type, m->loc);
  e->region = regions_of(m, node);
  elab_arm(m, arm);
  hiaF_elab_yield(e, e->region, base);
  e->region = regions_of(m, node) + 1;
  elab_chain(m, arm + 1);
  hiaF_elab_yield(e, e->region, base);
  e->region = outer;
  hiaF_elab_results(e, node);
}

/* Finds the number of the arm (i32), which is that of one of literals[low .. high) or the last. */
static hia_value_id find_arm(matcher *m, uint32_t low, uint32_t high) {
  hia_elab *e = m->e;
  if (high - low == 1) {
    hia_value_id in[3];
    in[0] = compare(m, HIA_OP_EQ, m->subject, m->dtype, m->literals[low].value);
    in[1] = hiaG_const(e->g, e->fn, e->region, HIA_I32,
                       hiaR_from_i32((int32_t)m->literals[low].arm), m->loc);
    in[2] =
        hiaG_const(e->g, e->fn, e->region, HIA_I32, hiaR_from_i32((int32_t)m->n_arms - 1), m->loc);
    return hiaG_op(e->g, e->fn, e->region, HIA_OP_SELECT, in, 3, m->loc);
  }
  hia_region_id outer = e->region;
  uint32_t middle = low + (high - low) / 2;
  hia_value_id less = compare(m, HIA_OP_LT, m->subject, m->dtype, m->literals[middle].value);
  hia_node_id node = hiaF_elab_if(e, less, HIA_I32, m->loc);
  for (uint32_t k = 0; k < 2; k++) {
    e->region = regions_of(m, node) + k;
    hia_value_id found = k == 0 ? find_arm(m, low, middle) : find_arm(m, middle, high);
    hiaG_yield(e->g, e->fn, e->region, &found, 1);
  }
  e->region = outer;
  return hiaG_out(e->fn, node, 0);
}

/* Branches to the arm with the number `arm`, one of low .. high - 1. */
static void branch(matcher *m, hia_value_id arm, uint32_t low, uint32_t high) {
  hia_elab *e = m->e;
  if (high - low == 1) {
    elab_arm(m, low);
    return;
  }
  hia_region_id outer = e->region;
  uint32_t base = e->words.len, middle = low + (high - low) / 2;
  hia_value_id less = compare(m, HIA_OP_LT, arm, HIA_I32, middle);
  hia_node_id node = hiaF_elab_if(e, less, m->type, m->loc);
  e->region = regions_of(m, node);
  branch(m, arm, low, middle);
  hiaF_elab_yield(e, e->region, base);
  e->region = regions_of(m, node) + 1;
  branch(m, arm, middle, high);
  hiaF_elab_yield(e, e->region, base);
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
  hia_value_id arm = find_arm(m, 0, m->n_arms - 1);
  branch(m, arm, 0, m->n_arms);
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
    e->region = regions_of(m, node) + k;
    elab_arm(m, arms[k]);
    hiaF_elab_yield(e, e->region, base);
  }
  e->region = outer;
  hiaF_elab_results(e, node);
}

uint32_t hiaF_elab_match(hia_elab *e, hia_ast_id id, bool tail) {
  const hia_ast *n = hiaF_node(e->p, id);
  uint32_t base = hiaF_elab(e, n->a, false);
  matcher m = {.e = e,
               .arms = e->p->extra.data + n->b,
               .n_arms = n->c / 2,
               .subject = e->words.data[base],
               .dtype = (hia_dtype)e->types[n->a - e->first],
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
