/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Sizes of tensors that are constant in all runs, across calls. graph/analysis/sizes.c finds those
 * within one function, from those of parameters and of results of calls. So it is run a few times
 * over all functions: what one time has found is where the next one starts. */
#include "graph/ir/walk.h"
#include "graph/scalars/scalars.h"

enum { TIMES = 3 };

/* What is known of a parameter or a result, in all calls that were seen. */
typedef struct known {
  bool is_seen;
  int64_t dims[HIA_MAX_RANK]; /* -1: not constant */
} known;

typedef struct finding {
  hia_scalars *s;
  known **params, **results; /* by function */
} finding;

/* ---- what one value has ---- */

uint32_t hiaG_scalars_count(const hia_dims *shape) {
  uint32_t n = 1;
  for (uint32_t k = 0; k < shape->rank; k++) n *= (uint32_t)shape->dims[k];
  return n;
}

bool hiaG_scalars_shape(const hia_scalars *s, hia_fn_id f, hia_value_id v, hia_dims *shape) {
  const hia_fn *fn = hiaG_fn(s->g, f);
  *shape = (hia_dims){0};
  if (hiaG_is_scalar(hiaG_type(fn, v))) return true;
  if (!hiaG_is_tensor(s->g, fn, v)) return false;
  const hia_value_sizes *sizes = &s->fns[f].sizes[v];
  shape->rank = hiaG_rank(s->g->types, hiaG_type(fn, v));
  uint64_t n = hiaG_sizes_elements(&s->s, sizes, shape->rank);
  if (n < 1 || n > HIA_SCALARS_ELEMENTS) return false;
  for (uint32_t k = 0; k < shape->rank; k++)
    shape->dims[k] = hiaG_size_number(&s->s, sizes->axes[k]);
  return true;
}

int64_t hiaG_scalars_integer(const hia_scalars *s, hia_fn_id f, hia_value_id v) {
  hia_word word;
  if (hiaG_is_const(hiaG_fn(s->g, f), v, &word))
    return hiaR_to_i64(word) < 0 ? -1 : hiaR_to_i64(word);
  hia_size size = s->fns[f].sizes[v].integer;
  return size == HIA_NONE ? -1 : hiaG_size_number(&s->s, size);
}

/* ---- regions ---- */

static void enter(hia_scalars *s, const hia_fn *fn, hia_scalars_region *regions, hia_region_id r,
                  hia_u32vec *order) {
  const hia_region *region = &fn->regions.data[r];
  const hia_scalars_region *outer = region->parent == HIA_NONE ? NULL : &regions[region->parent];
  regions[r].first = regions[r].last = order->len;
  regions[r].depth = outer ? outer->depth + 1 : 0;
  regions[r].loop = region->kind == HIA_REGION_HEAD ? r : outer ? outer->loop : HIA_NONE;
  hiaR_push(s->arena, order, r);
}

/* Numbers regions in the order of a walk. An ELSE, or a ROUND, comes behind all that is in the
 * region before it; a ROUND is in its HEAD. */
static void find_regions(hia_scalars *s, hia_fn_id f) {
  const hia_fn *fn = hiaG_fn(s->g, f);
  hia_scalars_region *regions = HIA_NEW_ARRAY(s->arena, hia_scalars_region, fn->regions.len);
  hia_region_id now = HIA_NONE;
  hia_u32vec order = {0};
  HIA_EACH_NODE(fn, n) {
    hia_region_id r = fn->nodes.data[n].region;
    bool is_first = fn->nodes.data[n].prev == HIA_NONE;
    if (is_first && r != now) enter(s, fn, regions, r, &order);
    now = r;
  }
  for (uint32_t i = order.len; i-- > 1;) {
    hia_scalars_region *outer = &regions[fn->regions.data[order.data[i]].parent];
    if (outer->last < regions[order.data[i]].last) outer->last = regions[order.data[i]].last;
  }
  s->fns[f].regions = regions;
}

/* ---- functions ---- */

static uint32_t rank_of(const finding *f, hia_type type) {
  return hiaG_type_kind(f->s->g->types, type) == HIA_KIND_TENSOR ? hiaG_rank(f->s->g->types, type)
                                                                 : 0;
}

/* What a value of function `id` has, is what the word has. */
static void add(finding *f, known *k, hia_fn_id id, hia_type type, hia_value_id v) {
  const hia_size *axes = f->s->fns[id].sizes[v].axes;
  for (uint32_t i = rank_of(f, type); i-- > 0;) {
    int64_t size = axes ? hiaG_size_number(&f->s->s, axes[i]) : -1;
    if (!k->is_seen)
      k->dims[i] = size;
    else if (k->dims[i] != size)
      k->dims[i] = -1;
  }
  k->is_seen = true;
}

static void seed(finding *f, hia_value_sizes *sizes, hia_type type, const known *k) {
  uint32_t rank = rank_of(f, type);
  if (!rank || !k->is_seen) return;
  sizes->axes = HIA_NEW_ARRAY(f->s->arena, hia_size, rank);
  for (uint32_t i = 0; i < rank; i++) sizes->axes[i] = hiaG_size_or_new(&f->s->s, k->dims[i]);
}

/* A field has the sizes that its constructor declares: whoever makes an object of one checks them.
 */
static void seed_field(finding *f, const hia_fn *fn, hia_node_id n, hia_value_sizes *sizes) {
  const hia_node *node = &fn->nodes.data[n];
  const hia_type_table types = hiaG_type_table(f->s->g->types);
  const hia_ctor *ctor = hiaR_ctor(&types, hiaG_type(fn, hiaG_in(fn, n, 0)), HIA_IMM_A(node->imm));
  uint32_t word = HIA_IMM_B(node->imm), at = ctor->sizes;
  known k = {.is_seen = true};
  if (!ctor->n_sizes || !rank_of(f, hiaG_type(fn, node->outs))) return;
  for (uint32_t w = 0; w < word; w++)
    at += hiaR_type_sizes(&types, types.layout_words[ctor->layout.first + w].type);
  for (uint32_t i = 0; i < rank_of(f, hiaG_type(fn, node->outs)); i++)
    k.dims[i] = types.parts[at + i] == HIA_NONE ? -1 : (int64_t)types.parts[at + i];
  seed(f, &sizes[node->outs], hiaG_type(fn, node->outs), &k);
}

/* Passes what is known in a function to its callees' parameters and its results. */
static void propagate(finding *f, hia_fn_id id) {
  const hia_fn *fn = hiaG_fn(f->s->g, id);
  HIA_EACH_NODE(fn, n) {
    const hia_node *node = &fn->nodes.data[n];
    if (node->op == HIA_OP_CALL || node->op == HIA_OP_FORK || node->op == HIA_OP_DEFER)
      for (uint32_t i = 0; i < node->n_ins; i++)
        add(f, &f->params[hiaG_callee(node)][i], id, hiaG_type(fn, hiaG_in(fn, n, i)),
            hiaG_in(fn, n, i));
    if (node->op == HIA_OP_YIELD && node->region == 0)
      for (uint32_t i = 0; i < node->n_ins; i++)
        add(f, &f->results[id][i], id, fn->results[i], hiaG_in(fn, n, i));
  }
}

static void find_in(finding *f, const finding *last, hia_fn_id id) {
  const hia_fn *fn = hiaG_fn(f->s->g, id);
  hia_value_sizes *sizes = f->s->fns[id].sizes = hiaG_sizes_new(&f->s->s, fn);
  HIA_EACH_NODE(fn, n) {
    const hia_node *node = &fn->nodes.data[n];
    for (uint32_t i = 0; i < node->n_outs; i++) {
      bool is_param = node->op == HIA_OP_ARG && node->region == 0;
      bool is_result = node->op == HIA_OP_CALL || node->op == HIA_OP_JOIN;
      const known *k = is_param && !f->s->fns[id].is_closed ? &last->params[id][node->imm]
                       : is_result                          ? &last->results[hiaG_callee(node)][i]
                                                            : NULL;
      if (k) seed(f, &sizes[node->outs + i], hiaG_type(fn, node->outs + i), k);
    }
    if (node->op == HIA_OP_FIELD) seed_field(f, fn, n, sizes);
  }
  hiaG_sizes_find(&f->s->s, fn, sizes);
}

static finding begin(hia_scalars *s) {
  finding f = {.s = s};
  f.params = HIA_NEW_ARRAY(s->arena, known *, s->n + 1);
  f.results = HIA_NEW_ARRAY(s->arena, known *, s->n + 1);
  HIA_EACH_FN_BELOW(s->g, s->n, i) {
    f.params[i] = HIA_NEW_ARRAY(s->arena, known, hiaG_fn(s->g, i)->n_params + 1);
    f.results[i] = HIA_NEW_ARRAY(s->arena, known, hiaG_fn(s->g, i)->n_results + 1);
  }
  return f;
}

/* The shapes of results that are small in all calls. */
static void keep_results(hia_scalars *s, const finding *f) {
  HIA_EACH_FN_BELOW(s->g, s->n, id) {
    const hia_fn *fn = hiaG_fn(s->g, id);
    hia_scalars_fn *facts = &s->fns[id];
    facts->given = HIA_NEW_ARRAY(s->arena, hia_dims, fn->n_results + 1);
    facts->is_given = HIA_NEW_ARRAY(s->arena, bool, fn->n_results + 1);
    for (uint32_t i = 0; i < fn->n_results; i++) {
      const known *k = &f->results[id][i];
      uint64_t n = 1;
      facts->given[i].rank = rank_of(f, fn->results[i]);
      facts->is_given[i] = k->is_seen && facts->given[i].rank;
      for (uint32_t axis = 0; axis < facts->given[i].rank; axis++) {
        facts->given[i].dims[axis] = k->dims[axis];
        if (k->dims[axis] < 1 || k->dims[axis] > HIA_SCALARS_ELEMENTS) n = HIA_SCALARS_ELEMENTS + 1;
        if (n <= HIA_SCALARS_ELEMENTS) n *= (uint64_t)k->dims[axis];
      }
      facts->is_given[i] = facts->is_given[i] && n <= HIA_SCALARS_ELEMENTS;
    }
  }
}

static void find_sizes(hia_scalars *s) {
  finding last = begin(s);
  for (unsigned time = 0; time < TIMES; time++) {
    finding f = begin(s);
    HIA_EACH_FN_BELOW(s->g, s->n, i) find_in(&f, &last, i);
    if (time + 1 == TIMES) break;
    HIA_EACH_FN_BELOW(s->g, s->n, i) propagate(&f, i);
    last = f;
  }
  keep_results(s, &last);
}

/* Functions that something else than calls refers to, and what hosts call, are closed. */
static void find_closed(hia_scalars *s) {
  HIA_EACH_FN_BELOW(s->g, s->n, f) {
    const hia_fn *fn = hiaG_fn(s->g, f);
    s->fns[f].is_left |= fn->rows != NULL;
    s->fns[f].is_closed |= fn->is_root || fn->rows || fn->slow_path != HIA_NONE;
    if (fn->slow_path != HIA_NONE) s->fns[fn->slow_path].is_closed = true;
    if (fn->gradient != HIA_NONE) s->fns[fn->gradient].is_closed = true;
    HIA_EACH_NODE(fn, n) {
      const hia_node *node = &fn->nodes.data[n];
      hia_fn_id called = hiaG_called(s->g, node);
      if (called != HIA_NONE && (s->fns[f].is_left || !hiaG_scalars_calls(node->op)))
        s->fns[called].is_closed = true;
    }
  }
  for (uint32_t i = 0; i < s->g->externs.len; i++)
    if (s->g->externs.data[i].gradient != HIA_NONE)
      s->fns[s->g->externs.data[i].gradient].is_closed = true;
}

void hiaG_scalars_begin(hia_scalars *s, hia_graph *g) {
  *s = (hia_scalars){.g = g, .arena = &g->comp->scratch, .n = g->fns.len};
  s->fns = HIA_NEW_ARRAY(s->arena, hia_scalars_fn, s->n + 1);
  HIA_EACH_FN_BELOW(g, s->n, f) {
    s->fns[f].values = s->n_values;
    s->n_values += hiaG_fn(g, f)->values.len;
  }
  HIA_EACH_FN_BELOW(g, s->n, f) {
    s->fns[f].results = s->n_values;
    s->n_values += hiaG_fn(g, f)->n_results;
  }
  HIA_EACH_FN_BELOW(g, s->n, f) find_regions(s, f);
  find_closed(s);
  hiaG_sizes_init(&s->s, g, s->arena);
  find_sizes(s);
}
