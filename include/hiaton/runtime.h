/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* What a host needs to run compiled functions: contexts, errors and statuses.
 *
 * This is the half of the public interface that a compiled program needs. It belongs to
 * libhiaton_rt, which holds no compiler; hiaton.h includes it, and so does every header that
 * `hiaton build` writes.
 *
 * A host calls a function of a program through a function of C, its *typed entry*, which the JIT
 * makes (hia_function_entry of hiaton.h) or an object file holds:
 *
 *   fn fib(n: i32) -> i32             hia_status fib(hia_context *, int32_t n, int32_t *result)
 *   fn next(s: (i64, bool)) -> (i64, bool)
 *                                     hia_status next(hia_context *, int64_t s_0, bool s_1,
 *                                                     int64_t *result_0, bool *result_1)
 *
 * A scalar is one parameter, a tuple its parts in order, inner tuples included; bool, int32_t,
 * int64_t, float and double stand for bool, i32, i64, f32 and f64. Data or an array is a value
 * (hiaton/data.h): a const hia_value *, which the call borrows, and as a result a hia_value *,
 * which the caller frees. A tensor is a pointer to the address of its elements and its sizes, a
 * const hia_f32_2 * (hiaton/tensors.h), and as a result a hia_value *. The result is written
 * through one pointer for each of its parts; where a pointer is NULL, that part is dropped. On any
 * status other than HIA_OK nothing is written, and hia_context_error returns the error. The
 * statuses are those of hia_call (hiaton.h), and also HIA_ARGUMENT if the context is NULL and
 * HIA_BUSY if it is in a call.
 *
 * The rules on errors, ownership and lifetime are those of hiaton.h. */
#ifndef HIATON_RUNTIME_H
#define HIATON_RUNTIME_H

#include <hiaton/types.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hia_context hia_context; /* what a thread needs to call typed entries */
typedef struct hia_error hia_error;     /* what went wrong; never changes */

/* A status in words: a stable word for scripts ("div-zero"), a message for people ("division by
 * zero"). Never NULL. */
HIA_API const char *hia_status_word(hia_status status);
HIA_API const char *hia_status_message(hia_status status);

/* ---- contexts ----
 *
 * A context holds the stack that calls run on, their limits, and the error of the last call that
 * failed. It is made once and used for any number of calls of any functions, by one thread at a
 * time: a call that finds its context in another call returns HIA_BUSY and changes nothing. (That
 * check is not reliable for two threads that begin at the same instant: each thread needs a
 * context of its own.) A context may pass from one thread to another between calls.
 *
 * A function below may be called from any thread only where it says so, otherwise only from the
 * thread that uses the context.
 *
 * Calls are limited by depth, memory and time, and those of entries that were compiled for it by
 * fuel (hia_context_set_fuel). */

/* A limit of depth or of memory that allows any; 0 stands for the default. */
#define HIA_NO_LIMIT SIZE_MAX

/* The bytes that values may take where no limit of memory is set: seven eighths of what the
 * machine, the control groups of the process (v1 and v2) and its limits RLIMIT_AS and RLIMIT_DATA
 * have left. Memory in swap does not count; files in memory that the system can give up count as
 * left. All runs of the process share this. Reads some files of the system, which takes up to a
 * tenth of a millisecond. Any thread. */
HIA_API size_t hia_memory_left(void);

/* hia_context_options.flags. */
typedef enum hia_context_flag {
  /* Interpret the image in the object instead of running its native code; functions of objects
     without an image, and those that the JIT made, return HIA_UNSUPPORTED. A library whose
     functions were called so must stay loaded until the context is freed. */
  HIA_CONTEXT_INTERPRET = 1 << 0,
  /* Large products of matrices of floats add in the order of OpenBLAS, as with
     HIA_FLAG_FAST_PRODUCTS of an engine (hiaton/engine.h). Without it, only those of code that was
     built so. */
  HIA_CONTEXT_FAST_PRODUCTS = 1 << 1,
} hia_context_flag;

/* HIA_CONTEXT_OPTIONS_INIT holds the default of each field. */
typedef struct hia_context_options {
  size_t size;                    /* sizeof(hia_context_options) */
  const hia_allocator *allocator; /* copied; NULL: malloc */
  size_t max_depth;  /* bytes of stack, or of the interpreter's frames, of a call. 0: 2 GiB of
                        stack, 4 GiB of frames, and no more than hia_memory_left says; HIA_NO_LIMIT:
                        no limit */
  size_t max_memory; /* bytes that a call may use for what it makes, and if it is interpreted for
                        all of it. 0: what hia_memory_left says; HIA_NO_LIMIT: no limit */
  unsigned threads;  /* workers of a call, the calling thread among them; 0 and 1: it alone. The
                        others belong to the context: they start when a call of code that several
                        workers can run first has work for them, and end when the context is freed */
  uint64_t flags;    /* hia_context_flag, joined by `|`; 0. Others are HIA_ARGUMENT */
  const hia_thread_pool *pool; /* copied; where the other workers come from; NULL: threads of the
                                  context's own */
} hia_context_options;
#define HIA_CONTEXT_OPTIONS_INIT {sizeof(hia_context_options), NULL, 0, 0, 1, 0, NULL}

/* Makes a context that is independent of any engine; `options` may be NULL for the defaults. The
 * first call reserves its stack, as address space: it takes memory only where it is touched.
 * HIA_ARGUMENT if an option is not valid or is of a later version; HIA_MEMORY. */
HIA_API hia_status hia_context_new(const hia_context_options *options, hia_context **context);

/* No call may be using the context. NULL is allowed. */
HIA_API void hia_context_free(hia_context *context);

/* The error of the last call, or NULL if that call did not fail, or there is no memory for the
 * error. (A call that returned HIA_BUSY does not count.) The error is made by this function,
 * belongs to the context and lives until the next call begins. It must be fetched before the
 * module, or the library, whose function failed is freed. */
HIA_API const hia_error *hia_context_error(hia_context *context);

/* A pointer for the host's own purposes; NULL at first. Host functions that a call calls find it
 * through hia_context_current. The host functions of an object file need that: they are called by
 * name, with nothing but their arguments. */
HIA_API void hia_context_set_user(hia_context *context, void *user);
HIA_API void *hia_context_user(const hia_context *context);

/* In a host function: the context of the typed entry's call that has called it, on whichever
 * thread of that call. That context is in use. NULL anywhere else, and in a host function that
 * hia_call or hia_run has called. */
HIA_API hia_context *hia_context_current(void);

/* Ends the call that is under way, and every call that follows, with HIA_CANCELLED, until
 * hia_context_reset. It also ends runs of any kind that host functions have begun inside that
 * call. It may be called from any thread at any time while the context exists, but not from a
 * signal handler. Ending takes some microseconds; a call that completes before it polls returns
 * its result. */
HIA_API void hia_context_cancel(hia_context *context);
/* Calls that begin from now on may run again; a call that was cancelled before still ends. It may
 * be called from any thread. */
HIA_API void hia_context_reset(hia_context *context);

/* Every call that begins from now on ends with HIA_DEADLINE when it has run for this many
 * nanoseconds; 0: without a timeout, as at first. The first call with a timeout starts a timer
 * thread, that of the engine or of the context. Calls with a timeout cost about 100 ns more. */
HIA_API void hia_context_set_timeout(hia_context *context, uint64_t timeout_ns);

/* Sets the fuel for all calls that begin from now on, together. The calls and loop rounds that they
 * make and their operations on tensors use it up, as in hia_run (docs/language.md, "Fuel"). A call
 * that needs more than is left ends with HIA_FUEL. It needs an entry that was compiled for fuel:
 * from hia_function_entry_with_fuel (hiaton.h), or of an object that was built with fuel. Any other
 * entry returns HIA_UNSUPPORTED if the context has fuel. A context has no such limit at first, and
 * after _clear_fuel. Both functions do nothing while a call is under way. */
HIA_API void hia_context_set_fuel(hia_context *context, uint64_t fuel);
HIA_API void hia_context_clear_fuel(hia_context *context);
/* True if the context has fuel; *left is then the amount that is left. A call that ends in another
 * way than with HIA_OK or HIA_FUEL has used up all fuel, as in hia_run, unless it was refused
 * before it began. If false, *left is 0. `left` may be NULL. */
HIA_API bool hia_context_fuel_left(const hia_context *context, uint64_t *left);

/* ---- maps ----
 *
 * A map entry computes a function of a program for each of the n rows of columns.
 *
 *   fn mean(x: f64, y: f64) -> f64    hia_status mean_map(hia_context *, size_t n, const double *x,
 *                                                         const double *y, double *result)
 *
 * There is a column for each scalar of the parameters, then one for each scalar of the result, of
 * C's types and aligned as these require. They are the caller's. None may be NULL unless n is 0. A
 * column of the result may be a column of a parameter of the same size, at the same address: each
 * row then replaces its own elements. A column of the result that overlaps another column in any
 * other way is HIA_ARGUMENT.
 *
 * The results are bit for bit those of n calls of the typed entry, in order. The first row that
 * fails ends the map with its status, and the message of the error names it. The rows before it are
 * written, and no others. If a limit ends the map, the rows that are written are whole too. Limits,
 * cancels, the timeout and fuel apply to the map as a whole. What holds for typed entries of
 * contexts, threads and HIA_BUSY holds for maps.
 *
 * A column of data or arrays has a value in each row (hiaton/data.h), and one of tensors a tensor:
 * of a parameter, where the map borrows them, const hia_value *const *, or const hia_f32_2 *const *
 * (hiaton/tensors.h); of a result, where they are the caller's, as many as rows
 * are written, hia_value **. Such a column may not overlap a column of the result, and each row is
 * a run of its own: max_memory is that of a row. */

/* The number of rows that the last map with this context has written: n after HIA_OK, else the
 * number, from 0, of the row that ended it. 0 before the first map, and if the map was refused
 * before its code was entered. HIA_BUSY leaves it as it was. The caller is the thread that uses the
 * context. */
HIA_API uint64_t hia_context_rows(const hia_context *context);

/* ---- errors ----
 *
 * An error holds one or more entries: that of a rejected program has one for each mistake, any
 * other error exactly one. An error may outlive the module, engine or context that it is about. */

HIA_API void hia_error_free(hia_error *error);
HIA_API hia_status hia_error_status(const hia_error *error); /* HIA_OK for NULL */
/* The whole error as text for people: each entry with position, source line, caret and hints; then
 * the backtrace, without its middle when it is long. The text ends with a line end. */
HIA_API const char *hia_error_text(const hia_error *error);

/* The entries. Where an entry lacks the item, or there is no entry i, strings are "" and numbers
 * are 0. */
HIA_API size_t hia_error_count(const hia_error *error);
HIA_API const char *hia_error_code(const hia_error *error,
                                   size_t i); /* stable: "E0101", "div-zero" */
HIA_API const char *hia_error_message(const hia_error *error, size_t i);
HIA_API const char *hia_error_hint(const hia_error *error, size_t i);
HIA_API const char *hia_error_file(const hia_error *error, size_t i);
HIA_API uint32_t hia_error_line(const hia_error *error, size_t i); /* from 1; 0: no position */
HIA_API uint32_t hia_error_col(const hia_error *error, size_t i);  /* from 1, in bytes */
/* The column after the last byte of the marked range, on the same line; 0: not known. */
HIA_API uint32_t hia_error_end_col(const hia_error *error, size_t i);
/* The hint of entry i as a change of the source: in `file`, what stands from line and col up to,
 * but not with, end_line and end_col (counted as above) becomes `text`. The range may be empty. The
 * file may be another one than the entry's. The changed program no longer has this error, but it
 * may have others. Returns false if the hint is no such change, or there is none; the results are
 * then "" and 0. Any result pointer may be NULL. Strings belong to the error. */
HIA_API bool hia_error_fix(const hia_error *error, size_t i, const char **text, const char **file,
                           uint32_t *line, uint32_t *col, uint32_t *end_line, uint32_t *end_col);
/* The notes of entry i: other places that matter ("defined here"), and the calls that the types of
 * a generic function come from. A note without a place has the file "" and the line 0. */
HIA_API size_t hia_error_note_count(const hia_error *error, size_t i);
/* Note k of entry i. Returns false if there is none; the results are then "" and 0. Any result
 * pointer may be NULL. */
HIA_API bool hia_error_note(const hia_error *error, size_t i, size_t k, const char **message,
                            const char **file, uint32_t *line, uint32_t *col);
/* The number of mistakes that were found beyond the entries, which are at most 50. */
HIA_API uint32_t hia_error_n_left_out(const hia_error *error);

/* HIA_FAILED: the argument that `fail` was called with. */
HIA_API int64_t hia_error_fail_code(const hia_error *error);
/* HIA_RANGE: what was asked of an array that has `length` elements: element `first`; or, then
 * *is_slice is true, those from `first` on and before `end`. Of another error it returns false, and
 * the results are 0. Any result pointer may be NULL. */
HIA_API bool hia_error_range(const hia_error *error, bool *is_slice, int64_t *first, int64_t *end,
                             int64_t *length);

/* The backtrace of a failed run: its chain of calls, innermost first. Entry 0 is the operation
 * that failed, each further entry the call that led there. The length may be millions; of a long
 * chain the error keeps both ends. */
HIA_API uint64_t hia_error_chain_length(const hia_error *error);
/* True if the chain is longer than hia_error_chain_length says. A run that is cancelled or past
 * its deadline when it is millions of calls deep ends at once, without counting the calls in the
 * middle. */
HIA_API bool hia_error_chain_is_cut(const hia_error *error);
/* Entry i: the function that the position lies in, and the position. Returns false if the entry
 * was not kept, or i is past the end. Any result pointer may be NULL. */
HIA_API bool hia_error_chain_entry(const hia_error *error, uint64_t i, const char **function,
                                   const char **file, uint32_t *line, uint32_t *col);

/* The elements that entry i is in: where its position lies in a comprehension, `[f(x) for x in
 * xs]`, the index of the element that was computed; of comprehensions in one another the outermost
 * first. Writes at most `n` of them, and returns how many there are: 0 if there are none, or none
 * is known, as where a resource has run out. `elements` may be NULL if n is 0. */
HIA_API uint32_t hia_error_chain_elements(const hia_error *error, uint64_t i, int64_t *elements,
                                          uint32_t n);

#ifdef __cplusplus
}
#endif
#endif
