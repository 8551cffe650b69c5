// Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0
// fib and tak with oneTBB's parallel_invoke, without a manual cut-off; see reference_omp.c.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <tbb/global_control.h>
#include <tbb/parallel_invoke.h>

static int fib(int n) {
  if (n <= 1) return 1;
  int a, b;
  tbb::parallel_invoke([&] { a = fib(n - 1); }, [&] { b = fib(n - 2); });
  return a + b;
}

static int tak(int x, int y, int z) {
  if (!(y < x)) return z;
  int a, b, c;
  tbb::parallel_invoke([&] { a = tak(x - 1, y, z); }, [&] { b = tak(y - 1, z, x); },
                       [&] { c = tak(z - 1, x, y); });
  return tak(a, b, c);
}

int main(int argc, char **argv) {
  if (argc != 6) return 2;
  int args[4];
  for (int i = 0; i < 4; i++) args[i] = std::atoi(argv[i + 2]);
  tbb::global_control threads(tbb::global_control::max_allowed_parallelism, size_t(args[3]));
  bool is_fib = std::strcmp(argv[1], "fib") == 0;
  int result = 0;
  double ms = 0;
  for (int i = 0; i < 2; i++) {
    auto start = std::chrono::steady_clock::now();
    result = is_fib ? fib(args[0]) : tak(args[0], args[1], args[2]);
    std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
    ms = took.count();
  }
  std::printf("%d %.6f\n", result, ms);
}
