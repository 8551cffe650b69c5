/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* What a training shows: a line on the terminal, one for each epoch, and one at the end. */
#include "tools/train.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <time.h>

void train_format(char text[32], double x) {
  for (int digits = 6; digits <= 17; digits++) {
    snprintf(text, 32, "%.*g", digits, x);
    if (strtod(text, NULL) == x) break;
  }
}

double train_seconds_since(const struct timespec *start) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)(now.tv_sec - start->tv_sec) + (double)(now.tv_nsec - start->tv_nsec) / 1e9;
}

static void say_left(char *text, size_t size, double seconds) {
  if (seconds < 90)
    snprintf(text, size, ", %.0f s left", seconds);
  else if (seconds < 5400)
    snprintf(text, size, ", %.0f min left", seconds / 60);
  else
    snprintf(text, size, ", %.1f h left", seconds / 3600);
}

void train_say(void *user, char *text, size_t size) {
  training *r = user;
  char loss[48] = "", left[48] = "";
  pthread_mutex_lock(&r->shown.lock);
  train_status s = r->shown;
  pthread_mutex_unlock(&r->shown.lock);
  double seconds = s.has_begun ? train_seconds_since(&s.begin) : 0;
  if (!isnan(s.loss)) snprintf(loss, sizeof loss, ", loss %.4g", s.loss);
  if (s.done > 0 && seconds > 0) {
    int n = snprintf(left, sizeof left, ", %.0f examples/s", s.done / seconds);
    if (!s.is_on_dev)
      say_left(left + n, sizeof left - (size_t)n, s.to_do * seconds / s.done - seconds);
  }
  if (s.is_on_dev)
    snprintf(text, size, ", epoch %" PRIu64 " of %" PRIu64 ", --dev%s", s.epoch, r->t->epochs,
             loss);
  else
    snprintf(text, size, ", epoch %" PRIu64 " of %" PRIu64 ", batch %" PRIu64 " of %" PRIu64 "%s%s",
             s.epoch, r->t->epochs, s.batch, r->n_batches, loss, left);
}

double train_mean_loss(const training *r) {
  uint64_t n = r->state.batch * r->t->batch;
  return r->state.batch ? r->state.loss / (double)(n < r->n ? n : r->n) : NAN;
}

void train_note(training *r, uint32_t examples, bool is_on_dev) {
  uint64_t epoch = r->state.n_epochs, first = r->state.batch * r->t->batch;
  pthread_mutex_lock(&r->shown.lock);
  train_status *s = &r->shown;
  s->epoch = epoch + 1;
  s->batch = r->state.batch + (r->state.batch < r->n_batches);
  s->loss = train_mean_loss(r);
  s->is_on_dev = is_on_dev;
  if (s->has_begun) {
    s->done += examples;
  } else if (examples) {
    s->has_begun = true;
    clock_gettime(CLOCK_MONOTONIC, &s->begin);
    s->to_do = (double)(r->t->epochs - epoch) * r->n - (double)(first < r->n ? first : r->n);
  }
  pthread_mutex_unlock(&r->shown.lock);
}

/* Appends what is known of an epoch. */
static void describe(const training *r, const train_epoch *e, char *text, size_t size) {
  int n = snprintf(text, size, "loss %.6g", e->loss);
  if (r->t->dev) n += snprintf(text + n, size - (size_t)n, ", dev loss %.6g", e->dev_loss);
  if (r->metric) snprintf(text + n, size - (size_t)n, ", %.64s %.10g", r->t->metric, e->metric);
}

void train_report_epoch(const training *r) {
  const train_epoch *e = &r->state.epochs[r->state.n_epochs - 1];
  char known[256], compiled[48] = "", text[512];
  describe(r, e, known, sizeof known);
  if (e->compile_seconds > 0)
    snprintf(compiled, sizeof compiled, ", and %.2f s to compile", e->compile_seconds);
  snprintf(text, sizeof text, "epoch %zu of %" PRIu64 ": %s%s; %.2f s, %.0f examples/s%s\n",
           r->state.n_epochs, r->t->epochs, known, e->is_best ? ", the best" : "", e->seconds,
           e->examples_per_second, compiled);
  tool_progress_print(text);
}

void train_report(const training *r) {
  char text[256];
  const train_state *s = &r->state;
  const train_epoch *last = &s->epochs[s->n_epochs - 1], *best = train_best(s);
  describe(r, last, text, sizeof text);
  printf("%zu epoch%s, %" PRIu64 " step%s: %s", s->n_epochs, s->n_epochs == 1 ? "" : "s",
         last->steps, last->steps == 1 ? "" : "s", text);
  if (best && r->metric)
    printf("; best: epoch %td, %.64s %.10g", best - s->epochs + 1, r->t->metric, best->metric);
  else if (best)
    printf("; best: epoch %td, dev loss %.6g", best - s->epochs + 1, best->dev_loss);
  putchar('\n');
}
