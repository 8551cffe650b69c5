/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Tables of types that values hold. A table and all that describes its types are one block. */
#include "runtime/value/value.h"

/* ---- of scalars ---- */

static hia_value_types scalar_types = {.first = &scalar_types};
static const hia_dtype dtypes[] = {HIA_BOOL, HIA_I32, HIA_I64, HIA_F32, HIA_F64};
#define SCALAR(dtype)                                                                              \
  {.types = &scalar_types, .type = dtype, .n_words = 1, .n_scalars = 1, .scalars = &dtypes[dtype]}
const hia_type_info hiaR_scalar_infos[HIA_N_DTYPES] = {
    SCALAR(HIA_BOOL), SCALAR(HIA_I32), SCALAR(HIA_I64), SCALAR(HIA_F32), SCALAR(HIA_F64)};
#undef SCALAR

/* ---- life ---- */

static bool is_static(const hia_value_types *types) { return types->size == 0; }

hia_value_types *hiaR_value_types_hold(hia_value_types *types) {
  if (types && !is_static(types))
    atomic_fetch_add_explicit(&types->holders, 1, memory_order_relaxed);
  return types;
}

void hiaR_value_types_release(hia_value_types *types) {
  while (types && !is_static(types) &&
         atomic_fetch_sub_explicit(&types->holders, 1, memory_order_acq_rel) == 1) {
    hia_value_types *older = types->older;
    hia_allocator allocator = types->allocator;
    hiaR_free(&allocator, types, types->size);
    types = older;
  }
}

/* A part of the block: of n elements of a size, aligned to 8 bytes. False: it overflows. */
static bool add_part(size_t *size, size_t n, size_t element, size_t *at) {
  size_t bytes;
  *at = *size;
  return hiaR_mul(n, element, &bytes) && hiaR_add(bytes, 7, &bytes) &&
         hiaR_add(*size, bytes & ~(size_t)7, size);
}

static const void *copy_part(char *block, size_t at, const void *from, size_t bytes) {
  return bytes ? memcpy(block + at, from, bytes) : block + at;
}

/* A program's constructors, fields and names are those that it was loaded with, and only tuples and
 * arrays are added: so most of a table is that of the older one, which is there as long. */
static bool is_as_before(const hia_value_types *older, size_t n_before, size_t n) {
  return older && n_before == n;
}

/* A tuple comes after its parts, so what is known of them is there. */
static void describe(hia_value_types *types, hia_type_info *infos, hia_dtype *scalars) {
  const hia_type_table *t = &types->table;
  for (uint32_t i = 0; i < t->n_types; i++) {
    const hia_type_entry *entry = &t->types[i];
    hia_type_info *info = &infos[i];
    *info = (hia_type_info){
        .types = types, .type = HIA_FIRST_TYPE + i, .n_words = entry->n_words, .scalars = scalars};
    info->has_references = entry->kind != HIA_KIND_TUPLE;
    for (uint32_t k = 0; k < entry->n && entry->kind == HIA_KIND_TUPLE; k++)
      info->has_references |= hiaR_type_info(types, t->parts[entry->first + k])->has_references;
    for (uint32_t k = 0; k < entry->n && !info->has_references; k++) {
      const hia_type_info *part = hiaR_type_info(types, t->parts[entry->first + k]);
      memcpy(scalars, part->scalars, part->n_scalars * sizeof *scalars);
      scalars += part->n_scalars;
      info->n_scalars += part->n_scalars;
    }
  }
}

hia_value_types *hiaR_value_types_new(const hia_allocator *allocator, const hia_type_table *table,
                                      hia_value_types *older) {
  static const hia_type_table none;
  const hia_type_table *before = older ? &older->table : &none;
  bool has_ctors = is_as_before(older, before->n_ctors, table->n_ctors),
       has_fields = is_as_before(older, before->n_fields, table->n_fields),
       has_layout_words = is_as_before(older, before->n_layout_words, table->n_layout_words),
       has_names = is_as_before(older, before->n_names, table->n_names);
  size_t size = sizeof(hia_value_types), at[8], n_scalars = 0;
  for (uint32_t i = 0; i < table->n_types; i++)
    if (table->types[i].kind == HIA_KIND_TUPLE) n_scalars += table->types[i].n_words;
  if (!add_part(&size, table->n_types, sizeof *table->types, &at[0]) ||
      !add_part(&size, table->n_parts, sizeof *table->parts, &at[1]) ||
      !add_part(&size, has_ctors ? 0 : table->n_ctors, sizeof *table->ctors, &at[2]) ||
      !add_part(&size, has_fields ? 0 : table->n_fields, sizeof *table->fields, &at[3]) ||
      !add_part(&size, has_layout_words ? 0 : table->n_layout_words, sizeof *table->layout_words,
                &at[4]) ||
      !add_part(&size, has_names ? 0 : table->n_names, 1, &at[5]) ||
      !add_part(&size, table->n_types, sizeof(hia_type_info), &at[6]) ||
      !add_part(&size, n_scalars, sizeof(hia_dtype), &at[7]))
    return NULL;
  char *block = allocator->alloc(allocator->user, size);
  if (!block) return NULL;
  hia_value_types *types = (hia_value_types *)(void *)block;
  *types = (hia_value_types){.allocator = *allocator, .size = size};
  atomic_init(&types->holders, 1);
  types->older = hiaR_value_types_hold(older);
  types->first = older ? older->first : types;
  hia_type_table *t = &types->table;
  *t = *table;
  t->types = copy_part(block, at[0], table->types, t->n_types * sizeof *t->types);
  t->parts = copy_part(block, at[1], table->parts, t->n_parts * sizeof *t->parts);
  t->ctors = has_ctors ? before->ctors
                       : copy_part(block, at[2], table->ctors, t->n_ctors * sizeof *t->ctors);
  t->fields = has_fields ? before->fields
                         : copy_part(block, at[3], table->fields, t->n_fields * sizeof *t->fields);
  t->layout_words = has_layout_words ? before->layout_words
                                     : copy_part(block, at[4], table->layout_words,
                                                 t->n_layout_words * sizeof *t->layout_words);
  t->names = has_names ? before->names : copy_part(block, at[5], table->names, t->n_names);
  types->infos = (hia_type_info *)(void *)(block + at[6]);
  describe(types, (hia_type_info *)(void *)(block + at[6]), (hia_dtype *)(void *)(block + at[7]));
  return types;
}

/* ---- comparing ----
 *
 * Types are equal if they are built in the same way and their data types have the same names,
 * constructors and fields. Types refer to themselves, so a pair that is met again is assumed to be
 * equal. Within a table equal types have one number: so each type of the one table has at most one
 * partner in the other. */

typedef struct comparing {
  const hia_type_table *a, *b;
  hia_type *partner; /* by type of a: that of b, or 0 */
  hia_type *met;     /* types of a, in the order in which they were met */
  uint32_t n;
} comparing;

static bool meet(comparing *c, hia_type a, hia_type b) {
  if (hiaR_is_scalar(a) || hiaR_is_scalar(b)) return a == b;
  hia_type *partner = &c->partner[a - HIA_FIRST_TYPE];
  if (*partner) return *partner == b;
  *partner = b;
  c->met[c->n++] = a;
  return true;
}

static bool ctors_are_same(comparing *c, const hia_ctor *a, const hia_ctor *b) {
  if (a->n != b->n || strcmp(c->a->names + a->name, c->b->names + b->name) != 0) return false;
  for (uint32_t i = 0; i < a->n; i++) {
    const hia_ctor_field *x = &c->a->fields[a->first + i], *y = &c->b->fields[b->first + i];
    if (strcmp(c->a->names + x->name, c->b->names + y->name) != 0 || !meet(c, x->type, y->type))
      return false;
  }
  return a->n_sizes == b->n_sizes &&
         (!a->n_sizes || memcmp(c->a->parts + a->sizes, c->b->parts + b->sizes,
                                a->n_sizes * sizeof *c->a->parts) == 0);
}

static bool entries_are_same(comparing *c, const hia_type_entry *a, const hia_type_entry *b) {
  if (a->kind != b->kind || a->n != b->n) return false;
  if (a->kind == HIA_KIND_ARRAY) return meet(c, a->element, b->element);
  if (a->kind == HIA_KIND_TENSOR) return a->element == b->element; /* and they have one rank, n */
  if (a->kind == HIA_KIND_TUPLE) {
    for (uint32_t i = 0; i < a->n; i++)
      if (!meet(c, c->a->parts[a->first + i], c->b->parts[b->first + i])) return false;
    return true;
  }
  if (strcmp(c->a->names + a->name, c->b->names + b->name) != 0) return false;
  for (uint32_t i = 0; i < a->n; i++)
    if (!ctors_are_same(c, &c->a->ctors[a->first + i], &c->b->ctors[b->first + i])) return false;
  return true;
}

static bool are_same(comparing *c, hia_type a, hia_type b) {
  if (!meet(c, a, b)) return false;
  for (uint32_t i = 0; i < c->n; i++) {
    hia_type type = c->met[i];
    if (!entries_are_same(c, hiaR_type_entry(c->a, type),
                          hiaR_type_entry(c->b, c->partner[type - HIA_FIRST_TYPE])))
      return false;
  }
  return true;
}

hia_status hiaR_types_compare(const hia_type_table *a, hia_type type_a, const hia_type_table *b,
                              hia_type type_b, const hia_allocator *allocator, bool *is_same) {
  hia_type few[2 * 64];
  size_t n = a->n_types, size = n <= HIA_LEN(few) / 2 ? 0 : n * 2 * sizeof(hia_type);
  *is_same = false;
  comparing c = {.a = a, .b = b, .partner = few};
  if (size) c.partner = hiaR_alloc(allocator, size);
  if (!c.partner) return HIA_MEMORY;
  if (!size) memset(few, 0, n * sizeof *few);
  c.met = c.partner + n;
  *is_same = are_same(&c, type_a, type_b);
  if (size) hiaR_free(allocator, c.partner, size);
  return HIA_OK;
}

hia_status hiaR_type_infos_compare(const hia_type_info *a, const hia_type_info *b,
                                   const hia_allocator *allocator, bool *is_same) {
  *is_same = hiaR_is_same_type(a, b);
  if (*is_same || a->types->first == b->types->first || a->n_words != b->n_words ||
      a->has_references != b->has_references)
    return HIA_OK;
  return hiaR_types_compare(&a->types->table, a->type, &b->types->table, b->type, allocator,
                            is_same);
}
