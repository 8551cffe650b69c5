/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
#include "bench/harness.h"
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <sched.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

double bench_clock(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

double bench_now(void) { return bench_clock(CLOCK_MONOTONIC); }
double bench_cpu(void) { return bench_clock(CLOCK_THREAD_CPUTIME_ID); }

static int compare(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

double bench_median(double *values, size_t n) {
  qsort(values, n, sizeof *values, compare);
  return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

/* ---- options, targets, the end ---- */

typedef struct missed {
  char row[64], column[64];
  double value;
  int decimals;
  bench_target target;
} missed;

static bool is_quick, is_checked;
static missed *misses;
static size_t n_misses, n_wrong;

bool bench_take_option(const char *option) {
  if (strcmp(option, "--quick") == 0)
    is_quick = true;
  else if (strcmp(option, "--check") == 0)
    is_checked = true;
  else
    return false;
  if (!is_quick || !is_checked) return true;
  fputs("--check needs the full arguments: no target holds for those of --quick\n", stderr);
  exit(2);
}

bool bench_is_quick(void) { return is_quick; }

static const char *word_of(bench_bound bound) { return bound == BENCH_MIN ? "min" : "max"; }

static bool is_missed(double value, bench_target target) {
  switch (target.bound) {
  case BENCH_MAX: return value > target.value;
  case BENCH_MIN: return value < target.value;
  default: return false;
  }
}

static void remember(const missed *miss) {
  missed *more = realloc(misses, (n_misses + 1) * sizeof *misses);
  if (!more) exit(1);
  misses = more;
  misses[n_misses++] = *miss;
}

void bench_print_target(const char *row, const char *column, double value, int decimals,
                        bench_target target) {
  char text[32] = "-", bound[32] = "";
  bool is_measured = !isnan(value);
  if (is_measured) snprintf(text, sizeof text, "%.*f", decimals, value);
  if (is_measured && target.bound != BENCH_UNBOUNDED) {
    /* The targets are not for small arguments. */
    bool is_bad = !is_quick && is_missed(value, target);
    snprintf(bound, sizeof bound, "(%s %g)%s", word_of(target.bound), target.value,
             is_bad ? "!" : "");
    if (is_bad) {
      missed miss = {.value = value, .decimals = decimals, .target = target};
      snprintf(miss.row, sizeof miss.row, "%s", row);
      snprintf(miss.column, sizeof miss.column, "%s", column);
      remember(&miss);
    }
  }
  printf(" %9s %-12s", text, bound);
}

void bench_print_target_heading(const char *column) { printf("   %-20s", column); }

void bench_wrong(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  putchar('\n');
  vprintf(format, arguments);
  putchar('\n');
  va_end(arguments);
  n_wrong++;
}

int bench_end(void) {
  if (is_checked) {
    for (size_t i = 0; i < n_misses; i++) {
      const missed *m = &misses[i];
      printf("missed: %s, %s: %.*f (%s %g)\n", m->row, m->column, m->decimals, m->value,
             word_of(m->target.bound), m->target.value);
    }
    printf("%zu target%s missed\n", n_misses, n_misses == 1 ? "" : "s");
  }
  if (n_wrong) printf("%zu wrong result%s\n", n_wrong, n_wrong == 1 ? "" : "s");
  bool is_bad = n_wrong > 0 || (is_checked && n_misses > 0);
  free(misses);
  misses = NULL;
  n_misses = 0;
  return is_bad || fflush(stdout) != 0;
}

/* ---- programs ---- */

void bench_check(hia_status status, hia_error *const *error) {
  if (status == HIA_OK) return;
  fflush(stdout);
  fputs(error && *error ? hia_error_text(*error) : hia_status_message(status), stderr);
  exit(1);
}

/* Opens an engine, with the compiler if it needs it; the caller fills in the rest of *p. */
static void open_engine(bench_program *p, const bench_options *options) {
  hia_error *error;
  hia_engine_options engine = HIA_ENGINE_OPTIONS_INIT;
  p->has_fuel = options->fuel;
  engine.kind = options->kind;
  engine.threads = options->threads;
  if (options->unchecked) engine.flags |= HIA_FLAG_UNCHECKED;
  if (options->count) engine.flags |= HIA_FLAG_COUNT;
  if (!options->merge_calls) engine.flags |= HIA_FLAG_NO_MERGING;
  if (options->always_fork) engine.flags |= HIA_FLAG_ALWAYS_FORK;
  if (options->fast_products) engine.flags |= HIA_FLAG_FAST_PRODUCTS;
  engine.batching = options->batch;
  if (!options->reuse) engine.flags |= HIA_FLAG_NO_REUSE;
  engine.disabled_passes = options->disabled_passes;
  engine.speculate = options->speculate;
  engine.allocator = options->allocator;
  bench_check(hia_engine_new(&engine, &p->engine, &error), &error);
  if (options->host) bench_check(hia_engine_register(p->engine, options->host, &error), &error);
  if (options->kind == HIA_ENGINE_JIT) bench_check(hia_engine_native(p->engine, &error), &error);
}

static void prepare(bench_program *p, const char *function) {
  hia_error *error;
  hia_run_options options = HIA_RUN_OPTIONS_INIT;
  options.has_fuel = p->has_fuel;
  bench_check(hia_module_function(p->module, function, &p->function, &error), &error);
  double start = bench_cpu();
  bench_check(hia_function_prepare_for(p->function, &options, &error), &error);
  p->compile_ms = bench_cpu() - start;
}

bench_program bench_open(const char *path, const char *function, const bench_options *options) {
  bench_program p;
  hia_error *error;
  open_engine(&p, options);
  bench_check(hia_module_load_file(p.engine, path, &p.module, &error), &error);
  prepare(&p, function);
  return p;
}

bench_program bench_open_text(const char *name, const char *text, const char *function,
                              const bench_options *options) {
  bench_program p;
  hia_error *error;
  open_engine(&p, options);
  bench_check(hia_module_load_text(p.engine, name, text, strlen(text), &p.module, &error), &error);
  prepare(&p, function);
  return p;
}

typedef struct growing {
  char *bytes;
  size_t len;
} growing;

static bool keep(void *user, const char *bytes, size_t len) {
  growing *t = user;
  char *longer = realloc(t->bytes, t->len + len + 1);
  if (!longer) return false;
  memcpy(longer + t->len, bytes, len);
  t->bytes = longer;
  t->len += len;
  return true;
}

/* The text of a file, with `more` at its end; the caller frees it. */
static char *text_of(const char *path, const char *more) {
  char *text = NULL;
  size_t len;
  FILE *from = fopen(path, "r"), *to = open_memstream(&text, &len);
  if (!from || !to) {
    perror(path);
    exit(1);
  }
  for (int c; (c = getc(from)) != EOF;) putc(c, to);
  fputs(more ? more : "", to);
  fclose(from);
  if (fclose(to) != 0) bench_check(HIA_MEMORY, NULL);
  return text;
}

bench_program bench_open_with(const char *path, const char *more, const char *function,
                              const bench_options *options) {
  char *text = text_of(path, more);
  bench_program p = bench_open_text(path, text, function, options);
  free(text);
  return p;
}

bench_program bench_open_graph(const bench_program *from) {
  hia_dump_options dump = HIA_DUMP_OPTIONS_INIT;
  hia_engine_options engine = HIA_ENGINE_OPTIONS_INIT;
  hia_error *error;
  bench_program p = {.has_fuel = false};
  growing graph = {0};
  bench_check(hia_module_dump(from->module, &from->function, 1, &dump, keep, &graph, &error),
              &error);
  engine.kind = HIA_ENGINE_INTERP;
  bench_check(hia_engine_new(&engine, &p.engine, &error), &error);
  bench_check(hia_module_load_ir(p.engine, "graph", graph.bytes, graph.len, &p.module, &error),
              &error);
  bench_check(hia_module_function(p.module, hia_function_name(from->function), &p.function, &error),
              &error);
  free(graph.bytes);
  return p;
}

void bench_close(bench_program *p) {
  hia_module_free(p->module);
  hia_engine_free(p->engine);
}

static hia_value *run(const bench_program *p, hia_value *const *args, size_t n,
                      hia_run_stats *used) {
  hia_value *result;
  hia_error *error;
  hia_run_options options = HIA_RUN_OPTIONS_INIT;
  options.stats = used;
  options.has_fuel = p->has_fuel;
  options.fuel = p->has_fuel ? UINT64_MAX : 0;
  bench_check(hia_run(p->function, args, n, &options, &result, &error), &error);
  return result;
}

static hia_value *run_on_integers(const bench_program *p, const int32_t *args, size_t n,
                                  hia_run_stats *used) {
  hia_value *values[8] = {NULL};
  for (size_t i = 0; i < n; i++) values[i] = hia_value_i32(p->engine, args[i]);
  hia_value *result = run(p, values, n, used);
  for (size_t i = 0; i < n; i++) hia_value_free(values[i]);
  return result;
}

static long long take_integer(hia_value *value) {
  int32_t x = 0;
  bench_check(hia_value_get_i32(value, &x), NULL);
  hia_value_free(value);
  return x;
}

long long bench_call(const bench_program *p, const int32_t *args, size_t n, hia_run_stats *used) {
  return take_integer(run_on_integers(p, args, n, used));
}

long long bench_call_on(const bench_program *p, hia_value *argument) {
  return take_integer(run(p, &argument, 1, NULL));
}

hia_value *bench_call_value(const bench_program *p, const int32_t *args, size_t n) {
  return run_on_integers(p, args, n, NULL);
}

void bench_call_text(char *text, size_t size, const char *name, const int32_t *args, size_t n) {
  size_t at = (size_t)snprintf(text, size, "%s(", name);
  for (size_t i = 0; i < n; i++)
    at += (size_t)snprintf(text + at, size - at, "%s%" PRId32, i ? "," : "", args[i]);
  snprintf(text + at, size - at, ")");
}

/* ---- the same in C ---- */

/* X(prefix of the C function, name, parameter types in parentheses, arguments from x) */
#define REFERENCES(X, prefix)                                                                      \
  X(prefix, fib, (int32_t), (x[0]))                                                                \
  X(prefix, ack, (int32_t, int32_t), (x[0], x[1]))                                                 \
  X(prefix, tak, (int32_t, int32_t, int32_t), (x[0], x[1], x[2]))                                  \
  X(prefix, primes, (int32_t), (x[0]))                                                             \
  X(prefix, small10, (int32_t), (x[0]))                                                            \
  X(prefix, small100, (int32_t), (x[0]))                                                           \
  X(prefix, small1000, (int32_t), (x[0]))                                                          \
  X(prefix, large10, (int32_t), (x[0]))                                                            \
  X(prefix, large100, (int32_t), (x[0]))                                                           \
  X(prefix, large1000, (int32_t), (x[0]))

typedef struct reference {
  const char *name;
  bench_reference call;
} reference;
enum { N_REFERENCES = 10 };

#define CALL(prefix, name, types, args)                                                            \
  int32_t prefix##_##name types;                                                                   \
  static int32_t call_##prefix##_##name(const int32_t *x) { return prefix##_##name args; }
#define ROW(prefix, name, types, args) {#name, call_##prefix##_##name},
#define ROWS(prefix)                   {REFERENCES(ROW, prefix)}

#if HIA_HAS_CLANG
REFERENCES(CALL, clang0)
REFERENCES(CALL, clang1)
REFERENCES(CALL, clang2)
REFERENCES(CALL, clang3)
#define CLANG_ROWS ROWS(clang0), ROWS(clang1), ROWS(clang2), ROWS(clang3)
#else
#define CLANG_ROWS                                                                                 \
  {                                                                                                \
    {                                                                                              \
      NULL, NULL                                                                                   \
    }                                                                                              \
  }
#endif
#if HIA_HAS_GCC
REFERENCES(CALL, gcc0)
REFERENCES(CALL, gcc1)
REFERENCES(CALL, gcc2)
REFERENCES(CALL, gcc3)
#define GCC_ROWS ROWS(gcc0), ROWS(gcc1), ROWS(gcc2), ROWS(gcc3)
#else
#define GCC_ROWS                                                                                   \
  {                                                                                                \
    {                                                                                              \
      NULL, NULL                                                                                   \
    }                                                                                              \
  }
#endif

bench_reference bench_find_reference(bench_compiler compiler, unsigned place, const char *name) {
  static const reference clang[BENCH_PLACES][N_REFERENCES] = {CLANG_ROWS},
                         gcc[BENCH_PLACES][N_REFERENCES] = {GCC_ROWS};
  const reference *rows = compiler == BENCH_CLANG ? clang[place] : gcc[place];
  for (size_t i = 0; i < N_REFERENCES && rows[i].name; i++)
    if (strcmp(rows[i].name, name) == 0) return rows[i].call;
  return NULL;
}

double bench_reference_ms(bench_reference f, const int32_t args[3], int32_t *result) {
  /* Through memory that is opaque to the compiler, so that nothing is computed beforehand. */
  int32_t hidden[3];
  for (size_t i = 0; i < 3; i++) hidden[i] = *(const volatile int32_t *)&args[i];
  double start = bench_cpu();
  *result = f(hidden);
  return bench_cpu() - start;
}

/* ---- the machine ---- */

/* The cores of the process at the first call, before this thread was pinned. */
static const cpu_set_t *all_cores(void) {
  static cpu_set_t all;
  static bool is_known;
  if (!is_known) {
    is_known = true;
    if (sched_getaffinity(0, sizeof all, &all) != 0) CPU_ZERO(&all);
  }
  return &all;
}

unsigned bench_cores(void) {
  int n = CPU_COUNT(all_cores());
  return n < 1 ? 1 : (unsigned)n;
}

void bench_pin_to(unsigned i) {
  const cpu_set_t *all = all_cores();
  cpu_set_t set;
  i %= bench_cores();
  /* From the last core on: interrupts go to the first ones. */
  for (size_t core = CPU_SETSIZE; core-- > 0;) {
    if (!CPU_ISSET(core, all) || i-- > 0) continue;
    CPU_ZERO(&set);
    CPU_SET(core, &set);
    /* If pinning is not allowed, the figures are less precise. */
    (void)sched_setaffinity(0, sizeof set, &set);
    return;
  }
}

void bench_pin(bool is_pinned) {
  if (is_pinned)
    bench_pin_to(0);
  else
    (void)sched_setaffinity(0, sizeof(cpu_set_t), all_cores());
}

/* Reads a pipe to its end and keeps what fits. */
static void read_all(int from, char *text, size_t size) {
  char rest[256];
  size_t len = 0;
  for (;;) {
    bool has_room = len + 1 < size;
    ssize_t n = has_room ? read(from, text + len, size - 1 - len) : read(from, rest, sizeof rest);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    if (has_room) len += (size_t)n;
  }
  if (size) text[len] = 0;
}

static double run_process(const char *const *argv, char *text, size_t size, double *peak) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    perror("pipe");
    exit(1);
  }
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  double start = bench_now();
  pid_t child;
  int status = 1;
  bool is_started =
      posix_spawnp(&child, argv[0], &actions, NULL, (char *const *)argv, environ) == 0;
  close(ends[1]);
  read_all(ends[0], text, size);
  close(ends[0]);
  struct rusage usage;
  bool ran = is_started && wait4(child, &status, 0, &usage) == child;
  double ms = bench_now() - start;
  posix_spawn_file_actions_destroy(&actions);
  if (!ran || status != 0) {
    fflush(stdout);
    fprintf(stderr, "%s %s failed\n", argv[0], argv[1]);
    exit(1);
  }
  *peak = (double)usage.ru_maxrss / 1024;
  return ms;
}

double bench_process_text(const char *const *argv, char *text, size_t size) {
  double peak;
  return run_process(argv, text, size, &peak);
}

double bench_process(const char *const *argv) { return bench_process_text(argv, NULL, 0); }

bool bench_process_works(const char *const *argv) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t child;
  int status = 1;
  bool works = posix_spawnp(&child, argv[0], &actions, NULL, (char *const *)argv, environ) == 0 &&
               waitpid(child, &status, 0) == child && status == 0;
  posix_spawn_file_actions_destroy(&actions);
  return works;
}

double bench_process_peak(const char *const *argv) {
  double peak;
  run_process(argv, NULL, 0, &peak);
  return peak;
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
  unsigned cores = bench_cores();
  printf("hiaton %s on %s, %u core%s\n\n", hia_version(), model, cores, cores == 1 ? "" : "s");
}

void bench_free_blas(void) {
  static const char *const names[] = {"OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE", "OPENBLAS_VERBOSE"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) unsetenv(names[i]);
}

void *bench_open_blas(void) {
  void *library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
  void (*set_threads)(int) = NULL;
  if (library) *(void **)&set_threads = dlsym(library, "openblas_set_num_threads");
  if (set_threads) set_threads(1);
  return library;
}

const char *bench_blas_text(void) {
  static char text[256];
  void *library = bench_open_blas();
  char *(*config)(void) = NULL, *(*core)(void) = NULL;
  if (library) {
    *(void **)&config = dlsym(library, "openblas_get_config");
    *(void **)&core = dlsym(library, "openblas_get_corename");
  }
  if (config && core) {
    const char *all = config(); /* "OpenBLAS 0.3.21 NO_LAPACKE ..." */
    size_t len = strcspn(all, " ");
    if (all[len]) len += 1 + strcspn(all + len + 1, " ");
    snprintf(text, sizeof text, "%.*s, kernels for %s", (int)len, all, core());
  } else
    snprintf(text, sizeof text, "not installed (Debian: libopenblas0-serial)");
  return text;
}
