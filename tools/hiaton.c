/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* hiaton: run, check, dump and measure programs. */
#include "tools/tool.h"
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>

const tool_command tool_commands[] = {
    {RUN, "run", "FILE [ARG...]", "run a program: main, or --fn NAME, with the arguments",
     tool_run},
    {CHECK, "check", "FILE", "check a program without running it", tool_check},
    {DUMP, "dump", "FILE", "show what the compiler makes of a program", tool_dump},
    {BENCH, "bench", "FILE [ARG...]", "measure compile and run time, engines side by side",
     tool_bench},
    {BUILD, "build", "FILE [ARG...]", "compile a program ahead of time, to link with libhiaton_rt",
     tool_build},
    {TRAIN, "train", "FILE", "train the params of a program: they follow the gradient of its loss",
     tool_train},
    {GRADIENTS, "check-gradients", "FILE [ARG...]",
     "compare the gradient of a function with differences of its values", tool_check_gradients},
    {COMPLETION, "completion", "SHELL", "print what completes commands and options in bash or zsh",
     tool_completion},
    {EXPLAIN, "explain", "[CODE]", "say what the code of an error means, or list the codes",
     tool_explain},
    {HELP, "help", "[COMMAND]", "list the commands, or the options of one", tool_help_command},
    {.name = NULL},
};

/* ---- what the commands have in common ---- */

const char *tool_engine_name(hia_engine_kind kind) {
  switch (kind) {
  case HIA_ENGINE_JIT: return "jit";
  case HIA_ENGINE_INTERP: return "interp";
  case HIA_ENGINE_EXPAND: return "expand";
  }
  return "?";
}

int tool_exit_status(hia_status status) {
  if (status == HIA_OK) return EXIT_FINE;
  bool is_usage = status == HIA_ARGUMENT || status == HIA_NOT_FOUND || status == HIA_IO;
  return is_usage ? EXIT_USAGE : EXIT_PROGRAM;
}

int tool_fail(hia_error *error, hia_status status) {
  tool_progress_end();
  if (error)
    fputs(hia_error_text(error), stderr);
  else
    fprintf(stderr, "error[%s]: %s\n", hia_status_word(status), hia_status_message(status));
  hia_error_free(error);
  return tool_exit_status(status);
}

int tool_usage(const tool_command *command, const char *fmt, ...) {
  fprintf(stderr, "hiaton%s%s: ", command ? " " : "", command ? command->name : "");
  va_list args;
  va_start(args, fmt);
  vfprintf(stderr, fmt, args);
  va_end(args);
  fprintf(stderr, "\n`hiaton%s%s --help` says how it is used\n", command ? " " : "",
          command ? command->name : "");
  return EXIT_USAGE;
}

int tool_open(const tool_options *options, hia_engine_kind kind, hia_engine **engine) {
  hia_error *error;
  hia_engine_options engine_options = options->engine;
  engine_options.kind = kind;
  hia_status status = hia_engine_new(&engine_options, engine, &error);
  return status == HIA_OK ? EXIT_FINE : tool_fail(error, status);
}

/* What --seed, --params and --save-params say. */
static int set_params(const tool_options *options, hia_module *module) {
  hia_error *error = NULL;
  hia_status status = HIA_OK;
  if (!options->has_seed && !options->params && !options->save_params) return EXIT_FINE;
  /* There --seed also chooses elements. */
  if (options->command == GRADIENTS && !options->params &&
      !hia_params_count(hia_module_params(module)))
    return EXIT_FINE;
  if (!hia_params_count(hia_module_params(module))) {
    fprintf(stderr, "--%s is for params: the program has none\n",
            options->params     ? "params"
            : options->has_seed ? "seed"
                                : "save-params");
    return EXIT_USAGE;
  }
  if (options->params)
    status = (options->converts ? hia_module_convert_params
                                : hia_module_load_params)(module, options->params, &error);
  else if (options->has_seed && options->command != BUILD) /* what is built makes them */
    status = hia_params_seed(hia_module_params(module), options->seed, &error);
  if (status == HIA_OK && options->save_params)
    status = hia_params_save(hia_module_params(module), options->save_params, &error);
  return status == HIA_OK ? EXIT_FINE : tool_fail(error, status);
}

int tool_load(const tool_options *options, hia_engine_kind kind, hia_engine **engine,
              hia_module **module) {
  *module = NULL;
  int code = tool_open(options, kind, engine);
  if (code == EXIT_FINE) code = tool_source_load(options, *engine, module);
  return code == EXIT_FINE ? set_params(options, *module) : code;
}

int tool_function(const tool_options *options, hia_module *module, hia_function **function) {
  hia_error *error;
  const char *name = options->n_functions ? options->functions[0] : "main";
  hia_status status = hia_module_function(module, name, function, &error);
  if (status == HIA_OK) return EXIT_FINE;
  int code = tool_fail(error, status);
  if (status == HIA_NOT_FOUND && options->n_functions == 0)
    fputs("      = hint: --fn NAME runs another function\n", stderr);
  return code;
}

/* True if the outermost call counts as one of the program: with --fn the call NAME(ARG...) does.
 * Main and an expression are called by the system, not by the source. */
static bool is_call(const tool_options *options) {
  return options->n_functions > 0 && !options->expression &&
         strncmp(options->functions[0], "main(", 5) != 0 &&
         strcmp(options->functions[0], "main") != 0;
}

uint64_t tool_calls(const tool_options *options, const hia_run_stats *used) {
  return used->calls + is_call(options);
}

int tool_fuel(const tool_options *options, hia_run_options *run) {
  bool is_one = is_call(options);
  if (!options->has_fuel) return EXIT_FINE;
  if (options->fuel < is_one) return tool_fail(NULL, HIA_FUEL);
  run->has_fuel = true;
  run->fuel = options->fuel - is_one;
  return EXIT_FINE;
}

void tool_count(FILE *file, const tool_options *options, const hia_run_stats *used) {
  if (used->is_counted)
    fprintf(file, "%" PRIu64 " calls, %" PRIu64 " loop rounds\n", tool_calls(options, used),
            used->rounds);
  else
    fputs("calls are not known: the graph was dumped without --count\n", file);
}

/* ---- standard output ---- */

static int output_wrong; /* errno of the first failure */

void tool_flush(void) {
  errno = 0;
  if ((fflush(stdout) != 0 || ferror(stdout)) && !output_wrong) output_wrong = errno;
}

bool tool_print(void *unused, const char *bytes, size_t len) {
  (void)unused;
  if (fwrite(bytes, 1, len, stdout) == len) return true;
  if (!output_wrong) output_wrong = errno;
  return false;
}

/* ---- the program ---- */

static void print_help(void) {
  fputs("usage: hiaton COMMAND [OPTION...] [FILE [ARG...]]\n\n", stdout);
  for (const tool_command *c = tool_commands; c->name; c++)
    printf("  %-15s %-14s %s\n", c->name, c->operands, c->summary);
  fputs("\n`hiaton COMMAND --help` lists a command's options; `hiaton --version` prints the "
        "version.\n"
        "Exit status: 0; 1 if the program is wrong, its run fails or something could not be "
        "written;\n"
        "2 if the command line is wrong.\n",
        stdout);
}

int tool_help_command(const tool_options *options) {
  if (options->n_args == 0) {
    print_help();
    return EXIT_FINE;
  }
  const tool_command *command = tool_find_command(options->args[0]);
  if (!command) return tool_usage(NULL, "there is no command `%s`", options->args[0]);
  tool_help(command);
  return EXIT_FINE;
}

static int dispatch(int argc, char **argv) {
  if (argc < 2) return tool_usage(NULL, "a command is missing");
  const char *name = argv[1];
  if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) {
    print_help();
    return EXIT_FINE;
  }
  if (strcmp(name, "--version") == 0) {
    printf("hiaton %s\n", hia_version());
    return EXIT_FINE;
  }
  const tool_command *c = tool_find_command(name);
  if (!c)
    return tool_usage(NULL, name[0] == '-' ? "there is no option `%s`" : "there is no command `%s`",
                      name);
  tool_options options;
  int code = tool_parse(c, argc - 1, argv + 1, &options);
  if (code != EXIT_FINE) return code;
  if (!options.wants_help) return c->run(&options);
  tool_help(c);
  return EXIT_FINE;
}

int main(int argc, char **argv) {
  int code = dispatch(argc, argv);
  /* A result that could not be written is a failure. */
  tool_flush();
  bool is_bad = ferror(stdout);
  /* A standard output that was closed from the start is no failure if nothing was printed. */
  if (fclose(stdout) != 0 && !is_bad && errno != EBADF) {
    is_bad = true;
    output_wrong = errno;
  }
  if (is_bad) {
    fprintf(stderr, "error[io]: the output could not be written: %s\n",
            output_wrong ? strerror(output_wrong) : "unknown reason");
    if (code == EXIT_FINE) code = EXIT_PROGRAM;
  }
  return code;
}
