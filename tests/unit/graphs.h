/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Small graphs as text, and the preparations of most graph tests. */
#ifndef HIA_TEST_GRAPHS_H
#define HIA_TEST_GRAPHS_H

#include "graph/graph.h"
#include <criterion/criterion.h>

static const char fib_text[] =
    "graph functions \"fib.hia\"\n"
    "\n"
    "fn \"fib(i32)\" (i32) -> (i32) of fib root (i32) -> i32 group 1 diverges recursive !1:1 {\n"
    "  %0:i32 = arg 0\n"
    "  %1:i32 = const 1 !1:15\n"
    "  %2:bool = le %0, %1 !1:13\n"
    "  %3:i32 = if %2 !1:10 {\n"
    "    yield %0\n"
    "  } else {\n"
    "    %4:i32 = sub %0, %1 !1:40\n"
    "    %5:i32 = call \"fib(i32)\" %4 !1:33\n"
    "    %6:i32 = const 2\n"
    "    %7:i32 = sub %0, %6 !1:52\n"
    "    %8:i32 = call \"fib(i32)\" %7 !1:46\n"
    "    %9:i32 = add %5, %8 !1:44\n"
    "    yield %9\n"
    "  }\n"
    "  yield %3\n"
    "}\n";

/* A loop, nested branches, several results, tuples in a signature, inlined positions, every kind of
 * constant, removed and dead code of the simplest kind. */
static const char mixed_text[] =
    "graph functions \"a \\\"b\\\".hia\" counted\n"
    "\n"
    "fn nothing () -> (bool) {\n"
    "  %0:bool = const true\n"
    "  yield %0\n"
    "}\n"
    "\n"
    "fn \"main(i64, (f32, f64))\" (i64, f32, f64) -> (i64, f64) of main root (i64, (f32, f64)) -> "
    "(i64, f64) group 2 raises diverges effect !0 {\n"
    "  %0:i64 = arg 0\n"
    "  %1:f32 = arg 1\n"
    "  %2:f64 = arg 2\n"
    "  count 0\n"
    "  %3:f32 = const -0x1.8p+1\n"
    "  %4:f32 = const nan\n"
    "  %5:f64 = const nan:0xfff8000000000001\n"
    "  %6:f64 = const 0x0.0000000000001p-1022\n"
    "  %7:f64 = const -inf\n"
    "  %8:f64 = const -0x0p+0\n"
    "  %9:i64 = const -9223372036854775808\n"
    "  %10:i32 = const -2147483648\n"
    "  %11:f32 = undef\n"
    "  %12:f64 = cast %1\n"
    "  %13:bool = call nothing tail !3:4\n"
    "  %14:i64, %15:f64 = loop %0, %2 !4:1 {\n"
    "    %16:i64 = arg 0\n"
    "    %17:f64 = arg 1\n"
    "    %18:bool = gt %16, %9 !2\n"
    "    yield %18, %16, %12\n"
    "  } round {\n"
    "    count 1\n"
    "    %19:i64 = if %13 {\n"
    "      yield %16\n"
    "    } else {\n"
    "      %20:i64, %21:i32 = fail %10 !5:1\n"
    "      %22:i64 = div %20, %16 !2\n"
    "      yield %22\n"
    "    }\n"
    "    if %18 {\n"
    "      yield\n"
    "    } else {\n"
    "      yield\n"
    "    }\n"
    "    %23:f64 = select %13, %17, %6\n"
    "    yield %19, %23\n"
    "  }\n"
    "  yield %14, %15\n"
    "}\n"
    "\n"
    "!0 = other 7:8\n"
    "!1 = main 9:9\n"
    "!2 = other 1:2 in !1\n";

/* Forks: one inside another, of several results and of none, in a loop. */
static const char forks_text[] =
    "graph functions \"forks\"\n"
    "\n"
    "fn fib (i32) -> (i32) root (i32) -> i32 !1:1 {\n"
    "  %0:i32 = arg 0\n"
    "  %1:i32 = const 1\n"
    "  %2:bool = le %0, %1\n"
    "  %3:i32 = if %2 !2:1 {\n"
    "    yield %0\n"
    "  } else {\n"
    "    %4:i32 = sub %0, %1\n"
    "    %5:i32 = const 2\n"
    "    %6:i32 = sub %0, %5\n"
    "    fork 0 fib %6 !3:2\n"
    "    %7:i32 = call fib %4 !3:1\n"
    "    %8:bool = stolen 0\n"
    "    %9:i32 = if %8 {\n"
    "      %10:i32 = join 0 fib !3:2\n"
    "      yield %10\n"
    "    } else {\n"
    "      %11:i32 = call fib %6 !3:2\n"
    "      yield %11\n"
    "    }\n"
    "    %12:i32 = add %7, %9\n"
    "    yield %12\n"
    "  }\n"
    "  yield %3\n"
    "}\n"
    "\n"
    "fn none () -> () diverges {\n"
    "  loop {\n"
    "    %0:bool = const true\n"
    "    yield %0\n"
    "  } round {\n"
    "    yield\n"
    "  }\n"
    "  yield\n"
    "}\n"
    "\n"
    "fn \"two of, (i32)\" (i64, i32) -> (i64, i32) of two root (i64, i32) -> (i64, i32) !5:1 {\n"
    "  %0:i64 = arg 0\n"
    "  %1:i32 = arg 1\n"
    "  %2:i64, %3:i32 = loop %0, %1 {\n"
    "    %4:i64 = arg 0\n"
    "    %5:i32 = arg 1\n"
    "    %6:i32 = const 0\n"
    "    %7:bool = gt %5, %6\n"
    "    fork 20 none\n"
    "    call none\n"
    "    %8:bool = stolen 20\n"
    "    if %8 {\n"
    "      join 20 none\n"
    "      yield\n"
    "    } else {\n"
    "      call none\n"
    "      yield\n"
    "    }\n"
    "    yield %7, %4, %5\n"
    "  } round {\n"
    "    fork 4000000000 \"two of, (i32)\" %4, %5 !6:1\n"
    "    fork 7 none !6:2\n"
    "    call none !6:3\n"
    "    %9:bool = stolen 7\n"
    "    if %9 {\n"
    "      join 7 none !6:2\n"
    "      yield\n"
    "    } else {\n"
    "      call none !6:2\n"
    "      yield\n"
    "    }\n"
    "    %10:bool = stolen 4000000000\n"
    "    %11:i32 = neg %5\n"
    "    %12:i64, %13:i32 = if %10 {\n"
    "      %14:i64 = const 3\n"
    "      %15:i64, %16:i32 = join 4000000000 \"two of, (i32)\" !6:1\n"
    "      yield %15, %16\n"
    "    } else {\n"
    "      %17:i64, %18:i32 = call \"two of, (i32)\" %4, %5 !6:1\n"
    "      yield %17, %11\n"
    "    }\n"
    "    yield %12, %13\n"
    "  }\n"
    "  yield %2, %3\n"
    "}\n";

typedef struct {
  hia_comp comp;
  hia_types types;
} env;

static inline void env_init(env *e) {
  hiaR_comp_init(&e->comp, &hiaR_malloc);
  hiaG_types_init(&e->types, &e->comp);
}

/* Statements that must not throw. There is no handler, so a throw aborts the test. (With setjmp
 * here, compilers would warn about the variables of every test.) */
#define NO_THROW(e, ...)                                                                           \
  do {                                                                                             \
    (e)->comp.armed = false;                                                                       \
    __VA_ARGS__                                                                                    \
  } while (0)

static inline hia_graph *read_text(env *e, const char *text) {
  hia_read_error error;
  hia_graph *g = hiaG_read(&e->comp, &e->types, text, strlen(text), &error);
  if (!g) cr_assert_fail("%u:%u: %s", error.line, error.col, error.message);
  return g;
}

static inline const char *text_of(env *e, const hia_graph *g) {
  hia_text out;
  hiaR_text_init(&out, &e->comp.arena);
  hiaG_print(g, &out);
  return out.data;
}

#endif
