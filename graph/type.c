/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Types: dtypes by number, tuples interned, so that equal types are equal numbers. */
#include "graph/graph.h"

void hiaG_types_init(hia_types *types, hia_comp *comp) { *types = (hia_types){.comp = comp}; }

static const hia_tuple_type *tuple_of(const hia_types *types, hia_type type) {
  if (type < HIA_FIRST_TUPLE || type - HIA_FIRST_TUPLE >= types->tuples.len)
    HIA_BUG(types->comp, "type %u is no tuple", type);
  return &types->tuples.data[type - HIA_FIRST_TUPLE];
}

hia_type hiaG_tuple(hia_types *types, const hia_type *parts, uint32_t n) {
  if (n < 2) HIA_BUG(types->comp, "a tuple of %u", n);
  hia_arena *arena = &types->comp->arena;
  uint32_t hash = hiaR_hash(parts, n * sizeof *parts), at = hash, i;
  while ((i = hiaR_index_next(&types->index, hash, &at)) != HIA_NONE) {
    const hia_tuple_type *t = &types->tuples.data[i];
    if (t->n == n && memcmp(types->parts.data + t->first, parts, n * sizeof *parts) == 0)
      return HIA_FIRST_TUPLE + i;
  }
  hia_tuple_type t = {types->parts.len, n, 0};
  for (uint32_t k = 0; k < n; k++) {
    uint32_t words = hiaG_type_words(types, parts[k]);
    if (words > UINT32_MAX - t.parts)
      hiaR_throw(types->comp, HIA_MEMORY, "out of memory: type with too many parts");
    t.parts += words;
  }
  for (uint32_t k = 0; k < n; k++) hiaR_push(arena, &types->parts, parts[k]);
  /* Types outlive a throw: the index must not lead to a tuple for which there was no memory. */
  hiaR_reserve(arena, &types->tuples, types->tuples.len + 1);
  hiaR_index_add(arena, &types->index, hash, types->tuples.len);
  hiaR_push(arena, &types->tuples, t);
  return HIA_FIRST_TUPLE + types->tuples.len - 1;
}

uint32_t hiaG_tuple_len(const hia_types *types, hia_type tuple) {
  return tuple_of(types, tuple)->n;
}

hia_type hiaG_tuple_part(const hia_types *types, hia_type tuple, uint32_t i) {
  return types->parts.data[tuple_of(types, tuple)->first + i];
}

uint32_t hiaG_type_words(const hia_types *types, hia_type type) {
  return hiaG_is_scalar(type) ? 1 : tuple_of(types, type)->parts;
}

/* Walks a type from left to right. Tuples can nest as deep as they have parts, so the open tuples
 * are kept in a stack in scratch memory, without recursion. */
typedef struct {
  hia_type tuple;
  uint32_t next;
} open_tuple;

static void walk(const hia_types *types, hia_type type, hia_dtype *flat, hia_text *out) {
  hia_arena *scratch = &types->comp->scratch;
  hia_mark mark = hiaR_arena_mark(scratch);
  HIA_VEC(open_tuple) stack = {0};
  for (;;) {
    if (!hiaG_is_scalar(type)) {
      hiaR_push(scratch, &stack, (open_tuple){type, 0});
      if (out) hiaR_text_add(out, "(", 1);
    } else if (out) {
      const char *name = hiaG_dtype_name((hia_dtype)type);
      hiaR_text_add(out, name, strlen(name));
    } else {
      *flat++ = (hia_dtype)type;
    }
    while (stack.len &&
           stack.data[stack.len - 1].next == tuple_of(types, stack.data[stack.len - 1].tuple)->n) {
      if (out) hiaR_text_add(out, ")", 1);
      stack.len--;
    }
    if (stack.len == 0) break;
    open_tuple *top = &stack.data[stack.len - 1];
    if (out && top->next) hiaR_text_add(out, ", ", 2);
    type = hiaG_tuple_part(types, top->tuple, top->next++);
  }
  hiaR_arena_release(scratch, mark);
}

hia_type hiaG_type_copy(hia_types *to, const hia_types *from, hia_type type) {
  if (to == from || hiaG_is_scalar(type)) return type;
  hia_arena *scratch = &to->comp->scratch;
  hia_mark mark = hiaR_arena_mark(scratch);
  HIA_VEC(open_tuple) stack = {0};
  HIA_VEC(hia_type) done = {0}; /* parts of the open tuples */
  hiaR_push(scratch, &stack, (open_tuple){type, 0});
  while (stack.len) {
    open_tuple *top = &stack.data[stack.len - 1];
    const hia_tuple_type *tuple = tuple_of(from, top->tuple);
    if (top->next < tuple->n) {
      hia_type part = hiaG_tuple_part(from, top->tuple, top->next++);
      if (hiaG_is_scalar(part))
        hiaR_push(scratch, &done, part);
      else
        hiaR_push(scratch, &stack, (open_tuple){part, 0});
      continue;
    }
    stack.len--;
    done.len -= tuple->n;
    type = hiaG_tuple(to, done.data + done.len, tuple->n);
    hiaR_push(scratch, &done, type);
  }
  hiaR_arena_release(scratch, mark);
  return type;
}

void hiaG_type_flatten(const hia_types *types, hia_type type, hia_dtype *out) {
  walk(types, type, out, NULL);
}

void hiaG_type_print(const hia_types *types, hia_type type, hia_text *out) {
  walk(types, type, NULL, out);
}

const char *hiaG_dtype_name(hia_dtype dtype) {
  static const char *const names[HIA_N_DTYPES] = {"bool", "i32", "i64", "f32", "f64"};
  return (unsigned)dtype < HIA_N_DTYPES ? names[dtype] : "?";
}
