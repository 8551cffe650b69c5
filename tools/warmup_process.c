/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* One process of --warmup-curve: it loads the program and calls the function again and again, and
 * writes into a pipe when it has made how many calls.
 *
 * A timer of the system ends it when its time is over, in whatever call or step of compiling it is:
 * measured runs have no deadline, which would cost them something. */
#include "tools/warmup.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

const char *warmup_name(warmup_column column) {
  static const char *const names[N_WARMUP_COLUMNS] = {"interp", "jit", "auto", "cached"};
  return names[column];
}

/* What a process writes, in this order; at the end of a failure stands the text of its error. */
typedef enum message_kind { MARK, RESULT, FAILURE } message_kind;
typedef struct message {
  message_kind kind;
  hia_status status; /* of a failure */
  uint64_t ns;       /* of a mark */
  uint64_t digest;   /* of a result */
  bool is_loaded;    /* the function has native code from the cache */
  char text[TOOL_MAX_SHOWN + 20];
} message;

/* ---- in the process ---- */

typedef struct runner {
  const warmup_job *job;
  int to; /* the pipe */
  uint64_t start;
  hia_engine *engine;
  hia_module *module;
  hia_function *function;
  tool_arguments args;
  hia_run_options run;
} runner;

static void send_bytes(int to, const void *bytes, size_t n) {
  for (const char *at = bytes; n > 0;) {
    ssize_t put = write(to, at, n);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return; /* the other end is gone */
    at += put;
    n -= (size_t)put;
  }
}

/* Takes the error, which may be NULL. */
static void send_failure(const runner *r, hia_error *error, hia_status status) {
  const message m = {.kind = FAILURE, .status = status};
  send_bytes(r->to, &m, sizeof m);
  if (error) send_bytes(r->to, hia_error_text(error), strlen(hia_error_text(error)));
  hia_error_free(error);
}

static bool has_loaded(const runner *r) {
  hia_function_stats stats = HIA_FUNCTION_STATS_INIT;
  return hia_function_get_stats(r->function, &stats) == HIA_OK && stats.load_ns > 0;
}

static void send_mark(const runner *r, uint64_t n_calls) {
  message m = {.kind = MARK, .ns = tool_now() - r->start};
  m.is_loaded = n_calls == 1 && r->job->column == WARMUP_CACHED && has_loaded(r);
  send_bytes(r->to, &m, sizeof m);
}

/* FNV-1a. */
static bool digest(void *sum, const char *bytes, size_t n) {
  uint64_t x = *(uint64_t *)sum;
  for (size_t i = 0; i < n; i++) x = (x ^ (unsigned char)bytes[i]) * UINT64_C(0x100000001b3);
  *(uint64_t *)sum = x;
  return true;
}

/* Appends to the text of a message, which has room for what a table shows. */
static bool append(void *user, const char *bytes, size_t n) {
  message *m = user;
  size_t len = strlen(m->text), room = sizeof m->text - 1 - len;
  memcpy(m->text + len, bytes, n < room ? n : room);
  return true;
}

static hia_status send_result(const runner *r, const hia_value *value, hia_error **error) {
  message m = {.kind = RESULT, .digest = UINT64_C(0xcbf29ce484222325)};
  hia_status status = hia_value_write(value, UINT64_MAX, digest, &m.digest, NULL, error);
  if (status == HIA_OK) status = hia_value_write(value, TOOL_MAX_SHOWN, append, &m, NULL, error);
  if (status == HIA_OK) send_bytes(r->to, &m, sizeof m);
  return status;
}

/* The process ends when it has worked for job->max_ns. */
static void begin_timer(const runner *r) {
  uint64_t passed = tool_now() - r->start, most = r->job->max_ns;
  uint64_t us = passed < most ? (most - passed) / 1000 + 1 : 1;
  struct itimerval timer = {.it_value = {(time_t)(us / 1000000), (suseconds_t)(us % 1000000)}};
  setitimer(ITIMER_REAL, &timer, NULL);
}

static void end_timer(void) { setitimer(ITIMER_REAL, &(struct itimerval){{0, 0}, {0, 0}}, NULL); }

/* Returns an exit status; its mistakes have been reported. */
static int load(runner *r) {
  static const hia_engine_kind kinds[N_WARMUP_COLUMNS] = {HIA_ENGINE_INTERP, HIA_ENGINE_JIT,
                                                          HIA_ENGINE_AUTO, HIA_ENGINE_AUTO};
  const warmup_job *job = r->job;
  tool_options own = *job->options;
  own.engine.cache = job->cache;
  int code = tool_load(&own, kinds[job->column], &r->engine, &r->module);
  if (code == EXIT_FINE) code = tool_function(&own, r->module, &r->function);
  uint64_t args = tool_now();
  if (code == EXIT_FINE) code = tool_args(r->engine, &r->function, &own, false, &r->args);
  r->start += tool_now() - args; /* reading them is the same in all engines */
  r->run = (hia_run_options)HIA_RUN_OPTIONS_INIT;
  r->run.timeout_ns = own.timeout_ns;
  return code == EXIT_FINE ? tool_fuel(&own, &r->run) : code;
}

static hia_status call(runner *r, hia_value **result, hia_error **error) {
  return hia_run(r->function, r->args.values, r->job->options->n_args, &r->run, result, error);
}

static hia_status measure(runner *r, hia_error **error) {
  hia_status status = HIA_OK;
  for (uint64_t n = 1; status == HIA_OK && n <= r->job->max_calls; n++) {
    hia_value *result;
    status = call(r, &result, error);
    hia_value_free(result);
    if (status == HIA_OK && ((n & (n - 1)) == 0 || n == r->job->max_calls)) send_mark(r, n);
  }
  return status;
}

static hia_status try_out(runner *r, hia_error **error) {
  hia_value *result;
  hia_status status = r->job->column == WARMUP_CACHED
                          ? hia_function_prepare_for(r->function, &r->run, error)
                          : HIA_OK;
  if (status == HIA_OK) status = call(r, &result, error);
  if (status != HIA_OK) return status;
  end_timer(); /* what follows is not measured */
  send_mark(r, 1);
  status = send_result(r, result, error);
  hia_value_free(result);
  return status;
}

/* Ends the process. Only a trial frees what it has: that waits for native code to be stored. */
_Noreturn static void work(const warmup_job *job, int to) {
  runner r = {.job = job, .to = to, .start = tool_now()};
  hia_error *error = NULL;
  int code = load(&r);
  if (code == EXIT_FINE) {
    begin_timer(&r);
    hia_status status = (job->is_trial ? try_out : measure)(&r, &error);
    if (status != HIA_OK) send_failure(&r, error, status);
  }
  if (job->is_trial) {
    tool_free_args(&r.args, job->options->n_args);
    hia_module_free(r.module);
    hia_engine_free(r.engine);
  }
  fflush(stdout); /* what the program may have printed */
  fflush(stderr);
  _exit(code);
}

/* Prepares the new process: the timer's signal ends it, and so does the end of its parent. Other
 * signals stay blocked: the parent gets those of a Ctrl-C, too, and ends it. */
static void begin_process(pid_t parent) {
  sigset_t timer;
  tool_progress_forget();
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(EXIT_PROGRAM);
  signal(SIGALRM, SIG_DFL);
  sigemptyset(&timer);
  sigaddset(&timer, SIGALRM);
  sigprocmask(SIG_UNBLOCK, &timer, NULL);
}

/* ---- in its parent ---- */

/* The bytes that have come. */
typedef struct received {
  char *bytes;
  size_t len, room;
} received;

/* Appends what can be read. Returns 0 at the end, and -1 with errno set for an error. */
static ssize_t receive(int from, received *in) {
  if (in->len == in->room) {
    size_t room = in->room ? 2 * in->room : 64 * sizeof(message);
    char *bytes = realloc(in->bytes, room);
    if (!bytes) return -1;
    in->bytes = bytes;
    in->room = room;
  }
  ssize_t n = read(from, in->bytes + in->len, in->room - in->len);
  if (n > 0) in->len += (size_t)n;
  return n;
}

/* Receives to the end. Returns 0, or an errno; *interrupted: a signal that came before the end. */
static int receive_all(int from, int signals, received *in, int *interrupted) {
  struct pollfd files[] = {{.fd = from, .events = POLLIN}, {.fd = signals, .events = POLLIN}};
  for (;;) {
    if (poll(files, 2, -1) < 0) {
      if (errno == EINTR) continue;
      return errno;
    }
    struct signalfd_siginfo info;
    if (files[1].revents && read(signals, &info, sizeof info) == (ssize_t)sizeof info) {
      *interrupted = (int)info.ssi_signo;
      return 0;
    }
    if (!files[0].revents) continue;
    ssize_t n = receive(from, in);
    if (n == 0) return 0;
    if (n < 0 && errno != EINTR) return errno;
  }
}

/* Reports a failure, whose text is the rest of the input. Returns an exit status. */
static int report_failure(const message *m, const char *text, size_t len) {
  if (!len) return tool_fail(NULL, m->status);
  tool_progress_end();
  fwrite(text, 1, len, stderr);
  return tool_exit_status(m->status);
}

/* Reads the messages, of which the last one may be cut off. Returns an exit status. */
static int understand(const received *in, warmup_outcome *o) {
  message m;
  for (size_t at = 0; in->len - at >= sizeof m;) {
    memcpy(&m, in->bytes + at, sizeof m);
    at += sizeof m;
    if (m.kind == FAILURE) return report_failure(&m, in->bytes + at, in->len - at);
    if (m.kind == MARK && o->n < WARMUP_MAX_POINTS) {
      o->ns[o->n++] = m.ns;
      o->is_loaded |= m.is_loaded;
    }
    if (m.kind != RESULT) continue;
    o->has_result = true;
    o->digest = m.digest;
    memcpy(o->text, m.text, sizeof o->text);
  }
  return EXIT_FINE;
}

static int cannot_measure(int wrong) {
  tool_progress_end();
  fprintf(stderr, "error[io]: there is no process to measure in: %s\n", strerror(wrong));
  return EXIT_PROGRAM;
}

/* Judges how the process has ended. Returns an exit status. */
static int judge(const warmup_job *job, int status) {
  if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_FINE) return EXIT_FINE;
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM) return EXIT_FINE;
  tool_progress_end();
  if (WIFEXITED(status)) return WEXITSTATUS(status); /* it has reported a mistake */
  fprintf(stderr, "error: the process of `%s` was ended by signal %d: %s\n",
          warmup_name(job->column), WTERMSIG(status), strsignal(WTERMSIG(status)));
  return EXIT_PROGRAM;
}

/* Follows a process to its end. */
static int follow(const warmup_job *job, pid_t pid, int from, int signals, warmup_outcome *o) {
  received in = {.bytes = NULL};
  int wrong = receive_all(from, signals, &in, &o->interrupted), status = 0;
  if (wrong || o->interrupted) kill(pid, SIGKILL);
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  int code = wrong ? cannot_measure(wrong) : EXIT_FINE;
  if (o->interrupted) code = EXIT_PROGRAM;
  if (code == EXIT_FINE) code = understand(&in, o);
  if (code == EXIT_FINE) code = judge(job, status);
  free(in.bytes);
  return code;
}

static int run_between(const warmup_job *job, const int ends[2], int signals, warmup_outcome *o) {
  pid_t parent = getpid(), pid = fork();
  int wrong = errno;
  if (pid == 0) {
    begin_process(parent);
    close(ends[0]);
    work(job, ends[1]);
  }
  close(ends[1]);
  if (pid < 0) return cannot_measure(wrong);
  return follow(job, pid, ends[0], signals, o);
}

int warmup_run(const warmup_job *job, warmup_outcome *outcome) {
  int ends[2];
  sigset_t set;
  *outcome = (warmup_outcome){.n = 0};
  tool_flush(); /* what is printed so far is printed once */
  tool_ending_signals(&set);
  int signals = signalfd(-1, &set, SFD_CLOEXEC);
  if (signals < 0) return cannot_measure(errno);
  if (pipe2(ends, O_CLOEXEC) != 0) {
    int wrong = errno;
    close(signals);
    return cannot_measure(wrong);
  }
  int code = run_between(job, ends, signals, outcome);
  close(ends[0]);
  close(signals);
  return code;
}
