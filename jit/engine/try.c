/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Work on a module: under its lock, on a large stack, and such that it may throw. */
#include "jit/engine/engine.h"

/* The caller holds the lock and runs on a large stack. */
static hia_status run_body(hia_module *module, hia_error **error, hia_try_body *body, void *user) {
  const hia_allocator *allocator = &module->engine->allocator;
  hia_comp *comp = &module->comp;
  if (module->is_broken)
    return hiaJ_fail(allocator, error, HIA_INTERNAL, NULL,
                     "hiaton has found a mistake of its own in this module before");
  hia_status status;
  if (HIA_TRY(comp)) {
    status = body(module, user, error);
  } else {
    if (error) {
      hia_error_free(*error); /* of a body that failed and then threw */
      *error = NULL;
    }
    if (comp->status == HIA_INTERNAL) module->is_broken = true;
    hiaR_arena_free(&comp->scratch);
    status = hiaJ_fail_comp(allocator, error, comp);
  }
  comp->armed = false;
  return status;
}

typedef struct trying {
  hia_module *module;
  hia_comp *comp; /* of work in two halves */
  hia_try_body *body, *rest;
  void *user;
  hia_error **error;
  hia_status status;
} trying;

static void try_body(void *arg) {
  trying *t = arg;
  t->status = run_body(t->module, t->error, t->body, t->user);
}

static hia_status on_stack(trying *t, void (*work)(void *arg)) {
  hia_engine *engine = t->module->engine;
  hia_status status = hiaJ_on_stack(engine, work, t);
  if (status == HIA_OK) return t->status;
  return hiaJ_fail(&engine->allocator, t->error, status, NULL,
                   "no memory for a stack to compile on");
}

hia_status hiaJ_module_try(hia_module *module, hia_error **error, hia_try_body *body, void *user) {
  trying t = {.module = module, .body = body, .user = user, .error = error};
  pthread_mutex_lock(&module->lock);
  hia_status status = on_stack(&t, try_body);
  pthread_mutex_unlock(&module->lock);
  return status;
}

static void fail_thrown(trying *t) {
  if (t->error) {
    hia_error_free(*t->error); /* of a half that failed and then threw */
    *t->error = NULL;
  }
  t->status = hiaJ_fail_comp(&t->module->engine->allocator, t->error, t->comp);
}

/* The lock is held and both compilations are armed, since the program's may throw too. */
static void try_locked(trying *t) {
  hia_comp *program_comp = &t->module->comp;
  if (HIA_TRY(t->comp)) {
    t->status = run_body(t->module, t->error, t->body, t->user);
  } else {
    program_comp->armed = false;
    hiaR_arena_free(&program_comp->scratch);
    fail_thrown(t);
  }
  t->comp->armed = false;
}

static void try_rest(trying *t) {
  if (HIA_TRY(t->comp))
    t->status = t->rest(t->module, t->user, t->error);
  else
    fail_thrown(t);
  t->comp->armed = false;
  hiaR_arena_free(&t->comp->scratch);
}

static void try_halves(void *arg) {
  trying *t = arg;
  pthread_mutex_lock(&t->module->lock);
  try_locked(t);
  pthread_mutex_unlock(&t->module->lock);
  if (t->status == HIA_OK) try_rest(t);
}

hia_status hiaJ_module_try_halves(hia_module *module, hia_comp *comp, hia_try_body *locked,
                                  hia_try_body *rest, void *user, hia_error **error) {
  trying t = {
      .module = module, .comp = comp, .body = locked, .rest = rest, .user = user, .error = error};
  return on_stack(&t, try_halves);
}
