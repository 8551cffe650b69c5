/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Programs on data, evaluated with the counts that the passes add. */
#ifndef HIA_TEST_COUNTS_H
#define HIA_TEST_COUNTS_H

#include "graph/pipeline/pass.h"
#include "tests/unit/helpers/eval.h"
#include "tests/unit/helpers/sources.h"

typedef struct counts_built {
  hia_comp comp;
  hia_types types;
  hia_graph *g;
  hia_fn_id root;
} counts_built;

/* The graph of a function after the passes; the caller frees b->comp. */
void counts_build(counts_built *b, compiled *c, hia_inst_id inst, hia_pass_use use,
                  const char *disabled, const char *stop_after);
/* Its text form. */
const char *counts_graph(counts_built *b);
/* Evaluates main(n) of a version of the program. */
eval_outcome counts_run(compiled *c, hia_inst_id inst, hia_pass_use use, const char *disabled,
                        const char *stop_after, eval_steal steal, int32_t n);
/* Fails the test unless main(n) gives the same before the passes and after them, in several ways,
 * and leaves no object. Returns false if the program does not end soon enough to be compared. */
bool counts_check(const char *text, int32_t n);

#endif
