/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The types of a graph. Types outlive a throw for lack of memory, so whatever refers to an entry is
 * added after there is memory for all of it. */
#include "graph/ir/type_table.h"
#include "runtime/base/shape.h"

void hiaG_types_init(hia_types *types, hia_comp *comp) { *types = (hia_types){.comp = comp}; }

hia_type_table hiaG_type_table(const hia_types *types) {
  return (hia_type_table){types->entries.data, types->parts.data,        types->ctors.data,
                          types->fields.data,  types->layout_words.data, types->names.data,
                          types->entries.len,  types->parts.len,         types->ctors.len,
                          types->fields.len,   types->layout_words.len,  types->names.len};
}

hia_types hiaG_types_view(const hia_type_table *table, hia_comp *comp) {
#define VIEW(field, array) {.data = (void *)(uintptr_t)table->array, .len = table->n_##array}
  return (hia_types){.comp = comp,
                     .entries = VIEW(entries, types),
                     .parts = VIEW(parts, parts),
                     .ctors = VIEW(ctors, ctors),
                     .fields = VIEW(fields, fields),
                     .layout_words = VIEW(layout_words, layout_words),
                     .names = VIEW(names, names)};
#undef VIEW
}

bool hiaG_type_exists(const hia_types *types, hia_type type) {
  return hiaR_is_scalar(type) ||
         (type >= HIA_FIRST_TYPE && type - HIA_FIRST_TYPE < types->entries.len);
}

static hia_type_entry *entry_of(const hia_types *types, hia_type type, hia_type_kind kind) {
  if (type < HIA_FIRST_TYPE || type - HIA_FIRST_TYPE >= types->entries.len ||
      types->entries.data[type - HIA_FIRST_TYPE].kind != (uint32_t)kind)
    HIA_BUG(types->comp, "type %u is no %s", type,
            kind == HIA_KIND_TUPLE    ? "tuple"
            : kind == HIA_KIND_ARRAY  ? "array"
            : kind == HIA_KIND_TENSOR ? "tensor"
                                      : "data type");
  return &types->entries.data[type - HIA_FIRST_TYPE];
}

hia_type_kind hiaG_type_kind(const hia_types *types, hia_type type) {
  return hiaR_is_scalar(type) ? HIA_KIND_SCALAR
                              : (hia_type_kind)types->entries.data[type - HIA_FIRST_TYPE].kind;
}

/* ---- making ---- */

static hia_type add_entry(hia_types *types, uint32_t hash, hia_type_entry entry) {
  hia_arena *arena = &types->comp->arena;
  hiaR_reserve(arena, &types->entries, types->entries.len + 1);
  hiaR_index_add(arena, &types->index, hash, types->entries.len);
  hiaR_push(arena, &types->entries, entry);
  return HIA_FIRST_TYPE + types->entries.len - 1;
}

hia_type hiaG_tuple(hia_types *types, const hia_type *parts, uint32_t n) {
  if (n < 2) HIA_BUG(types->comp, "a tuple of %u", n);
  hia_arena *arena = &types->comp->arena;
  uint32_t hash = hiaR_hash(parts, n * sizeof *parts), at = hash, i; /* as in hash_of */
  while ((i = hiaR_index_next(&types->index, hash, &at)) != HIA_NONE) {
    const hia_type_entry *t = &types->entries.data[i];
    if (t->kind == HIA_KIND_TUPLE && t->n == n &&
        memcmp(types->parts.data + t->first, parts, n * sizeof *parts) == 0)
      return HIA_FIRST_TYPE + i;
  }
  hia_type_entry t = {.kind = HIA_KIND_TUPLE, .first = types->parts.len, .n = n};
  for (uint32_t k = 0; k < n; k++) {
    uint32_t words = hiaG_type_words(types, parts[k]);
    if (words > UINT32_MAX - t.n_words)
      hiaR_throw(types->comp, HIA_MEMORY, "out of memory: type with too many parts");
    t.n_words += words;
  }
  for (uint32_t k = 0; k < n; k++) hiaR_push(arena, &types->parts, parts[k]);
  return add_entry(types, hash, t);
}

/* Returns the form of a value in the memory of objects. */
static uint8_t repr_of(const hia_types *types, hia_type type) {
  return hiaR_is_scalar(type) ? (uint8_t)type
                              : (uint8_t)types->entries.data[type - HIA_FIRST_TYPE].repr;
}

/* Appends the layout words of values of these types, one after the other. */
static hia_layout lay_out(hia_types *types, const hia_type *values, uint32_t n, uint32_t header) {
  uint32_t first = types->layout_words.len, n_words = 0;
  for (uint32_t i = 0; i < n; i++) {
    uint32_t words = hiaG_type_words(types, values[i]);
    if (words > HIA_MAX_LAYOUT_WORDS - n_words)
      HIA_BUG(types->comp, "an object of more than %u words", HIA_MAX_LAYOUT_WORDS);
    n_words += words;
  }
  hiaR_reserve(&types->comp->arena, &types->layout_words, first + n_words);
  hia_mark mark = hiaR_arena_mark(&types->comp->scratch);
  hia_type *flat = HIA_NEW_ARRAY(&types->comp->scratch, hia_type, n_words + 1), *at = flat;
  for (uint32_t i = 0; i < n; i++) {
    hiaG_type_flatten(types, values[i], at);
    at += hiaG_type_words(types, values[i]);
  }
  for (uint32_t i = 0; i < n_words; i++)
    types->layout_words.data[first + i] =
        (hia_layout_word){.type = flat[i], .repr = repr_of(types, flat[i])};
  hia_layout layout = hiaR_lay_out(types->layout_words.data + first, n_words, header);
  hiaR_arena_release(&types->comp->scratch, mark);
  layout.first = first;
  types->layout_words.len += n_words;
  return layout;
}

hia_type hiaG_array(hia_types *types, hia_type element) {
  uint32_t hash = hiaR_hash(&element, sizeof element) + HIA_KIND_ARRAY, at = hash, i;
  while ((i = hiaR_index_next(&types->index, hash, &at)) != HIA_NONE) {
    const hia_type_entry *t = &types->entries.data[i];
    if (t->kind == HIA_KIND_ARRAY && t->element == element) return HIA_FIRST_TYPE + i;
  }
  hia_layout layout = lay_out(types, &element, 1, 0);
  return add_entry(types, hash,
                   (hia_type_entry){.kind = HIA_KIND_ARRAY,
                                    .n_words = 1,
                                    .element = element,
                                    .repr = HIA_REPR_REF,
                                    .layout = layout});
}

static uint32_t tensor_hash(hia_dtype dtype, uint32_t rank) {
  uint32_t what[2] = {dtype, rank};
  return hiaR_hash(what, sizeof what) + HIA_KIND_TENSOR;
}

hia_type hiaG_tensor_made(const hia_types *types, hia_dtype dtype, uint32_t rank) {
  uint32_t hash = tensor_hash(dtype, rank), at = hash, i;
  while ((i = hiaR_index_next(&types->index, hash, &at)) != HIA_NONE) {
    const hia_type_entry *t = &types->entries.data[i];
    if (t->kind == HIA_KIND_TENSOR && t->element == dtype && t->n == rank)
      return HIA_FIRST_TYPE + i;
  }
  return HIA_NONE;
}

hia_type hiaG_tensor(hia_types *types, hia_dtype dtype, uint32_t rank) {
  hia_type made = hiaG_tensor_made(types, dtype, rank);
  if (!rank || rank > HIA_MAX_RANK) HIA_BUG(types->comp, "a tensor of rank %u", rank);
  if (made != HIA_NONE) return made;
  return add_entry(types, tensor_hash(dtype, rank),
                   (hia_type_entry){.kind = HIA_KIND_TENSOR,
                                    .n = rank,
                                    .n_words = 1,
                                    .element = dtype,
                                    .repr = HIA_REPR_REF});
}

static uint32_t add_name(hia_types *types, const char *name) {
  uint32_t at = types->names.len;
  size_t size = strlen(name) + 1;
  if (size > UINT32_MAX - at) hiaR_throw(types->comp, HIA_MEMORY, "out of memory: names of types");
  hiaR_reserve(&types->comp->arena, &types->names, at + (uint32_t)size);
  memcpy(types->names.data + at, name, size);
  types->names.len += (uint32_t)size;
  return at;
}

static uint32_t hash_of(const hia_types *types, const hia_type_entry *entry) {
  if (entry->kind == HIA_KIND_TUPLE)
    return hiaR_hash(types->parts.data + entry->first, entry->n * sizeof(hia_type));
  if (entry->kind == HIA_KIND_ARRAY)
    return hiaR_hash(&entry->element, sizeof entry->element) + HIA_KIND_ARRAY;
  if (entry->kind == HIA_KIND_TENSOR) return tensor_hash((hia_dtype)entry->element, entry->n);
  const char *name = types->names.data + entry->name;
  return hiaR_hash(name, strlen(name)) + HIA_KIND_DATA;
}

void hiaG_types_copy(hia_types *types, hia_comp *comp, const hia_type_table *table) {
  hiaG_types_init(types, comp);
#define COPY(field, array)                                                                         \
  if (table->n_##array) {                                                                          \
    hiaR_reserve(&comp->arena, &types->field, table->n_##array);                                   \
    memcpy(types->field.data, table->array, table->n_##array * sizeof *table->array);              \
    types->field.len = table->n_##array;                                                           \
  }
  COPY(parts, parts)
  COPY(ctors, ctors)
  COPY(fields, fields)
  COPY(layout_words, layout_words)
  COPY(names, names)
  COPY(entries, types)
#undef COPY
  for (uint32_t i = 0; i < types->entries.len; i++)
    hiaR_index_add(&comp->arena, &types->index, hash_of(types, &types->entries.data[i]), i);
}

/* The type has no constructors so far. In the end no type has none: there would be no value of it.
 */
hia_type hiaG_data(hia_types *types, const char *name) {
  uint32_t hash = hiaR_hash(name, strlen(name)) + HIA_KIND_DATA, at = hash, i;
  while ((i = hiaR_index_next(&types->index, hash, &at)) != HIA_NONE) {
    const hia_type_entry *t = &types->entries.data[i];
    if (t->kind == HIA_KIND_DATA && strcmp(types->names.data + t->name, name) == 0)
      return HIA_FIRST_TYPE + i;
  }
  return add_entry(types, hash,
                   (hia_type_entry){.kind = HIA_KIND_DATA,
                                    .n_words = 1,
                                    .name = add_name(types, name),
                                    .repr = HIA_REPR_REF});
}

hia_type hiaG_new_data(hia_types *types, const char *name, hia_arena *scratch) {
  uint32_t n = types->entries.len;
  hia_type type = hiaG_data(types, name);
  for (uint32_t i = 2; types->entries.len == n; i++)
    type = hiaG_data(types, hiaR_arena_printf(scratch, "%s_%u", name, i));
  return type;
}

bool hiaG_data_is_defined(const hia_types *types, hia_type data) {
  return entry_of(types, data, HIA_KIND_DATA)->n != 0;
}

/* One layout that may have words of the data type, which now have a representation of their own. */
static void lay_out_words(hia_types *types, hia_layout *layout, uint32_t header, hia_type data,
                          uint8_t repr) {
  if (!layout->n) return;
  hia_layout_word *layout_words = types->layout_words.data + layout->first;
  uint32_t first = layout->first, n = 0;
  for (uint32_t i = 0; i < layout->n; i++) {
    if (layout_words[i].type != data) continue;
    layout_words[i].repr = repr;
    n++;
  }
  if (!n) return;
  *layout = hiaR_lay_out(layout_words, layout->n, header);
  layout->first = first;
}

/* Types are used before they are defined: layouts with words of this type are made again. */
static void lay_out_again(hia_types *types, hia_type data, uint8_t repr) {
  for (uint32_t i = 0; i < types->ctors.len; i++)
    lay_out_words(types, &types->ctors.data[i].layout, sizeof(hia_counted), data, repr);
  for (uint32_t i = 0; i < types->entries.len; i++)
    if (types->entries.data[i].kind == HIA_KIND_ARRAY)
      lay_out_words(types, &types->entries.data[i].layout, 0, data, repr);
}

void hiaG_data_define(hia_types *types, hia_type data, const hia_ctor_def *ctors, uint32_t n) {
  hia_arena *arena = &types->comp->arena;
  uint32_t first = types->ctors.len;
  bool has_fields = false;
  if (hiaG_data_is_defined(types, data) || !n || n > HIA_MAX_CTORS)
    HIA_BUG(types->comp, "data type %u with %u constructors", data, n);
  for (uint32_t i = 0; i < n; i++) {
    const hia_ctor_def *def = &ctors[i];
    hia_ctor ctor = {.name = add_name(types, def->name), .first = types->fields.len};
    for (uint32_t k = 0; k < def->n_fields; k++) {
      hia_ctor_field field = {add_name(types, def->field_names[k]), def->field_types[k]};
      hiaR_push(arena, &types->fields, field);
    }
    ctor.n = def->n_fields;
    has_fields |= ctor.n != 0;
    if (ctor.n) ctor.layout = lay_out(types, def->field_types, ctor.n, sizeof(hia_counted));
    hiaR_push(arena, &types->ctors, ctor);
  }
  hia_type_entry *entry = entry_of(types, data, HIA_KIND_DATA);
  entry->first = first;
  entry->n = n;
  entry->repr = hiaR_data_repr(n, has_fields);
  if (!has_fields) lay_out_again(types, data, (uint8_t)entry->repr);
}

static hia_ctor *ctor_of(const hia_types *types, hia_type data, uint32_t number) {
  return &types->ctors.data[entry_of(types, data, HIA_KIND_DATA)->first + number];
}

void hiaG_data_sizes(hia_types *types, hia_type data, uint32_t number, const uint32_t *sizes,
                     uint32_t n) {
  hia_ctor *ctor = ctor_of(types, data, number);
  if (!n) return;
  ctor->sizes = types->parts.len;
  ctor->n_sizes = n;
  for (uint32_t i = 0; i < n; i++) hiaR_push(&types->comp->arena, &types->parts, sizes[i]);
}

bool hiaG_data_has_sizes(const hia_types *types, hia_type data, uint32_t number,
                         const uint32_t *sizes, uint32_t n) {
  const hia_ctor *ctor = ctor_of(types, data, number);
  return ctor->n_sizes == n &&
         (!n || memcmp(types->parts.data + ctor->sizes, sizes, n * sizeof *sizes) == 0);
}

bool hiaG_data_is(const hia_types *types, hia_type data, const hia_ctor_def *ctors, uint32_t n) {
  const hia_type_entry *entry = entry_of(types, data, HIA_KIND_DATA);
  const char *names = types->names.data;
  if (entry->n != n) return false;
  for (uint32_t i = 0; i < n; i++) {
    const hia_ctor *ctor = &types->ctors.data[entry->first + i];
    if (ctor->n != ctors[i].n_fields || strcmp(names + ctor->name, ctors[i].name) != 0)
      return false;
    for (uint32_t k = 0; k < ctor->n; k++) {
      const hia_ctor_field *field = &types->fields.data[ctor->first + k];
      if (field->type != ctors[i].field_types[k] ||
          strcmp(names + field->name, ctors[i].field_names[k]) != 0)
        return false;
    }
  }
  return true;
}

/* ---- reading ---- */

uint32_t hiaG_tuple_len(const hia_types *types, hia_type tuple) {
  return entry_of(types, tuple, HIA_KIND_TUPLE)->n;
}

hia_type hiaG_tuple_part(const hia_types *types, hia_type tuple, uint32_t i) {
  return types->parts.data[entry_of(types, tuple, HIA_KIND_TUPLE)->first + i];
}

hia_type hiaG_element(const hia_types *types, hia_type array) {
  return entry_of(types, array, HIA_KIND_ARRAY)->element;
}

hia_dtype hiaG_tensor_dtype(const hia_types *types, hia_type tensor) {
  return (hia_dtype)entry_of(types, tensor, HIA_KIND_TENSOR)->element;
}

hia_dtype hiaG_dtype(const hia_types *types, hia_type type) {
  if (hiaG_is_scalar(type)) return (hia_dtype)type;
  return hiaG_type_kind(types, type) == HIA_KIND_TENSOR ? hiaG_tensor_dtype(types, type)
                                                        : HIA_N_DTYPES;
}

hia_type hiaG_ranked(hia_types *types, hia_dtype dtype, uint32_t rank) {
  return rank ? hiaG_tensor(types, dtype, rank) : (hia_type)dtype;
}

uint32_t hiaG_rank(const hia_types *types, hia_type type) {
  return hiaR_is_scalar(type) ? 0 : entry_of(types, type, HIA_KIND_TENSOR)->n;
}

uint32_t hiaG_type_words(const hia_types *types, hia_type type) {
  return hiaR_is_scalar(type) ? 1 : types->entries.data[type - HIA_FIRST_TYPE].n_words;
}

void hiaG_type_flatten(const hia_types *types, hia_type type, hia_type *out) {
  hia_type_table table = hiaG_type_table(types);
  hiaR_type_flatten(&table, type, out);
}

typedef HIA_VEC(hia_open_type) open_types;

void hiaG_type_print(const hia_types *types, hia_type type, hia_text *out) {
  hia_arena *scratch = &types->comp->scratch;
  hia_mark mark = hiaR_arena_mark(scratch);
  bool is_own = out->arena != scratch; /* else the text lies behind the mark */
  hia_type_table table = hiaG_type_table(types);
  open_types open = {0};
  hia_type_pieces pieces = {.types = &table, .type = type};
  for (const char *piece;;) {
    hiaR_reserve(scratch, &open, pieces.n_open + 1);
    pieces.open = open.data;
    pieces.max_open = open.len = pieces.n_open + 1;
    if (!(piece = hiaR_type_piece(&pieces))) break;
    hiaR_text_add(out, piece, strlen(piece));
  }
  if (is_own) hiaR_arena_release(scratch, mark);
}

const char *hiaG_type_text(const hia_types *types, hia_type type) {
  if (hiaR_is_scalar(type)) return hiaG_dtype_name((hia_dtype)type);
  if (!hiaG_type_exists(types, type)) return "?";
  hia_text text;
  hiaR_text_init(&text, &types->comp->scratch);
  hiaG_type_print(types, type, &text);
  return text.data;
}

/* ---- what values lead to ---- */

void hiaG_mark_parts(const hia_types *types, hia_type type, bool *marks) {
  if (hiaG_is_scalar(type) || marks[type - HIA_FIRST_TYPE]) return;
  marks[type - HIA_FIRST_TYPE] = true;
  const hia_type_entry *entry = &types->entries.data[type - HIA_FIRST_TYPE];
  switch ((hia_type_kind)entry->kind) {
  case HIA_KIND_TUPLE:
    for (uint32_t i = 0; i < entry->n; i++)
      hiaG_mark_parts(types, types->parts.data[entry->first + i], marks);
    break;
  case HIA_KIND_ARRAY: hiaG_mark_parts(types, entry->element, marks); break;
  case HIA_KIND_DATA:
    for (uint32_t c = 0; c < entry->n; c++) {
      const hia_ctor *ctor = &types->ctors.data[entry->first + c];
      for (uint32_t i = 0; i < ctor->n; i++)
        hiaG_mark_parts(types, types->fields.data[ctor->first + i].type, marks);
    }
    break;
  default: break;
  }
}

bool hiaG_holds_tensors(const hia_types *types, hia_type type, hia_arena *scratch) {
  bool *marks = HIA_NEW_ARRAY(scratch, bool, types->entries.len + 1);
  hiaG_mark_parts(types, type, marks);
  for (uint32_t t = 0; t < types->entries.len; t++)
    if (marks[t] && types->entries.data[t].kind == HIA_KIND_TENSOR) return true;
  return false;
}

/* ---- copying ---- */

/* Returns how many parts a type consists of: those of a tuple, the element of an array. */
static uint32_t n_parts(const hia_types *types, hia_type type) {
  hia_type_kind kind = hiaG_type_kind(types, type);
  return kind == HIA_KIND_TUPLE ? hiaG_tuple_len(types, type) : kind == HIA_KIND_ARRAY;
}
static hia_type part(const hia_types *types, hia_type type, uint32_t i) {
  return hiaG_type_kind(types, type) == HIA_KIND_TUPLE ? hiaG_tuple_part(types, type, i)
                                                       : hiaG_element(types, type);
}

/* Data types that have been declared by the copy, and not defined yet. */
typedef struct copying {
  hia_types *to;
  const hia_types *from;
  hia_arena *scratch;
  hia_u32vec data; /* in `from` */
} copying;

static hia_type copy_leaf(copying *c, hia_type type) {
  if (hiaR_is_scalar(type)) return type;
  if (hiaG_type_kind(c->from, type) == HIA_KIND_TENSOR)
    return hiaG_tensor(c->to, hiaG_tensor_dtype(c->from, type), hiaG_rank(c->from, type));
  const hia_type_entry *entry = entry_of(c->from, type, HIA_KIND_DATA);
  hia_type copy = hiaG_data(c->to, c->from->names.data + entry->name);
  if (!hiaG_data_is_defined(c->to, copy)) hiaR_push(c->scratch, &c->data, type);
  return copy;
}

static hia_type copy(copying *c, hia_type type) {
  open_types stack = {0};
  hia_u32vec done = {0}; /* parts of the open types */
  if (!n_parts(c->from, type)) return copy_leaf(c, type);
  hiaR_push(c->scratch, &stack, (hia_open_type){type, 0});
  while (stack.len) {
    hia_open_type *top = &stack.data[stack.len - 1];
    uint32_t n = n_parts(c->from, top->type);
    if (top->next < n) {
      hia_type next = part(c->from, top->type, top->next++);
      if (n_parts(c->from, next))
        hiaR_push(c->scratch, &stack, (hia_open_type){next, 0});
      else
        hiaR_push(c->scratch, &done, copy_leaf(c, next));
      continue;
    }
    bool is_tuple = hiaG_type_kind(c->from, top->type) == HIA_KIND_TUPLE;
    stack.len--;
    done.len -= n;
    type = is_tuple ? hiaG_tuple(c->to, done.data + done.len, n)
                    : hiaG_array(c->to, done.data[done.len]);
    hiaR_push(c->scratch, &done, type);
  }
  return type;
}

static void copy_data(copying *c, hia_type data) {
  const hia_type_entry *entry = entry_of(c->from, data, HIA_KIND_DATA);
  hia_type to = hiaG_data(c->to, c->from->names.data + entry->name);
  if (hiaG_data_is_defined(c->to, to) || !entry->n) return;
  hia_ctor_def *defs = HIA_NEW_ARRAY(c->scratch, hia_ctor_def, entry->n);
  for (uint32_t i = 0; i < entry->n; i++) {
    const hia_ctor *ctor = &c->from->ctors.data[entry->first + i];
    const char **names = HIA_NEW_ARRAY(c->scratch, const char *, ctor->n);
    hia_type *types = HIA_NEW_ARRAY(c->scratch, hia_type, ctor->n);
    for (uint32_t k = 0; k < ctor->n; k++) {
      const hia_ctor_field *field = &c->from->fields.data[ctor->first + k];
      names[k] = c->from->names.data + field->name;
      types[k] = copy(c, field->type);
    }
    defs[i] = (hia_ctor_def){c->from->names.data + ctor->name, names, types, ctor->n};
  }
  hiaG_data_define(c->to, to, defs, entry->n);
  for (uint32_t i = 0; i < entry->n; i++) {
    const hia_ctor *ctor = &c->from->ctors.data[entry->first + i];
    if (ctor->n_sizes)
      hiaG_data_sizes(c->to, to, i, c->from->parts.data + ctor->sizes, ctor->n_sizes);
  }
}

hia_type hiaG_type_copy(hia_types *to, const hia_types *from, hia_type type) {
  if (to == from || hiaR_is_scalar(type)) return type;
  copying c = {.to = to, .from = from, .scratch = &to->comp->scratch};
  hia_mark mark = hiaR_arena_mark(c.scratch);
  type = copy(&c, type);
  while (c.data.len) copy_data(&c, c.data.data[--c.data.len]);
  hiaR_arena_release(c.scratch, mark);
  return type;
}

const char *hiaG_dtype_name(hia_dtype dtype) {
  return (unsigned)dtype < HIA_N_DTYPES ? hiaR_reprs[dtype].name : "?";
}
