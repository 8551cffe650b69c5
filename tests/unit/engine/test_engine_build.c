/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Building ahead of time through the API: refused requests, the output, memory that runs out.
 * tests/cli/build.sh links the results. */
#include "tests/unit/helpers/memory.h"
#include "tests/unit/helpers/program.h"
#include "tests/unit/helpers/text.h"

#include "runtime/native/module.h"
#include "runtime/native/tables.h"
#include "runtime/param/param.h"
#include "runtime/value/value.h"
#include <criterion/criterion.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static const char text[] = "fn fib(n: i32) -> i32 = if n <= 1 then 1 else fib(n - 1) + fib(n - 2)\n"
                           "fn id(x) = x\n"
                           "fn add(a: i64, b: (f32, bool)) -> (i64, f32) = (a + 1, b.0)\n";

static hia_engine *engine_with(const hia_allocator *allocator) {
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.kind = HIA_ENGINE_JIT;
  options.allocator = allocator;
  hia_engine *engine = NULL;
  cr_assert_eq(hia_engine_new(&options, &engine, NULL), HIA_OK);
  return engine;
}

typedef hia_status (*builder)(hia_module *, hia_function *const *, size_t,
                              const hia_build_options *, hia_write, void *, hia_error **);
static const builder builders[2] = {hia_module_build_object, hia_module_build_header};

static void is_refused(builder build, hia_module *module, hia_function *const *functions, size_t n,
                       const hia_build_options *options, hia_write write, hia_status wanted) {
  hia_error *error = NULL;
  test_text out = {0};
  cr_assert_eq(build(module, functions, n, options, write, &out, &error), wanted, "%s",
               hia_error_text(error));
  cr_assert_not_null(error);
  cr_assert(*hia_error_message(error, 0));
  cr_assert_eq(hia_error_status(error), wanted);
  hia_error_free(error);
  cr_assert_eq(build(module, functions, n, options, write, &out, NULL), wanted);
  cr_assert_eq(out.len, 0);
}

Test(engine_build, bad_input_is_answered) {
  NEEDS_NATIVE;
  hia_engine *engine = engine_with(NULL);
  hia_module *module = load_module(engine, "some/t.hia", text),
             *other = load_module(engine, "some/t.hia", text);
  hia_function *id, *foreign, *fib;
  cr_assert_eq(hia_module_function(module, "id", &id, NULL), HIA_OK);
  cr_assert_eq(hia_module_function(module, "fib", &fib, NULL), HIA_OK);
  cr_assert_eq(hia_module_function(other, "fib", &foreign, NULL), HIA_OK);
  for (int k = 0; k < 2; k++) {
    hia_build_options o = HIA_BUILD_OPTIONS_INIT;
    is_refused(builders[k], NULL, NULL, 0, NULL, test_text_take, HIA_ARGUMENT);
    is_refused(builders[k], module, NULL, 0, NULL, NULL, HIA_ARGUMENT);
    is_refused(builders[k], module, NULL, 1, NULL, test_text_take, HIA_ARGUMENT);
    is_refused(builders[k], module, (hia_function *[]){NULL}, 1, NULL, test_text_take,
               HIA_ARGUMENT);
    is_refused(builders[k], module, (hia_function *[]){foreign}, 1, NULL, test_text_take,
               HIA_ARGUMENT);
    is_refused(builders[k], module, (hia_function *[]){id}, 1, NULL, test_text_take, HIA_ARGUMENT);
    is_refused(builders[k], module, NULL, 0, NULL, test_text_refuse, HIA_IO);
    for (size_t size = 0; size < sizeof(size_t); size++) {
      o.size = size;
      is_refused(builders[k], module, NULL, 0, &o, test_text_take, HIA_ARGUMENT);
    }
    char later[sizeof o + 8] = {0};
    o.size = sizeof later;
    memcpy(later, &o, sizeof o);
    later[sizeof later - 1] = 1; /* what this version does not know */
    is_refused(builders[k], module, NULL, 0, (void *)later, test_text_take, HIA_ARGUMENT);
    o.size = sizeof o;
    o.prefix = "a b";
    is_refused(builders[k], module, NULL, 0, &o, test_text_take, HIA_ARGUMENT);
    o.prefix = "hiaR";
    is_refused(builders[k], module, NULL, 0, &o, test_text_take, HIA_ARGUMENT);
  }
  hia_build_options o = HIA_BUILD_OPTIONS_INIT;
  o.cpu = "pdp11";
  is_refused(hia_module_build_object, module, NULL, 0, &o, test_text_take, HIA_ARGUMENT);
  o.cpu = "";
  is_refused(hia_module_build_object, module, NULL, 0, &o, test_text_take, HIA_ARGUMENT);
  o.cpu = NULL;
  o.program = foreign;
  is_refused(hia_module_build_object, module, NULL, 0, &o, test_text_take, HIA_ARGUMENT);
  hia_module_free(other);
  hia_module_free(module);
  hia_engine_free(engine);
}

static test_text built(hia_module *module, hia_function *const *functions, size_t n,
                       const hia_build_options *options) {
  test_text out = {0};
  hia_error *error;
  cr_assert_eq(hia_module_build_object(module, functions, n, options, test_text_take, &out, &error),
               HIA_OK, "%s", hia_error_text(error));
  return out;
}

Test(engine_build, the_same_bytes_whatever_was_done_before) {
  NEEDS_NATIVE;
  hia_engine *engine = engine_with(NULL), *second = engine_with(NULL);
  hia_module *module = load_module(engine, "some/t.hia", text),
             *fresh = load_module(second, "some/t.hia", text);
  test_text first = built(module, NULL, 0, NULL);
  hia_function *fib;
  cr_assert_eq(hia_module_function(module, "fib", &fib, NULL), HIA_OK);
  hia_value *n = hia_value_i32(engine, 10), *result;
  cr_assert_eq(hia_call(fib, &n, 1, &result, NULL), HIA_OK);
  for (int i = 0; i < 3; i++) {
    test_text again = built(i == 2 ? fresh : module, NULL, 0, NULL);
    cr_assert(again.len == first.len && memcmp(again.data, first.data, first.len) == 0);
    test_text_free(&again);
  }
  test_text_free(&first);
  hia_value_free(n);
  hia_value_free(result);
  hia_module_free(module);
  hia_module_free(fresh);
  hia_engine_free(engine);
  hia_engine_free(second);
}

static void nothing(void) {}

/* Host functions are symbols of their own names, whatever the names of hiaton's symbols. */
Test(engine_build, functions_of_the_host_keep_their_names) {
  NEEDS_NATIVE;
  hia_engine *engine = engine_with(NULL);
  hia_module *module;
  hia_host_function f = HIA_HOST_FUNCTION_INIT;
  f.function = nothing;
  f.returns_status = true;
  f.declaration = "extern fn first(x: i64) -> i64";
  cr_assert_eq(hia_engine_register(engine, &f, NULL), HIA_OK);
  f.declaration = "extern fn host_name(x: i64) -> i64";
  cr_assert_eq(hia_engine_register(engine, &f, NULL), HIA_OK);
  static const char source[] = "extern fn first(x: i64) -> i64\n"
                               "extern fn host_name(x: i64) -> i64\n"
                               "fn f(n: i64) -> i64 = host_name(first(n))\n";
  hia_error *error;
  cr_assert_eq(hia_module_load_text(engine, "t.hia", source, sizeof source - 1, &module, &error),
               HIA_OK, "%s", hia_error_text(error));
  test_text out = {0};
  cr_assert_eq(hia_module_build_object(module, NULL, 0, NULL, test_text_take, &out, &error), HIA_OK,
               "%s", hia_error_text(error));
  cr_expect_null(memmem(out.data, out.len, "host_name.", 10));
  cr_expect_not_null(memmem(out.data, out.len, "\0host_name\0", 11));
  test_text_free(&out);
  hia_module_free(module);
  hia_engine_free(engine);
}

/* Options that a later version has appended are accepted as long as they are not used. */
Test(engine_build, options_of_other_versions) {
  hia_engine *engine = engine_with(NULL);
  hia_module *module = load_module(engine, "some/t.hia", text);
  struct {
    hia_build_options o;
    char more[16];
  } later = {HIA_BUILD_OPTIONS_INIT, {0}};
  later.o.size = sizeof later;
  later.o.prefix = "p";
  test_text out = {0};
  cr_assert_eq(hia_module_build_header(module, NULL, 0, &later.o, test_text_take, &out, NULL),
               HIA_OK);
  cr_assert(
      strstr(out.data, "hia_status p_fib(hia_context *, int32_t /*n*/, int32_t * /*result*/);"));
  cr_assert(strstr(out.data,
                   "hia_status p_add(hia_context *, int64_t /*a*/, float /*b_0*/, bool /*b_1*/, "
                   "int64_t * /*result_0*/,\n                 float * /*result_1*/);"),
            "%s", out.data);
  later.o.flags = HIA_BUILD_EMBED_PARAMS << 1;
  for (int k = 0; k < 2; k++)
    is_refused(builders[k], module, NULL, 0, &later.o, test_text_take, HIA_ARGUMENT);
  test_text_free(&out);
  hia_module_free(module);
  hia_engine_free(engine);
}

/* All calls for one build; true if the last one was reached. */
static bool attempt(test_heap *heap, builder build) {
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.kind = HIA_ENGINE_JIT;
  options.allocator = &heap->allocator;
  hia_engine *engine = NULL;
  hia_module *module = NULL;
  hia_error *error = NULL;
  test_text out = {0};
  hia_status status = hia_engine_new(&options, &engine, &error);
  if (status == HIA_OK)
    status = hia_module_load_text(engine, "t.hia", text, strlen(text), &module, &error);
  if (status == HIA_OK) status = build(module, NULL, 0, NULL, test_text_take, &out, &error);
  cr_assert(status == HIA_OK || status == HIA_MEMORY, "%s: %s", hia_status_word(status),
            hia_error_text(error));
  cr_assert((status == HIA_OK) == (out.len > 0));
  test_text_free(&out);
  hia_error_free(error);
  hia_module_free(module);
  hia_engine_free(engine);
  cr_assert_eq(heap->blocks, 0, "%ld blocks left over", (long)heap->blocks);
  return status == HIA_OK;
}

Test(engine_build, every_request_for_memory_may_fail) {
  NEEDS_NATIVE;
  for (int k = 0; k < 2; k++) {
    test_heap heap;
    bool is_alive = false;
    for (long at = 0; !is_alive; at++) {
      cr_assert_lt(at, 100000);
      test_heap_init(&heap, at);
      is_alive = attempt(&heap, builders[k]);
    }
  }
}

/* ---- the runtime ABI ---- */

/* Everything that compiled objects and the runtime must agree on, as text. If it changes, so does
 * its hash. If something has changed on which existing objects rely, HIA_RT_ABI, with the name of
 * its symbol, becomes the next number. If something is only new (a row of abi.def, an op), only the
 * hash is changed. */
static void add(test_text *b, const char *fmt, ...) {
  char line[512];
  va_list args;
  va_start(args, fmt);
  int n = vsnprintf(line, sizeof line, fmt, args);
  va_end(args);
  test_text_take(b, line, (size_t)n);
}

Test(engine_build, the_runtime_abi_is_as_its_number_says) {
  test_text all = {0};
#define HIA_ABI(name, args, result, EFFECT, doc) add(&all, "%s(%s)%s\n", #name, args, result);
#include "runtime/native/abi.def"
#define I32                                "I32"
#define I64                                "I64"
#define PTR                                "PTR"
#define LOCAL                              "LOCAL"
#define HIA_FIELD(offset, TYPE, name, doc) add(&all, "%d %s %s\n", offset, TYPE, #name);
#include "runtime/native/layout.def"
#define HIA_OP(number, NAME, name, symbol, ins, outs, RULE, SHAPE, IMM, traits, cost, COST,        \
               GRADIENT, KERNEL, EMIT, doc)                                                        \
  add(&all, "%d %s\n", number, #NAME);
#include "runtime/base/ops.def"
#define HIA_STATUS(number, NAME, word, message) add(&all, "%d %s\n", number, word);
#include <hiaton/status.def>
#define FIELD(type, field)                                                                         \
  add(&all, "%s.%s %zu %zu\n", #type, #field, offsetof(type, field), sizeof(((type *)0)->field));
  FIELD(hia_local_heap, left)
  FIELD(hia_code_module, abi)
  FIELD(hia_code_module, flags)
  FIELD(hia_code_module, n_roots)
  FIELD(hia_code_module, roots)
  FIELD(hia_code_module, unwinder)
  FIELD(hia_code_module, places)
  FIELD(hia_code_module, image)
  FIELD(hia_code_module, image_size)
  FIELD(hia_code_module, kernels)
  FIELD(hia_code_module, n_kernels)
  FIELD(hia_code_module, interpret)
  FIELD(hia_code_module, hosts)
  FIELD(hia_code_module, abi_symbol)
  FIELD(hia_code_module, types)
  FIELD(hia_code_module, shapes)
  FIELD(hia_code_module, params)
  FIELD(hia_params, lock)
  FIELD(hia_params, specs)
  FIELD(hia_params, kit)
  FIELD(hia_params, allocator)
  FIELD(hia_params, embedded)
  FIELD(hia_params, seed)
  FIELD(hia_param_spec, init)
  FIELD(hia_param_spec, shape)
  FIELD(hia_image_hosts, caller)
  FIELD(hia_image_hosts, find)
  FIELD(hia_image_hosts, user)
  FIELD(hia_given_host, target)
  FIELD(hia_host_target, returns_status)
  FIELD(hia_image_extern, flags)
  FIELD(hia_segment, entry)
  FIELD(hia_segment, number)
  FIELD(hia_segment, n_ins)
  FIELD(hia_segment, n_outs)
  FIELD(hia_segment, owns)
  FIELD(hia_segment, row_bytes)
  FIELD(hia_segment, words)
  FIELD(hia_segment, known_as)
  FIELD(hia_segment, is_light)
  FIELD(hia_segment_word, dtype)
  FIELD(hia_segment_word, rank)
  FIELD(hia_segment_word, n)
  FIELD(hia_segment_word, dims)
  FIELD(hia_code_root, entry)
  FIELD(hia_code_root, export)
  FIELD(hia_code_root, n_params)
  FIELD(hia_code_root, n_results)
  FIELD(hia_code_root, loc)
  FIELD(hia_code_root, types)
  FIELD(hia_value_types, size)
  FIELD(hia_value_types, first)
  FIELD(hia_value_types, table)
  FIELD(hia_value_types, infos)
  FIELD(hia_type_info, types)
  FIELD(hia_type_info, type)
  FIELD(hia_type_info, scalars)
  FIELD(hia_type_info, has_references)
  FIELD(hia_type_table, names)
  FIELD(hia_type_table, n_types)
  FIELD(hia_type_entry, n_words)
  FIELD(hia_type_entry, layout)
  FIELD(hia_ctor, layout)
  FIELD(hia_ctor, sizes)
  FIELD(hia_layout, size)
  FIELD(hia_layout_word, at)
  FIELD(hia_shapes, bases)
  FIELD(hia_shapes, of_type)
  FIELD(hia_shapes, n)
  FIELD(hia_shape, n_refs)
  FIELD(hia_shape, ctor)
  FIELD(hia_shape, refs)
  FIELD(hia_counted, count)
  FIELD(hia_counted, ctor)
  FIELD(hia_counted, spare)
  FIELD(hia_local_heap, free)
  FIELD(hia_code_root, flags)
  FIELD(hia_code_root, types)
  FIELD(hia_unwinder, find)
  FIELD(hia_unwinder, user)
  FIELD(hia_unwinder, locs)
  FIELD(hia_unwinder, max_frame)
  FIELD(hia_places, locs)
  FIELD(hia_places, strings)
  FIELD(hia_places, file)
  FIELD(hia_places, text)
  FIELD(hia_places, n_locs)
  FIELD(hia_places, strings_size)
  FIELD(hia_places, text_size)
  FIELD(hia_given_kernel, op)
  FIELD(hia_given_kernel, by_dtype)
  FIELD(hia_given_kernel, operate)
  FIELD(hia_native_operation, operate)
  FIELD(hia_operation, n_in)
  FIELD(hia_operation, imm)
  FIELD(hia_operation, tensors)
  FIELD(hia_operation, takes)
  FIELD(hia_operation, dtype)
  FIELD(hia_operation, at)
  FIELD(hia_operation, op)
  FIELD(hia_operation, kernels)
  FIELD(hia_linked_tables, tables)
  FIELD(hia_linked_tables, anchor)
  FIELD(hia_tables, text_size)
  FIELD(hia_tables, max_frame)
  FIELD(hia_tables, anchor)
  FIELD(hia_tables, n_args)
  FIELD(hia_tables, n_lines)
  FIELD(hia_fork_arg, word)
  FIELD(hia_fork_arg, repr)
  FIELD(hia_fork_arg, handing)
  FIELD(hia_fork_arg, holding)
  FIELD(hia_fork_arg, addend)
  FIELD(hia_fork_site, around)
  FIELD(hia_fork_site, index)
  FIELD(hia_fork_site, n_params)
  FIELD(hia_fork_site, n_results)
  FIELD(hia_fork_site, first_arg)
  FIELD(hia_fork_site, gives)
  FIELD(hia_fork_site, entry)
  FIELD(hia_fork_site, pays)
  FIELD(hia_fork_frame, is_taken)
  FIELD(hia_table_map, first_site)
  FIELD(hia_table_map, below)
  FIELD(hia_table_map, keeps_number)
  FIELD(hia_table_function, end)
  FIELD(hia_table_function, map)
  FIELD(hia_table_frame, size)
  FIELD(hia_table_line, loc)
  FIELD(hia_table_line, number)
  FIELD(hia_image_header, hash)
  FIELD(hia_image_header, strings)
  FIELD(hia_image_kernel, dtype)
  FIELD(hia_image_section, weight)
  FIELD(hia_image_section, next)
  FIELD(hia_image_section, elements)
  FIELD(hia_image_region, weight)
  FIELD(hia_image_node, loc)
  FIELD(hia_image_node, imm)
  FIELD(hia_image_export, fn)
  FIELD(hia_image_loc, parent)
  add(&all, "image %u %u %u %u\n", HIA_IMAGE_VERSION, HIA_N_KINDS, HIA_MAX_TOKENS, HIA_N_DTYPES);
  add(&all, "heap %u %u %u %u\n", HIA_HEAP_EXACT, HIA_HEAP_CLASSES, HIA_STICKY, HIA_FIRST_ADDRESS);
  add(&all, "abi %u\n", HIA_RT_ABI);
  uint64_t hash = 14695981039346656037u; /* FNV-1a */
  for (size_t i = 0; i < all.len; i++) hash = (hash ^ (unsigned char)all.data[i]) * 1099511628211u;
  cr_assert_eq(hash, HIA_RT_ABI_HASH,
               "what objects and the runtime agree on has changed: see above this test.\n"
               "#define HIA_RT_ABI_HASH 0x%016llxu",
               (unsigned long long)hash);
  test_text_free(&all);
  cr_assert_eq(HIA_RT_ABI_SYMBOL, HIA_RT_ABI);
}
