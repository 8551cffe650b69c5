/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Files that appear whole or not at all. The bytes go into a file without a name in the folder of
 * the place, of which nothing is left if the process ends, or into one with a name where the file
 * system has no such files; once it is complete it takes the place. */
#include "runtime/value/output.h"
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void open_unnamed(hia_file_output *f, mode_t mode) {
  char folder[PATH_MAX], *slash;
  memcpy(folder, f->target, sizeof folder);
  slash = strrchr(folder, '/');
  if (slash)
    slash[1] = 0;
  else
    memcpy(folder, ".", 2);
  /* The file gets its name through /proc. */
  if (access("/proc/self/fd", X_OK) == 0)
    f->file = open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, mode);
}

int hiaR_output_open(hia_file_output *f, const char *path) {
  static _Atomic unsigned number;
  struct stat info;
  bool exists = stat(path, &info) == 0;
  f->file = -1;
  f->wrong = 0;
  f->n = 0;
  f->is_beside = f->is_named = false;
  if (exists && S_ISDIR(info.st_mode)) return EISDIR;
  if (exists && !S_ISREG(info.st_mode)) {
    f->file = open(path, O_WRONLY | O_CLOEXEC);
    return f->file < 0 ? errno : 0;
  }
  f->is_beside = true;
  if (exists ? access(path, W_OK) != 0 || !realpath(path, f->target) : strlen(path) >= PATH_MAX)
    return errno ? errno : ENAMETOOLONG;
  if (!exists) memcpy(f->target, path, strlen(path) + 1);
  if (!f->target[0]) return ENOENT;
  snprintf(f->temporary, sizeof f->temporary, "%s.%ld-%u.part", f->target, (long)getpid(),
           atomic_fetch_add(&number, 1));
  mode_t mode = exists ? info.st_mode & 0777 : 0666;
  open_unnamed(f, mode);
  if (f->file >= 0) return 0;
  f->file = open(f->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
  f->is_named = f->file >= 0;
  return f->is_named ? 0 : errno;
}

static bool write_all(hia_file_output *f, const char *bytes, size_t n) {
  while (n && !f->wrong) {
    ssize_t some = write(f->file, bytes, n);
    if (some < 0 && errno == EINTR) continue;
    if (some < 0) {
      f->wrong = errno;
      break;
    }
    bytes += some;
    n -= (size_t)some;
  }
  return !f->wrong;
}

bool hiaR_output_write(void *output, const char *bytes, size_t n) {
  hia_file_output *f = output;
  if (n <= sizeof f->bytes - f->n) {
    memcpy(f->bytes + f->n, bytes, n);
    f->n += n;
    return !f->wrong;
  }
  bool is_fine = write_all(f, f->bytes, f->n);
  f->n = 0;
  return is_fine && write_all(f, bytes, n);
}

static int move_to_target(hia_file_output *f) {
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", f->file);
  if (!f->is_named && linkat(AT_FDCWD, link, AT_FDCWD, f->temporary, AT_SYMLINK_FOLLOW) != 0)
    return errno;
  f->is_named = true;
  return rename(f->temporary, f->target) == 0 ? 0 : errno;
}

void hiaR_output_sync(hia_file_output *f) {
  bool is_fine = write_all(f, f->bytes, f->n);
  f->n = 0;
  if (is_fine && f->is_beside && fsync(f->file) != 0) f->wrong = errno;
}

int hiaR_output_close(hia_file_output *f, bool is_complete) {
  if (f->file < 0) return 0;
  if (is_complete) write_all(f, f->bytes, f->n);
  bool is_kept = is_complete && !f->wrong;
  if (is_kept && f->is_beside) f->wrong = move_to_target(f);
  if (f->is_named && (!is_kept || f->wrong)) unlink(f->temporary);
  if (close(f->file) != 0 && is_kept && !f->wrong) f->wrong = errno;
  f->file = -1;
  return f->wrong;
}

int hiaR_output_check(const char *path) {
  hia_file_output f;
  int wrong = hiaR_output_open(&f, path);
  if (!wrong) hiaR_output_close(&f, false);
  return wrong;
}
