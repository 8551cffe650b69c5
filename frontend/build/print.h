/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The printer of drafts: its state, and how names are printed (print_names.c). */
#ifndef HIA_FRONTEND_BUILD_PRINT_H
#define HIA_FRONTEND_BUILD_PRINT_H

#include "frontend/build/build.h"

/* The use of a symbol in a scope; of no meaning in another one. */
typedef struct hia_name_use {
  uint32_t scope; /* from 1 */
  uint32_t tried; /* the last of x_2, x_3, ... that was tried */
  bool taken;
  hia_symbol_id size; /* how the size of this name is printed; HIA_NONE: not yet */
} hia_name_use;

typedef struct hia_draft_printer {
  hia_draft *d;
  hia_text *out;
  const char *line_head; /* "# " for a function that is not finished: it is printed as comments */
  uint32_t indent;
  uint32_t fn;
  uint32_t scope;      /* each function has its own, and a new one each time it is looked at */
  uint32_t n_numbered; /* the last of v1, v2, ... that was tried */
  HIA_VEC(hia_name_use) symbols; /* by symbol */
  hia_u32vec layouts;            /* the layouts of the open blocks */
} hia_draft_printer;

static inline const hia_draft_item *hiaF_draft_item_at(const hia_draft_printer *pr,
                                                       uint32_t index) {
  return &pr->d->items.data[index];
}

void hiaF_draft_put(hia_draft_printer *pr, const char *text);
void hiaF_draft_put_number(hia_draft_printer *pr, const char *before, uint32_t n);
/* Gives an item the name that it is printed with: in its scope no other item has it. */
void hiaF_draft_give_name(hia_draft_printer *pr, hia_draft_item *item);
void hiaF_draft_put_name(hia_draft_printer *pr, uint32_t index);
void hiaF_draft_put_type(hia_draft_printer *pr, hia_type type);
/* Prints a type with its declared sizes, or without if these are NULL; returns how many it has. */
uint32_t hiaF_draft_put_sized(hia_draft_printer *pr, hia_type type, const hia_dim *dims);

#endif
