/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The frontend: source text to checked program to graph.
 *
 * Everything here works inside one compilation (hia_comp): memory is its arena's, running out of it
 * throws. Mistakes of the user never throw: they become diagnostics. */
#ifndef HIA_FRONTEND_H
#define HIA_FRONTEND_H

#include "graph/graph.h"

/* ---- diag.c: what is wrong with a program ---- */

/* Another place that matters: "first defined here". */
typedef struct hia_diag_note {
  uint32_t line, col; /* as of the error; 0: the text alone */
  const char *text;
} hia_diag_note;

typedef struct hia_diag {
  const char *code;    /* stable: "E0101"; the list with explanations is docs/errors.md */
  uint32_t line, col;  /* from 1, col in bytes; 0: no position */
  uint32_t len;        /* bytes to underline on that line, at least 1 */
  const char *message; /* one line, no full stop */
  const char *hint;    /* what to write instead; NULL if there is none */
  const char *fix; /* the hint as a change of the source: these bytes become this text; or NULL */
  uint32_t fix_start, fix_end;
  HIA_VEC(hia_diag_note) notes;
} hia_diag;

typedef struct hia_source {
  const char *name; /* as given by the user; "" if it has none */
  const char *text; /* len bytes, NUL behind them */
  size_t len;
  /* An expression behind the program, on lines of its own: where it begins, and its line. Positions
   * in the frontend go on counting; those that leave it are of one of two files (hiaF_place). 0:
   * there is none. */
  uint32_t expr_at, expr_line;
} hia_source;

/* A line as the user knows it. */
typedef struct hia_place {
  const char *file, *text; /* len bytes: all of the file */
  size_t len;
  uint32_t line;
} hia_place;
hia_place hiaF_place(const hia_source *source, uint32_t line);

typedef struct hia_diags {
  hia_comp *comp;
  const hia_source *source;
  HIA_VEC(hia_diag) list; /* in order of position, at most HIA_MAX_DIAGS */
  uint32_t suppressed;    /* found beyond that */
} hia_diags;
#define HIA_MAX_DIAGS 50

void hiaF_diags_init(hia_diags *diags, hia_comp *comp, const hia_source *source);
/* file:line:col: error[E0101]: message, the source line, a caret line, hint and notes. Bytes that
 * are not printable are shown escaped; long lines are cut around the caret. */
void hiaF_diag_print(const hia_diags *diags, uint32_t i, hia_text *out);

/* explain.c: what a code or the word of a failure means; NULL if it is none. The first line is a
 * heading, "E0301: mixed types"; static. */
const char *hiaF_explain(const char *code);
const char *hiaF_explained_code(size_t i); /* all of them; NULL at the end */

/* ---- a checked program ---- */

typedef struct hia_program hia_program;
typedef uint32_t hia_decl_id, hia_inst_id;

/* Parses and checks: names everywhere, types of every function that has all its parameter types
 * (and of every generic function these call). Mistakes go to `diags` (the program is then usable
 * for hiaF_print_ast if it parsed, and for nothing else); NULL if it did not even parse. `source`
 * must outlive the program. */
hia_program *hiaF_load(hia_comp *comp, hia_types *types, const hia_source *source,
                       hia_diags *diags);

uint64_t hiaF_parse_ns(const hia_program *p); /* of the time that loading took */
uint32_t hiaF_n_fns(const hia_program *p);    /* declared functions are 0 .. n - 1 */
hia_decl_id hiaF_find(const hia_program *p, const char *name, size_t len);    /* or HIA_NONE */
const char *hiaF_similar(const hia_program *p, const char *name, size_t len); /* or NULL */
const char *hiaF_name(const hia_program *p, hia_decl_id fn);
uint32_t hiaF_arity(const hia_program *p, hia_decl_id fn);
const char *hiaF_param_name(const hia_program *p, hia_decl_id fn, uint32_t i);
hia_type hiaF_param_type(const hia_program *p, hia_decl_id fn, uint32_t i); /* HIA_NONE: generic */
/* True if a call of the function may call an impure function of the host. */
bool hiaF_is_impure(hia_program *p, hia_decl_id fn);

/* The instance of a function at argument types (n = its arity; where a type is declared it must be
 * given exactly). HIA_NONE and diagnostics if its body does not check at these types. Instances
 * stay; asking again gives the same. */
hia_inst_id hiaF_instantiate(hia_program *p, hia_decl_id fn, const hia_type *args,
                             hia_diags *diags);
hia_type hiaF_result(const hia_program *p, hia_inst_id inst);

/* ---- program.c: functions of the host ----
 * What a program declares `extern` is looked for when it has been loaded. */

typedef struct hia_host_info {
  const char *declaration; /* as hiaG_extern_print writes it; NULL: nobody knows */
  bool raises;             /* it may answer that it has failed */
} hia_host_info;
typedef struct hia_host_finder {
  void *user;
  bool (*find)(void *user, const char *name, hia_host_info *info);
  const char *(*name)(void *user, size_t i); /* of those there are, to suggest one; NULL: no more */
} hia_host_finder;
/* Says in p's diagnostics what is not there or declared otherwise. */
void hiaF_link(hia_program *p, const hia_host_finder *finder, hia_diags *diags);
/* The name of an extern that differs least from this one; or NULL. */
const char *hiaF_similar_host(const hia_host_finder *finder, const char *name);
uint32_t hiaF_n_externs(const hia_program *p);
/* Fills in name, is_impure and the signature of the i-th extern of a program without errors, in the
 * order of the source. Returns the names of its parameters. */
const char **hiaF_extern(const hia_program *p, uint32_t i, hia_extern *e);
/* The declaration of a program that is one extern and nothing else; else NULL. */
const char *hiaF_extern_text(const hia_program *p, const char **name);

/* elab.c: the graph (state HIA_FUNCTIONS) of these instances and all they call, in a compilation
 * `comp` with types of its own: nothing of it refers to the program. Root k is the function
 * roots_out[k] of the graph, marked is_root. `counted`: a COUNT node (imm 0) before every call, one
 * (imm 1) at the start of every loop round. May throw at `comp` and at the program's compilation.
 */
hia_graph *hiaF_build(hia_program *p, hia_comp *comp, hia_types *types, const hia_inst_id *roots,
                      uint32_t n_roots, bool counted, hia_fn_id *roots_out);

/* value.c: values as the command line and the API read them. Reads a constant expression
 * of `type`, or by its own look when `type` is HIA_NONE; *type_out is the type it has, *words its
 * scalars in canonical form (arena). False and diagnostics if it is none. */
bool hiaF_parse_value(hia_comp *comp, hia_types *types, const hia_source *source, hia_type type,
                      hia_type *type_out, hia_word **words, hia_diags *diags);

/* ast.c: the syntax tree, one node a line, indented, with positions and, after a check, types. */
void hiaF_print_ast(const hia_program *p, hia_text *out);
void hiaF_dot_ast(const hia_program *p, hia_text *out); /* the same for Graphviz */

/* ---- build.c: programs made by calls, for the builder of the public header ----
 *
 * Ids are those of the public header: the tag, and index + 1. Mistakes of the host throw
 * HIA_ARGUMENT with a message; a draft can still be printed then. */

/* Of IFs and LOOPs in one another: each takes two of the HIA_MAX_NESTING levels of the text, and
 * what is innermost some more. The public header says the same number. */
#define HIA_DRAFT_MAX_NESTING 900u
/* Parameters of a function, at most; of a loop: as many as a type has parts. */
#define HIA_DRAFT_MAX_PARAMS 1000u

typedef struct hia_draft hia_draft;
hia_draft *hiaF_draft_new(hia_comp *comp, uint32_t tag); /* the compilation's */
uint64_t hiaF_draft_tuple_type(hia_draft *d, const uint64_t *parts, size_t n);
uint64_t hiaF_draft_type_of(hia_draft *d, uint64_t value);
uint64_t hiaF_draft_declare(hia_draft *d, const char *signature);
uint64_t hiaF_draft_declare_types(hia_draft *d, const char *name, const uint64_t *params, size_t n,
                                  uint64_t result);
uint64_t hiaF_draft_declare_extern(hia_draft *d, const char *name, const uint64_t *params, size_t n,
                                   uint64_t result, bool is_impure);
void hiaF_draft_begin(hia_draft *d, uint64_t fn);
uint64_t hiaF_draft_param(hia_draft *d, uint64_t fn, size_t i);
void hiaF_draft_return(hia_draft *d, uint64_t result);
uint64_t hiaF_draft_const(hia_draft *d, hia_dtype dtype, hia_word word);
uint64_t hiaF_draft_op(hia_draft *d, unsigned op, const uint64_t *ins, size_t n);
uint64_t hiaF_draft_convert(hia_draft *d, unsigned dtype, uint64_t value);
uint64_t hiaF_draft_call(hia_draft *d, uint64_t fn, const uint64_t *args, size_t n);
uint64_t hiaF_draft_fail(hia_draft *d, uint64_t code, uint64_t type);
uint64_t hiaF_draft_tuple(hia_draft *d, const uint64_t *parts, size_t n);
uint64_t hiaF_draft_part(hia_draft *d, uint64_t tuple, size_t i);
uint64_t hiaF_draft_name(hia_draft *d, uint64_t value, const char *name);
void hiaF_draft_if(hia_draft *d, uint64_t condition);
void hiaF_draft_else(hia_draft *d, uint64_t value);
uint64_t hiaF_draft_end_if(hia_draft *d, uint64_t value);
void hiaF_draft_loop(hia_draft *d, const uint64_t *init, size_t n, uint64_t *variables);
void hiaF_draft_while(hia_draft *d, uint64_t condition);
uint64_t hiaF_draft_end_loop(hia_draft *d, const uint64_t *next, size_t n);

/* The first function without a body, or with one that is not at its end; NULL if there is none. */
const char *hiaF_draft_unfinished(const hia_draft *d, bool *has_begun);

/* build_print.c: the program in the language. What it needs for the while is out->arena's, names go
 * to the draft. */
void hiaF_draft_print(hia_draft *d, hia_text *out);

#endif
