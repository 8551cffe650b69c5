/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The smallest host: a program from text, one call.
 *
 * prints:
 *   fact(20) = 2432902008176640000
 */
#include <hiaton/hiaton.h>
#include <stdio.h>

int main(void) {
  const char *text = "fn fact(n: i64) -> i64 = if n <= 1 then 1 else n * fact(n - 1)";
  hia_engine *engine = NULL;
  hia_module *module = NULL;
  hia_function *fact = NULL;
  hia_value *n = NULL, *result = NULL;
  int64_t x = 0;
  if (hia_engine_new(NULL, &engine, NULL) == HIA_OK &&
      hia_module_load_text(engine, "fact.hia", text, strlen(text), &module, NULL) == HIA_OK &&
      hia_module_function(module, "fact", &fact, NULL) == HIA_OK &&
      (n = hia_value_i64(engine, 20)) != NULL && hia_call(fact, &n, 1, &result, NULL) == HIA_OK &&
      hia_value_get_i64(result, &x) == HIA_OK)
    printf("fact(20) = %lld\n", (long long)x);
  hia_value_free(result);
  hia_value_free(n);
  hia_module_free(module);
  hia_engine_free(engine);
  return x == 0;
}
