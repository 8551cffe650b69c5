/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Packed forms of the matrices in params' tensors (packed.h). */
#include "runtime/tensor/packed.h"
#include "runtime/base/left.h"
#include "runtime/kernel/product.h"

/* Without the packed form a use as a left operand of vectors costs a third of packing. So it is
 * packed at the second one. As a right operand a matrix has rows that are contiguous, and products
 * read them as they lie nearly as fast as panels: a form that lasts for one step of training would
 * not be worth its cost. But rows that are a multiple of PAGE bytes apart share sets of the caches.
 */
enum { USES = 1, PAGE = 4096, PACK_ALIGN = 64 };
#define PACKING UINT32_MAX

static hia_packed_forms *forms_of(hia_tensor *t) { return (hia_packed_forms *)(void *)t - 1; }

void hiaR_packed_free(const hia_packed_forms *forms) {
  for (uint32_t i = 0; i < HIA_N_PACKINGS; i++)
    hiaR_free(&forms->allocator, forms->list[i].block, forms->list[i].size);
}

size_t hiaR_packed_bytes(const hia_packed_forms *forms) {
  size_t bytes = 0;
  for (uint32_t i = 0; i < HIA_N_PACKINGS; i++)
    if (atomic_load_explicit(&forms->list[i].block, memory_order_acquire))
      bytes += forms->list[i].size;
  return bytes;
}

static uint32_t uses_before(const hia_tensor *param, hia_packing packing) {
  uint32_t rank = hiaR_tensor_rank(param);
  uint64_t element = hiaR_dtype_size(hiaR_tensor_dtype(param));
  if (packing != HIA_PACK_RIGHT || rank == 0) return USES;
  return (uint64_t)param->dims[rank - 1] * element % PAGE ? HIA_PACK_RIGHT_USES : USES;
}

void hiaR_packed_forget(hia_packed_forms *forms) {
  const hia_tensor *param = (const hia_tensor *)(const void *)(forms + 1);
  for (uint32_t i = 0; i < HIA_N_PACKINGS; i++) {
    hia_packed_form *form = &forms->list[i];
    /* The value before was packed, and this one will be used as often: it is packed at once, unless
     * the form is of little use. */
    uint32_t uses = uses_before(param, (hia_packing)i);
    bool was_packed = atomic_load_explicit(&form->packed, memory_order_relaxed) != NULL;
    atomic_store_explicit(&form->packed, NULL, memory_order_relaxed);
    atomic_store_explicit(&form->uses, was_packed && uses == USES ? USES : 0, memory_order_relaxed);
  }
}

typedef struct matrices {
  hia_dtype dtype;
  size_t rows, cols; /* of each */
  size_t n;
  size_t k, width; /* packed: k x width */
  hia_packing packing;
} matrices;

static matrices matrices_of(const hia_tensor *t, hia_packing packing) {
  uint32_t rank = hiaR_tensor_rank(t);
  matrices m = {
      hiaR_tensor_dtype(t), (size_t)t->dims[rank - 2], (size_t)t->dims[rank - 1], 1, 0, 0, packing};
  for (uint32_t i = 0; i + 2 < rank; i++) m.n *= (size_t)t->dims[i];
  if (packing == HIA_PACK_LEFT) m.rows *= m.n, m.n = 1; /* the rows of all */
  m.k = packing == HIA_PACK_RIGHT ? m.rows : m.cols;
  m.width = packing == HIA_PACK_RIGHT ? m.cols : m.rows;
  return m;
}

static bool pack(const matrices *m, const hia_tensor *t, size_t each, char *to,
                 bool (*must_go_on)(void *user, uint64_t ns), void *user) {
  size_t parts = hiaR_pack_parts(m->dtype, m->k, m->width);
  size_t bytes = m->rows * m->cols * hiaR_dtype_size(m->dtype);
  ptrdiff_t row = (ptrdiff_t)m->cols, col = 1;
  for (size_t i = 0; i < m->n; i++) {
    hia_matrix b = {t->data + i * bytes, row, col};
    if (m->packing != HIA_PACK_RIGHT) b.row = col, b.col = row;
    for (size_t part = 0; part < parts; part++) {
      if (!must_go_on(user, 50000)) return false;
      hiaR_pack_part(m->dtype, m->k, m->width, b, to + i * each, part);
    }
  }
  return true;
}

/* The block for so many bytes, which are aligned in it. NULL: no memory. */
static char *block_of(const hia_allocator *allocator, hia_packed_form *form, size_t bytes) {
  char *block = atomic_load_explicit(&form->block, memory_order_relaxed);
  if (block || bytes > PTRDIFF_MAX / 2) return block;
  block = hiaR_take_large(allocator, bytes + PACK_ALIGN);
  form->size = bytes + PACK_ALIGN;
  atomic_store_explicit(&form->block, block, memory_order_release);
  return block;
}

/* Makes the form, unless another thread does, or did. */
static void make_form(hia_tensor *t, const matrices *m, size_t each, hia_packed_form *form,
                      bool (*must_go_on)(void *user, uint64_t ns), void *user) {
  uint32_t uses = atomic_load_explicit(&form->uses, memory_order_relaxed),
           least = uses_before(t, m->packing);
  if (uses == PACKING) return;
  if (uses < least) {
    atomic_compare_exchange_strong(&form->uses, &uses, uses + 1);
    return;
  }
  if (!atomic_compare_exchange_strong(&form->uses, &uses, PACKING)) return;
  size_t bytes;
  char *block =
      hiaR_mul(each, m->n, &bytes) ? block_of(&forms_of(t)->allocator, form, bytes) : NULL;
  if (!block) return; /* that is not tried again */
  char *packed = block + (-(uintptr_t)block & (PACK_ALIGN - 1));
  if (pack(m, t, each, packed, must_go_on, user))
    atomic_store_explicit(&form->packed, packed, memory_order_release);
  else
    atomic_store(&form->uses, least);
}

const void *hiaR_tensor_packed(hia_tensor *tensor, const char *data, hia_packing packing,
                               bool (*must_go_on)(void *user, uint64_t ns), void *user) {
  hia_tensor *param = tensor;
  if (tensor->counted.ctor == HIA_TENSOR_VIEW) param = hiaR_tensor(*hiaR_tensor_owner(tensor));
  if (param->counted.ctor != HIA_TENSOR_PARAM || hiaR_tensor_rank(param) < 2) return NULL;
  uint32_t rank = hiaR_tensor_rank(tensor), of_param = hiaR_tensor_rank(param);
  bool is_all_rows = packing == HIA_PACK_LEFT && rank == 2 && tensor->data == param->data &&
                     tensor->dims[1] == param->dims[of_param - 1] &&
                     hiaR_tensor_len(tensor) == hiaR_tensor_len(param);
  if (!is_all_rows && /* of all matrices, as one */
      (rank < 2 ||
       memcmp(&tensor->dims[rank - 2], &param->dims[of_param - 2], 2 * sizeof *tensor->dims) != 0))
    return NULL;
  /* The form of a param on the left has the rows of all of its matrices side by side. */
  if (packing == HIA_PACK_LEFT && hiaR_tensor_len(tensor) != hiaR_tensor_len(param)) {
    if (rank != 2) return NULL;
    packing = HIA_PACK_LEFT_EACH;
  }
  matrices m = matrices_of(param, packing);
  size_t bytes = m.rows * m.cols * hiaR_dtype_size(m.dtype), at = (size_t)(data - param->data);
  if (bytes == 0 || at % bytes || at / bytes >= m.n) return NULL;
  hia_packed_form *form = &forms_of(param)->list[packing];
  char *packed = atomic_load_explicit(&form->packed, memory_order_acquire);
  size_t each = hiaR_packed_size(m.dtype, m.k, m.width);
  if (!packed && each != SIZE_MAX) {
    make_form(param, &m, each, form, must_go_on, user);
    packed = atomic_load_explicit(&form->packed, memory_order_acquire);
  }
  return packed ? packed + at / bytes * each : NULL;
}
