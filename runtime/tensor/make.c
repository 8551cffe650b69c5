/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Tensors made of scalars, of sizes, and of other tensors (stack, pack, concat). */
#include "runtime/tensor/operands.h"

/* Sets n elements to one word. False: the run must end. */
static bool fill(hia_work *work, char *to, hia_dtype dtype, uint64_t n, hia_word word) {
  enum { PIECE = 1 << 15 };
  uint64_t size = hiaR_dtype_size(dtype);
  uint32_t half = (uint32_t)word;
  for (uint64_t m; n; n -= m, to += m * size) {
    m = n < PIECE ? n : PIECE;
    if (!hiaR_work_on(work, 1 + m / 2)) return false;
    if (word == 0 || size == 1)
      memset(to, word != 0, m * size);
    else if (size == sizeof half)
      for (uint32_t i = 0; i < m; i++) memcpy(to + i * sizeof half, &half, sizeof half);
    else
      for (uint32_t i = 0; i < m; i++) memcpy(to + i * sizeof word, &word, sizeof word);
  }
  return true;
}

static hia_status full(HIA_COMPUTE) {
  int64_t sizes[HIA_MAX_RANK] = {0};
  hia_dims shape;
  uint32_t rank = o->n_in - 1;
  for (uint32_t i = 0; i < rank; i++) sizes[i] = hiaR_to_i64(in[1 + i]);
  hia_status status = hiaR_fit_status(hiaR_shape_of_sizes(sizes, rank, &shape, &why->misfit));
  if (status) return status;
  if (rank == 0) {
    r->word = in[0];
    return HIA_OK;
  }
  if (!hiaR_result_new(env, (hia_dtype)o->dtype, &shape, r)) return HIA_MEMORY;
  hia_work work = hiaR_work(env);
  uint64_t n = hiaR_tensor_len(hiaR_tensor(r->word));
  return fill(&work, r->data, (hia_dtype)o->dtype, n, in[0]) ? HIA_OK : HIA_CANCELLED;
}
HIA_DEFINE_OPERATION(FULL, full)

/* A vector of n elements, an i64 of the program. */
static hia_status make_vector(const hia_env *env, hia_dtype dtype, int64_t n, hia_result *r,
                              hia_misfortune *why) {
  hia_dims shape;
  hia_status status = hiaR_fit_status(hiaR_shape_of_sizes(&n, 1, &shape, &why->misfit));
  if (status) return status;
  return hiaR_result_new(env, dtype, &shape, r) ? HIA_OK : HIA_MEMORY;
}

static hia_status iota(HIA_COMPUTE) {
  int64_t n = hiaR_to_i64(in[0]);
  (void)o;
  hia_status status = make_vector(env, HIA_I64, n, r, why);
  if (status) return status;
  enum { PIECE = 1 << 15 };
  hia_work work = hiaR_work(env);
  int64_t *to = (int64_t *)(void *)r->data;
  for (int64_t i = 0, end; i < n; i = end) {
    end = n - i < PIECE ? n : i + PIECE;
    if (!hiaR_work_on(&work, 1 + (uint64_t)(end - i) / 2)) return HIA_CANCELLED;
    for (int64_t k = i; k < end; k++) to[k] = k;
  }
  return HIA_OK;
}
HIA_DEFINE_OPERATION(IOTA, iota)

static hia_status one_hot(HIA_COMPUTE) {
  int64_t i = hiaR_to_i64(in[0]), n = hiaR_to_i64(in[1]);
  hia_dtype dtype = (hia_dtype)o->dtype;
  if (n >= 0 && (i < 0 || i >= n)) return hiaR_out_of_range(why, HIA_RANGE_OF_RESULT, i, n);
  hia_status status = make_vector(env, dtype, n, r, why);
  if (status) return status;
  hia_work work = hiaR_work(env);
  if (!fill(&work, r->data, dtype, (uint64_t)n, 0)) return HIA_CANCELLED;
  hia_word one = dtype == HIA_F32 ? hiaR_from_f32(1) : dtype == HIA_F64 ? hiaR_from_f64(1) : 1;
  hiaR_tensor_put(hiaR_tensor(r->word), (uint64_t)i, one);
  return HIA_OK;
}
HIA_DEFINE_OPERATION(ONE_HOT, one_hot)

/* The immediate is the address of the tensor: the image's (decode.c). */
HIA_OPERATION(LITERAL) {
  (void)env, (void)in, (void)why;
  *out = o->imm;
  return HIA_OK;
}

/* ---- one tensor of several operands ---- */

/* Copies the operands into the result, whose axes before `axis` are walked through together: of
 * each index there come the parts of all operands, one after the other. A part of operand i is a
 * whole operand but for these axes. */
static hia_status copy_parts(const hia_env *env, const hia_operation *o, const hia_word *in,
                             uint64_t before, hia_result *r) {
  hia_work work = hiaR_work(env);
  char *to = r->data;
  if (hiaR_tensor_len(hiaR_tensor(r->word)) == 0) return HIA_OK; /* other axes may be long */
  for (uint64_t a = 0; a < before; a++)
    for (uint32_t i = 0; i < o->n_in; i++) {
      const hia_tensor *x = hiaR_tensor(in[i]);
      uint64_t part = hiaR_tensor_bytes(x) / before;
      if (!hiaR_work_on(&work, 10) || !hiaR_work_copy(&work, to, x->data + a * part, part))
        return HIA_CANCELLED;
      to += part;
    }
  return HIA_OK;
}

/* The shape of the operands by a rule, which needs the shapes of all. */
static hia_status shape_of_all(const hia_env *env, const hia_operation *o, const hia_word *in,
                               hia_fit (*rule)(const hia_dims *ins, uint32_t n, uint32_t axis,
                                               hia_dims *out, hia_misfit *misfit),
                               hia_dims *shape, hia_misfit *misfit) {
  enum { FEW = 8 };
  hia_dims few[FEW], *ins = few;
  if (o->n_in > FEW) ins = hiaR_heap_alloc(env->local, o->n_in * sizeof *ins);
  if (!ins) return HIA_MEMORY;
  for (uint32_t i = 0; i < o->n_in; i++) ins[i] = hiaR_operand_dims(o, in, i);
  hia_fit fit = rule(ins, o->n_in, (uint32_t)o->imm, shape, misfit);
  if (ins != few) hiaR_heap_release(env->local, ins, o->n_in * sizeof *ins);
  return hiaR_fit_status(fit);
}

static uint64_t elements_before(const hia_dims *shape, uint64_t axis) {
  uint64_t n = 1;
  for (uint32_t i = 0; i < axis; i++) n *= (uint64_t)shape->dims[i];
  return n;
}

static hia_status stack(HIA_COMPUTE) {
  hia_dims shape = {1, {o->n_in}};
  hia_dtype dtype = (hia_dtype)o->dtype;
  if (!hiaR_operand_is_tensor(o, 0)) {
    if (!hiaR_result_new(env, dtype, &shape, r)) return HIA_MEMORY;
    hia_tensor *t = hiaR_tensor(r->word);
    for (uint32_t i = 0; i < o->n_in; i++) hiaR_tensor_put(t, i, in[i]);
    return HIA_OK;
  }
  hia_status status = shape_of_all(env, o, in, hiaR_shape_stack, &shape, &why->misfit);
  if (status) return status;
  if (!hiaR_result_new(env, dtype, &shape, r)) return HIA_MEMORY;
  return copy_parts(env, o, in, elements_before(&shape, o->imm), r);
}
HIA_DEFINE_OPERATION(STACK, stack)

/* Takes no reference. What the array's first element is, is known from iteration 1 on. */
HIA_OPERATION(ALIKE) {
  (void)env;
  if (in[0] && o->n_in > 2) {
    hia_word first = *(const hia_word *)(const void *)hiaR_array_at(in[2], sizeof(hia_word), 0);
    if (first < HIA_FIRST_ADDRESS) return HIA_INTERNAL; /* an image that was tampered with */
    hia_dims shape,
        pair[2] = {hiaR_tensor_dims(hiaR_tensor(first)), hiaR_tensor_dims(hiaR_tensor(in[1]))};
    if (hiaR_shape_stack(pair, 2, 0, &shape, &why->misfit) != HIA_FIT_ALWAYS) return HIA_SHAPE;
  }
  *out = in[0];
  return HIA_OK;
}

/* The scalars of an array lie as those of a tensor do. */
static hia_status pack_scalars(const hia_env *env, hia_word array, hia_dtype dtype, hia_result *r) {
  uint64_t n = hiaR_array_len(array);
  const hia_dims shape = {1, {(int64_t)n}};
  if (!hiaR_result_new(env, dtype, &shape, r)) return HIA_MEMORY;
  hia_work work = hiaR_work(env);
  uint32_t size = hiaR_dtype_size(dtype);
  const char *from = n ? hiaR_array_at(array, size, 0) : NULL;
  return hiaR_work_copy(&work, r->data, from, n * size) ? HIA_OK : HIA_CANCELLED;
}

static hia_status pack(HIA_COMPUTE) {
  hia_dtype dtype = (hia_dtype)o->dtype;
  if (o->n_in == 1) return pack_scalars(env, in[0], dtype, r);
  uint64_t n = hiaR_array_len(in[0]);
  int64_t sizes[HIA_MAX_RANK] = {0};
  for (uint32_t i = 1; i < o->n_in; i++) sizes[i - 1] = hiaR_to_i64(in[i]);
  hia_dims first = {.rank = o->n_in - 1}, pair[2], shape;
  for (uint32_t i = 0; i < HIA_MAX_RANK; i++) first.dims[i] = sizes[i];
  const hia_word *elements =
      n ? (const hia_word *)(const void *)hiaR_array_at(in[0], sizeof(hia_word), 0) : NULL;
  hia_fit fit = hiaR_shape_of_sizes(sizes, first.rank, &shape, &why->misfit);
  if (!n && fit != HIA_FIT_ALWAYS) return HIA_SHAPE;
  hia_work work = hiaR_work(env);
  for (uint64_t i = 0; i < n; i++) {
    if (elements[i] < HIA_FIRST_ADDRESS) return HIA_INTERNAL; /* an image that was tampered with */
    if (i == 0) first = hiaR_tensor_dims(hiaR_tensor(elements[0]));
    pair[0] = first;
    pair[1] = hiaR_tensor_dims(hiaR_tensor(elements[i]));
    if (hiaR_shape_stack(pair, 2, 0, &shape, &why->misfit) != HIA_FIT_ALWAYS) return HIA_SHAPE;
    if (!hiaR_work_on(&work, 100)) return HIA_CANCELLED;
  }
  shape = first;
  memmove(shape.dims + 1, shape.dims, shape.rank++ * sizeof *shape.dims);
  shape.dims[0] = (int64_t)n;
  if (!hiaR_result_new(env, dtype, &shape, r)) return HIA_MEMORY;
  char *to = r->data;
  for (uint64_t i = 0; i < n; i++) {
    const hia_tensor *x = hiaR_tensor(elements[i]);
    uint64_t bytes = hiaR_tensor_bytes(x);
    if (!hiaR_work_copy(&work, to, x->data, bytes)) return HIA_CANCELLED;
    to += bytes;
  }
  return HIA_OK;
}
HIA_DEFINE_OPERATION(PACK, pack)

static hia_status cat(HIA_COMPUTE) {
  hia_dims shape;
  hia_status status = shape_of_all(env, o, in, hiaR_shape_concat, &shape, &why->misfit);
  if (status) return status;
  if (!hiaR_result_new(env, hiaR_tensor_dtype(hiaR_tensor(in[0])), &shape, r)) return HIA_MEMORY;
  return copy_parts(env, o, in, elements_before(&shape, o->imm), r);
}
HIA_DEFINE_OPERATION(CAT, cat)
