/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Contexts that run the image of a module in place of its native code. The module is put together
 * here; those that are built ahead of time are compared with their images by hia_diff. The programs
 * need no kernels. */
#include "runtime/native/context.h"
#include "runtime/run/error.h"
#include "tests/unit/helpers/image.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <time.h>

typedef struct module {
  image_program p;
  hia_code_root root;
  hia_code_module record;
} module;

static void open_module(module *m, const char *text) {
  *m = (module){.root.n_params = 1, .root.n_results = 1};
  cr_assert(image_from_source(&m->p, text, false, NULL), "%s", m->p.error);
  m->root.loc = HIA_NONE;
  const hia_image_header *header = m->p.bytes;
  uint32_t n_locs;
  m->record = (hia_code_module){.abi = HIA_RT_ABI,
                                .n_roots = 1,
                                .roots = &m->root,
                                .unwinder.max_frame = 8,
                                .image = m->p.bytes,
                                .image_size = m->p.size,
                                .interpret = hiaR_interpret};
  m->record.places = (hia_places){.locs = hiaR_image_locs(m->p.image, &n_locs),
                                  .strings = hiaR_image_string(m->p.image, 0),
                                  .strings_size = header->strings.n,
                                  .file = hiaR_image_file(m->p.image)};
  m->record.places.n_locs = n_locs;
}

static hia_context *new_context(const hia_allocator *allocator) {
  hia_context_options options = HIA_CONTEXT_OPTIONS_INIT;
  options.flags |= HIA_CONTEXT_INTERPRET;
  options.allocator = allocator;
  hia_context *context;
  cr_assert_eq(hia_context_new(&options, &context), HIA_OK);
  return context;
}

static hia_status call(hia_context *context, const module *m, hia_word arg, hia_word *result) {
  hia_word block[2] = {arg, 0};
  hia_status status = hiaR_enter(context, &m->record, 0, block);
  *result = block[1];
  return status;
}

static const char choose[] = "fn main(b: bool) -> i64 = if b then 12 else fail(3)\n";
static const char forever[] = "fn main(n: i64) -> i64 = loop (x = n) while true { x }\n";

Test(context, runs_images) {
  module m, other;
  open_module(&m, choose);
  open_module(&other, "fn main(n: i64) -> i64 = n\n");
  hia_context *context = new_context(NULL);
  hia_word x;
  for (int i = 0; i < 3; i++) {
    cr_assert_eq(call(context, &m, 1, &x), HIA_OK);
    cr_assert_eq(x, 12);
    cr_assert_eq(call(context, &other, 77, &x), HIA_OK);
    cr_assert_eq(x, 77);
    cr_assert_eq(call(context, &m, 0, &x), HIA_FAILED);
    const hia_error *error = hia_context_error(context);
    cr_assert_eq(hia_error_fail_code(error), 3);
    cr_assert_eq(hia_error_line(error, 0), 1);
    const char *function;
    cr_assert(hia_error_chain_entry(error, 0, &function, NULL, NULL, NULL));
    cr_assert_str_eq(function, "main");
  }
  hia_context_free(context);
  image_discard(&m.p);
  image_discard(&other.p);
}

static void *cancel_later(void *context) {
  nanosleep(&(struct timespec){0, 2000000}, NULL);
  hia_context_cancel(context);
  return NULL;
}

Test(context, ends_images) {
  module m;
  open_module(&m, forever);
  hia_context *context = new_context(NULL);
  hia_word x;
  for (int i = 0; i < 3; i++) {
    pthread_t thread;
    pthread_create(&thread, NULL, cancel_later, context);
    cr_assert_eq(call(context, &m, 1, &x), HIA_CANCELLED);
    pthread_join(thread, NULL);
    cr_assert_eq(call(context, &m, 1, &x), HIA_CANCELLED);
    hia_context_reset(context);
    hia_context_set_timeout(context, 1000000);
    cr_assert_eq(call(context, &m, 1, &x), HIA_DEADLINE);
    cr_assert_eq(hia_error_status(hia_context_error(context)), HIA_DEADLINE);
    hia_context_set_timeout(context, 0);
  }
  hia_context_free(context);
  image_discard(&m.p);
}

/* The error of a call that ends before it reaches its image names no other image. */
Test(context, cancelled_before_the_image) {
  module m, other;
  open_module(&m, choose);
  open_module(&other, forever);
  other.record.places.file = "other.hia";
  hia_context *context = new_context(NULL);
  hia_word x;
  cr_assert_eq(call(context, &m, 1, &x), HIA_OK);
  hia_context_cancel(context);
  cr_assert_eq(call(context, &other, 1, &x), HIA_CANCELLED);
  cr_assert_str_eq(hia_error_file(hia_context_error(context), 0), "other.hia");
  hia_context_free(context);
  image_discard(&m.p);
  image_discard(&other.p);
}

/* A record is trusted no more than the image in it. */
Test(context, refuses_images) {
  module m;
  open_module(&m, choose);
  hia_context *context = new_context(NULL);
  hia_word x;
  m.root.n_params = 2;
  cr_assert_eq(call(context, &m, 1, &x), HIA_BAD_IMAGE);
  cr_assert_not_null(strstr(hia_error_text(hia_context_error(context)), "is damaged"));
  m.root.n_params = 1;
  m.root.export = HIA_NONE;
  cr_assert_eq(call(context, &m, 1, &x), HIA_UNSUPPORTED);
  cr_assert_not_null(strstr(hia_error_text(hia_context_error(context)), "not in the image"));
  hia_context_free(context);

  context = new_context(NULL);
  m.root.export = 0;
  m.record.image_size -= 8;
  cr_assert_eq(call(context, &m, 1, &x), HIA_BAD_IMAGE);
  m.record.image_size += 8;
  cr_assert_eq(call(context, &m, 1, &x), HIA_OK);
  hia_context_free(context);
  image_discard(&m.p);
}

static const module *failing;
static hia_status attempt(const hia_allocator *allocator) {
  hia_context_options options = HIA_CONTEXT_OPTIONS_INIT;
  options.flags |= HIA_CONTEXT_INTERPRET;
  options.allocator = allocator;
  hia_context *context;
  hia_status status = hia_context_new(&options, &context);
  if (status) return status;
  hia_word x;
  status = call(context, failing, 0, &x);
  cr_assert(status == HIA_FAILED || status == HIA_MEMORY, "%s", hia_status_word(status));
  status = status == HIA_FAILED && hia_context_error(context) ? HIA_OK : HIA_MEMORY;
  hia_context_free(context);
  return status;
}

Test(context, images_without_memory) {
  module m;
  open_module(&m, choose);
  failing = &m;
  cr_assert_gt(fail_each_allocation(attempt), 3);
  image_discard(&m.p);
}
