/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* runtime/value: saving and loading. */
#include "runtime/format/file.h"
#include "tests/unit/helpers/memory.h"
#include "tests/unit/helpers/value.h"
#include <criterion/criterion.h>
#include <stdlib.h>

enum { MAX_WORDS = 4096 };

static value_buffer save(const value_world *w, hia_type type, const hia_word *words) {
  value_buffer file = {0};
  hia_sink sink = {value_buffer_take, &file};
  cr_assert_eq(hiaR_value_save(&w->table, type, words, &hiaR_malloc, &sink), HIA_OK);
  return file;
}

/* From a block of just that size, so that AddressSanitizer sees what is read behind it. */
static hia_status load(const value_world *w, hia_type type, const char *bytes, size_t n,
                       hia_objects *objects, hia_word *words, hia_value_error *error) {
  char *exact = malloc(n ? n : 1);
  if (n) memcpy(exact, bytes, n);
  hia_status status =
      hiaR_value_load(&w->table, type, exact, n, &hiaR_malloc, objects, words, error);
  free(exact);
  return status;
}

/* Makes the end of an altered file right. */
static void fix_end(char *bytes, size_t n) {
  uint64_t size = n;
  memcpy(bytes + n - 16, &size, 8);
  hia_file_hash hash = {0};
  hiaR_file_hash_add(&hash, bytes, n - 8);
  uint64_t end = hiaR_file_hash_end(&hash);
  memcpy(bytes + n - 8, &end, 8);
}

#ifdef HIA_STRESS
enum { N_RANDOM = 60 };
#else
enum { N_RANDOM = 400 };
#endif

Test(value_file, save_then_load) {
  random_source r = {HIA_TEST_SEED};
  for (int i = 0; i < N_RANDOM; i++) {
    value_world w, other;
    static hia_word words[MAX_WORDS], back[MAX_WORDS];
    value_world_init(&w);
    hia_type type = random_type(&w, &r);
    cr_assert_leq(hiaR_type_words(&w.table, type), MAX_WORDS);
    /* The same type, of another table. */
    value_world_init(&other);
    hiaG_tuple(&other.types, (hia_type[]){HIA_I32, HIA_I32}, 2);
    hia_type other_type = hiaG_type_copy(&other.types, &w.types, type);
    other.table = hiaG_type_table(&other.types);
    for (int k = 0; k < 5; k++) {
      hia_objects *objects = new_objects();
      random_value(&w, &r, type, objects, random_below(&r, 14), true, words);
      value_buffer file = save(&w, type, words);
      hia_value_error error;
      hia_status status = load(&w, type, file.data, file.len, objects, back, &error);
      if (status) cr_assert_fail("%d.%d: %d %s", i, k, status, error.message);
      cr_assert(values_are_equal(&w, type, words, back));
      value_buffer again = save(&w, type, back);
      cr_assert(again.len == file.len && memcmp(again.data, file.data, file.len) == 0);
      status = load(&other, other_type, file.data, file.len, objects, back, &error);
      if (status) cr_assert_fail("%d.%d: %d %s", i, k, status, error.message);
      free(again.data);
      again = save(&other, other_type, back);
      cr_assert(again.len == file.len && memcmp(again.data, file.data, file.len) == 0);
      free(again.data);
      free(file.data);
      hiaR_objects_release(objects);
    }
    value_world_free(&w);
    value_world_free(&other);
  }
}

/* Outside of runs it may be an object, in runs it is none. */
Test(value_file, an_array_without_elements) {
  value_world w;
  value_world_init(&w);
  hia_type trees = hiaG_array(&w.types, w.tree),
           pair = hiaG_tuple(&w.types, (hia_type[]){trees, trees}, 2);
  w.table = hiaG_type_table(&w.types);
  hia_objects *objects = new_objects();
  hia_array *none = hiaR_new_array(objects, &hiaR_type_entry(&w.table, trees)->layout, 0);
  hia_word words[2] = {0, 0}, mixed[2] = {hiaR_word_of(none), 0}, back[2] = {7, 7};
  value_buffer file = save(&w, pair, words), same = save(&w, pair, mixed);
  cr_assert(file.len == same.len && memcmp(file.data, same.data, file.len) == 0);
  hia_value_error error;
  cr_assert_eq(load(&w, pair, file.data, file.len, NULL, back, &error), HIA_OK, "%s",
               error.message);
  cr_assert(back[0] == 0 && back[1] == 0);
  cr_assert_eq(hiaR_value_copy(&w.table, pair, &hiaR_malloc, objects, mixed), HIA_OK);
  cr_assert(values_are_equal(&w, pair, mixed, words));
  free(file.data);
  free(same.data);
  hiaR_objects_release(objects);
  value_world_free(&w);
}

Test(value_file, floats_keep_their_bits) {
  value_world w;
  value_world_init(&w);
  hia_type pair = hiaG_tuple(&w.types, (hia_type[]){HIA_F64, HIA_F32}, 2);
  w.table = hiaG_type_table(&w.types);
  hia_word words[2] = {0x7ff0000000000001u, 0xffc12345u}, back[2];
  value_buffer file = save(&w, pair, words);
  hia_value_error error;
  cr_assert_eq(load(&w, pair, file.data, file.len, NULL, back, &error), HIA_OK);
  cr_assert(memcmp(words, back, sizeof words) == 0);
  free(file.data);
  value_world_free(&w);
}

/* Each level has the one below it as both of its children. */
static hia_word shared_tree(const value_world *w, hia_objects *objects, uint32_t levels) {
  const hia_ctor *node = hiaR_ctor(&w->table, w->tree, 1);
  hia_word tree = 2; /* Nil */
  while (levels--) {
    hia_counted *object = hiaR_new_data(objects, node, 1);
    hia_word_cursor at = {(char *)object, w->table.layout_words + node->layout.first};
    hiaR_put_word(&at, tree);
    hiaR_put_word(&at, tree);
    hiaR_put_word(&at, levels);
    tree = hiaR_word_of(object);
  }
  return tree;
}

Test(value_file, sharing_is_kept) {
  value_world w;
  value_world_init(&w);
  hia_objects *objects = new_objects(), *loaded = new_objects();
  hia_word tree = shared_tree(&w, objects, 200), back; /* 2^200 nodes if it were not shared */
  value_buffer file = save(&w, w.tree, &tree);
  cr_assert_lt(file.len, 200 * 8 + 300);
  hia_value_error error;
  cr_assert_eq(load(&w, w.tree, file.data, file.len, loaded, &back, &error), HIA_OK);
  cr_assert_lt(hiaR_objects_bytes(loaded), 20000);
  for (hia_word at = back; hiaR_is_object(at);) {
    const hia_layout_word *layout_words =
        w.table.layout_words + hiaR_ctor(&w.table, w.tree, 1)->layout.first;
    hia_word_cursor c = {(char *)(uintptr_t)at, layout_words};
    at = hiaR_next_word(&c);
    cr_assert_eq(hiaR_next_word(&c), at);
  }
  free(file.data);
  hiaR_objects_release(objects);
  hiaR_objects_release(loaded);
  value_world_free(&w);
}

Test(value_file, a_part_of_an_array) {
  value_world w;
  value_world_init(&w);
  hia_type type = hiaG_array(&w.types, HIA_I32);
  w.table = hiaG_type_table(&w.types);
  hia_objects *objects = new_objects();
  hia_array *all = hiaR_new_array(objects, &hiaR_type_entry(&w.table, type)->layout, 5);
  for (int32_t i = 0; i < 5; i++) memcpy(all->data + 4 * i, &i, 4);
  hia_array_view part = {.array = {.counted = {.ctor = 1}, .n = 3, .data = all->data + 4},
                         .owner = all};
  hia_word word = hiaR_word_of(&part), back;
  char *text = value_text(&w, type, &word);
  cr_assert_str_eq(text, "[1, 2, 3]");
  free(text);
  value_buffer file = save(&w, type, &word);
  hia_value_error error;
  cr_assert_eq(load(&w, type, file.data, file.len, objects, &back, &error), HIA_OK);
  cr_assert(values_are_equal(&w, type, &word, &back));
  free(file.data);
  hiaR_objects_release(objects);
  value_world_free(&w);
}

Test(value_file, a_million_levels) {
  value_world w;
  value_world_init(&w);
  hia_objects *objects = new_objects();
  hia_word tree = deep_tree(&w, objects, 1000000), back;
  value_buffer file = save(&w, w.tree, &tree);
  hia_value_error error;
  cr_assert_eq(load(&w, w.tree, file.data, file.len, objects, &back, &error), HIA_OK);
  value_buffer again = save(&w, w.tree, &back);
  cr_assert(again.len == file.len && memcmp(again.data, file.data, file.len) == 0);
  free(again.data);
  free(file.data);
  hiaR_objects_release(objects);
  value_world_free(&w);
}

/* The form does not change without its version. */
Test(value_file, the_bytes) {
  value_world w;
  value_world_init(&w);
  hia_type type = hiaG_tuple(&w.types, (hia_type[]){w.tree, HIA_BOOL}, 2);
  w.table = hiaG_type_table(&w.types);
  hia_objects *objects = new_objects();
  hia_word words[2] = {0, 1};
  const hia_ctor *node = hiaR_ctor(&w.table, w.tree, 1), *leaf = hiaR_ctor(&w.table, w.tree, 0);
  hia_counted *a = hiaR_new_data(objects, leaf, 0), *b = hiaR_new_data(objects, node, 1);
  hia_word_cursor at = {(char *)a, w.table.layout_words + leaf->layout.first};
  hiaR_put_word(&at, 7);
  hiaR_put_word(&at, hiaR_from_i32(-1));
  at = (hia_word_cursor){(char *)b, w.table.layout_words + node->layout.first};
  hiaR_put_word(&at, hiaR_word_of(a));
  hiaR_put_word(&at, 2);
  hiaR_put_word(&at, 3);
  words[0] = hiaR_word_of(b);
  value_buffer file = save(&w, type, words);
  static const unsigned char body[] = {1, 7, 0, 0, 0, 255, 255, 255, 255, /* Leaf(7, -1) */
                                       2, 2, 5, 3, 0, 0,   0,             /* Node(it, Nil, 3) */
                                       0, 2, 1,                           /* (it, true) */
                                       2, 0, 0, 0, 0, 0,   0,   0};       /* 2 objects */
  const uint32_t one = 1;
  if (*(const unsigned char *)&one) { /* lowest byte first */
    cr_assert_eq(memcmp(file.data, "\x89hiv\r\n\x1a\n\4\3\2\1\1\0\0\0", 16), 0);
    cr_assert_eq(memcmp(file.data + file.len - 16 - sizeof body, body, sizeof body), 0);
    uint64_t hash;
    memcpy(&hash, file.data + file.len - 8, 8);
    cr_assert_eq(hash, 0x3862c3282614eb9cu, "%llx", (unsigned long long)hash);
  }
  free(file.data);
  hiaR_objects_release(objects);
  value_world_free(&w);
}

/* ---- bad input ---- */

static value_buffer some_file(const value_world *w, hia_objects *objects) {
  static const char text[] = "Cons((true, 2.5), Cons((false, inf), End, [], 1), "
                             "[Nil, Leaf(1, 2), Node(Nil, Leaf(3, 4), 1)], 3)";
  hia_reading reading = {.allocator = &hiaR_malloc, .types = &w->table, .objects = objects};
  hia_value_error error;
  hia_word word;
  cr_assert_eq(hiaR_value_read(&reading, text, strlen(text), w->list, &word, &error), HIA_OK);
  return save(w, w->list, &word);
}

Test(value_file, truncated_and_altered) {
  value_world w;
  value_world_init(&w);
  hia_objects *objects = new_objects();
  value_buffer file = some_file(&w, objects);
  hia_value_error error;
  hia_word word;
  for (size_t n = 0; n < file.len; n++) {
    cr_assert_eq(load(&w, w.list, file.data, n, objects, &word, &error), HIA_ARGUMENT);
    cr_assert(error.message[0] && error.at <= n);
    if (n < HIA_FILE_HEAD + HIA_FILE_TAIL) continue;
    char *bytes = malloc(n); /* with an end that is right */
    memcpy(bytes, file.data, n);
    fix_end(bytes, n);
    cr_assert_eq(load(&w, w.list, bytes, n, objects, &word, &error), HIA_ARGUMENT);
    free(bytes);
  }
  for (size_t i = 0; i < file.len; i++) {
    file.data[i] ^= 4;
    cr_assert_eq(load(&w, w.list, file.data, file.len, objects, &word, &error), HIA_ARGUMENT);
    file.data[i] ^= 4;
  }
  free(file.data);
  hiaR_objects_release(objects);
  value_world_free(&w);
}

/* Altered in any way, with an end that is right: refused, or a value, which can be printed. */
Test(value_file, altered_with_care) {
  value_world w;
  value_world_init(&w);
  random_source r = {HIA_TEST_SEED};
  hia_objects *own = new_objects();
  value_buffer file = some_file(&w, own);
  size_t n_loaded = 0, n_refused = 0;
  for (int i = 0; i < 20000 / HIA_TEST_SHARE; i++) {
    char *bytes = malloc(file.len);
    memcpy(bytes, file.data, file.len);
    for (uint32_t k = 1 + random_below(&r, 3); k; k--) {
      size_t from = file.len - 24 - random_below(&r, 70);
      bytes[random_chance(&r, 80) ? from : random_below(&r, (uint32_t)file.len)] =
          (char)random_next(&r);
    }
    fix_end(bytes, file.len);
    hia_objects *objects = new_objects();
    hia_value_error error;
    hia_word word;
    hia_status status = load(&w, w.list, bytes, file.len, objects, &word, &error);
    cr_assert(status == HIA_OK || status == HIA_ARGUMENT, "%d", status);
    cr_assert_leq(hiaR_objects_bytes(objects), 32 * file.len + 4096);
    n_loaded += status == HIA_OK;
    n_refused += status == HIA_ARGUMENT;
    if (status == HIA_OK) free(value_text(&w, w.list, &word));
    hiaR_objects_release(objects);
    free(bytes);
  }
  cr_assert(n_loaded > 100 / HIA_TEST_SHARE && n_refused > 100 / HIA_TEST_SHARE, "%zu %zu",
            n_loaded, n_refused);
  free(file.data);
  hiaR_objects_release(own);
  value_world_free(&w);
}

static void refuse(const value_world *w, hia_type type, const char *bytes, size_t n,
                   const char *message) {
  hia_objects *objects = new_objects();
  hia_word words[4];
  hia_value_error error;
  cr_expect_eq(load(w, type, bytes, n, objects, words, &error), HIA_ARGUMENT, "%s", message);
  cr_expect(strstr(error.message, message) != NULL, "%s, not %s", error.message, message);
  hiaR_objects_release(objects);
}

/* A file of a Tree with these bytes for its objects and words. */
static void refuse_body(const value_world *w, const char *body, size_t n, const char *message) {
  hia_word nil = 2;
  value_buffer file = save(w, w->tree, &nil);
  size_t head = file.len - 24 - 2; /* 0, 5: no objects, Nil */
  char *bytes = calloc(1, head + n + 24);
  memcpy(bytes, file.data, head);
  memcpy(bytes + head, body, n);
  fix_end(bytes, head + n + 24);
  refuse(w, w->tree, bytes, head + n + 24, message);
  free(bytes);
  free(file.data);
}

Test(value_file, refused) {
  value_world w;
  value_world_init(&w);
  hia_word nil = 2, words[2] = {1, 2};
  value_buffer file = save(&w, w.tree, &nil);
  refuse(&w, w.list, file.data, file.len,
         "expected a value of type List, the file has one of type Tree");
  file.data[12] = 9;
  refuse(&w, w.tree, file.data, file.len, "version 9 of the form, this is version 1");
  memcpy(file.data + 8, "\1\2\3\4", 4);
  refuse(&w, w.tree, file.data, file.len, "another byte order");
  file.data[0] = 'x';
  refuse(&w, w.tree, file.data, file.len, "this is no saved value");
  refuse(&w, w.tree, "", 0, "only 0 bytes");
  free(file.data);
  /* Tree with another constructor, in another table. */
  value_world other;
  hiaR_comp_init(&other.comp, &hiaR_malloc);
  hiaG_types_init(&other.types, &other.comp);
  other.tree = hiaG_data(&other.types, "Tree");
  hiaG_data_define(&other.types, other.tree, (hia_ctor_def[]){{.name = "Nil"}}, 1);
  other.table = hiaG_type_table(&other.types);
  nil = 0;
  file = save(&other, other.tree, &nil);
  refuse(&w, w.tree, file.data, file.len, "the type Tree has other constructors");
  free(file.data);
  hiaR_comp_free(&other.comp);
  file = save(&w, HIA_I32, words);
  refuse(&w, w.tree, file.data, file.len, "the file has one of type i32");
  free(file.data);
#define BODY(bytes, message) refuse_body(&w, bytes, sizeof bytes - 1, message)
  BODY("\0\7", "no such constructor");
  BODY("\0\3", "no such constructor"); /* Node has fields */
  BODY("\0\2", "a reference to nothing");
  BODY("\0\0", "a reference to nothing");
  BODY("\1aaaabbbb\0\4", "a reference to nothing");
  BODY("\3\0\5", "without fields");
  BODY("\4\0\5", "no such kind");
  BODY("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f\0\5", "a number is too large");
  BODY("\0\x85\0", "a number is too large"); /* two bytes for what takes one */
  BODY("\0", "it ends early");
  BODY("\1aa", "it ends early");
  BODY("", "it ends early");
  BODY("\0\5\5", "more than the value");
  BODY("\1aaaabbbb\0\2", "another number of objects");
  /* Of a List: Cons is kind 2, [Tree] kind 3. */
  hia_word end = 0;
  file = save(&w, w.list, &end);
  static const char huge[] = "\3\xff\xff\xff\xff\xff\xff\xff\xff\x7f\0\1", odd[] = "\3\0\2\2";
  for (int i = 0; i < 2; i++) {
    size_t head = file.len - 24 - 2, n = i ? sizeof odd - 1 : sizeof huge - 1;
    char *bytes = calloc(1, head + n + 44);
    memcpy(bytes, file.data, head);
    memcpy(bytes + head, i ? odd : huge, n);
    fix_end(bytes, head + n + 44);
    refuse(&w, w.list, bytes, head + n + 44, i ? "" : "an array is longer than the file");
    free(bytes);
  }
  free(file.data);
  value_world_free(&w);
}

/* ---- memory and sinks ---- */

static value_world *shared_world;

static hia_status save_and_load(const hia_allocator *allocator) {
  value_world *w = shared_world;
  hia_objects *objects = new_objects(), *loaded = NULL;
  hia_word trees = shared_tree(w, objects, 40), back;
  value_buffer file = {0};
  hia_sink sink = {value_buffer_take, &file};
  hia_status status = hiaR_value_save(&w->table, w->tree, &trees, allocator, &sink);
  if (status == HIA_OK) status = (loaded = hiaR_objects_new(allocator, 0)) ? HIA_OK : HIA_MEMORY;
  hia_value_error error;
  if (status == HIA_OK)
    status =
        hiaR_value_load(&w->table, w->tree, file.data, file.len, allocator, loaded, &back, &error);
  hiaR_objects_release(objects);
  hiaR_objects_release(loaded);
  free(file.data);
  return status;
}

Test(value_file, out_of_memory) {
  value_world w;
  value_world_init(&w);
  shared_world = &w;
  cr_assert_geq(fail_each_allocation(save_and_load), 15);
  value_world_free(&w);
}

Test(value_file, a_sink_that_fails) {
  value_world w;
  value_world_init(&w);
  hia_objects *objects = new_objects();
  hia_word tree = full_tree(&w, objects, 12);
  value_buffer file = {.max = 10000};
  hia_sink sink = {value_buffer_take, &file};
  cr_assert_eq(hiaR_value_save(&w.table, w.tree, &tree, &hiaR_malloc, &sink), HIA_IO);
  free(file.data);
  hiaR_objects_release(objects);
  value_world_free(&w);
}
