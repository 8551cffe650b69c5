/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Files, read whole into memory of an allocator. */
#include "runtime/base/left.h"
#include "runtime/value/handle.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* Reads to the end, so that pipes work too. *size is the size of the allocation. Returns 0 or an
 * errno. */
static int read_all(const hia_allocator *allocator, int file, size_t max, char **text, size_t *len,
                    size_t *size) {
  *text = NULL;
  *len = *size = 0;
  for (;;) {
    if (*len == *size) {
      if (*size > max) return EFBIG;
      size_t more = *size ? *size * 2 : (size_t)16 << 10;
      if (!hiaR_may_take(more - *size)) return ENOMEM;
      char *grown = *text ? allocator->resize(allocator->user, *text, *size, more)
                          : allocator->alloc(allocator->user, more);
      if (!grown) return ENOMEM;
      *text = grown;
      *size = more;
    }
    ssize_t n = read(file, *text + *len, *size - *len);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno;
    if (n == 0) return 0;
    *len += (size_t)n;
  }
}

int hiaR_read_file(const hia_allocator *allocator, const char *path, size_t max, char **text,
                   size_t *len, size_t *size) {
  *text = NULL;
  *len = *size = 0;
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return errno;
  struct stat info;
  int wrong = 0;
  if (fstat(file, &info) != 0)
    wrong = errno;
  else if (S_ISDIR(info.st_mode))
    wrong = EISDIR;
  else if (S_ISREG(info.st_mode) && info.st_size > 0 && (size_t)info.st_size > max)
    wrong = EFBIG;
  else
    wrong = read_all(allocator, file, max, text, len, size);
  close(file);
  return wrong;
}
