#!/usr/bin/env bash
# Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0
# Tests of the command line: its outputs and its exit status.
#
#   run.sh HIATON SOURCE-DIR [--no-native] [--in-turn] [--small-limits]
#
# --in-turn: what is the same in every engine is run in one of them, in the next one each time.
# --small-limits: HIATON is built with HIA_STRESS, so the code of loops is not what it is for users.
#
# A test is one line:  t 'what it shows' STATUS 'standard output' 'pattern of standard error' WORD...
# The output must match exactly but for its last line end; the pattern is a regular expression that has to
# match somewhere, '' meaning that standard error must be empty.
set -u
export HIATON_CACHE=off # what a run compiles is what the test sees
hang=$((300 * ${HIA_TEST_SLOWNESS:-1})) # seconds after which a command is taken to hang
hiaton=$1
sources=$2
native=yes in_turn=no small_limits=no
for word in "${@:3}"; do
  case $word in --no-native) native=no ;; --in-turn) in_turn=yes ;; --small-limits) small_limits=yes ;; esac
done
cd "$sources" || exit 2
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT

passed=0 failed=0
bad() {
  failed=$((failed + 1))
  printf 'FAILED: %s\n' "$1"
  shift
  printf '  %s\n' "$@"
}

t() {
  local what=$1 status=$2 out=$3 err=$4
  shift 4
  timeout "$hang" "$hiaton" "$@" >"$work/out" 2>"$work/err" </dev/null
  local got=$? got_out got_err
  got_out=$(<"$work/out") # without a process: there are two thousand of these
  got_err=$(<"$work/err")
  local command="hiaton $*"
  [ ${#command} -gt 300 ] && command="${command:0:300}..."
  if [ "$got" != "$status" ]; then
    bad "$what" "$command" "exit status $got instead of $status" "${got_err:0:600}"
  elif [ "$got_out" != "$out" ]; then
    bad "$what" "$command" "printed: ${got_out:0:600}" "not:     ${out:0:600}"
  elif [ -z "$err" ] && [ -n "$got_err" ]; then
    bad "$what" "$command" "unexpected: ${got_err:0:600}"
  elif [ -n "$err" ] && ! [[ $got_err =~ $err ]]; then
    bad "$what" "$command" "no '$err' in: ${got_err:0:600}"
  else
    passed=$((passed + 1))
  fi
}

# The same in every engine.
engines="interp expand"
[ $native = yes ] && engines="jit $engines"
n_every=0
every() {
  local what=$1 engine run
  shift
  read -ra run <<<"$engines"
  [ $in_turn = yes ] && run=("${run[n_every++ % ${#run[@]}]}")
  for engine in "${run[@]}"; do t "$what ($engine)" "$1" "$2" "$3" "$4" "${@:5}" --engine "$engine"; done
}

program() { # NAME TEXT
  printf '%s\n' "$2" >"$work/$1.hia"
}

# ---- results ----
program consts 'const half_ = 1'
program bad 'fn f(x: i32) -> i32 = y + 1
fn g(x: i32) -> i32 = h(x, 1)
fn main() = f(2)'
program order 'fn f(n: i32, d: i32) -> i32 = if n == 0 then 1 / d else f(n - 1, d) + f(n - 1, d - 1) % 7
fn main(n: i32) -> i32 = 1 + f(n, 5)'
every 'fib' 0 10946 '' run examples/fib.hia 20
every 'a run again and again' 0 10946 '' run examples/fib.hia 20 --repeat 3
every 'ack' 0 21 '' run examples/ack.hia 2 9
every 'tak' 0 5 '' run examples/tak.hia 12 8 4
every 'primes' 0 2339 '' run examples/primes.hia 500
every 'fact(3)+5' 0 11 '' run examples/fact.hia 3
every 'generic: the type is the argument'"'"'s' 0 2432902008176640005 '' run examples/fact.hia 20i64
every 'generic at f32' 0 125.0 '' run examples/fact.hia 5.0
every 'another function' 0 120 '' run examples/fact.hia --fn fact 5
every 'an instance by its types' 0 120 '' run examples/fact.hia --fn 'fact(i64)' 5
every 'a function of C' 0 1.9599639845401384 '' run examples/normal.hia 0.975
program putchar 'extern impure fn putchar(c: i32) -> i32
fn main(n: i32) -> i32 = if n == 0 then putchar(10) else { let _ = putchar(64 + n); main(n - 1) }'
"$hiaton" dump "$work/putchar.hia" >"$work/putchar.ir"
every 'no function of C' 1 '' "putchar.hia:1:18: error.E0601.: the host has no function 'putchar'.*
 *= hint: with --no-extern there are no functions of C" run "$work/putchar.hia" 3 --no-extern
every 'no function of C, by a graph' 1 '' 'E0601.*--no-extern' run --from-ir "$work/putchar.ir" 3 --no-extern
"$hiaton" dump --stage graph --after batch examples/models/tree_rnn.hia --fn loss >"$work/batched.ir"
every 'fuel of a graph whose operations are computed later' 1 '' 'fuel: its operations are computed later|for native code' \
  run --from-ir "$work/batched.ir" --fn loss --fuel 1000 '[Leaf(1,2)]'
every 'fuel of a graph whose iterations may be frozen' 1 '' 'fuel: its iterations may be frozen|for native code' \
  run --from-ir tests/golden/halve_shared.ir --fuel 1000 5
every 'none is needed' 0 10946 '' run examples/fib.hia 20 --no-extern
t 'no function of C in a bench' 1 '' 'E0601.*--no-extern' bench "$work/putchar.hia" 3 --no-extern
every 'an effect of C' 0 'CBA
10' '' run "$work/putchar.hia" 3
program elsewhere 'extern fn no_such_function(x: f64) -> f64
fn main() = no_such_function()'
program nothere 'extern fn no_such_function(x: f64) -> f64
fn main() = 1'
every 'a function that is nowhere' 1 '' 'error.E0601' run "$work/nothere.hia"
t 'a function of another host, by its declaration' 0 '' '' check "$work/nothere.hia"
t 'its declaration is checked' 1 '' 'elsewhere.hia:2:1[0-9]: error.E0203' check "$work/elsewhere.hia"
shown() { # WHAT PATTERN WORD...
  local what=$1 pattern=$2
  shift 2
  if "$hiaton" "$@" >"$work/out" 2>"$work/err" && grep -qE "$pattern" "$work/out"; then
    passed=$((passed + 1))
  else
    bad "$what" "hiaton $*" "$(head -c 600 "$work/err")" "$(head -c 600 "$work/out")"
  fi
}
program caller 'extern fn no_such_function(x: f64) -> f64
fn main(x: f64) = no_such_function(x) + 1'
for stage in ast graph static; do
  shown "a dump of a function of another host, $stage" no_such_function dump "$work/caller.hia" --stage $stage
done
if [ $native = yes ]; then
  shown 'code of a function of another host' 'call.*host' dump "$work/caller.hia" --stage asm
  # Safepoints of fused loops: the longer an element takes, the fewer lie between them.
  program chunks 'fn short(x: f32[?]) -> f32[?] = tanh(x * 2.0 + 1.0) - x
fn long(x: f64[?]) -> f64[?] = exp(tanh(exp(tanh(exp(tanh(exp(tanh(exp(tanh(exp(tanh(x)))))))))))) * x'
  shown 'elements between safepoints' 'add i64 %begin, 32768$' dump "$work/chunks.hia" --fn short --stage llvm
  shown 'fewer of a long chain' 'add i64 %begin, [1-9][0-9]{3}$' dump "$work/chunks.hia" --fn long --stage llvm
fi
for engine in ${engines% expand}; do
  t "several threads ($engine)" 0 10946 '' run examples/fib.hia 20 --threads 3 --engine "$engine"
done
every 'one thread' 0 10946 '' run examples/fib.hia 20 --threads 1
every 'as many threads as cores' 0 10946 '' run examples/fib.hia 20 --threads 0
if [ $native = yes ]; then
  t 'code for several threads on one' 0 10946 '' run examples/fib.hia 20 --threads 1 --always-fork
  t 'equal calls as often as written' 0 10946 '' run examples/fib.hia 20 --no-merge
  t 'without checks' 0 10946 '' run examples/fib.hia 20 --unchecked --opt 1
fi
for engine in ${engines% expand}; do
  t "a failure on several threads ($engine)" 1 '' 'error\[div-zero\].*
 *in f at [^ ]*order.hia:1:48
( *called from f at [^ ]*order.hia:1:71
){5}( *called from f at [^ ]*order.hia:1:57
){3} *called from main at [^ ]*order.hia:2:30' run "$work/order.hia" 8 --threads 3 --engine "$engine"
done

program pair 'fn main(p: (i32, f64), b: bool) = if b then (p.1, p.0 + 1) else (0.5, -p.0)'
every 'tuples and booleans' 0 '(2.5, 4)' '' run "$work/pair.hia" '(3, 2.5)' true
every 'a float that needs all its digits' 0 '(0.5, 7)' '' run "$work/pair.hia" '(-7, inf)' false

program neg 'fn main(x: i32, y: f32) -> (i32, f32) = (x, y)'
every 'a dash and a digit start an argument' 0 '(-5, -0.25)' '' run "$work/neg.hia" -5 -0.25
every '-inf is an argument' 0 '(-5, -inf)' '' run "$work/neg.hia" -5 -inf
t 'options between arguments' 0 '(1, 2.0)' '' run "$work/neg.hia" 1 --engine interp 2
t 'after -- every word is an argument' 0 '(1, 2.0)' '' run --engine interp -- "$work/neg.hia" 1 2
t 'an option after -- is an argument' 2 '' 'argument' run --engine interp "$work/neg.hia" 1 -- --fn

# ---- counts, times, limits ----
every 'calls of fib(20), from main' 0 10946 '^21891 calls, 0 loop rounds$' run examples/fib.hia 20 --count
every 'calls of fib(20), itself' 0 10946 '^21891 calls' run examples/fib.hia --fn fib 20 --count
"$hiaton" dump examples/fib.hia --count >"$work/counted.ir"
"$hiaton" dump examples/fib.hia >"$work/uncounted.ir"
every 'calls of a graph' 0 10946 '^21891 calls' run --from-ir "$work/counted.ir" 20 --count
every 'calls of a graph that has lost them' 0 10946 '^calls are not known: .* without --count$' \
  run --from-ir "$work/uncounted.ir" 20 --count
every 'phases' 0 10946 'build .*passes .*run ' run examples/fib.hia 20 --time
# Not a sum alone: that would become a loop in native code, which is never too deep.
program down 'fn down(n: i64) -> i64 = if n == 0 then 0 else 1 + down(n - 1) % 1000003
fn main(n: i64) -> i64 = down(n)'
every 'too deep' 1 '' 'error\[depth\]: recursion too deep: more than 1.0 MiB of (stack|frames).*called from down at .*down.hia:1:5[0-9].*calls more' \
  run "$work/down.hia" 10000000 --max-depth 1M
every 'deep enough' 0 1000 '' run "$work/down.hia" 1000 --max-depth 64M
program spin 'fn even(n: i64) -> bool = if n == 0 then true else odd(n - 1)
fn odd(n: i64) -> bool = if n == 0 then false else even(n - 1)
fn main(n: i64) = even(n)'
# Without limits, in an address space that the machine has.
if (ulimit -v 700000 && "$hiaton" run "$work/down.hia" 1) >/dev/null 2>&1; then
  program endless_data 'type L = N | C(h: i64, t: L)
fn grow(n: i64, l: L) -> L = if n < 0 then l else grow(n + 1, C(n, l))
fn main(n: i64) -> L = grow(n, N)'
  program endless_calls 'fn down(n: i64) -> i64 = if n < 0 then 0 else 1 + down(n + 1) % 1000003
fn main(n: i64) -> i64 = down(n)'
  program endless_tensor 'fn main(n: i64) -> f64 = sum(full(1.0, n, n) @ full(1.0, n, n))'
  "$hiaton" run --engine interp -e 'full(0.0, 30000000)' -o "$work/zeros.npz" >/dev/null
  program of_zeros 'fn main(x: f32[n]) -> i64 = n'
  out=$( (ulimit -v 120000 && "$hiaton" run --engine interp "$work/of_zeros.hia" "@$work/zeros.npz") 2>&1)
  status=$?
  if [ $status -eq 1 ] && grep -q 'error.memory.' <<<"$out"; then
    passed=$((passed + 1))
  else
    bad 'an archive that is too large' "$status: $(head -c 300 <<<"$out")"
  fi
  for engine in jit interp expand; do
    for name in data calls tensor; do
      expected='error.(memory|depth).'
      [ $name = tensor ] && expected='error.memory.'
      [ $name = calls ] && expected='error.depth.'
      out=$( (ulimit -v 700000 && "$hiaton" run "$work/endless_$name.hia" 9000 --engine $engine) 2>&1)
      status=$?
      if [ $status -eq 1 ] && grep -Eq "$expected" <<<"$out"; then
        passed=$((passed + 1))
      else
        bad "$name without an end ($engine)" "$status: $(head -c 300 <<<"$out")"
      fi
    done
  done
fi
t 'no limit' 0 1000 '' run "$work/down.hia" 1000 --max-depth none --max-memory none
t 'no word for it' 2 '' 'a number of bytes, as in 64M, or none' run "$work/down.hia" 1000 --max-depth no
every 'tail calls take no space' 0 true '' run "$work/spin.hia" 100000 --max-depth 1M
program endless 'fn busy(n: i32) -> i32 = loop (x = n) while true { x + fib(n) }
fn fib(n: i32) -> i32 = if n <= 1 then 1 else fib(n - 1) + fib(n - 2)
fn main(n: i32) -> i32 = 1 + busy(n)'
every 'past its deadline' 1 '' 'error\[deadline\]: past the deadline: more than 2 s.*(in|called from) main at .*endless.hia:3:' \
  run "$work/endless.hia" 5 --timeout 2
# Functions that call each other, more than can be compiled in half a second: the run does not wait for the compiler.
awk 'BEGIN { for (i = 0; i < 2000; i++)
  printf "fn g%d_(n: i64) -> i64 = if n <= 1 then %d else g%d_(n - 1) + g%d_(n - 2)\n", i, i, (i + 1) % 2000, (i * 7 + 3) % 2000
  print "fn main(n: i64) = g0_(n)" }' >"$work/group.hia"
t 'past its deadline, compiling' 1 '' 'error\[deadline\]: .*while .*main.* was compiled' run "$work/group.hia" 10 --engine jit --timeout 0.5
t 'without time to compile' 0 89 '' run examples/fib.hia 10 --budget 0.000001
for time in 0 x ''; do
  t "a budget of '$time'" 2 '' 'seconds' run "$work/down.hia" 1000 --budget="$time"
done
every 'within its deadline' 0 1000 '' run "$work/down.hia" 1000 --timeout 600
for time in 0 -1 nan 1s ''; do
  t "a timeout of '$time'" 2 '' 'seconds' run "$work/down.hia" 1000 --timeout="$time"
done
every 'fuel for all it makes' 0 10946 'fuel 3 left' run examples/fib.hia 20 --fuel 21894 --time
every 'fuel in thousands' 0 10946 'fuel 109 left' run examples/fib.hia 20 --fuel 22K --time
every 'fuel in millions' 0 10946 'fuel 978109 left' run examples/fib.hia 20 --fuel 1m --time
every 'a call too many' 1 '' 'error\[fuel\]: out of fuel.*in fib at examples/fib.hia:2:47.*called from fib at' \
  run examples/fib.hia 20 --fuel 21890
every 'what does not end' 1 '' 'error\[fuel\]: out of fuel.*in busy at .*endless.hia:1:26.*called from main at .*endless.hia:3:' \
  run "$work/endless.hia" 0 --fuel 101
# With --fn the call of the function counts, as with --count.
every 'fuel for the call' 0 1 '' run examples/fib.hia --fn fib 1 --fuel 1
every 'none for the call' 1 '' '^error\[fuel\]: out of fuel$' run examples/fib.hia --fn fib 1 --fuel 0
every 'a static graph' 1 '' 'error\[unsupported\].*is a static graph' run --from-ir "$work/uncounted.ir" 20 --fuel 9
echo 'fn worse(x: f64) = sqrt(x - 1) fn main(x: f64) = { let y = worse(x); y * 2 }' >"$work/nan.hia"
every 'a NaN is a value' 0 nan '' run "$work/nan.hia" 0.5
every 'or ends the run' 1 '' 'nan.hia:1:20: error\[nan\]: NaN appeared: `sqrt` of -0.5.*in worse at .*nan.hia:1:20.*called from main at .*nan.hia:1:60' \
  run "$work/nan.hia" 0.5 --trap-nan
every 'if an operation makes it' 0 nan '' run "$work/nan.hia" nan --trap-nan
every 'also with fuel' 1 '' 'error\[nan\]: NaN appeared' run "$work/nan.hia" 0.5 --trap-nan --fuel 1
every 'which may run out first' 1 '' 'error\[fuel\]: out of fuel' run "$work/nan.hia" 0.5 --trap-nan --fuel 0
"$hiaton" dump "$work/nan.hia" --stage graph >"$work/nan.ir"
every 'of a graph too' 1 '' 'error\[nan\]' run --from-ir "$work/nan.ir" 0.5 --trap-nan
"$hiaton" dump "$work/nan.hia" >"$work/nan.ir"
every 'but of no static one' 1 '' 'error\[unsupported\]: this graph cannot be run with traps of NaN: it is a static graph' \
  run --from-ir "$work/nan.ir" 0.5 --trap-nan
every 'a trap in a benchmark' 1 '' 'error\[nan\]' bench "$work/nan.hia" 0.5 --trap-nan --runs 1
for fuel in -1 1.5 x 1KB 1k5 K 99999999999999999999 18446744073709552K 20000000T ''; do
  t "fuel of '$fuel'" 2 '' 'a number of calls' run "$work/down.hia" 1000 --fuel="$fuel"
done

t 'a bench past its deadline' 1 '' 'error\[deadline\]: past the deadline: more than 100 ms' \
  bench "$work/endless.hia" 5 --timeout 0.1 --runs 1 --engine interp

# ---- standard input ----
program two 'fn main(n: i32) -> i32 = n * 2
fn half(n: i32) -> i32 = n / 0'
i() { # WHAT STATUS OUTPUT PATTERN FILE WORD...
  cp "$5" "$work/in"
  local input=$work/in
  set -- "$1" "$2" "$3" "$4" "${@:6}"
  timeout "$hang" "$hiaton" "${@:5}" >"$work/out" 2>"$work/err" <"$input"
  local got=$? got_out got_err
  got_out=$(<"$work/out")
  got_err=$(<"$work/err")
  if [ $got = "$2" ] && [[ $got_out =~ $3 ]] && { [ -n "$4" ] && [[ $got_err =~ $4 ]] || [ -z "$4$got_err" ]; }; then
    passed=$((passed + 1))
  else
    bad "$1" "hiaton ${*:5}" "exit status $got" "${got_out:0:600}" "${got_err:0:600}"
  fi
}
i 'a program from standard input' 0 '^42$' '' "$work/two.hia" run - 21 --engine interp
i 'its failure' 1 '^$' '^<stdin>:2:28: error.div-zero' "$work/two.hia" run --engine interp - 21 --fn half
i 'a wrong one' 1 '^$' '^<stdin>:1:1' "$work/err" check -
i 'a dump of it' 0 '^graph static "<stdin>"' '' "$work/two.hia" dump -
"$hiaton" dump "$work/two.hia" >"$work/two.ir"
i 'a graph from it' 0 '^42$' '' "$work/two.ir" run --from-ir - 21 --engine interp
i 'a bench of it, which loads it again and again' 0 'interp .* 42' '' "$work/two.hia" bench - 21 --engine interp --runs 3
[ $native = yes ] && i 'a build of it' 0 '' '' "$work/two.hia" build - -o "$work/two.o" --header "$work/two.h" &&
  { grep -q 'stdin_half(' "$work/two.h" && passed=$((passed + 1)) || bad 'the prefix of a build of it' "$(cat "$work/two.h")"; }
"$hiaton" check - <"$work" 2>"$work/err"
[ $? = 2 ] && grep -q 'cannot read standard input: Is a directory' "$work/err" && passed=$((passed + 1)) || bad 'a folder as input'
"$hiaton" check - <&- 2>"$work/err"
[ $? = 2 ] && grep -q 'cannot read standard input' "$work/err" && passed=$((passed + 1)) || bad 'no input'

# ---- expressions ----
every 'an expression' 0 3 '' run -e '1 + 2'
every 'one that looks like an option' 0 -3 '' run -e '-1 - 2'
every 'one of a program' 0 10946 '' run examples/fib.hia -e 'fib(20)'
every 'before the program' 0 10946 '' run -e 'fib(20)' examples/fib.hia
every 'of generic functions' 0 '(6, 6.0)' '' run examples/fact.hia -e '(fact(3), fact(3.0))'
every 'its calls' 0 10946 '^21891 calls' run examples/fib.hia -e 'fib(20)' --count
every 'its fuel' 0 10946 'fuel 0 left' run examples/fib.hia -e 'fib(20)' --fuel 21891 --time
every 'a failure in it' 1 '' '^<expr>:1:7: error.div-zero.: division by zero
    1 . half. / 0
      .       \^
  in <expr> at <expr>:1:7$' run -e 'half_ / 0' "$work/consts.hia"
every 'a failure below it' 1 '' '^[^<]*two.hia:2:28: error.div-zero.*
  in half at [^<]*two.hia:2:28
  called from <expr> at <expr>:2:1$' run "$work/two.hia" -e '1 +
half(3)'
every 'a mistake in it' 1 '' "^<expr>:1:5: error.E0201.: unknown function 'fob'.*did you mean 'fib'" run examples/fib.hia -e '1 + fob(2)'
every 'mistakes in both' 1 '' 'bad.hia:1:23: error.*bad.hia:2:2[0-9]: error.*<expr>:1:1: error.E0201' run "$work/bad.hia" -e 'x'
every 'no second definition' 1 '' "^<expr>:1:3: error.E0101.: expected an operator or the end of the expression, found 'fn'" \
  run -e '1 fn g() = 2'
every 'nothing' 1 '' '^<expr>:1:1: error.E0101.: expected an expression, found the end' run -e ''
t 'a program that is not there' 2 '' 'cannot read .*nosuch.hia: No such file' run "$work/nosuch.hia" -e 1
t 'a folder' 2 '' 'cannot read .*: Is a directory' run "$work" -e 1
t 'an expression and a function' 2 '' '--fn has no effect with -e' run examples/fib.hia -e 1 --fn fib
t 'an expression and a graph' 2 '' '--from-ir has no effect with -e' run "$work/two.ir" -e 1 --from-ir
t 'an expression and an argument' 2 '' '`3` is one word too many: an expression takes no arguments' run examples/fib.hia 3 -e 1
t 'an expression that is right' 0 '' '' check examples/fib.hia -e 'fib(2)'
t 'one that is wrong' 1 '' '<expr>:1:1: error.E0203' check examples/fib.hia -e 'fib()'
i 'an expression and standard input' 0 '^42$' '' "$work/two.hia" run - -e 'main(21)' --engine interp
shown 'the graph of an expression' '^fn "<expr>\(\)" \(\) -> \(i32\) of "<expr>" root' dump examples/fib.hia -e '1 + fib(3)'
"$hiaton" dump examples/fib.hia -e '1 + fib(20)' >"$work/expr.ir"
every 'its graph runs' 0 10947 '' run --from-ir "$work/expr.ir" --fn '<expr>'
shown 'the tree of an expression' '^fn 1:1 <expr>' dump -e '1 + 2' --stage ast
shown 'a bench of an expression' '^interp .* 10946$' bench examples/fib.hia -e 'fib(20)' --engine interp --runs 2

# ---- failures ----
program zero 'fn div(a: i32, b: i32) -> i32 = a / b
fn twice(a: i32, b: i32) -> i32 = 1 + div(a, b)
fn main(a: i32, b: i32) -> i32 = twice(a, b) * 2'
every 'division by zero' 1 '' 'zero.hia:1:3[0-9]: error\[div-zero\]: division by zero.*
 *in div at .*zero.hia:1:3[0-9]
 *called from twice at .*zero.hia:2:39
 *called from main at .*zero.hia:3:34' run "$work/zero.hia" 1 0
every 'overflowing division' 1 '' 'error\[div-overflow\]' run "$work/zero.hia" -2147483648 -1
program fail 'fn main(n: i32) -> i32 = if n > 0 then n else fail(n - 7)'
every 'fail carries its number' 1 '' 'error\[failed\].*-7' run "$work/fail.hia" 0

# ---- programs that are rejected ----
t 'several errors, each with its place' 1 '' 'bad.hia:1:23: error\[E[0-9]+\].*bad.hia:2:2[0-9]: error' \
  check "$work/bad.hia"
t 'the caret' 1 '' 'fn f\(x: i32\) -> i32 = y \+ 1
 *\| *\^' check "$work/bad.hia"
program similar 'fn factorial(n: i32) -> i32 = if n < 2 then 1 else n * factoral(n - 1)'
t 'did you mean' 1 '' 'factorial' check "$work/similar.hia"
program mixed 'fn f(a: i32, b: i64) = a + b'
t 'mixed dtypes show the conversion' 1 '' 'i64\(' check "$work/mixed.hia"
program base 'fn f(n: i32) = n * f(n - 1)'
t 'no base case' 1 '' 'no base case' check "$work/base.hia"
program endless 'fn f(n, x) = if n == 0 then 0 else f(n - 1, (x, x))
fn main() = f(3, 1)'
t 'instantiation that does not end' 1 '' 'error' check "$work/endless.hia"
program range 'fn main() -> i32 = 3000000000'
t 'a literal out of range' 1 '' 'error' check "$work/range.hia"
program arm 'fn f(n: i32) = match n { _ => 1, 2 => 3 }'
t 'an arm that cannot be reached' 1 '' 'error' check "$work/arm.hia"
program params 'param W: f32[2, 2] = uniform(-1, 1)
param s: f64 = 0.5
fn main() = (W, s)'
every 'params' 0 '([[0.032149076, -0.73240006], [-0.7713953, -0.46460295]], 0.5)' '' run "$work/params.hia"
seven='([[0.11544597, -0.82257915], [0.26341867, 0.74912333]], 0.5)'
t 'a seed' 0 "$seven" '' run "$work/params.hia" --seed 7
t 'params are written' 0 "$seven" '' run "$work/params.hia" --seed 7 --save-params "$work/p.safetensors"
t 'and read' 0 "$seven" '' run "$work/params.hia" --params "$work/p.safetensors"
t 'no params' 2 '' '--params is for params: the program has none' run examples/fib.hia 3 --params x
t 'a seed and a file' 2 '' 'no effect with --params' run "$work/params.hia" --params x --seed 3
t 'no file' 2 '' 'No such file' run "$work/params.hia" --params "$work/none.safetensors"
t 'no seed' 2 '' 'a number from 0' run "$work/params.hia" --seed -1
program more 'param W: f32[2, 2] = uniform(-1, 1)
param t: f64 = 0.5
fn main() = (W, t)'
t 'a param is missing' 2 '' 'there is no tensor `t`' run "$work/more.hia" --params "$work/p.safetensors"
program other 'param W: f32[2, 3] = uniform(-1, 1)
fn main() = W'
t 'another shape' 2 '' 'W' run "$work/other.hia" --params "$work/p.safetensors"
head -c 60 "$work/p.safetensors" > "$work/cut.safetensors"
t 'a file that is cut off' 2 '' 'cut.safetensors' run "$work/params.hia" --params "$work/cut.safetensors"
t 'params in a form that there is not' 2 '' '--save-params: .p.txt. should be FILE.safetensors or FILE.npz' run "$work/params.hia" --save-params p.txt
printf '\x93NUMPY\x01\0' >"$work/lone.npy"
t 'an array without a name' 2 '' 'lone.npy: this is a .npy file, one array without a name; of tensors by name there are .npz files, as np.savez' \
  run "$work/params.hia" --params "$work/lone.npy"
cp "$work/lone.npy" "$work/lone.npz"
t 'under another name' 2 '' 'lone.npz: this is a .npy file' run "$work/params.hia" --params "$work/lone.npz"
printf 'PK\3\4' >"$work/archive.safetensors"
t 'an archive under another name' 2 '' 'this is a zip archive; if it is one of NumPy, its name has to end in .npz' \
  run "$work/params.hia" --params "$work/archive.safetensors"
t 'no place' 2 '' 'No such file' run "$work/params.hia" --save-params "$work/none/p.safetensors"
t 'params for NumPy' 0 0 '' run "$work/params.hia" -e 0 --seed 7 --save-params "$work/p.npz"
t 'and read' 0 "$seven" '' run "$work/params.hia" --params "$work/p.npz"
t 'a param is missing there' 2 '' 'there is no tensor `t`' run "$work/more.hia" --params "$work/p.npz"
t 'another shape there' 2 '' "expected f32.2, 3., the tensor 'W' is f32.2, 2." run "$work/other.hia" --params "$work/p.npz"
head -c 300 "$work/p.npz" > "$work/cut.npz"
t 'an archive that is cut off' 2 '' 'cut.npz: the .npz file is damaged: it has no end record, at byte 300' run "$work/params.hia" --params "$work/cut.npz"
# Operations on elements are one loop, and equal structures share theirs (docs/kernels.md).
program fused 'fn f(x: f32[?], y: f32[?]) = tanh(x * 2.0) + y
fn g(x: f32[?], y: f32[?]) = tanh(y * 3.0) + x
fn main(x: f32[?], y: f32[?]) = (f(x, y)[0..1] @ x, g(y, x)[0..1] @ y, (x - y) * x)'
if [ $native = yes ] && [ $small_limits = no ] && grep -qw fma /proc/cpuinfo; then
  loops=$("$hiaton" dump "$work/fused.hia" --fn main --stage llvm | grep -c 'define internal .*@hia_loop')
  if [ "$loops" = 2 ]; then
    passed=$((passed + 1))
  else
    bad 'loops are shared' 'dump --stage llvm' "$loops loops, not 2"
  fi
fi
program data 'type T = A | B(x: i32, t: T)
fn sum(t: T) -> i32 = match t { A => 0, B(x, u) => x + sum(u) }
fn main() = 42
fn other() = sum(B(1, A))'
t 'data are checked' 0 '' '' check "$work/data.hia"
every 'functions without data are run' 0 42 '' run "$work/data.hia"
t 'functions with data are interpreted' 0 1 '' run "$work/data.hia" --fn other --engine interp
t 'and copied' 0 1 '' run "$work/data.hia" --fn other --engine expand
t 'and compiled' 0 1 '' run "$work/data.hia" --fn other
t 'and ahead of time' 0 '' '' build "$work/data.hia" -o "$work/data.o"
shown 'their assembly' 'hiaR_stub_alloc' dump "$work/data.hia" --stage asm
t 'a graph that counts references' 0 55000065000030 '' run --from-ir tests/graphs/counts.ir --fn shared 10
t 'is interpreted without its counts' 0 55000065000030 '' run --from-ir tests/graphs/counts.ir --fn shared 10 --engine interp
t 'a graph that could write anywhere' 1 '' 'an address is from dest or hole.at' run --from-ir tests/graphs/put.ir 7
t 'a graph that does not fill all of an array' 1 '' 'error.internal' run --from-ir tests/graphs/fill.ir 1
t 'within their bounds' 1 '' 'index 7 is out of range' run --from-ir tests/graphs/fill.ir 7
t 'by native code' 1 '' 'it is for native code' run --from-ir tests/graphs/fill.ir 7 --engine interp
t 'and not ahead of time' 1 '' 'must not have arrays that are not full' build --from-ir tests/graphs/fill.ir -o "$work/fill.o"
shown 'it is shown, too' 'fill %2, %0, %3' dump --from-ir tests/graphs/fill.ir
t 'and its code is not made' 1 '' 'an address is from dest or hole.at' dump --from-ir tests/graphs/put.ir --stage llvm
every 'elements of rows' 0 '(4.0, 6.0)' '' run --from-ir tests/graphs/items.ir --fn item '[[1.0,2.0,3.0],[4.0,5.0,6.0]]' 1
every 'of rows that are not there' 1 '' 'index 2 is out of range: the tensor has 2 rows' \
  run --from-ir tests/graphs/items.ir --fn item '[[1.0,2.0,3.0],[4.0,5.0,6.0]]' 2
every 'that the rows do not have' 1 '' 'error.internal' run --from-ir tests/graphs/items.ir --fn item '[[1.0,2.0],[4.0,5.0]]' 1
every 'of vectors' 0 true '' run --from-ir tests/graphs/items.ir --fn flag '[true,false]' 0
shown 'the graph of data' 'field B.0 %0' dump "$work/data.hia" --stage graph
program array 'fn first(xs: [(i32, i32)]) = xs[0]
fn main() = first([(1, 2)])'
t 'arrays are checked' 0 '' '' check "$work/array.hia"
every 'and run' 0 '(1, 2)' '' run "$work/array.hia"
for level in 0 1 2 3; do
  for threads in 1 3; do
    t "arrays: sieve, level $level, threads $threads" 0 9592 '' run tests/cli/arrays.hia --fn sieve 100000 --opt $level --threads $threads
    t "arrays: trees, level $level, threads $threads" 0 16384 '' run tests/cli/arrays.hia --fn trees 14 --opt $level --threads $threads
    t "arrays: versions, level $level, threads $threads" 0 10173371 '' run tests/cli/arrays.hia --fn versions 40 --opt $level --threads $threads
  done
done
every 'an index that is not there' 1 '' 'range]: index 7 is out of range: the array has 5 elements' run tests/cli/arrays.hia --fn index 5 7
every 'a slice that is not there' 1 '' 'range]: slice 3..9 is out of range: the array has 5 elements' run tests/cli/arrays.hia --fn slice 5 3 9
every 'an array as argument and result' 0 '[(2, 1), (9, 2), (5, 5)]' '' run tests/cli/arrays.hia --fn sort '[(9, 2), (2, 1), (5, 5)]' 0 1
every 'arrays: sieve' 0 168 '' run tests/cli/arrays.hia --fn sieve 1000
every 'arrays: trees' 0 1024 '' run tests/cli/arrays.hia --fn trees 10
every 'an index of a vector' 1 '' 'range]: index 3 is out of range: the vector has 3 elements' run -e '[1, 2, 3][3]'
every 'a row' 1 '' 'range]: index 2 is out of range: the tensor has 1 row' run -e '[[1, 2, 3]][2]'
every 'rows' 1 '' 'range]: slice 1..3 is out of range: the tensor has 2 rows' run -e '[[1], [2]][1..3]'
every 'the place of a one' 1 '' 'range]: index 5 is out of range: the vector is to have 3 elements' run -e 'one_hot(5, 3)'
every 'a label' 1 '' 'range]: index 2 is out of range: the last axis has 2 elements' run -e 'cross_entropy([1.0, 2.0], 2)'
every 'a field of another size' 2 '' 'E0340.: shapes do not fit: field v of Leaf is f32.3, [?]., the value is f32.2, 1.' run tests/cli/sized.hia --fn first 'Leaf([[1], [2]])'
every 'a field without elements' 0 0 '' run tests/cli/sized.hia --fn none 'Wide([])'
every 'an argument without elements' 1 '' 'array.hia:1:32: error.range.: index 0 is out of range: the array has 0 elements' run "$work/array.hia" --fn 'first([(i32, i32)])' '[]'
shown 'the graph of arrays' ' at 0 %0, ' dump "$work/array.hia" --stage graph
shown 'the tree of data' '^    pattern 2:41 B : T' dump "$work/data.hia" --stage ast
every 'matches on data: lists 0' 0 '(0, -1, 0)' '' run tests/cli/data_matches.hia --fn lists 0
every 'matches on data: lists 1' 0 '(0, 0, 0)' '' run tests/cli/data_matches.hia --fn lists 1
every 'matches on data: lists 100' 0 '(4950, 99, 4950)' '' run tests/cli/data_matches.hia --fn lists 100
every 'matches on data: tree 0' 0 '(0, 0, true)' '' run tests/cli/data_matches.hia --fn tree 0
every 'matches on data: tree 10' 0 '(10, 18, true)' '' run tests/cli/data_matches.hia --fn tree 10
every 'matches on data: tree 1000' 0 '(1000, 166833, true)' '' run tests/cli/data_matches.hia --fn tree 1000
every 'matches on data: kinds 1' 0 '353' '' run tests/cli/data_matches.hia --fn kinds 1
every 'matches on data: kinds 10' 0 '281413296' '' run tests/cli/data_matches.hia --fn kinds 10
every 'matches on data: kinds 60' 0 '1553633180' '' run tests/cli/data_matches.hia --fn kinds 60
every 'matches on data: kinds 1000' 0 '1628166916' '' run tests/cli/data_matches.hia --fn kinds 1000
t 'the program is checked before the arguments' 1 '' 'bad.hia:1' run "$work/bad.hia" --engine interp nonsense
t 'a generic function at a type that does not fit' 1 '' 'fact.hia' run examples/fact.hia --engine interp true


# ---- values of data and arrays, and files of them ----
program trees 'type Tree = Leaf(word: i32, label: i32) | Node(left: Tree, right: Tree, label: i32)
type Chain = Link(label: i32, next: Chain) | End(label: i32, word: i32)
fn mirror(t: Tree) -> Tree = match t { Leaf(w, l) => t, Node(a, b, l) => Node(mirror(b), mirror(a), l) }
fn sum(t: Tree) -> i32 = match t { Leaf(w, l) => w, Node(a, b, l) => sum(a) + sum(b) }
fn full(n: i32) -> Tree = if n == 0 then Leaf(n, 1) else { let t = full(n - 1); Node(t, t, n) }
fn chain(c: Chain) -> i32 = match c { Link(l, n) => chain(n), End(l, w) => l + w }
fn same(t) = t
fn double(t: Tree) = (t, 2, t)'
run_tree() { # WHAT STATUS OUT ERR FUNCTION WORD...
  every "$1" "$2" "$3" "$4" run "$work/trees.hia" --fn "${@:5}"
}
run_tree 'data in and out' 0 'Node(Leaf(3, 4), Leaf(1, 2), 5)' '' mirror 'Node(Leaf(1, 1 + 1), Leaf(3, 4), 5)'
run_tree 'a tuple of data' 0 '(Leaf(1, 2), 2, Leaf(1, 2))' '' double 'Leaf(1, 2)'
t 'data of a generic function' 0 '[(1, Leaf(1, 2)), (2, Leaf(2, 3))]' '' run "$work/trees.hia" --engine interp --fn same '[(1, Leaf(1, 2)), (2, Leaf(2, 3))]'
t 'an array' 0 '[]' '' run "$work/trees.hia" --engine interp --fn 'same([Tree])' '[]'
t 'an empty array of a generic function' 0 '[([], full(0, 0, 3))]' '' run "$work/trees.hia" --engine interp --fn same '[([Leaf(1, 2)][0..0], full(0i64, 0, 3))]'
t 'one of no type' 2 '' 'no type is given for this.*hint: an array without elements is .x..0..0.' run "$work/trees.hia" --engine interp --fn same '[]'
run_tree 'a wrong argument' 2 '' "argument 1:1:1: error.E0203.: 'Leaf' takes 2 arguments" mirror 'Leaf(1)'
run_tree 'another wrong argument' 2 '' "argument 1:1:6: error.E0401.: expected a value of type Tree" mirror 'Node(3, 4, 5)'

printf 'Node(Leaf(1, 2),\n  Leaf(3, 4), # the right one\n  5)\n' >"$work/tree.txt"
printf 'Node(Leaf(1, 2),\n  Leaf(3, x), 5)\n' >"$work/wrong.txt"
run_tree 'a value from a file' 0 'Node(Leaf(3, 4), Leaf(1, 2), 5)' '' mirror "@$work/tree.txt"
run_tree 'a generic one' 0 'Node(Leaf(1, 2), Leaf(3, 4), 5)' '' same "@$work/tree.txt"
echo ' 0 # none' >"$work/zero.txt"
run_tree 'a scalar' 0 'Leaf(0, 1)' '' full "@$work/zero.txt"
run_tree 'the place in the file' 2 '' 'wrong.txt:2:11: error.E0201' mirror "@$work/wrong.txt"
run_tree 'no such file' 2 '' 'error.io.: cannot read .*/nosuch: No such file' mirror "@$work/nosuch"
run_tree 'no such trees' 2 '' 'error.io.: cannot read .*/nosuch.ptb: No such file' mirror "@$work/nosuch.ptb"
run_tree 'a directory' 2 '' 'error.io.: cannot read .*: Is a directory' mirror "@$work"

printf '(3 (2 It) (4 (1 works) (0 well)))' >"$work/a.ptb"
printf '(3 (2 It) (4 works))\n(0 well)\n' >"$work/two.ptb"
printf 'works\nIt\n<unk>\n' >"$work/vocab"
printf 'bad\ngood\nbest\n' >"$work/labels"
printf '(good (bad It) (best works))' >"$work/words.ptb"
run_tree 'trees in brackets' 0 'Node(Node(Leaf(2, 0), Leaf(0, 1), 4), Leaf(1, 2), 3)' '' mirror "@$work/a.ptb" --vocab "$work/vocab"
t 'all trees of a file' 0 '[Node(Leaf(1, 2), Leaf(0, 4), 3), Leaf(2, 0)]' '' run "$work/trees.hia" --engine interp --fn 'same([Tree])' "@$work/two.ptb" --vocab "$work/vocab"
run_tree 'named labels' 0 'Node(Leaf(0, 2), Leaf(1, 0), 1)' '' mirror "@$work/words.ptb" --vocab "$work/vocab" --labels "$work/labels"
run_tree 'a vocabulary is built' 0 'Node(Leaf(0, 2), Node(Leaf(1, 1), Leaf(2, 0), 4), 3)' '' 'same(Tree)' "@$work/a.ptb" --build-vocab "$work/built"
[ "$(paste -sd' ' "$work/built")" = 'It works well' ] && passed=$((passed + 1)) || bad 'the vocabulary that was built' "$(cat "$work/built")"
printf '# one) (\n(3 (2 \xef\xbb\xbfIt) (4 (1 \\u{a}) (0 \xc2\x85)))\n# two\n' >"$work/odd.ptb"
run_tree 'a vocabulary of odd words' 0 'Node(Leaf(0, 2), Node(Leaf(1, 1), Leaf(2, 0), 4), 3)' '' 'same(Tree)' "@$work/odd.ptb" --build-vocab "$work/odd"
run_tree 'is read back' 0 'Node(Leaf(0, 2), Node(Leaf(1, 1), Leaf(2, 0), 4), 3)' '' 'same(Tree)' "@$work/odd.ptb" --vocab "$work/odd"
run_tree 'no such vocabulary' 2 '' 'error.io.: cannot read .*/nosuch: No such file' mirror "@$work/a.ptb" --vocab "$work/nosuch"
run_tree 'no place for a vocabulary' 1 '' 'error.io.: cannot write .*/nosuch/v: No such file' 'same(Tree)' "@$work/a.ptb" --build-vocab "$work/nosuch/v"
run_tree 'a label that is none' 2 '' "a.ptb:1:5: error.E0401.: the labels do not have '2'" mirror "@$work/a.ptb" --vocab "$work/vocab" --labels "$work/labels"
run_tree 'a label that is no number' 2 '' "words.ptb:1:8: error.E0401.: the label 'bad' is no number" mirror "@$work/words.ptb" --vocab "$work/vocab"
printf 'It\n' >"$work/short"
run_tree 'a word that is unknown' 2 '' "a.ptb:1:17: error.E0401.: unknown word 'works'" mirror "@$work/a.ptb" --vocab "$work/short"
printf '(3 (2 \xe6\xbc\xa2e\xcc\x81\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x91\xa7) (4 works))' >"$work/wide.ptb"
run_tree 'a caret below wide characters' 2 '' $'wide.ptb:1:7: error.E0401.*\n      [|]       \\^' mirror "@$work/wide.ptb" --vocab "$work/short"
printf '\xe6\xbc\xa2e\xcc\x81\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x91\xa7\n' >"$work/wide_words"
run_tree 'a caret behind wide characters' 2 '' $'wide.ptb:1:[0-9]*: error.E0401.*works.*\n      [|]                 \\^' mirror "@$work/wide.ptb" --vocab "$work/wide_words"
run_tree 'no vocabulary' 2 '' "no vocabulary has 'It'.*--vocab FILE, or --build-vocab FILE" mirror "@$work/a.ptb"
printf '(3 (2 It) (4' >"$work/cut.ptb"
run_tree 'an unfinished file' 2 '' 'cut.ptb:1:1[0-9]: error.E0101' mirror "@$work/cut.ptb" --vocab "$work/vocab"
printf '(3 (2 It)\n  (4 works)))' >"$work/more.ptb"
run_tree 'one bracket too many' 2 '' 'more.ptb:2:13: error.E0101' mirror "@$work/more.ptb" --vocab "$work/vocab"
run_tree 'two trees for one' 2 '' 'two.ptb:1:1: error.E0101.: expected one tree, found 2' mirror "@$work/two.ptb" --vocab "$work/vocab"
printf '(3 (2 It))' >"$work/one.ptb"
run_tree 'no constructor fits' 2 '' 'one.ptb:1:1: error.E0401.: no constructor of Tree fits a bracket with a label and 1 subtree' mirror "@$work/one.ptb" --vocab "$work/vocab"
run_tree 'brackets for a generic parameter' 2 '' 'is for a parameter with a type, and parameter 1 of .same.t.. has none' same "@$work/a.ptb" --vocab "$work/vocab"
run_tree 'brackets for a number' 2 '' 'i32 is no type of trees' full "@$work/a.ptb" --vocab "$work/vocab"
printf 'a\na\n' >"$work/twice"
run_tree 'a word twice in a vocabulary' 2 '' "twice:2:1: error.E0202.: the word 'a' is on line 1" mirror "@$work/a.ptb" --vocab "$work/twice"
{ printf '(1 %.0s' $(seq 1000000); printf '(2 It)'; printf ')%.0s' $(seq 1000000); } >"$work/deep.ptb"
run_tree 'a tree a million deep' 0 3 '' chain "@$work/deep.ptb" --vocab "$work/vocab"
truncate -s 3000000 "$work/deep.ptb"
run_tree 'and unfinished' 2 '' 'this bracket is not closed' chain "@$work/deep.ptb" --vocab "$work/vocab"

program stream 'type Tree = Leaf(word: i32, label: i32) | Node(left: Tree, right: Tree, label: i32)
fn size(t: Tree) -> i32 = match t { Leaf(_, _) => 1, Node(l, r, _) => size(l) + size(r) + 1 }
fn sizes(trees: [Tree]) -> i32 = {
  let (_, n) = loop (i = 0i64, n = 0) while i < len(trees) { (i + 1, n + size(trees[i])) };
  n
}
fn both(trees: [Tree], more: [Tree]) -> i32 = sizes(trees) * 2 - sizes(more)
fn joined(trees: [Tree]) -> i64 = len(concat(trees, trees[0..1]))
fn past(trees: [Tree]) -> i32 = size(trees[len(trees)])
fn generic(trees: [Tree], n) = i64(sizes(trees)) + i64(n)
fn same(trees: [Tree]) -> [Tree] = trees
fn twice(trees: [Tree]) -> [Tree] = [Node(trees[i], trees[0], 1) for i in 0i64..len(trees)]'
yes '(3 (2 It) (4 works))' | head -n 850000 >"$work/stream.ptb"
every 'a stream of trees' 0 2550000 '' run "$work/stream.hia" --fn sizes "@$work/stream.ptb" --vocab "$work/vocab"
every 'a stream and an array' 0 5099996 '' run "$work/stream.hia" --fn both "@$work/stream.ptb" "@$work/two.ptb" --vocab "$work/vocab"
every 'an array that is no stream' 0 850001 '' run "$work/stream.hia" --fn joined "@$work/stream.ptb" --vocab "$work/vocab"
every 'past the end of a stream' 1 '' 'index 850000 .* 850000' run "$work/stream.hia" --fn past "@$work/stream.ptb" --vocab "$work/vocab"
t 'calls and rounds of a stream' 0 2550000 '2550001 calls, 850000 loop rounds' run "$work/stream.hia" --engine interp --count --fn sizes "@$work/stream.ptb" --vocab "$work/vocab"
every 'a stream with fuel' 1 '' 'error.fuel.: out of fuel' run "$work/stream.hia" --fuel 100000 --fn sizes "@$work/stream.ptb" --vocab "$work/vocab"
t 'a vocabulary of a stream' 0 2550000 '' run "$work/stream.hia" --fn sizes "@$work/stream.ptb" --build-vocab "$work/built"
[ "$(tr '\n' ' ' <"$work/built")" = 'It works ' ] && passed=$((passed + 1)) || bad 'the words of a stream' "$(head -c 200 "$work/built")"
# In memory that the array does not fit into. Sanitizers need more than that to begin with.
if (ulimit -v 120000 && "$hiaton" --version) >/dev/null 2>&1; then
  within() { (ulimit -v 120000 && "$hiaton" run "$work/stream.hia" --engine interp --threads 1 --max-memory 1M --fn "$@" 2>&1); }
  streams() { # FILE OPTION...
    little "$1: a stream in little memory" 2550000 sizes "@$1" "${@:2}"
    little "$1: of a generic function" 2550007 generic "@$1" 7 "${@:2}"
    little "$1: an array in little memory" 'out of memory' joined "@$1" "${@:2}"
  }
  little() { # WHAT, in the output, FUNCTION...
    local out
    out=$(within "${@:3}")
    [[ $out =~ $2 ]] && passed=$((passed + 1)) || bad "$1" "$out"
  }
  streams "$work/stream.ptb" --vocab "$work/vocab"
  t 'saving an array' 0 '' '' run "$work/stream.hia" --fn same "@$work/stream.ptb" --vocab "$work/vocab" -o "$work/stream.hiav"
  streams "$work/stream.hiav"
  # Every element has a part in common with all others: that is in memory, the rest is not.
  t 'saving with sharing' 0 '' '' run "$work/stream.hia" --fn twice "@$work/stream.hiav" -o "$work/shared.hiav"
  little 'a stream whose elements share a part' 5950000 sizes "@$work/shared.hiav"
  truncate -s -1 "$work/stream.hiav"
  t 'a saved stream that is cut' 2 '' 'stream.hiav: error.argument.: the saved value is damaged: it is incomplete' run "$work/stream.hia" --fn sizes "@$work/stream.hiav"
  rm "$work/stream.hiav" "$work/shared.hiav"
fi
every 'a stream of a generic function' 0 2550007 '' run "$work/stream.hia" --fn generic "@$work/stream.ptb" 7 --vocab "$work/vocab"
printf '(2 It' >>"$work/stream.ptb"
run_tree 'a stream that is not finished' 2 '' 'stream.ptb:850001:1: error.E0101.: this bracket is not closed' sum "@$work/stream.ptb" --vocab "$work/vocab"
t 'the same, checked before the run' 2 '' 'stream.ptb:850001:1: error.E0101.: this bracket is not closed' run "$work/stream.hia" --fn sizes "@$work/stream.ptb" --vocab "$work/vocab"
rm "$work/stream.ptb"

# Tensors of NumPy. npy FILE DESCR FORTRAN SHAPE ELEMENTS, which printf prints
npy() {
  local header="{'descr': '$2', 'fortran_order': $3, 'shape': $4, }"
  header=$(printf '%-117s' "$header") # as NumPy pads it: 128 bytes in all
  { printf "\\x93NUMPY\\x01\\0v\\0%s\\n" "$header"; printf "$5"; } >"$1"
}
cat >"$work/tensors.hia" <<'END'
fn twice(x: f32[?, ?]) -> f32[?, ?] = x * 2.0
fn fits(x: f32[n, 3], y: f32[n]) = x
fn same(x) = x
fn pair(x: f32[?]) = (x, x)
fn first(x: (f32[?], f32[?])) = x.0
fn next(n: i64) = n + 1
fn whole(x: i32[?, ?]) = x
fn whole1(x: i32[?]) = x
fn nested(x: (i32, (f32, (bool, i32[?])))) = x
END
run_tensor() { local name=$1 code=$2 out=$3 err=$4; shift 4; every "$name" "$code" "$out" "$err" run "$work/tensors.hia" --fn "$@"; }
npy "$work/x.npy" '<f4' False '(2, 3)' '\0\0\0\0\0\0\x80\x3f\0\0\0@\0\0@@\0\0\x80@\0\0\xa0@'
npy "$work/fortran.npy" '>f4' True '(2, 3)' '\0\0\0\0@@\0\0\x3f\x80\0\0@\x80\0\0@\0\0\0@\xa0\0\0'
npy "$work/scalar.npy" '<i8' False '()' '\x29\0\0\0\0\0\0\0'
npy "$work/bools.npy" '|b1' False '(2, 1)' '\1\0'
npy "$work/narrow.npy" '<f2' False '(2, 1)' '\1\0\0\0'
npy "$work/half.npy" '>f2' False '(2, 1)' '\x3e\0\xb4\0'
npy "$work/objects.npy" '|O' False '(2,)' '\x80\4N.'
npy "$work/large.npy" '<f4' False '(1000000, 1000000)' '\1\0\0\0'
echo '[[1, 2]]' >"$work/text.npy"
head -c 150 "$work/x.npy" >"$work/cut.npy"
run_tensor 'a tensor of NumPy' 0 '[[0.0, 2.0, 4.0], [6.0, 8.0, 10.0]]' '' twice "@$work/x.npy"
run_tensor 'in Fortran order, big-endian' 0 '[[0.0, 2.0, 4.0], [6.0, 8.0, 10.0]]' '' twice "@$work/fortran.npy"
run_tensor 'a scalar of NumPy' 0 42 '' next "@$work/scalar.npy"
run_tensor 'a tensor for a generic parameter' 0 '[[true], [false]]' '' same "@$work/bools.npy"
run_tensor 'a scalar for a generic parameter' 0 41 '' same "@$work/scalar.npy"
run_tensor 'sizes that fit' 0 '[[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]' '' fits "@$work/x.npy" '[1, 2]'
run_tensor 'sizes that do not' 1 '' 'error.shape.: shapes do not fit: axis 0 of .3. is 3, axis 0 of .2. is 2' fits "@$work/x.npy" '[1, 2, 3]'
run_tensor 'a tensor of another dtype' 2 '' 'bools.npy: error.argument.: expected f32.., .., the file.s tensor is bool.2, 1.' twice "@$work/bools.npy"
run_tensor 'a dtype that hiaton lacks' 2 '' "narrow.npy: error.argument.: the dtype of the file's tensor is f16, which is none of bool, i32, i64, f32 and f64; it can be converted to one that is declared" same "@$work/narrow.npy"
run_tensor 'no type to convert it to' 2 '' "which is none of bool, i32" same "@$work/narrow.npy" --convert
run_tensor 'converted where that is asked for' 2 '' "narrow.npy: error.argument.: expected f32.., .., the file's tensor is f16.2, 1.
 *= hint: elements are converted where that is asked for: --convert" twice "@$work/narrow.npy"
run_tensor 'it is' 0 '[[3.0], [-0.5]]' '' twice "@$work/half.npy" --convert
run_tensor 'bools, too' 0 '[[2.0], [0.0]]' '' twice "@$work/bools.npy" --convert
run_tensor 'a number that the dtype has not' 2 '' "narrow.npy: error.argument.: element .0, 0. of the file's tensor is 5.9604644775390625e-08, which no i32 is, at byte 128" whole "@$work/narrow.npy" --convert
t 'nothing to convert' 2 '' '--convert is for tensors in files: there is no @FILE.npy, no @FILE.npz and no --params' run "$work/tensors.hia" --fn next 3 --convert
t 'nothing to build in' 2 '' '--convert has no effect without --params' build "$work/tensors.hia" --fn next --convert -o "$work/next.o"
run_tensor 'objects of Python' 2 '' 'objects.npy: error.argument.: .*objects of Python, which are never read, at byte 20' same "@$work/objects.npy"
run_tensor 'a header that lies' 2 '' 'large.npy: error.argument.: the .npy file is damaged: its shape needs 4000000000000 bytes of elements, it has 4, at byte 60' same "@$work/large.npy"
run_tensor 'a tensor that is cut' 2 '' 'cut.npy: error.argument.: the .npy file is damaged: its shape needs 24 bytes of elements, it has 22' twice "@$work/cut.npy"
run_tensor 'a file that is no tensor' 2 '' 'text.npy: error.argument.: this is no .npy file, at byte 0' twice "@$work/text.npy"
run_tensor 'no such tensor' 2 '' 'error.io.: cannot read .*/nosuch.npy: No such file' twice "@$work/nosuch.npy"
t 'a tensor within a value' 2 '' 'error.E0' run "$work/tensors.hia" --fn pair "[@$work/x.npy]"
t 'a result for NumPy' 0 '' '' run "$work/tensors.hia" --engine interp --fn same "@$work/fortran.npy" -o "$work/out.npy"
cmp "$work/x.npy" "$work/out.npy" && passed=$((passed + 1)) || bad 'as NumPy would write it' "$(od -c "$work/out.npy")"
t 'a scalar for NumPy' 0 '' '' run "$work/tensors.hia" --engine interp --fn same 41i64 -o "$work/out.npy"
cmp "$work/scalar.npy" "$work/out.npy" && passed=$((passed + 1)) || bad 'as NumPy would write it, too' "$(od -c "$work/out.npy")"
t 'a result that is no tensor' 2 '' 'error.argument.: a result of type .f32..., f32.... cannot be in .*/pair.npy: .npy has a tensor or a scalar' run "$work/tensors.hia" --fn pair '[1, 2]' -o "$work/pair.npy"
t 'nor of an archive' 2 '' 'a result of type .i32, .i32, Tree.. cannot be in .*/pair.npz: .npz has tensors and scalars, one or those of a tuple' run "$work/trees.hia" -e '(1, (2, full(1)))' -o "$work/pair.npz"
[ ! -e "$work/pair.npy" ] && passed=$((passed + 1)) || bad 'nothing is written then' ''

# Archives of NumPy.
t 'a tuple for NumPy' 0 '' '' run "$work/tensors.hia" --engine interp --fn pair '[1, 2.5]' -o "$work/pair.npz"
t 'tuples in a tuple' 0 '' '' run - -e '(1, (2.5, (true, [3, 4])))' -o "$work/nested.npz" </dev/null
t 'by their places' 0 '(1, (2.5, (true, [3, 4])))' '' run "$work/tensors.hia" --engine interp --fn nested "@$work/nested.npz"
run_tensor 'one of them' 0 true '' same "@$work/nested.npz:arr_1.1.0"
t 'a place that there is not' 2 '' "there is no array 'arr_1.0'; there are 'arr_0', 'arr_1'" run "$work/tensors.hia" --engine interp --fn nested "@$work/pair.npz"
t 'an element of an archive that the dtype has not' 2 '' "pair.npz: error.argument.: array 'arr_0': element .1. of the tensor 'arr_0' is 2.5, which no i32 is" \
  run "$work/tensors.hia" --engine interp --fn whole1 "@$work/pair.npz:arr_0" --convert
run_tensor 'an array of an archive' 0 '[1.0, 2.5]' '' same "@$work/pair.npz:arr_1"
run_tensor 'a tuple of its arrays' 0 '[1.0, 2.5]' '' first "@$work/pair.npz"
run_tensor 'which one' 2 '' "pair.npz: error.argument.: one array is wanted, and the file has 2: 'arr_0', 'arr_1'" same "@$work/pair.npz"
run_tensor 'no such array' 2 '' "pair.npz: error.argument.: there is no array 'x'; there are 'arr_0', 'arr_1'" same "@$work/pair.npz:x"
run_tensor 'of another type' 2 '' "pair.npz: error.argument.: expected f32.., .., the tensor 'arr_0' is f32.2." twice "@$work/pair.npz:arr_0"
t 'a scalar for NumPy' 0 '' '' run "$work/tensors.hia" --engine interp --fn same 41i64 -o "$work/one.npz"
run_tensor 'the only array' 0 42 '' next "@$work/one.npz"
t 'more than the limit' 1 '' "error.memory.: out of memory: array 'arr_0' has 8 bytes, and 7 may be used" run "$work/tensors.hia" --fn next "@$work/one.npz" --max-memory 7
t 'no such archive' 2 '' 'error.io.: cannot read .*/nosuch.npz: No such file' run "$work/tensors.hia" --fn same "@$work/nosuch.npz:x"
t 'an archive over its argument' 2 '' 'would replace the argument `@.*/one.npz:arr_0`' run "$work/tensors.hia" --fn same "@$work/one.npz:arr_0" -o "$work/one.npz"
# What NumPy writes and reads, where there is one.
numpy() { for python in python3 /usr/bin/python3; do "$python" -c "import numpy as np; $1" 2>/dev/null && return; done; return 1; }
if numpy ''; then
  numpy "a = np.asfortranarray(np.arange(60000, dtype='>f4').reshape(200, 300)); [f('$work/%s.npz' % f.__name__, a=a, b=np.bool_(True)) for f in (np.savez, np.savez_compressed)]"
  run_tensor 'as np.savez writes it' 0 true '' same "@$work/savez.npz:b"
  for file in savez savez_compressed; do
    t "a large array of np.$file" 0 '' '' run "$work/tensors.hia" --engine interp --fn twice "@$work/$file.npz:a" -o "$work/$file.out.npz"
    numpy "z = np.load('$work/$file.out.npz'); assert z.files == ['arr_0'] and (z['arr_0'] == 2 * np.load('$work/$file.npz')['a']).all()" && passed=$((passed + 1)) || bad "np.load reads it ($file)" ''
  done
fi
# Without zlib: a library of its name that has nothing of it.
if cc -shared -x c - -o "$work/libz.so.1" </dev/null 2>/dev/null; then
  LD_LIBRARY_PATH="$work" t 'no zlib' 1 '' 'pair.npz: error.unsupported.: .npz needs zlib, and libz.so.1 cannot be opened' run "$work/tensors.hia" --engine interp --fn same "@$work/pair.npz:arr_0"
fi

run_tree 'a result in a file' 0 '' '' full 3 -o "$work/full.hiav"
run_tree 'and back' 0 0 '' sum "@$work/full.hiav"
run_tree 'with what it shares' 0 '' '' full 60 -o "$work/large.hiav"
[ "$(wc -c <"$work/large.hiav")" -lt 2000 ] && passed=$((passed + 1)) || bad 'a shared tree is small in a file' "$(wc -c <"$work/large.hiav")"
run_tree 'of another type' 2 '' 'full.hiav: error' chain "@$work/full.hiav"
run_tree 'for a generic parameter' 2 '' 'is for a parameter with a type' same "@$work/full.hiav"
head -c 100 "$work/full.hiav" >"$work/short.hiav"
run_tree 'truncated' 2 '' 'short.hiav: error' sum "@$work/short.hiav"
{ head -c 120 "$work/full.hiav"; printf 'x'; tail -c +122 "$work/full.hiav"; } >"$work/other.hiav"
run_tree 'altered' 2 '' 'other.hiav: error' sum "@$work/other.hiav"
: >"$work/none.hiav"
run_tree 'empty' 2 '' 'none.hiav: error' sum "@$work/none.hiav"
t 'a result of another form' 2 '' '-o: .x.txt. should be FILE.hiav, FILE.npy or FILE.npz' run "$work/trees.hia" --fn full 1 -o x.txt
t 'a result in a folder that is none' 1 '' 'cannot write /nosuch/a.hiav: No such file' run "$work/trees.hia" --fn full 1 -o /nosuch/a.hiav
t 'a result over its argument' 2 '' 'would replace the argument' run "$work/trees.hia" --fn sum "@$work/full.hiav" -o "$work/full.hiav"
t 'a vocabulary over the other' 2 '' 'would replace the file of --labels' run "$work/trees.hia" --fn sum "@$work/a.ptb" --build-vocab "$work/labels" --labels "$work/labels"
t 'a vocabulary for no trees' 2 '' '--vocab is for trees' run "$work/trees.hia" --fn full 1 --vocab "$work/vocab"
t 'two vocabularies' 2 '' 'no effect with --build-vocab' run "$work/trees.hia" --fn sum "@$work/a.ptb" --vocab "$work/vocab" --build-vocab "$work/x"
t 'a value of two programs' 0 0 '' run "$work/trees.hia" --engine interp --fn sum "@$work/full.hiav"

timeout "$hang" "$hiaton" run "$work/trees.hia" --engine interp --fn full 20 >"$work/out" 2>"$work/err"
status=$?
size=$(wc -c <"$work/out")
if [ $status = 0 ] && [ "$size" -le 1048580 ] && [ "$size" -gt 1048000 ] && [[ $(tail -c 4 "$work/out") == ... ]] &&
  grep -q '^the result is shortened: -o FILE.hiav writes it whole$' "$work/err"; then
  passed=$((passed + 1))
else
  bad 'a long result is cut' "exit status $status, $size bytes" "$(cat "$work/err")"
fi

t 'a field of another size in a file' 0 '' '' run -e 'Leaf(zeros(2, 5))' tests/cli/unsized.hia -o "$work/sized.hiav"
t 'is refused' 2 '' 'shapes do not fit: field v of Leaf is f32.3, [?]., the value is f32.2, 5.' run tests/cli/sized.hia --fn first "@$work/sized.hiav"
t 'a field of the same size in a file' 0 '' '' run -e 'Leaf(zeros(3, 5))' tests/cli/unsized.hia -o "$work/sized.hiav"
t 'is read' 0 0.0 '' run tests/cli/sized.hia --fn first "@$work/sized.hiav"
t 'a long tensor' 0 '[0, 1, 2, ..., 1997, 1998, 1999]' '^the result is shortened: -o FILE.npy or -o FILE.hiav writes it whole$' run -e 'iota(2000)'
t 'sizes of two parameters' 1 '' '^ *|  *~  *~  *.$' run tests/cli/sized.hia --fn both '[1]' '[1, 2]'

# ---- files that are not programs ----
t 'missing file' 2 '' 'cannot read .*nosuch.hia: No such file' check "$work/nosuch.hia"
t 'directory' 2 '' 'cannot read .*: Is a directory' run "$work"
: >"$work/empty.hia"
t 'an empty file' 1 '' 'the file is empty' check "$work/empty.hia"
program only 'fn f() = 1'
t 'without a main' 2 '' 'no function `main`.*--fn NAME' run "$work/only.hia"
truncate -s 300M "$work/large.hia"
t 'a file that is too large' 1 '' 'large.hia: error.E0005.: the file is too large: at most 256 MiB$' check "$work/large.hia"
rm "$work/large.hia"
printf 'fn main() = 1 # \377\376\n' >"$work/utf8.hia"
t 'invalid UTF-8' 1 '' 'UTF-8' check "$work/utf8.hia"
printf 'fn main() = 1\0 + 2\n' >"$work/nul.hia"
t 'NUL byte' 1 '' 'nul.hia:1:14: error' check "$work/nul.hia"
head -c 1000000 /dev/zero | tr '\0' '(' >"$work/deep.hia"
t 'a megabyte of parentheses' 1 '' 'error' check "$work/deep.hia"
{ printf 'fn main() = '; head -c 1000000 /dev/zero | tr '\0' '('; printf 1;
  head -c 1000000 /dev/zero | tr '\0' ')'; } >"$work/deep2.hia"
timeout "$hang" "$hiaton" check "$work/deep2.hia" >/dev/null 2>&1
case $? in
  0 | 1) passed=$((passed + 1)) ;;
  *) bad 'deep parentheses end in an answer or an error' ;;
esac
mkfifo "$work/pipe"
cat examples/fib.hia >"$work/pipe" &
t 'a pipe is a file' 0 '' '' check "$work/pipe"

# ---- wrong command lines ----
t 'no command' 2 '' 'a command is missing'
t 'unknown command' 2 '' 'there is no command `jump`' jump
t 'unknown option' 2 '' 'there is no option `--jump`' run --jump examples/fib.hia
t 'an option of another command' 2 '' 'there is no option `--stage`' run --stage ast examples/fib.hia 1
t 'unknown short option' 2 '' 'there is no option `-x`' run -x examples/fib.hia
t 'no file' 2 '' 'FILE is missing' run
t 'an option without its value' 2 '' 'takes a value' run examples/fib.hia --fn
t 'a value too many' 2 '' 'takes no value' run examples/fib.hia --time=1
t 'engine' 2 '' 'jit, interp, expand or auto' run examples/fib.hia 1 --engine gpu
t 'too many threads' 2 '' 'a number up to 1024' run examples/fib.hia 1 --threads 1025
t 'threads that are no number' 2 '' 'a number up to 1024' run examples/fib.hia 1 --threads 2x
t 'threads that are nothing' 2 '' 'a number up to 1024' bench examples/fib.hia 1 --threads 1,,2
t 'more numbers than are read' 2 '' 'a number up to 1024' bench examples/fib.hia 1 \
  --threads 1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1
t 'a run on two numbers of threads' 2 '' 'one number' run examples/fib.hia 1 --threads 1,2
t 'depth' 2 '' 'a number of bytes' run examples/fib.hia 1 --max-depth 12X
t 'depth that overflows' 2 '' 'a number of bytes' run examples/fib.hia 1 --max-depth 99999999999T
t 'pass' 2 '' 'there is no pass .nosuch' run examples/fib.hia 1 --no-pass nosuch
t 'fuel of a dump' 2 '' 'takes no value' dump examples/fib.hia --fuel=9
t 'stage' 2 '' 'ast, graph' dump examples/fib.hia --stage nosuch
t 'pass to show' 2 '' 'no pass' dump examples/fib.hia --after nosuch
t 'two files' 2 '' 'one word too many' check examples/fib.hia examples/ack.hia
t 'too few arguments' 2 '' 'takes 3 arguments, not 2' run examples/tak.hia 1 2 --engine interp
t 'too many arguments' 2 '' 'takes 1 argument, not 2' run examples/fib.hia 1 2 --engine interp
t 'an argument that is no value' 2 '' 'argument 1' run examples/fib.hia --engine interp 'fib(3)'
t 'an argument of another type' 2 '' 'argument 1' run examples/fib.hia --engine interp 3i64
t 'an argument out of range' 2 '' 'argument 1' run examples/fib.hia --engine interp 3000000000
printf 'fn main(a, b: f64) = (a, b)\n' >"$work/pair.hia"
t 'literals and expressions side by side' 0 '((1, (3, 2.5)), 7.0)' '' \
  run "$work/pair.hia" --engine interp '(1, (1 + 2, 5.0 / 2))' 'if true then 7 else 8'
t 'white space, comments and brackets' 0 '((1, true), 2.0)' '' run "$work/pair.hia" --engine interp '((1, # one
  true))' '(2)'
t 'the place of a mistake in an expression' 2 '' 'argument 1:2:4: error.E0201.: unknown name .x.' \
  run "$work/pair.hia" --engine interp '(1,
  (x, 2))' 3
t 'unknown function' 2 '' 'no function `fob`.*did you mean `fib`' run examples/fib.hia --fn fob 1
t 'instance of too few types' 2 '' 'has 1 parameter, not 2' run examples/fib.hia --fn 'fib(i32, i32)' 1
t 'instance of another type' 2 '' 'is of type i32' run examples/fib.hia --fn 'fib(i64)' 1
printf 'fn cell(x, W) = relu(W @ x)\nfn first(xs) = xs[0]\n' >"$work/cell.hia"
t 'instance of tensors' 0 '[3.0, 0.0]' '' run "$work/cell.hia" --fn 'cell( f64[?] , f64[?, ?])' '[1, 2]' '[[1, 1], [0, -1]]'
t 'instance of an array of tuples of tensors' 0 '([1.0, 2.0], 3)' '' run "$work/cell.hia" --fn 'first([(f32[?], i32)])' '[([1, 2], 3)]'
t 'instance of an array of tensors' 2 '' 'cannot read the types' run "$work/cell.hia" --fn 'first([f32[?]])' '[[1, 2]]'
t 'instance of a size' 2 '' 'cannot read the types.*|tensors like f32.., ..' run "$work/cell.hia" --fn 'first(f32[2])' '[1, 2]'
t 'instance of too many axes' 2 '' 'cannot read the types' run "$work/cell.hia" --fn "first(f32[$(printf '?,%.0s' {1..16})?])" 1
t 'instance that cannot be read' 2 '' 'cannot read the types' run examples/fib.hia --fn 'fib(i32' 1

# ---- options that exclude each other ----
both() { # WHAT WORD... : refused, and names the first option of the two
  local what=$1
  shift
  t "$what" 2 '' "hiaton $1: -.* (above 1 )?(has no effect|is for|shows the graph)" "$@"
}
both 'a pass after another stage' dump examples/fib.hia --stage asm --after fold
both 'a pass after static' dump examples/fib.hia --after fold --stage static
for option in '--fn fib' --fuel --trap-nan --count '--threads 2' '--opt 1' '--no-pass all' --no-merge --always-fork --unchecked --verify '--reuse off'; do
  # shellcheck disable=SC2086
  both "the tree with $option" dump examples/fib.hia --stage ast $option
done
for option in --fuel --trap-nan '--threads 2' '--opt 1' '--no-pass all' --no-merge --always-fork --unchecked --verify; do
  # shellcheck disable=SC2086
  both "the graph as built with $option" dump examples/fib.hia --stage graph $option
done
both 'a static graph with a level' dump examples/fib.hia --opt 1
both 'a static graph without checks' dump examples/fib.hia --unchecked
both 'a static graph without reuse' dump examples/fib.hia --reuse off
t 'reuse of another sort' 2 '' 'should be on or off' run examples/fib.hia 3 --reuse maybe
both 'LLVM IR before its passes with a level' dump examples/fib.hia --stage llvm --opt 1
both 'a function of a graph' dump --from-ir "$work/two.ir" --fn main
both 'counting in a graph' dump --from-ir "$work/two.ir" --count
both 'fuel on several threads' dump examples/fib.hia --fuel --threads 2
for option in '--opt 1' --no-merge --always-fork --unchecked; do
  # shellcheck disable=SC2086
  both "an interpreter with $option" run examples/fib.hia 1 --engine interp $option
  # shellcheck disable=SC2086
  both "a bench of interpreters with $option" bench examples/fib.hia 1 --engine expand,interp $option
done
fly=(examples/models/tree_rnn.hia --fn loss '[Leaf(1, 2)]')
for word in 'run --engine jit' run 'bench --engine interp,jit' profile; do
  # shellcheck disable=SC2086
  t "operations as they come: $word" 2 '' '--batching depth and agenda are for --engine interp' $word "${fly[@]}" --batching depth
done
t 'operations as they come, in an object' 2 '' '--batching depth and agenda are for --engine interp' build "${fly[@]:0:3}" --batching agenda -o "$work/fly.o"
both 'operations as they come, on two threads' run "${fly[@]}" --engine interp --batching agenda --threads 2
both 'operations as they come, without reuse' run "${fly[@]}" --engine interp --batching depth --reuse off
t 'operations as they come, an index of rows' 1 '' 'error.range.: index 3 is out of range: the tensor has 3 rows' run tests/programs/batching_params.hia --fn astray 5 --engine interp --batching depth
t 'code for operations as they come' 2 '' "is the interpreter's: there is no code" dump "${fly[@]:0:3}" --batching depth --stage asm
t 'operations as they come' 0 '1.6441212' 'batches: . rows in . waves' run "${fly[@]}" --engine interp --batching agenda --time
program cells 'type L = N | C(h: i32, t: L)
fn build(n: i32, l: L) -> L = if n == 0 then l else build(n - 1, C(n, l))
fn count(l: L, n: i32) -> i32 = match l { N => n, C(_, t) => count(t, n + 1) }
fn main(n: i32) = count(build(n, N), 0)'
every 'values in little memory' 0 20000 '' run "$work/cells.hia" 20000 --max-memory 4M
every 'a product that needs more' 1 '' 'error\[memory\]: out of memory: more than 1.0 GiB' run -e 'len(ones(1000000, 1) @ ones(1, 1000000))' --max-memory 1G
every 'values that need more' 1 '' 'error\[memory\]' run "$work/cells.hia" 1000000 --max-memory 4M
both 'depth without checks' run examples/fib.hia 1 --unchecked --max-depth 1M
both 'time without checks' run examples/fib.hia 1 --unchecked --timeout 1
both 'threads with fuel' run examples/fib.hia 1 --fuel 10 --threads 2
both 'threads of expand' run examples/fib.hia 1 --engine expand --threads 2
both 'forks with fuel' bench examples/fib.hia 1 --fuel 10 --always-fork
shown 'a pass of the graph, named' 'graph functions' dump examples/fib.hia --stage graph --after fold
shown 'as many threads as cores, with fuel' '^1$' run examples/fib.hia 1 --fuel 10 --threads 0 --engine interp

# ---- files that would be replaced ----
keeps() { # WHAT PATTERN FILE WORD... : refused, and FILE as it was
  local what=$1 pattern=$2 file=$3 before
  before=$(cksum <"$file")
  shift 3
  t "$what" 2 '' "$pattern" "$@"
  if [ "$before" = "$(cksum <"$file")" ]; then passed=$((passed + 1)); else bad "$what: replaced"; fi
}
mkdir "$work/place"
cp examples/fib.hia "$work/place/p.hia"
ln -s p.hia "$work/place/soft.hia"
ln "$work/place/p.hia" "$work/place/hard.hia"
ln -s . "$work/place/again"
for path in p.hia soft.hia hard.hia again/p.hia ../place/p.hia; do
  keeps "a timeline over the program, $path" '--trace .* would replace FILE' "$work/place/p.hia" \
    run "$work/place/p.hia" 5 --engine interp --trace "$work/place/$path"
  keeps "an object over the program, $path" '-o .* would replace FILE' "$work/place/p.hia" \
    build "$work/place/p.hia" -o "$work/place/$path"
  keeps "a header over the program, $path" '--header .* would replace FILE' "$work/place/p.hia" \
    build "$work/place/$path" --header "$work/place/p.hia"
done
i 'a timeline over standard input' 2 '^$' 'would replace FILE' examples/fib.hia run - 5 --trace "$work/in"
cmp -s examples/fib.hia "$work/in" && passed=$((passed + 1)) || bad 'standard input is replaced'
echo 'an object' >"$work/place/other.o"
keeps 'a program over what it is linked with' 'would replace `.*other.o`, which is linked' "$work/place/other.o" \
  build examples/fib.hia --exe -o "$work/place/other.o" "$work/place/other.o"
keeps 'a header over what is linked' 'would replace `.*other.o`, which is linked' "$work/place/other.o" \
  build examples/fib.hia --exe -o "$work/place/fib" --header "$work/place/other.o" "$work/place/other.o"
t 'two outputs in one' 2 '' '-o and --header are one file' build examples/fib.hia -o "$work/place/x" --header "$work/place/again/x"
if [ "$(ls "$work/place" | tr '\n' ' ')" = 'again hard.hia other.o p.hia soft.hia ' ]; then
  passed=$((passed + 1))
else
  bad 'nothing is left behind' "$(ls "$work/place")"
fi

# ---- help and version ----
expect_help() {
  if ! timeout "$hang" "$hiaton" "$@" >"$work/out" 2>"$work/err"; then
    bad "hiaton $*" "$(cat "$work/err")"
  elif [ -s "$work/err" ] || ! grep -q '^usage: hiaton' "$work/out"; then
    bad "hiaton $*: usage on standard output only"
  else
    passed=$((passed + 1))
  fi
}
expect_help --help
expect_help help
commands=$("$hiaton" --help | sed -n 's/^  \([a-z-]*\) .*/\1/p')
for command in run check dump bench build help; do
  [[ " "$commands" " == *[[:space:]]$command[[:space:]]* ]] || bad "--help names $command"
done
for command in $commands; do
  expect_help $command --help
  [ $command = help ] || expect_help help $command
  if [ "$("$hiaton" help $command)" = "$("$hiaton" $command --help)" ]; then
    passed=$((passed + 1))
  else
    bad "help $command is $command --help"
  fi
done
t 'help with no command' 2 '' 'there is no command `nosuch`' help nosuch
t 'help with two' 2 '' 'one word too many' help run check

# ---- explain ----
t 'what a code means' 0 'E0318: a const is a scalar

The value of a const is one scalar. For a tuple write a function without parameters.

Wrong:

    const ORIGIN = (0, 0)

Right:

    fn origin() = (0, 0)' '' explain E0318
t 'in small letters' 0 "$("$hiaton" explain E0301)" '' explain e0301
t 'a word of a failure' 0 "$("$hiaton" explain depth)" '' explain depth
t 'all codes' 0 "$("$hiaton" explain)" '' explain
if "$hiaton" explain | grep -qx 'E0301: mixed types' && "$hiaton" explain | grep -qx 'div-zero: division by zero'; then
  passed=$((passed + 1))
else
  bad 'explain lists the codes'
fi
t 'no such code' 2 '' 'there is no code `E0300`' explain E0300
t 'no such word, long' 2 '' 'there is no code `no-such-word-at-all`' explain no-such-word-at-all
t 'two codes' 2 '' 'one word too many' explain E0301 E0302
if [[ $("$hiaton" --version) =~ ^hiaton\ [0-9]+\.[0-9]+\.[0-9]+$ ]]; then
  passed=$((passed + 1))
else
  bad '--version'
fi

# ---- dumps ----
t 'generic functions alone have no graph' 2 '' 'no function has all its types' dump examples/fact.hia
for stage in ast graph static; do
  if "$hiaton" dump examples/fib.hia --stage $stage >"$work/dump.ir" 2>"$work/err" && [ -s "$work/dump.ir" ]; then
    passed=$((passed + 1))
  else
    bad "dump --stage $stage" "$(cat "$work/err")"
  fi
done
for stage in graph static; do
  for example in fib ack tak primes; do
    "$hiaton" dump examples/$example.hia --stage $stage >"$work/$example.ir"
    "$hiaton" dump --from-ir "$work/$example.ir" --stage $stage >"$work/again.ir"
    if cmp -s "$work/$example.ir" "$work/again.ir"; then
      passed=$((passed + 1))
    else
      bad "dump of a dump, $example --stage $stage"
    fi
  done
  every "a dumped $stage graph runs" 0 10946 '' run --from-ir "$work/fib.ir" 20
done
"$hiaton" dump examples/fact.hia --fn 'fact(i32)' --fn 'fact(i64)' >"$work/fact.ir"
every 'a root by its types' 0 2432902008176640000 '' run --from-ir "$work/fact.ir" --fn 'fact(i64)' 20
t 'a root of several instances' 2 '' '2 instances' run --from-ir "$work/fact.ir" --fn fact 20 --engine interp
t 'a root that is not there' 2 '' 'no function' run --from-ir "$work/fact.ir" --fn nosuch 20 --engine interp
t 'a graph that is none' 1 '' 'error' run --from-ir examples/fib.hia 20 --engine interp
if [[ $("$hiaton" dump examples/fib.hia --stage static --format dot) =~ ^digraph ]]; then
  passed=$((passed + 1))
else
  bad 'dump --format dot'
fi
if [ $native = yes ]; then
  [[ $("$hiaton" dump examples/fib.hia --stage llvm) =~ define ]] && passed=$((passed + 1)) || bad 'dump --stage llvm'
  [[ $("$hiaton" dump examples/fib.hia --stage llvm-opt) =~ define ]] && passed=$((passed + 1)) || bad 'dump --stage llvm-opt'
  [[ $("$hiaton" dump examples/fib.hia --stage asm) =~ ret ]] && passed=$((passed + 1)) || bad 'dump --stage asm'
fi
every 'without any pass' 0 10946 '' run examples/fib.hia 20 --no-pass all --verify
if "$hiaton" bench examples/fib.hia --engine interp,expand --runs 2 15 >"$work/out" &&
  grep -q '^interp .* 987$' "$work/out" && grep -q '^expand .* 987$' "$work/out" &&
  ! grep -q speed-up "$work/out"; then
  passed=$((passed + 1))
else
  bad 'bench' "$(cat "$work/out")"
fi
program long 'fn main(n: i64) = (full(1.5, n), n)'
if "$hiaton" bench "$work/long.hia" 100 --engine interp,expand --runs 1 >"$work/out" 2>"$work/err" &&
  [ "$(grep -c '  (\[1.5, 1.5, [1., 5]*\.\.\.$' "$work/out")" = 2 ] && [ "$(awk 'length > 170' "$work/out")" = '' ] &&
  grep -q '^the results are shortened: ' "$work/err"; then
  passed=$((passed + 1))
else
  bad 'bench shortens results' "$(cat "$work/out" "$work/err")"
fi
calls_in_bench() { # WHAT PATTERN WORD...
  local what=$1 pattern=$2
  shift 2
  if "$hiaton" bench --engine interp --runs 1 --count "$@" >"$work/out" && grep -q "$pattern" "$work/out"; then
    passed=$((passed + 1))
  else
    bad "$what" "$(cat "$work/out")"
  fi
}
calls_in_bench 'bench counts as run does' '^21891 calls, 0 loop rounds$' examples/fib.hia --fn fib 20
calls_in_bench 'bench of a graph that has lost them' '^calls are not known' --from-ir "$work/uncounted.ir" 20
if [ $native = no ]; then
  t 'a warm-up curve without native code' 1 '' 'error\[unsupported\]' bench examples/fib.hia 5 --warmup-curve --max-calls 2
fi
bench_engines=interp
[ $native = yes ] && bench_engines=jit,interp
if "$hiaton" bench examples/fib.hia --engine $bench_engines --runs 2 --threads 1,2,3 15 >"$work/out" &&
  grep -q 'speed-up  efficiency' "$work/out" && grep -q '^interp  *1 .* 1.00x  *1.000  987$' "$work/out" &&
  [ "$(grep -cE "^(jit|interp)  *[123] .*x .* 987$" "$work/out")" = $([ $native = yes ] && echo 6 || echo 3) ]; then
  passed=$((passed + 1))
else
  bad 'bench --threads 1,2,3' "$(cat "$work/out")"
fi

# ---- timelines; tests/stress/timelines.c checks their contents ----
traced() { # STATUS WORD...
  local status=$1
  shift
  rm -rf "$work/traces"
  mkdir "$work/traces"
  timeout "$hang" "$hiaton" run --trace "$work/traces/t.json" "$@" >"$work/out" 2>"$work/err"
  local got=$?
  if [ $got = "$status" ] && [ "$(ls "$work/traces")" = t.json ] &&
    head -c 20 "$work/traces/t.json" | grep -q '^{' && [ "$(tail -n 1 "$work/traces/t.json")" = ']}' ] &&
    grep -q '"ph":"B".*"name":"run"' "$work/traces/t.json"; then
    passed=$((passed + 1))
  else
    bad "run --trace ... $*" "exit status $got" "$(ls "$work/traces")" "$(cat "$work/err")"
  fi
}
for engine in $engines; do
  threads=2
  [ $engine = expand ] && threads=1
  traced 0 examples/fib.hia 20 --engine $engine --threads $threads
  traced 1 "$work/zero.hia" 1 0 --engine $engine
  traced 1 examples/tak.hia 60 40 20 --engine $engine --timeout 2
done
every 'a timeline into nothing' 0 89 '' run examples/fib.hia 10 --trace /dev/null
t 'a timeline beside nothing' 1 '' 'nosuch/t.json could not be written' \
  run examples/fib.hia 10 --engine interp --trace "$work/nosuch/t.json"
t 'a timeline into a folder' 1 '' 'could not be written: Is a directory' \
  run examples/fib.hia 10 --engine interp --trace "$work"
rm -f "$work/traces/t.json"
t 'no run, no timeline' 2 '' 'argument 1' run examples/fib.hia x --engine interp --trace "$work/traces/t.json"
[ ! -e "$work/traces/t.json" ] && passed=$((passed + 1)) || bad 'a timeline without a run'

# ---- output that cannot be written ----
# One message, with the reason, and status 1, since the command line is correct.
# ---- gradients next to differences ----

cat >"$work/g.hia" <<'END'
param W: f64[2] = 0.5
fn main(x: f64[2], y: f64) = { let d = W @ x - y; d * d }
fn wrong(x: f64) -> f64 = x * x gradient(g) = g * x
fn kink(x: f64) = relu(x)
fn root(x: f64) = sqrt(x)
fn pair(x: f64) = (x, x)
fn none(n: i32) = f64(n)
fn any(x) = x * x
END
c() { # WHAT STATUS FIRST-LINE ERRORS WORD...
  "$hiaton" check-gradients "$work/g.hia" --engine interp "${@:5}" >"$work/out" 2>"$work/err" </dev/null
  local got=$?
  if [ $got = "$2" ] && [ "$(head -n 1 "$work/out")" = "$3" ] && [[ $(<"$work/err") =~ $4 ]]; then
    passed=$((passed + 1))
  else
    bad "$1" "hiaton check-gradients g.hia ${*:5}" "exit status $got" "$(<"$work/out")" "$(<"$work/err")"
  fi
}
c 'gradients agree' 0 'x: 2 agree' '^$' '[1, 2]' 3
c 'of some inputs' 0 'W: 2 agree' '^$' '[1, 2]' 3 --wrt W
c 'of some elements' 0 'x: 3 agree (1 of 2 elements, 2 directions)' '^$' '[1, 2]' 3 --samples 1
c 'a wrong one' 1 'x: 1 differs' '^$' --fn wrong 3
c 'a wrong one, within the tolerance' 0 'x: 1 agrees' '^$' --fn wrong 3 --tolerance 0.6
c 'a kink' 0 'x: 1 has two sides' '^$' --fn kink 0
c 'a kink within the first step' 0 'x: 1 agrees' '^$' --fn kink 0.01 --step 1
c 'the end of a domain' 0 'x: 1 has two sides' '^$' --fn root 0
c 'a generic function' 0 'x: 1 agrees' '^$' --fn any 3.0
c 'other params' 0 'x: 2 agree' '^$' '[1, 2]' 3 --seed 5
c 'no value' 2 '' 'there is no gradient to compare' --fn root -1
c 'no number' 2 '' 'is no f32 or f64' --fn pair 1
c 'nothing to differentiate for' 2 '' 'no parameters of floats' --fn none 1
c 'no such input' 2 '' '`V` is no parameter' '[1, 2]' 3 --wrt x,V
c 'too few arguments' 2 '' 'takes 2 arguments, not 1' '[1, 2]'
c 'a tolerance that is none' 2 '' 'tolerance: `2` should be' --fn kink 0 --tolerance 2
c 'a step that is none' 2 '' 'step: `0` should be' --fn kink 0 --step 0
c 'no samples' 2 '' 'samples: `0` should be' --fn kink 0 --samples 0
c 'as JSON' 0 '{' '^$' '[1, 2]' 3 --json
json_is() { # WHAT KEY VALUE
  if grep -qF "\"$2\": $3" "$work/out"; then passed=$((passed + 1)); else bad "$1" "$(<"$work/out")"; fi
}
json_is 'no derivative is wrong' ok true
json_is 'what a param is' kind '"param"'
c 'a wrong one as JSON' 1 '{' '^$' --fn wrong 3 --json
json_is 'a derivative is wrong' ok false
json_is 'its verdict' verdict '"differs"'
c 'infinities as JSON' 0 '{' '^$' --fn root 0 --json
json_is 'JSON has none' gradient null

to_full() { # WORD...
  "$hiaton" "$@" >/dev/full 2>"$work/err"
  if [ $? = 1 ] && [ "$(cat "$work/err")" = 'error[io]: the output could not be written: No space left on device' ]; then
    passed=$((passed + 1))
  else
    bad "a full disk is an error: $1" "$(cat "$work/err")"
  fi
}
if [ -w /dev/full ]; then
  to_full run examples/fib.hia 5 --engine interp
  to_full dump examples/fib.hia --stage ast
  to_full dump examples/fib.hia --stage static --format dot # more than is kept back
  to_full check-gradients examples/gradients.hia '[1, 2]' 3 --fn loss --engine interp
  to_full bench examples/fib.hia 5 --engine interp --runs 1
  to_full --help
fi
"$hiaton" run examples/fib.hia 5 --engine interp >&- 2>"$work/err"
if [ $? = 1 ] && grep -q 'could not be written' "$work/err"; then
  passed=$((passed + 1))
else
  bad 'a closed standard output is an error' "$(cat "$work/err")"
fi
if "$hiaton" check examples/fib.hia >&- 2>"$work/err" && [ ! -s "$work/err" ]; then
  passed=$((passed + 1))
else
  bad 'a closed standard output where nothing is printed' "$(cat "$work/err")"
fi

if "$hiaton" check examples/fib.hia >&- 2>"$work/err" && [ ! -s "$work/err" ]; then
  passed=$((passed + 1))
else
  bad 'where there is nothing to write it is none' "$(cat "$work/err")"
fi

printf '%d passed, %d failed\n' "$passed" "$failed"
[ "$failed" -eq 0 ]
