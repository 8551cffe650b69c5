/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* libFuzzer target: any bytes are a program or are rejected, with errors that have positions. A
 * program that checks must also compile: its tree and its graphs are dumped. */
#include <hiaton/hiaton.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool discard(void *user, const char *bytes, size_t len) {
  (void)user, (void)bytes, (void)len;
  return true;
}

static void must(bool holds, const char *what, const hia_error *error) {
  if (holds) return;
  fprintf(stderr, "%s: %s\n", what, hia_error_text(error));
  abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.kind = HIA_ENGINE_INTERP;
  options.flags |= HIA_FLAG_VERIFY;
  hia_engine *engine;
  hia_module *module;
  hia_error *error;
  must(hia_engine_new(&options, &engine, &error) == HIA_OK, "engine", error);
  hia_status status =
      hia_module_load_text(engine, "fuzz.hia", (const char *)data, size, &module, &error);
  must(status == HIA_OK || status == HIA_REJECTED, "load", error);
  if (status == HIA_REJECTED) {
    must(hia_error_count(error) > 0 && hia_error_line(error, 0) > 0, "no position", error);
  } else {
    static const struct {
      hia_stage stage;
      hia_format format;
    } dumps[] = {{HIA_STAGE_AST, HIA_FORMAT_TEXT},
                 {HIA_STAGE_AST, HIA_FORMAT_DOT},
                 {HIA_STAGE_GRAPH, HIA_FORMAT_DOT},
                 {HIA_STAGE_STATIC, HIA_FORMAT_TEXT},
                 {HIA_STAGE_STATIC, HIA_FORMAT_DOT}};
    for (size_t i = 0; i < sizeof dumps / sizeof *dumps; i++) {
      /* HIA_ARGUMENT: no function has all its types. Any other status is a bug. */
      hia_dump_options dump = HIA_DUMP_OPTIONS_INIT;
      dump.stage = dumps[i].stage;
      dump.format = dumps[i].format;
      hia_error_free(error);
      status = hia_module_dump(module, NULL, 0, &dump, discard, NULL, &error);
      must(status == HIA_OK || status == HIA_ARGUMENT, "dump", error);
    }
    hia_module_free(module);
  }
  hia_error_free(error);
  hia_engine_free(engine);
  return 0;
}
