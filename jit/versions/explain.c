/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* hia_function_explain: facts are copied with the lock held, and written without it. */
#include "jit/versions/explain.h"

static hia_status copy_facts(hia_told *told) {
  hia_speculation *s = atomic_load_explicit(&told->function->speculation, memory_order_acquire);
  volatile hia_status status = HIA_OK;
  if (s) pthread_mutex_lock(&s->lock);
  if (HIA_TRY(&told->comp))
    hiaJ_told_fill(told, s);
  else
    status = told->comp.status;
  told->comp.armed = false;
  if (s) pthread_mutex_unlock(&s->lock);
  return status;
}

static hia_status print(hia_told *told, bool json, hia_text *text) {
  volatile hia_status status = HIA_OK;
  hiaR_text_init(text, &told->comp.arena);
  if (HIA_TRY(&told->comp))
    (json ? hiaJ_told_json : hiaJ_told_text)(told, text);
  else
    status = told->comp.status;
  told->comp.armed = false;
  return status;
}

hia_status hia_function_explain(const hia_function *f, bool json, hia_write write, void *user,
                                hia_error **error) {
  if (error) *error = NULL;
  hia_status status = hiaJ_need_instance(f, error);
  if (status != HIA_OK) return status;
  hia_module *module = f->module;
  const hia_allocator *allocator = &module->engine->allocator;
  if (!write) return hiaJ_fail(allocator, error, HIA_ARGUMENT, NULL, "no write function");
  hiaJ_module_keep(module); /* the host's `write` may free it */
  hia_told told = {.function = f};
  hia_text text;
  hiaR_comp_init(&told.comp, allocator);
  status = copy_facts(&told);
  if (status == HIA_OK) status = print(&told, json, &text);
  if (status != HIA_OK)
    hiaJ_fail_comp(allocator, error, &told.comp);
  else if (!write(user, text.data, text.len))
    status = hiaJ_fail(allocator, error, HIA_IO, NULL, "the explanation could not be written");
  hiaR_comp_free(&told.comp);
  hiaJ_module_release(module);
  return status;
}
