/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
#include "runtime/base/base.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

_Noreturn void hiaR_does_not_fit(uint64_t number, unsigned bits) {
  fprintf(stderr, "hiaton: internal error: %" PRIu64 " does not fit in %u bits\n", number, bits);
  abort();
}
