/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
#include "runtime/native/debug/debug.h"
#include "runtime/native/debug/parts.h"
#include <errno.h>
#include <stdio.h>

static void show_gdb(const hia_debug_code *code, hia_comp *comp, hia_debug_symbols **list) {
  hia_text file;
  hiaR_text_init(&file, &comp->arena);
  hiaR_debug_symbol_file(code, &file);
  if (!hiaR_debug_register(comp->arena.allocator, &file, list))
    hiaR_throw(comp, HIA_MEMORY, "%s", hiaR_status_message(HIA_MEMORY));
}

static void show_perf(const hia_debug_code *code, hia_comp *comp, unsigned readers,
                      char why[HIA_DEBUG_WHY]) {
  hia_text map, dump;
  hiaR_text_init(&map, &comp->arena);
  hiaR_text_init(&dump, &comp->arena);
  if (readers & HIA_DEBUG_PERF_MAP) hiaR_debug_map(code, &map);
  if (readers & HIA_DEBUG_JITDUMP) hiaR_debug_dump(code, &dump);
  hiaR_debug_write(&map, &dump, why);
}

void hiaR_debug_show(const hia_allocator *allocator, const hia_debug_code *code, unsigned readers,
                     hia_debug_symbols **list, char why[HIA_DEBUG_WHY]) {
  int before = errno;
  hia_comp comp;
  why[0] = 0;
  hiaR_comp_init(&comp, allocator);
  if (HIA_TRY(&comp)) {
    if (readers & (HIA_DEBUG_PERF_MAP | HIA_DEBUG_JITDUMP)) show_perf(code, &comp, readers, why);
    if (readers & HIA_DEBUG_GDB) show_gdb(code, &comp, list);
  } else {
    snprintf(why, HIA_DEBUG_WHY, "debuggers and profilers do not know some code: %s",
             hiaR_status_message(comp.status));
  }
  hiaR_comp_free(&comp);
  errno = before;
}
