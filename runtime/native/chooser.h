/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* What an engine does at calls of typed entries besides running their code: it looks at some of
 * them, and has others run in another version of the function, which assumes something
 * (docs/speculation.md). Objects that were compiled ahead of time have no chooser.
 *
 * The first calls of a context are offered to the chooser of their module. When it has seen enough
 * of them, every 64th is, and counts for 64 calls of its root: a fair estimate, whatever the order
 * of the roots. Other calls ask nobody. Once there are versions for a root, and its calls are so
 * long that choosing pays, the chooser sets HIA_CODE_VERSIONS in the root's flags; then it is asked
 * at each call of that root. entry.c calls it, on the thread of the call. */
#ifndef HIA_CHOOSER_H
#define HIA_CHOOSER_H

#include "runtime/native/module.h"

/* A call that is offered to a chooser. */
typedef struct hia_offer {
  const hia_code_module *module; /* whose chooser it is */
  uint32_t root;
  uint32_t n;            /* calls of the root that it counts for, itself among them */
  const hia_word *block; /* arguments, as hiaR_enter gets them; they stay as they are until `end`.
                            Of a root with types, those of hiaR_enter_values */

  /* `begin` sets these; they are 0 before. */
  const hia_code_module *chosen; /* runs instead; NULL: the root's own code does */
  uint32_t chosen_root;          /* of that */
  bool is_timed;
  bool is_looked_at;
  bool is_seldom;  /* of the next calls few need to be offered */
  uint64_t number; /* the chooser's */
  void *held;      /* the chooser's; what is chosen lives until `end` */
} hia_offer;

typedef struct hia_chooser {
  void (*begin)(hia_offer *offer);
  /* What was chosen has ended with HIA_AGAIN, and this code. The call begins again in the root's
   * own code. */
  void (*again)(hia_offer *offer, uint64_t code);
  /* The call has ended, after so much time; 0: it is not known. */
  void (*end)(hia_offer *offer, hia_status status, uint64_t ns);
} hia_chooser;

#endif
