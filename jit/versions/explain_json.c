/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* What is told of versions, as JSON: docs/speculation.md lists the fields. */
#include "jit/versions/explain.h"
#include <string.h>

enum { SCHEMA = 1 };

/* ---- JSON, indented by 2 ---- */

typedef struct writer {
  hia_text *out;
  unsigned depth;
  bool has_item; /* what is open has one already */
} writer;

static void begin_line(writer *w) { hiaR_text_addf(w->out, "\n%*s", (int)(2 * w->depth), ""); }

/* Begins an item; `name`: NULL in an array. */
static void begin_item(writer *w, const char *name) {
  if (w->has_item) hiaR_text_addf(w->out, ",");
  if (w->depth) begin_line(w);
  if (name) hiaR_text_addf(w->out, "\"%s\": ", name);
  w->has_item = true;
}

static void open(writer *w, const char *name, char bracket) {
  begin_item(w, name);
  hiaR_text_addf(w->out, "%c", bracket);
  w->depth++;
  w->has_item = false;
}

static void shut(writer *w, char bracket) {
  w->depth--;
  if (w->has_item) begin_line(w);
  hiaR_text_addf(w->out, "%c", bracket);
  w->has_item = true;
}

static void put_number(writer *w, const char *name, uint64_t number) {
  begin_item(w, name);
  hiaR_text_addf(w->out, "%llu", (unsigned long long)number);
}

static void put_bool(writer *w, const char *name, bool x) {
  begin_item(w, name);
  hiaR_text_addf(w->out, x ? "true" : "false");
}

static void put_null(writer *w, const char *name) {
  begin_item(w, name);
  hiaR_text_addf(w->out, "null");
}

/* NULL, and what is not UTF-8, becomes null. */
static void put_text(writer *w, const char *name, const char *text) {
  size_t n = text ? strlen(text) : 0;
  if (!text || hiaR_find_invalid_utf8(text, n) != n) {
    put_null(w, name);
    return;
  }
  begin_item(w, name);
  hiaR_text_addf(w->out, "\"");
  for (size_t i = 0; i < n; i++) {
    if ((unsigned char)text[i] < ' ')
      hiaR_text_addf(w->out, "\\u%04x", (unsigned)text[i]);
    else
      hiaR_text_addf(w->out, text[i] == '"' || text[i] == '\\' ? "\\%c" : "%c", text[i]);
  }
  hiaR_text_addf(w->out, "\"");
}

/* ---- names ---- */

static const char *const kinds[] = {[HIA_ASSUME_NOTHING] = NULL,
                                    [HIA_ASSUME_WORD] = "value",
                                    [HIA_ASSUME_THIS] = "object",
                                    [HIA_ASSUME_SIZES] = "sizes",
                                    [HIA_ASSUME_PARAM] = "param"};
static const char *const reasons[] = {
    [HIA_WHY_SAME] = "same",         [HIA_WHY_SEEN] = "seen",
    [HIA_WHY_FEW] = "few-looks",     [HIA_WHY_FEW_SEEN] = "seldom-seen",
    [HIA_WHY_DIFFERS] = "differs",   [HIA_WHY_VARIES] = "varies",
    [HIA_WHY_MANY] = "many-objects", [HIA_WHY_NO_OBJECT] = "no-object",
    [HIA_WHY_LARGE] = "large",       [HIA_WHY_LEFT_OUT] = "left-out",
    [HIA_WHY_RECALLED] = "recalled"};
static const char *const backs[] = {
    [HIA_BACK_NOT] = NULL, [HIA_BACK_NO_USE] = "no-use", [HIA_BACK_GRADIENTS] = "gradients"};
static const char *const states[] = {[HIA_SPECIAL_MAKING] = "making",
                                     [HIA_SPECIAL_MADE] = "made",
                                     [HIA_SPECIAL_FAILED] = "failed",
                                     [HIA_SPECIAL_LEFT] = "freed",
                                     [HIA_SPECIAL_GONE] = "freed"};
static const char *const hindrances[] = {[HIA_HINDRANCE_NO_LOOK] = "no-look",
                                         [HIA_HINDRANCE_FEW_LOOKS] = "few-looks",
                                         [HIA_HINDRANCE_TIME] = "time",
                                         [HIA_HINDRANCE_OBSERVE] = "observe",
                                         [HIA_HINDRANCE_NOT_STEADY] = "not-steady",
                                         [HIA_HINDRANCE_KNOWN] = "known",
                                         [HIA_HINDRANCE_MAKING] = "making",
                                         [HIA_HINDRANCE_FULL] = "full",
                                         [HIA_HINDRANCE_MEMORY] = "memory",
                                         [HIA_HINDRANCE_ENGINE] = "engine",
                                         [HIA_HINDRANCE_OFF] = "off",
                                         [HIA_HINDRANCE_GRAPH] = "graph",
                                         [HIA_HINDRANCE_LOSS] = "gradients",
                                         [HIA_HINDRANCE_NO_ARGUMENTS] = "no-arguments",
                                         [HIA_HINDRANCE_NO_NATIVE] = "no-native-code",
                                         [HIA_HINDRANCE_NONE] = NULL};

/* ---- parts ---- */

static void put_timed(writer *w, const char *name, hia_timed timed) {
  open(w, name, '{');
  put_number(w, "runs", timed.n);
  if (timed.n)
    put_number(w, "mean_ns", timed.ns / timed.n);
  else
    put_null(w, "mean_ns");
  shut(w, '}');
}

static void put_word(writer *w, hia_told *t, uint32_t i, const hia_told_version *v,
                     const hia_told_word *word) {
  char type[256];
  hia_type_info_format(t->types[i], type, sizeof type);
  open(w, NULL, '{');
  put_text(w, "name", t->names[i]);
  put_text(w, "type", type);
  put_text(w, v ? "assumes" : "steady", kinds[word->kind]);
  if (v) put_text(w, "asked", kinds[word->asked]);
  put_text(w, "is", word->what);
  if (!v) {
    put_text(w, "least", word->least);
    put_text(w, "most", word->most);
  }
  put_text(w, "evidence", reasons[word->evidence.why]);
  put_number(w, "times", word->evidence.n);
  if (v) put_text(w, "taken_back", backs[word->evidence.taken_back]);
  put_text(w, "text", v ? hiaJ_told_assumption(t, v, word) : hiaJ_told_look(t, word));
  shut(w, '}');
}

static void put_words(writer *w, hia_told *t, const hia_told_version *v,
                      const hia_told_word *words) {
  open(w, v ? "arguments" : "looked_at", '[');
  for (uint32_t i = 0; words && i < t->function->n_param_words; i++)
    put_word(w, t, i, v, &words[i]);
  shut(w, ']');
}

static void put_facts(writer *w, const hia_told_version *v) {
  static const char *const points[] = {[HIA_POINT_PARAM] = "parameter",
                                       [HIA_POINT_BRANCH] = "branch",
                                       [HIA_POINT_ROUNDS] = "rounds"};
  open(w, "facts", '[');
  for (uint32_t i = 0; i < v->n_facts; i++) {
    const hia_told_fact *f = &v->facts[i];
    open(w, NULL, '{');
    put_text(w, "kind", points[f->place.kind]);
    put_text(w, "function", f->place.fn[0] ? f->place.fn : NULL);
    bool is_param = f->place.kind == HIA_POINT_PARAM && f->place.name[0];
    bool is_ctor = f->place.kind == HIA_POINT_BRANCH && f->place.name[0];
    put_text(w, "parameter", is_param ? f->place.name : NULL);
    put_text(w, "constructor", is_ctor ? f->place.name : NULL);
    put_number(w, "line", f->place.line);
    put_number(w, "column", f->place.col);
    put_text(w, "is", f->is);
    put_number(w, "times", f->n);
    put_number(w, "failed", f->n_failed);
    shut(w, '}');
  }
  shut(w, ']');
}

static void put_gain(writer *w, const hia_told *t, const hia_told_version *v) {
  const char *than;
  double gain = hiaJ_told_gain(t, v, &than);
  if (than) {
    begin_item(w, "gain");
    hiaR_text_addf(w->out, "%.3f", gain);
  } else {
    put_null(w, "gain");
  }
  put_text(w, "gain_over", than);
}

static void put_misfits(writer *w, const hia_told *t, const hia_told_version *v) {
  open(w, "misfits", '{');
  put_number(w, "runs", v->n_unfit);
  put_number(w, "looked_at", v->misfit.n);
  if (v->misfit_what) {
    open(w, "last", '{');
    put_number(w, "run", v->misfit.run);
    put_text(w, "name", t->names[v->misfit.at]);
    put_text(w, "was", v->misfit_what);
    shut(w, '}');
  } else {
    put_null(w, "last");
  }
  shut(w, '}');
}

static void put_version(writer *w, hia_told *t, const hia_told_version *v) {
  open(w, NULL, '{');
  put_number(w, "number", v->number);
  put_text(w, "state", states[v->outcome]);
  put_text(w, "reason", v->reason);
  put_bool(w, "is_batched", !v->is_narrow);
  put_bool(w, "is_retired", v->is_retired);
  put_number(w, "made_after", v->made_after);
  put_number(w, "compile_ns", v->compile_ns);
  put_number(w, "runs", v->n_used);
  put_timed(w, "timed", v->timed);
  put_gain(w, t, v);
  put_misfits(w, t, v);
  put_words(w, t, v, v->words);
  put_facts(w, v);
  shut(w, '}');
}

static void put_general(writer *w, const hia_told *t) {
  open(w, "general", '{');
  put_number(w, "runs", t->n_general);
  put_number(w, "looked_at", t->n_looks);
  put_timed(w, "native", t->native);
  put_timed(w, "interpreted", t->interpreted);
  put_number(w, "observed", t->observed.n);
  put_number(w, "observed_ns", t->observed.ns);
  shut(w, '}');
}

void hiaJ_told_json(hia_told *t, hia_text *out) {
  writer w = {.out = out};
  open(&w, NULL, '{');
  put_text(&w, "hiaton", hia_version());
  put_number(&w, "schema", SCHEMA);
  put_text(&w, "function", t->function->signature);
  put_number(&w, "runs", t->n_runs);
  put_general(&w, t);
  put_number(&w, "most_versions", HIA_MAX_SPECIALS);
  put_text(&w, "hindrance", hindrances[t->hindrance]);
  put_text(&w, "hindrance_text", hiaJ_told_hindrance(t));
  put_words(&w, t, NULL, t->words);
  open(&w, "versions", '[');
  for (uint32_t i = 0; i < t->n_versions; i++) put_version(&w, t, &t->versions[i]);
  shut(&w, ']');
  shut(&w, '}');
  hiaR_text_addf(out, "\n");
}
