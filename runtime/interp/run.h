/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The two engines that run images. */
#ifndef HIA_INTERP_RUN_H
#define HIA_INTERP_RUN_H

#include "runtime/run/runtime.h"

/* ---- interp.c: the tagged-token interpreter; expand.c: the dynamic baseline ----
 *
 * Both run export `entry` of a loaded program. args and results are the words of its signature, in
 * canonical form. A program with references needs limits->heap, where the objects of its results
 * stay (else HIA_UNSUPPORTED); it borrows those of its arguments. *failure and *usage are always
 * filled in. Thread-safe: one program can have any number of runs at once. */

hia_status hiaR_interp_run(const hia_loaded *image, uint32_t entry, const hia_word *args,
                           hia_word *results, const hia_limits *limits,
                           const hia_allocator *allocator, hia_failure *failure, hia_usage *usage);
hia_status hiaR_expand_run(const hia_loaded *image, uint32_t entry, const hia_word *args,
                           hia_word *results, const hia_limits *limits,
                           const hia_allocator *allocator, hia_failure *failure, hia_usage *usage);

/* ---- later/settle.c: operations as they come, several at a time ---- */

typedef struct hia_firings hia_firings;
/* What computes operations later, for hia_limits: DEPTH or AGENDA; else NULL. */
const hia_firings *hiaR_firings(hia_batching batching);

#endif
