/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* zlib, opened at run time. */
#include "runtime/interchange/inflate.h"
#include <dlfcn.h>
#include <pthread.h>

static struct {
  uLong (*crc32)(uLong crc, const Bytef *bytes, uInt n);
  int (*begin)(z_streamp stream, int window_bits, const char *version, int stream_size);
  int (*inflate)(z_streamp stream, int flush);
  int (*end)(z_streamp stream);
  bool is_open;
} zlib;

static void open_library(void) {
  void *library = dlopen("libz.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) return;
  *(void **)&zlib.crc32 = dlsym(library, "crc32");
  *(void **)&zlib.begin = dlsym(library, "inflateInit2_");
  *(void **)&zlib.inflate = dlsym(library, "inflate");
  *(void **)&zlib.end = dlsym(library, "inflateEnd");
  zlib.is_open = zlib.crc32 && zlib.begin && zlib.inflate && zlib.end;
  if (!zlib.is_open) dlclose(library);
}

bool hiaR_zlib_open(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, open_library);
  return zlib.is_open;
}

/* The library counts bytes in unsigned numbers. */
static uInt piece(size_t n) {
  enum { LARGEST = 1 << 30 };
  return n < LARGEST ? (uInt)n : LARGEST;
}

uint32_t hiaR_crc32(uint32_t crc, const void *bytes, size_t n) {
  uLong sum = crc;
  for (const Bytef *at = bytes; n;) {
    uInt part = piece(n);
    sum = zlib.crc32(sum, at, part);
    at += part;
    n -= part;
  }
  return (uint32_t)sum;
}

/* ---- memory: an allocator is told the size of what it frees, zlib does not tell it ---- */

enum { HEAD = 16 };

static voidpf take(voidpf user, uInt n, uInt size) {
  const hia_allocator *a = user;
  size_t bytes = (size_t)n * size + HEAD;
  char *block = hiaR_alloc(a, bytes);
  if (!block) return Z_NULL;
  memcpy(block, &bytes, sizeof bytes);
  return block + HEAD;
}

static void give(voidpf user, voidpf at) {
  char *block = (char *)at - HEAD;
  size_t bytes;
  memcpy(&bytes, block, sizeof bytes);
  hiaR_free(user, block, bytes);
}

/* ---- streams ---- */

hia_status hiaR_inflate_begin(hia_inflater *r, const hia_allocator *allocator, const void *bytes,
                              size_t n) {
  enum { WITHOUT_HEAD = -15 };
  *r = (hia_inflater){.from = bytes, .n = n};
  r->stream.zalloc = take;
  r->stream.zfree = give;
  r->stream.opaque = (voidpf)(uintptr_t)allocator;
  int code = zlib.begin(&r->stream, WITHOUT_HEAD, ZLIB_VERSION, (int)sizeof r->stream);
  return code == Z_OK ? HIA_OK : HIA_MEMORY;
}

hia_status hiaR_inflate(hia_inflater *r, void *to, size_t n, size_t *got) {
  z_stream *s = &r->stream;
  *got = 0;
  while (!r->is_at_end && *got < n) {
    if (!s->avail_in) {
      s->next_in = (z_const Bytef *)(uintptr_t)r->from;
      s->avail_in = piece(r->n);
      r->from += s->avail_in;
      r->n -= s->avail_in;
    }
    uInt room = piece(n - *got);
    s->next_out = (Bytef *)to + *got;
    s->avail_out = room;
    int code = zlib.inflate(s, Z_NO_FLUSH);
    *got += room - s->avail_out;
    r->is_at_end = code == Z_STREAM_END;
    if (code == Z_MEM_ERROR) return HIA_MEMORY;
    if (code != Z_OK && code != Z_STREAM_END) return HIA_ARGUMENT;
  }
  return HIA_OK;
}

bool hiaR_inflate_is_complete(const hia_inflater *r) {
  return r->is_at_end && !r->stream.avail_in && !r->n;
}

void hiaR_inflate_end(hia_inflater *r) { zlib.end(&r->stream); }
