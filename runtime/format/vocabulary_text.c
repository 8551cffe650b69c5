/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Vocabularies as text, a word a line, and as files.
 *
 * A line is the word itself, unless that would be read as another: a word may have any bytes, while
 * the text is UTF-8, of which a byte order mark at the beginning, ends of lines and a carriage
 * return before them are no part of a word. So there are two escapes, of which others that read
 * such files know the form from Rust and Swift:
 *
 *   \u{a}    the character with this number, of 1 to 6 hexadecimal digits
 *   \x{ff}   the byte with this value, of 2 digits
 *
 * A backslash with anything else behind it is a character like others, as in the `\/` of treebanks;
 * the writer escapes it where an escape would begin. Whether a word is escaped does not depend on
 * its place, so that lines may be moved, and files be joined. */
#include "runtime/format/vocabulary.h"
#include "runtime/value/handle.h"
#include "runtime/value/output.h"
#include "runtime/value/scan.h"
#include <stdio.h>

/* ---- escapes ---- */

static const char mark[] = "\xef\xbb\xbf"; /* the byte order mark */

typedef struct escape {
  const char *end;
  char bytes[4]; /* what it stands for */
  size_t n;
} escape;

static int digit_value(char c) {
  if (hiaR_is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static size_t put_utf8(char *to, uint32_t c) {
  if (c < 0x80) return to[0] = (char)c, 1;
  size_t n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
  static const unsigned heads[] = {0, 0, 0xc0, 0xe0, 0xf0};
  for (size_t i = n; i-- > 1; c >>= 6) to[i] = (char)(0x80 | (c & 0x3f));
  to[0] = (char)(heads[n] | c);
  return n;
}

/* True if an escape begins at the backslash `s`. */
static bool read_escape(const char *s, const char *end, escape *e) {
  if (end - s < 5 || (s[1] != 'u' && s[1] != 'x') || s[2] != '{') return false;
  const char *at = s + 3;
  uint32_t number = 0;
  int digit;
  while (at < end && at - s < 9 && (digit = digit_value(*at)) >= 0) {
    number = number * 16 + (uint32_t)digit;
    at++;
  }
  ptrdiff_t n_digits = at - (s + 3);
  if (at == end || *at != '}' || n_digits == 0) return false;
  e->end = at + 1;
  if (s[1] == 'x') {
    e->n = 1;
    e->bytes[0] = (char)number;
    return n_digits == 2;
  }
  if (number > 0x10ffff || (number >= 0xd800 && number < 0xe000)) return false;
  e->n = put_utf8(e->bytes, number);
  return true;
}

/* ---- reading ---- */

/* Adds the word of a line, of which the escapes are read into the buffer. */
static uint32_t add_line(hia_vocab *w, const char *s, const char *end, hia_block *buffer) {
  const char *slash = s == end ? NULL : memchr(s, '\\', (size_t)(end - s));
  if (!slash) return hiaR_vocab_add(w, s, (size_t)(end - s));
  if (!hiaR_block_grow(buffer, &w->allocator, (size_t)(end - s))) return HIA_NONE;
  char *to = buffer->data; /* an escape is longer than what it stands for */
  while (s < end) {
    escape e;
    if (*s != '\\' || !read_escape(s, end, &e)) {
      *to++ = *s++;
      continue;
    }
    memcpy(to, e.bytes, e.n);
    to += e.n;
    s = e.end;
  }
  return hiaR_vocab_add(w, buffer->data, (size_t)(to - (char *)buffer->data));
}

static hia_status read_lines(hia_vocab *w, hia_scan *scan, hia_block *buffer) {
  uint32_t first = w->n;
  while (scan->s < scan->end) {
    const char *s = scan->s, *end = memchr(s, '\n', (size_t)(scan->end - s));
    scan->s = end ? end + 1 : scan->end;
    if (!end) end = scan->end;
    if (end > s && end[-1] == '\r') end--;
    uint32_t n = w->n, index = add_line(w, s, end, buffer);
    if (index == HIA_NONE) return HIA_MEMORY;
    if (w->n == n) /* the words behind it would have other numbers than their lines */
      return hiaR_scan_fail(scan, "E0202", s, end, "the word '%.*s' is on line %u already",
                            end - s > 60 ? 60 : (int)(end - s), s, index - first + 1);
  }
  return HIA_OK;
}

hia_status hiaR_vocab_read(hia_vocab *w, const char *text, size_t len, hia_value_error *error) {
  hia_scan scan;
  hia_block buffer = {NULL, 0};
  *error = (hia_value_error){.code = NULL};
  hia_status status = hiaR_scan_start(&scan, text, len, error);
  if (status == HIA_OK) status = read_lines(w, &scan, &buffer);
  hiaR_block_free(&buffer, &w->allocator);
  return status;
}

/* ---- writing ---- */

static bool put(const hia_sink *sink, const char *s, size_t n) {
  return n == 0 || sink->take(sink->user, s, n);
}

/* Writes the line of a word: what needs no escape in as few pieces as possible. */
static bool write_word(const hia_sink *sink, const char *s, size_t n) {
  const char *end = s + n, *from = s, *invalid = s + hiaR_find_invalid_utf8(s, n);
  for (const char *at = s; at < end;) {
    bool is_mark = at == s && n >= 3 && memcmp(s, mark, 3) == 0;
    bool is_end = *at == '\n' || *at == '\r' || *at == 0;
    escape e;
    if (at != invalid && !is_mark && !is_end && (*at != '\\' || !read_escape(at, end, &e))) {
      at++;
      continue;
    }
    char text[16];
    int len = at == invalid ? snprintf(text, sizeof text, "\\x{%02x}", (unsigned char)*at)
                            : snprintf(text, sizeof text, "\\u{%x}",
                                       is_mark ? 0xfeffu : (unsigned)(unsigned char)*at);
    if (!put(sink, from, (size_t)(at - from)) || !put(sink, text, (size_t)len)) return false;
    if (at == invalid) invalid += 1 + hiaR_find_invalid_utf8(at + 1, (size_t)(end - at) - 1);
    at += is_mark ? 3 : 1;
    from = at;
  }
  return put(sink, from, (size_t)(end - from)) && put(sink, "\n", 1);
}

hia_status hiaR_vocab_write(const hia_vocab *w, const hia_sink *sink) {
  for (uint32_t i = 0; i < w->n; i++) {
    size_t n;
    const char *word = hiaR_vocab_get(w, i, &n);
    if (!write_word(sink, word, n)) return HIA_IO;
  }
  return HIA_OK;
}

/* ---- of the API ---- */

static hia_status no(const char *what, hia_error **error) {
  return hiaR_fail_text(&hiaR_malloc, error, HIA_ARGUMENT, NULL, "no %s", what);
}

hia_status hia_vocab_read(hia_vocab *words, const char *name, const char *text, size_t len,
                          hia_error **error) {
  if (error) *error = NULL;
  if (!words || (!text && len)) return no(words ? "text" : "words", error);
  hia_value_error wrong = {.code = NULL};
  hia_status status = hiaR_vocab_read(words, text ? text : "", len, &wrong);
  if (status == HIA_OK) return HIA_OK;
  return hiaR_fail_reading(&words->allocator, error, status, name, text, len, &wrong);
}

hia_status hia_vocab_load_file(hia_vocab *words, const char *path, hia_error **error) {
  if (error) *error = NULL;
  if (!words || !path) return no(words ? "path" : "words", error);
  char *text;
  size_t len, size;
  int wrong = hiaR_read_file(&words->allocator, path, SIZE_MAX / 4, &text, &len, &size);
  hia_status status = wrong ? hiaR_fail_file(&words->allocator, error, "read", path, wrong)
                            : hia_vocab_read(words, path, text, len, error);
  if (text) hiaR_free(&words->allocator, text, size);
  return status;
}

hia_status hia_vocab_write(const hia_vocab *words, hia_write write, void *user, hia_error **error) {
  if (error) *error = NULL;
  if (!words || !write) return no(words ? "function to write with" : "words", error);
  hia_status status = hiaR_vocab_write(words, &(hia_sink){write, user});
  if (status == HIA_OK) return HIA_OK;
  return hiaR_fail_text(&words->allocator, error, status, NULL, "%s", hiaR_status_message(status));
}

hia_status hia_vocab_save_file(const hia_vocab *words, const char *path, hia_error **error) {
  if (error) *error = NULL;
  if (!words || !path) return no(words ? "path" : "words", error);
  hia_file_output file;
  int wrong = hiaR_output_open(&file, path);
  if (wrong) return hiaR_fail_file(&words->allocator, error, "write", path, wrong);
  bool is_written = hiaR_vocab_write(words, &(hia_sink){hiaR_output_write, &file}) == HIA_OK;
  wrong = hiaR_output_close(&file, is_written);
  return wrong ? hiaR_fail_file(&words->allocator, error, "write", path, wrong) : HIA_OK;
}
