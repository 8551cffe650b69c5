/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Generated programs that have no reference: all ways must agree with the first one, bit for bit.
 * And where a function and its gradient are called, the value beside the gradient must be that of
 * the function. */
#include "tests/diff/run.h"
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum {
  WAYS_IN_TURN = 8, /* a program goes through one of so many ways */
  FUEL_IN_TURN = 4, /* one program in so many has fuel, too */
  PARALLEL_TIMES = 3,
};

static void free_sample(diff_sample *s) {
  for (uint32_t i = 0; i < s->n_args; i++) free(s->args[i]);
  gen_text_free(&s->source);
  *s = (diff_sample){0};
}

static void run(diff_way *way, const diff_sample *s, const char *root, const uint64_t *fuel,
                diff_result *r) {
  way->traps = s->has_traps;
  diff_run(way, "sample.hia", s->source.data, root, s->args, s->n_args, fuel,
           diff_is_parallel(way) && !fuel ? PARALLEL_TIMES : 1, r);
}

/* False: the two ways differ; `what` says how. */
static bool agree(diff_way *first, diff_way *way, const diff_sample *s, const char *root,
                  const uint64_t *fuel, gen_text *what) {
  diff_result a, b;
  run(first, s, root, fuel, &a);
  run(way, s, root, fuel, &b);
  bool agree = diff_is_beyond(way, &b) || (!strcmp(a.text.data, b.text.data) && a.taps == b.taps);
  if (!agree) {
    gen_text_add(what, "%s", root);
    if (fuel) gen_text_add(what, " with fuel %llu", (unsigned long long)*fuel);
    gen_text_add(what, "\n  in %s: %s\n%s  in %s: %s\n%s", first->name, a.text.data,
                 a.messages ? a.messages : "", way->name, b.text.data,
                 b.messages ? b.messages : "");
    if (a.taps != b.taps) gen_text_add(what, "  with other effects, or in another order\n");
  }
  diff_result_free(&a);
  diff_result_free(&b);
  return agree;
}

/* Amounts of fuel: what slope needs, one less, and half of it. A counted program charges for the
 * calls of the source that are counted, others for those that a gradient makes
 * (graph/passes/fuel.c). */
static bool agree_with_fuel(diff_way *first, diff_way *way, const diff_sample *s, gen_text *what) {
  static const char left[] = " fuel left";
  uint64_t all = UINT64_MAX;
  diff_result r;
  if (!diff_takes_fuel(way) || way->count) return true;
  run(first, s, "slope", &all, &r);
  char *end = strstr(r.text.data, left), *number = end;
  while (number && number > r.text.data && number[-1] >= '0' && number[-1] <= '9') number--;
  uint64_t used = number ? all - strtoull(number, NULL, 10) : 0;
  diff_result_free(&r);
  if (!number) return agree(first, way, s, "slope", &all, what);
  const uint64_t amounts[] = {used, used - (used > 0), used / 2};
  for (int i = 0; i < 3; i++)
    if (!agree(first, way, s, "slope", &amounts[i], what)) return false;
  return true;
}

static bool has_function(const diff_sample *s, const char *name) {
  char head[32];
  snprintf(head, sizeof head, "fn %s(", name);
  return strstr(s->source.data, head);
}

static bool all_agree(diff_way *first, diff_way *way, const diff_sort *sort, const diff_sample *s,
                      gen_text *what) {
  bool are_few = diff_is_native(way) && !s->is_whole;
  for (uint32_t i = 0; i < (are_few ? 2 : sort->n_roots); i++) {
    const char *root = sort->roots[(s->in_turn + i) % sort->n_roots];
    if (has_function(s, root) && !agree(first, way, s, root, NULL, what)) return false;
  }
  return !s->has_fuel || agree_with_fuel(first, way, s, what);
}

/* The value beside gradients is that of the function, and where the function fails its gradient
 * does, with the same chain of calls up to the function. */
static bool has_value(diff_way *way, const diff_sample *s, gen_text *what) {
  diff_result value, slope;
  run(way, s, "value", NULL, &value);
  run(way, s, "slope", NULL, &slope);
  const char *a = value.text.data, *b = slope.text.data;
  bool is_failure = !strncmp(a, "error", 5), is_cut = strstr(a, "..") || strstr(b, "..");
  bool fits = is_failure ? is_cut || !strncmp(a, b, strlen(a))
                         : *b != '(' || (!strncmp(a, b + 1, strlen(a)) && b[1 + strlen(a)] == ',');
  if (!fits) gen_text_add(what, "value\n  %s\nis not that of slope\n  %s\n", a, b);
  gen_text_free(&value.text);
  value.text = (gen_text){0};
  diff_result_free(&value);
  diff_result_free(&slope);
  return fits;
}

/* ---- what differs ---- */

typedef struct difference {
  const diff_sort *sort;
  diff_way *first, *way; /* way NULL: has_value */
  const diff_sample *options;
} difference;

static bool still_differs(void *user, gen_program *p) {
  const difference *d = user;
  diff_sample s = {.has_traps = d->options->has_traps,
                   .has_fuel = d->options->has_fuel,
                   .is_whole = d->options->is_whole,
                   .in_turn = d->options->in_turn};
  gen_text what = {0};
  bool differs = false;
  diff_watch("a program that is being shrunk");
  if (d->sort->write(p, &s))
    for (uint32_t i = 0; i < (d->way && d->way->threads > 1 ? 10 : 1) && !differs; i++)
      differs = !(d->way ? all_agree(d->first, d->way, d->sort, &s, &what)
                         : has_value(d->first, &s, &what));
  gen_text_free(&what);
  free_sample(&s);
  return differs;
}

static void print_sample(FILE *to, const diff_sample *s, const char *before) {
  fprintf(to, "%s%s", s->source.data, before);
  for (uint32_t i = 0; i < s->n_args; i++) fprintf(to, " '%s'", s->args[i]);
}

static void report(const diff_random_options *o, uint64_t seed, gen_program *p, diff_sample *s,
                   difference *d, const gen_text *what) {
  fprintf(stderr, "FAIL --%s, seed %llu%s: %s", d->sort->name, (unsigned long long)seed,
          s->has_traps ? ", with traps" : "", what->data);
  fprintf(stderr, "repeat: hia_diff --%s --seed %llu --count 1 --thorough\n", d->sort->name,
          (unsigned long long)seed);
  d->options = s;
  diff_sample small = {0};
  if (p && o->shrink_tries) {
    p = gen_shrink(p, still_differs, d, o->shrink_tries);
    fprintf(stderr, "shrunk to:\n");
    s = d->sort->write(p, &small) ? &small : s;
  }
  print_sample(stderr, s, "# of");
  fprintf(stderr, "\n");
  free_sample(&small);
  gen_free(p);
}

/* How programs end: gradients that are numbers are what is to be compared. */
typedef struct tally {
  uint32_t n, values, rejected;
} tally;

static void count_end(diff_way *first, const diff_sample *s, tally *t) {
  diff_result r;
  run(first, s, "slope", NULL, &r);
  t->n++;
  t->values += strncmp(r.text.data, "error", 5) && strncmp(r.text.data, "rejected", 8);
  t->rejected += !strncmp(r.text.data, "rejected", 8);
  diff_result_free(&r);
}

void diff_emit(const diff_sort *sort, uint64_t seed) {
  diff_sample s = {0};
  gen_free(sort->make(seed, &s));
  print_sample(stdout, &s, "# hiaton run FILE --fn slope");
  printf("%s\n", seed % 3 == 0 ? " --trap-nan" : "");
  free_sample(&s);
}

static void check(const diff_sort *sort, const diff_random_options *o, uint64_t seed, uint32_t n,
                  diff_way *ways, uint32_t n_ways, tally *t, diff_counts *counts) {
  diff_sample s = {.has_traps = seed % 3 == 0,
                   .is_whole = o->thorough,
                   .in_turn = n,
                   .has_fuel = o->thorough || n / WAYS_IN_TURN % FUEL_IN_TURN == 0};
  gen_program *p = sort->make(seed, &s);
  gen_text what = {0};
  difference d = {.sort = sort, .first = &ways[0]};
  char name[128];
  snprintf(name, sizeof name, "hia_diff --%s --seed %llu --count 1 --thorough", sort->name,
           (unsigned long long)seed);
  diff_watch(name);
  count_end(&ways[0], &s, t);
  bool fine = has_value(&ways[0], &s, &what);
  for (uint32_t i = 1; i < n_ways && fine; i++) {
    if (!o->thorough && (i + n) % WAYS_IN_TURN) continue;
    d.way = &ways[i];
    fine = all_agree(d.first, d.way, sort, &s, &what);
  }
  counts->passed += fine;
  counts->failed += !fine;
  if (fine)
    gen_free(p);
  else
    report(o, seed, p, &s, &d, &what);
  gen_text_free(&what);
  free_sample(&s);
}

void diff_compare(const diff_sort *sort, const diff_random_options *o, diff_way *ways,
                  uint32_t n_ways, diff_counts *counts) {
  tally t = {0};
  time_t start = time(NULL);
  for (uint32_t i = 0; sort->batches && i < n_ways; i++)
    if (diff_is_native(&ways[i]) && !ways[i].batch) ways[i].batch = HIA_BATCH_ALL;
  for (uint32_t n = 0; !o->count || n < o->count; n++) {
    if (o->seconds && time(NULL) - start >= (time_t)o->seconds) break;
    check(sort, o, o->seed + n, n, ways, n_ways, &t, counts);
  }
  diff_watch(NULL);
  printf("%s: seeds %llu to %llu: of %u programs %u end in a value, %u are rejected\n", sort->name,
         (unsigned long long)o->seed, (unsigned long long)(o->seed + t.n), t.n, t.values,
         t.rejected);
}
