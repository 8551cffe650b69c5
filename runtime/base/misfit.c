/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Shapes and misfits as text. A file of its own, since every program that can fail links it. */
#include "runtime/base/shape.h"

static void print_dim(hia_dim d, const hia_dim_names *names, hia_text *out) {
  if (d >= 0)
    hiaR_text_addf(out, "%lld", (long long)d);
  else if (hiaR_dim_is_named(d) && names && names->text)
    hiaR_text_addf(out, "%s", names->text(names->user, hiaR_dim_name(d)));
  else
    hiaR_text_addf(out, "?");
}

void hiaR_shape_print(const hia_dims *shape, const hia_dim_names *names, hia_text *out) {
  hiaR_text_addf(out, "[");
  for (uint32_t i = 0; i < shape->rank; i++) {
    if (i) hiaR_text_addf(out, ", ");
    print_dim(shape->dims[i], names, out);
  }
  hiaR_text_addf(out, "]");
}

static void print_axis(const hia_dims *shape, uint32_t axis, const hia_dim_names *names,
                       hia_text *out) {
  hiaR_text_addf(out, "axis %u of ", axis);
  hiaR_shape_print(shape, names, out);
  hiaR_text_addf(out, " is ");
  print_dim(shape->dims[axis], names, out);
}

void hiaR_misfit_print(const hia_misfit *m, const hia_dim_names *names, hia_text *out) {
  switch (m->kind) {
  case HIA_MISFIT_DIM:
    print_axis(&m->a, m->axis_a, names, out);
    hiaR_text_addf(out, ", ");
    print_axis(&m->b, m->axis_b, names, out);
    return;
  case HIA_MISFIT_RANK:
    hiaR_shape_print(&m->a, names, out);
    if (m->operand_a == m->operand_b) {
      hiaR_text_addf(out, " has rank %u, which is not allowed here", m->a.rank);
    } else {
      hiaR_text_addf(out, " has rank %u, ", m->a.rank);
      hiaR_shape_print(&m->b, names, out);
      hiaR_text_addf(out, " has rank %u", m->b.rank);
    }
    return;
  case HIA_MISFIT_AXIS:
    hiaR_shape_print(&m->a, names, out);
    hiaR_text_addf(out, " has no axis %u", m->axis_a);
    return;
  case HIA_MISFIT_RANGE:
    hiaR_text_addf(out, "there are no elements ");
    print_dim(m->from, names, out);
    hiaR_text_addf(out, "..");
    print_dim(m->to, names, out);
    hiaR_text_addf(out, " in ");
    hiaR_shape_print(&m->a, names, out);
    return;
  case HIA_MISFIT_COUNT:
    hiaR_shape_print(&m->a, names, out);
    hiaR_text_addf(out, " and ");
    hiaR_shape_print(&m->b, names, out);
    hiaR_text_addf(out, " have different numbers of elements");
    return;
  case HIA_MISFIT_LARGE:
    hiaR_text_addf(out, "the result of ");
    hiaR_shape_print(&m->a, names, out);
    hiaR_text_addf(out, " has too many elements");
    return;
  case HIA_MISFIT_TOO_DEEP:
    hiaR_text_addf(out, "the result of ");
    hiaR_shape_print(&m->a, names, out);
    hiaR_text_addf(out, " has more than %d axes", HIA_MAX_RANK);
    return;
  case HIA_MISFIT_NEGATIVE:
    hiaR_text_addf(out, "size %u is %lld", m->axis_a, (long long)m->from);
    return;
  }
}
