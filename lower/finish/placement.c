/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* placement: block placement, as hints for LLVM's code generator.
 *
 * On short recursive functions placement is worth up to a third, more than any safepoint costs:
 * these functions are limited by instruction fetch. A taken jump ends a fetch, and so does the end
 * of a cache line. So the usual path must fall through. For functions that are not large:
 *
 * Loops begin at a cache line, as functions do. A loop is known by a metadata node of its own, the
 * same at every branch back to its start.
 *
 * LLVM assumes that a loop runs many rounds. It places the end of a round before the start, which
 * costs each entry of the loop a jump. For recursive functions that guess is wrong: each call
 * enters the loop anew, so it runs few rounds. (Over a whole run there is one call per entry, less
 * the first, in however many rounds.) Where some rounds call and others do not, as in ack, the
 * weights say that the loop has few rounds and that rounds which call are the usual ones. Those are
 * entered, call and return without a jump; the others lie behind them and take two jumps. That
 * saves a seventh of the time of ack, and a third of that of ack unrolled. Where all rounds call
 * there is nothing to choose, and LLVM would not align a loop that it takes to have few rounds.
 *
 * The same count shows that most activations are leaves in a function which, whenever it calls
 * itself, does so at least twice. Leaves fall through from its entry to a return of their own. That
 * saves a quarter of the time of tak. And where an activation meets many tests that each guard a
 * call, as unrolling makes them, most tests do not lead to the call: the calls are placed out of
 * line. So are joins with other workers. That saves an eighth of the time of tak unrolled. */
#include "lower/finish/flow.h"
#include <limits.h>

enum { LINE = 64, MAX_BLOCKS = 200 };

typedef struct placement {
  hia_comp *comp;
  LLVMContextRef llvm;
  LLVMValueRef function;
  hia_blocks f; /* marked: edges back to the start of a loop */
  hia_flow_block *
      *order; /* the reachable blocks, each behind its predecessors (marked edges aside) */
  unsigned n_order;
  unsigned *calls; /* by block: how many calls of the function itself */
  bool *joins;     /* by block: it joins a fork that a thief has taken */
  /* By block, of the loop being treated: it is part of the loop; it leads to a call before the
   * round is over; it can be reached without a call. */
  bool *in, *leads, *free;
} placement;

static LLVMMetadataRef text(const placement *p, const char *s) {
  return LLVMMDStringInContext2(p->llvm, s, strlen(s));
}

static LLVMMetadataRef number(const placement *p, unsigned bits, uint64_t n) {
  LLVMTypeRef type = LLVMIntTypeInContext(p->llvm, bits);
  return LLVMValueAsMetadata(LLVMConstInt(type, n, false));
}

static unsigned index_of(const placement *p, const hia_flow_block *b) {
  return (unsigned)(b - p->f.data);
}

/* ---- loops ---- */

/* Marks the edges to blocks that are on the path of a search from the function's entry. */
static void find_loops(placement *p) {
  hia_blocks *f = &p->f;
  p->order = HIA_NEW_ARRAY(&p->comp->scratch, hia_flow_block *, f->n);
  p->order += f->n;
  hiaL_go_on(f, hiaL_block_at(f, 0));
  while (f->n_path) {
    hia_flow_block *b = f->path[f->n_path - 1];
    if (b->at == b->n_next) {
      b->is_on_path = false;
      f->n_path--;
      p->n_order++;
      *--p->order = b;
      continue;
    }
    hia_flow_block *to = b->next[b->at++];
    if (to->is_on_path)
      b->is_marked[b->at - 1] = true;
    else if (!to->was_seen)
      hiaL_go_on(f, to);
  }
}

static LLVMValueRef new_loop(const placement *p) {
  LLVMMetadataRef align[2] = {text(p, "llvm.loop.align"), number(p, 32, LINE)};
  LLVMMetadataRef self = LLVMTemporaryMDNode(p->llvm, NULL, 0);
  LLVMMetadataRef parts[2] = {self, LLVMMDNodeInContext2(p->llvm, align, 2)};
  LLVMMetadataRef loop = LLVMMDNodeInContext2(p->llvm, parts, 2);
  LLVMMetadataReplaceAllUsesWith(self, loop); /* refers to itself, so it equals no other */
  return LLVMMetadataAsValue(p->llvm, loop);
}

static void align_loops(placement *p) {
  LLVMValueRef *loops = HIA_NEW_ARRAY(&p->comp->scratch, LLVMValueRef, p->f.n);
  unsigned kind = LLVMGetMDKindIDInContext(p->llvm, "llvm.loop", 9);
  for (unsigned i = 0; i < p->f.n; i++) {
    const hia_flow_block *b = hiaL_block_at(&p->f, i);
    for (unsigned k = 0; k < b->n_next; k++) {
      if (!b->is_marked[k]) continue;
      LLVMValueRef *loop = &loops[index_of(p, b->next[k])];
      if (!*loop) *loop = new_loop(p);
      LLVMSetMetadata(LLVMGetBasicBlockTerminator(b->ref), kind, *loop);
    }
  }
}

/* ---- weights ---- */

/* True if the round goes on from b to some block in `set`, without starting over. */
static bool goes_to(const placement *p, const hia_flow_block *b, const hia_flow_block *head,
                    const bool *set) {
  for (unsigned k = 0; k < b->n_next; k++)
    if (b->next[k] != head && set[index_of(p, b->next[k])]) return true;
  return false;
}

/* Finds the members of the loop that starts at `head`: the blocks from which a back edge to it can
 * be reached. False: no loop starts there. */
static bool find_members(placement *p, const hia_flow_block *head) {
  bool is_loop = false;
  memset(p->in, 0, p->f.n);
  for (unsigned i = 0; i < p->f.n; i++)
    for (unsigned k = 0; k < p->f.data[i].n_next; k++)
      if (p->f.data[i].is_marked[k] && p->f.data[i].next[k] == head) p->in[i] = is_loop = true;
  if (!is_loop) return false;
  p->in[index_of(p, head)] = true;
  for (bool is_more = true; is_more;) {
    is_more = false;
    for (unsigned i = 0; i < p->f.n; i++)
      if (!p->in[i] && goes_to(p, &p->f.data[i], head, p->in)) p->in[i] = is_more = true;
  }
  return true;
}

/* True if some rounds of the loop call the function and others do not. */
static bool is_mixed(placement *p, const hia_flow_block *head) {
  bool has_calls = false, has_free_round = false;
  for (unsigned i = 0; i < p->f.n; i++) {
    p->leads[i] = p->in[i] && p->calls[i];
    p->free[i] = false;
    has_calls |= p->leads[i];
  }
  if (!has_calls) return false;
  p->free[index_of(p, head)] = !p->calls[index_of(p, head)];
  for (bool is_more = true; is_more;) {
    is_more = false;
    for (unsigned i = 0; i < p->f.n; i++) {
      const hia_flow_block *b = &p->f.data[i];
      if (p->in[i] && !p->leads[i] && goes_to(p, b, head, p->leads)) p->leads[i] = is_more = true;
      for (unsigned k = 0; p->free[i] && k < b->n_next; k++) {
        unsigned to = index_of(p, b->next[k]);
        has_free_round |= b->next[k] == head;
        if (!p->in[to] || p->calls[to] || p->free[to]) continue;
        p->free[to] = is_more = true;
      }
    }
  }
  return has_free_round;
}

/* Sets the weights of a branch that has none yet: inner loops are weighed before outer ones. */
static void set_weights(const placement *p, const hia_flow_block *b, unsigned first,
                        unsigned second) {
  unsigned prof = LLVMGetMDKindIDInContext(p->llvm, "prof", 4);
  LLVMValueRef branch = LLVMGetBasicBlockTerminator(b->ref);
  if (LLVMGetMetadata(branch, prof)) return;
  LLVMMetadataRef weights[3] = {text(p, "branch_weights"), number(p, 32, first),
                                number(p, 32, second)};
  LLVMSetMetadata(branch, prof,
                  LLVMMetadataAsValue(p->llvm, LLVMMDNodeInContext2(p->llvm, weights, 3)));
}

/* LLVM places a block behind the loop if its weight is below a fifth; but only in functions that
 * have an entry count, because only there it takes the weights for measured. */
enum { USUAL = 32 };

static void take_for_measured(const placement *p) {
  unsigned prof = LLVMGetMDKindIDInContext(p->llvm, "prof", 4);
  LLVMMetadataRef entries[2] = {text(p, "function_entry_count"), number(p, 64, 1000)};
  LLVMGlobalSetMetadata(p->function, prof, LLVMMDNodeInContext2(p->llvm, entries, 2));
}

static void weigh_loop(placement *p, const hia_flow_block *head) {
  take_for_measured(p);
  for (unsigned i = 0; i < p->f.n; i++) {
    const hia_flow_block *b = &p->f.data[i];
    if (!p->in[i] || b->n_next != 2) continue;
    bool stays[2], leads[2];
    for (unsigned k = 0; k < 2; k++) {
      unsigned to = index_of(p, b->next[k]);
      stays[k] = p->in[to];
      leads[k] = b->next[k] != head && p->leads[to];
    }
    if (stays[0] != stays[1])
      set_weights(p, b, 1, 1);
    else if (leads[0] != leads[1])
      set_weights(p, b, leads[0] ? USUAL : 1, leads[1] ? USUAL : 1);
  }
}

static void count_calls(placement *p) {
  p->calls = HIA_NEW_ARRAY(&p->comp->scratch, unsigned, p->f.n);
  p->joins = HIA_NEW_ARRAY(&p->comp->scratch, bool, p->f.n);
  LLVMValueRef join = LLVMGetNamedFunction(LLVMGetGlobalParent(p->function), "hiaR_stub_join");
  for (unsigned i = 0; i < p->f.n; i++) {
    p->calls[i] = hiaL_block_calls(&p->f.data[i], p->function);
    p->joins[i] = join && hiaL_block_calls(&p->f.data[i], join) > 0;
  }
}

static void weigh_loops(placement *p) {
  hia_arena *arena = &p->comp->scratch;
  bool **const sets[] = {&p->in, &p->leads, &p->free};
  for (size_t i = 0; i < sizeof sets / sizeof sets[0]; i++)
    *sets[i] = HIA_NEW_ARRAY(arena, bool, p->f.n);
  for (unsigned i = p->f.n; i-- > 0;) { /* inner loops come later, and first here */
    const hia_flow_block *head = hiaL_block_at(&p->f, i);
    if (find_members(p, head) && is_mixed(p, head)) weigh_loop(p, head);
  }
}

/* ---- trees ---- */

/* In a function that calls itself from several places most activations are leaves, and most tests
 * that guard a call do not lead to it: there is one activation per call, less the first. */
enum { TREE = 2, SELDOM = 8 };
#define MANY_GUARDS 3.0
#define NO_WAY      UINT_MAX

static unsigned calls_in(const placement *p, const hia_flow_block *b) {
  return p->calls[index_of(p, b)];
}

/* True if the block ends with the test that guards a call. */
static bool is_guard(const placement *p, const hia_flow_block *b) {
  return b->n_next == 2 && (calls_in(p, b->next[0]) > 0) != (calls_in(p, b->next[1]) > 0) &&
         !p->joins[index_of(p, b->next[0])] && !p->joins[index_of(p, b->next[1])];
}

/* True if the block ends with the test whether a thief has taken a fork. */
static bool is_stolen(const placement *p, const hia_flow_block *b) {
  return b->n_next == 2 && p->joins[index_of(p, b->next[0])] != p->joins[index_of(p, b->next[1])];
}

/* How many guards an activation meets in a round, if every branch went either way equally often. */
static double count_guards(const placement *p) {
  double *odds = HIA_NEW_ARRAY(&p->comp->scratch, double, p->f.n), n = 0;
  odds[index_of(p, p->order[0])] = 1;
  for (unsigned i = 0; i < p->n_order; i++) {
    const hia_flow_block *b = p->order[i];
    double x = odds[index_of(p, b)];
    for (unsigned k = 0; k < b->n_next; k++)
      if (!b->is_marked[k]) odds[index_of(p, b->next[k])] += x / b->n_next;
    if (is_guard(p, b)) n += x;
  }
  return n;
}

/* True if the block ends with the test for a further round. Its sides are equally likely, because
 * there is one entry per call. */
static bool is_end_of_round(const hia_flow_block *b) {
  return b->n_next == 2 && b->is_marked[0] != b->is_marked[1];
}

static void weigh_guards(const placement *p) {
  for (unsigned i = 0; i < p->n_order; i++) {
    const hia_flow_block *b = p->order[i];
    if (is_end_of_round(b)) {
      set_weights(p, b, 1, 1);
      continue;
    }
    bool is_first;
    if (is_guard(p, b))
      is_first = calls_in(p, b->next[0]) > 0;
    else if (is_stolen(p, b))
      is_first = p->joins[index_of(p, b->next[0])];
    else
      continue;
    set_weights(p, b, is_first ? 1 : SELDOM, is_first ? SELDOM : 1);
  }
}

/* By block: the fewest calls of the function from here to a return, without a further round;
 * NO_WAY: no return can be reached from here. */
static unsigned *fewest_calls(const placement *p) {
  unsigned *fewest = HIA_NEW_ARRAY(&p->comp->scratch, unsigned, p->f.n);
  for (unsigned i = 0; i < p->f.n; i++) fewest[i] = NO_WAY;
  for (unsigned i = p->n_order; i-- > 0;) {
    const hia_flow_block *b = p->order[i];
    LLVMValueRef end = LLVMGetBasicBlockTerminator(b->ref);
    unsigned least = LLVMGetInstructionOpcode(end) == LLVMRet ? 0 : NO_WAY;
    for (unsigned k = 0; k < b->n_next; k++) {
      unsigned behind = fewest[index_of(p, b->next[k])];
      if (!b->is_marked[k] && behind < least) least = behind;
    }
    fewest[index_of(p, b)] = least == NO_WAY ? NO_WAY : least + calls_in(p, b);
  }
  return fewest;
}

/* Places a leaf's return behind the entry, if an activation that is no leaf calls at least twice.
 */
static void weigh_leaves(const placement *p) {
  const unsigned *fewest = fewest_calls(p);
  const hia_flow_block *b = p->order[0];
  if (b->n_next != 2 || calls_in(p, b)) return;
  unsigned first = fewest[index_of(p, b->next[0])], second = fewest[index_of(p, b->next[1])];
  bool is_first = first == 0;
  if ((is_first ? second : first) < TREE || (is_first ? first : second) != 0) return;
  take_for_measured(p);
  set_weights(p, b, is_first ? USUAL : 1, is_first ? 1 : USUAL);
}

void hiaL_hint_placement(hia_comp *comp, LLVMContextRef llvm, LLVMValueRef function) {
  LLVMSetAlignment(function, LINE);
  placement p = {.comp = comp, .llvm = llvm, .function = function};
  if (LLVMCountBasicBlocks(function) > MAX_BLOCKS) return;
  p.f = hiaL_read_blocks(&comp->scratch, function);
  find_loops(&p);
  align_loops(&p);
  count_calls(&p);
  if (count_guards(&p) >= MANY_GUARDS)
    weigh_guards(&p);
  else
    weigh_loops(&p);
  weigh_leaves(&p);
}
