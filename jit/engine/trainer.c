/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Trainers (hiaton/training.h): a function that computes a loss and its gradients
 * (graph/grad/step.c), and an optimizer, which changes the params of the module
 * (runtime/train/optimizer.h). */
#include "graph/grad/grad.h"
#include "jit/engine/engine.h"
#include "runtime/train/optimizer.h"
#include "runtime/value/value.h"
#include <hiaton/params.h>

struct hia_trainer {
  hia_module *module; /* held */
  hia_function *step;
  hia_optimizing *optimizer;
  bool clips;                    /* an update needs the norm */
  hia_value *result;             /* of the last call of `step`; NULL: there is none */
  bool is_used;                  /* an update has been made of it */
  hia_param_gradient *gradients; /* by param: their elements are in `result` */
};

static size_t gradients_size(const hia_module *module) {
  return ((size_t)module->params.n + 1) * sizeof(hia_param_gradient);
}

static const hia_allocator *allocator_of(const hia_trainer *trainer) {
  return trainer ? &trainer->module->engine->allocator : &hiaR_malloc;
}

static hia_status no_trainer(hia_error **error) {
  return hiaJ_fail(&hiaR_malloc, error, HIA_ARGUMENT, NULL, "no trainer");
}
/* ---- making a trainer ---- */

typedef struct making {
  hia_function *loss;
  hia_unit *unit; /* for the graph that is looked at */
  hia_function *step;
} making;

/* In a try of the module, and of the unit. */
static hia_status make_step(hia_module *module, void *user, hia_error **error) {
  making *m = user;
  const hia_allocator *allocator = &module->engine->allocator;
  const char *name = m->loss->signature;
  hia_fn_id root;
  hia_status status = hiaJ_build_loss(module, m->unit, m->loss, &root, error);
  if (status != HIA_OK) return status;
  const hia_graph *g = m->unit->graph;
  if (g->state != HIA_FUNCTIONS)
    return hiaJ_fail(allocator, error, HIA_UNSUPPORTED, NULL,
                     "`%s` is of a static graph, which has no gradients", name);
  hia_arena *scratch = &m->unit->comp.scratch;
  const hia_extern *host = hiaG_lacks_gradient(g, root, scratch);
  if (host)
    return hiaJ_fail(allocator, error, HIA_ARGUMENT, NULL,
                     "`%s` may call `%s`, a function of the host, which has no gradient", name,
                     host->name);
  uint32_t n = g->params.len, n_read = 0;
  const bool *reads = hiaG_params_read_by(g, root, scratch);
  for (uint32_t i = 0; i < n; i++) n_read += reads[i];
  if (!n_read)
    return hiaJ_fail(allocator, error, HIA_ARGUMENT, NULL,
                     "`%s` reads no param: there is nothing to train", name);
  if (hiaG_step_types(&module->types, module->params.specs, n, reads, NULL) >= HIA_MAX_TYPE_PARTS)
    return hiaJ_fail(allocator, error, HIA_UNSUPPORTED, NULL, "`%s` reads too many params", name);
  m->step = hiaJ_step_function(m->loss, reads);
  return HIA_OK;
}

static hia_status nothing(hia_module *module, void *user, hia_error **error) {
  (void)module, (void)user, (void)error;
  return HIA_OK;
}

static hia_status check(hia_function *loss, hia_error **error) {
  const hia_allocator *allocator = &loss->module->engine->allocator;
  if (loss->is_generic)
    return hiaJ_fail(allocator, error, HIA_ARGUMENT, "name an instance, as in loss(f32[?])",
                     "`%s` is generic", loss->signature);
  hia_type result = loss->result.info->type;
  if (result == HIA_F32 || result == HIA_F64) return HIA_OK;
  return hiaJ_fail(allocator, error, HIA_ARGUMENT, NULL,
                   "the result of `%s` is no f32 or f64, so it is no loss", loss->signature);
}

static hia_status find_step(hia_function *loss, hia_function **step, hia_error **error) {
  hia_module *module = loss->module;
  making m = {.loss = loss, .unit = hiaJ_unit_new(module->engine)};
  if (!m.unit) return hiaR_fail_memory(&module->engine->allocator, error);
  hia_status status = hiaJ_module_try_halves(module, &m.unit->comp, make_step, nothing, &m, error);
  hiaJ_unit_free(module->engine, m.unit);
  *step = m.step;
  return status;
}

static hia_status make(hia_trainer *t, hia_function *loss, const hia_trainer_options *options,
                       hia_error **error) {
  hia_module *module = loss->module;
  const hia_allocator *allocator = &module->engine->allocator;
  hia_status status = find_step(loss, &t->step, error);
  if (status != HIA_OK) return status;
  t->clips = options->max_norm > 0;
  t->gradients = hiaR_alloc(allocator, gradients_size(module));
  status = t->gradients ? hiaR_optimizing_new(module->params.specs, module->params.n, options,
                                              allocator, &t->optimizer)
                        : HIA_MEMORY;
  if (status != HIA_OK) return hiaR_fail_memory(allocator_of(t), error);
  memset(t->gradients, 0, gradients_size(module));
  return HIA_OK;
}

HIA_SIZED(hia_trainer_options, max_norm);

hia_status hia_trainer_new(hia_function *loss, const hia_trainer_options *options,
                           hia_trainer **trainer, hia_error **error) {
  if (error) *error = NULL;
  if (trainer) *trainer = NULL;
  if (!loss) return hiaJ_fail(&hiaR_malloc, error, HIA_ARGUMENT, NULL, "no function");
  const hia_allocator *allocator = &loss->module->engine->allocator;
  if (!trainer) return hiaJ_fail(allocator, error, HIA_ARGUMENT, NULL, "no place for the trainer");
  hia_trainer_options complete = HIA_TRAINER_OPTIONS_INIT;
  if (hiaR_copy_options(allocator, "trainer options", &complete, sizeof complete, options, error))
    return HIA_ARGUMENT;
  const char *wrong = hiaR_optimizer_check(&complete);
  if (wrong) return hiaJ_fail(allocator, error, HIA_ARGUMENT, NULL, "%s", wrong);
  hia_status status = check(loss, error);
  if (status != HIA_OK) return status;
  hia_trainer *t = hiaR_alloc(allocator, sizeof *t);
  if (!t) return hiaR_fail_memory(allocator, error);
  memset(t, 0, sizeof *t);
  t->module = loss->module;
  hiaJ_module_keep(loss->module);
  atomic_fetch_add_explicit(&loss->module->engine->n_trainers, 1, memory_order_relaxed);
  status = make(t, loss, &complete, error);
  if (status == HIA_OK)
    *trainer = t;
  else
    hia_trainer_free(t);
  return status;
}

void hia_trainer_free(hia_trainer *trainer) {
  if (!trainer) return;
  hia_module *module = trainer->module;
  const hia_allocator *allocator = &module->engine->allocator;
  hia_value_free(trainer->result);
  hiaR_optimizing_free(trainer->optimizer);
  hiaR_free(allocator, trainer->gradients, gradients_size(module));
  hiaR_free(allocator, trainer, sizeof *trainer);
  hia_engine *engine = module->engine;
  if (atomic_fetch_sub_explicit(&engine->n_trainers, 1, memory_order_relaxed) == 1)
    hiaR_keeper_empty(&engine->step_results);
  hiaJ_module_release(module);
}

/* ---- steps ---- */

/* Finds the gradients in the result: a word for a scalar, rows and elements of a tensor. */
static void find_gradients(hia_trainer *t) {
  const hia_params *params = &t->module->params;
  const hia_word *word = t->result->words + 1;
  for (uint32_t i = 0; i < params->n; i++) {
    hia_param_gradient *g = &t->gradients[i];
    *g = (hia_param_gradient){.is_given = t->step->wanted[i]};
    if (!g->is_given) continue;
    if (!params->specs[i].shape.rank) {
      g->elements = word++; /* a scalar's word holds its element in its lower half, or is it */
      continue;
    }
    const hia_tensor *rows = hiaR_tensor(*word++), *elements = hiaR_tensor(*word++);
    g->n_rows = (uint64_t)rows->dims[0];
    g->is_by_row = rows->dims[0] < params->specs[i].shape.dims[0];
    g->rows = (const int64_t *)(const void *)rows->data;
    g->elements = elements->data;
  }
}

static double norm_of(const hia_trainer *t) {
  return hiaR_gradients_norm(t->module->params.specs, t->module->params.n, t->gradients);
}

static double loss_of(const hia_trainer *t) {
  hia_word word = t->result->words[0];
  bool is_f32 = t->step->loss->result.info->type == HIA_F32;
  return is_f32 ? (double)hiaR_to_f32(word) : hiaR_to_f64(word);
}

hia_status hia_trainer_gradient(hia_trainer *trainer, hia_value *const *args, size_t n,
                                const hia_run_options *run, double *loss, hia_error **error) {
  if (error) *error = NULL;
  if (!trainer) return no_trainer(error);
  hia_value *result;
  hia_status status = hia_run(trainer->step, args, n, run, &result, error);
  if (status != HIA_OK) return status;
  hia_value_free(trainer->result);
  trainer->result = result;
  trainer->is_used = false;
  find_gradients(trainer);
  if (loss) *loss = loss_of(trainer);
  return HIA_OK;
}

hia_status hia_trainer_update(hia_trainer *trainer, hia_error **error) {
  if (error) *error = NULL;
  if (!trainer) return no_trainer(error);
  if (!trainer->result || trainer->is_used)
    return hiaJ_fail(allocator_of(trainer), error, HIA_ARGUMENT, NULL,
                     trainer->result ? "the gradient has been used for an update already"
                                     : "there is no gradient to update the params with");
  hia_status status =
      hiaR_optimizing_step(trainer->optimizer, &trainer->module->params, trainer->gradients,
                           trainer->clips ? norm_of(trainer) : 0);
  if (status != HIA_OK) return hiaR_fail_memory(allocator_of(trainer), error);
  trainer->is_used = true;
  return HIA_OK;
}

hia_status hia_trainer_step(hia_trainer *trainer, hia_value *const *args, size_t n,
                            const hia_run_options *run, double *loss, hia_error **error) {
  double value;
  hia_status status = hia_trainer_gradient(trainer, args, n, run, &value, error);
  if (status == HIA_OK) status = hia_trainer_update(trainer, error);
  if (status == HIA_OK && loss) *loss = value;
  return status;
}

/* ---- what a host may ask ---- */

/* Writes the rows of a gradient to where they are in the whole of it, which is zeros. */
static void spread(const hia_param_gradient *g, const hia_param_spec *spec, size_t size, char *to) {
  size_t row = size / (size_t)spec->shape.dims[0];
  for (uint64_t k = 0; k < g->n_rows; k++)
    memcpy(to + (size_t)g->rows[k] * row, (const char *)g->elements + k * row, row);
}

hia_status hia_trainer_gradient_of(hia_trainer *trainer, size_t i, hia_value **gradient,
                                   hia_error **error) {
  if (error) *error = NULL;
  if (gradient) *gradient = NULL;
  if (!trainer) return no_trainer(error);
  const hia_allocator *allocator = allocator_of(trainer);
  const hia_params *params = &trainer->module->params;
  if (i >= params->n)
    return hiaJ_fail(allocator, error, HIA_NOT_FOUND, NULL,
                     "there is no param %zu: the program has %u", i, params->n);
  if (!gradient || !trainer->result)
    return hiaJ_fail(allocator, error, HIA_ARGUMENT, NULL,
                     gradient ? "there is no gradient yet" : "no place for the gradient");
  const hia_param_gradient *g = &trainer->gradients[i];
  if (g->is_given && !g->is_by_row) {
    *gradient = hiaJ_param_value(trainer->module, i, g->elements);
    return *gradient ? HIA_OK : hiaR_fail_memory(allocator_of(trainer), error);
  }
  size_t size = hia_params_size(params, i);
  char *zeros = hiaR_alloc(allocator, size + 1);
  if (!zeros) return hiaR_fail_memory(allocator_of(trainer), error);
  memset(zeros, 0, size + 1);
  if (g->is_given) spread(g, &params->specs[i], size, zeros);
  *gradient = hiaJ_param_value(trainer->module, i, zeros);
  hiaR_free(allocator, zeros, size + 1);
  return *gradient ? HIA_OK : hiaR_fail_memory(allocator_of(trainer), error);
}

double hia_trainer_norm(const hia_trainer *trainer) {
  return trainer && trainer->result ? norm_of(trainer) : 0;
}

hia_status hia_trainer_get_stats(const hia_trainer *trainer, hia_function_stats *stats) {
  return trainer ? hia_function_get_stats(trainer->step, stats) : HIA_ARGUMENT;
}

uint64_t hia_trainer_steps(const hia_trainer *trainer) {
  return trainer ? hiaR_optimizing_steps(trainer->optimizer) : 0;
}

hia_status hia_trainer_set_rate(hia_trainer *trainer, double rate) {
  if (!trainer || !(rate > 0) || rate > 1e300) return HIA_ARGUMENT;
  hiaR_optimizing_set_rate(trainer->optimizer, rate);
  return HIA_OK;
}

double hia_trainer_rate(const hia_trainer *trainer) {
  return trainer ? hiaR_optimizing_rate(trainer->optimizer) : 0;
}

/* ---- checkpoints ---- */

hia_status hia_trainer_save(hia_trainer *trainer, const char *path, const void *extra,
                            size_t n_extra, hia_error **error) {
  if (error) *error = NULL;
  if (!trainer) return no_trainer(error);
  if (!path || (!extra && n_extra))
    return hiaJ_fail(allocator_of(trainer), error, HIA_ARGUMENT, NULL, "no %s",
                     path ? "bytes" : "path");
  return hiaR_optimizing_save(trainer->optimizer, &trainer->module->params, path, extra, n_extra,
                              error);
}

hia_status hia_trainer_load(hia_trainer *trainer, const char *path, void **extra, size_t *n_extra,
                            hia_error **error) {
  if (error) *error = NULL;
  if (extra) *extra = NULL;
  if (n_extra) *n_extra = 0;
  if (!trainer) return no_trainer(error);
  if (!path || !extra != !n_extra)
    return hiaJ_fail(allocator_of(trainer), error, HIA_ARGUMENT, NULL, "no %s",
                     path ? "place for the bytes" : "path");
  return hiaR_optimizing_load(trainer->optimizer, &trainer->module->params, path, extra, n_extra,
                              error);
}

void hia_trainer_free_extra(hia_trainer *trainer, void *extra, size_t n_extra) {
  if (trainer) hiaR_free(allocator_of(trainer), extra, n_extra);
}
