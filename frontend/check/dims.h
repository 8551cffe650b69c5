/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The walk that finds sizes of expressions (dims.c), and what it needs: dims of types, declared
 * sizes (dims_declared.c), the rules of operations (dims_rule.c). */
#ifndef HIA_FRONTEND_DIMS_H
#define HIA_FRONTEND_DIMS_H

#include "frontend/kit/instance.h"
#include "runtime/base/shape.h"

/* A name that no shape has: two of them are equal, and fit where numbers do. */
#define HIA_DIM_NONE_YET HIA_DIM_NAMED(UINT32_MAX)

/* An operand, for the report. */
typedef struct hia_dim_operand {
  const hia_dim *dims;
  uint32_t rank, start, end;
} hia_dim_operand;

/* The name of a size in the types of parameters, at a call. */
typedef struct hia_dim_name {
  hia_ast_id name;
  hia_dim_operand tensor;
  uint32_t axis;
} hia_dim_name;

typedef struct hia_dim_walk {
  hia_program *p;
  hia_arena *scratch;
  uint32_t inst;
  hia_ast_id first;
  const hia_itype *types; /* the types of nodes, less `first` */
  const hia_dim **vars;   /* the dims of binders, less `first`; NULL: not bound */
  const hia_dim **values; /* the dims of expressions that the last visit has found, less `first` */
  bool has_changed;       /* a variable of a loop: walk again */
  bool is_last;           /* nothing changes any more: report, and keep the dims */
  HIA_VEC(hia_dim_name) names;
} hia_dim_walk;

/* ---- dims_rule.c: dims of types, and the rules of operations ---- */

/* The number of dims of a type: those of all tensors that it is made of. */
uint32_t hiaF_n_dims(const hia_itypes *it, hia_itype type);
/* n dims that are `dim`; a copy of n dims. */
hia_dim *hiaF_dims_of_all(hia_dim_walk *w, uint32_t n, hia_dim dim);
hia_dim *hiaF_copy_dims(hia_dim_walk *w, const hia_dim *from, uint32_t n);
/* Joins `from` into `to`. True if that has changed `to`. */
bool hiaF_join_dims(hia_dim *to, const hia_dim *from, uint32_t n);
void hiaF_load_dims(const hia_dim_operand *from, hia_dims *to);
/* Rejects the program: two dims of operands that must be equal are different numbers. */
void hiaF_reject_dims(hia_dim_walk *w, const hia_misfit *m, const hia_dim_operand *a,
                      const hia_dim_operand *b, uint32_t start, uint32_t end);

/* What an operation is: which rule, and what the rule needs besides the operands. */
typedef struct hia_dim_rule {
  enum {
    HIA_DIMS_BROADCAST,
    HIA_DIMS_PRODUCT,
    HIA_DIMS_OUTER,
    HIA_DIMS_INDEX,
    HIA_DIMS_SLICE,
    HIA_DIMS_REDUCE,
    HIA_DIMS_TRANSPOSE,
    HIA_DIMS_LABELS,
    HIA_DIMS_SET,
    HIA_DIMS_CONCAT,
    HIA_DIMS_STACK
  } rule;
  uint32_t axis;       /* REDUCE, CONCAT, STACK */
  hia_dim from, to;    /* SLICE */
  uint32_t start, end; /* bytes that a report points at */
} hia_dim_rule;

/* The dims of the result, of rank `rank`. What always fails gives no value. */
const hia_dim *hiaF_apply_rule(hia_dim_walk *w, const hia_dim_rule *rule,
                               const hia_dim_operand *operands, uint32_t n, uint32_t rank);
/* The rank of what the first operands of a chain give. */
uint32_t hiaF_rank_after(unsigned rule, uint32_t a, uint32_t b);

/* ---- dims_declared.c ---- */

/* The types of nodes in a declaration: those of a function's instance. */
typedef struct hia_dim_types {
  const hia_itype *types; /* NULL: fields, whose sizes are integers and names of consts */
  hia_ast_id first;
} hia_dim_types;

/* The value of a constant expression from 0 on, whose types are final. Unknown: it is another
 * expression, or fails, or is below 0: then its evaluation, or what uses it, fails in the run. */
hia_dim hiaF_constant_dim(hia_program *p, const hia_itype *types, hia_ast_id first, hia_ast_id id);
/* The dims that a type node declares for a value of type `type`. */
const hia_dim *hiaF_declared_dims(hia_dim_walk *w, hia_dim_types owner, hia_ast_id node,
                                  hia_itype type);
/* Checks the dims of an expression against a declared type. Returns how many they are. */
uint32_t hiaF_expect_dims(hia_dim_walk *w, hia_ast_id id, const hia_dim *dims, hia_dim_types owner,
                          hia_ast_id node, hia_itype type);

#endif
