/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Explanations of codes of errors and words of failures: errors.def and failures.def as text. */
#include "frontend/frontend.h"

typedef struct explanation {
  const char *code, *text;
} explanation;

/* Strings that the C compiler joins, so that nothing is allocated. */
#define TEXT(head, text, wrong, right)                                                             \
  (sizeof(wrong) == 1   ? head "\n\n" text "\n"                                                    \
   : sizeof(right) == 1 ? head "\n\n" text "\n\nWrong:\n\n" wrong                                  \
                        : head "\n\n" text "\n\nWrong:\n\n" wrong "\nRight:\n\n" right)

static const explanation explanations[] = {
#define HIA_ERROR(code, title, text, wrong, right)                                                 \
  {#code, TEXT(#code ": " title, text, wrong, right)},
#include "frontend/syntax/errors.def"
#define HIA_FAILURE(NAME, word, title, text, wrong, right)                                         \
  {word, TEXT(word ": " title, text, wrong, right)},
#include "frontend/syntax/failures.def"
};

const char *hiaF_explained_code(size_t i) {
  return i < HIA_LEN(explanations) ? explanations[i].code : NULL;
}

const char *hiaF_explain(const char *code) {
  for (size_t i = 0; i < HIA_LEN(explanations); i++)
    if (strcmp(explanations[i].code, code) == 0) return explanations[i].text;
  return NULL;
}
