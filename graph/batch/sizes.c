/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Sizes of tensors that are constant in all runs, across functions. graph/analysis/sizes.c finds
 * those within one function, from those of parameters, results of calls and fields. So it is run
 * over all functions again and again; what one time has found is where the next one starts, and
 * what a tensor has in all calls, or in all objects, is what it has. It begins with what no run has
 * had, and ends when nothing changes any more: so the result of a function that only calls itself
 * in one arm is that of its other arms. */
#include "graph/batch/batcher.h"
#include "graph/ir/walk.h"

enum { MAX_TIMES = 16 }; /* after which what may still change is not known */

/* What is known of one word, in all objects that were seen. */
typedef struct known {
  int64_t dims[HIA_MAX_RANK]; /* of a tensor; of an i64 the first. -1: not constant;
                                 HIA_SIZE_NEVER: none was seen */
} known;

typedef struct finding {
  hia_batcher *b;
  known **params, **results; /* by function */
  known *layout_words;       /* by index into types->layout_words */
} finding;

/* ---- what is known of a word ---- */

static uint32_t rank_of(const finding *f, hia_type type) {
  return hiaG_type_kind(f->b->g->types, type) == HIA_KIND_TENSOR ? hiaG_rank(f->b->g->types, type)
                                                                 : 0;
}

static void fill(known *k, uint32_t n, int64_t size) {
  for (uint32_t at = 0; at < n; at++)
    for (uint32_t i = 0; i < HIA_MAX_RANK; i++) k[at].dims[i] = size;
}

static known *new_known(const finding *f, uint32_t n) {
  known *k = HIA_NEW_ARRAY(f->b->arena, known, n + 1);
  fill(k, n, HIA_SIZE_NEVER);
  return k;
}

static void join(int64_t *size, int64_t other) {
  if (other == HIA_SIZE_NEVER) return;
  *size = *size == HIA_SIZE_NEVER || *size == other ? other : -1;
}

/* An i64 that is the size of something; -1: that is not known. */
static int64_t integer_of(const finding *f, const hia_value_sizes *sizes, const hia_fn *fn,
                          hia_value_id v) {
  hia_word word;
  if (hiaG_is_const(fn, v, &word)) return hiaR_to_i64(word) < 0 ? -1 : hiaR_to_i64(word);
  return sizes->integer == HIA_NONE ? -1 : hiaG_size_number(&f->b->s, sizes->integer);
}

/* What a value of function `id` has, is what the word has. */
static void add(finding *f, known *k, hia_fn_id id, hia_type type, hia_value_id v) {
  const hia_batch_fn *fn = &f->b->fns[id];
  uint32_t rank = rank_of(f, type);
  for (uint32_t i = 0; i < rank; i++) {
    const hia_size *axes = fn->sizes[v].axes;
    join(&k->dims[i], axes ? hiaG_size_number(&f->b->s, axes[i]) : -1);
  }
  if (type == HIA_I64) join(&k->dims[0], integer_of(f, &fn->sizes[v], hiaG_fn(f->b->g, id), v));
}

static hia_size size_of(const finding *f, int64_t n) {
  return n == HIA_SIZE_NEVER ? hiaG_size_never(&f->b->s) : hiaG_size_or_new(&f->b->s, n);
}

static void seed(finding *f, hia_value_sizes *sizes, hia_type type, const known *k) {
  uint32_t rank = rank_of(f, type);
  if (type == HIA_I64 && k->dims[0] != -1) sizes->integer = size_of(f, k->dims[0]);
  if (!rank) return;
  sizes->axes = HIA_NEW_ARRAY(f->b->arena, hia_size, rank);
  for (uint32_t i = 0; i < rank; i++) sizes->axes[i] = size_of(f, k->dims[i]);
}

/* ---- layout words ---- */

uint32_t hiaG_batch_word(const hia_graph *g, hia_type type, uint32_t ctor, uint32_t word) {
  const hia_types *types = g->types;
  const hia_type_entry *entry = &types->entries.data[type - HIA_FIRST_TYPE];
  const hia_layout *layout = entry->kind == HIA_KIND_ARRAY
                                 ? &entry->layout
                                 : &types->ctors.data[entry->first + ctor].layout;
  return layout->first + word;
}

uint32_t hiaG_batch_read_word(const hia_graph *g, const hia_fn *fn, hia_node_id n) {
  const hia_node *node = &fn->nodes.data[n];
  if (node->op == HIA_OP_FIELD)
    return hiaG_batch_word(g, hiaG_type(fn, hiaG_in(fn, n, 0)), HIA_IMM_A(node->imm),
                           HIA_IMM_B(node->imm));
  if (node->op == HIA_OP_AT)
    return hiaG_batch_word(g, hiaG_type(fn, hiaG_in(fn, n, 0)), 0, (uint32_t)node->imm);
  return HIA_NONE;
}

void hiaG_batch_stores(const hia_graph *g, const hia_fn *fn, hia_node_id n, hia_batch_store *visit,
                       void *user) {
  const hia_node *node = &fn->nodes.data[n];
  uint32_t first = 0, ctor = 0, width = HIA_NONE;
  hia_type type;
  switch (node->op) {
  case HIA_OP_DATA:
    type = hiaG_type(fn, node->outs);
    ctor = HIA_IMM_A(node->imm);
    break;
  case HIA_OP_ARRAY:
    type = hiaG_type(fn, node->outs);
    width = hiaG_type_words(g->types, hiaG_element(g->types, type));
    break;
  case HIA_OP_SET:
    type = hiaG_type(fn, node->outs);
    first = 2;
    break;
  case HIA_OP_YIELD: {
    hia_node_id owner = fn->regions.data[node->region].owner;
    if (node->region == 0 || fn->nodes.data[owner].op != HIA_OP_MAP) return;
    type = hiaG_type(fn, fn->nodes.data[owner].outs);
    break;
  }
  default: return;
  }
  for (uint32_t i = first; i < node->n_ins; i++)
    visit(user, i, hiaG_in(fn, n, i), hiaG_batch_word(g, type, ctor, (i - first) % width));
}

/* ---- types that hosts see ---- */

void hiaG_batch_find_outside(hia_batcher *b) {
  b->is_outside = HIA_NEW_ARRAY(b->arena, bool, b->g->types->entries.len + 1);
  HIA_EACH_FN_BELOW(b->g, b->n, f) {
    const hia_fn *fn = hiaG_fn(b->g, f);
    if (!fn->is_root) continue;
    for (uint32_t i = 0; i < fn->n_params; i++)
      hiaG_mark_parts(b->g->types, fn->params[i], b->is_outside);
    for (uint32_t i = 0; i < fn->n_results; i++) hiaG_batch_mark_result(b, fn->results[i]);
  }
}

/* ---- functions ---- */

typedef struct storing {
  finding *f;
  const hia_fn *fn;
  hia_fn_id id;
} storing;

static void store(void *user, uint32_t i, hia_value_id v, uint32_t word) {
  storing *s = user;
  (void)i;
  add(s->f, &s->f->layout_words[word], s->id, hiaG_type(s->fn, v), v);
}

/* Passes the sizes known in a function to its callees' parameters, its results and the objects that
 * it makes. */
static void propagate(finding *f, hia_fn_id id) {
  const hia_fn *fn = hiaG_fn(f->b->g, id);
  storing s = {f, fn, id};
  HIA_EACH_NODE(fn, n) {
    const hia_node *node = &fn->nodes.data[n];
    hiaG_batch_stores(f->b->g, fn, n, store, &s);
    if (node->op == HIA_OP_CALL)
      for (uint32_t i = 0; i < node->n_ins; i++)
        add(f, &f->params[hiaG_callee(node)][i], id, hiaG_type(fn, hiaG_in(fn, n, i)),
            hiaG_in(fn, n, i));
    if (node->op == HIA_OP_YIELD && node->region == 0)
      for (uint32_t i = 0; i < node->n_ins; i++)
        add(f, &f->results[id][i], id, fn->results[i], hiaG_in(fn, n, i));
  }
}

static void seed_function(finding *f, const finding *last, hia_fn_id id) {
  const hia_fn *fn = hiaG_fn(f->b->g, id);
  hia_batch_fn *facts = &f->b->fns[id];
  facts->sizes = hiaG_sizes_new(&f->b->s, fn);
  HIA_EACH_NODE(fn, n) {
    const hia_node *node = &fn->nodes.data[n];
    uint32_t word = hiaG_batch_read_word(f->b->g, fn, n);
    for (uint32_t i = 0; i < node->n_outs; i++) {
      hia_value_id v = node->outs + i;
      const known *k = node->op == HIA_OP_ARG && node->region == 0 ? &last->params[id][node->imm]
                       : node->op == HIA_OP_CALL ? &last->results[hiaG_callee(node)][i]
                       : word != HIA_NONE        ? &last->layout_words[word]
                                                 : NULL;
      if (k) seed(f, &facts->sizes[v], hiaG_type(fn, v), k);
    }
  }
}

static void find_in(finding *f, const finding *last, hia_fn_id id) {
  seed_function(f, last, id);
  hiaG_sizes_find(&f->b->s, hiaG_fn(f->b->g, id), f->b->fns[id].sizes);
}

const bool *hiaG_batch_find_open(const hia_batcher *b) {
  bool *is_open = HIA_NEW_ARRAY(b->arena, bool, b->g->fns.len + 1);
  HIA_EACH_FN_BELOW(b->g, b->n, id) {
    const hia_fn *fn = hiaG_fn(b->g, id);
    is_open[id] |= fn->is_root;
    if (fn->slow_path != HIA_NONE) is_open[fn->slow_path] = true;
    if (fn->gradient != HIA_NONE) is_open[fn->gradient] = true;
    HIA_EACH_NODE(fn, n) {
      hia_fn_id called = hiaG_called(b->g, &fn->nodes.data[n]);
      if (called != HIA_NONE && fn->nodes.data[n].op != HIA_OP_CALL) is_open[called] = true;
    }
  }
  for (uint32_t i = 0; i < b->g->externs.len; i++)
    if (b->g->externs.data[i].gradient != HIA_NONE) is_open[b->g->externs.data[i].gradient] = true;
  return is_open;
}

/* Nothing was seen yet; but what a host gives may have any sizes, and so may the arguments of open
 * functions. */
static finding begin(hia_batcher *b, const bool *is_open) {
  const hia_types *types = b->g->types;
  finding f = {.b = b};
  f.params = HIA_NEW_ARRAY(b->arena, known *, b->n + 1);
  f.results = HIA_NEW_ARRAY(b->arena, known *, b->n + 1);
  f.layout_words = new_known(&f, types->layout_words.len);
  for (hia_fn_id i = 0; i < b->n; i++) {
    const hia_fn *fn = hiaG_fn(b->g, i);
    f.params[i] = new_known(&f, fn->n_params);
    f.results[i] = new_known(&f, fn->n_results);
    if (is_open[i]) fill(f.params[i], fn->n_params, -1);
  }
  for (uint32_t t = 0; t < types->entries.len; t++) {
    if (!b->is_outside[t]) continue;
    const hia_type_entry *entry = &types->entries.data[t];
    for (uint32_t c = 0; entry->kind == HIA_KIND_DATA && c < entry->n; c++) {
      const hia_layout *layout = &types->ctors.data[entry->first + c].layout;
      fill(f.layout_words + layout->first, layout->n, -1);
    }
    if (entry->kind == HIA_KIND_ARRAY)
      fill(f.layout_words + entry->layout.first, entry->layout.n, -1);
  }
  return f;
}

/* Each of `last` becomes what it is next; or, if that `gives_up`, not known, unless it covers what
 * it is next. True if anything has changed. */
static bool replace(known *last, const known *next, uint32_t n, bool gives_up) {
  bool has_changed = false;
  for (uint32_t at = 0; at < n; at++)
    for (uint32_t i = 0; i < HIA_MAX_RANK; i++) {
      int64_t *old = &last[at].dims[i], new = next[at].dims[i];
      if (*old == new || (gives_up && (*old == -1 || new == HIA_SIZE_NEVER))) continue;
      *old = gives_up ? -1 : new;
      has_changed = true;
    }
  return has_changed;
}

/* Takes over what the next time has found; where it `gives_up`, what has changed counts as not
 * known. True if anything has. */
static bool take_over(finding *last, const finding *next, bool gives_up) {
  const hia_graph *g = last->b->g;
  bool has_changed =
      replace(last->layout_words, next->layout_words, g->types->layout_words.len, gives_up);
  for (hia_fn_id i = 0; i < last->b->n; i++) {
    const hia_fn *fn = hiaG_fn(g, i);
    has_changed |= replace(last->params[i], next->params[i], fn->n_params, gives_up);
    has_changed |= replace(last->results[i], next->results[i], fn->n_results, gives_up);
  }
  return has_changed;
}

static void find_sizes(hia_batcher *b) {
  hiaG_batch_find_outside(b);
  hiaG_sizes_init(&b->s, b->g, b->arena);
  const bool *is_open = hiaG_batch_find_open(b);
  finding last = begin(b, is_open);
  for (unsigned time = 1;; time++) {
    finding next = begin(b, is_open);
    HIA_EACH_FN_BELOW(b->g, b->n, i) find_in(&next, &last, i);
    HIA_EACH_FN_BELOW(b->g, b->n, i) propagate(&next, i);
    if (!take_over(&last, &next, time >= MAX_TIMES)) return;
  }
}

/* What no run has is not known. */
static int64_t constant(const hia_batcher *b, hia_size size) {
  int64_t n = hiaG_size_number(&b->s, size);
  return n < 0 ? -1 : n;
}

int64_t hiaG_batch_size(const hia_batcher *b, hia_fn_id f, hia_value_id v, uint32_t axis) {
  const hia_size *axes = b->fns[f].sizes[v].axes;
  return axes ? constant(b, axes[axis]) : -1;
}

int64_t hiaG_batch_integer(const hia_batcher *b, hia_fn_id f, hia_value_id v) {
  hia_size size = b->fns[f].sizes[v].integer;
  return size == HIA_NONE ? -1 : constant(b, size);
}

bool hiaG_batch_shape(const hia_batcher *b, hia_fn_id f, hia_value_id v,
                      int64_t dims[HIA_MAX_RANK]) {
  const hia_fn *fn = hiaG_fn(b->g, f);
  if (hiaG_is_scalar(hiaG_type(fn, v))) return true;
  if (!hiaG_is_tensor(b->g, fn, v)) return false;
  uint32_t rank = hiaG_rank(b->g->types, hiaG_type(fn, v));
  for (uint32_t k = 0; k < rank; k++)
    if ((dims[k] = hiaG_batch_size(b, f, v, k)) < 0) return false;
  return true;
}

void hiaG_batch_begin(hia_batcher *b, hia_graph *g) {
  hia_batcher new = {.g = g, .arena = &g->comp->scratch, .n = g->fns.len, .owes = b->owes};
  new.sums.data = b->sums.data;
  new.sums.len = b->sums.len;
  new.sums.cap = b->sums.cap;
  *b = new;
  b->fns = HIA_NEW_ARRAY(b->arena, hia_batch_fn, b->n + 1);
  find_sizes(b);
}
