/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Promotion: the oldest latent fork of a worker, found by a walk over the frames of its stack,
 * becomes a job for the thief that has asked (fork.h). */
#include "runtime/heap/object.h"
#include "runtime/heap/tensor.h"
#include "runtime/native/context.h"
#include "runtime/native/driver.h"
#include "runtime/native/job.h"
#include "runtime/native/walker.h"

enum { MAX_TESTED = 16 }; /* arguments of a fork that is tested for whether it pays */

#ifdef HIA_STRESS
enum { MAX_FRAMES = 50, FRAMES_A_RESERVE = 8 };
enum { GIVES_ALL = true }; /* also forks that do not pay */
#else
enum {
  MAX_FRAMES = 20000,     /* frames of a stack that a worker looks at */
  FRAMES_A_RESERVE = 128, /* for each so many frames it promotes one fork more */
  GIVES_ALL = false,
};
#endif

/* A latent fork: its frame, and its site in the code. */
typedef struct latent {
  hia_fork_frame *frame; /* NULL: there is none */
  const hia_fork_site *site;
  const hia_fork_arg *args; /* the site's */
  uintptr_t entry;
} latent;

/* The innermost open site at the address where a frame stands, or HIA_NONE. */
static HIA_UNINSTRUMENTED uint32_t innermost(const hia_frame_row *row,
                                             const hia_fork_frame *frame) {
  uint32_t number = row->number;
  if (number == HIA_FORKS_UNKNOWN) {
    if (!row->forks.keeps_number) return HIA_NONE;
    number = (uint32_t)frame->words[0]; /* the lower half of it was written */
  }
  return number < HIA_FORKS_OPEN ? HIA_NONE : number - HIA_FORKS_OPEN;
}

/* In canonical form. */
static HIA_UNINSTRUMENTED hia_word argument(const hia_fork_frame *frame, const hia_fork_arg *arg) {
  if (arg->word == HIA_NONE) return (hia_word)arg->addend;
  hia_word word = frame->words[arg->word]; /* as many bytes as the type has were written */
  word = hiaR_load((hia_repr)arg->repr, &word);
  word += (uint64_t)arg->addend; /* 0, but for integers */
  return arg->repr == HIA_REPR_I32 ? hiaR_from_i32(hiaR_to_i32(word)) : word;
}

/* A fork that does not pay never does, so the oldest of an invocation's others still go first. */
static HIA_UNINSTRUMENTED bool pays(const hia_fork_map *forks, const hia_fork_site *site,
                                    const hia_fork_frame *frame) {
  hia_word args[MAX_TESTED];
  if (GIVES_ALL || !site->pays || site->n_params > MAX_TESTED) return true;
  for (uint32_t i = 0; i < site->n_params; i++)
    args[i] = argument(frame, &forks->args[site->first_arg + i]);
  return ((hia_fork_pays)(forks->base + (uintptr_t)site->pays))(args) != 0;
}

/* The oldest latent forks of the innermost invocation, or of its newest frames if it is very deep:
 * a ring of those met last on the way from the newest frame to the oldest. */
typedef struct latent_ring {
  latent forks[1 + HIA_MAX_RESERVED];
  uint32_t n_found, n_frames;
} latent_ring;

/* Frames older than the one from which the last fork was promoted hold none, or none that may be
 * handed out: they have not run since, and that fork was the oldest. */
static HIA_UNINSTRUMENTED void find_oldest(const hia_context *context, const char *sp, uintptr_t pc,
                                           latent_ring *ring) {
  const hia_job *last = context->invocation->promoted;
  const hia_driver *driver = hiaR_driver_outermost(context->invocation);
  hia_stack_walker walker;
  hiaR_stack_walker_start(&walker, context, sp, pc);
  if (driver) { /* forks of its iterations stay latent */
    walker.sp = driver->bridge.sp;
    walker.pc = driver->bridge.pc;
    walker.bridge = driver->bridge.outer;
  }
  for (; ring->n_frames < MAX_FRAMES && hiaR_stack_walker_next(&walker); ring->n_frames++) {
    const hia_fork_map *forks = &walker.row->forks;
    if (!forks->n_sites) continue;
    hia_fork_frame *frame = (hia_fork_frame *)(walker.sp + walker.row->cfa - forks->below);
    for (uint32_t s = innermost(walker.row, frame); s < forks->n_sites;
         s = forks->sites[s].around) {
      const hia_fork_site *site = &forks->sites[s];
      if (!frame->is_taken[site->index] && site->entry && pays(forks, site, frame))
        ring->forks[ring->n_found++ % HIA_LEN(ring->forks)] = (latent){
            frame, site, forks->args + site->first_arg, forks->base + (uintptr_t)site->entry};
    }
    if (last && last->frame == frame) break;
  }
}

static HIA_UNINSTRUMENTED void take(const latent *fork, hia_job *job) {
  job->frame = fork->frame;
  job->index = fork->site->index;
  job->entry = (hia_native_entry)fork->entry;
  job->args = fork->args;
  job->gives = fork->site->gives;
  job->n_params = fork->site->n_params;
  for (uint32_t i = 0; i < job->n_params; i++)
    job->block[i] = argument(fork->frame, &fork->args[i]);
  fork->frame->is_taken[job->index] = 1;
}

/* NULL: no memory. The fork then stays latent. */
static hia_job *promote(hia_context *context, const latent *fork) {
  hia_job *job = hiaR_job_new(context, fork->site->n_params + fork->site->n_results);
  if (job) take(fork, job);
  return job;
}

bool hiaR_is_part_of(const hia_context *context, const hia_job *job) {
  const hia_invocation *i = context->invocation;
  while (i && i->job != job && i->is_part) i = i->outer;
  return i && i->job == job;
}

/* Returns a job of the oldest latent fork, or NULL, also if `may_give` is false and it would be
 * given arguments: jobs are joined in the opposite order of their promotion. *n_frames: the number
 * of frames that were read. If these were many, some more forks are promoted and kept in reserve,
 * so that the next requests are served without a walk. A job in reserve belongs to the worker until
 * it serves a request. */
hia_job *hiaR_promote_oldest(hia_context *context, const char *sp, uintptr_t pc, bool may_give,
                             uint32_t *n_frames) {
  hia_invocation *invocation = context->invocation;
  *n_frames = 0;
  if (invocation->n_reserved) {
    hia_job *job = invocation->reserved[0];
    if (job->gives && !may_give) return NULL;
    invocation->n_reserved--;
    memmove(invocation->reserved, invocation->reserved + 1,
            invocation->n_reserved * sizeof(hia_job *));
    job->is_back = false;
    return job;
  }
  latent_ring ring = {.n_found = 0};
  find_oldest(context, sp, pc, &ring);
  *n_frames = ring.n_frames;
  if (!ring.n_found) return NULL;
  uint32_t at = ring.n_found, n = ring.n_frames / FRAMES_A_RESERVE;
  if (ring.forks[(at - 1) % HIA_LEN(ring.forks)].site->gives && !may_give) return NULL;
  hiaR_job_retire(context);
  hia_job *job = promote(context, &ring.forks[--at % HIA_LEN(ring.forks)]);
  if (n > HIA_MAX_RESERVED - 1) n = HIA_MAX_RESERVED - 1; /* and the job, if it is put back */
  for (; job && n && at; n--) {
    hia_job *next = promote(context, &ring.forks[--at % HIA_LEN(ring.forks)]);
    if (!next) break;
    next->is_back = true;
    invocation->reserved[invocation->n_reserved++] = next;
  }
  return job;
}

/* At its join a job that is in reserve is the newest there. */
void hiaR_unreserve(hia_invocation *invocation, const hia_job *job) {
  uint32_t n = invocation->n_reserved;
  if (n && invocation->reserved[n - 1] == job) invocation->n_reserved--;
}

/* Puts the job that hiaR_promote_oldest has returned back, so that it is returned next time. */
static inline void reserve(hia_invocation *invocation, hia_job *job) {
  memmove(invocation->reserved + 1, invocation->reserved,
          invocation->n_reserved * sizeof(hia_job *));
  invocation->reserved[0] = job;
  invocation->n_reserved++;
  job->is_back = true;
}

/* True if an argument is a pending tensor, or may lead to one: another worker could not compute it.
 */
static bool may_await(const hia_job *job) {
  for (uint32_t i = 0; i < job->n_params; i++) {
    unsigned holding = job->args[i].holding;
    if (holding == HIA_FORK_HOLDS_TENSORS) return true;
    if (holding == HIA_FORK_HOLDS_TENSOR && hiaR_object(job->block[i])->ctor == HIA_TENSOR_PENDING)
      return true;
  }
  return false;
}

hia_job *hiaR_fork_for(hia_context *context, hia_context *thief, const char *sp, uintptr_t pc,
                       uint32_t *n_frames, bool *must_settle) {
  /* The thief found this worker in its own run, but the worker may have gone to another since. */
  bool is_part = thief->post.awaited && hiaR_is_part_of(context, thief->post.awaited);
  bool may_give = (is_part || !thief->post.awaited) && thief->post.may_be_given;
  *n_frames = 0;
  *must_settle = false;
  if (thief->run.team != context->run.team) return NULL;
  hia_job *job = hiaR_promote_oldest(context, sp, pc, may_give, n_frames);
  if (!job) return NULL;
  if (context->batching.settle && may_await(job)) {
    reserve(context->invocation, job);
    *must_settle = true;
    return NULL;
  }
  context->is_shared = 1;
  hiaR_note_processor(context);
  job->is_part = is_part;
  job->thief = thief;
  job->number = hiaR_event_promoted(context->run.ring);
  return job;
}
