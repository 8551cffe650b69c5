/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Freezing and thawing an iteration: its frames are copied out of the stack, and back. */
#include "runtime/native/barrier.h"
#include "runtime/native/driver.h"

enum { MOST = 64 << 10 }; /* bytes of its frames: a deeper one settles */

static hia_frozen *record(hia_driver *d, char *sp, size_t size) {
  hia_context *context = d->context;
  hia_frozen *f = hiaR_heap_alloc(&context->local, sizeof *f + size);
  if (!f) return NULL;
  *f = (hia_frozen){.index = d->running,
                    .epoch = context->batching.epoch,
                    .elements = context->elements,
                    .sp = sp,
                    .size = size,
                    .driver = context->invocation->driver};
  return f;
}

static void append(hia_driver *d, hia_frozen *f) {
  if (d->last)
    d->last->next = f;
  else
    d->first = f;
  d->last = f;
}

bool hiaR_freeze(hia_driver *d, char *sp) {
  hia_context *context = d->context;
  char *base = (char *)d;
  size_t size = (size_t)(base - sp);
  hia_frozen *f = size <= MOST ? record(d, sp, size) : NULL;
  if (!f) return false;
  hiaR_barriers_lift(context, base);
  hiaR_stack_forget(sp, base);
  memcpy(f->frames, sp, size);
  append(d, f);
  context->elements = d->elements;
  return true;
}

char *hiaR_native_thaw(hia_driver *d) {
  hia_context *context = d->context;
  hia_frozen *f = d->thawed;
  char *sp = f->sp;
  hiaR_stack_forget(sp, d);
  memcpy(sp, f->frames, f->size);
  d->running = f->index;
  context->elements = f->elements;
  hiaR_heap_release(&context->local, f, sizeof *f + f->size);
  return sp;
}
