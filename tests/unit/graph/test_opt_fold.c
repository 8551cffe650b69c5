/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* fold, op by op: its result has the same value as an op on a variable and a constant, an op on one
 * variable twice, or two ops of which the second undoes something of the first. All primitive ops
 * and dtypes, with values at which identities break. */
#include "graph/ir/build.h"
#include "graph/passes/passes.h"
#include "tests/unit/helpers/eval.h"
#include "tests/unit/helpers/graphs.h"

static const hia_word ints32[] = {
    0, 1, 2, 3, 31, 32, 33, ~(hia_word)0, ~(hia_word)1, 7, 0x7fffffff, 0xffffffff80000000u};
static const hia_word ints64[] = {
    0, 1, 2, 63, 64, 65, ~(hia_word)0, ~(hia_word)1, 7, 1u << 31, INT64_MAX, 1ull << 63};
static const double floats[] = {0.0,  -0.0,      1.0,        -1.0,      2.5,   -0.5,
                                1e30, 1.0 / 0.0, -1.0 / 0.0, 0.0 / 0.0, 1e300, 5e-324};

static uint32_t values_of(hia_dtype type, hia_word *out) {
  uint32_t n = 0;
  switch (type) {
  case HIA_BOOL: out[0] = 0, out[1] = 1, n = 2; break;
  case HIA_I32: memcpy(out, ints32, sizeof ints32), n = HIA_LEN(ints32); break;
  case HIA_I64: memcpy(out, ints64, sizeof ints64), n = HIA_LEN(ints64); break;
  case HIA_F32:
    for (; n < HIA_LEN(floats); n++) out[n] = hiaR_from_f32((float)floats[n]);
    break;
  case HIA_F64:
    for (; n < HIA_LEN(floats); n++) out[n] = hiaR_from_f64(floats[n]);
    break;
  }
  return n;
}

static hia_dtype result_of(unsigned op, hia_dtype type) {
  return hiaR_rule_result((hia_rule)hiaR_ops[op].rule, type);
}

static bool has_kernel(unsigned op, hia_dtype type) {
  return hiaR_ops[op].name && HIA_OP_PUBLIC(op) && hiaR_ops[op].rule != HIA_RULE_CONTROL &&
         op != HIA_OP_CAST && hiaR_kernel(op, type);
}

static hia_fn *new_fn(hia_graph *g, hia_dtype type, hia_dtype result) {
  hia_dtype params[2] = {type, HIA_BOOL};
  hia_fn_id id = hiaG_fn_new(g, "f", hiaG_name(g, "f"), HIA_NONE, params, 2, &result, 1);
  return hiaG_fn(g, id);
}

/* f(x, c) as built, and after folding twice, on every x. */
static void compare(env *e, hia_graph *g, hia_fn *fn, const char *what) {
  hia_word xs[16];
  uint32_t n = values_of(fn->params[0], xs);
  eval_outcome before[32];
  for (uint32_t i = 0; i < 2 * n; i++)
    eval_graph(g, 0, (hia_word[]){xs[i / 2], i % 2}, 1, &before[i]);
  const char *text = text_of(e, g);
  for (int round = 0; round < 2; round++) {
    hiaG_fold(g, fn);
    const char *defect = hiaG_verify(g);
    cr_assert(!defect, "%s", defect);
    for (uint32_t i = 0; i < 2 * n; i++) {
      eval_outcome after;
      eval_graph(g, 0, (hia_word[]){xs[i / 2], i % 2}, 2, &after);
      cr_assert(eval_agree(fn, &before[i], &after), "%s: %s\nbecomes\n%s", what, text,
                text_of(e, g));
    }
  }
}

/* One op, its operands given by letters: x, c (the constant k), p (the bool parameter). */
static void one_op(unsigned op, hia_dtype type, const char *operands, hia_word k) {
  env e;
  env_init(&e);
  NO_THROW(&e, {
    hia_graph *g = hiaG_new(&e.comp, &e.types, "");
    hia_fn *fn = new_fn(g, type, result_of(op, type));
    hia_value_id ins[3];
    uint32_t n = 0;
    for (const char *c = operands; *c; c++)
      ins[n++] = *c == 'x' ? 0 : *c == 'p' ? 1 : hiaG_const(g, fn, 0, type, k, HIA_NONE);
    hia_value_id out = hiaG_op(g, fn, 0, op, ins, n, HIA_NONE);
    hiaG_yield(g, fn, 0, &out, 1);
    compare(&e, g, fn, hiaR_ops[op].name);
  });
  hiaR_comp_free(&e.comp);
}

Test(fold, every_op_with_a_constant) {
  hia_word ks[16];
  for (unsigned op = 0; op < 64; op++)
    for (hia_dtype type = HIA_BOOL; type <= HIA_F64; type++) {
      if (!has_kernel(op, type)) continue;
      uint32_t n = values_of(type, ks);
      for (uint32_t i = 0; i < n; i++) {
        if (hiaR_ops[op].n_ins == 1) one_op(op, type, "c", ks[i]);
        if (hiaR_ops[op].n_ins == 2) one_op(op, type, "xc", ks[i]);
        if (hiaR_ops[op].n_ins == 2) one_op(op, type, "cx", ks[i]);
        if (op == HIA_OP_SELECT) one_op(op, type, "pxc", ks[i]);
        if (op == HIA_OP_SELECT) one_op(op, type, "pcx", ks[i]);
        if (op != HIA_OP_FMA) continue;
        static const char *const operands[] = {"cxx", "xcx", "xxc", "ccx", "cxc", "xcc", "ccc"};
        for (uint32_t j = 0; j < HIA_LEN(operands); j++) one_op(op, type, operands[j], ks[i]);
      }
    }
}

Test(fold, every_op_on_one_value_twice) {
  for (unsigned op = 0; op < 64; op++)
    for (hia_dtype type = HIA_BOOL; type <= HIA_F64; type++) {
      if (!has_kernel(op, type)) continue;
      if (hiaR_ops[op].n_ins == 2) one_op(op, type, "xx", 0);
      if (op == HIA_OP_SELECT) one_op(op, type, "pxx", 0);
      if (op == HIA_OP_FMA) one_op(op, type, "xxx", 0);
    }
}

/* a = first(x [, k]); b = second(a [, k2]) */
static void two_ops(unsigned first, unsigned second, hia_dtype type, hia_word k, hia_word k2) {
  env e;
  env_init(&e);
  NO_THROW(&e, {
    hia_graph *g = hiaG_new(&e.comp, &e.types, "");
    hia_dtype middle = result_of(first, type);
    hia_fn *fn = new_fn(g, type, result_of(second, middle));
    hia_value_id ins[2] = {0, HIA_NONE};
    if (hiaR_ops[first].n_ins == 2) ins[1] = hiaG_const(g, fn, 0, type, k, HIA_NONE);
    ins[0] = hiaG_op(g, fn, 0, first, ins, (uint32_t)hiaR_ops[first].n_ins, HIA_NONE);
    if (hiaR_ops[second].n_ins == 2) ins[1] = hiaG_const(g, fn, 0, middle, k2, HIA_NONE);
    hia_value_id out = hiaG_op(g, fn, 0, second, ins, (uint32_t)hiaR_ops[second].n_ins, HIA_NONE);
    hiaG_yield(g, fn, 0, &out, 1);
    compare(&e, g, fn, hiaR_ops[second].name);
  });
  hiaR_comp_free(&e.comp);
}

/* Library functions are not combined with other ops. */
static bool is_paired(unsigned op) {
  return hiaR_ops[op].n_ins <= 2 && !(hiaR_ops[op].traits & HIA_T_LIBRARY);
}

Test(fold, pairs_of_ops) {
  hia_word ks[16], k2s[16];
  for (unsigned first = 0; first < 64; first++)
    for (unsigned second = 0; second < 64; second++)
      for (hia_dtype type = HIA_BOOL; type <= HIA_F64; type++) {
        if (!is_paired(first) || !is_paired(second) || !has_kernel(first, type)) continue;
        hia_dtype middle = result_of(first, type);
        if (!has_kernel(second, middle)) continue;
        /* One constant each, another in each round. */
        uint32_t n = values_of(type, ks), n2 = values_of(middle, k2s);
        two_ops(first, second, type, ks[(first + second) % n], k2s[(3 * first + second) % n2]);
        two_ops(first, second, type, ks[second % n], k2s[first % n2]);
      }
}

/* A count has its own type, and only its low bits matter. */
Test(fold, shifts_by_counts_of_the_other_dtype) {
  static const unsigned ops[] = {HIA_OP_SHL, HIA_OP_SHR, HIA_OP_SHRU};
  hia_word ks[16];
  for (uint32_t i = 0; i < HIA_LEN(ops); i++)
    for (hia_dtype type = HIA_I32; type <= HIA_I64; type++) {
      hia_dtype other = type == HIA_I32 ? HIA_I64 : HIA_I32;
      uint32_t n = values_of(other, ks);
      for (uint32_t k = 0; k < n; k++) {
        env e;
        env_init(&e);
        NO_THROW(&e, {
          hia_graph *g = hiaG_new(&e.comp, &e.types, "");
          hia_fn *fn = new_fn(g, type, type);
          hia_value_id ins[2] = {0, hiaG_const(g, fn, 0, other, ks[k], HIA_NONE)};
          hia_value_id out = hiaG_op(g, fn, 0, ops[i], ins, 2, HIA_NONE);
          hiaG_yield(g, fn, 0, &out, 1);
          compare(&e, g, fn, hiaR_ops[ops[i]].name);
        });
        hiaR_comp_free(&e.comp);
      }
    }
}

/* isnan and isinf of a converted value. */
Test(fold, conversions_are_classified) {
  for (unsigned op = HIA_OP_ISNAN; op <= HIA_OP_ISINF; op++)
    for (hia_dtype from = HIA_BOOL; from <= HIA_F64; from++)
      for (hia_dtype to = HIA_F32; to <= HIA_F64; to++) {
        env e;
        env_init(&e);
        NO_THROW(&e, {
          hia_graph *g = hiaG_new(&e.comp, &e.types, "");
          hia_fn *fn = new_fn(g, from, HIA_BOOL);
          hia_value_id x = 0;
          hia_node_id cast = hiaG_add(g, fn, 0, HIA_OP_CAST, &x, 1, &to, 1, from, HIA_NONE);
          x = hiaG_out(fn, cast, 0);
          x = hiaG_op(g, fn, 0, op, &x, 1, HIA_NONE);
          hiaG_yield(g, fn, 0, &x, 1);
          compare(&e, g, fn, hiaR_ops[op].name);
        });
        hiaR_comp_free(&e.comp);
      }
}

Test(fold, conversions_there_and_back) {
  for (hia_dtype from = HIA_BOOL; from <= HIA_F64; from++)
    for (hia_dtype over = HIA_BOOL; over <= HIA_F64; over++)
      for (hia_dtype to = HIA_BOOL; to <= HIA_F64; to++) {
        env e;
        env_init(&e);
        NO_THROW(&e, {
          hia_graph *g = hiaG_new(&e.comp, &e.types, "");
          hia_fn *fn = new_fn(g, from, to);
          hia_value_id v = 0;
          v = hiaG_out(fn, hiaG_add(g, fn, 0, HIA_OP_CAST, &v, 1, &over, 1, from, HIA_NONE), 0);
          v = hiaG_out(fn, hiaG_add(g, fn, 0, HIA_OP_CAST, &v, 1, &to, 1, over, HIA_NONE), 0);
          hiaG_yield(g, fn, 0, &v, 1);
          compare(&e, g, fn, "cast");
        });
        hiaR_comp_free(&e.comp);
      }
}
