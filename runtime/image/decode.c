/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Loading an image: it is checked, then decoded into one block of memory, in the form the engines
 * run.
 *
 * Decoding looks up kernels, turns edges into pointers, marks nodes that wait for one token only
 * (they need no count), lays out frames, and decides which references move (refs.c). */
#include "runtime/image/decode.h"
#include "runtime/tensor/tensor.h"
#include <stdio.h>

uint64_t hiaR_image_hash(const void *bytes, size_t size) {
  const uint8_t *at = bytes;
  uint64_t h = 0x9e3779b97f4a7c15u ^ size;
  for (size_t i = 0; i + 8 <= size; i += 8) {
    uint64_t word;
    memcpy(&word, at + i, sizeof word);
    h = (h ^ word) * 0xff51afd7ed558ccdu;
    h ^= h >> 32;
  }
  return h;
}

/* ---- the sources: the image's tables ---- */

static hia_image_tables tables_of(const void *bytes) {
  const hia_image_header *h = bytes;
  const char *base = bytes;
#define AT(field) (const void *)(base + h->field.at)
  return (hia_image_tables){h,
                            AT(kernels),
                            AT(externs),
                            AT(params),
                            AT(sections),
                            AT(regions),
                            AT(nodes),
                            AT(words),
                            AT(consts),
                            AT(literals),
                            AT(exports),
                            AT(locs),
                            AT(strings),
                            {AT(types), AT(parts), AT(ctors), AT(fields), AT(places), AT(names),
                             h->types.n, h->parts.n, h->ctors.n, h->fields.n, h->places.n,
                             h->names.n}};
#undef AT
}

/* ---- laying out frames ---- */

/* Sizes of frames are rounded up, so that frames of similar sections share their memory: to 16
 * bytes up to 512, beyond to an eighth of the next power of two. */
enum { STEPS = 8, FINE = 512, CLASSES = FINE / 16 + STEPS * 24 };

static uint32_t class_of(uint64_t size, uint64_t *rounded) {
  if (size <= FINE) {
    uint32_t steps = size ? (uint32_t)((size + 15) / 16) : 1;
    *rounded = (uint64_t)steps * 16;
    return steps - 1;
  }
  uint32_t c = FINE / 16;
  for (uint64_t low = FINE;; low *= 2)
    for (uint32_t i = 1; i <= STEPS; i++, c++)
      if (size <= low + low / STEPS * i) {
        *rounded = low + low / STEPS * i;
        return c;
      }
}

typedef struct layout {
  uint32_t n_children, n_counters;
  uint32_t set_words, set_levels; /* words of the pending set outside the header */
} layout;

static layout lay_out(const hia_image_tables *t, const hia_image_section *s) {
  layout l = {0};
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
static uint32_t count_edges(const hia_image_tables *t, const hia_image_section *s) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < s->n_nodes; i++) n += t->nodes[s->nodes + i].n_edges;
  for (uint32_t i = 0; i < s->n_regions; i++) n += t->regions[s->regions + i].n_edges;
  return n;
}

static uint32_t up8(uint32_t n) { return (n + 7) & ~7u; }
static uint32_t up16(uint32_t n) { return (n + 15) & ~15u; }

/* How many slots that hold references stand right before the constants: they are preloaded, too. */
static uint32_t preloaded_refs(const hia_image_tables *t, const hia_image_section *s) {
  uint32_t n = 0, n_computed = s->n_slots - s->n_consts;
  const uint32_t *refs = t->words + s->refs;
  while (2 * n < s->n_refs && n < n_computed - s->n_params &&
         refs[s->n_refs - 2 * n - 2] == n_computed - 1 - n)
    n++;
  return n;
}

static uint32_t preload_size(const hia_image_tables *t, const hia_image_section *s,
                             const layout *l) {
  return up16(8 * (preloaded_refs(t, s) + s->n_consts) + up8(l->n_counters) + 8 * l->set_words);
}

/* ---- one block for everything ---- */

/* Empty: there is none for this op, or not for the dtype. */
static hia_given_kernel find_kernel(const hia_kernel_source *kernels, const hia_image_kernel *k) {
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

static void *take(hia_decoder *d, size_t n, size_t size) {
  void *p = d->at;
  d->at += hiaR_room(n, size);
  return p;
}

static bool is_wide(const hia_decoder *d, const hia_image_node *n) {
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
  hia_kernel kernel = find_kernel(d->kernels, k).by_dtype[k->dtype];
  if (is_wide(d, n)) {
    hia_wide *w = d->wides++;
    *w = (hia_wide){kernel, n->imm, {0}, n->n_ins, d->words[n->outs]};
    for (uint32_t i = 0; i < n->n_ins; i++) w->in[i] = d->words[n->ins + i];
    out->kind = HIA_KIND_WIDE;
    out->u.wide = w;
    return;
  }
  out->kernel = kernel;
  out->quick = hiaR_quick_step(k->op, k->dtype);
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
  const hia_word_place *places = d->t.types.places + ctor->layout.first;
  const hia_part *first = d->parts, *end[RANKS];
  for (unsigned rank = 0; rank < RANKS; rank++) {
    for (uint32_t i = 0, k = 0; i < ctor->layout.n; i++) {
      if (imm && !reads_word(ctor, *imm, i)) continue;
      if (rank_of((hia_repr)places[i].repr, slots[k]) == rank)
        *d->parts++ = (hia_part){places[i], hiaR_slot_of(slots[k])};
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
  const hia_word_place *places = d->t.types.places + ctor->layout.first;
  hia_get *get = d->gets++;
  const hia_shape *shape = &d->shapes->list[n->what];
  *get = (hia_get){.parts = decode_parts(d, ctor, &n->imm, d->words + n->outs),
                   .unread = d->slots,
                   .shape = shape,
                   .size_class = size_class(shape->size),
                   .base = n->what - shape->ctor,
                   .ctor = shape->ctor};
  for (uint32_t i = 0; i < ctor->layout.n; i++)
    if (!reads_word(ctor, n->imm, i) && places[i].repr == HIA_REPR_REF)
      d->slots[get->n_unread++] = (places[i].at - (uint32_t)sizeof(hia_counted)) / 8;
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
  hia_given_kernel kernel = find_kernel(d->kernels, k);
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
  *d->operations = (hia_operation_instr){.o = {.n_in = n->n_ins,
                                               .base = base,
                                               .shape = shape,
                                               .places = d->t.types.places + element->first,
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
  if (n->kind == HIA_KIND_AT) d->operations->place = d->operations->o.places[n->imm];
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
static void lay_out_frame(hia_section *out, const layout *l) {
  out->set_at = out->counters_at + out->counters_size;
  out->preload_size = up16(out->set_at + 8 * l->set_words - out->preload_at);
  uint64_t body_size;
  class_of((uint64_t)out->preload_at + out->preload_size, &body_size);
  out->body_size = (uint32_t)body_size;
}

static void decode_section(hia_decoder *d, uint32_t number) {
  const hia_image_section *s = &d->t.sections[number];
  layout l = lay_out(&d->t, s);
  hia_section *out = &d->sections[number];
  hia_instr *instrs = d->instrs + s->nodes;
  uint32_t n_zero = preloaded_refs(&d->t, s), n_computed = s->n_slots - s->n_consts - n_zero;
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
                       .steps = hiaR_no_steps,
                       .name = d->t.strings + s->name};
  hiaR_decode_refs(d, s, out);
  size_t max_preload = preload_size(&d->t, s, &l);
  uint8_t *preload = take(d, max_preload, 1);
  uint32_t *locs = take(d, s->n_nodes, sizeof *locs);
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
    case HIA_KIND_COUNT: in->u.imm = n->what; break;
    case HIA_KIND_HOST:
      *d->calls = (hia_host_instr){d->hosts->caller, d->prepared[n->what], d->words + n->ins,
                                   d->words + n->outs, d->t.strings + d->t.externs[n->what].name};
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
  d->steps = hiaR_schedule(out, d->reads, d->writes, counters, count_edges(&d->t, s), d->schedule,
                           d->steps);
  lay_out_frame(out, &l);
}

/* ---- exports ---- */

static hia_type *decode_types(const char *from, char end, hia_type *to) {
  for (; *from != end; from++) {
    if (*from == '(' || *from == ')') continue;
    if (*from == '<')
      for (*to++ = 0, from++; *from != ';'; from++) to[-1] = 10 * to[-1] + (hia_type)(*from - '0');
    else
      *to++ = (hia_type)hiaR_repr_of_code(*from);
  }
  return to;
}

static void decode_export(hia_decoder *d, const hia_image_export *e, const char *strings,
                          hia_export *out) {
  const hia_image_section *s = &d->t.sections[e->section];
  hia_type *types = take(d, (size_t)s->n_params + s->n_results, sizeof *types);
  const char *signature = strings + e->signature;
  hia_type *results = decode_types(signature, '>', types);
  decode_types(strchr(signature, '>') + 1, 0, results);
  *out = (hia_export){strings + e->name, signature,    types,      results,
                      s->n_params,       s->n_results, e->section, e->fn};
}

/* ---- host functions ---- */

/* Reads a signature; its dtypes are stored in `at`. If `at` is NULL, they are only counted. */
static hia_dtype *decode_dtypes(const char *from, char end, hia_dtype *to) {
  for (; *from != end; from++)
    if (*from != '(' && *from != ')') *to++ = (hia_dtype)hiaR_repr_of_code(*from);
  return to;
}

static hia_host_signature host_signature(const char *text, hia_dtype *at) {
  hia_host_signature s = {.params = at};
  const char *end = strchr(text, '>');
  for (const char *c = text; c < end; c++) s.n_params += *c != '(' && *c != ')';
  for (const char *c = end + 1; *c; c++) s.n_results += *c != '(' && *c != ')';
  if (!at) return s;
  s.results = decode_dtypes(text, '>', at);
  decode_dtypes(end + 1, 0, at + s.n_params);
  return s;
}

static hia_status HIA_PRINTF(3, 4) refuse(char *error, size_t error_size, const char *fmt, ...) {
  if (!error_size) return HIA_BAD_IMAGE;
  va_list args;
  va_start(args, fmt);
  vsnprintf(error, error_size, fmt, args);
  va_end(args);
  return HIA_BAD_IMAGE;
}

/* Computes how many bytes the prepared calls take. */
static hia_status size_hosts(const hia_image_tables *t, const hia_image_hosts *hosts, size_t *size,
                             char *error, size_t error_size) {
  *size = 0;
  for (uint32_t i = 0; i < t->h->externs.n; i++) {
    const char *name = t->strings + t->externs[i].name;
    hia_host_signature s = host_signature(t->strings + t->externs[i].signature, NULL);
    size_t own = hosts && hosts->caller ? hosts->caller->size(&s) : 0;
    if (!own) {
      return refuse(error, error_size,
                    hosts && hosts->caller
                        ? "the host's function %s has too many parameters"
                        : "it calls the host's function %s, but no caller was given",
                    name);
    }
    *size += hiaR_room(own, 1) + hiaR_room((size_t)s.n_params + s.n_results, sizeof(hia_dtype));
  }
  return HIA_OK;
}

static hia_status prepare_hosts(hia_decoder *d, char *error, size_t error_size) {
  for (uint32_t i = 0; i < d->t.h->externs.n; i++) {
    const hia_image_extern *e = &d->t.externs[i];
    const char *name = d->t.strings + e->name;
    hia_host_signature s = host_signature(d->t.strings + e->signature, NULL);
    s = host_signature(d->t.strings + e->signature,
                       take(d, (size_t)s.n_params + s.n_results, sizeof(hia_dtype)));
    void *at = take(d, d->hosts->caller->size(&s), 1);
    hia_host_target target = {0};
    if (!d->hosts->find(d->hosts->user, i, name, &target) || !target.function)
      return refuse(error, error_size, "there is no function %s of the host", name);
    if (target.returns_status && !(e->flags & HIA_EXTERN_RAISES))
      return refuse(error, error_size, "the host's function %s may fail", name);
    if (!d->hosts->caller->prepare(at, &target, &s))
      return refuse(error, error_size, "the host's function %s cannot be called", name);
    d->prepared[i] = at;
  }
  return HIA_OK;
}

bool hiaR_given_host(void *user, uint32_t number, const char *name, hia_host_target *target) {
  (void)number;
  for (const hia_given_host *given = user; given->name; given++)
    if (strcmp(given->name, name) == 0) {
      *target = given->target;
      return true;
    }
  return false;
}

/* ---- loading ---- */

#define TYPE_TABLES(X)                                                                             \
  X(types, n_types)                                                                                \
  X(parts, n_parts)                                                                                \
  X(ctors, n_ctors) X(fields, n_fields) X(places, n_places) X(names, n_names)

static size_t room_of_types(const hia_type_table *t) {
  size_t size = 0;
#define ADD(table, n) size += hiaR_room(t->n, sizeof *t->table);
  TYPE_TABLES(ADD)
#undef ADD
  return size;
}

static void copy_types(hia_decoder *d) {
  hia_type_table *t = &d->t.types;
#define COPY(table, n)                                                                             \
  {                                                                                                \
    void *copy = take(d, t->n, sizeof *t->table);                                                  \
    if (t->n) memcpy(copy, t->table, t->n * sizeof *t->table);                                     \
    t->table = copy;                                                                               \
  }
  TYPE_TABLES(COPY)
#undef COPY
}

static void number_classes(hia_loaded *image, hia_section *sections, uint32_t *class_size) {
  uint32_t number[CLASSES];
  memset(number, 0xff, sizeof number);
  for (uint32_t i = 0; i < image->n_sections; i++) {
    uint64_t rounded;
    uint32_t c = class_of(sections[i].body_size, &rounded);
    if (number[c] == HIA_NONE) {
      class_size[image->n_classes] = (uint32_t)rounded;
      number[c] = image->n_classes++;
    }
    sections[i].size_class = number[c];
  }
}

static hia_status decode(const void *bytes, const hia_kernel_source *kernels,
                         const hia_image_hosts *hosts, const hia_allocator *allocator,
                         hia_loaded **result, char *error, size_t error_size) {
  hia_decoder d = {.t = tables_of(bytes), .kernels = kernels, .hosts = hosts};
  const hia_image_header *h = d.t.h;
  uint32_t n_calls = 0;
  size_t hosts_size;
  hia_status status = size_hosts(&d.t, hosts, &hosts_size, error, error_size);
  if (status) return status;
  uint32_t n_children = 0, n_switches = 0, n_wides = 0, max_nodes = 0, max_regions = 0;
  uint32_t n_makes = 0, n_gets = 0, n_operations = 0, max_slots = 0, n_edges = 0, max_edges = 0;
  size_t n_moves = 0, n_ref_slots = 0, n_slot_lists = 0, n_parts = 0;
  size_t n_classes = h->sections.n < CLASSES ? h->sections.n : CLASSES;
  size_t size = hiaR_room(1, sizeof(hia_loaded)) + hiaR_room(h->sections.n, sizeof(hia_section)) +
                hiaR_room(h->nodes.n, sizeof(hia_instr)) + hiaR_room(h->words.n, sizeof(uint32_t)) +
                hiaR_room(h->words.n, sizeof(hia_instr *)) +
                hiaR_room(h->exports.n, sizeof(hia_export)) +
                hiaR_room(h->locs.n, sizeof(hia_image_loc)) + hiaR_room(h->strings.n, 1) +
                hiaR_room(n_classes, sizeof(uint32_t));
  for (uint32_t i = 0; i < h->sections.n; i++) {
    const hia_image_section *s = &d.t.sections[i];
    layout l = lay_out(&d.t, s);
    size += hiaR_room(preload_size(&d.t, s, &l), 1) + hiaR_room(s->n_nodes, sizeof(uint32_t));
    n_children += l.n_children;
    uint32_t own_edges = count_edges(&d.t, s);
    n_edges += own_edges;
    if (own_edges > max_edges) max_edges = own_edges;
    n_moves += s->n_enter / 2 + s->n_next / 2;
    n_ref_slots += s->n_refs; /* twice: those to drop */
    n_slot_lists += s->n_results;
    if (s->n_slots > max_slots) max_slots = s->n_slots;
    if (s->n_nodes > max_nodes) max_nodes = s->n_nodes;
    if (s->n_regions > max_regions) max_regions = s->n_regions;
  }
  for (uint32_t i = 0; i < h->nodes.n; i++) {
    n_switches += d.t.nodes[i].kind == HIA_KIND_SWITCH;
    n_wides += d.t.nodes[i].kind == HIA_KIND_KERNEL && is_wide(&d, &d.t.nodes[i]);
    n_calls += d.t.nodes[i].kind == HIA_KIND_HOST;
    if (d.t.nodes[i].kind == HIA_KIND_MAKE) {
      n_makes++;
      n_parts += d.t.nodes[i].n_ins;
    }
    if (d.t.nodes[i].kind == HIA_KIND_FIELD) {
      n_gets++;
      n_parts += d.t.nodes[i].n_outs;
      n_slot_lists += d.t.types.ctors[d.t.nodes[i].what].layout.n_refs;
    }
    n_operations +=
        d.t.nodes[i].kind >= HIA_KIND_ELEMENTS && d.t.nodes[i].kind <= HIA_KIND_OPERATION;
    if (d.t.nodes[i].kind == HIA_KIND_CALL || d.t.nodes[i].kind == HIA_KIND_LOOP)
      n_slot_lists += d.t.nodes[i].n_ins;
    n_ref_slots += d.t.nodes[i].n_outs;
  }
  for (uint32_t i = 0; i < h->regions.n; i++) n_moves += d.t.regions[i].n_moves / 2;
  for (uint32_t i = 0; i < h->exports.n; i++) {
    const hia_image_section *s = &d.t.sections[d.t.exports[i].section];
    size += hiaR_room((size_t)s->n_params + s->n_results, sizeof(hia_type));
  }
  n_ref_slots += n_moves; /* of regions, and spare slots */
  hia_schedule_size steps = {.n_nodes = h->nodes.n,
                             .n_regions = h->regions.n,
                             .n_children = n_children,
                             .n_edges = n_edges,
                             .n_moves = n_moves + (h->types.n ? n_ref_slots : 0)};
  size += hiaR_room(n_makes, sizeof(hia_make)) + hiaR_room(n_gets, sizeof(hia_get)) +
          hiaR_room(n_parts, sizeof(hia_part)) + hiaR_room(n_moves, sizeof(hia_move)) +
          hiaR_room(n_moves, sizeof(hia_ref_move)) + hiaR_room(n_ref_slots, sizeof(hia_ref_slot)) +
          hiaR_room(n_slot_lists, sizeof(uint32_t)) +
          hiaR_room(n_operations, sizeof(hia_operation_instr)) + room_of_types(&d.t.types);
  size += hiaR_room(n_children, sizeof(hia_child)) + hiaR_room(n_children, sizeof(hia_leaf)) +
          hiaR_room(n_switches, sizeof(hia_switch)) + hiaR_room(n_wides, sizeof(hia_wide)) +
          hiaR_room(n_calls, sizeof(hia_host_instr)) + hiaR_room(h->externs.n, sizeof(void *)) +
          hiaR_room(h->params.n, sizeof(hia_param_spec)) +
          hiaR_room(h->literals.n, sizeof(hia_word)) +
          hiaR_room(hiaR_max_steps(&steps), sizeof(hia_step)) + hosts_size;

  size_t sums = hiaR_room((size_t)max_nodes + 1, sizeof(uint64_t)),
         slots_at = sums + hiaR_room(max_regions, sizeof(uint64_t)),
         marks_at = slots_at + hiaR_room(max_slots, sizeof(uint32_t)),
         reads_at = marks_at + hiaR_room(max_slots, 1),
         writes_at = reads_at + hiaR_room(max_slots, 1),
         schedule_at = writes_at + hiaR_room(max_slots, 1),
         uses_at = schedule_at + hiaR_room(hiaR_schedule_scratch(max_nodes, max_edges), 1),
         scratch_size =
             uses_at + (h->types.n ? hiaR_room_of_uses(h, max_slots, max_nodes, max_regions) : 0);
  char *scratch = hiaR_alloc(allocator, scratch_size);
  d.at = scratch ? hiaR_alloc(allocator, size) : NULL;
  if (!d.at) {
    hiaR_free(allocator, scratch, scratch_size);
    return HIA_MEMORY;
  }
  d.node_sum = (uint64_t *)(void *)scratch;
  d.region_weight = (uint64_t *)(void *)(scratch + sums);
  d.ref_base = (uint32_t *)(void *)(scratch + slots_at);
  d.marks = (uint8_t *)(scratch + marks_at);
  d.reads = (uint8_t *)(scratch + reads_at);
  d.writes = (uint8_t *)(scratch + writes_at);
  d.schedule = scratch + schedule_at;
  memset(d.marks, 0, max_slots);
  if (h->types.n) hiaR_place_uses(&d.uses, scratch + uses_at, h, max_slots, max_regions);

  hia_loaded *image = take(&d, 1, sizeof *image);
  d.sections = take(&d, h->sections.n, sizeof(hia_section));
  d.instrs = take(&d, h->nodes.n, sizeof(hia_instr));
  uint32_t *words = take(&d, h->words.n, sizeof(uint32_t));
  d.edges = take(&d, h->words.n, sizeof(hia_instr *));
  hia_export *exports = take(&d, h->exports.n, sizeof(hia_export));
  hia_image_loc *locs = take(&d, h->locs.n, sizeof(hia_image_loc));
  char *strings = take(&d, h->strings.n, 1);
  uint32_t *class_size = take(&d, n_classes, sizeof(uint32_t));
  hia_child *children = d.children = take(&d, n_children, sizeof(hia_child));
  d.leaves = take(&d, n_children, sizeof(hia_leaf));
  d.switches = take(&d, n_switches, sizeof(hia_switch));
  d.wides = take(&d, n_wides, sizeof(hia_wide));
  d.calls = take(&d, n_calls, sizeof(hia_host_instr));
  d.prepared = take(&d, h->externs.n, sizeof(void *));
  hia_param_spec *params = take(&d, h->params.n, sizeof(hia_param_spec));
  d.literals = take(&d, h->literals.n, sizeof(hia_word));
  if (h->literals.n) memcpy(d.literals, d.t.literals, h->literals.n * sizeof(hia_word));
  d.makes = take(&d, n_makes, sizeof(hia_make));
  d.gets = take(&d, n_gets, sizeof(hia_get));
  d.parts = take(&d, n_parts, sizeof(hia_part));
  d.moves = take(&d, n_moves, sizeof(hia_move));
  d.ref_moves = take(&d, n_moves, sizeof(hia_ref_move));
  d.ref_slots = take(&d, n_ref_slots, sizeof(hia_ref_slot));
  d.slots = take(&d, n_slot_lists, sizeof(uint32_t));
  d.operations = take(&d, n_operations, sizeof(hia_operation_instr));
  d.steps = take(&d, hiaR_max_steps(&steps), sizeof(hia_step));
  copy_types(&d);
  memcpy(words, d.t.words, h->words.n * sizeof(uint32_t));
  memcpy(locs, d.t.locs, h->locs.n * sizeof(hia_image_loc));
  memcpy(strings, d.t.strings, h->strings.n);
  d.words = words;
  d.t.strings = strings;
  hia_shapes *shapes = NULL;
  size_t shapes_size = 0;
  status = prepare_hosts(&d, error, error_size);
  if (!status && h->types.n) {
    status = hiaR_shapes_new(&d.t.types, allocator, &shapes, &shapes_size);
    if (status == HIA_UNSUPPORTED)
      refuse(error, error_size, "too many constructors and array types");
  }
  d.shapes = shapes;
  if (status) {
    hiaR_free(allocator, scratch, scratch_size);
    hiaR_free(allocator, image, size);
    return status;
  }
  bool is_impure = false;
  for (uint32_t i = 0; i < h->externs.n; i++)
    is_impure |= (d.t.externs[i].flags & HIA_EXTERN_IMPURE) != 0;
  for (uint32_t i = 0; i < h->sections.n; i++) decode_section(&d, i);
  for (hia_child *child = children; child < d.children; child++)
    if (hiaR_plan_leaf(child, d.leaves)) child->leaf = d.leaves++;
  for (uint32_t i = 0; i < h->params.n; i++)
    params[i] = hiaR_spec_of_image(&d.t.params[i], strings);
  for (uint32_t i = 0; i < h->exports.n; i++)
    decode_export(&d, &d.t.exports[i], strings, &exports[i]);
  *image = (hia_loaded){.allocator = allocator,
                        .size = size,
                        .sections = d.sections,
                        .exports = exports,
                        .params = params,
                        .n_params = h->params.n,
                        .locs = locs,
                        .strings = strings,
                        .file = strings + h->file,
                        .n_sections = h->sections.n,
                        .n_exports = h->exports.n,
                        .n_locs = h->locs.n,
                        .n_strings = h->strings.n,
                        .class_size = class_size,
                        .types = d.t.types,
                        .shapes = shapes,
                        .shapes_size = shapes_size,
                        .max_nodes = max_nodes,
                        .is_impure = is_impure};
  number_classes(image, d.sections, class_size);
  hiaR_free(allocator, scratch, scratch_size);
  *result = image;
  return HIA_OK;
}

static hia_status load(const void *bytes, size_t size, const hia_kernel_source *kernels,
                       const hia_image_hosts *hosts, const hia_allocator *allocator,
                       hia_loaded **out, char *error, size_t error_size) {
  *out = NULL;
  if (error_size) error[0] = 0;
  /* An image inside something larger may be at any address. */
  void *copy = NULL;
  if ((uintptr_t)bytes % 8) {
    copy = hiaR_alloc(allocator, size);
    if (!copy) return HIA_MEMORY;
    bytes = memcpy(copy, bytes, size);
  }
  hia_status status = hiaR_image_check(bytes, size, allocator, error, error_size);
  if (!status) {
    hia_image_tables t = tables_of(bytes);
    for (uint32_t i = 0; i < t.h->nodes.n && !status; i++) {
      const hia_image_node *n = &t.nodes[i];
      if (n->kind != HIA_KIND_KERNEL && n->kind != HIA_KIND_OPERATION) continue;
      const hia_image_kernel *k = &t.kernels[n->what];
      hia_given_kernel kernel = find_kernel(kernels, k);
      if (n->kind == HIA_KIND_KERNEL ? kernel.by_dtype != NULL : kernel.operate != NULL) continue;
      if (error_size)
        snprintf(error, error_size, "no kernel for %s, dtype %u", hiaR_ops[k->op].name, k->dtype);
      status = HIA_BAD_IMAGE;
    }
  }
  if (!status) status = decode(bytes, kernels, hosts, allocator, out, error, error_size);
  hiaR_free(allocator, copy, size);
  return status;
}

hia_status hiaR_image_load(const void *bytes, size_t size, hia_find_kernel *find,
                           const hia_allocator *allocator, hia_loaded **out, char *error,
                           size_t error_size) {
  const hia_kernel_source kernels = {.find = find};
  return load(bytes, size, &kernels, NULL, allocator, out, error, error_size);
}

hia_status hiaR_image_load_hosted(const void *bytes, size_t size, hia_find_kernel *find,
                                  const hia_image_hosts *hosts, const hia_allocator *allocator,
                                  hia_loaded **out, char *error, size_t error_size) {
  const hia_kernel_source kernels = {.find = find};
  return load(bytes, size, &kernels, hosts, allocator, out, error, error_size);
}

hia_status hiaR_image_load_given(const void *bytes, size_t size, const hia_given_kernel *given,
                                 size_t n_given, const hia_image_hosts *hosts,
                                 const hia_allocator *allocator, hia_loaded **out, char *error,
                                 size_t error_size) {
  const hia_kernel_source kernels = {.given = given, .n_given = n_given};
  return load(bytes, size, &kernels, hosts, allocator, out, error, error_size);
}

void hiaR_image_free(hia_loaded *image) {
  if (!image) return;
  hiaR_free(image->allocator, image->shapes, image->shapes_size);
  hiaR_free(image->allocator, image, image->size);
}

/* ---- reading ---- */

uint32_t hiaR_image_n_exports(const hia_loaded *image) { return image->n_exports; }

const hia_export *hiaR_image_export(const hia_loaded *image, uint32_t entry) {
  return entry < image->n_exports ? &image->exports[entry] : NULL;
}

uint32_t hiaR_image_find(const hia_loaded *image, const char *name) {
  for (uint32_t i = 0; i < image->n_exports; i++)
    if (strcmp(image->exports[i].name, name) == 0) return i;
  return HIA_NONE;
}

uint32_t hiaR_image_entry(const hia_loaded *image, uint32_t fn) {
  for (uint32_t i = 0; i < image->n_exports; i++)
    if (image->exports[i].fn == fn) return i;
  return HIA_NONE;
}

const hia_image_loc *hiaR_image_locs(const hia_loaded *image, uint32_t *n) {
  if (n) *n = image->n_locs;
  return image->locs;
}

const char *hiaR_image_string(const hia_loaded *image, uint32_t offset) {
  return image->strings + offset;
}

const char *hiaR_image_file(const hia_loaded *image) { return image->file; }

size_t hiaR_image_bytes(const hia_loaded *image) { return image->size + image->shapes_size; }

const hia_param_spec *hiaR_image_params(const hia_loaded *image, uint32_t *n) {
  *n = image->n_params;
  return image->params;
}

const hia_shapes *hiaR_image_shapes(const hia_loaded *image) { return image->shapes; }
