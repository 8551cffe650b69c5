/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Random calls of the builder, usually with values of the right types. A program that is built
 * without a mistake is complete: it can be finished, unless one of its functions cannot end. For
 * unit tests and for libFuzzer. */
#ifndef HIA_HELPER_CALLS_H
#define HIA_HELPER_CALLS_H

#include <hiaton/hiaton.h>

/* A number below n. */
typedef uint32_t calls_draw(void *user, uint32_t n);

/* About n calls, and the calls that end open blocks. */
void calls_make(hia_builder *builder, uint32_t n, calls_draw *draw, void *user);

#endif
