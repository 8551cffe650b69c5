/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Reading a param, as an operation. */
#include "runtime/heap/operation.h"

HIA_OPERATION(PARAM) {
  (void)in, (void)why;
  if (!env->params) return HIA_UNSUPPORTED;
  *out = env->params[o->imm];
  return HIA_OK;
}
