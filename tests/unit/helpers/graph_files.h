/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The graphs of tests/graphs. No Criterion. */
#ifndef HELPER_GRAPHS_H
#define HELPER_GRAPHS_H

/* The text of tests/graphs/NAME.ir. It is read once and stays until the process ends. Any thread;
 * `name` must stay too. Of the three that many tests take, which are in the form in which graphs
 * are printed,
 *
 *     fib     is as the frontend makes it;
 *     mixed   has a loop, nested branches, several results, tuples in a signature, inlined
 *             positions, and every kind of constant;
 *     forks   has forks: one inside another, of several results and of none, in a loop. */
const char *graph_file(const char *name);

#endif
