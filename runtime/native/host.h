/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* What a context for typed entries has besides that of a worker. */
#ifndef HIA_HOST_CONTEXT_H
#define HIA_HOST_CONTEXT_H

#include "runtime/native/context.h"
#include "runtime/native/module.h"
#include "runtime/run/error.h"
#include "runtime/run/runtime.h"
#include <hiaton/runtime.h>

/* Memory of the host's for a result that is a tensor (hia_context_set_room); exchange.c. */
typedef struct hia_room {
  void *elements;
  uint64_t size; /* in bytes */
  int64_t *dims; /* NULL: there is no room for this result */
  uint32_t dtype, rank;
  const char *from; /* of the call under way: what is written there, and its sizes */
  hia_dims shape;
} hia_room;

/* Where the results of a call go that are references; exchange.c. */
typedef struct hia_exchange {
  struct hia_host_context *host;
  hia_status (*leave)(struct hia_exchange *exchange, const hia_code_module *module, uint32_t root,
                      hia_word *block);
  struct hia_objects *to;
  bool has_outside;
} hia_exchange;

/* What a context for typed entries has in addition. */
struct hia_host_context {
  hia_context *context; /* whose it is */
  hia_allocator allocator;
  size_t max_depth, max_memory;
  unsigned threads;
  hia_pool *pool; /* NULL: one thread */
  bool owns_pool, owns_clock, interprets;
  bool fast_products;  /* all calls leave large products to OpenBLAS */
  size_t covered;      /* the stack's limits hold for frames smaller than this; 0: none are set */
  size_t depth;        /* of the call: max_depth, or what an outer run has left of it */
  size_t memory;       /* of the call, in the same way */
  hia_clock *clock;    /* NULL: no timeout was set yet */
  uint64_t timeout_ns; /* 0: none */
  hia_alarm alarm;     /* of the call that is under way, if it has a timeout */
  void *user;          /* the host's */
  bool has_fuel;
  uint64_t fuel; /* that is left; 0 if it has none */
  uint64_t rows; /* that the last map has written */
  uint64_t lent; /* by a call with fuel, to runs of the host's functions */

  _Atomic bool is_cancelled; /* until it is reset */
  hia_cancel_scope scope;    /* of the call under way, or of the last one */

  uint32_t root_called;     /* of the module; the root of the call that is under way */
  hia_invocation root;      /* its invocation; clean between calls */
  hia_failure failure;      /* of the last one that failed */
  const hia_places *failed; /* its places; NULL: none failed, or before its code was entered */
  const char *why;          /* in that case what was wrong, or NULL */
  char said[256];           /* such a text */
  hia_heap heap;            /* of the call under way, if its module makes objects */
  bool has_blas;            /* the call under way leaves large products to OpenBLAS */
  hia_exchange *exchange;   /* of the call under way; NULL: its words are scalars */
  hia_bounds bounds;        /* its limits */
  const hia_word *params;   /* of the module of the call under way, if it has some */
  const hia_word *words;    /* of the call under way, if it was offered to a chooser */
  char *views;              /* tensors of the call under way that are parameters (values.c) */
  size_t views_size;
  hia_room *rooms;                /* by result */
  uint32_t n_rooms, n_used_rooms; /* the first of which count: none for rows of maps */
  hia_error *error;               /* of that failure, made when the host requests it */

  struct hia_images *images;      /* interp/entry.c */
  const hia_places *image_places; /* of the image that the call has run; NULL: none */
  void (*free_images)(struct hia_images *images, const hia_allocator *allocator);
};

/* The room for a result of the call under way; NULL: it becomes a value. */
static inline hia_room *hiaR_room(const hia_host_context *host, uint32_t result) {
  bool has = result < host->n_used_rooms && host->rooms[result].dims;
  return has ? &host->rooms[result] : NULL;
}

static inline bool hiaR_is_in_call(const hia_context *context) {
  return atomic_load_explicit(&context->run.number, memory_order_relaxed) & 1;
}

/* ---- host.c ---- */

/* Makes a context for typed entries, without a pool. `options` are complete and valid. */
hia_status hiaR_host_new(const hia_context_options *options, hia_context **out);
/* The call fails before its code is entered; `why`: what was wrong, which lives as long as the
 * context, or NULL. */
hia_status hiaR_host_refuse(hia_host_context *host, hia_status status, const char *why);
/* Begins and ends the heap of the call under way; for a map that is interpreted, of each row. */
void hiaR_host_heap_begin(hia_host_context *host);
void hiaR_host_heap_end(hia_host_context *host);
/* The hia_heap.must_end of that heap, and of whatever takes long in the call: its scope has ended.
 */
bool hiaR_host_must_end(void *scope);
void hiaR_host_forget_failure(hia_host_context *host);
/* Notes a failure. The next call is special: it clears the failure. */
hia_status hiaR_host_note_failure(hia_host_context *host, hia_status status);

/* ---- map.c ---- */

/* The words of a call of the root, in a map's block. */
hia_word *hiaR_map_words(const hia_map *map, hia_word *block);
/* The element of column i in the row of the block. */
void *hiaR_map_element(const hia_map *map, const hia_word *block, uint32_t i);
/* What is wrong with the columns of a block; NULL: nothing. */
const char *hiaR_map_wrong(const hia_map *map, const hia_word *block);
/* Runs the image for each row from HIA_MAP_ROW on, which it counts up. */
hia_status hiaR_map_interpret(hia_context *context, const hia_code_module *module,
                              const hia_map *map, hia_word *block, const hia_limits *limits);

#endif
