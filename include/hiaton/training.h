/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Training: the params of a module follow the gradient of a loss. hiaton.h includes it.
 *
 *   hia_trainer_options options = HIA_TRAINER_OPTIONS_INIT;
 *   options.optimizer = HIA_ADAM;
 *   hia_trainer *trainer;
 *   if (hia_trainer_new(loss, &options, &trainer, &error) != HIA_OK) ...
 *   for (int i = 0; i < n_batches; i++)
 *     if (hia_trainer_step(trainer, &batches[i], 1, NULL, &value, &error) != HIA_OK) ...
 *
 * A *step* calls the loss, a function of the module whose result is an f32 or f64, computes the
 * gradient of every param that the loss may read, and changes these params. Params change all at
 * once, and only if the whole step succeeds: a step that fails has changed neither params nor the
 * state of the optimizer. Runs that began before see the params as they were (params.h).
 *
 * The bits of what a step computes depend on the params, the arguments, the options, and the state
 * alone: not on the engine, the machine, or the number of threads.
 *
 * A trainer belongs to one thread at a time. The module may be used by others meanwhile, who may
 * also set params: a step takes its gradient at the params with which its run began, and changes
 * those that are current when it has the gradient. */
#ifndef HIATON_TRAINING_H
#define HIATON_TRAINING_H

#include <hiaton/engine.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hia_trainer hia_trainer;

/* How a param w follows its gradient g; `rate`, `momentum` and so on are those of the options. All
 * is computed in the param's dtype, each operation rounded by itself, in the order that is written.
 *
 * A param may be gathered by rows only, as the vectors of words are. Then only the rows that a step
 * has read change, with their parts of the state: the others stay as they are, also with momentum
 * or decay. A param that is read as a whole is changed as a whole. */
typedef enum hia_optimizer {
  /* g' = g + decay * w; v = momentum * v + g'; w = w - rate * v. Without momentum there is no v. */
  HIA_SGD,
  /* g' = g + decay * w; s = s + g' * g'; w = w - rate * g' / (sqrt(s) + epsilon). (Duchi, Hazan,
     Singer, JMLR 2011.) */
  HIA_ADAGRAD,
  /* g' = g + decay * w; m = beta1 * m + (1 - beta1) * g'; v = beta2 * v + (1 - beta2) * g' * g';
     w = w - rate / (1 - beta1^t) * m / (sqrt(v) / sqrt(1 - beta2^t) + epsilon), t being the number
     of the step, from 1 on. (Kingma, Ba, ICLR 2015, algorithm 1.) */
  HIA_ADAM,
  /* As HIA_ADAM, but g' = g, and first w = w - rate * decay * w. (Loshchilov, Hutter, "Decoupled
     weight decay regularization", ICLR 2019.) */
  HIA_ADAMW,
} hia_optimizer;
#define HIA_N_OPTIMIZERS 4

/* Begins with HIA_TRAINER_OPTIONS_INIT: the size lets options be added later. */
typedef struct hia_trainer_options {
  size_t size;
  hia_optimizer optimizer;
  /* What the equation of the optimizer does not have is checked, and not used. */
  double rate;         /* above 0 */
  double momentum;     /* from 0 on and below 1 */
  double beta1, beta2; /* from 0 on and below 1 */
  double epsilon;      /* from 0 on */
  double decay;        /* from 0 on */
  /* If the norm of all gradients together, the square root of the sum of the squares of all their
   * elements, is above this, they are multiplied by max_norm / norm first. 0: never. */
  double max_norm;
} hia_trainer_options;
#define HIA_TRAINER_OPTIONS_INIT                                                                   \
  {sizeof(hia_trainer_options), HIA_ADAM, 0.001, 0, 0.9, 0.999, 1e-8, 0, 0}

/* Makes a trainer of a loss. It holds the module. `options` may be NULL: those of INIT. Errors:
 * HIA_ARGUMENT, if the result of the loss is no f32 or f64, if it may read no param, or call a
 * function of the host's that states no gradient, and for options out of range; HIA_UNSUPPORTED, if
 * a derivative does not exist; HIA_MEMORY. */
HIA_API hia_status hia_trainer_new(hia_function *loss, const hia_trainer_options *options,
                                   hia_trainer **trainer, hia_error **error);
HIA_API void hia_trainer_free(hia_trainer *trainer);

/* Makes a step. `args` are those of the loss, n of them; `run` are options of its run, as for
 * hia_run, or NULL: limits, a cancel, statistics. *loss becomes the value of the loss before the
 * step; it may be NULL. Errors: those of hia_run. */
HIA_API hia_status hia_trainer_step(hia_trainer *trainer, hia_value *const *args, size_t n,
                                    const hia_run_options *run, double *loss, hia_error **error);

/* A step in two: this computes the loss and its gradient, and hia_trainer_update changes the
 * params. Between them the host may read the gradient, and do without the update. */
HIA_API hia_status hia_trainer_gradient(hia_trainer *trainer, hia_value *const *args, size_t n,
                                        const hia_run_options *run, double *loss,
                                        hia_error **error);
/* Errors: HIA_ARGUMENT, if there is no gradient, or it has been used; HIA_MEMORY. */
HIA_API hia_status hia_trainer_update(hia_trainer *trainer, hia_error **error);
/* A copy of the last gradient of param i of the module, of the param's type, before clipping; the
 * caller frees it. Of a param that the loss does not read it is zeros. Errors: HIA_NOT_FOUND;
 * HIA_ARGUMENT, if there is none; HIA_MEMORY. */
HIA_API hia_status hia_trainer_gradient_of(hia_trainer *trainer, size_t i, hia_value **gradient,
                                           hia_error **error);
/* The norm of the last gradient, before clipping; 0: there is none. */
HIA_API double hia_trainer_norm(const hia_trainer *trainer);

/* What making the steps' function ready has cost so far: as hia_function_get_stats of the function
 * that computes the loss and its gradient. HIA_ARGUMENT if a pointer is NULL or the size is wrong.
 */
HIA_API hia_status hia_trainer_get_stats(const hia_trainer *trainer, hia_function_stats *stats);

/* Steps whose updates have been made, with those of the state that was loaded. */
HIA_API uint64_t hia_trainer_steps(const hia_trainer *trainer);
/* Another rate from the next update on: above 0, else HIA_ARGUMENT. */
HIA_API hia_status hia_trainer_set_rate(hia_trainer *trainer, double rate);
HIA_API double hia_trainer_rate(const hia_trainer *trainer);

/* Writes a checkpoint: the params, the state of the optimizer, and the number of steps, as a
 * safetensors file, or as a .npz if the path ends so. Tensors of the params have their names; the
 * state of a param W is W.momentum, or W.squares, or W.mean and W.variance; hiaton.steps is a
 * tensor of one i64. `extra`, if it is not NULL, are n_extra further bytes of the host's, which
 * hia_trainer_load returns. The file appears whole and on the disk, or not at all: an older one of
 * this name stays until then. Errors: HIA_IO, HIA_MEMORY. */
HIA_API hia_status hia_trainer_save(hia_trainer *trainer, const char *path, const void *extra,
                                    size_t n_extra, hia_error **error);
/* Sets the params, the state and the number of steps to those of such a file; the optimizer must be
 * the same. *extra becomes the host's bytes, to be freed with hia_trainer_free_extra; or NULL. Both
 * may be NULL. Nothing is changed if it fails. Errors: HIA_IO, HIA_ARGUMENT, HIA_MEMORY. */
HIA_API hia_status hia_trainer_load(hia_trainer *trainer, const char *path, void **extra,
                                    size_t *n_extra, hia_error **error);
HIA_API void hia_trainer_free_extra(hia_trainer *trainer, void *extra, size_t n_extra);

#ifdef __cplusplus
}
#endif

#endif
