/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The end of a run before it is done: a resource has run out, or something has ended it. */
#include "runtime/interp/interp.h"

void hiaR_wake_up(hia_worker *w) {
  atomic_store(&w->poll, 1);
  hia_parker_unpark(&w->parker);
}

void hiaR_stop_run(hia_run *run) {
  atomic_store(&run->stop, 1);
  for (unsigned i = 0; i < run->n_workers; i++) hiaR_wake_up(run->workers[i]);
}

/* `node`: of f, whose position is the innermost of the backtrace; or NONE. */
static void end_run(hia_worker *w, hia_status status, hia_frame *f, uint32_t site, uint32_t node) {
  hia_run *run = w->run;
  pthread_mutex_lock(&run->lock);
  if (!run->resource && !run->is_complete) {
    hia_backtrace *trace = &run->resource_trace;
    run->resource = status;
    if (node != HIA_NONE)
      hiaR_backtrace_push_site(trace, run->image->locs, f->section->locs[node], false);
    if (f && site != HIA_NONE) {
      const hia_child *child = &f->section->children[site];
      if (!child->is_loop)
        hiaR_backtrace_push_site(trace, run->image->locs, child->loc, child->is_tail);
    }
    if (f) hiaR_backtrace_frames(run->image, f, UINT64_MAX, trace);
  }
  pthread_mutex_unlock(&run->lock);
  hiaR_stop_run(run);
}

void hiaR_end_run(hia_worker *w, hia_status status, hia_frame *f, uint32_t site) {
  end_run(w, status, f, site, HIA_NONE);
}

void hiaR_end_at(hia_worker *w, hia_status status, hia_frame *f, uint32_t node) {
  f->waiting++; /* so that the frame is never done */
  end_run(w, status, f, HIA_NONE, node);
}
