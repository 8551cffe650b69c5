/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Drafts: programs made by calls, checked call by call. See build.h. */
#include "frontend/build.h"

#include <stdio.h>

/* How deep values nest that are printed inside the expression that uses them. Enough for
 * `x * f(n - 1)`, and few enough to read. */
#define MAX_INNER 3u
/* Bytes of a name suggested by the host; the rest is cut off. */
#define MAX_NAME 200u
/* Bytes of the host's text in a message. */
#define MAX_SHOWN 60u

static const char *symbol_text(const hia_draft *d, hia_symbol_id symbol) {
  return d->symbols.list.data[symbol].text;
}

static const char *fn_name(const hia_draft *d, uint32_t fn) {
  return symbol_text(d, d->fns.data[fn].symbol);
}

/* ---- mistakes ---- */

static _Noreturn void wrong(hia_draft *d, const char *fmt, ...) HIA_PRINTF(2, 3);
static _Noreturn void wrong(hia_draft *d, const char *fmt, ...) {
  char where[320] = "", message[480];
  int n = 0;
  if (d->fn != HIA_NONE) n = snprintf(where, sizeof where, "in '%.80s': ", fn_name(d, d->fn));
  n += snprintf(where + n, sizeof where - (size_t)n, "%s", d->doing);
  if (d->about != HIA_NONE)
    snprintf(where + n, sizeof where - (size_t)n, " of '%.80s'", symbol_text(d, d->about));
  va_list args;
  va_start(args, fmt);
  vsnprintf(message, sizeof message, fmt, args);
  va_end(args);
  hiaR_throw(d->comp, HIA_ARGUMENT, "%s: %s", where, message);
}

/* A type as messages show it: a long one is cut. */
static const char *type_text(hia_draft *d, hia_type type) {
  hia_text text;
  hiaR_text_init(&text, &d->comp->arena);
  hiaG_type_print(&d->types, type, &text);
  if (text.len > 100) memcpy(text.data + 100, "...", 4);
  return text.data;
}

/* Text of the host as messages show it: its beginning, without unprintable bytes. */
static const char *shown(hia_draft *d, const char *text, size_t len) {
  hia_text out;
  hiaR_text_init(&out, &d->comp->arena);
  hiaR_text_add(&out, "", 0);
  hiaR_show(&out, text, len < MAX_SHOWN ? len : MAX_SHOWN, NULL);
  return out.data;
}

static void doing(hia_draft *d, const char *what) {
  d->doing = what;
  d->about = HIA_NONE;
}

static void need_body(hia_draft *d) {
  if (d->fn == HIA_NONE) wrong(d, "no function has begun");
}

/* ---- ids ---- */

static uint64_t id_of(const hia_draft *d, uint32_t index) {
  return (uint64_t)d->tag << 32 | (index + 1);
}

static bool is_own(const hia_draft *d, uint64_t id) { return id >> 32 == d->tag; }

/* "operand 2", "the condition" */
typedef struct role {
  const char *what;
  uint32_t number; /* from 1; 0: the only one of its kind */
} role;

static _Noreturn void wrong_value(hia_draft *d, role r, const char *why) {
  if (r.number) wrong(d, "%s %u %s", r.what, r.number, why);
  wrong(d, "%s %s", r.what, why);
}

/* A value, whether visible here or not. */
static uint32_t any_value(hia_draft *d, role r, uint64_t id) {
  if (id == 0) wrong_value(d, r, "is no value");
  if (!is_own(d, id)) wrong_value(d, r, "is a value of another builder");
  uint32_t index = (uint32_t)id - 1;
  if (index >= d->items.len || !d->items.data[index].is_value) wrong_value(d, r, "is no value");
  return index;
}

static uint32_t value_of(hia_draft *d, role r, uint64_t id) {
  uint32_t index = any_value(d, r, id);
  const hia_draft_item *item = &d->items.data[index];
  if (item->kind == HIA_DRAFT_CONST) return index;
  const hia_draft_block *block = &d->blocks.data[item->block];
  if (block->fn != d->fn)
    wrong_value(d, r,
                hiaR_arena_printf(&d->comp->arena, "is a value of the function '%.80s'",
                                  fn_name(d, block->fn)));
  if (!block->is_open)
    wrong_value(d, r, "is out of scope: the branch or loop that it was made in has ended");
  return index;
}

static hia_type type_at(const hia_draft *d, uint32_t index) { return d->items.data[index].type; }

static uint32_t typed_value(hia_draft *d, role r, uint64_t id, hia_type type) {
  uint32_t index = value_of(d, r, id);
  if (type_at(d, index) == type) return index;
  const char *have = type_text(d, type_at(d, index)), *want = type_text(d, type);
  wrong_value(d, r, hiaR_arena_printf(&d->comp->arena, "is of type %s, not %s", have, want));
}

static uint32_t fn_of(hia_draft *d, uint64_t id) {
  if (id == 0) wrong(d, "this is no function");
  if (!is_own(d, id)) wrong(d, "the function is another builder's");
  uint32_t index = (uint32_t)id - 1;
  if (index >= d->fns.len) wrong(d, "this is no function");
  return index;
}

static hia_type type_of_id(hia_draft *d, uint64_t id, role r) {
  if (id < HIA_N_DTYPES) return (hia_type)id;
  if (is_own(d, id) && !hiaG_is_scalar((hia_type)id) && hiaG_type_exists(&d->types, (hia_type)id))
    return (hia_type)id;
  bool foreign = id >> 32 != 0 && id != UINT64_MAX && !is_own(d, id);
  wrong_value(d, r, foreign ? "is another builder's" : "is no type");
}

static uint64_t id_of_type(const hia_draft *d, hia_type type) {
  return hiaG_is_scalar(type) ? type : (uint64_t)d->tag << 32 | type;
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
    d->symbols.list.data[symbol].type = HIA_DRAFT_BUILTIN;
  }
  return d;
}

static hia_type tuple_of(hia_draft *d, const hia_type *parts, size_t n) {
  if (n < 2) wrong(d, "a tuple has two parts or more, not %zu", n);
  uint32_t words = 0;
  for (size_t i = 0; i < n && words <= HIA_MAX_TYPE_PARTS; i++)
    words += hiaG_type_words(&d->types, parts[i]);
  if (words > HIA_MAX_TYPE_PARTS)
    wrong(d, "the type has more than %u scalars in it", HIA_MAX_TYPE_PARTS);
  return hiaG_tuple(&d->types, parts, (uint32_t)n);
}

/* Checks no part beyond the number of scalars that a type may have: if the host passed a wrong
 * number, `parts` ends earlier. */
static void check_parts(hia_draft *d, const uint64_t *parts, size_t n) {
  if (n > HIA_MAX_TYPE_PARTS)
    wrong(d, "the type has more than %u scalars in it", HIA_MAX_TYPE_PARTS);
  if (n && !parts) wrong(d, "no parts");
}

uint64_t hiaF_draft_tuple_type(hia_draft *d, const uint64_t *parts, size_t n) {
  doing(d, "tuple type");
  check_parts(d, parts, n);
  hia_type *types = HIA_NEW_ARRAY(&d->comp->arena, hia_type, n + 1);
  for (size_t i = 0; i < n; i++)
    types[i] = type_of_id(d, parts[i], (role){"part", (uint32_t)i + 1});
  return id_of_type(d, tuple_of(d, types, n));
}

uint64_t hiaF_draft_type_of(hia_draft *d, uint64_t value) {
  doing(d, "type of");
  return id_of_type(d, type_at(d, any_value(d, (role){"the value", 0}, value)));
}

/* ---- declaring functions ---- */

static bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static size_t name_length(const char *text) {
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

/* A name by the host that must be one of the language; its meaning is not checked. */
static hia_symbol_id name_symbol(hia_draft *d, const char *text, size_t len) {
  if (len == 0 || name_length(text) < len || (len == 1 && text[0] == '_'))
    wrong(d, "'%s' is no name", shown(d, text, len));
  if (len > HIA_MAX_SOURCE) wrong(d, "a name of %zu bytes", len);
  hia_symbol_id symbol = intern(d, text, len);
  if (symbol < HIA_N_KEYWORDS) wrong(d, "'%s' is a keyword", symbol_text(d, symbol));
  return symbol;
}

static uint32_t new_block(hia_draft *d, uint32_t fn, bool is_open) {
  hiaR_push(&d->comp->arena, &d->blocks, (hia_draft_block){fn, is_open});
  return d->blocks.len - 1;
}

static uint32_t new_item(hia_draft *d, hia_draft_kind kind, hia_type type, uint32_t block) {
  if (d->items.len >= HIA_NONE / 4) wrong(d, "too large a program");
  hiaR_push(&d->comp->arena, &d->items,
            (hia_draft_item){.kind = (uint8_t)kind,
                             .is_value = true,
                             .type = type,
                             .block = block,
                             .symbol = HIA_NONE,
                             .printed = HIA_NONE});
  return d->items.len - 1;
}

/* The new function; it has no body yet. */
static uint32_t declare(hia_draft *d, hia_symbol_id symbol, const hia_type *params, uint32_t n,
                        hia_type result) {
  const char *name = symbol_text(d, symbol);
  if (d->symbols.list.data[symbol].decl != HIA_NONE) wrong(d, "'%s' is declared already", name);
  if (d->symbols.list.data[symbol].type == HIA_DRAFT_BUILTIN)
    wrong(d, "'%s' is the name of a built-in function", name);
  uint32_t fn = d->fns.len, block = new_block(d, fn, false), first = d->items.len;
  for (uint32_t i = 0; i < n; i++) {
    uint32_t item = new_item(d, HIA_DRAFT_PARAM, params[i], block);
    d->items.data[item].index = i;
  }
  hiaR_push(
      &d->comp->arena, &d->fns,
      (hia_draft_function){.symbol = symbol, .params = first, .n_params = n, .result = result});
  d->symbols.list.data[symbol].decl = fn;
  return fn;
}

static void make_extern(hia_draft *d, uint32_t fn, bool is_impure) {
  d->fns.data[fn].state = HIA_DRAFT_EXTERN;
  d->fns.data[fn].is_impure = is_impure;
}

static uint32_t declare_types(hia_draft *d, const char *name, const uint64_t *params, size_t n,
                              uint64_t result) {
  doing(d, "declare");
  if (!name) wrong(d, "no name");
  hia_symbol_id symbol = name_symbol(d, name, strlen(name));
  d->about = symbol;
  if (n && !params) wrong(d, "no types of parameters");
  if (n > HIA_DRAFT_MAX_PARAMS) wrong(d, "%zu parameters; at most %u", n, HIA_DRAFT_MAX_PARAMS);
  hia_type *types = HIA_NEW_ARRAY(&d->comp->arena, hia_type, n + 1);
  for (size_t i = 0; i < n; i++)
    types[i] = type_of_id(d, params[i], (role){"the type of parameter", (uint32_t)i + 1});
  return declare(d, symbol, types, (uint32_t)n,
                 type_of_id(d, result, (role){"the type of the result", 0}));
}

uint64_t hiaF_draft_declare_types(hia_draft *d, const char *name, const uint64_t *params, size_t n,
                                  uint64_t result) {
  return id_of(d, declare_types(d, name, params, n, result));
}

uint64_t hiaF_draft_declare_extern(hia_draft *d, const char *name, const uint64_t *params, size_t n,
                                   uint64_t result, bool is_impure) {
  uint32_t fn = declare_types(d, name, params, n, result);
  make_extern(d, fn, is_impure);
  return id_of(d, fn);
}

/* ---- declaring functions by a signature ---- */

static const char *skip_space(const char *at) { return at + strspn(at, " \t\n\r"); }

static _Noreturn void wrong_signature(hia_draft *d, const char *at, const char *wanted) {
  if (*at) wrong(d, "%s expected at '%s'", wanted, shown(d, at, strlen(at)));
  wrong(d, "%s expected at the end", wanted);
}

static const char *read_text(hia_draft *d, const char *at, const char *text) {
  at = skip_space(at);
  size_t len = strlen(text);
  if (strncmp(at, text, len) != 0)
    wrong_signature(d, at, hiaR_arena_printf(&d->comp->arena, "'%s'", text));
  return at + len;
}

static const char *read_type(hia_draft *d, const char *at, uint32_t depth, hia_type *type) {
  at = skip_space(at);
  if (*at != '(') {
    size_t len = name_length(at);
    for (unsigned t = 0; t < HIA_N_DTYPES; t++) {
      const char *name = hiaG_dtype_name((hia_dtype)t);
      if (strlen(name) != len || memcmp(name, at, len) != 0) continue;
      *type = t;
      return at + len;
    }
    wrong_signature(d, at, "a type");
  }
  if (depth == HIA_MAX_TYPE_PARTS)
    wrong(d, "the type has more than %u scalars in it", HIA_MAX_TYPE_PARTS);
  HIA_VEC(hia_type) parts = {0};
  do {
    hia_type part;
    at = skip_space(read_type(d, at + 1, depth + 1, &part));
    if (parts.len <= HIA_MAX_TYPE_PARTS) hiaR_push(&d->comp->arena, &parts, part);
  } while (*at == ',');
  if (*at != ')') wrong_signature(d, at, "',' or ')'");
  *type = tuple_of(d, parts.data, parts.len);
  return at + 1;
}

static const char *read_name(hia_draft *d, const char *at, hia_symbol_id *symbol) {
  at = skip_space(at);
  size_t len = name_length(at);
  if (len == 0) wrong_signature(d, at, "a name");
  *symbol = len == 1 && at[0] == '_' ? HIA_NONE : name_symbol(d, at, len);
  return at + len;
}

/* Skips a keyword with white space behind it; without, it is a name that begins like one. */
static bool skip_word(const char **at, const char *word) {
  const char *behind = *at + strlen(word);
  if (strncmp(*at, word, strlen(word)) != 0 || skip_space(behind) == behind) return false;
  *at = skip_space(behind);
  return true;
}

uint64_t hiaF_draft_declare(hia_draft *d, const char *signature) {
  doing(d, "declare");
  if (!signature) wrong(d, "no signature");
  const char *at = skip_space(signature);
  bool is_extern = skip_word(&at, "extern"), is_impure = is_extern && skip_word(&at, "impure");
  if (!skip_word(&at, "fn") && is_extern) wrong_signature(d, at, "'fn'");
  hia_symbol_id symbol, name;
  at = skip_space(read_name(d, at, &symbol));
  if (symbol == HIA_NONE) wrong(d, "'_' is no name");
  d->about = symbol;
  HIA_VEC(hia_type) types = {0};
  hia_u32vec names = {0};
  if (*at != '(') wrong_signature(d, at, "'('");
  if (*skip_space(at + 1) == ')') {
    at = skip_space(at + 1);
  } else {
    do {
      hia_type type;
      at = read_name(d, at + 1, &name);
      if (name != HIA_NONE && d->symbols.list.data[name].bound_at == d->fns.len + 1)
        wrong(d, "two parameters are called '%.80s'", symbol_text(d, name));
      if (name != HIA_NONE) d->symbols.list.data[name].bound_at = d->fns.len + 1;
      at = skip_space(read_type(d, read_text(d, at, ":"), 0, &type));
      if (types.len == HIA_DRAFT_MAX_PARAMS)
        wrong(d, "more than %u parameters", HIA_DRAFT_MAX_PARAMS);
      hiaR_push(&d->comp->arena, &types, type);
      hiaR_push(&d->comp->arena, &names, name);
    } while (*at == ',');
    if (*at != ')') wrong_signature(d, at, "',' or ')'");
  }
  hia_type result;
  at = skip_space(read_type(d, read_text(d, at + 1, "->"), 0, &result));
  if (*at) wrong_signature(d, at, "nothing more");
  uint32_t fn = declare(d, symbol, types.data, types.len, result);
  if (is_extern) make_extern(d, fn, is_impure);
  uint32_t first = d->fns.data[fn].params;
  for (uint32_t i = 0; i < names.len; i++) d->items.data[first + i].symbol = names.data[i];
  return id_of(d, fn);
}

/* ---- bodies ---- */

void hiaF_draft_begin(hia_draft *d, uint64_t id) {
  doing(d, "begin");
  uint32_t fn = fn_of(d, id);
  hia_draft_function *f = &d->fns.data[fn];
  d->about = f->symbol;
  static const char *const no[] = {[HIA_DRAFT_BEGUN] = "its body has begun already",
                                   [HIA_DRAFT_DONE] = "its body is there already",
                                   [HIA_DRAFT_EXTERN] = "it is the host's and has no body"};
  if (f->state != HIA_DRAFT_DECLARED) wrong(d, "%s", no[f->state]);
  uint32_t block = new_block(d, fn, true);
  hiaR_push(&d->comp->arena, &d->open, (hia_draft_open){.item = HIA_NONE, .block = block});
  for (uint32_t i = 0; i < f->n_params; i++) d->items.data[f->params + i].block = block;
  f->state = HIA_DRAFT_BEGUN;
  d->fn = fn;
}

uint64_t hiaF_draft_param(hia_draft *d, uint64_t id, size_t i) {
  doing(d, "parameter");
  uint32_t fn = fn_of(d, id);
  const hia_draft_function *f = &d->fns.data[fn];
  d->about = f->symbol;
  if (i >= f->n_params)
    wrong(d, "there is no parameter %zu: it has %u, counted from 0", i, f->n_params);
  return id_of(d, f->params + (uint32_t)i);
}

static hia_draft_open *top(hia_draft *d) { return &d->open.data[d->open.len - 1]; }

/* True if the item may be printed inside the expression that uses it, as its only use. */
static bool can_be_inner(const hia_draft_item *item) {
  return (item->kind == HIA_DRAFT_OP || item->kind == HIA_DRAFT_CONVERT ||
          item->kind == HIA_DRAFT_CALL || item->kind == HIA_DRAFT_PART) &&
         item->uses == 0 && item->symbol == HIA_NONE && item->depth < MAX_INNER;
}

/* The last item of the list if it is a value, so that nothing stands behind it; or HIA_NONE. */
static uint32_t last_value(const hia_draft *d) {
  const hia_u32vec *list = &d->fns.data[d->fn].list;
  if (list->len == 0) return HIA_NONE;
  uint32_t last = list->data[list->len - 1];
  const hia_draft_item *item = &d->items.data[last];
  if (item->kind == HIA_DRAFT_END_IF || item->kind == HIA_DRAFT_END_LOOP) return item->index;
  return item->is_value ? last : HIA_NONE;
}

/* Appends an item to the body. `ends`: the item ends a block and uses that block's value. */
static uint32_t append(hia_draft *d, hia_draft_kind kind, hia_type type, const uint32_t *ins,
                       uint32_t n, bool ends) {
  uint32_t last = last_value(d), depth = 0, n_last = 0;
  for (uint32_t i = 0; i < n; i++) n_last += ins[i] == last;
  if (n_last == 1 && ends && n == 1) {
    d->items.data[last].is_tail = true;
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
  uint32_t index = new_item(d, kind, type, top(d)->block);
  hia_draft_item *item = &d->items.data[index];
  item->ins = first;
  item->n_ins = n;
  item->depth = (uint8_t)depth;
  hiaR_push(&d->comp->arena, &d->fns.data[d->fn].list, index);
  return index;
}

static uint32_t append_part(hia_draft *d, hia_draft_kind kind, const uint32_t *ins, uint32_t n,
                            uint32_t of) {
  uint32_t index = append(d, kind, HIA_BOOL, ins, n, true);
  d->items.data[index].is_value = false;
  d->items.data[index].index = of;
  return index;
}

/* The innermost open item, which must be of this kind and state; `text` names it in the message. */
static hia_draft_open *innermost(hia_draft *d, hia_draft_kind kind, bool is_second,
                                 const char *text) {
  need_body(d);
  hia_draft_open *open = top(d);
  if (open->item == HIA_NONE) wrong(d, "there is no %s here", text);
  bool is_if = d->items.data[open->item].kind == HIA_DRAFT_IF;
  if (is_if != (kind == HIA_DRAFT_IF) || open->is_second != is_second)
    wrong(d, "there is no %s here: %s must end first", text,
          is_if ? open->is_second ? "an 'if' at its 'else'" : "an 'if' before its 'else'"
          : open->is_second ? "a loop at its round"
                            : "a loop before its 'while'");
  return open;
}

void hiaF_draft_return(hia_draft *d, uint64_t result) {
  doing(d, "return");
  need_body(d);
  if (top(d)->item != HIA_NONE)
    wrong(d, "%s is open still",
          d->items.data[top(d)->item].kind == HIA_DRAFT_IF ? "an 'if'" : "a loop");
  uint32_t value = typed_value(d, (role){"the result", 0}, result, d->fns.data[d->fn].result);
  append_part(d, HIA_DRAFT_RETURN, &value, 1, HIA_NONE);
  d->blocks.data[top(d)->block].is_open = false;
  d->fns.data[d->fn].state = HIA_DRAFT_DONE;
  d->open.len--;
  d->fn = d->open.len ? d->blocks.data[top(d)->block].fn : HIA_NONE;
}

const char *hiaF_draft_unfinished(const hia_draft *d, bool *has_begun) {
  for (uint32_t i = 0; i < d->fns.len; i++) {
    if (d->fns.data[i].state >= HIA_DRAFT_DONE) continue;
    *has_begun = d->fns.data[i].state == HIA_DRAFT_BEGUN;
    return fn_name(d, i);
  }
  return NULL;
}

/* ---- values ---- */

uint64_t hiaF_draft_const(hia_draft *d, hia_dtype dtype, hia_word word) {
  doing(d, "constant");
  uint32_t index = new_item(d, HIA_DRAFT_CONST, dtype, HIA_NONE);
  d->items.data[index].word = word;
  return id_of(d, index);
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
  if (!hiaG_is_scalar(type) || !hiaR_rule_takes(rule, (hia_dtype)type))
    wrong(d, "operand %u is of type %s, not %s", i + 1, type_text(d, type), rule_text(rule));
}

uint64_t hiaF_draft_op(hia_draft *d, unsigned op, const uint64_t *ids, size_t n) {
  doing(d, "op");
  bool is_public = HIA_OP_PUBLIC(op) && hiaR_ops[op].name;
  hia_rule rule = is_public ? (hia_rule)hiaR_ops[op].rule : HIA_RULE_CONTROL;
  if (rule == HIA_RULE_CONTROL || rule == HIA_RULE_CAST) wrong(d, "there is no op %u", op);
  doing(d, hiaR_ops[op].name);
  need_body(d);
  uint32_t ins[3], want = (uint32_t)hiaR_ops[op].n_ins, first = rule == HIA_RULE_SELECT ? 1 : 0;
  if (n != want) wrong(d, "%zu operand%s instead of %u", n, n == 1 ? "" : "s", want);
  if (!ids) wrong(d, "no operands");
  for (uint32_t i = 0; i < want; i++) {
    role r = {"operand", i + 1};
    ins[i] = i < first ? typed_value(d, r, ids[i], HIA_BOOL) : value_of(d, r, ids[i]);
  }
  hia_type type = type_at(d, ins[first]);
  need_taken(d, rule, first, type);
  for (uint32_t i = first + 1; i < want; i++) {
    hia_type other = type_at(d, ins[i]);
    if (rule == HIA_RULE_SHIFT)
      need_taken(d, rule, i, other); /* a count has a type of its own */
    else if (other != type)
      wrong(d, "operands %u and %u are of types %s and %s; they must be of one type", first + 1,
            i + 1, type_text(d, type), type_text(d, other));
  }
  type = hiaR_rule_result(rule, (hia_dtype)type);
  uint32_t index = append(d, HIA_DRAFT_OP, type, ins, want, false);
  d->items.data[index].op = (uint8_t)op;
  return id_of(d, index);
}

uint64_t hiaF_draft_convert(hia_draft *d, unsigned dtype, uint64_t id) {
  doing(d, "convert");
  need_body(d);
  if (dtype >= HIA_N_DTYPES) wrong(d, "there is no dtype %u", dtype);
  uint32_t value = value_of(d, (role){"the value", 0}, id);
  if (!hiaG_is_scalar(type_at(d, value)))
    wrong(d, "the value is of type %s, not a scalar", type_text(d, type_at(d, value)));
  return id_of(d, append(d, HIA_DRAFT_CONVERT, dtype, &value, 1, false));
}

uint64_t hiaF_draft_call(hia_draft *d, uint64_t id, const uint64_t *args, size_t n) {
  doing(d, "call");
  need_body(d);
  uint32_t fn = fn_of(d, id);
  const hia_draft_function *f = &d->fns.data[fn];
  d->about = f->symbol;
  if (n != f->n_params) wrong(d, "%zu argument%s instead of %u", n, n == 1 ? "" : "s", f->n_params);
  if (n && !args) wrong(d, "no arguments");
  uint32_t *ins = HIA_NEW_ARRAY(&d->comp->arena, uint32_t, n + 1);
  for (uint32_t i = 0; i < n; i++)
    ins[i] = typed_value(d, (role){"argument", i + 1}, args[i], type_at(d, f->params + i));
  uint32_t index = append(d, HIA_DRAFT_CALL, f->result, ins, (uint32_t)n, false);
  d->items.data[index].index = fn;
  return id_of(d, index);
}

uint64_t hiaF_draft_fail(hia_draft *d, uint64_t id, uint64_t type) {
  doing(d, "fail");
  need_body(d);
  uint32_t code = value_of(d, (role){"the code", 0}, id);
  hia_type have = type_at(d, code);
  if (have != HIA_I32 && have != HIA_I64)
    wrong(d, "the code is of type %s, not i32 or i64", type_text(d, have));
  hia_type as = type_of_id(d, type, (role){"the type that it stands for", 0});
  return id_of(d, append(d, HIA_DRAFT_FAIL, as, &code, 1, false));
}

uint64_t hiaF_draft_tuple(hia_draft *d, const uint64_t *parts, size_t n) {
  doing(d, "tuple");
  need_body(d);
  check_parts(d, parts, n);
  uint32_t *ins = HIA_NEW_ARRAY(&d->comp->arena, uint32_t, n + 1);
  hia_type *types = HIA_NEW_ARRAY(&d->comp->arena, hia_type, n + 1);
  for (uint32_t i = 0; i < n; i++) {
    ins[i] = value_of(d, (role){"part", i + 1}, parts[i]);
    types[i] = type_at(d, ins[i]);
  }
  return id_of(d, append(d, HIA_DRAFT_TUPLE, tuple_of(d, types, n), ins, (uint32_t)n, false));
}

uint64_t hiaF_draft_part(hia_draft *d, uint64_t id, size_t i) {
  doing(d, "part");
  need_body(d);
  uint32_t tuple = value_of(d, (role){"the tuple", 0}, id);
  hia_type type = type_at(d, tuple);
  if (hiaG_is_scalar(type)) wrong(d, "the value is of type %s, no tuple", type_text(d, type));
  if (i >= hiaG_tuple_len(&d->types, type))
    wrong(d, "there is no part %zu in %s: parts are counted from 0", i, type_text(d, type));
  uint32_t index =
      append(d, HIA_DRAFT_PART, hiaG_tuple_part(&d->types, type, (uint32_t)i), &tuple, 1, false);
  d->items.data[index].index = (uint32_t)i;
  return id_of(d, index);
}

uint64_t hiaF_draft_name(hia_draft *d, uint64_t value, const char *name) {
  doing(d, "name");
  uint32_t index = any_value(d, (role){"the value", 0}, value);
  if (!name) wrong(d, "no name");
  char valid[MAX_NAME + 2];
  size_t len = 0;
  if (is_digit(name[0])) valid[len++] = '_';
  for (; *name && len < MAX_NAME; name++)
    valid[len++] = is_letter(*name) || is_digit(*name) ? *name : '_';
  valid[len] = '\0';
  if (strspn(valid, "_") == len) return value; /* nothing to read in it */
  hia_symbol_id symbol = intern(d, valid, len);
  if (symbol < HIA_N_KEYWORDS) {
    valid[len++] = '_';
    symbol = intern(d, valid, len);
  }
  d->items.data[index].symbol = symbol;
  d->items.data[index].is_inner = false;
  return value;
}

/* ---- if ---- */

static void open_if_or_loop(hia_draft *d, uint32_t item, uint32_t outer) {
  uint32_t depth = top(d)->depth + 1, block = new_block(d, d->fn, true);
  d->items.data[item].is_value = false;
  hiaR_push(&d->comp->arena, &d->open,
            (hia_draft_open){.item = item, .outer = outer, .block = block, .depth = depth});
}

static void check_depth(hia_draft *d) {
  if (top(d)->depth == HIA_DRAFT_MAX_NESTING)
    wrong(d, "blocks nest more than %u deep", HIA_DRAFT_MAX_NESTING);
}

void hiaF_draft_if(hia_draft *d, uint64_t condition) {
  doing(d, "if");
  need_body(d);
  check_depth(d);
  uint32_t value = typed_value(d, (role){"the condition", 0}, condition, HIA_BOOL);
  open_if_or_loop(d, append(d, HIA_DRAFT_IF, HIA_BOOL, &value, 1, false), HIA_NONE);
}

void hiaF_draft_else(hia_draft *d, uint64_t id) {
  doing(d, "else");
  uint32_t item = innermost(d, HIA_DRAFT_IF, false, "'if' without 'else'")->item;
  uint32_t value = value_of(d, (role){"the value of the first branch", 0}, id);
  append_part(d, HIA_DRAFT_ELSE, &value, 1, item);
  d->items.data[item].type = type_at(d, value);
  d->blocks.data[top(d)->block].is_open = false;
  uint32_t block = new_block(d, d->fn, true);
  top(d)->block = block;
  top(d)->is_second = true;
}

/* Ends the innermost IF or LOOP, which is a value from here on. */
static uint64_t close(hia_draft *d) {
  uint32_t item = top(d)->item;
  d->blocks.data[top(d)->block].is_open = false;
  if (top(d)->outer != HIA_NONE) d->blocks.data[top(d)->outer].is_open = false;
  d->open.len--;
  d->items.data[item].is_value = true;
  return id_of(d, item);
}

uint64_t hiaF_draft_end_if(hia_draft *d, uint64_t id) {
  doing(d, "end of if");
  uint32_t item = innermost(d, HIA_DRAFT_IF, true, "'if' with its 'else'")->item;
  uint32_t value =
      typed_value(d, (role){"the value of the second branch", 0}, id, type_at(d, item));
  append_part(d, HIA_DRAFT_END_IF, &value, 1, item);
  return close(d);
}

/* ---- loop ---- */

void hiaF_draft_loop(hia_draft *d, const uint64_t *init, size_t n, uint64_t *variables) {
  doing(d, "loop");
  need_body(d);
  check_depth(d);
  if (n == 0 || n > HIA_MAX_TYPE_PARTS)
    wrong(d, "%zu variables: a loop has 1 to %u", n, HIA_MAX_TYPE_PARTS);
  if (!init || !variables) wrong(d, init ? "no place for the variables" : "no initial values");
  uint32_t *ins = HIA_NEW_ARRAY(&d->comp->arena, uint32_t, n);
  hia_type *types = HIA_NEW_ARRAY(&d->comp->arena, hia_type, n);
  for (uint32_t i = 0; i < n; i++) {
    ins[i] = value_of(d, (role){"initial value", i + 1}, init[i]);
    types[i] = type_at(d, ins[i]);
  }
  hia_type type = n == 1 ? types[0] : tuple_of(d, types, n);
  uint32_t item = append(d, HIA_DRAFT_LOOP, type, ins, (uint32_t)n, false);
  uint32_t outer = new_block(d, d->fn, true);
  d->items.data[item].index = d->items.len;
  for (uint32_t i = 0; i < n; i++) {
    uint32_t var = new_item(d, HIA_DRAFT_VAR, types[i], outer);
    d->items.data[var].index = i;
    variables[i] = id_of(d, var);
  }
  open_if_or_loop(d, item, outer);
}

void hiaF_draft_while(hia_draft *d, uint64_t condition) {
  doing(d, "while");
  uint32_t item = innermost(d, HIA_DRAFT_LOOP, false, "loop without 'while'")->item;
  uint32_t value = typed_value(d, (role){"the condition", 0}, condition, HIA_BOOL);
  append_part(d, HIA_DRAFT_WHILE, &value, 1, item);
  d->blocks.data[top(d)->block].is_open = false;
  uint32_t block = new_block(d, d->fn, true);
  top(d)->block = block;
  top(d)->is_second = true;
}

uint64_t hiaF_draft_end_loop(hia_draft *d, const uint64_t *next, size_t n) {
  doing(d, "end of loop");
  uint32_t item = innermost(d, HIA_DRAFT_LOOP, true, "loop at its round")->item;
  uint32_t n_vars = d->items.data[item].n_ins, first = d->items.data[item].index;
  if (n != n_vars) wrong(d, "%zu next value%s for %u variables", n, n == 1 ? "" : "s", n_vars);
  if (!next) wrong(d, "no next values");
  uint32_t *ins = HIA_NEW_ARRAY(&d->comp->arena, uint32_t, n);
  for (uint32_t i = 0; i < n; i++)
    ins[i] = typed_value(d, (role){"next value", i + 1}, next[i], type_at(d, first + i));
  append_part(d, HIA_DRAFT_END_LOOP, ins, n_vars, item);
  return close(d);
}
