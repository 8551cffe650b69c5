/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Counts compared with the references that there are: every sort of wrong count is found, and runs
 * of the interpreter look for them. */
#include "runtime/heap/array.h"
#include "runtime/heap/audit.h"
#include "runtime/interp/run.h"
#include "tests/unit/helpers/image.h"
#include <criterion/criterion.h>
#include <signal.h>

static const char source[] =
    "type List = Nil | Cons(head: i64, tail: List)\n"
    "fn length(l: List) -> i64 = match l { Nil => 0, Cons(_, t) => 1 + length(t) }\n"
    "fn main(l: List, a: [List]) -> i64 = length(l) + len(a)\n";

typedef struct fixture {
  image_program p;
  hia_type_table types;
  const hia_shapes *shapes;
  uint32_t list, lists; /* bases */
  hia_heap heap;
  hia_local_heap local;
  hia_audit *audit;
} fixture;

static fixture *set_up(void) {
  fixture *x = malloc(sizeof *x);
  cr_assert(x);
  x->p = image_of(source, false, NULL);
  const hia_loaded *image = x->p.image;
  x->shapes = hiaR_image_shapes(image);
  x->types = hiaG_type_table(&x->p.types);
  uint32_t list = 0, lists = 0;
  for (uint32_t i = 0; i < x->types.n_types; i++) {
    if (x->types.types[i].kind == HIA_KIND_DATA) list = i;
    if (x->types.types[i].kind == HIA_KIND_ARRAY) lists = i;
  }
  x->list = x->shapes->of_type[list];
  x->lists = x->shapes->of_type[lists];
  hiaR_heap_init(&x->heap, &hiaR_malloc);
  hiaR_heap_begin(&x->heap, 0);
  hiaR_local_begin(&x->local, &x->heap);
  x->audit = hiaR_audit_new(x->shapes, &x->types);
  cr_assert(x->audit);
  return x;
}

static void tear_down(fixture *x) {
  hiaR_audit_free(x->audit);
  hiaR_heap_free(&x->heap);
  image_discard(&x->p);
  free(x);
}

static hia_word cons(fixture *x, hia_word tail) {
  const hia_shape *shape = &x->shapes->list[x->list + 1];
  hia_counted *object = hiaR_heap_alloc(&x->local, shape->size);
  cr_assert(object);
  hiaR_object_begin(object, 1);
  memset(object + 1, 0, shape->size - sizeof *object);
  memcpy(object + 1, &tail, sizeof tail); /* references come first */
  return (uintptr_t)object;
}

static hia_word array_of(fixture *x, const hia_word *lists, uint32_t n) {
  hia_word array;
  cr_assert_eq(hiaR_array_new(&x->local, &x->shapes->list[x->lists], n, &array), HIA_OK);
  memcpy(hiaR_array(array)->data, lists, n * sizeof *lists);
  return array;
}

static void look(fixture *x, hia_word list, bool is_exact, const char *message) {
  hiaR_audit_root(x->audit, list, x->list);
  const char *wrong = hiaR_audit_wrong(x->audit, is_exact, is_exact ? &x->heap : NULL);
  if (!message)
    cr_assert_null(wrong, "%s", wrong);
  else
    cr_assert(wrong && strstr(wrong, message), "%s", wrong);
}

Test(audit, right_counts) {
  fixture *x = set_up();
  hia_word shared = cons(x, cons(x, 0)), lists[3] = {shared, cons(x, shared), 0}, slice;
  hiaR_dup(shared, false);
  hia_word array = array_of(x, lists, 3);
  cr_assert(hiaR_array_slice(&x->local, &x->shapes->list[x->lists], array, 1, 3, false, &slice));
  hiaR_audit_root(x->audit, array, x->lists);
  hiaR_audit_root(x->audit, slice, x->lists);
  look(x, 0, true, NULL);
  cr_assert_eq(hiaR_audit_objects(x->audit), 5);
  tear_down(x);
}

Test(audit, many_objects) {
  fixture *x = set_up();
  hia_word list = 0;
  for (uint32_t i = 0; i < 100000; i++) list = cons(x, list);
  look(x, list, true, NULL);
  cr_assert_eq(hiaR_audit_objects(x->audit), 100000);
  tear_down(x);
}

Test(audit, a_count_too_high) {
  fixture *x = set_up();
  hia_word tail = cons(x, 0);
  hiaR_dup(tail, false);
  look(x, cons(x, tail), true, "Cons, has a count of 2, and there is 1 reference to it");
  tear_down(x);
}

Test(audit, a_count_too_high_after_a_failure) {
  fixture *x = set_up();
  hia_word tail = cons(x, 0);
  hiaR_dup(tail, false);
  look(x, cons(x, tail), false, NULL);
  tear_down(x);
}

Test(audit, a_count_too_low) {
  for (int is_exact = 0; is_exact < 2; is_exact++) {
    fixture *x = set_up();
    hia_word tail = cons(x, 0);
    hiaR_audit_root(x->audit, tail, x->list);
    look(x, cons(x, tail), is_exact, "Cons, has a count of 1, and there are 2 references to it");
    tear_down(x);
  }
}

Test(audit, an_array_with_a_wrong_count) {
  fixture *x = set_up();
  hia_word list = 0, array = array_of(x, &list, 1);
  hiaR_dup(array, true);
  hiaR_audit_root(x->audit, array, x->lists);
  look(x, 0, true, "an array");
  tear_down(x);
}

Test(audit, an_object_that_is_not_of_the_type) {
  fixture *x = set_up();
  hia_word list = cons(x, 0);
  hiaR_object(list)->ctor = 7;
  look(x, list, true, "constructor number 7");
  tear_down(x);
}

#ifdef HIA_CENSUS
Test(audit, an_object_that_nothing_refers_to) {
  fixture *x = set_up();
  cons(x, 0);
  look(x, cons(x, 0), true, "2 objects are in use, and there are references to 1 of them");
  tear_down(x);
}

/* Runs main with a list whose first object has `count` references, of which the frames of the run
 * will have some; the run's arguments are borrowed, and are no roots. */
static void run_with_count(uint32_t count) {
  fixture *x = set_up();
  hia_word list = cons(x, 0);
  for (uint32_t i = 0; i < 40; i++) list = cons(x, list);
  for (uint32_t i = 1; i < count; i++) hiaR_dup(list, false);
  hia_limits limits = {.heap = &x->heap, .threads = 1};
  hia_word args[2] = {list, 0}, result;
  hia_failure failure;
  hia_usage usage;
  hiaR_interp_run(x->p.image, 0, args, &result, &limits, &hiaR_malloc, &failure, &usage);
}

Test(audit, the_interpreter_finds_a_count_too_high, .signal = SIGABRT) { run_with_count(1); }
/* As an argument from outside has it. */
Test(audit, the_interpreter_ignores_sticky_counts) {
  fixture *x = set_up();
  hia_word list = cons(x, 0);
  for (uint32_t i = 0; i < 40; i++) {
    atomic_store(&hiaR_object(list)->count, HIA_OUTSIDE);
    list = cons(x, list);
  }
  atomic_store(&hiaR_object(list)->count, HIA_OUTSIDE);
  atomic_store(&x->heap.live, 0);
  hia_limits limits = {.heap = &x->heap, .threads = 1};
  hia_word args[2] = {list, 0}, result;
  hia_failure failure;
  hia_usage usage;
  cr_assert_eq(
      hiaR_interp_run(x->p.image, 0, args, &result, &limits, &hiaR_malloc, &failure, &usage),
      HIA_OK);
  cr_assert_eq(result, 41);
  tear_down(x);
}
#endif
