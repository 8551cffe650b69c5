/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Chooses the tokens that must be sent.
 *
 * One would send a token along every edge: a node fires when all its operands are there and control
 * has reached its region. But most of these tokens are redundant. If b is computed from a, a node
 * that waits for b has a too; and a value computed inside a branch is there only if control got
 * there. So a source of a node is left out if it is an ancestor of another source of that node,
 * which cannot be there without it. A Merge is there when its branch is decided and what both of
 * its sides have in common is there. (This is a transitive reduction.)
 *
 * Ancestors are sets of nodes, as bits: a row for each node, and for the control of each region. In
 * a section too large for that, sources are only made distinct, and control is waited for by nodes
 * that wait for nothing else of their region.
 *
 * Nodes that only pass tokens on are mostly dropped, and their sources send to their takers: a
 * Merge that has one taker (with several, edges would multiply in nested branches), and nodes that
 * wait only for the control of their region: a MOVE, which the SWITCH then makes, or a JOIN. A JOIN
 * for which nothing waits is dropped as well. */
#include "graph/flatten/section.h"

enum { LARGE = 4096, FEW = 2 };

typedef struct reducer {
  hia_flat_section *s;
  uint32_t n_nodes, width; /* width: words of a row; 0: the section is too large */
  uint64_t *rows;          /* ancestors of node i, and the node itself: row i; of control: row
                              n_nodes + region */
  uint32_t *seen;          /* by node: i + 1, it is a source of node i */
} reducer;

static uint64_t *row(const reducer *r, uint32_t i) { return r->rows + (size_t)i * r->width; }
static void set(uint64_t *bits, uint32_t i) { bits[i / 64] |= (uint64_t)1 << i % 64; }
static bool has(const uint64_t *bits, uint32_t i) { return bits[i / 64] >> i % 64 & 1; }

static void unite(const reducer *r, uint64_t *to, uint32_t from) {
  const uint64_t *f = row(r, from);
  for (uint32_t i = 0; i < r->width; i++) to[i] |= f[i];
}

static uint32_t *sources_of(const reducer *r, const hia_flat_node *n) {
  return n->n_sources ? r->s->pool.data + n->sources : NULL;
}

static void reduce_merge(const reducer *r, uint32_t i) {
  const hia_flat_node *n = &r->s->nodes.data[i];
  const uint32_t *port = sources_of(r, n);
  const uint64_t *a = row(r, port[0]), *b = row(r, port[1]);
  uint64_t *merged = row(r, i);
  for (uint32_t k = 0; k < r->width; k++) merged[k] = a[k] & b[k];
  unite(r, merged, r->s->regions.data[r->s->nodes.data[port[0]].region].node);
}

/* A row includes its own node. So the ancestors of the sources are their rows without themselves.
 */
static void reduce_node(const reducer *r, uint32_t i) {
  hia_flat_node *n = &r->s->nodes.data[i];
  uint32_t *sources = sources_of(r, n), control = r->n_nodes + n->region, len = 0;
  uint64_t *ancestors = row(r, i);
  for (uint32_t k = 0; k < n->n_sources; k++) {
    const uint64_t *f = row(r, sources[k]);
    uint64_t self = (uint64_t)1 << sources[k] % 64;
    for (uint32_t w = 0; w < r->width; w++)
      ancestors[w] |= w == sources[k] / 64 ? f[w] & ~self : f[w];
  }
  n->waits_for_control = !has(ancestors, control);
  unite(r, ancestors, control);
  for (uint32_t k = 0; k < n->n_sources; k++)
    if (!has(ancestors, sources[k])) {
      set(ancestors, sources[k]);
      sources[len++] = sources[k];
    }
  n->n_sources = len;
}

static void distinct_sources(const reducer *r, uint32_t i) {
  hia_flat_node *n = &r->s->nodes.data[i];
  uint32_t *sources = sources_of(r, n), len = 0;
  n->waits_for_control = true;
  for (uint32_t k = 0; k < n->n_sources; k++) {
    if (r->seen[sources[k]] == i + 1) continue;
    r->seen[sources[k]] = i + 1;
    if (r->s->nodes.data[sources[k]].region == n->region) n->waits_for_control = false;
    sources[len++] = sources[k];
  }
  n->n_sources = len;
}

void hiaG_flatten_tokens(hia_flat_image *image, hia_flat_section *s) {
  reducer r = {.s = s, .n_nodes = s->nodes.len};
  hia_mark mark = hiaR_arena_mark(image->scratch);
  uint32_t n_rows = s->nodes.len + s->regions.len;
  if (n_rows <= LARGE) {
    r.width = (n_rows + 63) / 64;
    size_t n_words = (size_t)n_rows * r.width;
    r.rows = HIA_NEW_ARRAY(image->scratch, uint64_t, n_words);
  } else
    r.seen = HIA_NEW_ARRAY(image->scratch, uint32_t, s->nodes.len);

  if (r.width) set(row(&r, r.n_nodes), r.n_nodes);
  uint32_t region = 1;
  for (uint32_t i = 0; i < s->nodes.len; i++) {
    /* Regions that begin here. Their SWITCH nodes came before. */
    for (; r.width && region < s->regions.len && s->regions.data[region].first <= i; region++) {
      uint32_t control = r.n_nodes + region;
      unite(&r, row(&r, control), s->regions.data[region].node);
      set(row(&r, control), control);
    }
    if (!r.width) {
      if (!s->nodes.data[i].is_merge) distinct_sources(&r, i);
      continue;
    }
    if (s->nodes.data[i].is_merge)
      reduce_merge(&r, i);
    else
      reduce_node(&r, i);
    set(row(&r, i), i);
  }

  for (uint32_t i = s->nodes.len; i-- > 0;) {
    hia_flat_node *n = &s->nodes.data[i];
    bool is_control = (n->kind == HIA_KIND_MOVE || n->kind == HIA_KIND_JOIN) && !n->n_sources;
    bool is_idle = n->kind == HIA_KIND_JOIN && !n->consumers;
    n->is_dropped = is_control || is_idle || (n->is_merge && n->consumers <= FEW);
    uint32_t takers = n->is_dropped ? n->consumers : 1;
    n->tokens = n->is_merge ? 1 : n->n_sources + n->waits_for_control;
    for (uint32_t k = 0; k < n->n_sources; k++)
      s->nodes.data[sources_of(&r, n)[k]].consumers += takers;
  }
  hiaR_arena_release(image->scratch, mark);
}
