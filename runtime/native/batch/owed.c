/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Objects, and tensors, with scalars that are pending. Code that makes such an object writes 0 into
 * their words and leaves a note for each. When the rows are computed, each word gets the element of
 * its tensor. Until then the object's header is marked, so code that reads such a word can see that
 * it must wait before. Hosts see objects at the end of a run alone, when nothing is pending. A
 * tensor that is made of an array of such scalars is pending until then, without a row. */
#include "runtime/heap/array.h"
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

/* Adds a note, which gets a reference of its own to what is owed something. False: no memory. */
static bool note(hia_context *context, hia_owed owed) {
  hia_batch *b = context->batching.batch;
  hia_owed *o = hiaR_batch_take(context, b, sizeof *o);
  if (!o) return false;
  *o = owed;
  o->older = b->rows.owed;
  b->rows.owed = o;
  b->rows.bytes += sizeof *o;
  hiaR_dup(owed.object, context->is_shared != 0);
  return true;
}

bool hiaR_batch_owe(hia_context *context, uint32_t base, const hia_late_word *w, hia_word object,
                    hia_word tensor) {
  if (!note(context, (hia_owed){NULL, object, tensor, base, w->at, w->size})) return false;
  hiaR_object(object)->spare = IS_OWED;
  return true;
}

/* ---- tensors ---- */

/* Until then nothing but its dims is read, and its note keeps it. */
static void begin_tensor(hia_word tensor) {
  hia_tensor *t = hiaR_tensor(tensor);
  t->counted.ctor = HIA_TENSOR_PENDING;
  t->data = NULL;
  if (hiaR_tensor_bytes(t)) *hiaR_tensor_owner(t) = 0;
}

static void write_elements(hia_word tensor, hia_word array) {
  hia_tensor *t = hiaR_tensor(tensor);
  uint32_t size = hiaR_dtype_size(hiaR_tensor_dtype(t));
  uint64_t n = hiaR_array_len(array);
  t->counted.ctor = HIA_TENSOR_OWN;
  t->data = hiaR_tensor_first_element(t, (size_t)n * size);
  for (uint64_t i = 0; i < n; i++) {
    hia_word element;
    memcpy(&element, hiaR_array_at(array, sizeof element, i), sizeof element);
    memcpy(t->data + i * size, hiaR_tensor(element)->data, size);
  }
}

void hiaR_batch_fill_elements(hia_context *context, uint32_t base, hia_word tensor,
                              hia_word array) {
  write_elements(tensor, array);
  hiaR_drop(&context->local, context->run.shapes, array, base, context->is_shared != 0);
}

bool hiaR_batch_owe_elements(hia_context *context, uint32_t base, hia_word tensor, hia_word array) {
  if (!note(context, (hia_owed){NULL, tensor, array, base, 0, 0})) return false;
  begin_tensor(tensor);
  return true;
}

/* ---- paying ---- */

static void pay(hia_context *context, const hia_owed *o) {
  bool is_shared = context->is_shared != 0;
  if (!o->size) {
    hiaR_batch_fill_elements(context, o->base, o->object, o->tensor);
    return;
  }
  write_word(o->object, o->at, hiaR_tensor(o->tensor), o->size);
  hiaR_tensor_drop(&context->local, o->tensor, is_shared);
  hiaR_object(o->object)->spare = 0;
}

void hiaR_batch_pay(hia_context *context, hia_batch *b) {
  bool is_shared = context->is_shared != 0;
  for (const hia_owed *o = b->rows.owed; o; o = o->older) pay(context, o);
  for (const hia_owed *o = b->rows.owed; o; o = o->older)
    if (o->size)
      hiaR_drop(&context->local, context->run.shapes, o->object, o->base, is_shared);
    else
      hiaR_tensor_drop(&context->local, o->object, is_shared);
  b->rows.owed = NULL;
}
