/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* hiaton bench --warmup-curve, in parts: processes that are measured, and what is shown of them.
 *
 * A curve is the time from nothing to the end of the first n calls of a function, over n. One
 * process gives a whole curve: it notes the time whenever it has made 1, 2, 4, ... calls. Each
 * process is forked from one that has neither opened the compiler nor run anything. */
#ifndef HIA_TOOL_WARMUP_H
#define HIA_TOOL_WARMUP_H

#include "tools/measure.h"

/* 1, 2, 4, ..., 2^31, and a last number that is no power of two. */
#define WARMUP_MAX_POINTS 33

/* The columns. */
typedef enum warmup_column {
  WARMUP_INTERP,
  WARMUP_JIT,    /* compile, then run */
  WARMUP_AUTO,   /* begin interpreted, go over to native code */
  WARMUP_CACHED, /* auto, with the function's native code in the cache */
  N_WARMUP_COLUMNS
} warmup_column;
const char *warmup_name(warmup_column column);

/* ---- warmup_process.c: one process ---- */

typedef struct warmup_job {
  const tool_options *options;
  warmup_column column;
  const char *cache;  /* the folder; NULL: none */
  bool is_trial;      /* one call; its result is wanted, and native code is stored in the cache */
  uint64_t max_calls; /* notes the time after 1, 2, 4, ... calls, and after this many */
  uint64_t max_ns;    /* after this time the process is ended */
} warmup_job;

typedef struct warmup_outcome {
  uint64_t ns[WARMUP_MAX_POINTS]; /* n times, since the program was to be loaded */
  size_t n;
  bool is_loaded;                 /* the first call has had native code from the cache */
  bool has_result;                /* of a trial: */
  uint64_t digest;                /* equal results have equal ones */
  char text[TOOL_MAX_SHOWN + 20]; /* the beginning of the result */
  int interrupted;                /* a signal that came for this process, which must end; or 0 */
} warmup_outcome;

/* Runs a job in a process of its own, and waits for it. The caller holds signals
 * (tool_hold_signals). Returns an exit status: that of a mistake if the function fails, which is
 * reported, or if the caller must end. */
int warmup_run(const warmup_job *job, warmup_outcome *outcome);

/* ---- warmup.c: the measurement ---- */

int tool_warmup_curve(const tool_options *options);

/* A column. */
typedef struct warmup_curve {
  tool_series points[WARMUP_MAX_POINTS]; /* the times of the processes that have come as far */
  double ms[WARMUP_MAX_POINTS];          /* medians; NAN: half of them and more have not */
} warmup_curve;

typedef struct warmup_result {
  char *signature;
  uint64_t runs;                     /* processes of each column */
  uint64_t max_ns;                   /* of a process */
  uint64_t calls[WARMUP_MAX_POINTS]; /* after which the times are */
  size_t n;                          /* points that a column has a median of */
  warmup_curve curves[N_WARMUP_COLUMNS];
  bool is_loaded;           /* the processes of the last column have found native code */
  warmup_outcome trials[2]; /* of the interpreter and of native code */
} warmup_result;

/* False: both have returned something, and not the same. */
bool warmup_agree(const warmup_result *r);

/* ---- warmup_show.c: what is shown of it ---- */

/* "0.49 s": the time that a process has. The text is valid until the next call. */
const char *warmup_process_time(const warmup_result *r);

/* Prints the table, or JSON. Returns an exit status. */
int warmup_report(const tool_options *options, const warmup_result *r);
/* Draws the curves into the file of --plot, if there is one. Returns an exit status. */
int warmup_plot(const tool_options *options, const warmup_result *r);

#endif
