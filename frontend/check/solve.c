/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Instances of functions, and the types of their results.
 *
 * The language's rule: results that are not declared start unknown. All bodies are typed repeatedly
 * until nothing changes; a result is the type of its body, and calls see its literal parts as
 * unknown. Then literal results settle, and the bodies are typed again. For a whole program at once
 * that is quadratic. Here it is done for one strongly connected component of the call graph at a
 * time, callees first (Tarjan 1972, with an explicit stack), with a queue of the bodies that have
 * to be typed again.
 *
 * For programs without conflicts the outcome is that of the rule, and it does not depend on any
 * order: a literal that was joined with an unknown (a tainted type, with U) settles only once all
 * that does not depend on it is known, and bodies are typed in rounds that see only the results of
 * the round before:
 *
 *   phase 1  a tainted literal settles to unknown, and so does what has an open rank: results climb
 * a finite lattice. Then open ranks are taken as they are. phase 2  (force) it settles to its
 * dtype, as the rule has it. A result may be replaced by another one here, but at most MAX_CHANGES
 * times. phase 3  literal results settle, and phase 2 again
 *
 * The results of the rule contain those of phase 1, so starting from phase 1 loses nothing. If a
 * body has an error in the end, the component is solved once more without the first phase 2:
 * results settle before the literals inside of bodies do. That makes the 0 an f32, as the result
 * is, in
 *
 *   fn f(n: i64) = if n <= 1 then 1.0 else twice(0 + f(n - 1))
 *
 * where the rule would make the argument of `twice` an i32 before it finds the result of f. The
 * opposite order alone would not do either: exp(...) has to settle to f32 before the 0 does, in
 *
 *   fn f(n: i64) = if n <= 1 then 0 else twice(exp(f(n - 1)))
 *
 * If both orders leave an error, check.c reports it.
 *
 * The call graph is discovered during the walk. A generic call has a callee once its arguments are
 * known; that may make new instances, and may merge components that were separate before. The
 * merged component then starts again from unknown.
 *
 * None of this reports anything. check.c reports the errors of bodies once types are final. */
#include "frontend/check/check.h"
#include "frontend/check/infer.h"
#include "frontend/kit/instance.h"
#include "frontend/kit/typing.h"
#include "frontend/syntax/program.h"

#define MAX_CHANGES 8 /* changes of a result to types that do not contain it; then it stays */

/* ---- one component ---- */

typedef struct frame {
  uint32_t inst;
  uint32_t next; /* the next of its callees to visit */
} frame;

typedef struct solver {
  hia_program *p;
  HIA_VEC(frame) frames;
  hia_u32vec queue; /* first in, first out: begins at `head` */
  uint32_t head;
  hia_force force;
} solver;

static hia_itype type_body(solver *s, uint32_t id) {
  hia_inst *inst = hiaF_inst(s->p, id);
  hia_typing t = {.p = s->p,
                  .types = inst->types,
                  .first = hiaF_decl(s->p, inst->decl)->first_node,
                  .inst = id,
                  .force = s->force};
  hia_itype type = hiaF_infer_body(&t);
  inst = hiaF_inst(s->p, id);
  inst->held = t.held;
  inst->conflict = t.failed;
  return type;
}

static bool is_declared(const hia_program *p, const hia_inst *inst) {
  (void)p;
  return inst->declared != HIA_IT_NONE;
}

static void enqueue(solver *s, uint32_t id) {
  hia_inst *inst = hiaF_inst(s->p, id);
  if (inst->queued || inst->state != HIA_INST_ACTIVE) return;
  inst->queued = true;
  hiaR_push(s->p->arena, &s->queue, id);
}

static void enqueue_callers(solver *s, uint32_t id, uint32_t root_index) {
  for (uint32_t i = 0; i < hiaF_inst(s->p, id)->callers.len; i++) {
    uint32_t caller = hiaF_inst(s->p, id)->callers.data[i];
    if (hiaF_inst(s->p, caller)->index >= root_index) enqueue(s, caller);
  }
}

/* Goes through the calls that typing a member has found. True if the component has to wait: for a
 * new instance, or because it is part of a larger component. */
static bool has_grown(solver *s, uint32_t root, uint32_t member, uint32_t from) {
  hia_program *p = s->p;
  bool grown = false;
  for (uint32_t i = from; i < hiaF_inst(p, member)->callees.len; i++) {
    uint32_t callee = hiaF_inst(p, member)->callees.data[i];
    const hia_inst *c = hiaF_inst(p, callee);
    hia_inst *r = hiaF_inst(p, root);
    if (c->state == HIA_INST_NEW) {
      if (member != root) hiaR_push(p->arena, &r->callees, callee);
      grown = true;
    } else if (c->state == HIA_INST_ACTIVE && c->index < r->low) {
      r->low = c->index;
      grown = true;
    }
  }
  return grown;
}

/* The type that was found for a member's body becomes its result, if it says more. */
static void take_result(solver *s, uint32_t id, uint32_t root_index) {
  hia_itypes *it = &s->p->it;
  hia_inst *inst = hiaF_inst(s->p, id);
  hia_itype type = inst->found;
  if (is_declared(s->p, inst) || type == inst->result) return;
  if (hiaF_itype_has(it, type) & HIA_HAS_ERROR) return;
  hia_itype join = hiaF_join(it, type, inst->result);
  if (s->force == HIA_FORCE_ALL && join == inst->result) return;
  if (join != type && ++inst->changes > MAX_CHANGES) {
    inst->conflict = true;
    return;
  }
  inst->result = type;
  enqueue_callers(s, id, root_index);
}

/* Types the queued bodies in rounds until nothing changes. False if the component has grown. */
static bool drain(solver *s, uint32_t root) {
  hia_program *p = s->p;
  uint32_t root_index = hiaF_inst(p, root)->index;
  while (s->head < s->queue.len) {
    uint32_t first = s->head, end = s->queue.len;
    while (s->head < end) {
      uint32_t id = s->queue.data[s->head++];
      hiaF_inst(p, id)->queued = false;
      uint32_t n_calls = hiaF_inst(p, id)->callees.len;
      hia_itype type = type_body(s, id);
      hiaF_inst(p, id)->found = type;
      if (has_grown(s, root, id, n_calls)) return false;
    }
    for (uint32_t i = first; i < end; i++) take_result(s, s->queue.data[i], root_index);
  }
  s->head = s->queue.len = 0;
  return true;
}

static void clear_queue(solver *s) {
  for (; s->head < s->queue.len; s->head++) hiaF_inst(s->p, s->queue.data[s->head])->queued = false;
  s->head = s->queue.len = 0;
}

/* Settles literal results. False if there were none and phase 2 would change nothing. */
static bool settle_results(solver *s, uint32_t root, uint32_t first) {
  hia_program *p = s->p;
  bool again = false, unknown = false;
  for (uint32_t i = first; i < p->tarjan.len; i++) {
    uint32_t id = p->tarjan.data[i];
    hia_inst *inst = hiaF_inst(p, id);
    if (is_declared(p, inst)) continue;
    hia_itype type = inst->result == HIA_IT_BOTTOM || inst->result == HIA_IT_BOTTOM_U
                         ? (hia_itype)HIA_IT_BOTTOM
                         : hiaF_settle(&p->it, inst->result, HIA_FORCE_ALL);
    unknown |= (hiaF_itype_has(&p->it, type) & HIA_HAS_UNKNOWN) != 0;
    if (type == inst->result) continue;
    inst->result = type;
    enqueue_callers(s, id, hiaF_inst(p, root)->index);
    again = true;
  }
  for (uint32_t i = first; i < p->tarjan.len && unknown && s->force < HIA_FORCE_ALL; i++) {
    enqueue(s, p->tarjan.data[i]);
    again = true;
  }
  s->force = HIA_FORCE_ALL;
  return again;
}

/* True if some body of the component has an error. */
static bool has_conflict(const solver *s, uint32_t first) {
  for (uint32_t i = first; i < s->p->tarjan.len; i++)
    if (hiaF_inst(s->p, s->p->tarjan.data[i])->conflict) return true;
  return false;
}

/* Types the bodies again that have held something back. False if the component has grown. */
static bool drain_held(solver *s, uint32_t root, uint32_t first, hia_force force) {
  hia_program *p = s->p;
  s->force = force;
  for (uint32_t i = first; i < p->tarjan.len; i++)
    if (hiaF_inst(p, p->tarjan.data[i])->held) enqueue(s, p->tarjan.data[i]);
  return drain(s, root);
}

/* Runs the phases for the members from `first` on. False if the component has grown. */
static bool run_phases(solver *s, uint32_t root, uint32_t first, bool results_first) {
  hia_program *p = s->p;
  for (uint32_t i = first; i < p->tarjan.len; i++) {
    hia_inst *inst = hiaF_inst(p, p->tarjan.data[i]);
    inst->changes = 0;
    if (!is_declared(p, inst)) inst->result = HIA_IT_UNKNOWN;
    enqueue(s, p->tarjan.data[i]);
  }
  s->force = HIA_FORCE_NOTHING;
  if (!drain(s, root)) return false;
  if (p->it.has_tensors && !drain_held(s, root, first, HIA_FORCE_RANKS)) return false;
  if (!results_first && !drain_held(s, root, first, HIA_FORCE_ALL)) return false;
  while (settle_results(s, root, first))
    if (!drain(s, root)) return false;
  return true;
}

/* Solves the component on top of the stack, from `root` on. False if it has grown. */
static bool solve_component(solver *s, uint32_t root) {
  hia_program *p = s->p;
  uint32_t first = p->tarjan.len;
  do first--;
  while (p->tarjan.data[first] != root);
  if (!run_phases(s, root, first, false) ||
      (has_conflict(s, first) && !run_phases(s, root, first, true))) {
    clear_queue(s);
    return false;
  }
  uint32_t group = p->n_groups++;
  for (uint32_t i = p->tarjan.len; i-- > first;) {
    hia_inst *inst = hiaF_inst(p, p->tarjan.data[i]);
    inst->state = HIA_INST_DONE;
    inst->order = p->n_done++;
    inst->group = group;
    if (inst->result == HIA_IT_BOTTOM) {
      inst->is_bottom = true;
      inst->result = HIA_I32; /* resolve_bottom_call makes instances for other types */
    } else if (!hiaF_is_final(&p->it, inst->result)) {
      inst->no_base = true;
      inst->result = HIA_IT_ERROR;
    }
  }
  p->tarjan.len = first;
  return true;
}

/* ---- the walk over the call graph ---- */

static void enter(solver *s, uint32_t id) {
  hia_program *p = s->p;
  hiaR_push(p->arena, &p->tarjan, id); /* first, see hiaF_solve */
  hia_inst *inst = hiaF_inst(p, id);
  inst->state = HIA_INST_ACTIVE;
  inst->index = inst->low = p->n_visited++;
  frame f = {.inst = id};
  hiaR_push(p->arena, &s->frames, f);
  s->force = HIA_FORCE_NOTHING;
  type_body(s, id); /* finds its callees */
}

void hiaF_solve(hia_program *p, uint32_t id) {
  /* An earlier walk ended here without memory: its instances begin anew. */
  while (p->tarjan.len > 0) {
    hia_inst *inst = hiaF_inst(p, p->tarjan.data[--p->tarjan.len]);
    inst->state = HIA_INST_NEW;
    inst->queued = false;
    if (!is_declared(p, inst)) inst->result = HIA_IT_UNKNOWN;
  }
  if (hiaF_inst(p, id)->state == HIA_INST_DONE) return;
  solver s = {.p = p};
  enter(&s, id);
  while (s.frames.len > 0) {
    frame *f = &s.frames.data[s.frames.len - 1];
    uint32_t top = f->inst;
    hia_inst *inst = hiaF_inst(p, top);
    if (f->next < inst->callees.len) {
      uint32_t callee = inst->callees.data[f->next++];
      const hia_inst *c = hiaF_inst(p, callee);
      if (c->state == HIA_INST_NEW)
        enter(&s, callee);
      else if (c->state == HIA_INST_ACTIVE && c->index < inst->low)
        inst->low = c->index;
      continue;
    }
    /* The root of a component solves it: only then is the component known to be complete. Calls
     * that solving discovers are followed first. */
    if (inst->low == inst->index && !solve_component(&s, top)) continue;
    inst = hiaF_inst(p, top);
    uint32_t low = inst->low;
    s.frames.len--;
    if (s.frames.len > 0 && inst->state == HIA_INST_ACTIVE) {
      hia_inst *parent = hiaF_inst(p, s.frames.data[s.frames.len - 1].inst);
      if (low < parent->low) parent->low = low;
    }
  }
}
