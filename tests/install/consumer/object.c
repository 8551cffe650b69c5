/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Functions of formulas.hia, compiled ahead of time; natively and interpreted. */
#include "numbers/formulas.h"
#include "tak.h"

double scale(double x);
double scale(double x) { return 2 * x; }

int main(void) {
  for (int interpret = 0; interpret < 2; interpret++) {
    hia_context_options options = HIA_CONTEXT_OPTIONS_INIT;
    hia_context *context;
    int32_t x = 0, y = 0;
    int64_t z = 0;
    double w = 0;
    if (interpret) options.flags |= HIA_CONTEXT_INTERPRET;
    options.threads = 2;
    if (hia_context_new(&options, &context) != HIA_OK) return 1;
    if (f_fib(context, 20, &x) != HIA_OK || x != 10946) return 2;
    if (f_id(context, 5000000000, &z) != HIA_OK || z != 5000000000) return 3;
    if (f_scaled(context, 1.5, &w) != HIA_OK || w != 4) return 4;
    if (tak_tak(context, 12, 8, 4, &y) != HIA_OK || y != 5) return 5;
    hia_context_free(context);
  }
  return 0;
}
