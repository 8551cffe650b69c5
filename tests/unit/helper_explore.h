/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Everything that can happen when a few participants do atomic operations on shared words, in any
 * order: a small model checker for sequentially consistent code.
 *
 * The participants are coroutines of one thread. Each stops before every operation on shared words
 * and goes on when it is chosen; plain code between two operations belongs to the one before. All
 * choices are explored depth first, an execution being repeated from its beginning for each. A
 * state that was seen before is not gone into again: what is in the shared memory, and what each
 * participant has seen of it so far, which is all that it can be in a state of, as participants are
 * deterministic. (States are told apart by 64 bits of hash.)
 *
 * It is blind to what weaker memory orders than sequential consistency would allow. */
#ifndef HIA_TESTS_HELPER_EXPLORE_H
#define HIA_TESTS_HELPER_EXPLORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EXPLORE_MAX 4 /* participants */

typedef struct explore_case {
  uint32_t n;
  void *memory; /* all that participants share; zeroed, then made ready by `begin` */
  size_t size;
  void (*begin)(void);
  void (*body[EXPLORE_MAX])(void);
  void (*end)(void); /* all are done: is everything as it should be? Or NULL */
} explore_case;

typedef struct explore_result {
  uint64_t states, executions;
  char problem[200];  /* of the first execution that has one; "": none has */
  char schedule[400]; /* that one: who went, from the first operation to the last */
} explore_result;
void explore(const explore_case *c, explore_result *result);

/* In bodies and `end`: the execution is wrong if not `ok`. Does not come back then (bodies). */
void explore_check(bool ok, const char *what);

/* Before an operation on the word at p ... */
void explore_step(const volatile void *p);
/* ... and what it told: the word's value before it, or, of a store, anything. Answers it. Every
 * step has to be followed by this: otherwise it leads to no new state and is not gone on from. */
uint64_t explore_saw(uint64_t value);
/* Blocks until it is woken. Nothing else wakes anybody, and no time passes: who would be saved by a
 * timeout is stuck. */
void explore_block(const volatile void *p);
void explore_wake(const volatile void *p); /* one who is blocked there, if there is one */
/* From now on nobody may touch these bytes: they are their owner's again. */
void explore_gone(const void *p, size_t size);

#endif
