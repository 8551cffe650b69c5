/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Spans: blocks of some KiB, such as the results of a wave of rows. Free ones that lie side by side
 * are joined, so what was freed in pieces of one size serves for other sizes: the backward pass of
 * a training has the memory of the forward pass, whose tensors have other shapes.
 *
 * They are cut from regions. Each begins with its size and with where the span before it is, so
 * both neighbours are known (the boundary tags of Knuth, "The Art of Computer Programming", volume
 * 1, section 2.5). Free ones are in lists by size, eight for each doubling, with a bit for each
 * list that has some: a span is found in constant time and fits well (Masmano, Ripoll, Crespo,
 * Real, "TLSF: A New Dynamic Memory Allocator for Real-Time Systems", ECRTS 2004).
 *
 * Not synchronised. */
#ifndef HIA_SPANS_H
#define HIA_SPANS_H

#include "runtime/base/base.h"

enum {
  HIA_SPAN_HEAD = 16,          /* bytes before each block */
  HIA_SPAN_LARGEST = 512 << 10 /* bytes of a block */
};
/* Bytes that a region needs for a block, which is not larger than HIA_SPAN_LARGEST. */
static inline size_t hiaR_span_region(size_t size) {
  return ((size + 63) & ~(size_t)63) + 3 * (size_t)64;
}

typedef struct hia_span hia_span;
enum { HIA_SPAN_LISTS = 128 };
typedef struct hia_spans {
  hia_span *free[HIA_SPAN_LISTS];
  uint64_t some[HIA_SPAN_LISTS / 64]; /* a bit for each list: it is not empty */
} hia_spans;

/* Forgets all regions. */
void hiaR_spans_clear(hia_spans *s);
/* Adds memory of at least hiaR_span_region(0) bytes, aligned to 16, of which nothing is in use. */
void hiaR_spans_add(hia_spans *s, void *region, size_t size);
/* A block, aligned to 64, not zeroed; NULL: none is free. */
void *hiaR_spans_take(hia_spans *s, size_t size);
/* Frees a block. */
void hiaR_spans_give(hia_spans *s, void *block);
/* Forgets a region of which nothing is in use, and returns an address in it; NULL: there is none.
 */
void *hiaR_spans_remove_region(hia_spans *s);

#endif
