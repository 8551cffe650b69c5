/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Calls a function that was compiled ahead of time:  ./fib 30 */
#include "fib.h"
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: %s N\n", argv[0]);
    return 2;
  }
  hia_context *context; /* one for each thread, for any number of calls */
  if (hia_context_new(NULL, &context) != HIA_OK) return 1;
  int32_t n = (int32_t)strtol(argv[1], NULL, 10), result;
  hia_status status = fib_fib(context, n, &result);
  if (status == HIA_OK)
    printf("fib(%d) = %d\n", n, result);
  else
    fputs(hia_error_text(hia_context_error(context)), stderr);
  hia_context_free(context);
  return status == HIA_OK ? 0 : 1;
}
