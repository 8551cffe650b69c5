/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The table of functions through which jit/engine/ reaches LLVM (jit.h), and the steps from a graph
 * to code:
 *
 *   static graph ── lower ──► module ── optimize ──► module ── code generation ──► object file
 *                                                                                   │ bytes kept
 *                                                                            ORC links them
 *
 * The object file is a value of its own, not a by-product of the JIT: frame tables are read from
 * it, and `hiaton build` writes such a file to the disk. */
#include "jit/llvm/backend.h"
#include "runtime/native/sanitizer.h"
#include "runtime/native/tables.h"
#include <llvm-c/Linker.h>
#include <stdio.h>
#include <stdlib.h>

/* LLVM recurses over what users write: long chains of branches, deep expressions. Only addresses
 * are reserved; with less address space the stack is made smaller, down to the minimum. */
#define COMPILER_STACK     ((size_t)1 << 30)
#define MIN_COMPILER_STACK ((size_t)8 << 20)

#ifndef HIA_BUILD_VERSION
#define HIA_BUILD_VERSION "unknown"
#endif

/* Typed entries, plain functions and map entries are objects of their own, compiled at the first
 * request: hosts request them for few functions, and they would add a third to the compile time of
 * a small function. */
struct hia_code {
  hia_session *session;
  hia_code *sides[HIA_N_HOST_SIDES]; /* NULL until requested; have no entries and no frames */
  LLVMMemoryBufferRef bytes;         /* the object file */
  hia_object object;
  hia_dylib *dylib;
  LLVMOrcResourceTrackerRef tracker;
  uintptr_t base;        /* the address at which .text was loaded */
  hia_entry_at *entries; /* hia_entries */
  size_t n_fns;
  hia_frames *frames;
  hia_unwinder unwinder;
  hia_places places;
  hia_code_module *module; /* of a side that has one: its record in memory */
};

/* ---- jobs, which run on the compiler's stack ---- */

typedef struct job {
  hia_session *session;
  hia_compiler *compiler;
  const hia_graph *g;
  const hia_compile_options *options;
  hia_compile_report report;
  char *error;
  size_t error_size;
  hia_status status;
  void (*work)(struct job *job);
  hia_host_side host;

  const hia_object_plan *plan; /* of an object for the linker; NULL: code for this process */
  LLVMTargetMachineRef machine;

  LLVMModuleRef module;
  LLVMMemoryBufferRef bytes; /* result of compiling, and of dumping assembly */
  char *text;                /* result of dumping IR */
  hia_native_dump what;
} job;

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

static bool lower(job *j) {
  bool is_named = j->plan && j->plan->cpu;
  const hia_lower_options options = {.host = j->host,
                                     .unchecked = j->options->unchecked,
                                     .is_fuelled = j->options->is_fuelled,
                                     .merge_calls = j->options->merge_calls,
                                     .instrument = instrument_of(j->options),
                                     .hosts = j->plan ? NULL : j->options->hosts,
                                     .names_hosts = j->plan != NULL,
                                     .triple = j->session->triple,
                                     .cpu = is_named ? j->plan->cpu : j->session->cpu,
                                     .features = is_named ? "" : j->session->features,
                                     .object = j->plan,
                                     .look = j->options->look,
                                     .data_layout = j->session->data_layout};
  j->status = hiaL_lower(j->g, &options, j->session->allocator, j->compiler->llvm, &j->module,
                         j->error, j->error_size);
#ifndef NDEBUG
  if (!j->status && !hiaL_verify(j->module, j->error, j->error_size)) j->status = HIA_INTERNAL;
#endif
  return !j->status;
}

static bool optimize(job *j) {
  int level = level_of(j->options);
  /* A module of maps is small, however large the graph is: kernels have at most so many values. */
  hia_size_class size_class = j->host == HIA_HOST_MAP ? HIA_SIZE_USUAL : hiaG_size_class(j->g);
  j->status =
      hiaJ_optimize(j->session, j->module, j->machine, level, size_class, instrument_of(j->options),
                    j->options->look, &j->report.is_cut, j->error, j->error_size);
  if (!j->status)
    j->status = hiaL_finish_loops(j->module, j->options->unchecked, j->session->allocator, j->error,
                                  j->error_size);
#ifndef NDEBUG
  if (!j->status && !hiaL_verify(j->module, j->error, j->error_size)) j->status = HIA_INTERNAL;
#endif
  return !j->status;
}

static void generate(job *j, LLVMCodeGenFileType type) {
  char *message = NULL;
  if (!LLVMTargetMachineEmitToMemoryBuffer(j->machine, j->module, type, &message, &j->bytes))
    return;
  j->bytes = NULL;
  snprintf(j->error, j->error_size, "%s", message ? message : "code generation failed");
  LLVMDisposeMessage(message);
  j->status = HIA_INTERNAL;
}

/* Adds the functions of another side to an object file. They are a module of their own until all
 * passes have run, as in the JIT: in one module with them LLVM would inline differently in the
 * other functions. */
static bool add_side(job *j, hia_host_side side) {
  LLVMModuleRef rest = j->module;
  j->module = NULL;
  j->host = side;
  bool ok = lower(j) && optimize(j);
  LLVMModuleRef added = j->module;
  j->module = rest;
  if (!ok) {
    if (added) LLVMDisposeModule(added);
    return false;
  }
  if (!LLVMLinkModules2(rest, added)) return true; /* consumes `added`, also on failure */
  snprintf(j->error, j->error_size, "the functions for the host cannot be linked");
  j->status = HIA_INTERNAL;
  return false;
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
  if (!look) return true;
  j->status = look->ended(look->user);
  if (j->status) {
    snprintf(j->error, j->error_size, "%s", hiaR_status_message(j->status));
    return false;
  }
  j->report.is_cut |= look->is_late(look->user);
  if (j->report.is_cut && j->report.level > 0) {
    j->report.level = 0;
    j->machine = hiaJ_machine(j->session, j->compiler, 0);
  }
  return true;
}

static void compile_work(job *j) {
  j->report.level = level_of(j->options);
  uint64_t start = hiaR_now();
  bool ok = lower(j);
  uint64_t lowered = hiaR_now();
  ok = ok && optimize(j) && add_sides(j);
  uint64_t optimized = hiaR_now();
  if (ok && look_once_more(j)) generate(j, LLVMObjectFile);
  j->report.emit_ns = lowered - start;
  j->report.optimize_ns = optimized - lowered;
  j->report.codegen_ns = hiaR_now() - optimized;
}

/* Lowering writes typed entries in their final form: no pass is run on them, and the code generator
 * runs at level 0. That takes a third of its time, and a call takes some tenths of a nanosecond
 * longer. */
static void compile_typed(job *j) {
  if (lower(j)) generate(j, LLVMObjectFile);
}

static void dump_work(job *j) {
  if (!lower(j)) return;
  if (j->what != HIA_DUMP_LLVM && !optimize(j)) return;
  if (j->what == HIA_DUMP_ASM)
    generate(j, LLVMAssemblyFile);
  else
    j->text = LLVMPrintModuleToString(j->module);
}

static void work_here(void *arg) {
  job *j = arg;
  j->work(j);
}

static job job_of(hia_session *session, const hia_graph *g, const hia_compile_options *options,
                  void (*work)(job *j), char *error, size_t error_size) {
  return (job){.session = session,
               .g = g,
               .options = options,
               .error = error,
               .error_size = error_size,
               .work = work};
}

/* Runs a job with a compiler of the session, on the compiler's stack. */
static void run(job *j) {
  j->compiler = hiaJ_compiler_take(j->session);
  if (!j->compiler) {
    snprintf(j->error, j->error_size, "out of memory");
    j->status = HIA_MEMORY;
    return;
  }
  /* An object gets a fresh target machine, since a used one keeps state of its earlier modules. */
  int level = j->work == compile_typed
                  ? 0
                  : hiaJ_codegen_level(level_of(j->options), hiaG_size_class(j->g));
  j->machine = j->plan ? hiaJ_machine_for(j->session, j->plan->cpu, level)
                       : hiaJ_machine(j->session, j->compiler, level);
  /* Names of values and blocks are needed only in dumps. */
  LLVMContextSetDiscardValueNames(j->compiler->llvm, j->work != dump_work);
  hia_status status = HIA_MEMORY;
  for (size_t size = COMPILER_STACK; status && size >= MIN_COMPILER_STACK; size /= 2)
    status = hiaR_context_call(j->compiler->stack, size, work_here, j);
  if (status) {
    snprintf(j->error, j->error_size, "no address space for the compiler's stack");
    j->status = status;
  }
  if (j->module) LLVMDisposeModule(j->module);
  if (j->plan) LLVMDisposeTargetMachine(j->machine);
  hiaJ_compiler_put(j->session, j->compiler);
}

/* ---- code ---- */

static void release(hia_session *session, hia_code *code) {
  if (!code) return;
  for (int side = 0; side < HIA_N_HOST_SIDES; side++) release(session, code->sides[side]);
  bool is_clean = true;
  if (code->tracker) {
    LLVMErrorRef err = LLVMOrcResourceTrackerRemove(code->tracker);
    if (err) { /* the JITDylib is not empty: the session does not use it again */
      LLVMConsumeError(err);
      is_clean = false;
    }
    LLVMOrcReleaseResourceTracker(code->tracker);
    LLVMOrcExecutionSessionRef es = LLVMOrcLLJITGetExecutionSession(session->jit);
    LLVMOrcSymbolStringPoolClearDeadEntries(LLVMOrcExecutionSessionGetSymbolStringPool(es));
  }
  if (code->dylib && is_clean)
    hiaJ_dylib_put(session, code->dylib);
  else if (code->dylib)
    hiaR_free(session->allocator, code->dylib, sizeof *code->dylib);
  hiaJ_frames_free(code->frames);
  if (code->bytes) LLVMDisposeMemoryBuffer(code->bytes);
  hiaR_free(session->allocator, code->entries, code->n_fns * sizeof *code->entries);
  hiaR_free(session->allocator, code, sizeof *code);
}

/* Finds the entries of roots and of forked functions by their symbols' names. *anchor receives a
 * root, HIA_NONE if there is none. False if a root has no entry, which is a bug of lowering. */
static bool find_entries(const hia_object *object, const hia_graph *g, hia_entry_at *entries,
                         hia_fn_id *anchor) {
  const char *name;
  uint64_t offset;
  for (uint64_t i = 0; hiaJ_object_function(object, i, &name, &offset); i++) {
    const char *digits = strrchr(name, '_');
    unsigned long f = digits ? strtoul(digits + 1, NULL, 10) : g->fns.len;
    char wanted[HIA_ENTRY_NAME_SIZE];
    if (f >= g->fns.len) continue;
    hiaL_entry_name(wanted, (hia_fn_id)f);
    if (strcmp(name, wanted) == 0) entries[f].entry = (uint32_t)offset + 1;
    hiaL_pays_name(wanted, (hia_fn_id)f);
    if (strcmp(name, wanted) == 0) entries[f].pays = (uint32_t)offset + 1;
  }
  *anchor = HIA_NONE;
  for (hia_fn_id f = 0; f < g->fns.len; f++) {
    const hia_fn *fn = hiaG_fn(g, f);
    if (fn->is_removed || !fn->is_root) continue;
    if (!entries[f].entry) return false;
    *anchor = f;
  }
  return true;
}

/* Passes the object to ORC, which loads it. The address of the function `name`, which is at
 * `offset`, gives that of .text. */
static hia_status link_object(hia_code *code, const char *name, uint64_t offset, char *error,
                              size_t error_size) {
  hia_session *session = code->session;
  code->dylib = hiaJ_dylib_take(session, error, error_size);
  if (!code->dylib) return HIA_MEMORY;
  code->tracker = LLVMOrcJITDylibCreateResourceTracker(code->dylib->ref);
  /* ORC takes ownership of the view, not of the bytes. */
  LLVMMemoryBufferRef view = LLVMCreateMemoryBufferWithMemoryRange(
      LLVMGetBufferStart(code->bytes), LLVMGetBufferSize(code->bytes), "hiaton", false);
  LLVMErrorRef err = LLVMOrcLLJITAddObjectFileWithRT(session->jit, code->tracker, view);
  if (err) {
    hiaJ_take_error(session, err, error, error_size);
    return HIA_INTERNAL;
  }
  uintptr_t address;
  hia_status status = hiaJ_lookup(session, code->dylib, name, &address, error, error_size);
  if (!status) code->base = address - offset;
  return status;
}

/* Fills in the table of the host functions that the code's externs are bound to. */
static hia_status fill_hosts(hia_code *code, const hia_graph *g, const hia_host_target *hosts,
                             char *error, size_t error_size) {
  bool has_calls = false;
  for (hia_fn_id f = 0; f < g->fns.len && !has_calls; f++)
    has_calls = !hiaG_fn(g, f)->is_removed && hiaG_calls_host(hiaG_fn(g, f));
  if (!has_calls) return HIA_OK;
  uintptr_t address;
  hia_status status =
      hiaJ_lookup(code->session, code->dylib, HIA_HOST_TABLE, &address, error, error_size);
  if (status) return status;
  hia_host_row *rows = (hia_host_row *)address;
  for (uint32_t i = 0; i < g->externs.len; i++)
    rows[i] = (hia_host_row){hosts[i].function, hosts[i].user};
  return HIA_OK;
}

static hia_status load(hia_code *code, const hia_graph *g, const hia_host_target *hosts,
                       char *error, size_t error_size) {
  hia_session *session = code->session;
  size_t size;
  code->n_fns = g->fns.len;
  if (!hiaR_mul(code->n_fns, sizeof *code->entries, &size) ||
      !(code->entries = hiaR_alloc(session->allocator, size))) {
    snprintf(error, error_size, "out of memory");
    return HIA_MEMORY;
  }
  hia_fn_id anchor;
  hia_status status = HIA_INTERNAL;
  if (hiaJ_object_open(&code->object, LLVMGetBufferStart(code->bytes),
                       LLVMGetBufferSize(code->bytes)) &&
      find_entries(&code->object, g, code->entries, &anchor))
    status = hiaJ_frames_largest(session->allocator, &code->object, &code->unwinder.max_frame);
  if (status) {
    snprintf(error, error_size, "%s",
             status == HIA_MEMORY ? "out of memory"
                                  : "LLVM made an object file that is not understood");
    return status;
  }
  if (anchor == HIA_NONE) return HIA_OK; /* nothing can be entered */
  char name[HIA_ENTRY_NAME_SIZE];
  hiaL_entry_name(name, anchor);
  status = link_object(code, name, code->entries[anchor].entry - 1, error, error_size);
  if (!status) status = fill_hosts(code, g, hosts, error, error_size);
  if (status) return status;
  code->unwinder.find = hiaJ_frames_find;
  status = hiaJ_frames_new(session->allocator, &code->object, code->base,
                           (hia_entries){code->entries, code->n_fns}, &code->frames);
  code->unwinder.user = code->frames;
  return status;
}

static hia_status compile(hia_session *session, const hia_graph *g,
                          const hia_compile_options *options, hia_code **out,
                          hia_compile_report *report, char *error, size_t error_size) {
  if (report) *report = (hia_compile_report){0};
  *out = NULL;
  hia_code *code = hiaR_alloc(session->allocator, sizeof *code);
  if (!code) {
    snprintf(error, error_size, "out of memory");
    return HIA_MEMORY;
  }
  code->session = session;
  job j = job_of(session, g, options, compile_work, error, error_size);
  run(&j);
  code->bytes = j.bytes;
  hia_status status = j.status;
  if (!status) {
    uint64_t start = hiaR_now();
    status = load(code, g, options->hosts, error, error_size);
    j.report.codegen_ns += hiaR_now() - start;
    j.report.code_bytes = code->object.text.size;
  }
  if (report) *report = j.report;
  if (status)
    release(session, code);
  else
    *out = code;
  return status;
}

static hia_native_entry entry(const hia_code *code, hia_fn_id f) {
  if (f >= code->n_fns || !code->entries[f].entry) return NULL;
  return (hia_native_entry)(code->base + code->entries[f].entry - 1);
}

/* ---- typed entries and plain functions ---- */

typedef void (*function)(void);

static bool find_function(const hia_object *object, const char *wanted, uint64_t *offset) {
  const char *name;
  for (uint64_t i = 0; hiaJ_object_function(object, i, &name, offset); i++)
    if (strcmp(name, wanted) == 0) return true;
  return false;
}

/* Compiles the object of one side, in which there is a function `name`. */
static hia_status compile_host(hia_session *session, const hia_graph *g,
                               const hia_compile_options *options, hia_host_side host,
                               const char *name, hia_code **out, char *error, size_t error_size) {
  hia_code *code = hiaR_alloc(session->allocator, sizeof *code);
  if (!code) {
    snprintf(error, error_size, "out of memory");
    return HIA_MEMORY;
  }
  code->session = session;
  job j = job_of(session, g, options, host == HIA_HOST_TYPED ? compile_typed : compile_work, error,
                 error_size);
  j.host = host;
  run(&j);
  code->bytes = j.bytes;
  hia_status status = j.status;
  uint64_t offset;
  if (!status && (!hiaJ_object_open(&code->object, LLVMGetBufferStart(code->bytes),
                                    LLVMGetBufferSize(code->bytes)) ||
                  !find_function(&code->object, name, &offset))) {
    snprintf(error, error_size, "LLVM made an object file that is not understood");
    status = HIA_INTERNAL;
  }
  if (!status) status = link_object(code, name, offset, error, error_size);
  uintptr_t record = 0;
  if (!status && host != HIA_HOST_PLAIN)
    status = hiaJ_lookup(session, code->dylib, HIA_MODULE_NAME, &record, error, error_size);
  code->module = (hia_code_module *)record;
  if (status)
    release(session, code);
  else
    *out = code;
  return status;
}

/* The record of the typed entries receives the addresses of the code that they enter. */
static void fill_in(const hia_code *code, hia_code_module *module, const hia_graph *g) {
  hia_code_root *root = (hia_code_root *)(uintptr_t)module->roots;
  for (hia_fn_id f = 0; f < g->fns.len; f++)
    if (!hiaG_fn(g, f)->is_removed && hiaG_fn(g, f)->is_root) (root++)->entry = entry(code, f);
  module->unwinder = code->unwinder;
  module->places = code->places;
}

/* Finds a function in the object of one side. The first request of a side compiles its object. */
static hia_status host_function(hia_code *code, const hia_graph *g,
                                const hia_compile_options *options, hia_host_side side, hia_fn_id f,
                                function *out, char *error, size_t error_size) {
  hia_code **at = &code->sides[side];
  char name[HIA_ENTRY_NAME_SIZE];
  hiaL_host_name(name, side, f);
  if (!*at) {
    hia_status status = compile_host(code->session, g, options, side, name, at, error, error_size);
    if (status) return status;
    if ((*at)->module) fill_in(code, (*at)->module, g);
  }
  uint64_t offset;
  if (!find_function(&(*at)->object, name, &offset)) return HIA_INTERNAL;
  *out = (function)((*at)->base + offset);
  return HIA_OK;
}

static void set_places(hia_code *code, const hia_places *places) {
  code->unwinder.locs = places->locs;
  code->places = *places;
}

static const hia_unwinder *unwinder(const hia_code *code) { return &code->unwinder; }

static const void *object(const hia_code *code, size_t *size) {
  *size = LLVMGetBufferSize(code->bytes);
  return LLVMGetBufferStart(code->bytes);
}

/* ---- objects ---- */

/* Makes an object file for the linker out of LLVM's. Throws to `comp`, which is its own. */
static hia_status finish(hia_comp *comp, const hia_allocator *allocator, LLVMMemoryBufferRef object,
                         const hia_graph *g, const hia_object_plan *plan, void **bytes,
                         size_t *size) {
  hia_object o;
  hia_fn_id anchor;
  size_t largest;
  hia_entry_at *entries = HIA_NEW_ARRAY(&comp->arena, hia_entry_at, g->fns.len);
  if (!hiaJ_object_open(&o, LLVMGetBufferStart(object), LLVMGetBufferSize(object)) ||
      !find_entries(&o, g, entries, &anchor))
    return HIA_INTERNAL;
  hia_status status = hiaJ_frames_largest(allocator, &o, &largest); /* fails if one is unreadable */
  if (status) return status;
  hia_tables *tables = hiaJ_frames_make(comp, &o, (hia_entries){entries, g->fns.len});
  tables->anchor = entries[plan->roots[0].fn].entry - 1;
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

static hia_status build(hia_session *session, const hia_graph *g,
                        const hia_compile_options *options, const hia_object_plan *plan,
                        void **bytes, size_t *size, char *error, size_t error_size) {
  *bytes = NULL;
  *size = 0;
  if (plan->cpu && !hiaJ_cpu_exists(plan->cpu)) {
    snprintf(error, error_size, "there is no processor `%.80s`", plan->cpu);
    return HIA_ARGUMENT;
  }
  job j = job_of(session, g, options, compile_work, error, error_size);
  j.host = HIA_HOST_OBJECT;
  j.plan = plan;
  run(&j);
  if (j.status) return j.status;
  hia_comp comp;
  hiaR_comp_init(&comp, session->allocator);
  volatile hia_status status = HIA_OK;
  if (HIA_TRY(&comp))
    status = finish(&comp, session->allocator, j.bytes, g, plan, bytes, size);
  else
    status = comp.status;
  if (status)
    snprintf(error, error_size, "%s",
             status == HIA_MEMORY ? "out of memory"
                                  : "LLVM made an object file that is not understood");
  hiaR_comp_free(&comp);
  LLVMDisposeMemoryBuffer(j.bytes);
  return status;
}

/* ---- dumps ---- */

/* Adds to `out`. Its arena throws to the caller's handler when memory runs out; this function
 * catches that, since dump() has yet to free LLVM's memory. */
static hia_status add_text(hia_text *out, const char *text, size_t len) {
  hia_comp *comp = out->arena->comp;
  hia_status status_before = comp->status;
  bool was_armed = comp->armed;
  jmp_buf handler;
  memcpy(&handler, &comp->handler, sizeof handler);
  if (HIA_TRY(comp)) hiaR_text_add(out, text, len);
  hia_status status = comp->status;
  memcpy(&comp->handler, &handler, sizeof handler);
  comp->armed = was_armed;
  comp->status = status_before;
  return status;
}

static hia_status dump(hia_session *session, const hia_graph *g, const hia_compile_options *options,
                       hia_native_dump what, hia_text *out, char *error, size_t error_size) {
  job j = job_of(session, g, options, dump_work, error, error_size);
  j.what = what;
  run(&j);
  hia_status status = j.status;
  if (!status) {
    const char *text = j.bytes ? LLVMGetBufferStart(j.bytes) : j.text;
    status = add_text(out, text, j.bytes ? LLVMGetBufferSize(j.bytes) : strlen(text));
    if (status) snprintf(error, error_size, "out of memory");
  }
  if (j.bytes) LLVMDisposeMemoryBuffer(j.bytes);
  if (j.text) LLVMDisposeMessage(j.text);
  return status;
}

const hia_backend hiaJ_backend = {
    .version = HIA_BUILD_VERSION,
    .open = hiaJ_session_open,
    .close = hiaJ_session_close,
    .compile = compile,
    .entry = entry,
    .host_function = host_function,
    .set_places = set_places,
    .unwinder = unwinder,
    .object = object,
    .release = release,
    .build = build,
    .dump = dump,
};
