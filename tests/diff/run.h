/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Running a program in one of the many ways, and its outcome. */
#ifndef HIA_TESTS_DIFF_RUN_H
#define HIA_TESTS_DIFF_RUN_H

#include "tests/diff/program.h"
#include <hiaton/hiaton.h>
#include <string.h>

/* One way to run a program. */
typedef struct diff_way {
  char name[48]; /* "interp:2", "jit:O3", "jit:O1:no-cse", "jit:O1:t8" */
  hia_engine_kind kind;
  unsigned threads;
  int opt_level;
  const char *disabled; /* passes; NULL: none */
  bool count;
  bool always_fork, no_merging, no_reuse; /* of native code */
  hia_batching batch;
  bool cached;          /* its code comes from a cache, which is made for it */
  bool assumes;         /* versions that assume things of arguments, at random */
  bool through_text;    /* the graph is printed and read back, and that graph is run */
  hia_stage stage;      /* of that graph */
  const char *after;    /* and the pass; NULL: as built */
  bool interpreted;     /* the interpreter runs the graph that was printed for native code */
  bool typed;           /* called by its typed entry, as a C function */
  bool map;             /* by its map entry */
  bool traps;           /* operations that make NaN fail; another value makes another engine */
  bool has_traps;       /* `engine` has them */
  hia_engine *engine;   /* made at the first use, and again after USES_OF_AN_ENGINE */
  hia_context *context; /* if `typed` or `map` */
  hia_engine *reader;   /* reads a text, if that is not `engine` */
  uint32_t uses;
  char *source; /* the text that `module` was loaded from */
  hia_module *module;
  hia_module *from_text; /* if `through_text`: the module read from `read_from` */
  hia_function *read_from, *read_back;
} diff_way;

/* True if native code is made for it. */
static inline bool diff_is_native(const diff_way *way) {
  return way->kind == HIA_ENGINE_JIT || way->kind == HIA_ENGINE_AUTO;
}

/* True for native code on several workers: its schedule depends on the workers' speed, so it is
 * run more than once. */
static inline bool diff_is_parallel(const diff_way *way) {
  return diff_is_native(way) && way->threads > 1;
}

/* Fills `ways` with all ways and returns their number. Native ways exist only if the compiler can
 * be opened. `engines` names the engines to use ("jit,interp,auto"); NULL: all. */
#define DIFF_MAX_WAYS 96
uint32_t diff_ways(diff_way *ways, const char *engines);
void diff_ways_free(diff_way *ways, uint32_t n);

/* The outcome of a run; equal outcomes have equal text:
 *   42                        a value
 *   error div-zero f@4:17 main@9:3[2]   the chain, innermost first; element 2 of a comprehension
 *   error failed(7) f@1:5
 *   error depth               resources: no chain
 *   42, 7 fuel left           of runs with fuel; so is error fuel f@4:17, 1 fuel left
 *   rejected 3:7 4:2          positions of the errors */
typedef struct diff_result {
  gen_text text;
  uint64_t calls, rounds; /* of ways that count */
  uint64_t taps;          /* gen_tap of the values that the program passed to the host's tap_T */
  uint64_t steals;
  char *messages; /* of a rejection or of an error of the driver; else NULL */
} diff_result;
void diff_result_free(diff_result *r);

/* Loads `source` and calls function `fn` with these arguments, `times` times. If the calls differ,
 * the outcome is "unsteady: " and their results. `fuel`: the fuel of each run; NULL: without this
 * limit. */
void diff_run(diff_way *way, const char *name, const char *source, const char *fn,
              char *const *args, uint32_t n_args, const uint64_t *fuel, uint32_t times,
              diff_result *out);
/* Registers tap_i32 and so on, the host functions that generated programs call. */
hia_status diff_add_hosts(hia_engine *engine, hia_error **error);
/* gen_tap of the values that this thread's runs have passed to them since the last call. */
uint64_t diff_taps(void);
/* True if the way can run with fuel: a graph that passes have changed cannot. */
static inline bool diff_takes_fuel(const diff_way *way) {
  return !way->through_text || (way->stage == HIA_STAGE_GRAPH && !way->after);
}

/* True if the way cannot run the function, as its outcome says: data and arrays have no map
 * entries, and a graph with destinations, arrays that are not full, or segments is for native
 * code. */
static inline bool diff_is_beyond(const diff_way *way, const diff_result *r) {
  return (way->map || way->interpreted) && !strcmp(r->text.data, "error unsupported");
}

/* Adds a chain to an outcome's text, without the middle of a long one. */
void diff_add_chain(gen_text *text, uint64_t length,
                    gen_place (*entry)(const void *chain, uint64_t i), const void *chain);

/* Sets the name of the program that runs now; NULL: none. It is printed if a signal ends the
 * process, or if the run takes so long that it is taken to hang. */
void diff_watch(const char *what);
void diff_watch_init(void);

/* ---- corpus.c: hand-written programs ---- */

typedef struct diff_counts {
  uint32_t passed, failed;
} diff_counts;
/* Runs a file, or all *.hia of a folder and its folders. Each program is run in one of `in_turn`
 * ways, beginning with way `first`. `large`: also makes the large runs. */
void diff_corpus(const char *path, diff_way *ways, uint32_t n_ways, uint32_t in_turn,
                 uint32_t first, bool large, diff_counts *counts);
char *diff_read_file(const char *path); /* malloc'ed; NULL if it cannot be read */

/* One run that a file states. */
typedef struct diff_case {
  const char *path;
  uint32_t line;
  const char *source, *fn;
  char *const *args;
  uint32_t n_args;
  const uint64_t *fuel; /* NULL: without */
  bool traps;           /* operations that make NaN fail */
  const char *expected;
  bool is_rejected, is_large;
} diff_case;
/* Calls visit for each case in turn instead of running it. The cases of a program are consecutive
 * and have the same `source`. */
void diff_cases(const char *path, void (*visit)(void *user, const diff_case *c), void *user,
                diff_counts *counts);

/* ---- aot.c: the same, compiled ahead of time ---- */

/* Writes to a folder an object file for each program, and a main file in C that makes the calls
 * that the programs state and compares the outcomes: tests/diff/aot.sh builds and runs them.
 * `threads` > 1: code for several threads and for any processor. One program in `in_turn` is built;
 * `first` says which. */
void diff_aot(const char *folder, const char *const *paths, uint32_t n_paths, unsigned threads,
              uint32_t in_turn, uint32_t first, diff_counts *counts);

/* ---- random.c: generated programs ---- */

typedef struct diff_random_options {
  uint64_t seed;
  uint32_t count, seconds; /* whichever ends first; 0: no bound */
  uint32_t size;           /* 0: all, in turn */
  bool has_data;           /* programs with data types and arrays */
  bool thorough;           /* every way for every program, instead of some in turn */
  uint32_t shrink_tries;
  const char *save; /* folder for shrunk programs */
} diff_random_options;
void diff_random(const diff_random_options *o, diff_way *ways, uint32_t n_ways,
                 diff_counts *counts);
/* Writes `count` programs with their outcomes to a folder, as files of the form of corpus.c. */
void diff_write(const diff_random_options *o, const char *folder, diff_counts *counts);

/* ---- compare.c: generated programs without a reference ---- */

/* A program, and arguments for all of its functions that are run. */
typedef struct diff_sample {
  gen_text source;
  char *args[16];
  uint32_t n_args;
  /* How it is run. */
  bool has_traps, has_fuel;
  bool is_large;    /* tensors are large enough to be batched by default */
  bool is_whole;    /* native ways run all functions, and else two in turn: */
  uint32_t in_turn; /* from this one on */
} diff_sample;

/* A sort of them. */
typedef struct diff_sort {
  const char *name; /* of the option of hia_diff */
  /* Functions that are run if the program has them. There are always `value` and `slope`: that
   * gives what value gives and gradients. */
  const char *const *roots;
  uint32_t n_roots;
  /* Fills source and args. The program that it is made of, or NULL. */
  gen_program *(*make)(uint64_t seed, diff_sample *s);
  /* Of such a program, which may have been made smaller. False: there is no such sample. */
  bool (*write)(gen_program *p, diff_sample *s);
  bool batches; /* ways batch all that can be batched */
} diff_sort;
extern const diff_sort diff_gradients, diff_batches,
    diff_small; /* gradients.c, batches.c, small.c */

/* Compares each way with the first one. Of the options: seed, count, seconds, thorough and
 * shrink_tries. */
void diff_compare(const diff_sort *sort, const diff_random_options *o, diff_way *ways,
                  uint32_t n_ways, diff_counts *counts);
void diff_emit(const diff_sort *sort, uint64_t seed); /* prints a program and how to run it */

/* ---- slow.c: generated programs that are slower than they could be ---- */

/* Prints those that take longer by default than in another way. Of the options: seed, count,
 * seconds and size. `only`: "random", "data", "grad" or "batch"; NULL: all in turn. `runs`: the
 * time of a way is the least of so many. */
void diff_slow(const diff_random_options *o, const char *only, uint32_t runs);
void diff_slow_emit(const diff_random_options *o, const char *only);

/* ---- build.c: generated programs, made by the builder ---- */

/* Of the options: seed, count, seconds, size and thorough. */
void diff_build(const diff_random_options *o, diff_counts *counts);

/* ---- rebuild.c: hand-written programs, made by the builder ---- */

/* The ways as of diff_corpus. */
void diff_rebuild(const char *const *paths, uint32_t n_paths, diff_way *ways, uint32_t n_ways,
                  uint32_t in_turn, uint32_t first, diff_counts *counts);

/* ---- mutate.c: garbled source text ---- */

/* Each garbled program must end as a checked program or in diagnostics. */
void diff_mutate(uint64_t seed, uint32_t count, uint32_t seconds, const char *folder,
                 diff_way *ways, uint32_t n_ways, diff_counts *counts);

#endif
