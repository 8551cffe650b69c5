#!/usr/bin/env bash
# Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0
# hiaton bench --warmup-curve: what it prints and draws, what it refuses, and that nothing is left of it, however it
# ends. No test asserts how long something takes. (bench_json.c reads its JSON.)
#
#   warmup.sh HIATON SOURCE-DIR [--sanitized]
# shellcheck disable=SC2016 # backquotes
set -u
hang=$((300 * ${HIA_TEST_SLOWNESS:-1})) # seconds after which a command is taken to hang
hiaton=$1
examples=$(realpath "$2")/examples
sanitized=no
[ "${3:-}" = --sanitized ] && sanitized=yes # such code is not cached
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2
mkdir tmp
endless=endless$$.hia # no other process has this word in its command line
export TMPDIR=$work/tmp HIATON_CACHE=$work/cache # of the user

passed=0 failed=0
ok() { passed=$((passed + 1)); }
bad() {
  failed=$((failed + 1))
  printf 'FAILED: %s\n' "$1"
  shift
  printf '  %s\n' "$@"
}
left() { # WHAT: nothing is left
  if [ -n "$(ls -A tmp)" ]; then bad "$1: files are left" "$(ls -AR tmp)"; fi
  if [ -e cache ]; then bad "$1: the cache of the user is not the command's" "$(ls -A cache)"; fi
  if working; then bad "$1: a process is left"; fi
}
# True if so many processes work on the program that never ends.
working() { [ "$(grep -al "[e]ndless$$" /proc/[0-9]*/cmdline 2>/dev/null | wc -l)" -ge "${1:-1}" ]; }

# t WHAT STATUS PATTERN-OF-OUTPUT PATTERN-OF-ERRORS WORD...; '' is nothing at all
t() {
  local what=$1 status=$2 out=$3 err=$4 got
  shift 4
  timeout "$hang" "$hiaton" bench --warmup-curve "$@" >out 2>err </dev/null
  got=$?
  if [ "$got" != "$status" ]; then
    bad "$what" "exit status $got instead of $status" "$(head -c 600 err)"
  elif ! [[ $(<out) =~ ${out:-^$} ]]; then
    bad "$what" "printed: $(head -c 900 out)" "no '$out' in it"
  elif ! [[ $(<err) =~ ${err:-^$} ]]; then
    bad "$what" "errors: $(head -c 600 err)" "no '$err' in it"
  else
    ok
  fi
  left "$what"
}

cat >programs.hia <<'END'
extern impure fn dup(file: i32) -> i32
extern impure fn getpid() -> i32
fn square(x) = x * x
fn never_again(n: i32) -> i32 = if dup(n) > 20 then 1 / (n - n) else n
fn process() -> i32 = getpid()
fn ends_no_more(n: i32) -> i32 = if dup(n) > 60 then loop (i = 0) while i < n { i / 2 } else n
END
echo 'fn main(n: i32) -> i32 = loop (i = 0) while i < n { i / 2 }' >"$endless"
fib=("$examples/fib.hia" --fn fib 12)
time=$((3 * hang)) # so much that --max-calls ends every process

# ---- the table ----

# Has a row for each of these numbers of calls; times rise from row to row.
rows() { # WHAT CALLS...
  local what=$1 wrong
  shift
  wrong=$(awk -v calls="$*" '
    BEGIN { n = split(calls, want, " ") }
    NR == 3 && $0 !~ /^ +calls +interp +jit +auto +cached +auto\/best$/ { print "columns: " $0 }
    NR > 3 && !NF { exit }
    NR > 3 {
      if (NF != 6 || $1 != want[++k]) print "row: " $0
      for (i = 2; i <= 5; i++) {
        if ($i !~ /^[0-9]+\.[0-9][0-9][0-9]$/ || $i + 0 < last[i]) print "time " $i ": " $0
        last[i] = $i + 0
      }
      best = $2 < $3 ? $2 : $3
      if ($6 !~ /^[0-9]+\.[0-9][0-9]$/ || ($6 - $4 / best) ^ 2 > 0.0004 * (1 + ($4 / best) ^ 2)) print "ratio: " $0
    }
    END { if (k != n) print k " rows" }' out)
  if [ -z "$wrong" ]; then ok; else bad "$what" "$wrong" "$(cat out)"; fi
}
t 'a curve' 0 '^fib.n: i32. -> i32, 2 processes of [0-9.e+]+ s for each column; milliseconds' '' \
  "${fib[@]}" --runs 2 --max-calls 5 --max-time $time
rows 'powers of two, and the last number' 1 2 4 5
for line in 'a call takes [0-9.e-]+ ms interpreted, and [0-9.e-]+ ms in native code' 'native code (pays|does not pay) .*' \
  'auto (costs most at [0-9]+ calls?: .* in place of .*|is never slower than .*)' 'result: 233'; do
  if grep -qxE "$line" out; then ok; else bad "no line '$line'" "$(cat out)"; fi
done
saving='a warm cache saves (nothing|most at [0-9]+ calls?: .*)'
[ $sanitized = yes ] && saving='the cache had no native code of this function: `cached` is auto once more'
if grep -qxE "$saving" out; then ok; else bad 'native code comes from the cache' "$(cat out)"; fi
t 'a single call' 0 'result: 233' '' "${fib[@]}" --runs 1 --max-calls 1 --max-time $time
rows 'a single row' 1
t 'a power of two' 0 ', 1 process of ' '' "${fib[@]}" --runs 1 --max-calls 4 --max-time $time
rows 'it comes once' 1 2 4
t 'a generic function' 0 '^square.x: f32. -> f32, .*result: 6.25' '' programs.hia --fn square 2.5 --runs 1 --max-calls 2 \
  --max-time $time
t 'an expression' 0 'result: .1, 2, 3.' '' -e '[1, 2, 3]' --runs 1 --max-calls 2 --max-time $time
t 'fuel and threads' 0 'result: 233' '' "${fib[@]}" --fuel 1M --runs 1 --max-calls 2 --max-time $time
t 'two threads' 0 'result: 233' '' "${fib[@]}" --threads 2 --runs 1 --max-calls 2 --max-time $time
timeout "$hang" "$hiaton" bench --warmup-curve - --fn fib 12 --runs 2 --max-calls 2 --max-time $time <"$examples/fib.hia" >out 2>err
if grep -qx 'result: 233' out; then ok; else bad 'standard input' "$(cat out err)"; fi

# ---- the picture ----

t 'a picture' 0 'result: 233' '' "${fib[@]}" --runs 1 --max-calls 8 --max-time $time --plot curve.svg
if ! command -v python3 >/dev/null; then
  if grep -q '</svg>' curve.svg; then ok; else bad 'it is no SVG' "$(cat curve.svg)"; fi
elif python3 -c '
import xml.etree.ElementTree as tree
svg = tree.parse("curve.svg").getroot()
assert svg.tag == "{http://www.w3.org/2000/svg}svg"
texts = [t.text for t in svg]
for text in "interp", "jit", "auto", "cached", "calls", "milliseconds from nothing", "1", "2", "5":
    assert text in texts, text
assert any(t and t.endswith("fib.hia: fib(n: i32) -> i32") for t in texts)
curves = [p for p in svg if p.get("class") == "curve" and "L" in p.get("d")]
assert len(curves) == 4 and all(p.get("d").count("L") == 3 for p in curves)
assert len(set(p.get("stroke") for p in curves)) == 4
assert len([c for c in svg if c.tag.endswith("circle")]) == 16' 2>python.err; then
  ok
else
  bad 'the picture' "$(tail -3 python.err)"
fi

# ---- failures ----

t 'a function that fails' 1 '' 'gcd.hia:12:37: error.div-zero.: division by zero.*
 *in main at [^ ]*gcd.hia:12:37$' "$examples/gcd.hia" 0 0
cp err expected
"$hiaton" bench "$examples/gcd.hia" 0 0 --engine jit 2>err
if [ $? = 1 ] && cmp -s err expected; then ok; else bad 'it fails as in bench' "$(cat err expected)"; fi
t 'one that fails later' 1 '' '^programs.hia:4:[0-9]*: error.div-zero' programs.hia --fn never_again 2 --max-time $time
t 'engines that disagree' 1 'results: [0-9]+ interpreted, [0-9]+ in native code' '^error: the engines disagree$' \
  programs.hia --fn process --runs 1 --max-calls 2 --max-time $time
t 'past its deadline' 1 '' 'error.deadline.: past the deadline: more than 100 ms' "$endless" 5 --timeout 0.1 --max-time $time
t 'no fuel' 1 '' 'error.fuel.: out of fuel' "${fib[@]}" --fuel 5
t 'calls that end, and one that does not' 0 '
 +1 .*result: 2' '' programs.hia --fn ends_no_more 2 --max-time $((4 * ${HIA_TEST_SLOWNESS:-1}))
t 'no call ends' 1 '' '^error: no call has ended within 0.* s, the time of a process: --max-time gives more$' \
  "$endless" 5 --max-time 0.3
t 'a program with an error' 1 '' 'E0[0-9]*' -e 'x'
t 'no such function' 2 '' 'error.not-found.' "$endless" --fn other
t 'a wrong argument' 2 '' 'argument 1' "$endless" yes
t 'too few arguments' 2 '' 'takes 1 argument, not 0' "$endless"
t 'a picture that cannot be written' 1 '' 'cannot write none/x.svg: ' "${fib[@]}" --plot none/x.svg
TMPDIR=$work/none t 'no place for the cache' 1 '' "cannot write $work/none/hiaton-.*: No such file" "${fib[@]}"

# ---- words that are refused ----

t 'an engine' 2 '' '--engine has no effect with --warmup-curve' "${fib[@]}" --engine jit
t 'a cache' 2 '' '--cache has no effect with --warmup-curve' "${fib[@]}" --cache here
t 'counts' 2 '' '--count has no effect with --warmup-curve' "${fib[@]}" --count
t 'several numbers of threads' 2 '' '--threads is one number with --warmup-curve' "${fib[@]}" --threads 1,2
t 'no calls' 2 '' '--max-calls: `0` should be a number from 1' "${fib[@]}" --max-calls 0
t 'no time' 2 '' '--max-time: `0` should be a number of seconds' "${fib[@]}" --max-time 0
t 'a picture of another kind' 2 '' '--plot: `x.png` should be FILE.svg' "${fib[@]}" --plot x.png
t 'a picture in place of the program' 2 '' '--plot [^ ]*program.svg would replace FILE' program.svg --plot ./program.svg
for option in --max-calls=2 --max-time=2 --plot=x.svg; do
  "$hiaton" bench "${fib[@]}" $option >out 2>err
  if [ $? = 2 ] && grep -q -e "${option%=*} is for --warmup-curve" err; then ok; else bad "$option in another bench" "$(cat err)"; fi
done

# ---- interruptions ----

# Waits until a process that is measured works beside its parent, $1.
await_child() {
  local n=0
  while ! working 2 && kill -0 "$1" 2>/dev/null && [ $n -lt $((20 * hang)) ]; do
    sleep 0.05
    n=$((n + 1))
  done
}
begin_endless() { # COMMAND...: in the background
  "$@" "$hiaton" bench --warmup-curve "$endless" 5 --max-time $((100 * hang)) >out 2>err </dev/null &
  pid=$!
  await_child $pid
}
for signal in INT TERM HUP QUIT; do
  begin_endless env --default-signal
  kill -s $signal $pid
  { wait $pid; } 2>/dev/null
  status=$?
  if [ $status = $((128 + $(kill -l $signal))) ] && [ ! -s out ]; then ok; else bad "SIG$signal" "$status $(cat out err)"; fi
  left "SIG$signal"
done
begin_endless env --ignore-signal=HUP --default-signal=TERM
kill -s HUP $pid
kill -s TERM $pid
{ wait $pid; } 2>/dev/null
status=$?
if [ $status = 143 ]; then ok; else bad 'a signal that is ignored' "$status $(cat out err)"; fi
left 'a signal that is ignored'
begin_endless env
{ kill -s KILL $pid; wait $pid; } 2>/dev/null
n=0
while working && [ $n -lt $((20 * hang)) ]; do sleep 0.05; n=$((n + 1)); done
if working; then bad 'the process that is measured outlives the command'; else ok; fi

printf '%d passed, %d failed, 0 skipped\n' "$passed" "$failed"
[ "$failed" -eq 0 ]
