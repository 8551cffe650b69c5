/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The cache of native code: where it is, and the command hiaton cache. */
#include "tools/tool.h"
#include <hiaton/cache.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* --cache, else HIATON_CACHE, else the user's folder of caches; NULL: no cache. As the XDG Base
 * Directory Specification has it, a path that is not absolute is ignored. */
const char *tool_cache_folder(const tool_options *options) {
  static char path[4096];
  const char *given = options->cache ? options->cache : getenv("HIATON_CACHE");
  if (given && *given) return strcmp(given, "off") == 0 ? NULL : given;
  const char *folder = getenv("XDG_CACHE_HOME"), *rest = "/hiaton";
  if (!folder || folder[0] != '/') {
    folder = getenv("HOME");
    rest = "/.cache/hiaton";
  }
  if (!folder || folder[0] != '/') return NULL;
  int len = snprintf(path, sizeof path, "%s%s", folder, rest);
  return len < 0 || (size_t)len >= sizeof path ? NULL : path;
}

typedef struct counts {
  bool lists;
  uint64_t n, bytes, damaged;
} counts;

static void count(void *user, const hia_cache_file *file) {
  counts *c = user;
  c->n++;
  c->bytes += file->bytes;
  c->damaged += file->is_checked && !file->is_sound;
  if (!c->lists) return;
  char day[32] = "";
  time_t used = (time_t)file->used_at;
  struct tm local;
  if (localtime_r(&used, &local)) strftime(day, sizeof day, "%Y-%m-%d %H:%M", &local);
  printf("%s %10" PRIu64 "  %s%s\n", file->name, file->bytes, day,
         file->is_checked && !file->is_sound ? "  damaged" : "");
}

static void print_sum(const counts *c, const char *folder) {
  printf("%" PRIu64 " file%s, %.1f MB in %s\n", c->n, c->n == 1 ? "" : "s", (double)c->bytes / 1e6,
         folder);
}

int tool_cache(const tool_options *options) {
  const char *folder = tool_cache_folder(options);
  const char *act = options->n_args ? options->args[0] : "size";
  hia_error *error = NULL;
  counts c = {.lists = strcmp(act, "list") == 0 || strcmp(act, "verify") == 0};
  bool verifies = strcmp(act, "verify") == 0;
  if (!folder) {
    fputs("there is no cache: it is off, or the user has no folder\n", stderr);
    return EXIT_PROGRAM;
  }
  if (strcmp(act, "clear") == 0) {
    hia_status status = hia_cache_clear(folder, false, &error);
    return status == HIA_OK ? EXIT_FINE : tool_fail(error, status);
  }
  hia_status status = hia_cache_each(folder, verifies, count, &c, &error);
  if (status != HIA_OK) return tool_fail(error, status);
  print_sum(&c, folder);
  if (!c.damaged) return EXIT_FINE;
  status = hia_cache_clear(folder, true, &error);
  if (status != HIA_OK) return tool_fail(error, status);
  printf("%" PRIu64 " damaged, which were removed\n", c.damaged);
  return EXIT_FINE;
}
