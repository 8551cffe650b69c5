/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Gradients of generated programs: all ways must agree, bit for bit.
 *
 * There is no reference for gradients, so what a run gives is compared with what the first way
 * gives; and the value beside a gradient with the value of the function itself. The programs are of
 * two sorts, in turn:
 *
 *   - those of gen.c, to which a function is added that sums the floats of what `main` returns; its
 *     gradients are for the floats among main's parameters, through all that main calls;
 *   - those of tests/unit/helper_gradient_programs.h, with tensors, data and a param.
 *
 * Their gradients are taken alone, with the value, in loops and comprehensions, and of gradients. A
 * third of the programs have traps of NaN. Nothing keeps a function from being differentiated where
 * it has a kink, a pole or a NaN. */
#include "tests/diff/gen.h"
#include "tests/diff/run.h"
#include "tests/unit/helper_gradient_programs.h"
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum {
  MAX_ARGS = 16,
  WAYS_IN_TURN = 8, /* a program goes through one of so many ways */
  FUEL_IN_TURN = 4, /* one program in so many has fuel, too */
  SIZES = 10,
  PARALLEL_TIMES = 3,
};

typedef struct slope_program {
  gen_text source;
  char *args[MAX_ARGS];
  uint32_t n_args;
  bool has_traps, has_fuel;
  bool is_whole;    /* native ways run all functions, and else two in turn: */
  uint32_t in_turn; /* from this one on */
} slope_program;

/* The functions that are run; `value` gives what slope gives beside the gradients. */
static const char *const roots[] = {"value", "slope", "alone", "again", "rounds", "each", "params"};

enum { N_ROOTS = sizeof roots / sizeof *roots };

static void free_program(slope_program *s) {
  for (uint32_t i = 0; i < s->n_args; i++) free(s->args[i]);
  gen_text_free(&s->source);
  *s = (slope_program){0};
}

/* ---- of generated programs ---- */

static bool is_float(gen_type t) { return t == GEN_F32 || t == GEN_F64; }

/* Adds " + f64(r.0.1)" for each float in the value `path`. */
static uint32_t add_floats(const gen_program *p, gen_type t, const char *path, gen_text *out) {
  char inner[64];
  uint32_t n = is_float(t);
  if (n) gen_text_add(out, " + f64(%s)", path);
  for (uint32_t i = 0; gen_is_tuple(t) && i < gen_tuple_of(p, t)->n; i++) {
    snprintf(inner, sizeof inner, "%s.%u", path, i);
    n += add_floats(p, gen_tuple_of(p, t)->parts[i], inner, out);
  }
  return n;
}

/* "p0: f32, p1: (i32, bool)" or "p0, p1"; or the floats alone. */
static void add_params(const gen_program *p, bool has_types, bool are_floats, gen_text *out) {
  const gen_fn *main = gen_main(p);
  const char *between = "";
  for (uint32_t i = 0; i < main->n_params; i++) {
    const gen_var *v = main->params[i];
    if (v->dropped || (are_floats && !is_float(v->type))) continue;
    gen_text_add(out, "%s%s", between, v->name);
    if (has_types) gen_text_add(out, ": ");
    if (has_types) gen_print_type(p, v->type, out);
    between = ", ";
  }
}

static const gen_var *first_float(const gen_program *p, uint32_t *n) {
  const gen_fn *main = gen_main(p);
  const gen_var *first = NULL;
  *n = 0;
  for (uint32_t i = 0; i < main->n_params; i++) {
    if (main->params[i]->dropped || !is_float(main->params[i]->type)) continue;
    if (!first) first = main->params[i];
    ++*n;
  }
  return first;
}

/* False: it has no floats, or host functions. */
static bool write_generated(gen_program *p, slope_program *s) {
  gen_text sum = {0}, typed = {0}, names = {0}, floats = {0};
  uint32_t n_floats;
  const gen_var *x = first_float(p, &n_floats);
  bool fits = !p->has_taps && x && add_floats(p, gen_main(p)->result, "r", &sum);
  if (fits) {
    const char *dtype = x->type == GEN_F32 ? "f32" : "f64";
    add_params(p, true, false, &typed);
    add_params(p, false, false, &names);
    add_params(p, false, true, &floats);
    const char *t = typed.data, *n = names.data, *f = floats.data;
    gen_print(p, &s->source);
    gen_text *out = &s->source;
    gen_text_add(out, "\nfn value(%s) -> f64 = { let r = main(%s); 0.0%s }\n", t, n, sum.data);
    gen_text_add(out, "fn slope(%s) = value_and_grad(value, wrt = (%s))(%s)\n", t, f, n);
    gen_text_add(out, "fn alone(%s) -> %s = grad(value, wrt = %s)(%s)\n", t, dtype, x->name, n);
    gen_text_add(out, "fn again(%s) = value_and_grad(alone, wrt = (%s))(%s)\n", t, f, n);
    gen_text_add(out,
                 "fn rounds(%s) = { let (a, _) = loop (a: %s = 0, i = 0) while i < 3 { (a + "
                 "alone(%s), i + 1) }; a }\n",
                 t, dtype, n);
    gen_text_add(out, "fn each(%s) = [alone(%s) + %s(i) for i in 0..3]\n", t, n, dtype);
    const uint64_t *words = p->args;
    for (uint32_t i = 0; i < gen_main(p)->n_params; i++) {
      const gen_var *v = gen_main(p)->params[i];
      gen_text arg = {0};
      gen_print_value(p, v->type, words, false, &arg);
      words += gen_words(p, v->type);
      if (v->dropped) gen_text_free(&arg);
      if (!v->dropped) s->args[s->n_args++] = arg.data;
    }
  }
  gen_text_free(&sum);
  gen_text_free(&typed);
  gen_text_free(&names);
  gen_text_free(&floats);
  return fits;
}

/* The first program from a seed on that fits. */
static gen_program *make_generated(uint64_t seed, slope_program *s) {
  for (uint64_t i = 0;; i++) {
    uint64_t own = 4 * (seed * 1000 + i); /* without host functions */
    gen_program *p = gen_make(own, 1 + (uint32_t)(seed / 2 % SIZES), seed % 4 == 0);
    if (write_generated(p, s)) return p;
    gen_free(p);
  }
}

/* ---- of programs with tensors ---- */

static void write_tensors(uint64_t seed, slope_program *s) {
  static const char *const numbers[] = {"0.3", "-0.7", "0",   "-0.0",  "1.5",
                                        "2",   "inf",  "nan", "1e300", "3.0"};
  static const char *const vectors[] = {"[0.2, 0.9, -0.4, 0.6]", "[0, 0, 0, 0]", "[1, -inf, 0, 2]",
                                        "[1e200, 1, nan, -1]"};
  static const char rest[] =
      "fn value(x: f64, y: f64, v: f64[4], n: i32) = f(x, y, v, n)\n"
      "fn slope(x: f64, y: f64, v: f64[4], n: i32) = value_and_grad(f, wrt = (x, v, P))(x, y, v, "
      "n)\n"
      "fn alone(x: f64, y: f64, v: f64[4], n: i32) = grad(f, wrt = x)(x, y, v, n)\n"
      "fn again(x: f64, y: f64, v: f64[4], n: i32) = value_and_grad(alone, wrt = (y, x))(x, y, v, "
      "n)\n"
      "fn rounds(x: f64, y: f64, v: f64[4], n: i32) = {\n"
      "  let (a, _) = loop (a = v, i = 0) while i < 2 { (grad(f, wrt = v)(x, y, tanh(a), n), i + "
      "1) };\n"
      "  a\n"
      "}\n"
      "fn each(x: f64, y: f64, v: f64[4], n: i32) = [alone(x + f64(i), y, v, i + n % 2) for i in "
      "0..3]\n"
      "fn reads(x: f64, y: f64, v: f64[4], n: i32) = f(x, y, v, n) + P[0][1] * x\n"
      "fn params(x: f64, y: f64, v: f64[4], n: i32) = grad(reads)(x, y, v, n)\n";
  gen_random r = {seed};
  test_text text = {0};
  gradient_program((uint32_t)seed, &text);
  gen_text_add(&s->source, "%s%s", text.data, rest);
  test_text_free(&text);
  uint32_t n_numbers = gen_chance(&r, 50) ? 2 : sizeof numbers / sizeof *numbers;
  for (int i = 0; i < 2; i++) s->args[i] = strdup(numbers[gen_below(&r, n_numbers)]);
  s->args[2] = strdup(vectors[gen_below(&r, n_numbers == 2 ? 1 : 4)]);
  s->args[3] = strdup(gen_chance(&r, 50) ? "2" : gen_chance(&r, 50) ? "0" : "3");
  s->n_args = 4;
}

/* ---- comparing ---- */

static void run(diff_way *way, const slope_program *s, const char *root, const uint64_t *fuel,
                diff_result *r) {
  way->traps = s->has_traps;
  diff_run(way, "slopes.hia", s->source.data, root, s->args, s->n_args, fuel,
           diff_is_parallel(way) && !fuel ? PARALLEL_TIMES : 1, r);
}

/* False: the two ways differ; `what` says how. */
static bool agree(diff_way *first, diff_way *way, const slope_program *s, const char *root,
                  const uint64_t *fuel, gen_text *what) {
  diff_result a, b;
  run(first, s, root, fuel, &a);
  run(way, s, root, fuel, &b);
  bool agree = diff_is_beyond(way, &b) || !strcmp(a.text.data, b.text.data);
  if (!agree) {
    gen_text_add(what, "%s", root);
    if (fuel) gen_text_add(what, " with fuel %llu", (unsigned long long)*fuel);
    gen_text_add(what, "\n  in %s: %s\n%s  in %s: %s\n%s", first->name, a.text.data,
                 a.messages ? a.messages : "", way->name, b.text.data,
                 b.messages ? b.messages : "");
  }
  diff_result_free(&a);
  diff_result_free(&b);
  return agree;
}

/* Amounts of fuel: what slope needs, one less, and half of it. A counted program charges for the
 * calls of the source that are counted, others for those that a gradient makes (graph/fuel.c). */
static bool agree_with_fuel(diff_way *first, diff_way *way, const slope_program *s,
                            gen_text *what) {
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

static bool all_agree(diff_way *first, diff_way *way, const slope_program *s, gen_text *what) {
  bool has_params = strstr(s->source.data, "fn params(");
  bool are_few = way->kind == HIA_ENGINE_JIT && !s->is_whole;
  for (uint32_t i = 0; i < (are_few ? 2 : N_ROOTS); i++) {
    const char *root = roots[(s->in_turn + i) % N_ROOTS];
    if (!has_params && !strcmp(root, "params")) continue;
    if (!agree(first, way, s, root, NULL, what)) return false;
  }
  return !s->has_fuel || agree_with_fuel(first, way, s, what);
}

/* The value beside gradients is that of the function, and where the function fails its gradient
 * does, with the same chain of calls up to the function. */
static bool has_value(diff_way *way, const slope_program *s, gen_text *what) {
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
  diff_way *first, *way; /* way NULL: has_value */
  const slope_program *options;
} difference;

static bool still_differs(void *user, gen_program *p) {
  const difference *d = user;
  slope_program s = {.has_traps = d->options->has_traps,
                     .has_fuel = d->options->has_fuel,
                     .is_whole = d->options->is_whole,
                     .in_turn = d->options->in_turn};
  gen_text what = {0};
  bool differs = false;
  diff_watch("a program with gradients that is being shrunk", 60);
  if (write_generated(p, &s))
    for (uint32_t i = 0; i < (d->way && d->way->threads > 1 ? 10 : 1) && !differs; i++)
      differs = !(d->way ? all_agree(d->first, d->way, &s, &what) : has_value(d->first, &s, &what));
  gen_text_free(&what);
  free_program(&s);
  return differs;
}

static void report(const diff_random_options *o, uint64_t seed, gen_program *p, slope_program *s,
                   difference *d, const gen_text *what) {
  fprintf(stderr, "FAIL gradients, seed %llu%s: %s", (unsigned long long)seed,
          s->has_traps ? ", with traps" : "", what->data);
  fprintf(stderr, "repeat: hia_diff --grad --seed %llu --count 1 --thorough\n",
          (unsigned long long)seed);
  d->options = s;
  if (p && o->shrink_tries) {
    p = gen_shrink(p, still_differs, d, o->shrink_tries);
    slope_program small = {0};
    write_generated(p, &small);
    fprintf(stderr, "shrunk to:\n%s# of", small.source.data);
    for (uint32_t i = 0; i < small.n_args; i++) fprintf(stderr, " %s", small.args[i]);
    fprintf(stderr, "\n");
    free_program(&small);
  } else {
    fprintf(stderr, "%s# of", s->source.data);
    for (uint32_t i = 0; i < s->n_args; i++) fprintf(stderr, " '%s'", s->args[i]);
    fprintf(stderr, "\n");
  }
  gen_free(p);
}

/* How programs end: gradients that are numbers are what is to be compared. */
typedef struct tally {
  uint32_t n, values, rejected;
} tally;

static void count_end(diff_way *first, const slope_program *s, tally *t) {
  diff_result r;
  run(first, s, "slope", NULL, &r);
  t->n++;
  t->values += strncmp(r.text.data, "error", 5) && strncmp(r.text.data, "rejected", 8);
  t->rejected += !strncmp(r.text.data, "rejected", 8);
  diff_result_free(&r);
}

/* Fills *s; returns the program that it is made of, or NULL. */
static gen_program *make(uint64_t seed, slope_program *s) {
  if (seed % 2 == 0) return make_generated(seed, s);
  write_tensors(seed, s);
  return NULL;
}

void diff_emit_gradients(uint64_t seed) {
  slope_program s = {0};
  gen_free(make(seed, &s));
  printf("%s# hiaton run FILE --fn slope", s.source.data);
  for (uint32_t i = 0; i < s.n_args; i++) printf(" '%s'", s.args[i]);
  printf("%s\n", seed % 3 == 0 ? " --trap-nan" : "");
  free_program(&s);
}

static void check(const diff_random_options *o, uint64_t seed, uint32_t n, diff_way *ways,
                  uint32_t n_ways, tally *t, diff_counts *counts) {
  slope_program s = {.has_traps = seed % 3 == 0,
                     .is_whole = o->thorough,
                     .in_turn = n,
                     .has_fuel = o->thorough || n / WAYS_IN_TURN % FUEL_IN_TURN == 0};
  gen_program *p = make(seed, &s);
  gen_text what = {0};
  difference d = {.first = &ways[0]};
  char name[128];
  snprintf(name, sizeof name, "hia_diff --grad --seed %llu --count 1 --thorough",
           (unsigned long long)seed);
  diff_watch(name, 120);
  count_end(&ways[0], &s, t);
  bool fine = has_value(&ways[0], &s, &what);
  for (uint32_t i = 1; i < n_ways && fine; i++) {
    if (!o->thorough && (i + n) % WAYS_IN_TURN) continue;
    d.way = &ways[i];
    fine = all_agree(d.first, d.way, &s, &what);
  }
  counts->passed += fine;
  counts->failed += !fine;
  if (fine)
    gen_free(p);
  else
    report(o, seed, p, &s, &d, &what);
  gen_text_free(&what);
  free_program(&s);
}

void diff_gradients(const diff_random_options *o, diff_way *ways, uint32_t n_ways,
                    diff_counts *counts) {
  tally t = {0};
  time_t start = time(NULL);
  for (uint32_t n = 0; !o->count || n < o->count; n++) {
    if (o->seconds && time(NULL) - start >= (time_t)o->seconds) break;
    check(o, o->seed + n, n, ways, n_ways, &t, counts);
  }
  diff_watch("", 0);
  printf("gradients: seeds %llu to %llu: of %u programs %u end in a value, %u are rejected\n",
         (unsigned long long)o->seed, (unsigned long long)(o->seed + t.n), t.n, t.values,
         t.rejected);
}
