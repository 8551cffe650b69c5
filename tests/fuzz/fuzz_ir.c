/* libFuzzer target: any bytes are a graph or are refused. A graph comes back as it was printed, in
 * every state; the passes take a verified graph and leave one. */
#include "graph/graph.h"
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds, const char *what, const char *text) {
  if (holds) return;
  fprintf(stderr, "%s: %s\n", what, text ? text : "");
  abort();
}

static void round_trip(hia_comp *comp, hia_types *types, const hia_graph *g) {
  hia_text first, second;
  hiaR_text_init(&first, &comp->arena);
  hiaR_text_init(&second, &comp->arena);
  hiaG_print(g, &first);
  hia_read_error error;
  hia_graph *again = hiaG_read(comp, types, first.data, first.len, &error);
  must(again != NULL, "does not read back", error.message);
  hiaG_print(again, &second);
  must(first.len == second.len && memcmp(first.data, second.data, first.len) == 0,
       "prints differently the second time", second.data);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  hia_comp comp;
  hia_types types;
  hiaR_comp_init(&comp, &hiaR_malloc);
  hiaG_types_init(&types, &comp);
  if (HIA_TRY(&comp)) {
    hia_read_error error;
    hia_graph *g = hiaG_read(&comp, &types, (const char *)data, size, &error);
    must((g == NULL) == (error.message != NULL), "error", error.message);
    if (g) {
      hia_text dot;
      hiaR_text_init(&dot, &comp.arena);
      hiaG_dot(g, &dot);
      round_trip(&comp, &types, g);
      /* The passes for the interpreter, and those for native code on several threads. */
      static const hia_pass_use uses[] = {HIA_USE_ALL, HIA_USE_PARALLEL};
      for (size_t i = 0; i < HIA_LEN(uses) && g && g->state == HIA_FUNCTIONS; i++) {
        hia_pass_options options = {.verify = true, .use = uses[i]};
        hiaG_run_passes(g, &options);
        round_trip(&comp, &types, g);
        g = hiaG_read(&comp, &types, (const char *)data, size, &error);
      }
    }
  }
  /* A graph that is refused is no throw: only a lack of memory is. */
  must(comp.status == HIA_OK || comp.status == HIA_MEMORY, "threw", comp.message);
  hiaR_comp_free(&comp);
  return 0;
}
