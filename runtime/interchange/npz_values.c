/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* .npz for hosts: archives, and values from them and to them. */
#include "runtime/interchange/npz.h"
#include "runtime/interchange/values.h"
#include "runtime/tensor/tensor.h"
#include <errno.h>
#include <stdio.h>

struct hia_npz {
  hia_allocator allocator;
  hia_npz_file file;
  char *bytes; /* its own, or NULL */
  size_t size; /* of that block */
  char *name;  /* for messages; NULL: none */
  size_t name_size;
};

/* As np.savez names arrays that have no name. */
#define NUMBERED "arr_%zu"
enum { NUMBERED_SIZE = 32 };

/* `wrong` counts with any status, if it says something. */
static hia_status fail(const hia_allocator *allocator, hia_error **error, hia_status status,
                       const char *name, const hia_value_error *wrong) {
  bool has_text = wrong && wrong->message[0];
  const hia_message message = {.message = has_text ? wrong->message : hiaR_status_message(status),
                               .file = has_text && status != HIA_IO && name ? name : ""};
  return hiaR_fail_message(allocator, error, status, &message);
}

static hia_status missing(const hia_allocator *allocator, hia_error **error, const char *what) {
  return hiaR_fail_text(allocator, error, HIA_ARGUMENT, NULL, "no %s", what);
}

/* ---- arrays to words ---- */

typedef struct loading {
  const hia_npz_file *file;
  hia_objects *objects;
  uint64_t max_bytes, left; /* for elements */
  hia_value_error wrong;
} loading;

static hia_status check_size(loading *l, size_t i, const hia_file_tensor *t) {
  if (t->size <= l->left && t->size <= PTRDIFF_MAX / 2) {
    l->left -= t->size;
    return HIA_OK;
  }
  char name[60];
  hiaR_file_show(l->file->arrays[i].name, l->file->arrays[i].name_len, name, sizeof name);
  snprintf(l->wrong.message, sizeof l->wrong.message,
           "out of memory: array '%s' has %llu bytes, and %llu may be used", name,
           (unsigned long long)t->size,
           (unsigned long long)(l->max_bytes < PTRDIFF_MAX / 2 ? l->left : PTRDIFF_MAX / 2));
  return HIA_MEMORY;
}

/* Reads array i, of this type. */
static hia_status load_word(loading *l, size_t i, const hia_type_info *type, hia_word *word) {
  hia_file_tensor t;
  hia_dtype dtype;
  hia_dims shape;
  hiaR_file_type(type, &dtype, &shape);
  hia_status status = hiaR_npz_look(l->file, i, &t, &l->wrong);
  if (status == HIA_OK) status = hiaR_file_tensor_check(&t, dtype, &shape, &l->wrong);
  if (status == HIA_OK) status = check_size(l, i, &t);
  if (status != HIA_OK) return status;
  if (!shape.rank) {
    uint64_t bytes;
    status = hiaR_npz_copy(l->file, i, &t, &bytes, &l->wrong);
    if (status == HIA_OK) *word = hiaR_load((hia_repr)dtype, &bytes);
    return status;
  }
  hia_tensor *tensor = hiaR_new_tensor(l->objects, dtype, &t.shape);
  if (!tensor) return HIA_MEMORY;
  *word = (uintptr_t)tensor;
  return hiaR_npz_copy(l->file, i, &t, tensor->data, &l->wrong);
}

/* Makes a value of n arrays: of a tuple if `type` is one, else of one array. */
static hia_status load_arrays(const hia_allocator *allocator, loading *l, const size_t *arrays,
                              const hia_type_info *type, hia_value **value) {
  hia_word words[HIA_MAX_WORDS];
  bool is_tuple = hia_type_info_kind(type) == HIA_KIND_TUPLE;
  hia_status status = HIA_OK;
  l->objects = hiaR_objects_new(allocator, 0);
  if (!l->objects) return HIA_MEMORY;
  for (size_t i = 0; i < (is_tuple ? hia_type_info_len(type) : 1) && status == HIA_OK; i++)
    status = load_word(l, arrays[i], is_tuple ? hia_type_info_part(type, i) : type, &words[i]);
  if (status == HIA_OK) {
    hia_objects *objects = hiaR_objects_bytes(l->objects) ? l->objects : NULL;
    *value = hiaR_value_new(allocator, type, objects, words);
    if (!*value) status = HIA_MEMORY;
  }
  hiaR_objects_release(l->objects);
  return status;
}

/* The same of one array, of the type that it has. */
static hia_status load_as_it_is(const hia_allocator *allocator, loading *l, size_t i,
                                hia_value **value) {
  hia_file_tensor t;
  hia_status status = hiaR_npz_look(l->file, i, &t, &l->wrong);
  if (status != HIA_OK) return status;
  hia_value_types *own = NULL;
  if (t.shape.rank && !(own = hiaR_file_types(allocator, t.dtype, t.shape.rank))) return HIA_MEMORY;
  const hia_type_info *type = own ? &own->infos[0] : &hiaR_scalar_infos[t.dtype];
  status = load_arrays(allocator, l, &i, type, value);
  hiaR_value_types_release(own);
  return status;
}

/* Whether files can have values of the type: tensors, scalars, and tuples of them if `or_tuple`. */
static bool has_form(const hia_type_info *type, bool or_tuple) {
  hia_dtype dtype;
  hia_dims shape;
  if (!or_tuple || hia_type_info_kind(type) != HIA_KIND_TUPLE)
    return hiaR_file_type(type, &dtype, &shape);
  for (size_t i = 0; i < hia_type_info_len(type); i++)
    if (!has_form(hia_type_info_part(type, i), false)) return false;
  return true;
}

static hia_status no_form(const hia_allocator *allocator, const hia_type_info *type,
                          const char *what, hia_error **error) {
  char text[128];
  hia_type_info_format(type, text, sizeof text);
  return hiaR_fail_text(allocator, error, HIA_ARGUMENT, NULL, "%s, and %s is none", what, text);
}
#define ONE "an array of .npz is a tensor or a scalar"
#define ALL ".npz has tensors and scalars, one or a tuple of them"

/* ---- archives ---- */

static hia_status open_npz(const hia_allocator *allocator, const char *name, const void *bytes,
                           size_t size, hia_npz **npz, hia_error **error) {
  hia_value_error wrong = {.code = NULL};
  hia_npz *made = hiaR_alloc(allocator, sizeof *made);
  if (!made) return fail(allocator, error, HIA_MEMORY, NULL, NULL);
  made->allocator = *allocator;
  hia_status status = HIA_OK;
  if (name) {
    made->name_size = strlen(name) + 1;
    made->name = hiaR_alloc(allocator, made->name_size);
    if (made->name)
      memcpy(made->name, name, made->name_size);
    else
      status = HIA_MEMORY;
  }
  if (status == HIA_OK)
    status = hiaR_npz_read(&made->file, allocator, bytes ? bytes : "", size, &wrong);
  if (status == HIA_OK)
    *npz = made;
  else
    hia_npz_free(made);
  return status == HIA_OK ? HIA_OK : fail(allocator, error, status, name, &wrong);
}

hia_status hia_npz_open(const hia_allocator *allocator, const char *name, const void *bytes,
                        size_t size, hia_npz **npz, hia_error **error) {
  if (error) *error = NULL;
  if (npz) *npz = NULL;
  if (!allocator) allocator = &hiaR_malloc;
  if (!bytes && size) return missing(allocator, error, "bytes");
  if (!npz) return missing(allocator, error, "place for the archive");
  return open_npz(allocator, name, bytes, size, npz, error);
}

hia_status hia_npz_open_file(const hia_allocator *allocator, const char *path, hia_npz **npz,
                             hia_error **error) {
  if (error) *error = NULL;
  if (npz) *npz = NULL;
  if (!allocator) allocator = &hiaR_malloc;
  if (!path) return missing(allocator, error, "path");
  if (!npz) return missing(allocator, error, "place for the archive");
  char *bytes;
  size_t len, size;
  int wrong = hiaR_read_file(allocator, path, SIZE_MAX / 4, &bytes, &len, &size);
  hia_status status = wrong == ENOMEM ? fail(allocator, error, HIA_MEMORY, NULL, NULL)
                      : wrong         ? hiaR_fail_file(allocator, error, "read", path, wrong)
                                      : open_npz(allocator, path, bytes, len, npz, error);
  if (status == HIA_OK) {
    (*npz)->bytes = bytes;
    (*npz)->size = size;
  } else if (bytes) {
    hiaR_free(allocator, bytes, size);
  }
  return status;
}

void hia_npz_free(hia_npz *npz) {
  if (!npz) return;
  const hia_allocator allocator = npz->allocator;
  if (npz->file.arrays) hiaR_npz_free(&npz->file);
  if (npz->bytes) hiaR_free(&allocator, npz->bytes, npz->size);
  if (npz->name) hiaR_free(&allocator, npz->name, npz->name_size);
  hiaR_free(&allocator, npz, sizeof *npz);
}

size_t hia_npz_len(const hia_npz *npz) { return npz ? npz->file.n : 0; }

const char *hia_npz_name(const hia_npz *npz, size_t i) {
  return i < hia_npz_len(npz) ? npz->file.arrays[i].name : "";
}

size_t hia_npz_find(const hia_npz *npz, const char *name) {
  return npz && name ? hiaR_npz_find(&npz->file, name, strlen(name)) : hia_npz_len(npz);
}

hia_status hia_npz_load(const hia_npz *npz, size_t i, const hia_type_info *type, uint64_t max_bytes,
                        hia_value **value, hia_error **error) {
  if (error) *error = NULL;
  if (value) *value = NULL;
  if (!npz) return missing(&hiaR_malloc, error, "archive");
  const hia_allocator *allocator = &npz->allocator;
  if (!value) return missing(allocator, error, "place for the value");
  if (i >= npz->file.n)
    return hiaR_fail_text(allocator, error, HIA_NOT_FOUND, NULL,
                          "there is no array %zu: the archive has %zu", i, npz->file.n);
  if (type && !has_form(type, false)) return no_form(allocator, type, ONE, error);
  loading l = {.file = &npz->file, .max_bytes = max_bytes, .left = max_bytes};
  hia_status status =
      type ? load_arrays(allocator, &l, &i, type, value) : load_as_it_is(allocator, &l, i, value);
  return status == HIA_OK ? HIA_OK : fail(allocator, error, status, npz->name, &l.wrong);
}

/* ---- arguments ---- */

/* Adds the names of the arrays to a message. */
static void list_names(const hia_npz_file *file, char *message, size_t size) {
  size_t len = strlen(message);
  for (size_t i = 0; i < file->n; i++) {
    char name[60];
    hiaR_file_show(file->arrays[i].name, file->arrays[i].name_len, name, sizeof name);
    int n = snprintf(message + len, size - len, "%s'%s'", i ? ", " : "", name);
    if ((size_t)n >= size - len - 4) {
      snprintf(message + len, size - len, ", ...");
      return;
    }
    len += (size_t)n;
  }
}

/* The arrays of an argument: that of the name, or the only one, or of a tuple those with numbers.
 */
static hia_status choose(const hia_npz_file *file, const char *name, const hia_type_info *type,
                         size_t *arrays, hia_value_error *wrong) {
  char *message = wrong->message, numbered[NUMBERED_SIZE];
  size_t size = sizeof wrong->message - 32;
  bool is_tuple = hia_type_info_kind(type) == HIA_KIND_TUPLE;
  if (!name && !is_tuple) {
    arrays[0] = 0;
    if (file->n == 1) return HIA_OK;
    snprintf(message, size, "one array is wanted, and the file has %zu%s", file->n,
             file->n ? ": " : "");
    list_names(file, message, size);
    return HIA_ARGUMENT;
  }
  for (size_t i = 0; i < (is_tuple ? hia_type_info_len(type) : 1); i++) {
    snprintf(numbered, sizeof numbered, NUMBERED, i);
    const char *wanted = is_tuple ? numbered : name;
    arrays[i] = hiaR_npz_find(file, wanted, strlen(wanted));
    if (arrays[i] < file->n) continue;
    char shown[60];
    hiaR_file_show(wanted, strlen(wanted), shown, sizeof shown);
    snprintf(message, size, "there is no array '%s'%s", shown, file->n ? "; there are " : "");
    list_names(file, message, size);
    return HIA_ARGUMENT;
  }
  return HIA_OK;
}

hia_status hia_data_load_npz(const hia_allocator *allocator, const hia_type_info *type,
                             const char *name, const void *bytes, size_t size, const char *array,
                             uint64_t max_bytes, hia_value **value, hia_error **error) {
  if (error) *error = NULL;
  if (value) *value = NULL;
  if (!allocator) allocator = &hiaR_malloc;
  if (!bytes && size) return missing(allocator, error, "bytes");
  if (!value) return missing(allocator, error, "place for the value");
  if (type && !has_form(type, !array)) return no_form(allocator, type, array ? ONE : ALL, error);
  hia_npz_file file;
  size_t arrays[HIA_MAX_WORDS];
  loading l = {.file = &file, .max_bytes = max_bytes, .left = max_bytes};
  hia_status status = hiaR_npz_read(&file, allocator, bytes ? bytes : "", size, &l.wrong);
  if (status == HIA_OK) {
    status = choose(&file, array, type, arrays, &l.wrong);
    if (status == HIA_OK)
      status = type ? load_arrays(allocator, &l, arrays, type, value)
                    : load_as_it_is(allocator, &l, arrays[0], value);
    hiaR_npz_free(&file);
  }
  return status == HIA_OK ? HIA_OK : fail(allocator, error, status, name, &l.wrong);
}

/* ---- writing ---- */

typedef struct saving {
  const hia_allocator *allocator;
  size_t n, size;
  hia_file_tensor *tensors; /* a block, with a scalar for each behind them */
} saving;

static void *scalar_of(const saving *s, size_t i) {
  return (uint64_t *)(void *)(s->tensors + s->n) + i;
}

static bool begin_saving(saving *s, size_t n) {
  s->n = n;
  if (!hiaR_mul(n, sizeof *s->tensors + sizeof(uint64_t), &s->size) || s->size == SIZE_MAX)
    return false;
  s->size++;
  s->tensors = hiaR_alloc(s->allocator, s->size);
  return s->tensors != NULL;
}

static void end_saving(saving *s) { hiaR_free(s->allocator, s->tensors, s->size); }

/* Checks all that is to be written, and arranges it: the caller ends with end_saving. */
static hia_status arrange(saving *s, const char *const *names, const hia_value *const *values,
                          size_t n, hia_error **error) {
  if (n && !names) return missing(s->allocator, error, "names");
  if (n && !values) return missing(s->allocator, error, "values");
  for (size_t i = 0; i < n; i++) {
    if (!names[i] || !values[i])
      return hiaR_fail_text(s->allocator, error, HIA_ARGUMENT, NULL, "array %zu has no %s", i,
                            names[i] ? "value" : "name");
    if (!has_form(values[i]->type, false))
      return no_form(s->allocator, values[i]->type, ONE, error);
  }
  if (!begin_saving(s, n)) return fail(s->allocator, error, HIA_MEMORY, NULL, NULL);
  for (size_t i = 0; i < n; i++) {
    hiaR_file_tensor_of_value(values[i], scalar_of(s, i), &s->tensors[i]);
    s->tensors[i].name = names[i];
    s->tensors[i].name_len = strlen(names[i]);
  }
  return HIA_OK;
}

hia_status hia_npz_save(const hia_allocator *allocator, const char *const *names,
                        const hia_value *const *values, size_t n, hia_write write, void *user,
                        hia_error **error) {
  if (error) *error = NULL;
  saving s = {.allocator = allocator ? allocator : &hiaR_malloc};
  if (!write)
    return hiaR_fail_text(s.allocator, error, HIA_ARGUMENT, NULL, "nothing to write with");
  hia_status status = arrange(&s, names, values, n, error);
  if (status != HIA_OK) return status;
  const hia_sink sink = {write, user};
  hia_value_error wrong;
  status = hiaR_npz_write(s.allocator, s.tensors, n, &sink, &wrong);
  end_saving(&s);
  return status == HIA_OK ? HIA_OK : fail(s.allocator, error, status, NULL, &wrong);
}

static hia_status write_file(saving *s, const char *path, hia_error **error) {
  hia_value_error wrong;
  hia_status status = hiaR_npz_write_file(s->allocator, path, s->tensors, s->n, &wrong);
  end_saving(s);
  return status == HIA_OK ? HIA_OK : fail(s->allocator, error, status, path, &wrong);
}

hia_status hia_npz_save_file(const hia_allocator *allocator, const char *const *names,
                             const hia_value *const *values, size_t n, const char *path,
                             hia_error **error) {
  if (error) *error = NULL;
  saving s = {.allocator = allocator ? allocator : &hiaR_malloc};
  if (!path) return missing(s.allocator, error, "path");
  hia_status status = arrange(&s, names, values, n, error);
  return status == HIA_OK ? write_file(&s, path, error) : status;
}

hia_status hia_value_save_npz_file(const hia_value *value, const char *path, hia_error **error) {
  if (error) *error = NULL;
  if (!value) return missing(&hiaR_malloc, error, "value");
  saving s = {.allocator = &value->allocator};
  if (!path) return missing(s.allocator, error, "path");
  const hia_type_info *type = value->type;
  if (!has_form(type, true)) return no_form(s.allocator, type, ALL, error);
  bool is_tuple = hia_type_info_kind(type) == HIA_KIND_TUPLE;
  size_t n = is_tuple ? hia_type_info_len(type) : 1, names_size = n * NUMBERED_SIZE + 1;
  char *names = hiaR_alloc(s.allocator, names_size);
  if (!names) return fail(s.allocator, error, HIA_MEMORY, NULL, NULL);
  hia_status status = HIA_MEMORY;
  if (begin_saving(&s, n)) {
    for (size_t i = 0; i < n; i++) {
      const hia_type_info *part = is_tuple ? hia_type_info_part(type, i) : type;
      hia_file_tensor *t = &s.tensors[i];
      hia_dtype dtype;
      hia_dims shape;
      hiaR_file_type(part, &dtype, &shape);
      if (shape.rank)
        hiaR_file_tensor_of(hiaR_tensor(value->words[i]), t);
      else
        hiaR_file_tensor_of_scalar(dtype, value->words[i], scalar_of(&s, i), t);
      char *name = names + i * NUMBERED_SIZE;
      t->name_len = (size_t)snprintf(name, NUMBERED_SIZE, NUMBERED, i);
      t->name = name;
    }
    status = write_file(&s, path, error);
  } else {
    fail(s.allocator, error, HIA_MEMORY, NULL, NULL);
  }
  hiaR_free(s.allocator, names, names_size);
  return status;
}
