/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Values: scalars and tuples, as their words and their type in prefix order. A value belongs to no
 * module, so the same value can be passed to functions of several modules. */
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

/* Walks the codes in order; for each open tuple it counts the parts that are left. */
static void print(const hia_value *value, bool only_type, hia_text *text) {
  uint32_t left[HIA_MAX_WORDS], n_open = 0;
  const hia_word *word = value->words;
  for (const hia_type_code *code = value->codes;; code++) {
    if (*code >= HIA_CODE_TUPLE) {
      hiaR_text_add(text, "(", 1);
      left[n_open++] = *code - HIA_CODE_TUPLE;
      continue;
    }
    hia_dtype dtype = (hia_dtype)*code;
    char buf[64];
    size_t len = only_type ? 0 : hiaR_print_word(buf, sizeof buf, dtype, *word++);
    if (only_type)
      hiaR_text_addf(text, "%s", hiaG_dtype_name(dtype));
    else
      hiaR_text_add(text, buf, len);
    for (; n_open && --left[n_open - 1] == 0; n_open--) hiaR_text_add(text, ")", 1);
    if (!n_open) return;
    hiaR_text_add(text, ", ", 2);
  }
}

static size_t format(const hia_value *value, char *buf, size_t size, bool only_type) {
  if (size && buf) buf[0] = 0;
  if (!value) return 0;
  hia_comp comp;
  volatile size_t len = 0;
  hiaR_comp_init(&comp, &value->allocator);
  if (HIA_TRY(&comp)) {
    hia_text text;
    hiaR_text_init(&text, &comp.arena);
    print(value, only_type, &text);
    len = text.len;
    if (size && buf) {
      size_t n = text.len < size ? text.len : size - 1;
      memcpy(buf, text.data, n);
      buf[n] = 0;
    }
  }
  comp.armed = false;
  hiaR_comp_free(&comp);
  return len;
}

size_t hia_value_format(const hia_value *value, char *buf, size_t size) {
  return format(value, buf, size, false);
}
size_t hia_value_format_type(const hia_value *value, char *buf, size_t size) {
  return format(value, buf, size, true);
}
