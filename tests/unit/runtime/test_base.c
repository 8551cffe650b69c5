/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* runtime/base: memory, vectors, text, indices, throwing, the op table. */
#include "runtime/base/base.h"
#include "tests/unit/helpers/memory.h"
#include <criterion/criterion.h>
#include <stdlib.h>

Test(alloc, sizes_do_not_overflow) {
  size_t n = 7;
  cr_assert(hiaR_mul(SIZE_MAX, 1, &n) && n == SIZE_MAX);
  cr_assert(hiaR_mul(SIZE_MAX, 0, &n) && n == 0);
  cr_assert_not(hiaR_mul(SIZE_MAX / 2 + 1, 2, &n));
  cr_assert(hiaR_add(SIZE_MAX - 1, 1, &n) && n == SIZE_MAX);
  cr_assert_not(hiaR_add(SIZE_MAX, 1, &n));
}

Test(alloc, zeroed) {
  test_heap heap;
  test_heap_init(&heap, -1);
  const hia_allocator *a = &heap.allocator;
  unsigned char *block = hiaR_alloc(a, 100);
  for (int i = 0; i < 100; i++) cr_assert_eq(block[i], 0);
  hiaR_free(a, block, 100);
  hiaR_free(a, NULL, 0);
  cr_assert_eq(heap.bytes, 0);
  void *b = hiaR_malloc.alloc(NULL, 0);
  cr_assert_not_null(b);
  b = hiaR_malloc.resize(NULL, b, 0, 1000);
  hiaR_malloc.free(NULL, b, 1000);
}

Test(arena, blocks_are_aligned_zeroed_and_apart) {
  test_heap heap;
  test_heap_init(&heap, -1);
  const hia_allocator *a = &heap.allocator;
  hia_comp comp;
  hiaR_comp_init(&comp, a);
  if (HIA_TRY(&comp)) {
    enum { N = 2000 };
    unsigned char *blocks[N];
    for (size_t i = 0; i < N; i++) {
      size_t size = i * 37 % 5000;
      blocks[i] = hiaR_arena_alloc(&comp.arena, size);
      cr_assert_eq((uintptr_t)blocks[i] % 16, 0);
      for (size_t k = 0; k < size; k++) cr_assert_eq(blocks[i][k], 0);
      memset(blocks[i], (int)(i % 255 + 1), size);
    }
    for (size_t i = 0; i < N; i++)
      for (size_t k = 0; k < i * 37 % 5000; k++) cr_assert_eq(blocks[i][k], i % 255 + 1);
  }
  cr_assert_eq(comp.status, HIA_OK);
  cr_assert_eq(heap.bytes, comp.arena.bytes);
  hiaR_comp_free(&comp);
  cr_assert_eq(heap.bytes, 0);
}

Test(arena, marks_give_back_what_came_after) {
  test_heap heap;
  test_heap_init(&heap, -1);
  const hia_allocator *a = &heap.allocator;
  hia_comp comp;
  hiaR_comp_init(&comp, a);
  if (HIA_TRY(&comp)) {
    char *kept = hiaR_arena_strndup(&comp.scratch, "kept", 4);
    size_t before = comp.scratch.bytes;
    for (int round = 0; round < 10; round++) {
      hia_mark mark = hiaR_arena_mark(&comp.scratch);
      for (int i = 0; i < 100; i++) hiaR_arena_alloc(&comp.scratch, (size_t)i * 1000);
      hiaR_arena_release(&comp.scratch, mark);
      cr_assert_eq(comp.scratch.bytes, before);
      cr_assert_str_eq(kept, "kept");
    }
  }
  hiaR_comp_free(&comp);
  cr_assert_eq(heap.bytes, 0);
}

Test(arena, vectors_keep_their_elements) {
  hia_comp comp;
  hiaR_comp_init(&comp, &hiaR_malloc);
  if (HIA_TRY(&comp)) {
    hia_u32vec a = {0}, b = {0};
    HIA_VEC(char) c = {0};
    for (uint32_t i = 0; i < 100000; i++) {
      hiaR_push(&comp.arena, &a, i);
      if (i % 3 == 0) hiaR_push(&comp.arena, &b, i * 2);
      if (i % 7 == 0) hiaR_push(&comp.arena, &c, (char)i);
    }
    for (uint32_t i = 0; i < 100000; i++) {
      cr_assert_eq(a.data[i], i);
      if (i % 3 == 0) cr_assert_eq(b.data[i / 3], i * 2);
      if (i % 7 == 0) cr_assert_eq(c.data[i / 7], (char)i);
    }
    hiaR_reserve(&comp.arena, &b, 1000000);
    cr_assert_geq(b.cap, 1000000);
    cr_assert_eq(b.data[1], 6);
  }
  cr_assert_eq(comp.status, HIA_OK);
  hiaR_comp_free(&comp);
}

Test(arena, impossible_sizes_throw) {
  hia_comp comp;
  hiaR_comp_init(&comp, &hiaR_malloc);
  if (HIA_TRY(&comp)) {
    HIA_NEW_ARRAY(&comp.arena, uint64_t, SIZE_MAX / 4);
    cr_assert_fail("did not throw");
  }
  cr_assert_eq(comp.status, HIA_MEMORY);
  if (HIA_TRY(&comp)) {
    hiaR_arena_alloc(&comp.arena, SIZE_MAX - 3);
    cr_assert_fail("did not throw");
  }
  cr_assert_eq(comp.status, HIA_MEMORY);
  hiaR_comp_free(&comp);
}

static hia_status attempt(const hia_allocator *allocator) {
  hia_comp comp;
  hiaR_comp_init(&comp, allocator);
  if (HIA_TRY(&comp)) {
    hia_text text;
    hia_u32vec vec = {0};
    hia_index index = {0};
    hiaR_text_init(&text, &comp.arena);
    for (uint32_t i = 0; i < 30000; i++) {
      hiaR_push(&comp.arena, &vec, i);
      hiaR_index_add(&comp.scratch, &index, i, i);
      hiaR_text_addf(&text, "%u ", i);
    }
  }
  hia_status status = comp.status;
  hiaR_comp_free(&comp);
  return status;
}

Test(arena, running_out_of_memory_throws_and_leaks_nothing) {
  cr_assert_gt(fail_each_allocation(attempt), 5);
}

Test(text, grows) {
  hia_comp comp;
  hiaR_comp_init(&comp, &hiaR_malloc);
  if (HIA_TRY(&comp)) {
    hia_text text;
    hiaR_text_init(&text, &comp.arena);
    hiaR_text_add(&text, "", 0);
    cr_assert_str_eq(text.data, "");
    for (int i = 0; i < 1000; i++) hiaR_text_addf(&text, "%d,%s;", i, "abc");
    cr_assert_eq(strlen(text.data), text.len);
    cr_assert_eq(strncmp(text.data, "0,abc;1,abc;2,abc;", 18), 0);
    cr_assert_str_eq(text.data + text.len - 8, "999,abc;");
    char *long_text = hiaR_arena_printf(&comp.arena, "%0500d|", 7);
    cr_assert_eq(strlen(long_text), 501);
    cr_assert_str_eq(long_text + 498, "07|");
  }
  cr_assert_eq(comp.status, HIA_OK);
  hiaR_comp_free(&comp);
}

Test(index, finds_by_content) {
  hia_comp comp;
  hiaR_comp_init(&comp, &hiaR_malloc);
  if (HIA_TRY(&comp)) {
    hia_index index = {0};
    hia_u32vec keys = {0};
    uint32_t at = 5;
    cr_assert_eq(hiaR_index_next(&index, 5, &at), HIA_NONE);
    for (uint32_t i = 0; i < 5000; i++) { /* many equal hashes */
      hiaR_index_add(&comp.arena, &index, i % 100, i);
      hiaR_push(&comp.arena, &keys, i * 3);
    }
    for (uint32_t i = 0; i < 5000; i++) {
      uint32_t found = HIA_NONE, k;
      at = i % 100;
      while ((k = hiaR_index_next(&index, i % 100, &at)) != HIA_NONE)
        if (keys.data[k] == i * 3) found = k;
      cr_assert_eq(found, i);
    }
  }
  cr_assert_eq(comp.status, HIA_OK);
  hiaR_comp_free(&comp);
}

Test(comp, a_throw_carries_status_and_message) {
  hia_comp comp;
  hiaR_comp_init(&comp, &hiaR_malloc);
  if (HIA_TRY(&comp)) HIA_BUG(&comp, "node %d", 12);
  cr_assert_eq(comp.status, HIA_INTERNAL);
  cr_assert_str_eq(comp.message, "node 12");
  if (HIA_TRY(&comp)) hiaR_throw(&comp, HIA_MEMORY, "%01000d", 1); /* longer than the buffer */
  cr_assert_eq(comp.status, HIA_MEMORY);
  cr_assert_eq(strlen(comp.message), sizeof comp.message - 1);
  if (HIA_TRY(&comp)) { /* nothing */
  }
  cr_assert_eq(comp.status, HIA_OK);
  hiaR_comp_free(&comp);
}

Test(status, words_and_messages) {
  cr_assert_str_eq(hiaR_status_word(HIA_OK), "ok");
  cr_assert_str_eq(hiaR_status_word(HIA_DIV_ZERO), "div-zero");
  cr_assert_str_eq(hiaR_status_message(HIA_DIV_ZERO), "division by zero");
  cr_assert_str_eq(hiaR_status_word((hia_status)9999), "unknown");
  cr_assert_not_null(hiaR_status_message((hia_status)9999));
}

Test(ops, names_lead_to_rows) {
  unsigned n = 0;
  for (unsigned op = 0; op < HIA_OP_LIMIT; op++) {
    const char *name = hiaR_ops[op].name;
    if (!name) continue;
    n++;
    cr_assert_eq(hiaR_op_by_name(name, strlen(name)), op, "%s", name);
    cr_assert_leq(hiaR_ops[op].n_ins, 3);
  }
  cr_assert_gt(n, 50);
  cr_assert_eq(hiaR_op_by_name("add", 2), HIA_OP_LIMIT);
  cr_assert_eq(hiaR_op_by_name("addx", 4), HIA_OP_LIMIT);
  cr_assert_eq(hiaR_op_by_name("addx", 3), HIA_OP_ADD);
  cr_assert_eq(hiaR_op_by_name("", 0), HIA_OP_LIMIT);
}

/* Every row that computes has kernels at exactly the dtypes that its rule allows; of the structure
 * of the graph, a charge has one. */
Test(ops, kernels_match_rules) {
  for (unsigned op = 0; op < HIA_OP_LIMIT; op++) {
    const hia_op_info *info = &hiaR_ops[op];
    for (int t = 0; t < HIA_N_DTYPES; t++) {
      bool is_int = t == HIA_I32 || t == HIA_I64, is_float = t == HIA_F32 || t == HIA_F64;
      bool wanted = false;
      bool is_scalar = info->shape == HIA_SHAPE_ELEMENTWISE || op == HIA_OP_CHARGE;
      if (info->name && is_scalar) {
        switch (info->rule) {
        case HIA_RULE_NUM: wanted = t != HIA_BOOL; break;
        case HIA_RULE_INT:
        case HIA_RULE_SHIFT: wanted = is_int; break;
        case HIA_RULE_BITS: wanted = !is_float; break;
        case HIA_RULE_FLOAT:
        case HIA_RULE_CLASSIFY: wanted = is_float; break;
        case HIA_RULE_CONTROL: wanted = op == HIA_OP_CHARGE && t == HIA_I64; break;
        default: wanted = true; break;
        }
      }
      cr_assert_eq(hiaR_kernel(op, (hia_dtype)t) != NULL, wanted, "op %u dtype %d", op, t);
      if (info->name && info->shape == HIA_SHAPE_ELEMENTWISE)
        cr_assert_eq(hiaR_rule_takes((hia_rule)info->rule, (hia_dtype)t), wanted);
    }
  }
  cr_assert_null(hiaR_kernel(HIA_OP_LIMIT, HIA_I32));
  cr_assert_null(hiaR_kernel(UINT32_MAX, HIA_I32));
  cr_assert_null(hiaR_kernel(HIA_OP_ADD, (hia_dtype)17));
}
