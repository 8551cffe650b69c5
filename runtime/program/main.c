/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The main function of programs that `hiaton build --exe` makes: reads the arguments, calls the
 * function, prints the result or why there is none. No other program links it, and it is the only
 * part of the runtime that prints, so it is in the static library alone.
 *
 * Arguments have the types in the function's signature in the image, and are made of literals:
 * `hiaton run` takes expressions, which would need the compiler. */
#include "runtime/error.h"
#include "runtime/native/module.h"
#include "runtime/program/words.h"
#include "runtime/value/value.h"
#include <errno.h>
#include <hiaton/runtime.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { FINE = 0, FAILED = 1, WRONG = 2 };

int hiaR_program(int argc, char **argv, const hia_code_module *module, uint32_t root);

typedef struct program {
  const char *name; /* of the executable */
  const char *function, *signature;
  const hia_code_module *module;
  uint32_t root;
  hia_context_options options;
  uint64_t timeout_ns;
  bool takes_fuel; /* it was built with fuel: the last parameter and result of the root */
  bool has_fuel;
  uint64_t fuel;
  char **args; /* n_args of argv */
  int n_args;
} program;

static int HIA_PRINTF(2, 3) usage(const program *p, const char *fmt, ...) {
  fprintf(stderr, "%s: ", p->name);
  va_list args;
  va_start(args, fmt);
  vfprintf(stderr, fmt, args);
  va_end(args);
  fprintf(stderr, "\n`%s --help` says how it is used\n", p->name);
  return WRONG;
}

/* ---- types, as hia_image_export has them ---- */

/* True if these are types, of so many scalars in all, followed by the character `end`. */
static bool are_types(const char *s, const char *limit, char end, uint32_t n_words) {
  uint32_t n = 0, depth = 0;
  for (; s < limit && *s && (*s != end || depth); s++) {
    if (*s == '(') {
      depth++;
    } else if (*s == ')') {
      if (!depth--) return false;
    } else {
      if (hiaR_repr_of_code(*s) >= HIA_N_DTYPES) return false;
      n++;
    }
  }
  return s < limit && *s == end && !depth && n == n_words;
}

/* The types without fuel, which is an i64 behind the parameters, and behind the result in a tuple:
 * "il>(dl)" becomes "i>d". The memory is the program's to its end. */
static bool hide_fuel(program *p) {
  const char *results = strchr(p->signature, '>');
  size_t n_params = (size_t)(results - p->signature), n_results = strlen(results + 1);
  if (n_params < 1 || n_results < 4 || results[1] != '(') return false;
  char *out = malloc(n_params + n_results);
  if (!out) return false;
  memcpy(out, p->signature, n_params - 1);
  out[n_params - 1] = '>';
  memcpy(out + n_params, results + 2, n_results - 3);
  out[n_params + n_results - 3] = 0;
  p->signature = out;
  return true;
}

/* Finds the function's name and signature in the image. Only the loader checks images
 * (image/check.c), when one is to run; native code needs only this of it. */
static bool find_signature(program *p) {
  const char *image = p->module->image;
  uint64_t size = p->module->image_size;
  const hia_image_header *h = p->module->image;
  const hia_code_root *r = &p->module->roots[p->root];
  if (size < sizeof *h || h->strings.at > size || h->strings.n > size - h->strings.at ||
      h->exports.at > size || h->exports.at % 8 || r->export >= h->exports.n ||
      (uint64_t)h->exports.n * sizeof(hia_image_export) > size - h->exports.at)
    return false;
  const char *strings = image + h->strings.at, *limit = strings + h->strings.n;
  const hia_image_export *export =
      (const hia_image_export *)(const void *)(image + h->exports.at) + r->export;
  if (export->name >= h->strings.n || export->signature >= h->strings.n || limit[-1]) return false;
  p->function = strings + export->name;
  p->signature = strings + export->signature;
  const char *results = strchr(p->signature, '>');
  return results && are_types(p->signature, limit, '>', r->n_params) &&
         are_types(results + 1, limit, 0, r->n_results) && (!p->takes_fuel || hide_fuel(p));
}

/* The types of the parameters, or of the result. */
static bool read_signature(const program *p, bool is_result, hia_signature *signature) {
  const char *result = strchr(p->signature, '>') + 1, *s = is_result ? result : p->signature;
  size_t n = is_result ? strlen(result) : (size_t)(result - s) - 1;
  hia_status status = hiaR_signature_read(signature, &hiaR_malloc, s, n);
  if (status)
    fprintf(stderr, "error[%s]: %s\n", hia_status_word(status), hia_status_message(status));
  return status == HIA_OK;
}

/* ---- values ---- */

static void print_error(const char *text, const char *name, const hia_value_error *wrong,
                        hia_status status) {
  hia_error *error;
  const hia_message message = {.message = status == HIA_ARGUMENT ? wrong->message
                                                                 : hia_status_message(status),
                               .hint = wrong->hint[0] ? wrong->hint : NULL,
                               .file = name,
                               .text = text,
                               .text_size = strlen(text),
                               .line = wrong->line,
                               .col = wrong->col};
  hiaR_fail_message(&hiaR_malloc, &error, status, &message);
  fputs(error ? hia_error_text(error) : "error[memory]: out of memory\n", stderr);
  hia_error_free(error);
}

static int read_args(const program *p, const hia_signature *params, hia_word *words) {
  int n = (int)params->n_parts;
  if (p->n_args != n) {
    fprintf(stderr, "error[argument]: `%s` takes %d argument%s, not %d\n", p->function, n,
            n == 1 ? "" : "s", p->n_args);
    return WRONG;
  }
  for (int i = 0; i < n; i++) {
    const hia_reading reading = {.allocator = &hiaR_malloc, .types = &params->types};
    hia_value_error wrong;
    hia_type type = params->parts[i];
    hia_status status =
        hiaR_value_read(&reading, p->args[i], strlen(p->args[i]), type, words, &wrong);
    words += hiaR_type_words(&params->types, type);
    if (status == HIA_OK) continue;
    char name[32];
    snprintf(name, sizeof name, "argument %d", i + 1);
    print_error(p->args[i], name, &wrong, status);
    return WRONG;
  }
  return FINE;
}

static bool write_bytes(void *user, const char *bytes, size_t n) {
  return fwrite(bytes, 1, n, user) == n;
}

static void print_result(const hia_signature *result, const hia_word *words) {
  const hia_sink sink = {write_bytes, stdout};
  hia_status status = hiaR_value_print(&result->types, result->parts[0], words, &hiaR_malloc,
                                       UINT64_MAX, &sink, NULL);
  putchar('\n');
  if (status == HIA_MEMORY) fputs("error[memory]: out of memory\n", stderr);
}

static int flush(int code) {
  errno = 0;
  if (fflush(stdout) == 0 && !ferror(stdout)) return code;
  fprintf(stderr, "error[io]: the output could not be written: %s\n",
          errno ? strerror(errno) : "unknown reason");
  return code == FINE ? FAILED : code;
}

/* ---- options ---- */

static int help(const program *p) {
  hia_signature result;
  if (!read_signature(p, true, &result)) return FAILED;
  char type[16 * HIA_MAX_TYPE_PARTS];
  hiaR_type_text(&result.types, result.parts[0], type, sizeof type);
  hiaR_signature_free(&result);
  printf("usage: %s [OPTION...] [ARG...]\n\nRuns %s -> %s", p->name, p->function, type);
  fputs(". Arguments are literals of its types.\n\n"
        "  --engine NAME       native (the default) or interp (the program as tagged tokens)\n"
        "  --threads N         threads of the run; 0: as many as cores\n"
        "  --max-depth BYTES   stack that the run may use: 500K, 64M, 2G\n"
        "  --max-memory BYTES  memory that the run may use in all, with --engine interp\n"
        "  --timeout SECONDS   end the run when it has taken so long: 2, 0.5\n",
        stdout);
  if (p->takes_fuel)
    fputs("  --fuel N            end the run when it would make more calls and loop rounds: 500, "
          "20K\n",
          stdout);
  fputs("  --help              this list\n\n"
        "A word that starts with - and a digit, and -inf, is an argument; after -- every word is.\n"
        "Exit status: 0; 1 if the run fails; 2 if the command line is wrong.\n",
        stdout);
  return flush(FINE);
}

/* Returns NULL, or what the operand should have been. */
static const char *set(program *p, const char *option, const char *operand) {
  uint64_t n = 0;
  if (strcmp(option, "engine") == 0) {
    p->options.interpret = strcmp(operand, "interp") == 0;
    return p->options.interpret || strcmp(operand, "native") == 0 ? NULL : "native or interp";
  }
  if (strcmp(option, "threads") == 0) {
    if (!hiaR_word_number(operand, 0, HIA_MAX_WORD_THREADS, &n)) return "a number up to 1024";
    p->options.threads = n ? (unsigned)n : hiaR_word_cores();
    return NULL;
  }
  if (strcmp(option, "max-depth") == 0)
    return hiaR_word_bytes(operand, &p->options.max_depth) ? NULL : "a number of bytes, as in 64M";
  if (strcmp(option, "max-memory") == 0)
    return hiaR_word_bytes(operand, &p->options.max_memory) ? NULL : "a number of bytes, as in 64M";
  if (strcmp(option, "fuel") == 0) {
    p->has_fuel = hiaR_word_scaled(operand, 1000, &p->fuel);
    return p->has_fuel ? NULL : "a number, as in 20K";
  }
  return hiaR_word_time(operand, &p->timeout_ns) ? NULL : "a number of seconds, as in 0.5";
}

/* Moves arguments to the front of argv. Returns an exit status; *done: there is nothing to run. */
static int parse_options(program *p, int argc, char **argv, bool *done) {
  static const char *const options[] = {"engine",     "threads", "max-depth",
                                        "max-memory", "timeout", "fuel"};
  *done = false;
  p->args = argv + 1;
  for (int i = 1; i < argc; i++) {
    char *word = argv[i];
    if (word[0] != '-' || hiaR_word_is_argument(word)) {
      p->args[p->n_args++] = word;
      continue;
    }
    if (strcmp(word, "--") == 0) {
      while (++i < argc) p->args[p->n_args++] = argv[i];
      break;
    }
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
      *done = true;
      return help(p);
    }
    size_t len = strcspn(word, "=");
    const char *option = NULL;
    for (size_t k = 0; k < HIA_LEN(options) && !option; k++)
      if (len > 2 && word[1] == '-' && strlen(options[k]) == len - 2 &&
          strncmp(options[k], word + 2, len - 2) == 0)
        option = options[k];
    if (option && !p->takes_fuel && strcmp(option, "fuel") == 0)
      return usage(p, "`--fuel` is for programs that were built with it");
    if (!option) return usage(p, "there is no option `%.*s`", (int)len, word);
    const char *operand = word[len] ? word + len + 1 : i + 1 < argc ? argv[++i] : NULL;
    if (!operand) return usage(p, "`--%s` takes a value", option);
    const char *wanted = set(p, option, operand);
    if (wanted) return usage(p, "--%s: `%s` should be %s", option, operand, wanted);
  }
  return FINE;
}

/* ---- the program ---- */

/* As for `hiaton run --fn NAME`, a call of another function than main is one of the program's. */
static bool pay_for_call(program *p) {
  if (!p->has_fuel || strncmp(p->function, "main(", 5) == 0) return true;
  return p->fuel-- > 0;
}

static int run(program *p, const hia_signature *result, hia_word *block) {
  if (!pay_for_call(p)) {
    fprintf(stderr, "error[%s]: %s\n", hia_status_word(HIA_FUEL), hia_status_message(HIA_FUEL));
    return FAILED;
  }
  hia_context *context;
  hia_status status = hia_context_new(&p->options, &context);
  if (status) {
    fprintf(stderr, "error[%s]: %s\n", hia_status_word(status), hia_status_message(status));
    return FAILED;
  }
  hia_context_set_timeout(context, p->timeout_ns);
  if (p->has_fuel) hia_context_set_fuel(context, p->fuel);
  status = p->takes_fuel ? hiaR_enter_fuelled(context, p->module, p->root, block)
                         : hiaR_enter(context, p->module, p->root, block);
  if (status == HIA_OK) {
    print_result(result, block + p->module->roots[p->root].n_params);
  } else {
    const hia_error *error = hia_context_error(context);
    if (error)
      fputs(hia_error_text(error), stderr);
    else
      fprintf(stderr, "error[%s]: %s\n", hia_status_word(status), hia_status_message(status));
  }
  hia_context_free(context);
  return flush(status == HIA_OK ? FINE : FAILED);
}

int hiaR_program(int argc, char **argv, const hia_code_module *module, uint32_t root) {
  const hia_code_root *r = &module->roots[root];
  program p = {.name = argc > 0 && argv[0] ? argv[0] : "program",
               .module = module,
               .root = root,
               .takes_fuel = !(module->flags & HIA_CODE_WITHOUT_FUEL),
               .options = HIA_CONTEXT_OPTIONS_INIT};
  if (!find_signature(&p)) {
    fprintf(stderr, "error[%s]: the image in this program is damaged\n",
            hia_status_word(HIA_BAD_IMAGE));
    return FAILED;
  }
  if (module->flags & HIA_CODE_FORKS) p.options.threads = hiaR_word_cores();
  bool done;
  int code = parse_options(&p, argc, argv, &done);
  if (code != FINE || done) return code;
  hia_signature params, result;
  if (!read_signature(&p, false, &params)) return FAILED;
  if (!read_signature(&p, true, &result)) {
    hiaR_signature_free(&params);
    return FAILED;
  }
  hia_word *block = calloc((size_t)r->n_params + r->n_results, sizeof *block);
  if (block) {
    code = read_args(&p, &params, block);
    if (code == FINE) code = run(&p, &result, block);
  } else {
    fputs("error[memory]: out of memory\n", stderr);
    code = FAILED;
  }
  free(block);
  hiaR_signature_free(&params);
  hiaR_signature_free(&result);
  return code;
}
