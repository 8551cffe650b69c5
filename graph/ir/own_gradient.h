/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The function that computes the gradient of a function or of an extern, "its own", in place of
 * those that the pass `grad` would make. That has the parameters, then a gradient of each result
 * that is a float or a tensor of floats, and then, if it takes them, the results; its results are
 * the gradients of those parameters that are floats or tensors of floats. Nothing flows to the
 * others. */
#ifndef HIA_OWN_GRADIENT_H
#define HIA_OWN_GRADIENT_H

#include "graph/ir/graph.h"

typedef struct hia_own {
  hia_fn_id gradient; /* NONE: there is none */
  bool takes_results;
} hia_own;
hia_own hiaG_own_gradient(const hia_graph *g, const hia_node *call); /* of a CALL or HOST */
hia_own hiaG_own_of_fn(const hia_graph *g, const hia_fn *fn);
bool hiaG_has_own_gradient(const hia_graph *g, const hia_node *call);
/* True if the function has such parameters and results. */
bool hiaG_fits_as_gradient(const hia_graph *g, hia_fn_id gradient, const hia_type *params,
                           uint32_t n_params, const hia_type *results, uint32_t n_results);
/* True if the type is f32, f64, or a tensor of these. */
bool hiaG_is_of_floats(const hia_types *types, hia_type type);
/* True if a call of a function of the host has no gradient. One of integers is constant. */
bool hiaG_extern_lacks_gradient(const hia_extern *e);

#endif
