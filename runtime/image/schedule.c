/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Computes, when an image is loaded, which tokens the interpreter need not send.
 *
 * A node fires when its tokens have come. But mostly it is known beforehand when that will be: if
 * all of a node's tokens come from nodes that fire one after the other anyway, it can fire behind
 * the last of them. So the nodes of a section are divided into *stretches*, and a stretch's nodes
 * fire in sequential order, without tokens. Each node is in one stretch, so the actions of a
 * section are about as many as its nodes.
 *
 * A stretch begins with an event: the frame is made (or a round begins); control enters a side of a
 * branch; a child has returned; or the last token has come to a node that waits for several
 * stretches. A node belongs to the stretch that all its tokens come from.
 *
 * A token need not be counted, either, if it comes from a stretch that *dominates* the others: that
 * is done whenever they begin, since a stretch's nodes fire before anything that begins at its end.
 * So (if c then f(x) else g(x)) + y waits for the branch alone. What dominates a stretch is known
 * when its first node is reached, since tokens go to later nodes only.
 *
 * If a node fails, the interpreter leaves out what is later in the frame's sequential order, and so
 * everything that waits for the node. What has been left out here can make a node begin that waits
 * for the failed one; that node is left out, too. */
#include "runtime/image/loaded.h"

const hia_action hiaR_no_actions[1] = {{.op = HIA_ACTION_END}};

/* So that the time is proportional to the image: a node that would need more has its tokens
 * counted. */
enum { MAX_WALK = 64, MAX_LEFT_OUT = 4 };

typedef struct source { /* of a token */
  uint32_t stretch, next;
} source;

typedef struct leaving { /* `n` tokens from one stretch to a node with which another begins */
  uint32_t node, n, next;
} leaving;

typedef struct stretch {
  uint32_t first, last; /* nodes, or NONE */
  uint32_t dominator, depth;
  uint32_t region;  /* the stretch with which the control begins that it needs; NONE: unknown */
  uint32_t leaving; /* the first in the list, or NONE */
  const hia_action *begin;
} stretch;

/* Stretches are numbered: 0 begins with the frame, 1 + i with node i, and 1 + n_nodes + 2 i, and
 * one more, when control enters a side of SWITCH i, or child i has returned. */
typedef struct scheduler {
  hia_section *s;
  const hia_instr *instrs;
  uint32_t n_nodes, n_counters;
  stretch *stretches;
  source *sources;
  leaving *leaving;
  uint32_t n_sources, n_leaving;
  uint32_t *home;  /* by node: its stretch */
  uint32_t *next;  /* by node: the next one in its stretch, or NONE */
  uint32_t *waits; /* by node: the first of its sources, or NONE */
  /* By node with which a stretch begins: tokens that it waits for; where the missing ones are
   * counted, or NONE. */
  uint32_t *missing, *counter;
  const uint8_t *reads, *writes;
  uint8_t *counters;
  hia_action *begin, *at; /* of the stretch at hand; the next action */
} scheduler;

static uint32_t begun_by(uint32_t node) { return 1 + node; }
static uint32_t entered_by(const scheduler *c, uint32_t node, uint32_t side) {
  return 1 + c->n_nodes + 2 * node + side;
}

static bool is_child(const hia_instr *in) {
  return in->kind == HIA_KIND_CALL || in->kind == HIA_KIND_LOOP;
}

/* ---- dividing nodes into stretches ---- */

static uint32_t n_edges(const hia_edges *e) { return (e->first != NULL) + e->n_more; }
static uint32_t edge(const hia_edges *e, uint32_t i) {
  const hia_instr *to = !e->first ? e->more[i] : i == 0 ? e->first : e->more[i - 1];
  return to->index;
}

static void send(scheduler *c, uint32_t from, const hia_edges *edges) {
  for (uint32_t i = 0; i < n_edges(edges); i++) {
    uint32_t to = edge(edges, i);
    c->sources[c->n_sources] = (source){from, c->waits[to]};
    c->waits[to] = c->n_sources++;
  }
}

static void begin_segment(scheduler *c, uint32_t number, uint32_t dominator, uint32_t region) {
  stretch *s = &c->stretches[number];
  s->dominator = dominator;
  s->region = region;
  s->depth = number ? c->stretches[dominator].depth + 1 : 0;
}

/* The nearest stretch that dominates both, or is one of them. NONE: it is too far. */
static uint32_t common_dominator(const scheduler *c, uint32_t a, uint32_t b) {
  for (uint32_t i = 0; a != b; i++) {
    if (i == MAX_WALK) return HIA_NONE;
    if (c->stretches[a].depth >= c->stretches[b].depth)
      a = c->stretches[a].dominator;
    else
      b = c->stretches[b].dominator;
  }
  return a;
}

static uint32_t dominator_of(const scheduler *c, uint32_t node) {
  uint32_t i = c->waits[node], all = c->sources[i].stretch;
  while ((i = c->sources[i].next) != HIA_NONE && all != HIA_NONE)
    all = common_dominator(c, all, c->sources[i].stretch);
  return all;
}

/* Leaves out the tokens that come from this stretch. True if there are some, but not all. */
static bool leave_out(scheduler *c, uint32_t node, uint32_t from) {
  uint32_t n = 0, others = 0;
  for (uint32_t i = c->waits[node]; i != HIA_NONE; i = c->sources[i].next)
    *(c->sources[i].stretch == from ? &n : &others) += 1;
  if (!n || !others) return false;
  for (uint32_t *at = &c->waits[node]; *at != HIA_NONE;)
    if (c->sources[*at].stretch == from)
      *at = c->sources[*at].next;
    else
      at = &c->sources[*at].next;
  c->missing[node] -= n;
  return true;
}

static bool has_one_source(const scheduler *c, uint32_t node) {
  uint32_t first = c->waits[node];
  for (uint32_t i = first; i != HIA_NONE; i = c->sources[i].next)
    if (c->sources[i].stretch != c->sources[first].stretch) return false;
  return true;
}

/* The region that all stretches are in for which the node waits; NONE: they are in several. */
static uint32_t region_of_sources(const scheduler *c, uint32_t node) {
  uint32_t i = c->waits[node], region = c->stretches[c->sources[i].stretch].region;
  for (; i != HIA_NONE; i = c->sources[i].next)
    if (c->stretches[c->sources[i].stretch].region != region) return HIA_NONE;
  return region;
}

/* The node waits for several stretches. Tokens from one of them are counted together. If all or
 * none of them come, the counter is in the end as it was. */
static void begin_with(scheduler *c, uint32_t node, uint32_t dominator) {
  for (uint32_t i = c->waits[node]; i != HIA_NONE; i = c->sources[i].next) {
    stretch *from = &c->stretches[c->sources[i].stretch];
    if (from->leaving != HIA_NONE && c->leaving[from->leaving].node == node) {
      c->leaving[from->leaving].n++;
      continue;
    }
    c->leaving[c->n_leaving] = (leaving){node, 1, from->leaving};
    from->leaving = c->n_leaving++;
  }
  c->home[node] = begun_by(node);
  uint32_t region = region_of_sources(c, node);
  /* The frame's own stretch dominates all. */
  begin_segment(c, begun_by(node), dominator == HIA_NONE ? 0 : dominator, region);
}

static void put_node(scheduler *c, uint32_t node) {
  c->missing[node] = c->instrs[node].tokens;
  uint32_t dominator = dominator_of(c, node);
  for (uint32_t i = 0; i < MAX_LEFT_OUT && dominator != HIA_NONE; i++) {
    if (!leave_out(c, node, dominator)) break;
    dominator = dominator_of(c, node);
  }
  if (has_one_source(c, node))
    c->home[node] = c->sources[c->waits[node]].stretch;
  else
    begin_with(c, node, dominator);
  stretch *home = &c->stretches[c->home[node]];
  *(home->first == HIA_NONE ? &home->first : &c->next[home->last]) = node;
  home->last = node;
}

static void divide(scheduler *c) {
  begin_segment(c, 0, 0, 0);
  send(c, 0, &c->s->start);
  for (uint32_t i = 0; i < c->n_nodes; i++) {
    const hia_instr *in = &c->instrs[i];
    put_node(c, i);
    if (in->kind == HIA_KIND_SWITCH) {
      for (uint32_t side = 0; side < 2; side++) {
        begin_segment(c, entered_by(c, i, side), c->home[i], entered_by(c, i, side));
        send(c, entered_by(c, i, side), &in->u.branch->side[side].edges);
      }
    } else if (is_child(in)) {
      begin_segment(c, entered_by(c, i, 0), c->home[i], c->stretches[c->home[i]].region);
      send(c, entered_by(c, i, 0), &c->s->children[in->slot].edges);
    } else
      send(c, c->home[i], &in->edges);
  }
}

/* ---- actions ---- */

uint8_t hiaR_quick_action(unsigned op, unsigned dtype) {
#define KEY(op, dtype) ((op) * HIA_N_DTYPES + (dtype))
  enum { i32 = HIA_I32, i64 = HIA_I64 };
  if (op >= HIA_OP_LIMIT || dtype >= HIA_N_DTYPES) return 0;
  switch (KEY(op, dtype)) {
#define HIA_QUICK(NAME, T, R, type, expr)                                                          \
  case KEY(HIA_OP_##NAME, T): return HIA_ACTION_##NAME##_##T;
#define HIA_QUICK_TEST(NAME, T, type, expr) HIA_QUICK(NAME, T, bool, type, expr)
#include "runtime/base/quick.def"
  default: return 0;
  }
#undef KEY
}

static hia_action *add(scheduler *c, hia_action_op op, uint32_t index) {
  *c->at = (hia_action){.index = index, .op = (uint16_t)op};
  return c->at++;
}

static void add_slots(scheduler *c, hia_action_op op, const hia_instr *in) {
  hia_action *action = add(c, op, in->index);
  action->slot = in->slot;
  action->to = in->to;
}

/* First moves of scalars, and then of references. */
static void add_moves(scheduler *c, const hia_move *moves, uint32_t n, uint32_t n_refs) {
  for (uint32_t i = 0; i < n + n_refs; i++) {
    bool is_taken = moves[i].from & HIA_IMAGE_TAKEN;
    bool is_scalar = i < n || hiaR_preloaded(c->s, moves[i].from & ~HIA_IMAGE_TAKEN);
    hia_action_op op = is_scalar ? HIA_ACTION_MOVE : is_taken ? HIA_ACTION_TAKE : HIA_ACTION_SHARE;
    hia_action *action = add(c, op, 0);
    action->slot = moves[i].from & ~HIA_IMAGE_TAKEN;
    action->to = moves[i].to;
  }
}

/* A FIELD that reads one word has an action of its own for each representation that is frequent. */
static void add_field(scheduler *c, const hia_instr *in) {
  const hia_parts *parts = &in->u.get->parts;
  add_slots(c, in->is_taken ? HIA_ACTION_UNPACK : HIA_ACTION_FIELD, in);
  hia_action *action = &c->at[-1];
  action->u.get = in->u.get;
  if (in->is_taken && parts->refs - parts->list == 1) {
    action->op = HIA_ACTION_UNPACK_ONE;
    action->to = parts->list->slot;
    return;
  }
  if (in->is_taken || parts->end - parts->list != 1) return;
  switch (parts->list->layout_word.repr) {
  case HIA_REPR_REF: action->op = HIA_ACTION_FIELD_REF; break;
  case HIA_REPR_I32: action->op = HIA_ACTION_FIELD_INT; break;
  case HIA_REPR_BOOL: action->op = HIA_ACTION_FIELD_BOOL; break;
  default: return;
  }
  action->to = parts->list->slot;
}

static void add_kernel(scheduler *c, const hia_instr *in) {
  hia_action *action = add(c, in->quick ? (hia_action_op)in->quick : HIA_ACTION_KERNEL, in->index);
  action->of.kernel = in->kernel;
  action->u.imm = in->u.imm;
  memcpy(action->in, in->in, sizeof action->in);
  action->out = in->out;
}

static void add_array(scheduler *c, hia_action_op op, const hia_instr *in) {
  add_slots(c, op, in);
  c->at[-1].slot = in->u.operation->ins[0];
  c->at[-1].u.operation = in->u.operation;
  c->at[-1].of.instr = in;
}

static hia_action_op read_of(const hia_operation_instr *a) {
  switch (a->layout_word.repr) {
  case HIA_REPR_I32: return HIA_ACTION_AT_INT;
  case HIA_REPR_BYTE: return HIA_ACTION_AT_BYTE;
  default: return HIA_ACTION_AT;
  }
}

/* SET changes the array in place if all words of an element are of one frequent representation. */
static hia_action_op write_of(const hia_operation_instr *a) {
  unsigned repr = a->o.layout_words[0].repr;
  for (uint32_t i = 1; i < a->o.n_words; i++)
    if (a->o.layout_words[i].repr != repr) return HIA_ACTION_SET;
  return repr == HIA_REPR_I32    ? HIA_ACTION_SET_INT
         : repr == HIA_REPR_BYTE ? HIA_ACTION_SET_BYTE
                                 : HIA_ACTION_SET;
}

/* Nodes of control have their actions at the end of the stretch. */
static void add_node(scheduler *c, const hia_instr *in) {
  switch (in->kind) {
  case HIA_KIND_KERNEL: add_kernel(c, in); break;
  case HIA_KIND_MOVE: add_slots(c, HIA_ACTION_MOVE, in); break;
  case HIA_KIND_SHARE: add_slots(c, in->is_taken ? HIA_ACTION_TAKE : HIA_ACTION_SHARE, in); break;
  case HIA_KIND_CTOR: add_slots(c, HIA_ACTION_CTOR, in); break;
  case HIA_KIND_FIELD: add_field(c, in); break;
  case HIA_KIND_MAKE:
    add_slots(c, HIA_ACTION_MAKE, in);
    c->at[-1].u.make = in->u.make;
    break;
  case HIA_KIND_LEN: add_array(c, HIA_ACTION_LEN, in); break;
  case HIA_KIND_AT: add_array(c, read_of(in->u.operation), in); break;
  case HIA_KIND_SET: add_array(c, write_of(in->u.operation), in); break;
  case HIA_KIND_SWITCH:
  case HIA_KIND_CALL:
  case HIA_KIND_LOOP:
  case HIA_KIND_JOIN: break;
  default: add(c, HIA_ACTION_NODE, in->index)->of.instr = in;
  }
}

/* Children that are armed together are one action. */
static void add_arm(scheduler *c, const hia_instr *in) {
  bool is_word = c->s->set_levels == 1;
  uint64_t bit = is_word ? (uint64_t)1 << in->slot : 0;
  if (c->at > c->begin && c->at[-1].op == HIA_ACTION_ARM) {
    c->at[-1].u.imm |= bit;
    c->at[-1].to++;
    return;
  }
  hia_action *action = add(c, is_word ? HIA_ACTION_ARM : HIA_ACTION_ARM_CHILD, in->index);
  action->of.child = &c->s->children[in->slot];
  action->u.imm = bit;
  action->slot = in->slot;
  action->to = 1;
}

static void add_leaving(scheduler *c, const leaving *token) {
  uint32_t node = token->node;
  if (c->missing[node] == token->n) {
    add(c, HIA_ACTION_LATER, node);
    return;
  }
  uint32_t *counter = &c->counter[node];
  if (*counter == HIA_NONE) {
    *counter = c->s->counters_at + c->n_counters;
    c->counters[c->n_counters++] = hiaR_u8(c->missing[node]);
    c->s->resets_counters |= c->stretches[begun_by(node)].region == HIA_NONE;
  }
  hia_action *action = add(c, HIA_ACTION_COUNT, node);
  action->slot = *counter;
  action->to = token->n;
  action->u.imm = c->missing[node];
}

/* The action that computes this and makes a SWITCH on the result; SWITCH: there is none. */
static hia_action_op with_switch(unsigned test) {
  switch (test) {
#define HIA_QUICK(NAME, T, R, type, expr)
#define HIA_QUICK_TEST(NAME, T, type, expr)                                                        \
  case HIA_ACTION_##NAME##_##T: return HIA_ACTION_##NAME##_##T##_SWITCH;
#include "runtime/base/quick.def"
  default: return HIA_ACTION_SWITCH;
  }
}

static void add_switch(scheduler *c, const hia_instr *in) {
  hia_action *action = add(c, HIA_ACTION_SWITCH_LATER, in->index);
  action->of.branch = in->u.branch;
  action->slot = in->slot;
}

/* True if the test compares the result of the CTOR, which nothing else needs, with a constant. */
static bool is_match_of(const scheduler *c, const hia_action *ctor, const hia_action *test) {
  return ctor->op == HIA_ACTION_CTOR && test->op == HIA_ACTION_EQ_i32 && test->in[0] == ctor->to &&
         c->reads[ctor->to] == 1 && hiaR_preloaded(c->s, test->in[1]);
}

/* The stretch's last action is a SWITCH: makes one action of it and what decides it. */
static void fuse_switch(scheduler *c) {
  if (c->at - c->begin < 2) return;
  hia_action *last = &c->at[-1], *test = &c->at[-2];
  hia_action_op op = with_switch(test->op);
  if (op == HIA_ACTION_SWITCH || test->out != last->slot) return;
  hia_action fused = *test;
  fused.op = (uint16_t)op;
  fused.of.branch = last->of.branch;
  hia_action *to = test;
  if (test > c->begin && is_match_of(c, &test[-1], test)) {
    to--;
    fused.op = HIA_ACTION_MATCH;
    fused.u.imm = *hiaR_preloaded(c->s, test->in[1]);
    fused.slot = to->slot;
    fused.to = test->out;
  }
  *to = fused;
  c->at = to + 1;
}

/* The last action of control need not be put off. */
static void end_segment(scheduler *c) {
  if (c->at > c->begin) {
    hia_action *last = &c->at[-1];
    switch (last->op) {
    case HIA_ACTION_ARM: last->op = HIA_ACTION_ARM_LAST; break;
    case HIA_ACTION_COUNT: last->op = HIA_ACTION_COUNT_LAST; break;
    case HIA_ACTION_LATER: last->op = HIA_ACTION_GO; break;
    case HIA_ACTION_SWITCH_LATER: last->op = HIA_ACTION_SWITCH; fuse_switch(c);
    }
  }
  add(c, HIA_ACTION_END, 0);
}

/* True if the action, one of a quick kernel or a move of a scalar, reads the slot. */
static bool reads(const hia_action *action, uint32_t slot) {
  if (action->op == HIA_ACTION_MOVE) return action->slot == slot;
  return action->in[0] == slot || action->in[1] == slot;
}

static bool is_simple(unsigned op) { return op < HIA_ACTION_KERNEL || op == HIA_ACTION_MOVE; }

/* The comparison that decides the SWITCH with which the stretch will end, with the CTOR before it,
 * if the actions behind it do not need it: takes it out, to be done last. Returns how many actions.
 */
static uint32_t take_test(scheduler *c, uint32_t slot, hia_action *to) {
  for (hia_action *test = c->at; test > c->begin;) {
    test--;
    if (!is_simple(test->op)) return 0;
    if (with_switch(test->op) == HIA_ACTION_SWITCH || test->out != slot) {
      if (reads(test, slot)) return 0;
      continue;
    }
    bool is_match = test > c->begin && is_match_of(c, &test[-1], test);
    for (const hia_action *later = test + 1; is_match && later < c->at; later++)
      is_match = !reads(later, test->in[0]);
    uint32_t n = is_match ? 2 : 1;
    test -= n - 1;
    memcpy(to, test, n * sizeof *test);
    memmove(test, test + n, (size_t)(c->at - test - n) * sizeof *test);
    c->at -= n;
    return n;
  }
  return 0;
}

/* True if one SWITCH of the stretch depends on the slot. */
static bool decides_one(const scheduler *c, const stretch *s, uint32_t slot) {
  uint32_t n = 0;
  for (uint32_t i = s->first; i != HIA_NONE; i = c->next[i])
    n += c->instrs[i].kind == HIA_KIND_SWITCH && c->instrs[i].slot == slot;
  return n == 1;
}

static const hia_action *make_segment(scheduler *c, uint32_t number) {
  const stretch *s = &c->stretches[number];
  const hia_instr *last = NULL; /* the last SWITCH */
  c->begin = c->at;
  for (uint32_t i = s->first; i != HIA_NONE; i = c->next[i]) {
    add_node(c, &c->instrs[i]);
    if (c->instrs[i].kind == HIA_KIND_SWITCH) last = &c->instrs[i];
  }
  hia_action test[2];
  uint32_t n_test = last && decides_one(c, s, last->slot) ? take_test(c, last->slot, test) : 0;
  for (uint32_t i = s->first; i != HIA_NONE; i = c->next[i])
    if (is_child(&c->instrs[i])) add_arm(c, &c->instrs[i]);
  for (uint32_t i = s->leaving; i != HIA_NONE; i = c->leaving[i].next)
    add_leaving(c, &c->leaving[i]);
  for (uint32_t i = s->first; i != HIA_NONE; i = c->next[i])
    if (c->instrs[i].kind == HIA_KIND_SWITCH && &c->instrs[i] != last) add_switch(c, &c->instrs[i]);
  for (uint32_t i = 0; i < n_test; i++) *c->at++ = test[i];
  if (last) add_switch(c, last);
  end_segment(c);
  return c->begin;
}

/* A stretch that begins with moves. */
static const hia_action *make_actions(scheduler *c, uint32_t number, const hia_move *moves,
                                      uint32_t n, uint32_t n_refs) {
  const stretch *s = &c->stretches[number];
  if (n + n_refs == 0 && s->first == HIA_NONE && s->leaving == HIA_NONE) return hiaR_no_actions;
  const hia_action *begin = c->at;
  add_moves(c, moves, n, n_refs);
  make_segment(c, number);
  return begin;
}

static const hia_action *make_side(scheduler *c, uint32_t node, uint32_t k) {
  const hia_side *side = &c->instrs[node].u.branch->side[k];
  return make_actions(c, entered_by(c, node, k), side->moves, side->n_moves, side->n_ref_moves);
}

/* True if the action is a test and SWITCH, and nothing else reads the result. */
static bool is_test_alone(const scheduler *c, const hia_action *action) {
  if (action->op == HIA_ACTION_MATCH) return c->reads[action->to] == 1;
  return action->op > HIA_ACTION_MATCH && c->reads[action->out] == 1;
}

/* The frame's first stretch is also that with which a round begins, but not its moves. */
static void make_rounds(scheduler *c) {
  hia_section *s = c->s;
  s->actions = make_actions(c, 0, s->enter, s->n_enter, s->n_ref_enter);
  s->begins_with_test = is_test_alone(c, s->actions);
  if (!s->iterates) return;
  s->round = c->at;
  add_moves(c, s->next, s->n_next, 0);
  for (uint32_t i = 0; i < s->n_ref_next; i++) {
    const hia_ref_move *move = &s->ref_next[i];
    bool is_taken = move->from & HIA_IMAGE_TAKEN;
    hia_action *action = add(c, is_taken ? HIA_ACTION_NEXT_TAKE : HIA_ACTION_NEXT_SHARE, 0);
    action->slot = move->from & ~HIA_IMAGE_TAKEN;
    action->to = move->to;
    action->u.imm = move->base;
  }
  for (uint32_t i = 0; i < s->n_round_refs; i++) {
    hia_action *action = add(c, HIA_ACTION_DROP, 0);
    action->slot = s->round_refs[i].slot;
    action->u.imm = s->round_refs[i].base;
  }
  add(c, HIA_ACTION_AGAIN, 0)->of.stretch =
      s->actions == hiaR_no_actions ? hiaR_no_actions : s->actions + s->n_enter + s->n_ref_enter;
}

/* ---- fewer actions ---- */

static bool is_quick(unsigned op) { return op > HIA_ACTION_STOP && op < HIA_ACTION_KERNEL; }
static bool is_test(unsigned op) { return op > HIA_ACTION_MATCH; }

/* A stretch that goes on with one that begins with a SWITCH makes that SWITCH itself, and what
 * decides it is one action with it if it comes right before. */
static void copy_switches(scheduler *c, hia_action *first) {
  for (hia_action *action = first; action < c->at; action++) {
    if (action->op != HIA_ACTION_GO) continue;
    const hia_action *to = action->of.stretch;
    if (to->op != HIA_ACTION_SWITCH && to->op != HIA_ACTION_MATCH && !is_test(to->op)) continue;
    *action = *to;
    if (action == first || action->op != HIA_ACTION_SWITCH) continue;
    hia_action *test = action - 1;
    hia_action_op op = with_switch(test->op);
    if (op == HIA_ACTION_SWITCH || test->out != action->slot) continue;
    test->op = (uint16_t)op;
    test->of.branch = action->of.branch;
    *action = (hia_action){.op = HIA_ACTION_END};
  }
}

/* True if at most one stretch is ready at any time: each goes on with one other, or ends the round.
 */
static bool is_chain(const scheduler *c, const hia_action *first) {
  if (c->s->n_children) return false;
  for (const hia_action *action = first; action < c->at; action++) switch (action->op) {
    case HIA_ACTION_COUNT:
    case HIA_ACTION_COUNT_LAST:
    case HIA_ACTION_LATER:
    case HIA_ACTION_SWITCH_LATER: return false;
    }
  return true;
}

/* True if the action reads the variable, which is a scalar, or might. */
static bool may_read(const hia_action *action, uint32_t slot) {
  if (is_quick(action->op)) return action->in[0] == slot || action->in[1] == slot;
  switch (action->op) {
  case HIA_ACTION_UNPACK:
  case HIA_ACTION_FIELD:
  case HIA_ACTION_FIELD_REF:
  case HIA_ACTION_FIELD_INT:
  case HIA_ACTION_FIELD_BOOL:
  case HIA_ACTION_CTOR:
  case HIA_ACTION_LEN:
  case HIA_ACTION_SHARE:
  case HIA_ACTION_TAKE: return false; /* they read references */
  case HIA_ACTION_MOVE: return action->slot == slot;
  default: return true;
  }
}

/* True if the round ends with the action's stretch, and no action of it reads the variable any
 * more. */
static bool is_last_reader(const hia_action *action, uint32_t variable) {
  for (action++; action->op != HIA_ACTION_END && action->op != HIA_ACTION_ROUND; action++)
    if (may_read(action, variable)) return false;
  return true;
}

/* True if the word that a round gives the variable can be computed in place: nothing reads the
 * variable when it is there. */
static bool is_in_place(const scheduler *c, const hia_action *first, hia_move move) {
  const hia_section *s = c->s;
  if (c->reads[move.from] != 1 || move.to == s->cond || move.to > UINT16_MAX) return false;
  for (uint32_t i = 0; i < s->n_next; i++)
    if (s->next[i].from == move.to) return false;
  for (uint32_t i = 0; i < s->n_results; i++)
    if (s->results[i] == move.to) return false;
  uint32_t n = 0;
  for (const hia_action *action = first; action < c->at; action++)
    if (is_quick(action->op) && action->out == move.from) {
      if (!is_last_reader(action, move.to)) return false;
      n++;
    }
  return n && n == c->writes[move.from];
}

/* Leaves out a move between two rounds, which end with AGAIN. */
static void leave_out_move(hia_action *move) {
  for (; move->op != HIA_ACTION_AGAIN; move++) move[0] = move[1];
}

/* The kernels that compute the next round's scalars write them to the variables themselves, where
 * the old words are not needed any more. True if the move need not be made. */
static bool write_scalar(scheduler *c, hia_action *first, const hia_action *move) {
  hia_move m = {move->slot, move->to};
  if (!is_in_place(c, first, m)) return false;
  for (hia_action *action = first; action < c->at; action++)
    if (is_quick(action->op) && action->out == m.from) action->out = hiaR_u16(m.to);
  return true;
}

/* True if the stretch ends the round and another one follows. */
static bool is_in_last(const hia_action *action) {
  while (action->op != HIA_ACTION_END && action->op < HIA_ACTION_ARM) action++;
  return action->op == HIA_ACTION_ROUND;
}

/* A node that takes the reference of a variable can put there what the next round has instead: the
 * array that it has changed, the rest of the list. Nothing reads the slot any more. */
static bool write_reference(scheduler *c, hia_action *first, const hia_action *move) {
  uint32_t from = move->slot, to = move->to;
  if (move->op != HIA_ACTION_NEXT_TAKE || c->reads[from] != 1 || c->writes[from] != 1) return false;
  for (hia_action *action = first; action < c->at; action++) {
    bool takes = action->op == HIA_ACTION_UNPACK_ONE && action->slot == to;
    if (action->op >= HIA_ACTION_SET && action->op <= HIA_ACTION_SET_BYTE)
      takes = action->slot == (to | HIA_IMAGE_TAKEN);
    if (!takes || action->to != from || !is_in_last(action)) continue;
    action->to = to;
    return true;
  }
  return false;
}

/* Leaves out the moves between two rounds that need not be made. */
static void write_variables(scheduler *c, hia_action *first) {
  hia_section *s = c->s;
  hia_action *move = (hia_action *)(uintptr_t)s->round;
  for (uint32_t i = 0; i < s->n_next; i++)
    if (write_scalar(c, first, move))
      leave_out_move(move);
    else
      move++;
  for (uint32_t i = 0; i < s->n_ref_next; i++)
    if (write_reference(c, first, move))
      leave_out_move(move);
    else
      move++;
}

/* Control has entered the side of a branch in which there will be a next round. */
static void end_rounds(const hia_action *actions, uint32_t depth) {
  enum { DEEP = 6 }; /* so that the time is proportional to the image */
  hia_action *action = (hia_action *)(uintptr_t)actions;
  if (depth == DEEP || action == hiaR_no_actions) return;
  while (action->op != HIA_ACTION_END && action->op < HIA_ACTION_ARM) action++;
  if (action->op == HIA_ACTION_END) action->op = HIA_ACTION_ROUND;
  if (action->op != HIA_ACTION_SWITCH && action->op != HIA_ACTION_MATCH && !is_test(action->op))
    return;
  for (uint32_t k = 0; k < 2; k++) end_rounds(action->of.branch->go[k].actions, depth + 1);
}

/* Finds the ends of stretches that are certain to have a next round: they are in the side of the
 * branch that the loop's condition decides. */
static void find_ends_of_rounds(const scheduler *c, const hia_action *first) {
  for (const hia_action *action = first; action < c->at; action++) {
    bool decides = (action->op == HIA_ACTION_SWITCH && action->slot == c->s->cond) ||
                   (action->op == HIA_ACTION_MATCH && action->to == c->s->cond) ||
                   (is_test(action->op) && action->out == c->s->cond);
    if (decides) end_rounds(action->of.branch->go[0].actions, 0);
  }
}

/* The ends of rounds go on with the moves, or with the next round at once if there are none. */
static void link_rounds(const scheduler *c, hia_action *first) {
  const hia_section *s = c->s;
  bool has_moves = s->round->op != HIA_ACTION_AGAIN || s->resets_counters;
  for (hia_action *action = first; action < c->at; action++) {
    if (action->op != HIA_ACTION_ROUND) continue;
    if (!has_moves) action->op = HIA_ACTION_ROUND_AGAIN;
    action->of.stretch = has_moves ? s->round : s->round->of.stretch;
    action->u.imm = s->weight_round;
  }
}

/* Those that begin with a node come last, but may be gone to from any other. */
static void make_all_actions(scheduler *c) {
  hia_action *first = c->at;
  make_rounds(c);
  for (uint32_t i = 0; i < c->n_nodes; i++) {
    const hia_instr *in = &c->instrs[i];
    if (c->home[i] == begun_by(i))
      c->stretches[begun_by(i)].begin = make_actions(c, begun_by(i), NULL, 0, 0);
    if (in->kind == HIA_KIND_SWITCH)
      for (uint32_t k = 0; k < 2; k++) {
        /* Written only here, as the child below. */
        hia_switch *branch = (hia_switch *)(uintptr_t)in->u.branch;
        branch->go[k].actions = make_side(c, i, k);
        branch->go[k].weight = branch->side[k].weight;
      }
    if (is_child(in)) {
      hia_child *child = (hia_child *)(uintptr_t)&c->s->children[in->slot];
      child->actions = make_actions(c, entered_by(c, i, 0), NULL, 0, 0);
    }
  }
  for (hia_action *action = first; action < c->at; action++) switch (action->op) {
    case HIA_ACTION_COUNT:
    case HIA_ACTION_COUNT_LAST:
    case HIA_ACTION_LATER:
    case HIA_ACTION_GO: action->of.stretch = c->stretches[begun_by(action->index)].begin;
    }
  copy_switches(c, first);
  enum { MAX_MOVES = 64 }; /* so that the time is proportional to the image */
  if (!c->s->iterates || c->s->n_next + c->s->n_ref_next > MAX_MOVES || !is_chain(c, first)) return;
  find_ends_of_rounds(c, first);
  write_variables(c, first);
  link_rounds(c, first);
}

/* ---- memory ---- */

/* Each node, token and move has at most one. Each stretch has an end: those of nodes, children and
 * regions. One more per section, which has a region, stands between its rounds. */
size_t hiaR_max_actions(const hia_schedule_size *size) {
  return 2 * size->n_nodes + 2 * size->n_regions + size->n_children + size->n_edges + size->n_moves;
}

static size_t n_segments(uint32_t n_nodes) { return 1 + 3 * (size_t)n_nodes; }
enum { LISTS = 5 }; /* by node */

size_t hiaR_schedule_scratch(uint32_t n_nodes, uint32_t n_edges) {
  return n_segments(n_nodes) * sizeof(stretch) + n_edges * (sizeof(source) + sizeof(leaving)) +
         LISTS * (size_t)n_nodes * sizeof(uint32_t);
}

hia_action *hiaR_schedule(hia_section *s, const uint8_t *reads, const uint8_t *writes,
                          uint8_t *counters, uint32_t n_edges, void *scratch, hia_action *at) {
  size_t n = n_segments(s->n_nodes);
  scheduler c = {.s = s,
                 .instrs = s->instrs,
                 .n_nodes = s->n_nodes,
                 .reads = reads,
                 .writes = writes,
                 .counters = counters,
                 .at = at};
  c.stretches = scratch;
  c.sources = (source *)(c.stretches + n);
  c.leaving = (leaving *)(c.sources + n_edges);
  uint32_t *lists = (uint32_t *)(c.leaving + n_edges),
           **list[LISTS] = {&c.home, &c.next, &c.waits, &c.missing, &c.counter};
  for (uint32_t i = 0; i < LISTS; i++) *list[i] = lists + (size_t)i * s->n_nodes;
  memset(lists, 0xff, LISTS * (size_t)s->n_nodes * sizeof *lists); /* NONE */
  for (size_t i = 0; i < n; i++)
    c.stretches[i] = (stretch){
        .first = HIA_NONE, .last = HIA_NONE, .leaving = HIA_NONE, .begin = hiaR_no_actions};
  divide(&c);
  make_all_actions(&c);
  s->counters_size = (c.n_counters + 7) & ~7u;
  return c.at;
}
