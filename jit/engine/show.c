/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Native code, shown to debuggers and profilers: the same of code that was compiled and of code
 * from the cache, since what is shown is what the cache has of it. */
#include "jit/engine/engine.h"
#include "runtime/native/debug/debug.h"

unsigned hiaJ_debug_readers(const hia_engine *engine) {
  return (hiaJ_has(engine, HIA_FLAG_GDB) ? HIA_DEBUG_GDB : 0u) |
         (hiaJ_has(engine, HIA_FLAG_PERF_MAP) ? HIA_DEBUG_PERF_MAP : 0u) |
         (hiaJ_has(engine, HIA_FLAG_JITDUMP) ? HIA_DEBUG_JITDUMP : 0u);
}

void hiaJ_show(hia_engine *engine, hia_unit *unit, const hia_units *loaded,
               const hia_entry_unit *units, uint32_t n) {
  unsigned readers = hiaJ_debug_readers(engine);
  for (uint32_t i = 0; readers && i < n; i++) {
    if (!units[i].outline_size) continue;
    const hia_debug_code code = {.text = hiaR_units_text(loaded, i),
                                 .outline = units[i].outline,
                                 .tables = units[i].tables,
                                 .places = &unit->places};
    char why[HIA_DEBUG_WHY];
    hiaR_debug_show(&engine->allocator, &code, readers, &unit->symbols, why);
    if (why[0]) hiaJ_log(engine, "%s", why);
  }
}

void hiaJ_show_compiled(hia_engine *engine, hia_unit *unit) {
  if (!hiaJ_debug_readers(engine)) return;
  const hia_entry_unit *units;
  uint32_t n;
  hia_comp comp;
  hiaR_comp_init(&comp, &engine->allocator);
  if (HIA_TRY(&comp)) {
    if (engine->backend->units(unit->code, unit->graph, &comp, &units, &n))
      hiaJ_show(engine, unit, engine->backend->loaded(unit->code), units, n);
  } else {
    hiaJ_log(engine, "debuggers and profilers do not know some code: %s",
             hiaR_status_message(comp.status));
  }
  hiaR_comp_free(&comp);
}

void hiaJ_show_side(hia_engine *engine, hia_unit *unit, const hia_loaded_code *side,
                    const hia_entry_unit *made) {
  unsigned readers = hiaJ_debug_readers(engine);
  if (!readers) return;
  const hia_debug_code code = {
      .text = hiaR_code_text(side), .outline = made->outline, .places = &unit->places};
  char why[HIA_DEBUG_WHY];
  hiaR_debug_show(&engine->allocator, &code, readers, &unit->symbols, why);
  if (why[0]) hiaJ_log(engine, "%s", why);
}
