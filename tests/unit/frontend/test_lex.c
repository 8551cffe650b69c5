/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Text to tokens, and files that are not text. */
#include "frontend/frontend.h"
#include "frontend/syntax/lex.h"
#include "tests/unit/helpers/sources.h"

/* The tokens of a text, one after the other: their texts and their kinds. */
static void expect_tokens(const char *text, const char *expected) {
  hia_comp comp;
  hiaR_comp_init(&comp, &hiaR_malloc);
  hia_source source = {.name = "t.hia", .text = text, .len = strlen(text)};
  hia_diags diags;
  hiaF_diags_init(&diags, &comp, &source);
  hia_symbols symbols;
  hiaF_symbols_init(&symbols, &comp.arena);
  hia_lexer lexer;
  hia_text out;
  hiaR_text_init(&out, &comp.arena);
  cr_assert(hiaF_lex_start(&lexer, &source, &symbols, &diags));
  for (;;) {
    hia_token t = hiaF_lex(&lexer);
    if (t.kind == HIA_TOK_EOF) break;
    const char *kind = t.kind == HIA_TOK_NAME    ? "n:"
                       : t.kind == HIA_TOK_INT   ? "i:"
                       : t.kind == HIA_TOK_FLOAT ? "f:"
                       : t.kind == HIA_TOK_BAD   ? "bad:"
                                                 : "";
    hiaR_text_addf(&out, "%s%s%.*s", out.len > 0 ? " " : "", kind, (int)(t.end - t.start),
                   text + t.start);
    if (t.kind == HIA_TOK_INT || t.kind == HIA_TOK_FLOAT)
      if (t.suffix != HIA_NO_SUFFIX) hiaR_text_addf(&out, ":%s", hiaG_dtype_name(t.suffix));
  }
  hiaR_text_addf(&out, "%s", "");
  cr_expect_str_eq(out.data, expected, "%s\n  %s\n  %s", text, out.data, expected);
  hiaR_comp_free(&comp);
}

Test(lex, numbers) {
  expect_tokens("1 1i64 1f32 1.5 1.5f64 1e3 1E-3f32 1_000 0xff 0xFF_i64 1_2.5e+1",
                "i:1 i:1i64:i64 i:1f32:f32 f:1.5 f:1.5f64:f64 f:1e3 f:1E-3f32:f32 i:1_000 i:0xff "
                "i:0xFF_i64:i64 f:1_2.5e+1");
  /* the longest token wins, and no more than that */
  expect_tokens("0..n 1.x 1e 1e+ 1i3 3then 1i32x 0xffi32 0xff32 0X1",
                "i:0 .. n:n i:1 . n:x i:1 n:e i:1 n:e + i:1 n:i3 i:3 then i:1i32:i32 n:x "
                "i:0xffi32:i32 i:0xff32 i:0 n:X1");
  /* hexadecimal digits may look like a suffix */
  expect_tokens("0x1f32 0x1i64", "i:0x1f32 i:0x1i64:i64");
}

Test(lex, fields) {
  expect_tokens(
      "t.0.1 t. 0.1 t.1e5 t.1i32 1.5.2 a.b",
      "n:t . i:0 . i:1 n:t . i:0 . i:1 n:t . i:1 n:e5 n:t . i:1 i32 f:1.5 . i:2 n:a . n:b");
}

Test(lex, names_and_keywords) {
  expect_tokens("if iff _ _1 F32 f32 i32x nota", "if n:iff n:_ n:_1 n:F32 f32 n:i32x n:nota");
}

Test(lex, punctuation) {
  expect_tokens("->=>==!=<=(>=)<,>-|?@%", "-> => == != <= ( >= ) < , > - | ? @ %");
  expect_tokens("a-1 a->b a--b a<-b", "n:a - i:1 n:a -> n:b n:a - - n:b n:a < - n:b");
}

/* Operators of other languages are one token each, and are parsed as the operator that `foreign` of
 * lex.c names. */
Test(lex, foreign) {
  expect_tokens("1. 1.e3 1.+2 (1.)", "f:1. f:1.e3 f:1. + i:2 ( f:1. )");
  expect_tokens("a<<b>>c>>>d**e", "n:a << n:b >> n:c >>> n:d ** n:e");
  expect_tokens("a+=b%=c<<=d++", "n:a bad:+= n:b bad:%= n:c bad:<<= n:d bad:++");
  expect_tokens("a===b!==c<>d:=e", "n:a === n:b !== n:c <> n:d := n:e");
  expect_tokens("\"a # \\\" b\" c 'x' d' 'open\n e \"\"\"two\nlines\"\"\" f",
                "bad:\"a # \\\" b\" n:c bad:'x' n:d bad:' bad:'open n:e "
                "bad:\"\"\"two\nlines\"\"\" n:f");
  expect_tokens("a // a comment\nb /* one\n# two */ c /* open\nd", "n:a n:b n:c n:d");
  expect_tokens("// 1\nn // 2 == 0 then m // k\n(a) // b + 1 // and what it means\nd //",
                "n:n // i:2 == i:0 then n:m // n:k ( n:a ) // n:b + i:1 n:d");
}

Test(lex, space_and_comments) {
  expect_tokens("\xef\xbb\xbf"
                "a\r\n\tb # \xc3\xa9\n#\nc#",
                "n:a n:b n:c");
  expect_tokens("", "");
  expect_tokens("# no line end", "");
}

Test(lex, unreadable) {
  expect_tokens("a $ b \xc3\xa9\xc3\xa9 c \x01\x02 d",
                "n:a bad:$ n:b bad:\xc3\xa9\xc3\xa9 n:c bad:\x01\x02 n:d");
  expect_tokens("a && b || !c", "n:a && n:b || ! n:c");
}

static void expect_refused(const char *text, size_t len, const char *code, uint32_t line,
                           uint32_t col) {
  compiled c;
  compile_bytes(&c, text, len);
  cr_assert_eq(c.diags.list.len, 1, "%s", all_errors(&c));
  const hia_diag *d = &c.diags.list.data[0];
  cr_expect_str_eq(d->code, code);
  cr_expect(d->line == line && d->col == col, "%u:%u", d->line, d->col);
  cr_expect_null(c.program);
  discard(&c);
}

Test(lex, no_text) {
  expect_refused("a\xff", 2, "E0001", 1, 2);
  expect_refused("\n\xc3", 2, "E0001", 2, 1);           /* cut off */
  expect_refused("\xc0\x80", 2, "E0001", 1, 1);         /* overlong */
  expect_refused("\xed\xa0\x80", 3, "E0001", 1, 1);     /* surrogate */
  expect_refused("\xf4\x90\x80\x80", 4, "E0001", 1, 1); /* beyond Unicode */
  expect_refused("fn f\0() = 1", 11, "E0002", 1, 5);
  expect_refused("", 0, "E0003", 1, 1);
  expect_refused("\xef\xbb\xbf \n", 5, "E0003", 1, 1);
  /* the size is checked before the bytes */
  expect_refused("", (size_t)UINT32_MAX, "E0005", 1, 1);
}
