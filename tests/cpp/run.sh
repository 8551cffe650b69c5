#!/usr/bin/env bash
# Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0
# hiaton.hpp: its tests with and without exceptions, the programs in its head and in docs/cpp.md, the examples in
# C++, and what must not compile.
#
#   run.sh CXX SOURCE-DIR LIBRARY-DIR [--no-native]
set -u
export HIATON_CACHE=off # what a run compiles is what the test sees
hang=$((300 * ${HIA_TEST_SLOWNESS:-1})) # seconds after which a command is taken to hang
cxx=$1 sources=$2 libraries=$3
native=yes
[ "${4:-}" = --no-native ] && native=no
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
flags=(-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror -I"$sources/include")
link=(-L"$libraries" -lhiaton -lhiaton_rt -Wl,-rpath,"$libraries")
passed=0 failed=0 skipped=0
bad() { failed=$((failed + 1)); printf 'FAILED: %s\n' "$1"; [ -n "${2:-}" ] && printf '%s\n' "$2" | head -40; }
# t WHAT COMMAND...: must succeed
t() {
  local what=$1
  shift
  if timeout "$hang" "$@" >"$work/log" 2>&1; then passed=$((passed + 1)); else bad "$what" "$(cat "$work/log")"; fi
}

# ---- the tests ----

# A second file with the same header: all its definitions are inline.
echo '#include <hiaton/hiaton.hpp>' >"$work/second.cpp"
# One standard with each compiler, with and without exceptions; the compiler whose warnings depend on it also optimises. A
# build takes up to half a minute.
sets=('-std=c++20 -fno-exceptions -fno-rtti')
case $cxx in *clang*) ;; *) sets=('-std=c++17 -O2') ;; esac
for options in "${sets[@]}"; do
  # shellcheck disable=SC2086 # words
  t "tests/cpp/hpp.cpp $options: builds" "$cxx" $options "${flags[@]}" "$sources/tests/cpp/hpp.cpp" "$work/second.cpp" \
    -o "$work/hpp" "${link[@]}"
  t "tests/cpp/hpp.cpp $options: passes" "$work/hpp"
done

# value() of an error ends a program that is built without exceptions, with the error's text.
cat >"$work/abort.cpp" <<'END'
#include <hiaton/hiaton.hpp>
int main() {
  hiaton::engine engine = hiaton::engine::make().value();
  hiaton::module module = engine.load_text("wrong.hia", "fn f() -> i32 = y").value();
  return 0;
}
END
for options in -fno-exceptions -fexceptions; do
  t "an error that nothing looks at, $options: builds" "$cxx" -std=c++17 $options "${flags[@]}" -Wno-unused "$work/abort.cpp" \
    -o "$work/abort" "${link[@]}"
  { (ulimit -c 0; "$work/abort") >"$work/log" 2>&1; status=$?; } 2>"$work/said" # the shell says how it ended
  if [ $status = 134 ] && grep -q 'E0201\|wrong.hia:1:17' "$work/log"; then passed=$((passed + 1)); else
    bad "an error that nothing looks at, $options" "status $status: $(cat "$work/log")"; fi
done

# ---- what must not compile ----

# The header is compiled once for all of them.
printf '#include <hiaton/hiaton.hpp>\n#include <string>\n' >"$work/all.hpp"
t 'a precompiled header' "$cxx" -std=c++17 -I"$sources/include" -x c++-header "$work/all.hpp" -o "$work/all.hpp.gch"
wrong() { # WHAT MESSAGE STATEMENT
  printf 'void f(hiaton::engine &e, hiaton::function g, hiaton::context &c) {\n  %s\n  (void)e, (void)g, (void)c;\n}\n' \
    "$3" >"$work/wrong.cpp"
  if "$cxx" -std=c++17 -fsyntax-only -I"$sources/include" -include "$work/all.hpp" "$work/wrong.cpp" >"$work/log" 2>&1; then
    bad "$1 compiles"
  elif grep -q -- "$2" "$work/log"; then
    passed=$((passed + 1))
  else
    bad "$1: no '$2'" "$(cat "$work/log")"
  fi
}
wrong 'a type that hiaton does not have' 'hiaton has bool, std::int32_t' '(void)g.call<std::string>(e);'
wrong 'a parameter of such a type' 'hiaton has bool, std::int32_t' '(void)g.entry<int(unsigned)>();'
wrong 'an array of data as an argument' 'value::array makes' 'std::vector<hiaton::value> v; (void)g.call<int>(e, v);'
wrong 'vectors without their types' 'needs its function' 'using v = std::vector<std::tuple<int, bool>>; (void)hiaton::entry<v(v)>(nullptr);'
wrong 'an array of unknown type' 'an array needs its type' '(void)hiaton::value::of(e, std::vector<std::tuple<int, bool>>());'
wrong 'a plain function of arrays' 'take scalars alone' 'using v = std::vector<std::tuple<int, bool>>; (void)g.plain<int(v)>().value()(v());'
wrong 'a result that is a view' 'owns its elements' 'using v = hiaton::tensor_view<float, 1>; (void)hiaton::entry<v(v)>(nullptr)(c, v());'
wrong 'a tensor of rank 0' 'rank 1 to 16' 'using t = hiaton::tensor<float, 0>; (void)g.entry<t(t)>();'
wrong 'a tuple of one' 'two parts or more' '(void)g.call<std::tuple<int>>(e);'
wrong 'a copy' 'deleted' 'hiaton::engine copy = e;'
wrong 'an argument that is left out' 'no match' '(void)g.entry<int(int)>().value()(c);'
wrong 'a host function that may throw' 'noexcept\|no match' 'int (*h)(int) = nullptr; e.host("h", h).value();'

# ---- programs that are shown, and examples ----

if [ $native = yes ]; then
  sed -n '1,/^\/\/ Results\./s|^//   ||p' "$sources/include/hiaton/hiaton.hpp" >"$work/head.cpp"
  awk -v dir="$work" '/^```cpp$/ { path = sprintf("%s/shown%d.cpp", dir, ++n); next } /^```/ { path = "" }
                      path { print > path }' "$sources/docs/cpp.md"
  for program in "$work/head.cpp" "$work"/shown*.cpp; do
    t "$(basename "$program"): builds" "$cxx" -std=c++17 -Wall -Wextra -Werror -I"$sources/include" "$program" \
      -o "$work/shown" "${link[@]}"
    t "$(basename "$program"): runs" "$work/shown"
  done
  for example in "$sources"/examples/embed/*.cpp; do
    t "$example: builds" "$cxx" -std=c++17 "${flags[@]}" "$example" -o "$work/example" "${link[@]}"
    t "$example: runs" "$sources/tests/embed/run.sh" "$work/example" "$example"
  done
else
  skipped=$((skipped + 1))
  echo 'skipped: examples, which need native code'
fi

printf '%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
[ "$failed" -eq 0 ]
