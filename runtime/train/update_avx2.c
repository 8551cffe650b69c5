/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Compiled for such processors (CMakeLists.txt), but without fused multiply-add, which would round
 * otherwise: called on these only. Where the arrays are in the cache Adam is twice as fast so. */
#if defined(__x86_64__)
#define SET hiaR_updates_avx2
#include "runtime/train/update_body.h"
#endif
