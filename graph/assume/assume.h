/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* What a version of a function takes for granted of its arguments, put into its graph.
 *
 * A version is made of the same program as the general one. Its root becomes another function of
 * the same parameters, which calls the old one with what is assumed in place of what it was given:
 *
 *     fn loss(W, ts, n) assumed           W has the sizes 450 and 300, and is the same in all calls
 *       %W:f32[?, ?] = param argument.0   n is 7
 *       %ts:[Tree] = arg 1
 *       %n:i32 = const 7
 *       %r:f32 = call loss %W, %ts, %n
 *
 * So what the passes know of constants and of params, they know of arguments; nothing of what is
 * given for those is read. Whoever calls such a root has tested that the assumptions hold, so they
 * cannot fail inside. specialise.c then hands on what is assumed to the functions that the root
 * calls. */
#ifndef HIA_ASSUME_H
#define HIA_ASSUME_H

#include "graph/ir/graph.h"

/* What is assumed of one word of the root's arguments. */
typedef enum hia_assumption_kind {
  HIA_ASSUME_NOTHING,
  HIA_ASSUME_WORD,  /* a scalar: it has this value */
  HIA_ASSUME_THIS,  /* data or an array: it is this object, which lives as long as the code */
  HIA_ASSUME_SIZES, /* a tensor: it has these sizes */
  HIA_ASSUME_PARAM, /* a tensor of floats, of rank 1 or more: the same. It is read as a param,
                       which stands behind those of the program, in the order of the arguments */
} hia_assumption_kind;

typedef struct hia_assumption {
  hia_assumption_kind kind, asked; /* asked: before what is of no use was taken back */
  hia_word word;
  hia_dims dims;
} hia_assumption;

/* Adds such a root, in place of `root`, which is none any more. `of`: by word of the arguments. */
hia_fn_id hiaG_assume(hia_graph *g, hia_fn_id root, const hia_assumption *of);

/* Which parameters of a root *last*: a recursive function hands them on to itself, or calls in
 * loops and comprehensions get them, or these read them, of tensors. What is known of such an
 * argument is of use many times in a run. `out`: by word of the arguments. Uses scratch memory. */
void hiaG_find_lasting(hia_graph *g, hia_fn_id root, bool *out);

/* ---- specialise.c: copies of functions for what calls hand on ---- */

/* Constants, and params that are arguments; as pass. */
void hiaG_specialise(hia_graph *g);
/* Copies for params from g->first_argument on, of what all functions call and differentiate. */
void hiaG_specialise_gradients(hia_graph *g);

#endif
