/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Objects of many words, which are filled as their words are computed.
 *
 * One would make an object where its node stands. But a tape of straight-line code has dozens of
 * words, more than the processor has registers: LLVM would store each word in the frame, and load
 * it again to store it in the object, and register allocation was half of the time that compiling
 * such a function took. So the memory is taken before the first of the words is computed, unless
 * that is far away, and each word is stored when it is there. A run that ends in between gives up
 * all of its memory, whatever is in it. */
#include "lower/ops/ops.h"

enum {
  MIN_WORDS = 16, /* of an object that is filled early; smaller ones fit into registers */
  REACH = 4       /* nodes a word, from the first word to the object */
};

/* A word of an object that is stored behind the node that computes it. */
typedef struct store {
  hia_node_id data;
  uint32_t word, next; /* index of another store of the same value; or NONE */
  bool is_done;
} store;

struct hia_early {
  uint32_t *opens;      /* by node: the DATA whose memory is taken before it; or NONE */
  LLVMValueRef *object; /* by node, once it has been begun */
  uint32_t *stores_of;  /* by node: the first of its stores; or NONE */
  uint32_t *first;      /* by value: its first store; or NONE */
  HIA_VEC(store) stores;
};

static bool is_early(const hia_emit *e, hia_node_id n) {
  const hia_node *node = hiaL_node(e, n);
  return node->op == HIA_OP_DATA && node->n_ins >= MIN_WORDS;
}

/* Returns the first of the nodes within reach that compute a word of DATA n, in n's region; or n.
 */
static hia_node_id first_word_of(const hia_emit *e, hia_node_id n) {
  const hia_node *node = hiaL_node(e, n);
  hia_node_id first = n;
  for (uint32_t i = 0; i < node->n_ins; i++) {
    hia_node_id at = e->fn->values.data[hiaG_in(e->fn, n, i)].node;
    const hia_node *def = hiaL_node(e, at);
    bool is_computed = def->region == node->region && def->op != HIA_OP_ARG &&
                       def->op != HIA_OP_RETURN_I && !hiaG_is_constant(def->op) &&
                       n - at <= REACH * node->n_ins;
    if (is_computed && at < first) first = at;
  }
  return first;
}

static void plan(hia_emit *e, struct hia_early *p, hia_node_id n) {
  hia_arena *scratch = &e->comp->scratch;
  const hia_node *node = hiaL_node(e, n);
  hia_node_id first = first_word_of(e, n);
  if (first == n || p->opens[first] != HIA_NONE) return;
  p->opens[first] = n;
  p->stores_of[n] = p->stores.len;
  for (uint32_t i = 0; i < node->n_ins; i++) {
    hia_value_id v = hiaG_in(e->fn, n, i);
    hiaR_push(scratch, &p->stores, ((store){n, i, p->first[v], false}));
    p->first[v] = p->stores.len - 1;
  }
}

void hiaL_plan_early(hia_emit *e) {
  const hia_fn *fn = e->fn;
  hia_arena *scratch = &e->comp->scratch;
  e->local.early = NULL;
  bool has_any = false;
  for (hia_node_id n = 0; n < fn->nodes.len; n++) has_any |= is_early(e, n);
  if (!has_any) return;
  struct hia_early *p = HIA_NEW(scratch, struct hia_early);
  p->opens = HIA_NEW_ARRAY(scratch, uint32_t, fn->nodes.len);
  p->object = HIA_NEW_ARRAY(scratch, LLVMValueRef, fn->nodes.len);
  p->stores_of = HIA_NEW_ARRAY(scratch, uint32_t, fn->nodes.len);
  p->first = HIA_NEW_ARRAY(scratch, uint32_t, fn->values.len);
  memset(p->opens, 0xff, fn->nodes.len * sizeof *p->opens);
  memset(p->first, 0xff, fn->values.len * sizeof *p->first);
  for (hia_node_id n = 0; n < fn->nodes.len; n++)
    if (is_early(e, n)) plan(e, p, n);
  e->local.early = p;
}

/* Stores the words of DATA n that are there. */
static void store_words(hia_emit *e, hia_node_id n) {
  struct hia_early *p = e->local.early;
  for (uint32_t i = 0; i < hiaL_node(e, n)->n_ins; i++) {
    store *s = &p->stores.data[p->stores_of[n] + i];
    if (s->is_done || !e->values[hiaG_in(e->fn, n, i)]) continue;
    hiaL_write_word(e, n, p->object[n], i);
    s->is_done = true;
  }
}

void hiaL_open_early(hia_emit *e, hia_node_id n) {
  struct hia_early *p = e->local.early;
  if (!p || p->opens[n] == HIA_NONE) return;
  p->object[p->opens[n]] = hiaL_begin_data(e, p->opens[n]);
  store_words(e, p->opens[n]);
}

static void store_results(hia_emit *e, hia_node_id n) {
  struct hia_early *p = e->local.early;
  const hia_node *node = hiaL_node(e, n);
  for (hia_value_id v = node->outs; v < node->outs + node->n_outs; v++)
    for (uint32_t i = p->first[v]; i != HIA_NONE; i = p->stores.data[i].next) {
      store *s = &p->stores.data[i];
      if (s->is_done || !p->object[s->data] || !e->values[v]) continue;
      hiaL_write_word(e, s->data, p->object[s->data], s->word);
      s->is_done = true;
    }
}

void hiaL_store_early(hia_emit *e, hia_node_id n) {
  if (!e->local.early) return;
  if (hiaL_node(e, n)->op != HIA_OP_RETURN_I) {
    store_results(e, n);
    return;
  }
  /* The results of a call are there behind the last of its nodes. */
  const hia_site *site = &e->g->sites.data[HIA_IMM_A(hiaL_node(e, n)->imm)];
  if (n + 1 != site->returns + site->n_returns) return;
  for (uint32_t i = 0; i < site->n_returns; i++) store_results(e, site->returns + i);
}

LLVMValueRef hiaL_early_object(hia_emit *e, hia_node_id n) {
  struct hia_early *p = e->local.early;
  if (!p || !p->object[n]) return NULL;
  store_words(e, n);
  return p->object[n];
}
