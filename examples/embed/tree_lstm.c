/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* A TreeLSTM made by the builder, at sizes that the host chooses (examples/models/tree_lstm.hia is
 * the model at full size). The host also loads it as text: params begin alike where their names and
 * shapes are alike, so both give the same bits.
 *
 * prints:
 *   type Tree = Leaf(word: i32) | Node(left: Tree, right: Tree)
 *
 *   param E: f32[9, 4] = uniform(-0.5, 0.5)
 *   param Wx: f32[9, 4] = glorot_uniform()
 *   param U: f32[15, 6] = glorot_uniform()
 *   param bu: f32[15] = normal(0.0, 0.1)
 *
 *   fn gate(v1: f32[?], v2: i64) -> f32[3] = {
 *     let from = v2 * 3;
 *     v1[from..from + 3]
 *   }
 *
 *   fn finish(v1: f32[?], v2: f32[3]) -> (f32[3], f32[3]) = {
 *     let v3 = sigmoid(gate(v1, 1));
 *     (v3 * tanh(v2), v2)
 *   }
 *
 *   fn encode(v1: Tree) -> (f32[3], f32[3]) =
 *     match v1 {
 *       Leaf(word) => {
 *         let v2 = Wx @ E[word];
 *         let v3 = sigmoid(gate(v2, 0));
 *         finish(v2, v3 * tanh(gate(v2, 2)))
 *       },
 *       Node(left, right) => {
 *         let v4 = encode(left);
 *         let v5 = encode(right);
 *         let v6 = v4.0;
 *         let v7 = v4.1;
 *         let v8 = v5.0;
 *         let v9 = v5.1;
 *         let v10 = U @ concat(v6, v8) + bu;
 *         let v11 = gate(v10, 0);
 *         let v12 = sigmoid(v11);
 *         let v13 = v12 * tanh(gate(v10, 4));
 *         let v14 = v13 + sigmoid(gate(v10, 2)) * v7;
 *         let v15 = v14 + sigmoid(gate(v10, 3)) * v9;
 *         finish(v10, v15)
 *       },
 *     }
 *   Leaf(7):
 *     ([0.01861314, -0.0009458574, 0.008061222], [0.03231531, -0.0020524191, 0.016844379])
 *     the same as text
 *   Node(Node(Leaf(1), Leaf(2)), Leaf(0)):
 *     ([-0.03479284, -0.09045819, -0.01252625], [-0.067113504, -0.17656115, -0.025084406])
 *     the same as text
 */
#include <hiaton/hiaton.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { WORDS = 9, EMBEDDING = 4, HIDDEN = 3 };

static const char text[] =
    "const HIDDEN = 3\n"
    "type Tree = Leaf(word: i32) | Node(left: Tree, right: Tree)\n"
    "param E: f32[9, 4] = uniform(-0.5, 0.5)\n"
    "param Wx: f32[3 * HIDDEN, 4] = glorot_uniform()\n"
    "param U: f32[5 * HIDDEN, 2 * HIDDEN] = glorot_uniform()\n"
    "param bu: f32[5 * HIDDEN] = normal(0, 0.1)\n"
    "fn gate(g: f32[?], k: i64) -> f32[HIDDEN] = g[k * HIDDEN..(k + 1) * HIDDEN]\n"
    "fn finish(g: f32[?], c: f32[HIDDEN]) -> (f32[HIDDEN], f32[HIDDEN]) =\n"
    "  (sigmoid(gate(g, 1)) * tanh(c), c)\n"
    "fn encode(t: Tree) -> (f32[HIDDEN], f32[HIDDEN]) =\n"
    "  match t {\n"
    "    Leaf(word) => {\n"
    "      let g = Wx @ E[word];\n"
    "      finish(g, sigmoid(gate(g, 0)) * tanh(gate(g, 2)))\n"
    "    },\n"
    "    Node(left, right) => {\n"
    "      let (hl, cl) = encode(left);\n"
    "      let (hr, cr) = encode(right);\n"
    "      let g = U @ concat(hl, hr) + bu;\n"
    "      let new = sigmoid(gate(g, 0)) * tanh(gate(g, 4));\n"
    "      finish(g, new + sigmoid(gate(g, 2)) * cl + sigmoid(gate(g, 3)) * cr)\n"
    "    },\n"
    "  }\n";

typedef struct model {
  hia_builder *b;
  hia_build_fn gate, finish, encode;
  hia_build_value E, Wx, U, bu;
} model;

/* A param of a matrix, or of a vector if `columns` is 0. */
static hia_build_value declare_param(model *m, const char *name, int rows, int columns,
                                     const char *initialiser) {
  char definition[100];
  if (columns)
    snprintf(definition, sizeof definition, "%s: f32[%d, %d] = %s", name, rows, columns,
             initialiser);
  else
    snprintf(definition, sizeof definition, "%s: f32[%d] = %s", name, rows, initialiser);
  return hia_build_declare_param(m->b, definition);
}

static void declare(model *m) {
  const int64_t sizes[] = {HIDDEN};
  hia_build_declare_type(m->b, "Tree = Leaf(word: i32) | Node(left: Tree, right: Tree)");
  m->E = declare_param(m, "E", WORDS, EMBEDDING, "uniform(-0.5, 0.5)");
  m->Wx = declare_param(m, "Wx", 3 * HIDDEN, EMBEDDING, "glorot_uniform()");
  m->U = declare_param(m, "U", 5 * HIDDEN, 2 * HIDDEN, "glorot_uniform()");
  m->bu = declare_param(m, "bu", 5 * HIDDEN, 0, "normal(0, 0.1)");
  const hia_build_type gates = hia_build_tensor_type(m->b, HIA_F32, 1),
                       state = hia_build_sized_type(m->b, HIA_F32, sizes, 1),
                       tree = hia_build_read_type(m->b, "Tree");
  const hia_build_type gate[] = {gates, HIA_I64}, finish[] = {gates, state},
                       both[] = {state, state};
  const hia_build_type states = hia_build_tuple_type(m->b, both, 2);
  m->gate = hia_build_declare_types(m->b, "gate", gate, 2, state);
  m->finish = hia_build_declare_types(m->b, "finish", finish, 2, states);
  m->encode = hia_build_declare_types(m->b, "encode", &tree, 1, states);
}

/* Gate k of all gates in a row. */
static hia_build_value gate(model *m, hia_build_value gates, int64_t k) {
  const hia_build_value args[] = {gates, hia_build_i64(m->b, k)};
  return hia_build_call(m->b, m->gate, args, 2);
}

static hia_build_value open_gate(model *m, hia_build_value gates, int64_t k) {
  return hia_build_sigmoid(m->b, gate(m, gates, k));
}

static hia_build_value finish(model *m, hia_build_value gates, hia_build_value cell) {
  const hia_build_value args[] = {gates, cell};
  return hia_build_call(m->b, m->finish, args, 2);
}

static void build_gate(model *m) {
  hia_builder *b = m->b;
  hia_build_begin(b, m->gate);
  hia_build_value g = hia_build_param(b, m->gate, 0), hidden = hia_build_i64(b, HIDDEN);
  hia_build_value from = hia_build_mul(b, hia_build_param(b, m->gate, 1), hidden);
  hia_build_name(b, from, "from");
  hia_build_return(b, hia_build_slice(b, g, from, hia_build_add(b, from, hidden)));
}

/* (h, c) of a cell. */
static void build_finish(model *m) {
  hia_builder *b = m->b;
  hia_build_begin(b, m->finish);
  hia_build_value c = hia_build_param(b, m->finish, 1), state[2];
  hia_build_value open = open_gate(m, hia_build_param(b, m->finish, 0), 1);
  state[0] = hia_build_mul(b, open, hia_build_tanh(b, c));
  state[1] = c;
  hia_build_return(b, hia_build_tuple(b, state, 2));
}

static hia_build_value build_leaf(model *m, hia_build_value word) {
  hia_builder *b = m->b;
  hia_build_value gates = hia_build_product(b, m->Wx, hia_build_at(b, m->E, word));
  hia_build_value open = open_gate(m, gates, 0);
  return finish(m, gates, hia_build_mul(b, open, hia_build_tanh(b, gate(m, gates, 2))));
}

static hia_build_value build_node(model *m, hia_build_value left, hia_build_value right) {
  hia_builder *b = m->b;
  hia_build_value states[2], h[2], c[2];
  states[0] = hia_build_call(b, m->encode, &left, 1);
  states[1] = hia_build_call(b, m->encode, &right, 1);
  for (size_t i = 0; i < 2; i++) {
    h[i] = hia_build_part(b, states[i], 0);
    c[i] = hia_build_part(b, states[i], 1);
  }
  hia_build_value product = hia_build_product(b, m->U, hia_build_concat(b, h, 2));
  hia_build_value gates = hia_build_add(b, product, m->bu);
  hia_build_value open = open_gate(m, gates, 0);
  hia_build_value cell = hia_build_mul(b, open, hia_build_tanh(b, gate(m, gates, 4)));
  for (size_t i = 0; i < 2; i++) {
    hia_build_value kept = hia_build_mul(b, open_gate(m, gates, 2 + (int64_t)i), c[i]);
    cell = hia_build_add(b, cell, kept);
  }
  return finish(m, gates, cell);
}

static void build(model *m) {
  hia_builder *b = m->b;
  hia_build_value part[2];
  declare(m);
  build_gate(m);
  build_finish(m);
  hia_build_begin(b, m->encode);
  hia_build_match(b, hia_build_param(b, m->encode, 0));
  hia_build_arm(b, "Leaf(word)", part, 1);
  hia_build_end_arm(b, build_leaf(m, part[0]));
  hia_build_arm(b, "Node(left, right)", part, 2);
  hia_build_end_arm(b, build_node(m, part[0], part[1]));
  hia_build_return(b, hia_build_end_match(b));
}

/* ---- both models ---- */

static bool print(void *user, const char *bytes, size_t len) {
  return fwrite(bytes, 1, len, user) == len;
}

/* The state of a tree's root, as text: floats have as many digits as they need. */
static hia_status encode(hia_module *module, const char *tree, char *state, size_t size,
                         hia_error **error) {
  hia_function *function;
  hia_value *arg = NULL, *result = NULL;
  hia_status status = hia_module_function(module, "encode", &function, error);
  if (status == HIA_OK) status = hia_value_parse(function, 0, tree, &arg, error);
  if (status == HIA_OK) status = hia_call(function, &arg, 1, &result, error);
  if (status == HIA_OK) hia_value_format(result, state, size);
  hia_value_free(arg);
  hia_value_free(result);
  return status;
}

static hia_status compare(hia_module *built, hia_module *loaded, const char *tree,
                          hia_error **error) {
  char a[200] = "", b[200] = "";
  hia_status status = encode(built, tree, a, sizeof a, error);
  if (status == HIA_OK) status = encode(loaded, tree, b, sizeof b, error);
  if (status == HIA_OK)
    printf("%s:\n  %s\n  %s\n", tree, a, strcmp(a, b) == 0 ? "the same as text" : b);
  return status;
}

int main(void) {
  hia_engine *engine = NULL;
  hia_module *built = NULL, *loaded = NULL;
  hia_error *error = NULL;
  model m = {0};
  hia_status status = hia_engine_new(NULL, &engine, &error);
  if (status == HIA_OK) status = hia_builder_new(engine, "built", &m.b, &error);
  if (status == HIA_OK) {
    build(&m);
    hia_builder_print(m.b, print, stdout, NULL);
    status = hia_builder_finish(m.b, &built, &error);
  }
  if (status == HIA_OK)
    status = hia_module_load_text(engine, "loaded", text, strlen(text), &loaded, &error);
  if (status == HIA_OK) status = compare(built, loaded, "Leaf(7)", &error);
  if (status == HIA_OK)
    status = compare(built, loaded, "Node(Node(Leaf(1), Leaf(2)), Leaf(0))", &error);
  if (error) fputs(hia_error_text(error), stderr);
  hia_error_free(error);
  hia_module_free(built);
  hia_module_free(loaded);
  hia_builder_free(m.b);
  hia_engine_free(engine);
  return status == HIA_OK ? 0 : 1;
}
