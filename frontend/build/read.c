/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* What the host of a builder passes as text: signatures of functions, definitions of types, types,
 * and patterns. Reading stops at the first mistake, which is the builder's. */
#include "frontend/build/build.h"

/* ---- signatures ---- */

static const char *skip_space(const char *at) { return at + strspn(at, " \t\n\r"); }

static _Noreturn void wrong_text(hia_draft *d, const char *at, const char *wanted) {
  if (*at) hiaF_draft_wrong(d, "%s expected at '%s'", wanted, hiaF_draft_shown(d, at, strlen(at)));
  hiaF_draft_wrong(d, "%s expected at the end", wanted);
}

static const char *read_text(hia_draft *d, const char *at, const char *text) {
  at = skip_space(at);
  size_t len = strlen(text);
  if (strncmp(at, text, len) != 0)
    wrong_text(d, at, hiaR_arena_printf(&d->comp->arena, "'%s'", text));
  return at + len;
}

static bool begins_with_capital(const char *text) { return *text >= 'A' && *text <= 'Z'; }

/* "?", "3" or "n" */
static const char *read_size(hia_draft *d, const char *at, hia_dim *dim) {
  at = skip_space(at);
  size_t digits = strspn(at, "0123456789"), len = hiaF_draft_name_length(at);
  hia_word word;
  if (digits && !hiaF_draft_name_length(at + digits)) {
    if (hiaR_read_word(at, at + digits, false, false, HIA_I64, &word) != HIA_NUMBER_OK)
      hiaF_draft_wrong(d, "'%s' does not fit i64", hiaF_draft_shown(d, at, digits));
    *dim = hiaR_to_i64(word);
    return at + digits;
  }
  if (len) {
    *dim = HIA_DIM_NAMED(hiaF_draft_symbol(d, at, len));
    return at + len;
  }
  if (*at != '?') wrong_text(d, at, "a size");
  *dim = HIA_DIM_UNKNOWN;
  return at + 1;
}

/* "[?, 3]" */
static const char *read_axes(hia_draft *d, const char *at, hia_dtype dtype, hia_draft_sized *type) {
  hia_dim *dims = HIA_NEW_ARRAY(&d->comp->arena, hia_dim, HIA_MAX_RANK + 1);
  uint32_t rank = 0;
  bool has_sizes = false;
  do {
    at = skip_space(read_size(d, at + 1, &dims[rank]));
    has_sizes |= dims[rank++] != HIA_DIM_UNKNOWN;
  } while (*at == ',' && rank <= HIA_MAX_RANK);
  if (rank <= HIA_MAX_RANK && *at != ']') wrong_text(d, at, "',' or ']'");
  type->type = hiaF_draft_make_tensor(d, dtype, rank);
  type->dims = has_sizes ? dims : NULL;
  return at + 1;
}

static const char *read_named_type(hia_draft *d, const char *at, hia_draft_sized *type) {
  size_t len = hiaF_draft_name_length(at);
  for (unsigned t = 0; t < HIA_N_DTYPES; t++) {
    const char *name = hiaG_dtype_name((hia_dtype)t);
    if (strlen(name) != len || memcmp(name, at, len) != 0) continue;
    *type = (hia_draft_sized){t, NULL};
    const char *end = skip_space(at + len);
    return *end == '[' ? read_axes(d, end, (hia_dtype)t, type) : at + len;
  }
  if (!begins_with_capital(at)) wrong_text(d, at, "a type");
  hia_symbol_id symbol = hiaF_draft_symbol(d, at, len);
  uint32_t data = d->symbols.list.data[symbol].type;
  if (data == HIA_NONE)
    hiaF_draft_wrong(d, "there is no type '%s': it must be declared first",
                     hiaF_draft_shown(d, at, len));
  *type = (hia_draft_sized){d->datas.data[data].type, NULL};
  return at + len;
}

/* Types nest at most as deep as they have parts. */
static const char *read_type(hia_draft *d, const char *at, uint32_t depth, hia_draft_sized *type) {
  at = skip_space(at);
  if (*at != '(' && *at != '[') return read_named_type(d, at, type);
  if (depth == HIA_MAX_TYPE_PARTS) hiaF_draft_too_large(d);
  if (*at == '[') {
    hia_draft_sized element;
    at = skip_space(read_type(d, at + 1, depth + 1, &element));
    if (*at != ']') wrong_text(d, at, "']'");
    if (element.dims) hiaF_draft_wrong(d, "sizes within arrays are not known: '?' stands for them");
    *type = (hia_draft_sized){hiaF_draft_make_array(d, element.type), NULL};
    return at + 1;
  }
  HIA_VEC(hia_draft_sized) parts = {0};
  do {
    hia_draft_sized part;
    at = skip_space(read_type(d, at + 1, depth + 1, &part));
    if (parts.len <= HIA_MAX_TYPE_PARTS) hiaR_push(&d->comp->arena, &parts, part);
  } while (*at == ',');
  if (*at != ')') wrong_text(d, at, "',' or ')'");
  *type = hiaF_draft_sized_tuple(d, parts.data, parts.len);
  return at + 1;
}

uint64_t hiaF_draft_read_type(hia_draft *d, const char *text) {
  hiaF_draft_doing(d, "read type");
  if (!text) hiaF_draft_wrong(d, "no text");
  hia_draft_sized type;
  const char *at = skip_space(read_type(d, text, 0, &type));
  if (*at) wrong_text(d, at, "nothing more");
  return hiaF_draft_sized_id(d, type);
}

static const char *read_name(hia_draft *d, const char *at, hia_symbol_id *symbol) {
  at = skip_space(at);
  size_t len = hiaF_draft_name_length(at);
  if (len == 0) wrong_text(d, at, "a name");
  *symbol = len == 1 && at[0] == '_' ? HIA_NONE : hiaF_draft_symbol(d, at, len);
  return at + len;
}

/* Skips a keyword with white space behind it; without, it is a name that begins like one. */
static bool skip_word(const char **at, const char *word) {
  const char *behind = *at + strlen(word);
  if (strncmp(*at, word, strlen(word)) != 0 || skip_space(behind) == behind) return false;
  *at = skip_space(behind);
  return true;
}

/* A mistake if a name stands twice in one list. */
static void note_name(hia_draft *d, hia_symbol_id name, const char *what) {
  if (name == HIA_NONE) return;
  if (d->symbols.list.data[name].bound_at == d->stamp)
    hiaF_draft_wrong(d, "two %s are called '%.80s'", what, hiaF_draft_text(d, name));
  d->symbols.list.data[name].bound_at = d->stamp;
}

typedef HIA_VEC(hia_draft_field) fields;

/* Reads parameters or fields, "x: i32, y: f64)", of which there is at least one. */
static const char *read_fields(hia_draft *d, const char *at, const char *what, uint32_t max,
                               fields *out) {
  d->stamp++;
  for (;; at++) {
    hia_draft_field field;
    at = read_name(d, at, &field.symbol);
    note_name(d, field.symbol, what);
    hia_draft_sized type;
    at = skip_space(read_type(d, read_text(d, at, ":"), 0, &type));
    field.type = type.type;
    field.dims = type.dims;
    if (out->len == max) hiaF_draft_wrong(d, "more than %u %s", max, what);
    hiaR_push(&d->comp->arena, out, field);
    if (*at != ',') break;
  }
  if (*at != ')') wrong_text(d, at, "',' or ')'");
  return at + 1;
}

uint64_t hiaF_draft_declare(hia_draft *d, const char *signature) {
  hiaF_draft_doing(d, "declare");
  if (!signature) hiaF_draft_wrong(d, "no signature");
  const char *at = skip_space(signature);
  bool is_extern = skip_word(&at, "extern"), is_impure = is_extern && skip_word(&at, "impure");
  if (!skip_word(&at, "fn") && is_extern) wrong_text(d, at, "'fn'");
  hia_symbol_id symbol;
  at = skip_space(read_name(d, at, &symbol));
  if (symbol == HIA_NONE) hiaF_draft_wrong(d, "'_' is no name");
  d->about = symbol;
  fields params = {0};
  if (*at != '(') wrong_text(d, at, "'('");
  if (*skip_space(at + 1) == ')')
    at = skip_space(at + 1) + 1;
  else
    at = read_fields(d, at + 1, "parameters", HIA_DRAFT_MAX_PARAMS, &params);
  hia_draft_sized result;
  at = skip_space(read_type(d, read_text(d, at, "->"), 0, &result));
  if (*at) wrong_text(d, at, "nothing more");
  hia_draft_sized *types = HIA_NEW_ARRAY(&d->comp->arena, hia_draft_sized, (size_t)params.len + 1);
  for (uint32_t i = 0; i < params.len; i++)
    types[i] = (hia_draft_sized){params.data[i].type, params.data[i].dims};
  uint32_t fn = hiaF_draft_new_fn(d, symbol, types, params.len, result);
  if (is_extern) hiaF_draft_make_extern(d, fn, is_impure);
  uint32_t first = d->fns.data[fn].params;
  for (uint32_t i = 0; i < params.len; i++) d->items.data[first + i].symbol = params.data[i].symbol;
  return hiaF_draft_id(d, fn);
}

/* ---- data types ---- */

/* "Leaf(x: i64, y: f64)" or "Nil" */
static const char *read_ctor(hia_draft *d, const char *at, uint32_t data) {
  hia_symbol_id symbol;
  at = skip_space(read_name(d, at, &symbol));
  if (symbol == HIA_NONE) hiaF_draft_wrong(d, "'_' is no name");
  fields f = {0};
  if (*at == '(') at = read_fields(d, at + 1, "fields", HIA_MAX_CTOR_WORDS, &f);
  hiaF_draft_new_ctor(d, data, symbol, f.data, f.len);
  return skip_space(at);
}

uint64_t hiaF_draft_declare_type(hia_draft *d, const char *definition) {
  hiaF_draft_doing(d, "declare type");
  if (!definition) hiaF_draft_wrong(d, "no definition");
  const char *at = skip_space(definition);
  skip_word(&at, "type");
  hia_symbol_id symbol;
  at = skip_space(read_name(d, at, &symbol));
  if (symbol == HIA_NONE || !begins_with_capital(hiaF_draft_text(d, symbol)))
    hiaF_draft_wrong(d, "'%.80s': the name of a type starts with a capital letter",
                     symbol == HIA_NONE ? "_" : hiaF_draft_text(d, symbol));
  d->about = symbol;
  uint32_t data = d->symbols.list.data[symbol].type;
  if (*at && *at != '=') wrong_text(d, at, "'='");
  if (data != HIA_NONE && (*at == '\0' || d->datas.data[data].ctors.len > 0))
    hiaF_draft_wrong(d, "'%.80s' is declared already", hiaF_draft_text(d, symbol));
  if (data == HIA_NONE) data = hiaF_draft_data_of(d, hiaF_draft_make_data(d, symbol));
  if (*at == '=') {
    at = skip_space(at + 1);
    if (*at != '|') at--;
    do at = read_ctor(d, at + 1, data);
    while (*at == '|');
    if (*at) wrong_text(d, at, "'|'");
  }
  return hiaF_draft_type_id(d, d->datas.data[data].type);
}

/* ---- params of the program ---- */

/* Reads a number of the initialiser, "-1.5e-3", at the dtype. */
static const char *read_float(hia_draft *d, const char *at, hia_dtype dtype, double *out) {
  const char *start = at;
  bool is_negative = *at == '-';
  if (is_negative) at = skip_space(at + 1);
  const char *digits = at;
  at += strspn(at, "0123456789");
  if (at > digits && *at == '.') {
    size_t more = strspn(at + 1, "0123456789");
    if (more == 0) wrong_text(d, start, "a number");
    at += 1 + more;
  }
  if (at > digits && *at == 'e') {
    const char *exponent = at + 1 + (at[1] == '-' || at[1] == '+');
    size_t more = strspn(exponent, "0123456789");
    if (more == 0) wrong_text(d, start, "a number");
    at = exponent + more;
  }
  if (at == digits || hiaF_draft_name_length(at)) wrong_text(d, start, "a number");
  hia_word word;
  if (hiaR_read_word(digits, at, false, is_negative, dtype, &word) != HIA_NUMBER_OK)
    hiaF_draft_wrong(d, "'%s' does not fit %s", hiaF_draft_shown(d, start, (size_t)(at - start)),
                     hiaG_dtype_name(dtype));
  *out = dtype == HIA_F32 ? (double)hiaR_to_f32(word) : hiaR_to_f64(word);
  return skip_space(at);
}

/* "glorot_uniform()", "normal(0, 0.1)" or "0.5" */
static const char *read_initialiser(hia_draft *d, const char *at, hia_param_spec *spec) {
  size_t len = hiaF_draft_name_length(at);
  if (len == 0) return read_float(d, at, spec->dtype, &spec->a);
  const char *name = hiaR_arena_strndup(&d->comp->arena, at, len);
  uint32_t arity;
  if (!hiaF_initialiser(name, &spec->init, &arity)) wrong_text(d, at, "an initialiser");
  if (strcmp(name, "ones") == 0) spec->a = 1;
  at = skip_space(read_text(d, at + len, "("));
  for (uint32_t i = 0; i < arity; i++) {
    if (i) at = skip_space(read_text(d, at, ","));
    at = read_float(d, at, spec->dtype, i ? &spec->b : &spec->a);
  }
  return skip_space(read_text(d, at, ")"));
}

/* Checks the type of a param: floats, and sizes that are numbers. */
static void take_type(hia_draft *d, hia_draft_sized type, hia_param_spec *spec) {
  spec->dtype = hiaF_draft_dtype(d, type.type);
  if (spec->dtype != HIA_F32 && spec->dtype != HIA_F64)
    hiaF_draft_wrong(d, "a param is a scalar or tensor of f32 or f64, not %s",
                     hiaF_draft_type_text(d, type.type));
  spec->shape.rank = hiaF_draft_rank(d, type.type);
  for (uint32_t i = 0; i < spec->shape.rank; i++) {
    if (!type.dims || !hiaR_dim_is_number(type.dims[i]))
      hiaF_draft_wrong(d, "the sizes of a param are numbers");
    spec->shape.dims[i] = type.dims[i];
  }
  if (!hiaR_param_is_sound(spec))
    hiaF_draft_wrong(d, "a tensor of more elements than fit in memory");
}

uint64_t hiaF_draft_declare_param(hia_draft *d, const char *definition) {
  hiaF_draft_doing(d, "declare param");
  if (!definition) hiaF_draft_wrong(d, "no definition");
  const char *at = skip_space(definition);
  skip_word(&at, "param");
  hia_symbol_id symbol;
  at = read_name(d, at, &symbol);
  if (symbol == HIA_NONE) hiaF_draft_wrong(d, "'_' is no name");
  d->about = symbol;
  hia_draft_sized type;
  hia_param_spec spec = {0};
  at = read_type(d, read_text(d, at, ":"), 0, &type);
  take_type(d, type, &spec);
  at = read_initialiser(d, skip_space(read_text(d, at, "=")), &spec);
  if (*at) wrong_text(d, at, "nothing more");
  if (!hiaR_param_is_sound(&spec))
    hiaF_draft_wrong(d, spec.init == HIA_INIT_NORMAL ? "normal(mean, std): std is at least 0"
                                                     : "uniform(lo, hi): lo is at most hi, and "
                                                       "not infinitely far");
  return hiaF_draft_id(d, hiaF_draft_new_weight(d, symbol, &spec));
}

/* ---- patterns ---- */

typedef struct reading {
  hia_draft *d;
  uint32_t n; /* patterns so far */
} reading;

static const char *read_pattern(reading *r, const char *at, const char *what, hia_type type,
                                uint32_t depth, uint32_t *pattern);

/* "5", "-1", "0xff", "7i64": an integer as the language writes it. */
static const char *read_number(hia_draft *d, const char *at, const char *what, hia_type type,
                               uint32_t *pattern) {
  static const char decimal[] = "0123456789_", hex[] = "0123456789abcdefABCDEF_";
  const char *start = at;
  bool is_negative = *at == '-';
  if (is_negative) at = skip_space(at + 1);
  bool is_hex = at[0] == '0' && at[1] == 'x';
  const char *digits = is_hex ? at + 2 : at, *end = digits + strspn(digits, is_hex ? hex : decimal);
  bool is_i32 = strncmp(end, "i32", 3) == 0, is_i64 = strncmp(end, "i64", 3) == 0;
  at = is_i32 || is_i64 ? end + 3 : end;
  if (end == digits || *digits == '_' || hiaF_draft_name_length(at))
    wrong_text(d, start, "a pattern");
  const char *shown = hiaF_draft_shown(d, start, (size_t)(at - start));
  if ((type != HIA_I32 && type != HIA_I64) || (is_i32 && type != HIA_I32) ||
      (is_i64 && type != HIA_I64))
    hiaF_draft_wrong(d, "%s is of type %s, and '%s' is a pattern for %s", what,
                     hiaF_draft_type_text(d, type), shown,
                     is_i32   ? "i32"
                     : is_i64 ? "i64"
                              : "integers");
  hia_word word;
  if (hiaR_read_word(digits, end, is_hex, is_negative, (hia_dtype)type, &word) != HIA_NUMBER_OK)
    hiaF_draft_wrong(d, "'%s' does not fit %s", shown, hiaG_dtype_name((hia_dtype)type));
  *pattern = hiaF_draft_new_number(d, type, word);
  return at;
}

static const char *read_ctor_pattern(reading *r, const char *at, size_t len, const char *what,
                                     hia_type type, uint32_t depth, uint32_t *pattern) {
  hia_draft *d = r->d;
  hia_symbol_id symbol = hiaF_draft_symbol(d, at, len);
  uint32_t ctor = hiaF_draft_ctor_named(d, symbol), n = 0;
  if (ctor == HIA_NONE)
    hiaF_draft_wrong(d, "there is no constructor '%s'", hiaF_draft_shown(d, at, len));
  const hia_draft_ctor *c = &d->ctors.data[ctor];
  uint32_t *parts = HIA_NEW_ARRAY(&d->comp->arena, uint32_t, (size_t)c->n + 1);
  uint32_t n_fields = c->n, first = c->fields;
  if (d->datas.data[c->data].type != type)
    hiaF_draft_wrong(d, "%s is of type %s, and '%s' is a pattern for %s", what,
                     hiaF_draft_type_text(d, type), hiaF_draft_text(d, symbol),
                     hiaF_draft_type_text(d, d->datas.data[c->data].type));
  at = skip_space(at + len);
  if (*at == '(') {
    do {
      if (n == n_fields)
        hiaF_draft_wrong(d, "'%s' has %u field%s, and the pattern more", hiaF_draft_text(d, symbol),
                         n_fields, n_fields == 1 ? "" : "s");
      const char *field =
          hiaR_arena_printf(&d->comp->arena, "field %u of '%s'", n + 1, hiaF_draft_text(d, symbol));
      at = skip_space(
          read_pattern(r, at + 1, field, d->fields.data[first + n].type, depth + 1, &parts[n]));
      n++;
    } while (*at == ',');
    if (*at != ')') wrong_text(d, at, "',' or ')'");
    at++;
  }
  if (n != n_fields)
    hiaF_draft_wrong(d, "'%s' has %u field%s, and the pattern %u", hiaF_draft_text(d, symbol),
                     n_fields, n_fields == 1 ? "" : "s", n);
  *pattern = hiaF_draft_new_ctor_pattern(d, ctor, parts);
  return at;
}

static const char *read_pattern(reading *r, const char *at, const char *what, hia_type type,
                                uint32_t depth, uint32_t *pattern) {
  hia_draft *d = r->d;
  at = skip_space(at);
  size_t len = hiaF_draft_name_length(at);
  if (depth == HIA_DRAFT_MAX_PATTERN_DEPTH)
    hiaF_draft_wrong(d, "patterns nest more than %u deep", HIA_DRAFT_MAX_PATTERN_DEPTH);
  if (r->n++ == HIA_DRAFT_MAX_PATTERN)
    hiaF_draft_wrong(d, "a pattern of more than %u patterns", HIA_DRAFT_MAX_PATTERN);
  if (len == 0) return read_number(d, at, what, type, pattern);
  if (begins_with_capital(at)) return read_ctor_pattern(r, at, len, what, type, depth, pattern);
  bool is_true = len == 4 && memcmp(at, "true", 4) == 0;
  if (is_true || (len == 5 && memcmp(at, "false", 5) == 0)) {
    if (type != HIA_BOOL)
      hiaF_draft_wrong(d, "%s is of type %s, and '%s' is a pattern for bool", what,
                       hiaF_draft_type_text(d, type), is_true ? "true" : "false");
    *pattern = hiaF_draft_new_number(d, type, hiaR_from_bool(is_true));
    return at + len;
  }
  hia_symbol_id symbol;
  at = read_name(d, at, &symbol);
  note_name(d, symbol, "names in the pattern");
  *pattern = symbol == HIA_NONE ? hiaF_draft_new_any(d) : hiaF_draft_new_bind(d, symbol);
  return at;
}

void hiaF_draft_arm(hia_draft *d, const char *text, uint64_t *bound, size_t n) {
  hiaF_draft_doing(d, "arm");
  hia_type subject = hiaF_draft_subject(d);
  if (!text) hiaF_draft_wrong(d, "no pattern");
  d->stamp++;
  reading r = {.d = d};
  uint32_t pattern;
  const char *at = skip_space(read_pattern(&r, text, "the subject", subject, 0, &pattern));
  if (*at) wrong_text(d, at, "nothing more");
  hiaF_draft_begin_arm(d, pattern, bound, n);
}
