/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The same program thrice: with params of seed 0, of seed 7, and of a file made with seed 7. */
#include "of_file.h"
#include "of_seed.h"
#include "usual.h"

int main(void) {
  hia_context *context;
  double usual = 0, of_seed = 0, of_file = 0;
  if (hia_context_new(NULL, &context) != HIA_OK) return 1;
  if (usual_total(context, &usual) != HIA_OK || of_seed_total(context, &of_seed) != HIA_OK ||
      of_file_total(context, &of_file) != HIA_OK)
    return 2;
  hia_context_free(context);
  return of_seed == of_file && usual != of_seed ? 0 : 3;
}
