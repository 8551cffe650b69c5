/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Names that a function cannot have in C: the table has all names that the installed C library
 * exports, and all macros of its headers. */
#include "jit/engine/build.h"
#include <criterion/criterion.h>
#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* The table is that of glibc 2.36. Later versions have some more names, which should be added; up
 * to this many may be unknown. */
static int may_be_unknown(void) { return strtod(gnu_get_libc_version(), NULL) > 2.36 ? 200 : 0; }

/* Reads words, a line each, and counts those that are not taken. Names that begin with `_` are
 * reserved as such. */
static void all_are_taken(const char *command, int least) {
  FILE *words = popen(command, "r");
  cr_assert_not_null(words);
  char word[256], unknown[2000] = "";
  int n = 0, n_unknown = 0;
  while (fgets(word, sizeof word, words)) {
    word[strcspn(word, "\n")] = 0;
    n++;
    if (hiaJ_name_taken(word)) continue;
    n_unknown++;
    size_t len = strlen(unknown);
    snprintf(unknown + len, sizeof unknown - len, " %s", word);
  }
  cr_assert_eq(pclose(words), 0, "%s", command);
  cr_assert_geq(n, least, "%s", command);
  cr_assert_leq(n_unknown, may_be_unknown(), "%s:%s", command, unknown);
}

#ifndef HIA_ASAN /* in whose runtime functions of the C library are found */
static void all_symbols_are_taken(void *function, int least) {
  Dl_info info;
  cr_assert_neq(dladdr(function, &info), 0);
  char command[4096];
  /* Programs are linked to the versions with @@. */
  snprintf(command, sizeof command,
           "nm -D --defined-only --with-symbol-versions '%s' | sed -n "
           "'s/.* [BDGRSTVWi] \\([A-Za-z0-9_]*\\)@@.*/\\1/p'",
           info.dli_fname);
  all_are_taken(command, least);
}

Test(c_names, the_c_library_is_taken) {
  union {
    int (*function)(const char *);
    double (*math)(double);
    void *address;
  } at;
  at.function = puts;
  all_symbols_are_taken(at.address, 2000);
  at.math = cbrt;
  all_symbols_are_taken(at.address, 400);
}
#endif

Test(c_names, macros_of_the_headers_are_taken) {
  all_are_taken("for name in assert complex ctype errno fenv float inttypes iso646 limits locale "
                "math setjmp signal stdalign stdarg stdatomic stdbool stddef stdint stdio stdlib "
                "stdnoreturn string tgmath threads time uchar wchar wctype; do "
                "echo \"#include <$name.h>\"; done | cc -std=gnu11 -E -dM -x c - | "
                "sed -n 's/^#define \\([A-Za-z0-9_]*\\).*/\\1/p'",
                1000);
}

Test(c_names, rows_are_searched) {
  static const char *const rows[] = {
#define HIA_C_NAMES(KIND, names) names,
#include "jit/engine/c_names.def"
  };
  int n = 0;
  for (size_t row = 0; row < sizeof rows / sizeof rows[0]; row++) {
    char words[4096], *rest = words;
    cr_assert_lt(strlen(rows[row]), 4096u, "C11 compilers need not take longer strings");
    strcpy(words, rows[row]);
    for (const char *word; (word = strsep(&rest, " ")); n++) {
      cr_assert_eq(word[0], rows[row][0], "`%s` in the row of `%c`", word, rows[row][0]);
      cr_assert_not_null(hiaJ_name_taken(word), "%s", word);
    }
  }
  cr_assert_gt(n, 3000);
}

Test(c_names, others_are_not) {
  static const char *const words[] = {"fib", "total", "isprime", "memory",  "exit_", "exi",
                                      "xit", "exits", "Exit",    "min",     "max",   "string",
                                      "hia", "i",     "n",       "fib_main"};
  for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
    cr_assert_null(hiaJ_name_taken(words[i]), "%s", words[i]);
  cr_assert_null(hiaJ_name_taken(""));
}

Test(c_names, kinds) {
  static const char *const words[][2] = {{"exit", "the C library's"},
                                         {"hypot", "the C library's"},
                                         {"environ", "the C library's"},
                                         {"errno", "the C library's"},
                                         {"EOF", "header"},
                                         {"I", "header"},
                                         {"uint8_t", "header"},
                                         {"linux", "that name is taken"},
                                         {"namespace", "taken"},
                                         {"_x", "reserves"},
                                         {"hia_call", "hiaton's own"},
                                         {"HIA_OK", "hiaton's own"},
                                         {"hiaR_enter", "own"},
                                         {"ffi_call", "libffi's"},
                                         {"std", "taken"}};
  for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
    const char *why = hiaJ_name_taken(words[i][0]);
    cr_assert_not_null(why, "%s", words[i][0]);
    cr_assert_not_null(strstr(why, words[i][1]), "%s: %s", words[i][0], why);
  }
}
