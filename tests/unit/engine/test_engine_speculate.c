/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Versions that assume something of arguments: which runs use them, what they assume, and that
 * nothing else depends on them. test_engine_explain.c tests what engines tell of versions,
 * test_engine_versions.c versions without batches, and versions in the cache. */
#include "jit/versions/speculate.h"
#include "tests/unit/helpers/memory.h"
#include "tests/unit/helpers/versions.h"
#include <hiaton/dlpack.h>

#include <pthread.h>

Test(engine_speculate, an_object_that_is_the_same) {
  NEEDS_NATIVE;
  program p = open(HIA_SPECULATE_EAGER, "total");
  hia_value *args[2] = {parse(&p, 0, "Add(X, C(2.0))"), parse(&p, 1, "10")}, *other[2];
  char first[64], second[64];
  cr_assert_eq(run(&p, args, 2, first, sizeof first), 0);
  cr_assert_eq(run(&p, args, 2, second, sizeof second), 1);
  cr_assert_str_eq(first, "65.0");
  cr_assert_str_eq(second, "65.0");
  /* The number of rounds may be another one, the object not. */
  other[0] = args[0];
  other[1] = parse(&p, 1, "3");
  cr_assert_eq(run(&p, other, 2, second, sizeof second), 1);
  cr_assert_str_eq(second, "9.0");
  other[0] = parse(&p, 0, "Add(X, C(2.0))"); /* equal, and another one */
  cr_assert_eq(run(&p, other, 2, second, sizeof second), 0);
  cr_assert_str_eq(second, "9.0");
  hia_value_free(other[0]);
  hia_value_free(other[1]);
  hia_value_free(args[0]);
  hia_value_free(args[1]);
  close_program(&p);
}

/* An object that a version assumes is not freed, so none with its address is another one. Once
 * there are as many versions as there may be, those that no run uses make room for others. */
Test(engine_speculate, objects_that_die) {
  NEEDS_NATIVE;
  program p = open(HIA_SPECULATE_EAGER, "total");
  hia_value *n = parse(&p, 1, "10");
  unsigned n_special = 0;
  for (int i = 0; i < 60; i++) {
    char source[64], out[64], expected[64];
    snprintf(source, sizeof source, "Add(X, C(%d.0))", i);
    snprintf(expected, sizeof expected, "%d.0", 45 + 10 * i);
    hia_value *args[2] = {parse(&p, 0, source), n};
    for (int k = 0; k < 2; k++) {
      n_special += run(&p, args, 2, out, sizeof out) != 0;
      cr_assert_str_eq(out, expected);
    }
    hia_value_free(args[0]);
  }
  cr_assert_gt(n_special, HIA_MAX_SPECIALS);
  cr_assert_lt(n_special, 60);
  hia_value_free(n);
  close_program(&p);
}

/* What a decision against a version has left goes before the next one. */
Test(engine_speculate, what_was_not_used) {
  NEEDS_NATIVE;
  program p = open(HIA_SPECULATE_ON, "total");
  hia_objects *objects = hiaR_objects_new(&hiaR_malloc, 0);
  hia_speculation *s = hiaJ_speculation_of(p.function);
  hia_special *x = hiaJ_special_next(s, p.function);
  cr_assert(x && !x->objects[0]);
  x->objects[0] = hiaR_objects_hold(objects);
  x->is_narrow = true;
  cr_assert_eq(hiaJ_special_next(s, p.function), x);
  cr_assert(!x->is_narrow && !x->objects[0]);
  hiaR_objects_release(objects); /* else memory is lost */
  close_program(&p);
}

typedef enum tried { INSIDE, NARROW, WIDE } tried;

/* A version whose runs take `ns` each, where those of the general one take 1000. INSIDE: it assumes
 * what happens inside; else it has no batches, since waves were narrow, or wide. Returns true if it
 * was given up after so many times eight runs. */
static bool is_given_up(tried what, const uint64_t *ns, int n) {
  bool is_narrow = what != INSIDE;
  program p = open(HIA_SPECULATE_ON, "total");
  hia_speculation *s = hiaJ_speculation_of(p.function);
  hia_special *x = hiaJ_special_next(s, p.function);
  hiaJ_special_begin(s, HIA_SPECIAL_FAILED);
  x->is_narrow = is_narrow;
  x->has_wide = what == WIDE;
  x->has_facts = !is_narrow;
  s->native = (hia_timed){.n = 8, .ns = 8000};
  for (int i = 0; i < 8 * n; i++) {
    cr_assert(!s->is_wide && !x->is_retired, "after %d runs", i);
    hiaJ_special_timed(x, ns[i / 8]);
  }
  bool is_wide = s->is_wide, is_retired = x->is_retired;
  cr_assert_eq(is_retired, s->inside.is_empty);
  cr_assert(is_narrow ? !is_retired : !is_wide);
  x->has_facts = false; /* there are none to free */
  close_program(&p);
  return is_wide || is_retired;
}

/* The machine may be busy with something else in one trial of a version, or in two. */
Test(engine_speculate, slow_versions) {
  NEEDS_NATIVE;
  cr_assert(is_given_up(NARROW, (uint64_t[]){960, 2000, 990}, 3));
  cr_assert_not(is_given_up(NARROW, (uint64_t[]){100000, 90000, 940}, 3));
  cr_assert_not(is_given_up(NARROW, (uint64_t[]){940, 2000, 2000}, 3));
  cr_assert(is_given_up(INSIDE, (uint64_t[]){1260, 2000, 1300}, 3));
  cr_assert_not(is_given_up(INSIDE, (uint64_t[]){2000, 1240, 2000}, 3));
  cr_assert_not(is_given_up(INSIDE, (uint64_t[]){1100, 1100, 100000}, 3));
  cr_assert(is_given_up(WIDE, (uint64_t[]){960, 940, 990}, 3));
  cr_assert(is_given_up(WIDE, (uint64_t[]){960, 990}, 2));
  cr_assert_not(is_given_up(WIDE, (uint64_t[]){940, 2000, 900}, 3));
}

/* Failures, and their chains of calls, are those of the general version. */
Test(engine_speculate, failures) {
  NEEDS_NATIVE;
  program p = open(HIA_SPECULATE_EAGER, "total");
  hia_value *args[2] = {parse(&p, 0, "Add(Div(C(1.0), Add(X, C(-3.0))), X)"), parse(&p, 1, "3")};
  char general[1024], special[1024];
  run(&p, args, 2, general, sizeof general);
  hia_value *more[2] = {args[0], parse(&p, 1, "5")};
  cr_assert_eq(run(&p, more, 2, special, sizeof special), 1);
  program q = open(HIA_SPECULATE_OFF, "total");
  hia_value *same[2] = {parse(&q, 0, "Add(Div(C(1.0), Add(X, C(-3.0))), X)"), more[1]};
  cr_assert_eq(run(&q, same, 2, general, sizeof general), 0);
  cr_assert(strstr(general, "division by zero"), "%s", general);
  cr_assert_str_eq(general, special);
  hia_value_free(same[0]);
  hia_value_free(args[0]);
  hia_value_free(args[1]);
  hia_value_free(more[1]);
  close_program(&p);
  close_program(&q);
}

/* Weights that are arguments are params of the run: others of the same sizes, too. */
Test(engine_speculate, tensors_as_params) {
  NEEDS_NATIVE;
  program p = open(HIA_SPECULATE_EAGER, "net"), q = open(HIA_SPECULATE_OFF, "net");
  hia_value *d = parse(&p, 0, "3"), *b = parse(&p, 2, "[1, 2]");
  for (int i = 0; i < 6; i++) {
    hia_value *args[3] = {d, parse(&p, 1, W[i / 2 % 2]), b};
    char general[64], special[64];
    cr_assert_eq(run(&p, args, 3, special, sizeof special), i != 0);
    cr_assert_eq(run(&q, args, 3, general, sizeof general), 0);
    cr_assert_str_eq(general, special);
    hia_value_free(args[1]);
  }
  hia_value *large[3] = {d, parse(&p, 1, "[[1, 0, 0], [0, 1, 0], [0, 0, 1]]"),
                         parse(&p, 2, "[1, 2, 3]")};
  char general[64], special[64];
  cr_assert_eq(run(&p, large, 3, special, sizeof special), 0);
  cr_assert_eq(run(&q, large, 3, general, sizeof general), 0);
  cr_assert_str_eq(general, special);
  cr_assert_eq(run(&p, large, 3, special, sizeof special), 2);
  cr_assert_str_eq(general, special);
  for (int i = 1; i < 3; i++) hia_value_free(large[i]);
  hia_value_free(b);
  hia_value_free(d);
  close_program(&p);
  close_program(&q);
}

static void release_nothing(DLManagedTensorVersioned *t) { (void)t; }

/* So are weights that are fields of an object, if it is the same. */
Test(engine_speculate, tensors_of_an_object) {
  NEEDS_NATIVE;
  program p = open(HIA_SPECULATE_EAGER, "net_in_record"), q = open(HIA_SPECULATE_OFF, "net");
  for (int k = 0; k < 2; k++) {
    char record[128], general[64], special[64];
    snprintf(record, sizeof record, "M(%s, [1, 2])", W[k]);
    hia_value *args[2] = {parse(&p, 0, "3"), parse(&p, 1, record)};
    hia_value *same[3] = {args[0], parse(&q, 1, W[k]), parse(&q, 2, "[1, 2]")};
    run(&q, same, 3, general, sizeof general);
    for (int i = 0; i < 3; i++) {
      cr_assert_eq(run(&p, args, 2, special, sizeof special), i ? (uint32_t)k + 1 : 0);
      cr_assert_str_eq(special, general);
    }
    for (int i = 0; i < 2; i++) hia_value_free(args[i]);
    for (int i = 1; i < 3; i++) hia_value_free(same[i]);
  }
  close_program(&p);
  close_program(&q);
}

/* Memory that the host lends may change between calls. */
Test(engine_speculate, memory_that_is_lent) {
  NEEDS_NATIVE;
  program p = open(HIA_SPECULATE_EAGER, "net");
  _Alignas(64) static float elements[64 * 64];
  int64_t shape[2] = {64, 64};
  hia_value *d = parse(&p, 0, "2"), *b = parse(&p, 2, "[0]");
  hia_value_free(b);
  char zeros[64 * 4 + 2] = "[0";
  for (int i = 1; i < 64; i++) strcat(zeros, ", 0");
  b = parse(&p, 2, strcat(zeros, "]"));
  DLManagedTensorVersioned lent = {
      .version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION},
      .deleter = release_nothing,
      .dl_tensor = {
          .data = elements, .device = {kDLCPU, 0}, .ndim = 2, .dtype = {2, 32, 1}, .shape = shape}};
  hia_value *lent_W = NULL;
  hia_error *error = NULL;
  cr_assert_eq(hia_data_from_dlpack(NULL, NULL, &lent, &lent_W, &error), HIA_OK, "%s",
               hia_error_text(error));
  for (int k = 1; k < 5; k++) {
    for (int i = 0; i < 64 * 64; i++) elements[i] = i / 64 == i % 64 ? (float)k : 0;
    hia_value *args[3] = {d, lent_W, b};
    char out[64], expected[64];
    cr_assert_eq(run(&p, args, 3, out, sizeof out) != 0, k > 1);
    snprintf(expected, sizeof expected, "%.1f", 4.0 * 64 * k * k * k);
    cr_assert_str_eq(out, expected);
  }
  hia_value_free(lent_W);
  hia_value_free(b);
  hia_value_free(d);
  close_program(&p);
}

/* What varies again and again is not assumed: there are few versions, and then no more of them. */
Test(engine_speculate, sizes_that_vary) {
  NEEDS_NATIVE;
  program p = open(HIA_SPECULATE_EAGER, "net"), q = open(HIA_SPECULATE_OFF, "net");
  hia_value *d = parse(&p, 0, "1");
  unsigned n_versions = 0;
  for (int i = 0; i < 200; i++) {
    int n = 1 + (i * 37 + i * i) % 64;
    char b[64 * 3 + 8] = "[0", w[64 * 64 * 3 + 64 * 4 + 8] = "[";
    for (int k = 1; k < n; k++) strcat(b, ",0");
    for (int k = 0; k < n; k++) {
      strcat(w, k ? ",[1" : "[1");
      for (int j = 1; j < n; j++) strcat(w, ",1");
      strcat(w, "]");
    }
    hia_value *args[3] = {d, parse(&p, 1, strcat(w, "]")), parse(&p, 2, strcat(b, "]"))};
    char out[64], expected[64];
    run(&p, args, 3, out, sizeof out);
    run(&q, args, 3, expected, sizeof expected);
    cr_assert_str_eq(out, expected);
    hia_value_free(args[1]);
    hia_value_free(args[2]);
    unsigned n_made = atomic_load(&p.function->speculation->n_made);
    cr_assert(i < 20 || n_made == n_versions, "run %d", i);
    n_versions = n_made;
  }
  cr_assert_leq(n_versions, 4);
  hia_value_free(d);
  close_program(&p);
  close_program(&q);
}

/* Versions are told apart by the sizes of one argument; all others must be as they assume, too. */
Test(engine_speculate, sizes_of_two_arguments) {
  NEEDS_NATIVE;
  static const char *const texts[][2] = {
      {"[1, 2, 3]", "[1, 2, 3, 4]"}, {"[3, 2, 5]", "[4, 2, 1, 3]"}, {"[1, 2, 3]", "[7, 5]"},
      {"[1, 2]", "[1, 2, 3, 4]"},    {"[9, 2, 8]", "[1, 2, 3, 7]"}, {"[9, 8]", "[1, 7]"},
      {"[9, 8]", "[3, 4, 5, 6, 7]"}, {"[9, 2, 8]", "[4, 5, 6, 8]"}};
  program p = open(HIA_SPECULATE_EAGER, "two"), q = open(HIA_SPECULATE_OFF, "two");
  hia_value *n = parse(&p, 0, "5");
  for (size_t i = 0; i < HIA_LEN(texts); i++) {
    hia_value *args[3] = {n, parse(&p, 1, texts[i][0]), parse(&p, 2, texts[i][1])};
    char general[64], special[64];
    uint32_t version = run(&p, args, 3, special, sizeof special);
    run(&q, args, 3, general, sizeof general);
    cr_assert_str_eq(special, general);
    bool is_as_first = strlen(texts[i][0]) == 9 && strlen(texts[i][1]) == 12;
    cr_assert_eq(version == 1, i > 0 && is_as_first, "version %u of run %zu", version, i);
    hia_value_free(args[1]);
    hia_value_free(args[2]);
  }
  hia_value_free(n);
  close_program(&p);
  close_program(&q);
}

Test(engine_speculate, off_and_by_itself) {
  NEEDS_NATIVE;
  program p = open(HIA_SPECULATE_OFF, "total");
  hia_value *args[2] = {parse(&p, 0, "Add(X, C(2.0))"), parse(&p, 1, "1000000")};
  char out[64];
  for (int i = 0; i < 8; i++) cr_assert_eq(run(&p, args, 2, out, sizeof out), 0);
  hia_value_free(args[0]);
  close_program(&p);
  p = open(HIA_SPECULATE_ON, "total");
  args[0] = parse(&p, 0, "Add(X, C(2.0))");
  uint32_t version = 0;
  for (int i = 0; i < 10000 && !version; i++) version = run(&p, args, 2, out, sizeof out);
  cr_assert_eq(version, 1);
  cr_assert_str_eq(out, "500001500000.0");
  hia_value_free(args[0]);
  hia_value_free(args[1]);
  close_program(&p);
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.speculate = (hia_speculate)7;
  hia_engine *engine;
  cr_assert_eq(hia_engine_new(&options, &engine, NULL), HIA_ARGUMENT);
  options = (hia_engine_options)HIA_ENGINE_OPTIONS_INIT;
  options.reserved = 1;
  cr_assert_eq(hia_engine_new(&options, &engine, NULL), HIA_ARGUMENT);
}

Test(engine_speculate, several_threads) {
  NEEDS_NATIVE;
  program p = open(HIA_SPECULATE_EAGER, "net");
  pthread_t threads[4];
  net_thread runs[4] = {{&p, 1}, {&p, 2}, {&p, 3}, {&p, 4}};
  for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, run_net, &runs[i]);
  for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
  close_program(&p);
}

/* The engine is freed while a version is being made, or just asked for. */
Test(engine_speculate, freed_meanwhile) {
  NEEDS_NATIVE;
  for (int n = 3; n < 12; n++) {
    program p = open(HIA_SPECULATE_ON, "total");
    hia_value *args[2] = {parse(&p, 0, "Add(X, C(2.0))"), parse(&p, 1, "3000000")};
    char out[64];
    for (int i = 0; i < n; i++) run(&p, args, 2, out, sizeof out);
    hia_value_free(args[0]);
    hia_value_free(args[1]);
    close_program(&p);
  }
}

/* Without memory for what versions need there are none, and runs go on as ever. */
Test(engine_speculate, without_memory) {
  NEEDS_NATIVE;
  for (int k = 0; k < 400; k += 1 + k / 4) {
    test_heap heap;
    test_heap_init(&heap, -1);
    hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
    options.speculate = HIA_SPECULATE_EAGER;
    options.allocator = &heap.allocator;
    program p = open_program(&options, versions_text, "net");
    hia_value *args[3] = {parse(&p, 0, "2"), parse(&p, 1, W[0]), parse(&p, 2, "[0, 1]")};
    char out[256];
    heap.left = k;
    run(&p, args, 3, out, sizeof out);
    run(&p, args, 3, out, sizeof out);
    heap.left = -1;
    run(&p, args, 3, out, sizeof out);
    cr_assert_str_eq(out, "1301.0");
    for (int i = 0; i < 3; i++) hia_value_free(args[i]);
    close_program(&p);
    cr_assert_eq(heap.blocks, 0);
  }
}
