/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
#include "runtime/param/random.h"
#include <math.h>

void hiaR_philox(const uint32_t key[2], const uint32_t counter[4], uint32_t out[4]) {
  uint32_t k0 = key[0], k1 = key[1];
  uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
  for (int round = 0; round < 10; round++) {
    uint64_t p0 = (uint64_t)0xD2511F53 * c0, p1 = (uint64_t)0xCD9E8D57 * c2;
    uint32_t n0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0, n2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
    c1 = (uint32_t)p1, c3 = (uint32_t)p0, c0 = n0, c2 = n2;
    k0 += 0x9E3779B9, k1 += 0xBB67AE85;
  }
  out[0] = c0, out[1] = c1, out[2] = c2, out[3] = c3;
}

static double ratio(double r, const double p[8], const double q[8]) {
  double above = p[7], below = q[7];
  for (int i = 6; i >= 0; i--) above = above * r + p[i], below = below * r + q[i];
  return above / below;
}

double hiaR_normal_quantile(double p) {
  static const double a[8] = {3.3871328727963666080e0, 1.3314166789178437745e2,
                              1.9715909503065514427e3, 1.3731693765509461125e4,
                              4.5921953931549871457e4, 6.7265770927008700853e4,
                              3.3430575583588128105e4, 2.5090809287301226727e3};
  static const double b[8] = {1,
                              4.2313330701600911252e1,
                              6.8718700749205790830e2,
                              5.3941960214247511077e3,
                              2.1213794301586595867e4,
                              3.9307895800092710610e4,
                              2.8729085735721942674e4,
                              5.2264952788528545610e3};
  static const double c[8] = {1.42343711074968357734e0,  4.63033784615654529590e0,
                              5.76949722146069140550e0,  3.64784832476320460504e0,
                              1.27045825245236838258e0,  2.41780725177450611770e-1,
                              2.27238449892691845833e-2, 7.74545014278341407640e-4};
  static const double d[8] = {1,
                              2.05319162663775882187e0,
                              1.67638483018380384940e0,
                              6.89767334985100004550e-1,
                              1.48103976427480074590e-1,
                              1.51986665636164571966e-2,
                              5.47593808499534494600e-4,
                              1.05075007164441684324e-9};
  static const double e[8] = {6.65790464350110377720e0,  5.46378491116411436990e0,
                              1.78482653991729133580e0,  2.96560571828504891230e-1,
                              2.65321895265761230930e-2, 1.24266094738807843860e-3,
                              2.71155556874348757815e-5, 2.01033439929228813265e-7};
  static const double f[8] = {1,
                              5.99832206555887937690e-1,
                              1.36929880922735805310e-1,
                              1.48753612908506148525e-2,
                              7.86869131145613259100e-4,
                              1.84631831751005468180e-5,
                              1.42151175831644588870e-7,
                              2.04426310338993978564e-15};
  double q = p - 0.5;
  if (fabs(q) <= 0.425) return q * ratio(0.180625 - q * q, a, b);
  double r = sqrt(-hiaR_log_f64(q < 0 ? p : 1 - p));
  double x = r <= 5 ? ratio(r - 1.6, c, d) : ratio(r - 5, e, f);
  return q < 0 ? -x : x;
}

/* ---- elements ---- */

typedef struct stream {
  uint32_t key[2], name[2];
} stream;

static stream stream_of(uint64_t seed, const char *name) {
  uint64_t hash = 0xCBF29CE484222325;
  for (; *name; name++) hash = (hash ^ (uint8_t)*name) * 0x100000001B3;
  return (stream){{(uint32_t)seed, (uint32_t)(seed >> 32)},
                  {(uint32_t)hash, (uint32_t)(hash >> 32)}};
}

static void block_of(const stream *s, uint64_t number, uint32_t out[4]) {
  hiaR_philox(
      s->key,
      (const uint32_t[4]){(uint32_t)number, (uint32_t)(number >> 32), s->name[0], s->name[1]}, out);
}

static void uniform_f32(const stream *s, double a, double b, uint64_t first, uint64_t n,
                        float *to) {
  double range = b - a;
  float end = (float)b, below = nextafterf(end, (float)a);
  for (uint64_t i = 0; i < n;) {
    uint32_t block[4], at = (first + i) & 3;
    block_of(s, (first + i) / 4, block);
    for (; at < 4 && i < n; at++) {
      float x = (float)(a + range * ((block[at] >> 8) * 0x1p-24));
      to[i++] = x < end ? x : below;
    }
  }
}

static void uniform_f64(const stream *s, double a, double b, uint64_t first, uint64_t n,
                        double *to) {
  double range = b - a, below = nextafter(b, a);
  for (uint64_t i = 0; i < n;) {
    uint32_t block[4], at = (first + i) & 1;
    block_of(s, (first + i) / 2, block);
    for (; at < 2 && i < n; at++) {
      uint64_t bits = block[2 * at] | (uint64_t)block[2 * at + 1] << 32;
      double x = a + range * ((double)(bits >> 11) * 0x1p-53);
      to[i++] = x < b ? x : below;
    }
  }
}

void hiaR_random_uniform(uint64_t seed, const char *name, hia_dtype dtype, double a, double b,
                         uint64_t first, uint64_t n, void *to) {
  stream s = stream_of(seed, name);
  if (dtype == HIA_F32)
    uniform_f32(&s, a, b, first, n, to);
  else
    uniform_f64(&s, a, b, first, n, to);
}

void hiaR_random_normal(uint64_t seed, const char *name, hia_dtype dtype, double mean, double std,
                        uint64_t first, uint64_t n, void *to) {
  stream s = stream_of(seed, name);
  uint32_t block[4], per_block = dtype == HIA_F32 ? 4 : 2;
  for (uint64_t i = 0; i < n; i++) {
    uint32_t at = (uint32_t)((first + i) % per_block);
    if (i == 0 || at == 0) block_of(&s, (first + i) / per_block, block);
    uint64_t bits =
        dtype == HIA_F32 ? block[at] : block[2 * at] | (uint64_t)block[2 * at + 1] << 32;
    double p =
        dtype == HIA_F32 ? ((double)bits + 0.5) * 0x1p-32 : ((double)(bits >> 12) + 0.5) * 0x1p-52;
    double x = mean + std * hiaR_normal_quantile(p);
    if (dtype == HIA_F32)
      ((float *)to)[i] = (float)x;
    else
      ((double *)to)[i] = x;
  }
}
