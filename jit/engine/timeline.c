/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* What the engine records in the timeline of a run: how long compiling took, and the names of the
 * functions that jobs may call. */
#include "jit/engine/engine.h"
#include "runtime/run/events.h"
#include <stdio.h>

uint32_t hiaJ_timeline_name(hia_timeline *timeline, const hia_fn_version *version) {
  const char *name = version->function->name;
  unsigned number = hiaJ_number_of(version->traits);
  if (!number) return hiaR_timeline_name(timeline, name);
  char text[256];
  snprintf(text, sizeof text, "%.200s, version %u", name, number);
  return hiaR_timeline_name(timeline, text);
}

/* Records the phases of a unit. The unit keeps how long each phase took and, for each
 * sequence of phases without a break, when the first began or the last ended. */
static void record_phases(hia_timeline *timeline, const hia_fn_version *version) {
  const hia_unit *unit = version->unit;
  const hia_module *module = version->function->module;
  const hia_function_stats *s = &unit->stats;
  uint32_t file = hiaR_timeline_name(timeline, module->source.name);
  uint32_t name = hiaJ_timeline_name(timeline, version);
  uint64_t parsed = module->load_at + module->parse_ns;
  uint64_t optimized = unit->compiled_at - s->codegen_ns, emitted = optimized - s->optimize_ns;
  const hia_span spans[] = {
      {"parse", file, module->load_at, parsed},
      {"check", file, parsed, parsed + module->check_ns},
      {"build", name, unit->build_at, unit->build_at + s->build_ns},
      {"passes", name, unit->passes_at, unit->passes_at + s->passes_ns},
      {"flatten", name, unit->flatten_at, unit->flatten_at + s->flatten_ns},
      {"open", HIA_NONE, unit->open_at, unit->open_at + s->open_ns},
      {"set up", name, unit->open_at + s->open_ns, emitted - s->emit_ns}, /* LLVM's own state */
      {"emit", name, emitted - s->emit_ns, emitted},
      {"optimize", name, emitted, optimized},
      {"codegen", name, optimized, unit->compiled_at},
      {"load", name, unit->loaded_at - s->load_ns, unit->loaded_at},
  };
  for (size_t i = 0; i < HIA_LEN(spans); i++) hiaR_timeline_span(timeline, &spans[i]);
}

/* Records the functions that jobs may call. */
static void record_callees(hia_timeline *timeline, const hia_backend *backend,
                           const hia_unit *unit) {
  for (hia_fn_id id = 0; hiaJ_has_code(unit) && id < unit->facts.n_fns; id++) {
    hia_native_entry entry =
        unit->units ? (hia_native_entry)(uintptr_t)hiaR_units_entries(unit->units)[id].entry
                    : backend->entry(unit->code, id);
    if (entry) hiaR_timeline_callee(timeline, (uintptr_t)entry, unit->facts.names[id]);
  }
}

void hiaJ_timeline_version(hia_timeline *timeline, const hia_fn_version *version) {
  hia_module *module = version->function->module;
  pthread_mutex_lock(&module->lock);
  hia_unit *unit = version->unit;
  if (unit->recorded_at != timeline->made_at) {
    record_phases(timeline, version);
    record_callees(timeline, module->engine->backend, unit);
  }
  unit->recorded_at = timeline->made_at;
  pthread_mutex_unlock(&module->lock);
}

hia_status hiaJ_timeline_begin(hia_timeline *timeline, const hia_function *f,
                               const hia_fn_version *version, hia_error **error) {
  if (!timeline) return HIA_OK;
  if (!hiaR_timeline_open(timeline, false))
    return hiaJ_fail(&f->module->engine->allocator, error, HIA_ARGUMENT, NULL,
                     "the timeline is in use: it is being written out");
  hiaJ_timeline_version(timeline, version);
  return HIA_OK;
}

void hiaJ_timeline_end(hia_timeline *timeline) {
  if (timeline) hiaR_timeline_close(timeline, false);
}
