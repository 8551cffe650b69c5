/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Structures that grow: the first field is the size that the caller's header gives them. */
#include "runtime/base/base.h"

/* No such structure will ever be longer: a larger size was never set, and the memory behind it is
 * not read. */
#define MAX_BYTES 4096

bool hiaR_copy_sized(void *own, size_t own_size, const void *theirs, size_t theirs_size) {
  if (theirs_size < sizeof(size_t) || theirs_size % sizeof(size_t) || theirs_size > MAX_BYTES)
    return false;
  const char *bytes = theirs;
  for (size_t i = own_size; i < theirs_size; i++)
    if (bytes[i]) return false; /* sets a field that this version does not know */
  memcpy(own, theirs, theirs_size < own_size ? theirs_size : own_size);
  return true;
}

void hiaR_sized_copy_out(const void *own, size_t own_size, void *theirs, size_t theirs_size) {
  size_t n = theirs_size < own_size ? theirs_size : own_size;
  if (n > sizeof(size_t))
    memcpy((char *)theirs + sizeof(size_t), (const char *)own + sizeof(size_t), n - sizeof(size_t));
}
