/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/helpers/image.h"
#include "frontend/frontend.h"
#include "graph/flatten/flatten.h"
#include "graph/pipeline/pass.h"
#include "graph/read/read.h"
#include "runtime/interp/run.h"
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

static bool finish(image_program *p) {
  hiaG_flatten(p->graph, &p->bytes, &p->size);
  hia_status status = hiaR_image_load(p->bytes, p->size, hiaR_any_kernel, &hiaR_malloc, &p->image,
                                      p->error, sizeof p->error);
  if (status && !p->error[0])
    snprintf(p->error, sizeof p->error, "%s", hiaR_status_message(status));
  return !status;
}

static void begin(image_program *p) {
  memset(p, 0, sizeof *p);
  hiaR_comp_init(&p->comp, &hiaR_malloc);
}

static bool build(image_program *p, const char *text, bool counted, const char *disabled) {
  hia_source source = {.name = "test.hia", .text = text, .len = strlen(text)};
  hia_diags diags;
  hiaG_types_init(&p->types, &p->comp);
  hiaF_diags_init(&diags, &p->comp, &source);
  hia_program *program = hiaF_load(&p->comp, &p->types, &source, &diags);
  hia_inst_id inst = HIA_NONE;
  if (program && diags.list.len == 0) {
    hia_decl_id fn = hiaF_find(program, "main", 4);
    hia_type args[16];
    for (uint32_t i = 0; i < hiaF_arity(program, fn); i++)
      args[i] = hiaF_param_type(program, fn, i);
    inst = hiaF_instantiate(program, fn, args, &diags);
  }
  if (inst == HIA_NONE || diags.list.len) {
    hia_text out;
    hiaR_text_init(&out, &p->comp.arena);
    for (uint32_t i = 0; i < diags.list.len; i++) hiaF_diag_print(&diags, i, &out);
    snprintf(p->error, sizeof p->error, "%s", out.data);
    return false;
  }
  hia_fn_id root;
  p->graph = hiaF_build(program, &p->comp, &p->types, &inst, 1, counted, &root);
  hiaG_run_passes(p->graph, &(hia_pass_options){.disabled = disabled, .verify = true});
  return finish(p);
}

bool image_from_source(image_program *p, const char *text, bool counted, const char *disabled) {
  begin(p);
  if (HIA_TRY(&p->comp)) return build(p, text, counted, disabled);
  snprintf(p->error, sizeof p->error, "%s", p->comp.message);
  return false;
}

image_program image_of(const char *text, bool counted, const char *disabled) {
  image_program p;
  if (!image_from_source(&p, text, counted, disabled)) {
    fprintf(stderr, "%s\n%s\n", text, p.error);
    abort();
  }
  return p;
}

bool image_from_ir(image_program *p, const char *text) {
  begin(p);
  if (HIA_TRY(&p->comp)) {
    hiaG_types_init(&p->types, &p->comp);
    hia_read_error error = {0};
    p->graph = hiaG_read(&p->comp, &p->types, text, strlen(text), &error);
    if (p->graph) {
      if (p->graph->state == HIA_FUNCTIONS)
        hiaG_run_passes(p->graph, &(hia_pass_options){.verify = true});
      return finish(p);
    }
    snprintf(p->error, sizeof p->error, "%u:%u: %s", error.line, error.col, error.message);
    return false;
  }
  snprintf(p->error, sizeof p->error, "%s", p->comp.message);
  return false;
}

void image_discard(image_program *p) {
  hiaR_image_free(p->image);
  hiaR_comp_free(&p->comp);
}

image_outcome image_run(const image_program *p, image_engine engine, const hia_word *args,
                        unsigned threads, const hia_limits *limits,
                        const hia_allocator *allocator) {
  image_outcome o;
  memset(&o, 0, sizeof o);
  hia_limits own = limits ? *limits : (hia_limits){0};
  own.threads = threads;
  hia_pool *pool = NULL;
  if (threads > 1 && !own.pool && hiaR_pool_new(&hiaR_malloc, threads - 1, NULL, &pool) == HIA_OK)
    own.pool = pool;
  hia_heap heap;
  if (!allocator) allocator = &hiaR_malloc;
  if (hiaR_image_shapes(p->image)) {
    hiaR_heap_init(&heap, allocator);
    hiaR_heap_begin(&heap, own.memory);
    own.heap = &heap;
  }
  o.status = (engine == IMAGE_INTERP ? hiaR_interp_run : hiaR_expand_run)(
      p->image, 0, args, o.results, &own, allocator, &o.failure, &o.usage);
  if (own.heap) {
    hiaR_heap_census(&heap, &o.live);
    o.heap_peak = heap.peak;
    hiaR_heap_free(&heap);
  }
  hiaR_pool_free(pool);
  return o;
}

bool image_agree(const image_program *p, const image_outcome *a, const image_outcome *b) {
  if (a->status != b->status) return false;
  if (a->status >= HIA_MEMORY) return true;
  const hia_backtrace *x = &a->failure.backtrace, *y = &b->failure.backtrace;
  if (a->status) {
    if (a->failure.code != b->failure.code || x->length != y->length) return false;
    for (uint64_t i = 0; i < 2 * HIA_BACKTRACE_ENDS && i < x->length; i++) {
      uint64_t at = i < HIA_BACKTRACE_ENDS ? i : x->length - 1 - (i - HIA_BACKTRACE_ENDS);
      if (hiaR_backtrace_entry(x, at) != hiaR_backtrace_entry(y, at)) return false;
    }
    return true;
  }
  return a->usage.calls == b->usage.calls && a->usage.rounds == b->usage.rounds &&
         a->usage.firings == b->usage.firings &&
         memcmp(a->results, b->results,
                hiaR_image_export(p->image, 0)->n_results * sizeof(hia_word)) == 0;
}

void image_print(const image_program *p, const image_outcome *o, char *buf, size_t size) {
  int n =
      snprintf(buf, size, "%s code %lld", hiaR_status_word(o->status), (long long)o->failure.code);
  if (!o->status)
    n = snprintf(buf, size, "result %lld, %llu calls, %llu rounds, %llu firings",
                 (long long)o->results[0], (unsigned long long)o->usage.calls,
                 (unsigned long long)o->usage.rounds, (unsigned long long)o->usage.firings);
  for (uint64_t i = 0; o->status && i < o->failure.backtrace.length && i < 8; i++) {
    const hia_image_loc *l =
        &hiaR_image_locs(p->image, NULL)[hiaR_backtrace_entry(&o->failure.backtrace, i)];
    if (n >= 0 && (size_t)n < size)
      n += snprintf(buf + n, size - (size_t)n, " %s:%u:%u", hiaR_image_string(p->image, l->fn),
                    l->line, l->col);
  }
}

void image_chain(const image_program *p, const image_outcome *o, char *buf, size_t size) {
  size_t len = 0;
  if (size) buf[0] = 0;
  for (uint64_t i = 0; i < o->failure.backtrace.length && i < HIA_BACKTRACE_ENDS; i++) {
    const hia_image_loc *l =
        &hiaR_image_locs(p->image, NULL)[hiaR_backtrace_entry(&o->failure.backtrace, i)];
    int n = snprintf(buf + len, size - len, "%s %u:%u; ", hiaR_image_string(p->image, l->fn),
                     l->line, l->col);
    if (n < 0 || (size_t)n >= size - len) return;
    len += (size_t)n;
  }
}
