/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* A small model checker for sequentially consistent code: it explores all orders in which a few
 * participants can execute atomic operations on shared words.
 *
 * The participants are coroutines of one thread. Each stops before every operation on shared words
 * and continues when it is chosen; the code between two operations belongs to the one before. All
 * choices are explored depth first, and for each the execution is repeated from its beginning. A
 * state that was seen before is not explored again. A state consists of the shared memory and of
 * what each participant has read from it so far, which determines the rest, since participants are
 * deterministic. (States are compared by 64 bits of hash.)
 *
 * It does not find errors that only weaker memory orders than sequential consistency allow. */
#ifndef HIA_TESTS_HELPER_EXPLORE_H
#define HIA_TESTS_HELPER_EXPLORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EXPLORE_MAX 4 /* participants */

typedef struct explore_case {
  uint32_t n;
  void *memory; /* all that participants share; zeroed, then initialised by `begin` */
  size_t size;
  void (*begin)(void);
  void (*body[EXPLORE_MAX])(void);
  void (*end)(void); /* checks the state when all are done; or NULL */
} explore_case;

typedef struct explore_result {
  uint64_t states, executions;
  char problem[200];  /* of the first execution that has one; "": none has */
  char schedule[400]; /* its participants in order, one for each operation */
} explore_result;
void explore(const explore_case *c, explore_result *result);

/* In bodies and `end`: if not `ok`, the execution is wrong, and in bodies this does not return. */
void explore_check(bool ok, const char *what);

/* Before an operation on the word at p ... */
void explore_before(const volatile void *p);
/* ... and after it: `value` is the word's value before the operation, or, for a store, anything.
 * Returns it. Every explore_before has to be followed by this; without it the operation leads to no
 * new state, and the execution is not continued. */
uint64_t explore_saw(uint64_t value);
/* Blocks until explore_wake. Nothing else wakes a participant, and no time passes: one that would
 * continue after a timeout is stuck. */
void explore_block(const volatile void *p);
void explore_wake(const volatile void *p); /* wakes a participant that is blocked there, if any */
/* From now on no participant may access these bytes, which belong to their owner again. */
void explore_gone(const void *p, size_t size);

#endif
