/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Products in graphs: which op a product with a transposed matrix becomes. What they compute is in
 * tests/programs/transposed.hia. */
#include "frontend/frontend.h"
#include "tests/unit/helpers/sources.h"

/* The graph of `f` has this op. */
static void expect_op(const char *text, const char *op) {
  compiled c;
  compile_good(&c, text);
  const char *graph = graph_text(&c, "f", HIA_NONE, false);
  cr_expect(strstr(graph, op), "%s\n%s\nlacks %s", text, graph, op);
  discard(&c);
}

Test(elab_tensor, products) {
  expect_op("fn f(x: f32[?, ?], w: f32[?, ?]) = x @ w", " = product %0, %1");
  expect_op("fn f(x: f32[?, ?], w: f32[?, ?]) = x @ transpose(w)", " = product_bt %0, %1");
  expect_op("fn f(x: f32[?, ?, ?], w: f32[?, ?]) = x @ transpose(w)", " = product_bt %0, %1");
  expect_op("fn f(x: f32[?, ?], w: f32[?, ?]) = { let t = transpose(w); x @ t }",
            " = product_bt %0, %1");
  expect_op("fn f(x: f32[?, ?], w: f32[?, ?]) = transpose(x) @ transpose(w)",
            " = product_bt %2, %1");
  expect_op("fn f(x: f32[?], w: f32[?, ?]) = x @ transpose(w)", " = product %0, %2");
  expect_op("fn f(x: f32[?, ?], w: f32[?, ?]) = transpose(x) @ w", " = product %2, %1");
  expect_op("param W: f32[2, 3] = zeros() fn f(x: f32[?, ?]) = x @ transpose(W)",
            " = product_bt %0, %1");
}
