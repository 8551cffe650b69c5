/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Values to text and files, and from them, with the errors of the API. */
#include "runtime/value/handle.h"
#include <errno.h>
#include <stdio.h>

static hia_status fail(const hia_allocator *allocator, hia_error **error, hia_status status) {
  return hiaR_fail_text(allocator, error, status, NULL, "%s", hiaR_status_message(status));
}

hia_status hiaR_fail_reading(const hia_allocator *allocator, hia_error **error, hia_status status,
                             const char *name, const char *text, size_t len,
                             const hia_value_error *wrong) {
  if (status != HIA_ARGUMENT) return fail(allocator, error, status);
  return hiaR_fail_message(allocator, error, status,
                           &(hia_message){.message = wrong->message,
                                          .hint = wrong->hint[0] ? wrong->hint : NULL,
                                          .code = wrong->code,
                                          .file = name ? name : "",
                                          .text = wrong->line ? text : "",
                                          .text_size = wrong->line ? len : 0,
                                          .line = wrong->line,
                                          .col = wrong->col});
}

/* ---- writing ---- */

hia_status hia_value_write(const hia_value *value, uint64_t max_bytes, hia_write write, void *user,
                           bool *is_cut, hia_error **error) {
  if (error) *error = NULL;
  if (is_cut) *is_cut = false;
  if (!value) return hiaR_fail_text(&hiaR_malloc, error, HIA_ARGUMENT, NULL, "no value");
  const hia_allocator *allocator = &value->allocator;
  if (!write) return hiaR_fail_text(allocator, error, HIA_ARGUMENT, NULL, "nothing to write with");
  const hia_sink sink = {write, user};
  hia_status status = hiaR_value_print(&value->type->types->table, value->type->type, value->words,
                                       allocator, max_bytes, &sink, is_cut);
  return status == HIA_OK ? HIA_OK : fail(allocator, error, status);
}

typedef hia_status saving(const hia_type_table *types, hia_type type, const hia_word *words,
                          const hia_allocator *allocator, const hia_sink *sink);

static hia_status save(saving *how, const hia_value *value, hia_write write, void *user,
                       hia_error **error) {
  if (error) *error = NULL;
  if (!value) return hiaR_fail_text(&hiaR_malloc, error, HIA_ARGUMENT, NULL, "no value");
  const hia_allocator *allocator = &value->allocator;
  if (!write) return hiaR_fail_text(allocator, error, HIA_ARGUMENT, NULL, "nothing to write with");
  const hia_sink sink = {write, user};
  hia_status status =
      how(&value->type->types->table, value->type->type, value->words, allocator, &sink);
  return status == HIA_OK ? HIA_OK : fail(allocator, error, status);
}

hia_status hia_value_save(const hia_value *value, hia_write write, void *user, hia_error **error) {
  return save(hiaR_value_save, value, write, user, error);
}

hia_status hiaR_fail_file(const hia_allocator *allocator, hia_error **error, const char *verb,
                          const char *path, int number) {
  char why[128];
  /* The GNU version of strerror_r, which may return a static text instead of `why`. */
  const char *reason = strerror_r(number, why, sizeof why);
  return hiaR_fail_text(allocator, error, HIA_IO, NULL, "cannot %s %s: %s", verb, path, reason);
}

static hia_status save_file(saving *how, const hia_value *value, const char *path,
                            hia_error **error) {
  if (error) *error = NULL;
  if (!value) return hiaR_fail_text(&hiaR_malloc, error, HIA_ARGUMENT, NULL, "no value");
  const hia_allocator *allocator = &value->allocator;
  if (!path) return hiaR_fail_text(allocator, error, HIA_ARGUMENT, NULL, "no path");
  hia_file_output file;
  int wrong = hiaR_output_open(&file, path);
  if (wrong) return hiaR_fail_file(allocator, error, "write", path, wrong);
  hia_status status = save(how, value, hiaR_output_write, &file, NULL);
  wrong = hiaR_output_close(&file, status == HIA_OK);
  if (wrong) return hiaR_fail_file(allocator, error, "write", path, wrong);
  return status == HIA_OK ? HIA_OK : fail(allocator, error, status);
}

hia_status hia_value_save_file(const hia_value *value, const char *path, hia_error **error) {
  return save_file(hiaR_value_save, value, path, error);
}

hia_status hiaR_scalars_save_file(const hia_value *value, const char *path, hia_error **error) {
  return save_file(hiaR_scalars_save, value, path, error);
}

/* ---- reading ---- */

typedef struct reading {
  const hia_allocator *allocator;
  const hia_type_info *type;
  const char *name;
  hia_value **value;
  hia_error **error;
  hia_objects *objects;
  hia_word words[HIA_MAX_WORDS];
} reading;

static hia_status begin(reading *r, const hia_allocator *allocator, const void *bytes, size_t len) {
  if (r->error) *r->error = NULL;
  if (r->value) *r->value = NULL;
  r->allocator = allocator ? allocator : &hiaR_malloc;
  const char *missing = !r->type        ? "type"
                        : !bytes && len ? "bytes"
                        : !r->value     ? "place for the value"
                                        : NULL;
  if (missing) return hiaR_fail_text(r->allocator, r->error, HIA_ARGUMENT, NULL, "no %s", missing);
  r->objects = hiaR_objects_new(r->allocator, 0);
  return r->objects ? HIA_OK : fail(r->allocator, r->error, HIA_MEMORY);
}

static hia_status end(reading *r, hia_status status, const void *bytes, size_t len,
                      const hia_value_error *wrong) {
  hia_objects *objects = hiaR_objects_bytes(r->objects) ? r->objects : NULL;
  if (status == HIA_OK) {
    *r->value = hiaR_value_new(r->allocator, r->type, objects, r->words);
    if (!*r->value) status = HIA_MEMORY;
  }
  hiaR_objects_release(r->objects);
  if (status == HIA_OK) return HIA_OK;
  return hiaR_fail_reading(r->allocator, r->error, status, r->name, bytes, len, wrong);
}

hia_status hia_data_read(const hia_allocator *allocator, const hia_type_info *type,
                         const char *name, const char *text, size_t len, hia_value **value,
                         hia_error **error) {
  reading r = {.type = type, .name = name ? name : "value", .value = value, .error = error};
  hia_status status = begin(&r, allocator, text, len);
  if (status != HIA_OK) return status;
  const hia_reading how = {
      .allocator = r.allocator, .types = &type->types->table, .objects = r.objects};
  hia_value_error wrong = {.code = NULL};
  status = hiaR_value_read(&how, text ? text : "", len, type->type, r.words, &wrong);
  return end(&r, status, text, len, &wrong);
}

typedef hia_status loading(const hia_type_table *types, hia_type type, const void *bytes,
                           size_t size, const hia_allocator *allocator, hia_objects *objects,
                           hia_word *words, hia_value_error *error);

static hia_status load(loading *how, const hia_allocator *allocator, const hia_type_info *type,
                       const char *name, const void *bytes, size_t size, hia_value **value,
                       hia_error **error) {
  reading r = {.type = type, .name = name, .value = value, .error = error};
  hia_status status = begin(&r, allocator, bytes, size);
  if (status != HIA_OK) return status;
  hia_value_error wrong = {.code = NULL};
  status =
      how(&type->types->table, type->type, bytes, size, r.allocator, r.objects, r.words, &wrong);
  return end(&r, status, bytes, size, &wrong);
}

hia_status hia_data_load(const hia_allocator *allocator, const hia_type_info *type,
                         const char *name, const void *bytes, size_t size, hia_value **value,
                         hia_error **error) {
  return load(hiaR_value_load, allocator, type, name, bytes, size, value, error);
}

hia_status hiaR_scalars_load_data(const hia_allocator *allocator, const hia_type_info *type,
                                  const char *name, const void *bytes, size_t size,
                                  hia_value **value, hia_error **error) {
  return load(hiaR_scalars_load, allocator, type, name, bytes, size, value, error);
}

hia_status hia_data_load_file(const hia_allocator *allocator, const hia_type_info *type,
                              const char *path, hia_value **value, hia_error **error) {
  if (error) *error = NULL;
  if (value) *value = NULL;
  if (!allocator) allocator = &hiaR_malloc;
  if (!path) return hiaR_fail_text(allocator, error, HIA_ARGUMENT, NULL, "no path");
  char *bytes;
  size_t len, size;
  int wrong = hiaR_read_file(allocator, path, SIZE_MAX / 4, &bytes, &len, &size);
  hia_status status = wrong == ENOMEM ? fail(allocator, error, HIA_MEMORY)
                      : wrong         ? hiaR_fail_file(allocator, error, "read", path, wrong)
                              : hia_data_load(allocator, type, path, bytes, len, value, error);
  if (bytes) hiaR_free(allocator, bytes, size);
  return status;
}

/* ---- trees in brackets ---- */

HIA_SIZED(hia_bracket_options, labels);

hia_status hia_data_read_brackets(const hia_allocator *allocator, const hia_type_info *type,
                                  const char *name, const char *text, size_t len,
                                  const hia_bracket_options *options, hia_value **value,
                                  hia_error **error) {
  reading r = {.type = type, .name = name, .value = value, .error = error};
  hia_status status = begin(&r, allocator, text, len);
  if (status != HIA_OK) return status;
  hia_bracket_options complete = HIA_BRACKET_OPTIONS_INIT;
  if (hiaR_copy_options(r.allocator, "bracket options", &complete, sizeof complete, options,
                        error)) {
    hiaR_objects_release(r.objects);
    return HIA_ARGUMENT;
  }
  const hia_type_info *tree =
      hia_type_info_kind(type) == HIA_KIND_ARRAY ? hia_type_info_element(type) : type;
  if (hia_type_info_kind(tree) != HIA_KIND_DATA) {
    char found[256];
    hia_type_info_format(type, found, sizeof found);
    hiaR_objects_release(r.objects);
    return hiaR_fail_text(r.allocator, error, HIA_ARGUMENT,
                          "trees in brackets are of a data type T, or an array [T]",
                          "%s is no type of trees", found);
  }
  const hia_bracket_reading bracket = {.allocator = r.allocator,
                                       .types = &type->types->table,
                                       .objects = r.objects,
                                       .words = complete.words,
                                       .may_add = complete.add_words,
                                       .labels = complete.labels};
  hia_value_error wrong = {.code = NULL};
  status = hiaR_brackets_read(&bracket, text, len, type->type, r.words, &wrong);
  return end(&r, status, text, len, &wrong);
}

/* ---- words ---- */

hia_vocab *hia_vocab_new(const hia_allocator *allocator) {
  return hiaR_vocab_new(allocator ? allocator : &hiaR_malloc);
}
void hia_vocab_free(hia_vocab *words) { hiaR_vocab_free(words); }
size_t hia_vocab_len(const hia_vocab *words) { return words ? hiaR_vocab_len(words) : 0; }

const char *hia_vocab_get(const hia_vocab *words, size_t i, size_t *len) {
  size_t n = 0;
  const char *word = i < hia_vocab_len(words) ? hiaR_vocab_get(words, (uint32_t)i, &n) : NULL;
  if (len) *len = n;
  return word;
}
