/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Backtraces: kept whole up to a length; beyond it both ends are kept. */
#include "runtime/base/loc.h"
#include "runtime/run/runtime.h"

void hiaR_backtrace_clear(hia_backtrace *backtrace) {
  backtrace->length = backtrace->n_rows = backtrace->n_elements = 0;
  backtrace->is_cut = false;
}

void hiaR_backtrace_push(hia_backtrace *backtrace, uint32_t loc) {
  uint64_t i = backtrace->length++;
  if (i < HIA_BACKTRACE_ENDS)
    backtrace->inner[i] = loc;
  else
    backtrace->outer[i % HIA_BACKTRACE_ENDS] = loc;
}

/* The rows of a location are its parents up to the next one that is of a function. The location of
 * a call that is not in the backtrace has none that count: what is called has them. */
void hiaR_backtrace_push_site(hia_backtrace *backtrace, const hia_image_loc *locs, uint32_t loc,
                              bool is_tail) {
  if (loc == HIA_NONE) return;
  bool counts = !is_tail;
  if (counts) hiaR_backtrace_push(backtrace, loc);
  for (loc = locs[loc].parent; loc != HIA_NONE; loc = locs[loc].parent) {
    if (hiaR_loc_is_element(locs[loc].fn)) backtrace->n_rows += counts;
    if (hiaR_loc_is_mark(locs[loc].fn)) continue;
    hiaR_backtrace_push(backtrace, loc);
    counts = true;
  }
}

uint32_t hiaR_backtrace_entry(const hia_backtrace *backtrace, uint64_t i) {
  if (i >= backtrace->length) return HIA_NONE;
  if (i < HIA_BACKTRACE_ENDS) return backtrace->inner[i];
  if (backtrace->length - i > HIA_BACKTRACE_ENDS) return HIA_NONE;
  return backtrace->outer[i % HIA_BACKTRACE_ENDS];
}

void hiaR_backtrace_push_element(hia_backtrace *backtrace, int64_t index) {
  uint64_t i = backtrace->n_elements++;
  if (i < HIA_BACKTRACE_ENDS)
    backtrace->inner_elements[i] = index;
  else
    backtrace->outer_elements[i % HIA_BACKTRACE_ENDS] = index;
}

bool hiaR_backtrace_element(const hia_backtrace *backtrace, uint64_t i, int64_t *index) {
  uint64_t n = backtrace->n_elements;
  if (backtrace->is_cut || n != backtrace->n_rows || i >= n) return false;
  if (i >= HIA_BACKTRACE_ENDS && n - i > HIA_BACKTRACE_ENDS) return false;
  *index = i < HIA_BACKTRACE_ENDS ? backtrace->inner_elements[i]
                                  : backtrace->outer_elements[i % HIA_BACKTRACE_ENDS];
  return true;
}

uint32_t hiaR_backtrace_rows(const hia_image_loc *locs, uint32_t loc) {
  uint32_t n = 0;
  while ((loc = locs[loc].parent) != HIA_NONE && hiaR_loc_is_mark(locs[loc].fn))
    n += hiaR_loc_is_element(locs[loc].fn);
  return n;
}

hia_backtrace_site hiaR_backtrace_site(const hia_image_loc *locs, uint32_t loc, bool is_tail) {
  hia_backtrace_site site = {.loc = loc, .is_tail = is_tail};
  hia_backtrace counted;
  hiaR_backtrace_clear(&counted);
  hiaR_backtrace_push_site(&counted, locs, loc, is_tail);
  site.n_entries = (uint32_t)counted.length;
  site.n_rows = (uint32_t)counted.n_rows;
  return site;
}

void hiaR_backtrace_cut(hia_backtrace_writer *w) {
  hia_backtrace *backtrace = w->backtrace;
  for (uint64_t i = 0; i < w->n_waiting && i < HIA_BACKTRACE_ENDS; i++)
    backtrace->length += w->waiting[i].n_entries; /* of a cut one, rows need no number */
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
