/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Private to layout.c, read_tape.c and kept.c: a tape while it is laid out, read and made. */
#ifndef HIA_KEEPING_H
#define HIA_KEEPING_H

#include "graph/grad/shared.h"

/* An object, an element or the results of a call that has the words of one or two regions. */
typedef struct hia_holder {
  uint32_t grad_region; /* the first */
  const hia_pieces *pieces;
  const hia_node_id
      *readers;     /* by word: the UNDEF of f.back that becomes its read; NONE: there is none */
  hia_node_id call; /* a rerun's: its words are results of this; else NONE */
} hia_holder;

typedef struct hia_keeping {
  hia_back *b;
  hia_grad *d;
  hia_graph *g;
  const hia_fn *fn;
  hia_fn *back, *kept;
  hia_value_id *map;     /* by value of fn: that of f.kept */
  hia_value_id *records; /* by node of fn: the value of f.kept that has its record */
  hia_u32vec aliases;    /* by value of f.back: the one that is the same, or NONE */
  uint32_t rerun;        /* whose nodes are copied, not to f.kept but to what f.back calls; NONE */
  HIA_VEC(hia_holder) holders;
  uint32_t n_named;       /* pieces that have a type */
  hia_node_id *first_use; /* by value of f.back, once it is needed: the first node that uses it */
  uint32_t *order; /* by node of f.back, likewise: its number in sequential order, from 1 on */
} hia_keeping;

static inline hia_grad_kept *kept_of(const hia_keeping *k, uint32_t i) {
  return &k->b->kept.data[i];
}
static inline hia_grad_region *grad_region_of(const hia_keeping *k, uint32_t i) {
  return &k->b->grad_regions.data[i];
}
static inline const hia_node *node_of(const hia_keeping *k, hia_node_id n) {
  return &k->fn->nodes.data[n];
}
/* Notes that values that there are by now, and of which nothing is known, are no aliases. */
static inline void no_more_aliases(hia_keeping *k) {
  while (k->aliases.len < k->back->values.len) hiaR_push(k->d->arena, &k->aliases, HIA_NONE);
}

/* ---- layout.c ---- */

/* Lays out the tape and the results of reruns. */
void hiaG_keep_lay_out(hia_keeping *k);
/* Returns the branch whose constructors stand for a region, or NONE. */
hia_node_id hiaG_keep_sole_branch(const hia_keeping *k, uint32_t grad_region);
/* Returns the words that a region keeps, in order. */
hia_u32vec hiaG_keep_words_of(const hia_keeping *k, uint32_t grad_region);
/* Returns the words that a comprehension keeps besides those of its elements. Notes in
 * `own_readers`, unless that is NULL, what reads the latter. */
hia_u32vec hiaG_keep_words_of_each(hia_keeping *k, hia_node_id map, hia_node_id *own_readers);

/* ---- read_tape.c ---- */

/* Makes f.back read the tape and the results of reruns. */
void hiaG_keep_read_tapes(hia_keeping *k);

#endif
