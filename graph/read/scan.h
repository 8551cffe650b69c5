/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Private to this folder: the words of the text form of graphs.
 *
 * All functions skip white space and comments first, unless they say otherwise. On a mistake they
 * fill in *error and jump to `stop`. */
#ifndef HIA_GRAPH_SCAN_H
#define HIA_GRAPH_SCAN_H

#include "graph/ir/graph.h"
#include "graph/read/read.h"

typedef struct hia_position {
  uint32_t line, col;
} hia_position;

/* A data type that was named before its definition. */
typedef struct hia_mention {
  hia_type type;
  hia_position where;
} hia_mention;

typedef struct hia_scanner {
  hia_arena *arena, *scratch; /* for the result; for the time of reading */
  hia_types *types;
  const char *text, *at, *end, *line_start;
  uint32_t line;
  hia_read_error *error;
  jmp_buf stop;

  hia_u32vec parts; /* stack: parts of tuples, and parameters of a signature */
  hia_u32vec types_of_words;
  HIA_VEC(hia_mention) mentions;
  bool has_all_types; /* the definitions have been read */
} hia_scanner;

hia_position hiaG_scan_here(const hia_scanner *s); /* skips nothing */
_Noreturn void hiaG_scan_fail(hia_scanner *s, hia_position where, const char *fmt, ...)
    HIA_PRINTF(3, 4);

/* ---- characters and words ---- */

int hiaG_scan_peek(const hia_scanner *s); /* the next byte, or -1; skips nothing */
void hiaG_scan_blanks(hia_scanner *s);    /* skips white space on the line, and no more */
void hiaG_scan_skip(hia_scanner *s);      /* skips white space, lines and comments */
bool hiaG_scan_accept(hia_scanner *s, char c);
void hiaG_scan_need(hia_scanner *s, char c);
/* Returns the length of the word here: letters, digits, and dots within. Skips nothing. */
size_t hiaG_scan_word_len(const hia_scanner *s);
bool hiaG_scan_word(hia_scanner *s, const char *word);
void hiaG_scan_need_word(hia_scanner *s, const char *word);

/* ---- numbers and names ---- */

uint32_t hiaG_scan_u32(hia_scanner *s);
uint32_t hiaG_scan_index(hia_scanner *s);   /* the number that is NONE is refused */
char *hiaG_scan_string(hia_scanner *s);     /* between double quotes */
const char *hiaG_scan_name(hia_scanner *s); /* a name of the language, or a string */

/* ---- types and constants ---- */

/* Reads a type of the language. Until hiaG_scan_types_end it may name data types that are defined
 * later. */
hia_type hiaG_scan_type(hia_scanner *s);
void hiaG_scan_types_end(hia_scanner *s);
/* Reads the type of one word, which is no tuple. */
hia_type hiaG_scan_word_type(hia_scanner *s);
/* Reads `(i32, Tree)`, a list of such types, and returns their number; *out is in the arena. */
uint32_t hiaG_scan_word_types(hia_scanner *s, hia_type **out);
/* Reads `(TYPE, ...) -> TYPE`, and returns the result; s->parts then has the parameters and nothing
 * else. */
hia_type hiaG_scan_signature(hia_scanner *s);
/* The number of a constructor of a data type; its name was read at `where`. */
uint32_t hiaG_find_ctor(hia_scanner *s, hia_type data, const char *name, hia_position where);
uint32_t hiaG_scan_ctor(hia_scanner *s, hia_type data); /* reads the name */
/* A constant as print.c writes it: floats are hexadecimal, so that they are exact; of a data type a
 * constructor. */
hia_word hiaG_scan_constant(hia_scanner *s, hia_type t);

#endif
