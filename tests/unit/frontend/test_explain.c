/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The explanations of `hiaton explain`: every program in them is compiled, and docs/errors.md has
 * the same text. HIA_UPDATE=1 writes docs/errors.md. */
#include "tests/unit/helpers/sources.h"
#include "tests/unit/helpers/text.h"
#include <hiaton/hiaton.h>

typedef struct row {
  const char *code, *title, *text, *wrong, *right;
  hia_status status; /* of a failure; else HIA_REJECTED, or HIA_OK for a group, which has no code */
} row;

static const row rows[] = {
#define HIA_ERROR_GROUP(title, text)               {NULL, title, text, "", "", HIA_OK},
#define HIA_ERROR(code, title, text, wrong, right) {#code, title, text, wrong, right, HIA_REJECTED},
#include "frontend/syntax/errors.def"
    {NULL, "Failures of runs",
     "A run that fails ends with one of these words, which are also the codes of its error.", "",
     "", HIA_OK},
#define HIA_FAILURE(NAME, word, title, text, wrong, right)                                         \
  {word, title, text, wrong, right, HIA_##NAME},
#include "frontend/syntax/failures.def"
};

/* A program of the tables, without the four blanks before each line; malloc. */
static char *program(const char *indented) {
  char *out = malloc(strlen(indented) + 1), *at = out;
  while (*indented != '\0') {
    cr_assert(strncmp(indented, "    ", 4) == 0, "%s", indented);
    size_t n = strcspn(indented + 4, "\n") + 1;
    memcpy(at, indented + 4, n);
    at += n;
    indented += 4 + n;
  }
  *at = '\0';
  return out;
}

static void expect_good(const char *code, const char *text) {
  compiled c;
  compile(&c, text);
  cr_expect_eq(c.diags.list.len, 0, "%s: the mended program:\n%s\n%s", code, text, all_errors(&c));
  discard(&c);
}

static void expect_wrong(const char *code, const char *text) {
  compiled c;
  compile(&c, text);
  bool is_there = false;
  for (uint32_t i = 0; i < c.diags.list.len; i++)
    is_there |= strcmp(c.diags.list.data[i].code, code) == 0;
  cr_expect(is_there, "%s: the wrong program:\n%s\n%s", code, text, all_errors(&c));
  discard(&c);
}

Test(explain, programs_of_errors) {
  unsigned n_wrong = 0, n_right = 0;
  for (size_t i = 0; i < HIA_LEN(rows); i++) {
    if (rows[i].status != HIA_REJECTED) continue;
    char *wrong = program(rows[i].wrong), *right = program(rows[i].right);
    if (wrong[0] != '\0') expect_wrong(rows[i].code, wrong);
    if (right[0] != '\0') expect_good(rows[i].code, right);
    n_wrong += wrong[0] != '\0';
    n_right += right[0] != '\0';
    cr_expect(wrong[0] != '\0' || right[0] == '\0', "%s", rows[i].code);
    free(wrong);
    free(right);
  }
  cr_assert(n_wrong > 45 && n_right > 40, "%u wrong, %u right", n_wrong, n_right);
}

/* The status of a program's `main`, interpreted with little memory. */
static hia_status run(const char *text) {
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.kind = HIA_ENGINE_INTERP;
  options.max_depth = 1 << 20;
  hia_engine *engine;
  hia_module *module;
  hia_function *function;
  hia_value *result;
  hia_error *error;
  cr_assert_eq(hia_engine_new(&options, &engine, &error), HIA_OK);
  hia_status status = hia_module_load_text(engine, "t.hia", text, strlen(text), &module, &error);
  cr_assert_eq(status, HIA_OK, "%s", hia_error_text(error));
  cr_assert_eq(hia_module_function(module, "main", &function, &error), HIA_OK);
  status = hia_call(function, NULL, 0, &result, &error);
  hia_error_free(error);
  hia_value_free(result);
  hia_module_free(module);
  hia_engine_free(engine);
  return status;
}

Test(explain, programs_of_failures) {
  unsigned n = 0;
  for (size_t i = 0; i < HIA_LEN(rows); i++) {
    if (rows[i].status == HIA_REJECTED || rows[i].code == NULL) continue;
    cr_expect_str_eq(rows[i].code, hia_status_word(rows[i].status));
    char *wrong = program(rows[i].wrong), *right = program(rows[i].right);
    n += wrong[0] != '\0';
    if (wrong[0] != '\0') cr_expect_eq(run(wrong), rows[i].status, "%s", wrong);
    if (right[0] != '\0') cr_expect_eq(run(right), HIA_OK, "%s", right);
    free(wrong);
    free(right);
  }
  cr_assert_eq(n, 4);
}

/* ---- the public function ---- */

Test(explain, texts) {
  cr_assert_null(hia_error_explain(NULL));
  cr_assert_null(hia_error_explain(""));
  cr_assert_null(hia_error_explain("E9999"));
  cr_assert_null(hia_error_explained_code(SIZE_MAX));
  size_t n = 0;
  for (size_t i = 0; i < HIA_LEN(rows); i++) {
    if (rows[i].code == NULL) continue;
    cr_assert_str_eq(hia_error_explained_code(n++), rows[i].code);
    const char *text = hia_error_explain(rows[i].code);
    cr_expect_str_not_empty(rows[i].text, "%s", rows[i].code);
    char head[128];
    snprintf(head, sizeof head, "%s: %s\n\n", rows[i].code, rows[i].title);
    cr_expect(strncmp(text, head, strlen(head)) == 0, "%s", text);
    cr_expect(strstr(text, rows[i].text) && strstr(text, rows[i].wrong) &&
                  strstr(text, rows[i].right),
              "%s", text);
    cr_expect_eq(text[strlen(text) - 1], '\n', "%s", text);
    cr_expect_eq(strstr(text, "Wrong:") != NULL, rows[i].wrong[0] != '\0', "%s", text);
    cr_expect_eq(strstr(text, "Right:") != NULL, rows[i].right[0] != '\0', "%s", text);
  }
  cr_assert_null(hia_error_explained_code(n));
  /* every failure that a run can end with */
  for (unsigned i = HIA_DIV_ZERO; i < HIA_INTERNAL; i++) {
    const char *word = hia_status_word((hia_status)i);
    if (strcmp(word, hia_status_word((hia_status)9999)) != 0)
      cr_expect_not_null(hia_error_explain(word), "%s", word);
  }
}

/* ---- docs/errors.md ---- */

#define MARK "<!-- What follows is generated"

static void add_program(hia_text *t, const char *kind, const char *indented) {
  if (indented[0] == '\0') return;
  char *text = program(indented);
  hiaR_text_addf(t, "\n```%s\n%s```\n", kind, text);
  free(text);
}

Test(explain, is_documented) {
  test_text file = {0};
  cr_assert(test_text_read(&file, HIA_SOURCE_DIR "/docs/errors.md"));
  char *mark = strstr(file.data, MARK);
  cr_assert_not_null(mark);
  mark = strchr(mark, '\n') + 1;
  hia_comp comp;
  hiaR_comp_init(&comp, &hiaR_malloc);
  hia_text t;
  hiaR_text_init(&t, &comp.arena);
  for (size_t i = 0; i < HIA_LEN(rows); i++) {
    const row *r = &rows[i];
    if (r->code == NULL)
      hiaR_text_addf(&t, "\n## %s\n", r->title);
    else
      hiaR_text_addf(&t, "\n### %s: %s\n", r->code, r->title);
    if (r->text[0] != '\0') hiaR_text_addf(&t, "\n%s\n", r->text);
    /* `hiaton check` accepts a program that fails at run time */
    add_program(&t, r->status == HIA_REJECTED ? "hia error" : "hia", r->wrong);
    add_program(&t, "hia", r->right);
  }
  if (getenv("HIA_UPDATE")) {
    FILE *f = fopen(HIA_SOURCE_DIR "/docs/errors.md", "wb");
    cr_assert_not_null(f);
    fwrite(file.data, 1, (size_t)(mark - file.data), f);
    fputs(t.data, f);
    fclose(f);
  } else {
    cr_expect_str_eq(mark, t.data, "docs/errors.md is not what the tables say: HIA_UPDATE=1");
  }
  hiaR_comp_free(&comp);
  free(file.data);
}
