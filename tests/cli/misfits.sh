#!/usr/bin/env bash
# Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0
# Failures of sizes: both expressions are underlined, with their shapes, in every engine; graphs that were
# read back, and programs that were built, say where they are.
#
#   misfits.sh HIATON MISFITS.hia [--sanitized]      --sanitized: programs are not linked
set -u
export HIATON_CACHE=off # what a run compiles is what the test sees
hiaton=$1
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
cp "$2" "$work/misfits.hia" || exit 2
cd "$work" || exit 2
passed=0 failed=0

same() { # WHAT EXPECTED GOT
  if [ "$2" = "$3" ]; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    printf 'FAILED: %s\nexpected:\n%s\ngot:\n%s\n' "$1" "$2" "$3"
  fi
}

# wrong FUNCTION ARGUMENT...: the message without its first line is that on standard input, up to `in`.
wrong() {
  local name=$1 expected got way
  shift
  expected=$(cat)
  for way in "${ways[@]}"; do
    # shellcheck disable=SC2086 # words
    got=$("$hiaton" run $way --fn "$name" misfits.hia -- "$@" 2>&1 | sed -e 1d -e '/^  in /,$d')
    same "$name $way" "$expected" "$got"
  done
}

ways=('--engine interp' '--engine expand' '--engine jit' '--threads 3' '--no-pass all')
wrong plus '[1, 2]' '[1, 2, 3]' <<'END'
    4 | fn plus(x: f32[?], y: f32[?]) = 1 + x * y
      |                                     ~ ^ ~
      |                                     [2] [3]
END
wrong twice '[1, 2]' '[1, 2, 3]' <<'END'
    4 | fn plus(x: f32[?], y: f32[?]) = 1 + x * y
      |                                     ~ ^ ~
      |                                     [2] [3]
END
ways=('--engine interp') # all take the places from one table
wrong chain '[1, 2]' '[1, 2, 3]' <<'END'
    6 | fn chain(x: f32[?], y: f32[?]) = x * 2 + x + y
      |                                  ~~~~~~~~~ ^ ~
      |                                  [2]         [3]
END
wrong least '[1, 2]' '[1, 2, 3]' <<'END'
    7 | fn least(x: f32[?], y: f32[?]) = min(x, y)
      |                                  ^   ~  ~
      |                                      [2]
      |                                         [3]
END
wrong product '[[1, 2]]' '[1, 2, 3]' <<'END'
    8 | fn product(a: f32[?, ?], x: f32[?]) = a @ x
      |                                       ~ ^ ~
      |                                       [1, 2]
      |                                           [3]
END
wrong joined '[[1, 2]]' '[[1, 2, 3]]' <<'END'
   10 |   concat(a,
      |   ^      ~
      |          [1, 2]
   11 |          b + 1, axis = 0)
      |          ~~~~~
      |          [1, 3]
END
wrong element '[1, 2]' '[1, 2, 3]' <<'END'
   12 | fn element(x: f32[?], y: f32[?]) = [x, x + 1, y]
      |                                    ^~         ~
      |                                     [2]       [3]
END
wrong row '[[1, 2]]' '[1, 2, 3]' <<'END'
   13 | fn row(a: f32[?, ?], x: f32[?]) = set(a, 0, x)
      |                                   ^   ~     ~
      |                                       [1, 2]
      |                                             [3]
END
wrong shaped '[[1, 2]]' 4 <<'END'
   14 | fn shaped(a: f32[?, ?], n: i64) = reshape(a, n, 2)
      |                                   ^       ~  ~~~~
      |                                           [1, 2]
      |                                              [4, 2]
END
wrong labels '[[1, 2]]' '[0, 1]' <<'END'
   15 | fn labels(a: f32[?, ?], l: i32[?]) = cross_entropy(a, l)
      |                                      ^             ~  ~
      |                                                    [1, 2]
      |                                                       [2]
END
wrong differs 5 <<'END'
   16 | fn differs(n: i64) = [zeros(i) for i in 1..n]
      |                      ^~~~~~~~~
      |                       [1]
      |                       [2]
END
wrong named '[1, 2]' '[1, 2, 3]' <<'END'
   17 | fn named(a: f32[n], b: f32[n]) = a + b
      |          ~          ~  ^
      |          [2]        [3]
END
wrong result true '[1, 2]' <<'END'
   18 | fn result(c: bool, x: f32[?]) -> f32[H] = if c then x else x + 1
      |                                  ^~~~~~             ~
      |                                  [3]                [2]
END
wrong result false '[1, 2]' <<'END'
   18 | fn result(c: bool, x: f32[?]) -> f32[H] = if c then x else x + 1
      |                                  ^~~~~~                    ~~~~~
      |                                  [3]                       [2]
END
wrong boxed '[1, 2]' <<'END'
    3 | type Box = Box(v: f32[H])
      |                   ^~~~~~
      |                   [3]
   19 | fn boxed(x: f32[?]) = Box(x)
      |                           ~
      |                           [2]
END
wrong annotated '[1]' <<'END'
   20 | fn annotated(x: f32[?]) = { let y: f32[2] = x + 1; y }
      |                                    ^~~~~~   ~~~~~
      |                                    [2]      [1]
END
wrong rounds '[1]' <<'END'
   21 | fn rounds(x: f32[?]) = loop (y: f32[2] = zeros(2), i = 0) while i < 3 { (x, i + 1) }
      |                                 ^~~~~~                                   ~
      |                                 [2]                                      [1]
END

# Sizes of elements that are known count where there are none.
for way in interp jit; do
  same "rows, $way" 3 "$("$hiaton" run --engine $way --fn rows misfits.hia -- 0 2>&1)"
  same "unknown_rows, $way" 0 "$("$hiaton" run --engine $way --fn unknown_rows misfits.hia -- 0 2>&1)"
done

# Without the source: a graph that was read back. Printed again it is the same text.
for stage in graph static; do
  "$hiaton" dump --stage $stage --fn twice misfits.hia >twice.ir
  got=$("$hiaton" run --from-ir --fn twice twice.ir -- '[1, 2]' '[1, 2, 3]' 2>&1 | sed 1d | grep 'this is')
  same "a graph, $stage" '  this is [2], at misfits.hia:4:37
  this is [3], at misfits.hia:4:41' "$got"
  same "printed again, $stage" "$(cat twice.ir)" "$("$hiaton" dump --stage $stage --from-ir twice.ir 2>&1)"
done
"$hiaton" dump --fn plus misfits.hia | sed 's/= 1 4:41+1/= 99 4:41+1/' >bad.ir
same 'a number that is too large' 'a location of operand 99' \
  "$("$hiaton" run --from-ir --fn plus bad.ir -- '[1]' '[2]' 2>&1 | sed -n 's/^bad.ir:[0-9:]* error.E0501.: //p')"

# A program that was built.
if [ "${3:-}" = --sanitized ]; then
  :
elif "$hiaton" build --exe --fn product -o product misfits.hia 2>build.log; then
  same 'a program' '  this is [1, 2], at misfits.hia:8:39
  this is [3], at misfits.hia:8:43' "$(./product '[[1, 2]]' '[1, 2, 3]' 2>&1 | grep 'this is')"
else
  same 'a program is built' 'status 0' "$(cat build.log) another status"
fi

echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
