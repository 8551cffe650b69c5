/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Finding constructors by name. */
#ifndef HIA_RT_VALUE_NAMES_H
#define HIA_RT_VALUE_NAMES_H

#include "runtime/value/stack.h"

typedef struct hia_ctor_slot {
  hia_type type; /* 0: empty */
  uint32_t number;
} hia_ctor_slot;

typedef struct hia_ctor_names {
  const hia_type_table *types;
  const hia_allocator *allocator;
  hia_block slots; /* the caller frees it */
  uint32_t mask;
} hia_ctor_names;

/* Finds the constructor of this name in the type; HIA_NONE: in any type. found->type is 0 if there
 * is none. */
hia_status hiaR_find_ctor(hia_ctor_names *names, hia_type type, const char *name, size_t n,
                          hia_ctor_slot *found);

#endif
