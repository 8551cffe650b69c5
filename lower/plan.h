/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* What an object file holds besides the code. The engine makes it, so it must not need LLVM. */
#ifndef HIA_PLAN_H
#define HIA_PLAN_H

#include "graph/graph.h"

/* A function of an object that C sees. */
typedef struct hia_object_root {
  hia_fn_id fn;      /* a root of the graph */
  uint32_t export;   /* its index among the image's exports */
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

/* Lowering reserves one word in this section; jit/llvm/object.c replaces it by the frame tables. */
#define HIA_TABLES_SECTION ".hia_tables"
#endif
