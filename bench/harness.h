/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Shared by all benchmarks: clocks, medians, targets, one call of a program through the public API,
 * the same in C. One thread calls all of this. */
#ifndef HIA_HARNESS_H
#define HIA_HARNESS_H

#include <hiaton/hiaton.h>
#include <time.h>

double bench_clock(clockid_t clock); /* milliseconds */
double bench_now(void);              /* monotonic */
double bench_cpu(void);              /* processor time of this thread */
double bench_median(double *values, size_t n);

/* ---- options, targets, the end ---- */

/* Takes an option that every benchmark has; false if it is another one. `--quick` runs small
 * arguments, to check that everything works; with `--check` the benchmark ends with status 1 if a
 * target is missed. Both together end the process with status 2, as the targets are not for small
 * arguments. */
bool bench_take_option(const char *option);
bool bench_is_quick(void);

/* A figure's target is stated where the figure is measured, and printed next to it. */
typedef enum bench_bound { BENCH_UNBOUNDED, BENCH_MAX, BENCH_MIN } bench_bound;
typedef struct bench_target {
  bench_bound bound;
  double value;
} bench_target;
#define BENCH_NO_TARGET   ((bench_target){BENCH_UNBOUNDED, 0})
#define BENCH_AT_MOST(x)  ((bench_target){BENCH_MAX, (x)})
#define BENCH_AT_LEAST(x) ((bench_target){BENCH_MIN, (x)})

/* Prints a column of 23 characters: the value, its target in parentheses, and `!` if the value
 * misses it. A missed target is kept for bench_end, with copies of the names of its row and column.
 * A value of NAN was not measured, because a tool is not installed: it is printed as `-` and misses
 * no target. */
void bench_print_target(const char *row, const char *column, double value, int decimals,
                        bench_target target);
void bench_print_target_heading(const char *column);
/* Prints a wrong result on a line of its own. The benchmark then ends with status 1, with or
 * without
 * --check. */
__attribute__((format(printf, 1, 2))) void bench_wrong(const char *format, ...);
/* With --check, prints the rows that missed their targets. Returns the status for main. */
int bench_end(void);

/* ---- programs ---- */

/* A function of a program in one engine. An error in these functions ends the benchmark. */
typedef struct bench_program {
  hia_engine *engine;
  hia_module *module;
  hia_function *function;
  bool has_fuel;
  double
      compile_ms; /* from the checked program to native code; CPU time, the compiler being open */
} bench_program;
typedef struct bench_options {
  hia_engine_kind kind;
  unsigned threads;
  bool unchecked, count;
  bool merge_calls; /* on by default in hiaton; comparisons turn it off */
  bool always_fork;
  bool fast_products;
  hia_batching batch;
  bool reuse; /* on by default in hiaton, like merge_calls */
  bool fuel;  /* runs are metered, with more fuel than they can use */
  hia_speculate speculate;
  const char *disabled_passes;
  const hia_allocator *allocator; /* NULL: malloc */
  const hia_host_function *host;  /* NULL: none */
} bench_options;
/* Ends the benchmark with the error if there is one. `error` is read after the call that sets it;
 * NULL: there is none. */
void bench_check(hia_status status, hia_error *const *error);
bench_program bench_open(const char *path, const char *function, const bench_options *options);
bench_program bench_open_text(const char *name, const char *text, const char *function,
                              const bench_options *options);
/* The same of a file, with `more` at its end; NULL: with nothing more. */
bench_program bench_open_with(const char *path, const char *more, const char *function,
                              const bench_options *options);
/* The static graph of a native program, in the interpreter. */
bench_program bench_open_graph(const bench_program *program);
void bench_close(bench_program *program);
/* Runs it on n integers; returns its result, an integer. */
long long bench_call(const bench_program *program, const int32_t *args, size_t n,
                     hia_run_stats *used);
/* The same on one value of any type, which stays the caller's. */
long long bench_call_on(const bench_program *program, hia_value *argument);
/* Runs it on n integers; the result, of any type, is the caller's. */
hia_value *bench_call_value(const bench_program *program, const int32_t *args, size_t n);
/* NAME(ARG,ARG) */
void bench_call_text(char *text, size_t size, const char *name, const int32_t *args, size_t n);

/* ---- the same in C: reference.c, compiled by each C compiler that was found ---- */

typedef enum bench_compiler { BENCH_CLANG, BENCH_GCC } bench_compiler;
typedef int32_t (*bench_reference)(const int32_t *args);
#define BENCH_PLACES 4 /* alignments of each compiler's code: reference.c says why */
/* NULL if the harness was built without this compiler. */
bench_reference bench_find_reference(bench_compiler compiler, unsigned place, const char *name);
/* CPU time of one call, with three arguments or fewer. */
double bench_reference_ms(bench_reference f, const int32_t args[3], int32_t *result);

/* ---- the machine ---- */

unsigned bench_cores(void); /* that this process may use */
/* Binds this thread to one core, or to all again. */
void bench_pin(bool is_pinned);
void bench_pin_to(unsigned i); /* the i-th from the last, modulo the cores */
/* Milliseconds from starting a process to its end; argv ends with NULL. */
double bench_process(const char *const *argv);
/* True if it ends with status 0. What it prints, errors too, is dropped. */
bool bench_process_works(const char *const *argv);
/* The same; its output, up to size - 1 bytes, goes to `text`. */
double bench_process_text(const char *const *argv, char *text, size_t size);
/* The most memory that a process had at once, in MiB (its resident set); at least as much as this
 * one has had so far, since Linux passes that on. */
double bench_process_peak(const char *const *argv);
void bench_print_machine(void);
/* OpenBLAS chooses its kernels by the processor. Removes what makes it choose others from the
 * environment, of this process and of those that it starts: what is measured next to hiaton must be
 * at its best. Called before anything loads OpenBLAS. */
void bench_free_blas(void);
/* OpenBLAS, with one thread, once bench_free_blas has been called; NULL if it is not installed. */
void *bench_open_blas(void);
/* Its version, and the processor that its kernels are made for; or that it is not installed. */
const char *bench_blas_text(void);

#endif
