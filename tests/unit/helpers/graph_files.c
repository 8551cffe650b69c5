/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The graphs of tests/graphs. */
#include "tests/unit/helpers/graph_files.h"
#include "tests/unit/helpers/text.h"
#include <pthread.h>

typedef struct graph_text {
  struct graph_text *next;
  const char *name;
  test_text text;
} graph_text;
static graph_text *first; /* the files that were read; `reading` protects it */
static pthread_mutex_t reading = PTHREAD_MUTEX_INITIALIZER;

static const char *text_of(const char *name) {
  for (const graph_text *g = first; g; g = g->next)
    if (strcmp(g->name, name) == 0) return g->text.data;
  char path[4096];
  snprintf(path, sizeof path, "%s/graphs/%s.ir", HIA_TEST_DIR, name);
  graph_text *g = calloc(1, sizeof *g);
  if (!g || !test_text_read(&g->text, path)) {
    fprintf(stderr, "%s cannot be read\n", path);
    abort();
  }
  g->name = name;
  g->next = first;
  first = g;
  return g->text.data;
}

const char *graph_file(const char *name) {
  pthread_mutex_lock(&reading);
  const char *text = text_of(name);
  pthread_mutex_unlock(&reading);
  return text;
}
