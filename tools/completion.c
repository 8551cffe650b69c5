/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* hiaton completion: scripts for bash and zsh, made from the tables of parsing and --help.
 *
 * In both scripts the tables are simple lists, printed by the functions below, and the code around
 * them is fixed text. */
#include "tools/tool.h"

/* ---- what both have in common ---- */

/* The words that an operand may be, each behind `before`. */
static void print_values(const tool_row *row, const char *before) {
  for (const char *at = row->values; *at;) {
    size_t n = strcspn(at, " ");
    if (n == 4 && strncmp(at, "PASS", n) == 0)
      for (size_t i = 0; hia_pass_name(i); i++) printf("%s%s", before, hia_pass_name(i));
    else
      printf("%s%.*s", before, (int)n, at);
    at += n + (at[n] == ' ');
  }
}

static bool is_of(const tool_row *row, const tool_command *command) {
  return row->commands & command->bit;
}
static bool is_list(const tool_row *row) {
  return row->operand && strcmp(row->operand, "LIST") == 0;
}

/* The words that a command which is about no program takes. */
static void print_words(const tool_command *command, const char *before) {
  if (strcmp(command->operands, "SHELL") == 0) printf("%sbash%szsh", before, before);
  if (strcmp(command->operands, "[ACTION]") == 0)
    printf("%ssize%slist%sverify%sclear", before, before, before, before);
  if (strcmp(command->operands, "[CODE]") == 0)
    for (size_t i = 0; hia_error_explained_code(i); i++)
      printf("%s%s", before, hia_error_explained_code(i));
  if (strcmp(command->operands, "[COMMAND]") == 0)
    for (const tool_command *c = tool_commands; c->name; c++) printf("%s%s", before, c->name);
}

static bool takes_program(const tool_command *command) {
  return strncmp(command->operands, "FILE", 4) == 0;
}

/* ---- bash ---- */

/* `kind` is what the operand of an option is: none, any, file, word or list, of $values. */
static void bash_command(const tool_command *command) {
  printf("    %s)\n      options='--help", command->name);
  for (const tool_row *row = tool_rows; row->name; row++)
    if (is_of(row, command) && row->id != OPT_HELP) printf(" %s%s", tool_dashes(row), row->name);
  printf("'\n      words='");
  print_words(command, " ");
  printf("'\n      %s\n      case $option in\n",
         takes_program(command) ? "program=yes" : "program=");
  for (const tool_row *row = tool_rows; row->name; row++) {
    if (!is_of(row, command) || !row->operand) continue;
    const char *kind = tool_is_file(row) ? "file"
                       : !row->values    ? "any"
                       : is_list(row)    ? "list"
                                         : "word";
    printf("        %s%s) kind=%s", tool_dashes(row), row->name, kind);
    if (row->values && !tool_is_file(row)) {
      printf(" values='");
      print_values(row, " ");
      putchar('\'');
    }
    puts(" ;;");
  }
  puts("      esac ;;");
}

static void bash(void) {
  printf("# Completes the words of hiaton's command line in bash: hiaton %s completion bash\n"
         "\n"
         "# Of a command ($1): its options, the words that it takes, whether it takes a program, "
         "and what the\n"
         "# operand of an option ($2) is.\n"
         "_hiaton_of() {\n"
         "  local command=$1 option=$2\n"
         "  options='' words='' program='' kind=none values=''\n"
         "  case $command in\n",
         hia_version());
  for (const tool_command *c = tool_commands; c->name; c++) bash_command(c);
  fputs("  esac\n"
        "}\n"
        "\n"
        "_hiaton_files() { # only those of a pattern, and folders; all where there are none\n"
        "  compopt -o filenames 2>/dev/null\n"
        "  mapfile -t COMPREPLY < <(compgen -f -X \"!$1\" -- \"$current\"; compgen -d -- "
        "\"$current\")\n"
        "  ((${#COMPREPLY[@]})) || mapfile -t COMPREPLY < <(compgen -f -- \"$current\")\n"
        "}\n"
        "\n"
        "_hiaton() {\n"
        "  local options words program kind values i n=0 is_ended='' word option=''\n"
        "  local current=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]}\n"
        "  COMPREPLY=()\n"
        "  if ((COMP_CWORD == 1)); then\n"
        "    mapfile -t COMPREPLY < <(compgen -W '--help --version",
        stdout);
  for (const tool_command *c = tool_commands; c->name; c++) printf(" %s", c->name);
  fputs("' -- \"$current\")\n"
        "    return\n"
        "  fi\n"
        "  # `--option=value` is three words, or two before there is a value.\n"
        "  for ((i = 2; i < COMP_CWORD; i++)); do\n"
        "    word=${COMP_WORDS[i]}\n"
        "    if [[ $is_ended ]]; then\n"
        "      n=$((n + 1))\n"
        "    elif [[ $option ]]; then\n"
        "      [[ $word == = ]] || option=''\n"
        "    elif [[ $word == -- ]]; then\n"
        "      is_ended=yes\n"
        "    elif [[ $word == -?* ]]; then\n"
        "      _hiaton_of \"$command\" \"$word\"\n"
        "      [[ $kind == none ]] || option=$word\n"
        "    else\n"
        "      n=$((n + 1))\n"
        "    fi\n"
        "  done\n"
        "  if [[ $option && $current == = ]]; then current=''; fi\n"
        "  _hiaton_of \"$command\" \"$option\"\n"
        "  case $kind in\n"
        "    any) return ;;\n"
        "    file) _hiaton_files '*'; return ;;\n"
        "    word) mapfile -t COMPREPLY < <(compgen -W \"$values\" -- \"$current\"); return ;;\n"
        "    list)\n"
        "      local before=''\n"
        "      [[ $current == *,* ]] && before=${current%,*},\n"
        "      mapfile -t COMPREPLY < <(compgen -W \"$values\" -P \"$before\" -- "
        "\"${current##*,}\")\n"
        "      return ;;\n"
        "  esac\n"
        "  if [[ $current == -* && ! $is_ended ]]; then\n"
        "    mapfile -t COMPREPLY < <(compgen -W \"$options\" -- \"$current\")\n"
        "  elif [[ $program ]] && ((n == 0)); then\n"
        "    _hiaton_files '*.hia'\n"
        "  elif [[ $command == build ]]; then\n"
        "    _hiaton_files '*.[oa]'\n"
        "  elif ((n == 0)); then\n"
        "    mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$current\")\n"
        "  fi\n"
        "}\n"
        "complete -F _hiaton hiaton\n",
        stdout);
}

/* ---- zsh ---- */

/* Text inside of single quotes, where `special` characters take a backslash. */
static void zsh_text(const char *text, const char *special) {
  for (; *text; text++) {
    if (*text == '\'')
      fputs("'\\''", stdout);
    else if (strchr(special, *text))
      printf("\\%c", *text);
    else
      putchar(*text);
  }
}

/* A line of _arguments: 'option[help]:operand:action'. */
static void zsh_option(const tool_row *row) {
  bool may_repeat = row->id == OPT_FN && row->commands & (DUMP | BUILD);
  fputs("        '", stdout);
  if (row->id == OPT_HELP) fputs("(- *)", stdout);
  printf("%s%s%s%s[", may_repeat ? "*" : "", tool_dashes(row), row->name,
         !row->operand  ? ""
         : row->name[1] ? "="
                        : "+");
  zsh_text(row->help, "[]\\");
  putchar(']');
  if (row->operand) {
    printf(":%s:", row->operand);
    if (tool_is_file(row)) {
      fputs("_files", stdout);
    } else if (row->values && is_list(row)) {
      fputs("_sequence compadd -", stdout);
      print_values(row, " ");
    } else if (row->values) {
      putchar('(');
      print_values(row, " ");
      putchar(')');
    }
  }
  fputs("' \\\n", stdout);
}

static void zsh_command(const tool_command *command) {
  printf("    %s)\n      _arguments -S \\\n", command->name);
  for (const tool_row *row = tool_rows; row->name; row++)
    if (is_of(row, command)) zsh_option(row);
  if (takes_program(command)) {
    fputs("        '1:FILE:_files -g \"*.hia\"'", stdout);
    if (strstr(command->operands, "ARG"))
      printf(" \\\n        '*:ARG:%s'", strcmp(command->name, "build") == 0 ? "_files" : "");
  } else {
    printf("        '1:%s:(", command->operands);
    print_words(command, " ");
    fputs(")'", stdout);
  }
  puts(" ;;");
}

static void zsh(void) {
  printf("#compdef hiaton\n"
         "# Completes the words of hiaton's command line in zsh: hiaton %s completion zsh\n"
         "\n"
         "_hiaton() {\n"
         "  local -a commands=(\n",
         hia_version());
  for (const tool_command *c = tool_commands; c->name; c++) {
    printf("    '%s:", c->name);
    zsh_text(c->summary, "");
    puts("'");
  }
  fputs("  )\n"
        "  if ((CURRENT == 2)); then\n"
        "    _describe -t commands command commands\n"
        "    _values option '--help[the commands]' '--version[the version]'\n"
        "    return\n"
        "  fi\n"
        "  local command=$words[2]\n"
        "  shift words\n"
        "  ((CURRENT--))\n"
        "  case $command in\n",
        stdout);
  for (const tool_command *c = tool_commands; c->name; c++) zsh_command(c);
  fputs(
      "  esac\n"
      "}\n"
      "\n"
      "if [ \"$funcstack[1]\" = _hiaton ]; then _hiaton \"$@\"; else compdef _hiaton hiaton; fi\n",
      stdout);
}

/* ---- the command ---- */

int tool_completion(const tool_options *options) {
  const tool_command *command = tool_find_command("completion");
  if (options->n_args == 0) return tool_usage(command, "SHELL is missing: bash or zsh");
  if (strcmp(options->args[0], "bash") == 0)
    bash();
  else if (strcmp(options->args[0], "zsh") == 0)
    zsh();
  else
    return tool_usage(command, "`%s` should be bash or zsh", options->args[0]);
  return EXIT_FINE;
}
