/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The params of the models that are measured: the same numbers for hiaton and for the programs next
 * to it, in files of a folder.
 *
 *   MODEL.safetensors          for hiaton
 *   w_MODEL_NAME_3x5.f32       for programs in C++: the elements
 *   w_MODEL_NAME_3x5.npy       for programs in Python
 *
 * A file that is there already stays: its elements depend on its name alone. */
#ifndef HIA_WEIGHTS_H
#define HIA_WEIGHTS_H

#include <stddef.h>
#include <stdint.h>

/* A param: uniform numbers below `scale` in magnitude. A scale of 0 is that of Glorot and Bengio,
 * sqrt(6 / (first + last dim)). */
typedef struct bench_weight {
  const char *name;  /* in hiaton's program; NULL ends a list */
  const char *peers; /* in the names of the other files; NULL: the same */
  int64_t dims[3];   /* as many as are not 0 */
  double scale;
} bench_weight;

/* Writes what is missing. An error ends the benchmark. */
void bench_weights_write(const char *folder, const char *model, const bench_weight *weights);

#endif
