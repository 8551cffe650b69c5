#!/usr/bin/env bash
# Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0
# --fast-products on the command line, and in what hiaton builds.
#
#   fast.sh HIATON OPENBLAS-DIR [CC]      without CC native code is left out
#
# The folder has a libopenblas.so.0 that adds in another order than hiaton, on every machine the same:
# the result tells whether it was used.
# shellcheck disable=SC2086 # words
set -u
export HIATON_CACHE=off # what a run compiles is what the test sees
hang=$((300 * ${HIA_TEST_SLOWNESS:-1})) # seconds after which a command is taken to hang
hiaton=$1 fake=$2
engines='interp expand'
[ -n "${3:-}" ] && engines="jit interp expand" && export CC=$3
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2
mkdir none && echo 'no library' >none/libopenblas.so.0

passed=0 failed=0
# is WHAT EXPECTED COMMAND...: prints this
is() {
  local what=$1 expected=$2 got
  shift 2
  got=$(timeout "$hang" "$@" 2>&1 </dev/null)
  if [ "$got" = "$expected" ]; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    printf 'FAILED: %s\n%s: %s, not %s\n' "$what" "$*" "${got:0:800}" "$expected"
  fi
}
has() {
  local what=$1 pattern=$2
  shift 2
  if timeout "$hang" "$@" 2>&1 </dev/null | grep -qE -- "$pattern"; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    printf 'FAILED: %s\n%s: no %s\n' "$what" "$*" "$pattern"
  fi
}
with="env LD_LIBRARY_PATH=$fake" without="env LD_LIBRARY_PATH=$work/none"

# The large number goes where there is one more before it: forwards 16777216 + 1 + ... stays, backwards the ones
# are added first.
cat >ones.hia <<'HIA'
fn matrix(n: i64, first: f32) = { let row = set(full(1.0, n), 0, first); reshape([row for _i in 0..n], n, n) }
fn main(n: i64) = (matrix(n, 16777216.0) @ full(1.0, n, n))[0][0]
HIA
cat >scalars.hia <<'HIA'
fn main(n: i64) = n + 1
HIA

forwards=16777216.0 backwards=16777472.0
for engine in $engines; do
  is "the default ($engine)" $forwards $with "$hiaton" run ones.hia 256 --engine "$engine"
  is "fast ($engine)" $backwards $with "$hiaton" run ones.hia 256 --engine "$engine" --fast-products
  is "too small ($engine)" $forwards $with "$hiaton" run ones.hia 255 --engine "$engine" --fast-products
  is "no library ($engine)" $forwards $without "$hiaton" run ones.hia 256 --engine "$engine" --fast-products
  has "a benchmark ($engine)" '1677[0-9]*' $with "$hiaton" bench ones.hia 256 --engine "$engine" --runs 1 --fast-products
done
for command in run bench build; do has "the help of $command" '--fast-products ' "$hiaton" $command --help; done
has 'not for a check' 'check.*fast-products|fast-products.*check' "$hiaton" check ones.hia --fast-products

if [ -n "${3:-}" ]; then
  "$hiaton" build ones.hia --exe -o ones && "$hiaton" build ones.hia --exe --fast-products -o fast &&
    "$hiaton" build scalars.hia --exe -o scalars
  for engine in native interp; do
    is "a program ($engine)" $forwards $with ./ones 256 --engine $engine
    is "its option ($engine)" $backwards $with ./ones 256 --engine $engine --fast-products
    is "without the library ($engine)" $forwards $without ./ones 256 --engine $engine --fast-products
    is "one that was built so ($engine)" $backwards $with ./fast 256 --engine $engine
    is "that one without the library ($engine)" $forwards $without ./fast 256 --engine $engine
  done
  has 'the help of a program' '--fast-products ' ./ones --help
  has 'a program without tensors' 'is for products: the program has no tensors' ./scalars 1 --fast-products
fi

echo "$passed passed, $failed failed"
[ $failed = 0 ]
