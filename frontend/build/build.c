/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Drafts: programs made by calls, checked call by call. See build.h. */
#include "frontend/build/build.h"

#include <inttypes.h>
#include <stdio.h>

/* How deep values nest that are printed inside the expression that uses them. Enough for
 * `x * f(n - 1)`, and few enough to read. */
#define MAX_INNER 3u
/* Bytes of a name suggested by the host; the rest is cut off. */
#define MAX_NAME 200u
/* Bytes of the host's text in a message. */
#define MAX_SHOWN 60u

const char *hiaF_draft_text(const hia_draft *d, hia_symbol_id symbol) {
  return d->symbols.list.data[symbol].text;
}

static const char *fn_name(const hia_draft *d, uint32_t fn) {
  return hiaF_draft_text(d, d->fns.data[fn].symbol);
}

/* ---- mistakes ---- */

_Noreturn void hiaF_draft_wrong(hia_draft *d, const char *fmt, ...) {
  char where[320] = "", message[480];
  int n = 0;
  if (d->fn != HIA_NONE) n = snprintf(where, sizeof where, "in '%.80s': ", fn_name(d, d->fn));
  n += snprintf(where + n, sizeof where - (size_t)n, "%s", d->doing);
  if (d->about != HIA_NONE)
    snprintf(where + n, sizeof where - (size_t)n, " of '%.80s'", hiaF_draft_text(d, d->about));
  va_list args;
  va_start(args, fmt);
  vsnprintf(message, sizeof message, fmt, args);
  va_end(args);
  hiaR_throw(d->comp, HIA_ARGUMENT, "%s: %s", where, message);
}

/* A type as messages show it: a long one is cut. */
const char *hiaF_draft_type_text(hia_draft *d, hia_type type) {
  hia_text text;
  hiaR_text_init(&text, &d->comp->arena);
  hiaG_type_print(&d->types, type, &text);
  if (text.len > 100) memcpy(text.data + 100, "...", 4);
  return text.data;
}

/* Text of the host as messages show it: its beginning, without unprintable bytes. */
const char *hiaF_draft_shown(hia_draft *d, const char *text, size_t len) {
  hia_text out;
  hiaR_text_init(&out, &d->comp->arena);
  hiaR_text_add(&out, "", 0);
  hiaR_show(&out, text, len < MAX_SHOWN ? len : MAX_SHOWN);
  return out.data;
}

void hiaF_draft_doing(hia_draft *d, const char *what) {
  d->doing = what;
  d->about = HIA_NONE;
}

void hiaF_draft_need_body(hia_draft *d) {
  if (d->fn == HIA_NONE) hiaF_draft_wrong(d, "no function has begun");
}

void hiaF_draft_need_block(hia_draft *d) {
  hiaF_draft_need_body(d);
  const hia_draft_open *open = hiaF_draft_top(d);
  if (open->item != HIA_NONE && d->items.data[open->item].kind == HIA_DRAFT_MATCH &&
      !open->is_second)
    hiaF_draft_wrong(d, "a match is open: an arm must begin first");
}

/* ---- ids ---- */

static bool is_own(const hia_draft *d, uint64_t id) { return id >> 32 == d->tag; }

_Noreturn void hiaF_draft_wrong_value(hia_draft *d, hia_draft_role r, const char *why) {
  if (r.number) hiaF_draft_wrong(d, "%s %u %s", r.what, r.number, why);
  hiaF_draft_wrong(d, "%s %s", r.what, why);
}

uint32_t hiaF_draft_index(hia_draft *d, hia_draft_role r, uint64_t id, uint32_t n,
                          const char *what) {
  const char *wrong = id != 0 && !is_own(d, id) ? "is another builder's"
                      : (uint32_t)id - 1 < n    ? NULL
                                                : what;
  if (id == 0) wrong = what;
  if (wrong) hiaF_draft_wrong_value(d, r, wrong);
  return (uint32_t)id - 1;
}

bool hiaF_draft_is_constant(const hia_draft_item *item) {
  return item->kind == HIA_DRAFT_CONST || item->kind == HIA_DRAFT_WEIGHT ||
         (item->kind == HIA_DRAFT_DATA && item->n_ins == 0);
}

uint32_t hiaF_draft_any_value(hia_draft *d, hia_draft_role r, uint64_t id) {
  if (id == 0) hiaF_draft_wrong_value(d, r, "is no value");
  if (!is_own(d, id)) hiaF_draft_wrong_value(d, r, "is a value of another builder");
  uint32_t index = (uint32_t)id - 1;
  if (index >= d->items.len || !d->items.data[index].is_value)
    hiaF_draft_wrong_value(d, r, "is no value");
  return index;
}

uint32_t hiaF_draft_value(hia_draft *d, hia_draft_role r, uint64_t id) {
  uint32_t index = hiaF_draft_any_value(d, r, id);
  const hia_draft_item *item = &d->items.data[index];
  if (hiaF_draft_is_constant(item)) return index;
  const hia_draft_block *block = &d->blocks.data[item->block];
  if (block->fn != d->fn)
    hiaF_draft_wrong_value(d, r,
                           hiaR_arena_printf(&d->comp->arena, "is a value of the function '%.80s'",
                                             fn_name(d, block->fn)));
  if (!block->is_open)
    hiaF_draft_wrong_value(d, r, "is out of scope: the block that it was made in has ended");
  return index;
}

uint32_t hiaF_draft_typed_value(hia_draft *d, hia_draft_role r, uint64_t id, hia_type type) {
  uint32_t index = hiaF_draft_value(d, r, id);
  if (hiaF_draft_type_at(d, index) == type) return index;
  const char *have = hiaF_draft_type_text(d, hiaF_draft_type_at(d, index)),
             *want = hiaF_draft_type_text(d, type);
  hiaF_draft_wrong_value(d, r,
                         hiaR_arena_printf(&d->comp->arena, "is of type %s, not %s", have, want));
}

uint32_t hiaF_draft_fn(hia_draft *d, uint64_t id) {
  if (id == 0) hiaF_draft_wrong(d, "this is no function");
  if (!is_own(d, id)) hiaF_draft_wrong(d, "the function is another builder's");
  uint32_t index = (uint32_t)id - 1;
  if (index >= d->fns.len) hiaF_draft_wrong(d, "this is no function");
  return index;
}

hia_draft_sized hiaF_draft_own_sized(hia_draft *d, uint64_t id, hia_draft_role r) {
  uint32_t low = (uint32_t)id, sized = low & ~HIA_DRAFT_IS_SIZED;
  if (id < HIA_N_DTYPES) return (hia_draft_sized){(hia_type)id, NULL};
  if (is_own(d, id) && (low & HIA_DRAFT_IS_SIZED) && sized < d->sized.len)
    return d->sized.data[sized];
  if (is_own(d, id) && !hiaG_is_scalar(low) && hiaG_type_exists(&d->types, low))
    return (hia_draft_sized){low, NULL};
  bool foreign = id >> 32 != 0 && id != UINT64_MAX && !is_own(d, id);
  hiaF_draft_wrong_value(d, r, foreign ? "is another builder's" : "is no type");
}

hia_type hiaF_draft_own_type(hia_draft *d, uint64_t id, hia_draft_role r) {
  return hiaF_draft_own_sized(d, id, r).type;
}

uint64_t hiaF_draft_type_id(const hia_draft *d, hia_type type) {
  return hiaG_is_scalar(type) ? type : (uint64_t)d->tag << 32 | type;
}

uint64_t hiaF_draft_sized_id(hia_draft *d, hia_draft_sized sized) {
  if (!sized.dims) return hiaF_draft_type_id(d, sized.type);
  if (d->sized.len == HIA_NONE / 4) hiaF_draft_wrong(d, "too large a program");
  hiaR_push(&d->comp->arena, &d->sized, sized);
  return (uint64_t)d->tag << 32 | HIA_DRAFT_IS_SIZED | (d->sized.len - 1);
}

/* ---- types ---- */

hia_draft *hiaF_draft_new(hia_comp *comp, uint32_t tag) {
  hia_draft *d = HIA_NEW(&comp->arena, hia_draft);
  *d = (hia_draft){.comp = comp, .tag = tag, .fn = HIA_NONE, .doing = "", .about = HIA_NONE};
  hiaG_types_init(&d->types, comp);
  hiaF_symbols_init(&d->symbols, &comp->arena);
  const char *name;
  for (uint32_t i = 0; (name = hiaF_builtin_name(i)) != NULL; i++) {
    hia_symbol_id symbol = hiaF_intern(&d->symbols, name, (uint32_t)strlen(name));
    d->symbols.list.data[symbol].decl = HIA_DRAFT_BUILTIN;
  }
  return d;
}

/* Notes what is known of a type that may be new. */
static void note_type(hia_draft *d, hia_type type, hia_draft_type what) {
  if (type - HIA_FIRST_TYPE == d->of_types.len) hiaR_push(&d->comp->arena, &d->of_types, what);
}

uint32_t hiaF_draft_parts(const hia_draft *d, hia_type type) {
  return hiaG_is_scalar(type) ? 1 : d->of_types.data[type - HIA_FIRST_TYPE].n_parts;
}

uint32_t hiaF_draft_n_dims(const hia_draft *d, hia_type type) {
  return hiaG_is_scalar(type) ? 0 : d->of_types.data[type - HIA_FIRST_TYPE].n_dims;
}

uint32_t hiaF_draft_data_of(const hia_draft *d, hia_type type) {
  return hiaG_is_scalar(type) ? HIA_NONE : d->of_types.data[type - HIA_FIRST_TYPE].data;
}

_Noreturn void hiaF_draft_too_large(hia_draft *d) {
  hiaF_draft_wrong(d, "the type has more than %u scalars, data and arrays in it",
                   HIA_MAX_TYPE_PARTS);
}

hia_type hiaF_draft_make_tuple(hia_draft *d, const hia_type *parts, size_t n) {
  if (n < 2) hiaF_draft_wrong(d, "a tuple has two parts or more, not %zu", n);
  uint32_t n_parts = 0, n_dims = 0;
  for (size_t i = 0; i < n && n_parts <= HIA_MAX_TYPE_PARTS; i++) {
    n_parts += hiaF_draft_parts(d, parts[i]);
    n_dims += hiaF_draft_n_dims(d, parts[i]);
  }
  if (n_parts > HIA_MAX_TYPE_PARTS) hiaF_draft_too_large(d);
  hia_type type = hiaG_tuple(&d->types, parts, (uint32_t)n);
  note_type(d, type, (hia_draft_type){n_parts, HIA_NONE, n_dims});
  return type;
}

hia_type hiaF_draft_make_array(hia_draft *d, hia_type element) {
  if (hiaG_is_scalar(element))
    hiaF_draft_wrong(d, "an array of %s: scalars in a row are a tensor",
                     hiaF_draft_type_text(d, element));
  if (hiaG_type_kind(&d->types, element) == HIA_KIND_TENSOR)
    hiaF_draft_wrong(d, "an array of %s: tensors in a row are a tensor with one more axis",
                     hiaF_draft_type_text(d, element));
  uint32_t n_parts = hiaF_draft_parts(d, element) + 1; /* so nested arrays have an end, too */
  if (n_parts > HIA_MAX_TYPE_PARTS) hiaF_draft_too_large(d);
  hia_type type = hiaG_array(&d->types, element);
  note_type(d, type, (hia_draft_type){n_parts, HIA_NONE, hiaF_draft_n_dims(d, element)});
  return type;
}

hia_type hiaF_draft_make_tensor(hia_draft *d, hia_dtype dtype, uint32_t rank) {
  if (rank < 1 || rank > HIA_MAX_RANK)
    hiaF_draft_wrong(d, "a tensor has from 1 to %d axes, not %u", HIA_MAX_RANK, rank);
  hia_type type = hiaG_tensor(&d->types, dtype, rank);
  note_type(d, type, (hia_draft_type){1, HIA_NONE, rank});
  return type;
}

hia_type hiaF_draft_make_ranked(hia_draft *d, hia_dtype dtype, uint32_t rank) {
  return rank ? hiaF_draft_make_tensor(d, dtype, rank) : (hia_type)dtype;
}

hia_type hiaF_draft_make_data(hia_draft *d, hia_symbol_id symbol) {
  hia_type type = hiaG_data(&d->types, hiaF_draft_text(d, symbol));
  note_type(d, type, (hia_draft_type){1, d->datas.len, 0});
  d->symbols.list.data[symbol].type = d->datas.len;
  hiaR_push(&d->comp->arena, &d->datas, (hia_draft_data){.symbol = symbol, .type = type});
  return type;
}

/* Checks no part beyond the number of scalars that a type may have: if the host passed a wrong
 * number, `parts` ends earlier. */
static void check_parts(hia_draft *d, const uint64_t *parts, size_t n) {
  if (n > HIA_MAX_TYPE_PARTS) hiaF_draft_too_large(d);
  if (n && !parts) hiaF_draft_wrong(d, "no parts");
}

uint64_t hiaF_draft_tuple_type(hia_draft *d, const uint64_t *parts, size_t n) {
  hiaF_draft_doing(d, "tuple type");
  check_parts(d, parts, n);
  hia_draft_sized *sized = HIA_NEW_ARRAY(&d->comp->arena, hia_draft_sized, n + 1);
  for (size_t i = 0; i < n; i++)
    sized[i] = hiaF_draft_own_sized(d, parts[i], (hia_draft_role){"part", (uint32_t)i + 1});
  return hiaF_draft_sized_id(d, hiaF_draft_sized_tuple(d, sized, n));
}

uint64_t hiaF_draft_array_type(hia_draft *d, uint64_t element) {
  hiaF_draft_doing(d, "array type");
  hia_draft_sized sized = hiaF_draft_own_sized(d, element, (hia_draft_role){"the element", 0});
  if (sized.dims) hiaF_draft_wrong(d, "the element has sizes: within arrays they are not known");
  return hiaF_draft_type_id(d, hiaF_draft_make_array(d, sized.type));
}

uint64_t hiaF_draft_tensor_type(hia_draft *d, unsigned dtype, uint32_t rank) {
  hiaF_draft_doing(d, "tensor type");
  if (dtype >= HIA_N_DTYPES) hiaF_draft_wrong(d, "%u is no dtype", dtype);
  return hiaF_draft_type_id(d, hiaF_draft_make_tensor(d, (hia_dtype)dtype, rank));
}

uint64_t hiaF_draft_sized_type(hia_draft *d, unsigned dtype, const int64_t *sizes, uint32_t rank) {
  hiaF_draft_doing(d, "sized type");
  if (dtype >= HIA_N_DTYPES) hiaF_draft_wrong(d, "%u is no dtype", dtype);
  hia_draft_sized sized = {hiaF_draft_make_tensor(d, (hia_dtype)dtype, rank), NULL};
  if (!sizes) hiaF_draft_wrong(d, "no sizes");
  hia_dim *dims = HIA_NEW_ARRAY(&d->comp->arena, hia_dim, rank);
  for (uint32_t i = 0; i < rank; i++) {
    if (sizes[i] < HIA_DIM_UNKNOWN) hiaF_draft_wrong(d, "size %u is %" PRId64, i + 1, sizes[i]);
    dims[i] = sizes[i];
    if (dims[i] != HIA_DIM_UNKNOWN) sized.dims = dims;
  }
  return hiaF_draft_sized_id(d, sized);
}

uint64_t hiaF_draft_type_of(hia_draft *d, uint64_t value) {
  hiaF_draft_doing(d, "type of");
  return hiaF_draft_type_id(
      d, hiaF_draft_type_at(d, hiaF_draft_any_value(d, (hia_draft_role){"the value", 0}, value)));
}

/* ---- declaring functions ---- */

static bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
static bool is_digit(char c) { return c >= '0' && c <= '9'; }

size_t hiaF_draft_name_length(const char *text) {
  size_t n = 0;
  if (is_letter(text[0]))
    while (is_letter(text[n]) || is_digit(text[n])) n++;
  return n;
}

/* Notes whether the host itself uses a name like v1, which printing gives to values without one. */
static hia_symbol_id intern(hia_draft *d, const char *text, size_t len) {
  if (text[0] == 'v' && len > 1 && strspn(text + 1, "0123456789") >= len - 1)
    d->has_numbered = true;
  return hiaF_intern(&d->symbols, text, (uint32_t)len);
}

hia_symbol_id hiaF_draft_symbol(hia_draft *d, const char *text, size_t len) {
  if (len == 0 || hiaF_draft_name_length(text) < len || (len == 1 && text[0] == '_'))
    hiaF_draft_wrong(d, "'%s' is no name", hiaF_draft_shown(d, text, len));
  if (len > HIA_MAX_SOURCE) hiaF_draft_wrong(d, "a name of %zu bytes", len);
  hia_symbol_id symbol = intern(d, text, len);
  if (symbol < HIA_N_KEYWORDS) hiaF_draft_wrong(d, "'%s' is a keyword", hiaF_draft_text(d, symbol));
  return symbol;
}

uint32_t hiaF_draft_new_block(hia_draft *d, uint32_t fn, bool is_open) {
  hiaR_push(&d->comp->arena, &d->blocks, (hia_draft_block){fn, is_open});
  return d->blocks.len - 1;
}

uint32_t hiaF_draft_new_item(hia_draft *d, hia_draft_kind kind, hia_type type, uint32_t block) {
  if (d->items.len >= HIA_NONE / 4) hiaF_draft_wrong(d, "too large a program");
  hiaR_push(&d->comp->arena, &d->items,
            (hia_draft_item){.kind = (uint8_t)kind,
                             .is_value = true,
                             .type = type,
                             .block = block,
                             .symbol = HIA_NONE,
                             .printed = HIA_NONE});
  return d->items.len - 1;
}

void hiaF_draft_check_free(hia_draft *d, hia_symbol_id symbol) {
  uint32_t decl = d->symbols.list.data[symbol].decl;
  if (decl == HIA_NONE) return;
  hiaF_draft_wrong(d,
                   decl == HIA_DRAFT_BUILTIN ? "'%s' is the name of a built-in function"
                                             : "'%s' is declared already",
                   hiaF_draft_text(d, symbol));
}

/* The sizes of a function's params and result as they were declared. */
static const hia_dim **declared_sizes(hia_draft *d, const hia_draft_sized *params, uint32_t n,
                                      hia_draft_sized result) {
  const hia_dim **sizes = HIA_NEW_ARRAY(&d->comp->arena, const hia_dim *, (size_t)n + 1);
  for (uint32_t i = 0; i < n; i++) sizes[i] = params[i].dims;
  sizes[n] = result.dims;
  return sizes;
}

uint32_t hiaF_draft_new_fn(hia_draft *d, hia_symbol_id symbol, const hia_draft_sized *params,
                           uint32_t n, hia_draft_sized result) {
  hiaF_draft_check_free(d, symbol);
  hiaF_draft_check_names(d, params, n, result);
  uint32_t fn = d->fns.len, block = hiaF_draft_new_block(d, fn, false), first = d->items.len;
  for (uint32_t i = 0; i < n; i++) {
    uint32_t item = hiaF_draft_new_item(d, HIA_DRAFT_PARAM, params[i].type, block);
    d->items.data[item].index = i;
    hiaF_draft_set_dims(d, item, params[i].dims);
  }
  hiaR_push(&d->comp->arena, &d->fns,
            (hia_draft_function){.symbol = symbol,
                                 .params = first,
                                 .n_params = n,
                                 .result = result.type,
                                 .sizes = declared_sizes(d, params, n, result)});
  d->symbols.list.data[symbol].decl = fn;
  return fn;
}

static bool has_references(hia_draft *d, hia_type type) {
  hia_arena *scratch = &d->comp->scratch;
  hia_mark mark = hiaR_arena_mark(scratch);
  uint32_t n = hiaG_type_words(&d->types, type);
  hia_type *words = HIA_NEW_ARRAY(scratch, hia_type, n);
  hiaG_type_flatten(&d->types, type, words);
  bool has = false;
  for (uint32_t i = 0; i < n; i++) has |= !hiaG_is_scalar(words[i]);
  hiaR_arena_release(scratch, mark);
  return has;
}

static void need_scalars(hia_draft *d, hia_draft_role r, hia_type type) {
  if (!has_references(d, type)) return;
  hiaF_draft_wrong_value(d, r,
                         hiaR_arena_printf(&d->comp->arena,
                                           "is %s: functions of the host have no data and no "
                                           "arrays",
                                           hiaF_draft_type_text(d, type)));
}

void hiaF_draft_make_extern(hia_draft *d, uint32_t fn, bool is_impure) {
  hia_draft_function *f = &d->fns.data[fn];
  for (uint32_t i = 0; i < f->n_params; i++)
    need_scalars(d, (hia_draft_role){"the type of parameter", i + 1},
                 hiaF_draft_type_at(d, f->params + i));
  need_scalars(d, (hia_draft_role){"the type of the result", 0}, f->result);
  f->state = HIA_DRAFT_EXTERN;
  f->is_impure = is_impure;
}

static uint32_t declare_types(hia_draft *d, const char *name, const uint64_t *params, size_t n,
                              uint64_t result) {
  hiaF_draft_doing(d, "declare");
  if (!name) hiaF_draft_wrong(d, "no name");
  hia_symbol_id symbol = hiaF_draft_symbol(d, name, strlen(name));
  d->about = symbol;
  if (n && !params) hiaF_draft_wrong(d, "no types of parameters");
  if (n > HIA_DRAFT_MAX_PARAMS)
    hiaF_draft_wrong(d, "%zu parameters; at most %u", n, HIA_DRAFT_MAX_PARAMS);
  hia_draft_sized *types = HIA_NEW_ARRAY(&d->comp->arena, hia_draft_sized, n + 1);
  for (size_t i = 0; i < n; i++)
    types[i] = hiaF_draft_own_sized(d, params[i],
                                    (hia_draft_role){"the type of parameter", (uint32_t)i + 1});
  return hiaF_draft_new_fn(
      d, symbol, types, (uint32_t)n,
      hiaF_draft_own_sized(d, result, (hia_draft_role){"the type of the result", 0}));
}

uint64_t hiaF_draft_declare_types(hia_draft *d, const char *name, const uint64_t *params, size_t n,
                                  uint64_t result) {
  return hiaF_draft_id(d, declare_types(d, name, params, n, result));
}

uint64_t hiaF_draft_declare_extern(hia_draft *d, const char *name, const uint64_t *params, size_t n,
                                   uint64_t result, bool is_impure) {
  uint32_t fn = declare_types(d, name, params, n, result);
  hiaF_draft_make_extern(d, fn, is_impure);
  return hiaF_draft_id(d, fn);
}

/* ---- bodies ---- */

void hiaF_draft_begin(hia_draft *d, uint64_t id) {
  hiaF_draft_doing(d, "begin");
  uint32_t fn = hiaF_draft_fn(d, id);
  hia_draft_function *f = &d->fns.data[fn];
  d->about = f->symbol;
  static const char *const no[] = {[HIA_DRAFT_BEGUN] = "its body has begun already",
                                   [HIA_DRAFT_DONE] = "its body is there already",
                                   [HIA_DRAFT_EXTERN] = "it is the host's and has no body"};
  if (f->state != HIA_DRAFT_DECLARED) hiaF_draft_wrong(d, "%s", no[f->state]);
  uint32_t block = hiaF_draft_new_block(d, fn, true);
  hiaR_push(&d->comp->arena, &d->open, (hia_draft_open){.item = HIA_NONE, .block = block});
  for (uint32_t i = 0; i < f->n_params; i++) d->items.data[f->params + i].block = block;
  f->state = HIA_DRAFT_BEGUN;
  d->fn = fn;
}

uint64_t hiaF_draft_param(hia_draft *d, uint64_t id, size_t i) {
  hiaF_draft_doing(d, "parameter");
  uint32_t fn = hiaF_draft_fn(d, id);
  const hia_draft_function *f = &d->fns.data[fn];
  d->about = f->symbol;
  if (i >= f->n_params)
    hiaF_draft_wrong(d, "there is no parameter %zu: it has %u, counted from 0", i, f->n_params);
  return hiaF_draft_id(d, f->params + (uint32_t)i);
}

/* True if the item may be printed inside the expression that uses it, as its only use. */
static bool can_be_inner(const hia_draft_item *item) {
  bool is_expression = item->kind == HIA_DRAFT_OP || item->kind == HIA_DRAFT_CONVERT ||
                       item->kind == HIA_DRAFT_CALL || item->kind == HIA_DRAFT_GRAD ||
                       item->kind == HIA_DRAFT_PART || item->kind == HIA_DRAFT_DATA ||
                       (item->kind >= HIA_DRAFT_LEN && item->kind <= HIA_DRAFT_TENSOR);
  return is_expression && item->uses == 0 && item->symbol == HIA_NONE && item->depth < MAX_INNER;
}

/* The last item of the list if it is a value, so that nothing stands behind it; or HIA_NONE. */
static uint32_t last_value(const hia_draft *d) {
  const hia_u32vec *list = &d->fns.data[d->fn].list;
  if (list->len == 0) return HIA_NONE;
  uint32_t last = list->data[list->len - 1];
  const hia_draft_item *item = &d->items.data[last];
  if (item->kind == HIA_DRAFT_END_IF || item->kind == HIA_DRAFT_END_LOOP ||
      item->kind == HIA_DRAFT_END_MATCH || item->kind == HIA_DRAFT_END_FOR)
    return item->index;
  return item->is_value ? last : HIA_NONE;
}

uint32_t hiaF_draft_append(hia_draft *d, hia_draft_kind kind, hia_type type, const uint32_t *ins,
                           uint32_t n, bool ends) {
  uint32_t last = last_value(d), depth = 0, n_last = 0;
  for (uint32_t i = 0; i < n; i++) n_last += ins[i] == last;
  if (n_last == 1 && ends && n == 1) {
    d->items.data[last].is_tail = d->items.data[last].kind != HIA_DRAFT_EXPECT; /* needs a `let` */
  } else if (n_last == 1 && can_be_inner(&d->items.data[last])) {
    d->items.data[last].is_inner = true;
    depth = d->items.data[last].depth + 1u;
  }
  uint32_t first = d->extra.len;
  for (uint32_t i = 0; i < n; i++) {
    hia_draft_item *in = &d->items.data[ins[i]];
    if (in->uses++) in->is_inner = false;
    hiaR_push(&d->comp->arena, &d->extra, ins[i]);
  }
  uint32_t index = hiaF_draft_new_item(d, kind, type, hiaF_draft_top(d)->block);
  hia_draft_item *item = &d->items.data[index];
  item->ins = first;
  item->n_ins = n;
  item->depth = hiaR_u8(depth);
  hiaR_push(&d->comp->arena, &d->fns.data[d->fn].list, index);
  return index;
}

uint32_t hiaF_draft_append_part(hia_draft *d, hia_draft_kind kind, const uint32_t *ins, uint32_t n,
                                uint32_t of) {
  uint32_t index = hiaF_draft_append(d, kind, HIA_BOOL, ins, n, true);
  d->items.data[index].is_value = false;
  d->items.data[index].index = of;
  return index;
}

/* An item with blocks that is open, in its two states, for messages. */
static const char *open_text(const hia_draft *d, const hia_draft_open *open) {
  switch (d->items.data[open->item].kind) {
  case HIA_DRAFT_IF: return open->is_second ? "an 'if' at its 'else'" : "an 'if' before its 'else'";
  case HIA_DRAFT_LOOP: return open->is_second ? "a loop at its round" : "a loop before its 'while'";
  case HIA_DRAFT_MATCH: return open->is_second ? "an arm of a match" : "a match";
  default: return "a comprehension";
  }
}

hia_draft_open *hiaF_draft_innermost(hia_draft *d, hia_draft_kind kind, bool is_second,
                                     const char *text) {
  hiaF_draft_need_body(d);
  hia_draft_open *open = hiaF_draft_top(d);
  if (open->item == HIA_NONE) hiaF_draft_wrong(d, "there is no %s here", text);
  if (d->items.data[open->item].kind != (uint8_t)kind || open->is_second != is_second)
    hiaF_draft_wrong(d, "there is no %s here: %s must end first", text, open_text(d, open));
  return open;
}

void hiaF_draft_return(hia_draft *d, uint64_t result) {
  hiaF_draft_doing(d, "return");
  hiaF_draft_need_body(d);
  static const char *const open[] = {[HIA_DRAFT_IF] = "an 'if'",
                                     [HIA_DRAFT_LOOP] = "a loop",
                                     [HIA_DRAFT_MATCH] = "a match",
                                     [HIA_DRAFT_FOR] = "a comprehension"};
  if (hiaF_draft_top(d)->item != HIA_NONE)
    hiaF_draft_wrong(d, "%s is open still", open[d->items.data[hiaF_draft_top(d)->item].kind]);
  uint32_t value = hiaF_draft_typed_value(d, (hia_draft_role){"the result", 0}, result,
                                          d->fns.data[d->fn].result);
  const hia_draft_function *f = &d->fns.data[d->fn];
  hiaF_draft_expect_dims(d, (hia_draft_role){"the result", 0}, value, f->sizes[f->n_params]);
  hiaF_draft_append_part(d, HIA_DRAFT_RETURN, &value, 1, HIA_NONE);
  d->blocks.data[hiaF_draft_top(d)->block].is_open = false;
  d->fns.data[d->fn].state = HIA_DRAFT_DONE;
  d->open.len--;
  d->fn = d->open.len ? d->blocks.data[hiaF_draft_top(d)->block].fn : HIA_NONE;
}

hia_draft_lack hiaF_draft_unfinished(const hia_draft *d, const char **name) {
  for (uint32_t i = 0; i < d->datas.len; i++) {
    *name = hiaF_draft_text(d, d->datas.data[i].symbol);
    if (d->datas.data[i].ctors.len == 0) return HIA_DRAFT_LACKS_CTORS;
  }
  for (uint32_t i = 0; i < d->fns.len; i++) {
    *name = fn_name(d, i);
    if (d->fns.data[i].state == HIA_DRAFT_DECLARED) return HIA_DRAFT_LACKS_BODY;
    if (d->fns.data[i].state == HIA_DRAFT_BEGUN) return HIA_DRAFT_LACKS_END;
  }
  return HIA_DRAFT_LACKS_NOTHING;
}

/* ---- values ---- */

uint64_t hiaF_draft_const(hia_draft *d, hia_dtype dtype, hia_word word) {
  hiaF_draft_doing(d, "constant");
  uint32_t index = hiaF_draft_new_item(d, HIA_DRAFT_CONST, dtype, HIA_NONE);
  d->items.data[index].word = word;
  return hiaF_draft_id(d, index);
}

static const char *rule_text(hia_rule rule) {
  switch (rule) {
  case HIA_RULE_NUM: return "i32, i64, f32 or f64";
  case HIA_RULE_INT:
  case HIA_RULE_SHIFT: return "i32 or i64";
  case HIA_RULE_BITS: return "bool, i32 or i64";
  case HIA_RULE_FLOAT:
  case HIA_RULE_CLASSIFY: return "f32 or f64";
  default: return "a scalar";
  }
}

static void need_taken(hia_draft *d, hia_rule rule, uint32_t i, hia_type type) {
  if (!hiaR_rule_takes(rule, hiaF_draft_dtype(d, type)))
    hiaF_draft_wrong(d, "operand %u is of type %s, not %s", i + 1, hiaF_draft_type_text(d, type),
                     rule_text(rule));
}

/* Checks the dtypes of operands; returns that of the operand that decides, which is `first`. */
static hia_dtype need_operands(hia_draft *d, hia_rule rule, const uint32_t *ins, uint32_t n,
                               uint32_t first) {
  hia_type type = hiaF_draft_type_at(d, ins[first]);
  hia_dtype dtype = hiaF_draft_dtype(d, type);
  if (first && hiaF_draft_dtype(d, hiaF_draft_type_at(d, ins[0])) != HIA_BOOL)
    hiaF_draft_wrong(d, "operand 1 is of type %s, not bool",
                     hiaF_draft_type_text(d, hiaF_draft_type_at(d, ins[0])));
  need_taken(d, rule, first, type);
  for (uint32_t i = first + 1; i < n; i++) {
    hia_type other = hiaF_draft_type_at(d, ins[i]);
    if (rule == HIA_RULE_SHIFT)
      need_taken(d, rule, i, other); /* a count has a type of its own */
    else if (hiaF_draft_dtype(d, other) != dtype)
      hiaF_draft_wrong(
          d, "operands %u and %u are of types %s and %s; they must be of one %s", first + 1, i + 1,
          hiaF_draft_type_text(d, type), hiaF_draft_type_text(d, other),
          hiaF_draft_is_tensor(d, type) || hiaF_draft_is_tensor(d, other) ? "dtype" : "type");
  }
  return dtype;
}

uint64_t hiaF_draft_op(hia_draft *d, unsigned op, const uint64_t *ids, size_t n) {
  hiaF_draft_doing(d, "op");
  if (hiaF_draft_is_tensor_op(op)) return hiaF_draft_tensor_op(d, op, ids, n, HIA_NONE);
  bool is_public = HIA_OP_PUBLIC(op) && hiaR_ops[op].name;
  hia_rule rule = is_public ? (hia_rule)hiaR_ops[op].rule : HIA_RULE_CONTROL;
  if (rule == HIA_RULE_CONTROL || rule == HIA_RULE_CAST)
    hiaF_draft_wrong(d, "there is no op %u", op);
  hiaF_draft_doing(d, hiaR_ops[op].name);
  hiaF_draft_need_block(d);
  uint32_t ins[3], want = (uint32_t)hiaR_ops[op].n_ins, rank = 0;
  if (n != want) hiaF_draft_wrong(d, "%zu operand%s instead of %u", n, n == 1 ? "" : "s", want);
  if (!ids) hiaF_draft_wrong(d, "no operands");
  for (uint32_t i = 0; i < want; i++)
    ins[i] = hiaF_draft_value(d, (hia_draft_role){"operand", i + 1}, ids[i]);
  hia_dtype dtype = need_operands(d, rule, ins, want, rule == HIA_RULE_SELECT ? 1 : 0);
  for (uint32_t i = 0; i < want; i++) {
    uint32_t its = hiaF_draft_rank(d, hiaF_draft_type_at(d, ins[i]));
    if (its > rank) rank = its;
  }
  hia_type type = hiaF_draft_make_ranked(d, hiaR_rule_result(rule, dtype), rank);
  uint32_t index = hiaF_draft_append(d, HIA_DRAFT_OP, type, ins, want, false);
  d->items.data[index].op = (uint8_t)op;
  if (rank) hiaF_draft_lift(d, op, index);
  return hiaF_draft_id(d, index);
}

uint64_t hiaF_draft_op_along(hia_draft *d, unsigned op, const uint64_t *ids, size_t n,
                             uint32_t axis) {
  hiaF_draft_doing(d, "op along an axis");
  bool has_axis = hiaF_draft_is_tensor_op(op) && hiaR_ops[op].imm == HIA_IMM_AXIS;
  if (!has_axis) hiaF_draft_wrong(d, "there is no op %u along an axis", op);
  return hiaF_draft_tensor_op(d, op, ids, n, axis);
}

uint64_t hiaF_draft_convert(hia_draft *d, unsigned dtype, uint64_t id) {
  hiaF_draft_doing(d, "convert");
  hiaF_draft_need_block(d);
  if (dtype >= HIA_N_DTYPES) hiaF_draft_wrong(d, "there is no dtype %u", dtype);
  uint32_t value = hiaF_draft_value(d, (hia_draft_role){"the value", 0}, id);
  hia_type have = hiaF_draft_type_at(d, value);
  if (hiaF_draft_dtype(d, have) == HIA_N_DTYPES)
    hiaF_draft_wrong(d, "the value is of type %s, not a scalar", hiaF_draft_type_text(d, have));
  hia_type type = hiaF_draft_make_ranked(d, (hia_dtype)dtype, hiaF_draft_rank(d, have));
  uint32_t index = hiaF_draft_append(d, HIA_DRAFT_CONVERT, type, &value, 1, false);
  d->items.data[index].dims = d->items.data[value].dims;
  return hiaF_draft_id(d, index);
}

uint32_t *hiaF_draft_args(hia_draft *d, uint32_t fn, const uint64_t *args, size_t n) {
  const hia_draft_function *f = &d->fns.data[fn];
  if (n != f->n_params)
    hiaF_draft_wrong(d, "%zu argument%s instead of %u", n, n == 1 ? "" : "s", f->n_params);
  if (n && !args) hiaF_draft_wrong(d, "no arguments");
  uint32_t *ins = HIA_NEW_ARRAY(&d->comp->arena, uint32_t, n + 1);
  for (uint32_t i = 0; i < n; i++)
    ins[i] = hiaF_draft_typed_value(d, (hia_draft_role){"argument", i + 1}, args[i],
                                    hiaF_draft_type_at(d, f->params + i));
  hiaF_draft_expect_args(d, f, ins);
  return ins;
}

uint64_t hiaF_draft_call(hia_draft *d, uint64_t id, const uint64_t *args, size_t n) {
  hiaF_draft_doing(d, "call");
  hiaF_draft_need_block(d);
  uint32_t fn = hiaF_draft_fn(d, id);
  const hia_draft_function *f = &d->fns.data[fn];
  d->about = f->symbol;
  const uint32_t *ins = hiaF_draft_args(d, fn, args, n);
  uint32_t index = hiaF_draft_append(d, HIA_DRAFT_CALL, f->result, ins, (uint32_t)n, false);
  d->items.data[index].index = fn;
  hiaF_draft_set_dims(d, index, f->sizes[n]);
  return hiaF_draft_id(d, index);
}

uint64_t hiaF_draft_fail(hia_draft *d, uint64_t id, uint64_t type) {
  hiaF_draft_doing(d, "fail");
  hiaF_draft_need_block(d);
  uint32_t code = hiaF_draft_value(d, (hia_draft_role){"the code", 0}, id);
  hia_type have = hiaF_draft_type_at(d, code);
  if (have != HIA_I32 && have != HIA_I64)
    hiaF_draft_wrong(d, "the code is of type %s, not i32 or i64", hiaF_draft_type_text(d, have));
  hia_type as = hiaF_draft_own_type(d, type, (hia_draft_role){"the type that it stands for", 0});
  return hiaF_draft_id(d, hiaF_draft_append(d, HIA_DRAFT_FAIL, as, &code, 1, false));
}

uint64_t hiaF_draft_tuple(hia_draft *d, const uint64_t *parts, size_t n) {
  hiaF_draft_doing(d, "tuple");
  hiaF_draft_need_block(d);
  check_parts(d, parts, n);
  uint32_t *ins = HIA_NEW_ARRAY(&d->comp->arena, uint32_t, n + 1);
  hia_type *types = HIA_NEW_ARRAY(&d->comp->arena, hia_type, n + 1);
  for (uint32_t i = 0; i < n; i++) {
    ins[i] = hiaF_draft_value(d, (hia_draft_role){"part", i + 1}, parts[i]);
    types[i] = hiaF_draft_type_at(d, ins[i]);
  }
  hia_type type = hiaF_draft_make_tuple(d, types, n);
  uint32_t index = hiaF_draft_append(d, HIA_DRAFT_TUPLE, type, ins, (uint32_t)n, false);
  hiaF_draft_set_dims(d, index, hiaF_draft_dims_of_parts(d, ins, (uint32_t)n));
  return hiaF_draft_id(d, index);
}

uint64_t hiaF_draft_part(hia_draft *d, uint64_t id, size_t i) {
  hiaF_draft_doing(d, "part");
  hiaF_draft_need_block(d);
  uint32_t tuple = hiaF_draft_value(d, (hia_draft_role){"the tuple", 0}, id);
  hia_type type = hiaF_draft_type_at(d, tuple);
  if (hiaG_type_kind(&d->types, type) != HIA_KIND_TUPLE)
    hiaF_draft_wrong(d, "the value is of type %s, no tuple", hiaF_draft_type_text(d, type));
  if (i >= hiaG_tuple_len(&d->types, type))
    hiaF_draft_wrong(d, "there is no part %zu in %s: parts are counted from 0", i,
                     hiaF_draft_type_text(d, type));
  uint32_t index = hiaF_draft_append(
      d, HIA_DRAFT_PART, hiaG_tuple_part(&d->types, type, (uint32_t)i), &tuple, 1, false);
  d->items.data[index].index = (uint32_t)i;
  const hia_dim *dims = d->items.data[tuple].dims;
  for (uint32_t k = 0; dims && k < i; k++)
    dims += hiaF_draft_n_dims(d, hiaG_tuple_part(&d->types, type, k));
  hiaF_draft_set_dims(d, index, dims);
  return hiaF_draft_id(d, index);
}

hia_symbol_id hiaF_draft_suggested(hia_draft *d, const char *name) {
  char valid[MAX_NAME + 2];
  size_t len = 0;
  if (is_digit(name[0])) valid[len++] = '_';
  for (; *name && len < MAX_NAME; name++)
    valid[len++] = is_letter(*name) || is_digit(*name) ? *name : '_';
  valid[len] = '\0';
  if (strspn(valid, "_") == len) return HIA_NONE;
  hia_symbol_id symbol = intern(d, valid, len);
  if (symbol < HIA_N_KEYWORDS) {
    valid[len++] = '_';
    symbol = intern(d, valid, len);
  }
  return symbol;
}

uint64_t hiaF_draft_name(hia_draft *d, uint64_t value, const char *name) {
  hiaF_draft_doing(d, "name");
  uint32_t index = hiaF_draft_any_value(d, (hia_draft_role){"the value", 0}, value);
  if (!name) hiaF_draft_wrong(d, "no name");
  hia_symbol_id symbol = hiaF_draft_suggested(d, name);
  if (symbol == HIA_NONE) return value;
  d->items.data[index].symbol = symbol;
  d->items.data[index].is_inner = false;
  return value;
}

/* ---- items with blocks ---- */

void hiaF_draft_open_block(hia_draft *d, uint32_t item, uint32_t outer) {
  uint32_t depth = hiaF_draft_top(d)->depth + 1, block = hiaF_draft_new_block(d, d->fn, true);
  d->items.data[item].is_value = false;
  hiaR_push(&d->comp->arena, &d->open,
            (hia_draft_open){.item = item, .outer = outer, .block = block, .depth = depth});
}

void hiaF_draft_check_depth(hia_draft *d) {
  if (hiaF_draft_top(d)->depth == HIA_DRAFT_MAX_NESTING)
    hiaF_draft_wrong(d, "blocks nest more than %u deep", HIA_DRAFT_MAX_NESTING);
}

void hiaF_draft_next_block(hia_draft *d) {
  d->blocks.data[hiaF_draft_top(d)->block].is_open = false;
  uint32_t block = hiaF_draft_new_block(d, d->fn, true);
  hiaF_draft_top(d)->block = block;
  hiaF_draft_top(d)->is_second = true;
}

uint64_t hiaF_draft_close(hia_draft *d) {
  uint32_t item = hiaF_draft_top(d)->item;
  d->blocks.data[hiaF_draft_top(d)->block].is_open = false;
  if (hiaF_draft_top(d)->outer != HIA_NONE)
    d->blocks.data[hiaF_draft_top(d)->outer].is_open = false;
  d->open.len--;
  d->items.data[item].is_value = true;
  return hiaF_draft_id(d, item);
}

/* ---- if ---- */

void hiaF_draft_if(hia_draft *d, uint64_t condition) {
  hiaF_draft_doing(d, "if");
  hiaF_draft_need_block(d);
  hiaF_draft_check_depth(d);
  uint32_t value =
      hiaF_draft_typed_value(d, (hia_draft_role){"the condition", 0}, condition, HIA_BOOL);
  hiaF_draft_open_block(d, hiaF_draft_append(d, HIA_DRAFT_IF, HIA_BOOL, &value, 1, false),
                        HIA_NONE);
}

void hiaF_draft_else(hia_draft *d, uint64_t id) {
  hiaF_draft_doing(d, "else");
  uint32_t item = hiaF_draft_innermost(d, HIA_DRAFT_IF, false, "'if' without 'else'")->item;
  uint32_t value = hiaF_draft_value(d, (hia_draft_role){"the value of the first branch", 0}, id);
  hiaF_draft_append_part(d, HIA_DRAFT_ELSE, &value, 1, item);
  d->items.data[item].type = hiaF_draft_type_at(d, value);
  d->items.data[item].dims = d->items.data[value].dims;
  hiaF_draft_next_block(d);
}

uint64_t hiaF_draft_end_if(hia_draft *d, uint64_t id) {
  hiaF_draft_doing(d, "end of if");
  uint32_t item = hiaF_draft_innermost(d, HIA_DRAFT_IF, true, "'if' with its 'else'")->item;
  uint32_t value = hiaF_draft_typed_value(d, (hia_draft_role){"the value of the second branch", 0},
                                          id, hiaF_draft_type_at(d, item));
  hiaF_draft_join_dims(d, item, value);
  hiaF_draft_append_part(d, HIA_DRAFT_END_IF, &value, 1, item);
  return hiaF_draft_close(d);
}

/* ---- loop ---- */

void hiaF_draft_loop(hia_draft *d, const uint64_t *init, size_t n, uint64_t *variables) {
  hiaF_draft_doing(d, "loop");
  hiaF_draft_need_block(d);
  hiaF_draft_check_depth(d);
  if (n == 0 || n > HIA_MAX_TYPE_PARTS)
    hiaF_draft_wrong(d, "%zu variables: a loop has 1 to %u", n, HIA_MAX_TYPE_PARTS);
  if (!init || !variables)
    hiaF_draft_wrong(d, init ? "no place for the variables" : "no initial values");
  uint32_t *ins = HIA_NEW_ARRAY(&d->comp->arena, uint32_t, n);
  hia_type *types = HIA_NEW_ARRAY(&d->comp->arena, hia_type, n);
  for (uint32_t i = 0; i < n; i++) {
    ins[i] = hiaF_draft_value(d, (hia_draft_role){"initial value", i + 1}, init[i]);
    types[i] = hiaF_draft_type_at(d, ins[i]);
  }
  hia_type type = n == 1 ? types[0] : hiaF_draft_make_tuple(d, types, n);
  uint32_t item = hiaF_draft_append(d, HIA_DRAFT_LOOP, type, ins, (uint32_t)n, false);
  uint32_t outer = hiaF_draft_new_block(d, d->fn, true);
  d->items.data[item].index = d->items.len;
  for (uint32_t i = 0; i < n; i++) {
    uint32_t var = hiaF_draft_new_item(d, HIA_DRAFT_VAR, types[i], outer);
    d->items.data[var].index = i;
    variables[i] = hiaF_draft_id(d, var);
  }
  hiaF_draft_open_block(d, item, outer);
}

void hiaF_draft_while(hia_draft *d, uint64_t condition) {
  hiaF_draft_doing(d, "while");
  uint32_t item = hiaF_draft_innermost(d, HIA_DRAFT_LOOP, false, "loop without 'while'")->item;
  uint32_t value =
      hiaF_draft_typed_value(d, (hia_draft_role){"the condition", 0}, condition, HIA_BOOL);
  hiaF_draft_append_part(d, HIA_DRAFT_WHILE, &value, 1, item);
  hiaF_draft_next_block(d);
}

uint64_t hiaF_draft_end_loop(hia_draft *d, const uint64_t *next, size_t n) {
  hiaF_draft_doing(d, "end of loop");
  uint32_t item = hiaF_draft_innermost(d, HIA_DRAFT_LOOP, true, "loop at its round")->item;
  uint32_t n_vars = d->items.data[item].n_ins, first = d->items.data[item].index;
  if (n != n_vars)
    hiaF_draft_wrong(d, "%zu next value%s for %u variables", n, n == 1 ? "" : "s", n_vars);
  if (!next) hiaF_draft_wrong(d, "no next values");
  uint32_t *ins = HIA_NEW_ARRAY(&d->comp->arena, uint32_t, n);
  for (uint32_t i = 0; i < n; i++)
    ins[i] = hiaF_draft_typed_value(d, (hia_draft_role){"next value", i + 1}, next[i],
                                    hiaF_draft_type_at(d, first + i));
  hiaF_draft_append_part(d, HIA_DRAFT_END_LOOP, ins, n_vars, item);
  return hiaF_draft_close(d);
}
