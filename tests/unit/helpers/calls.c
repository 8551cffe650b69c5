/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* See calls.h. */
#include "tests/unit/helpers/calls.h"
#include <stdio.h>
#include <string.h>

typedef hia_build_value value;

enum { POOL = 64, OPEN = 16, N_DATA = 6, N_TENSORS = 8 };
typedef struct caller {
  hia_builder *b;
  calls_draw *draw;
  void *user;
  value pool[POOL]; /* the newest values whose blocks are open */
  uint32_t n_pool;
  struct {
    int kind; /* 0 a body, 1 an `if`, 2 its `else`, 3 a loop, 4 its round, 5 an arm of a match, 6 a
                 comprehension */
    uint32_t n_pool, n_vars;
    value vars[2];
    hia_build_type type;
    const char *const *arms; /* those that may follow; the last one takes all */
    bool has_type;           /* of the match: its first arm has ended */
  } open[OPEN];
  uint32_t n_open;
  hia_build_type data[N_DATA];       /* data types, and arrays of them and of tuples */
  hia_build_type tensors[N_TENSORS]; /* vectors of each dtype, and matrices of numbers but i32 */
  value weights[2];                  /* params: a matrix and a vector, of f32 */
  hia_build_fn smooth;               /* of a float and a vector; its gradients are taken */
  bool has_gradients;
  hia_build_fn fns[4];
  hia_build_type result[4];
  uint32_t n_begun;
} caller;

static uint32_t below(caller *c, uint32_t n) { return c->draw(c->user, n); }

static uint64_t any_bits(caller *c) {
  uint64_t high = below(c, UINT32_MAX);
  return high << 32 ^ below(c, UINT32_MAX);
}

static value keep(caller *c, value v) {
  if (c->n_pool == POOL) c->n_pool--;
  return c->pool[c->n_pool++] = v;
}

static value any(caller *c, hia_build_type type);

/* A value of one of c->data. */
static value any_data(caller *c, uint32_t i) {
  static const char *const names[2][3] = {{"N", "C", "P"}, {"S", "R", "S"}};
  hia_builder *b = c->b;
  value in[2];
  if (i >= 2) {
    hia_build_type element = i == 2 ? c->data[0] : i == 3 ? c->data[1] : c->data[2];
    const hia_build_type parts[2] = {HIA_I32, c->data[0]};
    if (i == 5) element = hia_build_tuple_type(b, parts, 2);
    if (below(c, 2)) return hia_build_empty_array(b, c->data[i]);
    in[0] = any(c, element);
    in[1] = any(c, element);
    return hia_build_array(b, in, 1 + below(c, 2));
  }
  uint32_t k = below(c, 3);
  const hia_build_type pair[2] = {HIA_F64, HIA_BOOL};
  if (i == 0 && k == 1) {
    in[0] = any(c, HIA_I32);
    in[1] = any(c, c->data[0]);
  } else if (i == 0 && k == 2) {
    in[0] = any(c, hia_build_tuple_type(b, pair, 2));
    in[1] = any(c, c->data[1]);
  } else if (i == 1) {
    in[0] = any(c, k == 1 ? c->data[3] : HIA_BOOL);
  }
  return hia_build_data(b, hia_build_find_ctor(b, names[i][k]), in, i ? 1 : k ? 2 : 0);
}

static const hia_dtype tensor_dtypes[N_TENSORS] = {HIA_BOOL, HIA_I32, HIA_I64, HIA_F32,
                                                   HIA_F64,  HIA_I64, HIA_F32, HIA_F64};

/* Small, since the program may run. */
static value any_size(caller *c) {
  return below(c, 2) ? hia_build_i32(c->b, (int32_t)below(c, 4)) : hia_build_i64(c->b, 2);
}

/* A value of one of c->tensors, mostly of size 2. */
static value any_tensor(caller *c, uint32_t i) {
  hia_builder *b = c->b;
  value in[3], n[2];
  uint32_t rank = i < 5 ? 1 : 2;
  if (i == 6 && below(c, 3) == 0) return c->weights[0];
  if (i == 3 && below(c, 3) == 0) return c->weights[1];
  if (rank == 2 && below(c, 2)) {
    in[0] = any(c, c->tensors[i - 3]);
    in[1] = any(c, c->tensors[i - 3]);
    return hia_build_array(b, in, 1 + below(c, 2));
  }
  in[0] = any(c, tensor_dtypes[i]);
  in[1] = any(c, tensor_dtypes[i]);
  if (rank == 1 && below(c, 2)) return hia_build_array(b, in, 2);
  for (uint32_t k = 0; k < rank; k++) n[k] = any_size(c);
  return hia_build_full(b, in[0], n, rank);
}

static value any(caller *c, hia_build_type type) {
  if (below(c, 2000) == 0) return (value){any_bits(c)};
  if (below(c, 2000) == 0) return (value){c->pool[0].id + below(c, 400)};
  for (int i = 0; i < 8 && c->n_pool; i++) {
    value v = c->pool[below(c, c->n_pool)];
    if (hia_build_type_of(c->b, v) == type) return v;
  }
  switch (type) {
  case HIA_BOOL: return hia_build_bool(c->b, below(c, 2));
  case HIA_I32: return hia_build_i32(c->b, (int32_t)any_bits(c));
  case HIA_I64: return hia_build_i64(c->b, (int64_t)any_bits(c));
  case HIA_F32: return hia_build_f32(c->b, (float)below(c, 100) / 8 - 5);
  case HIA_F64: return hia_build_f64(c->b, (double)below(c, 100) / 8 - 5);
  default: break;
  }
  for (uint32_t i = 0; i < N_DATA; i++)
    if (c->data[i] == type && below(c, 3)) return any_data(c, i);
  for (uint32_t i = 0; i < N_TENSORS; i++)
    if (c->tensors[i] == type && below(c, 3)) return any_tensor(c, i);
  return hia_build_fail(c->b, hia_build_i32(c->b, 1), type);
}

static hia_build_type any_type(caller *c) {
  hia_build_type parts[2] = {below(c, 5), below(c, 4) ? below(c, 5) : c->data[below(c, N_DATA)]};
  uint32_t sort = below(c, 9);
  return sort < 5    ? below(c, 5)
         : sort == 5 ? hia_build_tuple_type(c->b, parts, 2)
         : sort == 6 ? c->tensors[below(c, N_TENSORS)]
                     : c->data[below(c, N_DATA)];
}

static hia_build_type any_element(caller *c) {
  const hia_build_type parts[2] = {HIA_I32, c->data[0]};
  uint32_t sort = below(c, 5);
  return sort == 0   ? hia_build_tuple_type(c->b, parts, 2)
         : sort == 1 ? below(c, 5)
         : sort == 2 ? c->tensors[below(c, N_TENSORS)]
                     : c->data[below(c, N_DATA)];
}

/* Begins one of the arms that may follow; rarely one whose pattern is another type's. */
static void begin_arm(caller *c, uint32_t at) {
  const char *const *arms = c->open[at].arms;
  while (arms[1] && below(c, 2)) arms++;
  value bound[2] = {{0}, {0}};
  size_t n = 0;
  for (const char *x = arms[0]; *x; x++)
    n += *x >= 'a' && *x <= 'd' && (x[1] == 0 || strchr(",)", x[1]));
  hia_build_arm(c->b, arms[0], bound, n);
  c->open[at].arms = arms + 1;
  for (size_t i = 0; i < n; i++) keep(c, bound[i]);
}

/* A match on a value of one of these types. Names that bind are a to d. */
static void begin_match(caller *c, uint32_t at) {
  static const char *const arms[5][7] = {
      {"N", "C(1, N)", "C(-2, C(_, a))", "C(a, b)", "P(a, S(_))", "_", NULL},
      {"S(true)", "R(a)", "_", NULL},
      {"1", "-5", "0x7fffffff", "_", NULL},
      {"-1", "a", NULL},
      {"S(_)", "a", NULL}};
  static const hia_build_type scalars[] = {HIA_I32, HIA_I64};
  uint32_t i = below(c, 5);
  hia_build_match(c->b, any(c, i < 2 ? c->data[i] : i == 4 ? c->data[1] : scalars[i - 2]));
  c->open[at].arms = arms[i];
  c->open[at].has_type = false;
  begin_arm(c, at);
}

static void push_open(caller *c, int kind) {
  c->open[c->n_open].kind = kind;
  c->open[c->n_open++].n_pool = c->n_pool;
}

static void close_one(caller *c) {
  uint32_t at = c->n_open - 1;
  hia_builder *b = c->b;
  value next[2];
  switch (c->open[at].kind) {
  case 0:
    hia_build_return(b, any(c, c->open[at].type));
    c->n_open--;
    c->n_pool = c->open[at].n_pool;
    break;
  case 1:
    next[0] = any(c, c->open[at].type = any_type(c));
    hia_build_else(b, next[0]);
    c->open[at].kind = 2;
    c->n_pool = c->open[at].n_pool;
    break;
  case 3:
    hia_build_while(b, any(c, HIA_BOOL));
    c->open[at].kind = 4;
    c->n_pool = c->open[at].n_pool;
    for (uint32_t i = 0; i < c->open[at].n_vars; i++) keep(c, c->open[at].vars[i]);
    break;
  case 5:
    if (!c->open[at].has_type) c->open[at].type = any_type(c);
    c->open[at].has_type = true;
    hia_build_end_arm(b, any(c, c->open[at].type));
    c->n_pool = c->open[at].n_pool;
    if (*c->open[at].arms) {
      begin_arm(c, at);
      break;
    }
    c->n_open--;
    keep(c, hia_build_end_match(b));
    break;
  case 6:
    next[0] = hia_build_end_for(b, any(c, any_element(c)));
    c->n_open--;
    c->n_pool = c->open[at].n_pool;
    keep(c, next[0]);
    break;
  default:
    for (uint32_t i = 0; i < 2; i++)
      if (c->open[at].kind == 4 && i < c->open[at].n_vars)
        next[i] = any(c, hia_build_type_of(b, c->open[at].vars[i]));
    next[0] = c->open[at].kind == 2 ? hia_build_end_if(b, any(c, c->open[at].type))
                                    : hia_build_end_loop(b, next, c->open[at].n_vars);
    c->n_open--;
    c->n_pool = c->open[at].n_pool;
    keep(c, next[0]);
  }
}

/* An op on scalars, of a tensor and perhaps another or a scalar. */
static value lifted(caller *c) {
  hia_builder *b = c->b;
  static const hia_opcode ops[] = {HIA_OPCODE_ADD, HIA_OPCODE_MUL, HIA_OPCODE_MAX,
                                   HIA_OPCODE_LT,  HIA_OPCODE_NEG, HIA_OPCODE_ABS};
  uint32_t i = 1 + below(c, N_TENSORS - 1), k = below(c, 9);
  value in[3] = {any(c, c->tensors[i]), {0}, {0}};
  if (k == 6) return hia_build_convert(b, (hia_dtype)below(c, 5), in[0]);
  if (k == 7 && i < 5) {
    in[1] = any(c, tensor_dtypes[i]);
    in[2] = any(c, c->tensors[0]);
    return hia_build_select(b, in[2], in[0], in[1]);
  }
  if (k >= 6) return hia_build_tanh(b, any(c, c->tensors[below(c, 2) ? 3 : 7]));
  in[1] = any(c, below(c, 2) ? c->tensors[i] : (hia_build_type)tensor_dtypes[i]);
  return hia_build_op(b, ops[k], in, k < 4 ? 2 : 1);
}

/* An op that only tensors have. */
static value tensor_op(caller *c) {
  hia_builder *b = c->b;
  static const hia_opcode reductions[] = {HIA_OPCODE_SUM,    HIA_OPCODE_PROD,    HIA_OPCODE_MAX_OF,
                                          HIA_OPCODE_MIN_OF, HIA_OPCODE_ARG_MAX, HIA_OPCODE_ARG_MIN,
                                          HIA_OPCODE_DIM};
  uint32_t i = 1 + below(c, N_TENSORS - 1),
           axis = below(c, 12) ? below(c, i < 5 ? 1 : 2) : below(c, 3);
  value in[2] = {any(c, c->tensors[i]), {0}}, n[2];
  switch (below(c, 12)) {
  case 0: return hia_build_op_along(b, reductions[below(c, 7)], in, 1, axis);
  case 1: return hia_build_op(b, reductions[below(c, 7)], in, 1);
  case 2: return hia_build_softmax(b, any(c, c->tensors[3 + below(c, 2)]));
  case 3:
    in[0] = any(c, c->tensors[6]);
    return hia_build_product(b, in[0], any(c, c->tensors[below(c, 2) ? 3 : 6]));
  case 4:
    in[1] = any(c, c->tensors[i]);
    return hia_build_op_along(b, below(c, 2) ? HIA_OPCODE_CAT : HIA_OPCODE_STACK, in, 2, axis);
  case 5:
    n[0] = any_size(c);
    n[1] = any_size(c);
    return hia_build_reshape(b, in[0], n, 1 + below(c, 2));
  case 6: return hia_build_iota(b, any_size(c));
  case 7:
    n[0] = any(c, HIA_I32);
    return hia_build_one_hot(b, below(c, 2) ? HIA_F32 : HIA_F64, n[0], any_size(c));
  case 8:
    n[0] = below(c, 2) ? any_size(c) : (value){0};
    n[1] = below(c, 2) ? hia_build_dim(b, in[0], 0) : (value){0};
    return hia_build_expect(b, in[0], n, i < 5 ? 1 : 2);
  case 9: return hia_build_transpose(b, any(c, c->tensors[5 + below(c, 3)]));
  case 10: return hia_build_any(b, any(c, c->tensors[0]));
  default:
    in[0] = any(c, c->tensors[3]);
    return below(c, 2) ? hia_build_outer(b, in[0], in[0])
                       : hia_build_cross_entropy(b, in[0], any(c, HIA_I32));
  }
}

/* A gradient, rarely of a function that may have none, or with respect to nothing. */
static value gradient(caller *c) {
  hia_builder *b = c->b;
  value wrt[5], args[2];
  size_t n = 0;
  if (below(c, 30) == 0) {
    args[0] = any(c, HIA_I32);
    return hia_build_grad(b, c->fns[below(c, 4)], c->weights, 2, args, 1);
  }
  for (uint32_t i = 0; i < 2; i++)
    if (below(c, 2)) wrt[n++] = hia_build_param(b, c->smooth, i);
  for (uint32_t i = 0; i < 2; i++)
    if (below(c, 2)) wrt[n++] = c->weights[i];
  if (n == 0 && below(c, 50)) wrt[n++] = c->weights[0];
  if (n > 0 && below(c, 50) == 0) wrt[n] = wrt[0], n++;
  args[0] = any(c, HIA_F64);
  args[1] = any(c, c->tensors[3]);
  return below(c, 2) ? hia_build_grad(b, c->smooth, wrt, n, args, 2)
                     : hia_build_value_and_grad(b, c->smooth, wrt, n, args, 2);
}

/* The function sin(x) * f64(sum(v)) + f64(sum(W)). */
static void begin_smooth(caller *c) {
  hia_builder *b = c->b;
  c->smooth = hia_build_declare(b, "smooth(x: f64, v: f32[?]) -> f64");
  hia_build_begin(b, c->smooth);
  value x = hia_build_sin(b, hia_build_param(b, c->smooth, 0));
  value v = hia_build_convert(b, HIA_F64, hia_build_sum(b, hia_build_param(b, c->smooth, 1)));
  v = hia_build_mul(b, x, v);
  value w = hia_build_convert(b, HIA_F64, hia_build_sum(b, c->weights[0]));
  hia_build_return(b, hia_build_add(b, v, w));
}

/* A part of a tensor, or what is a row of it. */
static value tensor_part(caller *c) {
  hia_builder *b = c->b;
  uint32_t i = below(c, N_TENSORS);
  value x = any(c, c->tensors[i]), at = any(c, HIA_I32 + below(c, 2));
  switch (below(c, 5)) {
  case 0: return hia_build_at(b, x, at);
  case 1: return hia_build_at(b, x, any(c, c->tensors[1 + below(c, 2)]));
  case 2: return hia_build_slice(b, x, at, any(c, HIA_I64));
  case 3: return hia_build_set(b, x, at, hia_build_at(b, x, at));
  default: return hia_build_len(b, x);
  }
}

static void any_call(caller *c) {
  hia_builder *b = c->b;
  static const int n_ins[] = {
#define HIA_OPCODE(number, NAME, name, n, on, doc) [number] = n,
#include <hiaton/ops.def>
  };
  value in[3];
  uint32_t what = below(c, 160), op = 1 + below(c, 37);
  if (what >= 130) {
    keep(c, what < 140 ? lifted(c) : what < 152 ? tensor_op(c) : tensor_part(c));
  } else if (what >= 126 && c->n_open < OPEN) {
    push_open(c, 5);
    begin_match(c, c->n_open - 1);
  } else if (what >= 121 && c->n_open < OPEN) {
    if (below(c, 2)) {
      in[0] = hia_build_i64(b, below(c, 4)); /* longer ones would take all memory */
      in[1] = hia_build_i64(b, below(c, 7));
      in[2] = hia_build_for_range(b, in[0], in[1]);
    } else {
      uint32_t i = below(c, 4 + N_TENSORS);
      in[2] = hia_build_for_each(b, any(c, i < 4 ? c->data[2 + i] : c->tensors[i - 4]));
    }
    push_open(c, 6);
    keep(c, in[2]);
  } else if (what >= 100) {
    uint32_t i = 2 + below(c, 4);
    in[0] = any(c, c->data[i]);
    if (what < 104) {
      keep(c, any_data(c, below(c, N_DATA)));
    } else if (what < 107) {
      keep(c, hia_build_len(b, in[0]));
    } else if (what < 112) {
      keep(c, hia_build_at(b, in[0], any(c, HIA_I32 + below(c, 2))));
    } else if (what < 115) {
      in[1] = any(c, HIA_I64);
      keep(c, hia_build_slice(b, in[0], in[1], any(c, HIA_I32)));
    } else if (what < 118) {
      in[1] = any(c, c->data[i]);
      keep(c, hia_build_concat(b, in, 2));
    } else {
      in[1] = any(c, HIA_I32);
      in[2] = hia_build_at(b, in[0], in[1]);
      keep(c, hia_build_set(b, in[0], in[1], in[2]));
    }
  } else if (what < 40) {
    hia_build_type type = op >= 22 && op <= 23   ? HIA_I32 + below(c, 2)
                          : op >= 18 && op <= 21 ? below(c, 3)
                          : op >= 24             ? HIA_F32 + below(c, 2)
                                                 : HIA_I32 + below(c, 4);
    for (int i = 0; i < n_ins[op]; i++) in[i] = any(c, op == 17 && i == 0 ? HIA_BOOL : type);
    keep(c, hia_build_op(b, (hia_opcode)op, in, (size_t)n_ins[op]));
  } else if (what < 45) {
    keep(c, hia_build_convert(b, (hia_dtype)below(c, 5), any(c, below(c, 5))));
  } else if (what < 55) {
    for (int i = 0; i < 2; i++) in[i] = any(c, any_type(c));
    keep(c, hia_build_tuple(b, in, 2));
  } else if (what < 60) {
    hia_build_type parts[2] = {below(c, 5), below(c, 5)};
    keep(c, hia_build_part(b, any(c, hia_build_tuple_type(b, parts, 2)), below(c, 2)));
  } else if (what < 65) {
    in[0] = any(c, HIA_I32);
    keep(c, hia_build_call(b, c->fns[below(c, 4)], in, 1));
  } else if (what < 68) {
    keep(c, hia_build_fail(b, any(c, HIA_I64), any_type(c)));
  } else if (what < 72) {
    static const char *const names[] = {"x", "x_2", "v1", "f0", "", "loop", "min", "1\n;"};
    if (c->n_pool) hia_build_name(b, c->pool[below(c, c->n_pool)], names[below(c, 8)]);
  } else if (what < 78 && c->n_open < OPEN) {
    hia_build_if(b, any(c, HIA_BOOL));
    push_open(c, 1);
  } else if (what < 84 && c->n_open < OPEN) {
    uint32_t n = 1 + below(c, 2);
    for (uint32_t i = 0; i < n; i++) in[i] = any(c, any_type(c));
    push_open(c, 3);
    c->open[c->n_open - 1].n_vars = n;
    hia_build_loop(b, in, n, c->open[c->n_open - 1].vars);
    for (uint32_t i = 0; i < n; i++) keep(c, c->open[c->n_open - 1].vars[i]);
  } else if (what < 86 && c->n_begun < 4 && c->n_open < OPEN) { /* another function inside */
    push_open(c, 0);
    c->open[c->n_open - 1].type = c->result[c->n_begun];
    hia_build_begin(b, c->fns[c->n_begun]);
    c->n_pool = 0;
    keep(c, hia_build_param(b, c->fns[c->n_begun++], 0));
  } else if (what >= 94 && c->has_gradients) {
    keep(c, gradient(c));
  } else if (c->n_open) {
    close_one(c);
  }
}

void calls_make(hia_builder *b, uint32_t n, calls_draw *draw, void *user) {
  static const char *const arrays[] = {"[D]", "[E]", "[[D]]", "[(i32, D)]"};
  caller c = {.b = b, .draw = draw, .user = user};
  c.data[1] = hia_build_declare_type(b, "E");
  c.data[0] = hia_build_declare_type(b, "D = N | C(h: i32, t: D) | P(a: (f64, bool), b: E)");
  hia_build_declare_type(b, "E = S(b: bool) | R(all: [E])");
  for (uint32_t i = 2; i < N_DATA; i++) c.data[i] = hia_build_read_type(b, arrays[i - 2]);
  for (uint32_t i = 0; i < N_TENSORS; i++)
    c.tensors[i] = hia_build_tensor_type(b, tensor_dtypes[i], i < 5 ? 1 : 2);
  c.weights[0] = hia_build_declare_param(b, "W: f32[2, 2] = uniform(-1, 1)");
  c.weights[1] = hia_build_declare_param(b, "w: f32[2] = ones()");
  c.has_gradients = below(&c, 4) == 0;
  if (c.has_gradients) begin_smooth(&c);
  for (uint32_t i = 0; i < 4; i++) {
    hia_build_type param = HIA_I32;
    char name[8];
    snprintf(name, sizeof name, "f%u", i);
    c.result[i] = any_type(&c);
    c.fns[i] = hia_build_declare_types(b, name, &param, 1, c.result[i]);
  }
  while (c.n_begun < 4 || c.n_open) {
    if (!c.n_open) {
      push_open(&c, 0);
      c.open[0].type = c.result[c.n_begun];
      hia_build_begin(b, c.fns[c.n_begun]);
      keep(&c, hia_build_param(b, c.fns[c.n_begun++], 0));
    }
    if (n > 0)
      n--, any_call(&c);
    else
      close_one(&c);
  }
}
