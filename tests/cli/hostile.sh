#!/usr/bin/env bash
# Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0
# Programs and graphs with more of something than a field of 8 or 16 bits can count: each runs in all engines, with
# the same result, or is rejected with a position. In builds with AddressSanitizer nothing may touch other memory.
#
#   hostile.sh HIATON [--no-native] [--no-expand]      without these engines
set -u
export HIATON_CACHE=off # what a run compiles is what the test sees
hiaton=$1
engines=' interp expand jit '
for word in "${@:2}"; do
  case $word in --no-native) engines=${engines/ jit / } ;; --no-expand) engines=${engines/ expand / } ;; esac
done
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
passed=0 failed=0
verdict() { # WHAT WANTED GOT
  case $3 in
  $2) passed=$((passed + 1)) ;;
  *)
    failed=$((failed + 1))
    printf 'FAILED: %s: %s instead of %s\n' "$1" "${3:0:300}" "$2"
    ;;
  esac
}

# list N FORMAT [SEPARATOR]: FORMAT for each number below N, where %d is the number.
list() { perl -e 'my ($n, $f, $s) = @ARGV; print join $s, map { (my $t = $f) =~ s/%d/$_/g; $t } 0 .. $n - 1' "$1" "$2" "${3-, }"; }

# runs NAME WANTED [ENGINES] -- ARGUMENT...: the program on standard input.
runs() {
  local name=$1 wanted=$2 in=$engines engine
  shift 2
  [ "$1" = -- ] || { in=$1; shift; }
  shift
  cat >"$work/p.hia"
  for engine in $in; do
    case " $engines " in *" $engine "*) ;; *) continue ;; esac
    verdict "$name, $engine" "$wanted" "$("$hiaton" run --engine "$engine" "$work/p.hia" -- "$@" 2>&1)"
  done
}
rejected() { # NAME WANTED
  cat >"$work/p.hia"
  verdict "$1" "$2" "$("$hiaton" run --engine interp "$work/p.hia" -- 1.5 2>&1 | tr '\n' ' ')"
}

# ---- tapes: a tree of pieces, with two levels ----

near='fn near(a: f64, b: f64) = abs(a - b) <= 0.000000001 * abs(a)'
runs 'a tape of 4,100 words' true -- 1.0001 <<END
$near
fn f(x: f64) -> f64 = $(list 4100 x '*')
fn power(x: f64, n: i32) -> f64 = (loop (p: f64 = 1.0, i = 0) while i < n { (p * x, i + 1) }).0
fn main(x: f64) = near(grad(f, wrt = x)(x), 4100 * power(x, 4099))
END

"$hiaton" dump --stage graph --after grad "$work/p.hia" >"$work/p.ir"
for engine in $engines; do
  verdict "its graph, read again, $engine" true "$("$hiaton" run --engine "$engine" --from-ir "$work/p.ir" -- 1.0001 2>&1)"
done
runs 'a tape of 1,300 references' true -- '[1.0001,0.5]' <<END
fn f(v: f64[?]) -> f64 = {
$(list 1300 '  let a%d = @ * v;' $'\n' | awk '{ sub("@", NR == 1 ? "v" : "a" NR - 2); print }')
  sum(a1299)
}
fn rounds(v: f64[?]) -> f64 = { let r = loop (a = v, i = 0) while i < 1300 { (a * v, i + 1) }; sum(r.0) }
fn main(v: f64[?]) = {
  let (a, b) = (grad(f, wrt = v)(v), grad(rounds, wrt = v)(v));
  all(abs(a - b) <= 0.000000001 * abs(a))
}
END
runs '1,100 values from outside of a comprehension' true 'interp jit' -- 0.5 <<END
$near
fn f(x: f64, n: i32) -> f64 = {
$(list 1100 '  let a%d = x * %d;' $'\n')
  sum([$(list 1100 'a%d * f64(k)' ' + ') for k in 0..n])
}
fn main(x: f64) = near(grad(f, wrt = x)(x, 4), 6 * $(awk 'BEGIN { print 1100 * 1099 / 2 }'))
END

# ---- types ----

rejected '10,000 fields' '*p.hia:1:10: error?E0316?: the fields of*' <<END
type T = A($(list 10000 'x%d: f64')) | B
fn main(x: f64) = x
END
rejected 'an array of tuples of 5,000 parts' '*p.hia:1:30: error?E0316?: the type of this has more than 1000 parts*' <<END
fn main(x: f64) = { let a = [($(list 5000 'x')) for k in 0..3]; a[0].1 }
END
runs '1000 fields' 1000.5 -- 0.5 <<END
type T = A($(list 1000 'x%d: f64')) | B
fn main(x: f64) = match A($(list 1000 'x + %d')) { A($(list 1000 'y%d')) => y0 + y999 - x + 1, B => 0.0 }
END
runs 'the gradient of an array of tuples of 998 parts' 2991.0 'interp jit' -- 1.5 <<END
fn f(a: [($(list 998 'f64'))]) -> f64 = a[2].997 * a[0].1
fn g(x: f64) -> f64 = f([($(list 998 'x * %d')) for j in 0..3])
fn main(x: f64) = grad(g, wrt = x)(x)
END
rejected '65,535 constructors' '*p.hia:1:6: error?E0316?: *65535 constructors, and a type has at most 65534*' <<END
type T = $(list 65535 'C%d' ' | ')
fn main(x: f64) = x
END
rejected 'the gradient of a type with 65,534 constructors' '*p.hia:3:4: no gradient of a type with 65534 constructors*' <<END
type T = $(list 65533 'C%d' ' | ') | D(x: f64)
fn g(t: T) -> f64 = match t { D(x) => x * x, _ => 0.0 }
fn f(x: f64) -> f64 = g(if x > 0 then D(x) else C0)
fn main(x: f64) = grad(f, wrt = x)(x)
END

# ---- functions ----

runs '70,000 parameters' 3.0 'interp expand' -- 1.5 <<END
fn f($(list 70000 'a%d: f64'), n: i32) -> f64 = if n == 0 then a0 + a69999 else f($(list 70000 'a%d'), n - 1)
fn main(x: f64) = f($(list 70000 x), 2)
END
runs '70,000 values at once' 2450035000 'interp' -- 1 <<END
fn main(x: i64) = {
$(list 70000 '  let a%d = x + %d;' $'\n')
  $(list 70000 a%d ' + ')
}
END
runs '70,000 elements of a literal' 69999 'interp' -- 7 69999 <<END
fn main(x: i64, k: i64) = { let a = [$(list 70000 '(x, %d)')]; a[k].1 }
END
runs '70,000 arms' 209997 'interp' -- 69999 <<END
fn main(x: i64) = match x { $(list 70000 '%d => 3 * x'), _ => -1 }
END

# ---- graphs and images ----

graph() { # NAME WANTED: a graph as text
  cat >"$work/p.ir"
  verdict "$1" "$2" "$("$hiaton" run --from-ir "$work/p.ir" --engine interp -- 1 2>&1 | tr '\n' ' ')"
}
graph 'a constructor of 9,000 words' '*p.ir:2:6: *a constructor with more than 1024 words*' <<END
graph functions ""
type T = C($(list 9000 'x: i64')) | N
END
graph 'an array of tuples of 9,000 words' '*p.ir:2:*type has more than 1024 parts*' <<END
graph functions ""
fn f ([($(list 9000 'i64'))]) -> (i64) { yield 0 }
END

printf '%d passed, %d failed, %d skipped\n' "$passed" "$failed" 0
[ "$failed" -eq 0 ]
