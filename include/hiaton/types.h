/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Types that the public API, the runtime and compiled programs have in common. */
#ifndef HIATON_TYPES_H
#define HIATON_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define HIA_API __attribute__((visibility("default")))
#else
#define HIA_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Returned by every function that can fail; status.def has the list. */
typedef enum hia_status {
#define HIA_STATUS(number, NAME, word, message) HIA_##NAME = number,
#include <hiaton/status.def>
} hia_status;

/* Element types. The numbers are part of the runtime ABI. */
typedef enum hia_dtype {
  HIA_BOOL = 0,
  HIA_I32 = 1,
  HIA_I64 = 2,
  HIA_F32 = 3,
  HIA_F64 = 4,
} hia_dtype;
#define HIA_N_DTYPES 5

/* Kinds of types. The numbers are part of the ABI. Later versions add kinds: a host handles a kind
 * that it does not know like a function that it cannot call. */
typedef enum hia_type_kind {
  HIA_KIND_NONE = 0,   /* there is no type, or it is not known */
  HIA_KIND_SCALAR = 1, /* of a dtype */
  HIA_KIND_TUPLE = 2,  /* of 2 parts or more */
  HIA_KIND_ARRAY = 3,  /* of elements of one type */
  HIA_KIND_DATA = 4,   /* of constructors */
  HIA_KIND_TENSOR = 5, /* of elements of one dtype, along one axis or more */
} hia_type_kind;
typedef struct hia_type_info hia_type_info; /* a type of a program: inspect.h */

/* The name of the function that an expression becomes (hia_module_load_expression), and of the
 * file that its positions refer to. */
#define HIA_EXPRESSION "<expr>"

/* Where memory comes from. All three functions must be thread-safe. alloc and resize return NULL
 * when there is no memory. Blocks are aligned for any type (16 bytes). `size` is the size that was
 * requested, `old_size` that of the block so far. */
typedef struct hia_allocator {
  void *(*alloc)(void *user, size_t size);
  void *(*resize)(void *user, void *block, size_t old_size, size_t size);
  void (*free)(void *user, void *block, size_t size);
  void *user;
} hia_allocator;

/* What is computed for many activations of a function at a time (docs/batching.md): by native code,
 * and by DEPTH and AGENDA by the interpreter. Results have the same bits. */
typedef enum hia_batching {
  HIA_BATCH_SEGMENTS =
      0, /* operations on tensors, where products with large params are among them */
  HIA_BATCH_NONE = 1,
  HIA_BATCH_ALL = 2, /* also with small params: to measure, and to test */
  /* HIA_ENGINE_INTERP alone has these; other engines, and building, are HIA_ARGUMENT. A run, which
     has one worker, notes operations on tensors. When elements are needed it computes all that it
     has noted, those of equal signature together. */
  HIA_BATCH_DEPTH = 3,  /* those of equal depth */
  HIA_BATCH_AGENDA = 4, /* all that are ready, those of the lowest average depth first */
} hia_batching;

/* A host's thread pool, used instead of threads of hiaton's own. `start` arranges for one call of
 * work(arg) on another thread, as soon as one is free, and returns true; if it cannot, it returns
 * false, and the run goes on with fewer workers. Threads that run programs call `start`, on a
 * stack of which it may use 64 KiB, and so does a thread of the engine that has functions compiled;
 * it must not wait, must not call `work` itself, and must not call hiaton. `work` returns when its
 * run has nothing more for it to do; if it begins only after its run has ended, it returns at once.
 */
typedef struct hia_thread_pool {
  bool (*start)(void *user, void (*work)(void *arg), void *arg);
  void *user;
} hia_thread_pool;

#ifdef __cplusplus
}
#endif
#endif
