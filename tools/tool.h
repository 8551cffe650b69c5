/* The command line. It uses the public header and nothing else of hiaton. */
#ifndef HIA_TOOL_H
#define HIA_TOOL_H

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
#define MAX_THREADS   1024

/* What build makes. */
typedef enum tool_kind { TOOL_OBJECT, TOOL_STATIC, TOOL_SHARED, TOOL_EXE } tool_kind;

typedef struct tool_options {
  const char *file;
  char **args; /* n_args words behind FILE */
  size_t n_args;
  const char *functions[MAX_FUNCTIONS]; /* --fn; several in dump and build only */
  size_t n_functions;
  hia_engine_kind engines[MAX_ENGINES]; /* --engine; several in bench only */
  size_t n_engines;
  unsigned threads[MAX_COUNTS]; /* --threads; several in bench only. engine.threads is the first */
  size_t n_threads;
  bool time, from_ir, json, wants_help;
  unsigned runs;
  uint64_t timeout_ns; /* of the run; 0: none */
  bool has_fuel;       /* the run has so much: */
  uint64_t fuel;
  const char *output, *header, *cpu, *prefix; /* of build; or NULL */
  bool parallel;
  tool_kind kind;
  const char *trace;         /* where its timeline goes; NULL: nowhere */
  hia_engine_options engine; /* but for its kind; in bench but for its threads */
  hia_dump_options dump;
} tool_options;

typedef struct tool_command {
  const char *name, *operands, *summary;
  int (*run)(const tool_options *options);
} tool_command;
extern const tool_command tool_commands[]; /* ends with a NULL name */

/* Fills *options from the words behind the command's name. Answers EXIT_FINE, or EXIT_USAGE and has
 * said why. `args` lie in `words`. */
int tool_parse(const tool_command *command, int argc, char **argv, tool_options *options);
void tool_help(const tool_command *command);

/* ---- hiaton.c: what the commands have in common ---- */

const char *tool_engine_name(hia_engine_kind kind);
/* Prints the error, frees it, and answers the exit status. */
int tool_fail(hia_error *error, hia_status status);
/* A wrong command line, in words. Answers EXIT_USAGE. */
int tool_usage(const tool_command *command, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* The cores that this process may use, at most MAX_THREADS. */
unsigned tool_cores(void);
/* Opens an engine and loads FILE. Answers an exit status; *engine and *module are to be freed, NULL
 * or not. */
int tool_load(const tool_options *options, hia_engine_kind kind, hia_engine **engine,
              hia_module **module);
/* The arguments as values of the function's parameters; an array to be freed by tool_free_args. */
int tool_args(hia_function *function, const tool_options *options, hia_value ***values);
void tool_free_args(hia_value **values, size_t n);
/* The function that is to run: --fn, or main. */
int tool_function(const tool_options *options, hia_module *module, hia_function **function);
/* A generic function becomes its instance for these arguments. */
int tool_instance(hia_function **function, hia_value **args, size_t n);
/* The calls of a counted run as the user sees them. */
uint64_t tool_calls(const tool_options *options, const hia_run_stats *used);
/* Gives a run its fuel, if it is to have some. An exit status: it may not do even for the call. */
int tool_fuel(const tool_options *options, hia_run_options *run);
/* Sends on what was printed so far. What goes wrong with standard output is told, and is the exit
 * status, when the program ends. */
void tool_flush(void);
bool tool_print(void *nobody, const char *bytes, size_t len); /* a hia_write to it */
/* A line that says how many calls the program made. */
void tool_count(FILE *file, const tool_options *options, const hia_run_stats *used);

/* ---- output.c: files that appear whole or not at all ---- */

typedef struct tool_output {
  char *path;      /* of the file itself, where its name is a link */
  char *temporary; /* NULL: it is no regular file (a pipe, a terminal) and written as it is */
  int file;        /* -1: not open */
  int wrong;       /* errno of the first failure */
} tool_output;

/* False, and errno says why; it is to be closed all the same. */
bool tool_output_open(tool_output *t, const char *path);
/* Moves the file to its place if `keep` and nothing was wrong, else removes it. */
void tool_output_close(tool_output *t, bool keep);
bool tool_output_write(void *output, const char *bytes, size_t len); /* a hia_write */
/* Where a file of this name is to be moved: its path without links. NULL, and errno says why. One
 * that is there and no regular file is written as it is: *is_file is false. */
char *tool_output_place(const char *path, bool *is_file);
/* Are these names, of files that may not be there yet, those of one regular file? */
bool tool_is_same_file(const char *a, const char *b);

/* Signals that would end the program, such as that of Ctrl-C, wait until they are released. */
void tool_hold_signals(sigset_t *before);
void tool_release_signals(const sigset_t *before);
/* A file, or a folder of those that were named after it, that is removed if a signal ends the
 * program. `path` must stay until it is forgotten. Signals are held. */
void tool_temporary(const char *path);
void tool_forget_temporary(const char *path); /* or NULL */

/* ---- trace.c: --trace FILE ---- */

/* NULL for no path. Answers an exit status: could FILE be written? */
int tool_trace_begin(const char *path, hia_timeline **timeline);
int tool_trace_end(const char *path, hia_timeline *timeline); /* writes it */

/* ---- the commands ---- */

int tool_run(const tool_options *options);
int tool_check(const tool_options *options);
int tool_dump(const tool_options *options);
int tool_bench(const tool_options *options);
int tool_build(const tool_options *options);

#endif
