/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* use native|interpreted: does the library run a program, and as it should? */
#include <hiaton/hiaton.h>
#include <stdio.h>

#define STRING_(x)      #x
#define STRING(x)       STRING_(x)
#define DOTTED(a, b, c) STRING(a) "." STRING(b) "." STRING(c)

static int run(hia_engine_kind kind) {
  static const char text[] = "fn fib(n: i32) -> i32 =\n"
                             "  if n <= 1 then 1 else fib(n - 1) + fib(n - 2)\n";
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.kind = kind;
  hia_engine *engine = NULL;
  hia_module *module = NULL;
  hia_function *fib = NULL;
  hia_value *n = NULL, *result = NULL;
  hia_error *error = NULL;
  int32_t x = 0;
  if (hia_engine_new(&options, &engine, &error) == HIA_OK &&
      hia_module_load_text(engine, "fib.hia", text, strlen(text), &module, &error) == HIA_OK &&
      hia_module_function(module, "fib", &fib, &error) == HIA_OK) {
    n = hia_value_i32(engine, 20);
    if (hia_call(fib, &n, 1, &result, &error) == HIA_OK) hia_value_get_i32(result, &x);
  }
  if (error != NULL) fputs(hia_error_text(error), stderr);
  hia_error_free(error);
  hia_value_free(result);
  hia_value_free(n);
  hia_module_free(module);
  hia_engine_free(engine);
  return x == 10946;
}

int main(int argc, char **argv) {
  int wants_native = argc > 1 && strcmp(argv[1], "native") == 0;
  static const char version[] = DOTTED(HIA_VERSION_MAJOR, HIA_VERSION_MINOR, HIA_VERSION_PATCH);
  if (strcmp(hia_version(), version) != 0) {
    fprintf(stderr, "library of version %s, header of %s\n", hia_version(), version);
    return 1;
  }
  hia_engine *engine;
  hia_error *error;
  if (hia_engine_new(NULL, &engine, &error) != HIA_OK) return 1;
  int has_native = hia_engine_native(engine, &error) == HIA_OK;
  if (has_native != wants_native)
    fputs(error ? hia_error_text(error) : "there is a compiler\n", stderr);
  hia_error_free(error);
  hia_engine_free(engine);
  return !(has_native == wants_native && run(HIA_ENGINE_INTERP) &&
           (!has_native || run(HIA_ENGINE_JIT)));
}
