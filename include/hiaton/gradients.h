/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Checking gradients: what a program computes as the gradient of a function, next to differences of
 * the function's values. hiaton.h includes it.
 *
 *   hia_gradient_check *check;
 *   if (hia_gradient_check_new(loss, NULL, &check, &error) != HIA_OK) ...
 *   if (hia_gradient_check_run(check, args, n, NULL, &error) != HIA_OK) ...
 *   for (size_t i = 0; i < hia_gradient_check_count(check); i++) {
 *     hia_gradient_input in = HIA_GRADIENT_INPUT_INIT;
 *     if (hia_gradient_check_input(check, i, &in) == HIA_OK && in.n_differ)
 *       printf("the gradient for %s is wrong\n", in.name);
 *   }
 *   hia_gradient_check_free(check);
 *
 * The *inputs* of a check are those parameters of the function that are floats or tensors of
 * floats, and the params of the program that it may read. What else it takes is held constant. A
 * partial derivative is compared for each element of an input; of a large input for a sample of
 * them, and along random directions, to which all elements contribute.
 *
 * Differences are central ones, with steps from large to small, which Ridders' method extrapolates
 * ("Accurate computation of F'(x) and F'(x)F''(x)", Advances in Engineering Software 4, 1982): it
 * also gives an estimate of their error. Differences from below and from above alone show kinks.
 *
 * A check belongs to one thread at a time. While hia_gradient_check_run runs, the params of the
 * module change, and at its end they are again what they were: no other thread may set params of
 * the module meanwhile, and runs that others begin see the changed ones. The bits of a report
 * depend on the params, the arguments and the options alone. */
#ifndef HIATON_GRADIENTS_H
#define HIATON_GRADIENTS_H

#include <hiaton/engine.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hia_gradient_check hia_gradient_check;

/* Begins with HIA_GRADIENT_CHECK_OPTIONS_INIT: the size lets options be added later. */
typedef struct hia_gradient_check_options {
  size_t size;
  /* Names of the inputs to compare, n_wrt of them: of parameters, or else of params. NULL and 0:
   * all. */
  const char *const *wrt;
  size_t n_wrt;
  /* A gradient and a difference may differ by this fraction of the larger of both, and by what the
   * difference itself is in doubt of. 0: 1e-6, and 1e-3 if the input or the result is an f32. */
  double tolerance;
  double step;         /* the first, largest step; 0: chosen for each element by its magnitude */
  uint64_t samples;    /* of an input with more elements as many are compared; 1 or more */
  uint64_t directions; /* along which a larger input is compared, too */
  uint64_t seed;       /* from which elements and directions are chosen */
} hia_gradient_check_options;
#define HIA_GRADIENT_CHECK_OPTIONS_INIT                                                            \
  {sizeof(hia_gradient_check_options), NULL, 0, 0, 0, 100, 2, 0}

/* Makes a check of a function whose result is an f32 or f64. It holds the module. `options` may be
 * NULL: those of INIT; names are copied. Errors: HIA_ARGUMENT, if the function is generic, if its
 * result is another or it has no inputs, for a name that is none of an input, and for options out
 * of range; HIA_UNSUPPORTED, if a derivative does not exist; HIA_MEMORY. */
HIA_API hia_status hia_gradient_check_new(hia_function *function,
                                          const hia_gradient_check_options *options,
                                          hia_gradient_check **check, hia_error **error);
HIA_API void hia_gradient_check_free(hia_gradient_check *check);

/* Compares at these arguments, those of the function, n of them, and at the current params. `run`
 * are options of each run, as for hia_run, or NULL. Makes some forty runs for each derivative that
 * is compared. A run near the arguments that fails as the program says, or gives no finite number,
 * is no error: there the function has no value. Errors: HIA_ARGUMENT, if the value at the arguments
 * is not finite; those of hia_run, of the run at the arguments, and of all runs if a resource or a
 * limit ended one. The report of an earlier run is gone then. */
HIA_API hia_status hia_gradient_check_run(hia_gradient_check *check, hia_value *const *args,
                                          size_t n, const hia_run_options *run, hia_error **error);

/* ---- the report of the last run ---- */

typedef enum hia_gradient_verdict {
  HIA_GRADIENT_AGREES,
  /* The differences from both sides disagree, or one side has no values: a kink, a jump, or the end
     of the domain is here. Nothing is wrong, and nothing has been compared. */
  HIA_GRADIENT_SIDES,
  /* The differences do not say enough: rounding or curvature is too large for all steps. */
  HIA_GRADIENT_UNSURE,
  HIA_GRADIENT_DIFFERS,
} hia_gradient_verdict;

/* In place of an element: a direction, along which each element of the input grows or falls by the
 * same. */
#define HIA_GRADIENT_DIRECTION UINT64_MAX

/* A derivative that was compared. */
typedef struct hia_gradient_entry {
  size_t size;
  uint64_t element;    /* in row-major order; of a scalar 0; or HIA_GRADIENT_DIRECTION */
  double gradient;     /* what the program computes */
  double difference;   /* what differences say; NaN if there are none */
  double doubt;        /* estimate of the error of `difference` */
  double below, above; /* of one side alone; NaN if the function has no values there */
  uint64_t verdict;    /* a hia_gradient_verdict */
} hia_gradient_entry;
#define HIA_GRADIENT_ENTRY_INIT {sizeof(hia_gradient_entry), 0, 0, 0, 0, 0, 0, 0}

typedef struct hia_gradient_input {
  size_t size;
  const char *name;    /* of the parameter or param; "" of a parameter of a graph that was read. It
                          lives as long as the module */
  size_t number;       /* of the parameter among those of the function, or of the param */
  size_t is_param;     /* 1: of a param of the program */
  size_t rank;         /* of a scalar 0 */
  const int64_t *dims; /* as many; valid until the next run */
  uint64_t n_elements; /* of the input, at these arguments */
  /* Entries, and how many of them there are with each verdict. */
  uint64_t n_entries, n_agree, n_sides, n_unsure, n_differ;
  /* The number of the entry in which gradient and difference are farthest from each other, in
   * proportion to what is allowed, of those with the gravest verdict: differs, then agrees, unsure,
   * sides. 0 if there are none. */
  uint64_t worst;
} hia_gradient_input;
#define HIA_GRADIENT_INPUT_INIT {sizeof(hia_gradient_input), "", 0, 0, 0, NULL, 0, 0, 0, 0, 0, 0, 0}

/* The number of inputs: parameters in their order, then params in theirs. Known before a run. */
HIA_API size_t hia_gradient_check_count(const hia_gradient_check *check);
/* What was found of input i. HIA_ARGUMENT if there is none, or there was no run. */
HIA_API hia_status hia_gradient_check_input(const hia_gradient_check *check, size_t i,
                                            hia_gradient_input *input);
/* Entry k of input i, in the order of the elements, directions last. HIA_ARGUMENT if there is none,
 * or there was no run. */
HIA_API hia_status hia_gradient_check_entry(const hia_gradient_check *check, size_t i, uint64_t k,
                                            hia_gradient_entry *entry);
/* The value of the function at the arguments; NaN if there was no run. */
HIA_API double hia_gradient_check_value(const hia_gradient_check *check);

#ifdef __cplusplus
}
#endif

#endif
