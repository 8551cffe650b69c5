/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Sequential order in a run: which failure comes first, what is left to do before it, and with
 * which of two frames to go on.
 *
 * The position of a node is the path from the root frame to it: at each frame the index of the
 * child that it is inside of, at the end its own index. Rounds need no comparison, since a frame is
 * in one round at a time.
 *
 * A run keeps one failure, the first so far. The frames on the path to it are marked: `limit` is
 * the index at which the path goes on, so everything in that frame (and inside) from there on
 * comes later. None of these frames can ever be done, so they stay. A position is compared by
 * walking up from it to a marked frame. When an earlier failure is found, its path is marked up to
 * where the paths meet, and the rest of the old path gets limit 0: everything in it is later.
 *
 * Marks are read and written under the run's lock, except that a worker reads those of its own
 * frames. */
#include "runtime/interp/elements.h"
#include "runtime/interp/interp.h"

static uint32_t limit_of(const hia_frame *f) {
  return atomic_load_explicit(&f->limit, memory_order_relaxed);
}

static void set_limit(hia_frame *f, uint32_t limit) {
  atomic_store_explicit(&f->limit, limit, memory_order_relaxed);
}

/* The index of the node by which the frame was entered, in the parent's section. */
static uint32_t index_of(const hia_frame *f) { return hiaR_child_of(f)->instr->index; }

/* The index of the first pending child; the next round comes after all nodes of this one. */
static uint32_t first_pending(hia_frame *f) {
  uint32_t site =
      f->section->set_levels == 1 ? (uint32_t)__builtin_ctzll(f->pending) : hiaR_pending_lowest(f);
  if (site == f->section->n_children) return f->section->n_nodes;
  return f->section->children[site].instr->index;
}

/* Under the lock, when a failure is known: true if position (f, index) is later than it. Then all
 * frames from f up to the marked one are later, too. */
static bool is_later(hia_frame *f, uint32_t index) {
  hia_frame *at = f;
  uint32_t limit;
  while ((limit = limit_of(at)) == HIA_NONE) {
    index = index_of(at);
    at = hiaR_parent(at);
  }
  if (index < limit) return false;
  for (; f != at; f = hiaR_parent(f)) set_limit(f, 0);
  return true;
}

static void mark(hia_run *run, hia_frame *f, uint32_t index) {
  hia_frame *old = run->failed;
  for (hia_frame *at = f;;) {
    uint32_t limit = limit_of(at);
    set_limit(at, index);
    if (limit != HIA_NONE) { /* the old path goes through this frame */
      for (; old != at; old = hiaR_parent(old)) set_limit(old, 0);
      return;
    }
    if (!at->up.parent) return;
    index = index_of(at);
    at = hiaR_parent(at);
  }
}

void hiaR_fail(hia_worker *w, hia_frame *f, uint32_t node, const hia_cause *cause) {
  hia_run *run = w->run;
  f->waiting++; /* so that the frame is never done */
  pthread_mutex_lock(&run->lock);
  if (!run->failed || !is_later(f, node)) {
    mark(run, f, node);
    run->failed = f;
    run->failed_node = node;
    run->failed_cause = *cause;
    atomic_fetch_add(&run->epoch, 1);
    for (unsigned i = 0; i < run->n_workers; i++) atomic_store(&run->workers[i]->poll, 1);
  }
  pthread_mutex_unlock(&run->lock);
}

bool hiaR_is_too_late(hia_run *run, hia_frame *f) {
  pthread_mutex_lock(&run->lock);
  bool later = run->failed && is_later(f, first_pending(f));
  pthread_mutex_unlock(&run->lock);
  return later;
}

bool hiaR_is_earlier(hia_frame *a, hia_frame *b) {
  uint32_t i = first_pending(a), k = first_pending(b);
  while (a != b) {
    if (a->level >= b->level) {
      i = index_of(a);
      a = hiaR_parent(a);
    } else {
      k = index_of(b);
      b = hiaR_parent(b);
    }
  }
  return i < k;
}

void hiaR_backtrace_frames(const hia_loaded *image, const hia_frame *f, uint64_t most,
                           hia_backtrace *trace) {
  for (; f->up.parent && most; most--, f = hiaR_parent(f)) {
    const hia_child *child = hiaR_child_of(f);
    hia_frame *parent = hiaR_parent(f);
    hiaR_backtrace_elements(parent->section, hiaR_slots(parent), child->instr->index, trace);
    if (!child->is_loop) hiaR_backtrace_push_site(trace, image->locs, child->loc, child->is_tail);
  }
}
