/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The types of gradients: only floats have one, alone, in tensors and in tuples. */
#include "frontend/types/itype.h"

static hia_itype tuple_of(hia_itypes *it, const hia_itype *parts, uint32_t n) {
  if (n == 0) return HIA_IT_NONE;
  return n == 1 ? parts[0] : hiaF_ituple(it, parts, n);
}

hia_itype hiaF_gradient_of_all(hia_itypes *it, const hia_itype *types, uint32_t n) {
  hia_itype *parts = HIA_NEW_ARRAY(it->arena, hia_itype, n + 1);
  uint32_t n_parts = 0;
  for (uint32_t i = 0; i < n; i++) {
    hia_itype part = hiaF_gradient_type(it, types[i]);
    if (part != HIA_IT_NONE) parts[n_parts++] = part;
  }
  return tuple_of(it, parts, n_parts);
}

hia_itype hiaF_gradient_type(hia_itypes *it, hia_itype type) {
  if (hiaF_is_float(type)) return type;
  if (!hiaF_is_tuple(type)) return HIA_IT_NONE;
  uint32_t n = hiaF_ituple_len(it, type);
  hia_itype *parts = HIA_NEW_ARRAY(it->arena, hia_itype, n);
  for (uint32_t i = 0; i < n; i++) parts[i] = hiaF_ituple_part(it, type, i);
  return hiaF_gradient_of_all(it, parts, n);
}
