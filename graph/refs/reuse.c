/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Memory that is used again (Perceus, section 2.4): the memory of an object whose last reference
 * goes, a *token*, is given to a construction of the same size. */
#include "graph/ir/build.h"
#include "graph/ir/change.h"
#include "graph/ir/walk.h"
#include "graph/refs/shared.h"

typedef struct token {
  hia_value_id value;
  uint64_t ctor; /* the constructor that the memory had */
  uint32_t size;
  uint32_t left; /* of HIA_REFS_REACH */
} token;

/* The operands of a construction, as bits, that the value has in the same words: the value was of
 * the same constructor. ("Reuse specialization", section 2.5.) */
static uint32_t unchanged(const hia_fn *fn, hia_node_id n, hia_value_id value, uint32_t ctor) {
  const hia_node *node = &fn->nodes.data[n];
  uint32_t set = 0;
  if (HIA_IMM_A(node->imm) != ctor || hiaG_type(fn, node->outs) != hiaG_type(fn, value)) return 0;
  for (uint32_t i = 0; i < node->n_ins && i < 32; i++) {
    const hia_node *field = hiaG_def(fn, hiaG_in(fn, n, i));
    if (field->op == HIA_OP_FIELD && fn->edges.data[field->ins] == value &&
        field->imm == HIA_IMM(ctor, i))
      set |= 1u << i;
  }
  return set;
}

static void reuse(hia_graph *g, hia_fn *fn, hia_node_id n, hia_value_id with) {
  uint32_t n_ins = fn->nodes.data[n].n_ins, ctor = HIA_IMM_A(fn->nodes.data[n].imm);
  const hia_node *unpack = hiaG_def(fn, with);
  uint32_t set = unchanged(fn, n, fn->edges.data[unpack->ins], HIA_IMM_A(unpack->imm));
  hia_value_id *ins = HIA_NEW_ARRAY(&g->comp->scratch, hia_value_id, n_ins + 1);
  ins[0] = with;
  for (uint32_t i = 0; i < n_ins; i++) ins[i + 1] = hiaG_in(fn, n, i);
  hiaG_set_ins(g, fn, n, ins, n_ins + 1);
  fn->nodes.data[n].op = HIA_OP_REUSE;
  fn->nodes.data[n].imm = HIA_IMM(ctor, set);
}

/* Gives the token to the first construction of its size behind node n in n's region. */
static bool give_here(hia_graph *g, hia_fn *fn, hia_node_id n, token *t) {
  for (; n != HIA_NONE && t->left; n = fn->nodes.data[n].next) {
    const hia_node *node = &fn->nodes.data[n];
    t->left--;
    if (node->op != HIA_OP_DATA ||
        hiaG_object_size(g, hiaG_type(fn, node->outs), (uint32_t)node->imm) != t->size)
      continue;
    reuse(g, fn, n, t->value);
    return true;
  }
  return false;
}

/* Gives the token to a construction inside a branch. On the other side the token is given back. */
static bool give_inside(hia_graph *g, hia_fn *fn, hia_node_id n, token *t) {
  for (; n != HIA_NONE && t->left; n = fn->nodes.data[n].next) {
    if (fn->nodes.data[n].op != HIA_OP_IF) continue;
    hia_region_id then = fn->nodes.data[n].regions;
    bool is_given[2];
    for (uint32_t k = 0; k < 2; k++) {
      hia_node_id first = fn->regions.data[then + k].first;
      is_given[k] = give_here(g, fn, first, t) || give_inside(g, fn, first, t);
    }
    if (!is_given[0] && !is_given[1]) continue;
    for (uint32_t k = 0; k < 2; k++)
      if (!is_given[k])
        hiaG_insert(g, fn, hiaG_start_of(fn, then + k), HIA_OP_FORGET, &t->value, 1, NULL, 0,
                    t->ctor, HIA_NONE);
    return true;
  }
  return false;
}

/* A construction in the region of the UNPACK comes first: in unrolled recursion each level keeps
 * its own memory. */
void hiaG_give_tokens(hia_graph *g, hia_fn *fn) {
  HIA_VEC(token) left = {0};
  HIA_VEC(hia_node_id) left_at = {0};
  HIA_EACH_NODE(fn, n) {
    const hia_node *node = &fn->nodes.data[n];
    if (node->op != HIA_OP_UNPACK) continue;
    token t = {.value = node->outs,
               .ctor = HIA_IMM(HIA_IMM_A(node->imm), 0),
               .size = hiaG_object_size(g, hiaG_type(fn, node->outs), HIA_IMM_A(node->imm)),
               .left = HIA_REFS_REACH};
    if (give_here(g, fn, node->next, &t)) continue;
    t.left = HIA_REFS_REACH;
    hiaR_push(&g->comp->scratch, &left, t);
    hiaR_push(&g->comp->scratch, &left_at, n);
  }
  for (uint32_t i = 0; i < left.len; i++)
    give_inside(g, fn, fn->nodes.data[left_at.data[i]].next, &left.data[i]);
}
