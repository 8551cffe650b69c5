#!/usr/bin/env bash
# Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0
# Runs an example: it must end with 0 and print the text at the head of its source, between the
# line "prints:" and the end of the comment.
#
#   run.sh PROGRAM SOURCE
set -u
export HIATON_CACHE=off # what a run compiles is what the test sees
expected=$(sed -n '/^ \* prints:$/,/^ \*\/$/p' "$2" | sed '1d;$d;s/^ \* \{0,3\}//')
[ -n "$expected" ] || { echo "$2 does not say what it prints"; exit 1; }
printed=$("$1" 2>&1)
status=$?
if [ $status -ne 0 ] || [ "$printed" != "$expected" ]; then
  echo "exit status $status; expected (<) and printed (>):"
  diff <(echo "$expected") <(echo "$printed")
  exit 1
fi
