/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The tagged-token interpreter: one worker (docs/interpreter.md).
 *
 * A frame is a tag. Its nodes fire in segments, whose order was computed when the image was loaded
 * (runtime/image/schedule.c); a segment for which several others are waited for counts their tokens
 * in a byte of the frame. Everything local to a frame fires first, since it always ends. Calls and
 * loops are only armed. When nothing else is left, the first of them in sequential order is
 * entered, depth first. So one worker follows sequential order exactly, and the live frames are
 * those of one chain.
 *
 * Rules for the fast path: no atomic operation except relaxed loads, no lock, no division, no
 * allocation except from free lists. */
#include "runtime/interp/refs.h"

#define ALWAYS_INLINE inline __attribute__((always_inline))

/* ---- nodes ---- */

static inline hia_word *word_at(const hia_counted *object, const hia_part *part) {
  return (hia_word *)(void *)((char *)(uintptr_t)object + part->place.at);
}

/* Makes an object of a constructor with fields. False: no memory. */
static inline bool make(hia_worker *w, hia_word *slots, const hia_step *step) {
  const hia_make *m = step->u.make;
  hia_counted *object = hiaR_heap_take(&w->heap, m->size_class, m->size);
  if (HIA_UNLIKELY(!object)) return false;
  hiaR_object_begin(object, m->number);
  const hia_part *part = m->parts.list, *refs = part + m->parts.n_refs,
                 *wide = part + m->parts.n_wide, *end = part + m->parts.n;
  for (; part < refs; part++) *word_at(object, part) = hiaR_take(w, slots, part->slot);
  for (; part < wide; part++) *word_at(object, part) = slots[part->slot];
  for (; part < end; part++)
    hiaR_store((hia_repr)part->place.repr, word_at(object, part), slots[part->slot]);
  slots[step->to] = (uintptr_t)object;
  return true;
}

/* Reads words of an object. `moves`: its references become those of the slots. */
static inline void read_parts(hia_worker *w, hia_word *slots, const hia_counted *object,
                              const hia_parts *parts, bool moves) {
  const hia_part *part = parts->list, *refs = part + parts->n_refs, *wide = part + parts->n_wide,
                 *end = part + parts->n;
  if (!moves)
    for (; part < refs; part++) {
      hia_word ref = *word_at(object, part);
      hiaR_share(w, ref);
      slots[part->slot] = ref;
    }
  for (; part < wide; part++) slots[part->slot] = *word_at(object, part);
  for (; part < end; part++) slots[part->slot] = hiaR_get_word(object, &part->place);
}

/* The object of which a FIELD reads. NULL: the value is of another constructor, which only a graph
 * can say that was not made by the frontend. */
static inline hia_counted *object_of(hia_word ref, const hia_get *g) {
  hia_counted *object = hiaR_object(ref);
  return ref < HIA_FIRST_ADDRESS || object->ctor != g->ctor ? NULL : object;
}

static inline bool get(hia_worker *w, hia_word *slots, const hia_step *step) {
  const hia_get *g = step->u.get;
  const hia_counted *object = object_of(slots[step->slot], g);
  if (HIA_UNLIKELY(!object)) return false;
  read_parts(w, slots, object, &g->parts, false);
  return true;
}

static void drop_unread(hia_worker *w, const hia_get *g, const hia_counted *object) {
  const hia_word *refs = (const hia_word *)(const void *)(object + 1);
  const uint32_t *bases = w->run->image->shapes->bases + g->shape->refs;
  for (uint32_t i = 0; i < g->n_unread; i++)
    hiaR_give_up(w, refs[g->unread[i]], bases[g->unread[i]]);
}

/* The value is taken. If that was the last reference to it, the words of the fields move. */
static inline bool unpack(hia_worker *w, hia_word *slots, const hia_step *step) {
  const hia_get *g = step->u.get;
  hia_word ref = slots[step->slot];
  hia_counted *object = object_of(ref, g);
  if (HIA_UNLIKELY(!object)) return false;
  slots[step->slot] = 0;
  /* Acquire, as in hiaR_let_go. */
  if (atomic_load_explicit(&object->count, memory_order_acquire) == 1) {
    read_parts(w, slots, object, &g->parts, true);
    if (g->n_unread) drop_unread(w, g, object);
    hiaR_heap_put(&w->heap, (unsigned)g->size_class, object, g->shape->size);
  } else {
    read_parts(w, slots, object, &g->parts, false);
    hiaR_give_up(w, ref, g->base);
  }
  return true;
}

/* False: there is no such element. */
static inline bool read_element(hia_worker *w, hia_frame *f, const hia_step *step) {
  const hia_array_instr *a = step->u.array;
  hia_word *slots = hiaR_slots(f), array = slots[step->slot];
  int64_t index = hiaR_to_i64(slots[a->ins[1]]);
  if (HIA_UNLIKELY(!hiaR_array_has(array, index))) {
    hia_range range = {index, 0, (int64_t)hiaR_array_len(array)};
    hiaR_fail(w, f, step->index, &(hia_cause){.status = HIA_RANGE, .range = range});
    return false;
  }
  hia_repr repr = (hia_repr)a->place.repr;
  const char *at = hiaR_array_at(array, a->size, (uint64_t)index) + a->place.at;
  hia_word word = hiaR_load(repr, at);
  if (repr == HIA_REPR_REF) hiaR_share(w, word);
  slots[step->to] = word;
  return true;
}

/* False: the element is not there, or the array cannot be changed in place. */
static inline bool set_element(hia_worker *w, hia_word *slots, const hia_step *step) {
  const hia_array_instr *a = step->u.array;
  uint32_t operand = a->ins[0], slot = operand & ~HIA_IMAGE_TAKEN;
  hia_word array = slots[slot];
  int64_t index = hiaR_to_i64(slots[a->ins[1]]);
  if (slot == operand || !hiaR_array_has(array, index)) return false;
  /* Acquire, as in hiaR_let_go. */
  hia_array *object = hiaR_array(array);
  if (atomic_load_explicit(&object->counted.count, memory_order_acquire) != 1 ||
      hiaR_is_view(object))
    return false;
  slots[slot] = 0;
  char *element = hiaR_array_at(array, a->size, (uint64_t)index);
  for (uint32_t i = 0; i < a->n_words; i++) {
    const hia_word_place *place = &a->places[i];
    hia_repr repr = (hia_repr)place->repr;
    if (repr == HIA_REPR_REF) {
      hia_word old = hiaR_load(repr, element + place->at);
      hiaR_store(repr, element + place->at, hiaR_take(w, slots, a->ins[2 + i]));
      hiaR_give_up(w, old, a->bases[place->at / sizeof old]);
    } else
      hiaR_store(repr, element + place->at, slots[a->ins[2 + i] & ~HIA_IMAGE_TAKEN]);
  }
  slots[step->to] = array;
  return true;
}

/* ---- entering and leaving ---- */

static inline void reset_counters(hia_frame *f, const hia_section *s) {
  if (HIA_UNLIKELY(s->resets_counters))
    memcpy((char *)hiaR_slots(f) + s->counters_at, s->preload + (s->counters_at - s->preload_at),
           s->counters_size);
}

/* Makes a frame for child number `site` of its parent, without arguments. */
static inline hia_frame *new_frame(hia_worker *w, const hia_section *s, uint32_t site,
                                   uint32_t level, hia_status *status) {
  hia_frame *f = hiaR_frame_take(w, s, status);
  if (HIA_UNLIKELY(!f)) return NULL;
  w->frames++;
  w->firings += s->weight_first;
  f->site = site;
  f->level = level;
  reset_counters(f, s);
  return f;
}

static inline hia_frame *enter(hia_worker *w, hia_frame *parent, uint32_t site,
                               hia_status *status) {
  const hia_child *child = &parent->section->children[site];
  const hia_section *s = child->callee;
  hia_frame *f = new_frame(w, s, site, parent->level + 1, status);
  if (HIA_UNLIKELY(!f)) return NULL;
  f->up.parent = parent;
  hiaR_pass_args(parent, child, hiaR_slots(f), w->is_shared);
  return f;
}

static ALWAYS_INLINE void end_refs(hia_worker *w, hia_frame *f, const hia_section *s) {
  hia_word *slots = hiaR_slots(f);
  for (uint32_t i = 0; i < s->n_more_results; i++) hiaR_share(w, slots[s->more_results[i]]);
  for (uint32_t i = 0; i < s->n_ref_results; i++) slots[s->ref_results[i]] = 0;
  for (uint32_t i = 0; i < s->n_end_refs; i++) {
    hia_word ref = slots[s->end_refs[i].slot];
    slots[s->end_refs[i].slot] = 0;
    hiaR_give_up(w, ref, s->end_refs[i].base);
  }
}

void hiaR_frame_end_refs(hia_worker *w, hia_frame *f) { end_refs(w, f, f->section); }

static ALWAYS_INLINE void leave(hia_worker *w, hia_frame *f, hia_frame *parent,
                                const hia_child *child) {
  const hia_section *s = f->section;
  hia_word *slots = hiaR_slots(f), *to = hiaR_slots(parent);
  for (uint32_t i = 0; i < s->n_results; i++) to[child->outs[i]] = slots[s->results[i]];
  if (s->has_end) end_refs(w, f, s);
  hiaR_frame_free(w, f);
  parent->waiting--;
}

/* Called when all nodes have fired. */
static inline bool has_next_round(const hia_section *s, const hia_word *slots) {
  return s->iterates && slots[s->cond];
}

/* ---- pending children ---- */

static inline void arm(hia_frame *f, uint32_t child) {
  if (HIA_LIKELY(f->section->set_levels == 1))
    f->pending |= (uint64_t)1 << child;
  else
    hiaR_pending_add(f, child);
}

/* Takes the first of the pending children. */
static inline uint32_t take_pending(hia_frame *f) {
  uint32_t child;
  if (HIA_LIKELY(f->section->set_levels == 1)) {
    child = (uint32_t)__builtin_ctzll(f->pending);
    f->pending &= f->pending - 1;
  } else {
    child = hiaR_pending_lowest(f);
    hiaR_pending_remove(f, child);
  }
  return child;
}

static inline bool must_poll(hia_worker *w, const uint32_t *cancelled) {
  return atomic_load_explicit(&w->poll, memory_order_relaxed) |
         __atomic_load_n(cancelled, __ATOMIC_RELAXED);
}

/* The worker descends from f: f is latent if it still has pending children. */
static ALWAYS_INLINE void keep_latent(hia_worker *w, hia_frame *f) {
  uint32_t top = w->latent_top;
  if (f->pending) {
    if (f->latent != HIA_NONE) return;
    if (HIA_UNLIKELY(top == w->latent_cap)) {
      hiaR_latent_add(w, f);
      return;
    }
    w->latent[top] = f;
    f->latent = top;
    w->latent_top = top + 1;
  } else if (f->latent != HIA_NONE) {
    /* Usually it is the newest latent frame, and another stands below it. */
    if (HIA_UNLIKELY(f->latent + 1 != top || top < w->latent_base + 2 || !w->latent[top - 2] ||
                     f->is_woken)) {
      hiaR_latent_remove(w, f);
      return;
    }
    f->latent = HIA_NONE;
    w->latent_top = top - 1;
  }
}

/* Before a child of f is entered, or its next round: what other workers need. */
static inline void attend_to_others(hia_worker *w, hia_frame *f) {
  keep_latent(w, f);
  if (w->latent_top != w->latent_base &&
      atomic_load_explicit(&w->run->n_idle, memory_order_relaxed))
    hiaR_serve_workers(w);
}

static void leave_job(hia_worker *w, hia_frame *f) {
  const hia_section *s = f->section;
  hia_stolen *job = f->up.job;
  for (uint32_t i = 0; i < s->n_results; i++) job->words[i] = hiaR_slots(f)[s->results[i]];
  if (s->n_refs) hiaR_frame_end_refs(w, f);
  if (w->heap.heap) hiaR_local_hand_over(&w->heap);
  hiaR_frame_free(w, f);
  hiaR_stolen_done(w, job);
}

/* ---- the machine ---- */

typedef enum scope {
  ALONE,  /* the run has no other workers */
  SHARED, /* it has */
  ONCE,   /* what can fire now in this frame, and nothing else */
} scope;

/* Returns the steps of the side of a SWITCH that control enters. */
static inline const hia_step *take_side(hia_worker *w, const hia_step *step, bool is_true) {
  w->firings += step->of.branch->go[!is_true].weight;
  return step->of.branch->go[!is_true].steps;
}

/* Counts tokens. True if they were the last; then the counter is as it was before the first. */
static inline bool count_down(hia_word *slots, const hia_step *step) {
  uint8_t *missing = (uint8_t *)slots + step->slot;
  *missing = (uint8_t)(*missing - step->to);
  if (*missing) return false;
  *missing = (uint8_t)step->u.imm;
  return true;
}

/* A handler is a label, and each jumps to the next itself. So the processor predicts the jump by
 * the step that it comes from. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
#define GO_ON goto *handlers[step->op]
#define NEXT                                                                                       \
  do {                                                                                             \
    step++;                                                                                        \
    GO_ON;                                                                                         \
  } while (0)
#define JUMP(to)                                                                                   \
  do {                                                                                             \
    step = (to);                                                                                   \
    GO_ON;                                                                                         \
  } while (0)

/* Continues from f with these steps, until there is nothing left to do for this worker. */
static void run(hia_worker *w, hia_frame *f, const hia_step *step, scope extent) {
#define HIA_STEP(NAME) &&NAME,
  static const void *const all[] = {
#include "runtime/image/step.def"
  };
  /* After a failure: nodes behind `limit` are left out, which come later in sequential order. */
#define HIA_STEP(NAME) &&if_earlier,
  static const void *const earlier[] = {
#include "runtime/image/step.def"
  };
  const bool is_shared = extent == SHARED;
  static const uint32_t never = 0;
  const uint32_t *cancelled = w->run->limits->cancelled ? w->run->limits->cancelled : &never;
  const void *const *handlers = all;
  const hia_step **top = w->ready;
  hia_word *slots;
  uint32_t limit = HIA_NONE;

resume: /* where a failure may be known already */
  limit = atomic_load_explicit(&f->limit, memory_order_relaxed);
  if (HIA_UNLIKELY(limit != HIA_NONE)) handlers = earlier;
fire:
  slots = hiaR_slots(f);
  GO_ON;

if_earlier:
  if (step->index > limit) NEXT;
  goto *all[step->op];

failed:
  limit = step->index;
  handlers = earlier;
  NEXT;

#define HIA_QUICK(NAME, T, R, type, expr)                                                          \
  NAME##_##T : {                                                                                   \
    type a = hiaR_to_##T(slots[step->in[0]]), b = hiaR_to_##T(slots[step->in[1]]);                 \
    slots[step->out] = hiaR_from_##R(expr);                                                        \
    NEXT;                                                                                          \
  }
#define HIA_QUICK_TEST(NAME, T, type, expr)                                                        \
  HIA_QUICK(NAME, T, bool, type, expr)                                                             \
  NAME##_##T##_SWITCH : {                                                                          \
    type a = hiaR_to_##T(slots[step->in[0]]), b = hiaR_to_##T(slots[step->in[1]]);                 \
    bool is_true = (expr);                                                                         \
    slots[step->out] = hiaR_from_bool(is_true);                                                    \
    JUMP(take_side(w, step, is_true));                                                             \
  }
#include "runtime/base/quick.def"

KERNEL: {
  hia_status status = step->of.kernel(slots, step->in, step->out, step->u.imm);
  if (HIA_LIKELY(!status)) NEXT;
  int64_t code = hiaR_kernel_code(status, slots[step->in[0]]);
  hiaR_fail(w, f, step->index, &(hia_cause){.status = status, .code = code});
  goto failed;
}

MOVE:
  slots[step->to] = slots[step->slot];
  NEXT;
SHARE:
  hiaR_share(w, slots[step->slot]);
  slots[step->to] = slots[step->slot];
  NEXT;
TAKE: {
  hia_word ref = slots[step->slot];
  slots[step->slot] = 0;
  slots[step->to] = ref;
  NEXT;
}

CTOR:
  slots[step->to] = hiaR_from_i32((int32_t)hiaR_ctor_of(slots[step->slot]));
  NEXT;
MATCH: {
  int32_t ctor = (int32_t)hiaR_ctor_of(slots[step->in[0]]);
  bool is_true = ctor == hiaR_to_i32(slots[step->in[1]]);
  slots[step->in[2]] = hiaR_from_i32(ctor);
  slots[step->out] = hiaR_from_bool(is_true);
  JUMP(take_side(w, step, is_true));
}
FIELD:
  if (HIA_LIKELY(get(w, slots, step))) NEXT;
  hiaR_fail(w, f, step->index, &(hia_cause){.status = HIA_INTERNAL});
  goto failed;
UNPACK:
  if (HIA_LIKELY(unpack(w, slots, step))) NEXT;
  hiaR_fail(w, f, step->index, &(hia_cause){.status = HIA_INTERNAL});
  goto failed;
MAKE:
  if (HIA_LIKELY(make(w, slots, step))) NEXT;
  hiaR_exhaust(w, f, step->index);
  goto failed;

NEXT_SHARE: {
  hia_word old = slots[step->to], ref = slots[step->slot];
  hiaR_share(w, ref);
  slots[step->to] = ref;
  hiaR_give_up(w, old, (uint32_t)step->u.imm);
  NEXT;
}
NEXT_TAKE: {
  hia_word old = slots[step->to], ref = slots[step->slot];
  slots[step->slot] = 0;
  slots[step->to] = ref;
  hiaR_give_up(w, old, (uint32_t)step->u.imm);
  NEXT;
}
DROP: {
  hia_word old = slots[step->slot];
  slots[step->slot] = 0;
  hiaR_give_up(w, old, (uint32_t)step->u.imm);
  NEXT;
}

LEN:
  slots[step->to] = hiaR_array_len(slots[step->slot]);
  NEXT;
AT:
  if (HIA_LIKELY(read_element(w, f, step))) NEXT;
  goto failed;

SET:
  if (HIA_LIKELY(set_element(w, slots, step))) NEXT;
NODE:
  if (HIA_LIKELY(hiaR_fire_node(w, f, step->of.instr))) NEXT;
  goto failed;

ARM:
  f->pending |= step->u.imm;
  f->waiting += step->to;
  NEXT;
ARM_CHILD:
  hiaR_pending_add(f, step->slot);
  f->waiting++;
  NEXT;
COUNT:
  if (count_down(slots, step)) *++top = step->of.segment;
  NEXT;
LATER:
  *++top = step->of.segment;
  NEXT;
ARM_LAST:
  f->pending |= step->u.imm;
  f->waiting += step->to;
  goto END;
COUNT_LAST:
  if (count_down(slots, step)) JUMP(step->of.segment);
  goto END;
AGAIN:
  reset_counters(f, f->section);
  w->firings += f->section->weight_round;
GO:
  JUMP(step->of.segment);
SWITCH:
  JUMP(take_side(w, step, slots[step->slot] != 0));
SWITCH_LATER:
  *++top = take_side(w, step, slots[step->slot] != 0);
  NEXT;

END:
  if (*top) JUMP(*top--);
  handlers = all;
  if (HIA_UNLIKELY(extent == ONCE)) return;
  if (f->pending) goto descend;
  if (HIA_UNLIKELY(f->waiting)) goto wait;
  if (f->section->iterates && slots[f->section->cond]) goto round;
  if (HIA_UNLIKELY(f->site & HIA_STOLEN)) {
    leave_job(w, f);
    f = NULL;
    goto find_work;
  }
  {
    hia_frame *parent = f->up.parent;
    if (HIA_UNLIKELY(!parent)) {
      hiaR_complete_run(w, f);
      return;
    }
    const hia_child *child = &parent->section->children[f->site];
    leave(w, f, parent, child);
    f = parent;
    step = child->steps;
    goto resume;
  }

wait: /* for other workers, or for a node that has failed */
  if (!is_shared) return;
find_work:
  f = hiaR_find_work(w, f);
  if (!f) return;

descend:
#ifdef HIA_CENSUS
  if (extent == ALONE) hiaR_audit_frames(w);
#endif
  if (HIA_UNLIKELY(must_poll(w, cancelled))) {
    f = hiaR_poll(w, f);
    if (!f && !is_shared) return;
    if (!f) goto find_work;
  }
  uint32_t site = take_pending(f);
  if (is_shared) attend_to_others(w, f);
  if (HIA_UNLIKELY(site == f->section->n_children)) goto begin_round;
  {
    hia_status status;
    hia_frame *inner = enter(w, f, site, &status);
    if (HIA_UNLIKELY(!inner)) {
      hiaR_end_run(w, status, f, site);
      return;
    }
    f = inner;
    step = f->section->steps;
    goto fire;
  }

round:
#ifdef HIA_CENSUS
  if (extent == ALONE) hiaR_audit_frames(w);
#endif
  if (HIA_UNLIKELY(must_poll(w, cancelled))) {
    arm(f, f->section->n_children); /* like a child that comes after all others */
    goto descend;
  }
  if (is_shared) attend_to_others(w, f);
begin_round:
  step = f->section->round;
  goto fire;
}
#pragma GCC diagnostic pop

void hiaR_work(hia_worker *w, hia_frame *f, const hia_step *steps) { run(w, f, steps, SHARED); }
void hiaR_work_alone(hia_worker *w, hia_frame *f, const hia_step *steps) {
  run(w, f, steps, ALONE);
}

/* ---- jobs from and to other workers, and the root ---- */

hia_frame *hiaR_root_enter(hia_worker *w, const hia_section *s, const hia_word *args,
                           hia_status *status) {
  hia_frame *f = new_frame(w, s, 0, 0, status);
  if (!f) return NULL;
  f->up.parent = NULL;
  if (s->n_params) memcpy(hiaR_slots(f), args, s->n_params * sizeof(hia_word));
  /* The references of the arguments are borrowed. */
  for (uint32_t i = 0; i < s->n_ref_params; i++) hiaR_share(w, args[s->refs[i].slot]);
  return f;
}

/* Nothing of f is ready any more: leaves it and the frames around it, as far as they are done.
 * Returns the frame where that ends if it has pending children, else NULL. */
static hia_frame *settle(hia_worker *w, hia_frame *f) {
  for (;;) {
    if (f->pending) return f;
    if (f->waiting) return NULL;
    if (has_next_round(f->section, hiaR_slots(f))) {
      arm(f, f->section->n_children);
      return f;
    }
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
    run(w, parent, child->steps, ONCE);
    f = parent;
  }
}

hia_frame *hiaR_stolen_enter(hia_worker *w, hia_stolen *job, hia_status *status) {
  const hia_section *s = job->frame->section->children[job->site].callee;
  hia_frame *f = new_frame(w, s, job->site | HIA_STOLEN, job->frame->level + 1, status);
  if (!f) return NULL;
  f->up.job = job;
  memcpy(hiaR_slots(f), job->words, s->n_params * sizeof(hia_word));
  run(w, f, s->steps, ONCE);
  return settle(w, f);
}

hia_frame *hiaR_stolen_back(hia_worker *w, hia_stolen *job) {
  hia_frame *f = job->frame;
  const hia_child *child = &f->section->children[job->site];
  for (uint32_t i = 0; i < child->callee->n_results; i++)
    hiaR_slots(f)[child->outs[i]] = job->words[i];
  f->waiting--;
  run(w, f, child->steps, ONCE);
  return settle(w, f);
}
