/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Included by the C file that aot.c writes: runs each case natively and interpreted, and compares
 * the outcome, in the form of run.h, with the expected one. */
#include <hiaton/data.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A private function of libhiaton_rt.a: prints a scalar like the command line. */
size_t hiaR_print_word(char *buf, size_t size, hia_dtype dtype, uint64_t word);

typedef struct view { /* of a tensor of any dtype and rank */
  const void *elements;
  int64_t dims[16];
} view;

typedef struct outcome {
  char text[4096];
  size_t len;
  const char *type; /* the rest of the result's type, whose words are still to be printed */
  hia_status status;
  hia_value *args[16]; /* of the case */
  view views[16];      /* of those that are tensors */
  unsigned n_args;
} outcome;
typedef hia_value *value; /* a result of data */
typedef struct row {
  void (*run)(hia_context *context, outcome *o);
  const char *where, *expected;
} row;

/* An argument, which `end` frees. */
static inline hia_value *value_of(outcome *o, const hia_type_info *type, const char *text) {
  hia_error *error;
  hia_value **to = &o->args[o->n_args++];
  if (hia_data_read(NULL, type, NULL, text, strlen(text), to, &error) != HIA_OK)
    fputs(hia_error_text(error), stderr);
  return *to;
}
/* The same for a tensor. */
static inline const void *tensor_of(outcome *o, const hia_type_info *type, const char *text) {
  view *v = &o->views[o->n_args];
  hia_value *value = value_of(o, type, text);
  v->elements = hia_value_elements(value);
  memcpy(v->dims, hia_value_dims(value), hia_type_info_rank(type) * sizeof *v->dims);
  return v;
}
static inline void end(outcome *o) {
  while (o->n_args) hia_value_free(o->args[--o->n_args]);
}

static inline float f32_of(uint32_t bits) {
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}
static inline double f64_of(uint64_t bits) {
  double x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

static void add(outcome *o, const char *text) {
  o->len += (size_t)snprintf(o->text + o->len, sizeof o->text - o->len, "%s", text);
}

/* Adds the brackets and commas before the next scalar of the type. */
static void punctuation(outcome *o) {
  size_t n = strspn(o->type, "(), ");
  o->len += (size_t)snprintf(o->text + o->len, sizeof o->text - o->len, "%.*s", (int)n, o->type);
  o->type += n;
}

static void chain(outcome *o, const hia_error *error) {
  enum { HEAD = 16, TAIL = 8 };
  uint64_t length = hia_error_chain_length(error);
  for (uint64_t i = 0; i < length; i++) {
    char text[256];
    if (i == HEAD && length > HEAD + TAIL) {
      snprintf(text, sizeof text, " ..%llu..", (unsigned long long)(length - HEAD - TAIL));
      add(o, text);
      i = length - TAIL;
    }
    const char *function;
    uint32_t line, col;
    hia_error_chain_entry(error, i, &function, NULL, &line, &col);
    snprintf(text, sizeof text, " %s@%u:%u", function, line, col);
    add(o, text);
    int64_t elements[8];
    uint32_t n = hia_error_chain_elements(error, i, elements, 8);
    for (uint32_t k = 0; k < n && k < 8; k++) {
      snprintf(text, sizeof text, "[%lld]", (long long)elements[k]);
      add(o, text);
    }
  }
}

static inline void begin(outcome *o, hia_context *context, hia_status status, const char *type) {
  o->len = 0;
  o->text[0] = 0;
  o->type = type;
  o->status = status;
  if (status == HIA_OK) {
    punctuation(o);
    return;
  }
  const hia_error *error = hia_context_error(context);
  char text[256];
  snprintf(text, sizeof text, "error %s", hia_status_word(status));
  add(o, text);
  if (status == HIA_FAILED) {
    snprintf(text, sizeof text, "(%lld)", (long long)hia_error_fail_code(error));
    add(o, text);
  }
  if ((status >= HIA_DIV_ZERO && status < HIA_MEMORY) || status == HIA_FUEL) chain(o, error);
}

/* Adds the fuel that a call has left to the outcome; the context has none afterwards. */
static inline void add_fuel(outcome *o, hia_context *context) {
  uint64_t left;
  char text[64];
  hia_context_fuel_left(context, &left);
  snprintf(text, sizeof text, ", %llu fuel left", (unsigned long long)left);
  if (o->status == HIA_OK || o->status == HIA_FUEL) add(o, text);
  hia_context_clear_fuel(context);
}

/* After a map, which has written all rows, or of which the first row has failed. */
static inline void check_rows(outcome *o, const hia_context *context, uint64_t n) {
  if (hia_context_rows(context) != (o->status == HIA_OK ? n : 0)) add(o, " wrong number of rows");
}

static void add_word(outcome *o, hia_dtype dtype, uint64_t word) {
  if (o->status != HIA_OK) return;
  char text[64];
  hiaR_print_word(text, sizeof text, dtype, word);
  add(o, text);
  o->type += strcspn(o->type, "(), ");
  punctuation(o);
}
/* Skips a data type, or an array with all in its brackets. */
static inline void add_value(outcome *o, hia_value *value) {
  if (o->status != HIA_OK) return;
  char text[4096];
  hia_value_format(value, text, sizeof text);
  hia_value_free(value);
  add(o, text);
  int depth = 0;
  do {
    depth += (*o->type == '[') - (*o->type == ']');
    o->type++;
  } while (depth || !strchr("(), ", *o->type));
  punctuation(o);
}
static inline void add_bool(outcome *o, bool x) { add_word(o, HIA_BOOL, x); }
static inline void add_int32_t(outcome *o, int32_t x) {
  add_word(o, HIA_I32, (uint64_t)(int64_t)x);
}
static inline void add_int64_t(outcome *o, int64_t x) { add_word(o, HIA_I64, (uint64_t)x); }
static inline void add_float(outcome *o, float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  add_word(o, HIA_F32, bits);
}
static inline void add_double(outcome *o, double x) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  add_word(o, HIA_F64, bits);
}

static bool fits(const char *expected, const char *got) {
  size_t n = strlen(expected);
  if (n >= 3 && !strcmp(expected + n - 3, "...")) return !strncmp(expected, got, n - 3);
  return !strcmp(expected, got);
}

static int run_all(const row *rows, size_t n, unsigned threads) {
  static outcome o;
  size_t n_failed = 0, n_passed = 0;
  for (int interpret = 0; interpret < 2; interpret++) {
    hia_context_options options = HIA_CONTEXT_OPTIONS_INIT;
    if (interpret) options.flags |= HIA_CONTEXT_INTERPRET;
    options.threads = threads;
    hia_context *context;
    if (hia_context_new(&options, &context) != HIA_OK) return 2;
    for (size_t i = 0; i < n; i++) {
      rows[i].run(context, &o);
      if (fits(rows[i].expected, o.text)) {
        n_passed++;
        continue;
      }
      n_failed++;
      fprintf(stderr, "FAIL %s (%s)\n  expected %s\n  got      %s\n", rows[i].where,
              interpret ? "interpreted" : "native", rows[i].expected, o.text);
    }
    hia_context_free(context);
  }
  printf("%zu passed, %zu failed\n", n_passed, n_failed);
  return n_failed || !n_passed;
}
