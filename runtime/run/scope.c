/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Cancel scopes: how runs are ended from outside, and with them the runs inside them.
 *
 * Native code reads a scope's status only where it polls for another reason, so cancelling a scope
 * also notifies its run. A scope that is entered is put on the list of its outer scope under the
 * lock under which that list is cancelled: it is cancelled either there, or when it is put on the
 * list. Locks are taken from the outside inwards. */
#include "runtime/host/host.h"
#include "runtime/run/runtime.h"

void hiaR_scope_open(hia_cancel_scope *scope) {
  pthread_mutex_init(&scope->lock, NULL);
  scope->is_open = true;
}

void hiaR_scope_close(hia_cancel_scope *scope) { pthread_mutex_destroy(&scope->lock); }

hia_status hiaR_scope_status(const hia_cancel_scope *scope) {
  return (hia_status)__atomic_load_n(&scope->status, __ATOMIC_SEQ_CST);
}

/* Changes the status; false: it was another one than `from`. */
static bool change(hia_cancel_scope *scope, hia_status from, hia_status to) {
  uint32_t expected = (uint32_t)from;
  return __atomic_compare_exchange_n(&scope->status, &expected, (uint32_t)to, false,
                                     __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

void hiaR_scope_again(hia_cancel_scope *scope) { change(scope, HIA_OK, HIA_AGAIN); }

bool hiaR_scope_not_again(hia_cancel_scope *scope) {
  change(scope, HIA_AGAIN, HIA_OK);
  return hiaR_scope_status(scope) == HIA_OK;
}

void hiaR_scope_cancel(hia_cancel_scope *scope, hia_status status) {
  /* Between the two attempts another thread may change it from one to the other. */
  while (!change(scope, HIA_OK, status) && !change(scope, HIA_AGAIN, status)) {
    hia_status now = hiaR_scope_status(scope);
    if (now != HIA_OK && now != HIA_AGAIN) return;
  }
  if (scope->notify) scope->notify(scope->arg);
  pthread_mutex_lock(&scope->lock);
  for (hia_cancel_scope *e = scope->inner; e; e = e->next) hiaR_scope_cancel(e, status);
  pthread_mutex_unlock(&scope->lock);
}

void hiaR_scope_enter(hia_cancel_scope *scope, hia_cancel_scope *outer) {
  if (!outer || !outer->is_open) return;
  pthread_mutex_lock(&outer->lock);
  scope->outer = outer;
  scope->prev = NULL;
  scope->next = outer->inner;
  if (scope->next) scope->next->prev = scope;
  outer->inner = scope;
  hia_status status = hiaR_scope_status(outer);
  if (status && status != HIA_AGAIN) hiaR_scope_cancel(scope, status);
  pthread_mutex_unlock(&outer->lock);
}

void hiaR_scope_leave(hia_cancel_scope *scope) {
  hia_cancel_scope *outer = scope->outer;
  if (!outer) return;
  pthread_mutex_lock(&outer->lock);
  if (scope->next) scope->next->prev = scope->prev;
  if (scope->prev)
    scope->prev->next = scope->next;
  else
    outer->inner = scope->next;
  scope->outer = NULL;
  pthread_mutex_unlock(&outer->lock);
}
