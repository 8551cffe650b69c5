/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Files that appear whole or not at all. The runtime and the command line tool, which links only to
 * the public names of the libraries, both contain write_file.c. */
#ifndef HIA_RT_VALUE_OUTPUT_H
#define HIA_RT_VALUE_OUTPUT_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

/* A device or a pipe is written directly. */
typedef struct hia_file_output {
  int file;       /* -1: not open */
  int wrong;      /* the errno of the first failure */
  bool is_beside; /* it is to take the place when it is complete */
  bool is_named;  /* `temporary` exists: if the process ends, it remains */
  size_t n;       /* of `bytes` */
  char bytes[4096];
  char target[PATH_MAX], temporary[PATH_MAX + 64];
} hia_file_output;
/* Returns 0 or an errno. */
int hiaR_output_open(hia_file_output *output, const char *path);
bool hiaR_output_write(void *output, const char *bytes, size_t n); /* a hia_write */
/* Waits until what was written is on the disk, so that a file that takes the place survives a crash
 * of the system. Closing reports a failure. */
void hiaR_output_sync(hia_file_output *output);
/* Returns 0 or the errno of the first failure; then, and if it is not complete, what was in the
 * place is there as before. Does nothing if opening has failed. */
int hiaR_output_close(hia_file_output *output, bool is_complete);
/* Whether the file could be written: 0 or an errno. Changes nothing. */
int hiaR_output_check(const char *path);

#endif
