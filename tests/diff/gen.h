/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Private to the generator: gen.c makes functions and programs, gen_expr.c expressions,
 * gen_data.c data types and what is done with them. */
#ifndef HIA_TESTS_DIFF_GEN_H
#define HIA_TESTS_DIFF_GEN_H

#include "tests/diff/program.h"

#define MAX_SCOPE 96

typedef struct gen {
  gen_program *p;
  gen_random random;
  gen_fn *fn;
  gen_var *scope[MAX_SCOPE];
  uint32_t n_scope;
  int nodes; /* that the function may still have */
  int calls; /* that it may still make outside of its group */
  int rec;   /* calls of its own group that may still be made here */
  uint32_t loop_depth;
  uint32_t first_of_group; /* functions below can be called freely */
  uint32_t end_of_group;
  uint32_t n_names;
  uint32_t size;
  bool is_const;
} gen;

static inline uint32_t below(gen *g, uint32_t n) { return gen_below(&g->random, n); }
static inline bool chance(gen *g, uint32_t percent) { return gen_chance(&g->random, percent); }

/* ---- gen_expr.c ---- */

gen_expr *gen_node(gen *g, gen_kind kind, gen_type type, uint32_t n);
gen_var *gen_new_var(gen *g, gen_type type);
void gen_push(gen *g, gen_var *v);
gen_type gen_number_type(gen *g);
gen_type gen_scalar_type(gen *g);
gen_type gen_any_type(gen *g, uint32_t tuple_percent);
gen_expr *gen_small_int(gen *g, gen_type type, int64_t value);
gen_expr *gen_literal(gen *g, gen_type type);
gen_expr *gen_expr_of(gen *g, gen_type type, uint32_t depth);
gen_expr *gen_block_of(gen *g, gen_type type, uint32_t depth, uint32_t n_lets,
                       gen_expr *(*result)(gen *, gen_type, uint32_t));
gen_expr *gen_condition(gen *g, uint32_t depth);
gen_expr *gen_guarded_fail(gen *g, gen_type type, uint32_t depth);
gen_type gen_binding_for(gen *g, gen_class callee);
gen_expr *gen_call_fn(gen *g, gen_fn *callee, gen_type type, gen_type binding, uint32_t depth,
                      bool in_group);
gen_expr *gen_call_of(gen *g, gen_type type, uint32_t depth, bool in_group);

gen_expr *gen_leaf(gen *g, gen_type type);
/* True if a later variable of the scope hides the one at this place. */
bool gen_is_hidden(const gen *g, uint32_t at);

/* ---- gen_data.c ---- */

static inline bool gen_is_reference(gen_type t) { return gen_is_array(t) || gen_is_data(t); }

void gen_make_types(gen *g);
/* A type of data or of an array. Requires gen_make_types. */
gen_type gen_reference_type(gen *g);
/* A value of any type, for the command line. */
void gen_argument(gen *g, gen_type t, uint64_t *words);
/* Expressions of such a type. */
gen_expr *gen_reference_leaf(gen *g, gen_type t);
gen_expr *gen_reference_of(gen *g, gen_type t, uint32_t depth);
/* A value of any type out of data or an array; NULL if there is none. */
gen_expr *gen_taken_of(gen *g, gen_type type, uint32_t depth);
/* A visible variable that is a part of the function's subject; NULL if there is none. */
gen_var *gen_part_var(gen *g, gen_type t);
/* Of a function of a PARTS group: the type of its subject; perhaps another result; its body. */
gen_type gen_subject_type(gen *g);
void gen_parts_result(gen *g, gen_fn *fn);
gen_expr *gen_parts_body(gen *g, gen_type type, uint32_t depth);

#endif
