/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* What an object file holds besides the code. Known to the engine, so without LLVM. */
#ifndef HIA_PLAN_H
#define HIA_PLAN_H

#include "graph/graph.h"

/* A function of an object that C sees. */
typedef struct hia_object_root {
  hia_fn_id fn;      /* a root of the graph */
  uint32_t export;   /* the same in the image */
  const char *name;  /* of its typed entry */
  const char *plain; /* of its plain function; NULL: it has none */
} hia_object_root;

typedef struct hia_object_plan {
  const char *cpu; /* NULL: this machine */
  const hia_object_root *roots;
  uint32_t n_roots;
  uint32_t program;  /* the root that `main` runs; HIA_NONE: there is none */
  bool is_parallel;  /* HIA_CODE_FORKS */
  const void *image; /* 8-aligned */
  size_t image_size;
} hia_object_plan;

/* Lowering makes a word of this section, which becomes the frame tables (jit/llvm/object.c). */
#define HIA_TABLES_SECTION ".hia_tables"
#endif
