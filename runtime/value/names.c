/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Finding constructors by name: an index of all constructors of a table, made when one is looked up
 * in a type that has many. */
#include "runtime/value/names.h"

enum { FEW = 8 };

static bool is_named(const hia_type_table *t, const hia_ctor *ctor, const char *name, size_t n) {
  const char *ctor_name = t->names + ctor->name;
  size_t i = 0;                                 /* names are short: quicker than strncmp */
  while (i < n && ctor_name[i] == name[i]) i++; /* name has no NUL */
  return i == n && !ctor_name[n];
}

static bool build(hia_ctor_names *names) {
  const hia_type_table *t = names->types;
  size_t cap = 16;
  while (cap < (size_t)t->n_ctors * 2) cap *= 2;
  if (!hiaR_block_grow(&names->slots, names->allocator, cap * sizeof(hia_ctor_slot))) return false;
  hia_ctor_slot *slots = names->slots.data;
  memset(slots, 0, cap * sizeof *slots);
  names->mask = (uint32_t)cap - 1;
  for (uint32_t i = 0; i < t->n_types; i++) {
    const hia_type_entry *entry = &t->types[i];
    for (uint32_t k = 0; entry->kind == HIA_KIND_DATA && k < entry->n; k++) {
      const char *name = t->names + t->ctors[entry->first + k].name;
      uint32_t at = hiaR_hash(name, strlen(name)) & names->mask;
      while (slots[at].type) at = (at + 1) & names->mask;
      slots[at] = (hia_ctor_slot){HIA_FIRST_TYPE + i, k};
    }
  }
  return true;
}

hia_status hiaR_find_ctor(hia_ctor_names *names, hia_type type, const char *name, size_t n,
                          hia_ctor_slot *found) {
  const hia_type_table *t = names->types;
  *found = (hia_ctor_slot){0, 0};
  if (type != HIA_NONE && hiaR_type_entry(t, type)->n <= FEW) {
    const hia_type_entry *entry = hiaR_type_entry(t, type);
    for (uint32_t i = 0; i < entry->n; i++) {
      if (!is_named(t, &t->ctors[entry->first + i], name, n)) continue;
      *found = (hia_ctor_slot){type, i};
      break;
    }
    return HIA_OK;
  }
  if (!names->slots.data && !build(names)) return HIA_MEMORY;
  const hia_ctor_slot *slots = names->slots.data;
  for (uint32_t at = hiaR_hash(name, n) & names->mask; slots[at].type;
       at = (at + 1) & names->mask) {
    if ((type != HIA_NONE && type != slots[at].type) ||
        !is_named(t, hiaR_ctor(t, slots[at].type, slots[at].number), name, n))
      continue;
    *found = slots[at];
    break;
  }
  return HIA_OK;
}
