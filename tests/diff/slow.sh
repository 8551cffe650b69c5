#!/bin/sh
# Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0
# hia_diff --slow: that it runs programs of each sort, and the form of what it prints. No time is expected.
#
#   slow.sh HIA_DIFF
export HIATON_CACHE=off
bad=0
form='slow: 1 programs, of which [01] fail or take too long; [012] times the default takes more than 1.2 times as long as another way'
time='[0-9][0-9.e+]* [num]s'
for sort in random data grad batch; do
  out=$("$1" --slow --$sort --seed 2 --count 1 --runs 1 --size 1) || { echo "FAILED: --$sort: status $?"; bad=1; }
  printf '%s\n' "$out" | head -n 1 | grep -qx "$form" || { printf 'FAILED: --%s:\n%s\n' $sort "$out"; bad=1; }
  # Two lines for each finding, if there is one.
  if printf '%s\n' "$out" | tail -n +2 |
    grep -vxE " *[0-9]+\.[0-9]{2}  auto(:t2)? takes $time, [a-z0-9:-]+ $time: hia_diff --slow --$sort --seed 2 --count 1 \([a-z]+\)" |
    grep -vxE "        of( [a-z0-9:-]+ $time,?)+"; then
    echo "FAILED: --$sort: these lines"
    bad=1
  fi
  "$1" --emit --slow --$sort --seed 2 | tail -n 1 | grep -q '^# hiaton run FILE --fn [a-z]' || { echo "FAILED: --emit --$sort"; bad=1; }
done
exit $bad
