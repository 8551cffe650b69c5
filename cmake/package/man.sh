#!/bin/sh
# Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0
# Writes hiaton.1: its text, with the output of --help in place of the lines @COMMANDS@.
#
#   man.sh HIATON TEXT RESULT
set -eu
hiaton=$1 text=$2 result=$3
version=$("$hiaton" --version)
commands=$("$hiaton" --help | sed -n 's/^  \([a-z-]*\) .*/\1/p')

# One command: what it is used for, then its options; other lines of two words and more are tables.
one() {
  "$hiaton" "$1" --help | awk '
    function plain(s) { gsub(/\\/, "\\e", s); gsub(/-/, "\\-", s); sub(/^[.'\'']/, "\\\\\\&&", s); return s }
    /^usage: / { sub(/^usage: /, ""); print ".SS " plain($0); next }
    /^$/ { if (some) print ".PP"; next }
    { some = 1 }
    match($0, /^  -[^ ]+( [A-Z][A-Z0-9_]*)? +/) {
      split(substr($0, 3, RLENGTH - 2), word, / +/)
      operand = word[2] == "" ? "" : " \\fI" plain(word[2]) "\\fR"
      print ".TP\n\\fB" plain(word[1]) "\\fR" operand "\n" plain(substr($0, RLENGTH + 1)); next
    }
    match($0, /^  [^ ]+ +/) {
      name = substr($0, 3, RLENGTH - 2); sub(/ +$/, "", name)
      print ".TP\n\\fB" plain(name) "\\fR\n" plain(substr($0, RLENGTH + 1)); next
    }
    { print plain($0) }'
}

while IFS= read -r line; do
  case $line in
    @COMMANDS@) for command in $commands; do one "$command"; done ;;
    *) printf '%s\n' "$line" | sed "s/@VERSION@/$version/" ;;
  esac
done <"$text" >"$result.new"
mv "$result.new" "$result"
