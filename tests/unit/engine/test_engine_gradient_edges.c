/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* First and second derivatives at the edges of each op: at 0 and -0, the infinities, equal
 * operands, kinks, poles, saturations, and of empty tensors. What is expected is computed by hand,
 * from limits; where there is none, from what graph/grad/rules/rules.h says.
 *
 * The op table drives it: a row with a gradient has entries here, or the test fails. Those of ops
 * on scalars are tried as they are and lifted, all at f32 and f64. */
#include "runtime/base/base.h"
#include "tests/unit/helpers/program.h"
#include "tests/unit/helpers/text.h"
#include <math.h>
#include <stdarg.h>

#define I    INFINITY
#define NONE NAN
/* Not compared: outside of the domain, or the limit depends on the way to the point. */
#define ANY 0x1.23p+45

/* ---- ops on numbers ---- */

/* `text` is of a, b and c, `$` in it the dtype. `second`: for aa, ab, bb, ac, bc, cc; the order in
 * which a derivative is taken does not matter. */
typedef struct edge {
  unsigned op;
  const char *text;
  double x[3], first[3], second[6];
} edge;

static const edge edges[] = {
    {HIA_OP_ADD, "a + b", {0, -0.0}, {1, 1}, {0}},
    {HIA_OP_ADD, "a + b", {-0.0, 0}, {1, 1}, {0}},
    {HIA_OP_ADD, "a + b", {I, I}, {1, 1}, {0}},
    {HIA_OP_ADD, "a + b", {-I, -I}, {1, 1}, {0}},
    {HIA_OP_ADD, "a + b", {I, -I}, {1, 1}, {0}},
    {HIA_OP_SUB, "a - b", {0, -0.0}, {1, -1}, {0}},
    {HIA_OP_SUB, "a - b", {-0.0, 0}, {1, -1}, {0}},
    {HIA_OP_SUB, "a - b", {I, I}, {1, -1}, {0}},
    {HIA_OP_SUB, "a - b", {-I, -I}, {1, -1}, {0}},
    {HIA_OP_MUL, "a * b", {0, 0}, {0, 0}, {0, 1, 0}},
    {HIA_OP_MUL, "a * b", {-0.0, I}, {I, 0}, {0, 1, 0}},
    {HIA_OP_MUL, "a * b", {I, -0.0}, {0, I}, {0, 1, 0}},
    {HIA_OP_MUL, "a * b", {-I, -I}, {-I, -I}, {0, 1, 0}},
    {HIA_OP_MUL, "a * b", {3, 3}, {3, 3}, {0, 1, 0}},
    {HIA_OP_MUL, "a * a", {-I}, {-I}, {2}},
    {HIA_OP_DIV, "a / b", {0, 2}, {0.5, 0}, {0, -0.25, 0}},
    {HIA_OP_DIV, "a / b", {-0.0, 2}, {0.5, 0}, {0, -0.25, 0}},
    {HIA_OP_DIV, "a / b", {1, 0}, {I, -I}, {0, -I, I}},
    {HIA_OP_DIV, "a / b", {1, -0.0}, {-I, -I}, {0, -I, -I}},
    {HIA_OP_DIV, "a / b", {2, 2}, {0.5, -0.5}, {0, -0.25, 0.5}},
    {HIA_OP_DIV, "a / b", {I, 2}, {0.5, -I}, {0, -0.25, I}},
    {HIA_OP_DIV, "a / b", {-I, 2}, {0.5, I}, {0, -0.25, -I}},
    {HIA_OP_DIV, "a / b", {2, I}, {0, 0}, {0, 0, 0}},
    {HIA_OP_DIV, "a / b", {2, -I}, {0, 0}, {0, 0, 0}},
    {HIA_OP_DIV, "a / b", {0, 0}, {I, NONE}, {0, ANY, ANY}},
    {HIA_OP_REM, "a % b", {0, 2}, {1, 0}, {0}},
    {HIA_OP_REM, "a % b", {-0.0, 2}, {1, 0}, {0}},
    {HIA_OP_REM, "a % b", {7.5, 2}, {1, -3}, {0}},
    {HIA_OP_REM, "a % b", {2, 2}, {1, -1}, {0}},
    {HIA_OP_REM, "a % b", {5, I}, {1, 0}, {0}},
    {HIA_OP_REM, "a % b", {5, -I}, {1, 0}, {0}},
    {HIA_OP_REM, "a % b", {I, 0}, {ANY, ANY}, {ANY, ANY, ANY}},
    {HIA_OP_REM, "a % b", {-I, -0.0}, {ANY, ANY}, {ANY, ANY, ANY}},
    {HIA_OP_NEG, "-a", {0}, {-1}, {0}},
    {HIA_OP_NEG, "-a", {-0.0}, {-1}, {0}},
    {HIA_OP_NEG, "-a", {I}, {-1}, {0}},
    {HIA_OP_NEG, "-a", {-I}, {-1}, {0}},
    {HIA_OP_ABS, "abs(a)", {0}, {0}, {0}},
    {HIA_OP_ABS, "abs(a)", {-0.0}, {0}, {0}},
    {HIA_OP_ABS, "abs(a)", {I}, {1}, {0}},
    {HIA_OP_ABS, "abs(a)", {-I}, {-1}, {0}},
    {HIA_OP_RELU, "relu(a)", {0}, {0}, {0}},
    {HIA_OP_RELU, "relu(a)", {-0.0}, {0}, {0}},
    {HIA_OP_RELU, "relu(a)", {I}, {1}, {0}},
    {HIA_OP_RELU, "relu(a)", {-I}, {0}, {0}},
    {HIA_OP_MIN, "min(a, b)", {2, 2}, {1, 0}, {0}},
    {HIA_OP_MIN, "min(a, b)", {0, -0.0}, {1, 0}, {0}},
    {HIA_OP_MIN, "min(a, b)", {-0.0, 0}, {1, 0}, {0}},
    {HIA_OP_MIN, "min(a, b)", {I, I}, {1, 0}, {0}},
    {HIA_OP_MIN, "min(a, b)", {-I, -I}, {1, 0}, {0}},
    {HIA_OP_MIN, "min(a, b)", {I, -I}, {0, 1}, {0}},
    {HIA_OP_MIN, "min(a * a, b * b)", {-2, 2}, {-4, 0}, {2, 0, 0}},
    {HIA_OP_MAX, "max(a, b)", {2, 2}, {1, 0}, {0}},
    {HIA_OP_MAX, "max(a, b)", {0, -0.0}, {1, 0}, {0}},
    {HIA_OP_MAX, "max(a, b)", {-0.0, 0}, {1, 0}, {0}},
    {HIA_OP_MAX, "max(a, b)", {I, I}, {1, 0}, {0}},
    {HIA_OP_MAX, "max(a, b)", {-I, -I}, {1, 0}, {0}},
    {HIA_OP_MAX, "max(a, b)", {-I, I}, {0, 1}, {0}},
    {HIA_OP_MAX, "max(a * a, b * b)", {-2, 2}, {-4, 0}, {2, 0, 0}},
    {HIA_OP_SELECT, "select(c > 0, a, b)", {I, -I, 0}, {0, 1, 0}, {0}},
    {HIA_OP_SELECT, "select(c > 0, a, b)", {0, -0.0, -0.0}, {0, 1, 0}, {0}},
    {HIA_OP_SELECT, "select(c > 0, a, b)", {-0.0, 0, I}, {1, 0, 0}, {0}},
    {HIA_OP_SELECT, "select(c > 0, a, b)", {-I, I, -I}, {0, 1, 0}, {0}},
    {HIA_OP_SELECT, "select(a == b, a * a, b)", {3, 3}, {6, 0}, {2, 0, 0}},
    {HIA_OP_SQRT, "sqrt(a)", {0}, {I}, {-I}},
    {HIA_OP_SQRT, "sqrt(a)", {-0.0}, {I}, {-I}},
    {HIA_OP_SQRT, "sqrt(a)", {I}, {0}, {0}},
    {HIA_OP_SQRT, "sqrt(a)", {-I}, {NONE}, {NONE}},
    {HIA_OP_SQRT, "sqrt(a)", {4}, {0.25}, {-1.0 / 32}},
    {HIA_OP_EXP, "exp(a)", {0}, {1}, {1}},
    {HIA_OP_EXP, "exp(a)", {-0.0}, {1}, {1}},
    {HIA_OP_EXP, "exp(a)", {I}, {I}, {I}},
    {HIA_OP_EXP, "exp(a)", {-I}, {0}, {0}},
    {HIA_OP_EXP, "exp(a)", {1000}, {I}, {I}},
    {HIA_OP_EXP, "exp(a)", {-1000}, {0}, {0}},
    {HIA_OP_EXP2, "exp2(a)", {0}, {M_LN2}, {M_LN2 * M_LN2}},
    {HIA_OP_EXP2, "exp2(a)", {-0.0}, {M_LN2}, {M_LN2 * M_LN2}},
    {HIA_OP_EXP2, "exp2(a)", {I}, {I}, {I}},
    {HIA_OP_EXP2, "exp2(a)", {-I}, {0}, {0}},
    {HIA_OP_EXPM1, "expm1(a)", {0}, {1}, {1}},
    {HIA_OP_EXPM1, "expm1(a)", {-0.0}, {1}, {1}},
    {HIA_OP_EXPM1, "expm1(a)", {I}, {I}, {I}},
    {HIA_OP_EXPM1, "expm1(a)", {-I}, {0}, {0}},
    {HIA_OP_EXPM1, "expm1(a)", {-1000}, {0}, {0}},
    {HIA_OP_LOG, "log(a)", {0}, {I}, {-I}},
    {HIA_OP_LOG, "log(a)", {-0.0}, {I}, {-I}},
    {HIA_OP_LOG, "log(a)", {I}, {0}, {0}},
    {HIA_OP_LOG, "log(a)", {-I}, {ANY}, {ANY}},
    {HIA_OP_LOG, "log(a)", {1}, {1}, {-1}},
    {HIA_OP_LOG2, "log2(a)", {0}, {I}, {-I}},
    {HIA_OP_LOG2, "log2(a)", {-0.0}, {I}, {-I}},
    {HIA_OP_LOG2, "log2(a)", {I}, {0}, {0}},
    {HIA_OP_LOG2, "log2(a)", {-I}, {ANY}, {ANY}},
    {HIA_OP_LOG2, "log2(a)", {1}, {M_LOG2E}, {-M_LOG2E}},
    {HIA_OP_LOG10, "log10(a)", {0}, {I}, {-I}},
    {HIA_OP_LOG10, "log10(a)", {-0.0}, {I}, {-I}},
    {HIA_OP_LOG10, "log10(a)", {I}, {0}, {0}},
    {HIA_OP_LOG10, "log10(a)", {-I}, {ANY}, {ANY}},
    {HIA_OP_LOG10, "log10(a)", {1}, {M_LOG10E}, {-M_LOG10E}},
    {HIA_OP_LOG1P, "log1p(a)", {0}, {1}, {-1}},
    {HIA_OP_LOG1P, "log1p(a)", {-0.0}, {1}, {-1}},
    {HIA_OP_LOG1P, "log1p(a)", {-1}, {I}, {-I}},
    {HIA_OP_LOG1P, "log1p(a)", {I}, {0}, {0}},
    {HIA_OP_LOG1P, "log1p(a)", {-I}, {ANY}, {ANY}},
    {HIA_OP_POW, "pow(a, b)", {0, 0}, {0, 0}, {0, ANY, 0}},
    {HIA_OP_POW, "pow(a, b)", {-0.0, -0.0}, {0, 0}, {0, ANY, 0}},
    {HIA_OP_POW, "pow(a, b)", {0, 1}, {1, 0}, {0, ANY, 0}},
    {HIA_OP_POW, "pow(a, b)", {-0.0, 1}, {1, 0}, {0, ANY, 0}},
    {HIA_OP_POW, "pow(a, b)", {0, 2}, {0, 0}, {2, 0, 0}},
    {HIA_OP_POW, "pow(a, b)", {-0.0, 2}, {0, 0}, {2, 0, 0}},
    {HIA_OP_POW, "pow(a, b)", {0, 3}, {0, 0}, {0, 0, 0}},
    {HIA_OP_POW, "pow(a, b)", {0, 1.5}, {0, 0}, {I, 0, 0}},
    {HIA_OP_POW, "pow(a, b)", {0, 0.5}, {I, 0}, {-I, ANY, 0}},
    {HIA_OP_POW, "pow(a, b)", {0, -1}, {-I, 0}, {I, ANY, ANY}},
    {HIA_OP_POW, "pow(a, b)", {0, I}, {0, 0}, {0, 0, 0}},
    {HIA_OP_POW, "pow(a, b)", {1, 4}, {4, 0}, {12, 1, 0}},
    {HIA_OP_POW, "pow(a, b)", {2, 0}, {0, M_LN2}, {0, 0.5, M_LN2 *M_LN2}},
    {HIA_OP_POW, "pow(a, b)", {-2, 3}, {12, NONE}, {-12, NONE, NONE}},
    {HIA_OP_POW, "pow(a, b)", {-2, 0}, {0, NONE}, {0, ANY, NONE}},
    {HIA_OP_POW, "pow(a, b)", {2, 2}, {4, 4 * M_LN2}, {2, 2 + 4 * M_LN2, 4 * M_LN2 *M_LN2}},
    {HIA_OP_POW, "pow(a, b)", {I, 2}, {I, I}, {2, ANY, I}},
    {HIA_OP_POW, "pow(a, b)", {I, 1}, {1, I}, {0, ANY, I}},
    {HIA_OP_POW, "pow(a, b)", {I, 0}, {0, I}, {0, ANY, I}},
    {HIA_OP_POW, "pow(a, b)", {I, -1}, {0, 0}, {0, 0, 0}},
    {HIA_OP_POW, "pow(a, b)", {-I, 2}, {-I, NONE}, {2, NONE, NONE}},
    {HIA_OP_POW, "pow(a, b)", {0.5, I}, {0, 0}, {0, 0, 0}},
    {HIA_OP_POW, "pow(a, b)", {2, I}, {I, I}, {I, I, I}},
    {HIA_OP_POW, "pow(a, b)", {2, -I}, {0, 0}, {0, 0, 0}},
    {HIA_OP_POW, "pow(a, b)", {I, -I}, {0, 0}, {0, 0, 0}},
    {HIA_OP_POW, "pow(a, 0)", {0}, {0}, {0}},
    {HIA_OP_POW, "pow(a, 1)", {0}, {1}, {0}},
    {HIA_OP_POW, "pow(a, 2)", {-0.0}, {0}, {2}},
    {HIA_OP_SIN, "sin(a)", {0}, {1}, {0}},
    {HIA_OP_SIN, "sin(a)", {-0.0}, {1}, {0}},
    {HIA_OP_SIN, "sin(a)", {I}, {NONE}, {NONE}},
    {HIA_OP_SIN, "sin(a)", {-I}, {NONE}, {NONE}},
    {HIA_OP_COS, "cos(a)", {0}, {0}, {-1}},
    {HIA_OP_COS, "cos(a)", {-0.0}, {0}, {-1}},
    {HIA_OP_COS, "cos(a)", {I}, {NONE}, {NONE}},
    {HIA_OP_COS, "cos(a)", {-I}, {NONE}, {NONE}},
    {HIA_OP_TAN, "tan(a)", {0}, {1}, {0}},
    {HIA_OP_TAN, "tan(a)", {-0.0}, {1}, {0}},
    {HIA_OP_TAN, "tan(a)", {I}, {NONE}, {NONE}},
    {HIA_OP_TAN, "tan(a)", {-I}, {NONE}, {NONE}},
    {HIA_OP_ASIN, "asin(a)", {0}, {1}, {0}},
    {HIA_OP_ASIN, "asin(a)", {-0.0}, {1}, {0}},
    {HIA_OP_ASIN, "asin(a)", {1}, {I}, {I}},
    {HIA_OP_ASIN, "asin(a)", {-1}, {I}, {-I}},
    {HIA_OP_ASIN, "asin(a)", {I}, {NONE}, {NONE}},
    {HIA_OP_ASIN, "asin(a)", {-I}, {NONE}, {NONE}},
    {HIA_OP_ACOS, "acos(a)", {0}, {-1}, {0}},
    {HIA_OP_ACOS, "acos(a)", {-0.0}, {-1}, {0}},
    {HIA_OP_ACOS, "acos(a)", {1}, {-I}, {-I}},
    {HIA_OP_ACOS, "acos(a)", {-1}, {-I}, {I}},
    {HIA_OP_ACOS, "acos(a)", {I}, {NONE}, {NONE}},
    {HIA_OP_ACOS, "acos(a)", {-I}, {NONE}, {NONE}},
    {HIA_OP_ATAN, "atan(a)", {0}, {1}, {0}},
    {HIA_OP_ATAN, "atan(a)", {-0.0}, {1}, {0}},
    {HIA_OP_ATAN, "atan(a)", {I}, {0}, {0}},
    {HIA_OP_ATAN, "atan(a)", {-I}, {0}, {0}},
    {HIA_OP_ATAN, "atan(a)", {1}, {0.5}, {-0.5}},
    {HIA_OP_ATAN2, "atan2(a, b)", {0, 0}, {NONE, NONE}, {ANY, ANY, ANY}},
    {HIA_OP_ATAN2, "atan2(a, b)", {0, 2}, {0.5, 0}, {0, -0.25, 0}},
    {HIA_OP_ATAN2, "atan2(a, b)", {-0.0, 2}, {0.5, 0}, {0, -0.25, 0}},
    {HIA_OP_ATAN2, "atan2(a, b)", {0, -2}, {-0.5, 0}, {0, -0.25, 0}},
    {HIA_OP_ATAN2, "atan2(a, b)", {2, 0}, {0, -0.5}, {0, 0.25, 0}},
    {HIA_OP_ATAN2, "atan2(a, b)", {2, -0.0}, {0, -0.5}, {0, 0.25, 0}},
    {HIA_OP_ATAN2, "atan2(a, b)", {2, 2}, {0.25, -0.25}, {-0.125, 0, 0.125}},
    {HIA_OP_ATAN2, "atan2(a, b)", {0, I}, {0, 0}, {0, 0, 0}},
    {HIA_OP_ATAN2, "atan2(a, b)", {I, 2}, {0, 0}, {0, 0, 0}},
    {HIA_OP_ATAN2, "atan2(a, b)", {-I, 0}, {0, 0}, {0, 0, 0}},
    {HIA_OP_ATAN2, "atan2(a, b)", {2, -I}, {0, 0}, {0, 0, 0}},
    {HIA_OP_ATAN2, "atan2(a, b)", {I, I}, {0, 0}, {0, 0, 0}},
    {HIA_OP_HYPOT, "hypot(a, b)", {0, 0}, {0, 0}, {0, 0, 0}},
    {HIA_OP_HYPOT, "hypot(a, b)", {-0.0, -0.0}, {0, 0}, {0, 0, 0}},
    {HIA_OP_HYPOT, "hypot(a, b)", {0, -2}, {0, -1}, {0.5, 0, 0}},
    {HIA_OP_HYPOT, "hypot(a, b)", {2, 0}, {1, 0}, {0, 0, 0.5}},
    {HIA_OP_HYPOT, "hypot(a, b)", {3, 4}, {0.6, 0.8}, {0.128, -0.096, 0.072}},
    {HIA_OP_HYPOT,
     "hypot(a, b)",
     {2, 2},
     {M_SQRT1_2, M_SQRT1_2},
     {M_SQRT1_2 / 4, -M_SQRT1_2 / 4, M_SQRT1_2 / 4}},
    {HIA_OP_HYPOT, "hypot(a, b)", {I, 2}, {1, 0}, {0, 0, 0}},
    {HIA_OP_HYPOT, "hypot(a, b)", {-I, 0}, {-1, 0}, {0, 0, 0}},
    {HIA_OP_HYPOT, "hypot(a, b)", {-2, I}, {0, 1}, {0, 0, 0}},
    {HIA_OP_HYPOT, "hypot(a, b)", {-2, -I}, {0, -1}, {0, 0, 0}},
    {HIA_OP_HYPOT, "hypot(a, b)", {I, I}, {NONE, NONE}, {ANY, ANY, ANY}},
    {HIA_OP_SINH, "sinh(a)", {0}, {1}, {0}},
    {HIA_OP_SINH, "sinh(a)", {-0.0}, {1}, {0}},
    {HIA_OP_SINH, "sinh(a)", {I}, {I}, {I}},
    {HIA_OP_SINH, "sinh(a)", {-I}, {I}, {-I}},
    {HIA_OP_COSH, "cosh(a)", {0}, {0}, {1}},
    {HIA_OP_COSH, "cosh(a)", {-0.0}, {0}, {1}},
    {HIA_OP_COSH, "cosh(a)", {I}, {I}, {I}},
    {HIA_OP_COSH, "cosh(a)", {-I}, {-I}, {I}},
    {HIA_OP_TANH, "tanh(a)", {0}, {1}, {0}},
    {HIA_OP_TANH, "tanh(a)", {-0.0}, {1}, {0}},
    {HIA_OP_TANH, "tanh(a)", {I}, {0}, {0}},
    {HIA_OP_TANH, "tanh(a)", {-I}, {0}, {0}},
    {HIA_OP_TANH, "tanh(a)", {1000}, {0}, {0}},
    {HIA_OP_SIGMOID, "sigmoid(a)", {0}, {0.25}, {0}},
    {HIA_OP_SIGMOID, "sigmoid(a)", {-0.0}, {0.25}, {0}},
    {HIA_OP_SIGMOID, "sigmoid(a)", {I}, {0}, {0}},
    {HIA_OP_SIGMOID, "sigmoid(a)", {-I}, {0}, {0}},
    {HIA_OP_SIGMOID, "sigmoid(a)", {1000}, {0}, {0}},
    {HIA_OP_SIGMOID, "sigmoid(a)", {-1000}, {0}, {0}},
    {HIA_OP_CAST, "$(f64(f32(a)))", {0}, {1}, {0}},
    {HIA_OP_CAST, "$(f64(f32(a)))", {-0.0}, {1}, {0}},
    {HIA_OP_CAST, "$(f64(f32(a)))", {I}, {1}, {0}},
    {HIA_OP_CAST, "$(f64(f32(a)))", {-I}, {1}, {0}},
    {HIA_OP_FMA, "fma(a, b, c)", {0, 0, -0.0}, {0, 0, 1}, {0, 1}},
    {HIA_OP_FMA, "fma(a, b, c)", {-0.0, I, 0}, {I, 0, 1}, {0, 1}},
    {HIA_OP_FMA, "fma(a, b, c)", {I, -0.0, I}, {0, I, 1}, {0, 1}},
    {HIA_OP_FMA, "fma(a, b, c)", {-I, -I, -I}, {-I, -I, 1}, {0, 1}},
    {HIA_OP_FMA, "fma(a, a, a)", {3}, {7}, {2}},

    /* ---- ops on tensors ---- */
    {HIA_OP_ROW, "[a, b][1]", {I, 0}, {0, 1}, {0}},
    {HIA_OP_ROW, "[a * a, b][0]", {0, I}, {0, 0}, {2, 0, 0}},
    {HIA_OP_PART, "sum([a, b, c][1..3])", {I, -I, 0}, {0, 1, 1}, {0}},
    {HIA_OP_PART, "sum([a * b, b, c][0..2])", {2, 0, I}, {0, 3, 0}, {0, 1, 0}},
    {HIA_OP_ROWS, "sum([a, b * b][[1, 1]])", {I, 3}, {0, 12}, {0, 0, 4}},
    {HIA_OP_WITH, "sum(set([a, b * b], 0, c * c))", {I, 0, 3}, {0, 0, 6}, {0, 0, 2, 0, 0, 2}},
    {HIA_OP_CAT, "sum(concat([a], [b, b]) * concat([b], [a, b]))", {0, 0}, {0, 0}, {0, 2, 2}},
    {HIA_OP_STACK, "sum([a, b] * [b, b])", {I, 0}, {0, I}, {0, 1, 2}},
    {HIA_OP_RESHAPE, "sum(reshape([a * a, b], 2, 1))", {-0.0, I}, {0, 1}, {2, 0, 0}},
    {HIA_OP_FULL, "sum(full(a, 3) * full(b, 3))", {0, -2}, {-6, 0}, {0, 3, 0}},
    {HIA_OP_EXPECT,
     "{ let v: $[2] = [a, b][0..i64(c > 5) + 2]; v[0] * v[1] }",
     {0, I},
     {I, 0},
     {0, 1, 0}},
    {HIA_OP_SUM, "sum([a * b, a])", {0, 0}, {1, 0}, {0, 1, 0}},
    {HIA_OP_SUM, "sum([[b, a]], axis = 0)[1]", {I, -I}, {1, 0}, {0}},
    {HIA_OP_PROD, "prod([a, b, c])", {0, 2, 3}, {6, 0, 0}, {0, 3, 0, 2, 0, 0}},
    {HIA_OP_PROD, "prod([a, b, c])", {2, -0.0, 3}, {0, 6, 0}, {0, 3, 0, 0, 2, 0}},
    {HIA_OP_PROD, "prod([a, b, c])", {0, 0, 3}, {0, 0, 0}, {0, 3, 0, 0, 0, 0}},
    {HIA_OP_PROD, "prod([a, b, c])", {0, -0.0, 0}, {0, 0, 0}, {0}},
    {HIA_OP_PROD, "prod([a, b, c])", {2, 3, 4}, {12, 8, 6}, {0, 4, 0, 3, 2, 0}},
    {HIA_OP_PROD, "prod([[a], [b], [c]], axis = 0)[0]", {0, 0, 3}, {0}, {0, 3, 0, 0, 0, 0}},
    {HIA_OP_MEAN, "mean([a * b, a])", {0, 0}, {0.5, 0}, {0, 0.5, 0}},
    {HIA_OP_MEAN, "mean([[a, b]], axis = 1)[0]", {I, -I}, {0.5, 0.5}, {0}},
    {HIA_OP_MAX_OF, "max([a, b, c])", {2, 2, 1}, {1, 0, 0}, {0}},
    {HIA_OP_MAX_OF, "max([a, b, c])", {-I, I, I}, {0, 1, 0}, {0}},
    {HIA_OP_MAX_OF, "max([a, b * b, c * c])", {0, 3, -3}, {0, 6, 0}, {0, 0, 2, 0, 0, 0}},
    {HIA_OP_MAX_OF, "max([[a], [b]], axis = 0)[0]", {0, -0.0}, {1, 0}, {0}},
    {HIA_OP_MIN_OF, "min([a, b, c])", {2, 1, 1}, {0, 1, 0}, {0}},
    {HIA_OP_MIN_OF, "min([a, b, c])", {-I, -I, I}, {1, 0, 0}, {0}},
    {HIA_OP_MIN_OF, "min([[a], [b]], axis = 0)[0]", {-0.0, 0}, {1, 0}, {0}},
    {HIA_OP_PRODUCT, "[a, b] @ [b, c]", {0, 0, -0.0}, {0, 0, 0}, {0, 1, 0, 0, 1, 0}},
    {HIA_OP_PRODUCT, "([[a, b], [c, c]] @ [b, c])[0]", {I, 2, 3}, {2, I, 2}, {0, 1, 0, 0, 1, 0}},
    {HIA_OP_OUTER, "sum(outer([a, b], [c, a]))", {0, 0, 0}, {0, 0, 0}, {2, 1, 0, 1, 1, 0}},
    {HIA_OP_SOFTMAX, "softmax([a, b])[0]", {0, 0}, {0.25, -0.25}, {0, 0, 0}},
    {HIA_OP_SOFTMAX, "softmax([a, b])[0]", {1000, 0}, {0, 0}, {0, 0, 0}},
    {HIA_OP_SOFTMAX, "softmax([a, b])[0]", {-I, 0}, {0, 0}, {0, 0, 0}},
    {HIA_OP_SOFTMAX, "softmax([a, b])[0]", {0, -I}, {0, 0}, {0, 0, 0}},
    {HIA_OP_SOFTMAX, "softmax([[a, b]])[0][1]", {3, 3}, {-0.25, 0.25}, {0, 0, 0}},
    {HIA_OP_SOFTMAX, "softmax([a])[0]", {3}, {0}, {0}},
    {HIA_OP_LOG_SOFTMAX, "log_softmax([a, b])[0]", {0, 0}, {0.5, -0.5}, {-0.25, 0.25, -0.25}},
    {HIA_OP_LOG_SOFTMAX, "log_softmax([a, b])[0]", {1000, 0}, {0, 0}, {0, 0, 0}},
    {HIA_OP_LOG_SOFTMAX, "log_softmax([a, b])[0]", {-1000, 0}, {1, -1}, {0, 0, 0}},
    {HIA_OP_LOG_SOFTMAX, "log_softmax([a, b])[0]", {-I, 0}, {1, -1}, {0, 0, 0}},
    {HIA_OP_LOG_SOFTMAX, "log_softmax([a, b])[0]", {0, -I}, {0, 0}, {0, 0, 0}},
    {HIA_OP_LOG_SOFTMAX, "log_softmax([[a, b]])[0][0]", {0, -I}, {0, 0}, {0, 0, 0}},
    {HIA_OP_CROSS_ENTROPY, "cross_entropy([a, b], 0)", {0, 0}, {-0.5, 0.5}, {0.25, -0.25, 0.25}},
    {HIA_OP_CROSS_ENTROPY, "cross_entropy([a, b], 0)", {1000, 0}, {0, 0}, {0, 0, 0}},
    {HIA_OP_CROSS_ENTROPY, "cross_entropy([a, b], 0)", {-1000, 0}, {-1, 1}, {0, 0, 0}},
    {HIA_OP_CROSS_ENTROPY, "cross_entropy([a, b], 0)", {-I, 0}, {-1, 1}, {0, 0, 0}},
    {HIA_OP_CROSS_ENTROPY, "cross_entropy([a, b], 0)", {0, -I}, {0, 0}, {0, 0, 0}},
    {HIA_OP_CROSS_ENTROPY, "cross_entropy([[a, b]], [1])[0]", {-I, 0}, {0, 0}, {0, 0, 0}},
    {HIA_OP_CROSS_ENTROPY, "cross_entropy([a], 0)", {3}, {0}, {0}},
    {HIA_OP_TRANSPOSE, "transpose([[a * b, c]])[0][0]", {0, 3}, {3, 0}, {0, 1, 0}},

    /* ---- ops that gradients alone make: their rules are those of second derivatives ---- */
    {HIA_OP_COLLECT, "sum([a * b, b, c][0..2] * [a, b])", {0, 3}, {0, 6}, {6, 0, 2}},
    {HIA_OP_FIT,
     "sum([a, b][0..i64(c > 5) + 1] * [b, b][0..i64(c > 4) + 1])",
     {0, 0},
     {0, 0},
     {0, 1, 0}},
    {HIA_OP_SCATTER, "sum([a, b][[0, 0]] * [a, b])", {2, 3}, {7, 2}, {2, 1, 0}},
    {HIA_OP_CUT, "sum(concat([[a]], [[b, b]], axis = 1) * [[b, a, a]])", {0, I}, {I, 0}, {0, 3, 0}},
    {HIA_OP_PRODUCT_AT,
     "([[a, b], [b, c]] @ [[a, c], [c, b]])[0][0]",
     {0, 0, 0},
     {0, 0, 0},
     {2, 0, 0, 0, 1, 0}},
    {HIA_OP_PRODUCT_BT,
     "sum([[a, b]] @ [[a, c], [c, b]])",
     {0, 0, 0},
     {0, 0, 0},
     {2, 0, 2, 1, 1, 0}},
};

/* ---- programs ---- */

__attribute__((format(printf, 2, 3))) static void add(test_text *out, const char *format, ...) {
  char piece[512];
  va_list args;
  va_start(args, format);
  int n = vsnprintf(piece, sizeof piece, format, args);
  va_end(args);
  cr_assert(n >= 0 && (size_t)n < sizeof piece);
  test_text_take(out, piece, (size_t)n);
}

static void add_text(test_text *out, const char *text, const char *dtype) {
  for (; *text; text++) {
    if (*text == '$')
      add(out, "%s", dtype);
    else
      add(out, "%c", *text);
  }
}

static bool is_first_of_its_text(uint32_t i) {
  return i == 0 || strcmp(edges[i].text, edges[i - 1].text) != 0;
}
static bool is_elementwise(unsigned op) { return hiaR_ops[op].shape == HIA_SHAPE_ELEMENTWISE; }

/* The function gN gives the gradient, and that of each of its parts, of the text with number N. */
static void write_program(test_text *out, const char *dtype, bool is_lifted) {
  static const char names[] = "abc";
  for (uint32_t i = 0; i < HIA_LEN(edges); i++) {
    if (!is_first_of_its_text(i) || (is_lifted && !is_elementwise(edges[i].op))) continue;
    const char *t = dtype;
    add(out, "fn f_%u(a: %s, b: %s, c: %s) -> %s = ", i, t, t, t, t);
    if (is_lifted) add(out, "{ let a = [a]; let b = [b]; let c = [c]; sum(");
    add_text(out, edges[i].text, t);
    add(out, is_lifted ? ") }\n" : "\n");
    for (const char *n = names; *n; n++)
      add(out, "fn d%u%c(a: %s, b: %s, c: %s) = grad(f_%u, wrt = %c)(a, b, c)\n", i, *n, t, t, t, i,
          *n);
    add(out, "fn g%u(a: %s, b: %s, c: %s) = (grad(f_%u, wrt = (a, b, c))(a, b, c)", i, t, t, t, i);
    for (const char *n = names; *n; n++) add(out, ", grad(d%u%c, wrt = (a, b, c))(a, b, c)", i, *n);
    add(out, ")\n");
  }
}

static double number_of(hia_value *owned) {
  float narrow;
  double x = NAN;
  if (hia_value_get_f32(owned, &narrow) == HIA_OK)
    x = (double)narrow;
  else
    cr_assert_eq(hia_value_get_f64(owned, &x), HIA_OK);
  hia_value_free(owned);
  return x;
}

static void expect(const edge *e, const char *of, const char *dtype, double is, double expected) {
  double error = (dtype[1] == '3' ? 1e-6 : 1e-14) * (1 + fabs(expected));
  if (expected == ANY) return;
  bool fits = isfinite(expected) ? fabs(is - expected) <= error
              : isnan(expected)  ? isnan(is)
                                 : is == expected;
  cr_expect(fits, "%s at (%g, %g, %g), %s: the derivative for %s is %g, not %g", e->text, e->x[0],
            e->x[1], e->x[2], dtype, of, is, expected);
}

static void check_edge(hia_engine *engine, hia_function *g, const edge *e, const char *dtype) {
  static const char *const of[4][3] = {
      {"a", "b", "c"}, {"aa", "ab", "ac"}, {"ba", "bb", "bc"}, {"ca", "cb", "cc"}};
  static const int second_of[3][3] = {{0, 1, 3}, {1, 2, 4}, {3, 4, 5}};
  hia_value *args[3], *result;
  hia_error *error = NULL;
  for (int i = 0; i < 3; i++)
    args[i] =
        dtype[1] == '3' ? hia_value_f32(engine, (float)e->x[i]) : hia_value_f64(engine, e->x[i]);
  hia_status status = hia_run(g, args, 3, NULL, &result, &error);
  cr_assert_eq(status, HIA_OK, "%s: %s", e->text, error ? hia_error_text(error) : "");
  for (uint32_t i = 0; i < 4; i++) {
    hia_value *part = hia_value_part(result, i);
    for (uint32_t k = 0; k < 3; k++) {
      double is = number_of(hia_value_part(part, k));
      expect(e, of[i][k], dtype, is, i ? e->second[second_of[i - 1][k]] : e->first[k]);
    }
    hia_value_free(part);
  }
  hia_value_free(result);
  for (int i = 0; i < 3; i++) hia_value_free(args[i]);
}

static hia_engine *new_engine(void) {
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  hia_engine *engine;
  options.kind = HIA_ENGINE_INTERP;
  cr_assert_eq(hia_engine_new(&options, &engine, NULL), HIA_OK);
  return engine;
}

static void check_all(const char *dtype, bool is_lifted) {
  hia_engine *engine = new_engine();
  test_text text = {0};
  write_program(&text, dtype, is_lifted);
  hia_module *module = load_module(engine, "edges.hia", text.data);
  hia_function *g = NULL;
  for (uint32_t i = 0; i < HIA_LEN(edges); i++) {
    char name[16];
    if (is_lifted && !is_elementwise(edges[i].op)) continue;
    snprintf(name, sizeof name, "g%u", i);
    if (is_first_of_its_text(i)) g = find_function(module, name);
    check_edge(engine, g, &edges[i], dtype);
  }
  hia_module_free(module);
  hia_engine_free(engine);
  test_text_free(&text);
}

Test(engine_gradient_edges, of_f64) { check_all("f64", false); }
Test(engine_gradient_edges, of_f32) { check_all("f32", false); }
Test(engine_gradient_edges, lifted_of_f64) { check_all("f64", true); }
Test(engine_gradient_edges, lifted_of_f32) { check_all("f32", true); }

/* ---- empty tensors ---- */

/* Of v, u and w, of shapes [0], [3, 0] and [0, 3], and k, a tensor of 0 integers. */
static const struct {
  unsigned op;
  const char *text;
} empty[] = {
    {HIA_OP_ROW, "sum([v, v * v][1])"},
    {HIA_OP_PART, "sum(v[0..0] * v)"},
    {HIA_OP_ROWS, "sum(v[k] * v)"},
    {HIA_OP_ROWS, "sum(w[k] * w)"},
    {HIA_OP_WITH, "sum(set(u, 1, v * v))"},
    {HIA_OP_CAT, "sum(concat(v, v, v) * v)"},
    {HIA_OP_CAT, "sum(concat(u, u, axis = 1) * u)"},
    {HIA_OP_STACK, "sum([v, v] * v)"},
    {HIA_OP_RESHAPE, "sum(reshape(v, 0, 3) * w)"},
    {HIA_OP_FULL, "sum(full(sum(v), 0) * v)"},
    {HIA_OP_EXPECT, "{ let x: $[0] = v; sum(x * x) }"},
    {HIA_OP_SUM, "sum(sum(u, axis = 1)) + sum(sum(u * u, axis = 0)) + sum(v * v)"},
    {HIA_OP_PROD, "sum(prod(u, axis = 1)) + sum(prod(u * u, axis = 0)) + prod(v) + prod(w)"},
    {HIA_OP_MEAN, "sum(mean(u * u, axis = 0)) + sum(mean(w * w, axis = 1))"},
    {HIA_OP_MAX_OF, "sum(max(u * u, axis = 0)) + sum(max(w * w, axis = 1))"},
    {HIA_OP_MIN_OF, "sum(min(u * u, axis = 0)) + sum(min(w * w, axis = 1))"},
    {HIA_OP_PRODUCT, "v @ v + sum(u @ w) + sum(w @ u) + sum(v @ w) + sum(u @ v)"},
    {HIA_OP_OUTER, "sum(outer(v, v))"},
    {HIA_OP_SOFTMAX, "sum(softmax(w) * w)"},
    {HIA_OP_LOG_SOFTMAX, "sum(log_softmax(w) * w)"},
    {HIA_OP_CROSS_ENTROPY, "sum(cross_entropy(w * w, k))"},
    {HIA_OP_TRANSPOSE, "sum(transpose(u) * w)"},
    {HIA_OP_COLLECT, "sum(v[0..0] * v) + sum(u[0..2] * u[1..3])"},
    {HIA_OP_FIT, "sum(u * v) + sum(w * sum(v))"},
    {HIA_OP_SCATTER, "sum(w[k] * w)"},
    {HIA_OP_CUT, "sum(concat(u, u, axis = 1) * u)"},
    {HIA_OP_PRODUCT_AT, "sum(u @ w) + sum(w @ u)"},
    {HIA_OP_PRODUCT_BT, "sum(u @ w) + sum(w @ u)"},
};

static void add_empty(test_text *out, const char *text, const char *dtype, uint32_t i) {
  const char *t = dtype;
  add(out, "fn f_%u(v: %s[?], u: %s[?, ?], w: %s[?, ?], k: i64[?]) = ", i, t, t, t);
  add_text(out, text, dtype);
  add(out, "\nfn d%u(v: %s[?], u: %s[?, ?], w: %s[?, ?], k: i64[?]) = {\n", i, t, t, t);
  add(out, "  let (x, y, z) = grad(f_%u, wrt = (v, u, w))(v, u, w, k);\n", i);
  add(out, "  sum(x * x) + sum(y * y) + sum(z * z) }\n");
  add(out, "fn g%u() = { let v = zeros(0) * %s(1); let u = zeros(3, 0) * %s(1);\n", i, t, t);
  add(out, "  let w = zeros(0, 3) * %s(1); let k = iota(0);\n", t);
  add(out, "  (grad(f_%u, wrt = (v, u, w))(v, u, w, k), ", i);
  add(out, "grad(d%u, wrt = (v, u, w))(v, u, w, k)) }\n", i);
}

/* The texts of ops on tensors, and behind them those of ops on scalars, lifted. */
static const char *empty_text(uint32_t i, test_text *lifted) {
  if (i < HIA_LEN(empty)) return empty[i].text;
  const edge *e = &edges[i - HIA_LEN(empty)];
  add(lifted, "{ let a = v; let b = v; let c = v; sum(%s) }", e->text);
  return lifted->data;
}

static void check_empty(const char *dtype) {
  hia_engine *engine = new_engine();
  test_text text = {0};
  for (uint32_t i = 0; i < HIA_LEN(empty) + HIA_LEN(edges); i++) {
    test_text lifted = {0};
    uint32_t k = i - (uint32_t)HIA_LEN(empty);
    if (i >= HIA_LEN(empty) && (!is_first_of_its_text(k) || !is_elementwise(edges[k].op))) continue;
    add_empty(&text, empty_text(i, &lifted), dtype, i);
    test_text_free(&lifted);
  }
  hia_module *module = load_module(engine, "empty.hia", text.data);
  for (uint32_t i = 0; i < HIA_LEN(empty) + HIA_LEN(edges); i++) {
    char name[16];
    hia_value *result;
    hia_error *error = NULL;
    uint32_t k = i - (uint32_t)HIA_LEN(empty);
    if (i >= HIA_LEN(empty) && (!is_first_of_its_text(k) || !is_elementwise(edges[k].op))) continue;
    snprintf(name, sizeof name, "g%u", i);
    hia_status status = hia_run(find_function(module, name), NULL, 0, NULL, &result, &error);
    cr_assert_eq(status, HIA_OK, "%s: %s", i < HIA_LEN(empty) ? empty[i].text : edges[k].text,
                 error ? hia_error_text(error) : "");
    char is[200];
    hia_value_format(result, is, sizeof is);
    cr_expect_str_eq(is, "(([], [[], [], []], zeros(0, 3)), ([], [[], [], []], zeros(0, 3)))");
    hia_value_free(result);
  }
  hia_module_free(module);
  hia_engine_free(engine);
  test_text_free(&text);
}

Test(engine_gradient_edges, of_empty_tensors_of_f64) { check_empty("f64"); }
Test(engine_gradient_edges, of_empty_tensors_of_f32) { check_empty("f32"); }

/* ---- all rows ---- */

static bool has_operand(const char *text, char name) {
  for (const char *at = text; *at; at++)
    if (*at == name && !(at > text && at[-1] >= 'a' && at[-1] <= 'z') &&
        !(at[1] >= 'a' && at[1] <= 'z'))
      return true;
  return false;
}

Test(engine_gradient_edges, all_rows) {
  static const double edge_values[] = {0, -0.0, I, -I};
  for (unsigned op = 0; op < HIA_OP_LIMIT; op++) {
    const hia_op_info *row = &hiaR_ops[op];
    if (!row->name || row->gradient != HIA_GRADIENT_OWN) continue;
    bool met[3][HIA_LEN(edge_values)] = {0}, is_there = false, are_equal = false,
         is_tried_empty = false;
    uint32_t n = 0;
    for (uint32_t i = 0; i < HIA_LEN(edges); i++) {
      if (edges[i].op != op) continue;
      is_there = true;
      are_equal |= edges[i].x[0] == edges[i].x[1] && has_operand(edges[i].text, 'b');
      for (uint32_t k = 0; k < 3; k++) {
        if (!has_operand(edges[i].text, (char)('a' + k))) continue;
        if (n < k + 1) n = k + 1;
        for (uint32_t p = 0; p < HIA_LEN(edge_values); p++)
          met[k][p] |=
              edges[i].x[k] == edge_values[p] && signbit(edges[i].x[k]) == signbit(edge_values[p]);
      }
    }
    for (uint32_t i = 0; i < HIA_LEN(empty); i++) is_tried_empty |= empty[i].op == op;
    cr_expect(is_there, "no edge of %s", row->name);
    cr_expect(is_tried_empty || is_elementwise(op), "%s of empty tensors", row->name);
    if (!is_elementwise(op)) continue;
    cr_expect(are_equal || n < 2, "equal operands of %s", row->name);
    for (uint32_t k = 0; k < n; k++)
      for (uint32_t p = 0; p < HIA_LEN(edge_values); p++)
        cr_expect(met[k][p], "operand %u of %s is never %g", k, row->name, edge_values[p]);
  }
}
