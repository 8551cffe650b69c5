/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* gradient, op by op: what its rule builds is what differences of the op's kernel say, at thousands
 * of points; at f32 it is what it is at f64; and at the points where the derivative is a matter of
 * convention, it is what graph/grad/rules/rules.h says. Both interpreters run it. */
#include "graph/grad/rules/rules.h"
#include "tests/unit/helpers/eval.h"
#include "tests/unit/helpers/gradient.h"
#include "tests/unit/helpers/graphs.h"
#include "tests/unit/helpers/image.h"
#include "tests/unit/helpers/random.h"
#include <math.h>

/* ---- running one ---- */

typedef struct subject {
  env e;
  gradient_case c;
  hia_graph *g;
} subject;

static void subject_init(subject *s, const gradient_case *c) {
  env_init(&s->e);
  s->c = *c;
  NO_THROW(&s->e, {
    s->g = gradient_graph(&s->e.comp, &s->e.types, c);
    cr_assert_not_null(s->g, "%s", hiaR_ops[c->op].name);
    const char *defect = hiaG_verify(s->g);
    cr_assert(!defect, "%s", defect);
  });
}
static void subject_free(subject *s) { hiaR_comp_free(&s->e.comp); }

static void gradients(const subject *s, const double *xs, double dy, double *out) {
  hia_word args[4];
  eval_outcome is;
  for (uint32_t i = 0; i < s->c.n_ins; i++) args[i] = gradient_word(s->c.in[i], xs[i]);
  args[s->c.n_ins] = gradient_word(s->c.out, dy);
  eval_graph(s->g, 0, args, 1, &is);
  cr_assert_eq(is.status, HIA_OK);
  for (uint32_t i = 0; i < s->c.n_ins; i++) out[i] = gradient_number(s->c.in[i], is.results[i]);
}

static double value(const gradient_case *c, const double *xs) {
  hia_word in[3], out = 0;
  for (uint32_t i = 0; i < c->n_ins; i++) in[i] = gradient_word(c->in[i], xs[i]);
  cr_assert_eq(hiaR_scalar_eval(c->op, (hia_dtype)c->out, c->imm, in, &out), HIA_OK);
  return gradient_number(c->out, out);
}

/* ---- differences ---- */

enum { POINTS = 4000 };

/* In [-1, 1], in [-4, 4], or of any magnitude up to 2^10. */
static double random_point(random_source *r) {
  double x = (double)(random_next(r) >> 11) * 0x1p-53 * 2 - 1;
  switch (random_below(r, 3)) {
  case 0: return x;
  case 1: return x * 4;
  default: return ldexp(x, (int)random_below(r, 20) - 9);
  }
}

static double step_at(double x) { return ldexp(fmin(fmax(fabs(x), 0x1p-16), 1), -11); }

/* The derivative for operand i, by differences of the fourth order. False: the op is not smooth
 * around this point, or not defined, or its curvature is too large for the step. */
static bool difference(const gradient_case *c, const double *xs, uint32_t i, double *slope) {
  double at[3] = {xs[0], xs[1], xs[2]}, h = step_at(xs[i]), f[5];
  /* A step for a large multiple of b would pass over whole periods. */
  if (c->op == HIA_OP_REM && fabs(xs[0]) > 32 * fabs(xs[1])) return false;
  for (int k = -2; k <= 2; k++) {
    at[i] = xs[i] + k * h;
    f[k + 2] = value(c, at);
    if (!isfinite(f[k + 2])) return false;
  }
  double fine = (8 * (f[3] - f[1]) - (f[4] - f[0])) / (12 * h), wide = (f[4] - f[0]) / (4 * h),
         near = (f[3] - f[1]) / (2 * h);
  double scale = fabs(fine) + 0x1p-20;
  if (fabs(wide - near) > 0x1p-14 * scale) return false;
  /* On both sides of a jump of the derivative, the differences of one side disagree. */
  double below = (3 * f[2] - 4 * f[1] + f[0]) / (2 * h),
         above = (-3 * f[2] + 4 * f[3] - f[4]) / (2 * h);
  if (fabs(below - above) > 0x1p-6 * scale) return false;
  *slope = fine;
  return true;
}

Test(gradient, is_what_differences_say) {
  gradient_case cases[GRADIENT_MAX_CASES];
  uint32_t n = gradient_cases(cases);
  cr_assert_gt(n, 60);
  random_source r = {.state = 20};
  for (uint32_t k = 0; k < n; k++) {
    subject s;
    if (cases[k].out != HIA_F64 || cases[k].in[cases[k].n_ins - 1] != HIA_F64) continue;
    subject_init(&s, &cases[k]);
    uint32_t compared[3] = {0};
    for (uint32_t p = 0; p < POINTS; p++) {
      double xs[3] = {random_point(&r), random_point(&r), random_point(&r)}, is[3], slope;
      double dy = random_point(&r), f = value(&s.c, xs);
      gradients(&s, xs, dy, is);
      for (uint32_t i = 0; i < s.c.n_ins; i++) {
        if (s.c.in[i] == HIA_BOOL) {
          cr_assert_eq(is[i], 0);
          compared[i]++;
          continue;
        }
        if (!difference(&s.c, xs, i, &slope)) continue;
        double step = step_at(xs[i]);
        double error = fabs(dy) * (1e-8 * fabs(slope) + 0x1p-48 * (fabs(f) + fabs(xs[i])) / step);
        cr_assert_leq(fabs(is[i] - dy * slope), error,
                      "%s(%a, %a, %a), %g: operand %u has %.17g, differences say %.17g",
                      hiaR_ops[s.c.op].name, xs[0], xs[1], xs[2], dy, i, is[i], dy * slope);
        compared[i]++;
      }
    }
    for (uint32_t i = 0; i < s.c.n_ins; i++)
      cr_assert_gt(compared[i], POINTS / 8, "%s: only %u points for operand %u",
                   hiaR_ops[s.c.op].name, compared[i], i);
    subject_free(&s);
  }
}

/* The same formula, rounded more. */
Test(gradient, at_f32_is_what_it_is_at_f64) {
  gradient_case cases[GRADIENT_MAX_CASES];
  uint32_t n = gradient_cases(cases);
  random_source r = {.state = 21};
  for (uint32_t k = 0; k < n; k++) {
    if (cases[k].out != HIA_F32 || cases[k].in[1] != HIA_F32 || cases[k].op == HIA_OP_CAST)
      continue;
    gradient_case wide = cases[k];
    for (uint32_t i = 0; i < wide.n_ins; i++)
      if (wide.in[i] == HIA_F32) wide.in[i] = HIA_F64;
    wide.out = HIA_F64;
    subject s, w;
    subject_init(&s, &cases[k]);
    subject_init(&w, &wide);
    uint32_t compared = 0;
    for (uint32_t p = 0; p < POINTS; p++) {
      double xs[3], is[3], expected[3], size = 1;
      for (uint32_t i = 0; i < 3; i++) xs[i] = (double)(float)random_point(&r);
      double dy = (double)(float)random_point(&r);
      gradients(&s, xs, dy, is);
      gradients(&w, xs, dy, expected);
      /* Of a^b the error grows with b log a, of tan with its slope times a. */
      if (s.c.op == HIA_OP_POW) size += fabs(xs[1]) * (1 + fabs(log(fabs(xs[0]))));
      if (s.c.op == HIA_OP_TAN) size += fabs(tan(xs[0]));
      for (uint32_t i = 0; i < s.c.n_ins; i++) {
        if (!isfinite(expected[i]) || fabs(expected[i]) > 1e30 || !isfinite(is[i])) {
          cr_assert(isfinite(expected[i]) || !isfinite(is[i]), "%s", hiaR_ops[s.c.op].name);
          continue;
        }
        double error = 1e-6 * size * (fabs(expected[i]) + fabs(dy));
        cr_assert_leq(fabs(is[i] - expected[i]), error,
                      "%s(%a, %a, %a), %g: operand %u has %.9g at f32, %.9g at f64",
                      hiaR_ops[s.c.op].name, xs[0], xs[1], xs[2], dy, i, is[i], expected[i]);
        compared++;
      }
    }
    cr_assert_gt(compared, POINTS / 4, "%s", hiaR_ops[s.c.op].name);
    subject_free(&s);
    subject_free(&w);
  }
}

/* ---- conventions ---- */

#define INF  (1.0 / 0.0)
#define NAN_ (0.0 / 0.0)

typedef struct {
  unsigned op;
  double xs[3], dy, expected[3];
} point;
static const point points[] = {
    {HIA_OP_ABS, {0}, 3, {0}},
    {HIA_OP_ABS, {-0.0}, 3, {0}},
    {HIA_OP_ABS, {-2}, 3, {-3}},
    {HIA_OP_ABS, {NAN_}, 3, {-3}},
    {HIA_OP_ABS, {-INF}, INF, {-INF}},
    {HIA_OP_RELU, {0}, 3, {0}},
    {HIA_OP_RELU, {-0.0}, INF, {0}},
    {HIA_OP_RELU, {-1}, INF, {0}},
    {HIA_OP_RELU, {-1}, NAN_, {0}},
    {HIA_OP_RELU, {0x1p-126}, 3, {3}},
    {HIA_OP_RELU, {NAN_}, 3, {3}},
    {HIA_OP_MAX, {2, 2}, 3, {3, 0}},
    {HIA_OP_MAX, {-0.0, 0.0}, 3, {3, 0}},
    {HIA_OP_MAX, {1, 2}, INF, {0, INF}},
    {HIA_OP_MAX, {NAN_, 2}, 3, {0, 3}},
    {HIA_OP_MIN, {2, 2}, 3, {3, 0}},
    {HIA_OP_MIN, {0.0, -0.0}, 3, {3, 0}},
    {HIA_OP_MIN, {1, 2}, NAN_, {NAN_, 0}},
    {HIA_OP_MIN, {2, NAN_}, 3, {0, 3}},
    {HIA_OP_SELECT, {1, 5, 6}, INF, {0, INF, 0}},
    {HIA_OP_SELECT, {0, 5, 6}, NAN_, {0, 0, NAN_}},
    {HIA_OP_REM, {7.5, 2}, 3, {3, -9}},
    {HIA_OP_REM, {-7.5, 2}, 3, {3, 9}},
    {HIA_OP_REM, {7.5, -2}, 3, {3, 9}},
    {HIA_OP_REM, {4, INF}, 3, {3, 0}},
    {HIA_OP_DIV, {1, 0}, 3, {INF, -INF}},
    {HIA_OP_DIV, {6, 2}, 8, {4, -12}},
    {HIA_OP_SUB, {6, 2}, 8, {8, -8}},
    {HIA_OP_FMA, {2, 3, 5}, 7, {21, 14, 7}},
    {HIA_OP_CAST, {2}, 7, {7}},
    {HIA_OP_SQRT, {4}, 1, {0.25}},
    {HIA_OP_SQRT, {0}, 1, {INF}},
    {HIA_OP_EXP, {-INF}, 1, {0}},
    {HIA_OP_EXPM1, {0}, 2, {2}},
    {HIA_OP_EXPM1, {-INF}, 2, {0}},
    {HIA_OP_EXP2, {-INF}, 2, {0}},
    {HIA_OP_LOG, {0}, 1, {INF}},
    {HIA_OP_LOG, {INF}, 1, {0}},
    {HIA_OP_LOG2, {0}, 1, {INF}},
    {HIA_OP_LOG10, {INF}, 1, {0}},
    {HIA_OP_LOG1P, {-1}, 1, {INF}},
    {HIA_OP_POW, {0, 0}, 1, {0, 0}},
    {HIA_OP_POW, {0, 1}, 5, {5, 0}},
    {HIA_OP_POW, {0, 2}, 5, {0, 0}},
    {HIA_OP_POW, {0, 0.5}, 5, {INF, 0}},
    {HIA_OP_POW, {1, 4}, 5, {20, 0}},
    {HIA_OP_POW, {-2, 3}, 1, {12, NAN_}},
    {HIA_OP_POW, {-2, 0}, 1, {0, NAN_}},
    {HIA_OP_TANH, {INF}, 1, {0}},
    {HIA_OP_TANH, {-INF}, 1, {0}},
    {HIA_OP_TANH, {0}, 5, {5}},
    {HIA_OP_SIGMOID, {INF}, 1, {0}},
    {HIA_OP_SIGMOID, {-INF}, 1, {0}},
    {HIA_OP_SIGMOID, {0}, 8, {2}},
    {HIA_OP_ASIN, {1}, 1, {INF}},
    {HIA_OP_ASIN, {-1}, 1, {INF}},
    {HIA_OP_ACOS, {1}, 1, {-INF}},
    {HIA_OP_ACOS, {0}, 2, {-2}},
    {HIA_OP_ATAN, {INF}, 1, {0}},
    {HIA_OP_ATAN, {1}, 1, {0.5}},
    {HIA_OP_ATAN2, {0, 0}, 1, {NAN_, NAN_}},
    {HIA_OP_ATAN2, {0, 2}, 1, {0.5, 0}},
    {HIA_OP_ATAN2, {2, 0}, 1, {0, -0.5}},
    {HIA_OP_HYPOT, {0, 0}, INF, {0, 0}},
    {HIA_OP_HYPOT, {0, -2}, 3, {0, -3}},
    {HIA_OP_HYPOT, {3, 4}, 10, {6, 8}},
    {HIA_OP_HYPOT, {0x1p127, 0}, 1, {1, 0}},
    {HIA_OP_ATAN2, {0x1p-100, 0}, 1, {0, -0x1p100}},
};

Test(gradient, conventions) {
  gradient_case cases[GRADIENT_MAX_CASES];
  uint32_t n = gradient_cases(cases), met = 0;
  for (uint32_t k = 0; k < n; k++)
    for (uint32_t p = 0; p < HIA_LEN(points); p++) {
      if (points[p].op != cases[k].op) continue;
      subject s;
      double is[3];
      subject_init(&s, &cases[k]);
      gradients(&s, points[p].xs, points[p].dy, is);
      for (uint32_t i = 0; i < s.c.n_ins; i++) {
        double expected = points[p].expected[i];
        cr_assert(is[i] == expected || (is[i] != is[i] && expected != expected),
                  "%s(%g, %g, %g) at %s: operand %u has %g, not %g", hiaR_ops[s.c.op].name,
                  points[p].xs[0], points[p].xs[1], points[p].xs[2], hiaG_dtype_name(s.c.out), i,
                  is[i], expected);
      }
      met++;
      subject_free(&s);
    }
  cr_assert_geq(met, 2 * HIA_LEN(points));
}

/* ---- rows without a rule ---- */

Test(gradient, where_nothing_flows_nothing_is_built) {
  for (unsigned op = 0; op < HIA_OP_LIMIT; op++) {
    const hia_op_info *row = &hiaR_ops[op];
    if (!row->name || row->shape != HIA_SHAPE_ELEMENTWISE) continue;
    cr_assert_neq(row->gradient, HIA_GRADIENT_NONE, "%s", row->name);
    for (hia_type t = HIA_BOOL; t <= HIA_F64; t++) {
      if (!hiaR_kernel(op, (hia_dtype)t)) continue;
      if (row->gradient == HIA_GRADIENT_OWN && t >= HIA_F32) continue;
      env e;
      env_init(&e);
      NO_THROW(&e, {
        gradient_case c = {.op = op, .in = {t, t, t}, .n_ins = (uint32_t)row->n_ins, .imm = 0};
        c.out = hiaR_rule_result((hia_rule)row->rule, (hia_dtype)t);
        if (row->rule == HIA_RULE_SELECT) c.in[0] = HIA_BOOL;
        if (op == HIA_OP_CAST) c.imm = c.in[0] = HIA_F64;
        hia_fn *fn = hiaG_fn(gradient_graph(&e.comp, &e.types, &c), 0);
        /* ARGs, the node itself, a 0 for each operand, and the YIELD. */
        cr_assert_eq(fn->nodes.len, 2 * c.n_ins + 3, "%s at %s", row->name, hiaG_dtype_name(t));
      });
      hiaR_comp_free(&e.comp);
    }
  }
}

Test(gradient, a_row_that_has_none_is_refused) {
  env e;
  env_init(&e);
  NO_THROW(&e, {
    gradient_case c = {.op = HIA_OP_LEND, .in = {HIA_F64}, .out = HIA_F64, .n_ins = 1};
    cr_assert_eq(hiaR_ops[HIA_OP_LEND].gradient, HIA_GRADIENT_NONE);
    cr_assert_null(gradient_graph(&e.comp, &e.types, &c));
  });
  hiaR_comp_free(&e.comp);
}

/* ---- both interpreters ---- */

Test(gradient, images_agree) {
  gradient_case cases[GRADIENT_MAX_CASES];
  uint32_t n = gradient_cases(cases);
  random_source r = {.state = 22};
  for (uint32_t k = 0; k < n; k++) {
    subject s;
    subject_init(&s, &cases[k]);
    image_program program;
    const char *text = NULL;
    NO_THROW(&s.e, { text = text_of(&s.e, s.g); });
    cr_assert(image_from_ir(&program, text), "%s\n%s", program.error, text);
    for (uint32_t p = 0; p < 40; p++) {
      hia_word args[4];
      eval_outcome expected;
      for (uint32_t i = 0; i <= s.c.n_ins; i++) {
        hia_type type = i < s.c.n_ins ? s.c.in[i] : s.c.out;
        args[i] = gradient_word(type, p % 8 ? random_point(&r) : (double)random_below(&r, 3) - 1);
      }
      eval_graph(s.g, 0, args, 1, &expected);
      for (image_engine engine = IMAGE_INTERP; engine <= IMAGE_EXPAND; engine++) {
        image_outcome is = image_run(&program, engine, args, 1, NULL, &hiaR_malloc);
        cr_assert_eq(is.status, HIA_OK);
        for (uint32_t i = 0; i < s.c.n_ins; i++) {
          double a = gradient_number(s.c.in[i], is.results[i]),
                 b = gradient_number(s.c.in[i], expected.results[i]);
          cr_assert(is.results[i] == expected.results[i] || (a != a && b != b),
                    "%s operand %u: %g %g", hiaR_ops[s.c.op].name, i, a, b);
        }
      }
    }
    image_discard(&program);
    subject_free(&s);
  }
}
