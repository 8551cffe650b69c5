/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Builds f.back: from the gradients of f's results to those of its parameters and of the params
 * that it reads. */
#include "graph/grad/back/back.h"
#include "graph/ir/walk.h"

static hia_value_id gradient_or_zero(hia_reverse *r, hia_contributions found, uint32_t id) {
  for (uint32_t k = 0; k < found.len; k++)
    if (found.data[k].id == id) return found.data[k].gradient;
  return hiaG_back_zero(r, id);
}

void hiaG_grad_back(hia_back *b) {
  hia_reverse r = {.b = b, .d = b->d, .g = b->g, .fn = b->fn, .back = b->back};
  hia_arena *arena = b->d->arena;
  uint32_t n_ids = b->fn->values.len + b->g->params.len;
  const hia_grad_version version = b->d->versions.data[b->version];
  r.gradient = HIA_NEW_ARRAY(arena, hia_value_id, n_ids + 1);
  r.scope_of = HIA_NEW_ARRAY(arena, uint32_t, n_ids + 1);
  memset(r.gradient, 0xff, (n_ids + 1) * sizeof *r.gradient);
  b->first_kept = HIA_NEW_ARRAY(arena, uint32_t, b->fn->values.len + 1);
  memset(b->first_kept, 0xff, (b->fn->values.len + 1) * sizeof *b->first_kept);
  b->records = HIA_NEW_ARRAY(arena, hia_grad_record, b->fn->nodes.len + 1);
  for (uint32_t i = 0; i < b->fn->nodes.len; i++)
    b->records[i] = (hia_grad_record){.kept = HIA_NONE};
  hiaG_back_choose_sums(&r);
  uint32_t body = hiaG_back_add_region(&r, HIA_GRAD_BODY, 0, 0, HIA_NONE, HIA_NONE);
  b->grad_regions.data[body].tape = 0; /* the first parameter */
  hia_value_id *seeds = HIA_NEW_ARRAY(arena, hia_value_id, b->fn->n_results + 1);
  uint32_t at = 1;
  for (uint32_t i = 0; i < b->fn->n_results; i++) {
    seeds[i] = version.seeded[i] ? at++ : HIA_NONE;
    if (seeds[i] != HIA_NONE)
      hiaG_back_same_shape(&r, seeds[i], hiaG_in(b->fn, hiaG_yield_of(b->fn, 0), i));
  }
  r.grad_region = body;
  hia_contributions found = hiaG_back_arm(&r, body, seeds, (hia_contributions){0});
  /* The gradients of parameters, then those of params. */
  hia_u32vec results = {0};
  r.loc = b->fn->loc;
  for (uint32_t i = 0; i < b->fn->n_params; i++) {
    if (!version.varies[i]) continue;
    hiaR_push(arena, &results, gradient_or_zero(&r, found, i));
  }
  const bool *reads =
      b->d->params.data[version.params].reads + (size_t)version.fn * b->g->params.len;
  for (uint32_t p = 0; p < b->g->params.len; p++) {
    if (!reads[p]) continue;
    hiaR_push(arena, &results, gradient_or_zero(&r, found, b->fn->values.len + p));
  }
  hiaG_yield(b->g, b->back, 0, results.data, results.len);
}
