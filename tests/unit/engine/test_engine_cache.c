/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Engines with a cache of native code: what is found again, what is not, and what damage does.
 * tests/diff/run.c runs all programs with code from a cache; test_store.c tests its folder. */
#include "jit/cache/machine.h"
#include "jit/engine/engine.h"
#include "tests/unit/helpers/program.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[] = "/tmp/hiaton-cache-XXXXXX";

static const char text[] =
    "type Tree = Leaf(n: i32) | Node(left: Tree, right: Tree)\n"
    "extern fn plus(a: i32, b: i32) -> i32\n"
    "extern impure fn tick(a: i32) -> i32\n"
    "param W: f32[8, 8] = glorot_uniform()\n"
    "fn make(n: i32) -> Tree = if n == 0 then Leaf(n) else Node(make(n - 1), make(n - 1))\n"
    "fn total(t: Tree) -> i32 = match t { Leaf(n) => n + 1, Node(l, r) => plus(total(l), total(r)) "
    "}\n"
    "fn fails(t: Tree, n: i32) -> i32 =\n"
    "  match t { Leaf(_) => 1 / n, Node(l, r) => fails(l, n) + fails(r, n) }\n"
    "fn encode(t: Tree) -> f32[8] =\n"
    "  match t { Leaf(_) => ones(8), Node(l, r) => tanh(W @ (encode(l) + encode(r))) }\n"
    "fn size(n: i32) -> i32 = total(make(n))\n"
    "fn failing(n: i32) -> i32 = fails(make(n), n - n)\n"
    "fn ticking(n: i32) -> i32 = tick(n) + tick(n + 1)\n"
    "fn loss(n: i32) -> f32 = sum(encode(make(n)))\n"
    "fn slope(n: i32) -> f32 = sum(grad(loss)(n))\n";

static int32_t plus(int32_t a, int32_t b) { return a + b; }
static int32_t n_ticks;
static int32_t tick(int32_t a) {
  n_ticks++;
  return 2 * a;
}

typedef struct fixture {
  hia_engine *engine;
  hia_module *module;
  char log[8192];
} fixture;

static void log_line(void *user, const char *line) {
  fixture *f = user;
  size_t n = strlen(f->log);
  snprintf(f->log + n, sizeof f->log - n, "%s\n", line);
}

static hia_engine_options usual(void) {
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.kind = HIA_ENGINE_JIT;
  options.opt_level = 1;
  options.cache = folder;
  return options;
}

static void begin_with(fixture *f, const hia_engine_options *given, const char *source,
                       bool is_safe) {
  hia_engine_options options = *given;
  f->log[0] = 0;
  options.log = log_line;
  options.log_user = f;
  cr_assert_eq(hia_engine_new(&options, &f->engine, NULL), HIA_OK);
  hia_host_function h = HIA_HOST_FUNCTION_INIT;
  h.declaration = "extern fn plus(a: i32, b: i32) -> i32";
  h.function = (void (*)(void))plus;
  h.is_safe = is_safe;
  cr_assert_eq(hia_engine_register(f->engine, &h, NULL), HIA_OK);
  h.declaration = "extern impure fn tick(a: i32) -> i32";
  h.function = (void (*)(void))tick;
  cr_assert_eq(hia_engine_register(f->engine, &h, NULL), HIA_OK);
  f->module = load_module(f->engine, "test.hia", source);
}

static void begin(fixture *f) {
  const hia_engine_options options = usual();
  begin_with(f, &options, text, false);
}

static void end(fixture *f) {
  hia_module_free(f->module);
  hia_engine_free(f->engine);
}

/* Calls NAME(n), and writes the result, or the error with its chain. */
static const char *call(const fixture *f, const char *name, int32_t n) {
  static char result[4096];
  hia_function *function;
  hia_value *value = NULL, *arg = hia_value_i32(f->engine, n);
  hia_error *error = NULL;
  cr_assert_eq(hia_module_function(f->module, name, &function, NULL), HIA_OK);
  if (hia_call(function, &arg, 1, &value, &error) == HIA_OK)
    hia_value_format(value, result, sizeof result);
  else
    snprintf(result, sizeof result, "%s", hia_error_text(error));
  hia_value_free(value);
  hia_value_free(arg);
  hia_error_free(error);
  return result;
}

static bool was_loaded(const fixture *f, const char *name) {
  hia_function *function;
  hia_function_stats stats = HIA_FUNCTION_STATS_INIT;
  cr_assert_eq(hia_module_function(f->module, name, &function, NULL), HIA_OK);
  cr_assert_eq(hia_function_get_stats(function, &stats), HIA_OK);
  return stats.load_ns > 0;
}

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
#define NEEDS_CACHE NEEDS_NATIVE
#endif

static const struct {
  const char *name;
  int32_t n;
} calls[] = {{"size", 5}, {"failing", 3}, {"ticking", 4}, {"loss", 4}, {"slope", 3}};
enum { N_CALLS = sizeof calls / sizeof *calls };

Test(engine_cache, code_from_the_cache_does_the_same) {
  NEEDS_CACHE;
  make_folder();
  char *first[N_CALLS];
  fixture f;
  begin(&f);
  for (int i = 0; i < N_CALLS; i++) {
    first[i] = strdup(call(&f, calls[i].name, calls[i].n));
    cr_assert(!was_loaded(&f, calls[i].name));
  }
  end(&f);
  cr_assert(strstr(first[1], "div-zero") && strstr(first[1], "test.hia:8"), "%s", first[1]);
  for (int kind = 0; kind < 2; kind++) {
    hia_engine_options options = usual();
    if (kind) options.kind = HIA_ENGINE_AUTO;
    begin_with(&f, &options, text, false);
    for (int i = 0; i < N_CALLS; i++) {
      cr_assert_str_eq(call(&f, calls[i].name, calls[i].n), first[i]);
      /* Where native code may take a run over, impure functions are called in another way. */
      if (!kind) cr_assert(was_loaded(&f, calls[i].name), "%s: %s", calls[i].name, f.log);
    }
    if (!kind) cr_assert_null(f.engine->session, "the compiler is not opened");
    end(&f);
  }
  for (int i = 0; i < N_CALLS; i++) free(first[i]);
  remove_folder();
}

/* ---- the key ---- */

/* True if `size` is found with these options and this text, after `usual` has stored it. */
static bool is_found(const hia_engine_options *options, const char *source, bool is_safe) {
  fixture f;
  begin_with(&f, options, source, is_safe);
  cr_assert_str_eq(call(&f, "size", 5), "32");
  bool found = was_loaded(&f, "size");
  end(&f);
  return found;
}

Test(engine_cache, what_code_depends_on_is_in_the_key) {
  NEEDS_CACHE;
  make_folder();
  hia_engine_options o = usual();
  cr_assert(!is_found(&o, text, false));
  cr_assert(is_found(&o, text, false));
  char other[sizeof text + 64];
  snprintf(other, sizeof other, "%s", text);
  strstr(other, "n + 1, Node")[4] = '2'; /* in `total` */
  fixture g;
  begin_with(&g, &o, other, false);
  cr_assert_str_eq(call(&g, "size", 5), "64");
  cr_assert(!was_loaded(&g, "size"), "the function");
  end(&g);
  cr_assert(!is_found(&o, text, true), "how host functions are called");
  o.opt_level = 0;
  cr_assert(!is_found(&o, text, false), "the level");
  o = usual(), o.threads = 2;
  cr_assert(!is_found(&o, text, false), "several workers");
  o = usual(), o.batching = HIA_BATCH_ALL;
  cr_assert(!is_found(&o, text, false), "batching");
  o = usual(), o.disabled_passes = "cse";
  cr_assert(!is_found(&o, text, false), "passes");
  for (uint32_t flag = 1; flag <= HIA_FLAG_TRAP_NAN; flag *= 2) {
    o = usual(), o.flags = flag;
    cr_assert(!is_found(&o, text, false), "flag %x", flag);
  }
  o = usual(), o.kind = HIA_ENGINE_AUTO;
  cr_assert(!is_found(&o, text, false), "runs that may begin again, with effects");
  o = usual();
  cr_assert(is_found(&o, text, false));

  /* Other functions, types and kinds of runs. */
  fixture f;
  begin(&f);
  hia_function *size;
  hia_run_options run = HIA_RUN_OPTIONS_INIT;
  run.has_fuel = true;
  run.fuel = 1000;
  cr_assert_eq(hia_module_function(f.module, "size", &size, NULL), HIA_OK);
  cr_assert_eq(hia_function_prepare_for(size, &run, NULL), HIA_OK);
  cr_assert(!was_loaded(&f, "size"), "fuel");
  end(&f);
  static const char generic[] = "fn twice(x) = x + x\n";
  for (int round = 0; round < 2; round++) {
    o = usual();
    begin_with(&f, &o, generic, false);
    static const char *const instances[] = {"twice(i32)", "twice(i64)", "twice(f64)"};
    for (int i = 0; i < 3; i++) {
      hia_function *twice;
      cr_assert_eq(hia_module_function(f.module, instances[i], &twice, NULL), HIA_OK);
      cr_assert_eq(hia_function_prepare(twice, NULL), HIA_OK);
      cr_assert_eq(was_loaded(&f, instances[i]), round == 1);
    }
    end(&f);
  }
  remove_folder();
}

/* The second key: an edit elsewhere moves the function, and its errors name the new lines. */
Test(engine_cache, code_is_found_after_edits_of_comments_and_of_other_functions) {
  NEEDS_CACHE;
  make_folder();
  char *first[N_CALLS], *moved[N_CALLS], other[sizeof text + 200];
  fixture f;
  begin(&f);
  for (int i = 0; i < N_CALLS; i++) first[i] = strdup(call(&f, calls[i].name, calls[i].n));
  end(&f);
  snprintf(other, sizeof other,
           "# A comment,\n# and another one.\nfn more(n: i32) -> i32 = n * n\n%s", text);
  hia_engine_options o = usual(), without = o;
  without.cache = NULL;
  begin_with(&f, &without, other, false);
  for (int i = 0; i < N_CALLS; i++) moved[i] = strdup(call(&f, calls[i].name, calls[i].n));
  end(&f);
  cr_assert(strstr(moved[1], "test.hia:11") && !strstr(first[1], "test.hia:11"), "%s", moved[1]);
  for (int round = 0; round < 2; round++) {
    begin_with(&f, &o, other, false);
    for (int i = 0; i < N_CALLS; i++) {
      cr_assert_str_eq(call(&f, calls[i].name, calls[i].n), moved[i]);
      cr_assert(was_loaded(&f, calls[i].name), "%s", calls[i].name);
      hia_function *function;
      hia_function_stats stats = HIA_FUNCTION_STATS_INIT;
      cr_assert_eq(hia_module_function(f.module, calls[i].name, &function, NULL), HIA_OK);
      hia_function_get_stats(function, &stats);
      /* The first time the graph was built; the second time the first key is enough. */
      cr_assert_eq(stats.build_ns > 0, round == 0, "%s", calls[i].name);
    }
    cr_assert_null(f.engine->session);
    end(&f);
  }
  begin(&f); /* the lines of the program as it was are right, too */
  for (int i = 0; i < N_CALLS; i++) {
    cr_assert_str_eq(call(&f, calls[i].name, calls[i].n), first[i]);
    cr_assert(was_loaded(&f, calls[i].name));
  }
  end(&f);
  for (int i = 0; i < N_CALLS; i++) free(first[i]), free(moved[i]);
  remove_folder();
}

/* What is not in the options: the text of the key shows it. */
Test(engine_cache, the_key_has_the_processor_and_the_builds) {
  NEEDS_CACHE;
  hia_comp comp;
  hiaR_comp_init(&comp, &hiaR_malloc);
  if (HIA_TRY(&comp)) {
    hia_text build, machine;
    hiaR_text_init(&build, &comp.arena);
    hiaR_text_init(&machine, &comp.arena);
    cr_assert(hiaJ_build_describe(&build) && strlen(build.data) > 20);
    cr_assert(hiaJ_machine_describe(&machine) && strlen(machine.data) > 100);
    /* It is the same on every core. */
    for (int i = 0; i < 50; i++) {
      hia_text again;
      hiaR_text_init(&again, &comp.arena);
      hiaJ_machine_describe(&again);
      cr_assert_str_eq(again.data, machine.data);
      usleep(100);
    }
  }
  hiaR_comp_free(&comp);
}

/* ---- damage ---- */

/* Of the entry, which is larger than the file that is found by its graph. */
typedef struct found {
  char name[HIA_STORE_NAME + 1];
  uint64_t size;
} found;
static void keep_name(void *user, const hia_store_file *file) {
  found *f = user;
  if (file->size <= f->size) return;
  f->size = file->size;
  strcpy(f->name, file->name);
}
static void count_files(void *user, const hia_store_file *file) {
  (void)file;
  ++*(unsigned *)user;
}

/* Entries that are damaged in ways that the store's checksum would find: reading them stays within
 * their bytes, whatever they say. */
Test(engine_cache, damaged_entries_are_refused_or_harmless) {
  NEEDS_CACHE;
  make_folder();
  fixture f;
  begin(&f);
  call(&f, "slope", 3);
  end(&f);
  hia_store *store;
  found entry = {.size = 0};
  cr_assert_eq(hiaJ_store_open(&hiaR_malloc, folder, 1 << 30, &store, NULL), HIA_OK);
  hiaJ_store_each(store, false, keep_name, &entry);
  size_t size;
  char *bytes = hiaJ_store_read(store, entry.name, &size);
  cr_assert_not_null(bytes);
  hia_comp comp;
  hiaR_comp_init(&comp, &hiaR_malloc);
  uint64_t random = 88172645463325252u;
  unsigned n_refused = 0;
  for (unsigned i = 0; i < 10000; i++) {
    random ^= random << 13, random ^= random >> 7, random ^= random << 17;
    size_t at = random % (i % 2 ? size : 2000 < size ? 2000 : size), cut = size;
    char before = bytes[at];
    if (i % 5 == 0)
      cut = at;
    else
      bytes[at] = (char)(random >> 40);
    char *copy = malloc(cut ? cut : 1); /* so that a sanitizer sees where it ends */
    memcpy(copy, bytes, cut);
    hia_entry e;
    if (HIA_TRY(&comp)) n_refused += !hiaJ_entry_read(copy, cut, &comp.arena, &e);
    comp.armed = false;
    free(copy);
    bytes[at] = before;
    hiaR_arena_free(&comp.arena);
  }
  cr_assert_gt(n_refused, 2000);
  hia_entry e;
  if (HIA_TRY(&comp)) cr_assert(hiaJ_entry_read(bytes, size, &comp.arena, &e));
  hiaR_comp_free(&comp);
  hiaJ_store_free(store, bytes, size);
  hiaJ_store_close(store);
  remove_folder();
}

/* A whole cache of nonsense: every function is compiled, and nothing is an error. */
Test(engine_cache, a_damaged_cache_is_as_none) {
  NEEDS_CACHE;
  make_folder();
  fixture f;
  begin(&f);
  char *wanted = strdup(call(&f, "size", 4));
  end(&f);
  for (int round = 0; round < 4; round++) {
    char path[512];
    found entry = {.size = 0};
    hia_store *store;
    cr_assert_eq(hiaJ_store_open(&hiaR_malloc, folder, 1 << 30, &store, NULL), HIA_OK);
    hiaJ_store_each(store, false, keep_name, &entry);
    hiaJ_store_close(store);
    snprintf(path, sizeof path, "%s/%s", folder, entry.name);
    if (round == 0) cr_assert_eq(truncate(path, 100), 0);
    if (round == 1) cr_assert_eq(truncate(path, 0), 0);
    if (round == 2) cr_assert_eq(chmod(path, 0666), 0);
    if (round == 3) cr_assert_eq(chmod(folder, 0777), 0);
    begin(&f);
    cr_assert_str_eq(call(&f, "size", 4), wanted);
    cr_assert(!was_loaded(&f, "size"), "round %d", round);
    if (round == 3) cr_assert(strstr(f.log, "others can write"), "%s", f.log);
    end(&f);
    chmod(folder, 0700);
  }
  free(wanted);
  remove_folder();
}

Test(engine_cache, what_the_budget_cut_short_is_not_stored) {
  NEEDS_CACHE;
  make_folder();
  fixture f;
  hia_engine_options o = usual();
  o.budget_ns = 1;
  begin_with(&f, &o, text, false);
  hia_function *size;
  cr_assert_eq(hia_module_function(f.module, "size", &size, NULL), HIA_OK);
  hia_native_fn entry;
  cr_assert_eq(hia_function_entry(size, &entry, NULL), HIA_OK);
  end(&f);
  unsigned n = 0;
  hia_store *store;
  cr_assert_eq(hiaJ_store_open(&hiaR_malloc, folder, 1 << 30, &store, NULL), HIA_OK);
  hiaJ_store_each(store, false, count_files, &n);
  hiaJ_store_close(store);
  cr_assert_eq(n, 0);
  remove_folder();
}

/* Eight processes at once, each of which finds what another has stored or stores it itself. */
Test(engine_cache, processes_share_a_folder) {
  NEEDS_CACHE;
  make_folder();
  pid_t children[8];
  for (int c = 0; c < 8; c++) {
    children[c] = fork();
    if (children[c]) continue;
    for (int round = 0; round < 3; round++) {
      fixture f;
      begin(&f);
      if (strcmp(call(&f, "size", 5), "32") != 0) _exit(1);
      end(&f);
    }
    _exit(0);
  }
  for (int c = 0; c < 8; c++) {
    int status;
    waitpid(children[c], &status, 0);
    cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  fixture f;
  begin(&f);
  call(&f, "size", 5);
  cr_assert(was_loaded(&f, "size"));
  end(&f);
  remove_folder();
}
