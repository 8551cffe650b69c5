/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* What the readers of values have in common: characters, positions, errors. */
#ifndef HIA_RT_VALUE_SCAN_H
#define HIA_RT_VALUE_SCAN_H

#include "runtime/base/shape.h"
#include "runtime/value/stack.h"

static inline bool hiaR_is_digit(char c) { return c >= '0' && c <= '9'; }
static inline bool hiaR_is_name_start(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
static inline bool hiaR_is_name(char c) { return hiaR_is_name_start(c) || hiaR_is_digit(c); }
static inline bool hiaR_is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

/* ---- scan.c ---- */

/* Where the readers are in a text. */
typedef struct hia_scan {
  const char *text, *s, *end; /* s: the next byte */
  hia_value_error *error;
} hia_scan;

/* Begins at the text, which must be UTF-8 without NUL bytes: else fails with HIA_ARGUMENT. */
hia_status hiaR_scan_start(hia_scan *scan, const char *text, size_t len, hia_value_error *error);
/* Begins at a part of a text, which begins `offset` bytes from its beginning. */
hia_status hiaR_scan_start_at(hia_scan *scan, const char *text, size_t len, uint64_t offset,
                              hia_value_error *error);
/* Skips white space and comments. */
void hiaR_scan_space(hia_scan *scan);
static inline void hiaR_skip_space(hia_scan *scan) {
  const char *s = scan->s;
  if (s < scan->end && *s == ' ') scan->s = ++s; /* usually there is one, or none */
  if (s < scan->end && (*s <= ' ' || *s == '#')) hiaR_scan_space(scan);
}
/* True if this character is the next; then it is skipped. */
static inline bool hiaR_accept(hia_scan *scan, char c) {
  if (scan->s == scan->end || *scan->s != c) return false;
  scan->s++;
  return true;
}

/* A literal, without its sign. */
typedef struct hia_literal {
  const char *s, *end; /* as hiaR_read_word takes them */
  uint8_t kind;
  uint8_t suffix; /* hia_dtype, or NO_SUFFIX */
  bool is_hex;
} hia_literal;
enum { HIA_LITERAL_INT, HIA_LITERAL_FLOAT, HIA_LITERAL_INF, HIA_LITERAL_NAN, HIA_LITERAL_BOOL };
#define HIA_NO_LITERAL_SUFFIX 255u
/* Reads a literal and skips it. False if none begins here; nothing is skipped then. */
bool hiaR_scan_literal(hia_scan *scan, hia_literal *literal);
/* Returns the end of the name that begins here. */
const char *hiaR_scan_name(const hia_scan *scan);
/* A tensor without elements, of which lists do not show all sizes, is written as the language makes
 * one: `zeros(0, 3)`, `ones(2, 0, 1)`, `full(true, 0, 3)`. One with elements is written out, so
 * that a value takes memory in proportion to its text. */
typedef struct hia_empty_tensor {
  const char *s; /* where it begins */
  hia_dims shape;
  const char *fill; /* the literal that stands for its elements; NULL: they are floats */
} hia_empty_tensor;
/* True if a tensor may be written so here: one of these names, and a bracket. */
bool hiaR_scan_has_sizes(const hia_scan *scan);
/* Reads all of it. HIA_ARGUMENT. What `fill` has at its beginning is no more than a literal. */
hia_status hiaR_scan_empty_tensor(hia_scan *scan, hia_empty_tensor *tensor);
/* Reads what may follow a list: `[i..j]`, its items from i on and before j. False if none begins
 * here; nothing is read then. */
bool hiaR_scan_slice(hia_scan *scan, uint64_t *from, uint64_t *to);
/* The end of the expression that begins at `from`: the next `,` `)` `]` `}` outside of brackets, or
 * the end of the text. */
const char *hiaR_scan_expression(const hia_scan *scan, const char *from);
/* What is there, for messages: "the name 'x'". */
void hiaR_scan_describe(const hia_scan *scan, char *buf, size_t size);

/* Writes the error; returns HIA_ARGUMENT. `from`, `to`: the bytes in question. */
hia_status hiaR_scan_fail(hia_scan *scan, const char *code, const char *from, const char *to,
                          const char *fmt, ...) HIA_PRINTF(5, 6);
/* Something else was expected here. A byte that belongs to no value is an error of its own. */
hia_status hiaR_scan_unexpected(hia_scan *scan, const char *wanted);
void hiaR_scan_hint(hia_scan *scan, const char *fmt, ...) HIA_PRINTF(2, 3);

#endif
