/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Objects of a run: shapes, counts, freeing without recursion, and results that leave the run. */
#include "graph/ir/graph.h"
#include "runtime/heap/array.h"
#include "runtime/heap/tensor.h"
#include "runtime/value/value.h"
#include "tests/unit/helpers/memory.h"
#include <criterion/criterion.h>
#include <limits.h>

/* type List = Nil | Cons(head: i32, tail: List), type Rose = Rose(label: i64, below: [Rose]) */
typedef struct fixture {
  test_heap memory;
  hia_comp comp;
  hia_types types;
  hia_type list, rose, roses, rows; /* rows: [(f32[?], i64)] */
  hia_type_table table;
  hia_shapes *shapes;
  size_t shapes_size;
  hia_heap heap;
  hia_local_heap local;
} fixture;

static void set_up(fixture *x) {
  test_heap_init(&x->memory, -1);
  hiaR_comp_init(&x->comp, &x->memory.allocator);
  hiaG_types_init(&x->types, &x->comp);
  x->list = hiaG_data(&x->types, "List");
  x->rose = hiaG_data(&x->types, "Rose");
  x->roses = hiaG_array(&x->types, x->rose);
  const char *cons[] = {"head", "tail"}, *rose[] = {"label", "below"};
  const hia_type cons_types[] = {HIA_I32, x->list}, rose_types[] = {HIA_I64, x->roses};
  const hia_ctor_def list_ctors[] = {{"Nil", NULL, NULL, 0}, {"Cons", cons, cons_types, 2}};
  const hia_ctor_def rose_ctors[] = {{"Rose", rose, rose_types, 2}};
  hiaG_data_define(&x->types, x->list, list_ctors, 2);
  hiaG_data_define(&x->types, x->rose, rose_ctors, 1);
  hia_type row[] = {hiaG_tensor(&x->types, HIA_F32, 1), HIA_I64};
  x->rows = hiaG_array(&x->types, hiaG_tuple(&x->types, row, 2));
  x->table = hiaG_type_table(&x->types);
  cr_assert_eq(hiaR_shapes_new(&x->table, &x->memory.allocator, &x->shapes, &x->shapes_size),
               HIA_OK);
  hiaR_heap_init(&x->heap, &x->memory.allocator);
  hiaR_heap_begin(&x->heap, 0);
  hiaR_local_begin(&x->local, &x->heap);
}

static void tear_down(fixture *x) {
  hiaR_heap_free(&x->heap);
  hiaR_free(&x->memory.allocator, x->shapes, x->shapes_size);
  hiaR_comp_free(&x->comp);
  cr_assert_eq(x->memory.blocks, 0);
}

static hia_word cons(fixture *x, int32_t head, hia_word tail) {
  const hia_ctor *ctor = hiaR_ctor(&x->table, x->list, 1);
  hia_counted *object = hiaR_heap_alloc(&x->local, ctor->layout.size);
  const hia_layout_word *layout_words = &x->table.layout_words[ctor->layout.first];
  hiaR_object_begin(object, 1);
  hiaR_store(HIA_REPR_I32, (char *)object + layout_words[0].at, hiaR_from_i32(head));
  hiaR_store(HIA_REPR_REF, (char *)object + layout_words[1].at, tail);
  return (uintptr_t)object;
}

static hia_word rose(fixture *x, int64_t label, const hia_word *below, uint64_t n) {
  const hia_ctor *ctor = hiaR_ctor(&x->table, x->rose, 0);
  hia_array *array = hiaR_heap_alloc(&x->local, hiaR_array_size(8, n));
  hiaR_object_begin(&array->counted, 0);
  array->n = n;
  array->data = (char *)(array + 1);
  if (n) memcpy(array->data, below, n * sizeof *below);
  hia_counted *object = hiaR_heap_alloc(&x->local, ctor->layout.size);
  const hia_layout_word *layout_words = &x->table.layout_words[ctor->layout.first];
  hiaR_object_begin(object, 0);
  hiaR_store(HIA_REPR_I64, (char *)object + layout_words[0].at, (hia_word)label);
  hiaR_store(HIA_REPR_REF, (char *)object + layout_words[1].at, (uintptr_t)array);
  return (uintptr_t)object;
}

static void drop(fixture *x, hia_type type, hia_word ref) {
  hiaR_drop(&x->local, x->shapes, ref, hiaR_shape_base(x->shapes, type), false);
}

Test(object, shapes) {
  fixture x;
  set_up(&x);
  const hia_shape *s = x.shapes->list;
  uint32_t list = hiaR_shape_base(x.shapes, x.list), roses = hiaR_shape_base(x.shapes, x.roses);
  cr_assert_eq(x.shapes->n,
               6); /* two constructors, Rose, [Rose], [(f32[?], i64)], and that of tensors */
  cr_assert_eq(s[list + 1].size, 24);
  cr_assert_eq(s[list + 1].n_refs, 1);
  cr_assert_eq(s[list + 1].ctor, 1);
  cr_assert_eq(x.shapes->bases[s[list + 1].refs], list);
  cr_assert_eq(s[roses].ctor, HIA_SHAPE_ARRAY);
  cr_assert_eq(s[roses].size, 8);
  cr_assert_eq(x.shapes->bases[s[roses].refs], hiaR_shape_base(x.shapes, x.rose));
  tear_down(&x);
}

/* Objects that are made after others were freed take their place: the heap does not grow. */
Test(object, a_long_list_is_freed_and_its_memory_used_again) {
  enum { N = 200000 };
  fixture x;
  set_up(&x);
  size_t bytes = 0;
  for (unsigned round = 0; round < 3; round++) {
    hia_word list = 0;
    for (int32_t i = 0; i < N; i++) list = cons(&x, i, list);
    if (round) cr_assert_eq(x.heap.bytes, bytes);
    bytes = x.heap.bytes;
    drop(&x, x.list, list);
  }
  tear_down(&x);
}

Test(object, what_is_shared_stays) {
  fixture x;
  set_up(&x);
  hia_word tail = cons(&x, 3, cons(&x, 4, 0)), a = cons(&x, 1, tail);
  hiaR_dup(tail, false);
  hia_word b = cons(&x, 2, tail);
  cr_assert_eq(hiaR_count(hiaR_object(tail)), 2);
  drop(&x, x.list, a);
  cr_assert_eq(hiaR_count(hiaR_object(tail)), 1);
  hiaR_dup(b, true);
  cr_assert_eq(hiaR_count(hiaR_object(b)), 2);
  hiaR_drop(&x.local, x.shapes, b, hiaR_shape_base(x.shapes, x.list), true);
  drop(&x, x.list, b);
  drop(&x, x.list, 0);
  tear_down(&x);
}

Test(object, arrays_and_what_they_hold_are_freed) {
  fixture x;
  set_up(&x);
  size_t bytes = 0;
  for (unsigned round = 0; round < 3; round++) {
    hia_word trees[100];
    for (int64_t i = 0; i < 100; i++) trees[i] = rose(&x, i, NULL, 0);
    for (int64_t depth = 0; depth < 50000; depth++) trees[0] = rose(&x, depth, trees, 1);
    hia_word all = rose(&x, -1, trees, 100);
    if (round) cr_assert_eq(x.heap.bytes, bytes);
    bytes = x.heap.bytes;
    drop(&x, x.rose, all);
  }
  tear_down(&x);
}

static bool end_now(void *user) {
  ++*(unsigned *)user;
  return true;
}

Test(object, freeing_asks_whether_to_end) {
  fixture x;
  set_up(&x);
  unsigned asked = 0;
  x.heap.must_end = end_now;
  x.heap.user = &asked;
  hia_word list = 0;
  for (int32_t i = 0; i < 100000; i++) list = cons(&x, i, list);
  drop(&x, x.list, list);
  cr_assert_eq(asked, 1);
  tear_down(&x);
}

/* A tensor is freed where the reference to it is, and waits in no list. */
Test(object, freeing_an_array_of_tensors_asks_too) {
  fixture x;
  set_up(&x);
  unsigned asked = 0;
  x.heap.must_end = end_now;
  x.heap.user = &asked;
  enum { N = 20000 };
  const hia_shape *shape = &x.shapes->list[hiaR_shape_base(x.shapes, x.rows)];
  const hia_dims dims = {1, {3}};
  hia_word rows, tensor;
  cr_assert_eq(hiaR_array_new(&x.local, shape, N, &rows), HIA_OK);
  for (uint64_t i = 0; i < N; i++) {
    cr_assert(hiaR_tensor_new(&x.local, HIA_F32, &dims, &tensor));
    hiaR_store(HIA_REPR_REF, hiaR_array_at(rows, shape->size, i), tensor);
  }
  drop(&x, x.rows, rows);
  cr_assert_eq(asked, 1);
  tear_down(&x);
}

/* Large tensors go back to the system, which takes longer than to free an object. */
Test(object, freeing_large_tensors_asks_more_often) {
  fixture x;
  set_up(&x);
  enum { N = 64 };
  const hia_shape *shape = &x.shapes->list[hiaR_shape_base(x.shapes, x.rows)];
  const hia_dims dims = {1, {1 << 20}};
  hia_word rows, tensor;
  cr_assert_eq(hiaR_array_new(&x.local, shape, N, &rows), HIA_OK);
  for (uint64_t i = 0; i < N; i++) {
    cr_assert(hiaR_tensor_new(&x.local, HIA_F32, &dims, &tensor));
    hiaR_store(HIA_REPR_REF, hiaR_array_at(rows, shape->size, i), tensor);
  }
  unsigned asked = 0;
  x.heap.must_end = end_now;
  x.heap.user = &asked;
  size_t bytes = x.heap.bytes;
  drop(&x, x.rows, rows);
  cr_assert_eq(asked, 1);
  cr_assert_gt(x.heap.bytes, bytes / 2, "it has stopped too late");
  tear_down(&x);
}

static int64_t length_and_sum(fixture *x, hia_word list, int64_t *sum) {
  const hia_ctor *ctor = hiaR_ctor(&x->table, x->list, 1);
  const hia_layout_word *layout_words = &x->table.layout_words[ctor->layout.first];
  int64_t n = 0;
  for (*sum = 0; list >= HIA_FIRST_ADDRESS; n++) {
    const hia_counted *object = hiaR_object(list);
    cr_assert_eq(hiaR_count(object), HIA_OUTSIDE);
    cr_assert_eq(object->ctor, 1);
    *sum += hiaR_to_i32(hiaR_get_word(object, &layout_words[0]));
    list = hiaR_get_word(object, &layout_words[1]);
  }
  return n;
}

Test(object, results_leave_with_what_they_share) {
  bool has_outside;
  enum { N = 100000 };
  fixture x;
  set_up(&x);
  hia_word tail = 0;
  for (int32_t i = 1; i <= N; i++) tail = cons(&x, i, tail);
  hia_word words[3] = {cons(&x, 7, tail), 42, cons(&x, 9, tail)};
  const hia_type types[3] = {x.list, HIA_I64, x.list};
  hia_objects *to = hiaR_objects_new(&x.memory.allocator, 0);
  cr_assert_eq(hiaR_objects_leave(to, x.shapes, types, words, 3, &has_outside), HIA_OK);
  cr_assert_not(has_outside);
  hiaR_heap_end(&x.heap);
  int64_t sum;
  cr_assert_eq(length_and_sum(&x, words[0], &sum), N + 1);
  cr_assert_eq(sum, (int64_t)N * (N + 1) / 2 + 7);
  cr_assert_eq(length_and_sum(&x, words[2], &sum), N + 1);
  cr_assert_eq(words[1], 42);
  const hia_layout_word *layout_words =
      &x.table.layout_words[hiaR_ctor(&x.table, x.list, 1)->layout.first];
  cr_assert_eq(hiaR_get_word(hiaR_object(words[0]), &layout_words[1]),
               hiaR_get_word(hiaR_object(words[2]), &layout_words[1]),
               "the tail is no longer shared");
  cr_assert_lt(hiaR_objects_bytes(to), (size_t)N * 24 * 2);
  hiaR_objects_release(to);
  tear_down(&x);
}

Test(object, arrays_leave) {
  bool has_outside;
  fixture x;
  set_up(&x);
  hia_word leaf = rose(&x, 5, NULL, 0);
  hiaR_dup(leaf, false);
  const hia_word twice[2] = {leaf, leaf};
  hia_word word = rose(&x, 6, twice, 2);
  hia_objects *to = hiaR_objects_new(&x.memory.allocator, 0);
  cr_assert_eq(hiaR_objects_leave(to, x.shapes, &x.rose, &word, 1, &has_outside), HIA_OK);
  cr_assert_not(has_outside);
  hiaR_heap_end(&x.heap);
  const hia_layout_word *layout_words =
      &x.table.layout_words[hiaR_ctor(&x.table, x.rose, 0)->layout.first];
  const hia_array *below =
      (const hia_array *)(uintptr_t)hiaR_get_word(hiaR_object(word), &layout_words[1]);
  cr_assert_eq(below->n, 2);
  const hia_word *refs = (const hia_word *)(const void *)below->data;
  cr_assert_eq(refs[0], refs[1]);
  cr_assert_eq(hiaR_get_word(hiaR_object(refs[0]), &layout_words[0]), 5);
  hiaR_objects_release(to);
  tear_down(&x);
}

/* The memory of a large tensor goes over to the objects, if nothing else refers to it and the limit
 * allows it. */
Test(object, large_tensors_leave_without_a_copy) {
  enum { N = 200000 };
  for (int kind = 0; kind < 5; kind++) { /* alone, shared, a view, small, beyond the limit */
    bool has_outside;
    fixture x;
    set_up(&x);
    const hia_dims dims = {1, {kind == 3 ? 100 : N}};
    const hia_type types[2] = {hiaG_tensor(&x.types, HIA_F32, 1),
                               hiaG_tensor(&x.types, HIA_F32, 1)};
    hia_word words[2] = {0, 0};
    cr_assert(hiaR_tensor_new(&x.local, HIA_F32, &dims, &words[0]));
    const char *data = hiaR_tensor(words[0])->data;
    memset(hiaR_tensor(words[0])->data, 7, (size_t)dims.dims[0] * 4);
    if (kind == 1) hiaR_dup(words[1] = words[0], false);
    if (kind == 2) cr_assert(hiaR_tensor_view(&x.local, words[0], 0, &dims, false, &words[1]));
    hia_objects *to = hiaR_objects_new(&x.memory.allocator, kind == 4 ? 1000 : SIZE_MAX);
    hiaR_objects_take_from(to, &x.heap);
    uint32_t n = words[1] ? 2 : 1;
    hia_status status = hiaR_objects_leave(to, x.shapes, types, words, n, &has_outside);
    hiaR_heap_end(&x.heap);
    cr_assert_eq(status, kind == 4 ? HIA_MEMORY : HIA_OK);
    for (uint32_t i = 0; i < n && status == HIA_OK; i++) {
      const hia_tensor *t = hiaR_tensor(words[i]);
      cr_assert_eq(t->data == data, kind == 0);
      cr_assert(hiaR_count(&t->counted) == HIA_OUTSIDE && t->counted.ctor == HIA_TENSOR_OUTSIDE);
      for (int64_t k = 0; k < dims.dims[0] * 4; k++) cr_assert_eq(t->data[k], 7);
    }
    cr_assert_not(has_outside);
    if (kind == 1) cr_assert_eq(words[0], words[1]);
    if (kind == 0) cr_assert_geq(hiaR_objects_bytes(to), (size_t)N * 4);
    hiaR_objects_release(to);
    tear_down(&x);
  }
}

Test(object, lack_of_memory_while_leaving) {
  bool has_outside;
  fixture x;
  set_up(&x);
  hia_word list = 0;
  for (int32_t i = 0; i < 1000; i++) list = cons(&x, i, list);
  hia_objects *to = hiaR_objects_new(&x.memory.allocator, 4096);
  cr_assert_eq(hiaR_objects_leave(to, x.shapes, &x.list, &list, 1, &has_outside), HIA_MEMORY);
  hiaR_objects_release(to);
  tear_down(&x);
}

/* ---- arrays of a run ---- */

static uint32_t roses_base(const fixture *x) { return hiaR_shape_base(x->shapes, x->roses); }

/* An array of n roses, each with an array of its own without elements. */
static hia_word array_of_roses(fixture *x, int64_t n) {
  hia_word array;
  cr_assert_eq(hiaR_array_new(&x->local, &x->shapes->list[roses_base(x)], n, &array), HIA_OK);
  for (int64_t i = 0; i < n; i++) {
    hia_word element = rose(x, i, NULL, 0);
    memcpy(hiaR_array_at(array, 8, (uint64_t)i), &element, sizeof element);
  }
  return array;
}

static hia_word element(hia_word array, uint64_t i) {
  hia_word word;
  memcpy(&word, hiaR_array_at(array, 8, i), sizeof word);
  return word;
}

/* True if the array has exactly the elements with these labels. */
static bool has_labels(const fixture *x, hia_word array, const int64_t *labels, uint64_t n) {
  const hia_layout_word *label =
      &x->table.layout_words[hiaR_ctor(&x->table, x->rose, 0)->layout.first];
  if (hiaR_array_len(array) != n) return false;
  for (uint64_t i = 0; i < n; i++)
    if ((int64_t)hiaR_get_word(hiaR_object(element(array, i)), label) != labels[i]) return false;
  return true;
}

static void assert_nothing_left(const fixture *x) {
  int64_t live;
  if (hiaR_heap_census(&x->heap, &live)) cr_assert_eq(live, 0, "%d", (int)live);
}

Test(array, without_elements_there_is_no_object) {
  fixture x;
  set_up(&x);
  hia_word none = 7, slice = 7, both = 7;
  cr_assert_eq(hiaR_array_new(&x.local, &x.shapes->list[roses_base(&x)], 0, &none), HIA_OK);
  cr_assert_eq(none, 0);
  cr_assert(hiaR_array_has_slice(none, 0, 0));
  cr_assert_not(hiaR_array_has(none, 0));
  hia_word three = array_of_roses(&x, 3);
  cr_assert(
      hiaR_array_slice(&x.local, &x.shapes->list[roses_base(&x)], three, 3, 3, false, &slice));
  cr_assert_eq(slice, 0);
  const hia_word parts[2] = {none, slice};
  cr_assert_eq(hiaR_array_concat(&x.local, x.shapes, roses_base(&x), parts, 2, false, &both),
               HIA_OK);
  cr_assert_eq(both, 0);
  drop(&x, x.roses, three);
  assert_nothing_left(&x);
  tear_down(&x);
}

Test(array, what_is_there) {
  fixture x;
  set_up(&x);
  hia_word three = array_of_roses(&x, 3);
  cr_assert(hiaR_array_has(three, 0) && hiaR_array_has(three, 2));
  cr_assert_not(hiaR_array_has(three, 3) || hiaR_array_has(three, -1) ||
                hiaR_array_has(three, INT64_MIN));
  cr_assert(hiaR_array_has_slice(three, 0, 3) && hiaR_array_has_slice(three, 3, 3));
  cr_assert_not(hiaR_array_has_slice(three, 2, 1) || hiaR_array_has_slice(three, -1, 1) ||
                hiaR_array_has_slice(three, 0, 4) || hiaR_array_has_slice(three, 4, 4) ||
                hiaR_array_has_slice(three, INT64_MAX, INT64_MIN));
  tear_down(&x);
}

Test(array, a_slice_of_a_slice_refers_to_the_array) {
  fixture x;
  set_up(&x);
  const hia_shape *shape = &x.shapes->list[roses_base(&x)];
  hia_word five = array_of_roses(&x, 5), four, two, whole;
  cr_assert(hiaR_array_slice(&x.local, shape, five, 1, 5, false, &four));
  cr_assert(hiaR_array_slice(&x.local, shape, four, 1, 3, false, &two));
  cr_assert(hiaR_array_slice(&x.local, shape, two, 0, 2, false, &whole));
  cr_assert_eq(whole, two);
  cr_assert_eq(((hia_array_view *)hiaR_array(two))->owner, hiaR_array(five));
  cr_assert(has_labels(&x, four, (const int64_t[]){1, 2, 3, 4}, 4));
  cr_assert(has_labels(&x, two, (const int64_t[]){2, 3}, 2));
  drop(&x, x.roses, five);
  drop(&x, x.roses, four);
  drop(&x, x.roses, whole);
  cr_assert(has_labels(&x, two, (const int64_t[]){2, 3}, 2));
  drop(&x, x.roses, two);
  assert_nothing_left(&x);
  tear_down(&x);
}

Test(array, own_copies_only_what_is_shared) {
  for (int is_shared = 0; is_shared < 2; is_shared++) {
    fixture x;
    set_up(&x);
    hia_word three = array_of_roses(&x, 3), own = three, slice;
    cr_assert_eq(hiaR_array_own(&x.local, x.shapes, roses_base(&x), &own, is_shared), HIA_OK);
    cr_assert_eq(own, three);
    hiaR_dup(three, is_shared);
    cr_assert_eq(hiaR_array_own(&x.local, x.shapes, roses_base(&x), &own, is_shared), HIA_OK);
    cr_assert_neq(own, three);
    cr_assert_eq(hiaR_count(hiaR_object(three)), 1);
    cr_assert_eq(hiaR_count(hiaR_object(element(own, 1))), 2);
    cr_assert(has_labels(&x, own, (const int64_t[]){0, 1, 2}, 3));
    drop(&x, x.roses, own);
    const hia_shape *shape = &x.shapes->list[roses_base(&x)];
    cr_assert(hiaR_array_slice(&x.local, shape, three, 0, 1, is_shared, &slice));
    own = slice; /* nothing else refers to it, but it has no memory of its own */
    cr_assert_eq(hiaR_array_own(&x.local, x.shapes, roses_base(&x), &own, is_shared), HIA_OK);
    cr_assert_neq(own, slice);
    cr_assert_not(hiaR_is_view(hiaR_array(own)));
    drop(&x, x.roses, three);
    cr_assert(has_labels(&x, own, (const int64_t[]){0}, 1));
    drop(&x, x.roses, own);
    assert_nothing_left(&x);
    tear_down(&x);
  }
}

Test(array, concat) {
  fixture x;
  set_up(&x);
  hia_word two = array_of_roses(&x, 2), slice, all, same;
  cr_assert(hiaR_array_slice(&x.local, &x.shapes->list[roses_base(&x)], two, 1, 2, false, &slice));
  const hia_word parts[4] = {slice, 0, two, slice};
  cr_assert_eq(hiaR_array_concat(&x.local, x.shapes, roses_base(&x), parts, 4, false, &all),
               HIA_OK);
  cr_assert(has_labels(&x, all, (const int64_t[]){1, 0, 1, 1}, 4));
  cr_assert_eq(hiaR_array_concat(&x.local, x.shapes, roses_base(&x), parts, 2, false, &same),
               HIA_OK);
  cr_assert_eq(same, slice, "the elements of one array are copied");
  const hia_word refs[4] = {same, slice, two, all};
  for (int i = 0; i < 4; i++) drop(&x, x.roses, refs[i]);
  assert_nothing_left(&x);
  tear_down(&x);
}

static bool ends_soon(void *user) { return --*(int *)user == 0; }

/* A long array is cleared in pieces, between which the run may end; its memory is then free. */
Test(array, may_end_while_it_is_made) {
  fixture x;
  set_up(&x);
  const hia_shape *shape = &x.shapes->list[roses_base(&x)];
  hia_word ref;
  int left = 3;
  hiaR_heap_end(&x.heap);
  hiaR_heap_begin(&x.heap, 40 << 20);
  x.heap.must_end = ends_soon;
  x.heap.user = &left;
  hiaR_local_begin(&x.local, &x.heap);
  cr_assert_eq(hiaR_array_new(&x.local, shape, (32 << 20) / 8, &ref), HIA_CANCELLED);
  cr_assert_eq(left, 0);
  left = INT_MAX;
  cr_assert_eq(hiaR_array_new(&x.local, shape, (32 << 20) / 8, &ref), HIA_OK);
  drop(&x, x.roses, ref);
  assert_nothing_left(&x);
  tear_down(&x);
}

static bool count_question(void *user) {
  ++*(int *)user;
  return false;
}

static hia_status copy(fixture *x, bool is_concat, hia_word array, hia_word *made) {
  const hia_word twice[2] = {array, array};
  uint32_t base = roses_base(x);
  return is_concat ? hiaR_array_concat(&x->local, x->shapes, base, twice, 2, false, made)
                   : hiaR_array_own(&x->local, x->shapes, base, made, false);
}

/* So is one that is copied. What is given up is free again, and the caller has what it had. */
Test(array, may_end_while_it_is_copied) {
  fixture x;
  set_up(&x);
  const hia_shape *shape = &x.shapes->list[roses_base(&x)];
  hia_word big;
  cr_assert_eq(hiaR_array_new(&x.local, shape, (32 << 20) / 8, &big), HIA_OK);
  hiaR_dup(big, false);
  for (int is_concat = 0; is_concat < 2; is_concat++) {
    size_t bytes = x.heap.bytes;
    int asked = 0;
    hia_word made = big;
    x.heap.must_end = count_question;
    x.heap.user = &asked;
    cr_assert_eq(copy(&x, is_concat, big, &made), HIA_OK);
    cr_assert_geq(asked, 64, "only %d times", asked);
    drop(&x, x.roses, made);
    if (!is_concat) hiaR_dup(big, false); /* which it has taken */
    made = big;
    asked /= 2;
    x.heap.must_end = ends_soon;
    cr_assert_eq(copy(&x, is_concat, big, &made), HIA_CANCELLED);
    cr_assert_eq(made, big);
    cr_assert_eq(x.heap.bytes, bytes);
    cr_assert_eq(hiaR_count(hiaR_object(big)), 2);
    x.heap.must_end = NULL;
  }
  drop(&x, x.roses, big);
  drop(&x, x.roses, big);
  assert_nothing_left(&x);
  tear_down(&x);
}

Test(array, lack_of_memory) {
  fixture x;
  set_up(&x);
  const hia_shape *shape = &x.shapes->list[roses_base(&x)];
  hia_word ref, big, own;
  cr_assert_eq(hiaR_array_new(&x.local, shape, -1, &ref), HIA_MEMORY);
  cr_assert_eq(hiaR_array_new(&x.local, shape, INT64_MIN, &ref), HIA_MEMORY);
  cr_assert_eq(hiaR_array_new(&x.local, shape, INT64_MAX, &ref), HIA_MEMORY);
  cr_assert_eq(hiaR_array_new(&x.local, shape, INT64_MAX / 8, &ref), HIA_MEMORY);
  hiaR_heap_end(&x.heap);
  hiaR_heap_begin(&x.heap, 1 << 20);
  hiaR_local_begin(&x.local, &x.heap);
  cr_assert_eq(hiaR_array_new(&x.local, shape, (1 << 19) / 8, &big), HIA_OK);
  hiaR_dup(big, false);
  own = big;
  cr_assert_eq(hiaR_array_own(&x.local, x.shapes, roses_base(&x), &own, false), HIA_MEMORY);
  cr_assert_eq(own, big);
  cr_assert_eq(hiaR_count(hiaR_object(big)), 2);
  const hia_word twice[2] = {big, big};
  cr_assert_eq(hiaR_array_concat(&x.local, x.shapes, roses_base(&x), twice, 2, false, &ref),
               HIA_MEMORY);
  drop(&x, x.roses, big);
  drop(&x, x.roses, big);
  assert_nothing_left(&x);
  tear_down(&x);
}

Test(array, slices_leave) {
  bool has_outside;
  fixture x;
  set_up(&x);
  hia_word words[2] = {array_of_roses(&x, 5)};
  cr_assert(hiaR_array_slice(&x.local, &x.shapes->list[roses_base(&x)], words[0], 1, 3, false,
                             &words[1]));
  const hia_type types[2] = {x.roses, x.roses};
  hia_objects *to = hiaR_objects_new(&x.memory.allocator, 0);
  cr_assert_eq(hiaR_objects_leave(to, x.shapes, types, words, 2, &has_outside), HIA_OK);
  hiaR_heap_end(&x.heap);
  cr_assert(has_labels(&x, words[0], (const int64_t[]){0, 1, 2, 3, 4}, 5));
  cr_assert(has_labels(&x, words[1], (const int64_t[]){1, 2}, 2));
  cr_assert_eq(element(words[0], 2), element(words[1], 1));
  hiaR_objects_release(to);
  tear_down(&x);
}
