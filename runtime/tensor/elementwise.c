/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Ops on scalars, lifted to tensors.
 *
 * Axes that all operands walk through alike are taken together. Since tensors are dense, an operand
 * then either goes along the last axis element by element, or is the same all along it. What is
 * computed at a time is a strip: a piece of the last axis.
 *
 * The ops that matter most have loops over strips, which compilers vectorise, and elementary
 * functions have theirs in vectors (kernel/lanes.h); a loop gives the same bits as the kernel. For
 * it an operand that is the same along the strip is a short block of copies, so that there is one
 * loop for each op and dtype; but for the four operations of floats, which have two more. For all
 * other ops the kernel is called for each element. */
#include "runtime/kernel/lanes.h"
#include "runtime/tensor/operands.h"
#include <math.h>

enum { MAX_OPERANDS = 3, LIFTED = 64 /* numbers of ops that are lifted are below */ };
#define HIA_OP(number, NAME, name, symbol, ins, outs, RULE, SHAPE, IMM, traits, cost, COST,        \
               GRADIENT, KERNEL, EMIT, doc)                                                        \
  _Static_assert(HIA_SHAPE_##SHAPE != HIA_SHAPE_ELEMENTWISE ||                                     \
                     ((ins) >= 1 && (ins) <= MAX_OPERANDS && (number) < LIFTED),                   \
                 "of " name);
#include "runtime/base/ops.def"

/* ---- loops ---- */

typedef void (*loop)(void *out, const void *const *in, size_t n);

/* The result may have the memory of an operand: element i is then read before it is written. */
#if defined(__GNUC__) && !defined(__clang__)
#define EACH _Pragma("GCC ivdep") for (size_t i = 0; i < n; i++)
#else
#define EACH for (size_t i = 0; i < n; i++)
#endif

#define LOOP_1(name, type, result, expr)                                                           \
  static void name(void *out, const void *const *in, size_t n) {                                   \
    const type *x = in[0];                                                                         \
    result *z = out;                                                                               \
    EACH {                                                                                         \
      type a = x[i];                                                                               \
      z[i] = (expr);                                                                               \
    }                                                                                              \
  }
#define LOOP_2(name, type, result, expr)                                                           \
  static void name(void *out, const void *const *in, size_t n) {                                   \
    const type *x = in[0], *y = in[1];                                                             \
    result *z = out;                                                                               \
    EACH {                                                                                         \
      type a = x[i], b = y[i];                                                                     \
      z[i] = (expr);                                                                               \
    }                                                                                              \
  }
/* These have an operand that is the same for all elements: the first, or the second. */
#define LOOP_2_SAME(name, type, expr)                                                              \
  static void name##_0(void *out, const void *const *in, size_t n) {                               \
    const type a = *(const type *)in[0], *y = in[1];                                               \
    type *z = out;                                                                                 \
    EACH {                                                                                         \
      type b = y[i];                                                                               \
      z[i] = (expr);                                                                               \
    }                                                                                              \
  }                                                                                                \
  static void name##_1(void *out, const void *const *in, size_t n) {                               \
    const type *x = in[0], b = *(const type *)in[1];                                               \
    type *z = out;                                                                                 \
    EACH {                                                                                         \
      type a = x[i];                                                                               \
      z[i] = (expr);                                                                               \
    }                                                                                              \
  }
#define LOOP_3(name, first, type, expr)                                                            \
  static void name(void *out, const void *const *in, size_t n) {                                   \
    const first *w = in[0];                                                                        \
    const type *x = in[1], *y = in[2];                                                             \
    type *z = out;                                                                                 \
    EACH {                                                                                         \
      first a = w[i];                                                                              \
      type b = x[i], c = y[i];                                                                     \
      z[i] = (expr);                                                                               \
    }                                                                                              \
  }

/* min and max as FLOAT_MIN and FLOAT_MAX in base/scalar.c, without branches: equal floats that
 * differ are -0 and +0, of whose bits `or` makes -0 and `and` +0. */
#define FLOAT_BITS(T, type, uint)                                                                  \
  static inline uint bits_##T(type x) {                                                            \
    uint bits;                                                                                     \
    memcpy(&bits, &x, sizeof bits);                                                                \
    return bits;                                                                                   \
  }                                                                                                \
  static inline type float_##T(uint bits) {                                                        \
    type x;                                                                                        \
    memcpy(&x, &bits, sizeof x);                                                                   \
    return x;                                                                                      \
  }                                                                                                \
  static inline type min_##T(type a, type b) {                                                     \
    type less = a < b ? a : b, same = float_##T(bits_##T(a) | bits_##T(b)), sum = a + b;           \
    type z = a == b ? same : less;                                                                 \
    return __builtin_isunordered(a, b) ? sum : z;                                                  \
  }                                                                                                \
  static inline type max_##T(type a, type b) {                                                     \
    type more = a > b ? a : b, same = float_##T(bits_##T(a) & bits_##T(b)), sum = a + b;           \
    type z = a == b ? same : more;                                                                 \
    return __builtin_isunordered(a, b) ? sum : z;                                                  \
  }
FLOAT_BITS(f32, float, uint32_t)
FLOAT_BITS(f64, double, uint64_t)

#define ARITHMETIC_INT(T, type, uint)                                                              \
  LOOP_2(ADD_##T, uint, uint, a + b)                                                               \
  LOOP_2(SUB_##T, uint, uint, a - b)                                                               \
  LOOP_2(MUL_##T, uint, uint, a *b)                                                                \
  LOOP_1(NEG_##T, uint, uint, 0 - a)                                                               \
  LOOP_1(ABS_##T, type, uint, a < 0 ? 0 - (uint)a : (uint)a)                                       \
  LOOP_1(RELU_##T, type, type, a > 0 ? a : 0)                                                      \
  LOOP_2(MIN_##T, type, type, a < b ? a : b)                                                       \
  LOOP_2(MAX_##T, type, type, a > b ? a : b)
ARITHMETIC_INT(i32, int32_t, uint32_t)
ARITHMETIC_INT(i64, int64_t, uint64_t)

#define ARITHMETIC_FLOAT(T, type, fabs, fma, sqrt)                                                 \
  LOOP_2(ADD_##T, type, type, a + b)                                                               \
  LOOP_2(SUB_##T, type, type, a - b)                                                               \
  LOOP_2(MUL_##T, type, type, a *b)                                                                \
  LOOP_2(DIV_##T, type, type, a / b)                                                               \
  LOOP_1(NEG_##T, type, type, -a)                                                                  \
  LOOP_1(ABS_##T, type, type, fabs(a))                                                             \
  LOOP_1(RELU_##T, type, type, a <= 0 ? 0 : a)                                                     \
  LOOP_2(MIN_##T, type, type, min_##T(a, b))                                                       \
  LOOP_2(MAX_##T, type, type, max_##T(a, b))                                                       \
  LOOP_1(SQRT_##T, type, type, sqrt(a))                                                            \
  LOOP_3(FMA_##T, type, type, fma(a, b, c))
ARITHMETIC_FLOAT(f32, float, fabsf, fmaf, sqrtf)
ARITHMETIC_FLOAT(f64, double, fabs, fma, sqrt)

#define ARITHMETIC_SAME(T, type)                                                                   \
  LOOP_2_SAME(ADD_##T, type, a + b)                                                                \
  LOOP_2_SAME(SUB_##T, type, a - b)                                                                \
  LOOP_2_SAME(MUL_##T, type, a *b)                                                                 \
  LOOP_2_SAME(DIV_##T, type, a / b)
ARITHMETIC_SAME(f32, float)
ARITHMETIC_SAME(f64, double)

#define COMPARISONS(T, type)                                                                       \
  LOOP_2(EQ_##T, type, uint8_t, a == b)                                                            \
  LOOP_2(NE_##T, type, uint8_t, a != b)                                                            \
  LOOP_2(LT_##T, type, uint8_t, a < b)                                                             \
  LOOP_2(LE_##T, type, uint8_t, a <= b)                                                            \
  LOOP_2(GT_##T, type, uint8_t, a > b)                                                             \
  LOOP_2(GE_##T, type, uint8_t, a >= b)
COMPARISONS(i32, int32_t)
COMPARISONS(i64, int64_t)
COMPARISONS(f32, float)
COMPARISONS(f64, double)

/* A bool is a byte that is not 0. */
LOOP_2(EQ_bool, uint8_t, uint8_t, (a != 0) == (b != 0))
LOOP_2(NE_bool, uint8_t, uint8_t, (a != 0) != (b != 0))
LOOP_2(LT_bool, uint8_t, uint8_t, (a == 0) & (b != 0))
LOOP_2(LE_bool, uint8_t, uint8_t, (a == 0) | (b != 0))
LOOP_2(GT_bool, uint8_t, uint8_t, (a != 0) & (b == 0))
LOOP_2(GE_bool, uint8_t, uint8_t, (a != 0) | (b == 0))
LOOP_2(BAND_bool, uint8_t, uint8_t, (a != 0) & (b != 0))
LOOP_2(BOR_bool, uint8_t, uint8_t, (a != 0) | (b != 0))
LOOP_1(BNOT_bool, uint8_t, uint8_t, a == 0)

LOOP_3(SELECT_8, uint8_t, uint8_t, (a ? b : c) != 0)
LOOP_3(SELECT_32, uint8_t, uint32_t, a ? b : c)
LOOP_3(SELECT_64, uint8_t, uint64_t, a ? b : c)

/* The loops of ops by the dtype at which they are; NULL: there is none. */
#define OF_NUMBERS(NAME)                                                                           \
  [HIA_OP_##NAME] = {[HIA_I32] = NAME##_i32,                                                       \
                     [HIA_I64] = NAME##_i64,                                                       \
                     [HIA_F32] = NAME##_f32,                                                       \
                     [HIA_F64] = NAME##_f64}
#define OF_FLOATS(NAME) [HIA_OP_##NAME] = {[HIA_F32] = NAME##_f32, [HIA_F64] = NAME##_f64}
#define OF_BOOLS(NAME)  [HIA_OP_##NAME] = {[HIA_BOOL] = NAME##_bool}
#define OF_ALL(NAME)                                                                               \
  [HIA_OP_##NAME] = {[HIA_BOOL] = NAME##_bool,                                                     \
                     [HIA_I32] = NAME##_i32,                                                       \
                     [HIA_I64] = NAME##_i64,                                                       \
                     [HIA_F32] = NAME##_f32,                                                       \
                     [HIA_F64] = NAME##_f64}
static const loop loops[LIFTED][HIA_N_DTYPES] = {OF_NUMBERS(ADD),
                                                 OF_NUMBERS(MUL),
                                                 OF_NUMBERS(SUB),
                                                 OF_FLOATS(DIV),
                                                 OF_NUMBERS(NEG),
                                                 OF_NUMBERS(ABS),
                                                 OF_NUMBERS(RELU),
                                                 OF_NUMBERS(MIN),
                                                 OF_NUMBERS(MAX),
                                                 OF_FLOATS(SQRT),
                                                 OF_FLOATS(FMA),
                                                 OF_ALL(EQ),
                                                 OF_ALL(NE),
                                                 OF_ALL(LT),
                                                 OF_ALL(LE),
                                                 OF_ALL(GT),
                                                 OF_ALL(GE),
                                                 OF_BOOLS(BAND),
                                                 OF_BOOLS(BOR),
                                                 OF_BOOLS(BNOT),
                                                 [HIA_OP_SELECT] = {[HIA_BOOL] = SELECT_8,
                                                                    [HIA_I32] = SELECT_32,
                                                                    [HIA_I64] = SELECT_64,
                                                                    [HIA_F32] = SELECT_32,
                                                                    [HIA_F64] = SELECT_64}};

/* Such loops, of operations with two operands, of which this one is the same. */
#define OF_SAME(NAME)                                                                              \
  [HIA_OP_##                                                                                       \
      NAME] = {[HIA_F32] = {NAME##_f32_0, NAME##_f32_1}, [HIA_F64] = {NAME##_f64_0, NAME##_f64_1}}
static const loop same_loops[LIFTED][HIA_N_DTYPES][2] = {OF_SAME(ADD), OF_SAME(SUB), OF_SAME(MUL),
                                                         OF_SAME(DIV)};

/* ---- walking ---- */

typedef struct operand {
  bool is_tensor;
  hia_repr repr;
  uint32_t size;                /* of an element */
  hia_word word;                /* of a scalar */
  const char *at;               /* of a tensor: its next element */
  int64_t stride[HIA_MAX_RANK]; /* along each axis, in elements; along the last one 0 or 1 */
} operand;

/* The block of copies of an operand that is the same along a strip. */
enum { COPIES = 256 };
typedef struct copies {
  _Alignas(64) char bytes[COPIES * 8];
} copies;

typedef struct walk {
  hia_kernel kernel;
  uint64_t imm;
  loop loop;              /* or NULL */
  const loop *same_loops; /* of the operation, or NULL */
  hia_repr repr;
  uint32_t size, n_in;
  uint32_t cost; /* cost_of */
  operand in[MAX_OPERANDS];
  uint32_t n_axes; /* without those of size 1, and taken together; at least 1 */
  uint64_t dims[HIA_MAX_RANK];
  copies same[MAX_OPERANDS];
} walk;

/* The strides of an operand along the axes of the result. */
static void strides_of(const hia_dims *in, const hia_dims *out, int64_t *strides) {
  int64_t stride = 1;
  for (uint32_t k = 1; k <= out->rank; k++) {
    hia_dim dim = k <= in->rank ? in->dims[in->rank - k] : 1;
    strides[out->rank - k] = dim == 1 ? 0 : stride;
    stride *= dim;
  }
}

static bool goes_on(const walk *w, int64_t strides[][HIA_MAX_RANK], uint32_t axis, int64_t dim) {
  for (uint32_t i = 0; i < w->n_in; i++)
    if (w->in[i].stride[w->n_axes - 1] != strides[i][axis] * dim) return false;
  return true;
}

/* Finds the axes of a result that has elements. */
static void find_axes(walk *w, const hia_dims *ins, const hia_dims *out) {
  int64_t strides[MAX_OPERANDS][HIA_MAX_RANK];
  for (uint32_t i = 0; i < w->n_in; i++) strides_of(&ins[i], out, strides[i]);
  w->n_axes = 0;
  for (uint32_t k = 0; k < out->rank; k++) {
    int64_t dim = out->dims[k];
    if (dim == 1) continue;
    if (w->n_axes && goes_on(w, strides, k, dim))
      w->dims[w->n_axes - 1] *= (uint64_t)dim;
    else
      w->dims[w->n_axes++] = (uint64_t)dim;
    for (uint32_t i = 0; i < w->n_in; i++) w->in[i].stride[w->n_axes - 1] = strides[i][k];
  }
  if (w->n_axes) return;
  w->n_axes = 1; /* a single element */
  w->dims[0] = 1;
  for (uint32_t i = 0; i < w->n_in; i++) w->in[i].stride[0] = 0;
}

static hia_word word_of(const operand *x) {
  return x->is_tensor ? hiaR_load(x->repr, x->at) : x->word;
}

/* A strip of n elements, by the kernel. */
static hia_status strip_by_kernel(const walk *w, char *out, size_t n) {
  static const uint16_t slot[MAX_OPERANDS] = {0, 1, 2};
  hia_word slots[MAX_OPERANDS + 1];
  const char *at[MAX_OPERANDS];
  uint32_t last = w->n_axes - 1;
  for (uint32_t k = 0; k < w->n_in; k++) {
    slots[k] = word_of(&w->in[k]);
    at[k] = w->in[k].at;
  }
  for (size_t i = 0; i < n; i++) {
    for (uint32_t k = 0; k < w->n_in; k++) {
      const operand *x = &w->in[k];
      if (!x->stride[last]) continue;
      slots[k] = hiaR_load(x->repr, at[k]);
      at[k] += x->size;
    }
    hia_status status = w->kernel(slots, slot, MAX_OPERANDS, w->imm);
    if (HIA_UNLIKELY(status)) return status;
    hiaR_store(w->repr, out, slots[MAX_OPERANDS]);
    out += w->size;
  }
  return HIA_OK;
}

static void fill_copies(copies *to, const operand *x, size_t n) {
  hia_word word = word_of(x);
  uint32_t half = (uint32_t)word;
  if (x->size == 1)
    memset(to, (int)word, n);
  else if (x->size == sizeof half)
    for (size_t i = 0; i < n; i++) memcpy(to->bytes + i * sizeof half, &half, sizeof half);
  else
    for (size_t i = 0; i < n; i++) memcpy(to->bytes + i * sizeof word, &word, sizeof word);
}

/* True if some operands take much longer than others (base/elementary.h). */
static bool has_far(unsigned op) {
  return op == HIA_OP_SIN || op == HIA_OP_COS || op == HIA_OP_TAN || op == HIA_OP_POW ||
         op == HIA_OP_HYPOT;
}

/* Nanoseconds of an element, roughly. The remainder of floats is found bit by bit: of f64 at most
 * some 2000 (graph/analysis/cost.c). */
static uint32_t cost_of(const walk *w, const hia_operation *o) {
  if (w->loop && loops[o->op][o->at]) return 1;
  if (w->loop && !has_far(o->op)) return 5;
  if (o->op != HIA_OP_REM) return 25;
  return o->at == HIA_F64 ? 8000 : o->at == HIA_F32 ? 1000 : 25;
}

/* The loop for strips of which one operand is a tensor's element that is the same all along them:
 * rows of a matrix are often short, and copies of an element take as long as the loop. */
static loop same_loop(const walk *w) {
  uint32_t last = w->n_axes - 1, same = w->in[0].stride[last] ? 1 : 0;
  if (!w->same_loops || w->n_in != 2) return NULL;
  bool is_one = !w->in[same].stride[last] && w->in[1 - same].stride[last];
  return is_one && w->in[same].is_tensor ? w->same_loops[same] : NULL;
}

/* A strip along the last axis, in pieces. */
static hia_status strip(walk *w, char *out, uint64_t n, hia_work *work) {
  uint32_t last = w->n_axes - 1;
  uint64_t piece = 1 + HIA_WORK / 4 / w->cost;
  for (uint32_t k = 0; w->loop && k < w->n_in; k++) {
    if (w->in[k].stride[last]) continue;
    if (piece > COPIES) piece = COPIES;
    fill_copies(&w->same[k], &w->in[k], n < COPIES ? n : COPIES);
  }
  const char *from[MAX_OPERANDS];
  for (uint32_t k = 0; k < w->n_in; k++) from[k] = w->in[k].at;
  hia_status status = HIA_OK;
  for (uint64_t i = 0, m; i < n && !status; i += m) {
    m = n - i < piece ? n - i : piece;
    if (!hiaR_work_on(work, 10 + m * w->cost)) {
      status = HIA_CANCELLED;
    } else if (w->loop) {
      const void *in[MAX_OPERANDS];
      for (uint32_t k = 0; k < w->n_in; k++)
        in[k] = w->in[k].stride[last] ? w->in[k].at : w->same[k].bytes;
      w->loop(out, in, m);
    } else {
      status = strip_by_kernel(w, out, m);
    }
    for (uint32_t k = 0; k < w->n_in; k++)
      if (w->in[k].stride[last]) w->in[k].at += m * w->in[k].size;
    out += m * w->size;
  }
  for (uint32_t k = 0; k < w->n_in; k++) w->in[k].at = from[k];
  return status;
}

/* The loop for strips that need nothing else than it: they are short, and all operands go along
 * them, or one is the same all along. NULL: there is none. What a strip takes for itself is more
 * than a row of a few elements. */
static loop whole_loop(const walk *w) {
  uint32_t last = w->n_axes - 1;
  if (!w->loop || w->dims[last] > HIA_WORK / 4 / w->cost) return NULL;
  bool go_along = true;
  for (uint32_t k = 0; k < w->n_in; k++) go_along &= w->in[k].stride[last] != 0;
  return go_along ? w->loop : same_loop(w);
}

/* All strips. The axes but the last count like the digits of a number. */
static hia_status walk_all(walk *w, char *out, hia_work *work) {
  uint32_t last = w->n_axes - 1;
  uint64_t n = w->dims[last], index[HIA_MAX_RANK];
  loop whole = whole_loop(w);
  for (uint32_t k = 0; k < last; k++) index[k] = 0;
  for (;;) {
    if (whole) {
      const void *in[MAX_OPERANDS];
      for (uint32_t k = 0; k < w->n_in; k++) in[k] = w->in[k].at;
      if (!hiaR_work_on(work, 10 + n * w->cost)) return HIA_CANCELLED;
      whole(out, in, n);
    } else {
      hia_status status = strip(w, out, n, work);
      if (status) return status;
    }
    out += n * w->size;
    uint32_t k = last;
    for (;;) {
      if (k-- == 0) return HIA_OK;
      bool is_full = ++index[k] == w->dims[k];
      if (is_full) index[k] = 0;
      int64_t moved = is_full ? 1 - (int64_t)w->dims[k] : 1;
      for (uint32_t i = 0; i < w->n_in; i++)
        if (w->in[i].is_tensor) w->in[i].at += moved * w->in[i].stride[k] * w->in[i].size;
      if (!is_full) break;
    }
  }
}

/* ---- the operation ---- */

/* The shape of all operands that are tensors, whose other dims are not set: small tensors are
 * common. False if they are not of one shape. */
static bool have_one_shape(const hia_operation *o, const hia_word *in, hia_dims *shape) {
  const hia_tensor *first = NULL;
  uint32_t rank = 0;
  for (uint32_t i = 0; i < o->n_in; i++) {
    if (!hiaR_operand_is_tensor(o, i)) continue;
    const hia_tensor *t = hiaR_tensor(in[i]);
    if (!first) {
      first = t;
      rank = hiaR_tensor_rank(t);
    }
    if (hiaR_tensor_rank(t) != rank) return false;
    for (uint32_t k = 0; k < rank; k++)
      if (t->dims[k] != first->dims[k]) return false;
  }
  if (!first) return false;
  shape->rank = rank;
  for (uint32_t k = 0; k < rank; k++) shape->dims[k] = first->dims[k];
  return true;
}

/* The operands, and the axes along which they are walked through. */
static hia_status begin_walk(walk *w, const hia_operation *o, const hia_word *in, hia_dims *shape,
                             hia_misfortune *why) {
  hia_dtype dtype = (hia_dtype)o->dtype;
  bool has_one_shape = have_one_shape(o, in, shape);
  hia_dims ins[MAX_OPERANDS];
  if (!has_one_shape) {
    for (uint32_t i = 0; i < o->n_in; i++) ins[i] = hiaR_operand_dims(o, in, i);
    hia_fit fit = hiaR_shape_broadcast(ins, o->n_in, shape, &why->misfit);
    if (fit != HIA_FIT_ALWAYS) return HIA_SHAPE;
  }
  w->kernel = o->kernels[o->at];
  w->imm = o->imm;
  w->loop = loops[o->op][o->at];
  w->same_loops = same_loops[o->op][o->at][0] ? same_loops[o->op][o->at] : NULL;
  if (!w->loop) w->loop = hiaR_lanes(o->op, (hia_dtype)o->at);
  w->cost = cost_of(w, o);
  w->repr = (hia_repr)dtype;
  w->size = hiaR_dtype_size(dtype);
  w->n_in = o->n_in;
  for (uint32_t i = 0; i < o->n_in; i++) {
    operand *x = &w->in[i];
    x->is_tensor = hiaR_operand_is_tensor(o, i);
    hia_dtype its = x->is_tensor ? hiaR_tensor_dtype(hiaR_tensor(in[i])) : (hia_dtype)o->at;
    if (!x->is_tensor && i == 0 && o->op == HIA_OP_SELECT) its = HIA_BOOL;
    x->repr = (hia_repr)its;
    x->size = hiaR_dtype_size(its);
    x->word = in[i];
    x->at = x->is_tensor ? hiaR_tensor(in[i])->data : NULL;
    x->stride[0] = x->is_tensor;
  }
  uint64_t n = 1;
  for (uint32_t i = 0; i < shape->rank; i++) n *= (uint64_t)shape->dims[i];
  w->n_axes = n ? 1 : 0;
  w->dims[0] = n;
  if (n && !has_one_shape) find_axes(w, ins, shape);
  return HIA_OK;
}

/* Returns an operand whose memory the result can take: HIA_NONE if there is none. */
static uint32_t find_reused(const walk *w, const hia_operation *o, const hia_word *in,
                            const hia_dims *shape) {
  if (!o->takes) return HIA_NONE;
  for (uint32_t i = 0; i < o->n_in; i++) {
    if (!hiaR_operand_is_taken(o, i) || w->in[i].size != w->size) continue;
    const hia_tensor *t = hiaR_tensor(in[i]);
    bool fits = hiaR_tensor_rank(t) == shape->rank;
    for (uint32_t k = 0; fits && k < shape->rank; k++) fits = t->dims[k] == shape->dims[k];
    if (fits && hiaR_tensor_is_last(in[i])) return i;
  }
  return HIA_NONE;
}

static hia_status lift(HIA_COMPUTE) {
  walk w;
  hia_dims shape;
  hia_status status = begin_walk(&w, o, in, &shape, why);
  if (status) return status;
  hia_dtype dtype = (hia_dtype)o->dtype;
  uint32_t reused = find_reused(&w, o, in, &shape);
  if (reused != HIA_NONE) {
    hiaR_result_keep(env, o, in, reused, r);
    hiaR_tensor(r->word)->counted.spare = hiaR_tensor_spare(dtype, shape.rank);
    r->dtype = dtype;
  } else if (!hiaR_result_new(env, dtype, &shape, r)) {
    return HIA_MEMORY;
  }
  if (w.n_axes == 0) return HIA_OK; /* no elements */
  hia_work work = hiaR_work(env);
  return walk_all(&w, r->data, &work);
}
HIA_DEFINE_OPERATION(LIFT, lift)
