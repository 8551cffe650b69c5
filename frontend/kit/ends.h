/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The question whether the evaluation of an expression can end (ends.c): it can if some path
 * through it makes only calls of instances that can end. check/ending.c and grad/ending.c find
 * out which instances can. */
#ifndef HIA_FRONTEND_ENDS_H
#define HIA_FRONTEND_ENDS_H

#include "frontend/kit/instance.h"

typedef struct hia_end_walk {
  hia_program *p;
  const hia_inst *inst; /* the one whose body is walked */
  hia_ast_id first;
  bool with_gradients; /* what calls of gradients call counts, too */
  uint32_t *n_visited; /* grad/ending.c: expressions visited so far */
} hia_end_walk;

bool hiaF_ends(const hia_end_walk *w, hia_ast_id expr);
bool hiaF_call_ends(const hia_end_walk *w, const hia_ast *call); /* without the arguments */
bool hiaF_list_ends(const hia_end_walk *w,
                    const hia_ast *list); /* all expressions of a node's list */
/* Walks the body of an instance. */
bool hiaF_body_ends(hia_program *p, const hia_inst *inst, bool with_gradients);

#endif
