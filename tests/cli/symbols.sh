#!/usr/bin/env bash
# Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0
# The symbols and needed libraries of hiaton's libraries, and the rules for includes and names.
#
#   symbols.sh LIBRARY-DIR SOURCE-DIR
set -u
export HIATON_CACHE=off # what a run compiles is what the test sees
libraries=$1
sources=$2
passed=0 failed=0
verdict() { # WHAT OFFENDERS
  if [ -z "$2" ]; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    printf 'FAILED: %s\n%s\n' "$1" "$2"
  fi
}

# Two names that debuggers look for (runtime/native/debug/gdb.c). In archives they are weak: LLVM has them, too.
gdb='__jit_debug_(register_code|descriptor)'
for library in "$libraries"/libhiaton*.so; do
  name=$(basename "$library")
  # name@@node of each defined symbol; the nodes themselves are absolute symbols.
  symbols=$(nm -D --defined-only --with-symbol-versions "$library" | awk '$2 != "A" { print $3 }')
  verdict "$name: only hia_ names outside of HIATON_PRIVATE" \
    "$(printf '%s\n' "$symbols" | grep -v '^hia_[a-z0-9_]*@@HIATON_0$' |
      grep -Ev "^(hia[A-Z]_[A-Za-z0-9_]*|$gdb)@@HIATON_PRIVATE\$" | grep .)"
  if [ "$name" = libhiaton_rt.so ]; then
    verdict "$name: what GDB looks for" "$(for symbol in register_code descriptor; do
      printf '%s\n' "$symbols" | grep -q "^__jit_debug_$symbol@@" || echo "$symbol"; done)"
  fi
  if [ "$name" = libhiaton_llvm.so ]; then
    verdict "$name: one table" "$(printf '%s\n' "$symbols" | grep -v '^hiaJ_backend@@HIATON_PRIVATE$')"
  fi
done

# In an archive every symbol that several files share is global, so the prefix must distinguish it. The
# symbols that sanitizers add have their own prefixes.
for library in "$libraries"/libhiaton*.a; do
  [ -e "$library" ] || continue
  verdict "$(basename "$library"): only names that begin with hia_, or hia and the letter of a folder" \
    "$(nm -g --defined-only "$library" | awk 'NF == 3 { print $3 $2 }' | sort -u |
      grep -Ev "^hia([A-Z])?_[A-Za-z0-9_]+\$|^__+(odr_)?[a-z]+san_|^$gdb[WV]\$")"
done

needs() { readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'; }
system='^(libc\.so|libm\.so|ld-linux|libpthread|libgcc_s|lib[alut]*san|libclang_rt|libstdc|libdl|librt)'
verdict 'libhiaton_rt needs the system alone' "$(needs "$libraries/libhiaton_rt.so" | grep -Ev "$system|^libffi")"
llvm=
[ -e "$libraries/libhiaton_llvm.so" ] || llvm='|^libLLVM' # HIA_STATIC_LLVM: it is part of libhiaton
verdict 'libhiaton needs libhiaton_rt and the system' "$(needs "$libraries/libhiaton.so" | grep -Ev "$system|^libhiaton_rt$llvm")"

cd "$sources" || exit 2
verdict 'only lower/kit/llvm_compat.h knows versions of LLVM' \
  "$(grep -rl LLVM_VERSION_MAJOR --include='*.[ch]' . 2>/dev/null | grep -v '^./build' | grep -v '^./lower/kit/llvm_compat.h$')"
verdict 'LLVM is named in lower/ and jit/llvm/ alone' \
  "$(grep -rlE '#include *[<"]llvm-c' --include='*.[ch]' . 2>/dev/null | grep -Ev '^./(build|lower/|jit/llvm/|tests/)')"
verdict 'the engine includes neither lowering nor the LLVM half of jit/' \
  "$(grep -rnE '#include *"' --include='*.[ch]' jit/engine jit/*.h | grep -E '"(jit/llvm|lower)/' | grep -v '"lower/plan.h"')"
# Except for reading words, which is inline.
verdict 'the command line and the examples include the public header alone' \
  "$(grep -rnE '#include *"' --include='*.[ch]' tools examples 2>/dev/null |
    grep -Ev '"tools/[a-z_]+.h"|"runtime/(program/command_words|value/output).h"|^examples/aot/(main.c:.*"fib|trees.c:.*"tree_lstm).h"')"
verdict 'the runtime includes nothing above it' \
  "$(grep -rnE '#include *"' --include='*.[chS]' runtime | grep -v '"runtime/')"
verdict 'the timeline writer knows the runtime alone' \
  "$(grep -rnE '#include *"' --include='*.[ch]' jit/timeline | grep -v '"runtime/')"
verdict 'runtime/base includes nothing but itself' \
  "$(grep -rnE '#include *"' --include='*.[chS]' runtime/base | grep -v '"runtime/base/')"
verdict 'what the engines share, and images, include no engine' \
  "$(grep -nE '#include *"runtime/(interp|native|program)/' runtime/*.[ch] runtime/image/*.[ch])"
verdict 'native runs do not know the interpreter' \
  "$(grep -rnE '#include *"runtime/(interp|image|program)/' runtime/native)"
verdict 'the graph includes the runtime alone' \
  "$(grep -rnE '#include *"' --include='*.[ch]' graph | grep -Ev '"(graph|runtime)/')"
verdict 'the frontend includes graph and runtime alone' \
  "$(grep -rnE '#include *"' --include='*.[ch]' frontend | grep -Ev '"(frontend|graph|runtime)/')"

# For scripts the second line, below the name of their shell.
notice='Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0'
first_lines() {
  find . \( -path './build*' -o -path ./.git \) -prune -o -type f \
    \( -name '*.[chS]' -o -name '*.[ch]pp' -o -name '*.def' -o -name '*.map' -o -name '*.sh' -o -name '*.cmake' \
    -o -name CMakeLists.txt -o -name Makefile -o -path ./dev \) -print0 |
    xargs -0 awk 'FNR == 1 && /^#!/ { shell = FILENAME; next }
                  FNR == 1 || FNR == 2 && FILENAME == shell { print FILENAME ": " $0 }'
}
verdict 'every source file names its licence in its first line' "$(first_lines | grep -vF "$notice")"
verdict 'of hundreds of files' "$([ "$(first_lines | grep -cF "$notice")" -ge 300 ] || echo 'too few were found')"
verdict 'the licence is Apache-2.0, and NOTICE names the authors' \
  "$(grep -q 'Apache License' LICENSE && grep -q 'Version 2.0, January 2004' LICENSE &&
    grep -q 'END OF TERMS AND CONDITIONS' LICENSE && grep -qx 'Copyright the hiaton authors' NOTICE || echo missing)"

printf '%d passed, %d failed\n' "$passed" "$failed"
[ "$failed" -eq 0 ]
