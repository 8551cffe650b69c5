/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Private to the pass `grad` (grad.c says what it does): what its files share.
 *
 * For a function f the pass makes two:
 *
 *     f.kept(parameters...) -> f's results..., tape
 *     f.back(tape, gradients of results...) -> gradients of parameters..., of params...
 *
 * The tape is a value of a data type of its own, one for each version of a function: it has a
 * constructor for each way through the branches, whose fields are what f.back reads of this
 * activation of f, and the tapes of the calls that f has made. Since a call's tape lies in its
 * caller's, f.back finds it by the call alone: function and gradient go by the same labels (the
 * paper on tagged graphs, section 4).
 *
 * What is kept, and in which region, back/read.c decides, and sizes.c, where sizes are enough;
 * layout.c, kept.c and read_tape.c say only how.
 *
 *   grad.c      the pass: `grad` nodes become calls; the order of the work
 *   proxy.c     arguments that last are params while functions are differentiated
 *   version.c   the versions of a function, declared
 *   widen.c     which version a call from outside of a recursion takes
 *   inline.c    what is differentiated has the bodies of small helpers in it
 *   active.c    which values vary
 *   again.c     bodies of calls that f.back makes again
 *   back/       f.back, built: what goes through f backwards
 *   rules/      the rule of each op
 *   sizes.c     what is known of sizes makes f.back and the tape smaller
 *   parts.c     the parts of a vector are kept instead of the vector
 *   layout.c    the tape, laid out
 *   read_tape.c f.back reads the tape
 *   kept.c      f.kept, built: it makes the tape
 *   pieces.c    many words, cut into several objects
 *   data.c      the gradients of data and arrays
 *   types.c     types that the pass makes
 *   params.c    which params a function may read
 *   step.c      the roots that training and hosts call
 *   report.c    what a tape keeps, for people
 *
 * No file here calls one that calls it, but for those of back/ that go through regions (back.h). */
#ifndef HIA_GRAD_SHARED_H
#define HIA_GRAD_SHARED_H

#include "graph/analysis/sizes.h"
#include "graph/ir/graph.h"

/* The params that one `grad` node asks for: flags by number. */
typedef struct hia_grad_params {
  const bool *wanted;
  /* By function, n_params flags each: the wanted params that it may read, itself or by its calls.
   */
  bool *reads;
} hia_grad_params;

/* A function, differentiated. */
typedef struct hia_grad_version {
  hia_fn_id fn, kept, back;
  uint32_t params;    /* index into hia_grad.params */
  const bool *varies; /* by parameter of fn: asked for, or computed from what is */
  const bool *seeded; /* by result: it comes with a gradient */
  hia_type tape;
} hia_grad_version;

/* The type of a data type's or an array's gradient, and functions on these (data.c). */
typedef struct hia_grad_of_type {
  hia_type type, gradient;
  hia_fn_id add, into; /* NONE: not made yet */
} hia_grad_of_type;

typedef struct hia_grad {
  hia_graph *g;
  hia_arena *arena; /* scratch memory of the pass */
  HIA_VEC(hia_grad_params) params;
  HIA_VEC(hia_grad_version) versions; /* those from n_made on are still without bodies */
  uint32_t n_made;
  const hia_fn *fn; /* the function at hand, for messages */
  hia_index index;  /* of versions */
  HIA_VEC(hia_grad_of_type) of_types;
  HIA_VEC(bool) carries; /* by type, less HIA_FIRST_TYPE: it can have a gradient; as of n_ctors */
  uint32_t n_ctors;
  /* What hiaG_grad_inlined has found, by function, for the first n_looked_at. `effects` is NULL
   * when others may be differentiated. */
  uint32_t n_looked_at;
  const uint16_t *effects;
  const uint32_t *groups; /* of functions that call each other */
  hia_fn **inlined;       /* NULL: not asked for yet */
  hia_u32vec positions;   /* scratch of hiaG_grad_pack; has room, but no length */
} hia_grad;

/* The version, made on the first call. `varies` and `seeded` are copied. */
uint32_t hiaG_grad_version(hia_grad *d, hia_fn_id fn, uint32_t params, const bool *varies,
                           const bool *seeded);
/* The version that a call of `callee` in `caller` takes: more of its parameters may vary, and more
 * of its results be seeded, than the call has (widen.c). */
uint32_t hiaG_grad_version_from(hia_grad *d, hia_fn_id caller, hia_fn_id callee, uint32_t params,
                                const bool *varies, const bool *seeded);
/* Returns the type of a wanted param's gradient in f.back; for a tensor it is its Sum. */
hia_type hiaG_grad_param_type(hia_grad *d, uint32_t param);
/* Returns the data type of this name. The same name stands for the same type in all graphs of a
 * program: an image and native code are made of two, with one table of types. */
hia_type hiaG_grad_named_type(hia_grad *d, const char *name);
/* Defines a type, or checks that an earlier graph has defined it so. */
void hiaG_grad_define(hia_grad *d, hia_type type, const hia_ctor_def *ctors, uint32_t n);
_Noreturn void hiaG_grad_lacks(const hia_grad *d, const hia_fn *fn, hia_loc_id loc,
                               const char *what);

/* ---- the types of gradients, and what is done with them: data.c ---- */

/* True if a value of this type can have a gradient: it is a float or a tensor of floats, or has
 * some in it. */
bool hiaG_has_gradient(hia_grad *d, hia_type type);
/* The constructor of the gradient of a Sum that has a field: the tensor. */
enum { HIA_GRAD_OF_SUM = 1 };
/* Returns the type of the gradient of a value where it is added up; for a tensor it is the same
 * type. */
hia_type hiaG_grad_type(hia_grad *d, hia_type type);
/* Returns the type of the gradient of a value in gradients of data and arrays; for a tensor it is a
 * Sum. */
hia_type hiaG_grad_stored(hia_grad *d, hia_type type);
/* hiaG_grad_field returns the field of the gradient's constructor, `ctor` + 1, for word `word` of a
 * constructor's fields; hiaG_grad_fields how many fields that constructor has. */
uint32_t hiaG_grad_field(hia_grad *d, hia_type data, uint32_t ctor, uint32_t word);
uint32_t hiaG_grad_fields(hia_grad *d, hia_type data, uint32_t ctor);
/* hiaG_grad_word returns the word of the gradients of an array's elements for their word `word`;
 * hiaG_grad_element the type of these gradients. */
uint32_t hiaG_grad_word(hia_grad *d, hia_type array, uint32_t word);
hia_type hiaG_grad_element(hia_grad *d, hia_type array);

/* Where nodes go. */
typedef struct hia_grad_at {
  hia_fn *fn;
  hia_region_id region;
  hia_loc_id loc;
} hia_grad_at;
/* Returns a zero of a stored type. */
hia_value_id hiaG_grad_zero(hia_grad *d, hia_grad_at at, hia_type stored);
/* Returns the sum of two gradients: stored ones, or tensors. */
hia_value_id hiaG_grad_add(hia_grad *d, hia_grad_at at, hia_type type, hia_value_id a,
                           hia_value_id b);
/* Returns the array of the gradients of an array's elements, `len` of them; `x` is its gradient. */
hia_value_id hiaG_grad_whole(hia_grad *d, hia_grad_at at, hia_type array, hia_value_id x,
                             hia_value_id len);
/* These return an array's gradient: made of such an array; of what flows to word `word` (of a
 * gradient) of element i; and of what flows to a slice from i on. */
hia_value_id hiaG_grad_of_whole(hia_grad *d, hia_grad_at at, hia_type array, hia_value_id x);
hia_value_id hiaG_grad_of_element(hia_grad *d, hia_grad_at at, hia_type array, hia_value_id i,
                                  uint32_t word, hia_value_id x);
hia_value_id hiaG_grad_of_part(hia_grad *d, hia_grad_at at, hia_type array, hia_value_id i,
                               hia_value_id x);

/* ---- what f.back reads: back/ builds f.back and finds it, kept.c keeps it ---- */

typedef enum hia_kept_kind {
  HIA_KEPT_VALUE,  /* a value of f */
  HIA_KEPT_RECORD, /* of a branch, loop, comprehension or call: what it has kept itself */
} hia_kept_kind;

/* Words that are cut into objects (pieces.c). Items are the words, in their order, and then
 * the pieces, those with words before those with pieces in them. */
typedef struct hia_piece {
  uint32_t first, n; /* the items that are its fields, of constructor 0 */
} hia_piece;
typedef struct hia_pieces {
  uint32_t n_words;
  HIA_VEC(hia_piece) pieces; /* piece i is item n_words + i */
  uint32_t first, n;         /* the items that the holder has itself */
  const hia_type *types;     /* by item */
  uint32_t *in;              /* by item: the piece that has it; NONE: the holder */
} hia_pieces;

/* Something that is kept, in one region. */
typedef struct hia_grad_kept {
  hia_kept_kind kind;
  uint32_t grad_region;    /* index: where it is kept */
  hia_value_id value;      /* VALUE: of f */
  hia_node_id node;        /* RECORD: of f */
  hia_value_id stands_for; /* the value of f.back */
  uint32_t next;           /* the next one that is of the same value; NONE */
  bool is_used;
} hia_grad_kept;

typedef enum hia_grad_region_kind {
  HIA_GRAD_BODY,
  HIA_GRAD_ARM,  /* of a branch */
  HIA_GRAD_HEAD, /* the head of a loop: its words are kept with those of its ROUND */
  HIA_GRAD_ROUND,
  HIA_GRAD_EACH,
  HIA_GRAD_AGAIN, /* the body of a call that f.back makes again, within a region */
} hia_grad_region_kind;

/* A region of f while it is gone through backwards. */
typedef struct hia_grad_region {
  hia_grad_region_kind kind;
  hia_region_id forward; /* of f */
  hia_region_id region;  /* of f.back: where its nodes go */
  hia_node_id anchor;    /* what is kept is read before this node of f.back */
  uint32_t outer;        /* the index of the region around it; NONE: BODY */
  uint32_t rerun;        /* AGAIN: which */
  uint32_t record;       /* ARM, ROUND, EACH: the hia_grad_kept RECORD that has it; else NONE */
  hia_value_id tape;     /* of f.back: the value whose fields are what is kept here */
  hia_u32vec kept;       /* indices */
  /* Once tapes are laid out: */
  hia_type type;            /* of `tape`, */
  uint32_t ctor;            /* and its constructor */
  const hia_pieces *pieces; /* how its words are cut; NULL: a branch alone, or nothing is kept */
  uint32_t n_ways;          /* how many constructors it has; 0: not counted yet */
} hia_grad_region;

/* A branch, loop, comprehension or call of f that f.back goes through. */
typedef struct hia_grad_record {
  uint32_t kept;            /* index of its RECORD; NONE: f.back does not go through the node */
  uint32_t version;         /* CALL */
  bool is_recomputed;       /* CALL: f.back makes it again */
  uint32_t grad_regions[2]; /* IF: then, else. LOOP: head, round. MAP: each */
  hia_node_id n_then;       /* IF: of f.back: the CONST with the number of THEN's constructors */
  hia_node_id rest;         /* LOOP: of f.back: what stands for the records of the rounds before */
  hia_type type;            /* of the record */
} hia_grad_record;

/* The body of a call that f.back makes again (again.c). */
typedef struct hia_grad_rerun {
  uint32_t outer;         /* the rerun around it; NONE */
  hia_node_id begin, end; /* of f: the nodes around it */
  hia_fn_id callee;
  hia_u32vec inputs, constants; /* values of f from outside of it that it uses */
  /* What f.back has of it, once it goes through it; `grad_region` is NONE before. */
  uint32_t grad_region;
  hia_fn_id again; /* the function that is called */
  hia_node_id call, count;
} hia_grad_rerun;

/* A value of f.back that has the shape of a value of f: its gradient. */
typedef struct hia_same_shape {
  hia_value_id gradient, of;
} hia_same_shape;

typedef struct hia_back {
  hia_grad *d;
  hia_graph *g;
  uint32_t version;
  hia_fn *fn;
  uint32_t n_nodes, n_values, n_edges; /* of fn, before hiaG_grad_sizes adds to it */
  hia_fn *back;
  bool *varies; /* by value of fn: depends on what is asked for, and can have a gradient */
  bool *is_sum; /* by value: its gradient is a Sum */
  HIA_VEC(hia_grad_kept) kept;
  HIA_VEC(hia_grad_region) grad_regions;
  HIA_VEC(hia_same_shape) shapes;
  HIA_VEC(hia_grad_rerun) reruns;
  uint32_t *rerun_of; /* by node of fn: the innermost; NONE */
  hia_sizes sizes;
  hia_value_sizes *of_fn;   /* by value of fn */
  uint32_t *first_kept;     /* by value: NONE, or the first hia_grad_kept of it */
  hia_grad_record *records; /* by node of fn */
} hia_back;

/* A copy of the function in which calls of small functions that are not recursive are replaced by
 * their bodies, so that their tapes need no objects (inline.c). It is no part of the program.
 */
hia_fn *hiaG_grad_inlined(hia_grad *d, hia_fn_id f);
/* Cuts n words into objects. The types of pieces are named after `name` and *n_named, which counts
 * them. */
const hia_pieces *hiaG_grad_pieces(hia_grad *d, const hia_type *words, uint32_t n, const char *name,
                                   uint32_t *n_named);
/* Makes one object of the words, however many: `words` stays the caller's. */
const hia_pieces *hiaG_grad_uncut(hia_grad *d, const hia_type *words, uint32_t n);
/* Returns the field of an item in the piece, or among the items of the holder. */
static inline uint32_t hiaG_piece_field(const hia_pieces *p, uint32_t item) {
  return item - (p->in[item] == HIA_NONE ? p->first : p->pieces.data[p->in[item]].first);
}
/* Makes the pieces, each as soon as its words are computed, and returns the values that the holder,
 * at the end of the region, has for its items. */
hia_u32vec hiaG_grad_pack(hia_grad *d, hia_grad_at at, const hia_pieces *p,
                          const hia_value_id *words);
/* Element `index` of an array of holders, of which the first n words are wanted: reads the pieces
 * that have these. */
typedef struct hia_unpacking {
  const hia_pieces *pieces;
  hia_value_id array, index;
  hia_value_id *values; /* of what has been read, by item */
} hia_unpacking;
hia_unpacking hiaG_grad_unpack(hia_grad *d, hia_grad_at at, const hia_pieces *p, hia_value_id array,
                               hia_value_id index, uint32_t n);
/* Reads one of these words. */
hia_value_id hiaG_grad_unpack_word(hia_grad *d, hia_grad_at at, const hia_unpacking *u,
                                   uint32_t word);

/* Returns, by value, which values of a function vary if the parameters that are `given` do
 * (active.c). */
bool *hiaG_grad_activity(hia_grad *d, const hia_fn *fn, uint32_t params, const bool *given);
/* Finds the reruns of fn, and what they use (again.c). */
void hiaG_grad_find_reruns(hia_back *b);
/* True if the node of fn is in this rerun, or in one inside it. */
bool hiaG_grad_is_in_rerun(const hia_back *b, hia_node_id n, uint32_t rerun);
/* Adds to g->tapes what is kept, once it is laid out (report.c). */
void hiaG_grad_report(const hia_back *b);
/* Builds the body of f.back. */
void hiaG_grad_back(hia_back *b);
/* Finds what is known about the sizes of f's values (sizes.c). */
void hiaG_grad_find_sizes(hia_back *b);
/* Simplifies f.back by what is known about sizes, so that less is kept. May add to f operations
 * that give the sizes of what else would be kept; they are removed when the tape has been laid out,
 * since versions share f (sizes.c). */
void hiaG_grad_sizes(hia_back *b);
void hiaG_grad_remove_sizes(hia_back *b);
/* Makes f.back read what vectors were put together from instead of these (parts.c). */
void hiaG_grad_parts(hia_back *b);
/* True if what is kept is such a size. */
static inline bool hiaG_grad_is_size(const hia_back *b, const hia_grad_kept *kept) {
  return kept->kind == HIA_KEPT_VALUE && b->fn->values.data[kept->value].node >= b->n_nodes;
}
/* Lays out the tapes, and builds the body of f.kept. */
void hiaG_grad_kept(hia_back *b);

/* ---- proxy.c ---- */

void hiaG_grad_make_proxies(hia_graph *g);   /* before `grad` nodes are replaced */
void hiaG_grad_remove_proxies(hia_graph *g); /* and behind that */
/* The sizes of arguments that a version assumes are known, or not: which gradients are added up as
 * sums must not depend on them, but what these become may. */
void hiaG_grad_know_arguments(hia_graph *g, bool are_known);

#endif
