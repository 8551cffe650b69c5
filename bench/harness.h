/* What every benchmark needs: clocks, medians, one call of a program through the public API, the
 * same in C. */
#ifndef HIA_HARNESS_H
#define HIA_HARNESS_H

#include <hiaton/hiaton.h>
#include <time.h>

double bench_clock(clockid_t clock); /* milliseconds */
double bench_now(void);              /* monotonic */
double bench_cpu(void); /* what this thread has computed: other processes do not count */
double bench_median(double *values, size_t n);

/* A function of a program in one engine. Mistakes end the benchmark: there is nobody to go on for.
 */
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
  bool merge_calls; /* what users get; comparisons have it off */
  bool always_fork;
  bool fuel; /* runs have fuel, more than they can use */
  const char *disabled_passes;
} bench_options;
bench_program bench_open(const char *path, const char *function, const bench_options *options);
bench_program bench_open_text(const char *name, const char *text, const char *function,
                              const bench_options *options);
/* The static graph that this one is made from, to be run by the interpreter. */
bench_program bench_open_graph(const bench_program *program);
void bench_close(bench_program *program);
/* Runs it on n integers; the result, an integer too. */
long long bench_call(const bench_program *program, const int32_t *args, size_t n,
                     hia_run_stats *used);
/* NAME(ARG,ARG) */
void bench_call_text(char *text, size_t size, const char *name, const int32_t *args, size_t n);

/* ---- the same in C: reference.c, as the compilers at hand make it ---- */

typedef enum bench_compiler { BENCH_CLANG, BENCH_GCC } bench_compiler;
typedef int32_t (*bench_reference)(const int32_t *args);
#define BENCH_PLACES 4 /* at which the code of a compiler lies: reference.c says why */
/* NULL if the harness was built without this compiler. */
bench_reference bench_find_reference(bench_compiler compiler, unsigned place, const char *name);
/* One call of it, with three arguments or fewer: CPU time. */
double bench_reference_ms(bench_reference f, const int32_t args[3], int32_t *result);

/* ---- the machine ---- */

unsigned bench_cores(void); /* that this process may use */
/* This thread stays on one core, or may go anywhere again. */
void bench_pin(bool is_pinned);
void bench_pin_to(unsigned i); /* the i-th from the last, modulo the cores */
/* Milliseconds from starting a process to its end; argv ends with NULL. */
double bench_process(const char *const *argv);
/* The same; what it prints, up to size - 1 bytes, goes to `text`. */
double bench_process_text(const char *const *argv, char *text, size_t size);
void bench_print_machine(void);

#endif
