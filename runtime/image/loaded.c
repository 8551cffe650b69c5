/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* What engines and hosts ask of an image that was loaded. */
#include "runtime/image/loaded.h"

uint32_t hiaR_image_n_exports(const hia_loaded *image) { return image->n_exports; }

const hia_export *hiaR_image_export(const hia_loaded *image, uint32_t entry) {
  return entry < image->n_exports ? &image->exports[entry] : NULL;
}

uint32_t hiaR_image_find(const hia_loaded *image, const char *name) {
  for (uint32_t i = 0; i < image->n_exports; i++)
    if (strcmp(image->exports[i].name, name) == 0) return i;
  return HIA_NONE;
}

uint32_t hiaR_image_entry(const hia_loaded *image, uint32_t fn) {
  for (uint32_t i = 0; i < image->n_exports; i++)
    if (image->exports[i].fn == fn) return i;
  return HIA_NONE;
}

const hia_image_loc *hiaR_image_locs(const hia_loaded *image, uint32_t *n) {
  if (n) *n = image->n_locs;
  return image->locs;
}

const char *hiaR_image_string(const hia_loaded *image, uint32_t offset) {
  return image->strings + offset;
}

const char *hiaR_image_file(const hia_loaded *image) { return image->file; }

size_t hiaR_image_bytes(const hia_loaded *image) { return image->size + image->shapes_size; }

const hia_param_spec *hiaR_image_params(const hia_loaded *image, uint32_t *n) {
  *n = image->n_params;
  return image->params;
}

const hia_shapes *hiaR_image_shapes(const hia_loaded *image) { return image->shapes; }
