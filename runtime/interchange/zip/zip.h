/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* NumPy's .npz: a zip archive whose members are .npy files, stored or deflated. This folder needs
 * zlib, and so belongs to libhiaton: programs that are built ahead of time do not link it.
 *
 * As in interchange.h, the bytes may be anything. What a member needs when it is inflated is in its
 * header and in the directory; no more is inflated, and memory grows with what was. */
#ifndef HIA_ZIP_H
#define HIA_ZIP_H

#include "runtime/interchange/interchange.h"

typedef struct hia_npz_member {
  const char *name; /* in the bytes of the archive: name_len of them, without .npy */
  uint32_t name_len;
  uint32_t crc;
  uint64_t entry;        /* where its entry of the directory begins */
  uint64_t begin, at;    /* where its local header begins, and its contents */
  uint64_t packed, size; /* bytes of its contents in the archive, and inflated */
  bool is_deflated;
} hia_npz_member;

typedef struct hia_npz {
  const unsigned char *bytes;
  const hia_npz_member *members; /* in the order of the archive */
  uint32_t n;
  hia_allocator allocator;
  size_t size; /* of the allocation of members */
} hia_npz;

/* ---- npz.c ---- */

/* Reads the directory of an archive. The caller closes it, unless this fails; the bytes must outlive
 * it. Refuses archives of several parts, encrypted members, other methods than stored and deflated,
 * members that overlap or whose names are equal, and those that are no .npy. */
hia_status hiaR_npz_open(hia_npz *npz, const hia_allocator *allocator, const void *bytes, size_t n,
                         hia_value_error *error);
void hiaR_npz_close(hia_npz *npz);
/* The member of this name, or NULL. */
const hia_npz_member *hiaR_npz_find(const hia_npz *npz, const char *name, size_t len);

/* What the elements of a deflated member lie in; begins with zeros. */
typedef struct hia_npz_room {
  void *data;
  size_t size;
} hia_npz_room;
/* Reads a member, and checks its CRC: the tensor refers to the archive, or to the room, which the
 * caller frees in any case (hiaR_npz_free). If `wanted` is not NULL it is called with dtype and
 * shape before anything is inflated but the header, and may refuse them. Positions in errors are
 * those in the archive or, if the message names the member, in the inflated .npy. */
typedef struct hia_npz_wanted {
  hia_status (*check)(const void *user, const hia_file_tensor *tensor, hia_value_error *error);
  const void *user;
} hia_npz_wanted;
hia_status hiaR_npz_read(const hia_npz *npz, const hia_npz_member *member,
                         const hia_npz_wanted *wanted, hia_npz_room *room, hia_file_tensor *tensor,
                         hia_value_error *error);
void hiaR_npz_free(const hia_npz *npz, hia_npz_room *room);

/* ---- npz_write.c ---- */

/* Writes the tensors as members of their names, stored, as numpy.savez does. HIA_ARGUMENT: a name
 * is no UTF-8, has more than 1000 bytes or is there twice, or the archive would have 4 GiB or more.
 * HIA_IO. */
hia_status hiaR_npz_write(const hia_file_tensor *tensors, uint32_t n, const hia_sink *sink,
                          hia_value_error *error);

#endif
