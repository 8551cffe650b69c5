/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Objects of a run: shapes, counts, freeing without recursion, and results that leave the run. */
#include "graph/graph.h"
#include "runtime/heap/object.h"
#include "runtime/value/value.h"
#include "tests/unit/helper_memory.h"
#include <criterion/criterion.h>

/* type List = Nil | Cons(head: i32, tail: List), type Rose = Rose(label: i64, below: [Rose]) */
typedef struct fixture {
  test_heap memory;
  hia_comp comp;
  hia_types types;
  hia_type list, rose, roses;
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
  const hia_word_place *places = &x->table.places[ctor->layout.first];
  hiaR_object_begin(object, 1);
  hiaR_store(HIA_REPR_I32, (char *)object + places[0].at, hiaR_from_i32(head));
  hiaR_store(HIA_REPR_REF, (char *)object + places[1].at, tail);
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
  const hia_word_place *places = &x->table.places[ctor->layout.first];
  hiaR_object_begin(object, 0);
  hiaR_store(HIA_REPR_I64, (char *)object + places[0].at, (hia_word)label);
  hiaR_store(HIA_REPR_REF, (char *)object + places[1].at, (uintptr_t)array);
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
  cr_assert_eq(x.shapes->n, 4);
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

static int64_t length_and_sum(fixture *x, hia_word list, int64_t *sum) {
  const hia_ctor *ctor = hiaR_ctor(&x->table, x->list, 1);
  const hia_word_place *places = &x->table.places[ctor->layout.first];
  int64_t n = 0;
  for (*sum = 0; list >= HIA_FIRST_ADDRESS; n++) {
    const hia_counted *object = hiaR_object(list);
    cr_assert_eq(hiaR_count(object), HIA_OUTSIDE);
    cr_assert_eq(object->ctor, 1);
    *sum += hiaR_to_i32(hiaR_get_word(object, &places[0]));
    list = hiaR_get_word(object, &places[1]);
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
  const hia_word_place *places = &x.table.places[hiaR_ctor(&x.table, x.list, 1)->layout.first];
  cr_assert_eq(hiaR_get_word(hiaR_object(words[0]), &places[1]),
               hiaR_get_word(hiaR_object(words[2]), &places[1]), "the tail is no longer shared");
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
  const hia_word_place *places = &x.table.places[hiaR_ctor(&x.table, x.rose, 0)->layout.first];
  const hia_array *below =
      (const hia_array *)(uintptr_t)hiaR_get_word(hiaR_object(word), &places[1]);
  cr_assert_eq(below->n, 2);
  const hia_word *refs = (const hia_word *)(const void *)below->data;
  cr_assert_eq(refs[0], refs[1]);
  cr_assert_eq(hiaR_get_word(hiaR_object(refs[0]), &places[0]), 5);
  hiaR_objects_release(to);
  tear_down(&x);
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
