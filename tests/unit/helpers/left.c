/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/helpers/left.h"
#include "runtime/base/left.h"
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/hia_left_XXXXXX";

void left_begin(void) {
  if (!mkdtemp(folder)) abort();
  hiaR_left_from(folder);
}

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *at) {
  (void)info, (void)kind, (void)at;
  return remove(path);
}

void left_end(void) {
  hiaR_left_from(NULL);
  (void)nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

void left_file(const char *path, const char *text) {
  char whole[512];
  snprintf(whole, sizeof whole, "%s%s", folder, path);
  for (char *at = whole + strlen(folder) + 1; (at = strchr(at, '/')) != NULL; at++) {
    *at = 0;
    (void)mkdir(whole, 0700);
    *at = '/';
  }
  FILE *file = fopen(whole, "w");
  if (!file || fputs(text, file) < 0 || fclose(file)) abort();
  hiaR_left_from(folder); /* what was read before no longer holds */
}

void left_available(size_t bytes) {
  char text[128];
  snprintf(text, sizeof text,
           "MemTotal:       99999999 kB\nMemFree:               1 kB\n"
           "MemAvailable: %zu kB\n",
           bytes >> 10);
  left_file("/proc/meminfo", text);
}
