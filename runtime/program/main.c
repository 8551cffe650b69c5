/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The main function of programs that `hiaton build --exe` makes: reads the arguments, calls the
 * function, prints the result or why there is none. No other program links it, and it is the only
 * part of the runtime that prints, so it is in the static library alone.
 *
 * Arguments are literals of the language, of the types in the function's signature in the image,
 * and are read as text of the language: `hiaton run` takes expressions, which would need the
 * compiler. */
#include "runtime/native/module.h"
#include "runtime/program/words.h"
#include <ctype.h>
#include <errno.h>
#include <hiaton/runtime.h>
#include <math.h>
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

/* Returns the end of the type that begins at `s`. */
static const char *type_end(const char *s) {
  int depth = 0;
  do {
    depth += (*s == '(') - (*s == ')');
    s++;
  } while (depth);
  return s;
}

static hia_dtype dtype_of(char code) { return (hia_dtype)hiaR_repr_of_code(code); }

static const char *type_word(char code) { return hiaR_reprs[hiaR_repr_of_code(code)].name; }

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

static void print_types(FILE *file, const char *s, const char *end) {
  for (const char *at = s; at < end; at++) {
    if (*at == ')') {
      putc(')', file);
      continue;
    }
    if (at > s && at[-1] != '(') fputs(", ", file);
    if (*at == '(')
      putc('(', file);
    else
      fputs(type_word(*at), file);
  }
}

/* ---- literals ---- */

static const char *spaces(const char *s) { return s + strspn(s, " \t\n\r"); }

static bool is_word(const char *s, const char *end, const char *word) {
  size_t n = strlen(word);
  return (size_t)(end - s) == n && memcmp(s, word, n) == 0;
}

/* Removes a suffix i32, i64, f32 or f64. NULL if it is another type than required. */
static const char *without_suffix(const char *s, const char *end, char code, bool is_hex) {
  if (end - s <= 3) return end;
  for (const char *c = "ilfd"; *c; c++)
    if (memcmp(end - 3, type_word(*c), 3) == 0 && !(is_hex && (*c == 'f' || *c == 'd')))
      return *c == code ? end - 3 : NULL;
  return end;
}

static bool read_integer(const char *s, const char *end, bool is_negative, char code,
                         hia_word *word) {
  bool is_hex = end - s > 2 && s[0] == '0' && s[1] == 'x', any = false;
  uint64_t v = 0, base = is_hex ? 16 : 10, most = code == 'i' ? INT32_MAX : INT64_MAX;
  for (s += is_hex ? 2 : 0; s < end; s++) {
    if (*s == '_' && (any || is_hex)) continue;
    if (is_hex ? !isxdigit((unsigned char)*s) : !isdigit((unsigned char)*s)) return false;
    uint64_t d =
        isdigit((unsigned char)*s) ? (uint64_t)(*s - '0') : (uint64_t)((*s | 32) - 'a' + 10);
    if (v > (UINT64_MAX - d) / base) return false;
    v = v * base + d;
    any = true;
  }
  if (!any || v > most + is_negative) return false;
  uint64_t bits = is_negative ? 0 - v : v;
  *word = code == 'i' ? hiaR_from_i32((int32_t)(uint32_t)bits) : hiaR_from_i64((int64_t)bits);
  return true;
}

/* The C library reads the digits and an exponent only: its decimal point depends on the locale. */
static bool read_float(const char *s, const char *end, bool is_negative, char code,
                       hia_word *word) {
  char digits[1100], *out = digits;
  bool any = false;
  double x = 0;
  if (is_word(s, end, "inf") || is_word(s, end, "nan")) {
    x = *s == 'i' ? (double)INFINITY : (double)NAN;
    float f = is_negative ? -(float)x : (float)x;
    *word = code == 'f' ? hiaR_from_f32(f) : hiaR_from_f64(is_negative ? -x : x);
    return true;
  }
  if (end - s > 1000) return false;
  bool is_hex = end - s > 2 && s[0] == '0' && s[1] == 'x';
  long long exponent = 0;
  if (is_hex) {
    *out++ = *s++;
    *out++ = *s++;
    for (; s < end; s++) {
      if (*s == '_') continue;
      if (!isxdigit((unsigned char)*s)) return false;
      *out++ = *s;
      any = true;
    }
    *out = 0;
  } else {
    bool is_fraction = false;
    for (; s < end &&
           (isdigit((unsigned char)*s) || (*s == '_' && any && !is_fraction) ||
            (*s == '.' && any && !is_fraction && s + 1 < end && isdigit((unsigned char)s[1])));
         s++) {
      if (isdigit((unsigned char)*s)) {
        *out++ = *s;
        any = true;
        exponent -= is_fraction;
      }
      is_fraction |= *s == '.';
    }
    if (any && s < end && (*s == 'e' || *s == 'E')) {
      bool is_minus = s + 1 < end && s[1] == '-';
      s += s + 1 < end && (s[1] == '-' || s[1] == '+') ? 2 : 1;
      long long e = 0;
      if (s == end) return false;
      for (; s < end && isdigit((unsigned char)*s); s++)
        e = e > INT32_MAX ? e : e * 10 + (*s - '0');
      exponent += is_minus ? -e : e;
    }
    if (s < end) return false;
    snprintf(out, 32, "e%lld", exponent);
  }
  if (!any) return false;
  if (code == 'f') {
    float f = strtof(digits, NULL);
    *word = hiaR_from_f32(is_negative ? -f : f);
    return !isinf(f);
  }
  x = strtod(digits, NULL);
  *word = hiaR_from_f64(is_negative ? -x : x);
  return !isinf(x);
}

/* Reads a value of the type at *type and advances *type and *words. Returns what follows the
 * value; NULL if there is no such value. */
static const char *read_value(const char *s, const char **type, hia_word **words) {
  s = spaces(s);
  if (**type == '(') {
    if (*s != '(') return NULL;
    ++*type;
    for (bool is_first = true; **type != ')'; is_first = false) {
      if (!is_first && *s != ',') return NULL;
      s = read_value(s + 1, type, words);
      if (!s) return NULL;
      s = spaces(s);
    }
    ++*type;
    return *s == ')' ? s + 1 : NULL;
  }
  char code = *(*type)++;
  const char *end = s + strcspn(s, " \t\n\r,)(");
  const char *rest = end;
  hia_word *word = (*words)++;
  if (code == 'b') {
    *word = hiaR_from_bool(is_word(s, end, "true"));
    return *word || is_word(s, end, "false") ? rest : NULL;
  }
  bool is_negative = *s == '-';
  if (is_negative) s = spaces(s + 1), end = s + strcspn(s, " \t\n\r,)("), rest = end;
  bool is_hex = end - s > 2 && s[0] == '0' && s[1] == 'x';
  end = without_suffix(s, end, code, is_hex);
  if (!end) return NULL;
  bool is_float = code == 'f' || code == 'd';
  return (is_float ? read_float : read_integer)(s, end, is_negative, code, word) ? rest : NULL;
}

static int read_args(const program *p, hia_word *words) {
  const char *type = p->signature;
  int n = 0;
  for (const char *t = type; *t != '>'; t = type_end(t)) n++;
  if (p->n_args != n) {
    fprintf(stderr, "error[argument]: `%s` takes %d argument%s, not %d\n", p->function, n,
            n == 1 ? "" : "s", p->n_args);
    return WRONG;
  }
  for (int i = 0; i < n; i++) {
    const char *start = type, *rest = read_value(p->args[i], &type, &words);
    if (rest && !*spaces(rest)) continue;
    fprintf(stderr, "error[argument]: argument %d: `%s` is no literal of type ", i + 1, p->args[i]);
    print_types(stderr, start, type_end(start));
    putc('\n', stderr);
    return WRONG;
  }
  return FINE;
}

/* ---- the result ---- */

static void print_result(const char *type, const hia_word *words) {
  for (const char *at = type; *at; at++) {
    if (*at == ')') {
      putchar(')');
      continue;
    }
    if (at > type && at[-1] != '(') fputs(", ", stdout);
    if (*at == '(') {
      putchar('(');
      continue;
    }
    char text[64];
    hiaR_print_word(text, sizeof text, dtype_of(*at), *words++);
    fputs(text, stdout);
  }
  putchar('\n');
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
  printf("usage: %s [OPTION...] [ARG...]\n\nRuns %s -> ", p->name, p->function);
  const char *results = strchr(p->signature, '>') + 1;
  print_types(stdout, results, results + strlen(results));
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

static int run(program *p, hia_word *block) {
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
    print_result(strchr(p->signature, '>') + 1, block + p->module->roots[p->root].n_params);
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
  hia_word *block = calloc((size_t)r->n_params + r->n_results, sizeof *block);
  if (!block) {
    fputs("error[memory]: out of memory\n", stderr);
    return FAILED;
  }
  code = read_args(&p, block);
  if (code == FINE) code = run(&p, block);
  free(block);
  return code;
}
