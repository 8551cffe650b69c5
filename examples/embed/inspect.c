/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* A host that knows its program only at run time: it lists the functions, and calls the typed
 * entries of those whose types it supports.
 *
 * prints:
 *   needs extern fn half(n: i64) -> i64
 *   grow(rate: f64, years: f64) -> f64        is 1.21 for 0.1, 2
 *   split(n: i64) -> (i64, i64)               takes i64, gives 2 scalars
 *   twice(x)                                  is generic
 *   area(width: f64, height: f64) -> f64      is 0.2 for 0.1, 2
 */
#include <hiaton/hiaton.h>
#include <stdio.h>

typedef hia_status (*formula_fn)(hia_context *, double, double, double *);

static int64_t half(int64_t n) { return n / 2; }

/* Calls a function (f64, f64) -> f64 by its typed entry. The cast is safe, since the type has been
 * compared with that of the function. */
static bool call(hia_context *context, hia_function *f) {
  static const hia_dtype params[] = {HIA_F64, HIA_F64}, results[] = {HIA_F64};
  hia_native_fn entry;
  double x;
  if (hia_function_check_entry(f, params, 2, results, 1, NULL) != HIA_OK) return false;
  if (hia_function_entry(f, &entry, NULL) != HIA_OK) return false;
  if (((formula_fn)entry)(context, 0.1, 2, &x) != HIA_OK) return false;
  printf("is %g for 0.1, 2\n", x);
  return true;
}

static void describe(hia_function *f) {
  if (hia_function_is_generic(f)) {
    puts("is generic");
    return;
  }
  char type[64];
  printf("takes");
  for (size_t i = 0; i < hia_function_arity(f); i++) {
    hia_type_info_format(hia_function_param_type(f, i), type, sizeof type);
    printf("%s %s", i ? "," : "", type);
  }
  printf(", gives %zu scalars\n", hia_type_info_scalars(hia_function_result_type(f), NULL));
}

int main(void) {
  const char *text = "extern fn half(n: i64) -> i64\n"
                     "fn grow(rate: f64, years: f64) -> f64 = pow(1.0 + rate, years)\n"
                     "fn split(n: i64) -> (i64, i64) = (half(n), n - half(n))\n"
                     "fn twice(x) = x + x\n"
                     "fn area(width: f64, height: f64) -> f64 = width * height\n";
  hia_engine *engine = NULL;
  hia_module *module = NULL;
  hia_context *context = NULL;
  hia_error *error = NULL;
  hia_host_function halves = HIA_HOST_FUNCTION_INIT;
  halves.declaration = "extern fn half(n: i64) -> i64";
  halves.function = (void (*)(void))half;
  halves.is_safe = true;
  if (hia_engine_new(NULL, &engine, &error) != HIA_OK ||
      hia_engine_register(engine, &halves, &error) != HIA_OK ||
      hia_engine_context_new(engine, &context, &error) != HIA_OK ||
      hia_module_load_text(engine, "formulas.hia", text, strlen(text), &module, &error) != HIA_OK) {
    fputs(hia_error_text(error), stderr);
    return 1;
  }
  for (size_t i = 0; i < hia_module_extern_count(module); i++)
    printf("needs %s\n", hia_extern_declaration(hia_module_extern(module, i)));
  for (size_t i = 0; i < hia_module_function_count(module); i++) {
    hia_function *f;
    if (hia_module_function_at(module, i, &f, &error) != HIA_OK) {
      fputs(hia_error_text(error), stderr);
      return 1;
    }
    printf("%-41s ", hia_function_signature(f));
    if (!call(context, f)) describe(f);
  }
  hia_context_free(context);
  hia_module_free(module);
  hia_engine_free(engine);
  return 0;
}
