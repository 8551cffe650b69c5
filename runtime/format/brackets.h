/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Reading trees in brackets piece by piece: what hiaR_brackets_read and streams have in common. */
#ifndef HIA_RT_VALUE_BRACKETS_H
#define HIA_RT_VALUE_BRACKETS_H

#include "runtime/heap/array.h"
#include "runtime/value/scan.h"

enum { HIA_FEW_TREES = 4 };

typedef struct hia_bracket_reader {
  const hia_bracket_reading *reading;
  hia_local_heap *local; /* NULL: trees are made in reading->objects; else in the heap of a run */
  hia_scan scan;
  hia_block stack, done; /* open brackets; hia_word: the trees, n_done of them */
  size_t n_open, n_done;
  uint32_t n_read; /* brackets, modulo 2^32: in a run it is asked now and then whether to end */
  /* Made by hiaR_brackets_begin, and constant: several readers, on any threads, may have it. */
  const hia_type_table *types;
  hia_type tree, array; /* T; [T], or HIA_NONE if a tree is read */
  hia_block fittings;   /* by constructor */
  uint32_t unknown;     /* the index of <unk> */
  /* The constructor of a bracket with fewer than HIA_FEW_TREES trees, by
   * [has a word][has a label]. */
  uint32_t choice[2][2][HIA_FEW_TREES];
} hia_bracket_reader;

/* Prepares to read trees of a data type T: `type` is T or [T]. The scan is at the text. */
hia_status hiaR_brackets_begin(hia_bracket_reader *reader, const hia_bracket_reading *reading,
                               hia_type type);
/* The end of the line in which a comment is, or of the text. */
static inline const char *hiaR_brackets_skip_comment(const char *s, const char *end) {
  const char *line = memchr(s, '\n', (size_t)(end - s));
  return line ? line : end;
}
/* Reads trees to the end of the scan's text. HIA_CANCELLED: the run whose heap it is must end. */
hia_status hiaR_brackets_trees(hia_bracket_reader *reader);
/* Stores trees as the elements of an array, which has the layout. */
void hiaR_brackets_store(const hia_bracket_reader *reader, char *to, const hia_word *trees,
                         uint64_t n, const hia_layout *layout);
/* Frees what this reader does not share. */
void hiaR_brackets_end(hia_bracket_reader *reader);
/* Frees what is shared. */
void hiaR_brackets_free(hia_bracket_reader *reader);

#endif
