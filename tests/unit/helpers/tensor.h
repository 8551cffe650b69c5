/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Operations on tensors, run on operands that tests write down as plain arrays of words: made as
 * tensors, views or tensors from outside, lent or taken. */
#ifndef HELPER_TENSOR_H
#define HELPER_TENSOR_H

#include "runtime/tensor/kernels.h"
#include "tests/unit/helpers/memory.h"

/* ---- models: shape, and the words of the elements in row-major order ---- */

typedef struct model {
  hia_dtype dtype;
  hia_dims dims;
  uint64_t n;
  hia_word *words;
} model;

hia_dims dims_of(uint32_t rank, ...); /* int64_t */
model model_new(hia_dtype dtype, hia_dims dims);
/* Values that are small, large, random, and all that is special of floats. */
model model_random(uint32_t *state, hia_dtype dtype, hia_dims dims);
hia_word random_element(uint32_t *state, hia_dtype dtype);
model model_scalar(hia_dtype dtype, hia_word word);
model model_i64(int64_t x);
void model_free(model *m);
/* Bit for bit, but for NaNs. */
bool word_equals(hia_dtype dtype, hia_word a, hia_word b);
bool model_equals(const model *a, const model *b);
uint32_t random_to(uint32_t *state, uint32_t n); /* below n */

/* ---- a run ---- */

typedef struct tensor_world {
  hia_heap heap;
  hia_local_heap local;
  hia_env env;
} tensor_world;

void world_begin(tensor_world *w, const hia_allocator *allocator, bool is_shared);
/* Returns false if blocks are in use, in builds that count them. */
bool world_end(tensor_world *w);

/* How an operand is given to an operation, if it is a tensor. */
typedef enum how {
  LENT,
  TAKEN,
  TAKEN_HELD, /* another reference is held */
  VIEW_LENT,  /* of the middle of another tensor */
  VIEW_TAKEN,
  WHOLE_VIEW_TAKEN, /* of all of another tensor, to which there is no other reference */
  OUTSIDE,          /* lent */
  OUTSIDE_TAKEN,
  N_HOWS
} how;
static inline bool how_takes(how h) {
  return h == TAKEN || h == TAKEN_HELD || h == VIEW_TAKEN || h == WHOLE_VIEW_TAKEN ||
         h == OUTSIDE_TAKEN;
}
/* True if the result may lie in its place, if it has elements. */
static inline bool how_is_last(how h) { return h == TAKEN || h == WHOLE_VIEW_TAKEN; }

enum { MOST_OPERANDS = 70 };
typedef struct outcome {
  hia_status status;
  model result; /* to be freed, also after a failure */
  hia_misfortune why;
  uint32_t kept; /* the operand whose address the result has, or HIA_NONE */
  bool is_sane;  /* operands that were not given away are as they were; *out is unchanged on failure
                  */
} outcome;

/* `o` without n_in, tensors, takes. A result of rank 0 is the word of a `dtype`. */
outcome run_operation(tensor_world *w, hia_operate f, hia_operation o, const model *ins,
                      const how *hows, uint32_t n, hia_dtype dtype, uint32_t rank);
/* A tensor of these elements: one reference, or 0 without memory. */
hia_word make_tensor(tensor_world *w, const model *m);
model read_tensor(hia_word ref);

/* An op on scalars at a dtype, lifted. */
hia_operation lifted(unsigned op, hia_dtype at);

#endif
