/* The benchmark programs as a C programmer writes them; compiled by several compilers, each with
 * its own PREFIX, and linked into the harness. */
#include <stdbool.h>
#include <stdint.h>

#define GLUE(a, b)          a##b
#define NAME2(prefix, name) GLUE(prefix, name)
#define NAME(name)          NAME2(PREFIX, name)

int32_t NAME(fib)(int32_t n);
int32_t NAME(ack)(int32_t m, int32_t n);
int32_t NAME(tak)(int32_t x, int32_t y, int32_t z);
int32_t NAME(primes)(int32_t n);

int32_t NAME(fib)(int32_t n) { return n <= 1 ? 1 : NAME(fib)(n - 1) + NAME(fib)(n - 2); }

int32_t NAME(ack)(int32_t m, int32_t n) {
  if (m == 0) return n + 1;
  if (n == 0) return NAME(ack)(m - 1, 1);
  return NAME(ack)(m - 1, NAME(ack)(m, n - 1));
}

int32_t NAME(tak)(int32_t x, int32_t y, int32_t z) {
  if (!(y < x)) return z;
  return NAME(tak)(NAME(tak)(x - 1, y, z), NAME(tak)(y - 1, z, x), NAME(tak)(z - 1, x, y));
}

static int32_t plus(int32_t n, int32_t i);

static bool test(int32_t n, int32_t i) {
  if ((6 * i - 1) * (6 * i - 1) > n) return true;
  if (n % (6 * i - 1) == 0) return false;
  return test(n, i + 1);
}

static int32_t minus(int32_t n, int32_t i) {
  if (!test(6 * i - 1, 1)) return plus(n, i);
  return n == 0 ? 6 * i - 1 : plus(n - 1, i);
}

static int32_t plus(int32_t n, int32_t i) {
  if (!test(6 * i - 1, 1)) return minus(n, i + 1);
  return n == 0 ? 6 * i - 1 : minus(n - 1, i + 1);
}

int32_t NAME(primes)(int32_t n) {
  if (n <= 0) return 2;
  if (n == 1) return 3;
  return minus(n - 2, 1);
}
