/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* lower: what the code is made of, as LLVM's text and as instructions: safepoints, the order of
 * blocks, weights of branches, size classes, names. */
#include "tests/unit/helpers/world.h"
#include <llvm-c/Analysis.h>

static const char *dumped_at(world *w, int level, hia_graph *g, hia_native_dump what,
                             bool unchecked) {
  hia_text t;
  hiaR_text_init(&t, &w->e.comp.arena);
  hia_compile_options options = {.level = level, .unchecked = unchecked};
  cr_assert_eq(hiaJ_backend.dump(w->session, g, &options, what, &t, &w->error), HIA_OK, "%s",
               said(w->error));
  return t.data;
}

static const char *dumped(world *w, hia_graph *g, hia_native_dump what, bool unchecked) {
  return dumped_at(w, 2, g, what, unchecked);
}

Test(lower, checks_stand_where_they_are_needed) {
  world w;
  world_init(&w);
  NO_THROW(&w.e, {
    hia_graph *g = graph_of(&w, graph_file("fib"));
    cr_assert(strstr(dumped(&w, g, HIA_DUMP_LLVM, false), "callq hia_poll"));
    cr_assert(!strstr(dumped(&w, g, HIA_DUMP_ASM, true), "callq\thia_poll"));
    /* The base case pays nothing: the test for it comes first. */
    const char *text = dumped(&w, g, HIA_DUMP_LLVM, false);
    cr_assert_lt(strstr(text, "icmp sle"), strstr(text, "cmpq"));
    /* Neither calls nor loops: no safepoint. */
    g = graph_of(&w, graph_file("no_calls"));
    cr_assert(!strstr(dumped(&w, g, HIA_DUMP_ASM, false), "callq\thia_poll"));
    /* A loop has its safepoint, which is inserted after the passes. */
    g = graph_of(&w, graph_file("endless"));
    const char *before = dumped(&w, g, HIA_DUMP_LLVM, false);
    const char *after = dumped(&w, g, HIA_DUMP_LLVM_OPTIMIZED, false);
    const char *spin = strstr(before, "@spin"), *climb = strstr(before, "@climb");
    cr_assert(spin && climb);
    const char *first = strstr(before, "cmpq");
    cr_assert(first && first > climb, "spin has a check too early");
    cr_assert(strstr(after, "poll"));
  });
  world_free(&w);
}

Test(lower, rounds_that_call_come_without_a_jump) {
  world w;
  world_init(&w);
  NO_THROW(&w.e, {
    for (int unchecked = 0; unchecked < 2; unchecked++) {
      const char *text =
          dumped(&w, graph_of(&w, graph_file("rounds_some_call")), HIA_DUMP_ASM, unchecked);
      const char *call = strstr(text, "callq\tf_0"), *jump = strstr(text, "jmp\t.LBB0_");
      cr_assert(call && jump && call < jump, "%s", text); /* that of the rounds without one */
      /* If there is nothing to choose, loops are aligned. */
      text = dumped(&w, graph_of(&w, graph_file("rounds_all_call")), HIA_DUMP_ASM, unchecked);
      const char *loop = strstr(strstr(text, "f_0:"), ".p2align\t6");
      cr_assert(loop && loop < strstr(text, "callq\tf_0"), "%s", text);
    }
  });
  world_free(&w);
}

/* An activation that does not call returns first, without a jump; one call makes no tree. */
Test(lower, leaves_of_trees_go_straight_on) {
  world w;
  world_init(&w);
  NO_THROW(&w.e, {
    for (int unchecked = 0; unchecked < 2; unchecked++) {
      const char *text =
          dumped(&w, graph_of(&w, graph_file("calls_twice")), HIA_DUMP_ASM, unchecked);
      cr_assert_lt(strstr(text, "\tretq"), strstr(text, "callq\tf_0"), "%s", text);
      text = dumped(&w, graph_of(&w, graph_file("calls_once")), HIA_DUMP_ASM, unchecked);
      cr_assert_gt(strstr(text, "\tretq"), strstr(text, "callq\tf_0"), "%s", text);
    }
  });
  world_free(&w);
}

/* n calls, each after its own test: if there are many, most tests are false. */
static const char *guarded(world *w, int n) {
  hia_text t;
  hiaR_text_init(&t, &w->e.comp.arena);
  hiaR_text_addf(&t,
                 "graph functions \"guarded\"\nfn f (i32) -> (i32) root (i32) -> i32 recursive {\n"
                 "%%0:i32 = arg 0\n%%1:i32 = const 7\n");
  int k = 2, sum = 0;
  for (int i = 0; i < n; i++, k += 5) {
    hiaR_text_addf(&t,
                   "%%%d:i32 = const %d\n%%%d:bool = lt %%%d, %%%d\n%%%d:i32 = if %%%d {\n"
                   "%%%d:i32 = call f %%%d\nyield %%%d\n} else {\nyield %%1\n}\n"
                   "%%%d:i32 = div %%%d, %%%d\n",
                   k, 100 + i, k + 1, sum, k, k + 2, k + 1, k + 3, k, k + 3, k + 4, sum, k + 2);
    sum = k + 4;
  }
  hiaR_text_addf(&t, "yield %%%d\n}\n", sum);
  return t.data;
}

Test(lower, calls_behind_many_guards_are_rare) {
  world w;
  world_init(&w);
  NO_THROW(&w.e, {
    static const char weights[] = "\"branch_weights\", i32 1, i32 8";
    const char *text = dumped(&w, graph_of(&w, guarded(&w, 6)), HIA_DUMP_LLVM_OPTIMIZED, false);
    cr_assert(strstr(text, weights), "%s", text);
    text = dumped(&w, graph_of(&w, guarded(&w, 2)), HIA_DUMP_LLVM_OPTIMIZED, false);
    cr_assert(!strstr(text, weights), "%s", text);
  });
  world_free(&w);
}

static size_t occurrences(const char *text, const char *word) {
  size_t n = 0;
  for (; (text = strstr(text, word)); text += strlen(word)) n++;
  return n;
}

/* LLVM takes quadratic time in the size of a block. */
Test(lower, long_straight_line_runs_are_several_blocks) {
  world w;
  world_init(&w);
  NO_THROW(&w.e, {
    hia_text t;
    hiaR_text_init(&t, &w.e.comp.arena);
    hiaR_text_addf(&t, "graph functions \"long\"\n"
                       "fn f (i32) -> (i32) root (i32) -> i32 {\n%%0:i32 = arg 0\n"
                       "%%1:i32 = add %%0, %%0\n");
    for (int i = 2; i < 2000; i++)
      hiaR_text_addf(&t, "%%%d:i32 = %s %%%d, %%%d\n", i, i % 3 ? "mul" : "add", i - 1, i - 2);
    hiaR_text_addf(&t, "yield %%1999\n}\n");
    for (int unchecked = 0; unchecked < 2; unchecked++) {
      const char *text = dumped(&w, graph_of(&w, t.data), HIA_DUMP_LLVM_OPTIMIZED, unchecked);
      cr_assert_geq(occurrences(text, "br i1"), 4, "%s", text);
      cr_assert_leq(occurrences(text, "br i1"), 5, "%s", text);
      cr_assert_eq(!strstr(text, "callq hia_poll"), unchecked, "%s", text);
    }
  });
  world_free(&w);
}

/* A structure as a result is made part by part, and LLVM processes all parts for each: it took
 * minutes for nine functions of 200 results that call each other. */
Test(lower, functions_of_many_results_are_not_looked_at_together) {
  world w;
  world_init(&w);
  NO_THROW(&w.e, {
    for (int n = 32; n <= 33; n++) {
      hia_text t;
      hiaR_text_init(&t, &w.e.comp.arena);
      hiaR_text_addf(&t, "graph functions \"wide\"\nfn f (i32) -> (i32");
      for (int i = 1; i < n; i++) hiaR_text_addf(&t, ", i32");
      hiaR_text_addf(&t, ") root (i32) -> (i32");
      for (int i = 1; i < n; i++) hiaR_text_addf(&t, ", i32");
      hiaR_text_addf(&t, ") {\n%%0:i32 = arg 0\nyield %%0");
      for (int i = 1; i < n; i++) hiaR_text_addf(&t, ", %%0");
      hiaR_text_addf(&t, "\n}\n");
      cr_assert_eq(hiaG_size_class(graph_of(&w, t.data)), n > 32 ? HIA_SIZE_MANY : HIA_SIZE_USUAL);
    }
  });
  world_free(&w);
}

/* The size class follows from one function: its nodes and regions, including those of divisions. */
Test(lower, size_classes) {
  static const struct {
    const char *op;
    unsigned n;
    hia_size_class size;
  } rows[] = {
      {"add", 390, HIA_SIZE_USUAL}, {"add", 410, HIA_SIZE_LARGE}, {"add", 12100, HIA_SIZE_HUGE},
      {"div", 150, HIA_SIZE_USUAL}, {"div", 300, HIA_SIZE_MANY},  {"div", 400, HIA_SIZE_LARGE},
      {"div", 700, HIA_SIZE_HUGE},
  };
  world w;
  world_init(&w);
  NO_THROW(&w.e, {
    for (size_t k = 0; k < HIA_LEN(rows); k++) {
      hia_text t;
      hiaR_text_init(&t, &w.e.comp.arena);
      hiaR_text_addf(&t, "graph functions \"line\"\nfn f (i32, i32) -> (i32) root (i32, i32) -> "
                         "i32 {\n%%0:i32 = arg 0\n%%1:i32 = arg 1\n");
      for (unsigned i = 0; i < rows[k].n; i++)
        hiaR_text_addf(&t, "%%%u:i32 = %s %%%u, %%1\n", i + 2, rows[k].op, i ? i + 1 : 0);
      hiaR_text_addf(&t, "yield %%%u\n}\n", rows[k].n + 1);
      cr_assert_eq(hiaG_size_class(graph_of(&w, t.data)), rows[k].size, "%s %u", rows[k].op,
                   rows[k].n);
    }
  });
  world_free(&w);
}

/* Level 1 took exponential time for the loops of graphs that are unrolled twice. */
Test(lower, loops_are_closed_at_level_1) {
  world w;
  world_init(&w);
  NO_THROW(&w.e, {
    hia_graph *g = graph_of(&w, graph_file("closed_loop"));
    cr_assert(strstr(dumped_at(&w, 1, g, HIA_DUMP_LLVM_OPTIMIZED, false), ".lcssa = phi"));
  });
  world_free(&w);
}

Test(lower, symbols_have_no_dots) {
  world w;
  world_init(&w);
  NO_THROW(&w.e, {
    hia_graph *g = graph_of(&w, graph_file("fib"));
    const char *text = dumped(&w, g, HIA_DUMP_LLVM_OPTIMIZED, false);
    for (const char *at = strstr(text, "define"); at; at = strstr(at + 1, "define")) {
      const char *name = strchr(at, '@');
      cr_assert(name != NULL);
      cr_assert_null(memchr(name, '.', strcspn(name, "(")), "%.40s", name);
    }
  });
  world_free(&w);
}

Test(lower, a_broken_module_is_refused) {
  LLVMContextRef llvm = LLVMContextCreate();
  LLVMModuleRef module = LLVMModuleCreateWithNameInContext("broken", llvm);
  LLVMTypeRef type = LLVMFunctionType(LLVMInt32TypeInContext(llvm), NULL, 0, false);
  LLVMValueRef f = LLVMAddFunction(module, "f", type);
  hia_error *error = NULL;
  cr_assert_eq(hiaL_verify(module, &hiaR_malloc, &error), HIA_OK, "%s", said(error));
  LLVMAppendBasicBlockInContext(llvm, f, "entry"); /* without an end */
  cr_assert_eq(hiaL_verify(module, &hiaR_malloc, &error), HIA_INTERNAL);
  cr_assert_eq(hia_error_status(error), HIA_INTERNAL);
  cr_assert(strstr(said(error), "LLVM's verifier: "), "%s", said(error));
  hia_error_free(error);
  LLVMDisposeModule(module);
  LLVMContextDispose(llvm);
}
