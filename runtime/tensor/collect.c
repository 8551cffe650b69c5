/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Collecting a sum (base/sums.h) in a tensor, or in some rows of one. docs/tensors.md, "Gradients",
 * says in which order it adds.
 *
 * One would add contribution after contribution to the tensor. But then each outer product would
 * read and write all of it, and take as long as the memory needs: a matrix of a model has some
 * hundreds of them. So it is noted where vectors are, and from time to time the sum of the outer
 * products is added, by the kernels of products, which read the vectors where they lie. (Copies of
 * them, as the rows of two matrices, took up to a fifth of the time.) An element is one
 * accumulator, to which a product at a time is added: so the bits are those that one outer product
 * after the other would give, however many are noted. */
#include "runtime/tensor/collect.h"

/* ---- NaNs ---- */

/* A part of a sum of this rank is to be looked through; NOTHING has no NaN. */
static bool push_ranked(hia_collecting *c, hia_word sum, uint32_t rank) {
  return sum < HIA_FIRST_ADDRESS || (hiaR_collect_push(c, rank) && hiaR_collect_push(c, sum));
}

/* Whether the tensors of a part have one. */
static hia_status look_at_tensors(hia_collecting *c, hia_word sum, bool *has) {
  hia_sum_ctor ctor = (hia_sum_ctor)hiaR_object(sum)->ctor;
  for (uint32_t i = ctor == HIA_SUM_ROWS; i < hiaR_sum_n_tensors(ctor) && !*has; i++) {
    const hia_tensor *x = hiaR_sum_tensor(sum, hiaR_sum_field(i));
    uint64_t at = 0;
    if (!hiaR_work_find_nan(&c->work, x, &at)) return HIA_CANCELLED;
    *has = at < hiaR_tensor_len(x);
  }
  return HIA_OK;
}

/* Two sums, at a field and the next one. */
static bool push_both(hia_collecting *c, hia_word sum, uint32_t first, uint32_t rank) {
  uint32_t second = first + (uint32_t)sizeof(hia_word);
  return push_ranked(c, hiaR_sum_word(sum, second), rank) &&
         push_ranked(c, hiaR_sum_word(sum, first), rank);
}

static hia_status look_for_nan(hia_collecting *c, hia_word sum, uint32_t rank, bool *has) {
  hia_sum_ctor ctor = (hia_sum_ctor)hiaR_object(sum)->ctor;
  bool is_done = true;
  if (!hiaR_sum_is_sound(sum)) return HIA_INTERNAL;
  switch (ctor) {
  case HIA_SUM_BOTH: is_done = push_both(c, sum, HIA_SUM_FIRST, rank); break;
  case HIA_SUM_ROW:
    if (rank == 1)
      *has = hiaR_is_nan(
          c->dtype, hiaR_load((hia_repr)c->dtype, (const char *)hiaR_object(sum) + HIA_SUM_SECOND));
    else
      is_done = push_ranked(c, hiaR_sum_word(sum, HIA_SUM_FIRST), rank - 1);
    break;
  case HIA_SUM_PART: is_done = push_ranked(c, hiaR_sum_word(sum, HIA_SUM_FIRST), rank); break;
  default:
    if (hiaR_sum_then(ctor) && !push_both(c, sum, hiaR_sum_then(ctor), rank)) return HIA_MEMORY;
    return look_at_tensors(c, sum, has);
  }
  return is_done ? HIA_OK : HIA_MEMORY;
}

/* ---- the operations ---- */

/* `x` is a tensor of the shape of all. */
static hia_collecting begin(const hia_env *env, hia_word x, hia_result *r, hia_misfortune *why) {
  const hia_tensor *t = hiaR_tensor(x);
  hia_collecting c = {.env = env,
                      .work = hiaR_work(env),
                      .dtype = hiaR_tensor_dtype(t),
                      .shape = hiaR_tensor_dims(t),
                      .result = r,
                      .why = why};
  c.element = hiaR_dtype_size(c.dtype);
  c.own_rows = c.shape.dims[0];
  return c;
}

static void end(hia_collecting *c) {
  if (c->pending.words != c->pending.few)
    hiaR_heap_release(c->env->local, c->pending.words, c->pending.size * sizeof *c->pending.words);
}

static void use_few(hia_collect_pending *p) {
  p->words = p->few;
  p->size = HIA_LEN(p->few);
}

hia_status hiaR_sum_has_nan(const hia_env *env, hia_dtype dtype, uint32_t rank, hia_word sum,
                            bool *has) {
  hia_collecting c = {.env = env, .work = hiaR_work(env), .dtype = dtype};
  use_few(&c.pending);
  *has = false;
  hia_status status = push_ranked(&c, sum, rank) ? HIA_OK : HIA_MEMORY;
  while (!status && !*has && c.pending.n) {
    hia_word next = c.pending.words[--c.pending.n];
    uint32_t its = (uint32_t)c.pending.words[--c.pending.n];
    status = hiaR_work_on(&c.work, 10) ? look_for_nan(&c, next, its, has) : HIA_CANCELLED;
  }
  end(&c);
  return status;
}

static hia_status collect_in(hia_collecting *c, hia_word sum) {
  const char *vectors[3][HIA_COLLECT_OUTERS];
  c->gathered.a_at = vectors[0];
  c->gathered.b_at = vectors[1];
  c->gathered.c_at = vectors[2];
  use_few(&c->pending);
  uint64_t below = 1;
  for (uint32_t i = c->shape.rank; i--; below *= (uint64_t)c->shape.dims[i]) c->below[i] = below;
  c->len = below;
  c->window.rows = c->shape.dims[0];
  bool is_done = false;
  hia_status status = c->rows ? HIA_OK : hiaR_collect_tiles(c, sum, &is_done);
  if (!status && !is_done) status = hiaR_collect_walk(c, sum);
  hiaR_collect_free_turned(c);
  if (!status && c->only) { /* its reference is the sum's */
    hiaR_dup(c->only, c->env->is_shared);
    c->result->is_tensor = true;
    c->result->word = c->only;
  }
  end(c);
  return status;
}

static hia_status collect(HIA_COMPUTE) {
  hia_collecting c = begin(env, in[1], r, why);
  (void)o;
  return collect_in(&c, in[0]);
}
HIA_DEFINE_OPERATION(COLLECT, collect)

static hia_status collect_rows(HIA_COMPUTE) {
  hia_collecting c = begin(env, in[2], r, why);
  const hia_tensor *rows = hiaR_tensor(in[1]);
  (void)o;
  if (rows->dims[0] < c.own_rows) c.rows = rows;
  if (rows->dims[0] > c.own_rows) return hiaR_collect_wrong_rows(&c, 0, rows->dims[0]);
  c.shape.dims[0] = rows->dims[0];
  return collect_in(&c, in[0]);
}
HIA_DEFINE_OPERATION(COLLECT_ROWS, collect_rows)

static hia_status touched(HIA_COMPUTE) {
  hia_collecting c = begin(env, in[1], r, why);
  (void)o;
  size_t bytes = ((size_t)c.own_rows + 63) / 64 * sizeof *c.touched;
  use_few(&c.pending);
  if (bytes && !(c.touched = hiaR_heap_alloc(env->local, bytes))) return HIA_MEMORY;
  if (bytes) memset(c.touched, 0, bytes);
  hia_status status = hiaR_collect_touched(&c, in[0]);
  if (bytes) hiaR_heap_release(env->local, c.touched, bytes);
  end(&c);
  return status;
}
HIA_DEFINE_OPERATION(TOUCHED, touched)
