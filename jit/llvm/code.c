/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Code in this process: the objects of a graph's codegen units, laid out (link.c) and loaded
 * (runtime/native/load.h), and what hosts call.
 *
 * The compiler's objects stay, since frame tables are made of them when they are first needed. */
#include "jit/llvm/backend.h"
#include "runtime/native/debug/debug.h"
#include "runtime/native/load.h"

/* A codegen unit in this process. */
typedef struct unit {
  hia_unit_object o; /* of the compiler; its bytes stay */
  hia_object object;
  bool is_called;     /* from outside of it; else it is not loaded */
  hia_frames *frames; /* or NULL */
} unit;

struct hia_code {
  hia_session *session;
  unit *units;
  uint32_t n_units;
  hia_units *loaded;
  /* Typed entries, plain functions and map entries are objects of their own, compiled at the first
   * request, NULL until then: hosts request them for few functions, and they would add a third to
   * the compile time of a small function. */
  hia_loaded_code *sides[HIA_N_HOST_SIDES];
  hia_debug_symbols *symbols; /* of these objects */
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
    const hia_laid_code *laid = hiaJ_link(&comp, object, NULL);
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

void hiaJ_code_free(hia_session *session, hia_code *code) {
  if (!code) return;
  const hia_allocator *allocator = session->allocator;
  hiaR_debug_hide(&code->symbols);
  for (int i = 0; i < HIA_N_HOST_SIDES; i++) hiaR_code_release(code->sides[i]);
  hiaR_units_release(code->loaded);
  for (uint32_t i = 0; i < code->n_units; i++) {
    unit *u = &code->units[i];
    hiaJ_frames_free(u->frames);
    if (u->o.bytes) LLVMDisposeMemoryBuffer(u->o.bytes);
    hiaR_free(allocator, u->o.cells, u->o.n_cells * sizeof *u->o.cells);
  }
  hiaR_free(allocator, code->units, code->n_units * sizeof *code->units);
  hiaR_free(allocator, code, sizeof *code);
}

/* ---- entries ---- */

void hiaJ_find_entries(const hia_object *object, uintptr_t base, hia_entry_at *entries, size_t n) {
  const char *name;
  uint64_t offset;
  for (uint64_t i = 0; hiaJ_object_function(object, i, &name, &offset); i++) {
    uint64_t *word = hiaR_entry_word(name, entries, n);
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
static bool is_called(const hia_object *object, hia_entry_at *entries, size_t n) {
  const char *name;
  uint64_t offset;
  for (uint64_t i = 0; hiaJ_object_function(object, i, &name, &offset); i++)
    if (hiaR_entry_word(name, entries, n)) return true;
  return false;
}

/* Takes over what the compiler has made of a unit, and opens it. */
static hia_status open_unit(hia_code *code, unit *u, hia_unit_object *o, hia_entry_at *any,
                            hia_error **error) {
  hia_session *session = code->session;
  size_t largest;
  u->o = *o;
  *o = (hia_unit_object){0};
  if (!open_object(&u->object, u->o.bytes)) return hiaJ_not_understood(session, error);
  hia_status status = hiaJ_frames_largest(session->allocator, &u->object, &largest);
  if (status == HIA_MEMORY) return hiaR_fail_memory(session->allocator, error);
  if (status) return hiaJ_not_understood(session, error);
  if (largest > code->unwinder.max_frame) code->unwinder.max_frame = largest;
  u->is_called = is_called(&u->object, any, code->n_fns);
  return HIA_OK;
}

static bool find_row(void *user, uintptr_t text, uintptr_t return_address, hia_frame_row *row) {
  const unit *u = user;
  (void)text; /* the frames know it */
  return u->frames && hiaJ_frames_find(u->frames, return_address, row);
}

/* Links and loads the units, in memory of `comp`, which may throw. */
static hia_status load_units(hia_code *code, hia_comp *comp, const hia_graph *g,
                             const hia_host_target *hosts, hia_error **error) {
  hia_unit_code *codes = HIA_NEW_ARRAY(&comp->arena, hia_unit_code, code->n_units);
  for (uint32_t i = 0; i < code->n_units; i++) {
    unit *u = &code->units[i];
    const hia_laid_code *laid = u->is_called ? hiaJ_link(comp, &u->object, NULL) : NULL;
    codes[i] = (hia_unit_code){.laid = laid,
                               .laid_size = laid ? (size_t)hiaR_laid_size(laid) : 0,
                               .cells = u->o.cells,
                               .n_cells = u->o.n_cells,
                               .calls_host = u->o.calls_host,
                               .find = find_row,
                               .user = u};
  }
  return hiaR_units_load(code->session->allocator, codes, code->n_units, code->n_fns, hosts,
                         g->externs.len, &code->loaded, error);
}

/* The frame tables are made when they are first needed. */
static hia_status open_frames(hia_code *code, hia_error **error) {
  const hia_allocator *allocator = code->session->allocator;
  for (uint32_t i = 0; i < code->n_units; i++) {
    unit *u = &code->units[i];
    uintptr_t text = hiaR_units_text(code->loaded, i);
    const hia_entries entries = {hiaR_units_entries(code->loaded), code->n_fns, text - 1};
    if (u->is_called && hiaJ_frames_new(allocator, &u->object, text, entries, &u->frames))
      return hiaR_fail_memory(allocator, error);
  }
  return HIA_OK;
}

static hia_status load(hia_code *code, hia_comp *comp, const hia_graph *g,
                       hia_loaded_objects *objects, const hia_host_target *hosts,
                       hia_error **error) {
  hia_entry_at *any = HIA_NEW_ARRAY(&comp->arena, hia_entry_at, code->n_fns);
  hia_status status = HIA_OK;
  for (uint32_t i = 0; i < objects->n && !status; i++)
    status = open_unit(code, &code->units[i], &objects->units[i], any, error);
  if (!status) status = load_units(code, comp, g, hosts, error);
  if (status) return status;
  if (!hiaJ_has_all_entries(g, hiaR_units_entries(code->loaded)))
    return hiaJ_not_understood(code->session, error);
  code->unwinder.find = hiaR_units_find;
  code->unwinder.user = code->loaded;
  return open_frames(code, error);
}

static hia_status try_load(hia_code *code, const hia_graph *g, hia_loaded_objects *objects,
                           const hia_host_target *hosts, hia_error **error) {
  hia_comp comp;
  hiaR_comp_init(&comp, code->session->allocator);
  volatile hia_status status = HIA_OK;
  if (HIA_TRY(&comp))
    status = load(code, &comp, g, objects, hosts, error);
  else
    status = hiaR_fail_comp(code->session->allocator, error, &comp);
  hiaR_comp_free(&comp);
  return status;
}

hia_status hiaJ_code_new(hia_session *session, const hia_graph *g, hia_loaded_objects *objects,
                         const hia_host_target *hosts, hia_code **out, hia_error **error) {
  const hia_allocator *allocator = session->allocator;
  hia_code *code = hiaR_alloc(allocator, sizeof *code);
  if (!code) return hiaR_fail_memory(allocator, error);
  code->session = session;
  code->n_fns = g->fns.len;
  code->units = hiaR_alloc(allocator, objects->n * sizeof *code->units);
  if (code->units) code->n_units = objects->n;
  hia_status status =
      code->units ? try_load(code, g, objects, hosts, error) : hiaR_fail_memory(allocator, error);
  if (status)
    hiaJ_code_free(session, code);
  else
    *out = code;
  return status;
}

const hia_units *hiaJ_code_loaded(const hia_code *code) { return code->loaded; }

hia_native_entry hiaJ_code_entry(const hia_code *code, hia_fn_id f) {
  return f < code->n_fns ? (hia_native_entry)(uintptr_t)hiaR_units_entries(code->loaded)[f].entry
                         : NULL;
}

void hiaJ_code_set_places(hia_code *code, const hia_places *places) {
  code->unwinder.locs = places->locs;
  code->places = *places;
}

void hiaJ_code_set_shapes(hia_code *code, const hia_shapes *shapes) { code->shapes = shapes; }
void hiaJ_code_set_params(hia_code *code, struct hia_params *params) { code->params = params; }

void hiaJ_code_set_types(hia_code *code, struct hia_value_types *types) { code->types = types; }

const hia_unwinder *hiaJ_code_unwinder(const hia_code *code) { return &code->unwinder; }

const void *hiaJ_code_object(const hia_code *code, uint32_t number, size_t *size) {
  if (number >= code->n_units) return NULL;
  *size = LLVMGetBufferSize(code->units[number].o.bytes);
  return LLVMGetBufferStart(code->units[number].o.bytes);
}

uint64_t hiaJ_code_bytes(const hia_code *code) {
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < code->n_units; i++) bytes += code->units[i].object.text.size;
  return bytes;
}

/* ---- for a cache, and for debuggers ---- */

/* Where an entry stands for the address, the number of its function stands in the tables, plus 1.
 */
static hia_entry_at *numbered(const hia_code *code, hia_comp *comp) {
  const hia_entry_at *at = hiaR_units_entries(code->loaded);
  hia_entry_at *numbers = HIA_NEW_ARRAY(&comp->arena, hia_entry_at, code->n_fns);
  for (size_t f = 0; f < code->n_fns; f++)
    numbers[f] = (hia_entry_at){at[f].entry ? f + 1 : 0, at[f].pays ? f + 1 : 0, 0};
  return numbers;
}

bool hiaJ_code_units(const hia_code *code, const hia_graph *g, hia_comp *comp,
                     const hia_entry_unit **out, uint32_t *n) {
  hia_entry_unit *units = HIA_NEW_ARRAY(&comp->arena, hia_entry_unit, code->n_units);
  const hia_entries entries = {numbered(code, comp), code->n_fns, 0};
  for (uint32_t i = 0; i < code->n_units; i++) {
    const unit *u = &code->units[i];
    const uint64_t *places = NULL;
    const hia_laid_code *laid = u->is_called ? hiaJ_link(comp, &u->object, &places) : NULL;
    const hia_tables *tables = hiaJ_frames_make(comp, &u->object, entries);
    const hia_outline *outline = laid ? hiaJ_outline_make(comp, &u->object, places, laid, g) : NULL;
    units[i] = (hia_entry_unit){.laid = laid,
                                .laid_size = laid ? (size_t)hiaR_laid_size(laid) : 0,
                                .tables = tables,
                                .tables_size = hiaR_tables_size(tables),
                                .outline = outline,
                                .outline_size = outline ? (size_t)hiaR_outline_size(outline) : 0,
                                .cells = u->o.cells,
                                .n_cells = u->o.n_cells,
                                .calls_host = u->o.calls_host};
  }
  *out = units;
  *n = code->n_units;
  return true;
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

/* Tells debuggers of what hosts call. Its positions are those of the calls of the program, as in
 * the program's own code. What fails is left out: the engine's log has said so of that code. */
static void show_side(hia_code *code, const hia_graph *g, const hia_compile_options *options,
                      LLVMMemoryBufferRef bytes, const hia_loaded_code *loaded) {
  const hia_allocator *allocator = code->session->allocator;
  hia_comp comp;
  hiaR_comp_init(&comp, allocator);
  hia_object object;
  if (open_object(&object, bytes) && HIA_TRY(&comp)) {
    char why[HIA_DEBUG_WHY];
    const uint64_t *places;
    const hia_laid_code *laid = hiaJ_link(&comp, &object, &places);
    const hia_debug_code shown = {.text = hiaR_code_text(loaded),
                                  .outline = hiaJ_outline_make(&comp, &object, places, laid, g),
                                  .tables = hiaJ_frames_make(&comp, &object, (hia_entries){0}),
                                  .places = &code->places};
    hiaR_debug_show(allocator, &shown, options->readers, &code->symbols, why);
  }
  hiaR_comp_free(&comp);
}

/* Compiles what hosts call, of one kind. Its object file is not needed afterwards. */
static hia_status make_side(hia_code *code, const hia_graph *g, const hia_compile_options *options,
                            hia_host_side host, hia_loaded_code **out, hia_error **error) {
  hia_loaded_objects objects;
  hia_compile_report report;
  hia_status status = hiaJ_compile(code->session, g, options, host, NULL, &objects, &report, error);
  if (status) return status;
  status = load_side(code, g, host, objects.units[0].bytes, out, error);
  if (!status && options->readers) show_side(code, g, options, objects.units[0].bytes, *out);
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
