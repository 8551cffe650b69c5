/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Words of other languages (habits.c). */
#ifndef HIA_FRONTEND_HABITS_H
#define HIA_FRONTEND_HABITS_H

#include "frontend/frontend.h"

enum {                      /* where a word stands */
       HIA_HABIT_ITEM = 1,  /* at the start of a definition */
       HIA_HABIT_START = 2, /* before an expression, as `return x` */
       HIA_HABIT_INFIX = 4, /* behind an expression */
       HIA_HABIT_VALUE = 8,
       HIA_HABIT_CALL = 16, /* as a function */
};
/* The hint, what to write instead; or NULL. */
const char *hiaF_habit(const hia_program *p, const char *word, unsigned usage);
/* True for words that declare a variable in other languages: `var`, `int`. */
bool hiaF_is_let_word(const char *word);

#endif
