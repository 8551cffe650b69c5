// Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0
// The programs of small.hia in C++ with a struct of three numbers.
//
//   peer_small NAME N RUNS             prints the result and the milliseconds of each run
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

struct vec {
  double x, y, z;
};
static vec operator+(vec a, vec b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
static vec operator-(vec a, vec b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
static vec operator*(vec a, vec b) { return {a.x * b.x, a.y * b.y, a.z * b.z}; }
static vec operator*(vec a, double s) { return {a.x * s, a.y * s, a.z * s}; }
static vec operator/(vec a, double s) { return {a.x / s, a.y / s, a.z / s}; }
static double dot(vec a, vec b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
static double sum(vec a) { return a.x + a.y + a.z; }

static double vectors(int n) {
  double s = 0;
  vec p{0.7, 1.4, 2.1};
  for (int i = 0; i < n; i++) {
    vec q = p * 0.999 + vec{0.001, 0.002, 0.003};
    s += dot(q, p);
    p = q;
  }
  return s;
}

static vec field(vec p) {
  return {10 * (p.y - p.x), p.x * (28 - p.z) - p.y, p.x * p.y - 8.0 / 3 * p.z};
}
static vec step(vec p, double h) {
  vec a = field(p), b = field(p + a * (h / 2)), c = field(p + b * (h / 2)), d = field(p + c * h);
  return p + (a + b * 2 + c * 2 + d) * (h / 6);
}
static double lorenz(int n) {
  double s = 0;
  for (int k = 0; k < n; k++) {
    vec p{1, 1, double(k % 16)};
    for (int i = 0; i < 100; i++) p = step(p, 0.001);
    s += sum(p);
  }
  return s;
}

static vec pull(vec a, vec b) {
  vec d = b - a;
  double r = dot(d, d);
  return d / (r * std::sqrt(r));
}
static double bodies(int n) {
  vec p{0.97, -0.24, 0}, q{-0.97, 0.24, 0}, r{0, 0, 0.1};
  vec u{0.466, 0.432, 0}, v{0.466, 0.432, 0.01}, w{-0.93, -0.86, 0};
  for (int i = 0; i < n; i++) {
    vec pq = pull(p, q), pr = pull(p, r), qr = pull(q, r);
    u = u + (pq + pr) * 0.0001;
    v = v + (qr - pq) * 0.0001;
    w = w - (pr + qr) * 0.0001;
    p = p + u * 0.0001;
    q = q + v * 0.0001;
    r = r + w * 0.0001;
  }
  return sum(p + q * 2 + r * 3);
}

struct sphere {
  vec center;
  double radius;
  vec color;
  double mirror;
};
static double distance(vec o, vec d, const sphere &s) {
  vec v = o - s.center;
  double b = dot(v, d), q = b * b - (dot(v, v) - s.radius * s.radius);
  if (q < 0) return 1e30;
  double t = -b - std::sqrt(q);
  return t > 1e-6 ? t : 1e30;
}
static vec unit(vec v) { return v / std::sqrt(dot(v, v)); }
static vec color(vec o, vec d, const std::vector<sphere> &spheres, int depth) {
  double t = 1e30;
  size_t at = 0;
  for (size_t i = 0; i < spheres.size(); i++) {
    double x = distance(o, d, spheres[i]);
    if (x < t) t = x, at = i;
  }
  if (t == 1e30) return vec{1, 1, 1} * (1 - (d.y + 1) / 2) + vec{0.5, 0.7, 1.0} * ((d.y + 1) / 2);
  const sphere &s = spheres[at];
  vec p = o + d * t, normal = (p - s.center) / s.radius;
  vec own = s.color * std::fmax(0.1, dot(normal, unit({1, 2, 1})));
  if (depth == 0) return own;
  vec other = color(p, unit(d - normal * (2 * dot(d, normal))), spheres, depth - 1);
  return own * (1 - s.mirror) + other * s.mirror;
}
static double spheres(int n) {
  std::vector<sphere> all = {{{0, -100.5, -1}, 100, {0.8, 0.8, 0}, 0.1},
                             {{0, 0, -1.2}, 0.5, {0.1, 0.2, 0.5}, 0.3},
                             {{-1, 0, -1}, 0.5, {0.8, 0.8, 0.8}, 0.8},
                             {{1, 0, -1}, 0.5, {0.8, 0.6, 0.2}, 0.6},
                             {{0.3, 0.6, -0.8}, 0.25, {0.9, 0.1, 0.1}, 0.2}};
  vec s{0, 0, 0};
  for (int k = 0; k < n * n; k++) {
    double x = (k % n + 0.5) / n * 4 - 2, y = (k / n + 0.5) / n * 2 - 1;
    s = s + color({0, 0, 1}, unit({x, y, -2}), all, 4);
  }
  return sum(s) / (double(n) * n);
}

static double log_density(vec x) {
  vec a = x - vec{1, 0, -1};
  vec b{2 * a.x + 0.3 * a.y, 0.3 * a.x + a.y + 0.2 * a.z, 0.2 * a.y + 1.5 * a.z};
  return -dot(a, b) / 2 - std::log1p(dot(x, x));
}
static uint64_t next(uint64_t state) { return state * 6364136223846793005 + 1442695040888963407; }
static double uniform(uint64_t state) { return double(state >> 11) / 9007199254740992; }
static double sampler(int n) {
  vec x{0, 0, 0}, mean{0, 0, 0};
  double at = log_density(x);
  uint64_t state = 1;
  for (int i = 0; i < n; i++) {
    uint64_t a = next(state), b = next(a), c = next(b);
    state = next(c);
    vec y = x + (vec{uniform(a), uniform(b), uniform(c)} - vec{0.5, 0.5, 0.5}) * 1.5;
    double there = log_density(y);
    if (std::log(uniform(state)) < there - at) x = y, at = there;
    mean = mean + (x - mean) / (i + 1);
  }
  return sum(mean * vec{1, 2, 3});
}

int main(int argc, char **argv) {
  static const struct {
    const char *name;
    double (*run)(int);
  } programs[] = {{"vectors", vectors},
                  {"lorenz", lorenz},
                  {"bodies", bodies},
                  {"spheres", spheres},
                  {"sampler", sampler}};
  if (argc != 4) return 2;
  for (const auto &program : programs) {
    if (std::strcmp(program.name, argv[1]) != 0) continue;
    volatile int n = std::atoi(argv[2]);
    std::printf("%.17g", program.run(n));
    for (int i = 0; i < std::atoi(argv[3]); i++) {
      auto start = std::chrono::steady_clock::now();
      volatile double result = program.run(n);
      (void)result;
      std::chrono::duration<double, std::milli> ms = std::chrono::steady_clock::now() - start;
      std::printf(" %.4f", ms.count());
    }
    std::printf("\n");
    return 0;
  }
  return 2;
}
