/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Nodes that take longer than a call. */
#include "runtime/interp/refs.h"

void hiaR_free_value(hia_worker *w, hia_word ref, uint32_t base) {
  hiaR_object_free(&w->heap, w->run->image->shapes, ref, base, w->is_shared);
}

static hia_status fire_wide(hia_word *slots, const hia_wide *wide) {
  hia_word block[4];
  static const uint16_t in[3] = {0, 1, 2};
  for (uint32_t i = 0; i < wide->n_in; i++) block[i] = slots[wide->in[i]];
  hia_status status = wide->kernel(block, in, 3, wide->imm);
  if (!status) slots[wide->out] = block[3];
  return status;
}

/* ---- arrays ---- */

static hia_status make_array(hia_worker *w, hia_word *slots, const hia_array_instr *a,
                             hia_word *out) {
  uint32_t n = a->n_ins / a->n_words;
  if (!hiaR_array_new(&w->heap, a->shape, n, out)) return HIA_MEMORY;
  for (uint32_t i = 0; i < n; i++)
    hiaR_put_words(w, slots, hiaR_array_at(*out, a->shape->size, i), a->places,
                   a->ins + i * a->n_words, a->n_words);
  return HIA_OK;
}

static hia_status slice(hia_worker *w, const hia_word *slots, const hia_array_instr *a,
                        hia_word *out, hia_range *range) {
  hia_word array = slots[a->ins[0]];
  int64_t first = hiaR_to_i64(slots[a->ins[1]]), end = hiaR_to_i64(slots[a->ins[2]]);
  if (!hiaR_array_has_slice(array, first, end)) {
    *range = (hia_range){first, end, (int64_t)hiaR_array_len(array)};
    return HIA_RANGE;
  }
  bool has_memory = hiaR_array_slice(&w->heap, a->shape, array, first, end, w->is_shared, out);
  return has_memory ? HIA_OK : HIA_MEMORY;
}

/* If the array is taken and nothing else refers to it, it is changed in place. */
static hia_status set_element(hia_worker *w, hia_word *slots, const hia_array_instr *a,
                              hia_word *out, hia_range *range) {
  const hia_shapes *shapes = w->run->image->shapes;
  hia_word array = slots[a->ins[0] & ~HIA_IMAGE_TAKEN];
  int64_t index = hiaR_to_i64(slots[a->ins[1]]);
  if (!hiaR_array_has(array, index)) {
    *range = (hia_range){index, 0, (int64_t)hiaR_array_len(array)};
    return HIA_RANGE;
  }
  array = hiaR_take(w, slots, a->ins[0]);
  if (!hiaR_array_own(&w->heap, shapes, a->base, &array, w->is_shared)) {
    hiaR_give_up(w, array, a->base);
    return HIA_MEMORY;
  }
  char *element = hiaR_array_at(array, a->shape->size, (uint64_t)index);
  const hia_word *old = (const hia_word *)(const void *)element;
  for (uint32_t i = 0; i < a->shape->n_refs; i++)
    hiaR_give_up(w, old[i], shapes->bases[a->shape->refs + i]);
  hiaR_put_words(w, slots, element, a->places, a->ins + 2, a->n_words);
  *out = array;
  return HIA_OK;
}

static hia_status concat(hia_worker *w, const hia_word *slots, const hia_array_instr *a,
                         hia_word *out) {
  enum { FEW = 16 };
  hia_word few[FEW] = {0}, *refs = few;
  const hia_allocator *allocator = w->run->allocator;
  if (a->n_ins > FEW && !(refs = hiaR_alloc(allocator, a->n_ins * sizeof *refs))) return HIA_MEMORY;
  for (uint32_t i = 0; i < a->n_ins; i++) refs[i] = slots[a->ins[i]];
  bool has_memory = hiaR_array_concat(&w->heap, w->run->image->shapes, a->base, refs, a->n_ins,
                                      w->is_shared, out);
  if (refs != few) hiaR_free(allocator, refs, a->n_ins * sizeof *refs);
  return has_memory ? HIA_OK : HIA_MEMORY;
}

static void fail(hia_worker *w, hia_frame *f, uint32_t node, hia_status status, int64_t code) {
  hiaR_fail(w, f, node, &(hia_cause){.status = status, .code = code});
}

/* False: the node has failed, or there is no memory. */
static bool fire_array(hia_worker *w, hia_frame *f, const hia_instr *n) {
  const hia_array_instr *a = n->u.array;
  hia_word *slots = hiaR_slots(f), *out = &slots[n->to];
  hia_cause cause = {.code = n->kind == HIA_KIND_SLICE};
  switch (n->kind) {
  case HIA_KIND_ELEMENTS: cause.status = make_array(w, slots, a, out); break;
  case HIA_KIND_SLICE: cause.status = slice(w, slots, a, out, &cause.range); break;
  case HIA_KIND_SET: cause.status = set_element(w, slots, a, out, &cause.range); break;
  case HIA_KIND_CONCAT: cause.status = concat(w, slots, a, out); break;
  default:
    if (!hiaR_array_new(&w->heap, a->shape, hiaR_to_i64(slots[a->ins[0]]), out))
      cause.status = HIA_MEMORY;
  }
  if (cause.status == HIA_MEMORY)
    hiaR_exhaust(w, f, n->index);
  else if (cause.status)
    hiaR_fail(w, f, n->index, &cause);
  return !cause.status;
}

static size_t left_of(size_t limit, size_t used) {
  return limit == 0 ? SIZE_MAX : limit > used ? limit - used : 0;
}

/* The frame's section has no other node, and was entered in sequential order as a call. */
static hia_status call_host(hia_run *run, hia_word *slots, const hia_host_instr *host) {
  const hia_limits *limits = run->limits;
  size_t bytes = atomic_load_explicit(&run->bytes, memory_order_relaxed);
  hia_nest nest;
  hiaR_nest_enter(&nest, limits->scope, left_of(limits->depth, bytes),
                  left_of(limits->memory, bytes), limits->fuel);
  hia_status status =
      host->caller->call(host->prepared, slots, host->ins, host->outs, run->allocator);
  hiaR_nest_leave(&nest);
  return status;
}

bool hiaR_fire_node(hia_worker *w, hia_frame *f, const hia_instr *n) {
  hia_word *slots = hiaR_slots(f);
  hia_status status;
  switch (n->kind) {
  case HIA_KIND_COUNT: w->counts[n->u.imm]++; return true;
  case HIA_KIND_LEND: *w->run->fuel = slots[n->slot]; return true;
  case HIA_KIND_REGAIN: slots[n->to] = *w->run->fuel; return true;
  case HIA_KIND_FAIL: fail(w, f, n->index, HIA_FAILED, (int64_t)slots[n->slot]); return false;
  case HIA_KIND_HOST:
    status = call_host(w->run, slots, n->u.host);
    if (status) hiaR_fail(w, f, n->index, &(hia_cause){.status = status, .host = n->u.host->name});
    return !status;
  case HIA_KIND_WIDE:
    status = fire_wide(slots, n->u.wide);
    if (status) fail(w, f, n->index, status, hiaR_kernel_code(status, slots[n->u.wide->in[0]]));
    return !status;
  default: return fire_array(w, f, n);
  }
}
