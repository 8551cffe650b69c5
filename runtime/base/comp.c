/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
#include "runtime/base/base.h"
#include <stdio.h>
#include <stdlib.h>

void hiaR_comp_init(hia_comp *comp, const hia_allocator *allocator) {
  comp->armed = false;
  comp->look = NULL;
  comp->status = HIA_OK;
  comp->message[0] = 0;
  hiaR_arena_init(&comp->arena, allocator, comp);
  hiaR_arena_init(&comp->scratch, allocator, comp);
}

void hiaR_comp_free(hia_comp *comp) {
  hiaR_arena_free(&comp->scratch);
  hiaR_arena_free(&comp->arena);
}

void hiaR_throw(hia_comp *comp, hia_status status, const char *fmt, ...) {
  va_list args;
  va_start(args, fmt);
  vsnprintf(comp->message, sizeof comp->message, fmt, args);
  va_end(args);
  comp->status = status;
  /* There is no handler: a caller has no HIA_TRY, which no input can cause. */
  if (!comp->armed) abort();
  comp->armed = false;
  longjmp(comp->handler, 1);
}

void hiaR_look(hia_comp *comp) {
  hia_status status = comp->look ? comp->look->ended(comp->look->user) : HIA_OK;
  if (status) hiaR_throw(comp, status, "%s", hiaR_status_message(status));
}

const char *hiaR_status_word(hia_status status) {
  switch (status) {
#define HIA_STATUS(number, NAME, word, message)                                                    \
  case HIA_##NAME: return word;
#include <hiaton/status.def>
  }
  return "unknown";
}

const char *hiaR_status_message(hia_status status) {
  switch (status) {
#define HIA_STATUS(number, NAME, word, message)                                                    \
  case HIA_##NAME: return message;
#include <hiaton/status.def>
  }
  return "unknown status";
}
