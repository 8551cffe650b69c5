/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Values as the command line reads and prints them; consts; numbers at their types. */
#include "jit/engine/engine.h"
#include "tests/unit/helpers/sources.h"

typedef struct reader {
  hia_comp comp;
  hia_types types;
  hia_source source;
  hia_diags diags;
} reader;

/* `type` in the language's syntax, "" for a generic parameter. */
static hia_type type_of(reader *r, const char *type) {
  static const char *const names[] = {"bool", "i32", "i64", "f32", "f64"};
  for (unsigned i = 0; i < HIA_LEN(names); i++)
    if (strcmp(type, names[i]) == 0) return i;
  if (type[0] == '\0') return HIA_NONE;
  hia_type parts[] = {HIA_I64, HIA_F64}; /* "(i64, f64)" is the only other type used here */
  return hiaG_tuple(&r->types, parts, 2);
}

static bool read(reader *r, const char *type, const char *text, hia_text *out) {
  hia_type found;
  hia_word *words;
  hiaR_comp_init(&r->comp, &hiaR_malloc);
  r->source = (hia_source){.name = "argument 1", .text = text, .len = strlen(text)};
  hiaG_types_init(&r->types, &r->comp);
  hiaF_diags_init(&r->diags, &r->comp, &r->source);
  hiaR_text_init(out, &r->comp.arena);
  if (!hiaF_parse_value(&r->comp, &r->types, &r->source, type_of(r, type), &found, &words,
                        &r->diags))
    return false;
  hiaG_type_print(&r->types, found, out);
  hiaR_text_addf(out, " ");
  hia_type_table table = hiaG_type_table(&r->types);
  hia_value_types *held = hiaR_value_types_new(&hiaR_malloc, &table, NULL);
  hia_value *value = hiaR_value_new(&hiaR_malloc, hiaR_type_info(held, found), NULL, words);
  hiaR_value_types_release(held);
  char printed[256];
  hia_value_format(value, printed, sizeof printed);
  hia_value_free(value);
  hiaR_text_addf(out, "%s", printed);
  return true;
}

static void expect(const char *type, const char *text, const char *expected) {
  reader r;
  hia_text out;
  if (read(&r, type, text, &out))
    cr_expect_str_eq(out.data, expected, "%s: %s is %s, not %s", type, text, out.data, expected);
  else
    cr_expect_fail("%s: %s is refused", type, text);
  hiaR_comp_free(&r.comp);
}

static void refuse(const char *type, const char *text, const char *code) {
  reader r;
  hia_text out;
  cr_expect_not(read(&r, type, text, &out), "%s: %s is accepted", type, text);
  cr_expect_eq(r.diags.list.len, 1);
  if (r.diags.list.len > 0)
    cr_expect_str_eq(r.diags.list.data[0].code, code, "%s: %s", text, r.diags.list.data[0].message);
  hiaR_comp_free(&r.comp);
}

Test(value, by_their_look) {
  expect("", "3", "i32 3");
  expect("", "3i64", "i64 3");
  expect("", "3.0", "f32 3.0");
  expect("", "true", "bool true");
  expect("", "-5", "i32 -5");
  expect("", "inf", "f32 inf");
  expect("", "-inf", "f32 -inf");
  expect("", "nan", "f32 nan");
  expect("", "(1, (2.5, false))", "(i32, (f32, bool)) (1, (2.5, false))");
}

Test(value, of_a_type) {
  expect("f64", "3", "f64 3.0");
  expect("f64", "0.1", "f64 0.1");
  expect("f32", "0.1", "f32 0.1");
  expect("f64", "0.1f64", "f64 0.1");
  expect("f64", "-0", "f64 -0.0");
  expect("f32", "1e30", "f32 1e+30");
  expect("f64", "-inf", "f64 -inf");
  expect("i64", "-9223372036854775808", "i64 -9223372036854775808");
  expect("i32", "-2147483648", "i32 -2147483648");
  expect("i64", "0xff", "i64 255");
  expect("(i64, f64)", "(1, -2)", "(i64, f64) (1, -2.0)");
  expect("f32", "16777217", "f32 16777216.0");
  expect("f32", "1.00000017881393432617187499", "f32 1.0000001"); /* not rounded twice */
}

Test(value, constant_expressions) {
  expect("i32", "2 * 3 + 1", "i32 7");
  expect("f64", "1 / 4", "f64 0.25");
  expect("", "1 / 4", "i32 0");
  expect("", "if 1 < 2 then 3 else 1 / 0", "i32 3");
  expect("", "(1, 2.5).1", "f32 2.5");
  expect("bool", "not (1 == 2) and true", "bool true");
  expect("", "false and 1 / 0 == 1", "bool false");
  expect("i64", "max(3, abs(-7))", "i64 7");
  expect("f64", "sqrt(2)", "f64 1.4142135623730951");
  expect("", "i32(2.7)", "i32 2");
  expect("f64", "inf - inf", "f64 nan");
  expect("i32", "2147483647 + 1", "i32 -2147483648");
  expect("i32", "select(true, 1, 2)", "i32 1");
}

Test(value, refused) {
  refuse("i64", "3i32", "E0401");
  refuse("i32", "3.0", "E0401");
  refuse("i32", "inf", "E0401");
  refuse("bool", "1", "E0401");
  refuse("(i64, f64)", "(1, 2, 3)", "E0401");
  refuse("(i64, f64)", "1", "E0401");
  refuse("i32", "2147483648", "E0312");
  refuse("f32", "1e39", "E0313");
  refuse("f64", "1e400", "E0313");
  refuse("", "1 / 0", "E0317");
  refuse("", "fail(3)", "E0317");
  refuse("", "1 + true", "E0304");
  refuse("", "x", "E0201");
  refuse("", "Leaf(1)", "E0901");
  refuse("", "[1, 2]", "E0401");
  refuse("", "@file.npy", "E0908");
  refuse("", "{ let x = 1; x }", "E0211");
  refuse("", "1 2", "E0101");
  refuse("", "", "E0101");
  refuse("", "(1,)", "E0102");
  refuse("", "1\xff", "E0001");
}

/* The value of a const, from the graph of a function that returns it. */
static void expect_const(const char *consts, const char *type, const char *expected) {
  char text[512], wanted[128];
  snprintf(text, sizeof text, "%s\nfn f() -> %s = C\n", consts, type);
  snprintf(wanted, sizeof wanted, "const %s !", expected);
  compiled c;
  compile_good(&c, text);
  const char *graph = graph_text(&c, "f", HIA_NONE, false);
  cr_expect(strstr(graph, wanted) != NULL, "%s\n%s", consts, graph);
  discard(&c);
}

Test(value, consts) {
  expect_const("const C = 1 / 3", "i32", "0");
  expect_const("const C = 1 / 4", "f64", "0x1p-2");
  expect_const("const C = A * 2 const A = 3000000000", "i64", "6000000000");
  expect_const("const C: f64 = A const A = 0.1", "f64", "0x1.999999999999ap-4");
  expect_const("const C = if A > 2 then A else 1 / 0 const A = 3", "i64", "3");
  expect_const("const C = A - 3 * A const A = -2", "i32", "4"); /* in brackets */
  expect_const("const C = A and not B const A = true const B = 1 < 0", "bool", "true");
}
