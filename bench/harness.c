#include "bench/harness.h"
#include <fcntl.h>
#include <sched.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static double milliseconds(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

double bench_now(void) { return milliseconds(CLOCK_MONOTONIC); }
double bench_cpu(void) { return milliseconds(CLOCK_THREAD_CPUTIME_ID); }

static int compare(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

double bench_median(double *values, size_t n) {
  qsort(values, n, sizeof *values, compare);
  return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

static void check(hia_status status, hia_error *error) {
  if (status == HIA_OK) return;
  fflush(stdout);
  fputs(error ? hia_error_text(error) : hia_status_message(status), stderr);
  exit(1);
}

bench_program bench_open(const char *path, const char *function, const bench_options *options) {
  bench_program p;
  hia_error *error;
  hia_engine_options engine = HIA_ENGINE_OPTIONS_INIT;
  engine.kind = options->kind;
  engine.threads = options->threads;
  engine.unchecked = options->unchecked;
  engine.count = options->count;
  check(hia_engine_new(&engine, &p.engine, &error), error);
  check(hia_module_load_file(p.engine, path, &p.module, &error), error);
  check(hia_module_function(p.module, function, &p.function, &error), error);
  check(hia_function_prepare(p.function, &error), error);
  return p;
}

void bench_close(bench_program *p) {
  hia_module_free(p->module);
  hia_engine_free(p->engine);
}

long long bench_call(const bench_program *p, const int32_t *args, size_t n, hia_run_stats *used) {
  hia_value *values[8] = {NULL}, *result;
  hia_error *error;
  hia_run_options options = HIA_RUN_OPTIONS_INIT;
  options.stats = used;
  for (size_t i = 0; i < n; i++) values[i] = hia_value_i32(p->engine, args[i]);
  check(hia_run(p->function, values, n, &options, &result, &error), error);
  for (size_t i = 0; i < n; i++) hia_value_free(values[i]);
  int32_t x = 0;
  check(hia_value_get_i32(result, &x), NULL);
  hia_value_free(result);
  return x;
}

void bench_pin(bool is_pinned) {
  static cpu_set_t all;
  static bool is_known;
  if (!is_known) {
    is_known = true;
    if (sched_getaffinity(0, sizeof all, &all) != 0) CPU_ZERO(&all);
  }
  cpu_set_t set = all;
  if (is_pinned) {
    /* The last one: interrupts tend to the first. */
    for (size_t i = CPU_SETSIZE; i-- > 0;)
      if (CPU_ISSET(i, &all)) {
        CPU_ZERO(&set);
        CPU_SET(i, &set);
        break;
      }
  }
  /* Not being allowed to pin costs precision only. */
  (void)sched_setaffinity(0, sizeof set, &set);
}

double bench_process(const char *const *argv) {
  posix_spawn_file_actions_t quiet;
  posix_spawn_file_actions_init(&quiet);
  posix_spawn_file_actions_addopen(&quiet, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  double start = bench_now();
  pid_t child;
  int status = 1;
  bool ran = posix_spawn(&child, argv[0], &quiet, NULL, (char *const *)argv, environ) == 0 &&
             waitpid(child, &status, 0) == child;
  double ms = bench_now() - start;
  posix_spawn_file_actions_destroy(&quiet);
  if (!ran || status != 0) {
    fflush(stdout);
    fprintf(stderr, "%s %s failed\n", argv[0], argv[1]);
    exit(1);
  }
  return ms;
}

void bench_print_machine(void) {
  char line[256], model[200] = "unknown processor";
  FILE *file = fopen("/proc/cpuinfo", "r");
  while (file && fgets(line, sizeof line, file)) {
    if (strncmp(line, "model name", 10) != 0 || !strchr(line, ':')) continue;
    snprintf(model, sizeof model, "%s", strchr(line, ':') + 2);
    model[strcspn(model, "\n")] = 0;
    break;
  }
  if (file) fclose(file);
  printf("hiaton %s on %s, %ld cores\n\n", hia_version(), model, sysconf(_SC_NPROCESSORS_ONLN));
}
