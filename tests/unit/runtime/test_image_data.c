/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Data in images: both engines, with counts, limits and threads; and what the check of an image
 * says about types. */
#include "runtime/heap/tensor.h"
#include "runtime/image/loaded.h"
#include "runtime/value/value.h"
#include "tests/unit/helpers/image.h"
#include <criterion/criterion.h>
#include <stdlib.h>

/* main(n): the sum of the list of 0 .. n - 1, each element one larger. */
static const char list[] = "graph functions \"list.hia\"\n"
                           "\n"
                           "type List = Nil | Cons(head: i64, tail: List)\n"
                           "\n"
                           "fn build (i64) -> (List) {\n"
                           "  %0:i64 = arg 0\n"
                           "  %1:i64 = const 0\n"
                           "  %2:List = const Nil\n"
                           "  %3:List = loop %0, %1, %2 {\n"
                           "    %4:i64 = arg 0\n"
                           "    %5:i64 = arg 1\n"
                           "    %6:List = arg 2\n"
                           "    %7:bool = lt %5, %4\n"
                           "    yield %7, %6\n"
                           "  } round {\n"
                           "    %8:List = data Cons %5, %6\n"
                           "    %9:i64 = const 1\n"
                           "    %10:i64 = add %5, %9\n"
                           "    yield %4, %10, %8\n"
                           "  }\n"
                           "  yield %3\n"
                           "}\n"
                           "\n"
                           "fn map (List) -> (List) {\n"
                           "  %0:List = arg 0\n"
                           "  %1:i32 = ctor %0\n"
                           "  %2:i32 = const 0\n"
                           "  %3:bool = eq %1, %2\n"
                           "  %4:List = if %3 {\n"
                           "    %5:List = const Nil\n"
                           "    yield %5\n"
                           "  } else {\n"
                           "    %6:i64 = field Cons.0 %0\n"
                           "    %7:List = field Cons.1 %0\n"
                           "    %8:i64 = const 1\n"
                           "    %9:i64 = add %6, %8\n"
                           "    %10:List = call map %7\n"
                           "    %11:List = data Cons %9, %10\n"
                           "    yield %11\n"
                           "  }\n"
                           "  yield %4\n"
                           "}\n"
                           "\n"
                           "fn sum (List) -> (i64) {\n"
                           "  %0:List = arg 0\n"
                           "  %1:i32 = ctor %0\n"
                           "  %2:i32 = const 0\n"
                           "  %3:bool = eq %1, %2\n"
                           "  %4:i64 = if %3 {\n"
                           "    %5:i64 = const 0\n"
                           "    yield %5\n"
                           "  } else {\n"
                           "    %6:i64 = field Cons.0 %0\n"
                           "    %7:List = field Cons.1 %0\n"
                           "    %8:i64 = call sum %7\n"
                           "    %9:i64 = add %6, %8\n"
                           "    yield %9\n"
                           "  }\n"
                           "  yield %4\n"
                           "}\n"
                           "\n"
                           "fn main (i64) -> (i64) root (i64) -> i64 {\n"
                           "  %0:i64 = arg 0\n"
                           "  %1:List = call build %0\n"
                           "  %2:List = call map %1\n"
                           "  %3:i64 = call sum %2\n"
                           "  yield %3\n"
                           "}\n";

/* main(depth, n): n full binary trees, one after the other, and how many nodes they have. */
static const char tree[] = "graph functions \"tree.hia\"\n"
                           "\n"
                           "type Tree = Leaf | Node(left: Tree, right: Tree)\n"
                           "\n"
                           "fn make (i32) -> (Tree) {\n"
                           "  %0:i32 = arg 0\n"
                           "  %1:i32 = const 0\n"
                           "  %2:bool = eq %0, %1\n"
                           "  %3:Tree = if %2 {\n"
                           "    %4:Tree = const Leaf\n"
                           "    yield %4\n"
                           "  } else {\n"
                           "    %5:i32 = const 1\n"
                           "    %6:i32 = sub %0, %5\n"
                           "    %7:Tree = call make %6\n"
                           "    %8:Tree = call make %6\n"
                           "    %9:Tree = data Node %7, %8\n"
                           "    yield %9\n"
                           "  }\n"
                           "  yield %3\n"
                           "}\n"
                           "\n"
                           "fn check (Tree) -> (i32) {\n"
                           "  %0:Tree = arg 0\n"
                           "  %1:i32 = ctor %0\n"
                           "  %2:i32 = const 0\n"
                           "  %3:bool = eq %1, %2\n"
                           "  %4:i32 = if %3 {\n"
                           "    %5:i32 = const 1\n"
                           "    yield %5\n"
                           "  } else {\n"
                           "    %6:Tree = field Node.0 %0\n"
                           "    %7:Tree = field Node.1 %0\n"
                           "    %8:i32 = call check %6\n"
                           "    %9:i32 = call check %7\n"
                           "    %10:i32 = add %8, %9\n"
                           "    %11:i32 = const 1\n"
                           "    %12:i32 = add %10, %11\n"
                           "    yield %12\n"
                           "  }\n"
                           "  yield %4\n"
                           "}\n"
                           "\n"
                           "fn main (i32, i32) -> (i32) root (i32, i32) -> i32 {\n"
                           "  %0:i32 = arg 0\n"
                           "  %1:i32 = arg 1\n"
                           "  %2:i32 = const 0\n"
                           "  %3:i32 = const 0\n"
                           "  %4:i32 = loop %0, %1, %2, %3 {\n"
                           "    %5:i32 = arg 0\n"
                           "    %6:i32 = arg 1\n"
                           "    %7:i32 = arg 2\n"
                           "    %8:i32 = arg 3\n"
                           "    %9:bool = lt %7, %6\n"
                           "    yield %9, %8\n"
                           "  } round {\n"
                           "    %10:Tree = call make %5\n"
                           "    %11:i32 = call check %10\n"
                           "    %12:i32 = add %8, %11\n"
                           "    %13:i32 = const 1\n"
                           "    %14:i32 = add %7, %13\n"
                           "    yield %5, %6, %14, %12\n"
                           "  }\n"
                           "  yield %4\n"
                           "}\n";

/* Makes a list, and in each of n rounds the list of which it is the tail; the variables change
 * their places. */
static const char swap[] = "graph functions \"swap.hia\"\n"
                           "type List = Nil | Cons(head: i32, tail: List)\n"
                           "fn main (i32) -> (i32) root (i32) -> i32 {\n"
                           "  %0:i32 = arg 0\n"
                           "  %1:i32 = const 0\n"
                           "  %2:List = const Nil\n"
                           "  %3:i32 = const 7\n"
                           "  %4:List = data Cons %3, %2\n"
                           "  %5:List, %6:List = loop %0, %1, %2, %4 {\n"
                           "    %7:i32 = arg 0\n"
                           "    %8:i32 = arg 1\n"
                           "    %9:List = arg 2\n"
                           "    %10:List = arg 3\n"
                           "    %11:bool = lt %8, %7\n"
                           "    yield %11, %9, %10\n"
                           "  } round {\n"
                           "    %12:i32 = const 1\n"
                           "    %13:i32 = add %8, %12\n"
                           "    yield %7, %13, %10, %9\n"
                           "  }\n"
                           "  %14:i32 = ctor %5\n"
                           "  %15:i32 = ctor %6\n"
                           "  %16:i32 = const 10\n"
                           "  %17:i32 = mul %14, %16\n"
                           "  %18:i32 = add %17, %15\n"
                           "  yield %18\n"
                           "}\n";

/* Reads a field of a constructor that the value does not have. */
static const char wrong[] = "graph functions \"wrong.hia\"\n"
                            "type Shape = Dot | Disk(radius: i32) | Square(side: i32)\n"
                            "fn pick (i32) -> (Shape) {\n"
                            "  %0:i32 = arg 0\n"
                            "  %1:i32 = const 0\n"
                            "  %2:bool = eq %0, %1\n"
                            "  %3:Shape = if %2 {\n"
                            "    %4:Shape = const Dot\n"
                            "    yield %4\n"
                            "  } else {\n"
                            "    %5:i32 = const 3\n"
                            "    %6:Shape = data Square %5\n"
                            "    yield %6\n"
                            "  }\n"
                            "  yield %3\n"
                            "}\n"
                            "fn main (i32) -> (i32) root (i32) -> i32 {\n"
                            "  %0:i32 = arg 0\n"
                            "  %1:Shape = call pick %0\n"
                            "  %2:i32 = field Disk.0 %1\n"
                            "  yield %2\n"
                            "}\n";

static image_program load(const char *text) {
  image_program p;
  cr_assert(image_from_ir(&p, text), "%s", p.error);
  return p;
}

static const image_engine engines[] = {IMAGE_INTERP, IMAGE_EXPAND};

Test(image_data, a_list_is_built_mapped_and_summed) {
  image_program p = load(list);
  for (size_t e = 0; e < HIA_LEN(engines); e++)
    for (int64_t n = 0; n < 100000; n = 10 * n + 1) {
      hia_word arg = hiaR_from_i64(n);
      image_outcome o = image_run(&p, engines[e], &arg, 1, NULL, NULL);
      cr_assert_eq(o.status, HIA_OK);
      cr_assert_eq(hiaR_to_i64(o.results[0]), n * (n + 1) / 2);
      cr_assert_eq(o.live, 0, "%lld objects are left", (long long)o.live);
    }
  image_discard(&p);
}

/* Trees that are not needed any more are freed: memory does not grow with their number. */
Test(image_data, trees_are_freed) {
  image_program p = load(tree);
  for (size_t e = 0; e < HIA_LEN(engines); e++) {
    size_t peak = 0;
    for (int32_t n = 1; n <= 50; n += 49) {
      const hia_word args[2] = {hiaR_from_i32(8), hiaR_from_i32(n)};
      image_outcome o = image_run(&p, engines[e], args, 1, NULL, NULL);
      cr_assert_eq(o.status, HIA_OK);
      cr_assert_eq(hiaR_to_i32(o.results[0]), n * 511);
      cr_assert_eq(o.live, 0);
      if (n > 1) cr_assert_eq(o.heap_peak, peak);
      peak = o.heap_peak;
    }
  }
  image_discard(&p);
}

Test(image_data, variables_change_places) {
  image_program p = load(swap);
  for (size_t e = 0; e < HIA_LEN(engines); e++)
    for (int32_t n = 0; n < 5; n++) {
      hia_word arg = hiaR_from_i32(n);
      image_outcome o = image_run(&p, engines[e], &arg, 1, NULL, NULL);
      cr_assert_eq(o.status, HIA_OK);
      cr_assert_eq(hiaR_to_i32(o.results[0]), n % 2 ? 10 : 1);
      cr_assert_eq(o.live, 0);
    }
  image_discard(&p);
}

/* A text may have one; the frontend makes a constant. */
Test(image_data, an_array_of_no_elements) {
  image_program p;
  cr_assert(image_from_ir(&p, "graph functions \"array.hia\"\n"
                              "type L = N | C(l: L)\n"
                              "fn main ([L]) -> (i64) root ([L]) -> i64 {\n"
                              "  %0:[L] = arg 0\n"
                              "  %1:[L] = array\n"
                              "  %2:[L] = concat %0, %1, %0\n"
                              "  %3:i64 = len %2\n"
                              "  yield %3\n"
                              "}\n"),
            "%s", p.error);
  for (size_t e = 0; e < HIA_LEN(engines); e++) {
    hia_word none = 0;
    image_outcome o = image_run(&p, engines[e], &none, 1, NULL, NULL);
    cr_assert_eq(o.status, HIA_OK);
    cr_assert_eq(o.results[0], 0);
    cr_assert_eq(o.live, 0);
  }
  image_discard(&p);
}

Test(image_data, several_workers) {
  image_program p = load(tree);
  for (unsigned threads = 2; threads <= 4; threads++) {
    const hia_word args[2] = {hiaR_from_i32(10), hiaR_from_i32(20)};
    image_outcome o = image_run(&p, IMAGE_INTERP, args, threads, NULL, NULL);
    cr_assert_eq(o.status, HIA_OK);
    cr_assert_eq(hiaR_to_i32(o.results[0]), 20 * 2047);
    cr_assert_eq(o.live, 0);
  }
  image_discard(&p);
}

Test(image_data, a_field_of_another_constructor) {
  image_program p = load(wrong);
  for (size_t e = 0; e < HIA_LEN(engines); e++)
    for (int32_t n = 0; n < 2; n++) {
      hia_word arg = hiaR_from_i32(n);
      image_outcome o = image_run(&p, engines[e], &arg, 1, NULL, NULL);
      cr_assert_eq(o.status, HIA_INTERNAL);
    }
  image_discard(&p);
}

Test(image_data, memory_limits) {
  image_program p = load(list);
  hia_word arg = hiaR_from_i64(1000000);
  for (size_t e = 0; e < HIA_LEN(engines); e++)
    for (size_t limit = 1; limit < (size_t)8 << 20; limit = 3 * limit + 1000) {
      const hia_limits limits = {.memory = limit};
      image_outcome o = image_run(&p, engines[e], &arg, 1, &limits, NULL);
      cr_assert_eq(o.status, HIA_MEMORY);
      cr_assert_leq(o.heap_peak, limit);
    }
  image_discard(&p);
}

static image_program tested;

static hia_status attempt(const hia_allocator *allocator) {
  const hia_word args[2] = {hiaR_from_i32(7), hiaR_from_i32(3)};
  for (size_t e = 0; e < HIA_LEN(engines); e++) {
    image_outcome o = image_run(&tested, engines[e], args, 1, NULL, allocator);
    if (o.status) return o.status;
  }
  return HIA_OK;
}

Test(image_data, lack_of_memory_at_each_request) {
  tested = load(tree);
  cr_assert_gt(fail_each_allocation(attempt), 3);
  image_discard(&tested);
}

/* ---- the check: any change of types or slots is refused, or does no harm ---- */

static void set_hash(hia_image_header *h) {
  size_t from = offsetof(hia_image_header, file);
  h->hash = hiaR_image_hash((const char *)h + from, (size_t)h->size - from);
}

static bool loads(hia_image_header *h, hia_loaded **image) {
  set_hash(h);
  char error[256];
  return hiaR_image_load(h, (size_t)h->size, hiaR_any_kernel, &hiaR_malloc, image, error,
                         sizeof error) == HIA_OK;
}

/* Every word of the tables of types and of lists, changed in several ways. Images with other lists
 * are not run: they may run forever. */
Test(image_data, damage_is_refused_or_harmless) {
  image_program p = load(tree);
  hia_image_header *h = malloc(p.size);
  memcpy(h, p.bytes, p.size);
  static const uint32_t changes[] = {0, 1, 2, 5, 16, 17, 255, 65536, 0x7fffffff, 0xffffffff};
  const hia_image_table *tables[] = {&h->types, &h->ctors, &h->fields, &h->layout_words, &h->words};
  const size_t record[] = {sizeof(hia_type_entry), sizeof(hia_ctor), sizeof(hia_ctor_field),
                           sizeof(hia_layout_word), sizeof(uint32_t)};
  unsigned n_refused = 0, n_loaded = 0;
  for (size_t t = 0; t < HIA_LEN(tables); t++) {
    uint32_t *words = (uint32_t *)(void *)((char *)h + tables[t]->at);
    for (size_t i = 0; i < tables[t]->n * record[t] / sizeof(uint32_t); i++) {
      uint32_t saved = words[i];
      for (size_t k = 0; k < HIA_LEN(changes); k++) {
        hia_loaded *image = NULL;
        words[i] = changes[k];
        if (saved == changes[k] || !loads(h, &image)) {
          n_refused++;
          continue;
        }
        n_loaded++;
        image_program changed = p;
        changed.image = image;
        const hia_word args[2] = {hiaR_from_i32(3), hiaR_from_i32(2)};
        const hia_limits limits = {.memory = 1 << 20};
        for (size_t e = 0; tables[t] != &h->words && e < HIA_LEN(engines); e++)
          image_run(&changed, engines[e], args, 1, &limits, NULL);
        hiaR_image_free(image);
      }
      words[i] = saved;
    }
  }
  cr_assert_gt(n_refused, 100);
  cr_assert_gt(n_loaded, 0);
  free(h);
  image_discard(&p);
}

/* The sizes that a constructor declares: a place beyond the table of them is refused, since whoever
 * checks an object against them reads what stands there. */
Test(image_data, declared_sizes_lie_in_their_table) {
  image_program p =
      image_of("type Leaf = Leaf(x: f32[3])\n"
               "fn main(n: i64) -> f32[3] = match Leaf([1.0, 2.0, 3.0]) { Leaf(x) => x "
               "}\n",
               false, NULL);
  cr_assert(p.image, "%s", p.error);
  hia_image_header *h = malloc(p.size);
  memcpy(h, p.bytes, p.size);
  hia_ctor *ctors = (void *)((char *)h + h->ctors.at);
  uint32_t i = 0;
  while (i < h->ctors.n && !ctors[i].n_sizes) i++;
  cr_assert_lt(i, h->ctors.n);
  const hia_ctor saved = ctors[i];
  static _Alignas(hia_tensor) char memory[sizeof(hia_tensor) + HIA_MAX_RANK * sizeof(int64_t)];
  hia_tensor *three = (void *)memory;
  three->dims[0] = 3;
  hia_word object[3];
  for (uint32_t k = 0; k < HIA_LEN(object); k++) object[k] = (hia_word)(uintptr_t)three;
  unsigned n_loaded = 0;
  for (uint64_t place = 0; place < UINT32_MAX; place = place < 200 ? place + 1 : place * 2 + 1) {
    ctors[i].sizes = (uint32_t)place;
    hia_loaded *image = NULL;
    if (!loads(h, &image)) continue;
    cr_assert_leq(place + saved.n_sizes, image->types.n_parts);
    hia_size_misfit misfit;
    hiaR_sizes_fit(&image->types, &image->types.ctors[i], object, &misfit);
    n_loaded++;
    hiaR_image_free(image);
  }
  ctors[i] = saved;
  cr_assert_gt(n_loaded, 0);
  free(h);
  image_discard(&p);
}
