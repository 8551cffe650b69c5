/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The command line. It uses the public headers, and two of the runtime: value/output.h and
 * program/command_words.h. */
#ifndef HIA_TOOL_H
#define HIA_TOOL_H

#include "runtime/value/output.h"
#include <hiaton/hiaton.h>
#include <signal.h>
#include <stdio.h>

/* Exit statuses. */
enum {
  EXIT_FINE = 0,
  EXIT_PROGRAM = 1, /* the program was rejected or its run failed; or nothing could be written */
  EXIT_USAGE = 2,   /* the command line or an argument is wrong */
};

/* ---- options.c: the words of a command line ---- */

#define MAX_FUNCTIONS 32
#define MAX_ENGINES   16
#define MAX_COUNTS    16
#define MAX_OUTPUTS   8
#define MAX_WRT       64

/* The results that build can make. */
typedef enum tool_kind { TOOL_OBJECT, TOOL_STATIC, TOOL_SHARED, TOOL_EXE } tool_kind;

/* The options of all commands. 0 is none of them. */
typedef enum tool_option {
  OPT_FN = 1,
  OPT_EXPRESSION,
  OPT_OUTPUT,
  OPT_HEADER,
  OPT_PROFILE,
  OPT_EXE,
  OPT_SHARED,
  OPT_STATIC,
  OPT_CPU,
  OPT_PREFIX,
  OPT_MAP,
  OPT_PARALLEL,
  OPT_ENGINE,
  OPT_THREADS,
  OPT_TIME,
  OPT_TRACE,
  OPT_COUNT,
  OPT_RUNS,
  OPT_JSON,
  OPT_WARMUP_CURVE,
  OPT_MAX_CALLS,
  OPT_MAX_TIME,
  OPT_SORT,
  OPT_STAGE,
  OPT_AFTER,
  OPT_FORMAT,
  OPT_FROM_IR,
  OPT_NO_EXTERN,
  OPT_MAX_DEPTH,
  OPT_MAX_MEMORY,
  OPT_TIMEOUT,
  OPT_BUDGET,
  OPT_CACHE,
  OPT_PERF,
  OPT_GDB,
  OPT_FUEL,
  OPT_TRAP_NAN,
  OPT_BATCHING,
  OPT_SPECULATE,
  OPT_EXPLAIN,
  OPT_REPEAT,
  OPT_REUSE,
  OPT_LEVEL,
  OPT_NO_PASS,
  OPT_NO_MERGE,
  OPT_ALWAYS_FORK,
  OPT_UNCHECKED,
  OPT_FAST_PRODUCTS,
  OPT_VOCAB,
  OPT_LABELS,
  OPT_BUILD_VOCAB,
  OPT_SEED,
  OPT_PARAMS,
  OPT_SAVE_PARAMS,
  OPT_CONVERT,
  OPT_VERIFY,
  OPT_DATA,
  OPT_DEV,
  OPT_LOSS,
  OPT_METRIC,
  OPT_PER_EXAMPLE,
  OPT_EPOCHS,
  OPT_BATCH,
  OPT_OPTIMIZER,
  OPT_LR,
  OPT_MOMENTUM,
  OPT_BETA1,
  OPT_BETA2,
  OPT_EPSILON,
  OPT_DECAY,
  OPT_CLIP,
  OPT_SCHEDULE,
  OPT_WARMUP,
  OPT_SAVE,
  OPT_CHECKPOINT,
  OPT_CHECKPOINT_STEPS,
  OPT_NO_CHECKPOINT,
  OPT_RESUME,
  OPT_LOG,
  OPT_PLOT,
  OPT_WRT,
  OPT_TOLERANCE,
  OPT_STEP,
  OPT_SAMPLES,
  OPT_HELP, /* the last one */
} tool_option;
#define N_OPTIONS ((size_t)OPT_HELP + 1)

/* Sets of commands: a bit each. */
enum {
  RUN = 1,
  CHECK = 2,
  DUMP = 4,
  BENCH = 8,
  BUILD = 16,
  COMPLETION = 32,
  EXPLAIN = 64,
  CACHE = 1024,
  PROFILE = 2048,
  HELP = 128,
  TRAIN = 256,
  GRADIENTS = 512,
  ABOUT_PROGRAM = RUN | CHECK | DUMP | BENCH | BUILD | TRAIN | GRADIENTS | PROFILE
};

/* An option of some commands: parsing, --help, the manual page and the completion of shells come
 * from one table of these. */
typedef struct tool_row {
  tool_option id;
  int commands;
  const char *name;    /* without its dashes; one letter is a short option */
  const char *operand; /* NULL: takes none; a LIST is separated by commas, a FILE is one */
  const char *values;  /* what the operand may be, separated by spaces, PASS being the name of a
                          pass; of a FILE, what its name may end in. NULL: anything */
  const char *help;
} tool_row;
extern const tool_row tool_rows[]; /* ends with a NULL name */
static inline bool tool_is_file(const tool_row *row) {
  return row->operand && strcmp(row->operand, "FILE") == 0;
}

/* A file that a command writes. */
typedef struct tool_target {
  tool_option option; /* the option that names the file */
  const char *path;
} tool_target;

/* How the rate changes from step to step, after the warm-up. */
typedef enum tool_schedule { TOOL_CONSTANT, TOOL_LINEAR, TOOL_COSINE } tool_schedule;

/* What train has beyond the other commands. */
typedef struct tool_training {
  const char *data, *dev;    /* files; dev may be NULL */
  const char *loss, *metric; /* functions; metric may be NULL */
  bool is_per_example;       /* losses are shown divided by the number of examples */
  uint64_t epochs, batch;    /* batch: examples of a step */
  hia_trainer_options trainer;
  tool_schedule schedule;
  uint64_t warmup;                            /* steps */
  const char *save, *checkpoint, *log, *plot; /* files; or NULL */
  const char *old_checkpoint; /* where an earlier training has left one unless there was
                                 --checkpoint; or NULL */
  uint64_t checkpoint_steps;  /* 0: only after each epoch */
  bool may_resume, has_no_checkpoint;
} tool_training;

/* What check-gradients has beyond the other commands. */
typedef struct tool_gradients {
  hia_gradient_check_options check; /* but for its names */
  const char *wrt;                  /* names, separated by commas; NULL: all */
} tool_gradients;

/* What bench --warmup-curve has beyond bench. */
typedef struct tool_curve {
  bool is_wanted;
  uint64_t max_calls; /* of a process */
  uint64_t max_ns;    /* of all processes together */
  const char *plot;   /* a file; or NULL */
} tool_curve;

typedef struct tool_options {
  int command;            /* RUN, ... */
  bool given[N_OPTIONS];  /* the options that are there */
  const char *file;       /* FILE: a path, or "-" for standard input */
  const char *expression; /* -e; FILE is then NULL if there is none */
  char **args;            /* n_args words behind FILE */
  size_t n_args;
  const char *functions[MAX_FUNCTIONS]; /* --fn; several in dump and build only */
  size_t n_functions;
  hia_engine_kind engines[MAX_ENGINES]; /* --engine; several in bench only */
  size_t n_engines;
  unsigned threads[MAX_COUNTS]; /* --threads; several in bench only. engine.threads is the first */
  size_t n_threads;
  unsigned max_asked_threads; /* the largest of --threads as written: 0 is the number of cores */
  bool time, from_ir, json, explains, wants_help;
  bool by_memory;      /* of profile: --sort memory */
  unsigned runs;       /* of bench */
  uint64_t repeat;     /* --repeat: runs of run */
  uint64_t timeout_ns; /* of the run; 0: none */
  bool has_fuel;       /* the run has this much: */
  uint64_t fuel;
  const char *output;                          /* of build and run; or NULL */
  const char *header, *cpu, *prefix, *profile; /* of build; or NULL */
  const char *vocab, *labels, *build_vocab;    /* files; or NULL */
  bool has_seed;
  uint64_t seed;                    /* of params */
  const char *params, *save_params; /* files; or NULL */
  bool converts;                    /* elements of files become ones of the declared dtype */
  bool map, parallel;
  tool_kind kind;
  const char *trace;                /* the file for its timeline, or NULL */
  tool_target targets[MAX_OUTPUTS]; /* all files that will be written */
  size_t n_targets;
  tool_training training;    /* of train */
  tool_curve curve;          /* of bench */
  tool_gradients gradients;  /* of check-gradients */
  hia_engine_options engine; /* but for its kind; in bench but for its threads */
  const char *cache;         /* --cache; or NULL */
  hia_dump_options dump;
} tool_options;

typedef struct tool_command {
  int bit; /* RUN, ... */
  const char *name, *operands, *summary;
} tool_command;
extern const tool_command tool_commands[];               /* ends with a NULL name */
const tool_command *tool_find_command(const char *name); /* or NULL */

/* Fills *options from the words behind the command's name. Returns EXIT_FINE, or reports the
 * mistake and returns EXIT_USAGE. options->args points into argv. */
int tool_parse(const tool_command *command, int argc, char **argv, tool_options *options);
/* An option's name with its dashes. */
const char *tool_option_name(tool_option option);
static inline const char *tool_dashes(const tool_row *row) { /* one letter is a short option */
  return row->name[1] ? "--" : "-";
}
static inline bool tool_takes_file(const tool_command *command) { /* it is about a program */
  return command->bit & ABOUT_PROGRAM;
}
static inline bool tool_has(const tool_options *options, tool_option option) {
  return options->given[option];
}

/* ---- help.c: --help ---- */

void tool_help(const tool_command *command);

/* ---- rules.c: words that exclude each other ---- */

/* Refuses options that would have no effect beside the others, and files to write that are read.
 * Returns an exit status. */
int tool_rules(const tool_command *command, const tool_options *options);

/* ---- source.c: the program that a command is about ---- */

/* Loads it: FILE or standard input, then -e. A command may load any number of times. Returns an
 * exit status. */
int tool_source_load(const tool_options *options, hia_engine *engine, hia_module **module);
/* Reports an error of loading; takes it. Returns the exit status. */
int tool_source_fail(const tool_options *options, hia_error *error, hia_status status);
/* Loads it, and returns the error instead of printing it. With HIA_IO the error is NULL: the reason
 * has been printed on standard error. */
hia_status tool_source_try(const tool_options *options, hia_engine *engine, hia_module **module,
                           hia_error **error);
/* The name of the program in messages. */
const char *tool_source_name(const tool_options *options);
/* A line of the program's text, from 1 on; it lives as long as the process. False: there is none.
 */
bool tool_source_line(const tool_options *options, const char *file, uint32_t line,
                      const char **text, size_t *len);

/* ---- message.c: what the program says ---- */

int tool_exit_status(hia_status status);
/* Prints the error, frees it, and returns the exit status. */
int tool_fail(hia_error *error, hia_status status);
/* Reports a wrong command line. Returns EXIT_USAGE. */
int tool_usage(const tool_command *command, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* Flushes standard output. Its errors are reported, and decide the exit status, when the program
 * ends. */
void tool_flush(void);
bool tool_print(void *unused, const char *bytes, size_t len); /* a hia_write to standard output */
/* Flushes standard output, for the last time. Returns the status of the process: `code`, or
 * EXIT_PROGRAM if that is EXIT_FINE and something could not be written. */
int tool_end(int code);

/* ---- cache.c ---- */

/* The folder of the cache of native code; NULL: there is to be none. */
const char *tool_cache_folder(const tool_options *options);

/* ---- load.c: engine, module and function of a command ---- */

const char *tool_engine_name(hia_engine_kind kind);
/* Opens an engine; *engine is to be freed, NULL or not. Returns an exit status. */
int tool_open(const tool_options *options, hia_engine_kind kind, hia_engine **engine);
/* Opens an engine and loads FILE. Returns an exit status; *engine and *module are to be freed, NULL
 * or not. */
int tool_load(const tool_options *options, hia_engine_kind kind, hia_engine **engine,
              hia_module **module);
/* The function that is to run: --fn, or main. */
int tool_function(const tool_options *options, hia_module *module, hia_function **function);
/* The calls of a counted run as the user sees them. */
uint64_t tool_calls(const tool_options *options, const hia_run_stats *used);
/* Gives a run its fuel if there is --fuel. Returns an exit status: the fuel may be too little even
 * for the outermost call. */
int tool_fuel(const tool_options *options, hia_run_options *run);
/* Prints a line with the number of calls that the program made. */
void tool_count(FILE *file, const tool_options *options, const hia_run_stats *used);

/* ---- args.c: arguments and results ---- */

typedef struct tool_arguments {
  hia_value **values;        /* options->n_args of them; NULL where there is a stream */
  hia_stream **streams;      /* as many; NULL: there are none */
  hia_vocab *vocab, *labels; /* of trees; or NULL */
} tool_arguments;

/* Reads the arguments, which the caller frees with tool_free_args in any case; a large file of
 * an array becomes a stream if `may_stream` and the function allow it. A generic function becomes
 * its instance for them. Writes the file of --build-vocab. Returns an exit status. */
int tool_args(hia_engine *engine, hia_function **function, const tool_options *options,
              bool may_stream, tool_arguments *args);
void tool_free_args(tool_arguments *args, size_t n);
/* Reads the files of --data and --dev into args->values[0] and [1], as @FILE is read for the
 * parameter of the function, which has a type; without --dev the second one is NULL. Otherwise as
 * tool_args; the caller frees 2 of them. */
int tool_data(hia_engine *engine, hia_function *loss, const tool_options *options,
              tool_arguments *args);
/* Says that a file could not be written, for a reason of errno. Returns EXIT_PROGRAM. */
int tool_cannot_write(const char *path, int wrong);
/* Checks that the file for a result can be written; `path` is NULL if it is printed. */
int tool_result_begin(const char *path);
/* Checks whether such a file can have what the function returns. */
int tool_result_fits(const char *path, const hia_function *function);
/* Prints or saves what the function has returned. */
int tool_result(const char *path, const hia_function *function, const hia_value *value);

/* ---- time.c: the clock, and --time ---- */

uint64_t tool_now(void); /* in nanoseconds, of a clock that does not jump */

/* Prints a line on standard error, unless there is nothing to report. */
void tool_report_phase(const char *name, uint64_t ns, const char *what);
/* A line for each phase of making a function ready. */
void tool_report_compile(const hia_function_stats *cost);
/* What was made of the function, and what its runs have used. */
void tool_report_use(const hia_function_stats *cost, const hia_run_stats *used);

/* ---- output.c: files that appear whole or not at all ---- */

/* hiaR_output_write writes to it. If a signal ends the program nothing is left of it. */
typedef hia_file_output tool_output;

/* Returns false with errno set if it fails. The caller closes it in any case. */
bool tool_output_open(tool_output *t, const char *path);
/* Moves the file to its place if `keep` and there was no error, else removes it. Errors show in
 * t->wrong. */
void tool_output_close(tool_output *t, bool keep);
/* The place to which a file of this name is moved: its path without links. NULL with errno set if
 * it fails. *is_file becomes false if the file exists but is not regular: it is written in place.
 */
char *tool_output_target(const char *path, bool *is_file);
/* True if both names are those of one regular file, which may not exist yet. Files are compared by
 * device and inode, so hard and symbolic links are seen through. */
bool tool_is_same_file(const char *a, const char *b);

/* The signals that users and systems send, and that would end the program. */
void tool_ending_signals(sigset_t *set);
/* Blocks them until they are released. */
void tool_hold_signals(sigset_t *before);
void tool_release_signals(const sigset_t *before);
/* Notes a file, or the folder of the files noted after it, to be removed if a signal ends the
 * program. `path` must live until it is forgotten. The caller holds signals. */
void tool_temporary(const char *path);
void tool_forget_temporary(const char *path); /* or NULL */

/* ---- trace.c: --trace FILE ---- */

/* *timeline becomes NULL if path is. Returns an exit status: that of a mistake if FILE cannot be
 * written. */
int tool_trace_begin(const char *path, hia_timeline **timeline);
int tool_trace_end(const char *path, hia_timeline *timeline); /* writes it */

/* ---- progress.c: a line on the terminal ---- */

/* Appends what there is to say, as snprintf does; called on another thread. */
typedef void (*tool_say)(void *user, char *text, size_t size);
/* From now on, if standard error is a terminal, a line shows how long the command has been working
 * and what `say` adds, once that is half a second. Not for functions that print themselves. */
void tool_progress_begin(const hia_function *function, tool_say say, void *user);
/* Erases the line. tool_fail does that, too; without a line it does nothing. */
void tool_progress_end(void);
/* Forgets the line, without touching it: in a process that was forked from the one that shows it.
 */
void tool_progress_forget(void);
/* Prints a text, whose last line ends, on standard error, above the line if there is one. */
void tool_progress_print(const char *text);

/* ---- the commands ---- */

int tool_run(const tool_options *options);
int tool_check(const tool_options *options);
int tool_dump(const tool_options *options);
int tool_bench(const tool_options *options);
int tool_build(const tool_options *options);
int tool_train(const tool_options *options);
int tool_check_gradients(const tool_options *options);
int tool_profile(const tool_options *options);
int tool_completion(const tool_options *options);
int tool_cache(const tool_options *options);
int tool_explain(const tool_options *options);
/* batches.c: prints on standard error what hiaton knows of a function's runs, and what is batched.
 * Returns an exit status. */
int tool_explain_run(const tool_options *options, hia_module *module, hia_function *function);

#endif
