/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Strongly connected components, by Tarjan's algorithm ("Depth-first search and linear graph
 * algorithms", 1972). It has stacks of its own instead of recursion, because chains of calls are as
 * long as the user's program. */
#include "graph/ir/scc.h"
#include "graph/ir/graph.h"

typedef struct visit {
  uint32_t node, at; /* at: the next of its edges to look at */
} visit;

typedef struct scc {
  hia_arena *arena;
  const uint32_t *first, *edges;
  uint32_t *component;   /* NONE until it is known */
  uint32_t *order, *low; /* Tarjan's number, from 1, and lowlink */
  hia_u32vec stack;      /* seen, but in no component yet */
  HIA_VEC(visit) path;   /* of the search */
  uint32_t n_seen, n_components;
} scc;

static void see(scc *s, uint32_t node) {
  s->order[node] = s->low[node] = ++s->n_seen;
  hiaR_push(s->arena, &s->stack, node);
  hiaR_push(s->arena, &s->path, (visit){node, s->first[node]});
}

static void search(scc *s, uint32_t start) {
  see(s, start);
  while (s->path.len) {
    visit *top = &s->path.data[s->path.len - 1];
    uint32_t node = top->node;
    if (top->at < s->first[node + 1]) {
      uint32_t to = s->edges[top->at++];
      if (!s->order[to])
        see(s, to);
      else if (s->component[to] == HIA_NONE && s->order[to] < s->low[node])
        s->low[node] = s->order[to];
      continue;
    }
    if (s->low[node] == s->order[node]) {
      uint32_t member;
      do {
        member = s->stack.data[--s->stack.len];
        s->component[member] = s->n_components;
      } while (member != node);
      s->n_components++;
    }
    if (--s->path.len) {
      uint32_t from = s->path.data[s->path.len - 1].node;
      if (s->low[node] < s->low[from]) s->low[from] = s->low[node];
    }
  }
}

uint32_t hiaG_scc(hia_arena *arena, uint32_t n, const uint32_t *first, const uint32_t *edges,
                  uint32_t *component) {
  scc s = {.arena = arena, .first = first, .edges = edges, .component = component};
  s.order = HIA_NEW_ARRAY(arena, uint32_t, n);
  s.low = HIA_NEW_ARRAY(arena, uint32_t, n);
  memset(component, 0xff, n * sizeof *component);
  for (uint32_t i = 0; i < n; i++)
    if (!s.order[i]) search(&s, i);
  return s.n_components;
}

/* ---- what spreads along calls ---- */

/* A work list: a function that becomes marked marks its callers. Those of f are
 * callers[start[f]] .. callers[start[f + 1] - 1]. */
void hiaG_spread_to_callers(hia_arena *scratch, uint32_t n, const uint32_t *first,
                            const uint32_t *callees, bool *marks) {
  hia_mark mark = hiaR_arena_mark(scratch);
  uint32_t *caller = HIA_NEW_ARRAY(scratch, uint32_t, (size_t)first[n] + 1);
  uint32_t *work = HIA_NEW_ARRAY(scratch, uint32_t, (size_t)n + 1), n_work = 0;
  for (uint32_t f = 0; f < n; f++) {
    for (uint32_t i = first[f]; i < first[f + 1]; i++) caller[i] = f;
    if (marks[f]) work[n_work++] = f;
  }
  hia_buckets by_callee = hiaG_buckets(scratch, n, first[n], callees, caller);
  const uint32_t *start = by_callee.start, *callers = by_callee.items;
  while (n_work) {
    uint32_t f = work[--n_work];
    for (uint32_t i = start[f]; i < start[f + 1]; i++) {
      if (marks[callers[i]]) continue;
      marks[callers[i]] = true;
      work[n_work++] = callers[i];
    }
  }
  hiaR_arena_release(scratch, mark);
}
