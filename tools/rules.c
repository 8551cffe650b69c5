/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Rules about words of a command line that exclude each other. An option that would have no effect
 * beside the others is refused, since the user expects one. So is a file to write that is also
 * read. */
#include "runtime/program/command_words.h"
#include "tools/tool.h"

/* ---- options ---- */

static bool has_engine(const tool_options *o, hia_engine_kind kind) {
  for (size_t i = 0; i < o->n_engines; i++)
    if (o->engines[i] == kind) return true;
  return false;
}

static bool is_never_native(const tool_options *o) {
  return o->n_engines && !has_engine(o, HIA_ENGINE_JIT) && !has_engine(o, HIA_ENGINE_AUTO);
}
static bool is_always_expanded(const tool_options *o) {
  return has_engine(o, HIA_ENGINE_EXPAND) && !has_engine(o, HIA_ENGINE_JIT) &&
         !has_engine(o, HIA_ENGINE_INTERP) && !has_engine(o, HIA_ENGINE_AUTO);
}
static bool has_more_threads_than_expand(const tool_options *o) {
  return o->max_asked_threads > 1 && is_always_expanded(o);
}
static bool is_unchecked(const tool_options *o) {
  return (o->engine.flags & HIA_FLAG_UNCHECKED) != 0;
}
static bool has_fuel(const tool_options *o) { return o->has_fuel; }
static bool has_more_threads_than_fuel(const tool_options *o) {
  return o->max_asked_threads > 1 && o->has_fuel;
}

static bool is_by_firings(const tool_options *o) {
  return o->engine.batching == HIA_BATCH_DEPTH || o->engine.batching == HIA_BATCH_AGENDA;
}
static bool is_not_for_firings(const tool_options *o) {
  bool is_interp = o->n_engines == 1 && o->engines[0] == HIA_ENGINE_INTERP;
  return is_by_firings(o) && !is_interp;
}
static bool has_more_threads_than_firings(const tool_options *o) {
  return o->max_asked_threads > 1 && is_by_firings(o);
}

static bool is_of_another_stage(const tool_options *o) { return o->dump.stage != HIA_STAGE_GRAPH; }
static bool is_ast(const tool_options *o) { return o->dump.stage == HIA_STAGE_AST; }
static bool is_no_code(const tool_options *o) { return o->dump.stage < HIA_STAGE_LLVM; }
static bool is_unoptimized(const tool_options *o) { return o->dump.stage == HIA_STAGE_LLVM; }
static bool is_as_built(const tool_options *o) {
  return o->dump.stage == HIA_STAGE_GRAPH && !o->dump.after;
}
static bool has_expression(const tool_options *o) { return o->expression != NULL; }
static bool is_from_ir(const tool_options *o) { return o->from_ir; }

static bool has_no_trees(const tool_options *o) {
  for (size_t i = 0; i < o->n_args; i++)
    if (hiaR_word_kind(o->args[i]) == HIA_WORD_BRACKETS) return false;
  return true;
}
/* No file has tensors that could be converted. */
static bool has_no_tensors(const tool_options *o) {
  for (size_t i = 0; o->command & (RUN | BENCH | GRADIENTS | PROFILE) && i < o->n_args; i++) {
    hia_word_kind kind = hiaR_word_kind(o->args[i]);
    if (kind == HIA_WORD_NPY || kind == HIA_WORD_NPZ) return false;
  }
  return o->params == NULL;
}
static bool reads_params(const tool_options *o) { return o->params != NULL; }
static bool has_no_explanation(const tool_options *o) { return !o->explains; }
static bool has_curve(const tool_options *o) { return o->curve.is_wanted; }
static bool has_no_curve(const tool_options *o) { return !o->curve.is_wanted; }
static bool has_curve_and_several_threads(const tool_options *o) {
  return o->curve.is_wanted && o->n_threads > 1;
}
static bool builds_vocab(const tool_options *o) { return o->build_vocab != NULL; }

static bool has_no_momentum(const tool_options *o) {
  return o->training.trainer.optimizer != HIA_SGD;
}
static bool has_no_betas(const tool_options *o) {
  return o->training.trainer.optimizer != HIA_ADAM && o->training.trainer.optimizer != HIA_ADAMW;
}
static bool has_no_epsilon(const tool_options *o) {
  return o->training.trainer.optimizer == HIA_SGD;
}
static bool has_no_examples_in_brackets(const tool_options *o) {
  const tool_training *t = &o->training;
  return !hiaR_word_ends_in(t->data, ".ptb") && !(t->dev && hiaR_word_ends_in(t->dev, ".ptb"));
}
static bool has_no_dev(const tool_options *o) { return !o->training.dev; }
static bool has_no_checkpoint(const tool_options *o) { return !o->training.checkpoint; }
static bool wants_no_checkpoint(const tool_options *o) { return o->training.has_no_checkpoint; }
static bool has_no_save(const tool_options *o) { return !o->training.save; }

enum { MAX_RULED = 13 };

/* If `is_wrong`, none of these options may be given. The first row that applies is reported. */
static const struct rule {
  int commands;
  tool_option options[MAX_RULED]; /* 0 ends them if they are fewer */
  bool (*is_wrong)(const tool_options *options);
  const char *why; /* behind the option's name */
} rules[] = {
    {RUN | BENCH | DUMP | GRADIENTS | PROFILE, {OPT_FN}, has_expression, "has no effect with -e"},
    {BENCH,
     {OPT_ENGINE},
     has_curve,
     "has no effect with --warmup-curve, which measures interp, jit and auto"},
    {BENCH,
     {OPT_CACHE},
     has_curve,
     "has no effect with --warmup-curve, which makes a folder of its own and removes it"},
    {BENCH, {OPT_COUNT}, has_curve, "has no effect with --warmup-curve, which shows times alone"},
    {BENCH, {OPT_THREADS}, has_curve_and_several_threads, "is one number with --warmup-curve"},
    {BENCH, {OPT_MAX_CALLS, OPT_MAX_TIME, OPT_PLOT}, has_no_curve, "is for --warmup-curve"},
    {RUN, {OPT_JSON}, has_no_explanation, "is for --explain"},
    {RUN | CHECK | BENCH | DUMP | GRADIENTS | PROFILE,
     {OPT_FROM_IR},
     has_expression,
     "has no effect with -e: a graph defines no names"},
    {RUN | BENCH | TRAIN | GRADIENTS | PROFILE,
     {OPT_LEVEL, OPT_NO_MERGE, OPT_ALWAYS_FORK, OPT_UNCHECKED, OPT_PERF, OPT_GDB},
     is_never_native,
     "is for native code, which --engine jit alone makes"},
    {RUN | BENCH,
     {OPT_MAX_DEPTH, OPT_TIMEOUT},
     is_unchecked,
     "has no effect with --unchecked, which leaves all limits out"},
    {RUN | BENCH | DUMP,
     {OPT_ALWAYS_FORK},
     has_fuel,
     "has no effect with --fuel: such runs are on one thread"},
    {RUN | BENCH | DUMP,
     {OPT_THREADS},
     has_more_threads_than_fuel,
     "above 1 has no effect with --fuel: such runs are on one thread"},
    {BUILD, {OPT_PARALLEL}, has_fuel, "has no effect with --fuel: such calls are on one thread"},
    {RUN | BENCH | TRAIN | GRADIENTS | PROFILE,
     {OPT_THREADS},
     has_more_threads_than_expand,
     "above 1 has no effect with --engine expand, which is on one thread"},
    {RUN | BENCH | TRAIN | GRADIENTS | PROFILE | BUILD,
     {OPT_BATCHING},
     is_not_for_firings,
     "depth and agenda are for --engine interp"},
    {RUN | BENCH | TRAIN | GRADIENTS | PROFILE,
     {OPT_THREADS},
     has_more_threads_than_firings,
     "above 1 has no effect with --batching depth and agenda: such runs are on one thread"},
    {RUN | BENCH | TRAIN | GRADIENTS | PROFILE | DUMP,
     {OPT_REUSE},
     is_by_firings,
     "is for native code: by depth and agenda equal operations are all computed"},
    {TRAIN,
     {OPT_VOCAB, OPT_LABELS, OPT_BUILD_VOCAB},
     has_no_examples_in_brackets,
     "is for trees: neither --data nor --dev is FILE.ptb"},
    {RUN | BENCH | GRADIENTS | PROFILE,
     {OPT_VOCAB, OPT_LABELS, OPT_BUILD_VOCAB},
     has_no_trees,
     "is for trees: there is no argument @FILE.ptb"},
    {RUN | BENCH | BUILD,
     {OPT_SEED},
     reads_params,
     "has no effect with --params, which has all values"},
    {RUN | BENCH | GRADIENTS | PROFILE,
     {OPT_CONVERT},
     has_no_tensors,
     "is for tensors in files: there is no @FILE.npy, no @FILE.npz and no --params"},
    {BUILD | TRAIN, {OPT_CONVERT}, has_no_tensors, "has no effect without --params"},
    {RUN | TRAIN,
     {OPT_VOCAB},
     builds_vocab,
     "has no effect with --build-vocab, which takes all words"},
    {TRAIN, {OPT_MOMENTUM}, has_no_momentum, "is for --optimizer sgd"},
    {TRAIN, {OPT_BETA1, OPT_BETA2}, has_no_betas, "is for --optimizer adam and adamw"},
    {TRAIN, {OPT_EPSILON}, has_no_epsilon, "has no effect with --optimizer sgd"},
    {TRAIN, {OPT_METRIC}, has_no_dev, "is computed of the examples of --dev, and there are none"},
    {TRAIN,
     {OPT_CHECKPOINT, OPT_RESUME, OPT_CHECKPOINT_STEPS},
     wants_no_checkpoint,
     "is for a checkpoint, and --no-checkpoint leaves it out"},
    {TRAIN, {OPT_NO_CHECKPOINT}, has_no_save, "has no effect: there is none without --save"},
    {TRAIN,
     {OPT_RESUME, OPT_CHECKPOINT_STEPS},
     has_no_checkpoint,
     "is for a checkpoint: there is neither --checkpoint nor --save"},
    {DUMP, {OPT_AFTER}, is_of_another_stage, "shows the graph: it goes with --stage graph alone"},
    {DUMP,
     {OPT_FN, OPT_FUEL, OPT_TRAP_NAN, OPT_BATCHING, OPT_COUNT, OPT_THREADS, OPT_LEVEL, OPT_NO_PASS,
      OPT_NO_MERGE, OPT_ALWAYS_FORK, OPT_UNCHECKED, OPT_VERIFY, OPT_REUSE},
     is_ast,
     "has no effect on --stage ast, which is the whole program as it was read"},
    {DUMP,
     {OPT_LEVEL, OPT_UNCHECKED, OPT_REUSE},
     is_no_code,
     "is for native code: --stage llvm-opt and asm show it"},
    {DUMP, {OPT_LEVEL}, is_unoptimized, "has no effect on --stage llvm, see llvm-opt and asm"},
    {DUMP,
     {OPT_FUEL, OPT_TRAP_NAN, OPT_BATCHING, OPT_THREADS, OPT_NO_PASS, OPT_NO_MERGE, OPT_ALWAYS_FORK,
      OPT_VERIFY},
     is_as_built,
     "has no effect on the graph as it was built: name a pass with --after"},
    {DUMP, {OPT_FN}, is_from_ir, "has no effect with --from-ir: the whole graph is shown"},
    {DUMP,
     {OPT_COUNT},
     is_from_ir,
     "has no effect with --from-ir: the graph counts if it was dumped so"},
};

static int check_options(const tool_command *command, const tool_options *o) {
  for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
    const struct rule *r = &rules[i];
    if (!(r->commands & o->command)) continue;
    size_t k = 0;
    while (k < MAX_RULED && r->options[k] && !tool_has(o, r->options[k])) k++;
    if (k < MAX_RULED && r->options[k] && r->is_wrong(o))
      return tool_usage(command, "%s %s", tool_option_name(r->options[k]), r->why);
  }
  return EXIT_FINE;
}

/* ---- files ---- */

/* True if the argument is read from this file. */
static bool is_file_of(const char *word, const char *path) {
  if (hiaR_word_kind(word) == HIA_WORD_TEXT) return false;
  const char *array;
  char *read = hiaR_word_path(word, &array);
  bool is_same = read && tool_is_same_file(path, read);
  free(read);
  return is_same;
}

static int check_target(const tool_command *command, const tool_options *o, size_t i) {
  const tool_target *t = &o->targets[i];
  const char *name = tool_option_name(t->option);
  const char *file = o->file && strcmp(o->file, "-") == 0 ? "/dev/stdin" : o->file;
  if (file && tool_is_same_file(t->path, file))
    return tool_usage(command, "%s %s would replace FILE", name, t->path);
  for (size_t k = 0; o->command & (RUN | BENCH) && k < o->n_args; k++)
    if (is_file_of(o->args[k], t->path))
      return tool_usage(command, "%s %s would replace the argument `%s`", name, t->path,
                        o->args[k]);
  static const char *const names[] = {"--vocab", "--labels", "--params", "--data", "--dev"};
  const char *const lists[] = {o->vocab, o->labels, o->params, o->training.data, o->training.dev};
  for (size_t k = 0; k < sizeof lists / sizeof lists[0]; k++)
    if (lists[k] && tool_is_same_file(t->path, lists[k]))
      return tool_usage(command, "%s %s would replace the file of %s", name, t->path, names[k]);
  /* Some of the arguments of build are files: objects and libraries to link. */
  for (size_t k = 0; o->command == BUILD && k < o->n_args; k++)
    if (tool_is_same_file(t->path, o->args[k]))
      return tool_usage(command, "%s %s would replace `%s`, which is linked", name, t->path,
                        o->args[k]);
  for (size_t k = 0; k < i; k++) {
    if (!tool_is_same_file(t->path, o->targets[k].path)) continue;
    char first[32];
    snprintf(first, sizeof first, "%s", tool_option_name(o->targets[k].option));
    return tool_usage(command, "%s and %s are one file, %s", first, tool_option_name(t->option),
                      t->path);
  }
  return EXIT_FINE;
}

int tool_rules(const tool_command *command, const tool_options *o) {
  if (command->bit & TRAIN && !o->training.data) return tool_usage(command, "--data is missing");
  int code = check_options(command, o);
  for (size_t i = 0; code == EXIT_FINE && i < o->n_targets; i++) code = check_target(command, o, i);
  return code;
}
