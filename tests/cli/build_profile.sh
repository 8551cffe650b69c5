#!/usr/bin/env bash
# Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0
# hiaton build --profile: what is built with a profile computes what is built without one, whether
# the profile is right or wrong; files that are no profiles are refused, and leave nothing behind.
#
#   build_profile.sh HIATON SOURCE-DIR LIBRARY-DIR CC      CC may be several words
# shellcheck disable=SC2086 # words
set -u
. "$(dirname "$0")/verdict.sh"
export HIATON_CACHE=off # what a run compiles is what the test sees
hang=$((300 * ${HIA_TEST_SLOWNESS:-1})) # seconds after which a command is taken to hang
hiaton=$1 include=$2/include libraries=$3 cc=$4
export CC=$cc
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2
mkdir with without # programs of one name, so that their messages are the same

cat > p.hia << 'END'
# Numbers that are handed on, bools, and a loop of a few rounds; a division may fail.
fn power(x: i64, n: i64) -> i64 = {
  let (p, _) = loop (p = 1i64, i = 0i64) while i < n { (p * x % 1000003, i + 1) };
  p
}
fn pick(n: i64, up: bool, k: i32) -> i64 = if up then n / i64(k) else n - i64(k)
fn powers(m: i64, n: i64, up: bool, k: i32) -> i64 = {
  let (s, _) = loop (s = 0i64, i = 0i64) while i < m { (s + power(i, n) + pick(i, up, k), i + 1) };
  s
}
# Tensors of the same sizes in a recursion; one without this row fails.
fn scale(x: f32[?, ?], c: f32, n: i64) -> f32 = if n == 0 then sum(x) else x[1][0] * c + scale(x, c, n - 1)
fn scales(m: i64, a: i64, b: i64) -> f32 = scale(full(0.5f32, a, b), 0.25, m)
# Trees, a generic function, a tuple, and a failure that the program asks for.
type Tree = Leaf(v: i32) | Node(l: Tree, r: Tree)
fn grow(n: i32, v: i32) -> Tree = if n == 0 then Leaf(v) else Node(grow(n - 1, 2 * v), grow(n - 1, 2 * v + 1))
fn blend(x, y, w) = if w == 1 then x + y else x * w - y
fn walk(t: Tree, p: (i32, bool)) -> i32 = match t {
  Leaf(v) => if v > 1000000 then fail(v) else blend(v, 3, p.0),
  Node(l, r) => walk(l, p) + (if p.1 then walk(r, p) else 0) }
fn trees(n: i32, v: i32, w: i32) -> i32 = walk(grow(n, v), (w, w > 0))
fn forest(n: i32, m: i32) -> [Tree] = [grow(n, k) for k in 0..m]
fn sums(ts: [Tree], w: i32) -> i32 = {
  let (s, _) = loop (s = 0, i = 0i64) while i < len(ts) { (s + walk(ts[i], (w, true)), i + 1) };
  s
}
END
fails() { # NAME STATUS PATTERN COMMAND...: it ends with this status and message, and makes no file
  local name=$1 status=$2 pattern=$3 before got is
  shift 3
  before=$(ls -A . with without)
  got=$(timeout "$hang" "$@" 2>&1 < /dev/null)
  is=$?
  if [ $is != "$status" ]; then
    verdict "$name: status $is, not $status" no "$got"
  elif ! grep -qE -- "$pattern" <<< "$got"; then
    verdict "$name: $pattern" no "$got"
  elif [ "$(ls -A . with without)" != "$before" ]; then
    verdict "$name: leaves files behind" no "$(ls -A . with without)"
  else
    verdict "$name" yes
  fi
}
works() { # NAME COMMAND...: it succeeds, and says nothing
  local name=$1 got
  shift
  got=$(timeout "$hang" "$@" 2>&1 < /dev/null) && [ -z "$got" ] && verdict "$name" yes || verdict "$name: $*" no "$got"
}
same() { # NAME FILE FILE
  cmp -s "$2" "$3" && verdict "$1" yes || verdict "$1" no "$2 and $3 differ"
}
differ() { # NAME FILE FILE
  cmp -s "$2" "$3" && verdict "$1" no "$2 and $3 are the same" || verdict "$1" yes
}
# Both programs print the same, and end alike, in both engines.
alike() { # NAME PROGRAM ARG...
  local name=$1 program=$2 engine one other
  shift 2
  for engine in native interp; do
    one=$(cd without && timeout "$hang" "./$program" "$@" --engine $engine 2>&1 < /dev/null; echo "status $?")
    other=$(cd with && timeout "$hang" "./$program" "$@" --engine $engine 2>&1 < /dev/null; echo "status $?")
    [ "$one" = "$other" ] && verdict "$name" yes || verdict "$name: $program $* ($engine)" no "$other, and without $one"
  done
}

# ---- programs, with and without ----

# both FUNCTION PROFILE OPTION...: builds both programs, whose code differs
both() {
  local fn=$1 profile=$2
  shift 2
  works "$fn without" "$hiaton" build p.hia --fn $fn "$@" --exe -o without/$fn
  works "$fn with" "$hiaton" build p.hia --fn $fn "$@" --profile $profile --exe -o with/$fn
  differ "$fn: the profile is of use" with/$fn without/$fn
}
profile() { # FUNCTION ARG...
  works "a profile of $*" sh -c '"$0" profile p.hia --fn "$@" --json --max-time 0.05 > '"$1.json" "$hiaton" "$@"
}
others() { # of the arguments of these functions, the observed ones first
  local name=$1
  alike "$name" powers 2000 3 true 2
  alike "$name: other numbers" powers 50 3 true 7
  alike "$name: another bool" powers 50 3 false 2
  alike "$name: more rounds" powers 50 4 true 2
  alike "$name: many rounds" powers 50 100 true 2
  alike "$name: fewer rounds" powers 50 2 true 2
  alike "$name: no rounds" powers 50 0 true 2
  alike "$name: none at all" powers 0 3 true 2
  alike "$name: a division by zero" powers 50 3 true 0
  alike "$name" scales 2000 2 3
  alike "$name: other sizes" scales 100 3 2
  alike "$name: more rows" scales 100 5 3
  alike "$name: the row is empty" scales 100 2 0
  alike "$name: no row" scales 100 1 3
  alike "$name: no recursion" scales 0 0 3
  alike "$name" trees 10 1 1
  alike "$name: another number" trees 10 1 5
  alike "$name: another bool" trees 10 1 0
  alike "$name: fail" trees 10 1000 1
  alike "$name: fail with other numbers" trees 3 1000000 2
  alike "$name: too deep" trees 12 1 1 --max-depth 6
}
profile powers 2000 3 true 2
profile scales 2000 2 3
profile trees 10 1 1
for fn in powers scales trees; do both $fn $fn.json; done
others programs
# What the failures are: the chains of calls are those of the source.
got=$(with/powers 50 3 true 0 2>&1)
has 'the failure' 'p.hia:6:57: error.div-zero.' "$got"
has 'its chain' 'called from powers at p.hia:8:7' "$got"
got=$(with/scales 9 1 3 2>&1)
has 'the failure of an index' 'error.range.: index 1 is out of range: the tensor has 1 row' "$got"
has 'its place' 'in scale at p.hia:12:77' "$got"
[ "$(with/scales 2000 2 3)" = 253.0 ] && verdict 'the result' yes || verdict 'the result' no "$(with/scales 2000 2 3)"
# For other code, too.
for fn in powers scales trees; do both $fn $fn.json --parallel --cpu x86-64; done
others 'for several threads'
alike 'on two threads' trees 10 1 1 --threads 2
for fn in powers scales trees; do both $fn $fn.json --no-pass all; done
others 'without passes'
# A profile of other arguments.
profile powers 1500 0 false -3
profile scales 1100 3 1
profile trees 12 7 4
for fn in powers scales trees; do both $fn $fn.json; done
others 'another profile'

# Trees in a file, which the program reads one by one.
works 'a file of trees' "$hiaton" run p.hia --fn forest 3 400 -o forest.hiav
works 'another one' "$hiaton" run p.hia --fn forest 0 3 -o few.hiav
profile sums @forest.hiav 1
both sums sums.json
for words in '@../forest.hiav 1' '@../forest.hiav 2' '@../few.hiav 1' '@../few.hiav -1' '[] 1' '@../nofile.hiav 1'; do
  alike 'streams' sums $words
done

# ---- objects ----

works 'an object' "$hiaton" build p.hia --fn powers --profile powers.json --prefix a --map -o a.o --header a.h
works 'again' "$hiaton" build p.hia --fn powers --profile powers.json --prefix a --map -o again.o --header again.h
same 'the same bytes' a.o again.o
works 'an object without' "$hiaton" build p.hia --fn powers --prefix b --map -o b.o --header b.h
works 'of the same name' "$hiaton" build p.hia --fn powers --prefix a --map -o without/a.o --header without/a.h
differ 'the profile is of use' a.o without/a.o
same 'the header knows nothing of it' a.h without/a.h
cat > use.c << 'END'
#include "a.h"
#include "b.h"
#include <stdio.h>
#include <string.h>
int main(void) {
  enum { N = 300 };
  static int64_t m[N], n[N], x[N], y[N];
  static bool up[N];
  static int32_t k[N];
  for (int interpret = 0; interpret < 2; interpret++) {
    hia_context_options options = HIA_CONTEXT_OPTIONS_INIT;
    hia_context *context;
    int n_failed = 0;
    if (interpret) options.flags |= HIA_CONTEXT_INTERPRET;
    if (hia_context_new(&options, &context) != HIA_OK) return 1;
    for (int i = 0; i < N; i++) {
      char text[2][400] = {"", ""};
      m[i] = i % 23, n[i] = i % 5, up[i] = i % 7 != 0, k[i] = i % 11 - 3;
      hia_status a = a_powers(context, m[i], n[i], up[i], k[i], &x[i]);
      if (a != HIA_OK) snprintf(text[0], sizeof text[0], "%s", hia_error_text(hia_context_error(context)));
      hia_status b = b_powers(context, m[i], n[i], up[i], k[i], &y[i]);
      if (b != HIA_OK) snprintf(text[1], sizeof text[1], "%s", hia_error_text(hia_context_error(context)));
      if (a != b || x[i] != y[i] || strcmp(text[0], text[1]) != 0) return 2;
      n_failed += a != HIA_OK;
    }
    for (int i = 0; i < N; i++)
      if (k[i] == 0) k[i] = 1;
    memset(x, 1, sizeof x), memset(y, 2, sizeof y);
    if (a_powers_map(context, N, m, n, up, k, x) != HIA_OK) return 3;
    if (b_powers_map(context, N, m, n, up, k, y) != HIA_OK) return 4;
    if (memcmp(x, y, sizeof x) != 0) return 5;
    printf("%d failed\n", n_failed);
    hia_context_free(context);
  }
  return 0;
}
END
works 'linked' $cc -std=c11 -Wall -Wextra -Wpedantic -Werror -I$include use.c a.o b.o $libraries/libhiaton_rt.a \
  -lm -pthread -o use
got=$(./use 2>&1) && [ "$got" = $'22 failed\n22 failed' ] && verdict 'both objects' yes || verdict 'both objects' no "$got"
works 'a static library' "$hiaton" build p.hia --fn powers --profile powers.json --static -o libp.a
works 'a shared library' "$hiaton" build p.hia --fn powers --profile powers.json --shared -o libp.so

# ---- profiles that are of no use ----

# What is passed over leaves the object that there would be without a profile.
build_odd() { # WITH NAME, of the file odd.json
  works "$2" "$hiaton" build p.hia --fn powers --fn scales --profile odd.json -o odd.o
  $1 "$2: $1" odd.o plain.o
  rm -f odd.o
}
works 'an object' "$hiaton" build p.hia --fn powers --fn scales -o plain.o
passed_over() { build_odd same "$1"; } # NAME
of_use() { build_odd differ "$1"; }    # NAME
# point KIND FUNCTION PARAMETER LINE COLUMN TYPE VALUE: one of a profile, seen often enough
point() {
  local true=0 value="\"$7\""
  [ "$7" = true ] && true=5000
  [ "${7:0:1}" = = ] && value=${7:1} # what is no text
  printf '{"kind": "%s", "function": "%s", "parameter": "%s", "file": "p.hia", "line": %s, "column": %s, "type": "%s",' \
    "$1" "$2" "$3" "$4" "$5" "$6"
  printf ' "times": 5000, "changes": 0, "true": %s, "least": %s, "most": %s, "constructors": null}' $true "$value" "$value"
}
odd() { # POINT...: writes odd.json
  local IFS=,
  printf '{"schema": 1, "points": [%s]}\n' "$*" > odd.json
}
# A point that is right, so that what follows differs from it in one thing only.
odd "$(point parameter power n 2 4 i64 3)"
of_use 'a profile of one point'
odd "$(point parameter scale x 12 4 'f32[?, ?]' 'f32[2, 3]')"
of_use 'a profile of sizes'
odd "$(point rounds power '' 3 16 i64 3 | sed 's/"parameter": ""/"parameter": null/')"
of_use 'a profile of rounds'
odd "$(point parameter pick up 6 4 bool true)"
of_use 'a profile of a bool'
# Other places, names, kinds and types.
while read -r kind function parameter line column type value; do
  odd "$(point $kind $function $parameter $line $column "${type//_/ }" "$value")"
  passed_over "$kind $function $parameter $line $column $type $value"
done << 'END'
parameter power n 3 4 i64 3
parameter power n 2 5 i64 3
parameter power n 0 0 i64 3
parameter power n -2 4 i64 3
parameter power n 4294967298 4 i64 3
parameter power n 9223372036854775807 4 i64 3
parameter power n "2" 4 i64 3
parameter power n null [] i64 3
parameter power x 2 4 i32 3
parameter power m 2 4 i64 3
parameter Power n 2 4 i64 3
condition power n 2 4 i64 3
rounds power n 2 4 i64 3
rounds power n 3 16 i64 3
parameters power n 2 4 i64 3
parameter power n 2 4 i32 3
parameter power n 2 4 bool true
parameter power n 2 4 i64 9223372036854775808
parameter power n 2 4 i64 -9223372036854775809
parameter power n 2 4 i64 3.0
parameter power n 2 4 i64 3i64
parameter power n 2 4 i64 x
parameter power n 2 4 i64 =""
parameter power n 2 4 i64 =3
parameter power n 2 4 i64 =null
parameter power n 2 4 i64 ={}
parameter power n 2 4 i64 f32[3]
parameter pick k 6 4 i32 2147483648
parameter pick k 6 4 i32 -2147483649
parameter scale x 12 4 f32[?,_?] 3
parameter scale x 12 4 f32[?,_?] f32
parameter scale x 12 4 f32[?,_?] f32[]
parameter scale x 12 4 f32[?,_?] f32[2]
parameter scale x 12 4 f32[?,_?] f32[2, 3, 4]
parameter scale x 12 4 f32[?,_?] f32[2, 3
parameter scale x 12 4 f32[?,_?] f32[2, 3]]
parameter scale x 12 4 f32[?,_?] f32[2 3]
parameter scale x 12 4 f32[?,_?] f32[-2, 3]
parameter scale x 12 4 f32[?,_?] f32[2, 9223372036854775808]
parameter scale x 12 4 f32[?,_?] f32[?, ?]
parameter scale x 12 4 f32[?] f32[2]
parameter scale x 12 4 f32[?,_?] =[2, 3]
parameter scale c 12 4 f32 0.25
END
for rounds in 0 17 -1 4294967299 18446744073709551619 '' x; do
  odd "$(point rounds power '' 3 16 i64 "$rounds" | sed 's/"parameter": ""/"parameter": null/')"
  passed_over "so many rounds: $rounds"
done
for points in '1' 'null, true, "x", 1.5, [], {}' '[[[[{}]]]]' '{"kind": 3}' '{"kind": "parameter"}' \
  '{"kind": "parameter", "line": 2, "column": 4, "function": 7, "parameter": {}, "type": [], "times": 5000}'; do
  odd "$points"
  passed_over "points that are none: $points"
done
point parameter power n 2 4 i64 3 > one
odd "$(sed 's/"times": [^,]*/"times": 1000/' one)"
of_use 'often enough'
odd "$(point parameter powers n 7 4 i64 3 | sed 's/"times": [^,]*/"times": 1/')"
of_use 'a function that hosts call once'
for words in '"times": 999' '"times": -5000' '"times": "5000"' '"times": null' '"changes": 1' '"most": "4"' '"most": null' \
  '"least": null' '"least": "-3"'; do
  odd "$(sed "s/${words%%:*}: [^,]*/$words/" one)"
  passed_over "not always so, or not often enough: $words"
done
odd "$(point parameter power n 2 4 i64 3)" "$(point parameter power n 2 4 i64 3)"
passed_over 'a point that is there twice'
works 'a profile of another program' sh -c "'$hiaton' profile '$2/examples/primes.hia' --fn primes 300 --json --max-time 0.05 > odd.json"
passed_over 'a profile of another program'

# Sizes and numbers that no argument has are never met.
for value in 'f32[9223372036854775807, 9223372036854775807]' 'f32[4294967296, 4294967296]' 'f32[0, 0]' \
  'f32[1152921504606846976, 4]' 'f32[00002, +3]'; do
  odd "$(point parameter scale x 12 4 'f32[?, ?]' "$value")"
  works "of sizes $value" "$hiaton" build p.hia --fn scales --profile odd.json --exe -o with/scales
  alike "of sizes $value" scales 100 2 3
  alike "of sizes $value" scales 0 0 0
done
for value in 9223372036854775807 -9223372036854775808 0; do
  odd "$(point parameter power n 2 4 i64 $value)" "$(point parameter powers m 7 4 i64 $value)" \
    "$(point parameter pick k 6 4 i32 ${value:0:3})" "$(point parameter pick up 6 4 bool false)"
  works "a number $value" "$hiaton" build p.hia --fn powers --profile odd.json --exe -o with/powers
  alike "a number $value" powers 50 3 true 2
  alike "a number $value" powers 50 0 false 0
  alike "a number $value" powers 0 0 true 0
done

# ---- files that are no profiles ----

refused() { # NAME PATTERN, of the file bad.json
  fails "$1" 1 "$2" "$hiaton" build p.hia --profile bad.json -o x.o
  fails "$1: a program" 1 "$2" "$hiaton" build p.hia --fn powers --profile bad.json --exe -o x --header x.h
}
none='error.argument.: bad.json is no profile that `hiaton profile --json` has written: '
fails 'no file' 1 'error.io.: .*nofile.json.*No such file' "$hiaton" build p.hia --profile nofile.json -o x.o
fails 'a folder' 1 '^error' "$hiaton" build p.hia --profile with -o x.o
fails 'an empty file' 1 "is no profile" "$hiaton" build p.hia --profile /dev/null -o x.o
fails 'the program' 1 'p.hia is no profile .*line 1' "$hiaton" build p.hia --profile p.hia -o x.o
while read -r pattern text; do
  printf '%s\n' "$text" > bad.json
  refused "$text" "$none.*${pattern//_/ }"
done << 'END'
line_1,_column profile
line_2,_column {"schema": 1, "points": [
line_1,_column {"schema": 1, "points": [{"kind": "parameter"]}
line_1,_column {"schema": 1, "points": [{"line": 99999999999999999999}]}
line_1,_column {"schema": 1, "points": [{"kind": "\u0000"}]}
line_1,_column 1
schema_is_another_one {}
schema_is_another_one []
schema_is_another_one {"schema": 2, "points": [{}]}
schema_is_another_one {"schema": 0, "points": [{}]}
schema_is_another_one {"schema": "1", "points": [{}]}
schema_is_another_one {"schema": 1.0, "points": [{}]}
schema_is_another_one {"schema": 4294967297, "points": [{}]}
schema_is_another_one {"points": [{}]}
no_points {"schema": 1}
no_points {"schema": 1, "points": null}
no_points {"schema": 1, "points": {"kind": "parameter"}}
nothing_of_values {"schema": 1, "points": []}
END
printf '{"schema": 1, "points": [{"kind": "\xff\xfe"}]}\n' > bad.json
refused 'bytes that are no text' "$none"'line 1, column'
head -c 3000000 "$hiaton" > bad.json
refused 'a file of bytes' "$none"'line 1, column'
head -c 200000 /dev/zero | tr '\0' '[' > bad.json
refused 'deep JSON' "$none"'line 1, column .*depth'
{ printf '{"schema": 1, "points": '; head -c 5000 /dev/zero | tr '\0' '['; head -c 5000 /dev/zero | tr '\0' ']'; echo '}'; } > bad.json
refused 'deep points' "$none"'line 1, column .*depth'
head -c 10000000 /dev/zero | tr '\0' ' ' > bad.json
refused 'ten MB of nothing' "$none"'line 1'
{ printf '{"schema": 1, "points": ['; for ((i = 0; i < 20; i++)); do cat one; printf ','; done; } > twenty
{ for ((i = 0; i < 1500; i++)); do cat twenty; done | sed 's/{"schema": 1, "points": \[/{"a": 1},/g; s/^{"a": 1},/{"schema": 1, "points": [/'
  echo '{}]}'; } > odd.json
passed_over 'ten MB of one point'
{ printf '{"schema": 1, "points": [{"kind": "'; head -c 10000000 /dev/zero | tr '\0' x; echo '"}]}'; } > odd.json
passed_over 'ten MB of text'

# ---- with other options ----

fails 'with fuel' 1 'error.unsupported.: .*fuel' "$hiaton" build p.hia --fn powers --profile powers.json --fuel -o x.o --header x.h
fails 'a program with fuel' 1 'error.unsupported.: .*fuel' "$hiaton" build p.hia --fn powers --profile powers.json --fuel --exe -o x
works 'a graph' sh -c "'$hiaton' dump p.hia --stage graph > p.ir"
fails 'of a graph' 1 'error.unsupported.: .*graph' "$hiaton" build p.ir --from-ir --prefix p --profile powers.json -o x.o
fails 'no FILE' 2 'profile' "$hiaton" build p.hia -o x.o --profile
fails 'a command that builds nothing' 2 'profile' "$hiaton" run p.hia --profile powers.json

# Functions that compute gradients have no points.
cat > p.hia << 'END'
fn power(x: f64, n: i64) -> f64 = if n == 0 then 1 else x * power(x, n - 1)
fn main(x: f64, n: i64) -> f64 = grad(power, wrt = x)(x, n) + power(x, n)
END
odd "$(point parameter power n 1 4 i64 3)" "$(point parameter main n 2 4 i64 3)"
works 'gradients without' "$hiaton" build p.hia --exe -o without/main
works 'gradients with' "$hiaton" build p.hia --profile odd.json --exe -o with/main
for words in '2.0 3' '0.5 7' '3.0 0'; do alike 'gradients' main $words; done

echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" = 0 ]
