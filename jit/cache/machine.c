/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
#include "jit/cache/machine.h"
#include <link.h>
#include <sys/stat.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

/* ---- the processor ---- */

#if defined(__x86_64__)

/* Leaves of CPUID with features, each with its subleaf and the registers that count: a bit each,
 * from eax on. (ebx of leaf 1 has the number of the core.) */
static const struct {
  unsigned leaf, subleaf, registers;
} leaves[] = {{0, 0, 15},         {1, 0, 1 | 4 | 8},   {7, 0, 15},          {7, 1, 15},
              {7, 2, 15},         {0xd, 1, 1},         {0x14, 0, 2},        {0x19, 0, 2},
              {0x1e, 1, 1},       {0x24, 0, 2},        {0x80000001, 0, 15}, {0x80000007, 0, 8},
              {0x80000008, 0, 2}, {0x80000002, 0, 15}, {0x80000003, 0, 15}, {0x80000004, 0, 15}};

/* What the system saves of the registers: without that wide vectors are not used. */
static void describe_saved(hia_text *text) {
  unsigned a, b, c, d, low, high;
  if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE)) return;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  hiaR_text_addf(text, " saved %x %x", low, high);
}

bool hiaJ_machine_describe(hia_text *text) {
  hiaR_text_addf(text, "x86-64");
  for (size_t i = 0; i < HIA_LEN(leaves); i++) {
    unsigned r[4];
    if (!__get_cpuid_count(leaves[i].leaf, leaves[i].subleaf, &r[0], &r[1], &r[2], &r[3])) continue;
    hiaR_text_addf(text, " %x.%x:", leaves[i].leaf, leaves[i].subleaf);
    for (unsigned k = 0; k < 4; k++)
      if (leaves[i].registers >> k & 1) hiaR_text_addf(text, "%x,", r[k]);
  }
  describe_saved(text);
  hiaR_text_addf(text, "\n");
  return true;
}

#else

bool hiaJ_machine_describe(hia_text *text) {
  (void)text;
  return false;
}

#endif

/* ---- this build ---- */

typedef struct finding {
  hia_text *text;
  bool is_found;
} finding;

static bool has_address(const struct dl_phdr_info *object, uintptr_t address) {
  for (int i = 0; i < object->dlpi_phnum; i++) {
    const ElfW(Phdr) *p = &object->dlpi_phdr[i];
    if (p->p_type == PT_LOAD && address - (object->dlpi_addr + p->p_vaddr) < p->p_memsz)
      return true;
  }
  return false;
}

/* Writes the identification that the linker has computed from the contents, if there is one. */
static bool describe_notes(hia_text *text, const char *at, size_t size) {
  while (size >= sizeof(ElfW(Nhdr))) {
    const ElfW(Nhdr) *note = (const void *)at;
    size_t name = (note->n_namesz + 3u) & ~(size_t)3, value = (note->n_descsz + 3u) & ~(size_t)3;
    if (name > size - sizeof *note || value > size - sizeof *note - name) return false;
    const unsigned char *id = (const unsigned char *)at + sizeof *note + name;
    if (note->n_type == NT_GNU_BUILD_ID && note->n_descsz >= 8) {
      for (size_t i = 0; i < note->n_descsz; i++) hiaR_text_addf(text, "%02x", id[i]);
      return true;
    }
    at += sizeof *note + name + value;
    size -= sizeof *note + name + value;
  }
  return false;
}

static int find_build(struct dl_phdr_info *object, size_t size, void *user) {
  (void)size;
  finding *f = user;
  if (!has_address(object, (uintptr_t)hiaJ_build_describe)) return 0;
  for (int i = 0; i < object->dlpi_phnum && !f->is_found; i++) {
    const ElfW(Phdr) *p = &object->dlpi_phdr[i];
    if (p->p_type == PT_NOTE)
      f->is_found =
          describe_notes(f->text, (const char *)object->dlpi_addr + p->p_vaddr, p->p_memsz);
  }
  return 1;
}

bool hiaJ_build_describe(hia_text *text) {
  finding f = {.text = text};
  hiaR_text_addf(text, "hiaton " HIA_BUILD_VERSION " ");
  dl_iterate_phdr(find_build, &f);
  hiaR_text_addf(text, "\n");
  return f.is_found;
}

/* ---- the compiler ---- */

static bool look_at(const char *path, hia_entry_file *file) {
  struct stat s;
  if (stat(path, &s) != 0) return false;
  file->size = (uint64_t)s.st_size;
  file->seconds = s.st_mtim.tv_sec;
  file->nanoseconds = s.st_mtim.tv_nsec;
  return true;
}

/* Called with a lock of the dynamic linker, so it must not throw: only numbers are kept. */
static int count_library(struct dl_phdr_info *object, size_t size, void *user) {
  (void)size;
  uint32_t *n = user;
  *n += strstr(object->dlpi_name, "libLLVM") || strstr(object->dlpi_name, "libhiaton_llvm");
  return 0;
}

typedef struct library_path {
  char text[512];
} library_path;
typedef struct path_list {
  library_path *paths;
  uint32_t n, room;
} path_list;

static int list_library(struct dl_phdr_info *object, size_t size, void *user) {
  (void)size;
  path_list *list = user;
  const char *path = object->dlpi_name;
  if (!strstr(path, "libLLVM") && !strstr(path, "libhiaton_llvm")) return 0;
  if (list->n < list->room && strlen(path) < sizeof list->paths->text)
    strcpy(list->paths[list->n].text, path);
  list->n++;
  return 0;
}

bool hiaJ_compiler_files(hia_text *strings, const hia_entry_file **files, uint32_t *n) {
  path_list list = {0};
  dl_iterate_phdr(count_library, &list.room);
  list.paths = HIA_NEW_ARRAY(strings->arena, library_path, (size_t)list.room + 1);
  dl_iterate_phdr(list_library, &list);
  hia_entry_file *found = HIA_NEW_ARRAY(strings->arena, hia_entry_file, (size_t)list.room + 1);
  if (list.n != list.room) return false; /* one was opened meanwhile */
  for (uint32_t i = 0; i < list.n; i++) {
    found[i].path = (uint32_t)strings->len;
    const char *path = list.paths[i].text;
    if (!*path || !look_at(path, &found[i])) return false;
    hiaR_text_add(strings, path, strlen(path) + 1);
  }
  *files = found;
  *n = list.n;
  return true;
}

bool hiaJ_files_are_same(const hia_entry *e) {
  for (uint32_t i = 0; i < e->n_files; i++) {
    const hia_entry_file *was = &e->files[i];
    hia_entry_file is = {0};
    if (!look_at(e->strings + was->path, &is) || is.size != was->size ||
        is.seconds != was->seconds || is.nanoseconds != was->nanoseconds)
      return false;
  }
  return true;
}
