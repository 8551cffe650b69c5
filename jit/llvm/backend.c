/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The table of functions through which jit/engine/ reaches LLVM (jit.h). Code for this process is
 * compiled (compile.c) and loaded (code.c). An object file for a linker is compiled by the same
 * stages, and finished here. */
#include "jit/llvm/backend.h"
#include "runtime/native/tables.h"

static hia_status compile(hia_session *session, const hia_graph *g,
                          const hia_compile_options *options, hia_code **out,
                          hia_compile_report *report, hia_error **error) {
  *out = NULL;
  hia_loaded_objects objects;
  hia_compile_report own;
  hia_status status = hiaJ_compile(session, g, options, HIA_HOST_NONE, NULL, &objects, &own, error);
  if (!status) {
    uint64_t start = hiaR_now();
    status = hiaJ_code_new(session, g, &objects, options->hosts, out, error);
    own.codegen_ns += hiaR_now() - start;
    own.n_units = objects.n;
    hiaJ_objects_free(session, &objects);
  }
  if (!status) own.code_bytes = hiaJ_code_bytes(*out);
  if (report) *report = own;
  return status;
}

/* ---- object files ---- */

/* Makes an object file for the linker out of LLVM's. Throws to `comp`, which is its own. */
static hia_status finish(hia_comp *comp, const hia_allocator *allocator, LLVMMemoryBufferRef object,
                         const hia_graph *g, const hia_object_plan *plan, void **bytes,
                         size_t *size) {
  hia_object o;
  size_t largest;
  hia_entry_at *entries = HIA_NEW_ARRAY(&comp->arena, hia_entry_at, g->fns.len);
  if (!hiaJ_object_open(&o, LLVMGetBufferStart(object), LLVMGetBufferSize(object)))
    return HIA_INTERNAL;
  hiaJ_find_entries(&o, 1, entries, g->fns.len); /* offsets, plus 1 */
  if (!hiaJ_has_all_entries(g, entries)) return HIA_INTERNAL;
  hia_status status = hiaJ_frames_largest(allocator, &o, &largest); /* fails if one is unreadable */
  if (status) return status;
  hia_tables *tables = hiaJ_frames_make(comp, &o, (hia_entries){entries, g->fns.len, 0});
  tables->anchor = (uint32_t)entries[plan->roots[0].fn].entry - 1;
  uint64_t total = hiaJ_object_finished_size(&o, hiaR_tables_size(tables));
  void *out = hiaR_alloc(allocator, total);
  if (!out) return HIA_MEMORY;
  if (!hiaJ_object_finish(&o, tables, out)) {
    hiaR_free(allocator, out, total);
    return HIA_INTERNAL;
  }
  *bytes = out;
  *size = total;
  return HIA_OK;
}

static hia_status build_from(hia_session *session, hia_loaded_objects *objects, const hia_graph *g,
                             const hia_object_plan *plan, void **bytes, size_t *size,
                             hia_error **error) {
  hia_comp comp;
  hiaR_comp_init(&comp, session->allocator);
  volatile hia_status status = HIA_OK;
  if (HIA_TRY(&comp))
    status = finish(&comp, session->allocator, objects->units[0].bytes, g, plan, bytes, size);
  else
    status = comp.status;
  if (status == HIA_MEMORY)
    hiaR_fail_memory(session->allocator, error);
  else if (status)
    hiaJ_not_understood(session, error);
  hiaR_comp_free(&comp);
  hiaJ_objects_free(session, objects);
  return status;
}

static hia_status build(hia_session *session, const hia_graph *g,
                        const hia_compile_options *options, const hia_object_plan *plan,
                        void **bytes, size_t *size, hia_error **error) {
  *bytes = NULL;
  *size = 0;
  if (plan->cpu && !hiaJ_cpu_exists(plan->cpu))
    return hiaR_fail_text(session->allocator, error, HIA_ARGUMENT,
                          "--cpu takes native, x86-64, x86-64-v2 to x86-64-v4, or LLVM's name of a "
                          "processor",
                          "there is no processor `%.80s`", plan->cpu);
  hia_loaded_objects objects;
  hia_compile_report report;
  hia_status status =
      hiaJ_compile(session, g, options, HIA_HOST_OBJECT, plan, &objects, &report, error);
  return status ? status : build_from(session, &objects, g, plan, bytes, size, error);
}

const hia_backend hiaJ_backend = {
    .version = HIA_BUILD_VERSION,
    .open = hiaJ_session_open,
    .close = hiaJ_session_close,
    .compile = compile,
    .entry = hiaJ_code_entry,
    .host_side = hiaJ_host_side,
    .unwinder = hiaJ_code_unwinder,
    .object = hiaJ_code_object,
    .units = hiaJ_code_units,
    .loaded = hiaJ_code_loaded,
    .release = hiaJ_code_free,
    .build = build,
    .dump = hiaJ_dump,
};
