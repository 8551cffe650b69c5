/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* hiaton: run, check, dump and measure programs. */
#include "tools/tool.h"
#include <stdlib.h>

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

static int help_command(const tool_options *options) {
  if (options->n_args == 0) {
    print_help();
    return EXIT_FINE;
  }
  const tool_command *command = tool_find_command(options->args[0]);
  if (!command) return tool_usage(NULL, "there is no command `%s`", options->args[0]);
  tool_help(command);
  return EXIT_FINE;
}

static int run(const tool_options *options) {
  switch (options->command) {
  case RUN: return tool_run(options);
  case CHECK: return tool_check(options);
  case DUMP: return tool_dump(options);
  case BENCH: return tool_bench(options);
  case BUILD: return tool_build(options);
  case TRAIN: return tool_train(options);
  case GRADIENTS: return tool_check_gradients(options);
  case PROFILE: return tool_profile(options);
  case COMPLETION: return tool_completion(options);
  case EXPLAIN: return tool_explain(options);
  case CACHE: return tool_cache(options);
  }
  return help_command(options);
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
  if (options.wants_help) {
    tool_help(c);
    return EXIT_FINE;
  }
  code = tool_rules(c, &options);
  return code == EXIT_FINE ? run(&options) : code;
}

int main(int argc, char **argv) { return tool_end(dispatch(argc, argv)); }
