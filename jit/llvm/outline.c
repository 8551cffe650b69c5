/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Makes outlines (runtime/native/outline.h): where functions are is in the object's table of
 * symbols, and how they save registers in its .eh_frame. */
#include "jit/llvm/dwarf.h"
#include "runtime/native/load.h"
#include <elf.h>
#include <stdlib.h>

typedef struct outlining {
  hia_comp *comp;
  const hia_object *object;
  const uint64_t *places;
  const hia_graph *g;
  uint32_t code_size;
  HIA_VEC(hia_outline_function) functions;
  hia_text rules, names;
} outlining;

/* ---- names ---- */

/* The name that backtraces have, and behind it what the compiler has made of the function: the name
 * in the graph is "loss(i32) segment 1", and this one loss_segment_1. */
static const char *short_name(outlining *o, const hia_fn *fn) {
  hia_text text;
  hiaR_text_init(&text, &o->comp->arena);
  const char *source = fn->source < o->g->names.len ? o->g->names.data[fn->source] : "";
  size_t n = strlen(source), depth = 0;
  bool begins_so = n && strncmp(fn->name, source, n) == 0;
  hiaR_text_add(&text, source, begins_so ? n : 0);
  for (const char *c = fn->name + (begins_so ? n : 0); *c; c++) {
    depth += *c == '(';
    bool is_word = !strchr("(),. ", *c);
    if (!depth) hiaR_text_add(&text, is_word ? c : "_", 1);
    depth -= *c == ')' && depth;
  }
  return text.len ? text.data : fn->name;
}

/* The number at the end of a symbol; `len` becomes the bytes before it. HIA_NONE: there is none. */
static uint32_t number_of(const char *symbol, size_t *len) {
  const char *last = strrchr(symbol, '_'), *end = symbol + strcspn(symbol, ".");
  if (!last || last[1] < '0' || last[1] > '9') return HIA_NONE;
  char *rest;
  unsigned long number = strtoul(last + 1, &rest, 10);
  *len = (size_t)(last + 1 - symbol);
  return rest == end && number < HIA_NONE ? (uint32_t)number : HIA_NONE;
}

/* What the compiler has for a function besides its code: prefixes of symbols, and of names. */
static const char *const prefixes[] = {HIA_ENTRY_SYMBOL, HIA_PAYS_SYMBOL, "hia_typed_",
                                       "hia_plain_",     "hia_map_",      "hia_map_loop_"};

static bool is_prefix(const char *symbol, size_t len) {
  for (size_t i = 0; i < HIA_LEN(prefixes); i++)
    if (len == strlen(prefixes[i]) && strncmp(symbol, prefixes[i], len) == 0) return true;
  return false;
}

static bool is_code(outlining *o, const char *symbol, size_t len, hia_fn_id f) {
  if (len == sizeof HIA_CODE_SYMBOL - 1 && strncmp(symbol, HIA_CODE_SYMBOL, len) == 0) return true;
  const char *name = hiaL_function_name(&o->comp->arena, hiaG_fn(o->g, f)->name, f);
  size_t n = strcspn(symbol, "."); /* LLVM adds a number where two have one name */
  return strlen(name) == n && strncmp(symbol, name, n) == 0;
}

static uint32_t add_name(outlining *o, const char *name) {
  uint32_t at = hiaR_u32(o->names.len);
  hiaR_text_add(&o->names, name, strlen(name) + 1);
  return at;
}

static void name_function(outlining *o, const char *symbol, hia_outline_function *f) {
  size_t len = 0;
  uint32_t number = number_of(symbol, &len);
  hia_arena *arena = &o->comp->arena;
  bool is_host = len == sizeof HIA_HOST_CALL_SYMBOL - 1 &&
                 strncmp(symbol, HIA_HOST_CALL_SYMBOL, len) == 0 && number < o->g->externs.len;
  f->loc = HIA_NONE;
  if (is_host) {
    const char *name = o->g->externs.data[number].name;
    f->name = add_name(o, hiaR_arena_printf(arena, "%.*s%s", (int)len, symbol, name));
    return;
  }
  bool is_made = number < o->g->fns.len && is_prefix(symbol, len);
  if (number < o->g->fns.len && (is_made || is_code(o, symbol, len, number))) {
    const hia_fn *fn = hiaG_fn(o->g, number);
    const char *name = short_name(o, fn);
    f->loc = fn->loc < o->g->locs.len ? fn->loc : HIA_NONE;
    if (is_made) name = hiaR_arena_printf(arena, "%.*s%s", (int)len, symbol, name);
    f->name = add_name(o, name);
    return;
  }
  len = strcspn(symbol, ".");
  f->name = add_name(o, hiaR_arena_strndup(arena, symbol, len));
}

/* ---- functions ---- */

static bool is_loaded_code(const outlining *o, uint32_t section) {
  hia_object_section s;
  return hiaJ_object_section(o->object, section, &s) && s.flags & SHF_EXECINSTR &&
         o->places[section] != HIA_NOT_LOADED;
}

/* Symbols of no bytes are labels; other names of a function are left out later. */
static void find_functions(outlining *o) {
  hia_object_symbol s;
  for (uint64_t i = 0; hiaJ_object_symbol(o->object, i, &s); i++) {
    if (!s.is_function || !s.size || s.section >= hiaJ_object_n_sections(o->object) ||
        !is_loaded_code(o, s.section))
      continue;
    uint64_t pc = o->places[s.section] + s.value;
    if (s.value > o->code_size || s.size > o->code_size || pc + s.size > o->code_size) continue;
    hia_outline_function f = {.pc = hiaR_u32(pc), .end = hiaR_u32(pc + s.size)};
    name_function(o, s.name, &f);
    hiaR_push(&o->comp->arena, &o->functions, f);
  }
}

static int by_pc(const void *a, const void *b) {
  const hia_outline_function *x = a, *y = b;
  return x->pc != y->pc ? (x->pc > y->pc) - (x->pc < y->pc)
                        : (x->name > y->name) - (x->name < y->name);
}

static void sort(outlining *o) {
  hia_outline_function *f = o->functions.data;
  uint32_t n = 0;
  if (o->functions.len) qsort(f, o->functions.len, sizeof *f, by_pc);
  for (uint32_t i = 0; i < o->functions.len; i++)
    if (!n || f[i].pc >= f[n - 1].end) f[n++] = f[i];
  o->functions.len = n;
}

/* ---- how they save registers ---- */

/* True if this is what outlines say of the state at the begin of a function. */
static bool is_usual(const hia_cie *cie) {
  static const unsigned char initial[] = {0x0c, 7, 8, 0x90, 1};
  if (cie->code_align != 1 || cie->data_align != -8 || cie->return_register != 16) return false;
  size_t n = (size_t)(cie->initial.end - cie->initial.at);
  if (n < sizeof initial || memcmp(cie->initial.at, initial, sizeof initial) != 0) return false;
  for (size_t i = sizeof initial; i < n; i++)
    if (cie->initial.at[i]) return false; /* no operations, for the alignment */
  return true;
}

static hia_outline_function *function_at(const outlining *o, uint64_t pc) {
  uint32_t low = 0, high = o->functions.len;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (o->functions.data[middle].pc < pc)
      low = middle + 1;
    else
      high = middle;
  }
  return low < o->functions.len && o->functions.data[low].pc == pc ? &o->functions.data[low] : NULL;
}

static void find_rules(outlining *o) {
  hia_eh_frame reader = hiaJ_eh_frame(o->object);
  hia_fde fde;
  while (hiaJ_eh_frame_next(&reader, &fde)) {
    if (fde.section >= hiaJ_object_n_sections(o->object) || !is_loaded_code(o, fde.section) ||
        !is_usual(&fde.cie))
      continue;
    hia_outline_function *f = function_at(o, o->places[fde.section] + fde.pc);
    if (!f || f->rules_size) continue;
    f->rules = hiaR_u32(o->rules.len);
    f->rules_size = hiaR_u32((uint64_t)(fde.rules.end - fde.rules.at));
    hiaR_text_add(&o->rules, (const char *)fde.rules.at, f->rules_size);
  }
}

/* ---- the outline ---- */

hia_outline *hiaJ_outline_make(hia_comp *comp, const hia_object *object, const uint64_t *places,
                               const hia_laid_code *laid, const hia_graph *g) {
  outlining o = {
      .comp = comp, .object = object, .places = places, .g = g, .code_size = laid->code_size};
  hiaR_text_init(&o.rules, &comp->arena);
  hiaR_text_init(&o.names, &comp->arena);
  find_functions(&o);
  sort(&o);
  find_rules(&o);
  hia_outline head = {.n_functions = o.functions.len,
                      .rules_size = hiaR_u32(o.rules.len),
                      .names_size = hiaR_u32(o.names.len),
                      .code_size = o.code_size};
  hia_outline *outline = hiaR_arena_alloc(&comp->arena, (size_t)hiaR_outline_size(&head));
  *outline = head;
  char *at = (char *)(outline + 1);
  if (o.functions.len) memcpy(at, o.functions.data, o.functions.len * sizeof *o.functions.data);
  at += o.functions.len * sizeof *o.functions.data;
  if (o.rules.len) memcpy(at, o.rules.data, o.rules.len);
  if (o.names.len) memcpy(at + o.rules.len, o.names.data, o.names.len);
  return outline;
}

void hiaJ_outline_unplace(hia_outline *outline) {
  hia_outline_function *functions = (hia_outline_function *)(outline + 1);
  for (uint32_t i = 0; i < outline->n_functions; i++) functions[i].loc = HIA_NONE;
}
