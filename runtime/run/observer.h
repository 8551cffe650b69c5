/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* What comes to the points of a program in a run (graph/assume/points.h).
 *
 * An image with OBSERVE nodes is interpreted by one worker, and each of these adds to its point. As
 * that is slower than usual code, a run observes so many values and for so long at most, and then
 * ends with HIA_AGAIN: it is made again without an observer. */
#ifndef HIA_OBSERVER_H
#define HIA_OBSERVER_H

#include "runtime/base/shape.h"

typedef enum hia_sight {
  HIA_SIGHT_NOTHING, /* that the run came there, and how often */
  HIA_SIGHT_BOOL,
  HIA_SIGHT_I32,
  HIA_SIGHT_I64,
  HIA_SIGHT_F32,
  HIA_SIGHT_F64,
  HIA_SIGHT_CTOR, /* of data */
  HIA_SIGHT_LEN,  /* of an array */
  HIA_SIGHT_DIMS, /* of a tensor */
} hia_sight;

/* Constructors from this one on are one. */
enum { HIA_MANY_CTORS = 63 };

/* Begins as all zeros but for its sight. */
typedef struct hia_observed {
  hia_sight sight;
  uint64_t n;         /* how often */
  uint64_t n_changes; /* and how often it was not as it was the time before; of CTOR and DIMS too */
  hia_word last;      /* the value, the number of the constructor, the length */
  hia_word least, most;           /* of these, by their values; NaN is neither */
  uint64_t ctors;                 /* which there were, as bits; of BOOL how often it was true */
  hia_dims dims;                  /* the last sizes, */
  hia_dims least_dims, most_dims; /* and by axis; all have one rank */
} hia_observed;

struct hia_observer {
  hia_observed *points;
  uint32_t n;
  uint64_t left;   /* values that may be observed yet */
  uint64_t end_at; /* hiaR_now() when there is no time left */
};
typedef struct hia_observer hia_observer;

/* Adds a value to a point. A point that is none, as in each round of a loop, adds to the time
 * alone. False: the run is to end. */
bool hiaR_observe(hia_observer *observer, uint64_t point, hia_word word);
/* Adds what another run has shown of the same point. */
void hiaR_observed_add(hia_observed *to, const hia_observed *from);

#endif
