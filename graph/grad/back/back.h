/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Private to this folder, which builds f.back: the walk through f backwards, which adds up the
 * gradients of its values. grad.h says what f.back is.
 *
 * What f.back reads of f's activation is not known before it is built. So each value of f that some
 * rule gets is stood for by an UNDEF node at the beginning of the region where it would be read;
 * those that are used in the end are kept, and become fields of the tape (../layout.c).
 *
 * The order of additions is that of going backwards, and a branch or loop adds what its nodes have
 * added; but to a tensor that it reads by index a branch adds node by node (branch.c). So the order
 * depends on the source alone.
 *
 *   back.c       f.back as a whole: from the gradients of f's results to those of its parameters
 *   walk.c       goes through a region; it alone knows which file goes through which op
 *   branch.c, loop.c, map.c   nodes with regions
 *   op.c, call.c, data.c, array.c, sum.c   nodes without
 *   rerun.c      the bodies of calls that f.back makes again
 *   gradient.c   the gradients of values, as they are added up
 *   read.c       what f.back reads of f
 *   choose.c     which gradients are sums
 *
 * walk.c and branch.c, loop.c, map.c call each other, since regions nest: a node with regions goes
 * through each of them as the walk goes through the body. Nothing else here is circular. */
#ifndef HIA_GRAD_BACK_H
#define HIA_GRAD_BACK_H

#include "graph/grad/shared.h"
#include "graph/ir/build.h"

/* The gradient of a value in the scope around, while a scope has another one. */
typedef struct hia_saved_gradient {
  uint32_t id;
  hia_value_id gradient;
  uint32_t scope;
} hia_saved_gradient;

/* The walk. Gradients have ids: that of a value of fn is the value, that of a param of the program
 * is its number behind all values. */
typedef struct hia_reverse {
  hia_back *b;
  hia_grad *d;
  hia_graph *g;
  const hia_fn *fn;
  hia_fn *back;
  hia_value_id *gradient; /* by id, in this scope; NONE: none so far */
  uint32_t *scope_of;     /* by id: the scope of that */
  uint32_t scope, n_scopes;
  HIA_VEC(hia_saved_gradient) saved;
  uint32_t grad_region; /* the one that the walk goes through */
  hia_region_id region; /* where the nodes of f.back go */
  hia_loc_id loc;       /* of these */
  uint32_t depth;
} hia_reverse;

/* ---- nodes of f.back ---- */

static inline hia_grad_at here(const hia_reverse *r) {
  return (hia_grad_at){r->back, r->region, r->loc};
}
/* An op of one operand or, if b is not NONE, of two. */
static inline hia_value_id op_of(hia_reverse *r, unsigned op, hia_value_id a, hia_value_id b) {
  return hiaG_op(r->g, r->back, r->region, op, (hia_value_id[]){a, b}, b == HIA_NONE ? 1 : 2,
                 r->loc);
}
static inline hia_value_id constant(hia_reverse *r, hia_type type, hia_word word) {
  return hiaG_const(r->g, r->back, r->region, type, word, r->loc);
}
static inline hia_node_id node_of(hia_reverse *r, unsigned op, const hia_value_id *ins,
                                  uint32_t n_ins, const hia_type *outs, uint32_t n_outs,
                                  uint64_t imm) {
  return hiaG_add(r->g, r->back, r->region, op, ins, n_ins, outs, n_outs, imm, r->loc);
}
static inline hia_value_id value_of(hia_reverse *r, unsigned op, const hia_value_id *ins,
                                    uint32_t n_ins, hia_type out, uint64_t imm) {
  return hiaG_out(r->back, node_of(r, op, ins, n_ins, &out, 1, imm), 0);
}
/* Adds an ARG of a region of f.back, with the location of the node of f that has such a region. */
static inline hia_value_id arg_of(hia_reverse *r, hia_region_id region, hia_type type, uint32_t i,
                                  hia_loc_id loc) {
  return hiaG_out(r->back, hiaG_add(r->g, r->back, region, HIA_OP_ARG, NULL, 0, &type, 1, i, loc),
                  0);
}

/* ---- read.c: what f.back reads of f ---- */

/* Adds a region of f, and returns its index in b->grad_regions. */
uint32_t hiaG_back_add_region(hia_reverse *r, hia_grad_region_kind kind, hia_region_id forward,
                              hia_region_id region, uint32_t outer, uint32_t record);
/* Returns what stands for the record of a node of f, of this type. */
hia_value_id hiaG_back_record(hia_reverse *r, hia_node_id n, hia_type type);
/* Returns the value of f.back that is equal to a value of f. */
hia_value_id hiaG_back_read(hia_reverse *r, hia_value_id v);
/* Notes that a value of f.back has the shape of a value of f, for which it is a gradient. */
void hiaG_back_same_shape(hia_reverse *r, hia_value_id x, hia_value_id v);
/* Drops what was kept for node n, and in it: its gradient turned out to be zero. */
void hiaG_back_forget(hia_reverse *r, hia_node_id n);

/* ---- gradient.c: gradients by id ---- */

/* Returns the id of v's gradient. All reads of one param share an id. */
uint32_t hiaG_back_id(const hia_reverse *r, hia_value_id v);
bool hiaG_back_is_param(const hia_reverse *r, uint32_t id);
bool hiaG_back_is_sum(const hia_reverse *r, uint32_t id);
hia_type hiaG_back_type(const hia_reverse *r, uint32_t id);
/* Returns where the gradient in this scope is; its value may be NONE. */
hia_value_id *hiaG_back_gradient(hia_reverse *r, uint32_t id);
/* Returns the sum of two gradients. */
hia_value_id hiaG_back_plus(hia_reverse *r, hia_type type, hia_value_id a, hia_value_id b);
/* Adds x to a gradient, of which it has the type. */
void hiaG_back_add(hia_reverse *r, uint32_t id, hia_value_id x);
/* Adds x, which is no sum, to the gradient of a value of f, if that varies. */
void hiaG_back_add_dense(hia_reverse *r, hia_value_id v, hia_value_id x);
hia_value_id hiaG_back_zero(hia_reverse *r, uint32_t id);
/* Returns the gradient of a value, which is complete, and forgets it. NONE: there is none. */
hia_value_id hiaG_back_take(hia_reverse *r, hia_value_id v);
/* Takes the gradients of all results of a node of f. */
hia_value_id *hiaG_back_take_all(hia_reverse *r, hia_node_id n, bool *is_some);
/* Converts the gradient of a value of f from the form in which it is added up to the form in which
 * objects have it (data.c of graph/grad); and back. */
hia_value_id hiaG_back_to_stored(hia_reverse *r, hia_value_id v, hia_value_id x);
hia_value_id hiaG_back_from_stored(hia_reverse *r, hia_value_id v, hia_value_id x);

/* A branch of f.back on a gradient of a data type: whether there is one. Its results are gradients
 * of the operands of a DATA node. */
typedef struct hia_given {
  hia_node_id branch;
  hia_region_id arms, around; /* the first arm: there is one; the region of the branch */
  hia_u32vec ids, yields[2];
  HIA_VEC(hia_type) types;
} hia_given;
/* Begins one, in whose first arm f.back's nodes go from here on. */
hia_given hiaG_back_begin_given(hia_reverse *r, hia_value_id dy);
/* Nodes go into the second arm, for the next result; hiaG_back_give goes back to the first one. */
void hiaG_back_not_given(hia_reverse *r, const hia_given *given);
/* Gives the branch a result, by the id of its gradient: `x` in the first arm, `none` else. */
void hiaG_back_give(hia_reverse *r, hia_given *given, uint32_t id, hia_value_id x,
                    hia_value_id none);
/* Ends it. Result i is for given->ids[i]. */
void hiaG_back_end_given(hia_reverse *r, hia_given *given);

/* A scope is a region while it is gone through: what its nodes add to the gradients of values from
 * outside is found when it ends. */
typedef struct hia_contribution {
  uint32_t id;
  hia_value_id gradient;
} hia_contribution;
typedef HIA_VEC(hia_contribution) hia_contributions;
/* Begins a scope. Returns what hiaG_back_close needs, and sets *around likewise. */
uint32_t hiaG_back_open(hia_reverse *r, uint32_t *around);
/* Ends the newest scope, and returns what it has found for values from outside, by ids. */
hia_contributions hiaG_back_close(hia_reverse *r, uint32_t begin, uint32_t around);

/* ---- walk.c ---- */

/* Goes through a region of f. */
void hiaG_back_region(hia_reverse *r, uint32_t grad_region);
/* Goes through a region of f in a scope of its own, given the gradients of what the region
 * yields, by operand of its YIELD (NONE: none). Those of some values from outside are `so_far`, to
 * which the region adds, and not to nothing. */
hia_contributions hiaG_back_arm(hia_reverse *r, uint32_t grad_region, const hia_value_id *gradients,
                                hia_contributions so_far);

/* ---- through one node of f ---- */

void hiaG_back_branch(hia_reverse *r, hia_node_id n); /* branch.c */
void hiaG_back_loop(hia_reverse *r, hia_node_id n);   /* loop.c */
void hiaG_back_map(hia_reverse *r, hia_node_id n);    /* map.c */
void hiaG_back_op(hia_reverse *r, hia_node_id n);     /* op.c */
void hiaG_back_call(hia_reverse *r, hia_node_id n);   /* call.c */
void hiaG_back_own(hia_reverse *r, hia_node_id n);    /* call.c: of what has its own gradient */
void hiaG_back_data(hia_reverse *r, hia_node_id n);   /* data.c */
void hiaG_back_field(hia_reverse *r, hia_node_id n);  /* data.c */
void hiaG_back_sum(hia_reverse *r, hia_node_id n,
                   hia_value_id dy);                   /* sum.c: of a DATA that is a sum */
void hiaG_back_collect(hia_reverse *r, hia_node_id n); /* sum.c */
void hiaG_back_pack(hia_reverse *r, hia_node_id n);    /* array.c */
void hiaG_back_array(hia_reverse *r, hia_node_id n);   /* array.c */
void hiaG_back_at(hia_reverse *r, hia_node_id n);      /* array.c */
void hiaG_back_slice(hia_reverse *r, hia_node_id n);   /* array.c */
void hiaG_back_set(hia_reverse *r, hia_node_id n);     /* array.c */
void hiaG_back_concat(hia_reverse *r, hia_node_id n);  /* array.c */

/* ---- rerun.c: the bodies of calls that f.back makes again (again.c of graph/grad) ---- */

/* Enters a rerun from its end: inserts the call that computes it again; reads inside take that
 * call's results. */
void hiaG_back_enter_rerun(hia_reverse *r, hia_node_id n);
void hiaG_back_leave_rerun(hia_reverse *r);

/* ---- choose.c ---- */

/* Sets b->is_sum. */
void hiaG_back_choose_sums(hia_reverse *r);

#endif
