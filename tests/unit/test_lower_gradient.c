/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Native code of the gradients of every op that has one, with all passes, agrees with their graphs
 * bit for bit. */
#include "helper_eval.h"
#include "helper_gradient.h"
#include "world.h"

static const double floats[] = {0.0, -0.0,  1.0,  -1.0,      0.5,        -2.5,
                                3.0, 1e-30, 1e30, 1.0 / 0.0, -1.0 / 0.0, 0.0 / 0.0};

static bool same(hia_type type, hia_word a, hia_word b) {
  double x = gradient_number(type, a), y = gradient_number(type, b);
  return a == b || (x != x && y != y);
}

Test(lower, gradients) {
  gradient_case cases[GRADIENT_MAX_CASES];
  uint32_t n = gradient_cases(cases);
  cr_assert_gt(n, 60);
  world w;
  world_init(&w);
  for (uint32_t k = 0; k < n; k++) {
    const gradient_case *c = &cases[k];
    env e;
    env_init(&e);
    NO_THROW(&e, {
      hia_graph *g = gradient_graph(&e.comp, &e.types, c);
      const char *text = text_of(&e, g);
      hia_graph *native = read_text(&w.e, text);
      hiaG_run_passes(native, &(hia_pass_options){.use = HIA_USE_NATIVE, .verify = true});
      compile_graph(&w, native, 1);
      for (uint32_t p = 0; p < HIA_LEN(floats) * HIA_LEN(floats) * 3; p++) {
        hia_word block[8] = {0};
        for (uint32_t i = 0, rest = p; i < c->n_ins; i++, rest /= HIA_LEN(floats))
          block[i] = gradient_word(c->in[i], floats[rest % HIA_LEN(floats)]);
        block[c->n_ins] = gradient_word(c->out, floats[p % 7 + 2]);
        eval_outcome expected;
        eval_graph(g, 0, block, 1, &expected);
        cr_assert_eq(run(&w, "f", block, 1 << 20), HIA_OK);
        for (uint32_t i = 0; i < c->n_ins; i++)
          cr_assert(same(c->in[i], block[c->n_ins + 1 + i], expected.results[i]),
                    "%s at %s, point %u, operand %u: %llx, not %llx", hiaR_ops[c->op].name,
                    hiaG_dtype_name(c->out), p, i, (unsigned long long)block[c->n_ins + 1 + i],
                    (unsigned long long)expected.results[i]);
      }
    });
    hiaR_comp_free(&e.comp);
  }
  world_free(&w);
}
