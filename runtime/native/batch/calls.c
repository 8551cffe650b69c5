/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* What compiled code calls, by the stubs of arch/: to note a row, to settle, and at the end of an
 * entry. */
#include "runtime/heap/array.h"
#include "runtime/native/batch/rows.h"
#include "runtime/native/driver.h"
#include "runtime/native/sampled.h"

#ifdef HIA_STRESS
enum { MOST_BYTES = 256 << 10, MOST_HANDED = 2 << 10 };
#else
enum {
  MOST_BYTES = 32 << 20, /* that rows take (hiaR_row_cost), before a settling */
  MOST_HANDED = 1 << 20, /* of those that a job leaves to its owner */
};
#endif
enum {
  PART = 8,     /* rows may take 1/PART of what is left up to the run's limit */
  FEW_ROWS = 16 /* if that is not so many rows, they are computed one by one, at once */
};

/* Without batches there would be few operands and results at a time. */
static size_t most_bytes(const hia_context *context) {
  size_t part = hiaR_heap_left(context->local.heap) / PART;
  return part < MOST_BYTES ? part : MOST_BYTES;
}

static bool has_pending(const hia_segment *s, const hia_word *words) {
  for (uint32_t i = 0; i < s->n_ins; i++)
    if (s->words[i].rank && hiaR_pending_row(words[i])) return true;
  return false;
}

/* True if an operand is owed its elements, and has no row. */
static bool has_owed(const hia_segment *s, const hia_word *words) {
  for (uint32_t i = 0; i < s->n_ins; i++)
    if (s->words[i].rank && hiaR_is_pending(words[i]) && !hiaR_pending_row(words[i])) return true;
  return false;
}

/* Looks up the results of an earlier row with equal operands; false if there is none. */
static bool find_results(hia_context *context, const hia_segment *s, hia_word *words,
                         hia_word *ids) {
  hiaR_row_identify(s, words, ids);
  bool has =
      hiaR_batch_find_kept(context, s, words, ids) || hiaR_batch_find_equal(context, s, words, ids);
  context->batching.usage.reused += has;
  return has;
}

/* A join of this worker may have called the entry that ends. */
HIA_UNINSTRUMENTED void hiaR_native_finish(hia_context *context, const char *sp, uintptr_t pc) {
  const hia_invocation *invocation = context->invocation;
  if (!context->batching.settle || invocation->bridges) return;
  if (invocation->job && context->batching.batch->rows.bytes <= MOST_HANDED)
    hiaR_batch_hand_over(context, invocation->job);
  else
    hiaR_batch_settle(context, sp, pc);
}

HIA_UNINSTRUMENTED void hiaR_native_settle(hia_context *context, const char *sp, uintptr_t pc,
                                           char *frame, hia_word awaited) {
  const hia_row *r = awaited ? hiaR_pending_row(awaited) : NULL;
  if (r && r->level >= context->batching.level) context->batching.level = r->level + 1;
  bool is_there = context->batching.settle && context->invocation->driver &&
                  context->batching.freezing->wait(context, frame, awaited, sp, pc);
  if (context->batching.settle && !is_there) hiaR_batch_settle(context, sp, pc);
  hiaR_sampled_look(context, sp, pc);
}

HIA_UNINSTRUMENTED void hiaR_native_defer(hia_context *context, const hia_segment *segment,
                                          hia_word *words, uint32_t loc, const char *sp,
                                          uintptr_t pc) {
  if (HIA_UNLIKELY(!context->batching.batch)) {
    context->batching.batch = hiaR_batch_new(context);
    if (!context->batching.batch) hiaR_native_fail(loc, HIA_MEMORY, 0, context, sp, pc);
  }
  hia_word ids[HIA_SEGMENT_MOST];
  if (context->batching.batch->rows.owed && has_owed(segment, words))
    hiaR_batch_settle(context, sp, pc);
  if (segment->known_as && find_results(context, segment, words, ids)) return;
  if (segment->is_light && context->invocation->driver && !has_pending(segment, words)) {
    hiaR_batch_once(context, segment, words, loc, sp, pc);
    return;
  }
  size_t most = most_bytes(context);
  bool is_tight = most / FEW_ROWS < hiaR_row_cost(segment);
  if (is_tight && has_pending(segment, words)) hiaR_batch_settle(context, sp, pc);
  if (is_tight || hiaR_batch_is_once(context->batching.batch, segment, words)) {
    hiaR_batch_once(context, segment, words, loc, sp, pc);
    return;
  }
  if (HIA_UNLIKELY(!hiaR_batch_note(context, segment, words)))
    hiaR_native_fail(loc, HIA_MEMORY, 0, context, sp, pc);
  if (segment->known_as) hiaR_batch_add_equal(context, ids);
  context->batching.settle = hiaR_batch_settle;
  if (HIA_UNLIKELY(context->batching.batch->rows.bytes > most)) hiaR_batch_settle(context, sp, pc);
}

/* What the tensors of an array are, before there is one of their elements. */
typedef enum elements { ARE_THERE, ARE_PENDING, ARE_OWED, ARE_WRONG } elements;

/* ARE_WRONG: some tensor has not one element; the code may be of a graph that a user wrote. */
static elements elements_of(hia_word array) {
  elements found = ARE_THERE;
  for (uint64_t i = 0; i < hiaR_array_len(array); i++) {
    hia_word element;
    memcpy(&element, hiaR_array_at(array, sizeof element, i), sizeof element);
    if (element < HIA_FIRST_ADDRESS || hiaR_tensor_len(hiaR_tensor(element)) != 1) return ARE_WRONG;
    if (!hiaR_is_pending(element)) continue;
    if (!hiaR_pending_row(element)) return ARE_OWED;
    found = ARE_PENDING;
  }
  return found;
}

/* words[0] becomes a tensor of the elements of the tensors of the array words[1]. */
static HIA_UNINSTRUMENTED void pack_later(hia_context *context, const hia_late_data *data,
                                          hia_word *words, uint32_t loc, const char *sp,
                                          uintptr_t pc) {
  hia_word array = words[1];
  hia_dims shape = {.rank = 1, .dims = {(int64_t)hiaR_array_len(array)}};
  elements found = elements_of(array);
  if (found == ARE_WRONG) hiaR_native_fail(loc, HIA_INTERNAL, 0, context, sp, pc);
  if (found == ARE_OWED) hiaR_batch_settle(context, sp, pc);
  hia_dtype dtype = (hia_dtype)data->words->at;
  if (!hiaR_tensor_new(&context->local, dtype, &shape, &words[0]))
    hiaR_native_fail(loc, HIA_MEMORY, 0, context, sp, pc);
  if (found == ARE_PENDING) {
    if (hiaR_batch_owe_elements(context, data->base, words[0], array)) return;
    hiaR_batch_settle(context, sp, pc);
  }
  hiaR_batch_fill_elements(context, data->base, words[0], array);
}

/* If there is no memory for a note, what is pending is computed now. */
HIA_UNINSTRUMENTED void hiaR_native_owe(hia_context *context, const hia_late_data *data,
                                        hia_word *words, uint32_t loc, const char *sp,
                                        uintptr_t pc) {
  if (!data->n) pack_later(context, data, words, loc, sp, pc);
  for (uint32_t i = 0; i < data->n; i++) {
    const hia_late_word *w = &data->words[i];
    hia_word tensor = words[1 + i];
    if (hiaR_is_pending(tensor)) {
      if (hiaR_pending_row(tensor) && hiaR_batch_owe(context, data->base, w, words[0], tensor))
        continue;
      hiaR_batch_settle(context, sp, pc);
    }
    hiaR_batch_fill(context, w, words[0], tensor);
  }
  const hia_batch *b = context->batching.batch;
  if (b && HIA_UNLIKELY(b->rows.bytes > most_bytes(context))) hiaR_batch_settle(context, sp, pc);
}
