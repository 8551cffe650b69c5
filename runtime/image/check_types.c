/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Checks the table of types: kinds, sizes, layouts. */
#include "runtime/base/shape.h"
#include "runtime/image/check.h"

/* A part or an element of type number `i`, which stands before it: so there is no type inside
 * itself. */
static bool is_type_before(const hia_image_checker *c, hia_type type, uint32_t i) {
  if (!hiaR_check_is_type(c, type)) return false;
  return hiaR_is_scalar(type) || type - HIA_FIRST_TYPE < i ||
         c->types[type - HIA_FIRST_TYPE].kind == HIA_KIND_DATA;
}

/* How a value of a type is held in the memory of objects, by a table that is not yet known to be
 * right. */
static uint8_t repr_of(const hia_image_checker *c, hia_type type) {
  if (hiaR_is_scalar(type)) return (uint8_t)type;
  uint32_t repr = hiaR_type_entry(&c->table, type)->repr;
  return repr == HIA_REPR_BYTE || repr == HIA_REPR_HALF ? (uint8_t)repr : HIA_REPR_REF;
}

/* Fills in the types of a value's words. */
static hia_layout_word *flatten(const hia_image_checker *c, hia_type type, hia_layout_word *at) {
  if (hiaR_type_kind(&c->table, type) != HIA_KIND_TUPLE) {
    *at = (hia_layout_word){.type = type, .repr = repr_of(c, type)};
    return at + 1;
  }
  const hia_type_entry *t = hiaR_type_entry(&c->table, type);
  for (uint32_t i = 0; i < t->n; i++) at = flatten(c, c->parts[t->first + i], at);
  return at;
}

/* Checks that a layout is the one that hiaR_lay_out gives for these n words, of which
 * `layout_words` has the types. */
static bool check_layout(const hia_image_checker *c, const hia_layout *layout,
                         hia_layout_word *layout_words, uint32_t n, uint32_t header) {
  hia_layout wanted = n ? hiaR_lay_out(layout_words, n, header) : (hia_layout){0};
  return layout->n == n && n <= c->h->layout_words.n && layout->first <= c->h->layout_words.n - n &&
         layout->n_refs == wanted.n_refs && layout->size == wanted.size &&
         (!n ||
          memcmp(&c->layout_words[layout->first], layout_words, n * sizeof *layout_words) == 0);
}

enum { MAX_WORDS = HIA_MAX_LAYOUT_WORDS };

/* `depth`, by type: how deep tuples nest, which bounds the recursion of `flatten`. */
static bool check_tuple(const hia_image_checker *c, uint32_t i, uint32_t *depth) {
  const hia_type_entry *t = &c->types[i];
  uint32_t words = 0;
  depth[i] = 1;
  if (t->n < 2 || t->n > c->h->parts.n || t->first > c->h->parts.n - t->n) return false;
  for (uint32_t k = 0; k < t->n; k++) {
    hia_type part = c->parts[t->first + k];
    if (!is_type_before(c, part, i)) return false;
    uint32_t n = hiaR_type_words(&c->table, part);
    if (n > MAX_WORDS - words) return false;
    words += n;
    if (hiaR_type_kind(&c->table, part) == HIA_KIND_TUPLE &&
        depth[part - HIA_FIRST_TYPE] >= depth[i])
      depth[i] = depth[part - HIA_FIRST_TYPE] + 1;
  }
  return words == t->n_words && depth[i] <= HIA_MAX_TYPE_PARTS;
}

/* Finds, by type, how many sizes it can declare, and how deep tuples and arrays nest in it: both as
 * far as the language's bounds. Types in a type come before it, or are data. */
static void find_sizes(const hia_image_checker *c, uint32_t *depth, uint32_t *sizes) {
  enum { MAX = HIA_MAX_TYPE_PARTS * HIA_MAX_RANK };
  for (uint32_t i = 0; i < c->h->types.n; i++) {
    const hia_type_entry *t = &c->types[i];
    const hia_type *parts = t->kind == HIA_KIND_TUPLE ? c->parts + t->first : &t->element;
    uint32_t n = t->kind == HIA_KIND_TUPLE ? t->n : t->kind == HIA_KIND_ARRAY;
    sizes[i] = t->kind == HIA_KIND_TENSOR ? t->n : 0;
    depth[i] = 1;
    for (uint32_t k = 0; k < n; k++) {
      if (hiaR_is_scalar(parts[k]) || parts[k] - HIA_FIRST_TYPE >= i) continue;
      uint32_t part = parts[k] - HIA_FIRST_TYPE;
      sizes[i] = sizes[i] + sizes[part] > MAX ? MAX + 1 : sizes[i] + sizes[part];
      if (depth[part] >= depth[i]) depth[i] = depth[part] < MAX ? depth[part] + 1 : MAX;
    }
  }
}

/* A constructor has no sizes, or as many as its fields can declare. */
static bool check_sizes(const hia_image_checker *c, const hia_ctor *ctor, const uint32_t *depth,
                        const uint32_t *sizes) {
  uint64_t n = 0;
  if (!ctor->n_sizes) return true;
  if (ctor->n_sizes > c->h->parts.n || ctor->sizes > c->h->parts.n - ctor->n_sizes) return false;
  for (uint32_t i = 0; i < ctor->n; i++) {
    hia_type type = c->fields[ctor->first + i].type;
    if (hiaR_is_scalar(type)) continue;
    if (depth[type - HIA_FIRST_TYPE] > HIA_MAX_TYPE_PARTS) return false;
    n += sizes[type - HIA_FIRST_TYPE];
  }
  return n == ctor->n_sizes;
}

static bool check_ctor(const hia_image_checker *c, const hia_ctor *ctor) {
  hia_layout_word layout_words[MAX_WORDS], *end = layout_words;
  if (ctor->name >= c->h->names.n || ctor->n > c->h->fields.n ||
      ctor->first > c->h->fields.n - ctor->n)
    return false;
  for (uint32_t i = 0; i < ctor->n; i++) {
    const hia_ctor_field *field = &c->fields[ctor->first + i];
    if (field->name >= c->h->names.n || !hiaR_check_is_type(c, field->type) ||
        hiaR_type_words(&c->table, field->type) > (uint32_t)(layout_words + MAX_WORDS - end))
      return false;
    end = flatten(c, field->type, end);
  }
  return check_layout(c, &ctor->layout, layout_words, (uint32_t)(end - layout_words),
                      sizeof(hia_counted));
}

static bool check_array(const hia_image_checker *c, uint32_t i) {
  const hia_type_entry *t = &c->types[i];
  hia_layout_word layout_words[MAX_WORDS];
  if (!is_type_before(c, t->element, i)) return false;
  uint32_t n = hiaR_type_words(&c->table, t->element);
  if (n > MAX_WORDS) return false;
  flatten(c, t->element, layout_words);
  return t->repr == HIA_REPR_REF && check_layout(c, &t->layout, layout_words, n, 0);
}

static bool check_tensor(const hia_type_entry *t) {
  return t->repr == HIA_REPR_REF && t->element < HIA_N_DTYPES && t->n >= 1 && t->n <= HIA_MAX_RANK;
}

/* Data types have constructors of their own, one type's behind the other's. */
static bool check_data(hia_image_checker *c, uint32_t i, uint32_t *n_ctors) {
  const hia_type_entry *t = &c->types[i];
  if (t->name >= c->h->names.n || !t->n || t->n > HIA_MAX_CTORS || t->n > c->h->ctors.n - *n_ctors)
    return false;
  if (t->first > c->h->ctors.n - t->n) return false;
  *n_ctors += t->n;
  bool has_fields = false;
  for (uint32_t k = 0; k < t->n; k++) has_fields |= c->table.ctors[t->first + k].n != 0;
  if (t->repr != hiaR_data_repr(t->n, has_fields)) return false;
  for (uint32_t k = 0; k < t->n; k++) {
    if (c->type_of_ctor[t->first + k] != HIA_NONE) return false;
    c->type_of_ctor[t->first + k] = HIA_FIRST_TYPE + i;
  }
  return true;
}

/* First what may be looked at without the rest: kinds and words. Then tuples, from which layouts
 * follow, and last the layouts. */
bool hiaR_check_types(hia_image_checker *c, uint32_t *depth) {
  uint32_t n = c->h->types.n, n_ctors = 0;
  c->table = (hia_type_table){
      c->types, c->parts,      c->ctors,      c->fields,      c->layout_words,      c->names,
      n,        c->h->parts.n, c->h->ctors.n, c->h->fields.n, c->h->layout_words.n, c->h->names.n};
  if (c->h->names.n && c->names[c->h->names.n - 1] != 0)
    return hiaR_check_bad(c, "names have no end");
  for (uint32_t i = 0; i < c->h->ctors.n; i++) c->type_of_ctor[i] = HIA_NONE;
  for (uint32_t i = 0; i < n; i++) {
    const hia_type_entry *t = &c->types[i];
    bool is_tuple = t->kind == HIA_KIND_TUPLE;
    bool is_known = is_tuple || t->kind == HIA_KIND_ARRAY || t->kind == HIA_KIND_DATA ||
                    (t->kind == HIA_KIND_TENSOR && check_tensor(t));
    if (!is_known || (!is_tuple && t->n_words != 1) || (is_tuple && !check_tuple(c, i, depth)))
      return hiaR_check_bad(c, "type %u is malformed", i + HIA_FIRST_TYPE);
  }
  for (uint32_t i = 0; i < n; i++) {
    unsigned kind = c->types[i].kind;
    if ((kind == HIA_KIND_ARRAY && !check_array(c, i)) ||
        (kind == HIA_KIND_DATA && !check_data(c, i, &n_ctors)))
      return hiaR_check_bad(c, "type %u is malformed", i + HIA_FIRST_TYPE);
  }
  uint32_t *sizes = depth + n;
  find_sizes(c, depth, sizes);
  for (uint32_t i = 0; i < c->h->ctors.n; i++)
    if (!check_ctor(c, &c->ctors[i]) || !check_sizes(c, &c->ctors[i], depth, sizes))
      return hiaR_check_bad(c, "constructor %u is malformed", i);
  return true;
}
