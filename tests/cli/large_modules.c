/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* A thousand modules, loaded and freed with a cache, in engines that stay: afterwards there is as
 * much memory, and there are as many mappings and open files, as before. Most of them find their
 * code in the cache; every fiftieth is new, is compiled while it runs, and stored.
 *
 * All is compared generously, but less than a block for each tenth module: engines keep what they
 * have needed once, malloc keeps pages, and LLVM its own memory. */
#include "tests/unit/helpers/memory.h"
#include <dirent.h>
#include <hiaton/cache.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { N_MODULES = 1000, WARM_UP = 150, N_TEXTS = 10, NEW_ONE = 50 };
enum { MAX_BLOCKS = 100, MAX_BYTES = 256 << 10, MAX_RESIDENT_KIB = 16 << 10, MAX_MAPPINGS = 50 };

static const char form[] =
    "type Tree = Leaf(x: f64) | Node(left: Tree, right: Tree)\n"
    "param W: f64[4] = glorot_uniform()\n"
    "fn fib(n: i32) -> i32 = if n <= 1 then %u else fib(n - 1) + fib(n - 2)\n"
    "fn make(n: i32) -> Tree = if n == 0 then Leaf(0.5) else Node(make(n - 1), make(n - 1))\n"
    "fn total(t: Tree) -> f64 = match t { Leaf(x) => x, Node(l, r) => total(l) + total(r) }\n"
    "fn sum_of(n: i32) -> f64 = total(make(n))\n"
    "fn score(x: f64[4]) -> f64 = sum(W * x) * sum(x)\n"
    "fn slope(n: i32) -> f64[4] = grad(score)(ones(4) * f64(n))\n";

static void fail(const char *what) {
  printf("FAIL %s\n", what);
  exit(1);
}

static void check(hia_status status, hia_error *error) {
  if (status != HIA_OK) fail(hia_error_text(error));
}

/* ---- what there is ---- */

typedef struct usage {
  long blocks, bytes; /* of the allocator */
  long resident_kib, mappings, files;
} usage;

static long count_lines(const char *path) {
  FILE *f = fopen(path, "r");
  long n = 0;
  if (!f) fail(path);
  for (int c; (c = fgetc(f)) != EOF;) n += c == '\n';
  fclose(f);
  return n;
}

static long count_files(void) {
  DIR *list = opendir("/proc/self/fd");
  long n = 0;
  if (!list) fail("/proc/self/fd");
  while (readdir(list)) n++;
  closedir(list);
  return n;
}

static usage measure(test_heap *heap) {
  long pages = 0;
  FILE *f = fopen("/proc/self/statm", "r");
  if (!f || fscanf(f, "%*d %ld", &pages) != 1) fail("/proc/self/statm");
  fclose(f);
  return (usage){.blocks = heap->blocks,
                 .bytes = heap->bytes,
                 .resident_kib = pages * (sysconf(_SC_PAGESIZE) / 1024),
                 .mappings = count_lines("/proc/self/maps"),
                 .files = count_files()};
}

typedef struct row {
  const char *name;
  long before, after, most; /* that it may be more */
} row;
enum { N_ROWS = 5 };

static bool compare(row rows[N_ROWS], const usage *a, const usage *b) {
  const row all[N_ROWS] = {{"blocks", a->blocks, b->blocks, MAX_BLOCKS},
                           {"bytes", a->bytes, b->bytes, MAX_BYTES},
                           {"resident KiB", a->resident_kib, b->resident_kib, MAX_RESIDENT_KIB},
                           {"mappings", a->mappings, b->mappings, MAX_MAPPINGS},
                           {"open files", a->files, b->files, 2}};
  bool is_same = true;
  memcpy(rows, all, sizeof all);
  for (int i = 0; i < N_ROWS; i++) is_same &= all[i].after <= all[i].before + all[i].most;
  return is_same;
}

/* A thread may still compile for a module that was freed: that ends soon. */
static void expect_as_before(const usage *before, test_heap *heap) {
  row rows[N_ROWS];
  bool is_same = false;
  for (int i = 0; i < 1000 && !is_same; i++) {
    if (i) usleep(10000);
    usage now = measure(heap);
    is_same = compare(rows, before, &now);
  }
  for (int i = 0; i < N_ROWS; i++)
    printf("%-16s %10ld, then %10ld\n", rows[i].name, rows[i].before, rows[i].after);
  if (!is_same) fail("modules that were freed leave something");
}

/* ---- modules ---- */

static hia_function *find(hia_module *module, const char *name) {
  hia_function *f;
  hia_error *error = NULL;
  check(hia_module_function(module, name, &f, &error), error);
  return f;
}

static void call(hia_engine *engine, hia_module *module, const char *name, int32_t n) {
  hia_error *error = NULL;
  hia_value *arg = hia_value_i32(engine, n), *result = NULL;
  check(hia_call(find(module, name), &arg, 1, &result, &error), error);
  hia_value_free(result);
  hia_value_free(arg);
}

static void enter(hia_module *module, hia_context *context, unsigned one) {
  hia_error *error = NULL;
  hia_native_fn entry, map;
  int32_t n[3] = {1, 5, 10}, x[3] = {0};
  check(hia_function_entry(find(module, "fib"), &entry, &error), error);
  check(hia_function_map(find(module, "fib"), &map, &error), error);
  check(((hia_status(*)(hia_context *, int32_t, int32_t *))entry)(context, 10, &x[0]), NULL);
  if (x[0] != 89 * (int32_t)one) fail("fib(10) by its typed entry");
  check(((hia_status(*)(hia_context *, size_t, const int32_t *, int32_t *))map)(context, 3, n, x),
        NULL);
  if (x[1] != 8 * (int32_t)one || x[2] != 89 * (int32_t)one) fail("fib by its map");
}

/* Loads module i, uses it, and frees it. */
static void use_module(hia_engine *engine, hia_context *context, unsigned i) {
  char text[1024];
  unsigned one = i % NEW_ONE ? 1 + i % N_TEXTS : 1000 + i;
  hia_error *error = NULL;
  hia_module *module;
  int len = snprintf(text, sizeof text, form, one);
  check(hia_module_load_text(engine, "m", text, (size_t)len, &module, &error), error);
  call(engine, module, "fib", i % NEW_ONE ? 8 : 21); /* long enough to be compiled meanwhile */
  call(engine, module, "sum_of", 5);
  call(engine, module, "slope", 3);
  enter(module, context, one);
  hia_module_free(module);
}

int main(void) {
  test_heap heap;
  char folder[] = "/tmp/hiaton-large-XXXXXX";
  hia_engine *engines[2];
  hia_context *contexts[2];
  usage before = {0};
  if (!mkdtemp(folder)) fail("no folder");
  test_heap_init(&heap, -1);
  for (int e = 0; e < 2; e++) {
    hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
    hia_error *error = NULL;
    options.kind = e ? HIA_ENGINE_AUTO : HIA_ENGINE_JIT;
    options.allocator = &heap.allocator;
    options.opt_level = 1;
    options.cache = folder;
    check(hia_engine_new(&options, &engines[e], &error), error);
    check(hia_engine_context_new(engines[e], &contexts[e], &error), error);
  }
  for (unsigned i = 0; i < WARM_UP + N_MODULES; i++) {
    if (i == WARM_UP) before = measure(&heap);
    unsigned e = (i + i / NEW_ONE) % 2; /* new ones in each engine in turn */
    use_module(engines[e], contexts[e], i);
  }
  expect_as_before(&before, &heap);
  for (int e = 0; e < 2; e++) {
    hia_context_free(contexts[e]);
    hia_engine_free(engines[e]);
  }
  if (heap.blocks || heap.bytes) fail("engines that were freed leave something");
  hia_cache_clear(folder, false, NULL);
  rmdir(folder);
  return 0;
}
