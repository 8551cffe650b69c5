/* Running programs through the public API. */
#include "tests/diff/run.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define USES_OF_AN_ENGINE 200 /* then a fresh one: native code is not kept for ever */
#define CHAIN_HEAD        16
#define CHAIN_TAIL        8

/* ---- ways ---- */

static bool wants(const char *engines, const char *name) {
  size_t len = strlen(name);
  for (const char *s = engines; s && *s;) {
    const char *end = strchr(s, ',');
    size_t n = end ? (size_t)(end - s) : strlen(s);
    if (n == len && !memcmp(s, name, n)) return true;
    s += end ? n + 1 : n;
  }
  return !engines;
}

static diff_way *add_way(diff_way *ways, uint32_t *n, hia_engine_kind kind, unsigned threads,
                         int level, const char *disabled, bool count) {
  static const char *const names[] = {"jit", "interp", "expand"};
  if (*n == DIFF_MAX_WAYS) return NULL;
  diff_way *w = &ways[(*n)++];
  *w = (diff_way){
      .kind = kind, .threads = threads, .opt_level = level, .disabled = disabled, .count = count};
  int at = snprintf(w->name, sizeof w->name, "%s", names[kind]);
  if (kind == HIA_ENGINE_JIT)
    at += snprintf(w->name + at, sizeof w->name - (size_t)at, ":O%d", level);
  if (kind == HIA_ENGINE_INTERP)
    at += snprintf(w->name + at, sizeof w->name - (size_t)at, ":%u", threads);
  if (disabled) at += snprintf(w->name + at, sizeof w->name - (size_t)at, ":no-%s", disabled);
  if (count) snprintf(w->name + at, sizeof w->name - (size_t)at, ":count");
  return w;
}

static void add_way_through_text(diff_way *ways, uint32_t *n, hia_engine_kind kind, int level,
                                 const char *disabled, hia_stage stage, const char *after) {
  diff_way *w = add_way(ways, n, kind, 1, level, disabled, false);
  if (!w) return;
  w->through_text = true;
  w->stage = stage;
  w->after = after;
  size_t at = strlen(w->name);
  snprintf(w->name + at, sizeof w->name - at, stage == HIA_STAGE_STATIC ? ":text" : ":graph%s%s",
           after ? "-" : "", after ? after : "");
}

static bool has_native(void) {
  hia_engine *engine = NULL;
  hia_error *error = NULL;
  bool has = hia_engine_new(NULL, &engine, &error) == HIA_OK &&
             hia_engine_native(engine, &error) == HIA_OK;
  if (!has) fprintf(stderr, "hia_diff: no native code: %s", hia_error_text(error));
  hia_error_free(error);
  hia_engine_free(engine);
  return has;
}

uint32_t diff_ways(diff_way *ways, const char *engines) {
  uint32_t n = 0;
  bool jit = wants(engines, "jit") && has_native(), interp = wants(engines, "interp");
  if (interp) {
    for (unsigned threads = 1; threads <= 3; threads++)
      add_way(ways, &n, HIA_ENGINE_INTERP, threads, 0, NULL, false);
    add_way(ways, &n, HIA_ENGINE_INTERP, 1, 0, NULL, true);
    add_way(ways, &n, HIA_ENGINE_INTERP, 2, 0, "all", false);
    add_way_through_text(ways, &n, HIA_ENGINE_INTERP, 0, NULL, HIA_STAGE_STATIC, NULL);
    add_way_through_text(ways, &n, HIA_ENGINE_INTERP, 0, NULL, HIA_STAGE_GRAPH, NULL);
  }
  if (wants(engines, "expand")) {
    add_way(ways, &n, HIA_ENGINE_EXPAND, 1, 0, NULL, false);
    add_way(ways, &n, HIA_ENGINE_EXPAND, 1, 0, "all", false);
  }
  if (jit) {
    for (int level = 3; level >= 0; level--)
      add_way(ways, &n, HIA_ENGINE_JIT, 1, level, NULL, false);
    add_way(ways, &n, HIA_ENGINE_JIT, 1, 2, NULL, true);
    add_way(ways, &n, HIA_ENGINE_JIT, 1, 1, "all", false);
    add_way_through_text(ways, &n, HIA_ENGINE_JIT, 1, "all", HIA_STAGE_STATIC, NULL);
    add_way_through_text(ways, &n, HIA_ENGINE_JIT, 1, NULL, HIA_STAGE_GRAPH, "tail");
  }
  const char *pass;
  for (size_t i = 0; (pass = hia_pass_name(i)); i++) {
    /* The second run of a pass goes by the name of the first; some passes always run. */
    if (strchr(pass, '.') || !strcmp(pass, "effects") || !strcmp(pass, "tail") ||
        !strcmp(pass, "tag"))
      continue;
    if (interp) add_way(ways, &n, HIA_ENGINE_INTERP, 1, 0, pass, false);
    if (jit) add_way(ways, &n, HIA_ENGINE_JIT, 1, 1, pass, false);
  }
  return n;
}

static void forget(diff_way *way) {
  hia_module_free(way->module);
  free(way->source);
  way->module = NULL;
  way->source = NULL;
}

void diff_ways_free(diff_way *ways, uint32_t n) {
  for (uint32_t i = 0; i < n; i++) {
    forget(&ways[i]);
    hia_engine_free(ways[i].engine);
  }
}

static hia_engine *engine_of(diff_way *way) {
  if (way->engine && ++way->uses < USES_OF_AN_ENGINE) return way->engine;
  forget(way);
  hia_engine_free(way->engine);
  way->engine = NULL;
  way->uses = 0;
  hia_engine_options o = HIA_ENGINE_OPTIONS_INIT;
  o.kind = way->kind;
  o.threads = way->threads;
  o.opt_level = way->opt_level;
  o.disabled_passes = way->disabled;
  o.count = way->count;
  o.verify = true;
  hia_error *error = NULL;
  if (hia_engine_new(&o, &way->engine, &error)) {
    fprintf(stderr, "hia_diff: %s: %s", way->name, hia_error_text(error));
    exit(2);
  }
  return way->engine;
}

/* ---- results ---- */

void diff_add_chain(gen_text *text, uint64_t length,
                    gen_place (*entry)(const void *chain, uint64_t i), const void *chain) {
  for (uint64_t i = 0; i < length; i++) {
    if (i == CHAIN_HEAD && length > CHAIN_HEAD + CHAIN_TAIL) {
      gen_text_add(text, " ..%llu..", (unsigned long long)(length - CHAIN_HEAD - CHAIN_TAIL));
      i = length - CHAIN_TAIL;
    }
    gen_place p = entry(chain, i);
    gen_text_add(text, " %s@%u:%u", p.fn, p.line, p.col);
  }
}

static gen_place error_entry(const void *chain, uint64_t i) {
  gen_place p = {0, 0, "?"};
  hia_error_chain_entry(chain, i, &p.fn, NULL, &p.line, &p.col);
  return p;
}

void diff_result_free(diff_result *r) {
  gen_text_free(&r->text);
  free(r->messages);
  *r = (diff_result){0};
}

static void describe(hia_status status, const hia_error *error, diff_result *out) {
  gen_text *t = &out->text;
  if (status == HIA_REJECTED) {
    gen_text_add(t, "rejected");
    for (size_t i = 0; i < hia_error_count(error); i++)
      gen_text_add(t, " %u:%u", hia_error_line(error, i), hia_error_col(error, i));
  } else {
    gen_text_add(t, "error %s", hia_status_word(status));
    if (status == HIA_FAILED) gen_text_add(t, "(%lld)", (long long)hia_error_fail_code(error));
    if (status >= HIA_DIV_ZERO && status < HIA_MEMORY)
      diff_add_chain(t, hia_error_chain_length(error), error_entry, error);
  }
  const char *messages = hia_error_text(error);
  if (messages && *messages && !out->messages) out->messages = strdup(messages);
}

/* The module, or the one of the run before if that was the same program. */
static hia_status load(diff_way *way, const char *name, const char *source, hia_error **error) {
  hia_engine *engine = engine_of(way);
  if (way->source && !strcmp(way->source, source)) return HIA_OK;
  forget(way);
  hia_status status =
      hia_module_load_text(engine, name, source, strlen(source), &way->module, error);
  if (status == HIA_OK) way->source = strdup(source);
  return status;
}

static bool collect(void *user, const char *bytes, size_t len) {
  gen_text_add(user, "%.*s", (int)len, bytes);
  return true;
}

static hia_status dump(hia_module *module, hia_function *function, hia_stage stage,
                       const char *after, gen_text *out, hia_error **error) {
  hia_dump_options o = HIA_DUMP_OPTIONS_INIT;
  o.stage = stage;
  o.after = after;
  return hia_module_dump(module, &function, 1, &o, collect, out, error);
}

/* Replaces the function by one that went through text, in `module`. Printing what was read must
 * give the same text. */
static hia_status go_through_text(diff_way *way, hia_function **function, hia_module **module,
                                  diff_result *out, hia_error **error) {
  gen_text text = {0}, second = {0};
  hia_status status = dump(way->module, *function, way->stage, way->after, &text, error);
  if (status == HIA_OK)
    status = hia_module_load_ir(way->engine, "graph.ir", text.data, text.len, module, error);
  if (status == HIA_OK)
    status = hia_module_function(*module, hia_function_name(*function), function, error);
  if (status == HIA_OK) status = dump(*module, *function, way->stage, NULL, &second, error);
  if (status == HIA_OK && strcmp(text.data, second.data) != 0) {
    status = HIA_INTERNAL;
    out->messages = strdup("the graph that was read back prints differently\n");
  }
  gen_text_free(&text);
  gen_text_free(&second);
  return status;
}

void diff_run(diff_way *way, const char *name, const char *source, const char *fn,
              char *const *args, uint32_t n_args, diff_result *out) {
  hia_function *function = NULL;
  hia_module *from_text = NULL;
  hia_value *values[16] = {0}, *result = NULL;
  hia_error *error = NULL;
  *out = (diff_result){0};
  hia_status status = load(way, name, source, &error);
  if (status == HIA_OK) status = hia_module_function(way->module, fn, &function, &error);
  if (status == HIA_OK && way->through_text && !hia_function_is_generic(function))
    status = go_through_text(way, &function, &from_text, out, &error);
  for (uint32_t i = 0; status == HIA_OK && i < n_args && i < 16; i++)
    status = hia_value_parse(function, i, args[i], &values[i], &error);
  if (status == HIA_OK) {
    hia_run_stats stats = HIA_RUN_STATS_INIT;
    hia_run_options o = HIA_RUN_OPTIONS_INIT;
    o.stats = &stats;
    status = hia_run(function, values, n_args, &o, &result, &error);
    out->calls = stats.calls;
    out->rounds = stats.rounds;
  }
  if (status == HIA_OK) {
    char buf[1024];
    hia_value_format(result, buf, sizeof buf);
    gen_text_add(&out->text, "%s", buf);
  } else {
    describe(status, error, out);
  }
  for (uint32_t i = 0; i < 16; i++) hia_value_free(values[i]);
  hia_value_free(result);
  hia_error_free(error);
  hia_module_free(from_text);
}

/* ---- a watch ---- */

static char watched[512];

static void on_signal(int signal_number) {
  static const char hung[] = "\nhia_diff: took too long: ",
                    died[] = "\nhia_diff: died while running: ";
  ssize_t n =
      signal_number == SIGALRM ? write(2, hung, sizeof hung - 1) : write(2, died, sizeof died - 1);
  n = write(2, watched, strlen(watched));
  n = write(2, "\n", 1);
  (void)n;
  if (signal_number == SIGALRM) _exit(3);
  signal(signal_number, SIG_DFL);
  raise(signal_number);
}

void diff_watch(const char *what, unsigned seconds) {
  snprintf(watched, sizeof watched, "%s", what);
  alarm(seconds);
}

/* A stack of their own, so that an overflow is reported too. Sanitizers report crashes themselves,
 * but not what was being run, so ours come first and hand on. */
void diff_watch_init(void) {
  static char stack[65536];
  stack_t alternate = {.ss_sp = stack, .ss_size = sizeof stack};
  sigaltstack(&alternate, NULL);
  struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
  static const int signals[] = {SIGALRM, SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};
  for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
    sigaction(signals[i], &action, NULL);
}
