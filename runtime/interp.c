/* The tagged-token interpreter: one worker (docs/interpreter.md).
 *
 * A frame is a tag. A node of it fires when its last token has come; the count of those that are
 * missing is a byte of the frame, found by index. Everything local to a frame fires first, in any
 * order: it ends. Calls and loops are only armed by their tokens. When nothing else is left, the
 * first of them in sequential order is entered, depth first. So one worker follows sequential order
 * exactly, and the frames alive are those of one chain.
 *
 * Rules for the fast path: no atomic operation but relaxed loads, no lock, no division, no
 * allocation but from the free list. */
#include "runtime/interp.h"

static inline uint8_t *counters(hia_frame *f) {
  return (uint8_t *)hiaR_slots(f) + f->section->counters_at;
}

/* Arms child number `child`. */
static inline uint64_t arm(hia_frame *f, uint64_t pending, uint32_t child) {
  if (HIA_LIKELY(f->section->set_levels == 1)) return pending | (uint64_t)1 << child;
  f->pending = pending;
  hiaR_pending_add(f, child);
  return f->pending;
}

static hia_status fire_wide(hia_word *slots, const hia_wide *wide) {
  hia_word block[4];
  static const uint16_t in[3] = {0, 1, 2};
  for (uint32_t i = 0; i < wide->n_in; i++) block[i] = slots[wide->in[i]];
  hia_status status = wide->kernel(block, in, 3, wide->imm);
  if (!status) slots[wide->out] = block[3];
  return status;
}

static inline void make_moves(hia_word *slots, const hia_move *moves, uint32_t n) {
  for (uint32_t i = 0; i < n; i++) slots[moves[i].to] = slots[moves[i].from];
}

/* Sends tokens along edges, and fires whatever becomes ready by that, to the end. */
static inline void fire(hia_worker *w, hia_frame *f, const hia_edges *edges) {
  hia_word *const slots = hiaR_slots(f);
  uint8_t *const missing = counters(f);
  const hia_instr **const bottom = w->ready, **top = bottom;
  uint64_t pending = f->pending;
  uint32_t fired = 0;
  const hia_instr *n;
  for (;;) {
    const hia_instr *const *to = edges->to;
    uint32_t n_direct = edges->n_direct;
    for (uint32_t i = 0; i < edges->n_counted; i++) {
      const hia_instr *taker = to[n_direct + i];
      if (--missing[taker->counter] == 0) *top++ = taker;
    }
    if (n_direct) {
      n = to[0];
      for (uint32_t i = 1; i < n_direct; i++) *top++ = to[i];
    } else {
    next:
      if (top == bottom) break;
      n = *--top;
    }
    hia_status status;
    edges = &n->edges;
    if (HIA_LIKELY(n->kernel)) {
      status = n->kernel(slots, n->in, n->out, n->u.imm);
      fired++;
      if (HIA_LIKELY(!status)) continue;
      fired--;
      hiaR_fail(w, f, n->index, status, 0);
      goto next;
    }
    switch (n->kind) {
    case HIA_KIND_SWITCH: {
      const hia_side *side = &n->u.branch->side[slots[n->slot] == 0];
      fired += side->dead_nodes;
      w->firings += side->weight;
      make_moves(slots, side->moves, side->n_moves);
      edges = &side->edges;
      break;
    }
    case HIA_KIND_MOVE: slots[n->to] = slots[n->slot]; break;
    case HIA_KIND_CALL:
    case HIA_KIND_LOOP: pending = arm(f, pending, n->slot); goto next;
    case HIA_KIND_COUNT: w->counts[n->u.imm]++; break;
    case HIA_KIND_FAIL: hiaR_fail(w, f, n->index, HIA_FAILED, (int64_t)slots[n->slot]); goto next;
    case HIA_KIND_WIDE:
      status = fire_wide(slots, n->u.wide);
      if (!status) break;
      hiaR_fail(w, f, n->index, status, 0);
      goto next;
    default: break; /* JOIN */
    }
    fired++;
  }
  f->pending = pending;
  f->remaining -= fired;
}

/* ---- entering and leaving ---- */

/* Preloaded parts are short, and a multiple of 16 bytes long. */
static inline void preload(hia_frame *f, const hia_section *s) {
  const char *from = (const char *)s->preload;
  char *to = (char *)hiaR_slots(f) + s->preload_at;
  uint32_t size = s->preload_size;
  if (HIA_UNLIKELY(size > 64)) {
    memcpy(to, from, size);
    return;
  }
  for (; size; size -= 16, from += 16, to += 16) {
    memcpy(to, from, 16);
    __asm__("" : "+r"(to)); /* or the compiler makes a call of memcpy of it */
  }
}

/* A frame for child number `site` of `parent`, without its arguments. */
static inline hia_frame *new_frame(hia_worker *w, const hia_section *s, uint32_t site,
                                   uint32_t level, hia_status *status) {
  hia_frame *f = hiaR_frame_take(w, s, status);
  if (HIA_UNLIKELY(!f)) return NULL;
  w->frames++;
  w->firings += s->weight_once + s->weight_round;
  f->section = s;
  f->pending = 0;
  f->site = site;
  f->remaining = s->n_nodes;
  f->level = level;
  atomic_init(&f->limit, HIA_NONE);
  f->latent = HIA_NONE;
  f->is_woken = false;
  preload(f, s);
  return f;
}

static inline hia_frame *enter(hia_worker *w, hia_frame *parent, uint32_t site,
                               hia_status *status) {
  const hia_child *child = &parent->section->children[site];
  const hia_section *s = child->callee;
  hia_frame *f = new_frame(w, s, site, parent->level + 1, status);
  if (HIA_UNLIKELY(!f)) return NULL;
  f->up.parent = parent;
  hia_word *slots = hiaR_slots(f), *from = hiaR_slots(parent);
  for (uint32_t i = 0; i < s->n_params; i++) slots[i] = from[child->args[i]];
  make_moves(slots, s->enter, s->n_enter);
  return f;
}

/* The next round of a loop, in the same frame. */
static inline void begin_round(hia_worker *w, hia_frame *f) {
  const hia_section *s = f->section;
  make_moves(hiaR_slots(f), s->next, s->n_next);
  memcpy(counters(f), s->preload + (s->counters_at - s->preload_at), s->counters_size);
  f->remaining = s->n_nodes;
  w->firings += s->weight_round;
}

static inline void leave(hia_worker *w, hia_frame *f, hia_frame *parent, const hia_child *child) {
  const hia_section *s = f->section;
  hia_word *slots = hiaR_slots(f), *to = hiaR_slots(parent);
  for (uint32_t i = 0; i < s->n_results; i++) to[child->outs[i]] = slots[s->results[i]];
  hiaR_frame_give(w, f);
  parent->remaining--; /* the call has fired */
}

/* All nodes have fired: is there another round? Then it is armed like a child, after all others. */
static inline bool arm_round(hia_frame *f) {
  const hia_section *s = f->section;
  if (!s->iterates || !hiaR_slots(f)[s->cond]) return false;
  f->pending = arm(f, f->pending, s->n_children);
  return true;
}

static inline uint32_t lowest(hia_frame *f) {
  if (HIA_LIKELY(f->section->set_levels == 1)) return (uint32_t)__builtin_ctzll(f->pending);
  return hiaR_pending_lowest(f);
}

static inline void disarm(hia_frame *f, uint32_t child) {
  if (HIA_LIKELY(f->section->set_levels == 1))
    f->pending &= f->pending - 1;
  else
    hiaR_pending_remove(f, child);
}

/* ---- jobs from and to other workers: the same steps, out of line ---- */

hia_frame *hiaR_root_enter(hia_worker *w, const hia_section *s, const hia_word *args,
                           hia_status *status) {
  hia_frame *f = new_frame(w, s, 0, 0, status);
  if (!f) return NULL;
  f->up.parent = NULL;
  if (s->n_params) memcpy(hiaR_slots(f), args, s->n_params * sizeof(hia_word));
  make_moves(hiaR_slots(f), s->enter, s->n_enter);
  return f;
}

static void leave_job(hia_worker *w, hia_frame *f) {
  const hia_section *s = f->section;
  hia_job *job = f->up.job;
  for (uint32_t i = 0; i < s->n_results; i++) job->words[i] = hiaR_slots(f)[s->results[i]];
  hiaR_frame_give(w, f);
  hiaR_job_done(w, job);
}

/* Nothing of f is ready any more: leaves it, and those around it, as far as they are done. Answers
 * the frame where that ends, if it has pending children. */
static hia_frame *settle(hia_worker *w, hia_frame *f) {
  for (;;) {
    if (f->pending) return f;
    if (f->remaining) return NULL;
    if (arm_round(f)) return f;
    if (f->site & HIA_STOLEN) {
      leave_job(w, f);
      return NULL;
    }
    hia_frame *parent = f->up.parent;
    if (!parent) {
      hiaR_complete_run(w, f);
      return NULL;
    }
    const hia_child *child = &parent->section->children[f->site];
    leave(w, f, parent, child);
    fire(w, parent, &child->edges);
    f = parent;
  }
}

hia_frame *hiaR_job_enter(hia_worker *w, hia_job *job, hia_status *status) {
  const hia_section *s = job->frame->section->children[job->site].callee;
  hia_frame *f = new_frame(w, s, job->site | HIA_STOLEN, job->frame->level + 1, status);
  if (!f) return NULL;
  f->up.job = job;
  memcpy(hiaR_slots(f), job->words, s->n_params * sizeof(hia_word));
  make_moves(hiaR_slots(f), s->enter, s->n_enter);
  fire(w, f, &s->start);
  return settle(w, f);
}

hia_frame *hiaR_job_back(hia_worker *w, hia_job *job) {
  hia_frame *f = job->frame;
  const hia_child *child = &f->section->children[job->site];
  for (uint32_t i = 0; i < child->callee->n_results; i++)
    hiaR_slots(f)[child->outs[i]] = job->words[i];
  f->remaining--;
  fire(w, f, &child->edges);
  return settle(w, f);
}

/* ---- the worker ---- */

/* Goes on from f, sending tokens along `edges`, until there is nothing left to do here. `is_alone`:
 * there are no other workers, and what only serves them is left out. */
static inline void work(hia_worker *w, hia_frame *f, const hia_edges *edges, const bool is_alone) {
  static const uint32_t never = 0;
  const uint32_t *cancelled = w->run->limits->cancelled ? w->run->limits->cancelled : &never;
  hia_status status;
  for (;;) {
    fire(w, f, edges);
    if (!f->pending) {
      if (f->remaining) { /* it waits for other workers, or for what has failed */
        f = is_alone ? NULL : hiaR_find_work(w, f);
        if (!f) return;
      } else if (arm_round(f)) {
        ;
      } else if (!is_alone && f->site & HIA_STOLEN) {
        leave_job(w, f);
        f = hiaR_find_work(w, NULL);
        if (!f) return;
      } else {
        hia_frame *parent = f->up.parent;
        if (HIA_UNLIKELY(!parent)) {
          hiaR_complete_run(w, f);
          return;
        }
        const hia_child *child = &parent->section->children[f->site];
        leave(w, f, parent, child);
        f = parent;
        edges = &child->edges;
        continue;
      }
    }

    if (HIA_UNLIKELY(atomic_load_explicit(&w->poll, memory_order_relaxed) |
                     __atomic_load_n(cancelled, __ATOMIC_RELAXED))) {
      f = hiaR_poll(w, f);
      if (!f && !is_alone) f = hiaR_find_work(w, NULL);
      if (!f) return;
    }
    uint32_t site = lowest(f);
    disarm(f, site);
    if (!is_alone) {
      if (f->pending ? f->latent == HIA_NONE : f->latent != HIA_NONE) hiaR_latent_update(w, f);
      if (HIA_UNLIKELY(atomic_load_explicit(&w->run->hungry, memory_order_relaxed)) &&
          w->latent_top != w->latent_base)
        hiaR_give_work(w);
    }
    if (site == f->section->n_children) {
      begin_round(w, f);
      edges = &f->section->start;
      continue;
    }
    hia_frame *inner = enter(w, f, site, &status);
    if (HIA_UNLIKELY(!inner)) {
      hiaR_end_run(w, status, f, site);
      return;
    }
    f = inner;
    edges = &f->section->start;
  }
}

void hiaR_work(hia_worker *w, hia_frame *f, const hia_edges *edges) { work(w, f, edges, false); }
void hiaR_work_alone(hia_worker *w, hia_frame *f, const hia_edges *edges) {
  work(w, f, edges, true);
}
