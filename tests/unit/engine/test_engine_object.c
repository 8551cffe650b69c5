/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The object file that the JIT links in memory: its code is that of the object that `hiaton build`
 * writes, and it could be written to a disk and linked by another process. */
#include "tests/unit/helpers/program.h"
#include "tests/unit/helpers/text.h"

#include "jit/engine/engine.h"
#include "jit/llvm/backend.h"
#include "runtime/native/sanitizer.h"
#include <criterion/criterion.h>
#include <dirent.h>
#include <elf.h>

/* Sanitizers instrument the JIT's code, but not objects; and in the stress build an object is one
 * codegen unit where the JIT's code is several. */
#if !defined(HIA_ASAN) && !defined(HIA_TSAN) && !defined(HIA_STRESS)
#define CODE_IS_THE_SAME 1
#endif

/* ---- reading objects ---- */

#ifdef CODE_IS_THE_SAME
typedef struct object {
  const unsigned char *bytes;
  Elf64_Ehdr header;
  const Elf64_Shdr *elf_sections;
  const Elf64_Sym *symbols;
  size_t n_symbols;
  const char *names; /* of symbols */
} object;

static object open_object(const void *bytes) {
  object o = {.bytes = bytes};
  memcpy(&o.header, bytes, sizeof o.header);
  cr_assert(memcmp(o.header.e_ident, ELFMAG, SELFMAG) == 0);
  o.elf_sections = (const void *)(o.bytes + o.header.e_shoff);
  for (uint32_t i = 0; i < o.header.e_shnum; i++) {
    if (o.elf_sections[i].sh_type != SHT_SYMTAB) continue;
    o.symbols = (const void *)(o.bytes + o.elf_sections[i].sh_offset);
    o.n_symbols = o.elf_sections[i].sh_size / sizeof *o.symbols;
    o.names = (const char *)o.bytes + o.elf_sections[o.elf_sections[i].sh_link].sh_offset;
  }
  cr_assert_not_null(o.symbols);
  return o;
}

static const char *elf_section_name(const object *o, uint32_t i) {
  const Elf64_Shdr *names = &o->elf_sections[o->header.e_shstrndx];
  return (const char *)o->bytes + names->sh_offset + o->elf_sections[i].sh_name;
}

/* 0: there is none. */
static uint32_t find_elf_section(const object *o, const char *name) {
  for (uint32_t i = 1; i < o->header.e_shnum; i++)
    if (strcmp(elf_section_name(o, i), name) == 0) return i;
  return 0;
}

typedef struct part {
  const unsigned char *data;
  uint64_t size;
} part;
static part part_of(const object *o, const char *name) {
  uint32_t i = find_elf_section(o, name);
  if (!i) return (part){NULL, 0};
  return (part){o->bytes + o->elf_sections[i].sh_offset, o->elf_sections[i].sh_size};
}

/* The target of a relocation, as text. */
static void describe(const object *o, const Elf64_Rela *r, char *out, size_t size) {
  const Elf64_Sym *s = &o->symbols[ELF64_R_SYM(r->r_info)];
  bool is_elf_section = ELF64_ST_TYPE(s->st_info) == STT_SECTION;
  snprintf(out, size, "at %llu type %llu %s+%lld", (unsigned long long)r->r_offset,
           (unsigned long long)ELF64_R_TYPE(r->r_info),
           is_elf_section ? elf_section_name(o, s->st_shndx) : o->names + s->st_name,
           (long long)r->r_addend);
}

/* ---- the same code ---- */

/* True if the first function behind `at` in the ELF section of code is an elementary one. */
static bool find_elementary(const object *o, uint64_t at) {
  const char *first = NULL;
  uint64_t lowest = UINT64_MAX;
  for (size_t i = 0; i < o->n_symbols; i++) {
    const Elf64_Sym *s = &o->symbols[i];
    if (ELF64_ST_TYPE(s->st_info) != STT_FUNC || s->st_shndx != find_elf_section(o, ".text"))
      continue;
    if (s->st_value >= at && s->st_value < lowest)
      first = o->names + s->st_name, lowest = s->st_value;
  }
  return first && strncmp(first, "hiaton.", 7) == 0;
}

/* True if plain functions have a copy of an elementary function: it may lie before other code,
 * which then has other distances. */
static bool has_copy(const object *o) {
  for (size_t i = 0; i < o->n_symbols; i++) {
    const char *name = o->names + o->symbols[i].st_name;
    if (strncmp(name, "hiaton.", 7) == 0 && strspn(strrchr(name, '.') + 1, "0123456789") > 0)
      return true;
  }
  return false;
}

static bool same_code(const object *jit, const object *built, char *why, size_t size) {
  if (has_copy(built)) return true;
  /* Behind the code of an object there may be elementary functions that its plain functions call.
   */
  part a = part_of(jit, ".text"), b = part_of(built, ".text");
  if (a.size > b.size || (a.size < b.size && !find_elementary(built, a.size))) {
    snprintf(why, size, ".text of %llu and %llu bytes", (unsigned long long)a.size,
             (unsigned long long)b.size);
    return false;
  }
  for (uint64_t i = 0; i < a.size; i++)
    if (a.data[i] != b.data[i]) {
      snprintf(why, size, ".text differs at %llu of %llu", (unsigned long long)i,
               (unsigned long long)a.size);
      return false;
    }
  part ra = part_of(jit, ".rela.text"), rb = part_of(built, ".rela.text");
  if (ra.size > rb.size || (ra.size < rb.size && a.size == b.size)) {
    snprintf(why, size, "other numbers of relocations");
    return false;
  }
  for (uint64_t i = 0; i < ra.size / sizeof(Elf64_Rela); i++) {
    char x[256], y[256];
    describe(jit, (const Elf64_Rela *)(const void *)ra.data + i, x, sizeof x);
    describe(built, (const Elf64_Rela *)(const void *)rb.data + i, y, sizeof y);
    if (strcmp(x, y) == 0) continue;
    snprintf(why, size, "relocations: %s; %s", x, y);
    return false;
  }
  /* The constants that code refers to; behind them there may be constants of plain functions. */
  for (uint32_t i = 1; i < jit->header.e_shnum; i++) {
    const char *name = elf_section_name(jit, i);
    if (strncmp(name, ".rodata", 7) != 0 || strcmp(name, HIA_HOST_RODATA) == 0) continue;
    part c = part_of(jit, name), d = part_of(built, name);
    if (c.size <= d.size && memcmp(c.data, d.data, c.size) == 0) continue;
    snprintf(why, size, "other constants in %s", name);
    return false;
  }
  return true;
}
#endif

static const void *object_of(hia_engine *engine, hia_function *f, size_t *size) {
  hia_error *error;
  cr_assert_eq(hia_function_prepare(f, &error), HIA_OK, "%s", hia_error_text(error));
  return engine->backend->object(hiaJ_version(f, HIA_VERSION_GENERAL)->unit->code, 0, size);
}

#ifdef CODE_IS_THE_SAME
typedef struct comparing {
  hia_engine *engine;
  bool parallel;
  unsigned n_same;
  unsigned turn, n_turns; /* every n_turns-th program is compared, beginning with number `turn` */
  unsigned n_files;
} comparing;

static void compare(comparing *c, hia_module *module, hia_function *f, const char *path) {
  size_t size;
  const void *linked = object_of(c->engine, f, &size);
  test_text bytes = {0};
  hia_build_options options = HIA_BUILD_OPTIONS_INIT;
  options.prefix = "p";
  if (c->parallel) options.flags |= HIA_BUILD_PARALLEL;
  hia_error *error;
  cr_assert_eq(hia_module_build_object(module, &f, 1, &options, test_text_take, &bytes, &error),
               HIA_OK, "%s: %s", path, hia_error_text(error));
  object jit = open_object(linked), built = open_object(bytes.data);
  char why[600] = "";
  cr_expect(same_code(&jit, &built, why, sizeof why), "%s: %s: %s", path, hia_function_name(f),
            why);
  c->n_same++;
  test_text_free(&bytes);
}

/* The first functions with known types of a program, and its main. */
static void compare_file(comparing *c, const char *path) {
  enum { FIRST = 4 };
  hia_module *module;
  if (hia_module_load_file(c->engine, path, &module, NULL) != HIA_OK) return; /* to be rejected */
  test_text text = {0};
  cr_assert(test_text_read(&text, path));
  unsigned n = 0;
  for (char *at = text.data; at && *at; at = strchr(at, '\n')) {
    at += *at == '\n';
    char name[64];
    if (sscanf(at, "fn %63[a-z_0-9]", name) != 1) continue;
    hia_function *f;
    if (n >= FIRST && strcmp(name, "main") != 0) continue;
    if (hia_module_function(module, name, &f, NULL) != HIA_OK || hia_function_is_generic(f))
      continue;
    compare(c, module, f, path);
    n++;
  }
  test_text_free(&text);
  hia_module_free(module);
}

static void compare_folder(comparing *c, const char *folder) {
  DIR *dir = opendir(folder);
  cr_assert_not_null(dir);
  for (struct dirent *entry; (entry = readdir(dir));) {
    size_t len = strlen(entry->d_name);
    char path[4096];
    if (len < 4 || strcmp(entry->d_name + len - 4, ".hia") != 0) continue;
    snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
    if (c->n_files++ % c->n_turns == c->turn) compare_file(c, path);
  }
  closedir(dir);
}
#endif

static hia_engine *engine_with(unsigned threads, int level) {
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.kind = HIA_ENGINE_JIT;
  options.threads = threads;
  options.opt_level = level;
  options.flags |= HIA_FLAG_PROCESS_SYMBOLS;
  options.budget_ns = 0; /* on a slow machine code would not be optimised to its end */
  hia_engine *engine;
  cr_assert_eq(hia_engine_new(&options, &engine, NULL), HIA_OK);
  return engine;
}

#ifdef CODE_IS_THE_SAME
/* A third of the programs: the next third is compared with other options. */
static void compare_all(unsigned threads, int level, unsigned turn) {
  NEEDS_NATIVE;
  comparing c = {
      .engine = engine_with(threads, level), .parallel = threads > 1, .turn = turn, .n_turns = 3};
  compare_folder(&c, HIA_SOURCE_DIR "/examples");
  compare_folder(&c, HIA_TEST_DIR "/programs");
  cr_assert_gt(c.n_same, 40);
  hia_engine_free(c.engine);
}

Test(engine_object, the_code_is_that_of_built_objects) { compare_all(1, 3, 0); }
Test(engine_object, without_optimisation_too) { compare_all(1, 0, 1); }
Test(engine_object, and_for_several_threads) { compare_all(4, 3, 2); }

/* A function of n operations with a plain function: the plain one is always there, whatever the
 * size, and a function that calls it twice is compiled in another way than one that calls it once.
 */
static void compare_plain(comparing *c, unsigned n, bool is_shared) {
  test_text text = {0};
  char line[200];
  for (int f = 0; f < 2; f++) {
    int len = snprintf(line, sizeof line, "fn f%d(x: f64, y: f64) -> f64 = {\n", f);
    test_text_take(&text, line, (size_t)len);
    for (unsigned i = 0; i < n; i++) {
      len = snprintf(line, sizeof line, "  let x = x * %u.25 + (y - x) %% %s;\n", i + 1,
                     f && is_shared ? "f0(x, y)" : "y");
      test_text_take(&text, line, (size_t)len);
    }
    test_text_take(&text, "  x\n}\n", 6);
  }
  hia_module *module;
  hia_error *error;
  cr_assert_eq(hia_module_load_text(c->engine, "t.hia", text.data, text.len, &module, &error),
               HIA_OK, "%s", hia_error_text(error));
  for (int f = 0; f < 2; f++) {
    hia_function *function;
    snprintf(line, sizeof line, "f%d", f);
    cr_assert_eq(hia_module_function(module, line, &function, NULL), HIA_OK);
    snprintf(line, sizeof line, "%u operations%s", n, is_shared ? ", calling" : "");
    compare(c, module, function, line);
  }
  hia_module_free(module);
  test_text_free(&text);
}

Test(engine_object, beside_plain_functions) {
  NEEDS_NATIVE;
  for (int level = 0; level <= 3; level++) {
    comparing c = {.engine = engine_with(1, level)};
    for (unsigned n = 1; n < 200; n += 1 + n / 2) {
      compare_plain(&c, n, false);
      if (n < 30) compare_plain(&c, n, true);
    }
    hia_engine_free(c.engine);
  }
}
#endif

static const char program_text[] =
    "extern fn hypot(x: f64, y: f64) -> f64\n"
    "extern impure fn putchar(c: i32) -> i32\n"
    "fn fib(n: i32) -> i32 = if n <= 1 then 1 else fib(n - 1) + fib(n - 2)\n"
    "fn main(n: i32, x: f64) -> (i32, f64) = { let c = putchar(fib(n));\n"
    "  (c / n, hypot(x, 2.5) + exp(x) + floor(x) % 3.0 + if x > 3.0 then 7.0 else f64(fib(3))) }\n";

#ifdef CODE_IS_THE_SAME /* and calls nothing of sanitizers */
/* ---- no addresses of this process ---- */

/* The mapped ranges: [first, last) of each. */
typedef struct range {
  uint64_t first, last;
} range;

static size_t mappings(range *out, size_t most) {
  FILE *file = fopen("/proc/self/maps", "r");
  cr_assert_not_null(file);
  size_t n = 0;
  char line[4096];
  while (n < most && fgets(line, sizeof line, file)) {
    unsigned long long first, last;
    if (sscanf(line, "%llx-%llx", &first, &last) == 2) out[n++] = (range){first, last};
  }
  fclose(file);
  cr_assert_lt(n, most);
  return n;
}

Test(engine_object, holds_no_address_of_the_process) {
  NEEDS_NATIVE;
  static range maps[4096];
  hia_engine *engine = engine_with(4, 3);
  hia_module *module;
  hia_function *f;
  hia_error *error;
  cr_assert_eq(
      hia_module_load_text(engine, "t.hia", program_text, strlen(program_text), &module, &error),
      HIA_OK, "%s", hia_error_text(error));
  cr_assert_eq(hia_module_function(module, "main", &f, NULL), HIA_OK);
  size_t size;
  const unsigned char *bytes = object_of(engine, f, &size);
  hia_native_fn entry;
  cr_assert_eq(hia_function_entry(f, &entry, &error), HIA_OK, "%s", hia_error_text(error));
  size_t n = mappings(maps, HIA_LEN(maps));
  for (size_t i = 0; i + sizeof(uint64_t) <= size; i++) {
    uint64_t word;
    memcpy(&word, bytes + i, sizeof word);
    for (size_t k = 0; k < n; k++)
      cr_assert(word < maps[k].first || word >= maps[k].last, "at %zu of %zu: %llx", i, size,
                (unsigned long long)word);
  }
  hia_module_free(module);
  hia_engine_free(engine);
}

/* Its undefined symbols are functions of abi.def, and those of libc that LLVM itself calls. */
Test(engine_object, refers_to_the_runtime_by_name) {
  NEEDS_NATIVE;
  static const char *const known[] = {
      "memcpy", "memmove",   "memset",     "floor", "floorf", "ceil",
      "ceilf",  "roundeven", "roundevenf", "fma",   "fmaf",   "_GLOBAL_OFFSET_TABLE_",
#define HIA_ABI(name, args, result, EFFECT, doc) #name,
#include "runtime/native/abi.def"
  };
  hia_engine *engine = engine_with(4, 3);
  hia_module *module;
  hia_function *f;
  cr_assert_eq(
      hia_module_load_text(engine, "t.hia", program_text, strlen(program_text), &module, NULL),
      HIA_OK);
  cr_assert_eq(hia_module_function(module, "main", &f, NULL), HIA_OK);
  size_t size;
  object o = open_object(object_of(engine, f, &size));
  unsigned n = 0;
  for (size_t i = 1; i < o.n_symbols; i++) {
    if (o.symbols[i].st_shndx != SHN_UNDEF) continue;
    const char *name = o.names + o.symbols[i].st_name;
    bool is_known = false;
    for (size_t k = 0; k < HIA_LEN(known); k++) is_known |= strcmp(name, known[k]) == 0;
    cr_assert(is_known, "%s", name);
    n++;
  }
  cr_assert_gt(n, 2);
  hia_module_free(module);
  hia_engine_free(engine);
}
#endif

/* Another engine makes the same bytes of the same program. */
Test(engine_object, the_same_bytes_in_every_engine) {
  NEEDS_NATIVE;
  hia_engine *engines[2];
  hia_module *modules[2];
  const void *bytes[2];
  size_t sizes[2];
  for (int i = 0; i < 2; i++) {
    engines[i] = engine_with(1, 3);
    hia_function *f;
    cr_assert_eq(hia_module_load_text(engines[i], "t.hia", program_text, strlen(program_text),
                                      &modules[i], NULL),
                 HIA_OK);
    cr_assert_eq(hia_module_function(modules[i], i ? "fib" : "main", &f, NULL), HIA_OK);
    object_of(engines[i], f, &sizes[i]); /* another order in each */
    cr_assert_eq(hia_module_function(modules[i], "main", &f, NULL), HIA_OK);
    bytes[i] = object_of(engines[i], f, &sizes[i]);
  }
  cr_assert_eq(sizes[0], sizes[1]);
  cr_assert(memcmp(bytes[0], bytes[1], sizes[0]) == 0);
  for (int i = 0; i < 2; i++) {
    hia_module_free(modules[i]);
    hia_engine_free(engines[i]);
  }
}
