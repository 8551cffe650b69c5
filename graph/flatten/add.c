/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Adds nodes to the section where the walk is, with what they wait for. */
#include "graph/flatten/flattener.h"

hia_flat_context *hiaG_flat_here(hia_flattener *f) { return &f->open.data[f->open.len - 1]; }

hia_flat_node *hiaG_flat_add_node(hia_flattener *f, hia_image_kind kind, hia_loc_id loc) {
  hia_flat_context *c = hiaG_flat_here(f);
  hiaR_push(f->scratch, &c->section->nodes,
            (hia_flat_node){.kind = (uint8_t)kind, .region = c->local, .loc = loc});
  return &c->section->nodes.data[c->section->nodes.len - 1];
}

uint32_t hiaG_flat_last_node(hia_flattener *f) { return hiaG_flat_here(f)->section->nodes.len - 1; }

/* Appends the sources of `n` values to the pool, and returns where; *n becomes their number. A node
 * waits for at most MAX_SOURCES sources; JOINs before it gather more. */
enum { MAX_SOURCES = 200 };

static uint32_t push_sources(hia_flattener *f, const uint32_t *sources, uint32_t *n) {
  hia_flat_section *s = hiaG_flat_here(f)->section;
  hia_u32vec todo = {0};
  for (uint32_t i = 0; i < *n; i++)
    if (sources[i] != HIA_FLAT_NO_SOURCE) hiaR_push(f->scratch, &todo, sources[i]);
  while (todo.len > MAX_SOURCES) {
    uint32_t len = 0;
    for (uint32_t i = 0; i < todo.len; i += MAX_SOURCES) {
      uint32_t part = todo.len - i < MAX_SOURCES ? todo.len - i : MAX_SOURCES, at = s->pool.len;
      for (uint32_t k = 0; k < part; k++) hiaR_push(f->scratch, &s->pool, todo.data[i + k]);
      hia_flat_node *join = hiaG_flat_add_node(f, HIA_KIND_JOIN, HIA_NONE);
      join->sources = at, join->n_sources = part;
      todo.data[len++] = hiaG_flat_last_node(f);
    }
    todo.len = len;
  }
  uint32_t at = s->pool.len;
  for (uint32_t i = 0; i < todo.len; i++) hiaR_push(f->scratch, &s->pool, todo.data[i]);
  *n = todo.len;
  return at;
}

void hiaG_flat_add_read(hia_flattener *f, uint32_t slot, uint32_t node) {
  hiaR_push(f->scratch, &hiaG_flat_here(f)->reads, (hia_flat_reading){slot, node});
}

uint32_t hiaG_flat_add(hia_flattener *f, hia_image_kind kind, const uint32_t *slots, uint32_t n_ins,
                       const uint32_t *sources, uint32_t n_sources, hia_loc_id loc) {
  hia_flat_section *s = hiaG_flat_here(f)->section;
  uint32_t source_at = push_sources(f, sources, &n_sources);
  hia_flat_node *node = hiaG_flat_add_node(f, kind, loc);
  node->sources = source_at, node->n_sources = n_sources;
  node->ins = s->pool.len, node->n_ins = n_ins;
  for (uint32_t i = 0; i < n_ins; i++) hiaR_push(f->scratch, &s->pool, slots[i]);
  node->outs = s->pool.len;
  uint32_t index = hiaG_flat_last_node(f);
  for (uint32_t i = 0; i < n_ins; i++)
    if (s->slots.data[hiaG_flat_slot(s, slots[i])].is_set) hiaG_flat_add_read(f, slots[i], index);
  return index;
}

void hiaG_flat_own_slot(hia_flattener *f, hia_value_id v, uint32_t region) {
  hia_flat_section *s = hiaG_flat_here(f)->section;
  f->slot[v] = hiaG_flat_new_slot(f, s, region, hiaG_type(f->fn, v));
  s->slots.data[f->slot[v]].is_set = f->is_set[v];
}

void hiaG_flat_put_result(hia_flattener *f, hia_value_id v) {
  hia_flat_section *s = hiaG_flat_here(f)->section;
  hiaG_flat_own_slot(f, v, hiaG_flat_here(f)->local);
  f->source[v] = hiaG_flat_last_node(f);
  hiaR_push(f->scratch, &s->pool, f->slot[v]);
  s->nodes.data[hiaG_flat_last_node(f)].n_outs++;
}

void hiaG_flat_put_results(hia_flattener *f, const hia_node *n) {
  for (uint32_t i = 0; i < n->n_outs; i++) hiaG_flat_put_result(f, n->outs + i);
}

hia_flat_node *hiaG_flat_node_at(hia_flattener *f, uint32_t i) {
  return &hiaG_flat_here(f)->section->nodes.data[i];
}

void hiaG_flat_alias(hia_flattener *f, hia_value_id v, hia_value_id of) {
  f->slot[v] = f->slot[of];
  f->source[v] = f->source[of];
}

void hiaG_flat_wait_for_reads(hia_flattener *f, uint32_t slot, hia_u32vec *sources) {
  hia_flat_section *s = hiaG_flat_here(f)->section;
  slot = hiaG_flat_slot(s, slot);
  for (uint32_t i = f->open.len; i-- > 0 && f->open.data[i].section == s;) {
    const hia_flat_readings *reads = &f->open.data[i].reads;
    for (uint32_t k = 0; k < reads->len; k++)
      if (hiaG_flat_slot(s, reads->data[k].slot) == slot)
        hiaR_push(f->scratch, sources, reads->data[k].node);
  }
}
