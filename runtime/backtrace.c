/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Backtraces: kept whole up to a length; beyond it both ends are kept. */
#include "runtime/base/loc.h"
#include "runtime/runtime.h"

void hiaR_backtrace_push(hia_backtrace *backtrace, uint32_t loc) {
  uint64_t i = backtrace->length++;
  if (i < HIA_BACKTRACE_ENDS)
    backtrace->inner[i] = loc;
  else
    backtrace->outer[i % HIA_BACKTRACE_ENDS] = loc;
}

void hiaR_backtrace_push_site(hia_backtrace *backtrace, const hia_image_loc *locs, uint32_t loc,
                              bool is_tail) {
  if (loc == HIA_NONE) return;
  if (!is_tail) hiaR_backtrace_push(backtrace, loc);
  for (loc = locs[loc].parent; loc != HIA_NONE; loc = locs[loc].parent)
    if (!hiaR_loc_is_operand(locs[loc].fn)) hiaR_backtrace_push(backtrace, loc);
}

uint32_t hiaR_backtrace_entry(const hia_backtrace *backtrace, uint64_t i) {
  if (i >= backtrace->length) return HIA_NONE;
  if (i < HIA_BACKTRACE_ENDS) return backtrace->inner[i];
  if (backtrace->length - i > HIA_BACKTRACE_ENDS) return HIA_NONE;
  return backtrace->outer[i % HIA_BACKTRACE_ENDS];
}

hia_backtrace_site hiaR_backtrace_site(const hia_image_loc *locs, uint32_t loc, bool is_tail) {
  hia_backtrace_site site = {loc, is_tail, 0};
  if (loc == HIA_NONE) return site;
  site.n_entries = !is_tail;
  for (loc = locs[loc].parent; loc != HIA_NONE; loc = locs[loc].parent)
    site.n_entries += !hiaR_loc_is_operand(locs[loc].fn);
  return site;
}

void hiaR_backtrace_cut(hia_backtrace_writer *w) {
  hia_backtrace *backtrace = w->backtrace;
  for (uint64_t i = 0; i < w->n_waiting && i < HIA_BACKTRACE_ENDS; i++)
    backtrace->length += w->waiting[i].n_entries;
  memset(w->waiting, 0, sizeof w->waiting);
  w->n_waiting = 0;
  for (unsigned i = 0; i < HIA_BACKTRACE_ENDS; i++) backtrace->outer[i] = HIA_NONE;
  backtrace->is_cut = true;
}

void hiaR_backtrace_end(hia_backtrace_writer *w) {
  uint64_t n = w->n_waiting, first = n > HIA_BACKTRACE_ENDS ? n - HIA_BACKTRACE_ENDS : 0;
  for (uint64_t i = first; i < n; i++) {
    const hia_backtrace_site *site = &w->waiting[i % HIA_BACKTRACE_ENDS];
    hiaR_backtrace_push_site(w->backtrace, w->locs, site->loc, site->is_tail);
  }
}
