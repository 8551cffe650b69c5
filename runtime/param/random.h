/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Random numbers for the initialisers of params: a function of the seed, the name of the param and
 * the number of the element, and of nothing else. So they are the same on every machine, with any
 * number of threads, and when other params are added.
 *
 * Generator: Philox4x32-10 (Salmon, Moraes, Dror, Shaw, "Parallel Random Numbers: As Easy as 1, 2,
 * 3", SC 2011). Its key is the seed. Its counter is the number of the block, and the 64-bit FNV-1a
 * hash of the name. A block is four words of 32 bits: four elements of f32, two of f64, the first
 * word the lower half. */
#ifndef HIA_RANDOM_H
#define HIA_RANDOM_H

#include "runtime/base/base.h"

/* Four words, in `out`, of a key of two and a counter of four. */
void hiaR_philox(const uint32_t key[2], const uint32_t counter[4], uint32_t out[4]);

/* The quantile of the standard normal distribution at p, 0 < p < 1: algorithm AS 241 (Wichura,
 * Applied Statistics 37, 1988), PPND16; relative error about 1e-16. */
double hiaR_normal_quantile(double p);

/* Elements first .. first + n - 1 of a param of this name; `to` has elements of `dtype`, f32 or
 * f64, aligned to their size. Any thread.
 *   uniform: from a on and below b (a, if they are equal), a multiple of 2^-24 of the range, at f64
 *            2^-53
 *   normal:  the quantile of a uniform number of 32 bits, at f64 52, in the middle of its interval
 */
void hiaR_random_uniform(uint64_t seed, const char *name, hia_dtype dtype, double a, double b,
                         uint64_t first, uint64_t n, void *to);
void hiaR_random_normal(uint64_t seed, const char *name, hia_dtype dtype, double mean, double std,
                        uint64_t first, uint64_t n, void *to);

#endif
