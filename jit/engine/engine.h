/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The engine half of jit/: what stands behind the public header. It knows no LLVM.
 *
 * A module owns one compilation (arena, types, program) under a lock; everything that parses,
 * checks, builds, optimises or compiles holds it. Calls of functions that are ready take no lock
 * but the engine's, for a moment, to get a context for native code. */
#ifndef HIA_ENGINE_H
#define HIA_ENGINE_H

#include "frontend/frontend.h"
#include "jit/jit.h"
#include "runtime/error.h"
#include "runtime/interp/run.h"
#include <hiaton/hiaton.h>
#include <pthread.h>
#include <stdatomic.h>

/* How a function can be made ready to run. Each version is made when a run first wants it, and has
 * a unit of its own. */
typedef enum hia_fn_variant {
  HIA_VERSION_PLAIN,
  HIA_VERSION_FUELLED, /* takes fuel after its arguments, gives what is left after its results
                          (graph/fuel.c); runs on one thread */
  HIA_N_VERSIONS
} hia_fn_variant;

/* ---- engine.c ---- */

typedef struct hia_idle_context {
  struct hia_idle_context *next;
  hia_context *context;
} hia_idle_context;

/* A host function that is registered. */
typedef struct hia_registered {
  struct hia_registered *next;
  size_t size;             /* of this block */
  const char *name, *text; /* its declaration as hiaG_extern_print writes it */
  hia_host_target target;
} hia_registered;

struct hia_engine {
  hia_allocator allocator;
  hia_engine_options options; /* with `allocator` and `disabled_passes` pointing into the engine */
  char *disabled;
  size_t disabled_size;

  hia_pool *pool;           /* of its threads; NULL: one is enough */
  atomic_uint next_builder; /* its number: engine_builder.c */

  pthread_mutex_t lock; /* of what follows */
  bool native_tried;
  hia_status native_status;
  char native_error[512];
  const hia_backend *backend;
  hia_session *session;
  hia_idle_context *idle; /* contexts that no run is using */
  hia_clock *clock;       /* of deadlines; NULL: there was none yet */
  hia_registered *hosts;  /* newest first; rows are only added */
};

/* Opens the compiler, once; *open_ns is 0 when it was open already. */
hia_status hiaJ_engine_open(hia_engine *engine, uint64_t *open_ns, hia_error **error);
hia_idle_context *hiaJ_context_take(hia_engine *engine); /* NULL when out of memory */
void hiaJ_context_put(hia_engine *engine, hia_idle_context *context);
/* Calls fn(arg) on a stack of the engine's: what recurses over what users write needs more than a
 * host's thread may have. MEMORY: it was not called. */
hia_status hiaJ_on_stack(hia_engine *engine, void (*fn)(void *arg), void *arg);
/* Without any lock: who listens may ask the engine. */
void hiaJ_log(const hia_engine *engine, const char *fmt, ...) HIA_PRINTF(2, 3);
void hiaJ_log_open(const hia_engine *engine, uint64_t open_ns); /* unless that is 0 */

/* ---- engine_cancel.c: ending runs from outside ---- */

/* The engine's clock, made if there is none yet; no thread is started. MEMORY. */
hia_status hiaJ_engine_clock(hia_engine *engine, hia_clock **clock);

/* A run, which may be told to end: by a hia_cancel, by its deadline, by the run that it is nested
 * in. */
typedef struct hia_watch {
  hia_cancel_scope scope; /* of the limits; its `run` is the watch */
  const hia_engine *engine;
  bool has_fuel;
  uint64_t fuel;                 /* what is lent to runs that are nested in it, if it has fuel */
  hia_cancel *cancel;            /* or NULL */
  struct hia_watch *prev, *next; /* among its runs */
  hia_clock *clock;              /* NULL: no deadline */
  hia_alarm alarm;
} hia_watch;
/* The run that a run beginning on this thread is nested in; NULL: in none, or in a call of a typed
 * entry. */
static inline hia_watch *hiaJ_outer(void) {
  const hia_nest *nest = hiaR_nest();
  return nest && nest->scope ? nest->scope->run : NULL;
}
/* From here on the run is told, through limits->cancelled and its context. A status other than
 * HIA_OK: there is nothing to end, and what would end the run is not there. */
hia_status hiaJ_watch_begin(hia_watch *watch, hia_engine *engine, const hia_run_options *options,
                            hia_context *context, hia_limits *limits);
/* Answers how the run has ended, if it answered `status`. */
hia_status hiaJ_watch_end(hia_watch *watch, hia_status status);

/* ---- engine_host.c: host functions ---- */

void hiaJ_hosts_free(hia_engine *engine);
/* Bind what a module declares `extern`, when it is loaded; in a try. */
void hiaJ_bind_program(hia_module *module, hia_diags *diags);
hia_status hiaJ_bind_graph(hia_module *module, const hia_graph *g, hia_error **error);
const hia_host_target *hiaJ_bound(const hia_module *module, const char *name); /* or NULL */

/* ---- native.c ---- */

/* The table of libhiaton_llvm: linked in, or opened from the folder that holds this library.
 * Answers HIA_UNSUPPORTED and why not. */
hia_status hiaJ_native_open(const hia_backend **backend, char *error, size_t error_size);

/* ---- engine_error.c: errors of requests, of rejected programs, of runs ---- */

/* Each answers `status`, having set *error if `error` is not NULL. */
hia_status hiaJ_fail(const hia_allocator *allocator, hia_error **error, hia_status status,
                     const char *hint, const char *fmt, ...) HIA_PRINTF(5, 6);
hia_status hiaJ_fail_diags(const hia_allocator *allocator, hia_error **error, hia_status status,
                           const hia_diags *diags);
hia_status hiaJ_fail_at(const hia_allocator *allocator, hia_error **error, hia_status status,
                        const char *code, const hia_source *source, uint32_t line, uint32_t col,
                        const char *message);
hia_status hiaJ_fail_run(hia_engine *engine, hia_error **error, const hia_failure *failure,
                         const hia_run_options *options, const hia_places *places);
/* What a compilation threw. */
hia_status hiaJ_fail_comp(const hia_allocator *allocator, hia_error **error, const hia_comp *comp);

/* ---- engine_timeline.c ---- */

/* A run of a version of the function, which is ready, begins to write to its timeline (or NULL):
 * first of all, what the compiler has done for it. HIA_ARGUMENT if somebody reads it now. */
hia_status hiaJ_timeline_begin(hia_timeline *timeline, const hia_function *function,
                               hia_fn_variant kind, hia_error **error);
void hiaJ_timeline_end(hia_timeline *timeline);

/* ---- engine_value.c ---- */

/* A type without a module: in prefix order the dtype of a scalar, or PART_TUPLE + n and its n
 * parts. */
typedef uint32_t hia_type_code;
#define HIA_CODE_TUPLE 0x10000u
#define HIA_MAX_WORDS  1000u /* scalars in a type: the language's bound on parts */

struct hia_value {
  hia_allocator allocator;
  size_t size; /* of the block */
  uint32_t n_words, n_codes;
  hia_word *words;
  hia_type_code *codes;
};

hia_value *hiaJ_value_new(const hia_allocator *allocator, const hia_type_code *codes,
                          uint32_t n_codes, const hia_word *words, uint32_t n_words);
/* Moves *codes on; takes scratch memory of the types' compilation, which is the caller's to free.
 */
hia_type hiaJ_type_of_codes(hia_types *types, const hia_type_code **codes);
/* The codes of a type, appended. */
typedef HIA_VEC(hia_type_code) hia_codes;
void hiaJ_codes_of_type(const hia_types *types, hia_type type, hia_arena *arena, hia_codes *codes);

/* ---- module.c: loading, functions and their instances ---- */

/* A graph on its way to running: of one instance, or all of a module that was read as a graph. */
typedef struct hia_unit {
  struct hia_unit *next;
  hia_graph *graph;
  bool is_tagged; /* the passes have run */
  hia_loaded *image;
  hia_code *code;
  hia_unwinder unwinder; /* of `code` */
  hia_places places;     /* where the positions of its runs lead */
  hia_function_stats stats;
  uint64_t build_at, passes_at, flatten_at, open_at; /* hiaR_now() when that began; or 0 */
  uint64_t compiled_at;                              /* when codegen ended */
  uint64_t told_at; /* hia_timeline.made_at of the one that has all this */
} hia_unit;

/* A parameter's type: hia_type and, to compare with values without a lock, its codes. */
typedef struct hia_param {
  hia_type type; /* HIA_NONE: generic */
  hia_type_code *codes;
  uint32_t n_codes, n_words;
} hia_param;

/* Under the module's lock until is_ready, constant from then on. */
typedef struct hia_fn_version {
  atomic_bool is_ready;
  hia_unit *unit;
  hia_fn_id root;
  uint32_t entry; /* of unit->image */
  hia_native_entry native;
} hia_fn_version;

struct hia_function {
  hia_function *next;
  hia_module *module;
  const char *name, *signature;
  hia_decl_id decl; /* HIA_NONE in a module that was read as a graph */
  hia_inst_id inst; /* HIA_NONE: generic, or read as a graph */
  bool is_generic;
  uint32_t arity;
  hia_param *params; /* arity of them */
  hia_param result;  /* unless generic */
  uint32_t n_param_words;
  atomic_uint_fast64_t n_runs;

  hia_fn_version versions[HIA_N_VERSIONS];
};

/* An extern of a module, and what stands for it. */
typedef struct hia_bound {
  const char *name;
  hia_host_target target;
} hia_bound;

struct hia_module {
  hia_engine *engine;
  atomic_uint references;
  pthread_mutex_t lock;
  hia_comp comp;
  hia_types types;
  hia_source source;
  hia_program *program;            /* NULL: read as a graph */
  hia_unit *whole[HIA_N_VERSIONS]; /* then: its only units; all but PLAIN are read when needed */
  hia_unit *units;
  hia_function *functions;
  HIA_VEC(hia_bound) bound;
  hia_status broken; /* a compilation ended early: what it left behind is not to be trusted */
  uint64_t load_at, parse_ns, check_ns; /* when parsing began; checking came after it */
};

/* Runs `body` with the module's lock held and its compilation armed, so that it may throw. A throw
 * breaks the module: its later compilations answer the same status. */
hia_status hiaJ_module_try(hia_module *module, hia_error **error,
                           hia_status (*body)(hia_module *module, void *user, hia_error **error),
                           void *user);
void hiaJ_module_keep(hia_module *module);
void hiaJ_module_release(hia_module *module);
/* In a try: the instance of a generic function at these types. */
hia_status hiaJ_instance(hia_function *generic, const hia_type *types, hia_function **out,
                         hia_error **error);

/* In a try: the function object of an instance, made on first request. */
hia_status hiaJ_instance_at(hia_module *module, hia_decl_id decl, const hia_type *types,
                            hia_function **out, hia_error **error);
/* In a try, of a module that was read as a graph: that of a root. */
hia_function *hiaJ_root_function(hia_module *module, hia_fn_id root);

/* ---- engine_run.c ---- */

/* A caller's options (or NULL), checked, over the defaults. */
hia_status hiaJ_run_options(const hia_function *function, const hia_run_options *theirs,
                            hia_run_options *own, hia_error **error);
hia_fn_variant hiaJ_version_for(const hia_run_options *options); /* that such a run needs */

/* ---- module_ready.c: from an instance to something that runs ---- */

/* Makes a version of the function ready if it is not; takes the module's lock. HIA_UNSUPPORTED if
 * it cannot be made. */
hia_status hiaJ_ready(hia_function *function, hia_fn_variant kind, hia_error **error);
void hiaJ_unit_release(hia_engine *engine, hia_unit *unit);
/* What stands for the externs of a graph of the module's, in its arena; in a try. */
const hia_host_target *hiaJ_hosts_of(hia_module *module, const hia_graph *g);
/* The passes' and the compiler's options of this engine. */
hia_pass_options hiaJ_pass_options(const hia_engine *engine, hia_fn_variant kind);
hia_compile_options hiaJ_compile_options(const hia_engine *engine);

#endif
