/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Leaving a compilation: errors go to its one handler (HIA_TRY). */
#include "runtime/base/base.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

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
