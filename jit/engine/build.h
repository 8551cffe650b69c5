/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Building ahead of time: declarations that build.c (objects), names.c (names in C) and header.c
 * share. */
#ifndef HIA_ENGINE_BUILD_H
#define HIA_ENGINE_BUILD_H

#include "jit/engine/engine.h"

/* A function that is built, and its name in C. */
typedef struct hia_built {
  const hia_function *function;
  const char *name;
  const char *map;   /* name of its map entry; NULL: it has none */
  const char *type;  /* name of the function that returns its types; NULL: they are scalars */
  const char *plain; /* name of its plain function; NULL: it has none, or it is not known yet
                        whether it has */
} hia_built;

typedef struct hia_building {
  hia_module *module;
  hia_comp comp; /* of all that follows */
  hia_types types;
  hia_function *const *functions; /* as the caller gave them */
  size_t n;
  const hia_build_options *options;
  const char *prefix; /* with its `_`, or "" */
  HIA_VEC(hia_built) built;
  hia_index by_function; /* of `built` */
  HIA_VEC(const char *)
  names; /* all names of the object in C: those of `built`, of host functions, derived ones */
  hia_index by_name;
  HIA_VEC(const char *) left_out; /* signatures of functions that are generic */
  HIA_VEC(const char *) externs;  /* as C declares them: what the linker has to find */
  hia_text text;                  /* of a header */
  void *bytes;                    /* of an object; from the engine's allocator */
  size_t size;
  hia_graph *native, *flat;             /* what becomes code, and what becomes the image */
  hia_fn_id *native_roots, *flat_roots; /* in the order of `built` */
  const char *params_name;              /* of the function that returns the params of the params;
                                           NULL: there are none */
  hia_param_state *params;              /* what is embedded, held; or NULL */
  const char *const *result_names; /* of the program's function, by word; NULL: there are none */
  uint32_t n_results;
  hia_fn_id native_streams, flat_streams; /* the program's function for streams; HIA_NONE: it takes
                                             none */
  uint64_t open_ns;                       /* the time of opening the compiler; 0: it was open */
} hia_building;

static inline bool hiaJ_build_has(const hia_building *b, hia_build_flag flag) {
  return (b->options->flags & (uint64_t)flag) != 0;
}

/* names.c, with the module's lock held: fills in `prefix` to `left_out`. May throw. */
hia_status hiaJ_build_names(hia_building *b, hia_error **error);
/* Returns a derived name, such as PREFIX_fib_plain, with as many `_` appended as make it distinct
 * from all other names of the object. */
const char *hiaJ_derived_name(hia_building *b, const char *name);
/* Does the same for a name that no function of the program has: it gives way to C's names, too. */
const char *hiaJ_own_c_name(hia_building *b, const char *name);
/* Returns why a function of a program cannot have this name in C, worded to follow "in C, "; NULL
 * if it can. */
const char *hiaJ_name_taken(const char *name);
/* True for a keyword of C or C++, and for a name that their compilers define without a header. */
bool hiaJ_is_c_word(const char *name);
/* True for a name of hiaton's libraries or headers. */
bool hiaJ_is_own_name(const char *name);
/* build_profile.c: the native graph, which has just been built, becomes fast for the points of the
 * options. May throw. */
hia_status hiaJ_build_profile(hia_building *b, hia_error **error);
/* For tests: it becomes fast for what is guessed. */
void hiaJ_build_guesses(hia_building *b, uint32_t seed);
/* header.c: writes `text`. May throw. */
void hiaJ_build_header(hia_building *b);
/* c_types.c: a dtype. */
const char *hiaJ_c_type(hia_dtype dtype);
/* A type in the building's own table, because the module's may be in use by other threads. */
hia_type hiaJ_type_in(hia_building *b, const hia_param *p);
/* header_data.c: true if some function has data or arrays in its signature. */
bool hiaJ_has_values(const hia_building *b);
/* Adds what the header declares for the data types of signatures. */
void hiaJ_header_data(hia_building *b);
/* The text of a small value of the type. */
const char *hiaJ_small_value(hia_building *b, hia_type type);
/* Returns the declaration of a host function in C. */
const char *hiaJ_extern_in_c(hia_building *b, const hia_extern *e);

#endif
