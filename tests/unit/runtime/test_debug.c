/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* runtime/native/debug, outline: code made by hand, and what debuggers and profilers are told of
 * it; files that cannot be written. test_engine_debug.c has code of programs. */
#include "runtime/base/loc.h"
#include "runtime/native/debug/debug.h"
#include "tests/unit/helpers/debug.h"
#include "tests/unit/helpers/memory.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* ---- code made by hand ---- */

enum { N_FUNCTIONS = 4, N_LINES = 4 };

/* `f` calls at 4, has no position from 0x10 on, and at 0x20 the body of `g`, which was inlined. */
static const struct made {
  struct outline {
    hia_outline head;
    hia_outline_function functions[N_FUNCTIONS];
    unsigned char rules[8];
    char names[32];
  } outline;
  struct lines {
    hia_tables head;
    hia_table_line rows[N_LINES];
  } tables;
} made = {.outline = {.head = {N_FUNCTIONS, 8, 32, 0xa0},
                      .functions = {{0, 0x33, 0, 0, 0, 5},
                                    {0x40, 0x60, 2, 2, 5, 3},
                                    {0x60, 0x70, 5, 4, 5, 3},
                                    {0x80, 0x90, HIA_NONE, 11, 0, 0}},
                      .rules = {0x41, 0x0e, 16, 0x86, 2, 0, 0, 0},
                      .names = "f\0g\0<expr>\0hia_free"},
          .tables = {.head = {.text_size = 0xa0, .n_lines = N_LINES},
                     .rows = {{4, 2, 0}, {0x10, HIA_NONE, 0}, {0x20, 6, 0}, {0x44, 4, 0}}}};

static const hia_image_loc locs[] = {{3, 4, 0, HIA_NONE},         {5, 7, 0, HIA_NONE},
                                     {10, 4, 2, HIA_NONE},        {12, 9, 2, 4},
                                     {12, 1, HIA_LOC_ELEMENT, 1}, {1, 1, 4, HIA_NONE}};
static const hia_places places = {.locs = locs,
                                  .n_locs = HIA_LEN(locs),
                                  .strings = made.outline.names,
                                  .strings_size = sizeof made.outline.names,
                                  .file = "folder/program.hia"};
static unsigned char bytes[0xa0];

static hia_debug_code code_by_hand(void) {
  for (unsigned i = 0; i < sizeof bytes; i++) bytes[i] = (unsigned char)(i * 7);
  return (hia_debug_code){.text = (uintptr_t)bytes,
                          .outline = &made.outline.head,
                          .tables = &made.tables.head,
                          .places = &places};
}

static void show(unsigned readers, hia_debug_symbols **list, char why[HIA_DEBUG_WHY]) {
  const hia_debug_code code = code_by_hand();
  hiaR_debug_show(&hiaR_malloc, &code, readers, list, why);
}

/* ---- outlines ---- */

static bool is_outline(const struct outline *o, size_t size) {
  return hiaR_outline_check(o, size, 0xa0, HIA_LEN(locs));
}

Test(debug, outlines_are_checked) {
  const struct outline good = made.outline;
  cr_assert(is_outline(&good, sizeof good));
  cr_assert(!is_outline(&good, sizeof good - 1) && !is_outline(&good, sizeof good + 1));
  cr_assert(!is_outline(&good, 3));
  cr_assert(!hiaR_outline_check(&good, sizeof good, 0xa1, HIA_LEN(locs)));
  cr_assert(!hiaR_outline_check(&good, sizeof good, 0xa0, 5));
#define DAMAGED(change)                                                                            \
  do {                                                                                             \
    struct outline o = good;                                                                       \
    o.change;                                                                                      \
    cr_assert(!is_outline(&o, sizeof o), #change);                                                 \
  } while (0)
  DAMAGED(head.n_functions = UINT32_MAX);
  DAMAGED(head.rules_size = UINT32_MAX);
  DAMAGED(names[31] = 1);
  DAMAGED(functions[1].pc = 0x20);
  DAMAGED(functions[1].end = 0x40);
  DAMAGED(functions[3].end = 0xa1);
  DAMAGED(functions[3].loc = 6);
  DAMAGED(functions[0].name = 32);
  DAMAGED(functions[0].rules = 9);
  DAMAGED(functions[0].rules_size = 9);
  DAMAGED(functions[1].rules_size = 4);
#undef DAMAGED
}

/* ---- symbol files ---- */

static void expect_in(const char *text, const char *words) {
  cr_assert_not_null(strstr(text, words), "no `%s` in:\n%s", words, text);
}

/* A row of objdump's table of lines. */
static void expect_row(const char *text, const char *file, unsigned line, unsigned at) {
  char row[200];
  char number[32], address[32];
  snprintf(number, sizeof number, " %u ", line);
  snprintf(address, sizeof address, "0x%lx ", (unsigned long)((uintptr_t)bytes + at));
  for (const char *at_line = text; at_line; at_line = strchr(at_line, '\n')) {
    at_line += *at_line == '\n';
    size_t n = strcspn(at_line, "\n");
    if (n >= sizeof row) continue;
    memcpy(row, at_line, n);
    row[n] = 0;
    if (strncmp(row, file, strlen(file)) == 0 && strstr(row, number) && strstr(row, address))
      return;
  }
  cr_assert_fail("no row %s:%u at %#x in:\n%s", file, line, at, text);
}

static void expect_lines(const struct jit_code_entry *file) {
  char *text = ask(file, "objdump --dwarf=decodedline -w");
  expect_row(text, "folder/program.hia", 3, 0);
  expect_row(text, "folder/program.hia", 5, 4);
  expect_row(text, "folder/program.hia", 3, 0x10);
  expect_row(text, "folder/program.hia", 12, 0x20);
  expect_row(text, "folder/program.hia", 10, 0x40);
  expect_row(text, "<expr>", 1, 0x60);
  free(text);
}

/* The entry of a function, from its name on. */
static void expect_functions(const struct jit_code_entry *file) {
  char *text = ask(file, "readelf --debug-dump=info");
  expect_in(text, "DW_AT_name        : folder/program.hia");
  expect_in(text, "DW_AT_decl_line   : 0x3");
  expect_in(text, "DW_AT_name        : hia_free");
  const char *inlined = strstr(text, "(DW_TAG_inlined_subroutine)");
  cr_assert(inlined && !strstr(inlined + 1, "(DW_TAG_inlined_subroutine)"), "%s", text);
  expect_in(inlined, "DW_AT_call_line   : 0x5");
  char range[64], origin[32];
  snprintf(range, sizeof range, "DW_AT_low_pc      : 0x%lx",
           (unsigned long)(uintptr_t)bytes + 0x20);
  expect_in(inlined, range);
  expect_in(inlined, "DW_AT_high_pc     : 0x13");
  const char *at = strstr(inlined, "DW_AT_abstract_origin: <0x");
  cr_assert_not_null(at);
  snprintf(origin, sizeof origin, "><%.*s>:", (int)strcspn(at + 26, ">"), at + 26);
  at = strstr(text, origin);
  cr_assert_not_null(at, "%s: %s", origin, text);
  expect_in(at, "DW_AT_name        : g");
  expect_in(at, "DW_AT_inline      : 1");
  cr_assert_null(strstr(text, "Warning"), "%s", text);
  free(text);
}

static void expect_frames(const struct jit_code_entry *file) {
  char *text = ask(file, "readelf --debug-dump=frames-interp"), words[80];
  snprintf(words, sizeof words, "pc=%016lx..%016lx", (unsigned long)(uintptr_t)bytes,
           (unsigned long)(uintptr_t)bytes + 0x33);
  expect_in(text, words);
  snprintf(words, sizeof words, "%016lx rsp+16   c-16  c-8", (unsigned long)(uintptr_t)bytes + 1);
  expect_in(text, words);
  cr_assert_null(strstr(text, "arning"), "%s", text);
  free(text);
}

Test(debug, symbol_files_have_functions_lines_and_frames) {
  hia_debug_symbols *list = NULL, *other = NULL;
  char why[HIA_DEBUG_WHY];
  unsigned before = n_symbol_files();
  show(HIA_DEBUG_GDB, &list, why);
  cr_assert_str_eq(why, "");
  show(HIA_DEBUG_GDB, &other, why);
  show(HIA_DEBUG_GDB, &list, why);
  cr_assert_eq(n_symbol_files(), before + 3);
  const struct jit_code_entry *file = __jit_debug_descriptor.first_entry;
  const Elf64_Shdr *text = section_named(file, ".text");
  cr_assert_eq(text->sh_addr, (uintptr_t)bytes);
  cr_assert_eq(text->sh_size, 0xa0);
  static const char *const names[] = {"f", "g", "<expr>", "hia_free"};
  const char *name;
  uint64_t at, size;
  unsigned n = 0;
  for (; symbol_of(file, n, &name, &at, &size); n++) {
    cr_assert_str_eq(name, names[n]);
    cr_assert_eq(at, made.outline.functions[n].pc);
    cr_assert_eq(at + size, made.outline.functions[n].end);
  }
  cr_assert_eq(n, N_FUNCTIONS);
  expect_lines(file);
  expect_functions(file);
  expect_frames(file);
  hiaR_debug_hide(&other);
  cr_assert_eq(n_symbol_files(), before + 2);
  hiaR_debug_hide(&list);
  cr_assert_eq(n_symbol_files(), before);
  cr_assert(!list && !other);
}

/* ---- perf ---- */

static const char *map_path(void) {
  static char path[64];
  snprintf(path, sizeof path, "/tmp/perf-%ld.map", (long)getpid());
  return path;
}

static char folder[] = "/tmp/hiaton-debug-XXXXXX";
static const char *dump_path(void) {
  static char path[128];
  snprintf(path, sizeof path, "%s/jit-%ld.dump", folder, (long)getpid());
  return path;
}
static void make_folder(void) {
  cr_assert_not_null(mkdtemp(folder));
  setenv("JITDUMPDIR", folder, 1);
}
static void remove_folder(void) {
  unlink(dump_path());
  rmdir(folder);
}

static test_text read_file(const char *path) {
  test_text text = {0};
  cr_assert(test_text_read(&text, path), "%s", path);
  return text;
}

static void expect_map(const char *path, unsigned n_times) {
  char lines[512], at[4][32];
  for (int i = 0; i < 4; i++)
    snprintf(at[i], sizeof at[i], "%lx",
             (unsigned long)((uintptr_t)bytes + made.outline.functions[i].pc));
  int len = snprintf(lines, sizeof lines, "%s 33 f\n%s 20 g\n%s 10 <expr>\n%s 10 hia_free\n", at[0],
                     at[1], at[2], at[3]);
  test_text text = read_file(path);
  cr_assert_eq(text.len, (size_t)len * n_times, "%s", text.data);
  for (unsigned i = 0; i < n_times; i++)
    cr_assert_eq(memcmp(text.data + (size_t)len * i, lines, (size_t)len), 0, "%s", text.data);
  free(text.data);
}

Test(debug, a_map_has_a_line_for_each_function) {
  hia_debug_symbols *list = NULL;
  char why[HIA_DEBUG_WHY];
  for (int i = 0; i < 2; i++) {
    show(HIA_DEBUG_PERF_MAP, &list, why);
    cr_assert_str_eq(why, "");
  }
  cr_assert_null(list);
  expect_map(map_path(), 2);
  struct stat s;
  cr_assert(stat(map_path(), &s) == 0 && (s.st_mode & 0777) == 0600);
  /* A child has a map of its own. */
  pid_t child = fork();
  if (child == 0) {
    show(HIA_DEBUG_PERF_MAP, &list, why);
    _exit(why[0] != 0);
  }
  int status;
  char of_child[64];
  cr_assert(waitpid(child, &status, 0) == child && status == 0);
  snprintf(of_child, sizeof of_child, "/tmp/perf-%ld.map", (long)child);
  expect_map(of_child, 1);
  expect_map(map_path(), 2);
  unlink(of_child);
  unlink(map_path());
}

/* What stands under the name is neither followed nor changed. */
Test(debug, files_that_are_there_are_left_alone) {
  make_folder();
  char target[128], why[HIA_DEBUG_WHY];
  hia_debug_symbols *list = NULL;
  snprintf(target, sizeof target, "%s/target", folder);
  cr_assert_eq(symlink(target, map_path()), 0);
  int fd = open(dump_path(), O_CREAT | O_WRONLY, 0600);
  cr_assert(fd >= 0 && write(fd, "mine", 4) == 4);
  close(fd);
  show(HIA_DEBUG_PERF_MAP, &list, why);
  expect_in(why, map_path());
  expect_in(why, "cannot be created");
  show(HIA_DEBUG_PERF_MAP, &list, why);
  cr_assert_str_eq(why, "", "it is said once");
  errno = EDOM;
  show(HIA_DEBUG_JITDUMP, &list, why);
  cr_assert_eq(errno, EDOM);
  expect_in(why, dump_path());
  cr_assert_neq(access(target, F_OK), 0);
  test_text text = read_file(dump_path());
  cr_assert_str_eq(text.data, "mine");
  free(text.data);
  unlink(map_path());
  remove_folder();
}

static bool is_mapped_as_code(const char *path) {
  test_text maps = {0};
  cr_assert(test_text_read(&maps, "/proc/self/maps"));
  char *at = strstr(maps.data, path);
  while (at && at > maps.data && at[-1] != '\n') at--;
  bool is = at && strstr(at, " r-xp ") && strstr(at, " r-xp ") < strchr(at, '\n');
  free(maps.data);
  return is;
}

static const char dumped_once[] = "f 51 3 4 1\ng 32 10 1 1\n<expr> 16 1 1 1\nhia_free 16 0 0 0\n";

Test(debug, a_dump_has_code_lines_and_frames) {
  make_folder();
  hia_debug_symbols *list = NULL;
  char why[HIA_DEBUG_WHY];
  show(HIA_DEBUG_JITDUMP, &list, why);
  cr_assert_str_eq(why, "");
  cr_assert(is_mapped_as_code(dump_path()));
  test_text text = read_file(dump_path());
  dumped d = read_dump(&text);
  cr_assert_str_eq(d.names, dumped_once);
  cr_assert(memmem(text.data, text.len, bytes, 0x33) != NULL);
  char cwd[4096], name[4200];
  snprintf(name, sizeof name, "%s/folder/program.hia", getcwd(cwd, sizeof cwd));
  cr_assert(memmem(text.data, text.len, name, strlen(name) + 1) != NULL, "%s", name);
  free(text.data);
  show(HIA_DEBUG_JITDUMP, &list, why);
  text = read_file(dump_path());
  cr_assert_eq(read_dump(&text).n_functions, 2 * N_FUNCTIONS);
  free(text.data);
  remove_folder();
}

Test(debug, folders_that_are_not_there) {
  hia_debug_symbols *list = NULL;
  char why[HIA_DEBUG_WHY], *path = malloc(2 * HIA_DEBUG_WHY);
  memset(path, 'x', 2 * HIA_DEBUG_WHY);
  path[0] = '/';
  path[2 * HIA_DEBUG_WHY - 1] = 0;
  setenv("JITDUMPDIR", path, 1);
  show(HIA_DEBUG_JITDUMP, &list, why);
  expect_in(why, "JITDUMPDIR is too long");
  show(HIA_DEBUG_JITDUMP, &list, why);
  cr_assert_str_eq(why, "");
  free(path);
}

/* What cannot be written whole is not written. */
Test(debug, a_full_disk) {
  make_folder();
  hia_debug_symbols *list = NULL;
  char why[HIA_DEBUG_WHY] = "";
  signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &(struct rlimit){5000, 5000});
  unsigned n = 0;
  for (; !why[0] && n < 100; n++) show(HIA_DEBUG_JITDUMP, &list, why);
  cr_assert(n > 1 && n < 100);
  expect_in(why, "cannot be written: File too large");
  show(HIA_DEBUG_JITDUMP, &list, why);
  cr_assert_str_eq(why, "");
  test_text text = read_file(dump_path());
  cr_assert_eq(read_dump(&text).n_functions, (n - 1) * N_FUNCTIONS);
  free(text.data);
  remove_folder();
}

enum { N_THREADS = 4, N_ROUNDS = 40 };
static void *show_often(void *unused) {
  hia_debug_symbols *list = NULL;
  char why[HIA_DEBUG_WHY];
  (void)unused;
  for (int i = 0; i < N_ROUNDS; i++) {
    show(HIA_DEBUG_GDB | HIA_DEBUG_PERF_MAP | HIA_DEBUG_JITDUMP, &list, why);
    if (i % 3 == 2) hiaR_debug_hide(&list);
  }
  hiaR_debug_hide(&list);
  return NULL;
}

Test(debug, several_threads_tell_of_code) {
  make_folder();
  pthread_t threads[N_THREADS];
  for (int i = 0; i < N_THREADS; i++)
    cr_assert_eq(pthread_create(&threads[i], NULL, show_often, NULL), 0);
  for (int i = 0; i < N_THREADS; i++) pthread_join(threads[i], NULL);
  cr_assert_eq(n_symbol_files(), 0);
  expect_map(map_path(), N_THREADS * N_ROUNDS);
  test_text text = read_file(dump_path());
  cr_assert_eq(read_dump(&text).n_functions, N_THREADS * N_ROUNDS * N_FUNCTIONS);
  free(text.data);
  unlink(map_path());
  remove_folder();
}

static hia_status attempt(const hia_allocator *allocator) {
  hia_debug_symbols *list = NULL;
  char why[HIA_DEBUG_WHY];
  const hia_debug_code code = code_by_hand();
  hiaR_debug_show(allocator, &code, HIA_DEBUG_GDB | HIA_DEBUG_PERF_MAP | HIA_DEBUG_JITDUMP, &list,
                  why);
  bool is_registered = list != NULL;
  hiaR_debug_hide(&list);
  if (why[0]) expect_in(why, "do not know some code");
  return why[0] ? HIA_MEMORY : is_registered ? HIA_OK : HIA_INTERNAL;
}

Test(debug, no_memory) {
  make_folder();
  cr_assert_gt(fail_each_allocation(attempt), 1);
  cr_assert_eq(n_symbol_files(), 0);
  unlink(map_path());
  remove_folder();
}
