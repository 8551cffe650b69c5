/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* What is told of versions, as lines of text. */
#include "jit/versions/explain.h"

static const char *plural(uint64_t n) { return n == 1 ? "" : "s"; }

static void put_time(hia_text *out, const char *who, hia_timed timed) {
  hiaR_text_addf(out, "  %s took %.3f ms, the mean of %llu run%s", who, hiaJ_mean(timed) / 1e6,
                 (unsigned long long)timed.n, plural(timed.n));
}

static void put_general(const hia_told *t, hia_text *out) {
  hiaR_text_addf(out, "%s: %llu run%s\n", t->function->signature, (unsigned long long)t->n_runs,
                 plural(t->n_runs));
  hiaR_text_addf(out, "general version: %llu run%s, of which %u %s looked at\n",
                 (unsigned long long)t->n_general, plural(t->n_general), t->n_looks,
                 t->n_looks == 1 ? "was" : "were");
  if (t->observed.n)
    hiaR_text_addf(out, "  %llu of them %s observed, for %.3f ms\n",
                   (unsigned long long)t->observed.n, t->observed.n == 1 ? "was" : "were",
                   (double)t->observed.ns / 1e6);
  if (t->native.n) {
    put_time(out, "native code", t->native);
    hiaR_text_addf(out, "\n");
  }
  if (t->interpreted.n) {
    put_time(out, "the interpreter", t->interpreted);
    hiaR_text_addf(out, "\n");
  }
}

static void put_gain(const hia_told *t, const hia_told_version *v, hia_text *out) {
  const char *than;
  double gain = hiaJ_told_gain(t, v, &than);
  put_time(out, "it", v->timed);
  if (than)
    hiaR_text_addf(out, ": %.2f times as fast as %s", gain,
                   t->native.n ? "the general version" : "the interpreter");
  hiaR_text_addf(out, "\n");
}

static void put_misfits(const hia_told *t, const hia_told_version *v, hia_text *out) {
  hiaR_text_addf(out, "  %llu run%s did not fit it", (unsigned long long)v->n_unfit,
                 plural(v->n_unfit));
  if (v->misfit_what)
    hiaR_text_addf(out, "; in run %llu %s was %s", (unsigned long long)v->misfit.run,
                   t->names[v->misfit.at], v->misfit_what);
  hiaR_text_addf(out, "\n");
}

static void put_made(const hia_told *t, const hia_told_version *v, hia_text *out) {
  hiaR_text_addf(out, "  it was compiled in %.3f ms\n", (double)v->compile_ns / 1e6);
  hiaR_text_addf(out, "  %llu run%s used it\n", (unsigned long long)v->n_used, plural(v->n_used));
  if (v->timed.n) put_gain(t, v, out);
  if (v->n_unfit) put_misfits(t, v, out);
}

static void put_facts(const hia_told_version *v, hia_text *out) {
  for (uint32_t i = 0; i < v->n_facts; i++) {
    const hia_told_fact *f = &v->facts[i];
    hiaR_text_addf(out, "  %s %s: so ", f->where, f->what);
    if (f->n)
      hiaR_text_addf(out, "%llu time%s", (unsigned long long)f->n, plural(f->n));
    else
      hiaR_text_addf(out, "in another process, says the cache");
    if (f->n_failed)
      hiaR_text_addf(out, "; not so in %llu run%s, which began again",
                     (unsigned long long)f->n_failed, plural(f->n_failed));
    hiaR_text_addf(out, "\n");
  }
}

static void put_version(hia_told *t, const hia_told_version *v, hia_text *out) {
  hiaR_text_addf(out, "\nversion %u ", (unsigned)v->number);
  if (v->outcome == HIA_SPECIAL_MAKING)
    hiaR_text_addf(out, "is being made\n");
  else if (v->outcome == HIA_SPECIAL_FAILED)
    hiaR_text_addf(out, "could not be made: %s\n", v->reason);
  else if (v->outcome >= HIA_SPECIAL_LEFT)
    hiaR_text_addf(out, "was freed, since %s\n",
                   v->is_retired ? "what it assumed did not hold, or was of no use"
                                 : "no run had used it for long");
  else
    hiaR_text_addf(out, "was made after run %llu\n", (unsigned long long)v->made_after);
  for (uint32_t i = 0; v->words && i < t->function->n_param_words; i++)
    hiaR_text_addf(out, "  %s %s\n", t->names[i], hiaJ_told_assumption(t, v, &v->words[i]));
  put_facts(v, out);
  if (v->words && v->is_retired)
    hiaR_text_addf(out, "  no run uses it any more, since this did not hold\n");
  if (v->is_narrow)
    hiaR_text_addf(
        out,
        "  nothing is batched: waves had few rows, or took little of the time, in earlier runs\n");
  if (v->outcome == HIA_SPECIAL_MADE) put_made(t, v, out);
}

static void put_looks(hia_told *t, hia_text *out) {
  if (!t->words || t->hindrance == HIA_HINDRANCE_FULL) return;
  hiaR_text_addf(out, "\nthe arguments, in %u look%s:\n", t->n_looks, plural(t->n_looks));
  for (uint32_t i = 0; i < t->function->n_param_words; i++)
    hiaR_text_addf(out, "  %s %s\n", t->names[i], hiaJ_told_look(t, &t->words[i]));
}

static void put_end(hia_told *t, hia_text *out) {
  const char *why = hiaJ_told_hindrance(t);
  if (!t->n_versions)
    hiaR_text_addf(out, "\nno version assumes anything of arguments: %s\n", why);
  else if (t->hindrance == HIA_HINDRANCE_FULL)
    hiaR_text_addf(out,
                   "\n%u versions, made or tried, which is the most: a further one takes the place "
                   "of one that no run uses\n",
                   (unsigned)t->n_versions);
  else
    hiaR_text_addf(out, "\n%u of at most %u versions made or tried; no further one: %s\n",
                   (unsigned)t->n_versions, (unsigned)HIA_MAX_SPECIALS, why);
}

void hiaJ_told_text(hia_told *t, hia_text *out) {
  put_general(t, out);
  for (uint32_t i = 0; i < t->n_versions; i++) put_version(t, &t->versions[i], out);
  put_looks(t, out);
  put_end(t, out);
}
