/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The derivative of a function of one number, by differences, with an estimate of its error.
 *
 * This is Ridders' method ("Accurate computation of F'(x) and F'(x)F''(x)", Advances in Engineering
 * Software 4, 1982): central differences with steps that fall by a factor, in a tableau in which
 * each column cancels one more term of the error's series in the step. The best entry is the one
 * that differs least from its neighbours. There are four changes:
 *
 *   - An entry's error has a second part, the rounding of the values divided by the step. So small
 *     steps, at which values are equal but for rounding, are never best.
 *   - All rows are computed. Where the function has a kink within the first steps, their rows
 *     disagree with each other, and the best entry is one of the rows below.
 *   - Large steps may agree by chance: those of x % 1 do as long as they are integers. So the best
 *     entry of the smaller half has the last word if it says something else, and if the smallest
 *     steps do not agree with each other though rounding would let them.
 *   - The same is done with differences of one side alone, whose series has all powers of the step.
 *     At a kink central differences may agree with each other perfectly, on a wrong number. */
#include "jit/engine/engine.h"
#include <math.h>

/* The steps are s, s/2, s/4, ...: powers of 2 lose nothing when they are added to x. */
enum { ROWS = 18, COLUMNS = 6, LAST = 4 };

typedef struct tableau {
  double entries[ROWS][COLUMNS];
  hia_difference large, small; /* the best of the larger and of the smaller half of the steps */
  double scatter; /* by how much the last differences change, beyond what rounding may do */
} tableau;

static const hia_difference NONE = {NAN, INFINITY, false};

static double largest(double a, double b) { return a > b ? a : b; }

/* Adds the row of step i, of which `slope` is the difference, `noise` the error by rounding, and
 * `factor` what a column divides the error's next term by. Rows before `first` do not count. */
static void add_row(tableau *t, int i, int first, double slope, double noise, double factor) {
  t->entries[i][0] = slope;
  if (i > ROWS - LAST && i > first)
    t->scatter = largest(t->scatter, fabs(slope - t->entries[i - 1][0]) - 100 * noise);
  double power = factor;
  for (int j = 1; j < COLUMNS && i - j >= first; j++) {
    double fine = t->entries[i][j - 1], wide = t->entries[i - 1][j - 1];
    double entry = t->entries[i][j] = fine + (fine - wide) / (power - 1);
    power *= factor;
    double error = largest(fabs(entry - fine), fabs(entry - wide)) + noise;
    hia_difference *best = i < ROWS / 2 ? &t->large : &t->small;
    if (isfinite(error) && error < best->doubt) *best = (hia_difference){entry, error, false};
  }
}

static hia_difference best_of(const tableau *t) {
  const hia_difference *large = &t->large, *small = &t->small;
  if (isnan(small->slope) || isnan(large->slope)) return *small; /* what is near x counts */
  bool is_other = fabs(large->slope - small->slope) > 4 * (large->doubt + small->doubt);
  bool is_rough = t->scatter > 0.1 * fabs(large->slope);
  hia_difference best = is_other || is_rough || small->doubt < large->doubt ? *small : *large;
  best.is_rough = t->scatter > 0.1 * fabs(best.slope);
  return best;
}

static hia_difference of_side(double at, const double values[ROWS], double step, double roundoff) {
  tableau t = {.large = NONE, .small = NONE};
  int first = 0;
  for (int i = 0; i < ROWS; i++, step /= 2) {
    if (!isfinite(values[i])) {
      first = i + 1;
      continue;
    }
    double noise = 2 * roundoff * largest(fabs(values[i]), fabs(at)) / fabs(step);
    add_row(&t, i, first, (values[i] - at) / step, noise, 2);
  }
  return best_of(&t);
}

static hia_difference of_both(double at, const double above[ROWS], const double below[ROWS],
                              double step, double roundoff) {
  tableau t = {.large = NONE, .small = NONE};
  int first = 0;
  for (int i = 0; i < ROWS; i++, step /= 2) {
    if (!isfinite(above[i]) || !isfinite(below[i])) {
      first = i + 1;
      continue;
    }
    double size = largest(largest(fabs(above[i]), fabs(below[i])), fabs(at));
    add_row(&t, i, first, (above[i] - below[i]) / (2 * step), roundoff * size / step, 4);
  }
  return best_of(&t);
}

hia_status hiaJ_differences(hiaJ_at *f, void *user, double at, double step, double roundoff,
                            hia_differences *d) {
  double above[ROWS], below[ROWS], h = step;
  for (int i = 0; i < ROWS; i++, h /= 2) {
    hia_status status = f(user, h, &above[i]);
    if (status == HIA_OK) status = f(user, -h, &below[i]);
    if (status != HIA_OK) return status;
  }
  d->both = of_both(at, above, below, step, roundoff);
  d->above = of_side(at, above, step, roundoff);
  d->below = of_side(at, below, -step, roundoff);
  return HIA_OK;
}
