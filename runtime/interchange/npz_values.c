/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* .npz for hosts: archives, and values from them and to them. */
#include "runtime/heap/tensor.h"
#include "runtime/interchange/npz.h"
#include "runtime/interchange/values.h"
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

/* ---- tensors and scalars in tuples ----
 *
 * Each is one word, so part k of a tuple in tuples is its word k. */

static bool is_tuple(const hia_type_info *type) {
  return hia_type_info_kind(type) == HIA_KIND_TUPLE;
}

/* The part of a type that word k is, and its number among the parts. *k becomes the number of the
 * word in it. */
static const hia_type_info *part_with(const hia_type_info *type, size_t *k, size_t *number) {
  size_t i = 0;
  while (*k >= hia_type_info_part(type, i)->n_words) *k -= hia_type_info_part(type, i++)->n_words;
  *number = i;
  return hia_type_info_part(type, i);
}

static const hia_type_info *type_of_word(const hia_type_info *type, size_t k) {
  size_t number;
  while (is_tuple(type)) type = part_with(type, &k, &number);
  return type;
}

/* Writes the name of the position of word k: arr_1, as np.savez names arrays that have no name; and
 * arr_1.0 for the first part of a tuple there. As snprintf. */
static size_t name_position(const hia_type_info *type, size_t k, char *to, size_t size) {
  size_t len = 0, number = 0;
  const char *fmt = "arr_%zu";
  do {
    if (is_tuple(type)) type = part_with(type, &k, &number);
    len += (size_t)snprintf(len < size ? to + len : NULL, len < size ? size - len : 0, fmt, number);
    fmt = ".%zu";
  } while (is_tuple(type));
  return len;
}

/* Whether files can have values of the type: tensors, scalars, and tuples of them if `or_tuple`. */
static bool has_form(const hia_type_info *type, bool or_tuple) {
  hia_dtype dtype;
  hia_dims shape;
  if (!or_tuple || !is_tuple(type)) return hiaR_file_type(type, &dtype, &shape);
  for (size_t k = 0; k < type->n_words; k++)
    if (!hiaR_file_type(type_of_word(type, k), &dtype, &shape)) return false;
  return true;
}

/* `wrong` counts with any status, if it says something. */
static hia_status fail(const hia_allocator *allocator, hia_error **error, hia_status status,
                       const char *name, const hia_value_error *wrong) {
  bool has_text = wrong && wrong->message[0];
  const hia_message message = {.message = has_text ? wrong->message : hiaR_status_message(status),
                               .hint = has_text && wrong->hint[0] ? wrong->hint : NULL,
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
  bool converts;            /* arrays of other dtypes are wanted, too */
  hia_value_error wrong;
} loading;

/* What an array is converted from may not have more bytes than the value either. */
static hia_status check_size(loading *l, size_t i, const hia_file_tensor *t, hia_dtype dtype) {
  uint64_t size = hiaR_file_tensor_bytes(t, dtype), most = size > t->size ? size : t->size;
  if (most <= l->left && most <= PTRDIFF_MAX / 2) {
    l->left -= size;
    return HIA_OK;
  }
  char name[60];
  hiaR_file_show(l->file->arrays[i].name, l->file->arrays[i].name_len, name, sizeof name);
  snprintf(l->wrong.message, sizeof l->wrong.message,
           "out of memory: array '%s' has %llu bytes, and %llu may be used", name,
           (unsigned long long)most,
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
  if (status == HIA_OK) status = hiaR_file_tensor_fits(&t, dtype, &shape, l->converts, &l->wrong);
  if (status == HIA_OK) status = check_size(l, i, &t, dtype);
  if (status != HIA_OK) return status;
  if (!shape.rank) {
    uint64_t bytes;
    status = hiaR_npz_copy(l->file, i, &t, dtype, &bytes, &l->wrong);
    if (status == HIA_OK) *word = hiaR_load((hia_repr)dtype, &bytes);
    return status;
  }
  hia_tensor *tensor = hiaR_new_tensor(l->objects, dtype, &t.shape);
  if (!tensor) return HIA_MEMORY;
  *word = (uintptr_t)tensor;
  return hiaR_npz_copy(l->file, i, &t, dtype, tensor->data, &l->wrong);
}

/* Makes a value of arrays, one for each of its words. */
static hia_status load_arrays(const hia_allocator *allocator, loading *l, const size_t *arrays,
                              const hia_type_info *type, hia_value **value) {
  hia_word words[HIA_MAX_WORDS];
  hia_status status = HIA_OK;
  l->objects = hiaR_objects_new(allocator, 0);
  if (!l->objects) return HIA_MEMORY;
  for (size_t k = 0; k < type->n_words && status == HIA_OK; k++)
    status = load_word(l, arrays[k], type_of_word(type, k), &words[k]);
  if (status == HIA_OK) {
    hia_objects *objects = hiaR_objects_bytes(l->objects) ? l->objects : NULL;
    *value = hiaR_value_new(allocator, type, objects, words);
    if (!*value) status = HIA_MEMORY;
  }
  hiaR_objects_release(l->objects);
  return status;
}

/* Loads one array, at the type that it has. */
static hia_status load_as_it_is(const hia_allocator *allocator, loading *l, size_t i,
                                hia_value **value) {
  hia_file_tensor t;
  hia_status status = hiaR_npz_look(l->file, i, &t, &l->wrong);
  if (status == HIA_OK) status = hiaR_file_tensor_check_own(&t, &l->wrong);
  if (status != HIA_OK) return status;
  hia_value_types *made = NULL;
  if (t.shape.rank && !(made = hiaR_file_types(allocator, (hia_dtype)t.dtype, t.shape.rank)))
    return HIA_MEMORY;
  const hia_type_info *type = made ? &made->infos[0] : &hiaR_scalar_infos[t.dtype];
  status = load_arrays(allocator, l, &i, type, value);
  hiaR_value_types_release(made);
  return status;
}

static hia_status no_form(const hia_allocator *allocator, const hia_type_info *type,
                          const char *what, hia_error **error) {
  char text[128];
  hia_type_info_format(type, text, sizeof text);
  return hiaR_fail_text(allocator, error, HIA_ARGUMENT, NULL, "%s, and %s is none", what, text);
}
#define ONE "an array of .npz is a tensor or a scalar"
#define ALL ".npz has tensors and scalars, one or those of a tuple"

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

static hia_status load_one(const hia_npz *npz, size_t i, const hia_type_info *type, bool converts,
                           uint64_t max_bytes, hia_value **value, hia_error **error) {
  if (error) *error = NULL;
  if (value) *value = NULL;
  if (!npz) return missing(&hiaR_malloc, error, "archive");
  const hia_allocator *allocator = &npz->allocator;
  if (!value) return missing(allocator, error, "place for the value");
  if (i >= npz->file.n)
    return hiaR_fail_text(allocator, error, HIA_NOT_FOUND, NULL,
                          "there is no array %zu: the archive has %zu", i, npz->file.n);
  if (type && !has_form(type, false)) return no_form(allocator, type, ONE, error);
  loading l = {.file = &npz->file, .max_bytes = max_bytes, .left = max_bytes, .converts = converts};
  hia_status status =
      type ? load_arrays(allocator, &l, &i, type, value) : load_as_it_is(allocator, &l, i, value);
  return status == HIA_OK ? HIA_OK : fail(allocator, error, status, npz->name, &l.wrong);
}

hia_status hia_npz_load(const hia_npz *npz, size_t i, const hia_type_info *type, uint64_t max_bytes,
                        hia_value **value, hia_error **error) {
  return load_one(npz, i, type, false, max_bytes, value, error);
}

hia_status hia_npz_convert(const hia_npz *npz, size_t i, const hia_type_info *type,
                           uint64_t max_bytes, hia_value **value, hia_error **error) {
  return load_one(npz, i, type, true, max_bytes, value, error);
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

/* Longer names than this are those of tuples nested hundreds of times. */
enum { MAX_POSITION = 4096 };

/* The arrays of an argument: that of the name, or the only one, or of a tuple those of the
 * positions.
 */
static hia_status choose(const hia_npz_file *file, const char *name, const hia_type_info *type,
                         size_t *arrays, hia_value_error *wrong) {
  char *message = wrong->message, position[MAX_POSITION];
  size_t size = sizeof wrong->message - 32;
  bool has_positions = is_tuple(type);
  if (!name && !has_positions) {
    arrays[0] = 0;
    if (file->n == 1) return HIA_OK;
    snprintf(message, size, "one array is wanted, and the file has %zu%s", file->n,
             file->n ? ": " : "");
    list_names(file, message, size);
    return HIA_ARGUMENT;
  }
  for (size_t i = 0; i < (has_positions ? type->n_words : 1); i++) {
    if (has_positions) name_position(type, i, position, sizeof position);
    const char *wanted = has_positions ? position : name;
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

static hia_status load_npz(const hia_allocator *allocator, const hia_type_info *type,
                           const char *name, const void *bytes, size_t size, const char *array,
                           bool converts, uint64_t max_bytes, hia_value **value,
                           hia_error **error) {
  if (error) *error = NULL;
  if (value) *value = NULL;
  if (!allocator) allocator = &hiaR_malloc;
  if (!bytes && size) return missing(allocator, error, "bytes");
  if (!value) return missing(allocator, error, "place for the value");
  if (type && !has_form(type, !array)) return no_form(allocator, type, array ? ONE : ALL, error);
  hia_npz_file file;
  size_t arrays[HIA_MAX_WORDS];
  loading l = {.file = &file, .max_bytes = max_bytes, .left = max_bytes, .converts = converts};
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

hia_status hia_data_load_npz(const hia_allocator *allocator, const hia_type_info *type,
                             const char *name, const void *bytes, size_t size, const char *array,
                             uint64_t max_bytes, hia_value **value, hia_error **error) {
  return load_npz(allocator, type, name, bytes, size, array, false, max_bytes, value, error);
}

hia_status hia_data_convert_npz(const hia_allocator *allocator, const hia_type_info *type,
                                const char *name, const void *bytes, size_t size, const char *array,
                                uint64_t max_bytes, hia_value **value, hia_error **error) {
  return load_npz(allocator, type, name, bytes, size, array, true, max_bytes, value, error);
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

/* True if the label is that of another word, too, or the name of a position. */
static bool is_ambiguous(const hia_type_info *type, const char *const *labels, size_t k) {
  char position[MAX_POSITION];
  for (size_t i = 0; i < type->n_words; i++) {
    if (i != k && labels[i] && strcmp(labels[i], labels[k]) == 0) return true;
    name_position(type, i, position, sizeof position);
    if (strcmp(position, labels[k]) == 0) return true;
  }
  return false;
}

/* Writes the name of word k: its label, if that is a name of its own; else that of its position,
 * with the label behind it. */
static size_t name_word(const hia_type_info *type, const char *const *labels, size_t k, char *to,
                        size_t size) {
  const char *label = labels ? labels[k] : NULL;
  if (label && !is_ambiguous(type, labels, k)) return (size_t)snprintf(to, size, "%s", label);
  char position[MAX_POSITION];
  name_position(type, k, position, sizeof position);
  return (size_t)snprintf(to, size, "%s%s%s", position, label ? "." : "", label ? label : "");
}

/* Arranges the words of a value, with names in a block of names_size bytes, which the caller frees.
 */
static bool arrange_words(saving *s, const hia_value *value, const char *const *labels,
                          char **names, size_t *names_size) {
  const hia_type_info *type = value->type;
  size_t size = 1;
  for (size_t k = 0; k < type->n_words; k++) size += name_word(type, labels, k, NULL, 0) + 1;
  char *at = *names = hiaR_alloc(s->allocator, size);
  *names_size = size;
  if (!at || !begin_saving(s, type->n_words)) return false;
  for (size_t k = 0; k < type->n_words; k++) {
    hia_file_tensor *t = &s->tensors[k];
    hia_dtype dtype;
    hia_dims shape;
    hiaR_file_type(type_of_word(type, k), &dtype, &shape);
    if (shape.rank)
      hiaR_file_tensor_of(hiaR_tensor(value->words[k]), t);
    else
      hiaR_file_tensor_of_scalar(dtype, value->words[k], scalar_of(s, k), t);
    t->name = at;
    t->name_len = name_word(type, labels, k, at, size);
    at += t->name_len + 1;
    size -= t->name_len + 1;
  }
  return true;
}

hia_status hia_value_save_npz_parts(const hia_value *value, const char *const *labels, size_t n,
                                    const char *path, hia_error **error) {
  if (error) *error = NULL;
  if (!value) return missing(&hiaR_malloc, error, "value");
  saving s = {.allocator = &value->allocator};
  if (!path) return missing(s.allocator, error, "path");
  if (!has_form(value->type, true)) return no_form(s.allocator, value->type, ALL, error);
  if (labels && n != value->type->n_words)
    return hiaR_fail_text(s.allocator, error, HIA_ARGUMENT, NULL, "%zu names for %u parts", n,
                          value->type->n_words);
  char *names;
  size_t names_size;
  hia_status status = arrange_words(&s, value, labels, &names, &names_size)
                          ? write_file(&s, path, error)
                          : fail(s.allocator, error, HIA_MEMORY, NULL, NULL);
  if (names) hiaR_free(s.allocator, names, names_size);
  return status;
}

hia_status hia_value_save_npz_file(const hia_value *value, const char *path, hia_error **error) {
  return hia_value_save_npz_parts(value, NULL, 0, path, error);
}
