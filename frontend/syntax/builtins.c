/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Built-in functions: the rows of the op table that are no operators, and others; their arguments;
 * the initialisers of params. */
#include "frontend/syntax/builtins.h"
#include "frontend/syntax/program.h"

/* ---- built-ins of tensors ---- */

static const hia_tensor_builtin tensor_builtins[] = {
    {"stack", HIA_OP_STACK, 1, 255, true},
    {"zeros", HIA_OP_FULL, 1, HIA_MAX_RANK, false},
    {"ones", HIA_OP_FULL, 1, HIA_MAX_RANK, false},
    {"full", HIA_OP_FULL, 2, HIA_MAX_RANK + 1, false},
    {"iota", HIA_OP_IOTA, 1, 1, false},
    {"one_hot", HIA_OP_ONE_HOT, 2, 2, false},
    {"reshape", HIA_OP_RESHAPE, 2, HIA_MAX_RANK + 1, false},
    {"transpose", HIA_OP_TRANSPOSE, 1, 1, false},
    {"shape", HIA_OP_DIM, 1, 2, true},
    {"outer", HIA_OP_OUTER, 2, 2, false},
    {"softmax", HIA_OP_SOFTMAX, 1, 1, false},
    {"log_softmax", HIA_OP_LOG_SOFTMAX, 1, 1, false},
    {"cross_entropy", HIA_OP_CROSS_ENTROPY, 2, 2, false},
    {"sum", HIA_OP_SUM, 1, 1, true},
    {"prod", HIA_OP_PROD, 1, 1, true},
    {"mean", HIA_OP_MEAN, 1, 1, true},
    {"max", HIA_OP_MAX_OF, 1, 1, true},
    {"min", HIA_OP_MIN_OF, 1, 1, true},
    {"argmax", HIA_OP_ARG_MAX, 1, 1, true},
    {"argmin", HIA_OP_ARG_MIN, 1, 1, true},
    {"any", HIA_OP_ANY, 1, 1, true},
    {"all", HIA_OP_ALL, 1, 1, true},
};
_Static_assert(HIA_LEN(tensor_builtins) == (size_t)HIA_BUILTIN_END - HIA_BUILTIN_STACK,
               "a row for each");

const hia_tensor_builtin *hiaF_tensor_builtin(unsigned op) {
  return op >= HIA_BUILTIN_STACK && op < HIA_BUILTIN_END ? &tensor_builtins[op - HIA_BUILTIN_STACK]
                                                         : NULL;
}

/* ---- names ---- */

/* The initialisers of params that are no built-ins of tensors as well. */
static const char *const initialisers[] = {"uniform", "normal", "glorot_uniform"};

static const struct {
  const char *name;
  unsigned op;
} others[] = {{"grad", HIA_BUILTIN_GRAD},
              {"value_and_grad", HIA_BUILTIN_VALUE_AND_GRAD},
              {"len", HIA_BUILTIN_LEN},
              {"set", HIA_BUILTIN_SET},
              {"concat", HIA_BUILTIN_CONCAT}};

/* Conversions are written with the dtype. */
static bool is_builtin(unsigned op) {
  return HIA_OP_PUBLIC(op) && hiaR_ops[op].name && !hiaR_ops[op].symbol[0] && op != HIA_OP_CAST;
}

unsigned hiaF_builtin(const char *name, uint32_t len) {
  unsigned op = hiaR_op_by_name(name, len);
  if (op < HIA_OP_LIMIT && is_builtin(op)) return op;
  for (size_t i = 0; i < HIA_LEN(initialisers); i++)
    if (strlen(initialisers[i]) == len && memcmp(initialisers[i], name, len) == 0)
      return HIA_BUILTIN_INIT;
  for (size_t i = 0; i < HIA_LEN(others); i++)
    if (strlen(others[i].name) == len && memcmp(others[i].name, name, len) == 0)
      return others[i].op;
  for (unsigned i = HIA_BUILTIN_STACK; i < HIA_BUILTIN_END; i++) {
    const char *other = hiaF_tensor_builtin(i)->name;
    if (strlen(other) == len && memcmp(other, name, len) == 0) return i;
  }
  return HIA_OP_LIMIT;
}

const char *hiaF_builtin_name(uint32_t i) {
  if (i < HIA_LEN(initialisers)) return initialisers[i];
  i -= (uint32_t)HIA_LEN(initialisers);
  if (i < HIA_LEN(others)) return others[i].name;
  i -= (uint32_t)HIA_LEN(others);
  unsigned of_tensors = HIA_BUILTIN_STACK + i;
  if (of_tensors < HIA_BUILTIN_END) return hiaF_tensor_builtin(of_tensors)->name;
  i = of_tensors - HIA_BUILTIN_END;
  for (unsigned op = 0; op < HIA_OP_LIMIT; op++)
    if (is_builtin(op) && i-- == 0) return hiaR_ops[op].name;
  return NULL;
}

/* ---- arguments ---- */

uint32_t hiaF_positional(const hia_program *p, const hia_ast *call, hia_ast_id *axis) {
  uint32_t n = 0;
  *axis = HIA_NONE;
  for (uint32_t i = 0; i < call->c; i++) {
    const hia_ast *arg = hiaF_node(p, p->extra.data[call->b + i]);
    if (arg->kind == HIA_AST_NAMED)
      *axis = arg->b;
    else
      n++;
  }
  return n;
}

hia_ast_id hiaF_positional_arg(const hia_program *p, const hia_ast *call, uint32_t i) {
  const uint32_t *args = p->extra.data + call->b;
  while (hiaF_node(p, *args)->kind == HIA_AST_NAMED) args++;
  while (i--) do
      args++;
    while (hiaF_node(p, *args)->kind == HIA_AST_NAMED);
  return *args;
}

/* ---- initialisers of params ---- */

bool hiaF_initialiser(const char *name, hia_init *init, uint32_t *arity) {
  bool is_full = strcmp(name, "zeros") == 0 || strcmp(name, "ones") == 0;
  *init = HIA_INIT_FULL;
  *arity = 0;
  if (is_full) return true;
  for (uint32_t i = HIA_INIT_FULL + 1; i < HIA_N_INITS; i++) {
    if (strcmp(name, hiaR_init_name((hia_init)i)) != 0) continue;
    *init = (hia_init)i;
    *arity = hiaR_init_arity(*init);
    return true;
  }
  return false;
}
