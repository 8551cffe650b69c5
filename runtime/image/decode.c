/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Decodes the sections of an image: looks up kernels, turns edges into pointers, marks nodes that
 * wait for one token only (they need no count), and decides which references move (refs.c). */
#include "runtime/image/decode.h"
#include "runtime/heap/tensor.h"

/* Empty: there is none for this op, or not for the dtype. */
hia_given_kernel hiaR_find_kernel(const hia_kernel_source *kernels, const hia_image_kernel *k) {
  hia_given_kernel none = {0}, row;
  if (kernels->find) {
    if (!kernels->find(k->op, &row)) return none;
  } else {
    size_t i = 0;
    while (i < kernels->n_given && kernels->given[i].op != k->op) i++;
    if (i == kernels->n_given) return none;
    row = kernels->given[i];
  }
  return row.by_dtype && !row.by_dtype[k->dtype] ? none : row;
}

bool hiaR_is_wide(const hia_decoder *d, const hia_image_node *n) {
  bool wide = d->t.words[n->outs] > UINT16_MAX;
  for (uint32_t i = 0; i < n->n_ins; i++) wide |= d->t.words[n->ins + i] > UINT16_MAX;
  return wide;
}

static hia_edges decode_edges(hia_decoder *d, const hia_image_section *s, uint32_t first,
                              uint32_t n) {
  hia_edges e = {.more = d->edges};
  const hia_image_node *nodes = d->t.nodes + s->nodes;
  hia_instr *instrs = d->instrs + s->nodes;
  for (int counted = 0; counted < 2; counted++)
    for (uint32_t i = 0; i < n; i++) {
      uint32_t to = d->words[first + i];
      if ((nodes[to].tokens > 1) != counted) continue;
      if (!counted && !e.first) {
        e.first = &instrs[to];
        continue;
      }
      *d->edges++ = &instrs[to];
      e.n_more++;
      e.n_direct += !counted;
    }
  return e;
}

static void decode_kernel(hia_decoder *d, const hia_image_node *n, hia_instr *out) {
  const hia_image_kernel *k = &d->t.kernels[n->what];
  hia_kernel kernel = hiaR_find_kernel(d->kernels, k).by_dtype[k->dtype];
  if (hiaR_is_wide(d, n)) {
    hia_wide *w = d->wides++;
    *w = (hia_wide){kernel, n->imm, {0}, n->n_ins, d->words[n->outs]};
    for (uint32_t i = 0; i < n->n_ins; i++) w->in[i] = d->words[n->ins + i];
    out->kind = HIA_KIND_WIDE;
    out->u.wide = w;
    return;
  }
  out->kernel = kernel;
  out->quick = hiaR_quick_action(k->op, k->dtype);
  out->u.imm = n->imm;
  for (uint32_t i = 0; i < n->n_ins; i++) out->in[i] = hiaR_u16(d->words[n->ins + i]);
  out->out = hiaR_u16(d->words[n->outs]);
}

static void decode_side(hia_decoder *d, const hia_image_section *s, hia_switch *branch,
                        uint32_t region) {
  const hia_image_region *r = &d->t.regions[s->regions + region];
  hia_side *side = &branch->side[r->side];
  side->edges = decode_edges(d, s, r->edges, r->n_edges);
  side->moves = hiaR_decode_moves(d, r->moves, r->n_moves, &side->n_moves, &side->n_ref_moves);
  side->weight = d->region_weight[region];
}

/* Computes the weight of each region without the regions inside it. */
static void weigh_regions(hia_decoder *d, const hia_image_section *s) {
  const hia_image_region *r = d->t.regions + s->regions;
  d->node_sum[0] = 0;
  for (uint32_t i = 0; i < s->n_nodes; i++)
    d->node_sum[i + 1] = d->node_sum[i] + d->t.nodes[s->nodes + i].weight;
  for (uint32_t i = 0; i < s->n_regions; i++) {
    uint64_t nodes = d->node_sum[r[i].last] - d->node_sum[r[i].first];
    d->region_weight[i] = nodes + r[i].weight;
    if (i) d->region_weight[r[i].parent] -= nodes;
  }
}

/* True if a FIELD with this `imm` reads word i of the constructor's fields. */
static bool reads_word(const hia_ctor *ctor, uint64_t imm, uint32_t i) {
  return ctor->layout.n <= HIA_MAX_FIELD_SET ? imm >> i & 1 : imm == i;
}

enum { RANK_REF, RANK_TAKEN, RANK_INT, RANK_BOOL, RANK_WIDE, RANK_REST, RANKS };

/* Which part of hia_parts the word belongs to. What is no reference in memory need not be taken. */
static unsigned rank_of(hia_repr repr, uint32_t operand) {
  bool is_taken = operand & HIA_IMAGE_TAKEN;
  if (repr == HIA_REPR_REF && is_taken) return RANK_TAKEN;
  if (repr == HIA_REPR_REF) return RANK_REF;
  if (hiaR_reprs[repr].size == 8) return RANK_WIDE;
  return repr == HIA_REPR_I32 ? RANK_INT : repr == HIA_REPR_BOOL ? RANK_BOOL : RANK_REST;
}

/* The words of a constructor's fields that a FIELD reads, or all (`imm` NULL), and their slots. */
static hia_parts decode_parts(hia_decoder *d, const hia_ctor *ctor, const uint64_t *imm,
                              const uint32_t *slots) {
  const hia_layout_word *layout_words = d->t.types.layout_words + ctor->layout.first;
  const hia_part *first = d->parts, *end[RANKS];
  for (unsigned rank = 0; rank < RANKS; rank++) {
    for (uint32_t i = 0, k = 0; i < ctor->layout.n; i++) {
      if (imm && !reads_word(ctor, *imm, i)) continue;
      if (rank_of((hia_repr)layout_words[i].repr, slots[k]) == rank)
        *d->parts++ = (hia_part){layout_words[i], hiaR_slot_of(slots[k])};
      k++;
    }
    end[rank] = d->parts;
  }
  return (hia_parts){first,          end[RANK_REF],  end[RANK_TAKEN], end[RANK_INT],
                     end[RANK_BOOL], end[RANK_WIDE], end[RANK_REST]};
}

static uint16_t size_class(uint32_t size) {
  return hiaR_u16(size <= HIA_HEAP_LARGEST ? hiaR_heap_class(size) : 0);
}

static const hia_make *decode_make(hia_decoder *d, const hia_image_node *n) {
  const hia_ctor *ctor = &d->t.types.ctors[n->what];
  hia_make *make = d->makes++;
  *make = (hia_make){.parts = decode_parts(d, ctor, NULL, d->words + n->ins),
                     .size = ctor->layout.size,
                     .size_class = size_class(ctor->layout.size),
                     .number = d->shapes->list[n->what].ctor};
  return make;
}

static const hia_get *decode_field(hia_decoder *d, const hia_image_node *n) {
  const hia_ctor *ctor = &d->t.types.ctors[n->what];
  const hia_layout_word *layout_words = d->t.types.layout_words + ctor->layout.first;
  hia_get *get = d->gets++;
  const hia_shape *shape = &d->shapes->list[n->what];
  *get = (hia_get){.parts = decode_parts(d, ctor, &n->imm, d->words + n->outs),
                   .unread = d->slots,
                   .shape = shape,
                   .size_class = size_class(shape->size),
                   .base = n->what - shape->ctor,
                   .ctor = shape->ctor};
  for (uint32_t i = 0; i < ctor->layout.n; i++)
    if (!reads_word(ctor, n->imm, i) && layout_words[i].repr == HIA_REPR_REF)
      d->slots[get->n_unread++] = (layout_words[i].at - (uint32_t)sizeof(hia_counted)) / 8;
  d->slots += get->n_unread;
  return get;
}

/* True if operand i, a reference, is no tensor, but an array or a sum. */
static bool is_other(unsigned op, uint64_t imm, uint32_t i) {
  if (op == HIA_OP_TRAP) return i == 1 && hiaR_takes_sum((unsigned)(imm % HIA_TRAP_GRADIENT));
  if (op == HIA_OP_ALIKE) return i == 2;
  return i == 0 && (op == HIA_OP_PACK || hiaR_takes_sum(op));
}

static void decode_operation(hia_decoder *d, const hia_image_node *n, hia_instr *out) {
  const hia_image_kernel *k = &d->t.kernels[n->what];
  hia_given_kernel kernel = hiaR_find_kernel(d->kernels, k);
  hia_operation o = {.n_in = n->n_ins,
                     .imm = n->imm,
                     .dtype = k->dtype,
                     .at = k->dtype,
                     .op = k->op,
                     .kernels = kernel.by_dtype};
  if (kernel.by_dtype)
    o.dtype = (uint8_t)hiaR_rule_result((hia_rule)hiaR_ops[k->op].rule, (hia_dtype)k->dtype);
  for (uint32_t i = 0; i < n->n_ins; i++) {
    uint32_t in = d->words[n->ins + i];
    uint64_t bit = (uint64_t)1 << (i < HIA_MAX_TAKING ? i : HIA_MAX_TAKING);
    if (hiaR_is_ref(d, hiaR_slot_of(in)) && !is_other(k->op, n->imm, i)) o.tensors |= bit;
    if (in & HIA_IMAGE_TAKEN) o.takes |= bit;
  }
  if (k->op == HIA_OP_LITERAL) {
    hia_tensor *t = (hia_tensor *)(void *)(d->literals + n->imm);
    t->data = (char *)&t->dims[hiaR_tensor_rank(t)];
    o.imm = (uintptr_t)t;
  }
  *d->operations = (hia_operation_instr){
      .o = o, .operate = kernel.operate, .ins = d->words + n->ins, .first_word = n->n_ins};
  out->u.operation = d->operations++;
}

/* What computes the kind of node; NULL: the engines do. */
static hia_operate operation_of(unsigned kind) {
  switch (kind) {
  case HIA_KIND_ELEMENTS: return hiaR_e_ARRAY;
  case HIA_KIND_SLICE: return hiaR_e_SLICE;
  case HIA_KIND_SET: return hiaR_e_SET;
  case HIA_KIND_CONCAT: return hiaR_e_CONCAT;
  case HIA_KIND_NEW: return hiaR_e_NEW;
  default: return NULL;
  }
}

static void decode_array(hia_decoder *d, const hia_image_node *n, hia_instr *out) {
  const hia_layout *element = &d->t.types.types[n->what - HIA_FIRST_TYPE].layout;
  uint32_t base = hiaR_shape_base(d->shapes, n->what);
  const hia_shape *shape = &d->shapes->list[base];
  bool is_set = n->kind == HIA_KIND_SET, has_words = n->kind == HIA_KIND_ELEMENTS;
  *d->operations =
      (hia_operation_instr){.o = {.n_in = n->n_ins,
                                  .base = base,
                                  .shape = shape,
                                  .layout_words = d->t.types.layout_words + element->first,
                                  .n_words = element->n},
                            .operate = operation_of(n->kind),
                            .ins = d->words + n->ins,
                            .keeps_array = is_set,
                            .first_word = is_set      ? 2
                                          : has_words ? 0
                                                      : n->n_ins,
                            .word = (uint32_t)n->imm,
                            .size = shape->size,
                            .bases = d->shapes->bases + shape->refs};
  if (n->kind == HIA_KIND_AT) d->operations->layout_word = d->operations->o.layout_words[n->imm];
  out->u.operation = d->operations++;
}

static void count(const hia_decoder *d, uint8_t *counts, uint32_t first, uint32_t n,
                  uint32_t stride) {
  for (uint32_t i = 0; i < n; i += stride) {
    uint8_t *at = &counts[hiaR_slot_of(d->t.words[first + i])];
    if (*at < UINT8_MAX) ++*at;
  }
}

/* Counts how often each slot is read, and by how many nodes and moves of branches it is written. */
static void count_accesses(hia_decoder *d, const hia_image_section *s) {
  memset(d->reads, 0, s->n_slots);
  memset(d->writes, 0, s->n_slots);
  for (uint32_t i = 0; i < s->n_nodes; i++) {
    const hia_image_node *n = &d->t.nodes[s->nodes + i];
    count(d, d->reads, n->ins, n->n_ins, 1);
    count(d, d->writes, n->outs, n->n_outs, 1);
  }
  for (uint32_t i = 0; i < s->n_regions; i++) {
    const hia_image_region *r = &d->t.regions[s->regions + i];
    count(d, d->reads, r->moves, r->n_moves, 2);
    for (uint32_t k = 1; k < r->n_moves; k += 2) count(d, d->writes, r->moves + k, 1, 1);
  }
  count(d, d->reads, s->enter, s->n_enter, 2);
  count(d, d->reads, s->next, s->n_next, 2);
  count(d, d->reads, s->results, s->n_results, 1);
  for (uint32_t i = 2; i < s->n_elements; i += 3) d->reads[d->t.words[s->elements + i]] = UINT8_MAX;
  if (s->flags & HIA_SECTION_ITERATES) d->reads[s->cond] = UINT8_MAX;
}

/* The counters are laid out. */
static void lay_out_frame(hia_section *out, const hia_frame_layout *l) {
  out->set_at = out->counters_at + out->counters_size;
  out->preload_size = hiaR_up16(out->set_at + 8 * l->set_words - out->preload_at);
  uint64_t body_size;
  hiaR_frame_class((uint64_t)out->preload_at + out->preload_size, &body_size);
  out->body_size = (uint32_t)body_size;
}

void hiaR_decode_section(hia_decoder *d, uint32_t number) {
  const hia_image_section *s = &d->t.sections[number];
  hia_frame_layout l = hiaR_frame_layout(&d->t, s);
  hia_section *out = &d->sections[number];
  hia_instr *instrs = d->instrs + s->nodes;
  uint32_t n_zero = hiaR_preloaded_refs(&d->t, s), n_computed = s->n_slots - s->n_consts - n_zero;
  *out = (hia_section){.number = number,
                       .preload_at = 8 * n_computed,
                       .n_preloaded_refs = n_zero,
                       .counters_at = 8 * s->n_slots,
                       .set_levels = l.set_levels,
                       .children = d->children,
                       .n_children = l.n_children,
                       .n_nodes = s->n_nodes,
                       .n_params = s->n_params,
                       .n_slots = s->n_slots,
                       .n_results = s->n_results,
                       .results = d->words + s->results,
                       .first_result = s->n_results ? d->words[s->results] : 0,
                       .elements = d->words + s->elements,
                       .n_elements = s->n_elements,
                       .iterates = s->flags & HIA_SECTION_ITERATES,
                       .cond = s->cond,
                       .instrs = instrs,
                       .actions = hiaR_no_actions,
                       .name = d->t.strings + s->name};
  hiaR_decode_refs(d, s, out);
  size_t max_preload = hiaR_preload_size(&d->t, s, &l);
  uint8_t *preload = hiaR_decode_take(d, max_preload, 1);
  uint32_t *locs = hiaR_decode_take(d, s->n_nodes, sizeof *locs);
  memset(preload, 0, max_preload);
  if (s->n_consts) memcpy(preload + 8 * n_zero, d->t.consts + s->consts, 8 * (size_t)s->n_consts);
  out->preload = preload;
  out->locs = locs;

  weigh_regions(d, s);
  out->weight_round = d->region_weight[0];
  out->weight_first = out->weight_round + s->weight;
  uint32_t n_children = 0;
  for (uint32_t i = 0; i < s->n_nodes; i++) {
    const hia_image_node *n = &d->t.nodes[s->nodes + i];
    hia_instr *in = &instrs[i];
    *in = (hia_instr){.index = i, .kind = n->kind, .tokens = hiaR_u8(n->tokens)};
    locs[i] = n->loc;
    hia_edges edges = decode_edges(d, s, n->edges, n->n_edges);
    switch (n->kind) {
    case HIA_KIND_KERNEL: decode_kernel(d, n, in); break;
    case HIA_KIND_SWITCH:
      *d->switches = (hia_switch){0};
      in->u.branch = d->switches++;
      break;
    case HIA_KIND_OBSERVE:
    case HIA_KIND_COUNT: in->u.imm = n->what; break;
    case HIA_KIND_HOST:
      *d->calls = d->prepared[n->what];
      d->calls->ins = d->words + n->ins;
      d->calls->outs = d->words + n->outs;
      d->calls->name = d->t.strings + d->t.externs[n->what].name;
      in->u.host = d->calls++;
      break;
    case HIA_KIND_MAKE: in->u.make = decode_make(d, n); break;
    case HIA_KIND_FIELD: in->u.get = decode_field(d, n); break;
    case HIA_KIND_ELEMENTS:
    case HIA_KIND_LEN:
    case HIA_KIND_AT:
    case HIA_KIND_SLICE:
    case HIA_KIND_SET:
    case HIA_KIND_CONCAT:
    case HIA_KIND_NEW: decode_array(d, n, in); break;
    case HIA_KIND_OPERATION: decode_operation(d, n, in); break;
    case HIA_KIND_CALL:
    case HIA_KIND_LOOP:
      *d->children = (hia_child){.callee = &d->sections[n->what],
                                 .instr = in,
                                 .args = d->words + n->ins,
                                 .outs = d->words + n->outs,
                                 .first_out = n->n_outs ? d->words[n->outs] : 0,
                                 .edges = edges,
                                 .loc = n->loc,
                                 .is_tail = n->flags & HIA_IMAGE_TAIL,
                                 .is_loop = n->kind == HIA_KIND_LOOP};
      hiaR_decode_args(d, n, d->children++);
      in->slot = n_children++;
      continue;
    default: break;
    }
    bool is_kernel = n->kind == HIA_KIND_KERNEL;
    if (!is_kernel && n->n_ins) {
      in->slot = hiaR_slot_of(d->words[n->ins]);
      in->is_taken = in->slot != d->words[n->ins];
    }
    if (!is_kernel && n->n_outs) in->to = d->words[n->outs];
    if (n->kind == HIA_KIND_MOVE && hiaR_is_ref(d, in->to)) in->kind = HIA_KIND_SHARE;
    in->edges = edges;
  }
  for (uint32_t i = 0; i < s->n_regions; i++) {
    const hia_image_region *r = &d->t.regions[s->regions + i];
    if (i == 0)
      out->start = decode_edges(d, s, r->edges, r->n_edges);
    else
      /* Written only here: a switch stands before its regions. */
      decode_side(d, s, (hia_switch *)(uintptr_t)instrs[r->node].u.branch, i);
  }
  uint8_t *counters = preload + 8 * (size_t)(n_zero + s->n_consts);
  count_accesses(d, s);
  d->actions = hiaR_schedule(out, d->reads, d->writes, counters, hiaR_count_edges(&d->t, s),
                             d->schedule, d->actions);
  lay_out_frame(out, &l);
}
