/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Memory that AddressSanitizer is told not to be in use. */
#ifndef HIA_POISON_H
#define HIA_POISON_H

#ifdef HIA_ASAN
#include <sanitizer/asan_interface.h>
#define HIA_POISON(at, size)   __asan_poison_memory_region((at), (size))
#define HIA_UNPOISON(at, size) __asan_unpoison_memory_region((at), (size))
#else
#define HIA_POISON(at, size)   ((void)(at), (void)(size))
#define HIA_UNPOISON(at, size) ((void)(at), (void)(size))
#endif

#endif
