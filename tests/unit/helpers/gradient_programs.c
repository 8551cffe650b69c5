/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Programs made at random whose gradients are compared. */
#include "tests/unit/helpers/gradient_programs.h"
#include "tests/unit/helpers/random.h"
#include <stdarg.h>

typedef struct maker {
  test_text text;
  random_source random;
  int n_helpers; /* that may be called: those before the function that is being made */
  int n_names;   /* of variables so far */
  bool in_loop;  /* the variable a is there, too */
  bool has_u;    /* and u, a vector whose length is other in each round or call */
  bool in_grown; /* u is a parameter of grown, which may call itself */
} maker;

static uint32_t pick(maker *m, uint32_t n) { return random_below(&m->random, n); }

__attribute__((format(printf, 2, 3))) static void say(maker *m, const char *fmt, ...) {
  char piece[1024];
  va_list args;
  va_start(args, fmt);
  int n = vsnprintf(piece, sizeof piece, fmt, args);
  va_end(args);
  if (n < 0 || (size_t)n >= sizeof piece) abort();
  test_text_take(&m->text, piece, (size_t)n);
}

static void scalar(maker *m, int depth);
static void vector(maker *m, int depth);
static void sized(maker *m, int depth);

/* Decides in the same way at all points that are near. */
static void condition(maker *m, int depth) {
  switch (pick(m, 4)) {
  case 0: say(m, "n %% 2 == %u", pick(m, 2)); break;
  case 1: say(m, "x < %u.0", 3 + pick(m, 2)); break;
  case 2: say(m, "len(%s) %% 2 == %u", m->has_u ? "u" : "v", pick(m, 2)); break;
  default:
    say(m, "tanh(");
    scalar(m, depth - 1);
    say(m, ") > 1.5");
  }
}

static void call(maker *m, int depth) {
  say(m, "helper%u(", pick(m, (uint32_t)m->n_helpers));
  scalar(m, depth - 1);
  say(m, ", ");
  vector(m, depth - 1);
  say(m, ", n)");
}

static void loop(maker *m, int depth) {
  bool was_in_loop = m->in_loop;
  say(m, "{ let (_, r) = loop (i = 0, a: f64 = ");
  scalar(m, depth - 1);
  say(m, ") while i < %u { (i + 1, tanh(", pick(m, 4));
  m->in_loop = true;
  scalar(m, depth - 1);
  m->in_loop = was_in_loop;
  say(m, ")) }; r }");
}

static void data(maker *m, int depth) {
  say(m, "(match (if ");
  condition(m, depth);
  say(m, " then One(");
  scalar(m, depth - 1);
  say(m, ") else Two(");
  vector(m, depth - 1);
  say(m, ", ");
  scalar(m, depth - 1);
  say(m, ")) { One(p) => tanh(p), Two(w, p) => p * sum(w) })");
}

static void two(maker *m, const char *before, const char *between, const char *after, int depth);

/* Lists, which functions make and take apart; an array of them. */
static void list(maker *m, int depth) { two(m, "total(list(", ", n + 1), ", ")", depth); }
static void lists(maker *m, int depth) {
  two(m, "sum([total(l, ", ") for l in [list(", ", n), ", depth);
  say(m, "list(");
  scalar(m, depth - 1);
  say(m, ", 2), Nil]])");
}

static void two(maker *m, const char *before, const char *between, const char *after, int depth) {
  say(m, "%s", before);
  scalar(m, depth - 1);
  say(m, "%s", between);
  scalar(m, depth - 1);
  say(m, "%s", after);
}

static void of_vector(maker *m, const char *before, const char *after, int depth) {
  say(m, "%s", before);
  vector(m, depth - 1);
  say(m, "%s", after);
}

static void named(maker *m, int depth) {
  int name = m->n_names++;
  say(m, "{ let s%d: f64 = ", name);
  scalar(m, depth - 1);
  say(m, "; s%d * ", name);
  scalar(m, depth - 1);
  say(m, " + sin(s%d) }", name);
}

/* ---- vectors of any length ---- */

static void of_sized(maker *m, const char *before, const char *after, int depth) {
  say(m, "%s", before);
  sized(m, depth - 1);
  say(m, "%s", after);
}

static void two_sized(maker *m, const char *before, const char *between, const char *after,
                      int depth) {
  of_sized(m, before, between, depth);
  of_sized(m, "", after, depth);
}

static void sized_and_scalar(maker *m, const char *before, const char *between, const char *after,
                             int depth) {
  of_sized(m, before, between, depth);
  scalar(m, depth - 1);
  say(m, "%s", after);
}

/* What a round or a call hands on. */
static void next_sized(maker *m, int depth) {
  bool had_u = m->has_u;
  m->has_u = true;
  of_sized(m, "clip(tanh(", "))", depth);
  m->has_u = had_u;
}

static void while_rounds(maker *m) {
  say(m, ") while i < %u", pick(m, 4));
  if (pick(m, 3) == 0) say(m, " and len(u) %s %u", pick(m, 2) ? ">" : "<", pick(m, 6));
}

/* Of the vector alone, of it and a scalar, or of the vectors of all rounds. */
static void sized_loop(maker *m, int depth) {
  of_sized(m, "{ let (_, u) = loop (i = 0, u: f64[?] = ", "", depth);
  while_rounds(m);
  say(m, " { (i + 1, ");
  next_sized(m, depth);
  say(m, ") }; u }");
}

static void loop_of_both(maker *m, int depth) {
  bool was_in_loop = m->in_loop, had_u = m->has_u;
  sized_and_scalar(m, "{ let (_, u, r) = loop (i = 0, u: f64[?] = ", ", a: f64 = ", "", depth);
  while_rounds(m);
  say(m, " { (i + 1, ");
  m->in_loop = m->has_u = true;
  next_sized(m, depth);
  say(m, ", tanh(");
  scalar(m, depth - 1);
  m->in_loop = was_in_loop;
  m->has_u = had_u;
  say(m, ")) }; r * sum(u) }");
}

static void loop_of_rows(maker *m, int depth) {
  bool is_array = pick(m, 2), had_u = m->has_u;
  of_sized(m, "{ let (_, u, r) = loop (i = 0, u: f64[?] = ", "", depth);
  say(m, is_array ? ", r = [(v, x)]" : ", r = None");
  while_rounds(m);
  say(m, " { (i + 1, ");
  m->has_u = true;
  next_sized(m, depth);
  say(m, is_array ? ", concat(r, [(u, " : ", Row(u, ");
  scalar(m, depth - 1);
  m->has_u = had_u;
  say(m, is_array ? ")])) }; sum([sum(tanh(e.0)) * e.1 for e in r]) }"
                  : ", r)) }; sum(u) + weight(r) }");
}

static void sized_leaf(maker *m) {
  uint32_t from = pick(m, 3);
  switch (pick(m, m->has_u ? 8 : 4)) {
  case 0: say(m, "v"); break;
  case 1: say(m, "v[%u..%u]", from, from + pick(m, 3)); break;
  case 2: say(m, "full(x, %u)", pick(m, 4)); break;
  case 3: say(m, "(P[%u] * y)", pick(m, 4)); break;
  default: say(m, "u");
  }
}

static void sized(maker *m, int depth) {
  if (depth <= 0) {
    sized_leaf(m);
    return;
  }
  switch (pick(m, m->in_grown ? 19 : 17)) {
  case 0: of_sized(m, "tanh(", ")", depth); break;
  case 1: sized_and_scalar(m, "(", " * ", ")", depth); break;
  case 2: two_sized(m, "clip(concat(", ", ", "))", depth); break;
  case 3:
    of_sized(m,
             "{ let w: f64[?] = ", "; let h = len(w) / 2; w[0..h] * 0.5 + w[len(w) - h..len(w)] }",
             depth);
    break;
  case 4: of_sized(m, "{ let w: f64[?] = ", "; w[len(w) / 3..len(w)] }", depth); break;
  case 5:
    sized_and_scalar(m, "{ let w: f64[?] = concat(", ", [", "])", depth);
    say(m, "; w[[(3 * k + 1) %% len(w) for k in 0..len(w) - %u]] }", pick(m, 3));
    break;
  case 6:
    sized_and_scalar(m, "{ let w: f64[?] = ", "; [tanh(", ") * e for e in w] }", depth);
    break;
  case 7:
    sized_and_scalar(m, "{ let w: f64[?] = ", "; transpose(outer(w, concat(w, [", "]))) @ w }",
                     depth);
    break;
  case 8:
    sized_and_scalar(m, "{ let w: f64[?] = ", "; let q = reshape(concat(w, w * ", ")", depth);
    say(m, ", 2, len(w)); clip(reshape(transpose(q), 2 * len(w)) * 0.7) }");
    break;
  case 9:
    say(m, "(if ");
    condition(m, depth);
    two_sized(m, " then ", " else ", ")", depth);
    break;
  case 10:
    sized_and_scalar(m, "{ let w: f64[?] = concat(", ", [x]); set(w, len(w) / 2, ", ") }", depth);
    break;
  case 11: two_sized(m, "sum(outer(", ", ", "), axis = 0)", depth); break;
  case 12: two_sized(m, "{ let w: f64[?] = ", "; w[0..len(w) / 2] * sum(", ") }", depth); break;
  case 13:
    of_sized(m, "{ let w: f64[?] = ", "; concat(w[0..0], w[len(w) / 2..len(w)]) }", depth);
    break;
  case 17:
  case 18: of_sized(m, "grown(x, v, ", ", n - 1)", depth); break;
  default:
    if (m->n_helpers && !m->in_grown && pick(m, 3) == 0)
      of_sized(m, "grown(x, v, ", ", n)", depth);
    else
      sized_loop(m, depth);
  }
}

/* ---- scalars and vectors of four ---- */

static void leaf(maker *m) {
  switch (pick(m, 5)) {
  case 0: say(m, "x"); break;
  case 1: say(m, "y"); break;
  case 2: say(m, "v[%u]", pick(m, 4)); break;
  case 3: say(m, "%s", m->in_loop ? "a" : "x"); break;
  default: say(m, "0.%uf64", 1 + pick(m, 9));
  }
}

static void scalar(maker *m, int depth) {
  if (depth <= 0) {
    leaf(m);
    return;
  }
  switch (pick(m, 29)) {
  case 0: two(m, "(", " + ", ")", depth); break;
  case 1: two(m, "(", " * ", ")", depth); break;
  case 2: two(m, "(", " - ", ")", depth); break;
  case 3: two(m, "(", " / (2.5 + tanh(", ")))", depth); break;
  case 4: two(m, "(", ", ", ").0", depth); break;
  case 5: two(m, "pow(1.5 + tanh(", "), tanh(", "))", depth); break;
  case 6: two(m, "hypot(2 + tanh(", "), ", ")", depth); break;
  case 7: of_vector(m, "sum(", ")", depth); break;
  case 8: of_vector(m, "(", ")[2]", depth); break;
  case 9: of_vector(m, "(v @ ", ")", depth); break;
  case 10: of_vector(m, "log(sum(exp(tanh(", "))))", depth); break;
  case 11: of_vector(m, "prod(sigmoid(", "))", depth); break;
  case 12:
    say(m, "(if ");
    condition(m, depth);
    two(m, " then ", " else ", ")", depth);
    break;
  case 13: named(m, depth); break;
  case 14: loop(m, depth); break;
  case 15: data(m, depth); break;
  case 16: list(m, depth); break;
  case 17: lists(m, depth); break;
  case 18:
    say(m, "own(n, ");
    scalar(m, depth - 1);
    of_vector(m, ", ", ").1", depth);
    break;
  case 19: of_sized(m, "sum(", ")", depth); break;
  case 20: sized_and_scalar(m, "{ let w: f64[?] = ", "; w @ (w * ", ") }", depth); break;
  case 21: of_sized(m, "log(sum(exp(tanh(", "))) + 0.5)", depth); break;
  case 22: two_sized(m, "sum(tanh(outer(", ", ", ")))", depth); break;
  case 23:
    sized_and_scalar(m, "{ let w: f64[?] = ", "; sum([sum(e.0) * e.1 for e in [(w[0..k], ",
                     ") for k in 0..len(w)]]) }", depth);
    break;
  case 24: loop_of_both(m, depth); break;
  case 25: loop_of_rows(m, depth); break;
  default:
    if (m->n_helpers)
      call(m, depth);
    else
      leaf(m);
  }
}

static void vector(maker *m, int depth) {
  if (depth <= 0) {
    say(m, "%s", pick(m, 3) ? "v" : "P[0]");
    return;
  }
  switch (pick(m, 13)) {
  case 0: of_vector(m, "tanh(", ")", depth); break;
  case 1: of_vector(m, "(v * ", ")", depth); break;
  case 2: of_vector(m, "(P @ ", ")", depth); break;
  case 3: of_vector(m, "softmax(", ")", depth); break;
  case 4: of_vector(m, "{ let w: f64[4] = ", "; concat(w[2..4], w[0..2]) * 0.5 }", depth); break;
  case 5:
    of_vector(m, "{ let w: f64[4] = ", "; concat(w[1..3], w[3..4], w[1..2] + w[2..3]) }", depth);
    break;
  case 6:
    say(m, "[");
    two(m, "", ", ", "", depth);
    two(m, ", ", ", ", "]", depth);
    break;
  case 7:
    of_vector(m, "{ let w: f64[4] = ", "; [tanh(", depth);
    scalar(m, depth - 1);
    say(m, ") * f64(k) + w[k] for k in 0i64..4] }");
    break;
  case 8:
    say(m, "(");
    scalar(m, depth - 1);
    of_vector(m, " * ", ")", depth);
    break;
  case 9:
    say(m, "set(");
    vector(m, depth - 1);
    say(m, ", %u, ", pick(m, 4));
    scalar(m, depth - 1);
    say(m, ")");
    break;
  case 10: of_vector(m, "(transpose(P[1..3]) @ P[1..3] @ ", ")", depth); break;
  case 11:
    of_sized(m, "{ let w: f64[?] = ", "; let k = min(len(w), 4); transpose(P[0..k]) @ w[0..k] }",
             depth);
    break;
  default:
    say(m, "(if ");
    condition(m, depth);
    of_vector(m, " then ", " else v)", depth);
  }
}

/* A recursion whose vector has another length in each call. */
static void grown(maker *m) {
  say(m, "%sfn grown(x: f64, v: f64[4], u: f64[?], n: i32) -> f64[?] = { let y = x * 0.7; ",
      pick(m, 3) ? "" : "recompute ");
  say(m, "if n <= 0 then u else ");
  m->in_grown = true;
  next_sized(m, 3);
  m->in_grown = false;
  say(m, " }\n");
}

/* Helpers may call those before them, and themselves as often as n says. */
void gradient_program(uint32_t seed, test_text *text) {
  maker made = {.random = {seed * 2654435761u + 1}}, *m = &made;
  say(m,
      "type Data = One(f: f64) | Two(w: f64[4], f: f64)\n"
      "type List = Nil | Cons(head: f64, tail: List)\n"
      "param P: f64[4, 4] = uniform(-0.5, 0.5)\n"
      "fn own(n: i32, x: f64, v: f64[4]) -> (i32, f64) = (n, tanh(x) * (1 + sum(v * v)))\n"
      "  gradient(g, (_, y)) =\n"
      "  { let (t, s) = (tanh(x), 1 + sum(v * v)); (g * (1 - t * t) * s, 2 * v * (g * y / s)) }\n"
      "fn list(x: f64, n: i32) -> List = if n <= 0 then Nil else Cons(tanh(x), list(x * 0.7, n "
      "- 1))\n"
      "fn total(l: List, y: f64) -> f64 = match l { Nil => y, Cons(h, t) => h * y + total(t, y "
      "* 0.5) }\n");
  say(m, "type Rows = None | Row(w: f64[?], f: f64, rest: Rows)\n"
         "fn weight(r: Rows) -> f64 = match r { None => 0.3, Row(w, f, t) => sum(w) * f + tanh("
         "weight(t)) }\n"
         "fn clip(u: f64[?]) -> f64[?] = if len(u) > 6 then u[len(u) - 5..len(u)] else u\n");
  for (int i = 0; i < 3; i++) {
    say(m, "%sfn helper%d(x: f64, v: f64[4], n: i32) -> f64 = { let y = x * 0.5; ",
        pick(m, 3) ? "" : "recompute ", i);
    if (i == 1) say(m, "if n <= 0 then x else tanh(helper1(");
    if (i == 1) scalar(m, 2);
    if (i == 1) say(m, ", v * 0.9, n - 1)) * ");
    scalar(m, 3);
    say(m, " }\n");
    m->n_helpers++;
    if (i == 0) grown(m);
  }
  say(m, "fn f(x: f64, y: f64, v: f64[4], n: i32) -> f64 = ");
  scalar(m, 4);
  say(m, "\nfn g(x: f64, y: f64, v: f64[4], n: i32) = value_and_grad(f, wrt = (x, y, v))(x, y, v, "
         "n)\n");
  *text = m->text;
}
