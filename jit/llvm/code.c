/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Code in this process: the objects of a graph's codegen units, laid out (link.c) and loaded
 * (runtime/native/load.h); and what hosts call, laid out.
 *
 * The compiler's objects stay, since frame tables are made of them when they are first needed. */
#include "jit/llvm/backend.h"
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
  size_t n_fns;
  hia_unwinder unwinder;
};

hia_status hiaJ_not_understood(const hia_session *session, hia_error **error) {
  return hiaR_fail_text(session->allocator, error, HIA_INTERNAL, NULL, HIA_NOT_UNDERSTOOD);
}

/* ---- objects ---- */

static bool open_object(hia_object *object, LLVMMemoryBufferRef bytes) {
  return hiaJ_object_open(object, LLVMGetBufferStart(bytes), LLVMGetBufferSize(bytes));
}

void hiaJ_code_free(hia_session *session, hia_code *code) {
  if (!code) return;
  const hia_allocator *allocator = session->allocator;
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

/* Lays an object out, and notes where its functions are. */
static hia_entry_unit describe(hia_comp *comp, const hia_object *object, const hia_graph *g,
                               bool has_places) {
  const uint64_t *places;
  const hia_laid_code *laid = hiaJ_link(comp, object, &places);
  hia_outline *outline = hiaJ_outline_make(comp, object, places, laid, g);
  if (!has_places) hiaJ_outline_unplace(outline);
  return (hia_entry_unit){.laid = laid,
                          .laid_size = (size_t)hiaR_laid_size(laid),
                          .outline = outline,
                          .outline_size = (size_t)hiaR_outline_size(outline)};
}

bool hiaJ_code_units(const hia_code *code, const hia_graph *g, hia_comp *comp,
                     const hia_entry_unit **out, uint32_t *n) {
  hia_entry_unit *units = HIA_NEW_ARRAY(&comp->arena, hia_entry_unit, code->n_units);
  const hia_entries entries = {numbered(code, comp), code->n_fns, 0};
  for (uint32_t i = 0; i < code->n_units; i++) {
    const unit *u = &code->units[i];
    const hia_tables *tables = hiaJ_frames_make(comp, &u->object, entries);
    if (u->is_called) units[i] = describe(comp, &u->object, g, true);
    units[i].tables = tables;
    units[i].tables_size = hiaR_tables_size(tables);
    units[i].cells = u->o.cells;
    units[i].n_cells = u->o.n_cells;
    units[i].calls_host = u->o.calls_host;
  }
  *out = units;
  *n = code->n_units;
  return true;
}

/* ---- what hosts call ---- */

static hia_status describe_side(const hia_session *session, hia_comp *comp,
                                const hia_object *object, const hia_graph *g, hia_entry_unit *out,
                                hia_error **error) {
  volatile hia_status status = HIA_OK;
  if (HIA_TRY(comp))
    *out = describe(comp, object, g, false);
  else
    status = hiaR_fail_comp(session->allocator, error, comp);
  comp->armed = false;
  return status;
}

hia_status hiaJ_host_side(hia_session *session, const hia_graph *g,
                          const hia_compile_options *options, hia_host_side side, hia_comp *comp,
                          hia_entry_unit *out, hia_error **error) {
  hia_loaded_objects objects;
  hia_compile_report report;
  hia_object object;
  hia_status status = hiaJ_compile(session, g, options, side, NULL, &objects, &report, error);
  if (status) return status;
  status = open_object(&object, objects.units[0].bytes)
               ? describe_side(session, comp, &object, g, out, error)
               : hiaJ_not_understood(session, error);
  hiaJ_objects_free(session, &objects);
  return status;
}
