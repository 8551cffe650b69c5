/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Building ahead of time: what build.c (objects), names.c (names in C) and header.c share. */
#ifndef HIA_ENGINE_BUILD_H
#define HIA_ENGINE_BUILD_H

#include "jit/engine/engine.h"

/* A function that is built, and what it is called in C. */
typedef struct hia_built {
  const hia_function *function;
  const char *name;
  const char *plain; /* of its plain function; NULL: it has none, or that is not known yet */
} hia_built;

typedef struct hia_building {
  hia_module *module;
  hia_function *const *functions; /* as the caller gave them */
  size_t n;
  const hia_build_options *options;
  const char *prefix; /* with its `_`, or "" */
  HIA_VEC(hia_built) built;
  hia_index by_function; /* of `built` */
  HIA_VEC(const char *)
  names; /* in C, of the object: those of `built`, of the host, derived ones */
  hia_index by_name;
  HIA_VEC(const char *) left_out; /* signatures of functions that are generic */
  HIA_VEC(const char *) externs;  /* as C declares them: what the linker is to find */
  hia_text text;                  /* of a header */
  void *bytes;                    /* of an object: the engine's allocator's */
  size_t size;
  uint64_t open_ns; /* what opening the compiler took, if that was now */
} hia_building;

/* names.c, in a try: fills in what stands before `left_out`. */
hia_status hiaJ_build_names(hia_building *b, hia_error **error);
/* A name that follows from another, PREFIX_fib_plain, with as many `_` behind it as it takes to be
 * no other name of the object. */
const char *hiaJ_derived_name(hia_building *b, const char *name);
/* Why a function of a program cannot have this name in C, to be put behind "in C, "; NULL: it
 * can. */
const char *hiaJ_name_taken(const char *name);
/* True for a word that C, C++ or what their compilers define without a header keeps for itself. */
bool hiaJ_is_c_word(const char *name);
/* True for a name of hiaton's libraries or headers. */
bool hiaJ_is_own_name(const char *name);
/* build.c, in a try: the graph that becomes native code, with its roots in the order of b->built;
 * says which of them have plain functions. */
hia_status hiaJ_build_native(hia_building *b, hia_graph **g, hia_fn_id *roots, hia_error **error);
/* header.c, in a try: writes `text`. */
void hiaJ_build_header(hia_building *b);
/* A function of the host's as C declares it. */
const char *hiaJ_extern_in_c(hia_building *b, const hia_extern *e);

#endif
