/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* What runs were observed to do, of use for an object (graph/assume/prefer.h).
 *
 * A point of a profile is one of the program if it has the same function, line, column, name and
 * type. It comes from a file, so nothing is taken for granted of it but that its texts end. */
#include "graph/assume/prefer.h"
#include "jit/engine/build.h"
#include "jit/versions/observe.h"
#include <errno.h>
#include <stdlib.h>

/* A point of a function that hosts call need have been seen once only. */
enum { OFTEN = HIA_OBSERVED_ENOUGH };

static const char *text_or(const char *text) { return text ? text : ""; }

static int by_place(const void *a, const void *b) {
  const hia_observed_point *x = *(const hia_observed_point *const *)a,
                           *y = *(const hia_observed_point *const *)b;
  if (x->line != y->line) return x->line < y->line ? -1 : 1;
  return x->column < y->column ? -1 : x->column > y->column;
}

/* ---- values ---- */

static bool read_number(const char *text, hia_type type, hia_word *word) {
  char *end;
  errno = 0;
  long long n = strtoll(text, &end, 10);
  if (end == text || *end || errno) return false;
  if (type == HIA_I32 && (n < INT32_MIN || n > INT32_MAX)) return false;
  *word = hiaR_from_i64(n);
  return true;
}

/* "f32[4, 150]". */
static bool read_sizes(const char *text, uint32_t rank, hia_dims *dims) {
  const char *at = strchr(text, '[');
  *dims = (hia_dims){.rank = rank};
  for (uint32_t i = 0; i < rank; i++) {
    char *end;
    errno = 0;
    if (!at) return false;
    long long n = strtoll(at + 1, &end, 10);
    if (end == at + 1 || errno || n < 0 || *end != (i + 1 < rank ? ',' : ']')) return false;
    dims->dims[i] = n;
    at = end;
  }
  return at && at[1] == 0;
}

static bool is_constant(const hia_building *b, const hia_point *point,
                        const hia_observed_point *seen, hia_preference *out) {
  hia_type type = point->type;
  if (type == HIA_BOOL) {
    out->word = seen->times_true != 0;
    return seen->times_true == 0 || seen->times_true == seen->times;
  }
  if (!seen->least || !seen->most || strcmp(seen->least, seen->most) != 0) return false;
  if (type == HIA_I32 || type == HIA_I64) return read_number(seen->least, type, &out->word);
  bool is_tensor = hiaG_type_kind(&b->types, type) == HIA_KIND_TENSOR;
  return is_tensor && read_sizes(seen->least, hiaG_rank(&b->types, type), &out->dims);
}

/* ---- points ---- */

static bool is_it(const hia_point_place *place, const hia_observed_point *seen) {
  if (seen->size < sizeof *seen || seen->of != hiaJ_point_of(place->kind) ||
      strcmp(text_or(seen->function), place->fn) != 0 ||
      strcmp(text_or(seen->parameter), text_or(place->name)) != 0 ||
      (place->kind == HIA_POINT_PARAM && !text_or(place->name)[0]))
    return false;
  return strcmp(text_or(seen->type), place->type_text) == 0;
}

/* The point of the profile that stands there; NULL: it has none, or several. */
static const hia_observed_point *find(hia_building *b, const hia_observed_point *const *sorted,
                                      size_t n, const hia_point *point) {
  const hia_point_place place = hiaJ_point_place(b->module, b->native, point);
  const hia_observed_point *found = NULL;
  size_t low = 0, high = n;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    const hia_observed_point *p = sorted[middle];
    bool is_before = p->line != place.line ? p->line < place.line : p->column < place.col;
    if (is_before)
      low = middle + 1;
    else
      high = middle;
  }
  for (; low < n && sorted[low]->line == place.line && sorted[low]->column == place.col; low++) {
    if (!is_it(&place, sorted[low])) continue;
    if (found) return NULL;
    found = sorted[low];
  }
  return found;
}

static bool is_of_use(const hia_building *b, const hia_point *point,
                      const hia_observed_point *seen) {
  bool is_root = hiaG_fn(b->native, point->fn)->is_root && point->kind == HIA_POINT_PARAM;
  return point->kind != HIA_POINT_BRANCH && seen && seen->changes == 0 &&
         seen->times >= (is_root ? 1 : OFTEN);
}

/* ---- for tests ---- */

/* Something small, and mostly wrong. */
static void guess(const hia_building *b, const hia_point *point, uint64_t random,
                  hia_preference *out) {
  out->word = random & 3;
  if (point->type == HIA_BOOL) out->word &= 1;
  if (hiaG_type_kind(&b->types, point->type) != HIA_KIND_TENSOR) return;
  out->dims.rank = hiaG_rank(&b->types, point->type);
  for (uint32_t i = 0; i < out->dims.rank; i++) out->dims.dims[i] = random >> (4 + 2 * i) & 3;
}

static bool may_guess(const hia_building *b, const hia_point *point) {
  hia_type type = point->type;
  return point->kind != HIA_POINT_BRANCH &&
         (type == HIA_BOOL || type == HIA_I32 || type == HIA_I64 ||
          hiaG_type_kind(&b->types, type) == HIA_KIND_TENSOR);
}

void hiaJ_build_guesses(hia_building *b, uint32_t seed) {
  hia_point *points;
  uint32_t n = hiaG_points(b->native, &points), n_all = 0;
  hia_preference *all = HIA_NEW_ARRAY(&b->comp.arena, hia_preference, (size_t)n + 1);
  for (uint32_t i = 0; i < n; i++) {
    uint64_t random = hiaR_mix(seed, i);
    if (!may_guess(b, &points[i]) || random >> 60 < 8) continue;
    all[n_all].point = i;
    guess(b, &points[i], random, &all[n_all++]);
  }
  hiaG_prefer(b->native, points, all, n_all);
}

/* ---- profiles ---- */

hia_status hiaJ_build_profile(hia_building *b, hia_error **error) {
  const hia_allocator *allocator = &b->module->engine->allocator;
  hia_arena *arena = &b->comp.arena;
  size_t n_seen = b->options->n_points;
  if (!b->options->points)
    return hiaJ_fail(allocator, error, HIA_ARGUMENT, NULL, "no points of a profile");
  if (!b->module->program || hiaJ_build_has(b, HIA_BUILD_FUEL))
    return hiaJ_fail(allocator, error, HIA_UNSUPPORTED, NULL,
                     "what was observed is not used for %s",
                     b->module->program ? "code with fuel" : "a graph that was read");
  const hia_observed_point **sorted = HIA_NEW_ARRAY(arena, const hia_observed_point *, n_seen);
  for (size_t i = 0; i < n_seen; i++) sorted[i] = &b->options->points[i];
  qsort(sorted, n_seen, sizeof *sorted, by_place);
  hia_point *points;
  uint32_t n = hiaG_points(b->native, &points), n_all = 0;
  hia_preference *all = HIA_NEW_ARRAY(arena, hia_preference, (size_t)n + 1);
  for (uint32_t i = 0; i < n; i++) {
    const hia_observed_point *seen = find(b, sorted, n_seen, &points[i]);
    all[n_all].point = i;
    if (is_of_use(b, &points[i], seen) && is_constant(b, &points[i], seen, &all[n_all])) n_all++;
  }
  hiaG_prefer(b->native, points, all, n_all);
  return HIA_OK;
}
