/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Making graphs: functions, nodes, and the tables of a graph. */
#ifndef HIA_GRAPH_BUILD_H
#define HIA_GRAPH_BUILD_H

#include "graph/ir/graph.h"

hia_graph *hiaG_new(hia_comp *comp, hia_types *types, const char *file);
/* Names are interned. */
uint32_t hiaG_name(hia_graph *g, const char *name);
/* So are locations: the same position with the same parent has the same index. */
hia_loc_id hiaG_loc(hia_graph *g, uint32_t line, uint32_t col, uint32_t fn_name, hia_loc_id parent);

/* Adds a function. Its body region has the ARG nodes and nothing else. */
hia_fn_id hiaG_fn_new(hia_graph *g, const char *name, uint32_t source, hia_loc_id loc,
                      const hia_type *params, uint32_t n_params, const hia_type *results,
                      uint32_t n_results);
/* Adds a function with the parameters of another one, and a name that ends in `suffix`: it becomes
 * the only root. `result`: as the host sees it. Its body is yet to be made. */
hia_fn_id hiaG_root_new(hia_graph *g, hia_fn_id like, const char *suffix, const hia_type *results,
                        uint32_t n_results, hia_type result);
/* Returns a name that no function has which is still there: `of` with `suffix`, perhaps several
 * times. (A graph that was read may contain any name.) */
const char *hiaG_new_name(hia_graph *g, const char *of, const char *suffix);

/* Adds a function of the host; no other may have its name. Names and types are copied. */
uint32_t hiaG_extern_new(hia_graph *g, const char *name, bool is_impure, bool raises,
                         const hia_type *params, uint32_t n_params, hia_type result);
/* Writes "extern impure fn roll(i32) -> i32": two externs whose texts are equal have one
 * declaration. */
void hiaG_extern_print(const hia_types *types, const char *name, bool is_impure,
                       const hia_type *params, uint32_t n_params, hia_type result, hia_text *out);

/* Adds a param, which is sound; no other may have its name, which is copied. */
uint32_t hiaG_param_new(hia_graph *g, const hia_param_spec *spec);
/* Returns the type of a param's value. */
hia_type hiaG_param_type(hia_types *types, const hia_param_spec *spec);

/* Adds a param for a tensor that is an argument, or of a known object (graph->arguments), which is
 * copied. `shape`: of its spec. */
uint32_t hiaG_argument_new(hia_graph *g, hia_dtype dtype, const hia_dims *shape,
                           const hia_argument *argument);

/* Adds a literal, whose elements are all 0: the caller puts them there. HIA_NONE: no memory could
 * hold it. */
uint32_t hiaG_literal_new(hia_graph *g, hia_dtype dtype, const hia_dims *shape);
/* Adds what GRAD nodes compute; `wrt` is copied. */
uint32_t hiaG_gradient_new(hia_graph *g, hia_fn_id fn, bool has_value, const hia_wrt *wrt,
                           uint32_t n);
/* Returns the type of the gradient with respect to one of these. */
hia_type hiaG_wrt_type(const hia_graph *g, hia_fn_id fn, const hia_wrt *wrt);

/* Appends a node at the end of a region, and returns it. Its results are hiaG_out(fn, node, i);
 * `out_types` has n_outs entries. Its regions are made too, empty; the caller adds the
 * ARGs of a HEAD or an EACH, before all other nodes. In the static state nodes are not linked, and
 * the caller sets the bounds of regions. */
hia_node_id hiaG_add(hia_graph *g, hia_fn *fn, hia_region_id region, unsigned op,
                     const hia_value_id *ins, uint32_t n_ins, const hia_type *out_types,
                     uint32_t n_outs, uint64_t imm, hia_loc_id loc);
/* Adds such a node before node `at` of the same region (function state). */
hia_node_id hiaG_insert(hia_graph *g, hia_fn *fn, hia_node_id at, unsigned op,
                        const hia_value_id *ins, uint32_t n_ins, const hia_type *out_types,
                        uint32_t n_outs, uint64_t imm, hia_loc_id loc);
/* Shorthands that append: one result, its type that of hiaG_op_type. hiaG_op is for ops without an
 * immediate whose operands say it all. */
hia_value_id hiaG_computed(hia_graph *g, hia_fn *fn, hia_region_id region, unsigned op,
                           const hia_value_id *ins, uint32_t n_ins, hia_dtype result, uint64_t imm,
                           hia_loc_id loc);
hia_value_id hiaG_op(hia_graph *g, hia_fn *fn, hia_region_id region, unsigned op,
                     const hia_value_id *ins, uint32_t n_ins, hia_loc_id loc);
hia_value_id hiaG_const(hia_graph *g, hia_fn *fn, hia_region_id region, hia_type type,
                        hia_word word, hia_loc_id loc);
void hiaG_yield(hia_graph *g, hia_fn *fn, hia_region_id region, const hia_value_id *ins,
                uint32_t n);
/* Ends the region, which yields the results of node n. */
void hiaG_yield_outs(hia_graph *g, hia_fn *fn, hia_region_id region, hia_node_id n);

#endif
