/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The cache of native code (jit/cache/): functions whose code is loaded from it, and stored in it.
 *
 * Code has numbers of locations, whose lines and columns stand in a table. When it is found by its
 * second key (cached_keys.c), the program has been edited, and lines have moved. So an entry says
 * of each location to which one of the graph as it was built it belongs, and gets new lines and
 * columns from the new graph; then it is stored under the new first key, too. */
#include "jit/engine/cached.h"
#include "graph/ir/print.h"
#include "jit/cache/machine.h"
#include "jit/versions/speculate.h"
#include "runtime/base/loc.h"
#include "runtime/native/units.h"

/* False for the code of a version that must have a graph: the cache has it already, but not what
 * hosts call. */
static bool may_cache_code(const hia_function *f, hia_traits traits) {
  return hiaJ_may_cache(f, traits) && !(traits & HIA_VERSION_ENTRIES);
}

/* ---- loading ---- */

typedef struct loading {
  hia_function *function;
  hia_traits traits;
  hia_unit *unit;
  bool is_loaded;
} loading;

/* Host functions are bound as they are now. NULL: one of them is not in this process. */
static const hia_host_target *hosts_of(const hia_module *module, const hia_entry *e,
                                       hia_arena *arena) {
  hia_host_target *hosts = HIA_NEW_ARRAY(arena, hia_host_target, (size_t)e->n_externs + 1);
  for (uint32_t i = 0; i < e->n_externs; i++) {
    const hia_host_target *target = hiaJ_bound(module, e->strings + e->externs[i]);
    if (!target || !target->function) return NULL;
    hosts[i] = *target;
  }
  return hosts;
}

typedef struct cached_frames {
  hia_tables *tables;
} cached_frames;

static bool find_row(void *user, uintptr_t text, uintptr_t return_address, hia_frame_row *row) {
  const cached_frames *frames = user;
  return hiaR_tables_find(frames->tables, text, return_address, row);
}

/* The tables with the addresses that the entries of forks have in this process. */
static hia_tables *tables_of(const hia_entry_unit *u, const hia_entry_at *entries, uintptr_t text,
                             hia_arena *arena) {
  hia_tables *tables = hiaR_arena_alloc(arena, u->tables_size);
  memcpy(tables, u->tables, u->tables_size);
  hia_fork_site *sites = hiaR_tables_sites(tables);
  for (uint32_t i = 0; i < tables->n_sites; i++) {
    hia_fork_site *s = &sites[i];
    uint64_t entry = s->entry ? entries[s->entry - 1].entry : 0,
             pays = s->pays ? entries[s->pays - 1].pays : 0;
    s->entry = entry ? entry - (text - 1) : 0;
    s->pays = pays ? pays - (text - 1) : 0;
  }
  return tables;
}

static bool load_units(hia_unit *unit, const hia_entry *e, const hia_host_target *hosts,
                       const hia_allocator *allocator) {
  hia_arena *arena = &unit->comp.arena;
  hia_unit_code *codes = HIA_NEW_ARRAY(&unit->comp.scratch, hia_unit_code, e->n_units);
  cached_frames *frames = HIA_NEW_ARRAY(arena, cached_frames, e->n_units);
  for (uint32_t i = 0; i < e->n_units; i++) {
    const hia_entry_unit *u = &e->units[i];
    codes[i] = (hia_unit_code){.laid = u->laid_size ? u->laid : NULL,
                               .laid_size = u->laid_size,
                               .cells = u->cells,
                               .n_cells = u->n_cells,
                               .calls_host = u->calls_host,
                               .find = find_row,
                               .user = &frames[i]};
  }
  hia_status status = hiaR_units_load(allocator, codes, e->n_units, e->facts->n_fns, hosts,
                                      e->n_externs, &unit->units, NULL);
  if (status) return false;
  const hia_entry_at *entries = hiaR_units_entries(unit->units);
  for (uint32_t i = 0; i < e->n_units; i++)
    frames[i].tables = tables_of(&e->units[i], entries, hiaR_units_text(unit->units, i), arena);
  return entries[e->facts->root].entry != 0;
}

static const char *const *names_of(const hia_entry *e, hia_arena *arena) {
  const char **names = HIA_NEW_ARRAY(arena, const char *, (size_t)e->facts->n_fns + 1);
  for (uint32_t i = 0; i < e->n_callees; i++)
    names[e->callees[i].fn] = e->strings + e->callees[i].name;
  return names;
}

static const char *const *result_names_of(const hia_entry *e, hia_arena *arena) {
  if (!e->n_result_names) return NULL;
  const char **names = HIA_NEW_ARRAY(arena, const char *, e->n_result_names);
  for (uint32_t i = 0; i < e->n_result_names; i++)
    if (e->result_names[i] != HIA_NONE) names[i] = e->strings + e->result_names[i];
  return names;
}

/* Makes the unit one of the entry. False: it cannot be, and the unit is as good as new. */
static bool use_entry(loading *l, const hia_entry *e) {
  hia_unit *unit = l->unit;
  hia_arena *arena = &unit->comp.arena;
  const hia_module *module = l->function->module;
  const hia_allocator *allocator = &module->engine->allocator;
  const hia_entry_facts *facts = e->facts;
  const hia_host_target *hosts = hosts_of(module, e, &unit->comp.scratch);
  if (!hosts || !load_units(unit, e, hosts, allocator)) return false;
  if (facts->flags & HIA_ENTRY_SHAPES &&
      hiaR_shapes_new(&e->types, allocator, &unit->shapes, &unit->shapes_size) != HIA_OK)
    return false;
  hiaJ_name_source(module, unit);
  unit->places.locs = e->locs;
  unit->places.n_locs = e->n_locs;
  unit->places.strings = e->loc_names;
  unit->places.strings_size = e->loc_names_size;
  unit->unwinder = (hia_unwinder){.find = hiaR_units_find,
                                  .user = unit->units,
                                  .locs = e->locs,
                                  .max_frame = (size_t)facts->max_frame};
  unit->facts = (hia_unit_facts){.is_counted = (facts->flags & HIA_ENTRY_COUNTED) != 0,
                                 .has_params = (facts->flags & HIA_ENTRY_PARAMS) != 0,
                                 .types = e->types,
                                 .names = names_of(e, arena),
                                 .n_fns = facts->n_fns};
  unit->has_segments = (facts->flags & HIA_ENTRY_SEGMENTS) != 0;
  unit->stats.nodes = facts->nodes;
  unit->stats.code_bytes = facts->code_bytes;
  unit->stats.codegen_units = e->n_units;
  unit->stats.opt_level = (int32_t)facts->opt_level;
  unit->n_versions = 1;
  unit->versions = HIA_NEW(arena, hia_fn_version);
  uint64_t entry = hiaR_units_entries(unit->units)[facts->root].entry;
  hia_traits number = l->traits & HIA_VERSION_NUMBER;
  hia_special *special = number ? hiaJ_special_of(l->function, number) : NULL;
  *unit->versions =
      (hia_fn_version){.function = l->function,
                       .traits = hiaJ_exact_traits(l->traits) | number | HIA_VERSION_NATIVE,
                       .special = special,
                       .unit = unit,
                       .root = facts->root,
                       .facts = {.params = e->words,
                                 .results = e->words + facts->n_params,
                                 .n_params = facts->n_params,
                                 .n_results = facts->n_results,
                                 .loc = facts->loc},
                       .result_names = result_names_of(e, arena),
                       .native = (hia_native_entry)(uintptr_t)entry};
  if (special) hiaJ_assumed_from_cache(unit, special);
  hiaJ_show(module->engine, unit, unit->units, e->units, e->n_units);
  return true;
}

static bool read_unit(loading *l, const char *name, const hia_text *key, hia_entry *e) {
  return hiaJ_read_entry(l->function->module->engine->store, name, key, &l->unit->comp.arena,
                         &l->unit->cached, e);
}

static void load(loading *l) {
  char name[HIA_STORE_NAME + 1];
  hia_text key;
  hia_entry e;
  hiaR_text_init(&key, &l->unit->comp.scratch);
  if (!hiaJ_first_key(&key, l->function, l->traits)) return;
  hiaJ_digest(key.data, key.len, name);
  l->is_loaded = read_unit(l, name, &key, &e) && use_entry(l, &e);
}

bool hiaJ_cached_load(hia_unit *unit, hia_function *f, hia_traits traits) {
  if (!may_cache_code(f, traits)) return false;
  uint64_t start = hiaR_now();
  loading l = {.function = f, .traits = traits, .unit = unit};
  if (HIA_TRY(&unit->comp)) load(&l);
  unit->comp.armed = false;
  hiaR_arena_free(&unit->comp.scratch);
  if (l.is_loaded) {
    unit->loaded_at = hiaR_now();
    unit->stats.load_ns = unit->loaded_at - start;
  } else {
    hiaJ_unit_empty(f->module->engine, unit);
  }
  return l.is_loaded;
}

/* ---- the second key ---- */

void hiaJ_cached_note(hia_unit *unit, const hia_function *f, hia_traits traits) {
  if (!hiaJ_may_cache(f, traits)) return;
  hia_text key;
  hiaR_text_init(&key, &unit->comp.arena);
  if (!hiaJ_rest_of_key(&key, f, traits)) return;
  hiaG_print_unplaced(unit->graph, &key);
  unit->graph_key = key;
  unit->n_built_locs = unit->graph->locs.len;
}

/* The entry's locations, where they are in the graph. NULL: it has others than this graph. */
static const hia_image_loc *place_anew(const hia_entry *e, const hia_graph *g, uint32_t n_built,
                                       hia_arena *arena) {
  hia_image_loc *locs = HIA_NEW_ARRAY(arena, hia_image_loc, (size_t)e->n_locs + 1);
  if (!e->origins && e->n_locs) return NULL;
  for (uint32_t i = 0; i < e->n_locs; i++) {
    if (e->origins[i] >= n_built) return NULL;
    const hia_loc *origin = &g->locs.data[e->origins[i]];
    locs[i] = e->locs[i];
    locs[i].line = origin->line;
    locs[i].col = origin->col;
    if (hiaR_loc_is_mark(origin->fn) != hiaR_loc_is_mark(locs[i].fn)) return NULL;
    if (hiaR_loc_is_mark(origin->fn)) locs[i].fn = origin->fn;
  }
  return locs;
}

/* Stores the entry under the first key of the program as it is now. */
static void store_again(const loading *l, const hia_entry *e) {
  char name[HIA_STORE_NAME + 1];
  hia_text key;
  hia_entry again = *e;
  hiaR_text_init(&key, &l->unit->comp.scratch);
  if (hiaJ_first_key(&key, l->function, l->traits))
    hiaJ_store_entry(l->function->module->engine, &again, &key, name);
}

bool hiaJ_cached_load_graph(hia_unit *unit, hia_function *f, hia_traits traits) {
  if (!unit->graph_key.len || !may_cache_code(f, traits)) return false;
  uint64_t start = hiaR_now();
  hia_engine *engine = f->module->engine;
  loading l = {.function = f, .traits = traits, .unit = unit};
  char name[HIA_STORE_NAME + 1];
  hia_entry e;
  if (!hiaJ_find_by_graph(engine->store, &unit->graph_key, name)) return false;
  if (read_unit(&l, name, NULL, &e)) {
    const hia_image_loc *locs = place_anew(&e, unit->graph, unit->n_built_locs, &unit->comp.arena);
    if (locs) e.locs = locs;
    l.is_loaded = locs && use_entry(&l, &e);
  }
  if (l.is_loaded) {
    unit->graph = NULL; /* it lacks what passes make */
    unit->loaded_at = hiaR_now();
    unit->stats.load_ns = unit->loaded_at - start;
    store_again(&l, &e);
  } else {
    hiaJ_unit_unload(engine, unit);
  }
  return l.is_loaded;
}

/* By location: the one of the graph as it was built that has the same position. NULL: some have
 * none, and the code can only be found by its first key. */
static const uint32_t *find_origins(const hia_unit *unit, hia_arena *arena) {
  const hia_graph *g = unit->graph;
  uint32_t n = unit->n_built_locs;
  uint32_t *origins = HIA_NEW_ARRAY(arena, uint32_t, (size_t)g->locs.len + 1);
  hia_index index = {0};
  for (uint32_t i = 0; i < g->locs.len; i++) {
    const hia_loc *l = &g->locs.data[i];
    const uint32_t position[3] = {l->line, l->col, l->fn};
    uint32_t hash = hiaR_hash(position, sizeof position), at = hash, k;
    while ((k = hiaR_index_next(&index, hash, &at)) != HIA_NONE) {
      const hia_loc *other = &g->locs.data[k];
      if (other->line == l->line && other->col == l->col && other->fn == l->fn) break;
    }
    if (k == HIA_NONE && i >= n) return NULL;
    if (k == HIA_NONE) hiaR_index_add(arena, &index, hash, i);
    origins[i] = i < n ? i : k;
  }
  return origins;
}

/* ---- storing ---- */

typedef struct storing {
  const hia_function *function;
  hia_traits traits;
  hia_unit *unit;
  hia_comp comp; /* of what is made for it */
} storing;

static uint32_t add_string(hia_text *strings, const char *s) {
  uint32_t at = (uint32_t)strings->len;
  hiaR_text_add(strings, s, strlen(s) + 1);
  return at;
}

static const uint32_t *store_result_names(const hia_fn_version *v, hia_text *strings) {
  if (!v->result_names) return NULL;
  uint32_t *names = HIA_NEW_ARRAY(strings->arena, uint32_t, (size_t)v->facts.n_results + 1);
  for (uint32_t i = 0; i < v->facts.n_results; i++)
    names[i] = v->result_names[i] ? add_string(strings, v->result_names[i]) : HIA_NONE;
  return names;
}

static void store_callees(hia_entry *e, const hia_unit *unit, const hia_entry_at *entries,
                          hia_text *strings) {
  hia_entry_callee *callees =
      HIA_NEW_ARRAY(strings->arena, hia_entry_callee, (size_t)unit->facts.n_fns + 1);
  e->callees = callees;
  for (uint32_t i = 0; i < unit->facts.n_fns; i++)
    if (entries[i].entry)
      callees[e->n_callees++] = (hia_entry_callee){i, add_string(strings, unit->facts.names[i])};
}

static void store_externs(hia_entry *e, const hia_graph *g, hia_text *strings) {
  uint32_t *externs = HIA_NEW_ARRAY(strings->arena, uint32_t, (size_t)g->externs.len + 1);
  for (uint32_t i = 0; i < g->externs.len; i++)
    externs[i] = add_string(strings, g->externs.data[i].name);
  e->externs = externs;
  e->n_externs = g->externs.len;
}

/* False: there is nothing to store. */
static bool make_entry(storing *s, hia_entry *e) {
  const hia_unit *unit = s->unit;
  const hia_engine *engine = s->function->module->engine;
  const hia_fn_version *v = &unit->versions[0];
  hia_arena *arena = &s->comp.arena;
  hia_text strings;
  hiaR_text_init(&strings, arena);
  hiaR_text_add(&strings, "", 1);
  if (!hiaJ_compiler_files(&strings, &e->files, &e->n_files)) return false;
  if (!engine->backend->units(unit->code, unit->graph, &s->comp, &e->units, &e->n_units))
    return false;
  hia_entry_facts *facts = HIA_NEW(arena, hia_entry_facts);
  *facts = (hia_entry_facts){.flags = (unit->facts.is_counted ? HIA_ENTRY_COUNTED : 0u) |
                                      (unit->facts.has_params ? HIA_ENTRY_PARAMS : 0u) |
                                      (unit->has_segments ? HIA_ENTRY_SEGMENTS : 0u) |
                                      (unit->shapes ? HIA_ENTRY_SHAPES : 0u),
                             .root = v->root,
                             .n_fns = unit->facts.n_fns,
                             .loc = v->facts.loc,
                             .n_params = v->facts.n_params,
                             .n_results = v->facts.n_results,
                             .opt_level = (uint32_t)unit->stats.opt_level,
                             .nodes = unit->stats.nodes,
                             .code_bytes = unit->stats.code_bytes,
                             .max_frame = unit->unwinder.max_frame};
  e->facts = facts;
  e->words = hiaJ_entry_types(arena, &v->facts);
  e->result_names = store_result_names(v, &strings);
  e->n_result_names = e->result_names ? facts->n_results : 0;
  e->types = unit->facts.types;
  e->locs = unit->places.locs;
  e->n_locs = (uint32_t)unit->places.n_locs;
  e->loc_names = unit->places.strings;
  e->loc_names_size = (size_t)unit->places.strings_size;
  e->origins = find_origins(unit, arena);
  store_externs(e, unit->graph, &strings);
  store_callees(e, unit, hiaR_units_entries(engine->backend->loaded(unit->code)), &strings);
  e->strings = strings.data;
  e->strings_size = strings.len;
  return true;
}

static void store(storing *s) {
  hia_engine *engine = s->function->module->engine;
  const hia_text *graph_key = &s->unit->graph_key;
  char name[HIA_STORE_NAME + 1];
  hia_text key;
  hia_entry e = {0};
  hiaR_text_init(&key, &s->comp.arena);
  if (!hiaJ_first_key(&key, s->function, s->traits) || !make_entry(s, &e)) return;
  if (!hiaJ_store_entry(engine, &e, &key, name))
    hiaJ_log(engine, "%s is not in the cache: it cannot be written", s->function->name);
  else if (e.origins && graph_key->len)
    hiaJ_store_by_graph(engine->store, graph_key, name, &s->comp.arena);
}

/* The module is held. Other threads may add entries to the unit meanwhile. */
void hiaJ_cached_store(hia_unit *unit, const hia_function *f, hia_traits traits) {
  if (!may_cache_code(f, traits) || !unit->code || !unit->graph || unit->stats.hurried ||
      unit->n_versions != 1)
    return;
  storing s = {.function = f, .traits = traits, .unit = unit};
  hiaR_comp_init(&s.comp, &f->module->engine->allocator);
  pthread_mutex_lock(&unit->lock);
  if (HIA_TRY(&s.comp)) store(&s);
  pthread_mutex_unlock(&unit->lock);
  hiaR_comp_free(&s.comp);
}
