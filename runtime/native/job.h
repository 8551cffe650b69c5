/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Jobs: forks that were handed to other workers, or may be, from their promotion to their join
 * (docs/parallel.md). */
#ifndef HIA_JOB_H
#define HIA_JOB_H

#include "runtime/native/context.h"
#include "runtime/native/fork.h"
#include "runtime/run/runtime.h"
#include "runtime/threads/handoff.h"

/* Rows that were noted and not computed (batch/batch.h): a worker's, or those of a job that has
 * ended. */
typedef struct hia_rows {
  struct hia_row *newest, *oldest;
  uint32_t n, n_levels; /* of depths */
  uint64_t bytes;
  struct hia_owed *owed;        /* what objects get when the rows are computed, newest first */
  struct hia_row_chunk *chunks; /* the memory of all that */
} hia_rows;

typedef struct hia_job hia_job;
struct hia_job {
  hia_job *older;        /* the next in its list: an invocation's, or a context's */
  hia_context *owner;    /* the worker that promoted it */
  hia_context *thief;    /* the worker that it was handed to, or NULL */
  hia_fork_frame *frame; /* the owner's frame that holds the fork, as the one with this index */
  uint32_t index;
  hia_native_entry entry;
  const hia_fork_arg *args; /* of the fork's site: n_params */
  uint32_t n_params, n_words;
  uint64_t number; /* in a timeline */
  /* Some of its arguments are given to it. Once begun it cannot be begun again. */
  bool gives;
  /* Set by the owner: it is part of the job that the thief awaits, and so is whatever else it runs
   * on behalf of that one. If the thief ends because the awaited job is not needed any more, this
   * one is not either. */
  bool is_part;

  /* Written by the thief until it is done, then read by the owner. */
  _Atomic uint32_t is_done;
  bool is_returned; /* ended unfinished for a reason outside of it: the owner must run it itself */
  bool is_begun;
  uint64_t ns; /* that it took */
  uint64_t calls, rounds, steals;
  hia_failure failure;
  /* Results of the job may be pending. Makes its rows those of its owner, which joins it; false: no
   * memory. NULL: nothing is. */
  bool (*adopt)(hia_context *owner, hia_job *job);
  hia_rows rows;
  hia_batch_usage batch_usage;

  /* A help (crew.h): the thief looks at a phase of the owner's crew, or computes a piece of it. */
  _Atomic uint32_t is_seated;

  _Atomic uint32_t is_cancelled; /* set by the owner: its results are not needed any more */
  bool is_back;                  /* the owner runs it, or has run it, at the join */

  hia_word block[]; /* arguments, then results: n_words */
};

/* ---- job.c: their memory, and their end ---- */

/* A new job of the innermost invocation's, the newest of those promoted, without a fork and without
 * arguments; with space for `n_words`. NULL: no memory. */
hia_job *hiaR_job_new(hia_context *context, uint32_t n_words);
/* The job is in no list any more. Its block may be read until the next job is made or freed. */
void hiaR_job_free(hia_context *context, hia_job *job);
/* Looks for the end of a job for about `ns`. False: it is not done. */
bool hiaR_look_for_end(hia_job *job, uint64_t ns);
/* Waits until a job that was handed out is done. */
static inline void hiaR_await_job(hia_context *context, hia_job *job) {
  enum { LOOK_NS = 1000 };
  while (!hiaR_look_for_end(job, LOOK_NS)) {
    hia_parker_arm(&context->post.parker);
    if (!hia_is_done(&job->is_done)) hia_parker_park(&context->post.parker, HIA_MAX_BACKOFF_NS);
    hia_parker_disarm(&context->post.parker);
  }
}
/* What a job's thief has computed in batches counts as its owner's. */
static inline void hiaR_job_count(hia_context *context, const hia_job *job) {
  hia_batch_usage *all = &context->batching.usage;
  const hia_batch_usage *one = &job->batch_usage;
  context->jobs.steals += job->steals; /* also of a job that was returned */
  all->rows += one->rows;
  all->waves += one->waves;
  all->plan_ns += one->plan_ns;
  all->gather_ns += one->gather_ns;
  all->compute_ns += one->compute_ns;
  all->reused += one->reused;
}
/* Before a job is begun, by a thief or by the owner: takes the references that its callee will own
 * and that the frame keeps. */
void hiaR_job_take_references(const hia_job *job);
/* The end of an invocation that was left: cancels and awaits the jobs promoted from it. */
void hiaR_take_all_back(hia_context *context, hia_invocation *invocation);
/* Frees the large job that was freed last: its block will not be read any more. */
void hiaR_job_retire(hia_context *context);
/* Frees the memory of all jobs that are kept to be reused. */
void hiaR_jobs_free(hia_context *context);

/* ---- promote.c: latent forks become jobs ---- */

/* Promotes the oldest fork for a thief that has asked, from where compiled code is. NULL: there is
 * none, or no memory; or, *must_settle, it cannot be begun before what is pending is computed. */
hia_job *hiaR_fork_for(hia_context *context, hia_context *thief, const char *sp, uintptr_t pc,
                       uint32_t *n_frames, bool *must_settle);
/* Returns a job of the oldest latent fork, or NULL, also if `may_give` is false and it would be
 * given arguments: jobs are joined in the opposite order of their promotion. *n_frames: the number
 * of frames that were read. If these were many, some more forks are promoted and kept in reserve,
 * so that the next requests are served without a walk. A job in reserve belongs to the worker until
 * it serves a request. */
hia_job *hiaR_promote_oldest(hia_context *context, const char *sp, uintptr_t pc, bool may_give,
                             uint32_t *n_frames);
/* At a join: the job is not in reserve any more. If it was, it is the newest there. */
void hiaR_unreserve(hia_invocation *invocation, const hia_job *job);
/* True if what the worker runs is part of a job, so that it is not needed when the job is not. */
bool hiaR_is_part_of(const hia_context *context, const hia_job *job);

/* ---- pause.c: from one job to the next ---- */

#ifdef HIA_STRESS
enum { HIA_GIVE_NS = 1 };
#else
/* Between two jobs that a worker hands out, which costs it and the thief time, however little work
 * a job is (large1000 of bench/parallel.c). */
enum { HIA_GIVE_NS = 5000 };
#endif

/* The worker begins a run, or helps with one: its pause between two jobs is the shortest. */
void hiaR_pause_begin(hia_context *context);
/* A job of the worker's, which took its thief `ns`, is over. */
void hiaR_pause_adapt(hia_context *context, uint64_t ns);

/* ---- serve.c: for thieves ---- */

/* Called when the worker polls at `pc` with the stack pointer `sp`: promotes a fork and hands it
 * to the thief that has posted a request. The first poll of a run starts a team. */
void hiaR_serve(hia_context *context, const char *sp, uintptr_t pc);
/* Closes the worker's steal request. A thief that has posted gets the reply that there is no job.
 */
static inline void hiaR_close_steal_request(hia_context *context) {
  hia_mailbox *mailbox = hia_steal_request_close(&context->post.request);
  if (mailbox) hia_mailbox_reply(mailbox, NULL);
}

/* ---- steal.c: of thieves ---- */

/* Steals a job of the context's run from a member of its team. NULL: found none. `awaited`: the job
 * that the worker waits for, or NULL. `may_be_given`: it may be one with `gives`. */
hia_job *hiaR_try_steal(hia_context *context, hia_job *awaited, bool may_be_given);
/* Runs a stolen job and finishes it. */
void hiaR_run_job(hia_context *context, hia_job *job);

static inline uint32_t hiaR_random(hia_context *context) {
  uint32_t x = context->random;
  x ^= x << 13;
  x ^= x >> 17;
  x ^= x << 5;
  return context->random = x;
}

/* ---- join.c ---- */

/* The worker cannot go on, since a job was returned that it cannot run itself. Then it is part of a
 * job that is not needed (hia_job.is_part), and so is the worker: waits until it is told so.
 * Returns the status with which it must end. */
hia_status hiaR_await_end(hia_context *context);

#endif
