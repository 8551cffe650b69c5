/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The bytes of a checkpoint that are not the trainer's, as lines of words:
 *
 *   hiaton train 2                          the version of this form
 *   run NUMBER                              in base 16
 *   batch NUMBER LOSS NORM COMPILE SECONDS  of the epoch that is not complete
 *   option NAME VALUE                       for each option that decides the bits
 *   epoch STEPS LOSS DEV_LOSS METRIC RATE NORM COMPILE SECONDS SPEED BEST   for each complete epoch
 *   end
 *
 * Floats are written as %a, so that they are read back with all their bits. */
#include "tools/train.h"
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define HEAD "hiaton train 2"

bool train_add_epoch(train_state *s, const train_epoch *epoch) {
  train_epoch *grown = realloc(s->epochs, (s->n_epochs + 1) * sizeof *grown);
  if (!grown) return false;
  s->epochs = grown;
  s->epochs[s->n_epochs++] = *epoch;
  return true;
}

const train_epoch *train_best(const train_state *s) {
  for (size_t i = s->n_epochs; i-- > 0;)
    if (s->epochs[i].is_best) return &s->epochs[i];
  return NULL;
}

void train_state_free(train_state *s) {
  free(s->epochs);
  s->epochs = NULL;
  s->n_epochs = 0;
}

/* ---- writing ---- */

char *train_encode(const train_state *s, const train_deciding *deciding, size_t *size) {
  char *text = NULL;
  *size = 0;
  FILE *to = open_memstream(&text, size);
  if (!to) return NULL;
  fprintf(to, HEAD "\nrun %" PRIx64 "\nbatch %" PRIu64 " %a %a %a %a\n", s->run, s->batch, s->loss,
          s->norm, s->compile_seconds, s->seconds);
  for (size_t i = 0; i < deciding->n; i++)
    fprintf(to, "option %s %s\n", deciding->options[i].name, deciding->options[i].value);
  for (size_t i = 0; i < s->n_epochs; i++) {
    const train_epoch *e = &s->epochs[i];
    fprintf(to, "epoch %" PRIu64 " %a %a %a %a %a %a %a %a %d\n", e->steps, e->loss, e->dev_loss,
            e->metric, e->rate, e->norm, e->compile_seconds, e->seconds, e->examples_per_second,
            e->is_best);
  }
  fputs("end\n", to);
  bool is_bad = ferror(to);
  is_bad |= fclose(to) != 0;
  if (!is_bad) return text;
  free(text);
  *size = 0;
  return NULL;
}

/* ---- reading ---- */

typedef struct decoding {
  const char *path;
  const train_deciding *deciding;
  bool is_there[MAX_DECIDING]; /* by option: the text has had it */
  bool has_head, has_run, has_batch, has_end;
  train_state *state;
} decoding;

static int wrong(const decoding *d, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static int wrong(const decoding *d, const char *fmt, ...) {
  va_list args;
  va_start(args, fmt);
  fprintf(stderr, "error[argument]: the checkpoint %s ", d->path);
  vfprintf(stderr, fmt, args);
  fputc('\n', stderr);
  va_end(args);
  return EXIT_USAGE;
}

static int not_ours(const decoding *d) {
  return wrong(d, "was not written by this version of `hiaton train`");
}

static int other_option(const decoding *d, size_t i, const char *before) {
  const char *name = d->deciding->options[i].name, *now = d->deciding->options[i].value;
  int code;
  bool is_hash = d->deciding->options[i].is_hash;
  if (is_hash && *before && *now)
    code = wrong(d, "was made with other contents of %s", name);
  else if (!*before)
    code = wrong(d, "was made without %s", name);
  else if (!*now)
    code = wrong(d, "was made with %s%s%s", name, is_hash ? "" : " ", is_hash ? "" : before);
  else
    code = wrong(d, "was made with %s %s, not %s", name, before, now);
  fputs(TRAIN_HINT, stderr);
  return code;
}

static int read_option(decoding *d, char *words) {
  char *value = strchr(words, ' ');
  if (!value) return not_ours(d);
  *value++ = 0;
  for (size_t i = 0; i < d->deciding->n; i++) {
    if (strcmp(d->deciding->options[i].name, words) != 0) continue;
    d->is_there[i] = true;
    return strcmp(d->deciding->options[i].value, value) == 0 ? EXIT_FINE
                                                             : other_option(d, i, value);
  }
  return not_ours(d);
}

static int read_epoch(decoding *d, const char *words) {
  train_epoch e = {0};
  int is_best = 0, end = 0;
  if (sscanf(words, "%" SCNu64 " %la %la %la %la %la %la %la %la %d%n", &e.steps, &e.loss,
             &e.dev_loss, &e.metric, &e.rate, &e.norm, &e.compile_seconds, &e.seconds,
             &e.examples_per_second, &is_best, &end) != 10 ||
      words[end])
    return not_ours(d);
  e.is_best = is_best != 0;
  return train_add_epoch(d->state, &e) ? EXIT_FINE : tool_fail(NULL, HIA_MEMORY);
}

static int read_line(decoding *d, char *line) {
  int end = 0;
  train_state *s = d->state;
  if (!d->has_head) {
    d->has_head = strcmp(line, HEAD) == 0;
    return d->has_head ? EXIT_FINE : not_ours(d);
  }
  if (strncmp(line, "option ", 7) == 0) return read_option(d, line + 7);
  if (strncmp(line, "epoch ", 6) == 0) return read_epoch(d, line + 6);
  if (strncmp(line, "run ", 4) == 0)
    d->has_run = sscanf(line, "run %" SCNx64 "%n", &s->run, &end) == 1;
  else if (strncmp(line, "batch ", 6) == 0)
    d->has_batch = sscanf(line, "batch %" SCNu64 " %la %la %la %la%n", &s->batch, &s->loss,
                          &s->norm, &s->compile_seconds, &s->seconds, &end) == 5;
  else if (strcmp(line, "end") == 0) {
    d->has_end = true;
    end = 3;
  }
  return end && !line[end] ? EXIT_FINE : not_ours(d);
}

int train_decode(const char *path, const char *text, size_t size, const train_deciding *deciding,
                 train_state *state) {
  decoding d = {.path = path, .deciding = deciding, .state = state};
  *state = (train_state){0};
  char *copy = size ? malloc(size + 1) : NULL;
  if (!copy) return size ? tool_fail(NULL, HIA_MEMORY) : not_ours(&d);
  memcpy(copy, text, size);
  copy[size] = 0;
  int code = EXIT_FINE;
  char *rest = copy;
  while (code == EXIT_FINE && *rest && !d.has_end) {
    char *line = rest, *end = strchr(rest, '\n');
    if (end) *end = 0;
    rest = end ? end + 1 : rest + strlen(rest);
    code = read_line(&d, line);
  }
  bool is_whole = d.has_run && d.has_batch && d.has_end && rest == copy + size;
  if (code == EXIT_FINE && !is_whole) code = not_ours(&d);
  for (size_t i = 0; code == EXIT_FINE && i < deciding->n; i++)
    if (!d.is_there[i]) code = not_ours(&d);
  free(copy);
  return code;
}
