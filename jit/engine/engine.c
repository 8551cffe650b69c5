/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Engines: options, the compiler when it is needed, contexts that wait for the next run. */
#include "jit/engine/engine.h"
#include <stdio.h>

const char *hia_version(void) { return HIA_BUILD_VERSION; }

void hiaJ_log(const hia_engine *engine, const char *fmt, ...) {
  if (!engine->options.log) return;
  char line[512];
  va_list args;
  va_start(args, fmt);
  vsnprintf(line, sizeof line, fmt, args);
  va_end(args);
  engine->options.log(engine->options.log_user, line);
}

void hiaJ_log_open(const hia_engine *engine, uint64_t open_ns) {
  if (open_ns) hiaJ_log(engine, "opened the compiler in %.1f ms", (double)open_ns / 1e6);
}

/* ---- options ---- */

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

static hia_status check_options(const hia_engine_options *o, const hia_allocator *allocator,
                                hia_error **error) {
  if (o->allocator && !hiaR_is_whole(o->allocator))
    return hiaJ_fail(allocator, error, HIA_ARGUMENT, NULL, "an allocator needs all its functions");
  if (o->pool && !o->pool->start)
    return hiaJ_fail(allocator, error, HIA_ARGUMENT, NULL, "a thread pool needs its `start`");
  if ((unsigned)o->kind > HIA_ENGINE_EXPAND)
    return hiaJ_fail(allocator, error, HIA_ARGUMENT, NULL, "there is no engine number %u",
                     (unsigned)o->kind);
  if (o->threads > 1024)
    return hiaJ_fail(allocator, error, HIA_ARGUMENT, NULL, "%u threads; at most 1024", o->threads);
  if (o->opt_level < 0 || o->opt_level > 3)
    return hiaJ_fail(allocator, error, HIA_ARGUMENT, NULL,
                     "optimisation level %d; there are 0 to 3", o->opt_level);
  if (o->batch > HIA_BATCH_ALL)
    return hiaJ_fail(allocator, error, HIA_ARGUMENT, NULL, "batching %llu; there are 0 to 2",
                     (unsigned long long)o->batch);
  if (o->share > HIA_SHARE_OFF)
    return hiaJ_fail(allocator, error, HIA_ARGUMENT, NULL, "sharing %llu; there are 0 and 1",
                     (unsigned long long)o->share);
  if (o->disabled_passes) {
    size_t len;
    const char *name = unknown_pass(o->disabled_passes, &len);
    if (name)
      return hiaJ_fail(allocator, error, HIA_ARGUMENT, "`hiaton dump --help` lists them",
                       "there is no pass '%.*s'", (int)(len < 80 ? len : 80), name);
  }
  return HIA_OK;
}

hia_pass_options hiaJ_pass_options(const hia_engine *engine, hia_traits traits) {
  const hia_engine_options *o = &engine->options;
  hia_pass_options options = {.disabled = engine->disabled, .verify = o->verify};
  options.trap_nan = o->trap_nan != 0;
  options.batch = (hia_batching)o->batch;
  options.fuel = (traits & HIA_VERSION_FUELLED) != 0;
  options.streams = (traits & HIA_VERSION_STREAMS) != 0;
  bool is_parallel = (o->threads > 1 || o->always_fork) && !options.fuel;
  if (o->kind == HIA_ENGINE_JIT) options.use = is_parallel ? HIA_USE_PARALLEL : HIA_USE_NATIVE;
#ifdef HIA_DEBUG
  options.verify = true;
#endif
  return options;
}

/* Generated code is instrumented for the sanitizer that the library itself is built with. */
#if defined(HIA_ASAN) || defined(HIA_TSAN)
enum { IS_SANITIZED = true };
#else
enum { IS_SANITIZED = false };
#endif

hia_compile_options hiaJ_compile_options(const hia_engine *engine) {
  return (hia_compile_options){.level = engine->options.opt_level,
                               .unchecked = engine->options.unchecked,
                               .merge_calls = engine->options.merge_calls,
                               .fast_products = engine->options.fast_products != 0,
                               .share = engine->options.share == HIA_SHARE_ON,
                               .sanitize = IS_SANITIZED};
}

const char *hia_pass_name(size_t i) {
  for (size_t k = 0; hiaG_passes[k].name; k++)
    if (k == i) return hiaG_passes[k].name;
  return NULL;
}

const char *hia_pass_doc(size_t i) { return hia_pass_name(i) ? hiaG_passes[i].doc : NULL; }

const char *hia_error_explain(const char *code) { return code ? hiaF_explain(code) : NULL; }
const char *hia_error_explained_code(size_t i) { return hiaF_explained_code(i); }

/* ---- making and freeing ---- */

/* Makes the list of disabled passes; false: out of memory. If calls are not to be merged, the pass
 * `merge` is disabled here; lowering has an option besides (hiaJ_compile_options). */
static bool disable_passes(hia_engine *engine, const char *list) {
  bool merges = engine->options.merge_calls || (list && strcmp(list, "all") == 0);
  if (!list) list = "";
  if (!*list && merges) return true;
  engine->disabled_size = strlen(list) + sizeof ",merge";
  engine->disabled = hiaR_alloc(&engine->allocator, engine->disabled_size);
  if (!engine->disabled) return false;
  snprintf(engine->disabled, engine->disabled_size, "%s%s", list, merges ? "" : ",merge");
  return true;
}

HIA_SIZED(hia_engine_options, share);

hia_status hia_engine_new(const hia_engine_options *options, hia_engine **out, hia_error **error) {
  if (error) *error = NULL;
  hia_engine_options own = HIA_ENGINE_OPTIONS_INIT;
  if (out) *out = NULL;
  if (hiaR_copy_options(&hiaR_malloc, "engine options", &own, sizeof own, options, error))
    return HIA_ARGUMENT;
  const hia_allocator *allocator = own.allocator ? own.allocator : &hiaR_malloc;
  if (!out) return hiaJ_fail(&hiaR_malloc, error, HIA_ARGUMENT, NULL, "no place for the engine");
  hia_status status = check_options(&own, &hiaR_malloc, error);
  if (status != HIA_OK) return status;

  hia_engine *engine = hiaR_alloc(allocator, sizeof *engine);
  if (!engine) return hiaJ_fail(allocator, error, HIA_MEMORY, NULL, "out of memory");
  engine->allocator = *allocator;
  engine->options = own;
  engine->options.allocator = &engine->allocator;
  engine->has_host_pool = own.pool != NULL;
  engine->options.pool = NULL; /* the pool has a copy of its own */
  if (!disable_passes(engine, own.disabled_passes)) {
    hiaR_free(allocator, engine, sizeof *engine);
    return hiaJ_fail(allocator, error, HIA_MEMORY, NULL, "out of memory");
  }
  engine->options.disabled_passes = engine->disabled;
  if (engine->options.threads == 0) engine->options.threads = 1;
  pthread_mutex_init(&engine->lock, NULL);
  const uint64_t chance[2] = {(uintptr_t)engine, hiaR_now()};
  atomic_init(&engine->next_builder, hiaR_hash(chance, sizeof chance));
  unsigned threads = engine->options.threads;
  if (threads > 1 &&
      hiaR_pool_new(&engine->allocator, threads - 1, own.pool, &engine->pool) != HIA_OK) {
    hia_engine_free(engine);
    return hiaJ_fail(allocator, error, HIA_MEMORY, NULL, "out of memory");
  }
  *out = engine;
  return HIA_OK;
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
  if (engine->session) engine->backend->close(engine->session);
  for (unsigned i = 0; i < HIA_ENGINE_TUPLES; i++) hiaR_value_types_release(engine->tuples[i]);
  pthread_mutex_destroy(&engine->lock);
  if (engine->disabled) hiaR_free(&allocator, engine->disabled, engine->disabled_size);
  hiaR_free(&allocator, engine, sizeof *engine);
}

/* ---- native code ---- */

static void open_native(hia_engine *engine) {
  const hia_allocator *allocator = &engine->allocator;
  hia_error *why = NULL;
  engine->native_tried = true;
  hia_status status = hiaJ_native_open(allocator, &engine->backend, &why);
  if (status == HIA_OK) status = engine->backend->open(allocator, &engine->session, &why);
  engine->native_status = status;
  if (status == HIA_OK) return;
  engine->session = NULL;
  snprintf(engine->native_error, sizeof engine->native_error, "%s",
           why ? hia_error_message(why, 0) : hiaR_status_message(status));
  hia_error_free(why);
  /* The next attempt may find memory, but not a missing library. */
  if (status == HIA_MEMORY) engine->native_tried = false;
}

hia_status hiaJ_engine_open(hia_engine *engine, uint64_t *open_ns, hia_error **error) {
  *open_ns = 0;
  pthread_mutex_lock(&engine->lock);
  if (!engine->native_tried) {
    uint64_t start = hiaR_now();
    open_native(engine);
    *open_ns = hiaR_now() - start;
  }
  hia_status status = engine->native_status;
  pthread_mutex_unlock(&engine->lock);
  if (status == HIA_OK) return HIA_OK;
  return hiaJ_fail(&engine->allocator, error, status,
                   "the engines interp and expand need no compiler",
                   "native code is not available: %s", engine->native_error);
}

hia_status hia_engine_native(hia_engine *engine, hia_error **error) {
  if (error) *error = NULL;
  if (!engine) return hiaJ_fail(&hiaR_malloc, error, HIA_ARGUMENT, NULL, "no engine");
  uint64_t open_ns;
  hia_status status = hiaJ_engine_open(engine, &open_ns, error);
  if (status == HIA_OK) hiaJ_log_open(engine, open_ns);
  return status;
}

hia_idle_context *hiaJ_context_take(hia_engine *engine) {
  pthread_mutex_lock(&engine->lock);
  hia_idle_context *context = engine->idle;
  if (context) engine->idle = context->next;
  pthread_mutex_unlock(&engine->lock);
  if (context) return context;
  context = hiaR_alloc(&engine->allocator, sizeof *context);
  if (!context) return NULL;
  if (hiaR_context_new(&engine->allocator, &context->context) != HIA_OK) {
    hiaR_free(&engine->allocator, context, sizeof *context);
    return NULL;
  }
  hiaR_heap_init(&context->heap, &engine->allocator);
  return context;
}

void hiaJ_context_put(hia_engine *engine, hia_idle_context *context) {
  pthread_mutex_lock(&engine->lock);
  context->next = engine->idle;
  engine->idle = context;
  pthread_mutex_unlock(&engine->lock);
}

/* Address space, which takes memory only where it is touched: 2000 nested brackets need 1 MiB of
 * it, 6 MiB with AddressSanitizer. */
#define FRONTEND_STACK     ((size_t)64 << 20)
#define MIN_FRONTEND_STACK ((size_t)8 << 20)

hia_status hiaJ_on_stack(hia_engine *engine, void (*fn)(void *arg), void *arg) {
  hia_idle_context *context = hiaJ_context_take(engine);
  if (!context) return HIA_MEMORY;
  hia_status status = HIA_MEMORY;
  for (size_t size = FRONTEND_STACK; status != HIA_OK && size >= MIN_FRONTEND_STACK; size /= 2)
    status = hiaR_context_call(context->context, size, fn, arg);
  hiaJ_context_put(engine, context);
  return status;
}
