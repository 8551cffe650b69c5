/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The state of making a graph function out of a checked instance, and the pieces of which graphs
 * are made: types, locations, nodes, branches, variables (pieces.c). */
#ifndef HIA_FRONTEND_PIECES_H
#define HIA_FRONTEND_PIECES_H

#include "frontend/kit/instance.h"

/* The types of a value's words. */
typedef struct hia_flat_type {
  uint32_t n;
  const hia_type *data;
  hia_type few[16];
} hia_flat_type;

/* One function being built. The words of a value are pushed on `words`; those of a variable lie in
 * `vars`, from slots[binder - first] on. */
typedef struct hia_elab {
  hia_program *p;
  hia_arena *arena; /* the graph's; nothing here lives in the program's */
  hia_graph *g;
  hia_fn_id *fns;    /* the functions of instances, or NONE */
  uint32_t *externs; /* the externs of the graph by their numbers in the program, or NONE */
  hia_u32vec copied; /* the graph's types by those of the program, less HIA_FIRST_TYPE; or NONE */
  hia_u32vec queue;  /* instances that have a function without a body yet */
  bool counted;      /* COUNT nodes are made */
  /* the function */
  hia_fn *fn;
  uint32_t source; /* name in the source: index into g->names */
  hia_ast_id first;
  uint32_t decl;
  const hia_itype *types; /* final, by node */
  const hia_dim **dims;   /* hia_inst.dims, by node */
  hia_region_id region;   /* where nodes go now */
  hia_u32vec words, vars;
  uint32_t *slots;   /* where the words of a variable begin in `vars`, by node */
  bool *is_used;     /* true for nodes that are binders to which some name refers */
  uint32_t n_copies; /* how often what is made now is made: once for each way to an arm */
  hia_ast_id result; /* the declared type of its result, if that has sizes; else NONE */
  enum { HIA_SIZES_ALL, HIA_SIZES_OF_TENSORS, HIA_SIZES_IN_ARRAYS } which_sizes; /* elab/sizes.c */
} hia_elab;

/* ---- types ---- */

static inline hia_itype hiaF_elab_itype(const hia_elab *e, hia_ast_id id) {
  return e->types[id - e->first];
}
hia_type hiaF_elab_type(hia_elab *e, hia_itype type); /* the graph's type */
void hiaF_elab_flatten(hia_elab *e, hia_itype type, hia_flat_type *out);

/* ---- locations ---- */

hia_loc_id hiaF_elab_loc(hia_elab *e, uint32_t pos);
/* The location of an operation that may fail because its operands do not fit: with operands 0 .. n.
 */
hia_loc_id hiaF_elab_loc_of(hia_elab *e, uint32_t pos, const hia_operand *operands, uint32_t n);

/* ---- values ---- */

static inline void hiaF_elab_push(hia_elab *e, hia_value_id value) {
  hiaR_push(e->arena, &e->words, value);
}
void hiaF_elab_constant(hia_elab *e, hia_type type, hia_word word, hia_loc_id loc); /* pushes it */
/* Appends a node of one result, and returns that. */
hia_value_id hiaF_elab_one(hia_elab *e, unsigned op, const hia_value_id *ins, uint32_t n,
                           hia_type type, uint64_t imm, hia_loc_id loc);
/* Makes a binder stand for words[base ...). */
void hiaF_elab_bind(hia_elab *e, hia_ast_id binder, hia_itype type, uint32_t base);

/* ---- branches ---- */

/* An `if` on `cond` with results of `type`. The caller fills region `regions`, then regions + 1,
 * ends each with hiaF_elab_yield, and then calls hiaF_elab_results. */
hia_node_id hiaF_elab_if(hia_elab *e, hia_value_id cond, hia_itype type, hia_loc_id loc);
static inline hia_region_id hiaF_elab_regions(const hia_elab *e, hia_node_id node) {
  return e->fn->nodes.data[node].regions;
}
/* Ends the region with words[base ...), which are popped. */
void hiaF_elab_yield(hia_elab *e, hia_region_id region, uint32_t base);
/* Pushes the results of a node; returns where they begin. */
uint32_t hiaF_elab_results(hia_elab *e, hia_node_id node);

#endif
