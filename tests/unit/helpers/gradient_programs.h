/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Programs made at random whose gradients are compared: with differences (test_engine_gradients.c),
 * and in all ways with each other (tests/diff/gradients.c). No Criterion. */
#ifndef HIA_HELPER_GRADIENT_PROGRAMS_H
#define HIA_HELPER_GRADIENT_PROGRAMS_H

#include "tests/unit/helpers/text.h"
#include <stdint.h>

/* Writes a program with a function f(x: f64, y: f64, v: f64[4], n: i32) -> f64, which calls helpers
 * and, n deep, itself through them; g, which gives its value and its gradients for x, y and v; and
 * a param P. Scalars and vectors go through branches, loops, comprehensions, tuples, data, helpers
 * and recursions; so do vectors whose length is other in each round, call or element. Where x is
 * near 0.3 and y near -0.7, and n small, there are no kinks, and values are of the size of 1. The
 * caller frees the text. */
void gradient_program(uint32_t seed, test_text *text);

#endif
