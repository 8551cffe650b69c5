/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The tokens of values, and errors with their positions. Positions are computed for errors only. */
#include "runtime/value/scan.h"
#include <inttypes.h>
#include <stdio.h>

void hiaR_scan_space(hia_scan *scan) {
  const char *s = scan->s, *end = scan->end;
  while (s < end) {
    if (hiaR_is_space(*s)) {
      s++;
    } else if (*s == '#') {
      const char *line = memchr(s, '\n', (size_t)(end - s));
      s = line ? line : end;
    } else {
      break;
    }
  }
  scan->s = s;
}

static bool is_hex_digit(char c) {
  return hiaR_is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F') || c == '_';
}

/* Skips a suffix of these dtypes. */
static const char *suffix(const char *s, const char *end, unsigned from, unsigned to,
                          hia_literal *literal) {
  for (unsigned d = from; end - s >= 3 && d <= to; d++) {
    if (memcmp(s, hiaR_reprs[d].name, 3) != 0) continue;
    literal->suffix = (uint8_t)d;
    return s + 3;
  }
  return s;
}

static bool scan_word(hia_scan *scan, hia_literal *literal) {
  static const struct {
    const char *text;
    uint8_t kind;
  } words[] = {{"true", HIA_LITERAL_BOOL},
               {"false", HIA_LITERAL_BOOL},
               {"inf", HIA_LITERAL_INF},
               {"nan", HIA_LITERAL_NAN}};
  const char *end = hiaR_scan_name(scan);
  size_t n = (size_t)(end - scan->s);
  for (size_t i = 0; i < HIA_LEN(words); i++) {
    if (n != strlen(words[i].text) || memcmp(scan->s, words[i].text, n) != 0) continue;
    *literal = (hia_literal){scan->s, end, words[i].kind, HIA_NO_LITERAL_SUFFIX, false};
    scan->s = end;
    return true;
  }
  return false;
}

bool hiaR_scan_literal(hia_scan *scan, hia_literal *literal) {
  const char *s = scan->s, *end = scan->end;
  if (s == end) return false;
  if (!hiaR_is_digit(*s)) return hiaR_is_name_start(*s) && scan_word(scan, literal);
  *literal = (hia_literal){.s = s, .kind = HIA_LITERAL_INT, .suffix = HIA_NO_LITERAL_SUFFIX};
  if (*s == '0' && end - s > 2 && s[1] == 'x' && is_hex_digit(s[2])) {
    bool has_digits = false;
    literal->is_hex = true;
    literal->s = s + 2;
    for (s += 2; s < end && is_hex_digit(*s); s++) has_digits |= *s != '_';
    literal->end = s;
    s = suffix(s, end, HIA_I32, HIA_I64, literal);
    if (has_digits) scan->s = s;
    return has_digits;
  }
  while (s < end && (hiaR_is_digit(*s) || *s == '_')) s++;
  if (end - s > 1 && *s == '.' && hiaR_is_digit(s[1])) {
    literal->kind = HIA_LITERAL_FLOAT;
    for (s++; s < end && hiaR_is_digit(*s);) s++;
  }
  if (end - s > 1 && (*s == 'e' || *s == 'E')) {
    const char *e = s + 1;
    if (end - e > 1 && (*e == '+' || *e == '-')) e++;
    if (hiaR_is_digit(*e)) {
      literal->kind = HIA_LITERAL_FLOAT;
      for (s = e; s < end && hiaR_is_digit(*s);) s++;
    }
  }
  literal->end = s;
  scan->s = suffix(s, end, literal->kind == HIA_LITERAL_INT ? HIA_I32 : HIA_F32, HIA_F64, literal);
  return true;
}

const char *hiaR_scan_name(const hia_scan *scan) {
  const char *s = scan->s;
  while (s < scan->end && hiaR_is_name(*s)) s++;
  return s;
}

/* ---- tensors without elements, and slices ---- */

/* A number from 0 on, in decimal digits. */
static bool scan_size(hia_scan *scan, uint64_t *size) {
  hia_scan at = *scan;
  hia_literal literal;
  hia_word word;
  bool is_size = hiaR_scan_literal(&at, &literal) && literal.kind == HIA_LITERAL_INT &&
                 (literal.suffix == HIA_NO_LITERAL_SUFFIX || literal.suffix <= HIA_I64) &&
                 hiaR_read_word(literal.s, literal.end, literal.is_hex, false, HIA_I64, &word) ==
                     HIA_NUMBER_OK;
  if (!is_size) return false;
  *size = word;
  scan->s = at.s;
  return true;
}

static bool is_word(const char *s, const char *end, const char *word) {
  return (size_t)(end - s) == strlen(word) && memcmp(s, word, (size_t)(end - s)) == 0;
}

bool hiaR_scan_has_sizes(const hia_scan *scan) {
  if (scan->s == scan->end || !strchr("zof", *scan->s)) return false;
  hia_scan at = *scan;
  at.s = hiaR_scan_name(scan);
  if (!is_word(scan->s, at.s, "zeros") && !is_word(scan->s, at.s, "ones") &&
      !is_word(scan->s, at.s, "full"))
    return false;
  hiaR_skip_space(&at);
  return hiaR_accept(&at, '(');
}

/* Skips a literal with its sign. */
static hia_status skip_fill(hia_scan *scan) {
  hia_literal literal;
  const char *from = scan->s;
  if (hiaR_accept(scan, '-')) hiaR_skip_space(scan);
  if (hiaR_scan_literal(scan, &literal)) return HIA_OK;
  scan->s = from;
  return hiaR_scan_unexpected(scan, "a literal");
}

static hia_status scan_sizes(hia_scan *scan, hia_dims *shape) {
  for (;;) {
    uint64_t size;
    hiaR_skip_space(scan);
    if (!scan_size(scan, &size)) return hiaR_scan_unexpected(scan, "a size, an integer from 0 on");
    if (shape->rank < HIA_MAX_RANK) shape->dims[shape->rank] = (hia_dim)size;
    shape->rank++; /* beyond the maximum it is refused later */
    hiaR_skip_space(scan);
    if (hiaR_accept(scan, ')')) return HIA_OK;
    if (!hiaR_accept(scan, ',')) return hiaR_scan_unexpected(scan, "')' or ','");
    if (shape->rank > HIA_MAX_RANK) return HIA_OK;
  }
}

hia_status hiaR_scan_empty_tensor(hia_scan *scan, hia_empty_tensor *tensor) {
  const char *from = scan->s, *to = hiaR_scan_name(scan);
  *tensor = (hia_empty_tensor){.s = from};
  scan->s = to;
  hiaR_skip_space(scan);
  scan->s++; /* the bracket */
  hia_status status = HIA_OK;
  if (is_word(from, to, "full")) {
    hiaR_skip_space(scan);
    tensor->fill = scan->s;
    status = skip_fill(scan);
    if (status) return status;
    hiaR_skip_space(scan);
    if (!hiaR_accept(scan, ',')) return hiaR_scan_unexpected(scan, "',' and a size");
  }
  status = scan_sizes(scan, &tensor->shape);
  if (status) return status;
  if (tensor->shape.rank > HIA_MAX_RANK)
    return hiaR_scan_fail(scan, "E0401", from, scan->s, "a tensor has at most %d axes",
                          HIA_MAX_RANK);
  uint64_t n;
  if (!hiaR_shape_elements(&tensor->shape, sizeof(double), &n))
    return hiaR_scan_fail(scan, "E0401", from, scan->s, "these sizes are too large");
  if (n == 0) return HIA_OK;
  hiaR_scan_fail(scan, "E0401", from, scan->s,
                 "the elements of a tensor are written out: this has %llu", (unsigned long long)n);
  hiaR_scan_hint(scan, "sizes alone are for a tensor without elements: zeros(0, 3)");
  return HIA_ARGUMENT;
}

bool hiaR_scan_slice(hia_scan *scan, uint64_t *from, uint64_t *to) {
  hia_scan at = *scan;
  hiaR_skip_space(&at);
  if (!hiaR_accept(&at, '[')) return false;
  hiaR_skip_space(&at);
  if (!scan_size(&at, from)) return false;
  hiaR_skip_space(&at);
  if (!hiaR_accept(&at, '.') || !hiaR_accept(&at, '.')) return false;
  hiaR_skip_space(&at);
  if (!scan_size(&at, to)) return false;
  hiaR_skip_space(&at);
  if (!hiaR_accept(&at, ']')) return false;
  scan->s = at.s;
  return true;
}

const char *hiaR_scan_expression(const hia_scan *scan, const char *from) {
  hia_scan at = *scan;
  size_t depth = 0;
  for (at.s = from; at.s < at.end; at.s++) {
    hiaR_skip_space(&at);
    if (at.s == at.end) break;
    char c = *at.s;
    if (c == '(' || c == '[' || c == '{') depth++;
    if (depth == 0 && (c == ',' || c == ')' || c == ']' || c == '}')) break;
    if (c == ')' || c == ']' || c == '}') depth--;
  }
  return at.s;
}

/* ---- errors ---- */

static void set_position(hia_scan *scan, const char *from, const char *to) {
  hia_value_error *e = scan->error;
  const char *line = scan->text;
  e->line = 1;
  for (const char *nl; (nl = memchr(line, '\n', (size_t)(from - line))) != NULL; line = nl + 1)
    e->line++;
  e->col = (uint32_t)(from - line) + 1;
  e->at = (size_t)(from - scan->text);
  const char *end = memchr(from, '\n', (size_t)(to - from));
  e->len = (size_t)((end ? end : to) - from);
}

hia_status hiaR_scan_fail(hia_scan *scan, const char *code, const char *from, const char *to,
                          const char *fmt, ...) {
  hia_value_error *e = scan->error;
  *e = (hia_value_error){.code = code};
  set_position(scan, from, to);
  va_list args;
  va_start(args, fmt);
  vsnprintf(e->message, sizeof e->message, fmt, args);
  va_end(args);
  return HIA_ARGUMENT;
}

void hiaR_scan_hint(hia_scan *scan, const char *fmt, ...) {
  va_list args;
  va_start(args, fmt);
  vsnprintf(scan->error->hint, sizeof scan->error->hint, fmt, args);
  va_end(args);
}

void hiaR_scan_describe(const hia_scan *scan, char *buf, size_t size) {
  hia_scan at = *scan;
  hia_literal literal;
  const char *s = scan->s;
  if (s == scan->end) {
    snprintf(buf, size, "the end");
  } else if (hiaR_is_name(*s)) {
    bool is_number = hiaR_is_digit(*s);
    const char *end = is_number && hiaR_scan_literal(&at, &literal) ? at.s : hiaR_scan_name(scan);
    const char *what = is_number ? "number" : "name";
    if (end - s <= 40)
      snprintf(buf, size, "the %s '%.*s'", what, (int)(end - s), s);
    else
      snprintf(buf, size, "a %s", what);
  } else {
    snprintf(buf, size, "'%c'", *s);
  }
}

hia_status hiaR_scan_start(hia_scan *scan, const char *text, size_t len, hia_value_error *error) {
  hia_status status = hiaR_scan_start_at(scan, text, len, 0, error);
  if (status == HIA_OK && len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) scan->s += 3;
  return status;
}

hia_status hiaR_scan_start_at(hia_scan *scan, const char *text, size_t len, uint64_t offset,
                              hia_value_error *error) {
  *scan = (hia_scan){text, text, text + len, error};
  const char *nul = len ? memchr(text, 0, len) : NULL;
  size_t bad = hiaR_find_invalid_utf8(text, nul ? (size_t)(nul - text) : len);
  const char *at = text + bad;
  if (bad < (nul ? (size_t)(nul - text) : len))
    return hiaR_scan_fail(scan, "E0001", at, at + 1,
                          "the text is not valid UTF-8: byte 0x%02x at offset %" PRIu64,
                          (unsigned)(unsigned char)*at, offset + bad);
  if (nul)
    return hiaR_scan_fail(scan, "E0002", nul, nul + 1,
                          "this is no text: NUL byte at offset %" PRIu64,
                          offset + (uint64_t)(nul - text));
  return HIA_OK;
}

hia_status hiaR_scan_unexpected(hia_scan *scan, const char *wanted) {
  const char *s = scan->s, *end = s < scan->end ? s + 1 : s;
  if (s < scan->end && (unsigned char)*s >= 0x80) {
    while (end < scan->end && ((unsigned char)*end & 0xc0) == 0x80) end++;
    return hiaR_scan_fail(scan, "E0004", s, end, "unexpected character '%.*s'", (int)(end - s), s);
  }
  if (s < scan->end && ((unsigned char)*s < ' ' || *s == 0x7f))
    return hiaR_scan_fail(scan, "E0004", s, end, "unexpected control character 0x%02x",
                          (unsigned)(unsigned char)*s);
  if (s < scan->end && *s == '@')
    return hiaR_scan_fail(scan, "E0908", s, end, "no value is read from a file here");
  char found[80];
  hiaR_scan_describe(scan, found, sizeof found);
  if (s < scan->end && hiaR_is_name(*s)) end = hiaR_scan_name(scan);
  return hiaR_scan_fail(scan, "E0101", s, end, "expected %s, found %s", wanted, found);
}
