/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
#include "runtime/heap/spans.h"
#include "runtime/heap/poison.h"

/* The beginning of a span. All of a free one behind this is poisoned for AddressSanitizer, and of
 * one in use what is behind the block. */
struct hia_span {
  size_t size;           /* with this, a multiple of UNIT; and flags */
  hia_span *before;      /* the one before it in its region; NULL: it is the first */
  hia_span *prev, *next; /* of a free one: in its list */
};
enum { UNIT = 64, IS_FREE = 1, IS_LAST = 2, FLAGS = IS_FREE | IS_LAST };
enum { LEAST = 1 << 10 }; /* bytes of a span; a smaller rest stays with the block */
_Static_assert(offsetof(hia_span, prev) == HIA_SPAN_HEAD, "blocks are behind the head");

static size_t size_of(const hia_span *span) { return span->size & ~(size_t)FLAGS; }
static bool is(const hia_span *span, size_t flag) { return span->size & flag; }
static hia_span *behind(hia_span *span) {
  return (hia_span *)(void *)((char *)span + size_of(span));
}

/* ---- lists ---- */

enum { EIGHTHS = 3, FIRST = 10 }; /* list 0 begins with 2^FIRST bytes, which is LEAST */

/* The list of spans of this size: all of a list are smaller than those of the next. */
static unsigned list_of(size_t size) {
  unsigned top = 63u - (unsigned)__builtin_clzll((uint64_t)size);
  unsigned eighth = (unsigned)(size >> (top - EIGHTHS)) & ((1u << EIGHTHS) - 1);
  unsigned list = ((top - FIRST) << EIGHTHS) + eighth;
  return list < HIA_SPAN_LISTS ? list : HIA_SPAN_LISTS - 1;
}

static void put(hia_spans *s, hia_span *span) {
  unsigned list = list_of(size_of(span));
  span->size |= IS_FREE;
  span->prev = NULL;
  span->next = s->free[list];
  if (span->next) span->next->prev = span;
  s->free[list] = span;
  s->some[list / 64] |= UINT64_C(1) << list % 64;
  HIA_POISON(span + 1, size_of(span) - sizeof *span);
}

static void take_out(hia_spans *s, hia_span *span) {
  unsigned list = list_of(size_of(span));
  *(span->prev ? &span->prev->next : &s->free[list]) = span->next;
  if (span->next) span->next->prev = span->prev;
  if (!s->free[list]) s->some[list / 64] &= ~(UINT64_C(1) << list % 64);
  span->size &= ~(size_t)IS_FREE;
}

/* The first of the lists from `list` on that has some; HIA_SPAN_LISTS: none has. */
static unsigned next_list(const hia_spans *s, unsigned list) {
  for (; list < HIA_SPAN_LISTS; list = (list / 64 + 1) * 64) {
    uint64_t some = s->some[list / 64] >> list % 64;
    if (some) return list + (unsigned)__builtin_ctzll(some);
  }
  return HIA_SPAN_LISTS;
}

/* A free span of this size or more; NULL: there is none. */
static hia_span *find(const hia_spans *s, size_t size) {
  enum { FEW = 8 }; /* those of the size's own list may be too small */
  unsigned own = list_of(size);
  hia_span *span = s->free[own];
  bool is_open = own == HIA_SPAN_LISTS - 1; /* no later list has those that surely fit */
  for (unsigned i = 0; span && (i < FEW || is_open); i++, span = span->next)
    if (size_of(span) >= size) return span;
  unsigned list = next_list(s, own + 1);
  return list < HIA_SPAN_LISTS ? s->free[list] : NULL;
}

/* ---- spans ---- */

void hiaR_spans_clear(hia_spans *s) { memset(s, 0, sizeof *s); }

void hiaR_spans_add(hia_spans *s, void *region, size_t size) {
  /* Blocks are aligned as lines of the cache are. */
  size_t skip = (size_t)-((uintptr_t)region + HIA_SPAN_HEAD) & (UNIT - 1);
  hia_span *span = (hia_span *)(void *)((char *)region + skip);
  HIA_UNPOISON(span, sizeof *span);
  span->size = ((size - skip) & ~(size_t)(UNIT - 1)) | IS_LAST;
  span->before = NULL;
  put(s, span);
}

/* Cuts a span that is in no list in two, of which the second one is free. */
static void cut(hia_spans *s, hia_span *span, size_t size) {
  hia_span *rest = (hia_span *)(void *)((char *)span + size);
  HIA_UNPOISON(rest, sizeof *rest);
  *rest = (hia_span){.size = (size_of(span) - size) | (span->size & IS_LAST), .before = span};
  span->size = size;
  if (!is(rest, IS_LAST)) behind(rest)->before = rest;
  put(s, rest);
}

void *hiaR_spans_take(hia_spans *s, size_t size) {
  size_t whole = (size + HIA_SPAN_HEAD + UNIT - 1) & ~(size_t)(UNIT - 1);
  if (whole < LEAST) whole = LEAST;
  hia_span *span = find(s, whole);
  if (!span) return NULL;
  take_out(s, span);
  if (size_of(span) - whole >= LEAST) cut(s, span, whole);
  char *block = (char *)span + HIA_SPAN_HEAD;
  HIA_POISON(block, size_of(span) - HIA_SPAN_HEAD);
  HIA_UNPOISON(block, size);
  return block;
}

/* Adds the next span, which is in no list, to the span before it. */
static void join(hia_span *span, hia_span *next) {
  span->size = (size_of(span) + size_of(next)) | (next->size & IS_LAST);
  if (!is(span, IS_LAST)) behind(span)->before = span;
}

void hiaR_spans_give(hia_spans *s, void *block) {
  hia_span *span = (hia_span *)(void *)((char *)block - HIA_SPAN_HEAD);
  HIA_UNPOISON(span, sizeof *span);
  if (!is(span, IS_LAST) && is(behind(span), IS_FREE)) {
    take_out(s, behind(span));
    join(span, behind(span));
  }
  hia_span *before = span->before;
  if (before && is(before, IS_FREE)) {
    take_out(s, before);
    join(before, span);
    span = before;
  }
  put(s, span);
}

void *hiaR_spans_remove_region(hia_spans *s) {
  for (unsigned list = next_list(s, 0); list < HIA_SPAN_LISTS; list = next_list(s, list + 1))
    for (hia_span *span = s->free[list]; span; span = span->next)
      if (!span->before && is(span, IS_LAST)) {
        take_out(s, span);
        return span;
      }
  return NULL;
}
