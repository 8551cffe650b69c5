/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* libFuzzer target: any calls of the builder. Calls without a mistake make a program, unless one of
 * its functions cannot end or uses its own gradient, or a size that constants give does not fit. A
 * mistake remains the builder's error, and the program so far can be printed. Printing twice gives
 * the same text, and that text is the same program as a module. */
#include "tests/unit/helpers/calls.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds, const char *what, const char *text) {
  if (holds) return;
  fprintf(stderr, "%s: %s\n", what, text ? text : "");
  abort();
}

/* The bytes decide; after the last one the open blocks are ended without another mistake. */
typedef struct input {
  const uint8_t *at, *end;
} input;

static uint32_t draw(void *user, uint32_t n) {
  input *in = user;
  uint32_t x = 0;
  if (in->at == in->end) return n - 1;
  for (uint32_t most = n - 1; most; most >>= 8) x = x << 8 | (in->at < in->end ? *in->at++ : 0);
  return x % n;
}

typedef struct text {
  char *data;
  size_t len;
} text;

static bool collect(void *user, const char *bytes, size_t len) {
  text *t = user;
  t->data = realloc(t->data, t->len + len + 1);
  if (!t->data) abort();
  memcpy(t->data + t->len, bytes, len);
  t->data[t->len += len] = 0;
  return true;
}

static text print(hia_builder *b) {
  text t = {NULL, 0};
  collect(&t, "", 0);
  must(hia_builder_print(b, collect, &t, NULL) == HIA_OK, "print", NULL);
  return t;
}

static void check(hia_engine *engine, hia_builder *b) {
  hia_module *module = NULL;
  hia_error *error = NULL;
  hia_status status = hia_builder_status(b), finished = hia_builder_finish(b, &module, &error);
  text first = print(b), second = print(b);
  must(strcmp(first.data, second.data) == 0, "printed differently", second.data);
  must((status == HIA_OK) == (hia_builder_error(b) == NULL), "status without an error", NULL);
  must(hia_builder_status(b) == status, "finishing and printing changed it", NULL);
  if (status != HIA_OK) {
    must(status == HIA_ARGUMENT && finished == status, "status", hia_error_text(error));
  } else {
    const char *code = hia_error_code(error, 0);
    bool is_endless = code && strcmp(code, "E0314") == 0;
    bool is_misfit = code && strcmp(code, "E0340") == 0;   /* of a size that is computed */
    bool is_infinite = code && strcmp(code, "E0355") == 0; /* a function uses its own gradient */
    must(finished == HIA_OK ||
             (finished == HIA_REJECTED && (is_endless || is_misfit || is_infinite)),
         first.data, hia_error_text(error));
    hia_module *again = NULL;
    must(hia_module_load_text(engine, "again", first.data, first.len, &again, NULL) == finished,
         "the text is another program", first.data);
    hia_module_free(again);
  }
  free(first.data);
  free(second.data);
  hia_error_free(error);
  hia_module_free(module);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.kind = HIA_ENGINE_INTERP;
  hia_engine *engine = NULL;
  hia_builder *b = NULL;
  must(hia_engine_new(&options, &engine, NULL) == HIA_OK, "engine", NULL);
  must(hia_builder_new(engine, "fuzz", &b, NULL) == HIA_OK, "builder", NULL);
  input in = {data, data + size};
  calls_make(b, (uint32_t)(size / 4), draw, &in);
  check(engine, b);
  hia_builder_free(b);
  hia_engine_free(engine);
  return 0;
}
