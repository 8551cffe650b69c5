/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The hash of an image, by which a damaged one is found. */
#include "runtime/image/image.h"

uint64_t hiaR_image_hash(const void *bytes, size_t size) {
  const uint8_t *at = bytes;
  uint64_t h = HIA_MIX ^ size;
  for (size_t i = 0; i + 8 <= size; i += 8) {
    uint64_t word;
    memcpy(&word, at + i, sizeof word);
    h = (h ^ word) * 0xff51afd7ed558ccdu;
    h ^= h >> 32;
  }
  return h;
}
