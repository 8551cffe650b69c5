/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* hiaton train. docs/training.md describes it.
 *
 * What is written after an epoch is written in this order: the params, if they are the best; the
 * line of the log; the checkpoint; the plot. So whenever the command ends, the epochs of the
 * checkpoint have all they should have, and what later ones have written is written again, with the
 * same bytes, when the training goes on. */
#include "tools/train.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* The number of examples of a batch, and the place of the first one in the order. */
static uint32_t batch_size(const training *r, uint64_t batch, uint64_t *first) {
  *first = batch * r->t->batch;
  uint64_t left = r->n - *first;
  return (uint32_t)(left < r->t->batch ? left : r->t->batch);
}

/* Makes the array of a batch. Its elements are parts of the data, and not copied. */
static int make_batch(training *r, uint64_t batch, uint32_t *size, hia_value **value) {
  uint64_t first;
  uint32_t n = 0;
  *value = NULL;
  *size = batch_size(r, batch, &first);
  while (n < *size && (r->batch[n] = hia_value_part(r->args.values[0], r->order[first + n]))) n++;
  hia_error *error = NULL;
  hia_status status = HIA_MEMORY;
  if (n == *size)
    status =
        hia_value_array(r->engine, hia_function_param_type(r->loss, 0), r->batch, n, value, &error);
  for (uint32_t i = 0; i < n; i++) hia_value_free(r->batch[i]);
  return status == HIA_OK ? EXIT_FINE : tool_fail(error, status);
}

/* A failure says which element of the batch it belongs to: which example of the data that is. */
static void say_examples(const training *r, uint64_t batch) {
  enum { MOST = 256 };
  uint64_t first;
  uint32_t size = batch_size(r, batch, &first);
  tool_progress_end();
  fprintf(stderr, "batch %" PRIu64 " of epoch %zu has the examples", batch + 1,
          r->state.n_epochs + 1);
  for (uint32_t i = 0; i < size && i < MOST; i++)
    fprintf(stderr, "%s%" PRIu32, i ? ", " : " ", r->order[first + i]);
  fprintf(stderr, "%s of the data, in this order, counting from 0\n", size > MOST ? ", ..." : "");
}

/* ---- checkpoints ---- */

/* A file that could not be written is no mistake in the command line. */
static int fail_to_write(hia_error *error, hia_status status) {
  int code = tool_fail(error, status);
  return status == HIA_IO ? EXIT_PROGRAM : code;
}

/* A signal waits until the file is complete: nothing half is left beside it. */
static int save_checkpoint(training *r) {
  if (!r->t->checkpoint) return EXIT_FINE;
  size_t size;
  sigset_t before;
  hia_error *error;
  uint64_t start = tool_now();
  char *extra = train_encode(&r->state, &r->deciding, &size);
  if (!extra) return tool_fail(NULL, HIA_MEMORY);
  tool_hold_signals(&before);
  hia_status status = hia_trainer_save(r->trainer, r->t->checkpoint, extra, size, &error);
  tool_release_signals(&before);
  free(extra);
  r->times.write_ns += tool_now() - start;
  return status == HIA_OK ? EXIT_FINE : fail_to_write(error, status);
}

static int save_params(training *r) {
  if (!r->t->save) return EXIT_FINE;
  uint64_t start = tool_now();
  sigset_t before;
  hia_error *error;
  tool_hold_signals(&before);
  hia_status status = hia_params_save(hia_module_params(r->module), r->t->save, &error);
  tool_release_signals(&before);
  r->times.write_ns += tool_now() - start;
  return status == HIA_OK ? EXIT_FINE : fail_to_write(error, status);
}

static bool exists(const char *path) {
  struct stat info;
  return path && stat(path, &info) == 0 && S_ISREG(info.st_mode);
}

/* Before anything is read: work that a checkpoint holds is not begun anew by mistake. Without a
 * checkpoint of its own the training would still replace the params beside it. */
static int check_checkpoint(const tool_training *t) {
  const char *path = t->checkpoint ? t->checkpoint : t->old_checkpoint;
  if (t->may_resume || !exists(path)) return EXIT_FINE;
  fprintf(stderr,
          "error[argument]: there is a checkpoint already, %s\n"
          "      = hint: --resume continues from it; to begin anew, remove it\n",
          path);
  return EXIT_USAGE;
}

static int resume(training *r) {
  void *extra;
  size_t size;
  hia_error *error;
  hia_status status = hia_trainer_load(r->trainer, r->t->checkpoint, &extra, &size, &error);
  int code = status == HIA_OK ? EXIT_FINE : tool_fail(error, status);
  if (status == HIA_ARGUMENT) fputs(TRAIN_HINT, stderr);
  if (code != EXIT_FINE) return code;
  code = train_decode(r->t->checkpoint, extra, size, &r->deciding, &r->state);
  hia_trainer_free_extra(r->trainer, extra, size);
  return code;
}

static int begin(training *r) {
  struct timespec now;
  if (exists(r->t->checkpoint)) return resume(r);
  if (r->t->may_resume)
    fprintf(stderr, "there is no checkpoint %s yet: the training begins\n", r->t->checkpoint);
  clock_gettime(CLOCK_REALTIME, &now);
  r->state.run = ((uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec) ^ (uint64_t)getpid()
                                                                                   << 48;
  return EXIT_FINE;
}

/* ---- steps ---- */

static int diverged(const training *r, const char *what, double x) {
  tool_progress_end();
  fprintf(stderr,
          "error[diverged]: %s is %s in epoch %zu, batch %" PRIu64 "\n"
          "      = hint: %sa smaller --lr, or --clip, may help%s%s\n",
          what, isnan(x) ? "not a number" : "infinite", r->state.n_epochs + 1, r->state.batch + 1,
          isnan(x) ? "--trap-nan shows where NaN begins; " : "",
          exists(r->t->checkpoint) ? "; the last checkpoint is kept: " : "",
          exists(r->t->checkpoint) ? r->t->checkpoint : "");
  return EXIT_PROGRAM;
}

/* Adds a batch to the sums of the epoch. `seconds` include what was compiled meanwhile. */
static void count_batch(training *r, uint32_t size, double loss, double norm, double seconds) {
  r->state.loss += r->t->is_per_example ? loss : loss * size;
  r->state.norm += norm;
  r->state.seconds += seconds;
  r->state.batch++;
}

static int make_step(training *r) {
  struct timespec start;
  hia_value *batch;
  hia_error *error;
  uint32_t size;
  double loss, compiled = r->state.compile_seconds;
  clock_gettime(CLOCK_MONOTONIC, &start);
  int code = make_batch(r, r->state.batch, &size, &batch);
  if (code != EXIT_FINE) return code;
  uint64_t step = hia_trainer_steps(r->trainer);
  hia_status status =
      hia_trainer_set_rate(r->trainer, train_rate(r->t, step, r->t->epochs * r->n_batches));
  code = status == HIA_OK ? train_gradient(r, &batch, &loss) : tool_fail(NULL, status);
  hia_value_free(batch);
  if (code == EXIT_PROGRAM) say_examples(r, r->state.batch);
  if (code != EXIT_FINE) return code;
  double norm = hia_trainer_norm(r->trainer);
  if (!isfinite(loss)) return diverged(r, "the loss", loss);
  if (!isfinite(norm)) return diverged(r, "the norm of the gradient", norm);
  uint64_t update = tool_now();
  status = hia_trainer_update(r->trainer, &error);
  if (status != HIA_OK) return tool_fail(error, status);
  r->times.update_ns += tool_now() - update;
  compiled = r->state.compile_seconds - compiled;
  count_batch(r, size, loss, norm, train_seconds_since(&start) - compiled);
  train_note(r, size, false);
  uint64_t every = r->t->checkpoint_steps;
  bool is_last = r->state.batch == r->n_batches; /* the epoch writes one */
  return every && (step + 1) % every == 0 && !is_last ? save_checkpoint(r) : EXIT_FINE;
}

/* ---- epochs ---- */

static double number_of(const hia_value *value) {
  int32_t i = 0;
  int64_t l = 0;
  float f = 0;
  double d = 0;
  if (hia_value_get_i32(value, &i) == HIA_OK) return i;
  if (hia_value_get_i64(value, &l) == HIA_OK) return (double)l;
  if (hia_value_get_f32(value, &f) == HIA_OK) return (double)f;
  hia_value_get_f64(value, &d);
  return d;
}

static int call_on_dev(training *r, hia_function *f, double *x) {
  hia_value *result;
  int code = train_call_on_dev(r, f, &result);
  if (code != EXIT_FINE) return code;
  *x = number_of(result);
  hia_value_free(result);
  return EXIT_FINE;
}

/* NAN is worse than any number. */
static bool is_above(double a, double b) { return a > b || (isnan(b) && !isnan(a)); }

/* The first epoch is the best until there is a better one. Of equal metrics the one with the lower
 * loss is better. */
static bool is_better(const training *r, const train_epoch *e) {
  const train_epoch *best = train_best(&r->state);
  if (!best) return true;
  if (r->metric && is_above(e->metric, best->metric)) return true;
  if (r->metric && is_above(best->metric, e->metric)) return false;
  return is_above(-e->dev_loss, -best->dev_loss);
}

static int evaluate(training *r, train_epoch *e) {
  int code = EXIT_FINE;
  if (!r->t->dev) return code;
  train_note(r, 0, true);
  code = call_on_dev(r, r->loss, &e->dev_loss);
  if (code == EXIT_FINE && r->metric) code = call_on_dev(r, r->metric, &e->metric);
  if (r->t->is_per_example) e->dev_loss /= r->n_dev;
  e->is_best = is_better(r, e);
  return code;
}

static int draw(training *r) {
  char title[512];
  snprintf(title, sizeof title, "%s: %s", tool_source_name(r->o), r->t->loss);
  return train_plot(r->t->plot, &r->state, title, r->t->metric);
}

static int end_epoch(training *r) {
  train_state *s = &r->state;
  train_epoch e = {.steps = hia_trainer_steps(r->trainer),
                   .loss = train_mean_loss(r),
                   .dev_loss = NAN,
                   .metric = NAN,
                   .rate = hia_trainer_rate(r->trainer),
                   .norm = s->norm / (double)s->batch,
                   .compile_seconds = s->compile_seconds,
                   .seconds = s->seconds,
                   .examples_per_second = r->n / s->seconds};
  int code = evaluate(r, &e);
  if (code == EXIT_FINE && (e.is_best || !r->t->dev)) code = save_params(r);
  if (code == EXIT_FINE && !train_add_epoch(s, &e)) code = tool_fail(NULL, HIA_MEMORY);
  if (code != EXIT_FINE) return code;
  s->batch = 0;
  s->loss = s->norm = s->compile_seconds = s->seconds = 0;
  code = train_log_epoch(r->t->log, s);
  if (code == EXIT_FINE) code = save_checkpoint(r);
  if (code == EXIT_FINE) code = draw(r);
  if (code == EXIT_FINE) train_report_epoch(r);
  return code;
}

static int run_epochs(training *r) {
  int code = EXIT_FINE;
  while (code == EXIT_FINE && r->state.n_epochs < r->t->epochs) {
    train_shuffle(r->o->seed, r->state.n_epochs + 1, r->order, r->n);
    train_note(r, 0, false);
    while (code == EXIT_FINE && r->state.batch < r->n_batches) code = make_step(r);
    if (code == EXIT_FINE) code = end_epoch(r);
  }
  return code;
}

/* ---- the command ---- */

/* Files that cannot be written are found before the work of hours. */
static int check_targets(const tool_training *t) {
  const char *const paths[] = {t->save, t->checkpoint, t->log, t->plot};
  for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
    int wrong = paths[i] ? hiaR_output_check(paths[i]) : 0;
    if (wrong) return tool_cannot_write(paths[i], wrong);
  }
  return EXIT_FINE;
}

static int prepare(training *r) {
  hia_engine_kind kind = r->o->n_engines ? r->o->engines[0] : HIA_ENGINE_AUTO;
  hia_error *error;
  int code = check_checkpoint(r->t);
  if (code == EXIT_FINE) code = check_targets(r->t);
  if (code == EXIT_FINE) code = tool_load(r->o, kind, &r->engine, &r->module);
  if (code == EXIT_FINE) code = train_find_functions(r);
  if (code != EXIT_FINE) return code;
  hia_status status = hia_trainer_new(r->loss, &r->t->trainer, &r->trainer, &error);
  if (status != HIA_OK) return tool_fail(error, status);
  code = train_read_examples(r);
  if (code == EXIT_FINE && r->t->checkpoint) code = train_decide(r);
  if (code == EXIT_FINE) code = begin(r);
  return code == EXIT_FINE ? train_log_begin(r->t->log, &r->state) : code;
}

int tool_train(const tool_options *options) {
  training r = {.o = options, .t = &options->training};
  r.shown = (train_status){.lock = PTHREAD_MUTEX_INITIALIZER, .loss = NAN};
  int code = tool_trace_begin(options->trace, &r.timeline);
  if (code == EXIT_FINE) code = prepare(&r);
  bool is_prepared = code == EXIT_FINE;
  if (is_prepared && !r.t->save && !r.t->checkpoint)
    fputs("the trained params are not kept: there is no --save\n", stderr);
  if (is_prepared) {
    bool is_quiet = !r.metric || !hia_function_is_impure(r.metric);
    tool_progress_begin(is_quiet ? r.loss : r.metric, train_say, &r);
    code = run_epochs(&r);
    tool_progress_end();
  }
  if (code == EXIT_FINE) train_report(&r);
  tool_flush(); /* what follows is on standard error */
  if (options->time && is_prepared) train_report_time(&r);
  int trace = r.timeline && is_prepared ? tool_trace_end(options->trace, r.timeline) : EXIT_FINE;
  if (code == EXIT_FINE) code = trace;
  train_state_free(&r.state);
  free(r.order);
  free(r.batch);
  hia_trainer_free(r.trainer);
  if (r.args.values) tool_free_args(&r.args, 2);
  hia_module_free(r.module);
  hia_engine_free(r.engine);
  hia_timeline_free(r.timeline);
  return code;
}
