/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* What hosts call, from the cache: typed entries, plain functions and maps. test_engine_cache.c
 * tests functions. */
#include "jit/cache/machine.h"
#include "jit/engine/engine.h"
#include "tests/unit/helpers/program.h"
#include "tests/unit/helpers/typed.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/hiaton-sides-XXXXXX";

static const char text[] =
    "type Tree = Leaf(n: i32) | Node(left: Tree, right: Tree)\n"
    "param W: f32[3] = ones()\n"
    "extern fn plus(a: i32, b: i32) -> i32\n"
    "fn fib(n: i32) -> i32 = if n <= 1 then 1 else fib(n - 1) + fib(n - 2)\n"
    "fn half(a: i32, b: i32) -> i32 = a / b\n"
    "fn outer(n: i32) -> i32 = 2 * half(n, n - 3)\n"
    "fn swap(p: (i32, f64)) -> (f64, i32) = (p.1, p.0)\n"
    "fn horner(x: f64) -> f64 = sin(x) * x + 0.5\n"
    "fn hosted(n: i32) -> i32 = plus(n, 2 * n)\n"
    "fn make(n: i32) -> Tree = if n == 0 then Leaf(7) else Node(make(n - 1), make(n - 1))\n"
    "fn total(t: Tree) -> i32 = match t { Leaf(n) => n, Node(l, r) => total(l) + total(r) }\n"
    "fn next(x: f32[n]) -> f32[n] = x + 1.0f32\n"
    "fn score(x: f32[3]) -> f32 = sum(W * x)\n"
    "fn slope(x: f32[3]) -> f32[3] = grad(score)(x)\n"
    "fn twice(x) = x + x\n";

static int32_t plus(int32_t a, int32_t b) { return a + b; }

typedef enum way { TYPED, FUELLED, MAP, PLAIN, N_WAYS } way;

/* Calls, and in which ways they can be made. */
static const struct {
  const char *name, *args[2];
  bool is_plain;
} calls[] = {{"fib", {"10"}, false},
             {"outer", {"5"}, false},
             {"outer", {"3"}, false}, /* fails */
             {"swap", {"(3, 0.25)"}, true},
             {"horner", {"1.5"}, true},
             {"hosted", {"4"}, false},
             {"make", {"2"}, false},
             {"total", {"Node(Leaf(1), Node(Leaf(2), Leaf(3)))"}, false},
             {"next", {"[1.0, 2.0, 3.0]"}, false},
             {"slope", {"[1.0, 2.0, 3.0]"}, false},
             {"twice(i64)", {"21"}, true}};
enum { N_CALLS = sizeof calls / sizeof *calls };

typedef struct outcomes {
  char text[N_CALLS][N_WAYS][512];
} outcomes;

typedef struct fixture {
  hia_engine *engine;
  hia_module *module;
  hia_context *context;
} fixture;

static hia_engine_options usual(void) {
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.kind = HIA_ENGINE_JIT;
  options.opt_level = 1;
  options.cache = folder;
  return options;
}

static void begin_with(fixture *f, const hia_engine_options *options, const char *source) {
  cr_assert_eq(hia_engine_new(options, &f->engine, NULL), HIA_OK);
  hia_host_function h = HIA_HOST_FUNCTION_INIT;
  h.declaration = "extern fn plus(a: i32, b: i32) -> i32";
  h.function = (void (*)(void))plus;
  cr_assert_eq(hia_engine_register(f->engine, &h, NULL), HIA_OK);
  f->module = load_module(f->engine, "t.hia", source);
  cr_assert_eq(hia_engine_context_new(f->engine, &f->context, NULL), HIA_OK);
}

static void begin(fixture *f) {
  const hia_engine_options options = usual();
  begin_with(f, &options, text);
}

static void end(fixture *f) {
  hia_context_free(f->context);
  hia_module_free(f->module);
  hia_engine_free(f->engine);
}

static hia_native_fn request(const fixture *f, const char *name, way w) {
  hia_native_fn out;
  hia_error *error = NULL;
  hia_function *function = find_function(f->module, name);
  hia_status status = w == TYPED     ? hia_function_entry(function, &out, &error)
                      : w == FUELLED ? hia_function_entry_with_fuel(function, &out, &error)
                      : w == MAP     ? hia_function_map(function, &out, &error)
                                     : hia_function_plain(function, &out, &error);
  cr_assert_eq(status, HIA_OK, "%s: %s", name, hia_error_text(error));
  return out;
}

/* Writes what a plain function returns. */
static void call_plain(const char *name, hia_native_fn f, char *to, size_t size) {
  double y = 0;
  int32_t n = 0;
  if (!strcmp(name, "horner"))
    snprintf(to, size, "%.17g", ((double (*)(double))f)(1.5));
  else if (!strcmp(name, "swap"))
    ((void (*)(int32_t, double, double *, int32_t *))f)(3, 0.25, &y, &n),
        snprintf(to, size, "%g %d", y, n);
  else
    snprintf(to, size, "%lld", (long long)((int64_t (*)(int64_t))f)(21));
}

static void make_call(const fixture *f, int i, way w, char *to, size_t size) {
  hia_function *function = find_function(f->module, calls[i].name);
  hia_value *arg, *result = NULL;
  if (w == PLAIN && !calls[i].is_plain) return;
  hia_native_fn entry = request(f, calls[i].name, w);
  if (w == PLAIN) {
    call_plain(calls[i].name, entry, to, size);
    return;
  }
  cr_assert_eq(hia_value_parse(function, 0, calls[i].args[0], &arg, NULL), HIA_OK);
  if (w == FUELLED) hia_context_set_fuel(f->context, 100000);
  hia_status status = w == MAP
                          ? call_map(f->engine, function, entry, f->context, &arg, 1, 5, &result)
                          : call_typed(f->engine, function, entry, f->context, &arg, 1, &result);
  if (status == HIA_OK)
    hia_value_format(result, to, size);
  else
    snprintf(to, size, "%s", hia_error_text(hia_context_error(f->context)));
  if (w == FUELLED) {
    uint64_t left = 0;
    size_t n = strlen(to);
    cr_assert(hia_context_fuel_left(f->context, &left));
    snprintf(to + n, size - n, " left %llu", (unsigned long long)left);
    hia_context_clear_fuel(f->context);
  }
  hia_value_free(result);
  hia_value_free(arg);
}

static outcomes *make_all(const fixture *f) {
  outcomes *all = calloc(1, sizeof *all);
  for (int i = 0; i < N_CALLS; i++)
    for (way w = 0; w < N_WAYS; w++) make_call(f, i, w, all->text[i][w], sizeof all->text[i][w]);
  return all;
}

static void expect_same(const outcomes *a, const outcomes *b) {
  for (int i = 0; i < N_CALLS; i++)
    for (way w = 0; w < N_WAYS; w++)
      cr_assert_str_eq(a->text[i][w], b->text[i][w], "%s, way %d", calls[i].name, (int)w);
}

static bool has_compiler(const fixture *f) { return f->engine->session != NULL; }

static void make_folder(void) { cr_assert_not_null(mkdtemp(folder)); }
static void remove_folder(void) {
  hia_cache_clear(folder, false, NULL);
  rmdir(folder);
}

/* What is instrumented is not cached: with sanitizers there is nothing to test. */
#if defined(HIA_ASAN) || defined(HIA_TSAN)
#define NEEDS_CACHE                                                                                \
  do {                                                                                             \
    if (folder[0]) return;                                                                         \
  } while (0)
#else
#define NEEDS_CACHE                                                                                \
  NEEDS_NATIVE;                                                                                    \
  NEEDS_TYPED
#endif

Test(engine_cache_sides, from_the_cache_they_do_the_same_without_a_compiler) {
  NEEDS_CACHE;
  make_folder();
  fixture f;
  hia_engine_options o = usual();
  o.cache = NULL;
  begin_with(&f, &o, text);
  outcomes *wanted = make_all(&f);
  cr_assert(strstr(wanted->text[2][TYPED], "div-zero") && strstr(wanted->text[2][MAP], "t.hia:5"));
  end(&f);
  for (int round = 0; round < 3; round++) {
    o = usual();
    if (round == 2) o.kind = HIA_ENGINE_AUTO;
    begin_with(&f, &o, text);
    outcomes *all = make_all(&f);
    expect_same(all, wanted);
    cr_assert_eq(has_compiler(&f), round == 0);
    cr_assert_eq(request(&f, "fib", TYPED), request(&f, "fib", TYPED), "it is made once");
    free(all);
    end(&f);
  }
  free(wanted);
  remove_folder();
}

/* The function is in the cache, and what hosts call is not: it is compiled, and stored. */
Test(engine_cache_sides, what_is_not_there_is_compiled) {
  NEEDS_CACHE;
  make_folder();
  fixture f;
  begin(&f);
  for (int i = 0; i < N_CALLS; i++)
    cr_assert_eq(hia_function_prepare(find_function(f.module, calls[i].name), NULL), HIA_OK);
  end(&f);
  for (way w = 0; w < N_WAYS; w++) {
    if (w == FUELLED) continue; /* a version of its own, which is not there either */
    char first[512] = "", second[512] = "";
    for (int round = 0; round < 2; round++) {
      begin(&f);
      make_call(&f, 4, w, round ? second : first, sizeof first);
      cr_assert_eq(has_compiler(&f), round == 0, "way %d", (int)w);
      end(&f);
    }
    cr_assert_str_eq(first, second);
  }
  hia_native_fn plain;
  hia_error *error = NULL;
  begin(&f);
  cr_assert_eq(hia_function_plain(find_function(f.module, "fib"), &plain, &error), HIA_UNSUPPORTED);
  cr_assert(strstr(hia_error_text(error), "cannot be a plain function"));
  hia_error_free(error);
  end(&f);
  remove_folder();
}

/* ---- files ---- */

typedef struct files {
  hia_store_file all[200];
  unsigned n;
} files;

static void keep_file(void *user, const hia_store_file *file) {
  files *f = user;
  if (f->n < 200) f->all[f->n++] = *file;
}

static hia_store *open_store(files *f) {
  hia_store *store;
  cr_assert_eq(hiaJ_store_open(&hiaR_malloc, folder, 1 << 30, &store, NULL), HIA_OK);
  f->n = 0;
  cr_assert_eq(hiaJ_store_each(store, true, keep_file, f), HIA_OK);
  return store;
}

/* True if the file is an entry; *is_side becomes true if it is one of what hosts call. */
static bool is_entry(hia_store *store, const char *name, bool *is_side) {
  hia_comp comp;
  hia_entry e;
  size_t size;
  volatile bool is = false;
  hiaR_comp_init(&comp, &hiaR_malloc);
  void *bytes = hiaJ_store_read(store, name, &size);
  cr_assert_not_null(bytes);
  if (HIA_TRY(&comp)) is = hiaJ_entry_read(bytes, size, &comp.arena, &e);
  if (is) *is_side = strncmp(e.key + e.key_size - 7, "side ", 5) == 0;
  hiaJ_store_free(store, bytes, size);
  hiaR_comp_free(&comp);
  return is;
}

/* The code of a side works with code of the same function from elsewhere: that was compiled anew,
 * and that is in a hurry, which has another record. */
Test(engine_cache_sides, code_that_is_compiled_finds_its_sides) {
  NEEDS_CACHE;
  make_folder();
  fixture f;
  begin(&f);
  outcomes *wanted = make_all(&f);
  end(&f);
  for (int round = 0; round < 2; round++) {
    static files found;
    hia_store *store = open_store(&found);
    unsigned n_removed = 0, n_sides = 0;
    for (unsigned i = 0; i < found.n; i++) {
      bool is_side;
      if (!is_entry(store, found.all[i].name, &is_side)) continue;
      n_sides += is_side;
      n_removed += !is_side;
      if (!is_side) hiaJ_store_remove(store, found.all[i].name);
    }
    hiaJ_store_close(store);
    cr_assert(n_removed >= 2 * (N_CALLS - 1) && n_sides >= 3 * (N_CALLS - 1), "%u, %u", n_removed,
              n_sides);
    hia_engine_options o = usual();
    if (round) o.budget_ns = 1;
    begin_with(&f, &o, text);
    outcomes *all = make_all(&f);
    cr_assert(has_compiler(&f));
    expect_same(all, wanted);
    free(all);
    end(&f);
  }
  free(wanted);
  remove_folder();
}

/* After an edit elsewhere the sides are found by the graph, and then by the new text. */
Test(engine_cache_sides, they_are_found_after_edits_of_comments) {
  NEEDS_CACHE;
  make_folder();
  fixture f;
  char other[sizeof text + 100];
  snprintf(other, sizeof other, "# A comment.\n\nfn more(n: i32) -> i32 = n * n\n%s", text);
  hia_engine_options o = usual(), without = o;
  begin(&f);
  free(make_all(&f));
  end(&f);
  without.cache = NULL;
  begin_with(&f, &without, other);
  outcomes *wanted = make_all(&f);
  cr_assert(strstr(wanted->text[2][TYPED], "t.hia:8"), "%s", wanted->text[2][TYPED]);
  end(&f);
  for (int round = 0; round < 2; round++) {
    begin_with(&f, &o, other);
    outcomes *all = make_all(&f);
    expect_same(all, wanted);
    cr_assert(!has_compiler(&f), "round %d", round);
    free(all);
    end(&f);
  }
  free(wanted);
  remove_folder();
}

/* ---- damage ---- */

typedef enum damage { CUT, EMPTY, ALTERED, KEY, SHORT, OTHER, N_DAMAGES } damage;

/* Damages an entry of a side: the file, or its bytes with a checksum that is right. */
static void damage_entry(hia_store *store, const char *name, damage d, const char *other) {
  char path[300];
  size_t size, other_size;
  snprintf(path, sizeof path, "%s/%s", folder, name);
  if (d == CUT) cr_assert_eq(truncate(path, 200), 0);
  if (d == EMPTY) cr_assert_eq(truncate(path, 0), 0);
  if (d <= EMPTY) return;
  char *bytes = hiaJ_store_read(store, name, &size),
       *theirs = hiaJ_store_read(store, other, &other_size);
  /* The other file may have been damaged before. */
  cr_assert(bytes && (theirs || d != OTHER));
  if (d == ALTERED) {
    FILE *file = fopen(path, "r+b");
    cr_assert(file && fseek(file, (long)size / 2, SEEK_SET) == 0);
    fputc(bytes[size / 2] ^ 1, file);
    fputc(~bytes[size / 2 + 1], file);
    fclose(file);
  } else {
    char *key = NULL;
    for (size_t i = 0; i + 7 < size && !key; i++)
      if (memcmp(bytes + i, "\nside ", 6) == 0) key = bytes + i;
    cr_assert_not_null(key);
    if (d == KEY) key[6] ^= 1;
    cr_assert(hiaJ_store_write(store, name, d == OTHER ? theirs : bytes,
                               d == OTHER   ? other_size
                               : d == SHORT ? size - 64
                                            : size));
  }
  hiaJ_store_free(store, bytes, size);
  if (theirs) hiaJ_store_free(store, theirs, other_size);
}

Test(engine_cache_sides, damaged_ones_are_compiled) {
  NEEDS_CACHE;
  make_folder();
  fixture f;
  char wanted[512], result[512];
  for (damage d = 0; d < N_DAMAGES; d++) {
    begin(&f);
    for (way w = 0; w < N_WAYS; w++)
      if (w != FUELLED) make_call(&f, 4, w, wanted, sizeof wanted);
    end(&f);
    static files found;
    hia_store *store = open_store(&found);
    for (unsigned i = 0; i < found.n; i++) {
      bool is_side;
      unsigned next = (i + 1) % found.n;
      if (!is_entry(store, found.all[i].name, &is_side) || !is_side) continue;
      damage_entry(store, found.all[i].name, d, found.all[next].name);
    }
    hiaJ_store_close(store);
    begin(&f);
    for (way w = 0; w < N_WAYS; w++)
      if (w != FUELLED) make_call(&f, 4, w, result, sizeof result);
    cr_assert_str_eq(result, wanted);
    cr_assert(has_compiler(&f), "damage %d is not seen", (int)d);
    end(&f);
    hia_cache_clear(folder, false, NULL);
  }
  remove_folder();
}

/* ---- several threads ---- */

static void *request_all(void *arg) {
  const fixture *f = arg;
  for (int i = 0; i < N_CALLS; i++)
    for (way w = 0; w < N_WAYS; w++)
      if (w != PLAIN || calls[i].is_plain) request(f, calls[i].name, w);
  return NULL;
}

Test(engine_cache_sides, threads_request_them_at_once) {
  NEEDS_CACHE;
  make_folder();
  fixture f;
  begin(&f);
  outcomes *wanted = make_all(&f);
  end(&f);
  for (int round = 0; round < 5; round++) {
    pthread_t threads[4];
    begin(&f);
    for (int t = 0; t < 4; t++) cr_assert_eq(pthread_create(&threads[t], NULL, request_all, &f), 0);
    for (int t = 0; t < 4; t++) pthread_join(threads[t], NULL);
    outcomes *all = make_all(&f);
    expect_same(all, wanted);
    cr_assert(!has_compiler(&f));
    free(all);
    end(&f);
  }
  free(wanted);
  remove_folder();
}
