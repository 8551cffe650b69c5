/* How runs are told to end, and with them those inside them.
 *
 * A run that is under way in native code looks at what it was told only where it polls for another
 * reason: so its context is told besides. A run that begins inside another is put on the list of
 * that one, under the lock with which that one's list is told: so it is told either there or when
 * it is put on the list. Locks are taken from the outside inwards. */
#include "runtime/host.h"
#include "runtime/runtime.h"

void hiaR_end_open(hia_end *end) {
  pthread_mutex_init(&end->lock, NULL);
  end->may_be_told = true;
}

void hiaR_end_close(hia_end *end) { pthread_mutex_destroy(&end->lock); }

hia_status hiaR_end_told(const hia_end *end) {
  return (hia_status)__atomic_load_n(&end->told, __ATOMIC_SEQ_CST);
}

void hiaR_end_tell(hia_end *end, hia_status status) {
  uint32_t none = HIA_OK;
  if (!__atomic_compare_exchange_n(&end->told, &none, (uint32_t)status, false, __ATOMIC_SEQ_CST,
                                   __ATOMIC_SEQ_CST))
    return;
  if (end->context) hiaR_context_cancel(end->context);
  pthread_mutex_lock(&end->lock);
  for (hia_end *e = end->inner; e; e = e->next) hiaR_end_tell(e, status);
  pthread_mutex_unlock(&end->lock);
}

void hiaR_end_enter(hia_end *end, hia_end *outer) {
  if (!outer || !outer->may_be_told) return;
  pthread_mutex_lock(&outer->lock);
  end->outer = outer;
  end->prev = NULL;
  end->next = outer->inner;
  if (end->next) end->next->prev = end;
  outer->inner = end;
  hia_status told = hiaR_end_told(outer);
  if (told) hiaR_end_tell(end, told);
  pthread_mutex_unlock(&outer->lock);
}

void hiaR_end_leave(hia_end *end) {
  hia_end *outer = end->outer;
  if (!outer) return;
  pthread_mutex_lock(&outer->lock);
  if (end->next) end->next->prev = end->prev;
  if (end->prev)
    end->prev->next = end->next;
  else
    outer->inner = end->next;
  end->outer = NULL;
  pthread_mutex_unlock(&outer->lock);
}
