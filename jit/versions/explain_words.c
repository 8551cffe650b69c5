/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* What is known of versions, as sentences. */
#include "jit/versions/explain.h"

/* ---- words of the arguments ---- */

/* "the last look", "the last 3 looks". */
static const char *looks(hia_told *t, uint32_t n) {
  return n == 1 ? "the last look" : hiaR_arena_printf(&t->comp.arena, "the last %u looks", n);
}

/* "once", "3 times". */
static const char *times(hia_told *t, uint32_t n) {
  return n == 1 ? "once" : hiaR_arena_printf(&t->comp.arena, "%u times", n);
}

/* What the looks have shown of a word that is not steady; its subject is the word. */
static const char *unsteady(hia_told *t, const hia_told_word *w) {
  hia_arena *arena = &t->comp.arena;
  const hia_evidence *e = &w->evidence;
  const char *range = w->least ? hiaR_arena_printf(arena, ": %s to %s", w->least, w->most) : "";
  switch (e->why) {
  case HIA_WHY_FEW:
    return hiaR_arena_printf(arena, "was the same in %s only, and %u are needed", looks(t, e->n),
                             t->steady);
  case HIA_WHY_FEW_SEEN:
    return hiaR_arena_printf(arena, "was an object that was seen %s, and %u times are needed",
                             times(t, e->n), t->steady);
  case HIA_WHY_DIFFERS: return hiaR_arena_printf(arena, "differs in every look%s", range);
  case HIA_WHY_VARIES: return hiaR_arena_printf(arena, "varied %s%s", times(t, e->n), range);
  case HIA_WHY_MANY:
    return hiaR_arena_printf(arena, "has more than %u objects in turn", (unsigned)HIA_SEEN_OBJECTS);
  case HIA_WHY_NO_OBJECT: return "is a constructor without fields";
  case HIA_WHY_LARGE:
    return hiaR_arena_printf(arena, "has more than %u objects", (unsigned)HIA_MAX_OBJECTS);
  default: return "was left out by a test";
  }
}

/* What would have to be there for an assumption to be of use (hiaG_find_lasting). */
static const char *no_use(hia_assumption_kind asked) {
  switch (asked) {
  case HIA_ASSUME_WORD: return "no loop computes with it and no recursive function hands it on";
  case HIA_ASSUME_THIS: return "no call in a loop gets it and no recursive function hands it on";
  default: return "no loop reads it and no recursive function hands it on";
  }
}

static const char *nothing(hia_told *t, const hia_told_version *v, const hia_told_word *w) {
  bool is_other = v->is_narrow || w->evidence.why == HIA_WHY_RECALLED;
  if (is_other && !w->evidence.taken_back) return "is not assumed here";
  switch (w->evidence.taken_back) {
  case HIA_BACK_NO_USE:
    return hiaR_arena_printf(&t->comp.arena, "is not assumed: it would be of no use, as %s",
                             no_use(w->asked));
  case HIA_BACK_GRADIENTS:
    return "is not assumed: gradients are computed, and no branch may be decided before";
  default: return hiaR_arena_printf(&t->comp.arena, "is not assumed: it %s", unsteady(t, w));
  }
}

static const char *so(hia_told *t, const hia_told_word *w) {
  if (w->evidence.why == HIA_WHY_RECALLED) return "so in another process, says the cache";
  return hiaR_arena_printf(&t->comp.arena, "so in %s", looks(t, w->evidence.n));
}

/* What is assumed of the sizes alone. */
static const char *sizes(hia_told *t, const hia_told_version *v, const hia_told_word *w) {
  const char *so_in = so(t, w), *besides = "", *why = "";
  if (v->outcome == HIA_SPECIAL_FAILED) {
    besides = "; that alone is of no use";
  } else if (w->evidence.taken_back == HIA_BACK_NO_USE) {
    besides = "; as a param it would be of no use, as ";
    why = no_use(w->asked);
  }
  return hiaR_arena_printf(&t->comp.arena, "has the sizes %s: %s%s%s", w->what, so_in, besides,
                           why);
}

const char *hiaJ_told_assumption(hia_told *t, const hia_told_version *v, const hia_told_word *w) {
  hia_arena *arena = &t->comp.arena;
  const char *so_in = so(t, w);
  switch (w->kind) {
  case HIA_ASSUME_WORD: return hiaR_arena_printf(arena, "is %s: %s", w->what, so_in);
  case HIA_ASSUME_THIS:
    return hiaR_arena_printf(arena, "is this object, %s: seen %s", w->what,
                             times(t, w->evidence.n));
  case HIA_ASSUME_SIZES: return sizes(t, v, w);
  case HIA_ASSUME_PARAM:
    return hiaR_arena_printf(arena, "is read as a param of the run, %s: %s", w->what, so_in);
  default: return nothing(t, v, w);
  }
}

const char *hiaJ_told_look(hia_told *t, const hia_told_word *w) {
  hia_arena *arena = &t->comp.arena;
  uint32_t n = w->evidence.n;
  switch (w->kind) {
  case HIA_ASSUME_WORD: return hiaR_arena_printf(arena, "was %s in %s", w->what, looks(t, n));
  case HIA_ASSUME_SIZES:
    return hiaR_arena_printf(arena, "had the sizes %s in %s", w->what, looks(t, n));
  case HIA_ASSUME_THIS:
    return hiaR_arena_printf(arena, "was an object that was seen %s", times(t, n));
  default: return unsteady(t, w);
  }
}

/* ---- versions ---- */

double hiaJ_told_gain(const hia_told *t, const hia_told_version *v, const char **than) {
  const hia_timed *of = t->native.n ? &t->native : &t->interpreted;
  bool is_known = of->n && v->timed.ns;
  *than = !is_known ? NULL : t->native.n ? "native" : "interpreted";
  return is_known ? hiaJ_mean(*of) / hiaJ_mean(v->timed) : 0;
}

const char *hiaJ_told_hindrance(hia_told *t) {
  hia_arena *arena = &t->comp.arena;
  switch (t->hindrance) {
  case HIA_HINDRANCE_NO_LOOK:
    return t->n_versions ? "no run of the general version was looked at since"
                         : "no run was looked at so far";
  case HIA_HINDRANCE_FEW_LOOKS:
    return hiaR_arena_printf(arena, "%u run%s looked at, and %u are needed", t->n_looks,
                             t->n_looks == 1 ? " was" : "s were", t->steady);
  case HIA_HINDRANCE_TIME:
    return hiaR_arena_printf(
        arena,
        "all runs together have taken about %.3f ms, and compiling all versions takes %.3f ms",
        (double)t->runs_ns / 1e6, (double)t->compile_ns / 1e6);
  case HIA_HINDRANCE_OBSERVE: return "runs are to be observed first";
  case HIA_HINDRANCE_NOT_STEADY: return "no argument is steady";
  case HIA_HINDRANCE_KNOWN: return "what is steady was assumed before";
  case HIA_HINDRANCE_MAKING: return "one is being made";
  case HIA_HINDRANCE_FULL:
    return "there are as many as there may be, which is the most: a further one takes the place of "
           "one that no run uses";
  case HIA_HINDRANCE_MEMORY: return "there was no memory";
  case HIA_HINDRANCE_ENGINE: return "engines of this kind make none";
  case HIA_HINDRANCE_OFF: return "the engine's option `speculate` is off";
  case HIA_HINDRANCE_GRAPH: return "the module was read as a graph";
  case HIA_HINDRANCE_LOSS: return "the function computes gradients for the host";
  case HIA_HINDRANCE_NO_ARGUMENTS: return "the function takes no arguments";
  case HIA_HINDRANCE_NO_NATIVE: return "there is no native code of the function";
  default: return "a run is being looked at";
  }
}
