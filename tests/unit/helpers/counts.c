/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/helpers/counts.h"

void counts_build(counts_built *b, compiled *c, hia_inst_id inst, hia_pass_use use,
                  const char *disabled, const char *stop_after) {
  hiaR_comp_init(&b->comp, &hiaR_malloc);
  if (HIA_TRY(&b->comp)) {
    hiaG_types_init(&b->types, &b->comp);
    b->g = hiaF_build(c->program, &b->comp, &b->types, &inst, 1, false, &b->root);
    hia_pass_options options = {
        .disabled = disabled, .verify = true, .stop_after = stop_after, .use = use};
    hiaG_run_passes(b->g, &options);
  }
  cr_assert_eq(b->comp.status, HIA_OK, "%s\n%s", c->source.text, b->comp.message);
}

const char *counts_graph(counts_built *b) {
  hia_text out;
  hiaR_text_init(&out, &b->comp.arena);
  hiaG_print(b->g, &out);
  return out.data;
}

eval_outcome counts_run(compiled *c, hia_inst_id inst, hia_pass_use use, const char *disabled,
                        const char *stop_after, eval_steal steal, int32_t n) {
  counts_built b;
  counts_build(&b, c, inst, use, disabled, stop_after);
  eval_outcome o;
  hia_word arg = hiaR_from_i32(n);
  eval_stealing(b.g, b.root, &arg, 1, steal, &o);
  if (o.status == HIA_OK && !disabled)
    cr_assert_eq(o.live, 0, "%s\n%s", c->source.text, counts_graph(&b));
  hiaR_comp_free(&b.comp);
  eval_free();
  return o;
}

bool counts_check(const char *text, int32_t n) {
  compiled c;
  compile_good(&c, text);
  hia_inst_id inst = instance(&c, "main", HIA_NONE);
  cr_assert_neq(inst, HIA_NONE, "%s\n%s", text, all_errors(&c));
  eval_outcome plain = counts_run(&c, inst, HIA_USE_ALL, "all", "effects", EVAL_STEAL_NONE, n);
  if (plain.status == HIA_OK || plain.status == HIA_RANGE) {
    static const struct {
      hia_pass_use use;
      const char *stop_after;
      eval_steal steal;
    } ways[] = {{HIA_USE_NATIVE, "refs", EVAL_STEAL_NONE},
                {HIA_USE_NATIVE, NULL, EVAL_STEAL_NONE},
                {HIA_USE_PARALLEL, "refs", EVAL_STEAL_SOME},
                {HIA_USE_PARALLEL, NULL, EVAL_STEAL_ALL}};
    for (size_t i = 0; i < HIA_LEN(ways); i++) {
      eval_outcome o =
          counts_run(&c, inst, ways[i].use, NULL, ways[i].stop_after, ways[i].steal, n);
      if (o.status != HIA_DEADLINE)
        cr_assert(o.status == plain.status && o.results[0] == plain.results[0], "way %zu: %d\n%s",
                  i, o.status, text);
    }
  }
  discard(&c);
  return plain.status != HIA_DEADLINE;
}
