/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
#include "runtime/native/outline.h"

uint64_t hiaR_outline_size(const hia_outline *o) {
  return sizeof *o + (uint64_t)o->n_functions * sizeof(hia_outline_function) + o->rules_size +
         o->names_size;
}

const hia_outline_function *hiaR_outline_functions(const hia_outline *o) {
  return (const void *)(o + 1);
}

const unsigned char *hiaR_outline_rules(const hia_outline *o) {
  return (const void *)(hiaR_outline_functions(o) + o->n_functions);
}

const char *hiaR_outline_names(const hia_outline *o) {
  return (const char *)hiaR_outline_rules(o) + o->rules_size;
}

bool hiaR_outline_check(const void *bytes, size_t size, uint32_t code_size, uint32_t n_locs) {
  const hia_outline *o = bytes;
  if (size < sizeof *o || hiaR_outline_size(o) != size || o->code_size != code_size) return false;
  if (o->names_size && hiaR_outline_names(o)[o->names_size - 1]) return false;
  uint32_t before = 0;
  for (uint32_t i = 0; i < o->n_functions; i++) {
    const hia_outline_function *f = &hiaR_outline_functions(o)[i];
    if (f->pc < before || f->end <= f->pc || f->end > code_size) return false;
    if (f->loc != HIA_NONE && f->loc >= n_locs) return false;
    if (f->name >= o->names_size || f->rules > o->rules_size ||
        f->rules_size > o->rules_size - f->rules)
      return false;
    before = f->end;
  }
  return true;
}
