/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* hiaton bench --warmup-curve: how long calls take from nothing, by their number.
 *
 * Two trials come first. They show how long compiling takes, fill the cache, and read from the disk
 * what all processes need. Then processes of the four columns take turns, so that a slow moment of
 * the machine affects all alike. They share the time that is left. */
#include "tools/warmup.h"
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

/* Processes of each column, unless --runs says how many. */
#define RUNS 5
/* Trials end after this part of all time. */
#define TRIAL 4
/* A process should have this many times as long as native code takes to be ready. If there is no
 * time for that there are fewer processes. */
#define SPAN 3

enum { INTERP, NATIVE }; /* the trials */

typedef struct measurement {
  const tool_options *o;
  warmup_result *result;
  char *folder;   /* of the cache; NULL: it is not made */
  uint64_t start; /* of it all */
  int interrupted;
  /* What is measured now; the line on the terminal is made of it, on another thread. */
  _Atomic uint64_t run; /* from 1; 0: the trials */
  _Atomic uint64_t runs;
  _Atomic int column;
} measurement;

static void say(void *user, char *text, size_t size) {
  const measurement *m = user;
  const char *name = warmup_name((warmup_column)m->column);
  uint64_t run = m->run, runs = m->runs;
  if (run)
    snprintf(text, size, ", process %ju of %ju: %s", (uintmax_t)run, (uintmax_t)runs, name);
  else
    snprintf(text, size, ", warming up: %s", name);
}

/* ---- the folder of the cache ---- */

static int make_folder(measurement *m) {
  const char *temporary = getenv("TMPDIR");
  if (!temporary || !*temporary) temporary = "/tmp";
  size_t size = strlen(temporary) + sizeof "/hiaton-XXXXXX";
  m->folder = malloc(size);
  if (!m->folder) return tool_fail(NULL, HIA_MEMORY);
  snprintf(m->folder, size, "%s/hiaton-XXXXXX", temporary);
  if (mkdtemp(m->folder)) return EXIT_FINE;
  int wrong = errno;
  tool_progress_end();
  int code = tool_cannot_write(m->folder, wrong);
  free(m->folder);
  m->folder = NULL;
  return code;
}

/* Returns `code`, or another one if the folder cannot be removed. */
static int remove_folder(measurement *m, int code) {
  if (!m->folder) return code;
  hia_error *error = NULL;
  hia_cache_clear(m->folder, false, &error);
  hia_error_free(error);
  int wrong = rmdir(m->folder) == 0 ? 0 : errno;
  if (wrong) {
    tool_progress_end();
    fprintf(stderr, "error[io]: cannot remove %s: %s\n", m->folder, strerror(wrong));
  }
  free(m->folder);
  m->folder = NULL;
  return wrong && code == EXIT_FINE ? EXIT_PROGRAM : code;
}

/* ---- measuring ---- */

/* Runs a process. Returns an exit status. */
static int run(measurement *m, warmup_job *job, warmup_outcome *outcome) {
  m->column = (int)job->column;
  job->options = m->o;
  job->cache = job->column == WARMUP_CACHED ? m->folder : NULL;
  int code = warmup_run(job, outcome);
  m->interrupted = outcome->interrupted;
  return code;
}

static int try_out(measurement *m) {
  static const warmup_column columns[] = {[INTERP] = WARMUP_INTERP, [NATIVE] = WARMUP_CACHED};
  int code = EXIT_FINE;
  for (size_t i = 0; i < 2 && code == EXIT_FINE; i++) {
    warmup_job job = {.column = columns[i], .is_trial = true, .max_calls = 1};
    job.max_ns = m->o->curve.max_ns / TRIAL;
    code = run(m, &job, &m->result->trials[i]);
  }
  return code;
}

/* Decides how many processes there are, and how long each has. */
static void plan(measurement *m) {
  warmup_result *r = m->result;
  uint64_t passed = tool_now() - m->start, most = m->o->curve.max_ns;
  uint64_t left = passed < most - most / TRIAL ? most - passed : most / TRIAL;
  const warmup_outcome *native = &r->trials[NATIVE];
  uint64_t wanted = native->n ? SPAN * native->ns[0] : left;
  r->runs = tool_has(m->o, OPT_RUNS) ? m->o->runs : RUNS;
  while (!tool_has(m->o, OPT_RUNS) && r->runs > 1 && left / (N_WARMUP_COLUMNS * r->runs) < wanted)
    r->runs--;
  r->max_ns = left / (N_WARMUP_COLUMNS * r->runs);
  m->runs = r->runs;
}

static int make_points(warmup_result *r) {
  bool has_memory = true;
  for (size_t column = 0; column < N_WARMUP_COLUMNS; column++)
    for (size_t k = 0; k < WARMUP_MAX_POINTS; k++)
      has_memory &= tool_series_init(&r->curves[column].points[k], r->runs);
  return has_memory ? EXIT_FINE : tool_fail(NULL, HIA_MEMORY);
}

static int measure_one(measurement *m, warmup_column column) {
  warmup_result *r = m->result;
  warmup_outcome outcome;
  warmup_job job = {.column = column, .max_calls = m->o->curve.max_calls, .max_ns = r->max_ns};
  int code = run(m, &job, &outcome);
  for (size_t k = 0; k < WARMUP_MAX_POINTS; k++) {
    tool_series *s = &r->curves[column].points[k];
    if (k < outcome.n)
      s->ns[s->n++] = outcome.ns[k];
    else
      s->n_longer++;
  }
  r->is_loaded |= outcome.is_loaded;
  return code;
}

static int measure(measurement *m) {
  int code = make_folder(m);
  if (code == EXIT_FINE) code = try_out(m);
  if (code != EXIT_FINE) return code;
  plan(m);
  code = make_points(m->result);
  for (uint64_t i = 0; i < m->result->runs; i++)
    for (int column = 0; code == EXIT_FINE && column < N_WARMUP_COLUMNS; column++) {
      m->run = i + 1;
      code = measure_one(m, (warmup_column)column);
    }
  return code;
}

/* ---- the command ---- */

/* Loads the program, so that what is wrong with it or with the arguments is found here, and begins
 * the line on the terminal. Nothing is compiled or run. */
static int begin(measurement *m) {
  hia_engine *engine = NULL;
  hia_module *module = NULL;
  hia_function *function;
  tool_arguments args = {0};
  hia_run_options fuel = HIA_RUN_OPTIONS_INIT;
  int code = tool_fuel(m->o, &fuel);
  if (code == EXIT_FINE) code = tool_load(m->o, HIA_ENGINE_INTERP, &engine, &module);
  if (code == EXIT_FINE) code = tool_function(m->o, module, &function);
  if (code == EXIT_FINE) code = tool_args(engine, &function, m->o, false, &args);
  if (code == EXIT_FINE) {
    m->result->signature = strdup(hia_function_signature(function));
    if (!m->result->signature) code = tool_fail(NULL, HIA_MEMORY);
  }
  if (code == EXIT_FINE) tool_progress_begin(function, say, m);
  tool_free_args(&args, m->o->n_args);
  hia_module_free(module);
  hia_engine_free(engine);
  return code;
}

/* Signals are held: one that comes ends the process that is measured, and then, when the folder is
 * removed, this one. */
static int measure_and_clean(measurement *m) {
  sigset_t before;
  tool_hold_signals(&before);
  int code = remove_folder(m, measure(m));
  tool_progress_end();
  tool_release_signals(&before);
  if (m->interrupted) raise(m->interrupted);
  return code;
}

/* Computes the medians. */
static void evaluate(const tool_options *o, warmup_result *r) {
  for (size_t k = 0; k < WARMUP_MAX_POINTS; k++) {
    r->calls[k] = UINT64_C(1) << k;
    if (r->calls[k] > o->curve.max_calls) r->calls[k] = o->curve.max_calls;
    for (size_t column = 0; column < N_WARMUP_COLUMNS; column++) {
      tool_series *s = &r->curves[column].points[k];
      tool_series_sort(s);
      uint64_t ns = tool_series_median(s);
      r->curves[column].ms[k] = ns == UINT64_MAX ? (double)NAN : (double)ns / 1e6;
      if (ns != UINT64_MAX) r->n = k + 1;
    }
  }
}

bool warmup_agree(const warmup_result *r) {
  const warmup_outcome *a = &r->trials[INTERP], *b = &r->trials[NATIVE];
  return !a->has_result || !b->has_result || a->digest == b->digest;
}

static int report(const tool_options *o, warmup_result *r) {
  evaluate(o, r);
  if (!r->n) {
    fprintf(stderr,
            "error: no call has ended within %s, the time of a process: --max-time gives more\n",
            warmup_process_time(r));
    return EXIT_PROGRAM;
  }
  int code = warmup_report(o, r);
  if (code == EXIT_FINE) code = warmup_plot(o, r);
  if (warmup_agree(r)) return code;
  fputs("error: the engines disagree\n", stderr);
  return EXIT_PROGRAM;
}

int tool_warmup_curve(const tool_options *options) {
  int code = tool_result_begin(options->curve.plot);
  warmup_result *r = calloc(1, sizeof *r);
  if (code == EXIT_FINE && !r) code = tool_fail(NULL, HIA_MEMORY);
  measurement m = {.o = options, .result = r, .start = tool_now()};
  if (code == EXIT_FINE) code = begin(&m);
  if (code == EXIT_FINE) code = measure_and_clean(&m);
  if (code == EXIT_FINE) code = report(options, r);
  for (size_t column = 0; r && column < N_WARMUP_COLUMNS; column++)
    for (size_t k = 0; k < WARMUP_MAX_POINTS; k++) tool_series_free(&r->curves[column].points[k]);
  if (r) free(r->signature);
  free(r);
  return code;
}
