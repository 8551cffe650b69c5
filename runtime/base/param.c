/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
#include "runtime/base/param.h"
#include "runtime/base/type.h"
#include <math.h>

static const struct {
  const char *name;
  uint32_t arity;
} inits[HIA_N_INITS] = {
    [HIA_INIT_FULL] = {"full", 1},
    [HIA_INIT_UNIFORM] = {"uniform", 2},
    [HIA_INIT_NORMAL] = {"normal", 2},
    [HIA_INIT_GLOROT_UNIFORM] = {"glorot_uniform", 0},
};

const char *hiaR_init_name(hia_init init) { return inits[init].name; }
uint32_t hiaR_init_arity(hia_init init) { return inits[init].arity; }

bool hiaR_param_is_sound(const hia_param_spec *spec) {
  bool is_float = spec->dtype == HIA_F32 || spec->dtype == HIA_F64;
  if (!is_float || (unsigned)spec->init >= HIA_N_INITS || spec->shape.rank > HIA_MAX_RANK)
    return false;
  double range = spec->b - spec->a;
  if (!isfinite(spec->a) || !isfinite(spec->b) || !isfinite(range)) return false;
  if (spec->init == HIA_INIT_UNIFORM && range < 0) return false;
  if (spec->init == HIA_INIT_NORMAL && spec->b < 0) return false;
  uint64_t size = hiaR_reprs[spec->dtype].size;
  bool is_empty = false;
  for (uint32_t i = 0; i < spec->shape.rank; i++) {
    int64_t dim = spec->shape.dims[i];
    if (dim < 0) return false;
    is_empty |= dim == 0;
    if (dim && __builtin_mul_overflow(size, (uint64_t)dim, &size)) return false;
  }
  return is_empty || size <= INT64_MAX;
}
