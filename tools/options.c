/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The options of all commands, in one table, and how they are parsed; --help comes from it too. */
#include "runtime/program/command_words.h"
#include "tools/tool.h"
#include <float.h>
#include <getopt.h>
#include <stdio.h>

const tool_row tool_rows[] = {
    {OPT_FN, RUN | BENCH | GRADIENTS | PROFILE, "fn", "NAME", NULL,
     "the function to call, fact or fact(i64); else main"},
    {OPT_FN, DUMP, "fn", "NAME", NULL,
     "a function to show, with all it calls; may be repeated. Else all whose types are known"},
    {OPT_FN, BUILD, "fn", "NAME", NULL,
     "a function to build, fact(i64); may be repeated. Else all whose types are known, or main"},
    {OPT_EXPRESSION, RUN | CHECK | DUMP | BENCH | GRADIENTS | PROFILE, "e", "EXPR", NULL,
     "an expression in place of a function; it may use the definitions of FILE: -e 'fib(20)'"},
    {OPT_OUTPUT, RUN, "o", "FILE", ".hiav .npy .npz",
     "write the result to FILE.hiav or, for NumPy, to FILE.npy or FILE.npz"},
    {OPT_DATA, TRAIN, "data", "FILE", NULL,
     "the examples: FILE.ptb, FILE.hiav, or any other that is an argument @FILE of run"},
    {OPT_DEV, TRAIN, "dev", "FILE", NULL,
     "examples that are not trained on: after each epoch they decide which params are the best"},
    {OPT_LOSS, TRAIN, "loss", "NAME", NULL,
     "the function that becomes small; it takes an array of examples (loss)"},
    {OPT_METRIC, TRAIN, "metric", "NAME", NULL,
     "a function of the examples of --dev: the best params are those with the highest result; else "
     "those with the lowest loss"},
    {OPT_PER_EXAMPLE, TRAIN, "per-example", NULL, NULL,
     "show losses divided by the number of examples, for a loss that is a sum over them"},
    {OPT_EPOCHS, TRAIN, "epochs", "N", NULL, "how often each example is trained on (10)"},
    {OPT_BATCH, TRAIN, "batch", "N", NULL, "the examples of a step (32)"},
    {OPT_OPTIMIZER, TRAIN, "optimizer", "NAME", "sgd adagrad adam adamw",
     "sgd, adagrad, adam (the default) or adamw"},
    {OPT_LR, TRAIN, "lr", "X", NULL, "the learning rate (0.001)"},
    {OPT_MOMENTUM, TRAIN, "momentum", "X", NULL,
     "of sgd: how much of a step the next one keeps (0)"},
    {OPT_BETA1, TRAIN, "beta1", "X", NULL, "of adam and adamw: the decay of the mean (0.9)"},
    {OPT_BETA2, TRAIN, "beta2", "X", NULL, "of adam and adamw: the decay of the variance (0.999)"},
    {OPT_EPSILON, TRAIN, "epsilon", "X", NULL,
     "of all but sgd: what is added to the root in the denominator (1e-8)"},
    {OPT_DECAY, TRAIN, "decay", "X", NULL, "weight decay (0)"},
    {OPT_CLIP, TRAIN, "clip", "NORM", NULL, "scale gradients of a larger norm down to this one"},
    {OPT_SCHEDULE, TRAIN, "schedule", "NAME", "constant linear cosine",
     "constant (the default); linear or cosine: the rate falls to 0 until the last step"},
    {OPT_WARMUP, TRAIN, "warmup", "STEPS", NULL, "the rate rises in the first steps (0)"},
    {OPT_SAVE, TRAIN, "save", "FILE", ".safetensors .npz",
     "write the best params, without --dev the last ones, to FILE.safetensors or FILE.npz"},
    {OPT_CHECKPOINT, TRAIN, "checkpoint", "FILE", ".checkpoint .safetensors .npz",
     "what --resume continues from, written after each epoch (that of --save with .checkpoint)"},
    {OPT_NO_CHECKPOINT, TRAIN, "no-checkpoint", NULL, NULL,
     "write no checkpoint beside the file of --save: the training cannot be resumed"},
    {OPT_CHECKPOINT_STEPS, TRAIN, "checkpoint-steps", "N", NULL,
     "write the checkpoint after every N steps, too"},
    {OPT_RESUME, TRAIN, "resume", NULL, NULL,
     "continue from the checkpoint if there is one, as if the training had not stopped"},
    {OPT_LOG, TRAIN, "log", "FILE", NULL, "append a line of JSON for each epoch: docs/training.md"},
    {OPT_PLOT, TRAIN, "plot", "FILE", ".svg",
     "draw losses and metric over the epochs, as FILE.svg"},
    {OPT_WRT, GRADIENTS, "wrt", "NAMES", NULL,
     "the parameters and params to compare, separated by commas; else all that are floats"},
    {OPT_TOLERANCE, GRADIENTS, "tolerance", "X", NULL,
     "by how much a gradient may differ, in proportion (1e-6, with f32 1e-3)"},
    {OPT_STEP, GRADIENTS, "step", "X", NULL,
     "the largest step of the differences; else chosen for each number by its magnitude"},
    {OPT_SAMPLES, GRADIENTS, "samples", "N", NULL,
     "of a larger tensor compare N elements, and all along two random directions (100)"},
    {OPT_VOCAB, RUN | BENCH | TRAIN | GRADIENTS | PROFILE, "vocab", "FILE", NULL,
     "the words of trees in @FILE.ptb, one a line; any other is the word <unk>"},
    {OPT_LABELS, RUN | BENCH | TRAIN | GRADIENTS | PROFILE, "labels", "FILE", NULL,
     "the labels of trees in @FILE.ptb, one a line; without it labels are numbers"},
    {OPT_BUILD_VOCAB, RUN | TRAIN, "build-vocab", "FILE", NULL,
     "write the words of the trees in @FILE.ptb, one a line, in the order in which they come"},
    {OPT_SEED, RUN | BENCH, "seed", "N", NULL,
     "the number from which the initialisers of params make their values (0)"},
    {OPT_SEED, TRAIN, "seed", "N", NULL,
     "the number from which the params are made, unless there is --params, and the order of the "
     "examples (0)"},
    {OPT_SEED, GRADIENTS, "seed", "N", NULL,
     "the number from which the params are made, unless there is --params, and from which elements "
     "of large tensors are chosen (0)"},
    {OPT_PARAMS, RUN | BENCH | TRAIN | GRADIENTS | PROFILE, "params", "FILE", NULL,
     "read the params from FILE.safetensors or FILE.npz"},
    {OPT_SEED, BUILD, "seed", "N", NULL,
     "what is built makes its params from this number (0), unless it is given others"},
    {OPT_PARAMS, BUILD, "params", "FILE", NULL,
     "what is built holds the params of FILE.safetensors or FILE.npz"},
    {OPT_SAVE_PARAMS, RUN, "save-params", "FILE", ".safetensors .npz",
     "write the params to FILE.safetensors or FILE.npz, before the run"},
    {OPT_CONVERT, RUN | BENCH | GRADIENTS | PROFILE, "convert", NULL, NULL,
     "convert elements of @FILE.npy, of @FILE.npz and of --params to the dtype that is declared"},
    {OPT_CONVERT, BUILD | TRAIN, "convert", NULL, NULL,
     "convert elements of --params to the dtype that is declared"},
    {OPT_OUTPUT, BUILD, "o", "FILE", NULL, "the file to write"},
    {OPT_HEADER, BUILD, "header", "FILE", NULL, "write the header for C and C++ too"},
    {OPT_PROFILE, BUILD, "profile", "FILE", NULL,
     "make code fast for what `hiaton profile --json` has seen and written to FILE"},
    {OPT_EXE, BUILD, "exe", NULL, NULL,
     "make a program; it takes its function's arguments, and --help"},
    {OPT_SHARED, BUILD, "shared", NULL, NULL, "make a shared library"},
    {OPT_STATIC, BUILD, "static", NULL, NULL,
     "make a static library. Without any of these: an object file"},
    {OPT_CPU, BUILD, "cpu", "NAME", "native x86-64 x86-64-v2 x86-64-v3 x86-64-v4",
     "native (this machine, the default), x86-64, x86-64-v2 to -v4, or a name like znver3"},
    {OPT_PREFIX, BUILD, "prefix", "P", NULL,
     "names in C are P_fib; '' makes fib; the default is the file's name"},
    {OPT_MAP, BUILD, "map", NULL, NULL,
     "also functions that compute all rows of columns: P_fib_map"},
    {OPT_PARALLEL, BUILD, "parallel", NULL, NULL, "code that several threads can run at once"},
    {OPT_ENGINE, RUN | TRAIN | GRADIENTS | PROFILE, "engine", "NAME", "jit interp expand auto",
     "auto (interp at first, native code for what takes longer; the default), jit (native code), "
     "interp (tagged tokens) or expand (graph copies)"},
    {OPT_ENGINE, BENCH, "engine", "LIST", "jit interp expand auto",
     "which engines, separated by commas (jit,interp,expand); also auto"},
    {OPT_THREADS, RUN | TRAIN | GRADIENTS | PROFILE, "threads", "N", NULL,
     "threads of the run; 0, the default: as many as there are cores"},
    {OPT_THREADS, DUMP, "threads", "N", NULL,
     "from 2 on: the graph or code for a run on several threads"},
    {OPT_THREADS, BENCH, "threads", "LIST", NULL,
     "numbers of threads, separated by commas (1); speed-up and efficiency over the first"},
    {OPT_TIME, RUN | TRAIN, "time", NULL, NULL, "report the time of each phase on standard error"},
    {OPT_TRACE, RUN, "trace", "FILE", NULL,
     "write a timeline of the run's threads, for ui.perfetto.dev or chrome://tracing"},
    {OPT_TRACE, TRAIN, "trace", "FILE", NULL,
     "write a timeline of the threads, for ui.perfetto.dev or chrome://tracing; of a long training "
     "its end"},
    {OPT_COUNT, RUN | DUMP | BENCH, "count", NULL, NULL,
     "count calls and loop rounds of the source; of a graph only if it was dumped with --count"},
    {OPT_RUNS, BENCH, "runs", "N", NULL,
     "measured runs of each engine, after one to warm up (10); of --warmup-curve processes (5)"},
    {OPT_WARMUP_CURVE, BENCH, "warmup-curve", NULL, NULL,
     "how long calls take from nothing, by their number: interp, jit, auto, and auto with a warm "
     "cache"},
    {OPT_MAX_CALLS, BENCH, "max-calls", "N", NULL,
     "of --warmup-curve: at most N calls in a process; else as many as there is time for"},
    {OPT_MAX_TIME, BENCH, "max-time", "SECONDS", NULL,
     "of --warmup-curve: measure for this long in all (10)"},
    {OPT_MAX_TIME, PROFILE, "max-time", "SECONDS", NULL,
     "run it again and again for this long (1), and at least once"},
    {OPT_SORT, PROFILE, "sort", "BY", "time memory",
     "which lines come first: those that take most time, or most memory (time)"},
    {OPT_PLOT, BENCH, "plot", "FILE", ".svg", "of --warmup-curve: draw it, as FILE.svg"},
    {OPT_JSON, BENCH, "json", NULL, NULL,
     "print JSON instead of a table, times in nanoseconds, each sample too: docs/bench.md"},
    {OPT_JSON, GRADIENTS, "json", NULL, NULL,
     "print JSON instead of lines of text, every derivative too: docs/gradients.md"},
    {OPT_JSON, PROFILE, "json", NULL, NULL, "print JSON, with every line that was counted"},
    {OPT_JSON, RUN, "json", NULL, NULL, "of --explain: as JSON"},
    {OPT_JSON, CHECK, "json", NULL, NULL, "print the errors as JSON, for editors: docs/errors.md"},
    {OPT_STAGE, DUMP, "stage", "STAGE", "ast graph static llvm llvm-opt asm tape batches",
     "ast, graph (as built), static (tagged; the default), llvm, llvm-opt, asm, tape (what "
     "gradients keep), or batches (what is computed for many calls at a time, and what is not)"},
    {OPT_AFTER, DUMP, "after", "PASS", "PASS", "the graph as this pass leaves it"},
    {OPT_FORMAT, DUMP, "format", "FORMAT", "text dot",
     "text, which can be read back, or dot (ast, graph, static), for Graphviz"},
    {OPT_FROM_IR, RUN | CHECK | DUMP | BENCH | BUILD | GRADIENTS | PROFILE, "from-ir", NULL, NULL,
     "FILE is a graph, as dump --stage graph and static write it"},
    {OPT_NO_EXTERN, RUN | BENCH | TRAIN | GRADIENTS | PROFILE, "no-extern", NULL, NULL,
     "the program may not call C functions: for programs that you do not trust"},
    {OPT_MAX_DEPTH, RUN | BENCH | TRAIN | GRADIENTS | PROFILE, "max-depth", "BYTES", NULL,
     "stack that a run may use: 500K, 64M, 2G, none (2G; of frames 4G, of expand 8G; and seven "
     "eighths of the memory that is left)"},
    {OPT_MAX_MEMORY, RUN | BENCH | TRAIN | GRADIENTS | PROFILE, "max-memory", "BYTES", NULL,
     "memory that a run may use in all, or none; of native code its values in memory, without its "
     "stack (seven eighths of the memory that is left)"},
    {OPT_TIMEOUT, RUN, "timeout", "SECONDS", NULL,
     "end the run after this time, which includes compiling: 2, 0.5"},
    {OPT_TIMEOUT, BENCH, "timeout", "SECONDS", NULL,
     "end the command when a run takes longer than this: 2, 0.5"},
    {OPT_CACHE, RUN | BENCH | TRAIN | GRADIENTS | PROFILE | CACHE, "cache", "DIR", NULL,
     "the folder that keeps native code for the next time, or off; else HIATON_CACHE says that"},
    {OPT_PERF, RUN | BENCH | TRAIN | GRADIENTS | PROFILE, "perf", "KIND", "map jitdump",
     "functions and lines for perf: a map of symbols, or a dump of code for perf inject --jit; in "
     "/tmp"},
    {OPT_GDB, RUN | BENCH | TRAIN | GRADIENTS | PROFILE, "gdb", NULL, NULL,
     "functions and lines of native code for GDB and LLDB"},
    {OPT_BUDGET, RUN | BENCH | TRAIN | GRADIENTS | PROFILE, "budget", "SECONDS", NULL,
     "after this time of compiling, compile the rest without optimising (10)"},
    {OPT_FUEL, RUN, "fuel", "N", NULL,
     "end the run when it would make more calls, loop rounds and work on tensors: 500, 20K, 5M "
     "(millions); on one thread"},
    {OPT_FUEL, DUMP, "fuel", NULL, NULL, "the graph or code for a run with --fuel"},
    {OPT_FUEL, BUILD, "fuel", NULL, NULL, "code whose calls use up their context's fuel"},
    {OPT_FUEL, BENCH, "fuel", "N", NULL, "run with this fuel: to measure what fuel costs"},
    {OPT_TRAP_NAN, RUN | BENCH | TRAIN, "trap-nan", NULL, NULL,
     "end the run at the operation whose result is NaN first, with its chain of calls"},
    {OPT_TRAP_NAN, DUMP, "trap-nan", NULL, NULL, "the graph or code for a run with --trap-nan"},
    {OPT_TRAP_NAN, BUILD, "trap-nan", NULL, NULL, "code that fails where an operation makes NaN"},
    {OPT_BATCHING, RUN | DUMP | BENCH | BUILD | TRAIN | GRADIENTS | PROFILE, "batching", "MODE",
     "none segments all depth agenda",
     "what is computed for many calls at a time: by native code nothing, operations on tensors "
     "among "
     "which are products with large params, or with any (segments); by --engine interp "
     "operations as they come, of equal depth, or all that are ready"},
    {OPT_SPECULATE, RUN | BENCH | PROFILE, "speculate", "MODE", "on off eager",
     "make versions of functions that assume what arguments were three times, never, or at once "
     "(on)"},
    {OPT_EXPLAIN, RUN, "explain", NULL, NULL,
     "then say on standard error which versions of the function were made, and why: "
     "docs/speculation.md"},
    {OPT_REPEAT, RUN, "repeat", "N", NULL,
     "run it N times with the same arguments; results and times are those of the last run (1)"},
    {OPT_REUSE, RUN | DUMP | BENCH | BUILD | TRAIN | GRADIENTS | PROFILE, "reuse", "MODE", "on off",
     "of what is batched, compute what has equal operands once; and what depends on integers and "
     "params alone once until a param changes (on)"},
    {OPT_LEVEL, RUN | DUMP | BENCH | BUILD | TRAIN | GRADIENTS | PROFILE, "opt", "LEVEL", "0 1 2 3",
     "optimisation of native code, 0 to 3 (3)"},
    {OPT_NO_PASS, RUN | DUMP | BENCH | BUILD | TRAIN | GRADIENTS | PROFILE, "no-pass", "LIST",
     "PASS all", "graph passes to leave out, separated by commas, or all"},
    {OPT_NO_MERGE, RUN | DUMP | BENCH | BUILD | TRAIN | GRADIENTS | PROFILE, "no-merge", NULL, NULL,
     "native code that makes equal calls of a function as often as written: to compare"},
    {OPT_ALWAYS_FORK, RUN | DUMP | BENCH, "always-fork", NULL, NULL,
     "native code for several threads on one too: to measure what it costs"},
    {OPT_UNCHECKED, RUN | DUMP | BENCH | BUILD, "unchecked", NULL, NULL,
     "native code without its entry check and limits: to measure what it costs"},
    {OPT_FAST_PRODUCTS, RUN | BENCH | TRAIN | GRADIENTS | PROFILE, "fast-products", NULL, NULL,
     "leave large products of floats to OpenBLAS, which rounds as the machine has it"},
    {OPT_FAST_PRODUCTS, BUILD, "fast-products", NULL, NULL,
     "code that leaves large products of floats to OpenBLAS, which rounds as the machine has it"},
    {OPT_VERIFY, RUN | DUMP | BENCH | BUILD | TRAIN | GRADIENTS | PROFILE, "verify", NULL, NULL,
     "check the graph after every pass"},
    {OPT_HELP, ABOUT_PROGRAM | HELP | COMPLETION | EXPLAIN | CACHE, "help", NULL, NULL,
     "this list"},
    {.name = NULL},
};
#define N_ROWS (sizeof tool_rows / sizeof tool_rows[0] - 1)

const tool_command tool_commands[] = {
    {RUN, "run", "FILE [ARG...]", "run a program: main, or --fn NAME, with the arguments"},
    {CHECK, "check", "FILE", "check a program without running it"},
    {DUMP, "dump", "FILE", "show what the compiler makes of a program"},
    {BENCH, "bench", "FILE [ARG...]", "measure compile and run time, engines side by side"},
    {BUILD, "build", "FILE [ARG...]", "compile a program ahead of time, to link with libhiaton_rt"},
    {TRAIN, "train", "FILE", "train the params of a program: they follow the gradient of its loss"},
    {GRADIENTS, "check-gradients", "FILE [ARG...]",
     "compare the gradient of a function with differences of its values"},
    {PROFILE, "profile", "FILE [ARG...]",
     "say in which functions and lines a program spends its time"},
    {COMPLETION, "completion", "SHELL", "print what completes commands and options in bash or zsh"},
    {CACHE, "cache", "[ACTION]", "the cache of native code: its size, or list, verify, clear"},
    {EXPLAIN, "explain", "[CODE]", "say what the code of an error means, or list the codes"},
    {HELP, "help", "[COMMAND]", "list the commands, or the options of one"},
    {.name = NULL},
};

const tool_command *tool_find_command(const char *name) {
  for (const tool_command *c = tool_commands; c->name; c++)
    if (strcmp(c->name, name) == 0) return c;
  return NULL;
}

const char *tool_option_name(tool_option option) {
  static char name[32];
  for (size_t i = 0; i < N_ROWS; i++) {
    if (tool_rows[i].id != option) continue;
    snprintf(name, sizeof name, "%s%s", tool_dashes(&tool_rows[i]), tool_rows[i].name);
    break;
  }
  return name;
}

/* ---- operands of options ---- */

#define MAX_EPOCHS 1000000

/* The number of a word among those of a row's values. */
static bool parse_word(const tool_row *row, const char *word, size_t len, unsigned *index) {
  *index = 0;
  for (const char *at = row->values; *at; ++*index) {
    size_t n = strcspn(at, " ");
    if (n == len && strncmp(at, word, len) == 0) return true;
    at += n + (at[n] == ' ');
  }
  return false;
}

static bool parse_engines(const tool_row *row, const char *list, tool_options *o) {
  o->n_engines = 0;
  for (const char *at = list;; at++) {
    size_t len = strcspn(at, ",");
    unsigned kind;
    if (o->n_engines == MAX_ENGINES || !parse_word(row, at, len, &kind)) return false;
    o->engines[o->n_engines++] = (hia_engine_kind)kind;
    at += len;
    if (!*at) return true;
  }
}

/* Parses numbers of threads; 0 is the number of cores. */
static bool parse_threads(const char *list, tool_options *o) {
  o->n_threads = 0;
  o->max_asked_threads = 0;
  for (const char *at = list;; at++) {
    char word[8] = "";
    uint64_t n = 0;
    size_t len = strcspn(at, ",");
    if (len >= sizeof word || o->n_threads == MAX_COUNTS) return false;
    memcpy(word, at, len);
    if (!hiaR_word_number(word, 0, HIA_MAX_WORD_THREADS, &n)) return false;
    o->threads[o->n_threads++] = n ? (unsigned)n : hiaR_word_cores();
    if (n > o->max_asked_threads) o->max_asked_threads = (unsigned)n;
    at += len;
    if (!*at) break;
  }
  o->engine.threads = o->threads[0];
  return true;
}

/* Checks the end of a file's name, which says what form the file gets. Returns NULL, or what the
 * name should have been. */
static const char *check_end(const tool_row *row, const char *path) {
  static char wanted[96];
  size_t len = 0;
  if (hiaR_word_is_special(path)) return NULL;
  for (const char *at = row->values; *at;) {
    char end[16];
    size_t n = strcspn(at, " ");
    snprintf(end, sizeof end, "%.*s", (int)n, at);
    if (hiaR_word_ends_in(path, end)) return NULL;
    at += n + (at[n] == ' ');
    len += (size_t)snprintf(wanted + len, sizeof wanted - len, "%sFILE%s",
                            !len  ? ""
                            : *at ? ", "
                                  : " or ",
                            end);
  }
  return wanted;
}

static const char *set_kind(tool_options *o, tool_kind kind) {
  if (o->kind != TOOL_OBJECT && o->kind != kind) return "alone: a build makes one thing";
  o->kind = kind;
  return NULL;
}

/* Notes a file that will be written. Returns NULL, or what the operand should have been. */
static const char *set_target(tool_options *o, tool_option option, const char *path,
                              const char **target) {
  if (!*path) return "the name of a file";
  for (size_t i = 0; i < o->n_targets; i++)
    if (o->targets[i].option == option) o->targets[i] = o->targets[--o->n_targets];
  if (o->n_targets == MAX_OUTPUTS) return "the last file to write: there are too many";
  o->targets[o->n_targets++] = (tool_target){option, path};
  *target = path;
  return NULL;
}

/* A number of which `is_valid` holds. */
static bool is_positive(double x) { return x > 0 && x <= DBL_MAX; }
static bool is_from_0(double x) { return x >= 0 && x <= DBL_MAX; }
static bool is_tolerance(double x) { return x > 0 && x <= 1; }
static bool is_below_1(double x) { return x >= 0 && x < 1; }
static bool parse_real(const char *text, bool (*is_valid)(double), double *x) {
  char *end;
  if (!isdigit((unsigned char)text[0]) && text[0] != '.') return false;
  *x = strtod(text, &end);
  return end > text && !*end && is_valid(*x);
}

/* As set, of the options that train alone has. */
static const char *set_training(tool_options *o, const tool_row *row, const char *operand) {
  static const char a_count[] = "a number from 1", from_0[] = "a number from 0";
  static const char below_1[] = "a number from 0 and below 1", above_0[] = "a number above 0";
  tool_training *t = &o->training;
  unsigned index = 0;
  switch (row->id) {
  case OPT_DATA:
  case OPT_DEV:
    if (!*operand || *operand == '@') return "the name of a file, without @";
    *(row->id == OPT_DATA ? &t->data : &t->dev) = operand;
    return NULL;
  case OPT_LOSS: t->loss = operand; return NULL;
  case OPT_METRIC: t->metric = operand; return NULL;
  case OPT_PER_EXAMPLE: t->is_per_example = true; return NULL;
  case OPT_EPOCHS:
    return hiaR_word_number(operand, 1, MAX_EPOCHS, &t->epochs) ? NULL
                                                                : "a number from 1 to 1000000";
  case OPT_BATCH: return hiaR_word_number(operand, 1, UINT32_MAX, &t->batch) ? NULL : a_count;
  case OPT_OPTIMIZER:
    if (!parse_word(row, operand, strlen(operand), &index)) return "sgd, adagrad, adam or adamw";
    t->trainer.optimizer = (hia_optimizer)index;
    return NULL;
  case OPT_LR: return parse_real(operand, is_positive, &t->trainer.rate) ? NULL : above_0;
  case OPT_MOMENTUM: return parse_real(operand, is_below_1, &t->trainer.momentum) ? NULL : below_1;
  case OPT_BETA1: return parse_real(operand, is_below_1, &t->trainer.beta1) ? NULL : below_1;
  case OPT_BETA2: return parse_real(operand, is_below_1, &t->trainer.beta2) ? NULL : below_1;
  case OPT_EPSILON: return parse_real(operand, is_from_0, &t->trainer.epsilon) ? NULL : from_0;
  case OPT_DECAY: return parse_real(operand, is_from_0, &t->trainer.decay) ? NULL : from_0;
  case OPT_CLIP: return parse_real(operand, is_positive, &t->trainer.max_norm) ? NULL : above_0;
  case OPT_SCHEDULE:
    if (!parse_word(row, operand, strlen(operand), &index)) return "constant, linear or cosine";
    t->schedule = (tool_schedule)index;
    return NULL;
  case OPT_WARMUP: return hiaR_word_number(operand, 0, UINT32_MAX, &t->warmup) ? NULL : from_0;
  case OPT_SAVE: return set_target(o, row->id, operand, &t->save);
  case OPT_CHECKPOINT: return set_target(o, row->id, operand, &t->checkpoint);
  case OPT_CHECKPOINT_STEPS:
    return hiaR_word_number(operand, 1, UINT64_MAX, &t->checkpoint_steps) ? NULL : a_count;
  case OPT_RESUME: t->may_resume = true; return NULL;
  case OPT_LOG: return set_target(o, row->id, operand, &t->log);
  case OPT_NO_CHECKPOINT: t->has_no_checkpoint = true; return NULL;
  case OPT_PLOT:
    return set_target(o, row->id, operand, o->command == BENCH ? &o->curve.plot : &t->plot);
  default: return "an option of this command";
  }
}

/* As set, of the options that check-gradients alone has. */
static const char *set_gradients(tool_options *o, const tool_row *row, const char *operand) {
  hia_gradient_check_options *check = &o->gradients.check;
  switch (row->id) {
  case OPT_WRT: o->gradients.wrt = operand; return *operand ? NULL : "names";
  case OPT_TOLERANCE:
    return parse_real(operand, is_tolerance, &check->tolerance) ? NULL : "above 0, and 1 at most";
  case OPT_STEP: return parse_real(operand, is_positive, &check->step) ? NULL : "a number above 0";
  case OPT_SAMPLES:
    return hiaR_word_number(operand, 1, 1000000, &check->samples) ? NULL
                                                                  : "a number from 1 to 1000000";
  default: return set_training(o, row, operand);
  }
}

/* Applies one option. Returns NULL, or what its operand should have been. */
static const char *set(tool_options *o, const tool_command *command, const tool_row *row,
                       const char *operand) {
  uint64_t number = 0;
  unsigned index = 0;
  const char *wanted = tool_is_file(row) && row->values ? check_end(row, operand) : NULL;
  if (wanted) return wanted;
  switch (row->id) {
  case OPT_FN:
    if (!(command->bit & (DUMP | BUILD))) o->n_functions = 0;
    if (o->n_functions == MAX_FUNCTIONS) return "given at most 32 times";
    o->functions[o->n_functions++] = operand;
    return NULL;
  case OPT_ENGINE:
    if (!parse_engines(row, operand, o)) return "jit, interp, expand or auto";
    if (!(command->bit & BENCH) && o->n_engines != 1) return "one engine";
    return NULL;
  case OPT_THREADS:
    if (!parse_threads(operand, o)) return "a number up to 1024";
    if (!(command->bit & BENCH) && o->n_threads != 1) return "one number";
    return NULL;
  case OPT_TIME: o->time = true; return NULL;
  case OPT_COUNT: o->engine.flags |= HIA_FLAG_COUNT; return NULL;
  case OPT_RUNS:
    if (!hiaR_word_number(operand, 1, 1000000, &number)) return "a number from 1 to 1000000";
    o->runs = (unsigned)number;
    return NULL;
  case OPT_JSON: o->json = true; return NULL;
  case OPT_EXPLAIN: o->explains = true; return NULL;
  case OPT_REPEAT:
    return hiaR_word_number(operand, 1, UINT32_MAX, &o->repeat) ? NULL
                                                                : "a number from 1 to 4294967295";
  case OPT_WARMUP_CURVE: o->curve.is_wanted = true; return NULL;
  case OPT_MAX_CALLS:
    return hiaR_word_number(operand, 1, UINT32_MAX, &o->curve.max_calls)
               ? NULL
               : "a number from 1 to 4294967295";
  case OPT_MAX_TIME:
    return hiaR_word_time(operand, &o->curve.max_ns) ? NULL : "a number of seconds, as in 0.5";
  case OPT_SORT:
    if (!parse_word(row, operand, strlen(operand), &index)) return "time or memory";
    o->by_memory = index == 1;
    return NULL;
  case OPT_STAGE:
    if (!parse_word(row, operand, strlen(operand), &index))
      return "ast, graph, static, llvm, llvm-opt, asm, tape or batches";
    o->dump.stage = (hia_stage)index;
    return NULL;
  case OPT_AFTER: o->dump.after = operand; return NULL;
  case OPT_FORMAT:
    if (!parse_word(row, operand, strlen(operand), &index)) return "text or dot";
    o->dump.format = (hia_format)index;
    return NULL;
  case OPT_FROM_IR: o->from_ir = true; return NULL;
  case OPT_MAX_DEPTH: return hiaR_word_limit(operand, &o->engine.max_depth) ? NULL : HIA_WORD_LIMIT;
  case OPT_MAX_MEMORY:
    return hiaR_word_limit(operand, &o->engine.max_memory) ? NULL : HIA_WORD_LIMIT;
  case OPT_NO_EXTERN: o->engine.flags &= ~(uint32_t)HIA_FLAG_PROCESS_SYMBOLS; return NULL;
  case OPT_TRACE: return set_target(o, row->id, operand, &o->trace);
  case OPT_TIMEOUT:
    return hiaR_word_time(operand, &o->timeout_ns) ? NULL : "a number of seconds, as in 0.5";
  case OPT_CACHE: o->cache = operand; return NULL;
  case OPT_PERF:
    if (!parse_word(row, operand, strlen(operand), &index)) return "map or jitdump";
    o->engine.flags |= index ? HIA_FLAG_JITDUMP : HIA_FLAG_PERF_MAP;
    return NULL;
  case OPT_GDB: o->engine.flags |= HIA_FLAG_GDB; return NULL;
  case OPT_BUDGET:
    return hiaR_word_time(operand, &o->engine.budget_ns) ? NULL : "a number of seconds, as in 0.5";
  case OPT_FUEL:
    o->has_fuel = o->dump.fuel = true;
    if (!operand || hiaR_word_scaled(operand, 1000, &o->fuel)) return NULL;
    return "a number of calls, loop rounds and work on tensors, as in 5000 or 20M";
  case OPT_TRAP_NAN: o->engine.flags |= HIA_FLAG_TRAP_NAN; return NULL;
  case OPT_BATCHING:
    if (!parse_word(row, operand, strlen(operand), &index))
      return "none, segments, all, depth or agenda";
    o->engine.batching = (const hia_batching[]){HIA_BATCH_NONE, HIA_BATCH_SEGMENTS, HIA_BATCH_ALL,
                                                HIA_BATCH_DEPTH, HIA_BATCH_AGENDA}[index];
    return NULL;
  case OPT_SPECULATE:
    if (!parse_word(row, operand, strlen(operand), &index)) return "on, off or eager";
    o->engine.speculate =
        (const hia_speculate[]){HIA_SPECULATE_ON, HIA_SPECULATE_OFF, HIA_SPECULATE_EAGER}[index];
    return NULL;
  case OPT_REUSE:
    if (!parse_word(row, operand, strlen(operand), &index)) return "on or off";
    o->engine.flags &= ~(uint32_t)HIA_FLAG_NO_REUSE;
    if (index) o->engine.flags |= HIA_FLAG_NO_REUSE;
    return NULL;
  case OPT_LEVEL:
    if (!hiaR_word_number(operand, 0, 3, &number)) return "a number from 0 to 3";
    o->engine.opt_level = (int)number;
    return NULL;
  case OPT_NO_PASS: o->engine.disabled_passes = operand; return NULL;
  case OPT_NO_MERGE: o->engine.flags |= HIA_FLAG_NO_MERGING; return NULL;
  case OPT_ALWAYS_FORK: o->engine.flags |= HIA_FLAG_ALWAYS_FORK; return NULL;
  case OPT_UNCHECKED: o->engine.flags |= HIA_FLAG_UNCHECKED; return NULL;
  case OPT_VERIFY: o->engine.flags |= HIA_FLAG_VERIFY; return NULL;
  case OPT_FAST_PRODUCTS: o->engine.flags |= HIA_FLAG_FAST_PRODUCTS; return NULL;
  case OPT_OUTPUT: return set_target(o, row->id, operand, &o->output);
  case OPT_VOCAB: o->vocab = operand; return NULL;
  case OPT_LABELS: o->labels = operand; return NULL;
  case OPT_BUILD_VOCAB: return set_target(o, row->id, operand, &o->build_vocab);
  case OPT_SEED:
    o->has_seed = true;
    return hiaR_word_number(operand, 0, UINT64_MAX, &o->seed) ? NULL : "a number from 0";
  case OPT_PARAMS: o->params = operand; return NULL;
  case OPT_CONVERT: o->converts = true; return NULL;
  case OPT_SAVE_PARAMS: return set_target(o, row->id, operand, &o->save_params);
  case OPT_HEADER: return set_target(o, row->id, operand, &o->header);
  case OPT_PROFILE: o->profile = operand; return NULL;
  case OPT_EXE: return set_kind(o, TOOL_EXE);
  case OPT_SHARED: return set_kind(o, TOOL_SHARED);
  case OPT_STATIC: return set_kind(o, TOOL_STATIC);
  case OPT_CPU: o->cpu = operand; return NULL;
  case OPT_PREFIX: o->prefix = operand; return NULL;
  case OPT_MAP: o->map = true; return NULL;
  case OPT_PARALLEL: o->parallel = true; return NULL;
  case OPT_HELP: o->wants_help = true; return NULL;
  case OPT_EXPRESSION: o->expression = operand; return NULL;
  default: return set_gradients(o, row, operand);
  }
}

/* ---- parsing ---- */

static const tool_row *row_of(const tool_command *command, tool_option id) {
  for (size_t i = 0; i < N_ROWS; i++)
    if (tool_rows[i].id == id && tool_rows[i].commands & command->bit) return &tool_rows[i];
  return NULL;
}

/* Reports a word that getopt has found to be no option of the command, or to lack its operand. */
static int bad_option(const tool_command *command, int id, const char *word) {
  if (id == ':') return tool_usage(command, "`%s` takes a value", word);
  if (word[0] == '-' && word[1] != '-') return tool_usage(command, "there is no option `%s`", word);
  int len = (int)strcspn(word, "=");
  for (size_t i = 0; i < N_ROWS; i++) {
    bool is_named = strncmp(tool_rows[i].name, word + 2, (size_t)len - 2) == 0 &&
                    tool_rows[i].name[len - 2] == 0;
    if (!is_named) continue;
    if (tool_rows[i].commands & command->bit && !tool_rows[i].operand && word[len] == '=')
      return tool_usage(command, "`%.*s` takes no value", len, word);
  }
  return tool_usage(command, "there is no option `%.*s`", len, word);
}

static int set_wrong(const tool_command *command, const tool_row *row, const char *operand,
                     const char *wanted) {
  if (!row->operand) return tool_usage(command, "--%s should be %s", row->name, wanted);
  return tool_usage(command, "%s%s: `%s` should be %s", tool_dashes(row), row->name,
                    operand ? operand : "", wanted);
}

enum { FIRST_LONG = 256 }; /* getopt's number of option 0 in its long form */

/* The options of a command, as getopt takes them. */
typedef struct getopt_tables {
  struct option longs[N_ROWS + 1];
  char shorts[2 * N_ROWS + 4];
} getopt_tables;

static void fill_tables(const tool_command *command, getopt_tables *t) {
  size_t n = 0;
  /* "-" returns operands in order, as options numbered 1, so that nothing is reordered. */
  char *at = stpcpy(t->shorts, "-:h");
  for (size_t i = 0; i < N_ROWS; i++) {
    const tool_row *row = &tool_rows[i];
    if (!(row->commands & command->bit)) continue;
    if (row->name[1]) {
      t->longs[n++] = (struct option){row->name, row->operand ? required_argument : no_argument,
                                      NULL, FIRST_LONG + (int)row->id};
    } else {
      *at++ = row->name[0];
      if (row->operand) *at++ = ':';
    }
  }
  *at = 0;
  t->longs[n] = (struct option){NULL, 0, NULL, 0};
}

/* The option that getopt has found. */
static const tool_row *found_row(const tool_command *command, int id) {
  if (id >= FIRST_LONG) return row_of(command, (tool_option)(id - FIRST_LONG));
  for (size_t i = 0; i < N_ROWS; i++)
    if (tool_rows[i].commands & command->bit && !tool_rows[i].name[1] && tool_rows[i].name[0] == id)
      return &tool_rows[i];
  return row_of(command, OPT_HELP); /* -h is its short form */
}

static int parse_options(const tool_command *command, int argc, char **argv, tool_options *o) {
  getopt_tables tables;
  fill_tables(command, &tables);
  bool are_all_arguments = false;
  optind = 1;
  opterr = 0;
  while (optind < argc) {
    char *word = argv[optind];
    /* Arguments that only look like options, such as -5, are taken before getopt sees them. */
    if (are_all_arguments || hiaR_word_is_argument(word)) {
      o->args[o->n_args++] = word;
      optind++;
      continue;
    }
    int id = getopt_long(argc, argv, tables.shorts, tables.longs, NULL);
    if (id == -1) { /* "--" */
      are_all_arguments = true;
    } else if (id == 1) {
      o->args[o->n_args++] = optarg;
    } else if (id == '?' || id == ':') {
      return bad_option(command, id, word);
    } else {
      const tool_row *row = found_row(command, id);
      const char *wanted = set(o, command, row, optarg);
      if (wanted) return set_wrong(command, row, optarg, wanted);
      o->given[row->id] = true;
      if (o->wants_help) return EXIT_FINE;
    }
  }
  return EXIT_FINE;
}

/* The words that are no options: FILE, which an expression may stand in for, and ARGs. */
static int take_file(const tool_command *command, tool_options *o) {
  if (o->n_args == 0 && o->expression) return EXIT_FINE;
  if (o->n_args == 0) return tool_usage(command, "FILE is missing");
  o->file = o->args[0];
  o->args++;
  o->n_args--;
  if (o->n_args && (o->expression || !strstr(command->operands, "ARG")))
    return tool_usage(command, "`%s` is one word too many%s", o->args[0],
                      o->expression ? ": an expression takes no arguments" : "");
  return EXIT_FINE;
}

/* The checkpoint lies beside the params that are saved, unless there is --checkpoint. */
static bool name_checkpoint(tool_options *o) {
  static char name[PATH_MAX];
  tool_training *t = &o->training;
  if (!t->save || t->checkpoint) return true;
  int len = snprintf(name, sizeof name, "%s.checkpoint", t->save);
  if (len < 0 || (size_t)len >= sizeof name) return false;
  t->old_checkpoint = name;
  if (t->has_no_checkpoint) return true;
  return set_target(o, OPT_CHECKPOINT, name, &t->checkpoint) == NULL;
}

static bool is_cache_action(const char *word) {
  return strcmp(word, "size") == 0 || strcmp(word, "list") == 0 || strcmp(word, "verify") == 0 ||
         strcmp(word, "clear") == 0;
}

int tool_parse(const tool_command *command, int argc, char **argv, tool_options *o) {
  hia_engine_options engine = HIA_ENGINE_OPTIONS_INIT;
  hia_dump_options dump = HIA_DUMP_OPTIONS_INIT;
  if (command->bit & (RUN | TRAIN | GRADIENTS | PROFILE)) engine.threads = hiaR_word_cores();
  engine.flags |= HIA_FLAG_PROCESS_SYMBOLS;
  const tool_training training = {
      .loss = "loss", .epochs = 10, .batch = 32, .trainer = HIA_TRAINER_OPTIONS_INIT};
  const tool_gradients gradients = {.check = HIA_GRADIENT_CHECK_OPTIONS_INIT};
  *o = (tool_options){
      .training = training,
      .gradients = gradients,
      .curve = {.max_calls = UINT32_MAX,
                .max_ns = command->bit == PROFILE ? UINT64_C(1000000000) : UINT64_C(10000000000)},
      .command = command->bit,
      .engine = engine,
      .dump = dump,
      .runs = 10,
      .repeat = 1};
  o->threads[o->n_threads++] = engine.threads;
  /* Operands move to the front of argv: there is always room, since one was read for each. */
  o->args = argv + 1;
  int code = parse_options(command, argc, argv, o);
  if (code != EXIT_FINE || o->wants_help) return code;
  if (!tool_takes_file(command)) {
    if (o->n_args > 1) return tool_usage(command, "`%s` is one word too many", o->args[1]);
    if (command->bit & CACHE && o->n_args && !is_cache_action(o->args[0]))
      return tool_usage(command, "`%s` should be size, list, verify or clear", o->args[0]);
    return EXIT_FINE;
  }
  code = take_file(command, o);
  if (code != EXIT_FINE) return code;
  if (command->bit & TRAIN && !name_checkpoint(o))
    return tool_usage(command, "--save: the name is too long");
  if (o->dump.after && !tool_has(o, OPT_STAGE)) o->dump.stage = HIA_STAGE_GRAPH;
  if (o->expression) {
    o->functions[0] = HIA_EXPRESSION;
    o->n_functions = 1;
  }
  return code;
}
