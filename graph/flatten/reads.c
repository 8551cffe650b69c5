/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Reads that come before a SET.
 *
 * A SET waits for the nodes that read its array before it. For those inside a branch that it is not
 * in it cannot wait, since only one side comes. So at the end of a side a JOIN waits for all that
 * read the slot there, and behind the branch another one for the JOIN of either side. Where no SET
 * waits for them they are left out again (token.c). */
#include "graph/flatten/flattener.h"

static uint32_t add_join(hia_flattener *f, const uint32_t *sources, uint32_t n) {
  return hiaG_flat_add(f, HIA_KIND_JOIN, NULL, 0, sources, n, HIA_NONE);
}

hia_flat_readings hiaG_flat_join_reads(hia_flattener *f) {
  hia_flat_section *s = hiaG_flat_here(f)->section;
  hia_flat_readings reads = hiaG_flat_here(f)->reads, joins = {0};
  for (uint32_t i = 0; i < reads.len; i++) {
    uint32_t slot = hiaG_flat_slot(s, reads.data[i].slot), k = 0;
    if (s->slots.data[slot].region == hiaG_flat_here(f)->local)
      continue; /* it is not seen outside */
    while (k < joins.len && joins.data[k].slot != slot) k++;
    if (k < joins.len) continue;
    hia_u32vec nodes = {0};
    for (k = i; k < reads.len; k++)
      if (hiaG_flat_slot(s, reads.data[k].slot) == slot)
        hiaR_push(f->scratch, &nodes, reads.data[k].node);
    hiaR_push(f->scratch, &joins, (hia_flat_reading){slot, add_join(f, nodes.data, nodes.len)});
  }
  hiaR_push(f->scratch, &joins, (hia_flat_reading){HIA_NONE, add_join(f, NULL, 0)});
  return joins;
}

/* The index of the JOIN for a slot; of that for control if there is none. */
static uint32_t join_of(const hia_flat_readings *joins, uint32_t slot) {
  uint32_t i = 0;
  while (i + 1 < joins->len && joins->data[i].slot != slot) i++;
  return i;
}

void hiaG_flat_join_sides(hia_flattener *f, const hia_flat_readings *then,
                          const hia_flat_readings *otherwise) {
  for (uint32_t i = 0; i + 1 < then->len; i++) {
    uint32_t k = join_of(otherwise, then->data[i].slot);
    hiaG_flat_add_read(f, then->data[i].slot,
                       hiaG_flat_either(f, then->data[i].node, otherwise->data[k].node));
  }
  for (uint32_t i = 0; i + 1 < otherwise->len; i++) {
    uint32_t slot = otherwise->data[i].slot, k = join_of(then, slot);
    if (k + 1 == then->len)
      hiaG_flat_add_read(f, slot, hiaG_flat_either(f, then->data[k].node, otherwise->data[i].node));
  }
}
