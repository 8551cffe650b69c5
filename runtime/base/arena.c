/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Arenas: memory that is freed all at once, and the vectors that grow in it. */
#include "runtime/base/base.h"
#include <stdio.h>

typedef struct hia_chunk {
  struct hia_chunk *next;
  size_t size; /* as requested from the allocator, including this header */
} hia_chunk;

#define ALIGN ((size_t)16)

/* Chunks double from the first to the largest, so that a small compilation is cheap and a large one
 * calls the allocator rarely. The stress build gives every block a chunk of its own: sanitizers
 * then see overflows between blocks, and allocation failures hit every call. */
#ifdef HIA_STRESS
static const size_t first_chunk = (size_t)0;
static const size_t largest_chunk = (size_t)0;
#else
static const size_t first_chunk = (size_t)16 << 10;
static const size_t largest_chunk = (size_t)1 << 20;
#endif

_Static_assert(sizeof(hia_chunk) % 16 == 0, "blocks behind the header must stay aligned");

static _Noreturn void out_of_memory(hia_arena *arena) {
  hiaR_throw(arena->comp, HIA_MEMORY, "out of memory (%zu bytes in use)", arena->bytes);
}

void hiaR_arena_init(hia_arena *arena, const hia_allocator *allocator, struct hia_comp *comp) {
  *arena = (hia_arena){.allocator = allocator, .comp = comp};
}

hia_mark hiaR_arena_mark(const hia_arena *arena) {
  return (hia_mark){arena->chunks, arena->at, arena->end};
}

void hiaR_arena_release(hia_arena *arena, hia_mark mark) {
  while (arena->chunks != mark.chunks) {
    hia_chunk *chunk = arena->chunks;
    arena->chunks = chunk->next;
    arena->bytes -= chunk->size;
    hiaR_free(arena->allocator, chunk, chunk->size);
  }
  arena->at = mark.at;
  arena->end = mark.end;
}

void hiaR_arena_free(hia_arena *arena) { hiaR_arena_release(arena, (hia_mark){NULL, NULL, NULL}); }

static char *new_chunk(hia_arena *arena, size_t payload) {
  size_t size;
  if (!hiaR_add(payload, sizeof(hia_chunk), &size)) out_of_memory(arena);
  if (arena->comp && arena->comp->look) hiaR_look(arena->comp);
  hia_chunk *chunk = arena->allocator->alloc(arena->allocator->user, size);
  if (!chunk) out_of_memory(arena);
  chunk->next = arena->chunks;
  chunk->size = size;
  arena->chunks = chunk;
  arena->bytes += size;
  return (char *)(chunk + 1);
}

static size_t round_up(hia_arena *arena, size_t size) {
  size_t sum;
  if (!hiaR_add(size, ALIGN - 1, &sum)) out_of_memory(arena);
  return sum & ~(ALIGN - 1);
}

/* `size` is a multiple of ALIGN; the block is not zeroed. */
static char *take(hia_arena *arena, size_t size) {
  if (size > (size_t)(arena->end - arena->at)) {
    /* Half of what is in use so far, within the bounds: geometric growth. */
    size_t chunk = arena->bytes / 2;
    if (chunk < first_chunk) chunk = first_chunk;
    if (chunk > largest_chunk) chunk = largest_chunk;
    chunk &= ~(ALIGN - 1);
    /* A large block gets its own chunk, and the rest of the current one stays in use. */
    if (size > chunk / 4) return new_chunk(arena, size);
    arena->at = new_chunk(arena, chunk);
    arena->end = arena->at + chunk;
  }
  char *block = arena->at;
  arena->at += size;
  return block;
}

void *hiaR_arena_alloc(hia_arena *arena, size_t size) {
  size = round_up(arena, size ? size : 1);
  return memset(take(arena, size), 0, size);
}

void *hiaR_arena_array(hia_arena *arena, size_t n, size_t size) {
  size_t product;
  if (!hiaR_mul(n, size, &product)) out_of_memory(arena);
  return hiaR_arena_alloc(arena, product);
}

void *hiaR_arena_grow(hia_arena *arena, void *block, size_t old_size, size_t size) {
  size_t old_rounded = round_up(arena, old_size), rounded = round_up(arena, size);
  if (block && old_rounded && (char *)block + old_rounded == arena->at &&
      rounded - old_rounded <= (size_t)(arena->end - arena->at)) {
    memset(arena->at, 0, rounded - old_rounded);
    arena->at += rounded - old_rounded;
    return block;
  }
  char *larger = take(arena, rounded);
  if (old_size) memcpy(larger, block, old_size);
  memset(larger + old_size, 0, rounded - old_size);
  return larger;
}

char *hiaR_arena_strndup(hia_arena *arena, const char *text, size_t len) {
  size_t size;
  if (!hiaR_add(len, 1, &size)) out_of_memory(arena);
  char *copy = hiaR_arena_alloc(arena, size);
  if (len) memcpy(copy, text, len);
  return copy;
}

char *hiaR_arena_printf(hia_arena *arena, const char *fmt, ...) {
  va_list args;
  va_start(args, fmt);
  int len = vsnprintf(NULL, 0, fmt, args);
  va_end(args);
  if (len < 0) len = 0; /* not possible with the formats used here; the text is then empty */
  char *text = hiaR_arena_alloc(arena, (size_t)len + 1);
  va_start(args, fmt);
  vsnprintf(text, (size_t)len + 1, fmt, args);
  va_end(args);
  return text;
}

void hiaR_vec_grow(hia_arena *arena, void *vec, size_t elem_size, uint32_t min_cap) {
  /* A HIA_VEC of any type: its pointer is moved as bytes, since its type is not known here. */
  typedef HIA_VEC(char) any_vec;
  any_vec v;
  memcpy(&v, vec, sizeof v);
  uint32_t cap = v.cap < 4 ? 4 : v.cap > UINT32_MAX / 2 ? UINT32_MAX : v.cap * 2;
  if (cap < min_cap) cap = min_cap;
  size_t size;
  if (v.cap == UINT32_MAX || !hiaR_mul(cap, elem_size, &size)) out_of_memory(arena);
  v.data = hiaR_arena_grow(arena, v.data, v.cap * elem_size, size);
  v.cap = cap;
  memcpy(vec, &v, sizeof v);
}
