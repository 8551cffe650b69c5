// Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0
// The API from C++.
#include <hiaton/hiaton.h>

#include <memory>
#include <string>

struct Free {
  void operator()(hia_engine *engine) const { hia_engine_free(engine); }
  void operator()(hia_module *module) const { hia_module_free(module); }
  void operator()(hia_value *value) const { hia_value_free(value); }
};

int main() {
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.kind = HIA_ENGINE_INTERP;
  hia_engine *engine_handle = nullptr;
  if (hia_engine_new(&options, &engine_handle, nullptr) != HIA_OK) return 1;
  std::unique_ptr<hia_engine, Free> engine(engine_handle);
  const std::string text = "fn double(x: f64) -> f64 = 2.0 * x";
  hia_module *module_handle = nullptr;
  if (hia_module_load_text(engine.get(), nullptr, text.data(), text.size(), &module_handle,
                           nullptr))
    return 1;
  std::unique_ptr<hia_module, Free> module(module_handle);
  hia_function *function = nullptr;
  if (hia_module_function(module.get(), "double", &function, nullptr) != HIA_OK) return 1;
  std::unique_ptr<hia_value, Free> x(hia_value_f64(engine.get(), 1.25));
  hia_value *args[] = {x.get()};
  hia_value *result_handle = nullptr;
  hia_error *error = nullptr;
  if (hia_call(function, args, 1, &result_handle, &error) != HIA_OK) {
    hia_error_free(error);
    return 1;
  }
  std::unique_ptr<hia_value, Free> result(result_handle);
  double y = 0;
  return hia_value_get_f64(result.get(), &y) == HIA_OK && y == 2.5 ? 0 : 1;
}
