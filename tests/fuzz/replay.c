/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Runs a libFuzzer target without libFuzzer, on the same inputs each time, for builds whose
 * compiler has none and for tests that must not take long:
 *
 *   NAME [--inputs N] [--seed S] [--length MOST] [--words DICTIONARY] FOLDER-OR-FILE...
 *
 * First come the files as they are; then N inputs (1000), each made from one of them by a few
 * edits, with pieces of other files and with the words of libFuzzer's dictionary. Without files
 * inputs are random bytes. An input that ends the process is written to the standard error before,
 * as bytes in hexadecimal, if it is short. */
#include "tests/unit/helpers/time.h"

#include <dirent.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct bytes {
  uint8_t *data;
  size_t len;
} bytes;

typedef struct list {
  bytes *items;
  size_t n;
} list;

static void *enough(void *p) {
  if (!p) exit(2);
  return p;
}

static void append(list *l, const uint8_t *data, size_t len) {
  l->items = enough(realloc(l->items, (l->n + 1) * sizeof *l->items));
  bytes *b = &l->items[l->n++];
  *b = (bytes){enough(malloc(len + 1)), len};
  if (len) memcpy(b->data, data, len);
}

static void read_file(list *l, const char *path) {
  FILE *file = fopen(path, "rb");
  if (!file) exit((perror(path), 2));
  uint8_t *data = NULL;
  size_t len = 0, n;
  do {
    data = enough(realloc(data, len + 4096));
    len += n = fread(data + len, 1, 4096, file);
  } while (n);
  fclose(file);
  append(l, data, len);
  free(data);
}

static int is_visible(const struct dirent *entry) { return entry->d_name[0] != '.'; }

/* The files of a folder in the order of their names, so that inputs are the same on every machine.
 */
static void read_path(list *l, const char *path) {
  struct stat s;
  if (stat(path, &s) == 0 && !S_ISDIR(s.st_mode)) {
    read_file(l, path);
    return;
  }
  struct dirent **entries;
  int n = scandir(path, &entries, is_visible, alphasort);
  if (n < 0) exit((perror(path), 2));
  for (int i = 0; i < n; i++) {
    char name[4096];
    snprintf(name, sizeof name, "%s/%s", path, entries[i]->d_name);
    if (stat(name, &s) == 0 && S_ISREG(s.st_mode)) read_file(l, name);
    free(entries[i]);
  }
  free(entries);
}

static int hex(int c) {
  return c >= '0' && c <= '9'   ? c - '0'
         : c >= 'a' && c <= 'f' ? c - 'a' + 10
         : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                : -1;
}

/* The words of libFuzzer's dictionary: lines `"..."`, where \xAB, \\ and \" stand for bytes. */
static void read_words(list *l, const char *path) {
  list text = {NULL, 0};
  read_file(&text, path);
  const uint8_t *at = text.items[0].data, *end = at + text.items[0].len;
  while (at < end) {
    const uint8_t *line = memchr(at, '\n', (size_t)(end - at)), *next = line ? line + 1 : end;
    const uint8_t *quote = *at == '#' ? NULL : memchr(at, '"', (size_t)(next - at));
    uint8_t word[256];
    size_t len = 0;
    for (at = quote ? quote + 1 : next; at < next && *at != '"' && len < sizeof word; at++) {
      if (*at == '\\' && at + 3 < next && at[1] == 'x' && hex(at[2]) >= 0 && hex(at[3]) >= 0) {
        word[len++] = (uint8_t)(hex(at[2]) << 4 | hex(at[3]));
        at += 3;
      } else {
        if (*at == '\\' && at + 1 < next) at++;
        word[len++] = *at;
      }
    }
    if (len) append(l, word, len);
    at = next;
  }
  free(text.items[0].data);
  free(text.items);
}

/* SplitMix64 (Steele and others, 2014). */
static uint64_t state;
static uint64_t draw(uint64_t n) {
  uint64_t x = state += UINT64_C(0x9e3779b97f4a7c15);
  x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
  return n ? (x ^ x >> 31) % n : 0;
}

/* Puts `len` bytes in the place of the `cut` bytes at `at`, as far as there is room. */
static void replace(bytes *b, size_t most, size_t at, size_t cut, const uint8_t *data, size_t len) {
  if (len > most - (b->len - cut)) len = most - (b->len - cut);
  memmove(b->data + at + len, b->data + at + cut, b->len - at - cut);
  if (len) memcpy(b->data + at, data, len);
  b->len += len - cut;
}

static void edit(bytes *b, size_t most, const list *seeds, const list *words) {
  static const char *const numbers[] = {"0",
                                        "-1",
                                        "1",
                                        "255",
                                        "65536",
                                        "2147483647",
                                        "4294967296",
                                        "9223372036854775807",
                                        "18446744073709551615",
                                        "1e308",
                                        "nan"};
  size_t at = (size_t)draw(b->len + 1), left = b->len - at,
         cut = (size_t)draw(left < 16 ? left + 1 : 16);
  uint8_t piece[64];
  switch (draw(9)) {
  case 0: /* a bit */
    if (left) b->data[at] ^= (uint8_t)(1 << draw(8));
    break;
  case 1: /* a byte that is often a limit */
    if (left) b->data[at] = (uint8_t)(draw(2) ? UINT64_C(0xff) << draw(8) : draw(256));
    break;
  case 2: replace(b, most, at, cut, NULL, 0); break;
  case 3: /* some bytes twice */
    memcpy(piece, b->data + at, cut);
    replace(b, most, at, 0, piece, cut);
    break;
  case 4: /* the end is missing */ b->len = at; break;
  case 5: {
    const char *number = numbers[draw(sizeof numbers / sizeof *numbers)];
    while (cut < left && b->data[at + cut] >= '0' && b->data[at + cut] <= '9') cut++;
    replace(b, most, at, cut, (const uint8_t *)number, strlen(number));
    break;
  }
  case 6: /* eight bytes of a small or a large number */
    memset(piece, draw(2) ? 0xff : 0, 8);
    piece[draw(8)] = (uint8_t)draw(256);
    replace(b, most, at, left < 8 ? left : 8, piece, 8);
    break;
  case 7: { /* a piece of another file */
    if (!seeds->n) break;
    const bytes *from = &seeds->items[draw(seeds->n)];
    size_t first = (size_t)draw(from->len + 1), rest = from->len - first;
    replace(b, most, at, cut, from->data + first, (size_t)draw(rest < 200 ? rest + 1 : 200));
    break;
  }
  default: {
    if (!words->n) break;
    const bytes *word = &words->items[draw(words->n)];
    replace(b, most, at, draw(2) ? cut : 0, word->data, word->len);
  }
  }
}

/* ---- running ---- */

static bytes input;

/* A sanitizer's report ends the process by abort() or _exit(); so the input is shown by what is
 * called then. */
static void show_input(void) {
  fprintf(stderr, "replay: the input of %zu bytes:", input.len);
  for (size_t i = 0; i < input.len && i < 4096; i++)
    fprintf(stderr, "%s%02x", i % 32 ? "" : "\n", input.data[i]);
  fputc('\n', stderr);
}
void __asan_set_death_callback(void (*callback)(void)) __attribute__((weak));

static void on_signal(int number) {
  show_input();
  signal(number, SIG_DFL);
  raise(number);
}

static void run(void) {
  /* A block of its own size, so that AddressSanitizer sees each access behind its end. */
  uint8_t *copy = enough(malloc(input.len ? input.len : 1));
  if (input.len) memcpy(copy, input.data, input.len);
  alarm((unsigned)(60 * test_slowness()));
  LLVMFuzzerTestOneInput(copy, input.len);
  alarm(0);
  free(copy);
}

int main(int argc, char **argv) {
  list seeds = {NULL, 0}, words = {NULL, 0};
  size_t n = 1000, most = 4096;
  for (int i = 1; i < argc; i++) {
    const char *value = i + 1 < argc ? argv[i + 1] : "";
    if (strncmp(argv[i], "--", 2) != 0)
      read_path(&seeds, argv[i]);
    else if (strcmp(argv[i], "--words") == 0)
      read_words(&words, value), i++;
    else if (strcmp(argv[i], "--inputs") == 0)
      n = strtoul(value, NULL, 10), i++;
    else if (strcmp(argv[i], "--length") == 0)
      most = strtoul(value, NULL, 10), i++;
    else if (strcmp(argv[i], "--seed") == 0)
      state = strtoull(value, NULL, 10), i++;
    else
      return fprintf(stderr, "replay: no such option: %s\n", argv[i]), 2;
  }
  if (__asan_set_death_callback) __asan_set_death_callback(show_input);
  signal(SIGALRM, on_signal);
  signal(SIGABRT, on_signal);
  size_t room = most;
  for (size_t i = 0; i < seeds.n; i++)
    if (seeds.items[i].len > room) room = seeds.items[i].len;
  input.data = enough(malloc(room + 1));
  for (size_t i = 0; i < seeds.n + n; i++) {
    const bytes *from = i < seeds.n ? &seeds.items[i]
                        : seeds.n   ? &seeds.items[draw(seeds.n)]
                                    : NULL;
    if (from) {
      input.len = i < seeds.n || from->len <= most ? from->len : most;
      memcpy(input.data, from->data, input.len);
    } else {
      input.len = (size_t)draw(draw(4) ? 200 : most);
      for (size_t k = 0; k < input.len; k++) input.data[k] = (uint8_t)draw(256);
    }
    if (i >= seeds.n)
      for (uint64_t k = 1 + draw(6); k; k--) edit(&input, most, &seeds, &words);
    run();
  }
  printf("%zu files, %zu inputs made from them\n", seeds.n, n);
  for (size_t i = 0; i < seeds.n; i++) free(seeds.items[i].data);
  for (size_t i = 0; i < words.n; i++) free(words.items[i].data);
  free(seeds.items);
  free(words.items);
  free(input.data);
  return 0;
}
