/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* A text that grows when dumps and timelines write to it, or when a file is read. No Criterion. */
#ifndef HELPER_TEXT_H
#define HELPER_TEXT_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct test_text {
  char *data; /* NUL-terminated; NULL before anything was written */
  size_t len, cap;
} test_text;

/* A hia_write. */
static inline bool test_text_take(void *user, const char *bytes, size_t len) {
  test_text *text = user;
  while (text->cap - text->len <= len) {
    text->cap = text->cap ? text->cap * 2 : 4096;
    text->data = realloc(text->data, text->cap);
    if (!text->data) abort();
  }
  memcpy(text->data + text->len, bytes, len);
  text->len += len;
  text->data[text->len] = 0;
  return true;
}

/* A hia_write that takes nothing. */
static inline bool test_text_refuse(void *user, const char *bytes, size_t len) {
  (void)user, (void)bytes, (void)len;
  return false;
}

/* A file, "" if it is empty; false if it cannot be opened. */
static inline bool test_text_read(test_text *text, const char *path) {
  FILE *file = fopen(path, "rb");
  if (!file) return false;
  char piece[4096];
  size_t n;
  do {
    n = fread(piece, 1, sizeof piece, file);
    test_text_take(text, piece, n);
  } while (n > 0);
  fclose(file);
  return true;
}

static inline void test_text_free(test_text *text) {
  free(text->data);
  *text = (test_text){0};
}

#endif
