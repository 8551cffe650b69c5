/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The types of inference: interned, joined, settled (docs/language.md, "Typing of literals"). */
#include "frontend/types/itype.h"

static hia_ituple *tuple_of(const hia_itypes *it, hia_itype t) {
  return &it->tuples.data[t - (t < HIA_IT_ARRAY ? HIA_IT_FIRST_TUPLE : HIA_IT_ARRAY)];
}
/* True for tuples and arrays. */
static bool has_parts(hia_itype t) { return hiaF_is_tuple(t) || hiaF_is_array(t); }

void hiaF_itypes_init(hia_itypes *it, hia_arena *arena, hia_types *types) {
  memset(it, 0, sizeof *it);
  it->arena = arena;
  it->types = types;
}

uint32_t hiaF_ituple_len(const hia_itypes *it, hia_itype t) { return tuple_of(it, t)->n; }

hia_itype hiaF_ituple_part(const hia_itypes *it, hia_itype t, uint32_t i) {
  return it->parts.data[tuple_of(it, t)->first + i];
}

hia_itype hiaF_element(const hia_itypes *it, hia_itype array) {
  return it->parts.data[tuple_of(it, array)->first];
}

uint32_t hiaF_itype_parts(const hia_itypes *it, hia_itype t) {
  return has_parts(t) ? tuple_of(it, t)->parts : 1;
}

uint32_t hiaF_itype_words(const hia_itypes *it, hia_itype t) {
  return has_parts(t) ? tuple_of(it, t)->words : 1;
}

uint32_t hiaF_itype_has(const hia_itypes *it, hia_itype t) {
  static const uint8_t simple[] = {
      [HIA_IT_UNKNOWN] = HIA_HAS_UNKNOWN,
      [HIA_IT_BOTTOM] = HIA_HAS_BOTTOM,
      [HIA_IT_BOTTOM_U] = HIA_HAS_BOTTOM | HIA_HAS_TAINT,
      [HIA_IT_INT] = HIA_HAS_LITERAL,
      [HIA_IT_INT_U] = HIA_HAS_LITERAL | HIA_HAS_TAINT,
      [HIA_IT_FLOAT] = HIA_HAS_LITERAL,
      [HIA_IT_FLOAT_U] = HIA_HAS_LITERAL | HIA_HAS_TAINT,
      [HIA_IT_WHOLE] = HIA_HAS_LITERAL,
      [HIA_IT_WHOLE_U] = HIA_HAS_LITERAL | HIA_HAS_TAINT,
      [HIA_IT_ERROR] = HIA_HAS_ERROR,
  };
  if (hiaF_is_tensor(t))
    return (hiaF_leaf(t) < HIA_N_DTYPES ? 0 : simple[hiaF_leaf(t)]) |
           (t & HIA_IT_OPEN ? HIA_HAS_RANK : 0);
  return has_parts(t) ? tuple_of(it, t)->has : hiaF_is_simple(t) ? simple[t] : 0;
}

static uint32_t hash_parts(const hia_itype *parts, uint32_t n) {
  uint32_t h = 2166136261u ^ n; /* no tuple has one part: that is an array */
  for (uint32_t i = 0; i < n; i++) h = (h ^ parts[i]) * 16777619u, h ^= h >> 15;
  return h;
}

static void rehash(hia_itypes *it, uint32_t size) {
  it->table.data = HIA_NEW_ARRAY(it->arena, uint32_t, size);
  it->table.len = it->table.cap = size;
  for (uint32_t i = 0; i < size; i++) it->table.data[i] = HIA_NONE;
  for (uint32_t i = 0; i < it->tuples.len; i++) {
    const hia_ituple *e = &it->tuples.data[i];
    uint32_t k = hash_parts(it->parts.data + e->first, e->n) & (size - 1);
    while (it->table.data[k] != HIA_NONE) k = (k + 1) & (size - 1);
    it->table.data[k] = i;
  }
}

/* Interns the type of a tuple or, if n is 1, of an array. */
static hia_itype intern(hia_itypes *it, const hia_itype *parts, uint32_t n) {
  bool is_array = n == 1;
  uint32_t base = is_array ? HIA_IT_ARRAY : HIA_IT_FIRST_TUPLE;
  if (it->tuples.len * 2 >= it->table.len) rehash(it, it->table.len ? it->table.len * 2 : 64);
  uint32_t mask = it->table.len - 1, k = hash_parts(parts, n) & mask;
  for (; it->table.data[k] != HIA_NONE; k = (k + 1) & mask) {
    const hia_ituple *e = &it->tuples.data[it->table.data[k]];
    if (e->n == n && memcmp(it->parts.data + e->first, parts, n * sizeof *parts) == 0)
      return base + it->table.data[k];
  }
  hia_ituple e = {.first = it->parts.len,
                  .n = n,
                  .parts = is_array, /* so nested arrays have an end, too */
                  .type = HIA_NONE,
                  .is_array = is_array};
  for (uint32_t i = 0; i < n; i++) {
    e.parts += hiaF_itype_parts(it, parts[i]);
    e.words += hiaF_itype_words(it, parts[i]);
    e.has |= hiaF_itype_has(it, parts[i]);
    if (e.parts > HIA_MAX_TYPE_PARTS) return HIA_IT_ERROR;
  }
  if (is_array) e.words = 1;
  size_t inside = (size_t)(parts - it->parts.data);
  bool moves = it->parts.data != NULL && parts >= it->parts.data && inside < it->parts.len;
  hiaR_reserve(it->arena, &it->parts, it->parts.len + n);
  if (moves) parts = it->parts.data + inside;
  memcpy(it->parts.data + it->parts.len, parts, n * sizeof *parts);
  it->parts.len += n;
  uint32_t id = it->tuples.len;
  hiaR_push(it->arena, &it->tuples, e);
  it->table.data[k] = id;
  return base + id;
}

hia_itype hiaF_ituple(hia_itypes *it, const hia_itype *parts, uint32_t n) {
  return n < 2 ? (hia_itype)HIA_IT_ERROR : intern(it, parts, n); /* fewer: reported */
}

hia_itype hiaF_iarray(hia_itypes *it, hia_itype element) { return intern(it, &element, 1); }

hia_itype hiaF_idata(hia_itypes *it, const char *name, uint32_t decl) {
  hiaR_reserve(it->arena, &it->data, it->data.len + 1);
  hia_idata data = {name, decl, hiaG_data(it->types, name)};
  hiaR_push(it->arena, &it->data, data);
  return HIA_IT_DATA + it->data.len - 1;
}

/* ---- joins ---- */

static bool is_open(hia_itype t) { return t >= HIA_IT_UNKNOWN && t < HIA_IT_ERROR; }

/* Ranks the open types other than unknown, tainted or not: where two of them join, the join has
 * the higher rank. */
enum { BOTTOM, INT, FLOAT, WHOLE };
static unsigned rank(hia_itype t) { return (t - HIA_IT_BOTTOM) / 2; }
static bool tainted(hia_itype t) { return t == HIA_IT_UNKNOWN || ((t - HIA_IT_BOTTOM) & 1) != 0; }
static hia_itype make_open(unsigned r, bool taint) { return HIA_IT_BOTTOM + 2 * r + taint; }

static bool is_bottom(hia_itype t) { return t == HIA_IT_BOTTOM || t == HIA_IT_BOTTOM_U; }

/* ---- ranks ---- */

static bool is_tainted_leaf(hia_itype leaf) { return is_open(leaf) && tainted(leaf); }

bool hiaF_has_open_rank(hia_itype t) {
  return is_tainted_leaf(hiaF_leaf(t)) || (hiaF_is_tensor(t) && t & HIA_IT_OPEN);
}

hia_itype hiaF_ranked(hia_itype leaf, uint32_t rank, bool is_open) {
  if (leaf == HIA_IT_UNKNOWN || leaf >= HIA_IT_ERROR) return leaf;
  bool says_so = is_open && leaf < HIA_N_DTYPES;
  if (rank == 0 && !says_so) return leaf;
  return HIA_IT_TENSOR + rank * 16 + leaf + (says_so ? HIA_IT_OPEN : 0);
}

static hia_itype with_leaf(hia_itype t, hia_itype leaf) {
  return hiaF_ranked(leaf, hiaF_irank(t), hiaF_is_tensor(t) && t & HIA_IT_OPEN);
}

hia_itype hiaF_in_a_row(hia_itypes *it, hia_itype element) {
  if (element == HIA_IT_UNKNOWN) return element;
  if (!hiaF_is_ranked(element) || is_bottom(element)) return hiaF_iarray(it, element);
  uint32_t rank = hiaF_irank(element) + 1;
  return rank > HIA_MAX_RANK ? (hia_itype)HIA_IT_ERROR
                             : hiaF_ranked(hiaF_leaf(element), rank, hiaF_has_open_rank(element));
}

/* ---- parts ---- */

typedef hia_itype leaf_map(hia_itype t, unsigned flag);

static hia_itype map(hia_itypes *it, hia_itype t, uint32_t has, leaf_map *leaf, unsigned flag) {
  if (!(hiaF_itype_has(it, t) & has)) return t;
  if (!has_parts(t)) return leaf(t, flag);
  uint32_t n = hiaF_ituple_len(it, t);
  hia_itype *parts = HIA_NEW_ARRAY(it->arena, hia_itype, n);
  for (uint32_t i = 0; i < n; i++) parts[i] = map(it, hiaF_ituple_part(it, t, i), has, leaf, flag);
  return n == 1 ? hiaF_in_a_row(it, parts[0]) : intern(it, parts, n);
}

static hia_itype taint_leaf(hia_itype t, unsigned flag) {
  hia_itype leaf = hiaF_leaf(t);
  (void)flag;
  bool is_literal = is_open(leaf) && leaf != HIA_IT_UNKNOWN;
  return is_literal ? with_leaf(t, make_open(rank(leaf), true)) : t;
}

static hia_itype settle_leaf(hia_itype t, unsigned force) {
  hia_itype leaf = hiaF_leaf(t);
  if (leaf == HIA_IT_UNKNOWN) return leaf;
  if (is_tainted_leaf(leaf) && force < HIA_FORCE_ALL) return HIA_IT_UNKNOWN;
  if (hiaF_has_open_rank(t) && force < HIA_FORCE_RANKS) return HIA_IT_UNKNOWN;
  if (is_open(leaf)) leaf = rank(leaf) == FLOAT ? (hia_itype)HIA_F32 : (hia_itype)HIA_I32;
  return hiaF_ranked(leaf, hiaF_irank(t), false);
}

static hia_itype view_leaf(hia_itype t, unsigned flag) {
  (void)flag;
  return t == HIA_IT_BOTTOM ? t : (hia_itype)HIA_IT_UNKNOWN;
}

hia_itype hiaF_settle(hia_itypes *it, hia_itype t, hia_force force) {
  return map(it, t, HIA_HAS_LITERAL | HIA_HAS_BOTTOM | HIA_HAS_RANK, settle_leaf, force);
}

hia_itype hiaF_view(hia_itypes *it, hia_itype t) {
  return map(it, t, HIA_HAS_LITERAL | HIA_HAS_BOTTOM | HIA_HAS_RANK, view_leaf, 0);
}

/* Joins two scalars or tensors, neither of which is unknown, and one of which is a tensor. */
static hia_itype join_ranked(hia_itypes *it, hia_itype a, hia_itype b, bool broadcasts) {
  hia_itype leaf = hiaF_join(it, hiaF_leaf(a), hiaF_leaf(b));
  if (leaf == HIA_IT_ERROR) return leaf;
  uint32_t ra = hiaF_irank(a), rb = hiaF_irank(b), r = ra > rb ? ra : rb;
  bool open_a = hiaF_has_open_rank(a), open_b = hiaF_has_open_rank(b);
  if (broadcasts) return hiaF_ranked(leaf, r, open_a || open_b);
  if (is_bottom(hiaF_leaf(a))) return hiaF_ranked(leaf, rb, open_b);
  if (is_bottom(hiaF_leaf(b))) return hiaF_ranked(leaf, ra, open_a);
  bool fits = (ra == r || open_a) && (rb == r || open_b);
  return fits ? hiaF_ranked(leaf, r, open_a && open_b) : (hia_itype)HIA_IT_ERROR;
}

hia_itype hiaF_broadcast(hia_itypes *it, hia_itype a, hia_itype b) {
  if (!it->has_tensors || !hiaF_is_ranked(a) || !hiaF_is_ranked(b)) return hiaF_join(it, a, b);
  if (a == HIA_IT_UNKNOWN || b == HIA_IT_UNKNOWN) {
    hia_itype known = a == HIA_IT_UNKNOWN ? b : a;
    if (hiaF_leaf(known) >= HIA_N_DTYPES) return taint_leaf(known, 0);
    return hiaF_ranked(hiaF_leaf(known), hiaF_irank(known), true);
  }
  bool has_tensor = hiaF_is_tensor(a) || hiaF_is_tensor(b);
  if (has_tensor) return join_ranked(it, a, b, true);
  /* A scalar of a tainted literal may be a tensor. */
  bool is_maybe = (is_tainted_leaf(a) || is_tainted_leaf(b)) && !is_bottom(a) && !is_bottom(b);
  hia_itype leaf = hiaF_join(it, a, b);
  return is_maybe ? hiaF_ranked(leaf, 0, true) : leaf;
}

hia_itype hiaF_join(hia_itypes *it, hia_itype a, hia_itype b) {
  if (a == b) return a;
  if ((hiaF_itype_has(it, a) | hiaF_itype_has(it, b)) & HIA_HAS_ERROR) return HIA_IT_ERROR;
  if (a != HIA_IT_UNKNOWN && b != HIA_IT_UNKNOWN && hiaF_is_ranked(a) && hiaF_is_ranked(b) &&
      (hiaF_is_tensor(a) || hiaF_is_tensor(b)))
    return join_ranked(it, a, b, false);
  if (is_open(a)) {
    hia_itype c = a;
    a = b, b = c;
  }
  if (is_open(a)) { /* both are */
    bool taint = tainted(a) || tainted(b);
    if (a == HIA_IT_UNKNOWN) return make_open(rank(b), taint);
    if (b == HIA_IT_UNKNOWN) return make_open(rank(a), taint);
    unsigned high = rank(a) > rank(b) ? rank(a) : rank(b), low = rank(a) + rank(b) - high;
    return low == FLOAT && high == WHOLE ? (hia_itype)HIA_IT_ERROR : make_open(high, taint);
  }
  if (b == HIA_IT_UNKNOWN || (is_open(b) && rank(b) == BOTTOM))
    return tainted(b) ? map(it, a, HIA_HAS_LITERAL | HIA_HAS_BOTTOM, taint_leaf, false) : a;
  if (is_open(b)) {
    bool is_integer = a == HIA_I32 || a == HIA_I64, is_float = a == HIA_F32 || a == HIA_F64;
    bool joins = (is_integer && rank(b) != FLOAT) || (is_float && rank(b) != WHOLE);
    return joins ? a : (hia_itype)HIA_IT_ERROR;
  }
  if (hiaF_is_tensor(a) && hiaF_is_array(b) && is_bottom(hiaF_element(it, b))) return a;
  if (hiaF_is_tensor(b) && hiaF_is_array(a) && is_bottom(hiaF_element(it, a))) return b;
  if (!has_parts(a) || !has_parts(b)) return HIA_IT_ERROR;
  uint32_t n = hiaF_ituple_len(it, a);
  if (n != hiaF_ituple_len(it, b)) return HIA_IT_ERROR;
  hia_itype *parts = HIA_NEW_ARRAY(it->arena, hia_itype, n);
  for (uint32_t i = 0; i < n; i++) {
    parts[i] = hiaF_join(it, hiaF_ituple_part(it, a, i), hiaF_ituple_part(it, b, i));
    if (hiaF_itype_has(it, parts[i]) & HIA_HAS_ERROR) return HIA_IT_ERROR;
  }
  return intern(it, parts, n);
}

/* ---- to and from the types of the graph; text ---- */

static hia_type *type_slot(const hia_itypes *it, hia_itype t) {
  return hiaF_is_data(t) ? &it->data.data[t - HIA_IT_DATA].type : &tuple_of(it, t)->type;
}

hia_type hiaF_itype_type(hia_itypes *it, hia_itype t) {
  if (hiaF_is_simple(t)) return t;
  if (hiaF_is_tensor(t)) return hiaG_tensor(it->types, (hia_dtype)hiaF_leaf(t), hiaF_irank(t));
  if (*type_slot(it, t) != HIA_NONE) return *type_slot(it, t);
  uint32_t n = hiaF_ituple_len(it, t);
  hia_type *parts = HIA_NEW_ARRAY(it->arena, hia_type, n);
  for (uint32_t i = 0; i < n; i++) parts[i] = hiaF_itype_type(it, hiaF_ituple_part(it, t, i));
  return *type_slot(it, t) =
             n == 1 ? hiaG_array(it->types, parts[0]) : hiaG_tuple(it->types, parts, n);
}

hia_type hiaF_itype_made(const hia_itypes *it, hia_itype t) {
  return hiaF_is_simple(t)   ? t
         : hiaF_is_tensor(t) ? hiaG_tensor_made(it->types, (hia_dtype)hiaF_leaf(t), hiaF_irank(t))
                             : *type_slot(it, t);
}

hia_itype hiaF_itype_of(hia_itypes *it, hia_type t) {
  switch (hiaG_type_kind(it->types, t)) {
  case HIA_KIND_SCALAR: return t;
  case HIA_KIND_ARRAY: {
    hia_itype element = hiaF_itype_of(it, hiaG_element(it->types, t));
    return element == HIA_IT_ERROR ? element : hiaF_iarray(it, element);
  }
  case HIA_KIND_DATA:
    for (uint32_t i = 0; i < it->data.len; i++)
      if (it->data.data[i].type == t) return HIA_IT_DATA + i;
    HIA_BUG(it->types->comp, "a data type that the program does not have");
  case HIA_KIND_TENSOR:
    it->has_tensors = true;
    return hiaF_ranked(hiaG_tensor_dtype(it->types, t), hiaG_rank(it->types, t), false);
  case HIA_KIND_TUPLE:
  case HIA_KIND_NONE: break;
  }
  uint32_t n = hiaG_tuple_len(it->types, t);
  hia_itype *parts = HIA_NEW_ARRAY(it->arena, hia_itype, n);
  for (uint32_t i = 0; i < n; i++) parts[i] = hiaF_itype_of(it, hiaG_tuple_part(it->types, t, i));
  return hiaF_ituple(it, parts, n);
}

void hiaF_itype_print(const hia_itypes *it, hia_itype t, hia_text *out) {
  static const char *const names[] = {
      [HIA_BOOL] = "bool",
      [HIA_I32] = "i32",
      [HIA_I64] = "i64",
      [HIA_F32] = "f32",
      [HIA_F64] = "f64",
      [HIA_IT_UNKNOWN] = "?",
      [HIA_IT_BOTTOM] = "fail",
      [HIA_IT_BOTTOM_U] = "fail",
      [HIA_IT_INT] = "an integer literal",
      [HIA_IT_INT_U] = "an integer literal",
      [HIA_IT_FLOAT] = "a float literal",
      [HIA_IT_FLOAT_U] = "a float literal",
      [HIA_IT_WHOLE] = "an integer",
      [HIA_IT_WHOLE_U] = "an integer",
      [HIA_IT_ERROR] = "?",
  };
  if (hiaF_is_tensor(t)) {
    hia_itype leaf = hiaF_leaf(t);
    bool is_literal = leaf >= HIA_N_DTYPES;
    if (is_literal) hiaR_text_addf(out, "a tensor ");
    hiaR_text_addf(out, "%s", is_literal ? "" : names[leaf]);
    for (uint32_t i = 0; i < hiaF_irank(t); i++) hiaR_text_addf(out, i ? ", ?" : "[?");
    if (hiaF_irank(t)) hiaR_text_add(out, "]", 1);
    if (is_literal)
      hiaR_text_addf(out, " of %s literals", rank(leaf) == FLOAT ? "float" : "integer");
    return;
  }
  if (!has_parts(t)) {
    hiaR_text_addf(out, "%s", hiaF_is_data(t) ? it->data.data[t - HIA_IT_DATA].name : names[t]);
    return;
  }
  hiaR_text_addf(out, hiaF_is_array(t) ? "[" : "(");
  for (uint32_t i = 0; i < hiaF_ituple_len(it, t); i++) {
    if (i > 0) hiaR_text_addf(out, ", ");
    hiaF_itype_print(it, hiaF_ituple_part(it, t, i), out);
  }
  hiaR_text_addf(out, hiaF_is_array(t) ? "]" : ")");
}

const char *hiaF_itype_text(const hia_itypes *it, hia_itype t) {
  hia_text text;
  hiaR_text_init(&text, it->arena);
  hiaF_itype_print(it, t, &text);
  return text.data;
}
