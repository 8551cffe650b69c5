/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Reads the text form; docs/ir.md is its reference, print.c its inverse.
 *
 * The text comes from users. The reader checks what the verifier cannot see any more: names and
 * numbers refer to something, each has one definition, braces are balanced. All that concerns the
 * graph is left to the verifier. The first mistake ends the reading. Time and memory are linear in
 * the text: numbers of values and regions index tables only up to the length of the text, and each
 * entry has the number of the function it was made for, so that tables are not cleared per
 * function. Nesting is kept in a stack in memory. */
#include "graph/read/scan.h"
#include "graph/ir/sums.h"
#include "runtime/base/loc.h"

/* What a number of the text refers to. */
typedef struct {
  uint32_t epoch; /* function (counted from 1) that it belongs to */
  uint32_t is;    /* value or region */
} label;
typedef HIA_VEC(label) label_table;

typedef enum {
  FIX_VALUE,
  FIX_REGION,
  FIX_CALLEE,       /* of a node */
  FIX_CALLEE_SITE,  /* of a site */
  FIX_GRADIENT,     /* the function of a gradient */
  FIX_SLOW_PATH,    /* of a function */
  FIX_OWNING,       /* of a function */
  FIX_OWN_GRADIENT, /* of a function */
  FIX_OF_EXTERN,    /* the gradient of an extern */
  FIX_LOC_NODE,     /* from here on: locations */
  FIX_LOC_FN,
  FIX_LOC_SITE,
} fix_kind;

/* A use before its definition. Those of values and regions are resolved at the end of the function,
 * those of functions and locations at the end of the file. */
typedef struct {
  fix_kind kind;
  hia_fn_id fn;
  uint32_t at;     /* edge, node, site, gradient or extern to correct */
  uint32_t number; /* of the text; of callees: index into reader.callees */
  hia_position where;
} fix;

typedef struct {
  hia_region_id region;
  hia_node_id node; /* function state: the IF or LOOP */
} open_region;

typedef struct reader {
  hia_graph *g;
  hia_scanner *s;

  hia_fn *fn;
  hia_fn_id fn_id;
  uint32_t epoch;
  label_table values, regions;
  HIA_VEC(fix) fn_fixes, file_fixes;
  HIA_VEC(const char *) callees;
  HIA_VEC(hia_loc_id) locs; /* the table of locations */
  hia_index fn_names, extern_names;
  hia_u32vec data;  /* types that the text has defined */
  const char *ctor; /* of the FIELD that is being read, and where its name stands */
  hia_position ctor_place;
  HIA_VEC(open_region) stack;
  hia_u32vec ins;
  HIA_VEC(hia_type) outs;
  hia_u32vec out_numbers;
  HIA_VEC(hia_position) node_places; /* of all functions, one after the other */
  hia_u32vec first_place;            /* by function */
} reader;

#define fail(s, ...) hiaG_scan_fail((s), hiaG_scan_here(s), __VA_ARGS__)

/* ---- numbers of values, regions and locations ---- */

static label *label_of(reader *r, label_table *table, uint32_t n, hia_position where) {
  /* Each definition takes characters. So a number larger than the text is a mistake, and is refused
   * before it costs memory. */
  if (n > (size_t)(r->s->end - r->s->text))
    hiaG_scan_fail(r->s, where, "number %u is too large", n);
  if (n >= table->len) {
    hiaR_reserve(r->s->scratch, table, n + 1);
    memset(table->data + table->len, 0, (n + 1 - table->len) * sizeof(label));
    table->len = n + 1;
  }
  return &table->data[n];
}

static void define(reader *r, label_table *table, uint32_t n, uint32_t is, hia_position where,
                   const char *sigil) {
  label *l = label_of(r, table, n, where);
  if (l->epoch == r->epoch) hiaG_scan_fail(r->s, where, "%s%u is defined twice", sigil, n);
  *l = (label){r->epoch, is};
}

static uint32_t find(const reader *r, const label_table *table, uint32_t n) {
  return n < table->len && table->data[n].epoch == r->epoch ? table->data[n].is : HIA_NONE;
}

/* A value that is defined already. */
static hia_value_id value(reader *r) {
  hiaG_scan_skip(r->s);
  hia_position where = hiaG_scan_here(r->s);
  hiaG_scan_need(r->s, '%');
  uint32_t n = hiaG_scan_index(r->s);
  if (hiaG_scan_peek(r->s) == ':')
    hiaG_scan_fail(r->s, where, "the next node begins on a new line");
  hia_value_id v = find(r, &r->values, n);
  if (v == HIA_NONE) hiaG_scan_fail(r->s, where, "%%%u is not defined before its use", n);
  return v;
}

static uint32_t region_label(reader *r, hia_position *where) {
  hiaG_scan_skip(r->s);
  *where = hiaG_scan_here(r->s);
  hiaG_scan_need(r->s, '.');
  return hiaG_scan_index(r->s);
}

static void fix_later(reader *r, bool at_end_of_file, fix_kind kind, uint32_t at, uint32_t n,
                      hia_position where) {
  fix f = {kind, r->fn_id, at, n, where};
  if (at_end_of_file)
    hiaR_push(r->s->scratch, &r->file_fixes, f);
  else
    hiaR_push(r->s->scratch, &r->fn_fixes, f);
}

/* Reads a location, if there is one. A position of this function is resolved at once; any other is
 * NONE until the end of the file. */
static hia_loc_id location(reader *r, fix_kind kind, uint32_t at) {
  if (!hiaG_scan_accept(r->s, '!')) return HIA_NONE;
  hia_position where = hiaG_scan_here(r->s);
  uint32_t line = hiaG_scan_u32(r->s);
  if (hiaG_scan_peek(r->s) == ':') {
    r->s->at++;
    return hiaG_loc(r->g, line, hiaG_scan_u32(r->s), r->fn->source, HIA_NONE);
  }
  fix_later(r, true, kind, at, line, where);
  return HIA_NONE;
}

/* ---- functions ---- */

static hia_region_id new_region(reader *r, unsigned kind, hia_region_id parent) {
  hia_region region = {.kind = (uint8_t)kind,
                       .parent = parent,
                       .owner = HIA_NONE,
                       .first = HIA_NONE,
                       .last = HIA_NONE,
                       .pred = HIA_NONE};
  hiaR_push(r->s->arena, &r->fn->regions, region);
  return r->fn->regions.len - 1;
}

static void callee(reader *r, fix_kind kind, uint32_t at) {
  hiaG_scan_skip(r->s);
  hia_position where = hiaG_scan_here(r->s);
  hiaR_push(r->s->scratch, &r->callees, hiaG_scan_name(r->s));
  fix_later(r, true, kind, at, r->callees.len - 1, where);
}

static uint32_t find_param(const reader *r, const char *param_name) {
  for (uint32_t i = 0; i < r->g->params.len; i++)
    if (strcmp(r->g->params.data[i].name, param_name) == 0) return i;
  return HIA_NONE;
}

static uint32_t find_extern(const reader *r, const char *extern_name) {
  uint32_t hash = hiaR_hash(extern_name, strlen(extern_name)), at = hash, i;
  while ((i = hiaR_index_next(&r->extern_names, hash, &at)) != HIA_NONE)
    if (strcmp(r->g->externs.data[i].name, extern_name) == 0) return i;
  return HIA_NONE;
}

/* `[2, 3] 1 2 3 4 5 6`, of a result that has been read. */
static uint32_t literal(reader *r, hia_position place) {
  hia_scanner *s = r->s;
  hia_dims shape = {0};
  uint64_t n;
  hia_dtype dtype = r->outs.len == 1 ? hiaG_dtype(s->types, r->outs.data[0]) : HIA_N_DTYPES;
  if (dtype == HIA_N_DTYPES) hiaG_scan_fail(s, place, "a literal is a tensor");
  hiaG_scan_need(s, '[');
  do {
    if (shape.rank == HIA_MAX_RANK) hiaG_scan_fail(s, place, "too many axes");
    shape.dims[shape.rank++] = hiaR_to_i64(hiaG_scan_constant(s, HIA_I64));
    if (shape.dims[shape.rank - 1] < 0) hiaG_scan_fail(s, place, "a size is not negative");
  } while (hiaG_scan_accept(s, ','));
  hiaG_scan_need(s, ']');
  /* Each element takes a byte of the text at least: so bad input takes no more memory. */
  if (!hiaR_shape_elements(&shape, 1, &n) || n > (uint64_t)(s->end - s->at))
    hiaG_scan_fail(s, place, "the text has fewer elements");
  uint32_t number = hiaG_literal_new(r->g, dtype, &shape);
  if (number == HIA_NONE) hiaG_scan_fail(s, place, "too many elements");
  for (uint64_t i = 0; i < n; i++)
    hiaG_literal_put(&r->g->literals.data[number], i, hiaG_scan_constant(s, dtype));
  return number;
}

static uint32_t param(reader *r) {
  hiaG_scan_skip(r->s);
  hia_position where = hiaG_scan_here(r->s);
  const char *param_name = hiaG_scan_name(r->s);
  uint32_t number = find_param(r, param_name);
  if (number == HIA_NONE) hiaG_scan_fail(r->s, where, "there is no param %s", param_name);
  return number;
}

/* `f value (0, param W, sum V)`; parameters by number */
static uint32_t gradient(reader *r) {
  HIA_VEC(hia_wrt) wrt = {0};
  hiaG_scan_skip(r->s);
  hia_position where = hiaG_scan_here(r->s);
  hiaR_push(r->s->scratch, &r->callees, hiaG_scan_name(r->s));
  fix_later(r, true, FIX_GRADIENT, r->g->gradients.len, r->callees.len - 1, where);
  bool has_value = hiaG_scan_word(r->s, "value");
  hiaG_scan_need(r->s, '(');
  do {
    hia_wrt one = {.is_sum = hiaG_scan_word(r->s, "sum")};
    one.is_param = one.is_sum || hiaG_scan_word(r->s, "param");
    one.i = one.is_param ? param(r) : hiaG_scan_index(r->s);
    hiaR_push(r->s->scratch, &wrt, one);
  } while (hiaG_scan_accept(r->s, ','));
  hiaG_scan_need(r->s, ')');
  return hiaG_gradient_new(r->g, HIA_NONE, has_value, wrt.data, wrt.len);
}

/* Reads the immediate of the next node, n, which stands at `place` and whose results have been
 * read. What is defined further down is mended later. The immediate of a cast follows from its
 * operand.
 */
static uint64_t immediate(reader *r, unsigned op, hia_node_id n, hia_position place) {
  switch ((hia_imm)hiaR_ops[op].imm) {
  case HIA_IMM_NONE:
  case HIA_IMM_DTYPE: return 0;
  case HIA_IMM_WORD:
    if (r->outs.len != 1) hiaG_scan_fail(r->s, place, "%s has one result", hiaR_ops[op].name);
    return hiaG_scan_constant(r->s, r->outs.data[0]);
  case HIA_IMM_CTOR:
    if (r->outs.len != 1) hiaG_scan_fail(r->s, place, "%s has one result", hiaR_ops[op].name);
    return hiaG_scan_ctor(r->s, r->outs.data[0]);
  case HIA_IMM_REMADE: {
    if (r->outs.len != 1) hiaG_scan_fail(r->s, place, "%s has one result", hiaR_ops[op].name);
    uint32_t ctor = hiaG_scan_ctor(r->s, r->outs.data[0]);
    hiaG_scan_need(r->s, '.');
    return HIA_IMM(ctor, hiaG_scan_u32(r->s));
  }
  case HIA_IMM_FIELD: { /* its type is that of the operand, which comes afterwards */
    hiaG_scan_skip(r->s);
    r->ctor_place = hiaG_scan_here(r->s);
    r->ctor = hiaG_scan_name(r->s);
    hiaG_scan_need(r->s, '.');
    return HIA_IMM(0, hiaG_scan_index(r->s));
  }
  case HIA_IMM_AXIS:
    if (hiaG_scan_word(r->s, "all")) return HIA_NONE;
    return hiaG_scan_index(r->s);
  case HIA_IMM_AXES:
  case HIA_IMM_NUMBER: return hiaG_scan_u32(r->s);
  case HIA_IMM_CALLEE: callee(r, FIX_CALLEE, n); return 0;
  case HIA_IMM_FORK_OF: {
    uint32_t number = hiaG_scan_index(r->s);
    callee(r, FIX_CALLEE, n);
    return HIA_IMM(0, number);
  }
  case HIA_IMM_FORK: return HIA_IMM(HIA_NONE, hiaG_scan_index(r->s));
  case HIA_IMM_EXTERN: {
    hiaG_scan_skip(r->s);
    hia_position where = hiaG_scan_here(r->s);
    const char *extern_name = hiaG_scan_name(r->s);
    uint32_t number = find_extern(r, extern_name);
    if (number == HIA_NONE) hiaG_scan_fail(r->s, where, "there is no extern %s", extern_name);
    return number;
  }
  case HIA_IMM_PARAM: return param(r);
  case HIA_IMM_GRADIENT: return gradient(r);
  case HIA_IMM_LITERAL: return literal(r, place);
  case HIA_IMM_SITE: {
    uint32_t site_number = hiaG_scan_index(r->s);
    hiaG_scan_need(r->s, '.');
    return HIA_IMM(site_number, hiaG_scan_index(r->s));
  }
  case HIA_IMM_REGION: {
    hia_position where;
    uint32_t number = region_label(r, &where);
    fix_later(r, false, FIX_REGION, n, number, where);
    return 0;
  }
  }
  return 0;
}

/* Reads one node, in the innermost open region; for an IF or LOOP also the brace that opens its
 * first region. */
static void node(reader *r) {
  hia_fn *fn = r->fn;
  hia_node_id n = fn->nodes.len;
  hia_position start = hiaG_scan_here(r->s);
  uint64_t imm = 0;
  uint8_t flags = 0;
  r->outs.len = r->out_numbers.len = r->ins.len = 0;
  if (hiaG_scan_peek(r->s) == '%') {
    do {
      hiaG_scan_need(r->s, '%');
      hiaR_push(r->s->scratch, &r->out_numbers, hiaG_scan_index(r->s));
      hiaG_scan_need(r->s, ':');
      hiaR_push(r->s->scratch, &r->outs, hiaG_scan_word_type(r->s));
    } while (hiaG_scan_accept(r->s, ','));
    hiaG_scan_need(r->s, '=');
    hiaG_scan_skip(r->s);
  }
  hia_position place = hiaG_scan_here(r->s);
  size_t len = hiaG_scan_word_len(r->s);
  unsigned op = hiaR_op_by_name(r->s->at, len);
  if (op == HIA_OP_LIMIT) fail(r->s, "expected an op%s", len ? ": there is none of this name" : "");
  bool is_static = r->g->state == HIA_STATIC;
  if (hiaR_ops[op].traits & (is_static ? HIA_T_FUNCTION : HIA_T_STATIC))
    fail(r->s, "%s does not belong in a graph of this state", hiaR_ops[op].name);
  r->s->at += len;

  imm = immediate(r, op, n, place);

  hiaG_scan_blanks(r->s);
  if (hiaG_scan_peek(r->s) == '%') {
    do {
      hiaG_scan_skip(r->s);
      hia_position where = hiaG_scan_here(r->s);
      if (op == HIA_OP_MERGE_LOOP && r->ins.len == 1) { /* is defined further down */
        hiaG_scan_need(r->s, '%');
        fix_later(r, false, FIX_VALUE, fn->edges.len + r->ins.len, hiaG_scan_index(r->s), where);
        hiaR_push(r->s->scratch, &r->ins, HIA_NONE);
      } else {
        hiaR_push(r->s->scratch, &r->ins, value(r));
      }
    } while (hiaG_scan_accept(r->s, ','));
  }
  if (hiaR_ops[op].imm == HIA_IMM_FIELD && r->ins.len)
    imm |= hiaG_find_ctor(r->s, hiaG_type(fn, r->ins.data[0]), r->ctor, r->ctor_place);
  if (op == HIA_OP_CAST && r->ins.len) imm = hiaG_dtype(r->g->types, hiaG_type(fn, r->ins.data[0]));
  if (op == HIA_OP_ENTER && hiaG_scan_word(r->s, "invariant")) imm = HIA_IMM(0, 1);
  bool may_be_tail = op == HIA_OP_CALL || op == HIA_OP_JOIN;
  if (may_be_tail && hiaG_scan_word(r->s, "tail")) flags = HIA_NODE_TAIL;
  if (op == HIA_OP_LOOP && hiaG_scan_word(r->s, "free")) flags = HIA_NODE_FREE;
  hia_loc_id loc = location(r, FIX_LOC_NODE, n);

  hia_region_id region = r->stack.data[r->stack.len - 1].region;
  hiaG_add(r->g, fn, region, op, r->ins.data, r->ins.len, r->outs.data, r->outs.len, imm, loc);
  fn->nodes.data[n].flags = flags;
  for (uint32_t i = 0; i < r->out_numbers.len; i++)
    define(r, &r->values, r->out_numbers.data[i], hiaG_out(fn, n, i), start, "%");
  hiaR_push(r->s->scratch, &r->node_places, place);
  if (!hiaG_n_regions(op)) return;
  hiaR_push(r->s->scratch, &r->stack, (open_region){fn->nodes.data[n].regions, n});
  hiaG_scan_need(r->s, '{');
}

/* Function state: nodes and nested regions up to the brace that closes the body. */
static void function_body(reader *r) {
  while (r->stack.len) {
    hiaG_scan_skip(r->s);
    if (hiaG_scan_peek(r->s) != '}') {
      node(r);
      continue;
    }
    r->s->at++;
    open_region *top = &r->stack.data[r->stack.len - 1];
    const hia_node *owner = top->node == HIA_NONE ? NULL : &r->fn->nodes.data[top->node];
    if (owner && top->region + 1 < owner->regions + hiaG_n_regions(owner->op)) {
      bool is_if = owner->op == HIA_OP_IF;
      hiaG_scan_need_word(r->s, is_if ? "else" : "round");
      hiaG_scan_need(r->s, '{');
      top->region++;
    } else {
      r->stack.len--;
    }
  }
}

static void open_static(reader *r, hia_region_id region, bool has_pred) {
  hia_position where;
  uint32_t n = region_label(r, &where);
  define(r, &r->regions, n, region, where, ".");
  if (has_pred) r->fn->regions.data[region].pred = value(r);
  hiaG_scan_need(r->s, '{');
  r->fn->regions.data[region].first = r->fn->nodes.len;
  hiaR_push(r->s->scratch, &r->stack, (open_region){region, HIA_NONE});
}

/* `site 3 fib tail partner 5 !1:20`, before the Call_i of the site. */
static void site(reader *r) {
  hiaG_scan_skip(r->s);
  hia_position where = hiaG_scan_here(r->s);
  uint32_t n = hiaG_scan_index(r->s);
  if (n != r->g->sites.len)
    hiaG_scan_fail(r->s, where, "expected site %u: sites are in order", r->g->sites.len);
  hia_site s = {.caller = r->fn_id, .callee = HIA_NONE, .partner = HIA_NONE, .loc = HIA_NONE};
  callee(r, FIX_CALLEE_SITE, n);
  s.is_tail = hiaG_scan_word(r->s, "tail");
  if (hiaG_scan_word(r->s, "partner")) s.partner = hiaG_scan_index(r->s);
  s.loc = location(r, FIX_LOC_SITE, n);
  s.calls = s.returns = r->fn->nodes.len;
  hiaR_push(r->s->arena, &r->g->sites, s);
}

/* Static state: the flat list of nodes, in which braces mark the ranges of regions. */
static void section(reader *r) {
  hia_fn *fn = r->fn;
  fn->regions.data[0].first = 0;
  while (r->stack.len) {
    hia_region_id region = r->stack.data[r->stack.len - 1].region;
    if (hiaG_scan_word(r->s, "then")) {
      hia_region_id then = new_region(r, HIA_REGION_THEN, region);
      new_region(r, HIA_REGION_ELSE, region);
      open_static(r, then, true);
    } else if (hiaG_scan_word(r->s, "head")) {
      hia_region_id head = new_region(r, HIA_REGION_HEAD, region);
      new_region(r, HIA_REGION_ROUND, head);
      open_static(r, head, false);
    } else if (hiaG_scan_word(r->s, "round")) {
      if (fn->regions.data[region].kind != HIA_REGION_HEAD ||
          fn->regions.data[region + 1].first != HIA_NONE)
        fail(r->s, "round stands in a head, once");
      open_static(r, region + 1, true);
    } else if (hiaG_scan_word(r->s, "site")) {
      site(r);
    } else if (hiaG_scan_accept(r->s, '}')) {
      hia_region *closed = &fn->regions.data[region];
      closed->last = fn->nodes.len;
      r->stack.len--;
      if (closed->kind == HIA_REGION_THEN) {
        hiaG_scan_need_word(r->s, "else");
        hia_value_id pred = closed->pred;
        open_static(r, region + 1, false);
        fn->regions.data[region + 1].pred = pred;
      } else if (closed->kind == HIA_REGION_HEAD &&
                 fn->regions.data[region + 1].first == HIA_NONE) {
        fail(r->s, "a head has a round");
      }
    } else {
      node(r);
    }
  }
}

static void end_of_function(reader *r) {
  for (uint32_t i = 0; i < r->fn_fixes.len; i++) {
    const fix *f = &r->fn_fixes.data[i];
    uint32_t is = find(r, f->kind == FIX_VALUE ? &r->values : &r->regions, f->number);
    if (is == HIA_NONE)
      hiaG_scan_fail(r->s, f->where,
                     f->kind == FIX_VALUE ? "%%%u is not defined" : ".%u is not defined",
                     f->number);
    if (f->kind == FIX_VALUE)
      r->fn->edges.data[f->at] = is;
    else
      r->fn->nodes.data[f->at].imm |= is;
  }
  r->fn_fixes.len = 0;
}

/* The shapes of a list, in brackets. */
static void row_shapes(reader *r, hia_dims *rows, uint32_t n) {
  hia_scanner *s = r->s;
  hiaG_scan_need(s, '(');
  for (uint32_t i = 0; i < n; i++) {
    if (i) hiaG_scan_need(s, ',');
    hiaG_scan_need(s, '[');
    if (hiaG_scan_accept(s, ']')) continue;
    do {
      if (rows[i].rank == HIA_MAX_RANK) fail(s, "too many axes");
      rows[i].dims[rows[i].rank++] = hiaR_to_i64(hiaG_scan_constant(s, HIA_I64));
    } while (hiaG_scan_accept(s, ','));
    hiaG_scan_need(s, ']');
  }
  hiaG_scan_need(s, ')');
}

/* `rows ([3], []) -> ([2, 3])`, of a segment: the shape of a row of each parameter and result. */
static void row_list(reader *r) {
  hia_fn *fn = r->fn;
  fn->rows = HIA_NEW_ARRAY(r->s->arena, hia_dims, (size_t)fn->n_params + fn->n_results + 1);
  row_shapes(r, fn->rows, fn->n_params);
  hiaG_scan_need(r->s, '-');
  hiaG_scan_need(r->s, '>');
  row_shapes(r, fn->rows + fn->n_params, fn->n_results);
}

static void function(reader *r) {
  hia_arena *arena = r->s->arena;
  hiaG_scan_skip(r->s);
  hia_position where = hiaG_scan_here(r->s);
  const char *fn_name = hiaG_scan_name(r->s);
  uint32_t hash = hiaR_hash(fn_name, strlen(fn_name)), at = hash, other;
  while ((other = hiaR_index_next(&r->fn_names, hash, &at)) != HIA_NONE)
    if (strcmp(hiaG_fn(r->g, other)->name, fn_name) == 0)
      hiaG_scan_fail(r->s, where, "function %s is defined twice", fn_name);
  /* Made without parameters: their ARG nodes are in the text. */
  r->fn_id = hiaG_fn_new(r->g, fn_name, HIA_NONE, HIA_NONE, NULL, 0, NULL, 0);
  hia_fn *fn = r->fn = hiaG_fn(r->g, r->fn_id);
  hiaR_index_add(r->s->scratch, &r->fn_names, hash, r->fn_id);
  hiaR_push(r->s->scratch, &r->first_place, r->node_places.len);
  r->epoch++;
  fn->n_params = hiaG_scan_word_types(r->s, &fn->params);
  hiaG_scan_need(r->s, '-');
  hiaG_scan_need(r->s, '>');
  fn->n_results = hiaG_scan_word_types(r->s, &fn->results);
  fn->source = hiaG_name(r->g, hiaG_scan_word(r->s, "of") ? hiaG_scan_name(r->s) : fn_name);
  if (hiaG_scan_word(r->s, "root")) {
    fn->is_root = true;
    fn->sig_result = hiaG_scan_signature(r->s);
    fn->n_sig_params = r->s->parts.len;
    fn->sig_params = HIA_NEW_ARRAY(arena, hia_type, r->s->parts.len);
    if (r->s->parts.len)
      memcpy(fn->sig_params, r->s->parts.data, r->s->parts.len * sizeof(hia_type));
  }
  if (hiaG_scan_word(r->s, "group")) fn->group = hiaG_scan_u32(r->s);
  if (hiaG_scan_word(r->s, "raises")) fn->effects |= HIA_E_RAISES;
  if (hiaG_scan_word(r->s, "diverges")) fn->effects |= HIA_E_DIVERGES;
  if (hiaG_scan_word(r->s, "recursive")) fn->effects |= HIA_E_RECURSIVE;
  if (hiaG_scan_word(r->s, "effect")) fn->effects |= HIA_E_COUNTS;
  if (hiaG_scan_word(r->s, "impure")) fn->effects |= HIA_E_IMPURE;
  fn->is_halving = hiaG_scan_word(r->s, "halving");
  fn->is_apart = hiaG_scan_word(r->s, "apart");
  fn->is_recomputed = hiaG_scan_word(r->s, "recompute");
  if (hiaG_scan_word(r->s, "gradient")) callee(r, FIX_OWN_GRADIENT, 0);
  if (hiaG_scan_word(r->s, "slow_path")) callee(r, FIX_SLOW_PATH, 0);
  if (hiaG_scan_word(r->s, "owning")) callee(r, FIX_OWNING, 0);
  if (hiaG_scan_word(r->s, "rows")) row_list(r);
  fn->loc = location(r, FIX_LOC_FN, 0);
  hiaG_scan_need(r->s, '{');
  r->stack.len = 0;
  hiaR_push(r->s->scratch, &r->stack, (open_region){0, HIA_NONE});
  if (r->g->state == HIA_STATIC)
    section(r);
  else
    function_body(r);
  end_of_function(r);
}

/* ---- the file ---- */

static void location_table(reader *r) {
  while (hiaG_scan_accept(r->s, '!')) {
    hia_position where = hiaG_scan_here(r->s);
    if (hiaG_scan_index(r->s) != r->locs.len)
      hiaG_scan_fail(r->s, where, "expected !%u: in order", r->locs.len);
    hiaG_scan_need(r->s, '=');
    hiaG_scan_skip(r->s);
    where = hiaG_scan_here(r->s);
    bool is_operand = hiaG_scan_peek(r->s) >= '0' && hiaG_scan_peek(r->s) <= '9';
    uint32_t number = is_operand ? hiaG_scan_u32(r->s) : 0;
    uint32_t fn_name = HIA_LOC_ELEMENT;
    if (hiaG_scan_accept(r->s, '['))
      hiaG_scan_need(r->s, ']');
    else if (!is_operand)
      fn_name = hiaG_name(r->g, hiaG_scan_name(r->s));
    uint32_t line = hiaG_scan_u32(r->s);
    hiaG_scan_need(r->s, ':');
    uint32_t col = hiaG_scan_u32(r->s);
    if (is_operand) {
      if (number >= HIA_LOC_MAX_OPERANDS)
        hiaG_scan_fail(r->s, where, "a location of operand %u", number);
      hiaG_scan_need(r->s, '+');
      fn_name = hiaR_loc_of_operand(number, hiaG_scan_u32(r->s));
    }
    hia_loc_id parent = HIA_NONE;
    if (hiaG_scan_word(r->s, "in")) {
      hiaG_scan_need(r->s, '!');
      where = hiaG_scan_here(r->s);
      uint32_t n = hiaG_scan_index(r->s);
      if (n >= r->locs.len) hiaG_scan_fail(r->s, where, "!%u is not defined before its use", n);
      parent = r->locs.data[n];
    }
    hiaR_push(r->s->scratch, &r->locs, hiaG_loc(r->g, line, col, fn_name, parent));
  }
}

static hia_fn_id find_fn(reader *r, const char *fn_name) {
  uint32_t hash = hiaR_hash(fn_name, strlen(fn_name)), at = hash, i;
  while ((i = hiaR_index_next(&r->fn_names, hash, &at)) != HIA_NONE)
    if (strcmp(hiaG_fn(r->g, i)->name, fn_name) == 0) return i;
  return HIA_NONE;
}

static void end_of_file(reader *r) {
  for (uint32_t i = 0; i < r->file_fixes.len; i++) {
    const fix *f = &r->file_fixes.data[i];
    hia_fn *fn = f->fn < r->g->fns.len ? hiaG_fn(r->g, f->fn) : NULL; /* NULL: of an extern */
    uint32_t is;
    if (f->kind < FIX_LOC_NODE) {
      const char *callee_name = r->callees.data[f->number];
      is = find_fn(r, callee_name);
      if (is == HIA_NONE) hiaG_scan_fail(r->s, f->where, "there is no function %s", callee_name);
      if (f->kind == FIX_SLOW_PATH)
        fn->slow_path = is;
      else if (f->kind == FIX_OWNING)
        fn->owning_of = is;
      else if (f->kind == FIX_OWN_GRADIENT)
        fn->gradient = is;
      else if (f->kind == FIX_OF_EXTERN)
        r->g->externs.data[f->at].gradient = is;
      else if (f->kind == FIX_CALLEE_SITE)
        r->g->sites.data[f->at].callee = is;
      else if (f->kind == FIX_GRADIENT)
        r->g->gradients.data[f->at].fn = is;
      else
        fn->nodes.data[f->at].imm |= is; /* the number of a fork is in the other half */
      continue;
    }
    if (f->number >= r->locs.len)
      hiaG_scan_fail(r->s, f->where, "!%u is not in the table of locations", f->number);
    is = r->locs.data[f->number];
    if (f->kind == FIX_LOC_NODE)
      fn->nodes.data[f->at].loc = is;
    else if (f->kind == FIX_LOC_FN)
      fn->loc = is;
    else
      r->g->sites.data[f->at].loc = is;
  }
  /* How many Call_i and Return_i a site has follows from its callee; the verifier compares. */
  for (uint32_t s = 0; s < r->g->sites.len; s++) {
    hia_site *at = &r->g->sites.data[s];
    const hia_fn *to = hiaG_fn(r->g, at->callee);
    at->n_calls = to->n_params ? to->n_params : 1;
    at->n_returns = to->n_results;
    at->returns = at->calls + at->n_calls;
  }
}

static void extern_line(reader *r) {
  hiaG_scan_skip(r->s);
  hia_position where = hiaG_scan_here(r->s);
  const char *extern_name = hiaG_scan_name(r->s);
  if (find_extern(r, extern_name) != HIA_NONE)
    hiaG_scan_fail(r->s, where, "extern %s is declared twice", extern_name);
  hia_type result = hiaG_scan_signature(r->s);
  bool is_impure = hiaG_scan_word(r->s, "impure"), raises = hiaG_scan_word(r->s, "raises");
  hiaR_index_add(r->s->scratch, &r->extern_names, hiaR_hash(extern_name, strlen(extern_name)),
                 r->g->externs.len);
  hiaG_extern_new(r->g, extern_name, is_impure, raises, r->s->parts.data, r->s->parts.len, result);
  if (hiaG_scan_word(r->s, "gradient")) callee(r, FIX_OF_EXTERN, r->g->externs.len - 1);
}

static hia_init initialiser(hia_scanner *s) {
  for (uint32_t i = 0; i < HIA_N_INITS; i++)
    if (hiaG_scan_word(s, hiaR_init_name((hia_init)i))) return (hia_init)i;
  hiaG_scan_skip(s);
  fail(s, "expected an initialiser");
}

/* `param W: f32[3, 4] = uniform(-0.5, 0.5)`, the numbers as constants are */
static void param_line(reader *r) {
  hia_scanner *s = r->s;
  hia_param_spec spec = {0};
  hiaG_scan_skip(s);
  hia_position where = hiaG_scan_here(s);
  spec.name = hiaG_scan_name(s);
  if (find_param(r, spec.name) != HIA_NONE)
    hiaG_scan_fail(s, where, "param %s is declared twice", spec.name);
  hiaG_scan_need(s, ':');
  spec.dtype = hiaG_scan_word(s, "f64") ? HIA_F64 : HIA_F32;
  if (spec.dtype == HIA_F32) hiaG_scan_need_word(s, "f32");
  if (hiaG_scan_accept(s, '[')) {
    do {
      if (spec.shape.rank == HIA_MAX_RANK) hiaG_scan_fail(s, where, "too many axes");
      spec.shape.dims[spec.shape.rank++] = hiaR_to_i64(hiaG_scan_constant(s, HIA_I64));
    } while (hiaG_scan_accept(s, ','));
    hiaG_scan_need(s, ']');
  }
  hiaG_scan_need(s, '=');
  spec.init = initialiser(s);
  double *operands[] = {&spec.a, &spec.b};
  hiaG_scan_need(s, '(');
  for (uint32_t i = 0; i < hiaR_init_arity(spec.init); i++) {
    if (i) hiaG_scan_need(s, ',');
    *operands[i] = hiaR_to_f64(hiaG_scan_constant(s, HIA_F64));
  }
  hiaG_scan_need(s, ')');
  if (!hiaR_param_is_sound(&spec)) hiaG_scan_fail(s, where, "this is no param of floats");
  hiaG_param_new(r->g, &spec);
}

/* `sized [3, ?]`, behind the fields of a constructor. */
static hia_u32vec read_sizes(reader *r, hia_position where, const hia_ctor_def *ctor) {
  hia_scanner *s = r->s;
  hia_u32vec sizes = {0};
  uint32_t wanted = 0;
  hia_type_table types = hiaG_type_table(s->types);
  if (!hiaG_scan_word(s, "sized")) return sizes;
  hiaG_scan_need(s, '[');
  do {
    uint32_t size = hiaG_scan_accept(s, '?') ? HIA_NONE : hiaG_scan_u32(s);
    hiaR_push(s->scratch, &sizes, size);
  } while (hiaG_scan_accept(s, ','));
  hiaG_scan_need(s, ']');
  for (uint32_t i = 0; i < ctor->n_fields; i++)
    wanted += hiaR_type_sizes(&types, ctor->field_types[i]);
  if (sizes.len != wanted)
    hiaG_scan_fail(s, where, "%s has tensors with %u axes, and %u sizes", ctor->name, wanted,
                   sizes.len);
  return sizes;
}

/* `type List = Nil | Cons(head: i32, tail: List)` */
static void type_line(reader *r) {
  hia_scanner *s = r->s;
  HIA_VEC(hia_ctor_def) ctors = {0};
  HIA_VEC(hia_u32vec) sizes = {0}; /* by constructor */
  hiaG_scan_skip(s);
  hia_position where = hiaG_scan_here(s);
  hia_type data = hiaG_data(s->types, hiaG_scan_name(s));
  for (uint32_t i = 0; i < r->data.len; i++)
    if (r->data.data[i] == data)
      hiaG_scan_fail(s, where, "type %s is defined twice", hiaG_type_text(s->types, data));
  hiaR_push(s->scratch, &r->data, data);
  hiaG_scan_need(s, '=');
  do {
    hia_ctor_def ctor = {.name = hiaG_scan_name(s)};
    HIA_VEC(const char *) names = {0};
    hia_u32vec types = {0};
    uint32_t n_words = 0;
    if (hiaG_scan_accept(s, '(')) {
      do {
        hiaR_push(s->scratch, &names, hiaG_scan_name(s));
        hiaG_scan_need(s, ':');
        hia_type t = hiaG_scan_type(s);
        hiaR_push(s->scratch, &types, t);
        n_words += hiaG_type_words(s->types, t);
        if (n_words > HIA_MAX_LAYOUT_WORDS)
          hiaG_scan_fail(s, where, "a constructor with more than %u words", HIA_MAX_LAYOUT_WORDS);
      } while (hiaG_scan_accept(s, ','));
      hiaG_scan_need(s, ')');
    }
    ctor.field_names = names.data, ctor.field_types = types.data, ctor.n_fields = types.len;
    hia_u32vec own = read_sizes(r, where, &ctor);
    hiaR_push(s->scratch, &sizes, own);
    hiaR_push(s->scratch, &ctors, ctor);
    if (ctors.len > HIA_MAX_CTORS) hiaG_scan_fail(s, where, "too many constructors");
  } while (hiaG_scan_accept(s, '|'));
  bool is_new = !hiaG_data_is_defined(s->types, data), is_same = true;
  if (is_new) hiaG_data_define(s->types, data, ctors.data, ctors.len);
  for (uint32_t i = 0; i < ctors.len && is_new; i++)
    hiaG_data_sizes(s->types, data, i, sizes.data[i].data, sizes.data[i].len);
  is_same = hiaG_data_is(s->types, data, ctors.data, ctors.len);
  for (uint32_t i = 0; i < ctors.len && is_same; i++)
    is_same = hiaG_data_has_sizes(s->types, data, i, sizes.data[i].data, sizes.data[i].len);
  if (hiaG_has_name_of_sum(s->types, data)) is_same &= hiaG_is_sum(s->types, data);
  if (!is_same)
    hiaG_scan_fail(s, where, "type %s is another one already", hiaG_type_text(s->types, data));
}

static void file(reader *r) {
  hiaG_scan_need_word(r->s, "graph");
  if (hiaG_scan_word(r->s, "static"))
    r->g->state = HIA_STATIC;
  else
    hiaG_scan_need_word(r->s, "functions");
  hiaG_scan_skip(r->s);
  if (hiaG_scan_peek(r->s) != '"') fail(r->s, "expected the name of the source file");
  r->g->file = hiaG_scan_string(r->s);
  r->g->is_counted = hiaG_scan_word(r->s, "counted");
  while (hiaG_scan_word(r->s, "type")) type_line(r);
  hiaG_scan_types_end(r->s);
  while (hiaG_scan_word(r->s, "extern")) extern_line(r);
  while (hiaG_scan_word(r->s, "param")) param_line(r);
  while (hiaG_scan_word(r->s, "fn")) function(r);
  location_table(r);
  hiaG_scan_skip(r->s);
  if (r->s->at < r->s->end) fail(r->s, "expected 'fn' or the end of the text");
  end_of_file(r);
}

static bool is_sound(reader *r) {
  hia_defect defect;
  if (hiaG_find_defect(r->g, &defect)) {
    hia_position where = {0, 0};
    if (defect.fn != HIA_NONE && defect.node != HIA_NONE)
      where = r->node_places.data[r->first_place.data[defect.fn] + defect.node];
    *r->s->error = (hia_read_error){where.line, where.col, defect.message};
    return false;
  }
  return true;
}

hia_graph *hiaG_read(hia_comp *comp, hia_types *types, const char *text, size_t len,
                     hia_read_error *error) {
  *error = (hia_read_error){0, 0, NULL};
  hia_mark mark = hiaR_arena_mark(&comp->scratch);
  hia_scanner *s = HIA_NEW(&comp->scratch, hia_scanner);
  s->arena = &comp->arena;
  s->scratch = &comp->scratch;
  s->types = types;
  s->text = s->at = s->line_start = text;
  s->end = text + len;
  s->line = 1;
  s->error = error;
  reader *r = HIA_NEW(&comp->scratch, reader);
  r->s = s;
  r->g = hiaG_new(comp, types, "");
  r->g->is_read = true;
  hia_graph *g = NULL;
  if (setjmp(s->stop) == 0) {
    file(r);
    if (is_sound(r)) g = r->g;
  }
  hiaR_arena_release(&comp->scratch, mark);
  return g;
}
