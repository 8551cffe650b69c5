/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Data types of a program, their values up to a depth, and random patterns for them. */
#ifndef HIA_TEST_MATCHES_H
#define HIA_TEST_MATCHES_H

#include "runtime/base/base.h"

extern const char sample_text[]; /* the types T, U and Q, in the language */
enum { SAMPLE_T, SAMPLE_U, SAMPLE_Q, SAMPLE_BOOL, SAMPLE_INT, N_SAMPLE_TYPES };
enum { SAMPLE_MAX_PARTS = 4 };

typedef struct sample_con {
  const char *name;
  int n, parts[SAMPLE_MAX_PARTS];
} sample_con;
typedef struct sample_type {
  const char *name;
  int n;
  sample_con cons[5];
} sample_type;
extern const sample_type sample_types[N_SAMPLE_TYPES];
/* The integers that the constructors of SAMPLE_INT stand for. No pattern has the last one: it
 * stands for all other integers. */
extern const int sample_integers[5];

/* A value, or a pattern: con -1 takes every value. */
typedef struct sample {
  int con;
  size_t name; /* of a printed pattern: of the variable x<name>; 0: `_` */
  struct sample *parts[SAMPLE_MAX_PARTS];
} sample;
typedef HIA_VEC(sample *) samples;

/* The values of each type that are at most `depth` constructors deep. */
void sample_values(hia_arena *arena, int depth, samples values[N_SAMPLE_TYPES]);
bool sample_fits(const sample *pattern, const sample *value);

extern uint64_t sample_state; /* of the random numbers */
unsigned sample_below(unsigned n);
sample *sample_pattern(hia_arena *arena, int type, int depth);
/* Appends to a text. What takes every value becomes `_` or a variable. */
void sample_print(sample *pattern, int type, char *out);

#endif
