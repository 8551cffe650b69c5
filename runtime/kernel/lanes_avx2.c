/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Compiled for such processors (CMakeLists.txt): called on these only. */
#if defined(__x86_64__)
#define HIA_LANE_BYTES 32
#define TABLE          hiaR_lanes_avx2
#include "runtime/kernel/lanes_body.h"
#endif
