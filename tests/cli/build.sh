#!/usr/bin/env bash
# Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0
# hiaton build: objects, headers, libraries and programs, as users build and link them.
#
#   build.sh HIATON SOURCE-DIR LIBRARY-DIR CC CXX|- [--sanitized]      CC and CXX may be several words
#
# --sanitized: the runtime is instrumented, so sizes and needed libraries are not checked.
# shellcheck disable=SC2086 # words
set -u
export HIATON_CACHE=off # what a run compiles is what the test sees
hang=$((300 * ${HIA_TEST_SLOWNESS:-1})) # seconds after which a command is taken to hang
cc=$4 cxx=$5
unsanitized=yes
[ "${6:-}" = --sanitized ] && unsanitized=no
export CC=$cc
unset AR
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2
# Words of command lines, whatever the paths are.
ln -s "$1" hiaton && ln -s "$2" sources && ln -s "$3" libraries || exit 2
hiaton=$work/hiaton sources=$work/sources libraries=$work/libraries
examples=$sources/examples
include=-I$sources/include
static="$libraries/libhiaton_rt.a -lm -pthread"
shared="-L$libraries -lhiaton_rt -Wl,-rpath,$libraries"

passed=0 failed=0
ok() { passed=$((passed + 1)); }
bad() { failed=$((failed + 1)); printf 'FAILED: %s\n' "$1"; [ -n "${2:-}" ] && printf '%s\n' "${2:0:1500}"; }
# t WHAT COMMAND...: succeeds, and prints nothing on standard error
t() {
  local what=$1
  shift
  if timeout "$hang" "$@" >out 2>err </dev/null && [ ! -s err ]; then ok; else bad "$what" "$* $(cat out err)"; fi
}
# is WHAT EXPECTED COMMAND...: prints this
is() {
  local what=$1 expected=$2 got
  shift 2
  got=$(timeout "$hang" "$@" 2>err </dev/null)
  if [ "$got" = "$expected" ]; then ok; else bad "$what" "$*: $got $(cat err), not $expected"; fi
}
# Sets `files` to what is here, without a process for it.
list_files() {
  shopt -s dotglob nullglob
  files=(*)
  shopt -u dotglob nullglob
}
# wrong WHAT STATUS PATTERN COMMAND...: fails with this status and message, and leaves no files
wrong() {
  local what=$1 status=$2 pattern=$3 before got files
  shift 3
  list_files
  before=${files[*]}
  timeout "$hang" "$@" >out 2>err </dev/null
  got=$?
  list_files
  if [ $got != "$status" ]; then
    bad "$what" "$*: status $got, not $status: $(cat err)"
  elif [ -n "$pattern" ] && ! grep -qE -- "$pattern" err; then
    bad "$what" "no '$pattern' in: $(cat err)"
  elif [ "${files[*]}" != "$before" ]; then
    bad "$what: leaves files behind" "${files[*]}"
  else
    ok
  fi
}
c="$cc -std=c11 -Wall -Wextra -Wpedantic -Werror $include"
touch out err
mkdir again

# ---- every example: object and header, twice; the program, in both engines ----

for file in "$examples"/*.hia; do
  name=$(basename "$file" .hia)
  functions=()
  while read -r _ _ call; do
    fn=${call%% *}
    case $name in fact) functions=(--fn "$fn(i64)" --fn 'main(i32)') ;; esac
  done < <(grep '^# small:' "$file")
  t "$name: object and header" "$hiaton" build "$file" "${functions[@]}" -o "$name.o" --header "$name.h"
  t "$name: again" "$hiaton" build "$file" "${functions[@]}" -o "again/$name.o" --header "again/$name.h"
  t "$name: the same bytes" cmp "$name.o" "again/$name.o"
  t "$name: the same header" cmp "$name.h" "again/$name.h"
  sed -n '/An example of use/,/^ \*\//s/^ \*   //p' "$name.h" >"$name.example.c"
  ffi=
  grep -q '^extern' "$file" && ffi=-lffi
  t "$name: the example of its header compiles" $c "$name.example.c" "$name.o" $static $ffi -o "$name.example"
  if [[ $name =~ ^(perceptron|gradients|xor)$ ]]; then # the example's tensors have one element an axis
    wrong "$name: and runs" 1 'error.shape.' "./$name.example"
  else
    t "$name: and runs" "./$name.example"
  fi
  exe=()
  [ "$name" = fact ] && exe=(--fn 'main(i32)')
  for how in "" --parallel; do
      t "$name: program $how" "$hiaton" build "$file" "${exe[@]}" --exe $how -o "$name"
    grep '^# small: main' "$file" | while read -r _ _ _ rest; do
      args=${rest% => *} value=${rest#* => }
      for engine in native interp; do
              got=$("./$name" $args --engine $engine 2>&1)
        [ "$got" = "$value" ] || printf '%s %s (%s): %s, not %s\n' "$name" "$args" "$engine" "$got" "$value"
      done
    done >differences
    if [ -s differences ]; then bad "$name: the program's results $how" "$(cat differences)"; else ok; fi
  done
  if [ $unsanitized = yes ]; then
    strip -o stripped "$name"
    size=$(stat -c %s stripped)
    limit=300000
    [[ $name =~ ^(tree|formula)$ ]] && limit=340000       # it reads and writes data, and checks the sizes of tensors in it
    [[ $name =~ ^(perceptron|gradients|xor)$ ]] && limit=930000 # it has tensors, products, sums of outer products and elementary functions, for three kinds of processor
    [ "$name" = praise ] && limit=980000 # it has both
    if [ "$size" -lt $limit ]; then ok; else bad "$name: the stripped program has $size bytes"; fi
    needs=$(readelf -d "$name" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | grep -Ev '^(libc|libm)\.so')
    # The interpreter calls host functions through libffi.
    [ "$ffi" ] && needs=${needs//libffi.so*/}
    if [ -z "$needs" ]; then ok; else bad "$name: the program needs" "$needs"; fi
  fi
done
if grep -q 'hia_tables' <(readelf -SW fib) && ! grep -qE '\] \.(debug_|hia_forks|hia_frames)' <(readelf -SW tak.o | grep -v ' [MS]*E '); then
  ok
else
  bad 'what serves nobody but hiaton is marked to be left out'
fi

# ---- the ways to link ----

cat >use.c <<'END'
#include "fib.h"
#include "tak.h"
#include <stdio.h>
int main(void) {
  hia_context *context;
  int32_t a = 0, b = 0;
  if (hia_context_new(NULL, &context) != HIA_OK) return 1;
  if (fib_fib(context, 20, &a) != HIA_OK || tak_tak(context, 12, 8, 4, &b) != HIA_OK) return 1;
  printf("%d %d\n", a, b);
  hia_context_free(context);
  return 0;
}
END
{
  t 'two objects, the static runtime' $c use.c fib.o tak.o $static -o use
  is 'they work' '10946 5' ./use
  t 'the shared runtime' $c use.c fib.o tak.o $shared -o use
  is 'it works' '10946 5' ./use
  t 'a program that is not position independent' $c -no-pie use.c fib.o tak.o $shared -o use
  is 'it works too' '10946 5' ./use
  t 'ld -r' ld -r fib.o tak.o -o both.o
  t 'and that linked' $c use.c both.o $static -o use
  is 'it works as well' '10946 5' ./use
  t 'static libraries' "$hiaton" build "$examples/fib.hia" --static -o libfib.a
  t 'another' "$hiaton" build "$examples/tak.hia" --static -o libtak.a
  t 'linked with -l' $c use.c -L. -lfib -ltak $static -o use
  is 'that works' '10946 5' ./use
  t 'the same archive' "$hiaton" build "$examples/fib.hia" --static -o libfib2.a
  is 'of one member' fib.o ar t libfib.a
  t 'shared libraries' "$hiaton" build "$examples/fib.hia" --shared -o libfib.so
  t 'another one' "$hiaton" build "$examples/tak.hia" --shared -o libtak.so
  rm libfib.a libtak.a libfib2.a
  t 'linked with -l' $c use.c -L. -lfib -ltak -Wl,-rpath,"$work" $shared -o use
  is 'these work' '10946 5' ./use
  # What binds a function at its first call does not keep all registers, as these must.
  t 'bound at the first call' $c use.c fib.o tak.o -Wl,-z,lazy $shared -o use
  is 'but for the stubs' 0 bash -c "readelf -rW use | grep -c 'JUMP_SLO.*hiaR_stub_'"
  is 'these work' '10946 5' ./use
}
is 'an object has no other symbols' 'fib_fib fib_main' bash -c 'nm -g --defined-only fib.o | cut -d" " -f3 | sort | xargs'
if [ $unsanitized = yes ]; then # a sanitizer's runtime is the program's
  t 'no relocations in code, and all are known' $cc -shared fib.o -Wl,-z,text -Wl,-z,defs $shared -o text.so
  rm text.so
fi
cp "$examples/fib.hia" fib.hia
t 'another object with the same names' "$hiaton" build fib.hia --prefix fib -o clash.o
wrong 'the linker says which' 1 '(multiple definition|duplicate symbol).*fib_fib' $c use.c fib.o clash.o tak.o $static -o x
t 'a program' "$hiaton" build fib.hia --exe -o fib_exe --header fib_exe.h
t 'its object' "$hiaton" build fib.hia --prefix other -o clash.o
t 'with other names they are one program' $c use.c fib.o clash.o tak.o $static -o use
is 'that works' '10946 5' ./use
rm clash.o fib_exe fib_exe.h

# Fuel: the object's functions take it from their context, natively and interpreted, as a run of the engine does.
t 'an object with fuel' "$hiaton" build "$examples/fib.hia" --fuel --fn fib -o fuelled.o --header fuelled.h --prefix fuelled
t 'its header says so' grep -q 'use up the fuel of their context' fuelled.h
t 'and declares no plain functions' test "$(grep -c _plain fuelled.h)" = 0
cat >fuelled.c <<'END'
#include "fuelled.h"
#include <inttypes.h>
#include <stdio.h>
int main(void) {
  for (int interpret = 0; interpret < 2; interpret++) {
    hia_context_options options = HIA_CONTEXT_OPTIONS_INIT;
    hia_context *context;
    uint64_t left;
    int32_t x = 0;
    if (interpret) options.flags |= HIA_CONTEXT_INTERPRET;
    if (hia_context_new(&options, &context) != HIA_OK) return 1;
    if (fuelled_fib(context, 10, &x) != HIA_OK || x != 89) return 2;
    hia_context_set_fuel(context, 200);
    hia_status first = fuelled_fib(context, 10, &x);
    hia_context_fuel_left(context, &left);
    hia_status second = fuelled_fib(context, 10, &x);
    printf("%s %" PRIu64 " %s", hia_status_word(first), left, hia_status_word(second));
    hia_context_fuel_left(context, &left);
    printf(" %" PRIu64 "\n", left);
    hia_context_free(context);
  }
  return 0;
}
END
t 'a program that uses it' $c fuelled.c fuelled.o $static -o fuelled
is 'that ends when there is none' $'ok 24 fuel 0\nok 24 fuel 0' ./fuelled
t 'a program with fuel' "$hiaton" build "$examples/fib.hia" --fuel --exe -o fuel_exe
for engine in native interp; do
  is "has enough ($engine)" 89 ./fuel_exe 10 --fuel 177 --engine $engine
  wrong "or too little ($engine)" 1 'out of fuel' ./fuel_exe 10 --fuel 176 --engine $engine
  is "or no limit ($engine)" 10946 ./fuel_exe 20 --engine $engine
done
t 'a program without' "$hiaton" build "$examples/fib.hia" --exe -o fib_exe
wrong 'takes none' 2 'built with it' ./fib_exe --fuel 3
echo 'fn main(x: f64) = 1 + log(x)' >nan.hia
t 'a program with traps of NaN' "$hiaton" build nan.hia --trap-nan --exe -o nan_exe
for engine in native interp; do
  is "that makes none ($engine)" 1.0 ./nan_exe 1 --engine $engine
  wrong "or one ($engine)" 1 'nan.hia:1:23: error.nan.: NaN appeared: `log` of -1.0' ./nan_exe -1 --engine $engine
done

# Values: one reader and printer, in the program and in `hiaton run`.
printf 'fn main(a: (i32, (f64, bool)), x: f32, n: i64) = (n, x, a)\n' >values.hia
t 'a program of several types' "$hiaton" build values.hia --exe -o values
for args in '(1,(2,true)) 3 4' '(-0x1_0,(-inf,false)) nan -9223372036854775808' \
  '(2147483647,(1_0.5e-7,true)) 16777217f32 0xffi64'; do
  is "reads and prints as hiaton run does: $args" "$("$hiaton" run values.hia $args)" ./values $args
done
is 'white space and comments' '(4, 3.0, (1, (2.5, true)))' ./values $'( 1 , # one\n(2.5,true) ) ' ' 3' $'4\n'
wrong 'a literal of another type' 2 'argument 3:1:1: error.E0[0-9]*.: expected a value of type i64, this is i32' \
  ./values '(1,(2,true))' 3 4i32
wrong 'out of range' 2 'argument 1:2:2: error.E0[0-9]*.: this integer does not fit i32' ./values $'(\n 3000000000,(2,true))' 3 4
wrong 'an expression' 2 'argument 2:1:1: error.E0[0-9]*.: .1 [+] 2` is no literal of type f32' ./values '(1,(2,true))' '1 + 2' 4
wrong 'a part is missing' 2 'argument 1:1:1: error.E0[0-9]*.: `.1,.2..` is no literal of type .i32, .f64, bool..' ./values '(1,(2))' 3 4
wrong 'not for several threads' 2 'no effect with --fuel' "$hiaton" build "$examples/fib.hia" --fuel --parallel -o x.o

# Maps, of code with and without fuel, natively and interpreted.
cat >map.hia <<'END'
fn area(w: f64, h: f64) -> f64 = sqrt(w * h) / 2.0
fn parts(a: i64, b: (i64, bool)) -> (i64, bool) = (a / b.0, not b.1)
fn fact(n: i64) -> i64 = if n <= 1 then 1 else n * fact(n - 1)
fn areas(w: f64, h: f64) -> f64 = area(area(w, h), area(h, w))
END
cat >map.c <<'END'
#include "map.h"
#include <inttypes.h>
#include <stdio.h>
int main(void) {
  enum { N = 1000 };
  static double w[N], h[N], r[N], twice[N];
  static int64_t a[N], b[N], q[N];
  static bool c[N], d[N];
  for (int i = 0; i < N; i++) w[i] = i, h[i] = 4 * i, a[i] = 6 * i, b[i] = 3, c[i] = i & 1;
  b[700] = 0;
  for (int interpret = 0; interpret < 2; interpret++) {
    hia_context_options options = HIA_CONTEXT_OPTIONS_INIT;
    hia_context *context;
    uint64_t left;
    if (interpret) options.flags |= HIA_CONTEXT_INTERPRET;
    if (hia_context_new(&options, &context) != HIA_OK) return 1;
    hia_context_set_fuel(context, FUEL);
    if (!FUEL) hia_context_clear_fuel(context);
    if (map_area_map(context, N, w, h, r) != HIA_OK || hia_context_rows(context) != N) return 2;
    if (!FUEL && map_areas_map(context, N, w, h, twice) != HIA_OK) return 2;
    for (int i = 0; i < N; i++)
      if (r[i] != i || (!FUEL && twice[i] != i / 2.0)) return 3;
    for (int i = 0; i < N; i++) q[i] = -1;
    if (map_parts_map(context, N, a, b, c, q, d) != HIA_DIV_ZERO) return 4;
    if (hia_context_rows(context) != 700 || q[699] != 1398 || q[700] != -1 || !d[698] || d[699]) return 5;
    fputs(hia_error_text(hia_context_error(context)), stdout);
    for (int i = 0; i < N; i++) q[i] = i % 10 + 1;
    if (FUEL) hia_context_set_fuel(context, FUEL);
    hia_status status = map_fact_map(context, N, q, q);
    bool has_fuel = hia_context_fuel_left(context, &left);
    printf("%s %" PRIu64 " %" PRId64 " %d %" PRIu64 "\n", hia_status_word(status), hia_context_rows(context), q[9],
           has_fuel, left);
    hia_context_free(context);
  }
  return 0;
}
END
one=$'map.hia:2:54: error[div-zero]: division by zero, in row 700\n  in parts at map.hia:2:54'
t 'maps' "$hiaton" build map.hia --map -o map.o --header map.h
t 'in C' $c -DFUEL=0 map.c map.o $static -o map
is 'are right' "$one"$'\nok 1000 3628800 0 0\n'"$one"$'\nok 1000 3628800 0 0' ./map
if [ "$cxx" != - ]; then t 'in C++' $cxx -x c++ $include -fsyntax-only map.h; fi
t 'maps with fuel' "$hiaton" build map.hia --map --fuel -o map.o --header map.h
t 'in C' $c -DFUEL=4500 map.c map.o $static -o map
is 'use it up' "$one"$'\nok 1000 3628800 1 0\n'"$one"$'\nok 1000 3628800 1 0' ./map
t 'in C' $c -DFUEL=50 map.c map.o $static -o map
is 'or fail in the row that has none' "$one"$'\nfuel 13 3628800 1 0\n'"$one"$'\nfuel 13 3628800 1 0' ./map
t 'maps for any machine' "$hiaton" build map.hia --map --cpu x86-64 --prefix other -o other.o
t 'whose formulas are vectorised' sh -c 'objdump -d other.o | grep -q mulpd'
printf 'fn f(x: i64) -> i64 = x + 1\nfn f_map(x: i64) -> i64 = x + 2\n' >names.hia
t 'maps beside functions of their names' "$hiaton" build names.hia --map -o names.o --header names.h
t 'have other names' sh -c 'grep -q "names_f_map_(hia_context" names.h && nm names.o | grep -q names_f_map_$'
t 'beside others' $c -DFUEL=50 map.c map.o other.o $static -o map

# Objects for several threads, together; also with threads of the host.
for name in fib tak; do
  t "$name for several threads" "$hiaton" build "$examples/$name.hia" --parallel -o "par_$name.o" --header "$name.h"
done
cat >par.c <<'END'
#include "fib.h"
#include "tak.h"
#include <pthread.h>
#include <stdio.h>
static void *calls(void *interpret) {
  hia_context_options options = HIA_CONTEXT_OPTIONS_INIT;
  hia_context *context;
  int32_t a = 0, b = 0;
  options.threads = 3;
  if (interpret != NULL) options.flags |= HIA_CONTEXT_INTERPRET;
  if (hia_context_new(&options, &context) != HIA_OK) return NULL;
  const int times = interpret ? 2 : 20;
  bool fine = true;
  for (int i = 0; i < times && fine; i++)
    fine = fib_fib(context, interpret ? 12 : 24, &a) == HIA_OK && a == (interpret ? 233 : 75025) &&
           tak_tak(context, 12, 8, 4, &b) == HIA_OK && b == 5;
  hia_context_free(context);
  return fine ? context : NULL;
}
int main(void) {
  int fine = 0;
  for (int interpret = 0; interpret < 2; interpret++) {
    pthread_t threads[3];
    void *answer;
    for (int i = 0; i < 3; i++)
      if (pthread_create(&threads[i], NULL, calls, interpret ? threads : NULL) != 0) return 1;
    for (int i = 0; i < 3; i++) fine += pthread_join(threads[i], &answer) == 0 && answer;
  }
  printf("%d\n", fine);
  return 0;
}
END
t 'two objects for several threads' $c par.c par_fib.o par_tak.o $static -o par
is 'work in each of three' 6 ./par
rm par_fib.o par_tak.o par par.c

cat >open.c <<'END'
#include <dlfcn.h>
#include <hiaton/runtime.h>
#include <stdio.h>
int main(void) {
  hia_context *context;
  int32_t result = 0;
  void *library = dlopen("./libfib.so", RTLD_NOW);
  if (!library || hia_context_new(NULL, &context) != HIA_OK) return 1;
  hia_status (*fib)(hia_context *, int32_t, int32_t *);
  *(void **)&fib = dlsym(library, "fib_fib");
  if (!fib || fib(context, 20, &result) != HIA_OK) return 1;
  hia_context_free(context);
  dlclose(library);
  printf("%d\n", result);
  return 0;
}
END
t 'a program that opens one' $c open.c $shared -ldl -o open
is 'and calls it' 10946 ./open

# One object in two shared libraries; libraries that are opened and closed. `one.so` and `two.so` contain the same
# program, `three.so` another one of the same size, which is loaded at the address of one of them.
mkdir three
printf 'fn f(n: i64) -> i64 = if n == 0 then 1 / n else f(n - 1) + 1\nfn g(n: i64) -> i64 = n * 3 + 1\n' >lib.hia
sed 's/n \* 3/n * 5/' lib.hia >three/lib.hia
t 'an object' "$hiaton" build lib.hia -o lib.o
t 'another' bash -c "cd three && '$hiaton' build lib.hia -o lib.o"
for name in one two; do t "$name.so" $cc -shared lib.o $shared -o $name.so; done
t 'three.so' $cc -shared three/lib.o $shared -o three.so
cat >come.c <<'END'
#include <dlfcn.h>
#include <hiaton/runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
typedef hia_status (*function)(hia_context *, int64_t, int64_t *);
static function find(void *library, const char *name) {
  function f;
  *(void **)&f = library ? dlsym(library, name) : NULL;
  if (!f) exit(1);
  return f;
}
static int64_t g_of(hia_context *context, void *library) {
  int64_t result = 0;
  return find(library, "lib_g")(context, 10, &result) == HIA_OK ? result : -1;
}
static void fails(hia_context *context, void *library) {
  int64_t result;
  if (find(library, "lib_f")(context, 3, &result) != HIA_DIV_ZERO) exit(2);
  const hia_error *error = hia_context_error(context);
  if (hia_error_chain_length(error) != 4 || !strstr(hia_error_file(error, 0), "lib.hia")) exit(3);
}
int main(int argc, char **argv) {
  (void)argv;
  hia_context_options options = HIA_CONTEXT_OPTIONS_INIT;
  if (argc > 1) options.flags |= HIA_CONTEXT_INTERPRET;
  hia_context *context;
  if (hia_context_new(&options, &context) != HIA_OK) return 1;
  void *one = dlopen("./one.so", RTLD_NOW), *two = dlopen("./two.so", RTLD_NOW);
  if (find(one, "lib_g") == find(two, "lib_g")) return 4;
  fails(context, one);
  fails(context, two);
  int64_t before = g_of(context, two);
  dlclose(two);
  int64_t rest = g_of(context, one);
  void *three = dlopen("./three.so", RTLD_NOW);
  int64_t other = g_of(context, three);
  fails(context, three);
  dlclose(three);
  two = dlopen("./two.so", RTLD_NOW);
  printf("%d %d %d %d\n", (int)before, (int)rest, (int)other, (int)g_of(context, two));
  fails(context, two);
  dlclose(two);
  dlclose(one);
  hia_context_free(context);
  return 0;
}
END
t 'a program that opens and closes them' $c come.c $shared -ldl -o come
is 'natively' '31 31 51 31' ./come
is 'interpreted' '31 31 51 31' ./come interpret
rm -r three one.so two.so three.so come come.c lib.o

# Headers of one name.
mkdir a b
t 'a header' "$hiaton" build "$examples/fib.hia" --header a/model.h
t 'another of that name' "$hiaton" build "$examples/tak.hia" --header b/model.h
printf '#include "a/model.h"\n#include "b/model.h"\nvoid *both[2] = {(void *)fib_fib, (void *)tak_tak};\n' >both.c
t 'both in one file' $cc $include -c both.c -o both.o
rm -r a b both.c both.o

if [ "$cxx" != - ]; then
  for name in fib fact gcd; do
    t "$name: the example of its header as C++" $cxx -x c++ -std=c++11 -Wall -Wextra -Werror $include -fsyntax-only "$name.example.c"
  done
  sed -e 's/NULL/nullptr/g' use.c >use.cpp
  t 'C++' $cxx -std=c++17 -Wall -Wextra -Wpedantic -Werror $include use.cpp fib.o tak.o $static -o use
  is 'from C++' '10946 5' ./use
fi

many=$(yes -- -L. | head -400) # a library would be read 400 times
t 'as many words for the linker as one likes' "$hiaton" build "$examples/fib.hia" --exe -o fib_many -- $many
rm fib_many
t 'a shared library with a comma in its name' "$hiaton" build "$examples/fib.hia" --shared -o 'fib,2.so'
is 'its soname' 'fib,2.so' bash -c "readelf -d 'fib,2.so' | sed -n 's/.*(SONAME).*\\[\\(.*\\)\\]/\\1/p'"
rm 'fib,2.so'
mkdir one two
t 'one name in two folders' "$hiaton" build "$examples/fib.hia" -o one/fib.o --header one/fib.h --prefix one
t 'the other' "$hiaton" build "$examples/fib.hia" -o two/fib.o --header two/fib.h --prefix two
cat >folders.c <<'END'
#include "one/fib.h"
#include "two/fib.h"
#include <stdio.h>
int main(void) {
  hia_context *context;
  int32_t a = 0, b = 0;
  if (hia_context_new(NULL, &context) != HIA_OK) return 1;
  if (one_fib(context, 10, &a) != HIA_OK || two_fib(context, 11, &b) != HIA_OK) return 1;
  printf("%d %d\n", a, b);
  hia_context_free(context);
  return 0;
}
END
t 'their headers go together' $c folders.c one/fib.o two/fib.o $static -o folders
is 'and the objects' '89 144' ./folders
rm -r one two

# ---- names ----

cat >names.hia <<'END'
fn swap(int: (i64, bool), int_0: f32, result: f64, linux: bool) -> (bool, (f64, i64)) =
  { let (a, b) = int; (b == linux, (result + f64(int_0), a)) }
fn id(x) = x
fn half(x: f64) -> f64 = id(x) * 0.5
fn no() -> i32 = 7
fn pick(a: bool, b: (f32, f32)) -> f32 = if a then { let (x, _) = b; x } else { let (_, y) = b; y }
END
# Parameters with the names of macros: of each compiler, of the C library, of a host.
cat >macros.hia <<'END'
fn f(errno: i32, I: f64, EOF: (i64, bool), NULL: f32, stdin: i32, complex: i32, unix: i32) -> i32 = errno + unix
fn g(min: i32, max: i32, context: i32, status: i32, result: i32, int: i32, x: i32, linux: bool) -> (i32, i32) = (min, result)
END
cat >macros.c <<'END'
#include <complex.h>
#include <errno.h>
#include <hiaton/runtime.h>
#include <stdio.h>
#define min(a, b) ((a) < (b) ? (a) : (b))
#define max       nothing such
#define x         1
#define status    7
#define context   2
#define result    3
#define result_0  4
#define EOF_0     5
#include "macros.h"
#undef x
#undef status
#undef context
int main(void) {
  hia_context *context;
  int32_t x = 0, y = 0;
  if (hia_context_new(NULL, &context) != HIA_OK) return 1;
  hia_status failed = macros_g(context, 7, 0, 0, 0, 8, 0, 0, true, &x, &y);
  printf("%d %d %d %d\n", failed, x, y, macros_f_plain(1, 0, 0, true, 0, 0, 0, 2));
  hia_context_free(context);
  return 0;
}
END
t 'parameters with names of macros' "$hiaton" build macros.hia -o macros.o --header macros.h
for std in c11 gnu11 gnu17; do
  t "their header as $std" $c -std=$std macros.c macros.o $static -o macros
done
is 'what they give' '0 7 8 3' ./macros
if [ "$cxx" != - ]; then
  sed 's/complex.h/complex/' macros.c >macros.cpp
  t 'their header as C++' $cxx -std=gnu++17 -Wall -Wextra -Wpedantic -Werror $include macros.cpp macros.o $static -o macros
fi
# Include guards: of headers with names like hiaton's own, and of two headers with the same name.
cp fib.hia types.hia 2>/dev/null || cp "$examples/fib.hia" types.hia
for name in types runtime builder hiaton status object; do
  cp types.hia $name.hia 2>/dev/null
  t "a program called $name" "$hiaton" build $name.hia -o guard_$name.o --header $name.h
  printf '#include <hiaton/hiaton.h>\n#include "%s.h"\n#include "%s.h"\nvoid *all(void);\nvoid *all(void) {\n  hia_builder_free(NULL);\n  return %s_fib(NULL, 0, NULL) == HIA_OK ? "" : NULL;\n}\n' \
    $name $name $name >guard.c
  t "its header beside hiaton's" $c -fsyntax-only guard.c
done
mkdir first second
cp "$examples/fib.hia" same.hia
t 'a header' "$hiaton" build same.hia --header first/same.h
cp "$examples/tak.hia" same.hia
t 'another of the same name and prefix' "$hiaton" build same.hia --fn tak --header second/same.h
printf '#include "first/same.h"\n#include "second/same.h"\n#include "first/same.h"\nint main(void) {\n  return same_fib(0, 0, 0) == same_tak(0, 0, 0, 0, 0);\n}\n' >guard.c
t 'are both there' $c -fsyntax-only guard.c
rm -r first second same.hia guard* macros*
for name in types runtime builder hiaton status object; do rm -f $name.hia $name.h; done
is 'a header says whose licence it has' 1 grep -c 'for tak.hia, whose licence it has' tak.h

cat >names.c <<'END'
#include "names.h"
#include <stdio.h>
int main(void) {
  hia_context *context;
  bool a;
  double b, h;
  int64_t c;
  int32_t seven;
  if (hia_context_new(NULL, &context) != HIA_OK) return 1;
  if (names_swap(context, -5, true, 0.5f, 1.25, true, &a, &b, &c) != HIA_OK) return 1;
  if (names_half(context, 3, &h) != HIA_OK || names_no(context, &seven) != HIA_OK) return 1;
  if (names_swap(context, 1, true, 0, 0, true, NULL, NULL, NULL) != HIA_OK) return 1;
  printf("%d %g %lld %g %d", a, b, (long long)c, h, seven);
  printf(" %g %d %g %g\n", names_half_plain(5), names_no_plain(), (double)names_pick_plain(true, 1, 2),
         (double)names_pick_plain(false, 1, 2));
  hia_context_free(context);
  return names_no(NULL, &seven) == HIA_ARGUMENT ? 0 : 1;
}
END
t 'types of all kinds' "$hiaton" build names.hia -o names.o --header names.h
t 'parameters with odd names' $c names.c names.o $static -o names
is 'values of all kinds' '1 1.75 -5 1.5 7 2.5 7 1 2' ./names
is 'the notation stands with each' \
  'fn swap(int: (i64, bool), int_0: f32, result: f64, linux: bool) -> (bool, (f64, i64))' \
  sed -n 's|^/\* \(fn swap.*\) \*/|\1|p' names.h
is 'and what is left out' "/* fn id is generic: --fn 'id(...)' builds an instance. */" grep 'is generic' names.h
t 'instances' "$hiaton" build names.hia --fn 'id(i32)' --fn 'id((i64, bool))' --fn 'id(i32)' --prefix n -o id.o --header id.h
is 'the first has the name alone' 'n_id n_id__t2_i64_bool' \
  bash -c "sed -n 's/hia_status \\([a-z0-9_]*\\)(.*/\\1/p' id.h | xargs"
wrong 'a generic function' 2 "--fn 'id\\(i64\\)'" "$hiaton" build names.hia --fn id -o x.o
wrong 'nothing but generic ones' 2 "--fn 'fact\\(i64\\)'" "$hiaton" build "$examples/fact.hia" -o x.o
wrong 'a generic main' 2 "--fn 'main\\(i64\\)'" "$hiaton" build "$examples/fact.hia" --exe -o x
printf 'fn f(x) = x\nfn f__i32(x: i32) -> i32 = x\nfn hia_entry(n: i32) -> i32 = if n == 0 then 0 else 1 + hia_entry(n - 1)\n' >clash.hia
t 'a function with the name of an instance' "$hiaton" build clash.hia --fn 'f(i64)' --fn 'f(i32)' --fn f__i32 --prefix c -o clash.o --header clash.h
is 'keeps it, and the instance gives way' 'c_f c_f__i32_ c_f__i32' \
  bash -c "sed -n 's/hia_status \\([a-z0-9_]*\\)(.*/\\1/p' clash.h | xargs"
rm clash.o clash.h
is 'a function with the name of an entry' 5 "$hiaton" run clash.hia --fn hia_entry 5
printf 'fn long(x: i32) -> i32 = x\nfn half_plain(x: i32) -> i32 = x\nfn half(x: i32) -> i32 = x\n' >words.hia
wrong 'a word of C' 2 '--prefix' "$hiaton" build words.hia --fn long --prefix '' -o x.o
cat >derived.hia <<'END'
extern fn d_twice_plain(x: i32) -> i32
fn half(x: i32) -> i32 = x + 1
fn half_plain(x: i32) -> i32 = x + 2
fn half_plain_plain(x: i32) -> i32 = x + 3
fn twice(x: i32) -> i32 = x + 4
fn all(x: i32) -> i32 = d_twice_plain(x)
END
cat >derived.c <<'END'
#include "derived.h"
#include <stdio.h>
int32_t d_twice_plain(int32_t x);
int32_t d_twice_plain(int32_t x) { return x + 5; }
int main(void) {
  hia_context *context;
  int32_t x[5] = {0};
  if (hia_context_new(NULL, &context) != HIA_OK) return 1;
  d_half(context, 0, x), d_half_plain(context, 0, x + 1), d_half_plain_plain(context, 0, x + 2);
  d_twice(context, 0, x + 3), d_all(context, 0, x + 4);
  printf("%d%d%d%d%d", x[0], x[1], x[2], x[3], x[4]);
  printf("%d%d%d%d\n", d_half_plain_(0), d_half_plain_plain_(0), d_half_plain_plain_plain(0), d_twice_plain_(0));
  hia_context_free(context);
  return 0;
}
END
t 'functions with the names of plain functions' "$hiaton" build derived.hia --prefix d -o derived.o --header derived.h
t 'which give way' $c derived.c derived.o $static -Wl,--as-needed -lffi -o derived
is 'each is what it is' 123451234 ./derived
rm derived.*
printf 'fn OK(x: i32) -> i32 = x\n' >upper.hia
wrong 'a name of the headers' 2 "hiaton's own" "$hiaton" build upper.hia --prefix HIA -o x.o
# A function that the runtime calls must not be defined a second time.
names=$(nm -u "$libraries/libhiaton_rt.a" | sed -n 's/^ *U \([a-z][a-z0-9_]*\)$/\1/p' | grep -v '^hia' | sort -u)
missed=
for name in $([ $unsanitized = yes ] && echo $names) memset memmove floor ceilf roundeven exit errno EOF _start; do
  printf 'fn %s(x: i32) -> i32 = x\n' "$name" >runtime.hia
  "$hiaton" check runtime.hia >out 2>&1 || continue # a word of the language
  timeout "$hang" "$hiaton" build runtime.hia --prefix '' --header x.h >out 2>err
  if [ $? != 2 ] || ! grep -q -e "the C library's" -e 'that name is taken' -e "libffi's" -e 'header defines' -e 'reserves names' err; then missed="$missed $name"; fi
done
if [ -z "$missed" ]; then ok; else bad 'functions that the runtime calls can be replaced' "$missed"; fi
printf 'fn gettime(x: i32) -> i32 = x\n' >clock.hia
wrong 'with the prefix of the file too' 2 "called .clock_gettime. in C, where that name is the C library's" "$hiaton" build clock.hia -o x.o
rm -f x.h runtime.hia
for prefix in 3a a-b 'a b' é; do
  wrong "prefix $prefix" 2 'no identifier' "$hiaton" build words.hia --prefix "$prefix" -o x.o
done
wrong 'a prefix of hiaton' 2 "hiaton's own" "$hiaton" build words.hia --prefix hia -o x.o
cp words.hia '9 a*/b-c.hia' 2>/dev/null || cp words.hia '9 a-c.hia'
t 'a file with an odd name' "$hiaton" build '9 a-c.hia' --fn long -o odd.o --header odd.h
is 'its prefix' 1 grep -c 'hia_status m9_a_c_long(' odd.h

# ---- host functions ----

cat >host.hia <<'END'
extern fn hypot(x: f64, y: f64) -> f64
extern impure fn note(n: i64) -> i64
extern fn split(x: f64) -> (i64, bool)
fn spend(n: i64) -> i64 = if n == 0 then 0 else note(n) + spend(n - 1)
fn main(n: i64) -> (f64, i64, (i64, bool)) = (hypot(3, 4), spend(n), split(2.5))
END
cat >host.c <<'END'
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
int64_t note(int64_t n);
void split(double x, int64_t *whole, bool *is_whole);
int64_t note(int64_t n) {
  printf("note %d\n", (int)n);
  return n * 10;
}
void split(double x, int64_t *whole, bool *is_whole) {
  *whole = (int64_t)x;
  *is_whole = x == (double)*whole;
}
END
t 'functions in C' $c -c host.c -o host_c.o
t 'an object that calls them' "$hiaton" build host.hia -o host.o --header host.h
is 'its header says what it needs' ' * - void split(double, int64_t *, bool *) */' grep ' void split' host.h
t 'a program that calls them' "$hiaton" build host.hia --exe -o host host_c.o
noted=$'note 2\nnote 1\n(5.0, 30, (2, false))'
is 'natively' "$noted" ./host 2
is 'interpreted' "$noted" ./host 2 --engine interp
wrong 'a program without them' 1 'note' "$hiaton" build host.hia --exe -o x
wrong 'they are not in the compiler' 1 'E0601' "$hiaton" run host.hia 2
# A host that has registered it with a status builds an object that requires one.
cat >builder.c <<'END'
#include <hiaton/hiaton.h>
#include <stdio.h>
static hia_status used(void *user, int64_t n, int64_t *total) {
  (void)user, (void)n, (void)total;
  return HIA_OK;
}
static bool write(void *file, const char *bytes, size_t len) { return fwrite(bytes, 1, len, file) == len; }
int main(void) {
  static const char text[] = "extern impure fn used(n: i64) -> i64\n"
                             "fn sum(n: i64) -> i64 = if n == 0 then 0 else used(n) + sum(n - 1)\n";
  hia_engine *engine = NULL;
  hia_module *module = NULL;
  hia_error *error = NULL;
  hia_host_function host = HIA_HOST_FUNCTION_INIT;
  FILE *object = fopen("status.o", "w"), *header = fopen("status.h", "w");
  host.declaration = "extern impure fn used(n: i64) -> i64";
  host.function = (void (*)(void))used;
  host.returns_status = host.takes_user = true;
  if (!object || !header || hia_engine_new(NULL, &engine, &error) != HIA_OK ||
      hia_engine_register(engine, &host, &error) != HIA_OK ||
      hia_module_load_text(engine, "status.hia", text, sizeof text - 1, &module, &error) != HIA_OK ||
      hia_module_build_object(module, NULL, 0, NULL, write, object, &error) != HIA_OK ||
      hia_module_build_header(module, NULL, 0, NULL, write, header, &error) != HIA_OK)
    fputs(error ? hia_error_text(error) : "no file\n", stderr);
  hia_error_free(error);
  hia_module_free(module);
  hia_engine_free(engine);
  return fclose(object) != 0 || fclose(header) != 0;
}
END
cat >status.c <<'END'
#include "status.h"
#include <stdio.h>
hia_status used(int64_t n, int64_t *total);
hia_status used(int64_t n, int64_t *total) {
  static int64_t all;
  *total = all += n;
  return all > 10 ? HIA_FAILED : HIA_OK;
}
int main(int argc, char **argv) {
  (void)argv;
  hia_context_options options = HIA_CONTEXT_OPTIONS_INIT;
  hia_context *context;
  int64_t sum = 0;
  if (argc > 1) options.flags |= HIA_CONTEXT_INTERPRET;
  if (hia_context_new(&options, &context) != HIA_OK || status_sum(context, 3, &sum) != HIA_OK) return 1;
  hia_status failed = status_sum(context, 3, &sum); /* at the second call: 6 and 3, and 2 */
  const hia_error *error = hia_context_error(context);
  printf("%d %s %d", (int)sum, hia_status_word(failed), (int)hia_error_chain_length(error));
  hia_context_free(context);
  return 0;
}
END
t 'a host that builds' $c builder.c -L"$libraries" -lhiaton -lhiaton_rt -Wl,-rpath,"$libraries" -o builder
t 'an object and its header' ./builder
is 'which says that a status is answered' ' * - hia_status used(int64_t, int64_t *) */' grep ' used' status.h
t 'a program with it' $c status.c status.o $static -Wl,--as-needed -lffi -o status
is 'fails natively' '14 failed 2' ./status
is 'and interpreted' '14 failed 2' ./status interpret
rm builder builder.c status status.c status.h status.o
printf 'extern fn note(n: i64) -> i64\nextern fn hypot(x: f64, y: f64) -> f64\nfn name(n: i64) -> i64 = note(n) + i64(hypot(3, 4))\n' >host_names.hia
t 'a function called as data is' "$hiaton" build host_names.hia --prefix host -o host_names.o
is 'is there' 1 bash -c 'nm -g --defined-only host_names.o | grep -c " T host_name$"'
rm host_names.o
for name in double main hia_context_new hiaR_enter; do
  printf 'extern fn %s(n: i64) -> i64\nfn f(n: i64) -> i64 = %s(n)\n' $name $name >x.hia
  wrong "the host's $name" 2 'cannot be a function of C' "$hiaton" build x.hia -o x.o
done
printf 'extern fn main(n: i64) -> i64\nfn f(n: i64) -> i64 = main(n)\n' >x.hia
wrong 'and why' 2 'main. cannot be a function of C: that name is taken there' "$hiaton" build x.hia -o x.o
printf 'extern fn t_f(n: i64) -> i64\nextern fn t_g_plain(n: i64) -> i64\nfn f(n: i64) -> i64 = t_f(n)\nfn g(n: i64) -> i64 = n + 1\nfn h(n: i64) -> i64 = t_g_plain(n)\n' >x.hia
wrong "a name of the host's" 2 "called .t_f. in C: that is a function of the host's" "$hiaton" build x.hia --fn f --prefix t -o x.o
t "a plain function's" "$hiaton" build x.hia --fn g --fn h --prefix t -o x.o --header x.h
is 'gives way to it' 'int64_t t_g_plain_(int64_t /*n*/);' grep t_g_plain_ x.h
rm x.o x.h
rm x.hia
cat >odd.hia <<'END'
extern fn name_of(x: i64) -> i64
extern fn host_name(x: i64) -> i64
fn main(n: i64) -> i64 = { let a = name_of(n); let _ = host_name(n); if n > 5 then host_name(a) else a }
END
cat >odd.c <<'END'
#include <stdint.h>
int64_t name_of(int64_t x), host_name(int64_t x);
int64_t name_of(int64_t x) { return x + 1; }
int64_t host_name(int64_t x) { return x * 10; }
END
t 'functions that are called like variables of ours' $c -c odd.c -o odd_c.o
t 'a program that calls them' "$hiaton" build odd.hia --exe -o odd odd_c.o
is 'which are found' 80 ./odd 7
is 'also interpreted' 80 ./odd 7 --engine interp
rm odd.hia odd.c

# Host functions find their data through the context; a run that one begins ends with the call around it.
cat >nest.hia <<'END'
extern impure fn begin(n: i64) -> i64
fn spin(n: i64) -> i64 = loop (x = n) while x != 0 { x * 3 + 1 }
fn outer(n: i64) -> i64 = loop (x = n) while x != 0 { begin(x) + x }
END
cat >nest.c <<'END'
#include "nest.h"
#include <stdio.h>
struct state {
  hia_context *inner;
  hia_status status;
};
int64_t begin(int64_t n);
int64_t begin(int64_t n) {
  struct state *s = hia_context_user(hia_context_current());
  s->status = nest_spin(s->inner, n, NULL);
  return 0;
}
int main(void) {
  for (int i = 0; i < 4; i++) {
    hia_context_options options = HIA_CONTEXT_OPTIONS_INIT;
    hia_context *outer;
    struct state s = {NULL, HIA_OK};
    if (i & 1) options.flags |= HIA_CONTEXT_INTERPRET;
    if (hia_context_new(&options, &outer) != HIA_OK) return 1;
    options.flags = i & 2 ? HIA_CONTEXT_INTERPRET : 0;
    if (hia_context_new(&options, &s.inner) != HIA_OK) return 1;
    hia_context_set_user(outer, &s);
    hia_context_set_timeout(outer, 20000000);
    hia_status status = nest_outer(outer, 1, NULL);
    printf("%s in %s\n", hia_status_word(s.status), hia_status_word(status));
    hia_context_free(outer);
    hia_context_free(s.inner);
  }
  return 0;
}
END
t 'a function that begins another' "$hiaton" build nest.hia --fn spin --fn outer -o nest.o --header nest.h
t 'with its host' $c nest.c nest.o $static -lffi -o nest
ends='deadline in deadline'
is 'it ends with the call around it' "$ends"$'\n'"$ends"$'\n'"$ends"$'\n'"$ends" timeout "$hang" ./nest

# ---- options ----

t 'for any machine' "$hiaton" build "$examples/fib.hia" --cpu x86-64 -o fib1.o
t 'for a later one' "$hiaton" build "$examples/fib.hia" --cpu x86-64-v4 -o fib4.o
t 'for this one' "$hiaton" build "$examples/fib.hia" --cpu native -o fibn.o
t 'which is the default' cmp fib.o fibn.o
t 'the first one runs here' $c use.c fib1.o tak.o $static -o use
is 'indeed' '10946 5' ./use
rm fib1.o fib4.o fibn.o
# Code for a processor without the instruction calls libm's fma, which also rounds once.
for t in f32 f64; do
  { cat "$sources/tests/programs/fma_$t.hia" && echo "fn main(z: $t) -> bool = at(z) == folded()"; } >fused.hia
  for cpu in x86-64 x86-64-v3; do
    t "fma of $t for $cpu" "$hiaton" build fused.hia --cpu $cpu --exe -o fused
    is "fma of $t on $cpu" true ./fused 1
    t 'its object' "$hiaton" build fused.hia --cpu $cpu -o fused.o
    is 'and what it calls' "$([ $cpu$t = x86-64f32 ] && echo 'U fmaf')$([ $cpu$t = x86-64f64 ] && echo 'U fma')" \
      bash -c "nm -u fused.o | grep -o 'U fmaf\?$'"
  done
done
rm fused fused.o
wrong 'no such processor' 2 'no processor `x86-64-v5`.*|--cpu takes' "$hiaton" build "$examples/fib.hia" --cpu x86-64-v5 -o x.o
wrong 'no output' 2 '-o FILE is missing' "$hiaton" build "$examples/fib.hia"
wrong 'two kinds' 2 'one thing' "$hiaton" build "$examples/fib.hia" --exe --shared -o x
wrong 'two functions in a program' 2 'one function' "$hiaton" build "$examples/fib.hia" --exe --fn fib --fn main -o x
wrong 'words for no linker' 2 'for the linker' "$hiaton" build "$examples/fib.hia" -o x.o other.o
wrong 'no such function' 2 'no function `fob`' "$hiaton" build "$examples/fib.hia" --fn fob -o x.o
wrong 'a program with mistakes' 1 'E0' "$hiaton" build "$sources/tests/errors/types.hia" -o x.o --header x.h
wrong 'no such file' 2 'cannot read' "$hiaton" build nothing.hia -o x.o
wrong 'no such folder' 1 'could not be written: No such' "$hiaton" build "$examples/fib.hia" -o nothing/x.o
wrong 'no such folder for a program' 1 'could not be written: No such' "$hiaton" build "$examples/fib.hia" --exe -o nothing/x
wrong 'no such folder for a header' 1 'could not be written: No such' "$hiaton" build "$examples/fib.hia" -o x.o --header nothing/x.h
for how in '' --exe --static --shared; do
  wrong "a folder $how" 1 'Is a directory' "$hiaton" build "$examples/fib.hia" $how -o "$work"
done
wrong 'a folder for a header' 1 'Is a directory' "$hiaton" build "$examples/fib.hia" -o x.o --header "$work"
for how in '' --exe --static --shared; do
  for header in same ./same "$work/same"; do
    wrong "one file for two $how" 2 '-o and --header are one file' "$hiaton" build fib.hia $how -o same --header $header
  done
  wrong "FILE as output $how" 2 'would replace FILE' "$hiaton" build fib.hia $how -o ./fib.hia
done
ln -s fib.hia link.hia
wrong 'FILE by another name' 2 'would replace FILE' "$hiaton" build fib.hia -o link.hia
wrong 'FILE as a header' 2 'would replace FILE' "$hiaton" build link.hia -o x.o --header fib.hia
is 'FILE is as it was' '' cmp fib.hia "$examples/fib.hia"
t 'two pipes' bash -c "'$hiaton' build fib.hia -o /dev/null --header /dev/null"
t 'a library with a comma in its name' "$hiaton" build fib.hia --shared -o 'a,b.so'
is 'is called so' 'a,b.so' bash -c "readelf -d a,b.so | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p'"
t 'a program into a pipe' bash -c "'$hiaton' build fib.hia --fn fib --exe -o /dev/stdout | cat >piped; chmod +x piped"
is 'works' 89 ./piped 10
rm link.hia piped 'a,b.so'

# ---- files that cannot be written completely ----

chmod 755 "$work"
mkdir closed
echo old >read_only
chmod 444 read_only
chmod 555 closed
as=
[ "$(id -u)" = 0 ] && as='setpriv --reuid 65534 --regid 65534 --clear-groups'
if $as test -x "$hiaton" 2>err && $as test -r "$examples/fib.hia" && ! $as test -w closed; then
  for how in '' --exe --static --shared; do
    wrong "a folder that is not ours $how" 1 'could not be written: Permission denied' \
      $as "$hiaton" build "$examples/fib.hia" $how -o closed/x
  done
  wrong 'nor for a header' 1 'could not be written: Permission denied' \
    $as "$hiaton" build "$examples/fib.hia" -o /dev/null --header closed/x.h
  wrong 'a file that is not ours' 1 'could not be written: Permission denied' \
    $as "$hiaton" build "$examples/fib.hia" -o read_only
  is 'is as it was' old cat read_only
fi
rm -r closed
rm -f read_only

# A limit on the size of files, with its signal and, if that is ignored, with its error.
for how in '' --exe --static --shared; do
  wrong "too large $how" 1 'could not be written: File too large' \
    bash -c "trap '' XFSZ; ulimit -f 1; exec '$hiaton' build '$examples/fib.hia' $how -o x"
  wrong "too large, and it ends $how" 153 '' bash -c "(ulimit -f 1; exec '$hiaton' build '$examples/fib.hia' $how -o x)"
done

# Interrupted as soon as a file exists, while a program of many functions is compiled.
for i in $(seq 1 250); do
  printf 'fn work%d(n: i64, x: f64) -> f64 = if n <= 0 then x * %d.5 + exp(x) else work%d(n - 1, x) * work%d(n / 2, x - 1) + sqrt(x)\n' \
    "$i" "$i" "$i" $((i > 1 ? i - 1 : 1))
done >large.hia
printf '#!/bin/sh\nsleep 1\nexec %s "$@"\n' "$cc" >slow
chmod +x slow
# A file without a name that the process writes, or one with a name where there are no such files.
has_output() { compgen -G '*.part' >/dev/null || ls -l "/proc/$1/fd" 2>/dev/null | grep -q '#[0-9]* (deleted)'; }
interrupted() { # SIGNAL PATTERN|- COMMAND...
  local signal=$1 pattern=$2 before files pid n=0 status
  shift 2
  list_files
  before=${files[*]}
  env --default-signal "$@" >out 2>err </dev/null &
  pid=$!
  while ! { [ "$pattern" = - ] && has_output $pid; } && ! compgen -G "$pattern" >/dev/null && kill -0 $pid 2>/dev/null && [ $n -lt $((20 * hang)) ]; do
    sleep 0.05 # each look starts processes
    n=$((n + 1))
  done
  kill -s "$signal" $pid 2>/dev/null
  { wait $pid; } 2>/dev/null
  status=$?
  list_files
  if [ $status -lt 128 ]; then
    bad "SIG$signal, $*" "was over before: $status $(cat err)"
  elif [ "${files[*]}" != "$before" ]; then
    bad "SIG$signal, $*: leaves files behind" "${files[*]}"
  else
    ok
  fi
}
for signal in INT TERM HUP QUIT ABRT; do
  interrupted $signal - "$hiaton" build large.hia -o x.o
done
interrupted TERM - "$hiaton" build large.hia -o /dev/null --header x.h
interrupted TERM - "$hiaton" build large.hia -o x.o --header x.h
interrupted TERM '.hiaton-*' "$hiaton" build large.hia --shared -o x
interrupted ABRT '.hiaton-*' "$hiaton" build large.hia --shared -o x
if [ $unsanitized = yes ]; then # as LLVM ends the process after an error that it cannot report
  printf '#include <stdlib.h>\nint posix_spawnp(void) { exit(70); }\n' >end.c
  t 'a library that ends the process' $cc -shared -fPIC -fno-builtin -w end.c -o end.so
  wrong 'which leaves nothing' 70 '' env LD_PRELOAD="$work/end.so" "$hiaton" build fib.hia --exe -o x --header x.h
  rm end.c end.so
fi
interrupted INT '.hiaton-*/x.o' env CC="$work/slow" "$hiaton" build fib.hia --exe -o x
interrupted TERM '.hiaton-*/x.o' env CC="$work/slow" "$hiaton" build fib.hia --shared -o x --header x.h
before=$(ls -A)
"$hiaton" build fib.hia -o /dev/stdout --header x.h 2>/dev/null | true
rm -f x.h
if [ "$(ls -A)" = "$before" ]; then ok; else bad 'a closed pipe leaves files behind' "$(ls -A)"; fi
rm -f large.hia slow

# In the folder of a link's target, which may be on another disk.
if [ -w /dev/shm ] && [ "$(stat -c %d /dev/shm)" != "$(stat -c %d .)" ]; then
  far=$(mktemp /dev/shm/hiaton-test-XXXXXX)
  ln -s "$far" far
  t 'a link to another disk' "$hiaton" build fib.hia --fn fib --exe -o far
  is 'which it leads to' 89 "$far" 10
  rm -f "$far" far
fi
wrong 'a full disk' 1 'No space left' "$hiaton" build "$examples/fib.hia" -o /dev/full
wrong 'a full disk for a program' 1 'No space left' "$hiaton" build "$examples/fib.hia" --exe -o /dev/full
mkdir there
touch there/program
ln -s there/program link
t 'a name that is a link' "$hiaton" build "$examples/fib.hia" --exe -o link
is 'stays one' 'there/program 89' bash -c 'echo "$(readlink link) $(there/program 10)"'
if [ -w /dev/shm ] && elsewhere=$(mktemp -p /dev/shm); then # another file system
  ln -sf "$elsewhere" link
  t 'a link to another file system' "$hiaton" build "$examples/fib.hia" --exe -o link
  cp "$elsewhere" elsewhere # from where programs may not be run
  chmod +x elsewhere
  is 'works' 89 ./elsewhere 10
  rm "$elsewhere"
fi
rm link
mkfifo fifo
timeout "$hang" cat fifo >copy &
t 'a program into a pipe' "$hiaton" build "$examples/fib.hia" --exe -o fifo
wait $!
chmod +x copy
is 'arrives' 89 ./copy 10
t 'a comma in the name of a library' "$hiaton" build "$examples/fib.hia" --shared -o lib,fib.so
is 'is part of its soname' 'lib,fib.so' bash -c "readelf -d lib,fib.so | sed -n 's/.*(SONAME).*\\[\\(.*\\)\\]/\\1/p'"
rm lib,fib.so
wrong 'no linker' 1 'cannot run `nothing`.*|\$?CC names' env CC=nothing "$hiaton" build "$examples/fib.hia" --exe -o x
wrong 'a linker that fails' 1 'ended with status 1' env CC=false "$hiaton" build "$examples/fib.hia" --exe -o x
wrong 'no ar' 1 'AR names' env AR=nothing "$hiaton" build "$examples/fib.hia" --static -o x.a
wrong 'undefined things' 1 'nothing_such' "$hiaton" build "$examples/fib.hia" --exe -o x -- -Wl,-u,nothing_such -Wl,--no-undefined -Wl,--require-defined=nothing_such
t 'only a header' "$hiaton" build "$examples/fib.hia" --header only.h
t 'a pipe' bash -c "'$hiaton' build '$examples/fib.hia' -o /dev/stdout | cmp - fib.o"
"$hiaton" dump "$examples/fib.hia" --stage static >fib.ir
t 'a graph' "$hiaton" build --from-ir fib.ir -o graph.o --header graph.h
t 'a graph as a program' "$hiaton" build --from-ir fib.ir --fn fib --exe -o graph
is 'that runs' 89 ./graph 10
is 'interpreted too' 89 ./graph 10 --engine interp
"$hiaton" dump "$examples/fib.hia" --stage graph >fib_graph.ir
for ir in fib.ir fib_graph.ir; do
  t "one function of $ir" "$hiaton" build --from-ir $ir --fn fib --prefix a -o a.o
  t "another of $ir" "$hiaton" build --from-ir $ir --fn main --prefix b -o b.o
  is 'an object has the symbols of what was asked for' 'a_fib b_main' \
    bash -c 'nm -g --defined-only a.o b.o | sed -n "s/.* T //p" | sort | xargs'
  t 'both in one program' ld -r a.o b.o -o both.o
done
rm a.o b.o both.o

# ---- another runtime ----

sed 's/hia_rt_abi_[0-9]/hia_rt_abi_0/g' fib.o >future.o
if $c use.c future.o tak.o $static -o use 2>err; then
  bad 'an object for another runtime links'
elif grep -q 'undefined.*hia_rt_abi_0' err; then
  ok
else
  bad 'an object for another runtime' "$(cat err)"
fi

t 'as a shared library it lacks a symbol' $cc -shared future.o $shared -o libfuture.so
wrong 'and is no library for a program' 1 'undefined.*hia_rt_abi_0' $c use.c -L. -lfuture tak.o $shared -o x

# ---- a damaged image ----

at=$(LC_ALL=C grep -zaboP '\x89hia\r\n\x1a\n\x04\x03\x02\x01' fib | head -z -n 1 | tr '\0' '\n' | cut -d: -f1 | head -1)
size=$(od -An -tu8 -j $((at + 16)) -N 8 fib | tr -d ' ')
for offset in 0 5 8 12 16 24 32 40 64 100 $((size / 2)) $((size - 300)) $((size - 1)); do
  cp fib damaged
  byte=$(od -An -tu1 -j $((at + offset)) -N 1 fib)
  printf "\\x$(printf %x $((byte ^ 32)))" | dd of=damaged bs=1 seek=$((at + offset)) conv=notrunc status=none
  wrong "an image altered at $offset of $size" 1 'error.bad-image' ./damaged 10 --engine interp
  # Native code runs, unless the byte is in the types of the arguments.
  got=$(./damaged 10 2>&1)
  case $got in
    89 | error?bad-image*) ok ;;
    *) bad "native code beside an image altered at $offset" "$got" ;;
  esac
done
rm damaged

# ---- examples/aot ----

mkdir copied
cp -r "$examples" copied/examples
t 'examples/aot' make -C copied/examples/aot HIATON="$hiaton" CC="$cc" HIA_CFLAGS="$include" HIA_LIBS="$static" fib
is 'what it makes' 'fib(30) = 1346269' copied/examples/aot/fib 30

# ---- programs that fail ----

cat >deep.hia <<'END'
fn down(n: i64) -> i64 = if n == 0 then 1 / n else 1 + down(n - 1)
fn main(n: i64, x: (f32, bool)) -> (i64, f32) = { let (f, _) = x; (down(n), f) }
END
t 'one that fails' "$hiaton" build deep.hia --exe -o deep
for engine in native interp; do
  wrong "where ($engine)" 1 'deep.hia:1:43: error\[div-zero\]' ./deep 3 '(1, true)' --engine $engine
  "$hiaton" run deep.hia 3 '(1, true)' 2>&1 | grep -v '^ *[0-9]* |\|^ *|' >wanted
  ./deep 3 '(1, true)' --engine $engine 2>got
  t "the chain ($engine)" cmp wanted got
  wrong "a million calls ($engine)" 1 '\.\.\. 999982 calls more' ./deep 1000000 '(1, true)' --engine $engine
  wrong "too deep ($engine)" 1 'error\[depth\]' ./deep 1000000000000 '(1, true)' --max-depth 16M --engine=$engine
  wrong "too long ($engine)" 1 'error\[deadline\]' ./deep 1000000000000 '(1, true)' --timeout 0.05 --engine $engine
done
for args in '3' '3 1' '3 (1,true)x' '3 (1,true,2)' '3.5 (1,true)' '3i32 (1,true)' '9223372036854775808 (1,true)' \
  '3 (1e99,true)' 'x (1,true)' '0x (1,true)' '3 (1,2)' '-- --help (1,true)' '3 (1.,true)' '1_ (,true)'; do
  wrong "arguments $args" 2 'error\[(argument|E0[0-9]*)\]' ./deep $args
done
for args in --engine '--engine jit' --nothing '--threads x' '--max-depth 0' '--timeout -1' -x; do
  wrong "options $args" 2 'says how it is used' ./deep 3 '(1,true)' $args
done
cat >echo.hia <<'END'
fn main(a: i32, b: i64, c: f32, d: f64, e: bool, f: (i64, (f64, bool))) = (a, b, c, d, e, f)
END
t 'one that answers its arguments' "$hiaton" build echo.hia --exe -o echo
while IFS='|' read -r a b c d e f; do
  want=$("$hiaton" run echo.hia --engine interp -- "$a" "$b" "$c" "$d" "$e" "$f")
  is "arguments $a $b $c $d $e $f" "$want" ./echo -- "$a" "$b" "$c" "$d" "$e" "$f"
done <<'END'
1|2|3|4|true|(5, (6, false))
-2147483648|-9223372036854775808|-inf|nan|false|( -1 ,( -1.5e-3 , true ) )
0x7fffffff|0x7fff_ffff_ffff_ffff|0.1|1e308|true|(1_000i64,(0x10,true))
- 7|1_0|1.5f32|1_0.25e+2f64|true|(0,(5e-324,false))
7i32|7i64|16777217|0.30000000000000004|true|(0,(inf,false))
END

# ---- data ----

c="$cc -std=c11 -Wall -Wextra -Wpedantic -Werror $include"
cat >shapes.hia <<'END'
type Tree = Leaf(x: i64) | Node(left: Tree, right: Tree) | Pair(p: (i32, f64), ok: bool, ns: [(i32, bool)]) | Nil
type Box = Box(t: Tree, next: Box) | Last
fn mirror(t: Tree) -> Tree = match t { Node(l, r) => Node(mirror(r), mirror(l)), _ => t }
fn sum(t: Tree, k: i64) -> (i64, bool) = match t {
  Leaf(x) => (x * k, true), Node(l, r) => (sum(l, k).0 + sum(r, k).0, false), _ => (0, false),
}
fn make(d: i32) -> Tree = if d == 0 then Leaf(7) else Node(make(d - 1), Nil)
fn boxed(t: Tree, n: i32) -> (Box, i32) = (Box(t, Box(Nil, Last)), n + 1)
fn unbox(b: Box) -> Tree = match b { Box(t, _) => t, Last => fail(5) }
fn main(t: Tree, u: (Tree, i64)) -> (Tree, i64) = (Node(mirror(t), u.0), sum(t, u.1).0)
END
cat >shapes.c <<'END'
#include "shapes.h"
#include <stdio.h>
#include <stdlib.h>
static void show(const char *what, const hia_value *value) {
  char text[512];
  hia_value_format(value, text, sizeof text);
  printf("%s %s\n", what, text);
}
int main(int argc, char **argv) {
  hia_context_options o = HIA_CONTEXT_OPTIONS_INIT;
  hia_context *c;
  hia_error *error;
  hia_value *made, *r = NULL, *s = NULL;
  hia_array_ref none = {0};
  int64_t sum;
  int32_t n;
  bool is_leaf;
  if (argc > 1 && argv[1][0] == 'i') o.flags |= HIA_CONTEXT_INTERPRET;
  o.threads = 2;
  if (hia_context_new(&o, &c) != HIA_OK) return 1;
  hia_maker *m = hia_maker_new(NULL);
  if (!m) return 1;
  shapes_Tree t = shapes_Tree_Node_make(m, shapes_Tree_Leaf_make(m, 5),
                                        shapes_Tree_Pair_make(m, -3, 2.5, true, none));
  t = shapes_Tree_Node_make(m, t, shapes_Tree_Nil_make());
  if (hia_maker_value(m, shapes_Tree_type(), t.word, &made, &error) != HIA_OK) return 2;
  hia_maker_free(m);
  if (shapes_mirror(c, made, &r) != HIA_OK || shapes_sum(c, made, 3, &sum, &is_leaf) != HIA_OK) return 3;
  show("mirror", r);
  printf("sum %d %d\n", (int)sum, is_leaf);
  /* Read in place. */
  shapes_Tree view = shapes_Tree_view(r), pair = shapes_Tree_Node_left(shapes_Tree_Node_right(view));
  printf("view %u %u %d %g %d %d\n", shapes_Tree_ctor(view), shapes_Tree_ctor(shapes_Tree_Node_left(view)),
         shapes_Tree_Pair_p_0(pair), shapes_Tree_Pair_p_1(pair), shapes_Tree_Pair_ok(pair),
         (int)hia_array_len(shapes_Tree_Pair_ns(pair)));
  /* A result holds the arguments that it contains. */
  if (shapes_boxed(c, made, 8, &s, &n) != HIA_OK) return 4;
  hia_value_free(made);
  hia_value_free(r);
  if (shapes_unbox(c, s, &r) != HIA_OK || shapes_boxed(c, r, 8, NULL, &n) != HIA_OK) return 5;
  hia_value_free(s);
  show("unboxed", r);
  /* What is wrong. */
  hia_status status = shapes_unbox(c, r, &s);
  printf("%s %s\n", hia_status_word(status), hia_error_message(hia_context_error(c), 0));
  status = shapes_mirror(c, NULL, &s);
  printf("%s %s\n", hia_status_word(status), hia_error_message(hia_context_error(c), 0));
  if (hia_data_read(NULL, shapes_Box_type(), NULL, "Last", 4, &made, NULL) != HIA_OK) return 6;
  status = shapes_unbox(c, made, &s);
  printf("%s %d\n", hia_status_word(status), (int)hia_error_fail_code(hia_context_error(c)));
  /* Many calls leave nothing: memory would run out. */
  for (int i = 0; i < 3000; i++) {
    if (shapes_make(c, 100, &s) != HIA_OK) return 7;
    hia_value_free(s);
  }
  printf("types %d %d %d\n", shapes_sum_type(0) == shapes_mirror_type(1), shapes_sum_type(1) == NULL,
         shapes_sum_type(4) == NULL);
  hia_value_free(made);
  hia_value_free(r);
  hia_context_free(c);
  return 0;
}
END
shapes_output='mirror Node(Nil, Node(Pair((-3, 2.5), true, []), Leaf(5)))
sum 15 0
view 1 3 -3 2.5 1 0
unboxed Node(Node(Leaf(5), Pair((-3, 2.5), true, [])), Nil)
argument parameter 1 must be of type Box, and is of type Tree
argument parameter 1 is no value
failed 5
types 1 1 1'
for how in "" --parallel; do
  t "functions with data $how" "$hiaton" build shapes.hia $how -o shapes.o --header shapes.h
  for link in "$static" "$shared"; do
    t 'a host in C' $c shapes.c shapes.o $link -o shapes
    is 'makes and reads data' "$shapes_output" ./shapes
    is 'interpreted too' "$shapes_output" ./shapes i
  done
done
is 'an object exports no more than its functions and their types' \
  'shapes_boxed shapes_boxed_type shapes_main shapes_main_type shapes_make shapes_make_type shapes_mirror shapes_mirror_type shapes_sum shapes_sum_type shapes_unbox shapes_unbox_type' \
  bash -c 'nm -g --defined-only shapes.o | cut -d" " -f3 | sort | xargs'
if [ "$cxx" != - ]; then
  t 'a host in C++' $cxx -std=c++11 -Wall -Wextra -Werror $include -x c++ shapes.c -x none shapes.o $static -o shapes
  is 'works too' "$shapes_output" ./shapes
fi
t 'a shared library with data' "$hiaton" build shapes.hia --shared -o libshapes.so
t 'a host of it' $c shapes.c -L. -lshapes $shared -Wl,-rpath,"$work" -o shapes
is 'works' "$shapes_output" ./shapes
t 'with fuel' "$hiaton" build shapes.hia --fuel -o shapes.o --header shapes.h
t 'a host without' $c shapes.c shapes.o $static -o shapes
is 'that works as well' "$shapes_output" ./shapes

# Values of types without fields take a byte in memory.
cat >colours.hia <<'END'
type Colour = Red | Green | Blue
type Item = Item(first: Colour, n: i32, next: Item, second: Colour) | End
fn flip(i: Item) -> Item = match i { Item(a, n, t, b) => Item(b, n + 1, flip(t), a), End => End }
fn of(i: Item) -> [Colour] = match i { Item(a, _, _, b) => [a, Blue, b], End => [Green] }
END
cat >colours.c <<'END'
#include "colours.h"
#include <stdio.h>
int main(int argc, char **argv) {
  hia_context_options o = HIA_CONTEXT_OPTIONS_INIT;
  hia_context *c;
  hia_value *made, *flipped = NULL, *colours = NULL;
  if (argc > 1 && argv[1][0] == 'i') o.flags |= HIA_CONTEXT_INTERPRET;
  if (hia_context_new(&o, &c) != HIA_OK) return 1;
  hia_maker *m = hia_maker_new(NULL);
  if (!m) return 1;
  colours_Item item = colours_Item_Item_make(m, colours_Colour_Green_make(), 4, colours_Item_End_make(),
                                             colours_Colour_Red_make());
  item = colours_Item_Item_make(m, colours_Colour_Blue_make(), 1, item, colours_Colour_Green_make());
  if (hia_maker_value(m, colours_Item_type(), item.word, &made, NULL) != HIA_OK) return 2;
  hia_maker_free(m);
  if (colours_flip(c, made, &flipped) != HIA_OK) return 3;
  colours_Item i = colours_Item_view(flipped);
  for (; colours_Item_ctor(i) == 0; i = colours_Item_Item_next(i))
    printf("%u %d %u ", colours_Colour_ctor(colours_Item_Item_first(i)), (int)colours_Item_Item_n(i),
           colours_Colour_ctor(colours_Item_Item_second(i)));
  if (colours_of(c, made, &colours) != HIA_OK) return 4;
  char text[100];
  hia_value_format(colours, text, sizeof text);
  printf("%s\n", text);
  hia_value_free(colours);
  hia_value_free(flipped);
  hia_value_free(made);
  hia_context_free(c);
  return 0;
}
END
t 'types without fields' "$hiaton" build colours.hia -o colours.o --header colours.h
t 'their host' $c colours.c colours.o $static -o colours
is 'makes and reads them' '1 2 2 0 5 1 [Blue, Blue, Green]' ./colours
is 'interpreted too' '1 2 2 0 5 1 [Blue, Blue, Green]' ./colours i
if [ "$cxx" != - ]; then
  t 'their host in C++' $cxx -std=c++11 -Wall -Wextra -Werror $include -x c++ colours.c -x none colours.o $static -o colours
  is 'does the same' '1 2 2 0 5 1 [Blue, Blue, Green]' ./colours
fi

# Maps over columns of values.
cat >rows.hia <<'END'
type Tree = Leaf(x: i64) | Node(left: Tree, right: Tree)
fn sum(t: Tree) -> i64 = match t { Leaf(x) => x, Node(l, r) => sum(l) + sum(r) }
fn grow(t: Tree, k: i64, ok: bool) -> (Tree, i64, Tree) = if ok then (Node(t, Leaf(k / sum(t))), sum(t), t) else fail(k)
fn spin(t: Tree, n: i64) -> i64 = loop (x = n) while x != 0 { x * 3 + sum(t) }
END
cat >rows.c <<'END'
#include "rows.h"
#include <inttypes.h>
#include <stdio.h>
enum { N = 4 };
static void show(const hia_value *value) {
  char text[100];
  hia_value_format(value, text, sizeof text);
  printf("%s ", text);
}
int main(int argc, char **argv) {
  hia_context_options o = HIA_CONTEXT_OPTIONS_INIT;
  hia_context *c;
  const hia_value *trees[N];
  hia_value *made[N], *first[N], *second[N];
  int64_t ks[N] = {10, 20, 30, 40}, sums[N], spun[N];
  bool ok[N] = {true, true, true, true};
  if (argc > 1 && argv[1][0] == 'i') o.flags |= HIA_CONTEXT_INTERPRET;
  o.threads = 2;
  if (hia_context_new(&o, &c) != HIA_OK) return 1;
  for (int i = 0; i < N; i++) {
    char text[40];
    int len = snprintf(text, sizeof text, "Node(Leaf(%d), Leaf(1))", i);
    if (hia_data_read(NULL, rows_grow_type(0), NULL, text, (size_t)len, &made[i], NULL) != HIA_OK) return 2;
    trees[i] = made[i];
  }
  for (int round = 0; round < 4; round++) {
    if (round == 1) ok[2] = false;
    if (round == 2) trees[1] = NULL;
    if (FUEL) hia_context_set_fuel(c, round == 0 ? 100 : round == 3 ? 11 : 1000);
    trees[round == 3 ? 1 : 0] = made[round == 3 ? 1 : 0];
    hia_status status = rows_grow_map(c, N, trees, ks, ok, first, sums, second);
    int n = (int)hia_context_rows(c);
    printf("%s %d ", hia_status_word(status), n);
    uint64_t left = 0;
    if (FUEL && hia_context_fuel_left(c, &left)) printf("left %d ", (int)left);
    if (status != HIA_OK) printf("%s ", hia_error_message(hia_context_error(c), 0));
    for (int i = 0; i < n; i++) {
      show(first[i]), show(second[i]), printf("%d;", (int)sums[i]);
      hia_value_free(first[i]), hia_value_free(second[i]);
    }
    puts("");
  }
  printf("%d ", rows_grow_map(c, N, (const hia_value *const *)first, ks, ok, first, sums, second));
  puts(hia_error_message(hia_context_error(c), 0));
  printf("%d ", rows_grow_map(c, 0, NULL, NULL, NULL, NULL, NULL, NULL));
  printf("%d\n", hia_context_error(c) == NULL);
  for (int i = 0; i < N; i++) spun[i] = i == 1;
  hia_context_clear_fuel(c);
  hia_context_set_timeout(c, 50000000);
  hia_status status = rows_spin_map(c, N, trees, spun, sums);
  printf("%s %d %s\n", hia_status_word(status), (int)hia_context_rows(c), hia_error_message(hia_context_error(c), 0));
  for (int i = 0; i < N; i++) hia_value_free(made[i]);
  hia_context_free(c);
  return 0;
}
END
grown='Node(Node(Leaf(0), Leaf(1)), Leaf(10)) Node(Leaf(0), Leaf(1)) 1;'
grown2='Node(Node(Leaf(1), Leaf(1)), Leaf(10)) Node(Leaf(1), Leaf(1)) 2;'
grown3='Node(Node(Leaf(2), Leaf(1)), Leaf(10)) Node(Leaf(2), Leaf(1)) 3;Node(Node(Leaf(3), Leaf(1)), Leaf(10)) Node(Leaf(3), Leaf(1)) 4;'
last=$'2 a column of results overlaps another column\n0 1\ndeadline 1 past the deadline: more than 50 ms, in row 1'
for fuel in 0 1; do
  how=
  [ $fuel = 1 ] && how=--fuel
  t "maps over values $how" "$hiaton" build rows.hia --map $how -o rows.o --header rows.h
  t 'their host' $c -DFUEL=$fuel rows.c rows.o $static -o rows
  for engine in native interp; do ./rows $engine >rows_$fuel$engine 2>&1; done
  t 'natively as interpreted' cmp rows_${fuel}native rows_${fuel}interp
done
is 'the rows' "ok 4 $grown$grown2$grown3" sed -n 1p rows_0native
is 'before one that fails' "failed 2 the program called fail(30), in row 2 $grown$grown2" sed -n 2p rows_0native
is 'or has no value' "argument 1 parameter 1 is no value, in row 1 $grown" sed -n 3p rows_0native
is 'and has too little fuel' "fuel 1 left 1 out of fuel, in row 1 $grown" sed -n 4p rows_1native
is 'what else can be wrong' "$last" tail -n 3 rows_0native
if [ "$cxx" != - ]; then t 'in C++' $cxx -x c++ $include -fsyntax-only rows.h; fi
t 'a program with data' "$hiaton" build shapes.hia --exe -o shapes
t 'one with fuel' "$hiaton" build shapes.hia --exe --fuel -o shapes_fuel
printf 'Node(Leaf(1), # a comment\n  Pair((2, 1e3), false, [(3, true)]))\n' >long.txt
same() { # WHAT ARGUMENT...: the program does what `hiaton run` does
  local what=$1 status engine
  shift
  "$hiaton" run shapes.hia "$@" >wanted 2>wanted_err
  status=$?
  for engine in native interp; do
    timeout "$hang" ./shapes "$@" --engine $engine >got 2>got_err
    if [ $? = $status ] && cmp -s wanted got && cmp -s <(grep -v '^ *|\|^ *[0-9]* |' wanted_err) <(grep -v '^ *|\|^ *[0-9]* |' got_err); then
      ok
    else
      bad "$what ($engine)" "$(cat got got_err) not $(cat wanted wanted_err)"
    fi
  done
}
same 'values' 'Node(Leaf(1), Leaf(2))' '(Nil, 3)'
same 'a file of text' @long.txt '(Leaf(9), -1)'
same 'a missing bracket' 'Node(Leaf(1) Nil)' '(Nil, 3)'
same 'another constructor' 'Branch(Nil)' '(Nil, 3)'
same 'too few fields' 'Node(Nil)' '(Nil, 3)'
same 'a wrong file' @nothing.txt '(Nil, 3)'
same 'a folder' @. '(Nil, 3)'
wrong 'too few arguments' 2 'main.* takes 2 arguments, not 1' ./shapes Nil
is 'the result with fuel' '(Node(Leaf(1), Nil), 3)' ./shapes_fuel 'Leaf(1)' '(Nil, 3)' --fuel 10
wrong 'or too little' 1 'out of fuel' ./shapes_fuel 'Node(Leaf(1), Leaf(2))' '(Nil, 3)' --fuel 1
t 'a program that saves' "$hiaton" build shapes.hia --fn make --exe -o make
wrong 'no memory' 1 'error.memory.*more than 65536 bytes' ./make 100000 --max-memory 64K
wrong 'nor interpreted' 1 'error.memory.*more than 65536 bytes' ./make 100000 --max-memory 64K --engine interp
if [ $unsanitized = yes ]; then # without a limit, in an address space that the machine has
  for engine in native interp; do
    wrong "no memory ($engine)" 1 'error.(memory|depth).' bash -c 'ulimit -v 300000; ./make 2000000000 --engine $0' $engine
  done
  t 'any memory' ./make 200 --max-memory none --max-depth none
fi
t 'its result' ./make 200 -o deep.hiav
t 'as hiaton does' "$hiaton" run shapes.hia --fn make 200 -o again.hiav
t 'the same bytes' cmp deep.hiav again.hiav
# A file appears whole or not at all.
wrong 'a run that fails leaves the file as it was' 1 'error.memory' ./make 100000 --max-memory 64K -o again.hiav
t 'is as it was' cmp deep.hiav again.hiav
if [ $unsanitized = yes ]; then # a sanitizer's runtime notes the signal
  (ulimit -f 4; ./make 100000 -o again.hiav; ./make 100000 -o fresh.hiav) 2>/dev/null
  t 'and so does a write that is interrupted' cmp deep.hiav again.hiav
  is 'of which nothing is left' '' bash -c 'ls fresh.hiav* *.part 2>/dev/null'
fi
ln -s again.hiav link.hiav
t 'through a link' ./make 3 -o link.hiav
is 'which remains one' again.hiav readlink link.hiav
is 'a device is written directly' 89686976 bash -c './make 3 -o /dev/stdout | od -An -tx1 -N4 | tr -d " "'
wrong 'a full device' 1 'cannot write /dev/full: No space left' ./make 3 -o /dev/full
t 'is there afterwards' test -c /dev/full
wrong 'a folder' 1 'cannot write .*: Is a directory' ./make 3 -o "$work"
wrong 'what cannot be written is said before the run' 1 '^error.io.: cannot write' ./make 100000 --max-memory 64K -o /nonexistent/x.hiav
cp deep.hiav again.hiav
same 'a saved value' @deep.hiav '(Nil, 3)'
same 'a damaged one' @long.hiav '(Nil, 3)'
wrong 'a place that cannot be written' 1 'cannot write' ./make 3 -o /nonexistent/x.hiav
cat >trees.hia <<'END'
type Tree = Leaf(word: i32, label: i32) | Node(left: Tree, right: Tree, label: i32)
fn main(t: Tree) -> Tree = t
END
echo '(3 (2 It) (4 (1 works) (0 well)))' >a.ptb
t 'trees in brackets' "$hiaton" build trees.hia --exe -o trees
is 'are read, with their words' 'Node(Leaf(0, 2), Node(Leaf(1, 1), Leaf(2, 0), 4), 3)' ./trees @a.ptb --build-vocab words
is 'which are written' 'It works well' bash -c 'xargs <words'
is 'and read' 'Node(Leaf(0, 2), Node(Leaf(1, 1), Leaf(2, 0), 4), 3)' ./trees @a.ptb --vocab words
printf '# one) (\n(3 (2 \xef\xbb\xbfIt) (4 (1 \\u{a}) (0 \xc2\x85)))\n# two\n' >odd.ptb
is 'odd words' 'Node(Leaf(0, 2), Node(Leaf(1, 1), Leaf(2, 0), 4), 3)' ./trees @odd.ptb --build-vocab odd
is 'and read back' 'Node(Leaf(0, 2), Node(Leaf(1, 1), Leaf(2, 0), 4), 3)' ./trees @odd.ptb --vocab odd
wrong 'no vocabulary' 2 '^error.io.: cannot read nosuch: No such file' ./trees @a.ptb --vocab nosuch
wrong 'no place for words' 1 '^error.io.: cannot write nosuch/v: No such file' ./trees @a.ptb --build-vocab nosuch/v
wrong 'without words' 2 'a.ptb:1:7' ./trees @a.ptb

# Streams: a large file is not held in memory if the function only reads its elements.
cat >stream.hia <<'END'
type Tree = Leaf(word: i32, label: i32) | Node(left: Tree, right: Tree, label: i32)
extern impure fn cut(n: i64) -> i64
fn size(t: Tree) -> i32 = match t { Leaf(_, _) => 1, Node(l, r, _) => size(l) + size(r) + 1 }
fn part(trees: [Tree], lo: i64, hi: i64) -> i64 =
  if hi - lo == 1 then i64(size(trees[lo])) else part(trees, lo, (lo + hi) / 2) + part(trees, (lo + hi) / 2, hi)
fn sizes(trees: [Tree], more: [Tree], n: i64) -> i64 = {
  let (_, s) = loop (i = 0i64, s = n) while i < len(trees) { (i + 1, s + i64(size(trees[i]))) };
  let (_, t) = loop (i = 0i64, s = 0i64) while i < len(more) { (i + 1, s + i64(size(more[i]))) };
  s * 10 + t
}
fn divided(trees: [Tree]) -> i64 = part(trees, 0, len(trees))
fn joined(trees: [Tree]) -> i64 = len(concat(trees, trees[0..1]))
fn past(trees: [Tree], i: i64) -> i32 = size(trees[i])
fn twice(trees: [Tree]) -> [Tree] = [Node(trees[i], trees[0], 1) for i in 0i64..len(trees)]
fn changed(trees: [Tree]) -> i64 = { let n = cut(len(trees)); n + i64(size(trees[n - 1])) }
END
cat >cut.c <<'END'
#include <stdint.h>
#include <unistd.h>
int64_t cut(int64_t n);
int64_t cut(int64_t n) { return truncate("stream.ptb", 100) == 0 ? n : -1; }
END
# peak KB COMMAND...: runs it, and prints how much memory it had at most if that is more than this
cat >peak.c <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int argc, char **argv) {
  struct rusage used;
  int status = 1;
  pid_t pid = argc > 2 ? fork() : -1;
  if (pid == 0) {
    execvp(argv[2], argv + 2);
    _exit(127);
  }
  if (pid < 0 || wait4(pid, &status, 0, &used) != pid) return 126;
  if (used.ru_maxrss > atol(argv[1])) printf("a peak of %ld KB\n", used.ru_maxrss);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 125;
}
END
t 'a program that measures the memory of another' $cc -std=gnu11 peak.c -o peak
little='./peak 40000'
[ $unsanitized = yes ] || little=
t 'a function of the host' $cc -c cut.c -o cut.o
grep -v 'cut(' stream.hia >pure.hia
for fn in sizes divided joined past twice changed; do
  t "a program of streams: $fn" "$hiaton" build stream.hia --fn $fn --exe -o stream_$fn cut.o
done
t 'one with fuel' "$hiaton" build stream.hia --fn sizes --exe --fuel -o stream_fuel cut.o
t 'one for several threads' "$hiaton" build stream.hia --fn divided --exe --parallel -o stream_parallel cut.o
yes '(3 (2 It) (4 works))' | head -n 850000 >stream.ptb
printf 'It\nworks\nwell\n' >words
for engine in native interp; do
  how="--vocab words --engine $engine"
  is "a stream in little memory ($engine)" 25500003 $little ./stream_sizes @stream.ptb '[Leaf(1, 2), Leaf(3, 4), Leaf(5, 6)]' 0 $how
  is "in another place ($engine)" 32550050 $little ./stream_sizes @a.ptb @stream.ptb 3000000 $how
  is "two at once ($engine)" 28050000 $little ./stream_sizes @stream.ptb @stream.ptb 0 $how
  is "a stream that is divided ($engine)" 2550000 $little ./stream_divided @stream.ptb $how
  is "by two threads ($engine)" 2550000 $little ./stream_parallel @stream.ptb --threads 2 $how
  is "no stream ($engine)" 850001 ./stream_joined @stream.ptb $how
  is "an array where streams may be ($engine)" 33 ./stream_sizes '[Leaf(1, 2), Leaf(3, 4), Leaf(5, 6)]' '[Node(Leaf(1, 2), Leaf(3, 4), 5)]' 0 $how
  wrong "past the end ($engine)" 1 'stream.hia:[0-9]*:[0-9]*: error.range.: index 850000 is out of range: the array has 850000 elements' ./stream_past @stream.ptb 850000 $how
  is "fuel ($engine)" 25500001 ./stream_fuel @stream.ptb '[Leaf(1, 2)]' 0 $how --fuel 3400003
  wrong "too little ($engine)" 1 'out of fuel' ./stream_fuel @stream.ptb '[Leaf(1, 2)]' 0 $how --fuel 3400002
  t "a result of a stream ($engine)" ./stream_twice @stream.ptb $how -o twice_$engine.hiav
done
if [ $unsanitized = yes ]; then
  ./peak 40000 ./stream_joined @stream.ptb --vocab words >out
  is 'an array is larger' 'a peak of' bash -c 'grep -o "a peak of" out'
  t 'a program of streams that calls no host' "$hiaton" build pure.hia --fn past --exe -o stream_pure
  strip -o stripped stream_pure
  size=$(stat -c %s stripped)
  if [ "$size" -lt 358000 ]; then ok; else bad "the stripped program of streams has $size bytes"; fi
fi
t 'the same results' cmp twice_native.hiav twice_interp.hiav
t 'as hiaton does' "$hiaton" run pure.hia --fn twice @stream.ptb --vocab words -o twice.hiav
t 'the same bytes' cmp twice_native.hiav twice.hiav
for engine in native interp; do
  is "a stream of a saved array ($engine)" 5950000 $little ./stream_divided @twice.hiav --engine $engine
done
is 'words of a stream' 'It works' bash -c './stream_divided @stream.ptb --build-vocab built >out && xargs <built'
truncate -s -1 twice.hiav
wrong 'a stream that is cut' 2 'twice.hiav: error.argument.: the saved value is damaged: it is incomplete' ./stream_divided @twice.hiav
for engine in native interp; do
  yes '(3 (2 It) (4 works))' | head -n 850000 >stream.ptb
  wrong "a stream that changes meanwhile ($engine)" 1 '^error.io.: cannot read stream.ptb any more' ./stream_changed @stream.ptb --vocab words --engine $engine
done
yes '(3 (2 It) (4 works))' | head -n 850000 >stream.ptb
printf '(2 It' >>stream.ptb
wrong 'a mistake in a stream' 2 'stream.ptb:850001:1: error.E0101.: this bracket is not closed' ./stream_divided @stream.ptb --vocab words
rm -f stream* twice* peak*
wrong 'no option of scalars' 2 'for functions with data' ./deep 3 '(1, true)' --vocab words
wrong 'nor a file' 2 'for functions with data' ./deep @a.ptb '(1, true)'
# Scalars are saved and loaded, too.
printf 'fn main(n: i64, p: (f32, (bool, f64))) -> (i64, (f32, (bool, f64))) = (n + 1, p)\nfn part(x: (f32, (bool, f64))) -> f32 = x.0\n' >pair.hia
t 'a program of scalars' "$hiaton" build pair.hia --exe -o pair
t 'one that takes a tuple' "$hiaton" build pair.hia --exe --fn part -o part
t 'the result of scalars' "$hiaton" run pair.hia 4 '(2.5, (true, -inf))' -o wanted.hiav
t 'of a tuple' "$hiaton" run pair.hia -e '(2.5, (true, -1f64 / 0f64))' -o tuple.hiav
t 'a number' "$hiaton" run pair.hia -e 4i64 -o number.hiav
for engine in native interp; do
  t "saved ($engine)" ./pair 4 '(2.5, (true, -inf))' -o pair.hiav --engine $engine
  t 'the same bytes' cmp pair.hiav wanted.hiav
  is "and loaded ($engine)" '(5, (2.5, (true, -inf)))' ./pair @number.hiav @tuple.hiav --engine $engine
  is "a tuple alone ($engine)" 2.5 ./part @tuple.hiav --engine $engine
done
wrong 'of another type' 2 'pair.hiav: error.argument.: expected a value of type .f32, .bool, f64.., the file has one of type .i64' ./part @pair.hiav
truncate -s -1 tuple.hiav
wrong 'and damaged' 2 'tuple.hiav: error.argument.: the saved value is damaged' ./part @tuple.hiav
wrong 'a place that cannot be written' 1 '^error.io.: cannot write /nonexistent/x.hiav' ./pair 4 '(1, (true, 1))' -o /nonexistent/x.hiav
t 'help names it' bash -c './pair --help | grep -q "^  -o FILE.hiav" && ! ./pair --help | grep -q vocab'
wrong 'a tensor of NumPy for scalars' 2 'is for functions with tensors' ./part @tuple.npy
wrong 'a result in a form that there is not' 2 'pair: -o: `x.txt` should be FILE.hiav$' ./pair 4 '(1, (true, 1))' -o x.txt
wrong 'a result of scalars for NumPy' 2 '^error.argument.: `x.npy` is for functions with tensors' ./pair 4 '(1, (true, 1))' -o x.npy
# Tensors of NumPy, as `hiaton run` takes and writes them.
printf 'fn main(x: f32[?, ?], s: f32) -> f32[?, ?] = x * s\nfn both(x: f32[?, ?]) = (x, x)\n' >tensor.hia
t 'a program of tensors' "$hiaton" build tensor.hia --exe -o tensor
t 'one with two results' "$hiaton" build tensor.hia --exe --fn both -o both
t 'a tensor for NumPy' "$hiaton" run tensor.hia '[[1, 2, 3], [4, 5, 6.5]]' 2 -o wanted.npy
head -c 150 wanted.npy >cut.npy
for engine in native interp; do
  t "a result for NumPy ($engine)" ./tensor '[[1, 2, 3], [4, 5, 6.5]]' 2 -o tensor.npy --engine $engine
  t 'the same bytes' cmp tensor.npy wanted.npy
  is "a tensor of NumPy ($engine)" '[[1.0, 2.0, 3.0], [4.0, 5.0, 6.5]]' ./tensor @tensor.npy 0.5 --engine $engine
done
is 'an archive of NumPy' '' ./tensor '[[1, 2, 3], [4, 5, 6.5]]' 2 -o one.npz
is 'its array' '[[1.0, 2.0, 3.0], [4.0, 5.0, 6.5]]' ./tensor @one.npz 0.5
is 'the same by name' '[[1.0, 2.0, 3.0], [4.0, 5.0, 6.5]]' ./tensor @one.npz:arr_0 0.5
t 'a tuple in an archive' ./both @tensor.npy -o both.npz
is 'one of its arrays' '[[1.0, 2.0, 3.0], [4.0, 5.0, 6.5]]' ./tensor @both.npz:arr_1 0.5
printf '\x93NUMPY\x01\0v\0%-117s\n\1\2' "{'descr': '|u1', 'fortran_order': False, 'shape': (1, 2), }" >bytes.npy
wrong 'another dtype' 2 "bytes.npy: error.argument.: expected f32.., .., the file.s tensor is u8.1, 2." ./tensor @bytes.npy 0.5
is 'converted' '[[0.5, 1.0]]' ./tensor @bytes.npy 0.5 --convert
wrong 'nothing that could be converted' 2 '`--convert` is for tensors in files: the program takes none' ./pair 4 '(1, (true, 1))' --convert
cat >grads.hia <<'END'
param W: f64[2] = 0.5
param b: f64 = 0
fn loss(x: f64[2]) -> f64 = { let d = W @ x + b; d * d }
fn main(x: f64[2]) = value_and_grad(loss)(x)
END
t 'a program of gradients' "$hiaton" build grads.hia --exe -o grads
t 'as hiaton run names them' "$hiaton" run grads.hia '[1, 2]' -o wanted.npz
for engine in native interp; do
  t "gradients in an archive ($engine)" ./grads '[1, 2]' -o grads.npz --engine $engine
  t 'the same bytes' cmp grads.npz wanted.npz
done
is 'they are params' '(56.25, ([0.0, 11.25], 15.0))' ./grads '[0, 0.75]' --params grads.npz
is 'of other dtypes, converted' '(2.25, ([3.0, 6.0], 3.0))' bash -c '
  echo "param W: f32[2] = 0.5 param b: f32 = 0 fn main() = 0" >narrow.hia
  "$0" run narrow.hia --save-params narrow.safetensors >narrow.out && ./grads "[1, 2]" --params narrow.safetensors --convert' "$hiaton"
wrong 'no such array' 2 "one.npz: error.argument.: there is no array 'x'; there are 'arr_0'" ./tensor @one.npz:x 1
wrong 'more than the limit' 1 'error.memory.: out of memory: array .arr_0. has 24 bytes, and 23 may be used' ./tensor @one.npz 1 --max-memory 23
wrong 'an array for scalars' 2 'is for functions with tensors' ./part @one.npz:x
if [ $unsanitized = yes ]; then
  if readelf -d tensor | grep -q libz; then bad 'a program of tensors needs zlib before it reads an archive'; else ok; fi
fi
wrong 'a tensor that is cut' 2 'cut.npy: error.argument.: the .npy file is damaged: its shape needs 24 bytes of elements, it has 22, at byte' ./tensor @cut.npy 1
wrong 'a result that is no tensor' 2 'a result of type .f32.*, f32.*. cannot be in x.npy' ./both @tensor.npy -o x.npy
t 'help names NumPy' bash -c './tensor --help | grep -q "^  -o FILE.npy" && ! ./pair --help | grep -q npy'
printf 'fn main(n: i64, x: f32) = (n, x)\n' >echo2.hia
is 'a file of a scalar' '(3, 0.5)' bash -c 'echo 3 >n.txt; "$0" build echo2.hia --exe -o echo2 && ./echo2 @n.txt 0.5' "$hiaton"
is 'help' 0 bash -c './deep --help | grep -q "main(i64, (f32, bool)) -> (i64, f32)"; echo $?'
wrong 'a closed output' 1 'could not be written' bash -c './fib 10 >/dev/full'

# ---- params and tensors ----

cat >net.hia <<'END'
type Box = Box(t: f32[?], n: i64)
param W: f32[2, 3] = uniform(-1, 1)
param s: f64 = 2
fn layer(x: f32[?, 3], k: f64) -> (f32[?, 2], f64) = (x @ transpose(W), k * s)
fn boxes(x: f32[?, ?]) -> ([Box], f32[?, ?]) = ([Box(x[i], i) for i in 0..len(x)], x)
fn walk(x: f32[?], n: i64) -> f32 = if n < 2 then sum(x) else walk(x, n - 1) + walk(x, n - 2)
fn main(x: f32[?]) = W @ x
END
cat >net.c <<'END'
#include "net.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
static hia_context *make_context(const char *engine, const char *threads) {
  hia_context_options o = HIA_CONTEXT_OPTIONS_INIT;
  hia_context *context;
  if (strcmp(engine, "interp") == 0) o.flags |= HIA_CONTEXT_INTERPRET;
  o.threads = (unsigned)atoi(threads);
  return hia_context_new(&o, &context) == HIA_OK ? context : NULL;
}
static void show(hia_value *value) {
  char text[256];
  hia_value_format(value, text, sizeof text);
  puts(text);
  hia_value_free(value);
}
static void show_error(hia_error *error) {
  printf("%s: %s\n", hia_error_code(error, 0), hia_error_message(error, 0));
  hia_error_free(error);
}
static void call(hia_context *context) {
  const float elements[3] = {1, 2, 3};
  const hia_f32_2 x = {elements, {1, 3}};
  hia_value *y;
  double d;
  if (net_layer(context, &x, 3, &y, &d) != HIA_OK) {
    puts(hia_error_message(hia_context_error(context), 0));
    return;
  }
  printf("%g ", d);
  show(y);
}
static void refused(hia_context *context, const hia_f32_2 *x) {
  if (net_layer(context, x, 3, NULL, NULL) == HIA_OK) puts("not refused");
  printf("%s: %s\n", hia_error_code(hia_context_error(context), 0),
         hia_error_message(hia_context_error(context), 0));
}
/* All elements of W are one number: a call sees no other state. */
static void *use(void *arg) {
  char **argv = arg;
  hia_context *context = make_context(argv[1], "1");
  const float elements[3] = {1, 1, 1};
  const hia_f32_2 x = {elements, {1, 3}};
  for (int i = 0; i < 100; i++) {
    hia_value *y = NULL;
    hia_f32_2 view = {NULL, {0, 0}};
    if (net_layer(context, &x, 3, &y, NULL) != HIA_OK || hia_f32_2_of(y, &view) != HIA_OK ||
        view.elements[0] != view.elements[1])
      puts("mixed states");
    hia_value_free(y);
    float all[6];
    for (int k = 0; k < 6; k++) all[k] = (float)i;
    const int64_t dims[2] = {2, 3};
    if (hia_params_set(net_params(), 0, HIA_F32, 2, dims, all, NULL) != HIA_OK) puts("not set");
  }
  hia_context_free(context);
  return NULL;
}
int main(int argc, char **argv) {
  hia_params *cell = net_params();
  hia_context *context = make_context(argv[1], argv[2]);
  hia_error *error = NULL;
  if (argc > 3 && hia_params_load(cell, argv[3], &error) != HIA_OK) show_error(error);
  call(context); /* the first values */
  for (size_t i = 0; i < hia_params_count(cell); i++)
    printf("%s %zu %zu\n", hia_params_name(cell, i), hia_params_rank(cell, i),
           hia_params_size(cell, i));
  const float own[6] = {1, 2, 3, 4, 5, 6};
  const int64_t dims[2] = {2, 3}, turned[2] = {3, 2};
  if (hia_params_set(cell, 0, HIA_F32, 2, dims, own, &error) != HIA_OK) show_error(error);
  call(context);
  if (hia_params_set(cell, 0, HIA_F32, 2, turned, own, &error) != HIA_OK) show_error(error);
  if (hia_params_load(cell, "net.hia", &error) != HIA_OK) show_error(error);
  if (hia_params_load(cell, "other.safetensors", &error) != HIA_OK) show_error(error);
  call(context);
  refused(context, NULL);
  refused(context, &(hia_f32_2){own, {1, 2}});
  refused(context, &(hia_f32_2){own, {-1, 3}});
  refused(context, &(hia_f32_2){NULL, {1, 3}});
  float *elements = malloc(sizeof own), sum;
  memcpy(elements, own, sizeof own);
  hia_value *boxes, *same;
  if (net_boxes(context, &(hia_f32_2){elements, {3, 2}}, &boxes, &same) != HIA_OK) return 1;
  memset(elements, 0xff, sizeof own);
  free(elements);
  show(boxes);
  show(same);
  if (net_walk(context, &(hia_f32_1){own, {6}}, 15, &sum) != HIA_OK) return 1;
  printf("%g\n", (double)sum);
  pthread_t threads[2];
  const float zeros[6] = {0};
  if (hia_params_set(cell, 0, HIA_F32, 2, dims, zeros, &error) != HIA_OK) show_error(error);
  for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, use, argv);
  for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
  hia_params_reset(cell);
  call(context);
  if (hia_params_seed(cell, 7, &error) != HIA_OK) show_error(error);
  call(context);
  hia_context_free(context);
  hia_params_reset(cell);
  return 0;
}
END
t 'params of seed 7' "$hiaton" run net.hia '[1, 2, 3]' --seed 7 --save-params w.safetensors
printf 'param W: f32[3, 2] = zeros()\nparam s: f64 = 2\nfn main() = s\n' >other.hia
t 'params of another program' "$hiaton" run other.hia --save-params other.safetensors
first=$("$hiaton" run net.hia -e 'layer([[1, 2, 3]], 3)' | sed 's/^(\(.*\), \(.*\)\.0)$/\2 \1/')
seeded=$("$hiaton" run net.hia --seed 7 -e 'layer([[1, 2, 3]], 3)' | sed 's/^(\(.*\), \(.*\)\.0)$/\2 \1/')
expected() { # the first values, those after a reset
  printf '%s\nW 2 24\ns 0 8\n6 [[14.0, 32.0]]\n' "$1"
  printf 'argument: the param `W` is f32[2, 3], the value f32[3, 2]\n'
  printf 'argument: net.hia: this is no safetensors file, or it is damaged: its header would have %s bytes, of %s, at byte 0\n' \
    "$(od -An -tu8 -N8 net.hia | tr -d ' ')" "$(($(stat -c %s net.hia) - 8))"
  printf "argument: other.safetensors: expected f32[2, 3], the tensor 'W' is f32[3, 2]\n6 [[14.0, 32.0]]\n"
  printf 'argument: parameter 1 is no tensor\nshape: %s\n' "$misfit"
  printf 'argument: parameter 1 has a size of -1\nargument: parameter 1 has 3 elements, but no address\n'
  printf '([Box([1.0, 2.0], 0), Box([3.0, 4.0], 1), Box([5.0, 6.0], 2)], [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])\n' |
    sed 's/^(\(.*\]\), \(\[\[.*\))$/\1\n\2/'
  printf '20727\n%s\n%s\n' "$2" "$seeded"
}
misfit=$("$hiaton" run net.hia --fn layer '[[1, 2]]' 3 2>&1 | sed -n 's/.*error.shape.: //p')
for how in "" --parallel "--seed 7" "--params w.safetensors"; do
  t "net $how" "$hiaton" build net.hia -o net.o --header net.h $how
  t "net $how: links" $c net.c net.o $static -o net
  one=$first
  case $how in *7 | *w.*) one=$seeded ;; esac
  for engine in native interp; do
    is "net $how, $engine" "$(expected "$one" "$one")" ./net $engine 1
    is "net $how, $engine, from a file" "$(expected "$seeded" "$one")" ./net $engine 3 w.safetensors
  done
done

# Programs: what is wrong is said as by hiaton run, and a file counts before the arguments.
t 'a program with params' "$hiaton" build net.hia --exe -o program
t 'one that holds them' "$hiaton" build net.hia --exe -o holds --params w.safetensors
main=$("$hiaton" run net.hia '[1, 2, 3]' --params w.safetensors)
is 'params of a file' "$main" ./program '[1, 2, 3]' --params w.safetensors
is 'params of a file, interpreted' "$main" ./program '[1, 2, 3]' --params=w.safetensors --engine interp
is 'a seed' "$main" ./program --seed 7 '[1, 2, 3]'
is 'params that it holds' "$main" ./holds '[1, 2, 3]'
is 'a seed instead' "$("$hiaton" run net.hia '[1, 2, 3]' --seed 8)" ./holds '[1, 2, 3]' --seed 8
head -c 100 w.safetensors >cut.safetensors
for file in other.safetensors cut.safetensors net.hia /nowhere/x .; do
  "$hiaton" run net.hia '[1, 2, 3]' --params $file >wanted 2>&1
  echo $? >>wanted
  ./program '[1, 2, 3]' --params $file >got 2>&1
  echo $? >>got
  if cmp -s wanted got; then ok; else bad "--params $file" "$(cat got) not $(cat wanted)"; fi
done
wrong 'no seed' 2 'should be a number' ./program '[1, 2, 3]' --seed -1
wrong 'two ways' 2 'no effect with --params' ./program '[1, 2, 3]' --seed 1 --params w.safetensors
wrong 'a program without params' 2 'is for params: the program has none' ./pair 4 '(1, (true, 1))' --seed 1
wrong 'building one with params' 2 'is for params: the program has none' \
  "$hiaton" build "$examples/fib.hia" -o x.o --params w.safetensors
wrong 'building with a wrong file' 2 'expected f32.2, 3., the tensor' \
  "$hiaton" build net.hia -o x.o --params other.safetensors
wrong 'building with two ways' 2 'no effect with --params' \
  "$hiaton" build net.hia -o x.o --params w.safetensors --seed 1
t 'help names params' bash -c './program --help | grep -q "^  --params FILE" && ! ./pair --help | grep -q params'

# examples/aot/trees.c and a program, with a small network.
sed -i -e 's/^const WORDS = .*/const WORDS = 6/' -e 's/^const EMBEDDING = .*/const EMBEDDING = 4/' \
  -e 's/^const HIDDEN = .*/const HIDDEN = 3/' copied/examples/models/tree_lstm.hia
lstm=copied/examples/models/tree_lstm.hia
printf '(3 (2 (2 a) (1 bad)) (4 film))\n(1 (1 what) (2 unknown))\n' >trees.ptb
printf '%s\n' '<unk>' a bad film what >words.txt
make_trees=(make -C copied/examples/aot HIATON="$hiaton" CC="$cc" HIA_CFLAGS="$include" HIA_LIBS="$static"
  trees)
t 'params of a network' "$hiaton" run $lstm @trees.ptb --vocab words.txt --seed 3 --save-params lstm.safetensors
t 'examples/aot/trees' "${make_trees[@]}"
trees=copied/examples/aot/trees
classes=$("$hiaton" run $lstm @trees.ptb --vocab words.txt --seed 3 | grep -o '([0-9]' | tr -d '(' | tr '\n' ' ')
printf '#!/bin/sh\n"./%s" "$@" | sed -n "s/^class \\([0-9]\\):\\( -*[0-9.]*\\)\\{5\\}\$/\\1/p" | tr "\\n" " "\n' "$trees" >by_c
chmod +x by_c
is 'its classes' "$classes" ./by_c trees.ptb words.txt lstm.safetensors
is 'of a tree that it makes' "$("./$trees")" "./$trees"
before=$("./$trees")
wrong 'without params' 1 'cannot|No such file' "./$trees" trees.ptb words.txt nothing
wrong 'with a file that has no trees' 1 'words.txt:1:1: error.E0101.: expected' \
  "./$trees" words.txt words.txt
t 'with its params inside' "${make_trees[@]}" -B PARAMS="$work/lstm.safetensors"
is 'its classes again' "$classes" ./by_c trees.ptb words.txt
if [ "$before" != "$("./$trees")" ]; then ok; else bad 'the params of the file'; fi
for how in --parallel "--params lstm.safetensors"; do
  t "a network as a program $how" "$hiaton" build $lstm --exe -o lstm $how
  params=(--params lstm.safetensors)
  [ "$how" = "--params lstm.safetensors" ] && params=()
  for engine in native interp; do
    is "a network as a program $how, $engine" "$("$hiaton" run $lstm @trees.ptb --vocab words.txt --seed 3)" \
      ./lstm @trees.ptb --vocab words.txt "${params[@]}" --engine $engine --threads 2
  done
done

printf '%d passed, %d failed\n' "$passed" "$failed"
[ "$failed" -eq 0 ]
