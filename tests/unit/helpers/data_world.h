/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Native code whose runs make objects, below the engine. */
#ifndef HIA_TEST_DATA_WORLD_H
#define HIA_TEST_DATA_WORLD_H

#include "runtime/native/context.h"
#include "tests/unit/helpers/memory.h"
#include "tests/unit/helpers/world.h"

/* A world whose runs have a heap. */
typedef struct data_world {
  world w;
  test_heap memory;
  hia_heap heap;
  hia_shapes *shapes;
  size_t shapes_size;
  hia_pool *pool;
  size_t max_memory;
  bool keeps_all; /* nothing is counted, so a run leaves what it has made */
} data_world;

static inline void open_world(data_world *d) {
  memset(d, 0, sizeof *d);
  world_init(&d->w);
  test_heap_init(&d->memory, -1);
  hiaR_heap_init(&d->heap, &d->memory.allocator);
}

static inline void close_world(data_world *d) {
  hiaR_pool_free(d->pool);
  hiaR_heap_free(&d->heap);
  hiaR_free(&d->memory.allocator, d->shapes, d->shapes_size);
  cr_assert_eq(d->memory.blocks, 0);
  cr_assert_eq(d->memory.bytes, 0);
  world_free(&d->w);
}

/* `is_read`: as a graph that a user wrote. */
static inline void compile_data(data_world *d, hia_graph *g, bool is_read, int level) {
  g->is_read = is_read;
  compile_graph(&d->w, g, level);
  hiaR_free(&d->memory.allocator, d->shapes, d->shapes_size);
  hia_type_table types = hiaG_type_table(&d->w.e.types);
  cr_assert_eq(hiaR_shapes_new(&types, &d->memory.allocator, &d->shapes, &d->shapes_size), HIA_OK);
}

/* Runs fn(block) and leaves the heap as it is at the end of the run. */
static inline hia_status run_only(data_world *d, const char *fn, hia_word *block) {
  world *w = &d->w;
  hia_native_entry entry = hiaJ_backend.entry(w->code, root_of(w->g, fn));
  cr_assert(entry != NULL);
  hiaR_heap_begin(&d->heap, d->max_memory);
  hia_limits limits = {.depth = 64 << 20,
                       .threads = d->pool ? 2 : 1,
                       .pool = d->pool,
                       .heap = &d->heap,
                       .shapes = d->shapes};
  return hiaR_native_run(w->context, entry, block, &w->unwinder, &limits, &w->failure, &w->usage);
}

static inline hia_status run_data(data_world *d, const char *fn, hia_word *block) {
  hia_status status = run_only(d, fn, block);
  hiaR_heap_end(&d->heap);
  return status;
}

/* Runs fn(a, b), after which no object may be left. Returns the result. */
static inline int64_t run_counted(data_world *d, int level, const char *fn, int64_t a, int64_t b) {
  size_t n = hiaG_fn(d->w.g, root_of(d->w.g, fn))->n_params;
  hia_word block[3] = {(hia_word)a, (hia_word)b};
  cr_assert_eq(run_only(d, fn, block), HIA_OK, "level %d: %s", level, fn);
  int64_t live;
  if (!d->w.g->is_read && !d->keeps_all && hiaR_heap_census(&d->heap, &live))
    cr_assert_eq(live, 0, "level %d: %s leaves %lld objects", level, fn, (long long)live);
  hiaR_heap_end(&d->heap);
  return (int64_t)block[n];
}

#define EACH_LEVEL(d, ...)                                                                         \
  do {                                                                                             \
    data_world d_;                                                                                 \
    data_world *d = &d_;                                                                           \
    for (int level = 0; level <= 3; level += LEVELS_APART) {                                       \
      open_world(d);                                                                               \
      NO_THROW(&d->w.e, {__VA_ARGS__});                                                            \
      close_world(d);                                                                              \
    }                                                                                              \
  } while (0)

#endif
