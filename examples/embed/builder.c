/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Recursive functions made by the builder, for data that is known only when the host runs: the
 * number of ways to pay an amount with these coins. Each kind of coin gets a function of its own,
 * which calls itself (one such coin more) and the next one (no more of them). They are declared
 * first, because each calls one that comes later.
 *
 * prints:
 *   fn ways1(n: i64) -> i64 =
 *     if n < 50 then ways2(n) else {
 *       let more = ways1(n - 50);
 *       more + ways2(n)
 *     }
 *
 *   fn ways2(n: i64) -> i64 =
 *     if n < 20 then ways3(n) else {
 *       let more = ways2(n - 20);
 *       more + ways3(n)
 *     }
 *
 *   fn ways3(n: i64) -> i64 =
 *     if n < 5 then ways4(n) else {
 *       let more = ways3(n - 5);
 *       more + ways4(n)
 *     }
 *
 *   fn ways4(n: i64) -> i64 =
 *     if n == 0 then 1 else 0
 *
 *   100 can be paid in 10 ways
 *   1000 can be paid in 541 ways
 */
#include <hiaton/hiaton.h>
#include <inttypes.h>
#include <stdio.h>

static const int64_t coins[] = {50, 20, 5};
#define N_COINS (sizeof coins / sizeof coins[0])

/* fn waysK(n) = if n < coin then waysK+1(n) else waysK(n - coin) + waysK+1(n) */
static void build_coin(hia_builder *b, int64_t value, hia_build_fn self, hia_build_fn next) {
  hia_build_begin(b, self);
  hia_build_value n = hia_build_param(b, self, 0), coin = hia_build_i64(b, value);
  hia_build_if(b, hia_build_lt(b, n, coin));
  hia_build_else(b, hia_build_call(b, next, &n, 1));
  hia_build_value rest = hia_build_sub(b, n, coin);
  hia_build_value more = hia_build_name(b, hia_build_call(b, self, &rest, 1), "more");
  hia_build_value none = hia_build_call(b, next, &n, 1);
  hia_build_return(b, hia_build_end_if(b, hia_build_add(b, more, none)));
}

static void build(hia_builder *b) {
  hia_build_fn ways[N_COINS + 1];
  for (size_t i = 0; i <= N_COINS; i++) {
    char signature[64];
    snprintf(signature, sizeof signature, "ways%zu(n: i64) -> i64", i + 1);
    ways[i] = hia_build_declare(b, signature);
  }
  for (size_t i = 0; i < N_COINS; i++) build_coin(b, coins[i], ways[i], ways[i + 1]);
  /* Without any coin there is one way to pay 0, and no way to pay another amount. */
  hia_build_begin(b, ways[N_COINS]);
  hia_build_value n = hia_build_param(b, ways[N_COINS], 0), zero = hia_build_i64(b, 0);
  hia_build_if(b, hia_build_eq(b, n, zero));
  hia_build_else(b, hia_build_i64(b, 1));
  hia_build_return(b, hia_build_end_if(b, zero));
}

static bool print(void *user, const char *bytes, size_t len) {
  (void)user;
  return fwrite(bytes, 1, len, stdout) == len;
}

static hia_status pay(hia_engine *engine, hia_function *ways, int64_t amount, hia_error **error) {
  hia_value *n = hia_value_i64(engine, amount), *result = NULL;
  hia_status status = hia_call(ways, &n, 1, &result, error);
  int64_t x;
  if (status == HIA_OK && hia_value_get_i64(result, &x) == HIA_OK)
    printf("%" PRId64 " can be paid in %" PRId64 " ways\n", amount, x);
  hia_value_free(result);
  hia_value_free(n);
  return status;
}

int main(void) {
  hia_engine *engine = NULL;
  hia_builder *b = NULL;
  hia_module *module = NULL;
  hia_function *ways = NULL;
  hia_error *error = NULL;
  hia_status status = hia_engine_new(NULL, &engine, &error);
  if (status == HIA_OK) status = hia_builder_new(engine, "coins", &b, &error);
  if (status == HIA_OK) {
    build(b); /* the two calls below report any mistake in it */
    hia_builder_print(b, print, NULL, NULL);
    status = hia_builder_finish(b, &module, &error);
    puts("");
  }
  hia_builder_free(b);
  if (status == HIA_OK) status = hia_module_function(module, "ways1", &ways, &error);
  if (status == HIA_OK) status = pay(engine, ways, 100, &error);
  if (status == HIA_OK) status = pay(engine, ways, 1000, &error);
  if (status != HIA_OK) fputs(hia_error_text(error), stderr);
  hia_error_free(error);
  hia_module_free(module);
  hia_engine_free(engine);
  return status != HIA_OK;
}
