/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Contexts of hosts: making and freeing them, what a host sets, and how it ends calls and asks for
 * their failures. The calls themselves are entry.c's. */
#include "runtime/native/host.h"
#include "runtime/native/context.h"

/* ---- making and freeing ---- */

HIA_SIZED(hia_context_options, pool);

static bool read_options(hia_context_options *complete, const hia_context_options *options) {
  *complete = (hia_context_options)HIA_CONTEXT_OPTIONS_INIT;
  if (options && !hiaR_copy_sized(complete, sizeof *complete, options, options->size)) return false;
  const hia_allocator *a = complete->allocator;
  if (a && !hiaR_is_whole(a)) return false;
  const uint64_t all = HIA_CONTEXT_INTERPRET | HIA_CONTEXT_FAST_PRODUCTS;
  return complete->threads <= 1024 && !(complete->flags & ~all) &&
         (!complete->pool || complete->pool->start);
}

hia_status hiaR_host_new(const hia_context_options *options, hia_context **out) {
  const hia_allocator *allocator = options->allocator ? options->allocator : &hiaR_malloc;
  *out = NULL;
  hia_host_context *host = hiaR_alloc(allocator, sizeof *host);
  if (!host) return HIA_MEMORY;
  host->allocator = *allocator;
  hia_context *context;
  if (hiaR_context_new(&host->allocator, &context)) {
    hiaR_free(allocator, host, sizeof *host);
    return HIA_MEMORY;
  }
  context->host = host;
  host->context = context;
  host->max_depth = options->max_depth;
  host->max_memory = options->max_memory;
  host->threads = options->threads > 1 ? options->threads : 1;
  host->interprets = (options->flags & HIA_CONTEXT_INTERPRET) != 0;
  host->fast_products = (options->flags & HIA_CONTEXT_FAST_PRODUCTS) != 0;
  host->root.failure = &host->failure;
  host->scope.notify = hiaR_context_notify;
  host->scope.arg = context;
  hiaR_heap_init(&host->heap, &host->allocator);
  hiaR_scope_open(&host->scope);
  context->run.scope = &host->scope;
  context->run.cancelled = &host->scope.status;
  *out = context;
  return HIA_OK;
}

hia_status hia_context_new(const hia_context_options *options, hia_context **out) {
  if (!out) return HIA_ARGUMENT;
  *out = NULL;
  hia_context_options complete;
  if (!read_options(&complete, options)) return HIA_ARGUMENT;
  hia_context *context;
  hia_status status = hiaR_host_new(&complete, &context);
  if (status) return status;
  hia_host_context *host = context->host;
  if (host->threads > 1) {
    status = hiaR_pool_new(&host->allocator, host->threads - 1, complete.pool, &host->pool);
    if (status) {
      hia_context_free(context);
      return status;
    }
    host->owns_pool = true;
  }
  *out = context;
  return HIA_OK;
}

void hia_context_free(hia_context *context) {
  if (!context) return;
  hia_host_context *host = context->host;
  hia_allocator allocator = host->allocator;
  hia_error_free(host->error);
  if (host->images) host->free_images(host->images, &host->allocator);
  if (host->owns_clock) hiaR_clock_free(host->clock);
  if (host->owns_pool) hiaR_pool_free(host->pool);
  hiaR_scope_close(&host->scope);
  hiaR_heap_free(&host->heap);
  hiaR_free(&allocator, host->views, host->views_size);
  hiaR_free(&allocator, host->rooms, host->n_rooms * sizeof *host->rooms);
  hiaR_context_free(context);
  hiaR_free(&allocator, host, sizeof *host);
}

/* ---- what belongs to the host ---- */

void hia_context_set_user(hia_context *context, void *user) {
  if (context) context->host->user = user;
}

void *hia_context_user(const hia_context *context) { return context ? context->host->user : NULL; }

hia_context *hia_context_current(void) {
  const hia_cancel_scope *scope = hiaR_innermost ? hiaR_innermost->scope : NULL;
  return scope && !scope->run ? scope->arg : NULL;
}

/* ---- ending calls ---- */

void hia_context_cancel(hia_context *context) {
  if (!context) return;
  atomic_store(&context->host->is_cancelled, true);
  hiaR_scope_cancel(&context->host->scope, HIA_CANCELLED);
  hiaR_poke(context);
}

void hia_context_reset(hia_context *context) {
  if (context) atomic_store(&context->host->is_cancelled, false);
}

void hia_context_set_timeout(hia_context *context, uint64_t timeout_ns) {
  if (!context) return;
  context->host->timeout_ns = timeout_ns;
  context->direct.room = 0; /* the next call sets it */
}

static void set_fuel(hia_context *context, bool has_fuel, uint64_t fuel) {
  if (!context || hiaR_is_in_call(context)) return;
  context->host->has_fuel = has_fuel;
  context->host->fuel = fuel;
  context->direct.room = 0; /* the next call sees to it that its code is for that */
}

void hia_context_set_fuel(hia_context *context, uint64_t fuel) { set_fuel(context, true, fuel); }
void hia_context_clear_fuel(hia_context *context) { set_fuel(context, false, 0); }

bool hia_context_fuel_left(const hia_context *context, uint64_t *left) {
  bool has_fuel = context && context->host->has_fuel;
  if (left) *left = has_fuel ? context->host->fuel : 0;
  return has_fuel;
}

/* ---- the heap of a call ---- */

bool hiaR_host_must_end(void *scope) { return hiaR_scope_status(scope) != HIA_OK; }

void hiaR_host_heap_begin(hia_host_context *host) {
  hiaR_heap_begin(&host->heap, host->memory);
  host->heap.must_end = hiaR_host_must_end;
  host->heap.user = &host->scope;
  host->heap.fast_products = host->has_blas;
}

void hiaR_host_heap_end(hia_host_context *host) { hiaR_heap_end(&host->heap); }

/* ---- failures ---- */

void hiaR_host_forget_failure(hia_host_context *host) {
  hia_error_free(host->error);
  host->error = NULL;
  host->failed = NULL;
  host->why = NULL;
  host->image_places = NULL;
  hiaR_failure_clear(&host->failure);
}

hia_status hiaR_host_note_failure(hia_host_context *host, hia_status status) {
  host->context->direct.room = 0;
  return host->failure.status = status;
}

hia_status hiaR_host_refuse(hia_host_context *host, hia_status status, const char *why) {
  hiaR_host_forget_failure(host);
  host->why = why;
  return hiaR_host_note_failure(host, status);
}

uint64_t hia_context_rows(const hia_context *context) { return context ? context->host->rows : 0; }

const hia_error *hia_context_error(hia_context *context) {
  if (!context) return NULL;
  hia_host_context *host = context->host;
  /* During a call the failure belongs to another thread, or to a caller of this one. */
  if (hiaR_is_in_call(context)) return NULL;
  if (host->error || !host->failure.status) return host->error;
  hia_failure *failure = &host->failure;
  if (!host->failed) {
    const char *why = host->why ? host->why : hiaR_status_message(failure->status);
    hiaR_fail_message(&host->allocator, &host->error, failure->status,
                      &(hia_message){.message = why});
    return host->error;
  }
  hiaR_fail_run(&host->allocator, &host->error, failure, &host->bounds, host->failed);
  return host->error;
}
