#!/usr/bin/env bash
# Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0
# Large programs of every form of `./dev bench compile`, as native code and interpreted: both must return
# the same result. No time is asserted: anything that is quadratic in the size of a program takes so long
# that it is taken to hang.
#
#   large.sh HIATON BENCH-COMPILE
set -u
export HIATON_CACHE=off # what a run compiles is what the test sees
hang=$((300 * ${HIA_TEST_SLOWNESS:-1})) # seconds after which a command is taken to hang
hiaton=$1 bench=$2
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
passed=0 failed=0

# agree FORM SIZE ARGUMENTS...: each word of ARGUMENTS is a run, of arguments separated by commas.
agree() {
  local form=$1 size=$2 arguments native interpreted
  shift 2
  "$bench" --text "$form" "$size" >"$work/program.hia"
  for arguments in "$@"; do
    # shellcheck disable=SC2086 # one word an argument
    native=$(timeout "$hang" "$hiaton" run "$work/program.hia" -- ${arguments//,/ } 2>&1)
    # shellcheck disable=SC2086
    interpreted=$(timeout "$hang" "$hiaton" run --engine interp "$work/program.hia" -- ${arguments//,/ } 2>&1)
    if [ -n "$native" ] && [ "$native" = "$interpreted" ]; then
      passed=$((passed + 1))
    else
      failed=$((failed + 1))
      printf 'FAILED: %s of %s, main(%s): native %s, interpreted %s\n' "$form" "$size" "$arguments" \
        "${native:0:200}" "${interpreted:0:200}"
    fi
  done
}

agree 'functions' 200 4
agree 'chain of calls' 5000 9999
agree 'recursive group' 1500 10000
agree 'calls in a line' 10000 -1000000000
agree 'arms' 12000 -331804474,5 5,5
agree 'arms, constants' 12000 11999,1 12000,9
agree 'arms that fail' 4000 3,9 11997,-16000
agree 'arms that call' 12000 11999,5 12000,3
agree 'divisions' 8000 2000000000,3 5,-4000
agree 'operations' 20000 3,4
agree 'branches' 10000 3,4 50000,-4
agree 'loops' 3000 0,5 3,5
agree 'nested loops' 490 1,2
agree 'nested branches' 480 3,4 5,-1
agree 'nested conditions' 480 3,4
agree 'nested blocks' 480 3,4
agree 'brackets' 480 3,4
agree 'nested tuples' 200 3,4 4,3
agree 'wide tuples' 960 3,4 4,3
agree 'wide loops' 960 7,4

printf '%d passed, %d failed, %d skipped\n' "$passed" "$failed" 0
[ "$failed" -eq 0 ]
