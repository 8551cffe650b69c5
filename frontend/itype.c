/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The types of inference: interned, joined, settled (docs/language.md, "Typing of literals"). */
#include "frontend/ast.h"

static hia_ituple *tuple_of(const hia_itypes *it, hia_itype t) {
  return &it->tuples.data[t - HIA_IT_FIRST_TUPLE];
}

void hiaF_itypes_init(hia_itypes *it, hia_arena *arena, hia_types *types) {
  memset(it, 0, sizeof *it);
  it->arena = arena;
  it->types = types;
}

uint32_t hiaF_ituple_len(const hia_itypes *it, hia_itype t) { return tuple_of(it, t)->n; }

hia_itype hiaF_ituple_part(const hia_itypes *it, hia_itype t, uint32_t i) {
  return it->parts.data[tuple_of(it, t)->first + i];
}

uint32_t hiaF_itype_parts(const hia_itypes *it, hia_itype t) {
  return hiaF_is_tuple(t) ? tuple_of(it, t)->parts : 1;
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
  return hiaF_is_tuple(t) ? tuple_of(it, t)->has : simple[t];
}

static uint32_t hash_parts(const hia_itype *parts, uint32_t n) {
  uint32_t h = 2166136261u ^ n;
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

hia_itype hiaF_ituple(hia_itypes *it, const hia_itype *parts, uint32_t n) {
  if (it->tuples.len * 2 >= it->table.len) rehash(it, it->table.len ? it->table.len * 2 : 64);
  uint32_t mask = it->table.len - 1, k = hash_parts(parts, n) & mask;
  for (; it->table.data[k] != HIA_NONE; k = (k + 1) & mask) {
    const hia_ituple *e = &it->tuples.data[it->table.data[k]];
    if (e->n == n && memcmp(it->parts.data + e->first, parts, n * sizeof *parts) == 0)
      return HIA_IT_FIRST_TUPLE + it->table.data[k];
  }
  hia_ituple e = {.first = it->parts.len, .n = n, .type = HIA_NONE};
  for (uint32_t i = 0; i < n; i++) {
    e.parts += hiaF_itype_parts(it, parts[i]);
    e.has |= hiaF_itype_has(it, parts[i]);
    if (e.parts > HIA_MAX_PARTS) return HIA_IT_ERROR;
  }
  size_t inside = (size_t)(parts - it->parts.data);
  bool moves = it->parts.data != NULL && parts >= it->parts.data && inside < it->parts.len;
  hiaR_reserve(it->arena, &it->parts, it->parts.len + n);
  if (moves) parts = it->parts.data + inside;
  memcpy(it->parts.data + it->parts.len, parts, n * sizeof *parts);
  it->parts.len += n;
  uint32_t id = it->tuples.len;
  hiaR_push(it->arena, &it->tuples, e);
  it->table.data[k] = id;
  return HIA_IT_FIRST_TUPLE + id;
}

/* ---- joins ---- */

static bool is_open(hia_itype t) { return t >= HIA_IT_UNKNOWN && t < HIA_IT_ERROR; }

/* The rank of an open type other than unknown, tainted or not. Of two that join the join has the
 * higher. */
enum { BOTTOM, INT, FLOAT, WHOLE };
static unsigned rank(hia_itype t) { return (t - HIA_IT_BOTTOM) / 2; }
static bool tainted(hia_itype t) { return t == HIA_IT_UNKNOWN || ((t - HIA_IT_BOTTOM) & 1) != 0; }
static hia_itype make_open(unsigned r, bool taint) { return HIA_IT_BOTTOM + 2 * r + taint; }

typedef hia_itype leaf_map(hia_itype t, bool flag);

static hia_itype map(hia_itypes *it, hia_itype t, uint32_t has, leaf_map *leaf, bool flag) {
  if (!(hiaF_itype_has(it, t) & has)) return t;
  if (!hiaF_is_tuple(t)) return leaf(t, flag);
  uint32_t n = hiaF_ituple_len(it, t);
  hia_itype *parts = HIA_NEW_ARRAY(it->arena, hia_itype, n);
  for (uint32_t i = 0; i < n; i++) parts[i] = map(it, hiaF_ituple_part(it, t, i), has, leaf, flag);
  return hiaF_ituple(it, parts, n);
}

static hia_itype taint_leaf(hia_itype t, bool flag) {
  (void)flag;
  return is_open(t) && t != HIA_IT_UNKNOWN ? make_open(rank(t), true) : t;
}

static hia_itype settle_leaf(hia_itype t, bool force) {
  if (t == HIA_IT_UNKNOWN || !is_open(t)) return t;
  if (tainted(t) && !force) return HIA_IT_UNKNOWN;
  return rank(t) == FLOAT ? (hia_itype)HIA_F32 : (hia_itype)HIA_I32;
}

static hia_itype view_leaf(hia_itype t, bool flag) {
  (void)flag;
  return is_open(t) && t != HIA_IT_BOTTOM ? (hia_itype)HIA_IT_UNKNOWN : t;
}

hia_itype hiaF_settle(hia_itypes *it, hia_itype t, bool force) {
  return map(it, t, HIA_HAS_LITERAL | HIA_HAS_BOTTOM, settle_leaf, force);
}

hia_itype hiaF_view(hia_itypes *it, hia_itype t) {
  return map(it, t, HIA_HAS_LITERAL | HIA_HAS_BOTTOM, view_leaf, false);
}

hia_itype hiaF_join(hia_itypes *it, hia_itype a, hia_itype b) {
  if (a == b) return a;
  if ((hiaF_itype_has(it, a) | hiaF_itype_has(it, b)) & HIA_HAS_ERROR) return HIA_IT_ERROR;
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
  if (!hiaF_is_tuple(a) || !hiaF_is_tuple(b)) return HIA_IT_ERROR;
  uint32_t n = hiaF_ituple_len(it, a);
  if (n != hiaF_ituple_len(it, b)) return HIA_IT_ERROR;
  hia_itype *parts = HIA_NEW_ARRAY(it->arena, hia_itype, n);
  for (uint32_t i = 0; i < n; i++) {
    parts[i] = hiaF_join(it, hiaF_ituple_part(it, a, i), hiaF_ituple_part(it, b, i));
    if (hiaF_itype_has(it, parts[i]) & HIA_HAS_ERROR) return HIA_IT_ERROR;
  }
  return hiaF_ituple(it, parts, n);
}

/* ---- to and from the types of the graph; text ---- */

hia_type hiaF_itype_type(hia_itypes *it, hia_itype t) {
  if (!hiaF_is_tuple(t)) return t;
  if (tuple_of(it, t)->type != HIA_NONE) return tuple_of(it, t)->type;
  uint32_t n = hiaF_ituple_len(it, t);
  hia_type *parts = HIA_NEW_ARRAY(it->arena, hia_type, n);
  for (uint32_t i = 0; i < n; i++) parts[i] = hiaF_itype_type(it, hiaF_ituple_part(it, t, i));
  return tuple_of(it, t)->type = hiaG_tuple(it->types, parts, n);
}

hia_type hiaF_itype_made(const hia_itypes *it, hia_itype t) {
  return hiaF_is_tuple(t) ? tuple_of(it, t)->type : t;
}

hia_itype hiaF_itype_of(hia_itypes *it, hia_type t) {
  if (hiaG_is_scalar(t)) return t;
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
  if (!hiaF_is_tuple(t)) {
    hiaR_text_addf(out, "%s", names[t]);
    return;
  }
  for (uint32_t i = 0; i < hiaF_ituple_len(it, t); i++) {
    hiaR_text_addf(out, i == 0 ? "(" : ", ");
    hiaF_itype_print(it, hiaF_ituple_part(it, t, i), out);
  }
  hiaR_text_addf(out, ")");
}

const char *hiaF_itype_text(const hia_itypes *it, hia_itype t) {
  hia_text text;
  hiaR_text_init(&text, it->arena);
  hiaF_itype_print(it, t, &text);
  return text.data;
}
