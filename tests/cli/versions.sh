#!/usr/bin/env bash
# Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0
# hiaton run --repeat and --explain: which versions of a function were made for its arguments, as text and as JSON.
#
#   versions.sh HIATON SOURCE-DIR
set -u
. "$(dirname "$0")/verdict.sh"
export HIATON_CACHE=off # what a run compiles is what the test sees
hiaton=$1 sources=$2
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
cd "$sources" || exit 2
runs() { # WORD...: standard output and error are in $out and $err, the exit status in $status
  "$hiaton" run "$@" > "$work/out" 2> "$work/err"
  status=$?
  out=$(< "$work/out") err=$(< "$work/err")
}
formula=(examples/formula.hia 'Mul(X, Add(X, Const(1)))' 100)

# The result stands alone on standard output.
runs "${formula[@]}" --speculate eager --repeat 5 --explain
[ "$status $out" = '0 333300.0' ] && verdict 'the result' yes || verdict 'the result' no "$status $out"
has 'how many runs' '^main\(f: Formula, n: i64\) -> f64: 5 runs$' "$err"
has 'the general version' '^general version: 1 run, of which 1 was looked at$' "$err"
has 'a version' '^version 1 was made after run 1$' "$err"
has 'an object' '^  f is this object, Mul\(X, Add\(X, Const\(1\.0\)\)\): seen once$' "$err"
has 'what is of no use' '^  n is not assumed: it would be of no use, as no loop computes with it ' "$err"
has 'its runs' '^  4 runs used it$' "$err"
has 'its time' '^  it took [0-9.]+ ms, the mean of 4 runs: [0-9.]+ times as fast as the interpreter$' "$err"
has 'the end' '^1 of at most 15 versions made or tried; no further one: ' "$err"

# A number, and tensors.
runs examples/normal.hia 0.9 --speculate eager --repeat 2 --explain
has 'a number' '^  p is 0\.9: so in the last look$' "$err"
cat > "$work/net.hia" << 'END'
type T = L | N(a: T, b: T)
fn fold(t: T, W: f32[?, ?], b: f32[?]) -> f32[?] = match t {
  L => relu(W @ b), N(l, r) => relu(W @ (fold(l, W, b) + fold(r, W, b)) + b) }
fn main(t: T, W: f32[?, ?], b: f32[?]) = sum(fold(t, W, b))
END
runs "$work/net.hia" 'N(L, N(L, L))' '[[1, 2], [3, 4]]' '[1, 2]' --speculate eager --repeat 3 --explain
has 'a param' '^  W is read as a param of the run, f32\[2, 2\]: so in the last look$' "$err"
[ "$status $out" = '0 1029.0' ] && verdict 'with params' yes || verdict 'with params' no "$status $out"

# Why there are none.
runs "${formula[@]}" --explain
has 'few looks' '^no version assumes anything of arguments: 1 run was looked at, and 3 are needed$' "$err"
runs "${formula[@]}" --speculate off --explain
has 'off' '`speculate` is off$' "$err"
runs "${formula[@]}" --engine interp --explain
has 'another engine' 'engines of this kind make none$' "$err"
runs examples/fib.hia -e 'fib(3)' --explain
has 'an expression' 'the function takes no arguments$' "$err"

# JSON has the same facts.
if command -v python3 > /dev/null; then
  runs "${formula[@]}" --speculate eager --repeat 5 --explain --json
  checked=$(python3 -c '
import json, sys
told = json.load(sys.stdin)
assert list(told) == ["hiaton", "schema", "function", "runs", "general", "most_versions", "hindrance", "hindrance_text",
                      "looked_at", "versions", "batching"], told
assert told["batching"] == {"nothing": "there are no products, or no param of 2048 elements and more", "functions": []}
assert told["schema"] == 1 and told["runs"] == 5 and told["most_versions"] == 15 and told["hindrance"] == "no-look"
general = told["general"]
assert general["runs"] == general["looked_at"] == 1 and general["interpreted"]["runs"] == 1, general
assert general["native"] == {"runs": 0, "mean_ns": None}, general
version, = told["versions"]
assert list(version) == ["number", "state", "reason", "is_batched", "is_retired", "made_after", "compile_ns", "runs", "timed", "gain", "gain_over",
                         "misfits", "arguments", "facts"], version
assert version["number"] == 1 and version["state"] == "made" and version["reason"] is None
assert version["facts"] == [] and version["is_retired"] is False, version
assert general["observed"] == 1 and general["observed_ns"] > 0, general
assert version["made_after"] == 1 and version["compile_ns"] > 0 and version["runs"] == version["timed"]["runs"] == 4
assert version["gain"] > 0 and version["gain_over"] == "interpreted"
assert version["misfits"] == {"runs": 0, "looked_at": 0, "last": None}
f, n = version["arguments"]
assert f["name"] == "f" and f["type"] == "Formula" and f["assumes"] == f["asked"] == "object", f
assert f["is"] == "Mul(X, Add(X, Const(1.0)))" and f["evidence"] == "seen" and f["times"] == 1, f
assert n["name"] == "n" and n["assumes"] is None and n["asked"] == "value" and n["taken_back"] == "no-use", n
assert [w["name"] for w in told["looked_at"]] == ["f", "n"] and told["looked_at"][1]["is"] == "100"
print("fine")' <<< "$err" 2>&1)
  [ "$checked" = fine ] && verdict 'JSON' yes || verdict 'JSON' no "$checked"
fi

# What is batched, in the same document.
if command -v python3 > /dev/null; then
  for mode in segments none; do
    runs examples/models/tree_rnn.hia --fn main '[Node(Leaf(1,2),Leaf(3,4),0)]' --batching $mode --explain --json
    checked=$(python3 -c '
import json, sys
batching = json.load(sys.stdin)["batching"]
if sys.argv[1] == "none":
  assert batching is None
else:
  main, encode = batching["functions"]
  assert batching["nothing"] is None and list(main) == ["function", "batched", "alone", "waits"], batching
  assert main["function"] == "main([Tree])" and main["alone"] == main["waits"] == [], main
  assert encode["function"] == "encode(Tree)" and encode["batched"][0].startswith("12 operations; products"), encode
print("fine")' $mode <<< "$err" 2>&1)
    [ "$checked" = fine ] && verdict "JSON of batches, $mode" yes || verdict "JSON of batches, $mode" no "$checked"
  done
fi

# Runs that fail, or cannot be explained.
runs examples/formula.hia X 5 --repeat 3 --max-depth 1 --explain
[ "$status" = 1 ] && verdict 'the first failure ends it' yes || verdict 'the first failure ends it' no "$status $err"
has 'a failure is explained, too' ': 1 run$' "$err"
runs "${formula[@]}" --json
[ "$status" = 2 ] && verdict 'JSON of nothing' yes || verdict 'JSON of nothing' no "$status"
has 'JSON of nothing' '--json is for --explain' "$err"
runs "${formula[@]}" --repeat 0
[ "$status" = 2 ] && verdict 'no run' yes || verdict 'no run' no "$status"
has 'no run' 'should be a number from 1 to 4294967295' "$err"
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" = 0 ]
