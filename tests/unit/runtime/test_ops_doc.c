/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* docs/ops.md is the op table for readers, include/hiaton/ops.def its part for hosts.
 * HIA_UPDATE=1 writes both. */
#include "runtime/base/base.h"
#include "tests/unit/helpers/text.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

static const char *const docs[HIA_OP_LIMIT] = {
#define HIA_OP(number, NAME, name, symbol, ins, outs, RULE, SHAPE, IMM, traits, cost, COST,        \
               GRADIENT, KERNEL, EMIT, doc)                                                        \
  [number] = doc,
#include "runtime/base/ops.def"
};

static const char *const rules[] = {
    [HIA_RULE_NUM] = "numbers",
    [HIA_RULE_INT] = "`i32` `i64`",
    [HIA_RULE_BITS] = "`bool` `i32` `i64`",
    [HIA_RULE_FLOAT] = "`f32` `f64`",
    [HIA_RULE_SHIFT] = "`i32` `i64`, then either",
    [HIA_RULE_CLASSIFY] = "`f32` `f64`, to `bool`",
    [HIA_RULE_COMPARE] = "any, to `bool`",
    [HIA_RULE_SELECT] = "`bool`, then any",
    [HIA_RULE_CAST] = "any to any",
    [HIA_RULE_CONTROL] = "",
    [HIA_RULE_ANY] = "any",
    [HIA_RULE_LOGIC] = "`bool`",
    [HIA_RULE_SIZE] = "any, to `i64`",
    [HIA_RULE_POSITION] = "numbers, to `i64`",
    [HIA_RULE_INDEXED] = "any, then `i64`",
    [HIA_RULE_UPDATED] = "any, `i64`, the first",
    [HIA_RULE_GATHER] = "any, then `i32` `i64`",
    [HIA_RULE_SCATTER] = "numbers, `i32` `i64`, the first",
    [HIA_RULE_LABELS] = "`f32` `f64`, then `i32` `i64`, the first",
    [HIA_RULE_COUNT] = "`i64`",
    [HIA_RULE_HOT] = "`i64`, to numbers",
};

static const char *const shapes[] = {
    [HIA_SHAPE_NONE] = "",
    [HIA_SHAPE_PARAM] = "stated",
    [HIA_SHAPE_WORK] = "fuel",
    [HIA_SHAPE_ALIKE] = "scalar, x, array",
    [HIA_SHAPE_TRAP] = "x, operands",
    [HIA_SHAPE_ELEMENTWISE] = "elementwise",
    [HIA_SHAPE_DIM] = "x to scalar",
    [HIA_SHAPE_ROW] = "x, scalar",
    [HIA_SHAPE_ITEM] = "x, scalar to scalar",
    [HIA_SHAPE_PART] = "x, scalars",
    [HIA_SHAPE_ROWS] = "x, x",
    [HIA_SHAPE_WITH] = "x, scalar, row",
    [HIA_SHAPE_CAT] = "of one rank",
    [HIA_SHAPE_STACK] = "of one shape",
    [HIA_SHAPE_PACK] = "array, scalars",
    [HIA_SHAPE_RESHAPE] = "x, scalars",
    [HIA_SHAPE_FULL] = "scalars to x",
    [HIA_SHAPE_IOTA] = "scalar to vector",
    [HIA_SHAPE_ONE_HOT] = "scalars to vector",
    [HIA_SHAPE_EXPECT] = "x, scalars",
    [HIA_SHAPE_REDUCE] = "x without an axis",
    [HIA_SHAPE_PRODUCT] = "matmul",
    [HIA_SHAPE_OUTER] = "vectors to matrix",
    [HIA_SHAPE_LAST] = "x",
    [HIA_SHAPE_LABELS] = "x, without its last axis",
    [HIA_SHAPE_LABELLED] = "x, without its last axis, likewise",
    [HIA_SHAPE_TRANSPOSE] = "matrix",
    [HIA_SHAPE_COLLECT] = "sum, x",
    [HIA_SHAPE_TOUCHED] = "sum, x to vector",
    [HIA_SHAPE_COLLECT_ROWS] = "sum, vector, x",
    [HIA_SHAPE_ZEROS] = "x",
    [HIA_SHAPE_FIT] = "x, as x",
    [HIA_SHAPE_SCATTER] = "x, x, rows",
    [HIA_SHAPE_CUT] = "x, scalars",
    [HIA_SHAPE_PRODUCT_AT] = "matmul",
    [HIA_SHAPE_PRODUCT_BT] = "matmul",
};
static const char *const gradients[] = {
    [HIA_GRADIENT_NONE] = "",
    [HIA_GRADIENT_ZERO] = "nothing flows",
    [HIA_GRADIENT_OWN] = "own",
};

static void add_traits(hia_text *t, const hia_op_info *op) {
  if (op->traits & HIA_T_COMMUTES) hiaR_text_addf(t, " commutes");
  if (op->traits & HIA_T_RAISES) hiaR_text_addf(t, " raises");
  if (op->traits & HIA_T_RAISES_INT) hiaR_text_addf(t, " raises on integers");
  if (op->traits & HIA_T_EFFECT) hiaR_text_addf(t, " effect");
  if (op->traits & HIA_T_LIBRARY) hiaR_text_addf(t, " library");
  if (op->traits & HIA_T_CONSUMES) hiaR_text_addf(t, " consumes");
}

static void add_count(hia_text *t, int n) {
  if (n < 0)
    hiaR_text_addf(t, "any");
  else
    hiaR_text_addf(t, "%d", n);
}

static void table(hia_text *t, unsigned from, unsigned to, unsigned with, unsigned without) {
  hiaR_text_addf(
      t, "| | name | in | out | dtypes | tensors | cost | gradient | traits | |\n| --: | --- | "
         "--- | --- | --- | --- | --: | --- | --- | --- |\n");
  for (unsigned i = from; i < to; i++) {
    const hia_op_info *op = &hiaR_ops[i];
    if (!op->name || (op->traits & with) != with || op->traits & without) continue;
    hiaR_text_addf(t, "| %u | `%s` | ", i, op->name);
    add_count(t, op->n_ins);
    hiaR_text_addf(t, " | ");
    add_count(t, op->n_outs);
    hiaR_text_addf(t, " | %s | %s | %u | %s |", rules[op->rule], shapes[op->shape], op->cost,
                   gradients[op->gradient]);
    add_traits(t, op);
    hiaR_text_addf(t, " | %s |\n", docs[i]);
  }
  hiaR_text_addf(t, "\n");
}

static const char *document(hia_arena *arena) {
  hia_text t;
  hiaR_text_init(&t, arena);
  hiaR_text_addf(
      &t,
      "# Ops\n\n"
      "Generated from `runtime/base/ops.def` by `tests/unit/runtime/test_ops_doc.c`; "
      "[adding-an-op.md](adding-an-op.md) says how to add one.\n\n"
      "Numbers are part of the runtime ABI and never reused. The cost is in rough cycles, for "
      "inlining.\n\n"
      "Tensors: *elementwise* ops are lifted to them; others take or make them. Gradient: *own*: "
      "`hiaG_gradient` builds it for "
      "floats; "
      "*nothing flows* to the\noperands; or there is none.\n\n"
      "Traits: *commutes*: `a op b` is `b op a`, bit for bit; *raises*: can fail, so it is neither "
      "removed nor\nmoved past another that can; *effect*: runs exactly as often as it is written; "
      "*library*: native code calls the\nruntime's function; "
      "*consumes*: native code hands over the references of the operands, as it does to "
      "elementwise ops on tensors.\n\n"
      "## Primitive ops\n\nWhat the language offers as operators and built-ins.\n\n");
  table(&t, 0, 64, 0, 0);
  hiaR_text_addf(&t, "## Structure, in both states of the graph\n\n");
  table(&t, 64, 128, 0, HIA_T_FUNCTION | HIA_T_STATIC);
  hiaR_text_addf(&t, "## Tensors\n\n");
  table(&t, 128, HIA_OP_LIMIT, 0, HIA_T_FUNCTION);
  hiaR_text_addf(&t, "## Structure of function graphs\n\n");
  table(&t, 64, HIA_OP_LIMIT, HIA_T_FUNCTION, 0);
  hiaR_text_addf(&t, "## Structure of the static graph\n\n");
  table(&t, 64, 128, HIA_T_STATIC, 0);
  t.data[--t.len] = 0; /* one line end is enough at the end */
  return t.data;
}

/* The usual axis of an op on tensors that hia_build_op takes; NULL: it does not. Parts, sizes and
 * params have functions of their own. */
static const char *axis_of(unsigned op) {
  switch ((hia_shape_rule)hiaR_ops[op].shape) {
  case HIA_SHAPE_REDUCE: return "ALL";
  case HIA_SHAPE_CAT: return "LAST";
  case HIA_SHAPE_STACK:
  case HIA_SHAPE_DIM: return "FIRST";
  case HIA_SHAPE_PRODUCT:
  case HIA_SHAPE_OUTER:
  case HIA_SHAPE_LAST:
  case HIA_SHAPE_LABELS:
  case HIA_SHAPE_TRANSPOSE: return "NONE";
  default: return NULL;
  }
}

/* The rows that hia_build_op takes; conversions and `fail` have functions of their own. */
static const char *extract(hia_arena *arena) {
  static const char *const on[] = {
      [HIA_RULE_NUM] = "NUMBERS",     [HIA_RULE_INT] = "INTEGERS",      [HIA_RULE_BITS] = "BITS",
      [HIA_RULE_SHIFT] = "SHIFT",     [HIA_RULE_CLASSIFY] = "CLASSIFY", [HIA_RULE_FLOAT] = "FLOATS",
      [HIA_RULE_COMPARE] = "COMPARE", [HIA_RULE_SELECT] = "SELECT"};
  static const char *const names[HIA_OP_LIMIT] = {
#define HIA_OP(number, NAME, ...) [number] = #NAME,
#include "runtime/base/ops.def"
  };
  hia_text t;
  hiaR_text_init(&t, arena);
  hiaR_text_addf(
      &t,
      "/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */\n"
      "/* The ops that hia_build_op knows, one a row; include it after defining\n"
      " *\n"
      " * HIA_OPCODE(number, NAME, name, n, ON, \"doc\")\n"
      " *\n"
      " *   number   never changes\n"
      " *   n        number of operands, called a, b and c in the doc line\n"
      " *   ON       of which types they are: NUMBERS (one of i32 i64 f32 f64, all the same), "
      "INTEGERS (i32\n"
      " *            i64), BITS (bool i32 i64), FLOATS (f32 f64); SHIFT: an integer, and a count "
      "that is an\n"
      " *            integer of any type; CLASSIFY: a float, to bool; COMPARE: any scalar, both "
      "the "
      "same, to\n"
      " *            bool; SELECT: a condition c of bool, then two scalars of one type, a and b\n"
      " *\n"
      " * and, if tensors matter,\n"
      " *\n"
      " * HIA_TENSOR_OPCODE(number, NAME, name, n, AXIS, \"doc\")\n"
      " *\n"
      " *   n        number of operands; -1: one or more\n"
      " *   AXIS     the axis that hia_build_op takes: ALL of them, the FIRST or the LAST; NONE: "
      "it "
      "has none\n"
      " *\n"
      " * Generated from runtime/base/ops.def by tests/unit/runtime/test_ops_doc.c; HIA_UPDATE=1 "
      "writes it "
      "anew. */\n"
      "#ifndef HIA_TENSOR_OPCODE\n"
      "#define HIA_TENSOR_OPCODE(number, NAME, name, n, AXIS, doc)\n"
      "#endif\n");
  for (unsigned i = 0; i < HIA_OP_LIMIT; i++) {
    const hia_op_info *op = &hiaR_ops[i];
    if (!op->name || !HIA_OP_PUBLIC(i) || op->rule >= HIA_LEN(on) || !on[op->rule]) continue;
    hiaR_text_addf(&t, "HIA_OPCODE(%u, %s, %s, %d, %s, \"%s\")\n", i, names[i], op->name, op->n_ins,
                   on[op->rule], docs[i]);
  }
  for (unsigned i = 128; i < HIA_OP_LIMIT; i++) {
    const char *axis = hiaR_ops[i].name ? axis_of(i) : NULL;
    if (axis)
      hiaR_text_addf(&t, "HIA_TENSOR_OPCODE(%u, %s, %s, %d, %s, \"%s\")\n", i, names[i],
                     hiaR_ops[i].name, hiaR_ops[i].n_ins, axis, docs[i]);
  }
  hiaR_text_addf(&t, "#undef HIA_OPCODE\n#undef HIA_TENSOR_OPCODE\n");
  return t.data;
}

static void is_up_to_date(const char *name, const char *(*generate)(hia_arena *arena)) {
  char path[512];
  snprintf(path, sizeof path, HIA_SOURCE_DIR "/%s", name);
  hia_comp comp;
  hiaR_comp_init(&comp, &hiaR_malloc);
  const char *wanted = generate(&comp.arena);
  if (getenv("HIA_UPDATE")) {
    FILE *f = fopen(path, "wb");
    cr_assert(f, "%s cannot be written", path);
    fputs(wanted, f);
    fclose(f);
  }
  test_text text = {0};
  cr_assert(test_text_read(&text, path), "%s cannot be opened", path);
  cr_assert(strcmp(text.data, wanted) == 0,
            "%s is not what ops.def says; HIA_UPDATE=1 writes it anew", name);
  test_text_free(&text);
  hiaR_comp_free(&comp);
}

Test(ops, documentation_is_up_to_date) { is_up_to_date("docs/ops.md", document); }
Test(ops, public_table_is_up_to_date) { is_up_to_date("include/hiaton/ops.def", extract); }
