/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Host functions, as programs call them (docs/embedding.md, "Host functions"). */
#ifndef HIA_HOST_H
#define HIA_HOST_H

#include "runtime/base/type.h"
#include <pthread.h>

/* What stands for a function that a program declares `extern`. In C it has a parameter for each
 * scalar of the declared parameters, tuples flattened: int32_t, int64_t, float, double, and bool.
 *
 *   one result, and it cannot fail      T f([void *user,] params...)
 *   several results                     void f([void *user,] params..., T *..., T *...)
 *   it may fail, and returns a status   hia_status f([void *user,] params..., T *result...) */
typedef struct hia_host_target {
  void (*function)(void);
  void *user;
  bool takes_user;     /* `user` comes first among its arguments */
  bool returns_status; /* another status than OK: the call has failed */
  bool is_safe; /* may be called on the engine's stack: it needs little of it, and calls nothing of
                   hiaton */
} hia_host_target;

typedef struct hia_host_signature {
  const hia_dtype *params, *results;
  uint32_t n_params, n_results;
} hia_host_signature;

/* How images call host functions: by libffi (ffi.c), unless a program has no such calls and is
 * linked without it. */
typedef struct hia_host_caller {
  /* Bytes that a prepared call takes; 0: too many arguments. */
  size_t (*size)(const hia_host_signature *signature);
  /* Prepares calls, in `at`, 16-aligned. False if such a function cannot be called. */
  bool (*prepare)(void *at, const hia_host_target *target, const hia_host_signature *signature);
  /* Calls the function with slots[ins[i]]; on HIA_OK slots[outs[i]] hold the results in canonical
   * form. */
  hia_status (*call)(const void *prepared, hia_word *slots, const uint32_t *ins,
                     const uint32_t *outs, const hia_allocator *allocator);
} hia_host_caller;
extern const hia_host_caller hiaR_ffi;

/* How compiled code calls a host function: this adapter takes the arguments out of the block, one
 * typed value a word, and writes the results behind them. Returns the function's status, or 0 if
 * it returns none. Compiled code passes a failure to hiaR_stub_fail with HIA_STATUS_OF_HOST set in
 * the status and, as the code, the address of the function's name, which compiled code owns. */
typedef uint32_t hia_host_call(hia_word *block);
#define HIA_STATUS_OF_HOST 0x80000000u

/* What compiled code holds for an extern that it calls by pointer: a row of its table hia_hosts. */
typedef struct hia_host_row {
  void (*function)(void);
  void *user;
} hia_host_row;

/* The status that a host function has returned; a number that is no status becomes HIA_HOST. */
hia_status hiaR_host_status(uint32_t status);

/* ---- scope.c: cancel scopes ---- */

/* A cancel scope: what a run can be ended by from outside (hia_limits.scope). Cancelling a scope
 * cancels the scopes inside it as well, on whatever thread their runs are. */
typedef struct hia_cancel_scope hia_cancel_scope;
struct hia_cancel_scope {
  uint32_t status; /* atomic; a hia_status: the first that it was cancelled with, or HIA_OK.
                      hia_limits.cancelled points here */
  bool is_open;    /* may be cancelled; otherwise only `run` is defined */
  void (*notify)(void *arg); /* called when the scope is cancelled, on the thread that cancels it,
                                so that the run reads `status` soon; or NULL */
  void *arg;
  void *run;                     /* a hia_watch of the engine's; NULL: a call of a typed entry */
  hia_cancel_scope *outer;       /* the scope that this one is inside of; or NULL */
  hia_cancel_scope *prev, *next; /* among the scopes inside `outer` */
  pthread_mutex_t lock;          /* of the list of the scopes inside this one ... */
  hia_cancel_scope *inner;       /* ... which are under way */
};
/* From now on the scope may be cancelled. */
void hiaR_scope_open(hia_cancel_scope *scope);
void hiaR_scope_close(hia_cancel_scope *scope); /* no other thread may use it any more */
/* Not a status that anything returns to a host: the run is to begin again, in native code. Only
 * where a run polls does it notice, so a host function that it is in returns first, and runs inside
 * it do not end. */
#define HIA_AGAIN ((hia_status)0x7fffffff)
/* Any thread. Does nothing if the scope has been cancelled. */
void hiaR_scope_again(hia_cancel_scope *scope);
/* The run begins again, or stays where it is: the scope is as before hiaR_scope_again. False: it
 * has been cancelled meanwhile. */
bool hiaR_scope_not_again(hia_cancel_scope *scope);
/* Any thread. Does nothing if the scope has been cancelled already. */
void hiaR_scope_cancel(hia_cancel_scope *scope, hia_status status);
hia_status hiaR_scope_status(const hia_cancel_scope *scope);
/* The scope is cancelled when `outer` is, and at once if it has been. `outer` may be NULL, or a
 * scope that is not open: then nothing happens. */
void hiaR_scope_enter(hia_cancel_scope *scope, hia_cancel_scope *outer);
void hiaR_scope_leave(hia_cancel_scope *scope);

/* ---- host.c: runs within runs ----
 * While a thread is in a host function that a run has called, a run that it begins is nested: it
 * gets what is left of the outer one's limits, and ends when that is to end. */

typedef struct hia_nest {
  const struct hia_nest *outer;
  unsigned level;          /* 1: the host function was called by a run that is not nested */
  hia_cancel_scope *scope; /* of the outer run: hia_limits.scope */
  size_t depth, memory;    /* bytes that are left of its limits; SIZE_MAX: no limit was set */
  uint64_t *fuel;          /* what it lends to runs that are nested in it; NULL: it has none */
} hia_nest;

/* The innermost run whose host function this thread is in; NULL: it is in none. Thread-local,
 * because a host function that starts a nested run passes no handle to its outer run. It is the
 * library's one variable that belongs to no object. Each call of a host function reads and writes
 * it, hence the initial-exec model: a few bytes of static thread-local storage. */
extern __attribute__((tls_model("initial-exec"))) _Thread_local const hia_nest *hiaR_innermost;
const hia_nest *hiaR_nest(void); /* for other libraries */

static inline void hiaR_nest_enter(hia_nest *nest, hia_cancel_scope *scope, size_t depth,
                                   size_t memory, uint64_t *fuel) {
  const hia_nest *outer = hiaR_innermost;
  *nest = (hia_nest){outer, outer ? outer->level + 1 : 1, scope, depth, memory, fuel};
  hiaR_innermost = nest;
}
static inline void hiaR_nest_leave(const hia_nest *nest) { hiaR_innermost = nest->outer; }

/* A limit of the run that begins (0: none), or what is left of the outer one's if that is less. */
static inline size_t hiaR_nest_least(size_t limit, size_t left) {
  if (left == SIZE_MAX) return limit;
  return limit && limit < left ? limit : left;
}

/* Runs within runs also use the thread's own stack, whose size is unknown. */
#define HIA_MAX_NESTED 100u

#endif
