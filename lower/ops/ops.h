/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Operations as IR: an emitter for each op, in one file for each family of ops; those of calls,
 * forks and the host are in function/. Only dispatch.c knows them all. It is called by what builds
 * nodes of any op: the body of a function, the test whether a fork pays, and the loops of fused
 * kernels. An emitter never calls it. */
#ifndef HIA_LOWER_OPS_H
#define HIA_LOWER_OPS_H

#include "lower/kit/emit.h"

/* Every op has one emitter. It builds node n of emit->fn. */
typedef void hia_emitter(hia_emit *e, hia_node_id n);
#define HIA_EMIT_OWN(NAME) hia_emitter hiaL_emit_##NAME;
#define HIA_EMIT_OPERATION(NAME)
#define HIA_EMIT_NONE(NAME)
#define HIA_OP(number, NAME, name, symbol, ins, outs, RULE, SHAPE, IMM, traits, cost, COST,        \
               GRADIENT, KERNEL, EMIT, doc)                                                        \
  HIA_EMIT_##EMIT(NAME)
#include "runtime/base/ops.def"
#undef HIA_EMIT_OWN
#undef HIA_EMIT_OPERATION
#undef HIA_EMIT_NONE
hia_emitter hiaL_emit_operation; /* the emitter of all operations on tensors */
/* The hia_native_operation of such a node. */
LLVMValueRef hiaL_operation(hia_emit *e, hia_node_id n);

/* ---- dispatch.c ---- */

/* Builds node n of emit->fn by the emitter of its op. It needs nothing but the node's operands. */
void hiaL_emit_node(hia_emit *e, hia_node_id n);

/* ---- elementary.c ---- */

/* Builds the value of an elementary function (runtime/base/elementary.h) of its operands: scalars,
 * or vectors, of f32 or f64. NULL: that function is not defined there, as `rem`; or vectors are
 * longer than 64. The builder may end in another block: operands that are far have one. The code is
 * right on every machine, but without the instruction for fused multiply-add it calls libm twenty
 * times. */
LLVMValueRef hiaL_elementary(LLVMBuilderRef b, const char *name, const LLVMValueRef *args);
/* Calls a function of the module that has this code. NULL: the target lacks the instruction, or as
 * above. */
LLVMValueRef hiaL_call_elementary(hia_emit *e, const char *name, hia_dtype t, LLVMValueRef *args,
                                  uint32_t n_args);

/* ---- control.c ---- */

/* The round of a loop ends where the builder stands: its Merges get the values of the next round.
 * `first`: the loop's first entry of emit->local.merges. */
void hiaL_close_merges(hia_emit *e, uint32_t first);

/* ---- pending.c ---- */

/* Waits until the elements of a tensor, or of those in an object, are there. */
void hiaL_wait_for(hia_emit *e, LLVMValueRef x, hia_type type, hia_loc_id loc);
/* Waits until an object has all of its words. */
void hiaL_wait_for_words(hia_emit *e, LLVMValueRef object, hia_loc_id loc);

/* ---- read.c: what the code of a graph that was read from text tests; else nothing ---- */

/* A reference that nobody has set. In such a graph a tensor without elements. */
LLVMValueRef hiaL_unset(hia_emit *e, hia_type type);
void hiaL_unset_elements(hia_emit *e, LLVMValueRef elements, LLVMValueRef n, hia_type array);
void hiaL_require_object(hia_emit *e, LLVMValueRef ref, hia_loc_id loc);
/* The address is that of a DEST or HOLE_AT: the verifier makes sure that it is one of these, or an
 * UNDEF. */
void hiaL_require_address(hia_emit *e, LLVMValueRef address, hia_loc_id loc);
/* The tensor has this shape. */
void hiaL_require_row(hia_emit *e, LLVMValueRef tensor, const hia_dims *shape, hia_loc_id loc);
/* Waits for the operands whose elements the node reads. */
void hiaL_wait_for_operands(hia_emit *e, hia_node_id n);
/* The address of a DEST, in such a graph. */
LLVMValueRef hiaL_new_destination(hia_emit *e, hia_loc_id loc);

/* ---- data.c ---- */

/* Writes the words of a constructor with fields into its object: the operands from `first` on,
 * those that are in the set, or those that are not. */
void hiaL_write_words(hia_emit *e, hia_node_id n, LLVMValueRef object, const hia_ctor *ctor,
                      uint32_t first, uint32_t set, bool is_in);

/* Takes the memory of DATA n, and writes the header. */
LLVMValueRef hiaL_begin_data(hia_emit *e, hia_node_id n);
/* Stores operand i of DATA n, which has been computed, in the object. */
void hiaL_write_word(hia_emit *e, hia_node_id n, LLVMValueRef object, uint32_t i);

/* ---- early.c ---- */

void hiaL_plan_early(hia_emit *e); /* before the nodes of emit->fn */
/* Before node n, and behind it: begins objects that are filled early, and stores words in them. */
void hiaL_open_early(hia_emit *e, hia_node_id n);
void hiaL_store_early(hia_emit *e, hia_node_id n);
/* Returns the object of DATA n, with all its words, if it was begun early; or NULL. */
LLVMValueRef hiaL_early_object(hia_emit *e, hia_node_id n);

/* ---- count.c ---- */

void hiaL_open_counts(hia_emit *e); /* before the nodes of emit->fn */
/* The base of a type, as hiaR_shapes_new numbers shapes: those of constructors, then arrays. */
uint32_t hiaL_base(const hia_emit *e, hia_type reference);
void hiaL_drop(hia_emit *e, LLVMValueRef ref, hia_type type); /* gives up a reference */
/* Goes to `last` if there is one reference to the object, else to `others`. */
void hiaL_is_only(hia_emit *e, LLVMValueRef object, LLVMBasicBlockRef last,
                  LLVMBasicBlockRef others);
/* Counts one more reference to an object, in graphs that do not count too. */
void hiaL_retain(hia_emit *e, LLVMValueRef object);
void hiaL_write_counts(hia_emit *e); /* after all functions */

/* ---- array.c ---- */

void hiaL_open_arrays(hia_emit *e); /* before the nodes of emit->fn */
/* Node n has been built: notes what is known of the arrays that it defines. */
void hiaL_note_arrays(hia_emit *e, hia_node_id n);
/* The parts of a hia_array_value, for what passes on one of several values. */
enum { HIA_ARRAY_PARTS = 3 };
bool hiaL_has_array(const hia_emit *e, hia_value_id v); /* its parts are noted */
LLVMTypeRef hiaL_array_part_type(const hia_emit *e, unsigned part);
LLVMValueRef hiaL_array_part(hia_emit *e, hia_value_id v, unsigned part); /* never NULL */
void hiaL_set_array_part(hia_emit *e, hia_value_id v, unsigned part, LLVMValueRef value);

/* ---- element.c ---- */

void hiaL_open_loop_element(hia_emit *e, hia_region_id head);  /* before a loop */
void hiaL_close_loop_element(hia_emit *e, hia_region_id head); /* and behind it */
void hiaL_close_elements(hia_emit *e, hia_region_id region);   /* at the end of the region */

#endif
