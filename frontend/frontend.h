/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The frontend: source text to checked program to graph. Its rooms, each of which uses those before
 * it:
 *
 *   types/   types while they are inferred
 *   syntax/  from text to a tree; messages; what all rooms know of a program
 *   kit/     what checks, gradients and elaboration share
 *   grad/    gradients
 *   check/   names, types, sizes, instances
 *   elab/    from a checked tree to a graph
 *   build/   programs that a host builds, without text
 *
 * program.c loads a program through these rooms; none of them calls it.
 *
 * Everything here works inside one compilation (hia_comp). Its arena owns all memory, and running
 * out of memory throws. Mistakes of the user never throw: they become diagnostics. */
#ifndef HIA_FRONTEND_H
#define HIA_FRONTEND_H

#include "graph/ir/graph.h"

/* ---- diag.c: diagnostics, the mistakes in a program ---- */

/* Another place that belongs to the error: "first defined here". */
typedef struct hia_diag_note {
  uint32_t line, col; /* as in hia_diag; 0: a note without a place */
  const char *text;
  /* The shape of an operand, which is shown with the error itself; NULL: the note is of a place. */
  const char *label;
  uint32_t len; /* bytes of the operand that are on that line */
} hia_diag_note;

/* Changes of the source that hints propose. Each kind has programs in
 * tests/unit/engine/test_engine_edits.c, which applies them. */
typedef enum hia_edit {
  HIA_EDIT_DIGIT_BEHIND, /* 1. */
  HIA_EDIT_DIGIT_BEFORE, /* .5 */
  HIA_EDIT_PARAMETER,    /* f64 x becomes x: f64 */
  HIA_EDIT_EQUAL,        /* = becomes ==, in a condition */
  HIA_EDIT_ELSE_IF,      /* elif */
  HIA_EDIT_ARROW,        /* -> becomes =>, in an arm */
  HIA_EDIT_SEMICOLON,    /* behind a `let` */
  HIA_EDIT_IN,           /* `in` becomes ; */
  HIA_EDIT_LET,          /* the type of a `let` */
  HIA_EDIT_LVAR,         /* the type of a loop variable */
  HIA_EDIT_RESULT,       /* the type of a result */
  HIA_EDIT_LITERAL,      /* the type of a literal, or of an expression of literals */
  HIA_EDIT_NAME,         /* a name becomes the literals that it stands for, with a type */
  HIA_EDIT_CONVERSION,   /* e becomes f64(e) */
  HIA_EDIT_OPERATOR,     /* of another language: && becomes `and` */
  HIA_EDIT_CHARACTER,    /* 'a' becomes 97 */
  HIA_EDIT_TENSOR,       /* [f32] becomes f32[?], in a type */
  HIA_N_EDITS
} hia_edit;

typedef struct hia_diag {
  const char *code;    /* stable: "E0101"; docs/errors.md explains all */
  uint32_t line, col;  /* from 1, col in bytes; 0: no position */
  uint32_t len;        /* bytes to underline on that line, at least 1 */
  const char *message; /* one line, no full stop */
  const char *hint;    /* what to write instead, or NULL */
  const char *fix; /* the hint as a change of the source, or NULL: bytes fix_start .. fix_end become
                      this text */
  uint32_t fix_start, fix_end;
  hia_edit edit; /* the kind of the fix */
  HIA_VEC(hia_diag_note) notes;
} hia_diag;

typedef struct hia_source {
  const char *name; /* the name that the user gave; "" if it has none */
  const char *text; /* len bytes, NUL behind them */
  size_t len;
  /* An expression behind the program, on lines of its own: its first byte, and its line; 0: none.
   * Positions in the frontend count on through both; positions that leave the frontend belong to
   * one of two files (hiaF_place). */
  uint32_t expr_at, expr_line;
} hia_source;

/* A line as the user sees it. */
typedef struct hia_place {
  const char *file, *text; /* len bytes: all of the file */
  size_t len;
  uint32_t line;
} hia_place;
hia_place hiaF_place(const hia_source *source, uint32_t line);
/* The position of a byte; `at` may be the end of the text. */
void hiaF_line_col(const hia_source *source, uint32_t at, uint32_t *line, uint32_t *col);

typedef struct hia_diags {
  hia_comp *comp;
  const hia_source *source;
  HIA_VEC(hia_diag) list; /* in order of position, at most HIA_MAX_DIAGS */
  uint32_t suppressed;    /* errors beyond that, which are only counted */
} hia_diags;
#define HIA_MAX_DIAGS 50

void hiaF_diags_init(hia_diags *diags, hia_comp *comp, const hia_source *source);
/* Adds a copy of a diagnostic, with its positions; its strings are not copied. */
void hiaF_diag_add(hia_diags *diags, const hia_diag *diag);
/* file:line:col: error[E0101]: message, the source line, a caret line, hint and notes. Bytes that
 * are not printable are shown escaped; long lines are cut around the caret. */
void hiaF_diag_print(const hia_diags *diags, uint32_t i, hia_text *out);

/* explain.c: the explanation of a code or of the word of a failure; NULL for any other text.
 * Static. The first line is a heading, "E0301: mixed types". */
const char *hiaF_explain(const char *code);
const char *hiaF_explained_code(size_t i); /* the i-th; NULL behind the last */

/* ---- a checked program ---- */

typedef struct hia_program hia_program;
typedef uint32_t hia_decl_id, hia_inst_id;

/* Parses and checks: names everywhere, types of every function that declares all its parameter
 * types and of every generic function that these call. Mistakes go to `diags`; the program can then
 * only be printed, by hiaF_print_ast. Returns NULL if the text does not parse. `source` must
 * outlive the program. */
hia_program *hiaF_load(hia_comp *comp, hia_types *types, const hia_source *source,
                       hia_diags *diags);

uint64_t hiaF_parse_ns(const hia_program *p); /* the part of the loading time */
uint32_t hiaF_n_fns(const hia_program *p);    /* declared functions are 0 .. n - 1 */
hia_decl_id hiaF_find(const hia_program *p, const char *name, size_t len);    /* or HIA_NONE */
const char *hiaF_similar(const hia_program *p, const char *name, size_t len); /* or NULL */
const char *hiaF_name(const hia_program *p, hia_decl_id fn);
uint32_t hiaF_arity(const hia_program *p, hia_decl_id fn);
const char *hiaF_param_name(const hia_program *p, hia_decl_id fn, uint32_t i);
hia_type hiaF_param_type(const hia_program *p, hia_decl_id fn, uint32_t i); /* HIA_NONE: generic */
/* True if a call of the function may call an impure function of the host. */
bool hiaF_is_impure(hia_program *p, hia_decl_id fn);

/* The instance of a function at argument types; n is its arity, and a declared type must be passed
 * exactly. Adds diagnostics and returns HIA_NONE if its body does not check at these types.
 * Instances stay: the same types return the same instance. */
hia_inst_id hiaF_instantiate(hia_program *p, hia_decl_id fn, const hia_type *args,
                             hia_diags *diags);
hia_type hiaF_result(const hia_program *p, hia_inst_id inst);

/* ---- program.c: functions of the host ----
 * The functions that a program declares `extern` are looked up once it has been loaded. */

typedef struct hia_host_info {
  const char *declaration; /* as hiaG_extern_print writes it; NULL: unknown */
  bool raises;             /* calls of it may fail */
} hia_host_info;
typedef struct hia_host_finder {
  void *user;
  bool (*find)(void *user, const char *name, hia_host_info *info);
  const char *(*name)(void *user, size_t i); /* the i-th, to suggest it; NULL behind the last */
} hia_host_finder;
/* Adds a diagnostic for each extern that the host lacks or declares otherwise. */
void hiaF_link(hia_program *p, const hia_host_finder *finder, hia_diags *diags);
/* The host function's name that differs least from this one, or NULL. */
const char *hiaF_similar_host(const hia_host_finder *finder, const char *name);
uint32_t hiaF_n_externs(const hia_program *p);
/* The params of a program without errors, in the order of the source: *n of them. */
const hia_param_spec *hiaF_param_specs(const hia_program *p, uint32_t *n);
/* Fills in name, is_impure and the signature of the i-th extern of a program without errors, in the
 * order of the source. Returns the names of its parameters. */
const char **hiaF_extern(const hia_program *p, uint32_t i, hia_extern *e);
/* The declaration of a program that is one extern and nothing else; else NULL. */
const char *hiaF_extern_text(const hia_program *p, const char **name);

/* elab.c: the graph (state HIA_FUNCTIONS) of these instances and all that they call, in a
 * compilation `comp` with types of its own: the graph does not refer to the program. Root k is the
 * function roots_out[k] of the graph, marked is_root. `counted`: a COUNT node (imm 0) before every
 * call, and one (imm 1) at the start of every loop round. May throw at `comp` and at the program's
 * compilation.
 */
hia_graph *hiaF_build(hia_program *p, hia_comp *comp, hia_types *types, const hia_inst_id *roots,
                      uint32_t n_roots, bool counted, hia_fn_id *roots_out);

/* value.c: what the command line and the API take for a value and is no literal, which the runtime
 * reads (runtime/value/value.h). Reads a constant expression of `type`,
 * or of whatever type it has if `type` is HIA_NONE. *type_out becomes its type, *words its scalars
 * in canonical form (in the arena). Adds diagnostics and returns false if the text is no such
 * expression. */
bool hiaF_parse_value(hia_comp *comp, hia_types *types, const hia_source *source, hia_type type,
                      hia_type *type_out, hia_word **words, hia_diags *diags);

/* print_ast.c: the syntax tree, one node a line, indented, with positions and, after a check,
 * types. */
void hiaF_print_ast(const hia_program *p, hia_text *out);
void hiaF_dot_ast(const hia_program *p, hia_text *out); /* the tree for Graphviz */

/* ---- frontend/build/: programs made by calls, for the builder of the public header ----
 *
 * Ids are those of the public header: the tag, and index + 1. A mistake of the host throws
 * HIA_ARGUMENT with a message; after it the draft can only be printed. */

/* The nesting of items with blocks. Each takes two of the HIA_MAX_NESTING levels of the text, and
 * the innermost values and patterns take some more. The public header states the same numbers. */
#define HIA_DRAFT_MAX_NESTING       900u
#define HIA_DRAFT_MAX_PATTERN_DEPTH 100u
/* Parameters of a function. The variables of a loop are limited by the parts of a type. */
#define HIA_DRAFT_MAX_PARAMS 1000u

typedef struct hia_draft hia_draft;
hia_draft *hiaF_draft_new(hia_comp *comp, uint32_t tag); /* lives as long as comp */
uint64_t hiaF_draft_tuple_type(hia_draft *d, const uint64_t *parts, size_t n);
uint64_t hiaF_draft_array_type(hia_draft *d, uint64_t element);
uint64_t hiaF_draft_tensor_type(hia_draft *d, unsigned dtype, uint32_t rank);
uint64_t hiaF_draft_sized_type(hia_draft *d, unsigned dtype, const int64_t *sizes, uint32_t rank);
uint64_t hiaF_draft_read_type(hia_draft *d, const char *text);
uint64_t hiaF_draft_type_of(hia_draft *d, uint64_t value);
uint64_t hiaF_draft_declare_type(hia_draft *d, const char *definition);
typedef struct hia_draft_new_field {
  const char *name;
  uint64_t type;
} hia_draft_new_field;
uint64_t hiaF_draft_add_ctor(hia_draft *d, uint64_t type, const char *name,
                             const hia_draft_new_field *fields, size_t n);
uint64_t hiaF_draft_find_ctor(hia_draft *d, const char *name);
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
uint64_t hiaF_draft_op_along(hia_draft *d, unsigned op, const uint64_t *ins, size_t n,
                             uint32_t axis);
uint64_t hiaF_draft_reshape(hia_draft *d, uint64_t x, const uint64_t *sizes, size_t n);
uint64_t hiaF_draft_full(hia_draft *d, uint64_t value, const uint64_t *sizes, size_t n);
uint64_t hiaF_draft_iota(hia_draft *d, uint64_t size);
uint64_t hiaF_draft_one_hot(hia_draft *d, unsigned dtype, uint64_t index, uint64_t size);
uint64_t hiaF_draft_expect(hia_draft *d, uint64_t x, const uint64_t *sizes, size_t n); /* 0: any */
uint64_t hiaF_draft_declare_param(hia_draft *d, const char *definition);
uint64_t hiaF_draft_convert(hia_draft *d, unsigned dtype, uint64_t value);
uint64_t hiaF_draft_call(hia_draft *d, uint64_t fn, const uint64_t *args, size_t n);
uint64_t hiaF_draft_grad(hia_draft *d, bool has_value, uint64_t fn, const uint64_t *wrt,
                         size_t n_wrt, const uint64_t *args, size_t n);
uint64_t hiaF_draft_fail(hia_draft *d, uint64_t code, uint64_t type);
uint64_t hiaF_draft_tuple(hia_draft *d, const uint64_t *parts, size_t n);
uint64_t hiaF_draft_part(hia_draft *d, uint64_t tuple, size_t i);
uint64_t hiaF_draft_data(hia_draft *d, uint64_t ctor, const uint64_t *fields, size_t n);
uint64_t hiaF_draft_array(hia_draft *d, const uint64_t *elements, size_t n);
uint64_t hiaF_draft_empty_array(hia_draft *d, uint64_t type);
uint64_t hiaF_draft_len(hia_draft *d, uint64_t array);
uint64_t hiaF_draft_at(hia_draft *d, uint64_t array, uint64_t index);
uint64_t hiaF_draft_slice(hia_draft *d, uint64_t array, uint64_t from, uint64_t end);
uint64_t hiaF_draft_set(hia_draft *d, uint64_t array, uint64_t index, uint64_t element);
uint64_t hiaF_draft_concat(hia_draft *d, const uint64_t *arrays, size_t n);
uint64_t hiaF_draft_name(hia_draft *d, uint64_t value, const char *name);
void hiaF_draft_if(hia_draft *d, uint64_t condition);
void hiaF_draft_else(hia_draft *d, uint64_t value);
uint64_t hiaF_draft_end_if(hia_draft *d, uint64_t value);
void hiaF_draft_loop(hia_draft *d, const uint64_t *init, size_t n, uint64_t *variables);
void hiaF_draft_while(hia_draft *d, uint64_t condition);
uint64_t hiaF_draft_end_loop(hia_draft *d, const uint64_t *next, size_t n);

void hiaF_draft_match(hia_draft *d, uint64_t subject);
void hiaF_draft_arm(hia_draft *d, const char *pattern, uint64_t *bound, size_t n);
void hiaF_draft_arm_ctor(hia_draft *d, uint64_t ctor, uint64_t *bound, size_t n);
void hiaF_draft_arm_pattern(hia_draft *d, uint64_t pattern, uint64_t *bound, size_t n);
void hiaF_draft_end_arm(hia_draft *d, uint64_t value);
uint64_t hiaF_draft_end_match(hia_draft *d);
uint64_t hiaF_draft_pattern_any(hia_draft *d);
uint64_t hiaF_draft_pattern_bind(hia_draft *d, const char *name);
uint64_t hiaF_draft_pattern_const(hia_draft *d, uint64_t constant);
uint64_t hiaF_draft_pattern_ctor(hia_draft *d, uint64_t ctor, const uint64_t *fields, size_t n);
uint64_t hiaF_draft_for_each(hia_draft *d, uint64_t array);
uint64_t hiaF_draft_for_range(hia_draft *d, uint64_t from, uint64_t end);
uint64_t hiaF_draft_end_for(hia_draft *d, uint64_t element);

/* What keeps the draft from being a whole program, and the name of the function or type. */
typedef enum hia_draft_lack {
  HIA_DRAFT_LACKS_NOTHING,
  HIA_DRAFT_LACKS_BODY,
  HIA_DRAFT_LACKS_END, /* the end of the body */
  HIA_DRAFT_LACKS_CTORS,
} hia_draft_lack;
hia_draft_lack hiaF_draft_unfinished(const hia_draft *d, const char **name);

/* build/print.c: prints the program in the language. Temporary memory is that of out->arena; names
 * are added to the draft. */
void hiaF_draft_print(hia_draft *d, hia_text *out);

#endif
