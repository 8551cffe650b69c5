/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The stages from a graph to object files, or to the text of a dump. Codegen units go through them
 * one after the other:
 *
 *   static graph ── lower ──► module ── optimize ──► module ── code generation ──► object file
 *
 * Between the stages, and so between units, a compilation checks whether it is still needed and
 * whether its budget is used up: LLVM cannot be interrupted. */
#include "jit/llvm/backend.h"
#include "runtime/native/sanitizer.h"
#include <llvm-c/Linker.h>
#include <stdio.h>

/* LLVM recurses over what users write: long chains of branches, deep expressions. Only addresses
 * are reserved; with less address space the stack is made smaller, down to the minimum. */
#define COMPILER_STACK     ((size_t)1 << 30)
#define MIN_COMPILER_STACK ((size_t)8 << 20)

/* Runs on the compiler's stack. */
typedef struct job {
  hia_session *session;
  hia_compiler *compiler;
  const hia_graph *g;
  const hia_compile_options *options;
  const hia_object_plan *plan; /* of an object for the linker; NULL: code for this process */
  hia_host_side host;
  hia_loaded_objects *objects; /* what is made; NULL: a dump */
  hia_compile_report report;

  hia_native_dump what;
  hia_text *text; /* the dump; NULL: objects are made */

  hia_lowering *lowering;
  uint32_t unit;
  LLVMTargetMachineRef machine, fresh_machine;
  LLVMModuleRef module; /* of the unit */
  LLVMMemoryBufferRef bytes;

  hia_error **error;
  hia_status status;
} job;

static bool fail(job *j, hia_status status, const char *message) {
  j->status = hiaR_fail_text(j->session->allocator, j->error, status, NULL, "%s", message);
  return false;
}

static int level_of(const hia_compile_options *options) {
  return options->level < 0 ? 0 : options->level > 3 ? 3 : options->level;
}

static hia_instrument instrument_of(const hia_compile_options *options) {
  if (!options->sanitize) return HIA_INSTRUMENT_NONE;
#if defined(HIA_ASAN)
  return HIA_INSTRUMENT_ASAN;
#elif defined(HIA_TSAN)
  return HIA_INSTRUMENT_TSAN;
#else
  return HIA_INSTRUMENT_NONE;
#endif
}

/* ---- the stages ---- */

static hia_lower_options lower_options(const job *j) {
  bool is_named = j->plan && j->plan->cpu;
  return (hia_lower_options){.host = j->host,
                             .is_one_unit = j->plan || j->host != HIA_HOST_NONE,
                             .unchecked = j->options->unchecked,
                             .is_fuelled = j->options->is_fuelled,
                             .merge_calls = j->options->merge_calls,
                             .fast_products = j->options->fast_products,
                             .reuse = j->options->reuse,
                             .is_parallel =
                                 j->plan ? j->plan->is_parallel : j->options->is_parallel,
                             .begins_again = j->options->begins_again && !j->plan,
                             .records_effects = j->options->records_effects && !j->plan,
                             .counts_bytes = j->options->counts_bytes && !j->plan,
                             .instrument = instrument_of(j->options),
                             .hosts = j->plan ? NULL : j->options->hosts,
                             .names_hosts = j->plan != NULL,
                             .triple = j->session->triple,
                             .cpu = is_named ? j->plan->cpu : j->session->cpu,
                             .features = is_named ? "" : j->session->features,
                             .has_fma = is_named ? hiaJ_cpu_has_fma(j->plan->cpu)
                                                 : hiaJ_features_have_fma(j->session->features),
                             .object = j->plan,
                             .look = j->options->look,
                             .data_layout = j->session->data_layout};
}

static bool open_lowering(job *j) {
  const hia_lower_options options = lower_options(j);
  j->status = hiaL_open(j->g, &options, j->session->allocator, &j->lowering, j->error);
  return !j->status;
}

static void choose_machine(job *j, int level) {
  /* An object gets a fresh target machine, since a used one keeps state of its earlier modules. */
  if (j->plan && !j->fresh_machine)
    j->fresh_machine = hiaJ_machine_for(j->session, j->plan->cpu, level);
  j->machine = j->plan ? j->fresh_machine : hiaJ_machine(j->session, j->compiler, level);
}

/* A module of maps is small, however large the graph is: kernels have at most so many values. */
static hia_size_class size_class_of(const job *j) {
  if (j->host == HIA_HOST_MAP) return HIA_SIZE_USUAL;
  return hiaG_unit_size_class(j->g, hiaL_units(j->lowering), j->unit);
}

static bool lower(job *j) {
  j->status = hiaL_lower(j->lowering, j->unit, j->compiler->llvm, &j->module, j->error);
#ifndef NDEBUG
  if (!j->status) j->status = hiaL_verify(j->module, j->session->allocator, j->error);
#endif
  return !j->status;
}

static bool optimize(job *j) {
  bool is_cut;
  j->status =
      hiaJ_optimize(j->session, j->module, j->machine, level_of(j->options), size_class_of(j),
                    instrument_of(j->options), j->options->look, &is_cut, j->error);
  j->report.is_cut |= is_cut;
  if (!j->status)
    j->status =
        hiaL_finish_loops(j->module, j->options->unchecked, j->session->allocator, j->error);
#ifndef NDEBUG
  if (!j->status) j->status = hiaL_verify(j->module, j->session->allocator, j->error);
#endif
  return !j->status;
}

static bool generate(job *j, LLVMCodeGenFileType type) {
  char *message = NULL;
  if (!LLVMTargetMachineEmitToMemoryBuffer(j->machine, j->module, type, &message, &j->bytes))
    return true;
  j->bytes = NULL;
  fail(j, HIA_INTERNAL, message ? message : "code generation failed");
  LLVMDisposeMessage(message);
  return false;
}

/* Adds the functions of another side to an object file. They are a module of their own until all
 * passes have run, as in the JIT: in one module with them LLVM would inline differently in the
 * other functions. */
static bool add_side(job *j, hia_host_side host) {
  LLVMModuleRef rest = j->module;
  j->module = NULL;
  j->host = host;
  hiaL_close(j->lowering);
  j->lowering = NULL;
  bool ok = open_lowering(j) && lower(j) && optimize(j);
  LLVMModuleRef added = j->module;
  j->module = rest;
  if (!ok) {
    if (added) LLVMDisposeModule(added);
    return false;
  }
  if (!LLVMLinkModules2(rest, added)) return true; /* consumes `added`, also on failure */
  return fail(j, HIA_INTERNAL, "the functions for the host cannot be linked");
}

/* The loops of maps are visible until the module of their entries has been linked to theirs. */
static void hide_loops(const job *j) {
  for (uint32_t i = 0; i < j->plan->n_roots; i++) {
    char name[HIA_ENTRY_NAME_SIZE];
    hiaL_map_loop_name(name, j->plan->roots[i].fn);
    LLVMValueRef loop = LLVMGetNamedFunction(j->module, name);
    if (!loop) continue;
    LLVMSetVisibility(loop, LLVMDefaultVisibility);
    LLVMSetLinkage(loop, LLVMInternalLinkage);
  }
}

static bool add_sides(job *j) {
  bool has_plain = false, has_map = false;
  for (uint32_t i = 0; j->plan && i < j->plan->n_roots; i++) {
    has_plain |= j->plan->roots[i].plain != NULL;
    has_map |= j->plan->roots[i].map != NULL;
  }
  if (has_plain && !add_side(j, HIA_HOST_PLAIN)) return false;
  if (has_map && !add_side(j, HIA_HOST_MAP)) return false;
  if (has_map) hide_loops(j);
  return true;
}

/* The last check, since code generation cannot be interrupted. If the compilation is late, the code
 * is generated at level 0, which is the fastest. */
static bool look_once_more(job *j) {
  const hia_look *look = j->options->look;
  if (hiaJ_exit_is_near()) return fail(j, HIA_CANCELLED, "the process ends");
  if (!look) return true;
  hia_status status = look->ended(look->user);
  if (status) return fail(j, status, hiaR_status_message(status));
  j->report.is_cut |= look->is_late(look->user);
  if (!j->report.is_cut) return true;
  j->report.level = 0;
  if (!j->plan) choose_machine(j, 0);
  return true;
}

/* ---- what is made of a unit ---- */

static bool keep_cells(job *j) {
  const hia_u32vec *cells = hiaL_cells(j->lowering);
  hia_unit_object *o = &j->objects->units[j->unit];
  o->calls_host = LLVMGetNamedGlobal(j->module, HIA_HOST_TABLE) != NULL;
  size_t size = cells->len * sizeof *cells->data;
  if (!size) return true;
  o->cells = hiaR_alloc(j->session->allocator, size);
  if (!o->cells) return fail(j, HIA_MEMORY, hiaR_status_message(HIA_MEMORY));
  memcpy(o->cells, cells->data, size);
  o->n_cells = cells->len;
  return true;
}

static bool compile_unit(job *j) {
  uint64_t start = hiaR_now();
  bool ok = lower(j) && keep_cells(j);
  uint64_t lowered = hiaR_now();
  ok = ok && optimize(j) && add_sides(j);
  uint64_t optimized = hiaR_now();
  ok = ok && look_once_more(j) && generate(j, LLVMObjectFile);
  j->report.emit_ns += lowered - start;
  j->report.optimize_ns += optimized - lowered;
  j->report.codegen_ns += hiaR_now() - optimized;
  return ok;
}

/* Lowering writes typed entries in their final form: no pass is run on them, and the code generator
 * runs at level 0. That takes a third of its time, and a call takes some tenths of a nanosecond
 * longer. */
static bool compile_typed(job *j) { return lower(j) && generate(j, LLVMObjectFile); }

/* Adds to the dump. The text's arena throws to the caller's handler when memory runs out; this
 * function catches that, since LLVM's memory has to be freed. */
static bool add_text(job *j, const char *text, size_t len) {
  hia_comp *comp = j->text->arena->comp;
  hia_status status_before = comp->status;
  bool was_armed = comp->armed;
  jmp_buf handler;
  memcpy(&handler, &comp->handler, sizeof handler);
  if (HIA_TRY(comp)) hiaR_text_add(j->text, text, len);
  hia_status status = comp->status;
  memcpy(&comp->handler, &handler, sizeof handler);
  comp->armed = was_armed;
  comp->status = status_before;
  return !status || fail(j, status, hiaR_status_message(status));
}

/* Where there are several units, a comment stands before each. */
static bool add_heading(job *j) {
  uint32_t n = hiaL_units(j->lowering)->n;
  if (n == 1) return true;
  char heading[64];
  int len = snprintf(heading, sizeof heading, "%s%c unit %u of %u\n", j->unit ? "\n" : "",
                     j->what == HIA_DUMP_ASM ? '#' : ';', j->unit + 1, n);
  return add_text(j, heading, (size_t)len);
}

static bool dump_unit(job *j) {
  if (!add_heading(j) || !lower(j)) return false;
  if (j->what != HIA_DUMP_LLVM && !optimize(j)) return false;
  if (j->what == HIA_DUMP_ASM)
    return generate(j, LLVMAssemblyFile) &&
           add_text(j, LLVMGetBufferStart(j->bytes), LLVMGetBufferSize(j->bytes));
  char *text = LLVMPrintModuleToString(j->module);
  bool ok = add_text(j, text, strlen(text));
  LLVMDisposeMessage(text);
  return ok;
}

/* ---- all units ---- */

static bool make_unit(job *j) {
  bool is_fast = j->host == HIA_HOST_TYPED || j->report.is_cut;
  choose_machine(j, is_fast ? 0 : hiaJ_codegen_level(level_of(j->options), size_class_of(j)));
  bool ok = j->text ? dump_unit(j) : j->host == HIA_HOST_TYPED ? compile_typed(j) : compile_unit(j);
  if (j->module) LLVMDisposeModule(j->module);
  j->module = NULL;
  if (ok && j->objects)
    j->objects->units[j->unit].bytes = j->bytes;
  else if (j->bytes)
    LLVMDisposeMemoryBuffer(j->bytes);
  j->bytes = NULL;
  return ok;
}

static bool new_objects(job *j) {
  uint32_t n = hiaL_units(j->lowering)->n;
  j->objects->units = hiaR_alloc(j->session->allocator, n * sizeof *j->objects->units);
  if (!j->objects->units) return fail(j, HIA_MEMORY, hiaR_status_message(HIA_MEMORY));
  j->objects->n = n;
  return true;
}

static void make_units(void *arg) {
  job *j = arg;
  j->report.level = level_of(j->options);
  if (!open_lowering(j) || (j->objects && !new_objects(j))) return;
  uint32_t n = hiaL_units(j->lowering)->n;
  for (j->unit = 0; j->unit < n && make_unit(j); j->unit++) {
  }
}

/* Runs a job with a compiler of the session, on the compiler's stack. */
static hia_status run_inside(job *j) {
  j->compiler = hiaJ_compiler_take(j->session);
  if (!j->compiler) {
    fail(j, HIA_MEMORY, hiaR_status_message(HIA_MEMORY));
    return j->status;
  }
  /* Names of values and blocks are needed only in dumps. */
  LLVMContextSetDiscardValueNames(j->compiler->llvm, !j->text);
  hia_status status = HIA_MEMORY;
  for (size_t size = COMPILER_STACK; status && size >= MIN_COMPILER_STACK; size /= 2)
    status = hiaR_context_call(j->compiler->stack, size, make_units, j);
  if (status) fail(j, status, "no address space for the compiler's stack");
  hiaL_close(j->lowering);
  if (j->fresh_machine) LLVMDisposeTargetMachine(j->fresh_machine);
  hiaJ_compiler_put(j->session, j->compiler);
  return j->status;
}

static hia_status run(job *j) {
  if (!hiaJ_exit_enter()) {
    fail(j, HIA_CANCELLED, "the process ends");
    return j->status;
  }
  run_inside(j);
  hiaJ_exit_leave();
  return j->status;
}

void hiaJ_objects_free(const hia_session *session, hia_loaded_objects *objects) {
  for (uint32_t i = 0; i < objects->n; i++) {
    hia_unit_object *o = &objects->units[i];
    if (o->bytes) LLVMDisposeMemoryBuffer(o->bytes);
    hiaR_free(session->allocator, o->cells, o->n_cells * sizeof *o->cells);
  }
  hiaR_free(session->allocator, objects->units, objects->n * sizeof *objects->units);
  *objects = (hia_loaded_objects){0};
}

hia_status hiaJ_compile(hia_session *session, const hia_graph *g,
                        const hia_compile_options *options, hia_host_side host,
                        const hia_object_plan *plan, hia_loaded_objects *objects,
                        hia_compile_report *report, hia_error **error) {
  *objects = (hia_loaded_objects){0};
  job j = {.session = session,
           .g = g,
           .options = options,
           .plan = plan,
           .host = host,
           .objects = objects,
           .error = error};
  hia_status status = run(&j);
  if (status) hiaJ_objects_free(session, objects);
  *report = j.report;
  return status;
}

hia_status hiaJ_dump(hia_session *session, const hia_graph *g, const hia_compile_options *options,
                     hia_native_dump what, hia_text *out, hia_error **error) {
  job j = {
      .session = session, .g = g, .options = options, .what = what, .text = out, .error = error};
  return run(&j);
}
