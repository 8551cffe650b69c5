/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Profiles by sampling, of the interpreter (run/sampler.h): a tick makes the workers of a run poll,
 * and there they read their backtraces; those of memory are taken at the nodes that take it. */
#include "runtime/interp/interp.h"
#include "runtime/run/sampler.h"

/* A sample of a deep recursion has so many calls, the innermost: to read a million would take
 * longer than from one tick to the next. */
enum { SAMPLED_FRAMES = 500 };

static void wake(void *worker) {
  hia_worker *w = worker;
  atomic_store_explicit(&w->poll, 1, memory_order_relaxed);
}

void hiaR_samples_begin(hia_worker *w) {
  hia_sampler *sampler = w->run->limits->sampler;
  if (sampler) (void)hiaR_sampler_due(sampler, &w->sampled);
  hiaR_sampler_enter(sampler, wake, w);
  hiaR_sampler_begin_bytes(sampler, &w->heap);
}

void hiaR_samples_end(hia_worker *w) {
  hia_sampler *sampler = w->run->limits->sampler;
  hiaR_sampler_end_bytes(sampler, &w->heap);
  hiaR_sampler_leave(sampler, w);
}

void hiaR_samples_look(hia_worker *w, const hia_frame *f) {
  hia_sampler *sampler = w->run->limits->sampler;
  uint32_t due = sampler ? hiaR_sampler_due(sampler, &w->sampled) : 0;
  if (!due) return;
  hia_backtrace backtrace;
  hiaR_backtrace_clear(&backtrace);
  hiaR_backtrace_frames(w->run->image, f, SAMPLED_FRAMES, &backtrace);
  hiaR_sample(sampler, &backtrace, due);
}

void hiaR_samples_took(hia_worker *w, const hia_frame *f, uint32_t node) {
  hia_sampler *sampler = w->run->limits->sampler;
  uint32_t due = hiaR_sampler_due_bytes(sampler, &w->heap);
  hia_backtrace backtrace;
  hiaR_backtrace_clear(&backtrace);
  hiaR_backtrace_push_site(&backtrace, w->run->image->locs, f->section->locs[node], false);
  hiaR_backtrace_frames(w->run->image, f, SAMPLED_FRAMES, &backtrace);
  hiaR_sample_bytes(sampler, &backtrace, due);
}
