/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Making graphs. All memory is the compilation's arena. What is replaced, such as the old operands
 * of a node, stays there until the compilation ends. */
#include "graph/ir/build.h"
#include "graph/ir/op_type.h"
#include "graph/ir/sums.h"
#include <stdio.h>

hia_graph *hiaG_new(hia_comp *comp, hia_types *types, const char *file) {
  hia_graph *g = HIA_NEW(&comp->arena, hia_graph);
  g->comp = comp;
  g->types = types;
  g->file = hiaR_arena_strndup(&comp->arena, file, strlen(file));
  return g;
}

uint32_t hiaG_name(hia_graph *g, const char *name) {
  size_t len = strlen(name);
  uint32_t hash = hiaR_hash(name, len), at = hash, i;
  while ((i = hiaR_index_next(&g->name_index, hash, &at)) != HIA_NONE)
    if (strcmp(g->names.data[i], name) == 0) return i;
  hiaR_index_add(&g->comp->arena, &g->name_index, hash, g->names.len);
  hiaR_push(&g->comp->arena, &g->names, hiaR_arena_strndup(&g->comp->arena, name, len));
  return g->names.len - 1;
}

hia_loc_id hiaG_loc(hia_graph *g, uint32_t line, uint32_t col, uint32_t fn_name,
                    hia_loc_id parent) {
  const hia_loc loc = {line, col, fn_name, parent};
  const uint32_t key[4] = {line, col, fn_name, parent};
  uint32_t hash = hiaR_hash(key, sizeof key), at = hash, i;
  while ((i = hiaR_index_next(&g->loc_index, hash, &at)) != HIA_NONE) {
    const hia_loc *l = &g->locs.data[i];
    if (l->line == line && l->col == col && l->fn == fn_name && l->parent == parent) return i;
  }
  hiaR_index_add(&g->comp->arena, &g->loc_index, hash, g->locs.len);
  hiaR_push(&g->comp->arena, &g->locs, loc);
  return g->locs.len - 1;
}

/* ---- making ---- */

static hia_node_id new_node(hia_graph *g, hia_fn *fn, hia_region_id region, unsigned op,
                            const hia_value_id *ins, uint32_t n_ins, const hia_type *out_types,
                            uint32_t n_outs, uint64_t imm, hia_loc_id loc) {
  hia_arena *arena = &g->comp->arena;
  if (n_ins > UINT32_MAX - fn->edges.len || n_outs > UINT32_MAX - fn->values.len)
    hiaR_throw(g->comp, HIA_MEMORY, "out of memory: function %s is too large", fn->name);
  hia_node_id n = fn->nodes.len;
  hia_node node = {.op = (uint16_t)op,
                   .ins = fn->edges.len,
                   .n_ins = n_ins,
                   .outs = fn->values.len,
                   .n_outs = n_outs,
                   .region = region,
                   .prev = HIA_NONE,
                   .next = HIA_NONE,
                   .regions = HIA_NONE,
                   .loc = loc,
                   .imm = imm};
  /* `ins` may point into fn->edges: the arena keeps the old block readable when they move. */
  hiaR_reserve(arena, &fn->edges, fn->edges.len + n_ins);
  if (n_ins) memcpy(fn->edges.data + fn->edges.len, ins, n_ins * sizeof *ins);
  fn->edges.len += n_ins;
  hiaR_reserve(arena, &fn->values, fn->values.len + n_outs);
  for (uint32_t i = 0; i < n_outs; i++)
    fn->values.data[fn->values.len++] = (hia_value_info){n, out_types[i]};
  if (hiaG_n_regions(op)) {
    hia_region_kind kind = op == HIA_OP_IF     ? HIA_REGION_THEN
                           : op == HIA_OP_LOOP ? HIA_REGION_HEAD
                                               : HIA_REGION_EACH;
    node.regions = fn->regions.len;
    hia_region first = {.kind = (uint8_t)kind,
                        .parent = region,
                        .owner = n,
                        .first = HIA_NONE,
                        .last = HIA_NONE,
                        .pred = HIA_NONE};
    hia_region second = first;
    second.kind = op == HIA_OP_IF ? HIA_REGION_ELSE : HIA_REGION_ROUND;
    if (op == HIA_OP_LOOP) second.parent = node.regions;
    hiaR_push(arena, &fn->regions, first);
    if (hiaG_n_regions(op) == 2) hiaR_push(arena, &fn->regions, second);
  }
  hiaR_push(arena, &fn->nodes, node);
  return n;
}

hia_node_id hiaG_add(hia_graph *g, hia_fn *fn, hia_region_id region, unsigned op,
                     const hia_value_id *ins, uint32_t n_ins, const hia_type *out_types,
                     uint32_t n_outs, uint64_t imm, hia_loc_id loc) {
  hia_node_id n = new_node(g, fn, region, op, ins, n_ins, out_types, n_outs, imm, loc);
  if (g->state == HIA_STATIC) return n;
  hia_region *r = &fn->regions.data[region];
  fn->nodes.data[n].prev = r->last;
  if (r->last != HIA_NONE)
    fn->nodes.data[r->last].next = n;
  else
    r->first = n;
  r->last = n;
  return n;
}

hia_node_id hiaG_insert(hia_graph *g, hia_fn *fn, hia_node_id at, unsigned op,
                        const hia_value_id *ins, uint32_t n_ins, const hia_type *out_types,
                        uint32_t n_outs, uint64_t imm, hia_loc_id loc) {
  hia_region_id region = fn->nodes.data[at].region;
  hia_node_id n = new_node(g, fn, region, op, ins, n_ins, out_types, n_outs, imm, loc);
  hia_node_id prev = fn->nodes.data[at].prev;
  fn->nodes.data[n].prev = prev;
  fn->nodes.data[n].next = at;
  fn->nodes.data[at].prev = n;
  if (prev != HIA_NONE)
    fn->nodes.data[prev].next = n;
  else
    fn->regions.data[region].first = n;
  return n;
}

const char *hiaG_new_name(hia_graph *g, const char *of, const char *suffix) {
  const char *name = of;
  for (bool is_taken = true; is_taken;) {
    name = hiaR_arena_printf(&g->comp->arena, "%s%s", name, suffix);
    is_taken = false;
    for (hia_fn_id f = 0; f < g->fns.len && !is_taken; f++)
      is_taken = !hiaG_fn(g, f)->is_removed && strcmp(hiaG_fn(g, f)->name, name) == 0;
  }
  return name;
}

hia_fn_id hiaG_fn_new(hia_graph *g, const char *name, uint32_t source, hia_loc_id loc,
                      const hia_type *params, uint32_t n_params, const hia_type *results,
                      uint32_t n_results) {
  hia_arena *arena = &g->comp->arena;
  hia_fn *fn = HIA_NEW(arena, hia_fn);
  fn->name = hiaR_arena_strndup(arena, name, strlen(name));
  fn->source = source;
  fn->loc = loc;
  fn->slow_path = fn->gradient = fn->owning_of = HIA_NONE;
  fn->params = HIA_NEW_ARRAY(arena, hia_type, n_params);
  fn->results = HIA_NEW_ARRAY(arena, hia_type, n_results);
  if (n_params) memcpy(fn->params, params, n_params * sizeof *params);
  if (n_results) memcpy(fn->results, results, n_results * sizeof *results);
  fn->n_params = n_params;
  fn->n_results = n_results;
  hia_region body = {.kind = HIA_REGION_BODY,
                     .parent = HIA_NONE,
                     .owner = HIA_NONE,
                     .first = HIA_NONE,
                     .last = HIA_NONE,
                     .pred = HIA_NONE};
  hiaR_push(arena, &fn->regions, body);
  if (g->state == HIA_FUNCTIONS)
    for (uint32_t i = 0; i < n_params; i++)
      hiaG_add(g, fn, 0, HIA_OP_ARG, NULL, 0, &params[i], 1, i, HIA_NONE);
  hiaR_push(arena, &g->fns, fn);
  return g->fns.len - 1;
}

hia_fn_id hiaG_root_new(hia_graph *g, hia_fn_id of, const char *suffix, const hia_type *results,
                        uint32_t n_results, hia_type result) {
  const hia_fn *like = hiaG_fn(g, of);
  hia_fn_id id = hiaG_fn_new(g, hiaG_new_name(g, like->name, suffix), like->source, like->loc,
                             like->params, like->n_params, results, n_results);
  hia_fn *fn = hiaG_fn(g, id);
  for (hia_fn_id f = 0; f < g->fns.len; f++) hiaG_fn(g, f)->is_root = f == id;
  fn->n_sig_params = like->n_sig_params;
  fn->sig_params = like->sig_params;
  fn->sig_result = result;
  return id;
}

hia_value_id hiaG_computed(hia_graph *g, hia_fn *fn, hia_region_id region, unsigned op,
                           const hia_value_id *ins, uint32_t n_ins, hia_dtype result, uint64_t imm,
                           hia_loc_id loc) {
  enum { FEW = 8 };
  hia_type few[FEW], *types = few;
  if (n_ins > FEW) types = HIA_NEW_ARRAY(&g->comp->scratch, hia_type, n_ins);
  for (uint32_t i = 0; i < n_ins; i++) types[i] = hiaG_type(fn, ins[i]);
  hia_type type = hiaG_op_type(g->types, op, imm, types, n_ins, result);
  if (type == HIA_NONE) HIA_BUG(g->comp, "%s does not take these operands", hiaR_ops[op].name);
  return hiaG_out(fn, hiaG_add(g, fn, region, op, ins, n_ins, &type, 1, imm, loc), 0);
}

hia_value_id hiaG_op(hia_graph *g, hia_fn *fn, hia_region_id region, unsigned op,
                     const hia_value_id *ins, uint32_t n_ins, hia_loc_id loc) {
  return hiaG_computed(g, fn, region, op, ins, n_ins, HIA_N_DTYPES, 0, loc);
}

hia_value_id hiaG_const(hia_graph *g, hia_fn *fn, hia_region_id region, hia_type type,
                        hia_word word, hia_loc_id loc) {
  return hiaG_out(fn, hiaG_add(g, fn, region, HIA_OP_CONST, NULL, 0, &type, 1, word, loc), 0);
}

void hiaG_yield(hia_graph *g, hia_fn *fn, hia_region_id region, const hia_value_id *ins,
                uint32_t n) {
  hiaG_add(g, fn, region, HIA_OP_YIELD, ins, n, NULL, 0, 0, HIA_NONE);
}

void hiaG_yield_outs(hia_graph *g, hia_fn *fn, hia_region_id region, hia_node_id n) {
  uint32_t n_outs = fn->nodes.data[n].n_outs;
  hia_value_id *outs = HIA_NEW_ARRAY(&g->comp->scratch, hia_value_id, n_outs + 1);
  for (uint32_t i = 0; i < n_outs; i++) outs[i] = hiaG_out(fn, n, i);
  hiaG_yield(g, fn, region, outs, n_outs);
}

/* ---- functions of the host ---- */

static uint32_t flatten_types(hia_graph *g, const hia_type *types, uint32_t n, hia_type **out) {
  uint32_t words = 0;
  for (uint32_t i = 0; i < n; i++) words += hiaG_type_words(g->types, types[i]);
  hia_type *at = *out = HIA_NEW_ARRAY(&g->comp->arena, hia_type, words);
  for (uint32_t i = 0; i < n; i++) {
    hiaG_type_flatten(g->types, types[i], at);
    at += hiaG_type_words(g->types, types[i]);
  }
  return words;
}

uint32_t hiaG_extern_new(hia_graph *g, const char *name, bool is_impure, bool raises,
                         const hia_type *params, uint32_t n_params, hia_type result) {
  hia_arena *arena = &g->comp->arena;
  hia_extern e = {.name = hiaR_arena_strndup(arena, name, strlen(name)),
                  .is_impure = is_impure,
                  .raises = raises,
                  .gradient = HIA_NONE,
                  .sig_params = HIA_NEW_ARRAY(arena, hia_type, n_params),
                  .n_sig_params = n_params,
                  .result = result};
  if (n_params) memcpy(e.sig_params, params, n_params * sizeof *params);
  e.n_params = flatten_types(g, params, n_params, &e.params);
  e.n_results = flatten_types(g, &result, 1, &e.results);
  hiaR_push(arena, &g->externs, e);
  return g->externs.len - 1;
}

void hiaG_extern_print(const hia_types *types, const char *name, bool is_impure,
                       const hia_type *params, uint32_t n_params, hia_type result, hia_text *out) {
  hiaR_text_addf(out, "extern %sfn %s(", is_impure ? "impure " : "", name);
  for (uint32_t i = 0; i < n_params; i++) {
    if (i) hiaR_text_addf(out, ", ");
    hiaG_type_print(types, params[i], out);
  }
  hiaR_text_addf(out, ") -> ");
  hiaG_type_print(types, result, out);
}

/* ---- params and gradients ---- */

uint32_t hiaG_param_new(hia_graph *g, const hia_param_spec *spec) {
  hia_param_spec copied = *spec;
  copied.name = hiaR_arena_printf(&g->comp->arena, "%s", spec->name);
  hiaR_push(&g->comp->arena, &g->params, copied);
  return g->params.len - 1;
}

uint32_t hiaG_argument_new(hia_graph *g, hia_dtype dtype, const hia_dims *shape,
                           const hia_argument *argument) {
  char name[32];
  snprintf(name, sizeof name, "argument.%u", g->arguments.len);
  hiaR_push(&g->comp->arena, &g->arguments, *argument);
  hia_param_spec spec = {.name = name, .dtype = dtype, .init = HIA_INIT_FULL, .shape = *shape};
  return hiaG_param_new(g, &spec);
}

uint32_t hiaG_literal_new(hia_graph *g, hia_dtype dtype, const hia_dims *shape) {
  hia_tensor_literal new = {.dtype = dtype, .shape = *shape};
  uint64_t n, each = hiaR_reprs[dtype].size;
  if (!hiaR_shape_elements(shape, each, &n) || n > UINT32_MAX) return HIA_NONE;
  uint64_t bytes = each * n;
  new.size = bytes;
  new.elements = HIA_NEW_ARRAY(&g->comp->arena, char, new.size + 1);
  hiaR_push(&g->comp->arena, &g->literals, new);
  return g->literals.len - 1;
}

hia_type hiaG_param_type(hia_types *types, const hia_param_spec *spec) {
  return hiaG_ranked(types, spec->dtype, spec->shape.rank);
}

uint32_t hiaG_gradient_new(hia_graph *g, hia_fn_id fn, bool has_value, const hia_wrt *wrt,
                           uint32_t n) {
  hia_arena *arena = &g->comp->arena;
  hia_gradient_of new = {.fn = fn, .has_value = has_value, .n = n};
  new.wrt = HIA_NEW_ARRAY(arena, hia_wrt, n);
  if (n) memcpy(new.wrt, wrt, n * sizeof *wrt);
  hiaR_push(arena, &g->gradients, new);
  return g->gradients.len - 1;
}

hia_type hiaG_wrt_type(const hia_graph *g, hia_fn_id fn, const hia_wrt *wrt) {
  if (!wrt->is_param) return hiaG_fn(g, fn)->params[wrt->i];
  const hia_param_spec *spec = &g->params.data[wrt->i];
  return wrt->is_sum ? hiaG_sum_type(g->types, spec->dtype, spec->shape.rank)
                     : hiaG_param_type(g->types, spec);
}
