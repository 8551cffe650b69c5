/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The folder of a cache of native code (hia_engine_options.cache): what is in it, and emptying it.
 * Engines may use it meanwhile. */
#ifndef HIATON_CACHE_H
#define HIATON_CACHE_H

#include <hiaton/runtime.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A file: native code of one function, or of what hosts call of it; or the name of such a file. */
typedef struct hia_cache_file {
  size_t size;      /* sizeof(hia_cache_file) */
  const char *name; /* its name in the folder */
  uint64_t bytes;   /* that it has */
  int64_t used_at;  /* seconds since 1970, to an hour */
  bool is_checked;  /* its bytes were read ... */
  bool is_sound;    /* ... and are as they were written */
  char spare[6];
} hia_cache_file;
/* The file lives until the function returns. */
typedef void (*hia_cache_visit)(void *user, const hia_cache_file *file);

/* Visits all files with code, in no order; with `check` it reads each one. Where there is no folder
 * there are no files. HIA_IO: the folder cannot be read; HIA_UNSUPPORTED: others can write it, or
 * it is another user's. */
HIA_API hia_status hia_cache_each(const char *folder, bool check, hia_cache_visit visit, void *user,
                                  hia_error **error);

/* Removes all files, or, with `damaged`, those that are not as they were written. It removes
 * nothing that hiaton has not made. Errors as above. */
HIA_API hia_status hia_cache_clear(const char *folder, bool damaged, hia_error **error);

#ifdef __cplusplus
}
#endif

#endif
