/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* How `hiaton` and the programs of `hiaton build --exe` read the words of a command line: operands
 * of options, and which words are arguments.
 *
 * All of it is inline, because the command line tool links only to the public names of the
 * libraries. */
#ifndef HIA_PROGRAM_WORDS_H
#define HIA_PROGRAM_WORDS_H

#include <ctype.h>
#include <errno.h>
#include <hiaton/data.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HIA_MAX_WORD_THREADS 1024u

/* A number from `low` to `high`, in decimal digits. */
static inline bool hiaR_word_number(const char *text, uint64_t low, uint64_t high,
                                    uint64_t *number) {
  char *end;
  errno = 0;
  if (!isdigit((unsigned char)text[0])) return false;
  unsigned long long n = strtoull(text, &end, 10);
  if (errno || *end || n < low || n > high) return false;
  *number = n;
  return true;
}

/* A number, optionally with K, M, G or T for powers of `unit`: 1024 for bytes, 1000 for counts. */
static inline bool hiaR_word_scaled(const char *text, uint64_t unit, uint64_t *number) {
  static const char units[] = "KMGT";
  char *end;
  errno = 0;
  if (!isdigit((unsigned char)text[0])) return false;
  unsigned long long n = strtoull(text, &end, 10);
  if (errno) return false;
  const char *at = *end ? strchr(units, toupper((unsigned char)*end)) : NULL;
  if (at) end++;
  if (*end) return false;
  for (const char *k = units; at && k <= at; k++) {
    if (n > UINT64_MAX / unit) return false;
    n *= unit;
  }
  *number = n;
  return true;
}

/* Bytes of memory: 500K, 64M, 2G; not 0. */
static inline bool hiaR_word_bytes(const char *text, size_t *bytes) {
  uint64_t n;
  if (!hiaR_word_scaled(text, 1024, &n) || n == 0 || n > SIZE_MAX) return false;
  *bytes = (size_t)n;
  return true;
}

/* What a limit is. */
#define HIA_WORD_LIMIT "a number of bytes, as in 64M, or none"

/* A limit in bytes; `none`: no limit. */
static inline bool hiaR_word_limit(const char *text, size_t *bytes) {
  if (strcmp(text, "none") != 0) return hiaR_word_bytes(text, bytes);
  *bytes = HIA_NO_LIMIT;
  return true;
}

/* Seconds, as in 2.5, at most 1e9; not 0. */
static inline bool hiaR_word_time(const char *text, uint64_t *ns) {
  char *end;
  if (!isdigit((unsigned char)text[0])) return false;
  double seconds = strtod(text, &end);
  if (*end || !(seconds > 0 && seconds <= 1e9)) return false;
  *ns = (uint64_t)(seconds * 1e9);
  return *ns > 0;
}

/* The cores that this process may use, at most HIA_MAX_WORD_THREADS. */
static inline unsigned hiaR_word_cores(void) {
  cpu_set_t set; /* for 1024 cores; on machines with more the call fails */
  long n =
      sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : sysconf(_SC_NPROCESSORS_ONLN);
  return n<1 ? 1 : n>(long) HIA_MAX_WORD_THREADS ? HIA_MAX_WORD_THREADS : (unsigned)n;
}

/* What an argument is. */
typedef enum hia_word_kind {
  HIA_WORD_TEXT,     /* the value itself */
  HIA_WORD_FILE,     /* @FILE: its text */
  HIA_WORD_BRACKETS, /* @FILE.ptb: trees in Penn brackets */
  HIA_WORD_SAVED,    /* @FILE.hiav: a saved value */
  HIA_WORD_NPY,      /* @FILE.npy: a tensor or a scalar, as NumPy writes it */
  HIA_WORD_NPZ       /* @FILE.npz, @FILE.npz:NAME: an array of an archive of NumPy */
} hia_word_kind;
static inline bool hiaR_word_ends_in(const char *word, const char *end) {
  size_t n = strlen(word), m = strlen(end);
  return n > m && strcmp(word + n - m, end) == 0;
}
/* Returns the colon of @FILE.npz:NAME; else NULL. The first one that follows ".npz" counts. */
static inline const char *hiaR_word_colon(const char *word) {
  const char *at = word[0] == '@' ? strstr(word + 1, ".npz:") : NULL;
  return at && at > word + 1 ? at + 4 : NULL;
}
static inline hia_word_kind hiaR_word_kind(const char *word) {
  if (word[0] != '@') return HIA_WORD_TEXT;
  if (hiaR_word_ends_in(word, ".npz") || hiaR_word_colon(word)) return HIA_WORD_NPZ;
  if (hiaR_word_ends_in(word, ".npy")) return HIA_WORD_NPY;
  if (hiaR_word_ends_in(word, ".ptb")) return HIA_WORD_BRACKETS;
  return hiaR_word_ends_in(word, ".hiav") ? HIA_WORD_SAVED : HIA_WORD_FILE;
}

/* The file that an argument names, in memory that the caller frees, and the name of an array in it,
 * or NULL. NULL: no memory. */
static inline char *hiaR_word_path(const char *word, const char **array) {
  const char *colon = hiaR_word_colon(word);
  *array = colon ? colon + 1 : NULL;
  return colon ? strndup(word + 1, (size_t)(colon - word) - 1) : strdup(word + 1);
}

/* True if there is something of this name that is no file, such as a device, a pipe or a folder.
 * Its name need not say a form: it has the first of those that could be written. */
static inline bool hiaR_word_is_special(const char *path) {
  struct stat s;
  return stat(path, &s) == 0 && !S_ISREG(s.st_mode);
}

/* True if a result can be written to a file of this name: its end says in which form. */
static inline bool hiaR_word_is_result(const char *path) {
  return hiaR_word_ends_in(path, ".hiav") || hiaR_word_ends_in(path, ".npy") ||
         hiaR_word_ends_in(path, ".npz") || hiaR_word_is_special(path);
}
/* False: the result goes to a file of NumPy, which has no such values. `path` may be NULL, and the
 * type not known. */
static inline bool hiaR_word_may_hold(const char *path, const hia_type_info *type) {
  bool is_npz = path && hiaR_word_ends_in(path, ".npz");
  if (!path || !type || (!is_npz && !hiaR_word_ends_in(path, ".npy"))) return true;
  hia_type_kind kind = hia_type_info_kind(type);
  if (!is_npz || kind != HIA_KIND_TUPLE) return kind == HIA_KIND_TENSOR || kind == HIA_KIND_SCALAR;
  bool may_hold = true; /* types nest at most as deep as they have parts */
  for (size_t i = 0; may_hold && i < hia_type_info_len(type); i++)
    may_hold = hiaR_word_may_hold(path, hia_type_info_part(type, i));
  return may_hold;
}
/* What such a file has, for HIA_WORD_NO_TENSOR: its type, the path, and this. */
static inline const char *hiaR_word_form(const char *path) {
  return hiaR_word_ends_in(path, ".npz") ? ".npz has tensors and scalars, one or those of a tuple"
                                         : ".npy has a tensor or a scalar";
}
#define HIA_WORD_NO_TENSOR "error[argument]: a result of type %s cannot be in %s: %s\n"

/* Files of this size become streams where the function allows it. In memory one would take about
 * five times as much; a smaller one is read faster in one piece. */
#define HIA_LEAST_STREAM ((off_t)16 << 20)
/* True if the argument is such a file, and its type an array of data. */
static inline bool hiaR_word_is_large(const char *word, const hia_type_info *type) {
  hia_word_kind kind = hiaR_word_kind(word);
  struct stat info;
  return (kind == HIA_WORD_BRACKETS || kind == HIA_WORD_SAVED) &&
         hia_type_info_kind(type) == HIA_KIND_ARRAY &&
         hia_type_info_kind(hia_type_info_element(type)) == HIA_KIND_DATA &&
         stat(word + 1, &info) == 0 && S_ISREG(info.st_mode) && info.st_size >= HIA_LEAST_STREAM;
}
/* HIA_UNSUPPORTED: it is to be read in one piece. */
static inline hia_status hiaR_word_open_stream(const char *word, const hia_type_info *type,
                                               const hia_bracket_options *options,
                                               hia_stream **stream, hia_error **error) {
  return hiaR_word_kind(word) == HIA_WORD_SAVED
             ? hia_stream_open_saved(NULL, type, word + 1, stream, error)
             : hia_stream_open_brackets(NULL, type, word + 1, options, stream, error);
}

/* Results are printed up to this length. */
#define HIA_MAX_PRINTED     ((uint64_t)1 << 20)
#define HIA_WORD_CUT        "the result is shortened: -o FILE.hiav writes it whole\n"
#define HIA_WORD_CUT_TENSOR "the result is shortened: -o FILE.npy or -o FILE.hiav writes it whole\n"

/* True if a word that starts with a dash is an argument nevertheless: a number, -inf, or a single
 * dash. */
static inline bool hiaR_word_is_argument(const char *word) {
  return word[0] == '-' &&
         (word[1] == 0 || isdigit((unsigned char)word[1]) || strcmp(word, "-inf") == 0);
}

#endif
