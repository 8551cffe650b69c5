/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Counts of references, compared with the references that there are (docs/memory.md).
 *
 * An audit is given the roots of a run: every reference that is not in an object. It follows them
 * through the run's objects, and counts how often it comes to each. An object with a count below
 * that will be freed while something refers to it. One with a count above it will never be freed;
 * that is allowed after a failure, and where jobs of several workers have been abandoned.
 *
 * Builds with HIA_CENSUS audit runs: the interpreter on one worker now and then, all of them at
 * their end. A wrong count ends the process by abort(), with a message. */
#ifndef HIA_AUDIT_H
#define HIA_AUDIT_H

#include "runtime/heap/object.h"

typedef struct hia_audit hia_audit;

/* Takes its memory from hiaR_malloc, so that tests which count a run's requests do not see it.
 * Where that is not enough, or there are more than a million objects, it finds nothing wrong.
 * NULL: no memory. Both must outlive the audit; `types` may be NULL, and is for messages. */
hia_audit *hiaR_audit_new(const hia_shapes *shapes, const hia_type_table *types);
void hiaR_audit_free(hia_audit *a);
/* A reference of the type with this base. The object may not change before hiaR_audit_wrong. */
void hiaR_audit_root(hia_audit *a, hia_word ref, uint32_t base);
/* Follows the references. Returns a message about the first count that is wrong, which lives as
 * long as the audit; NULL: all are right. `is_exact`: no count may be above the references. `heap`:
 * it may have no other objects than these; or NULL. No worker uses the heap meanwhile. */
const char *hiaR_audit_wrong(hia_audit *a, bool is_exact, const hia_heap *heap);
uint64_t hiaR_audit_objects(const hia_audit *a); /* found so far */

/* Audits the end of a run: its results are the roots, and there may be no other objects. Aborts. */
void hiaR_audit_results(const hia_heap *heap, const hia_shapes *shapes, const hia_type_table *types,
                        const hia_type *result_types, const hia_word *results, uint32_t n,
                        bool is_exact);

#endif
