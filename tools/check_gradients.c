/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* hiaton check-gradients. docs/gradients.md describes what it prints. */
#include "tools/json.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

enum { MAX_RANK = 16 }; /* of a tensor (hiaton/tensors.h) */

/* ---- names ---- */

/* The words of --wrt, in a copy of it that the caller frees. Returns an exit status. */
static int split_names(const char *list, char **copy, const char **names, size_t *n) {
  *n = 0;
  *copy = NULL;
  if (!list) return EXIT_FINE;
  *copy = strdup(list);
  if (!*copy) return tool_fail(NULL, HIA_MEMORY);
  for (char *at = *copy; at; (*n)++) {
    if (*n == MAX_WRT) {
      fprintf(stderr, "error[argument]: --wrt names more than %d inputs\n", MAX_WRT);
      return EXIT_USAGE;
    }
    names[*n] = at;
    at = strchr(at, ',');
    if (at) *at++ = 0;
  }
  return EXIT_FINE;
}

/* ---- lines of text ---- */

static const char *const verdicts[] = {[HIA_GRADIENT_AGREES] = "agrees",
                                       [HIA_GRADIENT_SIDES] = "sides",
                                       [HIA_GRADIENT_UNSURE] = "unsure",
                                       [HIA_GRADIENT_DIFFERS] = "differs"};

/* The indices of an element in its tensor. */
static void find_indices(const hia_gradient_input *in, uint64_t element, int64_t *indices) {
  for (size_t k = in->rank; k-- > 0;) {
    indices[k] = (int64_t)(element % (uint64_t)in->dims[k]);
    element /= (uint64_t)in->dims[k];
  }
}

static void print_name(const hia_gradient_input *in) {
  if (*in->name)
    printf("%s", in->name);
  else
    printf("argument %zu", in->number + 1);
}

static void print_element(const hia_gradient_input *in, uint64_t element) {
  int64_t indices[MAX_RANK];
  print_name(in);
  if (element == HIA_GRADIENT_DIRECTION) {
    printf(", along a direction");
    return;
  }
  find_indices(in, element, indices);
  for (size_t k = 0; k < in->rank; k++)
    printf("%s%" PRId64 "%s", k ? ", " : "[", indices[k], k + 1 == in->rank ? "]" : "");
}

static void print_entry(const hia_gradient_input *in, const hia_gradient_entry *e) {
  printf("  ");
  print_element(in, e->element);
  printf(": the gradient is %.10g", e->gradient);
  if (e->verdict == HIA_GRADIENT_SIDES)
    printf(", differences from below say %.10g, from above %.10g\n", e->below, e->above);
  else
    printf(", differences say %.10g, with an error of %.1e\n", e->difference, e->doubt);
}

static void print_count(uint64_t n, const char *what, bool *is_first) {
  if (!n) return;
  printf("%s%" PRIu64 " %s", *is_first ? "" : ", ", n, what);
  *is_first = false;
}

/* What was found of one input or of all. */
static void print_counts(const hia_gradient_input *in) {
  bool is_first = true;
  print_count(in->n_differ, in->n_differ == 1 ? "differs" : "differ", &is_first);
  print_count(in->n_agree, in->n_agree == 1 ? "agrees" : "agree", &is_first);
  print_count(in->n_sides, in->n_sides == 1 ? "has two sides" : "have two sides", &is_first);
  print_count(in->n_unsure, in->n_unsure == 1 ? "is not certain" : "are not certain", &is_first);
  if (is_first) printf("there are no elements");
}

/* Says how much of a large input was compared. */
static void print_sampling(const hia_gradient_check *check, size_t i,
                           const hia_gradient_input *in) {
  uint64_t n = in->n_entries;
  hia_gradient_entry e = HIA_GRADIENT_ENTRY_INIT;
  while (n && hia_gradient_check_entry(check, i, n - 1, &e) == HIA_OK &&
         e.element == HIA_GRADIENT_DIRECTION)
    n--;
  if (n < in->n_elements)
    printf(" (%" PRIu64 " of %" PRIu64 " elements, %" PRIu64 " directions)", n, in->n_elements,
           in->n_entries - n);
}

static void print_input(const hia_gradient_check *check, size_t i, const hia_gradient_input *in) {
  hia_gradient_entry e = HIA_GRADIENT_ENTRY_INIT;
  print_name(in);
  printf(": ");
  print_counts(in);
  print_sampling(check, i, in);
  putchar('\n');
  if (hia_gradient_check_entry(check, i, in->worst, &e) == HIA_OK) print_entry(in, &e);
  /* The first one that there is nothing to compare with. */
  for (uint64_t k = 0; e.verdict != HIA_GRADIENT_SIDES && in->n_sides && k < in->n_entries; k++) {
    hia_gradient_check_entry(check, i, k, &e);
    if (e.verdict == HIA_GRADIENT_SIDES) print_entry(in, &e);
  }
}

static void add_counts(hia_gradient_input *sum, const hia_gradient_input *in) {
  sum->n_agree += in->n_agree;
  sum->n_sides += in->n_sides;
  sum->n_unsure += in->n_unsure;
  sum->n_differ += in->n_differ;
}

static int report_text(const hia_gradient_check *check) {
  hia_gradient_input sum = HIA_GRADIENT_INPUT_INIT;
  size_t n = hia_gradient_check_count(check);
  for (size_t i = 0; i < n; i++) {
    hia_gradient_input in = HIA_GRADIENT_INPUT_INIT;
    hia_gradient_check_input(check, i, &in);
    print_input(check, i, &in);
    add_counts(&sum, &in);
  }
  if (n > 1) {
    printf("all: ");
    print_counts(&sum);
    putchar('\n');
  }
  return sum.n_differ ? EXIT_PROGRAM : EXIT_FINE;
}

/* ---- --json ---- */

/* JSON has no NaN and no infinity. */
static json_t *json_number(double x) { return isfinite(x) ? json_real(x) : json_null(); }

static json_t *json_sizes(const int64_t *sizes, size_t n) {
  json_t *list = json_array();
  for (size_t k = 0; k < n; k++)
    if (json_array_append_new(list, json_integer((json_int_t)sizes[k])) != 0) {
      json_decref(list);
      return NULL;
    }
  return list;
}

static json_t *json_entry(const hia_gradient_input *in, const hia_gradient_entry *e) {
  int64_t indices[MAX_RANK];
  bool is_element = e->element != HIA_GRADIENT_DIRECTION;
  if (is_element) find_indices(in, e->element, indices);
  return json_pack("{s:o, s:s, s:o, s:o, s:o, s:o, s:o}", "element",
                   is_element ? json_sizes(indices, in->rank) : json_null(), "verdict",
                   verdicts[e->verdict], "gradient", json_number(e->gradient), "difference",
                   json_number(e->difference), "error", json_number(e->doubt), "below",
                   json_number(e->below), "above", json_number(e->above));
}

static json_t *json_input(const hia_gradient_check *check, size_t i, const hia_gradient_input *in) {
  json_t *entries = json_array();
  int failed = 0;
  for (uint64_t k = 0; k < in->n_entries; k++) {
    hia_gradient_entry e = HIA_GRADIENT_ENTRY_INIT;
    hia_gradient_check_entry(check, i, k, &e);
    failed |= json_array_append_new(entries, json_entry(in, &e));
  }
  json_t *row = json_pack("{s:o, s:s, s:o, s:I, s:I, s:I, s:I, s:I, s:o}", "name",
                          tool_json_text(in->name), "kind", in->is_param ? "param" : "parameter",
                          "dims", json_sizes(in->dims, in->rank), "elements",
                          (json_int_t)in->n_elements, "agree", (json_int_t)in->n_agree, "sides",
                          (json_int_t)in->n_sides, "unsure", (json_int_t)in->n_unsure, "differ",
                          (json_int_t)in->n_differ, "derivatives", entries);
  if (!failed) return row;
  json_decref(row);
  return NULL;
}

static int report_json(const tool_options *options, const hia_function *function,
                       const hia_gradient_check *check) {
  json_t *inputs = json_array();
  uint64_t n_differ = 0;
  int failed = 0;
  for (size_t i = 0; i < hia_gradient_check_count(check); i++) {
    hia_gradient_input in = HIA_GRADIENT_INPUT_INIT;
    hia_gradient_check_input(check, i, &in);
    failed |= json_array_append_new(inputs, json_input(check, i, &in));
    n_differ += in.n_differ;
  }
  json_t *root = json_pack("{s:s, s:i, s:o, s:o, s:o, s:b, s:o}", "hiaton", hia_version(), "schema",
                           1, "file", tool_json_text(tool_source_name(options)), "function",
                           tool_json_text(hia_function_signature(function)), "value",
                           json_number(hia_gradient_check_value(check)), "ok", n_differ == 0,
                           "inputs", inputs);
  if (failed) {
    json_decref(root);
    root = NULL;
  }
  int code = tool_json_print(root, 17);
  return code == EXIT_FINE && n_differ ? EXIT_PROGRAM : code;
}

/* ---- the command ---- */

/* Nothing but the time is known. */
static void say(void *unused, char *text, size_t size) {
  (void)unused;
  if (size) text[0] = 0;
}

static int check_function(const tool_options *options, hia_function *function,
                          const tool_arguments *args) {
  hia_gradient_check_options check_options = options->gradients.check;
  const char *names[MAX_WRT];
  char *copy;
  hia_gradient_check *check = NULL;
  hia_error *error;
  int code = split_names(options->gradients.wrt, &copy, names, &check_options.n_wrt);
  check_options.wrt = names;
  check_options.seed = options->seed;
  if (code == EXIT_FINE) {
    tool_progress_begin(function, say, NULL);
    hia_status status = hia_gradient_check_new(function, &check_options, &check, &error);
    if (status == HIA_OK)
      status = hia_gradient_check_run(check, args->values, options->n_args, NULL, &error);
    tool_progress_end();
    if (status != HIA_OK) code = tool_fail(error, status);
  }
  if (code == EXIT_FINE)
    code = options->json ? report_json(options, function, check) : report_text(check);
  hia_gradient_check_free(check);
  free(copy);
  return code;
}

int tool_check_gradients(const tool_options *options) {
  hia_engine *engine = NULL;
  hia_module *module = NULL;
  hia_function *function;
  tool_arguments args = {0};
  hia_engine_kind kind = options->n_engines ? options->engines[0] : HIA_ENGINE_JIT;
  int code = tool_load(options, kind, &engine, &module);
  if (code == EXIT_FINE) code = tool_function(options, module, &function);
  if (code == EXIT_FINE) code = tool_args(engine, &function, options, false, &args);
  if (code == EXIT_FINE) code = check_function(options, function, &args);
  tool_free_args(&args, options->n_args);
  hia_module_free(module);
  hia_engine_free(engine);
  return code;
}
