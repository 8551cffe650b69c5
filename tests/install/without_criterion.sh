#!/usr/bin/env bash
# Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0
# Without Criterion everything except the unit tests builds. A build without it is configured, and nothing
# is compiled: the objects that it would make are in the present build, too, which knows their headers.
#
#   without_criterion.sh CMAKE NINJA BUILD-DIR SOURCE-DIR CC
set -u
export HIATON_CACHE=off # what a run compiles is what the test sees
cmake=$1 ninja=$2 build=$3 sources=$4 cc=$5
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
# Variables that are set, to nothing, are not looked for.
"$cmake" -S "$sources" -B "$work" -G Ninja -DCMAKE_MAKE_PROGRAM="$ninja" -DCMAKE_C_COMPILER="$cc" \
  -DHIA_BENCH=OFF -DCRITERION_INCLUDE= >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
"$ninja" -C "$work" -t inputs all | grep '\.c\.o$' | sort -u >"$work/objects"
grep -q 'hia_test_helpers' "$work/objects" || { echo 'FAILED: no helpers of tests among the objects'; exit 1; }
# Of each object of the present build: its name, and whether it includes Criterion.
"$ninja" -C "$build" -t deps 2>/dev/null | awk '
  /^[^ ].*: #deps/ { sub(/: #deps.*/, ""); name = $0; print name }
  /\/criterion\/criterion\.h$/ { print name, "Criterion" }' | sort -u >"$work/headers"
offenders=$(awk 'NR == FNR { if (NF > 1) has[$1] = 1; else known[$1] = 1; next }
  !($1 in known) { print $1 ": not in the present build" }
  $1 in has { print $1 ": includes Criterion" }' "$work/headers" "$work/objects")
if [ -n "$offenders" ]; then
  printf 'FAILED: a build without Criterion\n%s\n' "$offenders"
  echo '0 passed, 1 failed, 0 skipped'
  exit 1
fi
grep -q ' Criterion$' "$work/headers" || { echo 'FAILED: no unit test includes Criterion'; exit 1; }
echo '1 passed, 0 failed, 0 skipped'
