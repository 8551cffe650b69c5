/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Loads laid-out code (load.h): checks it, and makes a mapping of it in which every address is
 * that of this process. No page is writable and executable at once. */
#include "runtime/native/load.h"
#include "runtime/native/arch/arch.h"
#include <dlfcn.h>
#include <errno.h>
#include <sys/mman.h>

/* Distances are of 32 bits with a sign, so neither part can be further away than that. */
#define MAX_LOADED ((uint64_t)INT32_MAX)

/* Memory before .text, which nothing writes: some callers read what stands before a function, such
 * as the check of calls through pointers that clang makes (-fsanitize=function). */
enum { BEFORE_TEXT = HIA_LAID_PAGE };

/* Where each part of a block begins. */
typedef struct block {
  hia_laid_code laid;
  const char *relocations, *imports, *symbols, *names, *code, *data;
  uint64_t data_at; /* of the loaded code */
} block;

/* ---- checking ---- */

uint64_t hiaR_laid_size(const hia_laid_code *laid) {
  return sizeof *laid + (uint64_t)laid->n_relocations * sizeof(hia_laid_relocation) +
         (uint64_t)laid->n_imports * sizeof(hia_laid_import) +
         (uint64_t)laid->n_symbols * sizeof(hia_laid_symbol) + laid->names_size + laid->code_size +
         laid->data_given;
}

static bool open_block(block *b, const void *bytes, size_t size) {
  hia_laid_code *h = &b->laid;
  if (size < sizeof *h) return false;
  memcpy(h, bytes, sizeof *h);
  if (memcmp(h->magic, HIA_LAID_MAGIC, sizeof h->magic) != 0 || h->version != HIA_LAID_VERSION ||
      h->machine != HIA_ARCH_MACHINE || h->abi != HIA_RT_ABI || h->spare ||
      hiaR_laid_size(h) != size)
    return false;
  b->relocations = (const char *)bytes + sizeof *h;
  b->imports = b->relocations + h->n_relocations * sizeof(hia_laid_relocation);
  b->symbols = b->imports + h->n_imports * sizeof(hia_laid_import);
  b->names = b->symbols + h->n_symbols * sizeof(hia_laid_symbol);
  b->code = b->names + h->names_size;
  b->data = b->code + h->code_size;
  b->data_at = hiaR_laid_data_at(h);
  return h->text_size && h->text_size <= h->code_size && h->data_given <= h->data_size &&
         b->data_at + h->data_size <= MAX_LOADED &&
         (h->names_size == 0 || b->names[h->names_size - 1] == 0);
}

static hia_laid_relocation relocation_at(const block *b, uint32_t i) {
  hia_laid_relocation r;
  memcpy(&r, b->relocations + i * sizeof r, sizeof r);
  return r;
}
static hia_laid_import import_at(const block *b, uint32_t i) {
  hia_laid_import import;
  memcpy(&import, b->imports + i * sizeof import, sizeof import);
  return import;
}
static hia_laid_symbol symbol_at(const block *b, uint32_t i) {
  hia_laid_symbol symbol;
  memcpy(&symbol, b->symbols + i * sizeof symbol, sizeof symbol);
  return symbol;
}

static bool check_relocation(const block *b, const hia_laid_relocation *r) {
  const hia_laid_code *h = &b->laid;
  if (r->at > h->data_size || h->data_size - r->at < sizeof(uint64_t)) return false;
  if (r->import != HIA_NONE) return r->import < h->n_imports;
  return r->addend >= 0 && (uint64_t)r->addend <= b->data_at + h->data_size;
}

static bool check_import(const block *b, const hia_laid_import *import) {
  return import->name < b->laid.names_size && !(import->flags & ~(uint32_t)HIA_IMPORT_OPTIONAL);
}

static bool check_block(block *b, const void *bytes, size_t size) {
  if (!open_block(b, bytes, size)) return false;
  const hia_laid_code *h = &b->laid;
  for (uint32_t i = 0; i < h->n_relocations; i++) {
    hia_laid_relocation r = relocation_at(b, i);
    if (!check_relocation(b, &r)) return false;
  }
  for (uint32_t i = 0; i < h->n_imports; i++) {
    hia_laid_import import = import_at(b, i);
    if (!check_import(b, &import)) return false;
  }
  const char *before = NULL;
  for (uint32_t i = 0; i < h->n_symbols; i++) {
    hia_laid_symbol symbol = symbol_at(b, i);
    if (symbol.name >= h->names_size || symbol.at > b->data_at + h->data_size) return false;
    const char *name = b->names + symbol.name;
    if (before && strcmp(before, name) >= 0) return false;
    before = name;
  }
  return true;
}

hia_status hiaR_code_check(const void *bytes, size_t size) {
  block b;
  return check_block(&b, bytes, size) ? HIA_OK : HIA_BAD_IMAGE;
}

/* ---- imports ---- */

/* Finds a symbol. Of hiaton's own there are those that generated code may refer to and no others.
 * The process has what LLVM adds calls of: libc's memory functions, rounding on machines that have
 * no instruction for it, the sanitizers' runtime. */
static bool resolve(const char *name, uintptr_t *address) {
  if (strncmp(name, "hia", 3) == 0) return hiaR_runtime_symbol(name, address);
  *address = (uintptr_t)dlsym(RTLD_DEFAULT, name);
  return *address != 0;
}

static hia_status resolve_all(const hia_allocator *allocator, const block *b, uintptr_t *addresses,
                              hia_error **error) {
  for (uint32_t i = 0; i < b->laid.n_imports; i++) {
    hia_laid_import import = import_at(b, i);
    const char *name = b->names + import.name;
    if (resolve(name, &addresses[i])) continue;
    if (!(import.flags & HIA_IMPORT_OPTIONAL))
      return hiaR_fail_text(allocator, error, HIA_INTERNAL, NULL,
                            "compiled code refers to `%.200s`, which is not there", name);
    addresses[i] = 0;
  }
  return HIA_OK;
}

/* ---- loading ---- */

struct hia_loaded_code {
  const hia_allocator *allocator;
  char *map; /* NULL: not mapped yet */
  char *text, *data;
  size_t map_size, own_size, data_size;
  uint32_t n_symbols;
  const hia_laid_symbol *symbols; /* behind this, followed by their names */
  const char *names;
};

static hia_loaded_code *new_code(const hia_allocator *allocator, const block *b) {
  size_t symbols_size = b->laid.n_symbols * sizeof(hia_laid_symbol), size = sizeof(hia_loaded_code);
  if (!hiaR_add(size, symbols_size, &size) || !hiaR_add(size, b->laid.names_size, &size))
    return NULL;
  hia_loaded_code *code = hiaR_alloc(allocator, size);
  if (!code) return NULL;
  code->allocator = allocator;
  code->own_size = size;
  code->n_symbols = b->laid.n_symbols;
  char *symbols = (char *)(code + 1), *names = symbols + symbols_size;
  memcpy(symbols, b->symbols, symbols_size);
  memcpy(names, b->names, b->laid.names_size);
  code->symbols = (const void *)symbols;
  code->names = names;
  return code;
}

static void apply(const block *b, char *text, const uintptr_t *addresses) {
  for (uint32_t i = 0; i < b->laid.n_relocations; i++) {
    hia_laid_relocation r = relocation_at(b, i);
    uintptr_t base = r.import == HIA_NONE ? (uintptr_t)text : addresses[r.import];
    uint64_t word = base + (uint64_t)r.addend;
    memcpy(text + b->data_at + r.at, &word, sizeof word);
  }
}

/* Makes the mapping. The host's errno stays as it is. */
static hia_status map_code(hia_loaded_code *code, const block *b, const uintptr_t *addresses) {
  const hia_laid_code *h = &b->laid;
  int before = errno;
  hia_status status = HIA_OK;
  code->map_size = BEFORE_TEXT + (size_t)b->data_at + h->data_size;
  char *map =
      mmap(NULL, code->map_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (map == MAP_FAILED) {
    status = HIA_MEMORY;
  } else {
    char *text = map + BEFORE_TEXT;
    code->map = map;
    code->text = text;
    code->data = text + b->data_at;
    code->data_size = h->data_size;
    memcpy(text, b->code, h->code_size);
    memcpy(text + b->data_at, b->data, h->data_given);
    apply(b, text, addresses);
    if (mprotect(map, BEFORE_TEXT + (size_t)b->data_at, PROT_READ | PROT_EXEC))
      status = errno == ENOMEM ? HIA_MEMORY : HIA_UNSUPPORTED;
    __builtin___clear_cache(text, text + h->code_size);
  }
  errno = before;
  return status;
}

static hia_status load(hia_loaded_code *code, const block *b, hia_error **error) {
  const hia_allocator *allocator = code->allocator;
  size_t size = b->laid.n_imports * sizeof(uintptr_t);
  uintptr_t *addresses = hiaR_alloc(allocator, size);
  if (size && !addresses) return hiaR_fail_memory(allocator, error);
  hia_status status = resolve_all(allocator, b, addresses, error);
  if (!status) {
    status = map_code(code, b, addresses);
    if (status == HIA_MEMORY)
      hiaR_fail_memory(allocator, error);
    else if (status)
      hiaR_fail_text(allocator, error, status, NULL,
                     "the system does not allow memory to be made executable");
  }
  hiaR_free(allocator, addresses, size);
  return status;
}

hia_status hiaR_code_load(const hia_allocator *allocator, const void *bytes, size_t size,
                          hia_loaded_code **out, hia_error **error) {
  *out = NULL;
  block b;
  if (!check_block(&b, bytes, size))
    return hiaR_fail_text(allocator, error, HIA_INTERNAL, NULL, "the laid-out code is damaged");
  hia_loaded_code *code = new_code(allocator, &b);
  if (!code) return hiaR_fail_memory(allocator, error);
  hia_status status = load(code, &b, error);
  if (status)
    hiaR_code_release(code);
  else
    *out = code;
  return status;
}

void hiaR_code_release(hia_loaded_code *code) {
  if (!code) return;
  if (code->map) munmap(code->map, code->map_size);
  hiaR_free(code->allocator, code, code->own_size);
}

/* ---- what is loaded ---- */

uintptr_t hiaR_code_text(const hia_loaded_code *code) { return (uintptr_t)code->text; }

bool hiaR_code_has(const hia_loaded_code *code, uintptr_t address, size_t size) {
  uintptr_t data = (uintptr_t)code->data;
  return address >= data && address - data <= code->data_size &&
         size <= code->data_size - (address - data);
}

bool hiaR_code_symbol_at(const hia_loaded_code *code, uint32_t i, const char **name,
                         uintptr_t *address) {
  if (i >= code->n_symbols) return false;
  *name = code->names + code->symbols[i].name;
  *address = (uintptr_t)code->text + code->symbols[i].at;
  return true;
}

bool hiaR_code_symbol(const hia_loaded_code *code, const char *wanted, uintptr_t *address) {
  uint32_t low = 0, high = code->n_symbols;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    const char *name;
    hiaR_code_symbol_at(code, middle, &name, address);
    int order = strcmp(name, wanted);
    if (order == 0) return true;
    if (order < 0)
      low = middle + 1;
    else
      high = middle;
  }
  return false;
}
