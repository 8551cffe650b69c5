/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Private to this folder: the walk that adds counts (refs.c says what it does), its state, and
 * its parts.
 *
 *   walk.c    nodes by their ops, branches, functions
 *   loop.c    loops
 *   call.c    calls and forks
 *   count.c   the counts themselves
 *
 * walk.c and loop.c call each other, since regions nest: a loop walks through its round. */
#ifndef HIA_COUNTING_H
#define HIA_COUNTING_H

#include "graph/refs/shared.h"

typedef uint64_t *hia_ref_set; /* of numbers of references, as bits */

typedef struct hia_counting {
  hia_graph *g;
  hia_fn *fn;
  hia_arena *scratch;
  hia_ref_version *versions; /* by function */
  hia_fn_id id;
  bool is_trial; /* finds out which versions are wanted, and adds no nodes */

  uint32_t n, n_words;    /* references, and words of a set */
  uint32_t *ref;          /* by value: its number; NONE: it is not counted */
  hia_value_id *value;    /* by reference */
  uint32_t *parent;       /* by reference: it is a field of this one; or NONE */
  uint32_t *child, *next; /* by reference: its fields, as a list */
  bool *is_borrowed;      /* by reference: a parameter that belongs to the caller */
  uint32_t *known;        /* by reference: its constructor where the walk is; or NONE */
  uint32_t *inside;       /* by value: number of the innermost loop's walk that defines it */
  uint32_t n_walks;
  hia_u32vec replaced; /* pairs: old and new results of loops */
} hia_counting;

/* ---- sets ---- */

static inline bool has(const hia_ref_set s, uint32_t r) { return s[r / 64] >> r % 64 & 1; }
static inline void add(hia_ref_set s, uint32_t r) { s[r / 64] |= (uint64_t)1 << r % 64; }
static inline void take_out(hia_ref_set s, uint32_t r) { s[r / 64] &= ~((uint64_t)1 << r % 64); }

/* ---- count.c ---- */

hia_ref_set hiaG_refs_copy_set(const hia_counting *c, const hia_ref_set s);
/* Returns the first member of a that b lacks and that is at least `from`; NONE: there is none. */
uint32_t hiaG_refs_missing(const hia_counting *c, const hia_ref_set a, const hia_ref_set b,
                           uint32_t from);
bool hiaG_refs_has_ancestor(const hia_counting *c, const hia_ref_set s, uint32_t r);
/* True if something that is live, or the caller, keeps the value. */
bool hiaG_refs_is_alive(const hia_counting *c, const hia_ref_set live, uint32_t r);
bool hiaG_refs_has_live_part(const hia_counting *c, const hia_ref_set live, uint32_t r);
const hia_ctor *hiaG_refs_ctor_of(const hia_counting *c, uint32_t r, uint32_t number);
void hiaG_refs_count_node(const hia_counting *c, hia_node_id at, unsigned op, hia_value_id v);
const hia_node *hiaG_refs_definition(const hia_counting *c, uint32_t r);
/* A value that is not in the set dies at the start of a region, and is in the set before it. */
void hiaG_refs_die_at_start(hia_counting *c, hia_ref_set live, uint32_t r, hia_region_id region);
/* Node n borrows the value. `ctor` is the constructor that n shows it to have, or NONE. */
void hiaG_refs_borrow(hia_counting *c, hia_ref_set live, hia_node_id n, hia_value_id v,
                      uint32_t ctor);
/* Node n consumes the value: it takes a reference, which may be the last one. */
void hiaG_refs_consume(hia_counting *c, hia_ref_set live, hia_node_id n, hia_value_id v);
/* Takes the results of node n out of the set. Those that are not used are dropped at once. */
void hiaG_refs_define_results(hia_counting *c, hia_ref_set live, hia_node_id n);

/* ---- call.c ---- */

void hiaG_refs_call(hia_counting *c, hia_ref_set live, hia_node_id n);
void hiaG_refs_join(hia_counting *c, hia_ref_set live, hia_node_id n);

/* ---- loop.c ---- */

/* True if the loop, or the branch, borrows what operand i of the YIELD hands on. */
bool hiaG_refs_hands_on_borrowed(const hia_counting *c, hia_node_id yield, uint32_t i);
void hiaG_refs_count_loop(hia_counting *c, hia_ref_set live, hia_node_id n);

/* ---- walk.c ---- */

/* If the branch asks for the constructor of a value, returns the value, and sets the constructor on
 * each side, or NONE; else returns NONE. */
uint32_t hiaG_refs_asked(const hia_counting *c, hia_value_id cond, uint32_t side[2]);

/* A branch at the end of a loop's head that says whether the loop goes on (exits.c). */
typedef struct hia_ref_ways {
  uint32_t cond;        /* the result that says it */
  hia_ref_set on, exit; /* what is live behind it if the loop goes on, and if it ends */
} hia_ref_ways;

/* Goes through a branch. `live` is the set behind it, unless there are two ways (w is not NULL); on
 * return it is the set before it. */
void hiaG_refs_branch(hia_counting *c, hia_ref_set live, hia_node_id n, const hia_ref_ways *w);
/* Walks from node `last` back to the start of its region. */
void hiaG_refs_walk(hia_counting *c, hia_ref_set live, hia_node_id last);
/* Walks over the function. Returns false if it has no references. */
bool hiaG_refs_walk_function(hia_counting *c);

#endif
