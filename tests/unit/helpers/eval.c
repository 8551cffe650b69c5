/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/helpers/eval.h"
#include "runtime/base/loc.h"
#include "tests/unit/helpers/eval_objects.h"
#include <stdio.h>
#include <stdlib.h>

enum { MAX_EVALUATED = 60000, MAX_DEPTH = 400 };

/* A fork that is open, or that was stolen and is about to be joined. */
typedef struct noted_call {
  struct noted_call *older;
  uint64_t imm;      /* of the FORK */
  bool is_stolen;    /* known at the FORK if arguments are given to it, else at the STOLEN */
  bool is_drawn;     /* it is known */
  bool is_made;      /* then the call is made at once, as a quick thief would */
  hia_status status; /* of that call */
  hia_word results[EVAL_MAX_RESULTS];
  hia_word args[];
} noted_call;

typedef struct frame {
  const hia_fn *fn;
  const struct frame *caller;
  hia_loc_id loc; /* of the call in the caller */
  bool is_tail;   /* that call */
  hia_word *values;
  bool *is_later_round;   /* static state, by HEAD */
  noted_call *forks;      /* open, the newest first */
  noted_call *stolen;     /* NULL: none */
  hia_value_id given[16]; /* to the next fork */
  uint32_t n_given;
} frame;

typedef struct evaluation {
  const hia_graph *g;
  eval_outcome *out;
  uint64_t undef, chance;
  eval_steal steal;
  uint32_t n_evaluated, depth;
} evaluation;

/* ---- failures ---- */

static void add_chain(evaluation *e, hia_loc_id loc, bool is_tail) {
  size_t len = strlen(e->out->chain), room = sizeof e->out->chain - len;
  for (; loc != HIA_NONE; loc = e->g->locs.data[loc].parent, is_tail = false) {
    const hia_loc *l = &e->g->locs.data[loc];
    if (is_tail || hiaR_loc_is_mark(l->fn)) continue;
    int n =
        snprintf(e->out->chain + len, room, "%s %u:%u; ", e->g->names.data[l->fn], l->line, l->col);
    if (n < 0 || (size_t)n >= room) return;
    len += (size_t)n, room -= (size_t)n;
  }
}

static hia_status failed(evaluation *e, const frame *f, hia_loc_id loc, hia_status status) {
  add_chain(e, loc, false);
  for (; f->caller; f = f->caller) add_chain(e, f->loc, f->is_tail);
  return status;
}

/* A word of `undef`, in canonical form: no correct program's result depends on it. */
static hia_word junk(evaluation *e, hia_dtype type) {
  e->undef = e->undef * 6364136223846793005u + 1442695040888963407u;
  uint64_t bits = e->undef >> 11;
  switch (type) {
  case HIA_BOOL: return bits & 1;
  case HIA_I32: return hiaR_from_i32((int32_t)(uint32_t)bits);
  case HIA_I64:
  case HIA_F64: return bits;
  case HIA_F32: return (uint32_t)bits;
  default: return 0; /* an unset reference */
  }
}

/* ---- nodes that both states have ---- */

static hia_status eval_fn(evaluation *e, hia_fn_id f, const hia_word *args, hia_word *results,
                          const frame *caller, hia_loc_id loc, bool is_tail);

/* ---- forks ---- */

static bool draw_stolen(evaluation *e) {
  e->chance = e->chance * 6364136223846793005u + 1442695040888963407u;
  return e->steal == EVAL_STEAL_ALL || (e->steal == EVAL_STEAL_SOME && e->chance >> 63);
}

static bool is_given(const frame *f, hia_value_id v) {
  for (uint32_t i = 0; i < f->n_given; i++)
    if (f->given[i] == v) return true;
  return false;
}

/* The thief begins: it has what was given to it, and shares what else the callee owns. */
static hia_status make_stolen(evaluation *e, frame *f, hia_node_id n, noted_call *call,
                              hia_word *results) {
  const hia_node *node = &f->fn->nodes.data[n];
  const hia_fn *callee = hiaG_fn(e->g, HIA_IMM_A(call->imm));
  for (uint32_t i = 0; i < callee->n_params; i++) {
    if (hiaG_is_scalar(callee->params[i])) continue;
    eval_object_of(call->args[i]);
    if (callee->owns && callee->owns[i] && !(call->is_made && is_given(f, hiaG_in(f->fn, n, i))))
      eval_dup(call->args[i]);
  }
  return eval_fn(e, HIA_IMM_A(call->imm), call->args, results, f, node->loc,
                 node->flags & HIA_NODE_TAIL);
}

static void begin_fork(evaluation *e, frame *f, hia_node_id n) {
  const hia_node *node = &f->fn->nodes.data[n];
  noted_call *call = calloc(1, sizeof *call + node->n_ins * sizeof(hia_word));
  call->older = f->forks;
  call->imm = node->imm;
  for (uint32_t i = 0; i < node->n_ins; i++) call->args[i] = f->values[hiaG_in(f->fn, n, i)];
  f->forks = call;
  if (!f->n_given) return;
  call->is_drawn = true;
  call->is_made = call->is_stolen = draw_stolen(e);
  if (call->is_made) call->status = make_stolen(e, f, n, call, call->results);
  f->n_given = 0;
}

static bool end_fork(evaluation *e, frame *f, hia_node_id n) {
  noted_call *call = f->forks;
  eval_must(call && HIA_IMM_B(call->imm) == HIA_IMM_B(f->fn->nodes.data[n].imm),
            "forks: not the newest ends");
  eval_must(!f->stolen, "forks: one ends while another is about to be joined");
  f->forks = call->older;
  if (!call->is_drawn) call->is_stolen = draw_stolen(e);
  bool is_stolen = call->is_stolen;
  if (is_stolen)
    f->stolen = call;
  else
    free(call);
  return is_stolen;
}

/* Makes the call of a fork, with the arguments of the fork, if it has not been made. */
static hia_status join_fork(evaluation *e, frame *f, hia_node_id n) {
  const hia_node *node = &f->fn->nodes.data[n];
  noted_call *call = f->stolen;
  eval_must(call && call->imm == node->imm, "forks: a join of one that was not stolen");
  f->stolen = NULL;
  hia_status status = call->status;
  if (call->is_made)
    memcpy(f->values + node->outs, call->results, node->n_outs * sizeof *call->results);
  else
    status = make_stolen(e, f, n, call, f->values + node->outs);
  free(call);
  return status;
}

/* The words that the memory of a REUSE is said to have. */
static void check_same(const frame *f, hia_node_id n) {
  hia_word token = f->values[hiaG_in(f->fn, n, 0)];
  uint64_t imm = f->fn->nodes.data[n].imm;
  if (token < HIA_FIRST_ADDRESS || !HIA_IMM_B(imm)) return;
  const eval_object *o = eval_object_of(token);
  eval_must(o->ctor == HIA_IMM_A(imm), "memory of another constructor is used again");
  for (uint32_t i = 0; i < o->n && i < 32; i++)
    eval_must(!(HIA_IMM_B(imm) >> i & 1) || o->words[i] == f->values[hiaG_in(f->fn, n, i + 1)],
              "memory that is used again has other words");
}

static hia_status eval_plain(evaluation *e, frame *f, hia_node_id n) {
  const hia_node *node = &f->fn->nodes.data[n];
  hia_word ins[3];
  switch (node->op) {
  case HIA_OP_CONST: f->values[node->outs] = node->imm; return HIA_OK;
  case HIA_OP_UNDEF: f->values[node->outs] = junk(e, hiaG_type(f->fn, node->outs)); return HIA_OK;
  case HIA_OP_GIVE:
    eval_must(f->n_given < HIA_LEN(f->given), "forks: too many arguments are given");
    f->given[f->n_given++] = hiaG_in(f->fn, n, 0);
    return HIA_OK;
  case HIA_OP_LAST: {
    const eval_object *o = eval_object_of(f->values[hiaG_in(f->fn, n, 0)]);
    eval_must(!o || o->count != EVAL_TOKEN, "a token is looked at");
    f->values[node->outs] = hiaR_from_bool(!o || o->count == 1);
    return HIA_OK;
  }
  case HIA_OP_FORK: begin_fork(e, f, n); return HIA_OK;
  case HIA_OP_STOLEN: f->values[node->outs] = hiaR_from_bool(end_fork(e, f, n)); return HIA_OK;
  case HIA_OP_JOIN: return join_fork(e, f, n);
  case HIA_OP_ELEMENT: return HIA_OK; /* outcomes say no elements */
  case HIA_OP_COUNT: e->out->counts[node->imm & 1]++; return HIA_OK;
  case HIA_OP_DATA:
  case HIA_OP_REUSE: {
    uint32_t first = node->op == HIA_OP_REUSE;
    if (first) check_same(f, n);
    if (first) eval_forget(f->values[hiaG_in(f->fn, n, 0)]);
    hia_word *words = calloc(node->n_ins + 1u, sizeof *words);
    for (uint32_t i = first; i < node->n_ins; i++) {
      words[i - first] = f->values[hiaG_in(f->fn, n, i)];
      bool is_reference = !hiaG_is_scalar(hiaG_type(f->fn, hiaG_in(f->fn, n, i)));
      if (is_reference && words[i - first] != eval_hole()) eval_object_of(words[i - first]);
    }
    hia_word made = eval_data((uint32_t)node->imm, words, node->n_ins - first);
    eval_object_of(made)->count = 1;
    f->values[node->outs] = made;
    free(words);
    return HIA_OK;
  }
  case HIA_OP_DEST: {
    eval_object *dest = eval_new_array(1); /* no object of the program: it has no count */
    dest->count = EVAL_OUTSIDE;
    dest->words[0] = eval_hole();
    f->values[node->outs] = (hia_word)(uintptr_t)&dest->words[0];
    return HIA_OK;
  }
  case HIA_OP_HOLE: f->values[node->outs] = eval_hole(); return HIA_OK;
  case HIA_OP_HOLE_AT: {
    eval_object *o = eval_object_of(f->values[hiaG_in(f->fn, n, 0)]);
    eval_must(o && o->ctor == HIA_IMM_A(node->imm) && o->count == 1, "a hole in a shared object");
    f->values[node->outs] = (hia_word)(uintptr_t)&o->words[HIA_IMM_B(node->imm)];
    return HIA_OK;
  }
  case HIA_OP_PUT: {
    hia_word *at = (hia_word *)(uintptr_t)f->values[hiaG_in(f->fn, n, 0)];
    eval_must(*at == eval_hole(), "a hole is filled twice");
    *at = f->values[hiaG_in(f->fn, n, 1)];
    return HIA_OK;
  }
  case HIA_OP_TAKE: {
    hia_word *at = (hia_word *)(uintptr_t)f->values[hiaG_in(f->fn, n, 0)];
    eval_must(*at != eval_hole(), "a destination is empty");
    f->values[node->outs] = *at;
    return HIA_OK;
  }
  case HIA_OP_FILL: {
    hia_type type = hiaG_type(f->fn, hiaG_in(f->fn, n, 0));
    uint32_t size = e->g->types->entries.data[type - HIA_FIRST_TYPE].layout.n;
    eval_object *o = eval_object_of(f->values[hiaG_in(f->fn, n, 0)]);
    uint64_t at = f->values[hiaG_in(f->fn, n, 1)];
    eval_must(o && at < o->n / size, "an element outside of an array is filled");
    for (uint32_t i = 0; i < size; i++)
      o->words[at * size + i] = f->values[hiaG_in(f->fn, n, 2 + i)];
    return HIA_OK;
  }
  case HIA_OP_FILLED: f->values[node->outs] = f->values[hiaG_in(f->fn, n, 0)]; return HIA_OK;
  case HIA_OP_DUP: eval_dup(f->values[hiaG_in(f->fn, n, 0)]); return HIA_OK;
  case HIA_OP_DROP:
    eval_drop(e->g->types, hiaG_type(f->fn, hiaG_in(f->fn, n, 0)), f->values[hiaG_in(f->fn, n, 0)]);
    return HIA_OK;
  case HIA_OP_UNPACK:
    f->values[node->outs] = eval_unpack(e->g->types, f->fn, n, f->values[hiaG_in(f->fn, n, 0)]);
    return HIA_OK;
  case HIA_OP_FORGET: eval_forget(f->values[hiaG_in(f->fn, n, 0)]); return HIA_OK;
  case HIA_OP_CTOR:
    f->values[node->outs] = hiaR_from_i32((int32_t)eval_ctor_of(f->values[hiaG_in(f->fn, n, 0)]));
    return HIA_OK;
  case HIA_OP_FIELD:
    f->values[node->outs] = eval_field_of(f->values[hiaG_in(f->fn, n, 0)], node->imm);
    return HIA_OK;
  case HIA_OP_ARRAY:
  case HIA_OP_LEN:
  case HIA_OP_AT:
  case HIA_OP_SLICE:
  case HIA_OP_SET:
  case HIA_OP_CONCAT:
  case HIA_OP_NEW: {
    bool is_read = node->op == HIA_OP_LEN || node->op == HIA_OP_AT;
    hia_type type = hiaG_type(f->fn, is_read ? hiaG_in(f->fn, n, 0) : node->outs);
    const eval_array_op op = {e->g,
                              f->fn,
                              node,
                              f->values,
                              type,
                              e->g->types->entries.data[type - HIA_FIRST_TYPE].layout.n,
                              f->fn->owns != NULL,
                              &e->out->copies};
    hia_status status = eval_array(&op, &f->values[node->outs]);
    return status == HIA_OK ? HIA_OK : failed(e, f, node->loc, status);
  }
  case HIA_OP_FAIL:
    e->out->code = f->values[hiaG_in(f->fn, n, 0)];
    return failed(e, f, node->loc, HIA_FAILED);
  default: break;
  }
  for (uint32_t i = 0; i < node->n_ins; i++) ins[i] = f->values[hiaG_in(f->fn, n, i)];
  hia_status status = hiaR_scalar_eval(node->op, hiaG_node_dtype(e->g, f->fn, n), node->imm, ins,
                                       &f->values[node->outs]);
  if (status == HIA_FUEL) e->out->code = ins[0];
  return status == HIA_OK ? HIA_OK : failed(e, f, node->loc, status);
}

/* ---- function state ---- */

static hia_status eval_region(evaluation *e, frame *f, hia_region_id r);

static void yields(const frame *f, hia_region_id r, uint32_t first, hia_word *to, uint32_t n) {
  hia_node_id y = f->fn->regions.data[r].last;
  for (uint32_t i = 0; i < n; i++) to[i] = f->values[hiaG_in(f->fn, y, first + i)];
}

static hia_status eval_loop(evaluation *e, frame *f, hia_node_id n) {
  const hia_node *node = &f->fn->nodes.data[n];
  hia_word *vars = calloc(node->n_ins + 1u, sizeof *vars);
  hia_status status = HIA_OK;
  for (uint32_t i = 0; i < node->n_ins; i++) vars[i] = f->values[hiaG_in(f->fn, n, i)];
  for (;;) {
    hia_node_id arg = f->fn->regions.data[node->regions].first;
    for (uint32_t i = 0; i < node->n_ins; i++, arg = f->fn->nodes.data[arg].next)
      f->values[hiaG_out(f->fn, arg, 0)] = vars[i];
    if (e->n_evaluated++ > MAX_EVALUATED) status = HIA_DEADLINE;
    if (status == HIA_OK) status = eval_region(e, f, node->regions);
    if (status != HIA_OK) break;
    hia_word goes_on;
    yields(f, node->regions, 0, &goes_on, 1);
    if (!goes_on) {
      yields(f, node->regions, 1, f->values + node->outs, node->n_outs);
      break;
    }
    e->out->made++;
    status = eval_region(e, f, node->regions + 1);
    if (status != HIA_OK) break;
    yields(f, node->regions + 1, 0, vars, node->n_ins);
  }
  free(vars);
  return status;
}

static hia_status eval_map(evaluation *e, frame *f, hia_node_id n) {
  const hia_node *node = &f->fn->nodes.data[n];
  int64_t length = hiaR_to_i64(f->values[hiaG_in(f->fn, n, 0)]);
  uint32_t size = f->fn->nodes.data[f->fn->regions.data[node->regions].last].n_ins;
  if (length < 0 || length > INT32_MAX) return failed(e, f, node->loc, HIA_MEMORY);
  eval_object *made = eval_new_array((size_t)length * size);
  for (int64_t k = 0; k < length; k++) {
    f->values[hiaG_out(f->fn, f->fn->regions.data[node->regions].first, 0)] = hiaR_from_i64(k);
    e->out->made++;
    hia_status status = eval_region(e, f, node->regions);
    if (status != HIA_OK) return status;
    yields(f, node->regions, 0, made->words + k * size, size);
  }
  f->values[node->outs] = (hia_word)(uintptr_t)made;
  return HIA_OK;
}

static hia_status eval_region(evaluation *e, frame *f, hia_region_id r) {
  for (hia_node_id n = f->fn->regions.data[r].first; n != HIA_NONE; n = f->fn->nodes.data[n].next) {
    const hia_node *node = &f->fn->nodes.data[n];
    hia_status status = HIA_OK;
    if (e->n_evaluated++ > MAX_EVALUATED) return HIA_DEADLINE;
    switch (node->op) {
    case HIA_OP_ARG:
    case HIA_OP_YIELD: break;
    case HIA_OP_IF: {
      hia_region_id arm = node->regions + (f->values[hiaG_in(f->fn, n, 0)] ? 0 : 1);
      status = eval_region(e, f, arm);
      if (status == HIA_OK) yields(f, arm, 0, f->values + node->outs, node->n_outs);
      break;
    }
    case HIA_OP_LOOP: status = eval_loop(e, f, n); break;
    case HIA_OP_MAP: status = eval_map(e, f, n); break;
    case HIA_OP_CALL: {
      e->out->made++;
      hia_word *args = calloc(node->n_ins + 1u, sizeof *args);
      for (uint32_t i = 0; i < node->n_ins; i++) args[i] = f->values[hiaG_in(f->fn, n, i)];
      status = eval_fn(e, HIA_IMM_A(node->imm), args, f->values + node->outs, f, node->loc,
                       node->flags & HIA_NODE_TAIL);
      free(args);
      break;
    }
    default: status = eval_plain(e, f, n); break;
    }
    if (status != HIA_OK) return status;
  }
  return HIA_OK;
}

/* ---- static state ---- */

static hia_status eval_range(evaluation *e, frame *f, hia_region_id r);

static hia_status eval_site(evaluation *e, frame *f, const hia_site *s) {
  hia_word *args = calloc(s->n_calls + 1u, sizeof *args);
  for (uint32_t i = 0; i < s->n_calls; i++)
    if (f->fn->nodes.data[s->calls + i].n_ins) args[i] = f->values[hiaG_in(f->fn, s->calls + i, 0)];
  hia_word results[EVAL_MAX_RESULTS];
  hia_status status = eval_fn(e, s->callee, args, results, f, s->loc, s->is_tail);
  free(args);
  if (status == HIA_OK)
    for (uint32_t i = 0; i < s->n_returns; i++)
      f->values[hiaG_out(f->fn, s->returns + i, 0)] = results[i];
  return status;
}

static hia_status eval_static_node(evaluation *e, frame *f, hia_node_id n) {
  const hia_fn *fn = f->fn;
  const hia_node *node = &fn->nodes.data[n];
  hia_word *out = f->values + node->outs;
  switch (node->op) {
  case HIA_OP_MERGE_ENTRY:
  case HIA_OP_YIELD: return HIA_OK;
  case HIA_OP_SWITCH: {
    bool pred = f->values[hiaG_in(fn, n, 1)] != 0;
    out[pred ? 0 : 1] = f->values[hiaG_in(fn, n, 0)];
    out[pred ? 1 : 0] = junk(e, hiaG_type(fn, node->outs));
    return HIA_OK;
  }
  case HIA_OP_MERGE:
    *out = f->values[hiaG_in(fn, n, f->values[fn->regions.data[node->imm].pred] ? 0 : 1)];
    return HIA_OK;
  case HIA_OP_MERGE_LOOP:
    *out = f->values[hiaG_in(fn, n, f->is_later_round[node->region] ? 1 : 0)];
    return HIA_OK;
  case HIA_OP_ENTER:
  case HIA_OP_NEXT:
  case HIA_OP_EXIT: *out = f->values[hiaG_in(fn, n, 0)]; return HIA_OK;
  default: return eval_plain(e, f, n);
  }
}

static hia_status eval_head(evaluation *e, frame *f, hia_region_id head) {
  f->is_later_round[head] = false;
  for (;;) {
    if (e->n_evaluated++ > MAX_EVALUATED) return HIA_DEADLINE;
    hia_status status = eval_range(e, f, head);
    if (status != HIA_OK) return status;
    if (!f->values[f->fn->regions.data[head + 1].pred]) return HIA_OK;
    status = eval_range(e, f, head + 1);
    if (status != HIA_OK) return status;
    f->is_later_round[head] = true;
  }
}

/* A HEAD without its ROUND, any other region whole. Regions are numbered by position. */
static hia_status eval_range(evaluation *e, frame *f, hia_region_id r) {
  const hia_region *regions = f->fn->regions.data;
  hia_node_id end = regions[r].kind == HIA_REGION_HEAD ? regions[r + 1].first : regions[r].last;
  hia_region_id child = r + 1;
  for (hia_node_id n = regions[r].first;;) {
    while (child < f->fn->regions.len &&
           (regions[child].parent != r || regions[child].kind == HIA_REGION_ELSE ||
            regions[child].kind == HIA_REGION_ROUND))
      child++;
    hia_status status;
    if (child < f->fn->regions.len && regions[child].first == n) {
      if (regions[child].kind == HIA_REGION_THEN) {
        status = eval_range(e, f, f->values[regions[child].pred] ? child : child + 1);
        n = regions[child + 1].last;
      } else {
        status = eval_head(e, f, child);
        n = regions[child].last;
      }
      child++;
    } else if (n == end) {
      return HIA_OK;
    } else if (f->fn->nodes.data[n].op == HIA_OP_CALL_I) {
      const hia_site *s = &e->g->sites.data[HIA_IMM_A(f->fn->nodes.data[n].imm)];
      status = eval_site(e, f, s);
      n += s->n_calls + s->n_returns;
    } else {
      status = eval_static_node(e, f, n++);
    }
    if (e->n_evaluated++ > MAX_EVALUATED) return HIA_DEADLINE;
    if (status != HIA_OK) return status;
  }
}

/* ---- calls ---- */

static hia_status eval_fn(evaluation *e, hia_fn_id id, const hia_word *args, hia_word *results,
                          const frame *caller, hia_loc_id loc, bool is_tail) {
  const hia_fn *fn = hiaG_fn(e->g, id);
  if (e->depth == MAX_DEPTH) return HIA_DEADLINE;
  e->depth++;
  frame f = {.fn = fn,
             .caller = caller,
             .loc = loc,
             .is_tail = is_tail,
             .values = calloc(fn->values.len + 1u, sizeof *f.values),
             .is_later_round = calloc(fn->regions.len + 1u, sizeof(bool))};
  hia_node_id yield = HIA_NONE;
  for (hia_node_id n = 0; n < fn->nodes.len; n++) {
    const hia_node *node = &fn->nodes.data[n];
    if (node->flags & HIA_NODE_DEAD || node->region != 0) continue;
    if (node->op == HIA_OP_ARG || node->op == HIA_OP_MERGE_ENTRY)
      f.values[node->outs] = args[node->imm];
    if (node->op == HIA_OP_YIELD) yield = n;
  }
  hia_status status = e->g->state == HIA_STATIC ? eval_range(e, &f, 0) : eval_region(e, &f, 0);
  if (status == HIA_OK)
    for (uint32_t i = 0; i < fn->n_results; i++) results[i] = f.values[hiaG_in(fn, yield, i)];
  eval_must(status != HIA_OK || (!f.forks && !f.stolen), "a fork is open at the end of a function");
  for (noted_call *call = f.forks, *older; call; call = older) {
    older = call->older;
    free(call);
  }
  free(f.stolen);
  free(f.values);
  free(f.is_later_round);
  e->depth--;
  return status;
}

void eval_graph(const hia_graph *g, hia_fn_id f, const hia_word *args, uint64_t undef,
                eval_outcome *out) {
  eval_stealing(g, f, args, undef, EVAL_STEAL_NONE, out);
}

void eval_stealing(const hia_graph *g, hia_fn_id f, const hia_word *args, uint64_t undef,
                   eval_steal steal, eval_outcome *out) {
  memset(out, 0, sizeof *out);
  evaluation e = {.g = g, .out = out, .undef = undef, .chance = undef, .steal = steal};
  out->status = eval_fn(&e, f, args, out->results, NULL, HIA_NONE, false);
  const hia_fn *fn = hiaG_fn(g, f);
  for (uint32_t i = 0; i < fn->n_results && out->status == HIA_OK; i++)
    if (!hiaG_is_scalar(fn->results[i]))
      out->results[i] = eval_hash_of(g->types, fn->results[i], out->results[i]);
  out->live = eval_count_live();
}

/* ---- comparing ---- */

/* All NaNs are one. */
static bool same_word(hia_dtype type, hia_word a, hia_word b) {
  if (type == HIA_F32 && hiaR_to_f32(a) != hiaR_to_f32(a)) return hiaR_to_f32(b) != hiaR_to_f32(b);
  if (type == HIA_F64 && hiaR_to_f64(a) != hiaR_to_f64(a)) return hiaR_to_f64(b) != hiaR_to_f64(b);
  return a == b;
}

bool eval_agree(const hia_fn *fn, const eval_outcome *a, const eval_outcome *b) {
  if (a->status == HIA_DEADLINE || b->status == HIA_DEADLINE) return true;
  if (a->status != b->status || a->code != b->code || strcmp(a->chain, b->chain) != 0) return false;
  if (a->counts[0] != b->counts[0] || a->counts[1] != b->counts[1]) return false;
  for (uint32_t i = 0; i < fn->n_results && a->status == HIA_OK; i++)
    if (!same_word(fn->results[i], a->results[i], b->results[i])) return false;
  return true;
}

void eval_print(const hia_fn *fn, const eval_outcome *o, char *buf, size_t size) {
  size_t len = (size_t)snprintf(buf, size, "%s", hiaR_status_word(o->status));
  for (uint32_t i = 0; i < fn->n_results && o->status == HIA_OK && len + 60 < size; i++) {
    char word[64];
    if (hiaG_is_scalar(fn->results[i]))
      hiaR_print_word(word, sizeof word, fn->results[i], o->results[i]);
    else
      snprintf(word, sizeof word, "#%016llx", (unsigned long long)o->results[i]);
    len += (size_t)snprintf(buf + len, size - len, " %s", word);
  }
  if (len + 1 < size)
    snprintf(buf + len, size - len, " calls %llu rounds %llu code %lld: %s",
             (unsigned long long)o->counts[0], (unsigned long long)o->counts[1], (long long)o->code,
             o->chain);
}
