/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The benchmark programs as a C programmer writes them; compiled by several compilers, each with
 * its own PREFIX, and linked into the harness.
 *
 * The place of such a small function in a cache line changes its time by up to a third, and the
 * place depends on the code that the linker happens to put before it. So each function exists
 * several times: the whole code begins PLACE times 16 bytes behind the beginning of a line, where
 * 16 is the compilers' alignment of functions. */
#include <stdbool.h>
#include <stdint.h>

#define GLUE(a, b)          a##b
#define NAME2(prefix, name) GLUE(prefix, name)
#define NAME(name)          NAME2(PREFIX, name)
#define TEXT2(x)            #x
#define TEXT(x)             TEXT2(x)

__asm__(".text\n.p2align 6\n.rept 16 * " TEXT(PLACE) "\n.byte 0xcc\n.endr\n");

int32_t NAME(fib)(int32_t n);
int32_t NAME(ack)(int32_t m, int32_t n);
int32_t NAME(tak)(int32_t x, int32_t y, int32_t z);
int32_t NAME(primes)(int32_t n);
int32_t NAME(small10)(int32_t n), NAME(small100)(int32_t n), NAME(small1000)(int32_t n);
int32_t NAME(large10)(int32_t n), NAME(large100)(int32_t n), NAME(large1000)(int32_t n);

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

/* bench/skew.hia. The order of the two calls is that of the statements. */
static int32_t combine(int32_t a, int32_t b, int32_t n) {
  return (int32_t)((uint32_t)(a > b ? a : b) * 3 - (uint32_t)n); /* i32 wraps */
}

#define SMALL_FIRST(name, ratio)                                                                   \
  int32_t NAME(name)(int32_t n) {                                                                  \
    if (n <= 1) return n;                                                                          \
    int32_t l = n / ratio;                                                                         \
    int32_t a = NAME(name)(l);                                                                     \
    int32_t b = NAME(name)(n - 1 - l);                                                             \
    return combine(a, b, n);                                                                       \
  }
#define LARGE_FIRST(name, ratio)                                                                   \
  int32_t NAME(name)(int32_t n) {                                                                  \
    if (n <= 1) return n;                                                                          \
    int32_t l = n / ratio;                                                                         \
    int32_t a = NAME(name)(n - 1 - l);                                                             \
    int32_t b = NAME(name)(l);                                                                     \
    return combine(a, b, n);                                                                       \
  }
SMALL_FIRST(small10, 10)
SMALL_FIRST(small100, 100)
SMALL_FIRST(small1000, 1000)
LARGE_FIRST(large10, 10)
LARGE_FIRST(large100, 100)
LARGE_FIRST(large1000, 1000)
