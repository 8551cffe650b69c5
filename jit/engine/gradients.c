/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Checks of gradients (hiaton/gradients.h): a function that computes the gradient
 * (graph/grad/step.c), next to differences of values of the function itself (differences.c).
 *
 * An argument is moved by a copy with other elements. The params of a module are moved by another
 * state of all of them; the one that was current is held meanwhile, and to put it back needs no
 * memory. */
#include "graph/grad/grad.h"
#include "graph/ir/build.h"
#include "jit/engine/engine.h"
#include "runtime/value/value.h"
#include <hiaton/gradients.h>
#include <hiaton/params.h>
#include <math.h>

/* ---- what is compared ---- */

typedef struct input {
  const char *name;
  bool is_param;
  uint32_t number; /* of the parameter, or of the param */
  hia_dtype dtype;
  double tolerance, roundoff;
  /* At the arguments of the last run: */
  hia_dims dims;
  uint64_t n_elements;
  hia_gradient_entry *entries;
  uint64_t n_entries, cap;
} input;

struct hia_gradient_check {
  hia_module *module; /* held */
  hia_function *function, *gradient;
  hia_gradient_check_options options; /* without names */
  input *inputs;
  uint32_t n;
  bool has_run;
  double value;
};

static const hia_allocator *allocator_of(const hia_gradient_check *check) {
  return &check->module->engine->allocator;
}
/* ---- making a check ---- */

typedef struct making {
  hia_gradient_check *check;
  const hia_gradient_check_options *options;
  hia_unit *unit; /* for the graph that is looked at */
} making;

/* The dtype of a float or a tensor of floats; HIA_N_DTYPES of all other types. */
static hia_dtype float_of(const hia_type_info *type) {
  if (hia_type_info_kind(type) == HIA_KIND_TENSOR) type = hia_type_info_element(type);
  hia_dtype dtype;
  bool is_scalar = hia_type_info_dtype(type, &dtype) == HIA_OK;
  return is_scalar && (dtype == HIA_F32 || dtype == HIA_F64) ? dtype : HIA_N_DTYPES;
}

static bool is_wanted(const hia_gradient_check_options *options, const char *name) {
  for (size_t i = 0; i < options->n_wrt; i++)
    if (strcmp(options->wrt[i], name) == 0) return true;
  return !options->n_wrt;
}

static bool has_input(const hia_gradient_check *check, const char *name) {
  for (uint32_t i = 0; i < check->n; i++)
    if (strcmp(check->inputs[i].name, name) == 0) return true;
  return false;
}

/* A parameter hides a param of its name. */
static void add_input(making *m, bool is_param, uint32_t number, const char *name,
                      hia_dtype dtype) {
  hia_gradient_check *check = m->check;
  bool is_f32 = dtype == HIA_F32 || check->function->result.info->type == HIA_F32;
  if (!is_wanted(m->options, name) || (is_param && *name && has_input(check, name))) return;
  double tolerance = m->options->tolerance;
  check->inputs[check->n++] = (input){.name = name,
                                      .is_param = is_param,
                                      .number = number,
                                      .dtype = dtype,
                                      .tolerance = tolerance > 0 ? tolerance
                                                   : is_f32      ? 1e-3
                                                                 : 1e-6,
                                      .roundoff = is_f32 ? 0x1p-22 : 0x1p-51};
}

static hia_status find_inputs(making *m, const bool *reads, hia_error **error) {
  hia_gradient_check *check = m->check;
  const hia_function *f = check->function;
  const hia_params *params = &check->module->params;
  for (uint32_t i = 0; i < f->arity; i++) {
    hia_dtype dtype = float_of(f->params[i].info);
    const char *name = f->params[i].name;
    if (dtype != HIA_N_DTYPES) add_input(m, false, i, name ? name : "", dtype);
  }
  for (uint32_t i = 0; i < params->n; i++)
    if (reads[i]) add_input(m, true, i, hia_params_name(params, i), params->specs[i].dtype);
  for (size_t k = 0; k < m->options->n_wrt; k++)
    if (!has_input(check, m->options->wrt[k]))
      return hiaJ_fail(
          allocator_of(check), error, HIA_ARGUMENT, NULL,
          "`%.200s` is no parameter of `%s` and no param that it reads, or is no float",
          m->options->wrt[k], f->signature);
  if (check->n) return HIA_OK;
  return hiaJ_fail(allocator_of(check), error, HIA_ARGUMENT, NULL,
                   "`%s` has no parameters of floats and reads no param: it has no gradient",
                   f->signature);
}

/* The word of a parameter among those of all. */
static uint32_t word_of(const hia_function *f, uint32_t parameter) {
  uint32_t word = 0;
  for (uint32_t i = 0; i < parameter; i++) word += f->params[i].info->n_words;
  return word;
}

/* In a try of the module, and of the unit. */
static hia_status make_gradient(hia_module *module, void *user, hia_error **error) {
  making *m = user;
  hia_gradient_check *check = m->check;
  const hia_function *f = check->function;
  hia_fn_id root;
  hia_status status = hiaJ_build_loss(module, m->unit, f, &root, error);
  if (status != HIA_OK) return status;
  const hia_graph *g = m->unit->graph;
  if (g->state != HIA_FUNCTIONS)
    return hiaJ_fail(allocator_of(check), error, HIA_UNSUPPORTED, NULL,
                     "`%s` is of a static graph, which has no gradients", f->signature);
  hia_arena *scratch = &m->unit->comp.scratch;
  const hia_extern *host = hiaG_lacks_gradient(g, root, scratch);
  if (host)
    return hiaJ_fail(allocator_of(check), error, HIA_ARGUMENT, NULL,
                     "`%s` may call `%s`, a function of the host, which has no gradient",
                     f->signature, host->name);
  status = find_inputs(m, hiaG_params_read_by(g, root, scratch), error);
  if (status != HIA_OK) return status;
  hia_wrt *wrt = HIA_NEW_ARRAY(scratch, hia_wrt, check->n);
  hia_type *types = HIA_NEW_ARRAY(scratch, hia_type, check->n);
  uint32_t n_parts = 0;
  for (uint32_t i = 0; i < check->n; i++) {
    const input *in = &check->inputs[i];
    wrt[i].is_param = in->is_param;
    wrt[i].i = in->is_param ? in->number : word_of(f, in->number);
    types[i] = in->is_param ? hiaG_param_type(&module->types, &module->params.specs[in->number])
                            : f->params[in->number].type;
    n_parts++;
  }
  if (n_parts >= HIA_MAX_TYPE_PARTS)
    return hiaJ_fail(allocator_of(check), error, HIA_UNSUPPORTED, NULL,
                     "`%s` has too many inputs: choose some", f->signature);
  check->gradient = hiaJ_gradient_function(check->function, wrt, types, check->n);
  return HIA_OK;
}

static hia_status nothing(hia_module *module, void *user, hia_error **error) {
  (void)module, (void)user, (void)error;
  return HIA_OK;
}

static hia_status check_function(const hia_function *f, hia_error **error) {
  const hia_allocator *allocator = &f->module->engine->allocator;
  if (f->is_generic)
    return hiaJ_fail(allocator, error, HIA_ARGUMENT, "name an instance, as in loss(f32[?])",
                     "`%s` is generic", f->signature);
  hia_type result = f->result.info->type;
  if (result == HIA_F32 || result == HIA_F64) return HIA_OK;
  return hiaJ_fail(allocator, error, HIA_ARGUMENT, NULL,
                   "the result of `%s` is no f32 or f64: only such a function has a gradient",
                   f->signature);
}

static const char *check_options(const hia_gradient_check_options *o) {
  if (!(o->tolerance >= 0 && o->tolerance <= 1)) return "the tolerance is not between 0 and 1";
  if (!(o->step >= 0 && o->step <= 1e300)) return "the step is below 0, or no number";
  if (o->samples < 1 || o->samples > INT32_MAX) return "there must be 1 sample or more";
  if (o->directions > INT32_MAX) return "there are too many directions";
  if (o->n_wrt && !o->wrt) return "there are no names of inputs";
  for (size_t i = 0; i < o->n_wrt; i++)
    if (!o->wrt[i]) return "a name of an input is NULL";
  return NULL;
}

/* The most inputs that there can be. */
static size_t max_inputs(const hia_function *f) {
  return (size_t)f->arity + f->module->params.n + 1;
}

static hia_status make(hia_gradient_check *check, const hia_gradient_check_options *options,
                       hia_error **error) {
  hia_module *module = check->module;
  making m = {.check = check, .options = options, .unit = hiaJ_unit_new(module->engine)};
  check->inputs = hiaR_alloc(allocator_of(check), max_inputs(check->function) * sizeof(input));
  hia_status status =
      m.unit && check->inputs ? HIA_OK : hiaR_fail_memory(allocator_of(check), error);
  if (status == HIA_OK)
    status = hiaJ_module_try_halves(module, &m.unit->comp, make_gradient, nothing, &m, error);
  hiaJ_unit_free(module->engine, m.unit);
  return status;
}

HIA_SIZED(hia_gradient_check_options, seed);

hia_status hia_gradient_check_new(hia_function *function, const hia_gradient_check_options *options,
                                  hia_gradient_check **check, hia_error **error) {
  if (error) *error = NULL;
  if (check) *check = NULL;
  if (!function) return hiaJ_fail(&hiaR_malloc, error, HIA_ARGUMENT, NULL, "no function");
  const hia_allocator *allocator = &function->module->engine->allocator;
  if (!check) return hiaJ_fail(allocator, error, HIA_ARGUMENT, NULL, "no place for the check");
  hia_gradient_check_options complete = HIA_GRADIENT_CHECK_OPTIONS_INIT;
  if (hiaR_copy_options(allocator, "options of a gradient check", &complete, sizeof complete,
                        options, error))
    return HIA_ARGUMENT;
  const char *wrong = check_options(&complete);
  if (wrong) return hiaJ_fail(allocator, error, HIA_ARGUMENT, NULL, "%s", wrong);
  hia_status status = check_function(function, error);
  if (status != HIA_OK) return status;
  hia_gradient_check *c = hiaR_alloc(allocator, sizeof *c);
  if (!c) return hiaR_fail_memory(allocator, error);
  c->module = function->module;
  c->function = function;
  c->options = complete;
  c->options.wrt = NULL; /* the caller's: they have been looked up */
  c->value = NAN;
  hiaJ_module_keep(c->module);
  status = make(c, &complete, error);
  if (status == HIA_OK)
    *check = c;
  else
    hia_gradient_check_free(c);
  return status;
}

static void forget_entries(hia_gradient_check *check) {
  for (uint32_t i = 0; i < check->n; i++) {
    input *in = &check->inputs[i];
    hiaR_free(allocator_of(check), in->entries, in->cap * sizeof *in->entries);
    in->entries = NULL;
    in->n_entries = in->cap = 0;
  }
  check->has_run = false;
  check->value = NAN;
}

void hia_gradient_check_free(hia_gradient_check *check) {
  if (!check) return;
  hia_module *module = check->module;
  const hia_allocator *allocator = allocator_of(check);
  forget_entries(check);
  hiaR_free(allocator, check->inputs, max_inputs(check->function) * sizeof(input));
  hiaR_free(allocator, check, sizeof *check);
  hiaJ_module_release(module);
}

/* ---- the elements of an input ---- */

static size_t element_size(hia_dtype dtype) {
  return dtype == HIA_F32 ? sizeof(float) : sizeof(double);
}
static double element(hia_dtype dtype, const void *elements, uint64_t i) {
  return dtype == HIA_F32 ? (double)((const float *)elements)[i] : ((const double *)elements)[i];
}
static void put_element(hia_dtype dtype, void *elements, uint64_t i, double x) {
  if (dtype == HIA_F32)
    ((float *)elements)[i] = (float)x;
  else
    ((double *)elements)[i] = x;
}
/* Gives the elements of a value that is a scalar or a tensor of floats. */
static const void *elements_of(const hia_value *value) {
  return hia_type_info_kind(value->type) == HIA_KIND_TENSOR ? hia_value_elements(value)
                                                            : (const void *)value->words;
}

/* ---- values near the arguments ---- */

/* The run of a check. */
typedef struct checking {
  hia_gradient_check *check;
  hia_value *const *args;
  hia_value **moved; /* the arguments, but for one that is moved */
  size_t n;
  const hia_run_options *run;
  hia_param_state *params; /* the current state; NULL: the program has none */
  hia_error **error;
} checking;

/* What is moved: an element of an input, or all elements along a direction. */
typedef struct moving {
  checking *c;
  const input *in;
  const void *from;  /* the elements of the input */
  void *to;          /* its elements where it is moved */
  const bool *falls; /* by element: the direction; or NULL */
  uint64_t element;
} moving;

static hia_value *argument_at(const moving *m) {
  hia_engine *engine = m->c->check->module->engine;
  const hia_value *was = m->c->args[m->in->number];
  hia_value *value = NULL;
  if (hia_type_info_kind(was->type) != HIA_KIND_TENSOR) {
    double x = element(m->in->dtype, m->to, 0);
    return m->in->dtype == HIA_F32 ? hia_value_f32(engine, (float)x) : hia_value_f64(engine, x);
  }
  hia_data_tensor(&engine->allocator, was->type, hia_value_dims(was), m->to, &value, NULL);
  return value;
}

static hia_status param_at(const moving *m) {
  hia_module *module = m->c->check->module;
  size_t size = ((size_t)module->params.n + 1) * sizeof(void *);
  const void **elements = hiaR_alloc(&module->engine->allocator, size);
  if (!elements) return hiaR_fail_memory(allocator_of(m->c->check), m->c->error);
  elements[m->in->number] = m->to;
  hia_param_state *state;
  hia_param_values values = {.elements = elements, .from = m->c->params};
  hia_status status = hiaR_state_new(module->params.specs, module->params.n, &values,
                                     hiaR_params_allocator(&module->params), &state);
  if (status == HIA_OK)
    hiaR_params_set(&module->params, state);
  else
    status = hiaR_fail_memory(allocator_of(m->c->check), m->c->error);
  hiaR_free(&module->engine->allocator, elements, size);
  return status;
}

static double number_of(const hia_value *value) {
  return value->type->type == HIA_F32 ? (double)hiaR_to_f32(value->words[0])
                                      : hiaR_to_f64(value->words[0]);
}

/* True if the program fails as it says, whatever the engine: there the function has no value. */
static bool is_of_program(hia_status status) {
  return status >= HIA_DIV_ZERO && status < HIA_MEMORY && status != HIA_HOST;
}

/* A hiaJ_at. */
static hia_status value_at(void *user, double t, double *value) {
  const moving *m = user;
  checking *c = m->c;
  hia_dtype dtype = m->in->dtype;
  *value = NAN;
  for (uint64_t i = 0; m->falls && i < m->in->n_elements; i++)
    put_element(dtype, m->to, i, element(dtype, m->from, i) + (m->falls[i] ? -t : t));
  if (!m->falls) put_element(dtype, m->to, m->element, element(dtype, m->from, m->element) + t);
  hia_value *argument = NULL, *result = NULL;
  hia_status status = HIA_OK;
  if (m->in->is_param) {
    status = param_at(m);
  } else {
    argument = argument_at(m);
    if (!argument) status = hiaR_fail_memory(allocator_of(c->check), c->error);
    c->moved[m->in->number] = argument;
  }
  if (status == HIA_OK) {
    status = hia_run(c->check->function, c->moved, c->n, c->run, &result, c->error);
    if (is_of_program(status)) {
      if (c->error) hia_error_free(*c->error), *c->error = NULL;
      status = HIA_OK;
    } else if (status == HIA_OK) {
      *value = number_of(result);
    }
  }
  if (m->in->is_param) hiaR_params_set(&c->check->module->params, hiaR_state_hold(c->params));
  if (!m->in->is_param) c->moved[m->in->number] = c->args[m->in->number];
  if (!m->falls) put_element(dtype, m->to, m->element, element(dtype, m->from, m->element));
  hia_value_free(argument);
  hia_value_free(result);
  return status;
}

/* ---- judging ---- */

/* What numbers are compared with: the size of the derivative and its parts, and below which size a
 * derivative is nothing. */
typedef struct scale {
  double parts, least;
} scale;

static double largest(double a, double b) { return a > b ? a : b; }

/* The difference is known to a tenth, or it is next to nothing. */
static bool is_known(const hia_difference *d, const scale *s) {
  return !d->is_rough && 4 * d->doubt <= largest(0.1 * fabs(d->slope), s->least);
}

/* True if the differences of both sides disagree, or those of one side alone are known. They may
 * also be unknown for rounding alone: then it is so on both sides, to about the same degree. */
static bool has_sides(const hia_differences *d, const scale *s) {
  const hia_difference *a = &d->above, *b = &d->below;
  bool is_above = is_known(a, s), is_below = is_known(b, s);
  if (isnan(a->slope) != isnan(b->slope)) return true;
  if (is_above && is_below) {
    double allowed = 0.01 * largest(fabs(a->slope), fabs(b->slope)) + 4 * (a->doubt + b->doubt);
    return fabs(a->slope - b->slope) > allowed + s->least;
  }
  if (is_above == is_below) return false;
  const hia_difference *known = is_above ? a : b, *opposite = is_above ? b : a;
  return opposite->doubt > 0.5 * fabs(opposite->slope) &&
         opposite->doubt > 100 * known->doubt + s->least;
}

static double allowed_of(const hia_gradient_entry *e, double tolerance, const scale *s) {
  double size = largest(fabs(e->difference), s->parts);
  return tolerance * (isfinite(e->gradient) ? largest(fabs(e->gradient), size) : size) +
         4 * e->doubt;
}

static hia_gradient_verdict judge(const hia_gradient_entry *e, const hia_differences *d,
                                  double tolerance, const scale *s) {
  if (has_sides(d, s)) return HIA_GRADIENT_SIDES;
  if (isnan(d->both.slope)) return HIA_GRADIENT_UNSURE;
  bool is_near = fabs(e->gradient - e->difference) <= allowed_of(e, tolerance, s);
  if (!is_known(&d->both, s)) return HIA_GRADIENT_UNSURE;
  return is_near ? HIA_GRADIENT_AGREES : HIA_GRADIENT_DIFFERS;
}

/* The greatest power of 2 that is not above x, a positive number. */
static double power_below(double x) {
  int exponent;
  frexp(x, &exponent);
  return ldexp(1, exponent - 1);
}

/* The magnitude of x: a power of 2 above it. What is near 0 is taken to be a quarter: functions of
 * f32 need steps that are large. */
static double magnitude(double x) { return 2 * power_below(largest(fabs(x), 0.125)); }

/* ---- comparing ---- */

static hia_status compare(moving *m, double gradient, double step, const scale *s,
                          hia_gradient_entry *e) {
  hia_differences d;
  hia_status status = hiaJ_differences(value_at, m, m->c->check->value, step, m->in->roundoff, &d);
  if (status != HIA_OK) return status;
  *e = (hia_gradient_entry){.size = sizeof *e,
                            .element = m->falls ? HIA_GRADIENT_DIRECTION : m->element,
                            .gradient = gradient,
                            .difference = d.both.slope,
                            .doubt = d.both.doubt,
                            .below = d.below.slope,
                            .above = d.above.slope};
  e->verdict = (uint64_t)judge(e, &d, m->in->tolerance, s);
  return HIA_OK;
}

/* A number for each of these, evenly spread (SplitMix64: Steele, Lea, Flood, OOPSLA 2014). */
static uint64_t mixed(uint64_t seed, uint64_t a, uint64_t b) {
  uint64_t z = seed + (a * 0x10001 + b + 1) * HIA_MIX;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

static double step_of(const hia_gradient_check *check, double x) {
  return check->options.step > 0 ? power_below(check->options.step) : magnitude(x) / 2;
}

/* A derivative below this is nothing: it is in proportion to the largest one. If all are 0 it is
 * what rounding may make of a value that does not change, at steps that are not the smallest. */
static double least_of(const hia_gradient_check *check, const input *in, double size, double step) {
  return size > 0 ? in->tolerance * size : 0x1p13 * in->roundoff * fabs(check->value) / step;
}

/* Element k of those that are compared: one from each of as many parts of the input. */
static uint64_t sample(const hia_gradient_check *check, uint32_t i, uint64_t k) {
  const input *in = &check->inputs[i];
  uint64_t n = check->options.samples;
  if (in->n_elements <= n) return k;
  uint64_t width = in->n_elements / n, rest = in->n_elements % n;
  uint64_t from = k * width + (k < rest ? k : rest);
  return from + mixed(check->options.seed, i, k) % (width + (k < rest));
}

/* `size`: the largest part of all gradients. */
static hia_status compare_elements(moving *m, uint32_t i, uint64_t n, const void *gradient,
                                   double size) {
  hia_gradient_check *check = m->c->check;
  input *in = &check->inputs[i];
  hia_status status = HIA_OK;
  for (uint64_t k = 0; k < n && status == HIA_OK; k++) {
    m->element = sample(check, i, k);
    double step = step_of(check, element(in->dtype, m->from, m->element));
    scale s = {0, least_of(check, in, size, step)};
    status =
        compare(m, element(in->dtype, gradient, m->element), step, &s, &in->entries[in->n_entries]);
    if (status == HIA_OK) in->n_entries++;
  }
  return status;
}

static hia_status compare_directions(moving *m, uint32_t i, const void *gradient, double size) {
  hia_gradient_check *check = m->c->check;
  input *in = &check->inputs[i];
  uint64_t n = in->n_elements;
  bool *falls = hiaR_alloc(allocator_of(check), (size_t)n);
  if (!falls) return hiaR_fail_memory(allocator_of(check), m->c->error);
  hia_status status = HIA_OK;
  for (uint64_t k = 0; k < check->options.directions && status == HIA_OK; k++) {
    double slope = 0, squares = 0, from = 0;
    for (uint64_t e = 0; e < n; e++) {
      double g = element(in->dtype, gradient, e);
      falls[e] = mixed(check->options.seed + k + 1, i, e) & 1;
      slope += falls[e] ? -g : g;
      squares += g * g;
      from = largest(from, fabs(element(in->dtype, m->from, e)));
    }
    /* All elements move at once: by less, but not by so little that f32 loses it. */
    double step = step_of(check, from);
    if (!(check->options.step > 0)) step *= largest(power_below(1 / sqrt((double)n)), 0x1p-7);
    scale s = {sqrt(squares), least_of(check, in, largest(size, sqrt(squares)), step)};
    m->falls = falls;
    status = compare(m, slope, step, &s, &in->entries[in->n_entries]);
    if (status == HIA_OK) in->n_entries++;
  }
  hiaR_free(allocator_of(check), falls, (size_t)n);
  m->falls = NULL;
  return status;
}

static uint64_t smallest(uint64_t a, uint64_t b) { return a < b ? a : b; }

static hia_status compare_input(checking *c, uint32_t i, const void *from, const void *gradient,
                                double largest_part) {
  hia_gradient_check *check = c->check;
  const hia_allocator *allocator = allocator_of(check);
  input *in = &check->inputs[i];
  uint64_t n = smallest(in->n_elements, check->options.samples);
  bool is_large = in->n_elements > n;
  size_t size = (size_t)in->n_elements * element_size(in->dtype);
  in->cap = n + (is_large ? check->options.directions : 0) + 1;
  in->entries = hiaR_alloc(allocator, in->cap * sizeof *in->entries);
  moving m = {.c = c, .in = in, .from = from, .to = hiaR_alloc_large(allocator, size + 1)};
  hia_status status =
      in->entries && m.to ? HIA_OK : hiaR_fail_memory(allocator_of(check), c->error);
  if (!in->entries) in->cap = 0;
  if (status == HIA_OK) memcpy(m.to, from, size);
  if (status == HIA_OK) status = compare_elements(&m, i, n, gradient, largest_part);
  if (status == HIA_OK && is_large) status = compare_directions(&m, i, gradient, largest_part);
  hiaR_free(allocator, m.to, size + 1);
  return status;
}

/* ---- a run ---- */

/* Notes sizes, and returns the elements where all inputs are now. */
static const void *look_at(checking *c, input *in) {
  if (in->is_param) {
    in->dims = c->check->module->params.specs[in->number].shape;
  } else {
    const hia_value *value = c->args[in->number];
    in->dims = (hia_dims){0};
    if (hia_type_info_kind(value->type) == HIA_KIND_TENSOR)
      in->dims = hiaR_tensor_dims(hiaR_tensor(value->words[0]));
  }
  in->n_elements = 1;
  for (uint32_t k = 0; k < in->dims.rank; k++) in->n_elements *= (uint64_t)in->dims.dims[k];
  return in->is_param ? hiaR_state_elements(c->params, in->number)
                      : elements_of(c->args[in->number]);
}

/* The largest part of a gradient that is a number. */
static double largest_of(const input *in, const void *gradient) {
  double size = 0;
  for (uint64_t e = 0; e < in->n_elements; e++) {
    double g = fabs(element(in->dtype, gradient, e));
    if (isfinite(g)) size = largest(size, g);
  }
  return size;
}

/* `gradients`: by input. */
static hia_status compare_all(checking *c, hia_value *const *gradients) {
  hia_gradient_check *check = c->check;
  double size = 0;
  hia_status status = HIA_OK;
  for (uint32_t i = 0; i < check->n; i++) {
    look_at(c, &check->inputs[i]);
    size = largest(size, largest_of(&check->inputs[i], elements_of(gradients[i])));
  }
  for (uint32_t i = 0; i < check->n && status == HIA_OK; i++) {
    const void *from = look_at(c, &check->inputs[i]);
    status = compare_input(c, i, from, elements_of(gradients[i]), size);
  }
  return status;
}

static hia_status take_apart(checking *c, const hia_value *result) {
  hia_gradient_check *check = c->check;
  size_t size = ((size_t)check->n + 1) * sizeof(hia_value *);
  hia_value **gradients = hiaR_alloc(allocator_of(check), size);
  hia_status status = gradients ? HIA_OK : hiaR_fail_memory(allocator_of(check), c->error);
  for (uint32_t i = 0; i < check->n && status == HIA_OK; i++) {
    gradients[i] = hia_value_part(result, 1 + i);
    if (!gradients[i]) status = hiaR_fail_memory(allocator_of(check), c->error);
  }
  if (status == HIA_OK) status = compare_all(c, gradients);
  for (uint32_t i = 0; gradients && i < check->n; i++) hia_value_free(gradients[i]);
  hiaR_free(allocator_of(check), gradients, size);
  return status;
}

static hia_status run_at(checking *c) {
  hia_gradient_check *check = c->check;
  hia_value *value, *result = NULL;
  hia_status status = hia_run(check->function, c->args, c->n, c->run, &value, c->error);
  if (status != HIA_OK) return status;
  check->value = number_of(value);
  hia_value_free(value);
  if (!isfinite(check->value))
    return hiaJ_fail(allocator_of(check), c->error, HIA_ARGUMENT, NULL,
                     "the value of `%s` at these arguments is %g: there is no gradient to compare",
                     check->function->signature, check->value);
  status = hia_run(check->gradient, c->args, c->n, c->run, &result, c->error);
  if (status == HIA_OK) status = take_apart(c, result);
  hia_value_free(result);
  return status;
}

hia_status hia_gradient_check_run(hia_gradient_check *check, hia_value *const *args, size_t n,
                                  const hia_run_options *run, hia_error **error) {
  if (error) *error = NULL;
  if (!check) return hiaJ_fail(&hiaR_malloc, error, HIA_ARGUMENT, NULL, "no check");
  hia_module *module = check->module;
  const hia_allocator *allocator = allocator_of(check);
  forget_entries(check);
  hia_run_options complete;
  hia_status status = hiaJ_run_options(check->function, run, &complete, error);
  if (status != HIA_OK) return status;
  if (complete.streams)
    return hiaJ_fail(allocator, error, HIA_ARGUMENT, NULL, "a gradient is of values, not streams");
  if (n && !args) return hiaJ_fail(allocator, error, HIA_ARGUMENT, NULL, "no arguments");
  size_t size = (n + 1) * sizeof(hia_value *);
  checking c = {.check = check, .args = args, .n = n, .run = run, .error = error};
  c.moved = hiaR_alloc(allocator, size);
  if (!c.moved) return hiaR_fail_memory(allocator_of(check), error);
  if (n) memcpy(c.moved, args, n * sizeof *args);
  if (module->params.n && hiaR_params_hold(&module->params, NULL, NULL, &c.params))
    status = hiaR_fail_memory(allocator_of(check), error);
  if (status == HIA_OK) status = run_at(&c);
  hiaR_state_release(c.params);
  hiaR_free(allocator, c.moved, size);
  if (status == HIA_OK)
    check->has_run = true;
  else
    forget_entries(check);
  return status;
}

/* ---- the report ---- */

size_t hia_gradient_check_count(const hia_gradient_check *check) { return check ? check->n : 0; }

double hia_gradient_check_value(const hia_gradient_check *check) {
  return check ? check->value : NAN;
}

static const input *input_of(const hia_gradient_check *check, size_t i) {
  return check && check->has_run && i < check->n ? &check->inputs[i] : NULL;
}

/* How far gradient and difference are from each other, in proportion. */
static double distance(const hia_gradient_entry *e) {
  double apart = fabs(e->gradient - e->difference), size = fabs(e->difference) + 4 * e->doubt;
  if (!isfinite(apart)) return INFINITY;
  return apart / largest(largest(size, fabs(e->gradient)), 0x1p-1000);
}

static bool is_worse(const hia_gradient_entry *e, const hia_gradient_entry *than) {
  static const int gravity[] = {[HIA_GRADIENT_SIDES] = 0,
                                [HIA_GRADIENT_UNSURE] = 1,
                                [HIA_GRADIENT_AGREES] = 2,
                                [HIA_GRADIENT_DIFFERS] = 3};
  if (e->verdict != than->verdict) return gravity[e->verdict] > gravity[than->verdict];
  return distance(e) > distance(than);
}

HIA_SIZED(hia_gradient_input, worst);
HIA_SIZED(hia_gradient_entry, verdict);

hia_status hia_gradient_check_input(const hia_gradient_check *check, size_t i,
                                    hia_gradient_input *out) {
  const input *in = input_of(check, i);
  if (!in || !out || out->size < sizeof out->size) return HIA_ARGUMENT;
  hia_gradient_input filled = {.size = sizeof filled,
                               .name = in->name,
                               .number = in->number,
                               .is_param = in->is_param,
                               .rank = in->dims.rank,
                               .dims = in->dims.dims,
                               .n_elements = in->n_elements,
                               .n_entries = in->n_entries};
  uint64_t *const counts[] = {[HIA_GRADIENT_AGREES] = &filled.n_agree,
                              [HIA_GRADIENT_SIDES] = &filled.n_sides,
                              [HIA_GRADIENT_UNSURE] = &filled.n_unsure,
                              [HIA_GRADIENT_DIFFERS] = &filled.n_differ};
  for (uint64_t k = 0; k < in->n_entries; k++) {
    ++*counts[in->entries[k].verdict];
    if (is_worse(&in->entries[k], &in->entries[filled.worst])) filled.worst = k;
  }
  hiaR_sized_copy_out(&filled, sizeof filled, out, out->size);
  return HIA_OK;
}

hia_status hia_gradient_check_entry(const hia_gradient_check *check, size_t i, uint64_t k,
                                    hia_gradient_entry *entry) {
  const input *in = input_of(check, i);
  if (!in || k >= in->n_entries || !entry || entry->size < sizeof entry->size) return HIA_ARGUMENT;
  hiaR_sized_copy_out(&in->entries[k], sizeof *in->entries, entry, entry->size);
  return HIA_OK;
}
