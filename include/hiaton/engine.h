/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Engines, the modules that they load, the functions of these, and calls. hiaton.h has an example,
 * and the rules of the whole interface. */
#ifndef HIATON_ENGINE_H
#define HIATON_ENGINE_H

#include <hiaton/data.h>
#include <hiaton/params.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hia_engine hia_engine;     /* compiler and workers: what programs need to run */
typedef struct hia_module hia_module;     /* a checked program */
typedef struct hia_function hia_function; /* a function of a module */
typedef struct hia_cancel hia_cancel;     /* a switch that ends runs */
typedef struct hia_profile hia_profile;   /* where the time of runs goes: profile.h */
typedef struct hia_timeline hia_timeline; /* what the threads of runs did, and when: dump.h */

/* The version of the library that is loaded, "0.1.0". */
HIA_API const char *hia_version(void);

/* ---- engines ---- */

/* How programs are run. All engines return the same results and the same failures. */
typedef enum hia_engine_kind {
  HIA_ENGINE_JIT = 0,    /* native code; needs libhiaton_llvm, see hia_engine_native */
  HIA_ENGINE_INTERP = 1, /* the tagged-token interpreter, which defines what programs mean */
  HIA_ENGINE_EXPAND =
      2, /* calls copy the callee's graph: the baseline of the papers, for comparison */
  /* Runs begin in the interpreter at once. A function whose runs take longer than a millisecond is
     compiled meanwhile, and native code takes over ("Tiers" below). */
  HIA_ENGINE_AUTO = 3,
} hia_engine_kind;

/* What an engine does besides, or leaves out: hia_engine_options.flags. */
typedef enum hia_engine_flag {
  HIA_FLAG_COUNT = 1 << 0,       /* count calls and loop rounds as the language defines them */
  HIA_FLAG_UNCHECKED = 1 << 1,   /* leave out the entry check of native functions, and with it every
                                    limit: only for measuring what that check costs */
  HIA_FLAG_ALWAYS_FORK = 1 << 2, /* make native code that several workers can run even if `threads`
                                    is 1: only for measuring what that costs */
  HIA_FLAG_NO_MERGING = 1 << 3,  /* native code may not merge equal calls of a function into one */
  /* Native code computes all operations of a batch. Without this flag it computes equal ones once:
     those with equal operands, under different tags, in one run; and in later runs again, if they
     depend on integers and params alone, until a param changes. Results have the same bits. */
  HIA_FLAG_NO_REUSE = 1 << 4,
  HIA_FLAG_VERIFY = 1 << 5, /* check the graph after every pass (debug builds always do) */
  /* Look up `extern` functions that the host has not registered in the process and its libraries,
     by name. Symbols have no types: the program's declaration is trusted. */
  HIA_FLAG_PROCESS_SYMBOLS = 1 << 6,
  /* Load a module even if `extern` functions are found nowhere: functions that call them can be
     checked, dumped and built, for a linker to find the externs; to run such functions is
     HIA_UNSUPPORTED. */
  HIA_FLAG_LINK_EXTERNS = 1 << 7,
  /* Large products of matrices of floats add in the order of OpenBLAS, if libopenblas.so.0 is
     installed; the first run opens it. Results are then those of the machine, and the same in all
     engines and at any number of threads. An element of `x @ y` is off by at most
     k * eps * sum(abs(x) * abs(y)) over its k products, eps being 2^-23 for f32 and 2^-52 for f64,
     as in the order that the language defines. What hiaton builds for other programs has the flag
     too. Without it results are the same everywhere (docs/kernels.md, "OpenBLAS"). */
  HIA_FLAG_FAST_PRODUCTS = 1 << 8,
  /* An operation that makes a NaN fails with HIA_NAN_MADE, at the same operation in all engines and
     at any number of threads: the first one in sequential order whose result is NaN, or has one,
     while none of its operands is or has (docs/language.md, "Traps of NaN"). What is built for
     other programs has such traps too. Without it NaNs are values like others. */
  HIA_FLAG_TRAP_NAN = 1 << 9,
  /* Debuggers and profilers get to know native code: its functions, and the lines of the program
     (docs/native.md, "Profilers and debuggers"). It costs time and memory for each function that is
     made ready, and nothing in runs. What fails of it is a line in the log. */
  HIA_FLAG_GDB = 1 << 10,      /* GDB and LLDB, by symbol files in memory */
  HIA_FLAG_PERF_MAP = 1 << 11, /* perf, by the file /tmp/perf-PID.map, which stays */
  /* perf, by the file jit-PID.dump in the folder JITDUMPDIR, an environment variable, or else in
     /tmp, which stays; `perf inject --jit` reads it */
  HIA_FLAG_JITDUMP = 1 << 12,
  /* Profiles of runs say where memory is taken, too (hiaton/profile.h). Native code then counts the
     bytes of each object of data that it makes; what is built for other programs does not. */
  HIA_FLAG_PROFILE_MEMORY = 1 << 13,
} hia_engine_flag;

/* Whether an engine of HIA_ENGINE_AUTO makes versions of functions that assume what their arguments
 * were in the last runs (docs/speculation.md). Results do not depend on it. */
typedef enum hia_speculate {
  HIA_SPECULATE_ON,    /* when arguments were the same three times, and runs have taken as long as
                          compiling does */
  HIA_SPECULATE_OFF,   /* never */
  HIA_SPECULATE_EAGER, /* after one run: for tests and measurements */
} hia_speculate;

/* HIA_ENGINE_OPTIONS_INIT holds the default of each field. */
typedef struct hia_engine_options {
  size_t size;                    /* sizeof(hia_engine_options) */
  const hia_allocator *allocator; /* copied; NULL: malloc. LLVM's own memory is not part of it */
  hia_engine_kind kind;           /* HIA_ENGINE_AUTO */
  unsigned
      threads; /* workers of a run, the calling thread among them, at most 1024; 0 and 1: it alone,
                  and no other thread is started for runs. The other workers start when a run first
                  has work for them, serve all runs of the engine, and end when it is freed */
  uint32_t flags;        /* hia_engine_flag, joined by `|`; 0. Others are HIA_ARGUMENT */
  hia_batching batching; /* HIA_BATCH_SEGMENTS. Runs with fuel, and with traps of NaN, are not
                            batched */
  size_t max_depth;  /* bytes of stack, or of frames, that a run may use. 0: 2 GiB of stack, 4 GiB
                        of the interpreter's frames, 8 GiB of those of expand, and no more than
                        hia_memory_left says; HIA_NO_LIMIT: no limit. Native code reserves that much
                        address space, for each of its threads; a run is HIA_MEMORY if there is not
                        enough */
  size_t max_memory; /* bytes that a run may use in all, of native code for its values in memory
                        (its stack is max_depth's). 0: what hia_memory_left says, and no limit for
                        compiling; HIA_NO_LIMIT: no limit */
  int opt_level;     /* of native code, 0 to 3; 3 */
  const char *disabled_passes; /* names of graph passes, separated by commas; "all"; NULL: none */
  /* Called with a line, without line end, about what the engine does; on the thread that caused it,
     by several threads at once. It may call functions of the engine. NULL: no log */
  void (*log)(void *user, const char *message);
  void *log_user;
  const hia_thread_pool *pool; /* copied; where the workers of runs come from, at most `threads` - 1
                                  at a time; NULL: the engine has threads of its own */
  /* The time that making a function ready may take. When it is used up, the rest is *hurried*:
     without the remaining optional passes, with code of level 0, or without code, in which case the
     interpreter runs the function. The log then has a line, and hia_function_stats.hurried counts
     it. A single step of LLVM is not interrupted. 10 s; 0: no budget */
  uint64_t budget_ns;
  /* The folder of a cache of native code, which is made if it is not there (docs/start.md, "The
     cache"); copied. NULL: none. A folder that cannot be used is as if there were none; the log
     says why. What others may write, or what is another user's, is not used */
  const char *cache;
  /* That all files of the folder may have together. When several processes store at once, they may
     have more for a while, by what these store at that moment. 256 MiB */
  uint64_t cache_bytes;
  hia_speculate speculate; /* HIA_SPECULATE_ON */
  uint32_t reserved;       /* 0 */
} hia_engine_options;
#define HIA_ENGINE_OPTIONS_INIT                                                                    \
  {sizeof(hia_engine_options),                                                                     \
   NULL,                                                                                           \
   HIA_ENGINE_AUTO,                                                                                \
   1,                                                                                              \
   0,                                                                                              \
   HIA_BATCH_SEGMENTS,                                                                             \
   0,                                                                                              \
   0,                                                                                              \
   3,                                                                                              \
   NULL,                                                                                           \
   NULL,                                                                                           \
   NULL,                                                                                           \
   NULL,                                                                                           \
   10000000000u,                                                                                   \
   NULL,                                                                                           \
   (uint64_t)256 << 20,                                                                            \
   HIA_SPECULATE_ON,                                                                               \
   0}

/* Makes an engine; `options` may be NULL for the defaults. This is cheap: nothing is started or
 * loaded before it is needed. HIA_ARGUMENT if an option is not valid or is of a later version. */
HIA_API hia_status hia_engine_new(const hia_engine_options *options, hia_engine **engine,
                                  hia_error **error);

/* The engine's allocator, for the functions that take one (hiaton/data.h). It lives as long as the
 * engine. NULL for NULL, which stands for malloc there. */
HIA_API const hia_allocator *hia_engine_allocator(const hia_engine *engine);

/* Frees an engine, whose modules and values must have been freed. When it returns, the engine's
 * threads have ended; it waits for work that a host's pool has accepted and not begun yet. */
HIA_API void hia_engine_free(hia_engine *engine);

/* Returns HIA_OK if this engine can compile to native code, or HIA_UNSUPPORTED and an error that
 * says why not. It opens the compiler, which takes some milliseconds the first time. */
HIA_API hia_status hia_engine_native(hia_engine *engine, hia_error **error);

/* The i-th pass over the graph, in the order in which they run, and a line about it; NULL past the
 * end. */
HIA_API const char *hia_pass_name(size_t i);
HIA_API const char *hia_pass_doc(size_t i);

/* Explains, for people, a code that hia_error_code returns: "E0301", "div-zero". The first line is
 * a heading, "E0301: mixed types"; for most codes a program that has the error follows, and the
 * same program corrected. NULL if the code has no explanation. The text is static. */
HIA_API const char *hia_error_explain(const char *code);
/* The i-th code that has an explanation; NULL past the end. */
HIA_API const char *hia_error_explained_code(size_t i);

/* ---- host functions ----
 *
 * A *host function* is a C function that a program declares with `extern fn` or `extern impure fn`.
 * In C it has one parameter for each scalar of the declared parameters, tuples taken apart in
 * order: bool, int32_t, int64_t, float, double.
 *
 *   a scalar results                      T f(params...)
 *   a tuple results                       void f(params..., T *, T *, ...)    one for each scalar
 *   returns_status                        hia_status f(params..., T *, ...)   a scalar or a tuple
 *   takes_user                            the same with `void *` before all others
 *
 * A status other than HIA_OK ends the run, with that status and the position of the call, unless
 * something earlier in sequential order fails. The results are then ignored. A number that is no
 * hia_status counts as HIA_HOST.
 *
 * A pure host function, one declared without `impure`, may be called at any time, from several
 * threads at once, less often than the program says, or before something that fails. It must
 * terminate, and return the same results for the same arguments. An impure function is called
 * exactly as often as the program says, one call after the other in sequential order, on the
 * thread that runs the program.
 *
 * Host functions run on the stack of the thread, however deep the program is. They may call
 * anything of hiaton except hia_engine_free. They may free the module that called them if hia_call
 * runs it, but not if a typed entry does. A run that they begin, by hia_call or by a typed entry,
 * is *nested*: it gets what is left of the limits of the run around it (depth and memory only if
 * both are of one engine), and ends when the run around it is ended. At most 100 runs may be
 * nested on a thread. Host functions must return: nothing may jump or unwind through hiaton. */
typedef struct hia_host_function {
  size_t size;
  const char *declaration; /* as in a program: "extern fn erf(x: f64) -> f64" */
  bool takes_user;         /* `user` is passed before all arguments */
  bool returns_status;     /* it may fail */
  bool is_safe; /* it needs less than 16 KiB of stack and never calls hiaton: native code then calls
                   it like a function of its own, which saves some nanoseconds */
  void (*function)(void); /* cast from its type */
  void *user;             /* lives as long as the engine */
} hia_host_function;
#define HIA_HOST_FUNCTION_INIT {sizeof(hia_host_function), NULL, false, false, false, NULL, NULL}

/* Registers a host function for the modules that are loaded from then on. The declaration is
 * copied. HIA_ARGUMENT if it is not a declaration, or if its name is registered already. */
HIA_API hia_status hia_engine_register(hia_engine *engine, const hia_host_function *function,
                                       hia_error **error);

/* ---- modules ---- */

/* Parses and checks a program. `name` stands for its file in messages and may be NULL. The text
 * need not end in a NUL. HIA_REJECTED if the program has errors: the error lists them. The
 * functions that it declares `extern` must have been registered. */
HIA_API hia_status hia_module_load_text(hia_engine *engine, const char *name, const char *text,
                                        size_t len, hia_module **module, hia_error **error);

/* Loads a program from a file. HIA_IO if it cannot be read. */
HIA_API hia_status hia_module_load_file(hia_engine *engine, const char *path, hia_module **module,
                                        hia_error **error);

/* Loads a text with an expression after the program, such as "1 + fib(20)", which may use what the
 * program defines. It becomes the function HIA_EXPRESSION, without parameters. `expression` ends
 * in a NUL; its positions are in a file named HIA_EXPRESSION, from line 1 on. The program may be
 * empty: `len` is then 0. */
HIA_API hia_status hia_module_load_expression(hia_engine *engine, const char *name,
                                              const char *text, size_t len, const char *expression,
                                              hia_module **module, hia_error **error);

/* Reads a program in graph form, as hia_module_dump writes it for HIA_STAGE_GRAPH and
 * HIA_STAGE_STATIC (docs/ir.md). Its functions are the roots that it was dumped for. */
HIA_API hia_status hia_module_load_ir(hia_engine *engine, const char *name, const char *text,
                                      size_t len, hia_module **module, hia_error **error);
HIA_API hia_status hia_module_load_ir_file(hia_engine *engine, const char *path,
                                           hia_module **module, hia_error **error);

/* Releases the caller's reference. The module and its functions are freed when no hia_call or
 * hia_run of one of them is running any more, nor a dump or a build of the module. Calls of typed
 * entries and plain functions are not counted: none may be running, and none may follow. */
HIA_API void hia_module_free(hia_module *module);

/* The params that the program declares (hiaton/params.h). They belong to the module, and live as
 * long as it does. */
HIA_API hia_params *hia_module_params(hia_module *module);

/* hiaton/inspect.h lists the functions of a module, with their types as data.
 *
 * Finds a function by name, "fact", or an instance by name and argument types, "fact(i64)". A
 * generic function found by its name alone is instantiated by each call for the types of its
 * arguments. HIA_NOT_FOUND if there is none, HIA_REJECTED if its body does not check at these
 * types. The function belongs to the module; the same name returns the same function. */
HIA_API hia_status hia_module_function(hia_module *module, const char *name,
                                       hia_function **function, hia_error **error);

/* ---- functions ---- */

HIA_API const char *hia_function_name(const hia_function *function); /* "fact", or "fact(i64)" */
HIA_API size_t hia_function_arity(const hia_function *function);
/* "fact(n: i64) -> i64"; for a generic function, "fact(n)". */
HIA_API const char *hia_function_signature(const hia_function *function);
/* True if parameter types are missing, so that it has no result type and no code of its own. */
HIA_API bool hia_function_is_generic(const hia_function *function);

/* The instance of a generic function that a call with these arguments runs; the function itself if
 * it is not generic. It belongs to the module. HIA_ARGUMENT if the arguments do not fit,
 * HIA_REJECTED if the body does not check at their types. */
HIA_API hia_status hia_function_instance(hia_function *function, hia_value *const *args, size_t n,
                                         hia_function **instance, hia_error **error);
/* The instance for arguments of these types. Errors as above. */
HIA_API hia_status hia_function_instance_of(hia_function *function,
                                            const hia_type_info *const *types, size_t n,
                                            hia_function **instance, hia_error **error);

/* Makes a function ready to run: builds and optimises its graph, then compiles it or lays it out
 * for the interpreter. An engine that chooses (HIA_ENGINE_AUTO) compiles it, unless it cannot make
 * native code at all. HIA_ARGUMENT if it is generic. */
HIA_API hia_status hia_function_prepare(hia_function *function, hia_error **error);

/* What a function runs as. */
typedef enum hia_tier {
  HIA_TIER_NONE = 0,   /* nothing yet: it is made ready by its first call */
  HIA_TIER_IMAGE = 1,  /* an image, which an interpreter runs */
  HIA_TIER_NATIVE = 2, /* native code */
} hia_tier;

/* ---- tiers ----
 *
 * In an engine of the kind HIA_ENGINE_AUTO a run begins in the interpreter, at once. When the runs
 * of a function have taken a millisecond in all, a thread of the engine begins to compile it; on a
 * machine with one core only when they have taken as long as compiling is expected to take. When
 * native code is there, later runs use it, and so does a run under way: it *begins again* in native
 * code, with the same arguments. What impure host functions have returned to it so far they are not
 * called for again. Results, failures, fuel, limits, backtraces and the order of effects are those
 * of any engine. Only these things can be seen of it:
 *
 * - a run that begins again reads elements of its streams again (hia_stream_position may go back),
 *   and calls pure host functions again;
 * - a run that spends most of its time in large operations on tensors, or has called an impure
 *   function that is registered as safe, or impure functions more than a million times, stays in
 *   the interpreter: native code is for the next run;
 * - hia_run_stats, hia_function_stats, the log, and the timeline tell which tier did what.
 *
 * An engine compiles on one thread, one function after the other. With a host's thread pool that is
 * a job of the pool. Freeing the engine waits for the step of LLVM that is under way. So does the
 * end of the process, unless it ends by _exit. */

/* What making a function ready has cost so far, in nanoseconds and bytes; 0 for steps that have not
 * happened. An instance is a function of its own: for a generic function only the figures of the
 * module are set. */
typedef struct hia_function_stats {
  size_t size;
  uint64_t parse_ns, check_ns; /* of the whole module */
  uint64_t build_ns;           /* program to function graphs */
  uint64_t passes_ns;          /* over the graph, tagging included */
  uint64_t flatten_ns;         /* interpreted: static graph to image */
  uint64_t open_ns;            /* native: loading the compiler, if this function was the first */
  uint64_t emit_ns;            /* native: static graph to LLVM IR */
  uint64_t optimize_ns;        /* native: LLVM's passes */
  uint64_t codegen_ns;         /* native: machine code, and linking it */
  uint64_t nodes;              /* of its static graph, called functions included */
  uint64_t image_bytes, code_bytes;
  uint64_t runs; /* begun by hia_call and hia_run; calls from other functions are not counted */
  hia_tier tier;
  uint32_t versions; /* made so far; runs with fuel have a version of their own. Times, nodes and
                        bytes are the sums of all versions */
  uint32_t hurried;  /* versions whose optimisation the engine's budget ended */
  int32_t opt_level; /* of the code of the last version: 0 if it was hurried, or is an image */
  uint64_t codegen_units; /* native: parts that were compiled one by one */
  uint64_t load_ns;       /* native: loading code from the cache, in place of what stands above */
} hia_function_stats;
#define HIA_FUNCTION_STATS_INIT                                                                    \
  {sizeof(hia_function_stats), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, HIA_TIER_NONE, 0, 0, 0, 0, 0}
HIA_API hia_status hia_function_get_stats(const hia_function *function, hia_function_stats *stats);

/* Writes which versions of a function assume something of its arguments, and why: what each of them
 * assumes and what for, how many runs have used it and what these gain, which runs did not fit it,
 * and why there is no further one (docs/speculation.md, "It explains itself"). As lines of text for
 * people, or as one document of JSON with the same facts. `write` is called once, with the whole.
 * Runs go on meanwhile, and a later run may change all of it. Of an engine that makes no such
 * versions it says that. HIA_ARGUMENT if the function is generic or there is no `write`; HIA_IO if
 * `write` returned false; HIA_MEMORY. */
HIA_API hia_status hia_function_explain(const hia_function *function, bool json, hia_write write,
                                        void *user, hia_error **error);

/* ---- typed entries ----
 *
 * A function of a program as a function of C, with parameters and results of C's types
 * (hiaton/runtime.h). No values, checks or statistics come between: entering costs some
 * nanoseconds. Data and arrays are values here too, with their types checked, and tensors are
 * addresses and sizes (hiaton/tensors.h); hia_context_error names a parameter that is wrong.
 *
 *   typedef hia_status (*fib_fn)(hia_context *, int32_t, int32_t *);
 *   hia_native_fn entry;
 *   hia_context *context;
 *   int32_t x;
 *   if (hia_function_entry(fib, &entry, &error) == HIA_OK &&
 *       hia_engine_context_new(engine, &context, &error) == HIA_OK &&
 *       ((fib_fn)entry)(context, 20, &x) == HIA_OK) ...
 *
 * A context serves functions of any engines; one from hia_context_new does as well.
 * hia_run_options and the engine's HIA_FLAG_COUNT do not apply to typed entries. */

/* Any function; the host casts it to the type that it has. */
typedef void (*hia_native_fn)(void);

/* The typed entry of a function; the function is first made ready if necessary. Both come from the
 * engine's cache if they are there. The entry belongs to the module and lives as long as it does.
 * HIA_ARGUMENT if the function is generic, HIA_UNSUPPORTED if the engine makes no native code: it
 * is an interpreter, or it cannot (hia_engine_native returns the reason). */
HIA_API hia_status hia_function_entry(hia_function *function, hia_native_fn *entry,
                                      hia_error **error);

/* The typed entry of the version that uses up the context's fuel (hia_context_set_fuel), as runs
 * with fuel do. Its type in C is the same. This version is compiled separately, and a call takes
 * some nanoseconds more. HIA_UNSUPPORTED also if the function cannot have fuel
 * (hia_function_can_have_fuel). */
HIA_API hia_status hia_function_entry_with_fuel(hia_function *function, hia_native_fn *entry,
                                                hia_error **error);

/* The map entry of a function, which computes it for all rows of columns (hiaton/runtime.h,
 * "Maps"). It is compiled at the first request, unless the cache has it, belongs to the module and
 * lives as long. Threads and errors as for hia_function_entry and hia_function_entry_with_fuel. */
HIA_API hia_status hia_function_map(hia_function *function, hia_native_fn *map, hia_error **error);
HIA_API hia_status hia_function_map_with_fuel(hia_function *function, hia_native_fn *map,
                                              hia_error **error);

/* The plain function of a function, a C function like int32_t f(int32_t): without context, status
 * and limits, on the caller's stack. It returns a scalar result; a tuple is written through
 * pointers as by typed entries. HIA_UNSUPPORTED, with the reason, unless the compiler can prove
 * that the function neither fails nor recurses nor loops, and that a small stack is enough. */
HIA_API hia_status hia_function_plain(hia_function *function, hia_native_fn *plain,
                                      hia_error **error);

/* A context (hia_context_free) with the engine's limits, allocator and threads; the engine outlives
 * it. For engines of any kind. */
HIA_API hia_status hia_engine_context_new(hia_engine *engine, hia_context **context,
                                          hia_error **error);

/* ---- calls ---- */

/* What a run used. */
typedef struct hia_run_stats {
  size_t size;
  uint64_t run_ns;        /* without compiling */
  uint64_t calls, rounds; /* made by the program; the host's call is not counted */
  uint64_t firings;       /* live nodes fired (interpreted) */
  uint64_t frames;        /* frames made (interp), graph copies (expand) */
  uint64_t peak_frames;   /* the maximum alive at once */
  uint64_t peak_bytes;    /* the maximum of bytes of frames, copies or stack */
  uint64_t steals;        /* jobs that a worker took from another */
  bool is_counted; /* `calls` and `rounds` are known: the engine counts, and the function does not
                      come from a graph that was dumped by an engine that does not */
  bool is_fuelled; /* `fuel_left` is known: the run had fuel and has ended with HIA_OK or HIA_FUEL.
                      After any other failure it is not */
  uint64_t fuel_left; /* 0 if it is not known */
  /* Bytes that the run took for its objects: data, arrays and tensors. Memory that the program
     frees and uses again counts once, larger blocks than 64 KiB each time */
  uint64_t heap_bytes;
  uint64_t system_bytes; /* of these, bytes that came from the allocator: engines keep some memory
                            from one run to the next, so that later runs need not ask for any */
  /* What was computed for many calls at a time (docs/batching.md); times of all threads together.
     In the interpreter a row is an operation, and a wave those of one signature. */
  uint64_t batch_rows, batch_waves;
  uint64_t batch_plan_ns;    /* finding waves */
  uint64_t batch_gather_ns;  /* putting operands side by side */
  uint64_t batch_compute_ns; /* the rest */
  uint64_t batch_reused;     /* rows, besides, that were equal to others, and not computed */
  /* HIA_ENGINE_AUTO: what the interpreter did before native code took over is not among the figures
     above, except the time, of which this is the part that it took; 0: it did not take over */
  uint64_t interpreted_ns;
  hia_tier tier;       /* what the run has ended in */
  uint32_t n_restarts; /* how often it has begun again: 0 to 3 */
  uint32_t version;    /* number of the version that it used, which assumes something of arguments
                          (docs/speculation.md); 0: the general one */
  uint32_t reserved;   /* 0 */
} hia_run_stats;
#define HIA_RUN_STATS_INIT                                                                         \
  {sizeof(hia_run_stats), 0, 0, 0, 0, 0, 0, 0, 0, false, false, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,      \
   HIA_TIER_NONE,         0, 0, 0}

typedef struct hia_run_options {
  size_t size;
  hia_run_stats *stats; /* filled in whether the run fails or not, with 0 if no run began; NULL: no
                           statistics */
  hia_cancel *cancel;   /* ends the run with HIA_CANCELLED once it is requested; NULL: none */
  uint64_t timeout_ns; /* ends it with HIA_DEADLINE when it has taken this long, compiling included;
                          0: no timeout */
  hia_timeline *timeline; /* records what the run does; NULL: none */
  bool has_fuel; /* each call and each loop round uses up one of the run's fuel, and an operation on
                    tensors one for every 1024 scalar operations; the host's call is not counted. A
                    run that needs more ends with HIA_FUEL, at the same operation in every engine
                    (docs/language.md, "Fuel"). It runs on one thread, and the function is compiled
                    once more for such runs. false: no limit */
  uint64_t fuel; /* with has_fuel: 0 allows no call, no round, and no operation on tensors that
                    costs something. Without has_fuel it must be 0, else HIA_ARGUMENT */
  /* Limits of this run, as in hia_engine_options; the lesser of this and the engine's applies,
     where both are set; 0: the engine's. Compiling for the run may take max_memory, or 16 MiB if
     that is more; LLVM's own memory is not counted */
  size_t max_depth, max_memory;
  /* By parameter, as many as there are arguments: a stream in place of an argument, which is then
     NULL; or NULL. NULL: no streams. The function is compiled once more for such runs.
     HIA_UNSUPPORTED if it does more with the array than to read elements and its length, and to
     call functions that do no more; or if it is generic. HIA_IO if the file has changed since it
     was opened */
  hia_stream *const *streams;
  hia_profile *profile; /* counts where the run spends its time; NULL: none does */
} hia_run_options;
#define HIA_RUN_OPTIONS_INIT                                                                       \
  {sizeof(hia_run_options), NULL, NULL, 0, NULL, false, 0, 0, 0, NULL, NULL}

/* As hia_function_prepare, for runs with these options (NULL: the defaults): runs with fuel, and
 * runs with streams, have versions of their own. HIA_UNSUPPORTED if the function cannot have fuel
 * (see hia_run), or streams. Of `streams` it only matters that there are some. */
HIA_API hia_status hia_function_prepare_for(hia_function *function, const hia_run_options *options,
                                            hia_error **error);

/* Called once when a function is ready, or cannot be made ready, on the thread that has made it. It
 * may call functions of the engine. */
typedef void (*hia_function_ready)(void *user, hia_function *function, hia_status status);

/* As hia_function_prepare_for, without waiting: `ready` (or NULL) is called when it is done; within
 * this call if the function was ready already. If the module is freed before, it is called with
 * HIA_CANCELLED, at the latest when the engine is freed. HIA_MEMORY, and HIA_THREADS if no thread
 * can be had: then `ready` is not called. */
HIA_API hia_status hia_function_prepare_later(hia_function *function,
                                              const hia_run_options *options,
                                              hia_function_ready ready, void *user,
                                              hia_error **error);

/* Calls a function and waits for its result. `args` are n values of the types of its parameters,
 * which the caller keeps. HIA_ARGUMENT if they do not fit. HIA_DIV_ZERO, HIA_DIV_OVERFLOW or
 * HIA_FAILED if the program fails; the error holds the position and the backtrace. HIA_DEPTH,
 * HIA_MEMORY and other resource statuses if a limit ends the run; the error holds the backtrace at
 * that point. The engine is usable afterwards in any case. */
HIA_API hia_status hia_call(hia_function *function, hia_value *const *args, size_t n,
                            hia_value **result, hia_error **error);
/* Calls a function as hia_call does, with options; NULL: the defaults. HIA_UNSUPPORTED for fuel in
 * a module that was read as a static graph, or as a graph whose calls are forked already. */
HIA_API hia_status hia_run(hia_function *function, hia_value *const *args, size_t n,
                           const hia_run_options *options, hia_value **result, hia_error **error);

/* ---- ending runs ----
 *
 * A hia_cancel may be passed to any number of runs, of any engines and at any time
 * (hia_run_options). Once a thread requests it (not from a signal handler), its runs under way end
 * soon, and runs that begin with it end at once, until it is reset. Ending a run takes some
 * microseconds; code gets no slower by being cancellable. A run that completes before it polls
 * returns its result.
 *
 * A run that is ended while its function is compiled returns at once. A run that can be ended
 * compiles on a thread of the engine: that thread stops when it finds that no run needs the
 * function any more, and otherwise completes it for later runs; hia_engine_free waits for it. In
 * an engine with a host's thread pool (hia_engine_options.pool) the calling thread compiles, and
 * the run ends at the compiler's next check. */

/* NULL when out of memory. `allocator` is copied; NULL: malloc. */
HIA_API hia_cancel *hia_cancel_new(const hia_allocator *allocator);
/* No run may use it any more. */
HIA_API void hia_cancel_free(hia_cancel *cancel);
HIA_API void hia_cancel_request(hia_cancel *cancel);
HIA_API bool hia_cancel_is_requested(const hia_cancel *cancel);
/* Runs that begin from now on are not cancelled; those that were cancelled before still end. */
HIA_API void hia_cancel_reset(hia_cancel *cancel);

#ifdef __cplusplus
}
#endif

#endif
