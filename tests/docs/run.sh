#!/usr/bin/env bash
# Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0
# Everything that README.md and docs/ show is run:
#
#   ```hia            a program: must check
#   ```hia error      one that must be rejected
#   ```hia part       a piece of one: not run
#   ```console        lines `$ hiaton ...` and `$ hia_diff ...`, each with what it prints on both outputs; a
#                     line `...` stands for any lines. Commands of other programs are not run.
#   ```c              of a host, with the public headers: a program with a main is built and must exit with 0;
#                     anything else must compile, by itself
#   ```C FILE         of the inside: what FILE would have, which may be a new file. All of a page go into copies of
#                     their files, and the sources among these must compile. If the first or the last line of a
#                     fragment stands in the file already, that is where it belongs, else it is at the end. Several
#                     lines that stand in the file as they are show it.
#   ```cpp            tests/cpp/run.sh builds and runs these
#   ```cmake          tests/install/run.sh does
#
# and so is the program in the head of the public header. (names.sh checks links and names.) Other kinds are ```sh,
# ```text, ```graph, and none. What begins with any other word is a mistake.
#
#   run.sh HIATON HIA-DIFF SOURCE-DIR LIBRARY-DIR CC [--no-native] [--programs]      CC may be several words
#
# --programs: no commands. With sanitizers these are what tests/cli/ and tests/diff/ run there, too.
# shellcheck disable=SC2086 # words
set -u
export HIATON_CACHE=off # what a run compiles is what the test sees
hang=$((300 * ${HIA_TEST_SLOWNESS:-1})) # seconds after which a command is taken to hang
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

# Puts a fragment into the copy of a file.
place_c() { # FILE BLOCK
  mkdir -p "$work/inside/$(dirname "$1")"
  if ! [ -e "$work/inside/$1" ]; then
    if [ -e "$1" ]; then cp "$1" "$work/inside/$1"; else : >"$work/inside/$1"; fi
  fi
  awk 'FILENAME == ARGV[1] { block[++n] = $0; next } { line[++m] = $0 }
       END {
         for (i = 1; i + n - 1 <= m && !is_there; i++) {
           for (k = 1; k <= n && line[i + k - 1] == block[k]; k++) {}
           is_there = k > n
         }
         first = 1; last = n; at = m + 1
         for (i = 1; i <= m && !is_there; i++) {
           if (length(block[1]) > 9 && line[i] == block[1]) { at = i + 1; first = 2; break }
           if (length(block[n]) > 9 && line[i] == block[n]) { at = i; last = n - 1; break }
         }
         # Before the #endif of a header.
         if (at > m && line[m] ~ /^#/) at = m
         for (i = 1; i <= m + 1; i++) {
           for (k = first; i == at && k <= last && !is_there; k++) print block[k]
           if (i <= m) print line[i]
         }
       }' "$2" "$work/inside/$1" >"$work/placed" && mv "$work/placed" "$work/inside/$1"
}

# Compiles the copies that a page has made.
compile_c() { # PAGE
  local source
  for source in $(cd "$work/inside" && find . -name '*.[ch]' | sed 's,^\./,,' | sort); do
    if [ $commands = no ]; then continue; fi
    if [ -z "${LLVM_INCLUDE:-}" ] && [[ $source == lower/* ]]; then
      skipped=$((skipped + 1))
      echo "skipped: $1, which needs the headers of LLVM"
    elif $cc -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -Werror -Wno-unused-function -fsyntax-only -I"$work/inside" -I. -Iinclude \
      ${LLVM_INCLUDE:+-isystem "$LLVM_INCLUDE"} -x c "$work/inside/$source" 2>"$work/log"; then
      passed=$((passed + 1))
    else
      bad "$1: what it makes of $source does not compile" "$(sed "s,$work/inside/,,g" "$work/log")"
    fi
  done
}

build_c() { # FILE WHERE
  if [ $native = no ]; then
    skipped=$((skipped + 1))
    echo "skipped: $2, which needs native code"
  elif ! $cc -std=c11 -Wall -Wextra -Iinclude "$1" -o "$work/program" -L"$libraries" -lhiaton -lhiaton_rt \
    -Wl,-rpath,"$libraries" 2>"$work/log"; then
    bad "$2: does not build" "$(cat "$work/log")"
  elif ! timeout "$hang" "$work/program" >"$work/log" 2>&1; then
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
    (PATH="$(dirname "$hiaton"):$(dirname "$diff"):$PATH" timeout "$hang" bash -c "$command") >"$work/printed" 2>&1
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
  rm -rf "$work/blocks" "$work/inside"
  mkdir "$work/blocks" "$work/inside"
  awk -v dir="$work/blocks" '
    /^```/ && !inside { inside = 1; kind = substr($0, 4); gsub(/ /, "_", kind); gsub("/", "%", kind); start = NR
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
      console) if [ $commands = yes ]; then run_console "$block" "$where"; fi ;;
      c)
        cp "$block" "$work/block.c"
        if grep -q 'int main' "$block"; then
          build_c "$work/block.c" "$where"
        elif $cc -std=c11 -Wall -Wextra -Werror -fsyntax-only -Iinclude "$work/block.c" 2>"$work/log"; then
          passed=$((passed + 1))
        else
          bad "$where: does not compile" "$(cat "$work/log")"
        fi ;;
      C_*)
        target=${name#*.C_}
        place_c "${target//%//}" "$block" ;;
      hia_part | cpp | cmake | sh | text | graph | none) ;;
      *) bad "$where: no kind of example: ${name#*.}" ;;
    esac
  done
  compile_c "$file"
done

# The comment at the top of hiaton.h: what is indented by three or more behind its star.
{
  echo '#include <string.h>'
  sed -n '1,/^ *\* The rules/s/^ \*   //p' include/hiaton/hiaton.h
} >"$work/head.c"
build_c "$work/head.c" include/hiaton/hiaton.h

printf '%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
[ "$failed" -eq 0 ]
