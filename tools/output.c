/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Files that the commands write (runtime/value/output.h), and what is removed if a signal ends the
 * program. */
#include "tools/tool.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- removing temporary files when something else ends the program ----
 *
 * A signal: only this thread gets those of users and systems, since the engine's threads block all
 * of them. Or LLVM, which after an error that it cannot report calls exit or abort. */

enum { MAX_TEMPORARIES = 8 };
static const char *volatile temporaries[MAX_TEMPORARIES];

/* Signals that end a program by default, and that users and systems send, and that of abort. */
static const int ends[] = {SIGHUP, SIGINT, SIGQUIT, SIGPIPE, SIGTERM, SIGXCPU, SIGXFSZ, SIGABRT};
#define N_ENDS (sizeof ends / sizeof ends[0])

/* Files are newer than their folder, so the newest goes first. The handler stays (no SA_RESETHAND)
 * until all is removed: else a second signal would end the program before. */
static void remove_all(void) {
  for (int i = MAX_TEMPORARIES; i-- > 0;)
    if (temporaries[i] && unlink(temporaries[i]) != 0) rmdir(temporaries[i]);
}
static void remove_and_end(int number) {
  remove_all();
  signal(number, SIG_DFL);
  raise(number); /* pending until this function returns */
}

static void handle_signals(void) {
  static bool is_done;
  if (is_done) return;
  is_done = true;
  atexit(remove_all); /* at the usual end there is nothing */
  for (size_t i = 0; i < N_ENDS; i++) {
    struct sigaction before, own = {.sa_handler = remove_and_end};
    sigfillset(&own.sa_mask);
    if (sigaction(ends[i], NULL, &before) == 0 && before.sa_handler == SIG_DFL)
      sigaction(ends[i], &own, NULL);
  }
}

void tool_ending_signals(sigset_t *set) {
  sigemptyset(set);
  for (size_t i = 0; i < N_ENDS; i++) {
    struct sigaction now;
    if (sigaction(ends[i], NULL, &now) == 0 && now.sa_handler != SIG_IGN) sigaddset(set, ends[i]);
  }
}

void tool_hold_signals(sigset_t *before) {
  sigset_t set;
  tool_ending_signals(&set);
  sigprocmask(SIG_BLOCK, &set, before);
}

void tool_release_signals(const sigset_t *before) { sigprocmask(SIG_SETMASK, before, NULL); }

void tool_temporary(const char *path) {
  handle_signals();
  for (size_t i = 0; i < MAX_TEMPORARIES; i++) {
    if (temporaries[i]) continue;
    temporaries[i] = path;
    return;
  }
}

void tool_forget_temporary(const char *path) {
  for (size_t i = 0; i < MAX_TEMPORARIES; i++)
    if (path && temporaries[i] == path) temporaries[i] = NULL;
}

/* ---- places ---- */

char *tool_output_target(const char *path, bool *is_file) {
  struct stat info;
  bool exists = stat(path, &info) == 0;
  *is_file = !exists || S_ISREG(info.st_mode);
  if (exists && S_ISDIR(info.st_mode)) {
    errno = EISDIR;
    return NULL;
  }
  if (!exists || !*is_file) return strdup(path);
  return access(path, W_OK) == 0 ? realpath(path, NULL) : NULL;
}

/* The folder of a file that does not exist. */
static bool folder_of(const char *path, struct stat *info) {
  const char *slash = strrchr(path, '/');
  if (!slash) return stat(".", info) == 0;
  char *folder = strndup(path, (size_t)(slash - path) + 1);
  bool exists = folder && stat(folder, info) == 0;
  free(folder);
  return exists;
}

bool tool_is_same_file(const char *a, const char *b) {
  struct stat x, y;
  bool has_a = stat(a, &x) == 0, has_b = stat(b, &y) == 0;
  if (has_a != has_b) return false;
  if (has_a) return S_ISREG(x.st_mode) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
  const char *name_a = strrchr(a, '/'), *name_b = strrchr(b, '/');
  if (strcmp(name_a ? name_a + 1 : a, name_b ? name_b + 1 : b) != 0) return false;
  return folder_of(a, &x) && folder_of(b, &y) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* ---- files ---- */

bool tool_output_open(tool_output *t, const char *path) {
  sigset_t before;
  tool_hold_signals(&before);
  int wrong = hiaR_output_open(t, path);
  if (!wrong && t->is_named) tool_temporary(t->temporary);
  tool_release_signals(&before);
  errno = wrong;
  return !wrong;
}

void tool_output_close(tool_output *t, bool keep) {
  sigset_t before;
  tool_hold_signals(&before); /* for a moment it has a name */
  hiaR_output_close(t, keep);
  tool_forget_temporary(t->temporary);
  tool_release_signals(&before);
}
