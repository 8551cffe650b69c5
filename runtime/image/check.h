/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* What the files that check an image share. Each function returns false if something is wrong, and
 * has said what. */
#ifndef HIA_IMAGE_CHECK_H
#define HIA_IMAGE_CHECK_H

#include "runtime/image/loaded.h"

typedef struct hia_image_checker {
  const uint8_t *bytes;
  const hia_image_header *h;
#define TABLE(record, name) const record *name;
  HIA_IMAGE_TABLES(TABLE)
  HIA_IMAGE_TYPE_TABLES(TABLE)
#undef TABLE
  hia_type_table table;
  uint64_t list_words; /* words used by lists so far: lists do not overlap */
  char *error;
  size_t error_size;

  /* The section that is being checked. */
  const hia_image_section *s;
  uint32_t number;

  /* Scratch, as large as the largest section requires. */
  uint32_t max_nodes, max_regions;
  uint32_t *host_words; /* by extern: numbers of its operands and results */
  uint32_t *type_of_ctor;
  uint32_t *scratch;
  size_t scratch_size;
  uint32_t *region_of;             /* by node */
  uint32_t *side;                  /* by node and side: the region of a SWITCH */
  uint32_t *region_end;            /* by region: one past the last region inside it */
  uint32_t *other;                 /* by region: the other side of its branch, or NONE */
  uint32_t *total;                 /* by region: tokens from there for the node at hand */
  uint32_t *is_queued;             /* by region: it is in the heap */
  uint32_t *heap, heap_len;        /* regions with tokens, the highest on top */
  uint32_t *source_at, *source_of; /* by node: regions that its tokens come from */
} hia_image_checker;

/* True if there is such a type. */
static inline bool hiaR_check_is_type(const hia_image_checker *c, hia_type type) {
  return hiaR_is_scalar(type) || (type >= HIA_FIRST_TYPE && type - HIA_FIRST_TYPE < c->h->types.n);
}

/* ---- check_slots.c ---- */

/* Says what is wrong. Returns false. */
bool HIA_PRINTF(2, 3) hiaR_check_bad(hia_image_checker *c, const char *fmt, ...);
bool hiaR_check_list(hia_image_checker *c, uint32_t first, uint32_t n);
/* A list of numbers below the limit. */
bool hiaR_check_list_below(hia_image_checker *c, uint32_t first, uint32_t n, uint32_t limit);
/* The type of the references that a slot of the section holds; NONE: it holds scalars. */
hia_type hiaR_check_ref_type(const hia_image_checker *c, const hia_image_section *s, uint32_t slot);
/* Checks that a slot can be read as `type` (NONE: a scalar), or written. */
bool hiaR_check_read(hia_image_checker *c, const hia_image_section *s, uint32_t slot,
                     hia_type type);
bool hiaR_check_write(hia_image_checker *c, const hia_image_section *s, uint32_t slot,
                      hia_type type);
/* The list of reference slots, of a section whose slots are in range. */
bool hiaR_check_refs(hia_image_checker *c, const hia_image_section *s);
/* A list of slots that are read, which may be taken if they hold references. */
bool hiaR_check_operands(hia_image_checker *c, uint32_t first, uint32_t n, uint32_t action,
                         bool may_take);
bool hiaR_check_moves(hia_image_checker *c, uint32_t first, uint32_t n, bool may_take);

/* ---- check_types.c ---- */

/* `depth`: room for two numbers by type. */
bool hiaR_check_types(hia_image_checker *c, uint32_t *depth);

/* ---- check_operation.c ---- */

bool hiaR_check_operation(hia_image_checker *c, const hia_image_node *n);

/* ---- check_node.c ---- */

bool hiaR_check_node(hia_image_checker *c, const hia_image_node *n);

/* ---- check_tokens.c ---- */

bool hiaR_check_regions(hia_image_checker *c);
bool hiaR_check_branches(hia_image_checker *c);
bool hiaR_check_sources(hia_image_checker *c);
/* The tokens of node n, after the three above. */
bool hiaR_check_tokens(hia_image_checker *c, uint32_t n, const hia_image_node *node);

#endif
