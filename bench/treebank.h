/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The treebank that benchmarks read: train, dev and test (.txt or .ptb) of the folder
 * HIATON_SST_DIR; if that is not set one of the same size that is made here, always the same. */
#ifndef HIA_TREEBANK_H
#define HIA_TREEBANK_H

#include <hiaton/hiaton.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct bench_treebank {
  char path[300]; /* the file, in the folder that the caller named */
  size_t bytes;
  bool is_generated;
} bench_treebank;

/* Writes the file. With `--quick` it has a few sentences. An error ends the benchmark. */
bench_treebank bench_treebank_write(const char *folder);
void bench_treebank_remove(const bench_treebank *treebank);

/* Reads the file into a value of this type, [Tree], with a vocabulary of its own: *n_words words.
 * *ms: from opening the file to the last tree. */
hia_value *bench_treebank_read(const bench_treebank *treebank, hia_engine *engine,
                               const hia_type_info *type, double *ms, size_t *n_words);

/* Reads it and lets the C program `peer` read it, in turn; prints both as MB/s, and the ratio of
 * their times. */
void bench_treebank_measure(const bench_treebank *treebank, const char *peer, int runs);

#endif
