/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The image: the static graph flattened to one position-independent block of bytes. The
 * interpreter runs images and nothing else; object files carry them, and they can be moved to
 * other machines.
 *
 * Written by graph/flatten/, checked once by hiaR_image_load, described in docs/image.md.
 * All numbers are in the byte order of the machine that wrote the image, which the header records.
 *
 * An image is a header and tables of records; records refer to each other by index. "Words" are a
 * table of 32-bit numbers of which lists are parts: a list is the index of its first word and a
 * length. What a list holds is said where it is named. Inside a section, nodes, regions and slots
 * are numbered from 0. */
#ifndef HIA_IMAGE_H
#define HIA_IMAGE_H

#include "runtime/base/param.h"
#include "runtime/base/type.h"
#include "runtime/heap/operation.h"
#include "runtime/host/host.h"

#define HIA_IMAGE_MAGIC                                                                            \
  "\x89hia\r\n\x1a\n" /* 8 bytes; damaged by anything that is not binary-safe */
#define HIA_IMAGE_ORDER   0x01020304u
#define HIA_IMAGE_VERSION 11u

typedef struct hia_image_table {
  uint32_t at; /* bytes from the start of the image; 8-aligned */
  uint32_t n;  /* records */
} hia_image_table;

/* The tables: X(RECORD, NAME), in their order. */
#define HIA_IMAGE_TABLES(X)                                                                        \
  X(hia_image_kernel, kernels)                                                                     \
  X(hia_image_extern, externs)                                                                     \
  X(hia_image_param, params)                                                                       \
  X(hia_image_section, sections)                                                                   \
  X(hia_image_region, regions)                                                                     \
  X(hia_image_node, nodes)                                                                         \
  X(uint32_t, words)                                                                               \
  X(hia_word, consts)                                                                              \
  X(hia_word, literals)                                                                            \
  X(hia_image_export, exports)                                                                     \
  X(hia_image_loc, locs)                                                                           \
  X(char, strings)
/* Behind them the types of references, as in hia_type_table (runtime/base/type.h). Parts and
 * elements of types are types with lower numbers, or data types. */
#define HIA_IMAGE_TYPE_TABLES(X)                                                                   \
  X(hia_type_entry, types)                                                                         \
  X(hia_type, parts)                                                                               \
  X(hia_ctor, ctors)                                                                               \
  X(hia_ctor_field, fields)                                                                        \
  X(hia_layout_word, layout_words)                                                                 \
  X(char, names)

typedef struct hia_image_header {
  uint8_t magic[8];
  uint32_t order, version;
  uint64_t size; /* of the whole image in bytes; a multiple of 8 */
  uint64_t hash; /* hiaR_image_hash of all bytes after this field */
  uint32_t file; /* string: name of the source, "" if there is none */
  uint32_t pad;
#define TABLE(record, name) hia_image_table name;
  HIA_IMAGE_TABLES(TABLE)
  HIA_IMAGE_TYPE_TABLES(TABLE)
#undef TABLE
} hia_image_header;

/* A kernel that the program requires; the caller that loads the image provides it. */
typedef struct hia_image_kernel {
  uint16_t op; /* enum hia_op */
  uint8_t dtype, pad;
} hia_image_kernel;

/* A host function that the program calls; the caller that loads the image provides it. */
typedef struct hia_image_extern {
  uint32_t name, signature; /* strings; the signature as of an export */
  uint32_t flags;           /* HIA_EXTERN_... */
} hia_image_extern;
enum {
  HIA_EXTERN_IMPURE = 1, /* a run that may call it has one worker */
  HIA_EXTERN_RAISES = 2, /* it may return that it has failed */
};

/* A param of the program; the caller that begins a run provides its value. */
typedef struct hia_image_param {
  uint32_t name; /* string */
  uint8_t dtype, init, rank, pad;
  double a, b;
  int64_t dims[HIA_MAX_RANK]; /* those from `rank` on are 0 */
} hia_image_param;

/* Literals lie one behind the other in a table of words, as the tensors that they are (hia_tensor),
 * with the elements behind the dims, and without an address. The immediate of an OPERATION that is
 * a LITERAL is the number of its first word. */

/* A function, or a loop: what runs in one frame.
 *
 * Slots hold values: first the parameters, then computed values, at the end the constants.
 *
 * An iterating section (a loop, or a function that consists of a loop) runs in rounds. When all
 * nodes of a round have fired and slot `cond` holds true, the moves `next` are made one after the
 * other and the next round begins.
 *
 * A slot that holds references is listed with its type. Constants are not listed: a constant below
 * HIA_FIRST_ADDRESS is a reference of any type. */
typedef struct hia_image_section {
  uint32_t name;  /* string */
  uint32_t flags; /* HIA_SECTION_... */
  uint32_t n_params, n_slots;
  uint32_t consts, n_consts;   /* in the table of constants */
  uint32_t results, n_results; /* words: slots */
  uint32_t nodes, n_nodes;     /* in the table of nodes, in sequential order */
  uint32_t regions, n_regions; /* in the table of regions; at least the body */
  uint32_t enter, n_enter;     /* words: pairs (from slot, to slot); moved when a frame is made */
  uint32_t next, n_next, cond; /* of an iterating section; words as in `enter` */
  uint32_t refs, n_refs; /* words: pairs (slot, hia_type), by slot: those that hold references */
  uint32_t weight;       /* firings that a frame stands for once, independent of its rounds */
  /* Words: triples (first, last, slot), by `first`. Where node `first`, one before `last`, or one
   * between them fails, or what it calls, that is in the element of a comprehension whose index,
   * an i64, the slot holds. Those of several triples are in one another, the last innermost. */
  uint32_t elements, n_elements;
} hia_image_section;
enum { HIA_SECTION_ITERATES = 1 };

/* A control context: the body of a section, or one side of a SWITCH. Regions of a section stand in
 * the order of their first nodes, outer ones first. */
typedef struct hia_image_region {
  uint32_t parent;         /* NONE: the body, region 0 */
  uint32_t node, side;     /* the SWITCH, in the parent; 0: taken when true, 1: when false */
  uint32_t first, last;    /* its nodes: first .. last - 1, with those of regions inside it */
  uint32_t edges, n_edges; /* words: nodes that get a token when control enters the region */
  uint32_t moves, n_moves; /* words: pairs (from slot, to slot); moved before that */
  uint32_t weight;         /* firings it stands for in addition to those of its nodes */
} hia_image_region;

typedef enum hia_image_kind {
  HIA_KIND_KERNEL = 0, /* what: kernel; ins to out */
  HIA_KIND_MOVE = 1,   /* in to out */
  HIA_KIND_SWITCH = 2, /* in: bool; the region of that side becomes live, the other is dead */
  HIA_KIND_CALL = 3,   /* what: section; its tokens arm the call, its edges are the Returns' */
  HIA_KIND_LOOP = 4,   /* the same, but not part of backtraces */
  HIA_KIND_FAIL = 5,   /* in: the code */
  HIA_KIND_COUNT = 6,  /* what: 0 a call, 1 a loop round */
  HIA_KIND_JOIN = 7,   /* waits for its tokens and does nothing */
  HIA_KIND_HOST = 8, /* what: extern; ins to outs; the only node of its section, which is called */
  HIA_KIND_LEND = 9, /* lends fuel to runs that the next host function begins */
  HIA_KIND_REGAIN = 10, /* takes back what is left of it; its operand is waited for and not read */
  HIA_KIND_MAKE = 11,   /* what: constructor in the table of types; ins: the words of its fields */
  HIA_KIND_CTOR = 12,   /* in: data; out: the number of its constructor in the type */
  HIA_KIND_FIELD =
      13, /* what: constructor; in: data, of this constructor; outs: words of its fields, in their
             order; imm: the set of these words as bits; of a constructor with more than
             HIA_MAX_FIELD_SET words the number of one word */
  /* what: the type of the array that is made, or (LEN: 0) read */
  HIA_KIND_ELEMENTS = 14,  /* ins: the words of all elements; out: an array */
  HIA_KIND_LEN = 15,       /* in: an array; out: how many elements it has */
  HIA_KIND_AT = 16,        /* in: array, index; imm: word of the element */
  HIA_KIND_SLICE = 17,     /* in: array, first, end */
  HIA_KIND_SET = 18,       /* in: array, index, words of an element */
  HIA_KIND_CONCAT = 19,    /* in: arrays */
  HIA_KIND_NEW = 20,       /* in: how many elements */
  HIA_KIND_OPERATION = 21, /* what: kernel, of an op that takes tensors or makes them; imm: the
                              op's; ins, tensors or scalars, to out */
  HIA_KIND_OBSERVE = 22,   /* what: point; in: what is seen there (run/observer.h) */
} hia_image_kind;
#define HIA_N_KINDS       23
#define HIA_MAX_FIELD_SET 64u
#define HIA_MAX_TAKING    63u /* operands of an OPERATION from this one on are never taken */

/* An operand slot with this bit is *taken*: the node gets the slot's reference, and the slot is
 * unset from then on. So no reference need be counted, and SET changes an array in place to which
 * nothing else refers. The writer of the image knows that all other readers of the slot come
 * before. An image in which one comes later computes another value, but does no harm: an unset slot
 * holds 0, which is a constructor without fields, or an array without elements, or an older
 * reference that it owns; an OPERATION that finds no tensor fails. Operands of MOVE, CALL, LOOP,
 * MAKE, FIELD, ELEMENTS, SET and OPERATION may have it, and the slots that moves of regions and of
 * `enter` read. */
#define HIA_IMAGE_TAKEN 0x80000000u

typedef struct hia_image_node {
  uint8_t kind, flags; /* HIA_IMAGE_TAIL */
  uint16_t tokens;     /* tokens that it waits for: 1 .. HIA_MAX_TOKENS */
  uint32_t what;
  uint32_t ins, n_ins;     /* words: slots */
  uint32_t outs, n_outs;   /* words: slots */
  uint32_t edges, n_edges; /* words: nodes, later ones, that get a token when this has fired */
  uint32_t weight;         /* firings of the static graph that it stands for */
  uint32_t loc;            /* or NONE */
  uint64_t imm;
} hia_image_node;
enum { HIA_IMAGE_TAIL = 1 }; /* CALL: a tail call */
#define HIA_MAX_TOKENS 255

/* A function that can be run from outside. The signature is text: each type is one of `b i l f d`
 * for bool i32 i64 f32 f64, a tuple in brackets, or the number of a type in decimal between `<` and
 * `;`; first the parameters, then `>`, then the result: "i(id)>l", "<16;i><16;". */
typedef struct hia_image_export {
  uint32_t name, signature; /* strings; names are distinct */
  uint32_t section;
  uint32_t fn; /* number of the function in the graph that was flattened */
} hia_image_export;

/* A position of the source; the same indices as the graph's table of locations. */
typedef struct hia_image_loc {
  uint32_t line, col;
  uint32_t fn;     /* offset of the source function's name among the strings; or an operand
                      (base/loc.h) */
  uint32_t parent; /* where that body was inlined, or HIA_NONE */
} hia_image_loc;

uint64_t hiaR_image_hash(const void *bytes, size_t size); /* hash.c; size: a multiple of 8 */

/* ---- load.c ---- */

typedef struct hia_program_image hia_loaded;

/* What computes an op. */
typedef struct hia_given_kernel {
  uint32_t op, pad;           /* enum hia_op */
  const hia_kernel *by_dtype; /* of an op on scalars, its table: hiaR_k_ADD; else NULL */
  hia_operate operate;        /* of tensors; NULL: there are no such nodes */
} hia_given_kernel;
/* False: there is no such op. */
typedef bool hia_find_kernel(unsigned op, hia_given_kernel *kernel);
hia_find_kernel hiaR_any_kernel; /* kernels.c: links all */

/* Checks an image completely and decodes it. `bytes` may hold anything: bytes that are not a sound
 * image are rejected with HIA_BAD_IMAGE and a reason in `error`. `find` is hiaR_any_kernel or a
 * function that knows fewer ops. The bytes are not needed afterwards. The caller owns *out, which
 * is immutable: it can have any number of runs at once. */
hia_status hiaR_image_load(const void *bytes, size_t size, hia_find_kernel *find,
                           const hia_allocator *allocator, hia_loaded **out, char *error,
                           size_t error_size);
/* Loads an image that may call host functions. */
typedef struct hia_image_hosts {
  const hia_host_caller *caller;
  /* Finds the host function for extern `number` of the image. False: there is none. */
  bool (*find)(void *user, uint32_t number, const char *name, hia_host_target *target);
  void *user;
} hia_image_hosts;
/* A `find` for functions that are linked in: `user` is a list of these that ends with a NULL name.
 */
typedef struct hia_given_host {
  const char *name;
  hia_host_target target;
} hia_given_host;
bool hiaR_given_host(void *user, uint32_t number, const char *name, hia_host_target *target);
hia_status hiaR_image_load_hosted(const void *bytes, size_t size, hia_find_kernel *find,
                                  const hia_image_hosts *hosts, const hia_allocator *allocator,
                                  hia_loaded **out, char *error, size_t error_size);
/* Loads an image with a list of kernels: a program that lists only those that its image needs links
 * no others. `hosts` may be NULL. */
hia_status hiaR_image_load_given(const void *bytes, size_t size, const hia_given_kernel *given,
                                 size_t n_given, const hia_image_hosts *hosts,
                                 const hia_allocator *allocator, hia_loaded **out, char *error,
                                 size_t error_size);
void hiaR_image_free(hia_loaded *image); /* `image` may be NULL; no run may be under way */

/* ---- loaded.c ---- */

typedef struct hia_export {
  const char *name, *signature;
  const hia_type *params, *results; /* flattened */
  uint32_t n_params, n_results;
  uint32_t section, fn;
} hia_export;
uint32_t hiaR_image_n_exports(const hia_loaded *image);
const hia_export *hiaR_image_export(const hia_loaded *image, uint32_t entry);
uint32_t hiaR_image_find(const hia_loaded *image, const char *name); /* entry, or HIA_NONE */
uint32_t hiaR_image_entry(const hia_loaded *image,
                          uint32_t fn); /* by the graph's number; or HIA_NONE */
const hia_image_loc *hiaR_image_locs(const hia_loaded *image, uint32_t *n); /* n may be NULL */
const char *hiaR_image_string(const hia_loaded *image, uint32_t offset);    /* loc->fn */
const char *hiaR_image_file(const hia_loaded *image);
size_t hiaR_image_bytes(const hia_loaded *image); /* of memory that it occupies */
/* The params: n of them. */
const hia_param_spec *hiaR_image_params(const hia_loaded *image, uint32_t *n);
struct hia_shapes;
const struct hia_shapes *
hiaR_image_shapes(const hia_loaded *image); /* NULL: it has no references */

#endif
