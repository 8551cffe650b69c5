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

hia_pass_options hiaJ_pass_options(const hia_engine *engine, hia_traits traits) {
  const hia_engine_options *o = &engine->options;
  hia_pass_options options = {.disabled = engine->disabled,
                              .verify = hiaJ_has(engine, HIA_FLAG_VERIFY),
                              .trap_nan = hiaJ_has(engine, HIA_FLAG_TRAP_NAN),
                              .batch = o->batching};
  options.fuel = (traits & HIA_VERSION_FUELLED) != 0;
  options.streams = (traits & HIA_VERSION_STREAMS) != 0;
  if (traits & HIA_VERSION_UNBATCHED) options.batch = HIA_BATCH_NONE;
  bool is_parallel = (o->threads > 1 || hiaJ_has(engine, HIA_FLAG_ALWAYS_FORK)) && !options.fuel;
  if (hiaJ_is_native(engine, traits)) options.use = is_parallel ? HIA_USE_PARALLEL : HIA_USE_NATIVE;
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
                               .unchecked = hiaJ_has(engine, HIA_FLAG_UNCHECKED),
                               .merge_calls = !hiaJ_has(engine, HIA_FLAG_NO_MERGING),
                               .fast_products = hiaJ_has(engine, HIA_FLAG_FAST_PRODUCTS),
                               .is_parallel = engine->options.threads > 1,
                               .reuse = !hiaJ_has(engine, HIA_FLAG_NO_REUSE),
                               .begins_again = engine->options.kind == HIA_ENGINE_AUTO,
                               .counts_bytes = hiaJ_has(engine, HIA_FLAG_PROFILE_MEMORY),
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
  if (status == HIA_MEMORY)
    engine->native_tried = false;
  else
    atomic_store(&engine->lacks_native, true);
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
