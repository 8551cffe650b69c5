/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Forks that thieves take: promotion to jobs, joins, the actions of a waiting worker, and the end
 * of jobs whose results are not needed any more (docs/parallel.md). Thieves request work from the
 * owner, which keeps its forks private, as in "Scheduling parallel programs by work stealing with
 * private deques" (Acar, Chargueraud, Rainey 2013); the owner replies at a safepoint.
 *
 * A job belongs to its owner, which allocates it, joins or cancels it, and frees it. A thief
 * writes to it between taking it out of its mailbox and finishing it, and not afterwards.
 *
 * Why no workers wait in a circle: an invocation waits only for a job that was begun after it, and
 * for what is stacked on it, which was begun after it too. */
#include "runtime/heap/object.h"
#include "runtime/native/context.h"
#include "runtime/tensor/tensor.h"

enum { SMALL = 16 };      /* words of a job that is reused */
enum { MAX_TESTED = 16 }; /* arguments of a fork that is tested for whether it pays */

#ifdef HIA_STRESS
enum {
  STACK_SHARE = 8,
  STACK_SHARE_GIVEN = 2,
  GIVE_NS = 1,
  BRIEF_NS = 0,
  MANY_BRIEF = 1,
  MAX_GIVE_NS = 1,
  FRAME_NS = 1,
  MAX_FRAMES = 50,
  FRAMES_A_RESERVE = 8
};
enum { GIVES_ALL = true }; /* also forks that do not pay */
#else
enum {
  STACK_SHARE = 2,       /* a join takes a job if 1/STACK_SHARE of the depth is left */
  STACK_SHARE_GIVEN = 8, /* one that cannot be returned if at most so much of it is used */
  GIVE_NS = 5000,        /* between two jobs that a worker hands out, which costs it and the thief
                            time, however little work a job is (large1000 of bench/parallel.c) */
  BRIEF_NS = 5000,       /* of a job that gains its owner nothing */
  MANY_BRIEF = 16,       /* such jobs, and none that took longer, after which the pause doubles with
                            each further one. Fewer say little: in tak small forks come before large
                            ones */
  MAX_GIVE_NS = 80000,   /* the longest pause */
  FRAME_NS = 100,        /* more for each frame that it looked at, which takes 5 ns */
  MAX_FRAMES = 20000,    /* of a stack that a worker looks at */
  FRAMES_A_RESERVE = 128, /* for each so many frames it promotes one fork more */
  GIVES_ALL = false,
};
#endif
enum {
  REPLY_NS = 1000, /* how long a thief looks for the reply before it sleeps; by then the victim
                       must have come to a safepoint, unless it is not running */
  AGAIN_NS = 5000, /* how long a thief sleeps before it sets the victim's limit again */
  MAX_AGAIN = 40,  /* times, after which it goes to another victim */
  LOOK_NS = 300,   /* how long a join looks for its job's end before it tries to steal again */
};

/* ---- jobs ---- */

static size_t job_size(uint32_t n_words) {
  if (n_words < SMALL) n_words = SMALL;
  return sizeof(hia_job) + n_words * sizeof(hia_word);
}

static hia_job *take_spare(hia_context *context, uint32_t n_words) {
  hia_job *job = n_words <= SMALL ? context->spare : NULL;
  if (job) {
    context->spare = job->older;
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
  atomic_store_explicit(&job->is_cancelled, 0, memory_order_relaxed);
  job->is_returned = job->is_back = job->is_begun = job->is_part = false;
  job->calls = job->rounds = job->steals = 0;
  job->failure.status = HIA_OK;
  job->adopt = NULL;
  job->batch_usage = (hia_batch_usage){0};
  invocation->promoted = job;
  return job;
}

static void retire(hia_context *context) {
  hia_job *job = context->retired;
  context->retired = NULL;
  if (job) hiaR_free(context->allocator, job, job_size(job->n_words));
}

void hiaR_job_free(hia_context *context, hia_job *job) {
  if (job->n_words > SMALL) {
    retire(context);
    context->retired = job;
    return;
  }
  job->older = context->spare;
  context->spare = job;
}

void hiaR_jobs_free(hia_context *context) {
  retire(context);
  while (context->spare) {
    hia_job *job = context->spare;
    context->spare = job->older;
    hiaR_free(context->allocator, job, job_size(job->n_words));
  }
}

static uint32_t random_number(hia_context *context) {
  uint32_t x = context->random;
  x ^= x << 13;
  x ^= x >> 17;
  x ^= x << 5;
  return context->random = x;
}

/* ---- promoting and handing out ---- */

/* A latent fork: its frame, and its site in the code. */
typedef struct latent {
  hia_fork_frame *frame; /* NULL: there is none */
  const hia_fork_site *site;
  const hia_fork_arg *args; /* the site's */
  uintptr_t entry;
} latent;

/* The innermost open site at the place where a frame stands, or HIA_NONE. */
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
  hia_stack_walker walker;
  hiaR_stack_walker_start(&walker, context, sp, pc);
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
static hia_job *oldest(hia_context *context, const char *sp, uintptr_t pc, bool may_give,
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
  retire(context);
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
static void unreserve(hia_invocation *invocation, const hia_job *job) {
  uint32_t n = invocation->n_reserved;
  if (n && invocation->reserved[n - 1] == job) invocation->n_reserved--;
}

/* Puts the job that `oldest` has returned back, so that it is returned next time. */
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
  bool is_part = thief->awaited && hiaR_is_part_of(context, thief->awaited);
  bool may_give = (is_part || !thief->awaited) && thief->may_be_given;
  *n_frames = 0;
  *must_settle = false;
  if (thief->team != context->team) return NULL;
  hia_job *job = oldest(context, sp, pc, may_give, n_frames);
  if (!job) return NULL;
  if (context->settle && may_await(job)) {
    reserve(context->invocation, job);
    *must_settle = true;
    return NULL;
  }
  context->is_shared = 1;
  hiaR_note_processor(context);
  job->is_part = is_part;
  job->thief = thief;
  job->number = hiaR_event_promoted(context->ring);
  return job;
}

/* Replies with a job, or with none. Returns how many frames it had to look at. */
static uint32_t serve_thief(hia_context *context, hia_mailbox *mailbox, const char *sp,
                            uintptr_t pc) {
  uint32_t n_frames;
  bool must_settle;
  hia_job *job = hiaR_fork_for(context, hiaR_context_of(mailbox), sp, pc, &n_frames, &must_settle);
  hia_mailbox_reply(mailbox, job);
  /* The job is for the next request. This thief soon asks again, and helps to compute. */
  if (must_settle) context->settle(context, sp, pc);
  return n_frames;
}

void hiaR_gives_begin(hia_context *context) {
  context->pause = GIVE_NS;
  context->n_brief = 0;
}

/* A job of the worker's, which took its thief `ns`, is over. */
static void adapt_pause(hia_context *context, uint64_t ns) {
  if (ns > BRIEF_NS)
    hiaR_gives_begin(context);
  else if (++context->n_brief > MANY_BRIEF && context->pause < MAX_GIVE_NS)
    context->pause *= 2;
}

void hiaR_serve(hia_context *context, const char *sp, uintptr_t pc) {
  if (!context->team) {
    context->team = hiaR_team_new(context);
    if (!context->team)
      context->pool = NULL; /* no memory: the run goes on with this worker alone */
    return;
  }
  uint64_t now = hiaR_now();
  bool is_soon = now < context->gives_from; /* the thief sets the limit again */
  hia_mailbox *mailbox = is_soon ? NULL : hia_steal_request_poll(&context->request);
  if (context->sharing.is_open) {
    if (mailbox) context->sharing.serve(context, mailbox);
    return;
  }
  if (mailbox) {
    uint64_t pause = (uint64_t)serve_thief(context, mailbox, sp, pc) * FRAME_NS;
    context->gives_from = now + (pause > context->pause ? pause : context->pause);
  }
#ifdef HIA_STRESS
  /* Every third fork becomes a job that its owner finds at the join. */
  if (!mailbox && random_number(context) % 3 == 0) {
    uint32_t ignored;
    hia_job *job = oldest(context, sp, pc, true, &ignored);
    if (job) job->is_back = true;
  }
#endif
}

void hiaR_close_steal_request(hia_context *context) {
  hia_mailbox *mailbox = hia_steal_request_close(&context->request);
  if (mailbox) hia_mailbox_reply(mailbox, NULL);
}

/* ---- stealing ---- */

static bool is_over(hia_context *context, hia_job *awaited) {
  return (awaited && hia_is_done(&awaited->is_done)) || atomic_load(&context->team->stop) ||
         hia_rundown_is_closed(&context->team->rundown);
}

/* Looks for the reply for about `ns`. Returns true once it is there; false also if no job is
 * needed any more. */
static bool await_reply(hia_context *context, hia_job *awaited, uint64_t ns) {
  uint64_t start = hiaR_now();
  do {
    for (unsigned i = 0; i < 16; i++) {
      if (hia_mailbox_has_reply(&context->mailbox)) return true;
      HIA_PAUSE();
    }
    if (is_over(context, awaited)) return false;
  } while (hiaR_now() - start < ns);
  return false;
}

/* True if the reply is there, or no job is needed any more. */
static bool is_settled(hia_context *context, hia_job *awaited) {
  return hia_mailbox_has_reply(&context->mailbox) || is_over(context, awaited);
}

/* Posts a steal request with one worker and awaits the reply. */
static hia_job *steal_from(hia_context *context, hia_context *victim, hia_job *awaited) {
  if (!hia_steal_request_post(&victim->request, &context->mailbox)) return NULL;
  atomic_store(&victim->limit, UINTPTR_MAX);
  bool has_reply = await_reply(context, awaited, GIVE_NS);
  if (!has_reply && !is_over(context, awaited)) {
    /* The victim may have handed out a job just before, and does so again from now on. A thief
     * that slept until then would sleep for 25 us and more. */
    atomic_store(&victim->limit, UINTPTR_MAX);
    has_reply = await_reply(context, awaited, REPLY_NS);
  }
  if (!has_reply) {
    for (uint32_t i = 0; i < MAX_AGAIN && !is_settled(context, awaited); i++) {
      hia_parker_arm(&context->parker);
      if (!is_settled(context, awaited)) hia_parker_park(&context->parker, AGAIN_NS);
      hia_parker_disarm(&context->parker);
      if (!hia_mailbox_has_reply(&context->mailbox)) atomic_store(&victim->limit, UINTPTR_MAX);
    }
    if (!hia_mailbox_has_reply(&context->mailbox) &&
        hia_steal_request_withdraw(&victim->request, &context->mailbox))
      return NULL;
    while (!hia_mailbox_has_reply(&context->mailbox)) { /* the reply is on its way */
      hia_parker_arm(&context->parker);
      if (!hia_mailbox_has_reply(&context->mailbox)) hia_parker_park(&context->parker, AGAIN_NS);
      hia_parker_disarm(&context->parker);
    }
  }
  hia_job *job = hia_mailbox_take(&context->mailbox);
  if (!job || !awaited || !hia_is_done(&awaited->is_done)) return job;
  /* The awaited job is done, so this worker can go on with its own work. */
  job->is_returned = true;
  hia_finish(&job->is_done, &job->owner->parker);
  return NULL;
}

hia_job *hiaR_try_steal(hia_context *context, hia_job *awaited, bool may_be_given) {
  hia_team *team = context->team;
  context->awaited = awaited;
  context->may_be_given = may_be_given;
  /* Jobs of the awaited job's subtree come first. */
  hia_context *first = awaited ? awaited->thief : NULL;
  hia_job *job = first ? steal_from(context, first, awaited) : NULL;
  if (job) return job;
  uint32_t n = atomic_load(&team->n_members), from = random_number(context) % n;
  for (uint32_t i = 0; i < n && !is_over(context, awaited); i++) {
    hia_context *victim = atomic_load(&team->members[(from + i) % n]);
    if (!victim || victim == context || victim == first) continue;
    job = steal_from(context, victim, awaited);
    if (job) return job;
  }
  return NULL;
}

void hiaR_job_share(const hia_job *job) {
  for (uint32_t i = 0; i < job->n_params; i++)
    if (job->args[i].handing == HIA_FORK_SHARES) hiaR_dup(job->block[i], true);
}

void hiaR_run_job(hia_context *context, hia_job *job) {
  hia_invocation invocation = {.job = job, .failure = &job->failure, .is_part = job->is_part};
  uint64_t calls = context->calls, rounds = context->rounds, steals = context->steals;
  hia_batch_usage batch_usage = context->batch_usage;
  context->calls = context->rounds = 0;
  context->steals = 1;
  context->batch_usage = (hia_batch_usage){0};
  hiaR_event(context->ring, HIA_EVENT_JOB_BEGIN, job->number);
  hiaR_event(context->ring, HIA_EVENT_CALLEE, (uintptr_t)job->entry);
  /* First the limit, then the reasons to end: other threads write them in the opposite order. */
  hiaR_set_limit(context);
  if (atomic_load(&job->is_cancelled) || atomic_load(&context->team->stop))
    atomic_store(&context->limit, UINTPTR_MAX);
  job->is_begun = true;
  hiaR_job_share(job);
  uint64_t begin = hiaR_now();
  hiaR_invoke(context, &invocation, job->entry, job->block);
  job->ns = hiaR_now() - begin;
  hiaR_event(context->ring, HIA_EVENT_JOB_END, job->number);
  job->calls = context->calls;
  job->rounds = context->rounds;
  job->steals = context->steals;
  job->batch_usage = context->batch_usage;
  context->batch_usage = batch_usage;
  context->calls = calls;
  context->rounds = rounds;
  context->steals = steals;
  if (context->local.heap) hiaR_local_hand_over(&context->local);
  hia_finish(&job->is_done, &job->owner->parker);
}

/* ---- joining ---- */

/* The stack that is left, and all of it. */
typedef struct stack_room {
  size_t left, all;
} stack_room;

static stack_room room_below(const hia_context *context, const char *sp) {
  size_t left = (uintptr_t)sp > context->hard ? (uintptr_t)sp - context->hard : 0;
  return (stack_room){left, (size_t)((uintptr_t)context->stack.top - context->hard)};
}

/* True if there is stack for another job. A job that finds too little is returned to its owner,
 * and its work is lost. */
static bool has_stack(stack_room room) { return room.left >= room.all / STACK_SHARE; }

/* The same for a job that cannot be returned: it would end the run. */
static bool has_much_stack(stack_room room) {
  return room.left >= room.all - room.all / STACK_SHARE_GIVEN;
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

/* Runs other jobs, or sleeps, until `job` is done. The worker's steal request is closed. */
static hia_status help_until_done(hia_context *context, hia_job *job, const char *sp) {
  hia_status status = HIA_OK;
  hia_backoff backoff = hiaR_backoff_start();
  stack_room room = room_below(context, sp);
  while (!hia_is_done(&job->is_done) && !(status = hiaR_end_status(context))) {
    hia_job *other = has_stack(room) ? hiaR_try_steal(context, job, has_much_stack(room)) : NULL;
    if (other) {
      hiaR_run_job(context, other);
      backoff = hiaR_backoff_start();
      continue;
    }
    if (hiaR_look_for_end(job, LOOK_NS)) break;
    uint64_t ns = hiaR_backoff_next(&backoff);
    if (!ns) continue;
    hia_parker_arm(&context->parker);
    if (!hia_is_done(&job->is_done) && !(status = hiaR_end_status(context)))
      hia_parker_park(&context->parker, ns);
    hia_parker_disarm(&context->parker);
    if (status) break;
  }
  return status;
}

hia_status hiaR_await_end(hia_context *context) {
  hia_status status;
  while (!(status = hiaR_end_status(context))) { /* the thread that tells it wakes it */
    hia_parker_arm(&context->parker);
    if (!atomic_load(&context->has_cancelled_job))
      hia_parker_park(&context->parker, HIA_MAX_BACKOFF_NS);
    hia_parker_disarm(&context->parker);
  }
  return status;
}

hia_status hiaR_join_await(hia_context *context, hia_job *job, const char *sp) {
  unreserve(context->invocation, job);
  if (job->is_back) return HIA_OK;
  if (!hia_is_done(&job->is_done)) {
    if (hia_mailbox_take_back(&job->thief->mailbox, job)) {
      hiaR_event(context->ring, HIA_EVENT_TAKEN_BACK, job->number);
      job->is_back = true;
      return HIA_OK;
    }
    hiaR_close_steal_request(context);
    hiaR_event(context->ring, HIA_EVENT_WAIT_BEGIN, job->number);
    hia_status status = help_until_done(context, job, sp);
    hiaR_event(context->ring, HIA_EVENT_WAIT_END, job->number);
    hia_steal_request_open(&context->request);
    if (status) return status;
  }
  if (!job->is_returned) return HIA_OK;
  /* The references that it was given are gone. */
  if (job->gives && job->is_begun) return hiaR_await_end(context);
  /* The reason may be that the run ends. */
  job->is_back = true;
  return hiaR_end_status(context);
}

hia_word *hiaR_join_end(hia_context *context, hia_job *job) {
  hia_invocation *invocation = context->invocation;
  invocation->promoted = job->older;
  if (!job->is_back) {
    context->calls += job->calls;
    context->rounds += job->rounds;
  }
  hiaR_job_count(context, job);
  /* Its owner may have come back to it before the thief has begun it. */
  if (job->thief) adapt_pause(context, job->is_begun ? job->ns : 0);
  hiaR_job_free(context, job);
  return job->block + job->n_params;
}

/* ---- cancelling ---- */

static void cancel(hia_job *job) {
  atomic_store(&job->is_cancelled, 1);
  atomic_store(&job->thief->has_cancelled_job, 1);
  hiaR_poke(job->thief);
}

void hiaR_take_all_back(hia_context *context, hia_invocation *invocation) {
  for (hia_job *job = invocation->promoted; job; job = job->older) {
    if (job->is_back || hia_is_done(&job->is_done)) continue;
    job->is_back = hia_mailbox_take_back(&job->thief->mailbox, job);
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
