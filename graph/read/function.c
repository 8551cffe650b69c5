/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Reads functions: their nodes, in both states. */
#include "graph/ir/build.h"
#include "graph/read/reader.h"

static hia_region_id new_region(hia_reader *r, unsigned kind, hia_region_id parent) {
  hia_region region = {.kind = (uint8_t)kind,
                       .parent = parent,
                       .owner = HIA_NONE,
                       .first = HIA_NONE,
                       .last = HIA_NONE,
                       .pred = HIA_NONE};
  hiaR_push(r->s->arena, &r->fn->regions, region);
  return r->fn->regions.len - 1;
}

void hiaG_read_callee(hia_reader *r, hia_fix_kind kind, uint32_t at) {
  hiaG_scan_skip(r->s);
  hia_position where = hiaG_scan_here(r->s);
  hiaR_push(r->s->scratch, &r->callees, hiaG_scan_name(r->s));
  hiaG_read_fix_later(r, true, kind, at, r->callees.len - 1, where);
}

uint32_t hiaG_read_find_param(const hia_reader *r, const char *param_name) {
  for (uint32_t i = 0; i < r->g->params.len; i++)
    if (strcmp(r->g->params.data[i].name, param_name) == 0) return i;
  return HIA_NONE;
}

uint32_t hiaG_read_find_extern(const hia_reader *r, const char *extern_name) {
  uint32_t hash = hiaR_hash(extern_name, strlen(extern_name)), at = hash, i;
  while ((i = hiaR_index_next(&r->extern_names, hash, &at)) != HIA_NONE)
    if (strcmp(r->g->externs.data[i].name, extern_name) == 0) return i;
  return HIA_NONE;
}

/* Reads `[2, 3] 1 2 3 4 5 6`, for a result that has been read. */
static uint32_t literal(hia_reader *r, hia_position position) {
  hia_scanner *s = r->s;
  hia_dims shape = {0};
  uint64_t n;
  hia_dtype dtype = r->outs.len == 1 ? hiaG_dtype(s->types, r->outs.data[0]) : HIA_N_DTYPES;
  if (dtype == HIA_N_DTYPES) hiaG_scan_fail(s, position, "a literal is a tensor");
  hiaG_scan_need(s, '[');
  do {
    if (shape.rank == HIA_MAX_RANK) hiaG_scan_fail(s, position, "too many axes");
    shape.dims[shape.rank++] = hiaR_to_i64(hiaG_scan_constant(s, HIA_I64));
    if (shape.dims[shape.rank - 1] < 0) hiaG_scan_fail(s, position, "a size is not negative");
  } while (hiaG_scan_accept(s, ','));
  hiaG_scan_need(s, ']');
  /* Each element takes a byte of the text at least: so bad input takes no more memory. */
  if (!hiaR_shape_elements(&shape, 1, &n) || n > (uint64_t)(s->end - s->at))
    hiaG_scan_fail(s, position, "the text has fewer elements");
  uint32_t number = hiaG_literal_new(r->g, dtype, &shape);
  if (number == HIA_NONE) hiaG_scan_fail(s, position, "too many elements");
  for (uint64_t i = 0; i < n; i++)
    hiaG_literal_put(&r->g->literals.data[number], i, hiaG_scan_constant(s, dtype));
  return number;
}

static uint32_t param(hia_reader *r) {
  hiaG_scan_skip(r->s);
  hia_position where = hiaG_scan_here(r->s);
  const char *param_name = hiaG_scan_name(r->s);
  uint32_t number = hiaG_read_find_param(r, param_name);
  if (number == HIA_NONE) hiaG_scan_fail(r->s, where, "there is no param %s", param_name);
  return number;
}

/* Reads `f value (0, param W, sum V)`, with parameters by number. */
static uint32_t gradient(hia_reader *r) {
  HIA_VEC(hia_wrt) wrt = {0};
  hiaG_scan_skip(r->s);
  hia_position where = hiaG_scan_here(r->s);
  hiaR_push(r->s->scratch, &r->callees, hiaG_scan_name(r->s));
  hiaG_read_fix_later(r, true, FIX_GRADIENT, r->g->gradients.len, r->callees.len - 1, where);
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

/* Reads the immediate of the next node, n, which stands at `position` and whose results have been
 * read. What is defined further down is mended later. The immediate of a cast follows from its
 * operand.
 */
static uint64_t immediate(hia_reader *r, unsigned op, hia_node_id n, hia_position position) {
  switch ((hia_imm)hiaR_ops[op].imm) {
  case HIA_IMM_NONE:
  case HIA_IMM_DTYPE: return 0;
  case HIA_IMM_WORD:
    if (r->outs.len != 1) hiaG_scan_fail(r->s, position, "%s has one result", hiaR_ops[op].name);
    return hiaG_scan_constant(r->s, r->outs.data[0]);
  case HIA_IMM_CTOR:
    if (r->outs.len != 1) hiaG_scan_fail(r->s, position, "%s has one result", hiaR_ops[op].name);
    return hiaG_scan_ctor(r->s, r->outs.data[0]);
  case HIA_IMM_REMADE: {
    if (r->outs.len != 1) hiaG_scan_fail(r->s, position, "%s has one result", hiaR_ops[op].name);
    uint32_t ctor = hiaG_scan_ctor(r->s, r->outs.data[0]);
    hiaG_scan_need(r->s, '.');
    return HIA_IMM(ctor, hiaG_scan_u32(r->s));
  }
  case HIA_IMM_FIELD: { /* its type is that of the operand, which comes afterwards */
    hiaG_scan_skip(r->s);
    r->ctor_position = hiaG_scan_here(r->s);
    r->ctor = hiaG_scan_name(r->s);
    hiaG_scan_need(r->s, '.');
    return HIA_IMM(0, hiaG_scan_index(r->s));
  }
  case HIA_IMM_AXIS:
    if (hiaG_scan_word(r->s, "all")) return HIA_NONE;
    return hiaG_scan_index(r->s);
  case HIA_IMM_AXES:
  case HIA_IMM_NUMBER: return hiaG_scan_u32(r->s);
  case HIA_IMM_CALLEE: hiaG_read_callee(r, FIX_CALLEE, n); return 0;
  case HIA_IMM_FORK_OF: {
    uint32_t number = hiaG_scan_index(r->s);
    hiaG_read_callee(r, FIX_CALLEE, n);
    return HIA_IMM(0, number);
  }
  case HIA_IMM_FORK: return HIA_IMM(HIA_NONE, hiaG_scan_index(r->s));
  case HIA_IMM_EXTERN: {
    hiaG_scan_skip(r->s);
    hia_position where = hiaG_scan_here(r->s);
    const char *extern_name = hiaG_scan_name(r->s);
    uint32_t number = hiaG_read_find_extern(r, extern_name);
    if (number == HIA_NONE) hiaG_scan_fail(r->s, where, "there is no extern %s", extern_name);
    return number;
  }
  case HIA_IMM_PARAM: return param(r);
  case HIA_IMM_GRADIENT: return gradient(r);
  case HIA_IMM_LITERAL: return literal(r, position);
  case HIA_IMM_SITE: {
    uint32_t site_number = hiaG_scan_index(r->s);
    hiaG_scan_need(r->s, '.');
    return HIA_IMM(site_number, hiaG_scan_index(r->s));
  }
  case HIA_IMM_REGION: {
    hia_position where;
    uint32_t number = hiaG_read_region_label(r, &where);
    hiaG_read_fix_later(r, false, FIX_REGION, n, number, where);
    return 0;
  }
  }
  return 0;
}

/* Reads one node, in the innermost open region; for an IF or LOOP also the brace that opens its
 * first region. */
static void node(hia_reader *r) {
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
  hia_position position = hiaG_scan_here(r->s);
  size_t len = hiaG_scan_word_len(r->s);
  unsigned op = hiaR_op_by_name(r->s->at, len);
  if (op == HIA_OP_LIMIT) fail(r->s, "expected an op%s", len ? ": there is none of this name" : "");
  bool is_static = r->g->state == HIA_STATIC;
  if (hiaR_ops[op].traits & (is_static ? HIA_T_FUNCTION : HIA_T_STATIC))
    fail(r->s, "%s does not belong in a graph of this state", hiaR_ops[op].name);
  r->s->at += len;

  imm = immediate(r, op, n, position);

  hiaG_scan_blanks(r->s);
  if (hiaG_scan_peek(r->s) == '%') {
    do {
      hiaG_scan_skip(r->s);
      hia_position where = hiaG_scan_here(r->s);
      if (op == HIA_OP_MERGE_LOOP && r->ins.len == 1) { /* is defined further down */
        hiaG_scan_need(r->s, '%');
        hiaG_read_fix_later(r, false, FIX_VALUE, fn->edges.len + r->ins.len, hiaG_scan_index(r->s),
                            where);
        hiaR_push(r->s->scratch, &r->ins, HIA_NONE);
      } else {
        hiaR_push(r->s->scratch, &r->ins, hiaG_read_value(r));
      }
    } while (hiaG_scan_accept(r->s, ','));
  }
  if (hiaR_ops[op].imm == HIA_IMM_FIELD && r->ins.len)
    imm |= hiaG_find_ctor(r->s, hiaG_type(fn, r->ins.data[0]), r->ctor, r->ctor_position);
  if (op == HIA_OP_CAST && r->ins.len) imm = hiaG_dtype(r->g->types, hiaG_type(fn, r->ins.data[0]));
  if (op == HIA_OP_ENTER && hiaG_scan_word(r->s, "invariant")) imm = HIA_IMM(0, 1);
  bool may_be_tail = op == HIA_OP_CALL || op == HIA_OP_JOIN;
  if (may_be_tail && hiaG_scan_word(r->s, "tail")) flags = HIA_NODE_TAIL;
  if (op == HIA_OP_LOOP && hiaG_scan_word(r->s, "free")) flags = HIA_NODE_FREE;
  hia_loc_id loc = hiaG_read_location(r, FIX_LOC_NODE, n);

  hia_region_id region = r->stack.data[r->stack.len - 1].region;
  hiaG_add(r->g, fn, region, op, r->ins.data, r->ins.len, r->outs.data, r->outs.len, imm, loc);
  fn->nodes.data[n].flags = flags;
  for (uint32_t i = 0; i < r->out_numbers.len; i++)
    hiaG_read_define(r, &r->values, r->out_numbers.data[i], hiaG_out(fn, n, i), start, "%");
  hiaR_push(r->s->scratch, &r->node_positions, position);
  if (!hiaG_n_regions(op)) return;
  hiaR_push(r->s->scratch, &r->stack, (hia_open_region){fn->nodes.data[n].regions, n});
  hiaG_scan_need(r->s, '{');
}

/* Reads a body in function state: nodes and nested regions up to the brace that closes it. */
static void function_body(hia_reader *r) {
  while (r->stack.len) {
    hiaG_scan_skip(r->s);
    if (hiaG_scan_peek(r->s) != '}') {
      node(r);
      continue;
    }
    r->s->at++;
    hia_open_region *top = &r->stack.data[r->stack.len - 1];
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

static void open_static(hia_reader *r, hia_region_id region, bool has_pred) {
  hia_position where;
  uint32_t n = hiaG_read_region_label(r, &where);
  hiaG_read_define(r, &r->regions, n, region, where, ".");
  if (has_pred) r->fn->regions.data[region].pred = hiaG_read_value(r);
  hiaG_scan_need(r->s, '{');
  r->fn->regions.data[region].first = r->fn->nodes.len;
  hiaR_push(r->s->scratch, &r->stack, (hia_open_region){region, HIA_NONE});
}

/* Reads `site 3 fib tail partner 5 !1:20`, which stands before the Call_i of the site. */
static void site(hia_reader *r) {
  hiaG_scan_skip(r->s);
  hia_position where = hiaG_scan_here(r->s);
  uint32_t n = hiaG_scan_index(r->s);
  if (n != r->g->sites.len)
    hiaG_scan_fail(r->s, where, "expected site %u: sites are in order", r->g->sites.len);
  hia_site s = {.caller = r->fn_id, .callee = HIA_NONE, .partner = HIA_NONE, .loc = HIA_NONE};
  hiaG_read_callee(r, FIX_CALLEE_SITE, n);
  s.is_tail = hiaG_scan_word(r->s, "tail");
  if (hiaG_scan_word(r->s, "partner")) s.partner = hiaG_scan_index(r->s);
  s.loc = hiaG_read_location(r, FIX_LOC_SITE, n);
  s.calls = s.returns = r->fn->nodes.len;
  hiaR_push(r->s->arena, &r->g->sites, s);
}

/* Reads a body in static state: the flat list of nodes, in which braces mark the ranges of regions.
 */
static void section(hia_reader *r) {
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

static void end_of_function(hia_reader *r) {
  for (uint32_t i = 0; i < r->fn_fixes.len; i++) {
    const hia_fix *f = &r->fn_fixes.data[i];
    uint32_t to = hiaG_read_find(r, f->kind == FIX_VALUE ? &r->values : &r->regions, f->number);
    if (to == HIA_NONE)
      hiaG_scan_fail(r->s, f->where,
                     f->kind == FIX_VALUE ? "%%%u is not defined" : ".%u is not defined",
                     f->number);
    if (f->kind == FIX_VALUE)
      r->fn->edges.data[f->at] = to;
    else
      r->fn->nodes.data[f->at].imm |= to;
  }
  r->fn_fixes.len = 0;
}

/* The shapes of a list, in brackets. */
static void row_shapes(hia_reader *r, hia_dims *rows, uint32_t n) {
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

/* Reads `rows ([3], []) -> ([2, 3])` of a segment: the shape of a row of each parameter and result.
 */
static void row_list(hia_reader *r) {
  hia_fn *fn = r->fn;
  fn->rows = HIA_NEW_ARRAY(r->s->arena, hia_dims, (size_t)fn->n_params + fn->n_results + 1);
  row_shapes(r, fn->rows, fn->n_params);
  hiaG_scan_need(r->s, '-');
  hiaG_scan_need(r->s, '>');
  row_shapes(r, fn->rows + fn->n_params, fn->n_results);
}

void hiaG_read_function(hia_reader *r) {
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
  hiaR_push(r->s->scratch, &r->first_position, r->node_positions.len);
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
  fn->is_freezing = hiaG_scan_word(r->s, "freezing");
  fn->is_apart = hiaG_scan_word(r->s, "apart");
  fn->is_recomputed = hiaG_scan_word(r->s, "recompute");
  if (hiaG_scan_word(r->s, "gradient")) hiaG_read_callee(r, FIX_OWN_GRADIENT, 0);
  if (hiaG_scan_word(r->s, "slow_path")) hiaG_read_callee(r, FIX_SLOW_PATH, 0);
  if (hiaG_scan_word(r->s, "owning")) hiaG_read_callee(r, FIX_OWNING, 0);
  if (hiaG_scan_word(r->s, "rows")) row_list(r);
  fn->loc = hiaG_read_location(r, FIX_LOC_FN, 0);
  hiaG_scan_need(r->s, '{');
  r->stack.len = 0;
  hiaR_push(r->s->scratch, &r->stack, (hia_open_region){0, HIA_NONE});
  if (r->g->state == HIA_STATIC)
    section(r);
  else
    function_body(r);
  end_of_function(r);
}
