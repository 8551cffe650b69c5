/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The types that the pass makes: their names and their definitions. And the message that something
 * has no gradient. */
#include "graph/grad/shared.h"
#include "graph/ir/build.h"
#include "graph/ir/sums.h"

_Noreturn void hiaG_grad_lacks(const hia_grad *d, const hia_fn *fn, hia_loc_id loc,
                               const char *what) {
  const hia_loc at = loc == HIA_NONE ? (hia_loc){0} : d->g->locs.data[loc];
  hiaR_throw(d->g->comp, HIA_UNSUPPORTED, "%s:%u:%u: no gradient of %s, in %s", d->g->file, at.line,
             at.col, what, fn->name);
}

hia_type hiaG_grad_param_type(hia_grad *d, uint32_t param) {
  const hia_param_spec *spec = &d->g->params.data[param];
  if (!spec->shape.rank) return hiaG_param_type(d->g->types, spec);
  return hiaG_sum_type(d->g->types, spec->dtype, spec->shape.rank);
}

/* A name of a type is an identifier in the graph's text: a space becomes _s, an underscore __, and
 * any other character its number, _28. So different names stay different. */
hia_type hiaG_grad_named_type(hia_grad *d, const char *name) {
  hia_text t;
  hiaR_text_init(&t, d->arena);
  for (const char *c = name; *c; c++)
    if ((*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9'))
      hiaR_text_addf(&t, "%c", *c);
    else if (*c == ' ' || *c == '_')
      hiaR_text_addf(&t, *c == ' ' ? "_s" : "__");
    else
      hiaR_text_addf(&t, "_%02x", (unsigned char)*c);
  return hiaG_data(d->g->types, t.data);
}

void hiaG_grad_define(hia_grad *d, hia_type type, const hia_ctor_def *ctors, uint32_t n) {
  hia_types *types = d->g->types;
  if (n > HIA_MAX_CTORS) /* a program's type has as many, and its gradient one more */
    hiaG_grad_lacks(
        d, d->fn, d->fn->loc,
        hiaR_arena_printf(d->arena, "a type with %u constructors", (unsigned)HIA_MAX_CTORS));
  if (!hiaG_data_is_defined(types, type))
    hiaG_data_define(types, type, ctors, n);
  else if (!hiaG_data_is(types, type, ctors, n)) /* a graph that was read */
    hiaR_throw(d->g->comp, HIA_UNSUPPORTED, "the type %s has another definition",
               hiaG_type_text(types, type));
}
