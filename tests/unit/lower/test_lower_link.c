/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* jit/llvm/link.c: modules made by hand with what objects may have, laid out and loaded; what is
 * refused. */
#include "tests/unit/helpers/linked.h"
#include "tests/unit/helpers/memory.h"
#include <criterion/criterion.h>
#include <elf.h>
#include <llvm-c/IRReader.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct bytes {
  LLVMMemoryBufferRef buffer;
  hia_object object;
} bytes;

/* The object of a module in text form. */
static bytes object_of(world *w, const char *text, int level) {
  hia_compiler *compiler = hiaJ_compiler_take(w->session);
  LLVMMemoryBufferRef copy = LLVMCreateMemoryBufferWithMemoryRangeCopy(text, strlen(text), "link");
  LLVMModuleRef module;
  char *message = NULL;
  cr_assert(!LLVMParseIRInContext(compiler->llvm, copy, &module, &message), "%s", message);
  bytes b = {.buffer = emit_module(w, compiler, module, level)};
  hiaJ_compiler_put(w->session, compiler);
  cr_assert(hiaJ_object_open(&b.object, LLVMGetBufferStart(b.buffer), LLVMGetBufferSize(b.buffer)));
  return b;
}

static hia_status load_text(world *w, const char *text, int level, hia_loaded_code **out) {
  bytes b = object_of(w, text, level);
  hia_error_free(w->error);
  w->error = NULL;
  *out = NULL;
  hia_status status = load_object_file(&hiaR_malloc, b.object.bytes, b.object.size, out, &w->error);
  LLVMDisposeMemoryBuffer(b.buffer);
  return status;
}

static uintptr_t symbol(const hia_loaded_code *code, const char *name) {
  uintptr_t address;
  cr_assert(hiaR_code_symbol(code, name, &address), "%s", name);
  return address;
}

/* ---- what objects may have ---- */

static const char many_kinds[] =
    "@numbers = internal constant [4 x i64] [i64 3, i64 5, i64 7, i64 11]\n"
    "@pointers = constant [3 x ptr] [ptr getelementptr (i8, ptr @numbers, i64 16), ptr @one,\n"
    "  ptr @hiaR_exp_f64]\n"
    "@variable = global i32 40\n"
    "@zeros = global [5000 x i64] zeroinitializer, align 64\n"
    "@shared = common global i64 0, align 32\n"
    "@near = internal global ptr @zeros\n"
    "@missing = extern_weak global i32\n"
    "declare double @hiaR_exp_f64(double) nonlazybind\n"
    "declare double @hiaR_log_f64(double)\n"
    "declare ptr @memcpy(ptr, ptr, i64)\n"
    "define i32 @one() { ret i32 1 }\n"
    "define i64 @third() {\n"
    "  %p = load ptr, ptr @pointers\n  %x = load i64, ptr %p\n  ret i64 %x\n}\n"
    "define i32 @next() {\n"
    "  %x = load i32, ptr @variable\n  %y = add i32 %x, 1\n  store i32 %y, ptr @variable\n"
    "  ret i32 %y\n}\n"
    "define double @exp(double %x) {\n"
    "  %y = tail call double @hiaR_exp_f64(double %x)\n  ret double %y\n}\n"
    "define double @log(double %x) {\n"
    "  %y = tail call double @hiaR_log_f64(double %x)\n  ret double %y\n}\n"
    "define ptr @function() { ret ptr @hiaR_exp_f64 }\n"
    "define ptr @weak() { ret ptr @missing }\n"
    "define ptr @common() { ret ptr @shared }\n"
    "define ptr @far() {\n  %p = load ptr, ptr @near\n"
    "  %q = getelementptr i64, ptr %p, i64 4999\n  ret ptr %q\n}\n"
    "define void @copy(ptr %to, ptr %from, i64 %n) {\n"
    "  %p = call ptr @memcpy(ptr %to, ptr %from, i64 %n)\n  ret void\n}\n"
    "define i32 @elsewhere() section \".text.elsewhere\" {\n  %x = call i32 @one()\n"
    "  ret i32 %x\n}\n"
    "define float @constant(float %x) {\n  %y = fadd float %x, 0.375\n  ret float %y\n}\n"
    "define i32 @cases(i32 %n) {\n"
    "  switch i32 %n, label %z [i32 0, label %a\n    i32 1, label %b\n    i32 2, label %c\n"
    "    i32 3, label %d\n    i32 4, label %e]\n"
    "a:\n  call i32 @next()\n  ret i32 17\n"
    "b:\n  %p = call i32 @next()\n  ret i32 %p\n"
    "c:\n  ret i32 -5\n"
    "d:\n  %q = call i32 @one()\n  ret i32 %q\n"
    "e:\n  ret i32 9\n"
    "z:\n  ret i32 1000\n}\n";

static void use_many_kinds(const hia_loaded_code *code) {
  cr_assert_eq(((int64_t (*)(void))symbol(code, "third"))(), 7);
  int (*next)(void) = (int (*)(void))symbol(code, "next");
  cr_assert_eq(next(), 41);
  cr_assert_eq(next(), 42);
  cr_assert_eq(*(int *)symbol(code, "variable"), 42);
  cr_assert_eq(((double (*)(double))symbol(code, "exp"))(1.5), hiaR_exp_f64(1.5));
  cr_assert_eq(((double (*)(double))symbol(code, "log"))(1.5), hiaR_log_f64(1.5));
  cr_assert_eq(((uintptr_t (*)(void))symbol(code, "function"))(), (uintptr_t)hiaR_exp_f64);
  cr_assert_null(((void *(*)(void))symbol(code, "weak"))());
  int64_t *shared = ((int64_t *(*)(void))symbol(code, "common"))();
  cr_assert_eq((uintptr_t)shared, symbol(code, "shared"));
  cr_assert_eq((uintptr_t)shared % 32, 0);
  cr_assert_eq(*shared, 0);
  *shared = 5;
  int64_t *far = ((int64_t *(*)(void))symbol(code, "far"))();
  cr_assert_eq((uintptr_t)far, symbol(code, "zeros") + 4999 * sizeof *far);
  cr_assert_eq(symbol(code, "zeros") % 64, 0);
  for (int i = 0; i < 5000; i++) cr_assert_eq(far[-i], 0);
  *far = 6;
  char from[] = "copied", to[sizeof from] = "";
  ((void (*)(void *, const void *, int64_t))symbol(code, "copy"))(to, from, sizeof from);
  cr_assert_str_eq(to, from);
  cr_assert_eq(((int (*)(void))symbol(code, "elsewhere"))(), 1);
  cr_assert_eq(((float (*)(float))symbol(code, "constant"))(1), 1.375f);
  int (*cases)(int) = (int (*)(int))symbol(code, "cases");
  cr_assert_eq(cases(0), 17);
  cr_assert_eq(cases(1), 44);
  cr_assert_eq(cases(2), -5);
  cr_assert_eq(cases(3), 1);
  cr_assert_eq(cases(4), 9);
  cr_assert_eq(cases(5), 1000);
  uintptr_t *pointers = (uintptr_t *)symbol(code, "pointers");
  cr_assert_eq(pointers[1], symbol(code, "one"));
  cr_assert_eq(pointers[2], (uintptr_t)hiaR_exp_f64);
  uintptr_t unused;
  cr_assert(!hiaR_code_symbol(code, "numbers", &unused), "it is internal");
}

Test(link, what_objects_may_have) {
  for (int level = 0; level <= 3; level++) {
    world w;
    world_init(&w);
    hia_loaded_code *code, *other;
    cr_assert_eq(load_text(&w, many_kinds, level, &code), HIA_OK, "%s", said(w.error));
    cr_assert_eq(load_text(&w, many_kinds, level, &other), HIA_OK, "%s", said(w.error));
    use_many_kinds(code);
    use_many_kinds(other); /* it has its own data */
    hiaR_code_release(code);
    hiaR_code_release(other);
    world_free(&w);
  }
}

/* True if a relocation of the object changes the byte. */
static bool is_relocated(const hia_object *o, uint64_t at) {
  for (uint64_t i = 0; i < o->text.n_relocations; i++) {
    Elf64_Rela r;
    memcpy(&r, o->text.relocations + i * sizeof r, sizeof r);
    if (at >= r.r_offset && at < r.r_offset + 4) return true;
  }
  return false;
}

Test(link, only_relocated_fields_of_the_code_change) {
  world w;
  world_init(&w);
  bytes b = object_of(&w, many_kinds, 2);
  hia_loaded_code *code;
  cr_assert_eq(load_object_file(&hiaR_malloc, b.object.bytes, b.object.size, &code, &w.error),
               HIA_OK);
  const unsigned char *text = (const unsigned char *)hiaR_code_text(code);
  uint64_t n = 0;
  for (uint64_t i = 0; i < b.object.text.size; i++) {
    bool is_other = is_relocated(&b.object, i);
    n += is_other;
    if (!is_other) cr_assert_eq(text[i], b.object.text.data[i], "byte %d", (int)i);
  }
  cr_assert_gt(n, 20);
  hiaR_code_release(code);
  LLVMDisposeMemoryBuffer(b.buffer);
  world_free(&w);
}

/* The block holds nothing of the process, so it is the same each time. */
Test(link, the_same_block_each_time) {
  world w;
  world_init(&w);
  NO_THROW(&w.e, {
    bytes b = object_of(&w, many_kinds, 2);
    hia_laid_code *first = hiaJ_link(&w.e.comp, &b.object, NULL),
                  *second = hiaJ_link(&w.e.comp, &b.object, NULL);
    size_t size = hiaR_laid_size(first);
    cr_assert_eq(size, hiaR_laid_size(second));
    cr_assert_eq(memcmp(first, second, size), 0);
    cr_assert_eq(hiaR_code_check(first, size), HIA_OK);
    cr_assert_eq(first->text_size, b.object.text.size);
    cr_assert_gt(first->data_size, first->data_given + 40000, "zeros are not in the block");
    LLVMDisposeMemoryBuffer(b.buffer);
  });
  world_free(&w);
}

/* ---- what is refused ---- */

static void refused(world *w, const char *text, const char *why) {
  hia_loaded_code *code;
  cr_assert_eq(load_text(w, text, 1, &code), HIA_INTERNAL, "%s", why);
  cr_assert_null(code);
  cr_assert(strstr(said(w->error), why), "%s: %s", why, said(w->error));
}

Test(link, what_is_not_understood) {
  world w;
  world_init(&w);
#define F "define void @f() { ret void }\n"
  refused(&w, F "module asm \".text\\0A.quad f\"\n", "an address in code or constants");
  refused(&w, F "module asm \".section .rodata\\0A.quad f\"\n", "an address in code or constants");
  refused(&w, F "module asm \".data\\0A.long f\"\n", "a relocation of type 10");
  refused(&w, F "module asm \".data\\0A.long nowhere - .\"\n", "a distance to nothing");
  refused(&w, F "module asm \".section .unloaded,\\22\\22\\0Ax: .long 1\\0A.data\\0A.quad x\"\n",
          "an address of nothing");
  refused(&w, F "module asm \".data\\0A.quad f + 0x10000000\"\n", "an address of nothing");
  refused(&w, F "module asm \".data\\0A.quad f - 0x10000000\"\n", "an address of nothing");
  refused(&w, F "module asm \".data\\0A.long f - 0x7fffffff - .\"\n", "a distance");
  refused(&w, "@t = thread_local global i32 1\ndefine ptr @f() { ret ptr @t }\n",
          "thread-local storage");
  refused(&w, F "@a = global i32 1, align 8192\n", "an alignment");
  refused(&w, F "@a = common global i32 0, align 8192\n", "an alignment");
  refused(&w, F "@a = global [2147483640 x i8] zeroinitializer\n", "too large");
  refused(&w, F "@a = global [2147483648 x i8] zeroinitializer\n", "a large section");
  refused(&w, F "module asm \".section .mixed,\\22awx\\22\\0A.long 1\"\n", "code that is written");
  refused(&w, F "module asm \".section .empty,\\22a\\22,@nobits\\0A.zero 8\"\n",
          "constants without bytes");
  refused(&w, "@a = global i32 1\n", "no code");
#undef F
  world_free(&w);
}

Test(link, an_unknown_symbol_is_named) {
  world w;
  world_init(&w);
  refused(&w,
          "declare void @no_such_symbol_anywhere()\n"
          "define void @f() {\n  call void @no_such_symbol_anywhere()\n  ret void\n}\n",
          "`no_such_symbol_anywhere`");
  /* It is there, but no row of abi.def. */
  refused(&w,
          "@hiaR_malloc = external global ptr\n@p = global ptr @hiaR_malloc\n"
          "define void @f() { ret void }\n",
          "`hiaR_malloc`");
  world_free(&w);
}

/* ---- memory ---- */

static const void *failing_bytes;
static size_t failing_size;

static hia_status load_once(const hia_allocator *allocator) {
  hia_loaded_code *code = NULL;
  hia_error *error = NULL;
  hia_status status = load_object_file(allocator, failing_bytes, failing_size, &code, &error);
  hia_error_free(error);
  hiaR_code_release(code);
  return status;
}

Test(link, memory_may_run_out) {
  world w;
  world_init(&w);
  bytes b = object_of(&w, many_kinds, 2);
  failing_bytes = b.object.bytes;
  failing_size = b.object.size;
  cr_assert_gt(fail_each_allocation(load_once), 1);
  LLVMDisposeMemoryBuffer(b.buffer);
  world_free(&w);
}

/* ---- the block of tests/fuzz/code ---- */

/* For test_load.c and fuzz_code.c, which know no compiler: code for any x86-64. HIA_UPDATE=1 writes
 * it. */
Test(link, the_block_of_a_function) {
  world w;
  world_init(&w);
  NO_THROW(&w.e, {
    hia_compiler *compiler = hiaJ_compiler_take(w.session);
    hia_lower_options options = {.is_one_unit = true,
                                 .triple = w.session->triple,
                                 .data_layout = w.session->data_layout,
                                 .cpu = "x86-64",
                                 .features = ""};
    hia_lowering *lowering;
    LLVMModuleRef module;
    cr_assert_eq(
        hiaL_open(graph_of(&w, graph_file("fib")), &options, &hiaR_malloc, &lowering, &w.error),
        HIA_OK, "%s", said(w.error));
    cr_assert_eq(hiaL_lower(lowering, 0, compiler->llvm, &module, &w.error), HIA_OK, "%s",
                 said(w.error));
    hiaL_close(lowering);
    LLVMTargetMachineRef machine = hiaJ_machine_for(w.session, "x86-64", 2);
    LLVMMemoryBufferRef buffer;
    char *message = NULL;
    cr_assert(
        !LLVMTargetMachineEmitToMemoryBuffer(machine, module, LLVMObjectFile, &message, &buffer));
    LLVMDisposeModule(module);
    LLVMDisposeTargetMachine(machine);
    hiaJ_compiler_put(w.session, compiler);
    hia_object object;
    cr_assert(hiaJ_object_open(&object, LLVMGetBufferStart(buffer), LLVMGetBufferSize(buffer)));
    hia_laid_code *laid = hiaJ_link(&w.e.comp, &object, NULL);
    cr_assert_eq(hiaR_code_check(laid, hiaR_laid_size(laid)), HIA_OK);
    if (getenv("HIA_UPDATE")) {
      FILE *file = fopen(HIA_TEST_DIR "/fuzz/code/fib", "wb");
      cr_assert_not_null(file);
      cr_assert_eq(fwrite(laid, hiaR_laid_size(laid), 1, file), 1);
      cr_assert_eq(fclose(file), 0);
    }
    LLVMDisposeMemoryBuffer(buffer);
  });
  world_free(&w);
}
