/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Iterations that wait: where one iteration of a comprehension needs elements of a pending tensor,
 * others can go on, and note rows of the same segments. So waves form across iterations
 * (docs/batching.md, "Control that reads tensors").
 *
 * A *driver* (freeze/drive.c) makes the iterations of a comprehension, for code that has called
 * hiaR_stub_each. The stub has a hia_driver in its frame, and calls compiled code for each
 * iteration from there: so all iterations begin at the same address of the stack, B, right below
 * that frame. An iteration that has to wait is *frozen* (freeze/frozen.c): what it has on the
 * stack, from its stack pointer up to B, is copied into the run's heap, and the driver goes on with
 * another one. When all wait, the worker settles. Then they are *thawed*, one after the other:
 * their frames are copied back to where they were, so addresses into them, saved registers and
 * return addresses are what they were. Limits, the walker and sanitizers see a stack as ever.
 * (After the one-shot continuations of Schemes, and the mounting of virtual threads in OpenJDK,
 * which copy frames in this way.)
 *
 * An iteration may contain a comprehension with a driver of its own. When all iterations of that
 * wait, it is frozen as a part of the outer iteration. Frames of C are never frozen: the loop of a
 * driver is assembly (arch/NAME_each.S), which calls C and has returned from it when it enters
 * compiled code. Where frames of C lie between an iteration and its driver, as in a join, the
 * iteration is not frozen, but settles.
 *
 * Failures: the first one in sequential order counts. So when iteration k fails while some before
 * it are frozen, those behind it are dropped, and those before it go on; if one of them fails, that
 * is the failure. The end of a run from outside, and lack of memory, end it at once.
 *
 * Forks in iterations stay latent while a driver is at work: else jobs would be joined in another
 * order than the opposite of that of their promotion. Thieves get the forks of what has called the
 * driver, or compute blocks of rows.
 *
 * What an iteration that was dropped had is memory of the run's heap, as what any failed run had.
 */
#ifndef HIA_DRIVER_H
#define HIA_DRIVER_H

#include "runtime/native/context.h"
#include "runtime/native/driver_layout.h"

/* An iteration that waits. */
typedef struct hia_frozen {
  struct hia_frozen *next;
  int64_t index;
  uint64_t epoch; /* context->batching.epoch when it was frozen */
  hia_element *elements;
  char *sp; /* where its frames begin: the word there is the address at which it goes on */
  size_t size;
  hia_driver *driver; /* that runs when it goes on */
  /* The innermost driver in its frames, in whose iterations it waits; its own driver: it waits in
   * its own code, for a pending tensor, or, 0, for all that is pending. */
  hia_driver *inner;
  hia_word awaited;
  struct hia_frozen *parent; /* the frozen iteration in whose frames its driver is; or NULL */
  uint32_t level;            /* of what it notes when it goes on */
  bool is_ready;  /* it can go on, or one in it can. All can where rows have another epoch */
  bool is_waiter; /* it is in the list of its invocation, between these: */
  struct hia_frozen *before, *behind;
  char frames[];
} hia_frozen;

/* Frozen iterations of a driver, in the order in which they were frozen. */
typedef struct hia_frozen_list {
  hia_frozen *first, *last;
} hia_frozen_list;

struct hia_driver {
  hia_context *context;
  hia_native_entry entry;
  hia_word *block; /* of the code that has called: arguments, of which 1 and 2 are the ends of the
                      range, and the result */
  hia_driver *goes_on;    /* the outer one that goes on when this one is frozen */
  hia_frozen *thawed;     /* the one that goes on next */
  hia_driver *outer;      /* of the iteration that this comprehension is part of; or NULL */
  int64_t from, next, to; /* those below next have begun; of none from `to` on there is need */
  int64_t end;            /* of the range */
  int64_t running;        /* the iteration that is on the stack, while one is */
  size_t memory;          /* that the run's heap had left when it was called */
  uint32_t n_params;
  bool has_failed;     /* iteration `to`; the failure is the invocation's */
  bool is_apart;       /* frames of C lie between it and the outer driver */
  uint32_t level;      /* of what its iterations note when they begin; */
  uint32_t last_level; /* and of what is noted behind them */
  uint64_t looked;     /* how often rows had been computed when it looked which are ready */
  hia_frozen_list waiting, ready;
  hia_element *elements; /* of the context, when it was called */
  hia_bridge bridge;     /* from its iterations to the code that has called it */
};

/* What the rest of the runtime calls where there is a driver, so that only programs with such
 * comprehensions need this folder. */
struct hia_freezing {
  /* The innermost iteration waits for a pending tensor, or for all that is pending, in a stub whose
   * frame begins at `frame`. Returns true if the tensor has its elements; false if the iteration
   * cannot be frozen. */
  bool (*wait)(hia_context *context, char *frame, hia_word awaited, const char *sp, uintptr_t pc);
  /* True if an iteration before the one that fails may still fail. */
  bool (*holds)(hia_context *context, hia_status status);
  /* Drops the innermost iteration, whose failure has been noted, and goes on with others. */
  void (*go_on)(hia_context *context);
};

/* The driver that was called first. */
static inline const hia_driver *hiaR_driver_outermost(const hia_invocation *invocation) {
  const hia_driver *d = invocation->driver;
  while (d && d->outer) d = d->outer;
  return d;
}

/* ---- freeze/drive.c: called by the assembly ---- */

void hiaR_native_each(hia_driver *driver, hia_native_entry entry, hia_word *block,
                      uint32_t n_params, const char *sp, uintptr_t pc);
/* What to do next: HIA_DRIVE_. `sp`: where the frames begin of what waits in this driver. */
int hiaR_native_drive(hia_driver *driver, char *sp);

/* ---- freeze/frozen.c ---- */

/* Freezes the iteration of a driver that is on the stack, from sp on. `awaited`: hia_frozen.
 * `inner`: of its drivers, the one in whose loop it waits; `driver`: it waits in its own code.
 * False: it is too large, or there is no memory. */
bool hiaR_freeze(hia_driver *driver, hia_driver *inner, char *sp, hia_word awaited);
/* Frees a frozen iteration. */
void hiaR_frozen_free(hia_context *context, hia_frozen *f);
/* Puts driver->thawed back on the stack. Called below its frames. Returns its stack pointer. */
char *hiaR_native_thaw(hia_driver *driver);

/* ---- freeze/ready.c ---- */

/* True if an iteration of the driver can be thawed: then the first one of `ready`. */
bool hiaR_has_ready(hia_driver *driver);
/* Appends to a list. */
void hiaR_frozen_append(hia_frozen_list *list, hia_frozen *f);
/* The iteration waits for a row, and is listed; and no longer. */
void hiaR_waiter_add(hia_context *context, hia_frozen *f);
void hiaR_waiter_remove(hia_context *context, hia_frozen *f);
/* Computes rows for which iterations wait, and for `awaited` if it is not 0. The stack is left at
 * `sp` and `pc`. */
void hiaR_settle_for_waiters(hia_context *context, hia_word awaited, const char *sp, uintptr_t pc);

/* ---- arch/NAME_each.S ---- */

/* Goes on in the loop of a driver, past all frames below it. */
_Noreturn void hiaR_arch_drive(hia_driver *driver);

#endif
