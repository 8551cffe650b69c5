/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Analyses of static graphs: what lowering must know of a graph before it emits code. Results are
 * in the caller's arena.
 *
 * The other headers of this folder are about both states, or about function graphs: effects.h, what
 * nodes and functions may do; groups.h, functions in groups; sizes.h, sizes of tensors;
 * result_names.h, names for files. */
#ifndef HIA_ANALYSIS_H
#define HIA_ANALYSIS_H

#include "graph/ir/graph.h"

/* ---- facts.c: what functions do, themselves or in what they call ---- */

/* All arrays but `order` are indexed by function. */
typedef struct hia_facts {
  uint16_t *effects; /* HIA_E_ bits */
  uint32_t *group;   /* functions that call each other have one number; callees have lower ones */
  hia_fn_id *order;  /* all functions, callees first */
  bool *is_leaf;     /* it is a leaf function, lowered without its calls: leaf.c */
  bool *is_version;  /* a leaf function, or the slow path of one */
  bool *has_objects; /* it, or what it calls, has values that are references, or params */
  bool *is_forked;   /* it is the callee of some fork, so a thief may call it */
} hia_facts;
hia_facts hiaG_facts(hia_arena *arena, const hia_graph *g);

/* ---- units.c: the parts of a graph that are compiled one by one ---- */

typedef struct hia_codegen_units {
  uint32_t *of;      /* by function: the number of its unit; HIA_NONE: the function is removed */
  bool *is_imported; /* by function: another unit calls it */
  uint32_t n;
} hia_codegen_units;
/* Whole recursive groups, as many as fit into a unit; callees are in no later unit than their
 * callers, except within a group that is larger than a unit. */
hia_codegen_units hiaG_codegen_units(hia_arena *arena, const hia_graph *g, const hia_facts *facts);
hia_codegen_units hiaG_one_codegen_unit(hia_arena *arena, const hia_graph *g);

/* ---- fused.c: what fused kernels consist of (passes/fuse.c, lower/fused/kernel.c) ---- */

enum { HIA_FUSED_RANK = 4 }; /* of tensors in fused kernels, at most */
typedef enum hia_fused_kind {
  HIA_NOT_FUSED,
  HIA_FUSED_LANES,  /* an op on scalars that is lifted, exists for vectors, and cannot fail but for
                       shapes that do not fit */
  HIA_FUSED_VIEW,   /* a part, also along the last axis, a row, a reshape or a check of sizes, whose
                       result is a tensor */
  HIA_FUSED_GATHER, /* rows of a matrix, by a vector of indices */
  HIA_FUSED_FOLD,   /* a reduction along the last axis, or of all elements */
} hia_fused_kind;
hia_fused_kind hiaG_fused_kind(const hia_graph *g, const hia_fn *fn, hia_node_id n);

/* ---- leaf.c ---- */

/* True if the shape of a function that has a slow path allows lowering it without its calls. */
bool hiaG_can_be_leaf(hia_arena *arena, const hia_fn *fn);
/* Returns, by parameter, the value to pass to the slow path when the function restarts there. In a
 * function that is one loop it is the loop's variable. NULL: the function cannot restart. */
hia_value_id *hiaG_restart_values(hia_arena *arena, const hia_fn *fn);

/* ---- cost.c: how long code takes, and how large it is ---- */

/* How long code may run without a poll: cycles of the op table, on the longest path. The limits
 * leave ten times the room for what the table does not know, such as a cold cache. */
#define HIA_MAX_UNPOLLED      20000 /* within a function: about 10 us */
#define HIA_MAX_UNPOLLED_FN   1000  /* of a whole function that need not poll at all */
#define HIA_MAX_UNPOLLED_BACK 100   /* behind a recursive call, in each of the frames that return */

/* The longest paths since the last safepoint, or since the function was entered; in cycles. */
typedef struct hia_path {
  uint64_t since; /* over all paths */
  uint64_t bare;  /* over the paths that have met no safepoint at all */
  uint64_t back;  /* over the paths since a call of the function's own group */
  bool is_bare;   /* there are such paths */
  bool is_back;   /* there are such paths */
} hia_path;

hia_path hiaG_longer_path(hia_path a, hia_path b); /* where two paths meet */

/* The most nodes in one straight-line run, which become one block. Some of LLVM's algorithms are
 * quadratic in the length of a block: the scheduler, for one, compares every write of the flags
 * with all before it. */
#define HIA_MAX_STRAIGHT_LINE 400

uint64_t hiaG_cost(const hia_fn *fn, hia_node_id n); /* of a node that is no call */
/* True if a run of the function may come to a poll. */
bool hiaG_polls(const hia_fn *fn);
bool hiaG_is_large(const hia_fn *fn);
/* True for hundreds of nodes on scalars and data with few branches, and no loop. Such a function is
 * a codegen unit of its own, since most of LLVM's passes find nothing in it, and what they do find
 * makes it slower: they move the nodes, so that more values are kept in the frame. */
bool hiaG_is_straight(const hia_graph *g, const hia_fn *fn);
/* The size of a graph, by its largest function: which of LLVM's algorithms are quadratic in it, or
 * worse, and must be kept away. docs/native.md, "Compile time", has the measurements. */
typedef enum hia_size_class {
  HIA_SIZE_USUAL,
  HIA_SIZE_ALIKE, /* code that repeats itself: unrolled recursion, which has many alike conditions
                     on few values; rows of segments, of which most is memory from lists, and stores
                   */
  HIA_SIZE_MANY,  /* functions; or results, branches or variables of loops of one */
  HIA_SIZE_LARGE, /* a function of thousands of nodes or branches, or a straight line: light
                     passes */
  HIA_SIZE_HUGE   /* of more still, or a straight line that fills objects: the fast code
                     generator, which is linear, besides */
} hia_size_class;
hia_size_class hiaG_size_class(const hia_graph *g);
/* Returns the size class of a unit. Only whether the functions are many is said of the whole graph.
 */
hia_size_class hiaG_unit_size_class(const hia_graph *g, const hia_codegen_units *units,
                                    uint32_t unit);

/* ---- pays.c: when a fork of a call pays ---- */

/* When an invocation that has entered a region takes long enough. */
typedef enum hia_pays_rule {
  HIA_PAYS_NEVER,
  HIA_PAYS_ALWAYS,
  HIA_PAYS_IF,     /* if the predicate of region `decider` is true */
  HIA_PAYS_BY_ARM, /* as that predicate says: the rule of region `decider`, or of the one behind it
                    */
} hia_pays_rule;

typedef struct hia_pays_region {
  hia_pays_rule rule;
  hia_region_id decider;
  /* The nodes that the predicate depends on, and others: nodes[first] .. nodes[end - 1]. They
   * are cheap, do not fail, and each stands behind its operands, which may be in regions around. */
  uint32_t first, end;
} hia_pays_region;

typedef struct hia_pays {
  hia_pays_region *regions; /* by region; those that no rule leads to have no meaning */
  hia_node_id *nodes;
} hia_pays;
/* When a call of a function takes long: the rule of its region 0. */
hia_pays hiaG_pays(hia_arena *arena, const hia_graph *g, const hia_fn *fn);

/* ---- plain.c ---- */

/* Returns why a function of a static graph cannot be a plain function (one of C, called without a
 * context and a status). NULL if it can; then *levels is the most frames that it has on the stack
 * at once. */
const char *hiaG_not_plain(const hia_graph *g, hia_fn_id f, hia_arena *scratch, uint32_t *levels);
/* True if a function of a static graph could be a plain function but for its failures. */
bool hiaG_ends_soon(const hia_graph *g, hia_fn_id f, hia_arena *scratch);

#endif
