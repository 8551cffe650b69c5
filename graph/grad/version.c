/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The versions of a function: one for each set of parameters that vary and each set of results that
 * come with a gradient. Here they are declared; grad.c makes their bodies. */
#include "graph/grad/shared.h"
#include "graph/ir/build.h"

static bool same(const bool *a, const bool *b, uint32_t n) {
  for (uint32_t i = 0; i < n; i++)
    if (a[i] != b[i]) return false;
  return true;
}

static const bool *copy_flags(hia_grad *d, const bool *flags, uint32_t n) {
  bool *copy = HIA_NEW_ARRAY(d->arena, bool, n + 1);
  if (n) memcpy(copy, flags, n * sizeof *copy);
  return copy;
}

static const char *flags_text(hia_grad *d, const bool *flags, uint32_t n) {
  char *text = HIA_NEW_ARRAY(d->arena, char, n + 1);
  for (uint32_t i = 0; i < n; i++) text[i] = flags[i] ? '1' : '0';
  return text;
}

/* Declares f.kept and f.back. */
static void declare(hia_grad *d, hia_grad_version *v) {
  hia_graph *g = d->g;
  const hia_fn *fn = d->fn = hiaG_fn(g, v->fn);
  HIA_VEC(hia_type) types = {0}, back_results = {0};
  v->tape = hiaG_grad_named_type(
      d, hiaR_arena_printf(d->arena, "Tape %s %s %s %s", fn->name,
                           flags_text(d, v->varies, fn->n_params),
                           flags_text(d, v->seeded, fn->n_results),
                           flags_text(d, d->params.data[v->params].wanted, g->params.len)));
  hiaR_push(&g->comp->arena, &g->tape_types, v->tape);
  for (uint32_t i = 0; i < fn->n_results; i++) hiaR_push(d->arena, &types, fn->results[i]);
  hiaR_push(d->arena, &types, v->tape);
  v->kept = hiaG_fn_new(g, hiaG_new_name(g, fn->name, ".kept"), fn->source, fn->loc, fn->params,
                        fn->n_params, types.data, types.len);
  hiaG_fn(g, v->kept)->is_recomputed = fn->is_recomputed;
  types.len = 0;
  hiaR_push(d->arena, &types, v->tape);
  for (uint32_t i = 0; i < fn->n_results; i++)
    if (v->seeded[i]) hiaR_push(d->arena, &types, hiaG_grad_type(d, fn->results[i]));
  for (uint32_t i = 0; i < fn->n_params; i++)
    if (v->varies[i]) hiaR_push(d->arena, &back_results, hiaG_grad_type(d, fn->params[i]));
  const bool *reads = d->params.data[v->params].reads + (size_t)v->fn * g->params.len;
  for (uint32_t p = 0; p < g->params.len; p++)
    if (reads[p]) hiaR_push(d->arena, &back_results, hiaG_grad_param_type(d, p));
  v->back = hiaG_fn_new(g, hiaG_new_name(g, fn->name, ".back"), fn->source, fn->loc, types.data,
                        types.len, back_results.data, back_results.len);
}

uint32_t hiaG_grad_version(hia_grad *d, hia_fn_id f, uint32_t params, const bool *varies,
                           const bool *seeded) {
  const hia_fn *fn = hiaG_fn(d->g, f);
  uint32_t hash = hiaR_hash((uint32_t[]){f, params}, 2 * sizeof(uint32_t)), at = hash, i;
  while ((i = hiaR_index_next(&d->index, hash, &at)) != HIA_NONE) {
    const hia_grad_version *version = &d->versions.data[i];
    if (version->fn == f && version->params == params &&
        same(version->varies, varies, fn->n_params) && same(version->seeded, seeded, fn->n_results))
      return i;
  }
  hia_grad_version v = {.fn = f, .params = params};
  v.varies = copy_flags(d, varies, fn->n_params);
  v.seeded = copy_flags(d, seeded, fn->n_results);
  declare(d, &v);
  hiaR_index_add(d->arena, &d->index, hash, d->versions.len);
  hiaR_push(d->arena, &d->versions, v);
  return d->versions.len - 1;
}
