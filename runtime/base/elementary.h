/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The elementary functions: how their definitions are written.
 *
 * One would write a function in C, and again as LLVM IR for native code. Two texts of forty
 * roundings each differ sooner or later. So elementary_f32.h and elementary_f64.h hold one text, in
 * the vocabulary below, that is included wherever code is needed:
 *
 *   elementary_c.h            as C, of scalars or of vectors: what the kernels and calls of the
 *                             runtime execute (elementary.c), and tests and benchmarks
 *   lower/ops/elementary.c   as code that builds LLVM IR, for scalars or vectors of any width
 *
 * Every operation of the vocabulary is exact, or rounds as IEEE 754 says, a fused multiply-add
 * once. No value depends on another lane. So the bits are the same in
 * all of these, at any width, on every machine, whatever its libm. Rules for changing a definition:
 *
 *   1. Only this vocabulary. Nothing that an optimiser may contract, reorder or approximate.
 *   2. Straight-line code. Both sides of a choice are computed; SELECT takes one. A side that is
 *      not taken may be an infinity, a NaN or nonsense, but no operation traps. The one exception
 * is FAR, for operands that are rare and need much more code: it ends a definition, and where its
 *      truth holds, other code is called. In vectors it is called for those lanes only that need
 * it.
 *   3. The bits of a NaN are not defined. A NaN among the operands gives a NaN.
 *   4. Objects that were built before contain the code, and are run next to the runtime's. So a
 *      change of bits changes the runtime ABI (native/module.h); test_elementary.c notices it.
 *   5. After a change: build/bench/accuracy, which finds the largest error.
 *
 * The vocabulary, of a dtype (f32 or f64). HF: a float. HI: an integer of its width. HB: a truth.
 *
 *   HIA_ELEMENTARY_1(name) { ... }   defines a function of x; _2: of x and y; _3: of x, y and z
 *   HIA_APPLY_1(name, x)             its value; _2; _3
 *   FAR_1(b, name, x, result)        the result, but where b is true, the function of x: see rule 2
 *   FAR_2(b, name, x, y, result)     the same of x and y
 *   K(c), KI(n)                      constants; c and n are exact
 *   ADD SUB MUL DIV SQRT NEG ABS     FMA(a, b, c): a * b + c, rounded once
 *   LT LE EQ                         of floats; false for NaN
 *   BOTH EITHER NOT                  of truths
 *   SELECT SELECTI                   (b, x, y): x if b, else y; of floats, of integers
 *   BITS FLOAT                       the same bits as an integer, as a float
 *   IADD ISUB IAND IOR IXOR          wrapping
 *   SHL SHR SAR                      by a constant; SAR copies the sign
 *   IEQ                              a truth, of integers
 *   FROM_INT(i)                      an integer less than 2^20 in size, as a float */
#ifndef HIA_ELEMENTARY_H
#define HIA_ELEMENTARY_H

#include <stdbool.h>

/* The functions that are defined so, with one operand and with two: all of HIA_LIBRARY_1 and
 * HIA_LIBRARY_2 (base.h) but `rem`. */
#define HIA_ELEMENTARY_LIST_1(X)                                                                   \
  X(exp)                                                                                           \
  X(exp2)                                                                                          \
  X(expm1)                                                                                         \
  X(log)                                                                                           \
  X(log2)                                                                                          \
  X(log10)                                                                                         \
  X(log1p)                                                                                         \
  X(sin)                                                                                           \
  X(cos)                                                                                           \
  X(tan)                                                                                           \
  X(asin)                                                                                          \
  X(acos)                                                                                          \
  X(atan)                                                                                          \
  X(sinh)                                                                                          \
  X(cosh)                                                                                          \
  X(tanh)                                                                                          \
  X(sigmoid)
#define HIA_ELEMENTARY_LIST_2(X) X(pow) X(atan2) X(hypot)

/* Those that have far operands (FAR_1, FAR_2), and their values there: elementary_far.c, or longer
 * definitions. */
#define HIA_ELEMENTARY_FAR_LIST_1(X) X(sin) X(cos) X(tan)
#define HIA_ELEMENTARY_FAR_LIST_2(X) X(pow) X(hypot)
#define HIA_DECLARE_FAR_1(name)                                                                    \
  float hiaR_##name##_far_f32(float x);                                                            \
  double hiaR_##name##_far_f64(double x);
#define HIA_DECLARE_FAR_2(name)                                                                    \
  float hiaR_##name##_far_f32(float x, float y);                                                   \
  double hiaR_##name##_far_f64(double x, double y);
HIA_ELEMENTARY_FAR_LIST_1(HIA_DECLARE_FAR_1)
HIA_ELEMENTARY_FAR_LIST_2(HIA_DECLARE_FAR_2)
#undef HIA_DECLARE_FAR_1
#undef HIA_DECLARE_FAR_2
/* The tangent of x + y, or -1 over it: |x| <= pi / 4, y what x lacks of the angle. */
double hiaR_tan_of_sum_f64(double x, double y, bool is_odd);

/* Polynomials by Horner's rule, the coefficient of the highest power first. */
#define H1(x, a, b)                   FMA(K(a), x, K(b))
#define H2(x, a, b, c)                FMA(H1(x, a, b), x, K(c))
#define H3(x, a, b, c, d)             FMA(H2(x, a, b, c), x, K(d))
#define H4(x, a, b, c, d, e)          FMA(H3(x, a, b, c, d), x, K(e))
#define H5(x, a, b, c, d, e, f)       FMA(H4(x, a, b, c, d, e), x, K(f))
#define H6(x, a, b, c, d, e, f, g)    FMA(H5(x, a, b, c, d, e, f), x, K(g))
#define H7(x, a, b, c, d, e, f, g, h) FMA(H6(x, a, b, c, d, e, f, g), x, K(h))

/* The smaller of a constant and x, the larger; NaN if x is. One instruction on x86. */
#define AT_MOST(c, x)  SELECT(LT(K(c), x), K(c), x)
#define AT_LEAST(c, x) SELECT(LT(x, K(c)), K(c), x)

#endif
