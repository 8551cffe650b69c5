/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* lower: native code of the ops on scalars agrees with the kernels, with operands that are
 * constants too. */
#include "graph/ir/build.h"
#include "tests/unit/helpers/world.h"
#include <stdio.h>

static const hia_word edges_of[HIA_N_DTYPES][18] = {
    {0, 1},
    {0, 1, (hia_word)-1, 2, (hia_word)-2, 7, (hia_word)-7, 31, 32, 33, (hia_word)INT32_MIN,
     INT32_MAX, (hia_word)(INT32_MIN + 1), 1000000007, 100, (hia_word)-33},
    {0, 1, (hia_word)-1, 2, (hia_word)-2, 7, (hia_word)-7, 63, 64, 65, (hia_word)INT64_MIN,
     INT64_MAX, 0x80000000u, 0xffffffff80000000u, 0x123456789abcdefu, (hia_word)-65},
    {0, 0x80000000u, 0x3f800000u, 0xbf800000u, 0x7f800000u, 0xff800000u, 0x7fc00000u, 1,
     0x80000001u, 0x7f7fffffu, 0x3f000000u, 0x3fc00000u, 0x40200000u, 0xc0200000u, 0x4f000000u,
     0xcf000000u, 0x5f000000u, 0x42f6e979u},
    {0, 0x8000000000000000u, 0x3ff0000000000000u, 0xbff0000000000000u, 0x7ff0000000000000u,
     0xfff0000000000000u, 0x7ff8000000000000u, 1, 0x7fefffffffffffffu, 0x3fe0000000000000u,
     0x3ff8000000000000u, 0x4004000000000000u, 0xc004000000000000u, 0x41e0000000000000u,
     0xc1e0000000200000u, 0x43e0000000000000u, 0xc3e0000000000001u, 0x405edd3c07ee0b0bu},
};
static uint32_t n_edges_of(hia_dtype t) { return t == HIA_BOOL ? 2 : t <= HIA_I64 ? 16 : 18; }

static bool same(hia_dtype t, hia_word a, hia_word b) {
  if (a == b) return true; /* all NaNs are equal: programs cannot distinguish them */
  if (t == HIA_F32) return hiaR_to_f32(a) != hiaR_to_f32(a) && hiaR_to_f32(b) != hiaR_to_f32(b);
  if (t == HIA_F64) return hiaR_to_f64(a) != hiaR_to_f64(a) && hiaR_to_f64(b) != hiaR_to_f64(b);
  return false;
}

typedef struct op_case {
  unsigned op;
  hia_dtype in[3], out;
  uint32_t n_ins;
  uint64_t imm;
  hia_dtype kernel;
} op_case;

static uint32_t op_cases(op_case *out) {
  uint32_t n = 0;
  for (unsigned op = 0; op < 64; op++) {
    if (!hiaR_ops[op].name || hiaR_ops[op].rule == HIA_RULE_CONTROL) continue;
    for (unsigned t = 0; t < HIA_N_DTYPES; t++) {
      if (!hiaR_kernel(op, (hia_dtype)t)) continue;
      hia_dtype d = (hia_dtype)t;
      op_case c = {.op = op, .in = {d, d, d}, .out = d, .kernel = d};
      c.n_ins = (uint32_t)hiaR_ops[op].n_ins;
      c.out = hiaR_rule_result((hia_rule)hiaR_ops[op].rule, d);
      if (hiaR_ops[op].rule == HIA_RULE_SELECT) c.in[0] = HIA_BOOL;
      if (hiaR_ops[op].rule != HIA_RULE_CAST) {
        out[n++] = c;
        c.in[1] = d == HIA_I32 ? HIA_I64 : HIA_I32;
        if (hiaR_ops[op].rule == HIA_RULE_SHIFT) out[n++] = c;
        continue;
      }
      for (unsigned from = 0; from < HIA_N_DTYPES; from++) {
        c.in[0] = (hia_dtype)from;
        c.imm = from;
        out[n++] = c;
      }
    }
  }
  return n;
}

/* One root per case: `constant` puts the last operand into the graph. */
static hia_graph *op_graph(world *w, const op_case *cases, uint32_t n, const hia_word *constant) {
  hia_graph *g = hiaG_new(&w->e.comp, &w->e.types, "ops");
  for (uint32_t i = 0; i < n; i++) {
    const op_case *c = &cases[i];
    char name[16];
    snprintf(name, sizeof name, "op%u", i);
    hia_loc_id loc = hiaG_loc(g, i + 1, 1, hiaG_name(g, name), HIA_NONE);
    hia_fn_id id = hiaG_fn_new(g, name, hiaG_name(g, name), loc, c->in, c->n_ins, &c->out, 1);
    hia_fn *fn = hiaG_fn(g, id);
    fn->is_root = true;
    fn->sig_params = HIA_NEW_ARRAY(&w->e.comp.arena, hia_type, 3);
    for (uint32_t k = 0; k < c->n_ins; k++) fn->sig_params[k] = c->in[k];
    fn->n_sig_params = c->n_ins;
    fn->sig_result = c->out;
    hia_value_id ins[3];
    for (uint32_t k = 0; k < c->n_ins; k++) ins[k] = fn->nodes.data[k].outs;
    if (constant)
      ins[c->n_ins - 1] =
          hiaG_const(g, fn, 0, c->in[c->n_ins - 1], constant[c->in[c->n_ins - 1]], loc);
    hia_node_id node = hiaG_add(g, fn, 0, c->op, ins, c->n_ins, &c->out, 1, c->imm, loc);
    hia_value_id result = hiaG_out(fn, node, 0);
    hiaG_yield(g, fn, 0, &result, 1);
  }
  hiaG_effects(g);
  hiaG_tag(g);
  return g;
}

static void compare(world *w, const op_case *c, uint32_t i, const hia_word *args, int level) {
  hia_word block[4] = {args[0], c->n_ins > 1 ? args[1] : 0, c->n_ins > 2 ? args[2] : 0, 0};
  hia_word expected = 0;
  hia_status status = hiaR_scalar_eval(c->op, c->kernel, c->imm, args, &expected);
  char name[16];
  snprintf(name, sizeof name, "op%u", i);
  hia_status is = run(w, name, block, 1 << 20);
  cr_assert_eq(is, status, "%s at %s, level %d", hiaR_ops[c->op].name, hiaG_dtype_name(c->kernel),
               level);
  if (!status)
    cr_assert(same(c->out, block[c->n_ins], expected),
              "%s at %s, level %d: %llx %llx is %llx, not %llx", hiaR_ops[c->op].name,
              hiaG_dtype_name(c->kernel), level, (unsigned long long)args[0],
              (unsigned long long)args[1], (unsigned long long)block[c->n_ins],
              (unsigned long long)expected);
}

static void compare_all(world *w, const op_case *cases, uint32_t n, const hia_word *constant,
                        int level) {
  for (uint32_t i = 0; i < n; i++) {
    const op_case *c = &cases[i];
    hia_word args[3];
    hia_dtype last = c->in[c->n_ins - 1];
    uint32_t n_thirds = c->n_ins < 3 ? 1 : c->op == HIA_OP_FMA ? n_edges_of(last) : 2;
    for (uint32_t a = 0; a < n_edges_of(c->in[0]); a++)
      for (uint32_t b = 0; b < (c->n_ins > 1 ? n_edges_of(c->in[1]) : 1); b++)
        for (uint32_t d = 0; d < n_thirds; d++) {
          args[0] = edges_of[c->in[0]][a];
          args[1] = edges_of[c->in[1]][b];
          args[2] = edges_of[c->in[2]][d];
          if (constant) args[c->n_ins - 1] = constant[last];
          compare(w, c, i, args, level);
        }
  }
}

Test(lower, ops_agree_with_the_kernels) {
  static op_case cases[256];
  uint32_t n = op_cases(cases);
  LEVELS(w, {
    NO_THROW(&w->e, {
      compile_graph(w, op_graph(w, cases, n, NULL), level);
      compare_all(w, cases, n, NULL, level);
    });
  });
}

/* LLVM folds and simplifies, with the same results. LLVM is the same in every build, so slow builds
 * test only a part of the constants. */
Test(lower, ops_with_constants_agree_with_the_kernels) {
  static op_case cases[256];
  uint32_t n = op_cases(cases);
  world w;
  for (uint32_t k = HIA_TEST_SEED % HIA_TEST_SHARE; k < 16; k += HIA_TEST_SHARE) {
    hia_word constant[HIA_N_DTYPES];
    for (unsigned t = 0; t < HIA_N_DTYPES; t++)
      constant[t] = edges_of[t][k % n_edges_of((hia_dtype)t)];
    world_init(&w);
    NO_THROW(&w.e, {
      compile_graph(&w, op_graph(&w, cases, n, constant), 2);
      compare_all(&w, cases, n, constant, 2);
    });
    world_free(&w);
  }
}
