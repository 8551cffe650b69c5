/* Typed entries that run the image of their module. Linked by modules that hold one, and by nothing
 * else. */
#include "runtime/context.h"
#include "runtime/program.h"

/* The images that a context has run, decoded: each context has its own. A module stands for its
 * image, so it is not unloaded before the context is freed. */
typedef struct hia_images {
  struct hia_images *next;
  const hia_code_module *module;
  hia_loaded *loaded;
  hia_places places;
} hia_images;

static void free_images(hia_images *images, const hia_allocator *allocator) {
  while (images) {
    hia_images *next = images->next;
    hiaR_image_free(images->loaded);
    hiaR_free(allocator, images, sizeof *images);
    images = next;
  }
}

static hia_status find_image(hia_host *host, const hia_code_module *module,
                             const hia_images **out) {
  for (const hia_images *i = host->images; i; i = i->next) {
    if (i->module != module) continue;
    *out = i;
    return HIA_OK;
  }
  hia_images *image = hiaR_alloc(&host->allocator, sizeof *image);
  if (!image) return HIA_MEMORY;
  char why[256];
  hia_status status =
      hiaR_image_load_given(module->image, module->image_size, module->kernels, module->n_kernels,
                            module->hosts, &host->allocator, &image->loaded, why, sizeof why);
  if (status) {
    hiaR_free(&host->allocator, image, sizeof *image);
    return status;
  }
  image->module = module;
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
  hia_host *host = context->host;
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
