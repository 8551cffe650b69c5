#!/usr/bin/env bash
# Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0
# The targets of benchmarks: bench_targets prints rows that meet or miss them.
#
#   bench_targets.sh BENCH-TARGETS
set -u
export HIATON_CACHE=off # what a run compiles is what the test sees
program=$1
passed=0 failed=0

# expect STATUS TEXT ARGUMENT...: the output must be this text, with blanks squeezed.
expect() {
  local status=$1 text=$2 printed got
  shift 2
  printed=$("$program" "$@" 2>&1)
  got=$?
  printed=$(tr -s ' ' <<<"$printed" | sed 's/^ //; s/ $//')
  if [ "$got" = "$status" ] && [ "$printed" = "$text" ]; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    printf 'FAILED: %s: status %s, printed:\n%s\n' "$*" "$got" "$printed"
  fi
}

held='1.250 (max 1.25) 50.0 (min 50) 1000000000 1 (max 1)'
missed='1.260 (max 1.25)! 49.9 (min 50)! 1000000000 1 (max 1)'
expect 0 "$held" held
expect 0 "$held
0 targets missed" held --check
expect 0 "$missed" missed
expect 1 "$missed
missed: row one, most: 1.260 (max 1.25)
missed: row two, least: 49.9 (min 50)
2 targets missed" missed --check
expect 0 '1.250 (max 1.25) 50.0 (min 50) 1000000000 -
0 targets missed' absent --check
expect 0 "${missed//!/}" missed --quick
expect 2 '--check needs the full arguments: no target holds for those of --quick' missed --quick --check
expect 2 '--check needs the full arguments: no target holds for those of --quick' missed --check --quick
expect 1 "$held

1 instead of 2
1 wrong result" wrong

printf '%d passed, %d failed, %d skipped\n' "$passed" "$failed" 0
[ "$failed" -eq 0 ]
