/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Generated programs in all ways, compared with the reference and so with each other. */
#include "tests/diff/run.h"
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define MAX_EVALUATED  1000000
#define SIZES          10
#define WAYS_IN_TURN   8 /* a program goes through one of so many ways */
#define FUEL_IN_TURN   4 /* of those, one of so many compiles it for runs with fuel, too */
#define PARALLEL_TIMES 3 /* on several workers */
#define FUELS          5

static gen_place outcome_entry(const void *chain, uint64_t i) {
  return ((const gen_outcome *)chain)->chain[i];
}

static void expect(gen_program *p, const gen_outcome *o, bool has_fuel, gen_text *text) {
  static const char *const words[] = {"", "div-zero", "div-overflow", "failed", "range", "fuel"};
  if (o->end == GEN_VALUE) {
    gen_print_value(p, gen_main(p)->result, o->words, false, text);
  } else {
    gen_text_add(text, "error %s", words[o->end]);
    if (o->end == GEN_FAILED) gen_text_add(text, "(%lld)", (long long)o->code);
    diff_add_chain(text, o->n_chain, outcome_entry, o);
  }
  if (has_fuel && (o->end == GEN_VALUE || o->end == GEN_OUT_OF_FUEL))
    gen_text_add(text, ", %llu fuel left", (unsigned long long)o->fuel_left);
}

typedef struct sample {
  gen_text source, expected;
  uint64_t fuel[FUELS]; /* the amounts of fuel for runs, and the expected outcomes below */
  gen_text with_fuel[FUELS];
  uint64_t taps[FUELS];
  uint32_t n_fuels;
  bool is_spared; /* native ways run it without fuel only: other programs have their turn */
  char *args[16];
  uint32_t n_args;
  gen_outcome outcome;
} sample;

/* The fuel that the run needs, which is its count of calls and rounds if it does not fail, and
 * smaller amounts. */
static void make_fuels(gen_program *p, sample *s) {
  static gen_outcome o;
  uint64_t n = s->outcome.calls + s->outcome.rounds;
  const uint64_t fuels[FUELS] = {n, n - 1, n / 2, 0, UINT64_MAX};
  for (uint32_t i = 0; i < FUELS; i++) {
    bool is_new = true;
    for (uint32_t k = 0; k < s->n_fuels; k++) is_new &= s->fuel[k] != fuels[i];
    if (!is_new) continue;
    gen_eval(p, MAX_EVALUATED, &fuels[i], &o);
    if (o.end == GEN_TOO_LONG) continue;
    if (i == 0 && s->outcome.end == GEN_VALUE && (o.end != GEN_VALUE || o.fuel_left != 0)) {
      fprintf(stderr, "hia_diff: the reference counts %llu, and charges something else\n",
              (unsigned long long)n);
      exit(2);
    }
    s->fuel[s->n_fuels] = fuels[i];
    s->taps[s->n_fuels] = o.taps;
    expect(p, &o, true, &s->with_fuel[s->n_fuels++]);
  }
}

static void make_sample(gen_program *p, sample *s) {
  *s = (sample){.n_args = 0};
  gen_print(p, &s->source);
  gen_eval(p, MAX_EVALUATED, NULL, &s->outcome);
  if (s->outcome.end != GEN_TOO_LONG) expect(p, &s->outcome, false, &s->expected);
  make_fuels(p, s);
  gen_fn *fn = gen_main(p);
  const uint64_t *words = p->args;
  for (uint32_t i = 0; i < fn->n_params; i++) {
    gen_text arg = {0};
    gen_print_value(p, fn->params[i]->type, words, !fn->params[i]->annotated, &arg);
    words += gen_words(p, fn->params[i]->type);
    s->args[s->n_args++] = arg.data;
  }
}

static void free_sample(sample *s) {
  gen_text_free(&s->source);
  gen_text_free(&s->expected);
  for (uint32_t i = 0; i < s->n_fuels; i++) gen_text_free(&s->with_fuel[i]);
  for (uint32_t i = 0; i < s->n_args; i++) free(s->args[i]);
}

static bool agrees_with_fuel(diff_way *way, const sample *s, diff_result *r) {
  for (uint32_t i = 0; i < s->n_fuels; i++) {
    diff_result with;
    diff_run(way, "random.hia", s->source.data, "main", s->args, s->n_args, &s->fuel[i], 1, &with);
    bool agrees = diff_is_beyond(way, &with) ||
                  (strcmp(with.text.data, s->with_fuel[i].data) == 0 && with.taps == s->taps[i]);
    if (!agrees)
      gen_text_add(&r->text, "; with fuel %llu: %s instead of %s", (unsigned long long)s->fuel[i],
                   with.text.data, s->with_fuel[i].data);
    diff_result_free(&with);
    if (!agrees) return false;
  }
  return true;
}

/* Runs one way. False if the outcome is not the expected one; `r` is the outcome. */
static bool agrees(diff_way *way, const sample *s, diff_result *r) {
  diff_run(way, "random.hia", s->source.data, "main", s->args, s->n_args, NULL,
           diff_is_parallel(way) ? PARALLEL_TIMES : 1, r);
  if (diff_is_beyond(way, r)) return true;
  if (strcmp(r->text.data, s->expected.data) != 0) return false;
  if (r->taps != s->outcome.taps) {
    gen_text_add(&r->text, " after other effects, or in another order");
    return false;
  }
  bool is_spared = s->is_spared && way->kind == HIA_ENGINE_JIT;
  if (diff_takes_fuel(way) && !is_spared && !agrees_with_fuel(way, s, r)) return false;
  if (!way->count || s->outcome.end != GEN_VALUE) return true;
  if (r->calls == s->outcome.calls && r->rounds == s->outcome.rounds) return true;
  gen_text_add(&r->text, " with %llu calls and %llu rounds, not %llu and %llu",
               (unsigned long long)r->calls, (unsigned long long)r->rounds,
               (unsigned long long)s->outcome.calls, (unsigned long long)s->outcome.rounds);
  return false;
}

/* The sort of a wrong outcome, so that shrinking does not change over to another one. */
typedef struct disagreement {
  diff_way *way;
  char got[24]; /* its first words */
} disagreement;

static void kind_of(const char *got, const sample *s, char *kind, size_t size) {
  snprintf(kind, size, "%.15s/%d",
           strncmp(got, "rejected", 8) && strncmp(got, "error", 5) ? "value" : got,
           s->outcome.end == GEN_VALUE);
}

static bool still_fails(void *user, gen_program *p) {
  disagreement *d = user;
  static sample s; /* too large for a stack */
  make_sample(p, &s);
  bool fails = false;
  if (s.outcome.end != GEN_TOO_LONG) {
    diff_watch("a program that is being shrunk");
    /* A bug that depends on the timing of threads may need some tries. */
    for (uint32_t i = 0; i < (d->way->threads > 1 ? 10 : 1) && !fails; i++) {
      diff_result r;
      if (!agrees(d->way, &s, &r)) {
        char kind[24];
        kind_of(r.text.data, &s, kind, sizeof kind);
        fails = !strcmp(kind, d->got);
      }
      diff_result_free(&r);
    }
  }
  free_sample(&s);
  return fails;
}

/* The program, and its run with what is expected. */
static void add_program(const sample *s, gen_text *file) {
  gen_text_add(file, "%s\n# small: main", s->source.data);
  for (uint32_t i = 0; i < s->n_args; i++) gen_text_add(file, " %s", s->args[i]);
  gen_text_add(file, " => %s\n", s->expected.data);
}

static bool save(const char *path, const gen_text *text) {
  FILE *file = fopen(path, "w");
  if (!file) return false;
  bool fine = fwrite(text->data, 1, text->len, file) == text->len;
  return fclose(file) == 0 && fine;
}

static void report(const diff_random_options *o, gen_program *p, diff_way *way, uint64_t seed,
                   uint32_t size) {
  static sample s;
  make_sample(p, &s);
  disagreement d = {.way = way};
  diff_result r;
  agrees(way, &s, &r);
  kind_of(r.text.data, &s, d.got, sizeof d.got);
  fprintf(stderr, "FAIL seed %llu size %u, %s\n  expected %s\n  got      %s\n%s",
          (unsigned long long)seed, size, way->name, s.expected.data, r.text.data,
          r.messages ? r.messages : "");
  fprintf(stderr, "repeat: hia_diff --random%s --seed %llu --size %u --count 1 --thorough\n",
          o->has_data ? " --data" : "", (unsigned long long)seed, size);
  diff_result_free(&r);
  free_sample(&s);
  if (!o->shrink_tries) {
    gen_free(p);
    return;
  }
  p = gen_shrink(p, still_fails, &d, o->shrink_tries);
  make_sample(p, &s);
  agrees(way, &s, &r);
  char path[512];
  snprintf(path, sizeof path, "%s/shrunk_%llu_%u.hia", o->save, (unsigned long long)seed, size);
  gen_text file = {0};
  add_program(&s, &file);
  gen_text_add(&file, "# %s gave: %s\n", way->name, r.text.data);
  bool is_saved = save(path, &file);
  fprintf(stderr, "shrunk to %s:\n%s", is_saved ? path : "(not saved)", file.data);
  gen_text_free(&file);
  diff_result_free(&r);
  free_sample(&s);
  gen_free(p);
}

void diff_random(const diff_random_options *o, diff_way *ways, uint32_t n_ways,
                 diff_counts *counts) {
  static sample s;
  uint32_t ends[GEN_TOO_LONG] = {0}, n = 0, stolen = 0;
  time_t start = time(NULL);
  for (; !o->count || n < o->count; n++) {
    if (o->seconds && time(NULL) - start >= (time_t)o->seconds) break;
    if (!o->count && !o->seconds) break;
    uint64_t seed = o->seed + n;
    uint32_t size = o->size ? o->size : 1 + (uint32_t)(seed % SIZES);
    gen_program *p = gen_make(seed, size, o->has_data);
    make_sample(p, &s);
    s.is_spared = !o->thorough && n / WAYS_IN_TURN % FUEL_IN_TURN;
    ends[s.outcome.end]++;
    diff_way *failed = NULL;
    for (uint32_t i = 0; i < n_ways && !failed; i++) {
      /* Not all ways for every program, but some in turn; always the interpreter on one worker. */
      if (!o->thorough && i && (i + n) % WAYS_IN_TURN) continue;
      char what[160];
      snprintf(what, sizeof what,
               "hia_diff --random%s --seed %llu --size %u --count 1 --thorough (%s)",
               o->has_data ? " --data" : "", (unsigned long long)seed, size, ways[i].name);
      diff_watch(what);
      diff_result r;
      if (!agrees(&ways[i], &s, &r)) failed = &ways[i];
      if (diff_is_parallel(&ways[i])) stolen += r.steals > 0;
      diff_result_free(&r);
    }
    free_sample(&s);
    if (!failed) {
      counts->passed++;
      gen_free(p);
    } else {
      counts->failed++;
      report(o, p, failed, seed, size);
    }
  }
  diff_watch(NULL);
  printf("random: seeds %llu to %llu: %u programs end in a value, %u in a failure; of those on "
         "several native workers %u shared work\n",
         (unsigned long long)o->seed, (unsigned long long)(o->seed + n), ends[GEN_VALUE],
         n - ends[GEN_VALUE], stolen);
}

void diff_write(const diff_random_options *o, const char *folder, diff_counts *counts) {
  static sample s;
  for (uint32_t n = 0; n < o->count; n++) {
    uint64_t seed = o->seed + n;
    gen_program *p = gen_make(seed, o->size ? o->size : 1 + (uint32_t)(seed % SIZES), o->has_data);
    char path[512];
    snprintf(path, sizeof path, "%s/random_%llu.hia", folder, (unsigned long long)seed);
    gen_text file = {0};
    make_sample(p, &s);
    add_program(&s, &file);
    bool fine = p->has_taps || save(path, &file); /* the files' readers have no host functions */
    counts->passed += fine;
    counts->failed += !fine;
    if (!fine) fprintf(stderr, "FAIL: %s cannot be written\n", path);
    gen_text_free(&file);
    free_sample(&s);
    gen_free(p);
  }
}
