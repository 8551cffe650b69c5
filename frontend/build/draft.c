/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* What all calls of a builder share: mistakes and their messages, ids, names, types, items and
 * their blocks. */
#include "frontend/build/build.h"

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

_Noreturn void hiaF_draft_wrong_value(hia_draft *d, hia_draft_role r, const char *why) {
  if (r.number) hiaF_draft_wrong(d, "%s %u %s", r.what, r.number, why);
  hiaF_draft_wrong(d, "%s %s", r.what, why);
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

hia_dtype hiaF_draft_dtype(const hia_draft *d, hia_type type) {
  if (hiaG_is_scalar(type)) return (hia_dtype)type;
  bool is_tensor = hiaG_type_kind(&d->types, type) == HIA_KIND_TENSOR;
  return is_tensor ? hiaG_dtype(&d->types, type) : HIA_N_DTYPES;
}

uint32_t hiaF_draft_rank(const hia_draft *d, hia_type type) {
  return hiaF_draft_is_tensor(d, type) ? hiaG_rank(&d->types, type) : 0;
}

bool hiaF_draft_is_tensor(const hia_draft *d, hia_type type) {
  return !hiaG_is_scalar(type) && hiaG_type_kind(&d->types, type) == HIA_KIND_TENSOR;
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

/* ---- names ---- */

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

void hiaF_draft_check_free(hia_draft *d, hia_symbol_id symbol) {
  uint32_t decl = d->symbols.list.data[symbol].decl;
  if (decl == HIA_NONE) return;
  hiaF_draft_wrong(d,
                   decl == HIA_DRAFT_BUILTIN ? "'%s' is the name of a built-in function"
                                             : "'%s' is declared already",
                   hiaF_draft_text(d, symbol));
}

/* ---- items ---- */

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
                                uint32_t whole) {
  uint32_t index = hiaF_draft_append(d, kind, HIA_BOOL, ins, n, true);
  d->items.data[index].is_value = false;
  d->items.data[index].index = whole;
  return index;
}

/* ---- items with blocks ---- */

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

void hiaF_draft_check_depth(hia_draft *d) {
  if (hiaF_draft_top(d)->depth == HIA_DRAFT_MAX_NESTING)
    hiaF_draft_wrong(d, "blocks nest more than %u deep", HIA_DRAFT_MAX_NESTING);
}

void hiaF_draft_open_block(hia_draft *d, uint32_t item, uint32_t outer) {
  uint32_t depth = hiaF_draft_top(d)->depth + 1, block = hiaF_draft_new_block(d, d->fn, true);
  d->items.data[item].is_value = false;
  hiaR_push(&d->comp->arena, &d->open,
            (hia_draft_open){.item = item, .outer = outer, .block = block, .depth = depth});
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
