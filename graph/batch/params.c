/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Params that functions get as arguments, and read from objects. A product is batched if all
 * activations share its matrix. But a tape keeps the weights of a cell that got them as arguments,
 *
 *     %w = param Wh                              %w = param Wh
 *     %tape = data Tape %w, ..                   %tape = data Tape %w, ..
 *     ..                                 ->      ..
 *     %v = field Tape.0 %tape                    %v = param Wh
 *     %dx = product %dy, %v                      %dx = product %dy, %v
 *
 * so a value becomes the param that it always is: if a parameter of a function is the same param in
 * all calls, or a word of a type in all of its objects. Each is nothing at first, then what it was
 * seen to be, and several if that differs, until nothing changes: sparse conditional constant
 * propagation (Wegman and Zadeck 1991) between functions, without the conditions.
 *
 * A matrix of a param of several, `W[k]`, is kept beside its index. If that is so in all objects of
 * a type, the matrix that is read is chosen again, so that choose.c sees it:
 *
 *     %m = row W, %k                             %m = row W, %k
 *     %tape = data Tape %m, %k                   %tape = data Tape %m, %k
 *     ..                                 ->      ..
 *     %v = field Tape.0 %tape                    %i = field Tape.1 %tape
 *                                                %v = row W, %i */
#include "graph/batch/batcher.h"
#include "graph/ir/build.h"
#include "graph/ir/change.h"
#include "graph/ir/walk.h"

/* What something is: a param's number and ONE, or one of these. */
enum { NOTHING, SEVERAL, ONE };

/* What a word always is: row `index`, which is another word of the object, of a param. */
typedef struct chosen {
  uint32_t param; /* NOTHING, SEVERAL, or from ONE on */
  uint32_t index; /* into types->layout_words */
} chosen;

typedef struct known {
  hia_batcher *b;
  const bool *is_open;
  uint32_t *words;              /* by index into types->layout_words */
  chosen *chosen;               /* likewise */
  uint32_t **params, **results; /* by function */
  uint32_t **values;            /* by function, by value: of those that there were */
  uint32_t *n_values;           /* by function */
  hia_fn_id f;                  /* the function that is looked at */
  const hia_fn *fn;
  bool is_changed;
} known;

static void join(known *k, uint32_t *to, uint32_t from) {
  uint32_t now = *to == NOTHING || *to == from ? from : SEVERAL;
  if (from == NOTHING || now == *to) return;
  *to = now;
  k->is_changed = true;
}

static uint32_t what_is(const known *k, hia_value_id v) { return k->values[k->f][v]; }

static void store(void *user, uint32_t i, hia_value_id v, uint32_t word) {
  known *k = user;
  (void)i;
  join(k, &k->words[word], what_is(k, v));
}

static void loop(known *k, const hia_node *node, hia_node_id n) {
  uint32_t *values = k->values[k->f];
  hia_node_id head = hiaG_yield_of(k->fn, node->regions),
              round = hiaG_yield_of(k->fn, node->regions + 1);
  HIA_EACH_ARG(k->fn, node->regions, arg) {
    uint32_t i = (uint32_t)k->fn->nodes.data[arg].imm, *to = &values[k->fn->nodes.data[arg].outs];
    join(k, to, values[hiaG_in(k->fn, n, i)]);
    join(k, to, values[hiaG_in(k->fn, round, i)]);
  }
  for (uint32_t i = 0; i < node->n_outs; i++)
    join(k, &values[node->outs + i], values[hiaG_in(k->fn, head, i + 1)]);
}

static void look_at(known *k, hia_node_id n) {
  const hia_node *node = &k->fn->nodes.data[n];
  uint32_t *out = &k->values[k->f][node->outs], word = hiaG_batch_read_word(k->b->g, k->fn, n);
  hia_fn_id callee = node->op == HIA_OP_CALL ? hiaG_callee(node) : HIA_NONE;
  hiaG_batch_stores(k->b->g, k->fn, n, store, k);
  if (word != HIA_NONE) {
    join(k, out, k->words[word]);
  } else if (callee != HIA_NONE) {
    for (uint32_t i = 0; i < node->n_ins; i++)
      join(k, &k->params[callee][i], what_is(k, hiaG_in(k->fn, n, i)));
    for (uint32_t i = 0; i < node->n_outs; i++) join(k, &out[i], k->results[callee][i]);
  } else if (node->op == HIA_OP_IF) {
    for (unsigned arm = 0; arm < 2; arm++)
      for (uint32_t i = 0; i < node->n_outs; i++)
        join(k, &out[i], what_is(k, hiaG_in(k->fn, hiaG_yield_of(k->fn, node->regions + arm), i)));
  } else if (node->op == HIA_OP_LOOP) {
    loop(k, node, n);
  } else if (node->op == HIA_OP_ARG && node->region == 0) {
    join(k, out, k->params[k->f][node->imm]);
  } else if (node->op == HIA_OP_YIELD && node->region == 0) {
    for (uint32_t i = 0; i < node->n_ins; i++)
      join(k, &k->results[k->f][i], what_is(k, hiaG_in(k->fn, n, i)));
  } else if (node->op == HIA_OP_PARAM) {
    join(k, out, ONE + (uint32_t)node->imm);
  } else if (node->op == HIA_OP_EXPECT) { /* the same tensor, unless it fails */
    join(k, out, what_is(k, hiaG_in(k->fn, n, 0)));
  } else if (node->op != HIA_OP_ARG) { /* that of a loop is set where the loop is */
    for (uint32_t i = 0; i < node->n_outs; i++) join(k, &out[i], SEVERAL);
  }
}

/* ---- matrices that are chosen ---- */

typedef struct stored {
  hia_value_id v;
  uint32_t word;
} stored;
typedef struct storing {
  known *k;
  stored words[HIA_MAX_LAYOUT_WORDS];
  uint32_t n;
  bool is_too_much;
} storing;

static void list_word(void *user, uint32_t i, hia_value_id v, uint32_t word) {
  storing *s = user;
  (void)i;
  if (s->n == HIA_MAX_LAYOUT_WORDS)
    s->is_too_much = true;
  else
    s->words[s->n++] = (stored){v, word};
}

/* What a word of an object is. */
static chosen chosen_of(const storing *s, hia_value_id v) {
  const known *k = s->k;
  const hia_node *row = hiaG_def(k->fn, v);
  const chosen none = {SEVERAL, 0};
  if (row->op != HIA_OP_ROW || hiaG_rank(k->b->g->types, hiaG_type(k->fn, v)) != 2) return none;
  hia_value_id all = k->fn->edges.data[row->ins], index = k->fn->edges.data[row->ins + 1];
  if (what_is(k, all) < ONE) return none;
  for (uint32_t i = 0; i < s->n; i++)
    if (s->words[i].v == index) return (chosen){what_is(k, all), s->words[i].word};
  return none;
}

/* Objects and elements have their words once; of what is stored otherwise nothing is known. */
static void find_chosen(known *k, hia_node_id n) {
  unsigned op = k->fn->nodes.data[n].op;
  storing s = {.k = k};
  hiaG_batch_stores(k->b->g, k->fn, n, list_word, &s);
  for (uint32_t i = 0; i < s.n; i++) {
    chosen is = op == HIA_OP_DATA || op == HIA_OP_YIELD ? chosen_of(&s, s.words[i].v)
                                                        : (chosen){SEVERAL, 0},
           *to = &k->chosen[s.words[i].word];
    bool is_same = to->param == is.param && to->index == is.index;
    *to = to->param == NOTHING || is_same ? is : (chosen){SEVERAL, 0};
  }
}

/* Puts what chooses the matrix again that a node reads. */
static hia_value_id put_chosen(known *k, hia_fn *fn, hia_node_id n, uint32_t word) {
  hia_graph *g = k->b->g;
  const hia_node node = fn->nodes.data[n];
  const chosen *is = &k->chosen[word];
  hia_value_id ins[2] = {hiaG_in(fn, n, 0), node.n_ins > 1 ? hiaG_in(fn, n, 1) : HIA_NONE}, row[2];
  uint32_t field = node.op == HIA_OP_FIELD ? HIA_IMM_B(node.imm) : (uint32_t)node.imm;
  uint32_t other = field + is->index - word;
  uint64_t imm = node.op == HIA_OP_FIELD ? HIA_IMM(HIA_IMM_A(node.imm), other) : other;
  const hia_param_spec *spec = &g->params.data[is->param - ONE];
  hia_type i64 = HIA_I64, matrix = hiaG_type(fn, node.outs),
           all = hiaG_ranked(g->types, hiaG_dtype(g->types, matrix), spec->shape.rank);
  row[1] = hiaG_out(fn, hiaG_insert(g, fn, n, node.op, ins, node.n_ins, &i64, 1, imm, node.loc), 0);
  row[0] = hiaG_out(
      fn, hiaG_insert(g, fn, n, HIA_OP_PARAM, NULL, 0, &all, 1, is->param - ONE, node.loc), 0);
  return hiaG_out(fn, hiaG_insert(g, fn, n, HIA_OP_ROW, row, 2, &matrix, 1, 0, node.loc), 0);
}

static bool choose_again(known *k, hia_fn_id f) {
  hia_fn *fn = hiaG_fn(k->b->g, f);
  hia_subst subst = hiaG_subst(k->b->g, fn);
  uint32_t n_nodes = fn->nodes.len;
  bool is_changed = false;
  for (hia_node_id n = 0; n < n_nodes; n++) {
    if (fn->nodes.data[n].flags & HIA_NODE_DEAD) continue;
    uint32_t word = hiaG_batch_read_word(k->b->g, fn, n);
    if (word == HIA_NONE || k->chosen[word].param < ONE) continue;
    hiaG_replace(&subst, fn->nodes.data[n].outs, put_chosen(k, fn, n, word));
    is_changed = true;
  }
  if (is_changed)
    HIA_EACH_NODE(fn, n) hiaG_rewrite_ins(&subst, fn, n);
  return is_changed;
}

/* ---- all of it ---- */

static uint32_t *new_list(const known *k, uint32_t n) {
  return HIA_NEW_ARRAY(k->b->arena, uint32_t, n + 1);
}

/* What hosts give and see is not known. */
static known begin(hia_batcher *b) {
  const hia_types *types = b->g->types;
  known k = {.b = b, .is_open = hiaG_batch_find_open(b)};
  k.words = new_list(&k, types->layout_words.len);
  k.chosen = HIA_NEW_ARRAY(b->arena, chosen, types->layout_words.len + 1);
  k.params = HIA_NEW_ARRAY(b->arena, uint32_t *, b->n + 1);
  k.results = HIA_NEW_ARRAY(b->arena, uint32_t *, b->n + 1);
  k.values = HIA_NEW_ARRAY(b->arena, uint32_t *, b->n + 1);
  k.n_values = new_list(&k, b->n);
  for (hia_fn_id f = 0; f < b->n; f++) {
    const hia_fn *fn = hiaG_fn(b->g, f);
    k.params[f] = new_list(&k, fn->n_params);
    k.results[f] = new_list(&k, fn->n_results);
    k.values[f] = new_list(&k, fn->values.len);
    k.n_values[f] = fn->values.len;
    for (uint32_t i = 0; i < fn->n_params && k.is_open[f]; i++) k.params[f][i] = SEVERAL;
  }
  for (uint32_t t = 0; t < types->entries.len; t++) {
    const hia_type_entry *entry = &types->entries.data[t];
    uint32_t n = entry->kind == HIA_KIND_DATA ? entry->n : entry->kind == HIA_KIND_ARRAY;
    for (uint32_t c = 0; b->is_outside[t] && c < n; c++) {
      const hia_layout *layout = entry->kind == HIA_KIND_DATA
                                     ? &types->ctors.data[entry->first + c].layout
                                     : &entry->layout;
      for (uint32_t i = 0; i < layout->n; i++)
        k.words[layout->first + i] = k.chosen[layout->first + i].param = SEVERAL;
    }
  }
  return k;
}

/* Uses of values that are a param become uses of that. The values may go, or fail, as before. */
static bool replace_in(known *k, hia_fn_id f) {
  hia_graph *g = k->b->g;
  hia_fn *fn = hiaG_fn(g, f);
  uint32_t n_values = k->n_values[f];
  hia_subst subst = hiaG_subst(g, fn);
  hia_node_id at = fn->regions.data[0].first;
  while (fn->nodes.data[at].op == HIA_OP_ARG) at = fn->nodes.data[at].next;
  bool is_changed = false;
  for (hia_value_id v = 0; v < n_values; v++) {
    hia_node def = *hiaG_def(fn, v);
    if (k->values[f][v] < ONE || def.flags & HIA_NODE_DEAD || def.op == HIA_OP_PARAM) continue;
    if (def.op == HIA_OP_EXPECT) continue; /* simplify.c knows whether it may fail */
    hia_type type = hiaG_type(fn, v);
    hia_node_id param =
        hiaG_insert(g, fn, at, HIA_OP_PARAM, NULL, 0, &type, 1, k->values[f][v] - ONE, def.loc);
    hiaG_replace(&subst, v, hiaG_out(fn, param, 0));
    is_changed = true;
  }
  if (is_changed)
    HIA_EACH_NODE(fn, n) hiaG_rewrite_ins(&subst, fn, n);
  return is_changed;
}

bool hiaG_batch_params(hia_graph *g) {
  hia_mark mark = hiaR_arena_mark(&g->comp->scratch);
  hia_batcher b = {.g = g, .arena = &g->comp->scratch, .n = g->fns.len};
  hiaG_batch_find_outside(&b);
  known k = begin(&b);
  for (k.is_changed = true; k.is_changed;) {
    k.is_changed = false;
    hiaR_look(g->comp);
    HIA_EACH_FN_BELOW(g, b.n, f) {
      k.f = f;
      k.fn = hiaG_fn(g, f);
      HIA_EACH_NODE(k.fn, n) look_at(&k, n);
    }
  }
  bool is_changed = false;
  HIA_EACH_FN_BELOW(g, b.n, f) {
    k.f = f;
    k.fn = hiaG_fn(g, f);
    HIA_EACH_NODE(k.fn, n) find_chosen(&k, n);
  }
  HIA_EACH_FN_BELOW(g, b.n, f) {
    is_changed |= choose_again(&k, f);
    is_changed |= replace_in(&k, f);
  }
  hiaR_arena_release(&g->comp->scratch, mark);
  return is_changed;
}
