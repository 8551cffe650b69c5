/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* What the header of an object declares for data types: for each one that occurs in signatures, or
 * in fields of such types, a view with readers of its fields, and makers (hiaton/data.h). All of it
 * is inline, so the object has no symbols for it. */
#include "jit/engine/build.h"

typedef struct shown {
  hia_type type;
  const char *name; /* in C: of the view, and with what follows of all else */
  const char *info; /* an expression for its hia_type_info */
} shown;

typedef struct showing {
  hia_building *b;
  HIA_VEC(shown) list;
  uint32_t *index; /* by type - HIA_FIRST_TYPE: 1 + its index in the list */
} showing;

static const hia_type_entry *entry_of(const hia_building *b, hia_type type) {
  return &b->types.entries.data[type - HIA_FIRST_TYPE];
}
static const hia_ctor *ctor_of(const hia_building *b, hia_type data, uint32_t number) {
  return &b->types.ctors.data[entry_of(b, data)->first + number];
}
static const char *name_of(const hia_building *b, uint32_t offset) {
  return b->types.names.data + offset;
}

/* ---- which types ---- */

static void show(showing *s, hia_type type, const char *info) {
  hia_building *b = s->b;
  hia_arena *arena = &b->comp.arena;
  if (hiaG_is_scalar(type)) return;
  const hia_type_entry *entry = entry_of(b, type);
  if (entry->kind == HIA_KIND_TENSOR) return;
  if (entry->kind == HIA_KIND_ARRAY) {
    show(s, entry->element, hiaR_arena_printf(arena, "hia_type_info_element(%s)", info));
    return;
  }
  if (entry->kind == HIA_KIND_TUPLE) {
    for (uint32_t i = 0; i < entry->n; i++)
      show(s, hiaG_tuple_part(&b->types, type, i),
           hiaR_arena_printf(arena, "hia_type_info_part(%s, %u)", info, i));
    return;
  }
  if (s->index[type - HIA_FIRST_TYPE]) return;
  const char *name = hiaR_arena_printf(arena, "%s%s", b->prefix, name_of(b, entry->name));
  const shown new = {type, hiaJ_own_c_name(b, name), info};
  hiaR_push(arena, &s->list, new);
  s->index[type - HIA_FIRST_TYPE] = s->list.len;
}

/* The words of signatures have types of their own, and the others are those of fields. */
static void show_all(showing *s) {
  hia_building *b = s->b;
  hia_arena *arena = &b->comp.arena;
  for (uint32_t i = 0; i < b->built.len; i++) {
    const hia_built *built = &b->built.data[i];
    uint32_t n = 0;
    for (uint32_t k = 0; built->type && k <= built->function->arity; k++) {
      const hia_function *f = built->function;
      hia_type type = hiaJ_type_in(b, k < f->arity ? &f->params[k] : &f->result);
      hia_type *words = HIA_NEW_ARRAY(arena, hia_type, hiaG_type_words(&b->types, type));
      hiaG_type_flatten(&b->types, type, words);
      for (uint32_t w = 0; w < hiaG_type_words(&b->types, type); w++, n++)
        show(s, words[w], hiaR_arena_printf(arena, "%s(%u)", built->type, n));
    }
  }
  for (uint32_t i = 0; i < s->list.len; i++) {
    hia_type type = s->list.data[i].type;
    const char *name = s->list.data[i].name;
    for (uint32_t c = 0; c < entry_of(b, type)->n; c++)
      for (uint32_t k = 0; k < ctor_of(b, type, c)->n; k++)
        show(s, b->types.fields.data[ctor_of(b, type, c)->first + k].type,
             hiaR_arena_printf(arena, "hia_type_info_field(%s_type(), %u, %u)", name, c, k));
  }
}

/* ---- text ---- */

static const char *c_type(const showing *s, hia_type word) {
  if (hiaG_is_scalar(word)) return hiaJ_c_type((hia_dtype)word);
  if (hiaG_type_kind(&s->b->types, word) == HIA_KIND_ARRAY) return "hia_array_ref";
  if (hiaG_type_kind(&s->b->types, word) == HIA_KIND_TENSOR) return "hia_tensor_ref";
  return s->list.data[s->index[word - HIA_FIRST_TYPE] - 1].name;
}

/* "type Tree = Leaf(x: i64) | Node(l: Tree, r: Tree)", in a comment. */
static void add_definition(hia_building *b, hia_type type) {
  hia_text *t = &b->text;
  hiaR_text_addf(t, "/* type %s =", name_of(b, entry_of(b, type)->name));
  for (uint32_t c = 0; c < entry_of(b, type)->n; c++) {
    const hia_ctor *ctor = ctor_of(b, type, c);
    hiaR_text_addf(t, "%s %s", c ? " |" : "", name_of(b, ctor->name));
    for (uint32_t i = 0; i < ctor->n; i++) {
      const hia_ctor_field *field = &b->types.fields.data[ctor->first + i];
      hiaR_text_addf(t, "%s%s: %s", i ? ", " : "(", name_of(b, field->name),
                     hiaG_type_text(&b->types, field->type));
    }
    if (ctor->n) hiaR_text_addf(t, ")");
  }
  hiaR_text_addf(t, " */\n");
}

static void add_view(hia_building *b, const shown *d) {
  hia_text *t = &b->text;
  hiaR_text_addf(t,
                 "static inline const hia_type_info *%s_type(void) {\n  return %s;\n}\n"
                 "static inline %s %s_view(const hia_value *value) {\n"
                 "  %s view;\n  view.word = hia_value_view(value, %s_type());\n"
                 "  return view;\n}\n",
                 d->name, d->info, d->name, d->name, d->name, d->name);
  hiaR_text_addf(t,
                 "static inline uint32_t %s_ctor(%s view) { return hia_view_ctor(view.word); }\n",
                 d->name, d->name);
}

typedef struct word {
  const hia_layout_word *layout_word;
  const char *name; /* of its reader */
} word;

/* The names of a field's words: x; of a tuple x_0, x_1. */
static uint32_t name_words(hia_building *b, hia_type type, const char *name, word *words) {
  if (hiaG_type_kind(&b->types, type) != HIA_KIND_TUPLE) {
    words->name = hiaJ_own_c_name(b, name);
    return 1;
  }
  uint32_t n = 0;
  for (uint32_t i = 0; i < hiaG_tuple_len(&b->types, type); i++)
    n += name_words(b, hiaG_tuple_part(&b->types, type, i),
                    hiaR_arena_printf(&b->comp.arena, "%s_%u", name, i), words + n);
  return n;
}

/* A view whose word is a number, of which memory has the lower bytes. */
static bool is_number(const hia_layout_word *layout_word) {
  return layout_word->repr == HIA_REPR_BYTE || layout_word->repr == HIA_REPR_HALF;
}
static unsigned size_of(const hia_layout_word *layout_word) {
  return hiaR_reprs[layout_word->repr].size;
}

static void add_readers(const showing *s, const shown *d, const word *words, uint32_t n) {
  hia_text *t = &s->b->text;
  for (uint32_t i = 0; i < n; i++) {
    const hia_layout_word *layout_word = words[i].layout_word;
    const char *type = c_type(s, layout_word->type);
    hiaR_text_addf(
        t,
        "static inline %s %s(%s view) {\n  %s x%s;\n"
        "  hia_view_read(view.word, %u, &x, %s);\n  return x;\n}\n",
        type, words[i].name, d->name, type, is_number(layout_word) ? " = {0}" : "", layout_word->at,
        is_number(layout_word) ? hiaR_arena_printf(&s->b->comp.arena, "%u", size_of(layout_word))
                               : "sizeof x");
  }
}

static void add_maker(const showing *s, const shown *d, const char *name, uint32_t number,
                      const hia_ctor *ctor, const word *words) {
  hia_text *t = &s->b->text;
  hiaR_text_addf(t, "static inline %s %s(", d->name, name);
  if (!ctor->n) {
    hiaR_text_addf(t, "void) {\n  %s made;\n  made.word = %u;\n  return made;\n}\n", d->name,
                   number);
    return;
  }
  size_t width = 100;
  hiaR_text_addf(t, "hia_maker *maker");
  for (uint32_t i = 0; i < ctor->layout.n; i++) {
    const char *type = c_type(s, words[i].layout_word->type);
    size_t len = strlen(type) + 10;
    bool breaks = width + len > 100;
    width = breaks ? len + 4 : width + len;
    hiaR_text_addf(t, "%s%s a%u", breaks ? ",\n    " : ", ", type, i);
  }
  hiaR_text_addf(t, ") {\n  char *object = (char *)hia_maker_object(maker, %u, %u);\n  %s made;\n",
                 number, ctor->layout.size, d->name);
  for (uint32_t i = 0; i < ctor->layout.n; i++)
    if (is_number(words[i].layout_word))
      hiaR_text_addf(t, "  memcpy(object + %u, &a%u, %u);\n", words[i].layout_word->at, i,
                     size_of(words[i].layout_word));
    else
      hiaR_text_addf(t, "  memcpy(object + %u, &a%u, sizeof a%u);\n", words[i].layout_word->at, i,
                     i);
  hiaR_text_addf(t, "  made.word = (uint64_t)(uintptr_t)object;\n  return made;\n}\n");
}

static void add_ctor(const showing *s, const shown *d, uint32_t number) {
  hia_building *b = s->b;
  hia_arena *arena = &b->comp.arena;
  const hia_ctor *ctor = ctor_of(b, d->type, number);
  const char *name = hiaR_arena_printf(arena, "%s_%s", d->name, name_of(b, ctor->name));
  word *words = HIA_NEW_ARRAY(arena, word, ctor->layout.n + 1);
  uint32_t n = 0;
  for (uint32_t i = 0; i < ctor->layout.n; i++)
    words[i].layout_word = &b->types.layout_words.data[ctor->layout.first + i];
  for (uint32_t i = 0; i < ctor->n; i++) {
    const hia_ctor_field *field = &b->types.fields.data[ctor->first + i];
    n += name_words(b, field->type,
                    hiaR_arena_printf(arena, "%s_%s", name, name_of(b, field->name)), words + n);
  }
  add_readers(s, d, words, n);
  add_maker(s, d, hiaJ_own_c_name(b, hiaR_arena_printf(arena, "%s_make", name)), number, ctor,
            words);
}

static void add_numbers(hia_building *b, const shown *d) {
  uint32_t n = entry_of(b, d->type)->n;
  hiaR_text_addf(&b->text, "enum {");
  for (uint32_t c = 0; c < n; c++) {
    const char *name = hiaR_arena_printf(&b->comp.arena, "%s_%s", d->name,
                                         name_of(b, ctor_of(b, d->type, c)->name));
    hiaR_text_addf(&b->text, "%s%s = %u", c ? ",\n      " : " ", hiaJ_own_c_name(b, name), c);
  }
  hiaR_text_addf(&b->text, " };\n");
}

bool hiaJ_has_values(const hia_building *b) {
  for (uint32_t i = 0; i < b->built.len; i++)
    if (b->built.data[i].function->has_references) return true;
  return false;
}

void hiaJ_header_data(hia_building *b) {
  showing s = {.b = b};
  if (!hiaJ_has_values(b)) return;
  /* All signatures are in the building's table from here on. */
  for (uint32_t i = 0; i < b->built.len; i++)
    for (uint32_t k = 0; k <= b->built.data[i].function->arity; k++) {
      const hia_function *f = b->built.data[i].function;
      hiaJ_type_in(b, k < f->arity ? &f->params[k] : &f->result);
    }
  s.index = HIA_NEW_ARRAY(&b->comp.arena, uint32_t, b->types.entries.len);
  show_all(&s);
  for (uint32_t i = 0; i < s.list.len; i++) {
    const shown *d = &s.list.data[i];
    hiaR_text_addf(&b->text, "\n");
    add_definition(b, d->type);
    hiaR_text_addf(&b->text, "typedef struct %s {\n  uint64_t word;\n} %s;\n", d->name, d->name);
    add_numbers(b, d);
  }
  for (uint32_t i = 0; i < s.list.len; i++) {
    hiaR_text_addf(&b->text, "\n");
    add_view(b, &s.list.data[i]);
    for (uint32_t c = 0; c < entry_of(b, s.list.data[i].type)->n; c++)
      add_ctor(&s, &s.list.data[i], c);
  }
}

/* ---- a value for the example ---- */

/* The height of the smallest value of a type, as far as it is known; HIA_NONE: not yet. An array is
 * empty. */
static uint32_t height_of(const hia_building *b, const uint32_t *heights, hia_type type) {
  if (hiaG_is_scalar(type)) return 0;
  const hia_type_entry *entry = entry_of(b, type);
  if (entry->kind == HIA_KIND_ARRAY || entry->kind == HIA_KIND_TENSOR) return 0;
  if (entry->kind == HIA_KIND_DATA) return heights[type - HIA_FIRST_TYPE];
  uint32_t most = 0;
  for (uint32_t i = 0; i < entry->n; i++) {
    uint32_t height = height_of(b, heights, b->types.parts.data[entry->first + i]);
    if (height > most) most = height;
  }
  return most;
}

static uint32_t ctor_height(const hia_building *b, const uint32_t *heights, const hia_ctor *ctor) {
  uint32_t most = 0;
  for (uint32_t i = 0; i < ctor->n; i++) {
    uint32_t height = height_of(b, heights, b->types.fields.data[ctor->first + i].type);
    if (height == HIA_NONE) return HIA_NONE;
    if (height >= most) most = height + 1;
  }
  return most;
}

/* The constructor that makes the lowest value. */
static uint32_t lowest(const hia_building *b, const uint32_t *heights, hia_type data) {
  uint32_t best = 0, least = HIA_NONE;
  for (uint32_t c = 0; c < entry_of(b, data)->n; c++) {
    uint32_t height = ctor_height(b, heights, ctor_of(b, data, c));
    if (height < least) best = c, least = height;
  }
  return best;
}

static void find_heights(const hia_building *b, uint32_t *heights) {
  for (uint32_t i = 0; i < b->types.entries.len; i++) heights[i] = HIA_NONE;
  for (bool is_changed = true; is_changed;) {
    is_changed = false;
    for (uint32_t i = 0; i < b->types.entries.len; i++) {
      if (b->types.entries.data[i].kind != HIA_KIND_DATA || heights[i] != HIA_NONE) continue;
      hia_type type = HIA_FIRST_TYPE + i;
      heights[i] = ctor_height(b, heights, ctor_of(b, type, lowest(b, heights, type)));
      is_changed |= heights[i] != HIA_NONE;
    }
  }
}

static void add_value(const hia_building *b, const uint32_t *heights, hia_type type,
                      hia_text *text) {
  if (hiaG_is_scalar(type)) {
    hiaR_text_addf(text, "%s", type == HIA_BOOL ? "true" : type <= HIA_I64 ? "3" : "1.5");
    return;
  }
  const hia_type_entry *entry = entry_of(b, type);
  if (entry->kind == HIA_KIND_ARRAY) {
    hiaR_text_addf(text, "[]");
    return;
  }
  if (entry->kind == HIA_KIND_TENSOR) {
    for (uint32_t i = 0; i < entry->n; i++) hiaR_text_addf(text, "[");
    add_value(b, heights, entry->element, text);
    for (uint32_t i = 0; i < entry->n; i++) hiaR_text_addf(text, "]");
    return;
  }
  const hia_ctor *ctor = NULL;
  if (entry->kind == HIA_KIND_DATA) ctor = ctor_of(b, type, lowest(b, heights, type));
  if (ctor) hiaR_text_addf(text, "%s", name_of(b, ctor->name));
  uint32_t n = ctor ? ctor->n : entry->n;
  for (uint32_t i = 0; i < n; i++) {
    hiaR_text_addf(text, i ? ", " : "(");
    add_value(b, heights,
              ctor ? b->types.fields.data[ctor->first + i].type
                   : b->types.parts.data[entry->first + i],
              text);
  }
  if (n) hiaR_text_addf(text, ")");
}

const char *hiaJ_small_value(hia_building *b, hia_type type) {
  uint32_t *heights = HIA_NEW_ARRAY(&b->comp.arena, uint32_t, b->types.entries.len + 1);
  find_heights(b, heights);
  hia_text text;
  hiaR_text_init(&text, &b->comp.arena);
  add_value(b, heights, type, &text);
  return text.data;
}
