/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Params: random numbers, states, cells, packed forms. */
#include "runtime/kernel/product.h"
#include "runtime/param/param.h"
#include "runtime/param/random.h"
#include "runtime/tensor/packed.h"
#include <criterion/criterion.h>
#include <hiaton/params.h>
#include <limits.h>
#include <math.h>
#include <pthread.h>

/* The known answers of Random123, the reference implementation. */
Test(param, philox) {
  static const struct {
    uint32_t counter[4], key[2], out[4];
  } known[] = {{{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
               {{~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
               {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
                {0xa4093822, 0x299f31d0},
                {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}}};
  for (size_t i = 0; i < HIA_LEN(known); i++) {
    uint32_t out[4];
    hiaR_philox(known[i].key, known[i].counter, out);
    for (int k = 0; k < 4; k++) cr_assert_eq(out[k], known[i].out[k]);
  }
}

/* The quantile against its inverse, of libm. */
Test(param, normal_quantile) {
  for (int i = -600; i <= 600; i++) {
    double x = i / 100.0, p = 0.5 * erfc(-x / sqrt(2));
    double slack = 4e-15 + 4e-16 / exp(-x * x / 2); /* of p itself, which is near 1 for large x */
    cr_assert(fabs(hiaR_normal_quantile(p) - x) <= slack, "%.17g: %.17g", x,
              hiaR_normal_quantile(p));
  }
  cr_assert(fabs(0.5 * erfc(-hiaR_normal_quantile(1e-300) / sqrt(2)) / 1e-300 - 1) < 1e-12);
  cr_assert_eq(hiaR_normal_quantile(0.5), 0);
}

/* Elements depend on their number alone, not on where a call begins. */
Test(param, elements_by_number) {
  enum { N = 103 };
  float all[N], f32[N];
  double whole[N], f64[N];
  for (int is_normal = 0; is_normal < 2; is_normal++) {
    void (*make)(uint64_t, const char *, hia_dtype, double, double, uint64_t, uint64_t, void *) =
        is_normal ? hiaR_random_normal : hiaR_random_uniform;
    make(7, "W", HIA_F32, -1, 2, 0, N, all);
    make(7, "W", HIA_F64, -1, 2, 0, N, whole);
    for (uint64_t at = 0; at < N; at += 1 + at % 5) {
      make(7, "W", HIA_F32, -1, 2, at, N - at, f32);
      make(7, "W", HIA_F64, -1, 2, at, N - at, f64);
      cr_assert_eq(memcmp(f32, all + at, (N - at) * sizeof *f32), 0);
      cr_assert_eq(memcmp(f64, whole + at, (N - at) * sizeof *f64), 0);
    }
    make(8, "W", HIA_F32, -1, 2, 0, N, f32);
    cr_assert_neq(memcmp(f32, all, sizeof all), 0);
    make(7, "V", HIA_F32, -1, 2, 0, N, f32);
    cr_assert_neq(memcmp(f32, all, sizeof all), 0);
    make(7 | (uint64_t)1 << 32, "W", HIA_F32, -1, 2, 0, N, f32);
    cr_assert_neq(memcmp(f32, all, sizeof all), 0);
  }
}

/* Found by another program as well. They are promised to users: a change would change every model
 * that begins from a seed. */
Test(param, numbers_stay) {
  float f32[4];
  double f64[4];
  hiaR_random_uniform(0, "W", HIA_F32, 0, 1, 0, 4, f32);
  hiaR_random_uniform(0, "W", HIA_F64, 0, 1, 0, 4, f64);
  cr_assert_float_eq(f32[0], 0x1.083aecp-1f, 0);
  cr_assert_float_eq(f64[3], 0x1.d8884bb624bb9p-1, 0);
  hiaR_random_normal(0, "W", HIA_F64, 0, 1, 0, 4, f64);
  cr_assert_float_eq(f64[0], -0x1.1bcda3016aa4p+0, 0);
}

Test(param, distribution) {
  const int n = 1 << 20;
  float *x = malloc((size_t)n * sizeof *x);
  hiaR_random_uniform(1, "E", HIA_F32, -0.05, 0.05, 0, (uint64_t)n, x);
  double sum = 0, squares = 0, low = 1, high = -1;
  for (int i = 0; i < n; i++) {
    sum += x[i], squares += (double)x[i] * x[i];
    low = fmin(low, x[i]), high = fmax(high, x[i]);
  }
  cr_assert(low >= -0.05f && low < -0.0499 && high < 0.05f && high > 0.0499);
  cr_assert(fabs(sum / n) < 2e-4);
  cr_assert(fabs(squares / n - 0.01 / 12) < 2e-6);
  hiaR_random_normal(1, "E", HIA_F32, 3, 2, 0, (uint64_t)n, x);
  sum = squares = 0;
  double fourth = 0;
  for (int i = 0; i < n; i++) {
    double z = (x[i] - 3.0) / 2;
    sum += z, squares += z * z, fourth += z * z * z * z;
  }
  cr_assert(fabs(sum / n) < 5e-3 && fabs(squares / n - 1) < 5e-3 && fabs(fourth / n - 3) < 3e-2);
  free(x);
}

/* The upper end is never reached, also where rounding would. */
Test(param, half_open) {
  float x[4096];
  hiaR_random_uniform(3, "a", HIA_F32, 16777215, 16777216, 0, HIA_LEN(x), x);
  for (size_t i = 0; i < HIA_LEN(x); i++) cr_assert_eq(x[i], 16777215);
  hiaR_random_uniform(3, "a", HIA_F32, 2, 2, 0, HIA_LEN(x), x);
  for (size_t i = 0; i < HIA_LEN(x); i++) cr_assert_eq(x[i], 2);
}

/* ---- states ---- */

static const hia_param_spec specs[] = {
    {"W", HIA_F32, HIA_INIT_GLOROT_UNIFORM, 0, 0, {2, {30, 60}}},
    {"b", HIA_F64, HIA_INIT_FULL, 1.5, 0, {1, {7}}},
    {"s", HIA_F32, HIA_INIT_NORMAL, 0, 1, {0}},
    {"none", HIA_F32, HIA_INIT_UNIFORM, 0, 1, {3, {4, 0, 5}}},
    {"V", HIA_F32, HIA_INIT_UNIFORM, -1, 1, {3, {5, 20, 10}}},
};
enum { W, B, S, NONE, V, N };

static hia_status make(uint64_t seed, hia_param_state *from, const void *const *elements,
                       hia_param_state **out) {
  const hia_param_values values = {.elements = elements, .from = from, .seed = seed};
  return hiaR_state_new(specs, N, &values, &hiaR_malloc, out);
}

static hia_status fail_at_b(void *user, uint32_t i, void *to) {
  (void)user, (void)to;
  return i == B ? HIA_ARGUMENT : HIA_OK;
}

Test(param, states) {
  hia_param_state *first, *second, *third;
  cr_assert_eq(make(5, NULL, NULL, &first), HIA_OK);
  const float *w = hiaR_state_elements(first, W);
  float r = sqrtf(6.0f / 90), largest = 0;
  for (int i = 0; i < 30 * 60; i++) largest = fmaxf(largest, fabsf(w[i]));
  cr_assert(largest <= r && largest > 0.99f * r);
  for (int i = 0; i < 7; i++) cr_assert_eq(((const double *)hiaR_state_elements(first, B))[i], 1.5);
  float s;
  memcpy(&s, hiaR_state_elements(first, S), sizeof s);
  cr_assert_eq(hiaR_to_f32(hiaR_state_words(first)[S]), s);
  const hia_tensor *none = hiaR_tensor(hiaR_state_words(first)[NONE]);
  cr_assert(hiaR_tensor_rank(none) == 3 && hiaR_tensor_len(none) == 0);

  const double b[7] = {1, 2, 3, 4, 5, 6, 7};
  const float two = 2;
  const void *elements[N] = {[B] = b, [S] = &two, [NONE] = ""};
  cr_assert_eq(make(9, first, elements, &second), HIA_OK);
  cr_assert_eq(hiaR_state_words(second)[W], hiaR_state_words(first)[W]); /* shared */
  cr_assert_eq(hiaR_state_words(second)[S], hiaR_from_f32(2));
  hiaR_state_release(first);
  cr_assert_eq(memcmp(hiaR_state_elements(second, B), b, sizeof b), 0);
  cr_assert_eq(make(5, NULL, NULL, &third), HIA_OK);
  cr_assert_eq(memcmp(hiaR_state_elements(second, W), hiaR_state_elements(third, W), 7200), 0);
  hiaR_state_release(third);
  const hia_param_values failing = {.fill = fail_at_b, .from = second};
  cr_assert_eq(hiaR_state_new(specs, N, &failing, &hiaR_malloc, &third), HIA_ARGUMENT);
  hiaR_state_release(second);
  hiaR_state_release(NULL);
}

/* Results are kept with a state, unless it is one of training that nobody asks twice. */
Test(param, kept_results) {
  const bool is_changed[N] = {[W] = true};
  bool is_recycled[N];
  hia_param_state *first, *second, *third;
  cr_assert_eq(make(5, NULL, NULL, &first), HIA_OK);
  const hia_word *words = hiaR_state_words(first);
  size_t before = hiaR_state_bytes(first);
  cr_assert_null(hiaR_state_kept(words));
  hia_memo *memo = hiaR_state_keep(words, 1);
  cr_assert(memo && hiaR_state_kept(words) == memo && hiaR_state_keep(words, 2) == memo);
  cr_assert_gt(hiaR_state_bytes(first), before);
  cr_assert_eq(hiaR_state_next(first, NULL, is_changed, is_recycled, &second), HIA_OK);
  words = hiaR_state_words(second);
  cr_assert(!hiaR_state_kept(words) && !hiaR_state_keep(words, 3) && !hiaR_state_keep(words, 3));
  cr_assert(hiaR_state_keep(words, 4) && hiaR_state_kept(words));
  /* A state that becomes another one has no results of the one before. */
  cr_assert_eq(hiaR_state_next(second, first, is_changed, is_recycled, &third), HIA_OK);
  cr_assert(third == first && is_recycled[W]);
  words = hiaR_state_words(third);
  cr_assert(!hiaR_state_kept(words) && !hiaR_state_keep(words, 3));
  hiaR_state_release(second);
  hiaR_state_release(third);
}

static bool go_on(void *user, uint64_t ns) {
  (void)ns;
  int *left = user;
  return !left || (*left)-- > 0;
}

static void check_packed(hia_param_state *p, uint32_t param, hia_packing packing) {
  hia_tensor *t = hiaR_tensor(hiaR_state_words(p)[param]);
  uint32_t rank = hiaR_tensor_rank(t);
  size_t rows = (size_t)t->dims[rank - 2], cols = (size_t)t->dims[rank - 1];
  size_t count = hiaR_tensor_len(t) / (rows * cols);
  if (packing == HIA_PACK_LEFT) rows *= count, count = 1;
  size_t k = packing == HIA_PACK_RIGHT ? rows : cols, n = packing == HIA_PACK_RIGHT ? cols : rows;
  size_t bytes = hiaR_packed_size(HIA_F32, k, n);
  int none = 0, uses = packing == HIA_PACK_RIGHT ? HIA_PACK_RIGHT_USES : 1;
  while (uses--) cr_assert_null(hiaR_tensor_packed(t, t->data, packing, go_on, NULL));
  cr_assert_null(hiaR_tensor_packed(t, t->data, packing, go_on, &none));
  char *wanted = aligned_alloc(64, bytes);
  for (size_t i = 0; i < count; i++) {
    const char *at = t->data + i * rows * cols * 4;
    const char *packed = hiaR_tensor_packed(t, at, packing, go_on, NULL);
    cr_assert(packed && (uintptr_t)packed % 64 == 0);
    bool is_right = packing == HIA_PACK_RIGHT;
    hia_matrix b = {at, is_right ? (ptrdiff_t)cols : 1, is_right ? 1 : (ptrdiff_t)cols};
    hiaR_pack(HIA_F32, k, n, b, wanted);
    cr_assert_eq(memcmp(wanted, packed, bytes), 0);
  }
  free(wanted);
  cr_assert_null(hiaR_tensor_packed(t, t->data + 4, packing, go_on, NULL)); /* no matrix of it */
}

Test(param, packed) {
  hia_param_state *p;
  cr_assert_eq(make(5, NULL, NULL, &p), HIA_OK);
  size_t before = hiaR_state_bytes(p);
  check_packed(p, W, HIA_PACK_RIGHT);
  check_packed(p, W, HIA_PACK_LEFT);
  check_packed(p, V, HIA_PACK_RIGHT);
  check_packed(p, V, HIA_PACK_LEFT);
  check_packed(p, V, HIA_PACK_LEFT_EACH);
  cr_assert(hiaR_state_bytes(p) > before + 4 * (30 * 60 * 2 + 1000));
  hia_tensor *b = hiaR_tensor(hiaR_state_words(p)[B]);
  cr_assert_null(hiaR_tensor_packed(b, b->data, HIA_PACK_RIGHT, go_on, NULL));
  hiaR_state_release(p);
}

/* ---- making them ---- */

static const hia_param_spec large[] = {{"a", HIA_F32, HIA_INIT_FULL, 2, 0, {1, {100001}}},
                                       {"b", HIA_F64, HIA_INIT_NORMAL, 1, 2, {1, {100001}}},
                                       {"c", HIA_F32, HIA_INIT_UNIFORM, 1, 2, {1, {100001}}}};

static bool ends_soon(void *left) { return --*(int *)left == 0; }

/* A large one is made in pieces, between which it may end; they are what one piece would be. */
Test(param, making_them_may_end) {
  hia_param_state *p;
  int left = INT_MAX;
  const hia_param_values values = {.seed = 3, .must_end = ends_soon, .asked = &left};
  cr_assert_eq(hiaR_state_new(large, 3, &values, &hiaR_malloc, &p), HIA_OK);
  int asked = INT_MAX - left;
  cr_assert_geq(asked, 60, "only %d times", asked);
  static double whole[100001];
  hiaR_random_normal(3, "b", HIA_F64, 1, 2, 0, HIA_LEN(whole), whole);
  cr_assert_eq(memcmp(whole, hiaR_state_elements(p, 1), sizeof whole), 0);
  hiaR_random_uniform(3, "c", HIA_F32, 1, 2, 0, HIA_LEN(whole), whole);
  cr_assert_eq(memcmp(whole, hiaR_state_elements(p, 2), sizeof whole / 2), 0);
  hiaR_state_release(p);
  for (int at = 1; at <= asked; at += 7) {
    left = at;
    cr_assert_eq(hiaR_state_new(large, 3, &values, &hiaR_malloc, &p), HIA_CANCELLED);
    cr_assert_eq(left, 0);
  }
  hia_params of = {.n = 3, .specs = large};
  left = 5;
  cr_assert_eq(hiaR_params_hold(&of, ends_soon, &left, &p), HIA_CANCELLED);
  cr_assert_null(of.now);
  left = INT_MAX;
  cr_assert_eq(hiaR_params_hold(&of, ends_soon, &left, &p), HIA_OK);
  hiaR_state_release(p);
  hiaR_params_set(&of, NULL);
}

/* ---- cells ---- */

static hia_params cell = {.n = N, .specs = specs};

static void *use_cell(void *arg) {
  const float *own = arg;
  for (int i = 0; i < 200; i++) {
    hia_param_state *p, *next;
    if (hiaR_params_hold(&cell, NULL, NULL, &p)) return arg;
    float s;
    memcpy(&s, hiaR_state_elements(p, S), sizeof s);
    const void *elements[N] = {[S] = own};
    if (make(0, p, elements, &next)) return arg;
    hiaR_state_release(p);
    if (!hiaR_params_exchange(&cell, p, next)) hiaR_state_release(next);
  }
  return NULL;
}

Test(param, cells) {
  pthread_t threads[4];
  float values[4] = {1, 2, 3, 4};
  for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, use_cell, &values[i]);
  for (int i = 0; i < 4; i++) {
    void *failed;
    pthread_join(threads[i], &failed);
    cr_assert_null(failed);
  }
  hia_param_state *p;
  cr_assert_eq(hiaR_params_hold(&cell, NULL, NULL, &p), HIA_OK);
  float s = hiaR_to_f32(hiaR_state_words(p)[S]);
  cr_assert(s >= 1 && s <= 4);
  hiaR_state_release(p);
  hiaR_params_set(&cell, NULL);
}

/* As an object has them: the first values are constants, which are not copied. */
static hia_param_state *current(hia_params *of) {
  hia_param_state *p;
  cr_assert_eq(hiaR_params_hold(of, NULL, NULL, &p), HIA_OK);
  hiaR_state_release(p); /* the cell holds it */
  return p;
}

Test(param, embedded) {
  static const float w[30 * 60] = {[7] = 7}, v[5 * 20 * 10] = {1}, s = 3;
  static const double b[7] = {1, 2, 3, 4, 5, 6, 7};
  static const void *const first[N] = {[W] = w, [B] = b, [S] = &s, [NONE] = "", [V] = v};
  hia_params own = {.n = N, .specs = specs, .embedded = first};
  cr_assert_eq(hiaR_state_elements(current(&own), W), w);
  cr_assert_eq(hiaR_state_elements(current(&own), B), b);
  cr_assert_eq(hiaR_state_words(current(&own))[S], hiaR_from_f32(3));
  cr_assert_lt(hiaR_state_bytes(current(&own)), sizeof w);
  hia_error *error;
  const double other[7] = {0};
  double got[7];
  cr_assert_eq(hia_params_set(&own, B, HIA_F64, 1, (int64_t[]){7}, other, NULL), HIA_OK);
  cr_assert_eq(hiaR_state_elements(current(&own), W), w); /* shared by the next state */
  cr_assert_eq(hia_params_get(&own, B, got, sizeof got, NULL), HIA_OK);
  cr_assert_eq(memcmp(got, other, sizeof got), 0);
  cr_assert_eq(hia_params_seed(&own, 5, NULL), HIA_OK);
  cr_assert_neq(hiaR_state_elements(current(&own), W), w);
  hia_params_reset(&own);
  cr_assert_eq(hiaR_state_elements(current(&own), B), b);

#define WRONG(status, words, call)                                                                 \
  do {                                                                                             \
    cr_assert_eq(call, status);                                                                    \
    cr_assert(strstr(hia_error_message(error, 0), words), "%s", hia_error_message(error, 0));      \
    hia_error_free(error);                                                                         \
  } while (0)
  const int64_t seven[17] = {7};
  WRONG(HIA_ARGUMENT, "the param `b` is f64[7], the value f64[6]",
        hia_params_set(&own, B, HIA_F64, 1, (int64_t[]){6}, other, &error));
  WRONG(HIA_ARGUMENT, "the value f32[7]",
        hia_params_set(&own, B, HIA_F32, 1, seven, other, &error));
  WRONG(HIA_ARGUMENT, "the value f64", hia_params_set(&own, B, HIA_F64, 0, NULL, b, &error));
  WRONG(HIA_ARGUMENT, "size 0 is -7",
        hia_params_set(&own, B, HIA_F64, 1, (int64_t[]){-7}, b, &error));
  WRONG(HIA_ARGUMENT, "rank 17", hia_params_set(&own, B, HIA_F64, 17, seven, b, &error));
  WRONG(HIA_ARGUMENT, "dtype 9", hia_params_set(&own, B, (hia_dtype)9, 1, seven, b, &error));
  WRONG(HIA_ARGUMENT, "no dims", hia_params_set(&own, B, HIA_F64, 1, NULL, b, &error));
  WRONG(HIA_ARGUMENT, "no elements", hia_params_set(&own, B, HIA_F64, 1, seven, NULL, &error));
  WRONG(HIA_NOT_FOUND, "has 5", hia_params_set(&own, N, HIA_F64, 1, seven, b, &error));
  WRONG(HIA_NOT_FOUND, "has 5", hia_params_get(&own, N, got, sizeof got, &error));
  WRONG(HIA_ARGUMENT, "takes 56 bytes, not 55", hia_params_get(&own, B, got, 55, &error));
  WRONG(HIA_ARGUMENT, "no place", hia_params_get(&own, B, NULL, 56, &error));
  WRONG(HIA_ARGUMENT, "no path", hia_params_load(&own, NULL, &error));
  WRONG(HIA_ARGUMENT, "no path", hia_params_save(&own, NULL, &error));
  WRONG(HIA_IO, "/nowhere/x: ", hia_params_load(&own, "/nowhere/x", &error));
  cr_assert_eq(hiaR_state_elements(current(&own), B), b, "nothing has changed");
  cr_assert_eq(hia_params_set(&own, NONE, HIA_F32, 3, specs[NONE].shape.dims, NULL, NULL), HIA_OK);
  cr_assert_eq(hia_params_get(&own, NONE, NULL, 0, NULL), HIA_OK);

  hia_dtype dtype;
  cr_assert_eq(hia_params_count(&own), N);
  cr_assert_str_eq(hia_params_name(&own, B), "b");
  cr_assert_eq(hia_params_find(&own, "b"), B);
  cr_assert_eq(hia_params_find(&own, "no"), N);
  cr_assert(hia_params_dtype(&own, B, &dtype) == HIA_OK && dtype == HIA_F64);
  cr_assert(hia_params_rank(&own, B) == 1 && hia_params_rank(&own, S) == 0);
  cr_assert(hia_params_dims(&own, B)[0] == 7 && !hia_params_dims(&own, S));
  cr_assert(hia_params_size(&own, B) == 56 && hia_params_size(&own, S) == 4);
  hia_params_reset(&own);
}
