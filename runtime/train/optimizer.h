/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Optimizers: how the values of params follow their gradients (include/hiaton/training.h has the
 * equations). The state that an optimizer has, such as momentum, is its own; the values belong to
 * states of params, which never change: an update makes a state of the current one.
 *
 * To make a step takes no memory from the second one on if no run holds the state before last: its
 * values are recycled. Of a param that is changed by rows, only the rows that the last two steps
 * have changed are written.
 *
 * An optimizer belongs to one thread at a time. */
#ifndef HIA_OPTIMIZER_H
#define HIA_OPTIMIZER_H

#include "runtime/param/param.h"
#include <hiaton/training.h>

/* The gradient of one param. Of a tensor of rank 1 or more it may have some rows of axis 0 only. */
typedef struct hia_param_gradient {
  bool is_given; /* false: the param stays as it is */
  bool is_by_row;
  const int64_t *rows; /* if is_by_row: n_rows of them, ascending, each one once */
  uint64_t n_rows;
  const void *elements; /* row-major, of the param's dtype: of these rows, or of all */
} hia_param_gradient;

typedef struct hia_optimizing hia_optimizing;

/* NULL: fine; else what is wrong with the options. Numbers must be finite, except max_norm:
 * infinite, it is never reached. */
const char *hiaR_optimizer_check(const hia_trainer_options *options);
/* `specs` must be sound and outlive it; the options must be fine. Errors: HIA_MEMORY. */
hia_status hiaR_optimizing_new(const hia_param_spec *specs, uint32_t n,
                               const hia_trainer_options *options, const hia_allocator *allocator,
                               hia_optimizing **out);
void hiaR_optimizing_free(hia_optimizing *o); /* NULL: does nothing */

/* The norm of gradients. The squares are computed and added in f64: those of a param's elements, or
 * of the rows that are given, in the order of hiaR_sum_of_squares (update.h); then the sums of the
 * params in their order. */
double hiaR_gradients_norm(const hia_param_spec *specs, uint32_t n,
                           const hia_param_gradient *gradients);

/* Makes a step: the params gets a state with other values of the params that have gradients,
 * computed of its current one. All or nothing. `gradients` are by param, and outlive the call
 * alone. `norm` is theirs, for clipping: if it is above max_norm, they are multiplied by max_norm /
 * norm, rounded to the dtype. A norm that is no number clips nothing, and one that is infinite
 * multiplies by 0: so elements of gradients that are NaN or infinite make the elements of the
 * params NaN, and are not hidden. What a host does to the params at the same time counts as done
 * before the step, or after it. Errors: HIA_MEMORY. */
hia_status hiaR_optimizing_step(hia_optimizing *o, hia_params *params,
                                const hia_param_gradient *gradients, double norm);

uint64_t hiaR_optimizing_steps(const hia_optimizing *o);
double hiaR_optimizing_rate(const hia_optimizing *o);
/* From the next step on; above 0 and finite. */
void hiaR_optimizing_set_rate(hia_optimizing *o, double rate);

/* ---- the state, in files ----
 *
 * A checkpoint is a file of params that has further tensors, and can be loaded as such a file.
 * Those of the state have the shape and the dtype of their param; names of params have no dots, so
 * none of these is one.
 *
 *   W.momentum                 with HIA_SGD and momentum, for each param W
 *   W.squares                  with HIA_ADAGRAD
 *   W.mean, W.variance         with HIA_ADAM and HIA_ADAMW
 *   hiaton.steps      i64[1]   the number of steps
 *   hiaton.optimizer  i64[1]   0: SGD; 1: SGD with momentum; 2: Adagrad; 3: Adam; 4: AdamW
 *   hiaton.extra      i64[]    if there are further bytes: how many, then 8 in each word, from its
 *                              lowest byte on
 *
 * It is of safetensors, or an .npz if the path ends so. The rate and the other options are not in
 * it. */

/* Writes the values of the params's current state, the state of the optimizer, and `extra`, as
 * hia_trainer_save says. */
hia_status hiaR_optimizing_save(hia_optimizing *o, hia_params *params, const char *path,
                                const void *extra, size_t n_extra, hia_error **error);
/* *extra is of the optimizer's allocator. NULL: there are none, or n_extra was 0. Errors: HIA_IO;
 * HIA_ARGUMENT, if the file is no checkpoint of such params and of such an optimizer, where SGD
 * with and without momentum are two; HIA_MEMORY. */
hia_status hiaR_optimizing_load(hia_optimizing *o, hia_params *params, const char *path,
                                void **extra, size_t *n_extra, hia_error **error);

#endif
