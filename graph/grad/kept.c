/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Builds f.kept: f, which also returns the tape. layout.c says what that is. f.kept makes a piece
 * as soon as its words are computed. */
#include "graph/grad/keeping.h"
#include "graph/ir/build.h"
#include "graph/ir/change.h"
#include "graph/ir/walk.h"

static void copy_region(hia_keeping *k, hia_region_id from, hia_region_id to);

/* True if what is made here has the record of a node of f: nodes of reruns have theirs in what
 * f.back calls. */
static bool keeps(const hia_keeping *k, hia_node_id n) {
  return k->b->records[n].kept != HIA_NONE && k->b->rerun_of[n] == k->rerun;
}

static hia_value_id value_kept(const hia_keeping *k, uint32_t kept) {
  const hia_grad_kept *entry = kept_of(k, kept);
  return entry->kind == HIA_KEPT_VALUE ? k->map[entry->value] : k->records[entry->node];
}

static hia_u32vec values_kept(const hia_keeping *k, hia_u32vec kept) {
  hia_u32vec values = {0};
  for (uint32_t i = 0; i < kept.len; i++)
    hiaR_push(k->d->arena, &values, value_kept(k, kept.data[i]));
  return values;
}

/* Returns what the holder of a region has of these words, at the end of a region of f.kept. */
static hia_u32vec pack(hia_keeping *k, uint32_t grad_region, hia_region_id region,
                       hia_u32vec values, hia_loc_id loc) {
  return hiaG_grad_pack(k->d, (hia_grad_at){k->kept, region, loc},
                        grad_region_of(k, grad_region)->pieces, values.data);
}

/* Returns the tape of a body or an arm, at the end of a region. */
static hia_value_id tape_of(hia_keeping *k, uint32_t grad_region, hia_region_id region,
                            hia_loc_id loc) {
  hia_node_id branch = hiaG_keep_sole_branch(k, grad_region);
  if (branch != HIA_NONE) return k->records[branch];
  const hia_grad_region *p = grad_region_of(k, grad_region);
  hia_u32vec values = values_kept(k, hiaG_keep_words_of(k, grad_region));
  if (!values.len) return hiaG_const(k->g, k->kept, region, p->type, p->ctor, loc);
  hia_u32vec ins = pack(k, grad_region, region, values, loc);
  return hiaG_out(
      k->kept,
      hiaG_add(k->g, k->kept, region, HIA_OP_DATA, ins.data, ins.len, &p->type, 1, p->ctor, loc),
      0);
}

static hia_u32vec operands(hia_keeping *k, hia_node_id n) {
  hia_u32vec ins = {0};
  for (uint32_t i = 0; i < node_of(k, n)->n_ins; i++)
    hiaR_push(k->d->arena, &ins, k->map[hiaG_in(k->fn, n, i)]);
  return ins;
}

typedef HIA_VEC(hia_type) types_vec;
static types_vec out_types(hia_keeping *k, hia_node_id n) {
  types_vec types = {0};
  for (uint32_t i = 0; i < node_of(k, n)->n_outs; i++)
    hiaR_push(k->d->arena, &types, hiaG_type(k->fn, node_of(k, n)->outs + i));
  return types;
}

static hia_node_id copy_node(hia_keeping *k, hia_node_id n, hia_region_id to, hia_u32vec ins,
                             types_vec types, uint64_t imm) {
  const hia_node *node = node_of(k, n);
  hia_node_id copy = hiaG_add(k->g, k->kept, to, node->op, ins.data, ins.len, types.data, types.len,
                              imm, node->loc);
  k->kept->nodes.data[copy].flags = node->flags;
  for (uint32_t i = 0; i < node->n_outs; i++) k->map[node->outs + i] = hiaG_out(k->kept, copy, i);
  return copy;
}

/* Ends a region of f.kept with what `from` yields and `more`, unless that is NONE. */
static void copy_yield(hia_keeping *k, hia_region_id from, hia_region_id to, hia_value_id more) {
  hia_u32vec ins = operands(k, hiaG_yield_of(k->fn, from));
  if (more != HIA_NONE) hiaR_push(k->d->arena, &ins, more);
  hiaG_yield(k->g, k->kept, to, ins.data, ins.len);
}

static void copy_branch(hia_keeping *k, hia_node_id n, hia_region_id to) {
  const hia_grad_record *record = &k->b->records[n];
  types_vec types = out_types(k, n);
  bool is_kept = keeps(k, n);
  if (is_kept) hiaR_push(k->d->arena, &types, record->type);
  hia_node_id copy = copy_node(k, n, to, operands(k, n), types, node_of(k, n)->imm);
  for (uint32_t i = 0; i < 2; i++) {
    hia_region_id from = node_of(k, n)->regions + i, arm = k->kept->nodes.data[copy].regions + i;
    copy_region(k, from, arm);
    copy_yield(k, from, arm,
               is_kept ? tape_of(k, record->grad_regions[i], arm, node_of(k, n)->loc) : HIA_NONE);
  }
  if (is_kept) k->records[n] = hiaG_out(k->kept, copy, node_of(k, n)->n_outs);
}

static void copy_args(hia_keeping *k, hia_region_id from, hia_region_id to) {
  HIA_EACH_ARG(k->fn, from, a)
    copy_node(k, a, to, (hia_u32vec){0}, out_types(k, a), node_of(k, a)->imm);
}

static void copy_loop(hia_keeping *k, hia_node_id n, hia_region_id to) {
  const hia_grad_record *record = &k->b->records[n];
  hia_arena *arena = k->d->arena;
  bool is_kept = keeps(k, n);
  hia_loc_id loc = node_of(k, n)->loc;
  hia_u32vec ins = operands(k, n);
  types_vec types = out_types(k, n);
  if (is_kept) {
    hiaR_push(arena, &ins, hiaG_const(k->g, k->kept, to, record->type, 0, loc));
    hiaR_push(arena, &types, record->type);
  }
  hia_node_id copy = copy_node(k, n, to, ins, types, node_of(k, n)->imm);
  hia_region_id head = k->kept->nodes.data[copy].regions, from = node_of(k, n)->regions;
  hia_value_id list = HIA_NONE, more = HIA_NONE;
  copy_args(k, from, head);
  if (is_kept)
    list = hiaG_out(
        k->kept,
        hiaG_add(k->g, k->kept, head, HIA_OP_ARG, NULL, 0, &record->type, 1, ins.len - 1, loc), 0);
  copy_region(k, from, head);
  copy_yield(k, from, head, list);
  copy_region(k, from + 1, head + 1);
  if (is_kept) {
    hia_u32vec values = values_kept(k, hiaG_keep_words_of(k, record->grad_regions[0])),
               of_round = values_kept(k, hiaG_keep_words_of(k, record->grad_regions[1]));
    for (uint32_t i = 0; i < of_round.len; i++) hiaR_push(arena, &values, of_round.data[i]);
    hiaR_push(arena, &values, list);
    hia_u32vec kept = pack(k, record->grad_regions[0], head + 1, values, loc);
    more = hiaG_out(k->kept,
                    hiaG_add(k->g, k->kept, head + 1, HIA_OP_DATA, kept.data, kept.len,
                             &record->type, 1, 1, loc),
                    0);
    k->records[n] = hiaG_out(k->kept, copy, node_of(k, n)->n_outs);
  }
  copy_yield(k, from + 1, head + 1, more);
}

/* Makes the array of the elements alone, word by word of the array that has the records, too. */
static hia_value_id elements_alone(hia_keeping *k, hia_node_id n, hia_region_id to,
                                   hia_value_id all, const hia_pieces *pieces) {
  hia_loc_id loc = node_of(k, n)->loc;
  hia_type i64 = HIA_I64, type = hiaG_type(k->fn, node_of(k, n)->outs);
  hia_node_id yield = hiaG_yield_of(k->fn, node_of(k, n)->regions);
  hia_node_id len = hiaG_add(k->g, k->kept, to, HIA_OP_LEN, &all, 1, &i64, 1, 0, loc);
  hia_value_id size = hiaG_out(k->kept, len, 0);
  hia_node_id map = hiaG_add(k->g, k->kept, to, HIA_OP_MAP, &size, 1, &type, 1, 0, loc);
  hia_region_id each = k->kept->nodes.data[map].regions;
  hia_node_id arg = hiaG_add(k->g, k->kept, each, HIA_OP_ARG, NULL, 0, &i64, 1, 0, loc);
  uint32_t n_own = k->fn->nodes.data[yield].n_ins;
  hia_grad_at at = {k->kept, each, loc};
  hia_unpacking u = hiaG_grad_unpack(k->d, at, pieces, all, hiaG_out(k->kept, arg, 0), n_own);
  for (uint32_t i = 0; i < n_own; i++) (void)hiaG_grad_unpack_word(k->d, at, &u, i);
  hiaG_yield(k->g, k->kept, each, u.values, n_own);
  return hiaG_out(k->kept, map, 0);
}

static void copy_map(hia_keeping *k, hia_node_id n, hia_region_id to) {
  const hia_grad_record *record = &k->b->records[n];
  hia_u32vec more = {0};
  if (keeps(k, n)) more = hiaG_keep_words_of_each(k, n, NULL);
  types_vec types = out_types(k, n);
  if (more.len) types.data[0] = record->type;
  hia_node_id copy = copy_node(k, n, to, operands(k, n), types, node_of(k, n)->imm);
  hia_region_id from = node_of(k, n)->regions, each = k->kept->nodes.data[copy].regions;
  copy_args(k, from, each);
  copy_region(k, from, each);
  hia_u32vec values = operands(k, hiaG_yield_of(k->fn, from)), of_more = values_kept(k, more);
  for (uint32_t i = 0; i < of_more.len; i++) hiaR_push(k->d->arena, &values, of_more.data[i]);
  if (more.len) values = pack(k, record->grad_regions[0], each, values, node_of(k, n)->loc);
  hiaG_yield(k->g, k->kept, each, values.data, values.len);
  if (!keeps(k, n)) return;
  k->records[n] = hiaG_out(k->kept, copy, 0);
  if (more.len)
    k->map[node_of(k, n)->outs] =
        elements_alone(k, n, to, k->records[n], grad_region_of(k, record->grad_regions[0])->pieces);
}

static void copy_call(hia_keeping *k, hia_node_id n, hia_region_id to) {
  const hia_grad_record *record = &k->b->records[n];
  types_vec types = out_types(k, n);
  if (!keeps(k, n)) {
    copy_node(k, n, to, operands(k, n), types, node_of(k, n)->imm);
    return;
  }
  hiaR_push(k->d->arena, &types, record->type);
  hia_fn_id callee = k->d->versions.data[record->version].kept;
  hia_node_id copy = copy_node(k, n, to, operands(k, n), types, callee);
  k->records[n] = hiaG_out(k->kept, copy, node_of(k, n)->n_outs);
}

/* Copies the nodes from n on and before `end` but ARGs, the YIELD, and what stands around reruns.
 */
static void copy_nodes(hia_keeping *k, hia_node_id n, hia_node_id end, hia_region_id to) {
  for (; n != end; n = node_of(k, n)->next) {
    if (node_of(k, n)->flags & (HIA_NODE_BEGIN | HIA_NODE_END)) continue;
    switch (node_of(k, n)->op) {
    case HIA_OP_ARG:
    case HIA_OP_YIELD: break;
    case HIA_OP_IF: copy_branch(k, n, to); break;
    case HIA_OP_LOOP: copy_loop(k, n, to); break;
    case HIA_OP_MAP: copy_map(k, n, to); break;
    case HIA_OP_CALL: copy_call(k, n, to); break;
    default: copy_node(k, n, to, operands(k, n), out_types(k, n), node_of(k, n)->imm);
    }
  }
}

static void copy_region(hia_keeping *k, hia_region_id from, hia_region_id to) {
  copy_nodes(k, k->fn->regions.data[from].first, HIA_NONE, to);
}

/* Builds the function that computes again what f.back reads of a rerun. */
static void build_again(const hia_keeping *kept, uint32_t rerun) {
  hia_keeping k = *kept;
  const hia_grad_rerun *s = &k.b->reruns.data[rerun];
  if (s->grad_region == HIA_NONE || hiaG_fn(k.g, s->again)->is_removed) return;
  k.rerun = rerun;
  k.kept = hiaG_fn(k.g, s->again);
  k.map = HIA_NEW_ARRAY(k.d->arena, hia_value_id, k.fn->values.len + 1);
  k.records = HIA_NEW_ARRAY(k.d->arena, hia_value_id, k.fn->nodes.len + 1);
  for (uint32_t i = 0; i < s->inputs.len; i++) k.map[s->inputs.data[i]] = hiaG_out(k.kept, i, 0);
  for (uint32_t i = 0; i < s->constants.len; i++) {
    hia_node_id n = k.fn->values.data[s->constants.data[i]].node;
    copy_node(&k, n, 0, (hia_u32vec){0}, out_types(&k, n), node_of(&k, n)->imm);
  }
  copy_nodes(&k, node_of(&k, s->begin)->next, s->end, 0);
  hia_u32vec results = pack(&k, s->grad_region, 0,
                            values_kept(&k, hiaG_keep_words_of(&k, s->grad_region)), k.kept->loc);
  hiaG_yield(k.g, k.kept, 0, results.data, results.len);
  hiaG_compact(k.g, k.kept);
}

void hiaG_grad_kept(hia_back *b) {
  hia_grad *d = b->d;
  const hia_grad_version version = d->versions.data[b->version];
  hia_keeping k = {.b = b, .d = d, .g = b->g, .fn = b->fn, .back = b->back};
  k.kept = hiaG_fn(b->g, version.kept);
  k.map = HIA_NEW_ARRAY(d->arena, hia_value_id, b->fn->values.len + 1);
  k.records = HIA_NEW_ARRAY(d->arena, hia_value_id, b->fn->nodes.len + 1);
  k.rerun = HIA_NONE;
  hiaG_keep_lay_out(&k);
  if (b->g->tapes) hiaG_grad_report(b);
  hiaG_keep_read_tapes(&k);
  for (uint32_t i = 0; i < b->fn->n_params; i++) k.map[i] = i;
  copy_region(&k, 0, 0);
  copy_yield(&k, 0, 0, tape_of(&k, 0, 0, b->fn->loc));
  for (uint32_t i = 0; i < b->reruns.len; i++) build_again(&k, i);
}
