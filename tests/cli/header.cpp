// Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0
// The public header, as C++ sees it.
#include <hiaton/hiaton.h>

// The builder's functions of ops, and types that convert.
hia_build_value build(hia_builder *b) {
  hia_build_type parts[2] = {HIA_I32, HIA_F64};
  hia_build_value x = hia_build_fail(b, hia_build_i32(b, 1), hia_build_tuple_type(b, parts, 2));
  hia_build_value y = hia_build_add(b, hia_build_part(b, x, 0), hia_build_i32(b, 2));
  return hia_build_op(b, HIA_OPCODE_NEG, &y, 1);
}

int main() {
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.kind = HIA_ENGINE_JIT;
  hia_run_options run = HIA_RUN_OPTIONS_INIT;
  hia_dump_options dump = HIA_DUMP_OPTIONS_INIT;
  hia_function_stats cost = HIA_FUNCTION_STATS_INIT;
  hia_run_stats used = HIA_RUN_STATS_INIT;
  hia_build_value none = build(nullptr);
  if (none.id != 0) return 1;
  return options.size + run.size + dump.size + cost.size + used.size == 0;
}
