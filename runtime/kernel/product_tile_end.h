/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Forgets what an includer of product_tile.h defined for one dtype. */
#undef T
#undef V
#undef LANES
#undef NAME
#undef MASK
#undef MASK_OF
#undef LOAD
#undef STORE
#undef LOAD_MASKED
#undef STORE_MASKED
#undef SPREAD
#undef FMA
#undef FMA_1
#undef ONE_NAN
#undef ONE_NAN_1
#undef PICK
#undef QUADS
#undef COLUMN
