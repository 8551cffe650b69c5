/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Reads the object files that LLVM makes for us: ELF64 of the machine's byte order. Every offset is
 * checked against the bounds of the bytes, since such a file may come from a cache one day. */
#include "jit/llvm/backend.h"
#include "runtime/native/arch/arch.h"
#include "runtime/native/module.h"
#include "runtime/native/tables.h"
#include <elf.h>

static bool within(const hia_object *o, uint64_t offset, uint64_t size) {
  return offset <= o->size && size <= o->size - offset;
}

static bool elf_section_header(const hia_object *o, uint32_t i, Elf64_Shdr *out) {
  Elf64_Ehdr header;
  memcpy(&header, o->bytes, sizeof header);
  uint64_t at = header.e_shoff + (uint64_t)i * sizeof *out;
  if (i >= header.e_shnum || !within(o, at, sizeof *out)) return false;
  memcpy(out, o->bytes + at, sizeof *out);
  return out->sh_type == SHT_NOBITS || within(o, out->sh_offset, out->sh_size);
}

/* The NUL-terminated string at `at` of the ELF section of names; "" if there is none. */
static const char *name_at(const hia_object *o, const Elf64_Shdr *names, uint64_t at) {
  if (names->sh_type == SHT_NOBITS || at >= names->sh_size) return "";
  const char *name = (const char *)o->bytes + names->sh_offset + at;
  return memchr(name, 0, names->sh_size - at) ? name : "";
}

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define BYTE_ORDER_HERE ELFDATA2LSB
#else
#define BYTE_ORDER_HERE ELFDATA2MSB
#endif

/* The field of the ELF section called `name`; NULL if nothing reads that one. */
static hia_elf_section *elf_section_named(hia_object *o, const char *name) {
  if (!strcmp(name, ".text")) return &o->text;
  if (!strcmp(name, ".eh_frame")) return &o->eh_frame;
  if (!strcmp(name, ".debug_line")) return &o->debug_line;
  if (!strcmp(name, HIA_FORK_SECTION)) return &o->forks;
  if (!strcmp(name, HIA_ARCH_FRAME_SECTION)) return &o->fork_frames;
  if (!strcmp(name, ".symtab")) return &o->symbols;
  if (!strcmp(name, ".strtab")) return &o->strings;
  return NULL;
}

bool hiaJ_object_open(hia_object *o, const void *bytes, size_t size) {
  *o = (hia_object){.bytes = bytes, .size = size};
  Elf64_Ehdr header;
  if (size < sizeof header) return false;
  memcpy(&header, bytes, sizeof header);
  if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_ident[EI_DATA] != BYTE_ORDER_HERE || header.e_type != ET_REL ||
      header.e_shentsize != sizeof(Elf64_Shdr))
    return false;
  Elf64_Shdr names;
  if (!elf_section_header(o, header.e_shstrndx, &names)) return false;
  for (uint32_t i = 0; i < header.e_shnum; i++) {
    Elf64_Shdr elf_section;
    if (!elf_section_header(o, i, &elf_section)) return false;
    if (elf_section.sh_type == SHT_NOBITS) continue;
    if (elf_section.sh_type == SHT_RELA) {
      Elf64_Shdr target;
      if (!elf_section_header(o, elf_section.sh_info, &target)) return false;
      hia_elf_section *known = elf_section_named(o, name_at(o, &names, target.sh_name));
      if (!known) continue;
      known->relocations = o->bytes + elf_section.sh_offset;
      known->n_relocations = elf_section.sh_size / sizeof(Elf64_Rela);
      continue;
    }
    hia_elf_section *known = elf_section_named(o, name_at(o, &names, elf_section.sh_name));
    if (!known) continue;
    known->data = o->bytes + elf_section.sh_offset;
    known->size = elf_section.sh_size;
    if (known == &o->text) o->text_index = i;
  }
  return o->text.data && o->symbols.data && o->strings.data;
}

static bool symbol_at(const hia_object *o, uint64_t i, Elf64_Sym *symbol) {
  if (i >= o->symbols.size / sizeof *symbol) return false;
  memcpy(symbol, o->symbols.data + i * sizeof *symbol, sizeof *symbol);
  return true;
}

static const char *symbol_name(const hia_object *o, const Elf64_Sym *symbol) {
  if (symbol->st_name >= o->strings.size) return "";
  const unsigned char *at = o->strings.data + symbol->st_name;
  return memchr(at, 0, o->strings.size - symbol->st_name) ? (const char *)at : "";
}

bool hiaJ_object_function(const hia_object *o, uint64_t i, const char **name, uint64_t *offset) {
  Elf64_Sym symbol;
  if (!symbol_at(o, i, &symbol)) return false;
  *offset = symbol.st_value;
  bool is_in_text = symbol.st_shndx == o->text_index && *offset < o->text.size;
  *name = is_in_text ? symbol_name(o, &symbol) : "";
  return true;
}

bool hiaJ_object_place(const hia_object *o, const hia_elf_section *elf_section, uint64_t at,
                       uint64_t *next, uint32_t *section, uint64_t *offset) {
  for (; *next < elf_section->n_relocations; ++*next) {
    Elf64_Rela relocation;
    memcpy(&relocation, elf_section->relocations + *next * sizeof relocation, sizeof relocation);
    if (relocation.r_offset < at) continue;
    if (relocation.r_offset > at) return false;
    Elf64_Sym symbol;
    if (!symbol_at(o, ELF64_R_SYM(relocation.r_info), &symbol)) return false;
    /* The type of the relocation (absolute, or relative to the word) does not matter: the tables
     * are read from the file, where only the symbol and the addend are of use. */
    *section = symbol.st_shndx;
    *offset = symbol.st_value + (uint64_t)relocation.r_addend;
    return true;
  }
  return false;
}

bool hiaJ_object_target(const hia_object *o, const hia_elf_section *elf_section, uint64_t at,
                        uint64_t *next, uint64_t *offset) {
  uint32_t section;
  return hiaJ_object_place(o, elf_section, at, next, &section, offset) &&
         section == o->text_index && *offset <= o->text.size;
}

/* ---- all of it, for link.c ---- */

uint32_t hiaJ_object_n_sections(const hia_object *o) {
  Elf64_Ehdr header;
  memcpy(&header, o->bytes, sizeof header);
  return header.e_shnum;
}

bool hiaJ_object_section(const hia_object *o, uint32_t i, hia_object_section *out) {
  Elf64_Ehdr header;
  Elf64_Shdr names, section;
  memcpy(&header, o->bytes, sizeof header);
  if (!elf_section_header(o, header.e_shstrndx, &names) || !elf_section_header(o, i, &section))
    return false;
  bool has_bytes = section.sh_type != SHT_NOBITS;
  *out = (hia_object_section){.name = name_at(o, &names, section.sh_name),
                              .type = section.sh_type,
                              .flags = section.sh_flags,
                              .size = section.sh_size,
                              .align = section.sh_addralign ? section.sh_addralign : 1,
                              .data = has_bytes ? o->bytes + section.sh_offset : NULL,
                              .relocated = section.sh_type == SHT_RELA ? section.sh_info : 0};
  return true;
}

uint64_t hiaJ_object_n_symbols(const hia_object *o) { return o->symbols.size / sizeof(Elf64_Sym); }

bool hiaJ_object_symbol(const hia_object *o, uint64_t i, hia_object_symbol *out) {
  Elf64_Sym symbol;
  if (!symbol_at(o, i, &symbol)) return false;
  *out = (hia_object_symbol){.name = symbol_name(o, &symbol),
                             .section = symbol.st_shndx,
                             .value = symbol.st_value,
                             .size = symbol.st_size,
                             .is_function = ELF64_ST_TYPE(symbol.st_info) == STT_FUNC,
                             .is_local = ELF64_ST_BIND(symbol.st_info) == STB_LOCAL,
                             .is_weak = ELF64_ST_BIND(symbol.st_info) == STB_WEAK};
  return true;
}

bool hiaJ_object_relocation(const hia_object_section *section, uint64_t i,
                            hia_object_relocation *out) {
  Elf64_Rela relocation;
  if (i >= section->size / sizeof relocation) return false;
  memcpy(&relocation, section->data + i * sizeof relocation, sizeof relocation);
  *out = (hia_object_relocation){.at = relocation.r_offset,
                                 .type = (uint32_t)ELF64_R_TYPE(relocation.r_info),
                                 .symbol = (uint32_t)ELF64_R_SYM(relocation.r_info),
                                 .addend = relocation.r_addend};
  return true;
}

/* ---- an object for the linker ---- */

uint64_t hiaJ_object_finished_size(const hia_object *o, uint64_t tables_size) {
  return ((o->size + 7) & ~(uint64_t)7) + tables_size;
}

/* The offset in the file of the header of ELF section i. */
static uint64_t elf_section_header_at(const hia_object *o, uint32_t i) {
  Elf64_Ehdr header;
  memcpy(&header, o->bytes, sizeof header);
  return header.e_shoff + (uint64_t)i * sizeof(Elf64_Shdr);
}

/* True if only hiaton reads the section: the linker leaves it out. */
static bool is_ours(const char *name) {
  return strncmp(name, ".debug_", 7) == 0 || strcmp(name, HIA_FORK_SECTION) == 0 ||
         strcmp(name, HIA_ARCH_FRAME_SECTION) == 0;
}

/* The offset in the file of a symbol's bytes; 0 if there are not `size` bytes of it. */
static uint64_t symbol_bytes(const hia_object *o, const char *wanted, uint64_t size) {
  Elf64_Sym symbol;
  for (uint64_t i = 0; symbol_at(o, i, &symbol); i++) {
    Elf64_Shdr section;
    if (strcmp(symbol_name(o, &symbol), wanted) != 0) continue;
    if (!elf_section_header(o, symbol.st_shndx, &section) || section.sh_type == SHT_NOBITS)
      return 0;
    if (symbol.st_value > section.sh_size || size > section.sh_size - symbol.st_value) return 0;
    return section.sh_offset + symbol.st_value;
  }
  return 0;
}

bool hiaJ_object_finish(const hia_object *o, const hia_tables *tables, unsigned char *out) {
  uint64_t tables_size = hiaR_tables_size(tables);
  size_t max_frame = tables->max_frame ? tables->max_frame : 1; /* a record's is never 0 */
  uint64_t tables_at = hiaJ_object_finished_size(o, 0);
  memcpy(out, o->bytes, o->size);
  memset(out + o->size, 0, tables_at - o->size);
  memcpy(out + tables_at, tables, tables_size);

  Elf64_Ehdr header;
  Elf64_Shdr names;
  memcpy(&header, o->bytes, sizeof header);
  if (!elf_section_header(o, header.e_shstrndx, &names)) return false;
  bool has_tables = false;
  for (uint32_t i = 0; i < header.e_shnum; i++) {
    Elf64_Shdr elf_section;
    if (!elf_section_header(o, i, &elf_section)) return false;
    const char *name = name_at(o, &names, elf_section.sh_name);
    if (strcmp(name, HIA_TABLES_SECTION) == 0) {
      elf_section.sh_offset = tables_at;
      elf_section.sh_size = tables_size;
      has_tables = true;
    }
    if (is_ours(name)) elf_section.sh_flags |= SHF_EXCLUDE;
    memcpy(out + elf_section_header_at(o, i), &elf_section, sizeof elf_section);
  }
  uint64_t record = symbol_bytes(o, HIA_MODULE_NAME, sizeof(hia_code_module));
  if (!record) return false;
  memcpy(out + record + offsetof(hia_code_module, unwinder.max_frame), &max_frame,
         sizeof max_frame);
  return has_tables;
}
