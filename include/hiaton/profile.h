/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Where the time of runs goes, and their memory, by function and line: a profile by sampling
 * (docs/profile.md). hiaton.h includes this file.
 *
 * A clock ticks while a run with a profile is under way (hia_run_options.profile). After a tick
 * each of its workers counts the line that it is at, and the lines of the calls that have led
 * there, at its next safepoint: in native code a call, a round of a loop, or where it waits for
 * what is computed in batches; in the interpreter a call. What takes long without a safepoint is
 * counted at the next one. It costs next to nothing: some microseconds a tick. No signals are
 * used.
 *
 * In an engine with HIA_FLAG_PROFILE_MEMORY each worker also counts the bytes that it takes for
 * data, arrays and tensors, and each time that it has taken some more it counts the line that takes
 * memory then, with the lines of the calls that have led there. What was given back and is taken
 * again counts again. What an object is made of in place, as of one that dies there, takes
 * nothing. */
#ifndef HIATON_PROFILE_H
#define HIATON_PROFILE_H

#include <hiaton/engine.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A profile may be passed to any number of runs, also of several modules, and at once. It keeps
 * what it counts by the names of functions and files. Thread-safe, except for hia_profile_free.
 * `tick_ns`: from one tick to the next; 0: a millisecond. `allocator` is copied; NULL: malloc.
 * NULL: no memory. */
HIA_API hia_profile *hia_profile_new(const hia_allocator *allocator, uint64_t tick_ns);
/* No run may be using it. `profile` may be NULL. */
HIA_API void hia_profile_free(hia_profile *profile);

/* A line of a function. */
typedef struct hia_profile_line {
  size_t size;                 /* sizeof(hia_profile_line) */
  const char *function, *file; /* live as long as the profile */
  uint32_t line, reserved;     /* of the file, from 1 on */
  uint64_t self, total;        /* ticks at this line; and at it or in what it calls, where a line
                                  that recurs counts once */
  uint64_t taken, total_taken; /* bytes of memory, likewise: multiples of hia_profile_sum.sample */
} hia_profile_line;
#define HIA_PROFILE_LINE_INIT {sizeof(hia_profile_line), NULL, NULL, 0, 0, 0, 0, 0, 0}

/* What was counted up to now, of all threads together. */
typedef struct hia_profile_sum {
  size_t size;      /* sizeof(hia_profile_sum) */
  uint64_t tick_ns; /* from one tick to the next */
  uint64_t ticks;   /* that workers have counted */
  uint64_t unknown; /* among them those of which nothing is known, as of the function that a run
                       begins in, before its first call */
  uint64_t n_lines; /* that were counted */
  uint64_t sample;  /* bytes from one sample of memory to the next, on average; 0: no run was in an
                       engine with HIA_FLAG_PROFILE_MEMORY */
  uint64_t taken;   /* bytes that runs have taken, as far as these samples show */
  uint64_t unknown_taken; /* among them those of which nothing is known */
} hia_profile_sum;
#define HIA_PROFILE_SUM_INIT {sizeof(hia_profile_sum), 0, 0, 0, 0, 0, 0, 0}

/* Fills in *sum, which the caller has initialised with HIA_PROFILE_SUM_INIT. HIA_ARGUMENT if it has
 * not. Runs that are under way are not in it. */
HIA_API hia_status hia_profile_get_sum(hia_profile *profile, hia_profile_sum *sum);
/* Fills in *line, which the caller has initialised with HIA_PROFILE_LINE_INIT, with line i of
 * those that were counted: those with most ticks of their own come first. HIA_ARGUMENT if there are
 * fewer, or it is not initialised. While runs go on, the order may change from call to call. */
HIA_API hia_status hia_profile_get_line(hia_profile *profile, uint64_t i, hia_profile_line *line);

/* ---- what runs do ---- */

typedef enum hia_point_of {
  HIA_POINT_OF_PARAMETER, /* of a function, in each of its calls */
  HIA_POINT_OF_BRANCH,    /* the condition of an `if`, or of an arm of a `match` */
  HIA_POINT_OF_LOOP,      /* how many rounds it had, each time that it ended */
} hia_point_of;

/* What came to a point of the program in a run. Texts live until the callback returns. */
typedef struct hia_observed_point {
  size_t size; /* sizeof(hia_observed_point) */
  hia_point_of of;
  uint32_t line, column;       /* of the branch, the loop, or the function */
  const char *function, *file; /* in the source */
  const char *parameter;       /* its name; NULL: it has none, or is none */
  const char *type;            /* of what was seen, as the language writes it */
  uint64_t times, changes;     /* how often; and how often it was not as the time before */
  uint64_t times_true;         /* of conditions */
  const char *least, *most;    /* of numbers, rounds, lengths of arrays, sizes of tensors by
                                  axis, as f32[3, 4]; NULL: of data, conditions, and NaN */
  const char *constructors;    /* that there were, as Leaf, Node; of a condition the one that it
                                  asks for; NULL: neither */
} hia_observed_point;
/* Returns false to get no further points. */
typedef bool hia_see(void *user, const hia_observed_point *point);

/* Calls the function with these arguments in the interpreter, which notes what comes to each point
 * of the program: parameters, conditions, rounds of loops. The run ends after `max_ns` (0: 20 ms),
 * and after some hundred thousand of them. Its result is lost. `see` is called behind it for each
 * point that the run could have come to, those of the function first, and may call functions of the
 * engine. Any thread may call this. HIA_UNSUPPORTED: of functions that
 * compute gradients, that call impure functions of the host, or of modules that were read as
 * graphs; and of engines that make native code alone. If the run fails, its error. */
HIA_API hia_status hia_function_observe(hia_function *function, hia_value *const *args, size_t n,
                                        uint64_t max_ns, hia_see *see, void *user,
                                        hia_error **error);

#ifdef __cplusplus
}
#endif

#endif
