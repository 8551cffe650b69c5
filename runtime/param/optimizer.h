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

/* NULL: fine; else what is wrong with the options. */
const char *hiaR_optimizer_check(const hia_trainer_options *options);
/* `specs` must outlive it. Errors: HIA_MEMORY. */
hia_status hiaR_optimizing_new(const hia_param_spec *specs, uint32_t n,
                               const hia_trainer_options *options, const hia_allocator *allocator,
                               hia_optimizing **out);
void hiaR_optimizing_free(hia_optimizing *o); /* NULL: does nothing */

/* The norm of gradients: the squares are added in f64, by param, in HIA_LANES lanes (tensor/sum.h).
 */
double hiaR_gradients_norm(const hia_param_spec *specs, uint32_t n,
                           const hia_param_gradient *gradients);

/* Makes a step: the cell gets a state with other values of the params that have gradients, computed
 * of its current one. `norm` is that of the gradients, for clipping. All or nothing. Errors:
 * HIA_MEMORY. */
hia_status hiaR_optimizing_step(hia_optimizing *o, hia_param_cell *cell,
                                const hia_param_gradient *gradients, double norm);

uint64_t hiaR_optimizing_steps(const hia_optimizing *o);
void hiaR_optimizing_set_rate(hia_optimizing *o, double rate);

/* ---- the state, in files ---- */

/* Writes the values of the cell's current state, the state of the optimizer, and `extra`, as
 * hia_trainer_save says. */
hia_status hiaR_optimizing_save(hia_optimizing *o, hia_param_cell *cell, const char *path,
                                const void *extra, size_t n_extra, hia_error **error);
/* *extra is of the optimizer's allocator. */
hia_status hiaR_optimizing_load(hia_optimizing *o, hia_param_cell *cell, const char *path,
                                void **extra, size_t *n_extra, hia_error **error);

#endif
