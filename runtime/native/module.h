/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* What a module of compiled code says of itself, and how a host comes into it.
 *
 * Lowering writes one hia_code_module into each module, and for each root that a host may call a
 * function of the C calling convention, its *typed entry*:
 *
 *   hia_status NAME(hia_context *, int32_t n, int32_t *result)
 *
 * It puts its arguments into a block of words on the host's stack, calls hiaR_enter, and on HIA_OK
 * stores the results, which stand behind the arguments. That is all; the record says the rest.
 *
 * The layout is part of the runtime ABI: HIA_RT_ABI changes with it, and an object refers to the
 * symbol hia_rt_abi_N, so that one made for another runtime does not link. */
#ifndef HIA_MODULE_H
#define HIA_MODULE_H

#include "runtime/native/native.h"

#define HIA_RT_ABI        1
#define HIA_RT_ABI_SYMBOL hia_rt_abi_1
/* Of all that the number stands for: tests/unit/test_engine_build.c. */
#define HIA_RT_ABI_HASH 0x134b838a4ada8374u
extern const uint32_t HIA_RT_ABI_SYMBOL; /* abi.c */

/* A function that can be entered: code, and the same in the image. */
typedef struct hia_code_root {
  hia_native_entry entry;
  uint32_t export;              /* of the image: as hiaR_interp_run counts; HIA_NONE: not in it */
  uint32_t n_params, n_results; /* words of a block */
  uint32_t loc; /* of the function itself, for a run that ends where no call is; or HIA_NONE */
} hia_code_root;

typedef struct hia_code_module hia_code_module;

/* Runs a root of the module's image: hiaR_interpret, which the record of a module with an image
 * names, and nothing else does; so who has no image does not link the interpreter. */
typedef hia_status (*hia_interpret)(hia_context *context, const hia_code_module *module,
                                    uint32_t root, hia_word *block, const hia_limits *limits,
                                    hia_failure *failure);

/* Constant for the runtime. Compiled ahead of time, all of it stands in the object; in the JIT what
 * is said to be its, is filled in when the code has been linked. Pointers may be NULL where nothing
 * else is said. */
struct hia_code_module {
  uint32_t abi;   /* HIA_RT_ABI */
  uint32_t flags; /* HIA_CODE_ */
  uint32_t n_roots, pad;
  const hia_code_root *roots; /* never NULL */

  /* Its frames. The JIT fills it in; an object names the reader of serialised tables and such a
   * table. `locs` are those of `places`; max_frame is never 0. */
  hia_unwinder unwinder;
  hia_places places; /* the JIT fills it in */

  const void *image;
  uint64_t image_size;
  const hia_given_kernel *kernels; /* that the image needs */
  uint64_t n_kernels;
  hia_interpret interpret;

  const uint32_t *abi_symbol;   /* of an object: &HIA_RT_ABI_SYMBOL, for which the linker looks */
  const hia_image_hosts *hosts; /* of an image that has externs */
};

enum {
  HIA_CODE_FORKS = 1, /* several workers can run it */
};

/* Runs a root on the context's own stack: block holds n_params words, in canonical form, and then
 * room for n_results. Called by typed entries, on the host's stack, on any thread. Another status
 * than HIA_OK: the block is as it was, or holds anything. */
hia_status hiaR_enter(hia_context *context, const hia_code_module *module, uint32_t root,
                      hia_word *block);

/* In interpret.c. */
hia_status hiaR_interpret(hia_context *context, const hia_code_module *module, uint32_t root,
                          hia_word *block, const hia_limits *limits, hia_failure *failure);

#endif
