/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Typed entries that run the image of their module. Only modules that hold an image link this
 * file. */
#include "runtime/image/loaded.h"
#include "runtime/interp/run.h"
#include "runtime/native/host.h"
#include "runtime/value/value.h"

/* The images that a context has run, decoded: each context has its own. An image is identified by
 * its module and its hash, since another library may be loaded where a closed one was. */
typedef struct hia_images {
  struct hia_images *next;
  const hia_code_module *module;
  uint64_t hash;
  hia_loaded *loaded;
  hia_places places;
} hia_images;

static void free_image(hia_images *image, const hia_allocator *allocator) {
  hiaR_image_free(image->loaded);
  hiaR_free(allocator, image, sizeof *image);
}

static void free_images(hia_images *images, const hia_allocator *allocator) {
  while (images) {
    hia_images *next = images->next;
    free_image(images, allocator);
    images = next;
  }
}

/* The hash in the image's header; the loader has checked it for images that are decoded. */
static uint64_t hash_of(const hia_code_module *module) {
  const hia_image_header *header = module->image;
  return module->image_size < sizeof *header ? 0 : header->hash;
}

static hia_images *known_image(hia_host_context *host, const hia_code_module *module) {
  for (hia_images **at = &host->images; *at; at = &(*at)->next) {
    hia_images *image = *at;
    if (image->module != module) continue;
    if (image->hash == hash_of(module)) return image;
    *at = image->next;
    free_image(image, &host->allocator);
    break;
  }
  return NULL;
}

static bool begins_with(const void *all, size_t n_all, const void *first, size_t n, size_t size) {
  return n <= n_all && (n == 0 || memcmp(all, first, n * size) == 0);
}

/* The shapes by which results leave the run are those of the module. Its table has at least the
 * image's types, since what becomes native code may get further ones: those of gradients, too. */
static bool has_types_of(const hia_code_module *module, const hia_loaded *image) {
  const hia_type_table *t = &image->types;
  if (!image->shapes) return true;
  if (!module->types) return false;
  const hia_type_table *all = &module->types->table;
  return begins_with(all->types, all->n_types, t->types, t->n_types, sizeof *t->types) &&
         begins_with(all->parts, all->n_parts, t->parts, t->n_parts, sizeof *t->parts) &&
         begins_with(all->ctors, all->n_ctors, t->ctors, t->n_ctors, sizeof *t->ctors) &&
         begins_with(all->fields, all->n_fields, t->fields, t->n_fields, sizeof *t->fields) &&
         begins_with(all->layout_words, all->n_layout_words, t->layout_words, t->n_layout_words,
                     sizeof *t->layout_words);
}

static hia_status find_image(hia_host_context *host, const hia_code_module *module,
                             const hia_images **out) {
  *out = known_image(host, module);
  if (*out) return HIA_OK;
  hia_images *image = hiaR_alloc(&host->allocator, sizeof *image);
  if (!image) return HIA_MEMORY;
  char why[256];
  hia_status status =
      hiaR_image_load_given(module->image, module->image_size, module->kernels, module->n_kernels,
                            module->hosts, &host->allocator, &image->loaded, why, sizeof why);
  if (status == HIA_OK && !has_types_of(module, image->loaded)) {
    hiaR_image_free(image->loaded);
    status = HIA_BAD_IMAGE;
  }
  if (status) {
    hiaR_free(&host->allocator, image, sizeof *image);
    return status;
  }
  image->module = module;
  image->hash = hash_of(module);
  const hia_loaded *l = image->loaded;
  image->places = (hia_places){.locs = l->locs,
                               .strings = l->strings,
                               .file = l->file,
                               .n_locs = l->n_locs,
                               .strings_size = l->n_strings};
  image->next = host->images;
  host->images = image;
  host->free_images = free_images;
  *out = image;
  return HIA_OK;
}

hia_status hiaR_interpret(hia_context *context, const hia_code_module *module, uint32_t root,
                          hia_word *block, const hia_limits *limits, hia_failure *failure) {
  hia_host_context *host = context->host;
  const hia_code_root *r = &module->roots[root];
  const hia_images *image;
  hia_status status = r->export < HIA_NONE ? find_image(host, module, &image) : HIA_UNSUPPORTED;
  const hia_export *export = status ? NULL : hiaR_image_export(image->loaded, r->export);
  if (!status && (!export || export->n_params != r->n_params || export->n_results != r->n_results))
    status = HIA_BAD_IMAGE;
  if (status) {
    host->why = status == HIA_UNSUPPORTED ? "the function is not in the image of its module"
                : status == HIA_BAD_IMAGE ? "the image of this module is damaged"
                                          : "no memory to decode the image of this module";
    return status;
  }
  hia_usage usage;
  host->image_places = &image->places;
  return hiaR_interp_run(image->loaded, r->export, block, block + r->n_params, limits,
                         &host->allocator, failure, &usage);
}
