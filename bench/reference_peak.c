/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* What one core can do at most: multiplications and additions in registers, and reading memory that
 * was read just before. Compiled for this machine (-O3 -march=native -ffp-contract=fast). */
#include <stddef.h>

#if defined(__AVX512F__)
#define BYTES 64
#elif defined(__AVX__)
#define BYTES 32
#else
#define BYTES 16
#endif
typedef float floats __attribute__((vector_size(BYTES)));
typedef double doubles __attribute__((vector_size(BYTES)));

/* n multiplications and additions each, at least. */
double reference_peak_f32(size_t n);
double reference_peak_f64(size_t n);
/* Reads `size` bytes, aligned to 64. */
double reference_read(const void *data, size_t size);

#define PEAK(NAME, VECTOR, T)                                                                      \
  double NAME(size_t n) {                                                                          \
    VECTOR acc[10] = {{0}}, x, y;                                                                  \
    for (size_t i = 0; i < BYTES / sizeof(T); i++) {                                               \
      x[i] = (T)0.5;                                                                               \
      y[i] = (T)(1 + i);                                                                           \
    }                                                                                              \
    __asm__("" : "+x"(x), "+x"(y));                                                                \
    for (size_t i = 0; i < n; i += 10 * BYTES / sizeof(T))                                         \
      for (int j = 0; j < 10; j++) acc[j] = acc[j] * x + y;                                        \
    for (int j = 1; j < 10; j++) acc[0] += acc[j];                                                 \
    return (double)acc[0][0];                                                                      \
  }
PEAK(reference_peak_f32, floats, float)
PEAK(reference_peak_f64, doubles, double)

double reference_read(const void *data, size_t size) {
  const floats *at = data;
  floats acc[8] = {{0}};
  for (size_t i = 0; i + 8 <= size / BYTES; i += 8)
    for (size_t j = 0; j < 8; j++) acc[j] += at[i + j];
  for (int j = 1; j < 8; j++) acc[0] += acc[j];
  return (double)acc[0][0];
}
