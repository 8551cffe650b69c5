#!/usr/bin/env bash
# Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0
# --perf and --gdb, with GDB and perf themselves where they are installed and may be used: code that was just compiled
# and code from the cache look the same.
#
#   debuggers.sh HIATON
set -u
hiaton=$1
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
export HIATON_CACHE=off JITDUMPDIR=$work
passed=0 failed=0
verdict() { # WHAT WANTED GOT
  case $3 in
  $2) passed=$((passed + 1)) ;;
  *)
    failed=$((failed + 1))
    printf 'FAILED: %s: %s instead of %s\n' "$1" "${3:0:2000}" "$2"
    ;;
  esac
}

# Each of the two calls the other, and the innermost a C function.
cat >"$work/p.hia" <<'END'
extern fn labs(n: i64) -> i64

fn down(n: i64, k: i64) -> i64 =
  if n <= 0 then labs(k)
  else 1 + across(n - 1, k)

fn across(n: i64, k: i64) -> i64 =
  if n % 3 == 1 then down(n - 2, k + 1) * 2
  else down(n, k) + 1

fn main(n: i64) -> i64 = down(n, 5)
END
expected=71
cat >"$work/fib.hia" <<'END'
fn fib(n: i32) -> i32 =
  if n <= 1 then 1
  else fib(n - 1) + fib(n - 2)

fn main(n: i32) -> i32 = fib(n)
END

# ---- files ----

map=/tmp/perf-$(bash -c 'echo $$; exec "$@" >"$0"' "$work/out" "$hiaton" run "$work/p.hia" 8 --engine jit --perf map).map
verdict 'a run with a map' "$expected" "$(cat "$work/out")"
verdict 'is private' 600 "$(stat -c %a "$map")"
verdict 'has functions alone' '' "$(grep -vE '^[0-9a-f]{6,16} [0-9a-f]+ [a-z_]+$' "$map")"
for name in down hia_entry_main hia_host_call_labs; do
  verdict "has $name" 1 "$(cut -d' ' -f3 "$map" | grep -cx "$name")"
done
rm -f "$map"

dump=$work/jit-$(bash -c 'echo $$; exec "$@" >"$0"' "$work/out" "$hiaton" run "$work/p.hia" 8 --engine jit --perf jitdump).dump
verdict 'a run with a dump' "$expected" "$(cat "$work/out")"
verdict 'its first bytes' '44 54 69 4a 01 00 00 00' "$(head -c 8 "$dump" | od -An -tx1 | sed 's/^ *//')"
rm -f "$dump"

# A link where the file would be: the run goes on without it, and the link's target does not appear.
verdict 'a run whose map is there' "$expected" "$(bash -c 'ln -s "$0" "/tmp/perf-$$.map"; exec "$@"' \
  "$work/target" "$hiaton" run "$work/p.hia" 8 --engine jit --perf map)"
verdict 'nothing is written through a link' no "$([ -e "$work/target" ] && echo yes || echo no)"
find /tmp -maxdepth 1 -name 'perf-*.map' -lname "$work/target" -delete

# ---- GDB ----

# The functions and lines of a backtrace in labs, the frames of hiaton itself left out.
backtrace() { # ARGUMENT...
  gdb --batch -nx -iex 'set debuginfod enabled off' -ex 'set breakpoint pending on' -ex 'set width 0' -ex 'break labs' \
    -ex run -ex 'backtrace 60' --args "$hiaton" run "$work/p.hia" 8 --engine jit "$@" 2>"$work/errors" |
    sed -nE 's/^#[0-9]+ +(0x[0-9a-f]+ in )?(down|across|main|hia_entry_main|hia_host_call_labs) \(.*\)( at .*\/p\.hia(:[0-9]+))?.*/\2\4/p
             s/^#[0-9]+ .* in (hia_run|main) \(.*/\1/p'
}
if command -v gdb >/dev/null && gdb --batch -nx -ex run -ex 'info inferiors' --args true 2>&1 | grep -q 'exited normally'; then
  first=$(backtrace --gdb | tr '\n' ' ')
  verdict 'a backtrace has functions and lines' 'hia_host_call_labs down:4 across:8 down:5 across:8 down:5 across:8 down:5 main:11 hia_entry_main:11 *' "$first"
  verdict 'it reaches the caller' '*hia_entry_main:11 hia_run *' "$first"
  verdict 'code that is then cached' "$first" "$(backtrace --gdb --cache "$work/cache" | tr '\n' ' ')"
  verdict 'code from the cache' "$first" "$(backtrace --gdb --cache "$work/cache" | tr '\n' ' ')"
  verdict 'it does come from there' *'native code from the cache'* \
    "$("$hiaton" run "$work/p.hia" 8 --engine jit --gdb --time --cache "$work/cache" 2>&1)"
  verdict 'without the option nothing is known' 0 "$(backtrace | grep -c down)"
  verdict 'a breakpoint in the program' *'Breakpoint 1'*', down () at '*'p.hia:3'* \
    "$(gdb --batch -nx -iex 'set debuginfod enabled off' -ex 'set breakpoint pending on' -ex 'break down' -ex run \
      --args "$hiaton" run "$work/p.hia" 8 --engine jit --gdb 2>&1)"
fi

# ---- perf ----

recorded() { # OPTION-OF-PERF... -- ARGUMENT...: a record of a run that takes some tenths of a second
  local options=()
  while [ "$1" != -- ]; do options+=("$1"); shift; done
  perf record -q -e cpu-clock -F 500 "${options[@]}" -o "$work/data" "$hiaton" run "$work/fib.hia" 41 --engine jit \
    --no-merge --threads 1 "${@:2}" >"$work/out" 2>"$work/errors"
}
if command -v perf >/dev/null && perf record -q -e cpu-clock -o "$work/data" true >/dev/null 2>&1; then
  recorded -- --perf map
  verdict 'perf report with a map' *' fib'* "$(perf report -i "$work/data" --stdio 2>/dev/null)"
  rm -f "/tmp/perf-$(perf script -i "$work/data" -F pid 2>/dev/null | tail -1 | tr -d ' ').map"
  recorded -k mono -- --perf jitdump
  (cd "$work" && perf inject --jit -i "$work/data" -o "$work/injected") >/dev/null 2>&1
  verdict 'perf report with a dump' *'jitted-'*' fib'* "$(perf report -i "$work/injected" --stdio 2>/dev/null)"
  for object in "$work"/jitted-*.so; do nm "$object" 2>/dev/null | grep -q ' fib_slow$' && break; done
  verdict 'its object has lines' *'fib.hia'*' 3 '* "$(objdump --dwarf=decodedline -w "$object" 2>/dev/null)"
  verdict 'and frames' *'DW_CFA_def_cfa_offset: 16'* "$(readelf --debug-dump=frames "$object" 2>/dev/null)"
fi

printf '%d passed, %d failed, 0 skipped\n' "$passed" "$failed"
[ "$failed" -eq 0 ]
