/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Programs as loaded images, and runs of them by both engines. No Criterion, since the programs of
 * tests/stress use it too. */
#ifndef HIA_TEST_IMAGE_H
#define HIA_TEST_IMAGE_H

#include "graph/ir/graph.h"
#include "runtime/run/runtime.h"
#include "tests/unit/helpers/memory.h"

typedef struct image_program {
  hia_comp comp;
  hia_types types;
  hia_graph *graph;
  void *bytes;
  size_t size;
  hia_loaded *image; /* NULL: `error` says why */
  char error[512];
} image_program;

/* Function `main` of a source text, at its declared types. `disabled`: passes, or NULL. */
bool image_from_source(image_program *p, const char *text, bool counted, const char *disabled);
/* The same of a text that must be right; else the process ends. */
image_program image_of(const char *text, bool counted, const char *disabled);
/* A graph text, in either state. */
bool image_from_ir(image_program *p, const char *text);
void image_discard(image_program *p);

#define IMAGE_MAX_RESULTS 8
typedef enum image_engine { IMAGE_INTERP, IMAGE_EXPAND } image_engine;

typedef struct image_outcome {
  hia_status status;
  hia_word results[IMAGE_MAX_RESULTS];
  hia_failure failure;
  hia_usage usage;
  int64_t live;     /* objects of the run at its end; 0 if this build does not count them */
  size_t heap_peak; /* bytes; 0 if the program makes no objects */
} image_outcome;

/* Runs the first export; limits NULL: none. `threads` is put into the limits; if they have no pool,
 * one is made for the run. */
image_outcome image_run(const image_program *p, image_engine engine, const hia_word *args,
                        unsigned threads, const hia_limits *limits, const hia_allocator *allocator);
/* True if both have the same result, or the same failure with the same chain. Of resource statuses
 * only the status is compared. */
bool image_agree(const image_program *p, const image_outcome *a, const image_outcome *b);
void image_print(const image_program *p, const image_outcome *o, char *buf, size_t size);

/* The kept part of the chain, in the format of eval.h. */
void image_chain(const image_program *p, const image_outcome *o, char *buf, size_t size);

#endif
