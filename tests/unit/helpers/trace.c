/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/helpers/trace.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_TID = 2048, TEXT = 64 };

typedef struct event {
  char ph[4], name[TEXT], cat[TEXT], scope[4], bp[4], id[TEXT], status[TEXT], thread[TEXT];
  bool has_ts, has_tid, has_pid, has_args, has_value;
  double ts, tid, pid, value;
} event;

typedef struct slice {
  char name[TEXT];
  double begin;
} slice;

typedef struct track {
  bool is_used, is_named, is_compiler;
  double last; /* time */
  slice *open;
  size_t n_open, cap_open;
  double busy_since; /* < 0: not busy */
} track;

typedef struct arrow {
  bool is_head;
  char name[TEXT];
  uint64_t id;
  double ts;
  size_t order;
} arrow;

typedef struct curve {
  char name[TEXT];
  double last, value, area;
  bool is_used;
} curve;

typedef struct reader {
  const char *at, *end;
  trace_picture *picture;
  bool is_wrong;
  track tracks[MAX_TID];
  arrow *arrows;
  size_t n_arrows, cap_arrows;
  curve curves[4];
  size_t n_events;
} reader;

static bool wrong(reader *r, const char *fmt, ...) {
  if (r->is_wrong) return false;
  r->is_wrong = true;
  va_list args;
  va_start(args, fmt);
  int n = snprintf(r->picture->wrong, sizeof r->picture->wrong, "event %zu: ", r->n_events);
  vsnprintf(r->picture->wrong + n, sizeof r->picture->wrong - (size_t)n, fmt, args);
  va_end(args);
  return false;
}

static void *grow(void *data, size_t elem, size_t n, size_t *cap) {
  if (n < *cap) return data;
  *cap = *cap ? *cap * 2 : 64;
  void *grown = realloc(data, *cap * elem);
  if (!grown) abort();
  return grown;
}

/* ---- JSON ---- */

static void skip_space(reader *r) {
  while (r->at < r->end && (*r->at == ' ' || *r->at == '\n' || *r->at == '\t' || *r->at == '\r'))
    r->at++;
}

static bool take(reader *r, char c) {
  skip_space(r);
  if (r->at == r->end || *r->at != c) return false;
  r->at++;
  return true;
}

static bool need(reader *r, char c) {
  return take(r, c) || wrong(r, "`%c` expected at `%.20s`", c, r->at < r->end ? r->at : "");
}

/* A character of UTF-8 beyond ASCII. */
static bool utf8(reader *r) {
  const unsigned char *s = (const unsigned char *)r->at;
  size_t left = (size_t)(r->end - r->at), n = s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
  uint32_t c = s[0] & (0x7fu >> n);
  if (s[0] < 0xc2 || s[0] > 0xf4 || left < n) return wrong(r, "bytes that are no UTF-8");
  for (size_t i = 1; i < n; i++) {
    if ((s[i] & 0xc0) != 0x80) return wrong(r, "bytes that are no UTF-8");
    c = c << 6 | (s[i] & 0x3f);
  }
  static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  if (c < least[n] || (c >= 0xd800 && c < 0xe000) || c > 0x10ffff)
    return wrong(r, "bytes that are no UTF-8");
  r->at += n;
  return true;
}

static bool string(reader *r, char *out, size_t size) {
  if (!need(r, '"')) return false;
  size_t len = 0;
  while (r->at < r->end && *r->at != '"') {
    const char *from = r->at;
    unsigned char c = (unsigned char)*r->at;
    if (c < 0x20) return wrong(r, "a control character in a string");
    if (c >= 0x80) {
      if (!utf8(r)) return false;
    } else if (c == '\\') {
      r->at++;
      if (r->at == r->end || !strchr("\"\\/bfnrtu", *r->at)) return wrong(r, "a strange escape");
      if (*r->at++ == 'u')
        for (int i = 0; i < 4; i++, r->at++)
          if (r->at == r->end || !strchr("0123456789abcdefABCDEF", *r->at) || !*r->at)
            return wrong(r, "a strange escape");
    } else {
      r->at++;
    }
    for (; from < r->at; from++)
      if (out && len + 1 < size) out[len++] = *from;
  }
  if (out) out[len] = 0;
  return need(r, '"');
}

static bool digits(reader *r) {
  const char *from = r->at;
  while (r->at < r->end && *r->at >= '0' && *r->at <= '9') r->at++;
  return r->at > from;
}

static bool number(reader *r, double *out) {
  skip_space(r);
  const char *from = r->at;
  if (r->at < r->end && *r->at == '-') r->at++;
  const char *whole = r->at;
  if (!digits(r) || (*whole == '0' && r->at > whole + 1)) return wrong(r, "a strange number");
  if (r->at < r->end && *r->at == '.') {
    r->at++;
    if (!digits(r)) return wrong(r, "a strange number");
  }
  if (r->at < r->end && (*r->at == 'e' || *r->at == 'E')) {
    r->at++;
    if (r->at < r->end && (*r->at == '+' || *r->at == '-')) r->at++;
    if (!digits(r)) return wrong(r, "a strange number");
  }
  char text[64];
  size_t len = (size_t)(r->at - from);
  if (len >= sizeof text) return wrong(r, "a long number");
  memcpy(text, from, len);
  text[len] = 0;
  *out = strtod(text, NULL);
  return true;
}

/* ---- what is in an event ---- */

static bool arg(reader *r, event *e, const char *key) {
  if (strcmp(key, "job") == 0) {
    double job;
    return number(r, &job) && (job >= 1 || wrong(r, "job number %g", job));
  }
  if (strcmp(key, "sort_index") == 0) {
    double index;
    return number(r, &index);
  }
  if (strcmp(key, "name") == 0) return string(r, e->thread, TEXT);
  if (strcmp(key, "status") == 0) return string(r, e->status, TEXT);
  if (strcmp(key, "of") == 0 || strcmp(key, "function") == 0) return string(r, NULL, 0);
  if (strcmp(key, "value") != 0) return wrong(r, "an argument `%s`", key);
  e->has_value = true;
  return number(r, &e->value);
}

static bool args_of(reader *r, event *e) {
  char key[TEXT];
  e->has_args = true;
  if (!need(r, '{')) return false;
  do
    if (!string(r, key, sizeof key) || !need(r, ':') || !arg(r, e, key)) return false;
  while (take(r, ','));
  return need(r, '}');
}

static bool field(reader *r, event *e, const char *key) {
  if (strcmp(key, "ph") == 0) return string(r, e->ph, sizeof e->ph);
  if (strcmp(key, "name") == 0) return string(r, e->name, TEXT);
  if (strcmp(key, "cat") == 0) return string(r, e->cat, TEXT);
  if (strcmp(key, "s") == 0) return string(r, e->scope, sizeof e->scope);
  if (strcmp(key, "bp") == 0) return string(r, e->bp, sizeof e->bp);
  if (strcmp(key, "id") == 0) return string(r, e->id, TEXT);
  if (strcmp(key, "args") == 0) return args_of(r, e);
  if (strcmp(key, "ts") == 0) return e->has_ts = true, number(r, &e->ts);
  if (strcmp(key, "tid") == 0) return e->has_tid = true, number(r, &e->tid);
  if (strcmp(key, "pid") == 0) return e->has_pid = true, number(r, &e->pid);
  return wrong(r, "a field `%s`", key);
}

/* ---- slices ---- */

static void append(char *list, size_t size, const char *word) {
  size_t len = strlen(list);
  snprintf(list + len, size - len, "%s ", word);
}

static bool is_one_of(const char *name, const char *const *names) {
  for (; *names; names++)
    if (strcmp(name, *names) == 0) return true;
  return false;
}

/* True if a slice may be nested in the other. */
static bool may_stand_in(const char *inner, const char *outer) {
  static const char *const in_job[] = {"wait", "idle", "job", "run", NULL};
  static const char *const in_run[] = {"wait", "idle", "job", "run", NULL};
  static const char *const in_work[] = {"job", "idle", NULL};
  static const char *const in_wait[] = {"job", "idle", NULL};
  if (strcmp(outer, "job") == 0) return is_one_of(inner, in_job);
  if (strcmp(outer, "run") == 0) return is_one_of(inner, in_run);
  if (strcmp(outer, "work") == 0) return is_one_of(inner, in_work);
  if (strcmp(outer, "wait") == 0) return is_one_of(inner, in_wait);
  return false;
}

static void set_busy(reader *r, track *t, double at) {
  const char *top = t->n_open ? t->open[t->n_open - 1].name : "idle";
  bool is_busy = !t->is_compiler && strcmp(top, "idle") != 0 && strcmp(top, "wait") != 0;
  if (is_busy == (t->busy_since >= 0)) return;
  if (!is_busy) r->picture->busy_us += at - t->busy_since;
  t->busy_since = is_busy ? at : -1;
}

static bool begin(reader *r, track *t, const event *e) {
  trace_picture *p = r->picture;
  if (!e->name[0] || !e->cat[0]) return wrong(r, "a slice without name or category");
  bool is_phase = strcmp(e->cat, "compile") == 0;
  /* A job has the name of the function that it calls. */
  bool is_job = strcmp(e->cat, "job") == 0;
  const char *kind = is_job ? e->cat : e->name;
  if (is_phase != t->is_compiler) return wrong(r, "`%s` on the wrong track", e->name);
  if (is_phase && t->n_open) return wrong(r, "phase `%s` in another", e->name);
  if (t->n_open && !may_stand_in(kind, t->open[t->n_open - 1].name))
    return wrong(r, "`%s` stands in `%s`", e->name, t->open[t->n_open - 1].name);
  t->open = grow(t->open, sizeof *t->open, t->n_open, &t->cap_open);
  slice *s = &t->open[t->n_open++];
  memcpy(s->name, kind, TEXT);
  s->begin = e->ts;
  set_busy(r, t, e->ts);
  if (is_phase) {
    p->n_phases++;
    append(p->phases, sizeof p->phases, e->name);
  }
  p->n_runs += strcmp(e->name, "run") == 0;
  p->n_jobs += strcmp(kind, "job") == 0;
  if (is_job) memcpy(p->callee, e->name, sizeof p->callee);
  p->n_waits += strcmp(e->name, "wait") == 0;
  p->n_idles += strcmp(e->name, "idle") == 0;
  return true;
}

static bool end(reader *r, track *t, const event *e) {
  trace_picture *p = r->picture;
  if (t->n_open == 0) return wrong(r, "an end without a beginning on thread %g", e->tid);
  const slice *s = &t->open[--t->n_open];
  double us = e->ts - s->begin;
  set_busy(r, t, e->ts);
  if (strcmp(s->name, "run") == 0) p->run_us += us;
  if (strcmp(s->name, "job") == 0) p->job_us += us;
  if (strcmp(s->name, "wait") == 0) p->wait_us += us;
  if (strcmp(s->name, "idle") == 0) p->idle_us += us;
  if (e->status[0] && strcmp(s->name, "run") != 0) return wrong(r, "a status of `%s`", s->name);
  if (e->status[0]) append(p->results, sizeof p->results, e->status);
  return true;
}

static bool instant(reader *r, const event *e) {
  trace_picture *p = r->picture;
  bool is_result = strcmp(e->scope, "p") == 0;
  if (!is_result && strcmp(e->scope, "t") != 0) return wrong(r, "an instant of scope %s", e->scope);
  p->n_promoted += strcmp(e->name, "promote") == 0;
  p->n_taken += strcmp(e->name, "take") == 0;
  p->n_taken_back += strcmp(e->name, "take back") == 0;
  return e->name[0] || wrong(r, "an instant without a name");
}

static bool tip(reader *r, const track *t, const event *e) {
  char *after;
  if (e->id[0] != '0' || e->id[1] != 'x') return wrong(r, "an arrow `%s`", e->id);
  uint64_t id = strtoull(e->id, &after, 16);
  bool is_head = e->ph[0] == 'f';
  if (*after) return wrong(r, "an arrow `%s`", e->id);
  if (is_head != (strcmp(e->bp, "e") == 0)) return wrong(r, "an arrow's binding");
  if (t->n_open == 0) return wrong(r, "an arrow at no slice");
  r->arrows = grow(r->arrows, sizeof *r->arrows, r->n_arrows, &r->cap_arrows);
  arrow *a = &r->arrows[r->n_arrows];
  *a = (arrow){.is_head = is_head, .id = id, .ts = e->ts, .order = r->n_arrows};
  r->n_arrows++;
  memcpy(a->name, e->name, TEXT);
  return true;
}

static bool point(reader *r, const event *e) {
  if (!e->has_value || e->value < 0) return wrong(r, "a curve without a value");
  curve *c = r->curves;
  while (c->is_used && strcmp(c->name, e->name) != 0) c++;
  if (c == &r->curves[3]) return wrong(r, "a curve `%s`", e->name);
  if (c->is_used && e->ts < c->last) return wrong(r, "curve `%s` goes back in time", e->name);
  if (c->is_used) c->area += (e->ts - c->last) * c->value;
  if (c->is_used && e->value < c->value && strcmp(e->name, "busy workers") != 0)
    return wrong(r, "curve `%s` falls", e->name);
  memcpy(c->name, e->name, TEXT);
  c->is_used = true;
  c->last = e->ts;
  c->value = e->value;
  return true;
}

static bool name_thread(reader *r, const event *e, unsigned tid) {
  if (strcmp(e->name, "process_name") == 0 || strcmp(e->name, "thread_sort_index") == 0)
    return true;
  if (strcmp(e->name, "thread_name") != 0) return wrong(r, "an M called `%s`", e->name);
  track *t = &r->tracks[tid];
  if (t->is_named || !e->thread[0]) return wrong(r, "thread %u has two names, or none", tid);
  t->is_named = true;
  bool is_compiler = strncmp(e->thread, "compiler", 8) == 0;
  if (t->is_used && is_compiler != t->is_compiler) return wrong(r, "%s is none", e->thread);
  r->picture->n_threads += !is_compiler;
  r->picture->n_compilers += is_compiler;
  return true;
}

static bool check_event(reader *r, const event *e) {
  if (!e->has_pid || e->pid != 1 || !e->has_ts || e->ts < 0) return wrong(r, "no pid, or no time");
  if (strcmp(e->ph, "C") == 0) return !e->has_tid ? point(r, e) : wrong(r, "a curve of a thread");
  if (!e->has_tid || e->tid < 0 || e->tid > 1e6 || e->tid != floor(e->tid))
    return wrong(r, "thread %g", e->tid);
  unsigned tid = (unsigned)e->tid;
  if (tid >= MAX_TID) return wrong(r, "thread %u", tid);
  if (strcmp(e->ph, "M") == 0) return name_thread(r, e, tid);
  track *t = &r->tracks[tid];
  if (!t->is_used) {
    t->is_used = true;
    t->is_compiler = strcmp(e->cat, "compile") == 0;
    t->busy_since = -1;
  }
  if (e->ts < t->last) return wrong(r, "thread %u goes back in time, %f", tid, t->last - e->ts);
  t->last = e->ts;
  if (strcmp(e->ph, "B") == 0) return begin(r, t, e);
  if (strcmp(e->ph, "E") == 0) return end(r, t, e);
  if (strcmp(e->ph, "i") == 0) return instant(r, e);
  if (strcmp(e->ph, "s") == 0 || strcmp(e->ph, "f") == 0) return tip(r, t, e);
  return wrong(r, "an event `%s`", e->ph);
}

/* ---- the whole file ---- */

static bool read_event(reader *r) {
  event e = {0};
  char key[TEXT];
  if (!need(r, '{')) return false;
  do
    if (!string(r, key, sizeof key) || !need(r, ':') || !field(r, &e, key)) return false;
  while (take(r, ','));
  if (!need(r, '}')) return false;
  r->n_events++;
  return check_event(r, &e);
}

static bool read_totals(reader *r) {
  trace_picture *p = r->picture;
  char key[TEXT];
  if (!need(r, '{')) return false;
  do {
    double x = 0;
    if (!string(r, key, sizeof key) || !need(r, ':')) return false;
    if (strcmp(key, "producer") == 0) {
      if (!string(r, NULL, 0)) return false;
      continue;
    }
    if (!number(r, &x)) return false;
    if (strcmp(key, "events") == 0) p->events = (uint64_t)x;
    if (strcmp(key, "dropped") == 0) p->dropped = (uint64_t)x;
    if (strcmp(key, "promotions") == 0) p->promotions = (uint64_t)x;
    if (strcmp(key, "steals") == 0) p->steals = (uint64_t)x;
  } while (take(r, ','));
  return need(r, '}');
}

static bool read_all(reader *r) {
  char key[TEXT];
  bool has_events = false;
  if (!need(r, '{')) return false;
  do {
    if (!string(r, key, sizeof key) || !need(r, ':')) return false;
    if (strcmp(key, "displayTimeUnit") == 0) {
      if (!string(r, NULL, 0)) return false;
    } else if (strcmp(key, "otherData") == 0) {
      if (!read_totals(r)) return false;
    } else if (strcmp(key, "traceEvents") == 0 && !has_events) {
      has_events = true;
      if (!need(r, '[')) return false;
      do
        if (!read_event(r)) return false;
      while (take(r, ','));
      if (!need(r, ']')) return false;
    } else {
      return wrong(r, "a part `%s`", key);
    }
  } while (take(r, ','));
  if (!need(r, '}')) return false;
  skip_space(r);
  if (r->at != r->end) return wrong(r, "something behind the end");
  return has_events || wrong(r, "no events");
}

static int compare_arrows(const void *a, const void *b) {
  const arrow *x = a, *y = b;
  int names = strcmp(x->name, y->name);
  if (names) return names;
  if (x->id != y->id) return x->id < y->id ? -1 : 1;
  return x->order < y->order ? -1 : x->order > y->order;
}

static bool check_arrows(reader *r) {
  if (r->n_arrows) qsort(r->arrows, r->n_arrows, sizeof *r->arrows, compare_arrows);
  for (size_t i = 0; i < r->n_arrows; i += 2) {
    const arrow *tail = &r->arrows[i], *head = tail + 1;
    if (i + 1 == r->n_arrows || tail->is_head || !head->is_head || tail->id != head->id ||
        strcmp(tail->name, head->name) != 0 || tail->ts > head->ts)
      return wrong(r, "arrow %s 0x%llx is not from one place to another", tail->name,
                   (unsigned long long)tail->id);
    if (i >= 2 && tail->id == tail[-1].id && strcmp(tail->name, tail[-1].name) == 0)
      return wrong(r, "two arrows %s 0x%llx", tail->name, (unsigned long long)tail->id);
    r->picture->n_steal_arrows += strcmp(tail->name, "steal") == 0;
    r->picture->n_result_arrows += strcmp(tail->name, "result") == 0;
  }
  return true;
}

static bool check_end(reader *r) {
  const trace_picture *p = r->picture;
  for (unsigned tid = 0; tid < MAX_TID; tid++) {
    const track *t = &r->tracks[tid];
    if (t->n_open) return wrong(r, "`%s` has no end on thread %u", t->open[0].name, tid);
    if (t->is_used != t->is_named)
      return wrong(r, "thread %u: a name, or events, but not both", tid);
  }
  if (!check_arrows(r)) return false;
  if (p->dropped == 0 && p->promotions != p->n_promoted)
    return wrong(r, "%llu promotions, %llu in the picture", (unsigned long long)p->promotions,
                 (unsigned long long)p->n_promoted);
  if (p->dropped == 0 && p->steals != p->n_jobs + p->n_taken)
    return wrong(r, "%llu steals, %llu in the picture", (unsigned long long)p->steals,
                 (unsigned long long)(p->n_jobs + p->n_taken));
  /* The curve is written with six digits. */
  for (size_t i = 0; i < 3; i++)
    if (r->curves[i].is_used && strcmp(r->curves[i].name, "busy workers") == 0 &&
        fabs(r->curves[i].area - p->busy_us) > 1 + p->busy_us * 1e-4)
      return wrong(r, "the curve holds %f us of work, the slices %f", r->curves[i].area,
                   p->busy_us);
  return true;
}

bool trace_read(const char *text, size_t len, trace_picture *picture) {
  *picture = (trace_picture){0};
  reader *r = calloc(1, sizeof *r);
  if (!r) abort();
  r->at = text;
  r->end = text + len;
  r->picture = picture;
  bool ok = read_all(r) && check_end(r);
  for (unsigned tid = 0; tid < MAX_TID; tid++) free(r->tracks[tid].open);
  free(r->arrows);
  free(r);
  return ok;
}

bool trace_read_file(const char *path, trace_picture *picture) {
  *picture = (trace_picture){0};
  test_text text = {0};
  if (!test_text_read(&text, path)) {
    snprintf(picture->wrong, sizeof picture->wrong, "%s cannot be read", path);
    return false;
  }
  bool ok = trace_read(text.data, text.len, picture);
  test_text_free(&text);
  return ok;
}
