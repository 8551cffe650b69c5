/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Phases: work that a crew does one phase after the other, and that no worker holds up.
 *
 * A phase has *pieces*, which depend on earlier phases alone. Each is begun by one worker after the
 * other, most of them by one only. But the system may put a worker aside for milliseconds while it
 * computes a piece. So a worker that finds nothing else to do computes such a piece again, into
 * memory of its own: the results are the same. Who is ready first *claims* the piece, and writes
 * where others read; what the other one has computed is dropped. The worker that finishes the last
 * piece of a phase plans the next one, be it the crew's owner or a thief. So the phases go on while
 * any of the workers runs.
 *
 * The life of a piece is one word: how many workers compute it, whether one has claimed it, and
 * whether that one is done. A worker enters a piece only before it is claimed. The last one that
 * leaves a piece that is done releases what the piece was computed from. So a worker that was put
 * aside finds what it reads, however late it comes; and the memory of the phases themselves is kept
 * as long as a worker is *seated*, which it is whenever it looks at a phase (hiaR_crew_retire). */
#ifndef HIA_NATIVE_PHASES_H
#define HIA_NATIVE_PHASES_H

#include "runtime/threads/handoff.h"

typedef struct hia_context hia_context;

typedef struct hia_phase_piece {
  _Atomic uint32_t life;
  _Atomic uint64_t begun; /* hiaR_now() when a worker entered it last */
} hia_phase_piece;

enum {
  HIA_PIECE_WORKER = 1, /* one that computes it */
  HIA_PIECE_WORKERS = 0xffff,
  HIA_PIECE_CLAIMED = 1 << 16,
  HIA_PIECE_DONE = 1 << 17,
};

/* False: it is claimed already. */
static inline bool hia_piece_enter(hia_phase_piece *p) {
  uint32_t life = HIA_ATOMIC_LOAD(&p->life);
  while (!(life & HIA_PIECE_CLAIMED))
    if (HIA_ATOMIC_CAS(&p->life, &life, life + HIA_PIECE_WORKER)) return true;
  return false;
}
/* A worker that has computed it. True: its results are those of the piece. */
static inline bool hia_piece_claim(hia_phase_piece *p) {
  return !(HIA_ATOMIC_OR(&p->life, HIA_PIECE_CLAIMED) & HIA_PIECE_CLAIMED);
}
/* A worker that has entered it, and that `has_claimed` it or not. True: it releases what the piece
 * was computed from. */
static inline bool hia_piece_leave(hia_phase_piece *p, bool has_claimed) {
  uint32_t change = (has_claimed ? HIA_PIECE_DONE : 0u) - HIA_PIECE_WORKER;
  uint32_t life = HIA_ATOMIC_ADD(&p->life, change) + change;
  return (life & HIA_PIECE_DONE) && !(life & HIA_PIECE_WORKERS);
}

typedef struct hia_phase {
  const struct hia_phases *work;
  void *arg; /* of the work */
  uint32_t n;
  _Atomic uint32_t n_taken, n_done; /* pieces, of n */
  _Atomic uint64_t longest;         /* nanoseconds that a piece has taken */
  uint64_t since;                   /* hiaR_now() when it began */
  hia_phase_piece *pieces;
} hia_phase;

/* Work in phases. All functions are called by any worker of the run, one call of `plan` at a time.
 * HIA_MEMORY and HIA_CANCELLED end the run. */
typedef struct hia_phases {
  /* Computes piece i. Claims it, and if it can, writes the results and sets *has_claimed. */
  hia_status (*compute)(hia_context *context, hia_phase *phase, uint32_t i, bool *has_claimed);
  /* Piece i is done, and no worker computes it any more. */
  void (*release)(hia_context *context, hia_phase *phase, uint32_t i);
  /* True if there is memory to compute piece i once more. */
  bool (*may_again)(hia_context *context, const hia_phase *phase, uint32_t i);
  /* All pieces are done: makes the next phase, of `n_workers`. *next NULL: there is none. */
  hia_status (*plan)(hia_context *context, uint32_t n_workers, void *arg, hia_phase **next);
} hia_phases;

/* Readies a phase of n pieces. */
static inline void hiaR_phase_begin(hia_phase *phase, hia_phase_piece *pieces, uint32_t n) {
  *phase = (hia_phase){.n = n, .pieces = pieces};
  for (uint32_t i = 0; i < n; i++) pieces[i] = (hia_phase_piece){0};
}

/* Memory that a late worker may read, with what frees it. */
typedef struct hia_retired {
  struct hia_retired *older;
  void (*free)(hia_context *context, struct hia_retired *retired);
} hia_retired;

/* ---- phases.c ---- */

/* The context's crew, which is open, does the work, from the first phase on. The result is as that
 * of hiaR_crew_compute (crew.h). */
hia_status hiaR_phases_compute(hia_context *context, const hia_phases *work, void *arg);
/* Where a piece was computed, before its results are written: true if they are the piece's. */
bool hiaR_phase_claim(hia_context *context, hia_phase *phase, uint32_t i);

#endif
