/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The elementary functions (base/elementary.h) over arrays, in vectors as wide as this machine has
 * them. The bits are those of the scalar functions. */
#ifndef HIA_KERNEL_LANES_H
#define HIA_KERNEL_LANES_H

#include "runtime/base/base.h"

/* out[i] = f(in[0][i]), or f(in[0][i], in[1][i]), for i < n: at any addresses that are aligned to
 * an element. `out` may be one of `in`. Any thread. */
typedef void hia_lanes(void *out, const void *const *in, size_t n);

/* The lanes of an op at f32 or f64. NULL: the op is no elementary function, or this machine has no
 * vectors with fused multiply-add. */
hia_lanes *hiaR_lanes(unsigned op, hia_dtype dtype);

/* By elementary function, in the order of HIA_ELEMENTARY_LIST_1 and _2, at f32 and f64:
 * lanes_avx512.c and lanes_avx2.c, which are compiled for these machines. */
extern hia_lanes *const hiaR_lanes_avx512[][2];
extern hia_lanes *const hiaR_lanes_avx2[][2];

#endif
