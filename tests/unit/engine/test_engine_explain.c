/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* What an engine tells of the versions of a function: `hia_function_explain` in both of its forms,
 * the log, and timelines. test_engine_speculate.c tests the versions themselves. */
#include "tests/unit/helpers/memory.h"
#include "tests/unit/helpers/versions.h"

#include <pthread.h>

static void explains(const program *p, const char *const *words) {
  test_text told = explained(p, words);
  test_text_free(&told);
}

static void run_parsed(const program *p, const char *const *texts, size_t n, uint32_t version) {
  hia_value *args[4];
  char out[256];
  for (size_t i = 0; i < n; i++) args[i] = parse(p, i, texts[i]);
  cr_assert_eq(run(p, args, n, out, sizeof out), version);
  for (size_t i = 0; i < n; i++) hia_value_free(args[i]);
}

Test(engine_explain, explains_objects) {
  NEEDS_NATIVE;
  program p = open(HIA_SPECULATE_EAGER, "total");
  explains(&p, WORDS("total(e: E, n: i64) -> f64", "no run was looked at so far"));
  hia_value *args[2] = {parse(&p, 0, "Add(X, C(2.0))"), parse(&p, 1, "10")};
  char out[64];
  for (int i = 0; i < 4; i++) run(&p, args, 2, out, sizeof out);
  test_text told = explained(
      &p, WORDS("is this object, Add(X, C(2.0)): seen once",
                "is not assumed: it would be of no use, as no loop computes with it and no "
                "recursive function hands it on"));
  cr_assert(strstr(told.data,
                   "4 runs\ngeneral version: 1 run, of which 1 was looked at\n  1 of them was obs"),
            "%s", told.data);
  cr_assert(strstr(told.data, "version 1 was made after run 1\n  e is"), "%s", told.data);
  cr_assert(strstr(told.data, "\n  n is not"), "%s", told.data);
  cr_assert(strstr(told.data, "\n  3 runs used it\n  it took "), "%s", told.data);
  cr_assert(strstr(told.data, " ms, the mean of 3 runs: "), "%s", told.data);
  cr_assert(strstr(told.data, "1 of at most 15 versions"), "%s", told.data);
  cr_assert_not(strstr(told.data, "did not fit"), "%s", told.data);
  test_text_free(&told);
  hia_value_free(args[0]);
  args[0] = parse(&p, 0, "Add(X, C(3.0))");
  run(&p, args, 2, out, sizeof out);
  told = explained(&p, WORDS("is this object, Add(X, C(3.0)): seen once", "another object"));
  cr_assert(strstr(told.data, "1 run did not fit it; in run 5 e was another object"), "%s",
            told.data);
  test_text_free(&told);
  hia_value_free(args[0]);
  args[0] = parse(&p, 0, "X");
  run(&p, args, 2, out, sizeof out);
  told = explained(&p, WORDS("is a constructor without fields"));
  cr_assert(strstr(told.data, "2 runs did not fit it; in run 6 e was X"), "%s", told.data);
  test_text_free(&told);
  hia_value_free(args[0]);
  hia_value_free(args[1]);
  close_program(&p);
}

Test(engine_explain, explains_tensors) {
  NEEDS_NATIVE;
  program p = open(HIA_SPECULATE_EAGER, "net");
  for (uint32_t i = 0; i < 3; i++)
    run_parsed(&p, WORDS("2", "[[1, 2], [3, 4]]", "[1, 2]"), 3, i != 0);
  run_parsed(&p, WORDS("2", "[[1, 0, 0], [0, 1, 0], [0, 0, 1]]", "[1, 2, 3]"), 3, 0);
  test_text told =
      explained(&p, WORDS("is read as a param of the run, f32[2, 2]: so in the last look",
                          "is read as a param of the run, f32[3]", "f32[3, 3]"));
  cr_assert(strstr(told.data, "1 run did not fit it; in run 4 W was f32[3, 3]"), "%s", told.data);
  test_text_free(&told);
  close_program(&p);
  p = open(HIA_SPECULATE_EAGER, "sized");
  run_parsed(&p, WORDS("[1, 2]"), 1, 0);
  run_parsed(&p, WORDS("[1, 2]"), 1, 0);
  explains(&p, WORDS("no assumption would be of use",
                     "has the sizes f32[2]: so in the last look; that alone is of no use"));
  close_program(&p);
}

Test(engine_explain, explains_parts_of_tuples) {
  NEEDS_NATIVE;
  program p = open(HIA_SPECULATE_EAGER, "pairs");
  run_parsed(&p, WORDS("(7, (Add(X, X), 3))"), 1, 0);
  test_text told = explained(&p, WORDS("p.0", "p.1.0", "p.1.1"));
  cr_assert(strstr(told.data, "\n  p.1.0 is this object, Add(X, X): seen once"), "%s", told.data);
  test_text_free(&told);
  close_program(&p);
}

Test(engine_explain, explains_what_varies) {
  NEEDS_NATIVE;
  program p = open(HIA_SPECULATE_EAGER, "power");
  for (int i = 0; i < 5; i++) {
    char x[16];
    snprintf(x, sizeof x, "%d.5", i);
    run_parsed(&p, WORDS(x, i == 2 ? "3" : "4"), 2, 0);
  }
  test_text told =
      explained(&p, WORDS("is 0.5: so in the last look", "differs in every look: 0.5 to 4.5",
                          "was 4 in the last 2 looks"));
  cr_assert(strstr(told.data, "; in run 5 x was 4.5\n"), "%s", told.data);
  test_text_free(&told);
  for (int i = 0; i < 2; i++)
    for (int n = 1; n < 4; n++) run_parsed(&p, WORDS("0.25", n == 1 ? "1" : "2"), 2, 0);
  explains(&p, WORDS("varied "));
  close_program(&p);
}

Test(engine_explain, explains_what_is_not_assumed) {
  NEEDS_NATIVE;
  program p = open(HIA_SPECULATE_EAGER, "slopes");
  run_parsed(&p, WORDS("Times(Y, Y)", "3"), 2, 0);
  run_parsed(&p, WORDS("Times(Y, Y)", "3"), 2, 0);
  explains(&p, WORDS("is not assumed: gradients are computed, and no branch may be decided before",
                     "no assumption would be of use"));
  close_program(&p);
  p = open(HIA_SPECULATE_EAGER, "total");
  char large[300 * 8 + 600] = "";
  for (int i = 0; i < 300; i++) strcat(large, "Add(X,");
  strcat(large, "X");
  for (int i = 0; i < 300; i++) strcat(large, ")");
  run_parsed(&p, WORDS(large, "2"), 2, 0);
  explains(&p, WORDS("is not assumed: it has more than 256 objects"));
  close_program(&p);
}

Test(engine_explain, explains_many_objects) {
  NEEDS_NATIVE;
  enum { N = 1400 }; /* one in 16 is looked at */
  program p = open(HIA_SPECULATE_ON, "total");
  static hia_value *args[N][2];
  hia_value *n = parse(&p, 1, "2");
  char out[64];
  for (int i = 0; i < N; i++) {
    args[i][0] = parse(&p, 0, "Add(X, X)");
    args[i][1] = n;
    run(&p, args[i], 2, out, sizeof out);
  }
  explains(&p, WORDS("has more than 16 objects in turn"));
  for (int i = 0; i < N; i++) hia_value_free(args[i][0]);
  hia_value_free(n);
  close_program(&p);
}

Test(engine_explain, explains_when_it_waits) {
  NEEDS_NATIVE;
  program p = open(HIA_SPECULATE_ON, "total");
  run_parsed(&p, WORDS("Add(X, X)", "3"), 2, 0);
  explains(&p, WORDS("1 run was looked at, and 3 are needed",
                     "was an object that was seen once, and 3 times are needed",
                     "was the same in the last look only, and 3 are needed"));
  run_parsed(&p, WORDS("Add(X, X)", "3"), 2, 0);
  run_parsed(&p, WORDS("Add(X, X)", "3"), 2, 0);
  explains(&p, WORDS("all runs together have taken about ", "was 3 in the last 3 looks"));
  close_program(&p);
  p = open(HIA_SPECULATE_OFF, "total");
  run_parsed(&p, WORDS("Add(X, X)", "3"), 2, 0);
  explains(&p, WORDS("the engine's option `speculate` is off"));
  close_program(&p);
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.kind = HIA_ENGINE_INTERP;
  p = open_program(&options, versions_text, "total");
  explains(&p, WORDS("engines of this kind make none"));
  close_program(&p);
}

Test(engine_explain, explains_that_there_are_no_more) {
  NEEDS_NATIVE;
  log_lines log = {.words = "which is the most"};
  program p = open_logged(&log, versions_text, "total");
  hia_value *args[20][2], *n = parse(&p, 1, "2");
  char out[64];
  for (int i = 0; i < 20; i++) {
    args[i][0] = parse(&p, 0, "Add(X, X)");
    args[i][1] = n;
    run(&p, args[i], 2, out, sizeof out);
  }
  cr_assert_eq(log.n, 1);
  cr_assert_str_eq(log.last,
                   "total(E, i64) has 15 versions for its arguments, made or tried, which "
                   "is the most: a further one takes the place of one that no run uses");
  explains(&p, WORDS("which is the most: a further one takes the place of one that no run uses"));
  for (int i = 0; i < 20; i++) hia_value_free(args[i][0]);
  hia_value_free(n);
  close_program(&p);
}

Test(engine_explain, explaining_fails) {
  NEEDS_NATIVE;
  program p = open(HIA_SPECULATE_EAGER, "total");
  run_parsed(&p, WORDS("Add(X, X)", "3"), 2, 0);
  hia_error *error = NULL;
  for (int json = 0; json < 2; json++) {
    cr_assert_eq(hia_function_explain(p.function, json, test_text_refuse, NULL, &error), HIA_IO);
    cr_assert(strstr(hia_error_text(error), "could not be written"));
    hia_error_free(error);
  }
  hia_function *generic = find_function(p.module, "generic");
  cr_assert_eq(hia_function_explain(generic, false, test_text_refuse, NULL, NULL), HIA_ARGUMENT);
  close_program(&p);
}

/* Without memory nothing is written, and the lock is free again. */
Test(engine_explain, explaining_without_memory) {
  NEEDS_NATIVE;
  test_heap heap;
  test_heap_init(&heap, -1);
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.speculate = HIA_SPECULATE_EAGER;
  options.allocator = &heap.allocator;
  program p = open_program(&options, versions_text, "net");
  run_parsed(&p, WORDS("2", W[0], "[0, 1]"), 3, 0);
  hia_status status = HIA_MEMORY;
  int k = 0;
  for (; status == HIA_MEMORY; k++) {
    test_text t = {0};
    heap.left = k;
    status = hia_function_explain(p.function, k % 2, test_text_take, &t, NULL);
    heap.left = -1;
    cr_assert_eq(t.len != 0, status == HIA_OK);
    test_text_free(&t);
    run_parsed(&p, WORDS("2", W[0], "[0, 1]"), 3, 1);
  }
  cr_assert_eq(status, HIA_OK);
  cr_assert_gt(k, 1);
  close_program(&p);
  cr_assert_eq(heap.blocks, 0);
}

static atomic_bool is_over;
static void *explain_many(void *arg) {
  const program *p = arg;
  for (int i = 0; !atomic_load(&is_over) || i < 20; i++) {
    test_text told = {0};
    cr_expect_eq(hia_function_explain(p->function, i % 2, test_text_take, &told, NULL), HIA_OK);
    cr_expect(told.len > 0);
    test_text_free(&told);
  }
  return NULL;
}

Test(engine_explain, explains_while_it_runs) {
  NEEDS_NATIVE;
  for (int mode = 0; mode < 2; mode++) {
    program p = open(mode ? HIA_SPECULATE_EAGER : HIA_SPECULATE_ON, "net");
    pthread_t threads[4];
    net_thread runs[2] = {{&p, 1}, {&p, 2}};
    atomic_store(&is_over, false);
    for (int i = 0; i < 2; i++) {
      pthread_create(&threads[i], NULL, run_net, &runs[i]);
      pthread_create(&threads[2 + i], NULL, explain_many, &p);
    }
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    atomic_store(&is_over, true);
    for (int i = 2; i < 4; i++) pthread_join(threads[i], NULL);
    close_program(&p);
  }
}

/* A run in a version, and compiling it, have its number in a timeline. */
Test(engine_explain, timelines) {
  NEEDS_NATIVE;
  program p = open(HIA_SPECULATE_EAGER, "total");
  hia_run_options options = HIA_RUN_OPTIONS_INIT;
  options.timeline = hia_timeline_new(NULL, 0);
  hia_value *args[2] = {parse(&p, 0, "Add(X, X)"), parse(&p, 1, "2")};
  for (int i = 0; i < 2; i++) {
    hia_value *result;
    cr_assert_eq(hia_run(p.function, args, 2, &options, &result, NULL), HIA_OK);
    hia_value_free(result);
  }
  test_text t = {0};
  cr_assert_eq(hia_timeline_write(options.timeline, test_text_take, &t, NULL), HIA_OK);
  cr_assert(strstr(t.data, "\"function\":\"total(E, i64)\""), "%s", t.data);
  cr_assert(strstr(t.data, "\"function\":\"total(E, i64), version 1\""), "%s", t.data);
  cr_assert(strstr(t.data, "\"of\":\"total(E, i64), version 1\""), "%s", t.data);
  test_text_free(&t);
  hia_timeline_free(options.timeline);
  for (int i = 0; i < 2; i++) hia_value_free(args[i]);
  close_program(&p);
}
