/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* An image decoded for running: private to the runtime. Everything in it is immutable and was
 * checked, so the engines do not check it again (check.c says what is checked). */
#ifndef HIA_PROGRAM_H
#define HIA_PROGRAM_H

#include "runtime/heap/object.h"
#include "runtime/heap/operation.h"
#include "runtime/image/image.h"

/* check.c: HIA_OK if the image is sound, else HIA_BAD_IMAGE with a reason, or HIA_MEMORY. `bytes`
 * is 8-aligned. */
hia_status hiaR_image_check(const void *bytes, size_t size, const hia_allocator *allocator,
                            char *error, size_t error_size);

/* The spec of a param; its name is among the strings. */
static inline hia_param_spec hiaR_spec_of_image(const hia_image_param *param, const char *strings) {
  hia_param_spec spec = {.name = strings + param->name,
                         .dtype = (hia_dtype)param->dtype,
                         .init = (hia_init)param->init,
                         .a = param->a,
                         .b = param->b,
                         .shape.rank = param->rank};
  memcpy(spec.shape.dims, param->dims, sizeof param->dims);
  return spec;
}

typedef struct hia_instr hia_instr;
typedef struct hia_section hia_section;
typedef struct hia_action hia_action;

/* The nodes that get a token. Nodes that wait for this token alone fire at once: `first`, and the
 * first n_direct of `more`. The others of `more` count their tokens. (The interpreter runs actions,
 * in which tokens are left out; expand sends each.) */
typedef struct hia_edges {
  const hia_instr *first; /* or NULL */
  const hia_instr *const *more;
  uint32_t n_more, n_direct;
} hia_edges;

/* A move of words between slots of one frame. Of references these are moves of their own: if
 * `from` is taken (HIA_IMAGE_TAKEN) the reference moves, else it is counted. */
typedef struct hia_move {
  uint32_t from, to;
} hia_move;

/* A move of a reference to the next round, as above. The slot drops its old reference. */
typedef struct hia_ref_move {
  uint32_t from, to, base;
} hia_ref_move;

/* A side of a SWITCH: what happens when it is taken. */
typedef struct hia_side {
  hia_edges edges; /* nodes that wait for control to enter it */
  const hia_move *moves;
  uint32_t n_moves, n_ref_moves; /* those of references stand behind the others */
  uint64_t weight;               /* firings of this side, without those of branches in it */
} hia_side;
typedef struct hia_switch {
  struct { /* of the sides, for the interpreter */
    const hia_action *actions;
    uint64_t weight;
  } go[2];
  hia_side side[2]; /* 0: true */
} hia_switch;

/* A value that a call needs before its frame is made: a slot of the caller; or, if that is NONE, a
 * constant. */
typedef struct hia_leaf_value {
  uint32_t slot;
  hia_word word;
} hia_leaf_value;

/* A call that needs no frame if a < b, or a == b, is `is_if` (leaf.c). All are signed words. */
typedef struct hia_leaf {
  hia_leaf_value a, b, result;
  bool is_less;
  bool is_match; /* the test is of the number of a's constructor. If a is an object there is no
                    leaf */
  bool is_if;
  bool shares;             /* the result is a reference of the caller's, which keeps its own */
  uint64_t weight;         /* firings of the call without a frame */
  const hia_action *other; /* if the test fails: the frame's first actions; and their firings
                            besides those of every frame */
  uint64_t other_weight;
} hia_leaf;

/* A CALL or LOOP. Children are numbered in sequential order. */
typedef struct hia_child {
  const hia_section *callee;
  const hia_leaf *leaf; /* or NULL */
  const hia_instr *instr;
  const uint32_t *args, *outs; /* slots of this frame: callee->n_params, callee->n_results */
  hia_edges edges;
  const hia_action *actions; /* when it has returned */
  uint32_t first_out;        /* outs[0], if there is one */
  uint32_t loc;
  bool is_tail, is_loop;
  bool has_refs;          /* it shares or takes some */
  const uint32_t *shares; /* parameters whose references are counted */
  const uint32_t *takes;  /* slots of this frame whose references move */
  uint32_t n_shares, n_takes;
} hia_child;

/* A KERNEL in a section whose slot numbers exceed 16 bits: computed in a block of its own. */
typedef struct hia_wide {
  hia_kernel kernel;
  uint64_t imm;
  uint32_t in[3], n_in, out;
} hia_wide;

/* A word of an object, and the slot that it is read to, or made of. */
typedef struct hia_part {
  hia_layout_word layout_word;
  uint32_t slot;
} hia_part;
/* Where lists end that follow one another: references, references whose slots are taken, i32s,
 * bools, other words of 8 bytes, and the rest. */
typedef struct hia_parts {
  const hia_part *list, *refs, *taken, *ints, *bools, *wide, *end;
} hia_parts;

/* A MAKE. */
typedef struct hia_make {
  hia_parts parts;
  uint32_t size;       /* of the object */
  uint16_t size_class; /* in the heap, or 0 */
  uint16_t number;     /* of the constructor in its type */
} hia_make;

/* An operation on tensors, or on an array. */
typedef struct hia_operation_instr {
  hia_operation o;
  hia_operate operate; /* NULL: LEN, AT */
  const uint32_t *ins; /* slots, of references perhaps taken */
  /* On an array. */
  bool keeps_array;    /* the operation keeps the reference that is operand 0 */
  uint32_t first_word; /* from this operand on they are words of elements, of which it keeps the
                          references */
  uint32_t word;       /* of AT: which word of the element */
  hia_layout_word layout_word; /* where it lies */
  uint32_t size;               /* of an element */
  const uint32_t *bases;       /* of its references */
} hia_operation_instr;

/* True if operand i is a reference that the operation gets. */
static inline bool hiaR_keeps(const hia_operation_instr *a, uint32_t i) {
  if (a->o.tensors) return i < HIA_MAX_TAKING && a->o.takes >> i & 1;
  if (i < a->first_word) return i == 0 && a->keeps_array;
  return a->o.layout_words[(i - a->first_word) % a->o.n_words].repr == HIA_REPR_REF;
}

/* A FIELD: of a value of constructor `ctor`. */
typedef struct hia_get {
  hia_parts parts;        /* what it reads */
  const uint32_t *unread; /* the references that it does not read: which of the object's */
  const hia_shape *shape; /* of the constructor */
  uint32_t n_unread;
  uint32_t size_class; /* of the object, in the heap, or 0 */
  uint32_t base;       /* of the type */
  uint32_t ctor;       /* its number in the type */
} hia_get;

/* A slot that holds references. */
typedef struct hia_ref_slot {
  uint32_t slot, base; /* base: of its type, runtime/heap/object.h */
} hia_ref_slot;

/* A HOST. */
typedef struct hia_host_instr {
  const hia_host_caller *caller;
  const void *prepared;
  const uint32_t *ins, *outs; /* slots */
  const char *name;           /* of the extern */
} hia_host_instr;

enum { /* in decoded images only */
       HIA_KIND_WIDE = HIA_N_KINDS,
       HIA_KIND_SHARE, /* a MOVE of a reference */
};

/* The code of a kernel's failure (hia_failure); `operand` is the kernel's first. */
static inline int64_t hiaR_kernel_code(hia_status status, hia_word operand) {
  return status == HIA_FUEL ? (int64_t)operand : 0;
}

struct hia_instr {
  hia_kernel kernel; /* of a KERNEL; else NULL, and `kind` is the node's kind */
  union {
    uint64_t imm; /* KERNEL; COUNT: the counter */
    const hia_switch *branch;
    const hia_wide *wide;
    const hia_make *make;
    const hia_get *get;
    const hia_operation_instr *operation;
    const hia_host_instr *host;
  } u;
  uint16_t in[3], out; /* slots of a KERNEL */
  hia_edges edges;     /* of a CALL or LOOP: in its hia_child */
  uint32_t slot, to;   /* slots of MOVE, SHARE, FAIL, SWITCH, LEND, REGAIN, CTOR, FIELD; of MAKE and
                          operations on arrays `to`; `slot`: number of a CALL or LOOP among the
                          children */
  uint32_t index;      /* in its section: sequential order */
  uint8_t kind, tokens;
  bool is_taken; /* `slot` of SHARE, FIELD */
  uint8_t quick; /* of a KERNEL that the interpreter computes itself: its action; else 0 */
};

/* ---- actions (schedule.c) ----
 *
 * What the interpreter does for a node, or with tokens. A *stretch* is a list of actions that are
 * done one after the other. It begins with the frame, when control enters a side of a branch, when
 * a child returns, or with a node that waits for several stretches. First come nodes in sequential
 * order. Behind them follow the actions of control: what the tokens do that leave the stretch. */
typedef enum hia_action_op {
#define HIA_ACTION(NAME) HIA_ACTION_##NAME,
#include "runtime/image/action.def"
} hia_action_op;

struct hia_action {
  union {
    hia_kernel kernel;
    const hia_instr *instr;    /* NODE */
    const hia_switch *branch;  /* SWITCH, and what includes it */
    const hia_action *stretch; /* COUNT, LATER, GO, AGAIN */
    const hia_child *child;    /* ARM, ARM_LAST */
  } of;
  union {
    uint64_t imm;
    const hia_make *make;
    const hia_get *get;
    const hia_operation_instr *operation;
  } u;
  union {
    struct { /* of kernels */
      uint16_t in[3], out;
    };
    struct {
      uint32_t slot, to;
    };
  };
  uint32_t index; /* of the node; of COUNT, LATER and GO of the node with which that begins */
  uint16_t op;    /* hia_action_op */
};

/* The action of a kernel that the interpreter computes itself; 0: it calls the kernel. */
uint8_t hiaR_quick_action(unsigned op, unsigned dtype);

extern const hia_action hiaR_no_actions[1]; /* an empty stretch */

/* Gives a decoded section its actions: the frame's, its children's and those of the sides of its
 * branches. Fills in its counters of missing tokens, and their size. `at` has room for
 * hiaR_max_actions of them; returns the first that is not used. By slot, how often it is read, and
 * by how many nodes and moves of branches it is written; 255: at least as often. */
typedef struct hia_schedule_size {
  size_t n_nodes, n_regions, n_children, n_edges;
  size_t n_moves; /* of sections and regions, and references that rounds give up */
} hia_schedule_size;
size_t hiaR_max_actions(const hia_schedule_size *size);
size_t hiaR_schedule_scratch(uint32_t n_nodes, uint32_t n_edges); /* in bytes */
hia_action *hiaR_schedule(hia_section *s, const uint8_t *reads, const uint8_t *writes,
                          uint8_t *counters, uint32_t n_edges, void *scratch, hia_action *at);

/* The frame of a section, in bytes after the header: the slots, followed by what is preloaded,
 * which is copied from the section as one block: constants (the last slots), the counts of missing
 * tokens (one byte each), and the lower levels of the set of pending children if it is larger than
 * the header's word. */
struct hia_section {
  /* Read by every call. */
  uint32_t number;
  uint32_t n_params, n_enter, n_results, n_children;
  uint32_t n_refs;     /* slots that hold references; 0: what follows of references is empty */
  uint32_t set_levels; /* 1: the header's word is all of the pending set */
  uint32_t preload_at, preload_size; /* bytes; the size a multiple of 16 */
  const uint8_t *preload;
  const hia_move *enter;
  const uint32_t *results;   /* slots */
  uint32_t first_result;     /* results[0], if there is one */
  const hia_action *actions; /* with which the frame begins; those of a round without `enter` */
  const hia_action *round;   /* between two rounds */
  hia_edges start;           /* nodes that wait only for the frame */
  const hia_child *children;
  bool begins_with_test; /* whose result only the SWITCH needs that is one action with it */
  bool resets_counters;  /* the counts must be set anew for each frame and round */
  bool has_end;          /* there are references to give up when it goes */
  bool has_one_end;      /* all of that is to unset the slot of its only result */
  uint64_t weight_first; /* firings: weight_round, plus those that a frame stands for once */
  bool iterates;
  uint32_t cond, n_next;
  const hia_move *next;
  uint64_t weight_round; /* firings of a round, without those of branches */

  /* References. Those slots are 0 when the frame is made, except parameters. */
  const hia_ref_slot *refs; /* n_refs: first n_ref_params parameters, last n_preloaded_refs in the
                               preloaded part */
  const hia_ref_slot *end_refs;   /* those that may hold references when the frame goes */
  const hia_ref_slot *round_refs; /* of an iterating section: those that may hold, at the end of a
                                     round, references of the round */
  const hia_move *ref_enter;
  const hia_ref_move *ref_next;
  const uint32_t *ref_results;  /* those of `results` that are references, each slot once */
  const uint32_t *more_results; /* those of slots that occur a second time */
  uint32_t n_preloaded_refs, n_end_refs;
  uint32_t n_ref_params, n_round_refs, n_ref_enter, n_ref_next, n_ref_results, n_more_results;

  uint32_t size_class;                 /* among the image's */
  uint32_t body_size;                  /* bytes of a frame without header; a multiple of 16 */
  uint32_t counters_at, counters_size; /* bytes, within the preloaded part; multiples of 8 */
  uint32_t set_at;                     /* words of the pending set, lowest level first */
  const uint32_t *elements;            /* as in the image: n_elements words */
  uint32_t n_elements;
  uint32_t n_nodes, n_slots;
  const hia_instr *instrs;
  const uint32_t *locs; /* by node */
  const char *name;
};

/* The word of a slot that is preloaded; NULL: it is computed. */
static inline const hia_word *hiaR_preloaded(const hia_section *s, uint32_t slot) {
  uint64_t at = (uint64_t)slot * sizeof(hia_word);
  if (at < s->preload_at + s->n_preloaded_refs * sizeof(hia_word)) return NULL;
  return (const hia_word *)(const void *)(s->preload + (at - s->preload_at));
}

/* leaf.c: false: calls of this site need frames always. All sections have their actions. */
bool hiaR_plan_leaf(const hia_child *child, hia_leaf *leaf);

struct hia_program_image {
  const hia_allocator *allocator;
  size_t size; /* of this block, which holds everything it refers to */
  const hia_section *sections;
  const hia_export *exports;
  const hia_param_spec *params;
  const hia_image_loc *locs;
  const char *strings, *file;
  uint32_t n_sections, n_exports, n_params, n_locs, n_strings;
  uint32_t n_classes;
  const uint32_t *class_size; /* body_size of each size class, rounded up */
  hia_type_table types;
  hia_shapes *shapes; /* of `types`; NULL: no slot holds references */
  size_t shapes_size;
  uint32_t max_nodes; /* of a section */
  bool is_impure;     /* it may call impure host functions */
};

/* Why a node has failed: what hia_failure says of it. */
typedef struct hia_cause {
  hia_status status;
  int64_t code;
  hia_range range;
  const char *host;
  hia_misfit misfit;
  hia_nan_origin nan;
} hia_cause;

/* The cause of the failure of an operation. */
static inline hia_cause hiaR_cause_of(hia_status status, const hia_misfortune *why) {
  hia_cause cause = {.status = status};
  if (status == HIA_RANGE)
    cause.code = hiaR_range_code(why->of, why->is_slice), cause.range = why->range;
  if (status == HIA_SHAPE) cause.misfit = why->misfit;
  if (status == HIA_NAN_MADE) cause.nan = why->nan;
  if (status == HIA_FUEL) cause.code = (int64_t)why->fuel_left;
  return cause;
}

#endif
