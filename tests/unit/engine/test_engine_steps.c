/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Steps of a training find the memory of earlier steps, whatever is called in between. */
#include <criterion/criterion.h>
#include <hiaton/hiaton.h>
#include <stdlib.h>
#include <string.h>

static const char text[] =
    "type Tree = Leaf(word: i32) | Node(left: Tree, right: Tree)\n"
    "param E: f32[300, 64] = uniform(-1, 1)\n"
    "param W: f32[64, 128] = glorot_uniform()\n"
    "fn encode(t: Tree) -> f32[64] = match t {\n"
    "  Leaf(word) => E[word],\n"
    "  Node(left, right) => tanh(W @ concat(encode(left), encode(right))),\n"
    "}\n"
    "fn tree(n: i64, k: i64) -> Tree = if n == 0 then Leaf(i32(k % 300)) else\n"
    "  Node(tree(n - 1, 2 * k + 1), tree(n - 1, 2 * k + 2))\n"
    "fn trees(n: i64) -> [Tree] = [tree(5, i) for i in 0..n]\n"
    "fn loss(trees: [Tree]) -> f32 = sum([sum(encode(t)) for t in trees]) / f32(len(trees))\n";

enum { PAGE = 4096 };
static size_t n_large; /* requests of a page and more */

static void *take(void *user, size_t size) {
  (void)user;
  n_large += size >= PAGE;
  return malloc(size);
}
static void *resize(void *user, void *block, size_t old_size, size_t size) {
  (void)user, (void)old_size;
  n_large += size >= PAGE;
  return realloc(block, size);
}
static void give(void *user, void *block, size_t size) {
  (void)user, (void)size;
  free(block);
}

static hia_function *function(hia_module *module, const char *name) {
  hia_function *f;
  cr_assert_eq(hia_module_function(module, name, &f, NULL), HIA_OK, "%s", name);
  return f;
}

static hia_value *make_trees(hia_engine *engine, hia_module *module, int64_t n) {
  hia_value *count = hia_value_i64(engine, n), *trees;
  cr_assert_eq(hia_call(function(module, "trees"), &count, 1, &trees, NULL), HIA_OK);
  hia_value_free(count);
  return trees;
}

static void call(hia_function *loss, hia_value *trees, int times) {
  for (int i = 0; i < times; i++) {
    hia_value *result;
    cr_assert_eq(hia_call(loss, &trees, 1, &result, NULL), HIA_OK);
    hia_value_free(result);
  }
}

/* The few trees have fewer words than the many, so results of steps differ in size. */
Test(engine_steps, keep_their_memory) {
  const hia_allocator allocator = {take, resize, give, NULL};
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  hia_trainer_options how = HIA_TRAINER_OPTIONS_INIT;
  hia_engine *engine;
  hia_module *module;
  hia_trainer *trainer;
  options.kind = HIA_ENGINE_JIT;
  options.allocator = &allocator;
  cr_assert_eq(hia_engine_new(&options, &engine, NULL), HIA_OK);
  cr_assert_eq(hia_module_load_text(engine, "t.hia", text, strlen(text), &module, NULL), HIA_OK);
  hia_function *loss = function(module, "loss");
  hia_value *many = make_trees(engine, module, 60), *few = make_trees(engine, module, 50),
            *one = make_trees(engine, module, 1);
  cr_assert_eq(hia_trainer_new(loss, &how, &trainer, NULL), HIA_OK);
  for (int i = 0; i < 12; i++) {
    hia_value **trees = i % 2 ? &few : &many;
    n_large = 0;
    cr_assert_eq(hia_trainer_step(trainer, trees, 1, NULL, NULL, NULL), HIA_OK);
    if (i > 3) cr_assert_eq(n_large, 0, "step %d asks for memory %zu times", i, n_large);
    call(loss, one, i > 2 ? 40 : 1);
  }
  hia_trainer_free(trainer);
  call(loss, one, 40);
  hia_value_free(many);
  hia_value_free(few);
  hia_value_free(one);
  hia_module_free(module);
  hia_engine_free(engine);
}
