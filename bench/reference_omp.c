/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* fib and tak with OpenMP tasks, without a manual cut-off: every call is a task.
 *
 *   PROGRAM fib|tak ARG ARG ARG THREADS    prints the result and the milliseconds of the second
 * call
 *
 * A process of its own, as are all peers: their threads spin for a while after the work is done. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int fib(int n) {
  if (n <= 1) return 1;
  int a, b;
#pragma omp task shared(a) firstprivate(n)
  a = fib(n - 1);
  b = fib(n - 2);
#pragma omp taskwait
  return a + b;
}

static int tak(int x, int y, int z) {
  if (!(y < x)) return z;
  int a, b, c;
#pragma omp task shared(a) firstprivate(x, y, z)
  a = tak(x - 1, y, z);
#pragma omp task shared(b) firstprivate(x, y, z)
  b = tak(y - 1, z, x);
  c = tak(z - 1, x, y);
#pragma omp taskwait
  return tak(a, b, c);
}

int main(int argc, char **argv) {
  if (argc != 6) return 2;
  int args[4];
  for (int i = 0; i < 4; i++) args[i] = atoi(argv[i + 2]);
  int is_fib = strcmp(argv[1], "fib") == 0, result = 0;
  double ms = 0;
  for (int i = 0; i < 2; i++) {
    double start = omp_get_wtime();
#pragma omp parallel num_threads(args[3])
#pragma omp single
    result = is_fib ? fib(args[0]) : tak(args[0], args[1], args[2]);
    ms = (omp_get_wtime() - start) * 1e3;
  }
  printf("%d %.6f\n", result, ms);
  return 0;
}
