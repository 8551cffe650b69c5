/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
#include "jit/cache/entry.h"
#include "runtime/base/loc.h"
#include "runtime/native/load.h"
#include "runtime/native/module.h"

#define MAGIC "hiaentry"

/* Rows of a section, by its kind. Those from LAID on are once for each unit. */
#define SECTIONS(X)                                                                                \
  X(KEY, 1)                                                                                        \
  X(FILES, sizeof(hia_entry_file))                                                                 \
  X(FACTS, sizeof(hia_entry_facts))                                                                \
  X(WORDS, sizeof(hia_type))                                                                       \
  X(RESULT_NAMES, sizeof(uint32_t))                                                                \
  X(TYPES, sizeof(hia_type_entry))                                                                 \
  X(PARTS, sizeof(hia_type))                                                                       \
  X(CTORS, sizeof(hia_ctor))                                                                       \
  X(FIELDS, sizeof(hia_ctor_field))                                                                \
  X(LAYOUT_WORDS, sizeof(hia_layout_word))                                                         \
  X(TYPE_NAMES, 1)                                                                                 \
  X(LOCS, sizeof(hia_image_loc))                                                                   \
  X(ORIGINS, sizeof(uint32_t))                                                                     \
  X(LOC_NAMES, 1)                                                                                  \
  X(EXTERNS, sizeof(uint32_t))                                                                     \
  X(CALLEES, sizeof(hia_entry_callee))                                                             \
  X(STRINGS, 1)                                                                                    \
  X(CALLS_HOST, 1) /* by unit */                                                                   \
  X(LAID, 1)                                                                                       \
  X(TABLES, 1)                                                                                     \
  X(OUTLINE, 1)                                                                                    \
  X(CELLS, sizeof(uint32_t))

typedef enum section {
#define SECTION_ENUM(NAME, size) NAME,
  SECTIONS(SECTION_ENUM)
#undef SECTION_ENUM
      N_SECTIONS
} section;
enum { PER_UNIT = N_SECTIONS - LAID, MAX_UNITS = 1 << 20 };

static size_t row_size(uint64_t index) {
  static const size_t sizes[] = {
#define SECTION_SIZE(NAME, size) size,
      SECTIONS(SECTION_SIZE)
#undef SECTION_SIZE
  };
  return sizes[index < LAID ? index : LAID + (index - LAID) % PER_UNIT];
}

typedef struct header {
  char magic[8];
  uint32_t n_units, abi;
} header;

typedef struct extent {
  uint64_t at, n; /* from the begin of the entry; rows */
} extent;

static size_t padded(size_t size) { return (size + 7) & ~(size_t)7; }

/* ---- writing ---- */

typedef struct writing {
  char *bytes; /* NULL: sizes are only added up */
  size_t at;
  uint64_t index; /* of the next section */
  bool is_too_large;
} writing;

static void put(writing *w, const void *rows, uint64_t n) {
  size_t size;
  if (n > SIZE_MAX / 2 || !hiaR_mul((size_t)n, row_size(w->index), &size) ||
      w->at > SIZE_MAX / 2 - size) {
    w->is_too_large = true;
    return;
  }
  extent e = {.at = w->at, .n = n};
  if (w->bytes) {
    memcpy(w->bytes + sizeof(header) + (size_t)w->index * sizeof e, &e, sizeof e);
    if (size) memcpy(w->bytes + w->at, rows, size);
    memset(w->bytes + w->at + size, 0, padded(size) - size);
  }
  w->at += padded(size);
  w->index++;
}

static void put_all(writing *w, const hia_entry *e, const uint8_t *calls_host) {
  const hia_type_table *t = &e->types;
  w->at = sizeof(header) + (LAID + (size_t)PER_UNIT * e->n_units) * sizeof(extent);
  w->index = 0;
  put(w, e->key, e->key_size);
  put(w, e->files, e->n_files);
  put(w, e->facts, 1);
  put(w, e->words, (uint64_t)e->facts->n_params + e->facts->n_results);
  put(w, e->result_names, e->n_result_names);
  put(w, t->types, t->n_types);
  put(w, t->parts, t->n_parts);
  put(w, t->ctors, t->n_ctors);
  put(w, t->fields, t->n_fields);
  put(w, t->layout_words, t->n_layout_words);
  put(w, t->names, t->n_names);
  put(w, e->locs, e->n_locs);
  put(w, e->origins, e->origins ? e->n_locs : 0);
  put(w, e->loc_names, e->loc_names_size);
  put(w, e->externs, e->n_externs);
  put(w, e->callees, e->n_callees);
  put(w, e->strings, e->strings_size);
  put(w, calls_host, e->n_units);
  for (uint32_t i = 0; i < e->n_units; i++) {
    const hia_entry_unit *u = &e->units[i];
    put(w, u->laid, u->laid_size);
    put(w, u->tables, u->tables_size);
    put(w, u->outline, u->outline_size);
    put(w, u->cells, u->n_cells);
  }
}

hia_status hiaJ_entry_write(const hia_entry *e, const hia_allocator *allocator, void **bytes,
                            size_t *size) {
  *bytes = NULL;
  writing w = {0};
  if (e->n_units > MAX_UNITS) return HIA_UNSUPPORTED;
  uint8_t *calls_host = hiaR_alloc(allocator, (size_t)e->n_units + 1);
  if (!calls_host) return HIA_MEMORY;
  for (uint32_t i = 0; i < e->n_units; i++) calls_host[i] = e->units[i].calls_host;
  put_all(&w, e, calls_host);
  if (!w.is_too_large) w.bytes = hiaR_alloc(allocator, w.at);
  if (w.bytes) {
    header h = {.magic = MAGIC, .n_units = e->n_units, .abi = HIA_RT_ABI};
    memcpy(w.bytes, &h, sizeof h);
    put_all(&w, e, calls_host);
    *bytes = w.bytes;
    *size = w.at;
  }
  hiaR_free(allocator, calls_host, (size_t)e->n_units + 1);
  return w.is_too_large ? HIA_UNSUPPORTED : w.bytes ? HIA_OK : HIA_MEMORY;
}

/* ---- reading ---- */

typedef struct reading {
  const char *bytes;
  size_t size;
  bool is_bad;
} reading;

/* The rows of a section, whose number has been checked. */
static const void *get(reading *r, uint64_t index, uint64_t *n) {
  extent e;
  *n = 0;
  memcpy(&e, r->bytes + sizeof(header) + index * sizeof e, sizeof e);
  uint64_t row = row_size(index);
  if (e.at % 8 || e.at > r->size || e.n > (r->size - e.at) / row) {
    r->is_bad = true;
    return NULL;
  }
  *n = e.n;
  return r->bytes + e.at;
}

static const void *get32(reading *r, uint64_t index, uint32_t *n) {
  uint64_t wide;
  const void *rows = get(r, index, &wide);
  if (wide >= HIA_NONE) r->is_bad = true;
  *n = (uint32_t)wide;
  return rows;
}

static const char *get_strings(reading *r, uint64_t index, size_t *size) {
  uint64_t n;
  const char *strings = get(r, index, &n);
  if (n && strings[n - 1]) r->is_bad = true;
  *size = (size_t)n;
  return strings;
}

static bool is_range(uint64_t first, uint64_t n, uint64_t of) {
  return first <= of && n <= of - first;
}

/* ---- checking ---- */

static bool is_type(const hia_type_table *t, hia_type type) {
  return type < HIA_N_DTYPES || (type >= HIA_FIRST_TYPE && type - HIA_FIRST_TYPE < t->n_types);
}

static bool is_layout(const hia_type_table *t, const hia_layout *l) {
  uint32_t n_refs = 0;
  if (!is_range(l->first, l->n, t->n_layout_words)) return false;
  for (uint32_t i = 0; i < l->n; i++) {
    const hia_layout_word *w = &t->layout_words[l->first + i];
    if (!is_type(t, w->type) || w->repr >= HIA_N_REPRS) return false;
    uint32_t size = hiaR_reprs[w->repr].size;
    if (w->at % size || !is_range(w->at, size, l->size)) return false;
    n_refs += w->repr == HIA_REPR_REF;
  }
  return n_refs == l->n_refs;
}

static bool is_ctor(const hia_type_table *t, const hia_ctor *c) {
  if (c->name >= t->n_names || !is_range(c->first, c->n, t->n_fields) ||
      !is_layout(t, &c->layout) || (c->n_sizes && !is_range(c->sizes, c->n_sizes, t->n_parts)))
    return false;
  for (uint32_t i = 0; i < c->n; i++) {
    const hia_ctor_field *f = &t->fields[c->first + i];
    if (f->name >= t->n_names || !is_type(t, f->type)) return false;
  }
  return true;
}

static bool is_type_entry(const hia_type_table *t, uint32_t i) {
  const hia_type_entry *e = &t->types[i];
  switch (e->kind) {
  case HIA_KIND_TUPLE: {
    uint64_t n_words = 0;
    if (!is_range(e->first, e->n, t->n_parts)) return false;
    for (uint32_t k = 0; k < e->n; k++) {
      hia_type part = t->parts[e->first + k];
      /* A tuple comes behind its parts, so it has an end. */
      if (!is_type(t, part) || (part >= HIA_FIRST_TYPE && part - HIA_FIRST_TYPE >= i)) return false;
      n_words += hiaR_type_words(t, part);
    }
    return e->n_words == n_words;
  }
  case HIA_KIND_DATA: return e->name < t->n_names && is_range(e->first, e->n, t->n_ctors);
  case HIA_KIND_ARRAY: return is_type(t, e->element) && is_layout(t, &e->layout);
  case HIA_KIND_TENSOR: return e->element < HIA_N_DTYPES && e->n <= HIA_MAX_RANK;
  default: return false;
  }
}

static bool are_types(const hia_type_table *t) {
  if (t->n_names && t->names[t->n_names - 1]) return false;
  for (uint32_t i = 0; i < t->n_types; i++)
    if (!is_type_entry(t, i)) return false;
  for (uint32_t i = 0; i < t->n_ctors; i++)
    if (!is_ctor(t, &t->ctors[i])) return false;
  return true;
}

static bool are_locs(const hia_entry *e) {
  for (uint32_t i = 0; i < e->n_locs; i++) {
    const hia_image_loc *l = &e->locs[i];
    if (l->fn != HIA_NONE && !hiaR_loc_is_mark(l->fn) && l->fn >= e->loc_names_size) return false;
    if (l->parent != HIA_NONE && l->parent >= i) return false; /* chains have an end */
  }
  return true;
}

static bool are_facts(const hia_entry *e, uint64_t n_words) {
  const hia_entry_facts *f = e->facts;
  if (n_words != (uint64_t)f->n_params + f->n_results || f->root >= f->n_fns) return false;
  if (f->loc != HIA_NONE && f->loc >= e->n_locs) return false;
  if (e->n_result_names && e->n_result_names != f->n_results) return false;
  for (uint64_t i = 0; i < n_words; i++)
    if (!is_type(&e->types, e->words[i])) return false;
  for (uint32_t i = 0; i < e->n_result_names; i++)
    if (e->result_names[i] != HIA_NONE && e->result_names[i] >= e->strings_size) return false;
  for (uint32_t i = 0; i < e->n_externs; i++)
    if (e->externs[i] >= e->strings_size) return false;
  for (uint32_t i = 0; i < e->n_files; i++)
    if (e->files[i].path >= e->strings_size) return false;
  for (uint32_t i = 0; i < e->n_callees; i++)
    if (e->callees[i].fn >= f->n_fns || e->callees[i].name >= e->strings_size) return false;
  return true;
}

static bool is_unit(const hia_entry *e, const hia_entry_unit *u) {
  const hia_entry_facts *f = e->facts;
  for (uint32_t i = 0; i < u->n_cells; i++)
    if (u->cells[i] >= f->n_fns) return false;
  if (!hiaR_tables_check(u->tables, u->tables_size, f->n_fns, e->n_locs)) return false;
  if (!u->outline_size) return !u->laid_size;
  hia_laid_code laid;
  if (u->laid_size < sizeof laid) return false;
  memcpy(&laid, u->laid, sizeof laid);
  return hiaR_outline_check(u->outline, u->outline_size, laid.code_size, e->n_locs);
}

bool hiaJ_entry_read(const void *bytes, size_t size, hia_arena *arena, hia_entry *e) {
  reading r = {.bytes = bytes, .size = size};
  header h;
  *e = (hia_entry){0};
  if (size < sizeof h) return false;
  memcpy(&h, bytes, sizeof h);
  if (memcmp(h.magic, MAGIC, sizeof h.magic) != 0 || h.abi != HIA_RT_ABI || !h.n_units ||
      h.n_units > MAX_UNITS ||
      (LAID + (uint64_t)PER_UNIT * h.n_units) > (size - sizeof h) / sizeof(extent))
    return false;
  hia_type_table *t = &e->types;
  uint64_t n_facts, n_words, n_calls, n;
  e->key = get(&r, KEY, &n);
  e->key_size = (size_t)n;
  e->files = get32(&r, FILES, &e->n_files);
  e->facts = get(&r, FACTS, &n_facts);
  e->words = get(&r, WORDS, &n_words);
  e->result_names = get32(&r, RESULT_NAMES, &e->n_result_names);
  t->types = get32(&r, TYPES, &t->n_types);
  t->parts = get32(&r, PARTS, &t->n_parts);
  t->ctors = get32(&r, CTORS, &t->n_ctors);
  t->fields = get32(&r, FIELDS, &t->n_fields);
  t->layout_words = get32(&r, LAYOUT_WORDS, &t->n_layout_words);
  t->names = get32(&r, TYPE_NAMES, &t->n_names);
  e->locs = get32(&r, LOCS, &e->n_locs);
  uint32_t n_origins;
  e->origins = get32(&r, ORIGINS, &n_origins);
  if (!n_origins) e->origins = NULL;
  e->loc_names = get_strings(&r, LOC_NAMES, &e->loc_names_size);
  e->externs = get32(&r, EXTERNS, &e->n_externs);
  e->callees = get32(&r, CALLEES, &e->n_callees);
  e->strings = get_strings(&r, STRINGS, &e->strings_size);
  const uint8_t *calls_host = get(&r, CALLS_HOST, &n_calls);
  if (r.is_bad || n_facts != 1 || n_calls != h.n_units || (n_origins && n_origins != e->n_locs) ||
      !are_types(t) || !are_locs(e) || !are_facts(e, n_words))
    return false;
  hia_entry_unit *units = HIA_NEW_ARRAY(arena, hia_entry_unit, h.n_units);
  e->units = units;
  e->n_units = h.n_units;
  for (uint32_t i = 0; i < h.n_units; i++) {
    hia_entry_unit *u = &units[i];
    uint64_t first = LAID + (uint64_t)PER_UNIT * i;
    u->laid = get(&r, first, &n);
    u->laid_size = (size_t)n;
    u->tables = get(&r, first + 1, &n);
    u->tables_size = (size_t)n;
    u->outline = get(&r, first + 2, &n);
    u->outline_size = (size_t)n;
    u->cells = get32(&r, first + 3, &u->n_cells);
    u->calls_host = calls_host[i];
    if (r.is_bad || !is_unit(e, u)) return false;
  }
  return true;
}
