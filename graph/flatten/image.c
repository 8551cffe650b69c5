/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The sections of an image to bytes: the final numbers of nodes and slots, tables, and moves. Moves
 * that happen all at once are ordered so that one after the other they do the same. */
#include "graph/flatten/section.h"
#include "runtime/base/loc.h"
#include "runtime/heap/tensor.h"

typedef struct writer {
  hia_flat_image *image;
  hia_arena *scratch;
  HIA_VEC(hia_image_section) sections;
  HIA_VEC(hia_image_region) regions;
  HIA_VEC(hia_image_node) nodes;
  hia_u32vec words;
  HIA_VEC(hia_word) consts, literals;
  uint32_t *literal_at; /* by literal of the graph: its first word, + 1; 0: it is not there yet */
  HIA_VEC(hia_image_export) exports;
  HIA_VEC(hia_image_extern) externs;
  HIA_VEC(hia_image_param) params;
  HIA_VEC(hia_image_loc) locs;
  HIA_VEC(char) strings;
  hia_index string_index;
} writer;

static uint32_t put_string(writer *w, const char *text) {
  size_t len = strlen(text);
  uint32_t hash = hiaR_hash(text, len), at = hash, i;
  while ((i = hiaR_index_next(&w->string_index, hash, &at)) != HIA_NONE)
    if (strcmp(w->strings.data + i, text) == 0) return i;
  uint32_t start = w->strings.len;
  if (len > UINT32_MAX - 1 - start)
    hiaR_throw(w->image->g->comp, HIA_UNSUPPORTED, "image too large");
  hiaR_reserve(w->scratch, &w->strings, start + (uint32_t)len + 1);
  memcpy(w->strings.data + start, text, len + 1);
  w->strings.len += (uint32_t)len + 1;
  hiaR_index_add(w->scratch, &w->string_index, hash, start);
  return start;
}

/* The number of the first word of a literal of the graph. */
static uint32_t put_literal(writer *w, uint64_t number) {
  const hia_tensor_literal *l = &w->image->g->literals.data[number];
  if (w->literal_at[number]) return w->literal_at[number] - 1;
  uint32_t rank = l->shape.rank, at = w->literals.len;
  uint64_t n = sizeof(hia_tensor) / sizeof(hia_word) + rank + (l->size + 7) / sizeof(hia_word);
  if (n > UINT32_MAX - at) hiaR_throw(w->image->g->comp, HIA_UNSUPPORTED, "image too large");
  hia_tensor head = {
      .counted = {.ctor = HIA_TENSOR_LITERAL, .spare = hiaR_tensor_spare(l->dtype, rank)}};
  atomic_init(&head.counted.count, HIA_STICKY);
  hiaR_reserve(w->scratch, &w->literals, at + (uint32_t)n);
  hia_word *words = w->literals.data + at;
  memset(words, 0, n * sizeof *words);
  memcpy(words, &head, sizeof head);
  memcpy(words + sizeof head / sizeof *words, l->shape.dims, rank * sizeof *words);
  if (l->size) memcpy(words + sizeof head / sizeof *words + rank, l->elements, l->size);
  w->literals.len += (uint32_t)n;
  w->literal_at[number] = at + 1;
  return at;
}

static void put_word(writer *w, uint32_t word) { hiaR_push(w->scratch, &w->words, word); }

/* ---- slots ---- */

/* Returns the number of a slot. The slot is perhaps taken; then so is the number. */
static uint32_t number_of(hia_flat_section *s, uint32_t slot) {
  uint32_t taken = slot & HIA_IMAGE_TAKEN;
  return s->slots.data[hiaG_flat_slot(s, slot & ~HIA_IMAGE_TAKEN)].number | taken;
}

static void read_slot(hia_flat_section *s, uint32_t slot) {
  s->slots.data[hiaG_flat_slot(s, slot & ~HIA_IMAGE_TAKEN)].is_read = true;
}

/* Numbers parameters and computed values, and returns how many slots they take. Scalar results that
 * are never read share a slot. References come last: the loader unsets those with the constants
 * that follow. Constants are numbered later (number_consts). */
static uint32_t number_slots(hia_flat_section *s) {
  for (uint32_t i = 0; i < s->nodes.len; i++) {
    const hia_flat_node *n = &s->nodes.data[i];
    for (uint32_t k = 0; k < n->n_ins; k++) read_slot(s, s->pool.data[n->ins + k]);
  }
  for (uint32_t i = 0; i < s->results.len; i++) read_slot(s, s->results.data[i]);
  for (uint32_t i = 0; i < s->next.len; i += 2) read_slot(s, s->next.data[i]);
  for (uint32_t i = 0; i < s->enter.len; i += 2) read_slot(s, s->enter.data[i]);
  for (uint32_t i = 0; i < s->elements.len; i++) read_slot(s, s->elements.data[i].slot);
  if (s->cond != HIA_NONE) read_slot(s, s->cond);

  uint32_t n = s->n_params, n_unread = 0;
  for (uint32_t i = 0; i < s->slots.len; i++) {
    hia_flat_slot *slot = &s->slots.data[i];
    if (i < s->n_params)
      slot->number = i;
    else if (slot->part_of == i && !slot->is_const && slot->is_read && !hiaG_flat_is_ref(slot))
      slot->number = n++;
  }
  for (uint32_t i = s->n_params; i < s->slots.len; i++) {
    hia_flat_slot *slot = &s->slots.data[i];
    if (slot->part_of == i && slot->number == HIA_NONE && !slot->is_const &&
        !hiaG_flat_is_ref(slot))
      slot->number = n, n_unread++;
  }
  n += n_unread != 0;
  for (uint32_t i = s->n_params; i < s->slots.len; i++) {
    hia_flat_slot *slot = &s->slots.data[i];
    if (slot->part_of == i && !slot->is_const && hiaG_flat_is_ref(slot)) slot->number = n++;
  }
  return n;
}

/* Numbers constants behind n other slots; returns the number of all. */
static uint32_t number_consts(hia_flat_section *s, uint32_t n) {
  for (uint32_t i = 0; i < s->slots.len; i++)
    if (s->slots.data[i].is_const && s->slots.data[i].is_read) s->slots.data[i].number = n++;
  return n;
}

/* ---- moves ---- */

typedef struct move {
  uint32_t from, to;
  bool is_done;
} move;

/* Writes parallel moves, to distinct slots, as a sequence. A move whose target no remaining move
 * reads goes first. If there is none, all that are left form circles; a circle is opened by saving
 * one value in slot `spare`. `pairs` has slots before numbering; all slots are below n_slots. True
 * if `spare` was needed. */
static bool put_moves(writer *w, hia_flat_section *s, const hia_u32vec *pairs, uint32_t n_slots,
                      uint32_t spare) {
  uint32_t n = pairs->len / 2, *readers = HIA_NEW_ARRAY(w->scratch, uint32_t, n_slots + 1),
           *writer_of = HIA_NEW_ARRAY(w->scratch, uint32_t, n_slots + 1), /* move + 1 */
               *ready = HIA_NEW_ARRAY(w->scratch, uint32_t, n), n_ready = 0;
  move *moves = HIA_NEW_ARRAY(w->scratch, move, n);
  hia_u32vec out = {0};
  for (uint32_t i = 0; i < n; i++) {
    moves[i] =
        (move){number_of(s, pairs->data[2 * i]), number_of(s, pairs->data[2 * i + 1]), false};
    moves[i].is_done = moves[i].from == moves[i].to;
    if (moves[i].is_done) continue;
    readers[moves[i].from]++;
    writer_of[moves[i].to] = i + 1;
  }
  for (uint32_t i = 0; i < n; i++)
    if (!moves[i].is_done && !readers[moves[i].to]) ready[n_ready++] = i;
  bool used_spare = false;
  for (uint32_t next = 0;;) {
    while (n_ready) {
      move *m = &moves[ready[--n_ready]];
      m->is_done = true;
      hiaR_push(w->scratch, &out, m->from);
      hiaR_push(w->scratch, &out, m->to);
      if (--readers[m->from] == 0 && writer_of[m->from] && !moves[writer_of[m->from] - 1].is_done)
        ready[n_ready++] = writer_of[m->from] - 1;
    }
    while (next < n && moves[next].is_done) next++;
    if (next == n) break;
    uint32_t saved = moves[next].to;
    used_spare = true;
    hiaR_push(w->scratch, &out, saved);
    hiaR_push(w->scratch, &out, spare);
    /* In a circle each slot is read once. */
    for (uint32_t i = moves[next].from;; i = moves[writer_of[i] - 1].from) {
      move *m = &moves[writer_of[i] - 1];
      if (m->from != saved) continue;
      m->from = spare;
      break;
    }
    readers[spare] = 1, readers[saved] = 0;
    ready[n_ready++] = next;
  }
  for (uint32_t i = 0; i < out.len; i++) put_word(w, out.data[i]);
  return used_spare;
}

/* The moves between rounds. References of one type move to slots of that type, so each type has
 * moves of its own, and a spare slot of its own if they need one. Scalars are like one type. */
typedef struct move_group {
  hia_type type; /* HIA_NONE: scalars */
  hia_u32vec pairs;
  bool needs_spare;
} move_group;
typedef HIA_VEC(move_group) move_groups;

static move_groups group_moves(writer *w, hia_flat_section *s) {
  move_groups groups = {0};
  for (uint32_t i = 0; i < s->next.len; i += 2) {
    const hia_flat_slot *to = &s->slots.data[hiaG_flat_slot(s, s->next.data[i + 1])];
    hia_type type = hiaG_flat_is_ref(to) ? to->type : HIA_NONE;
    uint32_t g = 0;
    while (g < groups.len && groups.data[g].type != type) g++;
    if (g == groups.len) hiaR_push(w->scratch, &groups, (move_group){.type = type});
    hiaR_push(w->scratch, &groups.data[g].pairs, s->next.data[i]);
    hiaR_push(w->scratch, &groups.data[g].pairs, s->next.data[i + 1]);
  }
  return groups;
}

/* Writes the moves, and numbers the constants behind n_computed slots and the spare ones. */
static void put_next(writer *w, hia_flat_section *s, uint32_t n_computed, move_groups *groups,
                     hia_image_section *out) {
  uint32_t n_spare = 0;
  out->n_slots = number_consts(s, n_computed);
  out->next = w->words.len;
  for (uint32_t g = 0; g < groups->len; g++) {
    move_group *group = &groups->data[g];
    group->needs_spare = put_moves(w, s, &group->pairs, out->n_slots, out->n_slots);
    n_spare += group->needs_spare;
  }
  if (n_spare) {
    w->words.len = out->next;
    out->n_slots = number_consts(s, n_computed + n_spare);
    uint32_t spare = n_computed;
    for (uint32_t g = 0; g < groups->len; g++) {
      put_moves(w, s, &groups->data[g].pairs, out->n_slots, spare);
      spare += groups->data[g].needs_spare;
    }
  }
  out->n_next = w->words.len - out->next;
}

/* ---- sections ---- */

/* The slots that hold references, by number: a slot's number grows with its index. */
static void put_refs(writer *w, hia_flat_section *s, uint32_t n_computed, const move_groups *groups,
                     hia_image_section *out) {
  out->refs = w->words.len;
  for (uint32_t i = 0; i < s->slots.len; i++) {
    const hia_flat_slot *slot = &s->slots.data[i];
    if (slot->part_of != i || !hiaG_flat_is_ref(slot)) continue;
    put_word(w, slot->number);
    put_word(w, slot->type);
  }
  uint32_t spare = n_computed;
  for (uint32_t g = 0; g < groups->len; g++) {
    if (!groups->data[g].needs_spare) continue;
    if (groups->data[g].type != HIA_NONE) {
      put_word(w, spare);
      put_word(w, groups->data[g].type);
    }
    spare++;
  }
  out->n_refs = w->words.len - out->refs;
}

static void put_slots(writer *w, hia_flat_section *s, const hia_u32vec *slots, uint32_t first,
                      uint32_t n) {
  for (uint32_t i = 0; i < n; i++) put_word(w, number_of(s, slots->data[first + i]));
}

/* The nodes that get a token from each node, and from the control of each region:
 * takers[at[i]] up to at[i + 1], where i is the number of the node, or n_nodes + that of the
 * region. From a taker the sources are followed back through dropped nodes. */
typedef struct takers {
  uint32_t *at, *to;
} takers;

static takers find_takers(writer *w, const hia_flat_section *s) {
  uint32_t n = s->nodes.len, n_all = n + s->regions.len;
  takers t = {.at = HIA_NEW_ARRAY(w->scratch, uint32_t, n_all + 2)};
  hia_u32vec todo = {0};
  /* The walk is made twice: first it counts, then it fills in. */
  for (int fill = 0; fill < 2; fill++) {
    for (uint32_t i = 0; i < n; i++) {
      if (s->nodes.data[i].is_dropped) continue;
      hiaR_push(w->scratch, &todo, i);
      while (todo.len) {
        const hia_flat_node *node = &s->nodes.data[todo.data[--todo.len]];
        for (uint32_t k = 0; k < node->n_sources + node->waits_for_control; k++) {
          bool is_control = k == node->n_sources;
          uint32_t source = is_control ? n + node->region : s->pool.data[node->sources + k];
          if (!is_control && s->nodes.data[source].is_dropped)
            hiaR_push(w->scratch, &todo, source);
          else if (fill)
            t.to[t.at[source + 1]++] = i;
          else
            t.at[source + 2]++;
        }
      }
    }
    if (fill) break;
    for (uint32_t i = 2; i < n_all + 2; i++) t.at[i] += t.at[i - 1];
    t.to = HIA_NEW_ARRAY(w->scratch, uint32_t, t.at[n_all + 1]);
  }
  return t;
}

/* Returns where the list begins. */
static uint32_t put_takers(writer *w, const takers *t, uint32_t i, const uint32_t *number) {
  uint32_t first = w->words.len;
  for (uint32_t k = t->at[i]; k < t->at[i + 1]; k++) put_word(w, number[t->to[k]]);
  return first;
}

static void put_nodes(writer *w, hia_flat_section *s, const takers *t, const uint32_t *number) {
  for (uint32_t i = 0; i < s->nodes.len; i++) {
    const hia_flat_node *n = &s->nodes.data[i];
    if (n->is_dropped) continue;
    hia_image_node out = {.kind = n->kind,
                          .flags = n->is_tail ? HIA_IMAGE_TAIL : 0,
                          .tokens = hiaR_u16(n->tokens),
                          .what = n->what,
                          .n_ins = n->n_ins,
                          .n_outs = n->n_outs,
                          .n_edges = t->at[i + 1] - t->at[i],
                          .weight = n->weight,
                          .loc = n->loc,
                          .imm = n->imm};
    if (n->kind == HIA_KIND_OPERATION && w->image->kernels.data[n->what].op == HIA_OP_LITERAL)
      out.imm = put_literal(w, n->imm);
    out.ins = w->words.len;
    put_slots(w, s, &s->pool, n->ins, n->n_ins);
    out.outs = w->words.len;
    put_slots(w, s, &s->pool, n->outs, n->n_outs);
    out.edges = put_takers(w, t, i, number);
    hiaR_push(w->scratch, &w->nodes, out);
  }
}

static void put_regions(writer *w, hia_flat_section *s, const takers *t, const uint32_t *number) {
  uint32_t n = s->nodes.len;
  hia_u32vec *moves = HIA_NEW_ARRAY(w->scratch, hia_u32vec, s->regions.len); /* by the SWITCH */
  for (uint32_t i = 0; i < n; i++) {
    const hia_flat_node *m = &s->nodes.data[i];
    if (!m->is_dropped || m->kind != HIA_KIND_MOVE) continue;
    hiaR_push(w->scratch, &moves[m->region], number_of(s, s->pool.data[m->ins]));
    hiaR_push(w->scratch, &moves[m->region], number_of(s, s->pool.data[m->outs]));
  }
  for (uint32_t i = 0; i < s->regions.len; i++) {
    const hia_flat_region *r = &s->regions.data[i];
    hia_image_region out = {.parent = r->parent,
                            .node = i ? number[r->node] : HIA_NONE,
                            .side = r->side,
                            .first = i ? number[r->first] : 0,
                            .last = number[i ? r->last : n],
                            .n_edges = t->at[n + i + 1] - t->at[n + i],
                            .weight = r->weight};
    out.edges = put_takers(w, t, n + i, number);
    out.moves = w->words.len;
    out.n_moves = moves[i].len;
    for (uint32_t k = 0; k < moves[i].len; k++) put_word(w, moves[i].data[k]);
    hiaR_push(w->scratch, &w->regions, out);
  }
}

static void put_elements(writer *w, hia_flat_section *s, const uint32_t *number) {
  for (uint32_t i = 0; i < s->elements.len; i++) {
    const hia_flat_element *e = &s->elements.data[i];
    uint32_t last = e->region ? s->regions.data[e->region].last : s->nodes.len, next = i + 1;
    while (next < s->elements.len && s->elements.data[next].region != e->region) next++;
    if (next < s->elements.len) last = s->elements.data[next].first;
    put_word(w, number[e->first]);
    put_word(w, number[last]);
    put_word(w, number_of(s, e->slot));
  }
}

static void put_section(writer *w, hia_flat_section *s) {
  /* Numbers of the nodes that stay. A dropped node, and the end, have the number of the next. */
  uint32_t *number = HIA_NEW_ARRAY(w->scratch, uint32_t, s->nodes.len + 1), n_nodes = 0;
  for (uint32_t i = 0; i < s->nodes.len; i++) {
    number[i] = n_nodes;
    n_nodes += !s->nodes.data[i].is_dropped;
  }
  number[s->nodes.len] = n_nodes;

  hia_image_section out = {.name = put_string(w, s->name),
                           .flags = s->flags,
                           .n_params = s->n_params,
                           .consts = w->consts.len,
                           .n_results = s->results.len,
                           .nodes = w->nodes.len,
                           .n_nodes = n_nodes,
                           .regions = w->regions.len,
                           .n_regions = s->regions.len,
                           .weight = s->weight};
  uint32_t n_computed = number_slots(s);
  move_groups groups = group_moves(w, s);
  put_next(w, s, n_computed, &groups, &out);
  put_refs(w, s, n_computed, &groups, &out);
  out.enter = w->words.len;
  put_slots(w, s, &s->enter, 0, s->enter.len);
  out.n_enter = s->enter.len;
  out.results = w->words.len;
  put_slots(w, s, &s->results, 0, s->results.len);
  out.elements = w->words.len;
  put_elements(w, s, number);
  out.n_elements = w->words.len - out.elements;
  out.cond = s->cond == HIA_NONE ? 0 : number_of(s, s->cond);
  for (uint32_t i = 0; i < s->slots.len; i++)
    if (s->slots.data[i].is_const && s->slots.data[i].is_read)
      hiaR_push(w->scratch, &w->consts, s->slots.data[i].word);
  out.n_consts = w->consts.len - out.consts;
  takers t = find_takers(w, s);
  put_nodes(w, s, &t, number);
  put_regions(w, s, &t, number);
  hiaR_push(w->scratch, &w->sections, out);
}

/* ---- the rest ---- */

static void put_type(const hia_types *types, hia_type type, hia_text *out) {
  if (hiaG_is_scalar(type)) {
    hiaR_text_add(out, &hiaR_reprs[type].code, 1);
    return;
  }
  if (hiaG_type_kind(types, type) != HIA_KIND_TUPLE) {
    hiaR_text_addf(out, "<%u;", type);
    return;
  }
  /* Types have at most 1000 parts, so this does not nest deeper. */
  hiaR_text_add(out, "(", 1);
  for (uint32_t i = 0; i < hiaG_tuple_len(types, type); i++)
    put_type(types, hiaG_tuple_part(types, type, i), out);
  hiaR_text_add(out, ")", 1);
}

static uint32_t put_signature(writer *w, const hia_type *params, uint32_t n, hia_type result) {
  const hia_types *types = w->image->g->types;
  hia_text signature;
  hiaR_text_init(&signature, w->scratch);
  for (uint32_t i = 0; i < n; i++) put_type(types, params[i], &signature);
  hiaR_text_add(&signature, ">", 1);
  put_type(types, result, &signature);
  return put_string(w, signature.data);
}

static void put_export(writer *w, hia_fn_id id) {
  const hia_fn *fn = hiaG_fn(w->image->g, id);
  hia_image_export out = {put_string(w, fn->name),
                          put_signature(w, fn->sig_params, fn->n_sig_params, fn->sig_result),
                          w->image->section_of[id], id};
  hiaR_push(w->scratch, &w->exports, out);
}

static void put_extern(writer *w, const hia_extern *e) {
  hia_image_extern out = {
      put_string(w, e->name), put_signature(w, e->sig_params, e->n_sig_params, e->result),
      (e->is_impure ? HIA_EXTERN_IMPURE : 0u) | (e->raises ? HIA_EXTERN_RAISES : 0u)};
  hiaR_push(w->scratch, &w->externs, out);
}

static void put_param(writer *w, const hia_param_spec *spec) {
  hia_image_param out = {.name = put_string(w, spec->name),
                         .dtype = (uint8_t)spec->dtype,
                         .init = (uint8_t)spec->init,
                         .rank = hiaR_u8(spec->shape.rank),
                         .a = spec->a,
                         .b = spec->b};
  memcpy(out.dims, spec->shape.dims, spec->shape.rank * sizeof *out.dims);
  hiaR_push(w->scratch, &w->params, out);
}

static void put_table(char **at, char *start, hia_image_table *table, const void *data, uint32_t n,
                      size_t record) {
  *table = (hia_image_table){(uint32_t)(*at - start), n};
  if (n) memcpy(*at, data, n * record);
  *at += (n * record + 7) & ~(size_t)7;
}

void hiaG_flatten_write(hia_flat_image *image, void **bytes, size_t *size) {
  const hia_graph *g = image->g;
  /* Without references, types are needed for no slot, and tuples of signatures are text. */
  static const hia_types none;
  const hia_types *types = hiaG_has_references(g) ? g->types : &none;
  writer w = {.image = image, .scratch = image->scratch};
  w.literal_at = HIA_NEW_ARRAY(w.scratch, uint32_t, g->literals.len + 1);
  uint32_t file = put_string(&w, g->file ? g->file : "");
  for (uint32_t i = 0; i < image->sections.len; i++) put_section(&w, image->sections.data[i]);
  HIA_EACH_FN(g, id)
    if (hiaG_fn(g, id)->is_root) put_export(&w, id);
  for (uint32_t i = 0; i < g->externs.len; i++) put_extern(&w, &g->externs.data[i]);
  for (uint32_t i = 0; i < g->params.len; i++) put_param(&w, &g->params.data[i]);
  for (uint32_t i = 0; i < g->locs.len; i++) {
    const hia_loc *l = &g->locs.data[i];
    hia_image_loc out = {l->line, l->col,
                         hiaR_loc_is_mark(l->fn) ? l->fn : put_string(&w, g->names.data[l->fn]),
                         l->parent};
    hiaR_push(w.scratch, &w.locs, out);
  }

#define TABLES(X)                                                                                  \
  X(kernels, image->kernels)                                                                       \
  X(externs, w.externs)                                                                            \
  X(params, w.params)                                                                              \
  X(sections, w.sections)                                                                          \
  X(regions, w.regions)                                                                            \
  X(nodes, w.nodes)                                                                                \
  X(words, w.words)                                                                                \
  X(consts, w.consts)                                                                              \
  X(literals, w.literals)                                                                          \
  X(exports, w.exports)                                                                            \
  X(locs, w.locs)                                                                                  \
  X(strings, w.strings)                                                                            \
  X(types, types->entries)                                                                         \
  X(parts, types->parts)                                                                           \
  X(ctors, types->ctors)                                                                           \
  X(fields, types->fields) X(layout_words, types->layout_words) X(names, types->names)
  size_t total = sizeof(hia_image_header);
#define ADD(field, vec) total += (vec.len * sizeof *vec.data + 7) & ~(size_t)7;
  TABLES(ADD)
#undef ADD
  if (total > UINT32_MAX) hiaR_throw(g->comp, HIA_UNSUPPORTED, "image too large");
  hia_image_header *h = hiaR_arena_alloc(&g->comp->arena, total);
  char *start = (char *)h, *at = start + sizeof *h;
  *h = (hia_image_header){
      .order = HIA_IMAGE_ORDER, .version = HIA_IMAGE_VERSION, .size = total, .file = file};
  memcpy(h->magic, HIA_IMAGE_MAGIC, sizeof h->magic);
#define PUT(field, vec) put_table(&at, start, &h->field, vec.data, vec.len, sizeof *vec.data);
  TABLES(PUT)
#undef PUT
#undef TABLES
  size_t from = offsetof(hia_image_header, file);
  h->hash = hiaR_image_hash(start + from, total - from);
  *bytes = h;
  *size = total;
}
