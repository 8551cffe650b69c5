/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The graph as a picture for Graphviz. It cannot be read back: for that there is the text form.
 *
 * A function is a cluster, a region a cluster in it. Solid edges carry values; dashed ones are
 * control: from a predicate to what it decides, from a Call_i to its Return_i. Calls are bold: in
 * the static graph from each Call_i to the entry Merge and from the callee's yield back to each
 * Return_i. A bold dashed edge leads from a fork to its callee, a bold dotted one from a gradient
 * to the function that is differentiated. */
#include "graph/ir/graph.h"
#include "graph/ir/print.h"
#include "graph/ir/region_order.h"

typedef struct {
  const hia_graph *g;
  const hia_fn *fn;
  hia_fn_id fn_id;
  hia_text *out;
  hia_text label; /* of one node, before it is escaped */
} drawing;

static void add(drawing *d, const char *text) { hiaR_text_add(d->out, text, strlen(text)); }

void hiaG_dot_escape(const char *text, hia_text *out) {
  for (const char *c = text; *c; c++) {
    if (*c == '"' || *c == '\\') hiaR_text_add(out, "\\", 1);
    if ((unsigned char)*c >= ' ') hiaR_text_add(out, c, 1);
  }
}

static const char *shape(const hia_node *node) {
  switch (node->op) {
  case HIA_OP_CONST:
  case HIA_OP_UNDEF:
  case HIA_OP_PARAM:
  case HIA_OP_LITERAL: return "plaintext";
  case HIA_OP_SWITCH: return "invtrapezium";
  case HIA_OP_MERGE:
  case HIA_OP_MERGE_ENTRY:
  case HIA_OP_MERGE_LOOP: return "trapezium";
  case HIA_OP_ARG:
  case HIA_OP_YIELD: return "ellipse";
  case HIA_OP_CALL:
  case HIA_OP_GRAD:
  case HIA_OP_CALL_I:
  case HIA_OP_RETURN_I:
  case HIA_OP_FORK:
  case HIA_OP_JOIN: return "cds";
  default: return "box";
  }
}

static void draw_node(drawing *d, hia_node_id n) {
  d->label.len = 0;
  hiaG_print_node(d->g, d->fn, n, &d->label);
  hiaR_text_addf(d->out, "f%un%u [shape=%s label=\"", d->fn_id, n, shape(&d->fn->nodes.data[n]));
  hiaG_dot_escape(d->label.data, d->out);
  add(d, "\"];\n");
}

static void open_cluster(drawing *d, hia_region_id r, const char *label) {
  hiaR_text_addf(d->out, "subgraph cluster_f%ur%u {\nlabel=\"%s", d->fn_id, r, label);
  hia_value_id pred = d->fn->regions.data[r].pred;
  if (pred != HIA_NONE) hiaR_text_addf(d->out, " %%%u", pred);
  add(d, "\";\n");
}

static const char *region_name(const hia_fn *fn, hia_region_id r) {
  static const char *const names[] = {"body", "then", "else", "head", "round", "each"};
  return names[fn->regions.data[r].kind];
}

/* ---- nodes in their clusters ---- */

static void draw_tree(drawing *d) {
  const hia_fn *fn = d->fn;
  hia_region_id r = 0;
  hia_node_id n = fn->regions.data[0].first;
  while (n != HIA_NONE || r != 0) {
    if (n == HIA_NONE) {
      hia_node_id owner = fn->regions.data[r].owner;
      add(d, "}\n");
      const hia_node *around = &fn->nodes.data[owner];
      if (r + 1 < around->regions + hiaG_n_regions(around->op)) {
        r++;
        open_cluster(d, r, region_name(fn, r));
        n = fn->regions.data[r].first;
      } else {
        n = fn->nodes.data[owner].next;
        r = fn->nodes.data[owner].region;
      }
      continue;
    }
    const hia_node *node = &fn->nodes.data[n];
    draw_node(d, n);
    if (node->regions != HIA_NONE) {
      r = node->regions;
      open_cluster(d, r, region_name(fn, r));
      n = fn->regions.data[r].first;
    } else {
      n = node->next;
    }
  }
}

static void draw_section(drawing *d) {
  const hia_fn *fn = d->fn;
  hia_arena *scratch = &d->g->comp->scratch;
  hia_mark mark = hiaR_arena_mark(scratch);
  hia_context_edge *edges;
  uint32_t n_edges = hiaG_contexts(scratch, fn, &edges), at = 0;
  for (hia_node_id n = 0; n <= fn->nodes.len; n++) {
    for (; at < n_edges && edges[at].at <= n; at++) {
      if (edges[at].is_end)
        add(d, "}\n");
      else
        open_cluster(d, edges[at].region, region_name(fn, edges[at].region));
    }
    if (n < fn->nodes.len) draw_node(d, n);
  }
  hiaR_arena_release(scratch, mark);
}

/* ---- edges ---- */

static void edge(drawing *d, hia_node_id from, hia_node_id to, const char *attributes) {
  hiaR_text_addf(d->out, "f%un%u -> f%un%u%s;\n", d->fn_id, from, d->fn_id, to, attributes);
}

static void draw_operands(drawing *d, hia_node_id n) {
  const hia_fn *fn = d->fn;
  const hia_node *node = &fn->nodes.data[n];
  for (uint32_t i = 0; i < node->n_ins; i++) {
    hia_value_id v = hiaG_in(fn, n, i);
    const hia_node *def = hiaG_def(fn, v);
    bool is_control = (node->op == HIA_OP_SWITCH && i == 1) || node->op == HIA_OP_IF;
    const char *label = def->op != HIA_OP_SWITCH ? "" : v == def->outs ? " label=T" : " label=F";
    hiaR_text_addf(d->out, "f%un%u -> f%un%u [style=%s%s];\n", d->fn_id, fn->values.data[v].node,
                   d->fn_id, n, is_control ? "dashed" : "solid", label);
  }
  if (node->regions == HIA_NONE) return;
  for (uint32_t i = 0; i < hiaG_n_regions(node->op); i++) {
    hia_node_id first = fn->regions.data[node->regions + i].first;
    if (first != HIA_NONE) edge(d, n, first, " [style=dashed]");
  }
}

/* The edge ends at the border of the callee, unless it begins inside of it. */
static void head(drawing *d, hia_fn_id caller, hia_fn_id callee) {
  if (callee != caller) hiaR_text_addf(d->out, " lhead=cluster_f%u", callee);
}

/* A call (function state), a gradient or a fork, to the first node of the function. */
static void draw_call(drawing *d, hia_node_id n, const char *style) {
  uint32_t callee = hiaG_called(d->g, &d->fn->nodes.data[n]);
  hiaR_text_addf(d->out, "f%un%u -> f%un%u [style=%s constraint=false", d->fn_id, n, callee,
                 hiaG_fn(d->g, callee)->regions.data[0].first, style);
  head(d, d->fn_id, callee);
  add(d, "];\n");
}

static void draw_site(drawing *d, const hia_site *site) {
  const hia_fn *callee = hiaG_fn(d->g, site->callee);
  for (uint32_t i = 0; i < site->n_calls; i++) {
    hiaR_text_addf(d->out, "f%un%u -> f%un%u [style=bold constraint=false", site->caller,
                   site->calls + i, site->callee, callee->n_params ? i : 0);
    /* Without parameters: the control token goes to the section as a whole. */
    if (!callee->n_params) head(d, site->caller, site->callee);
    add(d, "];\n");
  }
  for (uint32_t i = 0; i < site->n_returns; i++) {
    d->fn_id = site->caller;
    edge(d, site->calls, site->returns + i, " [style=dashed]");
    hiaR_text_addf(d->out, "f%un%u -> f%un%u [style=bold constraint=false];\n", site->callee,
                   callee->nodes.len - 1, site->caller, site->returns + i);
  }
}

void hiaG_dot(const hia_graph *g, hia_text *out) {
  drawing d = {.g = g, .out = out};
  hiaR_text_init(&d.label, &g->comp->arena);
  add(&d, "digraph hiaton {\ncompound=true;\nnode [fontname=monospace fontsize=10];\n"
          "edge [fontname=monospace fontsize=9];\n");
  for (d.fn_id = 0; d.fn_id < g->fns.len; d.fn_id++) {
    d.fn = hiaG_fn(g, d.fn_id);
    if (d.fn->is_removed) continue;
    hiaR_text_addf(out, "subgraph cluster_f%u {\nlabel=\"", d.fn_id);
    hiaG_dot_escape(d.fn->name, out);
    add(&d, "\";\n");
    if (g->state == HIA_STATIC)
      draw_section(&d);
    else
      draw_tree(&d);
    add(&d, "}\n");
    for (hia_node_id n = 0; n < d.fn->nodes.len; n++) {
      if (d.fn->nodes.data[n].flags & HIA_NODE_DEAD) continue;
      draw_operands(&d, n);
      unsigned op = d.fn->nodes.data[n].op;
      if (op == HIA_OP_CALL) draw_call(&d, n, "bold");
      if (op == HIA_OP_FORK) draw_call(&d, n, "\"bold,dashed\"");
      if (op == HIA_OP_GRAD) draw_call(&d, n, "\"bold,dotted\"");
    }
  }
  for (uint32_t s = 0; s < g->sites.len; s++) draw_site(&d, &g->sites.data[s]);
  add(&d, "}\n");
}
