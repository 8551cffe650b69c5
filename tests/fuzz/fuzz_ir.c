/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* libFuzzer target: any bytes are a graph or are refused. A graph that is printed and read again is
 * the same, in every state. The passes leave a verified graph verified. The result becomes an image
 * that the loader accepts, and both engines run it with the same outcome; their counts of
 * references are audited (audit.h). */
#include "graph/flatten/flatten.h"
#include "graph/ir/graph.h"
#include "graph/ir/print.h"
#include "graph/passes/passes.h"
#include "graph/pipeline/pass.h"
#include "graph/read/read.h"
#include "runtime/heap/audit.h"
#include "runtime/image/loaded.h"
#include "runtime/interp/run.h"
#include "runtime/run/runtime.h"
#include "tests/fuzz/ir_values.h"
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds, const char *what, const char *text) {
  if (holds) return;
  fprintf(stderr, "%s: %s\n", what, text ? text : "");
  abort();
}

static void round_trip(hia_comp *comp, hia_types *types, const hia_graph *g) {
  hia_text first, second;
  hiaR_text_init(&first, &comp->arena);
  hiaR_text_init(&second, &comp->arena);
  hiaG_print(g, &first);
  hia_read_error error;
  hia_graph *again = hiaG_read(comp, types, first.data, first.len, &error);
  must(again != NULL, "does not read back", error.message);
  hiaG_print(again, &second);
  must(first.len == second.len && memcmp(first.data, second.data, first.len) == 0,
       "prints differently the second time", second.data);
}

/* ---- host functions: the results of every declared function are a hash of its arguments ---- */

static size_t host_size(const hia_host_signature *signature) { return sizeof *signature; }

static bool host_prepare(void *at, const hia_host_target *target,
                         const hia_host_signature *signature) {
  (void)target;
  memcpy(at, signature, sizeof *signature);
  return true;
}

static hia_word canonical(hia_dtype dtype, uint64_t hash) {
  switch (dtype) {
  case HIA_BOOL: return hiaR_from_bool(hash & 1);
  case HIA_I32: return hiaR_from_i32((int32_t)(hash & 7));
  case HIA_I64: return hash & 7;
  case HIA_F32: return hiaR_from_f32((float)(hash & 7));
  default: return hiaR_from_f64((double)(hash & 7));
  }
}

static hia_status host_call(const void *prepared, hia_word *slots, const uint32_t *ins,
                            const uint32_t *outs, const hia_allocator *allocator) {
  (void)allocator;
  const hia_host_signature *signature = prepared;
  uint64_t hash = 0x9e3779b97f4a7c15u;
  for (uint32_t i = 0; i < signature->n_params; i++)
    hash = (hash ^ slots[ins[i]]) * 0xff51afd7ed558ccdu;
  for (uint32_t i = 0; i < signature->n_results; i++)
    slots[outs[i]] = canonical(signature->results[i], hash >> (32 + i % 24));
  return HIA_OK;
}

static void never_called(void) { abort(); }

static bool host_find(void *user, uint32_t number, const char *name, hia_host_target *target) {
  (void)user, (void)number, (void)name;
  *target = (hia_host_target){.function = never_called};
  return true;
}

static const hia_host_caller host_caller = {host_size, host_prepare, host_call};
static const hia_image_hosts hosts = {&host_caller, host_find, NULL};

/* ---- running ---- */

#define MAX_WORDS 64
#define TIME_NS   30000000u /* of a run: many never end */
#define MEMORY    (4u << 20)

typedef hia_status (*engine_run)(const hia_loaded *, uint32_t, const hia_word *, hia_word *,
                                 const hia_limits *, const hia_allocator *, hia_failure *,
                                 hia_usage *);

typedef struct alarm_flag {
  hia_alarm alarm; /* first */
  uint32_t is_cancelled;
} alarm_flag;

static void ring(hia_alarm *alarm) {
  __atomic_store_n(&((alarm_flag *)alarm)->is_cancelled, 1, __ATOMIC_RELAXED);
}

static bool is_cancelled(void *flag) {
  return __atomic_load_n((const uint32_t *)flag, __ATOMIC_RELAXED) != 0;
}

/* The results are in the heap, which the caller frees. */
static hia_status run(engine_run engine, const hia_loaded *image, uint32_t entry, hia_heap *heap,
                      const hia_word *args, const hia_word *params, hia_word *results,
                      hia_failure *failure) {
  static hia_clock *timekeeper; /* of the process: its thread serves all runs */
  if (!timekeeper) must(hiaR_clock_new(&hiaR_malloc, &timekeeper) == HIA_OK, "no clock", NULL);
  alarm_flag flag = {.alarm = {.at = hiaR_now() + TIME_NS, .ring = ring}};
  must(hiaR_alarm_set(timekeeper, &flag.alarm) == HIA_OK, "no alarm", NULL);
  hiaR_heap_init(heap, &hiaR_malloc);
  hiaR_heap_begin(heap, MEMORY);
  heap->must_end = is_cancelled;
  heap->user = &flag.is_cancelled;
  hia_limits limits = {.depth = MEMORY,
                       .memory = MEMORY,
                       .threads = 1,
                       .heap = heap,
                       .params = params,
                       .cancelled = &flag.is_cancelled};
  hia_usage usage;
  hia_status status = engine(image, entry, args, results, &limits, &hiaR_malloc, failure, &usage);
  hiaR_alarm_clear(timekeeper, &flag.alarm);
  must(status == failure->status, "status", hiaR_status_message(status));
  const hia_export *export = hiaR_image_export(image, entry);
#ifdef HIA_CENSUS
  bool is_complete = status == HIA_OK && !flag.is_cancelled; /* freeing may have been cancelled */
  if (is_complete && image->shapes)
    hiaR_audit_results(heap, image->shapes, &image->types, export->results, results,
                       export->n_results, true);
#else
  (void)export;
#endif
  return status;
}

/* Runs every root, with arguments that are neither 0 nor large. `is_settled`: the meaning of the
 * ops determines its results. */
static void run_all(const hia_loaded *image, bool is_settled) {
  static ir_values values;
  values.types = &image->types;
  for (uint32_t entry = 0; entry < hiaR_image_n_exports(image); entry++) {
    const hia_export *export = hiaR_image_export(image, entry);
    if (export->n_params > MAX_WORDS || export->n_results > MAX_WORDS) continue;
    hia_word args[MAX_WORDS + 1], a[MAX_WORDS + 1], b[MAX_WORDS + 1];
    if (!ir_values_make(&values, export->params, export->n_params, args)) continue;
    uint32_t n_params;
    hia_word params[MAX_WORDS + 1];
    const hia_param_spec *specs = hiaR_image_params(image, &n_params);
    if (n_params > MAX_WORDS || !ir_values_make_params(&values, specs, n_params, params)) continue;
    hia_failure interp, expand;
    hia_heap heaps[2];
    hia_status one = run(hiaR_interp_run, image, entry, &heaps[0], args, params, a, &interp);
    hia_status other = run(hiaR_expand_run, image, entry, &heaps[1], args, params, b, &expand);
    /* One engine may have reached a limit that the other has not reached. */
    if (one < HIA_MEMORY && other < HIA_MEMORY && is_settled) {
      must(one == other && interp.code == expand.code, "the engines end differently",
           export->signature);
      must(one != HIA_OK || ir_values_same(&image->types, export->results, export->n_results, a, b),
           "the engines give different results", export->signature);
    }
    for (int i = 0; i < 2; i++) hiaR_heap_free(&heaps[i]);
  }
}

/* True if the graph has no `undef` or join. The word of an `undef` may be any; programs made by the
 * compiler never use one. */
static bool is_settled(const hia_graph *g) {
  for (uint32_t f = 0; f < g->fns.len; f++)
    for (hia_node_id n = 0; n < g->fns.data[f]->nodes.len; n++) {
      unsigned op = g->fns.data[f]->nodes.data[n].op;
      if (op == HIA_OP_UNDEF || op == HIA_OP_JOIN) return false;
    }
  return true;
}

/* True if the graph has operations for native code alone: the engines refuse it. */
static bool is_native(const hia_graph *g) {
  for (uint32_t f = 0; f < g->fns.len; f++)
    for (hia_node_id n = 0; n < g->fns.data[f]->nodes.len; n++) {
      unsigned op = g->fns.data[f]->nodes.data[n].op;
      if (op >= HIA_OP_DUP && op <= HIA_OP_FILLED) return true;
      if (op >= HIA_OP_DEFER && op <= HIA_OP_WITHIN) return true;
      if (op == HIA_OP_DATA_LATE || op == HIA_OP_FIELD_LATE || op == HIA_OP_PACK_LATE) return true;
    }
  return false;
}

static void flatten_and_run(hia_comp *comp, hia_graph *g) {
  void *bytes;
  size_t size;
  if (is_native(g)) return;
  hiaG_flatten(g, &bytes, &size);
  hia_loaded *image;
  char why[256] = "";
  comp->armed = false; /* nothing throws from here on */
  hia_status status = hiaR_image_load_hosted(bytes, size, hiaR_any_kernel, &hosts, &hiaR_malloc,
                                             &image, why, sizeof why);
  must(status == HIA_OK, "the image is refused", why);
  run_all(image, is_settled(g));
  hiaR_image_free(image);
  comp->armed = true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  hia_comp comp;
  hia_types types;
  hiaR_comp_init(&comp, &hiaR_malloc);
  hiaG_types_init(&types, &comp);
  if (HIA_TRY(&comp)) {
    hia_read_error error;
    hia_graph *g = hiaG_read(&comp, &types, (const char *)data, size, &error);
    must((g == NULL) == (error.message != NULL), "error", error.message);
    if (g) {
      hia_text dot;
      hiaR_text_init(&dot, &comp.arena);
      hiaG_dot(g, &dot);
      round_trip(&comp, &types, g);
      if (g->state == HIA_STATIC) flatten_and_run(&comp, g);
      /* The passes for the interpreter, those for native code on several threads, and with fuel. */
      static const hia_pass_use uses[] = {HIA_USE_ALL, HIA_USE_PARALLEL, HIA_USE_NATIVE};
      for (size_t i = 0; i < HIA_LEN(uses) && g && g->state == HIA_FUNCTIONS; i++) {
        hia_pass_options options = {.verify = true, .use = uses[i]};
        options.fuel = i == 2;
        if (options.fuel && hiaG_cannot_fuel(g)) break;
        hiaG_run_passes(g, &options);
        round_trip(&comp, &types, g);
        flatten_and_run(&comp, g);
        g = hiaG_read(&comp, &types, (const char *)data, size, &error);
      }
    }
  }
  /* A refused graph does not throw: only a lack of memory does, and the pass `grad` at a gradient
   * that hiaton cannot compute. */
  must(comp.status == HIA_OK || comp.status == HIA_MEMORY || comp.status == HIA_UNSUPPORTED,
       "threw", comp.message);
  hiaR_comp_free(&comp);
  return 0;
}
