/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* A program calls functions of its host, which have state: accounts that the program reads only
 * through these functions. The result of `step` does not change while a program runs, so it is
 * declared pure and may be called at any time. `transfer` changes the accounts: as an impure
 * function it is called exactly as often as the program says, in that order. It may fail, which
 * ends the run at that call; the host decides whether it keeps the transfers made before.
 *
 * prints:
 *   spread(3) = 30, balances 70 10 10 10 after 3 transfers
 *   spread(9): error[host], balances 0 30 30 40 after 10 transfers
 *     in spread, line 5, called in spread, line 6
 */
#include <hiaton/hiaton.h>
#include <stdio.h>

static const char text[] = "extern fn step() -> i64\n"
                           "extern impure fn transfer(from: i32, to: i32, amount: i64) -> i64\n"
                           "fn spread(n: i32) -> i64 =\n"
                           "  if n == 0 then 0 else {\n"
                           "    let moved = transfer(0, 1 + (n - 1) % 3, step());\n"
                           "    moved + spread(n - 1)\n"
                           "  }\n";

#define N_ACCOUNTS 4
typedef struct bank {
  int64_t balance[N_ACCOUNTS], step;
  int transfers;
} bank;

/* takes_user: the bank comes before the arguments. */
static int64_t step(void *user) {
  const bank *b = user;
  return b->step;
}

/* returns_status: the result goes through a pointer; a status other than HIA_OK ends the run. */
static hia_status transfer(void *user, int32_t from, int32_t to, int64_t amount, int64_t *moved) {
  bank *b = user;
  if (from < 0 || from >= N_ACCOUNTS || to < 0 || to >= N_ACCOUNTS) return HIA_HOST;
  if (amount < 0 || b->balance[from] < amount) return HIA_HOST;
  b->balance[from] -= amount;
  b->balance[to] += amount;
  b->transfers++;
  *moved = amount;
  return HIA_OK;
}

static hia_status add_functions(hia_engine *engine, bank *b, hia_error **error) {
  hia_host_function f = HIA_HOST_FUNCTION_INIT;
  f.declaration = "extern fn step() -> i64";
  f.function = (void (*)(void))step;
  f.user = b;
  f.takes_user = true;
  f.is_safe = true; /* it calls nothing and needs little stack */
  hia_status status = hia_engine_register(engine, &f, error);
  if (status != HIA_OK) return status;
  f.declaration = "extern impure fn transfer(from: i32, to: i32, amount: i64) -> i64";
  f.function = (void (*)(void))transfer;
  f.returns_status = true;
  f.is_safe = false;
  return hia_engine_register(engine, &f, error);
}

static void print_chain(const hia_error *error) {
  const char *function;
  uint32_t line;
  for (uint64_t i = 0; i < 2 && hia_error_chain_entry(error, i, &function, NULL, &line, NULL); i++)
    printf("%s in %s, line %u", i ? ", called" : " ", function, (unsigned)line);
  puts("");
}

static void spread(hia_engine *engine, hia_function *function, const bank *b, int32_t n) {
  hia_value *arg = hia_value_i32(engine, n), *result = NULL;
  hia_error *error = NULL;
  int64_t moved = 0;
  printf("spread(%d)", (int)n);
  if (hia_call(function, &arg, 1, &result, &error) == HIA_OK) {
    hia_value_get_i64(result, &moved);
    printf(" = %lld", (long long)moved);
  } else {
    printf(": error[%s]", hia_error_code(error, 0));
  }
  printf(", balances");
  for (int i = 0; i < N_ACCOUNTS; i++) printf(" %lld", (long long)b->balance[i]);
  printf(" after %d transfers\n", b->transfers);
  if (error != NULL) print_chain(error);
  hia_error_free(error);
  hia_value_free(result);
  hia_value_free(arg);
}

int main(void) {
  bank b = {.balance = {100}, .step = 10}; /* lives as long as the engine */
  hia_engine *engine = NULL;
  hia_module *module = NULL;
  hia_function *function = NULL;
  hia_error *error = NULL;
  hia_status status = hia_engine_new(NULL, &engine, &error);
  if (status == HIA_OK) status = add_functions(engine, &b, &error);
  if (status == HIA_OK)
    status = hia_module_load_text(engine, "spread.hia", text, strlen(text), &module, &error);
  if (status == HIA_OK) status = hia_module_function(module, "spread", &function, &error);
  if (status == HIA_OK) {
    spread(engine, function, &b, 3);
    spread(engine, function, &b, 9);
  } else {
    fputs(hia_error_text(error), stderr);
  }
  hia_error_free(error);
  hia_module_free(module);
  hia_engine_free(engine);
  return status != HIA_OK;
}
