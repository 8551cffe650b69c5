/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Reads the output of hia_timeline_write, and checks it more strictly than any viewer: JSON as in
 * RFC 8259, slices balanced and in order on each thread, arrows with both ends, curves
 * that agree with the slices. No Criterion, since the programs of tests/stress use it too. */
#ifndef HIA_TEST_TRACE_H
#define HIA_TEST_TRACE_H

#include "tests/unit/helpers/text.h"
#include <stdint.h>

typedef struct trace_picture {
  char wrong[256]; /* the first error; "": none */
  /* The totals in the file. */
  uint64_t events, dropped, promotions, steals;
  /* The totals of its events. */
  unsigned n_threads;   /* that have written events */
  unsigned n_compilers; /* tracks of the compiler */
  uint64_t n_runs, n_jobs, n_waits, n_idles, n_promoted, n_taken, n_taken_back;
  uint64_t n_steal_arrows, n_result_arrows, n_phases;
  char callee[64];                         /* of the last job: its slice's name */
  double run_us, job_us, wait_us, idle_us; /* of all such slices, nested slices included */
  double busy_us;    /* of all threads, in a slice that is neither wait nor idle */
  char results[256]; /* the statuses of the runs, a space behind each */
  char phases[512];  /* the compiler's, likewise */
} trace_picture;

/* False if there is an error. */
bool trace_read(const char *text, size_t len, trace_picture *picture);
/* The same for a file. */
bool trace_read_file(const char *path, trace_picture *picture);

#endif
