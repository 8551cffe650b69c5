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
#include <stdlib.h>

#define NO_SOURCE HIA_NONE /* of values that are there when the frame is made */

/* A node that reads a slot which a SET changes later. */
typedef struct reading {
  uint32_t slot, node;
} reading;
typedef HIA_VEC(reading) readings;

/* An open region: where its nodes go. */
typedef struct context {
  hia_region_id region; /* of the graph */
  hia_flat_section *section;
  uint32_t local; /* the region, in the section */
  uint32_t child; /* the next of its inner regions: index into `order` */
  readings reads; /* by its nodes, and by branches in it */
  readings then;  /* by the side THEN of the branch of which ELSE comes next: join_reads */
} context;

typedef struct flattener {
  hia_flat_image *image;
  hia_arena *scratch;
  hia_fn_id id;
  const hia_fn *fn;
  hia_region_id only_loop; /* HEAD, if the function is nothing but this loop; else NONE */
  HIA_VEC(context) open;

  uint32_t *slot, *source; /* by value, in its section */
  uint32_t *uses;          /* by value: how many operands refer to it */
  bool *is_set;            /* by value: a SET changes it, or a value that it becomes */
  bool has_sets;
  hia_node_id
      *next_field; /* by node: of a FIELD, the next one of the same value and region; or NONE */

  hia_region_id *order; /* inner regions of r: order[order_at[r]] up to order_at[r + 1] */
  uint32_t *order_at;
  hia_node_id *owned; /* in the same way: MERGEs of a THEN, EXITs of a HEAD */
  uint32_t *owned_at;
  uint32_t *place;         /* by node, for these: index in `owned` */
  uint32_t *port;          /* of the MERGE at index i of `owned`: sources 2 i and 2 i + 1 */
  hia_flat_section **loop; /* by region: of a HEAD, its section */
  hia_u32vec *enters;      /* by region: of a HEAD, operands of its ENTERs */
  uint32_t *branch;        /* by region: of a THEN or ROUND, the SWITCH, once there is one */
  hia_u32vec *variables;   /* by region: of a HEAD, its MERGE_LOOPs */
  uint32_t *switches; /* by region: Switches and Merges of the graph that its node stands for */
} flattener;

/* ---- sections ---- */

uint32_t hiaG_flat_slot(hia_flat_section *s, uint32_t slot) {
  hia_flat_slot *slots = s->slots.data;
  while (slots[slot].is != slot) slot = slots[slot].is = slots[slots[slot].is].is;
  return slot;
}

static uint32_t new_slot(flattener *f, hia_flat_section *s, uint32_t region, hia_type type) {
  uint32_t i = s->slots.len;
  hiaR_push(f->scratch, &s->slots,
            (hia_flat_slot){.is = i, .region = region, .number = HIA_NONE, .type = type});
  return i;
}

static uint32_t const_slot(flattener *f, hia_flat_section *s, hia_word word) {
  uint32_t hash = hiaR_hash(&word, sizeof word), at = hash, i;
  while ((i = hiaR_index_next(&s->consts, hash, &at)) != HIA_NONE)
    if (s->slots.data[i].word == word) return i;
  uint32_t slot = new_slot(f, s, HIA_NONE, HIA_NONE);
  hiaR_index_add(f->scratch, &s->consts, hash, slot);
  s->slots.data[slot].is_const = true;
  s->slots.data[slot].word = word;
  return slot;
}

static hia_flat_section *new_section(flattener *f, const char *name) {
  hia_flat_section *s = HIA_NEW(f->scratch, hia_flat_section);
  s->name = name;
  s->cond = s->round = HIA_NONE;
  hiaR_push(f->scratch, &s->regions, (hia_flat_region){.parent = HIA_NONE, .node = HIA_NONE});
  return s;
}

/* ---- nodes ---- */

static context *here(flattener *f) { return &f->open.data[f->open.len - 1]; }

static hia_flat_node *add_node(flattener *f, hia_image_kind kind, hia_loc_id loc) {
  context *c = here(f);
  hiaR_push(f->scratch, &c->section->nodes,
            (hia_flat_node){.kind = (uint8_t)kind, .region = c->local, .loc = loc});
  return &c->section->nodes.data[c->section->nodes.len - 1];
}

static uint32_t last_node(flattener *f) { return here(f)->section->nodes.len - 1; }

/* Appends the sources of `n` values to the pool, and returns where; *n becomes their number. A node
 * waits for at most MAX_SOURCES sources; JOINs before it gather more. */
enum { MAX_SOURCES = 200 };
static uint32_t push_sources(flattener *f, const uint32_t *sources, uint32_t *n) {
  hia_flat_section *s = here(f)->section;
  hia_u32vec todo = {0};
  for (uint32_t i = 0; i < *n; i++)
    if (sources[i] != NO_SOURCE) hiaR_push(f->scratch, &todo, sources[i]);
  while (todo.len > MAX_SOURCES) {
    uint32_t len = 0;
    for (uint32_t i = 0; i < todo.len; i += MAX_SOURCES) {
      uint32_t part = todo.len - i < MAX_SOURCES ? todo.len - i : MAX_SOURCES, at = s->pool.len;
      for (uint32_t k = 0; k < part; k++) hiaR_push(f->scratch, &s->pool, todo.data[i + k]);
      hia_flat_node *join = add_node(f, HIA_KIND_JOIN, HIA_NONE);
      join->sources = at, join->n_sources = part;
      todo.data[len++] = last_node(f);
    }
    todo.len = len;
  }
  uint32_t at = s->pool.len;
  for (uint32_t i = 0; i < todo.len; i++) hiaR_push(f->scratch, &s->pool, todo.data[i]);
  *n = todo.len;
  return at;
}

static void add_read(flattener *f, uint32_t slot, uint32_t node) {
  hiaR_push(f->scratch, &here(f)->reads, (reading){slot, node});
}

/* Adds a node. Its operands are given by slots and sources. Its results get slots when they are
 * known: put_result. */
static uint32_t add(flattener *f, hia_image_kind kind, const uint32_t *slots, uint32_t n_ins,
                    const uint32_t *sources, uint32_t n_sources, hia_loc_id loc) {
  hia_flat_section *s = here(f)->section;
  uint32_t source_at = push_sources(f, sources, &n_sources);
  hia_flat_node *node = add_node(f, kind, loc);
  node->sources = source_at, node->n_sources = n_sources;
  node->ins = s->pool.len, node->n_ins = n_ins;
  for (uint32_t i = 0; i < n_ins; i++) hiaR_push(f->scratch, &s->pool, slots[i]);
  node->outs = s->pool.len;
  uint32_t index = last_node(f);
  for (uint32_t i = 0; i < n_ins; i++)
    if (s->slots.data[hiaG_flat_slot(s, slots[i])].is_set) add_read(f, slots[i], index);
  return index;
}

/* Value v is in a slot of its own. */
static void own_slot(flattener *f, hia_value_id v, uint32_t region) {
  hia_flat_section *s = here(f)->section;
  f->slot[v] = new_slot(f, s, region, hiaG_type(f->fn, v));
  s->slots.data[f->slot[v]].is_set = f->is_set[v];
}

/* Value v is the next result of the node that was added last. */
static void put_result(flattener *f, hia_value_id v) {
  hia_flat_section *s = here(f)->section;
  own_slot(f, v, here(f)->local);
  f->source[v] = last_node(f);
  hiaR_push(f->scratch, &s->pool, f->slot[v]);
  s->nodes.data[last_node(f)].n_outs++;
}

static void put_results(flattener *f, const hia_node *n) {
  for (uint32_t i = 0; i < n->n_outs; i++) put_result(f, n->outs + i);
}

static hia_flat_node *node_at(flattener *f, uint32_t i) { return &here(f)->section->nodes.data[i]; }

static void alias(flattener *f, hia_value_id v, hia_value_id of) {
  f->slot[v] = f->slot[of];
  f->source[v] = f->source[of];
}

/* The number of a constructor among all of the table of types. */
static uint32_t ctor_number(const flattener *f, hia_type data, uint64_t ctor) {
  return f->image->g->types->entries.data[data - HIA_FIRST_TYPE].first + (uint32_t)ctor;
}

static uint32_t kernel_number(flattener *f, const hia_node *n, hia_node_id id) {
  hia_dtype dtype = hiaG_node_dtype(f->image->g, f->fn, id);
  uint32_t *kernel = &f->image->kernel_of[n->op][dtype];
  if (!*kernel) {
    hiaR_push(f->scratch, &f->image->kernels, (hia_image_kernel){n->op, (uint8_t)dtype, 0});
    *kernel = f->image->kernels.len;
  }
  return *kernel - 1;
}

/* A SET waits for all that reads its array before, so that it can change the array in place. So
 * does a MOVE of the array, to take it to where another SET may change it. */
static void wait_for_reads(flattener *f, uint32_t slot, hia_u32vec *sources) {
  hia_flat_section *s = here(f)->section;
  slot = hiaG_flat_slot(s, slot);
  for (uint32_t i = f->open.len; i-- > 0 && f->open.data[i].section == s;) {
    const readings *reads = &f->open.data[i].reads;
    for (uint32_t k = 0; k < reads->len; k++)
      if (hiaG_flat_slot(s, reads->data[k].slot) == slot)
        hiaR_push(f->scratch, sources, reads->data[k].node);
  }
}

/* What node `id` becomes in the image, with what belongs to the kind. */
static hia_flat_node image_node(flattener *f, const hia_node *n, hia_node_id id) {
  hia_type type = n->n_ins ? hiaG_type(f->fn, hiaG_in(f->fn, id, 0)) : HIA_NONE;
  switch (n->op) {
  case HIA_OP_COUNT: return (hia_flat_node){.kind = HIA_KIND_COUNT, .what = (uint32_t)n->imm};
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

static void add_op(flattener *f, const hia_node *n, hia_node_id id) {
  hia_u32vec slots = {0}, sources = {0};
  hia_flat_node is = image_node(f, n, id);
  for (uint32_t i = 0; i < n->n_ins && is.kind != HIA_KIND_COUNT; i++) {
    hia_value_id v = hiaG_in(f->fn, id, i);
    hiaR_push(f->scratch, &slots, f->slot[v]);
    hiaR_push(f->scratch, &sources, f->source[v]);
  }
  bool is_set = n->op == HIA_OP_SET || n->op == HIA_OP_WITH;
  if (is_set) wait_for_reads(f, slots.data[0], &sources);
  uint32_t index = add(f, is.kind, slots.data, slots.len, sources.data, sources.len, n->loc);
  hia_flat_node *node = node_at(f, index);
  node->what = is.what;
  node->imm = is.imm;
  node->is_set = is_set;
  /* These only look at their operands. */
  node->is_lent = n->op == HIA_OP_PACK || n->op == HIA_OP_WORK || n->op == HIA_OP_ALIKE ||
                  n->op == HIA_OP_TRAP || hiaR_takes_sum(n->op);
  node->weight = 1;
  if (n->op != HIA_OP_FAIL) {
    put_results(f, n);
    return;
  }
  /* Its results have slots, which are never written, and it as their source, which never sends. */
  for (uint32_t i = 0; i < n->n_outs; i++) {
    hia_value_id v = n->outs + i;
    f->slot[v] = new_slot(f, here(f)->section, here(f)->local, hiaG_type(f->fn, v));
    f->source[v] = index;
  }
}

/* Reads of fields of one value in one region are one node, at the first of them. */
static void add_fields(flattener *f, const hia_node *n, hia_node_id id) {
  if (f->slot[n->outs] != HIA_NONE) return;
  hia_value_id v = hiaG_in(f->fn, id, 0);
  uint32_t ctor = ctor_number(f, hiaG_type(f->fn, v), HIA_IMM_A(n->imm));
  bool is_set = f->image->g->types->ctors.data[ctor].layout.n <= HIA_MAX_FIELD_SET;
  uint32_t index = add(f, HIA_KIND_FIELD, &f->slot[v], 1, &f->source[v], 1, n->loc), weight = 0;
  hia_value_id out[HIA_MAX_FIELD_SET];
  uint64_t words = 0;
  for (hia_node_id i = id; i != HIA_NONE; i = is_set ? f->next_field[i] : HIA_NONE) {
    const hia_node *read = &f->fn->nodes.data[i];
    uint32_t word = is_set ? HIA_IMM_B(read->imm) : 0;
    if (!(words >> word & 1)) out[word] = read->outs;
    words |= (uint64_t)1 << word;
    weight++;
  }
  for (uint64_t left = words; left; left &= left - 1) put_result(f, out[__builtin_ctzll(left)]);
  for (hia_node_id i = id; i != HIA_NONE; i = is_set ? f->next_field[i] : HIA_NONE) {
    const hia_node *read = &f->fn->nodes.data[i];
    alias(f, read->outs, out[is_set ? HIA_IMM_B(read->imm) : 0]);
  }
  hia_flat_node *node = node_at(f, index);
  node->what = ctor;
  node->imm = is_set ? words : HIA_IMM_B(n->imm);
  node->weight = weight;
}

/* The section that calls a function of the host, and does nothing else. */
static uint32_t host_section(flattener *f, uint32_t number) {
  hia_flat_image *image = f->image;
  if (image->host_section[number]) return image->host_section[number] - 1;
  const hia_extern *e = &image->g->externs.data[number];
  hia_flat_section *s = new_section(f, e->name);
  hia_flat_node call = {.kind = HIA_KIND_HOST,
                        .what = number,
                        .loc = HIA_NONE,
                        .n_ins = e->n_params,
                        .outs = e->n_params,
                        .n_outs = e->n_results};
  s->n_params = e->n_params;
  for (uint32_t i = 0; i < e->n_params; i++)
    hiaR_push(f->scratch, &s->pool, new_slot(f, s, HIA_NONE, e->params[i]));
  for (uint32_t i = 0; i < e->n_results; i++) {
    uint32_t slot = new_slot(f, s, 0, e->results[i]);
    hiaR_push(f->scratch, &s->pool, slot);
    hiaR_push(f->scratch, &s->results, slot);
  }
  hiaR_push(f->scratch, &s->nodes, call);
  hiaR_push(f->scratch, &image->sections, s);
  return (image->host_section[number] = image->sections.len) - 1;
}

/* A call of a function of the host is a call of a section. So it has the order of calls: within a
 * frame, all nodes that do not call fire first. */
static void add_host(flattener *f, const hia_node *n, hia_node_id id) {
  hia_u32vec slots = {0}, sources = {0};
  for (uint32_t i = 0; i < n->n_ins; i++) {
    hia_value_id v = hiaG_in(f->fn, id, i);
    hiaR_push(f->scratch, &slots, f->slot[v]);
    hiaR_push(f->scratch, &sources, f->source[v]);
  }
  uint32_t section = host_section(f, (uint32_t)n->imm);
  uint32_t index = add(f, HIA_KIND_CALL, slots.data, slots.len, sources.data, slots.len, n->loc);
  node_at(f, index)->what = section;
  node_at(f, index)->weight = 1;
  put_results(f, n);
}

/* Adds the CALL for all Call_i and Return_i of a site, when the walk meets the first Call_i. */
static void add_call(flattener *f, const hia_node *n, hia_node_id id) {
  const hia_site *site = &f->image->g->sites.data[HIA_IMM_A(n->imm)];
  if (site->calls != id) return;
  hia_u32vec slots = {0}, sources = {0};
  for (uint32_t i = 0; i < site->n_calls; i++) {
    if (f->fn->nodes.data[site->calls + i].n_ins == 0) continue; /* the control token */
    hia_value_id v = hiaG_in(f->fn, site->calls + i, 0);
    hiaR_push(f->scratch, &slots, f->slot[v]);
    hiaR_push(f->scratch, &sources, f->source[v]);
  }
  uint32_t index = add(f, HIA_KIND_CALL, slots.data, slots.len, sources.data, slots.len, site->loc);
  hia_flat_node *node = node_at(f, index);
  node->what = f->image->section_of[site->callee];
  node->is_tail = site->is_tail;
  node->weight = site->n_calls + site->n_returns;
  for (uint32_t i = 0; i < site->n_returns; i++)
    put_result(f, hiaG_out(f->fn, site->returns + i, 0));
}

/* ---- branches ---- */

/* The node that decides the branch to which region r (THEN, ELSE, ROUND) belongs. */
static uint32_t branch_of(flattener *f, hia_region_id r) {
  const hia_region *region = &f->fn->regions.data[r];
  hia_region_id first = region->kind == HIA_REGION_ELSE ? r - 1 : r;
  if (f->branch[first] == HIA_NONE) {
    uint32_t slot = f->slot[region->pred], source = f->source[region->pred];
    f->branch[first] = add(f, HIA_KIND_SWITCH, &slot, 1, &source, 1, HIA_NONE);
    node_at(f, f->branch[first])->weight = f->switches[first];
  }
  return f->branch[first];
}

/* Ends a side of a branch: its operands of the Merges are put into their slots. */
static void end_side(flattener *f, hia_region_id r) {
  uint32_t port = f->fn->regions.data[r].kind == HIA_REGION_ELSE;
  hia_region_id first = r - port;
  for (uint32_t i = f->owned_at[first]; i < f->owned_at[first + 1]; i++) {
    hia_flat_section *s = here(f)->section;
    hia_node_id merge = f->owned[i];
    hia_value_id v = hiaG_in(f->fn, merge, port), out = hiaG_out(f->fn, merge, 0);
    if (f->slot[out] == HIA_NONE) own_slot(f, out, HIA_NONE);
    uint32_t from = hiaG_flat_slot(s, f->slot[v]), to = f->slot[out];
    if (s->slots.data[from].region == here(f)->local && f->source[v] != NO_SOURCE) {
      s->slots.data[from].is = to;
      f->port[2 * i + port] = f->source[v];
      continue;
    }
    /* The value is computed further out, is a constant, or is in the slot of another Merge. */
    unsigned op = hiaG_def(f->fn, v)->op;
    bool is_undef = op == HIA_OP_UNDEF || op == HIA_OP_JOIN;
    uint32_t slot = f->slot[v];
    hia_u32vec sources = {0};
    if (!is_undef) hiaR_push(f->scratch, &sources, f->source[v]);
    if (!is_undef && s->slots.data[from].is_set) wait_for_reads(f, from, &sources);
    uint32_t move = add(f, is_undef ? HIA_KIND_JOIN : HIA_KIND_MOVE, &slot, !is_undef, sources.data,
                        sources.len, HIA_NONE);
    f->port[2 * i + port] = move;
    if (is_undef) continue;
    node_at(f, move)->n_outs = 1;
    hiaR_push(f->scratch, &s->pool, to);
  }
}

/* Adds a JOIN for the node of either side of a branch that comes. */
static uint32_t add_either(flattener *f, uint32_t if_true, uint32_t if_false) {
  hia_flat_section *s = here(f)->section;
  uint32_t at = s->pool.len;
  hiaR_push(f->scratch, &s->pool, if_true);
  hiaR_push(f->scratch, &s->pool, if_false);
  hia_flat_node *join = add_node(f, HIA_KIND_JOIN, HIA_NONE);
  join->is_merge = true;
  join->sources = at, join->n_sources = 2;
  return last_node(f);
}

static void add_merge(flattener *f, const hia_node *n, hia_node_id id) {
  const uint32_t *ports = f->port + 2 * (size_t)f->place[id];
  hia_flat_section *s = here(f)->section;
  add_either(f, ports[0], ports[1]);
  s->slots.data[f->slot[n->outs]].region = here(f)->local;
  f->source[n->outs] = last_node(f);
}

/* ---- reads that come before a SET ----
 *
 * A SET waits for the nodes that read its array before it. For those inside a branch that it is not
 * in it cannot wait, since only one side comes. So at the end of a side a JOIN waits for all that
 * read the slot there, and behind the branch another one for the JOIN of either side. Where no SET
 * waits for them they are left out again (token.c). */

static uint32_t add_join(flattener *f, const uint32_t *sources, uint32_t n) {
  return add(f, HIA_KIND_JOIN, NULL, 0, sources, n, HIA_NONE);
}

/* Adds a JOIN for each slot that the innermost open region reads and that SETs outside may change;
 * the last one waits for control alone. */
static readings join_reads(flattener *f) {
  hia_flat_section *s = here(f)->section;
  readings reads = here(f)->reads, joins = {0};
  for (uint32_t i = 0; i < reads.len; i++) {
    uint32_t slot = hiaG_flat_slot(s, reads.data[i].slot), k = 0;
    if (s->slots.data[slot].region == here(f)->local) continue; /* it is not seen outside */
    while (k < joins.len && joins.data[k].slot != slot) k++;
    if (k < joins.len) continue;
    hia_u32vec nodes = {0};
    for (k = i; k < reads.len; k++)
      if (hiaG_flat_slot(s, reads.data[k].slot) == slot)
        hiaR_push(f->scratch, &nodes, reads.data[k].node);
    hiaR_push(f->scratch, &joins, (reading){slot, add_join(f, nodes.data, nodes.len)});
  }
  hiaR_push(f->scratch, &joins, (reading){HIA_NONE, add_join(f, NULL, 0)});
  return joins;
}

/* The index of the JOIN for a slot; of that for control if there is none. */
static uint32_t join_of(const readings *joins, uint32_t slot) {
  uint32_t i = 0;
  while (i + 1 < joins->len && joins->data[i].slot != slot) i++;
  return i;
}

/* Behind a branch: what its sides have read counts as read here. */
static void join_sides(flattener *f, const readings *then, const readings *otherwise) {
  for (uint32_t i = 0; i + 1 < then->len; i++) {
    uint32_t k = join_of(otherwise, then->data[i].slot);
    add_read(f, then->data[i].slot, add_either(f, then->data[i].node, otherwise->data[k].node));
  }
  for (uint32_t i = 0; i + 1 < otherwise->len; i++) {
    uint32_t slot = otherwise->data[i].slot, k = join_of(then, slot);
    if (k + 1 == then->len)
      add_read(f, slot, add_either(f, then->data[k].node, otherwise->data[i].node));
  }
}

/* ---- loops ---- */

static void add_enter(flattener *f, const hia_node *n, hia_node_id id) {
  hia_region_id head = HIA_IMM_A(n->imm);
  hia_value_id v = hiaG_in(f->fn, id, 0);
  if (head == f->only_loop) {
    here(f)->section->weight++;
    alias(f, n->outs, v);
    return;
  }
  if (!f->loop[head]) f->loop[head] = new_section(f, f->fn->name);
  hia_flat_section *s = f->loop[head];
  f->slot[n->outs] = new_slot(f, s, HIA_NONE, hiaG_type(f->fn, n->outs));
  s->slots.data[f->slot[n->outs]].is_set = f->is_set[n->outs];
  f->source[n->outs] = NO_SOURCE;
  s->n_params++;
  hiaR_push(f->scratch, &f->enters[head], v);
}

/* True if only the variable uses the slot of its initial value. */
static bool is_free(const flattener *f, hia_value_id enter) {
  if (f->uses[enter] != 1) return false;
  if (HIA_IMM_A(hiaG_def(f->fn, enter)->imm) != f->only_loop) return true; /* a parameter */
  hia_value_id v = hiaG_in(f->fn, f->fn->values.data[enter].node, 0);
  return hiaG_def(f->fn, v)->op == HIA_OP_MERGE_ENTRY && f->uses[v] == 1;
}

static void add_loop_merge(flattener *f, const hia_node *n, hia_node_id id) {
  hia_flat_section *s = here(f)->section;
  hia_value_id enter = hiaG_in(f->fn, id, 0);
  alias(f, n->outs, enter);
  if (!is_free(f, enter)) {
    own_slot(f, n->outs, HIA_NONE);
    hiaR_push(f->scratch, &s->enter, f->slot[enter]);
    hiaR_push(f->scratch, &s->enter, f->slot[n->outs]);
  }
  s->slots.data[f->slot[n->outs]].is_set |= f->is_set[n->outs];
  hiaR_push(f->scratch, &f->variables[here(f)->region], id);
  s->regions.data[here(f)->local].weight++;
}

static void add_next(flattener *f, const hia_node *n, hia_node_id id) {
  alias(f, n->outs, hiaG_in(f->fn, id, 0));
  here(f)->section->regions.data[here(f)->local].weight++;
}

/* The moves between rounds: the next value of each variable into its slot. */
static void end_loop(flattener *f, hia_region_id head) {
  hia_flat_section *s = here(f)->section;
  for (uint32_t i = 0; i < f->variables[head].len; i++) {
    hia_node_id merge = f->variables[head].data[i];
    hiaR_push(f->scratch, &s->next, f->slot[hiaG_in(f->fn, merge, 1)]);
    hiaR_push(f->scratch, &s->next, f->slot[hiaG_out(f->fn, merge, 0)]);
  }
}

static void add_exit(flattener *f, const hia_node *n, hia_node_id id) {
  hia_value_id v = hiaG_in(f->fn, id, 0);
  if ((hia_region_id)n->imm == f->only_loop) {
    here(f)->section->weight++;
    alias(f, n->outs, v);
    return;
  }
  hiaR_push(f->scratch, &f->loop[(hia_region_id)n->imm]->results, f->slot[v]);
}

/* Adds the loop as a CALL to the section that it stands in, when the walk reaches its HEAD. */
static void begin_loop(flattener *f, hia_region_id head) {
  if (!f->loop[head]) f->loop[head] = new_section(f, f->fn->name);
  hia_flat_section *s = f->loop[head];
  s->flags = HIA_SECTION_ITERATES;
  hia_u32vec slots = {0}, sources = {0}, *enters = &f->enters[head];
  for (uint32_t i = 0; i < enters->len; i++) {
    hiaR_push(f->scratch, &slots, f->slot[enters->data[i]]);
    hiaR_push(f->scratch, &sources, f->source[enters->data[i]]);
  }
  uint32_t first = f->owned_at[head], n_exits = f->owned_at[head + 1] - first;
  uint32_t index = add(f, HIA_KIND_LOOP, slots.data, slots.len, sources.data, slots.len, HIA_NONE);
  hia_flat_node *node = node_at(f, index);
  node->what = f->image->sections.len;
  node->weight = enters->len + n_exits;
  for (uint32_t i = 0; i < n_exits; i++) put_result(f, hiaG_out(f->fn, f->owned[first + i], 0));
  hiaR_push(f->scratch, &f->image->sections, s);
}

/* ---- the walk ---- */

static void open_region(flattener *f, hia_region_id r) {
  const hia_region *region = &f->fn->regions.data[r];
  hia_flat_section *s = here(f)->section;
  uint32_t local = 0;
  if (region->kind == HIA_REGION_HEAD) {
    if (r == f->only_loop)
      s->flags = HIA_SECTION_ITERATES;
    else {
      begin_loop(f, r);
      s = f->loop[r];
    }
  } else {
    uint32_t branch = branch_of(f, r);
    local = s->regions.len;
    if (region->kind == HIA_REGION_ROUND) s->cond = f->slot[region->pred], s->round = local;
    hiaR_push(f->scratch, &s->regions,
              (hia_flat_region){.parent = here(f)->local,
                                .node = branch,
                                .side = region->kind == HIA_REGION_ELSE,
                                .first = s->nodes.len});
  }
  hiaR_push(f->scratch, &f->open,
            (context){.region = r, .section = s, .local = local, .child = f->order_at[r]});
}

static void close_region(flattener *f) {
  context c = *here(f);
  unsigned kind = f->fn->regions.data[c.region].kind;
  readings reads = {0};
  if (kind == HIA_REGION_THEN || kind == HIA_REGION_ELSE) {
    end_side(f, c.region);
    if (f->has_sets) reads = join_reads(f);
  }
  if (kind == HIA_REGION_HEAD) end_loop(f, c.region);
  if (c.local) c.section->regions.data[c.local].last = c.section->nodes.len;
  f->open.len--;
  if (kind == HIA_REGION_THEN) here(f)->then = reads;
  if (kind == HIA_REGION_ELSE && f->has_sets) join_sides(f, &here(f)->then, &reads);
}

/* It takes no part in firing. An index that is computed in the section may not be there yet when a
 * node fails; that of a loop is a variable. */
static void add_element(flattener *f, hia_node_id id) {
  hia_value_id k = hiaG_in(f->fn, id, 0);
  hia_flat_section *s = here(f)->section;
  if (f->source[k] != NO_SOURCE) return;
  hiaR_push(f->scratch, &s->elements, (hia_flat_element){here(f)->local, f->slot[k], s->nodes.len});
}

static void visit(flattener *f, hia_node_id id) {
  const hia_node *n = &f->fn->nodes.data[id];
  hia_flat_section *s = here(f)->section;
  switch (n->op) {
  case HIA_OP_CONST:
  case HIA_OP_UNDEF:
    f->slot[n->outs] = const_slot(f, s, n->op == HIA_OP_CONST ? n->imm : 0);
    f->source[n->outs] = NO_SOURCE;
    break;
  /* Forks are never taken: the interpreter finds independent nodes by itself. */
  case HIA_OP_FORK: break;
  case HIA_OP_STOLEN:
  case HIA_OP_JOIN:
    for (uint32_t i = 0; i < n->n_outs; i++) {
      f->slot[n->outs + i] = const_slot(f, s, hiaR_from_bool(false));
      f->source[n->outs + i] = NO_SOURCE;
    }
    break;
  case HIA_OP_ELEMENT: add_element(f, id); break;
  case HIA_OP_MERGE_ENTRY:
    f->slot[n->outs] = (uint32_t)n->imm;
    f->source[n->outs] = NO_SOURCE;
    s->slots.data[n->imm].is_set = f->is_set[n->outs];
    s->weight++;
    break;
  case HIA_OP_SWITCH:
    alias(f, n->outs, hiaG_in(f->fn, id, 0));
    alias(f, n->outs + 1, hiaG_in(f->fn, id, 0));
    break;
  case HIA_OP_MERGE: add_merge(f, n, id); break;
  case HIA_OP_ENTER: add_enter(f, n, id); break;
  case HIA_OP_MERGE_LOOP: add_loop_merge(f, n, id); break;
  case HIA_OP_NEXT: add_next(f, n, id); break;
  case HIA_OP_EXIT: add_exit(f, n, id); break;
  case HIA_OP_CALL_I: add_call(f, n, id); break;
  case HIA_OP_HOST: add_host(f, n, id); break;
  case HIA_OP_FIELD: add_fields(f, n, id); break;
  case HIA_OP_RETURN_I: break; /* with its Call_i */
  case HIA_OP_YIELD:
    for (uint32_t i = 0; i < n->n_ins; i++)
      hiaR_push(f->scratch, &s->results, f->slot[hiaG_in(f->fn, id, i)]);
    break;
  default: add_op(f, n, id); break;
  }
}

static void walk(flattener *f) {
  hiaR_push(f->scratch, &f->open,
            (context){.section = f->image->sections.data[f->image->section_of[f->id]],
                      .child = f->order_at[0]});
  for (hia_node_id i = 0; f->open.len;) {
    context *c = here(f);
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

typedef struct place {
  hia_region_id parent, region;
  hia_node_id first, last;
} place;

static int by_place(const void *a, const void *b) {
  const place *x = a, *y = b;
  if (x->parent != y->parent) return x->parent < y->parent ? -1 : 1;
  if (x->first != y->first) return x->first < y->first ? -1 : 1;
  if (x->last != y->last) return x->last < y->last ? -1 : 1;
  return x->region < y->region ? -1 : x->region > y->region;
}

/* Orders the regions inside each region as the walk meets them; an empty one comes before others
 * that begin at the same place. */
static void order_regions(flattener *f) {
  uint32_t n = f->fn->regions.len;
  place *places = HIA_NEW_ARRAY(f->scratch, place, n);
  f->order_at = HIA_NEW_ARRAY(f->scratch, uint32_t, n + 2);
  for (hia_region_id r = 1; r < n; r++) {
    const hia_region *region = &f->fn->regions.data[r];
    places[r - 1] = (place){region->parent, r, region->first, region->last};
    f->order_at[region->parent + 1]++;
  }
  for (uint32_t r = 0; r <= n; r++) f->order_at[r + 1] += f->order_at[r];
  if (n > 1) qsort(places, n - 1, sizeof *places, by_place);
  f->order = HIA_NEW_ARRAY(f->scratch, hia_region_id, n);
  for (uint32_t i = 0; i + 1 < n; i++) f->order[i] = places[i].region;
}

static bool is_owned(const hia_node *n) { return n->op == HIA_OP_MERGE || n->op == HIA_OP_EXIT; }

/* Collects, by region, what the walk must know before it gets there. */
static void look_ahead(flattener *f) {
  uint32_t n_nodes = f->fn->nodes.len, n_regions = f->fn->regions.len;
  f->owned_at = HIA_NEW_ARRAY(f->scratch, uint32_t, n_regions + 2);
  f->switches = HIA_NEW_ARRAY(f->scratch, uint32_t, n_regions);
  f->place = HIA_NEW_ARRAY(f->scratch, uint32_t, n_nodes);
  f->uses = HIA_NEW_ARRAY(f->scratch, uint32_t, f->fn->values.len);
  uint32_t n_owned = 0;
  for (hia_node_id i = 0; i < n_nodes; i++) {
    const hia_node *n = &f->fn->nodes.data[i];
    if (is_owned(n)) f->owned_at[(hia_region_id)n->imm + 2]++, n_owned++;
    if (n->op == HIA_OP_MERGE || n->op == HIA_OP_SWITCH) f->switches[(hia_region_id)n->imm]++;
    for (uint32_t k = 0; k < n->n_ins; k++) f->uses[hiaG_in(f->fn, i, k)]++;
  }
  for (uint32_t r = 2; r < n_regions + 2; r++) f->owned_at[r] += f->owned_at[r - 1];
  f->owned = HIA_NEW_ARRAY(f->scratch, hia_node_id, n_owned);
  f->port = HIA_NEW_ARRAY(f->scratch, uint32_t, 2 * (size_t)n_owned);
  for (hia_node_id i = 0; i < n_nodes; i++) {
    const hia_node *n = &f->fn->nodes.data[i];
    if (!is_owned(n)) continue;
    f->place[i] = f->owned_at[(hia_region_id)n->imm + 1]++;
    f->owned[f->place[i]] = i;
  }
}

static uint32_t *new_none(flattener *f, uint32_t n) {
  uint32_t *a = HIA_NEW_ARRAY(f->scratch, uint32_t, n);
  memset(a, 0xff, n * sizeof *a);
  return a;
}

/* Finds the values that a SET changes, in place perhaps, and those that become such values. */
static void find_sets(flattener *f) {
  f->is_set = HIA_NEW_ARRAY(f->scratch, bool, f->fn->values.len);
  for (hia_node_id i = f->fn->nodes.len; i-- > 0;) {
    const hia_node *n = &f->fn->nodes.data[i];
    bool is_set = n->op == HIA_OP_SET || n->op == HIA_OP_WITH;
    f->has_sets |= is_set;
    if (n->op == HIA_OP_SWITCH) is_set = f->is_set[n->outs] || f->is_set[n->outs + 1];
    if (n->op == HIA_OP_MERGE) is_set = f->is_set[n->outs];
    if (!is_set) continue;
    f->is_set[hiaG_in(f->fn, i, 0)] = true;
    if (n->op == HIA_OP_MERGE) f->is_set[hiaG_in(f->fn, i, 1)] = true;
  }
}

static void find_fields(flattener *f) {
  uint32_t *last = new_none(f, f->fn->values.len); /* by value: the last FIELD of it */
  f->next_field = new_none(f, f->fn->nodes.len);
  for (hia_node_id i = 0; i < f->fn->nodes.len; i++) {
    const hia_node *n = &f->fn->nodes.data[i];
    if (n->op != HIA_OP_FIELD) continue;
    uint32_t *before = &last[hiaG_in(f->fn, i, 0)];
    const hia_node *b = *before == HIA_NONE ? NULL : &f->fn->nodes.data[*before];
    if (b && b->region == n->region && HIA_IMM_A(b->imm) == HIA_IMM_A(n->imm))
      f->next_field[*before] = i;
    *before = i;
  }
}

/* The HEAD of the only loop of a function that passes its arguments to the loop and returns the
 * loop's exits; else NONE. */
static hia_region_id only_loop(const hia_fn *fn) {
  hia_region_id loop = HIA_NONE;
  for (hia_region_id r = 1; r < fn->regions.len; r++)
    if (fn->regions.data[r].parent == 0) {
      if (fn->regions.data[r].kind != HIA_REGION_HEAD || loop != HIA_NONE) return HIA_NONE;
      loop = r;
    }
  for (hia_node_id i = 0; i < fn->nodes.len; i++) {
    if (fn->nodes.data[i].region != 0) continue;
    switch (fn->nodes.data[i].op) {
    case HIA_OP_MERGE_ENTRY:
    case HIA_OP_CONST:
    case HIA_OP_UNDEF:
    case HIA_OP_ENTER:
    case HIA_OP_EXIT:
    case HIA_OP_YIELD: break;
    default: return HIA_NONE;
    }
  }
  return loop;
}

static void flatten_fn(hia_flat_image *image, hia_fn_id id) {
  const hia_fn *fn = hiaG_fn(image->g, id);
  flattener f = {.image = image, .scratch = image->scratch, .fn = fn, .id = id};
  uint32_t n_values = fn->values.len, n_regions = fn->regions.len;
  f.slot = new_none(&f, n_values);
  f.source = new_none(&f, n_values);
  f.branch = new_none(&f, n_regions);
  f.loop = HIA_NEW_ARRAY(f.scratch, hia_flat_section *, n_regions);
  f.enters = HIA_NEW_ARRAY(f.scratch, hia_u32vec, n_regions);
  f.variables = HIA_NEW_ARRAY(f.scratch, hia_u32vec, n_regions);
  f.only_loop = only_loop(fn);
  hia_flat_section *s = image->sections.data[image->section_of[id]];
  s->n_params = fn->n_params;
  for (uint32_t i = 0; i < fn->n_params; i++) new_slot(&f, s, HIA_NONE, fn->params[i]);
  order_regions(&f);
  look_ahead(&f);
  find_sets(&f);
  find_fields(&f);
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
  flattener f = {.scratch = scratch};
  HIA_EACH_FN(g, id) {
    image->section_of[id] = image->sections.len;
    hiaR_push(scratch, &image->sections, new_section(&f, hiaG_fn(g, id)->name));
  }
  HIA_EACH_FN(g, id) flatten_fn(image, id);
  for (uint32_t i = 0; i < image->sections.len; i++) {
    hiaG_flatten_tokens(image, image->sections.data[i]);
    hiaG_flatten_takes(image, image->sections.data[i]);
  }
  hiaG_flatten_write(image, bytes, size);
  hiaR_arena_release(scratch, mark);
}
