/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Reads what hia_timeline_write has written, and checks it as strictly as anybody could: JSON by
 * the letter (RFC 8259), slices balanced and in order on each thread, arrows with both ends, curves
 * that agree with the slices. No Criterion: plain drivers use it too. */
#ifndef HIA_TEST_TRACE_H
#define HIA_TEST_TRACE_H

#include "tests/unit/helper_text.h"
#include <stdint.h>

typedef struct trace_picture {
  char wrong[256]; /* "": nothing */
  /* What the file says of itself. */
  uint64_t events, dropped, promotions, steals;
  /* What is in it. */
  unsigned n_threads;   /* that have written events */
  unsigned n_compilers; /* tracks of the compiler */
  uint64_t n_runs, n_jobs, n_waits, n_idles, n_promoted, n_taken, n_taken_back;
  uint64_t n_steal_arrows, n_result_arrows, n_phases;
  char callee[64];                         /* of the last job: its slice's name */
  double run_us, job_us, wait_us, idle_us; /* of all slices of the kind, what they hold included */
  double busy_us;    /* of all threads, in a slice that is neither wait nor idle */
  char results[256]; /* the statuses of the runs, a space behind each */
  char phases[512];  /* the compiler's, likewise */
} trace_picture;

/* False if something is wrong. */
bool trace_read(const char *text, size_t len, trace_picture *picture);
/* The same of a file. */
bool trace_read_file(const char *path, trace_picture *picture);

#endif
