/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The text form; docs/ir.md is its reference, read.c its inverse.
 *
 * Values, regions and locations are numbered in the order in which they are printed. In a compact
 * graph that is their index; any other graph is printed as it would be after compaction, so reading
 * and printing again gives the same bytes. Broken graphs are printed too, for messages about
 * defects. So indices are not trusted, and nesting is followed with a stack in memory, never by
 * recursion. */
#include "graph/ir/print.h"
#include "graph/ir/graph.h"
#include "graph/ir/region_order.h"
#include "runtime/base/loc.h"
#include <inttypes.h>

typedef struct printer {
  const hia_graph *g;
  const hia_fn *fn;
  hia_text *out;
  hia_arena *scratch;
  bool is_raw;         /* numbers are indices; no table of locations */
  bool is_unplaced;    /* locations are indices, and what the source says of them is left out */
  uint32_t *values;    /* number of each value of fn, NONE: its definition is not printed */
  uint32_t *regions;   /* static state: number of each region of fn, NONE likewise */
  uint32_t *locs;      /* line in the table of locations, NONE: not there yet */
  hia_u32vec loc_list; /* the table */
} printer;

static void word(const printer *p, const char *text) { hiaR_text_add(p->out, text, strlen(text)); }

/* Indentation is limited: else the text would be quadratic in the depth of nesting. */
enum { MAX_INDENT = 32 };
static void indent(const printer *p, uint32_t depth) {
  static const char spaces[2 * MAX_INDENT + 1] =
      "                                                                ";
  hiaR_text_add(p->out, spaces, 2 * (depth < MAX_INDENT ? depth : MAX_INDENT));
}

static bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static void quoted(const printer *p, const char *text) {
  word(p, "\"");
  for (const char *c = text; *c; c++) {
    if (*c == '"' || *c == '\\')
      hiaR_text_addf(p->out, "\\%c", *c);
    else if (*c >= ' ' && *c <= '~')
      hiaR_text_add(p->out, c, 1);
    else
      hiaR_text_addf(p->out, "\\x%02x", (unsigned)(unsigned char)*c);
  }
  word(p, "\"");
}

static void name(const printer *p, const char *text) {
  const char *c = text;
  if (is_letter(*c))
    while (is_letter(*c) || is_digit(*c)) c++;
  if (c == text || *c)
    quoted(p, text);
  else
    word(p, text);
}

static void source_name(const printer *p, uint32_t i) {
  name(p, i < p->g->names.len ? p->g->names.data[i] : "?");
}

static void fn_name(const printer *p, uint64_t id) {
  name(p, id < p->g->fns.len ? p->g->fns.data[id]->name : "?");
}

static void value(const printer *p, hia_value_id v) {
  uint32_t number = p->values && v < p->fn->values.len ? p->values[v] : v;
  if (p->values && number == HIA_NONE)
    hiaR_text_addf(p->out, "%%?%u", v); /* not in a region: only in broken graphs */
  else
    hiaR_text_addf(p->out, "%%%u", number);
}

static void region(const printer *p, uint32_t r) {
  uint32_t number = p->regions && r < p->fn->regions.len ? p->regions[r] : r;
  hiaR_text_addf(p->out, number == HIA_NONE ? ".?" : ".%u", number);
}

static void location(printer *p, hia_loc_id loc) {
  if (loc == HIA_NONE) return;
  if (loc >= p->g->locs.len) {
    word(p, " !?");
    return;
  }
  if (p->is_unplaced) {
    hiaR_text_addf(p->out, " !%u", loc);
    return;
  }
  const hia_loc *locs = p->g->locs.data;
  if (p->is_raw || (locs[loc].fn == p->fn->source && locs[loc].parent == HIA_NONE)) {
    hiaR_text_addf(p->out, " !%u:%u", locs[loc].line, locs[loc].col);
    return;
  }
  if (!p->locs) {
    p->locs = HIA_NEW_ARRAY(p->scratch, uint32_t, p->g->locs.len);
    memset(p->locs, 0xff, p->g->locs.len * sizeof *p->locs);
  }
  /* Outer positions come before inner ones. A parent is made before its children. */
  uint32_t first = p->loc_list.len;
  for (hia_loc_id l = loc; l < p->g->locs.len && p->locs[l] == HIA_NONE; l = locs[l].parent) {
    hiaR_push(p->scratch, &p->loc_list, l);
    p->locs[l] = 0;
  }
  for (uint32_t i = first, k = p->loc_list.len; i + 1 < k; i++) {
    uint32_t l = p->loc_list.data[i];
    p->loc_list.data[i] = p->loc_list.data[--k];
    p->loc_list.data[k] = l;
  }
  for (uint32_t i = first; i < p->loc_list.len; i++) p->locs[p->loc_list.data[i]] = i;
  hiaR_text_addf(p->out, " !%u", p->locs[loc]);
}

static void location_table(printer *p) {
  for (uint32_t i = 0; i < p->loc_list.len; i++) {
    const hia_loc *l = &p->g->locs.data[p->loc_list.data[i]];
    hiaR_text_addf(p->out, "!%u = ", i);
    if (hiaR_loc_is_operand(l->fn)) {
      hiaR_text_addf(p->out, "%u %u:%u+%u", hiaR_loc_operand(l->fn), l->line, l->col,
                     hiaR_loc_len(l->fn));
    } else if (hiaR_loc_is_element(l->fn)) {
      hiaR_text_addf(p->out, "[] %u:%u", l->line, l->col);
    } else {
      source_name(p, l->fn);
      hiaR_text_addf(p->out, " %u:%u", l->line, l->col);
    }
    if (l->parent < p->g->locs.len) hiaR_text_addf(p->out, " in !%u", p->locs[l->parent]);
    word(p, "\n");
  }
}

/* All locations, without lines and columns. */
static void unplaced_table(printer *p) {
  for (hia_loc_id i = 0; i < p->g->locs.len; i++) {
    const hia_loc *l = &p->g->locs.data[i];
    hiaR_text_addf(p->out, "!%u = ", i);
    if (hiaR_loc_is_operand(l->fn))
      hiaR_text_addf(p->out, "%u", hiaR_loc_operand(l->fn));
    else if (hiaR_loc_is_element(l->fn))
      word(p, "[]");
    else
      source_name(p, l->fn);
    if (l->parent < p->g->locs.len) hiaR_text_addf(p->out, " in !%u", l->parent);
    word(p, "\n");
  }
}

/* Writes a float as %a does without the locale's decimal point: 0x1.8p+1. An f32 is written as the
 * f64 of the same value. */
static void hex_float(const printer *p, hia_type type, hia_word w) {
  bool is_f32 = type == HIA_F32;
  uint64_t bits = is_f32 ? hiaR_from_f64((double)hiaR_to_f32(w)) : w;
  uint64_t fraction = bits & 0xfffffffffffff;
  int exponent = (int)(bits >> 52 & 0x7ff);
  if (exponent == 0x7ff && fraction) { /* NaN: by its bits, since conversion would change them */
    w = is_f32 ? (uint32_t)w : w;
    word(p, "nan");
    if (w != (is_f32 ? 0x7fc00000u : 0x7ff8000000000000u)) hiaR_text_addf(p->out, ":0x%" PRIx64, w);
    return;
  }
  if (bits >> 63) word(p, "-");
  if (exponent == 0x7ff) {
    word(p, "inf");
    return;
  }
  hiaR_text_addf(p->out, "0x%c", exponent ? '1' : '0');
  if (fraction) {
    int digits = 13;
    while ((fraction & 15) == 0) fraction >>= 4, digits--;
    hiaR_text_addf(p->out, ".%0*" PRIx64, digits, fraction);
  }
  exponent = exponent ? exponent - 1023 : bits << 1 ? -1022 : 0;
  hiaR_text_addf(p->out, "p%+d", exponent);
}

static void ctor_name(const printer *p, hia_type type, uint64_t number) {
  const hia_types *types = p->g->types;
  bool is_data = hiaG_type_exists(types, type) && hiaG_type_kind(types, type) == HIA_KIND_DATA;
  const hia_type_entry *e = is_data ? &types->entries.data[type - HIA_FIRST_TYPE] : NULL;
  if (e && number < e->n)
    name(p, types->names.data + types->ctors.data[e->first + number].name);
  else
    word(p, "?");
}

static void constant(const printer *p, hia_type type, hia_word w) {
  char buf[40];
  if (!hiaG_is_scalar(type)) {
    if (w >= HIA_FIRST_ADDRESS)
      word(p, "object");
    else
      ctor_name(p, type, w);
    return;
  }
  if (type == HIA_F32 || type == HIA_F64)
    hex_float(p, type, w);
  else
    hiaR_text_add(p->out, buf, hiaR_print_word(buf, sizeof buf, type, w));
}

static void type_name(const printer *p, hia_type type) {
  word(p, hiaG_type_text(p->g->types, type));
}

/* Writes `[2, 3] 1 2 3 4 5 6`. */
static void literal(const printer *p, const hia_tensor_literal *l) {
  for (uint32_t i = 0; i < l->shape.rank; i++)
    hiaR_text_addf(p->out, "%s%" PRId64, i ? ", " : "[", l->shape.dims[i]);
  word(p, "]");
  for (uint64_t i = 0; i < hiaG_literal_len(l); i++) {
    word(p, " ");
    constant(p, l->dtype, hiaG_literal_get(l, i));
  }
}

/* Writes `f value (0, param W, sum V)`, with parameters by number. */
static void gradient(const printer *p, const hia_gradient_of *of) {
  fn_name(p, of->fn);
  if (of->has_value) word(p, " value");
  for (uint32_t i = 0; i < of->n; i++) {
    word(p, i ? ", " : " (");
    if (!of->wrt[i].is_param) {
      hiaR_text_addf(p->out, "%u", of->wrt[i].i);
      continue;
    }
    word(p, of->wrt[i].is_sum ? "sum " : "param ");
    name(p, of->wrt[i].i < p->g->params.len ? p->g->params.data[of->wrt[i].i].name : "?");
  }
  word(p, of->n ? ")" : " ()");
}

/* Writes the immediate of a node. That of a cast is left out, since the operand shows it. */
static void immediate(const printer *p, const hia_node *node) {
  const hia_fn *fn = p->fn;
  uint32_t a = HIA_IMM_A(node->imm), b = HIA_IMM_B(node->imm);
  hia_imm holds = (hia_imm)hiaR_ops[node->op].imm;
  if (holds == HIA_IMM_NONE || holds == HIA_IMM_DTYPE) return;
  word(p, " ");
  switch (holds) {
  case HIA_IMM_WORD:
    if (node->n_outs == 1 && node->outs < fn->values.len)
      constant(p, fn->values.data[node->outs].type, node->imm);
    break;
  case HIA_IMM_CTOR:
    if (node->n_outs == 1 && node->outs < fn->values.len)
      ctor_name(p, fn->values.data[node->outs].type, node->imm);
    break;
  case HIA_IMM_REMADE:
    if (node->n_outs == 1 && node->outs < fn->values.len)
      ctor_name(p, fn->values.data[node->outs].type, a);
    hiaR_text_addf(p->out, ".%u", b);
    break;
  case HIA_IMM_FIELD:
    if (node->n_ins == 1 && node->ins < fn->edges.len && fn->edges.data[node->ins] < fn->values.len)
      ctor_name(p, hiaG_type(fn, fn->edges.data[node->ins]), a);
    hiaR_text_addf(p->out, ".%u", b);
    break;
  case HIA_IMM_AXIS:
    if (node->imm == HIA_NONE) {
      word(p, "all");
      break;
    } /* fall through */
  case HIA_IMM_AXES:
  case HIA_IMM_NUMBER: hiaR_text_addf(p->out, "%" PRIu64, node->imm); break;
  case HIA_IMM_CALLEE: fn_name(p, node->imm); break;
  case HIA_IMM_GRADIENT:
    if (node->imm < p->g->gradients.len) gradient(p, &p->g->gradients.data[node->imm]);
    break;
  case HIA_IMM_FORK_OF:
    hiaR_text_addf(p->out, "%u ", b);
    fn_name(p, a);
    break;
  case HIA_IMM_FORK: hiaR_text_addf(p->out, "%u", b); break;
  case HIA_IMM_EXTERN:
    name(p, node->imm < p->g->externs.len ? p->g->externs.data[node->imm].name : "?");
    break;
  case HIA_IMM_PARAM:
    name(p, node->imm < p->g->params.len ? p->g->params.data[node->imm].name : "?");
    break;
  case HIA_IMM_LITERAL:
    if (node->imm < p->g->literals.len) literal(p, &p->g->literals.data[node->imm]);
    break;
  case HIA_IMM_SITE: hiaR_text_addf(p->out, "%u.%u", a, b); break;
  case HIA_IMM_REGION: region(p, a); break;
  default: break;
  }
}

/* Writes the line of one node, from its results to its location. */
static void node_line(printer *p, hia_node_id n) {
  const hia_fn *fn = p->fn;
  const hia_node *node = &fn->nodes.data[n];
  const char *mnemonic = node->op < HIA_OP_LIMIT ? hiaR_ops[node->op].name : NULL;
  for (uint32_t i = 0; i < node->n_outs; i++) {
    if (i) word(p, ", ");
    value(p, node->outs + i);
    hia_value_id v = node->outs + i;
    word(p, ":");
    if (v < fn->values.len)
      type_name(p, fn->values.data[v].type);
    else
      word(p, "?");
  }
  if (node->n_outs) word(p, " = ");
  word(p, mnemonic ? mnemonic : "?");
  if (mnemonic) immediate(p, node);
  for (uint32_t i = 0; i < node->n_ins; i++) {
    word(p, i ? ", " : " ");
    value(p, node->ins + i < fn->edges.len ? hiaG_in(fn, n, i) : HIA_NONE);
  }
  if (node->op == HIA_OP_ENTER && HIA_IMM_B(node->imm)) word(p, " invariant");
  if (node->flags & HIA_NODE_TAIL) word(p, " tail");
  if (node->flags & HIA_NODE_FREE) word(p, " free");
  location(p, node->loc);
}

void hiaG_print_node(const hia_graph *g, const hia_fn *fn, hia_node_id n, hia_text *out) {
  printer p = {.g = g, .fn = fn, .out = out, .scratch = &g->comp->scratch, .is_raw = true};
  if (n < fn->nodes.len)
    node_line(&p, n);
  else
    hiaR_text_addf(out, "node %u, which does not exist", n);
}

static void type_list(const printer *p, const hia_type *types, uint32_t n) {
  word(p, "(");
  for (uint32_t i = 0; i < n; i++) {
    if (i) word(p, ", ");
    type_name(p, types[i]);
  }
  word(p, ")");
}

static void own_gradient(printer *p, hia_fn_id f) {
  if (f >= p->g->fns.len) return;
  word(p, " gradient ");
  name(p, hiaG_fn(p->g, f)->name);
}

static void extern_line(printer *p, const hia_extern *e) {
  word(p, "extern ");
  name(p, e->name);
  word(p, " (");
  for (uint32_t i = 0; i < e->n_sig_params; i++) {
    if (i) word(p, ", ");
    hiaG_type_print(p->g->types, e->sig_params[i], p->out);
  }
  word(p, ") -> ");
  hiaG_type_print(p->g->types, e->result, p->out);
  if (e->is_impure) word(p, " impure");
  if (e->raises) word(p, " raises");
  own_gradient(p, e->gradient);
  word(p, "\n");
}

/* Writes `rows ([3], []) -> ([2, 3])`. */
static void rows(printer *p) {
  const hia_fn *fn = p->fn;
  word(p, " rows (");
  for (uint32_t i = 0; i < fn->n_params + fn->n_results; i++) {
    const hia_dims *row = &fn->rows[i];
    if (i) word(p, i == fn->n_params ? ") -> (" : ", ");
    word(p, "[");
    for (uint32_t k = 0; k < row->rank; k++)
      hiaR_text_addf(p->out, "%s%" PRId64, k ? ", " : "", row->dims[k]);
    word(p, "]");
  }
  word(p, ")");
}

static void header(printer *p) {
  const hia_fn *fn = p->fn;
  word(p, "\nfn ");
  name(p, fn->name);
  word(p, " ");
  type_list(p, fn->params, fn->n_params);
  word(p, " -> ");
  type_list(p, fn->results, fn->n_results);
  if (fn->source >= p->g->names.len || strcmp(p->g->names.data[fn->source], fn->name) != 0) {
    word(p, " of ");
    source_name(p, fn->source);
  }
  if (fn->is_root) {
    word(p, " root (");
    for (uint32_t i = 0; i < fn->n_sig_params; i++) {
      if (i) word(p, ", ");
      hiaG_type_print(p->g->types, fn->sig_params[i], p->out);
    }
    word(p, ") -> ");
    hiaG_type_print(p->g->types, fn->sig_result, p->out);
  }
  if (fn->group) hiaR_text_addf(p->out, " group %u", fn->group);
  if (fn->effects & HIA_E_RAISES) word(p, " raises");
  if (fn->effects & HIA_E_DIVERGES) word(p, " diverges");
  if (fn->effects & HIA_E_RECURSIVE) word(p, " recursive");
  if (fn->effects & HIA_E_COUNTS) word(p, " effect");
  if (fn->effects & HIA_E_IMPURE) word(p, " impure");
  if (fn->is_halving) word(p, " halving");
  if (fn->is_freezing) word(p, " freezing");
  if (fn->is_apart) word(p, " apart");
  if (fn->is_recomputed) word(p, " recompute");
  own_gradient(p, fn->gradient);
  if (fn->slow_path < p->g->fns.len) {
    word(p, " slow_path ");
    name(p, hiaG_fn(p->g, fn->slow_path)->name);
  }
  if (fn->owning_of < p->g->fns.len) {
    word(p, " owning ");
    name(p, hiaG_fn(p->g, fn->owning_of)->name);
  }
  if (fn->rows) rows(p);
  location(p, fn->loc);
  word(p, " {\n");
}

/* ---- function state ---- */

/* Walks the tree of regions; `emit` false: only numbers the values. A broken list may be a circle,
 * so the number of nodes is bounded. */
static void tree(printer *p, bool emit) {
  const hia_fn *fn = p->fn;
  hia_region_id r = 0;
  hia_node_id n = fn->regions.data[0].first;
  uint32_t depth = 1, number = 0, visited = 0;
  for (;;) {
    if (n >= fn->nodes.len) {
      const hia_region *at = &fn->regions.data[r];
      if (at->owner >= fn->nodes.len) break; /* the body */
      const hia_node *owner = &fn->nodes.data[at->owner];
      if (emit) indent(p, depth - 1);
      if (r + 1 < owner->regions + hiaG_n_regions(owner->op)) {
        if (emit) word(p, at->kind == HIA_REGION_THEN ? "} else {\n" : "} round {\n");
        n = r + 1 < fn->regions.len ? fn->regions.data[++r].first : HIA_NONE;
      } else {
        if (emit) word(p, "}\n");
        depth--;
        n = owner->next;
        r = owner->region;
      }
      continue;
    }
    if (visited++ == fn->nodes.len) {
      if (emit) word(p, "  # the rest goes round in a circle\n");
      break;
    }
    const hia_node *node = &fn->nodes.data[n];
    if (emit) {
      indent(p, depth);
      node_line(p, n);
    } else {
      for (uint32_t i = 0; i < node->n_outs; i++)
        if (node->outs + i < fn->values.len) p->values[node->outs + i] = number++;
    }
    uint32_t n_regions = hiaG_n_regions(node->op);
    if (n_regions && node->regions != HIA_NONE && node->regions + n_regions <= fn->regions.len) {
      if (emit) word(p, " {\n");
      depth++;
      r = node->regions;
      n = fn->regions.data[r].first;
    } else {
      if (emit) word(p, "\n");
      n = node->next;
    }
  }
}

/* ---- static state ---- */

static void site_line(printer *p, uint32_t s, uint32_t depth) {
  const hia_site *site = &p->g->sites.data[s];
  indent(p, depth);
  hiaR_text_addf(p->out, "site %u ", s);
  fn_name(p, site->callee);
  if (site->is_tail) word(p, " tail");
  if (site->partner != HIA_NONE) hiaR_text_addf(p->out, " partner %u", site->partner);
  location(p, site->loc);
  word(p, "\n");
}

static void region_line(printer *p, const hia_context_edge *edge, const hia_context_edge *next,
                        uint32_t *depth) {
  const hia_region *r = &p->fn->regions.data[edge->region];
  if (edge->is_end) {
    --*depth;
    /* `else` is on the line of the brace before it. */
    bool is_then =
        next && !next->is_end && r->kind == HIA_REGION_THEN && next->region == edge->region + 1;
    indent(p, *depth);
    word(p, is_then ? "} " : "}\n");
    return;
  }
  if (r->kind != HIA_REGION_ELSE) indent(p, *depth);
  switch (r->kind) {
  case HIA_REGION_THEN: word(p, "then "); break;
  case HIA_REGION_ELSE: word(p, "else "); break;
  case HIA_REGION_HEAD: word(p, "head "); break;
  default: word(p, "round "); break;
  }
  region(p, edge->region);
  if (r->kind == HIA_REGION_THEN || r->kind == HIA_REGION_ROUND) {
    word(p, " ");
    value(p, r->pred);
  }
  word(p, " {\n");
  ++*depth;
}

static void section(printer *p) {
  const hia_fn *fn = p->fn;
  hia_context_edge *edges;
  uint32_t n_edges = hiaG_contexts(p->scratch, fn, &edges), at = 0, depth = 1, number = 1;
  p->regions[0] = 0;
  for (uint32_t i = 0; i < n_edges; i++) {
    hia_region_id r = edges[i].region;
    unsigned kind = fn->regions.data[r].kind;
    if (edges[i].is_end || kind == HIA_REGION_ELSE || kind == HIA_REGION_ROUND) continue;
    p->regions[r] = number++;
    if (r + 1 < fn->regions.len) p->regions[r + 1] = number++;
  }
  number = 0;
  for (hia_node_id n = 0; n < fn->nodes.len; n++)
    for (uint32_t i = 0; i < fn->nodes.data[n].n_outs; i++)
      if (fn->nodes.data[n].outs + i < fn->values.len)
        p->values[fn->nodes.data[n].outs + i] = number++;
  for (hia_node_id n = 0; n <= fn->nodes.len; n++) {
    for (; at < n_edges && (edges[at].at <= n || n == fn->nodes.len); at++)
      region_line(p, &edges[at], at + 1 < n_edges ? &edges[at + 1] : NULL, &depth);
    if (n == fn->nodes.len) break;
    const hia_node *node = &fn->nodes.data[n];
    uint32_t s = HIA_IMM_A(node->imm);
    if (node->op == HIA_OP_CALL_I && s < p->g->sites.len && p->g->sites.data[s].calls == n)
      site_line(p, s, depth);
    indent(p, depth);
    node_line(p, n);
    word(p, "\n");
  }
}

/* `type List = Nil | Cons(head: i32, tail: List)`; the sizes of fields stand behind all of them:
 * `Leaf(v: f32[?, ?]) sized [3, ?]` */
static void type_line(printer *p, const hia_type_entry *e) {
  const hia_types *types = p->g->types;
  word(p, "type ");
  name(p, types->names.data + e->name);
  for (uint32_t i = 0; i < e->n; i++) {
    const hia_ctor *ctor = &types->ctors.data[e->first + i];
    word(p, i ? " | " : " = ");
    name(p, types->names.data + ctor->name);
    for (uint32_t k = 0; k < ctor->n; k++) {
      const hia_ctor_field *field = &types->fields.data[ctor->first + k];
      word(p, k ? ", " : "(");
      name(p, types->names.data + field->name);
      word(p, ": ");
      type_name(p, field->type);
    }
    if (ctor->n) word(p, ")");
    for (uint32_t k = 0; k < ctor->n_sizes; k++) {
      uint32_t size = types->parts.data[ctor->sizes + k];
      word(p, k ? ", " : " sized [");
      if (size == HIA_NONE)
        word(p, "?");
      else
        hiaR_text_addf(p->out, "%u", size);
    }
    if (ctor->n_sizes) word(p, "]");
  }
  word(p, "\n");
}

/* Writes `param W: f32[3, 4] = uniform(-0.5, 0.5)`. */
static void param_line(printer *p, const hia_param_spec *spec) {
  hia_word operands[] = {hiaR_from_f64(spec->a), hiaR_from_f64(spec->b)};
  word(p, "param ");
  name(p, spec->name);
  hiaR_text_addf(p->out, ": %s", hiaG_dtype_name(spec->dtype));
  for (uint32_t i = 0; i < spec->shape.rank; i++)
    hiaR_text_addf(p->out, "%s%" PRId64, i ? ", " : "[", spec->shape.dims[i]);
  if (spec->shape.rank) word(p, "]");
  hiaR_text_addf(p->out, " = %s(", hiaR_init_name(spec->init));
  for (uint32_t i = 0; i < hiaR_init_arity(spec->init); i++) {
    if (i) word(p, ", ");
    constant(p, HIA_F64, operands[i]);
  }
  word(p, ")\n");
}

/* Adds the data types in a type to the list, those that are not in it, in the order of its text. */
static void list_mentioned(printer *p, hia_type type, bool *is_listed, hia_u32vec *list) {
  const hia_types *types = p->g->types;
  hia_u32vec left = {0};
  hiaR_push(p->scratch, &left, type);
  while (left.len) {
    type = left.data[--left.len];
    if (hiaG_is_scalar(type)) continue;
    const hia_type_entry *e = &types->entries.data[type - HIA_FIRST_TYPE];
    if (e->kind == HIA_KIND_ARRAY) hiaR_push(p->scratch, &left, e->element);
    for (uint32_t i = e->kind == HIA_KIND_TUPLE ? e->n : 0; i-- > 0;)
      hiaR_push(p->scratch, &left, types->parts.data[e->first + i]);
    if (e->kind != HIA_KIND_DATA || is_listed[type - HIA_FIRST_TYPE]) continue;
    is_listed[type - HIA_FIRST_TYPE] = true;
    hiaR_push(p->scratch, list, type - HIA_FIRST_TYPE);
  }
}

/* In the order in which a reader meets them: so what was read prints the same. */
static void type_lines(printer *p) {
  const hia_types *types = p->g->types;
  bool *is_listed = HIA_NEW_ARRAY(p->scratch, bool, types->entries.len + 1);
  hia_u32vec list = {0};
  bool any = false;
  for (uint32_t i = 0, at = 0; i < types->entries.len; i++) {
    if (types->entries.data[i].kind != HIA_KIND_DATA || !types->entries.data[i].n) continue;
    list_mentioned(p, HIA_FIRST_TYPE + i, is_listed, &list);
    for (; at < list.len; at++) {
      const hia_type_entry *e = &types->entries.data[list.data[at]];
      if (!e->n) continue;
      if (!any) word(p, "\n");
      any = true;
      type_line(p, e);
      for (uint32_t k = 0; k < e->n; k++) {
        const hia_ctor *ctor = &types->ctors.data[e->first + k];
        for (uint32_t f = 0; f < ctor->n; f++)
          list_mentioned(p, types->fields.data[ctor->first + f].type, is_listed, &list);
      }
    }
  }
}

static void print_graph(const hia_graph *g, bool is_unplaced, hia_text *out) {
  printer p = {.g = g, .out = out, .scratch = &g->comp->scratch, .is_unplaced = is_unplaced};
  hia_mark mark = hiaR_arena_mark(p.scratch);
  word(&p, g->state == HIA_STATIC ? "graph static " : "graph functions ");
  quoted(&p, is_unplaced ? "" : g->file);
  if (g->is_counted) word(&p, " counted");
  word(&p, "\n");
  type_lines(&p);
  if (g->externs.len) word(&p, "\n");
  for (uint32_t i = 0; i < g->externs.len; i++) extern_line(&p, &g->externs.data[i]);
  if (g->params.len) word(&p, "\n");
  for (uint32_t i = 0; i < g->params.len; i++) param_line(&p, &g->params.data[i]);
  /* One table for all functions: their sum may be far larger than the largest. */
  uint32_t n_values = 0, n_regions = 0;
  for (hia_fn_id f = 0; f < g->fns.len; f++) {
    const hia_fn *fn = hiaG_fn(g, f);
    if (fn->values.len > n_values) n_values = fn->values.len;
    if (fn->regions.len > n_regions) n_regions = fn->regions.len;
  }
  p.values = HIA_NEW_ARRAY(p.scratch, uint32_t, n_values);
  p.regions = HIA_NEW_ARRAY(p.scratch, uint32_t, n_regions);
  HIA_EACH_FN(g, f) {
    p.fn = hiaG_fn(g, f);
    memset(p.values, 0xff, p.fn->values.len * sizeof *p.values);
    memset(p.regions, 0xff, p.fn->regions.len * sizeof *p.regions);
    header(&p);
    if (g->state == HIA_STATIC) {
      section(&p);
    } else {
      tree(&p, false);
      tree(&p, true);
    }
    word(&p, "}\n");
  }
  if (p.loc_list.len) word(&p, "\n");
  (is_unplaced ? unplaced_table : location_table)(&p);
  hiaR_arena_release(p.scratch, mark);
}

void hiaG_print(const hia_graph *g, hia_text *out) { print_graph(g, false, out); }
void hiaG_print_unplaced(const hia_graph *g, hia_text *out) { print_graph(g, true, out); }
