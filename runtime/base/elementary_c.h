/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The elementary functions as static C functions, of scalars or of vectors. The includer defines
 *
 *   HIA_LANE_BYTES            0: scalars; 32, 64: vectors of so many bytes (GNU C's extension)
 *   HIA_C_NAME(name, dtype)   what the function of a name and a dtype is called
 *
 * Where the compiler may not assume that the machine has fused multiply-add, scalars call libm's
 * fma, which is exact. Vectors need the instruction, and those of 64 bytes AVX-512. */
#include "runtime/base/base.h"
#include "runtime/base/elementary.h"
#include <math.h>

#define HIA_INLINE static inline __attribute__((always_inline, unused))

#if HIA_LANE_BYTES == 0

#define HIA_LANES(type) type
typedef int hia_c_truth_f32, hia_c_truth_f64;
#define HIA_NOT(b)              (!(b))
#define HIA_CHOOSE(HI, b, x, y) ((b) ? (x) : (y))
#define HIA_SPLAT(type, c)      ((type)(c))
#define HIA_CAST(type, x)       ((type)(x))
#define HIA_C_FMA_f32(a, b, c)  __builtin_fmaf(a, b, c)
#define HIA_C_FMA_f64(a, b, c)  __builtin_fma(a, b, c)
#define HIA_C_SQRT_f32(a)       __builtin_sqrtf(a)
#define HIA_C_SQRT_f64(a)       __builtin_sqrt(a)

#else

#define HIA_LANES(type)         type __attribute__((vector_size(HIA_LANE_BYTES)))
typedef HIA_LANES(int32_t) hia_c_truth_f32;
typedef HIA_LANES(int64_t) hia_c_truth_f64;
#define HIA_NOT(b)              (~(b))
#define HIA_CHOOSE(HI, b, x, y) (((HI)(b) & (x)) | (~(HI)(b) & (y)))
#define HIA_SPLAT(type, c)      ((c) - (type){0})
#define HIA_CAST(type, x)       __builtin_convertvector(x, type)
#include <immintrin.h>
#if defined(__clang__)
#define HIA_C_FMA_f32(a, b, c) __builtin_elementwise_fma(a, b, c)
#define HIA_C_FMA_f64(a, b, c) __builtin_elementwise_fma(a, b, c)
#define HIA_C_SQRT_f32(a)      __builtin_elementwise_sqrt(a)
#define HIA_C_SQRT_f64(a)      __builtin_elementwise_sqrt(a)
#elif HIA_LANE_BYTES == 32
#define HIA_C_FMA_f32(a, b, c) (hia_c_f32) _mm256_fmadd_ps((__m256)(a), (__m256)(b), (__m256)(c))
#define HIA_C_FMA_f64(a, b, c) (hia_c_f64) _mm256_fmadd_pd((__m256d)(a), (__m256d)(b), (__m256d)(c))
#define HIA_C_SQRT_f32(a)      (hia_c_f32) _mm256_sqrt_ps((__m256)(a))
#define HIA_C_SQRT_f64(a)      (hia_c_f64) _mm256_sqrt_pd((__m256d)(a))
#else
#define HIA_C_FMA_f32(a, b, c) (hia_c_f32) _mm512_fmadd_ps((__m512)(a), (__m512)(b), (__m512)(c))
#define HIA_C_FMA_f64(a, b, c) (hia_c_f64) _mm512_fmadd_pd((__m512d)(a), (__m512d)(b), (__m512d)(c))
#define HIA_C_SQRT_f32(a)      (hia_c_f32) _mm512_sqrt_ps((__m512)(a))
#define HIA_C_SQRT_f64(a)      (hia_c_f64) _mm512_sqrt_pd((__m512d)(a))
#endif

#endif

typedef HIA_LANES(float) hia_c_f32;
typedef HIA_LANES(uint32_t) hia_c_bits_f32;
typedef HIA_LANES(int32_t) hia_c_int_f32;
typedef HIA_LANES(double) hia_c_f64;
typedef HIA_LANES(uint64_t) hia_c_bits_f64;
typedef HIA_LANES(int64_t) hia_c_int_f64;

/* The operations for which C has no operator. */
#define HIA_C_OPERATIONS(T, HF, HI, HB)                                                            \
  HIA_INLINE HI hia_c_bits_of_##T(HF x) {                                                          \
    HI i;                                                                                          \
    memcpy(&i, &x, sizeof i);                                                                      \
    return i;                                                                                      \
  }                                                                                                \
  HIA_INLINE HF hia_c_float_of_##T(HI i) {                                                         \
    HF x;                                                                                          \
    memcpy(&x, &i, sizeof x);                                                                      \
    return x;                                                                                      \
  }                                                                                                \
  HIA_INLINE HI hia_c_selecti_##T(HB b, HI x, HI y) { return HIA_CHOOSE(HI, b, x, y); }            \
  HIA_INLINE HF hia_c_select_##T(HB b, HF x, HF y) {                                               \
    return hia_c_float_of_##T(hia_c_selecti_##T(b, hia_c_bits_of_##T(x), hia_c_bits_of_##T(y)));   \
  }
HIA_C_OPERATIONS(f32, hia_c_f32, hia_c_bits_f32, hia_c_truth_f32)
HIA_C_OPERATIONS(f64, hia_c_f64, hia_c_bits_f64, hia_c_truth_f64)

#if HIA_LANE_BYTES
#if HIA_LANE_BYTES == 32
#define HIA_ANY(b) (_mm256_movemask_epi8((__m256i)(b)) != 0)
#else
#define HIA_ANY(b) (_mm512_test_epi32_mask((__m512i)(b), (__m512i)(b)) != 0)
#endif
/* Sets the lanes of z where b is true to f of x and y. Vectors are handed over in memory: how they
 * would be passed depends on the machine. */
#define HIA_C_FAR(T, type)                                                                         \
  static __attribute__((noinline, unused)) void hia_c_far_1_##T(                                   \
      const hia_c_truth_##T *b, type (*f)(type), const hia_c_##T *x, hia_c_##T *z) {               \
    for (unsigned i = 0; i < HIA_LANE_BYTES / sizeof(type); i++)                                   \
      if ((*b)[i]) (*z)[i] = f((*x)[i]);                                                           \
  }                                                                                                \
  static __attribute__((noinline, unused)) void hia_c_far_2_##T(                                   \
      const hia_c_truth_##T *b, type (*f)(type, type), const hia_c_##T *x, const hia_c_##T *y,     \
      hia_c_##T *z) {                                                                              \
    for (unsigned i = 0; i < HIA_LANE_BYTES / sizeof(type); i++)                                   \
      if ((*b)[i]) (*z)[i] = f((*x)[i], (*y)[i]);                                                  \
  }                                                                                                \
  HIA_INLINE hia_c_##T hia_c_with_far_1_##T(hia_c_truth_##T b, type (*f)(type), hia_c_##T x,       \
                                            hia_c_##T z) {                                         \
    if (HIA_UNLIKELY(HIA_ANY(b))) hia_c_far_1_##T(&b, f, &x, &z);                                  \
    return z;                                                                                      \
  }                                                                                                \
  HIA_INLINE hia_c_##T hia_c_with_far_2_##T(hia_c_truth_##T b, type (*f)(type, type), hia_c_##T x, \
                                            hia_c_##T y, hia_c_##T z) {                            \
    if (HIA_UNLIKELY(HIA_ANY(b))) hia_c_far_2_##T(&b, f, &x, &y, &z);                              \
    return z;                                                                                      \
  }
HIA_C_FAR(f32, float)
HIA_C_FAR(f64, double)
#define HIA_FAR_1_(T, b, name, x, z)    hia_c_with_far_1_##T(b, hiaR_##name##_##T, x, z)
#define HIA_FAR_2_(T, b, name, x, y, z) hia_c_with_far_2_##T(b, hiaR_##name##_##T, x, y, z)
#else
#define HIA_FAR_1_(T, b, name, x, z)    (HIA_UNLIKELY(b) ? hiaR_##name##_far_##T(x) : (z))
#define HIA_FAR_2_(T, b, name, x, y, z) (HIA_UNLIKELY(b) ? hiaR_##name##_far_##T(x, y) : (z))
#endif
#define HIA_FAR_1(T, b, name, x, z)    HIA_FAR_1_(T, b, name, x, z)
#define HIA_FAR_2(T, b, name, x, y, z) HIA_FAR_2_(T, b, name, x, y, z)
#define FAR_1(b, name, x, z)           HIA_FAR_1(HT, b, name, x, z)
#define FAR_2(b, name, x, y, z)        HIA_FAR_2(HT, b, name, x, y, z)

#define ADD(a, b)    ((a) + (b))
#define SUB(a, b)    ((a) - (b))
#define MUL(a, b)    ((a) * (b))
#define DIV(a, b)    ((a) / (b))
#define NEG(a)       (-(a))
#define LT(a, b)     ((a) < (b))
#define LE(a, b)     ((a) <= (b))
#define EQ(a, b)     ((a) == (b))
#define IEQ(a, b)    ((a) == (b))
#define BOTH(a, b)   ((a) & (b))
#define EITHER(a, b) ((a) | (b))
#define NOT(a)       HIA_NOT(a)
#define IADD(a, b)   ((a) + (b))
#define ISUB(a, b)   ((a) - (b))
#define IAND(a, b)   ((a) & (b))
#define IOR(a, b)    ((a) | (b))
#define IXOR(a, b)   ((a) ^ (b))
#define SHL(a, n)    ((a) << (n))
#define SHR(a, n)    ((a) >> (n))
#define SAR(a, n)    ((HI)((HS)(a) >> (n)))

#define HIA_APPLY_1(name, x)       HIA_C_NAME(name, HT)(x)
#define HIA_APPLY_2(name, x, y)    HIA_C_NAME(name, HT)(x, y)
#define HIA_APPLY_3(name, x, y, z) HIA_C_NAME(name, HT)(x, y, z)
#define HIA_ELEMENTARY_3(name)     HIA_INLINE HF HIA_C_NAME(name, HT)(HF x, HF y, HF z)
#define HIA_ELEMENTARY_1(name)     HIA_INLINE HF HIA_C_NAME(name, HT)(HF x)
#define HIA_ELEMENTARY_2(name)     HIA_INLINE HF HIA_C_NAME(name, HT)(HF x, HF y)

#define HT               f32
#define HF               hia_c_f32
#define HI               hia_c_bits_f32
#define HS               hia_c_int_f32
#define HB               hia_c_truth_f32
#define K(c)             HIA_SPLAT(HF, (float)(c))
#define KI(n)            HIA_SPLAT(HI, (uint32_t)(n))
#define FMA(a, b, c)     HIA_C_FMA_f32(a, b, c)
#define SQRT(a)          HIA_C_SQRT_f32(a)
#define BITS(x)          hia_c_bits_of_f32(x)
#define FLOAT(i)         hia_c_float_of_f32(i)
#define SELECT(b, x, y)  hia_c_select_f32(b, x, y)
#define SELECTI(b, x, y) hia_c_selecti_f32(b, x, y)
#define ABS(x)           FLOAT(IAND(BITS(x), KI(0x7fffffff)))
#define FROM_INT(i)      HIA_CAST(HF, (HS)(i))
#include "runtime/base/elementary_f32.h"
#undef HT
#undef HF
#undef HI
#undef HS
#undef HB
#undef K
#undef KI
#undef FMA
#undef SQRT
#undef BITS
#undef FLOAT
#undef SELECT
#undef SELECTI
#undef ABS
#undef FROM_INT

#define HT               f64
#define HF               hia_c_f64
#define HI               hia_c_bits_f64
#define HS               hia_c_int_f64
#define HB               hia_c_truth_f64
#define K(c)             HIA_SPLAT(HF, (double)(c))
#define KI(n)            HIA_SPLAT(HI, (uint64_t)(n))
#define FMA(a, b, c)     HIA_C_FMA_f64(a, b, c)
#define SQRT(a)          HIA_C_SQRT_f64(a)
#define BITS(x)          hia_c_bits_of_f64(x)
#define FLOAT(i)         hia_c_float_of_f64(i)
#define SELECT(b, x, y)  hia_c_select_f64(b, x, y)
#define SELECTI(b, x, y) hia_c_selecti_f64(b, x, y)
#define ABS(x)           FLOAT(IAND(BITS(x), KI(INT64_MAX)))
/* Few machines convert vectors of 64-bit integers; adding 1.5 * 2^52 is as exact. */
#define FROM_INT(i) SUB(FLOAT(IADD(i, KI(0x4338000000000000))), K(0x1.8p52))
#include "runtime/base/elementary_f64.h"
