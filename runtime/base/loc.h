/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Operands and elements in tables of locations.
 *
 * A failure of sizes shows the expressions that do not fit. Where they are is said by rows of the
 * tables of locations (of graphs, images and objects), between the location of the operation and
 * that of the call at which its body was inlined:
 *
 *   operation --parent--> operand 0 --parent--> operand 1 --parent--> call
 *
 * So operands need no table of their own, are inlined with the operation, and cost nothing where
 * there are none. Such a row has, where others name a function, HIA_LOC_OPERAND, the operand's
 * number and how many bytes it has; its line and column are those of the operand.
 *
 * In the same way a row with HIA_LOC_ELEMENT stands for an element of a comprehension: what has it
 * among its parents, before the next row of a function, is computed for one. Its line and column
 * are those of the comprehension. Which element that is, is known where a failure is
 * (graph/passes/elements.c). */
#ifndef HIA_LOC_H
#define HIA_LOC_H

#include "runtime/base/base.h"

#define HIA_LOC_OPERAND      0x80000000u
#define HIA_LOC_MAX_OPERANDS 64u       /* operands behind these have no row */
#define HIA_LOC_MAX_LEN      0xffffffu /* longer ones are said to have as many bytes */
#define HIA_LOC_ELEMENT      (HIA_LOC_OPERAND | HIA_LOC_MAX_OPERANDS << 24)

static inline uint32_t hiaR_loc_of_operand(uint32_t number, uint32_t len) {
  return HIA_LOC_OPERAND | number << 24 | (len < HIA_LOC_MAX_LEN ? len : HIA_LOC_MAX_LEN);
}
/* NONE is no operand: where an image has no name. */
static inline bool hiaR_loc_is_operand(uint32_t fn) {
  return fn & HIA_LOC_OPERAND && (fn >> 24 & 127) < HIA_LOC_MAX_OPERANDS;
}
static inline bool hiaR_loc_is_element(uint32_t fn) { return fn == HIA_LOC_ELEMENT; }
/* False: the row is of a function, the place of a call or of an operation. */
static inline bool hiaR_loc_is_mark(uint32_t fn) {
  return hiaR_loc_is_operand(fn) || hiaR_loc_is_element(fn);
}
static inline uint32_t hiaR_loc_operand(uint32_t fn) { return fn >> 24 & 127; }
static inline uint32_t hiaR_loc_len(uint32_t fn) { return fn & HIA_LOC_MAX_LEN; }

#endif
