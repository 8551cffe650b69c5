/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* What the machine has left, and grants of it: the limits that hold where none is set. */
#ifndef HIA_LEFT_H
#define HIA_LEFT_H

#include "runtime/base/base.h"

/* What a run takes of each kind without asking. */
#ifdef HIA_STRESS
#define HIA_FREE_GRANT ((size_t)64 << 10)
#else
#define HIA_FREE_GRANT ((size_t)4 << 20)
#endif

/* Bytes; UINT64_MAX: there is no limit. */
typedef struct hia_left {
  uint64_t memory; /* of the machine, and of the control groups that the process is in */
  uint64_t space;  /* of addresses: RLIMIT_AS and RLIMIT_DATA */
} hia_left;

/* Reads the system's files. */
hia_left hiaR_left_read(void);
uint64_t hiaR_space_left(void); /* hia_left.space alone */

/* The holder of a grant of `granted` bytes (0: it has none yet) asks for `wanted` in all. Returns
 * what it has from now on: at least that, or, if so much is not left, what it had. `is_mapped`: its
 * addresses are reserved already, as those of a stack. */
size_t hiaR_grant(size_t granted, size_t wanted, bool is_mapped);
void hiaR_grant_end(size_t granted);
/* True if a block of this size may be taken, which is filled at once and outlives runs. */
bool hiaR_may_take(size_t size);
/* hiaR_alloc_large of such a block; NULL: there is not so much memory. */
void *hiaR_take_large(const hia_allocator *allocator, size_t size);

/* For tests: the folder in which the system's files are looked for, in place of "/", and the
 * account is opened again. It must remain valid. NULL: "/". */
void hiaR_left_from(const char *files);

#endif
