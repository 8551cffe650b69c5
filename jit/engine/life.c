/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Making and freeing engines; their options, checked. */
#include "jit/engine/engine.h"
#include "runtime/threads/processor.h"
#include <stdio.h>

/* Until the engine has compiled something. */
#define FIRST_NS_PER_NODE 3e4

/* Returns the first name in a list that is no pass; *len is 0 if all are passes. */
static const char *unknown_pass(const char *list, size_t *len) {
  for (const char *at = list; *at;) {
    size_t n = strcspn(at, ",");
    bool is_all = n == 3 && strncmp(at, "all", 3) == 0;
    if (n && !is_all && !hiaG_pass_exists(at, n)) {
      *len = n;
      return at;
    }
    at += n + (at[n] == ',');
  }
  *len = 0;
  return NULL;
}

enum { ALL_FLAGS = 2 * HIA_FLAG_PROFILE_MEMORY - 1 };

static hia_status check_options(const hia_engine_options *o, const hia_allocator *allocator,
                                hia_error **error) {
  if (o->allocator && !hiaR_is_whole(o->allocator))
    return hiaJ_fail(allocator, error, HIA_ARGUMENT, NULL, "an allocator needs all its functions");
  if (o->pool && !o->pool->start)
    return hiaJ_fail(allocator, error, HIA_ARGUMENT, NULL, "a thread pool needs its `start`");
  if ((unsigned)o->kind > HIA_ENGINE_AUTO)
    return hiaJ_fail(allocator, error, HIA_ARGUMENT, NULL, "there is no engine number %u",
                     (unsigned)o->kind);
  if (o->threads > 1024)
    return hiaJ_fail(allocator, error, HIA_ARGUMENT, NULL, "%u threads; at most 1024", o->threads);
  if (o->opt_level < 0 || o->opt_level > 3)
    return hiaJ_fail(allocator, error, HIA_ARGUMENT, NULL,
                     "optimisation level %d; there are 0 to 3", o->opt_level);
  if ((unsigned)o->batching > HIA_BATCH_AGENDA)
    return hiaJ_fail(allocator, error, HIA_ARGUMENT, NULL, "batching %u; there are 0 to 4",
                     (unsigned)o->batching);
  if (hiaR_is_by_firings(o->batching) && o->kind != HIA_ENGINE_INTERP)
    return hiaJ_fail(allocator, error, HIA_ARGUMENT,
                     "name that engine: HIA_ENGINE_INTERP, --engine interp",
                     "batching by %s is for the interpreter",
                     o->batching == HIA_BATCH_DEPTH ? "depth" : "agenda");
  if ((unsigned)o->speculate > HIA_SPECULATE_EAGER)
    return hiaJ_fail(allocator, error, HIA_ARGUMENT, NULL, "speculate %u; there are 0 to 2",
                     (unsigned)o->speculate);
  if (o->reserved)
    return hiaJ_fail(allocator, error, HIA_ARGUMENT, NULL, "an option of a later version");
  if (o->flags & ~(uint32_t)ALL_FLAGS)
    return hiaJ_fail(allocator, error, HIA_ARGUMENT, NULL, "flags 0x%x; there are those up to 0x%x",
                     o->flags, ALL_FLAGS);
  if (o->disabled_passes) {
    size_t len;
    const char *name = unknown_pass(o->disabled_passes, &len);
    if (name)
      return hiaJ_fail(allocator, error, HIA_ARGUMENT, "`hiaton dump --help` lists them",
                       "there is no pass '%.*s'", (int)(len < 80 ? len : 80), name);
  }
  return HIA_OK;
}

/* Makes the list of disabled passes; false: out of memory. If calls are not to be merged, the pass
 * `merge` is disabled here; lowering has an option besides (hiaJ_compile_options). */
static bool disable_passes(hia_engine *engine, const char *list) {
  bool merges = !hiaJ_has(engine, HIA_FLAG_NO_MERGING) || (list && strcmp(list, "all") == 0);
  if (!list) list = "";
  if (!*list && merges) return true;
  engine->disabled_size = strlen(list) + sizeof ",merge";
  engine->disabled = hiaR_alloc(&engine->allocator, engine->disabled_size);
  if (!engine->disabled) return false;
  snprintf(engine->disabled, engine->disabled_size, "%s%s", list, merges ? "" : ",merge");
  return true;
}

/* Without a cache everything works, only later. */
static void open_cache(hia_engine *engine, const char *path) {
  engine->options.cache = NULL;
  if (!path) return;
  hia_error *error = NULL;
  hia_status status = hiaJ_store_open(&engine->allocator, path, engine->options.cache_bytes,
                                      &engine->store, &error);
  if (status != HIA_OK)
    hiaJ_log(engine, "%s", error ? hia_error_message(error, 0) : hiaR_status_message(status));
  hia_error_free(error);
}

HIA_SIZED(hia_engine_options, reserved);

hia_status hia_engine_new(const hia_engine_options *options, hia_engine **out, hia_error **error) {
  if (error) *error = NULL;
  hia_engine_options complete = HIA_ENGINE_OPTIONS_INIT;
  if (out) *out = NULL;
  if (hiaR_copy_options(&hiaR_malloc, "engine options", &complete, sizeof complete, options, error))
    return HIA_ARGUMENT;
  const hia_allocator *allocator = complete.allocator ? complete.allocator : &hiaR_malloc;
  if (!out) return hiaJ_fail(&hiaR_malloc, error, HIA_ARGUMENT, NULL, "no place for the engine");
  hia_status status = check_options(&complete, &hiaR_malloc, error);
  if (status != HIA_OK) return status;

  hia_engine *engine = hiaR_alloc(allocator, sizeof *engine);
  if (!engine) return hiaR_fail_memory(allocator, error);
  engine->allocator = *allocator;
  engine->options = complete;
  engine->options.allocator = &engine->allocator;
  engine->has_host_pool = complete.pool != NULL;
  engine->options.pool = NULL; /* the pool has a copy of its own */
  if (!disable_passes(engine, complete.disabled_passes)) {
    hiaR_free(allocator, engine, sizeof *engine);
    return hiaR_fail_memory(allocator, error);
  }
  engine->options.disabled_passes = engine->disabled;
  open_cache(engine, complete.cache);
  if (engine->options.threads == 0) engine->options.threads = 1;
  engine->cores = hiaR_processors();
  engine->ns_per_node = FIRST_NS_PER_NODE;
  pthread_mutex_init(&engine->lock, NULL);
  pthread_mutex_init(&engine->later_lock, NULL);
  hiaR_keeper_init(&engine->step_results, &engine->allocator);
  const uint64_t chance[2] = {(uintptr_t)engine, hiaR_now()};
  atomic_init(&engine->next_builder, hiaR_hash(chance, sizeof chance));
  unsigned threads = engine->options.threads;
  bool has_pools = threads < 2 || hiaR_pool_new(&engine->allocator, threads - 1, complete.pool,
                                                &engine->pool) == HIA_OK;
  if (has_pools && engine->has_host_pool)
    has_pools = hiaR_pool_new(&engine->allocator, 1, complete.pool, &engine->compilers) == HIA_OK;
  if (!has_pools) {
    hia_engine_free(engine);
    return hiaR_fail_memory(allocator, error);
  }
  *out = engine;
  return HIA_OK;
}

const hia_allocator *hia_engine_allocator(const hia_engine *engine) {
  return engine ? &engine->allocator : NULL;
}

void hia_engine_free(hia_engine *engine) {
  if (!engine) return;
  hia_allocator allocator = engine->allocator;
  hiaJ_join_compiling(engine);
  hiaR_pool_free(engine->pool);
  while (engine->idle) {
    hia_idle_context *context = engine->idle;
    engine->idle = context->next;
    hiaR_context_free(context->context);
    hiaR_heap_free(&context->heap);
    hiaR_free(&allocator, context, sizeof *context);
  }
  hiaR_clock_free(engine->clock);
  hiaJ_hosts_free(engine);
  hiaJ_store_close(engine->store);
  if (engine->session) engine->backend->close(engine->session);
  for (unsigned i = 0; i < HIA_ENGINE_TUPLES; i++) hiaR_value_types_release(engine->tuples[i]);
  hiaR_keeper_free(&engine->step_results);
  pthread_mutex_destroy(&engine->later_lock);
  pthread_mutex_destroy(&engine->lock);
  if (engine->disabled) hiaR_free(&allocator, engine->disabled, engine->disabled_size);
  hiaR_free(&allocator, engine, sizeof *engine);
}
