/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The state of an optimizer, which optimizer.c and optimizer_file.c have in common. */
#ifndef HIA_PARAM_OPTIMIZING_H
#define HIA_PARAM_OPTIMIZING_H

#include "runtime/train/optimizer.h"
#include "runtime/train/update.h"

/* What an optimizer has of one param. */
typedef struct hia_followed {
  size_t n;     /* elements */
  size_t row;   /* those of a row of axis 0; of a scalar 1 */
  size_t bytes; /* of the elements */
  /* As many as the kind has: of the param's dtype and shape, one after the other in one block. The
   * first is NULL until a step changes the param: all of them are zeros then. */
  void *accumulated[HIA_MAX_ACCUMULATED];
  /* What the last step that changed the param has changed: these rows, or all. */
  bool is_by_row;
  size_t n_rows;
  int64_t *rows; /* NULL until a step is by row; else as many as axis 0 has */
} hia_followed;

struct hia_optimizing {
  hia_allocator allocator;
  const hia_param_spec *specs;
  uint32_t n;
  hia_trainer_options options;
  hia_update_kind kind;
  uint64_t steps;
  /* The state of params that the last step made, and the one of which it made it, for recycling:
   * held. NULL: there is none. */
  hia_param_state *made, *before;
  hia_followed *params;           /* by param */
  bool *is_changed, *is_recycled; /* by param: of the step that is being made */
};

/* Gives a param the arrays that it lacks, with zeros. False: no memory. */
bool hiaR_optimizing_accumulate(const hia_optimizing *o, hia_followed *p);
/* Frees them: they are zeros again. */
void hiaR_optimizing_forget(const hia_optimizing *o, hia_followed *p);

#endif
