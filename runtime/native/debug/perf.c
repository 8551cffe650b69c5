/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The two files by which perf knows code that was made at run time (tools/perf/Documentation of
 * Linux: jit-interface.txt, jitdump-specification.txt).
 *
 * The map has a line for each function. The dump has, besides, the code itself, lines and frames,
 * and times, since addresses are used again; `perf inject --jit` makes an object file of each
 * function of it.
 *
 * Both are this process' files, whichever engines it has. They stay when it ends, since that is
 * when perf reads them. Anybody may write into /tmp: so a file must not be there, and what is there
 * under its name, such as a link, is neither followed nor written. */
#include "runtime/native/arch/arch.h"
#include "runtime/native/debug/bytes.h"
#include "runtime/native/debug/parts.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- what stands in them ---- */

void hiaR_debug_map(const hia_debug_code *code, hia_text *out) {
  const char *names = hiaR_outline_names(code->outline);
  for (uint32_t i = 0; i < code->outline->n_functions; i++) {
    const hia_outline_function *f = &hiaR_outline_functions(code->outline)[i];
    hiaR_text_addf(out, "%" PRIxPTR " %x %s\n", code->text + f->pc, f->end - f->pc,
                   names + f->name);
  }
}

#define DUMP_MAGIC 0x4a695444u
enum { DUMP_VERSION = 1, DUMP_HEADER = 40 };
enum { DUMP_LOAD = 0, DUMP_LINES = 2, DUMP_FRAMES = 4 };

/* A record begins with its kind, its size and a time, which it gets when it is written. Returns its
 * begin. */
static size_t begin_record(hia_text *out, uint32_t kind) {
  size_t from = out->len;
  hiaR_put(out, kind, 4);
  hiaR_put(out, 0, 4 + 8);
  return from;
}
static void end_record(hia_text *out, size_t from) {
  hiaR_put_padding(out, from, 8);
  hiaR_put_at(out, from + 4, out->len - from);
}

/* perf has no folder that names of files begin in. */
static const char *whole_name(const char *file, hia_arena *arena) {
  char folder[4096];
  bool is_file = strcmp(file, "-") != 0 && strcmp(file, HIA_EXPRESSION) != 0;
  if (!is_file || file[0] == '/' || !getcwd(folder, sizeof folder)) return file;
  return hiaR_arena_printf(arena, "%s/%s", folder, file);
}

static void dump_lines(const hia_debug_code *code, const hia_outline_function *f, hia_text *out) {
  uint32_t n, n_known = 0;
  const hia_debug_row *rows = hiaR_debug_rows(code, f, out->arena, &n);
  for (uint32_t i = 0; i < n; i++) n_known += rows[i].loc != HIA_NONE;
  if (!n_known) return;
  const char *program = whole_name(hiaR_debug_file(code->places), out->arena);
  size_t record = begin_record(out, DUMP_LINES);
  hiaR_put(out, code->text + f->pc, 8);
  hiaR_put(out, n_known, 8);
  for (uint32_t i = 0; i < n; i++) {
    if (rows[i].loc == HIA_NONE) continue;
    hia_debug_place place = hiaR_debug_place(code->places, rows[i].loc);
    hiaR_put(out, code->text + rows[i].pc, 8);
    hiaR_put(out, place.line, 4);
    hiaR_put(out, 0, 4);
    bool is_expression = strcmp(place.file, HIA_EXPRESSION) == 0;
    hiaR_put_string(out, is_expression ? place.file : program);
  }
  end_record(out, record);
}

static void dump_frames(const hia_debug_code *code, const hia_outline_function *f, hia_text *out) {
  if (!f->rules_size) return;
  size_t record = begin_record(out, DUMP_FRAMES), sizes = out->len;
  for (int i = 0; i < 3; i++) hiaR_put(out, 0, 8); /* of all, of the header, of what is in memory */
  size_t from = out->len, header = hiaR_debug_eh_frame(code, f, out);
  hiaR_put_at(out, sizes, out->len - from);
  hiaR_put_at(out, sizes + 8, header);
  end_record(out, record);
}

static void dump_code(const hia_debug_code *code, const hia_outline_function *f, hia_text *out) {
  size_t size = f->end - f->pc, record = begin_record(out, DUMP_LOAD);
  hiaR_put(out, (uint64_t)getpid(), 4);
  hiaR_put(out, (uint64_t)syscall(SYS_gettid), 4);
  hiaR_put(out, code->text + f->pc, 8); /* where it runs, and where it is */
  hiaR_put(out, code->text + f->pc, 8);
  hiaR_put(out, size, 8);
  hiaR_put(out, 0, 8); /* its number, see `complete` */
  hiaR_put_string(out, hiaR_outline_names(code->outline) + f->name);
  hiaR_text_add(out, (const char *)(code->text + f->pc), size);
  hiaR_put_at(out, record + 4, out->len - record); /* perf takes what is behind it for code */
}

void hiaR_debug_dump(const hia_debug_code *code, hia_text *out) {
  for (uint32_t i = 0; i < code->outline->n_functions; i++) {
    const hia_outline_function *f = &hiaR_outline_functions(code->outline)[i];
    dump_lines(code, f, out);
    dump_frames(code, f, out);
    dump_code(code, f, out);
  }
}

/* ---- the files ---- */

typedef struct perf_file {
  int fd; /* or -1 */
  bool is_tried;
  off_t size;
} perf_file;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of what follows */
static pid_t owner; /* that the files are of: a child has files of its own */
static perf_file map_file = {.fd = -1}, dump_file = {.fd = -1};

static void fail(perf_file *file, const char *path, const char *what, char why[HIA_DEBUG_WHY]) {
  char reason[128];
  snprintf(why, HIA_DEBUG_WHY, "%s %s: %s", path, what, strerror_r(errno, reason, sizeof reason));
  if (file->fd >= 0) close(file->fd);
  file->fd = -1;
}

/* Adds all of the bytes, or none of them. */
static bool add(perf_file *file, const char *bytes, size_t n) {
  for (size_t at = 0; at < n;) {
    ssize_t written = write(file->fd, bytes + at, n - at);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      int error = written ? errno : ENOSPC;
      (void)!ftruncate(file->fd, file->size);
      errno = error;
      return false;
    }
    at += (size_t)written;
  }
  file->size += (off_t)n;
  return true;
}

/* False: it was not created. */
static bool create(perf_file *file, const char *path, char why[HIA_DEBUG_WHY]) {
  if (file->is_tried) return file->fd >= 0;
  file->is_tried = true;
  file->size = 0;
  file->fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (file->fd < 0) fail(file, path, "cannot be created", why);
  return file->fd >= 0;
}

static bool write_header(perf_file *file) {
  struct {
    uint32_t magic, version, size, machine, pad, pid;
    uint64_t time, flags;
  } header = {.magic = DUMP_MAGIC,
              .version = DUMP_VERSION,
              .size = DUMP_HEADER,
              .machine = HIA_ARCH_MACHINE,
              .pid = (uint32_t)getpid(),
              .time = hiaR_now()};
  _Static_assert(sizeof header == DUMP_HEADER, "the header of a dump");
  return add(file, (const char *)&header, sizeof header);
}

/* perf notices a dump by its mapping as code, which stays. */
static bool mark(const perf_file *file) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  return mmap(NULL, page, PROT_READ | PROT_EXEC, MAP_PRIVATE, file->fd, 0) != MAP_FAILED;
}

/* Sets what depends on the order of the records in the file: their times, and the numbers of
 * functions, for each of which perf makes an object file. */
static void complete(char *records, size_t n) {
  enum { SIZE = 4, TIME = 8, NUMBER = 48 };
  static uint64_t number;
  uint64_t now = hiaR_now();
  for (size_t at = 0; at < n;) {
    uint32_t kind, size;
    memcpy(&kind, records + at, sizeof kind);
    memcpy(&size, records + at + SIZE, sizeof size);
    memcpy(records + at + TIME, &now, sizeof now);
    if (kind == DUMP_LOAD) memcpy(records + at + NUMBER, &number, sizeof number);
    number += kind == DUMP_LOAD;
    at += size;
  }
}

static void write_map(const hia_text *map, char why[HIA_DEBUG_WHY]) {
  char path[64];
  snprintf(path, sizeof path, "/tmp/perf-%ld.map", (long)getpid());
  if (create(&map_file, path, why) && !add(&map_file, map->data, map->len))
    fail(&map_file, path, "cannot be written", why);
}

static void write_dump(const hia_text *dump, char why[HIA_DEBUG_WHY]) {
  char path[HIA_DEBUG_WHY / 2];
  const char *folder = secure_getenv("JITDUMPDIR");
  int len = snprintf(path, sizeof path, "%s/jit-%ld.dump", folder && *folder ? folder : "/tmp",
                     (long)getpid());
  if (len < 0 || (size_t)len >= sizeof path) {
    if (!dump_file.is_tried) snprintf(why, HIA_DEBUG_WHY, "JITDUMPDIR is too long");
    dump_file.is_tried = true;
    return;
  }
  complete(dump->data, dump->len);
  bool is_new = !dump_file.is_tried;
  if (!create(&dump_file, path, why)) return;
  if ((is_new && (!write_header(&dump_file) || !mark(&dump_file))) ||
      !add(&dump_file, dump->data, dump->len))
    fail(&dump_file, path, "cannot be written", why);
}

static void forget(perf_file *file) {
  if (file->fd >= 0) close(file->fd);
  *file = (perf_file){.fd = -1};
}

void hiaR_debug_write(const hia_text *map, const hia_text *dump, char why[HIA_DEBUG_WHY]) {
  pthread_mutex_lock(&lock);
  if (owner != getpid()) {
    forget(&map_file);
    forget(&dump_file);
    owner = getpid();
  }
  if (map && map->len) write_map(map, why);
  if (dump && dump->len) write_dump(dump, why);
  pthread_mutex_unlock(&lock);
}
