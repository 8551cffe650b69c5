/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Jobs: their memory, and what becomes of them when the invocation that promoted them ends.
 *
 * A job belongs to its owner, which allocates it, joins or cancels it, and frees it. A thief
 * writes to it between taking it out of its mailbox and finishing it, and not afterwards. */
#include "runtime/native/job.h"
#include "runtime/heap/object.h"
#include "runtime/native/context.h"

enum { SMALL = 16 }; /* words of a job that is reused */

static size_t job_size(uint32_t n_words) {
  if (n_words < SMALL) n_words = SMALL;
  return sizeof(hia_job) + n_words * sizeof(hia_word);
}

static hia_job *take_spare(hia_context *context, uint32_t n_words) {
  hia_job *job = n_words <= SMALL ? context->jobs.spare : NULL;
  if (job) {
    context->jobs.spare = job->older;
    return job;
  }
  const hia_allocator *a = context->allocator;
  job = a->alloc(a->user, job_size(n_words));
  if (job) job->n_words = n_words < SMALL ? SMALL : n_words;
  return job;
}

hia_job *hiaR_job_new(hia_context *context, uint32_t n_words) {
  hia_invocation *invocation = context->invocation;
  hia_job *job = take_spare(context, n_words);
  if (!job) return NULL;
  job->older = invocation->promoted;
  job->owner = context;
  job->thief = NULL;
  job->frame = NULL;
  job->n_params = 0;
  job->gives = false;
  atomic_store_explicit(&job->is_done, 0, memory_order_relaxed);
  atomic_store_explicit(&job->is_seated, 0, memory_order_relaxed);
  atomic_store_explicit(&job->is_cancelled, 0, memory_order_relaxed);
  job->is_returned = job->is_back = job->is_begun = job->is_part = false;
  job->calls = job->rounds = job->steals = 0;
  job->failure.status = HIA_OK;
  job->adopt = NULL;
  job->batch_usage = (hia_batch_usage){0};
  invocation->promoted = job;
  return job;
}

void hiaR_job_retire(hia_context *context) {
  hia_job *job = context->jobs.retired;
  context->jobs.retired = NULL;
  if (job) hiaR_free(context->allocator, job, job_size(job->n_words));
}

void hiaR_job_free(hia_context *context, hia_job *job) {
  if (job->n_words > SMALL) {
    hiaR_job_retire(context);
    context->jobs.retired = job;
    return;
  }
  job->older = context->jobs.spare;
  context->jobs.spare = job;
}

void hiaR_jobs_free(hia_context *context) {
  hiaR_job_retire(context);
  while (context->jobs.spare) {
    hia_job *job = context->jobs.spare;
    context->jobs.spare = job->older;
    hiaR_free(context->allocator, job, job_size(job->n_words));
  }
}

void hiaR_job_take_references(const hia_job *job) {
  for (uint32_t i = 0; i < job->n_params; i++)
    if (job->args[i].handing == HIA_FORK_SHARES) hiaR_dup(job->block[i], true);
}

bool hiaR_look_for_end(hia_job *job, uint64_t ns) {
  uint64_t start = hiaR_now();
  do {
    for (unsigned i = 0; i < 16; i++) {
      if (hia_is_done(&job->is_done)) return true;
      HIA_PAUSE();
    }
  } while (hiaR_now() - start < ns);
  return false;
}

/* ---- cancelling ---- */

static void cancel(hia_job *job) {
  atomic_store(&job->is_cancelled, 1);
  atomic_store(&job->thief->post.has_cancelled_job, 1);
  hiaR_poke(job->thief);
}

void hiaR_take_all_back(hia_context *context, hia_invocation *invocation) {
  for (hia_job *job = invocation->promoted; job; job = job->older) {
    if (job->is_back || hia_is_done(&job->is_done)) continue;
    job->is_back = hia_mailbox_take_back(&job->thief->post.mailbox, job);
    if (!job->is_back) cancel(job);
  }
  while (invocation->promoted) {
    hia_job *job = invocation->promoted;
    invocation->promoted = job->older;
    if (!job->is_back) hiaR_await_job(context, job);
    hiaR_job_count(context, job);
    hiaR_job_free(context, job);
  }
}
