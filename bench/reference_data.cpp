// Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0
// The programs of data.hia in C++, as its programmers write them: trees of malloc'd nodes that are
// freed one by one where their lifetime is plain (binary_trees), std::map for the red-black tree,
// lists that are sorted by relinking their nodes; expressions and solutions, whose parts are
// shared, are not freed, which costs least.
//
// word_count is the one of treebank.hia.
//
//   peer_data_cpp NAME N RUNS             prints the result and the milliseconds of each run
//   peer_data_cpp word_count FILE RUNS
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

// ---- binary trees ----

struct tree {
  tree *left, *right;
};

static tree *make(int depth) {
  if (depth == 0) return nullptr;
  tree *t = static_cast<tree *>(std::malloc(sizeof(tree)));
  t->left = make(depth - 1);
  t->right = make(depth - 1);
  return t;
}
static int check(const tree *t) { return t ? check(t->left) + check(t->right) + 1 : 1; }
static void destroy(tree *t) {
  if (!t) return;
  destroy(t->left);
  destroy(t->right);
  std::free(t);
}
static int binary_trees(int n) {
  tree *long_lived = make(n);
  int sum = 0;
  for (int depth = 4; depth <= n; depth += 4)
    for (int i = 0; i < 1 << (n - depth + 4); i++) {
      tree *t = make(depth);
      sum += check(t);
      destroy(t);
    }
  sum += check(long_lived);
  destroy(long_lived);
  return sum;
}

// ---- red-black trees ----

static int rbtree(int n) {
  std::map<int, bool> m;
  for (int i = n; i > 0; i--) m[i] = i % 10 == 0;
  int count = 0;
  for (auto &entry : m) count += entry.second;
  return count;
}

// A persistent map has no counterpart in the library: Okasaki's insertion, without freeing.
struct node {
  node *left, *right;
  int key;
  bool value, is_red;
};
static node *at(bool is_red, node *l, int k, bool v, node *r) {
  return new node{l, r, k, v, is_red};
}
static bool red(const node *t) { return t && t->is_red; }
static node *balance_left(node *l, int k, bool v, node *r) {
  if (!l) return nullptr;
  if (red(l->left)) {
    node *x = l->left;
    return at(true, at(false, x->left, x->key, x->value, x->right), l->key, l->value,
              at(false, l->right, k, v, r));
  }
  if (red(l->right)) {
    node *x = l->right;
    return at(true, at(false, l->left, l->key, l->value, x->left), x->key, x->value,
              at(false, x->right, k, v, r));
  }
  return at(false, at(true, l->left, l->key, l->value, l->right), k, v, r);
}
static node *balance_right(node *l, int k, bool v, node *r) {
  if (!r) return nullptr;
  if (red(r->left)) {
    node *x = r->left;
    return at(true, at(false, l, k, v, x->left), x->key, x->value,
              at(false, x->right, r->key, r->value, r->right));
  }
  if (red(r->right)) {
    node *y = r->right;
    return at(true, at(false, l, k, v, r->left), r->key, r->value,
              at(false, y->left, y->key, y->value, y->right));
  }
  return at(false, l, k, v, at(true, r->left, r->key, r->value, r->right));
}
static node *ins(node *t, int k, bool v) {
  if (!t) return at(true, nullptr, k, v, nullptr);
  if (k < t->key) {
    if (!t->is_red && red(t->left))
      return balance_left(ins(t->left, k, v), t->key, t->value, t->right);
    return at(t->is_red, ins(t->left, k, v), t->key, t->value, t->right);
  }
  if (t->key < k) {
    if (!t->is_red && red(t->right))
      return balance_right(t->left, t->key, t->value, ins(t->right, k, v));
    return at(t->is_red, t->left, t->key, t->value, ins(t->right, k, v));
  }
  return at(t->is_red, t->left, k, v, t->right);
}
static int count(const node *t) { return t ? count(t->left) + t->value + count(t->right) : 0; }
static int rbtree_keep(int n) {
  struct kept {
    node *map;
    kept *older;
  };
  node *t = nullptr;
  kept *all = nullptr;
  for (int i = n; i > 0; i--) {
    bool was_red = red(t);
    t = ins(t, i, i % 10 == 0);
    if (was_red) t = at(false, t->left, t->key, t->value, t->right);
    if (i % 5 == 0) all = new kept{t, all};
  }
  all = new kept{t, all};
  return count(all->map);
}

// ---- expressions ----

enum op { VAL, VAR, ADD, MUL, POW, LN };
struct expr {
  op is;
  int n;
  const expr *a, *b;
};
static const expr *val(int n) { return new expr{VAL, n, nullptr, nullptr}; }
static const expr *two(op is, const expr *a, const expr *b) { return new expr{is, 0, a, b}; }
static bool is_val(const expr *e) { return e->is == VAL; }
static bool is_val(const expr *e, int n) { return e->is == VAL && e->n == n; }

static int power(int a, int n) {
  if (n == 0) return 1;
  if (n == 1) return a;
  int b = power(a, n / 2);
  return b * b * (n % 2 == 0 ? 1 : a);
}
static const expr *add(const expr *f, const expr *g) {
  if (is_val(f, 0)) return g;
  if (is_val(f)) {
    if (is_val(g)) return val(f->n + g->n);
    if (g->is == ADD && is_val(g->a)) return add(val(f->n + g->a->n), g->b);
    return two(ADD, f, g);
  }
  if (is_val(g, 0)) return f;
  if (is_val(g)) return add(g, f);
  if (g->is == ADD && is_val(g->a)) return add(g->a, add(f, g->b));
  if (f->is == ADD) return add(f->a, add(f->b, g));
  return two(ADD, f, g);
}
static const expr *mul(const expr *f, const expr *g) {
  if (is_val(f, 0)) return f;
  if (is_val(f, 1)) return g;
  if (is_val(f)) {
    if (is_val(g, 0)) return g;
    if (is_val(g, 1)) return f;
    if (is_val(g)) return val(f->n * g->n);
    if (g->is == MUL && is_val(g->a)) return mul(val(f->n * g->a->n), g->b);
    return two(MUL, f, g);
  }
  if (is_val(g, 0)) return g;
  if (is_val(g, 1)) return f;
  if (is_val(g)) return mul(g, f);
  if (g->is == MUL && is_val(g->a)) return mul(g->a, mul(f, g->b));
  if (f->is == MUL) return mul(f->a, mul(f->b, g));
  return two(MUL, f, g);
}
static const expr *pow_of(const expr *m, const expr *n) {
  if (is_val(n, 0)) return val(1);
  if (is_val(n, 1)) return m;
  if (is_val(m, 0)) return val(0);
  if (is_val(n) && is_val(m)) return val(power(m->n, n->n));
  return two(POW, m, n);
}
static const expr *ln(const expr *n) { return is_val(n, 1) ? val(0) : two(LN, n, nullptr); }
static const expr *d(int x, const expr *e) {
  switch (e->is) {
  case VAL: return val(0);
  case VAR: return val(e->n == x);
  case ADD: {
    const expr *a = d(x, e->a);
    return add(a, d(x, e->b));
  }
  case MUL: {
    const expr *a = mul(e->a, d(x, e->b));
    return add(a, mul(e->b, d(x, e->a)));
  }
  case POW: {
    const expr *p = pow_of(e->a, e->b);
    const expr *q = mul(mul(e->b, d(x, e->a)), pow_of(e->a, val(-1)));
    return mul(p, add(q, mul(ln(e->a), d(x, e->b))));
  }
  default: {
    const expr *a = d(x, e->a);
    return mul(a, pow_of(e->a, val(-1)));
  }
  }
}
static int size(const expr *e) {
  if (e->is <= VAR) return 1;
  return size(e->a) + (e->b ? size(e->b) : 0);
}
static int deriv(int n) {
  const expr *x = new expr{VAR, 1, nullptr, nullptr}, *e = pow_of(x, x);
  int sum = 0;
  for (int i = 0; i < n; i++) {
    e = d(1, e);
    sum += size(e);
  }
  return sum;
}

static const expr *expression(int n, int v) {
  if (n == 0) return v == 0 ? new expr{VAR, 1, nullptr, nullptr} : val(v);
  const expr *a = expression(n - 1, v + 1);
  return two(ADD, a, expression(n - 1, v > 0 ? v - 1 : 0));
}
static const expr *append(op is, const expr *f, const expr *g) {
  return f->is == is ? two(is, f->a, append(is, f->b, g)) : two(is, f, g);
}
static const expr *reassociate(const expr *e) {
  if (e->is != ADD && e->is != MUL) return e;
  const expr *a = reassociate(e->a);
  return append(e->is, a, reassociate(e->b));
}
static const expr *fold(const expr *e) {
  if (e->is != ADD && e->is != MUL) return e;
  const expr *f = fold(e->a), *g = fold(e->b);
  bool adds = e->is == ADD;
  if (!is_val(f)) return two(e->is, f, g);
  if (is_val(g)) return val(adds ? f->n + g->n : f->n * g->n);
  if (g->is == e->is && is_val(g->b))
    return two(e->is, val(adds ? f->n + g->b->n : f->n * g->b->n), g->a);
  if (g->is == e->is && is_val(g->a))
    return two(e->is, val(adds ? f->n + g->a->n : f->n * g->a->n), g->b);
  return two(e->is, f, g);
}
static int eval(const expr *e) {
  switch (e->is) {
  case VAL: return e->n;
  case ADD: return eval(e->a) + eval(e->b);
  case MUL: return eval(e->a) * eval(e->b);
  default: return 0;
  }
}
static int cfold(int n) { return eval(fold(reassociate(expression(n, 1)))); }

// ---- lists ----

struct list {
  list *tail;
  int head;
};
struct lists {
  list *first;
  lists *others;
};

static bool is_safe(int queen, int diagonal, const list *xs) {
  for (; xs; xs = xs->tail, diagonal++)
    if (queen == xs->head || queen == xs->head + diagonal || queen == xs->head - diagonal)
      return false;
  return true;
}
static lists *solutions(int n, int k) {
  if (k == 0) return new lists{nullptr, nullptr};
  lists *to = nullptr;
  for (lists *s = solutions(n, k - 1), *next; s; s = next) {
    for (int q = n; q > 0; q--)
      if (is_safe(q, 1, s->first)) to = new lists{new list{s->first, q}, to};
    next = s->others;
    delete s;
  }
  return to;
}
static int nqueens(int n) {
  int k = 0;
  for (lists *s = solutions(n, n); s; s = s->others) k++;
  return k;
}

// The list of queens lies on the stack.
static int place_queens(int n, int left, const list *queens) {
  if (left == 0) return 1;
  int found = 0;
  for (int q = n; q > 0; q--) {
    const list more = {const_cast<list *>(queens), q};
    if (is_safe(q, 1, queens)) found += place_queens(n, left - 1, &more);
  }
  return found;
}
static int search_queens(int n) { return place_queens(n, n, nullptr); }

static list *numbers(int n) {
  list *xs = nullptr;
  for (unsigned seed = 42; n > 0; n--) {
    seed = seed * 1103515245u + 12345u;
    xs = new list{xs, (static_cast<int>(seed) >> 8) & 65535};
  }
  return xs;
}
// By relinking, with the rest behind it.
static list *sort_quickly(list *xs, list *rest) {
  if (!xs) return rest;
  list *below = nullptr, *above = nullptr, **b = &below, **a = &above;
  for (list *x = xs->tail, *next; x; x = next) {
    next = x->tail;
    list ***to = x->head < xs->head ? &b : &a;
    **to = x;
    *to = &x->tail;
  }
  *b = *a = nullptr;
  xs->tail = sort_quickly(above, rest);
  return sort_quickly(below, xs);
}
static list *merge(list *xs, list *ys) {
  list *merged = nullptr, **to = &merged;
  while (xs && ys) {
    list *&least = xs->head <= ys->head ? xs : ys;
    *to = least;
    to = &least->tail;
    least = least->tail;
  }
  *to = xs ? xs : ys;
  return merged;
}
static list *sort_merging(list *xs, int n) {
  if (n <= 1) return xs;
  list **to = &xs;
  for (int i = 0; i < n / 2; i++) to = &(*to)->tail;
  list *back = *to;
  *to = nullptr;
  return merge(sort_merging(xs, n / 2), sort_merging(back, n - n / 2));
}
static int digest(list *xs) {
  unsigned sum = 0;
  for (list *next; xs; xs = next) {
    sum = sum * 31 + static_cast<unsigned>(xs->head);
    next = xs->tail;
    delete xs;
  }
  return static_cast<int>(sum);
}
static int quicksort(int n) { return digest(sort_quickly(numbers(n), nullptr)); }
static int mergesort(int n) { return digest(sort_merging(numbers(n), n)); }

// ---- arrays ----

static int sieve(int n) {
  std::vector<char> is_composite(static_cast<size_t>(n));
  for (size_t p = 2; p * p < is_composite.size(); p++)
    if (!is_composite[p])
      for (size_t i = p * p; i < is_composite.size(); i += p) is_composite[i] = true;
  int count = 0;
  for (size_t i = 2; i < is_composite.size(); i++) count += !is_composite[i];
  return count;
}

using pair = std::pair<int, int>;
static size_t partition(std::vector<pair> &a, size_t lo, size_t hi) {
  int pivot = a[hi].first;
  size_t k = lo;
  for (size_t i = lo; i < hi; i++)
    if (a[i].first < pivot) std::swap(a[k++], a[i]);
  std::swap(a[k], a[hi]);
  return k;
}
static void sort_pairs(std::vector<pair> &a, size_t lo, size_t hi) { // lo .. hi, without hi
  if (hi - lo < 2) return;
  size_t k = partition(a, lo, hi - 1);
  sort_pairs(a, lo, k);
  sort_pairs(a, k + 1, hi);
}
static int array_sort(int n) {
  std::vector<pair> a(static_cast<size_t>(n));
  unsigned seed = 42;
  for (int i = 0; i < n; i++) {
    seed = seed * 1103515245u + 12345u;
    a[static_cast<size_t>(i)] = {(static_cast<int>(seed) >> 8) & 65535, i};
  }
  sort_pairs(a, 0, a.size());
  unsigned sum = 0;
  for (const pair &p : a) sum = sum * 31 + static_cast<unsigned>(p.first);
  return static_cast<int>(sum);
}

static bool is_free(const std::vector<pair> &queens, int row, int column) {
  for (int k = 0; k < row; k++) {
    int q = queens[static_cast<size_t>(k)].first;
    if (q == column || q == column + (row - k) || q == column - (row - k)) return false;
  }
  return true;
}
static int place(std::vector<pair> &queens, int row) {
  int found = 0, n = static_cast<int>(queens.size());
  for (int column = 0; column < n; column++) {
    if (!is_free(queens, row, column)) continue;
    if (row + 1 == n) {
      found++;
      continue;
    }
    queens[static_cast<size_t>(row)] = {column, 0};
    found += place(queens, row + 1);
  }
  return found;
}
static int array_queens(int n) {
  std::vector<pair> queens(static_cast<size_t>(n));
  return place(queens, 0);
}

// ---- a treebank ----

struct phrase {
  phrase *left, *right; // null: a leaf
  int label, word;
};

class phrase_reader {
public:
  explicit phrase_reader(const std::string &text) : s(text.data()), end(s + text.size()) {}
  std::vector<phrase *> read() {
    std::vector<phrase *> phrases;
    for (skip(); s < end; skip()) phrases.push_back(read_phrase());
    return phrases;
  }

private:
  const char *s, *end;
  std::unordered_map<std::string_view, int> words;

  static bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
  void skip() {
    while (s < end && is_blank(*s)) s++;
  }
  void expect(char c) {
    if (s == end || *s != c) std::exit(1);
    s++;
  }
  phrase *read_phrase() {
    expect('(');
    phrase *t = static_cast<phrase *>(std::malloc(sizeof(phrase)));
    *t = {nullptr, nullptr, 0, -1};
    for (; s < end && *s >= '0' && *s <= '9'; s++) t->label = t->label * 10 + (*s - '0');
    skip();
    if (s < end && *s == '(') {
      t->left = read_phrase();
      skip();
      t->right = read_phrase();
    } else {
      const char *word = s;
      while (s < end && *s != '(' && *s != ')' && !is_blank(*s)) s++;
      int next = static_cast<int>(words.size());
      t->word = words.try_emplace({word, static_cast<size_t>(s - word)}, next).first->second;
    }
    skip();
    expect(')');
    return t;
  }
};

static int last_word(const phrase *t) {
  return t->left ? std::max(last_word(t->left), last_word(t->right)) : t->word;
}
static void tally(const phrase *t, std::vector<pair> &counts) {
  if (t->left) {
    tally(t->left, counts);
    tally(t->right, counts);
  } else {
    pair &count = counts[static_cast<size_t>(t->word)];
    count.first++;
    count.second += t->label;
  }
}
static int word_count(const std::vector<phrase *> &phrases) {
  int last = -1, different = 0, most = 0, labels = 0;
  for (const phrase *t : phrases) last = std::max(last, last_word(t));
  std::vector<pair> counts(static_cast<size_t>(last + 1));
  for (const phrase *t : phrases) tally(t, counts);
  for (const pair &count : counts) {
    different += count.first > 0;
    if (count.first > most) {
      most = count.first;
      labels = count.second;
    }
  }
  return (different * 31 + most) * 31 + labels;
}

template <typename F> static void measure(int runs, F run) {
  for (int i = 0; i < runs; i++) {
    auto start = std::chrono::steady_clock::now();
    int result = run();
    std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
    std::printf("%d %.6f\n", result, took.count());
  }
}

int main(int argc, char **argv) {
  static const struct {
    const char *name;
    int (*run)(int);
  } programs[] = {{"binary_trees", binary_trees},
                  {"rbtree", rbtree},
                  {"rbtree_keep", rbtree_keep},
                  {"deriv", deriv},
                  {"cfold", cfold},
                  {"nqueens", nqueens},
                  {"search_queens", search_queens},
                  {"quicksort", quicksort},
                  {"mergesort", mergesort},
                  {"sieve", sieve},
                  {"array_sort", array_sort},
                  {"array_queens", array_queens}};
  if (argc != 4) return 2;
  if (std::strcmp(argv[1], "word_count") == 0) {
    std::ifstream file(argv[2], std::ios::binary);
    std::string text{std::istreambuf_iterator<char>(file), {}};
    std::vector<phrase *> phrases = phrase_reader(text).read();
    measure(std::atoi(argv[3]), [&] { return word_count(phrases); });
    return 0;
  }
  for (auto &p : programs) {
    if (std::strcmp(p.name, argv[1]) != 0) continue;
    measure(std::atoi(argv[3]), [&] { return p.run(std::atoi(argv[2])); });
    return 0;
  }
  return 2;
}
