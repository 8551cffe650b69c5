/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The runtime alone: a context, and the words for a status. */
#include <hiaton/runtime.h>

int main(void) {
  hia_context_options options = HIA_CONTEXT_OPTIONS_INIT;
  hia_context *context;
  options.max_depth = 1 << 20;
  if (hia_context_new(&options, &context) != HIA_OK) return 1;
  hia_context_set_timeout(context, 1000);
  hia_context_cancel(context);
  int has_error = hia_context_error(context) != NULL;
  hia_context_free(context);
  return has_error || hia_status_word(HIA_OK)[0] == 0;
}
