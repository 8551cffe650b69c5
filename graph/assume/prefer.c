/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Functions in two forms: for what was observed, and for all else. */
#include "graph/assume/prefer.h"
#include "graph/assume/rounds.h"
#include "graph/ir/build.h"
#include "graph/ir/change.h"
#include "graph/ir/walk.h"

enum {
  MAX_NODES = 2000, /* of a function that gets a second form, and */
  MAX_FORMS = 64,   /* functions that do */
};

/* What is known of a parameter: a number, sizes, or nothing. */
typedef struct known {
  bool is_word, is_sized;
  hia_word word;
  hia_dims dims;
} known;

/* ---- what is of use ---- */

/* True if operations read the tensor, or calls get it. */
static bool is_read(const hia_fn *fn, hia_value_id v) {
  HIA_EACH_NODE(fn, n)
    for (uint32_t i = 0; i < fn->nodes.data[n].n_ins; i++)
      if (hiaG_in(fn, n, i) == v && fn->nodes.data[n].op != HIA_OP_YIELD) return true;
  return false;
}

/* Unlike a number in a version (suppose.c), one that is handed on is of use, too: the function that
 * gets it need not test it. */
static bool is_handed_on(const hia_fn *fn, hia_value_id v) {
  HIA_EACH_NODE(fn, n)
    for (uint32_t i = 0; fn->nodes.data[n].op == HIA_OP_CALL && i < fn->nodes.data[n].n_ins; i++)
      if (hiaG_in(fn, n, i) == v) return true;
  return false;
}

static known known_of(const hia_graph *g, const hia_fn *fn, const hia_preference *p, uint32_t i) {
  if (hiaG_is_tensor(g, fn, i))
    return (known){.is_sized = is_read(fn, i) && p->dims.rank, .dims = p->dims};
  return (known){.is_word = hiaG_decides(fn, i) || is_handed_on(fn, i), .word = p->word};
}

/* ---- the form for what was observed ---- */

/* Returns what stands for the parameters: themselves, or what is known of them. */
static hia_value_id *replace_params(hia_graph *g, hia_fn *fn, const known *k) {
  hia_value_id *map = HIA_NEW_ARRAY(&g->comp->scratch, hia_value_id, fn->n_params + 1);
  for (uint32_t i = 0; i < fn->n_params; i++) {
    hia_type type = fn->params[i];
    map[i] = i;
    if (k && k[i].is_word) map[i] = hiaG_const(g, fn, 0, type, k[i].word, fn->loc);
    if (!k || !k[i].is_sized) continue;
    hia_value_id ins[1 + HIA_MAX_RANK] = {i};
    for (uint32_t a = 0; a < k[i].dims.rank; a++)
      ins[1 + a] = hiaG_const(g, fn, 0, HIA_I64, hiaR_from_i64(k[i].dims.dims[a]), fn->loc);
    uint64_t axes = (UINT64_C(1) << k[i].dims.rank) - 1;
    map[i] = hiaG_out(
        fn, hiaG_add(g, fn, 0, HIA_OP_EXPECT, ins, 1 + k[i].dims.rank, &type, 1, axes, fn->loc), 0);
  }
  return map;
}

/* A function with the body of `of`, which keeps it; `k`: what is known of its parameters, or NULL.
 */
static hia_fn_id form_of(hia_graph *g, hia_fn_id of, const char *suffix, const known *k) {
  const hia_fn *from = hiaG_fn(g, of);
  hia_fn_id id = hiaG_fn_new(g, hiaG_new_name(g, from->name, suffix), from->source, from->loc,
                             from->params, from->n_params, from->results, from->n_results);
  hia_fn *fn = hiaG_fn(g, id);
  from = hiaG_fn(g, of);
  fn->is_recomputed = from->is_recomputed;
  const hia_value_id *params = replace_params(g, fn, k);
  hia_value_id *map = HIA_NEW_ARRAY(&g->comp->scratch, hia_value_id, from->values.len + 1);
  memset(map, 0xff, from->values.len * sizeof *map);
  HIA_EACH_ARG(from, 0, arg)
    map[hiaG_out(from, arg, 0)] = params[HIA_IMM_A(from->nodes.data[arg].imm)];
  hiaG_copy_region(g, fn, 0, HIA_NONE, from, 0, map, HIA_NONE);
  hia_node_id yield = hiaG_yield_of(from, 0);
  hia_value_id *outs = HIA_NEW_ARRAY(&g->comp->scratch, hia_value_id, from->n_results + 1);
  for (uint32_t i = 0; i < from->n_results; i++) outs[i] = map[hiaG_in(from, yield, i)];
  hiaG_yield(g, fn, 0, outs, from->n_results);
  return id;
}

/* Calls of the function that hand on all that is known go to the form itself. */
static void call_itself(hia_graph *g, hia_fn_id id, hia_fn_id of, const known *k) {
  hia_fn *fn = hiaG_fn(g, id);
  hia_value_id *params = HIA_NEW_ARRAY(&g->comp->scratch, hia_value_id, fn->n_params + 1);
  for (uint32_t i = 0; i < fn->n_params; i++) params[i] = HIA_NONE;
  HIA_EACH_NODE(fn, n) /* replace_params has made them, of the parameters themselves */
    if (fn->nodes.data[n].region == 0 && fn->nodes.data[n].op == HIA_OP_EXPECT &&
        hiaG_in(fn, n, 0) < fn->n_params && params[hiaG_in(fn, n, 0)] == HIA_NONE)
      params[hiaG_in(fn, n, 0)] = hiaG_out(fn, n, 0);
  HIA_EACH_NODE(fn, n) {
    if (fn->nodes.data[n].op != HIA_OP_CALL || hiaG_callee(&fn->nodes.data[n]) != of) continue;
    bool hands_on = true;
    for (uint32_t i = 0; i < fn->n_params && hands_on; i++) {
      hia_word word;
      hia_value_id v = hiaG_in(fn, n, i);
      if (k[i].is_word) hands_on = hiaG_is_const(fn, v, &word) && word == k[i].word;
      if (k[i].is_sized) hands_on = v == params[i];
    }
    if (hands_on) fn->nodes.data[n].imm = HIA_IMM(id, HIA_IMM_B(fn->nodes.data[n].imm));
  }
}

/* ---- the choice ---- */

static hia_value_id both(hia_graph *g, hia_fn *fn, hia_value_id a, hia_value_id b) {
  hia_value_id pair[2] = {a, b};
  return a == HIA_NONE ? b : hiaG_op(g, fn, 0, HIA_OP_BAND, pair, 2, fn->loc);
}

static hia_value_id is_equal(hia_graph *g, hia_fn *fn, hia_value_id a, hia_type type,
                             hia_word word) {
  hia_value_id pair[2] = {a, hiaG_const(g, fn, 0, type, word, fn->loc)};
  return hiaG_op(g, fn, 0, HIA_OP_EQ, pair, 2, fn->loc);
}

static hia_value_id is_known(hia_graph *g, hia_fn *fn, const known *k) {
  hia_value_id all = HIA_NONE;
  for (uint32_t i = 0; i < fn->n_params; i++) {
    if (k[i].is_word) all = both(g, fn, all, is_equal(g, fn, i, fn->params[i], k[i].word));
    for (uint32_t a = 0; k[i].is_sized && a < k[i].dims.rank; a++) {
      hia_value_id size = hiaG_computed(g, fn, 0, HIA_OP_DIM, &i, 1, HIA_N_DTYPES, a, fn->loc);
      all = both(g, fn, all, is_equal(g, fn, size, HIA_I64, hiaR_from_i64(k[i].dims.dims[a])));
    }
  }
  return all;
}

static void call_in(hia_graph *g, hia_fn *fn, hia_region_id arm, hia_fn_id callee) {
  hia_value_id *ins = HIA_NEW_ARRAY(&g->comp->scratch, hia_value_id, fn->n_params + 1);
  for (uint32_t i = 0; i < fn->n_params; i++) ins[i] = i;
  hia_node_id call = hiaG_add(g, fn, arm, HIA_OP_CALL, ins, fn->n_params, fn->results,
                              fn->n_results, HIA_IMM(callee, 0), fn->loc);
  fn->nodes.data[call].flags |= HIA_NODE_TAIL;
  hiaG_yield_outs(g, fn, arm, call);
}

/* The function becomes a choice between two forms. */
static void split(hia_graph *g, hia_fn_id id, const known *k) {
  hia_fn_id observed = form_of(g, id, " observed", k), general = form_of(g, id, " general", NULL);
  call_itself(g, observed, id, k);
  hia_fn *fn = hiaG_fn(g, id);
  hiaG_clear_body(g, fn);
  hia_value_id so = is_known(g, fn, k);
  hia_node_id branch =
      hiaG_add(g, fn, 0, HIA_OP_IF, &so, 1, fn->results, fn->n_results, 0, fn->loc);
  hia_region_id then = fn->nodes.data[branch].regions;
  call_in(g, fn, then, observed);
  call_in(g, fn, then + 1, general);
  hiaG_yield_outs(g, fn, 0, branch);
}

/* ---- functions ---- */

/* Loops first: both forms get them. Returns true if something is known of the parameters. */
static bool prefer_in(hia_graph *g, hia_fn *fn, const hia_point *points, const hia_preference *of,
                      uint32_t n, known *k) {
  bool is_some = false, is_changed = false;
  for (uint32_t i = n; i-- > 0;) { /* inner ones first */
    hia_node_id node = points[of[i].point].node;
    if (points[of[i].point].kind != HIA_POINT_ROUNDS || !hiaG_is_short(fn, node, of[i].word))
      continue;
    hiaG_unroll_rounds(g, fn, node, (uint32_t)of[i].word, HIA_NONE);
    is_changed = true;
  }
  for (uint32_t i = 0; i < n; i++) {
    const hia_point *point = &points[of[i].point];
    if (point->kind != HIA_POINT_PARAM) continue;
    uint32_t param = HIA_IMM_A(fn->nodes.data[point->node].imm);
    k[param] = known_of(g, fn, &of[i], param);
    is_some |= k[param].is_word || k[param].is_sized;
  }
  if (is_changed) hiaG_compact(g, fn);
  return is_some;
}

void hiaG_prefer(hia_graph *g, const hia_point *points, const hia_preference *of, uint32_t n) {
  hia_arena *scratch = &g->comp->scratch;
  uint32_t n_forms = 0;
  for (uint32_t i = 0, end; i < n; i = end) {
    hia_fn_id id = points[of[i].point].fn;
    for (end = i; end < n && points[of[end].point].fn == id; end++) {
    }
    hia_mark mark = hiaR_arena_mark(scratch);
    known *k = HIA_NEW_ARRAY(scratch, known, hiaG_fn(g, id)->n_params + 1);
    bool is_some = prefer_in(g, hiaG_fn(g, id), points, &of[i], end - i, k);
    if (is_some && n_forms < MAX_FORMS && hiaG_fn(g, id)->nodes.len <= MAX_NODES) {
      split(g, id, k);
      n_forms++;
    }
    hiaR_arena_release(scratch, mark);
    hiaR_look(g->comp);
  }
}
