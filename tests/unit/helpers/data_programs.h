/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Random programs on data: lists and trees are made, taken apart, shared, handed through calls,
 * branches and loops. */
#ifndef HIA_TEST_DATA_PROGRAMS_H
#define HIA_TEST_DATA_PROGRAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Writes a program with `main(n: i32) -> i32`, which ends for every n. The same seed gives the same
 * program. With arrays it may fail, as an index may be out of range. `text` has room for `size`
 * bytes; returns false if that is too little. */
bool random_data_program(uint64_t seed, bool has_arrays, char *text, size_t size);

#endif
