/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The timelines of the public API: a host makes one, passes it to runs (hia_run_options), and
 * writes it in Chrome's trace format, which Perfetto reads too (docs/tracing.md). This file uses
 * the events (runtime/run/events.h) and nothing of engines.
 *
 * Each ring is in order of time, so a heap of the rings' next events merges them. The writer makes
 * two passes over the events. The first pass finds what the second one needs beforehand: which
 * slices began before the oldest event that is kept, and which arrows have both ends. */
#include "runtime/run/error.h"
#include "runtime/run/events.h"
#include <hiaton/hiaton.h>
#include <stdio.h>

#define DEFAULT_EVENTS 65536 /* per thread: 1 MB */
#define MAX_BINS       1000  /* points of a counter's curve */

hia_timeline *hia_timeline_new(const hia_allocator *allocator, size_t events) {
  if (!allocator) allocator = &hiaR_malloc;
  if (!hiaR_is_whole(allocator)) return NULL;
  return hiaR_timeline_new(allocator, events ? events : DEFAULT_EVENTS);
}

void hia_timeline_free(hia_timeline *timeline) { hiaR_timeline_free(timeline); }

static uint64_t n_events(const hia_ring *ring) {
  return atomic_load_explicit(&ring->count, memory_order_acquire);
}

/* The index of the oldest event that is kept. */
static uint64_t first_event(const hia_ring *ring) {
  uint64_t n = n_events(ring), size = ring->timeline->ring_size;
  return n > size ? n - size : 0;
}

uint64_t hia_timeline_dropped(hia_timeline *timeline) {
  if (!timeline) return 0;
  uint64_t n = 0;
  pthread_mutex_lock(&timeline->lock);
  for (const hia_ring *ring = timeline->rings; ring; ring = ring->next) n += first_event(ring);
  pthread_mutex_unlock(&timeline->lock);
  return n;
}

/* ---- JSON ---- */

typedef struct output {
  hia_write write;
  void *user;
  bool is_stopped; /* the host's `write` returned false */
  bool has_event;
  size_t len;
  char bytes[8192];
} output;

static void flush(output *o) {
  if (!o->is_stopped && o->len && !o->write(o->user, o->bytes, o->len)) o->is_stopped = true;
  o->len = 0;
}

static void put(output *o, const char *bytes, size_t len) {
  while (len) {
    if (o->len == sizeof o->bytes) flush(o);
    size_t n = sizeof o->bytes - o->len;
    if (n > len) n = len;
    memcpy(o->bytes + o->len, bytes, n);
    o->len += n;
    bytes += n;
    len -= n;
  }
}

/* For short pieces only, and for no text of the host's: a piece that is longer is cut off. */
static HIA_PRINTF(2, 3) void putf(output *o, const char *fmt, ...) {
  char piece[256];
  va_list args;
  va_start(args, fmt);
  int len = vsnprintf(piece, sizeof piece, fmt, args);
  va_end(args);
  if (len > 0) put(o, piece, (size_t)len < sizeof piece ? (size_t)len : sizeof piece - 1);
}

/* The length in bytes of the character at the start of a text; 0 if it is not UTF-8 (RFC 3629). */
static size_t utf8_len(const unsigned char *s) {
  if (s[0] < 0x80) return 1;
  size_t n = s[0] >= 0xc2 && s[0] <= 0xdf   ? 2
             : s[0] >= 0xe0 && s[0] <= 0xef ? 3
             : s[0] >= 0xf0 && s[0] <= 0xf4 ? 4
                                            : 0;
  for (size_t i = 1; i < n; i++)
    if ((s[i] & 0xc0) != 0x80) return 0;
  /* An overlong form, a surrogate of UTF-16, a code point beyond the last one. */
  if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
      (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
    return 0;
  return n;
}

/* Writes a string as JSON, whatever its bytes are. */
static void put_string(output *o, const char *text) {
  put(o, "\"", 1);
  while (*text) {
    size_t n = utf8_len((const unsigned char *)text);
    unsigned char c = (unsigned char)*text;
    if (c < 0x20 || c == 0x7f)
      putf(o, "\\u%04x", c);
    else if (c == '"' || c == '\\')
      putf(o, "\\%c", c);
    else if (n == 0)
      put(o, "\\ufffd", 6);
    else
      put(o, text, n);
    text += n ? n : 1;
  }
  put(o, "\"", 1);
}

/* ---- the state of writing a timeline ---- */

/* Flags of a job that was promoted. The first pass sets the first four. The second pass sets the
 * others, when it draws the ends of arrows. */
enum {
  KEPT = 1,   /* the events have its promotion */
  STOLEN = 2, /* they also have its begin in another thread */
  ENDED = 4,  /* they have its end */
  JOINED = 8, /* after that, they have the end of its owner's wait for it */
  DRAWN_STOLEN = 16,
  DRAWN_ENDED = 32,
  DRAWN_JOINED = 64
};

typedef struct track {
  const hia_ring *ring;
  uint64_t next, end; /* indices of events */
  uint64_t *open;     /* the slices that have begun, innermost last, by the index of their begin */
  size_t n_open, cap_open;
  uint64_t *cut; /* the slices whose begin was dropped, by the index of their end */
  size_t n_cut, cap_cut;
  bool is_busy;
  uint64_t first_job; /* the number of the first promotion that is kept */
  uint8_t *jobs;      /* the flags of each promotion that is kept */
  size_t n_jobs;
} track;

/* A curve. A point is left out if its value is that of the point before it. */
typedef struct counter {
  const char *name;
  double shown;
  bool is_shown;
} counter;

typedef struct reading {
  const hia_timeline *timeline;
  hia_allocator allocator;
  hia_status status;
  output *out;                       /* NULL: first pass */
  uint64_t events, dropped;          /* of all rings */
  uint64_t all_promoted, all_stolen; /* including dropped events */
  uint64_t zero;                     /* the time at which the picture begins */
  track *tracks;                     /* by ring->number - 1 */
  uint32_t n_tracks;
  uint32_t *heap; /* tracks with events left, the earliest first */
  uint32_t n_heap;
  /* Counters: the current point of the curve. */
  uint64_t from;       /* the time of the first event */
  uint64_t bin;        /* the length of a point, in ns */
  uint64_t counted_to; /* busy_ns is summed up to this time */
  uint64_t busy_ns;    /* summed over threads, since the point's begin */
  uint64_t point;
  uint32_t n_busy;
  uint64_t promoted, stolen;
  counter busy_curve, promotions_curve, steals_curve;
} reading;

static const hia_event *event_at(const track *t, uint64_t i) {
  return &t->ring->events[i & (t->ring->timeline->ring_size - 1)];
}

static bool is_begin(unsigned kind) {
  return kind <= HIA_EVENT_IDLE_END && (kind - HIA_EVENT_RUN_BEGIN) % 2 == 0;
}
static bool is_end(unsigned kind) { return kind <= HIA_EVENT_IDLE_END && !is_begin(kind); }

_Static_assert(HIA_EVENT_RUN_BEGIN % 2 == 0 && HIA_EVENT_RUN_END == HIA_EVENT_RUN_BEGIN + 1 &&
                   HIA_EVENT_WORK_END == HIA_EVENT_WORK_BEGIN + 1 &&
                   HIA_EVENT_JOB_END == HIA_EVENT_JOB_BEGIN + 1 &&
                   HIA_EVENT_ROWS_END == HIA_EVENT_ROWS_BEGIN + 1 &&
                   HIA_EVENT_WAIT_END == HIA_EVENT_WAIT_BEGIN + 1 &&
                   HIA_EVENT_IDLE_END == HIA_EVENT_IDLE_BEGIN + 1,
               "slices come in pairs");

/* The flags of the job that an event is about; NULL if the job's promotion was dropped. */
static uint8_t *job_of(reading *r, const hia_event *e) {
  uint32_t owner = HIA_JOB_OWNER((uint64_t)e->what);
  if (owner == 0 || owner > r->n_tracks) return NULL;
  track *t = &r->tracks[owner - 1];
  uint64_t i = HIA_JOB_INDEX((uint64_t)e->what) - t->first_job;
  return i < t->n_jobs ? &t->jobs[i] : NULL;
}

/* ---- writing ---- */

static void put_time(reading *r, uint64_t at) {
  uint64_t ns = at > r->zero ? at - r->zero : 0;
  putf(r->out, "%llu.%03u", (unsigned long long)(ns / 1000), (unsigned)(ns % 1000));
}

/* The start of an event, up to its time; the caller ends it with "}". */
static void put_event(reading *r, const char *phase, uint32_t tid, uint64_t at) {
  putf(r->out, "%s{\"ph\":\"%s\",\"pid\":1,\"tid\":%u,\"ts\":", r->out->has_event ? ",\n" : "",
       phase, (unsigned)tid);
  r->out->has_event = true;
  put_time(r, at);
}

static const char *name_of(const reading *r, uint64_t i) {
  return i < r->timeline->n_names ? r->timeline->names[i] : "";
}

static void put_thread(reading *r, const hia_ring *ring) {
  if (ring->worker) {
    putf(r->out, "\"worker %u\"", ring->worker);
    return;
  }
  unsigned n = 1; /* among the threads that call runs */
  for (uint32_t i = 0; i + 1 < ring->number; i++) n += r->tracks[i].ring->worker == 0;
  if (n > 1)
    putf(r->out, "\"caller %u\"", n);
  else
    putf(r->out, "\"caller\"");
}

static void put_job(reading *r, const hia_event *e) {
  uint32_t owner = HIA_JOB_OWNER((uint64_t)e->what);
  if (owner == 0 || owner > r->n_tracks) return;
  putf(r->out,
       ",\"args\":{\"job\":%llu,\"of\":", (unsigned long long)HIA_JOB_INDEX((uint64_t)e->what));
  put_thread(r, r->tracks[owner - 1].ring);
  putf(r->out, "}");
}

/* The name of a job that has just begun: the function that it calls, which the next event holds. */
static const char *callee_of(const reading *r, const track *t, const hia_event *e) {
  const char *name = NULL;
  if (t->next < t->end && event_at(t, t->next)->kind == HIA_EVENT_CALLEE)
    name = hiaR_timeline_callee_at(r->timeline, event_at(t, t->next)->what, e->at);
  return name ? name : "job";
}

/* Rows are those of a segment or, in the interpreter, of an op. */
static void put_rows(reading *r, const hia_event *e) {
  unsigned segment = HIA_ROWS_SEGMENT(e->what), op = segment & ~HIA_ROWS_OF_OP;
  if (segment & HIA_ROWS_OF_OP)
    putf(r->out, ",\"args\":{\"op\":\"%s\"",
         op < HIA_OP_LIMIT && hiaR_ops[op].name ? hiaR_ops[op].name : "");
  else
    putf(r->out, ",\"args\":{\"segment\":%u", segment);
  putf(r->out, ",\"rows\":%u,\"wave\":%u}", HIA_ROWS_N(e->what), HIA_ROWS_ALL(e->what));
}

static void put_begin(reading *r, const track *t, const hia_event *e, uint64_t at, bool is_cut) {
  put_event(r, "B", t->ring->number, at);
  unsigned kind = is_cut ? e->kind - 1u : e->kind;
  switch (kind) {
  case HIA_EVENT_RUN_BEGIN:
    putf(r->out, ",\"cat\":\"run\",\"name\":\"run\"");
    if (is_cut) break;
    putf(r->out, ",\"args\":{\"function\":");
    put_string(r->out, name_of(r, e->what));
    putf(r->out, "}");
    break;
  case HIA_EVENT_WORK_BEGIN: putf(r->out, ",\"cat\":\"run\",\"name\":\"work\""); break;
  case HIA_EVENT_JOB_BEGIN:
    putf(r->out, ",\"cat\":\"job\",\"name\":");
    put_string(r->out, is_cut ? "job" : callee_of(r, t, e));
    put_job(r, e);
    break;
  case HIA_EVENT_ROWS_BEGIN:
    putf(r->out, ",\"cat\":\"batch\",\"name\":\"rows\"");
    put_rows(r, e);
    break;
  case HIA_EVENT_WAIT_BEGIN:
    putf(r->out, ",\"cat\":\"wait\",\"name\":\"wait\"");
    put_job(r, e);
    break;
  default: putf(r->out, ",\"cat\":\"idle\",\"name\":\"idle\""); break;
  }
  putf(r->out, "}");
}

static void put_end(reading *r, const track *t, uint64_t at, const hia_event *e) {
  put_event(r, "E", t->ring->number, at);
  if (e && e->kind == HIA_EVENT_RUN_END) {
    /* The interpreter's part of a run that has begun again in native code. */
    bool is_abandoned = e->what == HIA_AGAIN;
    const char *word = is_abandoned ? "abandoned" : hiaR_status_word((hia_status)e->what);
    putf(r->out, ",\"args\":{\"status\":\"%s\"}}", word);
    put_event(r, "i", t->ring->number, at);
    putf(r->out, ",\"s\":\"p\",\"cat\":\"run\",\"name\":\"%s\"", word);
  }
  putf(r->out, "}");
}

static void put_instant(reading *r, const track *t, const hia_event *e, const char *name) {
  put_event(r, "i", t->ring->number, e->at);
  putf(r->out, ",\"s\":\"t\",\"cat\":\"job\",\"name\":\"%s\"", name);
  put_job(r, e);
  putf(r->out, "}");
}

static void put_arrow(reading *r, const track *t, const hia_event *e, const char *name,
                      bool is_head) {
  put_event(r, is_head ? "f" : "s", t->ring->number, e->at);
  putf(r->out, ",\"id\":\"0x%llx\",\"cat\":\"%s\",\"name\":\"%s\"%s}", (unsigned long long)e->what,
       name, name, is_head ? ",\"bp\":\"e\"" : "");
}

/* ---- counters ---- */

static void put_counter(reading *r, counter *c, uint64_t at, double value) {
  if (c->is_shown && value == c->shown) return;
  c->is_shown = true;
  c->shown = value;
  putf(r->out, ",\n{\"ph\":\"C\",\"pid\":1,\"ts\":");
  put_time(r, at);
  putf(r->out, ",\"name\":\"%s\",\"args\":{\"value\":%.6g}}", c->name, value);
}

static void put_point(reading *r, uint64_t length) {
  uint64_t at = r->from + r->point * r->bin;
  put_counter(r, &r->busy_curve, at, (double)r->busy_ns / (double)(length ? length : 1));
  put_counter(r, &r->promotions_curve, at, (double)r->promoted);
  put_counter(r, &r->steals_curve, at, (double)r->stolen);
  r->busy_ns = 0;
  r->point++;
}

/* Advances to the time `at`, and writes the points that are complete. */
static void count_to(reading *r, uint64_t at) {
  while (at >= r->from + (r->point + 1) * r->bin) {
    uint64_t end = r->from + (r->point + 1) * r->bin;
    r->busy_ns += r->n_busy * (end - r->counted_to);
    r->counted_to = end;
    put_point(r, r->bin);
  }
  r->busy_ns += r->n_busy * (at - r->counted_to);
  r->counted_to = at;
}

static void set_busy(reading *r, track *t) {
  bool is_busy = false;
  if (t->n_open) {
    uint64_t i = t->open[t->n_open - 1];
    unsigned kind = event_at(t, i)->kind;
    if (is_end(kind)) kind--; /* cut off */
    is_busy = kind != HIA_EVENT_WAIT_BEGIN && kind != HIA_EVENT_IDLE_BEGIN;
  }
  if (is_busy == t->is_busy) return;
  t->is_busy = is_busy;
  if (is_busy)
    r->n_busy++;
  else
    r->n_busy--;
}

/* ---- the passes: the first has no output ---- */

static bool push(reading *r, uint64_t **data, size_t *n, size_t *cap, uint64_t i) {
  if (*n == *cap) {
    size_t new_cap = *cap ? *cap * 2 : 64;
    uint64_t *grown = hiaR_alloc(&r->allocator, new_cap * sizeof *grown);
    if (!grown) {
      r->status = HIA_MEMORY;
      return false;
    }
    if (*n) memcpy(grown, *data, *n * sizeof *grown);
    hiaR_free(&r->allocator, *data, *cap * sizeof *grown);
    *data = grown;
    *cap = new_cap;
  }
  (*data)[(*n)++] = i;
  return true;
}

static void close_until(reading *r, track *t, size_t n, uint64_t at) {
  for (; t->n_open > n; t->n_open--)
    if (r->out) put_end(r, t, at, NULL);
}

/* The index in `open` of the slice that the event ends; SIZE_MAX if it is not open. The caller then
 * closes the slices inside it too, so each open slice is searched once. */
static size_t find_open(const track *t, const hia_event *e) {
  for (size_t n = t->n_open; n-- > 0;) {
    const hia_event *b = event_at(t, t->open[n]);
    bool is_same_job = b->what == e->what || e->kind == HIA_EVENT_RUN_END;
    /* A slice whose begin was dropped is represented by its end. */
    if (b == e || (b->kind + 1u == e->kind && is_same_job)) return n;
  }
  return SIZE_MAX;
}

static void slice(reading *r, track *t, uint64_t i) {
  const hia_event *e = event_at(t, i);
  if (is_begin(e->kind)) {
    if (push(r, &t->open, &t->n_open, &t->cap_open, i) && r->out) put_begin(r, t, e, e->at, false);
    return;
  }
  size_t n = find_open(t, e);
  if (n == SIZE_MAX) { /* in the first pass only: start_track opens these for the second one */
    close_until(r, t, 0, e->at);
    if (!r->out) push(r, &t->cut, &t->n_cut, &t->cap_cut, i);
    return;
  }
  close_until(r, t, n + 1, e->at);
  t->n_open = n;
  if (r->out) put_end(r, t, e->at, e);
}

/* Draws one end of an arrow, once, if both ends are kept. */
static void draw(reading *r, const track *t, const hia_event *e, uint8_t *job, unsigned flag) {
  if (!r->out || *job & flag) return;
  *job |= (uint8_t)flag;
  put_arrow(r, t, e, flag == DRAWN_STOLEN ? "steal" : "result", flag != DRAWN_ENDED);
}

static void follow_job(reading *r, track *t, const hia_event *e) {
  uint8_t *job = job_of(r, e);
  if (!job) return;
  switch (e->kind) {
  case HIA_EVENT_PROMOTED:
    *job |= KEPT;
    if (r->out && *job & STOLEN) put_arrow(r, t, e, "steal", false);
    break;
  case HIA_EVENT_JOB_BEGIN:
  case HIA_EVENT_TAKEN:
    if (!r->out && *job & KEPT) *job |= STOLEN;
    if (*job & STOLEN) draw(r, t, e, job, DRAWN_STOLEN);
    break;
  case HIA_EVENT_JOB_END:
  case HIA_EVENT_DONE:
    *job |= ENDED;
    if (*job & JOINED) draw(r, t, e, job, DRAWN_ENDED);
    break;
  case HIA_EVENT_WAIT_END:
  case HIA_EVENT_BACK:
    if (!r->out && *job & ENDED) *job |= JOINED;
    if (*job & DRAWN_ENDED) draw(r, t, e, job, DRAWN_JOINED);
    break;
  default: break;
  }
}

static void advance(reading *r, track *t) {
  uint64_t i = t->next++;
  const hia_event *e = event_at(t, i);
  if (r->out) count_to(r, e->at);
  /* The viewer attaches an arrow to the slice that is open, which has to be the job's: arrows are
   * drawn before the slice's end and after its begin. */
  if (is_end(e->kind)) follow_job(r, t, e);
  if (is_begin(e->kind) || is_end(e->kind)) slice(r, t, i);
  set_busy(r, t);
  if (r->out) {
    if (e->kind == HIA_EVENT_PROMOTED) put_instant(r, t, e, "promote");
    if (e->kind == HIA_EVENT_TAKEN_BACK) put_instant(r, t, e, "take back");
    if (e->kind == HIA_EVENT_TAKEN) put_instant(r, t, e, "take");
    if (e->kind == HIA_EVENT_DONE) put_instant(r, t, e, "give back");
    if (e->kind == HIA_EVENT_BACK) put_instant(r, t, e, "result");
  }
  if (!is_end(e->kind)) follow_job(r, t, e);
  r->promoted += e->kind == HIA_EVENT_PROMOTED;
  r->stolen += e->kind == HIA_EVENT_JOB_BEGIN || e->kind == HIA_EVENT_TAKEN;
}

static bool is_before(const reading *r, uint32_t a, uint32_t b) {
  const track *x = &r->tracks[a], *y = &r->tracks[b];
  uint64_t at_x = event_at(x, x->next)->at, at_y = event_at(y, y->next)->at;
  return at_x < at_y || (at_x == at_y && a < b);
}

static void sift(reading *r, uint32_t i) {
  for (;;) {
    uint32_t first = i;
    for (uint32_t child = 2 * i + 1; child <= 2 * i + 2 && child < r->n_heap; child++)
      if (is_before(r, r->heap[child], r->heap[first])) first = child;
    if (first == i) return;
    uint32_t other = r->heap[i];
    r->heap[i] = r->heap[first];
    r->heap[first] = other;
    i = first;
  }
}

static void start_track(reading *r, track *t) {
  t->next = first_event(t->ring);
  t->n_open = 0;
  t->is_busy = false;
  uint64_t at = event_at(t, t->next)->at;
  /* The slice that ends last is the outermost. */
  for (size_t i = t->n_cut; i-- > 0;) {
    if (!push(r, &t->open, &t->n_open, &t->cap_open, t->cut[i])) return;
    if (r->out) put_begin(r, t, event_at(t, t->cut[i]), at, true);
  }
}

static void pass(reading *r) {
  r->n_heap = 0;
  r->n_busy = 0;
  /* The curves begin with the number of dropped events: all without those of the first pass. */
  r->promoted = r->out ? r->all_promoted - r->promoted : 0;
  r->stolen = r->out ? r->all_stolen - r->stolen : 0;
  for (uint32_t i = 0; i < r->n_tracks; i++) {
    track *t = &r->tracks[i];
    if (first_event(t->ring) == t->end) continue;
    start_track(r, t);
    r->heap[r->n_heap++] = i;
  }
  for (uint32_t i = r->n_heap / 2; i-- > 0;) sift(r, i);
  while (r->n_heap && !r->status && !(r->out && r->out->is_stopped)) {
    track *t = &r->tracks[r->heap[0]];
    advance(r, t);
    if (t->next == t->end) {
      close_until(r, t, 0, event_at(t, t->end - 1)->at);
      set_busy(r, t);
      r->heap[0] = r->heap[--r->n_heap];
    }
    sift(r, 0);
  }
}

/* ---- the compiler's phases ---- */

/* Several threads may compile at once: each phase gets the first of the compiler's tracks that is
 * free. Returns the number of tracks; track[i] is the track of spans[order[i]]. */
static uint32_t assign_tracks(reading *r, uint32_t *order, uint32_t *numbers, uint64_t *until) {
  const hia_span *spans = r->timeline->spans;
  uint32_t n = r->timeline->n_spans, n_tracks = 0;
  for (uint32_t i = 0; i < n; i++) { /* insertion sort: they are nearly in order */
    uint32_t at = i;
    for (; at > 0 && spans[order[at - 1]].begin > spans[i].begin; at--) order[at] = order[at - 1];
    order[at] = i;
  }
  for (uint32_t i = 0; i < n; i++) {
    uint32_t k = 0;
    while (k < n_tracks && until[k] > spans[order[i]].begin) k++;
    if (k == n_tracks) n_tracks++;
    until[k] = spans[order[i]].end;
    numbers[i] = k;
  }
  return n_tracks;
}

static uint32_t put_spans(reading *r) {
  uint32_t n = r->timeline->n_spans;
  size_t size = (size_t)n * (2 * sizeof(uint32_t) + sizeof(uint64_t));
  if (n == 0) return 0;
  uint64_t *until = hiaR_alloc(&r->allocator, size);
  if (!until) {
    r->status = HIA_MEMORY;
    return 0;
  }
  uint32_t *order = (uint32_t *)(until + n), *numbers = order + n;
  uint32_t n_tracks = assign_tracks(r, order, numbers, until);
  for (uint32_t i = 0; i < n; i++) {
    const hia_span *s = &r->timeline->spans[order[i]];
    uint32_t tid = r->n_tracks + 1 + numbers[i];
    put_event(r, "B", tid, s->begin);
    putf(r->out, ",\"cat\":\"compile\",\"name\":\"%s\"", s->name);
    if (s->of != HIA_NONE) {
      putf(r->out, ",\"args\":{\"of\":");
      put_string(r->out, name_of(r, s->of));
      putf(r->out, "}");
    }
    putf(r->out, "}");
    put_event(r, "E", tid, s->end);
    putf(r->out, "}");
  }
  hiaR_free(&r->allocator, until, size);
  return n_tracks;
}

/* ---- the whole file ---- */

static void put_track_name(reading *r, uint32_t tid, int rank, const hia_ring *ring, uint32_t n) {
  put_event(r, "M", tid, r->zero);
  putf(r->out, ",\"name\":\"thread_name\",\"args\":{\"name\":");
  if (ring)
    put_thread(r, ring);
  else if (n == 0)
    putf(r->out, "\"compiler\"");
  else
    putf(r->out, "\"compiler %u\"", (unsigned)n + 1);
  putf(r->out, "}}");
  put_event(r, "M", tid, r->zero);
  putf(r->out, ",\"name\":\"thread_sort_index\",\"args\":{\"sort_index\":%d}}", rank);
}

/* Chrome's viewer nests slices by whole microseconds unless the unit says ns. Perfetto ignores it.
 */
static void put_totals(reading *r) {
  putf(r->out, "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"producer\":\"hiaton %s\",",
       HIA_BUILD_VERSION);
  putf(r->out, "\"events\":%llu,\"dropped\":%llu,\"promotions\":%llu,\"steals\":%llu,",
       (unsigned long long)r->events, (unsigned long long)r->dropped,
       (unsigned long long)r->all_promoted, (unsigned long long)r->all_stolen);
  putf(r->out, "\"threads without memory\":%llu},\n\"traceEvents\":[\n",
       (unsigned long long)r->timeline->lost_rings);
}

static void write_all(reading *r) {
  put_totals(r);
  put_event(r, "M", 1, r->zero); /* Perfetto keeps thread 0 for the kernel's idle task */
  putf(r->out, ",\"name\":\"process_name\",\"args\":{\"name\":\"hiaton\"}}");
  uint32_t n_compilers = put_spans(r);
  for (uint32_t i = 0; i < n_compilers; i++)
    put_track_name(r, r->n_tracks + 1 + i, (int)i, NULL, i);
  for (uint32_t i = 0; i < r->n_tracks; i++) {
    const hia_ring *ring = r->tracks[i].ring;
    if (n_events(ring)) put_track_name(r, ring->number, (int)(n_compilers + ring->worker), ring, 0);
  }
  pass(r);
  if (r->events && !r->status) {
    put_point(r, r->counted_to - (r->from + r->point * r->bin));
    put_counter(r, &r->busy_curve, r->counted_to, 0);
  }
  putf(r->out, "\n]}\n");
  flush(r->out);
}

/* Finds the times of the first and the last event, and the promotions that each ring has kept.
 * False if there is no memory. */
static bool prepare(reading *r, hia_timeline *timeline) {
  /* The threads that made rings held the lock: taking it makes their writes visible here. */
  pthread_mutex_lock(&timeline->lock);
  pthread_mutex_unlock(&timeline->lock);
  uint64_t first = UINT64_MAX, last = 0;
  r->n_tracks = timeline->n_rings;
  size_t n = r->n_tracks ? r->n_tracks : 1;
  r->tracks = hiaR_alloc(&r->allocator, n * sizeof *r->tracks);
  r->heap = hiaR_alloc(&r->allocator, n * sizeof *r->heap);
  if (!r->tracks || !r->heap) return false;
  for (const hia_ring *ring = timeline->rings; ring; ring = ring->next) {
    track *t = &r->tracks[ring->number - 1];
    t->ring = ring;
    t->end = n_events(ring);
    r->events += t->end;
    r->dropped += first_event(ring);
    r->all_promoted += ring->totals[HIA_EVENT_PROMOTED];
    r->all_stolen += ring->totals[HIA_EVENT_JOB_BEGIN] + ring->totals[HIA_EVENT_TAKEN];
    for (uint64_t i = first_event(ring); i < t->end; i++) {
      const hia_event *e = event_at(t, i);
      if (e->at < first) first = e->at;
      if (e->at > last) last = e->at;
      t->n_jobs += e->kind == HIA_EVENT_PROMOTED;
    }
    t->first_job = ring->totals[HIA_EVENT_PROMOTED] - t->n_jobs + 1;
    t->jobs = hiaR_alloc(&r->allocator, t->n_jobs ? t->n_jobs : 1);
    if (!t->jobs) return false;
  }
  r->from = r->counted_to = r->zero = first;
  r->bin = last > first ? (last - first) / MAX_BINS + 1 : 1;
  if (r->bin < 1000) r->bin = 1000;
  for (uint32_t i = 0; i < timeline->n_spans; i++)
    if (timeline->spans[i].begin < r->zero) r->zero = timeline->spans[i].begin;
  return true;
}

static void tidy_up(reading *r) {
  const hia_allocator *a = &r->allocator;
  size_t n = r->n_tracks ? r->n_tracks : 1;
  for (uint32_t i = 0; r->tracks && i < r->n_tracks; i++) {
    track *t = &r->tracks[i];
    hiaR_free(a, t->open, t->cap_open * sizeof *t->open);
    hiaR_free(a, t->cut, t->cap_cut * sizeof *t->cut);
    hiaR_free(a, t->jobs, t->n_jobs ? t->n_jobs : 1);
  }
  hiaR_free(a, r->tracks, n * sizeof *r->tracks);
  hiaR_free(a, r->heap, n * sizeof *r->heap);
}

static hia_status fail(const hia_allocator *allocator, hia_error **error, hia_status status,
                       const char *message) {
  return hiaR_fail_message(allocator, error, status, &(hia_message){.message = message});
}

hia_status hia_timeline_write(hia_timeline *timeline, hia_write write, void *user,
                              hia_error **error) {
  if (error) *error = NULL;
  if (!timeline || !write)
    return fail(&hiaR_malloc, error, HIA_ARGUMENT, timeline ? "no write function" : "no timeline");
  if (!hiaR_timeline_open(timeline, true))
    return fail(&timeline->allocator, error, HIA_ARGUMENT,
                "the timeline is in use: a run writes to it");
  reading r = {.timeline = timeline,
               .allocator = timeline->allocator,
               .busy_curve.name = "busy workers",
               .promotions_curve.name = "promotions",
               .steals_curve.name = "steals"};
  output out = {.write = write, .user = user};
  if (prepare(&r, timeline))
    pass(&r);
  else
    r.status = HIA_MEMORY;
  if (!r.status) {
    r.out = &out;
    write_all(&r);
    if (!r.status && out.is_stopped) r.status = HIA_IO;
  }
  tidy_up(&r);
  hiaR_timeline_close(timeline, true);
  if (r.status == HIA_OK) return HIA_OK;
  return fail(&timeline->allocator, error, r.status,
              r.status == HIA_IO ? "the timeline could not be written" : "out of memory");
}
