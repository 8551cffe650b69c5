/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The value of a number literal, at the dtype of its place. */
#include "frontend/ast.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static unsigned digit_value(char c) {
  return is_digit(c) ? (unsigned)(c - '0') : (unsigned)((c | 0x20) - 'a') + 10;
}

/* The digits of an integer, without `0x` and suffix. */
static void int_digits(const hia_program *p, const hia_ast *n, const char **from, const char **to,
                       bool *hex) {
  const char *s = p->source->text + n->start, *end = p->source->text + n->end;
  if (n->op != HIA_NO_SUFFIX) end -= 3;
  *hex = end - s > 2 && s[0] == '0' && s[1] == 'x';
  *from = *hex ? s + 2 : s;
  *to = end;
}

/* False if it does not fit in 64 bits. */
static bool int_magnitude(const hia_program *p, const hia_ast *n, uint64_t *value) {
  const char *s, *end;
  bool hex;
  int_digits(p, n, &s, &end, &hex);
  uint64_t base = hex ? 16 : 10, v = 0;
  for (; s < end; s++) {
    if (*s == '_') continue;
    uint64_t d = digit_value(*s);
    if (v > (UINT64_MAX - d) / base) return false;
    v = v * base + d;
  }
  *value = v;
  return true;
}

/* The text in the form that strtod reads in every locale: no point, no `_`, no suffix. */
static const char *float_text(const hia_program *p, const hia_ast *n) {
  const char *s = p->source->text + n->start, *end = p->source->text + n->end;
  char *text = hiaR_arena_array(p->arena, (size_t)(end - s) + 32, 1), *out = text;
  int64_t exponent = 0;
  if (n->kind != HIA_AST_FLOAT) {
    bool hex;
    int_digits(p, n, &s, &end, &hex);
    if (hex) *out++ = '0', *out++ = 'x';
    for (; s < end; s++)
      if (*s != '_') *out++ = *s;
    *out = '\0';
    return text;
  }
  bool fraction = false;
  for (; s < end && (is_digit(*s) || *s == '.' || *s == '_'); s++) {
    if (is_digit(*s)) {
      *out++ = *s;
      exponent -= fraction;
    }
    fraction = fraction || *s == '.';
  }
  if (s < end && (*s == 'e' || *s == 'E')) {
    bool minus = s[1] == '-';
    int64_t e = 0;
    for (s += is_digit(s[1]) ? 1 : 2; s < end && is_digit(*s); s++)
      e = e > INT32_MAX ? e : e * 10 + (*s - '0');
    exponent += minus ? -e : e;
  }
  snprintf(out, 32, "e%lld", (long long)exponent);
  return text;
}

hia_number_state hiaF_number(const hia_program *p, const hia_ast *n, bool negative, hia_dtype dtype,
                             hia_word *word) {
  if (dtype == HIA_I32 || dtype == HIA_I64) {
    uint64_t v, limit = dtype == HIA_I32 ? INT32_MAX : INT64_MAX;
    if (!int_magnitude(p, n, &v) || v > limit + (negative ? 1u : 0u)) return HIA_NUMBER_RANGE;
    uint64_t bits = negative ? 0 - v : v;
    *word =
        dtype == HIA_I32 ? hiaR_from_i32((int32_t)(uint32_t)bits) : hiaR_from_i64((int64_t)bits);
    return HIA_NUMBER_OK;
  }
  if (n->kind == HIA_AST_FLOAT && n->a != 0) {
    double special = n->a == HIA_AST_INF ? (double)INFINITY : (double)NAN;
    if (negative) special = -special;
    *word = dtype == HIA_F32 ? hiaR_from_f32((float)special) : hiaR_from_f64(special);
    return HIA_NUMBER_OK;
  }
  const char *text = float_text(p, n);
  if (dtype == HIA_F32) {
    float x = strtof(text, NULL);
    if (isinf(x)) return HIA_NUMBER_LARGE;
    *word = hiaR_from_f32(negative ? -x : x);
  } else {
    double x = strtod(text, NULL);
    if (isinf(x)) return HIA_NUMBER_LARGE;
    *word = hiaR_from_f64(negative ? -x : x);
  }
  return HIA_NUMBER_OK;
}
