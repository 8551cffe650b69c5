/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* What hia_function_explain tells of a function's versions: facts, copied at one moment, and their
 * two forms, text and JSON. All of it is in one compilation, to which memory errors are thrown.
 *
 *   explain.c         the public function
 *   explain_facts.c   facts, copied
 *   explain_words.c   facts as sentences, which both forms have
 *   explain_text.c, explain_json.c   the forms */
#ifndef HIA_EXPLAIN_H
#define HIA_EXPLAIN_H

#include "jit/versions/speculate.h"

/* What is assumed of a word of the arguments, or what the looks have shown of it. */
typedef struct hia_told_word {
  hia_assumption_kind kind; /* of a version that is being made: what is asked */
  hia_assumption_kind asked;
  hia_evidence evidence;
  const char *least, *most; /* of a look: of numbers and sizes; NULL: they are not known */
  const char *what;         /* the number, the object, "f32[750, 300]"; NULL: nothing is known */
} hia_told_word;

/* What is assumed inside. */
typedef struct hia_told_fact {
  hia_point_place place;
  const char *where, *what; /* "the condition at 2:30 in `ev`", "is always true"; "true" */
  const char *is;
  uint64_t n, n_failed;
} hia_told_fact;

typedef struct hia_told_version {
  uint32_t number;
  hia_special_outcome outcome;
  bool is_narrow;     /* nothing is batched */
  const char *reason; /* FAILED: why */
  uint64_t made_after, compile_ns, n_used;
  hia_timed timed;
  uint64_t n_unfit;
  hia_misfit_run misfit;
  const char *misfit_what; /* what its word was; NULL: no misfit was looked at */
  hia_told_word *words;
  hia_told_fact *facts; /* those that are used */
  uint32_t n_facts;
  bool is_retired;
} hia_told_version;

typedef struct hia_told {
  hia_comp comp; /* of all that follows */
  const hia_function *function;
  const hia_type_info **types; /* by word */
  const char **names;          /* "p", or "p.0" for a part of a tuple */
  uint64_t n_runs, n_general;
  uint32_t n_looks, steady; /* steady: looks that are needed */
  hia_timed observed;
  hia_timed native, interpreted;
  hia_hindrance hindrance;
  uint64_t runs_ns, compile_ns;
  hia_told_word *words; /* what the looks have shown; NULL: there were none */
  hia_told_version *versions;
  uint32_t n_versions;
} hia_told;

/* ---- explain_facts.c ---- */

/* Fills in all but `comp` and `function`. The caller holds the lock of the speculation, which may
 * be NULL. Throws. */
void hiaJ_told_fill(hia_told *told, const hia_speculation *s);

/* ---- explain_words.c: sentences without a subject or a point; they throw ---- */

/* "is this object, Add(X, X): seen 3 times". */
const char *hiaJ_told_assumption(hia_told *told, const hia_told_version *version,
                                 const hia_told_word *word);
/* "was 7 in the last 3 looks". */
const char *hiaJ_told_look(hia_told *told, const hia_told_word *word);
/* Why there is no further version: "no argument is steady". */
const char *hiaJ_told_hindrance(hia_told *told);
/* How many times as fast as the general version one is; 0: it is not known. *than: as its runs in
 * "native" code, or "interpreted" ones; NULL: it is not known. */
double hiaJ_told_gain(const hia_told *told, const hia_told_version *version, const char **than);

static inline double hiaJ_mean(hia_timed t) { return t.n ? (double)t.ns / (double)t.n : 0; }

/* ---- explain_text.c, explain_json.c; they throw ---- */

void hiaJ_told_text(hia_told *told, hia_text *out);
void hiaJ_told_json(hia_told *told, hia_text *out);

#endif
