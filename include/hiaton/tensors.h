/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Tensors as C has them: the address of the elements, and the sizes. data.h includes it.
 *
 *   fn scale(x: f32[n, m], k: f32) -> f32[n, m]
 *   hia_status scale(hia_context *, const hia_f32_2 *x, float k, hia_value **result)
 *
 *   float elements[6] = {1, 2, 3, 4, 5, 6};
 *   hia_f32_2 x = {elements, {2, 3}}, y;
 *   hia_value *result;
 *   if (scale(context, &x, 0.5f, &result) == HIA_OK && hia_f32_2_of(result, &y) == HIA_OK)
 *     use(y.elements, y.dims);
 *   hia_value_free(result);
 *
 * hia_f32_2 is a *view* of a tensor of rank 2 of floats; the dtypes are bool, i32, i64, f32, f64,
 * and the ranks are 1 to 16. (A tensor of rank 0 is a scalar.) The elements lie one after the other
 * in row-major order, aligned to their size.
 *
 * A typed entry takes a pointer to a view for each parameter that is a tensor, and for each tensor
 * in a tuple. It borrows the elements for the call: they are neither copied nor changed, and no
 * other thread may change them meanwhile. Tensors in data and arrays are parts of values. A result
 * that is a tensor is a value of the caller's, with elements of its own, unless the caller gives it
 * room (hia_context_set_room).
 *
 * HIA_ARGUMENT, and an error that names the parameter: the pointer is NULL, a size is below 0, the
 * elements are NULL though there are some, or are not aligned, or are more than memory can hold, or
 * a bool is neither 0 nor 1. Sizes that the program does not take are HIA_SHAPE: its code finds
 * them. Without elements, one size being 0, the address may be NULL. */
#ifndef HIATON_TENSORS_H
#define HIATON_TENSORS_H

#include <hiaton/data.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Looks at a value that is a tensor of this dtype and rank: *elements, and `rank` sizes in `dims`,
 * as they lie in the value, which must outlive them. HIA_ARGUMENT if it is no such value or a
 * pointer is NULL; then *elements is NULL, and the sizes are 0. */
HIA_API hia_status hia_value_tensor(const hia_value *value, hia_dtype dtype, size_t rank,
                                    const void **elements, int64_t *dims);

/* Memory of the host's for a result of typed entries. Until it is changed, each call with this
 * context writes its result of this number, counted from 0 (of a tuple its part), to `elements`,
 * and its sizes to `dims`, which has room for `rank` of them. The entry's hia_value * of this
 * result is then NULL, and no memory is taken for it. The room holds n elements, aligned to their
 * size; the host keeps it until it is changed or the context is freed. It may be that of an
 * argument, but not that of another result.
 *
 * A result that has more elements, or is no tensor of this dtype and rank, ends the call with
 * HIA_ARGUMENT, and hia_context_error says what it has; a call that fails, for this reason or
 * another, has written nothing. Entries that have only scalars, results behind the last one of a
 * function, and the rows of maps ignore rooms.
 *
 * `elements` NULL, n 0 and `dims` NULL: the result is a value again. HIA_ARGUMENT: another NULL, an
 * alignment, dtype, rank or number that cannot be; HIA_BUSY: a call is under way; HIA_MEMORY. */
HIA_API hia_status hia_context_set_room(hia_context *context, size_t result, hia_dtype dtype,
                                        size_t rank, void *elements, size_t n, int64_t *dims);

/* A view, and the function that makes one of a value: hia_f32_2_of(value, &view). */
#define HIA_TENSOR_VIEW(name, dtype, type, rank)                                                   \
  typedef struct name {                                                                            \
    const type *elements;                                                                          \
    int64_t dims[rank];                                                                            \
  } name;                                                                                          \
  static inline hia_status name##_of(const hia_value *value, name *view) {                         \
    const void *elements = NULL;                                                                   \
    hia_status status = hia_value_tensor(value, dtype, rank, &elements, view ? view->dims : NULL); \
    if (view) view->elements = (const type *)elements;                                             \
    return status;                                                                                 \
  }
#define HIA_TENSOR_VIEWS(rank)                                                                     \
  HIA_TENSOR_VIEW(hia_bool_##rank, HIA_BOOL, bool, rank)                                           \
  HIA_TENSOR_VIEW(hia_i32_##rank, HIA_I32, int32_t, rank)                                          \
  HIA_TENSOR_VIEW(hia_i64_##rank, HIA_I64, int64_t, rank)                                          \
  HIA_TENSOR_VIEW(hia_f32_##rank, HIA_F32, float, rank)                                            \
  HIA_TENSOR_VIEW(hia_f64_##rank, HIA_F64, double, rank)
HIA_TENSOR_VIEWS(1)
HIA_TENSOR_VIEWS(2)
HIA_TENSOR_VIEWS(3)
HIA_TENSOR_VIEWS(4)
HIA_TENSOR_VIEWS(5)
HIA_TENSOR_VIEWS(6)
HIA_TENSOR_VIEWS(7)
HIA_TENSOR_VIEWS(8)
HIA_TENSOR_VIEWS(9)
HIA_TENSOR_VIEWS(10)
HIA_TENSOR_VIEWS(11)
HIA_TENSOR_VIEWS(12)
HIA_TENSOR_VIEWS(13)
HIA_TENSOR_VIEWS(14)
HIA_TENSOR_VIEWS(15)
HIA_TENSOR_VIEWS(16)
#undef HIA_TENSOR_VIEWS
#undef HIA_TENSOR_VIEW

#ifdef __cplusplus
}
#endif

#endif
