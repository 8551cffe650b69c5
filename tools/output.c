/* Files that the commands write. One appears whole or not at all: it is written beside its place
 * under another name, and moved there when all of it is there. */
#include "tools/tool.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool tool_output_open(tool_output *t, const char *path) {
  *t = (tool_output){.file = -1};
  struct stat info;
  bool exists = stat(path, &info) == 0;
  if (exists && S_ISDIR(info.st_mode)) {
    errno = EISDIR;
    return false;
  }
  if (exists && !S_ISREG(info.st_mode)) {
    t->file = open(path, O_WRONLY | O_CLOEXEC);
    return t->file >= 0;
  }
  if (exists && access(path, W_OK) != 0) return false;
  t->path = exists ? realpath(path, NULL) : strdup(path);
  if (!t->path) return false;
  size_t size = strlen(t->path) + 32;
  t->temporary = malloc(size);
  if (!t->temporary) return false;
  snprintf(t->temporary, size, "%s.%ld.part", t->path, (long)getpid());
  t->file = open(t->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
                 exists ? info.st_mode & 0777 : 0666);
  return t->file >= 0;
}

void tool_output_close(tool_output *t, bool keep) {
  if (t->file >= 0) {
    if (close(t->file) != 0 && !t->wrong) t->wrong = errno;
    if (t->temporary && keep && !t->wrong && rename(t->temporary, t->path) != 0) t->wrong = errno;
    if (t->temporary && (!keep || t->wrong)) unlink(t->temporary);
  }
  free(t->path);
  free(t->temporary);
  t->path = t->temporary = NULL;
  t->file = -1;
}

bool tool_output_write(void *user, const char *bytes, size_t len) {
  tool_output *t = user;
  while (len) {
    ssize_t n = write(t->file, bytes, len);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      t->wrong = errno;
      return false;
    }
    bytes += n;
    len -= (size_t)n;
  }
  return true;
}
