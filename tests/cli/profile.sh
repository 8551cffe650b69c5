#!/usr/bin/env bash
# Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0
# hiaton profile: the lines on which a program spends its time, and on which it takes memory, as a
# table and as JSON.
#
#   profile.sh HIATON
set -u
. "$(dirname "$0")/verdict.sh"
export HIATON_CACHE=off # what a run compiles is what the test sees
hiaton=$1
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2

# `busy` takes a thousand times as long as `brief`; `deep` recurs, and calls `work` from one line.
cat > p.hia << 'END'
fn busy(n: i32) -> i64 = {
  let (_, s) = loop (i = 0, s: i64 = 1) while i < n {
    (i + 1, bxor(s * 6364136223846793005, s / 7 + 1))
  };
  s
}
fn brief(n: i32) -> i64 = i64(n) * 3
fn work(n: i32) -> i64 =
  bxor(busy(n), brief(n))
fn deep(k: i32, n: i32) -> i64 =
  if k == 0 then 0
  else work(n + k) + deep(k - 1, n)
fn slow(n: i32) -> i64 = if n < 2 then 1 else bxor(slow(n - 1), i64(n)) + slow(n - 2)
fn calls(n: i32) -> i64 =
  slow(n) + i64(n)
fn main(k: i32) -> i64 = deep(k, 20000)
fn fails(n: i32) -> i32 = 1 / n
END

# Native code: the loop is what takes the time, below all of its callers.
for threads in 1 2; do
  got=$("$hiaton" profile p.hia 5 --engine jit --threads $threads --max-time 0.3 2>&1)
  has "native, $threads threads: the first line" '^[0-9]+ runs? in [0-9.]+ s, native code; [0-9]+ samples, one every 1 ms' "$got"
  has "native, $threads threads: the loop" '^ *[5-9][0-9][.0-9]*% .*busy +p.hia:2  let \(_, s\) = loop|^ *100.0% .*busy +p.hia:2 ' "$got"
  has "native, $threads threads: a caller" '^ *[0-9.]+% +([5-9][0-9]|100)[.0-9]*% +work +p.hia:9  bxor' "$got"
  has "native, $threads threads: a recursive line counts once" '^ *[0-9.]+% +([5-9][0-9]|100)[.0-9]*% +deep +p.hia:12 ' "$got"
done
got=$("$hiaton" profile p.hia --fn calls 22 --engine interp --max-time 0.3 2>&1)
has 'interpreted: the first line' ', interpreted; ' "$got"
has 'interpreted: the recursion' '^ *([5-9][0-9]|100)[.0-9]*% .* slow +p.hia:13 ' "$got"
has 'interpreted: the caller' '^ *[0-9.]+% +([5-9][0-9]|100)[.0-9]*% +calls +p.hia:15 ' "$got"
got=$("$hiaton" profile p.hia -e 'deep(4, 20000) + 1' --engine auto --max-time 0.3 2>&1)
has 'an expression has lines of its own' '<expr>:1  deep\(4, 20000\) \+ 1' "$got"

# JSON.
got=$("$hiaton" profile p.hia 5 --json --max-time 0.2 2>&1)
if command -v python3 > /dev/null; then
  checked=$(python3 -c '
import json, sys
p = json.load(sys.stdin)
lines = p["lines"]
assert p["schema"] == 1 and p["runs"] >= 1 and p["tick_ns"] == 1000000 and p["tier"] == "native", p
assert lines and lines[0]["function"] == "busy" and lines[0]["line"] == 2, lines
assert all(l["self"] <= l["total"] <= p["samples"] for l in lines)
assert sum(l["self"] for l in lines) + p["unknown"] == p["samples"]
points = p["points"]
busy = [q for q in points if q["function"] == "busy"]
assert busy and all(q["file"] == "p.hia" and q["times"] > 0 for q in busy), points
assert {q["kind"] for q in points} <= {"parameter", "condition", "rounds"}, points
assert [l["self"] for l in lines] == sorted((l["self"] for l in lines), reverse=True)
print("fine")' <<< "$got" 2>&1)
  [ "$checked" = fine ] && verdict 'JSON' yes || verdict 'JSON' no "$checked"
fi

# Memory: `make` and `double` take 24 bytes a cell each; the lists of 100 cells are dropped one after
# the other. 2000 of them are 4.6 MiB each time.
cat > m.hia << 'END'
type List = Nil | Cons(h: i64, t: List)
fn make(n: i64) -> List = loop (i = n, l = Nil) while i > 0 {
  (i - 1, Cons(i, l)) }.1
fn double(l: List) -> List = match l { Nil => Nil, Cons(h, t) =>
  Cons(2 * h, double(t)) }
fn sum(l: List, s: i64) -> i64 = match l { Nil => s, Cons(h, t) => sum(t, s + h) }
fn lists(k: i64, m: i64, s: i64) -> i64 = if k == 0 then s else {
  let l = make(m);
  let d = double(l);
  lists(k - 1, m, s + sum(l, 0) + sum(d, 0)) }
fn main(k: i64, m: i64) -> i64 = lists(k, m, 0)
fn deep(n: i64, d: i64) -> List = if n == 0 then Nil else Cons(n / d, deep(n - 1, d))
fn depth(n: i64) -> i64 = sum(deep(n, 7), 0)
END
for engine in jit interp; do
  got=$("$hiaton" profile m.hia 1000 100 --engine $engine --threads 1 --max-time 0.4 --sort memory 2>&1)
  has "memory, $engine: in all" '^4\.[3-9] MiB of memory taken a run; [0-9]+ samples, one every 512 KiB' "$got"
  has "memory, $engine: a line" '^ *[0-9.]+% +[0-9.]+% +[3-6][0-9]\.[0-9]% +[3-6][0-9]\.[0-9]% +(1\.[5-9]|2\.[0-9]|3\.0) MiB  make +m.hia:3  ' "$got"
  has "memory, $engine: another one" '^ *[0-9.]+% +[0-9.]+% +[3-6][0-9]\.[0-9]% +[3-6][0-9]\.[0-9]% +(1\.[5-9]|2\.[0-9]|3\.0) MiB  double +m.hia:5  ' "$got"
  has "memory, $engine: a caller" '^ *[0-9.]+% +[0-9.]+% +0\.0% +[3-6][0-9]\.[0-9]% +lists +m.hia:8  ' "$got"
done
first=$(sed -n 6p <<< "$got")
has 'memory comes first' ' m.hia:[35] ' "$first"
got=$("$hiaton" profile p.hia 5 --engine jit --max-time 0.1 --sort memory 2>&1)
grep -q 'memory' <<< "$got" && verdict 'no memory' no "$got" || verdict 'no memory' yes
# A sample of a recursion that is a million calls deep takes less than a tick.
got=$(timeout 100 "$hiaton" profile m.hia --fn depth 1000000 --engine interp --max-time 0.1 2>&1)
has 'a deep recursion' '^ *[0-9.]+% +[0-9.]+% .* deep +m.hia:12 ' "$got"
got=$("$hiaton" profile m.hia 1000 100 --json --max-time 0.3 2>&1)
if command -v python3 > /dev/null; then
  checked=$(python3 -c '
import json, sys
p = json.load(sys.stdin)
lines, memory = p["lines"], p["memory"]
assert memory["sample"] == 512 * 1024 and memory["taken"] % memory["sample"] == 0, memory
assert 0.7 < memory["taken"] / p["runs"] / (2 * 24 * 100000) < 1.3 or p["tier"] != "native", p
assert all(l["taken"] <= l["total_taken"] <= memory["taken"] for l in lines)
assert sum(l["taken"] for l in lines) + memory["unknown"] == memory["taken"]
print("fine")' <<< "$got" 2>&1)
  [ "$checked" = fine ] && verdict 'JSON of memory' yes || verdict 'JSON of memory' no "$checked"
fi

# Errors.
got=$("$hiaton" profile p.hia --fn fails 0 2>&1)
[ $? = 1 ] && verdict 'a failure' yes || verdict 'a failure' no "$got"
has 'a failure' 'error\[div-zero\]' "$got"
got=$("$hiaton" profile p.hia 5 --sort size 2>&1)
[ $? = 2 ] && verdict 'no such order' yes || verdict 'no such order' no "$got"
got=$("$hiaton" profile p.hia 5 --max-time soon 2>&1)
[ $? = 2 ] && verdict 'no time' yes || verdict 'no time' no "$got"
got=$("$hiaton" profile p.hia 5 6 2>&1)
[ $? = 2 ] && verdict 'too many arguments' yes || verdict 'too many arguments' no "$got"
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" = 0 ]
