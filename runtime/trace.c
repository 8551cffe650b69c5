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
