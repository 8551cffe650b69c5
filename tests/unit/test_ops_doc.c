/* docs/ops.md is the op table, for reading. HIA_UPDATE=1 writes it anew. */
#include "runtime/base/base.h"
#include "tests/unit/helper_text.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

static const char *const rules[] = {
    [HIA_RULE_NUM] = "numbers",
    [HIA_RULE_INT] = "`i32` `i64`",
    [HIA_RULE_BITS] = "`bool` `i32` `i64`",
    [HIA_RULE_FLOAT] = "`f32` `f64`",
    [HIA_RULE_COMPARE] = "any, to `bool`",
    [HIA_RULE_SELECT] = "`bool`, then any",
    [HIA_RULE_CAST] = "any to any",
    [HIA_RULE_CONTROL] = "",
};

static void add_traits(hia_text *t, const hia_op_info *op) {
  if (op->traits & HIA_T_COMMUTES) hiaR_text_addf(t, " commutes");
  if (op->traits & HIA_T_RAISES) hiaR_text_addf(t, " raises");
  if (op->traits & HIA_T_RAISES_INT) hiaR_text_addf(t, " raises on integers");
  if (op->traits & HIA_T_EFFECT) hiaR_text_addf(t, " effect");
  if (op->traits & HIA_T_LIBRARY) hiaR_text_addf(t, " library");
}

static void add_count(hia_text *t, int n) {
  if (n < 0)
    hiaR_text_addf(t, "any");
  else
    hiaR_text_addf(t, "%d", n);
}

static void table(hia_text *t, unsigned from, unsigned to, unsigned with, unsigned without) {
  hiaR_text_addf(t,
                 "| | name | in | out | dtypes | cost | traits | |\n| --: | --- | --- | --- | --- "
                 "| --: | --- | --- |\n");
  for (unsigned i = from; i < to; i++) {
    const hia_op_info *op = &hiaR_ops[i];
    if (!op->name || (op->traits & with) != with || op->traits & without) continue;
    hiaR_text_addf(t, "| %u | `%s` | ", i, op->name);
    add_count(t, op->n_ins);
    hiaR_text_addf(t, " | ");
    add_count(t, op->n_outs);
    hiaR_text_addf(t, " | %s | %u |", rules[op->rule], op->cost);
    add_traits(t, op);
    hiaR_text_addf(t, " | %s |\n", op->doc);
  }
  hiaR_text_addf(t, "\n");
}

static const char *document(hia_arena *arena) {
  hia_text t;
  hiaR_text_init(&t, arena);
  hiaR_text_addf(
      &t,
      "# Ops\n\n"
      "Generated from `runtime/base/ops.def` by `tests/unit/test_ops_doc.c`; "
      "[adding-an-op.md](adding-an-op.md) says how to add one.\n\n"
      "Numbers are part of the runtime ABI and never reused. The cost is in rough cycles, for "
      "inlining.\n\n"
      "Traits: *commutes*: `a op b` is `b op a`, bit for bit; *raises*: can fail, so it is neither "
      "removed nor\nmoved past another that can; *effect*: runs exactly as often as it is written; "
      "*library*: native code calls the\nruntime's function.\n\n"
      "## Primitive ops\n\nWhat the language offers as operators and built-ins.\n\n");
  table(&t, 0, 64, 0, 0);
  hiaR_text_addf(&t, "## Structure, in both states of the graph\n\n");
  table(&t, 64, HIA_OP_LIMIT, 0, HIA_T_FUNCTION | HIA_T_STATIC);
  hiaR_text_addf(&t, "## Structure of function graphs\n\n");
  table(&t, 64, HIA_OP_LIMIT, HIA_T_FUNCTION, 0);
  hiaR_text_addf(&t, "## Structure of the static graph\n\n");
  table(&t, 64, HIA_OP_LIMIT, HIA_T_STATIC, 0);
  t.data[--t.len] = 0; /* one line end is enough at the end */
  return t.data;
}

Test(ops, documentation_is_up_to_date) {
  static const char path[] = HIA_SOURCE_DIR "/docs/ops.md";
  hia_comp comp;
  hiaR_comp_init(&comp, &hiaR_malloc);
  const char *wanted = document(&comp.arena);
  if (getenv("HIA_UPDATE")) {
    FILE *f = fopen(path, "wb");
    cr_assert(f, "%s cannot be written", path);
    fputs(wanted, f);
    fclose(f);
  }
  test_text text = {0};
  cr_assert(test_text_read(&text, path), "%s cannot be opened", path);
  cr_assert(strcmp(text.data, wanted) == 0,
            "docs/ops.md is not what ops.def says; HIA_UPDATE=1 writes it anew");
  test_text_free(&text);
  hiaR_comp_free(&comp);
}
