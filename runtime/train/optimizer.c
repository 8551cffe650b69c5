/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* A step takes all memory that it needs before it changes anything. Then it writes the next values,
 * advances the state of the optimizer in the same pass, and shows them in the params. If the params
 * has got another state meanwhile, it writes the values once more, of that one; the state of the
 * optimizer stays as it is then. */
#include "runtime/base/left.h"
#include "runtime/train/optimizing.h"
#include <math.h>

/* ---- options ---- */

static bool is_below_one(double x) { return x >= 0 && x < 1; }
static bool is_from_zero(double x) { return x >= 0 && isfinite(x); }

const char *hiaR_optimizer_check(const hia_trainer_options *options) {
  if ((unsigned)options->optimizer >= HIA_N_OPTIMIZERS) return "there is no such optimizer";
  if (!(options->rate > 0) || !isfinite(options->rate)) return "the rate must be a number above 0";
  if (!is_below_one(options->momentum)) return "the momentum must be from 0 on and below 1";
  if (!is_below_one(options->beta1)) return "beta1 must be from 0 on and below 1";
  if (!is_below_one(options->beta2)) return "beta2 must be from 0 on and below 1";
  if (!is_from_zero(options->epsilon)) return "epsilon must be a number from 0 on";
  if (!is_from_zero(options->decay)) return "the decay must be a number from 0 on";
  if (!(options->max_norm >= 0)) return "the largest norm must be from 0 on";
  return NULL;
}

static hia_update_kind kind_of(const hia_trainer_options *options) {
  switch (options->optimizer) {
  case HIA_SGD: return options->momentum > 0 ? HIA_UPDATE_MOMENTUM : HIA_UPDATE_SGD;
  case HIA_ADAGRAD: return HIA_UPDATE_ADAGRAD;
  case HIA_ADAM: return HIA_UPDATE_ADAM;
  case HIA_ADAMW: return HIA_UPDATE_ADAMW;
  }
  return HIA_UPDATE_SGD;
}

/* ---- memory ---- */

/* Those of a sound param, whose bytes fit into memory (base/param.h). */
static size_t elements_of(const hia_param_spec *spec) {
  uint64_t n = 0;
  hiaR_shape_elements(&spec->shape, hiaR_dtype_size(spec->dtype), &n);
  return (size_t)n;
}

static hia_followed followed(const hia_param_spec *spec) {
  size_t n = elements_of(spec), row = n;
  if (spec->shape.rank && n) row = n / (size_t)spec->shape.dims[0];
  return (hia_followed){.n = n, .row = row, .bytes = n * hiaR_dtype_size(spec->dtype)};
}

static size_t list_size(const hia_optimizing *o) {
  return (size_t)o->n * (sizeof(hia_followed) + 2 * sizeof(bool)) + 1;
}

hia_status hiaR_optimizing_new(const hia_param_spec *specs, uint32_t n,
                               const hia_trainer_options *options, const hia_allocator *allocator,
                               hia_optimizing **out) {
  hia_optimizing *o = hiaR_alloc(allocator, sizeof *o);
  if (!o) return HIA_MEMORY;
  *o = (hia_optimizing){.allocator = *allocator,
                        .specs = specs,
                        .n = n,
                        .options = *options,
                        .kind = kind_of(options)};
  o->params = hiaR_alloc(allocator, list_size(o));
  if (!o->params) {
    hiaR_free(allocator, o, sizeof *o);
    return HIA_MEMORY;
  }
  o->is_changed = (bool *)(o->params + n);
  o->is_recycled = o->is_changed + n;
  for (uint32_t i = 0; i < n; i++) o->params[i] = followed(&specs[i]);
  *out = o;
  return HIA_OK;
}

/* The bytes of all arrays of a param. At least 1, since allocators differ at 0. SIZE_MAX: they do
 * not fit. */
static size_t accumulated_size(const hia_optimizing *o, const hia_followed *p) {
  size_t size;
  return hiaR_mul(hiaR_updates[o->kind].n_accumulated, p->bytes, &size) && size <= PTRDIFF_MAX / 2
             ? size + 1
             : SIZE_MAX;
}

bool hiaR_optimizing_accumulate(const hia_optimizing *o, hia_followed *p) {
  uint32_t n = hiaR_updates[o->kind].n_accumulated;
  if (!n || p->accumulated[0]) return true;
  size_t size = accumulated_size(o, p);
  char *block = size != SIZE_MAX ? hiaR_take_large(&o->allocator, size) : NULL;
  if (!block) return false;
  memset(block, 0, size);
  for (uint32_t k = 0; k < n; k++) p->accumulated[k] = block + k * p->bytes;
  return true;
}

void hiaR_optimizing_forget(const hia_optimizing *o, hia_followed *p) {
  hiaR_free(&o->allocator, p->accumulated[0], accumulated_size(o, p));
  memset(p->accumulated, 0, sizeof p->accumulated);
}

static size_t rows_size(const hia_optimizing *o, uint32_t i) {
  return (size_t)o->specs[i].shape.dims[0] * sizeof(int64_t) + 1;
}

void hiaR_optimizing_free(hia_optimizing *o) {
  if (!o) return;
  for (uint32_t i = 0; i < o->n; i++) {
    hiaR_optimizing_forget(o, &o->params[i]);
    if (o->params[i].rows) hiaR_free(&o->allocator, o->params[i].rows, rows_size(o, i));
  }
  hiaR_state_release(o->made);
  hiaR_state_release(o->before);
  const hia_allocator allocator = o->allocator;
  hiaR_free(&allocator, o->params, list_size(o));
  hiaR_free(&allocator, o, sizeof *o);
}

/* Takes what the optimizer needs for a step with such gradients. */
static bool take_memory(hia_optimizing *o, const hia_param_gradient *gradients) {
  for (uint32_t i = 0; i < o->n; i++) {
    hia_followed *p = &o->params[i];
    if (!gradients[i].is_given) continue;
    if (!hiaR_optimizing_accumulate(o, p)) return false;
    if (gradients[i].is_by_row && !p->rows &&
        !(p->rows = hiaR_alloc(&o->allocator, rows_size(o, i))))
      return false;
  }
  return true;
}

/* ---- numbers ---- */

double hiaR_gradients_norm(const hia_param_spec *specs, uint32_t n,
                           const hia_param_gradient *gradients) {
  double sum = 0;
  for (uint32_t i = 0; i < n; i++) {
    const hia_param_gradient *g = &gradients[i];
    if (!g->is_given) continue;
    hia_followed p = followed(&specs[i]);
    size_t length = g->is_by_row ? (size_t)g->n_rows * p.row : p.n;
    sum += hiaR_sum_of_squares(specs[i].dtype, length, g->elements);
  }
  return sqrt(sum);
}

/* The coefficients of the step after those that have been made. */
static hia_coefficients coefficients(const hia_optimizing *o, double norm) {
  const hia_trainer_options *x = &o->options;
  bool is_adam = o->kind == HIA_UPDATE_ADAM || o->kind == HIA_UPDATE_ADAMW;
  double left1 = 1 - hiaR_power(x->beta1, o->steps + 1),
         left2 = 1 - hiaR_power(x->beta2, o->steps + 1);
  return (hia_coefficients){
      .scale = x->max_norm > 0 && norm > x->max_norm ? x->max_norm / norm : 1,
      .rate = is_adam ? x->rate / left1 : x->rate,
      .decay = o->kind == HIA_UPDATE_ADAMW ? x->rate * x->decay : x->decay,
      .momentum = x->momentum,
      .beta1 = x->beta1,
      .rest1 = 1 - x->beta1,
      .beta2 = x->beta2,
      .rest2 = 1 - x->beta2,
      .root2 = sqrt(left2),
      .epsilon = x->epsilon,
  };
}

/* ---- a step ---- */

/* A step that is being made. */
typedef struct step {
  hia_optimizing *o;
  const hia_param_gradient *gradients;
  hia_coefficients coefficients;
  const hia_param_state *now;
  hia_param_state *next;
  bool is_advanced; /* the state of the optimizer */
  bool is_in_turn;  /* the last step has made `now`, of the state whose values are recycled */
} step;

/* `length` elements from element `first` on; `gradient` are theirs. */
static void update(const step *s, uint32_t i, size_t first, size_t length, const char *gradient) {
  const hia_followed *p = &s->o->params[i];
  hia_dtype dtype = s->o->specs[i].dtype;
  size_t at = first * hiaR_dtype_size(dtype);
  const char *from = hiaR_state_elements(s->now, i);
  char *to = hiaR_state_writable(s->next, i);
  void *accumulated[HIA_MAX_ACCUMULATED] = {NULL};
  for (uint32_t k = 0; k < hiaR_updates[s->o->kind].n_accumulated; k++)
    accumulated[k] = (char *)p->accumulated[k] + at;
  hia_update *run = hiaR_update(s->o->kind, dtype, s->is_advanced);
  run(&s->coefficients, length, from + at, gradient, accumulated, to + at);
}

/* Makes the next value equal to that of now. If it is the one before last, they differ only where
 * the last step has changed it. */
static void catch_up(const step *s, uint32_t i) {
  const hia_followed *p = &s->o->params[i];
  const char *from = hiaR_state_elements(s->now, i);
  char *to = hiaR_state_writable(s->next, i);
  if (!s->is_in_turn || !s->o->is_recycled[i] || !p->is_by_row) {
    memcpy(to, from, p->bytes);
    return;
  }
  size_t row = p->row * hiaR_dtype_size(s->o->specs[i].dtype);
  for (size_t k = 0; k < p->n_rows; k++) {
    size_t at = (size_t)p->rows[k] * row;
    memcpy(to + at, from + at, row);
  }
}

static void update_rows(const step *s, uint32_t i, const hia_param_gradient *g) {
  const hia_followed *p = &s->o->params[i];
  size_t bytes = p->row * hiaR_dtype_size(s->o->specs[i].dtype);
  catch_up(s, i);
  for (size_t k = 0; k < g->n_rows; k++)
    update(s, i, (size_t)g->rows[k] * p->row, p->row, (const char *)g->elements + k * bytes);
}

static void remember(hia_followed *p, const hia_param_gradient *g) {
  p->is_by_row = g->is_by_row;
  p->n_rows = g->is_by_row ? (size_t)g->n_rows : 0;
  if (p->n_rows) memcpy(p->rows, g->rows, p->n_rows * sizeof *p->rows);
}

static void compute(const step *s) {
  for (uint32_t i = 0; i < s->o->n; i++) {
    const hia_param_gradient *g = &s->gradients[i];
    hia_followed *p = &s->o->params[i];
    if (!g->is_given || !p->n) continue;
    if (g->is_by_row)
      update_rows(s, i, g);
    else
      update(s, i, 0, p->n, g->elements);
    remember(p, g);
  }
}

static hia_status prepare(step *s, hia_param_state *recycled) {
  return hiaR_state_next(s->now, recycled, s->o->is_changed, s->o->is_recycled, &s->next);
}

/* The current state is another than that of which the next one was made: makes it once more. False:
 * a host has put none into the params, and there is no memory for the first values. Then what it
 * has done counts as done after this step, whose values nobody sees. */
static bool again(step *s, hia_params *params, hia_param_state **now) {
  hiaR_state_release(*now);
  if (hiaR_params_hold(params, NULL, NULL, now) != HIA_OK) {
    *now = NULL;
    return false;
  }
  s->now = *now;
  s->is_advanced = true;
  s->is_in_turn = false;
  /* All values that are needed are there, and no other thread has them. */
  if (prepare(s, s->next) != HIA_OK) return s->next = NULL, false;
  compute(s);
  return true;
}

/* Computes the next state, and shows it. */
static void make(step *s, hia_params *params, hia_param_state *now) {
  hia_optimizing *o = s->o;
  bool is_shown = true;
  compute(s);
  while (is_shown && !hiaR_params_exchange(params, now, hiaR_state_hold(s->next))) {
    hiaR_state_release(s->next);
    is_shown = again(s, params, &now);
  }
  o->steps++;
  hiaR_state_release(o->made);
  o->made = s->next;
  o->before = now;
}

hia_status hiaR_optimizing_step(hia_optimizing *o, hia_params *params,
                                const hia_param_gradient *gradients, double norm) {
  hia_param_state *now;
  if (!take_memory(o, gradients)) return HIA_MEMORY;
  hia_status status = hiaR_params_hold(params, NULL, NULL, &now);
  if (status != HIA_OK) return status;
  step s = {.o = o,
            .gradients = gradients,
            .coefficients = coefficients(o, norm),
            .now = now,
            .is_in_turn = now == o->made};
  for (uint32_t i = 0; i < o->n; i++) o->is_changed[i] = gradients[i].is_given;
  status = prepare(&s, o->before);
  o->before = NULL; /* recycled */
  if (status == HIA_OK)
    make(&s, params, now);
  else
    hiaR_state_release(now);
  return status;
}

uint64_t hiaR_optimizing_steps(const hia_optimizing *o) { return o->steps; }
double hiaR_optimizing_rate(const hia_optimizing *o) { return o->options.rate; }
void hiaR_optimizing_set_rate(hia_optimizing *o, double rate) { o->options.rate = rate; }
