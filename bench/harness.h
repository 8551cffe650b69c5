/* What every benchmark needs: clocks, medians, one call of a program through the public API. */
#ifndef HIA_HARNESS_H
#define HIA_HARNESS_H

#include <hiaton/hiaton.h>

double bench_now(void); /* milliseconds, monotonic */
double
bench_cpu(void); /* milliseconds that this thread has computed: other processes do not count */
double bench_median(double *values, size_t n);

/* A function of a program in one engine. Mistakes end the benchmark: there is nobody to go on for.
 */
typedef struct bench_program {
  hia_engine *engine;
  hia_module *module;
  hia_function *function;
} bench_program;
typedef struct bench_options {
  hia_engine_kind kind;
  unsigned threads;
  bool unchecked, count;
} bench_options;
bench_program bench_open(const char *path, const char *function, const bench_options *options);
void bench_close(bench_program *program);
/* Runs it on n integers; the result, an integer too. */
long long bench_call(const bench_program *program, const int32_t *args, size_t n,
                     hia_run_stats *used);

/* This thread stays on one core, or may go anywhere again. */
void bench_pin(bool is_pinned);
/* Milliseconds from starting a process to its end; argv ends with NULL. */
double bench_process(const char *const *argv);
void bench_print_machine(void);

#endif
