/* Forks: work that a worker may hand to another while it does what comes before it.
 *
 * Native code that meets a call which does not depend on what it does first writes the call down as
 * a *latent fork* in its own frame (before it comes to something during which it may be asked for
 * it), does what comes first, and then makes the call itself, unless somebody has taken it
 * meanwhile. That costs a few stores and a test of a byte in its own frame, no atomics. The latent
 * forks of a worker are a list from the oldest to the newest; a worker that is asked for work
 * promotes its oldest one, the largest piece it has, to a *job*.
 *
 *   fork     prev->next = this;  this->code = the callee's entry;  this->shape;  this->args
 *            prev is the newest fork of the caller: a parameter of every function that can fork
 *   taken?   this->code & HIA_FORK_TAKEN
 *   join     hiaR_stub_join(this) -> its results, once they are there
 *
 * Forks of a function nest: the one made last is joined first. After Feeley, "A message passing
 * implementation of lazy task creation" (1993), and Acar, Chargueraud and Rainey, "Scheduling
 * parallel programs by work stealing with private deques" (PPoPP 2013). */
#ifndef HIA_FORK_H
#define HIA_FORK_H

#include "runtime/base/base.h"

typedef struct hia_fork hia_fork;
struct hia_fork {
  hia_fork *next; /* the next newer one; written by that one; of the newest: anything */
  uintptr_t
      code; /* the callee's hia_native_entry; once taken, runtime/fork.c's, with HIA_FORK_TAKEN */
  uint64_t shape;  /* HIA_FORK_SHAPE */
  hia_word args[]; /* in canonical form, as in the block of an entry */
};
#define HIA_FORK_TAKEN 1u
#define HIA_FORK_SHAPE(n_params, n_results)                                                        \
  ((uint64_t)(uint32_t)(n_params) | (uint64_t)(uint32_t)(n_results) << 32)

#endif
