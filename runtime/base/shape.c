/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
#include "runtime/base/shape.h"
#include "runtime/base/type.h"
#include <stdio.h>

/* ---- mistakes ---- */

static hia_fit never(hia_misfit *misfit, hia_misfit why) {
  if (misfit) *misfit = why;
  return HIA_FIT_NEVER;
}

static hia_fit wrong_rank(hia_misfit *misfit, const hia_dims *a, uint32_t operand) {
  return never(
      misfit,
      (hia_misfit){.kind = HIA_MISFIT_RANK, .operand_a = operand, .operand_b = operand, .a = *a});
}

static hia_fit worse(hia_fit a, hia_fit b) { return a > b ? a : b; }

/* Whether two dims are equal. */
static hia_fit fit_equal(hia_dim a, hia_dim b) {
  if (a == b && a != HIA_DIM_UNKNOWN) return HIA_FIT_ALWAYS;
  return a >= 0 && b >= 0 ? HIA_FIT_NEVER : HIA_FIT_SOMETIMES;
}

/* Returns, of two dims that must be equal, the one that says more. */
static hia_dim known_better(hia_dim a, hia_dim b) {
  if (a >= 0 || b == HIA_DIM_UNKNOWN) return a;
  if (b >= 0 || a == HIA_DIM_UNKNOWN) return b;
  return a;
}

/* The result, if it can be in memory: sizes up to 8 bytes. Elements of what is not known are not
 * counted. */
static hia_fit done(hia_fit fit, const hia_dims *shape, const hia_dims *a, hia_dims *out,
                    hia_misfit *misfit) {
  hia_dims known = *shape;
  uint64_t n;
  for (uint32_t i = 0; i < shape->rank; i++)
    if (shape->dims[i] < 0) known.dims[i] = 1;
  if (!hiaR_shape_elements(&known, 8, &n))
    return never(misfit, (hia_misfit){.kind = HIA_MISFIT_LARGE, .a = *a, .b = *shape});
  *out = *shape;
  return fit;
}

static hia_fit too_deep(const hia_dims *a, hia_misfit *misfit) {
  return never(misfit, (hia_misfit){.kind = HIA_MISFIT_TOO_DEEP, .a = *a});
}

bool hiaR_shape_elements(const hia_dims *shape, uint64_t size, uint64_t *n) {
  uint64_t bytes = size ? size : 1, count = 1;
  bool is_empty = false;
  for (uint32_t i = 0; i < shape->rank; i++) {
    if (shape->dims[i] < 0) return false;
    uint64_t dim = (uint64_t)shape->dims[i];
    if (dim == 0) {
      is_empty = true;
      continue;
    }
    if (__builtin_mul_overflow(bytes, dim, &bytes) || bytes > INT64_MAX) return false;
    count *= dim;
  }
  *n = is_empty ? 0 : count;
  return bytes <= INT64_MAX;
}

/* ---- elementwise ---- */

/* A dim of a result of two that broadcast. Of a number above 1, or 0, and what is not known, it is
 * the number if they fit. */
static hia_fit broadcast_dim(hia_dim a, hia_dim b, hia_dim *out) {
  hia_fit fit = HIA_FIT_ALWAYS;
  if (a == b) {
    *out = a; /* of two that are unknown, one may be 1 */
    return a == HIA_DIM_UNKNOWN ? HIA_FIT_SOMETIMES : fit;
  }
  if (a == 1 || b == 1) {
    *out = a == 1 ? b : a;
    return fit;
  }
  fit = fit_equal(a, b);
  *out = a >= 0 ? a : b >= 0 ? b : HIA_DIM_UNKNOWN;
  return fit;
}

/* One more shape of those from axis `keep` back: the last `keep` axes are left out. */
static hia_fit broadcast_with(const hia_dims *ins, uint32_t i, uint32_t keep, hia_dims *all,
                              hia_misfit *misfit) {
  const hia_dims *in = &ins[i];
  uint32_t n_in = in->rank - keep;
  hia_fit fit = HIA_FIT_ALWAYS;
  while (all->rank < n_in) { /* missing axes in front */
    memmove(all->dims + 1, all->dims, all->rank * sizeof *all->dims);
    all->dims[0] = 1;
    all->rank++;
  }
  for (uint32_t k = 1; k <= n_in; k++) {
    hia_dim *dim = &all->dims[all->rank - k];
    hia_fit dim_fit = broadcast_dim(*dim, in->dims[n_in - k], dim);
    fit = worse(fit, dim_fit);
    if (dim_fit != HIA_FIT_NEVER) continue;
    /* The first operand that has another number there is the one that is named. */
    uint32_t earlier = 0;
    while (ins[earlier].rank - keep < k || ins[earlier].dims[ins[earlier].rank - keep - k] != *dim)
      earlier++;
    return never(misfit, (hia_misfit){.kind = HIA_MISFIT_DIM,
                                      .operand_a = earlier,
                                      .operand_b = i,
                                      .axis_a = ins[earlier].rank - keep - k,
                                      .axis_b = n_in - k,
                                      .a = ins[earlier],
                                      .b = *in});
  }
  return fit;
}

hia_fit hiaR_shape_broadcast(const hia_dims *ins, uint32_t n, hia_dims *out, hia_misfit *misfit) {
  hia_dims all = {0}, first = n ? ins[0] : all;
  hia_fit fit = HIA_FIT_ALWAYS;
  for (uint32_t i = 0; i < n; i++) {
    hia_fit shape_fit = broadcast_with(ins, i, 0, &all, misfit);
    if (shape_fit == HIA_FIT_NEVER) return shape_fit;
    fit = worse(fit, shape_fit);
  }
  return done(fit, &all, &first, out, misfit);
}

hia_fit hiaR_shape_of_op(unsigned op, const hia_dims *ins, hia_dims *out, hia_misfit *misfit) {
  switch ((hia_shape_rule)hiaR_ops[op].shape) {
  case HIA_SHAPE_ELEMENTWISE:
    return hiaR_shape_broadcast(ins, (uint32_t)hiaR_ops[op].n_ins, out, misfit);
  default: return HIA_FIT_NEVER;
  }
}

/* ---- parts ---- */

hia_fit hiaR_shape_index(const hia_dims *x, const hia_dims *index, hia_dims *out,
                         hia_misfit *misfit) {
  if (x->rank == 0) return wrong_rank(misfit, x, 0);
  if (x->rank - 1 + index->rank > HIA_MAX_RANK) return too_deep(x, misfit);
  hia_dims result = *index;
  memcpy(result.dims + result.rank, x->dims + 1, (x->rank - 1) * sizeof *x->dims);
  result.rank += x->rank - 1;
  return done(HIA_FIT_ALWAYS, &result, x, out, misfit);
}

hia_fit hiaR_shape_slice(const hia_dims *x, int64_t from, int64_t to, hia_dims *out,
                         hia_misfit *misfit) {
  if (x->rank == 0) return wrong_rank(misfit, x, 0);
  bool has_from = from >= 0, has_to = to >= 0, has_len = x->dims[0] >= 0;
  if ((has_from && has_to && from > to) || (has_from && has_len && from > x->dims[0]) ||
      (has_to && has_len && to > x->dims[0]))
    return never(misfit, (hia_misfit){.kind = HIA_MISFIT_RANGE, .from = from, .to = to, .a = *x});
  hia_dims result = *x;
  result.dims[0] = has_from && has_to ? to - from : HIA_DIM_UNKNOWN;
  bool is_known = has_from && has_to && (has_len || to == 0);
  return done(is_known ? HIA_FIT_ALWAYS : HIA_FIT_SOMETIMES, &result, x, out, misfit);
}

hia_fit hiaR_shape_reduce(const hia_dims *x, uint32_t axis, hia_dims *out, hia_misfit *misfit) {
  hia_dims result = *x;
  if (axis == HIA_ALL_AXES) {
    result.rank = 0;
  } else if (axis >= x->rank) {
    return never(misfit, (hia_misfit){.kind = HIA_MISFIT_AXIS, .axis_a = axis, .a = *x});
  } else {
    memmove(result.dims + axis, result.dims + axis + 1, (x->rank - axis - 1) * sizeof *result.dims);
    result.rank--;
  }
  return done(HIA_FIT_ALWAYS, &result, x, out, misfit);
}

hia_fit hiaR_shape_transpose(const hia_dims *x, hia_dims *out, hia_misfit *misfit) {
  if (x->rank != 2) return wrong_rank(misfit, x, 0);
  *out = (hia_dims){2, {x->dims[1], x->dims[0]}};
  return HIA_FIT_ALWAYS;
}

hia_fit hiaR_shape_reshape(const hia_dims *x, const hia_dims *to, hia_dims *out,
                           hia_misfit *misfit) {
  uint64_t n = 0, m = 0;
  bool has_n = hiaR_shape_elements(x, 8, &n), has_m = hiaR_shape_elements(to, 8, &m);
  if (has_n && has_m && n != m)
    return never(misfit, (hia_misfit){.kind = HIA_MISFIT_COUNT, .operand_b = 1, .a = *x, .b = *to});
  bool is_same = x->rank == to->rank;
  for (uint32_t i = 0; is_same && i < x->rank; i++)
    is_same = fit_equal(x->dims[i], to->dims[i]) == HIA_FIT_ALWAYS;
  return done(is_same || (has_n && has_m) ? HIA_FIT_ALWAYS : HIA_FIT_SOMETIMES, to, x, out, misfit);
}

/* ---- equal dims ---- */

/* Two shapes that must have equal dims but for the axes `a_axis` of a: a's from `first_a` on and
 * b's from `first_b` on, `n` of them. What is known of each goes to `result`, a copy of a. */
static hia_fit equal_dims(const hia_dims *a, uint32_t operand_a, uint32_t first_a,
                          const hia_dims *b, uint32_t operand_b, uint32_t first_b, uint32_t n,
                          hia_dims *result, hia_misfit *misfit) {
  hia_fit fit = HIA_FIT_ALWAYS;
  for (uint32_t i = 0; i < n; i++) {
    hia_dim at = a->dims[first_a + i], bt = b->dims[first_b + i];
    hia_fit one = fit_equal(at, bt);
    fit = worse(fit, one);
    if (one == HIA_FIT_NEVER)
      return never(misfit, (hia_misfit){.kind = HIA_MISFIT_DIM,
                                        .operand_a = operand_a,
                                        .operand_b = operand_b,
                                        .axis_a = first_a + i,
                                        .axis_b = first_b + i,
                                        .a = *a,
                                        .b = *b});
    result->dims[first_a + i] = known_better(result->dims[first_a + i], bt);
  }
  return fit;
}

static hia_fit other_rank(const hia_dims *ins, uint32_t i, hia_misfit *misfit) {
  return never(
      misfit,
      (hia_misfit){
          .kind = HIA_MISFIT_RANK, .operand_a = 0, .operand_b = i, .a = ins[0], .b = ins[i]});
}

/* A dim that earlier operands have made known may differ from the first one's. */
static hia_fit equal_to_known(const hia_dims *ins, uint32_t i, uint32_t axis, hia_dims *result,
                              hia_misfit *misfit) {
  hia_dim known = result->dims[axis], dim = ins[i].dims[axis];
  if (fit_equal(known, dim) != HIA_FIT_NEVER)
    return equal_dims(result, 0, axis, &ins[i], i, axis, 1, result, misfit);
  uint32_t earlier = 0;
  while (ins[earlier].dims[axis] != known) earlier++;
  return equal_dims(&ins[earlier], earlier, axis, &ins[i], i, axis, 1, result, misfit);
}

hia_fit hiaR_shape_concat(const hia_dims *ins, uint32_t n, uint32_t axis, hia_dims *out,
                          hia_misfit *misfit) {
  hia_dims result = ins[0], first = ins[0];
  if (axis >= result.rank)
    return never(misfit, (hia_misfit){.kind = HIA_MISFIT_AXIS, .axis_a = axis, .a = result});
  hia_fit fit = HIA_FIT_ALWAYS;
  hia_dim sum = result.dims[axis] < 0 && n > 1 ? HIA_DIM_UNKNOWN : result.dims[axis];
  for (uint32_t i = 1; i < n; i++) {
    if (ins[i].rank != result.rank) return other_rank(ins, i, misfit);
    for (uint32_t k = 0; k < result.rank; k++) {
      if (k == axis) continue;
      hia_fit one = equal_to_known(ins, i, k, &result, misfit);
      if (one == HIA_FIT_NEVER) return one;
      fit = worse(fit, one);
    }
    hia_dim more = ins[i].dims[axis];
    if (sum >= 0 && more >= 0 && more > INT64_MAX - sum)
      return never(misfit, (hia_misfit){.kind = HIA_MISFIT_LARGE, .a = first, .b = ins[i]});
    sum = sum < 0 || more < 0 ? HIA_DIM_UNKNOWN : sum + more;
  }
  result.dims[axis] = sum;
  return done(fit, &result, &first, out, misfit);
}

hia_fit hiaR_shape_stack(const hia_dims *ins, uint32_t n, uint32_t axis, hia_dims *out,
                         hia_misfit *misfit) {
  hia_dims result = ins[0], first = ins[0];
  if (axis > result.rank)
    return never(misfit, (hia_misfit){.kind = HIA_MISFIT_AXIS, .axis_a = axis, .a = result});
  if (result.rank == HIA_MAX_RANK) return too_deep(&result, misfit);
  hia_fit fit = HIA_FIT_ALWAYS;
  for (uint32_t i = 1; i < n; i++) {
    if (ins[i].rank != result.rank) return other_rank(ins, i, misfit);
    for (uint32_t k = 0; k < result.rank; k++) {
      hia_fit one = equal_to_known(ins, i, k, &result, misfit);
      if (one == HIA_FIT_NEVER) return one;
      fit = worse(fit, one);
    }
  }
  memmove(result.dims + axis + 1, result.dims + axis, (result.rank - axis) * sizeof *result.dims);
  result.dims[axis] = n;
  result.rank++;
  return done(fit, &result, &first, out, misfit);
}

hia_fit hiaR_shape_set(const hia_dims *x, const hia_dims *v, hia_dims *out, hia_misfit *misfit) {
  if (x->rank == 0) return wrong_rank(misfit, x, 0);
  if (v->rank != x->rank - 1)
    return never(misfit, (hia_misfit){.kind = HIA_MISFIT_RANK, .operand_b = 1, .a = *x, .b = *v});
  hia_dims result = *x;
  hia_fit fit = equal_dims(x, 0, 1, v, 1, 0, v->rank, &result, misfit);
  return fit == HIA_FIT_NEVER ? fit : done(fit, &result, x, out, misfit);
}

hia_fit hiaR_shape_of_sizes(const int64_t *sizes, uint32_t n, hia_dims *out, hia_misfit *misfit) {
  hia_dims result = {.rank = n};
  for (uint32_t i = 0; i < n; i++) {
    result.dims[i] = sizes[i];
    if (sizes[i] < 0)
      return never(misfit,
                   (hia_misfit){.kind = HIA_MISFIT_NEGATIVE, .axis_a = i, .from = sizes[i]});
  }
  return done(HIA_FIT_ALWAYS, &result, &result, out, misfit);
}

hia_fit hiaR_shape_expect(const hia_dims *x, const hia_dims *wanted, hia_dims *out,
                          hia_misfit *misfit) {
  if (wanted->rank != x->rank)
    return never(misfit,
                 (hia_misfit){.kind = HIA_MISFIT_RANK, .operand_b = 1, .a = *x, .b = *wanted});
  hia_dims known = *x;
  hia_fit fit = HIA_FIT_ALWAYS;
  for (uint32_t i = 0; i < wanted->rank; i++) {
    if (wanted->dims[i] == HIA_DIM_UNKNOWN) continue; /* any */
    hia_fit one = equal_dims(x, 0, i, wanted, 1, i, 1, &known, misfit);
    if (one == HIA_FIT_NEVER) return one;
    fit = worse(fit, one);
  }
  return done(fit, &known, x, out, misfit);
}

hia_fit hiaR_shape_labels(const hia_dims *x, const hia_dims *labels, hia_dims *out,
                          hia_misfit *misfit) {
  if (x->rank == 0) return wrong_rank(misfit, x, 0);
  if (labels->rank != x->rank - 1)
    return never(misfit,
                 (hia_misfit){.kind = HIA_MISFIT_RANK, .operand_b = 1, .a = *x, .b = *labels});
  hia_dims result = *x;
  hia_fit fit = equal_dims(x, 0, 0, labels, 1, 0, labels->rank, &result, misfit);
  result.rank--;
  return fit == HIA_FIT_NEVER ? fit : done(fit, &result, x, out, misfit);
}

bool hiaR_shape_join(const hia_dims *a, const hia_dims *b, hia_dims *out) {
  if (a->rank != b->rank) return false;
  hia_dims result = *a;
  for (uint32_t i = 0; i < result.rank; i++)
    if (a->dims[i] != b->dims[i]) result.dims[i] = HIA_DIM_UNKNOWN;
  *out = result;
  return true;
}

/* ---- products ---- */

hia_fit hiaR_shape_product(const hia_dims *x, const hia_dims *y, hia_dims *out,
                           hia_misfit *misfit) {
  if (x->rank == 0) return wrong_rank(misfit, x, 0);
  if (y->rank == 0) return wrong_rank(misfit, y, 1);
  /* The axes that are summed over: the last of x, and of y the last but one, or the only one. */
  uint32_t xk = x->rank - 1, yk = y->rank > 1 ? y->rank - 2 : 0;
  hia_dims unused = *x;
  hia_fit fit = equal_dims(x, 0, xk, y, 1, yk, 1, &unused, misfit);
  if (fit == HIA_FIT_NEVER) return fit;
  hia_dims result = {0};
  if (x->rank > 2 || y->rank > 2) { /* a vector has no leading axes */
    hia_dims ins[2] = {*x, *y};
    for (uint32_t i = 0; i < 2; i++) {
      if (ins[i].rank < 2) continue;
      hia_fit one = broadcast_with(ins, i, 2, &result, misfit);
      if (one == HIA_FIT_NEVER) return one;
      fit = worse(fit, one);
    }
  }
  if (x->rank > 1) result.dims[result.rank++] = x->dims[xk - 1];
  if (y->rank > 1) result.dims[result.rank++] = y->dims[yk + 1];
  return done(fit, &result, x, out, misfit);
}

hia_fit hiaR_shape_outer(const hia_dims *x, const hia_dims *y, hia_dims *out, hia_misfit *misfit) {
  if (x->rank != 1) return wrong_rank(misfit, x, 0);
  if (y->rank != 1) return wrong_rank(misfit, y, 1);
  hia_dims result = {2, {x->dims[0], y->dims[0]}};
  return done(HIA_FIT_ALWAYS, &result, x, out, misfit);
}

/* ---- text ---- */

void hiaR_shape_describe(hia_dtype dtype, const hia_dims *shape, char *buf, size_t size) {
  size_t len = (size_t)snprintf(buf, size, "%s%s", hiaR_reprs[dtype].name, shape->rank ? "[" : "");
  for (uint32_t i = 0; i < shape->rank && len < size; i++) {
    const char *after = i + 1 < shape->rank ? ", " : "]";
    int n = hiaR_dim_is_number(shape->dims[i])
                ? snprintf(buf + len, size - len, "%lld%s", (long long)shape->dims[i], after)
                : snprintf(buf + len, size - len, "?%s", after);
    len += (size_t)n;
  }
}
