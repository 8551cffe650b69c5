/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* placement: where code is to lie, as hints for LLVM's code generator.
 *
 * On short recursive functions that is worth up to a third, more than any comparison with the
 * limit: they spend their time on fetching, one piece of code that goes straight on after the
 * other. A jump that is taken ends such a piece, and so does the end of a line of the cache. So
 * what is usual goes straight on. For functions that are not large:
 *
 * Loops begin with a line of the cache, as functions do. A loop is known by a node of its own, the
 * same at every branch back to its start.
 *
 * LLVM takes it that a loop has many rounds, and puts one round's end before its start, which costs
 * whoever enters the loop a jump. Of a function that calls itself that is a mistake: every call is
 * an entry, so over a whole run there is one call per entry, less the first, in however many
 * rounds. Where some rounds call and others do not, as in ack, this weighs the branches so that a
 * loop has few rounds and those that call are the usual ones: they are entered, call and return
 * without a jump, and the others lie behind them and take two. That is a seventh of the time of
 * ack, and a third of that of ack unrolled. Where all rounds call there is nothing to choose, and
 * LLVM, which would know of few rounds only, would not align the loop.
 *
 * The same count tells that of a function which calls itself twice or more whenever it calls, most
 * activations are leaves: these go from its entry to a return of their own. A quarter of the time
 * of tak. And where an activation comes to many tests each of which guards a call, as unrolling
 * makes them, most say no: the calls lie elsewhere. So do joins with other workers. An eighth of
 * the time of tak unrolled. */
#include "lower/flow.h"
#include <limits.h>

enum { LINE = 64, MAX_BLOCKS = 200 };

typedef struct placement {
  hia_comp *comp;
  LLVMContextRef llvm;
  LLVMValueRef function;
  hia_blocks f;      /* marked: edges back to the start of a loop */
  hia_block **order; /* of the blocks that can be reached, each behind all that it comes from */
  unsigned n_order;
  unsigned *calls; /* by block: how many of itself */
  bool *joins;     /* by block: waits for what another worker has taken */
  /* By block, of the loop at hand: part of it; leads to a call before the round is over; can be
   * come to without one. */
  bool *in, *leads, *free;
} placement;

static LLVMMetadataRef text(const placement *p, const char *s) {
  return LLVMMDStringInContext2(p->llvm, s, strlen(s));
}

static LLVMMetadataRef number(const placement *p, unsigned bits, uint64_t n) {
  LLVMTypeRef type = LLVMIntTypeInContext(p->llvm, bits);
  return LLVMValueAsMetadata(LLVMConstInt(type, n, false));
}

static unsigned index_of(const placement *p, const hia_block *b) {
  return (unsigned)(b - p->f.data);
}

/* ---- loops ---- */

/* Marks the edges to blocks that are on the path of a search from the function's entry. */
static void find_loops(placement *p) {
  hia_blocks *f = &p->f;
  p->order = HIA_NEW_ARRAY(&p->comp->scratch, hia_block *, f->n);
  p->order += f->n;
  hiaL_go_on(f, hiaL_block_at(f, 0));
  while (f->n_path) {
    hia_block *b = f->path[f->n_path - 1];
    if (b->at == b->n_next) {
      b->is_on_path = false;
      f->n_path--;
      p->n_order++;
      *--p->order = b;
      continue;
    }
    hia_block *to = b->next[b->at++];
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
  LLVMMetadataReplaceAllUsesWith(self, loop); /* so it is like no other */
  return LLVMMetadataAsValue(p->llvm, loop);
}

static void align_loops(placement *p) {
  LLVMValueRef *loops = HIA_NEW_ARRAY(&p->comp->scratch, LLVMValueRef, p->f.n);
  unsigned kind = LLVMGetMDKindIDInContext(p->llvm, "llvm.loop", 9);
  for (unsigned i = 0; i < p->f.n; i++) {
    const hia_block *b = hiaL_block_at(&p->f, i);
    for (unsigned k = 0; k < b->n_next; k++) {
      if (!b->is_marked[k]) continue;
      LLVMValueRef *loop = &loops[index_of(p, b->next[k])];
      if (!*loop) *loop = new_loop(p);
      LLVMSetMetadata(LLVMGetBasicBlockTerminator(b->ref), kind, *loop);
    }
  }
}

/* ---- weights ---- */

/* Whether the round goes on to some block that is in `set`, without starting over. */
static bool goes_to(const placement *p, const hia_block *b, const hia_block *head,
                    const bool *set) {
  for (unsigned k = 0; k < b->n_next; k++)
    if (b->next[k] != head && set[index_of(p, b->next[k])]) return true;
  return false;
}

/* The loop that starts at `head`: what comes to an edge back to it. Is there one? */
static bool find_members(placement *p, const hia_block *head) {
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

/* Do some rounds of it call the function, and others not? */
static bool is_mixed(placement *p, const hia_block *head) {
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
      const hia_block *b = &p->f.data[i];
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

/* To those that have no weights yet: a round of an inner loop is weighed there. */
static void set_weights(const placement *p, const hia_block *b, unsigned first, unsigned second) {
  unsigned prof = LLVMGetMDKindIDInContext(p->llvm, "prof", 4);
  LLVMValueRef branch = LLVMGetBasicBlockTerminator(b->ref);
  if (LLVMGetMetadata(branch, prof)) return;
  LLVMMetadataRef weights[3] = {text(p, "branch_weights"), number(p, 32, first),
                                number(p, 32, second)};
  LLVMSetMetadata(branch, prof,
                  LLVMMetadataAsValue(p->llvm, LLVMMDNodeInContext2(p->llvm, weights, 3)));
}

/* Below a fifth, LLVM puts a block behind the loop; but only where it takes weights for measured,
 * in functions that say how often they were entered. */
enum { USUAL = 32 };

static void take_for_measured(const placement *p) {
  unsigned prof = LLVMGetMDKindIDInContext(p->llvm, "prof", 4);
  LLVMMetadataRef entries[2] = {text(p, "function_entry_count"), number(p, 64, 1000)};
  LLVMGlobalSetMetadata(p->function, prof, LLVMMDNodeInContext2(p->llvm, entries, 2));
}

static void weigh_loop(placement *p, const hia_block *head) {
  take_for_measured(p);
  for (unsigned i = 0; i < p->f.n; i++) {
    const hia_block *b = &p->f.data[i];
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
    const hia_block *head = hiaL_block_at(&p->f, i);
    if (find_members(p, head) && is_mixed(p, head)) weigh_loop(p, head);
  }
}

/* ---- trees ---- */

/* Of a function that calls itself from several places most activations are leaves, and most tests
 * whether to call it say no: there is one activation per call, less the first. */
enum { TREE = 2, SELDOM = 8 };
#define MANY_GUARDS 3.0
#define NO_WAY      UINT_MAX

static unsigned calls_in(const placement *p, const hia_block *b) {
  return p->calls[index_of(p, b)];
}

/* Does it end by asking whether to call? */
static bool is_guard(const placement *p, const hia_block *b) {
  return b->n_next == 2 && (calls_in(p, b->next[0]) > 0) != (calls_in(p, b->next[1]) > 0) &&
         !p->joins[index_of(p, b->next[0])] && !p->joins[index_of(p, b->next[1])];
}

/* Does it end by asking whether another worker has taken a call? */
static bool is_stolen(const placement *p, const hia_block *b) {
  return b->n_next == 2 && p->joins[index_of(p, b->next[0])] != p->joins[index_of(p, b->next[1])];
}

/* How many guards an activation comes to in a round, if all branches went either way as often. */
static double count_guards(const placement *p) {
  double *odds = HIA_NEW_ARRAY(&p->comp->scratch, double, p->f.n), n = 0;
  odds[index_of(p, p->order[0])] = 1;
  for (unsigned i = 0; i < p->n_order; i++) {
    const hia_block *b = p->order[i];
    double x = odds[index_of(p, b)];
    for (unsigned k = 0; k < b->n_next; k++)
      if (!b->is_marked[k]) odds[index_of(p, b->next[k])] += x / b->n_next;
    if (is_guard(p, b)) n += x;
  }
  return n;
}

/* Whether a round is the last: as often as not, there being one entry per call. */
static bool is_end_of_round(const hia_block *b) {
  return b->n_next == 2 && b->is_marked[0] != b->is_marked[1];
}

static void weigh_guards(const placement *p) {
  for (unsigned i = 0; i < p->n_order; i++) {
    const hia_block *b = p->order[i];
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

/* By block: the fewest calls of the function from here to its end, without starting a round over;
 * NO_WAY: it does not return from here. */
static unsigned *fewest_calls(const placement *p) {
  unsigned *fewest = HIA_NEW_ARRAY(&p->comp->scratch, unsigned, p->f.n);
  for (unsigned i = 0; i < p->f.n; i++) fewest[i] = NO_WAY;
  for (unsigned i = p->n_order; i-- > 0;) {
    const hia_block *b = p->order[i];
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

/* Who does not return at once calls twice or more. */
static void weigh_leaves(const placement *p) {
  const unsigned *fewest = fewest_calls(p);
  const hia_block *b = p->order[0];
  if (b->n_next != 2 || calls_in(p, b)) return;
  unsigned first = fewest[index_of(p, b->next[0])], second = fewest[index_of(p, b->next[1])];
  bool is_first = first == 0;
  if ((is_first ? second : first) < TREE || (is_first ? first : second) != 0) return;
  take_for_measured(p);
  set_weights(p, b, is_first ? USUAL : 1, is_first ? 1 : USUAL);
}

void hiaL_place(hia_comp *comp, LLVMContextRef llvm, LLVMValueRef function) {
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
