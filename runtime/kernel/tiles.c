/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The kernels of this machine: those of the first kind that the processor has. */
#include "runtime/kernel/tile.h"

static const hia_tiles *best(void) {
#if defined(__x86_64__)
  __builtin_cpu_init();
  bool has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (has_avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl"))
    return &hiaR_tiles_avx512;
  if (has_avx2) return &hiaR_tiles_avx2;
#endif
  return &hiaR_tiles_plain;
}

_Atomic(const hia_tiles *) hiaR_tiles_in_use;

/* Threads that come first at the same time all choose the same. */
const hia_tiles *hiaR_tiles_choose(void) {
  const hia_tiles *t = best();
  atomic_store_explicit(&hiaR_tiles_in_use, t, memory_order_relaxed);
  return t;
}

const char *hiaR_product_kernels(void) { return hiaR_tiles()->name; }

bool hiaR_product_use(const char *kernels) {
  const hia_tiles *t = best(), *use = NULL;
  if (!kernels || strcmp(kernels, t->name) == 0)
    use = t;
  else if (strcmp(kernels, "plain") == 0)
    use = &hiaR_tiles_plain;
#if defined(__x86_64__)
  else if (strcmp(kernels, "avx2") == 0 && t == &hiaR_tiles_avx512)
    use = &hiaR_tiles_avx2;
#endif
  if (use) atomic_store_explicit(&hiaR_tiles_in_use, use, memory_order_relaxed);
  return use;
}
