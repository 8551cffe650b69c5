/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Large products by OpenBLAS, for hosts that allow other orders of additions (--fast-products).
 * Their bits are the library's: they depend on the machine, but not on the number of threads of a
 * run, because a product is cut into blocks that depend on its sizes alone.
 *
 * The library is opened when it is first asked for, and stays open. It is told to use one thread,
 * which holds for all users of it in the process. All functions may be called on any thread. */
#ifndef HIA_BLAS_H
#define HIA_BLAS_H

#include "runtime/kernel/product.h"

/* True if the library is there. The first call opens it, which takes some milliseconds. */
bool hiaR_blas_open(void);
/* For tests: opens another library in its place, at whose products none may be under way. NULL:
 * OpenBLAS again. Returns false if that library is not there, or has no such products. */
bool hiaR_blas_use(const char *name);

/* True if OpenBLAS should compute this product: it is of floats, large in each direction, and lies
 * in memory as BLAS can read it. `packed` is ignored. It depends on the product alone; whether the
 * library is there is another question. */
bool hiaR_blas_takes(const hia_product *product);

/* These do what hiaR_product_plan and hiaR_product_slab do, for a product that hiaR_blas_takes,
 * with the library open. Slabs take at most some 500 microseconds and need no scratch. */
void hiaR_blas_plan(const hia_product *product, hia_product_plan *plan);
void hiaR_blas_slab(const hia_product *product, const hia_product_plan *plan, size_t part,
                    size_t slab);

#endif
