/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Freezing and thawing an iteration: its frames are copied out of the stack, and back. */
#include "runtime/native/barrier.h"
#include "runtime/native/driver.h"

enum { MOST = 64 << 10 }; /* bytes of its frames: a deeper one settles */

static hia_frozen *record(hia_driver *d, hia_driver *inner, char *sp, size_t size) {
  hia_context *context = d->context;
  hia_frozen *f = hiaR_heap_alloc(&context->local, sizeof *f + size);
  if (!f) return NULL;
  *f = (hia_frozen){.index = d->running,
                    .epoch = context->batching.epoch,
                    .elements = context->elements,
                    .sp = sp,
                    .size = size,
                    .driver = context->invocation->driver,
                    .inner = inner,
                    .level = context->batching.level};
  return f;
}

/* Sets the parent of what waits in drivers, from `inner` outwards up to d. */
static void set_parents(hia_driver *inner, const hia_driver *d, hia_frozen *parent) {
  for (; inner != d; inner = inner->outer) {
    for (hia_frozen *f = inner->waiting.first; f; f = f->next) f->parent = parent;
    for (hia_frozen *f = inner->ready.first; f; f = f->next) f->parent = parent;
  }
}

bool hiaR_freeze(hia_driver *d, hia_driver *inner, char *sp, hia_word awaited) {
  hia_context *context = d->context;
  char *base = (char *)d;
  size_t size = (size_t)(base - sp);
  hia_frozen *f = size <= MOST ? record(d, inner, sp, size) : NULL;
  if (!f) return false;
  set_parents(inner, d, f);
  hiaR_barriers_lift(context, base);
  hiaR_stack_forget(sp, base);
  memcpy(f->frames, sp, size);
  f->awaited = awaited;
  if (inner == d) hiaR_waiter_add(context, f);
  hiaR_frozen_append(&d->waiting, f);
  context->elements = d->elements;
  return true;
}

void hiaR_frozen_free(hia_context *context, hia_frozen *f) {
  hiaR_waiter_remove(context, f);
  hiaR_heap_release(&context->local, f, sizeof *f + f->size);
}

char *hiaR_native_thaw(hia_driver *d) {
  hia_context *context = d->context;
  hia_frozen *f = d->thawed;
  char *sp = f->sp;
  hiaR_stack_forget(sp, d);
  memcpy(sp, f->frames, f->size);
  set_parents(f->inner, d, NULL);
  d->running = f->index;
  context->elements = f->elements;
  context->batching.level = f->level;
  hiaR_frozen_free(context, f);
  return sp;
}
