/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Optimizers: checkpoints, from which training goes on; files that are none; lack of memory. */
#include "runtime/interchange/tensor_file.h"
#include "tests/unit/helpers/optimizer.h"
#include <stdio.h>
#include <unistd.h>

static void path_of(char *path, size_t size, const char *end) {
  snprintf(path, size, "/tmp/hia-optimizer-%ld%s", (long)getpid(), end);
}

/* Going on from a file is as never having stopped. */
static void check_going_on(size_t kind, const char *end) {
  char path[100];
  path_of(path, sizeof path, end);
  world *x = world_new(&kinds[kind].options), *y = world_new(&kinds[kind].options);
  for (uint64_t at = 1; at <= 3; at++) {
    give_all(x, at);
    give(x, at, E, true, 3);
    step(x);
    give_all(y, 100 + at); /* something else, which is lost */
    give(y, 100 + at, E, true, 3);
    step(y);
  }
  unsigned char bytes[21];
  for (size_t k = 0; k < sizeof bytes; k++) bytes[k] = (unsigned char)(200 + 7 * k);
  size_t n_extra = kind * 5;
  void *extra;
  cr_assert_eq(hiaR_optimizing_save(x->o, &x->cell, path, bytes, n_extra, NULL), HIA_OK);
  cr_assert_eq(hiaR_optimizing_load(y->o, &y->cell, path, &extra, &n_extra, NULL), HIA_OK);
  cr_assert_eq(n_extra, kind * 5);
  cr_assert((extra != NULL) == (n_extra > 0));
  if (extra) cr_assert_eq(memcmp(extra, bytes, n_extra), 0);
  hiaR_free(&y->own.allocator, extra, n_extra);
  y->model = x->model;
  check_now(y, "loaded", 3);
  for (uint64_t at = 4; at <= 7; at++) {
    give_all(x, at);
    give(x, at, E, true, 3);
    step(x);
    y->g = x->g;
    for (uint32_t i = 0; i < N; i++)
      y->g.of[i].rows = y->g.rows[i], y->g.of[i].elements = y->g.elements[i];
    step(y);
    check_now(x, "never stopped", at);
    check_now(y, "went on", at);
  }
  /* It is a file of params, too. */
  cr_assert_eq(hiaR_optimizing_save(x->o, &x->cell, path, NULL, 9, NULL), HIA_OK);
  cr_assert_eq(hia_params_seed(&y->cell, 9, NULL), HIA_OK);
  cr_assert_eq(hia_params_load(&y->cell, path, NULL), HIA_OK);
  check_now(y, "params", 7);
  cr_assert_eq(hiaR_optimizing_load(y->o, &y->cell, path, NULL, NULL, NULL), HIA_OK);
  cr_assert_eq(hiaR_optimizing_load(y->o, &y->cell, path, &extra, &n_extra, NULL), HIA_OK);
  cr_assert(!extra && !n_extra);
  unlink(path);
  world_free(x);
  world_free(y);
}

Test(optimizer, checkpoints) {
  for (size_t kind = 0; kind < HIA_LEN(kinds); kind++) check_going_on(kind, ".safetensors");
}
Test(optimizer, checkpoints_of_numpy) { check_going_on(3, ".npz"); }

/* Before the first step, too, and by steps by which not all params have changed. */
Test(optimizer, early_checkpoint) {
  char path[100];
  path_of(path, sizeof path, ".early");
  world *x = world_new(&kinds[3].options);
  cr_assert_eq(hiaR_optimizing_save(x->o, &x->cell, path, NULL, 0, NULL), HIA_OK);
  give_all(x, 1);
  cr_assert_eq(step_alone(x), HIA_OK);
  cr_assert_eq(hiaR_optimizing_load(x->o, &x->cell, path, NULL, NULL, NULL), HIA_OK);
  check_now(x, "loaded", 0);
  step(x);
  check_now(x, "loaded", 1);
  unlink(path);
  world_free(x);
}

static void check_wrong(world *x, const char *path, hia_status status, const char *words) {
  hia_error *error;
  void *extra = x;
  size_t n = 1;
  cr_assert_eq(hiaR_optimizing_load(x->o, &x->cell, path, &extra, &n, &error), status, "%s", words);
  cr_assert(strstr(hia_error_message(error, 0), words), "%s", hia_error_message(error, 0));
  cr_assert(!extra && !n);
  hia_error_free(error);
  check_now(x, "nothing has changed", 2);
}

static void copy_part(const char *from, const char *to, long left_out) {
  FILE *in = fopen(from, "rb"), *out = fopen(to, "wb");
  cr_assert(in && out);
  fseek(in, 0, SEEK_END);
  long n = ftell(in) - left_out;
  rewind(in);
  for (long i = 0; i < n; i++) putc(getc(in), out);
  fclose(in);
  fclose(out);
}

static void write_words(const char *path, const char *names[], const int64_t *words, uint32_t n) {
  hia_file_tensor tensors[4];
  for (uint32_t i = 0; i < n; i++)
    tensors[i] = (hia_file_tensor){.name = names[i],
                                   .name_len = strlen(names[i]),
                                   .dtype = HIA_I64,
                                   .shape = {1, {1}},
                                   .data = &words[i],
                                   .size = 8};
  hia_value_error wrong;
  cr_assert_eq(hiaR_tensor_file_write(&hiaR_malloc, path, tensors, n, &wrong), HIA_OK);
}

/* The same params, but E has another shape. */
static void save_other(const char *path) {
  hia_param_spec others[N];
  memcpy(others, specs, sizeof others);
  others[E].shape.dims[0] = 41;
  hia_params cell = {.n = N, .specs = others};
  hia_optimizing *o;
  cr_assert_eq(hiaR_optimizing_new(others, N, &kinds[3].options, &hiaR_malloc, &o), HIA_OK);
  cr_assert_eq(hiaR_optimizing_save(o, &cell, path, NULL, 0, NULL), HIA_OK);
  hiaR_optimizing_free(o);
  hiaR_params_set(&cell, NULL);
}

Test(optimizer, wrong_checkpoints) {
  char path[100], other[100];
  path_of(path, sizeof path, ".right");
  path_of(other, sizeof other, ".wrong");
  world *x = world_new(&kinds[3].options), *sgd = world_new(&kinds[0].options);
  for (uint64_t at = 1; at <= 2; at++) {
    give_all(x, at);
    step(x);
  }
  cr_assert_eq(hiaR_optimizing_save(x->o, &x->cell, path, "extra", 5, NULL), HIA_OK);
  check_wrong(x, "/nowhere/x", HIA_IO, "/nowhere/x: ");
  check_wrong(x, NULL, HIA_ARGUMENT, "no path");
  for (long left_out = 1; left_out < 5000; left_out += 777) {
    copy_part(path, other, left_out);
    check_wrong(x, other, HIA_ARGUMENT, "damaged");
  }
  cr_assert_eq(hia_params_save(&x->cell, other, NULL), HIA_OK);
  check_wrong(x, other, HIA_ARGUMENT,
              "this is no checkpoint of a trainer: there is no tensor `hiaton.steps`");
  cr_assert_eq(hiaR_optimizing_save(sgd->o, &sgd->cell, other, NULL, 0, NULL), HIA_OK);
  check_wrong(x, other, HIA_ARGUMENT, "the checkpoint is of sgd, the trainer's optimizer is adam");
  save_other(other);
  check_wrong(x, other, HIA_ARGUMENT, "expected f32[40, 6], the tensor 'E.mean' is f32[41, 6]");
  const char *names[] = {"hiaton.steps", "hiaton.optimizer"};
  write_words(other, names, (int64_t[]){3, 3}, 2);
  check_wrong(x, other, HIA_ARGUMENT, "there is no tensor `W.mean`");
  write_words(other, names, (int64_t[]){3, 9}, 2);
  check_wrong(x, other, HIA_ARGUMENT, "is of an optimizer that this hiaton does not have");
  write_words(other, names, (int64_t[]){-3, 3}, 2);
  check_wrong(x, other, HIA_ARGUMENT, "`hiaton.steps` is below 0");
  write_words(other, names, (int64_t[]){3}, 1);
  check_wrong(x, other, HIA_ARGUMENT, "there is no tensor `hiaton.optimizer`");
  hia_error *error;
  cr_assert_eq(hiaR_optimizing_save(x->o, &x->cell, "/nowhere/x", NULL, 0, &error), HIA_IO);
  hia_error_free(error);
  cr_assert_eq(hiaR_optimizing_save(x->o, &x->cell, NULL, NULL, 0, &error), HIA_ARGUMENT);
  hia_error_free(error);
  unlink(path);
  unlink(other);
  world_free(x);
  world_free(sgd);
}

/* Further bytes that say that there are more of them. */
Test(optimizer, wrong_extra) {
  char path[100];
  path_of(path, sizeof path, ".extra");
  const hia_param_spec none[1] = {{"x", HIA_F32, HIA_INIT_FULL, 0, 0, {0}}};
  hia_params cell = {.n = 0, .specs = none};
  hia_optimizing *o;
  void *extra;
  size_t n;
  hia_error *error;
  cr_assert_eq(hiaR_optimizing_new(none, 0, &kinds[3].options, &hiaR_malloc, &o), HIA_OK);
  const char *names[] = {"hiaton.steps", "hiaton.optimizer", "hiaton.extra"};
  write_words(path, names, (int64_t[]){3, 3, 0}, 3);
  cr_assert_eq(hiaR_optimizing_load(o, &cell, path, &extra, &n, &error), HIA_OK);
  cr_assert_eq(hiaR_optimizing_steps(o), 3);
  for (int64_t wrong = -1; wrong <= 1; wrong += 2) {
    write_words(path, names, (int64_t[]){4, 3, wrong}, 3);
    cr_assert_eq(hiaR_optimizing_load(o, &cell, path, &extra, &n, &error), HIA_ARGUMENT);
    cr_assert(strstr(hia_error_message(error, 0), "fewer bytes than it says"));
    hia_error_free(error);
  }
  cr_assert_eq(hiaR_optimizing_steps(o), 3);
  unlink(path);
  hiaR_optimizing_free(o);
  hiaR_params_set(&cell, NULL);
}

/* Each request fails once, of saving, then of loading. */
Test(optimizer, checkpoints_without_memory) {
  char path[100];
  path_of(path, sizeof path, ".memory");
  world *x = world_new(&kinds[3].options);
  for (uint64_t at = 1; at <= 2; at++) {
    give_all(x, at);
    step(x);
  }
  for (int is_loading = 0; is_loading < 2; is_loading++)
    for (int is_own = 0; is_own < 2; is_own++) {
      hia_status status = HIA_MEMORY;
      long n = 0;
      for (; status == HIA_MEMORY; n++) {
        test_heap *heap = is_own ? &x->own : &x->heap;
        void *extra = NULL;
        size_t n_extra = 0;
        heap->fails_once = true;
        heap->left = n;
        status = is_loading ? hiaR_optimizing_load(x->o, &x->cell, path, &extra, &n_extra, NULL)
                            : hiaR_optimizing_save(x->o, &x->cell, path, "extra", 5, NULL);
        heap->left = -1;
        hiaR_free(&x->own.allocator, extra, n_extra);
        check_now(x, "as before", 2);
      }
      cr_assert_eq(status, HIA_OK);
      if (is_own) cr_assert_gt(n, 2);
    }
  unlink(path);
  world_free(x);
}
