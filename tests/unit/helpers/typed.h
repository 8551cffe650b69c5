/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Calls of typed entries and map entries whose types are known only at run time. */
#ifndef HELPER_TYPED_H
#define HELPER_TYPED_H

#include <hiaton/hiaton.h>

/* True if the functions below work on this machine. */
bool typed_is_portable(void);

/* Skips a test that calls typed entries where this file cannot. */
#define NEEDS_TYPED                                                                                \
  do {                                                                                             \
    if (!typed_is_portable()) cr_skip_test("typed entries are called on x86-64 only");             \
  } while (0)

/* Calls the typed entry of a function, which is not generic, with n values of the types of its
 * parameters, data and arrays among them. OK: *result is a value of the engine. It passes the
 * arguments by the machine's calling convention, as compiled C code with that signature would. At
 * most 60 scalars in all. */
hia_status call_typed(hia_engine *engine, const hia_function *function, hia_native_fn entry,
                      hia_context *context, hia_value *const *args, size_t n, hia_value **result);

/* The same by the map entry, over `rows` rows of these values. Rows with different results, and
 * another hia_context_rows than the documented one, are HIA_INTERNAL. At most 64 rows. */
hia_status call_map(hia_engine *engine, const hia_function *function, hia_native_fn map,
                    hia_context *context, hia_value *const *args, size_t n, size_t rows,
                    hia_value **result);

#endif
