/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Native code of the gradients of every op that has one, with all passes, agrees with their graphs
 * bit for bit. */
#include "tests/unit/helpers/data_world.h"
#include "tests/unit/helpers/eval.h"
#include "tests/unit/helpers/gradient.h"
#include "tests/unit/helpers/gradient_tensor.h"
#include "tests/unit/helpers/image.h"

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

/* And of tensors, with what the interpreter gives; also by sums. */
Test(lower, gradients_of_tensors) {
  const tensor_case *cases;
  uint32_t n = tensor_cases(&cases), state = 40;
  cr_assert_gt(n, 300);
  for (uint32_t k = 0; k < n; k++) {
    const tensor_case *c = &cases[k];
    hia_dtype at = k % 2 ? HIA_F32 : HIA_F64;
    uint32_t n_results = 1 + 2 * tensor_case_floats(c);
    bool is_lifted = hiaR_ops[c->op].shape == HIA_SHAPE_ELEMENTWISE;
    if ((is_lifted && k % 7) || k % HIA_TEST_SHARE) continue;
    data_world d;
    image_program p;
    tensor_point x;
    hia_word words[TENSOR_CASE_ARGS], block[TENSOR_CASE_ARGS + TENSOR_CASE_RESULTS] = {0};
    open_world(&d);
    NO_THROW(&d.w.e, {
      hia_graph *g = tensor_case_graph(&d.w.e.comp, &d.w.e.types, c, at);
      const char *text = text_of(&d.w.e, g);
      cr_assert(image_from_ir(&p, text), "%s", p.error);
      hiaG_run_passes(g, &(hia_pass_options){.use = HIA_USE_NATIVE, .verify = true});
      compile_data(&d, g, false, k % 3 ? 1 : 3);
    });
    tensor_point_init(&x, c, &state);
    tensor_point_words(&x, at, words);
    image_outcome expected = image_run(&p, IMAGE_INTERP, words, 1, NULL, NULL);
    cr_assert_eq(expected.status, HIA_OK);
    memcpy(block, words, x.n * sizeof *block);
    cr_assert_eq(run_only(&d, "f", block), HIA_OK, "%s", hiaR_ops[c->op].name);
    for (uint32_t i = 0; i < n_results; i++)
      cr_assert(same(at, block[x.n + i], expected.results[i]), "%s, case %u, result %u: %g, not %g",
                hiaR_ops[c->op].name, k, i, gradient_number(at, block[x.n + i]),
                gradient_number(at, expected.results[i]));
    int64_t live = 0;
    if (hiaR_heap_census(&d.heap, &live))
      cr_assert_eq(live, 0, "%s leaves objects", hiaR_ops[c->op].name);
    hiaR_heap_end(&d.heap);
    tensor_point_discard(&x, words);
    tensor_point_free(&x);
    image_discard(&p);
    close_world(&d);
  }
}
