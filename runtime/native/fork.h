/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Forks: work that a worker may hand to another while it does what comes before it.
 *
 * A call that does not depend on what comes before it is a *latent fork* while that is being done.
 * Its frame knows what it needs; nothing is written down anywhere else, in no list and with no
 * atomics. A worker that receives a steal request walks the frames of its own stack. The return
 * address of each frame says, by the frame tables (hia_frame_row), which forks are open there and
 * where their arguments lie. The oldest of them, which has the largest task, is promoted to a
 * *job*.
 *
 *   fork     stores the arguments that are not in the frame yet (hia_fork_frame.words) and
 *            sets is_taken[i] = 0
 *   taken?   is_taken[i]
 *   join     hiaR_stub_join(frame, i) returns its results, once they are there
 *
 * i is the number of forks that are open around it in its function. Forks of a function nest: the
 * one made last is joined first.
 *
 * This is lazy task creation after Mohr, Kranz and Halstead (1991) and Feeley, "A message passing
 * implementation of lazy task creation" (1993). Those keep a queue of frames; here frames are
 * found by their return addresses, as by stack unwinders and garbage collectors. */
#ifndef HIA_FORK_H
#define HIA_FORK_H

#include "runtime/base/type.h"

enum { HIA_MAX_OPEN_FORKS = 8 }; /* of a function at once; further calls are made in order */

/* What the frame of a function that forks holds for it. */
typedef struct hia_fork_frame {
  uint8_t is_taken[HIA_MAX_OPEN_FORKS]; /* 0 or 1; undefined for forks that are not open */
  hia_word words[];                     /* laid out as the function's hia_fork_site say */
} hia_fork_frame;

/* What a thief does with the reference that is an argument. */
typedef enum hia_fork_handing {
  HIA_FORK_LENDS,  /* the callee borrows it, or it is no reference: nothing */
  HIA_FORK_SHARES, /* takes another one: the frame keeps its own */
  HIA_FORK_GIVES,  /* it is the thief's: the frame will not look at it again */
} hia_fork_handing;

/* What of an argument other workers could not compute (batch/batch.h). */
typedef enum hia_fork_holding {
  HIA_FORK_HOLDS_NOTHING,
  HIA_FORK_HOLDS_TENSOR,  /* it is a tensor, which may be pending */
  HIA_FORK_HOLDS_TENSORS, /* an object, through which pending ones may be reached */
} hia_fork_holding;

/* An argument: words[word], a value of the type in as many bytes as it has, plus `addend`
 * (integers only, with the type's wrap-around); or the addend alone. */
typedef struct hia_fork_arg {
  uint32_t word;   /* HIA_NONE: a constant */
  uint16_t repr;   /* hia_repr */
  uint8_t handing; /* hia_fork_handing */
  uint8_t holding; /* hia_fork_holding */
  int64_t addend;  /* a constant in canonical form */
} hia_fork_arg;

/* A fork in the code of a function. */
typedef struct hia_fork_site {
  uint32_t around; /* the site of the fork that is open around it, or HIA_NONE */
  uint32_t index;  /* of its is_taken */
  uint32_t n_params, n_results;
  uint32_t first_arg; /* of n_params in hia_fork_map.args */
  uint32_t gives;     /* 1: some of these are HIA_FORK_GIVES */
  uint64_t entry; /* the callee's hia_native_entry, from hia_fork_map.base; 0: it has none, and the
                     fork cannot be stolen */
  uint64_t pays;  /* its hia_fork_pays, likewise; 0: it always does */
} hia_fork_site;

/* True if a call with these arguments calls anything itself, loops, or does a lot; otherwise it is
 * not worth handing out. A pure function of the arguments. */
typedef int32_t (*hia_fork_pays)(const hia_word *args);

/* Which sites are open at an address of code that forks. A number that travels with the position of
 * a call, in the column of LLVM's debug locations. */
enum {
  HIA_FORKS_UNKNOWN =
      0, /* compiled without a number: words[0] holds it if the function keeps it, otherwise NONE */
  HIA_FORKS_NONE = 1,
  HIA_FORKS_OPEN = 2, /* plus the number of the innermost open site */
  HIA_FORKS_LIMIT = 65536
};

/* The forks of a function. */
typedef struct hia_fork_map {
  const hia_fork_site *sites;
  const hia_fork_arg *args;
  uintptr_t base;
  uint32_t n_sites;  /* 0: it has none, and the other fields are undefined */
  uint32_t below;    /* bytes from the hia_fork_frame to the end of the frame that holds it */
  bool keeps_number; /* words[0] holds the number of the current address, during its loops */
} hia_fork_map;

#endif
