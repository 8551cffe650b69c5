/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Checks an image: everything that the engines rely on is checked here, once.
 *
 * Apart from indices in range that is the token discipline: in every run of a section, each node
 * whose region is live gets exactly the tokens it waits for, and each node whose region is dead
 * gets fewer. So every node fires at most once in a round, a round ends, and no engine has to
 * check for more.
 *
 * Tokens come from nodes, and from control entering a region. Seen from node x in region r, a
 * token from r or a region around it comes whenever x is live. Tokens from inside a branch that x
 * is not in must come from both its sides in equal number, and then count once: the sides of a
 * branch that deliver the value of a Merge. At least one token must come from within r itself, or
 * x would fire when r is dead. Tokens go to later nodes only, so there are no cycles. */
#include "runtime/base/loc.h"
#include "runtime/base/shape.h"
#include "runtime/base/sums.h"
#include "runtime/image/loaded.h"
#include "runtime/tensor/tensor.h"
#include <stdio.h>

/* Slots of a section, so that no offset in a frame overflows. */
#define MAX_SLOTS ((uint32_t)1 << 28)

typedef struct checker {
  const uint8_t *bytes;
  const hia_image_header *h;
  const hia_image_kernel *kernels;
  const hia_image_extern *externs;
  const hia_image_param *params;
  const hia_image_section *sections;
  const hia_image_region *regions; /* of all sections */
  const hia_image_node *nodes;
  const uint32_t *words;
  const hia_word *consts, *literals;
  const hia_image_export *exports;
  const hia_image_loc *locs;
  const char *strings;
  const hia_type_entry *types; /* as in hia_type_table */
  const hia_type *parts;
  const hia_ctor *ctors;
  const hia_ctor_field *fields;
  const hia_word_place *places;
  const char *names;
  hia_type_table table;
  uint64_t list_words; /* words used by lists so far: lists do not overlap */
  char *error;
  size_t error_size;

  /* Of the section that is being checked. */
  const hia_image_section *s;
  uint32_t number;

  /* Scratch, as large as the largest section requires. */
  uint32_t max_nodes, max_regions;
  uint32_t *host_words; /* by extern: numbers of its operands and results */
  uint32_t *type_of_ctor;
  uint32_t *scratch;
  size_t scratch_size;
  uint32_t *region_of;             /* by node */
  uint32_t *side;                  /* by node and side: the region of a SWITCH */
  uint32_t *region_end;            /* by region: one past the last region inside it */
  uint32_t *other;                 /* by region: the other side of its branch, or NONE */
  uint32_t *total;                 /* by region: tokens from there for the node at hand */
  uint32_t *is_queued;             /* by region: it is in the heap */
  uint32_t *heap, heap_len;        /* regions with tokens, the highest on top */
  uint32_t *source_at, *source_of; /* by node: regions that its tokens come from */
} checker;

static bool HIA_PRINTF(2, 3) bad(checker *c, const char *fmt, ...) {
  if (!c->error_size) return false;
  size_t at = 0;
  if (c->s) {
    int n = snprintf(c->error, c->error_size, "section %u: ", c->number);
    at = n < 0 ? 0 : (size_t)n < c->error_size ? (size_t)n : c->error_size - 1;
  }
  va_list args;
  va_start(args, fmt);
  vsnprintf(c->error + at, c->error_size - at, fmt, args);
  va_end(args);
  return false;
}

/* ---- tables ---- */

static bool check_table(checker *c, const char *name, const hia_image_table *t, size_t record) {
  if (t->at % 8 || t->at < sizeof(hia_image_header) || t->at > c->h->size ||
      t->n > (c->h->size - t->at) / record)
    return bad(c, "the table of %s is out of bounds", name);
  return true;
}

static bool check_header(checker *c, size_t size) {
  const hia_image_header *h = c->h;
  if (size < sizeof *h || memcmp(h->magic, HIA_IMAGE_MAGIC, sizeof h->magic) != 0)
    return bad(c, "not an image");
  if (h->order != HIA_IMAGE_ORDER) return bad(c, "made for a machine of other byte order");
  if (h->version != HIA_IMAGE_VERSION)
    return bad(c, "format version %u, expected %u", h->version, HIA_IMAGE_VERSION);
  if (h->size != size || size % 8) return bad(c, "%zu bytes, not as many as it says", size);
  size_t from = offsetof(hia_image_header, file);
  if (h->hash != hiaR_image_hash(c->bytes + from, size - from))
    return bad(c, "damaged: the hash does not fit");
#define TABLE(field)                                                                               \
  if (!check_table(c, #field, &h->field, sizeof *c->field)) return false;                          \
  c->field = (const void *)(c->bytes + h->field.at);
  TABLE(kernels)
  TABLE(externs)
  TABLE(params)
  TABLE(sections)
  TABLE(regions)
  TABLE(nodes)
  TABLE(words)
  TABLE(exports)
  TABLE(locs)
  TABLE(strings)
  TABLE(types)
  TABLE(parts)
  TABLE(ctors)
  TABLE(fields)
  TABLE(places)
  TABLE(names)
#undef TABLE
  if (!check_table(c, "consts", &h->consts, sizeof(hia_word))) return false;
  c->consts = (const void *)(c->bytes + h->consts.at);
  if (!check_table(c, "literals", &h->literals, sizeof(hia_word))) return false;
  c->literals = (const void *)(c->bytes + h->literals.at);
  return true;
}

/* ---- types ---- */

static bool is_type(const checker *c, hia_type type) {
  return hiaR_is_scalar(type) || (type >= HIA_FIRST_TYPE && type - HIA_FIRST_TYPE < c->h->types.n);
}

/* A part or an element of type number `i`, which stands before it: so there is no type inside
 * itself. */
static bool is_type_before(const checker *c, hia_type type, uint32_t i) {
  if (!is_type(c, type)) return false;
  return hiaR_is_scalar(type) || type - HIA_FIRST_TYPE < i ||
         c->types[type - HIA_FIRST_TYPE].kind == HIA_KIND_DATA;
}

/* How a value of a type is held in the memory of objects, by a table that is not yet known to be
 * right. */
static uint8_t repr_of(const checker *c, hia_type type) {
  if (hiaR_is_scalar(type)) return (uint8_t)type;
  uint32_t repr = hiaR_type_entry(&c->table, type)->repr;
  return repr == HIA_REPR_BYTE || repr == HIA_REPR_HALF ? (uint8_t)repr : HIA_REPR_REF;
}

/* Fills in the types of a value's words. */
static hia_word_place *flatten(const checker *c, hia_type type, hia_word_place *at) {
  if (hiaR_type_kind(&c->table, type) != HIA_KIND_TUPLE) {
    *at = (hia_word_place){.type = type, .repr = repr_of(c, type)};
    return at + 1;
  }
  const hia_type_entry *t = hiaR_type_entry(&c->table, type);
  for (uint32_t i = 0; i < t->n; i++) at = flatten(c, c->parts[t->first + i], at);
  return at;
}

/* Checks that a layout is the one that hiaR_lay_out gives for these n words, of which `own` has the
 * types. */
static bool check_layout(const checker *c, const hia_layout *layout, hia_word_place *own,
                         uint32_t n, uint32_t header) {
  hia_layout wanted = n ? hiaR_lay_out(own, n, header) : (hia_layout){0};
  return layout->n == n && n <= c->h->places.n && layout->first <= c->h->places.n - n &&
         layout->n_refs == wanted.n_refs && layout->size == wanted.size &&
         (!n || memcmp(&c->places[layout->first], own, n * sizeof *own) == 0);
}

enum { MAX_WORDS = HIA_MAX_LAYOUT_WORDS };

/* `depth`, by type: how deep tuples nest, which bounds the recursion of `flatten`. */
static bool check_tuple(const checker *c, uint32_t i, uint32_t *depth) {
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
static void find_sizes(const checker *c, uint32_t *depth, uint32_t *sizes) {
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
static bool check_sizes(const checker *c, const hia_ctor *ctor, const uint32_t *depth,
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

static bool check_ctor(const checker *c, const hia_ctor *ctor) {
  hia_word_place own[MAX_WORDS], *end = own;
  if (ctor->name >= c->h->names.n || ctor->n > c->h->fields.n ||
      ctor->first > c->h->fields.n - ctor->n)
    return false;
  for (uint32_t i = 0; i < ctor->n; i++) {
    const hia_ctor_field *field = &c->fields[ctor->first + i];
    if (field->name >= c->h->names.n || !is_type(c, field->type) ||
        hiaR_type_words(&c->table, field->type) > (uint32_t)(own + MAX_WORDS - end))
      return false;
    end = flatten(c, field->type, end);
  }
  return check_layout(c, &ctor->layout, own, (uint32_t)(end - own), sizeof(hia_counted));
}

static bool check_array(const checker *c, uint32_t i) {
  const hia_type_entry *t = &c->types[i];
  hia_word_place own[MAX_WORDS];
  if (!is_type_before(c, t->element, i)) return false;
  uint32_t n = hiaR_type_words(&c->table, t->element);
  if (n > MAX_WORDS) return false;
  flatten(c, t->element, own);
  return t->repr == HIA_REPR_REF && check_layout(c, &t->layout, own, n, 0);
}

static bool check_tensor(const hia_type_entry *t) {
  return t->repr == HIA_REPR_REF && t->element < HIA_N_DTYPES && t->n >= 1 && t->n <= HIA_MAX_RANK;
}

/* Data types have constructors of their own, one type's behind the other's. */
static bool check_data(checker *c, uint32_t i, uint32_t *n_ctors) {
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
static bool check_types(checker *c, uint32_t *depth) {
  uint32_t n = c->h->types.n, n_ctors = 0;
  c->table = (hia_type_table){
      c->types, c->parts,      c->ctors,      c->fields,      c->places,      c->names,
      n,        c->h->parts.n, c->h->ctors.n, c->h->fields.n, c->h->places.n, c->h->names.n};
  if (c->h->names.n && c->names[c->h->names.n - 1] != 0) return bad(c, "names have no end");
  for (uint32_t i = 0; i < c->h->ctors.n; i++) c->type_of_ctor[i] = HIA_NONE;
  for (uint32_t i = 0; i < n; i++) {
    const hia_type_entry *t = &c->types[i];
    bool is_tuple = t->kind == HIA_KIND_TUPLE;
    bool is_known = is_tuple || t->kind == HIA_KIND_ARRAY || t->kind == HIA_KIND_DATA ||
                    (t->kind == HIA_KIND_TENSOR && check_tensor(t));
    if (!is_known || (!is_tuple && t->n_words != 1) || (is_tuple && !check_tuple(c, i, depth)))
      return bad(c, "type %u is malformed", i + HIA_FIRST_TYPE);
  }
  for (uint32_t i = 0; i < n; i++) {
    unsigned kind = c->types[i].kind;
    if ((kind == HIA_KIND_ARRAY && !check_array(c, i)) ||
        (kind == HIA_KIND_DATA && !check_data(c, i, &n_ctors)))
      return bad(c, "type %u is malformed", i + HIA_FIRST_TYPE);
  }
  uint32_t *sizes = depth + n;
  find_sizes(c, depth, sizes);
  for (uint32_t i = 0; i < c->h->ctors.n; i++)
    if (!check_ctor(c, &c->ctors[i]) || !check_sizes(c, &c->ctors[i], depth, sizes))
      return bad(c, "constructor %u is malformed", i);
  return true;
}

static bool check_string(checker *c, uint32_t at) { return at < c->h->strings.n; }

static bool check_list(checker *c, uint32_t first, uint32_t n) {
  if (n > c->h->words.n || first > c->h->words.n - n) return bad(c, "a list is out of bounds");
  c->list_words += n;
  if (c->list_words > c->h->words.n) return bad(c, "lists overlap");
  return true;
}

static bool check_list_below(checker *c, uint32_t first, uint32_t n, uint32_t limit) {
  if (!check_list(c, first, n)) return false;
  for (uint32_t i = 0; i < n; i++)
    if (c->words[first + i] >= limit) return bad(c, "a slot is out of range");
  return true;
}

/* The type of the references that a slot of the section holds; NONE: it holds scalars. */
static hia_type ref_type(const checker *c, const hia_image_section *s, uint32_t slot) {
  const uint32_t *refs = c->words + s->refs;
  uint32_t low = 0, high = s->n_refs / 2;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (refs[2 * middle] == slot) return refs[2 * middle + 1];
    if (refs[2 * middle] < slot)
      low = middle + 1;
    else
      high = middle;
  }
  return HIA_NONE;
}

/* Checks that a slot can be read as `type` (NONE: a scalar). Constants below the first address are
 * references of any type. */
static bool check_read(checker *c, const hia_image_section *s, uint32_t slot, hia_type type) {
  uint32_t n_computed = s->n_slots - s->n_consts;
  if (slot < n_computed) {
    if (ref_type(c, s, slot) == type) return true;
  } else if (type == HIA_NONE || c->consts[s->consts + slot - n_computed] < HIA_FIRST_ADDRESS) {
    return true;
  }
  return bad(c, "slot %u is used as of another type", slot);
}

static bool check_write(checker *c, const hia_image_section *s, uint32_t slot, hia_type type) {
  return ref_type(c, s, slot) == type || bad(c, "slot %u is written as of another type", slot);
}

static hia_type ref_or_none(hia_type type) { return hiaR_is_scalar(type) ? HIA_NONE : type; }

/* The list of reference slots, of a section whose slots are in range. */
static bool check_refs(checker *c, const hia_image_section *s) {
  if (s->n_refs % 2 || !check_list(c, s->refs, s->n_refs)) return bad(c, "half a reference");
  const uint32_t *refs = c->words + s->refs;
  for (uint32_t i = 0; i < s->n_refs; i += 2) {
    if (refs[i] >= s->n_slots - s->n_consts || (i && refs[i] <= refs[i - 2]))
      return bad(c, "a slot of references is out of order");
    if (!is_type(c, refs[i + 1]) || hiaR_is_scalar(refs[i + 1]) ||
        hiaR_type_kind(&c->table, refs[i + 1]) == HIA_KIND_TUPLE)
      return bad(c, "slot %u holds no references", refs[i]);
  }
  return true;
}

/* The list of slots that are read, which may be taken if they hold references. */
static bool check_operands(checker *c, uint32_t first, uint32_t n, uint32_t step, bool may_take) {
  const hia_image_section *s = c->s;
  if (!check_list(c, first, n)) return false;
  for (uint32_t i = 0; i < n; i += step) {
    uint32_t slot = c->words[first + i] & ~HIA_IMAGE_TAKEN;
    if (slot >= s->n_slots) return bad(c, "a slot is out of range");
    if (c->words[first + i] == slot) continue;
    if (!may_take || slot >= s->n_slots - s->n_consts || ref_type(c, s, slot) == HIA_NONE)
      return bad(c, "slot %u cannot be taken", slot);
  }
  return true;
}

/* A loop's variables are parameters, so parameters may be written; constants may not. */
static bool check_moves(checker *c, uint32_t first, uint32_t n, bool may_take) {
  const hia_image_section *s = c->s;
  if (n % 2) return bad(c, "half a move");
  if (!check_operands(c, first, n, 2, may_take)) return false;
  for (uint32_t i = 1; i < n; i += 2)
    if (c->words[first + i] >= s->n_slots - s->n_consts) return bad(c, "a constant is written");
  for (uint32_t i = 0; i < n; i += 2)
    if (!check_read(c, s, c->words[first + i] & ~HIA_IMAGE_TAKEN,
                    ref_type(c, s, c->words[first + i + 1])))
      return false;
  return true;
}

/* The type of operand i of a node that makes or reads arrays; NONE: a scalar. */
static hia_type array_operand(const checker *c, const hia_image_node *n, uint32_t i) {
  const hia_layout *element = &c->types[n->what - HIA_FIRST_TYPE].layout;
  const hia_word_place *places = c->places + element->first;
  switch (n->kind) {
  case HIA_KIND_ELEMENTS: return ref_or_none(places[i % element->n].type);
  case HIA_KIND_SET: return i == 0 ? n->what : i == 1 ? HIA_NONE : ref_or_none(places[i - 2].type);
  case HIA_KIND_CONCAT: return n->what;
  default: return i == 0 && n->kind != HIA_KIND_NEW ? n->what : HIA_NONE;
  }
}

static bool is_array_kind(unsigned kind) {
  return kind >= HIA_KIND_ELEMENTS && kind <= HIA_KIND_NEW;
}

static bool check_array_node(checker *c, const hia_image_node *n) {
  const hia_image_section *s = c->s;
  const uint32_t *ins = c->words + n->ins, *outs = c->words + n->outs;
  const hia_layout *element = &c->types[n->what - HIA_FIRST_TYPE].layout;
  for (uint32_t i = 0; i < n->n_ins; i++)
    if (!check_read(c, s, ins[i] & ~HIA_IMAGE_TAKEN, array_operand(c, n, i))) return false;
  hia_type type = n->what;
  if (n->kind == HIA_KIND_LEN) type = HIA_NONE;
  if (n->kind == HIA_KIND_AT) type = ref_or_none(c->places[element->first + n->imm].type);
  return check_write(c, s, outs[0], type);
}

/* An operation's operands are tensors, or else scalars, of which the image does not say the dtype.
 */
/* The type of operands and results of operations. NULL: a scalar's. */
static const hia_type_entry *tensor_type(const checker *c, hia_type type) {
  return type == HIA_NONE ? NULL : &c->types[type - HIA_FIRST_TYPE];
}

static bool check_param_read(checker *c, const hia_image_node *n) {
  if (n->imm >= c->h->params.n) return bad(c, "no such param");
  const hia_image_param *param = &c->params[n->imm];
  const hia_type_entry *t = tensor_type(c, ref_type(c, c->s, c->words[n->outs]));
  bool is_right = param->rank == 0 ? t == NULL
                                   : t && t->kind == HIA_KIND_TENSOR && t->n == param->rank &&
                                         t->element == param->dtype;
  return (is_right && c->kernels[n->what].dtype == param->dtype) ||
         bad(c, "a param has another type");
}

/* Any elements will do, but bools, of which 0 and 1 are canonical. */
static bool check_literal(checker *c, const hia_image_node *n) {
  const hia_type_entry *t = tensor_type(c, ref_type(c, c->s, c->words[n->outs]));
  hia_tensor head = {.counted = {.ctor = HIA_TENSOR_LITERAL}};
  uint64_t left = c->h->literals.n, len, n_words;
  hia_dims shape = {0};
  if (!t || t->kind != HIA_KIND_TENSOR || c->kernels[n->what].dtype != t->element)
    return bad(c, "a literal has another type");
  const uint32_t n_head = sizeof head / sizeof(hia_word);
  if (n->imm >= left || (left -= n->imm) < n_head + t->n) return bad(c, "no such literal");
  const hia_word *at = c->literals + n->imm;
  atomic_init(&head.counted.count, HIA_STICKY);
  head.counted.spare = hiaR_tensor_spare((hia_dtype)t->element, t->n);
  if (memcmp(at, &head, sizeof head) != 0) return bad(c, "a literal has another type");
  shape.rank = t->n;
  memcpy(shape.dims, at + n_head, t->n * sizeof *at);
  uint64_t size = hiaR_dtype_size((hia_dtype)t->element);
  if (!hiaR_shape_elements(&shape, size, &len)) return bad(c, "a literal is malformed");
  n_words = (len * size + sizeof(hia_word) - 1) / sizeof(hia_word);
  if (n_words > left - n_head - t->n) return bad(c, "a literal is out of bounds");
  const uint8_t *elements = (const uint8_t *)(at + n_head + t->n);
  for (uint64_t i = 0; t->element == HIA_BOOL && i < len; i++)
    if (elements[i] > 1) return bad(c, "a literal is malformed");
  return true;
}

/* The fuel is a scalar; the cost can be computed from any scalars and tensors. */
static bool check_work(checker *c, const hia_image_node *n) {
  const hia_image_section *s = c->s;
  if (c->kernels[n->what].dtype != HIA_I64 || n->n_ins < 2 ||
      !hiaR_work_takes(n->imm, n->n_ins - 1))
    return bad(c, "no such work");
  for (uint32_t i = 0; i < n->n_ins; i++) {
    uint32_t in = c->words[n->ins + i], slot = in & ~HIA_IMAGE_TAKEN;
    hia_type type = slot < s->n_slots - s->n_consts ? ref_type(c, s, slot) : HIA_NONE;
    const hia_type_entry *t = tensor_type(c, type);
    if (in != slot) return bad(c, "operand %u cannot be taken", i);
    if (t && (i == 0 || t->kind != HIA_KIND_TENSOR))
      return bad(c, "slot %u is used as of another type", slot);
  }
  return ref_type(c, s, c->words[n->outs]) == HIA_NONE ||
         bad(c, "an operation gives no such result");
}

/* Slots that an ALIKE reads: a scalar, a tensor, and an array of such, or of tuples that begin with
 * one: references come first in memory. */
static bool check_alike(checker *c, const hia_image_node *n) {
  const hia_image_section *s = c->s;
  hia_type types[3] = {HIA_NONE, HIA_NONE, HIA_NONE};
  if (c->kernels[n->what].dtype != HIA_I64 || n->n_ins < 2 || n->n_ins > HIA_LEN(types))
    return bad(c, "an operation on operands that it does not take");
  for (uint32_t i = 0; i < n->n_ins; i++) {
    uint32_t in = c->words[n->ins + i], slot = in & ~HIA_IMAGE_TAKEN;
    if (in != slot) return bad(c, "operand %u cannot be taken", i);
    if (slot < s->n_slots - s->n_consts) types[i] = ref_type(c, s, slot);
  }
  const hia_type_entry *x = tensor_type(c, types[1]), *array = tensor_type(c, types[2]);
  bool is_right = types[0] == HIA_NONE && x && x->kind == HIA_KIND_TENSOR;
  if (n->n_ins == 3) {
    hia_type first = array && array->kind == HIA_KIND_ARRAY ? array->element : HIA_NONE;
    const hia_type_entry *t =
        first == HIA_NONE || hiaR_is_scalar(first) ? NULL : tensor_type(c, first);
    if (t && t->kind == HIA_KIND_TUPLE) first = c->table.parts[t->first];
    is_right = is_right && first == types[1];
  }
  if (!is_right) return bad(c, "an operation on operands that it does not take");
  return ref_type(c, s, c->words[n->outs]) == HIA_NONE ||
         bad(c, "an operation gives no such result");
}

/* Operand i of a TRAP: a scalar, or a tensor, or a sum of what operand 0 is. */
static bool check_trapped(checker *c, const hia_image_node *n, uint32_t i) {
  const hia_image_section *s = c->s;
  hia_dtype dtype = (hia_dtype)c->kernels[n->what].dtype, its = dtype;
  uint32_t in = c->words[n->ins + i], slot = in & ~HIA_IMAGE_TAKEN, rank = 0;
  if (in != slot) return bad(c, "operand %u cannot be taken", i);
  hia_type type = slot < s->n_slots - s->n_consts ? ref_type(c, s, slot) : HIA_NONE;
  const hia_type_entry *t = tensor_type(c, type);
  if (i == 1 && hiaR_takes_sum((unsigned)(n->imm % HIA_TRAP_GRADIENT))) {
    const hia_type_entry *x = tensor_type(c, ref_type(c, s, c->words[n->ins] & ~HIA_IMAGE_TAKEN));
    if (!x) return bad(c, "an operation on operands that it does not take");
    if (!t) return check_read(c, s, slot, ref_type(c, s, c->words[n->ins])); /* a constant */
    if (hiaR_sum_of(&c->table, type, &its, &rank) && rank == x->n && its == dtype) return true;
    return bad(c, "slot %u is used as of another type", slot);
  }
  return !t || (t->kind == HIA_KIND_TENSOR && t->element == (hia_type)dtype) ||
         bad(c, "slot %u is used as of another type", slot);
}

static bool check_trap(checker *c, const hia_image_node *n) {
  hia_dtype dtype = (hia_dtype)c->kernels[n->what].dtype;
  if ((dtype != HIA_F32 && dtype != HIA_F64) || !hiaR_trap_takes(n->imm, n->n_ins))
    return bad(c, "an operation at another dtype");
  for (uint32_t i = 0; i < n->n_ins; i++)
    if (!check_trapped(c, n, i)) return false;
  return ref_type(c, c->s, c->words[n->outs]) == HIA_NONE ||
         bad(c, "an operation gives no such result");
}

static bool is_vector(const hia_type_entry *t, bool may_be_i32) {
  return t && t->kind == HIA_KIND_TENSOR && t->n == 1 &&
         (t->element == HIA_I64 || (may_be_i32 && t->element == HIA_I32));
}

/* Slots that a COLLECT and its kin read: a sum, perhaps rows, and a tensor such as it becomes, too.
 */
static bool check_collect(checker *c, const hia_image_node *n) {
  const hia_image_section *s = c->s;
  unsigned op = c->kernels[n->what].op;
  uint32_t last = op == HIA_OP_COLLECT_ROWS ? 2 : 1;
  if (n->n_ins != last + 1) return bad(c, "an operation on operands that it does not take");
  hia_type types[3] = {HIA_NONE, HIA_NONE, HIA_NONE};
  for (uint32_t i = 0; i < n->n_ins; i++) {
    uint32_t in = c->words[n->ins + i], slot = in & ~HIA_IMAGE_TAKEN;
    if (in != slot) return bad(c, "operand %u cannot be taken", i);
    if (slot < s->n_slots - s->n_consts) types[i] = ref_type(c, s, slot);
  }
  const hia_type_entry *x = tensor_type(c, types[last]);
  hia_dtype dtype = HIA_BOOL;
  uint32_t rank = 0;
  bool is_right = x && x->kind == HIA_KIND_TENSOR && x->element == c->kernels[n->what].dtype;
  if (is_right && types[0] == HIA_NONE) /* a constant */
    is_right = check_read(c, s, c->words[n->ins], types[last]);
  else if (is_right)
    is_right = hiaR_sum_of(&c->table, types[0], &dtype, &rank) && rank == x->n &&
               x->element == (hia_type)dtype;
  if (last == 2) is_right = is_right && is_vector(tensor_type(c, types[1]), true);
  if (!is_right) return bad(c, "an operation on operands that it does not take");
  uint32_t out = c->words[n->outs];
  if (op != HIA_OP_TOUCHED) return check_write(c, s, out, types[last]);
  return is_vector(tensor_type(c, ref_type(c, s, out)), false) ||
         bad(c, "slot %u is written as of another type", out);
}

static bool check_operation(checker *c, const hia_image_node *n) {
  const hia_image_section *s = c->s;
  const hia_image_kernel *k = &c->kernels[n->what];
  hia_rule rule = (hia_rule)hiaR_ops[k->op].rule;
  hia_dtype dtype = (hia_dtype)k->dtype;
  uint32_t ranks[3] = {0}, rest = HIA_NONE;
  if (k->op == HIA_OP_PARAM) return check_param_read(c, n);
  if (k->op == HIA_OP_LITERAL) return check_literal(c, n);
  if (k->op == HIA_OP_WORK) return check_work(c, n);
  if (k->op == HIA_OP_ALIKE) return check_alike(c, n);
  if (k->op == HIA_OP_TRAP) return check_trap(c, n);
  if (hiaR_takes_sum(k->op)) return check_collect(c, n);
  if (!hiaR_rule_takes(rule, dtype)) return bad(c, "an operation at another dtype");
  for (uint32_t i = 0; i < n->n_ins; i++) {
    uint32_t in = c->words[n->ins + i], slot = in & ~HIA_IMAGE_TAKEN, rank = 0;
    hia_type type = slot < s->n_slots - s->n_consts ? ref_type(c, s, slot) : HIA_NONE;
    if (in != slot && i >= HIA_MAX_TAKING) return bad(c, "operand %u cannot be taken", i);
    if (type != HIA_NONE) {
      bool is_array = k->op == HIA_OP_PACK && i == 0;
      const hia_type_entry *t = &c->types[type - HIA_FIRST_TYPE];
      if (is_array && (t->kind != HIA_KIND_ARRAY || t->layout.n != 1 || in != slot))
        return bad(c, "slot %u is used as of another type", slot);
      hia_type of_dtype = is_array ? c->places[t->layout.first].type : type;
      if (!hiaR_is_scalar(of_dtype)) {
        t = &c->types[of_dtype - HIA_FIRST_TYPE];
        if (t->kind != HIA_KIND_TENSOR) return bad(c, "slot %u is used as of another type", slot);
        of_dtype = t->element;
        rank = t->n;
      }
      if (!hiaR_rule_takes_operand(rule, dtype, i, (hia_dtype)of_dtype))
        return bad(c, "slot %u is used as of another type", slot);
    } else if (k->op == HIA_OP_PACK && i == 0) {
      return bad(c, "slot %u is used as of another type", slot);
    }
    if (i < HIA_LEN(ranks))
      ranks[i] = rank;
    else if (i == HIA_LEN(ranks) || rank == rest)
      rest = rank;
    else
      rest = HIA_NONE;
  }
  uint32_t rank = hiaR_op_rank(k->op, n->imm, n->n_ins, ranks, rest);
  bool is_lifted = hiaR_ops[k->op].shape == HIA_SHAPE_ELEMENTWISE;
  if (rank == HIA_NONE || (rank == 0 && is_lifted) ||
      (k->op == HIA_OP_CAST && n->imm >= HIA_N_DTYPES))
    return bad(c, "an operation on operands that it does not take");
  hia_type out = ref_type(c, s, c->words[n->outs]);
  if (rank == 0) return out == HIA_NONE || bad(c, "an operation gives no such result");
  const hia_type_entry *t = tensor_type(c, out);
  return (t && t->kind == HIA_KIND_TENSOR && t->n == rank &&
          t->element == (hia_type)hiaR_rule_result(rule, dtype)) ||
         bad(c, "an operation gives no such result");
}

/* Checks what the node's kind says of the types of its operands and results, which are in range. */
static bool check_node_types(checker *c, const hia_image_node *n) {
  if (n->kind == HIA_KIND_OPERATION) return check_operation(c, n);
  if (is_array_kind(n->kind)) return check_array_node(c, n);
  const hia_image_section *s = c->s, *callee = NULL;
  const uint32_t *ins = c->words + n->ins, *outs = c->words + n->outs;
  const hia_ctor *ctor = NULL;
  const hia_word_place *places = NULL;
  hia_type data = HIA_NONE;
  if (n->kind == HIA_KIND_CALL || n->kind == HIA_KIND_LOOP) callee = &c->sections[n->what];
  if (n->kind == HIA_KIND_MAKE || n->kind == HIA_KIND_FIELD) {
    ctor = &c->ctors[n->what];
    places = c->places + ctor->layout.first;
    data = c->type_of_ctor[n->what];
  }
  if (n->kind == HIA_KIND_CTOR) {
    data = ref_type(c, s, ins[0]);
    bool is_const = ins[0] >= s->n_slots - s->n_consts;
    if (!is_const && (data == HIA_NONE || hiaR_type_kind(&c->table, data) != HIA_KIND_DATA))
      return bad(c, "a constructor of no data");
    return (!is_const || check_read(c, s, ins[0], HIA_FIRST_TYPE)) &&
           check_write(c, s, outs[0], HIA_NONE);
  }
  for (uint32_t i = 0; i < n->n_ins; i++) {
    hia_type type = HIA_NONE;
    if (n->kind == HIA_KIND_MOVE) type = ref_type(c, s, outs[0]);
    if (n->kind == HIA_KIND_MAKE) type = ref_or_none(places[i].type);
    if (n->kind == HIA_KIND_FIELD) type = data;
    if (callee) type = ref_type(c, callee, i);
    if (!check_read(c, s, ins[i] & ~HIA_IMAGE_TAKEN, type)) return false;
  }
  uint64_t words = n->imm; /* of a FIELD: those that are left */
  for (uint32_t i = 0; i < n->n_outs && n->kind != HIA_KIND_MOVE; i++) {
    hia_type type = HIA_NONE;
    if (n->kind == HIA_KIND_MAKE) type = data;
    if (n->kind == HIA_KIND_FIELD) {
      bool is_set = ctor->layout.n <= HIA_MAX_FIELD_SET;
      type = ref_or_none(places[is_set ? (uint64_t)__builtin_ctzll(words) : words].type);
      words &= words - 1;
    }
    if (callee) {
      /* A constant result may be of any type. */
      if (!check_read(c, callee, c->words[callee->results + i], ref_type(c, s, outs[i])))
        return false;
      continue;
    }
    if (!check_write(c, s, outs[i], type)) return false;
  }
  return true;
}

/* ---- sections ---- */

/* Checks that regions nest, and stand in the order of their first nodes. Fills in region_of and
 * region_end. */
static bool check_regions(checker *c) {
  const hia_image_section *s = c->s;
  const hia_image_region *r = c->regions + s->regions;
  if (!s->n_regions || r[0].parent != HIA_NONE || r[0].first != 0 || r[0].last != s->n_nodes)
    return bad(c, "the body is not its first region");
  uint32_t open = 0, n = 0;
  for (uint32_t i = 1; i <= s->n_regions; i++) {
    uint32_t until = i < s->n_regions ? r[i].first : s->n_nodes;
    if (until < n || until > s->n_nodes) return bad(c, "region %u is out of place", i);
    for (; n < until; n++) {
      for (; open != 0 && r[open].last <= n; open = r[open].parent) c->region_end[open] = i;
      c->region_of[n] = open;
    }
    if (i == s->n_regions) break;
    if (r[i].first > r[i].last || r[i].parent >= i) return bad(c, "region %u is out of order", i);
    for (; open != r[i].parent; open = r[open].parent) {
      if (open == 0 || r[open].last > r[i].first) return bad(c, "region %u overlaps another", i);
      c->region_end[open] = i;
    }
    if (r[i].last > r[open].last) return bad(c, "region %u is not inside its parent", i);
    open = i;
  }
  for (; open != 0; open = r[open].parent) c->region_end[open] = s->n_regions;
  c->region_end[0] = s->n_regions;
  return true;
}

/* Checks that each region is one side of a SWITCH before it. Fills in `other`. */
static bool check_branches(checker *c) {
  const hia_image_section *s = c->s;
  const hia_image_region *r = c->regions + s->regions;
  const hia_image_node *nodes = c->nodes + s->nodes;
  for (uint32_t i = 0; i < s->n_nodes; i++) c->side[2 * i] = c->side[2 * i + 1] = HIA_NONE;
  for (uint32_t i = 1; i < s->n_regions; i++) {
    uint32_t n = r[i].node;
    if (n >= r[i].first || nodes[n].kind != HIA_KIND_SWITCH || c->region_of[n] != r[i].parent)
      return bad(c, "region %u has no switch", i);
    if (r[i].side > 1 || c->side[2 * n + r[i].side] != HIA_NONE)
      return bad(c, "region %u is no side of its switch", i);
    c->side[2 * n + r[i].side] = i;
  }
  for (uint32_t i = 0; i < s->n_regions; i++) {
    c->total[i] = 0;
    c->other[i] = i == 0 ? HIA_NONE : c->side[2 * r[i].node + !r[i].side];
  }
  return true;
}

/* Checks the type of an array node, and that it has a possible number of operands. */
static bool check_array_type(checker *c, const hia_image_node *n) {
  if (n->what < HIA_FIRST_TYPE || !is_type(c, n->what) ||
      hiaR_type_kind(&c->table, n->what) != HIA_KIND_ARRAY)
    return bad(c, "no such type of arrays");
  uint32_t words = c->types[n->what - HIA_FIRST_TYPE].layout.n, least = 1, most = 1;
  switch (n->kind) {
  case HIA_KIND_AT:
    if (n->imm >= words) return bad(c, "no such word of an element");
    least = most = 2;
    break;
  case HIA_KIND_SLICE: least = most = 3; break;
  case HIA_KIND_SET: least = most = 2 + words; break;
  case HIA_KIND_ELEMENTS:
    least = 0, most = UINT32_MAX; /* a graph may have an array of no elements */
    if (n->n_ins % words) return bad(c, "a part of an element");
    break;
  case HIA_KIND_CONCAT: most = UINT32_MAX; break;
  default: break;
  }
  return (n->n_ins >= least && n->n_ins <= most) || bad(c, "wrong number of operands");
}

/* True if `imm` of a FIELD is right for a constructor with n words; *outs: how many it reads. */
static bool are_fields(uint64_t imm, uint32_t n, uint32_t *outs) {
  *outs = n > HIA_MAX_FIELD_SET ? 1 : (uint32_t)__builtin_popcountll(imm);
  if (n > HIA_MAX_FIELD_SET) return imm < n;
  return imm && (n == HIA_MAX_FIELD_SET || imm >> n == 0);
}

static bool may_take(unsigned kind) {
  return kind == HIA_KIND_MOVE || kind == HIA_KIND_CALL || kind == HIA_KIND_LOOP ||
         kind == HIA_KIND_MAKE || kind == HIA_KIND_FIELD || kind == HIA_KIND_ELEMENTS ||
         kind == HIA_KIND_SET || kind == HIA_KIND_OPERATION;
}

static bool check_node(checker *c, const hia_image_node *n) {
  const hia_image_section *s = c->s;
  uint32_t ins = 0, outs = 0;
  switch (n->kind) {
  case HIA_KIND_KERNEL: {
    if (n->what >= c->h->kernels.n) return bad(c, "no such kernel");
    const hia_image_kernel *k = &c->kernels[n->what];
    if (hiaR_ops[k->op].n_ins < 1 || hiaR_ops[k->op].n_ins > 3)
      return bad(c, "a kernel of no op on scalars");
    ins = (uint32_t)hiaR_ops[k->op].n_ins, outs = 1;
    if (k->op == HIA_OP_CAST && n->imm >= HIA_N_DTYPES) return bad(c, "a cast from no dtype");
    break;
  }
  case HIA_KIND_MOVE: ins = outs = 1; break;
  case HIA_KIND_SWITCH: ins = 1; break;
  case HIA_KIND_FAIL: ins = 1; break;
  case HIA_KIND_LEND: ins = 1; break;
  case HIA_KIND_REGAIN: ins = outs = 1; break;
  case HIA_KIND_COUNT:
    if (n->what > 1) return bad(c, "a count of nothing");
    break;
  case HIA_KIND_JOIN: break;
  case HIA_KIND_MAKE:
    if (n->what >= c->h->ctors.n || !c->ctors[n->what].n) return bad(c, "no such constructor");
    ins = c->ctors[n->what].layout.n, outs = 1;
    break;
  case HIA_KIND_CTOR: ins = outs = 1; break;
  case HIA_KIND_FIELD:
    if (n->what >= c->h->ctors.n || !are_fields(n->imm, c->ctors[n->what].layout.n, &outs))
      return bad(c, "no such field");
    ins = 1;
    break;
  case HIA_KIND_HOST: /* the only node, so that the host function is called when its section is */
    if (n->what >= c->h->externs.n) return bad(c, "no such extern");
    if (s->n_nodes != 1 || s->flags) return bad(c, "a call of the host is not alone");
    ins = c->host_words[2 * (size_t)n->what], outs = c->host_words[2 * (size_t)n->what + 1];
    break;
  case HIA_KIND_CALL:
  case HIA_KIND_LOOP:
    if (n->what >= c->h->sections.n) return bad(c, "no such section");
    ins = c->sections[n->what].n_params, outs = c->sections[n->what].n_results;
    break;
  case HIA_KIND_ELEMENTS:
  case HIA_KIND_LEN:
  case HIA_KIND_AT:
  case HIA_KIND_SLICE:
  case HIA_KIND_SET:
  case HIA_KIND_CONCAT:
  case HIA_KIND_NEW:
    if (!check_array_type(c, n)) return false;
    ins = n->n_ins, outs = 1;
    break;
  case HIA_KIND_OPERATION: {
    if (n->what >= c->h->kernels.n || hiaR_ops[c->kernels[n->what].op].shape == HIA_SHAPE_NONE)
      return bad(c, "no such operation");
    int8_t wanted = hiaR_ops[c->kernels[n->what].op].n_ins;
    ins = wanted < 0 ? n->n_ins : (uint32_t)wanted, outs = 1;
    break;
  }
  default: return bad(c, "kind %u of a node", n->kind);
  }
  if (n->n_ins != ins || n->n_outs != outs) return bad(c, "wrong number of operands or results");
  if (n->kind == HIA_KIND_SWITCH && n->n_edges) return bad(c, "a switch has edges of its own");
  if (n->tokens < 1 || n->tokens > HIA_MAX_TOKENS) return bad(c, "a node waits for nothing");
  if (n->loc != HIA_NONE && n->loc >= c->h->locs.n) return bad(c, "no such location");
  return check_operands(c, n->ins, n->n_ins, 1, may_take(n->kind)) &&
         check_list_below(c, n->outs, n->n_outs, s->n_slots - s->n_consts) &&
         check_list(c, n->edges, n->n_edges) && check_node_types(c, n);
}

/* ---- tokens ---- */

/* Fills in where the tokens of each node come from: source_of[source_at[n] .. source_at[n + 1]). */
static bool gather_sources(checker *c) {
  const hia_image_section *s = c->s;
  const hia_image_region *r = c->regions + s->regions;
  const hia_image_node *nodes = c->nodes + s->nodes;
  uint32_t *at = c->source_at;
  for (uint32_t i = 0; i < s->n_nodes + 2; i++) at[i] = 0;
  for (uint32_t i = 0; i < s->n_regions; i++)
    for (uint32_t e = 0; e < r[i].n_edges; e++) {
      uint32_t to = c->words[r[i].edges + e];
      if (to >= s->n_nodes || to < r[i].first) return bad(c, "control goes astray");
      at[to + 2]++;
    }
  for (uint32_t i = 0; i < s->n_nodes; i++)
    for (uint32_t e = 0; e < nodes[i].n_edges; e++) {
      uint32_t to = c->words[nodes[i].edges + e];
      if (to <= i || to >= s->n_nodes) return bad(c, "a token goes astray");
      at[to + 2]++;
    }
  /* at[n + 1] is the place where the list of n is being filled; in the end it is the list's end. */
  for (uint32_t i = 2; i < s->n_nodes + 2; i++) at[i] += at[i - 1];
  for (uint32_t i = 0; i < s->n_regions; i++)
    for (uint32_t e = 0; e < r[i].n_edges; e++)
      c->source_of[at[c->words[r[i].edges + e] + 1]++] = i;
  for (uint32_t i = 0; i < s->n_nodes; i++)
    for (uint32_t e = 0; e < nodes[i].n_edges; e++)
      c->source_of[at[c->words[nodes[i].edges + e] + 1]++] = c->region_of[i];
  return true;
}

/* The heap: the highest region on top; each region is in it at most once. */
static void push(checker *c, uint32_t region, uint32_t tokens) {
  c->total[region] += tokens;
  if (c->is_queued[region]) return;
  c->is_queued[region] = 1;
  uint32_t i = c->heap_len++;
  for (; i && c->heap[(i - 1) / 2] < region; i = (i - 1) / 2) c->heap[i] = c->heap[(i - 1) / 2];
  c->heap[i] = region;
}

static uint32_t pop(checker *c) {
  uint32_t top = c->heap[0], last = c->heap[--c->heap_len];
  for (uint32_t i = 0;;) {
    uint32_t child = 2 * i + 1;
    if (child + 1 < c->heap_len && c->heap[child + 1] > c->heap[child]) child++;
    if (child >= c->heap_len || c->heap[child] <= last) {
      c->heap[i] = last;
      break;
    }
    c->heap[i] = c->heap[child];
    i = child;
  }
  c->is_queued[top] = 0;
  return top;
}

static bool is_around(const checker *c, uint32_t region, uint32_t inner) {
  return region <= inner && inner < c->region_end[region];
}

static bool check_tokens(checker *c, uint32_t n, const hia_image_node *node) {
  const hia_image_region *r = c->regions + c->s->regions;
  uint32_t own = c->region_of[n], always = 0, from_own = 0;
  bool ok = true;
  for (uint32_t i = c->source_at[n]; i < c->source_at[n + 1]; i++) push(c, c->source_of[i], 1);
  while (c->heap_len) {
    uint32_t q = pop(c), tokens = c->total[q];
    if (is_around(c, q, own)) {
      always += tokens;
      if (q == own) from_own = tokens;
      c->total[q] = 0;
      continue;
    }
    uint32_t other = c->other[q];
    if (other == HIA_NONE || is_around(c, other, own)) {
      ok = false;
      c->total[q] = 0;
      continue;
    }
    /* The side with the lower number comes last and counts for both. */
    if (other < q) {
      push(c, other, 0);
      continue;
    }
    if (c->total[other] == tokens)
      push(c, r[q].parent, tokens);
    else
      ok = false;
    c->total[q] = c->total[other] = 0;
  }
  if (!ok) return bad(c, "node %u: the sides of a branch differ", n);
  if (always != node->tokens)
    return bad(c, "node %u waits for %u tokens, %u come", n, node->tokens, always);
  if (own != 0 && !from_own) return bad(c, "node %u would fire when it is dead", n);
  return true;
}

/* What a call of the section relies on. */
static bool check_slots(checker *c) {
  const hia_image_section *s = c->s;
  /* Every slot holds a parameter, a constant, or a result or move that some list names, so frames
   * cannot be made absurdly large by a small image. */
  uint64_t most = (uint64_t)s->n_params + s->n_consts + c->h->words.n;
  if (s->n_params > c->h->words.n + c->h->strings.n || s->n_slots > most ||
      s->n_slots < (uint64_t)s->n_params + s->n_consts || s->n_slots > MAX_SLOTS)
    return bad(c, "%u slots", s->n_slots);
  return check_list_below(c, s->results, s->n_results, s->n_slots) && check_refs(c, s);
}

static bool check_element_table(checker *c) {
  const hia_image_section *s = c->s;
  if (s->n_elements % 3 || !check_list(c, s->elements, s->n_elements))
    return bad(c, "half an element");
  const uint32_t *e = c->words + s->elements;
  for (uint32_t i = 0; i < s->n_elements; i += 3) {
    if (e[i] > e[i + 1] || e[i + 1] > s->n_nodes || (i && e[i] < e[i - 3]))
      return bad(c, "elements out of order");
    if (e[i + 2] >= s->n_slots) return bad(c, "a slot is out of range");
    if (!check_read(c, s, e[i + 2], HIA_NONE)) return false;
  }
  return true;
}

static bool check_section(checker *c) {
  const hia_image_section *s = c->s;
  const hia_image_node *nodes = c->nodes + s->nodes;
  if (!check_string(c, s->name)) return bad(c, "no name");
  if (s->flags & ~(uint32_t)HIA_SECTION_ITERATES) return bad(c, "unknown flags");
  if (!check_moves(c, s->enter, s->n_enter, true) || !check_moves(c, s->next, s->n_next, false))
    return false;
  if (s->flags & HIA_SECTION_ITERATES ? s->cond >= s->n_slots : s->n_next != 0)
    return bad(c, "rounds without a condition");
  if (s->flags & HIA_SECTION_ITERATES && !check_read(c, s, s->cond, HIA_NONE)) return false;
  for (uint32_t i = 0; i < s->n_nodes; i++)
    if (!check_node(c, &nodes[i])) return false;
  if (!check_element_table(c)) return false;
  for (uint32_t i = 0; i < s->n_regions; i++) {
    const hia_image_region *r = &c->regions[s->regions + i];
    if (!check_list(c, r->edges, r->n_edges) || !check_moves(c, r->moves, r->n_moves, true))
      return false;
    if (i == 0 && r->n_moves) return bad(c, "moves for the body");
  }
  if (!check_regions(c) || !check_branches(c) || !gather_sources(c)) return false;
  for (uint32_t i = 0; i < s->n_nodes; i++)
    if (!check_tokens(c, i, &nodes[i])) return false;
  return true;
}

/* ---- the rest ---- */

/* The type between `<` and `;` at *at, which is moved to the `;`. HIA_NONE: there is none. */
static hia_type read_type_number(const checker *c, const char **at) {
  uint64_t number = 0;
  const char *p = *at + 1;
  for (; *p >= '0' && *p <= '9' && number <= UINT32_MAX; p++)
    number = 10 * number + (uint64_t)(*p - '0');
  *at = p;
  return *p == ';' && number < HIA_NONE && number >= HIA_FIRST_TYPE && is_type(c, (hia_type)number)
             ? (hia_type)number
             : HIA_NONE;
}

/* Reads the types up to `end` (the end of the signature, or a `>`); returns the number of their
 * words in *n. `s`: their slots are `slots`, or if that is NULL the parameters; `s` is NULL for
 * functions of the host, which take scalars. */
static bool check_signature_types(checker *c, const char **at, char end, const hia_image_section *s,
                                  const uint32_t *slots, uint32_t *n, uint32_t *n_types) {
  enum { MAX_NESTING = 1000 };
  uint32_t depth = 0, parts[MAX_NESTING],
           most = s ? slots ? s->n_results : s->n_params : UINT32_MAX;
  *n = *n_types = 0;
  for (const char *p = *at;; p++) {
    if (*p == end && depth == 0) {
      *at = p;
      return true;
    }
    if (*p == '(') {
      if (depth == MAX_NESTING) return false;
      parts[depth++] = 0;
      continue;
    }
    if (*p == ')') {
      if (depth == 0 || parts[--depth] < 2) return false;
    } else {
      hia_type type = HIA_NONE;
      if (*p == '<') {
        type = read_type_number(c, &p);
        if (type == HIA_NONE || hiaR_type_kind(&c->table, type) == HIA_KIND_TUPLE || !s)
          return false;
      } else if (hiaR_repr_of_code(*p) >= HIA_N_DTYPES) {
        return false;
      }
      if (*n == most || (s && !check_read(c, s, slots ? slots[*n] : *n, type))) return false;
      ++*n;
    }
    if (depth)
      parts[depth - 1]++;
    else
      (*n_types)++;
  }
}

/* `s`: the section of an export; NULL: of an extern. */
static bool check_signature(checker *c, uint32_t signature, const hia_image_section *s,
                            uint32_t *params, uint32_t *results) {
  const char *at = c->strings + signature;
  const uint32_t *slots = s ? c->words + s->results : NULL;
  uint32_t n_types;
  if (!check_signature_types(c, &at, '>', s, NULL, params, &n_types))
    return bad(c, "a signature is malformed");
  at++;
  if (!check_signature_types(c, &at, 0, s, slots, results, &n_types) || n_types != 1)
    return bad(c, "a signature is malformed");
  return true;
}

static bool check_extern(checker *c, const hia_image_extern *e, uint32_t words[2]) {
  if (!check_string(c, e->name) || !check_string(c, e->signature) ||
      e->flags & ~(uint32_t)(HIA_EXTERN_IMPURE | HIA_EXTERN_RAISES))
    return bad(c, "an extern is out of range");
  return check_signature(c, e->signature, NULL, &words[0], &words[1]);
}

static bool check_export(checker *c, const hia_image_export *e) {
  if (!check_string(c, e->name) || !check_string(c, e->signature) || e->section >= c->h->sections.n)
    return bad(c, "an export is out of range");
  uint32_t params, results;
  const hia_image_section *s = &c->sections[e->section];
  if (!check_signature(c, e->signature, s, &params, &results)) return false;
  if (params != s->n_params || results != s->n_results)
    return bad(c, "a signature does not fit its section");
  return true;
}

/* Checks that chains of parents end. `seen`: by location, the number of the last walk that met it.
 */
static bool check_locs(checker *c, uint32_t *seen) {
  uint32_t n = c->h->locs.n;
  for (uint32_t i = 0; i < n; i++) {
    const hia_image_loc *l = &c->locs[i];
    bool has_name = hiaR_loc_is_mark(l->fn) || check_string(c, l->fn);
    if (!has_name || (l->parent != HIA_NONE && l->parent >= n))
      return bad(c, "location %u is out of range", i);
    seen[i] = 0;
  }
  for (uint32_t i = 0; i < n; i++)
    for (uint32_t at = i; at != HIA_NONE; at = c->locs[at].parent) {
      if (seen[at] == i + 1) return bad(c, "location %u is inside itself", i);
      if (seen[at]) break;
      seen[at] = i + 1;
    }
  return true;
}

/* Checks that sections own consecutive parts of the tables, and all of them. */
static bool check_parts(checker *c, size_t *scratch_words) {
  uint32_t nodes = 0, regions = 0, consts = 0, max_nodes = 0, max_regions = 0;
  for (uint32_t i = 0; i < c->h->sections.n; i++) {
    const hia_image_section *s = &c->sections[i];
    if (s->nodes != nodes || s->n_nodes > c->h->nodes.n - nodes || s->regions != regions ||
        s->n_regions > c->h->regions.n - regions || s->consts != consts ||
        s->n_consts > c->h->consts.n - consts)
      return bad(c, "sections overlap");
    nodes += s->n_nodes, regions += s->n_regions, consts += s->n_consts;
    if (s->n_nodes > max_nodes) max_nodes = s->n_nodes;
    if (s->n_regions > max_regions) max_regions = s->n_regions;
  }
  if (nodes != c->h->nodes.n || regions != c->h->regions.n || consts != c->h->consts.n)
    return bad(c, "records that belong to no section");
  size_t n = (size_t)max_nodes, r = (size_t)max_regions;
  size_t of_types = 2 * (size_t)c->h->types.n;
  size_t last = c->h->locs.n > of_types ? c->h->locs.n : of_types; /* one after the other */
  *scratch_words =
      4 * n + 2 + 5 * r + c->h->words.n + last + 2 * (size_t)c->h->externs.n + c->h->ctors.n;
  c->max_nodes = max_nodes, c->max_regions = max_regions;
  return true;
}

static bool check_params(checker *c) {
  for (uint32_t i = 0; i < c->h->params.n; i++) {
    const hia_image_param *param = &c->params[i];
    if (!check_string(c, param->name) || param->dtype >= HIA_N_DTYPES || param->rank > HIA_MAX_RANK)
      return bad(c, "param %u is malformed", i);
    hia_param_spec spec = hiaR_spec_of_image(param, c->strings);
    if (!hiaR_param_is_sound(&spec)) return bad(c, "param %u is malformed", i);
  }
  return true;
}

static bool check(checker *c, size_t size, const hia_allocator *allocator, bool *out_of_memory) {
  size_t words = 0;
  if (!check_header(c, size)) return false;
  if (!check_string(c, c->h->file) || c->strings[c->h->strings.n - 1] != 0)
    return bad(c, "the strings have no end");
  for (uint32_t i = 0; i < c->h->kernels.n; i++) {
    const hia_image_kernel *k = &c->kernels[i];
    bool is_op = k->op < HIA_OP_LIMIT && hiaR_ops[k->op].name;
    bool is_operation = is_op && hiaR_ops[k->op].shape != HIA_SHAPE_NONE;
    bool has_kernel = is_op && hiaR_ops[k->op].n_ins >= 1 && hiaR_ops[k->op].n_ins <= 3;
    if (k->dtype >= HIA_N_DTYPES || !(is_operation || has_kernel))
      return bad(c, "kernel %u is of no op", i);
  }
  if (!check_params(c) || !check_parts(c, &words)) return false;
  c->scratch_size = words * sizeof(uint32_t);
  c->scratch = hiaR_alloc(allocator, c->scratch_size);
  if (!c->scratch) {
    *out_of_memory = true;
    return false;
  }
  uint32_t *at = c->scratch;
  c->region_of = at, at += c->max_nodes;
  c->side = at, at += 2 * (size_t)c->max_nodes;
  c->source_at = at, at += (size_t)c->max_nodes + 2;
  c->region_end = at, at += c->max_regions;
  c->other = at, at += c->max_regions;
  c->total = at, at += c->max_regions;
  c->is_queued = at, at += c->max_regions;
  c->heap = at, at += c->max_regions;
  c->source_of = at, at += c->h->words.n;
  c->host_words = at, at += 2 * (size_t)c->h->externs.n;
  c->type_of_ctor = at, at += c->h->ctors.n;
  if (!check_types(c, at)) return false;
  for (uint32_t i = 0; i < c->h->externs.n; i++)
    if (!check_extern(c, &c->externs[i], &c->host_words[2 * (size_t)i])) return false;
  if (!check_locs(c, at)) return false;
  for (c->number = 0; c->number < c->h->sections.n; c->number++) {
    c->s = &c->sections[c->number];
    if (!check_slots(c)) return false;
  }
  for (c->number = 0; c->number < c->h->sections.n; c->number++) {
    c->s = &c->sections[c->number];
    if (!check_section(c)) return false;
  }
  c->s = NULL;
  for (uint32_t i = 0; i < c->h->exports.n; i++)
    if (!check_export(c, &c->exports[i])) return false;
  return true;
}

hia_status hiaR_image_check(const void *bytes, size_t size, const hia_allocator *allocator,
                            char *error, size_t error_size) {
  checker c = {.bytes = bytes, .h = bytes, .error = error, .error_size = error_size};
  bool out_of_memory = false;
  bool ok = check(&c, size, allocator, &out_of_memory);
  hiaR_free(allocator, c.scratch, c.scratch_size);
  return ok ? HIA_OK : out_of_memory ? HIA_MEMORY : HIA_BAD_IMAGE;
}
