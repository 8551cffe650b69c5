#!/usr/bin/env bash
# Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0
# Installs the build, moves the installation, and builds and runs programs against it as users do: with
# find_package and with pkg-config, in C and C++, against the shared libraries and the static ones.
#
#   run.sh CMAKE GENERATOR BUILD-DIR SOURCE-DIR CC CXX|- [--no-native]
set -u
export HIATON_CACHE=off # what a run compiles is what the test sees
cmake=$1 generator=$2 build=$3 sources=$4 cc=$5 cxx=$6
native=yes
[ "${7:-}" = --no-native ] && native=no
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
unset LD_LIBRARY_PATH LIBRARY_PATH CPATH C_INCLUDE_PATH CMAKE_PREFIX_PATH DESTDIR PKG_CONFIG_PATH
consumer=$sources/tests/install/consumer

passed=0 failed=0 skipped=0
skip() { skipped=$((skipped + 1)); printf 'skipped: %s\n' "$1"; }
bad() { failed=$((failed + 1)); printf 'FAILED: %s\n' "$1"; [ -n "${2:-}" ] && printf '%s\n' "$2" | tail -40; }
# t WHAT COMMAND...: must succeed
t() {
  local what=$1
  shift
  if "$@" >"$work/log" 2>&1; then passed=$((passed + 1)); else bad "$what" "$(cat "$work/log")"; fi
}
# none WHAT TEXT: nothing must have been found
none() { if [ -z "$2" ]; then passed=$((passed + 1)); else bad "$1" "$2"; fi; }
finish() {
  printf '%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
  [ "$failed" -eq 0 ]
  exit
}

# ---- installing ----

state() { find "$build/bin" "$build/lib" -printf '%p %s %T@ %l\n' | sort; }
before=$(state)
t 'cmake --install' "$cmake" --install "$build" --prefix "$work/first"
t 'cmake --install with DESTDIR' env DESTDIR="$work/staged" "$cmake" --install "$build" --prefix /opt/hiaton
none 'installing leaves the build as it is' "$(diff <(echo "$before") <(state))"
none 'DESTDIR: the same files' \
  "$(diff <(cd "$work/first" && find . | sort) <(cd "$work/staged/opt/hiaton" && find . | sort))"
none 'DESTDIR: and nothing beside them' "$(find "$work/staged" -type f -not -path "$work/staged/opt/hiaton/*")"
[ "$failed" -eq 0 ] || finish

mv "$work/first" "$work/moved"
prefix=$work/moved
libraries=$(dirname "$(find "$prefix" -name libhiaton.so)")
# The sources' folder as a whole path: with sources in /hiaton, ${prefix}/lib/cmake/hiaton/ is no reference to it.
none 'no installed file names the sources, the build or the first prefix' \
  "$(grep -rlaP -e "(?<![\w}).-])(\Q$sources/\E|\Q$build\E|\Q$work/first\E)" "$prefix")"
none 'all public headers' "$(diff <(cd "$sources/include" && find . -type f | sort) <(cd "$prefix/include" && find . -type f | sort))"
none 'all pages and examples' "$(for folder in docs examples; do
  diff <(cd "$sources/$folder" && { git ls-files 2>/dev/null | grep . || find . -type f | sed 's|^./||'; } | LC_ALL=C sort) \
    <(cd "$prefix/share/doc/hiaton/$folder" && find . -type f | sed 's|^./||' | LC_ALL=C sort)
done)"
# Links between pages, examples and headers. include/hiaton is a link, too.
none 'their links lead somewhere' "$(cd "$prefix/share/doc/hiaton" && for page in README.md docs/*.md; do
  grep -oE '\]\([^) #]+' "$page" | sed 's/^](//' | grep -v '^https\?:' | while read -r target; do
    [ -e "$(dirname "$page")/$target" ] || echo "$page: $target"
  done
done)"
for file in LICENSE NOTICE; do
  t "$file" cmp "$sources/$file" "$prefix/share/doc/hiaton/$file"
done
version=$("$prefix/bin/hiaton" --version | sed 's/.* //')
for name in libhiaton_rt libhiaton; do
  soname=$(readelf -d "$libraries/$name.so" | sed -n 's/.*(SONAME).*\[\(.*\)\]/\1/p')
  t "$name: soname" test "$soname" = "$name.so.${version%.*}"
  t "$name: the soname is a link to the library" test "$(readlink "$libraries/$soname")" = "$name.so.$version"
done
t 'the installed program' test "$("$prefix/bin/hiaton" run "$sources/examples/fib.hia" --engine interp --fn fib 10)" = 89
[ $native = yes ] &&
  t 'native code in it' test "$("$prefix/bin/hiaton" run "$sources/examples/fib.hia" --engine jit --fn fib 10)" = 89

# ---- hiaton build, which links to the runtime beside it ----

if [ $native = yes ]; then
  for name in moved staged/opt/hiaton; do
    at=$(dirname "$(find "$work/$name" -name libhiaton_rt.so)")
    t "build in $name: a program" env CC="$cc" "$work/$name/bin/hiaton" build "$sources/examples/fib.hia" --exe -o "$work/fib"
    t "build in $name: it runs" test "$("$work/fib" 20)" = 10946
    t "build in $name: a library" env CC="$cc" "$work/$name/bin/hiaton" build "$sources/examples/fib.hia" --shared \
      -o "$work/libfib.so"
    t "build in $name: which needs the runtime" grep -q 'NEEDED.*libhiaton_rt' <(readelf -d "$work/libfib.so")
    rm -rf "$work/tree" && mkdir "$work/tree" && cp -r "$sources/examples" "$work/tree/"
    t "examples/aot in $name: with pkg-config" env PKG_CONFIG_LIBDIR="$(dirname "$(find "$work/$name" -name hiaton.pc)")" \
      make -C "$work/tree/examples/aot" HIATON="$work/$name/bin/hiaton" CC="$cc" LDFLAGS="-Wl,-rpath,$at"
    t "examples/aot in $name: runs" test "$("$work/tree/examples/aot/fib" 30)" = 'fib(30) = 1346269'
  done
fi
t 'cmake --install --component' "$cmake" --install "$build" --prefix "$work/runtime" --component hiaton_runtime
none 'the component hiaton_runtime: nothing to develop with' \
  "$(find "$work/runtime" -name '*.h' -o -name '*.a' -o -name '*.pc' -o -name '*.cmake' -o -name 'lib*.so')"
t 'the component hiaton_runtime: is enough to run' \
  test "$("$work/runtime/bin/hiaton" run "$sources/examples/fib.hia" --engine interp --fn fib 10)" = 89

# ---- other folders ----

# Configured only: the generated files already contain the paths.
configured() { # NAME CMAKE-ARGUMENT...
  local name=$1
  shift
  t "$name: configures" "$cmake" -G "$generator" -S "$sources" -B "$work/$name" -DCMAKE_C_COMPILER="$cc" \
    -DHIA_LLVM=OFF -DHIA_TESTS=OFF -DHIA_BENCH=OFF "$@"
}
line() { t "$1: $3" grep -qxF -- "$3" "$work/$1/package/$2"; }
configured multiarch -DCMAKE_INSTALL_PREFIX=/usr -DCMAKE_INSTALL_LIBDIR=lib/some-linux-gnu
line multiarch hiaton.pc 'prefix=${pcfiledir}/../../..'
line multiarch hiaton.pc 'libdir=${prefix}/lib/some-linux-gnu'
configured absolute -DCMAKE_INSTALL_PREFIX=/opt/it -DCMAKE_INSTALL_LIBDIR=/var/lib/it
line absolute hiaton.pc 'prefix=/opt/it'
line absolute hiaton.pc 'libdir=/var/lib/it'
line absolute hiaton.pc 'includedir=${prefix}/include'

# ---- the manual page ----

page=$(find "$prefix" -name hiaton.1)
t 'manual page: where man looks' test "$page" = "$prefix/share/man/man1/hiaton.1"
for command in $("$prefix/bin/hiaton" --help | sed -n 's/^  \([a-z-]*\) .*/\1/p'); do
  title="^\.SS hiaton ${command//-/\\\\-} " # the page escapes hyphens
  t "manual page: $command" grep -q "$title" "$page"
  # The section of a command has the options of its --help, each with an entry of its own.
  none "manual page: the options of $command" "$(diff \
    <("$prefix/bin/hiaton" "$command" --help | sed -nE 's/^  (--?[a-z0-9-]+).*/\1/p') \
    <(sed -n "/$title/,/^\.SH/p" "$page" | sed '1!{/^\.SS/,$d}' |
      sed -nE 's/\\-/-/g; s/^\\fB(--?[a-z0-9-]+)\\fR.*/\1/p'))"
done
if command -v groff >/dev/null; then
  none 'manual page: no warnings' "$(groff -man -ww -Tutf8 "$page" 2>&1 >/dev/null)"
else
  skip "the manual page: groff is not installed"
fi

# ---- completion of shells ----

for shell in bash zsh; do
  file=$prefix/share/bash-completion/completions/hiaton
  [ $shell = zsh ] && file=$prefix/share/zsh/site-functions/_hiaton
  none "completion: $shell" "$(diff "$file" <("$prefix/bin/hiaton" completion $shell) 2>&1)"
done

# ---- find_package ----

project() { # NAME CMAKE-ARGUMENT...
  local name=$1
  shift
  "$cmake" -G "$generator" -S "$consumer" -B "$work/$name" -DCMAKE_C_COMPILER="$cc" -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_CXX_COMPILER="$cxx" -DEXAMPLES="$sources/examples" "$@" && "$cmake" --build "$work/$name"
}
with_cxx=ON with_native=ON
[ "$cxx" = - ] && with_cxx=OFF
[ $native = no ] && with_native=OFF
for name in moved staged/opt/hiaton; do
  t "find_package in $name: builds" project "project/$name" -DCMAKE_PREFIX_PATH="$work/$name" \
    -DWITH_CXX=$with_cxx -DWITH_NATIVE=$with_native
  for program in "$work/project/$name"/use_*; do
    [ -x "$program" ] || continue
    expect=native
    [ $native = no ] && expect=interpreted
    [ "$(basename "$program")" = use_static ] && expect=interpreted
    t "find_package in $name: $(basename "$program")" "$program" $expect
  done
done
t 'find_package: how many programs' test "$(find "$work/project/moved" -maxdepth 1 -name 'use_*' -type f | wc -l)" = \
  $((4 + ($([ $with_cxx = ON ]; echo $?) == 0) * 3 + ($([ $with_native = ON ]; echo $?) == 0) * 5))
none 'find_package: the shared one needs the shared libraries' \
  "$(readelf -d "$work/project/moved/use_shared" | grep -q 'NEEDED.*libhiaton\.so' || echo missing)"
none 'find_package: the static ones need nothing of ours' \
  "$(readelf -d "$work/project/moved/use_static" | grep 'NEEDED.*hiaton')"
if [ $native = yes ]; then
  # A formula that changes is compiled and linked again, and nothing else is; without a change nothing is built.
  rm -rf "$work/consumer" && cp -r "$consumer" "$work/consumer"
  again() { consumer=$work/consumer project project/again -DCMAKE_PREFIX_PATH="$prefix" -DWITH_CXX=OFF -DWITH_NATIVE=ON; }
  times() { find "$work/project/again" -type f \( -name 'use_*' -o -name '*.o' \) -printf '%p %T@\n' | sort; }
  t 'hiaton_add_object: builds' again
  before=$(times)
  t 'hiaton_add_object: builds again' again
  none 'hiaton_add_object: nothing is made twice' "$(diff <(echo "$before") <(times))"
  sed -i 's/scale(x) + 1/scale(x) + 2 - 1.5 + 0.5/' "$work/consumer/formulas.hia"
  t 'hiaton_add_object: a formula that has changed' again
  t 'hiaton_add_object: is compiled' test "$(diff <(echo "$before") <(times) | grep -c '^>.*/formulas_[a-z]*\.o ')" = 2
  t 'hiaton_add_object: and linked' test "$(diff <(echo "$before") <(times) | grep -c '^>.*/use_object_[a-z]* ')" = 3
  none 'hiaton_add_object: and no other' \
    "$(diff <(echo "$before") <(times) | grep '^>' | grep -v '/formulas_[a-z]*\.o \|/use_object_[a-z]* \|/object\.c\.o ')"
  t 'hiaton_add_object: which works' "$work/project/again/use_object_shared"
  sed -i 's/scaled(x: f64)/scaled(x: f6)/' "$work/consumer/formulas.hia"
  t 'hiaton_add_object: one that is wrong' bash -c "! '$cmake' --build '$work/project/again' >'$work/out' 2>&1"
  t 'hiaton_add_object: is named' grep -q 'formulas.hia:4.*error\[' "$work/out"
  for wrong in 'x no_such.hia' 'x formulas.hia CPUS 1' 'x formulas.hia PREFIX' 'x formulas.hia PARAMS no_such.npz'; do
    printf 'cmake_minimum_required(VERSION 3.25)\nproject(p LANGUAGES C)\nfind_package(hiaton REQUIRED)\nhiaton_add_object(%s)\n' \
      "$wrong" >"$work/consumer/CMakeLists.txt"
    t "hiaton_add_object($wrong)" bash -c "! '$cmake' -G '$generator' -S '$work/consumer' -B '$work/project/wrong' \
      -DCMAKE_C_COMPILER='$cc' -DCMAKE_PREFIX_PATH='$prefix' >'$work/out' 2>&1"
    t "hiaton_add_object($wrong): says so" grep -q 'hiaton_add_object(x):' "$work/out"
  done
else
  skip "hiaton_add_object: this build makes no native code"
fi
refused() { ! project "refused$RANDOM" -DCMAKE_PREFIX_PATH="$prefix" -DWITH_CXX=OFF -DWITH_NATIVE=OFF "$@"; }
t 'find_package: another minor version is refused' refused -DVERSION=0.999
t 'find_package: a component that there is none of is refused' refused -DCOMPONENT=no_such

# ---- examples/embed, a project of its own ----

embed() {
  "$cmake" -G "$generator" -S "$sources/examples/embed" -B "$work/embed" -DCMAKE_C_COMPILER="$cc" \
    -DCMAKE_CXX_COMPILER="$cxx" -DCMAKE_PREFIX_PATH="$prefix" && "$cmake" --build "$work/embed"
}
if [ $native = yes ]; then
  t 'examples/embed: builds' embed
  for source in "$sources"/examples/embed/*.c "$sources"/examples/embed/*.cpp; do
    [ "$cxx" = - ] && [ "${source##*.}" = cpp ] && continue
    name=$(basename "${source%.*}")
    t "examples/embed: $name" "$sources/tests/embed/run.sh" "$work/embed/$name" "$source"
  done
else
  skip "examples/embed in C++: there is no C++ compiler"
fi

# ---- ThreadSanitizer ----

# An instrumented host, with libraries that are not instrumented.
if [ $native = yes ] && "$cc" -fsanitize=thread "$sources/tests/install/tsan.c" -fsyntax-only -I"$prefix/include" &&
  echo 'int main(void) { return 0; }' >"$work/empty.c" && "$cc" -fsanitize=thread "$work/empty.c" -o "$work/empty" &&
  "$work/empty"; then
  t 'tsan: builds' "$cc" -std=gnu11 -g -O1 -fsanitize=thread "$sources/tests/install/tsan.c" -I"$prefix/include" \
    -L"$libraries" -lhiaton -lhiaton_rt -Wl,-rpath,"$libraries" -pthread -o "$work/tsan"
  suppressions=$prefix/share/hiaton/tsan.supp
  t 'tsan: a host runs clean' env TSAN_OPTIONS="suppressions=$suppressions print_suppressions=1" "$work/tsan"
  cp "$work/log" "$work/out"
  t 'tsan: some reports were left out' grep -q 'race:libhiaton' "$work/out"
  t 'tsan: a race of its own is reported' bash -c \
    "! TSAN_OPTIONS='suppressions=$suppressions' '$work/tsan' race >'$work/out' 2>&1"
  t 'tsan: which it is' grep -q 'SUMMARY.*data race.*tsan.c.*racer' "$work/out"
  t 'tsan: and nothing else' test "$(grep -c SUMMARY "$work/out")" = 1
else
  skip "ThreadSanitizer: $cc cannot use it"
fi

# ---- pkg-config ----

if ! command -v pkg-config >/dev/null; then
  skip "pkg-config is not installed"
  finish
fi
for name in moved staged/opt/hiaton; do
  folder=$(dirname "$(find "$work/$name" -name hiaton.pc)")
  export PKG_CONFIG_LIBDIR=$folder
  at=$(pkg-config --variable=libdir hiaton)
  t "pkg-config in $name: version" test "$(pkg-config --modversion hiaton)" = "$version"
  expect=native
  [ $native = no ] && expect=interpreted
  # shellcheck disable=SC2046
  build() { # RESULT FLAG...
    local result=$1
    shift
    "$cc" -std=c11 -Wall -Wextra -Werror "$consumer/use.c" -o "$work/$result" "$@"
  }
  t "pkg-config in $name: shared" build pc_shared $(pkg-config --cflags --libs hiaton) -Wl,-rpath,"$at"
  t "pkg-config in $name: the shared one runs" "$work/pc_shared" $expect
  if [ $native = yes ]; then
    t "pkg-config in $name: archives and LLVM" build pc_native $(pkg-config --cflags --libs hiaton_llvm)
    t "pkg-config in $name: the one with LLVM runs" "$work/pc_native" native
    none "pkg-config in $name: the one with LLVM needs nothing of ours" "$(readelf -d "$work/pc_native" | grep 'NEEDED.*hiaton')"
  fi
  t "pkg-config in $name: all static" build pc_static -static $(pkg-config --static --cflags --libs hiaton)
  t "pkg-config in $name: the static one runs" "$work/pc_static" interpreted
  t "pkg-config in $name: the runtime alone" "$cc" -std=c11 "$consumer/runtime.c" -o "$work/pc_runtime" -static \
    $(pkg-config --static --cflags --libs hiaton_rt) -Wl,--gc-sections
  t "pkg-config in $name: it runs" "$work/pc_runtime"
  t "pkg-config in $name: the runtime's archive" "$cc" -std=c11 "$consumer/runtime.c" -o "$work/pc_archive" \
    $(pkg-config --static --cflags --libs hiaton_rt | sed 's/-lhiaton_rt/-l:libhiaton_rt.a/') -Wl,--gc-sections
  t "pkg-config in $name: it runs" "$work/pc_archive"
  none "pkg-config in $name: which needs libc and libm alone" \
    "$(readelf -d "$work/pc_archive" | grep NEEDED | grep -Ev '\[lib[cm]\.so')"
done

# ---- docs/aot.md: how compiled programs are linked ----

# Runs each line of its blocks ```sh, and after each line the program that it has made.
mkdir "$work/link"
cp "$sources/examples/fib.hia" "$work/link/"
cat >"$work/link/main.c" <<'END'
#include "fib.h"
#include <stdio.h>
int main(void) {
  hia_context *context;
  int32_t x = 0;
  if (hia_context_new(NULL, &context) != HIA_OK || fib_fib(context, 20, &x) != HIA_OK) return 1;
  hia_context_free(context);
  printf("%d\n", x);
  return 0;
}
END
cat >"$work/link/open.c" <<'END'
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
int main(void) {
  void *library = dlopen("./libfib.so", RTLD_NOW), *context;
  if (library == NULL) return puts(dlerror());
  int (*context_new)(const void *, void **) = (int (*)(const void *, void **))dlsym(library, "hia_context_new");
  int (*fib)(void *, int32_t, int32_t *) = (int (*)(void *, int32_t, int32_t *))dlsym(library, "fib_fib");
  int32_t x = 0;
  if (context_new == NULL || fib == NULL || context_new(NULL, &context) || fib(context, 20, &x)) return 1;
  printf("%d\n", x);
  return 0;
}
END
printf 'extern impure fn note(n: i64) -> i64\nfn twice(n: i64) -> i64 = note(n) + note(n)\n' >"$work/link/host.hia"
printf '#include <stdint.h>\nint64_t note(int64_t n);\nint64_t note(int64_t n) { return n; }\n' >"$work/link/note.c"
cat >"$work/link/use.c" <<'END'
#include "host.h"
#include <stdio.h>
int main(void) {
  hia_context *context;
  hia_context_options options = HIA_CONTEXT_OPTIONS_INIT;
  int64_t x = 0;
  options.flags |= HIA_CONTEXT_INTERPRET;
  if (hia_context_new(&options, &context) != HIA_OK || host_twice(context, 21, &x) != HIA_OK) return 1;
  printf("%d\n", (int)x);
  return 0;
}
END
if [ $native = yes ]; then
  export PKG_CONFIG_LIBDIR=$libraries/pkgconfig
  awk '/^```/ { inside = $0 == "```sh"; next } inside' "$sources/docs/aot.md" >"$work/link/lines"
  t 'docs/aot.md shows how to link' test "$(grep -c . "$work/link/lines")" -ge 15
  while IFS= read -r line; do
    line=${line%%  #*}
    rm -f "$work/link/main"
    [[ $line == c++\ * ]] && [ "$cxx" = - ] && continue
    case $line in
      cc\ *) command="'$cc' ${line#cc }" ;;
      c++\ *) command="'$cxx' ${line#c++ }" ;;
      *) command=$line ;;
    esac
    t "docs/aot.md: $line" env PATH="$prefix/bin:$PATH" CC="$cc" PREFIX="$prefix" bash -c "cd '$work/link' && $command"
    [[ $line == *'-o main'* ]] || continue
    # If the program itself is linked to the shared runtime, LD_LIBRARY_PATH finds it.
    path=
    grep -q 'NEEDED.*libhiaton_rt' <(readelf -d "$work/link/main") && path=$libraries
    t "docs/aot.md: $line: runs" bash -c \
      "cd '$work/link' && LD_LIBRARY_PATH='$path' ./main 21 | grep -qxE '10946|42'"
  done <"$work/link/lines"
  none 'a library finds its runtime by itself' \
    "$(readelf -d "$work/link/libfib.so" | grep -qF "(RUNPATH)            Library runpath: [\$ORIGIN:$libraries]" ||
      readelf -d "$work/link/libfib.so")"
  # The library's own folder comes first, for libraries that are distributed together.
  mkdir "$work/together"
  cp "$work/link/libfib.so" "$work/together/"
  cp -P "$libraries"/libhiaton_rt.so* "$work/together/"
  none 'and one beside it before that' "$(ldd "$work/together/libfib.so" | grep libhiaton_rt | grep -v "$work/together")"
else
  skip "objects: this build makes no native code"
fi

# ---- the examples of the documentation ----

# host.c is the program in the head of the public header. In README.md and docs/: blocks ```cmake are
# projects, lines `$ cc host.c` in blocks ```console are commands.
mkdir "$work/docs"
{
  echo '#include <string.h>'
  sed -n '1,/^ *\* The rules/s/^ \*   //p' "$prefix/include/hiaton/hiaton.h"
} >"$work/docs/host.c"
echo 'fn half(x: f64) -> f64 = x / 2' >"$work/docs/formulas.hia"
printf '#include "formulas.h"\nint main(void) { return formulas_half_plain(5) != 2.5; }\n' >"$work/docs/formulas.c"
PKG_CONFIG_LIBDIR=$(dirname "$(find "$prefix" -name hiaton.pc)")
shown=0
for file in "$sources"/README.md "$sources"/docs/*.md; do
  blocks=$(mktemp -d "$work/blocks.XXXX")
  awk -v dir="$blocks" '/^```/ && !inside { inside = 1; path = ""
                          if ($0 == "```cmake" || $0 == "```console") path = dir "/" NR "." substr($0, 4); next }
                        /^```/ { inside = 0; next }
                        inside && path { print > path }' "$file"
  for block in "$blocks"/*; do
    where="${file#"$sources/"}:$(basename "${block%.*}")"
    case $block in
      *.cmake)
        grep -q '^find_package' "$block" || continue
        shown=$((shown + 1))
        if [ $native = no ] && grep -q -e llvm_static -e hiaton_add_object "$block"; then skip 'what is shown needs native code'; continue; fi
        rm -rf "$work/docs/build"
        cp "$block" "$work/docs/CMakeLists.txt"
        t "$where: configures" "$cmake" -G "$generator" -S "$work/docs" -B "$work/docs/build" \
          -DCMAKE_C_COMPILER="$cc" -DCMAKE_PREFIX_PATH="$prefix"
        t "$where: builds" "$cmake" --build "$work/docs/build"
        [ $native = yes ] && t "$where: runs" "$work/docs/build/host" ;;
      *.console)
        grep '^\$ cc host\.c' "$block" | sed 's/^\$ cc //' >"$work/commands"
        while IFS= read -r arguments; do
          shown=$((shown + 1))
          if [ $native = no ] && [[ $arguments == *hiaton_llvm* ]]; then skip 'what is shown needs native code'; continue; fi
          t "$where: cc $arguments" bash -c "cd '$work/docs' && '$cc' $arguments"
          # A program without native compilation prints that and fails.
          if [ $native = yes ] && [[ $arguments != *-static\ * ]]; then
            t "$where: runs" env LD_LIBRARY_PATH="$(pkg-config --variable=libdir hiaton)" "$work/docs/host"
          fi
        done <"$work/commands" ;;
    esac
  done
done
t 'README.md and docs/ show how it is done' test "$shown" -ge 4
finish
