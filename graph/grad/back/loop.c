/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Goes through loops backwards. f.kept makes a list with a record for each round, the last one
 * first. f.back follows it:
 *
 *     loop list = record, gradients of the variables that vary, sums for values from outside
 *     while list is no End
 *     { the round backwards: the gradients of the variables at its begin, and the sums } */
#include "graph/grad/back/back.h"
#include "graph/ir/change.h"
#include "graph/ir/walk.h"

/* A loop of f, and the loop of f.back that goes through it. */
typedef struct looping {
  hia_reverse *r;
  hia_node_id n; /* of f */
  hia_node node;
  hia_region_id head, round;
  hia_value_id *args;   /* by variable: its ARG; NONE: it has none */
  hia_value_id *at_end; /* by variable: its gradient at the end; NONE: it has none */
  hia_u32vec vars;      /* the variables that vary */
  hia_u32vec outside;   /* ids of values from outside that rounds contribute to */
  hia_type list_type;   /* the type of the list of records */
  hia_node_id loop;     /* of f.back */
  hia_region_id back_head;
  hia_node_id rest;     /* the UNDEF that stands for the rest of the list */
  uint32_t grad_region; /* of the round */
  /* The variables of the loop of f.back are the list, those of `vars`, and those of `outside`. */
  hia_u32vec starts;    /* their values before the loop */
  hia_u32vec variables; /* their ARGs */
  HIA_VEC(hia_type) types;
} looping;

/* The number of a loop's variable that a value is; NONE: it is none. */
static uint32_t variable_of(const looping *l, hia_value_id v) {
  const hia_node *def = hiaG_def(l->r->fn, v);
  return def->op == HIA_OP_ARG && def->region == l->head ? (uint32_t)def->imm : HIA_NONE;
}

/* True if the head of the loop computes the value. */
static bool is_of_head(const looping *l, hia_value_id v) {
  return hiaG_def(l->r->fn, v)->region == l->head && variable_of(l, v) == HIA_NONE;
}

/* Finds args, and the gradients at the end of the variables, from those of the results. */
static void find_ends(looping *l, const hia_value_id *gradients) {
  hia_reverse *r = l->r;
  hia_arena *arena = r->d->arena;
  size_t n_vars = l->node.n_ins;
  l->args = HIA_NEW_ARRAY(arena, hia_value_id, n_vars + 1);
  l->at_end = HIA_NEW_ARRAY(arena, hia_value_id, n_vars + 1);
  memset(l->args, 0xff, (n_vars + 1) * sizeof *l->args);
  memset(l->at_end, 0xff, (n_vars + 1) * sizeof *l->at_end);
  HIA_EACH_ARG(r->fn, l->head, a) l->args[r->fn->nodes.data[a].imm] = r->fn->nodes.data[a].outs;
  hia_node_id yield = hiaG_yield_of(r->fn, l->head);
  for (uint32_t i = 0; i < l->node.n_outs; i++) {
    hia_value_id v = hiaG_in(r->fn, yield, i + 1);
    uint32_t var = variable_of(l, v);
    if (gradients[i] == HIA_NONE || !r->b->varies[v]) continue;
    if (is_of_head(l, v))
      hiaG_grad_lacks(r->d, r->fn, l->node.loc, "what the head of a loop computes");
    if (var == HIA_NONE)
      hiaG_back_add_dense(r, v, gradients[i]);
    else if (l->at_end[var] == HIA_NONE)
      l->at_end[var] = gradients[i];
    else
      l->at_end[var] = hiaG_back_plus(r, hiaG_back_type(r, v), l->at_end[var], gradients[i]);
  }
}

/* A zero of the type of a variable that has no gradient at the end. */
static hia_value_id zero_at_end(looping *l, uint32_t var, hia_type type) {
  hia_reverse *r = l->r;
  hia_node_id yield = hiaG_yield_of(r->fn, l->head);
  hia_value_id result = HIA_NONE; /* of the loop, if one is the variable at the end */
  for (uint32_t k = 0; k < l->node.n_outs; k++)
    if (variable_of(l, hiaG_in(r->fn, yield, k + 1)) == var) result = l->node.outs + k;
  if (hiaG_type_kind(r->g->types, type) != HIA_KIND_TENSOR)
    return hiaG_grad_zero(r->d, here(r), type);
  if (result == HIA_NONE)
    hiaG_grad_lacks(r->d, r->fn, l->node.loc, "a variable of a loop that is not returned");
  return op_of(r, HIA_OP_ZEROS, hiaG_back_read(r, result), HIA_NONE);
}

/* Finds the variables that vary, and what those of f.back are before its loop. */
static void begin(looping *l) {
  hia_reverse *r = l->r;
  hia_arena *arena = r->d->arena;
  hia_type tape = r->d->versions.data[r->b->version].tape;
  l->list_type = hiaG_grad_named_type(
      r->d, hiaR_arena_printf(arena, "%s rounds %u", hiaG_type_text(r->g->types, tape), l->n));
  hiaR_push(arena, &l->starts, hiaG_back_record(r, l->n, l->list_type));
  hiaR_push(arena, &l->types, l->list_type);
  r->b->records[l->n].type = l->list_type;
  for (uint32_t i = 0; i < l->node.n_ins; i++) {
    if (l->args[i] == HIA_NONE || !r->b->varies[l->args[i]]) continue;
    hia_type type = hiaG_back_type(r, l->args[i]);
    if (l->at_end[i] == HIA_NONE) l->at_end[i] = zero_at_end(l, i, type);
    hiaR_push(arena, &l->vars, i);
    hiaR_push(arena, &l->starts, l->at_end[i]);
    hiaR_push(arena, &l->types, type);
  }
}

/* Makes the loop of f.back, so far without variables for values from outside. */
static void make_loop(looping *l) {
  hia_reverse *r = l->r;
  l->loop = node_of(r, HIA_OP_LOOP, l->starts.data, l->starts.len, NULL, 0, 0);
  l->back_head = r->back->nodes.data[l->loop].regions;
  for (uint32_t i = 0; i < l->types.len; i++)
    hiaR_push(r->d->arena, &l->variables,
              arg_of(r, l->back_head, l->types.data[i], i, l->node.loc));
}

/* Goes through a round. */
static hia_contributions through_round(looping *l) {
  hia_reverse *r = l->r;
  hia_region_id back_round = l->back_head + 1;
  uint32_t head_region =
      hiaG_back_add_region(r, HIA_GRAD_HEAD, l->head, back_round, r->grad_region, HIA_NONE);
  l->grad_region =
      hiaG_back_add_region(r, HIA_GRAD_ROUND, l->round, back_round, head_region, HIA_NONE);
  hia_grad_record *record = &r->b->records[l->n];
  record->grad_regions[0] = head_region;
  record->grad_regions[1] = l->grad_region;
  r->b->grad_regions.data[head_region].tape = r->b->grad_regions.data[l->grad_region].tape =
      l->variables.data[0];
  l->rest = record->rest =
      hiaG_add(r->g, r->back, back_round, HIA_OP_UNDEF, NULL, 0, &l->list_type, 1, 0, l->node.loc);
  hia_value_id *seeds = HIA_NEW_ARRAY(r->d->arena, hia_value_id, (size_t)l->node.n_ins + 1);
  memset(seeds, 0xff, ((size_t)l->node.n_ins + 1) * sizeof *seeds);
  for (uint32_t i = 0; i < l->vars.len; i++) {
    seeds[l->vars.data[i]] = l->variables.data[i + 1];
    /* What the round gives, which may have other sizes than what it begins with. */
    hiaG_back_same_shape(r, l->variables.data[i + 1],
                         hiaG_in(r->fn, hiaG_yield_of(r->fn, l->round), l->vars.data[i]));
  }
  hia_contributions found = hiaG_back_arm(r, l->grad_region, seeds, (hia_contributions){0});
  for (uint32_t i = 0; i < found.len; i++)
    if (!hiaG_back_is_param(r, found.data[i].id) && is_of_head(l, found.data[i].id))
      hiaG_grad_lacks(r->d, r->fn, l->node.loc, "what the head of a loop computes");
  return found;
}

/* Ends the round: with the gradients of variables, and of values from outside, for which the loop
 * gets variables, too. */
static void end_round(looping *l, hia_contributions found) {
  hia_reverse *r = l->r;
  hia_arena *arena = r->d->arena;
  hia_u32vec next = {0};
  hiaR_push(arena, &next, hiaG_out(r->back, l->rest, 0));
  uint32_t outer = r->grad_region;
  hia_region_id region = r->region;
  r->grad_region = l->grad_region;
  r->region = l->back_head + 1;
  for (uint32_t i = 0; i < l->vars.len; i++) {
    hia_value_id arg = l->args[l->vars.data[i]], at_begin = HIA_NONE;
    for (uint32_t k = 0; k < found.len; k++)
      if (found.data[k].id == arg) at_begin = found.data[k].gradient;
    hiaR_push(arena, &next, at_begin == HIA_NONE ? hiaG_back_zero(r, arg) : at_begin);
  }
  for (uint32_t k = 0; k < found.len; k++) {
    uint32_t id = found.data[k].id;
    if (!hiaG_back_is_param(r, id) && hiaG_def(r->fn, id)->region == l->head) continue;
    hia_type type = hiaG_back_type(r, id);
    hia_value_id so_far = arg_of(r, l->back_head, type, l->types.len, l->node.loc);
    if (!hiaG_back_is_param(r, id)) hiaG_back_same_shape(r, so_far, id);
    hiaR_push(arena, &l->variables, so_far);
    hiaR_push(arena, &l->types, type);
    hiaR_push(arena, &l->outside, id);
    hiaR_push(arena, &next, hiaG_back_plus(r, type, so_far, found.data[k].gradient));
  }
  hiaG_yield(r->g, r->back, r->region, next.data, next.len);
  r->grad_region = outer;
  r->region = region;
}

/* Makes zeros, before the loop, for what its variables for values from outside begin with. */
static void begin_outside(looping *l) {
  hia_reverse *r = l->r;
  for (uint32_t i = 0; i < l->outside.len; i++) {
    hia_node_id first = r->back->nodes.len;
    hiaR_push(r->d->arena, &l->starts, hiaG_back_zero(r, l->outside.data[i]));
    for (hia_node_id m = first; m < r->back->nodes.len; m++)
      if (r->back->nodes.data[m].region == r->region && r->back->nodes.data[m].op != HIA_OP_UNDEF &&
          !(r->back->nodes.data[m].flags & HIA_NODE_DEAD))
        hiaG_move(r->back, m, l->loop);
  }
  hiaG_set_ins(r->g, r->back, l->loop, l->starts.data, l->starts.len);
}

/* Ends the head: the loop goes on while the list is no End. */
static void end_head(looping *l) {
  hia_reverse *r = l->r;
  hia_region_id region = r->region;
  hia_type i32 = HIA_I32;
  hia_u32vec exits = {0};
  r->region = l->back_head;
  hia_node_id ctor = node_of(r, HIA_OP_CTOR, &l->variables.data[0], 1, &i32, 1, 0);
  hiaR_push(r->d->arena, &exits,
            op_of(r, HIA_OP_NE, hiaG_out(r->back, ctor, 0), constant(r, HIA_I32, 0)));
  for (uint32_t i = 1; i < l->variables.len; i++)
    hiaR_push(r->d->arena, &exits, l->variables.data[i]);
  hiaG_yield(r->g, r->back, l->back_head, exits.data, exits.len);
  r->region = region;
  hiaG_set_outs(r->g, r->back, l->loop, l->types.data + 1, l->types.len - 1);
  if (r->g->is_counted) {
    hia_node_id first = r->back->regions.data[l->back_head + 1].first;
    hiaG_insert(r->g, r->back, first, HIA_OP_COUNT, NULL, 0, NULL, 0, 1, l->node.loc);
  }
}

/* Adds what the loop gives to the gradients of its operands, and of values from outside. */
static void add_results(looping *l) {
  hia_reverse *r = l->r;
  for (uint32_t i = 0; i < l->vars.len; i++) {
    hia_value_id start = hiaG_in(r->fn, l->n, l->vars.data[i]);
    hiaG_back_same_shape(r, hiaG_out(r->back, l->loop, i), start);
    hiaG_back_add_dense(r, start, hiaG_out(r->back, l->loop, i));
  }
  for (uint32_t i = 0; i < l->outside.len; i++) {
    uint32_t id = l->outside.data[i];
    hia_value_id sum = hiaG_out(r->back, l->loop, l->vars.len + i);
    if (!hiaG_back_is_param(r, id)) hiaG_back_same_shape(r, sum, id);
    hiaG_back_add(r, id, sum);
  }
}

void hiaG_back_loop(hia_reverse *r, hia_node_id n) {
  bool is_some;
  const hia_value_id *gradients = hiaG_back_take_all(r, n, &is_some);
  if (!is_some) return;
  looping l = {.r = r, .n = n, .node = r->fn->nodes.data[n]};
  l.head = l.node.regions;
  l.round = l.head + 1;
  find_ends(&l, gradients);
  begin(&l);
  make_loop(&l);
  hia_contributions found = through_round(&l);
  end_round(&l, found);
  begin_outside(&l);
  end_head(&l);
  add_results(&l);
}
