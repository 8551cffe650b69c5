/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Trees of files in the place of the system's, which say how much memory there is left. */
#ifndef HELPER_LEFT_H
#define HELPER_LEFT_H

#include <stddef.h>

/* Makes a new folder for the rest of the test; left_end removes it. */
void left_begin(void);
void left_end(void);
/* Writes a file of it: "/proc/meminfo". */
void left_file(const char *path, const char *text);
/* MemAvailable of /proc/meminfo is so many bytes, and there are no groups. */
void left_available(size_t bytes);

#endif
