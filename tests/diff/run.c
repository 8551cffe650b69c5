/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Running programs through the public API. */
#include "tests/diff/run.h"
#include "jit/engine/engine.h"
#include "tests/unit/helpers/time.h"
#include "tests/unit/helpers/typed.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define USES_OF_AN_ENGINE 200 /* then a fresh one, so that native code does not accumulate */
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

/* Adds a way. Its name contains everything that differs from the default. */
static void add_way(diff_way *ways, uint32_t *n, diff_way way) {
  static const char *const kinds[] = {"jit", "interp", "expand", "auto"};
  if (*n == DIFF_MAX_WAYS) return;
  if (way.threads == 0) way.threads = 1;
  gen_text name = {0};
  gen_text_add(&name, "%s", kinds[way.kind]);
  if (diff_is_native(&way)) gen_text_add(&name, ":O%d", way.opt_level);
  if (way.kind == HIA_ENGINE_INTERP) gen_text_add(&name, ":%u", way.threads);
  if (diff_is_parallel(&way)) gen_text_add(&name, ":t%u", way.threads);
  if (way.always_fork) gen_text_add(&name, ":fork");
  static const char *const batches[] = {"", ":no-batches", ":batch", ":depth", ":agenda"};
  gen_text_add(&name, "%s", batches[way.batch]);
  if (way.no_reuse) gen_text_add(&name, ":no-reuse");
  for (const char *s = way.disabled; s && *s;) { /* "a,b" is ":no-a:no-b" */
    size_t len = strcspn(s, ",");
    gen_text_add(&name, ":no-%.*s", (int)len, s);
    s += len + (s[len] == ',');
  }
  if (way.no_merging) gen_text_add(&name, ":no-merging");
  if (way.typed) gen_text_add(&name, ":entry");
  if (way.map) gen_text_add(&name, ":map");
  if (way.cached) gen_text_add(&name, ":cached");
  if (way.assumes) gen_text_add(&name, ":assumes");
  if (way.count) gen_text_add(&name, ":count");
  if (way.through_text) {
    gen_text_add(&name, way.stage == HIA_STAGE_STATIC ? ":text" : ":graph");
    if (way.after) gen_text_add(&name, "-%s", way.after);
    if (way.interpreted) gen_text_add(&name, ":interpreted");
  }
  snprintf(way.name, sizeof way.name, "%s", name.data);
  gen_text_free(&name);
  ways[(*n)++] = way;
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

static void add_interpreted(diff_way *ways, uint32_t *n) {
#define WAY(...) add_way(ways, n, (diff_way){.kind = HIA_ENGINE_INTERP, __VA_ARGS__})
  WAY(.threads = 1);
  WAY(.threads = 2);
  WAY(.threads = 3);
  WAY(.count = true);
  WAY(.threads = 2, .disabled = "all");
  WAY(.through_text = true, .stage = HIA_STAGE_STATIC);
  WAY(.through_text = true, .stage = HIA_STAGE_GRAPH);
  WAY(.batch = HIA_BATCH_DEPTH);
  WAY(.batch = HIA_BATCH_AGENDA);
  WAY(.batch = HIA_BATCH_AGENDA, .disabled = "all");
  WAY(.batch = HIA_BATCH_DEPTH, .count = true, .through_text = true, .stage = HIA_STAGE_STATIC);
#undef WAY
}

static void add_native(diff_way *ways, uint32_t *n) {
#define WAY(level, ...)                                                                            \
  add_way(ways, n, (diff_way){.kind = HIA_ENGINE_JIT, .opt_level = level, __VA_ARGS__})
  WAY(3, .threads = 1);
  WAY(0, .threads = 1);
  WAY(2, .count = true);
  WAY(1, .no_merging = true);
  WAY(3, .no_merging = true);
  WAY(1, .always_fork = true);
  WAY(1, .cached = true);
  WAY(1, .threads = 3, .cached = true, .batch = HIA_BATCH_ALL);
  WAY(1, .disabled = "copy,dce,sweep");
  WAY(1, .disabled = "all");
  WAY(1, .disabled = "all", .through_text = true, .stage = HIA_STAGE_STATIC);
  /* Several workers. Without unrolling every level forks. */
  WAY(3, .threads = 2);
  WAY(0, .threads = 3);
  WAY(2, .threads = 8);
  WAY(2, .threads = 3, .no_merging = true);
  WAY(2, .threads = 8, .disabled = "unroll");
  WAY(1, .threads = 3, .count = true);
  WAY(1, .threads = 8, .count = true, .disabled = "unroll");
  WAY(1, .threads = 3, .disabled = "inline,fold,cse");
  WAY(1, .batch = HIA_BATCH_ALL);
  WAY(1, .batch = HIA_BATCH_ALL, .threads = 3);
  WAY(1, .batch = HIA_BATCH_ALL, .no_reuse = true);
  WAY(1, .batch = HIA_BATCH_ALL, .no_reuse = true, .threads = 3);
  WAY(2, .batch = HIA_BATCH_NONE);
  WAY(1, .threads = 2, .through_text = true, .stage = HIA_STAGE_GRAPH, .after = "tail");
  WAY(1, .threads = 3, .through_text = true, .stage = HIA_STAGE_STATIC);
  WAY(1, .batch = HIA_BATCH_ALL, .through_text = true, .stage = HIA_STAGE_STATIC);
  WAY(1, .batch = HIA_BATCH_ALL, .through_text = true, .stage = HIA_STAGE_GRAPH);
  WAY(1, .batch = HIA_BATCH_ALL, .threads = 3, .through_text = true, .stage = HIA_STAGE_GRAPH,
      .after = "cons");
  WAY(1, .through_text = true, .stage = HIA_STAGE_GRAPH, .after = "refs");
  WAY(1, .threads = 3, .through_text = true, .stage = HIA_STAGE_STATIC, .interpreted = true);
  if (!typed_is_portable()) return;
  WAY(1, .threads = 1, .typed = true);
  WAY(2, .threads = 3, .typed = true);
  WAY(2, .threads = 1, .map = true);
  WAY(1, .threads = 3, .map = true);
  WAY(1, .threads = 1, .typed = true, .cached = true);
  WAY(1, .threads = 1, .map = true, .cached = true);
#undef WAY
}

/* Runs that begin in the interpreter, and begin again in native code at some moment. */
static void add_auto(diff_way *ways, uint32_t *n) {
#define WAY(...) add_way(ways, n, (diff_way){.kind = HIA_ENGINE_AUTO, .opt_level = 1, __VA_ARGS__})
  WAY(.threads = 1);
  WAY(.threads = 3);
  WAY(.threads = 1, .count = true);
  WAY(.threads = 2, .batch = HIA_BATCH_ALL);
  WAY(.threads = 1, .cached = true);
  WAY(.threads = 1, .assumes = true);
  WAY(.threads = 3, .assumes = true, .batch = HIA_BATCH_ALL);
  WAY(.threads = 1, .assumes = true, .count = true);
  if (!typed_is_portable()) return;
  WAY(.threads = 1, .assumes = true, .typed = true);
  WAY(.threads = 3, .assumes = true, .typed = true);
#undef WAY
}

uint32_t diff_ways(diff_way *ways, const char *engines) {
  uint32_t n = 0;
  bool native = (wants(engines, "jit") || wants(engines, "auto")) && has_native();
  bool jit = wants(engines, "jit") && native, interp = wants(engines, "interp");
  if (interp) add_interpreted(ways, &n);
  if (wants(engines, "expand")) {
    add_way(ways, &n, (diff_way){.kind = HIA_ENGINE_EXPAND});
    add_way(ways, &n, (diff_way){.kind = HIA_ENGINE_EXPAND, .disabled = "all"});
  }
  if (jit) add_native(ways, &n);
  if (native && wants(engines, "auto")) add_auto(ways, &n);
  const char *pass;
  for (size_t i = 0; (pass = hia_pass_name(i)); i++) {
    /* The second run of a pass has the name of the first; some passes always run, and some are
     * not for the interpreter. */
    if (strchr(pass, '.') || !strcmp(pass, "fuel") || !strcmp(pass, "trap") ||
        !strcmp(pass, "effects") || !strcmp(pass, "tail") || !strcmp(pass, "refs") ||
        !strcmp(pass, "tag"))
      continue;
    bool is_native = !strcmp(pass, "fork") || !strcmp(pass, "unroll") || !strcmp(pass, "merge");
    if (interp && !is_native)
      add_way(ways, &n, (diff_way){.kind = HIA_ENGINE_INTERP, .disabled = pass});
    /* For native code the passes that only clean up are left out together, `cse` with others. */
    bool is_alone = !strcmp(pass, "fold") || !strcmp(pass, "inline") || !strcmp(pass, "unroll");
    if (jit && is_alone)
      add_way(ways, &n, (diff_way){.kind = HIA_ENGINE_JIT, .opt_level = 1, .disabled = pass});
  }
  return n;
}

static void forget(diff_way *way) {
  hia_module_free(way->from_text);
  hia_module_free(way->module);
  free(way->source);
  way->module = way->from_text = NULL;
  way->read_from = NULL;
  way->source = NULL;
}

void diff_ways_free(diff_way *ways, uint32_t n) {
  for (uint32_t i = 0; i < n; i++) {
    forget(&ways[i]);
    hia_context_free(ways[i].context);
    hia_engine_free(ways[i].engine);
    hia_engine_free(ways[i].reader);
  }
}

/* ---- host functions ----
 * Impure ones run on the thread that runs the program. */

static _Thread_local uint64_t taps;
static bool tap_bool(bool x) {
  taps = gen_tap(taps, GEN_BOOL, x);
  return x;
}
static int32_t tap_i32(int32_t x) {
  taps = gen_tap(taps, GEN_I32, (uint64_t)(int64_t)x);
  return x;
}
static int64_t tap_i64(int64_t x) {
  taps = gen_tap(taps, GEN_I64, (uint64_t)x);
  return x;
}
static float tap_f32(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  taps = gen_tap(taps, GEN_F32, bits);
  return x;
}
static double tap_f64(double x) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  taps = gen_tap(taps, GEN_F64, bits);
  return x;
}

uint64_t diff_taps(void) {
  uint64_t so_far = taps;
  taps = 0;
  return so_far;
}

hia_status diff_add_hosts(hia_engine *engine, hia_error **error) {
  static const struct {
    const char *declaration;
    void (*function)(void);
  } hosts[] = {{"extern impure fn tap_bool(x: bool) -> bool", (void (*)(void))tap_bool},
               {"extern impure fn tap_i32(x: i32) -> i32", (void (*)(void))tap_i32},
               {"extern impure fn tap_i64(x: i64) -> i64", (void (*)(void))tap_i64},
               {"extern impure fn tap_f32(x: f32) -> f32", (void (*)(void))tap_f32},
               {"extern impure fn tap_f64(x: f64) -> f64", (void (*)(void))tap_f64}};
  hia_status status = HIA_OK;
  for (size_t i = 0; i < sizeof hosts / sizeof *hosts && status == HIA_OK; i++) {
    hia_host_function f = HIA_HOST_FUNCTION_INIT;
    f.declaration = hosts[i].declaration;
    f.function = hosts[i].function;
    f.is_safe = i % 2; /* tests both ways of calling them */
    status = hia_engine_register(engine, &f, error);
  }
  return status;
}

/* A folder of this process. */
static char folder[] = "/tmp/hia_diff-XXXXXX";
static void remove_folder(void) {
  hia_cache_clear(folder, false, NULL);
  rmdir(folder);
}
static const char *cache_folder(void) {
  static bool is_made;
  if (!is_made && !mkdtemp(folder)) exit(2);
  if (!is_made) atexit(remove_folder);
  is_made = true;
  return folder;
}

static hia_engine *make_engine(const diff_way *way, hia_engine_kind kind, bool traps) {
  hia_engine_options o = HIA_ENGINE_OPTIONS_INIT;
  o.kind = kind;
  o.threads = way->threads;
  o.opt_level = way->opt_level;
  o.disabled_passes = way->disabled;
  o.flags = HIA_FLAG_VERIFY | HIA_FLAG_PROCESS_SYMBOLS;
  if (way->count) o.flags |= HIA_FLAG_COUNT;
  if (way->always_fork) o.flags |= HIA_FLAG_ALWAYS_FORK;
  if (way->no_merging) o.flags |= HIA_FLAG_NO_MERGING;
  if (way->no_reuse) o.flags |= HIA_FLAG_NO_REUSE;
  if (traps) o.flags |= HIA_FLAG_TRAP_NAN;
  o.batching = way->batch;
  if (way->cached) o.cache = cache_folder();
  hia_engine *engine = NULL;
  hia_error *error = NULL;
  if (hia_engine_new(&o, &engine, &error) || diff_add_hosts(engine, &error)) {
    fprintf(stderr, "hia_diff: %s: %s", way->name, hia_error_text(error));
    exit(2);
  }
  return engine;
}

static hia_engine *engine_of(diff_way *way) {
  bool is_other = way->traps != way->has_traps;
  if (way->engine && !is_other && ++way->uses < USES_OF_AN_ENGINE) return way->engine;
  forget(way);
  way->has_traps = way->traps;
  if (is_other) hia_engine_free(way->reader);
  if (is_other) way->reader = NULL;
  hia_context_free(way->context);
  hia_engine_free(way->engine);
  way->uses = 0;
  way->context = NULL;
  way->engine = make_engine(way, way->kind, way->traps);
  if ((way->typed || way->map) && hia_engine_context_new(way->engine, &way->context, NULL)) exit(2);
  /* A static graph has the traps that it was made with. */
  bool has_reader = way->interpreted || (way->through_text && way->stage == HIA_STAGE_STATIC);
  if (has_reader && !way->reader)
    way->reader = make_engine(way, way->interpreted ? HIA_ENGINE_INTERP : way->kind, false);
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
    for (uint32_t k = 0; k < p.n_elements && k < GEN_MAX_ELEMENTS; k++)
      gen_text_add(text, "[%lld]", (long long)p.elements[k]);
  }
}

static gen_place error_entry(const void *chain, uint64_t i) {
  gen_place p = {.fn = "?"};
  hia_error_chain_entry(chain, i, &p.fn, NULL, &p.line, &p.col);
  p.n_elements = hia_error_chain_elements(chain, i, p.elements, GEN_MAX_ELEMENTS);
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
    if ((status >= HIA_DIV_ZERO && status < HIA_MEMORY) || status == HIA_FUEL)
      diff_add_chain(t, hia_error_chain_length(error), error_entry, error);
  }
  const char *messages = hia_error_text(error);
  if (messages && *messages && !out->messages) out->messages = strdup(messages);
}

/* The module of the program; that of the previous run if the program is the same. */
static hia_status load(diff_way *way, const char *name, const char *source, hia_error **error) {
  hia_engine *engine = engine_of(way);
  if (way->source && !way->cached && !strcmp(way->source, source)) return HIA_OK;
  forget(way);
  hia_status status =
      hia_module_load_text(engine, name, source, strlen(source), &way->module, error);
  if (status == HIA_OK) way->source = strdup(source);
  return status;
}

static hia_status dump(hia_module *module, hia_function *function, hia_stage stage,
                       const char *after, gen_text *out, hia_error **error) {
  hia_dump_options o = HIA_DUMP_OPTIONS_INIT;
  o.stage = stage;
  o.after = after;
  return hia_module_dump(module, &function, 1, &o, gen_text_take, out, error);
}

static uint32_t occurrences(const char *text, const char *word) {
  uint32_t n = 0;
  for (; (text = strstr(text, word)); text += strlen(word)) n++;
  return n;
}

/* The graph that is made of this static graph, with counts of its own. */
static hia_status recount(const diff_way *way, const char *name, const gen_text *text,
                          gen_text *again, hia_error **error) {
  hia_module *module = NULL;
  hia_function *function;
  hia_status status = hia_module_load_ir(way->reader ? way->reader : way->engine, "graph.ir",
                                         text->data, text->len, &module, error);
  if (status == HIA_OK) status = hia_module_function(module, name, &function, error);
  if (status == HIA_OK) status = dump(module, function, HIA_STAGE_GRAPH, "tag", again, error);
  hia_module_free(module);
  return status;
}

static bool counts_alike(const gen_text *a, const gen_text *b) {
  static const char *const ops[] = {"  dup %",   "  drop %", " = unpack ", " = reuse ",
                                    "  forget ", " = last ", "  give ",    "\nfn "};
  for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
    if (occurrences(a->data, ops[i]) != occurrences(b->data, ops[i])) return false;
  return true;
}

/* Counts of references in a text are not believed, but made anew: there must be as many of each
 * kind as were printed. Without pass `dce` there are others, since with its counts goes what
 * nothing uses: then counts that are made once more must be as many as these. Where results have
 * destinations nothing is counted. That a tape is owned by the function that reads it is known of
 * those that the pass `grad` has made alone, and of none that was read. */
static hia_status check_counts(const diff_way *way, hia_function *function, const gen_text *text,
                               bool *is_same, hia_error **error) {
  if (way->stage != HIA_STAGE_STATIC || way->interpreted || way->kind != HIA_ENGINE_JIT ||
      strstr(text->data, " = dest") || strstr(text->data, "\ntype Tape_"))
    return HIA_OK;
  gen_text again = {0}, once_more = {0};
  hia_status status = dump(way->from_text, function, HIA_STAGE_GRAPH, "tag", &again, error);
  if (status == HIA_OK && way->disabled) {
    status = recount(way, hia_function_name(function), &again, &once_more, error);
    if (status == HIA_OK) *is_same = counts_alike(&again, &once_more);
  } else if (status == HIA_OK) {
    *is_same = counts_alike(text, &again);
  }
  gen_text_free(&again);
  gen_text_free(&once_more);
  return status;
}

/* Replaces the function by one whose graph was printed and read back, and keeps that for the next
 * run. The graph that was read must print as the same text. */
static hia_status go_through_text(diff_way *way, hia_function **function, diff_result *out,
                                  hia_error **error) {
  hia_function *read_from = *function;
  if (way->read_from == read_from) {
    *function = way->read_back;
    return HIA_OK;
  }
  hia_module_free(way->from_text);
  way->from_text = NULL;
  way->read_from = NULL;
  gen_text text = {0}, second = {0};
  hia_status status = dump(way->module, *function, way->stage, way->after, &text, error);
  if (status == HIA_OK)
    status = hia_module_load_ir(way->reader ? way->reader : way->engine, "graph.ir", text.data,
                                text.len, &way->from_text, error);
  if (status == HIA_OK)
    status = hia_module_function(way->from_text, hia_function_name(read_from), function, error);
  if (status == HIA_OK) status = dump(way->from_text, *function, way->stage, NULL, &second, error);
  if (status == HIA_OK && strcmp(text.data, second.data) != 0) {
    status = HIA_INTERNAL;
    out->messages = strdup("the graph that was read back prints differently\n");
  }
  bool is_same = true;
  if (status == HIA_OK) status = check_counts(way, *function, &text, &is_same, error);
  if (!is_same) {
    status = HIA_INTERNAL;
    out->messages = strdup("the graph that was read back counts references differently\n");
  }
  if (status == HIA_OK) {
    way->read_from = read_from;
    way->read_back = *function;
  }
  gen_text_free(&text);
  gen_text_free(&second);
  return status;
}

/* How many equal rows a map gets: with vectors, more than one of them and some left over. Effects
 * happen once. */
static size_t rows_of(const diff_way *way, hia_function *function) {
  hia_native_fn plain;
  if (strstr(way->source, "impure")) return 1;
  return hia_function_plain(function, &plain, NULL) == HIA_OK ? 37 : 3;
}

static hia_status call_by_entry(const diff_way *way, hia_function *function, hia_value *const *args,
                                uint32_t n_args, hia_value **result, hia_error **error) {
  hia_native_fn entry;
  *result = NULL;
  hia_status status = hia_function_instance(function, args, n_args, &function, error);
  if (status == HIA_OK)
    status = (way->map ? hia_function_map : hia_function_entry)(function, &entry, error);
  if (status != HIA_OK) return status;
  if (way->map)
    return call_map(way->engine, function, entry, way->context, args, n_args,
                    rows_of(way, function), result);
  return call_typed(way->engine, function, entry, way->context, args, n_args, result);
}

/* Makes both versions of the function, and chooses when the run begins again: among its first polls
 * mostly, since most runs are short. It follows from the program and the number of the run. */
static void choose_moment(const diff_way *way, hia_function *function, hia_value *const *args,
                          uint32_t n_args, const hia_run_options *o) {
  static const uint32_t most[] = {4, 32, 1000, 100000};
  if (hia_function_instance(function, args, n_args, &function, NULL) == HIA_OK)
    hia_function_prepare_for(function, o, NULL); /* if it fails, so does the run */
  hia_function_stats stats = HIA_FUNCTION_STATS_INIT;
  hia_function_get_stats(function, &stats);
  uint32_t hash = hiaR_hash(way->source, strlen(way->source)) + 31 * (uint32_t)stats.runs;
  way->engine->again_at = 1 + (hash >> 8) % most[hash & 3];
}

static void call_once(const diff_way *way, hia_function *function, hia_value *const *args,
                      uint32_t n_args, const uint64_t *fuel, diff_result *out) {
  hia_value *result = NULL;
  hia_error *error = NULL;
  hia_run_stats stats = HIA_RUN_STATS_INIT;
  hia_run_options o = HIA_RUN_OPTIONS_INIT;
  o.stats = &stats;
  o.has_fuel = fuel != NULL;
  o.fuel = fuel ? *fuel : 0;
  bool by_entry = !fuel && (way->typed || way->map); /* these entries have no fuel */
  if (way->assumes)
    way->engine->assume_seed = hiaR_hash(way->source, strlen(way->source)) | 1;
  else if (way->kind == HIA_ENGINE_AUTO)
    choose_moment(way, function, args, n_args, &o);
  taps = 0;
  hia_status status = by_entry ? call_by_entry(way, function, args, n_args, &result, &error)
                               : hia_run(function, args, n_args, &o, &result, &error);
  out->taps = taps;
  out->calls = stats.calls;
  out->rounds = stats.rounds;
  out->steals = stats.steals;
  if (status == HIA_OK) {
    static _Thread_local char buf[1 << 20];
    hia_value_format(result, buf, sizeof buf);
    gen_text_add(&out->text, "%s", buf);
  } else {
    describe(status, by_entry && !error ? hia_context_error(way->context) : error, out);
  }
  if (stats.is_fuelled)
    gen_text_add(&out->text, ", %llu fuel left", (unsigned long long)stats.fuel_left);
  hia_value_free(result);
  hia_error_free(error);
}

static bool is_same(const diff_way *way, const diff_result *a, const diff_result *b) {
  if (strcmp(a->text.data, b->text.data) != 0 || a->taps != b->taps) return false;
  /* The count of a run that fails depends on the timing. */
  return !way->count || !strncmp(a->text.data, "error", 5) ||
         (a->calls == b->calls && a->rounds == b->rounds);
}

static void call_again(const diff_way *way, hia_function *function, hia_value *const *args,
                       uint32_t n_args, const uint64_t *fuel, diff_result *first) {
  diff_result r = {0};
  call_once(way, function, args, n_args, fuel, &r);
  first->steals += r.steals;
  if (!is_same(way, first, &r)) {
    gen_text both = {0};
    gen_text_add(&both, "unsteady: %s (%llu calls, %llu rounds), then %s (%llu calls, %llu rounds)",
                 first->text.data, (unsigned long long)first->calls,
                 (unsigned long long)first->rounds, r.text.data, (unsigned long long)r.calls,
                 (unsigned long long)r.rounds);
    gen_text_free(&first->text);
    first->text = both;
  }
  diff_result_free(&r);
}

void diff_run(diff_way *way, const char *name, const char *source, const char *fn,
              char *const *args, uint32_t n_args, const uint64_t *fuel, uint32_t times,
              diff_result *out) {
  hia_function *function = NULL;
  hia_value *values[16] = {0};
  hia_error *error = NULL;
  *out = (diff_result){0};
  hia_status status = load(way, name, source, &error);
  if (status == HIA_OK) status = hia_module_function(way->module, fn, &function, &error);
  if (status == HIA_OK && way->through_text && !hia_function_is_generic(function))
    status = go_through_text(way, &function, out, &error);
  for (uint32_t i = 0; status == HIA_OK && i < n_args && i < 16; i++)
    status = hia_value_parse(function, i, args[i], &values[i], &error);
  if (status == HIA_OK && way->cached) {
    /* The code of this run is in the cache afterwards, and that of the next one comes from there.
     */
    call_once(way, function, values, n_args, fuel, out);
    diff_result_free(out);
    status = load(way, name, source, &error);
    if (status == HIA_OK) status = hia_module_function(way->module, fn, &function, &error);
  }
  if (status == HIA_OK && way->assumes) { /* behind it there is a version for these arguments */
    call_once(way, function, values, n_args, fuel, out);
    diff_result_free(out);
  }
  if (status == HIA_OK) {
    call_once(way, function, values, n_args, fuel, out);
    for (uint32_t i = 1; i < times && strncmp(out->text.data, "unsteady", 8) != 0; i++)
      call_again(way, function, values, n_args, fuel, out);
  } else {
    describe(status, error, out);
  }
  for (uint32_t i = 0; i < 16; i++) hia_value_free(values[i]);
  hia_error_free(error);
}

/* ---- a watchdog ---- */

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

void diff_watch(const char *what) {
  snprintf(watched, sizeof watched, "%s", what ? what : "");
  alarm(what ? (unsigned)(300 * test_slowness()) : 0);
}

/* The signal handlers have a stack of their own, so that a stack overflow is reported too.
 * Sanitizers report crashes, but not the program that was running, so these handlers run first and
 * then call the sanitizer's. */
void diff_watch_init(void) {
  static char stack[65536];
  stack_t alternate = {.ss_sp = stack, .ss_size = sizeof stack};
  sigaltstack(&alternate, NULL);
  struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
  static const int signals[] = {SIGALRM, SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};
  for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
    sigaction(signals[i], &action, NULL);
}
