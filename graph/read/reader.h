/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Private to this folder: the state of a reader, and what its files give each other. scan.h has the
 * words.
 *
 *   read.c       the text as a whole, and what is not a function
 *   function.c   functions
 *   label.c      numbers of the text
 *   scan.c       words, numbers, types, constants */
#ifndef HIA_READER_H
#define HIA_READER_H

#include "graph/read/scan.h"

/* What a number of the text refers to. */
typedef struct hia_label {
  uint32_t epoch; /* function (counted from 1) that it belongs to */
  uint32_t to;    /* value or region */
} hia_label;

typedef HIA_VEC(hia_label) hia_label_table;

typedef enum hia_fix_kind {
  FIX_VALUE,
  FIX_REGION,
  FIX_CALLEE,       /* of a node */
  FIX_CALLEE_SITE,  /* of a site */
  FIX_GRADIENT,     /* the function of a gradient */
  FIX_SLOW_PATH,    /* of a function */
  FIX_OWNING,       /* of a function */
  FIX_OWN_GRADIENT, /* of a function */
  FIX_OF_EXTERN,    /* the gradient of an extern */
  FIX_LOC_NODE,     /* from here on: locations */
  FIX_LOC_FN,
  FIX_LOC_SITE,
} hia_fix_kind;

/* A use before its definition. Those of values and regions are resolved at the end of the function,
 * those of functions and locations at the end of the file. */
typedef struct hia_fix {
  hia_fix_kind kind;
  hia_fn_id fn;
  uint32_t at;     /* edge, node, site, gradient or extern to correct */
  uint32_t number; /* of the text; of callees: index into hia_reader.callees */
  hia_position where;
} hia_fix;

typedef struct hia_open_region {
  hia_region_id region;
  hia_node_id node; /* function state: the IF or LOOP */
} hia_open_region;

typedef struct hia_reader {
  hia_graph *g;
  hia_scanner *s;

  hia_fn *fn;
  hia_fn_id fn_id;
  uint32_t epoch;
  hia_label_table values, regions;
  HIA_VEC(hia_fix) fn_fixes, file_fixes;
  HIA_VEC(const char *) callees;
  HIA_VEC(hia_loc_id) locs; /* the table of locations */
  hia_index fn_names, extern_names;
  hia_u32vec data;  /* types that the text has defined */
  const char *ctor; /* of the FIELD that is being read, and where its name stands */
  hia_position ctor_position;
  HIA_VEC(hia_open_region) stack;
  hia_u32vec ins;
  HIA_VEC(hia_type) outs;
  hia_u32vec out_numbers;
  HIA_VEC(hia_position) node_positions; /* of all functions, one after the other */
  hia_u32vec first_position;            /* by function */
} hia_reader;

#define fail(s, ...) hiaG_scan_fail((s), hiaG_scan_here(s), __VA_ARGS__)

/* ---- label.c ---- */

/* Defines a number of the text, once. */
void hiaG_read_define(hia_reader *r, hia_label_table *table, uint32_t n, uint32_t to,
                      hia_position where, const char *sigil);
/* Returns what a number refers to; NONE: it is not defined yet. */
uint32_t hiaG_read_find(const hia_reader *r, const hia_label_table *table, uint32_t n);
/* Reads a value, which is defined already. */
hia_value_id hiaG_read_value(hia_reader *r);
/* Reads the number of a region. */
uint32_t hiaG_read_region_label(hia_reader *r, hia_position *where);
/* Notes a use of something that may not be defined yet. */
void hiaG_read_fix_later(hia_reader *r, bool at_end_of_file, hia_fix_kind kind, uint32_t at,
                         uint32_t n, hia_position where);
/* Reads a location, if there is one. A position of this function is resolved at once; any other is
 * NONE until the end of the file. */
hia_loc_id hiaG_read_location(hia_reader *r, hia_fix_kind kind, uint32_t at);

/* ---- function.c ---- */

/* Reads a function, whose header begins behind the word `fn`. */
void hiaG_read_function(hia_reader *r);
/* Reads the name of a function, which may come later. */
void hiaG_read_callee(hia_reader *r, hia_fix_kind kind, uint32_t at);
uint32_t hiaG_read_find_param(const hia_reader *r, const char *param_name);
uint32_t hiaG_read_find_extern(const hia_reader *r, const char *extern_name);

#endif
