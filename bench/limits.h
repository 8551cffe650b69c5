/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Shared by limits.c and limits_large.c: runs that are ended from outside, and how long that takes.
 */
#ifndef HIA_BENCH_LIMITS_H
#define HIA_BENCH_LIMITS_H

#include "bench/harness.h"

/* Microseconds from the moment at which a run had to end to its return. */
typedef struct limits_delay {
  double clock;
  double cpu; /* processor time of the thread that runs; of a deadline NAN */
} limits_delay;

typedef enum limits_cause { LIMITS_CANCEL, LIMITS_DEADLINE } limits_cause;

/* Runs a function that does not end by itself, and ends it after so many microseconds. A run that
 * ends in another way ends the benchmark. */
limits_delay limits_end_run(const char *name, hia_function *f, hia_value *const *args, size_t n,
                            limits_cause cause, unsigned wait);

/* Prints the median, the 99th percentile and the most of n numbers, which it sorts. */
typedef enum limits_bounded { LIMITS_MEDIAN, LIMITS_99TH } limits_bounded;
void limits_print_spread(const char *name, const char *clock, double *us, size_t n,
                         limits_bounded bounded, bench_target target);
void limits_print_heading(limits_bounded bounded);

enum { LIMITS_MAX_US = 2000 }; /* from a cancel to the end of a run */

/* Of runs that are inside of operations on large tensors and arrays, n of each. */
void limits_table_of_large(size_t n);

#endif
