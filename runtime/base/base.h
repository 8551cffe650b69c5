/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* What everything is built on: memory, vectors, errors, scalars.
 *
 * There are two kinds of memory. Compilation allocates from arenas, never frees single blocks, and
 * leaves through one handler when memory runs out (hiaR_throw), so compiler code has no NULL
 * checks. Run-time code uses the allocator directly and returns statuses. */
#ifndef HIA_BASE_H
#define HIA_BASE_H

#include <hiaton/types.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>

/* The sanitizer that this library is built with: HIA_ASAN, HIA_TSAN. */
#if defined(__SANITIZE_ADDRESS__)
#define HIA_ASAN 1
#endif
#if defined(__SANITIZE_THREAD__)
#define HIA_TSAN 1
#endif
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HIA_ASAN 1
#endif
#if __has_feature(thread_sanitizer)
#define HIA_TSAN 1
#endif
#endif

#define HIA_NONE       UINT32_MAX /* no index */
#define HIA_LEN(array) (sizeof(array) / sizeof((array)[0]))
/* True if the interpreter computes operations as they come (runtime/interp/later/later.h). */
static inline bool hiaR_is_by_firings(hia_batching batching) {
  return batching == HIA_BATCH_DEPTH || batching == HIA_BATCH_AGENDA;
}

#if defined(__GNUC__)
#define HIA_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#define HIA_COLD              __attribute__((noinline, cold))
#define HIA_LIKELY(x)         __builtin_expect(!!(x), 1)
#define HIA_UNLIKELY(x)       __builtin_expect(!!(x), 0)
#else
#define HIA_PRINTF(fmt, args)
#define HIA_COLD
#define HIA_LIKELY(x)   (x)
#define HIA_UNLIKELY(x) (x)
#endif

/* ---- base/narrow.c: numbers in fewer bits ----
 *
 * What a program, a graph or an image says is checked where it is read, with an error that says so.
 * So a number that is then stored in fewer bits fits. These make sure of it: a field that is too
 * small for its number would be a wrong size or address in memory, so they end the process instead,
 * with a message. */
_Noreturn void hiaR_does_not_fit(uint64_t number, unsigned bits);
static inline uint8_t hiaR_u8(uint64_t number) {
  if (HIA_UNLIKELY(number > UINT8_MAX)) hiaR_does_not_fit(number, 8);
  return (uint8_t)number;
}
static inline uint16_t hiaR_u16(uint64_t number) {
  if (HIA_UNLIKELY(number > UINT16_MAX)) hiaR_does_not_fit(number, 16);
  return (uint16_t)number;
}
static inline uint32_t hiaR_u32(uint64_t number) {
  if (HIA_UNLIKELY(number > UINT32_MAX)) hiaR_does_not_fit(number, 32);
  return (uint32_t)number;
}

/* base/clock.c: nanoseconds, monotonic; and those of processor time of this thread. */
uint64_t hiaR_now(void);
uint64_t hiaR_thread_now(void);

/* ---- base/alloc.c: the default allocator (malloc), and sizes that cannot overflow ---- */

extern const hia_allocator hiaR_malloc;
/* True if the allocator has all its functions. */
static inline bool hiaR_is_whole(const hia_allocator *a) {
  return a->alloc && a->resize && a->free;
}
void *hiaR_alloc(const hia_allocator *a, size_t size); /* zeroed; NULL when out of memory */
/* Not zeroed, for elements that will all be written. */
void *hiaR_alloc_large(const hia_allocator *a, size_t size);
void hiaR_free(const hia_allocator *a, void *block, size_t size);
bool hiaR_mul(size_t a, size_t b, size_t *product); /* false on overflow */
bool hiaR_add(size_t a, size_t b, size_t *sum);

/* ---- base/arena.c ---- */

typedef struct hia_arena {
  const hia_allocator *allocator;
  struct hia_chunk *chunks; /* newest first */
  char *at, *end;
  size_t bytes;          /* taken from the allocator, for statistics */
  struct hia_comp *comp; /* the compilation to which HIA_MEMORY is thrown */
} hia_arena;

void hiaR_arena_init(hia_arena *arena, const hia_allocator *allocator, struct hia_comp *comp);
void hiaR_arena_free(hia_arena *arena);                /* all blocks; the arena may be used again */
void *hiaR_arena_alloc(hia_arena *arena, size_t size); /* zeroed, 16-aligned; throws MEMORY */
void *hiaR_arena_array(hia_arena *arena, size_t n, size_t size); /* checked product */
/* Makes a block larger, in place if it is the arena's newest. The old block is not freed. */
void *hiaR_arena_grow(hia_arena *arena, void *block, size_t old_size, size_t size);
char *hiaR_arena_strndup(hia_arena *arena, const char *text, size_t len);
char *hiaR_arena_printf(hia_arena *arena, const char *fmt, ...) HIA_PRINTF(2, 3);

/* Stack discipline, for scratch memory: release frees what was allocated since the mark. */
typedef struct hia_mark {
  struct hia_chunk *chunks;
  char *at, *end;
} hia_mark;
hia_mark hiaR_arena_mark(const hia_arena *arena);
void hiaR_arena_release(hia_arena *arena, hia_mark mark);

#define HIA_NEW(arena, type)          ((type *)hiaR_arena_alloc((arena), sizeof(type)))
#define HIA_NEW_ARRAY(arena, type, n) ((type *)hiaR_arena_array((arena), (n), sizeof(type)))

/* ---- vectors in an arena: HIA_VEC(hia_node) nodes; hiaR_push(arena, &nodes, x) ----
 * Growing moves the elements: never hold a pointer to one across a push. */

#define HIA_VEC(type)                                                                              \
  struct {                                                                                         \
    type *data;                                                                                    \
    uint32_t len, cap;                                                                             \
  }
void hiaR_vec_grow(hia_arena *arena, void *vec, size_t elem_size, uint32_t min_cap);
#define hiaR_reserve(arena, vec, n)                                                                \
  ((n) <= (vec)->cap ? (void)0 : hiaR_vec_grow((arena), (vec), sizeof(*(vec)->data), (n)))
#define hiaR_push(arena, vec, ...)                                                                 \
  (hiaR_reserve((arena), (vec), (vec)->len + 1), (void)((vec)->data[(vec)->len++] = __VA_ARGS__))

typedef HIA_VEC(uint32_t) hia_u32vec;

/* ---- base/index.c: finding elements by content ----
 *
 * A hash table of indices into a vector that the caller owns and compares with:
 *
 *   uint32_t at = hash, i;
 *   while ((i = hiaR_index_next(&index, hash, &at)) != HIA_NONE)
 *     if (vec.data[i] equals x) return i;
 *   hiaR_index_add(arena, &index, hash, vec.len); */

typedef struct hia_index {
  struct hia_index_slot *slots;
  uint32_t len, cap; /* cap: a power of two, or 0 */
} hia_index;
uint32_t hiaR_hash(const void *bytes, size_t len);
/* 2^64 divided by the golden ratio: an odd number whose multiples are spread evenly, for hashes. */
#define HIA_MIX UINT64_C(0x9e3779b97f4a7c15)
/* Hashes numbers, one after the other, for tables: the lower bits depend on all that differ in
 * practice, such as the middle ones of addresses. */
static inline uint64_t hiaR_mix(uint64_t hash, uint64_t number) {
  hash = (hash ^ number) * HIA_MIX;
  return hash ^ hash >> 32;
}
uint32_t hiaR_index_next(const hia_index *index, uint32_t hash, uint32_t *at);
void hiaR_index_add(hia_arena *arena, hia_index *index, uint32_t hash, uint32_t i);

/* ---- base/text.c: a growing string in an arena, for everything that prints ---- */

typedef struct hia_text {
  hia_arena *arena;
  char *data; /* NUL-terminated once anything was written */
  size_t len, cap;
} hia_text;
void hiaR_text_init(hia_text *text, hia_arena *arena);
void hiaR_text_add(hia_text *text, const char *bytes, size_t len);
void hiaR_text_addf(hia_text *text, const char *fmt, ...) HIA_PRINTF(2, 3);
void hiaR_text_vaddf(hia_text *text, const char *fmt, va_list args) HIA_PRINTF(2, 0);

/* The first byte that is not part of valid UTF-8 (no surrogates, no overlong forms), or n. */
size_t hiaR_find_invalid_utf8(const char *text, size_t n);

/* ---- base/sized.c: structures that grow ----
 *
 * The first field of such a structure is its size. New fields are added behind all others. They
 * must not occupy what was padding at the end of an older header, since callers with that header
 * never set it. So there is no padding at the end: HIA_SIZED checks that where such a structure is
 * read, and a field that would leave some comes with another that fills it. */

#define HIA_SIZED(type, last)                                                                      \
  _Static_assert(sizeof(type) % sizeof(size_t) == 0 &&                                             \
                     offsetof(type, last) + sizeof(((type *)0)->last) == sizeof(type),             \
                 #type " ends with padding, or not with " #last)

/* Copies a caller's sized struct over *own, which holds the defaults: fields that the caller's
 * lacks keep them. False if the caller's is longer and the rest is not all zero, or its size is
 * not that of any version. */
bool hiaR_copy_sized(void *own, size_t own_size, const void *theirs, size_t theirs_size);
/* Copies as much of *own as the caller's struct has room for; theirs->size stays. */
void hiaR_sized_copy_out(const void *own, size_t own_size, void *theirs, size_t theirs_size);

/* ---- base/excerpt.c ---- */

/* Adds bytes, with those that are not printable escaped. */
void hiaR_show(hia_text *out, const char *bytes, size_t n);
/* Adds a line of a text and a caret line, for `len` bytes at a column; long lines are cut. */
void hiaR_excerpt(const char *text, size_t text_len, uint32_t line, uint32_t col, uint32_t len,
                  hia_text *out);

/* ---- base/comp.c: one compilation, and how it ends early ----
 *
 *   hia_comp comp;
 *   hiaR_comp_init(&comp, allocator);
 *   if (HIA_TRY(&comp)) { ...may throw... }
 *   if (comp.status) ...
 *   hiaR_comp_free(&comp);
 *
 * A throw crosses only frames of hiaton's compiler: never LLVM's, a host's or another library's. */

/* What a compilation polls between passes, functions and large blocks of memory. Both functions
 * are quick, and may be called on any thread that compiles. */
typedef struct hia_look {
  hia_status (*ended)(
      void *user); /* a status with which the compilation ends by a throw; HIA_OK: it goes on */
  bool (*is_late)(void *user); /* true if it has used up its time: optional work is then left out */
  void *user;
} hia_look;

typedef struct hia_comp {
  hia_arena arena;   /* lives as long as the result of the compilation */
  hia_arena scratch; /* of the graph pass that runs; emptied after it */
  jmp_buf handler;
  bool armed;
  const hia_look *look; /* NULL: its time is not limited */
  hia_status status;
  char message[512]; /* of a throw; for HIA_INTERNAL the bug in hiaton */
} hia_comp;
/* A throw disarms the handler: code that runs after it must not throw again. */
void hiaR_comp_init(hia_comp *comp, const hia_allocator *allocator);
void hiaR_comp_free(hia_comp *comp);
_Noreturn void hiaR_throw(hia_comp *comp, hia_status status, const char *fmt, ...) HIA_PRINTF(3, 4);
#define HIA_TRY(comp) ((comp)->status = HIA_OK, (comp)->armed = true, setjmp((comp)->handler) == 0)
/* Bugs in hiaton itself: HIA_BUG(comp, "node %u has no region", n). */
#define HIA_BUG(comp, ...) hiaR_throw((comp), HIA_INTERNAL, __VA_ARGS__)

/* Throws if the compilation must end. */
void hiaR_look(hia_comp *comp);
static inline bool hiaR_is_late(const hia_comp *comp) {
  return comp->look && comp->look->is_late(comp->look->user);
}

const char *hiaR_status_word(hia_status status);
const char *hiaR_status_message(hia_status status);

/* ---- base/scalar.c, elementary.c, library.c, kernel.c: what a scalar op means ----
 *
 * One definition for constant folding, the interpreter's kernels and the functions that native
 * code calls (exp, pow, ...), so that all engines agree bit for bit.
 *
 * A scalar travels as a word of 64 bits in canonical form: bool 0 or 1, i32 sign-extended, i64,
 * f64 as its bits, f32 as its bits with the upper half zero. */

typedef uint64_t hia_word;

static inline hia_word hiaR_from_i32(int32_t x) { return (hia_word)(int64_t)x; }
static inline hia_word hiaR_from_i64(int64_t x) { return (hia_word)x; }
static inline hia_word hiaR_from_bool(bool x) { return x ? 1 : 0; }
static inline hia_word hiaR_from_f32(float x) {
  uint32_t u;
  memcpy(&u, &x, sizeof u);
  return u;
}
static inline hia_word hiaR_from_f64(double x) {
  uint64_t u;
  memcpy(&u, &x, sizeof u);
  return u;
}
static inline int32_t hiaR_to_i32(hia_word w) { return (int32_t)(uint32_t)w; }
static inline int64_t hiaR_to_i64(hia_word w) { return (int64_t)w; }
static inline bool hiaR_to_bool(hia_word w) { return w != 0; }
static inline float hiaR_to_f32(hia_word w) {
  uint32_t u = (uint32_t)w;
  float x;
  memcpy(&x, &u, sizeof x);
  return x;
}
static inline double hiaR_to_f64(hia_word w) {
  double x;
  memcpy(&x, &w, sizeof x);
  return x;
}

/* A kernel computes one op for one frame: reads slots[in[0]], slots[in[1]], ..., writes
 * slots[out]. Returns HIA_OK, or the status of the failure (the slot is then unchanged). `imm` is
 * the node's immediate (CAST: the source dtype). */
typedef hia_status (*hia_kernel)(hia_word *slots, const uint16_t *in, uint16_t out, uint64_t imm);

/* The kernel of a primitive op at a dtype: that of its first data operand; for SELECT, of the
 * second; for CAST, the target dtype. NULL if there is no such op. `op` is an enum hia_op. */
hia_kernel hiaR_kernel(unsigned op, hia_dtype dtype);

/* The tables of kernels by dtype, one for each op whose row says OWN. A program that lists its
 * kernels one by one refers to these and links no others. */
#define HIA_KERNEL_OWN(table) extern const hia_kernel table[HIA_N_DTYPES];
#define HIA_KERNEL_OPERATION(table)
#define HIA_KERNEL_NONE(table)
#define HIA_OP(number, NAME, name, symbol, ins, outs, RULE, SHAPE, IMM, traits, cost, COST,        \
               GRADIENT, KERNEL, EMIT, doc)                                                        \
  HIA_KERNEL_##KERNEL(hiaR_k_##NAME)
#include "runtime/base/ops.def"
#undef HIA_KERNEL_OWN
#undef HIA_KERNEL_OPERATION
#undef HIA_KERNEL_NONE

/* What native code calls for ops with the trait LIBRARY, and for `rem` of floats, where it does not
 * have their code itself (base/elementary.h): the same functions that the kernels call, hence the
 * same bits. Never inlined: inlining could let a
 * compiler replace them by its own versions. */
#define HIA_LIBRARY_1(X)                                                                           \
  X(exp)                                                                                           \
  X(exp2)                                                                                          \
  X(log)                                                                                           \
  X(log2)                                                                                          \
  X(log10)                                                                                         \
  X(log1p)                                                                                         \
  X(expm1)                                                                                         \
  X(sin)                                                                                           \
  X(cos)                                                                                           \
  X(tan)                                                                                           \
  X(asin)                                                                                          \
  X(acos)                                                                                          \
  X(atan)                                                                                          \
  X(sinh)                                                                                          \
  X(cosh)                                                                                          \
  X(tanh)                                                                                          \
  X(sigmoid)
#define HIA_LIBRARY_2(X) X(pow) X(atan2) X(hypot) X(rem)
#define HIA_DECLARE_1(name)                                                                        \
  float hiaR_##name##_f32(float a);                                                                \
  double hiaR_##name##_f64(double a);
#define HIA_DECLARE_2(name)                                                                        \
  float hiaR_##name##_f32(float a, float b);                                                       \
  double hiaR_##name##_f64(double a, double b);
HIA_LIBRARY_1(HIA_DECLARE_1)
HIA_LIBRARY_2(HIA_DECLARE_2)
#undef HIA_DECLARE_1
#undef HIA_DECLARE_2

/* The kernels of scalars, called directly, for constant folding. */
hia_status hiaR_scalar_eval(unsigned op, hia_dtype dtype, uint64_t imm, const hia_word *in,
                            hia_word *out);

/* base/print_word.c: shortest decimal that reads back to the same value, laid out as Python's repr;
 * `inf`, `nan`. `buf` holds at least 40 bytes. Returns its length. */
size_t hiaR_print_word(char *buf, size_t size, hia_dtype dtype, hia_word word);

/* base/read_word.c: the value of a number literal at a dtype that is not bool. s .. end: the
 * digits, with `_`, point and exponent as in the language, without sign and suffix, of a
 * hexadecimal number without `0x`. An integer dtype takes integers only. Floats are rounded to
 * nearest. */
typedef enum hia_number_state {
  HIA_NUMBER_OK,
  HIA_NUMBER_RANGE, /* does not fit the integer dtype */
  HIA_NUMBER_LARGE  /* infinite in the float dtype */
} hia_number_state;
hia_number_state hiaR_read_word(const char *s, const char *end, bool is_hex, bool is_negative,
                                hia_dtype dtype, hia_word *word);
hia_word hiaR_infinite_word(bool is_nan, bool is_negative, hia_dtype dtype); /* or nan */

/* ---- base/ops.c: the enum, and the properties of each row of ops.def ---- */

enum hia_op {
#define HIA_OP(number, NAME, ...) HIA_OP_##NAME = number,
#include "runtime/base/ops.def"

  HIA_OP_LIMIT = 180 /* above the largest number: every program has a table of this size */
};

/* Type rules: how operand and result dtypes are related. An op is *at* a dtype, T here. */
typedef enum hia_rule {
  HIA_RULE_NUM,      /* ins and out one number dtype */
  HIA_RULE_INT,      /* ins and out one of i32 i64 */
  HIA_RULE_BITS,     /* ins and out one of bool i32 i64 */
  HIA_RULE_FLOAT,    /* ins and out one of f32 f64 */
  HIA_RULE_SHIFT,    /* T of i32 i64, a count of i32 or i64 -> T */
  HIA_RULE_CLASSIFY, /* ins one of f32 f64, out bool */
  HIA_RULE_COMPARE,  /* ins one dtype, out bool */
  HIA_RULE_SELECT,   /* bool, T, T -> T */
  HIA_RULE_CAST,     /* any dtype -> any dtype */
  /* These are rules of ops on tensors. */
  HIA_RULE_ANY,      /* ins and out one dtype */
  HIA_RULE_LOGIC,    /* ins and out bool */
  HIA_RULE_SIZE,     /* T -> i64 */
  HIA_RULE_POSITION, /* T, a number -> i64 */
  HIA_RULE_INDEXED,  /* T, then i64s -> T */
  HIA_RULE_UPDATED,  /* T, i64, T -> T */
  HIA_RULE_GATHER,   /* T, i32 or i64 -> T */
  HIA_RULE_SCATTER,  /* T, a number, i32 or i64, T -> T */
  HIA_RULE_LABELS,   /* T of f32 f64, i32 or i64, then T -> T */
  HIA_RULE_COUNT,    /* i64s -> i64 */
  HIA_RULE_HOT,      /* i64s -> T, a number */
  HIA_RULE_CONTROL,  /* checked by the verifier, op by op */
} hia_rule;
/* The shape of the result of an op that takes tensors (the rules themselves: base/shape.h). */
typedef enum hia_shape_rule {
  HIA_SHAPE_NONE,        /* it takes none */
  HIA_SHAPE_ELEMENTWISE, /* an op on scalars, which is *lifted*: operands broadcast; each element is
                            what the op gives for scalars */
  /* The rules of ops that only tensors have. Operands that are not named x, v or labels are
     scalars: indices and sizes. */
  HIA_SHAPE_DIM,       /* x -> scalar */
  HIA_SHAPE_ROW,       /* x[i] */
  HIA_SHAPE_ITEM,      /* x, i -> scalar */
  HIA_SHAPE_PART,      /* x[i..j] */
  HIA_SHAPE_ROWS,      /* x[v] */
  HIA_SHAPE_WITH,      /* x, i, v of the shape of a row of x -> as x */
  HIA_SHAPE_CAT,       /* all tensors */
  HIA_SHAPE_STACK,     /* all tensors or all scalars */
  HIA_SHAPE_PACK,      /* array of x, sizes: all x, along a new axis */
  HIA_SHAPE_RESHAPE,   /* x, sizes */
  HIA_SHAPE_FULL,      /* scalar, sizes */
  HIA_SHAPE_IOTA,      /* size */
  HIA_SHAPE_ONE_HOT,   /* i, size */
  HIA_SHAPE_EXPECT,    /* x, sizes -> as x */
  HIA_SHAPE_REDUCE,    /* x without an axis, or a scalar */
  HIA_SHAPE_PRODUCT,   /* x, v: as NumPy's matmul */
  HIA_SHAPE_OUTER,     /* x, v, vectors -> matrix */
  HIA_SHAPE_LAST,      /* as x, which has a last axis */
  HIA_SHAPE_LABELS,    /* x, labels of the shape of x without the last axis -> as labels */
  HIA_SHAPE_LABELLED,  /* x, labels, v of the shape of the labels -> as x */
  HIA_SHAPE_TRANSPOSE, /* a matrix */
  HIA_SHAPE_PARAM,     /* none -> of a param, or of a literal */
  HIA_SHAPE_WORK,      /* fuel, operands of an op -> fuel */
  HIA_SHAPE_ALIKE,     /* i, x, array of x -> i */
  HIA_SHAPE_TRAP,      /* result of an op, its operands -> scalar */
  /* Gradients have these. */
  HIA_SHAPE_COLLECT,      /* sum, x -> as x */
  HIA_SHAPE_TOUCHED,      /* sum, x -> a vector */
  HIA_SHAPE_COLLECT_ROWS, /* sum, v, x -> as x but for the number of rows, that of v */
  HIA_SHAPE_ZEROS,        /* x -> as x */
  HIA_SHAPE_FIT,          /* v, x that was broadcast to the shape of v -> as x */
  HIA_SHAPE_SCATTER,      /* x, indices, rows -> as x */
  HIA_SHAPE_CUT,          /* x, sizes -> as x but for the size of an axis */
  HIA_SHAPE_PRODUCT_AT,   /* x, v, matrices, of which the first is transposed */
  HIA_SHAPE_PRODUCT_BT,   /* the second one is */
} hia_shape_rule;
/* What differentiation does with a node (graph/grad/rules/rules.h). */
typedef enum hia_gradient_rule {
  HIA_GRADIENT_NONE, /* it has no gradient: of structure, differentiation knows itself what flows */
  HIA_GRADIENT_ZERO, /* nothing flows to its operands: they are constants to whatever uses it */
  HIA_GRADIENT_OWN,  /* hiaG_gradient builds it; nothing flows to operands that are no floats */
} hia_gradient_rule;
/* What the immediate of a node holds: a number, or two (HIA_IMM_A, HIA_IMM_B in graph/ir/graph.h).
 */
typedef enum hia_imm {
  HIA_IMM_NONE,     /* nothing: 0 */
  HIA_IMM_WORD,     /* a value of the result's type */
  HIA_IMM_DTYPE,    /* the dtype of the operand */
  HIA_IMM_AXIS,     /* an axis; of a reduction NONE, too: all */
  HIA_IMM_AXES,     /* a set of axes, as bits */
  HIA_IMM_NUMBER,   /* which parameter, variable or counter; how much */
  HIA_IMM_CALLEE,   /* a function */
  HIA_IMM_GRADIENT, /* which gradient of which function */
  HIA_IMM_FORK_OF,  /* a function, and the number of a fork of it */
  HIA_IMM_FORK,     /* NONE, and the number of a fork */
  HIA_IMM_EXTERN,   /* a function of the host */
  HIA_IMM_PARAM,    /* a param of the program */
  HIA_IMM_LITERAL,  /* a literal of the graph; in an image where it lies */
  HIA_IMM_SITE,     /* a call site, and which argument or result */
  HIA_IMM_REGION,   /* a region; of ENTER: and whether the value is invariant */
  HIA_IMM_CTOR,     /* a constructor of the result's type */
  HIA_IMM_FIELD,    /* a constructor of the operand's type, and a word of its fields, or a set */
  HIA_IMM_REMADE,   /* a constructor of the result's type, and a set of words of its fields, as bits
                     */
} hia_imm;
/* True if the rule allows ops at this dtype. */
bool hiaR_rule_takes(hia_rule rule, hia_dtype dtype);
/* True if operand i of an op at T may be of `dtype`: mostly, if that is T. Not of CONTROL. */
bool hiaR_rule_takes_operand(hia_rule rule, hia_dtype T, uint32_t i, hia_dtype dtype);
/* The operand of whose dtype the op is; HIA_NONE: it is the result. Not of CONTROL. */
uint32_t hiaR_rule_decides(hia_rule rule);
/* The dtype of the result of an op at `dtype`. Not of CONTROL. */
hia_dtype hiaR_rule_result(hia_rule rule, hia_dtype dtype);

/* The rank of the result of an op that takes tensors, with n operands: `ranks` are those of the
 * first three, as far as there are so many; `rest` is the one that all others have, HIA_NONE if
 * they differ. An array, which PACK takes, has the rank of its elements. HIA_NONE: such operands
 * the op does not take, or not with this immediate. */
uint32_t hiaR_op_rank(unsigned op, uint64_t imm, uint32_t n, const uint32_t ranks[3],
                      uint32_t rest);

/* True if operand 0 is a sum (sums.h), and the last one a tensor such as it becomes. */
static inline bool hiaR_takes_sum(unsigned op) {
  return op == HIA_OP_COLLECT || op == HIA_OP_TOUCHED || op == HIA_OP_COLLECT_ROWS;
}

/* True if operations of this op cost fuel, and WORK computes the cost from n operands: from those
 * of the op, of which WITH, REDUCE, LAST, LABELS, LABELLED and TRANSPOSE need the first only,
 * COLLECT the second. Instead of the operands of PACK, CUT, TOUCHED and COLLECT_ROWS it takes the
 * result. */
bool hiaR_work_takes(uint64_t op, uint32_t n);

/* The immediate of a TRAP: the op whose result it checks, HIA_TRAP_GRADIENT more where that op
 * computes a gradient. */
#define HIA_TRAP_GRADIENT 1000u
_Static_assert(HIA_OP_LIMIT <= 1000, "the immediate of TRAP has two parts");
/* True if it is the immediate of a TRAP with n operands, the result among them. */
bool hiaR_trap_takes(uint64_t imm, uint32_t n);

/* Traits. */
enum {
  HIA_T_COMMUTES = 1 << 0,   /* a op b is b op a, bit for bit */
  HIA_T_RAISES_INT = 1 << 1, /* can fail on i32 and i64 */
  HIA_T_RAISES = 1 << 2,     /* can fail */
  HIA_T_CONTROL = 1 << 3,    /* moves tokens, computes nothing */
  HIA_T_EFFECT = 1 << 4,     /* must run exactly as often as written: never merged or removed */
  HIA_T_LIBRARY = 1 << 5, /* takes as long as a call: native code may call the runtime's function */
  HIA_T_STATIC = 1 << 6,  /* only in the static (tagged) graph */
  HIA_T_FUNCTION = 1 << 7,  /* only in function graphs */
  HIA_T_ALLOCATES = 1 << 8, /* takes memory: computes what it says, but not earlier or elsewhere */
  HIA_T_GUARDED = 1 << 9,   /* makes sense only where a branch has led to it */
  HIA_T_READS = 1 << 10,    /* reads an object */
  HIA_T_CONSUMES = 1 << 11, /* native code hands the references of its operands over to it */
  HIA_T_MAKES_NAN =
      1 << 12, /* at floats: its result may be NaN, or have one, where no operand does */
};

typedef struct hia_op_info {
  const char *name;   /* mnemonic in the text form; NULL: there is no such op */
  const char *symbol; /* of an operator of the language; else "" */
  int8_t n_ins;       /* -1: any number */
  int8_t n_outs;      /* -1: any number */
  uint8_t rule;       /* hia_rule */
  uint8_t shape;      /* hia_shape_rule */
  uint8_t gradient;   /* hia_gradient_rule */
  uint8_t imm;        /* hia_imm */
  uint8_t cost;       /* rough cycles, for inlining and unrolling */
  uint16_t traits;    /* HIA_T_... */
} hia_op_info;        /* without the doc: programs built ahead of time need not have it */
#define HIA_OP_PUBLIC(op) ((op) < 64)
extern const hia_op_info hiaR_ops[HIA_OP_LIMIT]; /* name is NULL where the number is unused */
unsigned hiaR_op_by_name(const char *name, size_t len); /* HIA_OP_LIMIT if there is none */

#endif
