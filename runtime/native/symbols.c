/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The runtime's symbols that generated code may refer to, by name. An object file finds the same
 * ones through the linker. */
#include "runtime/native/arch/arch.h"
#include "runtime/native/load.h"
#include "runtime/tensor/kernels.h"
#include <pthread.h>
#include <stdlib.h>

typedef struct symbol {
  const char *name;
  void (*function)(void);
  const void *table; /* if it is no function */
} symbol;

/* Sorted by name before the first search. */
static symbol symbols[] = {
#define HIA_ABI(name, args, result, EFFECT, doc) {#name, (void (*)(void))name, NULL},
#include "runtime/native/abi.def"
    {"hiaR_e_LIFT", (void (*)(void))hiaR_e_LIFT, NULL},
#define KERNEL_OWN(NAME)       {"hiaR_k_" #NAME, NULL, hiaR_k_##NAME},
#define KERNEL_OPERATION(NAME) {"hiaR_e_" #NAME, (void (*)(void))hiaR_e_##NAME, NULL},
#define KERNEL_NONE(NAME)
#define HIA_OP(number, NAME, name, symbol, ins, outs, RULE, SHAPE, IMM, traits, cost, COST,        \
               GRADIENT, KERNEL, EMIT, doc)                                                        \
  KERNEL_##KERNEL(NAME)
#include "runtime/base/ops.def"
};

static int by_name(const void *a, const void *b) {
  return strcmp(((const symbol *)a)->name, ((const symbol *)b)->name);
}

static void sort(void) { qsort(symbols, HIA_LEN(symbols), sizeof *symbols, by_name); }

bool hiaR_runtime_symbol(const char *name, uintptr_t *address) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, sort);
  const symbol wanted = {.name = name};
  const symbol *found = bsearch(&wanted, symbols, HIA_LEN(symbols), sizeof *symbols, by_name);
  if (!found) return false;
  *address = found->table ? (uintptr_t)found->table : (uintptr_t)found->function;
  return true;
}
