/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The engine half of jit/: what implements the public header. It does not depend on LLVM.
 *
 * A module owns a checked program, with its types and its compilation (memory, errors), under a
 * lock. What is compiled at a time is a *unit*: a graph on its way to code or an image, with a
 * compilation and types of its own. Only building the graph reads the program and holds the
 * module's lock; passes, flattening, lowering and LLVM hold none, so that functions of one module
 * compile side by side. A call of a function that is ready takes only the engine's lock, for a
 * moment, to get a context for native code.
 *
 *   engine.c, life.c, plugin.c   engines; made and freed; the library of LLVM, found
 *   module.c, load.c, try.c      modules; loaded from text; work on one, under its lock
 *   module_types.c, inspect.c    the types of a module, and introspection
 *   find.c, functions.c          functions by name; the objects that stand for them
 *   show.c                       native code, shown to debuggers and profilers
 *   unit.c, ready.c              building and compiling; versions of functions, made when needed
 *   cached.c, cached_*.c         the cache of native code (cached.h)
 *   later.c                      making versions on a thread of the engine
 *   again.c, tier.c              image or native code; runs that begin in the interpreter, and may
 *                                begin again in native code
 *   ../versions                  versions that assume something (versions/speculate.h)
 *   run.c, run_options.c         calls; their options
 *   running.c                    how a run is made, in which versions (running.h)
 *   entry.c, sides.c             what hosts call: typed entries, plain functions, maps
 *   host.c, cancel.c             host functions; ending runs
 *   params.c, trainer.c, gradients.c, differences.c   params, training, checks of gradients
 *   value.c, value_data.c, value_text.c   values; of data and arrays; from text
 *   builder.c                    programs that hosts build
 *   build.c, build_profile.c, names.c, header.c, header_data.c, c_types.c   objects and their
 *                                headers (build.h)
 *   dump.c, timeline.c, error.c  dumps; timelines; errors */
#ifndef HIA_ENGINE_H
#define HIA_ENGINE_H

#include "frontend/frontend.h"
#include "graph/ir/type_table.h"
#include "graph/pipeline/pass.h"
#include "jit/cache/store.h"
#include "jit/jit.h"
#include "runtime/base/keeper.h"
#include "runtime/format/stream.h"
#include "runtime/interp/run.h"
#include "runtime/native/debug/debug.h"
#include "runtime/native/units.h"
#include "runtime/param/param.h"
#include "runtime/run/error.h"
#include "runtime/value/handle.h"
#include <hiaton/hiaton.h>
#include <pthread.h>
#include <stdatomic.h>

/* What distinguishes the versions of a function: a set of flags. Each version is made when a run
 * first needs it, and has a unit of its own. */
typedef unsigned hia_traits;
enum {
  HIA_VERSION_GENERAL = 0,      /* for any run without fuel */
  HIA_VERSION_FUELLED = 1 << 0, /* takes fuel as a last argument and returns what is left as a last
                                   result (graph/passes/fuel.c); runs on one thread */
  HIA_VERSION_STREAMS = 1 << 2, /* its arguments may be streams (graph/passes/streams.c) */
  /* It has native code, as typed entries require. In an engine that makes native code alone, only
     versions that the budget ended have none. */
  HIA_VERSION_NATIVE = 1 << 1,
  HIA_VERSION_IMAGE = 1 << 3,     /* it has none; only tests require that */
  HIA_VERSION_UNBATCHED = 1 << 4, /* nothing is batched: for runs that have no memory for that */
  HIA_VERSION_ENTRIES = 1 << 6,  /* what hosts call can be compiled: it has a graph, as no code from
                                    the cache has */
  HIA_VERSION_OBSERVED = 1 << 5, /* an image that notes what comes to its points (observe.h) */
  HIA_VERSION_NUMBER = 15 << 8,  /* not 0: it assumes something of its arguments (speculate.h) */
};
static inline hia_traits hiaJ_number(unsigned number) { return number << 8; }
static inline unsigned hiaJ_number_of(hia_traits traits) {
  return (traits & HIA_VERSION_NUMBER) >> 8;
}

/* ---- engine.c: what modules and runs use of an engine; life.c: making and freeing ---- */

/* What a run takes from the engine, and gives back when it has ended. */
typedef struct hia_idle_context {
  struct hia_idle_context *next;
  hia_context *context; /* of native code */
  hia_heap heap;        /* of the objects that a run makes */
} hia_idle_context;

/* A registered host function. */
typedef struct hia_registered {
  struct hia_registered *next;
  size_t size;             /* of this block */
  const char *name, *text; /* its declaration as hiaG_extern_print writes it */
  hia_host_target target;
} hia_registered;

/* A thread that makes a unit, so that a run can end before the unit is made, or those in the queue.
 */
typedef struct hia_compiling {
  struct hia_compiling *next;
  hia_engine *engine;
  pthread_t thread;
  struct hia_making *making; /* NULL: those in the queue */
  atomic_bool is_over;       /* joining it does not block */
} hia_compiling;

#define HIA_ENGINE_TUPLES 8u
struct hia_engine {
  hia_allocator allocator;
  hia_engine_options options; /* with `allocator` and `disabled_passes` pointing into the engine */
  char *disabled;
  size_t disabled_size;

  hia_pool *pool;           /* of the engine's threads; NULL: one thread is enough */
  bool has_host_pool;       /* the threads are the host's, so no thread of the engine compiles */
  atomic_uint next_builder; /* tag of the next builder (builder.c) */

  unsigned cores;    /* that the process may use */
  hia_store *store;  /* the cache; NULL: there is none */
  uint64_t again_at; /* tests set it: hia_activity.again_at of all runs, which begin in the
                        interpreter then */
  /* Tests set it: not 0 if versions are made after each first run, of assumptions at random. */
  uint32_t assume_seed;
  hia_pool *compilers;    /* of the host's threads, one of which compiles; NULL: the engine's do */
  bool sanitizes_objects; /* tests set it: ThreadSanitizer sees no order that objects make by
                             themselves, and would report races with the runtime */

  _Atomic bool lacks_native; /* the compiler has been tried to open, and there is none */
  /* While there are trainers runs keep their memory for each other, whatever others need in
   * between, and results of steps have that of earlier ones. */
  _Atomic uint32_t n_trainers;
  hia_keeper step_results;

  pthread_mutex_t lock; /* of what follows */
  bool native_tried;
  hia_status native_status;
  char native_error[512]; /* the message of that status */
  const hia_backend *backend;
  hia_session *session;
  hia_idle_context *idle;   /* contexts that no run is using */
  hia_clock *clock;         /* of deadlines; NULL: no run had one yet */
  hia_compiling *compiling; /* threads that compile, or have ended and are not joined yet */
  hia_registered *hosts;    /* newest first; rows are only added */
  double ns_per_node;       /* of compiling, as far as it is known */
  /* Held: types of tuples of scalars that hosts have made, by hash, so that making one again makes
   * no table. Or NULL. */
  hia_value_types *tuples[HIA_ENGINE_TUPLES];

  pthread_mutex_t later_lock; /* of what follows. It is taken inside all other locks */
  struct hia_making *queue;   /* units that wait for the thread that makes them, oldest first */
  bool is_serving;            /* there is such a thread, or one was asked for */
  struct hia_tier_run *interpreted; /* runs that native code may take over */
};

static inline bool hiaJ_has(const hia_engine *engine, hia_engine_flag flag) {
  return (engine->options.flags & (uint32_t)flag) != 0;
}
/* True if versions with these traits have native code, unless the budget ends. */
static inline bool hiaJ_is_native(const hia_engine *engine, hia_traits traits) {
  hia_engine_kind kind = engine->options.kind;
  return kind == HIA_ENGINE_JIT || (kind == HIA_ENGINE_AUTO && traits & HIA_VERSION_NATIVE);
}
/* Opens the compiler, once; *open_ns is the time that took, 0 if it was open already. */
hia_status hiaJ_engine_open(hia_engine *engine, uint64_t *open_ns, hia_error **error);
hia_idle_context *hiaJ_context_take(hia_engine *engine); /* NULL when out of memory */
void hiaJ_context_put(hia_engine *engine, hia_idle_context *context);
/* Calls fn(arg) on a stack of the engine's: recursion over a user's program needs more stack than
 * a host's thread may have. HIA_MEMORY if there is no stack; fn was not called then. */
hia_status hiaJ_on_stack(hia_engine *engine, void (*fn)(void *arg), void *arg);
/* The caller holds no lock: the host's log function may call functions of the engine. */
void hiaJ_log(const hia_engine *engine, const char *fmt, ...) HIA_PRINTF(2, 3);
void hiaJ_log_open(const hia_engine *engine, uint64_t open_ns); /* unless that is 0 */

/* ---- cancel.c: ending runs from outside ---- */

/* The engine's clock, made on first request; no thread is started. HIA_MEMORY. */
hia_status hiaJ_engine_clock(hia_engine *engine, hia_clock **clock);

/* A run that can be ended: by a hia_cancel, by its deadline, or by the run that it is nested in. */
typedef struct hia_watch {
  hia_cancel_scope scope; /* of the limits; its `run` is the watch */
  const hia_engine *engine;
  uint64_t fuel;                 /* what a run with fuel lends to runs that are nested in it */
  hia_cancel *cancel;            /* or NULL */
  struct hia_watch *prev, *next; /* among its runs */
  hia_clock *clock;              /* NULL: no deadline */
  hia_alarm alarm;
} hia_watch;
/* The run that a run which begins on this thread is nested in. NULL: it is not nested, or nested
 * in a call of a typed entry. */
static inline hia_watch *hiaJ_outer(void) {
  const hia_nest *nest = hiaR_nest();
  return nest && nest->scope ? nest->scope->run : NULL;
}
/* From here on the run can be ended, through limits->cancelled and its context, or begin again. On
 * a status other than HIA_OK it has done nothing, and hiaJ_watch_end must not be called. */
hia_status hiaJ_watch_begin(hia_watch *watch, hia_engine *engine, const hia_run_options *options,
                            bool may_begin_again, void (*notify)(void *arg), void *arg,
                            hia_limits *limits);
/* Returns the status that the run has ended with, given the status that it returned; HIA_AGAIN if
 * it is to begin again. */
hia_status hiaJ_watch_status(const hia_watch *watch, hia_status status);
/* Does the same at the end of the run, which cannot be ended any more. */
hia_status hiaJ_watch_end(hia_watch *watch, hia_status status);

/* ---- host.c: host functions ---- */

void hiaJ_hosts_free(hia_engine *engine);
/* Bind the externs that a module declares, when it is loaded; in a try. */
void hiaJ_bind_program(hia_module *module, hia_diags *diags);
hia_status hiaJ_bind_graph(hia_module *module, const hia_graph *g, hia_error **error);
const hia_host_target *hiaJ_bound(const hia_module *module, const char *name); /* or NULL */

/* ---- plugin.c ---- */

/* Finds the table of libhiaton_llvm: linked in, or opened from the folder that holds this library.
 * Returns HIA_UNSUPPORTED, with the reason in `error`, if it cannot. */
hia_status hiaJ_native_open(const hia_allocator *allocator, const hia_backend **backend,
                            hia_error **error);

/* ---- error.c: errors of requests, of rejected programs, of runs ---- */

/* Each returns `status`, and sets *error if `error` is not NULL. */
#define hiaJ_fail hiaR_fail_text /* all errors are of the runtime */
hia_status hiaJ_fail_diags(const hia_allocator *allocator, hia_error **error, hia_status status,
                           const hia_diags *diags);
hia_status hiaJ_fail_at(const hia_allocator *allocator, hia_error **error, hia_status status,
                        const char *code, const hia_source *source, uint32_t line, uint32_t col,
                        const char *message);
hia_status hiaJ_fail_run(hia_engine *engine, hia_error **error, const hia_failure *failure,
                         const hia_run_options *options, bool is_native, const hia_places *places);
#define hiaJ_fail_comp hiaR_fail_comp
/* The error of a compilation that has failed in the backend, because of `cause`, which is freed. */
hia_status hiaJ_fail_compile(const hia_allocator *allocator, hia_error **error, hia_status status,
                             hia_error *cause);

/* ---- timeline.c ---- */

typedef struct hia_fn_version hia_fn_version;
typedef struct hia_special hia_special;
typedef struct hia_speculation hia_speculation;

/* A run of a version of the function, which is ready, begins to record to its timeline (or NULL).
 * What the compiler has done for it is recorded first. HIA_ARGUMENT if a thread is reading the
 * timeline. */
hia_status hiaJ_timeline_begin(hia_timeline *timeline, const hia_function *function,
                               const hia_fn_version *version, hia_error **error);
/* The run goes over to another version. */
void hiaJ_timeline_version(hia_timeline *timeline, const hia_fn_version *version);
/* The version, as timelines name it. */
uint32_t hiaJ_timeline_name(hia_timeline *timeline, const hia_fn_version *version);
void hiaJ_timeline_end(hia_timeline *timeline);

/* ---- modules: module.c, and load.c, which makes them ---- */

/* What runs need to know of a graph. Code that comes from the cache has this, and no graph. */
typedef struct hia_unit_facts {
  bool is_counted, is_read, has_params;
  hia_type_table types;     /* of the words of its roots */
  const char *const *names; /* by function, for timelines; NULL where no job may call it */
  uint32_t n_fns;
} hia_unit_facts;
typedef struct hia_root_facts {
  const hia_type *params, *results; /* by word; what a run with fuel adds is behind them */
  uint32_t n_params, n_results;
  uint32_t loc;
} hia_root_facts;

/* Bytes of the cache (jit/cache/store.h). */
typedef struct hia_cached_file {
  void *bytes; /* NULL: there are none */
  size_t size;
} hia_cached_file;

/* A graph on its way to code or an image: that of one instance, or the whole of a module that was
 * read as a graph. One thread owns it until it is published; from then on all of it is constant
 * except where a field says otherwise. */
typedef struct hia_unit {
  struct hia_unit *next; /* among the module's units */
  hia_comp comp;         /* of all that follows */
  hia_types types;
  hia_graph *graph; /* NULL: its code comes from the cache */
  hia_unit_facts facts;
  hia_fn_version *versions; /* the versions it is made for, one for each of its roots */
  uint32_t n_versions;
  pthread_mutex_t lock; /* of `sides` and `types_of_entries`, and of comp meanwhile */
  /* What hosts call, by hia_host_side: code of its own, made or loaded at the first request, since
   * hosts request it for few functions, and it would add a third to the compile time of a small
   * one. NULL: not requested so far. */
  hia_loaded_code *sides[HIA_N_HOST_SIDES];
  hia_loaded *image;
  hia_code *code;
  hia_units *units; /* code from the cache, instead of `code`; its entry follows */
  hia_cached_file cached;
  hia_debug_symbols *symbols; /* of its code, for debuggers; NULL: they have none */
  hia_text graph_key;    /* cached.c: describes the graph as it was built; empty: it is not known */
  uint32_t n_built_locs; /* that this graph had */
  hia_shapes *shapes;    /* NULL: its runs make no objects */
  size_t shapes_size;
  hia_unwinder unwinder; /* of `code` */
  bool has_segments;     /* its code computes batches (docs/batching.md) */
  bool may_be_unset; /* the graph was read, and has what only passes make: words may be there that
                        nothing has set */
  struct hia_value_types *types_of_entries; /* hia_code_module.types; NULL: not needed so far;
                                               protected by `lock` */
  const struct hia_chooser *chooser;        /* likewise */
  hia_places places; /* the source positions that locations of its runs lead to */
  hia_function_stats stats;
  uint64_t build_at, passes_at, flatten_at, open_at; /* hiaR_now() when that phase began; or 0 */
  uint64_t compiled_at;                              /* when codegen ended */
  uint64_t loaded_at;                                /* when its code had been loaded */
  uint64_t recorded_at; /* hia_timeline.made_at of the timeline that has recorded these phases;
                           protected by the module's lock */
} hia_unit;

/* A parameter or a result: its type in the module's table, which needs the module's lock, and in a
 * copy, which needs none. */
typedef struct hia_param {
  hia_type type;             /* HIA_NONE: generic */
  const char *name;          /* NULL: it has none, or the module was read as a graph */
  const hia_type_info *info; /* NULL: generic */
} hia_param;

/* A version of a function, ready to run. */
struct hia_fn_version {
  hia_fn_version *next;
  hia_function *function;
  hia_traits traits;
  hia_unit *unit;
  hia_fn_id root;
  hia_special *special; /* what it assumes; NULL: nothing */
  hia_root_facts facts;
  const char *const *result_names; /* by word of the result (hiaG_result_names) */
  uint32_t entry;                  /* of unit->image */
  hia_native_entry native;
};

/* A host that is told when a function is ready. */
typedef struct hia_waiting {
  struct hia_waiting *next;
  hia_function *function;
  hia_function_ready ready;
  void *user;
} hia_waiting;

/* A unit that a thread is making, or will make. The module's `making_lock` protects all fields
 * except constants.
 */
typedef struct hia_making {
  struct hia_making *next;
  hia_function *function; /* constant, as are the fields up to `scope` */
  hia_traits traits;
  hia_unit *unit;
  hia_look look;     /* what the unit's compilation checks now and then */
  size_t max_memory; /* bytes that it may take; 0: no limit */
  uint64_t began_at;
  uint64_t late_at;               /* hiaR_now() when the budget is used up; 0: never */
  hia_cancel_scope *scope;        /* of the run on whose thread it is made; or NULL */
  atomic_bool is_wanted;          /* even if no thread waits for it */
  struct hia_making *next_queued; /* in hia_engine.queue, under later_lock */
  struct hia_waiting *waiting;    /* who is told when it is over */
  atomic_uint n_wanting;          /* threads that wait for it, or make it themselves */
  unsigned references;
  bool is_over;
  hia_status status; /* once is_over */
  hia_error *error;  /* for the first thread that takes it */
  uint64_t open_ns;
} hia_making;

struct hia_function {
  hia_function *next;
  hia_module *module;
  const char *name, *signature;
  hia_decl_id decl; /* HIA_NONE in a module that was read as a graph */
  hia_inst_id inst; /* HIA_NONE: generic, or read as a graph */
  /* In a module that was read as a graph: its id in every graph that is read from the module's
   * text. */
  hia_fn_id root;
  const char *instance, *source; /* names */
  /* These belong to functions that compute gradients for the host, which are not among the module's
   * functions: `loss` is the function that is differentiated. For steps of training (trainer.c)
   * `wanted` are flags of the params whose gradients it computes; for checks (gradients.c) `wrt`
   * says, n_wrt of them, with respect to what. Else all are NULL. */
  hia_function *loss;
  const bool *wanted;
  const hia_wrt *wrt;
  uint32_t n_wrt;
  bool is_generic;
  uint32_t arity;
  hia_param *params; /* arity of them */
  hia_param result;  /* unless generic */
  uint32_t n_param_words;
  bool has_references;    /* data or arrays are among its parameters and results */
  const hia_dtype *words; /* of the parameters, then of the result: dtypes, or HIA_ENTRY_VALUE;
                             NULL if it is generic */
  bool is_impure;
  atomic_uint_fast64_t n_runs;
  atomic_uint_fast64_t interpreted_ns;    /* by runs that native code may take over */
  _Atomic(hia_speculation *) speculation; /* speculate.h; NULL: no run was looked at so far */
  atomic_uint n_specials;                 /* versions that assume something */
  atomic_bool has_no_use; /* nothing that is known of its arguments would be of use */
  atomic_uint lacks;      /* bit t: there can be no native version with traits t */

  _Atomic(hia_fn_version *)
      versions; /* newest first; versions are only added, under the module's making_lock */
};

/* An extern of a module, and the host function that it is bound to. */
typedef struct hia_bound {
  const char *name;
  hia_host_target target;
} hia_bound;

/* An extern of a module, as hiaton/inspect.h describes it; constant. */
struct hia_extern_info {
  const char *name, *declaration;
  bool is_impure, is_bound;
  uint32_t arity;
  hia_param *params, result;
};

struct hia_module {
  hia_engine *engine;
  atomic_uint references;
  pthread_mutex_t lock;
  hia_comp comp;
  hia_types types;
  hia_value_types
      *value_types;  /* the newest copy of `types`, which holds all older ones; or NULL */
  hia_source source; /* constant */
  hia_program
      *program;   /* NULL: the module was read as a graph; all its roots are among the functions */
  hia_unit *read; /* in such a module, the graph as it was read, for the first unit that is made; or
                     NULL */
  hia_unit *units;
  pthread_mutex_t making_lock; /* of adding units and versions, and of what follows. It is taken
                                  inside all other locks except those of allocators */
  hia_making *making;          /* units that are being made */
  pthread_cond_t made; /* signalled when a unit is made or has failed, and when a run that may wait
                          for one is to end */
  hia_function *functions;
  hia_function *differentiating;     /* those that have a `loss` */
  HIA_VEC(hia_bound) bound;          /* constant once the module is loaded */
  hia_params params;                 /* n is 0: the program has none */
  const hia_type_info **param_types; /* constant */
  bool is_broken; /* an internal error was found in the program: no further unit is made of it */
  /* Constant too: */
  HIA_VEC(hia_extern_info) externs;
  bool is_without_fuel;                 /* no run of it can have fuel */
  bool is_native_only;                  /* it was read as a graph that only native code can run */
  uint64_t load_at, parse_ns, check_ns; /* when parsing began; checking came after it */
};

/* Makes a module in which nothing is loaded. NULL: no memory. */
hia_module *hiaJ_module_new(hia_engine *engine);
void hiaJ_module_keep(hia_module *module);
void hiaJ_module_release(hia_module *module);

/* ---- try.c: work on a module ---- */

/* Runs `body` with the module's lock held and its compilation armed, so that it may throw. If it
 * throws, the module stays as it was, except after an internal error (HIA_INTERNAL), which breaks
 * it. */
typedef hia_status hia_try_body(hia_module *module, void *user, hia_error **error);
hia_status hiaJ_module_try(hia_module *module, hia_error **error, hia_try_body *body, void *user);
/* Work with a compilation of its own, `comp`, in two halves, each of which may throw to it.
 * `locked` runs with the module's lock held and may use the module's compilation too, as in
 * hiaJ_module_try. `rest` runs without the lock, if `locked` succeeded: what takes long belongs
 * there. */
hia_status hiaJ_module_try_halves(hia_module *module, hia_comp *comp, hia_try_body *locked,
                                  hia_try_body *rest, void *user, hia_error **error);

/* ---- functions.c; find.c finds them by their names ---- */

/* In a try: the instance of a generic function at these types. */
hia_status hiaJ_instance(hia_function *generic, const hia_type *types, hia_function **out,
                         hia_error **error);

/* In a try: the function object of an instance, made on first request. */
hia_status hiaJ_instance_at(hia_module *module, hia_decl_id decl, const hia_type *types,
                            hia_function **out, hia_error **error);
/* In a try: the function that is found by its name alone. */
hia_status hiaJ_function_of(hia_module *module, hia_decl_id decl, hia_function **out,
                            hia_error **error);

/* True if a parameter of the function has no type of its own. */
bool hiaJ_is_generic(const hia_program *program, hia_decl_id decl);
/* In a try: the function of a root of the graph that the module was read as. */
hia_function *hiaJ_root_function(hia_module *module, const hia_graph *g, hia_fn_id root);

/* In a try: a function that computes a loss and its gradients (graph/grad/step.c). It lives as long
 * as the module. `wanted`: flags by param, copied. */
hia_function *hiaJ_step_function(hia_function *loss, const bool *wanted);
/* In a try: one that gives a tuple of the result of `of` and of its gradients. `types`: those of
 * the gradients. Both arrays are copied. */
hia_function *hiaJ_gradient_function(hia_function *of, const hia_wrt *wrt, const hia_type *types,
                                     uint32_t n);

/* ---- params.c ---- */

/* A value of param i's type, with these elements. NULL: no memory. */
hia_value *hiaJ_param_value(const hia_module *module, size_t i, const void *elements);

/* In a try: the module's params are these, which live as long as it. */
void hiaJ_keep_params(hia_module *module, const hia_param_spec *specs, uint32_t n);

/* ---- differences.c: derivatives without gradients ---- */

typedef struct hia_difference {
  double slope;  /* NaN: there is none */
  double doubt;  /* an estimate of its error; infinite if there is none */
  bool is_rough; /* the smaller steps do not agree, and that is not for rounding */
} hia_difference;
typedef struct hia_differences {
  hia_difference both, above, below; /* central, and of one side alone */
} hia_differences;
/* The value of a function at x + t; NaN or an infinity where it has none. */
typedef hia_status hiaJ_at(void *user, double t, double *value);
/* Finds the derivative at x, where the value is `at`. `step`: the first one, a power of 2.
 * `roundoff`: of the values, relative to them. Fails as `f` does. */
hia_status hiaJ_differences(hiaJ_at *f, void *user, double at, double step, double roundoff,
                            hia_differences *d);

/* ---- module_types.c: types as the host sees them ---- */

/* In a try: the type as values have it. It lives as long as the module. */
const hia_type_info *hiaJ_type_info(hia_module *module, hia_type type);
/* The data type of this name; HIA_NONE: the module has none. The caller holds its lock. */
hia_type hiaJ_data_type(const hia_module *module, const char *name, size_t len);
/* In a try: the type of a value in the module's table; HIA_NONE: the program has no such type. */
hia_type hiaJ_own_type(hia_module *module, const hia_type_info *type);
/* Makes hia_function.words of a function that is not generic. */
const hia_dtype *hiaJ_entry_words(hia_arena *arena, const hia_function *f);
/* Writes the types of a type's words; returns the address behind them. */
const hia_type_info **hiaJ_type_words(const hia_type_info *type, const hia_type_info **out);

/* ---- inspect.c: externs as the host sees them ---- */

/* Both are called in a try, once a module has been read and bound; for a graph, also only once its
 * roots are functions. */
void hiaJ_inspect_program(hia_module *module);
void hiaJ_inspect_graph(hia_module *module, const hia_graph *g);

/* ---- run_options.c ---- */

/* Copies a caller's options (or NULL) over the defaults, and checks them. */
hia_status hiaJ_run_options(const hia_function *function, const hia_run_options *theirs,
                            hia_run_options *own, hia_error **error);
hia_traits
hiaJ_traits_for(const hia_run_options *options); /* of the version that such a run requires */

/* ---- unit.c: from an instance to code or an image ---- */

hia_unit *hiaJ_unit_new(hia_engine *engine);              /* NULL when out of memory */
void hiaJ_unit_empty(hia_engine *engine, hia_unit *unit); /* it is as new again */
/* Frees what was loaded from the cache. */
void hiaJ_unit_unload(hia_engine *engine, hia_unit *unit);
/* Sets the source that the unit's positions are of. */
void hiaJ_name_source(const hia_module *module, hia_unit *unit);
/* True if it has native code. */
static inline bool hiaJ_has_code(const hia_unit *unit) { return unit->code || unit->units; }
void hiaJ_unit_free(hia_engine *engine, hia_unit *unit);
/* Makes a unit of a version of the function, on a large stack. No other thread has the unit yet;
 * the caller frees it on failure. It holds the module's lock for a part of the time. *open_ns is
 * the time of opening the compiler, 0 if it was open. HIA_UNSUPPORTED if there can be no such
 * version. */
hia_status hiaJ_unit_make(hia_unit *unit, hia_function *function, hia_traits traits,
                          uint64_t *open_ns, hia_error **error);
/* Builds the graph of a loss, which is no root then but the only function that a step is to be made
 * of; *root becomes its function. In a try of the module. */
hia_status hiaJ_build_loss(hia_module *module, hia_unit *unit, const hia_function *loss,
                           hia_fn_id *root, hia_error **error);
/* HIA_UNSUPPORTED if the graph cannot be used in this way. */
typedef enum hia_graph_use {
  HIA_TO_INTERPRET,
  HIA_TO_RUN,   /* as native code */
  HIA_TO_DUMP,  /* as native code */
  HIA_TO_BUILD, /* ahead of time */
} hia_graph_use;
hia_status hiaJ_refuse(const hia_module *module, const hia_graph *g, hia_graph_use use,
                       hia_error **error);
/* What only native code can do, of what the graph has; NULL: nothing. */
const char *hiaJ_native_only(const hia_graph *g);
/* HIA_UNSUPPORTED, too, if the graph cannot have the engine's traps of NaN, or fuel; `doing` is
 * "run" or "built". */
hia_status hiaJ_refuse_options(const hia_module *module, const hia_graph *g, bool has_fuel,
                               const char *doing, hia_error **error);
/* Returns the host functions that the externs of a graph of the module are bound to, in the
 * graph's arena, which may throw. */
const hia_host_target *hiaJ_hosts_of(const hia_module *module, const hia_graph *g);
/* The options of this engine for the passes. */
hia_pass_options hiaJ_pass_options(const hia_engine *engine, hia_traits traits);

/* ---- show.c: native code, shown to debuggers and profilers ---- */

/* The flags of the engine that ask for that, and who is told then (native/debug/debug.h). */
enum { HIA_SHOW_FLAGS = HIA_FLAG_GDB | HIA_FLAG_PERF_MAP | HIA_FLAG_JITDUMP };
unsigned hiaJ_debug_readers(const hia_engine *engine);
/* Shows what was loaded, if the engine should. `n` units of an entry, or of code that was compiled;
 * the unit's places are set. */
void hiaJ_show(hia_engine *engine, hia_unit *unit, const hia_units *loaded,
               const hia_entry_unit *units, uint32_t n);
/* Shows the unit's code, which was compiled of its graph. */
void hiaJ_show_compiled(hia_engine *engine, hia_unit *unit);
/* Shows what hosts call. It has no positions: where it calls the program, that has them. */
void hiaJ_show_side(hia_engine *engine, hia_unit *unit, const hia_loaded_code *side,
                    const hia_entry_unit *made);

/* ---- cached.c: the cache of native code ---- */

/* Fills the unit, which is new, with code that the cache has for such a version. False: it has
 * none, or there is no cache; the unit is as new. The caller holds no lock. */
bool hiaJ_cached_load(hia_unit *unit, hia_function *function, hia_traits traits);
/* Notes the graph of the unit, which has been built, and on which no pass has run. */
void hiaJ_cached_note(hia_unit *unit, const hia_function *function, hia_traits traits);
/* Does as hiaJ_cached_load with code for such a graph. False: the unit is as before. In a try of
 * the unit. */
bool hiaJ_cached_load_graph(hia_unit *unit, hia_function *function, hia_traits traits);
/* Stores the code of a unit that was made for such a version, if it may be. */
void hiaJ_cached_store(hia_unit *unit, const hia_function *function, hia_traits traits);
/* ---- cached_sides.c: what hosts call, in the cache ---- */

/* Loads what hosts call, of one side, into its unit, and binds it. False: the cache has none for
 * this version. The caller holds the unit's lock. */
bool hiaJ_cached_load_side(const hia_fn_version *version, hia_host_side side);
/* Stores such code, if it may be. The caller holds the unit's lock. */
void hiaJ_cached_store_side(const hia_fn_version *version, hia_host_side side,
                            const hia_entry_unit *made);

/* ---- sides.c: what hosts call ---- */

/* Fills in the record of a side that was loaded of `made`, and shows the side. False: it is none of
 * this version; then it is released. The caller holds the unit's lock. */
bool hiaJ_bind_side(const hia_fn_version *version, hia_host_side side, const hia_entry_unit *made);

/* The function that a host calls for the version, of one side. *out stays NULL, without an error,
 * if the version's code comes from the cache, which does not have that: then a version with
 * HIA_VERSION_ENTRIES has it compiled. */
hia_status hiaJ_host_function(const hia_fn_version *version, hia_host_side side, hia_native_fn *out,
                              hia_error **error);

/* ---- ready.c: versions of functions, made when they are first needed ---- */

/* The version that assumes something and has this number (special.c); NULL: there is none now. Only
 * who holds it may read it. */
const hia_fn_version *hiaJ_special_numbered(const hia_function *function, hia_traits traits);
/* Returns a version that a run which requires these traits can use, or NULL. */
static inline const hia_fn_version *hiaJ_version(const hia_function *function, hia_traits traits) {
  const hia_fn_version *v = atomic_load_explicit(&function->versions, memory_order_acquire);
  if (traits & HIA_VERSION_NUMBER) return hiaJ_special_numbered(function, traits);
  const hia_traits exact = HIA_VERSION_FUELLED | HIA_VERSION_STREAMS | HIA_VERSION_UNBATCHED |
                           HIA_VERSION_OBSERVED | HIA_VERSION_NUMBER;
  while (v && ((v->traits ^ traits) & exact || traits & ~v->traits)) v = v->next;
  return v;
}
/* Returns such a version, and makes it if there is none yet. Of several threads that need it, one
 * makes it, without any lock, and the others wait for that thread. */
hia_status hiaJ_ready(hia_function *function, hia_traits traits, const hia_fn_version **version,
                      hia_error **error);
/* Does the same for a run with these options: its deadline, its cancel and its memory limit may end
 * the compilation. */
hia_status hiaJ_ready_for(hia_function *function, hia_traits traits, const hia_run_options *options,
                          const hia_fn_version **version, hia_error **error);
/* Waits for a native version that was requested. NULL: there is none, or the scope was cancelled.
 */
const hia_fn_version *hiaJ_await_native(const hia_fn_version *version, hia_cancel_scope *scope);
/* Frees the unit of a version that is not to be found any more, and that nobody holds. */
void hiaJ_drop(hia_module *module, hia_unit *unit);
/* A version with native code, from the cache; NULL: it has none. One that assumes something is held
 * for the caller. */
const hia_fn_version *hiaJ_cached_version(hia_function *function, hia_traits traits);
/* Finds the making of such a version, or begins one, which is `is_new` then. NULL: no memory. The
 * caller holds the module's making_lock. */
hia_making *hiaJ_making(hia_function *function, hia_traits traits, size_t max_memory, bool *is_new);
/* Makes the unit, and drops the making thread's reference. The caller holds no lock. */
void hiaJ_make(hia_making *making);
/* Fails if the function is NULL or generic. */
hia_status hiaJ_need_instance(const hia_function *f, hia_error **error);
/* Ends a making that no thread has begun, likewise. */
void hiaJ_abandon(hia_making *making, hia_status status);
/* Tells a list of hosts (or NULL), and frees it. The caller holds no lock. */
void hiaJ_tell(hia_engine *engine, hia_waiting *waiting, hia_status status);

/* ---- later.c: making versions without waiting ---- */

/* Has a version made, unless it is being made. `waiting` (or NULL) is told, and belongs to the
 * making from then on. HIA_MEMORY, HIA_THREADS. Logs nothing. */
hia_status hiaJ_make_later(hia_function *function, hia_traits traits, hia_waiting *waiting);
/* Takes a making out of the queue. False: a thread is making it. Then its module is held once more,
 * for the caller to release. */
bool hiaJ_take_queued(hia_making *making);
/* Starts a thread that makes the unit. False: the caller has to make it. */
bool hiaJ_make_beside(hia_making *making);
/* Drops what waits in the queue, and waits for all threads that compile. */
void hiaJ_join_compiling(hia_engine *engine);

/* ---- again.c: image or native code ---- */

/* A run in the interpreter that native code may take over. */
typedef struct hia_tier_run {
  struct hia_tier_run *prev, *next; /* in hia_engine.interpreted */
  const hia_fn_version *version;    /* that it runs */
  hia_cancel_scope *scope;
  uint64_t began_at;
  hia_clock *clock; /* NULL: nothing watches it */
  hia_alarm alarm;
  bool is_requested; /* the native version was requested for it */
  /* How often it was looked at, and was in an operation then. */
  atomic_uint n_looks, n_busy;
  hia_activity activity;
} hia_tier_run;

/* The traits of the version that a run with these traits is fastest in. */
hia_traits hiaJ_best_traits(const hia_function *function, hia_traits traits);
/* The traits of the version in which it begins. */
hia_traits hiaJ_first_traits(const hia_function *function, hia_traits traits);
/* The version that a run begins in; NULL: it has to be made, with those traits. */
const hia_fn_version *hiaJ_first_version(const hia_function *function, hia_traits traits);
/* True if native code may take over runs of this version. */
bool hiaJ_may_begin_again(const hia_fn_version *version);
/* The traits in which versions must be equal to those of a run. */
hia_traits hiaJ_exact_traits(hia_traits traits);
const hia_fn_version *hiaJ_native_version(const hia_function *function, hia_traits traits);
/* True if there can be no native version. */
bool hiaJ_lacks_native(const hia_function *function, hia_traits traits);
/* How much there is to compile of a unit; hia_engine.ns_per_node is the time for one. */
double hiaJ_work_of(const hia_unit *unit);
/* Puts a run into hia_engine.interpreted, and takes it out. */
void hiaJ_tier_enter(hia_engine *engine, hia_tier_run *run);
void hiaJ_tier_leave(hia_engine *engine, hia_tier_run *run);
/* True if a run is mostly in kernels, as far as HIA_TIER_LOOKS looks or more show. */
enum { HIA_TIER_LOOKS = 4 };
bool hiaJ_tier_is_in_kernels(hia_tier_run *run);
/* A native version is ready: its runs that gain by it begin again. */
void hiaJ_tier_ready(const hia_fn_version *version);

/* ---- tier.c: runs that begin in the interpreter ---- */

/* Begins to watch a run of such a version. The scope is open. *limits gets what the interpreter
 * reads and writes for it. */
void hiaJ_tier_begin(hia_tier_run *run, const hia_fn_version *version, hia_cancel_scope *scope,
                     hia_limits *limits);
/* The interpreter has ended. Returns the native version if it was ended to begin again in it. */
const hia_fn_version *hiaJ_tier_end(hia_tier_run *run, hia_status status);
hia_compile_options hiaJ_compile_options(const hia_engine *engine);

#endif
