/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
#include "runtime/run/events.h"

hia_timeline *hiaR_timeline_new(const hia_allocator *allocator, size_t events) {
  hia_timeline *timeline = hiaR_alloc(allocator, sizeof *timeline);
  if (!timeline) return NULL;
  timeline->allocator = *allocator;
  timeline->ring_size = 1;
  while (timeline->ring_size < events && timeline->ring_size <= SIZE_MAX / 4 / sizeof(hia_event))
    timeline->ring_size *= 2;
  timeline->made_at = hiaR_now();
  pthread_mutex_init(&timeline->lock, NULL);
  return timeline;
}

static size_t ring_bytes(const hia_timeline *timeline) {
  return sizeof(hia_ring) + timeline->ring_size * sizeof(hia_event);
}

void hiaR_timeline_free(hia_timeline *timeline) {
  if (!timeline) return;
  hia_allocator allocator = timeline->allocator, *a = &allocator;
  while (timeline->rings) {
    hia_ring *ring = timeline->rings;
    timeline->rings = ring->next;
    hiaR_free(a, ring, ring_bytes(timeline));
  }
  for (uint32_t i = 0; i < timeline->n_names; i++)
    hiaR_free(a, timeline->names[i], strlen(timeline->names[i]) + 1);
  hiaR_free(a, timeline->names, timeline->cap_names * sizeof *timeline->names);
  hiaR_free(a, timeline->spans, timeline->cap_spans * sizeof *timeline->spans);
  hiaR_free(a, timeline->callees, timeline->cap_callees * sizeof *timeline->callees);
  pthread_mutex_destroy(&timeline->lock);
  hiaR_free(a, timeline, sizeof *timeline);
}

bool hiaR_timeline_open(hia_timeline *timeline, bool is_reader) {
  uint32_t users = atomic_load(&timeline->users);
  do
    if (is_reader ? users != 0 : users >= HIA_TIMELINE_READING - 1) return false;
  while (!atomic_compare_exchange_weak(&timeline->users, &users,
                                       is_reader ? HIA_TIMELINE_READING : users + 1));
  return true;
}

void hiaR_timeline_close(hia_timeline *timeline, bool is_reader) {
  if (is_reader)
    atomic_store(&timeline->users, 0);
  else
    atomic_fetch_sub(&timeline->users, 1);
}

/* Makes room for one more element in an array of n. Returns the array, or NULL when out of memory.
 */
static void *make_room(const hia_allocator *a, void *array, size_t elem, uint32_t n,
                       uint32_t *cap) {
  if (n < *cap) return array;
  if (*cap > UINT32_MAX / 2) return NULL;
  uint32_t wanted = *cap ? *cap * 2 : 16;
  void *grown = hiaR_alloc(a, wanted * elem);
  if (!grown) return NULL;
  if (n) memcpy(grown, array, n * elem);
  hiaR_free(a, array, *cap * elem);
  *cap = wanted;
  return grown;
}

/* The lock is held. */
static uint32_t add_name(hia_timeline *timeline, const char *name) {
  for (uint32_t i = 0; i < timeline->n_names; i++)
    if (strcmp(timeline->names[i], name) == 0) return i;
  char **names = make_room(&timeline->allocator, timeline->names, sizeof *names, timeline->n_names,
                           &timeline->cap_names);
  if (!names) return HIA_NONE;
  timeline->names = names;
  size_t size = strlen(name) + 1;
  char *copy = hiaR_alloc(&timeline->allocator, size);
  if (!copy) return HIA_NONE;
  memcpy(copy, name, size);
  names[timeline->n_names] = copy;
  return timeline->n_names++;
}

uint32_t hiaR_timeline_name(hia_timeline *timeline, const char *name) {
  pthread_mutex_lock(&timeline->lock);
  uint32_t i = add_name(timeline, name);
  pthread_mutex_unlock(&timeline->lock);
  return i;
}

/* The lock is held. */
static void add_span(hia_timeline *timeline, const hia_span *span) {
  /* A span that is there already is most likely near the end. */
  for (uint32_t i = timeline->n_spans; i-- > 0;) {
    const hia_span *s = &timeline->spans[i];
    if (s->begin == span->begin && s->of == span->of && strcmp(s->name, span->name) == 0) return;
  }
  hia_span *spans = make_room(&timeline->allocator, timeline->spans, sizeof *spans,
                              timeline->n_spans, &timeline->cap_spans);
  if (!spans) return;
  timeline->spans = spans;
  spans[timeline->n_spans++] = *span;
}

void hiaR_timeline_span(hia_timeline *timeline, const hia_span *span) {
  if (span->end <= span->begin || span->begin < timeline->made_at) return;
  pthread_mutex_lock(&timeline->lock);
  add_span(timeline, span);
  pthread_mutex_unlock(&timeline->lock);
}

/* The newest name of the entry that is not newer than `at`. The lock is held, or the timeline is
 * being read. */
static const hia_callee *find_callee(const hia_timeline *timeline, uint64_t entry, uint64_t at) {
  for (uint32_t i = timeline->n_callees; i-- > 0;) {
    const hia_callee *c = &timeline->callees[i];
    if (c->entry == entry && c->since <= at) return c;
  }
  return NULL;
}

void hiaR_timeline_callee(hia_timeline *timeline, uint64_t entry, const char *name) {
  pthread_mutex_lock(&timeline->lock);
  const hia_callee *known = find_callee(timeline, entry, UINT64_MAX);
  uint32_t number = add_name(timeline, name);
  if (number != HIA_NONE && !(known && known->name == number)) {
    hia_callee *callees = make_room(&timeline->allocator, timeline->callees, sizeof *callees,
                                    timeline->n_callees, &timeline->cap_callees);
    if (callees) {
      timeline->callees = callees;
      callees[timeline->n_callees++] = (hia_callee){entry, hiaR_now(), number};
    }
  }
  pthread_mutex_unlock(&timeline->lock);
}

const char *hiaR_timeline_callee_at(const hia_timeline *timeline, uint64_t entry, uint64_t at) {
  const hia_callee *c = find_callee(timeline, entry, at);
  return c ? timeline->names[c->name] : NULL;
}

/* The lock is held. */
static hia_ring *new_ring(hia_timeline *timeline, unsigned worker) {
  const hia_allocator *a = &timeline->allocator;
  /* Not zeroed: its memory is touched as events are added. */
  hia_ring *ring = a->alloc(a->user, ring_bytes(timeline));
  if (!ring) {
    timeline->lost_rings++;
    return NULL;
  }
  memset(ring, 0, sizeof *ring);
  ring->timeline = timeline;
  ring->thread = pthread_self();
  ring->worker = worker;
  ring->number = ++timeline->n_rings;
  ring->next = timeline->rings;
  return timeline->rings = ring;
}

hia_ring *hiaR_ring_of(hia_timeline *timeline, unsigned worker) {
  if (HIA_LIKELY(!timeline)) return NULL;
  pthread_mutex_lock(&timeline->lock);
  hia_ring *ring = timeline->rings;
  /* A worker of the pool may call runs itself, from a host function. */
  while (ring &&
         !((ring->worker == worker || worker == 0) && pthread_equal(ring->thread, pthread_self())))
    ring = ring->next;
  if (!ring) ring = new_ring(timeline, worker);
  pthread_mutex_unlock(&timeline->lock);
  /* A thread that has ended may have had the same identifier: its events precede. */
  if (ring) (void)atomic_load_explicit(&ring->count, memory_order_acquire);
  return ring;
}

void hiaR_ring_add(hia_ring *ring, hia_event_kind kind, uint64_t what) {
  uint64_t n = atomic_load_explicit(&ring->count, memory_order_relaxed);
  ring->events[n & (ring->timeline->ring_size - 1)] =
      (hia_event){.at = hiaR_now(), .what = what & (((uint64_t)1 << 56) - 1), .kind = kind};
  ring->totals[kind]++;
  atomic_store_explicit(&ring->count, n + 1, memory_order_release);
}
