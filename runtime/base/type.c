/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
#include "runtime/base/type.h"

const hia_repr_info hiaR_reprs[HIA_N_REPRS] = {
    [HIA_REPR_BOOL] = {"bool", 'b', 1}, [HIA_REPR_I32] = {"i32", 'i', 4},
    [HIA_REPR_I64] = {"i64", 'l', 8},   [HIA_REPR_F32] = {"f32", 'f', 4},
    [HIA_REPR_F64] = {"f64", 'd', 8},   [HIA_REPR_REF] = {"ref", 'r', 8},
    [HIA_REPR_BYTE] = {"byte", 0, 1},   [HIA_REPR_HALF] = {"half", 0, 2},
};

hia_repr hiaR_repr_of_code(char code) {
  unsigned repr = 0;
  while (repr < HIA_N_REPRS && (!code || hiaR_reprs[repr].code != code)) repr++;
  return (hia_repr)repr;
}

/* The classes in which words are laid out: each class needs the alignment of those before it, or
 * less. */
enum { N_CLASSES = 5 };
static unsigned class_of(uint8_t repr) {
  if (repr == HIA_REPR_REF) return 0;
  unsigned size = hiaR_reprs[repr].size;
  return size == 8 ? 1 : size == 4 ? 2 : size == 2 ? 3 : 4;
}

hia_layout hiaR_lay_out(hia_word_place *places, uint32_t n, uint32_t header) {
  hia_layout layout = {.n = n};
  uint32_t at = header, align = header ? 8 : 1;
  for (unsigned class = 0; class < N_CLASSES; class ++) {
    for (uint32_t i = 0; i < n; i++) {
      if (class_of(places[i].repr) != class) continue;
      uint32_t size = hiaR_reprs[places[i].repr].size;
      if (size > align) align = size;
      places[i].at = (uint16_t)at;
      at += size;
      layout.n_refs += class == 0;
    }
  }
  layout.size = (at + align - 1) / align * align;
  return layout;
}
