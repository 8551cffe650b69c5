/* Functions as functions of C, and the contexts that they are called with. */
#include "jit/engine.h"
#include "runtime/context.h"

static hia_status begin(hia_function *f, hia_native_fn *out, hia_error **error) {
  if (error) *error = NULL;
  if (out) *out = NULL;
  if (!f) return hiaJ_fail(&hiaR_malloc, error, HIA_ARGUMENT, NULL, "no function");
  const hia_engine *engine = f->module->engine;
  if (!out)
    return hiaJ_fail(&engine->allocator, error, HIA_ARGUMENT, NULL, "no place for the entry");
  if (f->is_generic)
    return hiaJ_fail(&engine->allocator, error, HIA_ARGUMENT, "name an instance, as in fact(i64)",
                     "`%s` is generic: it has no code of its own", f->signature);
  if (engine->options.kind != HIA_ENGINE_JIT)
    return hiaJ_fail(&engine->allocator, error, HIA_UNSUPPORTED,
                     "call it with hia_call, or make an engine of kind HIA_ENGINE_JIT",
                     "this engine makes no native code");
  return hiaJ_ready(f, HIA_VERSION_PLAIN, error);
}

hia_status hia_function_entry(hia_function *f, hia_native_fn *entry, hia_error **error) {
  hia_status status = begin(f, entry, error);
  if (status != HIA_OK) return status;
  const hia_engine *engine = f->module->engine;
  const hia_fn_version *version = &f->versions[HIA_VERSION_PLAIN];
  *entry = engine->backend->typed(version->unit->code, version->root);
  if (*entry) return HIA_OK;
  return hiaJ_fail(&engine->allocator, error, HIA_INTERNAL, NULL, "`%s` has no typed entry",
                   f->name);
}

typedef struct asking {
  hia_function *function;
  hia_native_fn plain;
} asking;

/* In a try: the graph is the module's. */
static hia_status ask_plain(hia_module *module, void *user, hia_error **error) {
  asking *want = user;
  const hia_function *f = want->function;
  const hia_fn_version *version = &f->versions[HIA_VERSION_PLAIN];
  const hia_unit *unit = version->unit;
  const hia_engine *engine = module->engine;
  const char *why = NULL;
  want->plain = engine->backend->plain(unit->code, unit->graph, version->root, &why);
  if (want->plain) return HIA_OK;
  return hiaJ_fail(&engine->allocator, error, why ? HIA_UNSUPPORTED : HIA_INTERNAL,
                   "hia_function_entry has it with a context and a status",
                   "`%s` cannot be a plain function: %s", f->name, why ? why : "it has none");
}

hia_status hia_function_plain(hia_function *f, hia_native_fn *plain, hia_error **error) {
  hia_status status = begin(f, plain, error);
  if (status != HIA_OK) return status;
  asking want = {.function = f};
  status = hiaJ_module_try(f->module, error, ask_plain, &want);
  if (status == HIA_OK) *plain = want.plain;
  return status;
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
