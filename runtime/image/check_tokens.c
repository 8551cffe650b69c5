/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Checks the regions of a section, and its tokens: in every run of a section, each node whose
 * region is live gets exactly the tokens it waits for, and each node whose region is dead gets
 * fewer. So every node fires at most once in a round, a round ends, and no engine has to check for
 * more.
 *
 * Tokens come from nodes, and from control entering a region. Seen from node x in region r, a
 * token from r or a region around it comes whenever x is live. Tokens from inside a branch that x
 * is not in must come from both its sides in equal number, and then count once: the sides of a
 * branch that deliver the value of a Merge. At least one token must come from within r itself, or
 * x would fire when r is dead. Tokens go to later nodes only, so there are no cycles. */
#include "runtime/image/check.h"

/* ---- regions ---- */

/* Checks that regions nest, and stand in the order of their first nodes. Fills in region_of and
 * region_end. */
bool hiaR_check_regions(hia_image_checker *c) {
  const hia_image_section *s = c->s;
  const hia_image_region *r = c->regions + s->regions;
  if (!s->n_regions || r[0].parent != HIA_NONE || r[0].first != 0 || r[0].last != s->n_nodes)
    return hiaR_check_bad(c, "the body is not its first region");
  uint32_t open = 0, n = 0;
  for (uint32_t i = 1; i <= s->n_regions; i++) {
    uint32_t until = i < s->n_regions ? r[i].first : s->n_nodes;
    if (until < n || until > s->n_nodes) return hiaR_check_bad(c, "region %u is out of place", i);
    for (; n < until; n++) {
      for (; open != 0 && r[open].last <= n; open = r[open].parent) c->region_end[open] = i;
      c->region_of[n] = open;
    }
    if (i == s->n_regions) break;
    if (r[i].first > r[i].last || r[i].parent >= i)
      return hiaR_check_bad(c, "region %u is out of order", i);
    for (; open != r[i].parent; open = r[open].parent) {
      if (open == 0 || r[open].last > r[i].first)
        return hiaR_check_bad(c, "region %u overlaps another", i);
      c->region_end[open] = i;
    }
    if (r[i].last > r[open].last) return hiaR_check_bad(c, "region %u is not inside its parent", i);
    open = i;
  }
  for (; open != 0; open = r[open].parent) c->region_end[open] = s->n_regions;
  c->region_end[0] = s->n_regions;
  return true;
}

/* Checks that each region is one side of a SWITCH before it. Fills in `other`. */
bool hiaR_check_branches(hia_image_checker *c) {
  const hia_image_section *s = c->s;
  const hia_image_region *r = c->regions + s->regions;
  const hia_image_node *nodes = c->nodes + s->nodes;
  for (uint32_t i = 0; i < s->n_nodes; i++) c->side[2 * i] = c->side[2 * i + 1] = HIA_NONE;
  for (uint32_t i = 1; i < s->n_regions; i++) {
    uint32_t n = r[i].node;
    if (n >= r[i].first || nodes[n].kind != HIA_KIND_SWITCH || c->region_of[n] != r[i].parent)
      return hiaR_check_bad(c, "region %u has no switch", i);
    if (r[i].side > 1 || c->side[2 * n + r[i].side] != HIA_NONE)
      return hiaR_check_bad(c, "region %u is no side of its switch", i);
    c->side[2 * n + r[i].side] = i;
  }
  for (uint32_t i = 0; i < s->n_regions; i++) {
    c->total[i] = 0;
    c->other[i] = i == 0 ? HIA_NONE : c->side[2 * r[i].node + !r[i].side];
  }
  return true;
}

/* ---- tokens ---- */

/* Fills in where the tokens of each node come from: source_of[source_at[n] .. source_at[n + 1]). */
bool hiaR_check_sources(hia_image_checker *c) {
  const hia_image_section *s = c->s;
  const hia_image_region *r = c->regions + s->regions;
  const hia_image_node *nodes = c->nodes + s->nodes;
  uint32_t *at = c->source_at;
  for (uint32_t i = 0; i < s->n_nodes + 2; i++) at[i] = 0;
  for (uint32_t i = 0; i < s->n_regions; i++)
    for (uint32_t e = 0; e < r[i].n_edges; e++) {
      uint32_t to = c->words[r[i].edges + e];
      if (to >= s->n_nodes || to < r[i].first) return hiaR_check_bad(c, "control goes astray");
      at[to + 2]++;
    }
  for (uint32_t i = 0; i < s->n_nodes; i++)
    for (uint32_t e = 0; e < nodes[i].n_edges; e++) {
      uint32_t to = c->words[nodes[i].edges + e];
      if (to <= i || to >= s->n_nodes) return hiaR_check_bad(c, "a token goes astray");
      at[to + 2]++;
    }
  /* at[n + 1] is the index where the list of n is being filled; in the end it is the list's end. */
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
static void push(hia_image_checker *c, uint32_t region, uint32_t tokens) {
  c->total[region] += tokens;
  if (c->is_queued[region]) return;
  c->is_queued[region] = 1;
  uint32_t i = c->heap_len++;
  for (; i && c->heap[(i - 1) / 2] < region; i = (i - 1) / 2) c->heap[i] = c->heap[(i - 1) / 2];
  c->heap[i] = region;
}

static uint32_t pop(hia_image_checker *c) {
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

static bool is_around(const hia_image_checker *c, uint32_t region, uint32_t inner) {
  return region <= inner && inner < c->region_end[region];
}

bool hiaR_check_tokens(hia_image_checker *c, uint32_t n, const hia_image_node *node) {
  const hia_image_region *r = c->regions + c->s->regions;
  uint32_t region = c->region_of[n], always = 0, from_own = 0;
  bool ok = true;
  for (uint32_t i = c->source_at[n]; i < c->source_at[n + 1]; i++) push(c, c->source_of[i], 1);
  while (c->heap_len) {
    uint32_t q = pop(c), tokens = c->total[q];
    if (is_around(c, q, region)) {
      always += tokens;
      if (q == region) from_own = tokens;
      c->total[q] = 0;
      continue;
    }
    uint32_t sibling = c->other[q];
    if (sibling == HIA_NONE || is_around(c, sibling, region)) {
      ok = false;
      c->total[q] = 0;
      continue;
    }
    /* The side with the lower number comes last and counts for both. */
    if (sibling < q) {
      push(c, sibling, 0);
      continue;
    }
    if (c->total[sibling] == tokens)
      push(c, r[q].parent, tokens);
    else
      ok = false;
    c->total[q] = c->total[sibling] = 0;
  }
  if (!ok) return hiaR_check_bad(c, "node %u: the sides of a branch differ", n);
  if (always != node->tokens)
    return hiaR_check_bad(c, "node %u waits for %u tokens, %u come", n, node->tokens, always);
  if (region != 0 && !from_own) return hiaR_check_bad(c, "node %u would fire when it is dead", n);
  return true;
}
