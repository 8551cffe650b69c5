/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* A line on the terminal while a command works long. A thread of its own writes it, because a run
 * does not come back before its end. */
#include "tools/tool.h"
#include <pthread.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum { FIRST_MS = 500, NEXT_MS = 200, MAX_LINE = 200 };

static struct {
  bool is_running; /* the thread is; used by the thread of the command alone */
  pthread_t thread;
  tool_say say;
  void *user;
  struct timespec start;
  pthread_mutex_t lock;
  pthread_cond_t changed;
  bool must_end;
  int len; /* of the line that is shown */
} progress = {.lock = PTHREAD_MUTEX_INITIALIZER};

static double seconds_since(const struct timespec *start) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)(now.tv_sec - start->tv_sec) + (double)(now.tv_nsec - start->tv_nsec) / 1e9;
}

static void add_ms(struct timespec *t, long ms) {
  t->tv_nsec += ms * 1000000;
  t->tv_sec += t->tv_nsec / 1000000000;
  t->tv_nsec %= 1000000000;
}

/* Writes a line over one of `old` characters, and returns its length. It is never as wide as the
 * terminal: a line that has wrapped cannot be written over. */
static int write_line(const char *text, int old) {
  char line[2 * MAX_LINE];
  struct winsize window;
  int width = MAX_LINE - 1, len = (int)strlen(text);
  bool has_width = ioctl(STDERR_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > 1;
  if (has_width && window.ws_col <= width) width = window.ws_col - 1;
  if (len > width) len = width;
  int pad = old > len ? old - len : 0;
  int n = snprintf(line, sizeof line, "\r%.*s%*s%s", len, text, pad, "", len == 0 ? "\r" : "");
  /* One call, and none of stdio, which the other thread uses. A terminal that is gone shows
   * nothing. */
  if (write(STDERR_FILENO, line, (size_t)n) < 0) return 0;
  return len;
}

static void *show(void *unused) {
  (void)unused;
  struct timespec next = progress.start;
  add_ms(&next, FIRST_MS);
  pthread_mutex_lock(&progress.lock);
  while (!progress.must_end) {
    if (pthread_cond_timedwait(&progress.changed, &progress.lock, &next) == 0) continue;
    char text[MAX_LINE];
    int at = snprintf(text, sizeof text, "%.1f s", seconds_since(&progress.start));
    progress.say(progress.user, text + at, sizeof text - (size_t)at);
    progress.len = write_line(text, progress.len);
    clock_gettime(CLOCK_MONOTONIC, &next);
    add_ms(&next, NEXT_MS);
  }
  pthread_mutex_unlock(&progress.lock);
  if (progress.len) write_line("", progress.len);
  return NULL;
}

void tool_progress_begin(const hia_function *function, tool_say say, void *user) {
  /* A program that prints itself would write into the line. */
  if (!isatty(STDERR_FILENO) || hia_function_is_impure(function)) return;
  pthread_condattr_t attributes;
  sigset_t all, before;
  progress.say = say;
  progress.user = user;
  progress.must_end = false;
  progress.len = 0;
  clock_gettime(CLOCK_MONOTONIC, &progress.start);
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_init(&progress.changed, &attributes);
  pthread_condattr_destroy(&attributes);
  /* Signals stay with the thread of the command. */
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  progress.is_running = pthread_create(&progress.thread, NULL, show, NULL) == 0;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (!progress.is_running) pthread_cond_destroy(&progress.changed);
}

void tool_progress_end(void) {
  if (!progress.is_running) return;
  progress.is_running = false;
  pthread_mutex_lock(&progress.lock);
  progress.must_end = true;
  pthread_cond_signal(&progress.changed);
  pthread_mutex_unlock(&progress.lock);
  pthread_join(progress.thread, NULL);
  pthread_cond_destroy(&progress.changed);
}

void tool_progress_forget(void) { progress.is_running = false; }

void tool_progress_print(const char *text) {
  bool is_shown = progress.is_running;
  if (is_shown) pthread_mutex_lock(&progress.lock);
  if (is_shown && progress.len) progress.len = write_line("", progress.len);
  fputs(text, stderr);
  if (is_shown) pthread_mutex_unlock(&progress.lock);
}
