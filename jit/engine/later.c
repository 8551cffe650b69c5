/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Threads that make units.
 *
 * A run that can be ended has its unit made by a thread of its own, and waits for it. What nobody
 * waits for stands in the engine's queue, which one thread serves, so that an engine that chooses
 * for itself takes one core for compiling at most; that thread is one of the host's if the engine
 * has a host's pool. Who needs a unit that is still in the queue takes it out and makes it. */
#include "jit/engine/engine.h"
#include <signal.h>

/* ---- threads ---- */

static void serve(void *user);

static void *compile_thread(void *user) {
  hia_compiling *c = user;
  if (c->making) {
    hia_module *module = c->making->function->module;
    hiaJ_make(c->making);
    hiaJ_module_release(module);
  } else {
    serve(c->engine);
  }
  atomic_store(&c->is_over, true);
  return NULL;
}

/* Joins the threads that are over, or all. */
static void join(hia_engine *engine, bool all) {
  pthread_mutex_lock(&engine->lock);
  for (hia_compiling **at = &engine->compiling; *at;) {
    hia_compiling *c = *at;
    if (!all && !atomic_load(&c->is_over)) {
      at = &c->next;
      continue;
    }
    *at = c->next;
    pthread_mutex_unlock(&engine->lock); /* the host's log function may take it */
    pthread_join(c->thread, NULL);
    hiaR_free(&engine->allocator, c, sizeof *c);
    pthread_mutex_lock(&engine->lock);
    at = &engine->compiling;
  }
  pthread_mutex_unlock(&engine->lock);
}

/* Starts a thread that makes the unit; NULL: one that serves the queue. It blocks all signals,
 * which are for the host's threads. */
static bool start(hia_engine *engine, hia_making *m) {
  join(engine, false);
  hia_compiling *c = hiaR_alloc(&engine->allocator, sizeof *c);
  if (!c) return false;
  c->engine = engine;
  c->making = m;
  sigset_t every, old;
  sigfillset(&every);
  pthread_mutex_lock(&engine->lock);
  pthread_sigmask(SIG_SETMASK, &every, &old);
  bool is_started = pthread_create(&c->thread, NULL, compile_thread, c) == 0;
  pthread_sigmask(SIG_SETMASK, &old, NULL);
  if (is_started) {
    c->next = engine->compiling;
    engine->compiling = c;
  }
  pthread_mutex_unlock(&engine->lock);
  if (!is_started) hiaR_free(&engine->allocator, c, sizeof *c);
  return is_started;
}

bool hiaJ_make_beside(hia_making *m) {
  hia_module *module = m->function->module;
  if (module->engine->has_host_pool) return false;
  hiaJ_module_keep(module);
  if (start(module->engine, m)) return true;
  hiaJ_module_release(module); /* never the last reference */
  return false;
}

/* ---- the queue ---- */

static void serve(void *user) {
  hia_engine *engine = user;
  for (;;) {
    pthread_mutex_lock(&engine->later_lock);
    hia_making *m = engine->queue;
    if (m)
      engine->queue = m->next_queued;
    else
      engine->is_serving = false;
    pthread_mutex_unlock(&engine->later_lock);
    if (!m) return;
    hia_module *module = m->function->module;
    hiaJ_make(m);
    hiaJ_module_release(module);
  }
}

/* Appends the making, which holds its module from now on. Returns true if a thread has to be
 * started for the queue. */
static bool append(hia_engine *engine, hia_making *m) {
  hiaJ_module_keep(m->function->module);
  pthread_mutex_lock(&engine->later_lock);
  hia_making **end = &engine->queue;
  while (*end) end = &(*end)->next_queued;
  m->next_queued = NULL;
  *end = m;
  bool starts = !engine->is_serving;
  engine->is_serving = true;
  pthread_mutex_unlock(&engine->later_lock);
  return starts;
}

bool hiaJ_take_queued(hia_making *m) {
  hia_engine *engine = m->function->module->engine;
  pthread_mutex_lock(&engine->later_lock);
  hia_making **at = &engine->queue;
  while (*at && *at != m) at = &(*at)->next_queued;
  bool is_there = *at == m;
  if (is_there) *at = m->next_queued;
  pthread_mutex_unlock(&engine->later_lock);
  return is_there;
}

/* Takes the first making out of the queue; NULL: there is none. */
static hia_making *take_first(hia_engine *engine) {
  pthread_mutex_lock(&engine->later_lock);
  hia_making *m = engine->queue;
  if (m) engine->queue = m->next_queued;
  pthread_mutex_unlock(&engine->later_lock);
  return m;
}

static void drop(hia_making *m, hia_status status) {
  hia_module *module = m->function->module;
  hiaJ_abandon(m, status);
  hiaJ_module_release(module);
}

static bool start_serving(hia_engine *engine) {
  if (engine->has_host_pool) return hiaR_pool_start(engine->compilers, serve, engine);
  return start(engine, NULL);
}

void hiaJ_join_compiling(hia_engine *engine) {
  for (hia_making *m; (m = take_first(engine));) drop(m, HIA_CANCELLED);
  if (engine->compilers) hiaR_pool_take_back(engine->compilers, engine);
  join(engine, true);
  hiaR_pool_free(engine->compilers); /* waits for a thread of the host that compiles */
}

hia_status hiaJ_make_later(hia_function *f, hia_traits traits, hia_waiting *waiting) {
  hia_module *module = f->module;
  hia_engine *engine = module->engine;
  pthread_mutex_lock(&module->making_lock);
  bool is_ready = hiaJ_version(f, traits) != NULL, is_new = false, starts = false;
  hia_making *m = is_ready ? NULL : hiaJ_making(f, traits, 0, &is_new);
  if (m) {
    atomic_store_explicit(&m->is_wanted, true, memory_order_relaxed);
    if (waiting) {
      waiting->next = m->waiting;
      m->waiting = waiting;
    }
    if (is_new) starts = append(engine, m);
  }
  pthread_mutex_unlock(&module->making_lock);
  if (is_ready) hiaJ_tell(engine, waiting, HIA_OK);
  if (!m && !is_ready) return HIA_MEMORY;
  if (!starts || start_serving(engine)) return HIA_OK;
  pthread_mutex_lock(&engine->later_lock);
  engine->is_serving = false;
  pthread_mutex_unlock(&engine->later_lock);
  /* What others have put into the queue meanwhile waits for the next thread that can be started. */
  if (!hiaJ_take_queued(m)) return HIA_OK;
  pthread_mutex_lock(&module->making_lock);
  for (hia_waiting **at = &m->waiting; *at; at = &(*at)->next)
    if (*at == waiting) {
      *at = waiting->next;
      break;
    }
  pthread_mutex_unlock(&module->making_lock);
  drop(m, HIA_THREADS);
  return HIA_THREADS;
}

/* ---- public ---- */

hia_status hia_function_prepare_later(hia_function *f, const hia_run_options *options,
                                      hia_function_ready ready_fn, void *user, hia_error **error) {
  if (error) *error = NULL;
  hia_run_options complete;
  hia_status status = hiaJ_need_instance(f, error);
  if (status == HIA_OK) status = hiaJ_run_options(f, options, &complete, error);
  if (status != HIA_OK) return status;
  hia_engine *engine = f->module->engine;
  hia_waiting *waiting = ready_fn ? hiaR_alloc(&engine->allocator, sizeof *waiting) : NULL;
  if (ready_fn && !waiting) return hiaR_fail_memory(&engine->allocator, error);
  if (waiting) *waiting = (hia_waiting){NULL, f, ready_fn, user};
  status = hiaJ_make_later(f, hiaJ_best_traits(f, hiaJ_traits_for(&complete)), waiting);
  if (status == HIA_OK) return HIA_OK;
  if (waiting) hiaR_free(&engine->allocator, waiting, sizeof *waiting);
  return hiaJ_fail(&engine->allocator, error, status, NULL, "%s", hiaR_status_message(status));
}
