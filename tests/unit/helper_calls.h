/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Any calls of the builder, mostly with values that fit. What is built without a mistake is
 * complete: it finishes, unless some function of it cannot end. For unit tests and for libFuzzer.
 */
#ifndef HIA_HELPER_CALLS_H
#define HIA_HELPER_CALLS_H

#include <hiaton/hiaton.h>

/* A number below n. */
typedef uint32_t calls_draw(void *user, uint32_t n);

/* About n calls, and what it takes to end what has begun. */
void calls_make(hia_builder *builder, uint32_t n, calls_draw *draw, void *user);

#endif
