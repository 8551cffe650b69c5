/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The main function of programs that `hiaton build --exe` makes: reads the arguments, calls the
 * function, prints the result or why there is none. No other program links it, and it is the only
 * part of the runtime that prints, so it is in the static library alone.
 *
 * Arguments have the types in the function's signature in the image, and are made of literals:
 * `hiaton run` takes expressions, which would need the compiler. */
#include "runtime/program/program.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct program {
  const char *name; /* of the executable */
  const char *function, *signature;
  const hia_program_parts *parts;
  const hia_code_module *module;
  hia_context_options options;
  uint64_t timeout_ns;
  bool takes_fuel; /* it was built with fuel: the last parameter and result of the root */
  bool has_fuel;
  uint64_t fuel;
  const char *params; /* the file of --params; NULL: none */
  bool has_seed;
  uint64_t seed;
  hia_program_files files;
  hia_signature types;          /* of the parameters and the result */
  hia_value_types *value_types; /* the same, as values have them */
  char **words;                 /* of the arguments: n_words of argv */
  int n_words;
} program;

static const hia_code_root *root_of(const program *p) { return &p->module->roots[p->parts->root]; }

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
  const hia_code_root *r = root_of(p);
  if (size < sizeof *h || h->strings.at > size || h->strings.n > size - h->strings.at ||
      h->exports.at > size || h->exports.at % 8 || r->export >= h->exports.n ||
      (uint64_t)h->exports.n * sizeof(hia_image_export) > size - h->exports.at)
    return false;
  const char *strings = image + h->strings.at;
  const hia_image_export *export =
      (const hia_image_export *)(const void *)(image + h->exports.at) + r->export;
  if (export->name >= h->strings.n || export->signature >= h->strings.n ||
      strings[h->strings.n - 1])
    return false;
  p->function = strings + export->name;
  p->signature = strings + export->signature;
  return strchr(p->signature, '>') && (!p->takes_fuel || hide_fuel(p));
}

/* The types of all parameters and, behind them, of the result, and a table of them as values have
 * it. The words of the root have these types. */
static int read_types(program *p) {
  const hia_code_root *r = root_of(p);
  const hia_type_table *known = p->module->types ? &p->module->types->table : NULL;
  size_t n = strlen(p->signature);
  char *text = malloc(n);
  if (!text) return hiaR_program_fail(NULL, HIA_MEMORY);
  size_t result = (size_t)(strchr(p->signature, '>') - p->signature); /* the first, as in `<` `;` */
  memcpy(text, p->signature, result);
  memcpy(text + result, p->signature + result + 1, n - result - 1);
  hia_signature *types = &p->types;
  hia_status status = hiaR_signature_read(types, &hiaR_malloc, known, text, n - 1);
  free(text);
  if (status == HIA_OK) {
    uint32_t n_words = 0, n_fuel = p->takes_fuel ? 2 : 0;
    for (uint32_t i = 0; i < types->n_parts; i++)
      n_words += hiaR_type_words(&types->types, types->parts[i]);
    if (!types->n_parts || n_words + n_fuel != r->n_params + r->n_results) status = HIA_BAD_IMAGE;
  }
  if (status == HIA_OK) {
    p->value_types = hiaR_value_types_new(&hiaR_malloc, &types->types, NULL);
    if (p->value_types) return FINE;
    status = HIA_MEMORY;
  }
  return hiaR_program_fail(NULL, status == HIA_ARGUMENT ? HIA_BAD_IMAGE : status);
}

static uint32_t n_params(const program *p) { return p->types.n_parts - 1; }

static int flush(int code) {
  errno = 0;
  if (fflush(stdout) == 0 && !ferror(stdout)) return code;
  fprintf(stderr, "error[io]: the output could not be written: %s\n",
          errno ? strerror(errno) : "unknown reason");
  return code == FINE ? FAILED : code;
}

/* ---- options ---- */

/* False: it has no tensors, and no data. */
static bool has_objects(const program *p) { return p->module->flags & HIA_CODE_OBJECTS; }

static int help(const program *p) {
  char type[16 * HIA_MAX_TYPE_PARTS];
  hiaR_type_text(&p->types.types, p->types.parts[n_params(p)], type, sizeof type);
  printf("usage: %s [OPTION...] [ARG...]\n\nRuns %s -> %s", p->name, p->function, type);
  fputs(". Arguments are literals of its types, or @FILE for the text in a file.\n\n"
        "  --engine NAME       native (the default) or interp (the program as tagged tokens)\n"
        "  --threads N         threads of the run; 0: as many as cores\n"
        "  --max-depth BYTES   stack that the run may use: 500K, 64M, 2G, none (2G, with --engine "
        "interp 4G, and seven "
        "eighths of the memory that is left)\n"
        "  --max-memory BYTES  memory that the run may use for its values, with --engine interp in "
        "all, or none (seven eighths of the memory that is left)\n"
        "  --timeout SECONDS   end the run when it has taken so long: 2, 0.5\n",
        stdout);
  if (p->takes_fuel)
    fputs(
        "  --fuel N            end the run when it would make more calls, loop rounds and work on "
        "tensors: 500, 20K\n",
        stdout);
  if (has_objects(p))
    fputs("  --fast-products     leave large products of floats to OpenBLAS, which rounds as the "
          "machine has it\n",
          stdout);
  fputs("  -o FILE.hiav        save the result instead of printing it; @FILE.hiav reads it again\n",
        stdout);
  if (p->parts->kit->help) fputs(p->parts->kit->help, stdout);
  if (p->parts->params)
    fputs("  --params FILE       read the params from FILE.safetensors or FILE.npz\n"
          "  --seed N            the params as their initialisers make them of this number\n",
          stdout);
  if (p->parts->kit->load_numpy || p->parts->params)
    fputs("  --convert           convert elements of files of tensors to the dtype that is "
          "declared\n",
          stdout);
  fputs("  --help              this list\n\n"
        "A word that starts with - and a digit, and -inf, is an argument; after -- every word is.\n"
        "Exit status: 0; 1 if the run fails; 2 if the command line is wrong.\n",
        stdout);
  return flush(FINE);
}

/* Where the operand of an option goes that names a file of values; NULL: of any other option. */
static const char **file_of(program *p, const char *option) {
  if (strcmp(option, "o") == 0) return &p->files.output;
  if (strcmp(option, "vocab") == 0) return &p->files.vocab;
  if (strcmp(option, "labels") == 0) return &p->files.labels;
  return strcmp(option, "build-vocab") == 0 ? &p->files.build_vocab : NULL;
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
    return hiaR_word_limit(operand, &p->options.max_depth) ? NULL : HIA_WORD_LIMIT;
  if (strcmp(option, "max-memory") == 0)
    return hiaR_word_limit(operand, &p->options.max_memory) ? NULL : HIA_WORD_LIMIT;
  const char **file = strcmp(option, "params") == 0 ? &p->params : file_of(p, option);
  if (file == &p->files.output && !hiaR_word_is_result(operand))
    return p->parts->kit->load_numpy ? "FILE.hiav, FILE.npy or FILE.npz" : "FILE.hiav";
  if (file) {
    *file = operand;
    return NULL;
  }
  if (strcmp(option, "seed") == 0) {
    p->has_seed = hiaR_word_number(operand, 0, UINT64_MAX, &p->seed);
    return p->has_seed ? NULL : "a number";
  }
  if (strcmp(option, "fuel") == 0) {
    p->has_fuel = hiaR_word_scaled(operand, 1000, &p->fuel);
    return p->has_fuel ? NULL : "a number, as in 20K";
  }
  return hiaR_word_time(operand, &p->timeout_ns) ? NULL : "a number of seconds, as in 0.5";
}

/* Moves arguments to the front of argv. Returns an exit status; *done: there is nothing to run. */
static int parse_options(program *p, int argc, char **argv, bool *done) {
  static const char *const options[] = {"engine",      "threads", "max-depth", "max-memory",
                                        "timeout",     "fuel",    "vocab",     "labels",
                                        "build-vocab", "params",  "seed"};
  *done = false;
  p->words = argv + 1;
  for (int i = 1; i < argc; i++) {
    char *word = argv[i];
    if (word[0] != '-' || hiaR_word_is_argument(word)) {
      p->words[p->n_words++] = word;
      continue;
    }
    if (strcmp(word, "--") == 0) {
      while (++i < argc) p->words[p->n_words++] = argv[i];
      break;
    }
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
      *done = true;
      return help(p);
    }
    if (strcmp(word, "--fast-products") == 0) {
      if (!has_objects(p))
        return usage(p, "`%s` is for products: the program has no tensors", word);
      p->options.fast_products = 1;
      continue;
    }
    if (strcmp(word, "--convert") == 0) {
      if (!p->parts->kit->load_numpy && !p->parts->params)
        return usage(p, "`%s` is for tensors in files: the program takes none", word);
      p->files.converts = true;
      continue;
    }
    size_t len = strcspn(word, "=");
    const char *option = strcmp(word, "-o") == 0 ? "o" : NULL;
    for (size_t k = 0; k < HIA_LEN(options) && !option; k++)
      if (len > 2 && word[1] == '-' && strlen(options[k]) == len - 2 &&
          strncmp(options[k], word + 2, len - 2) == 0)
        option = options[k];
    if (option && !p->takes_fuel && strcmp(option, "fuel") == 0)
      return usage(p, "`--fuel` is for programs that were built with it");
    if (option && !p->parts->params &&
        (strcmp(option, "params") == 0 || strcmp(option, "seed") == 0))
      return usage(p, "`--%s` is for params: the program has none", option);
    const char **file = option ? file_of(p, option) : NULL;
    if (file && file != &p->files.output && !hiaR_program_has_trees(p->parts->kit))
      return usage(p, "`%.*s` is for functions with data or arrays", (int)len, word);
    if (!option) return usage(p, "there is no option `%.*s`", (int)len, word);
    const char *operand = word[len] ? word + len + 1 : i + 1 < argc ? argv[++i] : NULL;
    if (!operand) return usage(p, "`%.*s` takes a value", (int)len, word);
    const char *wanted = set(p, option, operand);
    if (wanted)
      return usage(p, "%s%s: `%s` should be %s", option[1] ? "--" : "-", option, operand, wanted);
  }
  if (p->params && p->has_seed)
    return usage(p, "--seed has no effect with --params, which has all values");
  return FINE;
}

/* ---- the program ---- */

/* As for `hiaton run --fn NAME`, a call of another function than main is one of the program's. */
static bool pay_for_call(program *p) {
  if (!p->has_fuel || strncmp(p->function, "main(", 5) == 0) return true;
  return p->fuel-- > 0;
}

/* Passes the words of the arguments, and makes the result of what stands behind them. The root for
 * streams has the same types. */
static hia_status enter(program *p, hia_context *context, const hia_program_args *args,
                        hia_word *block, hia_value **result) {
  uint32_t root = args->has_streams ? p->parts->stream_root : p->parts->root;
  hia_word *at = block;
  for (uint32_t i = 0; i < n_params(p); i++) {
    const hia_value *value = args->values[i];
    if (value)
      memcpy(at, value->words, value->type->n_words * sizeof *at);
    else
      *at = hiaR_stream_word(args->streams[i]);
    at += value ? value->type->n_words : 1;
  }
  hia_objects *objects = hiaR_objects_new(&hiaR_malloc, 0);
  if (!objects) return HIA_MEMORY;
  bool has_outside; /* the arguments outlive the result */
  hia_status status = hiaR_enter_objects(context, p->module, root, block, objects, &has_outside);
  if (status == HIA_OK) {
    const hia_type_info *type = hiaR_type_info(p->value_types, p->types.parts[n_params(p)]);
    *result = hiaR_value_new(&hiaR_malloc, type, objects, block + root_of(p)->n_params);
    if (!*result) status = HIA_MEMORY;
  }
  hiaR_objects_release(objects);
  return status;
}

/* Prints why there is no result. */
static void report(const program *p, hia_context *context, const hia_program_args *args,
                   hia_status status) {
  hia_error *lost = NULL;
  if (status == HIA_MEMORY && args->has_streams)
    p->parts->streams->fail(&hiaR_malloc, args->streams, args->n, &lost);
  const hia_error *error = lost ? lost : hia_context_error(context);
  if (error)
    fputs(hia_error_text(error), stderr);
  else
    hiaR_program_fail(NULL, status);
  hia_error_free(lost);
}

static int run(program *p, const hia_program_args *args, hia_word *block) {
  if (!pay_for_call(p)) return hiaR_program_fail(NULL, HIA_FUEL);
  hia_context *context;
  hia_status status = hia_context_new(&p->options, &context);
  if (status) return hiaR_program_fail(NULL, status);
  hia_context_set_timeout(context, p->timeout_ns);
  if (p->has_fuel) hia_context_set_fuel(context, p->fuel);
  hia_value *result = NULL;
  status = enter(p, context, args, block, &result);
  int code = FAILED;
  if (status == HIA_OK)
    code = hiaR_program_result(p->parts, &p->files, result);
  else
    report(p, context, args, status);
  hia_value_free(result);
  hia_context_free(context);
  return flush(code);
}

static int set_params(const program *p) {
  const hia_program_params *params = p->parts->params;
  hia_params *cell = p->module->params;
  hia_error *error = NULL;
  hia_status status = HIA_OK;
  if (p->params)
    status = (p->files.converts ? params->convert : params->load)(cell, p->params, &error);
  if (p->has_seed) status = params->seed(cell, p->seed, &error);
  if (status == HIA_OK) return FINE;
  int code = hiaR_program_fail(error, status);
  return status == HIA_IO ? WRONG : code; /* as of a file of an argument */
}

static int read_and_run(program *p) {
  const hia_code_root *r = root_of(p);
  int n = (int)n_params(p), code;
  if (p->n_words != n) {
    fprintf(stderr, "error[argument]: `%s` takes %d argument%s, not %d\n", p->function, n,
            n == 1 ? "" : "s", p->n_words);
    return WRONG;
  }
  /* Before the run, which may take an hour. */
  if (p->files.output) {
    int wrong = hiaR_output_check(p->files.output);
    if (wrong) return hiaR_program_cannot_write(p->files.output, wrong);
    code = p->parts->kit->check_result(p->files.output, p->value_types, p->types.parts[n]);
    if (code != FINE) return code;
  }
  code = set_params(p);
  if (code != FINE) return code;
  p->files.max_bytes = p->options.max_memory ? p->options.max_memory : hia_memory_left();
  hia_program_args args = {.n = (size_t)n};
  hia_word *block = calloc((size_t)r->n_params + r->n_results, sizeof *block);
  code = block ? hiaR_program_args(p->parts, &p->files, p->value_types, p->types.parts, p->words,
                                   &args)
               : hiaR_program_fail(NULL, HIA_MEMORY);
  if (code == FINE) code = run(p, &args, block);
  hiaR_program_free_args(p->parts, &args);
  free(block);
  return code;
}

int hiaR_program(int argc, char **argv, const hia_program_parts *parts) {
  const hia_code_module *module = parts->module;
  program p = {.name = argc > 0 && argv[0] ? argv[0] : "program",
               .parts = parts,
               .module = module,
               .takes_fuel = !(module->flags & HIA_CODE_WITHOUT_FUEL),
               .options = HIA_CONTEXT_OPTIONS_INIT};
  if (!find_signature(&p)) {
    fprintf(stderr, "error[%s]: the image in this program is damaged\n",
            hia_status_word(HIA_BAD_IMAGE));
    return FAILED;
  }
  if (module->flags & HIA_CODE_FORKS) p.options.threads = hiaR_word_cores();
  int code = read_types(&p);
  bool is_done = false;
  if (code == FINE) code = parse_options(&p, argc, argv, &is_done);
  if (code == FINE && !is_done) code = read_and_run(&p);
  hiaR_value_types_release(p.value_types);
  hiaR_signature_free(&p.types);
  return code;
}
