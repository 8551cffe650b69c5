/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* What versions cost: when sizes vary, when one is chosen, and at calls from C. bench_speculate
 * prints these tables with the others. */
#ifndef BENCH_CHOOSING_H
#define BENCH_CHOOSING_H

void bench_measure_varying(void);
void bench_measure_choice(void);
void bench_measure_entries(void);

#endif
