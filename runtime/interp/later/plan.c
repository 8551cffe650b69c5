/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Strategies: which noted operations are computed together, and in which order.
 *
 * By depth: an operation that depends on nothing pending has depth 0, others one more than the
 * deepest that they depend on. From depth to depth, those of one signature are one firing (Looks
 * and others, 2017).
 *
 * By agenda: all operations of one signature that are ready are one firing. Of the signatures with
 * ready operations that one comes first of whose operations, ready or not, the average depth is
 * lowest; of equal ones what is no product. So operations whose depths differ are together if none
 * of them has to wait for another, such as the losses of sentences of different lengths (Neubig,
 * Goldberg, Dyer, 2017).
 *
 * What the plan needs is found when operations are noted: lists of those of each depth; or edges to
 * the operations that wait for a result, and lists of those that wait for none. */
#include "runtime/interp/later/noted.h"

/* Operations of one depth, a list by `next`. */
typedef struct level {
  uint32_t first, last;
} level;

static hia_noted_edge *edge_at(const hia_later *l, uint32_t i) {
  return &((hia_noted_edge *)l->edges.data)[i];
}

/* ---- when operations are noted ---- */

static void append(hia_later *l, hia_op_signature *s, uint32_t i) {
  hiaR_noted(l, i)->next = HIA_NONE;
  if (s->n++)
    hiaR_noted(l, s->last)->next = i;
  else
    s->first = i;
  s->last = i;
}

bool hiaR_plan_reserve(hia_worker *w, uint32_t n_in) {
  hia_later *l = w->later;
  if (w->run->limits->firings->is_agenda)
    return hiaR_table_reserve(w, &l->edges, n_in, sizeof(hia_noted_edge));
  return hiaR_table_reserve(w, &l->levels, 1, sizeof(level));
}

static void add_to_level(hia_later *l, uint32_t i) {
  hia_noted *n = hiaR_noted(l, i);
  level *all = l->levels.data;
  n->next = HIA_NONE;
  if (n->depth == l->levels.len) {
    all[l->levels.len++] = (level){i, i};
    return;
  }
  hiaR_noted(l, all[n->depth].last)->next = i;
  all[n->depth].last = i;
}

void hiaR_plan_add(hia_worker *w, uint32_t i) {
  hia_later *l = w->later;
  hia_noted *n = hiaR_noted(l, i);
  if (!w->run->limits->firings->is_agenda) {
    add_to_level(l, i);
    return;
  }
  hia_op_signature *s = hiaR_op_signature(l, n->signature);
  s->n_all++;
  s->depths += n->depth;
  if (!n->n_waits) append(l, s, i);
}

void hiaR_plan_wait(hia_worker *w, uint32_t i, uint32_t from) {
  hia_later *l = w->later;
  if (!w->run->limits->firings->is_agenda) return;
  *edge_at(l, l->edges.len) = (hia_noted_edge){i, hiaR_noted(l, from)->edges};
  hiaR_noted(l, from)->edges = l->edges.len++;
  hiaR_noted(l, i)->n_waits++;
}

/* ---- when they are computed ---- */

static hia_status fire_ready(hia_worker *w, hia_later *l, uint32_t signature) {
  hia_op_signature *s = hiaR_op_signature(l, signature);
  uint32_t first = s->first, n = s->n;
  s->n = 0;
  return hiaR_fire(w, signature, first, n);
}

/* One after the other, as they were noted, which takes no memory for tables. */
static hia_status compute_in_order(hia_worker *w, hia_later *l) {
  hia_status status = HIA_OK;
  for (uint32_t i = 0; i < l->signatures.len; i++) {
    hia_op_signature *s = hiaR_op_signature(l, i);
    s->n_all = s->depths = s->n = 0;
  }
  l->levels.len = l->edges.len = l->order.len = 0;
  for (uint32_t i = 0; i < l->nodes.len && !status; i++) {
    const hia_noted *n = hiaR_noted(l, i);
    if (n->instr && n->out) status = hiaR_fire(w, n->signature, i, 1);
  }
  return status;
}

hia_status hiaR_plan_by_depth(hia_worker *w) {
  hia_later *l = w->later;
  const level *all = l->levels.data;
  hia_status status = HIA_OK;
  for (uint32_t d = 0; d < l->levels.len && !status; d++) {
    uint32_t n = 0, n_lists = 0;
    /* The order of the lists is that of their first operations. */
    for (uint32_t i = all[d].first, next; i != HIA_NONE; i = next, n++) {
      hia_op_signature *s = hiaR_op_signature(l, hiaR_noted(l, i)->signature);
      next = hiaR_noted(l, i)->next;
      if (!s->n) {
        if (!hiaR_table_reserve(w, &l->order, 1, sizeof(uint32_t))) return compute_in_order(w, l);
        ((uint32_t *)l->order.data)[n_lists++] = hiaR_noted(l, i)->signature;
        l->order.len = n_lists;
      }
      append(l, s, i);
    }
    for (uint32_t k = 0; k < n_lists && !status; k++)
      status = fire_ready(w, l, ((uint32_t *)l->order.data)[k]);
    l->order.len = 0;
  }
  l->levels.len = 0;
  return status;
}

/* ---- by agenda ---- */

static int compare(const hia_later *l, uint32_t one, uint32_t other) {
  const hia_op_signature *a = hiaR_op_signature(l, one), *b = hiaR_op_signature(l, other);
  double x = (double)a->depths / (double)a->n_all, y = (double)b->depths / (double)b->n_all;
  if (x != y) return x < y ? -1 : 1;
  if (a->is_product != b->is_product) return a->is_product ? 1 : -1;
  return one < other ? -1 : 1;
}

/* Sorts by merging: `all` and `spare` have n each. */
static void sort(const hia_later *l, uint32_t *all, uint32_t *spare, uint32_t n) {
  for (uint32_t width = 1; width < n; width *= 2) {
    for (uint32_t at = 0; at < n; at += 2 * width) {
      uint32_t mid = at + width < n ? at + width : n, end = mid + width < n ? mid + width : n;
      for (uint32_t i = at, k = mid, to = at; to < end; to++) {
        bool is_left = i < mid && (k >= end || compare(l, all[i], all[k]) < 0);
        spare[to] = is_left ? all[i++] : all[k++];
      }
    }
    memcpy(all, spare, n * sizeof *all);
  }
}

static void set_ready(hia_later *l, const hia_op_signature *s) {
  ((uint64_t *)l->ready.data)[s->rank / 64] |= (uint64_t)1 << s->rank % 64;
}

/* Finds the order in which signatures are chosen: order[rank]. False: no memory. */
static bool rank_signatures(hia_worker *w, hia_later *l, uint32_t *n) {
  uint32_t n_all = l->signatures.len;
  if (!hiaR_table_reserve(w, &l->order, 2 * n_all, sizeof(uint32_t)) ||
      !hiaR_table_reserve(w, &l->ready, n_all / 64 + 1, sizeof(uint64_t)))
    return false;
  uint32_t *order = l->order.data;
  *n = 0;
  for (uint32_t i = 0; i < n_all; i++)
    if (hiaR_op_signature(l, i)->n_all) order[(*n)++] = i;
  sort(l, order, order + n_all, *n);
  memset(l->ready.data, 0, (n_all / 64 + 1) * sizeof(uint64_t));
  for (uint32_t i = 0; i < *n; i++) {
    hia_op_signature *s = hiaR_op_signature(l, order[i]);
    s->rank = i;
    s->n_all = s->depths = 0; /* for the next operations */
    if (s->n) set_ready(l, s);
  }
  return true;
}

/* The rank of the first signature with operations that are ready; HIA_NONE: there is none. */
static uint32_t first_ready(const hia_later *l, uint32_t n) {
  const uint64_t *ready = l->ready.data;
  for (uint32_t i = 0; i <= n / 64; i++)
    if (ready[i]) return i * 64 + (uint32_t)__builtin_ctzll(ready[i]);
  return HIA_NONE;
}

/* The operation is done: what waited for it alone is ready. */
static void notify(hia_later *l, uint32_t i) {
  for (uint32_t k = hiaR_noted(l, i)->edges; k != HIA_NONE; k = edge_at(l, k)->next) {
    uint32_t to = edge_at(l, k)->to;
    if (--hiaR_noted(l, to)->n_waits) continue;
    hia_op_signature *s = hiaR_op_signature(l, hiaR_noted(l, to)->signature);
    append(l, s, to);
    set_ready(l, s);
  }
}

hia_status hiaR_plan_by_agenda(hia_worker *w) {
  hia_later *l = w->later;
  uint32_t n;
  if (!rank_signatures(w, l, &n)) return compute_in_order(w, l);
  for (uint32_t rank; (rank = first_ready(l, n)) != HIA_NONE;) {
    uint32_t signature = ((uint32_t *)l->order.data)[rank];
    uint32_t first = hiaR_op_signature(l, signature)->first;
    uint32_t left = hiaR_op_signature(l, signature)->n;
    ((uint64_t *)l->ready.data)[rank / 64] &= ~((uint64_t)1 << rank % 64);
    hia_status status = fire_ready(w, l, signature);
    if (status) return status;
    for (uint32_t i = first, next; left--; i = next) {
      next = hiaR_noted(l, i)->next;
      notify(l, i);
    }
  }
  l->edges.len = 0;
  return HIA_OK;
}
