/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* What code is compiled for: the hosts that call it, and the object file that holds it. The engine
 * says it, so it must not need LLVM. */
#ifndef HIA_PLAN_H
#define HIA_PLAN_H

#include "graph/ir/graph.h"

/* What a module has for hosts to call, besides the program's code or instead of it. */
typedef enum hia_host_side {
  HIA_HOST_NONE,
  HIA_HOST_TYPED,  /* only the record and typed entries; the engine fills in addresses */
  HIA_HOST_PLAIN,  /* only plain functions, and what they call */
  HIA_HOST_MAP,    /* map entries with their record and loops, and what their kernels call; of an
                      object only the loops and kernels */
  HIA_HOST_OBJECT, /* besides the code: the record, typed and map entries, `main` */
} hia_host_side;
enum { HIA_N_HOST_SIDES = HIA_HOST_OBJECT }; /* the JIT makes a module of each before */
/* The symbol of what a host calls for a root is this, followed by the number of the root. */
static inline const char *hiaL_host_symbol(hia_host_side side) {
  return side == HIA_HOST_TYPED ? "hia_typed_" : side == HIA_HOST_PLAIN ? "hia_plain_" : "hia_map_";
}

/* A function of an object that C sees. */
typedef struct hia_object_root {
  hia_fn_id fn;      /* a root of the graph */
  uint32_t export;   /* its index among the image's exports */
  const char *name;  /* of its typed entry; NULL: it has none */
  const char *plain; /* of its plain function; NULL: it has none */
  const char *map;   /* of its map entry; NULL: it has none */
  const char *type;  /* of the function that returns its types; NULL: they are scalars */
} hia_object_root;

typedef struct hia_object_plan {
  const char *cpu; /* NULL: this machine */
  const hia_object_root *roots;
  uint32_t n_roots;
  uint32_t program;                /* the root that `main` runs; HIA_NONE: there is none */
  uint32_t streams;                /* the root that it runs with streams; HIA_NONE: it takes none */
  const char *const *result_names; /* of the program (hiaG_result_names); NULL: there are none */
  uint32_t n_results;
  bool is_parallel;  /* HIA_CODE_FORKS */
  const void *image; /* 8-aligned */
  size_t image_size;
  /* The types and shapes of the graph; NULL: neither it nor the image has references. */
  const struct hia_value_types *types;
  const struct hia_shapes *shapes;
  /* The following fields belong to a program with params. */
  const char *params;          /* of the function that returns them */
  const void *const *embedded; /* by param: its elements, which the object is to hold; or NULL */
  uint64_t seed;               /* of the initialisers, without `embedded` */
} hia_object_plan;

/* Lowering reserves one word in this ELF section; jit/llvm/elf.c replaces it by the frame tables.
 */
#define HIA_TABLES_SECTION ".hia_tables"
#endif
