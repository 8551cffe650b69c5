/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Laying out the frames of sections: how large they are, and what of them is preloaded. */
#include "runtime/image/decode.h"

/* Sizes of frames are rounded up, so that frames of similar sections share their memory: to 16
 * bytes up to 512, beyond to an eighth of the next power of two. */
enum { ACTIONS = HIA_FRAME_ACTIONS, FINE = HIA_FRAME_FINE };

uint32_t hiaR_frame_class(uint64_t size, uint64_t *rounded) {
  if (size <= FINE) {
    uint32_t actions = size ? (uint32_t)((size + 15) / 16) : 1;
    *rounded = (uint64_t)actions * 16;
    return actions - 1;
  }
  uint32_t c = FINE / 16;
  for (uint64_t low = FINE;; low *= 2)
    for (uint32_t i = 1; i <= ACTIONS; i++, c++)
      if (size <= low + low / ACTIONS * i) {
        *rounded = low + low / ACTIONS * i;
        return c;
      }
}

hia_frame_layout hiaR_frame_layout(const hia_image_tables *t, const hia_image_section *s) {
  hia_frame_layout l = {0};
  for (uint32_t i = 0; i < s->n_nodes; i++) {
    const hia_image_node *n = &t->nodes[s->nodes + i];
    l.n_children += n->kind == HIA_KIND_CALL || n->kind == HIA_KIND_LOOP;
    l.n_counters += n->tokens > 1;
  }
  /* The next round is one more member of the pending set. */
  uint32_t members = l.n_children + (s->flags & HIA_SECTION_ITERATES ? 1 : 0);
  for (l.set_levels = 1; members > 64; l.set_levels++) {
    members = (members + 63) / 64;
    l.set_words += members;
  }
  return l;
}

/* Tokens that are sent in a section. */
uint32_t hiaR_count_edges(const hia_image_tables *t, const hia_image_section *s) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < s->n_nodes; i++) n += t->nodes[s->nodes + i].n_edges;
  for (uint32_t i = 0; i < s->n_regions; i++) n += t->regions[s->regions + i].n_edges;
  return n;
}

static uint32_t up8(uint32_t n) { return (n + 7) & ~7u; }

/* How many slots that hold references stand right before the constants: they are preloaded, too. */
uint32_t hiaR_preloaded_refs(const hia_image_tables *t, const hia_image_section *s) {
  uint32_t n = 0, n_computed = s->n_slots - s->n_consts;
  const uint32_t *refs = t->words + s->refs;
  while (2 * n < s->n_refs && n < n_computed - s->n_params &&
         refs[s->n_refs - 2 * n - 2] == n_computed - 1 - n)
    n++;
  return n;
}

uint32_t hiaR_preload_size(const hia_image_tables *t, const hia_image_section *s,
                           const hia_frame_layout *l) {
  return hiaR_up16(8 * (hiaR_preloaded_refs(t, s) + s->n_consts) + up8(l->n_counters) +
                   8 * l->set_words);
}
