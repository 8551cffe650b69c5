/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* libFuzzer target: any bytes are a value or are refused, as text and as a saved value, in memory
 * that is in proportion to them. A value that is accepted can be printed and saved, and is the same
 * when it is read or loaded again.
 *
 * The first byte chooses. Nearly all files are refused for their hash, so each is loaded twice: as
 * it is, and with types, size and hash that are right. */
#include "runtime/format/file.h"
#include "tests/unit/helpers/value.h"
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds, const char *what) {
  if (holds) return;
  fprintf(stderr, "%s\n", what);
  abort();
}

/* Values that share can be very long when printed. */
static value_buffer print(const value_world *w, hia_type type, const hia_word *word, bool *is_cut) {
  value_buffer text = {0};
  hia_sink sink = {value_buffer_take, &text};
  check(hiaR_value_print(&w->table, type, word, &hiaR_malloc, 100000, &sink, is_cut) == HIA_OK,
        "cannot be printed");
  return text;
}

static value_buffer save(const value_world *w, hia_type type, const hia_word *word) {
  value_buffer file = {0};
  hia_sink sink = {value_buffer_take, &file};
  check(hiaR_value_save(&w->table, type, word, &hiaR_malloc, &sink) == HIA_OK, "cannot be saved");
  return file;
}

static void check_again(const value_world *w, hia_type type, const hia_word *word) {
  hia_objects *objects = hiaR_objects_new(&hiaR_malloc, 0);
  hia_value_error error;
  hia_word back;
  bool is_cut;
  value_buffer text = print(w, type, word, &is_cut), file = save(w, type, word);
  if (!is_cut) {
    const hia_reading reading = {.allocator = &hiaR_malloc, .types = &w->table, .objects = objects};
    check(hiaR_value_read(&reading, text.data, text.len, type, &back, &error) == HIA_OK,
          "cannot be read again");
    value_buffer again = print(w, type, &back, &is_cut);
    check(strcmp(text.data, again.data) == 0, "another text");
    free(again.data);
  }
  check(hiaR_value_load(&w->table, type, file.data, file.len, &hiaR_malloc, objects, &back,
                        &error) == HIA_OK,
        "cannot be loaded again");
  value_buffer again = save(w, type, &back);
  check(again.len == file.len && memcmp(again.data, file.data, file.len) == 0, "other bytes");
  free(again.data);
  free(file.data);
  free(text.data);
  hiaR_objects_release(objects);
}

static void check_error(const hia_value_error *error, hia_status status, size_t size) {
  check(status == HIA_OK ||
            (status == HIA_ARGUMENT && error->message[0] && error->at + error->len <= size),
        "no error, or none in the text");
}

static void read_text(const value_world *w, hia_type type, const char *text, size_t size) {
  hia_objects *objects = hiaR_objects_new(&hiaR_malloc, 0);
  const hia_reading reading = {.allocator = &hiaR_malloc, .types = &w->table, .objects = objects};
  hia_value_error error;
  hia_word word;
  hia_type found;
  hia_status status = hiaR_value_read(&reading, text, size, type, &word, &error);
  check_error(&error, status, size);
  check(hiaR_objects_bytes(objects) <= 64 * size + 4096, "much memory");
  if (status == HIA_OK) check_again(w, type, &word);
  status = hiaR_value_look(&reading, text, size, &found, &error);
  check_error(&error, status, size);
  hiaR_objects_release(objects);
}

static void read_brackets(value_world *w, const char *text, size_t size) {
  hia_objects *objects = hiaR_objects_new(&hiaR_malloc, 0);
  hia_vocab *words = hiaR_vocab_new(&hiaR_malloc);
  const hia_bracket_reading reading = {.allocator = &hiaR_malloc,
                                       .types = &w->table,
                                       .objects = objects,
                                       .words = words,
                                       .may_add = true};
  hia_type trees = hiaG_array(&w->types, w->tree); /* which a List contains */
  hia_value_error error;
  hia_word word;
  hia_status status = hiaR_brackets_read(&reading, text, size, trees, &word, &error);
  check_error(&error, status, size);
  check(hiaR_objects_bytes(objects) <= 64 * size + 4096, "much memory");
  if (status == HIA_OK) check_again(w, trees, &word);
  hiaR_vocab_free(words);
  hiaR_objects_release(objects);
}

static void load(const value_world *w, hia_type type, const void *bytes, size_t size) {
  hia_objects *objects = hiaR_objects_new(&hiaR_malloc, 0);
  hia_value_error error;
  hia_word word;
  hia_status status =
      hiaR_value_load(&w->table, type, bytes, size, &hiaR_malloc, objects, &word, &error);
  check_error(&error, status, size);
  check(hiaR_objects_bytes(objects) <= 32 * size + 4096, "much memory");
  if (status == HIA_OK) check_again(w, type, &word);
  hiaR_objects_release(objects);
}

/* The bytes are the objects and words of a file. */
static void load_body(const value_world *w, hia_type type, const void *body, size_t size) {
  hia_word any = type == w->tree ? 2 : 0; /* Nil, or End, M0, Empty */
  value_buffer file = save(w, type, &any);
  size_t head = file.len - HIA_FILE_TAIL - 2, whole = head + size + HIA_FILE_TAIL;
  char *bytes = malloc(whole);
  memcpy(bytes, file.data, head);
  memcpy(bytes + head, body, size);
  for (uint64_t n = 0; n < 8; n++) { /* the number of objects */
    memcpy(bytes + head + size, &n, sizeof n);
    uint64_t all = whole, end;
    memcpy(bytes + whole - 16, &all, sizeof all);
    hia_file_hash hash = {0};
    hiaR_file_hash_add(&hash, bytes, whole - 8);
    end = hiaR_file_hash_end(&hash);
    memcpy(bytes + whole - 8, &end, sizeof end);
    load(w, type, bytes, whole);
  }
  free(bytes);
  free(file.data);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static value_world w;
  if (!w.tree) value_world_init(&w);
  if (!size) return 0;
  hia_type types[] = {w.tree, w.list, w.many, HIA_F64};
  hia_type type = data[0] & 32 ? w.box : types[data[0] & 3];
  char *bytes = malloc(size); /* of just that size, for AddressSanitizer */
  size--;
  memcpy(bytes, data + 1, size);
  if (data[0] & 16)
    read_brackets(&w, bytes, size);
  else if (data[0] & 4)
    read_text(&w, type, bytes, size);
  else if (data[0] & 8)
    load(&w, type, bytes, size);
  else if (!hiaR_is_scalar(type))
    load_body(&w, type, bytes, size);
  free(bytes);
  return 0;
}
