/* --trace FILE: the timeline of a run. The file appears whole or not at all: it is written beside
 * its place under another name, and moved there. */
#include "tools/tool.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int bad_file(const char *path, int wrong) {
  fprintf(stderr, "error[io]: the trace %s could not be written: %s\n", path, strerror(wrong));
  return EXIT_PROGRAM;
}

/* Where the bytes go. */
typedef struct target {
  char *path;      /* of the file itself, where FILE is a link */
  char *temporary; /* NULL: it is no regular file (a pipe, a terminal) and written as it is */
  int file;        /* -1: not open */
  int wrong;       /* errno of the first failure */
} target;

/* False, and errno says why. */
static bool target_open(target *t, const char *path) {
  *t = (target){.file = -1};
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

/* Moves the file to its place if `keep` and nothing was wrong, else removes it. */
static void target_close(target *t, bool keep) {
  if (t->file >= 0) {
    if (close(t->file) != 0 && !t->wrong) t->wrong = errno;
    if (t->temporary && keep && !t->wrong && rename(t->temporary, t->path) != 0) t->wrong = errno;
    if (t->temporary && (!keep || t->wrong)) unlink(t->temporary);
  }
  free(t->path);
  free(t->temporary);
}

static bool write_out(void *user, const char *bytes, size_t len) {
  target *t = user;
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

int tool_trace_begin(const char *path, hia_timeline **timeline) {
  *timeline = NULL;
  if (!path) return EXIT_FINE;
  /* A run may take an hour: whether its trace can be written is tried beforehand. */
  target t;
  bool can = target_open(&t, path);
  int wrong = errno;
  target_close(&t, false);
  if (!can) return bad_file(path, wrong);
  *timeline = hia_timeline_new(NULL, 0);
  return *timeline ? EXIT_FINE : tool_fail(NULL, HIA_MEMORY);
}

int tool_trace_end(const char *path, hia_timeline *timeline) {
  target t;
  if (!target_open(&t, path)) {
    int wrong = errno;
    target_close(&t, false);
    return bad_file(path, wrong);
  }
  hia_error *error;
  hia_status status = hia_timeline_write(timeline, write_out, &t, &error);
  bool is_io = t.wrong != 0;
  target_close(&t, status == HIA_OK);
  if (status != HIA_OK && !is_io) return tool_fail(error, status);
  hia_error_free(error);
  if (t.wrong) return bad_file(path, t.wrong);
  uint64_t dropped = hia_timeline_dropped(timeline);
  if (dropped)
    fprintf(stderr, "%s lacks the oldest %llu events: those of each thread that are too many\n",
            path, (unsigned long long)dropped);
  return EXIT_FINE;
}
