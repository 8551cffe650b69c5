/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Code in this process: the objects of a graph's codegen units, linked by ORC, and the objects of
 * what hosts call.
 *
 * When all units are loaded, the cells through which one calls another receive their addresses, and
 * their frame tables become one unwinder. */
#include "jit/llvm/backend.h"
#include <stdlib.h>

/* An object in this process. */
typedef struct linked {
  LLVMMemoryBufferRef bytes; /* the object file, which stays */
  hia_object object;
  hia_dylib *dylib;
  LLVMOrcResourceTrackerRef tracker;
  uintptr_t base;     /* the address at which .text was loaded; 0: it was not */
  hia_frames *frames; /* of a unit */
} linked;

/* Typed entries, plain functions and map entries are objects of their own, compiled at the first
 * request: hosts request them for few functions, and they would add a third to the compile time of
 * a small function. */
typedef struct side {
  linked linked;
  hia_code_module *module; /* its record in memory; NULL: it has none */
} side;

struct hia_code {
  hia_session *session;
  linked *units; /* by address, those that were not loaded first */
  uint32_t n_units;
  side *sides[HIA_N_HOST_SIDES]; /* NULL until requested */
  hia_entry_at *entries;         /* hia_entries */
  size_t n_fns;
  hia_unwinder unwinder;
  hia_places places;
  const hia_shapes *shapes;      /* NULL: it makes no objects */
  struct hia_params *params;     /* NULL: it has none */
  struct hia_value_types *types; /* of what hosts pass; NULL: they have passed scalars only */
};

hia_status hiaJ_not_understood(const hia_session *session, hia_error **error) {
  return hiaR_fail_text(session->allocator, error, HIA_INTERNAL, NULL,
                        "LLVM made an object file that is not understood");
}

/* ---- objects ---- */

static bool open_linked(linked *l, LLVMMemoryBufferRef bytes) {
  l->bytes = bytes;
  return hiaJ_object_open(&l->object, LLVMGetBufferStart(bytes), LLVMGetBufferSize(bytes));
}

/* Passes the object to ORC, which loads it. The address of the function `name`, which is at
 * `offset`, gives that of .text. */
static hia_status link_object(hia_session *session, linked *l, const char *name, uint64_t offset,
                              hia_error **error) {
  hia_status status = hiaJ_dylib_take(session, &l->dylib, error);
  if (status) return status;
  l->tracker = LLVMOrcJITDylibCreateResourceTracker(l->dylib->ref);
  /* ORC takes ownership of the view, not of the bytes. */
  LLVMMemoryBufferRef view = LLVMCreateMemoryBufferWithMemoryRange(
      LLVMGetBufferStart(l->bytes), LLVMGetBufferSize(l->bytes), "hiaton", false);
  LLVMErrorRef err = LLVMOrcLLJITAddObjectFileWithRT(session->jit, l->tracker, view);
  if (err) return hiaJ_take_error(session, err, error);
  uintptr_t address;
  status = hiaJ_lookup(session, l->dylib, name, &address, error);
  if (!status) l->base = address - offset;
  return status;
}

static void unlink_object(hia_session *session, linked *l) {
  bool is_clean = true;
  if (l->tracker) {
    LLVMErrorRef err = LLVMOrcResourceTrackerRemove(l->tracker);
    if (err) { /* the JITDylib is not empty: the session does not use it again */
      LLVMConsumeError(err);
      is_clean = false;
    }
    LLVMOrcReleaseResourceTracker(l->tracker);
    LLVMOrcExecutionSessionRef es = LLVMOrcLLJITGetExecutionSession(session->jit);
    LLVMOrcSymbolStringPoolClearDeadEntries(LLVMOrcExecutionSessionGetSymbolStringPool(es));
  }
  if (l->dylib && is_clean)
    hiaJ_dylib_put(session, l->dylib);
  else if (l->dylib)
    hiaR_free(session->allocator, l->dylib, sizeof *l->dylib);
  hiaJ_frames_free(l->frames);
  if (l->bytes) LLVMDisposeMemoryBuffer(l->bytes);
}

static void side_free(hia_session *session, side *s) {
  unlink_object(session, &s->linked);
  hiaR_free(session->allocator, s, sizeof *s);
}

void hiaJ_code_free(hia_session *session, hia_code *code) {
  if (!code) return;
  for (int i = 0; i < HIA_N_HOST_SIDES; i++)
    if (code->sides[i]) side_free(session, code->sides[i]);
  for (uint32_t i = 0; i < code->n_units; i++) unlink_object(session, &code->units[i]);
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

/* Links a unit, by one of the symbols that can be called from outside of it. A unit without such a
 * symbol is never called, and not loaded. */
static hia_status load_unit(hia_code *code, linked *l, hia_error **error) {
  hia_session *session = code->session;
  size_t largest;
  hia_status status = hiaJ_frames_largest(session->allocator, &l->object, &largest);
  if (status == HIA_MEMORY) return hiaR_fail_memory(session->allocator, error);
  if (status) return hiaJ_not_understood(session, error);
  if (largest > code->unwinder.max_frame) code->unwinder.max_frame = largest;
  const char *name;
  uint64_t offset;
  bool is_found = false;
  for (uint64_t i = 0; !is_found && hiaJ_object_function(&l->object, i, &name, &offset); i++)
    is_found = word_of(name, code->entries, code->n_fns) != NULL;
  if (!is_found) return HIA_OK;
  status = link_object(session, l, name, offset, error);
  if (status) return status;
  hiaJ_find_entries(&l->object, l->base, code->entries, code->n_fns);
  status = hiaJ_frames_new(session->allocator, &l->object, l->base,
                           (hia_entries){code->entries, code->n_fns, l->base - 1}, &l->frames);
  return status ? hiaR_fail_memory(session->allocator, error) : HIA_OK;
}

/* Fills in the table of the host functions that the unit's externs are bound to. */
static hia_status fill_hosts(const hia_code *code, const linked *l, const hia_graph *g,
                             const hia_host_target *hosts, hia_error **error) {
  uintptr_t address;
  hia_status status = hiaJ_lookup(code->session, l->dylib, HIA_HOST_TABLE, &address, error);
  if (status) return status;
  hia_host_row *rows = (hia_host_row *)address;
  for (uint32_t i = 0; i < g->externs.len; i++)
    rows[i] = (hia_host_row){hosts[i].function, hosts[i].user};
  return HIA_OK;
}

static hia_status fill_cells(const hia_code *code, const linked *l, const hia_unit_object *o,
                             hia_error **error) {
  uintptr_t address;
  hia_status status = hiaJ_lookup(code->session, l->dylib, HIA_CELLS, &address, error);
  if (status) return status;
  uintptr_t *cells = (uintptr_t *)address;
  for (uint32_t i = 0; i < o->n_cells; i++) {
    cells[i] = code->entries[o->cells[i]].code;
    if (!cells[i]) return hiaJ_not_understood(code->session, error);
  }
  return HIA_OK;
}

/* The unit in whose code the address may lie: the last that begins before it. */
static const linked *unit_at(const hia_code *code, uintptr_t address) {
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
  const linked *l = unit_at(user, return_address);
  return l && l->frames && hiaJ_frames_find(l->frames, return_address, row);
}

static int by_address(const void *a, const void *b) {
  uintptr_t x = ((const linked *)a)->base, y = ((const linked *)b)->base;
  return (x > y) - (x < y);
}

static hia_status load(hia_code *code, const hia_graph *g, hia_loaded_objects *objects,
                       const hia_host_target *hosts, hia_error **error) {
  for (uint32_t i = 0; i < objects->n; i++) {
    bool is_open = open_linked(&code->units[i], objects->units[i].bytes);
    objects->units[i].bytes = NULL;
    if (!is_open) return hiaJ_not_understood(code->session, error);
    hia_status status = load_unit(code, &code->units[i], error);
    if (status) return status;
  }
  if (!hiaJ_has_all_entries(g, code->entries)) return hiaJ_not_understood(code->session, error);
  for (uint32_t i = 0; i < objects->n; i++) {
    const linked *l = &code->units[i];
    const hia_unit_object *o = &objects->units[i];
    hia_status status = HIA_OK;
    if (l->base && o->calls_host) status = fill_hosts(code, l, g, hosts, error);
    if (l->base && o->n_cells && !status) status = fill_cells(code, l, o, error);
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

static bool find_function(const hia_object *object, const char *wanted, uint64_t *offset) {
  const char *name;
  for (uint64_t i = 0; hiaJ_object_function(object, i, &name, offset); i++)
    if (strcmp(name, wanted) == 0) return true;
  return false;
}

static hia_status link_side(hia_session *session, side *s, hia_host_side host, const char *name,
                            LLVMMemoryBufferRef bytes, hia_error **error) {
  uint64_t offset;
  if (!open_linked(&s->linked, bytes) || !find_function(&s->linked.object, name, &offset))
    return hiaJ_not_understood(session, error);
  hia_status status = link_object(session, &s->linked, name, offset, error);
  uintptr_t record = 0;
  if (!status && host != HIA_HOST_PLAIN)
    status = hiaJ_lookup(session, s->linked.dylib, HIA_MODULE_NAME, &record, error);
  s->module = (hia_code_module *)record;
  return status;
}

/* Compiles the object of one side, in which there is a function `name`. */
static hia_status make_side(hia_session *session, const hia_graph *g,
                            const hia_compile_options *options, hia_host_side host,
                            const char *name, side **out, hia_error **error) {
  hia_loaded_objects objects;
  hia_compile_report report;
  side *s = hiaR_alloc(session->allocator, sizeof *s);
  if (!s) return hiaR_fail_memory(session->allocator, error);
  hia_status status = hiaJ_compile(session, g, options, host, NULL, &objects, &report, error);
  if (!status) {
    LLVMMemoryBufferRef bytes = objects.units[0].bytes;
    objects.units[0].bytes = NULL;
    hiaJ_objects_free(session, &objects);
    status = link_side(session, s, host, name, bytes, error);
  }
  if (status)
    side_free(session, s);
  else
    *out = s;
  return status;
}

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

hia_status hiaJ_host_function(hia_code *code, const hia_graph *g,
                              const hia_compile_options *options, hia_host_side host, hia_fn_id f,
                              function *out, hia_error **error) {
  side **at = &code->sides[host];
  char name[HIA_ENTRY_NAME_SIZE];
  hiaL_host_name(name, host, f);
  if (!*at) {
    hia_status status = make_side(code->session, g, options, host, name, at, error);
    if (status) return status;
    if ((*at)->module) fill_in(code, (*at)->module, g);
  }
  uint64_t offset;
  if (!find_function(&(*at)->linked.object, name, &offset))
    return hiaJ_not_understood(code->session, error);
  *out = (function)((*at)->linked.base + offset);
  return HIA_OK;
}
