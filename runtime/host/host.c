/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Host functions: the one that a thread is in, and the statuses that they return. */
#include "runtime/host/host.h"

__attribute__((tls_model("initial-exec"))) _Thread_local const hia_nest *hiaR_innermost;

const hia_nest *hiaR_nest(void) { return hiaR_innermost; }

hia_status hiaR_host_status(uint32_t status) {
  switch (status) {
#define HIA_STATUS(number, NAME, word, message)                                                    \
  case number: return HIA_##NAME;
#include <hiaton/status.def>
  default: return HIA_HOST;
  }
}
