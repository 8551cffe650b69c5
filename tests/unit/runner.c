/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Runs the unit tests of its program, each in a process of its own. They are written with
 * Criterion's macros, and this is in the place of Criterion's library, which starts the program
 * again for each test: the dynamic linker would take longer for LLVM and for the twenty libraries
 * that Criterion needs than most tests take. Here a test is a fork of a process that has done
 * nothing yet.
 *
 *   NAME [--list] [PATTERN...]       PATTERN: SUITE/TEST, where * stands for anything
 *
 * A program has the tests of many sources. Called as test_NAME it runs those of test_NAME.c. */
#include "tests/unit/helpers/time.h"

#include <criterion/criterion.h>
#include <fnmatch.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* A test that takes longer has hung: seconds on the machine that limits are written for. */
#define HANGS_AFTER 600.0

/* How the process of a test ends. What it ends with by itself is a crash. */
enum { ENDS_FAILED = 101, ENDS_SKIPPED, ENDS_EARLY };

/* The linker's names of the section in which Criterion's macros list the tests. */
extern struct criterion_test *__start_cr_tst[], *__stop_cr_tst[];

/* ---- in the process of a test ---- */

struct criterion_options criterion_options;

static const struct criterion_test *current;
static pid_t own_process;
static pthread_t own_thread;
static jmp_buf leave;
static atomic_bool has_failed, is_skipped, is_over;

/* Threads of a test, and processes that it forks, cannot leave the test function. */
static void end_test(int how) {
  if (getpid() == own_process && pthread_equal(pthread_self(), own_thread)) longjmp(leave, 1);
  fflush(NULL);
  _exit(how);
}

void criterion_internal_test_setup(void) {
  if (current->data->init && !setjmp(leave)) current->data->init();
}

void criterion_internal_test_main(void (*fn)(void)) {
  if (!has_failed && !is_skipped && !setjmp(leave)) fn();
}

void criterion_internal_test_teardown(void) {
  if (current->data->fini && !setjmp(leave)) current->data->fini();
}

void criterion_send_assert(struct criterion_assert_stats *stats) {
  has_failed = true;
  fprintf(stderr, "[----] %s:%u: Assertion failed: %s\n", stats->file, stats->line, stats->message);
}

void criterion_abort_test(void) {
  end_test(ENDS_FAILED);
  abort();
}

void criterion_continue_test(void) {}

void cri_asserts_passed_incr(void) {}

void criterion_skip_test(const char *format, ...) {
  va_list list;
  va_start(list, format);
  fprintf(stderr, "skipped: %s::%s: ", current->category, current->name);
  vfprintf(stderr, format, list);
  fputc('\n', stderr);
  va_end(list);
  is_skipped = true;
  end_test(ENDS_SKIPPED);
  abort();
}

int cr_asprintf(char **text, const char *format, ...) {
  va_list list;
  va_start(list, format);
  int n = vasprintf(text, format, list);
  va_end(list);
  if (n < 0) abort();
  return n;
}

void cr_asprintf_free(char *text) { free(text); }

char *cr_translate_assert_msg(int kind, ...) {
  const char *form = kind == CRITERION_ASSERT_MSG_FAIL           ? "it is not reached%s"
                     : kind == CRITERION_ASSERT_MSG_IS_NULL      ? "`%s` is NULL"
                     : kind == CRITERION_ASSERT_MSG_IS_NOT_NULL  ? "`%s` is not NULL"
                     : kind == CRITERION_ASSERT_MSG_IS_EMPTY     ? "`%s` is empty"
                     : kind == CRITERION_ASSERT_MSG_IS_NOT_EMPTY ? "`%s` is not empty"
                                                                 : "`%s` is false";
  va_list list;
  va_start(list, kind);
  const char *expression = va_arg(list, const char *);
  char *text;
  if (kind == CRITERION_ASSERT_MSG_EXPR_AS_STRINGS_FALSE) {
    const char *actual = va_arg(list, const char *), *expected = va_arg(list, const char *);
    cr_asprintf(&text, "`%s` is false: \"%s\" and \"%s\"", expression, actual ? actual : "(null)",
                expected ? expected : "(null)");
  } else {
    cr_asprintf(&text, form, expression);
  }
  va_end(list);
  return text;
}

void cr_log(enum criterion_severity severity, const char *format, ...) {
  (void)severity;
  va_list list;
  va_start(list, format);
  vfprintf(stderr, format, list);
  fputc('\n', stderr);
  va_end(list);
}

static void exits(void) {
  if (getpid() == own_process && !is_over) _exit(ENDS_EARLY);
}

/* exit() looks for leaks under AddressSanitizer. */
static void run(const struct criterion_test *test) {
  current = test;
  own_process = getpid();
  own_thread = pthread_self();
  atexit(exits);
  test->test();
  is_over = true;
  fflush(NULL);
  if (has_failed) _exit(ENDS_FAILED);
  if (is_skipped) _exit(ENDS_SKIPPED);
  exit(0);
}

/* ---- in the first process ---- */

/* Waits for a process, and ends it after so many seconds. */
static int wait_for(pid_t child, double seconds, bool *is_late) {
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGCHLD);
  struct timespec begin, now;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  int how = 0;
  *is_late = false;
  while (waitpid(child, &how, *is_late ? 0 : WNOHANG) != child) {
    clock_gettime(CLOCK_MONOTONIC, &now);
    if ((double)(now.tv_sec - begin.tv_sec) > seconds) {
      *is_late = true;
      kill(child, SIGKILL);
    } else {
      sigtimedwait(&ends, NULL, &(struct timespec){.tv_sec = 1});
    }
  }
  return how;
}

static int run_in_process(const struct criterion_test *test) {
  sigset_t ends, before;
  sigemptyset(&ends);
  sigaddset(&ends, SIGCHLD);
  sigprocmask(SIG_BLOCK, &ends, &before);
  fflush(NULL);
  pid_t parent = getpid(), child = fork();
  if (child < 0) {
    perror("fork");
    exit(2);
  }
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(2);
    sigprocmask(SIG_SETMASK, &before, NULL);
    run(test);
  }
  bool is_late;
  int how = wait_for(child, HANGS_AFTER * test_slowness(), &is_late);
  sigprocmask(SIG_SETMASK, &before, NULL);
  const char *what = NULL;
  if (is_late)
    what = "timed out";
  else if (WIFSIGNALED(how) && WTERMSIG(how) != test->data->signal)
    what = strsignal(WTERMSIG(how));
  else if (WIFEXITED(how) && WEXITSTATUS(how) == ENDS_SKIPPED)
    return ENDS_SKIPPED;
  else if (WIFEXITED(how) && WEXITSTATUS(how) == ENDS_FAILED)
    what = "failed";
  else if (WIFEXITED(how) && WEXITSTATUS(how) == ENDS_EARLY)
    what = "called exit()";
  else if (WIFEXITED(how) && WEXITSTATUS(how) != 0)
    what = "ended its process, or memory was not freed";
  else if (WIFEXITED(how) && test->data->signal)
    what = "no signal ended it";
  if (what == NULL) return 0;
  fprintf(stderr, "[FAIL] %s::%s: %s\n", test->category, test->name, what);
  return ENDS_FAILED;
}

static const char *base_name(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

static bool is_wanted(const struct criterion_test *test, const char *source, char **patterns) {
  if (strncmp(source, "test_", 5) == 0) {
    const char *file = base_name(test->data->file_);
    size_t n = strlen(source);
    if (strncmp(file, source, n) != 0 || strcmp(file + n, ".c") != 0) return false;
  }
  for (char **p = patterns; *p; p++)
    if (fnmatch(*p, test->data->identifier_, 0) == 0) return true;
  return *patterns == NULL;
}

int main(int argc, char **argv) {
  const char *source = base_name(argv[0]);
  bool lists = argc > 1 && strcmp(argv[1], "--list") == 0;
  char **patterns = argv + (lists ? 2 : 1);
  int passed = 0, failed = 0, skipped = 0;
  for (struct criterion_test **p = __start_cr_tst; p < __stop_cr_tst; p++) {
    const struct criterion_test *test = *p; /* AddressSanitizer may put nothing between two */
    if (test == NULL || !is_wanted(test, source, patterns)) continue;
    if (lists) {
      printf("%s %s\n", base_name(test->data->file_), test->data->identifier_);
      continue;
    }
    int how = run_in_process(test);
    if (how == 0)
      passed++;
    else if (how == ENDS_SKIPPED)
      skipped++;
    else
      failed++;
  }
  if (lists) return 0;
  printf("%d passed, %d failed, %d skipped\n", passed, failed, skipped);
  if (passed + failed + skipped == 0) fprintf(stderr, "%s: there are no such tests\n", argv[0]);
  return failed > 0 || passed + skipped == 0;
}
