/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* graph/ir/type.c, graph.c, context.c, dot.c: types, making, changing, copying, reading. */
#include "graph/analysis/effects.h"
#include "graph/ir/build.h"
#include "graph/ir/change.h"
#include "graph/passes/passes.h"
#include "tests/unit/helpers/graphs.h"
#include "tests/unit/helpers/random.h"
#include "tests/unit/helpers/time.h"

Test(types, tuples_are_interned) {
  env e;
  env_init(&e);
  NO_THROW(&e, {
    hia_type pair = hiaG_tuple(&e.types, (hia_type[]){HIA_I32, HIA_F64}, 2);
    hia_type same = hiaG_tuple(&e.types, (hia_type[]){HIA_I32, HIA_F64}, 2);
    hia_type other = hiaG_tuple(&e.types, (hia_type[]){HIA_F64, HIA_I32}, 2);
    hia_type nested = hiaG_tuple(&e.types, (hia_type[]){pair, HIA_BOOL, other}, 3);
    cr_assert_eq(pair, same);
    cr_assert_neq(pair, other);
    cr_assert_eq(hiaG_type_words(&e.types, nested), 5);
    cr_assert_eq(hiaG_type_words(&e.types, HIA_I64), 1);
    cr_assert_eq(hiaG_tuple_len(&e.types, nested), 3);
    cr_assert_eq(hiaG_tuple_part(&e.types, nested, 2), other);
    hia_type flat[5];
    hiaG_type_flatten(&e.types, nested, flat);
    hia_type wanted[5] = {HIA_I32, HIA_F64, HIA_BOOL, HIA_F64, HIA_I32};
    cr_assert_arr_eq(flat, wanted, sizeof flat);
    hiaG_type_flatten(&e.types, HIA_F32, flat);
    cr_assert_eq(flat[0], HIA_F32);
    hia_text out;
    hiaR_text_init(&out, &e.comp.arena);
    hiaG_type_print(&e.types, nested, &out);
    hiaG_type_print(&e.types, HIA_F32, &out);
    cr_assert_str_eq(out.data, "((i32, f64), bool, (f64, i32))f32");
  });
  hiaR_comp_free(&e.comp);
}

/* type List = Nil | Cons(head: (bool, i32), tail: List, trees: [Tree], sum: f64)
 * type Tree = Tree(list: List) */
static hia_type list_type(hia_types *types) {
  hia_type list = hiaG_data(types, "List"), tree = hiaG_data(types, "Tree");
  hia_type head = hiaG_tuple(types, (hia_type[]){HIA_BOOL, HIA_I32}, 2);
  hia_type fields[4] = {head, list, hiaG_array(types, tree), HIA_F64};
  const char *names[4] = {"head", "tail", "trees", "sum"};
  cr_assert_not(hiaG_data_is_defined(types, list));
  hiaG_data_define(types, list, (hia_ctor_def[]){{.name = "Nil"}, {"Cons", names, fields, 4}}, 2);
  hiaG_data_define(types, tree, &(hia_ctor_def){"Tree", &(const char *){"list"}, &list, 1}, 1);
  return list;
}

static void expect_list(const hia_types *types, hia_type list) {
  hia_type_table t = hiaG_type_table(types);
  cr_assert_eq(hiaG_type_kind(types, list), HIA_KIND_DATA);
  cr_assert_eq(hiaG_type_words(types, list), 1);
  cr_assert_str_eq(t.names + hiaR_type_entry(&t, list)->name, "List");
  const hia_ctor *nil = hiaR_ctor(&t, list, 0), *cons = hiaR_ctor(&t, list, 1);
  cr_assert(hiaR_type_entry(&t, list)->n == 2 && nil->n == 0 && nil->layout.size == 0);
  cr_assert_str_eq(t.names + nil->name, "Nil");
  cr_assert_str_eq(t.names + cons->name, "Cons");
  cr_assert_str_eq(t.names + t.fields[cons->first + 2].name, "trees");
  /* header; tail, trees; sum; the i32; the bool */
  const uint32_t at[5] = {36, 32, 8, 16, 24};
  const hia_layout_word *layout_words = t.layout_words + cons->layout.first;
  cr_assert(cons->layout.n == 5 && cons->layout.n_refs == 2 && cons->layout.size == 40);
  for (int i = 0; i < 5; i++)
    cr_assert_eq(layout_words[i].at, at[i], "word %d is at %u", i, layout_words[i].at);
  cr_assert_eq(layout_words[2].type, list);
  hia_type tree = hiaG_element(types, layout_words[3].type);
  cr_assert_eq(hiaR_ctor(&t, tree, 0)->layout.size, 16);
  cr_assert_eq(t.layout_words[hiaR_ctor(&t, tree, 0)->layout.first].type, list);
}

Test(types, data_and_arrays) {
  env e;
  env_init(&e);
  NO_THROW(&e, {
    hia_type list = list_type(&e.types);
    expect_list(&e.types, list);
    cr_assert_eq(hiaG_data(&e.types, "List"), list);
    hia_type pair = hiaG_tuple(&e.types, (hia_type[]){HIA_F32, list, HIA_BOOL}, 3);
    hia_type pairs = hiaG_array(&e.types, pair), all = hiaG_array(&e.types, pairs);
    cr_assert_eq(hiaG_array(&e.types, pair), pairs);
    cr_assert_neq(hiaG_array(&e.types, list), pairs);
    hia_type_table t = hiaG_type_table(&e.types);
    const hia_layout *element = &hiaR_type_entry(&t, pairs)->layout;
    cr_assert(element->n == 3 && element->n_refs == 1 && element->size == 16);
    cr_assert_eq(t.layout_words[element->first + 2].at, 12);
    hia_type bools = hiaG_array(&e.types, HIA_BOOL);
    t = hiaG_type_table(&e.types);
    cr_assert_eq(hiaR_type_entry(&t, bools)->layout.size, 1);
    hia_type mixed = hiaG_tuple(&e.types, (hia_type[]){all, HIA_I32}, 2), flat[2];
    cr_assert_str_eq(hiaG_type_text(&e.types, mixed), "([[(f32, List, bool)]], i32)");
    hiaG_type_flatten(&e.types, mixed, flat);
    cr_assert(flat[0] == all && flat[1] == HIA_I32);

    hia_types other;
    hiaG_types_init(&other, &e.comp);
    hiaG_data(&other, "First");
    hia_type copy = hiaG_type_copy(&other, &e.types, mixed);
    cr_assert_str_eq(hiaG_type_text(&other, copy), "([[(f32, List, bool)]], i32)");
    expect_list(&other, hiaG_data(&other, "List"));
    cr_assert_eq(hiaG_type_copy(&other, &e.types, mixed), copy);
  });
  hiaR_comp_free(&e.comp);
}

Test(types, deep_nesting_does_not_recurse) {
  env e;
  env_init(&e);
  NO_THROW(&e, {
    enum { DEPTH = 200000 };
    hia_type t = HIA_I32;
    for (int i = 0; i < DEPTH; i++) t = hiaG_tuple(&e.types, (hia_type[]){t, HIA_BOOL}, 2);
    cr_assert_eq(hiaG_type_words(&e.types, t), DEPTH + 1);
    hia_type *flat = HIA_NEW_ARRAY(&e.comp.arena, hia_type, DEPTH + 1);
    hiaG_type_flatten(&e.types, t, flat);
    cr_assert_eq(flat[0], HIA_I32);
    cr_assert_eq(flat[DEPTH], HIA_BOOL);
  });
  hiaR_comp_free(&e.comp);
}

/* fib, built by hand with the functions that the frontend uses. */
static hia_graph *build_fib(env *e) {
  hia_graph *g = hiaG_new(&e->comp, &e->types, "fib.hia");
  uint32_t source = hiaG_name(g, "fib");
  hia_type i32 = HIA_I32;
  hia_fn_id f =
      hiaG_fn_new(g, "fib(i32)", source, hiaG_loc(g, 1, 1, source, HIA_NONE), &i32, 1, &i32, 1);
  hia_fn *fn = hiaG_fn(g, f);
  fn->is_root = true;
  fn->n_sig_params = 1;
  fn->sig_params = HIA_NEW(&e->comp.arena, hia_type);
  fn->sig_params[0] = fn->sig_result = HIA_I32;
  fn->group = 1;
  fn->effects = HIA_E_RECURSIVE | HIA_E_DIVERGES;
#define AT(line, col) hiaG_loc(g, line, col, source, HIA_NONE)
  hia_value_id n = hiaG_out(fn, fn->regions.data[0].first, 0);
  hia_value_id one = hiaG_const(g, fn, 0, HIA_I32, 1, AT(1, 15));
  hia_value_id small = hiaG_op(g, fn, 0, HIA_OP_LE, (hia_value_id[]){n, one}, 2, AT(1, 13));
  hia_node_id branch = hiaG_add(g, fn, 0, HIA_OP_IF, &small, 1, &i32, 1, 0, AT(1, 10));
  hia_region_id then = fn->nodes.data[branch].regions;
  hiaG_yield(g, fn, then, &n, 1);
  hia_value_id less = hiaG_op(g, fn, then + 1, HIA_OP_SUB, (hia_value_id[]){n, one}, 2, AT(1, 40));
  hia_node_id a = hiaG_add(g, fn, then + 1, HIA_OP_CALL, &less, 1, &i32, 1, f, AT(1, 33));
  hia_value_id two = hiaG_const(g, fn, then + 1, HIA_I32, 2, HIA_NONE);
  less = hiaG_op(g, fn, then + 1, HIA_OP_SUB, (hia_value_id[]){n, two}, 2, AT(1, 52));
  hia_node_id b = hiaG_add(g, fn, then + 1, HIA_OP_CALL, &less, 1, &i32, 1, f, AT(1, 46));
  hia_value_id sum[2] = {hiaG_out(fn, a, 0), hiaG_out(fn, b, 0)};
  hia_value_id result = hiaG_op(g, fn, then + 1, HIA_OP_ADD, sum, 2, AT(1, 44));
  hiaG_yield(g, fn, then + 1, &result, 1);
  result = hiaG_out(fn, branch, 0);
  hiaG_yield(g, fn, 0, &result, 1);
#undef AT
  return g;
}

Test(graph, building_and_printing) {
  env e;
  env_init(&e);
  NO_THROW(&e, {
    hia_graph *g = build_fib(&e);
    cr_assert_null(hiaG_verify(g), "%s", hiaG_verify(g));
    cr_assert_str_eq(text_of(&e, g), graph_file("fib"));
    hia_text line;
    hiaR_text_init(&line, &e.comp.arena);
    hiaG_print_node(g, hiaG_fn(g, 0), 5, &line);
    cr_assert_str_eq(line.data, "%4:i32 = sub %0, %1 !1:40");
  });
  hiaR_comp_free(&e.comp);
}

Test(graph, names_and_locations_are_interned) {
  env e;
  env_init(&e);
  NO_THROW(&e, {
    hia_graph *g = hiaG_new(&e.comp, &e.types, "");
    uint32_t a = hiaG_name(g, "a");
    cr_assert_eq(hiaG_name(g, "a"), a);
    cr_assert_neq(hiaG_name(g, "b"), a);
    cr_assert_str_eq(g->names.data[a], "a");
    hia_loc_id l = hiaG_loc(g, 1, 2, a, HIA_NONE);
    cr_assert_eq(hiaG_loc(g, 1, 2, a, HIA_NONE), l);
    cr_assert_neq(hiaG_loc(g, 1, 2, a, l), l);
    cr_assert_neq(hiaG_loc(g, 2, 1, a, HIA_NONE), l);
  });
  hiaR_comp_free(&e.comp);
}

static hia_node_id find_op(const hia_fn *fn, unsigned op) {
  for (hia_node_id n = 0; n < fn->nodes.len; n++)
    if (fn->nodes.data[n].op == op && !(fn->nodes.data[n].flags & HIA_NODE_DEAD)) return n;
  cr_assert_fail("no %s", hiaR_ops[op].name);
  return HIA_NONE;
}

static hia_value_id *no_map(env *e, const hia_fn *fn) {
  hia_value_id *map = HIA_NEW_ARRAY(&e->comp.arena, hia_value_id, fn->values.len);
  memset(map, 0xff, fn->values.len * sizeof *map);
  return map;
}

Test(graph, removing_substituting_compacting) {
  env e;
  env_init(&e);
  NO_THROW(&e, {
    hia_graph *g = read_text(&e, graph_file("fib"));
    hia_fn *fn = hiaG_fn(g, 0);
    /* %3 (the if) is replaced by %0, through a chain; then the `if` is removed with its regions. */
    hia_node_id branch = find_op(fn, HIA_OP_IF);
    hia_value_id *map = no_map(&e, fn);
    map[hiaG_out(fn, branch, 0)] = 1;
    map[1] = 0;
    hiaG_substitute(fn, map);
    cr_assert_eq(map[hiaG_out(fn, branch, 0)], 0);
    hiaG_remove(fn, branch);
    hiaG_remove(fn, branch); /* nothing more happens */
    hiaG_remove(fn, find_op(fn, HIA_OP_LE));
    hiaG_remove(fn, find_op(fn, HIA_OP_CONST));
    const char *wanted = "graph functions \"fib.hia\"\n\n"
                         "fn \"fib(i32)\" (i32) -> (i32) of fib root (i32) -> i32 group 1 diverges "
                         "recursive !1:1 {\n"
                         "  %0:i32 = arg 0\n  yield %0\n}\n";
    cr_assert_null(hiaG_verify(g), "%s", hiaG_verify(g));
    cr_assert_str_eq(text_of(&e, g), wanted);
    hiaG_compact(g, fn);
    cr_assert_null(hiaG_verify(g), "%s", hiaG_verify(g));
    cr_assert_str_eq(text_of(&e, g), wanted);
    cr_assert_eq(fn->nodes.len, 2);
    cr_assert_eq(fn->values.len, 1);
    cr_assert_eq(fn->edges.len, 1);
    cr_assert_eq(fn->regions.len, 1);
  });
  hiaR_comp_free(&e.comp);
}

Test(graph, inserting_and_compacting_keep_the_text) {
  env e;
  env_init(&e);
  NO_THROW(&e, {
    hia_graph *g = read_text(&e, graph_file("fib"));
    hia_fn *fn = hiaG_fn(g, 0);
    hia_type i32 = HIA_I32;
    hia_node_id sub = find_op(fn, HIA_OP_SUB);
    hia_value_id in = 0;
    hia_node_id neg = hiaG_insert(g, fn, sub, HIA_OP_NEG, &in, 1, &i32, 1, 0, HIA_NONE);
    hia_node_id abs = hiaG_insert(g, fn, neg, HIA_OP_ABS, &in, 1, &i32, 1, 0, HIA_NONE);
    cr_assert_eq(fn->nodes.data[abs].next, neg);
    cr_assert_eq(fn->nodes.data[sub].prev, neg);
    fn->edges.data[fn->nodes.data[neg].ins] = hiaG_out(fn, abs, 0);
    cr_assert_null(hiaG_verify(g), "%s", hiaG_verify(g));
    const char *text = text_of(&e, g); /* not compact: numbers are those of a compact graph */
    cr_assert_not_null(strstr(text, "%4:i32 = abs %0\n    %5:i32 = neg %4\n    %6:i32 = sub"));
    hiaG_compact(g, fn);
    cr_assert_null(hiaG_verify(g), "%s", hiaG_verify(g));
    cr_assert_str_eq(text_of(&e, g), text);
    cr_assert_str_eq(text_of(&e, read_text(&e, text)), text);
  });
  hiaR_comp_free(&e.comp);
}

/* Inlines a function by hand, as passes do. */
Test(graph, copying_a_body_into_another_function) {
  env e;
  env_init(&e);
  NO_THROW(&e, {
    hia_graph *g = read_text(&e, graph_file("copy_from"));
    hia_fn *f = hiaG_fn(g, 0), *to = hiaG_fn(g, 1);
    hia_node_id call = find_op(to, HIA_OP_CALL);
    hia_value_id *map = no_map(&e, f);
    map[0] = hiaG_in(to, call, 0);
    map[1] = hiaG_in(to, call, 1);
    hiaG_copy_region(g, to, 0, call, f, 0, map, to->nodes.data[call].loc);
    hia_value_id *back = no_map(&e, to);
    back[hiaG_out(to, call, 0)] = map[hiaG_in(f, f->regions.data[0].last, 0)];
    hiaG_substitute(to, back);
    hiaG_remove(to, call);
    cr_assert_null(hiaG_verify(g), "%s", hiaG_verify(g));
    hiaG_compact(g, to);
    cr_assert_null(hiaG_verify(g), "%s", hiaG_verify(g));
    cr_assert_str_eq(text_of(&e, g), graph_file("copy_result"));
  });
  hiaR_comp_free(&e.comp);
}

/* The gradient of a param as a sum, of which the rows are collected. */
Test(graph, gradients_by_row) {
  env e;
  env_init(&e);
  NO_THROW(&e, {
    hia_graph *g = read_text(&e, graph_file("grad_rows"));
    cr_assert_str_eq(text_of(&e, g), graph_file("grad_rows"));
    cr_assert_null(hiaG_verify(g), "%s", hiaG_verify(g));
    g->gradients.data[0].wrt[0] = (hia_wrt){.is_param = false, .is_sum = true, .i = 0};
    cr_assert_not_null(strstr(hiaG_verify(g), "the gradient of a scalar is no sum"));
    g->gradients.data[0].wrt[0] = (hia_wrt){.is_param = true, .is_sum = false, .i = 0};
    cr_assert_not_null(strstr(hiaG_verify(g), "f64[?]"), "%s", hiaG_verify(g));
  });
  hiaR_comp_free(&e.comp);
}

Test(graph, gradients_are_copied_and_drawn) {
  env e;
  env_init(&e);
  NO_THROW(&e, {
    hia_graph *g = read_text(&e, graph_file("grad"));
    cr_assert_str_eq(text_of(&e, g), graph_file("grad"));
    cr_assert_str_eq(hiaG_cannot_stream(g), "it differentiates a function of the array");
    hia_fn *fn = hiaG_fn(g, 1);
    hia_value_id *map = no_map(&e, fn);
    hiaG_copy_region(g, fn, 0, fn->regions.data[0].last, fn, 0, map, HIA_NONE);
    hiaG_compact(g, fn);
    cr_assert_null(hiaG_verify(g), "%s", hiaG_verify(g));
    cr_assert_not_null(strstr(text_of(&e, g), "%7:f64 = grad loss value (param W, 0) %0, %1\n"));
    hia_text dot;
    hiaR_text_init(&dot, &e.comp.arena);
    hiaG_dot(g, &dot);
    cr_assert_not_null(strstr(dot.data, "f1n2 -> f0n0 [style=\"bold,dotted\" constraint=false"),
                       "%s", dot.data);
    hiaG_effects(g); /* the function that is differentiated comes before */
    cr_assert(hiaG_fn(g, 0)->group < fn->group);
    fn->is_root = false;
    hiaG_fn(g, 0)->is_root = true;
    hiaG_fn(g, 0)->n_sig_params = 2;
    hiaG_fn(g, 0)->sig_params = hiaG_fn(g, 0)->params;
    hiaG_fn(g, 0)->sig_result = HIA_F64;
    hiaG_sweep(g);
    cr_assert(fn->is_removed && !hiaG_fn(g, 0)->is_removed);
  });
  hiaR_comp_free(&e.comp);
}

Test(graph, copying_a_region_to_its_own_end) {
  env e;
  env_init(&e);
  NO_THROW(&e, {
    hia_graph *g = read_text(&e, graph_file("mixed"));
    hia_fn *fn = hiaG_fn(g, 1);
    uint32_t before = fn->nodes.len;
    hia_value_id *map = no_map(&e, fn);
    hiaG_copy_region(g, fn, 0, fn->regions.data[0].last, fn, 0, map, HIA_NONE);
    cr_assert_null(hiaG_verify(g), "%s", hiaG_verify(g));
    cr_assert_eq(fn->nodes.len, 2 * before - 4); /* its three args and its yield stay alone */
    cr_assert_neq(map[14], HIA_NONE);
    cr_assert_eq(hiaG_type(fn, map[14]), HIA_I64);
  });
  hiaR_comp_free(&e.comp);
}

Test(graph, what_may_fail_and_what_may_go) {
  env e;
  env_init(&e);
  NO_THROW(&e, {
    hia_graph *g = read_text(&e, graph_file("may_fail"));
    const hia_fn *fn = hiaG_fn(g, 3);
    struct {
      hia_node_id node;
      bool raises;
      bool removable;
    } rows[] = {{0, false, false}, {3, false, true},   {6, false, true},   {7, true, false},
                {8, true, false},  {9, true, false},   {10, false, true},  {11, false, true},
                {12, true, false}, {13, false, false}, {14, false, false}, {15, false, true}};
    for (size_t i = 0; i < HIA_LEN(rows); i++) {
      cr_assert_eq((hiaG_node_effects(g, fn, rows[i].node) & HIA_E_RAISES) != 0, rows[i].raises,
                   "%u", rows[i].node);
      cr_assert_eq(hiaG_node_removable(g, fn, rows[i].node), rows[i].removable, "%u", rows[i].node);
    }
    hia_node_id second = fn->nodes.data[15].next;
    cr_assert(hiaG_node_effects(g, fn, second) & HIA_E_RAISES &&
              !hiaG_node_removable(g, fn, second));
    hia_node_id fail = fn->nodes.data[second].next;
    cr_assert(hiaG_node_effects(g, fn, fail) & HIA_E_RAISES && !hiaG_node_removable(g, fn, fail));
    hia_word w = 0;
    cr_assert(hiaG_is_const(fn, 4, &w) && w == hiaR_from_i32(-1));
    cr_assert_not(hiaG_is_const(fn, 0, &w));
    cr_assert_eq(hiaG_node_dtype(g, fn, 10), HIA_F64);
    cr_assert_eq(hiaG_node_dtype(g, fn, 3), HIA_I32);
  });
  hiaR_comp_free(&e.comp);
}

/* A row whose nodes do nothing but compute scalars from scalars has no bit; all others have one. */
Test(graph, effects_of_every_op) {
  env e;
  env_init(&e);
  NO_THROW(&e, {
    hia_graph *g = hiaG_new(&e.comp, &e.types, "");
    hia_type i32 = HIA_I32;
    hiaG_extern_new(g, "host", false, false, &i32, 1, i32);
    hiaG_extern_new(g, "roll", true, true, &i32, 1, i32);
    hia_type params[3] = {i32, i32, i32};
    hia_fn_id id = hiaG_fn_new(g, "f", hiaG_name(g, "f"), HIA_NONE, params, 3, &i32, 1);
    hia_fn *fn = hiaG_fn(g, id);
    for (unsigned op = 0; op < HIA_OP_LIMIT; op++) {
      const hia_op_info *row = &hiaR_ops[op];
      if (!row->name || row->traits & (HIA_T_STATIC | HIA_T_FUNCTION)) continue;
      uint32_t n_ins = row->n_ins < 0 ? 0 : (uint32_t)row->n_ins;
      hia_node_id n =
          hiaG_add(g, fn, 0, op, (hia_value_id[]){0, 1, 2}, n_ins, &i32, 1, 0, HIA_NONE);
      uint16_t effects = hiaG_node_effects(g, fn, n);
      bool is_value = hiaG_is_constant(op);
      bool divides = op == HIA_OP_DIV || op == HIA_OP_REM;
      if (row->shape == HIA_SHAPE_ELEMENTWISE || is_value)
        cr_assert_eq(effects, divides ? HIA_E_RAISES : 0, "%s %x", row->name, effects);
      else
        cr_assert_neq(effects, 0, "%s", row->name);
      cr_assert_eq(hiaG_node_movable(g, fn, n), !effects, "%s", row->name);
    }
    for (uint64_t i = 0; i < 2; i++) {
      hia_node_id n = hiaG_add(g, fn, 0, HIA_OP_HOST, NULL, 0, &i32, 1, i, HIA_NONE);
      cr_assert_eq(hiaG_node_effects(g, fn, n),
                   i ? HIA_E_HOST | HIA_E_IMPURE | HIA_E_RAISES : HIA_E_HOST);
      cr_assert_eq(hiaG_node_removable(g, fn, n), !i);
      cr_assert_not(hiaG_node_movable(g, fn, n));
    }
  });
  hiaR_comp_free(&e.comp);
}

/* Functions have the effects that are found in either state, and which the verifier requires. */
Test(graph, effects_of_functions_in_both_states) {
  const uint16_t of_functions = HIA_E_OF_CALLS | HIA_E_RECURSIVE;
  uint32_t n_with[16] = {0};
  for (uint64_t seed = 0; seed < 300; seed++) {
    env e;
    env_init(&e);
    NO_THROW(&e, {
      hia_graph *g = random_graph(&e.comp, &e.types, seed);
      hiaG_effects(g);
      for (int state = 0; state < 2; state++) {
        const uint16_t *found = hiaG_find_effects(g, &e.comp.arena, NULL);
        for (hia_fn_id f = 0; f < g->fns.len; f++) {
          const hia_fn *fn = hiaG_fn(g, f);
          if (fn->is_removed) continue;
          cr_assert_eq(fn->effects, found[f] & of_functions,
                       "seed %u, state %d, function %u: %x %x", (unsigned)seed, state, f,
                       fn->effects, found[f]);
          for (uint32_t bit = 0; bit < HIA_LEN(n_with); bit++) n_with[bit] += found[f] >> bit & 1;
        }
        if (state == 0) hiaG_tag(g);
        cr_assert_null(hiaG_verify(g));
      }
    });
    hiaR_comp_free(&e.comp);
  }
  cr_assert(n_with[0] && n_with[1] && n_with[2], "failures, loops and recursion");
}

/* An else-if chain: every branch is in the ELSE of the one before. */
static hia_graph *deep(env *e, uint32_t depth) {
  hia_graph *g = hiaG_new(&e->comp, &e->types, "");
  hia_type i32 = HIA_I32;
  hia_fn *fn = hiaG_fn(g, hiaG_fn_new(g, "deep", hiaG_name(g, "deep"), HIA_NONE, &i32, 1, &i32, 1));
  hia_u32vec nodes = {0};
  hia_region_id r = 0;
  for (uint32_t i = 0; i < depth; i++) {
    hia_value_id c = hiaG_const(g, fn, r, HIA_I32, i, HIA_NONE);
    hia_value_id test = hiaG_op(g, fn, r, HIA_OP_EQ, (hia_value_id[]){0, c}, 2, HIA_NONE);
    hia_node_id n = hiaG_add(g, fn, r, HIA_OP_IF, &test, 1, &i32, 1, 0, HIA_NONE);
    hiaR_push(&e->comp.arena, &nodes, n);
    hiaG_yield(g, fn, fn->nodes.data[n].regions, &c, 1);
    r = fn->nodes.data[n].regions + 1;
  }
  hia_value_id last = 0;
  for (uint32_t i = depth; i-- > 0;) {
    hiaG_yield(g, fn, r, &last, 1);
    r = fn->nodes.data[nodes.data[i]].region;
    last = hiaG_out(fn, nodes.data[i], 0);
  }
  hiaG_yield(g, fn, 0, &last, 1);
  return g;
}

Test(graph, depth_is_no_problem) {
  env e;
  env_init(&e);
  NO_THROW(&e, {
    double start = test_seconds();
    hia_graph *g = deep(&e, 20000);
    hia_fn *fn = hiaG_fn(g, 0);
    cr_assert_null(hiaG_verify(g), "%s", hiaG_verify(g));
    hiaG_compact(g, fn);
    hia_value_id *map = no_map(&e, fn);
    hiaG_copy_region(g, fn, 0, fn->regions.data[0].last, fn, 0, map, HIA_NONE);
    cr_assert_null(hiaG_verify(g), "%s", hiaG_verify(g));
    const char *text = text_of(&e, g);
    hia_graph *again = read_text(&e, text);
    cr_assert_str_eq(text_of(&e, again), text);
    hia_text dot;
    hiaR_text_init(&dot, &e.comp.arena);
    hiaG_dot(g, &dot);
    hia_node_id second = fn->nodes.data[fn->regions.data[0].last].prev;
    cr_assert(hiaG_node_removable(g, fn, second));
    hia_value_id *other = no_map(&e, fn);
    other[hiaG_out(fn, second, 0)] = 0;
    hiaG_substitute(fn, other);
    hiaG_remove(fn, second);
    cr_assert_null(hiaG_verify(g), "%s", hiaG_verify(g));
    hiaG_compact(g, fn);
    hiaG_tag(g);
    cr_assert_null(hiaG_verify(g), "%s", hiaG_verify(g));
    text = text_of(&e, g);
    again = read_text(&e, text);
    cr_assert_str_eq(text_of(&e, again), text);
    hiaG_dot(g, &dot);
    cr_assert_lt(test_seconds() - start, 30, "something is not linear");
  });
  hiaR_comp_free(&e.comp);
}

Test(graph, many_functions_are_quick) {
  env e;
  env_init(&e);
  NO_THROW(&e, {
    double start = test_seconds();
    hia_graph *g = hiaG_new(&e.comp, &e.types, "");
    hia_type i32 = HIA_I32;
    for (uint32_t i = 0; i < 10000; i++) {
      const char *name = hiaR_arena_printf(&e.comp.arena, "f%u", i);
      hia_fn *fn = hiaG_fn(g, hiaG_fn_new(g, name, hiaG_name(g, name), HIA_NONE, &i32, 1, &i32, 1));
      hia_value_id in[2] = {0, 0};
      hia_value_id sum = hiaG_op(g, fn, 0, HIA_OP_ADD, in, 2, HIA_NONE);
      hia_node_id call =
          hiaG_add(g, fn, 0, HIA_OP_CALL, &sum, 1, &i32, 1, (i + 1) % 10000, HIA_NONE);
      hia_value_id out = hiaG_out(fn, call, 0);
      hiaG_yield(g, fn, 0, &out, 1);
    }
    cr_assert_null(hiaG_verify(g), "%s", hiaG_verify(g));
    const char *text = text_of(&e, g);
    cr_assert_str_eq(text_of(&e, read_text(&e, text)), text);
    cr_assert_lt(test_seconds() - start, 5, "something is not linear");
  });
  hiaR_comp_free(&e.comp);
}

Test(dot, both_states) {
  env e;
  env_init(&e);
  NO_THROW(&e, {
    const char *texts[2] = {graph_file("fib"), graph_file("mixed")};
    for (int i = 0; i < 2; i++) {
      hia_graph *g = read_text(&e, texts[i]);
      for (int state = 0; state < 2; state++) {
        hia_text dot;
        hiaR_text_init(&dot, &e.comp.arena);
        hiaG_dot(g, &dot);
        int depth = 0;
        for (const char *c = dot.data; *c; c++) {
          depth += *c == '{' ? 1 : *c == '}' ? -1 : 0;
          cr_assert_geq(depth, 0);
        }
        cr_assert_eq(depth, 0, "braces balance");
        cr_assert_not_null(strstr(dot.data, "style=dashed"));
        cr_assert_not_null(strstr(dot.data, "style=bold"));
        hiaG_effects(g);
        if (state == 0) hiaG_tag(g);
      }
    }
  });
  hiaR_comp_free(&e.comp);
}
