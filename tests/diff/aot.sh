#!/usr/bin/env bash
# Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0
# The corpus ahead of time: one object file for each program, all linked to one program.
#
#   aot.sh HIA-DIFF SOURCE-DIR LIBRARY-DIR CC THREADS PATH...     CC may be several words; options may stand among the paths
set -u
export HIATON_CACHE=off # what a run compiles is what the test sees
hang=$((1200 * ${HIA_TEST_SLOWNESS:-1})) # seconds after which a command is taken to hang
diff=$1 sources=$2 libraries=$3 cc=$4 threads=$5
shift 5
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
"$diff" --aot "$work" --threads "$threads" "$@" || exit 1
# shellcheck disable=SC2086 # words
$cc -O0 -std=gnu11 -Wall -Werror -Wno-unused-function -I"$sources/include" -I"$sources/tests/diff" -I"$work" "$work/cases.c" \
  "$work"/p*.o "$libraries/libhiaton_rt.a" -lm -Wl,--as-needed -lffi -pthread -o "$work/all" || exit 1
timeout "$hang" "$work/all"
