/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Private to this folder: the sections of an image while they are made. All memory is the
 * compilation's scratch.
 *
 *   flatten.c and what flattener.h lists   static graph to sections: nodes, slots, and what each
 *                                          node waits for
 *   token.c                                which tokens must be sent at all
 *   take.c                                 which operands take the references of their slots
 *   image.c                                sections to bytes */
#ifndef HIA_FLAT_SECTION_H
#define HIA_FLAT_SECTION_H

#include "graph/ir/graph.h"
#include "runtime/image/image.h"

/* A slot while the section is made. Slots that are operands of one Merge never hold values at the
 * same time, so they become one slot. */
typedef struct hia_flat_slot {
  uint32_t part_of; /* the slot that it has become part of; itself, if of none */
  uint32_t region;  /* the region that writes it, while it can still become part of a Merge's slot;
                       else NONE */
  uint32_t number;  /* final */
  hia_type type;    /* of its values; of a constant HIA_NONE: it may serve several types */
  bool is_const, is_read;
  bool is_set;   /* a SET changes what it holds, and comes behind all that read it before */
  hia_word word; /* of a constant */
} hia_flat_slot;

typedef struct hia_flat_node {
  uint8_t kind; /* hia_image_kind */
  bool is_tail;
  bool is_merge; /* JOIN of a Merge: it waits for either of its two sources */
  bool is_lent;  /* an operation that takes no references */
  bool is_set;   /* it changes its first operand, and waits for all that reads this before */
  uint32_t region, what, loc;
  uint32_t ins, n_ins;         /* pool: slots; in the end perhaps HIA_IMAGE_TAKEN */
  uint32_t outs, n_outs;       /* pool: slots */
  uint32_t sources, n_sources; /* pool: nodes; token.c removes those that are redundant */
  uint32_t weight;
  uint64_t imm;

  /* Set by token.c. */
  bool waits_for_control; /* of its region */
  bool is_dropped; /* left out: its sources (or control) send their tokens to its consumers */
  uint32_t tokens, consumers;
} hia_flat_node;

typedef struct hia_flat_region {
  uint32_t parent, node, side, first, last, weight;
} hia_flat_region;

/* An ELEMENT node: for the nodes of its region that follow. */
typedef struct hia_flat_element {
  uint32_t region, slot;
  uint32_t first; /* the next node; `last` is that of the region, or where the next one begins */
} hia_flat_element;

typedef struct hia_flat_section {
  const char *name;
  uint32_t flags, n_params, weight;
  HIA_VEC(hia_flat_node) nodes;
  HIA_VEC(hia_flat_region) regions;
  HIA_VEC(hia_flat_slot) slots; /* the parameters first */
  hia_index consts;             /* slots of constants */
  hia_u32vec pool;
  hia_u32vec results;     /* slots */
  hia_u32vec enter, next; /* pairs of slots: from, to; `from` of `enter` as `ins` of nodes */
  HIA_VEC(hia_flat_element) elements;
  uint32_t cond;
  uint32_t
      round; /* of an iterating section: the region that a last round does not enter; or NONE */
} hia_flat_section;

typedef struct hia_flat_image {
  hia_graph *g;
  hia_arena *scratch;
  HIA_VEC(hia_flat_section *) sections;
  uint32_t *section_of; /* by function */
  HIA_VEC(hia_image_kernel) kernels;
  uint32_t kernel_of[HIA_OP_LIMIT][HIA_N_DTYPES]; /* index + 1 */
  uint32_t *host_section; /* by extern: the section that calls it, index + 1; 0: none yet */
} hia_flat_image;

uint32_t hiaG_flat_slot(hia_flat_section *s, uint32_t slot); /* what it has become */
bool hiaG_flat_is_ref(const hia_flat_slot *slot);
void hiaG_flatten_tokens(hia_flat_image *image, hia_flat_section *s);
void hiaG_flatten_takes(hia_flat_image *image, hia_flat_section *s);
void hiaG_flatten_write(hia_flat_image *image, void **bytes, size_t *size);

#endif
