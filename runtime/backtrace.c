/* Chains of calls: kept whole up to a length, beyond it both ends. */
#include "runtime/runtime.h"

void hiaR_trace_push(hia_trace *trace, uint32_t loc) {
  uint64_t i = trace->length++;
  if (i < HIA_TRACE_ENDS)
    trace->inner[i] = loc;
  else
    trace->outer[i % HIA_TRACE_ENDS] = loc;
}

void hiaR_trace_push_site(hia_trace *trace, const hia_image_loc *locs, uint32_t loc, bool is_tail) {
  if (loc == HIA_NONE) return;
  if (!is_tail) hiaR_trace_push(trace, loc);
  for (loc = locs[loc].parent; loc != HIA_NONE; loc = locs[loc].parent) hiaR_trace_push(trace, loc);
}

uint32_t hiaR_trace_entry(const hia_trace *trace, uint64_t i) {
  if (i >= trace->length) return HIA_NONE;
  if (i < HIA_TRACE_ENDS) return trace->inner[i];
  if (trace->length - i > HIA_TRACE_ENDS) return HIA_NONE;
  return trace->outer[i % HIA_TRACE_ENDS];
}

hia_trace_site hiaR_trace_site(const hia_image_loc *locs, uint32_t loc, bool is_tail) {
  hia_trace_site site = {loc, is_tail, 0};
  if (loc == HIA_NONE) return site;
  site.n_entries = !is_tail;
  for (loc = locs[loc].parent; loc != HIA_NONE; loc = locs[loc].parent) site.n_entries++;
  return site;
}

void hiaR_trace_cut(hia_trace_writer *w) {
  hia_trace *trace = w->trace;
  for (uint64_t i = 0; i < w->n_waiting && i < HIA_TRACE_ENDS; i++)
    trace->length += w->waiting[i].n_entries;
  memset(w->waiting, 0, sizeof w->waiting);
  w->n_waiting = 0;
  for (unsigned i = 0; i < HIA_TRACE_ENDS; i++) trace->outer[i] = HIA_NONE;
  trace->is_cut = true;
}

void hiaR_trace_end(hia_trace_writer *w) {
  uint64_t n = w->n_waiting, first = n > HIA_TRACE_ENDS ? n - HIA_TRACE_ENDS : 0;
  for (uint64_t i = first; i < n; i++) {
    const hia_trace_site *site = &w->waiting[i % HIA_TRACE_ENDS];
    hiaR_trace_push_site(w->trace, w->locs, site->loc, site->is_tail);
  }
}
