/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Instances of functions: a function at types of arguments, and what is found out about it
 * (instance.c).
 *
 * The folder has what checks, gradients and elaboration share: besides instances the states of the
 * walks over a program, each with its errors and what they have in common. These are the walk over
 * names (scope.h), typings (typing.h), the question what ends (ends.h), and graphs in the making
 * (pieces.h). */
#ifndef HIA_FRONTEND_INSTANCE_H
#define HIA_FRONTEND_INSTANCE_H

#include "frontend/syntax/program.h"

#define HIA_MAX_INSTANCES 256u /* of one function: docs/language.md */

typedef enum hia_inst_state {
  HIA_INST_NEW,
  HIA_INST_ACTIVE, /* on the stack of check/solve.c */
  HIA_INST_DONE,
} hia_inst_state;

typedef struct hia_inst {
  uint32_t decl; /* index into p->decls */
  const hia_itype *args;
  hia_itype want;       /* result type that a call requires of a failing function; else NONE */
  hia_itype declared;   /* the declared type of its result; or NONE */
  uint32_t gradient;    /* the instance of its clause `gradient`, once it is checked; or NONE */
  hia_itype result;     /* as far as it is known; DONE: final, BOTTOM or ERROR */
  uint8_t state;        /* hia_inst_state */
  bool is_bottom;       /* every path fails: its result joins with any type */
  bool checked, failed; /* check/check.c has checked it; it has an error */
  bool judged;          /* check/check.c has decided whether it ends */
  bool sound;           /* it and all its callees have no error */
  bool no_base;         /* its result stayed unknown */
  bool ends;            /* some path through it makes only calls that can end */
  bool settles;         /* `ends`, where calls of gradients count, too (grad/ending.c) */
  bool derives;         /* its derivative settles, too */
  bool queued;
  bool held;            /* the last typing of its body left a tainted literal unknown */
  bool conflict;        /* the last typing had an error, or the result reached no fixpoint */
  uint8_t changes;      /* how often solving replaced its result by one that does not contain it */
  hia_itype found;      /* its body's type in this round of solving */
  uint32_t order;       /* its number among those that became DONE: callees before callers, a group
                           together */
  uint32_t group;       /* number of its strongly connected component */
  uint32_t index, low;  /* check/solve.c uses them in the algorithm of Tarjan (1972) */
  uint32_t stamp;       /* scratch: number of the last walk that visited it */
  uint32_t caller;      /* the older instance whose call made this one; NONE: the host did */
  hia_ast_id call;      /* its CALL node */
  uint32_t last_caller; /* the last one added to callers */
  hia_itype *types;     /* the types of nodes, from the declaration's first_node on */
  hia_u32vec callees, callers;
  hia_diags *diags; /* its errors, or NULL; reported again at each check of it */
  /* check/dims.c sets these in programs that may have tensors. */
  hia_dim *result_dims; /* the dims of its result, as calls see it; NULL: not walked */
  const hia_dim **dims; /* the dims of nodes that are expressions of tensors, as `types`; or NULL */
} hia_inst;

static inline hia_inst *hiaF_inst(const hia_program *p, uint32_t id) { return &p->insts.data[id]; }

/* Finds the instance or makes it, for the node `call` of the instance `caller` (both HIA_NONE: for
 * the host). HIA_NONE if there would be too many. */
uint32_t hiaF_instance(hia_program *p, uint32_t decl, const hia_itype *args, hia_itype want,
                       uint32_t caller, hia_ast_id call);
/* The instance if it was made, else HIA_NONE. */
uint32_t hiaF_known_instance(const hia_program *p, uint32_t decl, const hia_itype *args,
                             hia_itype want);
void hiaF_add_call(hia_program *p, uint32_t caller, uint32_t callee);
/* Notes the calls that gave a generic instance its types. `diag` may be NULL. */
void hiaF_note_instances(hia_program *p, uint32_t inst, hia_diag *diag);
/* "f(i32, f64)": the name of an instance. */
const char *hiaF_inst_name(const hia_program *p, uint32_t inst, hia_arena *arena);

#endif
