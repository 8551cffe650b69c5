/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Tensors: objects that hold scalars of one dtype along some axes (docs/tensors.md).
 *
 * A tensor has rank 1 or more: of rank 0 it is a scalar, which is a word. Its elements lie one
 * after the other in row-major order, each as hiaR_store writes it: a bool takes a byte. So x[i],
 * and x[i..j], are parts of the memory of x, without strides.
 *
 * A tensor is immutable while anything else may refer to it. It is a *view* if its elements are a
 * part of another tensor's, its owner; a view never owns elements, so an owner is no view. A tensor
 * of no elements is an object too, since its dims may differ.
 *
 * Unlike data and arrays a tensor says what it is: rank and dtype are in its header. So one shape
 * (heap/object.h) serves the tensors of all types. */
#ifndef HIA_TENSOR_H
#define HIA_TENSOR_H

#include "runtime/base/shape.h"
#include "runtime/heap/object.h"

typedef struct hia_tensor {
  hia_counted counted; /* ctor: hia_tensor_kind; spare: hiaR_tensor_spare */
  char *data;          /* the first element; aligned at least to the size of an element */
  int64_t dims[];      /* as many as the rank; of a view the owner's address follows */
} hia_tensor;

typedef enum hia_tensor_kind {
  HIA_TENSOR_OWN,     /* its elements lie behind its dims */
  HIA_TENSOR_VIEW,    /* they are a part of another tensor's, to which it has a reference */
  HIA_TENSOR_OUTSIDE, /* they lie elsewhere; it belongs to no run, and is sticky */
  HIA_TENSOR_PARAM,   /* of a param (param/param.h): likewise; it goes with its state */
  HIA_TENSOR_LITERAL, /* of a program: likewise; it goes with its code. Or kept with a state of
                         params (param/memo.h): it goes with that */
  HIA_TENSOR_PENDING, /* its elements are not there yet (native/batch/batch.h); it becomes a view.
                         Where a view has its owner it has its row */
} hia_tensor_kind;

static inline hia_tensor *hiaR_tensor(hia_word ref) { return (hia_tensor *)(uintptr_t)ref; }
static inline uint16_t hiaR_tensor_spare(hia_dtype dtype, uint32_t rank) {
  return (uint16_t)((uint32_t)dtype << 8 | rank);
}
static inline uint32_t hiaR_tensor_rank(const hia_tensor *t) { return t->counted.spare & 255u; }
static inline hia_dtype hiaR_tensor_dtype(const hia_tensor *t) {
  return (hia_dtype)(t->counted.spare >> 8);
}
static inline uint32_t hiaR_dtype_size(hia_dtype dtype) { return hiaR_reprs[dtype].size; }
static inline hia_word *hiaR_tensor_owner(hia_tensor *view) {
  return (hia_word *)(void *)&view->dims[hiaR_tensor_rank(view)];
}
/* The number of elements. */
static inline uint64_t hiaR_tensor_len(const hia_tensor *t) {
  uint64_t n = 1;
  for (uint32_t i = 0; i < hiaR_tensor_rank(t); i++) n *= (uint64_t)t->dims[i];
  return n;
}
static inline uint64_t hiaR_tensor_bytes(const hia_tensor *t) {
  return hiaR_tensor_len(t) * hiaR_dtype_size(hiaR_tensor_dtype(t));
}
static inline hia_dims hiaR_tensor_dims(const hia_tensor *t) {
  hia_dims shape = {.rank = hiaR_tensor_rank(t)};
  memcpy(shape.dims, t->dims, shape.rank * sizeof *shape.dims);
  return shape;
}
/* The shape of an operand; of the word of a scalar, if `is_tensor` is false, that of rank 0. */
hia_dims hiaR_dims_of(hia_word word, bool is_tensor);

/* Elements of this many bytes or more begin at a multiple of HIA_TENSOR_ALIGN: vectors of that many
 * bytes then do not cross lines of the cache. */
enum { HIA_TENSOR_ALIGN = 64, HIA_TENSOR_ALIGNED = 256 };
/* Bytes of a tensor that has its elements, of which there are `bytes`. They must not overflow. */
static inline size_t hiaR_tensor_size(uint32_t rank, size_t bytes) {
  size_t head = sizeof(hia_tensor) + rank * sizeof(int64_t);
  size_t pad = bytes >= HIA_TENSOR_ALIGNED ? HIA_TENSOR_ALIGN - 8 : 0;
  return (head + pad + bytes + 7) & ~(size_t)7;
}

/* Where the elements of such a tensor begin, whose header is filled in. */
static inline char *hiaR_tensor_first_element(hia_tensor *t, size_t bytes) {
  char *end = (char *)&t->dims[hiaR_tensor_rank(t)];
  if (bytes < HIA_TENSOR_ALIGNED) return end;
  return end + (-(uintptr_t)end & (HIA_TENSOR_ALIGN - 1));
}

/* ---- tensor.c ----
 *
 * Functions that return false had no memory, and have changed nothing. */

/* Makes a tensor whose elements are not set: *ref, one reference. The shape is of numbers, with a
 * rank of 1 or more. False, too, if it has more elements than fit in memory. */
bool hiaR_tensor_new(hia_local_heap *local, hia_dtype dtype, const hia_dims *shape, hia_word *ref);
/* Makes a tensor of a part of another's elements, from element `first` on: *view, one reference.
 * The caller keeps its reference to the other. */
bool hiaR_tensor_view(hia_local_heap *local, hia_word ref, uint64_t first, const hia_dims *shape,
                      bool is_shared, hia_word *view);
/* True if nothing else refers to the tensor, nor to its elements: they may be overwritten. A view
 * of some of its owner's elements is never the last: what is made in its place would keep the
 * memory of all of them. */
bool hiaR_tensor_is_last(hia_word ref);
/* Frees a tensor to which nothing refers, and its owner with it if it was the last view. */
void hiaR_tensor_free(hia_local_heap *local, hia_word ref, bool is_shared);
static inline void hiaR_tensor_drop(hia_local_heap *local, hia_word ref, bool is_shared) {
  if (hiaR_let_go(ref, is_shared)) hiaR_tensor_free(local, ref, is_shared);
}

/* Element i, counted in memory. */
static inline hia_word hiaR_tensor_get(const hia_tensor *t, uint64_t i) {
  hia_dtype dtype = hiaR_tensor_dtype(t);
  return hiaR_load((hia_repr)dtype, t->data + i * hiaR_dtype_size(dtype));
}
static inline void hiaR_tensor_put(hia_tensor *t, uint64_t i, hia_word word) {
  hia_dtype dtype = hiaR_tensor_dtype(t);
  hiaR_store((hia_repr)dtype, t->data + i * hiaR_dtype_size(dtype), word);
}

/* True if it has floats, and its elements lie as those of a param do. */
static inline bool hiaR_tensor_lies_as_param(const hia_tensor *t) {
  hia_dtype dtype = hiaR_tensor_dtype(t);
  bool is_aligned = (uintptr_t)t->data % HIA_TENSOR_ALIGN == 0;
  return (dtype == HIA_F32 || dtype == HIA_F64) &&
         (is_aligned || hiaR_tensor_bytes(t) < HIA_TENSOR_ALIGNED);
}

#endif
