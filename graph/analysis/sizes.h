/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* What is known before a run about the sizes of tensors: which are constant, and which are equal.
 *
 * A *size* is a number for a constant, or for something that has the same value whenever it is
 * looked at in one activation, or in one round of the loop that it belongs to: two axes that have
 * the same size are equal wherever both can be seen. Of an axis of which nothing is known the size
 * is one that no other axis has.
 *
 * Who looks at several functions that call one another begins with the size *never*: of a value
 * that no run has had so far. What joins it with another size has the other one, and what is
 * computed of it alone is never. */
#ifndef HIA_SIZES_H
#define HIA_SIZES_H

#include "graph/ir/graph.h"

typedef uint32_t hia_size;

/* What is known of one value. */
typedef struct hia_value_sizes {
  hia_size *axes;   /* as many as the rank of a tensor, or the length of an array; NULL: it is
                       neither,   or nothing was found yet */
  hia_size integer; /* of an i64 that is the size of something; else NONE */
} hia_value_sizes;

/* Sizes may be compared that come from the same of these. */
typedef struct hia_sizes {
  hia_graph *g;
  hia_arena *arena;
  HIA_VEC(int64_t) numbers; /* by size: the constant, or -1; of the size never HIA_SIZE_NEVER */
  hia_index constants;
  hia_size never; /* NONE: it was not asked for */
} hia_sizes;

void hiaG_sizes_init(hia_sizes *s, hia_graph *g, hia_arena *arena);
/* Finds the sizes of all values of a function. `known` has an element for each value, cleared but
 * for those that the caller knows; `integer` must be NONE there, too. What no rule is about gets
 * sizes of its own. Of a loop's variables the caller may know what they have in the round,
 * whichever that is; what the loop gives has these sizes where they are constant. */
void hiaG_sizes_find(hia_sizes *s, const hia_fn *fn, hia_value_sizes *known);
hia_value_sizes *hiaG_sizes_new(hia_sizes *s, const hia_fn *fn); /* such an array */

hia_size hiaG_size_of_number(hia_sizes *s, int64_t n);
hia_size hiaG_size_or_new(hia_sizes *s, int64_t n); /* below 0: one of its own */
enum { HIA_SIZE_NEVER = -2 };
hia_size hiaG_size_never(hia_sizes *s);
/* Returns the constant that a size is, or -1, or HIA_SIZE_NEVER. */
static inline int64_t hiaG_size_number(const hia_sizes *s, hia_size size) {
  return s->numbers.data[size];
}
/* Returns how many elements a tensor of the rank has; UINT64_MAX: that is not known. */
uint64_t hiaG_sizes_elements(const hia_sizes *s, const hia_value_sizes *known, uint32_t rank);
/* True if two tensors of the rank have the same shape in every run. */
bool hiaG_sizes_equal(const hia_value_sizes *a, const hia_value_sizes *b, uint32_t rank);

#endif
