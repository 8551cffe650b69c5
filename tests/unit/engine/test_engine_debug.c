/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Native code as debuggers and profilers see it: the same whether it was compiled or comes from the
 * cache; what hosts call; frames and lines as hiaton's own walker knows them. test_debug.c has the
 * files themselves, tests/cli/debuggers.sh GDB and perf. */
#include "jit/engine/engine.h"
#include "tests/unit/helpers/debug.h"
#include "tests/unit/helpers/memory.h"
#include "tests/unit/helpers/program.h"
#include <hiaton/cache.h>

static const char text[] =
    "extern fn plus(a: i32, b: i32) -> i32\n"
    "type Tree = Leaf(n: i32) | Node(left: Tree, right: Tree)\n"
    "fn make(n: i32) -> Tree = if n == 0 then Leaf(n) else Node(make(n - 1), make(n - 1))\n"
    "fn half(n: i32, by: i32) -> i32 =\n"
    "  n / by + by\n"
    "fn total(t: Tree) -> i32 = match t {\n"
    "  Leaf(n) => half(n + 7, 2),\n"
    "  Node(l, r) =>\n"
    "    plus(total(l),\n"
    "         total(r)) }\n"
    "fn size(n: i32) -> i32 = total(make(n))\n"
    "fn twice(n: i32) -> i32 = n + n\n";

static int32_t plus(int32_t a, int32_t b) { return a + b; }

enum { ALL = HIA_FLAG_GDB | HIA_FLAG_PERF_MAP | HIA_FLAG_JITDUMP };
static char folder[] = "/tmp/hiaton-debugged-XXXXXX", dump_path[128], map_path[64];

typedef struct fixture {
  hia_engine *engine;
  hia_module *module;
  char log[4096];
} fixture;

static void log_line(void *user, const char *line) {
  fixture *f = user;
  size_t n = strlen(f->log);
  snprintf(f->log + n, sizeof f->log - n, "%s\n", line);
}

static void make_folder(void) {
  cr_assert_not_null(mkdtemp(folder));
  setenv("JITDUMPDIR", folder, 1);
  snprintf(dump_path, sizeof dump_path, "%s/jit-%ld.dump", folder, (long)getpid());
  snprintf(map_path, sizeof map_path, "/tmp/perf-%ld.map", (long)getpid());
}
static void remove_folder(void) {
  char cache[128];
  snprintf(cache, sizeof cache, "%s/cache", folder);
  hia_cache_clear(cache, false, NULL);
  rmdir(cache);
  unlink(dump_path);
  unlink(map_path);
  rmdir(folder);
}

static void begin(fixture *f, uint32_t flags, bool has_cache) {
  char cache[128];
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  f->log[0] = 0;
  snprintf(cache, sizeof cache, "%s/cache", folder);
  options.kind = HIA_ENGINE_JIT;
  options.flags = flags;
  options.cache = has_cache ? cache : NULL;
  options.log = log_line;
  options.log_user = f;
  cr_assert_eq(hia_engine_new(&options, &f->engine, NULL), HIA_OK);
  hia_host_function h = HIA_HOST_FUNCTION_INIT;
  h.declaration = "extern fn plus(a: i32, b: i32) -> i32";
  h.function = (void (*)(void))plus;
  cr_assert_eq(hia_engine_register(f->engine, &h, NULL), HIA_OK);
  f->module = load_module(f->engine, "test.hia", text);
}

static void end(fixture *f) {
  hia_module_free(f->module);
  hia_engine_free(f->engine);
}

/* Runs size(3). */
static hia_function *run(const fixture *f) {
  hia_function *size = find_function(f->module, "size");
  hia_value *arg = hia_value_i32(f->engine, 3), *result;
  char word[32];
  cr_assert_eq(hia_call(size, &arg, 1, &result, NULL), HIA_OK);
  hia_value_format(result, word, sizeof word);
  cr_assert_str_eq(word, "40");
  hia_value_free(result);
  hia_value_free(arg);
  return size;
}

/* ---- the same of compiled code and of code from the cache ---- */

/* What binutils say of a symbol file, with addresses in the code counted from its begin. */
static void describe_file(const struct jit_code_entry *file, test_text *out) {
  const Elf64_Shdr *code = section_named(file, ".text");
  char *said = ask(file, "objdump -t --dwarf=decodedline,info,frames-interp");
  const char *begin = strstr(said, "SYMBOL TABLE");
  cr_assert_not_null(begin, "%s", said);
  for (const char *c = begin; *c;) {
    size_t n = strspn(c, "0123456789abcdef");
    uint64_t number = n >= 8 ? strtoull(c, NULL, 16) : 0;
    char offset[32];
    if (number >= code->sh_addr && number - code->sh_addr <= code->sh_size)
      snprintf(offset, sizeof offset, "+%" PRIx64, number - code->sh_addr);
    else
      snprintf(offset, sizeof offset, "%.*s", n ? (int)(n < 31 ? n : 31) : 1, c);
    test_text_take(out, offset, strlen(offset));
    c += n ? n : 1;
  }
  free(said);
}

/* What they say of all files: of each codegen unit there is one. */
static char *describe(void) {
  test_text out = {0};
  for (const struct jit_code_entry *f = __jit_debug_descriptor.first_entry; f; f = f->next_entry)
    describe_file(f, &out);
  return out.data;
}

/* The lines of a map, from the n-th byte on, without addresses. */
static char *describe_map(size_t from) {
  test_text map = {0}, out = {0};
  cr_assert(test_text_read(&map, map_path) && map.len > from);
  for (char *line = map.data + from; *line;) {
    char *rest = strchr(line, ' '), *next = strchr(line, '\n');
    cr_assert(rest && next && rest < next);
    test_text_take(&out, rest, (size_t)(next + 1 - rest));
    line = next + 1;
  }
  free(map.data);
  return out.data;
}

static size_t size_of(const char *path) {
  test_text t = {0};
  size_t n = test_text_read(&t, path) ? t.len : 0;
  free(t.data);
  return n;
}

#if defined(HIA_ASAN) || defined(HIA_TSAN) /* what is instrumented is not cached */
enum { N_ROUNDS = 2, HAS_CACHE = 0 };
#else
enum { N_ROUNDS = 3, HAS_CACHE = 1 };
#endif

Test(engine_debug, code_from_the_cache_is_seen_as_code_just_compiled) {
  NEEDS_NATIVE;
  make_folder();
  char *symbols[N_ROUNDS], *maps[N_ROUNDS];
  for (int i = 0; i < N_ROUNDS; i++) {
    fixture f;
    size_t map_size = i ? size_of(map_path) : 0;
    begin(&f, ALL, i > 0);
    hia_function *size = run(&f);
    hia_function_stats stats = HIA_FUNCTION_STATS_INIT;
    hia_function_get_stats(size, &stats);
    cr_assert_eq(stats.load_ns > 0, i == 2, "%s", f.log);
    cr_assert_gt(n_symbol_files(), 0);
    symbols[i] = describe();
    maps[i] = describe_map(map_size);
    end(&f);
    cr_assert_eq(n_symbol_files(), 0);
    cr_assert_str_eq(symbols[i], symbols[0]);
    cr_assert_str_eq(maps[i], maps[0]);
  }
  static const char *const names[] = {"total\n", "make\n", "hia_entry_size\n",
                                      "hia_host_call_plus\n"};
  for (size_t i = 0; i < HIA_LEN(names); i++)
    cr_assert(strstr(maps[0], names[i]) && strstr(symbols[0], names[i]), "%s:\n%s", names[i],
              symbols[0]);
  test_text dump = {0};
  cr_assert(test_text_read(&dump, dump_path));
  dumped d = read_dump(&dump);
  size_t half = strlen(d.names) / N_ROUNDS;
  for (int i = 1; i < N_ROUNDS; i++)
    cr_assert_eq(memcmp(d.names, d.names + half * (size_t)i, half), 0, "%s", d.names);
  cr_assert(d.n_frames == d.n_functions && d.n_lines > d.n_functions, "%s", d.names);
  free(dump.data);
  for (int i = 0; i < N_ROUNDS; i++) free(symbols[i]), free(maps[i]);
  remove_folder();
}

/* An edit elsewhere moves the function, and code that is found by its graph has the new lines. */
Test(engine_debug, flags_of_debuggers_do_not_change_what_is_in_the_cache) {
  NEEDS_NATIVE;
  make_folder();
  for (int i = 0; i < 3; i++) {
    fixture f;
    begin(&f, i == 1 ? HIA_FLAG_GDB : 0, true);
    hia_function_stats stats = HIA_FUNCTION_STATS_INIT;
    hia_function_get_stats(run(&f), &stats);
    cr_assert_eq(stats.load_ns > 0, HAS_CACHE && i > 0);
    cr_assert_eq(n_symbol_files() > 0, i == 1);
    end(&f);
  }
  remove_folder();
}

/* ---- as the walker sees it ---- */

static const hia_unit *unit_of(hia_function *f) { return atomic_load(&f->versions)->unit; }

/* Compares each row of the frames with the tables. Returns how many the tables know. */
static unsigned compare_frames(const hia_unit *unit, const struct jit_code_entry *file) {
  char *said = ask(file, "readelf --debug-dump=frames-interp");
  unsigned n = 0;
  for (char *line = said; line; line = strchr(line, '\n')) {
    unsigned long pc, size;
    hia_frame_row row;
    line += *line == '\n';
    if (sscanf(line, "%16lx rsp+%lu", &pc, &size) != 2) continue;
    if (!unit->unwinder.find(unit->unwinder.user, pc + 1, &row)) continue;
    cr_assert_eq(row.cfa, size, "%.80s", line);
    n++;
  }
  free(said);
  return n;
}

/* Compares lines in the same way. */
static unsigned compare_lines(const hia_unit *unit, const struct jit_code_entry *file) {
  char *said = ask(file, "objdump --dwarf=decodedline -w");
  unsigned n = 0;
  for (char *line = said; line; line = strchr(line, '\n')) {
    unsigned long pc;
    unsigned number;
    hia_frame_row row;
    line += *line == '\n';
    if (sscanf(line, "test.hia %u 0x%lx", &number, &pc) != 2) continue;
    if (!unit->unwinder.find(unit->unwinder.user, pc + 1, &row) || row.loc == HIA_NONE) continue;
    cr_assert_eq(number, unit->places.locs[row.loc].line, "%.80s", line);
    n++;
  }
  free(said);
  return n;
}

Test(engine_debug, frames_and_lines_are_those_of_the_walker) {
  NEEDS_NATIVE;
  make_folder();
  fixture f;
  begin(&f, HIA_FLAG_GDB, false);
  const hia_unit *unit = unit_of(run(&f));
  unsigned n_frames = 0, n_lines = 0;
  for (const struct jit_code_entry *i = __jit_debug_descriptor.first_entry; i; i = i->next_entry) {
    n_frames += compare_frames(unit, i);
    n_lines += compare_lines(unit, i);
  }
  cr_assert(n_frames > 10 && n_lines > 4, "%u, %u", n_frames, n_lines);
  end(&f);
  remove_folder();
}

/* ---- what hosts call ---- */

static bool has_symbol(const char *wanted) {
  const struct jit_code_entry *file = __jit_debug_descriptor.first_entry;
  for (; file; file = file->next_entry) {
    const char *name;
    uint64_t offset, size;
    for (unsigned i = 0; symbol_of(file, i, &name, &offset, &size); i++)
      if (strcmp(name, wanted) == 0) return true;
  }
  return false;
}

Test(engine_debug, what_hosts_call_has_names) {
  NEEDS_NATIVE;
  make_folder();
  fixture f;
  hia_native_fn entry;
  begin(&f, HIA_FLAG_GDB | HIA_FLAG_PERF_MAP, false);
  hia_function *twice = find_function(f.module, "twice");
  cr_assert_eq(hia_function_entry(twice, &entry, NULL), HIA_OK);
  cr_assert_eq(n_symbol_files(), 2);
  cr_assert(has_symbol("hia_entry_twice") && has_symbol("hia_typed_twice"));
  cr_assert_eq(hia_function_map(twice, &entry, NULL), HIA_OK);
  cr_assert_eq(hia_function_plain(twice, &entry, NULL), HIA_OK);
  cr_assert_eq(n_symbol_files(), 4);
  cr_assert(has_symbol("hia_map_twice") && has_symbol("hia_plain_twice") &&
            has_symbol("hia_map_loop_twice"));
  char *map = describe_map(0);
  cr_assert(strstr(map, " hia_typed_twice\n") && strstr(map, " hia_map_twice\n") &&
            strstr(map, " hia_plain_twice\n"));
  free(map);
  end(&f);
  cr_assert_eq(n_symbol_files(), 0);
  remove_folder();
}

/* ---- what fails ---- */

Test(engine_debug, a_file_that_cannot_be_written_is_a_line_in_the_log) {
  NEEDS_NATIVE;
  make_folder();
  cr_assert_eq(symlink("/dev/null", map_path), 0);
  fixture f;
  begin(&f, HIA_FLAG_PERF_MAP, false);
  run(&f);
  cr_assert(strstr(f.log, map_path) && strstr(f.log, "cannot be created"), "%s", f.log);
  end(&f);
  remove_folder();
}

static hia_status attempt(const hia_allocator *allocator) {
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  hia_engine *engine = NULL;
  hia_module *module = NULL;
  hia_function *f;
  hia_native_fn entry;
  const char *source = "fn f(x: i32) -> i32 = x / 3\n";
  options.allocator = allocator;
  options.kind = HIA_ENGINE_JIT;
  options.opt_level = 0;
  options.flags = HIA_FLAG_GDB;
  hia_status status = hia_engine_new(&options, &engine, NULL);
  if (!status) status = hia_module_load_text(engine, "f", source, strlen(source), &module, NULL);
  if (!status) status = hia_module_function(module, "f", &f, NULL);
  if (!status) status = hia_function_entry(f, &entry, NULL);
  hia_module_free(module);
  hia_engine_free(engine);
  cr_assert_eq(n_symbol_files(), 0);
  return status;
}

Test(engine_debug, no_memory) {
  NEEDS_NATIVE;
  cr_assert_gt(fail_each_allocation(attempt), 10);
}
