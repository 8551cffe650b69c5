/* Types that the public API, the runtime and compiled programs have in common. */
#ifndef HIATON_TYPES_H
#define HIATON_TYPES_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What every fallible call answers; see status.def for the list. */
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

/* Where memory comes from. All three functions must be thread-safe; alloc and resize answer NULL
 * when there is none. Blocks are aligned for any type (16 bytes). `size` is the size asked for. */
typedef struct hia_allocator {
  void *(*alloc)(void *user, size_t size);
  void *(*resize)(void *user, void *block, size_t old_size, size_t size);
  void (*free)(void *user, void *block, size_t size);
  void *user;
} hia_allocator;

#ifdef __cplusplus
}
#endif
#endif
