/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* --log FILE: a line of JSON for each epoch, appended. A line is written before the checkpoint that
 * holds its epoch. So a training that goes on finds the lines of all epochs of its checkpoint, and
 * perhaps some of later ones, which it drops, since it makes these epochs again. */
#include "tools/json.h"
#include "tools/train.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The number that a training has in its lines. */
static void name_run(uint64_t run, char name[17]) { snprintf(name, 17, "%016" PRIx64, run); }

/* ---- dropping lines ---- */

/* True if the line is one of this training, about an epoch that it makes again. */
static bool is_later(const char *line, size_t len, const train_state *s) {
  char name[17];
  name_run(s->run, name);
  json_t *root = json_loadb(line, len, 0, NULL);
  const char *run = json_string_value(json_object_get(root, "run"));
  json_int_t epoch = json_integer_value(json_object_get(root, "epoch"));
  bool is_ours = run && strcmp(run, name) == 0 && epoch > (json_int_t)s->n_epochs;
  json_decref(root);
  return is_ours;
}

/* Writes the lines that remain. A line without an end is one that was not written to its end. */
static int write_rest(const char *path, const char *text, size_t size, const train_state *s) {
  tool_output t;
  bool is_open = tool_output_open(&t, path), is_fine = is_open;
  if (!is_open) t.wrong = errno;
  for (const char *at = text, *end; is_fine && at < text + size; at = end + 1) {
    end = memchr(at, '\n', size - (size_t)(at - text));
    if (!end) break;
    if (!is_later(at, (size_t)(end - at), s))
      is_fine = hiaR_output_write(&t, at, (size_t)(end - at) + 1);
  }
  if (is_fine) hiaR_output_sync(&t);
  tool_output_close(&t, is_fine && !t.wrong);
  return t.wrong ? tool_cannot_write(path, t.wrong) : EXIT_FINE;
}

static int read_text(const char *path, char *text, size_t size) {
  FILE *from = fopen(path, "rb");
  if (!from) return errno;
  bool is_fine = fread(text, 1, size, from) == size;
  fclose(from);
  return is_fine ? 0 : EIO;
}

int train_log_begin(const char *path, const train_state *s) {
  struct stat info;
  if (!path || stat(path, &info) != 0 || !S_ISREG(info.st_mode) || info.st_size == 0)
    return EXIT_FINE;
  size_t size = (size_t)info.st_size;
  char *text = malloc(size);
  if (!text) return tool_fail(NULL, HIA_MEMORY);
  int reason = read_text(path, text, size), code = EXIT_FINE;
  if (reason) {
    fprintf(stderr, "error[io]: cannot read %s: %s\n", path, strerror(reason));
    code = EXIT_USAGE;
  }
  bool has_later = text[size - 1] != '\n';
  for (const char *at = text, *end; !reason && !has_later && at < text + size; at = end + 1) {
    end = memchr(at, '\n', size - (size_t)(at - text));
    has_later = is_later(at, (size_t)(end - at), s);
  }
  if (!reason && has_later) code = write_rest(path, text, size, s);
  free(text);
  return code;
}

/* ---- appending ---- */

/* A member of the object; null where there is no number, or none that JSON can have. */
static void put_number(FILE *to, const char *name, double x) {
  char text[32] = "null";
  if (isfinite(x)) train_format(text, x);
  fprintf(to, "\"%s\": %s, ", name, text);
}

/* The line of the last epoch; the caller frees it. NULL: there is no memory. */
static char *line_of(const train_state *s, size_t *len) {
  const train_epoch *e = &s->epochs[s->n_epochs - 1];
  char run[17], *line = NULL;
  FILE *to = open_memstream(&line, len);
  if (!to) return NULL;
  name_run(s->run, run);
  fprintf(to, "{\"epoch\": %zu, \"steps\": %" PRIu64 ", ", s->n_epochs, e->steps);
  put_number(to, "loss", e->loss);
  put_number(to, "dev_loss", e->dev_loss);
  put_number(to, "metric", e->metric);
  fprintf(to, "\"best\": %s, ", e->is_best ? "true" : "false");
  put_number(to, "rate", e->rate);
  put_number(to, "norm", e->norm);
  put_number(to, "compile_seconds", e->compile_seconds);
  put_number(to, "seconds", e->seconds);
  put_number(to, "examples_per_second", e->examples_per_second);
  fprintf(to, "\"run\": \"%s\"}\n", run);
  bool is_bad = ferror(to);
  is_bad |= fclose(to) != 0;
  if (!is_bad) return line;
  free(line);
  return NULL;
}

/* Appends bytes; if not all of them can be written, a regular file gets its old size again. Returns
 * 0 or an errno. */
static int append(const char *path, const char *bytes, size_t n) {
  struct stat info = {0};
  int wrong = 0, file = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
  if (file < 0) return errno;
  if (fstat(file, &info) != 0) wrong = errno;
  for (size_t at = 0; !wrong && at < n;) {
    ssize_t some = write(file, bytes + at, n - at);
    if (some >= 0)
      at += (size_t)some;
    else if (errno != EINTR)
      wrong = errno;
  }
  /* On the disk before the checkpoint is. */
  if (!wrong && S_ISREG(info.st_mode) && fsync(file) != 0) wrong = errno;
  if (wrong && S_ISREG(info.st_mode) && ftruncate(file, info.st_size) != 0) wrong = errno;
  if (close(file) != 0 && !wrong) wrong = errno;
  return wrong;
}

int train_log_epoch(const char *path, const train_state *s) {
  if (!path) return EXIT_FINE;
  size_t len;
  char *line = line_of(s, &len);
  if (!line) return tool_fail(NULL, HIA_MEMORY);
  int wrong = append(path, line, len);
  free(line);
  return wrong ? tool_cannot_write(path, wrong) : EXIT_FINE;
}
