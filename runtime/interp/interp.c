/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The tagged-token interpreter: one worker (docs/interpreter.md).
 *
 * A frame is a tag. Its nodes fire in stretches, whose order was computed when the image was loaded
 * (runtime/image/schedule.c); a stretch for which several others are waited for counts their tokens
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
  return (hia_word *)(void *)((char *)(uintptr_t)object + part->layout_word.at);
}

/* Writes the words of an object that are no references. */
static ALWAYS_INLINE void write_scalars(const hia_word *slots, hia_counted *object,
                                        const hia_parts *parts) {
  const hia_part *part = parts->taken;
  for (; part < parts->ints; part++)
    hiaR_store(HIA_REPR_I32, word_at(object, part), slots[part->slot]);
  for (; part < parts->bools; part++)
    hiaR_store(HIA_REPR_BOOL, word_at(object, part), slots[part->slot]);
  if (HIA_LIKELY(part == parts->end)) return;
  for (; part < parts->wide; part++) *word_at(object, part) = slots[part->slot];
  for (; part < parts->end; part++)
    hiaR_store((hia_repr)part->layout_word.repr, word_at(object, part), slots[part->slot]);
}

/* Makes an object of a constructor with fields. False: no memory. */
static inline bool make(hia_worker *w, hia_word *slots, const hia_action *action) {
  const hia_make *m = action->u.make;
  hia_counted *object = hiaR_heap_take(&w->heap, m->size_class, m->size);
  if (HIA_UNLIKELY(!object)) return false;
  hiaR_object_begin(object, m->number);
  const hia_part *part = m->parts.list;
  for (; part < m->parts.refs; part++) {
    hiaR_retain(w, slots[part->slot]);
    *word_at(object, part) = slots[part->slot];
  }
  for (; part < m->parts.taken; part++) {
    *word_at(object, part) = slots[part->slot];
    slots[part->slot] = 0;
  }
  if (part < m->parts.end) write_scalars(slots, object, &m->parts);
  slots[action->to] = (uintptr_t)object;
  return true;
}

/* Reads the words of an object that are no references. */
static ALWAYS_INLINE void read_scalars(hia_word *slots, const hia_counted *object,
                                       const hia_parts *parts) {
  const hia_part *part = parts->refs;
  if (part == parts->end) return;
  for (; part < parts->ints; part++)
    slots[part->slot] = hiaR_load(HIA_REPR_I32, word_at(object, part));
  for (; part < parts->bools; part++)
    slots[part->slot] = hiaR_load(HIA_REPR_BOOL, word_at(object, part));
  if (HIA_LIKELY(part == parts->end)) return;
  for (; part < parts->wide; part++) slots[part->slot] = *word_at(object, part);
  for (; part < parts->end; part++) slots[part->slot] = hiaR_get_word(object, &part->layout_word);
}

/* Reads words of an object. `moves`: its references become those of the slots. */
static ALWAYS_INLINE void read_parts(hia_worker *w, hia_word *slots, const hia_counted *object,
                                     const hia_parts *parts, bool moves) {
  for (const hia_part *part = parts->list; part < parts->refs; part++) {
    hia_word ref = *word_at(object, part);
    if (!moves) hiaR_retain(w, ref);
    slots[part->slot] = ref;
  }
  read_scalars(slots, object, parts);
}

/* The object of which a FIELD reads. NULL: the value is of another constructor, which only a graph
 * can say that was not made by the frontend. */
static inline hia_counted *object_of(hia_word ref, const hia_get *g) {
  hia_counted *object = hiaR_object(ref);
  return ref < HIA_FIRST_ADDRESS || object->ctor != g->ctor ? NULL : object;
}

static inline bool get(hia_worker *w, hia_word *slots, const hia_action *action) {
  const hia_get *g = action->u.get;
  const hia_counted *object = object_of(slots[action->slot], g);
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
static inline bool unpack(hia_worker *w, hia_word *slots, const hia_action *action) {
  const hia_get *g = action->u.get;
  hia_word ref = slots[action->slot];
  hia_counted *object = object_of(ref, g);
  if (HIA_UNLIKELY(!object)) return false;
  slots[action->slot] = 0;
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

/* Unpacks one reference, which goes to action->to, and of i32s, bools and wide words. */
static inline bool unpack_one(hia_worker *w, hia_word *slots, const hia_action *action) {
  const hia_get *g = action->u.get;
  hia_word ref = slots[action->slot];
  hia_counted *object = object_of(ref, g);
  if (HIA_UNLIKELY(!object)) return false;
  slots[action->slot] = 0;
  const hia_part *part = g->parts.list;
  hia_word one = *word_at(object, part);
  read_scalars(slots, object, &g->parts);
  slots[action->to] = one;
  /* Acquire, as in hiaR_let_go. */
  if (atomic_load_explicit(&object->count, memory_order_acquire) == 1) {
    if (g->n_unread) drop_unread(w, g, object);
    hiaR_heap_put(&w->heap, (unsigned)g->size_class, object, g->shape->size);
  } else {
    hiaR_retain(w, one);
    hiaR_give_up(w, ref, g->base);
  }
  return true;
}

/* ---- arrays ---- */

/* False: there is no such element. */
static ALWAYS_INLINE bool read_element(hia_worker *w, hia_frame *f, const hia_action *action,
                                       hia_repr repr) {
  const hia_operation_instr *a = action->u.operation;
  hia_word *slots = hiaR_slots(f), array = slots[action->slot];
  int64_t index = hiaR_to_i64(slots[a->ins[1]]);
  if (HIA_UNLIKELY(!hiaR_array_has(array, index))) {
    hia_range range = {index, 0, (int64_t)hiaR_array_len(array)};
    hiaR_fail(w, f, action->index, &(hia_cause){.status = HIA_RANGE, .range = range});
    return false;
  }
  const char *at = hiaR_array_at(array, a->size, (uint64_t)index) + a->layout_word.at;
  hia_word word = hiaR_load(repr, at);
  if (repr == HIA_REPR_REF) hiaR_retain(w, word);
  slots[action->to] = word;
  return true;
}

/* Changes an element in place: its words become those of the operands, which are `repr` or, with
 * HIA_N_REPRS, as the layout says. False: it is not there, or the array cannot be changed. */
static ALWAYS_INLINE bool set_element(hia_worker *w, hia_word *slots, const hia_action *action,
                                      hia_repr all) {
  const hia_operation_instr *a = action->u.operation;
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
  const uint32_t *in = a->ins + 2;
  for (const hia_layout_word *layout_word = a->o.layout_words, *end = layout_word + a->o.n_words;
       layout_word < end; layout_word++, in++) {
    hia_repr repr = all == HIA_N_REPRS ? (hia_repr)layout_word->repr : all;
    if (repr == HIA_REPR_REF) {
      hia_word old = hiaR_load(repr, element + layout_word->at);
      hiaR_store(repr, element + layout_word->at, hiaR_take(w, slots, *in));
      hiaR_give_up(w, old, a->bases[layout_word->at / sizeof old]);
    } else
      hiaR_store(repr, element + layout_word->at, slots[*in & ~HIA_IMAGE_TAKEN]);
  }
  slots[action->to] = array;
  return true;
}

/* ---- entering and leaving ---- */

static inline void reset_counters(hia_frame *f, const hia_section *s) {
  if (HIA_UNLIKELY(s->resets_counters))
    memcpy((char *)hiaR_slots(f) + s->counters_at, s->preload + (s->counters_at - s->preload_at),
           s->counters_size);
}

/* Makes a frame without arguments. */
static inline hia_frame *new_frame(hia_worker *w, const hia_section *s, uint32_t level,
                                   hia_status *status) {
  hia_frame *f = hiaR_frame_take(w, s, status);
  if (HIA_UNLIKELY(!f)) return NULL;
  w->frames++;
  w->firings += s->weight_first;
  f->level = level & INT32_MAX;
  f->is_woken = false;
  reset_counters(f, s);
  return f;
}

static inline hia_frame *enter(hia_worker *w, hia_frame *parent, const hia_child *child,
                               hia_status *status) {
  hia_frame *f = new_frame(w, child->callee, parent->level + 1, status);
  if (HIA_UNLIKELY(!f)) return NULL;
  f->child = child;
  f->up.parent = parent;
  hiaR_pass_args(parent, child, hiaR_slots(f), w->is_shared);
  return f;
}

/* ---- calls without a frame ---- */

static inline hia_word value_of(const hia_word *slots, hia_leaf_value value) {
  return value.slot == HIA_NONE ? value.word : slots[value.slot];
}

/* The test with which the callee's frame would begin. */
static inline bool passes(const hia_leaf *leaf, hia_word a, hia_word b) {
  if (leaf->is_match) a = hiaR_ctor_of(a);
  return leaf->is_less ? (int64_t)a < (int64_t)b : a == b;
}

/* True if the call is done. Else *is_other_side says whether the frame begins with the leaf's other
 * actions.
 */
static inline bool call_leaf(hia_worker *w, hia_frame *f, const hia_child *child,
                             bool *is_other_side) {
  const hia_leaf *leaf = child->leaf;
  hia_word *slots = hiaR_slots(f), a = value_of(slots, leaf->a);
  *is_other_side = passes(leaf, a, value_of(slots, leaf->b)) != leaf->is_if;
  if (*is_other_side || (leaf->is_match && a >= HIA_FIRST_ADDRESS)) return false;
  hia_word result = value_of(slots, leaf->result);
  if (leaf->shares) hiaR_retain(w, result);
  for (uint32_t i = 0; i < child->n_takes; i++) slots[child->takes[i]] = 0;
  slots[child->first_out] = result;
  w->frames++;
  w->firings += leaf->weight;
  f->waiting--;
  return true;
}

static ALWAYS_INLINE void end_refs(hia_worker *w, hia_frame *f, const hia_section *s) {
  hia_word *slots = hiaR_slots(f);
  for (uint32_t i = 0; i < s->n_more_results; i++) hiaR_retain(w, slots[s->more_results[i]]);
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
  if (HIA_LIKELY(s->n_results == 1))
    to[child->first_out] = slots[s->first_result];
  else
    for (uint32_t i = 0; i < s->n_results; i++) to[child->outs[i]] = slots[s->results[i]];
  if (s->has_one_end)
    slots[s->first_result] = 0;
  else if (s->has_end)
    end_refs(w, f, s);
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

/* Returns the actions of the side of a SWITCH that control enters. */
static inline const hia_action *take_side(hia_worker *w, const hia_action *action, bool is_true) {
  w->firings += action->of.branch->go[!is_true].weight;
  return action->of.branch->go[!is_true].actions;
}

/* Counts tokens. True if they were the last; then the counter is as it was before the first. */
static inline bool count_down(hia_word *slots, const hia_action *action) {
  uint8_t *missing = (uint8_t *)slots + action->slot;
  *missing = (uint8_t)(*missing - action->to);
  if (*missing) return false;
  *missing = (uint8_t)action->u.imm;
  return true;
}

/* A handler is a label, and each jumps to the next itself. So the processor predicts the jump by
 * the action that it comes from. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
#define GO_ON goto *handlers[action->op]
#define NEXT                                                                                       \
  do {                                                                                             \
    action++;                                                                                      \
    GO_ON;                                                                                         \
  } while (0)
/* Control enters a side of a SWITCH. A branch of C is predicted sooner than a jump by a table. */
#define BRANCH(is_true)                                                                            \
  do {                                                                                             \
    if (is_true) JUMP(take_side(w, action, true));                                                 \
    JUMP(take_side(w, action, false));                                                             \
  } while (0)
#define JUMP(to)                                                                                   \
  do {                                                                                             \
    action = (to);                                                                                 \
    GO_ON;                                                                                         \
  } while (0)

#ifdef HIA_CENSUS
#define AUDIT                                                                                      \
  if (!is_shared) hiaR_audit_frames(w)
#else
#define AUDIT
#endif

/* Continues from f with these actions, until there is nothing left to do for this worker. */
static void run(hia_worker *w, hia_frame *f, const hia_action *action, bool is_shared) {
#define HIA_ACTION(NAME) &&NAME,
  static const void *const all[] = {
#include "runtime/image/action.def"
  };
  /* After a failure: nodes behind `limit` are left out, which come later in sequential order. */
#define HIA_ACTION(NAME) &&if_earlier,
  static const void *const earlier[] = {
#include "runtime/image/action.def"
  };
  static const uint32_t never = 0;
  const uint32_t *cancelled = w->run->limits->cancelled ? w->run->limits->cancelled : &never;
  const void *const *handlers = all;
  const hia_action **top = w->ready;
  const hia_child *child;
  hia_word *slots;
  uint32_t limit = HIA_NONE;

resume: /* where a failure may be known already */
  slots = hiaR_slots(f);
  limit = atomic_load_explicit(&f->limit, memory_order_relaxed);
  if (HIA_UNLIKELY(limit != HIA_NONE)) {
    handlers = earlier;
    GO_ON;
  }
fire:
  slots = hiaR_slots(f);
  handlers = all;
  GO_ON;

if_earlier:
  if (action->op == HIA_ACTION_ROUND || action->op == HIA_ACTION_ROUND_AGAIN) goto END;
  if (action->index > limit) NEXT;
  goto *all[action->op];

failed:
  limit = action->index;
  handlers = earlier;
  NEXT;

#define HIA_QUICK(NAME, T, R, type, expr)                                                          \
  NAME##_##T : {                                                                                   \
    type a = hiaR_to_##T(slots[action->in[0]]), b = hiaR_to_##T(slots[action->in[1]]);             \
    slots[action->out] = hiaR_from_##R(expr);                                                      \
    NEXT;                                                                                          \
  }
#define HIA_QUICK_TEST(NAME, T, type, expr)                                                        \
  HIA_QUICK(NAME, T, bool, type, expr)                                                             \
  NAME##_##T##_SWITCH : {                                                                          \
    type a = hiaR_to_##T(slots[action->in[0]]), b = hiaR_to_##T(slots[action->in[1]]);             \
    bool is_true = (expr);                                                                         \
    slots[action->out] = hiaR_from_bool(is_true);                                                  \
    BRANCH(is_true);                                                                               \
  }
#include "runtime/base/quick.def"
#define FIELD_OF_ONE(REPR)                                                                         \
  do {                                                                                             \
    const hia_get *g = action->u.get;                                                              \
    const hia_counted *object = object_of(slots[action->slot], g);                                 \
    if (HIA_UNLIKELY(!object)) goto no_field;                                                      \
    hia_word word = hiaR_load(REPR, word_at(object, g->parts.list));                               \
    if ((REPR) == HIA_REPR_REF) hiaR_retain(w, word);                                              \
    slots[action->to] = word;                                                                      \
    NEXT;                                                                                          \
  } while (0)

KERNEL: {
  hia_status status = action->of.kernel(slots, action->in, action->out, action->u.imm);
  if (HIA_LIKELY(!status)) NEXT;
  int64_t code = hiaR_kernel_code(status, slots[action->in[0]]);
  hiaR_fail(w, f, action->index, &(hia_cause){.status = status, .code = code});
  goto failed;
}

MOVE:
  slots[action->to] = slots[action->slot];
  NEXT;
SHARE:
  hiaR_retain(w, slots[action->slot]);
  slots[action->to] = slots[action->slot];
  NEXT;
TAKE: {
  hia_word ref = slots[action->slot];
  slots[action->slot] = 0;
  slots[action->to] = ref;
  NEXT;
}

CTOR:
  slots[action->to] = hiaR_from_i32((int32_t)hiaR_ctor_of(slots[action->slot]));
  NEXT;
MATCH: {
  bool is_true = hiaR_ctor_of(slots[action->slot]) == (uint32_t)action->u.imm;
  slots[action->to] = hiaR_from_bool(is_true);
  BRANCH(is_true);
}
FIELD:
  if (HIA_LIKELY(get(w, slots, action))) NEXT;
no_field:
  hiaR_fail(w, f, action->index, &(hia_cause){.status = HIA_INTERNAL});
  goto failed;
FIELD_REF:
  FIELD_OF_ONE(HIA_REPR_REF);
FIELD_INT:
  FIELD_OF_ONE(HIA_REPR_I32);
FIELD_BOOL:
  FIELD_OF_ONE(HIA_REPR_BOOL);
UNPACK_ONE:
  if (HIA_LIKELY(unpack_one(w, slots, action))) NEXT;
  goto no_field;
UNPACK:
  if (HIA_LIKELY(unpack(w, slots, action))) NEXT;
  goto no_field;
MAKE:
  if (HIA_UNLIKELY(!make(w, slots, action))) {
    hiaR_end_at(w, HIA_MEMORY, f, action->index);
    goto failed;
  }
  if (hiaR_local_is_due(&w->heap)) hiaR_samples_took(w, f, action->index);
  NEXT;

NEXT_SHARE: {
  hia_word old = slots[action->to], ref = slots[action->slot];
  hiaR_retain(w, ref);
  slots[action->to] = ref;
  hiaR_give_up(w, old, (uint32_t)action->u.imm);
  NEXT;
}
NEXT_TAKE: {
  hia_word old = slots[action->to], ref = slots[action->slot];
  slots[action->slot] = 0;
  slots[action->to] = ref;
  hiaR_give_up(w, old, (uint32_t)action->u.imm);
  NEXT;
}
DROP: {
  hia_word old = slots[action->slot];
  slots[action->slot] = 0;
  hiaR_give_up(w, old, (uint32_t)action->u.imm);
  NEXT;
}

LEN:
  slots[action->to] = hiaR_array_len(slots[action->slot]);
  NEXT;
AT:
  if (HIA_LIKELY(read_element(w, f, action, (hia_repr)action->u.operation->layout_word.repr))) NEXT;
  goto failed;
AT_INT:
  if (HIA_LIKELY(read_element(w, f, action, HIA_REPR_I32))) NEXT;
  goto failed;
AT_BYTE:
  if (HIA_LIKELY(read_element(w, f, action, HIA_REPR_BYTE))) NEXT;
  goto failed;

SET:
  if (HIA_LIKELY(set_element(w, slots, action, HIA_N_REPRS))) NEXT;
  goto set_slowly;
SET_INT:
  if (HIA_LIKELY(set_element(w, slots, action, HIA_REPR_I32))) NEXT;
  goto set_slowly;
SET_BYTE:
  if (HIA_LIKELY(set_element(w, slots, action, HIA_REPR_BYTE))) NEXT;
set_slowly: {
  const hia_instr *node = action->of.instr;
  if (HIA_UNLIKELY(!hiaR_fire_node(w, f, node))) goto failed;
  hia_word array = slots[node->to];
  slots[node->to] = 0;
  slots[action->to] = array;
  NEXT;
}
NODE:
  if (HIA_LIKELY(hiaR_fire_node(w, f, action->of.instr))) NEXT;
  goto failed;

ARM:
  f->pending |= action->u.imm;
  f->waiting = (f->waiting + action->to) & INT32_MAX;
  NEXT;
ARM_CHILD:
  hiaR_pending_add(f, action->slot);
  f->waiting++;
  NEXT;
COUNT:
  if (count_down(slots, action)) *++top = action->of.stretch;
  NEXT;
LATER:
  *++top = action->of.stretch;
  NEXT;
ARM_LAST:
  f->waiting = (f->waiting + action->to) & INT32_MAX;
  if (HIA_LIKELY(!f->pending && !*top && !must_poll(w, cancelled))) {
    f->pending = action->u.imm & (action->u.imm - 1);
    child = action->of.child;
    goto enter_child;
  }
  f->pending |= action->u.imm;
  goto END;
COUNT_LAST:
  if (count_down(slots, action)) JUMP(action->of.stretch);
  goto END;
ROUND:
  if (HIA_UNLIKELY(*top || must_poll(w, cancelled))) goto END;
  AUDIT;
  if (is_shared) attend_to_others(w, f);
  JUMP(action->of.stretch);
ROUND_AGAIN:
  if (HIA_UNLIKELY(*top || must_poll(w, cancelled))) goto END;
  AUDIT;
  if (is_shared) attend_to_others(w, f);
  w->firings += action->u.imm;
  JUMP(action->of.stretch);
AGAIN:
  reset_counters(f, f->section);
  w->firings += f->section->weight_round;
GO:
  JUMP(action->of.stretch);
SWITCH:
  BRANCH(slots[action->slot] != 0);
SWITCH_LATER:
  *++top = take_side(w, action, slots[action->slot] != 0);
  NEXT;

END:
  if (*top) JUMP(*top--);
  if (f->waiting) goto wait;
  if (has_next_round(f->section, slots)) goto round;
  child = f->child;
  if (HIA_UNLIKELY(!child)) goto leave_all;
  {
    hia_frame *parent = f->up.parent;
    leave(w, f, parent, child);
    f = parent;
    action = child->actions;
    goto resume;
  }

leave_all: /* of the chain */
  if (!hiaR_is_stolen(f)) {
    hiaR_complete_run(w, f);
    return;
  }
  leave_job(w, f);
  f = NULL;
  goto find_work;

STOP: /* below what is ready */
  *w->ready = NULL;
  return;

wait:
  if (HIA_LIKELY(f->pending)) goto descend;
  /* The frame waits for other workers, or for a node that has failed. */
  if (!is_shared) return;
find_work:
  f = hiaR_find_work(w, f);
  if (!f) return;

descend:
  if (HIA_UNLIKELY(must_poll(w, cancelled))) {
    f = hiaR_poll(w, f);
    if (!f && !is_shared) return;
    if (!f) goto find_work;
  }
  {
    uint32_t site = take_pending(f);
    child = &f->section->children[site];
    if (HIA_LIKELY(site != f->section->n_children)) goto enter_child;
  }
  if (is_shared) attend_to_others(w, f);
  goto begin_round;

enter_child:
  AUDIT;
  if (is_shared) attend_to_others(w, f);
  action = child->callee->actions;
  if (child->leaf) {
    bool is_other;
    if (call_leaf(w, f, child, &is_other)) {
      action = child->actions;
      goto resume;
    }
    if (HIA_LIKELY(is_other)) {
      action = child->leaf->other;
      w->firings += child->leaf->other_weight;
    }
  }
  {
    hia_status status;
    hia_frame *inner = enter(w, f, child, &status);
    if (HIA_UNLIKELY(!inner)) {
      hiaR_end_run(w, status, f, child->instr->slot);
      return;
    }
    f = inner;
    goto fire;
  }

round:
  AUDIT;
  if (HIA_UNLIKELY(must_poll(w, cancelled))) {
    arm(f, f->section->n_children); /* like a child that comes after all others */
    goto descend;
  }
  if (is_shared) attend_to_others(w, f);
begin_round:
  action = f->section->round;
  goto fire;
}
#pragma GCC diagnostic pop

void hiaR_work_shared(hia_worker *w, hia_frame *f, const hia_action *actions) {
  run(w, f, actions, true);
}
void hiaR_work_alone(hia_worker *w, hia_frame *f, const hia_action *actions) {
  run(w, f, actions, false);
}

/* ---- jobs from and to other workers, and the root ---- */

/* Fires what can fire now in this frame, and nothing else. */
static void run_once(hia_worker *w, hia_frame *f, const hia_action *actions) {
  static const hia_action stop = {.op = HIA_ACTION_STOP};
  *w->ready = &stop;
  run(w, f, actions, true);
}

hia_frame *hiaR_root_enter(hia_worker *w, const hia_section *s, const hia_word *args,
                           hia_status *status) {
  hia_frame *f = new_frame(w, s, 0, status);
  if (!f) return NULL;
  f->child = NULL;
  f->up.parent = NULL;
  if (s->n_params) memcpy(hiaR_slots(f), args, s->n_params * sizeof(hia_word));
  /* The references of the arguments are borrowed. */
  for (uint32_t i = 0; i < s->n_ref_params; i++) hiaR_retain(w, args[s->refs[i].slot]);
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
    if (hiaR_is_stolen(f)) {
      leave_job(w, f);
      return NULL;
    }
    hia_frame *parent = f->up.parent;
    if (!parent) {
      hiaR_complete_run(w, f);
      return NULL;
    }
    const hia_child *child = f->child;
    leave(w, f, parent, child);
    run_once(w, parent, child->actions);
    f = parent;
  }
}

hia_frame *hiaR_stolen_enter(hia_worker *w, hia_stolen *job, hia_status *status) {
  const hia_section *s = job->frame->section->children[job->site].callee;
  hia_frame *f = new_frame(w, s, job->frame->level + 1, status);
  if (!f) return NULL;
  f->child = NULL;
  f->up.job = job;
  memcpy(hiaR_slots(f), job->words, s->n_params * sizeof(hia_word));
  run_once(w, f, s->actions);
  return settle(w, f);
}

hia_frame *hiaR_stolen_back(hia_worker *w, hia_stolen *job) {
  hia_frame *f = job->frame;
  const hia_child *child = &f->section->children[job->site];
  for (uint32_t i = 0; i < child->callee->n_results; i++)
    hiaR_slots(f)[child->outs[i]] = job->words[i];
  f->waiting--;
  run_once(w, f, child->actions);
  return settle(w, f);
}
