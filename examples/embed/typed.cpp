// Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0
/* hiaton from C++17: owning handles, calls with C++ types, a typed entry in a loop,
 * a host function, errors as exceptions.
 *
 * prints:
 *   fib(30) = 1346269
 *   divide(17, 5) = (3, 2)
 *   the sum of 1000 calls: 500.5
 *   divide: division by zero, in line 3
 *   fib is no function of two parameters
 */
#include <hiaton/hiaton.hpp>

#include <cmath>
#include <cstdio>

static const char program[] =
    "extern fn cube_root(x: f64) -> f64\n"
    "fn fib(n: i32) -> i32 = if n <= 1 then 1 else fib(n - 1) + fib(n - 2)\n"
    "fn divide(a: i64, b: i64) -> (i64, i64) = (a / b, a % b)\n"
    "fn part(x: f64) -> f64 = cube_root(x * x * x) / 1000\n";

static double cube_root(double x) noexcept { return std::cbrt(x); }

static void run() {
  // Destroyed in the opposite order: the context, the module, the engine.
  hiaton::engine engine = hiaton::engine::make().value();
  engine.host("cube_root", cube_root).value();
  hiaton::module module = engine.load_text("program.hia", program).value();
  hiaton::context context = hiaton::context::make(engine).value();

  // A call with values, of a function that is found by its name.
  hiaton::function fib = module.function("fib").value();
  std::printf("fib(30) = %d\n", fib.call<std::int32_t>(engine, 30).value());

  // Typed entries: compared with the function's types once, then called like C functions.
  using quotient = std::tuple<std::int64_t, std::int64_t>;
  auto divide =
      module.function("divide").value().entry<quotient(std::int64_t, std::int64_t)>().value();
  const auto [q, r] = divide(context, 17, 5).value();
  std::printf("divide(17, 5) = (%lld, %lld)\n", static_cast<long long>(q),
              static_cast<long long>(r));

  auto part = module.function("part").value().entry<double(double)>().value();
  double sum = 0;
  for (int i = 1; i <= 1000; i++) sum += part(context, i).value();
  std::printf("the sum of 1000 calls: %g\n", sum);

  // An error is tested for, or thrown by value().
  auto failed = divide(context, 1, 0);
  if (!failed)
    std::printf("divide: %s, in line %u\n", failed.error().message(), failed.error().line());
  try {
    (void)fib.entry<std::int32_t(std::int32_t, std::int32_t)>().value();
  } catch (const hiaton::failure &) {
    std::printf("fib is no function of two parameters\n");
  }
}

int main() {
  try {
    run();
  } catch (const hiaton::failure &failed) {
    std::fputs(failed.what(), stderr);
    return 1;
  }
  return 0;
}
