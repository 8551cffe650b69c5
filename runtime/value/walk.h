/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The objects of a value, each once, and each after all that it refers to: the order of saved
 * values and of tables of nodes. There are no cycles. An array without elements counts as no
 * object (hiaR_has_words).
 *
 *   hiaR_walk_from(&walk, type, word);
 *   while ((o = hiaR_walk_next(&walk))) {
 *     ... all references of *o have a number ...
 *     hiaR_walk_done(&walk);                 o has the next number, from 0
 *   } */
#ifndef HIA_RT_VALUE_WALK_H
#define HIA_RT_VALUE_WALK_H

#include "runtime/value/stack.h"

typedef struct hia_walk_object {
  hia_word word;
  hia_type type;
  uint32_t ctor;            /* of data */
  const hia_layout *layout; /* of its words, or of each element; of a tensor without words */
  char *base;               /* of the words where the search is; of an array the element */
  uint64_t n;               /* elements that are left, this one too; of data 1 */
  uint32_t next;            /* word */
} hia_walk_object;

typedef struct hia_walk {
  const hia_type_table *types;
  const hia_allocator *allocator;
  hia_block stack, table;
  size_t n_open, n_pages, cap; /* cap: of the table, a power of two */
  uint64_t n_objects;          /* that have a number */
  bool is_out;                 /* of memory: the walk has ended */
} hia_walk;

void hiaR_walk_free(hia_walk *walk);
/* Begins with an object that has no number yet; with any other word there is nothing to walk. */
void hiaR_walk_from(hia_walk *walk, hia_type type, hia_word word);
/* NULL: there are no more. */
const hia_walk_object *hiaR_walk_next(hia_walk *walk);
void hiaR_walk_done(hia_walk *walk);
/* The number of an object that has one. */
uint64_t hiaR_walk_number(const hia_walk *walk, hia_word word);

#endif
