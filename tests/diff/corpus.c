/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Hand-written programs with their expected results, docs/testing.md:
 *
 *   # small: FN ARG... => OUTCOME     in all ways
 *   # large: FN ARG... => OUTCOME     native code only (all ways with --large)
 *   # fuel N: FN ARG... => OUTCOME    with N fuel, in all ways that can have fuel
 *   # trap: FN ARG... => OUTCOME      operations that make NaN fail; also `# trap fuel N:`
 *   # rejected: LINE[:COL]...         the program is wrong, in these places and nowhere else
 *   # ----                            the rest is another program; line numbers continue
 *
 * An OUTCOME is as in run.h; one that ends in `...` is compared up to there. */
#include "tests/diff/run.h"
#include "tests/unit/helpers/text.h"
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#define SMALL_TIMES 3 /* on several workers */

char *diff_read_file(const char *path) {
  test_text text = {0};
  return test_text_read(&text, path) ? text.data : NULL;
}

static bool is_outcome(const char *expected, const char *got) {
  size_t n = strlen(expected);
  if (n >= 3 && !strcmp(expected + n - 3, "...")) return !strncmp(expected, got, n - 3);
  if (strncmp(expected, "rejected", 8) != 0) return !strcmp(expected, got);
  /* Each position in turn; a position without a column stands for all errors of its line. */
  const char *e = expected + 8, *g = got + 8;
  if (strncmp(got, "rejected", 8) != 0) return false;
  for (;;) {
    e += strspn(e, " ");
    g += strspn(g, " ");
    if (!*e || !*g) return !*e && !*g;
    size_t len = strcspn(e, " ");
    bool has_column = memchr(e, ':', len), is_same;
    uint32_t n_same = 0;
    do {
      is_same = !strncmp(e, g, len) && (g[len] == ' ' || !g[len] || (!has_column && g[len] == ':'));
      if (!is_same) break;
      g += strcspn(g, " ");
      g += strspn(g, " ");
      n_same++;
    } while (!has_column);
    if (n_same == 0) return false;
    e += len;
  }
}

/* What to do with each run. */
typedef struct corpus {
  diff_way *ways;
  uint32_t n_ways;
  uint32_t in_turn; /* programs are run in the first way, and in every in_turn-th other way */
  uint32_t first;
  bool large;
  diff_counts *counts;
  void (*visit)(void *user, const diff_case *c); /* instead of running it; or NULL */
  void *user;
} corpus;

static uint32_t turn; /* counts programs */

/* One run in all these ways. A wrong outcome that several ways share is shown for the first. */
static void check(const corpus *all, const diff_case *c) {
  if (all->visit) {
    all->visit(all->user, c);
    return;
  }
  diff_way *ways = all->ways;
  uint32_t n_ways = c->is_rejected ? 1 : all->n_ways;
  bool native_only = c->is_large && !all->large;
  diff_counts *counts = all->counts;
  gen_text others = {0};
  uint32_t failed = 0;
  for (uint32_t i = 0; i < n_ways; i++) {
    diff_way *way = &ways[i];
    if (i && (i + all->first + turn) % all->in_turn) continue;
    /* The usual ways: optimised code, on one worker or several. */
    if (native_only && (!diff_is_native(way) || way->opt_level < 2 || way->count)) continue;
    if (c->fuel && !diff_takes_fuel(way)) continue;
    way->traps = c->traps;
    char what[512];
    snprintf(what, sizeof what, "%s:%u (%s)", c->path, c->line, way->name);
    diff_watch(what);
    diff_result r;
    diff_run(way, c->path, c->source, c->fn, c->args, c->n_args, c->fuel,
             diff_is_parallel(way) && !native_only ? SMALL_TIMES : 1, &r);
    if (diff_is_beyond(way, &r)) {
      diff_result_free(&r);
      continue;
    }
    if (is_outcome(c->expected, r.text.data)) {
      counts->passed++;
    } else if (counts->failed++, failed++ == 0) {
      fprintf(stderr, "FAIL %s:%u: %s, %s\n  expected %s\n  got      %s\n%s", c->path, c->line,
              c->fn, way->name, c->expected, r.text.data, r.messages ? r.messages : "");
    } else {
      gen_text_add(&others, " %s", way->name);
    }
    diff_result_free(&r);
  }
  if (others.data) fprintf(stderr, "  and in%s\n", others.data);
  gen_text_free(&others);
}

/* Splits "main (1, -2) 3i64" at the spaces outside of brackets, in place. */
static uint32_t split(char *s, char **words, uint32_t max) {
  uint32_t n = 0;
  for (;;) {
    s += strspn(s, " ");
    if (!*s || n == max) return n;
    words[n++] = s;
    for (int depth = 0; *s && (depth > 0 || *s != ' '); s++)
      depth += *s == '(' || *s == '[' ? 1 : *s == ')' || *s == ']' ? -1 : 0;
    if (*s) *s++ = 0;
  }
}

static bool starts(const char *line, const char *word) {
  return !strncmp(line, word, strlen(word));
}

/* One program, from line `first` on; `source` has blank lines before it. */
static void run_program(const char *path, uint32_t first, const char *source, const char *body,
                        const corpus *all) {
  turn++;
  diff_counts *counts = all->counts;
  uint32_t n_runs = 0;
  for (uint32_t line = first; *body; line++) {
    size_t len = strcspn(body, "\n");
    char *copy = strndup(body, len);
    body += len + (body[len] ? 1 : 0);
    bool is_large = starts(copy, "# large: "), is_small = starts(copy, "# small: ");
    char *run = is_large || is_small ? copy + 9 : copy, *end = NULL;
    uint64_t fuel = 0;
    bool traps = starts(copy, "# trap: ") || starts(copy, "# trap fuel ");
    const char *of_fuel = starts(copy, "# fuel ")        ? copy + 7
                          : starts(copy, "# trap fuel ") ? copy + 12
                                                         : NULL;
    if (of_fuel) fuel = strtoull(of_fuel, &end, 10);
    bool has_fuel = end && starts(end, ": ");
    if (has_fuel) run = end + 2;
    if (traps && !has_fuel) run = copy + 8;
    if (starts(copy, "# rejected: ")) {
      gen_text expected = {0};
      gen_text_add(&expected, "rejected %s", copy + 12);
      check(all, &(diff_case){.path = path,
                              .line = line,
                              .source = source,
                              .fn = "main",
                              .expected = expected.data,
                              .is_rejected = true});
      gen_text_free(&expected);
      n_runs++;
    } else if (is_large || is_small || has_fuel || traps) {
      char *arrow = strstr(copy, " => "), *words[17];
      uint32_t n = arrow ? (*arrow = 0, split(run, words, 17)) : 0;
      if (n == 0) {
        fprintf(stderr, "FAIL %s:%u: not `# small: FN ARG... => OUTCOME` or the like\n", path,
                line);
        counts->failed++;
      }
      if (n > 0)
        check(all, &(diff_case){.path = path,
                                .line = line,
                                .source = source,
                                .fn = words[0],
                                .args = words + 1,
                                .n_args = n - 1,
                                .fuel = has_fuel ? &fuel : NULL,
                                .traps = traps,
                                .expected = arrow + 4,
                                .is_large = is_large});
      n_runs++;
    }
    free(copy);
  }
  if (n_runs == 0) {
    fprintf(stderr, "FAIL %s:%u: says nothing of what to run\n", path, first);
    counts->failed++;
  }
}

static void run_file(const char *path, const corpus *all) {
  char *text = diff_read_file(path);
  if (!text) {
    fprintf(stderr, "FAIL %s: cannot be read\n", path);
    all->counts->failed++;
    return;
  }
  uint32_t line = 1;
  for (char *s = text; *s;) {
    uint32_t first = line;
    char *start = s;
    while (*s && !starts(s, "# ----")) {
      size_t len = strcspn(s, "\n");
      s += len + (s[len] ? 1 : 0);
      line++;
    }
    gen_text source = {0};
    for (uint32_t i = 1; i < first; i++) gen_text_add(&source, "\n");
    gen_text_add(&source, "%.*s", (int)(s - start), start);
    if (s != start) run_program(path, first, source.data, source.data + first - 1, all);
    gen_text_free(&source);
    if (*s) {
      size_t len = strcspn(s, "\n");
      s += len + (s[len] ? 1 : 0);
      line++;
    }
  }
  free(text);
}

static int by_name(const struct dirent **a, const struct dirent **b) {
  return strcmp((*a)->d_name, (*b)->d_name); /* not alphasort: the order of every locale */
}

static void run_path(const char *path, const corpus *all) {
  struct stat st;
  struct dirent **entries;
  int n;
  if (stat(path, &st) != 0 || !S_ISDIR(st.st_mode) ||
      (n = scandir(path, &entries, NULL, by_name)) < 0) {
    run_file(path, all);
    return;
  }
  for (int i = 0; i < n; i++) {
    char inner[4096];
    const char *name = entries[i]->d_name;
    size_t len = strlen(name);
    snprintf(inner, sizeof inner, "%s/%s", path, name);
    if (name[0] != '.' && ((len > 4 && !strcmp(name + len - 4, ".hia")) ||
                           (stat(inner, &st) == 0 && S_ISDIR(st.st_mode))))
      run_path(inner, all);
    free(entries[i]);
  }
  free(entries);
}

void diff_corpus(const char *path, diff_way *ways, uint32_t n_ways, uint32_t in_turn,
                 uint32_t first, bool large, diff_counts *counts) {
  run_path(path, &(corpus){.ways = ways,
                           .n_ways = n_ways,
                           .in_turn = in_turn,
                           .first = first,
                           .large = large,
                           .counts = counts});
}

void diff_cases(const char *path, void (*visit)(void *user, const diff_case *c), void *user,
                diff_counts *counts) {
  run_path(path, &(corpus){.counts = counts, .visit = visit, .user = user});
}
