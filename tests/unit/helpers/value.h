/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Random types and values of them, and what the tests of values have in common. */
#ifndef HIA_TEST_VALUE_H
#define HIA_TEST_VALUE_H

#include "graph/ir/graph.h"
#include "runtime/value/value.h"
#include "tests/unit/helpers/random.h"

/* A table of types of its own. */
typedef struct value_world {
  hia_comp comp;
  hia_types types;
  hia_type_table table;           /* of `types` */
  hia_type tree, list, many, box; /* see world_init */
} value_world;

/* type Tree = Leaf(word: i32, label: i32) | Node(left: Tree, right: Tree, label: i32) | Nil
 * type List = End | Cons(head: (bool, f64), tail: List, trees: [Tree], n: i64)
 * type Many = M0 | M1 | ... | M299(x: i32) */
void value_world_init(value_world *w);
void value_world_free(value_world *w);
/* Any type, with data types of its own. */
hia_type random_type(value_world *w, random_source *r);
/* About `size` objects; with `shares` some are parts of several others. No NaN but that which the
 * language writes. */
void random_value(const value_world *w, random_source *r, hia_type type, hia_objects *objects,
                  uint32_t size, bool shares, hia_word *words);
/* The same words, and equal objects. */
bool values_are_equal(const value_world *w, hia_type type, const hia_word *a, const hia_word *b);
/* The value's text, which the caller frees. */
char *value_text(const value_world *w, hia_type type, const hia_word *words);

/* A sink that appends to a string. */
typedef struct value_buffer {
  char *data; /* ended by NUL */
  size_t len, cap, max;
} value_buffer;
bool value_buffer_take(void *buffer, const char *bytes,
                       size_t n); /* false beyond `max`, if it is not 0 */

static inline hia_objects *new_objects(void) { return hiaR_objects_new(&hiaR_malloc, 0); }

/* Node(Node(... Leaf(1, 2) ..., Nil, 3), Nil, 3), so many levels deep. */
hia_word deep_tree(const value_world *w, hia_objects *objects, uint32_t levels);
/* A tree with 2^levels leaves. */
hia_word full_tree(const value_world *w, hia_objects *objects, uint32_t levels);

#endif
