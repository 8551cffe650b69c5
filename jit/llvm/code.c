/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Code in this process: the objects of a graph's codegen units, laid out (link.c) and loaded
 * (runtime/native/load.h), and what hosts call.
 *
 * When all units are loaded, the cells through which one calls another receive their addresses, and
 * their frame tables become one unwinder. */
#include "jit/llvm/backend.h"
#include "runtime/native/load.h"
#include <stdlib.h>

/* A codegen unit in this process. */
typedef struct loaded_unit {
  LLVMMemoryBufferRef bytes; /* the object file, which stays */
  hia_object object;
  hia_loaded_code *loaded;
  uintptr_t base; /* the address at which .text was loaded; 0: it was not */
  hia_frames *frames;
} loaded_unit;

struct hia_code {
  hia_session *session;
  loaded_unit *units; /* by address, those that were not loaded first */
  uint32_t n_units;
  /* Typed entries, plain functions and map entries are objects of their own, compiled at the first
   * request, NULL until then: hosts request them for few functions, and they would add a third to
   * the compile time of a small function. */
  hia_loaded_code *sides[HIA_N_HOST_SIDES];
  hia_entry_at *entries; /* hia_entries */
  size_t n_fns;
  hia_unwinder unwinder;
  hia_places places;
  const hia_shapes *shapes;      /* NULL: it makes no objects */
  struct hia_params *params;     /* NULL: it has none */
  struct hia_value_types *types; /* of what hosts pass; NULL: they have passed scalars only */
};

hia_status hiaJ_not_understood(const hia_session *session, hia_error **error) {
  return hiaR_fail_text(session->allocator, error, HIA_INTERNAL, NULL, HIA_NOT_UNDERSTOOD);
}

/* ---- objects ---- */

static hia_status load_object(const hia_session *session, const hia_object *object,
                              hia_loaded_code **loaded, hia_error **error) {
  hia_comp comp;
  hiaR_comp_init(&comp, session->allocator);
  volatile hia_status status = HIA_OK;
  if (HIA_TRY(&comp)) {
    const hia_laid_code *laid = hiaJ_link(&comp, object);
    status = hiaR_code_load(session->allocator, laid, hiaR_laid_size(laid), loaded, error);
  } else {
    status = hiaR_fail_comp(session->allocator, error, &comp);
  }
  hiaR_comp_free(&comp);
  return status;
}

static bool open_object(hia_object *object, LLVMMemoryBufferRef bytes) {
  return hiaJ_object_open(object, LLVMGetBufferStart(bytes), LLVMGetBufferSize(bytes));
}

static void unload(loaded_unit *u) {
  hiaJ_frames_free(u->frames);
  hiaR_code_release(u->loaded);
  if (u->bytes) LLVMDisposeMemoryBuffer(u->bytes);
}

void hiaJ_code_free(hia_session *session, hia_code *code) {
  if (!code) return;
  for (int i = 0; i < HIA_N_HOST_SIDES; i++) hiaR_code_release(code->sides[i]);
  for (uint32_t i = 0; i < code->n_units; i++) unload(&code->units[i]);
  hiaR_free(session->allocator, code->units, code->n_units * sizeof *code->units);
  hiaR_free(session->allocator, code->entries, code->n_fns * sizeof *code->entries);
  hiaR_free(session->allocator, code, sizeof *code);
}

/* ---- entries ---- */

/* The word in which the address of a symbol of lowering's is kept; NULL: it is no such symbol. */
static uint64_t *word_of(const char *name, hia_entry_at *entries, size_t n) {
  const char *digits = strrchr(name, '_');
  unsigned long f = digits ? strtoul(digits + 1, NULL, 10) : n;
  char known[HIA_ENTRY_NAME_SIZE];
  if (f >= n) return NULL;
  hiaL_entry_name(known, (hia_fn_id)f);
  if (strcmp(name, known) == 0) return &entries[f].entry;
  hiaL_pays_name(known, (hia_fn_id)f);
  if (strcmp(name, known) == 0) return &entries[f].pays;
  hiaL_code_name(known, (hia_fn_id)f);
  return strcmp(name, known) == 0 ? &entries[f].code : NULL;
}

void hiaJ_find_entries(const hia_object *object, uintptr_t base, hia_entry_at *entries, size_t n) {
  const char *name;
  uint64_t offset;
  for (uint64_t i = 0; hiaJ_object_function(object, i, &name, &offset); i++) {
    uint64_t *word = word_of(name, entries, n);
    if (word) *word = base + offset;
  }
}

bool hiaJ_has_all_entries(const hia_graph *g, const hia_entry_at *entries) {
  HIA_EACH_FN(g, f)
    if (hiaG_fn(g, f)->is_root && !entries[f].entry) return false;
  return true;
}

/* ---- units ---- */

/* True if something of the unit can be called from outside of it. */
static bool has_entries(hia_code *code, const loaded_unit *u) {
  const char *name;
  uint64_t offset;
  for (uint64_t i = 0; hiaJ_object_function(&u->object, i, &name, &offset); i++)
    if (word_of(name, code->entries, code->n_fns)) return true;
  return false;
}

static void find_entries(hia_code *code, const hia_loaded_code *loaded) {
  const char *name;
  uintptr_t address;
  for (uint32_t i = 0; hiaR_code_symbol_at(loaded, i, &name, &address); i++) {
    uint64_t *word = word_of(name, code->entries, code->n_fns);
    if (word) *word = address;
  }
}

/* Loads a unit, unless it is never called. */
static hia_status load_unit(hia_code *code, loaded_unit *u, hia_error **error) {
  hia_session *session = code->session;
  size_t largest;
  hia_status status = hiaJ_frames_largest(session->allocator, &u->object, &largest);
  if (status == HIA_MEMORY) return hiaR_fail_memory(session->allocator, error);
  if (status) return hiaJ_not_understood(session, error);
  if (largest > code->unwinder.max_frame) code->unwinder.max_frame = largest;
  if (!has_entries(code, u)) return HIA_OK;
  status = load_object(session, &u->object, &u->loaded, error);
  if (status) return status;
  u->base = hiaR_code_text(u->loaded);
  find_entries(code, u->loaded);
  status = hiaJ_frames_new(session->allocator, &u->object, u->base,
                           (hia_entries){code->entries, code->n_fns, u->base - 1}, &u->frames);
  return status ? hiaR_fail_memory(session->allocator, error) : HIA_OK;
}

/* Fills in the table of the host functions that the unit's externs are bound to. */
static hia_status fill_hosts(const hia_code *code, const loaded_unit *u, const hia_graph *g,
                             const hia_host_target *hosts, hia_error **error) {
  uintptr_t address;
  if (!hiaR_code_symbol(u->loaded, HIA_HOST_TABLE, &address))
    return hiaJ_not_understood(code->session, error);
  hia_host_row *rows = (hia_host_row *)address;
  for (uint32_t i = 0; i < g->externs.len; i++)
    rows[i] = (hia_host_row){hosts[i].function, hosts[i].user};
  return HIA_OK;
}

static hia_status fill_cells(const hia_code *code, const loaded_unit *u, const hia_unit_object *o,
                             hia_error **error) {
  uintptr_t address;
  if (!hiaR_code_symbol(u->loaded, HIA_CELLS, &address))
    return hiaJ_not_understood(code->session, error);
  uintptr_t *cells = (uintptr_t *)address;
  for (uint32_t i = 0; i < o->n_cells; i++) {
    cells[i] = code->entries[o->cells[i]].code;
    if (!cells[i]) return hiaJ_not_understood(code->session, error);
  }
  return HIA_OK;
}

/* The unit in whose code the address may lie: the last that begins before it. */
static const loaded_unit *unit_at(const hia_code *code, uintptr_t address) {
  uint32_t low = 0, high = code->n_units;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (code->units[middle].base < address)
      low = middle + 1;
    else
      high = middle;
  }
  return low ? &code->units[low - 1] : NULL;
}

static bool find_row(void *user, uintptr_t return_address, hia_frame_row *row) {
  const loaded_unit *u = unit_at(user, return_address);
  return u && u->frames && hiaJ_frames_find(u->frames, return_address, row);
}

static int by_address(const void *a, const void *b) {
  uintptr_t x = ((const loaded_unit *)a)->base, y = ((const loaded_unit *)b)->base;
  return (x > y) - (x < y);
}

static hia_status load(hia_code *code, const hia_graph *g, hia_loaded_objects *objects,
                       const hia_host_target *hosts, hia_error **error) {
  for (uint32_t i = 0; i < objects->n; i++) {
    loaded_unit *u = &code->units[i];
    u->bytes = objects->units[i].bytes;
    objects->units[i].bytes = NULL;
    if (!open_object(&u->object, u->bytes)) return hiaJ_not_understood(code->session, error);
    hia_status status = load_unit(code, u, error);
    if (status) return status;
  }
  if (!hiaJ_has_all_entries(g, code->entries)) return hiaJ_not_understood(code->session, error);
  for (uint32_t i = 0; i < objects->n; i++) {
    const loaded_unit *u = &code->units[i];
    const hia_unit_object *o = &objects->units[i];
    hia_status status = HIA_OK;
    if (u->loaded && o->calls_host) status = fill_hosts(code, u, g, hosts, error);
    if (u->loaded && o->n_cells && !status) status = fill_cells(code, u, o, error);
    if (status) return status;
  }
  qsort(code->units, code->n_units, sizeof *code->units, by_address);
  code->unwinder.find = find_row;
  code->unwinder.user = code;
  return HIA_OK;
}

hia_status hiaJ_code_new(hia_session *session, const hia_graph *g, hia_loaded_objects *objects,
                         const hia_host_target *hosts, hia_code **out, hia_error **error) {
  const hia_allocator *allocator = session->allocator;
  hia_code *code = hiaR_alloc(allocator, sizeof *code);
  if (!code) return hiaR_fail_memory(allocator, error);
  code->session = session;
  size_t size;
  if (hiaR_mul(g->fns.len, sizeof *code->entries, &size))
    code->entries = hiaR_alloc(allocator, size);
  if (code->entries) code->n_fns = g->fns.len;
  code->units = hiaR_alloc(allocator, objects->n * sizeof *code->units);
  if (code->units) code->n_units = objects->n;
  hia_status status = code->entries && code->units ? load(code, g, objects, hosts, error)
                                                   : hiaR_fail_memory(allocator, error);
  if (status)
    hiaJ_code_free(session, code);
  else
    *out = code;
  return status;
}

hia_native_entry hiaJ_code_entry(const hia_code *code, hia_fn_id f) {
  return f < code->n_fns ? (hia_native_entry)(uintptr_t)code->entries[f].entry : NULL;
}

void hiaJ_code_set_places(hia_code *code, const hia_places *places) {
  code->unwinder.locs = places->locs;
  code->places = *places;
}

void hiaJ_code_set_shapes(hia_code *code, const hia_shapes *shapes) { code->shapes = shapes; }
void hiaJ_code_set_params(hia_code *code, struct hia_params *params) { code->params = params; }

void hiaJ_code_set_types(hia_code *code, struct hia_value_types *types) { code->types = types; }

const hia_unwinder *hiaJ_code_unwinder(const hia_code *code) { return &code->unwinder; }

const void *hiaJ_code_object(const hia_code *code, uint32_t unit, size_t *size) {
  if (unit >= code->n_units) return NULL;
  *size = LLVMGetBufferSize(code->units[unit].bytes);
  return LLVMGetBufferStart(code->units[unit].bytes);
}

uint64_t hiaJ_code_bytes(const hia_code *code) {
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < code->n_units; i++) bytes += code->units[i].object.text.size;
  return bytes;
}

/* ---- what hosts call ---- */

typedef void (*function)(void);

/* The record of the typed entries receives the addresses of the code that they enter. */
static void fill_in(const hia_code *code, hia_code_module *module, const hia_graph *g) {
  hia_code_root *root = (hia_code_root *)(uintptr_t)module->roots;
  HIA_EACH_FN(g, f)
    if (hiaG_fn(g, f)->is_root) (root++)->entry = hiaJ_code_entry(code, f);
  module->unwinder = code->unwinder;
  module->places = code->places;
  module->shapes = code->shapes;
  module->types = code->types;
  module->params = code->params;
  if (code->shapes || code->params) module->flags |= HIA_CODE_OBJECTS;
}

static hia_status load_side(const hia_code *code, const hia_graph *g, hia_host_side host,
                            LLVMMemoryBufferRef bytes, hia_loaded_code **out, hia_error **error) {
  hia_object object;
  uintptr_t record;
  if (!open_object(&object, bytes)) return hiaJ_not_understood(code->session, error);
  hia_status status = load_object(code->session, &object, out, error);
  if (status || host == HIA_HOST_PLAIN) return status;
  if (hiaR_code_symbol(*out, HIA_MODULE_NAME, &record)) {
    fill_in(code, (hia_code_module *)record, g);
    return HIA_OK;
  }
  hiaR_code_release(*out);
  *out = NULL;
  return hiaJ_not_understood(code->session, error);
}

/* Compiles what hosts call, of one kind. Its object file is not needed afterwards. */
static hia_status make_side(const hia_code *code, const hia_graph *g,
                            const hia_compile_options *options, hia_host_side host,
                            hia_loaded_code **out, hia_error **error) {
  hia_loaded_objects objects;
  hia_compile_report report;
  hia_status status = hiaJ_compile(code->session, g, options, host, NULL, &objects, &report, error);
  if (status) return status;
  status = load_side(code, g, host, objects.units[0].bytes, out, error);
  hiaJ_objects_free(code->session, &objects);
  return status;
}

hia_status hiaJ_host_function(hia_code *code, const hia_graph *g,
                              const hia_compile_options *options, hia_host_side host, hia_fn_id f,
                              function *out, hia_error **error) {
  hia_loaded_code **at = &code->sides[host];
  uintptr_t address;
  if (!*at) {
    hia_status status = make_side(code, g, options, host, at, error);
    if (status) return status;
  }
  char name[HIA_ENTRY_NAME_SIZE];
  hiaL_host_name(name, host, f);
  if (!hiaR_code_symbol(*at, name, &address)) return hiaJ_not_understood(code->session, error);
  *out = (function)address;
  return HIA_OK;
}
