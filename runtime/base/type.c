/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
#include "runtime/base/type.h"

const hia_repr_info hiaR_reprs[HIA_N_REPRS] = {
    [HIA_REPR_BOOL] = {"bool", 'b', 1}, [HIA_REPR_I32] = {"i32", 'i', 4},
    [HIA_REPR_I64] = {"i64", 'l', 8},   [HIA_REPR_F32] = {"f32", 'f', 4},
    [HIA_REPR_F64] = {"f64", 'd', 8},   [HIA_REPR_REF] = {"ref", 'r', 8},
};

hia_repr hiaR_repr_of_code(char code) {
  unsigned repr = 0;
  while (repr < HIA_N_REPRS && hiaR_reprs[repr].code != code) repr++;
  return (hia_repr)repr;
}

/* The classes in which words are laid out: each class needs the alignment of those before it, or
 * less. */
static unsigned class_of(hia_type type) {
  hia_repr repr = hiaR_repr(type);
  if (repr == HIA_REPR_REF) return 0;
  return hiaR_reprs[repr].size == 8 ? 1 : hiaR_reprs[repr].size == 4 ? 2 : 3;
}

hia_layout hiaR_lay_out(hia_word_place *places, uint32_t n, uint32_t header) {
  hia_layout layout = {.n = n};
  uint32_t at = header, align = header ? 8 : 1;
  for (unsigned class = 0; class < 4; class ++) {
    for (uint32_t i = 0; i < n; i++) {
      if (class_of(places[i].type) != class) continue;
      uint32_t size = hiaR_reprs[hiaR_repr(places[i].type)].size;
      if (size > align) align = size;
      places[i].at = at;
      at += size;
      layout.n_refs += class == 0;
    }
  }
  layout.size = (at + align - 1) / align * align;
  return layout;
}
