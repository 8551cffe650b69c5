/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The check that a match covers every case, and the decisions of one that does (cover.c). */
#ifndef HIA_FRONTEND_COVER_H
#define HIA_FRONTEND_COVER_H

#include "frontend/kit/typing.h"

/* Checks that the arms of a match on `subject`, whose patterns are of this type, cover every case,
 * and that each can be reached. */
void hiaF_cover(hia_typing *t, hia_ast_id match, hia_itype subject);

/* The decisions of a match that hiaF_cover has accepted: which arm takes a subject, by looking at
 * no place twice. Nodes may be reached on several ways. */
typedef struct hia_match_place {
  uint32_t parent;     /* place; NONE: it is the subject, place 0 */
  uint32_t con, field; /* it is field `field` of constructor `con` of the parent, by numbers */
  hia_itype type;
} hia_match_place;
typedef struct hia_match_case {
  int64_t key; /* the number of a constructor, an integer, or a bool */
  uint32_t node;
} hia_match_case;
typedef struct hia_match_node {
  uint32_t place;     /* what is looked at, which is data, an integer or a bool; NONE: a leaf */
  uint32_t arm;       /* the arm of a leaf */
  uint32_t first, n;  /* cases[first .. first + n), in order of their keys */
  uint32_t otherwise; /* the node for all other keys; NONE: there are none */
} hia_match_node;
typedef struct hia_match_tree {
  HIA_VEC(hia_match_node) nodes; /* a node stands behind those that it leads to */
  HIA_VEC(hia_match_case) cases;
  HIA_VEC(hia_match_place) places; /* parents stand before their parts */
  uint32_t root;
} hia_match_tree;
/* Makes the tree of a match, in `arena`; the walk takes memory of the program, too. */
hia_match_tree hiaF_match_tree(hia_program *p, hia_arena *arena, hia_ast_id match,
                               hia_itype subject);

#endif
