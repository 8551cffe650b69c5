/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* A cache on disk: a folder of files, each with the bytes that were stored under a name.
 *
 * What a process finds there may have been cut short, altered, written by another version or by
 * somebody else. None of that is an error: it is as if the bytes were not there. So
 *
 *   - a file is written under a name of its own, which is then changed to the final one, and never
 *     written again: readers see all of it or nothing, whenever a writer dies;
 *   - its header has the size and a checksum of the bytes, which are checked before the bytes are
 *     used. They are read, not mapped: a file that is cut short later harms nobody;
 *   - the folder and the files must belong to the user, must not be links, and must not be
 *     writable by others.
 *
 * Any number of threads and processes may use a folder at once. The folder has a limit of size:
 * when a file is stored that would exceed it, those that were not used for longest are removed. How
 * much there is a file of the folder says, as an estimate that is never too low for long, so that
 * not every writer has to look through the folder. */
#ifndef HIA_STORE_H
#define HIA_STORE_H

#include "runtime/run/error.h"

#define HIA_STORE_NAME 32 /* hexadecimal digits of a name */
/* Files of other versions of the format are removed as others are. */
#define HIA_STORE_MAGIC "hiacode1"

typedef struct hia_store hia_store;

/* Opens a folder, and makes it, with those that it is in, if it is not there. HIA_IO: it cannot be
 * made or opened; HIA_UNSUPPORTED: it is not the user's alone. `max_bytes`: of all files together.
 * The allocator must outlive the store. */
hia_status hiaJ_store_open(const hia_allocator *allocator, const char *path, uint64_t max_bytes,
                           hia_store **out, hia_error **error);
void hiaJ_store_close(hia_store *store); /* or NULL */
const char *hiaJ_store_path(const hia_store *store);

/* Reads the bytes stored under a name. NULL: there are none, or they are damaged, or there is no
 * memory for them. hiaJ_store_free returns them. */
void *hiaJ_store_read(hia_store *store, const char name[HIA_STORE_NAME + 1], size_t *size);
void hiaJ_store_free(hia_store *store, void *bytes, size_t size);
/* Stores bytes. False: they could not be written; nothing is left of them. */
bool hiaJ_store_write(hia_store *store, const char name[HIA_STORE_NAME + 1], const void *bytes,
                      size_t size);

/* A file of the folder. */
typedef struct hia_store_file {
  char name[HIA_STORE_NAME + 1];
  uint64_t size;
  int64_t used_at; /* seconds since 1970 */
  bool is_sound;   /* its bytes are as its header says; false if they were not checked */
} hia_store_file;
typedef void hia_store_visit(void *user, const hia_store_file *file);
/* Visits all files, in no order; `checks`: it also reads them. HIA_IO, HIA_MEMORY. */
hia_status hiaJ_store_each(hia_store *store, bool checks, hia_store_visit *visit, void *user);
/* Removes a file; all. */
void hiaJ_store_remove(hia_store *store, const char name[HIA_STORE_NAME + 1]);
hia_status hiaJ_store_clear(hia_store *store);

/* A checksum of 128 bits, as 32 hexadecimal digits and a NUL. Not for secrets: it finds what was
 * altered by accident. */
void hiaJ_digest(const void *bytes, size_t size, char digits[HIA_STORE_NAME + 1]);

#endif
