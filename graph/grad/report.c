/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The report of a tape: what each of its constructors keeps, where that comes from, how large it
 * is, and what in f.back reads it. For people; `hiaton dump --stage tape`. */
#include "graph/grad/shared.h"
#include "graph/ir/sums.h"
#include "graph/ir/walk.h"
#include "runtime/heap/tensor.h"
#include <inttypes.h>

typedef struct reporting {
  const hia_back *b;
  const hia_graph *g;
  hia_text *out;
  uint32_t *uses_at; /* by value v of f.back: the nodes that use it are uses[uses_at[v]] up to */
  hia_node_id *uses; /* uses[uses_at[v + 1]], in sequential order */
} reporting;

static void place(const reporting *r, hia_loc_id loc) {
  if (loc == HIA_NONE) return;
  const hia_loc *at = &r->g->locs.data[loc];
  hiaR_text_addf(r->out, " at %u:%u", at->line, at->col);
}

/* ---- sizes ---- */

/* Writes the type of a value, with the sizes that are known. */
static void type_of(const reporting *r, hia_value_id v) {
  hia_type type = hiaG_type(r->b->fn, v);
  if (hiaG_type_kind(r->g->types, type) != HIA_KIND_TENSOR) {
    hiaR_text_addf(r->out, "%s", hiaG_type_text(r->g->types, type));
    return;
  }
  const hia_size *axes = r->b->of_fn[v].axes;
  hiaR_text_addf(r->out, "%s[", hiaG_dtype_name(hiaG_dtype(r->g->types, type)));
  for (uint32_t k = 0; k < hiaG_rank(r->g->types, type); k++) {
    int64_t one = axes ? hiaG_size_number(&r->b->sizes, axes[k]) : -1;
    if (k) hiaR_text_addf(r->out, ", ");
    if (one < 0)
      hiaR_text_addf(r->out, "?");
    else
      hiaR_text_addf(r->out, "%" PRId64, one);
  }
  hiaR_text_addf(r->out, "]");
}

/* ---- one word ---- */

static void origin(const reporting *r, const hia_grad_kept *kept) {
  const hia_fn *fn = r->b->fn;
  const hia_node *node =
      kept->kind == HIA_KEPT_RECORD ? &fn->nodes.data[kept->node] : hiaG_def(fn, kept->value);
  if (kept->kind == HIA_KEPT_RECORD) {
    if (node->op == HIA_OP_CALL)
      hiaR_text_addf(r->out, "the tape of the call of %s", hiaG_fn(r->g, hiaG_callee(node))->name);
    else
      hiaR_text_addf(r->out, "the %s",
                     node->op == HIA_OP_IF     ? "record of the branch"
                     : node->op == HIA_OP_LOOP ? "records of the rounds of the loop"
                                               : "records of the elements");
    place(r, node->loc);
    return;
  }
  type_of(r, kept->value);
  bool is_size = hiaG_grad_is_size(r->b, kept);
  if (is_size) {
    hiaR_text_addf(r->out, ", axis %" PRIu64, node->imm);
    node = hiaG_def(fn, fn->edges.data[node->ins]);
  }
  const char *between = is_size ? " of" : ",";
  if (node->op == HIA_OP_ARG && node->region == 0)
    hiaR_text_addf(r->out, "%s parameter %" PRIu64, between, node->imm);
  else if (node->op == HIA_OP_ARG)
    hiaR_text_addf(r->out, "%s a variable of the loop", between);
  else
    hiaR_text_addf(r->out, "%s `%s`", is_size ? between : ", of", hiaR_ops[node->op].name);
  if (node->op != HIA_OP_ARG) place(r, node->loc);
  hia_type type = hiaG_type(fn, kept->value);
  if (hiaG_type_kind(r->g->types, type) != HIA_KIND_TENSOR) return;
  uint64_t size = hiaR_dtype_size(hiaG_dtype(r->g->types, type)), bytes;
  uint64_t n =
      hiaG_sizes_elements(&r->b->sizes, &r->b->of_fn[kept->value], hiaG_rank(r->g->types, type));
  if (n != UINT64_MAX && !__builtin_mul_overflow(n, size, &bytes))
    hiaR_text_addf(r->out, ", %" PRIu64 " bytes", bytes);
}

/* Returns the name of the op of a node of f.back; for a part of a sum that of its constructor. */
static const char *name_of(const reporting *r, const hia_node *node) {
  static const char *const parts[HIA_SUM_ALL] = {
      [HIA_SUM_NOTHING] = "nothing", [HIA_SUM_BOTH] = "both",         [HIA_SUM_DENSE] = "dense",
      [HIA_SUM_ROW] = "row",         [HIA_SUM_ROWS] = "rows",         [HIA_SUM_PART] = "part",
      [HIA_SUM_OUTER] = "outer",     [HIA_SUM_PRODUCTS] = "products", [HIA_SUM_PAIR] = "pair",
  };
  bool is_part = node->op == HIA_OP_DATA && node->imm < HIA_SUM_ALL && parts[node->imm] &&
                 hiaG_is_sum(r->g->types, hiaG_type(r->b->back, node->outs));
  return is_part ? parts[node->imm] : hiaR_ops[node->op].name;
}

static void find_uses(reporting *r) {
  const hia_fn *back = r->b->back;
  hia_arena *arena = r->b->d->arena;
  uint32_t n_values = back->values.len, *at = HIA_NEW_ARRAY(arena, uint32_t, n_values + 2);
  HIA_EACH_NODE(back, n)
    for (uint32_t i = 0; i < back->nodes.data[n].n_ins; i++) at[hiaG_in(back, n, i) + 2]++;
  for (uint32_t v = 2; v < n_values + 2; v++) at[v] += at[v - 1];
  r->uses = HIA_NEW_ARRAY(arena, hia_node_id, at[n_values + 1] + 1);
  HIA_EACH_NODE(back, n)
    for (uint32_t i = 0; i < back->nodes.data[n].n_ins; i++)
      r->uses[at[hiaG_in(back, n, i) + 1]++] = n;
  r->uses_at = at;
}

/* Writes the ops of f.back that read what is kept, each once. */
static void readers(const reporting *r, const hia_grad_kept *kept) {
  enum { MOST = 4 };
  hia_loc_id seen[MOST];
  uint32_t n_seen = 0;
  const hia_fn *back = r->b->back;
  for (uint32_t u = r->uses_at[kept->stands_for]; u < r->uses_at[kept->stands_for + 1]; u++) {
    const hia_node *node = &back->nodes.data[r->uses[u]];
    bool is_new = true;
    for (uint32_t i = 0; i < n_seen; i++) is_new &= seen[i] != node->loc;
    if (!is_new) continue;
    if (n_seen == MOST) {
      hiaR_text_addf(r->out, ", ...");
      return;
    }
    hiaR_text_addf(r->out, "%s `%s`", n_seen ? "," : "; read by the gradient's", name_of(r, node));
    place(r, node->loc);
    seen[n_seen++] = node->loc;
  }
}

/* Reports calls of which the arguments are kept alone: reruns begin where one stood. */
static void report_recomputed(const reporting *r) {
  const hia_fn *fn = r->b->fn;
  HIA_EACH_NODE(fn, n) {
    const hia_node *node = &fn->nodes.data[n];
    if (n >= r->b->n_nodes) continue; /* hiaG_grad_sizes has added it: it has no record */
    bool is_rerun = node->flags & HIA_NODE_BEGIN;
    const hia_grad_rerun *s = is_rerun ? &r->b->reruns.data[r->b->rerun_of[n]] : NULL;
    if (s && (s->grad_region == HIA_NONE || hiaG_fn(r->g, s->again)->is_removed)) continue;
    if (!s && !r->b->records[n].is_recomputed) continue;
    hiaR_text_addf(r->out, "  of the call of %s",
                   hiaG_fn(r->g, s ? s->callee : hiaG_callee(node))->name);
    place(r, node->loc);
    hiaR_text_addf(r->out, ": the arguments; the gradient makes it again\n");
  }
}

static bool is_kept(const reporting *r, uint32_t i) {
  const hia_grad_kept *kept = &r->b->kept.data[i];
  return kept->kind == HIA_KEPT_RECORD ? r->b->records[kept->node].kept == i : kept->is_used;
}

/* ---- regions ---- */

/* True if all that a region keeps is the record of a branch: its arms have constructors of the
 * tape.
 */
static bool is_branch_alone(const reporting *r, const hia_grad_region *p) {
  const hia_grad_kept *only = NULL;
  for (uint32_t i = 0; i < p->kept.len; i++) {
    if (!is_kept(r, p->kept.data[i])) continue;
    if (only) return false;
    only = &r->b->kept.data[p->kept.data[i]];
  }
  return only && only->kind == HIA_KEPT_RECORD &&
         r->b->fn->nodes.data[only->node].op == HIA_OP_IF &&
         (p->kind == HIA_GRAD_BODY || p->kind == HIA_GRAD_ARM);
}

static void report_head(const reporting *r, const hia_grad_region *p, bool keeps_some) {
  static const char *const kinds[] = {"of the call", "of an arm of the branch",
                                      "of the rounds of the loop", "of the rounds of the loop",
                                      "of each element"};
  hiaR_text_addf(r->out, "  %s", kinds[p->kind]);
  if (p->record != HIA_NONE) place(r, r->b->fn->nodes.data[r->b->kept.data[p->record].node].loc);
  if (!keeps_some) {
    hiaR_text_addf(r->out, ": nothing\n");
    return;
  }
  if (p->kind == HIA_GRAD_BODY || p->kind == HIA_GRAD_ARM) {
    hia_type_table table = hiaG_type_table(r->g->types);
    const hia_pieces *pieces = p->pieces;
    uint64_t size = hiaR_ctor(&table, p->type, p->ctor)->layout.size;
    for (uint32_t i = 0; i < pieces->pieces.len; i++)
      size += hiaR_ctor(&table, pieces->types[pieces->n_words + i], 0)->layout.size;
    if (pieces->pieces.len)
      hiaR_text_addf(r->out, ": %u objects of %" PRIu64 " bytes in all", pieces->pieces.len + 1,
                     size);
    else
      hiaR_text_addf(r->out, ": an object of %" PRIu64 " bytes", size);
  }
  hiaR_text_addf(r->out, "\n");
}

static void report_region(const reporting *r, uint32_t number) {
  const hia_grad_region *p = &r->b->grad_regions.data[number];
  bool keeps_some = false;
  if (is_branch_alone(r, p) || p->kind == HIA_GRAD_AGAIN) return;
  for (uint32_t i = 0; i < p->kept.len; i++) keeps_some |= is_kept(r, p->kept.data[i]);
  bool is_own = p->kind == HIA_GRAD_BODY || p->kind == HIA_GRAD_ARM;
  if (!keeps_some && (!is_own || p->type == HIA_NONE)) return;
  report_head(r, p, keeps_some);
  for (uint32_t i = 0; i < p->kept.len; i++) {
    const hia_grad_kept *kept = &r->b->kept.data[p->kept.data[i]];
    if (!is_kept(r, p->kept.data[i])) continue;
    hiaR_text_addf(r->out, "    ");
    origin(r, kept);
    if (kept->kind == HIA_KEPT_VALUE) readers(r, kept);
    hiaR_text_addf(r->out, "\n");
  }
}

void hiaG_grad_report(const hia_back *b) {
  reporting r = {.b = b, .g = b->g, .out = b->g->tapes};
  find_uses(&r);
  if (r.out->len) hiaR_text_addf(r.out, "\n");
  const bool *seeded = b->d->versions.data[b->version].seeded;
  hiaR_text_addf(r.out, "%s", b->fn->name);
  for (uint32_t i = 0, n = 0; b->fn->n_results > 1 && i < b->fn->n_results; i++)
    if (seeded[i]) hiaR_text_addf(r.out, "%s%u", n++ ? ", " : ", for the gradient of result ", i);
  hiaR_text_addf(r.out, " keeps\n");
  for (uint32_t i = 0; i < b->grad_regions.len; i++) report_region(&r, i);
  report_recomputed(&r);
}
