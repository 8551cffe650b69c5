#!/usr/bin/env bash
# Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0
# Golden files of the dumps: every stage and format of a few programs, byte for byte.
#
#   dumps.sh HIATON SOURCE-DIR [--no-native] [--update]
#
# Graphviz also reads DOT, if it is installed. Assembly is for the machine that runs this, so only its functions are
# compared. --update rewrites the files.
set -u
export HIATON_CACHE=off # what a run compiles is what the test sees
hiaton=$1
cd "$2/tests/golden/dumps" || exit 2
native=yes update=no
for word in "${@:3}"; do
  case $word in
  --no-native) native=no ;;
  --update) update=yes ;;
  *) echo "what is $word?" >&2; exit 2 ;;
  esac
done
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
passed=0 failed=0

# golden FILE FILTER WORD...
golden() {
  local file=$1 filter=$2
  shift 2
  if ! "$hiaton" dump "$@" >"$work/whole" 2>"$work/err"; then
    failed=$((failed + 1))
    printf 'FAILED: hiaton dump %s\n%s\n' "$*" "$(cat "$work/err")"
    return
  fi
  $filter "$work/whole" >"$work/out"
  [ $update = yes ] && cp "$work/out" "$file"
  if diff -u "$file" "$work/out" >"$work/diff" 2>&1; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    printf 'FAILED: hiaton dump %s\n%s\n' "$*" "$(head -40 "$work/diff")"
  fi
}

# drawn FILE: Graphviz draws it without a message.
drawn() {
  command -v dot >/dev/null || return
  if dot -Tsvg "$1" -o "$work/svg" 2>"$work/err" && [ ! -s "$work/err" ]; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    printf 'FAILED: dot %s\n%s\n' "$1" "$(cat "$work/err")"
  fi
}

functions() { grep -oE '^[a-z_0-9]+:' "$1"; }

for program in branches loops tails fails data; do
  golden "$program.ast" cat "$program.hia" --stage ast
  golden "$program.ast.dot" cat "$program.hia" --stage ast --format dot
  drawn "$program.ast.dot"
  golden "$program.graph" cat "$program.hia" --stage graph
  golden "$program.tail.graph" cat "$program.hia" --stage graph --after tail
  golden "$program.graph.dot" cat "$program.hia" --stage graph --format dot
  drawn "$program.graph.dot"
  golden "$program.static" cat "$program.hia" --stage static
  golden "$program.static.dot" cat "$program.hia" --stage static --format dot
  drawn "$program.static.dot"
  [ $native = yes ] || continue
  [ $program = data ] && continue # not compiled yet
  golden "$program.ll" cat "$program.hia" --stage llvm
  golden "$program.asm" functions "$program.hia" --stage asm
done
golden tapes.tape cat tapes.hia --stage tape --fn loss
golden batches.batches cat batches.hia --stage batches
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
