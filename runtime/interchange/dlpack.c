/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* DLPack: values from tensors of other libraries, and to them. */
#include "runtime/heap/tensor.h"
#include "runtime/interchange/values.h"
#include <hiaton/dlpack.h>

/* The layout is an ABI, whichever header it comes from. */
_Static_assert(sizeof(DLTensor) == 48 && offsetof(DLTensor, ndim) == 16 &&
                   offsetof(DLTensor, dtype) == 20 && offsetof(DLTensor, byte_offset) == 40,
               "DLTensor");
_Static_assert(sizeof(DLManagedTensor) == 64 && offsetof(DLManagedTensor, deleter) == 56,
               "DLManagedTensor");
_Static_assert(sizeof(DLManagedTensorVersioned) == 80 &&
                   offsetof(DLManagedTensorVersioned, flags) == 24,
               "DLManagedTensorVersioned");

static hia_status out_of_memory(const hia_allocator *allocator, hia_error **error) {
  return hiaR_fail_text(allocator, error, HIA_MEMORY, NULL, "%s", hiaR_status_message(HIA_MEMORY));
}

static const DLDataType dtypes[HIA_N_DTYPES] = {
    [HIA_BOOL] = {kDLBool, 8, 1},  [HIA_I32] = {kDLInt, 32, 1},   [HIA_I64] = {kDLInt, 64, 1},
    [HIA_F32] = {kDLFloat, 32, 1}, [HIA_F64] = {kDLFloat, 64, 1},
};

/* ---- tensors that hiaton makes ---- */

typedef struct made {
  union {
    DLManagedTensor plain;
    DLManagedTensorVersioned versioned;
  } tensor; /* first */
  hia_allocator allocator;
  hia_objects *objects; /* held, with the elements; or NULL */
  size_t size;          /* of the block */
  int64_t shape[HIA_MAX_RANK], strides[HIA_MAX_RANK];
  uint64_t scalar;
  /* a copy of the elements */
} made;

static void free_made(made *m) {
  const hia_allocator allocator = m->allocator;
  hiaR_objects_release(m->objects);
  hiaR_free(&allocator, m, m->size);
}
static void delete_plain(DLManagedTensor *self) { free_made(self->manager_ctx); }
static void delete_versioned(DLManagedTensorVersioned *self) { free_made(self->manager_ctx); }

/* `out`: the tensor in `made` that is given away. */
static hia_status make(const hia_value *value, bool is_copied, made **out, DLTensor *dl,
                       hia_error **error) {
  if (!value) return hiaR_fail_text(&hiaR_malloc, error, HIA_ARGUMENT, NULL, "no value");
  const hia_allocator *allocator = &value->allocator;
  uint64_t scalar = 0;
  hia_file_tensor t;
  if (!hiaR_file_tensor_of_value(value, &scalar, &t)) {
    char text[128];
    hia_type_info_format(value->type, text, sizeof text);
    return hiaR_fail_text(allocator, error, HIA_ARGUMENT, NULL,
                          "DLPack has tensors and scalars, and %s is neither", text);
  }
  bool has_copy = is_copied && t.shape.rank;
  size_t size;
  if (!hiaR_add(sizeof(made) + HIA_TENSOR_ALIGN, has_copy ? (size_t)t.size : 0, &size))
    return out_of_memory(allocator, error);
  made *m = allocator->alloc(allocator->user, size);
  if (!m) return out_of_memory(allocator, error);
  *m = (made){.allocator = *allocator, .size = size, .scalar = scalar};
  char *elements = (char *)(m + 1);
  elements += -(uintptr_t)elements & (HIA_TENSOR_ALIGN - 1);
  int64_t stride = 1;
  for (uint32_t i = t.shape.rank; i-- > 0;) {
    m->shape[i] = t.shape.dims[i];
    m->strides[i] = stride;
    stride *= t.shape.dims[i] > 1 ? t.shape.dims[i] : 1;
  }
  if (has_copy && t.size) memcpy(elements, t.data, (size_t)t.size);
  if (!has_copy && t.shape.rank) m->objects = hiaR_objects_hold(value->objects);
  const void *data = !t.shape.rank ? &m->scalar : has_copy ? elements : t.data;
  *dl = (DLTensor){.data = t.size ? (void *)(uintptr_t)data : NULL,
                   .device = {kDLCPU, 0},
                   .ndim = (int32_t)t.shape.rank,
                   .dtype = dtypes[t.dtype],
                   .shape = m->shape,
                   .strides = m->strides};
  *out = m;
  return HIA_OK;
}

hia_status hia_value_to_dlpack(const hia_value *value, struct DLManagedTensorVersioned **tensor,
                               hia_error **error) {
  if (error) *error = NULL;
  if (!tensor)
    return hiaR_fail_text(value ? &value->allocator : &hiaR_malloc, error, HIA_ARGUMENT, NULL,
                          "no place for the tensor");
  *tensor = NULL;
  made *m;
  DLTensor dl;
  hia_status status = make(value, false, &m, &dl, error);
  if (status != HIA_OK) return status;
  m->tensor.versioned = (DLManagedTensorVersioned){.version = {1, 0},
                                                   .manager_ctx = m,
                                                   .deleter = delete_versioned,
                                                   .flags = DLPACK_FLAG_BITMASK_READ_ONLY,
                                                   .dl_tensor = dl};
  *tensor = &m->tensor.versioned;
  return HIA_OK;
}

hia_status hia_value_to_dlpack_unversioned(const hia_value *value, struct DLManagedTensor **tensor,
                                           hia_error **error) {
  if (error) *error = NULL;
  if (!tensor)
    return hiaR_fail_text(value ? &value->allocator : &hiaR_malloc, error, HIA_ARGUMENT, NULL,
                          "no place for the tensor");
  *tensor = NULL;
  made *m;
  DLTensor dl;
  hia_status status = make(value, true, &m, &dl, error);
  if (status != HIA_OK) return status;
  m->tensor.plain = (DLManagedTensor){.dl_tensor = dl, .manager_ctx = m, .deleter = delete_plain};
  *tensor = &m->tensor.plain;
  return HIA_OK;
}

/* ---- tensors of others ---- */

/* What a value takes over: one of the two. */
typedef struct taken {
  DLManagedTensor *plain;
  DLManagedTensorVersioned *versioned;
  const DLTensor *dl;
} taken;

static void release_plain(void *user) {
  DLManagedTensor *t = user;
  if (t->deleter) t->deleter(t);
}
static void release_versioned(void *user) {
  DLManagedTensorVersioned *t = user;
  if (t->deleter) t->deleter(t);
}
static void release(const taken *t) {
  if (t->plain)
    release_plain(t->plain);
  else
    release_versioned(t->versioned);
}

/* What holds the elements of a tensor that hiaton has made; else NULL. */
static hia_objects *objects_of(const taken *t) {
  bool is_ours =
      t->plain ? t->plain->deleter == delete_plain : t->versioned->deleter == delete_versioned;
  if (!is_ours) return NULL;
  const made *m = t->plain ? t->plain->manager_ctx : t->versioned->manager_ctx;
  return m->objects;
}

typedef struct reading {
  const hia_allocator *allocator;
  hia_error **error;
  hia_dtype dtype;
  hia_dims shape;
  uint64_t n; /* elements */
  uint32_t size;
  const char *data;
  const int64_t *strides; /* in elements; NULL: row-major */
} reading;

static bool find_dtype(DLDataType dl, hia_dtype *dtype) {
  for (int i = 0; i < HIA_N_DTYPES; i++)
    if (dtypes[i].code == dl.code && dtypes[i].bits == dl.bits && dtypes[i].lanes == dl.lanes) {
      *dtype = (hia_dtype)i;
      return true;
    }
  return false;
}

static hia_status read_shape(reading *r, const DLTensor *dl) {
  if (dl->ndim < 0 || dl->ndim > HIA_MAX_RANK)
    return hiaR_fail_text(r->allocator, r->error, HIA_ARGUMENT, NULL,
                          "the tensor has %d axes; 0 to %d may be", (int)dl->ndim, HIA_MAX_RANK);
  if (dl->ndim && !dl->shape)
    return hiaR_fail_text(r->allocator, r->error, HIA_ARGUMENT, NULL, "the tensor has no shape");
  r->shape.rank = (uint32_t)dl->ndim;
  for (uint32_t i = 0; i < r->shape.rank; i++) {
    if (dl->shape[i] < 0)
      return hiaR_fail_text(r->allocator, r->error, HIA_ARGUMENT, NULL, "axis %u has the size %lld",
                            i, (long long)dl->shape[i]);
    r->shape.dims[i] = dl->shape[i];
  }
  if (!hiaR_shape_elements(&r->shape, r->size, &r->n) || r->n > PTRDIFF_MAX / 2 / r->size)
    return hiaR_fail_text(r->allocator, r->error, HIA_ARGUMENT, NULL,
                          "the tensor has more elements than fit into memory");
  return HIA_OK;
}

/* True if the elements, from the first to the last in memory, are where memory can be. */
static bool has_room(const reading *r) {
  int64_t low = 0, high = (int64_t)r->size; /* bytes from the first element */
  for (uint32_t i = 0; r->strides && i < r->shape.rank; i++) {
    int64_t far, *end = r->strides[i] < 0 ? &low : &high;
    if (__builtin_mul_overflow(r->strides[i], r->shape.dims[i] - 1, &far) ||
        __builtin_mul_overflow(far, (int64_t)r->size, &far) ||
        __builtin_add_overflow(*end, far, end))
      return false;
  }
  if (!r->strides) high = (int64_t)(r->n * r->size);
  uint64_t at = (uintptr_t)r->data;
  return at <= INTPTR_MAX && low >= -(int64_t)at && high <= INTPTR_MAX - (int64_t)at;
}

static hia_status read_address(reading *r, const DLTensor *dl) {
  if (!r->n) return HIA_OK;
  if (!dl->data)
    return hiaR_fail_text(r->allocator, r->error, HIA_ARGUMENT, NULL,
                          "the tensor has no elements, and should have %llu",
                          (unsigned long long)r->n);
  uintptr_t at;
  bool is_fine = !__builtin_add_overflow((uintptr_t)dl->data, dl->byte_offset, &at);
  r->data = (const char *)at;
  r->strides = r->shape.rank ? dl->strides : NULL;
  if (!is_fine || !has_room(r))
    return hiaR_fail_text(r->allocator, r->error, HIA_ARGUMENT, NULL,
                          "the offset or the strides of the tensor lead out of memory");
  /* The stride of an axis of one element does not matter. */
  int64_t stride = 1;
  bool is_row_major = true;
  for (uint32_t i = r->shape.rank; r->strides && i-- > 0;) {
    if (r->shape.dims[i] != 1 && r->strides[i] != stride) is_row_major = false;
    stride *= r->shape.dims[i];
  }
  if (is_row_major) r->strides = NULL;
  return HIA_OK;
}

/* Calls the function for each row along the last axis, in row-major order; false: it ended so. */
static bool each_row(const reading *r,
                     bool (*row)(void *user, const char *from, int64_t stride, int64_t n),
                     void *user) {
  uint32_t last = r->shape.rank - 1;
  int64_t index[HIA_MAX_RANK] = {0}, n = r->shape.dims[last];
  const char *from = r->data;
  for (uint64_t left = r->n / (uint64_t)n; left; left--) {
    if (!row(user, from, r->strides[last] * (int64_t)r->size, n)) return false;
    for (uint32_t i = last; i-- > 0;) {
      int64_t stride = r->strides[i] * (int64_t)r->size;
      if (++index[i] < r->shape.dims[i]) {
        from += stride;
        break;
      }
      from -= stride * (r->shape.dims[i] - 1);
      index[i] = 0;
    }
  }
  return true;
}

typedef struct copying {
  char *to;
  uint32_t size;
} copying;

static bool copy_row(void *user, const char *from, int64_t stride, int64_t n) {
  copying *c = user;
  for (int64_t i = 0; i < n; i++, c->to += c->size) switch (c->size) {
    case 1: *c->to = from[i * stride]; break;
    case 4: memcpy(c->to, from + i * stride, 4); break;
    default: memcpy(c->to, from + i * stride, 8);
    }
  return true;
}

static bool are_bools(void *user, const char *from, int64_t stride, int64_t n) {
  (void)user;
  for (int64_t i = 0; i < n; i++)
    if ((unsigned char)from[i * stride] > 1) return false;
  return true;
}

static hia_status check_bools(const reading *r) {
  if (r->dtype != HIA_BOOL || !r->n) return HIA_OK;
  bool is_fine =
      r->strides ? each_row(r, are_bools, NULL) : are_bools(NULL, r->data, 1, (int64_t)r->n);
  return is_fine ? HIA_OK
                 : hiaR_fail_text(r->allocator, r->error, HIA_ARGUMENT, NULL,
                                  "a bool of the tensor is neither 0 nor 1");
}

static void copy_elements(const reading *r, char *to) {
  copying c = {to, r->size};
  if (r->strides)
    each_row(r, copy_row, &c);
  else if (r->n)
    memcpy(to, r->data, (size_t)r->n * r->size);
}

static hia_status check_type(const reading *r, const hia_type_info *type) {
  hia_dtype dtype;
  hia_dims shape;
  if (!type) return HIA_OK;
  bool is_fine = hiaR_file_type(type, &dtype, &shape);
  if (is_fine && dtype == r->dtype && shape.rank == r->shape.rank) return HIA_OK;
  char text[128], found[16];
  hia_type_info_format(type, text, sizeof text);
  if (!is_fine)
    return hiaR_fail_text(r->allocator, r->error, HIA_ARGUMENT, NULL,
                          "DLPack has tensors and scalars, and %s is neither", text);
  hia_type_info_format(&hiaR_scalar_infos[r->dtype], found, sizeof found);
  return hiaR_fail_text(r->allocator, r->error, HIA_ARGUMENT, NULL,
                        "expected %s, the tensor is of %s, with %u axes", text, found,
                        r->shape.rank);
}

/* The tensor, in `objects`; is_shared: with the elements where they are. NULL: no memory. */
static hia_tensor *make_tensor(const reading *r, hia_objects *objects, bool is_shared) {
  if (!is_shared) {
    hia_tensor *copy = hiaR_new_tensor(objects, r->dtype, &r->shape);
    if (copy) copy_elements(r, copy->data);
    return copy;
  }
  hia_tensor *t = hiaR_objects_alloc(objects, hiaR_tensor_size(r->shape.rank, 0));
  if (!t) return NULL;
  atomic_init(&t->counted.count, HIA_OUTSIDE);
  t->counted.ctor = HIA_TENSOR_OUTSIDE;
  t->counted.spare = hiaR_tensor_spare(r->dtype, r->shape.rank);
  memcpy(t->dims, r->shape.dims, r->shape.rank * sizeof *t->dims);
  t->data = (char *)(uintptr_t)r->data;
  return t;
}

/* Lets the objects hold the tensor. What hiaton has made itself is not held by its deleter: frees
 * could then nest, as deep as a tensor has gone back and forth. */
static bool hold(hia_objects *objects, const taken *t, bool *is_released) {
  hia_objects *held = objects_of(t);
  *is_released = held != NULL;
  if (held) return hiaR_objects_depend(objects, held);
  return t->plain ? hiaR_objects_own(objects, release_plain, t->plain)
                  : hiaR_objects_own(objects, release_versioned, t->versioned);
}

static hia_status make_value(const reading *r, const hia_type_info *type, const taken *t,
                             hia_value **value) {
  hia_value_types *new_types = NULL;
  hia_word word = 0;
  uint32_t rank = r->shape.rank;
  if (!rank) {
    word = hiaR_load((hia_repr)r->dtype, r->data);
    *value = hiaR_value_new(r->allocator, type ? type : &hiaR_scalar_infos[r->dtype], NULL, &word);
    if (!*value) return HIA_MEMORY;
    release(t);
    return HIA_OK;
  }
  if (!type && !(new_types = hiaR_file_types(r->allocator, r->dtype, rank))) return HIA_MEMORY;
  bool is_shared = r->n && !r->strides && (uintptr_t)r->data % r->size == 0, is_released = true;
  hia_objects *objects = hiaR_objects_new(r->allocator, 0);
  hia_tensor *tensor = objects ? make_tensor(r, objects, is_shared) : NULL;
  word = (uintptr_t)tensor;
  if (tensor)
    *value = hiaR_value_new(r->allocator, type ? type : &new_types->infos[0], objects, &word);
  if (*value && is_shared && !hold(objects, t, &is_released)) {
    hia_value_free(*value);
    *value = NULL;
  }
  if (*value && is_released) release(t);
  hiaR_objects_release(objects);
  hiaR_value_types_release(new_types);
  return *value ? HIA_OK : HIA_MEMORY;
}

static hia_status read_tensor(const hia_allocator *allocator, const hia_type_info *type,
                              const taken *t, hia_value **value, hia_error **error) {
  const DLTensor *dl = t->dl;
  reading r = {.allocator = allocator, .error = error};
  if ((int)dl->device.device_type != kDLCPU)
    return hiaR_fail_text(allocator, error, HIA_UNSUPPORTED, NULL,
                          "the tensor is on a device of type %d, and not on the CPU (%d)",
                          (int)dl->device.device_type, kDLCPU);
  if (!find_dtype(dl->dtype, &r.dtype))
    return hiaR_fail_text(allocator, error, HIA_UNSUPPORTED, NULL,
                          "the tensor's dtype (code %u, %u bits, %u lanes) is none of bool, i32, "
                          "i64, f32, f64",
                          dl->dtype.code, dl->dtype.bits, dl->dtype.lanes);
  r.size = hiaR_dtype_size(r.dtype);
  hia_status status = read_shape(&r, dl);
  if (status == HIA_OK) status = check_type(&r, type);
  if (status == HIA_OK) status = read_address(&r, dl);
  if (status == HIA_OK) status = check_bools(&r);
  if (status != HIA_OK) return status;
  status = make_value(&r, type, t, value);
  return status == HIA_OK ? HIA_OK : out_of_memory(allocator, error);
}

/* `tensor`: what must be there, besides the place for the value. */
static hia_status begin(const hia_allocator **allocator, const void *tensor, hia_value **value,
                        hia_error **error) {
  if (error) *error = NULL;
  if (value) *value = NULL;
  if (!*allocator) *allocator = &hiaR_malloc;
  if (tensor && value) return HIA_OK;
  return hiaR_fail_text(*allocator, error, HIA_ARGUMENT, NULL, "no %s",
                        tensor ? "place for the value" : "tensor");
}

hia_status hia_data_from_dlpack(const hia_allocator *allocator, const hia_type_info *type,
                                struct DLManagedTensorVersioned *tensor, hia_value **value,
                                hia_error **error) {
  hia_status status = begin(&allocator, tensor, value, error);
  if (status != HIA_OK) return status;
  if (tensor->version.major != DLPACK_MAJOR_VERSION)
    return hiaR_fail_text(allocator, error, HIA_UNSUPPORTED, NULL,
                          "the tensor is of version %u.%u of DLPack, and not of 1",
                          tensor->version.major, tensor->version.minor);
  const taken t = {.versioned = tensor, .dl = &tensor->dl_tensor};
  return read_tensor(allocator, type, &t, value, error);
}

hia_status hia_data_from_dlpack_unversioned(const hia_allocator *allocator,
                                            const hia_type_info *type,
                                            struct DLManagedTensor *tensor, hia_value **value,
                                            hia_error **error) {
  hia_status status = begin(&allocator, tensor, value, error);
  if (status != HIA_OK) return status;
  const taken t = {.plain = tensor, .dl = &tensor->dl_tensor};
  return read_tensor(allocator, type, &t, value, error);
}
