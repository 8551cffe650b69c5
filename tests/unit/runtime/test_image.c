/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The image: the loaded form, and images that the loader refuses. */
#include "graph/flatten/flatten.h"
#include "graph/pipeline/pass.h"
#include "tests/unit/helpers/image.h"
#include "tests/unit/helpers/random.h"
#include <criterion/criterion.h>
#include <pthread.h>
#include <unistd.h>

static const char text[] =
    "fn pick(n: i32, t: (i64, bool)) -> (f64, i64) =\n"
    "  if n > 3 then (0.5, t.0 / i64(n)) else { let (i, s) = loop (i = n, s = t.0) while i < 9 "
    "{ (i + 1, s * 2) }; (f64(i), if t.1 then s else fail(n)) }\n"
    "fn main(n: i32, t: (i64, bool)) -> (f64, i64) =\n"
    "  { let a = pick(n, t); let b = pick(n + 1, t); (a.0 + b.0, a.1 - b.1) }\n";

static image_program program(void) {
  image_program p;
  cr_assert(image_from_source(&p, text, false, "inline"), "%s", p.error);
  return p;
}

/* A copy of the image's bytes to spoil. */
static void *copy_of(const image_program *p) {
  void *copy = malloc(p->size);
  return memcpy(copy, p->bytes, p->size);
}

static void set_hash(void *bytes, size_t size) {
  hia_image_header *h = bytes;
  size_t from = offsetof(hia_image_header, file);
  h->hash = hiaR_image_hash((char *)bytes + from, size - from);
}

/* The reason for which it is refused; "" if it is not. */
static const char *reason(const void *bytes, size_t size) {
  static char error[200];
  hia_loaded *image;
  hia_status status =
      hiaR_image_load(bytes, size, hiaR_any_kernel, &hiaR_malloc, &image, error, sizeof error);
  cr_assert(status == HIA_OK || status == HIA_BAD_IMAGE);
  cr_assert_eq(status == HIA_OK, image != NULL);
  cr_assert_eq(status == HIA_OK, error[0] == 0, "%s", error);
  hiaR_image_free(image);
  return error;
}

Test(image, exports) {
  image_program p = program();
  cr_assert_eq(hiaR_image_n_exports(p.image), 1);
  const hia_export *e = hiaR_image_export(p.image, 0);
  cr_assert_str_eq(e->name, "main(i32, (i64, bool))");
  cr_assert_str_eq(e->signature, "i(lb)>(dl)");
  cr_assert_eq(e->n_params, 3);
  cr_assert_eq(e->n_results, 2);
  cr_assert_eq(e->params[0], HIA_I32);
  cr_assert_eq(e->params[1], HIA_I64);
  cr_assert_eq(e->params[2], HIA_BOOL);
  cr_assert_eq(e->results[0], HIA_F64);
  cr_assert_eq(e->results[1], HIA_I64);
  cr_assert_eq(hiaR_image_find(p.image, "main(i32, (i64, bool))"), 0);
  cr_assert_eq(hiaR_image_find(p.image, "main"), HIA_NONE);
  cr_assert_eq(hiaR_image_entry(p.image, e->fn), 0);
  cr_assert_eq(hiaR_image_entry(p.image, 1000), HIA_NONE);
  cr_assert_null(hiaR_image_export(p.image, 1));
  cr_assert_str_eq(hiaR_image_file(p.image), "test.hia");
  cr_assert_gt(hiaR_image_bytes(p.image), 100);
  image_discard(&p);
}

Test(image, locations_are_the_graphs) {
  image_program p = program();
  uint32_t n;
  const hia_image_loc *locs = hiaR_image_locs(p.image, &n);
  cr_assert_eq(n, p.graph->locs.len);
  for (uint32_t i = 0; i < n; i++) {
    const hia_loc *l = &p.graph->locs.data[i];
    cr_assert(locs[i].line == l->line && locs[i].col == l->col && locs[i].parent == l->parent);
    cr_assert_str_eq(hiaR_image_string(p.image, locs[i].fn), p.graph->names.data[l->fn]);
  }
  image_discard(&p);
}

Test(image, may_stand_at_any_address) {
  image_program p = program();
  for (size_t shift = 0; shift < 8; shift++) {
    char *block = malloc(p.size + 8);
    memcpy(block + shift, p.bytes, p.size);
    hia_loaded *image;
    cr_assert_eq(
        hiaR_image_load(block + shift, p.size, hiaR_any_kernel, &hiaR_malloc, &image, NULL, 0),
        HIA_OK);
    free(block); /* not needed any more */
    hia_loaded *own = p.image;
    p.image = image;
    hia_word args[3] = {1, 3, 1};
    image_outcome o = image_run(&p, IMAGE_INTERP, args, 1, NULL, NULL);
    cr_assert_eq(o.status, HIA_OK);
    p.image = own;
    hiaR_image_free(image);
  }
  image_discard(&p);
}

Test(image, header) {
  image_program p = program();
  hia_image_header *h = copy_of(&p);
  h->magic[0] ^= 1;
  cr_assert_str_eq(reason(h, p.size), "not an image");
  h->magic[0] ^= 1;
  h->order = 0x04030201;
  cr_assert_str_eq(reason(h, p.size), "made for a machine of other byte order");
  h->order = HIA_IMAGE_ORDER;
  h->version++;
  cr_assert_str_eq(reason(h, p.size), "format version 12, expected 11");
  h->version--;
  h->hash ^= 1;
  cr_assert_str_eq(reason(h, p.size), "damaged: the hash does not fit");
  set_hash(h, p.size);
  cr_assert_str_eq(reason(h, p.size), "");
  for (size_t size = 0; size < p.size; size += 1 + size / 16) {
    void *part = malloc(size + 1); /* so that reading past the end is noticed */
    memcpy(part, h, size);
    cr_assert_str_neq(reason(part, size), "");
    free(part);
  }
  free(h);
  image_discard(&p);
}

Test(image, every_bit_matters) {
  image_program p = program();
  char *bytes = copy_of(&p);
  for (size_t i = 0; i < p.size; i++) {
    bytes[i] ^= 4;
    cr_assert_str_neq(reason(bytes, p.size), "", "byte %zu", i);
    bytes[i] ^= 4;
  }
  free(bytes);
  image_discard(&p);
}

/* ---- the token discipline ---- */

typedef struct spoiled {
  char *bytes;
  size_t size;
  hia_image_section *sections;
  hia_image_region *regions;
  hia_image_node *nodes;
  uint32_t *words;
  uint32_t n_sections;
} spoiled;

static spoiled spoil(const image_program *p) {
  spoiled s = {.bytes = copy_of(p), .size = p->size};
  const hia_image_header *h = (const void *)s.bytes;
  s.sections = (void *)(s.bytes + h->sections.at);
  s.regions = (void *)(s.bytes + h->regions.at);
  s.nodes = (void *)(s.bytes + h->nodes.at);
  s.words = (void *)(s.bytes + h->words.at);
  s.n_sections = h->sections.n;
  return s;
}

static const char *spoiled_reason(spoiled *s) {
  set_hash(s->bytes, s->size);
  return reason(s->bytes, s->size);
}

Test(image, tokens_must_be_as_many_as_are_waited_for) {
  image_program p = program();
  spoiled s = spoil(&p);
  const hia_image_header *h = (const void *)s.bytes;
  for (uint32_t i = 0; i < h->nodes.n; i++) {
    s.nodes[i].tokens++;
    cr_assert(strstr(spoiled_reason(&s), "waits for"), "node %u: %s", i, spoiled_reason(&s));
    s.nodes[i].tokens--;
    if (s.nodes[i].n_edges == 0) continue;
    s.nodes[i].n_edges--;
    cr_assert_str_neq(spoiled_reason(&s), "", "node %u", i);
    s.nodes[i].n_edges++;
    uint32_t *edge = &s.words[s.nodes[i].edges], old = *edge;
    *edge = 0; /* backwards, or to itself */
    cr_assert(strstr(spoiled_reason(&s), "astray"));
    *edge = old;
  }
  cr_assert_str_eq(spoiled_reason(&s), "");
  free(s.bytes);
  image_discard(&p);
}

Test(image, sides_of_a_branch_must_send_alike) {
  image_program p;
  cr_assert(
      image_from_source(&p, "fn main(n: i32, x: i32) -> i32 = (if n > 3 then n * x else n / x) + n",
                        false, NULL),
      "%s", p.error);
  spoiled s = spoil(&p);
  const hia_image_section *section = &s.sections[0];
  uint32_t checked = 0;
  for (uint32_t i = 1; i < section->n_regions; i++) {
    const hia_image_region *r = &s.regions[section->regions + i];
    hia_image_node *last = &s.nodes[section->nodes + r->last - 1];
    if (r->first == r->last || !last->n_edges) continue;
    last->n_edges--;
    cr_assert(strstr(spoiled_reason(&s), "sides of a branch"), "%s", spoiled_reason(&s));
    last->n_edges++;
    checked++;
  }
  cr_assert_eq(checked, 2);
  free(s.bytes);
  image_discard(&p);
}

Test(image, slots_must_exist) {
  image_program p = program();
  spoiled s = spoil(&p);
  const hia_image_header *h = (const void *)s.bytes;
  for (uint32_t i = 0; i < h->sections.n; i++)
    for (uint32_t k = 0; k < s.sections[i].n_nodes; k++) {
      const hia_image_node *n = &s.nodes[s.sections[i].nodes + k];
      for (uint32_t j = 0; j < n->n_ins + n->n_outs; j++) {
        uint32_t *slot = j < n->n_ins ? &s.words[n->ins + j] : &s.words[n->outs + j - n->n_ins];
        uint32_t old = *slot;
        *slot = s.sections[i].n_slots;
        cr_assert_str_neq(spoiled_reason(&s), "");
        *slot = old;
      }
    }
  cr_assert_str_eq(spoiled_reason(&s), "");
  free(s.bytes);
  image_discard(&p);
}

/* ---- hostile images: an image that is accepted runs within its limits ---- */

typedef struct watch {
  uint32_t cancelled;
  uint32_t is_over;
} watch;

/* Ends runs that do not terminate. */
static void *watching(void *user) {
  watch *w = user;
  while (!__atomic_load_n(&w->is_over, __ATOMIC_RELAXED)) {
    usleep(2000);
    __atomic_store_n(&w->cancelled, 1, __ATOMIC_RELAXED);
  }
  return NULL;
}

static uint32_t run_mutants(const image_program *p, uint64_t seed, int n, watch *w) {
  random_source r = {seed};
  uint32_t accepted = 0;
  char *bytes = copy_of(p);
  uint32_t *words = (uint32_t *)(void *)(bytes + offsetof(hia_image_header, file));
  uint32_t n_words = (uint32_t)((p->size - offsetof(hia_image_header, file)) / 4);
  for (int i = 0; i < n; i++) {
    memcpy(bytes, p->bytes, p->size);
    for (uint32_t k = random_below(&r, 3) + 1; k > 0; k--) {
      uint32_t *word = &words[random_below(&r, n_words)];
      switch (random_below(&r, 4)) {
      case 0: *word += 1; break;
      case 1: *word -= 1; break;
      case 2: *word = words[random_below(&r, n_words)]; break;
      default: *word ^= 1u << random_below(&r, 32); break;
      }
    }
    set_hash(bytes, p->size);
    image_program q = *p;
    if (hiaR_image_load(bytes, p->size, hiaR_any_kernel, &hiaR_malloc, &q.image, NULL, 0)) continue;
    accepted++;
    const hia_export *e = hiaR_image_export(q.image, 0);
    if (e && e->n_results <= IMAGE_MAX_RESULTS) {
      hia_word args[16] = {3, 2, 1, 1, 1, 0, 1, 2, 3, 1, 0, 1, 1, 0, 1, 1};
      hia_limits limits = {.depth = 1 << 16, .memory = 1 << 16, .cancelled = &w->cancelled};
      for (unsigned engine = 0; engine < 3 && e->n_params <= 16; engine++) {
        __atomic_store_n(&w->cancelled, 0, __ATOMIC_RELAXED);
        image_run(&q, engine == 2 ? IMAGE_EXPAND : IMAGE_INTERP, args, engine + 1, &limits, NULL);
      }
    }
    hiaR_image_free(q.image);
  }
  free(bytes);
  return accepted;
}

Test(image, mutants) {
  watch w = {0, 0};
  pthread_t thread;
  cr_assert_eq(pthread_create(&thread, NULL, watching, &w), 0);
  uint32_t accepted = 0;
  image_program p = program();
  accepted += run_mutants(&p, 1, 2000, &w);
  image_discard(&p);
  for (uint64_t seed = 0; seed < 30; seed++) {
    image_program q = {0};
    hiaR_comp_init(&q.comp, &hiaR_malloc);
    if (HIA_TRY(&q.comp)) {
      hiaG_types_init(&q.types, &q.comp);
      q.graph = random_graph(&q.comp, &q.types, seed);
      hiaG_run_passes(q.graph, &(hia_pass_options){0});
      hiaG_flatten(q.graph, &q.bytes, &q.size);
    }
    cr_assert_eq(q.comp.status, HIA_OK, "%s", q.comp.message);
    cr_assert_str_eq(reason(q.bytes, q.size), "");
    accepted += run_mutants(&q, seed, 100, &w);
    image_discard(&q);
  }
  __atomic_store_n(&w.is_over, 1, __ATOMIC_RELAXED);
  pthread_join(thread, NULL);
  cr_assert_gt(accepted, 100);
}

/* ---- resources ---- */

static bool no_division(unsigned op, hia_given_kernel *kernel) {
  return op != HIA_OP_DIV && hiaR_any_kernel(op, kernel);
}

Test(image, kernels_are_handed_in) {
  image_program p = program();
  hia_loaded *image;
  char error[200];
  cr_assert_eq(
      hiaR_image_load(p.bytes, p.size, no_division, &hiaR_malloc, &image, error, sizeof error),
      HIA_BAD_IMAGE);
  cr_assert_str_eq(error, "no kernel for div, dtype 2");
  image_discard(&p);
}

Test(image, out_of_memory) {
  image_program p = program();
  for (long left = 0;; left++) {
    test_heap heap;
    test_heap_init(&heap, left);
    hia_loaded *image;
    hia_status status =
        hiaR_image_load(p.bytes, p.size, hiaR_any_kernel, &heap.allocator, &image, NULL, 0);
    hiaR_image_free(image);
    cr_assert_eq(heap.blocks, 0);
    if (!status) break;
    cr_assert_eq(status, HIA_MEMORY);
    cr_assert_lt(left, 100);
  }
  image_discard(&p);
}
