/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Values: scalars and tuples, as their words and their type in prefix order. A value belongs to no
 * module, so the same value can be passed to functions of several modules. */
#include "runtime/value/value.h"
#include "jit/engine/engine.h"

hia_value *hiaJ_value_new(const hia_allocator *allocator, const hia_type_code *codes,
                          uint32_t n_codes, const hia_word *words, uint32_t n_words) {
  size_t size = sizeof(hia_value) + n_words * sizeof(hia_word) + n_codes * sizeof(hia_type_code);
  hia_value *value = hiaR_alloc(allocator, size);
  if (!value) return NULL;
  value->allocator = *allocator;
  value->size = size;
  value->n_words = n_words;
  value->n_codes = n_codes;
  value->words = (hia_word *)(value + 1);
  value->codes = (hia_type_code *)(value->words + n_words);
  memcpy(value->words, words, n_words * sizeof *words);
  memcpy(value->codes, codes, n_codes * sizeof *codes);
  return value;
}
_Static_assert(sizeof(hia_value) % sizeof(hia_word) == 0, "words follow the header");

void hia_value_free(hia_value *value) {
  if (!value) return;
  hia_allocator allocator = value->allocator;
  hiaR_free(&allocator, value, value->size);
}

/* ---- making ---- */

static hia_value *scalar(hia_engine *engine, hia_dtype dtype, hia_word word) {
  hia_type_code code = (hia_type_code)dtype;
  return engine ? hiaJ_value_new(&engine->allocator, &code, 1, &word, 1) : NULL;
}

hia_value *hia_value_bool(hia_engine *engine, bool x) {
  return scalar(engine, HIA_BOOL, hiaR_from_bool(x));
}
hia_value *hia_value_i32(hia_engine *engine, int32_t x) {
  return scalar(engine, HIA_I32, hiaR_from_i32(x));
}
hia_value *hia_value_i64(hia_engine *engine, int64_t x) {
  return scalar(engine, HIA_I64, hiaR_from_i64(x));
}
hia_value *hia_value_f32(hia_engine *engine, float x) {
  return scalar(engine, HIA_F32, hiaR_from_f32(x));
}
hia_value *hia_value_f64(hia_engine *engine, double x) {
  return scalar(engine, HIA_F64, hiaR_from_f64(x));
}

hia_value *hia_value_tuple(hia_engine *engine, hia_value *const *parts, size_t n) {
  if (!engine || !parts || n < 2 || n > HIA_MAX_WORDS) return NULL;
  size_t n_words = 0;
  for (size_t i = 0; i < n; i++) {
    if (!parts[i]) return NULL;
    n_words += parts[i]->n_words;
  }
  if (n_words > HIA_MAX_WORDS) return NULL;
  hia_word words[HIA_MAX_WORDS];
  hia_type_code
      codes[2 * HIA_MAX_WORDS]; /* at most twice the words: a tuple has at least two parts */
  uint32_t word = 0, code = 0;
  codes[code++] = HIA_CODE_TUPLE + (hia_type_code)n;
  for (size_t i = 0; i < n; i++) {
    memcpy(words + word, parts[i]->words, parts[i]->n_words * sizeof *words);
    memcpy(codes + code, parts[i]->codes, parts[i]->n_codes * sizeof *codes);
    word += parts[i]->n_words;
    code += parts[i]->n_codes;
  }
  return hiaJ_value_new(&engine->allocator, codes, code, words, word);
}

/* ---- types and codes ---- */

hia_type hiaJ_type_of_codes(hia_types *types, const hia_type_code **codes) {
  hia_type_code code = *(*codes)++;
  if (code < HIA_CODE_TUPLE) return code;
  uint32_t n = code - HIA_CODE_TUPLE;
  hia_type *parts = HIA_NEW_ARRAY(&types->comp->scratch, hia_type, n);
  for (uint32_t i = 0; i < n; i++) parts[i] = hiaJ_type_of_codes(types, codes);
  return hiaG_tuple(types, parts, n);
}

void hiaJ_codes_of_type(const hia_types *types, hia_type type, hia_arena *arena, hia_codes *codes) {
  if (hiaG_is_scalar(type)) {
    hiaR_push(arena, codes, type);
    return;
  }
  hia_type_kind kind = hiaG_type_kind(types, type);
  if (kind != HIA_KIND_TUPLE) {
    hiaR_push(arena, codes, HIA_CODE_REFERENCE + kind);
    return;
  }
  uint32_t n = hiaG_tuple_len(types, type);
  hiaR_push(arena, codes, HIA_CODE_TUPLE + n);
  for (uint32_t i = 0; i < n; i++)
    hiaJ_codes_of_type(types, hiaG_tuple_part(types, type, i), arena, codes);
}

/* Skips one type; adds its scalars to *n_words. */
static const hia_type_code *skip(const hia_type_code *codes, uint32_t *n_words) {
  for (uint32_t missing = 1; missing; missing--) {
    hia_type_code code = *codes++;
    if (code < HIA_CODE_TUPLE)
      ++*n_words;
    else
      missing += code - HIA_CODE_TUPLE;
  }
  return codes;
}

/* ---- reading ---- */

static bool is_scalar(const hia_value *value, hia_dtype dtype) {
  return value && value->codes[0] == (hia_type_code)dtype;
}

#define GET(name, dtype, type, zero)                                                               \
  hia_status hia_value_get_##name(const hia_value *value, type *x) {                               \
    if (!x) return HIA_ARGUMENT;                                                                   \
    bool fits = is_scalar(value, dtype);                                                           \
    *x = fits ? hiaR_to_##name(value->words[0]) : zero;                                            \
    return fits ? HIA_OK : HIA_ARGUMENT;                                                           \
  }
GET(bool, HIA_BOOL, bool, false)
GET(i32, HIA_I32, int32_t, 0)
GET(i64, HIA_I64, int64_t, 0)
GET(f32, HIA_F32, float, 0)
GET(f64, HIA_F64, double, 0)
#undef GET

size_t hia_value_len(const hia_value *value) {
  return value && value->codes[0] >= HIA_CODE_TUPLE ? value->codes[0] - HIA_CODE_TUPLE : 0;
}

hia_value *hia_value_part(const hia_value *value, size_t i) {
  if (i >= hia_value_len(value)) return NULL;
  const hia_type_code *codes = value->codes + 1;
  uint32_t word = 0;
  for (size_t k = 0; k < i; k++) codes = skip(codes, &word);
  uint32_t n_words = 0;
  const hia_type_code *end = skip(codes, &n_words);
  return hiaJ_value_new(&value->allocator, codes, (uint32_t)(end - codes), value->words + word,
                        n_words);
}

hia_status hia_value_dtype(const hia_value *value, hia_dtype *dtype) {
  if (!dtype) return HIA_ARGUMENT;
  bool fits = value && value->codes[0] < HIA_CODE_TUPLE;
  *dtype = fits ? (hia_dtype)value->codes[0] : HIA_BOOL;
  return fits ? HIA_OK : HIA_ARGUMENT;
}

/* ---- printing ---- */

/* The type's codes as a signature, which takes at most two characters for each. */
static size_t signature_of(const hia_value *value, char *signature) {
  uint32_t left[HIA_MAX_WORDS], n_open = 0; /* parts that open tuples still lack */
  size_t len = 0;
  for (uint32_t i = 0; i < value->n_codes; i++) {
    hia_type_code code = value->codes[i];
    bool is_tuple = code >= HIA_CODE_TUPLE;
    signature[len++] = is_tuple ? '(' : hiaR_reprs[code].code;
    if (is_tuple) left[n_open++] = code - HIA_CODE_TUPLE;
    while (!is_tuple && n_open && --left[n_open - 1] == 0) {
      signature[len++] = ')';
      n_open--;
    }
  }
  return len;
}

/* What a caller's buffer has room for, and the length of the whole. */
typedef struct copied {
  char *buf;
  size_t size, len;
} copied;

static bool copy_bytes(void *user, const char *bytes, size_t n) {
  copied *c = user;
  size_t room = c->len < c->size ? c->size - c->len : 0;
  if (room) memcpy(c->buf + c->len, bytes, n < room ? n : room);
  c->len += n;
  return true;
}

static hia_status print(const hia_value *value, const hia_signature *signature, bool only_type,
                        copied *out) {
  const hia_sink sink = {copy_bytes, out};
  const hia_allocator *allocator = &value->allocator;
  if (!only_type)
    return hiaR_value_print(&signature->types, signature->parts[0], value->words, allocator,
                            UINT64_MAX, &sink, NULL);
  size_t size = (size_t)value->n_codes * 8 + 8; /* "bool, " or "(, )" for each */
  char *text = allocator->alloc(allocator->user, size);
  if (!text) return HIA_MEMORY;
  copy_bytes(out, text, hiaR_type_text(&signature->types, signature->parts[0], text, size));
  hiaR_free(allocator, text, size);
  return HIA_OK;
}

static size_t format(const hia_value *value, char *buf, size_t size, bool only_type) {
  if (!buf) size = 0;
  if (size) buf[0] = 0;
  if (!value) return 0;
  char text[4 * HIA_MAX_WORDS];
  hia_signature signature;
  hia_status status =
      hiaR_signature_read(&signature, &value->allocator, text, signature_of(value, text));
  if (status) return 0;
  copied out = {buf, size ? size - 1 : 0, 0};
  status = print(value, &signature, only_type, &out);
  hiaR_signature_free(&signature);
  if (status) out.len = 0;
  if (size) buf[out.len < size ? out.len : size - 1] = 0;
  return out.len;
}

size_t hia_value_format(const hia_value *value, char *buf, size_t size) {
  return format(value, buf, size, false);
}
size_t hia_value_format_type(const hia_value *value, char *buf, size_t size) {
  return format(value, buf, size, true);
}
