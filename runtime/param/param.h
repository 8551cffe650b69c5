/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The values of a program's params (docs/params.md).
 *
 * A *state* has a value for each param of a program, in the order of their declarations. A state
 * never changes: whoever sets params makes another state, which shares the values that stay. A run
 * holds the state that was current when it began, so it sees one state of all of them.
 *
 * To a run a value is a tensor like any other, sticky, or the word of a scalar. A tensor's value
 * also has its packed forms (kernel/product.h), made when products need them, and gone with it: so
 * they belong to one version of the param.
 *
 * Any thread may read and hold a state, and make others of it. */
#ifndef HIA_PARAM_H
#define HIA_PARAM_H

#include "runtime/base/param.h"
#include "runtime/heap/operation.h"
#include "runtime/param/memo.h"

typedef struct hia_param_state hia_param_state;

/* Where the values of a new state come from: of each param from the first of these that there is.
 * Elements are row-major, of the param's dtype. */
typedef struct hia_param_values {
  const void *const *elements; /* by param: copied; NULL: no such */
  hia_status (*fill)(void *user, uint32_t i,
                     void *to); /* writes the elements of param i, or fails */
  void *user;
  hia_param_state *from; /* another state of the same params, or of the first of them: the value
                            is shared */
  const void *const *lasting; /* by param: outlive the state, which refers to them; NULL: no such */
  uint64_t seed;              /* for the initialiser */
  /* The initialiser asks it now and then, and ends if it returns true. NULL: never. */
  bool (*must_end)(void *asked);
  void *asked;
} hia_param_values;

/* Makes a state of n params with one reference. `specs` must be sound, and outlive all states.
 * Errors: HIA_MEMORY; HIA_CANCELLED, of must_end; and those of `fill`. */
hia_status hiaR_state_new(const hia_param_spec *specs, uint32_t n, const hia_param_values *values,
                          const hia_allocator *allocator, hia_param_state **out);
hia_param_state *hiaR_state_hold(hia_param_state *state);
void hiaR_state_release(hia_param_state *state); /* NULL: does nothing */

uint32_t hiaR_state_n(const hia_param_state *state);
const hia_param_spec *hiaR_state_spec(const hia_param_state *state, uint32_t i);
/* By param: its word, of a scalar in canonical form, of a tensor the reference. */
const hia_word *hiaR_state_words(const hia_param_state *state);
/* The elements, row-major, of a scalar one: they live as long as the state. */
const void *hiaR_state_elements(const hia_param_state *state, uint32_t i);
/* The bytes of the values and their packed forms, as much as belongs to this state or is shared by
 * it. */
size_t hiaR_state_bytes(const hia_param_state *state);

/* ---- what is kept with a state ---- */

/* The results that are kept with the state that has these words (hiaR_state_words), while it is
 * held. NULL: none are. */
hia_memo *hiaR_state_kept(const hia_word *words);
/* Returns them, made if need be, for a run to keep results in; its number is that of its heap.
 * NULL: no memory; or the state is one of training (hiaR_state_next), which will not last, as far
 * as is known: no other run has asked for it. */
hia_memo *hiaR_state_keep(const hia_word *words, uint64_t run);

/* ---- the next state ----
 *
 * Training computes the values of a state of those of another. If it can it writes them into the
 * memory of a third state, which was the current one before, so that no memory is taken. */

/* Makes a state with one reference, which no other thread knows yet. Param i has the value of
 * `now`, or, if is_changed[i], one of its own, which the caller writes before it shows the state to
 * others. `recycled` may be NULL; else it is a state of the same params, and the caller's reference
 * to it is taken over, also if this fails: if that is the only reference, then the state and those
 * of its values that no other state shares are used again. Of a tensor, is_recycled[i] becomes true
 * if its elements are still those that `recycled` had; else they are not set. Takes no memory if
 * all that is needed is there. Errors: HIA_MEMORY. */
hia_status hiaR_state_next(const hia_param_state *now, hia_param_state *recycled,
                           const bool *is_changed, bool *is_recycled, hia_param_state **out);
/* The elements of a param of such a state that has a value of its own, as hiaR_state_elements. */
void *hiaR_state_writable(hia_param_state *next, uint32_t i);

/* ---- params.c: the current state ----
 *
 * The params of a program (hiaton/params.h) belong to a module of the engine, or to an object that
 * was compiled ahead of time, in which they are a variable. They hold the current state. Any thread
 * may call these functions. */

typedef struct hia_params hia_params;

/* What runs need of params. Generated code that has params names it; other code links nothing of
 * it. */
typedef struct hia_param_kit {
  hia_status (*hold)(hia_params *params, bool (*must_end)(void *asked), void *asked,
                     hia_param_state **out); /* hiaR_params_hold */
  void (*release)(hia_param_state *state);
  const hia_word *(*words)(const hia_param_state *state);
} hia_param_kit;
extern const hia_param_kit hiaR_param_kit;

/* Generated code has such a variable (lower/object/object.c). */
struct hia_params {
  _Atomic uint32_t lock; /* 1: a thread changes or holds `now`, which takes nanoseconds */
  uint32_t n;
  const hia_param_spec *specs;
  hia_param_state *now; /* NULL: the first state is yet to be made */
  const hia_param_kit *kit;
  const hia_allocator *allocator; /* of all states: they outlive contexts. NULL: malloc */
  /* The first values: by param the elements, which outlive the params, at a multiple of
   * HIA_TENSOR_ALIGN; NULL: what the initialisers make of the seed. */
  const void *const *embedded;
  uint64_t seed;
};

const hia_allocator *hiaR_params_allocator(const hia_params *params);
/* The current state, held for the caller; at first, one with the first values. HIA_MEMORY. To make
 * these may take seconds: HIA_CANCELLED if must_end then returns true; NULL: it is not asked. */
hia_status hiaR_params_hold(hia_params *params, bool (*must_end)(void *asked), void *asked,
                            hia_param_state **out);
/* Makes `to`, of which it takes over the reference, the current state, if that is `from`
 * still (NULL: there is none yet). False: it is not, and `to` is the caller's as before. */
bool hiaR_params_exchange(hia_params *params, hia_param_state *from, hia_param_state *to);
/* Makes `to` the current state, whatever that was. `to` may be NULL: then the first values come
 * again. */
void hiaR_params_set(hia_params *params, hia_param_state *to);

/* ---- what hosts do with params: host.c and files.c, with the errors of hiaton/params.h ---- */

struct hia_error;
/* Sets param i, which there is, to a copy of elements of its dtype and shape. */
hia_status hiaR_params_put(hia_params *params, uint32_t i, const void *elements,
                           struct hia_error **error);

#endif
