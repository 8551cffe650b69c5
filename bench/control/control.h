/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Measures control that depends on tensors, of 64 instances at a time: next to the same program
 * without batches, and how wide its waves are. */
#ifndef HIA_BENCH_CONTROL_H
#define HIA_BENCH_CONTROL_H

void bench_control(int runs);

#endif
