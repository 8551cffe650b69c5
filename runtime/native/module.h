/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* What a module of compiled code says of itself, and how a host enters it.
 *
 * Lowering writes one hia_code_module into each module, and for each root that a host may call a
 * function of the C calling convention, its *typed entry*:
 *
 *   hia_status NAME(hia_context *, int32_t n, int32_t *result)
 *
 * It puts its arguments into a block of words on the host's stack, calls hiaR_enter, and on HIA_OK
 * stores the results, which stand behind the arguments. The record says everything else.
 *
 * The layout is part of the runtime ABI: HIA_RT_ABI changes with it, and an object refers to the
 * symbol hia_rt_abi_N, so that an object made for another runtime does not link. */
#ifndef HIA_MODULE_H
#define HIA_MODULE_H

#include "runtime/heap/operation.h"
#include "runtime/native/native.h"

#define HIA_RT_ABI        14
#define HIA_RT_ABI_SYMBOL hia_rt_abi_14
/* Hash of all that the number covers: tests/unit/engine/test_engine_build.c. */
#define HIA_RT_ABI_HASH 0x5b792b3cd1c5fc05u
extern const uint32_t HIA_RT_ABI_SYMBOL; /* abi.c */

/* A function that can be entered: its code, and its export in the image. */
typedef struct hia_code_root {
  hia_native_entry entry;
  uint32_t flags;  /* HIA_CODE_: what holds for this root. Without HIA_CODE_OBJECTS its native code
                      uses no objects, though others of the module may */
  uint32_t export; /* its number in the image, as hiaR_interp_run counts; HIA_NONE: not in it */
  uint32_t n_params, n_results; /* words of a block */
  uint32_t loc; /* of the function itself, for a run that ends outside of any call; or HIA_NONE */
  uint32_t spare;
  const hia_type *types; /* of each word of a block, parameters first; NULL: all are scalars */
} hia_code_root;

/* An operation on tensors, as generated code describes it: a constant. */
typedef struct hia_native_operation {
  hia_operate operate;
  hia_operation o;
} hia_native_operation;

/* Operations one after the other, on the words of one block, as generated code describes them: a
 * constant. Code that is seldom needed takes less room so, and less time to compile. */
enum { HIA_STEP_INS = 8 };
typedef struct hia_native_step {
  const hia_native_operation *operation; /* NULL: the step adds a reference to word ins[0], or gives
                                            one up */
  uint32_t loc;                          /* of the operation */
  uint32_t base; /* of the type of a word that is given up; HIA_NONE: a reference is added */
  uint16_t out;  /* the word that becomes the result */
  uint16_t n_in; /* those of an operation, at most HIA_STEP_INS */
  uint16_t ins[HIA_STEP_INS]; /* words */
  uint16_t spare[2];
} hia_native_step;
typedef struct hia_native_steps {
  uint64_t n;
  hia_native_step list[];
} hia_native_steps;

/* New tensors of one shape, as generated code describes them: a constant. */
typedef struct hia_native_tensor {
  uint32_t loc; /* of the operation that makes it */
  uint32_t dtype;
} hia_native_tensor;
typedef struct hia_native_tensors {
  uint32_t n, rank;
  hia_native_tensor list[];
} hia_native_tensors;

/* A segment (graph/batch/batch.h), as generated code describes it: a constant. The words of its
 * block are its operands, tensors of as many rows as are computed at a time, and its results. */
typedef struct hia_segment_word {
  uint8_t dtype;
  uint8_t rank; /* of the tensor of one row; 0: the operand is a scalar, and no result is */
  uint16_t spare;
  uint32_t n;          /* elements of a row */
  const int64_t *dims; /* of a row; not read if the rank is 0 */
} hia_segment_word;
enum { HIA_SEGMENT_MOST = 64 }; /* operands, if equal rows are computed once */
typedef struct hia_segment {
  hia_native_entry entry;
  uint32_t number; /* no other segment of the program has it */
  uint16_t n_ins, n_outs;
  uint64_t owns;                 /* bit i: the entry takes the reference of operand i */
  uint64_t row_bytes;            /* of a row's operands and results */
  const hia_segment_word *words; /* operands, then results */
  /* A variable of the code, 0 at first, and then a number that no other segment ever has. NULL:
   * rows are computed as often as they are noted, also if they are equal. */
  _Atomic uint64_t *known_as;
  uint64_t is_light; /* it has no product: its rows share the elements of no matrix */
} hia_segment;

/* An object of which some words are elements of tensors that may be pending, as generated code
 * describes it: a constant. */
typedef struct hia_late_word {
  uint32_t at;   /* where the word lies in the object */
  uint32_t size; /* of it, in bytes */
} hia_late_word;
typedef struct hia_late_data {
  uint32_t base; /* of the object's type (heap/object.h) */
  uint32_t n;
  const hia_late_word *words;
} hia_late_data;

typedef struct hia_code_module hia_code_module;

/* Runs a root of the module's image: hiaR_interpret. Only the record of a module with an image
 * names it, so a program without an image does not link the interpreter. */
typedef hia_status (*hia_interpret)(hia_context *context, const hia_code_module *module,
                                    uint32_t root, hia_word *block, const hia_limits *limits,
                                    hia_failure *failure);

/* Constant for the runtime. In code compiled ahead of time all of it stands in the object. The JIT
 * fills in the fields marked so when it has linked the code. Pointers may be NULL unless stated
 * otherwise. */
struct hia_code_module {
  uint32_t abi;   /* HIA_RT_ABI */
  uint32_t flags; /* HIA_CODE_ */
  uint32_t n_roots, pad;
  const hia_code_root *roots; /* never NULL */

  /* The frames of its code. The JIT fills it in; an object names the reader of serialised tables
   * and such a table. `locs` are those of `places`. max_frame is never 0. */
  hia_unwinder unwinder;
  hia_places places; /* the JIT fills it in */

  const void *image;
  uint64_t image_size;
  const hia_given_kernel *kernels; /* that the image needs */
  uint64_t n_kernels;
  hia_interpret interpret;

  const uint32_t *abi_symbol;   /* of an object: &HIA_RT_ABI_SYMBOL, which the linker must find */
  const hia_image_hosts *hosts; /* of an image that has externs */

  /* NULL unless the module makes objects; the JIT fills them in. The numbers of the types are those
   * of the roots' words. The JIT's types know only those of the roots' words, and are no table of
   * their own: each info is a copy of one of the module's, so that its values need not be compared.
   */
  struct hia_value_types *types;
  const hia_shapes *shapes;

  struct hia_params *params; /* of a module that has params; the JIT fills it in */

  const struct hia_chooser *chooser; /* chooser.h; the JIT fills it in */
};

enum {
  HIA_CODE_FORKS = 1,         /* several workers can run it */
  HIA_CODE_WITHOUT_FUEL = 2,  /* else each root takes fuel as its last parameter, and gives what is
                                 left as its last result */
  HIA_CODE_OBJECTS = 4,       /* its runs may make objects: they need a heap */
  HIA_CODE_FAST_PRODUCTS = 8, /* of a module: its runs leave large products to OpenBLAS */
  HIA_CODE_VERSIONS = 16,     /* of a root: the chooser is asked at each call. It is set while other
                                 threads run the root */
};

/* Runs a root on the context's own stack: `block` holds n_params words in canonical form, followed
 * by room for n_results. Called by typed entries, on the host's stack, on any thread. With another
 * status than HIA_OK the contents of the block are undefined. */
hia_status hiaR_enter(hia_context *context, const hia_code_module *module, uint32_t root,
                      hia_word *block);

/* Runs a root that takes fuel: that is the context's, which gets back what is left. `block`
 * has room for these two words. */
hia_status hiaR_enter_fuelled(hia_context *context, const hia_code_module *module, uint32_t root,
                              hia_word *block);

/* Runs a root with references among its words, with fuel or without. The run borrows the
 * objects of its arguments, which belong to no run. Those of the results leave it for `to`; if they
 * refer to objects of the arguments, *has_outside becomes true, and `to` must hold these
 * (hiaR_objects_depend). exchange.c. */
struct hia_objects;
hia_status hiaR_enter_objects(hia_context *context, const hia_code_module *module, uint32_t root,
                              hia_word *block, struct hia_objects *to, bool *has_outside);

/* Called by the typed entries of such roots: the words of references are hia_values, and those of
 * parameters that are tensors views (hiaton/tensors.h). The block has
 * the arguments, room for the results, and then once more as many words: the arguments again, and
 * for each result whether it is wanted. Results are values of the caller's; those that are not
 * wanted are undefined. HIA_ARGUMENT, with an error, if an argument is NULL or of another type.
 * values.c. */
hia_status hiaR_enter_values(hia_context *context, const hia_code_module *module, uint32_t root,
                             hia_word *block);
/* The type of parameter i behind the context, results counted behind them; NULL: it is a scalar, or
 * there are fewer. */
const hia_type_info *hiaR_root_type(const hia_code_module *module, uint32_t root, size_t i);

/* What a map entry passes to the runtime; emitted by lower/function/map.c. */
typedef struct hia_map {
  hia_native_entry loop; /* runs all rows; its argument is the block. NULL: a column has values */
  uint32_t root;         /* its number in the module */
  uint32_t n_params, n_results, pad; /* columns; fuel has none */
  const uint8_t *dtypes;             /* hia_repr of each column: parameters, then results */
} hia_map;
/* The words of its block: the number of rows, the number of those that the loop has written, the
 * root's native entry, the columns, and the words of a call of the root. */
enum { HIA_MAP_N = 0, HIA_MAP_ROW = 1, HIA_MAP_ENTRY = 2, HIA_MAP_COLUMNS = 3 };
/* The bytes that the loop and what it calls besides the root's native entry need on the stack, at
 * most. */
#define HIA_MAP_FRAME (128 << 10)

/* Runs a map. The caller has set HIA_MAP_N and the columns; `block` is the caller's. */
hia_status hiaR_enter_map(hia_context *context, const hia_code_module *module, const hia_map *map,
                          hia_word *block);

/* Runs a map of a root for hiaR_enter_values: each row is a call of it. The words in the block are
 * those of such a call. values.c. */
hia_status hiaR_enter_map_values(hia_context *context, const hia_code_module *module,
                                 const hia_map *map, hia_word *block);

/* In interp/entry.c. */
hia_status hiaR_interpret(hia_context *context, const hia_code_module *module, uint32_t root,
                          hia_word *block, const hia_limits *limits, hia_failure *failure);

#endif
