/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* GDB's interface for code that was made at run time ("JIT Compilation Interface" in its manual):
 * ELF files in memory, in a list that GDB reads when it attaches, and when a function is called in
 * which it has a breakpoint. LLDB reads the same list. */
#include "runtime/native/arch/arch.h"
#include "runtime/native/debug/bytes.h"
#include "runtime/native/debug/parts.h"
#include <elf.h>
#include <pthread.h>

/* ---- the interface: names and layouts are GDB's ---- */

struct jit_code_entry {
  struct jit_code_entry *next_entry, *prev_entry;
  const char *symfile_addr;
  uint64_t symfile_size;
};
struct jit_descriptor {
  uint32_t version, action_flag;
  struct jit_code_entry *relevant_entry, *first_entry;
};
enum { JIT_NOACTION, JIT_REGISTER, JIT_UNREGISTER };

/* GDB finds both by their names, so they are symbols of the library for which no symbol table is
 * needed that strip removes. They are weak since LLVM has the same ones, and may be linked into the
 * same program. */
void __jit_debug_register_code(void);
extern struct jit_descriptor __jit_debug_descriptor;
__attribute__((weak, noinline)) void __jit_debug_register_code(void) {
  __asm__ volatile("" ::: "memory");
}
__attribute__((weak)) struct jit_descriptor __jit_debug_descriptor = {.version = 1};

/* ---- the list ---- */

struct hia_debug_symbols {
  struct jit_code_entry entry; /* for GDB; behind this, the file */
  hia_debug_symbols *next;
  const hia_allocator *allocator;
  size_t size; /* of this block */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of GDB's list */

static void notify(uint32_t action, struct jit_code_entry *entry) {
  __jit_debug_descriptor.relevant_entry = entry;
  __jit_debug_descriptor.action_flag = action;
  __jit_debug_register_code();
  __jit_debug_descriptor.relevant_entry = NULL;
  __jit_debug_descriptor.action_flag = JIT_NOACTION;
}

bool hiaR_debug_register(const hia_allocator *allocator, const hia_text *file,
                         hia_debug_symbols **list) {
  size_t size;
  if (!hiaR_add(sizeof(hia_debug_symbols), file->len, &size)) return false;
  hia_debug_symbols *symbols = hiaR_alloc(allocator, size);
  if (!symbols) return false;
  symbols->allocator = allocator;
  symbols->size = size;
  symbols->next = *list;
  *list = symbols;
  memcpy(symbols + 1, file->data, file->len);
  struct jit_code_entry *entry = &symbols->entry;
  entry->symfile_addr = (const char *)(symbols + 1);
  entry->symfile_size = file->len;
  pthread_mutex_lock(&lock);
  entry->next_entry = __jit_debug_descriptor.first_entry;
  if (entry->next_entry) entry->next_entry->prev_entry = entry;
  __jit_debug_descriptor.first_entry = entry;
  notify(JIT_REGISTER, entry);
  pthread_mutex_unlock(&lock);
  return true;
}

void hiaR_debug_hide(hia_debug_symbols **list) {
  while (*list) {
    hia_debug_symbols *symbols = *list;
    struct jit_code_entry *entry = &symbols->entry;
    *list = symbols->next;
    pthread_mutex_lock(&lock);
    if (entry->prev_entry)
      entry->prev_entry->next_entry = entry->next_entry;
    else
      __jit_debug_descriptor.first_entry = entry->next_entry;
    if (entry->next_entry) entry->next_entry->prev_entry = entry->prev_entry;
    notify(JIT_UNREGISTER, entry);
    pthread_mutex_unlock(&lock);
    hiaR_free(symbols->allocator, symbols, symbols->size);
  }
}

/* ---- the file ---- */

typedef enum section {
  NONE,
  TEXT, /* its bytes are in the process, and not in the file */
  NAMES,
  STRINGS,
  SYMBOLS,
  LINE,
  ABBREV,
  INFO,
  FRAME,
  N_SECTIONS
} section;

static const char *const names[N_SECTIONS] = {[NONE] = "",
                                              [TEXT] = ".text",
                                              [NAMES] = ".shstrtab",
                                              [STRINGS] = ".strtab",
                                              [SYMBOLS] = ".symtab",
                                              [LINE] = ".debug_line",
                                              [ABBREV] = ".debug_abbrev",
                                              [INFO] = ".debug_info",
                                              [FRAME] = ".debug_frame"};

static void put_names(Elf64_Shdr *headers, hia_text *out) {
  size_t from = out->len;
  for (section s = NONE; s < N_SECTIONS; s++) {
    headers[s].sh_name = hiaR_u32(out->len - from);
    hiaR_put_string(out, names[s]);
  }
}

static void put_strings(const hia_outline *o, hia_text *out) {
  hiaR_put(out, 0, 1);
  hiaR_text_add(out, hiaR_outline_names(o), o->names_size);
}

static void put_symbols(const hia_outline *o, hia_text *out) {
  static const Elf64_Sym none;
  hiaR_text_add(out, (const char *)&none, sizeof none);
  for (uint32_t i = 0; i < o->n_functions; i++) {
    const hia_outline_function *f = &hiaR_outline_functions(o)[i];
    Elf64_Sym symbol = {.st_name = f->name + 1,
                        .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
                        .st_shndx = TEXT,
                        .st_value = f->pc,
                        .st_size = f->end - f->pc};
    hiaR_text_add(out, (const char *)&symbol, sizeof symbol);
  }
}

static void put_section(const hia_debug_code *code, section s, Elf64_Shdr *headers, hia_text *out) {
  switch (s) {
  case NAMES: put_names(headers, out); return;
  case STRINGS: put_strings(code->outline, out); return;
  case SYMBOLS: put_symbols(code->outline, out); return;
  case LINE: hiaR_debug_line(code, out); return;
  case ABBREV: hiaR_debug_abbrev(out); return;
  case INFO: hiaR_debug_info(code, out); return;
  case FRAME: hiaR_debug_frame(code, out); return;
  case NONE:
  case TEXT:
  case N_SECTIONS: return;
  }
}

static void describe_sections(const hia_debug_code *code, Elf64_Shdr *headers) {
  for (section s = NAMES; s < N_SECTIONS; s++)
    headers[s] = (Elf64_Shdr){.sh_type = SHT_PROGBITS, .sh_addralign = 1};
  headers[TEXT] = (Elf64_Shdr){.sh_type = SHT_NOBITS,
                               .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
                               .sh_addr = code->text,
                               .sh_size = code->outline->code_size,
                               .sh_addralign = 16};
  headers[NAMES].sh_type = headers[STRINGS].sh_type = SHT_STRTAB;
  headers[SYMBOLS].sh_type = SHT_SYMTAB;
  headers[SYMBOLS].sh_link = STRINGS;
  headers[SYMBOLS].sh_info = 1; /* the first that is global */
  headers[SYMBOLS].sh_entsize = sizeof(Elf64_Sym);
}

void hiaR_debug_symbol_file(const hia_debug_code *code, hia_text *out) {
  Elf64_Ehdr head = {
      .e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
      .e_type = ET_REL,
      .e_machine = HIA_ARCH_MACHINE,
      .e_version = EV_CURRENT,
      .e_shoff = sizeof head,
      .e_ehsize = sizeof head,
      .e_shentsize = sizeof(Elf64_Shdr),
      .e_shnum = N_SECTIONS,
      .e_shstrndx = NAMES};
  Elf64_Shdr headers[N_SECTIONS] = {{0}};
  describe_sections(code, headers);
  size_t file = out->len;
  hiaR_text_add(out, (const char *)&head, sizeof head);
  hiaR_text_add(out, (const char *)headers, sizeof headers);
  for (section s = NAMES; s < N_SECTIONS; s++) {
    hiaR_put_padding(out, file, 8);
    headers[s].sh_offset = out->len - file;
    put_section(code, s, headers, out);
    headers[s].sh_size = out->len - file - headers[s].sh_offset;
  }
  memcpy(out->data + file + sizeof head, headers, sizeof headers);
}
