/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Types of inference: interned, joined, settled (itype.c); and the types of gradients (gradient.c).
 *
 * The type of an expression during inference is an index like hia_type (the dtypes are the same),
 * whose parts may also be literal types, unknown, and bottom (the type of `fail`). A literal or
 * bottom type with a U is tainted: it was joined with an unknown, and is not decided before the
 * unknown is (see check/solve.c).
 *
 * A tensor is a *leaf*, a dtype or literal type, and a rank; a scalar is a leaf of rank 0. Operands
 * of elementwise operators broadcast: their join has the join of the leaves and the higher rank. If
 * one of them is unknown, that rank is *open*: a lower bound, until the unknown is known. So is the
 * rank of a tainted leaf. Ranks are open only in programs that may have tensors (has_tensors): in
 * others an operand is a scalar.
 *
 * The parts of a tuple and the element of an array are types of inference too; a data type is
 * always final. */
#ifndef HIA_FRONTEND_ITYPE_H
#define HIA_FRONTEND_ITYPE_H

#include "graph/ir/graph.h"

typedef uint32_t hia_itype;
enum {
  HIA_IT_UNKNOWN = 5,
  HIA_IT_BOTTOM, /* the type of `fail`, which joins with any type */
  HIA_IT_BOTTOM_U,
  HIA_IT_INT,
  HIA_IT_INT_U,
  HIA_IT_FLOAT,
  HIA_IT_FLOAT_U,
  HIA_IT_WHOLE, /* the result of an operation on integers whose operands are INT: never a float */
  HIA_IT_WHOLE_U,
  HIA_IT_ERROR,            /* reported, or about to be: joins with every type without a message */
  HIA_IT_FIRST_TUPLE = 16, /* tuples: index into it->tuples + 16 */
};
#define HIA_IT_NONE   UINT32_MAX
#define HIA_IT_TENSOR 0x10000000u /* tensors: and rank * 16 + leaf, a dtype or literal type */
#define HIA_IT_OPEN   0x1000u     /* the rank of a tensor, 0 perhaps, is a lower bound */
#define HIA_IT_ARRAY  0x20000000u /* arrays: and the index into it->tuples */
#define HIA_IT_DATA   0x40000000u /* data types: and the index into it->data */
enum {                            /* what the parts of a type contain */
       HIA_HAS_UNKNOWN = 1,
       HIA_HAS_TAINT = 2,   /* a tainted type (_U) */
       HIA_HAS_LITERAL = 4, /* INT, FLOAT or WHOLE, tainted or not */
       HIA_HAS_BOTTOM = 8,  /* tainted or not */
       HIA_HAS_ERROR = 16,
       HIA_HAS_RANK = 32, /* a rank that is a lower bound (HIA_IT_OPEN) */
};
/* A tuple, or an array, which has one part: its element. */
typedef struct hia_ituple {
  uint32_t first, n;
  uint32_t parts; /* the number of parts of the whole type, see HIA_MAX_TYPE_PARTS */
  uint32_t words; /* the number of words of a value */
  uint32_t has;   /* HIA_HAS_ bits */
  hia_type type;  /* the graph's type, once hiaF_itype_type made it; else NONE */
  bool is_array;
} hia_ituple;
typedef struct hia_idata {
  const char *name;
  uint32_t decl; /* the TYPE that declares it: index into p->decls */
  hia_type type; /* the graph's type, declared when the data type is added */
} hia_idata;
typedef struct hia_itypes {
  hia_arena *arena;
  hia_types *types;
  HIA_VEC(hia_ituple) tuples;
  HIA_VEC(hia_itype) parts;
  hia_u32vec table;
  HIA_VEC(hia_idata) data;
  bool has_tensors; /* the program may have some */
} hia_itypes;

/* ---- making types ---- */

void hiaF_itypes_init(hia_itypes *it, hia_arena *arena, hia_types *types);
/* The type of a tuple; ERROR if it would have more than HIA_MAX_TYPE_PARTS parts; `parts` may lie
 * in it->parts. */
hia_itype hiaF_ituple(hia_itypes *it, const hia_itype *parts, uint32_t n);
hia_itype hiaF_iarray(hia_itypes *it, hia_itype element); /* ERROR as hiaF_ituple */
/* The type of elements in a row: a tensor if they are scalars or tensors, else an array. It may be
 * either if they always fail: then it is an array of bottom, which joins with both. */
hia_itype hiaF_in_a_row(hia_itypes *it, hia_itype element);
/* A new data type, of a name that none has. */
hia_itype hiaF_idata(hia_itypes *it, const char *name, uint32_t decl);
/* A scalar or tensor of this leaf. UNKNOWN and ERROR remain what they are. */
hia_itype hiaF_ranked(hia_itype leaf, uint32_t rank, bool is_open);

/* ---- kinds of types ---- */

/* True for dtypes and the types of the enumeration above. */
static inline bool hiaF_is_simple(hia_itype t) { return t < HIA_IT_FIRST_TUPLE; }
static inline bool hiaF_is_tuple(hia_itype t) {
  return t >= HIA_IT_FIRST_TUPLE && t < HIA_IT_TENSOR;
}
static inline bool hiaF_is_tensor(hia_itype t) { return t >= HIA_IT_TENSOR && t < HIA_IT_ARRAY; }
/* True for scalars and tensors, unknown and bottom among them; not for ERROR. */
static inline bool hiaF_is_ranked(hia_itype t) { return t < HIA_IT_ERROR || hiaF_is_tensor(t); }
/* The leaf and the rank of a scalar or tensor. */
static inline hia_itype hiaF_leaf(hia_itype t) { return hiaF_is_tensor(t) ? t % 16 : t; }
static inline uint32_t hiaF_irank(hia_itype t) {
  return hiaF_is_tensor(t) ? (t & (HIA_IT_OPEN - 1)) / 16 : 0;
}
static inline bool hiaF_is_of_one_rank(hia_itype a, hia_itype b) {
  return hiaF_is_ranked(a) && hiaF_is_ranked(b) && hiaF_irank(a) == hiaF_irank(b);
}
bool hiaF_has_open_rank(hia_itype t);
static inline bool hiaF_is_array(hia_itype t) { return t >= HIA_IT_ARRAY && t < HIA_IT_DATA; }
static inline bool hiaF_is_data(hia_itype t) { return t >= HIA_IT_DATA && t != HIA_IT_NONE; }
static inline bool hiaF_is_dtype(hia_itype t) { return t < HIA_N_DTYPES; }
static inline bool hiaF_is_literal(hia_itype t) { return t >= HIA_IT_INT && t <= HIA_IT_WHOLE_U; }
static inline bool hiaF_is_whole(hia_itype t) { return t == HIA_IT_WHOLE || t == HIA_IT_WHOLE_U; }
/* True for unknown, bottom and literal types, and for ERROR. */
static inline bool hiaF_is_undecided(hia_itype t) {
  return t >= HIA_IT_UNKNOWN && t <= HIA_IT_ERROR;
}
/* True for f32 and f64, and tensors of them. */
static inline bool hiaF_is_float(hia_itype t) {
  return hiaF_is_ranked(t) && (hiaF_leaf(t) == HIA_F32 || hiaF_leaf(t) == HIA_F64);
}
uint32_t hiaF_itype_has(const hia_itypes *it, hia_itype t); /* HIA_HAS_ bits */
/* True if no part is literal, bottom, unknown or error. */
static inline bool hiaF_is_final(const hia_itypes *it, hia_itype t) {
  return hiaF_itype_has(it, t) == 0;
}

/* ---- parts of types ---- */

hia_itype hiaF_element(const hia_itypes *it, hia_itype array);
static inline uint32_t hiaF_data_decl(const hia_itypes *it, hia_itype data) {
  return it->data.data[data - HIA_IT_DATA].decl;
}
uint32_t hiaF_ituple_len(const hia_itypes *it, hia_itype t);
hia_itype hiaF_ituple_part(const hia_itypes *it, hia_itype t, uint32_t i);
uint32_t hiaF_itype_parts(const hia_itypes *it, hia_itype t);
uint32_t hiaF_itype_words(const hia_itypes *it, hia_itype t); /* the words of a value */

/* ---- joining and settling ---- */

/* The join; ERROR if there is none, or one of them has an ERROR part. */
hia_itype hiaF_join(hia_itypes *it, hia_itype a, hia_itype b);
/* The join of operands that broadcast. */
hia_itype hiaF_broadcast(hia_itypes *it, hia_itype a, hia_itype b);
/* Literal and bottom parts become their dtypes. Those that are tainted become unknown, unless this
 * is forced; likewise scalars and tensors of open rank. */
typedef enum hia_force { HIA_FORCE_NOTHING, HIA_FORCE_RANKS, HIA_FORCE_ALL } hia_force;
hia_itype hiaF_settle(hia_itypes *it, hia_itype t, hia_force force);
/* A result that is not final, as calls use it: literal and tainted parts are unknown. */
hia_itype hiaF_view(hia_itypes *it, hia_itype t);

/* ---- the graph's types, and text ---- */

hia_type hiaF_itype_type(hia_itypes *it, hia_itype t); /* t is final */
/* The graph's type that hiaF_itype_type has made before. Allocates nothing. */
hia_type hiaF_itype_made(const hia_itypes *it, hia_itype t);
hia_itype hiaF_itype_of(hia_itypes *it, hia_type t);
void hiaF_itype_print(const hia_itypes *it, hia_itype t, hia_text *out);
const char *hiaF_itype_text(const hia_itypes *it, hia_itype t); /* in the arena */

/* ---- gradient.c ---- */

/* The type of the gradient of what has this type: of a float the type itself, of a tuple the tuple
 * of its parts' gradients, or the only one. NONE: it has no gradient. */
hia_itype hiaF_gradient_type(hia_itypes *it, hia_itype type);
/* The type of the gradients of n values. */
hia_itype hiaF_gradient_of_all(hia_itypes *it, const hia_itype *types, uint32_t n);

#endif
