/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Counts of references: graphs are evaluated with counts, and must give what they gave before, read
 * nothing that was freed, and leave no object but those of the results. */
#include "helper_data_programs.h"
#include "helper_eval.h"
#include "sources.h"

enum { SIZE = 1 << 16 };

typedef struct built {
  hia_comp comp;
  hia_types types;
  hia_graph *g;
  hia_fn_id root;
} built;

static void build(built *b, compiled *c, hia_inst_id inst, hia_pass_use use, const char *disabled,
                  const char *stop_after) {
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

static const char *graph_of(built *b) {
  hia_text out;
  hiaR_text_init(&out, &b->comp.arena);
  hiaG_print(b->g, &out);
  return out.data;
}

/* Evaluates main(n) of a version of the program. */
static eval_outcome run(compiled *c, hia_inst_id inst, hia_pass_use use, const char *disabled,
                        const char *stop_after, eval_steal steal, int32_t n) {
  built b;
  build(&b, c, inst, use, disabled, stop_after);
  eval_outcome o;
  hia_word arg = hiaR_from_i32(n);
  eval_stealing(b.g, b.root, &arg, 1, steal, &o);
  if (o.status == HIA_OK && !disabled)
    cr_assert_eq(o.live, 0, "%s\n%s", c->source.text, graph_of(&b));
  hiaR_comp_free(&b.comp);
  eval_free();
  return o;
}

/* Returns false if the program does not end soon enough to be compared. */
static bool check(const char *text, int32_t n) {
  compiled c;
  compile_good(&c, text);
  hia_inst_id inst = instance(&c, "main", HIA_NONE);
  cr_assert_neq(inst, HIA_NONE, "%s\n%s", text, all_errors(&c));
  eval_outcome plain = run(&c, inst, HIA_USE_ALL, "all", "effects", EVAL_STEAL_NONE, n);
  if (plain.status == HIA_OK) {
    static const struct {
      hia_pass_use use;
      const char *stop_after;
      eval_steal steal;
    } ways[] = {{HIA_USE_NATIVE, "refs", EVAL_STEAL_NONE},
                {HIA_USE_NATIVE, NULL, EVAL_STEAL_NONE},
                {HIA_USE_PARALLEL, "refs", EVAL_STEAL_SOME},
                {HIA_USE_PARALLEL, NULL, EVAL_STEAL_ALL}};
    for (size_t i = 0; i < HIA_LEN(ways); i++) {
      eval_outcome o = run(&c, inst, ways[i].use, NULL, ways[i].stop_after, ways[i].steal, n);
      if (o.status != HIA_DEADLINE)
        cr_assert(o.status == HIA_OK && o.results[0] == plain.results[0], "way %zu\n%s", i, text);
    }
  }
  discard(&c);
  return plain.status == HIA_OK;
}

Test(opt_refs, random_programs, .timeout = 600) {
  static char text[SIZE];
#ifdef HIA_STRESS
  enum { N = 60 };
#else
  enum { N = 400 };
#endif
  unsigned n_programs = 0;
  for (uint64_t seed = 1; n_programs < N; seed++) {
    cr_assert_lt(seed, 4 * N);
    if (random_data_program(seed, text, SIZE)) n_programs += check(text, 2);
  }
}
