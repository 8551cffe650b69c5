/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The lexer of the text form of graphs, for read.c. docs/ir.md is the reference.
 *
 * Nothing here depends on graphs. Only types nest, to a fixed depth. */
#include "graph/read/scan.h"
#include "graph/ir/sums.h"

/* ---- errors ---- */

hia_position hiaG_scan_here(const hia_scanner *s) {
  return (hia_position){s->line, (uint32_t)(s->at - s->line_start) + 1};
}

_Noreturn void hiaG_scan_fail(hia_scanner *s, hia_position where, const char *fmt, ...) {
  hia_text text;
  va_list args;
  hiaR_text_init(&text, s->arena);
  va_start(args, fmt);
  hiaR_text_vaddf(&text, fmt, args);
  va_end(args);
  *s->error = (hia_read_error){where.line, where.col, text.data};
  longjmp(s->stop, 1);
}
#define fail(s, ...) hiaG_scan_fail((s), hiaG_scan_here(s), __VA_ARGS__)

/* ---- characters ---- */

static bool is_letter(int c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
static bool is_digit(int c) { return c >= '0' && c <= '9'; }
static int hex_digit(int c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

int hiaG_scan_peek(const hia_scanner *s) { return s->at < s->end ? (unsigned char)*s->at : -1; }

void hiaG_scan_blanks(hia_scanner *s) {
  while (hiaG_scan_peek(s) == ' ' || hiaG_scan_peek(s) == '\t' || hiaG_scan_peek(s) == '\r')
    s->at++;
}

void hiaG_scan_skip(hia_scanner *s) {
  for (;;) {
    hiaG_scan_blanks(s);
    if (hiaG_scan_peek(s) == '#') {
      while (s->at < s->end && *s->at != '\n') s->at++;
    } else if (hiaG_scan_peek(s) == '\n') {
      s->line++;
      s->line_start = ++s->at;
    } else {
      return;
    }
  }
}

bool hiaG_scan_accept(hia_scanner *s, char c) {
  hiaG_scan_skip(s);
  if (hiaG_scan_peek(s) != c) return false;
  s->at++;
  return true;
}

void hiaG_scan_need(hia_scanner *s, char c) {
  if (!hiaG_scan_accept(s, c)) fail(s, "expected '%c'", c);
}

size_t hiaG_scan_word_len(const hia_scanner *s) {
  const char *c = s->at;
  if (c == s->end || !is_letter((unsigned char)*c)) return 0;
  while (c < s->end && (is_letter((unsigned char)*c) || is_digit((unsigned char)*c) ||
                        (*c == '.' && c + 1 < s->end && is_letter((unsigned char)c[1]))))
    c++;
  return (size_t)(c - s->at);
}

bool hiaG_scan_word(hia_scanner *s, const char *word) {
  hiaG_scan_skip(s);
  size_t len = hiaG_scan_word_len(s);
  if (len != strlen(word) || memcmp(s->at, word, len) != 0) return false;
  s->at += len;
  return true;
}

void hiaG_scan_need_word(hia_scanner *s, const char *word) {
  if (!hiaG_scan_word(s, word)) fail(s, "expected '%s'", word);
}

static uint64_t number(hia_scanner *s, uint64_t max) {
  hiaG_scan_skip(s);
  hia_position start = hiaG_scan_here(s);
  if (!is_digit(hiaG_scan_peek(s))) fail(s, "expected a number");
  uint64_t n = 0;
  for (; is_digit(hiaG_scan_peek(s)); s->at++) {
    uint64_t digit = (uint64_t)(hiaG_scan_peek(s) - '0');
    if (n > (max - digit) / 10) hiaG_scan_fail(s, start, "number too large");
    n = n * 10 + digit;
  }
  return n;
}

uint32_t hiaG_scan_u32(hia_scanner *s) { return (uint32_t)number(s, UINT32_MAX); }

uint32_t hiaG_scan_index(hia_scanner *s) { return (uint32_t)number(s, HIA_NONE - 1); }

char *hiaG_scan_string(hia_scanner *s) {
  hia_text text;
  hiaR_text_init(&text, s->arena);
  hia_position start = hiaG_scan_here(s);
  hiaG_scan_need(s, '"');
  hiaR_text_add(&text, "", 0);
  for (;;) {
    int c = hiaG_scan_peek(s);
    if (c < ' ' || c > '~')
      hiaG_scan_fail(s, start, "string does not end on its line, or holds other bytes");
    s->at++;
    if (c == '"') return text.data;
    char byte = (char)c;
    if (c == '\\') {
      c = hiaG_scan_peek(s);
      if (c == 'x' && s->end - s->at >= 3) {
        int high = hex_digit((unsigned char)s->at[1]), low = hex_digit((unsigned char)s->at[2]);
        if (high < 0 || low < 0 || high + low == 0) fail(s, "wrong escape");
        byte = (char)(unsigned char)(high * 16 + low);
        s->at += 3;
      } else if (c == '"' || c == '\\') {
        byte = (char)c;
        s->at++;
      } else {
        fail(s, "wrong escape");
      }
    }
    hiaR_text_add(&text, &byte, 1);
  }
}

const char *hiaG_scan_name(hia_scanner *s) {
  hiaG_scan_skip(s);
  if (hiaG_scan_peek(s) == '"') return hiaG_scan_string(s);
  const char *start = s->at;
  if (!is_letter(hiaG_scan_peek(s))) fail(s, "expected a name");
  while (is_letter(hiaG_scan_peek(s)) || is_digit(hiaG_scan_peek(s))) s->at++;
  return hiaR_arena_strndup(s->arena, start, (size_t)(s->at - start));
}

/* ---- types ---- */

static bool accept_dtype(hia_scanner *s, hia_type *type) {
  for (hia_dtype t = HIA_BOOL; t < HIA_N_DTYPES; t++)
    if (hiaG_scan_word(s, hiaG_dtype_name(t))) {
      *type = t;
      return true;
    }
  return false;
}

/* Types cannot nest deeper than they have parts, so the recursion is bounded. */
enum { MAX_PARTS = HIA_MAX_LAYOUT_WORDS };

/* Reads "[?, ?]" behind the dtype. */
static hia_type tensor(hia_scanner *s, hia_dtype dtype) {
  hia_position where = hiaG_scan_here(s);
  uint32_t rank = 0;
  hiaG_scan_need(s, '[');
  do {
    hiaG_scan_need(s, '?');
    if (++rank > HIA_MAX_RANK)
      hiaG_scan_fail(s, where, "a tensor of more than %d axes", HIA_MAX_RANK);
  } while (hiaG_scan_accept(s, ','));
  hiaG_scan_need(s, ']');
  return hiaG_tensor(s->types, dtype, rank);
}

/* Reads "(f32[?, ?])" behind "sum". */
static hia_type sum(hia_scanner *s, hia_position where) {
  hia_type dtype;
  hiaG_scan_need(s, '(');
  bool is_float = accept_dtype(s, &dtype) && (dtype == HIA_F32 || dtype == HIA_F64);
  if (!is_float) hiaG_scan_fail(s, where, "a sum is of f32 or f64");
  uint32_t rank = hiaG_rank(s->types, tensor(s, (hia_dtype)dtype));
  hiaG_scan_need(s, ')');
  hia_type data = hiaG_sum_type(s->types, (hia_dtype)dtype, rank);
  if (!hiaG_is_sum(s->types, data))
    hiaG_scan_fail(s, where, "type %s is another one already", hiaG_type_text(s->types, data));
  return data;
}

static bool is_at_sum(const hia_scanner *s) {
  return s->end - s->at > 4 && memcmp(s->at, "sum(", 4) == 0;
}

static hia_type type(hia_scanner *s, uint32_t depth) {
  hia_type scalar;
  if (accept_dtype(s, &scalar)) return hiaG_scan_peek(s) == '[' ? tensor(s, scalar) : scalar;
  hiaG_scan_skip(s);
  hia_position where = hiaG_scan_here(s);
  int c = hiaG_scan_peek(s);
  if (is_at_sum(s)) {
    s->at += 3;
    return sum(s, where);
  }
  if (is_letter(c) || c == '"') {
    hia_type data = hiaG_data(s->types, hiaG_scan_name(s));
    if (!hiaG_data_is_defined(s->types, data))
      hiaR_push(s->scratch, &s->mentions, (hia_mention){data, where});
    if (s->has_all_types) hiaG_scan_types_end(s);
    return data;
  }
  if (depth > MAX_PARTS) hiaG_scan_fail(s, where, "type is nested too deeply");
  if (hiaG_scan_accept(s, '[')) {
    hia_type element = type(s, depth + 1);
    hiaG_scan_need(s, ']');
    return hiaG_array(s->types, element);
  }
  if (!hiaG_scan_accept(s, '(')) fail(s, "expected a type");
  uint32_t first = s->parts.len, words = 0;
  do {
    hia_type part = type(s, depth + 1);
    words += hiaG_type_words(s->types, part);
    if (words > MAX_PARTS) hiaG_scan_fail(s, where, "type has more than %d parts", MAX_PARTS);
    hiaR_push(s->scratch, &s->parts, part);
  } while (hiaG_scan_accept(s, ','));
  hiaG_scan_need(s, ')');
  uint32_t n = s->parts.len - first;
  if (n < 2) hiaG_scan_fail(s, where, "a tuple has at least two parts");
  s->parts.len = first;
  return hiaG_tuple(s->types, s->parts.data + first, n);
}

hia_type hiaG_scan_type(hia_scanner *s) { return type(s, 0); }

void hiaG_scan_types_end(hia_scanner *s) {
  s->has_all_types = true;
  for (uint32_t i = 0; i < s->mentions.len; i++) {
    const hia_mention *m = &s->mentions.data[i];
    if (!hiaG_data_is_defined(s->types, m->type))
      hiaG_scan_fail(s, m->where, "there is no type %s", hiaG_type_text(s->types, m->type));
  }
}

hia_type hiaG_scan_word_type(hia_scanner *s) {
  hiaG_scan_skip(s);
  hia_position where = hiaG_scan_here(s);
  hia_type t = type(s, 0);
  if (hiaG_type_kind(s->types, t) == HIA_KIND_TUPLE)
    hiaG_scan_fail(s, where, "a value is no tuple");
  return t;
}

uint32_t hiaG_scan_word_types(hia_scanner *s, hia_type **out) {
  hia_u32vec *types = &s->types_of_words;
  types->len = 0;
  hiaG_scan_need(s, '(');
  if (!hiaG_scan_accept(s, ')')) {
    do hiaR_push(s->scratch, types, hiaG_scan_word_type(s));
    while (hiaG_scan_accept(s, ','));
    hiaG_scan_need(s, ')');
  }
  *out = HIA_NEW_ARRAY(s->arena, hia_type, types->len);
  if (types->len) memcpy(*out, types->data, types->len * sizeof **out);
  return types->len;
}

hia_type hiaG_scan_signature(hia_scanner *s) {
  s->parts.len = 0;
  hiaG_scan_need(s, '(');
  if (!hiaG_scan_accept(s, ')')) {
    do {
      hia_type t = type(s, 0);
      hiaR_push(s->scratch, &s->parts, t);
    } while (hiaG_scan_accept(s, ','));
    hiaG_scan_need(s, ')');
  }
  hiaG_scan_need(s, '-');
  hiaG_scan_need(s, '>');
  return type(s, 0);
}

/* ---- constants ---- */

static hia_word integer(hia_scanner *s, hia_dtype t) {
  bool is_negative = hiaG_scan_accept(s, '-');
  uint64_t max = t == HIA_I32 ? (uint64_t)INT32_MAX : (uint64_t)INT64_MAX;
  uint64_t n = number(s, max + is_negative);
  return is_negative ? 0 - n : n;
}

/* Reads 0x1.8p+1 and the like, exactly. */
static hia_word hex_float(hia_scanner *s, hia_dtype t) {
  hiaG_scan_skip(s);
  hia_position start = hiaG_scan_here(s);
  bool is_negative = hiaG_scan_accept(s, '-');
  if (hiaG_scan_word(s, "nan")) {
    bool is_f32 = t == HIA_F32;
    uint64_t bits = is_f32 ? 0x7fc00000u : 0x7ff8000000000000u;
    if (is_negative) hiaG_scan_fail(s, start, "the sign of a NaN is one of its bits");
    if (hiaG_scan_peek(s) == ':') {
      bits = 0;
      s->at++;
      if (s->end - s->at < 3 || s->at[0] != '0' || s->at[1] != 'x') fail(s, "expected 0x");
      s->at += 2;
      for (int digit; (digit = hex_digit(hiaG_scan_peek(s))) >= 0; s->at++) {
        if (bits >> 60) hiaG_scan_fail(s, start, "number too large");
        bits = bits << 4 | (uint64_t)digit;
      }
      uint64_t infinity = is_f32 ? 0x7f800000u : 0x7ff0000000000000u;
      uint64_t magnitude = bits & (is_f32 ? 0x7fffffffu : 0x7fffffffffffffffu);
      if (magnitude <= infinity || (is_f32 && bits >> 32))
        hiaG_scan_fail(s, start, "these bits are no NaN");
    }
    return bits;
  }
  uint64_t mantissa = 0;
  int64_t exponent = 0;
  bool is_infinite = hiaG_scan_word(s, "inf");
  if (!is_infinite) {
    if (s->end - s->at < 3 || s->at[0] != '0' || s->at[1] != 'x')
      fail(s, "expected 0x, inf or nan");
    s->at += 2;
    bool has_digits = false, has_point = false;
    for (;; s->at++) {
      int digit = hex_digit(hiaG_scan_peek(s));
      if (hiaG_scan_peek(s) == '.' && !has_point) {
        has_point = true;
        continue;
      }
      if (digit < 0) break;
      has_digits = true;
      if (mantissa >> 56) hiaG_scan_fail(s, start, "more digits than a float holds");
      mantissa = mantissa << 4 | (uint64_t)digit;
      if (has_point) exponent -= 4;
    }
    if (!has_digits || hiaG_scan_peek(s) != 'p')
      fail(s, "expected hexadecimal digits and an exponent");
    s->at++;
    bool is_minus = hiaG_scan_peek(s) == '-';
    if (hiaG_scan_peek(s) == '-' || hiaG_scan_peek(s) == '+') s->at++;
    if (!is_digit(hiaG_scan_peek(s))) fail(s, "expected an exponent");
    int64_t power = (int64_t)number(s, 100000);
    exponent += is_minus ? -power : power;
  }
  /* Scale so that the value is mantissa * 2^exponent with the lowest exponent of an f64, or exactly
   * 53 bits: what does not fit is an error, never rounded. */
  double x = 0;
  if (mantissa) {
    while ((mantissa & 1) == 0) mantissa >>= 1, exponent++;
    int bits = 0;
    for (uint64_t m = mantissa; m; m >>= 1) bits++;
    int64_t top = exponent + bits - 1; /* of the leading bit */
    if (bits > 53 || top > 1023 || exponent < -1074)
      hiaG_scan_fail(s, start, "no f64 has this value");
    uint64_t word = 0;
    if (top >= -1022)
      word = (uint64_t)(top + 1023) << 52 | ((mantissa << (53 - bits)) & 0xfffffffffffff);
    else
      word = mantissa << (exponent + 1074);
    x = hiaR_to_f64(word);
  }
  if (is_infinite) x = hiaR_to_f64(0x7ff0000000000000u);
  if (is_negative) x = -x;
  if (t == HIA_F64) return hiaR_from_f64(x);
  /* The exact range check comes first: converting what overflows is undefined. */
  if (!is_infinite && (x > 0x1.fffffep127 || x < -0x1.fffffep127))
    hiaG_scan_fail(s, start, "no f32 has this value");
  float narrow = (float)x;
  if ((double)narrow != x) hiaG_scan_fail(s, start, "no f32 has this value");
  return hiaR_from_f32(narrow);
}

uint32_t hiaG_find_ctor(hia_scanner *s, hia_type data, const char *name, hia_position where) {
  const hia_types *types = s->types;
  if (hiaG_type_kind(types, data) != HIA_KIND_DATA)
    hiaG_scan_fail(s, where, "%s is no data type", hiaG_type_text(types, data));
  const hia_type_entry *entry = &types->entries.data[data - HIA_FIRST_TYPE];
  for (uint32_t i = 0; i < entry->n; i++)
    if (strcmp(types->names.data + types->ctors.data[entry->first + i].name, name) == 0) return i;
  hiaG_scan_fail(s, where, "%s has no constructor %s", hiaG_type_text(types, data), name);
}

uint32_t hiaG_scan_ctor(hia_scanner *s, hia_type data) {
  hiaG_scan_skip(s);
  hia_position where = hiaG_scan_here(s);
  return hiaG_find_ctor(s, data, hiaG_scan_name(s), where);
}

hia_word hiaG_scan_constant(hia_scanner *s, hia_type t) {
  if (!hiaG_is_scalar(t)) return hiaG_scan_ctor(s, t);
  switch (t) {
  case HIA_BOOL:
    if (hiaG_scan_word(s, "true")) return 1;
    if (hiaG_scan_word(s, "false")) return 0;
    fail(s, "expected true or false");
  case HIA_I32:
  case HIA_I64: return integer(s, t);
  default: return hex_float(s, t);
  }
}
