/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/helpers/tensor.h"
#include "runtime/image/image.h"
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>

hia_dims dims_of(uint32_t rank, ...) {
  hia_dims dims = {.rank = rank};
  va_list list;
  va_start(list, rank);
  for (uint32_t i = 0; i < rank; i++) dims.dims[i] = va_arg(list, int64_t);
  va_end(list);
  return dims;
}

model model_new(hia_dtype dtype, hia_dims dims) {
  model m = {dtype, dims, 1, NULL};
  for (uint32_t i = 0; i < dims.rank; i++) m.n *= (uint64_t)dims.dims[i];
  m.words = calloc(m.n + 1, sizeof *m.words);
  return m;
}

uint32_t random_to(uint32_t *state, uint32_t n) {
  *state = *state * 1664525u + 1013904223u;
  return (uint32_t)((uint64_t)(*state >> 8) * n >> 24);
}

hia_word random_element(uint32_t *state, hia_dtype dtype) {
  static const double special[] = {0.0, -0.0, 1.0, -1.0, 0.5, 1e-310, 1e300, -1e300, 1e-42, 3e38};
  int32_t i = (int32_t)random_to(state, 9) - 4;
  double x = ((double)random_to(state, 1 << 20) - (1 << 19)) / (1 << 16);
  switch (random_to(state, 12)) {
  case 0: x = special[random_to(state, HIA_LEN(special))]; break;
  case 1: x = random_to(state, 8) ? x : random_to(state, 2) ? (double)NAN : (double)INFINITY; break;
  case 2: i = random_to(state, 2) ? INT32_MIN : INT32_MAX; break;
  case 3: x = -0.0; break;
  case 4: i = (int32_t)(random_to(state, 65536) << 16 | random_to(state, 65536)); break;
  default: break;
  }
  switch (dtype) {
  case HIA_BOOL: return random_to(state, 2);
  case HIA_I32: return hiaR_from_i32(i);
  case HIA_I64:
    return hiaR_from_i64(random_to(state, 20) ? i : random_to(state, 2) ? INT64_MIN : INT64_MAX);
  case HIA_F32: return hiaR_from_f32((float)x);
  default: return hiaR_from_f64(x);
  }
}

model model_random(uint32_t *state, hia_dtype dtype, hia_dims dims) {
  model m = model_new(dtype, dims);
  for (uint64_t i = 0; i < m.n; i++) m.words[i] = random_element(state, dtype);
  return m;
}

model model_scalar(hia_dtype dtype, hia_word word) {
  model m = model_new(dtype, (hia_dims){.rank = 0});
  m.words[0] = word;
  return m;
}
model model_i64(int64_t x) { return model_scalar(HIA_I64, hiaR_from_i64(x)); }

void model_free(model *m) {
  free(m->words);
  m->words = NULL;
}

bool word_equals(hia_dtype dtype, hia_word a, hia_word b) {
  if (a == b) return true;
  if (dtype == HIA_F32) return hiaR_to_f32(a) != hiaR_to_f32(a) && hiaR_to_f32(b) != hiaR_to_f32(b);
  if (dtype == HIA_F64) return hiaR_to_f64(a) != hiaR_to_f64(a) && hiaR_to_f64(b) != hiaR_to_f64(b);
  return false;
}

bool model_equals(const model *a, const model *b) {
  if (a->dtype != b->dtype || a->dims.rank != b->dims.rank) return false;
  for (uint32_t i = 0; i < a->dims.rank; i++)
    if (a->dims.dims[i] != b->dims.dims[i]) return false;
  for (uint64_t i = 0; i < a->n; i++)
    if (!word_equals(a->dtype, a->words[i], b->words[i])) return false;
  return true;
}

/* ---- a run ---- */

void world_begin(tensor_world *w, const hia_allocator *allocator, bool is_shared) {
  hiaR_heap_init(&w->heap, allocator);
  hiaR_heap_begin(&w->heap, 0);
  hiaR_local_begin(&w->local, &w->heap);
  w->env = (hia_env){.local = &w->local, .is_shared = is_shared};
}

bool world_end(tensor_world *w) {
  int64_t live = 0;
  hiaR_heap_census(&w->heap, &live);
  hiaR_heap_free(&w->heap);
  return live == 0;
}

static void write_words(hia_word ref, const model *m, uint64_t first) {
  hia_tensor *t = hiaR_tensor(ref);
  for (uint64_t i = 0; i < m->n; i++) hiaR_tensor_put(t, first + i, m->words[i]);
}

hia_word make_tensor(tensor_world *w, const model *m) {
  hia_word ref;
  if (!hiaR_tensor_new(&w->local, m->dtype, &m->dims, &ref)) return 0;
  write_words(ref, m, 0);
  return ref;
}

model read_tensor(hia_word ref) {
  const hia_tensor *t = hiaR_tensor(ref);
  model m = model_new(hiaR_tensor_dtype(t), hiaR_tensor_dims(t));
  for (uint64_t i = 0; i < m.n; i++) m.words[i] = hiaR_tensor_get(t, i);
  return m;
}

static void drop(tensor_world *w, hia_word ref) {
  hiaR_tensor_drop(&w->local, ref, w->env.is_shared);
}

/* A view of the middle of a tensor, or of all of it; only the view refers to that. */
static hia_word make_view(tensor_world *w, const model *m, bool is_whole) {
  hia_dims dims = m->dims;
  uint64_t row = 1;
  for (uint32_t i = 1; i < dims.rank; i++) row *= (uint64_t)dims.dims[i];
  if (!is_whole) dims.dims[0] += 3;
  hia_word ref, view;
  if (!hiaR_tensor_new(&w->local, m->dtype, &dims, &ref)) return 0;
  uint64_t first = is_whole ? 0 : row;
  write_words(ref, m, first);
  bool is_made = hiaR_tensor_view(&w->local, ref, first, &m->dims, w->env.is_shared, &view);
  drop(w, ref);
  return is_made ? view : 0;
}

static hia_word make_outside(const model *m) {
  hia_tensor *t = malloc(sizeof *t + m->dims.rank * sizeof *t->dims + m->n * 8 + 8);
  hiaR_object_begin(&t->counted, HIA_TENSOR_OUTSIDE);
  atomic_store(&t->counted.count, HIA_OUTSIDE);
  t->counted.spare = hiaR_tensor_spare(m->dtype, m->dims.rank);
  t->data = (char *)&t->dims[m->dims.rank];
  memcpy(t->dims, m->dims.dims, m->dims.rank * sizeof *t->dims);
  write_words((uintptr_t)t, m, 0);
  return (uintptr_t)t;
}

static bool is_from_outside(how h) { return h == OUTSIDE || h == OUTSIDE_TAKEN; }

static hia_word make_operand(tensor_world *w, const model *m, how h) {
  if (m->dims.rank == 0) return m->words[0];
  if (is_from_outside(h)) return make_outside(m);
  if (h == VIEW_LENT || h == VIEW_TAKEN || h == WHOLE_VIEW_TAKEN)
    return make_view(w, m, h == WHOLE_VIEW_TAKEN);
  hia_word ref = make_tensor(w, m);
  if (ref && h == TAKEN_HELD) hiaR_dup(ref, w->env.is_shared);
  return ref;
}

/* An operand after the operation, which is still there. */
static bool end_operand(tensor_world *w, const model *m, how h, hia_word ref) {
  model now = read_tensor(ref);
  bool is_same = model_equals(&now, m);
  model_free(&now);
  if (is_from_outside(h))
    free(hiaR_tensor(ref));
  else
    drop(w, ref);
  return is_same;
}

outcome run_operation(tensor_world *w, hia_operate f, hia_operation o, const model *ins,
                      const how *hows, uint32_t n, hia_dtype dtype, uint32_t rank) {
  const hia_word unset = 0x123456789abcdef;
  hia_word in[MOST_OPERANDS] = {0}, out = unset;
  outcome is = {.kept = HIA_NONE, .is_sane = true};
  o.n_in = n;
  o.tensors = o.takes = 0;
  bool has_memory = true;
  for (uint32_t i = 0; i < n; i++) {
    uint64_t bit = (uint64_t)1 << (i < 63 ? i : 63);
    in[i] = make_operand(w, &ins[i], hows[i]);
    if (ins[i].dims.rank == 0) continue;
    has_memory = has_memory && in[i];
    o.tensors |= bit;
    if (how_takes(hows[i])) o.takes |= bit;
  }
  is.status = has_memory ? f(&w->env, &o, in, &out, &is.why) : HIA_MEMORY;
  if (is.status && out != unset) is.is_sane = false;
  for (uint32_t i = 0; i < n; i++) {
    if (ins[i].dims.rank == 0 || !in[i] || is_from_outside(hows[i])) continue;
    if (!is.status && in[i] == out) is.kept = i;
    if (!has_memory && how_takes(hows[i])) drop(w, in[i]);
    if (!how_takes(hows[i]) || hows[i] == TAKEN_HELD)
      is.is_sane &= end_operand(w, &ins[i], hows[i], in[i]);
  }
  /* The result outlives its operands. */
  if (is.status) {
    is.result = model_scalar(HIA_BOOL, 0);
  } else if (rank) {
    is.result = read_tensor(out);
    drop(w, out);
  } else {
    is.result = model_scalar(dtype, out);
  }
  for (uint32_t i = 0; i < n; i++)
    if (ins[i].dims.rank && in[i] && is_from_outside(hows[i]))
      is.is_sane &= end_operand(w, &ins[i], hows[i], in[i]);
  return is;
}

hia_operation lifted(unsigned op, hia_dtype at) {
  hia_given_kernel kernel;
  if (!hiaR_any_kernel(op, &kernel)) abort();
  return (hia_operation){.kernels = kernel.by_dtype,
                         .at = (uint8_t)at,
                         .op = (uint16_t)op,
                         .dtype = (uint8_t)hiaR_rule_result((hia_rule)hiaR_ops[op].rule, at)};
}
