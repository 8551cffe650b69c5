/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Loading an image: it is checked, then decoded into one block of memory, in the form the engines
 * run. */
#include "runtime/image/decode.h"
#include <stdio.h>

/* ---- the sources: the image's tables ---- */

static hia_image_tables tables_of(const void *bytes) {
  const hia_image_header *h = bytes;
  const char *base = bytes;
  hia_image_tables t = {.h = h};
#define TABLE(record, name) t.name = (const void *)(base + h->name.at);
  HIA_IMAGE_TABLES(TABLE)
#undef TABLE
#define TABLE(record, name)                                                                        \
  t.types.name = (const void *)(base + h->name.at);                                                \
  t.types.n_##name = h->name.n;
  HIA_IMAGE_TYPE_TABLES(TABLE)
#undef TABLE
  return t;
}

/* ---- exports ---- */

static hia_type *decode_types(const char *from, char end, hia_type *to) {
  for (; *from != end; from++) {
    if (*from == '(' || *from == ')') continue;
    if (*from == '<')
      for (*to++ = 0, from++; *from != ';'; from++) to[-1] = 10 * to[-1] + (hia_type)(*from - '0');
    else
      *to++ = (hia_type)hiaR_repr_of_code(*from);
  }
  return to;
}

static void decode_export(hia_decoder *d, const hia_image_export *e, const char *strings,
                          hia_export *out) {
  const hia_image_section *s = &d->t.sections[e->section];
  hia_type *types = hiaR_decode_take(d, (size_t)s->n_params + s->n_results, sizeof *types);
  const char *signature = strings + e->signature;
  hia_type *results = decode_types(signature, '>', types);
  decode_types(strchr(signature, '>') + 1, 0, results);
  *out = (hia_export){strings + e->name, signature,    types,      results,
                      s->n_params,       s->n_results, e->section, e->fn};
}

/* ---- one block for everything ---- */

static size_t room_of_types(const hia_type_table *t) {
  size_t size = 0;
#define ADD(record, name) size += hiaR_room(t->n_##name, sizeof(record));
  HIA_IMAGE_TYPE_TABLES(ADD)
#undef ADD
  return size;
}

static void copy_types(hia_decoder *d) {
  hia_type_table *t = &d->t.types;
#define COPY(record, name)                                                                         \
  {                                                                                                \
    record *copy = hiaR_decode_take(d, t->n_##name, sizeof *copy);                                 \
    if (t->n_##name) memcpy(copy, t->name, t->n_##name * sizeof *copy);                            \
    t->name = copy;                                                                                \
  }
  HIA_IMAGE_TYPE_TABLES(COPY)
#undef COPY
}

static void number_classes(hia_loaded *image, hia_section *sections, uint32_t *class_size) {
  uint32_t number[HIA_FRAME_CLASSES];
  memset(number, 0xff, sizeof number);
  for (uint32_t i = 0; i < image->n_sections; i++) {
    uint64_t rounded;
    uint32_t c = hiaR_frame_class(sections[i].body_size, &rounded);
    if (number[c] == HIA_NONE) {
      class_size[image->n_classes] = (uint32_t)rounded;
      number[c] = image->n_classes++;
    }
    sections[i].size_class = number[c];
  }
}

static hia_status decode(const void *bytes, const hia_kernel_source *kernels,
                         const hia_image_hosts *hosts, const hia_allocator *allocator,
                         hia_loaded **result, char *error, size_t error_size) {
  hia_decoder d = {.t = tables_of(bytes), .kernels = kernels, .hosts = hosts};
  const hia_image_header *h = d.t.h;
  uint32_t n_calls = 0;
  size_t hosts_size;
  hia_status status = hiaR_size_hosts(&d.t, hosts, &hosts_size, error, error_size);
  if (status) return status;
  uint32_t n_children = 0, n_switches = 0, n_wides = 0, max_nodes = 0, max_regions = 0;
  uint32_t n_makes = 0, n_gets = 0, n_operations = 0, max_slots = 0, n_edges = 0, max_edges = 0;
  size_t n_moves = 0, n_ref_slots = 0, n_slot_lists = 0, n_parts = 0;
  size_t n_classes = h->sections.n < HIA_FRAME_CLASSES ? h->sections.n : HIA_FRAME_CLASSES;
  size_t size = hiaR_room(1, sizeof(hia_loaded)) + hiaR_room(h->sections.n, sizeof(hia_section)) +
                hiaR_room(h->nodes.n, sizeof(hia_instr)) + hiaR_room(h->words.n, sizeof(uint32_t)) +
                hiaR_room(h->words.n, sizeof(hia_instr *)) +
                hiaR_room(h->exports.n, sizeof(hia_export)) +
                hiaR_room(h->locs.n, sizeof(hia_image_loc)) + hiaR_room(h->strings.n, 1) +
                hiaR_room(n_classes, sizeof(uint32_t));
  for (uint32_t i = 0; i < h->sections.n; i++) {
    const hia_image_section *s = &d.t.sections[i];
    hia_frame_layout l = hiaR_frame_layout(&d.t, s);
    size += hiaR_room(hiaR_preload_size(&d.t, s, &l), 1) + hiaR_room(s->n_nodes, sizeof(uint32_t));
    n_children += l.n_children;
    uint32_t own_edges = hiaR_count_edges(&d.t, s);
    n_edges += own_edges;
    if (own_edges > max_edges) max_edges = own_edges;
    n_moves += s->n_enter / 2 + s->n_next / 2;
    n_ref_slots += s->n_refs; /* twice: those to drop */
    n_slot_lists += s->n_results;
    if (s->n_slots > max_slots) max_slots = s->n_slots;
    if (s->n_nodes > max_nodes) max_nodes = s->n_nodes;
    if (s->n_regions > max_regions) max_regions = s->n_regions;
  }
  for (uint32_t i = 0; i < h->nodes.n; i++) {
    n_switches += d.t.nodes[i].kind == HIA_KIND_SWITCH;
    n_wides += d.t.nodes[i].kind == HIA_KIND_KERNEL && hiaR_is_wide(&d, &d.t.nodes[i]);
    n_calls += d.t.nodes[i].kind == HIA_KIND_HOST;
    if (d.t.nodes[i].kind == HIA_KIND_MAKE) {
      n_makes++;
      n_parts += d.t.nodes[i].n_ins;
    }
    if (d.t.nodes[i].kind == HIA_KIND_FIELD) {
      n_gets++;
      n_parts += d.t.nodes[i].n_outs;
      n_slot_lists += d.t.types.ctors[d.t.nodes[i].what].layout.n_refs;
    }
    n_operations +=
        d.t.nodes[i].kind >= HIA_KIND_ELEMENTS && d.t.nodes[i].kind <= HIA_KIND_OPERATION;
    if (d.t.nodes[i].kind == HIA_KIND_CALL || d.t.nodes[i].kind == HIA_KIND_LOOP)
      n_slot_lists += d.t.nodes[i].n_ins;
    n_ref_slots += d.t.nodes[i].n_outs;
  }
  for (uint32_t i = 0; i < h->regions.n; i++) n_moves += d.t.regions[i].n_moves / 2;
  for (uint32_t i = 0; i < h->exports.n; i++) {
    const hia_image_section *s = &d.t.sections[d.t.exports[i].section];
    size += hiaR_room((size_t)s->n_params + s->n_results, sizeof(hia_type));
  }
  n_ref_slots += n_moves; /* of regions, and spare slots */
  hia_schedule_size actions = {.n_nodes = h->nodes.n,
                               .n_regions = h->regions.n,
                               .n_children = n_children,
                               .n_edges = n_edges,
                               .n_moves = n_moves + (h->types.n ? n_ref_slots : 0)};
  size += hiaR_room(n_makes, sizeof(hia_make)) + hiaR_room(n_gets, sizeof(hia_get)) +
          hiaR_room(n_parts, sizeof(hia_part)) + hiaR_room(n_moves, sizeof(hia_move)) +
          hiaR_room(n_moves, sizeof(hia_ref_move)) + hiaR_room(n_ref_slots, sizeof(hia_ref_slot)) +
          hiaR_room(n_slot_lists, sizeof(uint32_t)) +
          hiaR_room(n_operations, sizeof(hia_operation_instr)) + room_of_types(&d.t.types);
  size +=
      hiaR_room(n_children, sizeof(hia_child)) + hiaR_room(n_children, sizeof(hia_leaf)) +
      hiaR_room(n_switches, sizeof(hia_switch)) + hiaR_room(n_wides, sizeof(hia_wide)) +
      hiaR_room(n_calls, sizeof(hia_host_instr)) + hiaR_room(h->externs.n, sizeof(hia_host_instr)) +
      hiaR_room(h->params.n, sizeof(hia_param_spec)) + hiaR_room(h->literals.n, sizeof(hia_word)) +
      hiaR_room(hiaR_max_actions(&actions), sizeof(hia_action)) + hosts_size;

  size_t sums = hiaR_room((size_t)max_nodes + 1, sizeof(uint64_t)),
         slots_at = sums + hiaR_room(max_regions, sizeof(uint64_t)),
         marks_at = slots_at + hiaR_room(max_slots, sizeof(uint32_t)),
         reads_at = marks_at + hiaR_room(max_slots, 1),
         writes_at = reads_at + hiaR_room(max_slots, 1),
         schedule_at = writes_at + hiaR_room(max_slots, 1),
         uses_at = schedule_at + hiaR_room(hiaR_schedule_scratch(max_nodes, max_edges), 1),
         scratch_size =
             uses_at + (h->types.n ? hiaR_room_of_uses(h, max_slots, max_nodes, max_regions) : 0);
  char *scratch = hiaR_alloc(allocator, scratch_size);
  d.at = scratch ? hiaR_alloc(allocator, size) : NULL;
  if (!d.at) {
    hiaR_free(allocator, scratch, scratch_size);
    return HIA_MEMORY;
  }
  d.node_sum = (uint64_t *)(void *)scratch;
  d.region_weight = (uint64_t *)(void *)(scratch + sums);
  d.ref_base = (uint32_t *)(void *)(scratch + slots_at);
  d.marks = (uint8_t *)(scratch + marks_at);
  d.reads = (uint8_t *)(scratch + reads_at);
  d.writes = (uint8_t *)(scratch + writes_at);
  d.schedule = scratch + schedule_at;
  memset(d.marks, 0, max_slots);
  if (h->types.n) hiaR_lay_out_uses(&d.uses, scratch + uses_at, h, max_slots, max_regions);

  hia_loaded *image = hiaR_decode_take(&d, 1, sizeof *image);
  d.sections = hiaR_decode_take(&d, h->sections.n, sizeof(hia_section));
  d.instrs = hiaR_decode_take(&d, h->nodes.n, sizeof(hia_instr));
  uint32_t *words = hiaR_decode_take(&d, h->words.n, sizeof(uint32_t));
  d.edges = hiaR_decode_take(&d, h->words.n, sizeof(hia_instr *));
  hia_export *exports = hiaR_decode_take(&d, h->exports.n, sizeof(hia_export));
  hia_image_loc *locs = hiaR_decode_take(&d, h->locs.n, sizeof(hia_image_loc));
  char *strings = hiaR_decode_take(&d, h->strings.n, 1);
  uint32_t *class_size = hiaR_decode_take(&d, n_classes, sizeof(uint32_t));
  hia_child *children = d.children = hiaR_decode_take(&d, n_children, sizeof(hia_child));
  d.leaves = hiaR_decode_take(&d, n_children, sizeof(hia_leaf));
  d.switches = hiaR_decode_take(&d, n_switches, sizeof(hia_switch));
  d.wides = hiaR_decode_take(&d, n_wides, sizeof(hia_wide));
  d.calls = hiaR_decode_take(&d, n_calls, sizeof(hia_host_instr));
  d.prepared = hiaR_decode_take(&d, h->externs.n, sizeof *d.prepared);
  hia_param_spec *params = hiaR_decode_take(&d, h->params.n, sizeof(hia_param_spec));
  d.literals = hiaR_decode_take(&d, h->literals.n, sizeof(hia_word));
  if (h->literals.n) memcpy(d.literals, d.t.literals, h->literals.n * sizeof(hia_word));
  d.makes = hiaR_decode_take(&d, n_makes, sizeof(hia_make));
  d.gets = hiaR_decode_take(&d, n_gets, sizeof(hia_get));
  d.parts = hiaR_decode_take(&d, n_parts, sizeof(hia_part));
  d.moves = hiaR_decode_take(&d, n_moves, sizeof(hia_move));
  d.ref_moves = hiaR_decode_take(&d, n_moves, sizeof(hia_ref_move));
  d.ref_slots = hiaR_decode_take(&d, n_ref_slots, sizeof(hia_ref_slot));
  d.slots = hiaR_decode_take(&d, n_slot_lists, sizeof(uint32_t));
  d.operations = hiaR_decode_take(&d, n_operations, sizeof(hia_operation_instr));
  d.actions = hiaR_decode_take(&d, hiaR_max_actions(&actions), sizeof(hia_action));
  copy_types(&d);
  memcpy(words, d.t.words, h->words.n * sizeof(uint32_t));
  memcpy(locs, d.t.locs, h->locs.n * sizeof(hia_image_loc));
  memcpy(strings, d.t.strings, h->strings.n);
  d.words = words;
  d.t.strings = strings;
  hia_shapes *shapes = NULL;
  size_t shapes_size = 0;
  status = hiaR_prepare_hosts(&d, error, error_size);
  if (!status && h->types.n) {
    status = hiaR_shapes_new(&d.t.types, allocator, &shapes, &shapes_size);
    if (status == HIA_UNSUPPORTED)
      hiaR_refuse_image(error, error_size, "too many constructors and array types");
  }
  d.shapes = shapes;
  if (status) {
    hiaR_free(allocator, scratch, scratch_size);
    hiaR_free(allocator, image, size);
    return status;
  }
  bool is_impure = false;
  for (uint32_t i = 0; i < h->externs.n; i++)
    is_impure |= (d.t.externs[i].flags & HIA_EXTERN_IMPURE) != 0;
  for (uint32_t i = 0; i < h->sections.n; i++) hiaR_decode_section(&d, i);
  for (hia_child *child = children; child < d.children; child++)
    if (hiaR_plan_leaf(child, d.leaves)) child->leaf = d.leaves++;
  for (uint32_t i = 0; i < h->params.n; i++)
    params[i] = hiaR_spec_of_image(&d.t.params[i], strings);
  for (uint32_t i = 0; i < h->exports.n; i++)
    decode_export(&d, &d.t.exports[i], strings, &exports[i]);
  *image = (hia_loaded){.allocator = allocator,
                        .size = size,
                        .sections = d.sections,
                        .exports = exports,
                        .params = params,
                        .n_params = h->params.n,
                        .locs = locs,
                        .strings = strings,
                        .file = strings + h->file,
                        .n_sections = h->sections.n,
                        .n_exports = h->exports.n,
                        .n_locs = h->locs.n,
                        .n_strings = h->strings.n,
                        .class_size = class_size,
                        .types = d.t.types,
                        .shapes = shapes,
                        .shapes_size = shapes_size,
                        .max_nodes = max_nodes,
                        .is_impure = is_impure};
  number_classes(image, d.sections, class_size);
  hiaR_free(allocator, scratch, scratch_size);
  *result = image;
  return HIA_OK;
}

/* ---- loading ---- */

static hia_status load(const void *bytes, size_t size, const hia_kernel_source *kernels,
                       const hia_image_hosts *hosts, const hia_allocator *allocator,
                       hia_loaded **out, char *error, size_t error_size) {
  *out = NULL;
  if (error_size) error[0] = 0;
  /* An image inside something larger may be at any address. */
  void *copy = NULL;
  if ((uintptr_t)bytes % 8) {
    copy = hiaR_alloc(allocator, size);
    if (!copy) return HIA_MEMORY;
    bytes = memcpy(copy, bytes, size);
  }
  hia_status status = hiaR_image_check(bytes, size, allocator, error, error_size);
  if (!status) {
    hia_image_tables t = tables_of(bytes);
    for (uint32_t i = 0; i < t.h->nodes.n && !status; i++) {
      const hia_image_node *n = &t.nodes[i];
      if (n->kind != HIA_KIND_KERNEL && n->kind != HIA_KIND_OPERATION) continue;
      const hia_image_kernel *k = &t.kernels[n->what];
      hia_given_kernel kernel = hiaR_find_kernel(kernels, k);
      if (n->kind == HIA_KIND_KERNEL ? kernel.by_dtype != NULL : kernel.operate != NULL) continue;
      if (error_size)
        snprintf(error, error_size, "no kernel for %s, dtype %u", hiaR_ops[k->op].name, k->dtype);
      status = HIA_BAD_IMAGE;
    }
  }
  if (!status) status = decode(bytes, kernels, hosts, allocator, out, error, error_size);
  hiaR_free(allocator, copy, size);
  return status;
}

hia_status hiaR_image_load(const void *bytes, size_t size, hia_find_kernel *find,
                           const hia_allocator *allocator, hia_loaded **out, char *error,
                           size_t error_size) {
  const hia_kernel_source kernels = {.find = find};
  return load(bytes, size, &kernels, NULL, allocator, out, error, error_size);
}

hia_status hiaR_image_load_hosted(const void *bytes, size_t size, hia_find_kernel *find,
                                  const hia_image_hosts *hosts, const hia_allocator *allocator,
                                  hia_loaded **out, char *error, size_t error_size) {
  const hia_kernel_source kernels = {.find = find};
  return load(bytes, size, &kernels, hosts, allocator, out, error, error_size);
}

hia_status hiaR_image_load_given(const void *bytes, size_t size, const hia_given_kernel *given,
                                 size_t n_given, const hia_image_hosts *hosts,
                                 const hia_allocator *allocator, hia_loaded **out, char *error,
                                 size_t error_size) {
  const hia_kernel_source kernels = {.given = given, .n_given = n_given};
  return load(bytes, size, &kernels, hosts, allocator, out, error, error_size);
}

void hiaR_image_free(hia_loaded *image) {
  if (!image) return;
  hiaR_free(image->allocator, image->shapes, image->shapes_size);
  hiaR_free(image->allocator, image, image->size);
}
