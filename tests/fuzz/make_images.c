/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Writes the image of each program, as seeds for fuzz_image:  make_images FOLDER FILE... */
#include "frontend/frontend.h"
#include "graph/flatten/flatten.h"
#include "graph/pipeline/pass.h"
#include <stdio.h>
#include <stdlib.h>

static char *read_file(const char *path, size_t *len) {
  FILE *file = fopen(path, "rb");
  char *text = file ? malloc(1 << 20) : NULL;
  *len = text ? fread(text, 1, 1 << 20, file) : 0;
  if (file) fclose(file);
  return text;
}

/* The instances of all functions whose types are known. */
static void make(hia_comp *comp, const hia_source *source, FILE *out) {
  hia_types types;
  hia_diags diags;
  hiaG_types_init(&types, comp);
  hiaF_diags_init(&diags, comp, source);
  hia_program *p = hiaF_load(comp, &types, source, &diags);
  if (!p || diags.list.len) return;
  uint32_t n = 0;
  hia_inst_id *insts = HIA_NEW_ARRAY(&comp->arena, hia_inst_id, hiaF_n_fns(p));
  hia_fn_id *roots = HIA_NEW_ARRAY(&comp->arena, hia_fn_id, hiaF_n_fns(p));
  for (hia_decl_id d = 0; d < hiaF_n_fns(p); d++) {
    uint32_t arity = hiaF_arity(p, d);
    hia_type *args = HIA_NEW_ARRAY(&comp->arena, hia_type, arity + 1);
    bool is_generic = false;
    for (uint32_t i = 0; i < arity; i++) {
      args[i] = hiaF_param_type(p, d, i);
      is_generic |= args[i] == HIA_NONE;
    }
    if (!is_generic) insts[n++] = hiaF_instantiate(p, d, args, &diags);
  }
  if (n == 0) return;
  hia_graph *g = hiaF_build(p, comp, &types, insts, n, false, roots);
  hia_pass_options passes = {0};
  hiaG_run_passes(g, &passes);
  void *image;
  size_t size;
  hiaG_flatten(g, &image, &size);
  fwrite(image, 1, size, out);
}

int main(int argc, char **argv) {
  for (int i = 2; i < argc; i++) {
    char path[4096];
    const char *slash = strrchr(argv[i], '/');
    snprintf(path, sizeof path, "%s/%s.image", argv[1], slash ? slash + 1 : argv[i]);
    hia_source source = {.name = argv[i]};
    char *text = read_file(argv[i], &source.len);
    source.text = text;
    FILE *out = text ? fopen(path, "wb") : NULL;
    if (!out) {
      perror(argv[i]);
      return 1;
    }
    hia_comp comp;
    hiaR_comp_init(&comp, &hiaR_malloc);
    if (HIA_TRY(&comp)) make(&comp, &source, out);
    hiaR_comp_free(&comp);
    bool fine = fclose(out) == 0;
    free(text);
    if (!fine) return 1;
  }
  return 0;
}
