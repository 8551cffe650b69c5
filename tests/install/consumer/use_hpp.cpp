// Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0
// hiaton.hpp as it is installed.
#include <hiaton/hiaton.hpp>

int main(int argc, char **argv) {
  const bool wants_native = argc > 1 && std::string_view(argv[1]) == "native";
  hiaton::engine engine = hiaton::engine::make().value();
  if (bool(engine.native()) != wants_native) return 1;
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.kind = wants_native ? HIA_ENGINE_JIT : HIA_ENGINE_INTERP;
  hiaton::engine second = hiaton::engine::make(&options).value();
  hiaton::module module = second.load_text("t.hia", "fn half(x: f64) -> f64 = x / 2").value();
  return module.function("half").value().call<double>(second, 5.0).value() == 2.5 ? 0 : 1;
}
