/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Measures batches of trees of different shapes: none should be much slower than the others, and
 * trees that were never seen should compile nothing. */
#ifndef HIA_BENCH_TREE_SHAPES_H
#define HIA_BENCH_TREE_SHAPES_H

void bench_tree_shapes(int runs);

#endif
