#!/usr/bin/env bash
# Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0
# Everything that README.md and docs/ show is run:
#
#   ```hia            a program: must check
#   ```hia error      one that must be rejected
#   ```hia part       a piece of one: not run
#   ```console        lines `$ hiaton ...` and `$ hia_diff ...`, each with what it prints on both outputs; a
#                     line `...` stands for any lines. Commands of other programs are not run.
#   ```c              a program with a main: is built and must exit with 0
#
# and so is the program in the head of the public header. (names.sh checks links and names.)
#
#   run.sh HIATON HIA-DIFF SOURCE-DIR LIBRARY-DIR CC [--no-native] [--programs]      CC may be several words
#
# --programs: no commands. With sanitizers these are what tests/cli/ and tests/diff/ run there, too.
# shellcheck disable=SC2086 # words
set -u
hiaton=$1 diff=$2 sources=$3 libraries=$4 cc=$5
native=yes commands=yes
for word in "${@:6}"; do
  case $word in --no-native) native=no commands=no ;; --programs) commands=no ;; esac
done
cd "$sources" || exit 2
export CC=$cc # of hiaton build
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
passed=0 failed=0 skipped=0
bad() { failed=$((failed + 1)); printf 'FAILED: %s\n' "$1"; [ -n "${2:-}" ] && printf '%s\n' "$2" | head -40; }

build_c() { # FILE WHERE
  if [ $native = no ]; then
    skipped=$((skipped + 1))
  elif ! $cc -std=c11 -Wall -Wextra -Iinclude "$1" -o "$work/program" -L"$libraries" -lhiaton -lhiaton_rt \
    -Wl,-rpath,"$libraries" 2>"$work/log"; then
    bad "$2: does not build" "$(cat "$work/log")"
  elif ! timeout 60 "$work/program" >"$work/log" 2>&1; then
    bad "$2: exit status $?" "$(cat "$work/log")"
  else
    passed=$((passed + 1))
  fi
}

# True if the printed text is what is written, where a line `...` stands for any lines.
fits() { # WRITTEN PRINTED
  awk 'NR == FNR { want[++n] = $0; next } { got[++m] = $0 }
       END {
         i = 1; j = 1; star = 0
         while (j <= m) {
           if (i <= n && want[i] == "...") { star = i++; mark = j }
           else if (i <= n && want[i] == got[j]) { i++; j++ }
           else if (star) { i = star + 1; j = ++mark }
           else exit 1
         }
         while (i <= n && want[i] == "...") i++
         exit i <= n
       }' "$1" "$2"
}

run_console() { # BLOCK WHERE
  local command="" line
  run_one() {
    [ -z "$command" ] && return
    case $command in
      hiaton\ * | hia_diff\ *) ;;
      *) return ;;
    esac
    (PATH="$(dirname "$hiaton"):$(dirname "$diff"):$PATH" timeout 120 bash -c "$command") >"$work/printed" 2>&1
    if fits "$work/written" "$work/printed"; then
      passed=$((passed + 1))
    else
      bad "$2: $command" "$(cat "$work/printed")"
    fi
  }
  while IFS= read -r line || [ -n "$line" ]; do
    if [[ $line == '$ '* ]]; then
      run_one "$@"
      command=${line#'$ '}
      : >"$work/written"
    else
      printf '%s\n' "$line" >>"$work/written"
    fi
  done <"$1"
  run_one "$@"
}

for file in README.md docs/*.md; do
  rm -rf "$work/blocks"
  mkdir "$work/blocks"
  awk -v dir="$work/blocks" '
    /^```/ && !inside { inside = 1; kind = substr($0, 4); gsub(/ /, "_", kind); start = NR
                        path = sprintf("%s/%05d.%s", dir, start, kind == "" ? "none" : kind); printf "" > path; next }
    /^```/ { inside = 0; close(path); next }
    inside { print > path }' "$file"
  for block in "$work"/blocks/*; do
    [ -e "$block" ] || continue
    name=$(basename "$block")
    where="$file:$((10#${name%%.*}))"
    case ${name#*.} in
      hia)
        cp "$block" "$work/block.hia"
        if "$hiaton" check "$work/block.hia" >"$work/log" 2>&1; then passed=$((passed + 1)); else bad "$where" "$(cat "$work/log")"; fi ;;
      hia_error)
        cp "$block" "$work/block.hia"
        "$hiaton" check "$work/block.hia" >"$work/log" 2>&1
        if [ $? = 1 ]; then passed=$((passed + 1)); else bad "$where: should be rejected" "$(cat "$work/log")"; fi ;;
      console) if [ $commands = yes ]; then run_console "$block" "$where"; else skipped=$((skipped + 1)); fi ;;
      c) if grep -q 'int main' "$block"; then cp "$block" "$work/block.c"; build_c "$work/block.c" "$where"; fi ;;
    esac
  done
done

# The comment at the top of hiaton.h: what is indented by three or more behind its star.
{
  echo '#include <string.h>'
  sed -n '1,/^ *\* The rules/s/^ \*   //p' include/hiaton/hiaton.h
} >"$work/head.c"
build_c "$work/head.c" include/hiaton/hiaton.h

printf '%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
[ "$failed" -eq 0 ]
