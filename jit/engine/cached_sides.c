/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* What hosts call of a function, loaded from the cache and stored in it: one side at a time
 * (lower/plan.h).
 *
 * An entry with a side has its code as the one unit, without frames, and the types of the
 * function's words, to which numbers in the code refer. Its keys are those of the function,
 * followed by the side. The code refers to the runtime alone; its record, which leads to the
 * function's code, is filled in by sides.c. */
#include "jit/cache/machine.h"
#include "jit/engine/cached.h"

typedef struct side_job {
  const hia_fn_version *version;
  hia_host_side side;
  hia_comp comp;              /* of what is made for it */
  hia_cached_file file;       /* that is loaded */
  const hia_entry_unit *made; /* that is stored */
  bool is_loaded;
} side_job;

static hia_engine *engine_of(const side_job *s) { return s->version->function->module->engine; }

/* What the budget cut short has other code than what the keys stand for. */
static bool may_cache_side(const hia_fn_version *v) {
  return hiaJ_may_cache(v->function, v->traits) && !v->unit->stats.hurried &&
         v->unit->n_versions == 1;
}

/* The first key. False: the code must not be cached. */
static bool describe_side(hia_text *key, side_job *s) {
  hiaR_text_init(key, &s->comp.arena);
  if (!hiaJ_first_key(key, s->version->function, s->version->traits)) return false;
  hiaR_text_addf(key, "\nside %d\n", (int)s->side);
  return true;
}

/* The second key. False: the graph is not known. */
static bool describe_side_by_graph(hia_text *key, side_job *s) {
  const hia_text *of_unit = &s->version->unit->graph_key;
  if (!of_unit->len) return false;
  hiaR_text_init(key, &s->comp.arena);
  hiaR_text_add(key, of_unit->data, of_unit->len);
  hiaR_text_addf(key, "\nside %d\n", (int)s->side);
  return true;
}

static bool are_same(const void *a, uint64_t n, const void *b, uint64_t m, size_t size) {
  return n == m && (n == 0 || memcmp(a, b, (size_t)n * size) == 0);
}

static bool are_same_types(const hia_type_table *a, const hia_type_table *b) {
#define ARE_SAME(rows) are_same(a->rows, a->n_##rows, b->rows, b->n_##rows, sizeof *a->rows)
  return ARE_SAME(types) && ARE_SAME(parts) && ARE_SAME(ctors) && ARE_SAME(fields) &&
         ARE_SAME(layout_words) && ARE_SAME(names);
#undef ARE_SAME
}

/* True if the entry's code is for this version, as far as it can be seen. */
static bool is_side_of(const hia_entry *e, const hia_fn_version *v) {
  const hia_root_facts *r = &v->facts;
  const hia_type *results = e->words + e->facts->n_params;
  return e->n_units == 1 && e->units[0].laid_size && e->facts->root == v->root &&
         are_same(e->words, e->facts->n_params, r->params, r->n_params, sizeof *r->params) &&
         are_same(results, e->facts->n_results, r->results, r->n_results, sizeof *r->results) &&
         are_same_types(&e->types, &v->unit->facts.types);
}

/* Loads the entry of a name, as read_entry does. */
static bool use_side(side_job *s, const char *name, const hia_text *key, hia_entry *e) {
  const hia_engine *engine = engine_of(s);
  if (!hiaJ_read_entry(engine->store, name, key, &s->comp.arena, &s->file, e) ||
      !is_side_of(e, s->version))
    return false;
  return hiaR_code_load(&engine->allocator, e->units[0].laid, e->units[0].laid_size,
                        &s->version->unit->sides[s->side], NULL) == HIA_OK &&
         hiaJ_bind_side(s->version, s->side, &e->units[0]);
}

static void drop_file(side_job *s) {
  if (s->file.bytes) hiaJ_store_free(engine_of(s)->store, s->file.bytes, s->file.size);
  s->file = (hia_cached_file){0};
}

static void load_side(side_job *s) {
  const hia_engine *engine = engine_of(s);
  char name[HIA_STORE_NAME + 1];
  hia_text key, graph_key;
  hia_entry e;
  if (!describe_side(&key, s)) return;
  hiaJ_digest(key.data, key.len, name);
  s->is_loaded = use_side(s, name, &key, &e);
  if (s->is_loaded || !describe_side_by_graph(&graph_key, s)) return;
  drop_file(s);
  s->is_loaded = hiaJ_find_by_graph(engine->store, &graph_key, name) && use_side(s, name, NULL, &e);
  if (s->is_loaded) hiaJ_store_entry(engine, &e, &key, name);
}

bool hiaJ_cached_load_side(const hia_fn_version *v, hia_host_side side) {
  if (!may_cache_side(v)) return false;
  side_job s = {.version = v, .side = side};
  hiaR_comp_init(&s.comp, &v->function->module->engine->allocator);
  if (HIA_TRY(&s.comp)) load_side(&s);
  s.comp.armed = false;
  drop_file(&s);
  hiaR_comp_free(&s.comp);
  return v->unit->sides[side] != NULL;
}

static void store_side(side_job *s) {
  static const hia_tables none = {0};
  const hia_fn_version *v = s->version;
  const hia_root_facts *r = &v->facts;
  hia_arena *arena = &s->comp.arena;
  hia_text key, graph_key, strings;
  hia_entry_facts facts = {.root = v->root,
                           .n_fns = v->unit->facts.n_fns,
                           .loc = HIA_NONE,
                           .n_params = r->n_params,
                           .n_results = r->n_results};
  hia_entry_unit unit = {.laid = s->made->laid,
                         .laid_size = s->made->laid_size,
                         .tables = &none,
                         .tables_size = sizeof none,
                         .outline = s->made->outline,
                         .outline_size = s->made->outline_size};
  hia_entry e = {.facts = &facts, .types = v->unit->facts.types, .units = &unit, .n_units = 1};
  char name[HIA_STORE_NAME + 1];
  hiaR_text_init(&strings, arena);
  hiaR_text_add(&strings, "", 1);
  if (!describe_side(&key, s) || !hiaJ_compiler_files(&strings, &e.files, &e.n_files)) return;
  e.words = hiaJ_entry_types(arena, r);
  e.strings = strings.data;
  e.strings_size = strings.len;
  if (hiaJ_store_entry(engine_of(s), &e, &key, name) && describe_side_by_graph(&graph_key, s))
    hiaJ_store_by_graph(engine_of(s)->store, &graph_key, name, arena);
}

void hiaJ_cached_store_side(const hia_fn_version *v, hia_host_side side,
                            const hia_entry_unit *made) {
  if (!may_cache_side(v)) return;
  side_job s = {.version = v, .side = side, .made = made};
  hiaR_comp_init(&s.comp, &v->function->module->engine->allocator);
  if (HIA_TRY(&s.comp)) store_side(&s);
  hiaR_comp_free(&s.comp);
}
