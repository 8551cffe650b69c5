/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Native code as an object file, built ahead of time. hiaton.h includes it. */
#ifndef HIATON_BUILD_H
#define HIATON_BUILD_H

#include <hiaton/engine.h>
#include <hiaton/profile.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- building ahead of time ----
 *
 * Native code as an object file, for a program that is linked without hiaton's compiler: with
 * libhiaton_rt (and -lm) alone. It contains a typed entry (hiaton/runtime.h) for each function,
 * and the image that the interpreter runs for HIA_CONTEXT_INTERPRET. Its header declares
 * the entries for C and C++. The command `hiaton build` calls these two functions and the linker;
 * docs/aot.md says more. */

/* hia_build_options.flags. */
typedef enum hia_build_flag {
  HIA_BUILD_PARALLEL = 1 << 0, /* code that several threads can run at once
                                  (hia_context_options.threads) */
  HIA_BUILD_MAPS = 1 << 1,     /* map entries too (hiaton/runtime.h, "Maps"): `prefix_fib_map` */
  /* Calls of the object's functions use up their context's fuel, as do the calls, rounds and
     operations on tensors in them (hia_context_set_fuel); the object then has no plain functions,
     and each call runs on one thread. */
  HIA_BUILD_FUEL = 1 << 2,
  HIA_BUILD_EMBED_PARAMS = 1 << 3, /* the object holds the params as the module has them now */
} hia_build_flag;

typedef struct hia_build_options {
  size_t size;
  /* A C identifier. fib(i32) becomes `prefix_fib` in C, a further instance `prefix_fib__i64`; with
   * "" it becomes `fib`. NULL: the name of the module's file without its ending. No function may
   * have the name of a keyword, a name that the C library or its headers define, or a reserved
   * name. A derived name (`__i64`, `_plain`) gets `_` appended if another function has that name */
  const char *prefix;
  /* The instructions that the code may use: "native" (this machine's), "x86-64", "x86-64-v2" to
     "x86-64-v4", or a processor by LLVM's name, "znver3"; NULL: native */
  const char *cpu;
  hia_function *program; /* one of the built functions: the object gets a `main` that runs it as the
                            command line does, and needs the static libhiaton_rt. NULL: no main */
  const char *header;    /* the file name that the header will have; NULL: from the prefix */
  uint64_t flags;        /* hia_build_flag, joined by `|`; 0. Others are HIA_ARGUMENT */
  uint64_t seed;         /* without HIA_BUILD_EMBED_PARAMS: its params begin with what the
                            initialisers make of this */
  /* What runs of the program were observed to do, n_points of them, in any order; or NULL.
     Functions get a second form for parameters that were always one number or had the same sizes,
     and loops that had few rounds begin with so many; all else is tested, so the object computes
     what it would without. What is of another program, or makes no sense, is passed over. Needs a
     program without gradients; not with HIA_BUILD_FUEL */
  const hia_observed_point *points;
  size_t n_points;
} hia_build_options;
#define HIA_BUILD_OPTIONS_INIT {sizeof(hia_build_options), NULL, NULL, NULL, NULL, 0, 0, NULL, 0}

/* Writes an object file of n functions, which have all their types; if n is 0, of every function
 * whose types are known. The same module, options and version of hiaton result in the same
 * bytes. `options` may be NULL for the defaults; of the engine's options, `opt_level`,
 * `disabled_passes`, `batching` and the flags apply. HIA_ARGUMENT if a function is generic, a name
 * is not possible in C or occurs twice, or the processor is not known; HIA_UNSUPPORTED without
 * native compilation; HIA_IO if `write` returns false. */
HIA_API hia_status hia_module_build_object(hia_module *module, hia_function *const *functions,
                                           size_t n, const hia_build_options *options,
                                           hia_write write, void *user, hia_error **error);
/* Writes the header of such an object, for the same functions and options. */
HIA_API hia_status hia_module_build_header(hia_module *module, hia_function *const *functions,
                                           size_t n, const hia_build_options *options,
                                           hia_write write, void *user, hia_error **error);

#ifdef __cplusplus
}
#endif

#endif
