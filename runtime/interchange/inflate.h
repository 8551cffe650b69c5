/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* What .npz needs of zlib: CRC-32, and deflate read piece by piece.
 *
 * The library is opened when it is first asked for, and stays open, so programs that read no .npz
 * run without it. All functions but the first require that it is open; any thread may call them. */
#ifndef HIA_INFLATE_H
#define HIA_INFLATE_H

#include "runtime/base/base.h"
#include <zlib.h>

/* True if the library is there. The first call opens it. */
bool hiaR_zlib_open(void);
/* Continues the CRC-32 of what came before, which is 0 at the beginning. */
uint32_t hiaR_crc32(uint32_t crc, const void *bytes, size_t n);

/* A deflate stream without a head, as archives have it. */
typedef struct hia_inflater {
  z_stream stream;
  const unsigned char *from; /* bytes that the stream has not seen, n of them */
  size_t n;
  bool is_at_end;
} hia_inflater;

/* Begins to read n bytes, which must outlive the reading. HIA_MEMORY: there is nothing to end. The
 * allocator must outlive it, too. */
hia_status hiaR_inflate_begin(hia_inflater *inflater, const hia_allocator *allocator,
                              const void *bytes, size_t n);
/* Reads the next n bytes of what was deflated; *got are fewer only where the stream ends.
 * HIA_ARGUMENT: the stream is damaged, or its bytes have come to an end before; HIA_MEMORY. */
hia_status hiaR_inflate(hia_inflater *inflater, void *to, size_t n, size_t *got);
/* True if the stream has ended, and all of its bytes were needed. */
bool hiaR_inflate_is_complete(const hia_inflater *inflater);
void hiaR_inflate_end(hia_inflater *inflater);

#endif
