/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Generated programs that an engine with its defaults runs slower than it could. Each program is
 * run in some ways that differ in speed alone; those that take more than SLOW times as long by
 * default as in the best other way are listed. It is a report: machines differ, and nothing fails
 * because of a time.
 *
 * Each way is ready before it is measured: it has native code, and its versions are made. So
 * engines that make versions are eager at first, and as by default then. The time of one call is
 * the least of some; on one thread it is processor time, and for two threads time on the wall. What
 * is found is measured again, in other engines, before it is listed; the least ratio counts. */
#include "jit/engine/engine.h"
#include "tests/diff/run.h"
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define SLOW           1.2 /* times as long */
#define MIN_NS         1e6 /* of one figure, which is several calls if these are short */
#define LONG_NS        5e7 /* a call that takes longer is measured twice only */
#define MIN_DIFFERENCE 2e2 /* ns: what entering a run costs is not looked for */

enum {
  WARM = 6,                /* calls before the first that is measured: versions are made */
  TIMEOUT_NS = 2000000000, /* a call that takes longer is not measured */
  MAX_ARGS = 16,
  MAX_TIMES = 1 << 20,
  CONFIRMED = 2, /* times that a finding is measured again, */
  MORE = 3,      /* with so many times the runs */
};

/* ---- ways ---- */

typedef struct slow_way {
  const char *name;
  hia_engine_kind kind;
  hia_speculate speculate;
  hia_batching batching;
  unsigned threads;
  bool is_default;
} slow_way;

#define EAGER HIA_SPECULATE_EAGER
#define OFF   HIA_SPECULATE_OFF
static const slow_way slow_ways[] = {
    {"auto", HIA_ENGINE_AUTO, EAGER, HIA_BATCH_SEGMENTS, 1, true},
    {"auto:off", HIA_ENGINE_AUTO, OFF, HIA_BATCH_SEGMENTS, 1, false},
    {"auto:no-batches", HIA_ENGINE_AUTO, EAGER, HIA_BATCH_NONE, 1, false},
    {"jit", HIA_ENGINE_JIT, OFF, HIA_BATCH_SEGMENTS, 1, false},
    {"interp", HIA_ENGINE_INTERP, OFF, HIA_BATCH_SEGMENTS, 1, false},
    {"auto:t2", HIA_ENGINE_AUTO, EAGER, HIA_BATCH_SEGMENTS, 2, true},
    {"auto:t2:off", HIA_ENGINE_AUTO, OFF, HIA_BATCH_SEGMENTS, 2, false},
    {"auto:t2:no-batches", HIA_ENGINE_AUTO, EAGER, HIA_BATCH_NONE, 2, false},
    {"jit:t2", HIA_ENGINE_JIT, OFF, HIA_BATCH_SEGMENTS, 2, false},
    {"interp:t2", HIA_ENGINE_INTERP, OFF, HIA_BATCH_SEGMENTS, 2, false},
};
enum { N_WAYS = sizeof slow_ways / sizeof *slow_ways };

/* ---- programs ---- */

static const char *const sorts[] = {"random", "data", "grad", "batch"};
enum { N_SORTS = sizeof sorts / sizeof *sorts, RANDOM = 0, DATA = 1, GRAD = 2 };

/* One function of a program, with its arguments. */
typedef struct subject {
  diff_sample sample;
  const char *root;
} subject;

static void make_random(const diff_random_options *o, uint64_t seed, bool has_data, subject *s) {
  gen_program *p = gen_make(seed, o->size ? o->size : 4 + (uint32_t)(seed % 7), has_data);
  const gen_fn *fn = gen_main(p);
  const uint64_t *words = p->args;
  gen_print(p, &s->sample.source);
  for (uint32_t i = 0; i < fn->n_params; i++) {
    gen_text arg = {0};
    gen_print_value(p, fn->params[i]->type, words, !fn->params[i]->annotated, &arg);
    words += gen_words(p, fn->params[i]->type);
    s->sample.args[s->sample.n_args++] = arg.data;
  }
  s->root = "main";
  gen_free(p);
}

static bool has_function(const gen_text *source, const char *name) {
  char head[32];
  snprintf(head, sizeof head, "fn %s(", name);
  return strstr(source->data, head) != NULL;
}

/* Which function it is follows from the seed. The number of elements, or the depth of a tree, that
 * batches are tested with is small. */
static void make_sorted(const diff_sort *sort, uint64_t seed, subject *s) {
  s->sample.is_large = true;
  gen_free(sort->make(seed, &s->sample));
  for (uint64_t i = seed / N_SORTS; !s->root || !has_function(&s->sample.source, s->root); i++)
    s->root = sort->roots[i % sort->n_roots];
  if (!sort->batches) return;
  free(s->sample.args[0]);
  s->sample.args[0] = strdup(strcmp(s->root, "one") ? "48" : "7");
}

static void make_subject(const diff_random_options *o, uint32_t which, uint64_t seed, subject *s) {
  *s = (subject){.root = NULL};
  if (which == RANDOM || which == DATA)
    make_random(o, seed, which == DATA, s);
  else
    make_sorted(which == GRAD ? &diff_gradients : &diff_batches, seed, s);
}

static void free_subject(subject *s) {
  for (uint32_t i = 0; i < s->sample.n_args; i++) free(s->sample.args[i]);
  gen_text_free(&s->sample.source);
}

/* ---- measuring ---- */

/* The program in one way. */
typedef struct ready {
  hia_engine *engine;
  hia_module *module;
  hia_function *function;
  hia_value *values[MAX_ARGS];
  uint32_t n_values, times;
  bool is_long;
  double cpu, wall; /* ns of a call: the least so far; 0: none was made */
} ready;

static double now(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static hia_status call(const ready *r, const hia_run_options *o) {
  hia_value *result = NULL;
  hia_status status = hia_run(r->function, r->values, r->n_values, o, &result, NULL);
  hia_value_free(result);
  return status;
}

/* One figure. */
static void take(ready *r) {
  double wall = now(CLOCK_MONOTONIC), cpu = now(CLOCK_THREAD_CPUTIME_ID);
  for (uint32_t i = 0; i < r->times; i++) call(r, NULL);
  cpu = (now(CLOCK_THREAD_CPUTIME_ID) - cpu) / r->times;
  wall = (now(CLOCK_MONOTONIC) - wall) / r->times;
  if (r->wall <= 0 || wall < r->wall) r->wall = wall;
  if (r->cpu <= 0 || cpu < r->cpu) r->cpu = cpu;
}

static void forget_figures(ready *r) { r->wall = r->cpu = 0; }

static void warm_up(ready *r) {
  for (int i = 0; i < WARM && !r->is_long; i++) {
    double start = now(CLOCK_MONOTONIC);
    call(r, NULL);
    r->is_long = i > 1 && now(CLOCK_MONOTONIC) - start > LONG_NS;
  }
  if (r->engine->options.speculate == EAGER) r->engine->options.speculate = HIA_SPECULATE_ON;
  for (r->times = 1; r->times < MAX_TIMES; r->times *= 2) {
    forget_figures(r);
    take(r);
    if (r->wall * r->times >= MIN_NS) break;
  }
  forget_figures(r);
}

static void close_way(ready *r) {
  for (uint32_t i = 0; i < r->n_values; i++) hia_value_free(r->values[i]);
  hia_module_free(r->module);
  hia_engine_free(r->engine);
  *r = (ready){.engine = NULL};
}

/* False: the program fails, or takes too long. */
static bool open_way(const slow_way *way, const subject *s, ready *r) {
  const diff_sample *p = &s->sample;
  hia_engine_options o = HIA_ENGINE_OPTIONS_INIT;
  hia_run_options limited = HIA_RUN_OPTIONS_INIT;
  o.kind = way->kind;
  o.threads = way->threads;
  o.batching = way->batching;
  o.speculate = way->speculate;
  limited.timeout_ns = TIMEOUT_NS;
  *r = (ready){.engine = NULL};
  hia_status status = hia_engine_new(&o, &r->engine, NULL);
  if (status == HIA_OK) status = diff_add_hosts(r->engine, NULL);
  if (status == HIA_OK)
    status = hia_module_load_text(r->engine, "slow.hia", p->source.data, p->source.len, &r->module,
                                  NULL);
  if (status == HIA_OK) status = hia_module_function(r->module, s->root, &r->function, NULL);
  for (uint32_t i = 0; status == HIA_OK && i < p->n_args; i++) {
    status = hia_value_parse(r->function, i, p->args[i], &r->values[i], NULL);
    r->n_values += status == HIA_OK;
  }
  if (status == HIA_OK)
    status = hia_function_instance(r->function, r->values, r->n_values, &r->function, NULL);
  if (status == HIA_OK) status = hia_function_prepare(r->function, NULL);
  if (status == HIA_OK) status = call(r, &limited);
  if (status == HIA_OK) warm_up(r);
  return status == HIA_OK;
}

static void measure(ready *all, const uint32_t *which, uint32_t n, uint32_t runs) {
  for (uint32_t k = 0; k < runs; k++)
    for (uint32_t i = 0; i < n; i++) {
      ready *r = &all[which[i]];
      if (r->engine && (!r->is_long || k < 2)) take(r);
    }
}

/* ---- what is found ---- */

typedef struct finding {
  double ratio;
  gen_text text;
} finding;

typedef struct findings {
  finding *of;
  uint32_t n, size;
} findings;

/* On one thread the processor's time, which is the same whatever else the machine does. */
static double figure(const ready *r, unsigned threads) { return threads == 1 ? r->cpu : r->wall; }

/* The best of the other ways with as many threads, or with fewer. */
static uint32_t best_of(const ready *all, uint32_t usual) {
  unsigned threads = slow_ways[usual].threads;
  uint32_t best = usual;
  for (uint32_t i = 0; i < N_WAYS; i++)
    if (i != usual && all[i].engine && slow_ways[i].threads <= threads &&
        (best == usual || figure(&all[i], threads) < figure(&all[best], threads)))
      best = i;
  return best;
}

static bool is_slow(const ready *all, uint32_t usual, uint32_t best, double *ratio) {
  unsigned threads = slow_ways[usual].threads;
  double a = figure(&all[usual], threads), b = figure(&all[best], threads);
  if (a / b < *ratio) *ratio = a / b;
  return *ratio > SLOW && a - b > MIN_DIFFERENCE;
}

/* What is there by chance is not there again, in other engines: where code and objects lie makes a
 * difference, too. */
static bool is_confirmed(const subject *s, ready *all, uint32_t usual, uint32_t best, uint32_t runs,
                         double *ratio) {
  const uint32_t both[] = {usual, best};
  bool is = true;
  for (int i = 0; i < CONFIRMED && is; i++) {
    for (int k = 0; k < 2 && is; k++) {
      close_way(&all[both[k]]);
      is = open_way(&slow_ways[both[k]], s, &all[both[k]]);
    }
    if (is) measure(all, both, 2, MORE * runs);
    is = is && is_slow(all, usual, best, ratio);
  }
  return is;
}

static void add_time(gen_text *text, double ns) {
  gen_text_add(text,
               ns < 1e3   ? "%.0f ns"
               : ns < 1e6 ? "%.3g us"
                          : "%.3g ms",
               ns < 1e3   ? ns
               : ns < 1e6 ? ns / 1e3
                          : ns / 1e6);
}

static void add_finding(findings *f, const ready *all, uint32_t usual, uint32_t best, double ratio,
                        const char *program) {
  unsigned threads = slow_ways[usual].threads;
  if (f->n == f->size) {
    f->size = f->size ? 2 * f->size : 16;
    f->of = realloc(f->of, f->size * sizeof *f->of);
    if (!f->of) exit(2);
  }
  finding *x = &f->of[f->n++];
  *x = (finding){.ratio = ratio};
  gen_text_add(&x->text, "%6.2f  %s takes ", ratio, slow_ways[usual].name);
  add_time(&x->text, figure(&all[usual], threads));
  gen_text_add(&x->text, ", %s ", slow_ways[best].name);
  add_time(&x->text, figure(&all[best], threads));
  gen_text_add(&x->text, ": %s\n        of", program);
  const char *between = " ";
  for (uint32_t i = 0; i < N_WAYS; i++) {
    if (!all[i].engine || slow_ways[i].threads > threads) continue;
    gen_text_add(&x->text, "%s%s ", between, slow_ways[i].name);
    add_time(&x->text, figure(&all[i], threads));
    between = ", ";
  }
}

static int by_ratio(const void *a, const void *b) {
  double x = ((const finding *)a)->ratio, y = ((const finding *)b)->ratio;
  return x < y ? 1 : x > y ? -1 : 0;
}

/* False: the program fails or takes too long by default. */
static bool look_at(const subject *s, uint32_t runs, const char *program, findings *f) {
  static const uint32_t every[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  static ready all[N_WAYS];
  _Static_assert(sizeof every / sizeof *every == N_WAYS, "every way");
  bool runs_at_all = true;
  for (uint32_t i = 0; i < N_WAYS; i++) {
    all[i] = (ready){.engine = NULL};
    bool is_open = runs_at_all && open_way(&slow_ways[i], s, &all[i]);
    if (slow_ways[i].is_default) runs_at_all &= is_open;
    if (!is_open) close_way(&all[i]);
  }
  if (runs_at_all) measure(all, every, N_WAYS, runs);
  for (uint32_t i = 0; i < N_WAYS && runs_at_all; i++) {
    uint32_t best = slow_ways[i].is_default ? best_of(all, i) : i;
    double ratio = 1e9;
    if (best != i && is_slow(all, i, best, &ratio) && is_confirmed(s, all, i, best, runs, &ratio))
      add_finding(f, all, i, best, ratio, program);
  }
  for (uint32_t i = 0; i < N_WAYS; i++) close_way(&all[i]);
  return runs_at_all;
}

static uint32_t sort_of(const char *only, uint64_t seed) {
  for (uint32_t i = 0; i < N_SORTS; i++)
    if (only && !strcmp(only, sorts[i])) return i;
  return (uint32_t)(seed % N_SORTS);
}

void diff_slow(const diff_random_options *o, const char *only, uint32_t runs) {
  findings f = {0};
  uint32_t n = 0, n_left_out = 0;
  time_t start = time(NULL);
  for (; !o->count || n < o->count; n++) {
    if (o->seconds && time(NULL) - start >= (time_t)o->seconds) break;
    uint64_t seed = o->seed + n;
    uint32_t which = sort_of(only, seed);
    subject s;
    make_subject(o, which, seed, &s);
    char program[128];
    snprintf(program, sizeof program, "hia_diff --slow --%s --seed %llu --count 1 (%s)",
             sorts[which], (unsigned long long)seed, s.root);
    diff_watch(program);
    n_left_out += !look_at(&s, runs, program, &f);
    free_subject(&s);
  }
  diff_watch(NULL);
  if (f.n) qsort(f.of, f.n, sizeof *f.of, by_ratio);
  printf("slow: %u programs, of which %u fail or take too long; %u times the default takes more "
         "than %.1f times as long as another way\n",
         n, n_left_out, f.n, SLOW);
  for (uint32_t i = 0; i < f.n; i++) {
    puts(f.of[i].text.data);
    gen_text_free(&f.of[i].text);
  }
  free(f.of);
}

void diff_slow_emit(const diff_random_options *o, const char *only) {
  subject s;
  make_subject(o, sort_of(only, o->seed), o->seed, &s);
  printf("%s# hiaton run FILE --fn %s", s.sample.source.data, s.root);
  for (uint32_t i = 0; i < s.sample.n_args; i++) printf(" '%s'", s.sample.args[i]);
  printf("\n");
  free_subject(&s);
}
