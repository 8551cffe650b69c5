/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Requests of typed entries, plain functions and map entries, which sides.c makes, and the contexts
 * that hosts pass to entries. */
#include "jit/engine/engine.h"
#include "runtime/native/host.h"

static hia_status check(hia_function *f, hia_native_fn *out, hia_error **error) {
  if (error) *error = NULL;
  if (out) *out = NULL;
  if (!f) return hiaJ_fail(&hiaR_malloc, error, HIA_ARGUMENT, NULL, "no function");
  const hia_engine *engine = f->module->engine;
  if (!out)
    return hiaJ_fail(&engine->allocator, error, HIA_ARGUMENT, NULL, "no place for the entry");
  if (f->is_generic)
    return hiaJ_fail(&engine->allocator, error, HIA_ARGUMENT, "name an instance, as in fact(i64)",
                     "`%s` is generic: it has no code of its own", f->signature);
  if (!hiaJ_is_native(engine, HIA_VERSION_NATIVE))
    return hiaJ_fail(&engine->allocator, error, HIA_UNSUPPORTED,
                     "call it with hia_call, or make an engine of kind HIA_ENGINE_AUTO",
                     "this engine makes no native code");
  return HIA_OK;
}

/* The function is made ready as for a run, so its code may come from the cache. If the cache has
 * no such side for it, a version is compiled that can have one. */
static hia_status get(hia_function *f, hia_traits traits, hia_host_side side, hia_native_fn *out,
                      hia_error **error) {
  hia_status status = check(f, out, error);
  traits |= HIA_VERSION_NATIVE;
  for (int round = 0; round < 2 && status == HIA_OK && !*out; round++) {
    const hia_fn_version *version;
    status = hiaJ_ready(f, round ? traits | HIA_VERSION_ENTRIES : traits, &version, error);
    if (status == HIA_OK) status = hiaJ_host_function(version, side, out, error);
  }
  return status;
}

hia_status hia_function_entry(hia_function *f, hia_native_fn *entry, hia_error **error) {
  return get(f, HIA_VERSION_GENERAL, HIA_HOST_TYPED, entry, error);
}

hia_status hia_function_entry_with_fuel(hia_function *f, hia_native_fn *entry, hia_error **error) {
  return get(f, HIA_VERSION_FUELLED, HIA_HOST_TYPED, entry, error);
}

hia_status hia_function_plain(hia_function *f, hia_native_fn *plain, hia_error **error) {
  return get(f, HIA_VERSION_GENERAL, HIA_HOST_PLAIN, plain, error);
}

hia_status hia_function_map(hia_function *f, hia_native_fn *map, hia_error **error) {
  return get(f, HIA_VERSION_GENERAL, HIA_HOST_MAP, map, error);
}

hia_status hia_function_map_with_fuel(hia_function *f, hia_native_fn *map, hia_error **error) {
  return get(f, HIA_VERSION_FUELLED, HIA_HOST_MAP, map, error);
}

hia_status hia_engine_context_new(hia_engine *engine, hia_context **out, hia_error **error) {
  if (error) *error = NULL;
  if (out) *out = NULL;
  if (!engine) return hiaJ_fail(&hiaR_malloc, error, HIA_ARGUMENT, NULL, "no engine");
  if (!out)
    return hiaJ_fail(&engine->allocator, error, HIA_ARGUMENT, NULL, "no place for the context");
  hia_context_options options = HIA_CONTEXT_OPTIONS_INIT;
  options.allocator = &engine->allocator;
  options.max_depth = engine->options.max_depth;
  options.max_memory = engine->options.max_memory;
  options.threads = engine->options.threads;
  if (hiaJ_has(engine, HIA_FLAG_FAST_PRODUCTS)) options.flags |= HIA_CONTEXT_FAST_PRODUCTS;
  hia_clock *clock;
  hia_context *context = NULL;
  hia_status status = hiaJ_engine_clock(engine, &clock);
  if (status == HIA_OK) status = hiaR_host_new(&options, &context);
  if (status != HIA_OK)
    return hiaJ_fail(&engine->allocator, error, status, NULL, "%s", hiaR_status_message(status));
  context->host->pool = engine->pool;
  context->host->clock = clock;
  *out = context;
  return HIA_OK;
}
