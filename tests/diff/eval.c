/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The reference: the expected outcome of a generated program.
 *
 * Walks the tree in sequential order and computes with its own arithmetic. It shares with hiaton
 * only the C library's functions, and the elementary functions that hiaton defines, whose bits
 * nothing else has (test_elementary.c tests these). Build with -ffp-contract=off. */
#include "runtime/base/base.h"
#include "runtime/base/elementary.h"
#include "tests/diff/program.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_DEPTH 400 /* calls inside each other: bounds this walker's own recursion */

typedef struct frame {
  gen_fn *fn;
  gen_type x; /* a dtype */
  uint64_t *words;
  uint32_t first_element; /* in eval.elements: those of its comprehensions */
} frame;

typedef enum progress { GOES_ON, FAILS, TAIL_CALL } progress;

typedef struct eval {
  gen_program *p;
  gen_outcome *out;
  uint64_t max_evaluated;
  bool has_fuel;
  uint32_t depth;
  /* of a TAIL_CALL: the callee and its arguments */
  gen_fn *next;
  gen_type next_x;
  uint64_t next_args[64];
  /* The elements of the comprehensions that are being computed, the outermost first. */
  int64_t *elements;
  uint32_t n_elements, most_elements;
} eval;

/* ---- words ---- */

static float to_f32(uint64_t w) {
  uint32_t u = (uint32_t)w;
  float x;
  memcpy(&x, &u, sizeof x);
  return x;
}
static double to_f64(uint64_t w) {
  double x;
  memcpy(&x, &w, sizeof x);
  return x;
}
static uint64_t of_f32(float x) {
  uint32_t u;
  memcpy(&u, &x, sizeof u);
  return x != x ? 0x7fc00000u : u; /* one NaN for all: the language does not say which results */
}
static uint64_t of_f64(double x) {
  uint64_t u;
  memcpy(&u, &x, sizeof u);
  return x != x ? 0x7ff8000000000000u : u;
}
static uint64_t of_i32(uint64_t bits) {
  uint64_t low = bits & 0xffffffffu;
  return low & 0x80000000u ? low | 0xffffffff00000000u : low;
}

uint64_t gen_literal_word(const gen_expr *e, gen_type t) {
  char s[sizeof e->as.digits], *end = s;
  for (const char *d = e->as.digits; *d; d++)
    if (*d != '_') *end++ = *d;
  *end = 0;
  /* Each width rounds from the decimal digits, so that it rounds once. */
  if (t == GEN_F32) return of_f32(e->negative ? -strtof(s, NULL) : strtof(s, NULL));
  if (t == GEN_F64) return of_f64(e->negative ? -strtod(s, NULL) : strtod(s, NULL));
  uint64_t v = strtoull(s, NULL, 0);
  if (e->negative) v = 0 - v;
  return t == GEN_I32 ? of_i32(v) : v;
}

/* ---- operators ---- */

static gen_end integer_op(unsigned op, bool wide, uint64_t a, uint64_t b, uint64_t *out) {
  const unsigned width = wide ? 64 : 32;
  const uint64_t least = wide ? (uint64_t)1 << 63 : 0xffffffff80000000u;
  const int64_t sa = (int64_t)a, sb = (int64_t)b;
  uint64_t r = 0;
  switch (op) {
  case GEN_ADD: r = a + b; break;
  case GEN_SUB: r = a - b; break;
  case GEN_MUL: r = a * b; break;
  case GEN_DIV:
  case GEN_REM: {
    if (b == 0) return GEN_DIV_ZERO;
    if (a == least && sb == -1) return GEN_DIV_OVERFLOW;
    uint64_t ua = sa < 0 ? 0 - a : a, ub = sb < 0 ? 0 - b : b;
    bool negative = op == GEN_DIV ? (sa < 0) != (sb < 0) : sa < 0;
    r = op == GEN_DIV ? ua / ub : ua % ub;
    if (negative) r = 0 - r;
    break;
  }
  case GEN_NEG: r = 0 - a; break;
  case GEN_ABS: r = sa < 0 ? 0 - a : a; break;
  case GEN_RELU: r = sa < 0 ? 0 : a; break;
  case GEN_MIN: r = sa < sb ? a : b; break;
  case GEN_MAX: r = sa < sb ? b : a; break;
  case GEN_BAND: r = a & b; break;
  case GEN_BOR: r = a | b; break;
  case GEN_BXOR: r = a ^ b; break;
  case GEN_BNOT: r = ~a; break;
  case GEN_SHL: r = a << (b % width); break;
  case GEN_SHR: /* rounds toward minus infinity */
    r = sa < 0 ? ~(~a >> (b % width)) : a >> (b % width);
    break;
  case GEN_SHRU: r = (wide ? a : a & 0xffffffffu) >> (b % width); break;
  case GEN_POPCOUNT:
    for (unsigned i = 0; i < width; i++) r += a >> i & 1;
    break;
  case GEN_CLZ:
    while (r < width && !(a >> (width - 1 - r) & 1)) r++;
    break;
  case GEN_CTZ:
    while (r < width && !(a >> r & 1)) r++;
    break;
  }
  *out = wide ? r : of_i32(r);
  return GEN_VALUE;
}

/* A float comparison would find the zeros equal, but here -0 < +0. */
static bool below(double a, double b) { return a < b || (a == b && signbit(a) && !signbit(b)); }

#define FLOAT_OP(name, T, S)                                                                       \
  static T name(unsigned op, T a, T b, T c) {                                                      \
    switch (op) {                                                                                  \
    case GEN_ADD: return a + b;                                                                    \
    case GEN_SUB: return a - b;                                                                    \
    case GEN_MUL: return a * b;                                                                    \
    case GEN_DIV: return a / b;                                                                    \
    case GEN_REM: return fmod##S(a, b);                                                            \
    case GEN_NEG: return -a;                                                                       \
    case GEN_ABS: return a < 0 || signbit(a) ? -a : a;                                             \
    case GEN_RELU: return a != a ? a : below((double)a, 0) || a == 0 ? 0 : a;                      \
    case GEN_MIN: return a != a ? a : b != b ? b : below((double)a, (double)b) ? a : b;            \
    case GEN_MAX: return a != a ? a : b != b ? b : below((double)a, (double)b) ? b : a;            \
    case GEN_FLOOR: return floor##S(a);                                                            \
    case GEN_CEIL: return ceil##S(a);                                                              \
    case GEN_ROUND: return a - remainder##S(a, 1) == 0 ? copysign##S(0, a) : nearest_##name(a);    \
    case GEN_SQRT: return sqrt##S(a);                                                              \
    case GEN_EXP: return own_exp_##name(a);                                                        \
    case GEN_LOG: return own_log_##name(a);                                                        \
    case GEN_LOG1P: return own_log1p_##name(a);                                                    \
    case GEN_EXPM1: return own_expm1_##name(a);                                                    \
    case GEN_SIN: return own_sin_##name(a);                                                        \
    case GEN_COS: return own_cos_##name(a);                                                        \
    case GEN_TAN: return own_tan_##name(a);                                                        \
    case GEN_TANH: return own_tanh_##name(a);                                                      \
    case GEN_EXP2: return own_exp2_##name(a);                                                      \
    case GEN_LOG2: return own_log2_##name(a);                                                      \
    case GEN_LOG10: return own_log10_##name(a);                                                    \
    case GEN_ASIN: return own_asin_##name(a);                                                      \
    case GEN_ACOS: return own_acos_##name(a);                                                      \
    case GEN_ATAN: return own_atan_##name(a);                                                      \
    case GEN_SINH: return own_sinh_##name(a);                                                      \
    case GEN_COSH: return own_cosh_##name(a);                                                      \
    case GEN_SIGMOID: return own_sigmoid_##name(a);                                                \
    case GEN_POW: return own_pow_##name(a, b);                                                     \
    case GEN_ATAN2: return own_atan2_##name(a, b);                                                 \
    case GEN_HYPOT: return own_hypot_##name(a, b);                                                 \
    case GEN_FMA: return fused_##name(a, b, c);                                                    \
    default: return 0;                                                                             \
    }                                                                                              \
  }
#define OWN(name)                                                                                  \
  static float own_##name##_f32_op(float a) { return hiaR_##name##_f32(a); }                       \
  static double own_##name##_f64_op(double a) { return hiaR_##name##_f64(a); }
HIA_ELEMENTARY_LIST_1(OWN)
#define OWN_2(name)                                                                                \
  static float own_##name##_f32_op(float a, float b) { return hiaR_##name##_f32(a, b); }           \
  static double own_##name##_f64_op(double a, double b) { return hiaR_##name##_f64(a, b); }
HIA_ELEMENTARY_LIST_2(OWN_2)

/* To the nearest integer, ties to even, with the IEEE remainder. Infinities stay the same. */
static float nearest_f32_op(float a) { return isinf(a) ? a : a - remainderf(a, 1); }
static double nearest_f64_op(double a) { return isinf(a) ? a : a - remainder(a, 1); }

/* a * b + c, rounded once. A product of two f32 is exact in f64. If the sum is not exact, it is
 * rounded toward zero and its last digit is set, so that the rounding to f32 sees that there was
 * more (rounding to odd: Boldo and Melquiond, 2008). */
static float fused_f32_op(float a, float b, float c) {
  double p = (double)a * (double)b, x = (double)c, sum = p + x;
  if (isinf(sum) || isnan(sum)) return (float)sum;
  double z = sum - p, rest = (p - (sum - z)) + (x - z); /* Knuth: exact */
  uint64_t bits;
  memcpy(&bits, &sum, sizeof bits);
  if (rest != 0 && !(bits & 1)) {
    bits += (rest > 0) == (sum > 0) ? 1 : UINT64_MAX; /* the neighbour on the side of the rest */
    memcpy(&sum, &bits, sizeof bits);
  }
  return (float)sum;
}
/* For f64 the C library's fma. */
static double fused_f64_op(double a, double b, double c) { return fma(a, b, c); }
FLOAT_OP(f32_op, float, f)
FLOAT_OP(f64_op, double, )

static bool compare(unsigned op, gen_type t, uint64_t a, uint64_t b) {
  bool less, equal;
  if (t == GEN_F32 || t == GEN_F64) {
    double x = t == GEN_F32 ? (double)to_f32(a) : to_f64(a);
    double y = t == GEN_F32 ? (double)to_f32(b) : to_f64(b);
    if (x != x || y != y) return op == GEN_NE;
    less = x < y, equal = x == y;
  } else {
    less = (int64_t)a < (int64_t)b, equal = a == b;
  }
  switch (op) {
  case GEN_EQ: return equal;
  case GEN_NE: return !equal;
  case GEN_LT: return less;
  case GEN_LE: return less || equal;
  case GEN_GT: return !less && !equal;
  default: return !less;
  }
}

/* From the bits: infinities and NaNs have an exponent of ones; the fraction is 0 or not. */
static bool is_special(unsigned op, gen_type t, uint64_t w) {
  uint64_t fraction = t == GEN_F32 ? w & 0x7fffffu : w & 0xfffffffffffffu;
  unsigned exponent = t == GEN_F32 ? w >> 23 & 0xff : w >> 52 & 0x7ff;
  return exponent == (t == GEN_F32 ? 0xff : 0x7ff) && (op == GEN_ISNAN) == (fraction != 0);
}

static uint64_t saturate(double x, bool wide) {
  if (x != x) return 0;
  double limit = wide ? 9223372036854775808.0 : 2147483648.0;
  if (x >= limit) return wide ? INT64_MAX : (uint64_t)INT32_MAX;
  if (x <= -limit) return wide ? (uint64_t)INT64_MIN : (uint64_t)(int64_t)INT32_MIN;
  return (uint64_t)(int64_t)x;
}

static uint64_t convert(gen_type from, gen_type to, uint64_t w) {
  bool is_float = from == GEN_F32 || from == GEN_F64;
  double x = from == GEN_F32 ? (double)to_f32(w) : from == GEN_F64 ? to_f64(w) : 0;
  switch (to) {
  case GEN_BOOL: return is_float ? x != 0 : w != 0;
  case GEN_I32: return is_float ? saturate(x, false) : of_i32(w);
  case GEN_I64: return is_float ? saturate(x, true) : w;
  /* Directly from the integer, so that it is rounded once. */
  case GEN_F32: return of_f32(is_float ? (float)x : (float)(int64_t)w);
  default: return of_f64(is_float ? x : (double)(int64_t)w);
  }
}

/* ---- expressions ---- */

static progress run(eval *ev, const frame *f, gen_expr *e, uint64_t *out);
static progress call(eval *ev, gen_fn *fn, gen_type x, const uint64_t *args, uint64_t *out);

static gen_type dtype(const frame *f, gen_type t) { return t == GEN_X ? f->x : t; }

static void add_place(eval *ev, const frame *f, const gen_expr *e) {
  gen_place *p = &ev->out->chain[ev->out->n_chain++];
  *p = (gen_place){.line = e->line, .col = e->col, .fn = f->fn->name};
  if (ev->out->end == GEN_OUT_OF_FUEL) return;
  for (uint32_t i = f->first_element; i < ev->n_elements; i++)
    if (p->n_elements++ < GEN_MAX_ELEMENTS) p->elements[p->n_elements - 1] = ev->elements[i];
}

static progress fails(eval *ev, gen_end end, const frame *f, const gen_expr *e) {
  ev->out->end = end;
  if (end != GEN_TOO_LONG) add_place(ev, f, e);
  return FAILS;
}

static void bind(const eval *ev, const frame *f, const gen_binder *b, const uint64_t *words) {
  if (b->var) memcpy(f->words + b->var->slot, words, gen_words(ev->p, b->type) * sizeof *words);
  for (uint32_t i = 0; i < b->n; i++) {
    bind(ev, f, &b->parts[i], words);
    words += gen_words(ev->p, b->parts[i].type);
  }
}

/* ---- fuel ---- */

/* The number of calls that evaluating e makes on every path to its end, and the first of them. */
static void find_calls(const gen_expr *e, uint64_t *n, const gen_expr **first) {
  uint32_t n_kids = e->n; /* the kids that are evaluated always and once */
  switch ((gen_kind)e->kind) {
  case GEN_CONST: n_kids = 0; break;
  case GEN_FAIL: n_kids = e->anchored ? 0 : 1; break; /* written as an arm of an `if` */
  case GEN_IF:
  case GEN_AND:
  case GEN_OR: n_kids = 1; break;
  case GEN_MATCH: n_kids = e->n == 2 ? 2 : 1; break; /* a single arm is always taken */
  case GEN_LOOP: n_kids = e->n - 2; break;
  case GEN_COMP: n_kids = e->n - 1; break;
  default: break;
  }
  for (uint32_t i = 0; i < n_kids; i++)
    if (e->kind != GEN_CALL || !e->as.fn->params[i]->dropped) find_calls(e->kids[i], n, first);
  if (e->kind != GEN_CALL && !e->tapped) return;
  if ((*n)++ == 0) *first = e;
}

/* Called when evaluation enters e: charges its calls and, for the block of a loop or the body of a
 * comprehension, the round. */
static progress enter(eval *ev, const frame *f, const gen_expr *e, const gen_expr *loop) {
  uint64_t n = loop ? 1 : 0;
  const gen_expr *first = loop;
  if (!ev->has_fuel) return GOES_ON;
  find_calls(e, &n, &first);
  if (ev->out->fuel_left < n) return fails(ev, GEN_OUT_OF_FUEL, f, first);
  ev->out->fuel_left -= n;
  return GOES_ON;
}

static progress run_inner(eval *ev, const frame *f, gen_expr *e, uint64_t *out) {
  return enter(ev, f, e, NULL) ? FAILS : run(ev, f, e, out);
}

static progress run_loop(eval *ev, const frame *f, gen_expr *e, uint64_t *out) {
  uint32_t n = e->n - 2, at = 0;
  for (uint32_t i = 0; i < n; i++) {
    if (run(ev, f, e->kids[i], out + at)) return FAILS;
    at += gen_words(ev->p, e->as.vars[i]->type);
  }
  for (;;) {
    uint64_t *from = out, go;
    for (uint32_t i = 0; i < n; i++) {
      uint32_t words = gen_words(ev->p, e->as.vars[i]->type);
      memcpy(f->words + e->as.vars[i]->slot, from, words * sizeof *from);
      from += words;
    }
    if (run_inner(ev, f, e->kids[n], &go)) return FAILS;
    if (!go) return GOES_ON;
    ev->out->rounds++;
    if (enter(ev, f, e->kids[n + 1], e) || run(ev, f, e->kids[n + 1], out)) return FAILS;
  }
}

/* ---- data and arrays ---- */

static progress run_data(eval *ev, const frame *f, gen_expr *e, uint64_t *out) {
  uint64_t fields[64];
  uint32_t at = 0;
  for (uint32_t i = 0; i < e->n; i++) {
    if (run(ev, f, e->kids[i], fields + at)) return FAILS;
    at += gen_words(ev->p, e->kids[i]->type);
  }
  *out = gen_new_data(ev->p, &ev->p->values, e->type, e->con, fields);
  return GOES_ON;
}

/* Long arrays count as work: what they take is bounded, too. */
static progress new_array(eval *ev, const frame *f, gen_expr *e, uint64_t n,
                          const uint64_t *elements, uint64_t *out) {
  ev->out->n_evaluated += n / 4;
  if (n > GEN_MAX_RESULT || ev->out->n_evaluated > ev->max_evaluated)
    return fails(ev, GEN_TOO_LONG, f, e);
  *out = gen_new_array(ev->p, &ev->p->values, e->type, n, elements);
  return GOES_ON;
}

static progress run_array(eval *ev, const frame *f, gen_expr *e, uint64_t *out) {
  uint32_t words = gen_words(ev->p, gen_element_of(ev->p, e->type));
  uint64_t *elements = GEN_NEW_ARRAY(&ev->p->values, uint64_t, e->n *words);
  for (uint32_t i = 0; i < e->n; i++)
    if (run(ev, f, e->kids[i], elements + i * words)) return FAILS;
  return new_array(ev, f, e, e->n, elements, out);
}

/* An element, some elements, or all with another one in a place. */
static progress run_at(eval *ev, const frame *f, gen_expr *e, uint64_t *out) {
  uint64_t array, i, j = 0, value[64];
  if (run(ev, f, e->kids[0], &array) || run(ev, f, e->kids[1], &i)) return FAILS;
  if (e->kind == GEN_SLICE && run(ev, f, e->kids[2], &j)) return FAILS;
  if (e->kind == GEN_SET && run(ev, f, e->kids[2], value)) return FAILS;
  const gen_object *o = gen_object_at(array);
  uint32_t words = gen_words(ev->p, gen_element_of(ev->p, e->kids[0]->type));
  bool is_in = e->kind == GEN_SLICE ? i <= j && j <= o->n : i < o->n; /* below 0 is very large */
  if (!is_in) return fails(ev, GEN_OUT_OF_RANGE, f, e);
  if (e->kind == GEN_SLICE) return new_array(ev, f, e, j - i, o->words + i * words, out);
  if (e->kind == GEN_INDEX) {
    memcpy(out, o->words + i * words, words * sizeof *out);
    return GOES_ON;
  }
  uint64_t *elements = GEN_NEW_ARRAY(&ev->p->values, uint64_t, o->n *words);
  memcpy(elements, o->words, o->n * words * sizeof *elements);
  memcpy(elements + i * words, value, words * sizeof *value);
  return new_array(ev, f, e, o->n, elements, out);
}

static progress run_concat(eval *ev, const frame *f, gen_expr *e, uint64_t *out) {
  uint32_t words = gen_words(ev->p, gen_element_of(ev->p, e->type));
  uint64_t *arrays = GEN_NEW_ARRAY(&ev->p->values, uint64_t, e->n), n = 0, at = 0;
  for (uint32_t i = 0; i < e->n; i++) {
    if (run(ev, f, e->kids[i], &arrays[i])) return FAILS;
    n += gen_object_at(arrays[i])->n;
  }
  uint64_t *elements = GEN_NEW_ARRAY(&ev->p->values, uint64_t, n *words);
  for (uint32_t i = 0; i < e->n; i++) {
    const gen_object *o = gen_object_at(arrays[i]);
    memcpy(elements + at, o->words, o->n * words * sizeof *elements);
    at += o->n * words;
  }
  return new_array(ev, f, e, n, elements, out);
}

static progress run_comprehension(eval *ev, const frame *f, gen_expr *e, uint64_t *out) {
  const gen_var *var = e->as.vars[0];
  gen_expr *body = e->kids[e->n - 1];
  const gen_object *over = NULL;
  uint64_t from, to = 0, n;
  if (run(ev, f, e->kids[0], &from) || (e->n == 3 && run(ev, f, e->kids[1], &to))) return FAILS;
  if (e->n == 2) {
    over = gen_object_at(from);
    n = over->n;
  } else {
    n = (int64_t)from < (int64_t)to ? to - from : 0;
  }
  if (n > GEN_MAX_RESULT) return fails(ev, GEN_TOO_LONG, f, e);
  uint32_t words = gen_words(ev->p, body->type);
  uint64_t *elements = GEN_NEW_ARRAY(&ev->p->values, uint64_t, n *words);
  for (uint64_t i = 0; i < n; i++) {
    if (var && over) {
      uint32_t w = gen_words(ev->p, var->type);
      memcpy(f->words + var->slot, over->words + i * w, w * sizeof *elements);
    } else if (var) {
      f->words[var->slot] = dtype(f, var->type) == GEN_I32 ? of_i32(from + i) : from + i;
    }
    ev->out->rounds++;
    if (ev->n_elements == ev->most_elements) {
      ev->most_elements = 2 * ev->most_elements + 16;
      ev->elements = realloc(ev->elements, ev->most_elements * sizeof *ev->elements);
    }
    ev->elements[ev->n_elements++] = (int64_t)i;
    progress s = enter(ev, f, body, e);
    if (s == GOES_ON) s = run(ev, f, body, elements + i * words);
    ev->n_elements--;
    if (s != GOES_ON) return FAILS;
  }
  return new_array(ev, f, e, n, elements, out);
}

static progress run_call(eval *ev, const frame *f, gen_expr *e, uint64_t *out) {
  uint64_t args[64];
  uint32_t at = 0;
  for (uint32_t i = 0; i < e->n; i++) {
    uint32_t words = gen_words(ev->p, e->kids[i]->type);
    if (e->as.fn->params[i]->dropped)
      memset(args + at, 0, words * sizeof *args);
    else if (run(ev, f, e->kids[i], args + at))
      return FAILS;
    at += words;
  }
  ev->out->calls++;
  gen_type x = e->as.fn->x == GEN_NO_X ? 0 : dtype(f, e->binding);
  if (e->tail) {
    ev->next = e->as.fn;
    ev->next_x = x;
    memcpy(ev->next_args, args, at * sizeof *args);
    return TAIL_CALL;
  }
  if (ev->depth == MAX_DEPTH) return fails(ev, GEN_TOO_LONG, f, e);
  ev->depth++;
  progress s = call(ev, e->as.fn, x, args, out);
  ev->depth--;
  if (s == FAILS && ev->out->end != GEN_TOO_LONG && ev->out->n_chain < GEN_MAX_CHAIN)
    add_place(ev, f, e);
  return s;
}

static progress run_op(eval *ev, const frame *f, gen_expr *e, uint64_t *out) {
  uint64_t in[3] = {0}, a, b;
  for (uint32_t i = 0; i < e->n; i++)
    if (run(ev, f, e->kids[i], &in[i])) return FAILS;
  a = in[0], b = in[1];
  gen_type t = dtype(f, e->kids[0]->type);
  if (gen_ops[e->op].on == GEN_COMPARISON) {
    *out = compare(e->op, t, a, b);
  } else if (gen_ops[e->op].on == GEN_CLASS) {
    *out = is_special(e->op, t, a);
  } else if (t == GEN_F32) {
    *out = of_f32(f32_op(e->op, to_f32(a), to_f32(b), to_f32(in[2])));
  } else if (t == GEN_F64) {
    *out = of_f64(f64_op(e->op, to_f64(a), to_f64(b), to_f64(in[2])));
  } else {
    gen_end end = integer_op(e->op, t != GEN_I32, a, b, out);
    if (t == GEN_BOOL) *out &= 1;
    if (end) return fails(ev, end, f, e);
  }
  return GOES_ON;
}

/* Evaluates e and stores its words in `out`. Only calls that are marked as tail calls return
 * TAIL_CALL, and their callers return the result unchanged. */
static progress run(eval *ev, const frame *f, gen_expr *e, uint64_t *out) {
  if (++ev->out->n_evaluated > ev->max_evaluated) return fails(ev, GEN_TOO_LONG, f, e);
  uint64_t w;
  switch ((gen_kind)e->kind) {
  case GEN_LIT: *out = gen_literal_word(e, dtype(f, e->type)); return GOES_ON;
  case GEN_TRUTH: *out = e->truth; return GOES_ON;
  case GEN_VAR:
    memcpy(out, f->words + e->as.var->slot, gen_words(ev->p, e->type) * sizeof *out);
    if (e->tapped) {
      ev->out->calls++;
      ev->out->taps = gen_tap(ev->out->taps, e->type, *out);
    }
    return GOES_ON;
  case GEN_CONST: return run(ev, f, e->kids[0], out);
  case GEN_OP: return run_op(ev, f, e, out);
  case GEN_NOT:
    if (run(ev, f, e->kids[0], &w)) return FAILS;
    *out = !w;
    return GOES_ON;
  case GEN_AND:
  case GEN_OR:
    if (run(ev, f, e->kids[0], out)) return FAILS;
    return (*out != 0) == (e->kind == GEN_AND) ? run_inner(ev, f, e->kids[1], out) : GOES_ON;
  case GEN_SELECT: {
    uint64_t a, b;
    if (run(ev, f, e->kids[0], &w) || run(ev, f, e->kids[1], &a) || run(ev, f, e->kids[2], &b))
      return FAILS;
    *out = w ? a : b;
    return GOES_ON;
  }
  case GEN_CAST:
    if (run(ev, f, e->kids[0], &w)) return FAILS;
    *out = convert(dtype(f, e->kids[0]->type), e->type, w);
    return GOES_ON;
  case GEN_CALL: return run_call(ev, f, e, out);
  case GEN_FAIL:
    if (e->anchored ? run_inner(ev, f, e->kids[0], &w) : run(ev, f, e->kids[0], &w)) return FAILS;
    ev->out->code = (int64_t)w;
    return fails(ev, GEN_FAILED, f, e);
  case GEN_IF:
    if (run(ev, f, e->kids[0], &w)) return FAILS;
    return run_inner(ev, f, e->kids[w ? 1 : 2], out);
  case GEN_MATCH:
    if (run(ev, f, e->kids[0], &w)) return FAILS;
    for (uint32_t i = 0;; i++) {
      if (!gen_matches(ev->p, &e->as.arms[i], &w, f->words)) continue;
      return e->n == 2 ? run(ev, f, e->kids[1], out) : run_inner(ev, f, e->kids[i + 1], out);
    }
  case GEN_BLOCK: {
    uint64_t value[64];
    for (uint32_t i = 0; i + 1 < e->n; i++) {
      if (run(ev, f, e->kids[i], value)) return FAILS;
      bind(ev, f, &e->as.lets[i].binder, value);
    }
    return run(ev, f, e->kids[e->n - 1], out);
  }
  case GEN_LOOP: return run_loop(ev, f, e, out);
  case GEN_TUPLE:
    for (uint32_t i = 0; i < e->n; i++) {
      if (run(ev, f, e->kids[i], out)) return FAILS;
      out += gen_words(ev->p, e->kids[i]->type);
    }
    return GOES_ON;
  case GEN_FIELD: {
    uint64_t value[64], *at = value;
    if (run(ev, f, e->kids[0], value)) return FAILS;
    for (uint32_t i = 0; i < e->field; i++)
      at += gen_words(ev->p, gen_tuple_of(ev->p, e->kids[0]->type)->parts[i]);
    memcpy(out, at, gen_words(ev->p, e->type) * sizeof *out);
    return GOES_ON;
  }
  case GEN_DATA: return run_data(ev, f, e, out);
  case GEN_ARRAY: return run_array(ev, f, e, out);
  case GEN_LEN:
    if (run(ev, f, e->kids[0], &w)) return FAILS;
    *out = gen_object_at(w)->n;
    return GOES_ON;
  case GEN_INDEX:
  case GEN_SLICE:
  case GEN_SET: return run_at(ev, f, e, out);
  case GEN_CONCAT: return run_concat(ev, f, e, out);
  case GEN_COMP: return run_comprehension(ev, f, e, out);
  }
  return GOES_ON;
}

static progress call(eval *ev, gen_fn *fn, gen_type x, const uint64_t *args, uint64_t *out) {
  for (;;) {
    frame f = {fn, x, calloc(fn->n_words + 1, sizeof(uint64_t)), ev->n_elements};
    if (!f.words) abort();
    const uint64_t *from = args;
    for (uint32_t i = 0; i < fn->n_params; i++) {
      uint32_t words = gen_words(ev->p, fn->params[i]->type);
      memcpy(f.words + fn->params[i]->slot, from, words * sizeof *from);
      from += words;
    }
    progress s = run_inner(ev, &f, fn->body, out);
    free(f.words);
    if (s != TAIL_CALL) return s;
    fn = ev->next;
    x = ev->next_x;
    args = ev->next_args; /* copied into the frame before the next one is written */
  }
}

/* All NaNs are the same: the language does not say which NaN results. */
uint64_t gen_tap(uint64_t taps, gen_type dtype, uint64_t word) {
  if (dtype == GEN_F32 && (word & 0x7fffffff) > 0x7f800000) word = 0x7fc00000;
  if (dtype == GEN_F64 && (word & INT64_MAX) > 0x7ff0000000000000) word = 0x7ff8000000000000;
  return (taps ^ word ^ (uint64_t)(dtype + 1) << 60) * 0x9e3779b97f4a7c15u + 1;
}

void gen_eval(gen_program *p, uint64_t max_evaluated, const uint64_t *fuel, gen_outcome *out) {
  eval ev = {.p = p, .out = out, .max_evaluated = max_evaluated, .has_fuel = fuel != NULL};
  memset(out, 0, sizeof *out);
  if (fuel) out->fuel_left = *fuel;
  gen_pool_free(&p->values);
  call(&ev, gen_main(p), 0, p->args, out->words);
  free(ev.elements);
  if (out->end == GEN_VALUE && gen_value_size(p, gen_main(p)->result, out->words) > GEN_MAX_RESULT)
    out->end = GEN_TOO_LONG;
}
