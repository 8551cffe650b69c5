/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Flattens loops: each becomes a section of its own, called like a function; one that is all of a
 * function makes that section iterate. */
#include "graph/flatten/flattener.h"

void hiaG_flat_add_enter(hia_flattener *f, const hia_node *n, hia_node_id id) {
  hia_region_id head = HIA_IMM_A(n->imm);
  hia_value_id v = hiaG_in(f->fn, id, 0);
  if (head == f->only_loop) {
    hiaG_flat_here(f)->section->weight++;
    hiaG_flat_alias(f, n->outs, v);
    return;
  }
  if (!f->loop[head]) f->loop[head] = hiaG_flat_new_section(f, f->fn->name);
  hia_flat_section *s = f->loop[head];
  f->slot[n->outs] = hiaG_flat_new_slot(f, s, HIA_NONE, hiaG_type(f->fn, n->outs));
  s->slots.data[f->slot[n->outs]].is_set = f->is_set[n->outs];
  f->source[n->outs] = HIA_FLAT_NO_SOURCE;
  s->n_params++;
  hiaR_push(f->scratch, &f->enters[head], v);
}

/* True if only the variable uses the slot of its initial value. */
static bool is_free(const hia_flattener *f, hia_value_id enter) {
  if (f->uses[enter] != 1) return false;
  if (HIA_IMM_A(hiaG_def(f->fn, enter)->imm) != f->only_loop) return true; /* a parameter */
  hia_value_id v = hiaG_in(f->fn, f->fn->values.data[enter].node, 0);
  return hiaG_def(f->fn, v)->op == HIA_OP_MERGE_ENTRY && f->uses[v] == 1;
}

void hiaG_flat_add_loop_merge(hia_flattener *f, const hia_node *n, hia_node_id id) {
  hia_flat_section *s = hiaG_flat_here(f)->section;
  hia_value_id enter = hiaG_in(f->fn, id, 0);
  hiaG_flat_alias(f, n->outs, enter);
  if (!is_free(f, enter)) {
    hiaG_flat_own_slot(f, n->outs, HIA_NONE);
    hiaR_push(f->scratch, &s->enter, f->slot[enter]);
    hiaR_push(f->scratch, &s->enter, f->slot[n->outs]);
  }
  s->slots.data[f->slot[n->outs]].is_set |= f->is_set[n->outs];
  hiaR_push(f->scratch, &f->variables[hiaG_flat_here(f)->region], id);
  s->regions.data[hiaG_flat_here(f)->local].weight++;
}

void hiaG_flat_add_next(hia_flattener *f, const hia_node *n, hia_node_id id) {
  hiaG_flat_alias(f, n->outs, hiaG_in(f->fn, id, 0));
  hiaG_flat_here(f)->section->regions.data[hiaG_flat_here(f)->local].weight++;
}

void hiaG_flat_end_loop(hia_flattener *f, hia_region_id head) {
  hia_flat_section *s = hiaG_flat_here(f)->section;
  for (uint32_t i = 0; i < f->variables[head].len; i++) {
    hia_node_id merge = f->variables[head].data[i];
    hiaR_push(f->scratch, &s->next, f->slot[hiaG_in(f->fn, merge, 1)]);
    hiaR_push(f->scratch, &s->next, f->slot[hiaG_out(f->fn, merge, 0)]);
  }
}

void hiaG_flat_add_exit(hia_flattener *f, const hia_node *n, hia_node_id id) {
  hia_value_id v = hiaG_in(f->fn, id, 0);
  if ((hia_region_id)n->imm == f->only_loop) {
    hiaG_flat_here(f)->section->weight++;
    hiaG_flat_alias(f, n->outs, v);
    return;
  }
  hiaR_push(f->scratch, &f->loop[(hia_region_id)n->imm]->results, f->slot[v]);
}

void hiaG_flat_begin_loop(hia_flattener *f, hia_region_id head) {
  if (!f->loop[head]) f->loop[head] = hiaG_flat_new_section(f, f->fn->name);
  hia_flat_section *s = f->loop[head];
  s->flags = HIA_SECTION_ITERATES;
  hia_u32vec slots = {0}, sources = {0}, *enters = &f->enters[head];
  for (uint32_t i = 0; i < enters->len; i++) {
    hiaR_push(f->scratch, &slots, f->slot[enters->data[i]]);
    hiaR_push(f->scratch, &sources, f->source[enters->data[i]]);
  }
  uint32_t first = f->owned_at[head], n_exits = f->owned_at[head + 1] - first;
  uint32_t index =
      hiaG_flat_add(f, HIA_KIND_LOOP, slots.data, slots.len, sources.data, slots.len, HIA_NONE);
  hia_flat_node *node = hiaG_flat_node_at(f, index);
  node->what = f->image->sections.len;
  node->weight = enters->len + n_exits;
  for (uint32_t i = 0; i < n_exits; i++)
    hiaG_flat_put_result(f, hiaG_out(f->fn, f->owned[first + i], 0));
  hiaR_push(f->scratch, &f->image->sections, s);
}
