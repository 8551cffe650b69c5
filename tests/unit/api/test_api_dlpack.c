/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* hiaton/dlpack.h: tensors of others as values, and values as tensors for others. */
#include "tests/unit/helpers/memory.h"
#include "tests/unit/helpers/program.h"
#include <hiaton/dlpack.h>
#include <hiaton/hiaton.h>

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

static const char text_of_program[] =
    "fn f(x: f32[?, ?], n: i32, t: (f32[?], i32)) = n\n"
    "fn times(x: f32[?, ?], n: i32) = x * f32(n)\n"
    "fn part(x: f32[?, ?]) -> f32[?] = x[1]\n"
    "fn change(x: f32[?, ?]) = set(x, 0, [7.0, 8.0, 9.0])\n"
    "fn twice(x: f32[?, ?]) = { let y = x + x; set(tanh(y) * 0.0 + y, 1, x[0]) }\n"
    "fn fails(x: f32[?, ?]) -> f32[?] = x[1000]\n"
    "fn endless(x: f32[?, ?]) -> f32[?, ?] = loop (y = x) while true { y + x }\n";

typedef struct world {
  hia_engine *engine;
  hia_module *module;
  const hia_type_info *matrix, *i32, *tuple;
  hia_error *error;
} world;

static hia_function *function(const world *w, const char *name) {
  hia_function *f;
  cr_assert_eq(hia_module_function(w->module, name, &f, NULL), HIA_OK);
  return f;
}

static void open_world(world *w, hia_engine_kind kind) {
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.kind = kind;
  w->error = NULL;
  cr_assert_eq(hia_engine_new(&options, &w->engine, NULL), HIA_OK);
  hia_status status = hia_module_load_text(w->engine, "t", text_of_program, strlen(text_of_program),
                                           &w->module, &w->error);
  cr_assert_eq(status, HIA_OK, "%s", hia_error_text(w->error));
  w->matrix = hia_function_param_type(function(w, "f"), 0);
  w->i32 = hia_function_param_type(function(w, "f"), 1);
  w->tuple = hia_function_param_type(function(w, "f"), 2);
}

static void close_world(world *w) {
  hia_module_free(w->module);
  hia_engine_free(w->engine);
}

static void expect_text(const hia_value *value, const char *text) {
  char buf[256];
  hia_value_format(value, buf, sizeof buf);
  cr_expect_str_eq(buf, text);
}

/* ---- tensors of the host ---- */

typedef struct theirs {
  DLManagedTensorVersioned tensor;
  int64_t shape[20], strides[20];
  unsigned deleted;
  pthread_t deleter; /* the last thread that called it */
} theirs;

static void delete_theirs(DLManagedTensorVersioned *self) {
  theirs *t = self->manager_ctx;
  t->deleted++;
  t->deleter = pthread_self();
}

/* A tensor of f32; strides NULL: none. */
static void make(theirs *t, void *data, int32_t rank, const int64_t *shape,
                 const int64_t *strides) {
  *t = (theirs){.deleted = 0};
  memcpy(t->shape, shape, (size_t)rank * sizeof *shape);
  if (strides) memcpy(t->strides, strides, (size_t)rank * sizeof *strides);
  t->tensor = (DLManagedTensorVersioned){.version = {1, 0},
                                         .manager_ctx = t,
                                         .deleter = delete_theirs,
                                         .dl_tensor = {.data = data,
                                                       .device = {kDLCPU, 0},
                                                       .ndim = rank,
                                                       .dtype = {kDLFloat, 32, 1},
                                                       .shape = t->shape,
                                                       .strides = strides ? t->strides : NULL}};
}

static float six[] = {1, 2, 3, 4, 5, 6};
static const int64_t two_by_three[] = {2, 3};
#define SIX "[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]"

static hia_value *take(const world *w, theirs *t) {
  hia_value *value;
  hia_error *error = NULL;
  hia_status status = hia_data_from_dlpack(NULL, w ? w->matrix : NULL, &t->tensor, &value, &error);
  cr_assert_eq(status, HIA_OK, "%s", hia_error_text(error));
  return value;
}

Test(api_dlpack, shared) {
  static const int64_t row_major[] = {3, 1}, *const strides[] = {NULL, row_major};
  for (int i = 0; i < 2; i++) {
    theirs t;
    make(&t, six, 2, two_by_three, strides[i]);
    hia_value *value = take(NULL, &t);
    cr_expect_eq(hia_value_elements(value), six, "they are copied");
    char type[32];
    hia_value_format_type(value, type, sizeof type);
    cr_expect_str_eq(type, "f32[?, ?]");
    expect_text(value, SIX);
    /* A copy has its own. */
    hia_value *copy = hia_value_copy(value);
    cr_expect_neq(hia_value_elements(copy), six);
    cr_expect_eq(t.deleted, 0);
    hia_value_free(value);
    cr_expect_eq(t.deleted, 1);
    expect_text(copy, SIX);
    hia_value_free(copy);
    cr_expect_eq(t.deleted, 1);
  }
  /* With an offset, and without a deleter; the stride of one element does not matter. */
  theirs t;
  make(&t, six, 2, (int64_t[]){1, 3}, (int64_t[]){-99, 1});
  t.tensor.dl_tensor.byte_offset = 8;
  t.tensor.deleter = NULL;
  hia_value *value = take(NULL, &t);
  cr_expect_eq(hia_value_elements(value), six + 2);
  expect_text(value, "[[3.0, 4.0, 5.0]]");
  hia_value_free(value);
}

/* Strides of all kinds, elements at odd addresses, and scalars. */
Test(api_dlpack, copied) {
  static const struct {
    int32_t rank;
    int64_t shape[3], strides[3];
    int first;
    const char *text;
  } cases[] = {
      {2, {3, 2}, {1, 3}, 0, "[[1.0, 4.0], [2.0, 5.0], [3.0, 6.0]]"},
      {1, {3}, {2}, 0, "[1.0, 3.0, 5.0]"},
      {1, {6}, {-1}, 5, "[6.0, 5.0, 4.0, 3.0, 2.0, 1.0]"},
      {2, {2, 3}, {0, 1}, 1, "[[2.0, 3.0, 4.0], [2.0, 3.0, 4.0]]"},
      {2, {2, 2}, {-3, 0}, 4, "[[5.0, 5.0], [2.0, 2.0]]"},
      {3, {2, 1, 2}, {1, 77, 3}, 0, "[[[1.0, 4.0]], [[2.0, 5.0]]]"},
      {2, {0, 3}, {-5, 0}, 0, "zeros(0, 3)"},
      {0, {0}, {0}, 2, "3.0"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    theirs t;
    make(&t, six + cases[i].first, cases[i].rank, cases[i].shape, cases[i].strides);
    hia_value *value = take(NULL, &t);
    cr_expect_eq(t.deleted, 1, "case %zu: it was copied", i);
    expect_text(value, cases[i].text);
    hia_value_free(value);
    cr_expect_eq(t.deleted, 1);
  }
  char bytes[sizeof six + 1];
  memcpy(bytes + 1, six, sizeof six);
  theirs t;
  make(&t, bytes + 1, 2, two_by_three, NULL);
  hia_value *value = take(NULL, &t);
  cr_expect_eq(t.deleted, 1);
  expect_text(value, SIX);
  hia_value_free(value);
  /* Of no elements, without an address. */
  make(&t, NULL, 2, (int64_t[]){0, 1 << 30}, NULL);
  value = take(NULL, &t);
  cr_expect_eq(hia_value_dims(value)[1], 1 << 30);
  hia_value_free(value);
}

Test(api_dlpack, dtypes) {
  static const struct {
    DLDataType dtype;
    const char *type, *text;
    double words[2];
  } cases[] = {{{kDLBool, 8, 1}, "bool[?]", "[true, false]", {0}},
               {{kDLInt, 32, 1}, "i32[?]", "[-1, 7]", {0}},
               {{kDLInt, 64, 1}, "i64[?]", "[-1, 7]", {0}},
               {{kDLFloat, 64, 1}, "f64[?]", "[-1.0, 7.0]", {0}}};
  static bool bools[] = {true, false};
  static int32_t i32[] = {-1, 7};
  static int64_t i64[] = {-1, 7};
  static double f64[] = {-1, 7};
  void *const data[] = {bools, i32, i64, f64};
  for (size_t i = 0; i < 4; i++) {
    theirs t;
    make(&t, data[i], 1, (int64_t[]){2}, NULL);
    t.tensor.dl_tensor.dtype = cases[i].dtype;
    hia_value *value = take(NULL, &t);
    char type[32];
    hia_value_format_type(value, type, sizeof type);
    cr_expect_str_eq(type, cases[i].type);
    expect_text(value, cases[i].text);
    /* And back. */
    DLManagedTensorVersioned *ours;
    cr_assert_eq(hia_value_to_dlpack(value, &ours, NULL), HIA_OK);
    cr_expect_eq(memcmp(&ours->dl_tensor.dtype, &cases[i].dtype, sizeof(DLDataType)), 0);
    ours->deleter(ours);
    hia_value_free(value);
  }
}

/* ---- runs ---- */

/* Elements that nobody can write. */
static float *make_read_only(void) {
  float *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  cr_assert_neq(page, MAP_FAILED);
  memcpy(page, six, sizeof six);
  cr_assert_eq(mprotect(page, 4096, PROT_READ), 0);
  return page;
}

static void try_runs(hia_engine_kind kind) {
  world w;
  open_world(&w, kind);
  float *page = make_read_only();
  theirs t;
  hia_value *result;
  make(&t, page, 2, two_by_three, NULL);
  t.tensor.flags = DLPACK_FLAG_BITMASK_READ_ONLY;
  hia_value *value = take(&w, &t);
  static const char *const names[] = {"times", "change", "twice"},
                           *const texts[] = {"[[2.0, 4.0, 6.0], [8.0, 10.0, 12.0]]",
                                             "[[7.0, 8.0, 9.0], [4.0, 5.0, 6.0]]",
                                             "[[2.0, 4.0, 6.0], [1.0, 2.0, 3.0]]"};
  for (int i = 1; i < 3; i++) {
    cr_assert_eq(hia_run(function(&w, names[i]), &value, 1, NULL, &result, NULL), HIA_OK);
    expect_text(result, texts[i]);
    hia_value_free(result);
  }
  hia_value *args[2] = {value, hia_value_i32(w.engine, 2)};
  cr_assert_eq(hia_run(function(&w, names[0]), args, 2, NULL, &result, NULL), HIA_OK);
  expect_text(result, texts[0]);
  hia_value_free(result);
  hia_value_free(args[1]);
  /* Runs that end early leave it as it was. */
  cr_expect_eq(hia_run(function(&w, "fails"), &value, 1, NULL, &result, NULL), HIA_RANGE);
  hia_run_options options = HIA_RUN_OPTIONS_INIT;
  options.timeout_ns = 1000000;
  cr_expect_eq(hia_run(function(&w, "endless"), &value, 1, &options, &result, NULL), HIA_DEADLINE);
  options.timeout_ns = 0;
  options.cancel = hia_cancel_new(NULL);
  hia_cancel_request(options.cancel);
  cr_expect_eq(hia_run(function(&w, "endless"), &value, 1, &options, &result, NULL), HIA_CANCELLED);
  hia_cancel_free(options.cancel);
  expect_text(value, SIX);
  cr_expect_eq(t.deleted, 0);
  /* A result that shows a part of it holds it. */
  cr_assert_eq(hia_run(function(&w, "part"), &value, 1, NULL, &result, NULL), HIA_OK);
  hia_value_free(value);
  bool is_shared = hia_value_elements(result) == page + 3;
  cr_expect_eq(t.deleted, is_shared ? 0 : 1);
  expect_text(result, "[4.0, 5.0, 6.0]");
  hia_value_free(result);
  cr_expect_eq(t.deleted, 1);
  munmap(page, 4096);
  close_world(&w);
}

Test(api_dlpack, runs_interp) { try_runs(HIA_ENGINE_INTERP); }
Test(api_dlpack, runs_expand) { try_runs(HIA_ENGINE_EXPAND); }
Test(api_dlpack, runs_native) {
  NEEDS_NATIVE;
  try_runs(HIA_ENGINE_JIT);
}

static void *free_value(void *value) {
  hia_value_free(value);
  return NULL;
}

Test(api_dlpack, freed_by_another_thread) {
  theirs t;
  make(&t, six, 2, two_by_three, NULL);
  hia_value *value = take(NULL, &t);
  pthread_t thread;
  cr_assert_eq(pthread_create(&thread, NULL, free_value, value), 0);
  cr_assert_eq(pthread_join(thread, NULL), 0);
  cr_expect_eq(t.deleted, 1);
  cr_expect_not(pthread_equal(t.deleter, pthread_self()));
}

/* ---- export ---- */

Test(api_dlpack, export_shares) {
  world w;
  open_world(&w, HIA_ENGINE_INTERP);
  hia_value *value, *scalar = hia_value_i32(w.engine, -7), *empty;
  DLManagedTensorVersioned *ours;
  cr_assert_eq(hia_data_tensor(NULL, w.matrix, two_by_three, six, &value, NULL), HIA_OK);
  const void *elements = hia_value_elements(value);
  cr_assert_eq(hia_value_to_dlpack(value, &ours, NULL), HIA_OK);
  hia_value_free(value);
  const DLTensor *dl = &ours->dl_tensor;
  cr_expect_eq(ours->version.major, 1);
  cr_expect_eq(ours->flags, DLPACK_FLAG_BITMASK_READ_ONLY);
  cr_expect_eq(dl->data, elements);
  cr_expect_eq(memcmp(dl->data, six, sizeof six), 0);
  cr_expect_eq(dl->ndim, 2);
  cr_expect(dl->shape[0] == 2 && dl->shape[1] == 3 && dl->strides[0] == 3 && dl->strides[1] == 1);
  cr_expect(dl->device.device_type == kDLCPU && dl->device.device_id == 0 && !dl->byte_offset);
  ours->deleter(ours);
  cr_assert_eq(hia_value_to_dlpack(scalar, &ours, NULL), HIA_OK);
  cr_expect(ours->dl_tensor.ndim == 0 && *(int32_t *)ours->dl_tensor.data == -7);
  ours->deleter(ours);
  cr_assert_eq(hia_data_tensor(NULL, w.matrix, (int64_t[]){0, 3}, NULL, &empty, NULL), HIA_OK);
  cr_assert_eq(hia_value_to_dlpack(empty, &ours, NULL), HIA_OK);
  cr_expect(!ours->dl_tensor.data && ours->dl_tensor.shape[1] == 3 &&
            ours->dl_tensor.strides[0] == 3);
  ours->deleter(ours);
  hia_value_free(empty);
  hia_value_free(scalar);
  close_world(&w);
}

Test(api_dlpack, unversioned) {
  world w;
  open_world(&w, HIA_ENGINE_INTERP);
  hia_value *value, *back;
  DLManagedTensor *ours;
  cr_assert_eq(hia_data_tensor(NULL, w.matrix, two_by_three, six, &value, NULL), HIA_OK);
  cr_assert_eq(hia_value_to_dlpack_unversioned(value, &ours, NULL), HIA_OK);
  cr_expect_neq(ours->dl_tensor.data, hia_value_elements(value));
  cr_expect_eq((uintptr_t)ours->dl_tensor.data % 64, 0);
  ((float *)ours->dl_tensor.data)[0] = 9; /* it is the receiver's */
  expect_text(value, SIX);
  cr_assert_eq(hia_data_from_dlpack_unversioned(NULL, w.matrix, ours, &back, NULL), HIA_OK);
  expect_text(back, "[[9.0, 2.0, 3.0], [4.0, 5.0, 6.0]]");
  hia_value_free(back);
  hia_value_free(value);
  close_world(&w);
}

/* A value that has gone back and forth ever so often is freed without recursion, and has the same
 * elements. */
Test(api_dlpack, back_and_forth) {
  enum { TIMES = 200000 };
  theirs t;
  make(&t, six, 2, two_by_three, NULL);
  hia_value *value = take(NULL, &t);
  for (int i = 0; i < TIMES; i++) {
    DLManagedTensorVersioned *ours;
    hia_value *next;
    cr_assert_eq(hia_value_to_dlpack(value, &ours, NULL), HIA_OK);
    cr_assert_eq(hia_data_from_dlpack(NULL, hia_value_type(value), ours, &next, NULL), HIA_OK);
    hia_value_free(value);
    value = next;
  }
  cr_expect_eq(hia_value_elements(value), six);
  cr_expect_eq(t.deleted, 0);
  hia_value_free(value);
  cr_expect_eq(t.deleted, 1);
}

/* ---- what is refused ---- */

#define REFUSED(status, part, ...)                                                                 \
  do {                                                                                             \
    w.error = NULL;                                                                                \
    cr_expect_eq(__VA_ARGS__, status);                                                             \
    cr_expect(w.error &&strstr(hia_error_text(w.error), part) != NULL, "%s",                       \
              w.error ? hia_error_text(w.error) : "no error");                                     \
    hia_error_free(w.error);                                                                       \
  } while (0)

Test(api_dlpack, wrong_tensors) {
  world w;
  open_world(&w, HIA_ENGINE_INTERP);
  theirs t;
  hia_value *v = (hia_value *)&w;
  const hia_type_info *type = NULL;
#define TRY(status, part, ...)                                                                     \
  do {                                                                                             \
    make(&t, six, 2, two_by_three, (int64_t[]){3, 1});                                             \
    DLTensor *dl = &t.tensor.dl_tensor;                                                            \
    (void)dl;                                                                                      \
    __VA_ARGS__;                                                                                   \
    REFUSED(status, part, hia_data_from_dlpack(NULL, type, &t.tensor, &v, &w.error));              \
    cr_expect_null(v);                                                                             \
    cr_expect_eq(t.deleted, 0, "%s: it is the caller's", part);                                    \
  } while (0)
  TRY(HIA_UNSUPPORTED, "of version 2.3 of DLPack", t.tensor.version = ((DLPackVersion){2, 3}));
  TRY(HIA_UNSUPPORTED, "on a device of type 2, and not on the CPU (1)",
      dl->device.device_type = kDLCUDA);
  TRY(HIA_UNSUPPORTED, "dtype (code 2, 16 bits, 1 lanes) is none of", dl->dtype.bits = 16);
  TRY(HIA_UNSUPPORTED, "dtype (code 2, 32 bits, 4 lanes) is none of", dl->dtype.lanes = 4);
  TRY(HIA_UNSUPPORTED, "dtype (code 1, 32 bits, 1 lanes) is none of", dl->dtype.code = kDLUInt);
  TRY(HIA_UNSUPPORTED, "dtype (code 255, 32 bits, 1 lanes) is none of", dl->dtype.code = 255);
  TRY(HIA_ARGUMENT, "has -1 axes", dl->ndim = -1);
  TRY(HIA_ARGUMENT, "has 17 axes; 0 to 16", dl->ndim = 17);
  TRY(HIA_ARGUMENT, "has no shape", dl->shape = NULL);
  TRY(HIA_ARGUMENT, "axis 1 has the size -3", t.shape[1] = -3);
  TRY(HIA_ARGUMENT, "more elements than fit", t.shape[0] = t.shape[1] = (int64_t)1 << 32);
  TRY(HIA_ARGUMENT, "more elements than fit", t.shape[0] = INT64_MAX);
  TRY(HIA_ARGUMENT, "has no elements, and should have 6", dl->data = NULL);
  TRY(HIA_ARGUMENT, "lead out of memory", dl->byte_offset = UINT64_MAX - 100);
  TRY(HIA_ARGUMENT, "lead out of memory", dl->byte_offset = INT64_MAX);
  TRY(HIA_ARGUMENT, "lead out of memory", t.strides[0] = INT64_MAX);
  TRY(HIA_ARGUMENT, "lead out of memory", t.strides[1] = INT64_MIN);
  TRY(HIA_ARGUMENT, "lead out of memory", t.strides[0] = -((int64_t)1 << 60));
  TRY(HIA_ARGUMENT, "lead out of memory",
      (t.strides[0] = INT64_MAX / 4, t.strides[1] = INT64_MAX / 8));
  type = w.i32;
  TRY(HIA_ARGUMENT, "expected i32, the tensor is of f32, with 2 axes", (void)0);
  type = w.tuple;
  TRY(HIA_ARGUMENT, "(f32[?], i32) is neither", (void)0);
  type = NULL;
  char bools[] = {0, 1, 1, 0, 2, 1};
  for (int strided = 0; strided < 2; strided++)
    TRY(HIA_ARGUMENT, "a bool of the tensor is neither 0 nor 1",
        (dl->data = bools, dl->dtype = (DLDataType){kDLBool, 8, 1}, t.strides[1] -= 2 * strided,
         dl->byte_offset = strided ? 2 : 0));
  /* Without a stack for them. */
  hia_value *pair, *value;
  DLManagedTensorVersioned *ours;
  DLManagedTensor *plain, theirs_plain = {.dl_tensor = {.ndim = -1, .device = {kDLCPU, 0}}};
  make(&t, six, 2, two_by_three, NULL);
  REFUSED(HIA_ARGUMENT, "no tensor", hia_data_from_dlpack(NULL, NULL, NULL, &v, &w.error));
  REFUSED(HIA_ARGUMENT, "no place", hia_data_from_dlpack(NULL, NULL, &t.tensor, NULL, &w.error));
  REFUSED(HIA_ARGUMENT, "no tensor",
          hia_data_from_dlpack_unversioned(NULL, NULL, NULL, &v, &w.error));
  REFUSED(HIA_ARGUMENT, "no place",
          hia_data_from_dlpack_unversioned(NULL, NULL, &theirs_plain, NULL, &w.error));
  REFUSED(HIA_UNSUPPORTED, "dtype",
          hia_data_from_dlpack_unversioned(NULL, NULL, &theirs_plain, &v, &w.error));
  REFUSED(HIA_ARGUMENT, "no value", hia_value_to_dlpack(NULL, &ours, &w.error));
  REFUSED(HIA_ARGUMENT, "no value", hia_value_to_dlpack_unversioned(NULL, &plain, &w.error));
  cr_assert(!ours && !plain);
  value = take(NULL, &t);
  REFUSED(HIA_ARGUMENT, "no place", hia_value_to_dlpack(value, NULL, &w.error));
  REFUSED(HIA_ARGUMENT, "no place", hia_value_to_dlpack_unversioned(value, NULL, &w.error));
  cr_assert_eq(hia_data_read(NULL, w.tuple, NULL, "([1], 2)", 8, &pair, NULL), HIA_OK);
  REFUSED(HIA_ARGUMENT, "and (f32[?], i32) is neither", hia_value_to_dlpack(pair, &ours, &w.error));
  REFUSED(HIA_ARGUMENT, "and (f32[?], i32) is neither",
          hia_value_to_dlpack_unversioned(pair, &plain, &w.error));
  hia_value_free(pair);
  hia_value_free(value);
  close_world(&w);
}

/* ---- memory ---- */

/* Without memory the tensor stays the caller's; with it the deleter is called once. */
static hia_status use(const hia_allocator *allocator) {
  static const int64_t transposed[] = {1, 2}, *const strides[] = {NULL, transposed};
  hia_status status = HIA_OK;
  for (int i = 0; i < 2 && status == HIA_OK; i++) {
    theirs t;
    hia_value *value;
    DLManagedTensorVersioned *ours;
    DLManagedTensor *plain;
    make(&t, six, 2, two_by_three, strides[i]);
    status = hia_data_from_dlpack(allocator, NULL, &t.tensor, &value, NULL);
    if (status != HIA_OK) {
      cr_assert_eq(t.deleted, 0);
      break;
    }
    status = hia_value_to_dlpack(value, &ours, NULL);
    if (status == HIA_OK) ours->deleter(ours);
    if (status == HIA_OK) status = hia_value_to_dlpack_unversioned(value, &plain, NULL);
    if (status == HIA_OK) {
      plain->deleter(plain);
      status = hia_value_to_dlpack(value, &ours, NULL);
    }
    if (status == HIA_OK) {
      hia_value *again;
      status = hia_data_from_dlpack(allocator, NULL, ours, &again, NULL);
      if (status == HIA_OK)
        hia_value_free(again);
      else
        ours->deleter(ours);
    }
    hia_value_free(value);
    cr_assert_eq(t.deleted, 1);
  }
  return status;
}

Test(api_dlpack, each_allocation_fails_once) { cr_assert_geq(fail_each_allocation(use), 15); }
