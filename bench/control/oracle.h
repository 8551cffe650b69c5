/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* How few waves a run could have: what an agenda needs that knows all rows, and all that they
 * depend on, before it begins. */
#ifndef HIA_BENCH_ORACLE_H
#define HIA_BENCH_ORACLE_H

#include <stddef.h>
#include <stdint.h>

/* Number i of `rows` stands for a row: its kind, a segment of which waves consist, and 8 times its
 * depth, from 0 on. A row depends on the last one before it that has one less, through data or
 * since control reads it; one of depth 0 on none. Returns the number of waves: the least that three
 * ways to choose the next kind come to, each with all rows of that kind that can be computed. */
size_t bench_oracle_waves(const int32_t *rows, size_t n);

#endif
