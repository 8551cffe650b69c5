/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Gradients of generated programs (a diff_sort). The programs are of two sorts, in turn:
 *
 *   - those of gen.c, to which a function is added that sums the floats of what `main` returns; its
 *     gradients are for the floats among main's parameters, through all that main calls;
 *   - those of tests/unit/helpers/gradient_programs.h, with tensors, data and a param.
 *
 * Their gradients are taken alone, with the value, in loops and comprehensions, and of gradients. A
 * third of the programs have traps of NaN. Nothing keeps a function from being differentiated where
 * it has a kink, a pole or a NaN. */
#include "tests/diff/gen.h"
#include "tests/diff/run.h"
#include "tests/unit/helpers/gradient_programs.h"
#include <stdio.h>
#include <stdlib.h>

enum { SIZES = 10 };

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
static bool write_generated(gen_program *p, diff_sample *s) {
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
static gen_program *make_generated(uint64_t seed, diff_sample *s) {
  for (uint64_t i = 0;; i++) {
    uint64_t own = 4 * (seed * 1000 + i); /* without host functions */
    gen_program *p = gen_make(own, 1 + (uint32_t)(seed / 2 % SIZES), seed % 4 == 0);
    if (write_generated(p, s)) return p;
    gen_free(p);
  }
}

/* ---- of programs with tensors ---- */

static void write_tensors(uint64_t seed, diff_sample *s) {
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

/* ---- */

static gen_program *make(uint64_t seed, diff_sample *s) {
  if (seed % 2 == 0) return make_generated(seed, s);
  write_tensors(seed, s);
  return NULL;
}

static const char *const roots[] = {"value", "slope", "alone", "again", "rounds", "each", "params"};

const diff_sort diff_gradients = {.name = "grad",
                                  .roots = roots,
                                  .n_roots = sizeof roots / sizeof *roots,
                                  .make = make,
                                  .write = write_generated};
