/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Flattens nodes that are neither branches nor loops: operations, fields, calls. */
#include "graph/flatten/flattener.h"

/* Returns the number of a constructor among all of the table of types. */
static uint32_t ctor_number(const hia_flattener *f, hia_type data, uint64_t ctor) {
  return f->image->g->types->entries.data[data - HIA_FIRST_TYPE].first + (uint32_t)ctor;
}

static uint32_t kernel_number(hia_flattener *f, const hia_node *n, hia_node_id id) {
  hia_dtype dtype = hiaG_node_dtype(f->image->g, f->fn, id);
  uint32_t *kernel = &f->image->kernel_of[n->op][dtype];
  if (!*kernel) {
    hiaR_push(f->scratch, &f->image->kernels, (hia_image_kernel){n->op, (uint8_t)dtype, 0});
    *kernel = f->image->kernels.len;
  }
  return *kernel - 1;
}

/* Returns what node `id` becomes in the image, with what belongs to the kind. */
static hia_flat_node image_node(hia_flattener *f, const hia_node *n, hia_node_id id) {
  hia_type type = n->n_ins ? hiaG_type(f->fn, hiaG_in(f->fn, id, 0)) : HIA_NONE;
  switch (n->op) {
  case HIA_OP_COUNT: return (hia_flat_node){.kind = HIA_KIND_COUNT, .what = (uint32_t)n->imm};
  case HIA_OP_OBSERVE: return (hia_flat_node){.kind = HIA_KIND_OBSERVE, .what = (uint32_t)n->imm};
  case HIA_OP_LEND: return (hia_flat_node){.kind = HIA_KIND_LEND};
  case HIA_OP_REGAIN: return (hia_flat_node){.kind = HIA_KIND_REGAIN};
  case HIA_OP_FAIL: return (hia_flat_node){.kind = HIA_KIND_FAIL};
  case HIA_OP_DATA:
    return (hia_flat_node){.kind = HIA_KIND_MAKE,
                           .what = ctor_number(f, hiaG_type(f->fn, n->outs), n->imm)};
  case HIA_OP_CTOR: return (hia_flat_node){.kind = HIA_KIND_CTOR};
  case HIA_OP_ARRAY:
    return (hia_flat_node){.kind = HIA_KIND_ELEMENTS, .what = hiaG_type(f->fn, n->outs)};
  case HIA_OP_LEN: return (hia_flat_node){.kind = HIA_KIND_LEN, .what = type};
  case HIA_OP_AT: return (hia_flat_node){.kind = HIA_KIND_AT, .what = type, .imm = n->imm};
  case HIA_OP_SLICE: return (hia_flat_node){.kind = HIA_KIND_SLICE, .what = type};
  case HIA_OP_SET: return (hia_flat_node){.kind = HIA_KIND_SET, .what = type};
  case HIA_OP_CONCAT: return (hia_flat_node){.kind = HIA_KIND_CONCAT, .what = type};
  case HIA_OP_NEW: return (hia_flat_node){.kind = HIA_KIND_NEW, .what = hiaG_type(f->fn, n->outs)};
  default:
    return (hia_flat_node){.kind =
                               hiaG_is_operation(f->fn, id) ? HIA_KIND_OPERATION : HIA_KIND_KERNEL,
                           .what = kernel_number(f, n, id),
                           .imm = n->imm};
  }
}

void hiaG_flat_add_op(hia_flattener *f, const hia_node *n, hia_node_id id) {
  hia_u32vec slots = {0}, sources = {0};
  hia_flat_node made = image_node(f, n, id);
  for (uint32_t i = 0; i < n->n_ins && made.kind != HIA_KIND_COUNT; i++) {
    hia_value_id v = hiaG_in(f->fn, id, i);
    hiaR_push(f->scratch, &slots, f->slot[v]);
    hiaR_push(f->scratch, &sources, f->source[v]);
  }
  bool is_set = n->op == HIA_OP_SET || n->op == HIA_OP_WITH;
  if (is_set) hiaG_flat_wait_for_reads(f, slots.data[0], &sources);
  uint32_t index =
      hiaG_flat_add(f, made.kind, slots.data, slots.len, sources.data, sources.len, n->loc);
  hia_flat_node *node = hiaG_flat_node_at(f, index);
  node->what = made.what;
  node->imm = made.imm;
  node->is_set = is_set;
  /* These only look at their operands. */
  node->is_lent = n->op == HIA_OP_PACK || n->op == HIA_OP_WORK || n->op == HIA_OP_ALIKE ||
                  n->op == HIA_OP_TRAP || hiaR_takes_sum(n->op);
  node->weight = 1;
  if (n->op != HIA_OP_FAIL) {
    hiaG_flat_put_results(f, n);
    return;
  }
  /* Slots of its results are never written, and it is their source, which never sends. */
  for (uint32_t i = 0; i < n->n_outs; i++) {
    hia_value_id v = n->outs + i;
    f->slot[v] = hiaG_flat_new_slot(f, hiaG_flat_here(f)->section, hiaG_flat_here(f)->local,
                                    hiaG_type(f->fn, v));
    f->source[v] = index;
  }
}

void hiaG_flat_add_fields(hia_flattener *f, const hia_node *n, hia_node_id id) {
  if (f->slot[n->outs] != HIA_NONE) return;
  hia_value_id v = hiaG_in(f->fn, id, 0);
  uint32_t ctor = ctor_number(f, hiaG_type(f->fn, v), HIA_IMM_A(n->imm));
  bool is_set = f->image->g->types->ctors.data[ctor].layout.n <= HIA_MAX_FIELD_SET;
  uint32_t index = hiaG_flat_add(f, HIA_KIND_FIELD, &f->slot[v], 1, &f->source[v], 1, n->loc),
           weight = 0;
  hia_value_id out[HIA_MAX_FIELD_SET];
  uint64_t words = 0;
  for (hia_node_id i = id; i != HIA_NONE; i = is_set ? f->next_field[i] : HIA_NONE) {
    const hia_node *read = &f->fn->nodes.data[i];
    uint32_t word = is_set ? HIA_IMM_B(read->imm) : 0;
    if (!(words >> word & 1)) out[word] = read->outs;
    words |= (uint64_t)1 << word;
    weight++;
  }
  for (uint64_t left = words; left; left &= left - 1)
    hiaG_flat_put_result(f, out[__builtin_ctzll(left)]);
  for (hia_node_id i = id; i != HIA_NONE; i = is_set ? f->next_field[i] : HIA_NONE) {
    const hia_node *read = &f->fn->nodes.data[i];
    hiaG_flat_alias(f, read->outs, out[is_set ? HIA_IMM_B(read->imm) : 0]);
  }
  hia_flat_node *node = hiaG_flat_node_at(f, index);
  node->what = ctor;
  node->imm = is_set ? words : HIA_IMM_B(n->imm);
  node->weight = weight;
}

/* The section that calls a function of the host, and does nothing else. */
static uint32_t host_section(hia_flattener *f, uint32_t number) {
  hia_flat_image *image = f->image;
  if (image->host_section[number]) return image->host_section[number] - 1;
  const hia_extern *e = &image->g->externs.data[number];
  hia_flat_section *s = hiaG_flat_new_section(f, e->name);
  hia_flat_node call = {.kind = HIA_KIND_HOST,
                        .what = number,
                        .loc = HIA_NONE,
                        .n_ins = e->n_params,
                        .outs = e->n_params,
                        .n_outs = e->n_results};
  s->n_params = e->n_params;
  for (uint32_t i = 0; i < e->n_params; i++)
    hiaR_push(f->scratch, &s->pool, hiaG_flat_new_slot(f, s, HIA_NONE, e->params[i]));
  for (uint32_t i = 0; i < e->n_results; i++) {
    uint32_t slot = hiaG_flat_new_slot(f, s, 0, e->results[i]);
    hiaR_push(f->scratch, &s->pool, slot);
    hiaR_push(f->scratch, &s->results, slot);
  }
  hiaR_push(f->scratch, &s->nodes, call);
  hiaR_push(f->scratch, &image->sections, s);
  return (image->host_section[number] = image->sections.len) - 1;
}

void hiaG_flat_add_host(hia_flattener *f, const hia_node *n, hia_node_id id) {
  hia_u32vec slots = {0}, sources = {0};
  for (uint32_t i = 0; i < n->n_ins; i++) {
    hia_value_id v = hiaG_in(f->fn, id, i);
    hiaR_push(f->scratch, &slots, f->slot[v]);
    hiaR_push(f->scratch, &sources, f->source[v]);
  }
  uint32_t section = host_section(f, (uint32_t)n->imm);
  uint32_t index =
      hiaG_flat_add(f, HIA_KIND_CALL, slots.data, slots.len, sources.data, slots.len, n->loc);
  hiaG_flat_node_at(f, index)->what = section;
  hiaG_flat_node_at(f, index)->weight = 1;
  hiaG_flat_put_results(f, n);
}

void hiaG_flat_add_call(hia_flattener *f, const hia_node *n, hia_node_id id) {
  const hia_site *site = &f->image->g->sites.data[HIA_IMM_A(n->imm)];
  if (site->calls != id) return;
  hia_u32vec slots = {0}, sources = {0};
  for (uint32_t i = 0; i < site->n_calls; i++) {
    if (f->fn->nodes.data[site->calls + i].n_ins == 0) continue; /* the control token */
    hia_value_id v = hiaG_in(f->fn, site->calls + i, 0);
    hiaR_push(f->scratch, &slots, f->slot[v]);
    hiaR_push(f->scratch, &sources, f->source[v]);
  }
  uint32_t index =
      hiaG_flat_add(f, HIA_KIND_CALL, slots.data, slots.len, sources.data, slots.len, site->loc);
  hia_flat_node *node = hiaG_flat_node_at(f, index);
  node->what = f->image->section_of[site->callee];
  node->is_tail = site->is_tail;
  node->weight = site->n_calls + site->n_returns;
  for (uint32_t i = 0; i < site->n_returns; i++)
    hiaG_flat_put_result(f, hiaG_out(f->fn, site->returns + i, 0));
}

void hiaG_flat_add_element(hia_flattener *f, hia_node_id id) {
  hia_value_id k = hiaG_in(f->fn, id, 0);
  hia_flat_section *s = hiaG_flat_here(f)->section;
  if (f->source[k] != HIA_FLAT_NO_SOURCE) return;
  hiaR_push(f->scratch, &s->elements,
            (hia_flat_element){hiaG_flat_here(f)->local, f->slot[k], s->nodes.len});
}
