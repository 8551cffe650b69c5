/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Makes graph functions of checked instances. Nodes are appended in the order of evaluation, tuples
 * become their words, and variables become the values that they stand for. */
#include "frontend/elab/elab.h"
#include "frontend/check/constant.h"
#include "frontend/grad/grad.h"
#include "frontend/kit/instance.h"
#include "frontend/kit/pieces.h"
#include "frontend/syntax/builtins.h"
#include "frontend/syntax/program.h"
#include "graph/ir/build.h"

static uint32_t words_of(const hia_elab *e, hia_ast_id id) {
  return hiaF_itype_words(&e->p->it, hiaF_elab_itype(e, id));
}

/* ---- pieces ---- */

/* Appends an op on the last n words, which its result replaces. */
static void op(hia_elab *e, unsigned opcode, uint32_t n, uint32_t pos) {
  hia_value_id v = hiaG_op(e->g, e->fn, e->region, opcode, e->words.data + (e->words.len - n), n,
                           hiaF_elab_loc(e, pos));
  e->words.len -= n;
  hiaF_elab_push(e, v);
}

/* Appends an op on the last n words, which may be tensors: its location has the operands then. */
static void op_of(hia_elab *e, unsigned opcode, const hia_operand *operands, uint32_t n,
                  uint32_t pos) {
  const hia_value_id *ins = e->words.data + (e->words.len - n);
  uint32_t n_tensors = 0;
  for (uint32_t i = 0; i < n; i++) n_tensors += !hiaG_is_scalar(hiaG_type(e->fn, ins[i]));
  hia_loc_id loc = n_tensors > 1 ? hiaF_elab_loc_of(e, pos, operands, n) : hiaF_elab_loc(e, pos);
  hia_value_id v = hiaG_op(e->g, e->fn, e->region, opcode, ins, n, loc);
  e->words.len -= n;
  hiaF_elab_push(e, v);
}

static void constant(hia_elab *e, hia_type type, hia_word word, uint32_t pos) {
  hiaF_elab_constant(e, type, word, hiaF_elab_loc(e, pos));
}

static void number(hia_elab *e, hia_ast_id id, bool negative, uint32_t pos) {
  const hia_ast *n = hiaF_node(e->p, id);
  hia_dtype dtype = (hia_dtype)hiaF_elab_itype(e, id);
  hia_word word = 0;
  hiaF_number(e->p, n, negative, dtype, &word); /* settle.c has checked that it fits */
  constant(e, dtype, word, pos);
}

/* ---- variables ---- */

static void elab_name(hia_elab *e, hia_ast_id id, const hia_ast *n) {
  if (n->op == HIA_REF_CONST) {
    hia_dtype dtype = (hia_dtype)hiaF_elab_itype(e, id);
    constant(e, dtype, hiaF_const_value(e->p, n->b, dtype)->word, n->pos);
    return;
  }
  if (n->op == HIA_REF_CON) { /* without fields */
    constant(e, hiaF_elab_type(e, hiaF_elab_itype(e, id)), hiaF_decl(e->p, n->b)->number, n->pos);
    return;
  }
  if (n->op == HIA_REF_PARAM) {
    hia_type type = hiaF_elab_type(e, hiaF_elab_itype(e, id));
    hia_node_id param = hiaG_add(e->g, e->fn, e->region, HIA_OP_PARAM, NULL, 0, &type, 1,
                                 hiaF_decl(e->p, n->b)->fn, hiaF_elab_loc(e, n->pos));
    hiaF_elab_push(e, hiaG_out(e->fn, param, 0));
    return;
  }
  uint32_t slot = e->slots[n->b - e->first];
  for (uint32_t i = 0; i < words_of(e, id); i++) hiaF_elab_push(e, e->vars.data[slot + i]);
}

static void elab_field(hia_elab *e, const hia_ast *n) {
  const hia_itypes *it = &e->p->it;
  hia_itype type = hiaF_elab_itype(e, n->a);
  uint32_t base = hiaF_elab(e, n->a, false), skip = 0;
  for (uint32_t i = 0; i < n->b; i++) skip += hiaF_itype_words(it, hiaF_ituple_part(it, type, i));
  uint32_t count = hiaF_itype_words(it, hiaF_ituple_part(it, type, n->b));
  memmove(e->words.data + base, e->words.data + base + skip, count * sizeof *e->words.data);
  e->words.len = base + count;
}

/* ---- control ---- */

static void elab_if(hia_elab *e, hia_ast_id id, const hia_ast *n, bool tail) {
  hia_region_id outer = e->region;
  uint32_t base = hiaF_elab(e, n->a, false);
  hia_value_id cond = e->words.data[base];
  e->words.len = base;
  hia_node_id node = hiaF_elab_if(e, cond, hiaF_elab_itype(e, id), hiaF_elab_loc(e, n->pos));
  for (uint32_t k = 0; k < 2; k++) {
    e->region = hiaF_elab_regions(e, node) + k;
    base = hiaF_elab(e, k == 0 ? n->b : n->c, tail);
    hiaF_elab_yield(e, e->region, base);
  }
  e->region = outer;
  hiaF_elab_results(e, node);
}

/* Makes of `a and b and c`: (if (if a then b else false) then c else false) */
static void elab_logic(hia_elab *e, const hia_ast *n, bool tail) {
  hia_region_id outer = e->region;
  hiaF_elab(e, n->a, false);
  for (uint32_t i = 0; i < n->c; i += 3) {
    uint32_t pos = e->p->extra.data[n->b + i + 1];
    hia_ast_id right = e->p->extra.data[n->b + i + 2];
    hia_value_id cond = e->words.data[--e->words.len];
    hia_node_id node = hiaF_elab_if(e, cond, HIA_BOOL, hiaF_elab_loc(e, pos));
    for (unsigned k = 0; k < 2; k++) {
      e->region = hiaF_elab_regions(e, node) + k;
      uint32_t base = e->words.len;
      if (k == n->op)
        hiaF_elab(e, right, tail && i + 3 == n->c);
      else
        constant(e, HIA_BOOL, n->op, pos);
      hiaF_elab_yield(e, e->region, base);
    }
    e->region = outer;
    hiaF_elab_results(e, node);
  }
}

static void elab_loop(hia_elab *e, const hia_ast *n) {
  hia_program *p = e->p;
  const uint32_t *vars = p->extra.data + n->b;
  hia_region_id outer = e->region;
  uint32_t base = e->words.len;
  hia_loc_id loc = hiaF_elab_loc(e, n->pos);
  for (uint32_t i = 0; i < n->c; i++) {
    uint32_t at = hiaF_elab(e, hiaF_node(p, vars[i])->c, false);
    hiaF_elab_sizes(e, hiaF_node(p, vars[i])->b, at, hiaF_node(p, vars[i])->c);
  }
  uint32_t count = e->words.len - base;
  hia_type *types = HIA_NEW_ARRAY(e->arena, hia_type, count);
  for (uint32_t i = 0; i < count; i++) types[i] = hiaG_type(e->fn, e->words.data[base + i]);
  hia_node_id node =
      hiaG_add(e->g, e->fn, outer, HIA_OP_LOOP, e->words.data + base, count, types, count, 0, loc);
  hia_region_id head = hiaF_elab_regions(e, node), round = head + 1;
  e->words.len = base;
  for (uint32_t i = 0; i < count; i++) {
    hia_node_id arg = hiaG_add(e->g, e->fn, head, HIA_OP_ARG, NULL, 0, &types[i], 1, i, loc);
    hiaF_elab_push(e, hiaG_out(e->fn, arg, 0));
  }
  for (uint32_t i = 0, at = base; i < n->c; i++) {
    hia_itype type = hiaF_elab_itype(e, vars[i]);
    hiaF_elab_bind(e, vars[i], type, at);
    at += hiaF_itype_words(&p->it, type);
  }
  /* The HEAD yields (condition, exit values): the variables. */
  e->region = head;
  uint32_t cond = hiaF_elab(e, p->extra.data[n->a], false);
  hia_value_id condition = e->words.data[cond];
  memmove(e->words.data + base + 1, e->words.data + base, count * sizeof *e->words.data);
  e->words.data[base] = condition;
  hiaF_elab_yield(e, head, base);
  e->region = round;
  if (e->counted) hiaG_add(e->g, e->fn, round, HIA_OP_COUNT, NULL, 0, NULL, 0, 1, loc);
  hiaF_elab(e, p->extra.data[n->a + 1], false);
  for (uint32_t i = 0, at = base; i < n->c; i++) {
    hiaF_elab_sizes(e, hiaF_node(p, vars[i])->b, at, hiaF_next_value(p, n, i));
    at += hiaF_itype_words(&p->it, hiaF_elab_itype(e, vars[i]));
  }
  hiaF_elab_yield(e, round, base);
  e->region = outer;
  hiaF_elab_results(e, node);
}

static void elab_block(hia_elab *e, const hia_ast *n, bool tail) {
  for (uint32_t i = 0; i < n->c; i++) {
    hia_ast_id id = e->p->extra.data[n->b + i];
    const hia_ast *let = hiaF_node(e->p, id);
    uint32_t base = hiaF_elab(e, let->c, false);
    hiaF_elab_sizes(e, let->b, base, let->c);
    hiaF_elab_bind(e, let->a, hiaF_elab_itype(e, id), base);
    e->words.len = base;
  }
  hiaF_elab(e, n->a, tail);
}

/* ---- calls ---- */

/* The function of an instance; if there is none yet, it is made without its body. */
static hia_fn_id function_of(hia_elab *e, uint32_t id) {
  if (e->fns[id] != HIA_NONE) return e->fns[id];
  hia_program *p = e->p;
  const hia_inst *inst = hiaF_inst(p, id);
  const hia_decl *d = hiaF_decl(p, inst->decl);
  hia_u32vec params = {0};
  hia_flat_type flat;
  for (uint32_t i = 0; i < d->n_params; i++) {
    hiaF_elab_flatten(e, inst->args[i], &flat);
    for (uint32_t k = 0; k < flat.n; k++) hiaR_push(e->arena, &params, flat.data[k]);
  }
  hiaF_elab_flatten(e, inst->result, &flat);
  uint32_t line, col, source = hiaG_name(e->g, hiaF_symbol_text(p, d->symbol));
  hiaF_position(p, d->pos, &line, &col);
  e->fns[id] = hiaG_fn_new(e->g, hiaF_inst_name(p, id, e->arena), source,
                           hiaG_loc(e->g, line, col, source, HIA_NONE), params.data, params.len,
                           flat.data, flat.n);
  hiaR_push(e->arena, &e->queue, id);
  hia_fn *fn = hiaG_fn(e->g, e->fns[id]);
  fn->is_recomputed = d->recompute;
  if (inst->gradient != HIA_NONE) fn->gradient = function_of(e, inst->gradient);
  return e->fns[id];
}

/* The graph's extern of a declaration. */
static uint32_t extern_of(hia_elab *e, uint32_t decl) {
  hia_program *p = e->p;
  const hia_decl *d = hiaF_decl(p, decl);
  uint32_t *made = &e->externs[d->fn];
  if (*made != HIA_NONE) return *made;
  hia_type *params = HIA_NEW_ARRAY(e->arena, hia_type, d->n_params);
  for (uint32_t i = 0; i < d->n_params; i++) params[i] = hiaF_elab_type(e, d->param_types[i]);
  hia_type result = hiaF_elab_type(e, d->result);
  *made = hiaG_extern_new(e->g, hiaF_symbol_text(p, d->symbol), d->impure, d->raises, params,
                          d->n_params, result);
  if (d->gradient_inst != HIA_NONE)
    e->g->externs.data[*made].gradient = function_of(e, d->gradient_inst);
  return *made;
}

/* ---- arrays ---- */

/* Replaces the words from `base` on by the array that an op makes of them. Where its operands never
 * give a value, `concat(fail(1), fail(2))`, it may have any type. */
static void make_array(hia_elab *e, hia_ast_id id, unsigned opcode, uint32_t base, uint32_t pos) {
  hia_loc_id loc = hiaF_elab_loc(e, pos);
  uint32_t n = e->words.len - base;
  hia_flat_type outs;
  hiaF_elab_flatten(e, hiaF_elab_itype(e, id), &outs);
  bool is_array = hiaF_is_array(hiaF_elab_itype(e, id));
  const hia_value_id *ins = e->words.data + base;
  e->words.len = base;
  if (is_array)
    hiaF_elab_results(e, hiaG_add(e->g, e->fn, e->region, opcode, ins, n, outs.data, 1, 0, loc));
  for (uint32_t i = 0; i < outs.n && !is_array; i++)
    hiaF_elab_results(
        e, hiaG_add(e->g, e->fn, e->region, HIA_OP_UNDEF, NULL, 0, &outs.data[i], 1, 0, loc));
}

static void elab_array(hia_elab *e, hia_ast_id id, const hia_ast *n) {
  uint32_t base = e->words.len;
  for (uint32_t i = 0; i < n->c; i++) hiaF_elab(e, e->p->extra.data[n->b + i], false);
  if (hiaF_is_tensor(hiaF_elab_itype(e, id)))
    hiaF_elab_stack(e, base, n);
  else
    make_array(e, id, HIA_OP_ARRAY, base, n->pos);
}

static void elab_index(hia_elab *e, hia_ast_id id, const hia_ast *n) {
  if (hiaF_is_tensor(hiaF_elab_itype(e, n->a))) {
    hiaF_elab_tensor_index(e, n);
    return;
  }
  hia_loc_id loc = hiaF_elab_loc(e, n->pos);
  uint32_t base = hiaF_elab(e, n->a, false);
  hiaF_elab_i64(e, n->b);
  hia_flat_type outs;
  hiaF_elab_flatten(e, hiaF_elab_itype(e, id), &outs);
  hia_value_id ins[2] = {e->words.data[base], e->words.data[base + 1]};
  e->words.len = base;
  for (uint32_t i = 0; i < outs.n; i++)
    hiaF_elab_results(
        e, hiaG_add(e->g, e->fn, e->region, HIA_OP_AT, ins, 2, &outs.data[i], 1, i, loc));
}

static void elab_slice(hia_elab *e, hia_ast_id id, const hia_ast *n) {
  if (hiaF_is_tensor(hiaF_elab_itype(e, n->a))) {
    hiaF_elab_tensor_slice(e, n);
    return;
  }
  uint32_t base = hiaF_elab(e, n->a, false);
  hiaF_elab_i64(e, n->b);
  hiaF_elab_i64(e, n->c);
  make_array(e, id, HIA_OP_SLICE, base, n->pos);
}

static hia_value_id two(hia_elab *e, unsigned opcode, hia_value_id a, hia_value_id b,
                        hia_loc_id loc) {
  hia_value_id ins[2] = {a, b};
  return hiaG_op(e->g, e->fn, e->region, opcode, ins, 2, loc);
}

static hia_value_id i64_of(hia_elab *e, hia_value_id v, hia_loc_id loc) {
  hia_type from = hiaG_type(e->fn, v);
  return from == HIA_I64 ? v : hiaF_elab_one(e, HIA_OP_CAST, &v, 1, HIA_I64, from, loc);
}

/* What a comprehension runs over. */
typedef struct domain {
  hia_value_id array; /* or a tensor; or NONE: a range */
  bool is_tensor;
  hia_value_id from;   /* the start of a range: an i64 */
  hia_value_id length; /* an i64 */
  hia_itype type;      /* the type of the variable */
} domain;

static domain elab_domain(hia_elab *e, const hia_ast *n, hia_loc_id loc) {
  const uint32_t *list = e->p->extra.data + n->b;
  domain d = {.array = HIA_NONE, .type = hiaF_elab_itype(e, list[1])};
  uint32_t base = hiaF_elab(e, list[1], false);
  if (n->c == 2) {
    d.array = e->words.data[base];
    d.is_tensor = hiaF_is_tensor(d.type);
    d.type = d.is_tensor ? hiaF_ranked(hiaF_leaf(d.type), hiaF_irank(d.type) - 1, false)
                         : hiaF_element(&e->p->it, d.type);
    d.length =
        hiaF_elab_one(e, d.is_tensor ? HIA_OP_DIM : HIA_OP_LEN, &d.array, 1, HIA_I64, 0, loc);
  } else {
    hiaF_elab(e, list[2], false);
    hia_value_id from = e->words.data[base], to = e->words.data[base + 1];
    d.from = i64_of(e, from, loc);
    to = i64_of(e, to, loc);
    hia_value_id zero = hiaG_const(e->g, e->fn, e->region, HIA_I64, 0, loc);
    /* Ends too far apart for an i64 give a length below 0, for which there is no memory. */
    hia_value_id ins[3] = {two(e, HIA_OP_LT, d.from, to, loc), two(e, HIA_OP_SUB, to, d.from, loc),
                           zero};
    d.length = hiaG_op(e->g, e->fn, e->region, HIA_OP_SELECT, ins, 3, loc);
  }
  e->words.len = base;
  return d;
}

/* Makes the variable stand for element k of the domain, if a name refers to it. */
static void bind_element(hia_elab *e, hia_ast_id binder, const domain *d, hia_value_id k,
                         hia_loc_id loc) {
  if (!e->is_used[binder - e->first]) return;
  uint32_t base = e->words.len;
  hia_flat_type words;
  hiaF_elab_flatten(e, d->type, &words);
  hia_value_id at[2] = {d->array, k};
  for (uint32_t i = 0; i < words.n && d->array != HIA_NONE; i++)
    hiaF_elab_push(
        e, hiaF_elab_one(e, d->is_tensor ? HIA_OP_ROW : HIA_OP_AT, at, 2, words.data[i], i, loc));
  if (d->array == HIA_NONE) {
    hia_value_id x = two(e, HIA_OP_ADD, d->from, k, loc);
    hiaF_elab_push(
        e, d->type == HIA_I64 ? x : hiaF_elab_one(e, HIA_OP_CAST, &x, 1, d->type, HIA_I64, loc));
  }
  hiaF_elab_bind(e, binder, d->type, base);
  e->words.len = base;
}

static void elab_comprehension(hia_elab *e, hia_ast_id id, const hia_ast *n) {
  hia_loc_id loc = hiaF_elab_loc(e, n->pos);
  hia_region_id outer = e->region;
  domain d = elab_domain(e, n, loc);
  bool is_tensor = hiaF_is_tensor(hiaF_elab_itype(e, id));
  hia_type type = hiaF_elab_type(e, is_tensor ? hiaF_elab_itype(e, n->a) : hiaF_elab_itype(e, id));
  if (is_tensor) type = hiaG_array(e->g->types, type);
  hia_node_id node = hiaG_add(e->g, e->fn, outer, HIA_OP_MAP, &d.length, 1, &type, 1, 0, loc);
  e->region = hiaF_elab_regions(e, node);
  hia_value_id k = hiaF_elab_one(e, HIA_OP_ARG, NULL, 0, HIA_I64, 0, loc);
  if (e->counted) hiaG_add(e->g, e->fn, e->region, HIA_OP_COUNT, NULL, 0, NULL, 0, 1, loc);
  bind_element(e, e->p->extra.data[n->b], &d, k, loc);
  uint32_t base = hiaF_elab(e, n->a, false);
  if (is_tensor) hiaF_elab_alike(e, k, e->words.data[base], n);
  hiaF_elab_yield(e, e->region, base);
  e->region = outer;
  base = hiaF_elab_results(e, node);
  if (is_tensor) hiaF_elab_pack(e, base, id, n);
}

static void elab_of_arrays(hia_elab *e, hia_ast_id id, const hia_ast *n) {
  const uint32_t *args = e->p->extra.data + n->b;
  const hia_ast *callee = hiaF_node(e->p, n->a);
  if (hiaF_is_tensor(hiaF_elab_itype(e, hiaF_positional_arg(e->p, n, 0)))) {
    hiaF_elab_of_tensor(e, n, callee->b);
    return;
  }
  uint32_t base = hiaF_elab(e, args[0], false);
  if (callee->b == HIA_BUILTIN_LEN) {
    hia_type type = HIA_I64;
    hia_node_id len = hiaG_add(e->g, e->fn, e->region, HIA_OP_LEN, e->words.data + base, 1, &type,
                               1, 0, hiaF_elab_loc(e, callee->start));
    e->words.len = base;
    hiaF_elab_results(e, len);
  } else if (callee->b == HIA_BUILTIN_SET) {
    hiaF_elab_i64(e, args[1]);
    hiaF_elab(e, args[2], false);
    make_array(e, id, HIA_OP_SET, base, callee->start);
  } else {
    for (uint32_t i = 1; i < n->c; i++) hiaF_elab(e, args[i], false);
    make_array(e, id, HIA_OP_CONCAT, base, callee->start);
  }
}

static void elab_call(hia_elab *e, hia_ast_id id, const hia_ast *n, bool tail) {
  const hia_ast *callee = hiaF_node(e->p, n->a);
  if (callee->op == HIA_REF_BUILTIN && hiaF_tensor_builtin(callee->b)) {
    hiaF_elab_tensor(e, id, n);
    return;
  }
  if (callee->op == HIA_REF_BUILTIN && callee->b >= HIA_OP_LIMIT) {
    elab_of_arrays(e, id, n);
    return;
  }
  uint32_t base = e->words.len;
  for (uint32_t i = 0; i < n->c; i++) {
    uint32_t at = hiaF_elab(e, e->p->extra.data[n->b + i], false);
    if (callee->op != HIA_REF_CON) continue;
    hia_ast_id field = e->p->extra.data[hiaF_decl(e->p, callee->b)->params + i];
    hiaF_elab_sizes(e, hiaF_node(e->p, field)->b, at, e->p->extra.data[n->b + i]);
  }
  uint32_t count = e->words.len - base;
  if (callee->op == HIA_REF_BUILTIN && callee->b != HIA_OP_FAIL) {
    hia_operand few[3] = {{0}};
    for (uint32_t i = 0; i < n->c && i < HIA_LEN(few); i++)
      few[i] = hiaF_operand(e->p, e->p->extra.data[n->b + i]);
    op_of(e, callee->b, few, count, callee->start);
    return;
  }
  if (callee->op == HIA_REF_CON) {
    hia_type type = hiaF_elab_type(e, hiaF_elab_itype(e, id));
    hia_node_id data =
        hiaG_add(e->g, e->fn, e->region, HIA_OP_DATA, e->words.data + base, count, &type, 1,
                 hiaF_decl(e->p, callee->b)->number, hiaF_elab_loc(e, callee->start));
    e->words.len = base;
    hiaF_elab_results(e, data);
    return;
  }
  hia_loc_id loc = hiaF_elab_loc(e, callee->start);
  hia_flat_type outs;
  hiaF_elab_flatten(e, hiaF_elab_itype(e, id), &outs);
  unsigned opcode = callee->op == HIA_REF_BUILTIN  ? HIA_OP_FAIL
                    : callee->op == HIA_REF_EXTERN ? HIA_OP_HOST
                    : callee->op == HIA_REF_GRAD   ? HIA_OP_GRAD
                                                   : HIA_OP_CALL;
  uint32_t fn = 0;
  if (hiaF_is_of_instance(callee)) fn = function_of(e, hiaF_elab_itype(e, n->a));
  if (opcode == HIA_OP_GRAD)
    fn = hiaF_elab_gradient(e, &e->p->grads.data[callee->c], hiaF_elab_itype(e, n->a), fn);
  if (opcode == HIA_OP_HOST) fn = extern_of(e, callee->b);
  if (opcode != HIA_OP_FAIL && e->counted)
    hiaG_add(e->g, e->fn, e->region, HIA_OP_COUNT, NULL, 0, NULL, 0, 0, loc);
  hia_node_id node = hiaG_add(e->g, e->fn, e->region, opcode, e->words.data + base, count,
                              outs.data, outs.n, fn, loc);
  if (tail && opcode == HIA_OP_CALL) e->fn->nodes.data[node].flags |= HIA_NODE_TAIL;
  e->words.len = base;
  hiaF_elab_results(e, node);
}

static void elab_convert(hia_elab *e, const hia_ast *n) {
  hia_ast_id arg = e->p->extra.data[n->b];
  hia_itype from = hiaF_leaf(hiaF_elab_itype(e, arg));
  uint32_t base = hiaF_elab(e, arg, false);
  hia_dtype to = (hia_dtype)n->op;
  if (from == to) return;
  hia_value_id v = hiaG_computed(e->g, e->fn, e->region, HIA_OP_CAST, e->words.data + base, 1, to,
                                 from, hiaF_elab_loc(e, n->pos));
  e->words.len = base;
  hiaF_elab_push(e, v);
}

/* ---- all ---- */

static void elab_neg(hia_elab *e, const hia_ast *n) {
  const hia_ast *a = hiaF_node(e->p, n->a);
  if ((a->kind == HIA_AST_INT || a->kind == HIA_AST_FLOAT) && !(a->flags & HIA_AST_PAREN)) {
    number(e, n->a, true, n->pos);
    return;
  }
  hiaF_elab(e, n->a, false);
  op(e, HIA_OP_NEG, 1, n->pos);
}

static void elab_chain(hia_elab *e, hia_ast_id id, const hia_ast *n) {
  hiaF_elab(e, n->a, false);
  for (uint32_t i = 0; i < n->c; i += 3) {
    hiaF_elab(e, e->p->extra.data[n->b + i + 2], false);
    uint32_t pos = e->p->extra.data[n->b + i + 1];
    hia_operand operands[2] = {hiaF_operands(e->p, id, i / 3 + 1, pos),
                               hiaF_operand(e->p, e->p->extra.data[n->b + i + 2])};
    op_of(e, e->p->extra.data[n->b + i], operands, 2, pos);
  }
}

/* True if the value of an expression is that of expressions in it, which are in tail position too.
 */
static bool has_tails(const hia_ast *n) {
  return n->kind == HIA_AST_IF || n->kind == HIA_AST_MATCH || n->kind == HIA_AST_BLOCK;
}

uint32_t hiaF_elab(hia_elab *e, hia_ast_id id, bool tail) {
  const hia_ast *n = hiaF_node(e->p, id);
  uint32_t base = e->words.len;
  if (tail && e->result != HIA_NONE && !has_tails(n) && !hiaF_returns_sizes(e->p, id, e->result)) {
    hiaF_elab(e, id, false);
    hiaF_elab_sizes(e, e->result, base, id);
    return base;
  }
  switch ((hia_ast_kind)n->kind) {
  case HIA_AST_INT:
  case HIA_AST_FLOAT: number(e, id, false, n->pos); break;
  case HIA_AST_BOOL: constant(e, HIA_BOOL, n->a, n->pos); break;
  case HIA_AST_NAME: elab_name(e, id, n); break;
  case HIA_AST_TUPLE:
    for (uint32_t i = 0; i < n->c; i++) hiaF_elab(e, e->p->extra.data[n->b + i], false);
    break;
  case HIA_AST_ARRAY: elab_array(e, id, n); break;
  case HIA_AST_COMP: elab_comprehension(e, id, n); break;
  case HIA_AST_INDEX: elab_index(e, id, n); break;
  case HIA_AST_SLICE: elab_slice(e, id, n); break;
  case HIA_AST_IF: elab_if(e, id, n, tail); break;
  case HIA_AST_MATCH: hiaF_elab_match(e, id, tail); break;
  case HIA_AST_LOOP: elab_loop(e, n); break;
  case HIA_AST_BLOCK: elab_block(e, n, tail); break;
  case HIA_AST_CHAIN: elab_chain(e, id, n); break;
  case HIA_AST_MATMUL: hiaF_elab_matmul(e, id, n); break;
  case HIA_AST_LOGIC: elab_logic(e, n, tail); break;
  case HIA_AST_COMPARE:
    hiaF_elab(e, n->a, false);
    hiaF_elab(e, n->b, false);
    op_of(e, n->op, (hia_operand[]){hiaF_operand(e->p, n->a), hiaF_operand(e->p, n->b)}, 2, n->pos);
    break;
  case HIA_AST_NOT:
    hiaF_elab(e, n->a, false);
    op(e, HIA_OP_BNOT, 1, n->pos);
    break;
  case HIA_AST_NEG: elab_neg(e, n); break;
  case HIA_AST_CALL: elab_call(e, id, n, tail); break;
  case HIA_AST_CONVERT: elab_convert(e, n); break;
  case HIA_AST_FIELD: elab_field(e, n); break;
  default: HIA_BUG(e->p->comp, "an expression of kind %u in a checked program", n->kind);
  }
  return base;
}

/* Marks the variables that a name refers to. */
static void find_used(hia_elab *e, const hia_decl *d) {
  e->is_used = HIA_NEW_ARRAY(e->arena, bool, d->end_node - d->first_node);
  for (hia_ast_id id = d->first_node; id < d->end_node; id++) {
    const hia_ast *n = hiaF_node(e->p, id);
    if (n->kind == HIA_AST_NAME && n->op == HIA_REF_VAR) e->is_used[n->b - d->first_node] = true;
  }
}

static void build_body(hia_elab *e, uint32_t id) {
  hia_program *p = e->p;
  const hia_inst *inst = hiaF_inst(p, id);
  const hia_decl *d = hiaF_decl(p, inst->decl);
  e->fn = hiaG_fn(e->g, e->fns[id]);
  e->source = e->fn->source;
  e->first = d->first_node;
  e->decl = inst->decl;
  e->types = inst->types;
  e->dims = inst->dims;
  e->region = 0;
  e->n_copies = 1;
  find_used(e, d);
  e->words.len = e->vars.len = 0;
  e->slots = HIA_NEW_ARRAY(e->arena, uint32_t, d->end_node - d->first_node);
  for (uint32_t i = 0; i < e->fn->n_params; i++)
    hiaF_elab_push(e, hiaG_out(e->fn, i, 0)); /* the ARGs */
  for (uint32_t i = 0, at = 0; i < d->n_params; i++) {
    hiaF_elab_bind(e, p->extra.data[d->params + i], inst->args[i], at);
    at += hiaF_itype_words(&p->it, inst->args[i]);
  }
  /* Sizes may be those of later parameters, or parameters themselves; what was checked is bound.
   * Arrays come last: their elements bind no names. */
  for (unsigned pass = 0; pass < 2; pass++)
    for (uint32_t i = 0, at = 0; i < d->n_params; i++) {
      hia_ast_id param = p->extra.data[d->params + i];
      e->which_sizes = pass == 0 ? HIA_SIZES_OF_TENSORS : HIA_SIZES_IN_ARRAYS;
      hiaF_elab_sizes(e, hiaF_node(p, param)->b, at, param);
      if (hiaF_has_sizes(p, hiaF_node(p, param)->b)) hiaF_elab_bind(e, param, inst->args[i], at);
      at += hiaF_itype_words(&p->it, inst->args[i]);
    }
  e->which_sizes = HIA_SIZES_ALL;
  e->result = hiaF_has_sizes(p, d->type) ? d->type : HIA_NONE;
  e->words.len = 0;
  bool is_clause = d->gradient_of != HIA_NONE;
  hiaF_elab(e, d->body, !is_clause);
  if (is_clause) hiaF_elab_gradient_shapes(e);
  hiaF_elab_yield(e, 0, 0);
}

hia_graph *hiaF_build(hia_program *p, hia_comp *comp, hia_types *types, const hia_inst_id *roots,
                      uint32_t n_roots, bool counted, hia_fn_id *roots_out) {
  hia_arena *arena = &comp->arena;
  hia_elab e = {.p = p,
                .arena = arena,
                .g = hiaG_new(comp, types, p->source->name),
                .fns = HIA_NEW_ARRAY(arena, hia_fn_id, p->insts.len),
                .externs = HIA_NEW_ARRAY(arena, uint32_t, p->externs.len),
                .counted = counted};
  e.g->is_counted = counted;
  for (uint32_t i = 0; i < p->params.len; i++) hiaG_param_new(e.g, &p->params.data[i]);
  hiaR_reserve(arena, &e.words, 64); /* so that words.data + base is never null + 0 */
  for (uint32_t i = 0; i < p->insts.len; i++) e.fns[i] = HIA_NONE;
  for (uint32_t i = 0; i < p->externs.len; i++) e.externs[i] = HIA_NONE;
  for (uint32_t i = 0; i < n_roots; i++) {
    const hia_inst *inst = hiaF_inst(p, roots[i]);
    uint32_t n = hiaF_decl(p, inst->decl)->n_params;
    roots_out[i] = function_of(&e, roots[i]);
    hia_fn *fn = hiaG_fn(e.g, roots_out[i]);
    fn->is_root = true;
    fn->n_sig_params = n;
    fn->sig_params = HIA_NEW_ARRAY(arena, hia_type, n);
    for (uint32_t k = 0; k < n; k++) fn->sig_params[k] = hiaF_elab_type(&e, inst->args[k]);
    fn->sig_result = hiaF_elab_type(&e, inst->result);
  }
  for (uint32_t i = 0; i < e.queue.len; i++) build_body(&e, e.queue.data[i]);
  return e.g;
}
