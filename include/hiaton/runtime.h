/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* What runs hiaton's functions: contexts, the errors they end with, statuses.
 *
 * The half of the public interface that a compiled program needs. It is libhiaton_rt's, which holds
 * no compiler; hiaton.h includes it, and so does every header that `hiaton build` writes.
 *
 * A function of a program is a function of C, its *typed entry*, whether the JIT made it
 * (hia_function_entry of hiaton.h) or an object file holds it:
 *
 *   fn fib(n: i32) -> i32             hia_status fib(hia_context *, int32_t n, int32_t *result)
 *   fn next(s: (i64, bool)) -> (i64, bool)
 *                                     hia_status next(hia_context *, int64_t s_0, bool s_1,
 *                                                     int64_t *result_0, bool *result_1)
 *
 * A scalar is one parameter, a tuple its scalars in order, inner tuples included; bool, int32_t,
 * int64_t, float and double stand for bool, i32, i64, f32 and f64. The result is written through
 * one pointer for each of its scalars; a pointer that is NULL says that it is not wanted. On any
 * other status than HIA_OK nothing is written, and hia_context_error tells more. The statuses are
 * those of hia_call (hiaton.h), besides HIA_ARGUMENT if the context is NULL and HIA_BUSY if it is
 * in a call.
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

/* A status in words: a stable one for scripts ("div-zero"), a sentence for people ("division by
 * zero"). Never NULL. */
HIA_API const char *hia_status_word(hia_status status);
HIA_API const char *hia_status_message(hia_status status);

/* ---- contexts ----
 *
 * A context holds the stack that calls run on, their limits, and the error of the last one that
 * failed. It is made once and used for any number of calls of any functions, by one thread at a
 * time: a call that finds it in another answers HIA_BUSY and changes nothing (two threads that
 * begin with it in the same instant may not find each other; so give each its own). It may pass
 * from one thread to another between calls.
 *
 * What is not said to be for any thread is for the one that uses the context.
 *
 * Calls are limited by depth, memory and time, and those of entries that were compiled for it by
 * fuel (hia_context_set_fuel). */

/* For each field the value that HIA_CONTEXT_OPTIONS_INIT gives is the default. */
typedef struct hia_context_options {
  size_t size;                    /* sizeof(hia_context_options) */
  const hia_allocator *allocator; /* copied; NULL: malloc */
  size_t max_depth;  /* bytes of stack, or of the interpreter's frames, of a call; 0: what is
                        available at its first call */
  size_t max_memory; /* bytes of a call in all, interpreted; 0: what is available */
  unsigned threads;  /* workers of a call, the calling thread among them; 0 and 1: it alone. The
                        others are the context's; they are started when a call of code that several
                        workers can run first has work for them, and end with it */
  bool interpret;    /* run the image in the object instead of its native code; HIA_UNSUPPORTED
                        from functions of modules that hold none (the JIT's do not). A library
                        whose functions were called so stays loaded until the context is freed */
  const hia_thread_pool *pool; /* copied; where the other workers come from; NULL: threads of the
                                  context's own */
} hia_context_options;
#define HIA_CONTEXT_OPTIONS_INIT {sizeof(hia_context_options), NULL, 0, 0, 1, false, NULL}

/* Makes a context that is independent of any engine; `options` may be NULL for the defaults. Its
 * stack is reserved (address space, which takes memory only where it is touched) by the first call.
 * HIA_ARGUMENT if an option makes no sense or is of a later version; HIA_MEMORY. */
HIA_API hia_status hia_context_new(const hia_context_options *options, hia_context **context);

/* No call may be using it. NULL is allowed. */
HIA_API void hia_context_free(hia_context *context);

/* What the last call has to say if it has failed, or NULL: it has not, or there is no memory to say
 * it. (A call that was answered HIA_BUSY does not count.) It is made when it is asked for, belongs
 * to the context and is gone when its next call begins. Ask before the module, or the library,
 * whose function failed is freed. */
HIA_API const hia_error *hia_context_error(hia_context *context);

/* A pointer for the host's own purposes; NULL at first. Functions of the host that a call calls
 * find it by hia_context_current: so those of an object file, which are called by their names and
 * with nothing but their arguments, know whom they work for. */
HIA_API void hia_context_set_user(hia_context *context, void *user);
HIA_API void *hia_context_user(const hia_context *context);

/* In a function of the host: the context of the typed entry's call that has called it, on whichever
 * thread of that call; it is in use. NULL anywhere else, and if hia_call or hia_run has called it.
 */
HIA_API hia_context *hia_context_current(void);

/* Ends the call that is under way, and every one that follows, with HIA_CANCELLED, until
 * hia_context_reset; also runs of any kind that functions of the host have begun inside of it. From
 * any thread at any time while the context exists, but not from a signal handler. It takes some
 * microseconds; a call that is over before it notices gives its result. */
HIA_API void hia_context_cancel(hia_context *context);
/* Calls that begin from now on may run again; one that was told to end does so. From any thread. */
HIA_API void hia_context_reset(hia_context *context);

/* Every call that begins from now on ends with HIA_DEADLINE when it has run for so many
 * nanoseconds; 0: it may take its time, as at first. A thread keeps the time, which the first call
 * with a timeout starts: one of the engine's, or of the context. Such calls cost about 100 ns more.
 */
HIA_API void hia_context_set_timeout(hia_context *context, uint64_t timeout_ns);

/* Calls that begin from now on use up this fuel, all of them together: the calls and loop rounds
 * that they make, as hia_run counts them (docs/language.md, "Fuel"). One that needs more than is
 * left ends with HIA_FUEL. Only entries that were compiled for it know how: those of
 * hia_function_entry_with_fuel (hiaton.h), and all of an object that was built with fuel; any other
 * is HIA_UNSUPPORTED with a context that has fuel. Without this, or after _clear_fuel, they have no
 * such limit. Both do nothing while a call is under way. */
HIA_API void hia_context_set_fuel(hia_context *context, uint64_t fuel);
HIA_API void hia_context_clear_fuel(hia_context *context);
/* True if the context has fuel; *left, unless `left` is NULL, is what is left of it, as after
 * hia_run: a call that ends otherwise than with HIA_OK or HIA_FUEL has used up all that there was,
 * unless it was refused before it began. False: *left is 0. */
HIA_API bool hia_context_fuel_left(const hia_context *context, uint64_t *left);

/* ---- errors ----
 *
 * An error holds one or more entries: a rejected program has one for each mistake, everything else
 * exactly one. An error outlives what it is about. */

HIA_API void hia_error_free(hia_error *error);
HIA_API hia_status hia_error_status(const hia_error *error); /* HIA_OK for NULL */
/* All of it for people: each entry with position, the source line, a caret and hints; then the
 * chain of calls, the middle left out when it is long. Ends with a line end. */
HIA_API const char *hia_error_text(const hia_error *error);

/* The entries. Strings are "" where there is nothing to say or no entry i; numbers are 0. */
HIA_API size_t hia_error_count(const hia_error *error);
HIA_API const char *hia_error_code(const hia_error *error,
                                   size_t i); /* stable: "E0101", "div-zero" */
HIA_API const char *hia_error_message(const hia_error *error, size_t i);
HIA_API const char *hia_error_hint(const hia_error *error, size_t i);
HIA_API const char *hia_error_file(const hia_error *error, size_t i);
HIA_API uint32_t hia_error_line(const hia_error *error, size_t i); /* from 1; 0: no position */
HIA_API uint32_t hia_error_col(const hia_error *error, size_t i);  /* from 1, in bytes */
/* The column behind the last byte that is meant, on the same line; 0: not known. */
HIA_API uint32_t hia_error_end_col(const hia_error *error, size_t i);
/* The notes of entry i: other places that matter ("defined here"), and the calls that the types of
 * a generic function come from. One without a place has the file "" and the line 0. */
HIA_API size_t hia_error_note_count(const hia_error *error, size_t i);
/* Note k of entry i. Returns false if there is none; the results are then "" and 0. Any of them may
 * be NULL. */
HIA_API bool hia_error_note(const hia_error *error, size_t i, size_t k, const char **message,
                            const char **file, uint32_t *line, uint32_t *col);
/* The number of mistakes that were found beyond the entries, which are at most 50. */
HIA_API uint32_t hia_error_n_left_out(const hia_error *error);

/* HIA_FAILED: the argument that `fail` was called with. */
HIA_API int64_t hia_error_fail_code(const hia_error *error);

/* The chain of calls of a failed run, innermost first: entry 0 is the operation that failed, each
 * further one the call that led there. The length may be millions; the ends of a long chain are
 * kept. */
HIA_API uint64_t hia_error_chain_length(const hia_error *error);
/* True: the chain is longer than that. A run that is cancelled, or past its deadline, millions of
 * calls deep ends at once, and nobody counts those in the middle. */
HIA_API bool hia_error_chain_is_cut(const hia_error *error);
/* Entry i: the function that the position lies in, and the position. False if it is not kept, or
 * past the end. Any of the results may be NULL. */
HIA_API bool hia_error_chain_entry(const hia_error *error, uint64_t i, const char **function,
                                   const char **file, uint32_t *line, uint32_t *col);

#ifdef __cplusplus
}
#endif
#endif
