/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The targets of benchmarks, with figures that are not measured: the output, the rows that
 * `--check` names, and the exit status. bench_targets.sh runs it.
 *
 *   bench_targets held|missed|absent|wrong [--quick] [--check] */
#include "bench/harness.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv) {
  if (argc < 2) return 2;
  for (int i = 2; i < argc; i++)
    if (!bench_take_option(argv[i])) return 2;
  bool is_missed = strcmp(argv[1], "missed") == 0, is_absent = strcmp(argv[1], "absent") == 0;
  char row[] = "row one"; /* copied by bench_print_target */
  bench_print_target(row, "most", is_missed ? 1.26 : 1.25, 3, BENCH_AT_MOST(1.25));
  memset(row, 'x', strlen(row));
  bench_print_target("row two", "least", is_missed ? 49.9 : 50, 1, BENCH_AT_LEAST(50));
  bench_print_target("row three", "free", 1e9, 0, BENCH_NO_TARGET);
  bench_print_target("row four", "absent", is_absent ? (double)NAN : 1, 0, BENCH_AT_MOST(1));
  puts("");
  if (strcmp(argv[1], "wrong") == 0) bench_wrong("%d instead of %d", 1, 2);
  return bench_end();
}
