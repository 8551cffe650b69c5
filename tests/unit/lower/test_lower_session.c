/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* session, frames: programs that share a session, its errors, and damaged objects. */
#include "tests/unit/helpers/linked.h"
#include <elf.h>
#include <pthread.h>
#include <stdlib.h>

/* ---- sessions ---- */

Test(session, many_programs_over_its_life) {
  world w;
  world_init(&w);
  NO_THROW(&w.e, {
    hia_graph *fib = graph_of(&w, graph_file("fib")), *down = graph_of(&w, graph_file("down"));
    for (int i = 0; i < 150; i++) {
      hia_word block[3] = {20};
      compile_graph(&w, i % 2 ? fib : down, 1);
      if (i % 2) {
        cr_assert_eq(run(&w, "fib", block, 0), HIA_OK);
        cr_assert_eq(hiaR_to_i32(block[1]), 6765);
      }
    }
    cr_assert(w.session->compilers && !w.session->compilers->next);
  });
  world_free(&w);
}

static void *compile_some(void *arg) {
  hia_session *session = arg;
  world w;
  memset(&w, 0, sizeof w);
  env_init(&w.e);
  w.session = session;
  if (hiaR_context_new(&hiaR_malloc, &w.context)) return NULL;
  bool ok = true;
  for (int i = 0; i < 10 && ok; i++) {
    hia_word block[3] = {15};
    compile_text(&w, graph_file("fib"), i % 4);
    ok = run(&w, "fib", block, 0) == HIA_OK && hiaR_to_i32(block[1]) == 610;
  }
  drop_code(&w);
  hiaR_context_free(w.context);
  hiaR_comp_free(&w.e.comp);
  return ok ? arg : NULL;
}

Test(session, threads_share_it) {
  world w;
  world_init(&w);
  pthread_t threads[4];
  for (size_t i = 0; i < HIA_LEN(threads); i++)
    cr_assert_eq(pthread_create(&threads[i], NULL, compile_some, w.session), 0);
  for (size_t i = 0; i < HIA_LEN(threads); i++) {
    void *ok;
    pthread_join(threads[i], &ok);
    cr_assert_not_null(ok);
  }
  world_free(&w);
}

Test(session, an_error_has_its_cause) {
  world w;
  world_init(&w);
  LLVMErrorRef err = LLVMCreateStringError("no pass of that name");
  cr_assert_eq(hiaJ_take_error(w.session, err, &w.error), HIA_INTERNAL);
  cr_assert_str_eq(said(w.error), "no pass of that name");
  cr_assert_eq(hiaJ_take_error(w.session, LLVMCreateStringError("unheard"), NULL), HIA_INTERNAL);
  world_free(&w);
}

/* ---- object files that are damaged ---- */

static LLVMMemoryBufferRef object_of(world *w, const char *text) {
  hia_compiler *compiler = hiaJ_compiler_take(w->session);
  hia_lower_options options = {.is_one_unit = true,
                               .triple = w->session->triple,
                               .data_layout = w->session->data_layout,
                               .cpu = w->session->cpu,
                               .features = w->session->features};
  hia_lowering *lowering;
  LLVMModuleRef module;
  cr_assert_eq(hiaL_open(graph_of(w, text), &options, &hiaR_malloc, &lowering, &w->error), HIA_OK,
               "%s", said(w->error));
  cr_assert_eq(hiaL_lower(lowering, 0, compiler->llvm, &module, &w->error), HIA_OK, "%s",
               said(w->error));
  hiaL_close(lowering);
  LLVMMemoryBufferRef bytes;
  char *message = NULL;
  cr_assert(!LLVMTargetMachineEmitToMemoryBuffer(hiaJ_machine(w->session, compiler, 1), module,
                                                 LLVMObjectFile, &message, &bytes));
  LLVMDisposeModule(module);
  hiaJ_compiler_put(w->session, compiler);
  return bytes;
}

static void read_object(const void *bytes, size_t size) {
  hia_object object;
  if (!hiaJ_object_open(&object, bytes, size)) return;
  size_t largest;
  uint64_t offset;
  (void)hiaJ_frames_largest(&hiaR_malloc, &object, &largest);
  const char *name;
  for (uint64_t i = 0; hiaJ_object_function(&object, i, &name, &offset); i++)
    cr_assert(!*name || offset < object.text.size);
  hia_frames *frames;
  cr_assert_eq(hiaJ_frames_new(&hiaR_malloc, &object, 0x1000, (hia_entries){0}, &frames), HIA_OK);
  for (uintptr_t at = 0; at < object.text.size && at < 4096; at += 3) {
    hia_frame_row row;
    (void)hiaJ_frames_find(frames, 0x1000 + at, &row);
  }
  hiaJ_frames_free(frames);
  hia_loaded_code *loaded;
  if (load_object_file(&hiaR_malloc, bytes, size, &loaded, NULL) == HIA_OK)
    hiaR_code_release(loaded);
}

/* The section with the names claims to have no bytes, and to be far behind the end. */
Test(frames, a_section_without_bytes_is_not_read) {
  world w;
  world_init(&w);
  NO_THROW(&w.e, {
    LLVMMemoryBufferRef buffer = object_of(&w, graph_file("failing"));
    size_t size = LLVMGetBufferSize(buffer);
    char *copy = malloc(size);
    cr_assert_not_null(copy);
    memcpy(copy, LLVMGetBufferStart(buffer), size);
    Elf64_Ehdr header;
    Elf64_Shdr names;
    memcpy(&header, copy, sizeof header);
    size_t at = header.e_shoff + header.e_shstrndx * sizeof names;
    memcpy(&names, copy + at, sizeof names);
    names.sh_type = SHT_NOBITS;
    names.sh_offset = (uint64_t)1 << 40;
    memcpy(copy + at, &names, sizeof names);
    hia_object object;
    cr_assert(!hiaJ_object_open(&object, copy, size));
    memcpy(copy, LLVMGetBufferStart(buffer), size);
    copy[EI_DATA] = ELFDATA2LSB + ELFDATA2MSB - copy[EI_DATA];
    cr_assert(!hiaJ_object_open(&object, copy, size));
    free(copy);
    LLVMDisposeMemoryBuffer(buffer);
  });
  world_free(&w);
}

Test(frames, damaged_objects_do_no_harm) {
  world w;
  world_init(&w);
  NO_THROW(&w.e, {
    LLVMMemoryBufferRef buffer = object_of(&w, graph_file("failing"));
    size_t size = LLVMGetBufferSize(buffer);
    read_object(LLVMGetBufferStart(buffer), size);
    char *copy = malloc(size);
    cr_assert_not_null(copy);
    for (size_t cut = 0; cut < size; cut += 1 + size / 300) {
      /* A block of exactly that size, so that a sanitizer sees what lies behind it. */
      char *part = malloc(cut + 1);
      cr_assert_not_null(part);
      memcpy(part, LLVMGetBufferStart(buffer), cut);
      read_object(part, cut);
      free(part);
    }
    uint32_t random = 12345;
    for (int i = 0; i < 3000; i++) {
      memcpy(copy, LLVMGetBufferStart(buffer), size);
      for (int k = 0; k < 4; k++) {
        random = random * 1664525 + 1013904223;
        copy[random % size] = (char)(random >> 24);
      }
      read_object(copy, size);
    }
    free(copy);
    LLVMDisposeMemoryBuffer(buffer);
  });
  world_free(&w);
}
