// Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0
// The models of examples/models in C++ with OpenBLAS, as a programmer of C++ makes them fast for
// one sentence at a time: trees level by level, all nodes of one height in one product; elementwise
// functions in loops that gcc vectorises with libmvec.
//
//   peer_models MODEL SIZE infer BATCH SENTENCES MIN_SECONDS REPEATS FOLDER
//
// bench/networks.h describes the files of FOLDER. BATCH is 1. With CHECK in the environment it
// prints the summed loss.
#include <algorithm>
#include <cblas.h>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

using Floats = std::vector<float>;

static std::string folder, model_name;

[[noreturn]] static void fail(const std::string &what) {
  std::fprintf(stderr, "peer_models: %s\n", what.c_str());
  std::exit(1);
}

// ---- weights ----

static Floats load(const std::string &name, std::initializer_list<int> dims) {
  std::string path = folder + "/w_" + model_name + "_" + name, separator = "_";
  size_t n = 1;
  for (int dim : dims) {
    path += separator + std::to_string(dim);
    separator = "x";
    n *= size_t(dim);
  }
  Floats x(n);
  std::ifstream from(path + ".f32", std::ios::binary);
  if (!from.read(reinterpret_cast<char *>(x.data()), std::streamsize(n * sizeof(float))))
    fail("cannot read " + path);
  return x;
}

// ---- products: OpenBLAS's sgemm is slower than its sgemv up to some rows ----

// c = x w', x being m x k and w n x k.
static void product(int m, int n, int k, const float *x, const float *w, float *c) {
  if (m > 4) {
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, m, n, k, 1, x, k, w, k, 0, c, n);
    return;
  }
  for (int i = 0; i < m; i++)
    cblas_sgemv(CblasRowMajor, CblasNoTrans, n, k, 1, w, k, x + size_t(i) * size_t(k), 1, 0,
                c + size_t(i) * size_t(n), 1);
}

static inline float sigmoid(float x) { return 1 / (1 + std::exp(-x)); }

// The cross entropy of n scores.
static double cross_entropy(const float *z, int n, int label) {
  float most = *std::max_element(z, z + n), sum = 0;
  for (int i = 0; i < n; i++) sum += std::exp(z[i] - most);
  return std::log(sum) - (z[label] - most);
}

// ---- trees ----

struct Node {
  int left, right, word, label;
};

// The nodes of a tree, sorted by height; children are before their parents.
struct Tree {
  std::vector<Node> nodes;
  std::vector<int> level_ends; // of nodes with heights 0, 1, ...
};

static Tree by_height(const std::vector<Node> &given) {
  std::vector<int> height(given.size()), place(given.size());
  Tree t;
  int highest = 0;
  for (size_t i = 0; i < given.size(); i++) {
    if (given[i].left >= 0)
      height[i] = 1 + std::max(height[size_t(given[i].left)], height[size_t(given[i].right)]);
    highest = std::max(highest, height[i]);
  }
  for (int h = 0; h <= highest; h++) {
    for (size_t i = 0; i < given.size(); i++) {
      if (height[i] != h) continue;
      Node node = given[i];
      if (h > 0) node.left = place[size_t(node.left)], node.right = place[size_t(node.right)];
      place[i] = int(t.nodes.size());
      t.nodes.push_back(node);
    }
    t.level_ends.push_back(int(t.nodes.size()));
  }
  return t;
}

// Trees as they come; a pass over them includes sorting, as a user would wait for it.
static std::vector<std::vector<Node>> read_trees(size_t n, int &words) {
  std::ifstream from(folder + "/sst_train.txt");
  std::vector<std::vector<Node>> trees;
  std::string tag;
  size_t len;
  if (!(from >> tag >> words)) fail("cannot read sst_train.txt");
  while (trees.size() < n && from >> tag >> len) {
    trees.emplace_back(len);
    for (Node &x : trees.back()) from >> x.left >> x.right >> x.word >> x.label;
  }
  return trees;
}

// What the three networks over trees share: h of all nodes, and the loss at each.
struct TreeNetwork {
  int d;
  Floats E, Wc, bc, h, x, gates, scores;

  TreeNetwork(int d, int embedding, int words)
      : d(d), E(load("E", {words, embedding})), Wc(load("Wc", {5, d})), bc(load("bc", {5})) {}
  virtual ~TreeNetwork() = default;

  virtual void leaves(const Tree &t, int n) = 0;
  // Nodes from `begin` on, which have the rows of x: h of both children.
  virtual void inner(const Tree &t, int begin, int n) = 0;
  virtual void reserve(size_t n) {
    h.resize(n * size_t(d));
    x.resize(n * size_t(d) * 2);
    scores.resize(n * 5);
  }

  double loss(const std::vector<Node> &given) {
    Tree t = by_height(given);
    int n = int(t.nodes.size());
    reserve(size_t(n));
    leaves(t, t.level_ends[0]);
    for (size_t level = 1; level < t.level_ends.size(); level++) {
      int begin = t.level_ends[level - 1], len = t.level_ends[level] - begin;
      for (int i = 0; i < len; i++) {
        const Node &node = t.nodes[size_t(begin + i)];
        std::copy_n(&h[size_t(node.left * d)], d, &x[size_t(2 * i * d)]);
        std::copy_n(&h[size_t(node.right * d)], d, &x[size_t((2 * i + 1) * d)]);
      }
      inner(t, begin, len);
    }
    product(n, 5, d, h.data(), Wc.data(), scores.data());
    double sum = 0;
    for (int i = 0; i < n; i++) {
      float *z = &scores[size_t(5 * i)];
      for (int k = 0; k < 5; k++) z[k] += bc[size_t(k)];
      sum += cross_entropy(z, 5, t.nodes[size_t(i)].label);
    }
    return sum;
  }
};

struct TreeLstm : TreeNetwork {
  static constexpr int EMBEDDING = 300;
  Floats Wx, bx, U, bu, c, words;

  TreeLstm(int d, int n_words)
      : TreeNetwork(d, EMBEDDING, n_words), Wx(load("Wx", {3 * d, EMBEDDING})),
        bx(load("bx", {3 * d})), U(load("U", {5 * d, 2 * d})), bu(load("bu", {5 * d})) {}

  void reserve(size_t n) override {
    TreeNetwork::reserve(n);
    c.resize(n * size_t(d));
    gates.resize(n * size_t(5 * d));
    words.resize(n * EMBEDDING);
  }

  void leaves(const Tree &t, int n) override {
    for (int i = 0; i < n; i++)
      std::copy_n(&E[size_t(t.nodes[size_t(i)].word) * EMBEDDING], EMBEDDING,
                  &words[size_t(i * EMBEDDING)]);
    product(n, 3 * d, EMBEDDING, words.data(), Wx.data(), gates.data());
    for (int i = 0; i < n; i++) {
      const float *g = &gates[size_t(3 * i * d)], *b = bx.data();
      float *ci = &c[size_t(i * d)], *hi = &h[size_t(i * d)];
#pragma GCC ivdep
      for (int k = 0; k < d; k++) {
        ci[k] = sigmoid(g[k] + b[k]) * std::tanh(g[2 * d + k] + b[2 * d + k]);
        hi[k] = sigmoid(g[d + k] + b[d + k]) * std::tanh(ci[k]);
      }
    }
  }

  void inner(const Tree &t, int begin, int n) override {
    product(n, 5 * d, 2 * d, x.data(), U.data(), gates.data());
    for (int i = 0; i < n; i++) {
      const Node &node = t.nodes[size_t(begin + i)];
      const float *g = &gates[size_t(5 * i * d)], *b = bu.data();
      const float *cl = &c[size_t(node.left * d)], *cr = &c[size_t(node.right * d)];
      float *ci = &c[size_t((begin + i) * d)], *hi = &h[size_t((begin + i) * d)];
#pragma GCC ivdep
      for (int k = 0; k < d; k++) {
        ci[k] = sigmoid(g[k] + b[k]) * std::tanh(g[4 * d + k] + b[4 * d + k]) +
                sigmoid(g[2 * d + k] + b[2 * d + k]) * cl[k] +
                sigmoid(g[3 * d + k] + b[3 * d + k]) * cr[k];
        hi[k] = sigmoid(g[d + k] + b[d + k]) * std::tanh(ci[k]);
      }
    }
  }
};

struct TreeRnn : TreeNetwork {
  Floats W, b;

  TreeRnn(int d, int n_words)
      : TreeNetwork(d, d, n_words), W(load("W", {d, 2 * d})), b(load("b", {d})) {}

  void leaves(const Tree &t, int n) override {
    for (int i = 0; i < n; i++)
      std::copy_n(&E[size_t(t.nodes[size_t(i)].word * d)], d, &h[size_t(i * d)]);
  }
  void inner(const Tree &, int begin, int n) override {
    float *to = &h[size_t(begin * d)];
    product(n, d, 2 * d, x.data(), W.data(), to);
    finish(to, n);
  }
  void finish(float *to, int n) {
    for (int i = 0; i < n; i++)
#pragma GCC ivdep
      for (int k = 0; k < d; k++) to[i * d + k] = std::tanh(to[i * d + k] + b[size_t(k)]);
  }
};

struct Rntn : TreeRnn {
  Floats V, y;

  Rntn(int d, int n_words) : TreeRnn(d, n_words), V(load("V", {d, 2 * d, 2 * d})) {}

  void reserve(size_t n) override {
    TreeRnn::reserve(n);
    y.resize(n * size_t(2 * d * d));
  }
  // Element k: x' V[k] x + W[k] x.
  void inner(const Tree &, int begin, int n) override {
    float *to = &h[size_t(begin * d)];
    product(n, d, 2 * d, x.data(), W.data(), to);
    product(n, 2 * d * d, 2 * d, x.data(), V.data(), y.data());
    for (int i = 0; i < n; i++)
      for (int k = 0; k < d; k++) {
        const float *row = &y[size_t((i * d + k) * 2 * d)], *xi = &x[size_t(2 * i * d)];
        float sum = 0;
        for (int j = 0; j < 2 * d; j++) sum += row[j] * xi[j];
        to[i * d + k] += sum;
      }
    finish(to, n);
  }
};

// ---- the tagger ----

struct Tagged {
  std::vector<int> words, tags;
};

static std::vector<Tagged> read_tagged(size_t n, int &words) {
  std::ifstream from(folder + "/tag.txt");
  std::vector<Tagged> sentences;
  std::string tag;
  size_t len;
  if (!(from >> tag >> words)) fail("cannot read tag.txt");
  while (sentences.size() < n && from >> tag >> len) {
    sentences.push_back({std::vector<int>(len), std::vector<int>(len)});
    for (size_t i = 0; i < len; i++) from >> sentences.back().words[i] >> sentences.back().tags[i];
  }
  return sentences;
}

struct Tagger {
  static constexpr int EMBEDDING = 200, TAGS = 300;
  struct Cell {
    int in;
    Floats Wx, Wh, b;
  };
  int d;
  Floats E, Wc, bc, inputs, gates, h, c, x, y, scores;
  std::vector<Cell> cells; // layer 0 forward and backward, layer 1 forward and backward

  Tagger(int d, int words)
      : d(d), E(load("E", {words, EMBEDDING})), Wc(load("Wc", {TAGS, 2 * d})),
        bc(load("bc", {TAGS})) {
    for (int layer = 0; layer < 2; layer++)
      for (const char *way : {"f", "b"}) {
        int in = layer == 0 ? EMBEDDING : 2 * d;
        std::string name = std::to_string(layer) + way;
        cells.push_back({in, load("Wx" + name, {4 * d, in}), load("Wh" + name, {4 * d, d}),
                         load("b" + name, {4 * d})});
      }
  }

  // h of n tokens, into columns `at` and on of rows of 2 d.
  void lstm(const Cell &cell, int n, bool is_backward, const Floats &from, float *to) {
    inputs.resize(size_t(n * 4 * d));
    gates.resize(size_t(4 * d));
    h.assign(size_t(d), 0);
    c.assign(size_t(d), 0);
    product(n, 4 * d, cell.in, from.data(), cell.Wx.data(), inputs.data());
    for (int i = 0; i < n; i++) {
      int t = is_backward ? n - 1 - i : i;
      product(1, 4 * d, d, h.data(), cell.Wh.data(), gates.data());
      const float *in = &inputs[size_t(t * 4 * d)], *g = gates.data(), *b = cell.b.data();
      float *hs = h.data(), *cs = c.data();
#pragma GCC ivdep
      for (int k = 0; k < d; k++) {
        auto gate = [&](int j) { return in[j * d + k] + b[j * d + k] + g[j * d + k]; };
        cs[k] = sigmoid(gate(1)) * cs[k] + sigmoid(gate(0)) * std::tanh(gate(2));
        hs[k] = sigmoid(gate(3)) * std::tanh(cs[k]);
      }
      std::copy_n(hs, d, to + t * 2 * d);
    }
  }

  double loss(const Tagged &s) {
    int n = int(s.words.size());
    x.resize(size_t(n * EMBEDDING));
    for (int i = 0; i < n; i++)
      std::copy_n(&E[size_t(s.words[size_t(i)] * EMBEDDING)], EMBEDDING, &x[size_t(i * EMBEDDING)]);
    for (size_t layer = 0; layer < 2; layer++) {
      y.resize(size_t(n * 2 * d));
      lstm(cells[2 * layer], n, false, x, y.data());
      lstm(cells[2 * layer + 1], n, true, x, y.data() + d);
      std::swap(x, y);
    }
    scores.resize(size_t(n * TAGS));
    product(n, TAGS, 2 * d, x.data(), Wc.data(), scores.data());
    double sum = 0;
    for (int i = 0; i < n; i++) {
      float *z = &scores[size_t(i * TAGS)];
      for (int k = 0; k < TAGS; k++) z[k] += bc[size_t(k)];
      sum += cross_entropy(z, TAGS, s.tags[size_t(i)]);
    }
    return sum;
  }
};

// ---- the top-down TreeLSTM ----

struct TopDown {
  static constexpr int WORDS = 1000;
  enum { LEFT, RIGHT, NX_LEFT, NX_RIGHT };
  struct Grown {
    int word;
    Grown *left, *right, *next;
  };
  int d;
  Floats E, W, b, Wo, A, a;

  explicit TopDown(int d)
      : d(d), E(load("E", {WORDS, d})), W(load("W", {4, 4 * d, 2 * d})), b(load("b", {4, 4 * d})),
        Wo(load("Wo", {WORDS, d})), A(load("A", {4, 2 * d})), a(load("a", {4})) {}

  Floats word_and_state(int word, const Floats &h) {
    Floats x(size_t(2 * d));
    std::copy_n(&E[size_t(word * d)], d, &x[0]);
    std::copy_n(&h[0], d, &x[size_t(d)]);
    return x;
  }
  Grown *node(int word, const Floats &h, const Floats &c, int next, int depth) {
    Floats x = word_and_state(word, h);
    float adds[4];
    product(1, 4, 2 * d, x.data(), A.data(), adds);
    auto has = [&](int edge) { return depth > 0 && adds[edge] + a[size_t(edge)] > 0; };
    Grown *left = has(LEFT) ? grow(LEFT, NX_LEFT, x, c, depth - 1) : nullptr;
    Grown *right = has(RIGHT) ? grow(RIGHT, NX_RIGHT, x, c, depth - 1) : nullptr;
    Grown *beside = next >= 0 && has(next) ? grow(next, next, x, c, depth - 1) : nullptr;
    return new Grown{word, left, right, beside};
  }
  Grown *grow(int edge, int next, const Floats &x, const Floats &c, int depth) {
    Floats gates(size_t(4 * d)), h(size_t(d), 0), state(size_t(d), 0), words(WORDS);
    product(1, 4 * d, 2 * d, x.data(), &W[size_t(edge * 8 * d * d)], gates.data());
    const float *g = gates.data(), *bias = &b[size_t(edge * 4 * d)], *before = c.data();
    float *hs = h.data(), *cs = state.data();
#pragma GCC ivdep
    for (int k = 0; k < d; k++) {
      auto gate = [&](int j) { return g[j * d + k] + bias[j * d + k]; };
      cs[k] = sigmoid(gate(1)) * before[k] + sigmoid(gate(0)) * std::tanh(gate(2));
      hs[k] = sigmoid(gate(3)) * std::tanh(cs[k]);
    }
    product(1, WORDS, d, h.data(), Wo.data(), words.data());
    int word = int(std::max_element(words.begin(), words.end()) - words.begin());
    return node(word, h, state, next, depth);
  }
  static double sum(Grown *t) {
    if (!t) return 0;
    double s = 1 + t->word + sum(t->left) + sum(t->right) + sum(t->next);
    delete t;
    return s;
  }
  // The nodes and their words, summed: bench/models.c does the same.
  double loss(int root, int depth) {
    Floats zero(size_t(d), 0);
    return sum(node(root, zero, zero, -1, depth));
  }
};

// ---- the command ----

static void run(size_t n, double seconds, int repeats, const std::function<double(size_t)> &loss) {
  using Clock = std::chrono::steady_clock;
  auto pass = [&] {
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += loss(i);
    return sum;
  };
  double first = pass();
  if (std::getenv("CHECK")) {
    std::printf("CHECK %s loss0=%.9g\n", model_name.c_str(), first);
    return;
  }
  std::vector<double> rates;
  for (int r = 0; r < repeats; r++) {
    size_t done = 0;
    double taken;
    auto start = Clock::now();
    do {
      pass();
      done += n;
      taken = std::chrono::duration<double>(Clock::now() - start).count();
    } while (taken < seconds);
    rates.push_back(double(done) / taken);
  }
  std::sort(rates.begin(), rates.end());
  std::printf("%s med=%.1f sentences/s\n", model_name.c_str(), rates[rates.size() / 2]);
}

template <class Network> static void run_trees(int d, size_t n, double seconds, int repeats) {
  int words;
  auto trees = read_trees(n, words);
  Network network(d, words);
  run(trees.size(), seconds, repeats, [&](size_t i) { return network.loss(trees[i]); });
}

int main(int argc, char **argv) {
  if (argc < 9)
    fail("usage: peer_models MODEL SIZE infer BATCH SENTENCES MIN_SECONDS REPEATS FOLDER");
  std::string model = argv[1];
  int d = std::atoi(argv[2]), repeats = std::atoi(argv[7]);
  size_t n = size_t(std::atol(argv[5]));
  double seconds = std::atof(argv[6]);
  folder = argv[8];
  model_name = model + argv[2];
  if (model == "treelstm")
    run_trees<TreeLstm>(d, n, seconds, repeats);
  else if (model == "treernn")
    run_trees<TreeRnn>(d, n, seconds, repeats);
  else if (model == "rntn")
    run_trees<Rntn>(d, n, seconds, repeats);
  else if (model == "bilstm") {
    int words;
    auto sentences = read_tagged(n, words);
    Tagger tagger(d, words);
    run(sentences.size(), seconds, repeats, [&](size_t i) { return tagger.loss(sentences[i]); });
  } else if (model == "topdown") {
    std::ifstream from(folder + "/roots.txt");
    std::string tag;
    int depth, root;
    std::vector<int> roots;
    if (!(from >> tag >> depth)) fail("cannot read roots.txt");
    while (roots.size() < n && from >> root) roots.push_back(root);
    TopDown network(d);
    run(roots.size(), seconds, repeats, [&](size_t i) { return network.loss(roots[i], depth); });
  } else
    fail("no model " + model);
  return 0;
}
