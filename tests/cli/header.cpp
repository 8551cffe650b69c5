// The public header, as C++ sees it.
#include <hiaton/hiaton.h>

int main() {
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  hia_run_options run = HIA_RUN_OPTIONS_INIT;
  hia_dump_options dump = HIA_DUMP_OPTIONS_INIT;
  hia_function_stats cost = HIA_FUNCTION_STATS_INIT;
  hia_run_stats used = HIA_RUN_STATS_INIT;
  return options.size + run.size + dump.size + cost.size + used.size == 0;
}
