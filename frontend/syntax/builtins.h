/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Built-in functions: their names, numbers and arguments (builtins.c). */
#ifndef HIA_FRONTEND_BUILTINS_H
#define HIA_FRONTEND_BUILTINS_H

#include "frontend/syntax/ast.h"
#include "runtime/base/param.h"

/* Built-in functions of functions, arrays and tensors, which are no ops of one scalar. */
typedef enum hia_builtin {
  HIA_BUILTIN_GRAD = HIA_OP_LIMIT + 1,
  HIA_BUILTIN_VALUE_AND_GRAD,
  HIA_BUILTIN_INIT,   /* an initialiser of params */
  HIA_BUILTIN_LEN,    /* (array) */
  HIA_BUILTIN_SET,    /* (array, index, element) */
  HIA_BUILTIN_CONCAT, /* (array, array, ...), tensors */
  /* built-ins of tensors alone: hia_tensor_builtin */
  HIA_BUILTIN_STACK,
  HIA_BUILTIN_ZEROS,
  HIA_BUILTIN_ONES,
  HIA_BUILTIN_FULL,
  HIA_BUILTIN_IOTA,
  HIA_BUILTIN_ONE_HOT,
  HIA_BUILTIN_RESHAPE,
  HIA_BUILTIN_TRANSPOSE,
  HIA_BUILTIN_SHAPE,
  HIA_BUILTIN_OUTER,
  HIA_BUILTIN_SOFTMAX,
  HIA_BUILTIN_LOG_SOFTMAX,
  HIA_BUILTIN_CROSS_ENTROPY,
  HIA_BUILTIN_SUM,
  HIA_BUILTIN_PROD,
  HIA_BUILTIN_MEAN,
  HIA_BUILTIN_MAX, /* the largest element of a tensor; of two operands it is an op */
  HIA_BUILTIN_MIN,
  HIA_BUILTIN_ARGMAX,
  HIA_BUILTIN_ARGMIN,
  HIA_BUILTIN_ANY,
  HIA_BUILTIN_ALL,
  HIA_BUILTIN_END
} hia_builtin;
/* The hia_op or HIA_BUILTIN_ of a built-in function; HIA_OP_LIMIT if there is none of this name. */
unsigned hiaF_builtin(const char *name, uint32_t len);
const char *hiaF_builtin_name(uint32_t i); /* the i-th of all; NULL behind the last */

/* ---- of tensors ---- */

typedef struct hia_tensor_builtin {
  const char *name;
  unsigned op;
  uint32_t least, most; /* arguments without a name */
  bool takes_axis;      /* `axis = k` */
} hia_tensor_builtin;
const hia_tensor_builtin *hiaF_tensor_builtin(unsigned builtin); /* NULL: it is none */
/* Returns how many arguments have no name. *axis becomes the expression of the one with a name, or
 * NONE. */
uint32_t hiaF_positional(const hia_program *p, const hia_ast *call, hia_ast_id *axis);
/* The i-th argument without a name. */
hia_ast_id hiaF_positional_arg(const hia_program *p, const hia_ast *call, uint32_t i);

/* ---- of params ---- */

/* True if there is an initialiser of this name: *init becomes which, and *arity how many arguments
 * it takes. */
bool hiaF_initialiser(const char *name, hia_init *init, uint32_t *arity);

#endif
