/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* graph/read/read.c and print.c: printing and reading the text form, and texts that are refused. */
#include "graph/analysis/effects.h"
#include "graph/ir/build.h"
#include "graph/ir/change.h"
#include "graph/passes/passes.h"
#include "tests/unit/helpers/graphs.h"
#include "tests/unit/helpers/memory.h"
#include "tests/unit/helpers/random.h"
#include "tests/unit/helpers/text.h"
#include "tests/unit/helpers/time.h"
#include <stdio.h>
#include <stdlib.h>

/* ---- printing and reading ---- */

static void round_trip(const char *text) {
  env e;
  env_init(&e);
  NO_THROW(&e, {
    hia_graph *g = read_text(&e, text);
    cr_assert_str_eq(text_of(&e, g), text);
    hiaG_effects(g);
    hiaG_tag(g);
    cr_assert_null(hiaG_verify(g), "%s", hiaG_verify(g));
    const char *tagged = text_of(&e, g);
    hia_graph *again = read_text(&e, tagged);
    cr_assert_eq(again->state, HIA_STATIC);
    cr_assert_str_eq(text_of(&e, again), tagged);
    cr_assert_eq(again->sites.len, g->sites.len);
  });
  hiaR_comp_free(&e.comp);
}

Test(read, both_states_round_trip) {
  round_trip(graph_file("fib"));
  round_trip(graph_file("mixed"));
  round_trip(graph_file("forks"));
  round_trip(graph_file("data"));
  round_trip(graph_file("arrays"));
  round_trip("graph functions \"\"\n");
}

#ifdef HIA_SOURCE_DIR
/* The graphs of docs/ir.md can be read, and are in printed form. */
Test(read, docs) {
  test_text page = {0};
  cr_assert(test_text_read(&page, HIA_SOURCE_DIR "/docs/ir.md"));
  int n = 0;
  for (char *at = page.data; (at = strstr(at, "```graph\n")); n++) {
    at += 9;
    char *end = strstr(at, "```");
    cr_assert_not_null(end);
    *end = 0;
    env e;
    env_init(&e);
    NO_THROW(&e, {
      const hia_graph *g = read_text(&e, at);
      cr_assert_gt(g->fns.len, 0, "an empty graph");
      cr_assert_str_eq(text_of(&e, g), at);
    });
    hiaR_comp_free(&e.comp);
    at = end + 1;
  }
  cr_assert_gt(n, 0);
  test_text_free(&page);
}
#endif

/* Any numbering, layout and comments can be read; there is one printed form. */
Test(read, layout_is_free) {
  env e;
  env_init(&e);
  NO_THROW(&e, {
    hia_graph *g = read_text(&e, "# a banner\ngraph\tfunctions \"fib.hia\"\r\n"
                                 "fn \"f\"(i32 , i32)->(i32){%7:i32=arg 0\n%3 : i32 = arg 1 # two\n"
                                 "%70:i32=add %7,\n  %3!4:5 yield %70}");
    cr_assert_str_eq(text_of(&e, g), "graph functions \"fib.hia\"\n\n"
                                     "fn f (i32, i32) -> (i32) {\n"
                                     "  %0:i32 = arg 0\n  %1:i32 = arg 1\n"
                                     "  %2:i32 = add %0, %1 !4:5\n  yield %2\n}\n");
  });
  hiaR_comp_free(&e.comp);
}

Test(read, everything_in_the_header_of_a_function_is_kept) {
  env e;
  env_init(&e);
  NO_THROW(&e, {
    hia_graph *g = read_text(&e, graph_file("mixed"));
    const hia_fn *fn = hiaG_fn(g, 1);
    cr_assert(fn->is_root && !hiaG_fn(g, 0)->is_root && g->is_counted);
    cr_assert_str_eq(g->file, "a \"b\".hia");
    cr_assert_str_eq(fn->name, "main(i64, (f32, f64))");
    cr_assert_str_eq(g->names.data[fn->source], "main");
    cr_assert_eq(fn->group, 2);
    cr_assert_eq(fn->effects, HIA_E_RAISES | HIA_E_DIVERGES | HIA_E_COUNTS);
    cr_assert_eq(fn->n_params, 3);
    cr_assert_eq(fn->n_results, 2);
    cr_assert_eq(fn->n_sig_params, 2);
    cr_assert_eq(fn->sig_params[1], hiaG_tuple(&e.types, (hia_type[]){HIA_F32, HIA_F64}, 2));
    cr_assert_eq(fn->sig_result, hiaG_tuple(&e.types, (hia_type[]){HIA_I64, HIA_F64}, 2));
    const hia_loc *l = &g->locs.data[fn->loc];
    cr_assert(l->line == 7 && l->col == 8 && l->parent == HIA_NONE);
  });
  hiaR_comp_free(&e.comp);
}

Test(read, sites_keep_their_records) {
  env e;
  env_init(&e);
  NO_THROW(&e, {
    hia_graph *g = graph_after(&e, graph_file("fib"), "effects tag");
    g->sites.data[0].partner = 1;
    g->sites.data[1].is_tail = true;
    const char *text = text_of(&e, g);
    cr_assert_not_null(strstr(text, "site 0 \"fib(i32)\" partner 1 !1:33\n"));
    cr_assert_not_null(strstr(text, "site 1 \"fib(i32)\" tail !1:46\n"));
    hia_graph *again = read_text(&e, text);
    for (uint32_t s = 0; s < 2; s++) {
      const hia_site *a = &g->sites.data[s], *b = &again->sites.data[s];
      cr_assert(a->caller == b->caller && a->callee == b->callee && a->calls == b->calls &&
                a->returns == b->returns && a->n_calls == b->n_calls &&
                a->n_returns == b->n_returns && a->is_tail == b->is_tail &&
                a->partner == b->partner);
    }
  });
  hiaR_comp_free(&e.comp);
}

static hia_word constant_of(const char *type, const char *text, const char **message) {
  env e;
  hia_word w = 0;
  env_init(&e);
  *message = NULL;
  NO_THROW(&e, {
    char *all = hiaR_arena_printf(&e.comp.arena,
                                  "graph functions \"\" fn f () -> () { %%0:%s = const %s\nyield }",
                                  type, text);
    hia_read_error error;
    hia_graph *g = hiaG_read(&e.comp, &e.types, all, strlen(all), &error);
    if (g) {
      w = hiaG_fn(g, 0)->nodes.data[0].imm;
      const char *printed = text_of(&e, g);
      cr_assert_str_eq(text_of(&e, read_text(&e, printed)), printed);
    } else {
      static char kept[200];
      strncpy(kept, error.message, sizeof kept - 1);
      *message = kept;
    }
  });
  hiaR_comp_free(&e.comp);
  return w;
}

Test(read, constants) {
  struct {
    const char *type, *text;
    hia_word word;
  } good[] = {{"bool", "true", 1},
              {"bool", "false", 0},
              {"i32", "2147483647", INT32_MAX},
              {"i32", "-2147483648", hiaR_from_i32(INT32_MIN)},
              {"i32", "-0", 0},
              {"i64", "9223372036854775807", INT64_MAX},
              {"i64", "-9223372036854775808", hiaR_from_i64(INT64_MIN)},
              {"f64", "0x1p+0", hiaR_from_f64(1)},
              {"f64", "0x1.8p1", hiaR_from_f64(3)},
              {"f64", "-0x.8p-1", hiaR_from_f64(-0.25)},
              {"f64", "0x1.fffffffffffffp+1023", hiaR_from_f64(0x1.fffffffffffffp+1023)},
              {"f64", "0x0.0000000000001p-1022", 1},
              {"f64", "0x0.8p-1022", hiaR_from_f64(0x0.8p-1022)},
              {"f64", "0x1p-1074", 1},
              {"f64", "0x00000000000p+5", 0},
              {"f64", "inf", 0x7ff0000000000000},
              {"f64", "nan", 0x7ff8000000000000},
              {"f64", "nan:0xfff8000000000000", 0xfff8000000000000},
              {"f32", "0x1.99999ap-4", hiaR_from_f32(0.1f)},
              {"f32", "0x1p-149", 1},
              {"f32", "0x1.fffffep+127", 0x7f7fffff},
              {"f32", "-inf", 0xff800000},
              {"f32", "nan:0x7f800001", 0x7f800001}};
  const char *message;
  for (size_t i = 0; i < HIA_LEN(good); i++) {
    hia_word w = constant_of(good[i].type, good[i].text, &message);
    cr_assert(!message && w == good[i].word, "%s %s: %lx %s", good[i].type, good[i].text,
              (unsigned long)w, message ? message : "");
  }
  const char *bad[][3] = {{"bool", "1", "expected true or false"},
                          {"i32", "2147483648", "number too large"},
                          {"i32", "-2147483649", "number too large"},
                          {"i64", "9223372036854775808", "number too large"},
                          {"i64", "99999999999999999999999", "number too large"},
                          {"i32", "0x1", "expected an op"},
                          {"f64", "1.5", "expected 0x"},
                          {"f64", "0xp1", "expected hexadecimal digits"},
                          {"f64", "0x1.0", "expected hexadecimal digits"},
                          {"f64", "0x1p", "expected an exponent"},
                          {"f64", "0x1p9999999", "number too large"},
                          {"f64", "0x1p+1024", "no f64 has this value"},
                          {"f64", "0x1p-1075", "no f64 has this value"},
                          {"f64", "0x1.00000000000001p+0", "no f64 has this value"},
                          {"f64", "0x1.00000000000000000000001p+0", "more digits"},
                          {"f64", "nan:0x7ff0000000000000", "these bits are no NaN"},
                          {"f64", "nan:0x17ff8000000000000", "number too large"},
                          {"f64", "-nan", "the sign of a NaN"},
                          {"f32", "0x1.0000001p+0", "no f32 has this value"},
                          {"f32", "0x1p+128", "no f32 has this value"},
                          {"f32", "0x1p-150", "no f32 has this value"},
                          {"f32", "nan:0x1ffffffff", "these bits are no NaN"},
                          {"f32", "nan:7", "expected 0x"}};
  for (size_t i = 0; i < HIA_LEN(bad); i++) {
    constant_of(bad[i][0], bad[i][1], &message);
    cr_assert(message && strstr(message, bad[i][2]), "%s: %s", bad[i][1],
              message ? message : "accepted");
  }
}

/* ---- mistakes ---- */

#define TYPES "graph functions \"\"\ntype T = A | B(x: i32, y: T)\n"

Test(read, mistakes_have_positions) {
  struct {
    uint32_t line, col;
    const char *text, *message;
  } rows[] = {
      {1, 1, "", "expected 'graph'"},
      {1, 7, "graph other", "expected 'functions'"},
      {1, 16, "graph functions", "expected the name of the source file"},
      {1, 17, "graph functions \"abc\n\"", "string does not end on its line"},
      {1, 19, "graph functions \"\\q\"", "wrong escape"},
      {1, 19, "graph functions \"\\x0", "wrong escape"},
      {1, 19, "graph functions \"\\x00\"", "wrong escape"},
      {2, 1, "graph functions \"\"\nfunction", "expected 'fn' or the end"},
      {2, 4, "graph functions \"\"\nfn (", "expected a name"},
      {2, 7, "graph functions \"\"\nfn f (i16) -> () { yield }", "there is no type i16"},
      {2, 7, "graph functions \"\"\nfn f (+) -> () { yield }", "expected a type"},
      {2, 7, "graph functions \"\"\nfn f ((i32, i32)) -> () { yield }", "a value is no tuple"},
      {2, 5, "graph functions \"\"\ntype", "expected a name"},
      {2, 8, "graph functions \"\"\ntype T | A", "expected '='"},
      {2, 12, "graph functions \"\"\ntype T = A() | B", "expected a name"},
      {2, 15, "graph functions \"\"\ntype T = A(x: U)", "there is no type U"},
      {2, 19, "graph functions \"\"\ntype T = A(x: [i32)", "expected ']'"},
      {3, 6, "graph functions \"\"\ntype T = A\ntype T = A", "type T is defined twice"},
      {3, 30, TYPES "fn f () -> () { %0:T = const C yield }", "T has no constructor C"},
      {3, 32, TYPES "fn f () -> () { %0:[T] = const A yield }", "[T] is no data type"},
      {3, 24, TYPES "fn f () -> () { %0:T = const B yield }", "the constructor has fields"},
      {3, 24, TYPES "fn f () -> () { %0:T = data A yield }", "the constructor has no fields"},
      {3, 24, TYPES "fn f () -> () { %0:T = data B yield }", "it has 0 operands, but must have 2"},
      {4, 8, TYPES "fn f () -> () { %0:bool = const true\n%1:T = data B %0, %0 yield }",
       "operand 0 is bool, but must be i32"},
      {4, 10, TYPES "fn f () -> () { %0:bool = const true\n%1:i32 = ctor %0 yield }",
       "operand 0 is bool, but must be of a data type"},
      {3, 24, TYPES "fn f () -> () { %0:T = array yield }", "result 0 is T, but must be an array"},
      {4, 10, TYPES "fn f () -> () { %0:T = const A\n%1:i64 = len %0 yield }",
       "operand 0 is T, but must be an array"},
      {4, 10, TYPES "fn f () -> () { %0:[T] = array\n%1:i32 = len %0 yield }",
       "result 0 is i32, but must be i64"},
      {4, 17, TYPES "fn f () -> () { %0:i32 = const 1\n%1:[(i32, T)] = array %0 yield }",
       "it has 1 words of elements of 2 each"},
      {4, 17, TYPES "fn f () -> () { %0:i32 = const 1\n%1:[(i32, T)] = array %0, %0 yield }",
       "operand 1 is i32, but must be T"},
      {5, 8, TYPES "fn f (i64) -> () { %0:i64 = arg 0\n%1:[T] = array\n%2:T = at 1 %1, %0 yield }",
       "an element has no word 1"},
      {5, 8, TYPES "fn f (i32) -> () { %0:i32 = arg 0\n%1:[T] = array\n%2:T = at 0 %1, %0 yield }",
       "operand 1 is i32, but must be i64"},
      {5, 10,
       TYPES "fn f (i64) -> () { %0:i64 = arg 0\n%1:[T] = array\n%2:[T] = set %1, %0 yield }",
       "it has 0 words of elements of 1 each"},
      {4, 10, TYPES "fn f () -> () { %1:[T] = array\n%2:[T] = set %1 yield }",
       "it lacks operands: it has 1"},
      {4, 12, TYPES "fn f () -> () { %1:[T] = array\n%2:[[T]] = concat %1 yield }",
       "operand 0 is [T], but must be [[T]]"},
      {4, 10, TYPES "fn f () -> () { %0:T = const A\n%1:i64 = ctor %0 yield }",
       "result 0 is i64, but must be i32"},
      {4, 14, TYPES "fn f () -> () { %0:T = const A\n%1:T = field C.0 %0 yield }",
       "T has no constructor C"},
      {4, 8, TYPES "fn f () -> () { %0:T = const A\n%1:T = field B.2 %0 yield }",
       "the constructor has no word 2"},
      {4, 8, TYPES "fn f () -> () { %0:T = const A\n%1:T = field B.0 %0 yield }",
       "result 0 is T, but must be i32"},
      {2, 10, "graph functions \"\"\nfn f (i32", "expected ')'"},
      {2, 9, "graph functions \"\"\nfn f () ()", "expected '-'"},
      {2, 19, "graph functions \"\"\nfn f () -> () root", "expected \'(\'"},
      {3, 4, "graph functions \"\"\nfn f () -> () { yield }\nfn f () -> () { yield }",
       "defined twice"},
      {2, 17, "graph functions \"\"\nfn f () -> () { nope }", "there is none of this name"},
      {2, 17, "graph functions \"\"\nfn f () -> () { + }", "expected an op"},
      {2, 16, "graph functions \"\"\nfn f () -> () {", "expected an op"},
      {2, 17, "graph functions \"\"\nfn f () -> () { call_i 0.0 }", "does not belong"},
      {2, 17, "graph static \"\"\nfn f () -> () { call f }", "does not belong"},
      {3, 1, "graph functions \"\"\nfn f () -> () { %0:i32 = const 1\n%0:i32 = const 2\nyield }",
       "%0 is defined twice"},
      {2, 21, "graph functions \"\"\nfn f () -> () { neg %1\nyield }", "%1 is not defined"},
      {2, 17, "graph functions \"\"\nfn f () -> () { %99999:i32 = const 1\nyield }",
       "is too large"},
      {2, 18, "graph functions \"\"\nfn f () -> () { %4294967295:i32 = const 1\nyield }",
       "number too large"},
      {2, 22, "graph functions \"\"\nfn f () -> () { call g\nyield }", "there is no function g"},
      {2, 31, "graph functions \"\"\nfn f () -> () { %0:f32 = grad g (0)\nyield }",
       "there is no function g"},
      {2, 34, "graph functions \"\"\nfn f () -> () { %0:f32 = grad f ()\nyield }",
       "expected a number"},
      {2, 33, "graph functions \"\"\nfn f () -> () { %0:f32 = grad f 0\nyield }", "expected '('"},
      {2, 36, "graph functions \"\"\nfn f () -> () { %0:f32 = grad f (0 1)\nyield }",
       "expected ')'"},
      {2, 40, "graph functions \"\"\nfn f () -> () { %0:f32 = grad f (param W)\nyield }",
       "there is no param W"},
      {2, 26, "graph functions \"\"\nfn f () -> () { count 0 !7\nyield }",
       "!7 is not in the table"},
      {3, 2, "graph functions \"\"\nfn f () -> () { yield }\n!1 = f 1:1", "expected !0"},
      {3, 16, "graph functions \"\"\nfn f () -> () { yield }\n!0 = f 1:1 in !0",
       "!0 is not defined"},
      {4, 1, "graph functions \"\"\nfn f () -> () { %0:bool = const true\nif %0 { yield }\n} ",
       "expected 'else'"},
      {3, 16, "graph static \"\"\nfn f () -> () { %0:bool = const true\nthen .1 %0 { } yield }",
       "expected 'else'"},
      {2, 22, "graph static \"\"\nfn f () -> () { round .1 { } yield }", "round stands in a head"},
      {2, 28, "graph static \"\"\nfn f () -> () { head .1 { } yield }", "a head has a round"},
      {3, 33,
       "graph static \"\"\nfn f () -> () { %0:bool = const true\n"
       "then .1 %0 { } else .2 { } then .1 %0 { } else .3 { } yield }",
       ".1 is defined twice"},
      {4, 17,
       "graph static \"\"\nfn f (i32) -> () { %0:i32 = merge.entry 0\n"
       "%1:i32 = const 1\n%2:i32 = switch .1 %0, %1\nyield }",
       ".1 is not defined"},
      {2, 22, "graph static \"\"\nfn f () -> () { site 1 f yield }", "expected site 0"},
  };
  for (size_t i = 0; i < HIA_LEN(rows); i++) {
    env e;
    env_init(&e);
    NO_THROW(&e, {
      hia_read_error error;
      cr_assert_null(hiaG_read(&e.comp, &e.types, rows[i].text, strlen(rows[i].text), &error));
      cr_expect(strstr(error.message, rows[i].message), "%s\nsays: %s", rows[i].text,
                error.message);
      cr_expect(error.line == rows[i].line && error.col == rows[i].col, "%s\n%s: %u:%u",
                rows[i].text, error.message, error.line, error.col);
    });
    hiaR_comp_free(&e.comp);
  }
}

/* Every prefix of a text is refused (or is a text itself), and nothing is read behind the buffer.
 */
Test(read, truncation) {
  const char *texts[2] = {graph_file("fib"), graph_file("mixed")};
  for (int i = 0; i < 2; i++) {
    size_t whole = strlen(texts[i]);
    for (size_t len = 0; len < whole; len++) {
      char *copy = malloc(len ? len : 1); /* no byte behind it: the sanitizer sees reads beyond */
      memcpy(copy, texts[i], len);
      env e;
      env_init(&e);
      NO_THROW(&e, {
        hia_read_error error;
        hia_graph *g = hiaG_read(&e.comp, &e.types, copy, len, &error);
        cr_assert((g == NULL) == (error.message != NULL));
      });
      hiaR_comp_free(&e.comp);
      free(copy);
    }
  }
}

/* Pieces of the text are changed, repeated, or dropped: nothing crashes, and an accepted graph that
 * is printed and read again is the same. */
Test(read, damaged_text) {
  random_source r = {7};
  uint32_t n_accepted = 0;
  char tagged[8192];
  env e;
  env_init(&e);
  NO_THROW(&e, {
    hia_graph *g = graph_after(&e, graph_file("mixed"), "effects tag");
    const char *text = text_of(&e, g);
    cr_assert_lt(strlen(text), sizeof tagged);
    strcpy(tagged, text);
  });
  hiaR_comp_free(&e.comp);
  const char *texts[3] = {graph_file("fib"), graph_file("mixed"), tagged};
  for (int i = 0; i < 30000; i++) {
    const char *from = texts[i % 3];
    size_t len = strlen(from);
    char *copy = malloc(len + 64);
    memcpy(copy, from, len);
    for (uint32_t k = random_below(&r, 3) + 1; k > 0; k--) {
      size_t at = random_below(&r, (uint32_t)len), n = random_below(&r, 8) + 1;
      if (n > len - at) n = len - at;
      size_t other = random_below(&r, (uint32_t)(len - n) + 1);
      switch (random_below(&r, 4)) {
      case 0: copy[at] = (char)random_next(&r); break;
      case 1: copy[at] = "%.!{}\"0123456789:, \n"[random_below(&r, 20)]; break;
      case 2: memmove(copy + at, copy + other, n); break;
      default:
        memmove(copy + at, copy + at + n, len - at - n);
        len -= n;
        if (len == 0) len = 1;
        break;
      }
    }
    env_init(&e);
    NO_THROW(&e, {
      hia_read_error error;
      hia_graph *g = hiaG_read(&e.comp, &e.types, copy, len, &error);
      if (g) {
        n_accepted++;
        const char *text = text_of(&e, g);
        cr_assert_str_eq(text_of(&e, read_text(&e, text)), text);
      } else {
        cr_assert_not_null(error.message);
      }
    });
    hiaR_comp_free(&e.comp);
    free(copy);
  }
  cr_assert_gt(n_accepted, 100);
}

/* ---- size ---- */

static void expect_error(const char *text, size_t len, const char *message) {
  env e;
  env_init(&e);
  NO_THROW(&e, {
    hia_read_error error;
    double start = test_seconds();
    hia_graph *g = hiaG_read(&e.comp, &e.types, text, len, &error);
    cr_assert(!g && strstr(error.message, message), "%s", g ? "accepted" : error.message);
    cr_assert_lt(test_seconds() - start, 20);
  });
  hiaR_comp_free(&e.comp);
}

static char *repeat(const char *head, const char *piece, size_t n, size_t *len) {
  size_t head_len = strlen(head), piece_len = strlen(piece);
  char *text = malloc(head_len + n * piece_len + 1);
  memcpy(text, head, head_len);
  for (size_t i = 0; i < n; i++) memcpy(text + head_len + i * piece_len, piece, piece_len);
  *len = head_len + n * piece_len;
  text[*len] = 0;
  return text;
}

Test(read, large_and_hostile) {
  struct {
    const char *head, *piece, *message;
  } rows[] = {
      {"graph functions \"\" fn f () -> () root (", "(", "nested too deeply"},
      {"graph functions \"\" fn f () -> () root (", "(i32,", "nested too deeply"},
      {"graph functions \"\" fn f () -> () root ((i32", ",i32", "more than 1024 parts"},
      {"graph functions \"\" type T = C(x: i32", ",x: i32", "more than 1024 words"},
      {"graph functions \"\" fn f () -> () { %0:bool = const true\n", "if %0 {", "expected an op"},
      {"graph functions \"\" fn f () -> () { %0:bool = const true\n", "loop {", "expected an op"},
      {"graph static \"\" fn f () -> () { %0:bool = const true\n", "then .1 %0 {", "defined twice"},
      {"graph functions \"\" fn f (", "i32,", "expected a type"},
      {"graph functions \"\" fn f () -> () { yield", " %0,", "not defined"},
      {"graph functions \"", "a", "string does not end"},
      {"", "#", "expected 'graph'"},
      {"", "\n", "expected 'graph'"},
      {"graph functions \"\"", "\nfn f () -> () { yield }", "defined twice"},
      {"graph functions \"\" fn f () -> () { ", "count 0 !5\n", "expected an op"},
  };
  for (size_t i = 0; i < HIA_LEN(rows); i++) {
    size_t len;
    char *text = repeat(rows[i].head, rows[i].piece, 300000, &len);
    expect_error(text, len, rows[i].message);
    free(text);
  }
}

/* Functions that each use a large value number: tables of numbers are not cleared per function. */
Test(read, many_functions_with_large_numbers) {
  env e;
  env_init(&e);
  NO_THROW(&e, {
    hia_text text;
    hiaR_text_init(&text, &e.comp.arena);
    hiaR_text_addf(&text, "graph functions \"\"\n");
    for (int i = 0; i < 20000; i++)
      hiaR_text_addf(&text, "fn f%d () -> (i32) { %%%d:i32 = const 1\nyield %%%d }\n", i,
                     i < 10 ? 1 : 999999, i < 10 ? 1 : 999999);
    double start = test_seconds();
    hia_graph *g = read_text(&e, text.data);
    cr_assert_eq(g->fns.len, 20000);
    cr_assert_lt(test_seconds() - start, 20, "something is not linear");
  });
  hiaR_comp_free(&e.comp);
}

/* Long chains of inlined positions, each the parent of the next. */
Test(read, deep_locations) {
  env e;
  env_init(&e);
  NO_THROW(&e, {
    hia_graph *g = hiaG_new(&e.comp, &e.types, "");
    uint32_t name = hiaG_name(g, "f");
    hia_fn *fn = hiaG_fn(g, hiaG_fn_new(g, "f", name, HIA_NONE, NULL, 0, NULL, 0));
    hia_loc_id parent = HIA_NONE;
    for (uint32_t i = 0; i < 50000; i++) {
      parent = hiaG_loc(g, i, 1, name, parent);
      if (i % 3 == 0) hiaG_const(g, fn, 0, HIA_I32, i, parent);
    }
    hiaG_yield(g, fn, 0, NULL, 0);
    const char *text = text_of(&e, g);
    cr_assert_str_eq(text_of(&e, read_text(&e, text)), text);
  });
  hiaR_comp_free(&e.comp);
}

/* ---- out of memory ---- */

static hia_status attempt(const hia_allocator *allocator) {
  env e;
  hiaR_comp_init(&e.comp, allocator);
  hiaG_types_init(&e.types, &e.comp);
  if (HIA_TRY(&e.comp)) {
    hia_graph *g = read_text(&e, graph_file("mixed"));
    for (uint32_t f = 0; f < g->fns.len; f++) hiaG_compact(g, hiaG_fn(g, f));
    hiaG_effects(g);
    hiaG_tag(g);
    for (int i = 0; i < 50; i++) text_of(&e, read_text(&e, text_of(&e, g)));
  }
  hia_status status = e.comp.status;
  hiaR_comp_free(&e.comp);
  return status;
}

Test(read, every_allocation_may_fail) { cr_assert_gt(fail_each_allocation(attempt), 5); }
