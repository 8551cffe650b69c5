/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The check that a match covers every case, and the decisions of one that does (cover.c). */
#ifndef HIA_FRONTEND_COVER_H
#define HIA_FRONTEND_COVER_H

#include "frontend/kit/typing.h"

/* Checks that the arms of a match on `subject`, whose patterns are of this type, cover every case,
 * and that each can be reached. */
void hiaF_cover(hia_typing *t, hia_ast_id match, hia_itype subject);

/* The decisions of a match that hiaF_cover has accepted: which arm takes a subject, by looking at
 * no occurrence twice. An occurrence is the subject, or a part of it (Maranget, "Compiling pattern
 * matching to good decision trees", 2008). Nodes may be reached on several ways. */
typedef struct hia_match_occurrence {
  uint32_t parent;     /* an occurrence; NONE: this is the subject, occurrence 0 */
  uint32_t con, field; /* it is field `field` of constructor `con` of the parent, by numbers */
  hia_itype type;
} hia_match_occurrence;
typedef struct hia_match_case {
  int64_t key; /* the number of a constructor, an integer, or a bool */
  uint32_t node;
} hia_match_case;
typedef struct hia_match_node {
  uint32_t occurrence; /* what is looked at, which is data, an integer or a bool; NONE: a leaf */
  uint32_t arm;        /* the arm of a leaf */
  uint32_t first, n;   /* cases[first .. first + n), in order of their keys */
  uint32_t otherwise;  /* the node for all other keys; NONE: there are none */
} hia_match_node;
typedef struct hia_match_tree {
  HIA_VEC(hia_match_node) nodes; /* a node stands behind those that it leads to */
  HIA_VEC(hia_match_case) cases;
  HIA_VEC(hia_match_occurrence) occurrences; /* parents stand before their parts */
  uint32_t root;
} hia_match_tree;
/* Makes the tree of a match, in `arena`; the walk takes memory of the program, too. */
hia_match_tree hiaF_match_tree(hia_program *p, hia_arena *arena, hia_ast_id match,
                               hia_itype subject);

#endif
