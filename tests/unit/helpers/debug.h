/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* What debuggers and profilers are told, read back: GDB's list, files of perf, and what binutils
 * say of a symbol file. */
#ifndef HELPER_DEBUG_H
#define HELPER_DEBUG_H

#include "tests/unit/helpers/text.h"
#include <criterion/criterion.h>
#include <elf.h>
#include <inttypes.h>
#include <unistd.h>

/* GDB's interface, as its manual has it. */
struct jit_code_entry {
  struct jit_code_entry *next_entry, *prev_entry;
  const char *symfile_addr;
  uint64_t symfile_size;
};
extern struct jit_descriptor {
  uint32_t version, action_flag;
  struct jit_code_entry *relevant_entry, *first_entry;
} __jit_debug_descriptor;

/* The number of symbol files; their list is sound. */
static inline unsigned n_symbol_files(void) {
  unsigned n = 0;
  cr_assert_eq(__jit_debug_descriptor.version, 1);
  cr_assert_eq(__jit_debug_descriptor.action_flag, 0);
  const struct jit_code_entry *before = NULL;
  for (struct jit_code_entry *e = __jit_debug_descriptor.first_entry; e; e = e->next_entry) {
    cr_assert_eq(e->prev_entry, before);
    before = e;
    n++;
  }
  return n;
}

/* A section of a symbol file, all of whose headers are checked. */
static inline const Elf64_Shdr *section_named(const struct jit_code_entry *file, const char *name) {
  const Elf64_Ehdr *head = (const void *)file->symfile_addr;
  cr_assert(file->symfile_size > sizeof *head && memcmp(head->e_ident, ELFMAG, SELFMAG) == 0);
  cr_assert_eq(head->e_machine, EM_X86_64);
  cr_assert_leq(head->e_shoff + head->e_shnum * sizeof(Elf64_Shdr), file->symfile_size);
  const Elf64_Shdr *sections = (const void *)(file->symfile_addr + head->e_shoff), *found = NULL;
  const Elf64_Shdr *names = &sections[head->e_shstrndx];
  for (unsigned i = 1; i < head->e_shnum; i++) {
    if (sections[i].sh_type != SHT_NOBITS)
      cr_assert_leq(sections[i].sh_offset + sections[i].sh_size, file->symfile_size);
    cr_assert_lt(sections[i].sh_name, names->sh_size);
    if (strcmp(file->symfile_addr + names->sh_offset + sections[i].sh_name, name) == 0)
      found = &sections[i];
  }
  cr_assert_not_null(found, "%s", name);
  return found;
}

/* Symbol i: its name, offset and size. False: there are fewer. */
static inline bool symbol_of(const struct jit_code_entry *file, unsigned i, const char **name,
                             uint64_t *offset, uint64_t *size) {
  const Elf64_Shdr *symbols = section_named(file, ".symtab"),
                   *strings = section_named(file, ".strtab");
  if (i + 1 >= symbols->sh_size / sizeof(Elf64_Sym)) return false;
  Elf64_Sym symbol;
  memcpy(&symbol, file->symfile_addr + symbols->sh_offset + (i + 1) * sizeof symbol, sizeof symbol);
  cr_assert_lt(symbol.st_name, strings->sh_size);
  *name = file->symfile_addr + strings->sh_offset + symbol.st_name;
  *offset = symbol.st_value;
  *size = symbol.st_size;
  return true;
}

/* What a program of binutils prints of the file; the caller frees it. */
static inline char *ask(const struct jit_code_entry *file, const char *command) {
  char path[] = "/tmp/hiaton-symbols-XXXXXX", line[256];
  int fd = mkstemp(path);
  cr_assert_geq(fd, 0);
  cr_assert_eq(write(fd, file->symfile_addr, file->symfile_size), (ssize_t)file->symfile_size);
  close(fd);
  snprintf(line, sizeof line, "%s %s 2>&1", command, path);
  FILE *pipe = popen(line, "r");
  cr_assert_not_null(pipe);
  test_text text = {0};
  char piece[4096];
  for (size_t n; (n = fread(piece, 1, sizeof piece, pipe)) > 0;) test_text_take(&text, piece, n);
  cr_assert_eq(pclose(pipe), 0, "%s: %s", command, text.data);
  unlink(path);
  return text.data;
}

/* ---- dumps of code ---- */

typedef struct dumped {
  unsigned n_functions, n_lines, n_frames;
  char names[4096]; /* "NAME SIZE FIRST-LINE N-LINES FRAMES\n" for each function */
} dumped;

static inline uint64_t number_at(const char *at, unsigned n) {
  uint64_t number = 0;
  memcpy(&number, at, n);
  return number;
}

/* The frames of a function are at the place that perf puts them, behind its code. */
static inline void check_frames(const char *at, uint64_t size, uint64_t header_size,
                                uint64_t code_size) {
  int64_t function = -(int64_t)((code_size + 7) & ~(uint64_t)7);
  const char *header = at + size - header_size;
  cr_assert(header_size == 20 && (unsigned char)header[0] == 1);
  int64_t header_at = (int64_t)(size - header_size);
  cr_assert_eq((int32_t)number_at(header + 4, 4) + header_at + 4, 0, "to .eh_frame");
  cr_assert_eq(number_at(header + 8, 4), 1);
  cr_assert_eq((int32_t)number_at(header + 12, 4) + header_at, function);
  int64_t fde = (int32_t)number_at(header + 16, 4) + header_at;
  cr_assert(fde > 0 && fde + 20 < header_at);
  cr_assert_eq(fde + 4 - (int64_t)number_at(at + fde + 4, 4), 0, "to the CIE");
  cr_assert_eq((int32_t)number_at(at + fde + 8, 4) + fde + 8, function);
  cr_assert_eq(number_at(at + fde + 12, 4), code_size);
}

/* Reads a dump of this process' code, every byte of it. */
static inline dumped read_dump(const test_text *file) {
  dumped d = {0};
  uint64_t time = 0, number = 0, frames = 0, frames_header = 0, lines = 0, first = 0;
  const char *frames_at = NULL;
  cr_assert(file->len >= 40 && number_at(file->data, 4) == 0x4a695444);
  cr_assert(number_at(file->data + 4, 4) == 1 && number_at(file->data + 8, 4) == 40);
  cr_assert(number_at(file->data + 12, 4) == EM_X86_64);
  cr_assert_eq(number_at(file->data + 20, 4), (uint64_t)getpid());
  for (size_t at = 40; at < file->len;) {
    cr_assert_leq(at + 16, file->len);
    const char *r = file->data + at;
    uint64_t kind = number_at(r, 4), size = number_at(r + 4, 4), when = number_at(r + 8, 8);
    cr_assert(size >= 16 && at + size <= file->len && when >= time);
    time = when;
    at += size;
    if (kind == 2) {
      lines = number_at(r + 24, 8);
      first = number_at(r + 40, 4);
      d.n_lines += (unsigned)lines;
      const char *entry = r + 32;
      for (uint64_t i = 0; i < lines; i++) entry += 16 + strlen(entry + 16) + 1;
      cr_assert(entry <= r + size && r + size - entry < 8);
    } else if (kind == 4) {
      frames = number_at(r + 16, 8);
      frames_header = number_at(r + 24, 8);
      cr_assert(number_at(r + 32, 8) == 0 && 40 + frames <= size && size < 48 + frames);
      frames_at = r + 40;
      d.n_frames++;
    } else {
      cr_assert_eq(kind, 0);
      uint64_t code_size = number_at(r + 40, 8);
      cr_assert_eq(number_at(r + 16, 4), (uint64_t)getpid());
      cr_assert_eq(number_at(r + 24, 8), number_at(r + 32, 8));
      cr_assert(d.n_functions == 0 || number_at(r + 48, 8) > number);
      number = number_at(r + 48, 8);
      const char *name = r + 56, *code = name + strlen(name) + 1;
      cr_assert_eq(code + code_size, r + size);
      if (frames_at) check_frames(frames_at, frames, frames_header, code_size);
      size_t n = strlen(d.names);
      snprintf(d.names + n, sizeof d.names - n, "%s %" PRIu64 " %" PRIu64 " %" PRIu64 " %d\n", name,
               code_size, first, lines, frames_at != NULL);
      frames_at = NULL;
      lines = first = 0;
      d.n_functions++;
    }
  }
  return d;
}

#endif
