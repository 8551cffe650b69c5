/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Frames come from a pool of the worker: free lists by section, over chunks that are carved from
 * one end and freed when the run is over. So a frame that is used again has its constants already.
 * Before a chunk is made, a section gets the free frames of another one whose frames have the same
 * size. A frame that another worker made may end in this worker's lists, which does no harm. */
#include "runtime/base/left.h"
#include "runtime/heap/audit.h"
#include "runtime/interp/interp.h"
#ifdef HIA_CENSUS
#include "runtime/interp/later/later.h"
#endif
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

struct hia_frame_chunk {
  hia_frame_chunk *next;
  size_t size;
#ifdef HIA_CENSUS
  char *end; /* of its frames, once there is a newer chunk */
#endif
};
/* Frames are 16-aligned. */
#define CHUNK_HEADER ((sizeof(hia_frame_chunk) + 15) & ~(size_t)15)

#ifdef HIA_STRESS
enum { FIRST_CHUNK = 1 << 10, LARGEST_CHUNK = 4 << 10 };
#else
enum { FIRST_CHUNK = 16 << 10, LARGEST_CHUNK = 8 << 20 };
#endif

static size_t frame_size(const hia_loaded *image, uint32_t size_class) {
  return sizeof(hia_frame) + image->class_size[size_class];
}

static size_t too_deep(hia_run *run, int64_t code, hia_status *status) {
  atomic_store_explicit(&run->depth_code, code, memory_order_relaxed);
  *status = HIA_DEPTH;
  return 0;
}

/* True if the frames may have `bytes` in all, of which the machine has no more than is left. As in
 * heap.c. */
static bool may_have(hia_run *run, size_t bytes) {
  size_t granted = atomic_load_explicit(&run->granted, memory_order_relaxed);
  if (!run->asks || bytes <= granted) return true;
  size_t held = granted - HIA_FREE_GRANT,
         more = hiaR_grant(held, bytes - HIA_FREE_GRANT, false) - held;
  atomic_fetch_add_explicit(&run->granted, more, memory_order_relaxed);
  return more > 0;
}

/* With a heap, the heap counts all memory. Where it has no more, the run is too deep if most of it
 * are frames, and it was not the caller who has limited it. */
static size_t take_from_heap(hia_run *run, size_t least, size_t taken, hia_status *status) {
  hia_heap *heap = run->limits->heap;
  size_t granted = hiaR_heap_take_bytes(heap, least, taken);
  size_t bytes = atomic_fetch_sub_explicit(&run->bytes, taken - granted, memory_order_relaxed);
  if (granted) return granted;
  size_t all = atomic_load_explicit(&heap->bytes, memory_order_relaxed);
  if (!run->limits->memory && bytes - taken >= all / 2) return too_deep(run, HIA_NOT_LEFT, status);
  *status = HIA_MEMORY;
  return 0;
}

/* Takes bytes from the run's limits: as many as are left of `size`, but at least `least`. */
static size_t take_bytes(hia_run *run, size_t least, size_t size, hia_status *status) {
  size_t used = atomic_load_explicit(&run->bytes, memory_order_relaxed);
  for (;;) {
    size_t most = run->depth < run->memory ? run->depth : run->memory;
    size_t left = most > used ? most - used : 0;
    if (left < least && run->memory >= run->depth)
      return too_deep(run, (int64_t)run->depth, status);
    if (left < least) {
      *status = HIA_MEMORY;
      return 0;
    }
    size_t taken = size < left ? size : left;
    if (!may_have(run, used + taken) && !may_have(run, used + (taken = least)))
      return too_deep(run, HIA_NOT_LEFT, status);
    if (!atomic_compare_exchange_weak_explicit(&run->bytes, &used, used + taken,
                                               memory_order_relaxed, memory_order_relaxed))
      continue;
    return run->limits->heap ? take_from_heap(run, least, taken, status) : taken;
  }
}

void hiaR_frame_prepare(hia_frame *f, const hia_section *s) {
  *f = (hia_frame){.section = s, .latent = HIA_NONE};
  atomic_init(&f->limit, HIA_NONE);
  hia_word *slots = hiaR_slots(f);
  for (uint32_t i = 0; i < s->n_refs; i++) slots[s->refs[i].slot] = 0;
  memcpy((char *)slots + s->preload_at, s->preload, s->preload_size);
}

/* Gives the section the free frames of another one. False: there are none of this size. */
static bool adopt_frames(hia_worker *w, const hia_section *s) {
  const hia_section *sections = w->run->image->sections;
  for (uint32_t i = 0; i < w->run->image->n_sections; i++) {
    if (sections[i].size_class != s->size_class || !w->free[i]) continue;
    w->free[s->number] = w->free[i];
    w->free[i] = NULL;
    return true;
  }
  return false;
}

/* A deep recursion touches its chunks from one end to the other, each page for the first time: in
 * huge pages that takes half the time. What the system cannot do it leaves. */
static void use_huge_pages(hia_frame_chunk *chunk, size_t size) {
  enum { PAGE = 4096, WORTHWHILE = 4 << 20 };
  if (size < WORTHWHILE) return;
  uintptr_t first = ((uintptr_t)chunk + PAGE - 1) & ~(uintptr_t)(PAGE - 1),
            end = ((uintptr_t)chunk + size) & ~(uintptr_t)(PAGE - 1);
  (void)madvise((void *)first, end - first, MADV_HUGEPAGE);
}

hia_frame *hiaR_frame_carve(hia_worker *w, const hia_section *s, hia_status *status) {
  hia_run *run = w->run;
  size_t size = frame_size(run->image, s->size_class);
  if ((size_t)(w->end - w->at) < size) {
    if (adopt_frames(w, s)) return hiaR_frame_take(w, s, status);
    size_t least = size + CHUNK_HEADER;
    size_t wanted = w->chunk_size > least ? w->chunk_size : least;
    size_t taken = take_bytes(run, least, wanted, status) & ~(size_t)15;
    if (!taken) return NULL;
    hia_frame_chunk *chunk = run->allocator->alloc(run->allocator->user, taken);
    if (!chunk) {
      *status = HIA_MEMORY;
      return NULL;
    }
    use_huge_pages(chunk, taken);
    *chunk = (hia_frame_chunk){.next = w->chunks, .size = taken};
#ifdef HIA_CENSUS
    if (w->chunks) w->chunks->end = w->at;
#endif
    w->chunks = chunk;
    w->at = (char *)chunk + CHUNK_HEADER;
    w->end = (char *)chunk + taken;
    if (w->chunk_size < LARGEST_CHUNK) w->chunk_size *= 2;
  }
  hia_frame *f = (hia_frame *)(void *)w->at;
  w->at += size;
  w->carved_frames++;
  w->carved_bytes += size;
  hiaR_frame_prepare(f, s);
  return f;
}

/* ---- the set of pending children ---- */

/* The first word of each level, lowest level first; the highest level is the header's word. */
enum { MAX_LEVELS = 6 };
static uint32_t set_levels(const hia_section *s, uint32_t at[MAX_LEVELS]) {
  uint32_t members = s->n_children + s->iterates, n = 0;
  for (uint32_t level = 0; level + 1 < s->set_levels; level++) {
    at[level] = n;
    members = (members + 63) / 64;
    n += members;
  }
  return s->set_levels;
}

static uint64_t *set_words(hia_frame *f) {
  return (uint64_t *)(void *)((char *)hiaR_slots(f) + f->section->set_at);
}

void hiaR_pending_add(hia_frame *f, uint32_t child) {
  uint32_t at[MAX_LEVELS], levels = set_levels(f->section, at);
  uint64_t *words = set_words(f);
  for (uint32_t level = 0; level + 1 < levels; level++) {
    words[at[level] + child / 64] |= (uint64_t)1 << child % 64;
    child /= 64;
  }
  f->pending |= (uint64_t)1 << child;
}

void hiaR_pending_remove(hia_frame *f, uint32_t child) {
  uint32_t at[MAX_LEVELS], levels = set_levels(f->section, at);
  uint64_t *words = set_words(f);
  for (uint32_t level = 0; level + 1 < levels; level++) {
    if (words[at[level] + child / 64] &= ~((uint64_t)1 << child % 64)) return;
    child /= 64;
  }
  f->pending &= ~((uint64_t)1 << child);
}

uint32_t hiaR_pending_lowest(hia_frame *f) {
  uint32_t at[MAX_LEVELS], levels = set_levels(f->section, at);
  uint64_t *words = set_words(f);
  uint32_t child = (uint32_t)__builtin_ctzll(f->pending);
  for (uint32_t level = levels - 1; level-- > 0;)
    child = child * 64 + (uint32_t)__builtin_ctzll(words[at[level] + child]);
  return child;
}

/* ---- audits ---- */

#ifdef HIA_CENSUS
/* Frames that are not in use hold no references, so it does not matter which ones are. Returns the
 * number of frames. */
static uint64_t find_roots(const hia_worker *w, hia_audit *a) {
  uint64_t n = 0;
  for (hia_frame_chunk *chunk = w->chunks; chunk; chunk = chunk->next) {
    char *end = chunk == w->chunks ? w->at : chunk->end, *at = (char *)chunk + CHUNK_HEADER;
    while (at < end) {
      hia_frame *f = (hia_frame *)(void *)at;
      const hia_section *s = f->section;
      for (uint32_t i = 0; i < s->n_refs; i++)
        hiaR_audit_root(a, hiaR_slots(f)[s->refs[i].slot], s->refs[i].base);
      at += frame_size(w->run->image, s->size_class);
      n++;
    }
  }
  return n;
}

void hiaR_audit_frames(hia_worker *w) {
  if (!w->heap.heap || w->until_audit-- > 0) return;
  /* What is pending is referred to by what is noted, and has no elements. */
  if (w->later && w->run->limits->firings->has_pending(w->later)) return;
  const hia_run *run = w->run;
  hia_audit *a = hiaR_audit_new(run->image->shapes, &run->image->types);
  uint64_t n_frames = a ? find_roots(w, a) : 0;
  /* Objects that a failed node has taken are lost. */
  bool is_exact = !atomic_load(&run->epoch) && !run->resource;
  const char *wrong = a ? hiaR_audit_wrong(a, is_exact, is_exact ? w->heap.heap : NULL) : NULL;
  if (wrong) {
    fprintf(stderr, "hiaton: in a run of the interpreter: %s\n", wrong);
    abort();
  }
  /* So that audits take a part of the run's time, and not most of it. */
  w->until_audit = 16 + 8 * (n_frames + (a ? hiaR_audit_objects(a) : 0));
  hiaR_audit_free(a);
}
#endif

/* ---- workers ---- */

hia_worker *hiaR_worker_new(hia_run *run, unsigned number) {
  const hia_allocator *a = run->allocator;
  /* The allocator aligns to 16 bytes; the shared part requires a cache line of its own. */
  char *block = hiaR_alloc(a, sizeof(hia_worker) + 64);
  if (!block) return NULL;
  hia_worker *w = (hia_worker *)(((uintptr_t)block + 64) & ~(uintptr_t)63);
  *w = (hia_worker){.run = run,
                    .number = number,
                    .chunk_size = FIRST_CHUNK,
                    .n_free_lists = run->image->n_sections};
  w->block = block;
  w->free = hiaR_alloc(a, w->n_free_lists * sizeof(hia_frame *));
  w->ready = hiaR_alloc(a, ((size_t)run->image->max_nodes + 2) * sizeof(hia_action *));
  if (w->free && w->ready) return w;
  hiaR_worker_free(w);
  return NULL;
}

void hiaR_worker_free(hia_worker *w) {
  if (!w) return;
  const hia_allocator *a = w->run->allocator;
  for (hia_frame_chunk *c = w->chunks; c;) {
    hia_frame_chunk *next = c->next;
    hiaR_free(a, c, c->size);
    c = next;
  }
  for (hia_stolen *j = w->handed_out; j;) {
    hia_stolen *older = j->older;
    hiaR_free(a, j, j->size);
    j = older;
  }
  hiaR_free(a, w->free, w->n_free_lists * sizeof(hia_frame *));
  hiaR_free(a, w->ready, ((size_t)w->run->image->max_nodes + 2) * sizeof(hia_action *));
  hiaR_free(a, w->latent, w->latent_cap * sizeof(hia_frame *));
  hiaR_free(a, w->block, sizeof(hia_worker) + 64);
}
