/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Data types, patterns, matches, arrays and comprehensions of drafts. */
#include "frontend/build/build.h"

/* ---- data types ---- */

uint32_t hiaF_draft_ctor_named(const hia_draft *d, hia_symbol_id symbol) {
  uint32_t decl = d->symbols.list.data[symbol].decl;
  bool is_ctor = decl != HIA_NONE && decl != HIA_DRAFT_BUILTIN && (decl & HIA_DRAFT_IS_CTOR);
  return is_ctor ? decl & ~HIA_DRAFT_IS_CTOR : HIA_NONE;
}

uint32_t hiaF_draft_new_ctor(hia_draft *d, uint32_t data, hia_symbol_id symbol,
                             const hia_draft_field *fields, uint32_t n) {
  const char *name = hiaF_draft_text(d, symbol);
  hia_draft_data *type = &d->datas.data[data];
  if (name[0] < 'A' || name[0] > 'Z')
    hiaF_draft_wrong(d, "'%.80s': the name of a constructor starts with a capital letter", name);
  hiaF_draft_check_free(d, symbol);
  if (type->is_closed)
    hiaF_draft_wrong(d, "'%.80s' comes too late: patterns rely on the constructors of '%.80s'",
                     name, hiaF_draft_text(d, type->symbol));
  if (type->ctors.len == HIA_MAX_CTORS)
    hiaF_draft_wrong(d, "'%.80s' has more than %u constructors", hiaF_draft_text(d, type->symbol),
                     HIA_MAX_CTORS);
  uint32_t words = 0;
  for (uint32_t i = 0; i < n; i++) {
    words += hiaG_type_words(&d->types, fields[i].type);
    hiaF_draft_need_no_names(d, "a field", (hia_draft_sized){fields[i].type, fields[i].dims});
  }
  if (words > HIA_MAX_CTOR_WORDS)
    hiaF_draft_wrong(d, "the fields of '%.80s' have more than %u scalars, data and arrays in them",
                     name, HIA_MAX_CTOR_WORDS);
  if (d->ctors.len >= HIA_DRAFT_IS_CTOR) hiaF_draft_wrong(d, "too large a program");
  uint32_t ctor = d->ctors.len;
  hiaR_push(&d->comp->arena, &d->ctors,
            (hia_draft_ctor){symbol, data, type->ctors.len, d->fields.len, n});
  for (uint32_t i = 0; i < n; i++) hiaR_push(&d->comp->arena, &d->fields, fields[i]);
  hiaR_push(&d->comp->arena, &type->ctors, ctor);
  d->symbols.list.data[symbol].decl = ctor | HIA_DRAFT_IS_CTOR;
  return ctor;
}

uint64_t hiaF_draft_add_ctor(hia_draft *d, uint64_t id, const char *name,
                             const hia_draft_new_field *fields, size_t n) {
  hiaF_draft_doing(d, "constructor");
  if (!name) hiaF_draft_wrong(d, "no name");
  hia_symbol_id symbol = hiaF_draft_symbol(d, name, strlen(name));
  d->about = symbol;
  hia_type type = hiaF_draft_own_type(d, id, (hia_draft_role){"the type", 0});
  uint32_t data = hiaF_draft_data_of(d, type);
  if (data == HIA_NONE)
    hiaF_draft_wrong(d, "the type is %s, no data type", hiaF_draft_type_text(d, type));
  if (n > HIA_MAX_CTOR_WORDS) hiaF_draft_wrong(d, "%zu fields; at most %u", n, HIA_MAX_CTOR_WORDS);
  if (n && !fields) hiaF_draft_wrong(d, "no fields");
  hia_draft_field *made = HIA_NEW_ARRAY(&d->comp->arena, hia_draft_field, n + 1);
  d->stamp++;
  for (uint32_t i = 0; i < n; i++) {
    const char *field = fields[i].name;
    made[i].symbol = field ? hiaF_draft_symbol(d, field, strlen(field)) : HIA_NONE;
    hia_draft_sized sized =
        hiaF_draft_own_sized(d, fields[i].type, (hia_draft_role){"the type of field", i + 1});
    made[i].type = sized.type;
    made[i].dims = sized.dims;
    if (!field) continue;
    hia_symbol *s = &d->symbols.list.data[made[i].symbol];
    if (s->bound_at == d->stamp) hiaF_draft_wrong(d, "two fields are called '%.80s'", s->text);
    s->bound_at = d->stamp;
  }
  return hiaF_draft_id(d, hiaF_draft_new_ctor(d, data, symbol, made, (uint32_t)n));
}

uint64_t hiaF_draft_find_ctor(hia_draft *d, const char *name) {
  hiaF_draft_doing(d, "find constructor");
  if (!name) hiaF_draft_wrong(d, "no name");
  uint32_t ctor = hiaF_draft_ctor_named(d, hiaF_draft_symbol(d, name, strlen(name)));
  if (ctor == HIA_NONE)
    hiaF_draft_wrong(d, "there is no constructor '%s'", hiaF_draft_shown(d, name, strlen(name)));
  return hiaF_draft_id(d, ctor);
}

/* Returns the constructor of an id; messages are about it from here on. */
static uint32_t ctor_of(hia_draft *d, uint64_t id) {
  uint32_t ctor = hiaF_draft_index(d, (hia_draft_role){"the constructor", 0}, id, d->ctors.len,
                                   "is no constructor");
  d->about = d->ctors.data[ctor].symbol;
  return ctor;
}

static void check_fields(hia_draft *d, uint32_t ctor, size_t n, const void *fields) {
  uint32_t want = d->ctors.data[ctor].n;
  if (n != want) hiaF_draft_wrong(d, "%zu field%s instead of %u", n, n == 1 ? "" : "s", want);
  if (n && !fields) hiaF_draft_wrong(d, "no fields");
}

static const hia_draft_field *field_at(const hia_draft *d, uint32_t ctor, uint32_t i) {
  return &d->fields.data[d->ctors.data[ctor].fields + i];
}

static hia_type field_type(const hia_draft *d, uint32_t ctor, uint32_t i) {
  return field_at(d, ctor, i)->type;
}

uint64_t hiaF_draft_data(hia_draft *d, uint64_t id, const uint64_t *fields, size_t n) {
  hiaF_draft_doing(d, "data");
  uint32_t ctor = ctor_of(d, id), index;
  hia_type type = d->datas.data[d->ctors.data[ctor].data].type;
  if (d->ctors.data[ctor].n) hiaF_draft_need_block(d);
  check_fields(d, ctor, n, fields);
  if (n == 0) {
    index = hiaF_draft_new_item(d, HIA_DRAFT_DATA, type, HIA_NONE);
  } else {
    uint32_t *ins = HIA_NEW_ARRAY(&d->comp->arena, uint32_t, n);
    for (uint32_t i = 0; i < n; i++) {
      hia_draft_role r = {"field", i + 1};
      ins[i] = hiaF_draft_typed_value(d, r, fields[i], field_type(d, ctor, i));
      hiaF_draft_expect_dims(d, r, ins[i], field_at(d, ctor, i)->dims);
    }
    index = hiaF_draft_append(d, HIA_DRAFT_DATA, type, ins, (uint32_t)n, false);
  }
  d->items.data[index].index = ctor;
  return hiaF_draft_id(d, index);
}

/* ---- patterns ---- */

static uint32_t new_pattern(hia_draft *d, hia_draft_pattern pattern) {
  hiaR_push(&d->comp->arena, &d->patterns, pattern);
  return d->patterns.len - 1;
}

uint32_t hiaF_draft_new_any(hia_draft *d) {
  return new_pattern(d, (hia_draft_pattern){.kind = HIA_DRAFT_ANY, .n_nodes = 1});
}

uint32_t hiaF_draft_new_bind(hia_draft *d, hia_symbol_id symbol) {
  return new_pattern(
      d, (hia_draft_pattern){.kind = HIA_DRAFT_BIND, .n_nodes = 1, .n_bound = 1, .symbol = symbol});
}

uint32_t hiaF_draft_new_number(hia_draft *d, hia_type type, hia_word word) {
  return new_pattern(
      d, (hia_draft_pattern){.kind = HIA_DRAFT_NUMBER, .n_nodes = 1, .type = type, .word = word});
}

void hiaF_draft_check_pattern(hia_draft *d, uint32_t pattern, const char *what, hia_type type) {
  const hia_draft_pattern *p = &d->patterns.data[pattern];
  bool takes_any = p->kind == HIA_DRAFT_ANY || p->kind == HIA_DRAFT_BIND;
  if (takes_any || p->type == type) return;
  hiaF_draft_wrong(d, "%s is of type %s, and the pattern is for %s", what,
                   hiaF_draft_type_text(d, type), hiaF_draft_type_text(d, p->type));
}

uint32_t hiaF_draft_new_ctor_pattern(hia_draft *d, uint32_t ctor, const uint32_t *parts) {
  const hia_draft_ctor *c = &d->ctors.data[ctor];
  hia_draft_data *data = &d->datas.data[c->data];
  hia_draft_pattern p = {.kind = HIA_DRAFT_CTOR,
                         .n_nodes = 1,
                         .type = data->type,
                         .ctor = ctor,
                         .first = d->extra.len,
                         .n = c->n};
  data->is_closed = true;
  for (uint32_t i = 0; i < p.n; i++) {
    const hia_draft_pattern *part = &d->patterns.data[parts[i]];
    p.n_nodes += part->n_nodes;
    p.n_bound += part->n_bound;
    if (part->depth >= p.depth) p.depth = part->depth + 1;
    if (p.n_nodes > HIA_DRAFT_MAX_PATTERN)
      hiaF_draft_wrong(d, "a pattern of more than %u patterns", HIA_DRAFT_MAX_PATTERN);
    hiaR_push(&d->comp->arena, &d->extra, parts[i]);
  }
  if (p.depth >= HIA_DRAFT_MAX_PATTERN_DEPTH)
    hiaF_draft_wrong(d, "patterns nest more than %u deep", HIA_DRAFT_MAX_PATTERN_DEPTH);
  return new_pattern(d, p);
}

uint64_t hiaF_draft_pattern_any(hia_draft *d) {
  hiaF_draft_doing(d, "pattern");
  return hiaF_draft_id(d, hiaF_draft_new_any(d));
}

uint64_t hiaF_draft_pattern_bind(hia_draft *d, const char *name) {
  hiaF_draft_doing(d, "pattern");
  hia_symbol_id symbol = name ? hiaF_draft_suggested(d, name) : HIA_NONE;
  return hiaF_draft_id(d, hiaF_draft_new_bind(d, symbol));
}

uint64_t hiaF_draft_pattern_const(hia_draft *d, uint64_t constant) {
  hiaF_draft_doing(d, "pattern");
  uint32_t index = hiaF_draft_value(d, (hia_draft_role){"the constant", 0}, constant);
  const hia_draft_item *item = &d->items.data[index];
  if (item->kind != HIA_DRAFT_CONST) hiaF_draft_wrong(d, "the value is no constant of a scalar");
  if (item->type > HIA_I64)
    hiaF_draft_wrong(d, "the constant is of type %s, not bool, i32 or i64",
                     hiaF_draft_type_text(d, item->type));
  return hiaF_draft_id(d, hiaF_draft_new_number(d, item->type, item->word));
}

static uint32_t pattern_of(hia_draft *d, hia_draft_role r, uint64_t id) {
  return hiaF_draft_index(d, r, id, d->patterns.len, "is no pattern");
}

uint64_t hiaF_draft_pattern_ctor(hia_draft *d, uint64_t id, const uint64_t *fields, size_t n) {
  hiaF_draft_doing(d, "pattern");
  uint32_t ctor = ctor_of(d, id);
  check_fields(d, ctor, n, fields);
  uint32_t *parts = HIA_NEW_ARRAY(&d->comp->arena, uint32_t, n + 1);
  for (uint32_t i = 0; i < n; i++) {
    parts[i] = pattern_of(d, (hia_draft_role){"field", i + 1}, fields[i]);
    const char *what = hiaR_arena_printf(&d->comp->arena, "field %u", i + 1);
    hiaF_draft_check_pattern(d, parts[i], what, field_type(d, ctor, i));
  }
  return hiaF_draft_id(d, hiaF_draft_new_ctor_pattern(d, ctor, parts));
}

/* ---- match ---- */

void hiaF_draft_match(hia_draft *d, uint64_t id) {
  hiaF_draft_doing(d, "match");
  hiaF_draft_need_block(d);
  hiaF_draft_check_depth(d);
  uint32_t subject = hiaF_draft_value(d, (hia_draft_role){"the subject", 0}, id);
  hia_type type = hiaF_draft_type_at(d, subject);
  uint32_t data = hiaF_draft_data_of(d, type);
  if (type > HIA_I64 && data == HIA_NONE)
    hiaF_draft_wrong(d, "the subject is of type %s: a match works on data, integers and bool",
                     hiaF_draft_type_text(d, type));
  if (data != HIA_NONE) d->datas.data[data].is_closed = true;
  uint32_t item = hiaF_draft_append(d, HIA_DRAFT_MATCH, HIA_BOOL, &subject, 1, false);
  hiaF_draft_open_block(d, item, HIA_NONE);
  d->blocks.data[hiaF_draft_top(d)->block].is_open = false;
}

static uint32_t match_here(hia_draft *d) {
  return hiaF_draft_innermost(d, HIA_DRAFT_MATCH, false, "match between its arms")->item;
}

hia_type hiaF_draft_subject(hia_draft *d) {
  return hiaF_draft_type_at(d, d->extra.data[d->items.data[match_here(d)].ins]);
}

/* Makes the values that a pattern binds, from left to right. `taken`: the type of what it takes. */
static void bind(hia_draft *d, uint32_t pattern, hia_draft_sized taken, uint32_t block) {
  const hia_draft_pattern *p = &d->patterns.data[pattern];
  if (p->kind == HIA_DRAFT_BIND) {
    uint32_t item = hiaF_draft_new_item(d, HIA_DRAFT_BOUND, taken.type, block);
    d->items.data[item].symbol = p->symbol;
    hiaF_draft_set_dims(d, item, taken.dims);
  }
  for (uint32_t i = 0; p->n_bound && i < p->n; i++) {
    const hia_draft_field *field = field_at(d, p->ctor, i);
    bind(d, d->extra.data[p->first + i], (hia_draft_sized){field->type, field->dims}, block);
  }
}

void hiaF_draft_begin_arm(hia_draft *d, uint32_t pattern, uint64_t *bound, size_t n) {
  uint32_t match = match_here(d);
  hia_type subject = hiaF_draft_subject(d);
  hiaF_draft_check_pattern(d, pattern, "the subject", subject);
  uint32_t n_bound = d->patterns.data[pattern].n_bound;
  if (n != n_bound)
    hiaF_draft_wrong(d, "the pattern binds %u value%s, not %zu", n_bound, n_bound == 1 ? "" : "s",
                     n);
  if (n && !bound) hiaF_draft_wrong(d, "no place for the values that the pattern binds");
  uint32_t arm = hiaF_draft_append_part(d, HIA_DRAFT_ARM, NULL, 0, match);
  hiaF_draft_next_block(d);
  d->items.data[arm].word = (uint64_t)d->items.len << 32 | pattern;
  for (uint32_t i = 0; i < n; i++) bound[i] = hiaF_draft_id(d, d->items.len + i);
  bind(d, pattern, (hia_draft_sized){subject, NULL}, hiaF_draft_top(d)->block);
}

void hiaF_draft_arm_ctor(hia_draft *d, uint64_t id, uint64_t *bound, size_t n) {
  hiaF_draft_doing(d, "arm");
  match_here(d);
  uint32_t ctor = ctor_of(d, id);
  check_fields(d, ctor, n, bound);
  uint32_t *parts = HIA_NEW_ARRAY(&d->comp->arena, uint32_t, n + 1);
  for (uint32_t i = 0; i < n; i++) parts[i] = hiaF_draft_new_bind(d, HIA_NONE);
  hiaF_draft_begin_arm(d, hiaF_draft_new_ctor_pattern(d, ctor, parts), bound, n);
}

void hiaF_draft_arm_pattern(hia_draft *d, uint64_t id, uint64_t *bound, size_t n) {
  hiaF_draft_doing(d, "arm");
  match_here(d);
  hiaF_draft_begin_arm(d, pattern_of(d, (hia_draft_role){"the pattern", 0}, id), bound, n);
}

void hiaF_draft_end_arm(hia_draft *d, uint64_t id) {
  hiaF_draft_doing(d, "end of arm");
  uint32_t match = hiaF_draft_innermost(d, HIA_DRAFT_MATCH, true, "arm of a match")->item;
  hia_draft_item *item = &d->items.data[match];
  hia_draft_role r = {"the value of arm", item->index + 1};
  bool is_first = item->index == 0;
  uint32_t value =
      is_first ? hiaF_draft_value(d, r, id) : hiaF_draft_typed_value(d, r, id, item->type);
  item->type = hiaF_draft_type_at(d, value);
  item->index++;
  if (is_first)
    item->dims = d->items.data[value].dims;
  else
    hiaF_draft_join_dims(d, match, value);
  hiaF_draft_append_part(d, HIA_DRAFT_END_ARM, &value, 1, match);
  d->blocks.data[hiaF_draft_top(d)->block].is_open = false;
  hiaF_draft_top(d)->is_second = false;
}

/* The patterns of the arms of the innermost match, which is at its end. */
static uint32_t *patterns_of_match(hia_draft *d, uint32_t match) {
  const hia_u32vec *list = &d->fns.data[d->fn].list;
  uint32_t n = d->items.data[match].index;
  uint32_t *patterns = HIA_NEW_ARRAY(&d->comp->arena, uint32_t, (size_t)n + 1);
  for (uint32_t i = list->len; n > 0; i--) {
    const hia_draft_item *item = &d->items.data[list->data[i - 1]];
    if (item->kind == HIA_DRAFT_ARM && item->index == match) patterns[--n] = (uint32_t)item->word;
  }
  return patterns;
}

uint64_t hiaF_draft_end_match(hia_draft *d) {
  hiaF_draft_doing(d, "end of match");
  uint32_t match = match_here(d), n = d->items.data[match].index;
  if (n == 0) hiaF_draft_wrong(d, "the match has no arm");
  hiaF_draft_check_cover(d, hiaF_draft_subject(d), patterns_of_match(d, match), n);
  hiaF_draft_append_part(d, HIA_DRAFT_END_MATCH, NULL, 0, match);
  return hiaF_draft_close(d);
}

/* ---- arrays, and parts of tensors ---- */

/* Returns the item of a value that must be an array or a tensor. */
static uint32_t row_value(hia_draft *d, hia_draft_role r, uint64_t id) {
  uint32_t index = hiaF_draft_value(d, r, id);
  hia_type type = hiaF_draft_type_at(d, index);
  if (hiaF_draft_is_tensor(d, type)) return index;
  if (hiaG_type_kind(&d->types, type) == HIA_KIND_ARRAY) return index;
  hiaF_draft_wrong_value(d, r,
                         hiaR_arena_printf(&d->comp->arena, "is of type %s, no array or tensor",
                                           hiaF_draft_type_text(d, type)));
}

static bool is_tensor(const hia_draft *d, uint32_t item) {
  return hiaF_draft_is_tensor(d, hiaF_draft_type_at(d, item));
}

static uint32_t index_value(hia_draft *d, const char *what, uint64_t id) {
  hia_draft_role r = {what, 0};
  uint32_t index = hiaF_draft_value(d, r, id);
  hia_type type = hiaF_draft_type_at(d, index);
  if (type == HIA_I32 || type == HIA_I64) return index;
  hiaF_draft_wrong_value(d, r,
                         hiaR_arena_printf(&d->comp->arena, "is of type %s, not i32 or i64",
                                           hiaF_draft_type_text(d, type)));
}

static const hia_draft_role the_array = {"the array", 0};

uint64_t hiaF_draft_array(hia_draft *d, const uint64_t *elements, size_t n) {
  hiaF_draft_doing(d, "array");
  hiaF_draft_need_block(d);
  if (n == 0)
    hiaF_draft_wrong(d, "no elements: hia_build_empty_array makes an array without elements");
  if (n >= HIA_NONE / 8) hiaF_draft_wrong(d, "%zu elements", n);
  if (!elements) hiaF_draft_wrong(d, "no elements");
  uint32_t *ins = HIA_NEW_ARRAY(&d->comp->arena, uint32_t, n);
  for (uint32_t i = 0; i < n; i++) {
    hia_draft_role r = {"element", i + 1};
    ins[i] = i ? hiaF_draft_typed_value(d, r, elements[i], hiaF_draft_type_at(d, ins[0]))
               : hiaF_draft_value(d, r, elements[i]);
  }
  hia_type element = hiaF_draft_type_at(d, ins[0]);
  if (hiaF_draft_dtype(d, element) != HIA_N_DTYPES)
    return hiaF_draft_tensor_of(d, ins, (uint32_t)n);
  hia_type type = hiaF_draft_make_array(d, element);
  uint32_t index = hiaF_draft_append(d, HIA_DRAFT_ARRAY, type, ins, (uint32_t)n, false);
  d->items.data[index].dims = d->items.data[ins[0]].dims;
  for (uint32_t i = 1; i < n; i++) hiaF_draft_join_dims(d, index, ins[i]);
  return hiaF_draft_id(d, index);
}

uint64_t hiaF_draft_empty_array(hia_draft *d, uint64_t id) {
  hiaF_draft_doing(d, "empty array");
  hiaF_draft_need_block(d);
  hia_type type = hiaF_draft_own_type(d, id, (hia_draft_role){"the type", 0});
  if (hiaG_type_kind(&d->types, type) != HIA_KIND_ARRAY)
    hiaF_draft_wrong(d, "the type is %s, no type of arrays", hiaF_draft_type_text(d, type));
  return hiaF_draft_id(d, hiaF_draft_append(d, HIA_DRAFT_EMPTY, type, NULL, 0, false));
}

uint64_t hiaF_draft_len(hia_draft *d, uint64_t id) {
  hiaF_draft_doing(d, "len");
  hiaF_draft_need_block(d);
  uint32_t array = row_value(d, the_array, id);
  return hiaF_draft_id(d, hiaF_draft_append(d, HIA_DRAFT_LEN, HIA_I64, &array, 1, false));
}

uint64_t hiaF_draft_at(hia_draft *d, uint64_t array, uint64_t index) {
  hiaF_draft_doing(d, "at");
  hiaF_draft_need_block(d);
  uint32_t ins[2] = {row_value(d, the_array, array), 0};
  if (is_tensor(d, ins[0])) return hiaF_draft_tensor_at(d, ins[0], index);
  ins[1] = index_value(d, "the index", index);
  hia_type type = hiaG_element(&d->types, hiaF_draft_type_at(d, ins[0]));
  uint32_t item = hiaF_draft_append(d, HIA_DRAFT_AT, type, ins, 2, false);
  d->items.data[item].dims = d->items.data[ins[0]].dims;
  return hiaF_draft_id(d, item);
}

uint64_t hiaF_draft_slice(hia_draft *d, uint64_t array, uint64_t from, uint64_t end) {
  hiaF_draft_doing(d, "slice");
  hiaF_draft_need_block(d);
  uint32_t ins[3] = {row_value(d, the_array, array), 0, 0};
  ins[1] = index_value(d, "the start", from);
  ins[2] = index_value(d, "the end", end);
  if (is_tensor(d, ins[0])) return hiaF_draft_tensor_slice(d, ins);
  hia_type type = hiaF_draft_type_at(d, ins[0]);
  uint32_t item = hiaF_draft_append(d, HIA_DRAFT_SLICE, type, ins, 3, false);
  d->items.data[item].dims = d->items.data[ins[0]].dims;
  return hiaF_draft_id(d, item);
}

uint64_t hiaF_draft_set(hia_draft *d, uint64_t array, uint64_t index, uint64_t element) {
  hiaF_draft_doing(d, "set");
  hiaF_draft_need_block(d);
  uint32_t ins[3] = {row_value(d, the_array, array), 0, 0};
  hia_type type = hiaF_draft_type_at(d, ins[0]);
  hia_type row =
      hiaG_type_kind(&d->types, type) == HIA_KIND_ARRAY
          ? hiaG_element(&d->types, type)
          : hiaF_draft_make_ranked(d, hiaF_draft_dtype(d, type), hiaF_draft_rank(d, type) - 1);
  ins[1] = index_value(d, "the index", index);
  ins[2] = hiaF_draft_typed_value(d, (hia_draft_role){"the element", 0}, element, row);
  if (is_tensor(d, ins[0])) return hiaF_draft_tensor_set(d, ins);
  uint32_t item = hiaF_draft_append(d, HIA_DRAFT_SET, type, ins, 3, false);
  d->items.data[item].dims = d->items.data[ins[0]].dims;
  hiaF_draft_join_dims(d, item, ins[2]);
  return hiaF_draft_id(d, item);
}

uint64_t hiaF_draft_concat(hia_draft *d, const uint64_t *arrays, size_t n) {
  hiaF_draft_doing(d, "concat");
  hiaF_draft_need_block(d);
  if (n < 2 || n >= HIA_NONE / 8) hiaF_draft_wrong(d, "%zu arrays instead of 2 or more", n);
  if (!arrays) hiaF_draft_wrong(d, "no arrays");
  uint32_t *ins = HIA_NEW_ARRAY(&d->comp->arena, uint32_t, n);
  for (uint32_t i = 0; i < n; i++) {
    hia_draft_role r = {"array", i + 1};
    ins[i] = row_value(d, r, arrays[i]);
    if (i) hiaF_draft_typed_value(d, r, arrays[i], hiaF_draft_type_at(d, ins[0]));
  }
  if (is_tensor(d, ins[0])) return hiaF_draft_tensor_op(d, HIA_OP_CAT, arrays, n, HIA_NONE);
  hia_type type = hiaF_draft_type_at(d, ins[0]);
  uint32_t item = hiaF_draft_append(d, HIA_DRAFT_CONCAT, type, ins, (uint32_t)n, false);
  d->items.data[item].index = HIA_NONE;
  d->items.data[item].dims = d->items.data[ins[0]].dims;
  for (uint32_t i = 1; i < n; i++) hiaF_draft_join_dims(d, item, ins[i]);
  return hiaF_draft_id(d, item);
}

/* ---- comprehensions ---- */

/* Begins a comprehension, whose type is known when it ends. Returns the variable. */
static uint64_t begin_for(hia_draft *d, const uint32_t *ins, uint32_t n, hia_type type) {
  uint32_t item = hiaF_draft_append(d, HIA_DRAFT_FOR, HIA_BOOL, ins, n, false);
  hiaF_draft_open_block(d, item, HIA_NONE);
  uint32_t bound = hiaF_draft_new_item(d, HIA_DRAFT_BOUND, type, hiaF_draft_top(d)->block);
  d->items.data[item].index = bound;
  return hiaF_draft_id(d, bound);
}

uint64_t hiaF_draft_for_each(hia_draft *d, uint64_t id) {
  hiaF_draft_doing(d, "for each");
  hiaF_draft_need_block(d);
  hiaF_draft_check_depth(d);
  uint32_t array = row_value(d, the_array, id);
  hia_type type = hiaF_draft_type_at(d, array);
  type = is_tensor(d, array)
             ? hiaF_draft_make_ranked(d, hiaF_draft_dtype(d, type), hiaF_draft_rank(d, type) - 1)
             : hiaG_element(&d->types, type);
  uint64_t bound = begin_for(d, &array, 1, type);
  hiaF_draft_bind_row(d, (uint32_t)bound - 1, array);
  return bound;
}

uint64_t hiaF_draft_for_range(hia_draft *d, uint64_t from, uint64_t end) {
  hiaF_draft_doing(d, "for range");
  hiaF_draft_need_block(d);
  hiaF_draft_check_depth(d);
  uint32_t ins[2] = {index_value(d, "the start", from), 0};
  hia_type type = hiaF_draft_type_at(d, ins[0]);
  ins[1] = hiaF_draft_typed_value(d, (hia_draft_role){"the end", 0}, end, type);
  return begin_for(d, ins, 2, type);
}

uint64_t hiaF_draft_end_for(hia_draft *d, uint64_t id) {
  hiaF_draft_doing(d, "end of for");
  uint32_t item = hiaF_draft_innermost(d, HIA_DRAFT_FOR, false, "comprehension")->item;
  uint32_t value = hiaF_draft_value(d, (hia_draft_role){"the element", 0}, id);
  hia_type type = hiaF_draft_type_at(d, value);
  hia_dtype dtype = hiaF_draft_dtype(d, type);
  type = dtype == HIA_N_DTYPES ? hiaF_draft_make_array(d, type)
                               : hiaF_draft_make_tensor(d, dtype, hiaF_draft_rank(d, type) + 1);
  hiaF_draft_append_part(d, HIA_DRAFT_END_FOR, &value, 1, item);
  d->items.data[item].type = type;
  if (dtype == HIA_N_DTYPES)
    d->items.data[item].dims = d->items.data[value].dims;
  else
    hiaF_draft_tensor_packed(d, item, value);
  return hiaF_draft_close(d);
}
