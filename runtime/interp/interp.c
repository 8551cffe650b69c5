/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The tagged-token interpreter: one worker (docs/interpreter.md).
 *
 * A frame is a tag. A node of it fires when its last token has come; the count of missing tokens
 * is a byte of the frame, found by index. Everything local to a frame fires first, in any order,
 * since it always ends. Calls and loops are only armed by their tokens. When nothing else is left,
 * the first of them in sequential order is entered, depth first. So one worker follows sequential
 * order exactly, and the live frames are those of one chain.
 *
 * Rules for the fast path: no atomic operation except relaxed loads, no lock, no division, no
 * allocation except from the free list. */
#include "runtime/interp/interp.h"
#include "runtime/heap/array.h"

#define ALWAYS_INLINE inline __attribute__((always_inline))

/* Arms child number `child`. */
static inline void arm(hia_frame *f, uint32_t child) {
  if (HIA_LIKELY(f->section->set_levels == 1))
    f->pending |= (uint64_t)1 << child;
  else
    hiaR_pending_add(f, child);
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

/* ---- references ----
 *
 * A slot that holds references owns one: it is dropped when the frame goes, or the round ends. */

static inline void share(hia_worker *w, hia_word ref) { hiaR_dup(ref, w->is_shared); }

static inline void drop(hia_worker *w, hia_word ref, uint32_t base) {
  hiaR_drop(&w->heap, w->run->image->shapes, ref, base, w->is_shared);
}

/* Returns a reference to what the operand refers to, which the caller owns. */
static inline hia_word take(hia_worker *w, hia_word *slots, uint32_t operand) {
  uint32_t slot = operand & ~HIA_IMAGE_TAKEN;
  hia_word ref = slots[slot];
  if (operand & HIA_IMAGE_TAKEN)
    slots[slot] = 0;
  else
    share(w, ref);
  return ref;
}

/* The moves of references stand behind those of scalars. */
static void move_refs(hia_worker *w, hia_word *slots, const hia_move *moves, uint32_t n) {
  for (uint32_t i = 0; i < n; i++) slots[moves[i].to] = take(w, slots, moves[i].from);
}

static inline void drop_slots(hia_worker *w, hia_word *slots, const hia_ref_slot *refs,
                              uint32_t n) {
  for (uint32_t i = 0; i < n; i++) {
    hia_word ref = slots[refs[i].slot];
    slots[refs[i].slot] = 0;
    drop(w, ref, refs[i].base);
  }
}

/* The frame has its arguments, and owns their references. */
static inline void begin_refs(hia_worker *w, hia_frame *f) {
  const hia_section *s = f->section;
  hia_word *slots = hiaR_slots(f);
  for (uint32_t i = s->n_ref_params; i < s->n_refs - s->n_preloaded_refs; i++)
    slots[s->refs[i].slot] = 0;
  move_refs(w, slots, s->ref_enter, s->n_ref_enter);
}

static __attribute__((noinline)) void end_refs(hia_worker *w, hia_frame *f) {
  const hia_section *s = f->section;
  hia_word *slots = hiaR_slots(f);
  for (uint32_t i = 0; i < s->n_more_results; i++) share(w, slots[s->more_results[i]]);
  for (uint32_t i = 0; i < s->n_ref_results; i++) slots[s->ref_results[i]] = 0;
  drop_slots(w, slots, s->end_refs, s->n_end_refs);
}

void hiaR_frame_end_refs(hia_worker *w, hia_frame *f) { end_refs(w, f); }

static void next_refs(hia_worker *w, hia_frame *f) {
  const hia_section *s = f->section;
  hia_word *slots = hiaR_slots(f);
  for (uint32_t i = 0; i < s->n_ref_next; i++) {
    const hia_ref_move *move = &s->ref_next[i];
    hia_word old = slots[move->to];
    slots[move->to] = take(w, slots, move->from);
    drop(w, old, move->base);
  }
  drop_slots(w, slots, s->round_refs, s->n_round_refs);
}

/* Stores the words of n operands, whose places are those of `to`. */
static inline void put_words(hia_worker *w, hia_word *slots, char *to, const hia_word_place *places,
                             const uint32_t *ins, uint32_t n) {
  for (uint32_t i = 0; i < n; i++) {
    bool is_scalar = hiaR_is_scalar(places[i].type);
    hiaR_store((hia_repr)places[i].repr, to + places[i].at,
               is_scalar ? slots[ins[i]] : take(w, slots, ins[i]));
  }
}

/* Makes an object of a constructor with fields. False: no memory. */
static bool make(hia_worker *w, hia_word *slots, const hia_instr *n) {
  const hia_make *m = n->u.make;
  hia_counted *object = hiaR_heap_alloc(&w->heap, m->ctor->layout.size);
  if (!object) return false;
  hiaR_object_begin(object, m->number);
  put_words(w, slots, (char *)object, m->places, m->ins, m->ctor->layout.n);
  slots[n->to] = (uintptr_t)object;
  return true;
}

/* The object's only reference is taken: the words of the fields move. */
static void unpack(hia_worker *w, hia_word *slots, const hia_get *g, hia_counted *object) {
  for (uint32_t i = 0; i < g->n_parts; i++)
    slots[g->parts[i].out] = hiaR_get_word(object, &g->parts[i].place);
  const hia_word *refs = (const hia_word *)(const void *)(object + 1);
  for (uint32_t i = 0; i < g->n_unread; i++)
    drop(w, refs[g->unread[i]], w->run->image->shapes->bases[g->shape->refs + g->unread[i]]);
  hiaR_heap_release(&w->heap, object, g->shape->size);
}

/* False: the value is of another constructor, which only a graph can say that was not made by the
 * frontend. */
static bool get(hia_worker *w, hia_word *slots, const hia_instr *n) {
  const hia_get *g = n->u.get;
  hia_word ref = slots[n->slot];
  hia_counted *object = hiaR_object(ref);
  if (ref < HIA_FIRST_ADDRESS || object->ctor != g->ctor) return false;
  if (n->is_taken) {
    slots[n->slot] = 0;
    /* Acquire, as in hiaR_let_go. */
    if (atomic_load_explicit(&object->count, memory_order_acquire) == 1) {
      unpack(w, slots, g, object);
      return true;
    }
  }
  for (uint32_t i = 0; i < g->n_parts; i++) {
    const hia_part *part = &g->parts[i];
    hia_word word = hiaR_get_word(object, &part->place);
    if (part->place.repr == HIA_REPR_REF) share(w, word);
    slots[part->out] = word;
  }
  if (n->is_taken) drop(w, ref, g->base);
  return true;
}

/* ---- arrays ---- */

static hia_status make_array(hia_worker *w, hia_word *slots, const hia_array_instr *a,
                             hia_word *out) {
  uint32_t n = a->n_ins / a->n_words;
  if (!hiaR_array_new(&w->heap, a->shape, n, out)) return HIA_MEMORY;
  for (uint32_t i = 0; i < n; i++)
    put_words(w, slots, hiaR_array_at(*out, a->shape->size, i), a->places, a->ins + i * a->n_words,
              a->n_words);
  return HIA_OK;
}

static hia_status read_element(hia_worker *w, hia_word *slots, const hia_array_instr *a,
                               hia_word *out, hia_range *range) {
  hia_word array = slots[a->ins[0]];
  int64_t index = hiaR_to_i64(slots[a->ins[1]]);
  if (!hiaR_array_has(array, index)) {
    *range = (hia_range){index, 0, (int64_t)hiaR_array_len(array)};
    return HIA_RANGE;
  }
  const hia_word_place *place = &a->places[a->word];
  hia_repr repr = (hia_repr)place->repr;
  *out = hiaR_load(repr, hiaR_array_at(array, a->shape->size, (uint64_t)index) + place->at);
  if (repr == HIA_REPR_REF) share(w, *out);
  return HIA_OK;
}

static hia_status slice(hia_worker *w, const hia_word *slots, const hia_array_instr *a,
                        hia_word *out, hia_range *range) {
  hia_word array = slots[a->ins[0]];
  int64_t first = hiaR_to_i64(slots[a->ins[1]]), end = hiaR_to_i64(slots[a->ins[2]]);
  if (!hiaR_array_has_slice(array, first, end)) {
    *range = (hia_range){first, end, (int64_t)hiaR_array_len(array)};
    return HIA_RANGE;
  }
  bool has_memory = hiaR_array_slice(&w->heap, a->shape, array, first, end, w->is_shared, out);
  return has_memory ? HIA_OK : HIA_MEMORY;
}

/* If the array is taken and nothing else refers to it, it is changed in place. */
static hia_status set_element(hia_worker *w, hia_word *slots, const hia_array_instr *a,
                              hia_word *out, hia_range *range) {
  const hia_shapes *shapes = w->run->image->shapes;
  hia_word array = slots[a->ins[0] & ~HIA_IMAGE_TAKEN];
  int64_t index = hiaR_to_i64(slots[a->ins[1]]);
  if (!hiaR_array_has(array, index)) {
    *range = (hia_range){index, 0, (int64_t)hiaR_array_len(array)};
    return HIA_RANGE;
  }
  array = take(w, slots, a->ins[0]);
  if (!hiaR_array_own(&w->heap, shapes, a->base, &array, w->is_shared)) {
    drop(w, array, a->base);
    return HIA_MEMORY;
  }
  char *element = hiaR_array_at(array, a->shape->size, (uint64_t)index);
  const hia_word *old = (const hia_word *)(const void *)element;
  for (uint32_t i = 0; i < a->shape->n_refs; i++)
    drop(w, old[i], shapes->bases[a->shape->refs + i]);
  put_words(w, slots, element, a->places, a->ins + 2, a->n_words);
  *out = array;
  return HIA_OK;
}

static hia_status concat(hia_worker *w, const hia_word *slots, const hia_array_instr *a,
                         hia_word *out) {
  enum { FEW = 16 };
  hia_word few[FEW] = {0}, *refs = few;
  const hia_allocator *allocator = w->run->allocator;
  if (a->n_ins > FEW && !(refs = hiaR_alloc(allocator, a->n_ins * sizeof *refs))) return HIA_MEMORY;
  for (uint32_t i = 0; i < a->n_ins; i++) refs[i] = slots[a->ins[i]];
  bool has_memory = hiaR_array_concat(&w->heap, w->run->image->shapes, a->base, refs, a->n_ins,
                                      w->is_shared, out);
  if (refs != few) hiaR_free(allocator, refs, a->n_ins * sizeof *refs);
  return has_memory ? HIA_OK : HIA_MEMORY;
}

static void fail(hia_worker *w, hia_frame *f, uint32_t node, hia_status status, int64_t code) {
  hiaR_fail(w, f, node, &(hia_cause){.status = status, .code = code});
}

/* False: the node has failed, or there is no memory. */
static bool fire_array(hia_worker *w, hia_frame *f, const hia_instr *n) {
  const hia_array_instr *a = n->u.array;
  hia_word *slots = hiaR_slots(f), *out = &slots[n->to];
  hia_cause cause = {.code = n->kind == HIA_KIND_SLICE};
  switch (n->kind) {
  case HIA_KIND_ELEMENTS: cause.status = make_array(w, slots, a, out); break;
  case HIA_KIND_LEN: *out = hiaR_array_len(slots[a->ins[0]]); break;
  case HIA_KIND_AT: cause.status = read_element(w, slots, a, out, &cause.range); break;
  case HIA_KIND_SLICE: cause.status = slice(w, slots, a, out, &cause.range); break;
  case HIA_KIND_SET: cause.status = set_element(w, slots, a, out, &cause.range); break;
  case HIA_KIND_CONCAT: cause.status = concat(w, slots, a, out); break;
  default:
    if (!hiaR_array_new(&w->heap, a->shape, hiaR_to_i64(slots[a->ins[0]]), out))
      cause.status = HIA_MEMORY;
  }
  if (cause.status == HIA_MEMORY)
    hiaR_exhaust(w, f, n->index);
  else if (cause.status)
    hiaR_fail(w, f, n->index, &cause);
  return !cause.status;
}

static size_t left_of(size_t limit, size_t used) {
  return limit == 0 ? SIZE_MAX : limit > used ? limit - used : 0;
}

/* The frame's section has no other node, and was entered in sequential order as a call. */
static hia_status call_host(hia_run *run, hia_word *slots, const hia_host_instr *host) {
  const hia_limits *limits = run->limits;
  size_t bytes = atomic_load_explicit(&run->bytes, memory_order_relaxed);
  hia_nest nest;
  hiaR_nest_enter(&nest, limits->scope, left_of(limits->depth, bytes),
                  left_of(limits->memory, bytes), limits->fuel);
  hia_status status =
      host->caller->call(host->prepared, slots, host->ins, host->outs, run->allocator);
  hiaR_nest_leave(&nest);
  return status;
}

/* Fires a node that is neither a kernel nor a branch nor a call. False: it has failed. */
static bool fire_other(hia_worker *w, hia_frame *f, const hia_instr *n) {
  hia_word *slots = hiaR_slots(f);
  hia_status status;
  switch (n->kind) {
  case HIA_KIND_MOVE: slots[n->to] = slots[n->slot]; return true;
  case HIA_KIND_COUNT: w->counts[n->u.imm]++; return true;
  case HIA_KIND_LEND: *w->run->fuel = slots[n->slot]; return true;
  case HIA_KIND_REGAIN: slots[n->to] = *w->run->fuel; return true;
  case HIA_KIND_FAIL: fail(w, f, n->index, HIA_FAILED, (int64_t)slots[n->slot]); return false;
  case HIA_KIND_HOST:
    status = call_host(w->run, slots, n->u.host);
    if (status) hiaR_fail(w, f, n->index, &(hia_cause){.status = status, .host = n->u.host->name});
    return !status;
  case HIA_KIND_WIDE:
    status = fire_wide(slots, n->u.wide);
    if (status) fail(w, f, n->index, status, hiaR_kernel_code(status, slots[n->u.wide->in[0]]));
    return !status;
  case HIA_KIND_SHARE: {
    hia_word ref = slots[n->slot];
    if (n->is_taken)
      slots[n->slot] = 0;
    else
      share(w, ref);
    slots[n->to] = ref;
    return true;
  }
  case HIA_KIND_MAKE:
    if (make(w, slots, n)) return true;
    hiaR_exhaust(w, f, n->index);
    return false;
  case HIA_KIND_CTOR:
    slots[n->to] = hiaR_from_i32((int32_t)hiaR_ctor_of(slots[n->slot]));
    return true;
  case HIA_KIND_FIELD:
    if (get(w, slots, n)) return true;
    fail(w, f, n->index, HIA_INTERNAL, 0);
    return false;
  case HIA_KIND_JOIN: return true;
  default: return fire_array(w, f, n);
  }
}

/* Sends tokens along edges, and fires what becomes ready, until nothing is. */
static ALWAYS_INLINE void fire(hia_worker *w, hia_frame *f, const hia_edges *edges) {
  hia_word *const slots = hiaR_slots(f);
  const hia_instr **top = w->ready;
  for (;;) {
    const hia_instr *n = edges->first;
    if (HIA_UNLIKELY(edges->n_more)) {
      const hia_instr *const *to = edges->more, *const *direct = to + edges->n_direct,
                             *const *end = to + edges->n_more;
      for (; to < direct; to++) *++top = *to;
      for (; to < end; to++)
        if (--((uint8_t *)slots)[(*to)->counter] == 0) *++top = *to;
    }
    for (;; n = NULL) {
      if (!n && !(n = *top--)) return;
      edges = &n->edges;
      if (HIA_LIKELY(n->kernel)) {
        hia_status status = n->kernel(slots, n->in, n->out, n->u.imm);
        if (HIA_LIKELY(!status)) break;
        fail(w, f, n->index, status, hiaR_kernel_code(status, slots[n->in[0]]));
      } else if (n->kind == HIA_KIND_SWITCH) {
        const hia_side *side = &n->u.branch->side[slots[n->slot] == 0];
        w->firings += side->weight;
        make_moves(slots, side->moves, side->n_moves);
        if (HIA_UNLIKELY(side->n_ref_moves))
          move_refs(w, slots, side->moves + side->n_moves, side->n_ref_moves);
        edges = &side->edges;
        break;
      } else if (n->kind == HIA_KIND_CALL || n->kind == HIA_KIND_LOOP) {
        arm(f, n->slot);
        f->waiting++;
      } else if (fire_other(w, f, n))
        break;
    }
  }
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
    __asm__("" : "+r"(to)); /* otherwise the compiler turns the loop into a call of memcpy */
  }
}

/* Makes a frame for child number `site` of `parent`, without its arguments. */
static inline hia_frame *new_frame(hia_worker *w, const hia_section *s, uint32_t site,
                                   uint32_t level, hia_status *status) {
  hia_frame *f = hiaR_frame_take(w, s, status);
  if (HIA_UNLIKELY(!f)) return NULL;
  w->frames++;
  w->firings += s->weight_first;
  f->section = s;
  f->pending = 0;
  f->site = site;
  f->waiting = 0;
  f->level = level;
  atomic_init(&f->limit, HIA_NONE);
  f->latent = HIA_NONE;
  f->is_woken = false;
  preload(f, s);
  return f;
}

/* Out of line, so that frames without references are entered quickly. */
static __attribute__((noinline)) void enter_refs(hia_worker *w, hia_frame *f, hia_frame *parent,
                                                 const hia_child *child) {
  hiaR_pass_args(parent, child, hiaR_slots(f), w->is_shared);
  begin_refs(w, f);
}

static inline hia_frame *enter(hia_worker *w, hia_frame *parent, uint32_t site,
                               hia_status *status) {
  const hia_child *child = &parent->section->children[site];
  const hia_section *s = child->callee;
  hia_frame *f = new_frame(w, s, site, parent->level + 1, status);
  if (HIA_UNLIKELY(!f)) return NULL;
  f->up.parent = parent;
  hia_word *slots = hiaR_slots(f), *from = hiaR_slots(parent);
  if (HIA_UNLIKELY(s->n_refs))
    enter_refs(w, f, parent, child);
  else
    for (uint32_t i = 0; i < s->n_params; i++) slots[i] = from[child->args[i]];
  make_moves(slots, s->enter, s->n_enter);
  return f;
}

/* Begins the next round of a loop, in the same frame. */
static inline void begin_round(hia_worker *w, hia_frame *f) {
  const hia_section *s = f->section;
  make_moves(hiaR_slots(f), s->next, s->n_next);
  if (HIA_UNLIKELY(s->n_refs)) next_refs(w, f);
  memcpy((char *)hiaR_slots(f) + s->counters_at, s->preload + (s->counters_at - s->preload_at),
         s->counters_size);
  w->firings += s->weight_round;
}

static inline void leave(hia_worker *w, hia_frame *f, hia_frame *parent, const hia_child *child) {
  const hia_section *s = f->section;
  hia_word *slots = hiaR_slots(f), *to = hiaR_slots(parent);
  for (uint32_t i = 0; i < s->n_results; i++) to[child->outs[i]] = slots[s->results[i]];
  if (HIA_UNLIKELY(s->n_refs)) end_refs(w, f);
  hiaR_frame_free(w, f);
  parent->waiting--;
}

/* Called when all nodes have fired. True if there is another round: it is armed like a child that
 * comes after all others. */
static inline bool arm_round(hia_frame *f) {
  const hia_section *s = f->section;
  if (!s->iterates || !hiaR_slots(f)[s->cond]) return false;
  arm(f, s->n_children);
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

static void fire_slowly(hia_worker *w, hia_frame *f, const hia_edges *edges) { fire(w, f, edges); }

hia_frame *hiaR_root_enter(hia_worker *w, const hia_section *s, const hia_word *args,
                           hia_status *status) {
  hia_frame *f = new_frame(w, s, 0, 0, status);
  if (!f) return NULL;
  f->up.parent = NULL;
  if (s->n_params) memcpy(hiaR_slots(f), args, s->n_params * sizeof(hia_word));
  make_moves(hiaR_slots(f), s->enter, s->n_enter);
  /* The references of the arguments are borrowed. */
  for (uint32_t i = 0; i < s->n_ref_params; i++) share(w, args[s->refs[i].slot]);
  begin_refs(w, f);
  return f;
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

/* Nothing of f is ready any more: leaves it and the frames around it, as far as they are done.
 * Returns the frame where that ends if it has pending children, else NULL. */
static hia_frame *settle(hia_worker *w, hia_frame *f) {
  for (;;) {
    if (f->pending) return f;
    if (f->waiting) return NULL;
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
    fire_slowly(w, parent, &child->edges);
    f = parent;
  }
}

hia_frame *hiaR_stolen_enter(hia_worker *w, hia_stolen *job, hia_status *status) {
  const hia_section *s = job->frame->section->children[job->site].callee;
  hia_frame *f = new_frame(w, s, job->site | HIA_STOLEN, job->frame->level + 1, status);
  if (!f) return NULL;
  f->up.job = job;
  memcpy(hiaR_slots(f), job->words, s->n_params * sizeof(hia_word));
  make_moves(hiaR_slots(f), s->enter, s->n_enter);
  begin_refs(w, f);
  fire_slowly(w, f, &s->start);
  return settle(w, f);
}

hia_frame *hiaR_stolen_back(hia_worker *w, hia_stolen *job) {
  hia_frame *f = job->frame;
  const hia_child *child = &f->section->children[job->site];
  for (uint32_t i = 0; i < child->callee->n_results; i++)
    hiaR_slots(f)[child->outs[i]] = job->words[i];
  f->waiting--;
  fire_slowly(w, f, &child->edges);
  return settle(w, f);
}

/* ---- the worker ---- */

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

/* Continues from f, sending tokens along `edges`, until there is nothing left to do here.
 * `is_alone`: the run has no other workers, and what only serves them is left out. */
static ALWAYS_INLINE void work(hia_worker *w, hia_frame *f, const hia_edges *edges,
                               const bool is_alone) {
  static const uint32_t never = 0;
  const uint32_t *cancelled = w->run->limits->cancelled ? w->run->limits->cancelled : &never;
  hia_status status;
  for (;;) {
    fire(w, f, edges);
    if (!f->pending) {
      if (f->waiting) { /* for other workers, or for a node that has failed */
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
      keep_latent(w, f);
      if (w->latent_top != w->latent_base &&
          atomic_load_explicit(&w->run->n_idle, memory_order_relaxed))
        hiaR_serve_workers(w);
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
