/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The elementary functions over arrays: the bits of the scalar ones, at any length and address. */
#include "runtime/base/elementary.h"
#include "runtime/kernel/lanes.h"
#include <criterion/criterion.h>
#include <math.h>

enum { N = 200 };
static const struct {
  unsigned op;
  float (*f32)(float);
  double (*f64)(double);
} functions[] = {{HIA_OP_EXP, hiaR_exp_f32, hiaR_exp_f64},
                 {HIA_OP_EXP2, hiaR_exp2_f32, hiaR_exp2_f64},
                 {HIA_OP_EXPM1, hiaR_expm1_f32, hiaR_expm1_f64},
                 {HIA_OP_LOG, hiaR_log_f32, hiaR_log_f64},
                 {HIA_OP_LOG2, hiaR_log2_f32, hiaR_log2_f64},
                 {HIA_OP_LOG10, hiaR_log10_f32, hiaR_log10_f64},
                 {HIA_OP_LOG1P, hiaR_log1p_f32, hiaR_log1p_f64},
                 {HIA_OP_TANH, hiaR_tanh_f32, hiaR_tanh_f64},
                 {HIA_OP_SIGMOID, hiaR_sigmoid_f32, hiaR_sigmoid_f64}};

static double number(int i) {
  static const double special[] = {0,     -0.0, 1,    -1,  INFINITY, -INFINITY,
                                   1e-40, 88.5, -104, 710, NAN};
  if (i < (int)HIA_LEN(special)) return special[i];
  return (i % 2 ? 1 : -1) * pow(2, (i * 37 % 60 - 30) / 3.0);
}

/* Writes nothing behind the end, and reads nothing: the arrays end where memory does. */
static void check(unsigned f, size_t n, size_t first, bool is_in_place) {
  float *x = malloc((n + first) * sizeof *x),
        *z = is_in_place ? x : malloc((n + first) * sizeof *z);
  double *y = malloc((n + first) * sizeof *y),
         *w = is_in_place ? y : malloc((n + first) * sizeof *w);
  for (size_t i = 0; i < n; i++)
    x[first + i] = (float)number((int)i), y[first + i] = number((int)i);
  hiaR_lanes(functions[f].op, HIA_F32)(z + first, (const void *[]){x + first}, n);
  hiaR_lanes(functions[f].op, HIA_F64)(w + first, (const void *[]){y + first}, n);
  for (size_t i = 0; i < n; i++) {
    float a = functions[f].f32((float)number((int)i)), b = z[first + i];
    double c = functions[f].f64(number((int)i)), d = w[first + i];
    bool is_same = (isnan(a) && isnan(b)) || memcmp(&a, &b, sizeof a) == 0;
    cr_assert(is_same, "%u of %g: %a, not %a", functions[f].op, number((int)i), b, a);
    is_same = (isnan(c) && isnan(d)) || memcmp(&c, &d, sizeof c) == 0;
    cr_assert(is_same, "%u of %g: %a, not %a", functions[f].op, number((int)i), d, c);
  }
  if (!is_in_place) free(z), free(w);
  free(x), free(y);
}

Test(lanes, bits_of_scalars) {
  if (!hiaR_lanes(HIA_OP_EXP, HIA_F32)) return;
  for (unsigned f = 0; f < HIA_LEN(functions); f++) {
    for (size_t n = 0; n < N; n++) check(f, n, n % 3, n % 2);
  }
}

Test(lanes, others_have_none) {
  cr_assert_null(hiaR_lanes(HIA_OP_ADD, HIA_F32));
  cr_assert_null(hiaR_lanes(HIA_OP_EXP, HIA_I32));
}
