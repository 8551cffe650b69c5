/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Profiles by sampling: what a run has counted by location (runtime/run/sampler.h), added up by
 * function and line. */
#include "jit/engine/profile.h"
#include "runtime/native/sampled.h"
#include <stdlib.h>
#include <string.h>

#define DEFAULT_TICK_NS UINT64_C(1000000)

typedef HIA_VEC(hia_profile_line) profile_lines;

struct hia_profile {
  hia_comp comp; /* of its names and lines */
  hia_allocator allocator;
  pthread_mutex_t lock;
  pthread_mutex_t starting; /* of the clock; not `lock`, for which the clock waits when it rings */
  hia_clock *clock; /* its own, since it ticks from run to run, also of several engines; or NULL */
  hia_alarm alarm;
  hia_sampling *samplings; /* of the runs that are under way */
  uint64_t tick_ns, ticks, unknown, random;
  uint64_t sample, taken, unknown_taken; /* hia_profile_sum */
  uint64_t phase;                        /* of the next run's sampler */
  profile_lines lines;
  bool is_sorted;
};

/* ---- profiles ---- */

hia_profile *hia_profile_new(const hia_allocator *allocator, uint64_t tick_ns) {
  if (!allocator) allocator = &hiaR_malloc;
  if (!hiaR_is_whole(allocator)) return NULL;
  hia_profile *p = hiaR_alloc(allocator, sizeof *p);
  if (!p) return NULL;
  p->allocator = *allocator;
  p->tick_ns = tick_ns ? tick_ns : DEFAULT_TICK_NS;
  hiaR_comp_init(&p->comp, &p->allocator);
  pthread_mutex_init(&p->lock, NULL);
  pthread_mutex_init(&p->starting, NULL);
  return p;
}

void hia_profile_free(hia_profile *p) {
  if (!p) return;
  const hia_allocator allocator = p->allocator;
  if (p->clock) hiaR_alarm_clear(p->clock, &p->alarm);
  hiaR_clock_free(p->clock);
  pthread_mutex_destroy(&p->lock);
  pthread_mutex_destroy(&p->starting);
  hiaR_comp_free(&p->comp);
  hiaR_free(&allocator, p, sizeof *p);
}

static int by_ticks(const void *a, const void *b) {
  const hia_profile_line *x = a, *y = b;
  if (x->self != y->self) return x->self < y->self ? 1 : -1;
  if (x->total != y->total) return x->total < y->total ? 1 : -1;
  if (x->taken != y->taken) return x->taken < y->taken ? 1 : -1;
  return x->line != y->line ? (x->line > y->line ? 1 : -1) : strcmp(x->function, y->function);
}

/* Callers with a header from before there were samples of memory have structures that end there. */
HIA_SIZED(hia_profile_sum, unknown_taken);
HIA_SIZED(hia_profile_line, total_taken);
enum {
  LEAST_SUM = offsetof(hia_profile_sum, sample),
  LEAST_LINE = offsetof(hia_profile_line, taken),
};

hia_status hia_profile_get_sum(hia_profile *p, hia_profile_sum *sum) {
  if (!p || !sum || sum->size < LEAST_SUM) return HIA_ARGUMENT;
  pthread_mutex_lock(&p->lock);
  const hia_profile_sum own = {.tick_ns = p->tick_ns,
                               .ticks = p->ticks,
                               .unknown = p->unknown,
                               .n_lines = p->lines.len,
                               .sample = p->sample,
                               .taken = p->taken,
                               .unknown_taken = p->unknown_taken};
  pthread_mutex_unlock(&p->lock);
  hiaR_sized_copy_out(&own, sizeof own, sum, sum->size);
  return HIA_OK;
}

hia_status hia_profile_get_line(hia_profile *p, uint64_t i, hia_profile_line *line) {
  if (!p || !line || line->size < LEAST_LINE) return HIA_ARGUMENT;
  pthread_mutex_lock(&p->lock);
  bool is_there = i < p->lines.len;
  if (is_there && !p->is_sorted)
    qsort(p->lines.data, p->lines.len, sizeof *p->lines.data, by_ticks);
  p->is_sorted |= is_there;
  if (is_there) hiaR_sized_copy_out(&p->lines.data[i], sizeof *line, line, line->size);
  pthread_mutex_unlock(&p->lock);
  return is_there ? HIA_OK : HIA_ARGUMENT;
}

/* ---- adding what a run has counted ---- */

/* The line of a function that is in no profile yet gets an entry. Throws. */
static hia_profile_line *find_line(hia_profile *p, const char *function, const char *file,
                                   uint32_t line) {
  for (uint32_t i = 0; i < p->lines.len; i++) {
    hia_profile_line *l = &p->lines.data[i];
    if (l->line == line && strcmp(l->function, function) == 0 && strcmp(l->file, file) == 0)
      return l;
  }
  hia_profile_line fresh = HIA_PROFILE_LINE_INIT;
  fresh.function = hiaR_arena_printf(&p->comp.arena, "%s", function);
  fresh.file = hiaR_arena_printf(&p->comp.arena, "%s", file);
  fresh.line = line;
  hiaR_push(&p->comp.arena, &p->lines, fresh);
  return &p->lines.data[p->lines.len - 1];
}

static const char *function_at(const hia_places *places, uint32_t loc) {
  uint32_t fn = places->locs[loc].fn;
  return fn < places->strings_size ? places->strings + fn : "";
}

static const char *file_at(const hia_places *places, uint32_t loc) {
  if (strcmp(function_at(places, loc), HIA_EXPRESSION) == 0) return HIA_EXPRESSION;
  return places->file ? places->file : "";
}

static uint64_t read_count(const _Atomic uint64_t *counter) {
  return atomic_load_explicit(counter, memory_order_relaxed);
}

static uint64_t read_bytes(const _Atomic uint64_t *samples) {
  return read_count(samples) * HIA_SAMPLED_BYTES;
}

static void add_rows(hia_profile *p, const hia_sampling *s) {
  for (uint32_t row = 0; row < s->n_rows; row++) {
    const hia_sample_count *count = &s->sampler.rows[row];
    if (!read_count(&count->total) && !read_count(&count->all_taken)) continue;
    uint32_t loc = s->loc_of[row];
    hia_profile_line *line = find_line(p, function_at(s->places, loc), file_at(s->places, loc),
                                       s->places->locs[loc].line);
    line->self += read_count(&count->self);
    line->total += read_count(&count->total);
    line->taken += read_bytes(&count->taken);
    line->total_taken += read_bytes(&count->all_taken);
  }
}

static void add(hia_profile *p, const hia_sampling *s) {
  pthread_mutex_lock(&p->lock);
  p->ticks += read_count(&s->sampler.n);
  p->unknown += read_count(&s->sampler.unknown);
  p->taken += read_bytes(&s->sampler.n_taken);
  p->unknown_taken += read_bytes(&s->sampler.unknown_taken);
  if (s->sampler.counts_bytes) p->sample = HIA_SAMPLED_BYTES;
  p->is_sorted = false;
  if (HIA_TRY(&p->comp)) add_rows(p, s); /* without memory, lines are left out */
  p->comp.armed = false;
  pthread_mutex_unlock(&p->lock);
}

/* ---- a run ---- */

typedef struct place {
  const hia_image_loc *at;
  uint32_t loc;
} place;

static int by_line(const void *a, const void *b) {
  const hia_image_loc *x = ((const place *)a)->at, *y = ((const place *)b)->at;
  if (x->fn != y->fn) return x->fn < y->fn ? -1 : 1;
  return x->line != y->line ? (x->line < y->line ? -1 : 1) : 0;
}

/* Numbers the lines of functions: a row for each. Throws. */
static void find_rows(hia_sampling *s) {
  hia_arena *arena = &s->comp.arena;
  uint32_t n = hiaR_u32(s->places->n_locs);
  place *sorted = HIA_NEW_ARRAY(arena, place, (size_t)n + 1);
  uint32_t *row_of = HIA_NEW_ARRAY(arena, uint32_t, (size_t)n + 1);
  s->loc_of = HIA_NEW_ARRAY(arena, uint32_t, (size_t)n + 1);
  for (uint32_t i = 0; i < n; i++) sorted[i] = (place){&s->places->locs[i], i};
  if (n) qsort(sorted, n, sizeof *sorted, by_line);
  for (uint32_t i = 0; i < n; i++) {
    if (i == 0 || by_line(&sorted[i - 1], &sorted[i]) != 0) s->loc_of[s->n_rows++] = sorted[i].loc;
    row_of[sorted[i].loc] = s->n_rows - 1;
  }
  s->sampler.row_of = row_of;
  s->sampler.n_locs = n;
  s->sampler.rows = HIA_NEW_ARRAY(arena, hia_sample_count, (size_t)s->n_rows + 1);
}

/* ---- ticks ---- */

static uint64_t next_random(hia_profile *p) {
  return p->random = p->random * 6364136223846793005u + 1442695040888963407u;
}

/* From three quarters of a tick to five, so that ticks do not keep step with the program. */
static uint64_t next_tick(hia_profile *p) {
  return p->tick_ns - p->tick_ns / 4 + (next_random(p) >> 33) % (p->tick_ns / 2 + 1);
}

static void ring(hia_alarm *alarm) {
  hia_profile *p = (hia_profile *)(void *)((char *)alarm - offsetof(hia_profile, alarm));
  pthread_mutex_lock(&p->lock);
  for (hia_sampling *s = p->samplings; s; s = s->next) hiaR_sampler_tick(&s->sampler);
  alarm->again = hiaR_now() + next_tick(p);
  pthread_mutex_unlock(&p->lock);
}

/* The caller holds the lock `starting`. */
static hia_status new_clock(hia_profile *p) {
  hia_status status = hiaR_clock_new(&p->allocator, &p->clock);
  if (status != HIA_OK) return status;
  p->alarm.at = hiaR_now() + p->tick_ns;
  p->alarm.ring = ring;
  status = hiaR_alarm_set(p->clock, &p->alarm);
  if (status == HIA_OK) return HIA_OK;
  hiaR_clock_free(p->clock);
  p->clock = NULL;
  return status;
}

/* The clock goes on between runs. If it began with each run, short ones would have no tick. */
static hia_status start_clock(hia_profile *p) {
  hia_status status = HIA_OK;
  pthread_mutex_lock(&p->starting);
  if (!p->clock) status = new_clock(p);
  pthread_mutex_unlock(&p->starting);
  return status;
}

static hia_status enter(hia_sampling *s) {
  hia_profile *p = s->profile;
  hia_status status = start_clock(p);
  if (status != HIA_OK) return status;
  pthread_mutex_lock(&p->lock);
  atomic_init(&s->sampler.random, next_random(p));
  atomic_init(&s->sampler.phase, p->phase);
  p->phase += HIA_SAMPLER_STEP;
  s->next = p->samplings;
  if (s->next) s->next->prev = s;
  p->samplings = s;
  pthread_mutex_unlock(&p->lock);
  return HIA_OK;
}

static void leave(hia_sampling *s) {
  hia_profile *p = s->profile;
  pthread_mutex_lock(&p->lock);
  if (s->next) s->next->prev = s->prev;
  if (s->prev)
    s->prev->next = s->next;
  else
    p->samplings = s->next;
  pthread_mutex_unlock(&p->lock);
}

/* ---- begin, and end ---- */

static void drop(hia_sampling *s) {
  hiaR_sampler_free(&s->sampler);
  hiaR_comp_free(&s->comp);
  s->profile = NULL;
}

hia_status hiaJ_sampling_begin(hia_sampling *s, hia_profile *profile, hia_engine *engine,
                               const hia_places *places, hia_limits *limits) {
  *s = (hia_sampling){.profile = profile, .places = places};
  if (!profile) return HIA_OK;
  hiaR_comp_init(&s->comp, &engine->allocator);
  hiaR_sampler_init(&s->sampler);
  s->sampler.native = &hiaR_native_samples;
  s->sampler.counts_bytes = hiaJ_has(engine, HIA_FLAG_PROFILE_MEMORY);
  volatile hia_status status = HIA_OK;
  if (HIA_TRY(&s->comp))
    find_rows(s);
  else
    status = s->comp.status;
  s->comp.armed = false;
  if (status == HIA_OK) status = enter(s);
  if (status != HIA_OK) {
    drop(s);
    return status;
  }
  limits->sampler = &s->sampler;
  return HIA_OK;
}

void hiaJ_sampling_end(hia_sampling *s) {
  if (!s->profile) return;
  leave(s);
  add(s->profile, s);
  drop(s);
}
