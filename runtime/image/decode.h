/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* How an image is decoded: private to load.c, decode.c, refs.c, frames.c and hosts.c. They trust
 * the image, which check.c has checked. */
#ifndef HIA_DECODE_H
#define HIA_DECODE_H

#include "runtime/image/loaded.h"

/* The image's tables: pointers into its bytes. Its strings and types are those of the block, once
 * they have been copied there. */
typedef struct hia_image_tables {
  const hia_image_header *h;
#define TABLE(record, name) const record *name;
  HIA_IMAGE_TABLES(TABLE)
#undef TABLE
  hia_type_table types;
} hia_image_tables;

/* Where kernels come from: a function, or a list. */
typedef struct hia_kernel_source {
  hia_find_kernel *find;
  const hia_given_kernel *given;
  size_t n_given;
} hia_kernel_source;

/* The regions that write a section's slots, and those that take their references (refs.c). */
typedef struct hia_slot_use {
  uint32_t region, next; /* of the same slot: index in `list`, or NONE */
} hia_slot_use;
typedef struct hia_slot_uses {
  hia_slot_use *list;
  uint32_t n;
  uint32_t *takers, *writers; /* by slot: index in `list`, or NONE */
  uint32_t *covered;          /* by region: the last slot, + 1, whose reference is taken there */
  uint32_t *other;            /* by region: the other side of its branch, or NONE */
  uint32_t *side;             /* by node: the first side of a SWITCH, + 1 */
  uint32_t *origin;           /* by slot: the CTOR or EQ that writes it, or NONE */
} hia_slot_uses;

typedef struct hia_decoder {
  hia_image_tables t;
  const hia_kernel_source *kernels;
  const hia_image_hosts *hosts;
  char *at; /* in the block */
  hia_section *sections;
  hia_instr *instrs;       /* of all sections */
  uint32_t *words;         /* in the block */
  hia_word *literals;      /* in the block */
  const hia_instr **edges; /* the next ones */
  hia_child *children;     /* the next one */
  hia_leaf *leaves;        /* the next one */
  hia_switch *switches;    /* the next one */
  hia_wide *wides;         /* the next one */
  hia_move *moves;         /* the next ones */
  hia_ref_move *ref_moves;
  hia_ref_slot *ref_slots;
  uint32_t *slots;
  hia_make *makes;                 /* the next one */
  hia_get *gets;                   /* the next one */
  hia_part *parts;                 /* the next one */
  hia_operation_instr *operations; /* the next one */
  const hia_shapes *shapes;
  uint8_t *marks;           /* scratch, by slot of a section: 0 between uses */
  uint8_t *reads, *writes;  /* scratch, by slot of a section: how often it is, at most 255 */
  hia_slot_uses uses;       /* scratch */
  uint32_t *ref_base;       /* scratch, by slot of a section: the base of its references, or NONE */
  hia_host_instr *calls;    /* of host functions: the next one */
  hia_host_instr *prepared; /* by extern: a call without its slots */
  uint64_t *node_sum;       /* scratch: weights of a section's nodes before this one */
  uint64_t *region_weight;  /* scratch */
  hia_action *actions;      /* the next one */
  void *schedule;           /* scratch */
} hia_decoder;

/* The bytes that n things take. Everything in the block, and in the scratch memory, is 16-aligned.
 */
static inline size_t hiaR_room(size_t n, size_t size) { return (n * size + 15) & ~(size_t)15; }

static inline uint32_t hiaR_slot_of(uint32_t operand) { return operand & ~HIA_IMAGE_TAKEN; }

/* True if the slot holds references. */
static inline bool hiaR_is_ref(const hia_decoder *d, uint32_t slot) {
  return d->ref_base[slot] != HIA_NONE;
}

/* A part of the block, for n things. */
static inline void *hiaR_decode_take(hia_decoder *d, size_t n, size_t size) {
  void *p = d->at;
  d->at += hiaR_room(n, size);
  return p;
}

/* ---- frames.c: laying out frames ---- */

typedef struct hia_frame_layout {
  uint32_t n_children, n_counters;
  uint32_t set_words, set_levels; /* words of the pending set outside the header */
} hia_frame_layout;
enum { HIA_FRAME_ACTIONS = 8, HIA_FRAME_FINE = 512 };
enum { HIA_FRAME_CLASSES = HIA_FRAME_FINE / 16 + HIA_FRAME_ACTIONS * 24 };

static inline uint32_t hiaR_up16(uint32_t n) { return (n + 15) & ~15u; }
/* The size class of a frame of so many bytes; *rounded: the size of all frames of that class. */
uint32_t hiaR_frame_class(uint64_t size, uint64_t *rounded);
hia_frame_layout hiaR_frame_layout(const hia_image_tables *t, const hia_image_section *s);
/* Tokens that are sent in a section. */
uint32_t hiaR_count_edges(const hia_image_tables *t, const hia_image_section *s);
/* How many slots that hold references stand right before the constants: they are preloaded, too. */
uint32_t hiaR_preloaded_refs(const hia_image_tables *t, const hia_image_section *s);
/* The bytes that are preloaded into each frame, at most. */
uint32_t hiaR_preload_size(const hia_image_tables *t, const hia_image_section *s,
                           const hia_frame_layout *l);

/* ---- hosts.c: host functions ---- */

/* Writes why an image cannot be loaded. Returns HIA_BAD_IMAGE. */
hia_status HIA_PRINTF(3, 4) hiaR_refuse_image(char *error, size_t error_size, const char *fmt, ...);
/* Computes how many bytes the prepared calls take. */
hia_status hiaR_size_hosts(const hia_image_tables *t, const hia_image_hosts *hosts, size_t *size,
                           char *error, size_t error_size);
hia_status hiaR_prepare_hosts(hia_decoder *d, char *error, size_t error_size);

/* ---- decode.c: sections ---- */

/* The kernel for an op at a dtype. Empty: there is none. */
hia_given_kernel hiaR_find_kernel(const hia_kernel_source *kernels, const hia_image_kernel *k);
/* True if the number of a slot of the node needs more than 16 bits. */
bool hiaR_is_wide(const hia_decoder *d, const hia_image_node *n);
void hiaR_decode_section(hia_decoder *d, uint32_t number);

/* ---- refs.c: which operands take references ---- */

/* Takes the moves between slots of a section apart: scalars, and behind them references. `first`
 * and `n` are those of the words; the order of scalars among themselves stays, and that of
 * references. */
const hia_move *hiaR_decode_moves(hia_decoder *d, uint32_t first, uint32_t n, uint32_t *n_scalars,
                                  uint32_t *n_refs);

/* Decodes which slots of a section hold references, the moves into its first round and between
 * rounds, and which references are dropped when a round or the frame ends. Sets `ref_base`. */
void hiaR_decode_refs(hia_decoder *d, const hia_image_section *s, hia_section *out);

/* Decodes which references move to the callee's frame, and which both frames have. The bit
 * HIA_IMAGE_TAKEN is cleared in the block's words of the arguments. */
void hiaR_decode_args(hia_decoder *d, const hia_image_node *n, hia_child *child);

/* The scratch memory of hia_slot_uses for the largest section; only an image with types needs it.
 */
size_t hiaR_room_of_uses(const hia_image_header *h, uint32_t max_slots, uint32_t max_nodes,
                         uint32_t max_regions);
void hiaR_lay_out_uses(hia_slot_uses *u, char *at, const hia_image_header *h, uint32_t max_slots,
                       uint32_t max_regions);

#endif
