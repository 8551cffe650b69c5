/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* hiaton: recursive dataflow programs, compiled and run inside your own.
 *
 *   #include <hiaton/hiaton.h>
 *   #include <stdio.h>
 *
 *   int main(void) {
 *     const char *text = "fn fib(n: i32) -> i32 =\n"
 *                        "  if n <= 1 then 1 else fib(n - 1) + fib(n - 2)\n";
 *     hia_engine *engine = NULL;
 *     hia_module *module = NULL;
 *     hia_function *fib = NULL;
 *     hia_value *n = NULL, *result = NULL;
 *     hia_error *error = NULL;
 *     int32_t x = 0;
 *     if (hia_engine_new(NULL, &engine, &error) == HIA_OK &&
 *         hia_module_load_text(engine, "fib.hia", text, strlen(text), &module, &error) == HIA_OK &&
 *         hia_module_function(module, "fib", &fib, &error) == HIA_OK) {
 *       n = hia_value_i32(engine, 20);
 *       if (hia_call(fib, &n, 1, &result, &error) == HIA_OK) {
 *         hia_value_get_i32(result, &x);
 *         printf("fib(20) = %d\n", x);
 *       }
 *     }
 *     if (error != NULL) fputs(hia_error_text(error), stderr);
 *     hia_error_free(error);
 *     hia_value_free(result);
 *     hia_value_free(n);
 *     hia_module_free(module);
 *     hia_engine_free(engine);
 *     return x == 10946 ? 0 : 1;
 *   }
 *
 * The rules, unless a function says otherwise:
 *
 * Statuses and errors. A function that can fail returns a hia_status, HIA_OK being 0, and has a
 * last parameter `error`. It may be NULL. If it is not, it is always set: to NULL on success, else
 * to an object that says what happened and that the caller frees (NULL if there was no memory even
 * for that). On failure all other results are set to NULL or 0. The library never prints, exits,
 * aborts, installs a signal handler or changes the process's state, and has no global state of its
 * own.
 *
 * Ownership. The caller owns what a function returns through a pointer to a pointer, and frees it
 * with the _free function of its type; every _free takes NULL. What is returned as const belongs
 * to the object that it was requested from, and lives as long as it does. Text passed in is
 * copied.
 *
 * Threads. Any function may be called from any thread at any time, also by several threads at once
 * on one engine, module or function. The only exception: an object must not be freed while another
 * thread passes it to a function. A call runs on the calling thread (and on as many further
 * workers as the engine may use).
 *
 * Lifetime. Engines outlive their modules, builders, values and contexts; a module owns its
 * functions, which live as long as it does. What an allocator's `user` points to outlives every
 * object with memory from that allocator, errors and values too.
 *
 * Out of memory. After HIA_MEMORY everything remains usable, modules too: what was being compiled
 * is discarded, and the next call starts again and may find memory. LLVM does not use the
 * allocator: where LLVM finds no memory, it ends the process.
 *
 * Callbacks. A host function, a log callback and a hia_write may call everything except
 * hia_engine_free, and functions of the builder or timeline that is being written. An allocator
 * and a thread pool's `start` must not call hiaton. None of them may leave by longjmp, a C++
 * exception or the end of the thread: hiaton's frames cannot be unwound.
 *
 * The process. Programs run on stacks of hiaton's own, in the rounding mode and with the treatment
 * of denormals that a process starts with. Signal handlers may run on these stacks if they need
 * less than 64 KiB, or use sigaltstack; they must not call hiaton. Functions that load, compile or
 * call take less than 64 KiB of the calling thread's stack, however deep a program nests. After
 * fork(), the child may use everything if the parent had no other thread (hiaton's own included);
 * otherwise it may only call typed entries, with a context without workers or timeout that was in
 * no call. docs/embedding.md says more.
 *
 * Bad input. Where an object, or a pointer to store one, is required and NULL is passed, a
 * function returns HIA_ARGUMENT; one that returns no status returns NULL, 0 or ""; one that
 * returns nothing does nothing. A value may be passed to functions of any engine: its own engine
 * only provides its memory. A function belongs to its module; with another module it is
 * HIA_ARGUMENT.
 *
 * Structures whose first field is `size` may grow in later versions: initialise them with their
 * _INIT. A shorter structure, from an earlier header, leaves the rest at its defaults. A longer
 * one, from a later header, is HIA_ARGUMENT unless all the bytes that this version does not know
 * are 0; in structures that hiaton fills in, those bytes are left as they were. */
#ifndef HIATON_H
#define HIATON_H

#define HIA_VERSION_MAJOR 0
#define HIA_VERSION_MINOR 1
#define HIA_VERSION_PATCH 0

#include <hiaton/build.h>     /* object files */
#include <hiaton/builder.h>   /* programs made by calls instead of by text */
#include <hiaton/cache.h>     /* the folder of a cache of native code */
#include <hiaton/data.h>      /* values and their types; files */
#include <hiaton/dump.h>      /* the stages of compilation, timelines */
#include <hiaton/engine.h>    /* engines, modules, functions, calls */
#include <hiaton/gradients.h> /* checking gradients */
#include <hiaton/inspect.h>   /* the functions and types of a module, as data */
#include <hiaton/params.h>    /* the params of a module, or of an object file */
#include <hiaton/profile.h>   /* where the time of runs goes, by line */
#include <hiaton/tensors.h>   /* tensors as parameters of typed entries */
#include <hiaton/training.h>  /* training params */
#include <hiaton/values.h>    /* values made with the memory of an engine */

#endif
