/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Objects with scalars that are pending. Code that makes such an object writes 0 into their words
 * and leaves a note for each. When the rows are computed, each word gets the element of its tensor.
 * Until then the object's header is marked, so code that reads such a word can see that it must
 * wait before. Hosts see objects at the end of a run alone, when nothing is pending. */
#include "runtime/native/batch/rows.h"

enum { IS_OWED = 1 }; /* hia_counted.spare of an object */

static void write_word(hia_word object, uint32_t at, const hia_tensor *t, uint32_t size) {
  memcpy((char *)(uintptr_t)object + at, t->data, size);
}

void hiaR_batch_fill(hia_context *context, const hia_late_word *w, hia_word object,
                     hia_word tensor) {
  write_word(object, w->at, hiaR_tensor(tensor), w->size);
  hiaR_tensor_drop(&context->local, tensor, context->is_shared != 0);
}

bool hiaR_batch_owe(hia_context *context, uint32_t base, const hia_late_word *w, hia_word object,
                    hia_word tensor) {
  hia_batch *b = context->batching.batch;
  hia_owed *o = hiaR_batch_take(context, b, sizeof *o);
  if (!o) return false;
  *o = (hia_owed){b->rows.owed, object, tensor, base, w->at, w->size};
  b->rows.owed = o;
  b->rows.bytes += sizeof *o;
  hiaR_dup(object, context->is_shared != 0);
  hiaR_object(object)->spare = IS_OWED;
  return true;
}

void hiaR_batch_pay(hia_context *context, hia_batch *b) {
  bool is_shared = context->is_shared != 0;
  for (hia_owed *o = b->rows.owed; o; o = o->older) {
    write_word(o->object, o->at, hiaR_tensor(o->tensor), o->size);
    hiaR_tensor_drop(&context->local, o->tensor, is_shared);
    hiaR_object(o->object)->spare = 0;
  }
  for (hia_owed *o = b->rows.owed; o; o = o->older)
    hiaR_drop(&context->local, context->run.shapes, o->object, o->base, is_shared);
  b->rows.owed = NULL;
}
