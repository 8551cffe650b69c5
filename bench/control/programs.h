/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Programs of which control reads what they compute. Each has
 *
 *   result(n: i32) -> i32      of n instances
 *   rows_of(i: i32) -> i32[?]  the rows of instance i, as its decisions make them: oracle.h */
#ifndef HIA_BENCH_CONTROL_PROGRAMS_H
#define HIA_BENCH_CONTROL_PROGRAMS_H

#include "bench/decisions/models.h"

typedef struct bench_controlled {
  const char *title;
  const char *file;             /* of examples/models/; NULL: none */
  const bench_deciding *inputs; /* whose inputs it takes; NULL: it makes them itself */
  const char *more;
  double least; /* times the rate without batches */
} bench_controlled;

enum { BENCH_N_CONTROLLED = 7 };
/* The list ends with one without a title. */
extern const bench_controlled bench_controlled_programs[BENCH_N_CONTROLLED + 1];

#endif
