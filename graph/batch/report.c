/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The report of the pass `batch`: which operations are computed for many activations at a time,
 * where a run waits for them, and which products are computed one at a time, and why. For people;
 * `hiaton dump --stage batches`. */
#include "graph/batch/batcher.h"
#include "graph/ir/walk.h"

typedef struct reporting {
  const hia_batcher *b;
  hia_fn_id f;
  const hia_fn *fn;
  const hia_batch_fn *of;
  hia_text *out;
  uint32_t n_lines; /* of the function */
} reporting;

static void place(const reporting *r, hia_loc_id loc) {
  if (loc == HIA_NONE) return;
  const hia_loc *at = &r->b->g->locs.data[loc];
  hiaR_text_addf(r->out, " at %u:%u", at->line, at->col);
}

/* Begins a line; the first of a function comes with its name. */
static void line(reporting *r, const char *what) {
  if (!r->n_lines++) hiaR_text_addf(r->out, "%s\n", r->fn->name);
  hiaR_text_addf(r->out, "  %-8s", what);
}

/* What an operation is in the program, or the op. */
static const char *name_of(const reporting *r, hia_node_id n) {
  unsigned op = r->fn->nodes.data[n].op;
  switch (op) {
  case HIA_OP_PRODUCT:
  case HIA_OP_PRODUCT_AT:
  case HIA_OP_PRODUCT_BT: return "a product";
  case HIA_OP_MAP: return "a comprehension";
  case HIA_OP_PACK: return "a tensor of its elements";
  case HIA_OP_LOOP: return "a loop";
  case HIA_OP_IF: return "a branch";
  case HIA_OP_CALL: return "a call";
  case HIA_OP_ARG: return "an argument";
  case HIA_OP_DATA:
  case HIA_OP_REUSE: return "an object";
  case HIA_OP_ARRAY: return "an array";
  case HIA_OP_FIELD: return "a field";
  case HIA_OP_AT: return "an element";
  case HIA_OP_ROW:
  case HIA_OP_ROWS: return "an index";
  case HIA_OP_PART:
  case HIA_OP_CUT: return "a slice";
  case HIA_OP_WITH:
  case HIA_OP_SET: return "set";
  case HIA_OP_CAT: return "concat";
  case HIA_OP_CAST: return "a conversion";
  case HIA_OP_COLLECT: return "a gradient";
  default: return hiaR_ops[op].name;
  }
}

/* The param that a matrix is, or consists of. NULL: it is none. */
static const char *param_of(const reporting *r, hia_value_id v) {
  const hia_node *def = hiaG_def(r->fn, v);
  for (unsigned n = 0; n < 100 && def->op != HIA_OP_PARAM; n++) {
    if (def->n_ins == 0 || !r->of->is_uniform[v]) return NULL;
    v = r->fn->edges.data[def->ins];
    def = hiaG_def(r->fn, v);
  }
  return def->op == HIA_OP_PARAM ? r->b->g->params.data[def->imm].name : NULL;
}

/* ---- what is batched ---- */

static bool is_product(unsigned op) {
  return op == HIA_OP_PRODUCT || op == HIA_OP_PRODUCT_AT || op == HIA_OP_PRODUCT_BT;
}

static void batched(reporting *r) {
  uint32_t n = 0;
  HIA_EACH_NODE(r->fn, k) n += hiaG_is_deferred(r->b, r->f, k);
  if (!n) return;
  line(r, "batched");
  hiaR_text_addf(r->out, "%u operation%s", n, n == 1 ? "" : "s");
  n = 0;
  const char *last = NULL;
  hia_loc_id last_at = HIA_NONE;
  HIA_EACH_NODE(r->fn, k) {
    const hia_node *node = &r->fn->nodes.data[k];
    if (!r->of->is_heavy[k]) continue;
    const char *w = param_of(r, hiaG_in(r->fn, k, 0));
    if (!w) w = param_of(r, hiaG_in(r->fn, k, 1));
    if (n && w == last && node->loc == last_at) continue; /* the choices of choose.c */
    last = w;
    last_at = node->loc;
    hiaR_text_addf(r->out, n++ ? ", " : "; products with params: ");
    hiaR_text_addf(r->out, "%s", w ? w : "several");
    place(r, node->loc);
  }
  hiaR_text_addf(r->out, "\n");
}

/* ---- what is not ---- */

static bool has_constant_sizes(const reporting *r, hia_node_id n) {
  int64_t dims[HIA_MAX_RANK];
  const hia_node *node = &r->fn->nodes.data[n];
  bool are_constant = hiaG_batch_shape(r->b, r->f, node->outs, dims);
  for (uint32_t i = 0; i < node->n_ins; i++)
    are_constant &= hiaG_batch_shape(r->b, r->f, hiaG_in(r->fn, n, i), dims);
  return are_constant;
}

static const char *why_not(const reporting *r, hia_node_id n) {
  bool has_matrix = false, is_shared = false;
  if (!has_constant_sizes(r, n)) return "the sizes of its operands are not constant";
  for (uint32_t i = 0; i < 2; i++) {
    hia_value_id v = hiaG_in(r->fn, n, i);
    bool is_matrix = hiaG_rank(r->b->g->types, hiaG_type(r->fn, v)) > 1;
    has_matrix |= is_matrix;
    is_shared |= is_matrix && r->of->is_uniform[v];
  }
  if (!has_matrix) return NULL; /* of vectors: it costs little */
  if (!is_shared) return "each call has a matrix of its own";
  if (!r->of->can_lift[n])
    return "it is none of a matrix that all calls share with one vector of each";
  return "the matrix is small, and it follows no product with a large one";
}

static void one_at_a_time(reporting *r) {
  HIA_EACH_NODE(r->fn, n) {
    const hia_node *node = &r->fn->nodes.data[n];
    if (!is_product(node->op) || hiaG_is_deferred(r->b, r->f, n)) continue;
    if (r->of->is_uniform[node->outs]) continue;
    const char *why = why_not(r, n);
    if (!why) continue;
    line(r, "alone");
    hiaR_text_addf(r->out, "%s", name_of(r, n));
    place(r, node->loc);
    hiaR_text_addf(r->out, ": %s\n", why);
  }
}

/* ---- where a run waits ---- */

static const char *why_wait(const reporting *r, hia_node_id n, uint32_t i) {
  const hia_node *node = &r->fn->nodes.data[n];
  const hia_region *region = &r->fn->regions.data[node->region];
  switch (node->op) {
  case HIA_OP_IF: return "a branch depends on it";
  case HIA_OP_HOST: return "a function of the host gets it";
  case HIA_OP_FIELD: return "the object gets it when it is computed";
  case HIA_OP_YIELD:
    if (node->region == 0) return NULL; /* a result */
    return region->kind == HIA_REGION_HEAD && i == 0 ? "it decides whether a loop goes on"
                                                     : "a host sees it, or what it goes into";
  case HIA_OP_DATA:
  case HIA_OP_REUSE:
  case HIA_OP_ARRAY:
  case HIA_OP_SET:
  case HIA_OP_FILL: return "it goes into an object that a host sees";
  default: return "it is not computed for several calls at a time";
  }
}

static void waits(reporting *r) {
  HIA_EACH_NODE(r->fn, n) {
    const hia_node *node = &r->fn->nodes.data[n];
    if (node->flags & HIA_NODE_WAITS) continue; /* seldom */
    for (uint32_t i = 0; i < node->n_ins; i++) {
      if (!hiaG_batch_waits(r->b, r->f, n, i)) continue;
      const char *why = why_wait(r, n, i);
      if (!why) continue;
      hia_node_id def = r->fn->values.data[hiaG_in(r->fn, n, i)].node;
      bool is_structure = node->op == HIA_OP_YIELD;
      line(r, "waits");
      hiaR_text_addf(r->out, "for %s", name_of(r, def));
      place(r, r->fn->nodes.data[def].loc);
      if (!is_structure) {
        hiaR_text_addf(r->out, ", in %s", name_of(r, n));
        place(r, node->loc);
      }
      hiaR_text_addf(r->out, ": %s\n", why);
      break;
    }
  }
}

void hiaG_batch_report(const hia_batcher *b, hia_text *out) {
  HIA_EACH_FN_BELOW(b->g, b->n, f) {
    reporting r = {b, f, hiaG_fn(b->g, f), &b->fns[f], out, 0};
    batched(&r);
    one_at_a_time(&r);
    waits(&r);
  }
}
