/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Checks an image: everything that the engines rely on is checked here, once. Apart from indices in
 * range, and types, that is the token discipline (check_tokens.c). */
#include "runtime/image/check.h"
#include "runtime/base/loc.h"

/* Slots of a section, so that no offset in a frame overflows. */
#define MAX_SLOTS ((uint32_t)1 << 28)

/* ---- tables ---- */

static bool check_table(hia_image_checker *c, const char *name, const hia_image_table *t,
                        size_t record) {
  if (t->at % 8 || t->at < sizeof(hia_image_header) || t->at > c->h->size ||
      t->n > (c->h->size - t->at) / record)
    return hiaR_check_bad(c, "the table of %s is out of bounds", name);
  return true;
}

static bool check_header(hia_image_checker *c, size_t size) {
  const hia_image_header *h = c->h;
  if (size < sizeof *h || memcmp(h->magic, HIA_IMAGE_MAGIC, sizeof h->magic) != 0)
    return hiaR_check_bad(c, "not an image");
  if (h->order != HIA_IMAGE_ORDER)
    return hiaR_check_bad(c, "made for a machine of other byte order");
  if (h->version != HIA_IMAGE_VERSION)
    return hiaR_check_bad(c, "format version %u, expected %u", h->version, HIA_IMAGE_VERSION);
  if (h->size != size || size % 8)
    return hiaR_check_bad(c, "%zu bytes, not as many as it says", size);
  size_t from = offsetof(hia_image_header, file);
  if (h->hash != hiaR_image_hash(c->bytes + from, size - from))
    return hiaR_check_bad(c, "damaged: the hash does not fit");
#define TABLE(record, name)                                                                        \
  if (!check_table(c, #name, &h->name, sizeof(record))) return false;                              \
  c->name = (const void *)(c->bytes + h->name.at);
  HIA_IMAGE_TABLES(TABLE)
  HIA_IMAGE_TYPE_TABLES(TABLE)
#undef TABLE
  return true;
}

static bool check_string(const hia_image_checker *c, uint32_t at) { return at < c->h->strings.n; }

/* ---- sections ---- */

/* What a call of the section relies on. */
static bool check_slots(hia_image_checker *c) {
  const hia_image_section *s = c->s;
  /* Every slot holds a parameter, a constant, or a result or move that some list names, so frames
   * cannot be made absurdly large by a small image. */
  uint64_t most = (uint64_t)s->n_params + s->n_consts + c->h->words.n;
  if (s->n_params > c->h->words.n + c->h->strings.n || s->n_slots > most ||
      s->n_slots < (uint64_t)s->n_params + s->n_consts || s->n_slots > MAX_SLOTS)
    return hiaR_check_bad(c, "%u slots", s->n_slots);
  return hiaR_check_list_below(c, s->results, s->n_results, s->n_slots) && hiaR_check_refs(c, s);
}

static bool check_element_table(hia_image_checker *c) {
  const hia_image_section *s = c->s;
  if (s->n_elements % 3 || !hiaR_check_list(c, s->elements, s->n_elements))
    return hiaR_check_bad(c, "half an element");
  const uint32_t *e = c->words + s->elements;
  for (uint32_t i = 0; i < s->n_elements; i += 3) {
    if (e[i] > e[i + 1] || e[i + 1] > s->n_nodes || (i && e[i] < e[i - 3]))
      return hiaR_check_bad(c, "elements out of order");
    if (e[i + 2] >= s->n_slots) return hiaR_check_bad(c, "a slot is out of range");
    if (!hiaR_check_read(c, s, e[i + 2], HIA_NONE)) return false;
  }
  return true;
}

static bool check_section(hia_image_checker *c) {
  const hia_image_section *s = c->s;
  const hia_image_node *nodes = c->nodes + s->nodes;
  if (!check_string(c, s->name)) return hiaR_check_bad(c, "no name");
  if (s->flags & ~(uint32_t)HIA_SECTION_ITERATES) return hiaR_check_bad(c, "unknown flags");
  if (!hiaR_check_moves(c, s->enter, s->n_enter, true) ||
      !hiaR_check_moves(c, s->next, s->n_next, false))
    return false;
  if (s->flags & HIA_SECTION_ITERATES ? s->cond >= s->n_slots : s->n_next != 0)
    return hiaR_check_bad(c, "rounds without a condition");
  if (s->flags & HIA_SECTION_ITERATES && !hiaR_check_read(c, s, s->cond, HIA_NONE)) return false;
  for (uint32_t i = 0; i < s->n_nodes; i++)
    if (!hiaR_check_node(c, &nodes[i])) return false;
  if (!check_element_table(c)) return false;
  for (uint32_t i = 0; i < s->n_regions; i++) {
    const hia_image_region *r = &c->regions[s->regions + i];
    if (!hiaR_check_list(c, r->edges, r->n_edges) ||
        !hiaR_check_moves(c, r->moves, r->n_moves, true))
      return false;
    if (i == 0 && r->n_moves) return hiaR_check_bad(c, "moves for the body");
  }
  if (!hiaR_check_regions(c) || !hiaR_check_branches(c) || !hiaR_check_sources(c)) return false;
  for (uint32_t i = 0; i < s->n_nodes; i++)
    if (!hiaR_check_tokens(c, i, &nodes[i])) return false;
  return true;
}

/* ---- signatures ---- */

/* The type between `<` and `;` at *at, which is moved to the `;`. HIA_NONE: there is none. */
static hia_type read_type_number(const hia_image_checker *c, const char **at) {
  uint64_t number = 0;
  const char *p = *at + 1;
  for (; *p >= '0' && *p <= '9' && number <= UINT32_MAX; p++)
    number = 10 * number + (uint64_t)(*p - '0');
  *at = p;
  return *p == ';' && number < HIA_NONE && number >= HIA_FIRST_TYPE &&
                 hiaR_check_is_type(c, (hia_type)number)
             ? (hia_type)number
             : HIA_NONE;
}

/* Reads the types up to `end` (the end of the signature, or a `>`); returns the number of their
 * words in *n. `s`: their slots are `slots`, or if that is NULL the parameters; `s` is NULL for
 * functions of the host, which take scalars. */
static bool check_signature_types(hia_image_checker *c, const char **at, char end,
                                  const hia_image_section *s, const uint32_t *slots, uint32_t *n,
                                  uint32_t *n_types) {
  enum { MAX_NESTING = 1000 };
  uint32_t depth = 0, parts[MAX_NESTING],
           most = s ? slots ? s->n_results : s->n_params : UINT32_MAX;
  *n = *n_types = 0;
  for (const char *p = *at;; p++) {
    if (*p == end && depth == 0) {
      *at = p;
      return true;
    }
    if (*p == '(') {
      if (depth == MAX_NESTING) return false;
      parts[depth++] = 0;
      continue;
    }
    if (*p == ')') {
      if (depth == 0 || parts[--depth] < 2) return false;
    } else {
      hia_type type = HIA_NONE;
      if (*p == '<') {
        type = read_type_number(c, &p);
        if (type == HIA_NONE || hiaR_type_kind(&c->table, type) == HIA_KIND_TUPLE || !s)
          return false;
      } else if (hiaR_repr_of_code(*p) >= HIA_N_DTYPES) {
        return false;
      }
      if (*n == most || (s && !hiaR_check_read(c, s, slots ? slots[*n] : *n, type))) return false;
      ++*n;
    }
    if (depth)
      parts[depth - 1]++;
    else
      (*n_types)++;
  }
}

/* `s`: the section of an export; NULL: of an extern. */
static bool check_signature(hia_image_checker *c, uint32_t signature, const hia_image_section *s,
                            uint32_t *params, uint32_t *results) {
  const char *at = c->strings + signature;
  const uint32_t *slots = s ? c->words + s->results : NULL;
  uint32_t n_types;
  if (!check_signature_types(c, &at, '>', s, NULL, params, &n_types))
    return hiaR_check_bad(c, "a signature is malformed");
  at++;
  if (!check_signature_types(c, &at, 0, s, slots, results, &n_types) || n_types != 1)
    return hiaR_check_bad(c, "a signature is malformed");
  return true;
}

static bool check_extern(hia_image_checker *c, const hia_image_extern *e, uint32_t words[2]) {
  if (!check_string(c, e->name) || !check_string(c, e->signature) ||
      e->flags & ~(uint32_t)(HIA_EXTERN_IMPURE | HIA_EXTERN_RAISES))
    return hiaR_check_bad(c, "an extern is out of range");
  return check_signature(c, e->signature, NULL, &words[0], &words[1]);
}

static bool check_export(hia_image_checker *c, const hia_image_export *e) {
  if (!check_string(c, e->name) || !check_string(c, e->signature) || e->section >= c->h->sections.n)
    return hiaR_check_bad(c, "an export is out of range");
  uint32_t params, results;
  const hia_image_section *s = &c->sections[e->section];
  if (!check_signature(c, e->signature, s, &params, &results)) return false;
  if (params != s->n_params || results != s->n_results)
    return hiaR_check_bad(c, "a signature does not fit its section");
  return true;
}

/* ---- the rest ---- */

/* Checks that chains of parents end. `seen`: by location, the number of the last walk that met it.
 */
static bool check_locs(hia_image_checker *c, uint32_t *seen) {
  uint32_t n = c->h->locs.n;
  for (uint32_t i = 0; i < n; i++) {
    const hia_image_loc *l = &c->locs[i];
    bool has_name = hiaR_loc_is_mark(l->fn) || check_string(c, l->fn);
    if (!has_name || (l->parent != HIA_NONE && l->parent >= n))
      return hiaR_check_bad(c, "location %u is out of range", i);
    seen[i] = 0;
  }
  for (uint32_t i = 0; i < n; i++)
    for (uint32_t at = i; at != HIA_NONE; at = c->locs[at].parent) {
      if (seen[at] == i + 1) return hiaR_check_bad(c, "location %u is inside itself", i);
      if (seen[at]) break;
      seen[at] = i + 1;
    }
  return true;
}

/* Checks that sections own consecutive parts of the tables, and all of them. */
static bool check_parts(hia_image_checker *c, size_t *scratch_words) {
  uint32_t nodes = 0, regions = 0, consts = 0, max_nodes = 0, max_regions = 0;
  for (uint32_t i = 0; i < c->h->sections.n; i++) {
    const hia_image_section *s = &c->sections[i];
    if (s->nodes != nodes || s->n_nodes > c->h->nodes.n - nodes || s->regions != regions ||
        s->n_regions > c->h->regions.n - regions || s->consts != consts ||
        s->n_consts > c->h->consts.n - consts)
      return hiaR_check_bad(c, "sections overlap");
    nodes += s->n_nodes, regions += s->n_regions, consts += s->n_consts;
    if (s->n_nodes > max_nodes) max_nodes = s->n_nodes;
    if (s->n_regions > max_regions) max_regions = s->n_regions;
  }
  if (nodes != c->h->nodes.n || regions != c->h->regions.n || consts != c->h->consts.n)
    return hiaR_check_bad(c, "records that belong to no section");
  size_t n = (size_t)max_nodes, r = (size_t)max_regions;
  size_t of_types = 2 * (size_t)c->h->types.n;
  size_t last = c->h->locs.n > of_types ? c->h->locs.n : of_types; /* one after the other */
  *scratch_words =
      4 * n + 2 + 5 * r + c->h->words.n + last + 2 * (size_t)c->h->externs.n + c->h->ctors.n;
  c->max_nodes = max_nodes, c->max_regions = max_regions;
  return true;
}

static bool check_params(hia_image_checker *c) {
  for (uint32_t i = 0; i < c->h->params.n; i++) {
    const hia_image_param *param = &c->params[i];
    if (!check_string(c, param->name) || param->dtype >= HIA_N_DTYPES || param->rank > HIA_MAX_RANK)
      return hiaR_check_bad(c, "param %u is malformed", i);
    hia_param_spec spec = hiaR_spec_of_image(param, c->strings);
    if (!hiaR_param_is_sound(&spec)) return hiaR_check_bad(c, "param %u is malformed", i);
  }
  return true;
}

static bool check(hia_image_checker *c, size_t size, const hia_allocator *allocator,
                  bool *out_of_memory) {
  size_t words = 0;
  if (!check_header(c, size)) return false;
  if (!check_string(c, c->h->file) || c->strings[c->h->strings.n - 1] != 0)
    return hiaR_check_bad(c, "the strings have no end");
  for (uint32_t i = 0; i < c->h->kernels.n; i++) {
    const hia_image_kernel *k = &c->kernels[i];
    bool is_op = k->op < HIA_OP_LIMIT && hiaR_ops[k->op].name;
    bool is_operation = is_op && hiaR_ops[k->op].shape != HIA_SHAPE_NONE;
    bool has_kernel = is_op && hiaR_ops[k->op].n_ins >= 1 && hiaR_ops[k->op].n_ins <= 3;
    if (k->dtype >= HIA_N_DTYPES || !(is_operation || has_kernel))
      return hiaR_check_bad(c, "kernel %u is of no op", i);
  }
  if (!check_params(c) || !check_parts(c, &words)) return false;
  c->scratch_size = words * sizeof(uint32_t);
  c->scratch = hiaR_alloc(allocator, c->scratch_size);
  if (!c->scratch) {
    *out_of_memory = true;
    return false;
  }
  uint32_t *at = c->scratch;
  c->region_of = at, at += c->max_nodes;
  c->side = at, at += 2 * (size_t)c->max_nodes;
  c->source_at = at, at += (size_t)c->max_nodes + 2;
  c->region_end = at, at += c->max_regions;
  c->other = at, at += c->max_regions;
  c->total = at, at += c->max_regions;
  c->is_queued = at, at += c->max_regions;
  c->heap = at, at += c->max_regions;
  c->source_of = at, at += c->h->words.n;
  c->host_words = at, at += 2 * (size_t)c->h->externs.n;
  c->type_of_ctor = at, at += c->h->ctors.n;
  if (!hiaR_check_types(c, at)) return false;
  for (uint32_t i = 0; i < c->h->externs.n; i++)
    if (!check_extern(c, &c->externs[i], &c->host_words[2 * (size_t)i])) return false;
  if (!check_locs(c, at)) return false;
  for (c->number = 0; c->number < c->h->sections.n; c->number++) {
    c->s = &c->sections[c->number];
    if (!check_slots(c)) return false;
  }
  for (c->number = 0; c->number < c->h->sections.n; c->number++) {
    c->s = &c->sections[c->number];
    if (!check_section(c)) return false;
  }
  c->s = NULL;
  for (uint32_t i = 0; i < c->h->exports.n; i++)
    if (!check_export(c, &c->exports[i])) return false;
  return true;
}

hia_status hiaR_image_check(const void *bytes, size_t size, const hia_allocator *allocator,
                            char *error, size_t error_size) {
  hia_image_checker c = {.bytes = bytes, .h = bytes, .error = error, .error_size = error_size};
  bool out_of_memory = false;
  bool ok = check(&c, size, allocator, &out_of_memory);
  hiaR_free(allocator, c.scratch, c.scratch_size);
  return ok ? HIA_OK : out_of_memory ? HIA_MEMORY : HIA_BAD_IMAGE;
}
