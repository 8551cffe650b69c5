/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Forks: work that a worker may hand to another while it does what comes before it.
 *
 * A call that does not depend on what comes before it is a *latent fork* while that is being done:
 * its frame knows what it needs, and nothing is written down anywhere else, in no list and with no
 * atomics. Whoever is asked for work walks the frames of its own stack; the return address in each
 * says, by the frame tables (hia_frame_row), which forks are open there and where their arguments
 * lie. The oldest of them, the largest task of work, is promoted to a *job*.
 *
 *   fork     arguments that are not in the frame yet: hia_fork_frame.words; is_taken[i] = 0
 *   taken?   is_taken[i]
 *   join     hiaR_stub_join(frame, i) -> its results, once they are there
 *
 * i is how many forks are open around it in its function. Forks of a function nest: the one made
 * last is joined first.
 *
 * Lazy task creation after Mohr, Kranz and Halstead (1991) and Feeley, "A message passing
 * implementation of lazy task creation" (1993), who keep a queue of frames; that frames are found
 * by their return addresses is how stack unwinders and garbage collectors do it. */
#ifndef HIA_FORK_H
#define HIA_FORK_H

#include "runtime/base/base.h"

enum { HIA_MAX_OPEN_FORKS = 8 }; /* of a function at once; further ones are made in order */

/* What the frame of a function that forks holds for it. */
typedef struct hia_fork_frame {
  uint8_t is_taken[HIA_MAX_OPEN_FORKS]; /* 0 or 1; of forks that are not open: anything */
  hia_word words[];                     /* as the function's hia_fork_site say */
} hia_fork_frame;

/* An argument: words[word], a value of the type in as many bytes as it has, and `addend`
 * (integers only, with the type's wrap-around), or the addend alone. */
typedef struct hia_fork_arg {
  uint32_t word; /* HIA_NONE: a constant */
  uint32_t dtype;
  int64_t addend; /* a constant in canonical form */
} hia_fork_arg;

/* A fork in the code of a function. */
typedef struct hia_fork_site {
  uint32_t around; /* the site of the fork that is open around it; HIA_NONE: there is none */
  uint32_t index;  /* of its is_taken */
  uint32_t n_params, n_results;
  uint32_t first_arg; /* of n_params in hia_fork_map.args */
  uint32_t pad;
  uint64_t entry; /* the callee's hia_native_entry, from hia_fork_map.base; 0: it has none, nobody
                     can take the fork */
  uint64_t pays;  /* its hia_fork_pays, likewise; 0: it always does */
} hia_fork_site;

/* Would a call with these arguments call anything itself, loop, or do a lot? If not it is not worth
 * giving away. The same answer for the same arguments. */
typedef int32_t (*hia_fork_pays)(const hia_word *args);

/* Where code that forks stands, besides the sites: which of them are open there. A number that
 * travels with the position of a call, in the column of LLVM's debug locations. */
enum {
  HIA_FORKS_UNKNOWN = 0, /* compiled without it: words[0] says, if the function keeps it, or NONE */
  HIA_FORKS_NONE = 1,
  HIA_FORKS_OPEN = 2, /* and the number of the site that is open within all others */
  HIA_FORKS_LIMIT = 65536
};

/* The forks of a function. */
typedef struct hia_fork_map {
  const hia_fork_site *sites;
  const hia_fork_arg *args;
  uintptr_t base;
  uint32_t n_sites;  /* 0: it has none, and the rest means nothing */
  uint32_t below;    /* bytes from the hia_fork_frame to the end of the frame it is in */
  bool keeps_number; /* words[0] holds the number of where it is, during its loops */
} hia_fork_map;

#endif
