/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Random numbers of the programs of tests/stress. */
#ifndef STRESS_RANDOM_H
#define STRESS_RANDOM_H

#include <stdint.h>

/* xorshift64 (Marsaglia 2003); the state begins with anything but 0. */
static inline uint64_t next_random(uint64_t *state) {
  *state ^= *state << 13;
  *state ^= *state >> 7;
  *state ^= *state << 17;
  return *state;
}

#endif
