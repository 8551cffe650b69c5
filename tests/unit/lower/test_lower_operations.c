/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Ops on tensors in graphs: every row in the interpreter, the expanding baseline and native code,
 * with and without the passes, and what fails; graphs and images that are wrong. What the ops
 * compute is tested by test_tensor_*.c: here they get their operands, immediates and dtypes. */
#include "tests/unit/helpers/data_world.h"
#include "tests/unit/helpers/image.h"
#include <stdio.h>

/* ---- programs: functions f(n) of an i64 ---- */

typedef struct program {
  const char *name;
  const char *result; /* a dtype */
  const char *body;   /* %0 is n; it yields one value */
  double values[3];   /* of n = 0, 3, 7, if all_fine; else those that fail are not looked at */
  int status[3];
} program;

static const int64_t args[] = {0, 3, 7};

/* %9: 0.5, 1.5, ...: n elements. %8: its rows are n copies of it, [n, n]. */
#define VECTOR                                                                                     \
  "%1:i64[?] = iota %0\n%2:f64[?] = cast %1\n%3:f64 = const 0x1.0000000000000p-1\n%9:f64[?] = "    \
  "add "                                                                                           \
  "%2, %3\n"
#define MATRIX                                                                                     \
  VECTOR                                                                                           \
  "%4:f64 = const 0x1.0000000000000p+0\n%5:f64[?, ?] = full %4, %0, %0\n%8:f64[?, ?] = mul "       \
  "%5, %9\n"
#define OK {HIA_OK, HIA_OK, HIA_OK}

static const program programs[] = {
    {"iota, cast, lifted, sum",
     "f64",
     VECTOR "%10:f64 = sum all %9\nyield %10",
     {0, 4.5, 24.5},
     OK},
    {"full, sum along an axis",
     "f64",
     MATRIX "%10:f64[?] = sum 0 %8\n%11:f64 = sum all %10\nyield %11",
     {0, 13.5, 171.5},
     OK},
    {"sum of the other axis",
     "f64",
     MATRIX "%10:f64[?] = sum 1 %8\n%11:f64[?] = mul %10, %9\n%12:f64 = sum all %11\nyield %12",
     {0, 20.25, 600.25},
     OK},
    {"dim", "i64", MATRIX "%10:i64 = dim 1 %8\nyield %10", {0, 3, 7}, OK},
    {"row, part",
     "f64",
     MATRIX "%10:i64 = const 1\n%11:f64[?, ?] = part %8, %10, %0\n%12:f64[?] = row %11, %10\n"
            "%13:f64 = row %12, %10\nyield %13",
     {0, 1.5, 1.5},
     {HIA_RANGE, HIA_OK, HIA_OK}},
    {"row of a row that is not there",
     "f64",
     VECTOR "%10:i64 = const 5\n%11:f64 = row %9, %10\nyield %11",
     {0, 0, 5.5},
     {HIA_RANGE, HIA_RANGE, HIA_OK}},
    {"item",
     "f64",
     MATRIX "%10:i64 = const 1\n%11:f64 = item 2 %8, %10\n%12:f64 = item 0 %9, %10\n"
            "%13:f64 = mul %11, %12\nyield %13",
     {0, 3.75, 3.75},
     {HIA_RANGE, HIA_OK, HIA_OK}},
    {"item of a row that is not there",
     "f64",
     MATRIX "%10:i64 = const 5\n%11:f64 = item 6 %8, %10\nyield %11",
     {0, 0, 6.5},
     {HIA_RANGE, HIA_RANGE, HIA_OK}},
    {"rows",
     "f64",
     MATRIX "%10:i32[?] = cast %1\n%11:f64[?, ?] = rows %8, %10\n%12:f64[?, ?] = rows %11, %1\n"
            "%13:f64 = sum all %12\nyield %13",
     {0, 13.5, 171.5},
     OK},
    {"with",
     "f64",
     VECTOR
     "%10:i64 = const 2\n%11:f64 = const 0x1.9000000000000p+6\n%12:f64[?] = with %9, %10, %11\n"
     "%13:f64[?] = with %12, %10, %3\n%14:f64[?] = add %12, %13\n%15:f64 = sum all "
     "%14\nyield %15",
     {0, 104.5, 144.5},
     {HIA_RANGE, HIA_OK, HIA_OK}},
    {"with a row",
     "f64",
     MATRIX "%10:i64 = const 1\n%11:f64[?] = neg %9\n%12:f64[?, ?] = with %8, %10, %11\n"
            "%13:f64 = sum all %12\nyield %13",
     {0, 4.5, 122.5},
     {HIA_RANGE, HIA_OK, HIA_OK}},
    {"cat, stack",
     "f64",
     MATRIX "%10:f64[?] = cat 0 %9, %9, %9\n%11:f64[?, ?] = stack 1 %10, %10\n"
            "%12:f64[?, ?] = cat 1 %11, %11\n%13:f64[?] = stack 0 %3, %3, %3, %3\n"
            "%14:f64[?, ?] = mul %12, %13\n%15:f64 = sum all %14\nyield %15",
     {0, 27, 147},
     OK},
    {"reshape, transpose",
     "f64",
     MATRIX "%10:i64 = mul %0, %0\n%11:f64[?] = reshape %8, %10\n%12:f64[?, ?] = reshape %11, %0, "
            "%0\n%13:f64[?, ?] = transpose %12\n%14:f64[?, ?] = sub %13, %8\n%15:f64[?, ?] = mul "
            "%14, %14\n%16:f64 = sum all %15\nyield %16",
     {0, 12, 392},
     OK},
    {"reshape to another number",
     "f64",
     VECTOR "%10:i64 = const 3\n%11:f64[?] = reshape %9, %10\n%12:f64 = sum all %11\nyield %12",
     {0, 4.5, 0},
     {HIA_SHAPE, HIA_OK, HIA_SHAPE}},
    {"one_hot, product of vectors",
     "f64",
     VECTOR "%10:i64 = const 2\n%11:f64[?] = one_hot %10, %0\n%12:f64 = product %11, %9\nyield %12",
     {0, 2.5, 2.5},
     {HIA_RANGE, HIA_OK, HIA_OK}},
    {"products",
     "f64",
     MATRIX "%10:f64[?, ?] = product %8, %8\n%11:f64[?] = product %10, %9\n%12:f64[?] = product "
            "%9, %8\n%13:f64 = product %11, %12\nyield %13",
     {0, 797.34375, 1672821.71875},
     OK},
    {"outer, argmax, argmin",
     "i64",
     VECTOR "%10:f64[?] = neg %9\n%11:f64[?, ?] = outer %9, %10\n%12:i64 = argmax all %11\n"
            "%13:i64 = argmin all %11\n%14:i64 = add %12, %13\nyield %14",
     {0, 8, 48},
     {HIA_EMPTY, HIA_OK, HIA_OK}},
    {"max_of, min_of, mean, prod",
     "f64",
     MATRIX "%10:f64[?] = max_of 0 %8\n%11:f64 = min_of all %10\n%12:f64 = mean all %8\n%13:f64 = "
            "add %11, %12\n%14:f64[?] = prod 1 %5\n%15:f64 = sum all %14\n%16:f64 = mul %13, "
            "%15\nyield %16",
     {0, 6, 28},
     {HIA_EMPTY, HIA_OK, HIA_OK}},
    {"any, all, comparisons",
     "bool",
     VECTOR "%10:f64 = const 0x1.0000000000000p+1\n%11:bool[?] = gt %9, %10\n%12:bool = any all "
            "%11\n%13:bool = all "
            "all %11\n%14:bool = eq %12, %13\nyield %14",
     {0, 0, 0},
     OK},
    {"select",
     "f64",
     MATRIX
     "%10:f64 = const 0x1.0000000000000p+1\n%11:bool[?] = gt %9, %10\n%12:f64[?, ?] = select "
     "%11, %8, %10\n"
     "%13:f64 = sum all %12\nyield %13",
     {0, 19.5, 185.5},
     OK},
    {"softmax, log_softmax, cross_entropy",
     "i64",
     MATRIX "%10:f64[?, ?] = softmax %8\n%11:f64[?, ?] = log_softmax %8\n%12:f64[?, ?] = exp "
            "%11\n%13:f64[?, ?] = sub %10, %12\n%14:f64[?, ?] = abs %13\n%15:f64 = max_of all "
            "%14\n%16:f64[?] = cross_entropy %8, %1\n%17:f64[?] = neg %16\n%18:f64 = sum all "
            "%17\n%19:f64 = const 0x1.0c6f7a0b5ed8dp-20\n%20:bool = lt %15, %19\n%21:f64 = const "
            "0x0p+0\n%22:bool = "
            "lt %18, %21\n%23:bool = eq %20, %22\n%24:i64 = cast %23\nyield %24",
     {0, 1, 1},
     {HIA_EMPTY, HIA_OK, HIA_OK}},
    {"label_gradient: softmax times v, less v at the label, bit for bit",
     "i64",
     MATRIX
     "%10:f64[?, ?] = label_gradient 0 %8, %1, %9\n%11:f64[?, ?] = softmax %8\n%12:i64 = const "
     "1\n%13:f64[?, ?] = reshape %9, %0, %12\n%14:f64[?, ?] = mul %11, %13\n%15:f64[?, ?] = "
     "sub %14, %13\n%16:i64[?, ?] = reshape %1, %0, %12\n%17:bool[?, ?] = eq %16, "
     "%1\n%18:f64[?, ?] = select %17, %15, %14\n%19:bool[?, ?] = eq %10, %18\n%20:bool = all "
     "all %19\n%21:i64 = cast %20\nyield %21",
     {1, 1, 1},
     OK},
    {"label_gradient of what is softmax already",
     "i64",
     MATRIX
     "%10:f64[?, ?] = softmax %8\n%11:f64[?, ?] = label_gradient 1 %10, %1, %9\n%12:f64[?, ?] = "
     "label_gradient 0 %8, %1, %9\n%13:bool[?, ?] = eq %11, %12\n%14:bool = all all "
     "%13\n%15:i64 = cast %14\nyield %15",
     {1, 1, 1},
     OK},
    {"label_gradient of what is no label",
     "f64",
     MATRIX
     "%10:i64 = const 1\n%11:i64[?] = add %1, %10\n%12:f64[?, ?] = label_gradient 0 %8, %11, "
     "%9\n%13:f64 = sum all %12\nyield %13",
     {0, 0, 0},
     {HIA_OK, HIA_RANGE, HIA_RANGE}},
    {"label_gradient for another number of rows",
     "f64",
     MATRIX
     "%10:i64 = const 3\n%11:f64[?] = full %3, %10\n%12:f64[?, ?] = label_gradient 0 %8, %1, "
     "%11\n%13:f64[?, ?] = label_gradient 0 %12, %1, %9\n%14:f64 = sum all %12\nyield %14",
     {0, 0, 0},
     {HIA_SHAPE, HIA_OK, HIA_SHAPE}},
    {"expect",
     "f64",
     MATRIX
     "%10:i64 = const 3\n%11:f64[?, ?] = expect 2 %8, %10\n%12:f64[?, ?] = expect 3 %11, %0, "
     "%10\n%13:f64 = sum all %12\nyield %13",
     {0, 13.5, 0},
     {HIA_SHAPE, HIA_OK, HIA_SHAPE}},
    {"shapes that do not fit",
     "f64",
     VECTOR "%10:i64 = const 3\n%11:f64[?] = full %3, %10\n%12:f64[?] = add %9, %11\n%13:f64 = sum "
            "all %12\nyield %13",
     {0, 6, 0},
     {HIA_SHAPE, HIA_OK, HIA_SHAPE}},
    {"division by zero in an element",
     "i64",
     "%1:i64[?] = iota %0\n%2:i64 = const 12\n%3:i64[?] = div %2, %1\n%4:i64 = sum all %3\nyield "
     "%4",
     {0, 0, 0},
     {HIA_OK, HIA_DIV_ZERO, HIA_DIV_ZERO}},
    {"a size below 0",
     "f64",
     "%1:i64 = const 5\n%2:i64 = sub %0, %1\n%3:f64 = const 0x1.0000000000000p+0\n%4:f64[?, ?] = "
     "full %3, %2, "
     "%0\n%5:f64 = sum all %4\nyield %5",
     {0, 0, 14},
     {HIA_SHAPE, HIA_SHAPE, HIA_OK}},
    {"pack",
     "f64",
     VECTOR
     "%10:[f64] = map %0 {\n%11:i64 = arg 0\n%12:f64 = row %9, %11\nyield %12\n}\n%13:f64[?] "
     "= pack %10\n%14:[f64[?]] = map %0 {\n%15:i64 = arg 0\n%16:f64 = row %9, %15\n%17:f64[?] "
     "= mul %13, %16\nyield %17\n}\n%18:f64[?, ?] = pack %14, %0\n%19:f64 = sum all "
     "%18\nyield %19",
     {0, 20.25, 600.25},
     OK},
    {"pack of several shapes",
     "i64",
     "%10:[i64[?]] = map %0 {\n%15:i64 = arg 0\n%16:i64[?] = iota %15\nyield %16\n}\n%18:i64[?, ?] "
     "= pack %10, %0\n%19:i64 = dim 1 %18\nyield %19",
     {0, 0, 0},
     {HIA_OK, HIA_SHAPE, HIA_SHAPE}},
    {"zeros, fit",
     "f64",
     MATRIX "%10:f64[?, ?] = zeros %8\n%11:f64[?, ?] = add %10, %8\n%12:f64[?] = fit %11, %9\n"
            "%13:f64 = fit %12, %3\n%14:f64[?, ?] = fit %11, %8\n%15:f64 = sum all %14\n%16:f64 = "
            "add %13, %15\nyield %16",
     {0, 27, 343},
     OK},
    {"fit of what was not broadcast",
     "f64",
     MATRIX "%10:i64 = const 3\n%11:f64[?] = full %3, %10\n%12:f64[?] = fit %8, %11\n%13:f64 = sum "
            "all %12\nyield %13",
     {0, 13.5, 0},
     {HIA_SHAPE, HIA_OK, HIA_SHAPE}},
    {"scatter",
     "f64",
     MATRIX "%10:i64 = const 2\n%11:i64[?] = rem %1, %10\n%12:f64[?, ?] = scatter %8, %11, %8\n"
            "%13:i64 = const 1\n%14:f64[?] = row %12, %13\n%15:f64 = sum all %14\nyield %15",
     {0, 4.5, 73.5},
     {HIA_RANGE, HIA_OK, HIA_OK}},
    {"scatter of an index that is not there",
     "f64",
     VECTOR
     "%10:i64 = const 5\n%11:i64[?] = mul %1, %10\n%12:f64[?] = scatter %9, %11, %9\n%13:f64 "
     "= sum all %12\nyield %13",
     {0, 0, 0},
     {HIA_OK, HIA_RANGE, HIA_RANGE}},
    {"cut",
     "f64",
     MATRIX
     "%10:i64 = const 1\n%11:i64 = const 3\n%12:f64[?, ?] = cut 1 %8, %10, %11\n%13:f64[?, ?] "
     "= cut 0 %12, %10, %11\n%14:f64 = sum all %13\nyield %14",
     {0, 8, 8},
     {HIA_RANGE, HIA_OK, HIA_OK}},
    {"product_at, product_bt",
     "f64",
     MATRIX "%10:f64[?, ?] = product_at %8, %5\n%11:f64[?, ?] = product_bt %10, %8\n%12:f64[?] = "
            "product %11, %9\n%13:f64 = product %9, %12\nyield %13",
     {0, 531.5625, 477949.0625},
     OK},
    {"a sum of vectors",
     "f64",
     VECTOR
     "%10:sum(f64[?]) = data Dense %9\n%11:sum(f64[?]) = const Nothing\n%12:sum(f64[?]) = data "
     "Both %11, %10\n%13:i64 = const 1\n%14:sum(f64[?]) = data Row %13, %3\n%15:sum(f64[?]) = data "
     "Part %13, %14\n%16:sum(f64[?]) = data Both %12, %15\n%17:sum(f64[?]) = data Rows %1, "
     "%9\n%18:sum(f64[?]) = data Both %16, %17\n%19:f64[?] = collect %18, %9\n%20:f64[?] = collect "
     "%11, %19\n%21:f64[?] = sub %19, %20\n%22:f64 = product %21, %9\nyield %22",
     {0, 18.75, 228.75},
     {HIA_SHAPE, HIA_OK, HIA_OK}},
    {"a sum of matrices, made in a loop",
     "f64",
     MATRIX
     "%10:i64 = const 0\n%11:sum(f64[?, ?]) = const Nothing\n%12:i64, %13:sum(f64[?, ?]) = loop "
     "%10, %11 {\n%20:i64 = arg 0\n%21:sum(f64[?, ?]) = arg 1\n%22:bool = lt %20, %0\nyield %22, "
     "%20, %21\n} round {\n%23:i64 = const 1\n%24:i64 = add %20, %23\n%25:sum(f64[?, ?]) = data "
     "Outer %9, %9\n%26:sum(f64[?, ?]) = data Both %21, %25\n%27:sum(f64[?]) = data Dense "
     "%9\n%28:sum(f64[?, ?]) = data Row %20, %27\n%29:sum(f64[?, ?]) = data Both %26, %28\nyield "
     "%24, %29\n}\n%14:sum(f64[?, ?]) = data Products %8, %8\n%15:sum(f64[?, ?]) = data Both %13, "
     "%14\n%16:f64[?, ?] = collect %15, %8\n%17:f64 = sum all %16\nyield %17",
     {0, 135, 8575},
     OK},
    {"rows of a sum",
     "f64",
     MATRIX
     "%10:sum(f64[?]) = data Dense %9\n%11:i64 = const 1\n%12:sum(f64[?, ?]) = data Row %11, "
     "%10\n%13:i64 = const 0\n%14:sum(f64[?, ?]) = data Row %13, %10\n%15:sum(f64[?, ?]) = data "
     "Both %12, %14\n%16:i64[?] = touched %15, %8\n%17:f64[?, ?] = collect_rows %15, %16, "
     "%8\n%18:f64 = sum all %17\n%19:i64 = sum all %16\n%20:f64 = cast %19\n%21:f64 = add %18, "
     "%20\nyield %21",
     {0, 10, 50},
     {HIA_SHAPE, HIA_OK, HIA_OK}},
    {"literal",
     "f64",
     "%10:f64[?, ?] = literal [2, 3] 0x1p+0 0x1p+1 0x1.8p+1 0x1p+2 -0x1p+0 0x1p-1\n%11:i64 = const "
     "3\n%12:i64 = rem %0, %11\n%13:f64[?] = row %10, %12\n%14:f64 = const 0x1p+0\n%15:i64 = const "
     "0\n%16:f64[?] = with %13, %15, %14\n%17:f64[?] = mul %16, %13\n%18:f64 = sum all "
     "%17\nyield %18",
     {14, 14, 5.25},
     OK},
    {"literals of other dtypes, and one without elements",
     "i64",
     "%10:bool[?] = literal [3] true false true\n%11:i64 = const 2\n%12:bool = row %10, "
     "%11\n%13:i32[?, ?] = literal [0, 4]\n%14:i64 = dim 1 %13\n%15:i64 = cast %12\n%16:i64 = add "
     "%14, %15\nyield %16",
     {5, 5, 5},
     OK},
    {"alike: the first that differs fails, not a later one that fails otherwise",
     "i64",
     "%10:[i64[?]] = map %0 {\n%15:i64 = arg 0\n%20:i64 = const 6\n%21:i64 = sub %20, "
     "%15\n%22:i64 = div %20, %21\n%23:i64 = const 4\n%24:i64 = div %15, %23\n%16:i64[?] = iota "
     "%24\n%17:i64 = alike %15, %16\nyield %16\n}\n%25:i64 = const 0\n%18:i64[?, ?] = pack %10, "
     "%25\n%19:i64 = dim 0 %18\nyield %19",
     {0, 3, 0},
     {HIA_OK, HIA_OK, HIA_SHAPE}},
    {"a tensor in a loop, and in branches",
     "f64",
     VECTOR
     "%10:i64 = const 0\n%11:f64[?], %12:i64 = loop %9, %10 {\n%20:f64[?] = arg 0\n%21:i64 = "
     "arg 1\n%22:bool = lt %21, %0\nyield %22, %20, %21\n} round {\n%23:i64 = const 1\n%24:i64 "
     "= add %21, %23\n%25:i64 = const 2\n%26:i64 = rem %21, %25\n%27:bool = eq %26, "
     "%23\n%28:f64[?] = if %27 {\n%29:f64[?] = mul %20, %3\nyield %29\n} else {\n%30:f64 = "
     "row %20, %21\n%31:f64 = add %30, %30\n%32:f64[?] = with %20, %21, %31\nyield "
     "%32\n}\nyield %28, %24\n}\n%13:f64 = sum all %11\nyield %13",
     {0, 3.75, 4.8125},
     OK},
};

static const char *program_text(hia_arena *arena, const program *p) {
  return hiaR_arena_printf(arena,
                           "graph functions \"\"\nfn \"f\" (i64) -> (%s) of f root (i64) -> %s "
                           "{\n%%0:i64 = arg 0\n%s\n}\n",
                           p->result, p->result, p->body);
}

static double to_double(const char *result, hia_word word) {
  if (!strcmp(result, "f64")) return hiaR_to_f64(word);
  return (double)hiaR_to_i64(word);
}

/* Native code of the program, with passes or without, on one argument. */
static hia_status run_native(const program *p, bool is_passed, int level, int64_t n, hia_word *out,
                             hia_failure *failure) {
  data_world d;
  hia_status status = HIA_OK;
  open_world(&d);
  NO_THROW(&d.w.e, {
    hia_graph *g = read_text(&d.w.e, program_text(&d.w.e.comp.arena, p));
    hia_pass_options options = {
        .disabled = is_passed ? NULL : "all", .use = HIA_USE_NATIVE, .verify = true};
    hiaG_run_passes(g, &options);
    compile_data(&d, g, false, level);
    hia_word block[2] = {(hia_word)n};
    status = run_only(&d, "f", block);
    int64_t live = 0;
    if (!status && is_passed && hiaR_heap_census(&d.heap, &live))
      cr_assert_eq(live, 0, "%s: %lld objects are left", p->name, (long long)live);
    hiaR_heap_end(&d.heap);
    *out = block[1];
    *failure = d.w.failure;
  });
  close_world(&d);
  return status;
}

static const char *misfit_text(hia_arena *arena, const hia_failure *failure) {
  hia_text text;
  hiaR_text_init(&text, arena);
  hiaR_misfit_print(&failure->misfit, NULL, &text);
  return text.data;
}

static void check_program(const program *p) {
  hia_comp comp;
  hiaR_comp_init(&comp, &hiaR_malloc);
  image_program image;
  cr_assert(image_from_ir(&image, program_text(&comp.arena, p)), "%s: %s", p->name, image.error);
  for (size_t i = 0; i < HIA_LEN(args); i++) {
    hia_word arg = (hia_word)args[i];
    image_outcome a = image_run(&image, IMAGE_INTERP, &arg, 1, NULL, NULL);
    if (p->status[i] >= 0)
      cr_assert_eq((int)a.status, p->status[i], "%s of %d: %s", p->name, (int)args[i],
                   hiaR_status_word(a.status));
    if (!a.status && p->status[i] >= 0)
      cr_assert_float_eq(to_double(p->result, a.results[0]), p->values[i], 1e-9, "%s of %d: %g",
                         p->name, (int)args[i], to_double(p->result, a.results[0]));
    cr_assert(a.status || a.live == 0, "%s: %lld objects are left", p->name, (long long)a.live);
    for (unsigned k = 0; k < 2; k++) {
      image_outcome b =
          image_run(&image, k ? IMAGE_EXPAND : IMAGE_INTERP, &arg, k ? 1 : 3, NULL, NULL);
      cr_assert(a.status == b.status && (a.status || a.results[0] == b.results[0]), "%s of %d",
                p->name, (int)args[i]);
    }
    for (int level = 0; level <= 3; level += HIA_TEST_SHARE > 4 ? 4 : 3)
      for (int is_passed = 0; is_passed < 2; is_passed++) {
        hia_word out;
        hia_failure failure;
        hia_status status = run_native(p, is_passed, level, args[i], &out, &failure);
        cr_assert(status == a.status && (status || out == a.results[0]),
                  "%s of %d, level %d: %s, %g, but the interpreter says %s, %g", p->name,
                  (int)args[i], level, hiaR_status_word(status), to_double(p->result, out),
                  hiaR_status_word(a.status), to_double(p->result, a.results[0]));
        if (status == HIA_SHAPE)
          cr_assert_str_eq(misfit_text(&comp.arena, &failure), misfit_text(&comp.arena, &a.failure),
                           "%s", p->name);
      }
  }
  image_discard(&image);
  hiaR_comp_free(&comp);
}

Test(lower_operations, all_engines) {
  for (size_t i = 0; i < HIA_LEN(programs); i++) check_program(&programs[i]);
}

/* Every op that only tensors have is in some program; params: tests/programs/params.hia; work:
 * tests/programs/fuel_tensors.hia; traps: tests/programs/trap_nan.hia; what is
 * computed later: tests/programs/batching.hia. */
Test(lower_operations, all_ops) {
  for (unsigned op = 128; op < HIA_OP_LIMIT; op++) {
    if (!hiaR_ops[op].name || op == HIA_OP_PARAM || op == HIA_OP_WORK || op == HIA_OP_TRAP)
      continue;
    if (hiaR_ops[op].traits & HIA_T_FUNCTION) continue;
    if (op == HIA_OP_DEFER || op == HIA_OP_FORCE || op == HIA_OP_WITHIN) continue;
    if (op == HIA_OP_DATA_LATE || op == HIA_OP_FIELD_LATE || op == HIA_OP_PACK_LATE) continue;
    char call[64];
    snprintf(call, sizeof call, "= %s ", hiaR_ops[op].name);
    bool is_there = false;
    for (size_t i = 0; i < HIA_LEN(programs); i++)
      is_there |= strstr(programs[i].body, call) != NULL;
    cr_assert(is_there, "%s", hiaR_ops[op].name);
  }
}

/* ---- graphs that are wrong ---- */

Test(lower_operations, the_verifier) {
  static const char *const rows[][2] = {
      {"%1:i64[?] = iota %0\n%2:i64 = work 128 %0, %1\nyield %2", "128 is no op that costs fuel"},
      {"%1:i64 = work 4000000 %0, %0\nyield %1", "is no op that costs fuel"},
      {"%1:i64[?] = iota %0\n%2:i64 = work 149 %0, %1\nyield %2", "or has other operands"},
      {"%1:i64[?] = iota %0\n%2:i64 = work 140 %1, %1\nyield %2", "must be i64"},
      {"%1:i64[?] = iota %0\n%2:i32 = work 140 %0, %1\nyield %0", "must be i64"},
      {"%1:i64[?] = iota %0\n%2:i64 = sum 1 %1\nyield %2",
       "sum does not take operands of these ranks"},
      {"%1:i64[?] = iota %0\n%2:f64 = mean all %1\nyield %0", "mean does not take i64"},
      {"%1:i64[?] = iota %0\n%2:i32 = sum all %1\nyield %0", "must be of i64 and rank 0"},
      {"%1:i64[?] = iota %0\n%2:i64[?, ?] = add %1, %0\nyield %0", "must be of i64 and rank 1"},
      {"%1:i64[?] = iota %0\n%2:f64 = const 0x1.0000000000000p+0\n%3:i64[?] = add %1, %2\nyield %0",
       "add of i64 does not take f64 as operand 1"},
      {"%1:i64[?] = iota %0\n%2:i64 = row %1, %1\nyield %2",
       "row does not take operands of these ranks"},
      {"%1:i64 = dim 0 %0\nyield %1", "dim does not take operands of these ranks"},
      {"%1:i64[?] = iota %0\n%2:i64[?] = expect 2 %1, %0\nyield %0", "these ranks"},
      {"%1:i64[?] = iota %0\n%2:i64[?] = expect 1 %1\nyield %0", "these ranks"},
      {"%1:i64[?] = iota %0\n%2:i64[?, ?] = pack %1, %0\nyield %0", "must be an array"},
      {"%1:i64[?] = iota %0\n%2:i64[?] = touched %1, %1\nyield %0", "must be a sum"},
      {"%1:i64[?] = iota %0\n%2:i64[?] = collect_rows %1, %1, %1\nyield %0", "must be a sum"},
      {"%1:i64[?] = iota %0\n%2:i64[?] = collect %1, %1\nyield %0", "must be a sum"},
      {"%1:i64[?] = iota %0\n%2:f64[?] = cast %1\n%3:sum(f32[?]) = const Nothing\n%4:f32[?] = "
       "collect %3, %2\nyield %0",
       "collect of f32 does not take f64[?] as operand 1"},
      {"%1:i64[?] = iota %0\n%2:f64[?] = cast %1\n%3:sum(f64[?, ?]) = const Nothing\n%4:f64[?] = "
       "collect %3, %2\nyield %0",
       "collect does not take operands of these ranks"},
      {"%1:sum(i64[?]) = const Nothing\nyield %0", "a sum is of f32 or f64"},
      {"%1:sum(f64) = const Nothing\nyield %0", "expected '['"},
      {"%1:sum(f64[?]) = const Some\nyield %0", "sum(f64[?]) has no constructor Some"},
      {"%1:\"sum(f64[?])\" = const Nothing\nyield %0", "there is no type"},
      {"%1:i64[?] = cat 0\nyield %0", "cat has no operands"},
      {"%1:i64[?] = iota %0\n%2:f64[?] = cast %1\n%3:i64 = row %1, %2\nyield %3",
       "row of i64 does not take f64[?] as operand 1"},
  };
  for (size_t i = 0; i < HIA_LEN(rows); i++) {
    env e;
    env_init(&e);
    NO_THROW(&e, {
      const program p = {.result = "i64", .body = rows[i][0]};
      const char *text = program_text(&e.comp.arena, &p);
      hia_read_error error;
      hia_graph *g = hiaG_read(&e.comp, &e.types, text, strlen(text), &error);
      cr_expect(!g, "accepted: %s", rows[i][0]);
      if (!g)
        cr_expect(strstr(error.message, rows[i][1]), "%s\nsays: %s", rows[i][0], error.message);
    });
    hiaR_comp_free(&e.comp);
  }
}

/* ---- images that are wrong ---- */

/* Whatever one changes in the words of an image with operations, it is rejected, or does no harm.
 */
Test(lower_operations, images_with_other_words) {
  hia_comp comp;
  hiaR_comp_init(&comp, &hiaR_malloc);
  uint32_t n_accepted = 0, n_rejected = 0;
  for (size_t i = 0; i < HIA_LEN(programs); i++) {
    image_program image;
    cr_assert(image_from_ir(&image, program_text(&comp.arena, &programs[i])));
    bool may_loop = strstr(programs[i].body, "loop") || strstr(programs[i].body, "map");
    const hia_image_header *h = image.bytes;
    struct {
      uint32_t at, size;
    } parts[] = {{h->words.at, h->words.n * 4},
                 {h->nodes.at, h->nodes.n * (uint32_t)sizeof(hia_image_node)},
                 {h->kernels.at, h->kernels.n * (uint32_t)sizeof(hia_image_kernel)}};
    for (size_t part = 0; part < HIA_LEN(parts); part++)
      for (uint32_t at = 0; at < parts[part].size; at += part == 1 ? 7 : 1) {
        uint8_t *bytes = malloc(image.size);
        memcpy(bytes, image.bytes, image.size);
        uint8_t *byte = bytes + parts[part].at + at;
        *byte = (uint8_t)(at % 3 == 0 ? *byte + 1 : at % 3 == 1 ? *byte ^ 0x80 : *byte - 1);
        hia_image_header *changed = (void *)bytes;
        size_t behind = offsetof(hia_image_header, hash) + sizeof changed->hash;
        changed->hash = hiaR_image_hash(bytes + behind, image.size - behind);
        image_program other = {.bytes = bytes, .size = image.size};
        char error[200];
        hia_status status = hiaR_image_load(bytes, image.size, hiaR_any_kernel, &hiaR_malloc,
                                            &other.image, error, sizeof error);
        if (status) {
          n_rejected++;
        } else if (hiaR_image_n_exports(other.image)) {
          n_accepted++;
          hia_word arg = 3;
          const hia_limits limits = {.memory = 64 << 20, .depth = 1 << 20};
          for (int k = 0; k < 2 && !may_loop; k++)
            image_run(&other, k ? IMAGE_EXPAND : IMAGE_INTERP, &arg, 1, &limits, NULL);
          hiaR_image_free(other.image);
        }
        free(bytes);
      }
    image_discard(&image);
  }
  cr_assert(n_accepted > 100 && n_rejected > 1000, "%u %u", n_accepted, n_rejected);
  hiaR_comp_free(&comp);
}
