/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Garbled programs: tokens deleted, doubled, swapped and replaced, bytes flipped. Such a text must
 * either check, and is then compiled, or be rejected with diagnostics; a crash, a hang or an
 * internal error is a bug. Nothing is run, since a garbled program need not terminate. */
#include "tests/diff/run.h"
#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define MAX_TOKENS 4000

typedef struct token {
  const char *at;
  uint32_t len;
} token;

static uint32_t tokens_of(const char *s, token *out) {
  uint32_t n = 0;
  while (*s && n < MAX_TOKENS) {
    const char *from = s;
    if (*s == '#')
      s += strcspn(s, "\n");
    else if (isspace((unsigned char)*s))
      s += strspn(s, " \n\t");
    else if (isalnum((unsigned char)*s) || *s == '_')
      while (isalnum((unsigned char)*s) || *s == '_' || *s == '.') s++;
    else
      s++;
    if (s == from) s++; /* another sort of white space */
    if (*from != '#') out[n++] = (token){from, (uint32_t)(s - from)};
  }
  return n;
}

static const char *const words[] = {"fn",         "let",      "match",
                                    "loop",       "while",    "if",
                                    "then",       "else",     "and",
                                    "or",         "not",      "true",
                                    "false",      "const",    "type",
                                    "param",      "for",      "in",
                                    "extern",     "i32",      "i64",
                                    "f32",        "f64",      "bool",
                                    "(",          ")",        "{",
                                    "}",          "[",        "]",
                                    ",",          ";",        "=",
                                    "=>",         "->",       "==",
                                    "..",         ".",        ".0",
                                    ".9",         "@",        "_",
                                    "?",          "-",        "0",
                                    "1",          "-1",       "1.5",
                                    "1e400",      "1i64",     "0x",
                                    "2147483648", "1f32",     "0xfi64",
                                    "1_",         "main",     "f0",
                                    "fail",       "min",      "select",
                                    "x",          "n",        "grad",
                                    "\xff",       "\xc3\xa9", "\"",
                                    "impure",     "%",        "99999999999999999999",
                                    "|",          ":",        "!",
                                    "&",          "Leaf",     "sum",
                                    "zeros",      "wrt",      "value_and_grad"};
#define N_WORDS (sizeof words / sizeof *words)

static void garble(gen_random *r, const char *source, gen_text *out) {
  static token tokens[MAX_TOKENS];
  uint32_t n = tokens_of(source, tokens);
  if (n == 0) return;
  uint32_t changes = 1 + gen_below(r, 4);
  for (uint32_t i = 0; i < changes; i++) {
    uint32_t at = gen_below(r, n), other = gen_below(r, n);
    const char *word = words[gen_below(r, N_WORDS)];
    switch (gen_below(r, 6)) {
    case 0: tokens[at].len = 0; break;
    case 1: tokens[at] = tokens[other]; break;
    case 2: tokens[at] = (token){word, (uint32_t)strlen(word)}; break;
    case 3: {
      token t = tokens[at];
      tokens[at] = tokens[other];
      tokens[other] = t;
      break;
    }
    case 4: /* several tokens are deleted */
      for (uint32_t k = at; k < n && k < at + gen_below(r, 20); k++) tokens[k].len = 0;
      break;
    default: n = at + 1; /* the rest is deleted */
    }
  }
  for (uint32_t i = 0; i < n; i++) {
    gen_text_add(out, "%.*s", (int)tokens[i].len, tokens[i].at);
    if (gen_chance(r, 10)) gen_text_add(out, " ");
  }
  gen_text_add(out, "\n");
}

static bool swallow(void *user, const char *bytes, size_t len) {
  (void)user;
  (void)bytes;
  (void)len;
  return true;
}

/* False if there is a bug in hiaton. */
static bool compile(hia_engine *engine, const char *text, bool native) {
  hia_module *module = NULL;
  hia_error *error = NULL;
  hia_status status =
      hia_module_load_text(engine, "garbled.hia", text, strlen(text), &module, &error);
  bool is_fine = status == HIA_OK || (status == HIA_REJECTED && hia_error_count(error) > 0);
  if (status == HIA_OK) {
    hia_dump_options o = HIA_DUMP_OPTIONS_INIT;
    o.stage = native ? HIA_STAGE_LLVM_OPTIMIZED : HIA_STAGE_STATIC;
    status = hia_module_dump(module, NULL, 0, &o, swallow, NULL, &error);
    /* A program may have nothing to dump, or be rejected when it is instantiated. */
    is_fine = status != HIA_INTERNAL;
  }
  if (!is_fine) fprintf(stderr, "%s: %s", hia_status_word(status), hia_error_text(error));
  hia_error_free(error);
  hia_module_free(module);
  return is_fine;
}

static uint32_t read_seeds(const char *folder, char **out, uint32_t max) {
  struct dirent **entries;
  uint32_t n = 0;
  int n_entries = folder ? scandir(folder, &entries, NULL, alphasort) : 0;
  for (int i = 0; i < n_entries; i++) {
    char path[4096];
    size_t len = strlen(entries[i]->d_name);
    snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
    if (n < max && len > 4 && !strcmp(entries[i]->d_name + len - 4, ".hia") &&
        (out[n] = diff_read_file(path)))
      n++;
    free(entries[i]);
  }
  if (n_entries > 0) free(entries);
  return n;
}

void diff_mutate(uint64_t seed, uint32_t count, uint32_t seconds, const char *folder,
                 diff_way *ways, uint32_t n_ways, diff_counts *counts) {
  static char *seeds[512];
  uint32_t n_seeds = read_seeds(folder, seeds, 512), n = 0;
  hia_engine_options o = HIA_ENGINE_OPTIONS_INIT;
  bool native = false;
  for (uint32_t i = 0; i < n_ways; i++) native |= ways[i].kind == HIA_ENGINE_JIT;
  o.kind = native ? HIA_ENGINE_JIT : HIA_ENGINE_INTERP;
  o.flags |= HIA_FLAG_VERIFY;
  o.opt_level = 1;
  hia_engine *engine = NULL;
  time_t start = time(NULL);
  for (; (count && n < count) || (seconds && time(NULL) - start < (time_t)seconds); n++) {
    if (n % 500 == 0) {
      hia_engine_free(engine);
      engine = NULL;
      if (hia_engine_new(&o, &engine, NULL)) exit(2);
    }
    gen_random r = {seed + n};
    gen_text text = {0}, source = {0};
    if (n_seeds && gen_chance(&r, 60)) {
      gen_text_add(&source, "%s", seeds[gen_below(&r, n_seeds)]);
    } else {
      gen_program *p = gen_make(gen_next(&r), 1 + gen_below(&r, 4), (seed + n) % 2);
      gen_print(p, &source);
      gen_free(p);
    }
    garble(&r, source.data ? source.data : "", &text);
    char what[160];
    snprintf(what, sizeof what, "hia_diff --mutate --seed %llu --count 1",
             (unsigned long long)(seed + n));
    diff_watch(what);
    if (compile(engine, text.data ? text.data : "", native && n % 20 == 0)) {
      counts->passed++;
    } else {
      counts->failed++;
      fprintf(stderr, "FAIL: repeat: %s; the text:\n%s\n", what, text.data);
    }
    gen_text_free(&text);
    gen_text_free(&source);
  }
  diff_watch(NULL);
  hia_engine_free(engine);
  for (uint32_t i = 0; i < n_seeds; i++) free(seeds[i]);
  printf("mutate: %u garbled programs\n", n);
}
