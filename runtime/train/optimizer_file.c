/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Checkpoints (optimizer.h says what is in them). A file of its own, so that a program that trains
 * without them does not link it. */
#include "runtime/param/files.h"
#include "runtime/run/error.h"
#include "runtime/train/optimizing.h"
#include <stdio.h>

#define STEPS     "hiaton.steps"
#define OPTIMIZER "hiaton.optimizer"
#define EXTRA     "hiaton.extra"
enum { N_OWN = 3, WORD = 8 }; /* tensors; bytes */

static hia_status begin(const hia_optimizing *o, const char *path, hia_error **error) {
  if (error) *error = NULL;
  return path ? HIA_OK : hiaR_fail_text(&o->allocator, error, HIA_ARGUMENT, NULL, "no path");
}

/* The name of array k of the state of param i takes so many bytes, with a NUL. */
static size_t name_size(const hia_optimizing *o, uint32_t i, uint32_t k) {
  return strlen(o->specs[i].name) + strlen(hiaR_updates[o->kind].accumulated[k]) + 2;
}
static void put_name(const hia_optimizing *o, uint32_t i, uint32_t k, char *to) {
  snprintf(to, name_size(o, i, k), "%s.%s", o->specs[i].name, hiaR_updates[o->kind].accumulated[k]);
}

/* Words of the tensor of n further bytes. */
static size_t extra_words(size_t n) { return 1 + n / WORD + (n % WORD != 0); }

/* ---- saving ---- */

/* What a file that is being made refers to, in one block. */
typedef struct saving {
  hia_optimizing *o;
  hia_file_tensor *tensors;
  uint32_t n;
  uint64_t *scalars;
  int64_t own[2]; /* steps, optimizer */
  int64_t *extra;
  char *names; /* the next one goes here */
  size_t size; /* of the block, whose beginning the tensors are */
} saving;

static bool take_block(saving *s, size_t n_extra) {
  const hia_optimizing *o = s->o;
  uint32_t arrays = hiaR_updates[o->kind].n_accumulated;
  size_t tensors = (size_t)o->n * (1 + arrays) + N_OWN;
  size_t names = 0, words = o->n + extra_words(n_extra);
  for (uint32_t i = 0; i < o->n; i++)
    for (uint32_t k = 0; k < arrays; k++) names += name_size(o, i, k);
  if (tensors > UINT32_MAX || n_extra > PTRDIFF_MAX / 2) return false;
  s->size = tensors * sizeof *s->tensors + words * sizeof(uint64_t) + names;
  s->tensors = hiaR_alloc(&o->allocator, s->size);
  if (!s->tensors) return false;
  s->scalars = (uint64_t *)(void *)(s->tensors + tensors);
  s->extra = (int64_t *)(s->scalars + o->n);
  s->names = (char *)(s->extra + extra_words(n_extra));
  return true;
}

static void add(saving *s, const char *name, hia_dtype dtype, const hia_dims *shape,
                const void *data, size_t size) {
  s->tensors[s->n++] = (hia_file_tensor){.name = name,
                                         .name_len = strlen(name),
                                         .dtype = dtype,
                                         .shape = *shape,
                                         .data = data,
                                         .size = size,
                                         .is_big_endian = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__};
}

static void add_words(saving *s, const char *name, const int64_t *words, size_t n) {
  const hia_dims shape = {1, {(int64_t)n}};
  add(s, name, HIA_I64, &shape, words, n * sizeof *words);
}

/* Byte i is in word 1 + i / 8, from its lowest byte on. */
static void add_extra(saving *s, const unsigned char *extra, size_t n) {
  s->extra[0] = (int64_t)n;
  for (size_t i = 0; i < n; i++) {
    int64_t *word = &s->extra[1 + i / WORD];
    *word = (int64_t)((uint64_t)*word | (uint64_t)extra[i] << i % WORD * 8);
  }
  add_words(s, EXTRA, s->extra, extra_words(n));
}

static void add_state(saving *s) {
  const hia_optimizing *o = s->o;
  s->own[0] = (int64_t)o->steps;
  s->own[1] = (int64_t)o->kind;
  add_words(s, STEPS, &s->own[0], 1);
  add_words(s, OPTIMIZER, &s->own[1], 1);
  for (uint32_t i = 0; i < o->n; i++)
    for (uint32_t k = 0; k < hiaR_updates[o->kind].n_accumulated; k++) {
      const hia_followed *p = &o->params[i];
      put_name(o, i, k, s->names);
      add(s, s->names, o->specs[i].dtype, &o->specs[i].shape, p->accumulated[k], p->bytes);
      s->names += name_size(o, i, k);
    }
}

static bool accumulate_all(hia_optimizing *o) {
  for (uint32_t i = 0; i < o->n; i++)
    if (!hiaR_optimizing_accumulate(o, &o->params[i])) return false;
  return true;
}

hia_status hiaR_optimizing_save(hia_optimizing *o, hia_params *params, const char *path,
                                const void *extra, size_t n_extra, hia_error **error) {
  hia_status status = begin(o, path, error);
  if (status != HIA_OK) return status;
  hia_param_state *now;
  saving s = {.o = o};
  if (!extra) n_extra = 0;
  if (!accumulate_all(o) || !take_block(&s, n_extra)) return hiaR_fail_memory(&o->allocator, error);
  if (hiaR_params_hold(params, NULL, NULL, &now) != HIA_OK) {
    hiaR_free(&o->allocator, s.tensors, s.size);
    return hiaR_fail_memory(&o->allocator, error);
  }
  hiaR_params_tensors(now, s.tensors, s.scalars);
  s.n = o->n;
  add_state(&s);
  if (extra) add_extra(&s, extra, n_extra);
  status = hiaR_param_file_write(&o->allocator, path, s.tensors, s.n, error);
  hiaR_state_release(now);
  hiaR_free(&o->allocator, s.tensors, s.size);
  return status;
}

/* ---- loading ---- */

/* What a file has, until all of it is there. */
typedef struct loading {
  hia_optimizing *o;
  hia_param_file file;
  hia_param_state *params;
  hia_followed *followed; /* by param: their arrays */
  int64_t steps;
  char *name; /* of the tensor that is looked for */
  size_t name_size;
  unsigned char *extra;
  size_t n_extra;
} loading;

static hia_status read_word(loading *l, const char *name, int64_t *word) {
  const hia_dims shape = {1, {1}};
  hia_file_tensor tensor;
  hia_status status = hiaR_param_file_find(&l->file, name, HIA_I64, &shape, &tensor);
  return status == HIA_OK ? hiaR_param_file_copy(&l->file, &tensor, word) : status;
}

static hia_status HIA_PRINTF(2, 3) refuse(loading *l, const char *fmt, ...) {
  va_list args;
  l->file.wrong = (hia_value_error){.code = NULL};
  va_start(args, fmt);
  vsnprintf(l->file.wrong.message, sizeof l->file.wrong.message, fmt, args);
  va_end(args);
  return HIA_ARGUMENT;
}

/* What the file says of itself. */
static hia_status read_head(loading *l) {
  hia_file_tensor tensor;
  bool is_found;
  int64_t kind;
  hia_status status = hiaR_tensor_file_find(&l->file.file, STEPS, sizeof STEPS - 1, &tensor,
                                            &is_found, &l->file.wrong);
  if (status != HIA_OK) return status;
  if (!is_found)
    return refuse(l, "this is no checkpoint of a trainer: there is no tensor `" STEPS "`");
  status = read_word(l, STEPS, &l->steps);
  if (status == HIA_OK) status = read_word(l, OPTIMIZER, &kind);
  if (status != HIA_OK) return status;
  if (l->steps < 0) return refuse(l, "`" STEPS "` is below 0");
  if (kind == (int64_t)l->o->kind) return HIA_OK;
  bool is_known = kind >= 0 && kind < HIA_N_UPDATES;
  return refuse(l, "the checkpoint is of %s, the trainer's optimizer is %s",
                is_known ? hiaR_updates[kind].name : "an optimizer that this hiaton does not have",
                hiaR_updates[l->o->kind].name);
}

static hia_status read_array(loading *l, uint32_t i, uint32_t k) {
  const hia_param_spec *spec = &l->o->specs[i];
  hia_file_tensor tensor;
  put_name(l->o, i, k, l->name);
  hia_status status = hiaR_param_file_find(&l->file, l->name, spec->dtype, &spec->shape, &tensor);
  if (status != HIA_OK) return status;
  return hiaR_param_file_copy(&l->file, &tensor, l->followed[i].accumulated[k]);
}

static hia_status read_arrays(loading *l) {
  const hia_optimizing *o = l->o;
  uint32_t arrays = hiaR_updates[o->kind].n_accumulated;
  hia_status status = HIA_OK;
  for (uint32_t i = 0; i < o->n && status == HIA_OK; i++) {
    if (!hiaR_optimizing_accumulate(o, &l->followed[i])) return HIA_MEMORY;
    for (uint32_t k = 0; k < arrays && status == HIA_OK; k++) status = read_array(l, i, k);
  }
  return status;
}

static hia_status read_extra(loading *l) {
  const hia_dims shape = {1, {HIA_DIM_UNKNOWN}};
  hia_file_tensor tensor;
  bool is_found;
  hia_status status = hiaR_tensor_file_find(&l->file.file, EXTRA, sizeof EXTRA - 1, &tensor,
                                            &is_found, &l->file.wrong);
  if (status != HIA_OK || !is_found) return status;
  status = hiaR_file_tensor_check(&tensor, HIA_I64, &shape, &l->file.wrong);
  if (status != HIA_OK) return status;
  uint64_t n = tensor.size / WORD;
  int64_t *words = hiaR_alloc(&l->o->allocator, (size_t)tensor.size + 1);
  if (!words) return HIA_MEMORY;
  status = hiaR_param_file_copy(&l->file, &tensor, words);
  if (status == HIA_OK && (!n || words[0] < 0 || (uint64_t)words[0] > (n - 1) * WORD))
    status = refuse(l, "`" EXTRA "` has fewer bytes than it says");
  if (status == HIA_OK && words[0]) {
    l->n_extra = (size_t)words[0];
    l->extra = hiaR_alloc(&l->o->allocator, l->n_extra);
    if (!l->extra) status = HIA_MEMORY;
  }
  for (size_t i = 0; l->extra && i < l->n_extra; i++)
    l->extra[i] = (unsigned char)((uint64_t)words[1 + i / WORD] >> i % WORD * 8 & 255);
  hiaR_free(&l->o->allocator, words, (size_t)tensor.size + 1);
  return status;
}

static bool take_lists(loading *l) {
  const hia_optimizing *o = l->o;
  for (uint32_t i = 0; i < o->n; i++)
    for (uint32_t k = 0; k < hiaR_updates[o->kind].n_accumulated; k++) {
      size_t size = name_size(o, i, k);
      if (size > l->name_size) l->name_size = size;
    }
  size_t size = (size_t)o->n * sizeof *l->followed + l->name_size + 1;
  l->followed = hiaR_alloc(&o->allocator, size);
  if (!l->followed) return false;
  l->name = (char *)(l->followed + o->n);
  for (uint32_t i = 0; i < o->n; i++)
    l->followed[i] = (hia_followed){.n = o->params[i].n, .bytes = o->params[i].bytes};
  return true;
}

static void free_lists(loading *l) {
  const hia_optimizing *o = l->o;
  if (!l->followed) return;
  for (uint32_t i = 0; i < o->n; i++) hiaR_optimizing_forget(o, &l->followed[i]);
  hiaR_free(&o->allocator, l->followed, (size_t)o->n * sizeof *l->followed + l->name_size + 1);
}

static hia_status read_all(loading *l, hia_params *params, const char *path) {
  hia_status status = hiaR_param_file_open(&l->file, path, &l->o->allocator);
  if (status == HIA_OK) status = read_head(l);
  if (status == HIA_OK) status = take_lists(l) ? read_arrays(l) : HIA_MEMORY;
  if (status == HIA_OK) status = read_extra(l);
  if (status == HIA_OK) status = hiaR_param_file_params(&l->file, params, &l->params);
  return status;
}

/* The old arrays take the places of the new ones, which are freed. */
static void commit(loading *l, hia_params *params) {
  hia_optimizing *o = l->o;
  for (uint32_t i = 0; i < o->n; i++)
    for (uint32_t k = 0; k < HIA_MAX_ACCUMULATED; k++) {
      void *old = o->params[i].accumulated[k];
      o->params[i].accumulated[k] = l->followed[i].accumulated[k];
      l->followed[i].accumulated[k] = old;
    }
  o->steps = (uint64_t)l->steps;
  hiaR_state_release(o->made); /* is no longer current */
  o->made = NULL;
  hiaR_params_set(params, l->params);
}

hia_status hiaR_optimizing_load(hia_optimizing *o, hia_params *params, const char *path,
                                void **extra, size_t *n_extra, hia_error **error) {
  if (extra) *extra = NULL;
  if (n_extra) *n_extra = 0;
  hia_status status = begin(o, path, error);
  if (status != HIA_OK) return status;
  loading l = {.o = o};
  status = read_all(&l, params, path);
  if (status == HIA_OK)
    commit(&l, params);
  else
    hiaR_param_file_fail(&l.file, status, error);
  if (status == HIA_OK && extra) {
    *extra = l.extra;
    l.extra = NULL; /* the caller's */
    if (n_extra) *n_extra = l.n_extra;
  }
  hiaR_free(&o->allocator, l.extra, l.n_extra);
  free_lists(&l);
  hiaR_param_file_close(&l.file);
  return status;
}
