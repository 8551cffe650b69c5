/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Tensors of another library in the same process, by DLPack: a program computes with the library's
 * elements where they lie, and the library reads the result where it lies.
 *
 * prints:
 *   the program's argument: f32[?, ?], the library's elements
 *   scores: 14 32
 *   the library has read them, and may not write
 *   the library's matrix is freed
 */
#include <hiaton/dlpack.h>
#include <hiaton/hiaton.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- the other library: a matrix that is counted ---- */

typedef struct matrix {
  DLManagedTensorVersioned tensor;
  int64_t shape[2];
  float elements[6];
} matrix;

static void matrix_delete(DLManagedTensorVersioned *self) {
  free(self->manager_ctx);
  puts("the library's matrix is freed");
}

static matrix *matrix_new(void) {
  matrix *m = calloc(1, sizeof *m);
  if (!m) exit(1);
  for (int i = 0; i < 6; i++) m->elements[i] = (float)(i + 1);
  m->shape[0] = 2;
  m->shape[1] = 3;
  m->tensor.version.major = DLPACK_MAJOR_VERSION;
  m->tensor.version.minor = DLPACK_MINOR_VERSION;
  m->tensor.manager_ctx = m;
  m->tensor.deleter = matrix_delete;
  m->tensor.dl_tensor.data = m->elements;
  m->tensor.dl_tensor.device.device_type = kDLCPU;
  m->tensor.dl_tensor.ndim = 2;
  m->tensor.dl_tensor.dtype.code = kDLFloat;
  m->tensor.dl_tensor.dtype.bits = 32;
  m->tensor.dl_tensor.dtype.lanes = 1;
  m->tensor.dl_tensor.shape = m->shape;
  return m;
}

/* Reads a vector, and gives it back to whoever has made it. */
static void library_read(DLManagedTensorVersioned *tensor) {
  const float *elements = tensor->dl_tensor.data;
  printf("scores:");
  for (int64_t i = 0; i < tensor->dl_tensor.shape[0]; i++) printf(" %g", (double)elements[i]);
  bool may_write = !(tensor->flags & DLPACK_FLAG_BITMASK_READ_ONLY);
  printf("\nthe library has read them, and %s write\n", may_write ? "may" : "may not");
  tensor->deleter(tensor);
}

/* ---- the host ---- */

static int fail(hia_error *error) {
  fputs(hia_error_text(error), stderr);
  hia_error_free(error);
  return 1;
}

int main(void) {
  const char *text = "fn main(x: f32[?, ?]) -> f32[?] = x @ [1.0, 2.0, 3.0]\n";
  hia_engine *engine = NULL;
  hia_module *module = NULL;
  hia_function *function = NULL;
  hia_value *argument = NULL, *result = NULL;
  hia_error *error = NULL;
  if (hia_engine_new(NULL, &engine, &error) != HIA_OK ||
      hia_module_load_text(engine, "scores.hia", text, strlen(text), &module, &error) != HIA_OK ||
      hia_module_function(module, "main", &function, &error) != HIA_OK)
    return fail(error);

  matrix *theirs = matrix_new();
  const hia_type_info *type = hia_function_param_type(function, 0);
  if (hia_data_from_dlpack(NULL, type, &theirs->tensor, &argument, &error) != HIA_OK) {
    theirs->tensor.deleter(&theirs->tensor); /* it is still the caller's */
    return fail(error);
  }
  char name[32];
  hia_value_format_type(argument, name, sizeof name);
  printf("the program's argument: %s, %s elements\n", name,
         hia_value_elements(argument) == theirs->elements ? "the library's" : "its own");

  DLManagedTensorVersioned *scores;
  if (hia_call(function, &argument, 1, &result, &error) != HIA_OK ||
      hia_value_to_dlpack(result, &scores, &error) != HIA_OK)
    return fail(error);
  hia_value_free(result); /* `scores` keeps the elements */
  library_read(scores);
  hia_value_free(argument); /* the last value with the library's elements */
  hia_module_free(module);
  hia_engine_free(engine);
  return 0;
}
