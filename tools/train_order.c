/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The order of the examples and the learning rate, as functions of the options, the epoch and the
 * step alone: a training that goes on from a checkpoint needs nothing else to find its place. They
 * are the same on every machine, so there is no function of the C library in them.
 *
 * Random numbers are those of SplitMix64 (Steele, Lea, Flood, "Fast Splittable Pseudorandom Number
 * Generators", OOPSLA 2014): number k of a stream is mix(key + k * GOLDEN), k from 1 on, where the
 * key of an epoch is mix(mix(seed + GOLDEN) + epoch * GOLDEN). */
#include "tools/train.h"

#define GOLDEN UINT64_C(0x9e3779b97f4a7c15)

static uint64_t mix(uint64_t x) {
  x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
  return x ^ x >> 31;
}

/* Fisher and Yates, from the end. The remainder of 64 bits prefers some of fewer than 2^32 places
 * by less than 2^-32. */
void train_shuffle(uint64_t seed, uint64_t epoch, uint32_t *order, uint32_t n) {
  uint64_t at = mix(mix(seed + GOLDEN) + epoch * GOLDEN);
  for (uint32_t i = 0; i < n; i++) order[i] = i;
  for (uint32_t i = n; i > 1; i--) {
    uint32_t k = (uint32_t)(mix(at += GOLDEN) % i), last = order[i - 1];
    order[i - 1] = order[k];
    order[k] = last;
  }
}

/* cos(pi * x) for x from 0 to 1/2, by Taylor's series: off by less than 1e-16. */
static double cosine_near_0(double x) {
  double y = x * 3.14159265358979323846, square = y * y, sum = 1;
  for (int k = 20; k > 0; k -= 2) sum = 1 - sum * square / (double)(k * (k - 1));
  return sum;
}
static double cosine(double x) { return x <= 0.5 ? cosine_near_0(x) : -cosine_near_0(1 - x); }

double train_rate(const tool_training *t, uint64_t step, uint64_t n_steps) {
  double rate = t->trainer.rate;
  if (step < t->warmup) return rate * (double)(step + 1) / (double)t->warmup;
  if (t->schedule == TOOL_CONSTANT || step >= n_steps) return rate;
  double done = (double)(step - t->warmup) / (double)(n_steps - t->warmup);
  double share = t->schedule == TOOL_LINEAR ? 1 - done : (1 + cosine(done)) / 2;
  return rate * (share > 1e-12 ? share : 1e-12); /* a rate is above 0 */
}
