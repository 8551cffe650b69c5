/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The control contexts of a static section, as a text of opening and closing braces. */
#include "graph/ir/region_order.h"
#include "graph/ir/graph.h"

/* True if r is the first of a pair of regions of these kinds. */
static bool is_pair(const hia_fn *fn, hia_region_id r, unsigned first, unsigned second) {
  return fn->regions.data[r].kind == first && r + 1 < fn->regions.len &&
         fn->regions.data[r + 1].kind == second;
}

static bool has_else(const hia_fn *fn, hia_region_id r) {
  return is_pair(fn, r, HIA_REGION_THEN, HIA_REGION_ELSE);
}

/* Where a child of a region ends; THEN and ELSE count as one. */
static uint32_t extent(const hia_fn *fn, hia_region_id r) {
  return fn->regions.data[has_else(fn, r) ? r + 1 : r].last;
}

/* True if child a of a region comes before child b. */
static bool stands_before(const hia_fn *fn, hia_region_id a, hia_region_id b) {
  const hia_region *x = &fn->regions.data[a], *y = &fn->regions.data[b];
  if (x->first != y->first) return x->first < y->first;
  bool x_round = x->kind == HIA_REGION_ROUND, y_round = y->kind == HIA_REGION_ROUND;
  if (x_round != y_round) return y_round;
  uint32_t x_end = extent(fn, a), y_end = extent(fn, b);
  return x_end != y_end ? x_end < y_end : a < b;
}

/* Merge sort of one region's children: they are few, or in order already, or both. */
static void sort_children(const hia_fn *fn, hia_region_id *list, hia_region_id *sorted,
                          uint32_t n) {
  for (uint32_t width = 1; width < n; width *= 2) {
    for (uint32_t from = 0; from < n; from += 2 * width) {
      uint32_t middle = n - from > width ? from + width : n;
      uint32_t end = n - middle > width ? middle + width : n;
      uint32_t a = from, b = middle, k = from;
      while (a < middle || b < end) {
        bool take_a = b == end || (a < middle && !stands_before(fn, list[b], list[a]));
        sorted[k++] = take_a ? list[a++] : list[b++];
      }
    }
    memcpy(list, sorted, n * sizeof *list);
  }
}

typedef struct {
  hia_region_id region;
  uint32_t next; /* index into the sorted list of children */
} open_region;

uint32_t hiaG_contexts(hia_arena *arena, const hia_fn *fn, hia_context_edge **edges_out) {
  uint32_t n = fn->regions.len;
  /* Children by parent, children[first[r] .. first[r + 1]): each THEN, HEAD and ROUND. They are
   * counted one list too far, because filling the lists moves each bound by one list. */
  uint32_t *first = HIA_NEW_ARRAY(arena, uint32_t, (size_t)n + 2);
  hia_region_id *children = HIA_NEW_ARRAY(arena, hia_region_id, n);
  hia_region_id *sorted = HIA_NEW_ARRAY(arena, hia_region_id, n);
  for (uint32_t pass = 0; pass < 2; pass++) {
    for (hia_region_id r = 1; r < n; r++) {
      const hia_region *region = &fn->regions.data[r];
      if (region->kind == HIA_REGION_ELSE || region->parent >= n) continue;
      if (pass == 0)
        first[region->parent + 2]++;
      else
        children[first[region->parent + 1]++] = r;
    }
    if (pass == 0)
      for (uint32_t i = 2; i < n + 2; i++) first[i] += first[i - 1];
  }
  for (hia_region_id r = 0; r < n; r++)
    sort_children(fn, children + first[r], sorted, first[r + 1] - first[r]);

  hia_context_edge *edges = HIA_NEW_ARRAY(arena, hia_context_edge, 2 * (size_t)n);
  HIA_VEC(open_region) stack = {0};
  uint32_t n_edges = 0;
  hiaR_push(arena, &stack, (open_region){0, first[0]});
  while (stack.len) {
    open_region *top = &stack.data[stack.len - 1];
    hia_region_id r = top->region, open = HIA_NONE;
    if (top->next < first[r + 1]) {
      open = children[top->next++];
    } else {
      stack.len--;
      if (r != 0) edges[n_edges++] = (hia_context_edge){fn->regions.data[r].last, r, true};
      if (has_else(fn, r)) open = r + 1;
    }
    if (open != HIA_NONE) {
      edges[n_edges++] = (hia_context_edge){fn->regions.data[open].first, open, false};
      hiaR_push(arena, &stack, (open_region){open, first[open]});
    }
  }
  *edges_out = edges;
  return n_edges;
}
