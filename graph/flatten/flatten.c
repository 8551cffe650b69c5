/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* flatten: the static graph to the image that the interpreter runs (docs/image.md).
 *
 * Each function becomes a section, and each loop in it another one, called like a function. A
 * function that is nothing but a loop becomes one section that iterates.
 *
 * One would keep each node of the static graph. But nodes that only pass a value on need not exist
 * at run time. Such a node is counted in the weight of a node that does exist, so the number of
 * firings stays that of the static graph:
 *
 *   entry Merge, Enter, loop Merge   slots: parameters are written when the frame is made
 *   Switch          all Switches of a branch are one node that decides the branch; the value stays
 *                   in its slot, and a node inside waits for the value and for its region's control
 *   Merge           its slot is written by the live side: directly, where the value is computed in
 *                   the branch, else by a MOVE at the end of the side
 *   Call_i, Return_i   one CALL, armed when all Call_i have their tokens; the callee's results
 *                   arrive all at once
 *   Exit            results of the loop's section
 *   host            a CALL of a section that has one node, HOST
 *   element         a row of the section's table
 *   fork            left out: there are no thieves, so `stolen` is false and results of `join`
 *                   are undef
 *
 * One walk over the nodes of a function, by index, which is sequential order, with the regions
 * opened and closed around them. Nothing recurses. */
#include "graph/flatten/flatten.h"
#include "graph/flatten/flattener.h"

/* ---- the walk ---- */

static void open_region(hia_flattener *f, hia_region_id r) {
  const hia_region *region = &f->fn->regions.data[r];
  hia_flat_section *s = hiaG_flat_here(f)->section;
  uint32_t local = 0;
  if (region->kind == HIA_REGION_HEAD) {
    if (r == f->only_loop)
      s->flags = HIA_SECTION_ITERATES;
    else {
      hiaG_flat_begin_loop(f, r);
      s = f->loop[r];
    }
  } else {
    uint32_t branch = hiaG_flat_branch(f, r);
    local = s->regions.len;
    if (region->kind == HIA_REGION_ROUND) s->cond = f->slot[region->pred], s->round = local;
    hiaR_push(f->scratch, &s->regions,
              (hia_flat_region){.parent = hiaG_flat_here(f)->local,
                                .node = branch,
                                .side = region->kind == HIA_REGION_ELSE,
                                .first = s->nodes.len});
  }
  hiaR_push(f->scratch, &f->open,
            (hia_flat_context){.region = r, .section = s, .local = local, .child = f->order_at[r]});
}

static void close_region(hia_flattener *f) {
  hia_flat_context c = *hiaG_flat_here(f);
  unsigned kind = f->fn->regions.data[c.region].kind;
  hia_flat_readings reads = {0};
  if (kind == HIA_REGION_THEN || kind == HIA_REGION_ELSE) {
    hiaG_flat_end_side(f, c.region);
    if (f->has_sets) reads = hiaG_flat_join_reads(f);
  }
  if (kind == HIA_REGION_HEAD) hiaG_flat_end_loop(f, c.region);
  if (c.local) c.section->regions.data[c.local].last = c.section->nodes.len;
  f->open.len--;
  if (kind == HIA_REGION_THEN) hiaG_flat_here(f)->then = reads;
  if (kind == HIA_REGION_ELSE && f->has_sets)
    hiaG_flat_join_sides(f, &hiaG_flat_here(f)->then, &reads);
}

/* True for a scalar that is read from the result of a fork, in the arm where that was stolen. */
static bool is_of_stolen(const hia_flattener *f, hia_node_id id) {
  const hia_node *n = &f->fn->nodes.data[id];
  bool is_scalar = n->n_outs == 1 && hiaG_is_scalar(hiaG_type(f->fn, n->outs));
  return is_scalar && n->n_ins && hiaG_def(f->fn, hiaG_in(f->fn, id, 0))->op == HIA_OP_JOIN &&
         !hiaG_is_scalar(hiaG_type(f->fn, hiaG_in(f->fn, id, 0)));
}

static void visit(hia_flattener *f, hia_node_id id) {
  const hia_node *n = &f->fn->nodes.data[id];
  hia_flat_section *s = hiaG_flat_here(f)->section;
  switch (n->op) {
  case HIA_OP_CONST:
  case HIA_OP_UNDEF:
    f->slot[n->outs] = hiaG_flat_const_slot(f, s, n->op == HIA_OP_CONST ? n->imm : 0);
    f->source[n->outs] = HIA_FLAT_NO_SOURCE;
    break;
  /* Forks are never taken: the interpreter finds independent nodes by itself. */
  case HIA_OP_FORK: break;
  case HIA_OP_STOLEN:
  case HIA_OP_JOIN:
    for (uint32_t i = 0; i < n->n_outs; i++) {
      f->slot[n->outs + i] = hiaG_flat_const_slot(f, s, hiaR_from_bool(false));
      f->source[n->outs + i] = HIA_FLAT_NO_SOURCE;
    }
    break;
  case HIA_OP_ELEMENT: hiaG_flat_add_element(f, id); break;
  case HIA_OP_MERGE_ENTRY:
    f->slot[n->outs] = (uint32_t)n->imm;
    f->source[n->outs] = HIA_FLAT_NO_SOURCE;
    s->slots.data[n->imm].is_set = f->is_set[n->outs];
    s->weight++;
    break;
  case HIA_OP_SWITCH:
    hiaG_flat_alias(f, n->outs, hiaG_in(f->fn, id, 0));
    hiaG_flat_alias(f, n->outs + 1, hiaG_in(f->fn, id, 0));
    break;
  case HIA_OP_MERGE: hiaG_flat_add_merge(f, n, id); break;
  case HIA_OP_ENTER: hiaG_flat_add_enter(f, n, id); break;
  case HIA_OP_MERGE_LOOP: hiaG_flat_add_loop_merge(f, n, id); break;
  case HIA_OP_NEXT: hiaG_flat_add_next(f, n, id); break;
  case HIA_OP_EXIT: hiaG_flat_add_exit(f, n, id); break;
  case HIA_OP_CALL_I: hiaG_flat_add_call(f, n, id); break;
  case HIA_OP_HOST: hiaG_flat_add_host(f, n, id); break;
  case HIA_OP_FIELD: hiaG_flat_add_fields(f, n, id); break;
  case HIA_OP_RETURN_I: break; /* with its Call_i */
  case HIA_OP_YIELD:
    for (uint32_t i = 0; i < n->n_ins; i++)
      hiaR_push(f->scratch, &s->results, f->slot[hiaG_in(f->fn, id, i)]);
    break;
  default:
    if (is_of_stolen(f, id)) {
      f->slot[n->outs] = hiaG_flat_const_slot(f, s, 0);
      f->source[n->outs] = HIA_FLAT_NO_SOURCE;
    } else {
      hiaG_flat_add_op(f, n, id);
    }
    break;
  }
}

static void walk(hia_flattener *f) {
  hiaR_push(f->scratch, &f->open,
            (hia_flat_context){.section = f->image->sections.data[f->image->section_of[f->id]],
                               .child = f->order_at[0]});
  for (hia_node_id i = 0; f->open.len;) {
    hia_flat_context *c = hiaG_flat_here(f);
    const hia_region *r = &f->fn->regions.data[c->region];
    if (c->child < f->order_at[c->region + 1] && f->fn->regions.data[f->order[c->child]].first == i)
      open_region(f, f->order[c->child++]);
    else if (i == r->last)
      close_region(f);
    else
      visit(f, i++);
  }
}

/* ---- before the walk ---- */

static void flatten_fn(hia_flat_image *image, hia_fn_id id) {
  const hia_fn *fn = hiaG_fn(image->g, id);
  hia_flattener f = {.image = image, .scratch = image->scratch, .fn = fn, .id = id};
  uint32_t n_values = fn->values.len, n_regions = fn->regions.len;
  f.slot = hiaG_flat_new_none(&f, n_values);
  f.source = hiaG_flat_new_none(&f, n_values);
  f.branch = hiaG_flat_new_none(&f, n_regions);
  f.loop = HIA_NEW_ARRAY(f.scratch, hia_flat_section *, n_regions);
  f.enters = HIA_NEW_ARRAY(f.scratch, hia_u32vec, n_regions);
  f.variables = HIA_NEW_ARRAY(f.scratch, hia_u32vec, n_regions);
  f.only_loop = hiaG_flat_only_loop(fn);
  hia_flat_section *s = image->sections.data[image->section_of[id]];
  s->n_params = fn->n_params;
  for (uint32_t i = 0; i < fn->n_params; i++) hiaG_flat_new_slot(&f, s, HIA_NONE, fn->params[i]);
  hiaG_flat_order_regions(&f);
  hiaG_flat_look_ahead(&f);
  hiaG_flat_find_sets(&f);
  hiaG_flat_find_fields(&f);
  walk(&f);
}

/* Requires a static graph that is well formed. The image is memory of the graph's arena. */
void hiaG_flatten(hia_graph *g, void **bytes, size_t *size) {
  hia_arena *scratch = &g->comp->scratch;
  hia_mark mark = hiaR_arena_mark(scratch);
  hia_flat_image *image = HIA_NEW(scratch, hia_flat_image);
  image->g = g;
  image->scratch = scratch;
  image->section_of = HIA_NEW_ARRAY(scratch, uint32_t, g->fns.len);
  image->host_section = HIA_NEW_ARRAY(scratch, uint32_t, g->externs.len);
  hia_flattener f = {.scratch = scratch};
  HIA_EACH_FN(g, id) {
    image->section_of[id] = image->sections.len;
    hiaR_push(scratch, &image->sections, hiaG_flat_new_section(&f, hiaG_fn(g, id)->name));
  }
  HIA_EACH_FN(g, id) flatten_fn(image, id);
  for (uint32_t i = 0; i < image->sections.len; i++) {
    hiaG_flatten_tokens(image, image->sections.data[i]);
    hiaG_flatten_takes(image, image->sections.data[i]);
  }
  hiaG_flatten_write(image, bytes, size);
  hiaR_arena_release(scratch, mark);
}
