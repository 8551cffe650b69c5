/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Code of several codegen units: calls, forks, failures, fuel and host functions across units give
 * what the interpreter gives. (Stress builds have several units even in small programs.) */
#include "runtime/heap/heap.h"
#include "tests/unit/helpers/program.h"
#include "tests/unit/helpers/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LENGTH(array) (sizeof(array) / sizeof *(array))

enum { MEMBERS = 80, OTHERS = 10 };

static int32_t triple(int32_t x) { return 3 * x; }

/* A group of functions that call each other, more than fit into a unit, and functions that call
 * them and the host. */
static void program_text(test_text *t) {
  char line[300];
  const char *host = "extern fn triple(x: i32) -> i32\n";
  test_text_take(t, host, strlen(host));
  for (unsigned i = 0; i < MEMBERS; i++) {
    int len = snprintf(line, sizeof line,
                       "fn m%u(n: i32, at: i32) -> i32 =\n"
                       "  if n == at then fail(%u) else if n <= %u then triple(n + %u)\n"
                       "  else m%u(n - 1, at) - m%u(n - 2, at) * 3\n",
                       i, i, i % 4, i, (i + 1) % MEMBERS, (i * 7 + 3) % MEMBERS);
    test_text_take(t, line, (size_t)len);
  }
  for (unsigned i = 0; i < OTHERS; i++) {
    int len = snprintf(line, sizeof line,
                       "fn o%u(n: i32, at: i32) -> i32 = if n <= 0 then m%u(9, at) / (n + 1) else "
                       "o%u(n - 1, at) + m%u(n, at)\n",
                       i, i * 3, i, i * 2);
    test_text_take(t, line, (size_t)len);
  }
  const char *head = "fn main(n: i32, at: i32) -> i32 = 0\n";
  test_text_take(t, head, strlen(head));
  for (unsigned i = 0; i < OTHERS; i++) {
    int len = snprintf(line, sizeof line, "  + o%u(n, at)\n", i);
    test_text_take(t, line, (size_t)len);
  }
}

typedef struct configuration {
  hia_engine_kind kind;
  unsigned threads;
  int level;
  bool always_fork, count;
} configuration;

static const configuration configurations[] = {
    {HIA_ENGINE_INTERP, 1, 3, false, false}, {HIA_ENGINE_JIT, 1, 3, false, false},
    {HIA_ENGINE_JIT, 1, 0, false, false},    {HIA_ENGINE_JIT, 4, 2, false, false},
    {HIA_ENGINE_JIT, 1, 1, true, true},
};

static program open_in(const configuration *c, const char *text) {
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.kind = c->kind;
  options.threads = c->threads;
  options.opt_level = c->level;
  if (c->always_fork) options.flags |= HIA_FLAG_ALWAYS_FORK;
  if (c->count) options.flags |= HIA_FLAG_COUNT;
  program p;
  hia_error *error;
  cr_assert_eq(hia_engine_new(&options, &p.engine, &error), HIA_OK);
  hia_host_function host = HIA_HOST_FUNCTION_INIT;
  host.function = (void (*)(void))triple;
  host.declaration = "extern fn triple(x: i32) -> i32";
  cr_assert_eq(hia_engine_register(p.engine, &host, &error), HIA_OK, "%s", hia_error_text(error));
  cr_assert_eq(hia_module_load_text(p.engine, "t.hia", text, strlen(text), &p.module, &error),
               HIA_OK, "%s", hia_error_text(error));
  cr_assert_eq(hia_module_function(p.module, "main", &p.function, &error), HIA_OK);
  return p;
}

/* The result, or the error with its backtrace, as text. */
static void run(const program *p, int32_t n, int32_t at, uint64_t fuel, char *out, size_t size) {
  hia_run_options options = HIA_RUN_OPTIONS_INIT;
  options.has_fuel = fuel != 0;
  options.fuel = fuel;
  hia_value *args[2] = {hia_value_i32(p->engine, n), hia_value_i32(p->engine, at)}, *result;
  hia_error *error;
  if (hia_run(p->function, args, 2, &options, &result, &error) == HIA_OK) {
    hia_value_format(result, out, size);
    hia_value_free(result);
  } else {
    snprintf(out, size, "%s", hia_error_text(error));
    hia_error_free(error);
  }
  hia_value_free(args[0]);
  hia_value_free(args[1]);
}

static const struct {
  int32_t n, at;
  uint64_t fuel;
} runs[] = {{10, -9, 0}, {14, -9, 0},     {10, 2, 0},  {10, -1, 0},
            {12, 7, 0},  {9, -9, 100000}, {9, -9, 700}};

Test(engine_codegen, several_units_are_as_one) {
  NEEDS_NATIVE;
  test_text text = {0};
  program_text(&text);
  char wanted[LENGTH(runs)][4000];
  for (size_t c = 0; c < LENGTH(configurations); c++) {
    program p = open_in(&configurations[c], text.data);
    for (size_t r = 0; r < LENGTH(runs); r++) {
      char found[4000];
      run(&p, runs[r].n, runs[r].at, runs[r].fuel, c ? found : wanted[r], sizeof found);
      if (c) cr_assert_str_eq(found, wanted[r], "configuration %zu, run %zu: %s", c, r, found);
    }
    hia_function_stats stats = HIA_FUNCTION_STATS_INIT;
    cr_assert_eq(hia_function_get_stats(p.function, &stats), HIA_OK);
    if (c) cr_assert_gt(stats.codegen_units, stats.versions);
    if (!c) cr_assert_eq(stats.codegen_units, 0);
    close_program(&p);
  }
  cr_assert(strstr(wanted[0], "error") == NULL && strstr(wanted[2], "failed"), "%s", wanted[2]);
  test_text_free(&text);
}

/* A dump shows all units, each behind a heading, in the form of comments. */
Test(engine_codegen, dumps_have_all_units) {
  NEEDS_NATIVE;
  test_text text = {0}, dump = {0};
  program_text(&text);
  program p = open_in(&configurations[2], text.data);
  hia_dump_options options = HIA_DUMP_OPTIONS_INIT;
  options.stage = HIA_STAGE_LLVM;
  cr_assert_eq(hia_module_dump(p.module, NULL, 0, &options, test_text_take, &dump, NULL), HIA_OK);
  cr_assert(strncmp(dump.data, "; unit 1 of ", 12) == 0, "%.40s", dump.data);
  cr_assert_not_null(strstr(dump.data, "\n; unit 2 of "));
  char name[16];
  for (unsigned i = 0; i < MEMBERS; i++) {
    snprintf(name, sizeof name, "@m%u_", i);
    cr_assert_not_null(strstr(dump.data, name), "m%u is missing", i);
  }
  test_text_free(&dump);
  test_text_free(&text);
  close_program(&p);
}

static unsigned times(const char *text, const char *part) {
  unsigned n = 0;
  for (const char *at = text; (at = strstr(at, part)); at++) n++;
  return n;
}

/* A program that batches has short code: one function gives up references of all types, and a stub
 * makes small objects. (In builds that watch each block of memory another stub makes all of them.)
 */
Test(engine_codegen, code_that_batches_is_short) {
  NEEDS_NATIVE;
  static const char source[] =
      "type Tree = Leaf(word: i32) | Node(left: Tree, right: Tree)\n"
      "param E: f32[99, 64] = uniform(-1, 1)\nparam W: f32[64, 128] = glorot_uniform()\n"
      "fn encode(t: Tree) -> f32[64] = match t {\n"
      "  Leaf(word) => E[word], Node(l, r) => tanh(W @ concat(encode(l), encode(r))) }\n"
      "fn loss(t: Tree) -> f32 = sum(encode(t))\n"
      "fn main(t: Tree) = value_and_grad(loss, wrt = (E, W))(t)\n";
  test_text dump = {0};
  program p = open_in(&configurations[1], source);
  hia_dump_options options = HIA_DUMP_OPTIONS_INIT;
  options.stage = HIA_STAGE_LLVM;
  cr_assert_eq(hia_module_dump(p.module, &p.function, 1, &options, test_text_take, &dump, NULL),
               HIA_OK);
  uint32_t n_drops = times(dump.data, "void @hia_drop(ptr swiftself %0, ptr %1, i32 %2)");
#ifdef HIA_STRESS /* it has several units, each with functions of its own */
  cr_assert_geq(n_drops, 1);
#else
  cr_assert_eq(n_drops, 1);
#endif
#ifndef HIA_CENSUS
  cr_assert_gt(times(dump.data, "ptr @hiaR_stub_take(ptr swiftself %0, i64 "), 1);
#endif
  test_text_free(&dump);
  close_program(&p);
}
