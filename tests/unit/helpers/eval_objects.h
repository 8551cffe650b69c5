/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The objects of an evaluation (eval.c): data and arrays, the references to them that are counted,
 * and the ops on arrays. A program that does with them what it must not aborts. */
#ifndef HIA_TEST_EVAL_OBJECTS_H
#define HIA_TEST_EVAL_OBJECTS_H

#include "tests/unit/helpers/eval.h"

enum { EVAL_FREED = 0, EVAL_OUTSIDE = INT32_MAX, EVAL_TOKEN = INT32_MAX - 1 };

typedef struct eval_object {
  struct eval_object *older;
  uint32_t ctor, n;
  uint32_t count; /* of references, in graphs that count; or EVAL_OUTSIDE, EVAL_FREED, or
                     EVAL_TOKEN: its memory is about to be used again */
  hia_word words[];
} eval_object;

/* Says what is wrong, and aborts, if this does not hold. */
void eval_must(bool holds, const char *what);

/* The word of fields that have not been set: nothing may look at it, count it or return it. */
hia_word eval_hole(void);
/* NULL: a constructor without fields. */
eval_object *eval_object_of(hia_word word);
uint32_t eval_ctor_of(hia_word word);
/* The field of this constructor at this place, as in a node's `imm`. */
hia_word eval_field_of(hia_word word, uint64_t imm);
/* Equal values of a type have equal hashes. */
uint64_t eval_hash_of(const hia_types *types, hia_type type, hia_word word);

void eval_dup(hia_word word);
void eval_drop(const hia_types *types, hia_type type, hia_word word);
/* Takes the object of an UNPACK apart. Returns its memory as a token; 0: it is in use, or there is
 * no use for it. */
hia_word eval_unpack(const hia_types *types, const hia_fn *fn, hia_node_id n, hia_word word);
void eval_forget(hia_word token);
/* Objects that evaluations made and that were not freed. */
int64_t eval_count_live(void);

/* An array of so many words, all 0, with one reference to it. */
eval_object *eval_new_array(size_t n);

/* An op on arrays, in a frame with these values. */
typedef struct eval_array_op {
  const hia_graph *g;
  const hia_fn *fn;
  const hia_node *node;
  const hia_word *values;
  hia_type type; /* of the array */
  uint32_t size; /* words of an element */
  bool counts;
  uint64_t *copies;
} eval_array_op;

hia_status eval_array(const eval_array_op *a, hia_word *out);

#endif
