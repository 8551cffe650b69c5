#!/usr/bin/env bash
# Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0
# Installs the build, moves what was installed, and builds and runs programs against it as strangers do:
# with find_package and with pkg-config, in C and C++, against the shared libraries and the static ones.
#
#   run.sh CMAKE GENERATOR BUILD-DIR SOURCE-DIR CC CXX|- [--no-native]
set -u
cmake=$1 generator=$2 build=$3 sources=$4 cc=$5 cxx=$6
native=yes
[ "${7:-}" = --no-native ] && native=no
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
unset LD_LIBRARY_PATH LIBRARY_PATH CPATH C_INCLUDE_PATH CMAKE_PREFIX_PATH DESTDIR PKG_CONFIG_PATH
consumer=$sources/tests/install/consumer

passed=0 failed=0 skipped=0
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
# As a path, which the sources' may be a part of: with sources in /hiaton, ${prefix}/lib/cmake/hiaton/ is fine.
none 'no installed file names the sources, the build or the first prefix' \
  "$(grep -rlaP -e "(?<![\w}).-])(\Q$sources/\E|\Q$build\E|\Q$work/first\E)" "$prefix")"
none 'all public headers' "$(diff <(cd "$sources/include" && find . -type f | sort) <(cd "$prefix/include" && find . -type f | sort))"
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

# Configured only: what is generated then has the paths in it.
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
for command in $("$prefix/bin/hiaton" --help | sed -n 's/^  \([a-z]*\) .*/\1/p'); do
  t "manual page: $command" grep -q "^\.SS hiaton $command " "$page"
  # The section of a command has the options of its --help, each with an entry of its own.
  none "manual page: the options of $command" "$(diff \
    <("$prefix/bin/hiaton" "$command" --help | sed -nE 's/^  (--?[a-z-]+).*/\1/p') \
    <(sed -n "/^\.SS hiaton $command /,/^\.SH/p" "$page" | sed '1!{/^\.SS/,$d}' |
      sed -nE 's/\\-/-/g; s/^\\fB(--?[a-z-]+)\\fR.*/\1/p'))"
done
if command -v groff >/dev/null; then
  none 'manual page: no warnings' "$(groff -man -ww -Tutf8 "$page" 2>&1 >/dev/null)"
else
  skipped=$((skipped + 1))
fi

# ---- what shells complete ----

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
    -DCMAKE_CXX_COMPILER="$cxx" "$@" && "$cmake" --build "$work/$name"
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
  $((4 + ($([ $with_cxx = ON ]; echo $?) == 0) * 2 + ($([ $with_native = ON ]; echo $?) == 0)))
none 'find_package: the shared one needs the shared libraries' \
  "$(readelf -d "$work/project/moved/use_shared" | grep -q 'NEEDED.*libhiaton\.so' || echo missing)"
none 'find_package: the static ones need nothing of ours' \
  "$(readelf -d "$work/project/moved/use_static" | grep 'NEEDED.*hiaton')"
refused() { ! project "refused$RANDOM" -DCMAKE_PREFIX_PATH="$prefix" -DWITH_CXX=OFF -DWITH_NATIVE=OFF "$@"; }
t 'find_package: another minor version is refused' refused -DVERSION=0.999
t 'find_package: a component that there is none of is refused' refused -DCOMPONENT=no_such

# ---- examples/embed, a project of its own ----

embed() {
  "$cmake" -G "$generator" -S "$sources/examples/embed" -B "$work/embed" -DCMAKE_C_COMPILER="$cc" \
    -DCMAKE_PREFIX_PATH="$prefix" && "$cmake" --build "$work/embed"
}
if [ $native = yes ]; then
  t 'examples/embed: builds' embed
  for source in "$sources"/examples/embed/*.c; do
    name=$(basename "$source" .c)
    t "examples/embed: $name" "$sources/tests/embed/run.sh" "$work/embed/$name" "$source"
  done
else
  skipped=$((skipped + 1))
fi

# ---- pkg-config ----

if ! command -v pkg-config >/dev/null; then
  skipped=$((skipped + 1))
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

# ---- what the documentation shows ----

# host.c is the program in the head of the public header. In README.md and docs/: blocks ```cmake are
# projects, lines `$ cc host.c` in blocks ```console are commands.
mkdir "$work/docs"
{
  echo '#include <string.h>'
  sed -n '1,/^ *\* The rules/s/^ \*   //p' "$prefix/include/hiaton/hiaton.h"
} >"$work/docs/host.c"
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
        if [ $native = no ] && grep -q llvm_static "$block"; then skipped=$((skipped + 1)); continue; fi
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
          if [ $native = no ] && [[ $arguments == *hiaton_llvm* ]]; then skipped=$((skipped + 1)); continue; fi
          t "$where: cc $arguments" bash -c "cd '$work/docs' && '$cc' $arguments"
          # A program without native compilation says so and fails.
          if [ $native = yes ] && [[ $arguments != *-static\ * ]]; then
            t "$where: runs" env LD_LIBRARY_PATH="$(pkg-config --variable=libdir hiaton)" "$work/docs/host"
          fi
        done <"$work/commands" ;;
    esac
  done
done
t 'README.md and docs/ show how it is done' test "$shown" -ge 4
finish
