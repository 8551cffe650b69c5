/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Golden tests of the graph: the files of tests/golden that end in .ir.
 *
 * A file has a graph and, behind it in comments, the results of passes:
 *
 *     graph functions "..."
 *     ...
 *     # run: fold dce
 *     # expect:
 *     # graph functions "..."
 *     # ...
 *
 * `run` names passes of the pipeline (docs/adding-a-pass.md), in any order, or `pipeline` for all
 * of them, or nothing; each block begins with the file's graph. A last word `headers` expects the
 * first lines of functions only. A block whose run is refused expects `error: ` and the message.
 * HIA_UPDATE=1 writes the results into the files: look at the difference before you commit it. */
#include "tests/unit/helpers/graphs.h"
#include "tests/unit/helpers/text.h"
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

static char *read_file(const char *path) {
  test_text text = {0};
  cr_assert(test_text_read(&text, path), "%s cannot be opened", path);
  return text.data;
}

static const char *line_end(const char *at) {
  const char *end = strchr(at, '\n');
  return end ? end + 1 : at + strlen(at);
}

/* The lines that begin functions. */
static const char *headers_of(env *e, const char *text) {
  hia_text out;
  hiaR_text_init(&out, &e->comp.arena);
  for (const char *at = text; *at; at = line_end(at))
    if (strncmp(at, "fn ", 3) == 0)
      hiaR_text_addf(&out, "%.*s\n", (int)(line_end(at) - at - (ptrdiff_t)strlen(" {\n")), at);
  return out.data;
}

/* Runs the passes of a `# run:` line on the graph of `input`; the result as text. */
static void run_passes(env *e, const char *input, const char *words, const char *end,
                       hia_text *out) {
  hia_read_error error;
  hia_graph *g = hiaG_read(&e->comp, &e->types, input, strlen(input), &error);
  if (!g) {
    hiaR_text_addf(out, "error: %u:%u: %s\n", error.line, error.col, error.message);
    return;
  }
  bool has_headers = false;
  while (words < end) {
    size_t len = strcspn(words, " \t\n");
    if (len == strlen("headers") && memcmp(words, "headers", len) == 0) {
      has_headers = true;
    } else if (len == strlen("pipeline") && memcmp(words, "pipeline", len) == 0) {
      hia_pass_options options = {.verify = true};
      hiaG_run_passes(g, &options);
    } else if (len) {
      const hia_pass *pass = hiaG_passes;
      while (pass->name && (strlen(pass->name) != len || memcmp(pass->name, words, len) != 0))
        pass++;
      cr_assert(pass->name, "there is no pass %.*s", (int)len, words);
      hiaG_run_pass(g, pass);
      const char *defect = hiaG_verify(g);
      cr_assert(!defect, "after %s: %s", pass->name, defect);
    }
    words += len + 1;
  }
  if (has_headers)
    hiaR_text_addf(out, "%s", headers_of(e, text_of(e, g)));
  else
    hiaG_print(g, out);
}

static void add_commented(hia_text *out, const char *text) {
  for (const char *at = text; *at; at = line_end(at)) {
    hiaR_text_addf(out, *at == '\n' ? "#" : "# ");
    hiaR_text_add(out, at, (size_t)(line_end(at) - at));
  }
}

/* The expected text of the file. */
static const char *expected(env *e, const char *text) {
  hia_text out;
  hiaR_text_init(&out, &e->comp.arena);
  const char *at = text;
  while (*at && strncmp(at, "# run:", 6) != 0) at = line_end(at);
  hiaR_text_add(&out, text, (size_t)(at - text));
  const char *input = hiaR_arena_strndup(&e->comp.arena, text, (size_t)(at - text));
  while (*at) {
    const char *end = line_end(at);
    if (strncmp(at, "# run:", 6) == 0) {
      hia_text result;
      hiaR_text_init(&result, &e->comp.arena);
      hiaR_text_add(&out, at, (size_t)(end - at));
      hiaR_text_addf(&out, "# expect:\n");
      run_passes(e, input, at + 6, end, &result);
      add_commented(&out, result.data);
      hiaR_text_addf(&out, "\n");
    }
    at = end;
  }
  while (out.len > 1 && out.data[out.len - 1] == '\n' && out.data[out.len - 2] == '\n')
    out.data[--out.len] = 0;
  return out.data;
}

/* setjmp() has a function of its own. */
static __attribute__((noinline)) const char *expected_or_fail(env *e, const char *text) {
  const char *volatile wanted = NULL;
  NO_THROW(e, wanted = expected(e, text););
  return wanted;
}

static bool check_file(const char *path) {
  env e;
  env_init(&e);
  char *text = read_file(path);
  const char *wanted = expected_or_fail(&e, text);
  bool is_same = strcmp(text, wanted) == 0;
  if (!is_same && getenv("HIA_UPDATE")) {
    FILE *f = fopen(path, "wb");
    cr_assert(f, "%s cannot be written", path);
    fputs(wanted, f);
    fclose(f);
    fprintf(stderr, "updated %s\n", path);
    is_same = true;
  }
  if (!is_same) {
    const char *a = text, *b = wanted;
    int line = 1;
    while (line_end(a) - a == line_end(b) - b && memcmp(a, b, (size_t)(line_end(a) - a)) == 0)
      a = line_end(a), b = line_end(b), line++;
    fprintf(stderr, "%s:%d: the file says\n%.*sbut it is\n%.*s", path, line, (int)(line_end(a) - a),
            a, (int)(line_end(b) - b), b);
  }
  free(text);
  hiaR_comp_free(&e.comp);
  return is_same;
}

static int is_ir(const struct dirent *entry) {
  size_t len = strlen(entry->d_name);
  return len > 3 && strcmp(entry->d_name + len - 3, ".ir") == 0;
}

Test(golden, passes) {
  struct dirent **files;
  int n = scandir(HIA_TEST_DIR "/golden", &files, is_ir, alphasort), n_wrong = 0;
  cr_assert(n > 0, "no golden files in " HIA_TEST_DIR "/golden");
  for (int i = 0; i < n; i++) {
    char path[4096];
    snprintf(path, sizeof path, "%s/golden/%s", HIA_TEST_DIR, files[i]->d_name);
    n_wrong += !check_file(path);
    free(files[i]);
  }
  free(files);
  cr_assert_eq(n_wrong, 0, "%d of %d files differ; HIA_UPDATE=1 rewrites them", n_wrong, n);
}
