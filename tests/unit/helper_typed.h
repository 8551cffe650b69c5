/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Calls of typed entries whose type is known at run time only. */
#ifndef HELPER_TYPED_H
#define HELPER_TYPED_H

#include <hiaton/hiaton.h>

/* Can call_typed be had on this machine? */
bool typed_is_portable(void);

/* Calls the typed entry of a function, which is not generic, with n values of the types of its
 * parameters. OK: the result as a value of the engine. The same signature in C would be written by
 * hand: this lays the arguments out as the machine's convention says. At most 60 scalars in all. */
hia_status call_typed(hia_engine *engine, const hia_function *function, hia_native_fn entry,
                      hia_context *context, hia_value *const *args, size_t n, hia_value **result);

#endif
