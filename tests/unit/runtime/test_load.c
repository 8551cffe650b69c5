/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* load, symbols: laid-out code made by hand, and that of a function (tests/fuzz/code); damaged
 * blocks; the mapping. The compiler's side is in test_lower_link.c. */
#include "runtime/native/arch/arch.h"
#include "runtime/native/load.h"
#include "tests/unit/helpers/memory.h"
#include "tests/unit/helpers/text.h"
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

/* ---- a block made by hand ---- */

enum { N_CODE = 128, N_DATA = 8, DATA_AT = HIA_LAID_PAGE };

/* Offsets in the data part. */
enum { WORD = 0, POINTER = 8, EXP = 16, LENGTH = 24, NONE = 32, ZEROS = 40, N_LOADED = 104 };

typedef struct parts {
  hia_laid_code head;
  hia_laid_relocation relocations[4];
  hia_laid_import imports[3];
  hia_laid_symbol symbols[6];
  char names[96];
  unsigned char code[N_CODE];
  unsigned char data[N_DATA];
} parts;

static uint32_t add_name(parts *p, const char *name) {
  uint32_t at = p->head.names_size;
  strcpy(p->names + at, name);
  p->head.names_size += (uint32_t)strlen(name) + 1;
  cr_assert_leq(p->head.names_size, sizeof p->names);
  return at;
}

static void put(parts *p, uint32_t at, const unsigned char *bytes, size_t n, uint32_t target) {
  memcpy(p->code + at, bytes, n);
  int32_t distance = (int32_t)target - (int32_t)(at + n + 4);
  memcpy(p->code + at + n, &distance, sizeof distance);
  p->code[at + n + 4] = 0xc3; /* ret */
}

/* The number of the relocation of `nothing` is the last, and so it can be left out. */
static parts by_hand(void) {
  static const unsigned char load[] = {0x48, 0x8b, 0x05}, jump[] = {0xff, 0x25}; /* rip + ... */
  parts p = {.head = {.magic = HIA_LAID_MAGIC,
                      .version = HIA_LAID_VERSION,
                      .machine = HIA_ARCH_MACHINE,
                      .abi = HIA_RT_ABI,
                      .text_size = 100,
                      .code_size = N_CODE,
                      .data_size = N_LOADED,
                      .data_given = N_DATA,
                      .n_relocations = 4,
                      .n_imports = 3,
                      .n_symbols = 6}};
  p.imports[0].name = add_name(&p, "hiaR_exp_f64");
  p.imports[1].name = add_name(&p, "strlen");
  p.imports[2] = (hia_laid_import){add_name(&p, "no_such_symbol"), HIA_IMPORT_OPTIONAL};
  p.relocations[0] = (hia_laid_relocation){POINTER, HIA_NONE, DATA_AT + ZEROS + 8};
  p.relocations[1] = (hia_laid_relocation){EXP, 0, 0};
  p.relocations[2] = (hia_laid_relocation){LENGTH, 1, 0};
  p.relocations[3] = (hia_laid_relocation){NONE, 2, 0};
  put(&p, 0, load, sizeof load, DATA_AT + WORD);
  put(&p, 16, jump, sizeof jump, DATA_AT + EXP);
  put(&p, 32, jump, sizeof jump, DATA_AT + LENGTH);
  put(&p, 48, load, sizeof load, DATA_AT + NONE);
  put(&p, 64, load, sizeof load, DATA_AT + POINTER);
  p.data[WORD] = 42;
  p.symbols[0] = (hia_laid_symbol){add_name(&p, "data"), DATA_AT};
  p.symbols[1] = (hia_laid_symbol){add_name(&p, "exp"), 16};
  p.symbols[2] = (hia_laid_symbol){add_name(&p, "length"), 32};
  p.symbols[3] = (hia_laid_symbol){add_name(&p, "nothing"), 48};
  p.symbols[4] = (hia_laid_symbol){add_name(&p, "pointer"), 64};
  p.symbols[5] = (hia_laid_symbol){add_name(&p, "word"), 0};
  return p;
}

/* A block of exactly its size, so that a sanitizer sees what lies behind it. */
static void *block_of(const parts *p, size_t *size) {
  const hia_laid_code *h = &p->head;
  *size = hiaR_laid_size(h);
  char *block = malloc(*size), *at = block;
  cr_assert_not_null(block);
#define ADD(from, n) (memcpy(at, (from), (n)), at += (n))
  ADD(h, sizeof *h);
  ADD(p->relocations, h->n_relocations * sizeof *p->relocations);
  ADD(p->imports, h->n_imports * sizeof *p->imports);
  ADD(p->symbols, h->n_symbols * sizeof *p->symbols);
  ADD(p->names, h->names_size);
  ADD(p->code, h->code_size);
  ADD(p->data, h->data_given);
#undef ADD
  cr_assert_eq((size_t)(at - block), *size);
  return block;
}

static uintptr_t symbol(const hia_loaded_code *code, const char *name) {
  uintptr_t address;
  cr_assert(hiaR_code_symbol(code, name, &address), "%s", name);
  return address;
}

static hia_loaded_code *load(const void *block, size_t size) {
  hia_loaded_code *code;
  hia_error *error = NULL;
  hia_status status = hiaR_code_load(&hiaR_malloc, block, size, &code, &error);
  cr_assert_eq(status, HIA_OK, "%s", error ? hia_error_text(error) : "nothing");
  return code;
}

static hia_loaded_code *load_by_hand(void) {
  parts p = by_hand();
  size_t size;
  void *block = block_of(&p, &size);
  hia_loaded_code *code = load(block, size);
  free(block); /* not needed any more */
  return code;
}

static void use_by_hand(const hia_loaded_code *code) {
  cr_assert_eq(((uint64_t (*)(void))symbol(code, "word"))(), 42);
  cr_assert_eq(((double (*)(double))symbol(code, "exp"))(2), hiaR_exp_f64(2));
  cr_assert_eq(((size_t (*)(const char *))symbol(code, "length"))("seven b"), 7);
  cr_assert_null(((void *(*)(void))symbol(code, "nothing"))());
  char *pointer = ((char *(*)(void))symbol(code, "pointer"))();
  char *data = (char *)symbol(code, "data");
  cr_assert_eq(pointer, data + ZEROS + 8);
  for (int i = ZEROS; i < N_LOADED; i++) cr_assert_eq(data[i], 0);
  memset(data + ZEROS, 1, N_LOADED - ZEROS); /* it may be written */
}

Test(load, by_hand) {
  hia_loaded_code *first = load_by_hand(), *second = load_by_hand();
  use_by_hand(first);
  cr_assert_eq(symbol(first, "word"), hiaR_code_text(first));
  hiaR_code_release(first);
  use_by_hand(second); /* it has data of its own */
  hiaR_code_release(second);
  hiaR_code_release(NULL);
}

Test(load, symbols_by_name_and_by_number) {
  hia_loaded_code *code = load_by_hand();
  const char *name;
  uintptr_t address;
  uint32_t n = 0;
  for (; hiaR_code_symbol_at(code, n, &name, &address); n++)
    cr_assert_eq(address, symbol(code, name));
  cr_assert_eq(n, 6);
  static const char *const others[] = {"", "a", "dat", "data1", "strlen", "zero"};
  for (size_t i = 0; i < HIA_LEN(others); i++)
    cr_assert(!hiaR_code_symbol(code, others[i], &address), "%s", others[i]);
  hiaR_code_release(code);
}

Test(load, a_block_may_stand_at_any_address) {
  parts p = by_hand();
  size_t size;
  void *block = block_of(&p, &size);
  for (size_t shift = 1; shift < 16; shift++) {
    char *copy = malloc(size + shift);
    memcpy(copy + shift, block, size);
    hia_loaded_code *code = load(copy + shift, size);
    free(copy);
    use_by_hand(code);
    hiaR_code_release(code);
  }
  free(block);
}

/* ---- imports ---- */

Test(load, an_unknown_import_is_named) {
  /* The last one is a function of the runtime, but no row of abi.def. */
  static const char *const names[] = {"hiaR_nothing", "no_such_symbol", "hiaR_code_load"};
  for (size_t i = 0; i < HIA_LEN(names); i++) {
    parts p = by_hand();
    p.head.n_relocations = p.head.n_imports = p.head.n_symbols = p.head.names_size = 0;
    p.imports[p.head.n_imports++].name = add_name(&p, "strlen");
    p.imports[p.head.n_imports++].name = add_name(&p, names[i]);
    size_t size;
    void *block = block_of(&p, &size);
    cr_assert_eq(hiaR_code_check(block, size), HIA_OK);
    hia_loaded_code *code;
    hia_error *error = NULL;
    cr_assert_eq(hiaR_code_load(&hiaR_malloc, block, size, &code, &error), HIA_INTERNAL);
    cr_assert_null(code);
    cr_assert(strstr(hia_error_message(error, 0), names[i]), "%s", hia_error_text(error));
    hia_error_free(error);
    cr_assert_eq(hiaR_code_load(&hiaR_malloc, block, size, &code, NULL), HIA_INTERNAL);
    free(block);
  }
}

Test(load, the_symbols_of_the_runtime) {
  uintptr_t address;
#define HIA_ABI(name, args, result, EFFECT, doc)                                                   \
  cr_assert(hiaR_runtime_symbol(#name, &address));                                                 \
  cr_assert_eq(address, (uintptr_t)name);
#include "runtime/native/abi.def"
  cr_assert(hiaR_runtime_symbol("hiaR_k_ADD", &address));
  cr_assert_eq(address, (uintptr_t)hiaR_k_ADD);
  cr_assert(hiaR_runtime_symbol("hiaR_e_LIFT", &address));
  static const char *const others[] = {"", "hiaR_", "hiaR_k_PRODUCT", "hiaR_e_ADD", "hiaR_malloc"};
  for (size_t i = 0; i < HIA_LEN(others); i++)
    cr_assert(!hiaR_runtime_symbol(others[i], &address), "%s", others[i]);
}

/* ---- damaged blocks ---- */

/* Loads a block that may be damaged. What is accepted may be read and written. */
static hia_status try_block(const void *block, size_t size) {
  hia_loaded_code *code;
  hia_error *error = NULL;
  hia_status checked = hiaR_code_check(block, size),
             status = hiaR_code_load(&hiaR_malloc, block, size, &code, &error);
  cr_assert(checked == HIA_OK || checked == HIA_BAD_IMAGE);
  cr_assert_eq(status == HIA_OK, code != NULL);
  cr_assert_eq(status == HIA_OK, error == NULL);
  if (status == HIA_INTERNAL && checked == HIA_OK)
    cr_assert(strstr(hia_error_text(error), "which is not there"), "%s", hia_error_text(error));
  else if (status == HIA_INTERNAL)
    cr_assert(strstr(hia_error_text(error), "damaged"), "%s", hia_error_text(error));
  else
    cr_assert(status == HIA_OK || status == HIA_MEMORY);
  if (checked) cr_assert_eq(status, HIA_INTERNAL);
  hia_error_free(error);
  if (!code) return status;
  hia_laid_code head;
  memcpy(&head, block, sizeof head);
  const char *name, *text = (const char *)hiaR_code_text(code);
  unsigned sum = 0;
  for (uint32_t i = 0; i < head.code_size; i++) sum += (unsigned char)text[i];
  char *data = (char *)hiaR_code_text(code) + hiaR_laid_data_at(&head);
  if (head.data_size <= 1 << 20)
    memset(data, (int)sum, head.data_size);
  else
    data[head.data_size - 1] = (char)sum;
  uintptr_t address;
  for (uint32_t i = 0; hiaR_code_symbol_at(code, i, &name, &address); i++)
    cr_assert_eq(symbol(code, name), address);
  hiaR_code_release(code);
  return status;
}

static void damage_each_byte(const char *block, size_t size) {
  static const unsigned char changes[] = {0x01, 0x80, 0xff, 0x10};
  cr_assert_eq(try_block(block, size), HIA_OK);
  for (size_t i = 0; i < size; i++) {
    /* Copies of exactly that size, so that a sanitizer sees what lies behind it. */
    char *part = malloc(i ? i : 1);
    cr_assert_not_null(part);
    memcpy(part, block, i);
    cr_assert_eq(try_block(part, i), HIA_INTERNAL, "%d bytes", (int)i);
    free(part);
    part = malloc(size);
    cr_assert_not_null(part);
    memcpy(part, block, size);
    for (size_t k = 0; k < HIA_LEN(changes); k++) {
      part[i] = (char)((unsigned char)block[i] ^ changes[k]);
      try_block(part, size);
    }
    part[i] = 0;
    try_block(part, size);
    free(part);
  }
  char *longer = malloc(size + 1);
  memcpy(longer, block, size);
  longer[size] = 0;
  cr_assert_eq(try_block(longer, size + 1), HIA_INTERNAL);
  free(longer);
}

Test(load, damaged_blocks_do_no_harm) {
  parts p = by_hand();
  size_t size;
  void *block = block_of(&p, &size);
  damage_each_byte(block, size);
  free(block);
}

static hia_status check_parts(const parts *p) {
  size_t size;
  void *block = block_of(p, &size);
  hia_status status = hiaR_code_check(block, size);
  cr_assert_eq(try_block(block, size), status ? HIA_INTERNAL : HIA_OK);
  free(block);
  return status;
}

#define REFUSED(...)                                                                               \
  do {                                                                                             \
    parts p = by_hand();                                                                           \
    __VA_ARGS__;                                                                                   \
    cr_assert_eq(check_parts(&p), HIA_BAD_IMAGE, #__VA_ARGS__);                                    \
  } while (0)
#define TAKEN(...)                                                                                 \
  do {                                                                                             \
    parts p = by_hand();                                                                           \
    __VA_ARGS__;                                                                                   \
    cr_assert_eq(check_parts(&p), HIA_OK, #__VA_ARGS__);                                           \
  } while (0)

Test(load, what_is_checked) {
  REFUSED(p.head.magic[0]++);
  REFUSED(p.head.version++);
  REFUSED(p.head.machine++);
  REFUSED(p.head.abi++);
  REFUSED(p.head.spare++);
  REFUSED(p.head.text_size = 0);
  TAKEN(p.head.text_size = N_CODE);
  REFUSED(p.head.text_size = N_CODE + 1);
  TAKEN(p.head.data_size = INT32_MAX - DATA_AT - 1);
  REFUSED(p.head.data_size = INT32_MAX - DATA_AT + 1);
  REFUSED(p.head.data_size = UINT32_MAX);
  REFUSED(p.head.data_size = N_DATA - 1);
  REFUSED(p.names[p.head.names_size - 1] = 'x');
  REFUSED(p.relocations[3].at = N_LOADED);
  REFUSED(p.relocations[3].at = N_LOADED - 7);
  TAKEN(p.relocations[3].at = N_LOADED - 8);
  REFUSED(p.relocations[3].at = UINT32_MAX);
  REFUSED(p.relocations[3].at = UINT32_MAX - 7);
  REFUSED(p.relocations[3].import = 3);
  REFUSED(p.relocations[3].import = HIA_NONE - 1);
  TAKEN(p.relocations[3].addend = INT64_MIN);
  TAKEN(p.relocations[0].addend = 0);
  TAKEN(p.relocations[0].addend = DATA_AT + N_LOADED);
  REFUSED(p.relocations[0].addend = DATA_AT + N_LOADED + 1);
  REFUSED(p.relocations[0].addend = -1);
  REFUSED(p.relocations[0].addend = INT64_MIN);
  REFUSED(p.imports[2].name = p.head.names_size);
  REFUSED(p.imports[2].flags = 2);
  REFUSED(p.symbols[5].name = p.head.names_size);
  REFUSED(p.symbols[5].name = UINT32_MAX);
  TAKEN(p.symbols[5].at = DATA_AT + N_LOADED);
  REFUSED(p.symbols[5].at = DATA_AT + N_LOADED + 1);
  REFUSED(p.symbols[5].name = p.symbols[4].name);
  REFUSED(hia_laid_symbol s = p.symbols[0]; p.symbols[0] = p.symbols[1]; p.symbols[1] = s);
  TAKEN(p.head.n_relocations = 0; p.head.data_size = p.head.data_given = 0; p.head.n_symbols = 0);
}

/* Their sum wraps to the size of the block. */
Test(load, numbers_of_rows_do_not_overflow) {
  parts p = by_hand();
  size_t size;
  hia_laid_code *block = block_of(&p, &size);
  uint32_t *const counts[] = {&block->n_relocations, &block->n_imports, &block->n_symbols,
                              &block->names_size,    &block->code_size, &block->data_given};
  for (size_t i = 0; i < HIA_LEN(counts); i++) {
    uint32_t was = *counts[i];
    for (unsigned bit = 0; bit < 32; bit++) {
      *counts[i] = was ^ (uint32_t)1 << bit;
      cr_assert_eq(hiaR_code_check(block, size), HIA_BAD_IMAGE);
    }
    *counts[i] = UINT32_MAX;
    cr_assert_eq(hiaR_code_check(block, size), HIA_BAD_IMAGE);
    *counts[i] = was;
  }
  cr_assert_eq(hiaR_code_check(block, size), HIA_OK);
  free(block);
}

/* ---- the block of a function, which was made elsewhere ---- */

static test_text fib_block(void) {
  test_text text = {0};
  cr_assert(test_text_read(&text, HIA_TEST_DIR "/fuzz/code/fib"));
  cr_assert_eq(hiaR_code_check(text.data, text.len), HIA_OK,
               "HIA_UPDATE=1 test_lower_link writes it anew");
  return text;
}

static bool no_row(void *user, uintptr_t return_address, hia_frame_row *row) {
  (void)user, (void)return_address, (void)row;
  return false;
}

Test(load, a_function_runs) {
  test_text block = fib_block();
  hia_loaded_code *code = load(block.data, block.len);
  hia_context *context;
  cr_assert_eq(hiaR_context_new(&hiaR_malloc, &context), HIA_OK);
  hia_unwinder unwinder = {.find = no_row, .max_frame = 4096};
  hia_limits limits = {0};
  hia_failure failure;
  hia_usage usage;
  hia_word words[2] = {15};
  hia_native_entry entry = (hia_native_entry)symbol(code, "hia_entry_0");
  cr_assert_eq(hiaR_native_run(context, entry, words, &unwinder, &limits, &failure, &usage),
               HIA_OK);
  cr_assert_eq(words[1], 610);
  hiaR_context_free(context);
  hiaR_code_release(code);
  test_text_free(&block);
}

Test(load, a_damaged_function_does_no_harm) {
  test_text block = fib_block();
  damage_each_byte(block.data, block.len);
  test_text_free(&block);
}

static void *load_often(void *user) {
  const test_text *block = user;
  for (int i = 0; i < 100; i++) {
    hia_loaded_code *code;
    if (hiaR_code_load(&hiaR_malloc, block->data, block->len, &code, NULL)) return user;
    hiaR_code_release(code);
  }
  return NULL;
}

Test(load, several_threads) {
  test_text block = fib_block();
  pthread_t threads[8];
  for (size_t i = 0; i < HIA_LEN(threads); i++)
    cr_assert_eq(pthread_create(&threads[i], NULL, load_often, &block), 0);
  for (size_t i = 0; i < HIA_LEN(threads); i++) {
    void *failed;
    cr_assert_eq(pthread_join(threads[i], &failed), 0);
    cr_assert_null(failed);
  }
  test_text_free(&block);
}

/* ---- memory, and what may be done with it ---- */

static hia_status load_once(const hia_allocator *allocator) {
  parts p = by_hand();
  size_t size;
  void *block = block_of(&p, &size);
  hia_loaded_code *code;
  hia_error *error = NULL;
  hia_status status = hiaR_code_load(allocator, block, size, &code, &error);
  hia_error_free(error);
  hiaR_code_release(code);
  free(block);
  return status;
}

Test(load, memory_may_run_out) { cr_assert_geq(fail_each_allocation(load_once), 1); }

/* The permissions of the mapping of an address, as in /proc/self/maps; "" if nothing is mapped. No
 * mapping of this process is both written and executed. */
static void permissions(uintptr_t address, char out[5]) {
  FILE *maps = fopen("/proc/self/maps", "r");
  cr_assert_not_null(maps);
  char line[4096], is[5];
  out[0] = 0;
  while (fgets(line, sizeof line, maps)) {
    unsigned long low, high;
    cr_assert_eq(sscanf(line, "%lx-%lx %4s", &low, &high, is), 3);
    cr_assert(!(is[1] == 'w' && is[2] == 'x'), "%s", line);
    if (address >= low && address < high) memcpy(out, is, 5);
  }
  fclose(maps);
}

Test(load, nothing_is_written_and_executed) {
  hia_loaded_code *code = load_by_hand();
  uintptr_t text = hiaR_code_text(code), data = symbol(code, "data");
  char is[5];
  permissions(text, is);
  cr_assert_str_eq(is, "r-xp");
  permissions(text - 1, is); /* what reads before a function finds memory */
  cr_assert_str_eq(is, "r-xp");
  permissions(text + N_CODE, is);
  cr_assert_str_eq(is, "r-xp");
  permissions(data, is);
  cr_assert_str_eq(is, "rw-p");
  hiaR_code_release(code);
  permissions(text, is);
  cr_assert_str_neq(is, "r-xp");
  permissions(data, is);
  cr_assert_str_eq(is, "");
}

/* Linux 6.3 and later can forbid a process to make memory executable. */
Test(load, a_system_that_forbids_it) {
#ifndef PR_SET_MDWE
#define PR_SET_MDWE 65
#endif
  if (prctl(PR_SET_MDWE, 1L, 0L, 0L, 0L)) return;
  parts p = by_hand();
  size_t size;
  void *block = block_of(&p, &size);
  hia_loaded_code *code;
  hia_error *error = NULL;
  cr_assert_eq(hiaR_code_load(&hiaR_malloc, block, size, &code, &error), HIA_UNSUPPORTED);
  cr_assert_null(code);
  cr_assert(strstr(hia_error_text(error), "does not allow"), "%s", hia_error_text(error));
  hia_error_free(error);
  free(block);
}

/* AddressSanitizer has reserved more addresses itself. */
#ifndef HIA_ASAN
Test(load, no_room_for_the_mapping) {
  parts p = by_hand();
  p.head.data_size = 1 << 30;
  size_t size;
  void *block = block_of(&p, &size);
  struct rlimit limit = {(rlim_t)1 << 29, (rlim_t)1 << 29};
  cr_assert_eq(setrlimit(RLIMIT_AS, &limit), 0);
  hia_loaded_code *code;
  hia_error *error = NULL;
  cr_assert_eq(hiaR_code_load(&hiaR_malloc, block, size, &code, &error), HIA_MEMORY);
  cr_assert_null(code);
  cr_assert_eq(hia_error_status(error), HIA_MEMORY);
  hia_error_free(error);
  free(block);
}
#endif
