/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Generated programs, made with the builder: the built program must have the same outcome.
 *
 * The builder has no generic functions, no `match` and no binders for tuples: each instance becomes
 * a function, arms become `if`s, parts are read one by one. None of that moves a call into or
 * out of a tail position, so the functions in the chain of a failure are the same, and so are the
 * numbers of calls and rounds. Only positions differ. */
#include "tests/diff/run.h"
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define MAX_EVALUATED     1000000
#define SIZES             10
#define NATIVE_IN_TURN    4   /* of so many programs one is compiled */
#define USES_OF_AN_ENGINE 200 /* then a fresh one, so that native code does not accumulate */

typedef hia_build_value value;

/* ---- from the tree to calls of the builder ---- */

typedef struct instance {
  struct instance *next;
  gen_fn *fn;
  gen_type x;
  hia_build_fn built;
  bool has_body;
} instance;

typedef struct maker {
  hia_builder *b;
  gen_program *p;
  gen_random random;
  instance *instances;
  hia_build_fn taps[GEN_X]; /* the host functions tap_T, by dtype */
} maker;

/* A function whose body is being built. Variables are found by their nodes in the tree, so
 * variables that hide others need no special treatment. */
typedef struct body {
  instance *of;
  struct {
    const gen_var *var;
    value value;
  } vars[512];
  uint32_t n_vars;
} body;

static value make(maker *m, body *f, gen_expr *e);

static gen_type concrete(const body *f, gen_type t) { return t == GEN_X ? f->of->x : t; }

static hia_build_type type_of(maker *m, gen_type x, gen_type t) {
  if (t == GEN_X) return x;
  if (!gen_is_tuple(t)) return t;
  hia_build_type parts[GEN_MAX_PARTS];
  const gen_tuple *tuple = gen_tuple_of(m->p, t);
  for (uint32_t i = 0; i < tuple->n; i++) parts[i] = type_of(m, x, tuple->parts[i]);
  return hia_build_tuple_type(m->b, parts, tuple->n);
}

static void bind_var(body *f, const gen_var *var, value v) {
  if (f->n_vars == sizeof f->vars / sizeof *f->vars) abort();
  f->vars[f->n_vars].var = var;
  f->vars[f->n_vars++].value = v;
}

static value var_value(const body *f, const gen_var *var) {
  for (uint32_t i = f->n_vars; i-- > 0;)
    if (f->vars[i].var == var) return f->vars[i].value;
  abort(); /* cannot happen: the generator's variables are in scope */
}

static void make_body(maker *m, instance *of) {
  of->has_body = true;
  body *f = calloc(1, sizeof *f);
  if (!f) exit(2);
  f->of = of;
  hia_build_begin(m->b, of->built);
  for (uint32_t i = 0; i < of->fn->n_params; i++) {
    value v = hia_build_param(m->b, of->built, i);
    if (gen_chance(&m->random, 80)) hia_build_name(m->b, v, of->fn->params[i]->name);
    bind_var(f, of->fn->params[i], v);
  }
  hia_build_return(m->b, make(m, f, of->fn->body));
  free(f);
}

/* The built function, declared at its first call; sometimes its body is built at once, in the
 * middle of the caller's body. */
static hia_build_fn built_fn(maker *m, gen_fn *fn, gen_type x) {
  static const char *const suffix[] = {"_bool", "_i32", "_i64", "_f32", "_f64"};
  instance *at = m->instances;
  while (at && (at->fn != fn || at->x != x)) at = at->next;
  if (!at) {
    at = GEN_NEW(&m->p->pool, instance);
    *at = (instance){.next = m->instances, .fn = fn, .x = x};
    m->instances = at;
    char name[32];
    snprintf(name, sizeof name, "%s%s", fn->name, fn->x == GEN_NO_X ? "" : suffix[x]);
    if (fn->x == GEN_NO_X && gen_chance(&m->random, 50)) {
      gen_text signature = {0};
      gen_text_add(&signature, "fn %s(", name);
      for (uint32_t i = 0; i < fn->n_params; i++) {
        gen_text_add(&signature, "%s%s: ", i ? ", " : "", fn->params[i]->name);
        gen_print_type(m->p, fn->params[i]->type, &signature);
      }
      gen_text_add(&signature, ") -> ");
      gen_print_type(m->p, fn->result, &signature);
      at->built = hia_build_declare(m->b, signature.data);
      gen_text_free(&signature);
    } else {
      hia_build_type types[6];
      for (uint32_t i = 0; i < fn->n_params; i++) types[i] = type_of(m, x, fn->params[i]->type);
      at->built =
          hia_build_declare_types(m->b, name, types, fn->n_params, type_of(m, x, fn->result));
    }
    if (gen_chance(&m->random, 30)) make_body(m, at);
  }
  return at->built;
}

/* A use of a variable; a tapped one is passed through the impure host function here too. */
static value make_var(maker *m, body *f, const gen_expr *e) {
  value v = var_value(f, e->as.var);
  return e->tapped ? hia_build_call(m->b, m->taps[e->type], &v, 1) : v;
}

static value make_literal(maker *m, gen_type t, uint64_t word) {
  float f;
  double d;
  uint32_t low = (uint32_t)word;
  memcpy(&f, &low, sizeof f);
  memcpy(&d, &word, sizeof d);
  switch (t) {
  case GEN_BOOL: return hia_build_bool(m->b, word != 0);
  case GEN_I32: return hia_build_i32(m->b, (int32_t)word);
  case GEN_I64: return hia_build_i64(m->b, (int64_t)word);
  case GEN_F32: return hia_build_f32(m->b, f);
  default: return hia_build_f64(m->b, d);
  }
}

static value make_call(maker *m, body *f, gen_expr *e) {
  value args[6];
  for (uint32_t i = 0; i < e->n; i++) args[i] = make(m, f, e->kids[i]);
  gen_type x = e->as.fn->x == GEN_NO_X ? 0 : concrete(f, e->binding);
  return hia_build_call(m->b, built_fn(m, e->as.fn, x), args, e->n);
}

/* True if the value may be the value of a call. */
static bool ends_in_call(const gen_expr *e) {
  switch ((gen_kind)e->kind) {
  case GEN_CALL: return true;
  case GEN_AND:
  case GEN_OR:
  case GEN_IF:
  case GEN_MATCH:
  case GEN_BLOCK:
    for (uint32_t i = 0; i < e->n; i++)
      if (ends_in_call(e->kids[i])) return true;
    return false;
  default: return false;
  }
}

/* In `{ let t = f(x); t }` the call is not in tail position, but the builder, which receives the
 * call and then the result, cannot know that: another item has to come between them. */
static void end_value(maker *m, const gen_expr *e) {
  if (ends_in_call(e)) hia_build_bnot(m->b, hia_build_bool(m->b, true));
}

static value make_match(maker *m, body *f, gen_expr *e) {
  value subject = make(m, f, e->kids[0]);
  end_value(m, e->kids[0]);
  gen_type t = concrete(f, e->kids[0]->type);
  uint32_t n = e->n - 1, taken = 0;
  for (; taken < n; taken++) { /* each further arm is in the `else` of the arm before */
    const gen_pattern *arm = &e->as.arms[taken];
    if (arm->var || arm->any || taken + 1 == n) break;
    value pattern = make_literal(m, t, (uint64_t)arm->value);
    hia_build_if(m->b, hia_build_eq(m->b, subject, pattern));
    hia_build_else(m->b, make(m, f, e->kids[taken + 1]));
  }
  if (e->as.arms[taken].var) bind_var(f, e->as.arms[taken].var, subject);
  value v = make(m, f, e->kids[taken + 1]);
  while (taken-- > 0) v = hia_build_end_if(m->b, v);
  return v;
}

static void bind(maker *m, body *f, const gen_binder *b, value v) {
  if (b->var) {
    if (gen_chance(&m->random, 60)) hia_build_name(m->b, v, b->var->name);
    bind_var(f, b->var, v);
  }
  for (uint32_t i = 0; i < b->n; i++) bind(m, f, &b->parts[i], hia_build_part(m->b, v, i));
}

static value make_loop(maker *m, body *f, gen_expr *e) {
  uint32_t n = e->n - 2;
  value init[GEN_MAX_PARTS], vars[GEN_MAX_PARTS];
  for (uint32_t i = 0; i < n; i++) init[i] = make(m, f, e->kids[i]);
  hia_build_loop(m->b, init, n, vars);
  for (uint32_t i = 0; i < n; i++) {
    if (gen_chance(&m->random, 60)) hia_build_name(m->b, vars[i], e->as.vars[i]->name);
    bind_var(f, e->as.vars[i], vars[i]);
  }
  hia_build_while(m->b, make(m, f, e->kids[n]));
  gen_expr *next = e->kids[n + 1];
  if (n == 1) {
    init[0] = make(m, f, next);
  } else if (next->kind == GEN_TUPLE) {
    for (uint32_t i = 0; i < n; i++) init[i] = make(m, f, next->kids[i]);
  } else {
    value all = make(m, f, next);
    for (uint32_t i = 0; i < n; i++) init[i] = hia_build_part(m->b, all, i);
  }
  return hia_build_end_loop(m->b, init, n);
}

static value make_op(maker *m, body *f, gen_expr *e) {
  static const hia_opcode codes[] = {
#define GEN_ROW(name, text, arity, works_on) [GEN_##name] = HIA_OPCODE_##name,
      GEN_OPS(GEN_ROW)
#undef GEN_ROW
  };
  value in[3];
  for (uint32_t i = 0; i < e->n; i++) in[i] = make(m, f, e->kids[i]);
  return hia_build_op(m->b, codes[e->op], in, e->n);
}

static value make(maker *m, body *f, gen_expr *e) {
  value v, in[3];
  switch ((gen_kind)e->kind) {
  case GEN_LIT: {
    gen_type t = concrete(f, e->type);
    return make_literal(m, t, gen_literal_word(e, t));
  }
  case GEN_TRUTH: return hia_build_bool(m->b, e->truth);
  case GEN_VAR: return make_var(m, f, e);
  case GEN_CONST: return make(m, f, e->kids[0]);
  case GEN_OP: return make_op(m, f, e);
  case GEN_NOT: return hia_build_bnot(m->b, make(m, f, e->kids[0]));
  case GEN_AND:
    hia_build_if(m->b, make(m, f, e->kids[0]));
    hia_build_else(m->b, make(m, f, e->kids[1]));
    return hia_build_end_if(m->b, hia_build_bool(m->b, false));
  case GEN_OR:
    hia_build_if(m->b, make(m, f, e->kids[0]));
    hia_build_else(m->b, hia_build_bool(m->b, true));
    return hia_build_end_if(m->b, make(m, f, e->kids[1]));
  case GEN_SELECT:
    for (uint32_t i = 0; i < 3; i++) in[i] = make(m, f, e->kids[i]);
    return hia_build_select(m->b, in[0], in[1], in[2]);
  case GEN_CAST:
    return hia_build_convert(m->b, (hia_dtype)concrete(f, e->type), make(m, f, e->kids[0]));
  case GEN_CALL: return make_call(m, f, e);
  case GEN_FAIL:
    v = make(m, f, e->kids[0]);
    return hia_build_fail(m->b, v, type_of(m, f->of->x, e->type));
  case GEN_IF:
    hia_build_if(m->b, make(m, f, e->kids[0]));
    hia_build_else(m->b, make(m, f, e->kids[1]));
    return hia_build_end_if(m->b, make(m, f, e->kids[2]));
  case GEN_MATCH: return make_match(m, f, e);
  case GEN_BLOCK:
    for (uint32_t i = 0; i + 1 < e->n; i++) {
      v = make(m, f, e->kids[i]);
      end_value(m, e->kids[i]);
      bind(m, f, &e->as.lets[i].binder, v);
    }
    return make(m, f, e->kids[e->n - 1]);
  case GEN_LOOP: return make_loop(m, f, e);
  case GEN_TUPLE:
    for (uint32_t i = 0; i < e->n; i++) in[i] = make(m, f, e->kids[i]);
    return hia_build_tuple(m->b, in, e->n);
  case GEN_FIELD: return hia_build_part(m->b, make(m, f, e->kids[0]), e->field);
  case GEN_DATA: /* of programs with data, which rebuild.c makes with the builder */
  case GEN_ARRAY:
  case GEN_LEN:
  case GEN_INDEX:
  case GEN_SLICE:
  case GEN_SET:
  case GEN_CONCAT:
  case GEN_COMP: break;
  }
  abort();
}

static void make_program(hia_builder *b, gen_program *p) {
  maker m = {.b = b, .p = p, .random = {p->seed}};
  for (gen_type t = GEN_BOOL; p->has_taps && t < GEN_X; t++) {
    gen_text dtype = {0}, signature = {0};
    gen_print_type(p, t, &dtype);
    gen_text_add(&signature, "extern impure fn tap_%s(x: %s) -> %s", dtype.data, dtype.data,
                 dtype.data);
    m.taps[t] = hia_build_declare(b, signature.data);
    gen_text_free(&signature);
    gen_text_free(&dtype);
  }
  built_fn(&m, gen_main(p), 0);
  for (;;) { /* the calls in one body may add to the list */
    instance *at = m.instances;
    while (at && at->has_body) at = at->next;
    if (!at) break;
    make_body(&m, at);
  }
}

/* ---- outcomes: as text, without positions ---- */

static void expect(gen_program *p, const gen_outcome *o, gen_text *text) {
  static const char *const words[] = {"", "div-zero", "div-overflow", "failed"};
  if (o->end == GEN_VALUE) {
    gen_print_value(p, gen_main(p)->result, o->words, false, text);
    gen_text_add(text, ", %llu calls, %llu rounds", (unsigned long long)o->calls,
                 (unsigned long long)o->rounds);
    return;
  }
  gen_text_add(text, "%s %lld:", words[o->end], o->end == GEN_FAILED ? (long long)o->code : 0);
  for (uint32_t i = 0; i < o->n_chain; i++) gen_text_add(text, " %s", o->chain[i].fn);
}

static void add_error(hia_status status, const hia_error *error, gen_text *text) {
  if (status < HIA_DIV_ZERO || status >= HIA_MEMORY) {
    gen_text_add(text, "%s: %s", hia_status_word(status), hia_error_text(error));
    return;
  }
  gen_text_add(text, "%s %lld:", hia_status_word(status), (long long)hia_error_fail_code(error));
  for (uint64_t i = 0; i < hia_error_chain_length(error); i++) {
    const char *fn = "?";
    hia_error_chain_entry(error, i, &fn, NULL, NULL, NULL);
    gen_text_add(text, " %.*s", (int)strcspn(fn, "_"), fn); /* f3_i64 is f3 */
  }
}

static void run_main(hia_module *module, gen_program *p, gen_text *text) {
  hia_function *function;
  hia_value *args[16] = {0}, *result = NULL;
  hia_error *error = NULL;
  hia_run_stats stats = HIA_RUN_STATS_INIT;
  hia_run_options o = HIA_RUN_OPTIONS_INIT;
  o.stats = &stats;
  gen_fn *fn = gen_main(p);
  const uint64_t *words = p->args;
  hia_status status = hia_module_function(module, "main", &function, &error);
  for (uint32_t i = 0; i < fn->n_params && status == HIA_OK; i++) {
    gen_text arg = {0};
    gen_print_value(p, fn->params[i]->type, words, false, &arg);
    status = hia_value_parse(function, i, arg.data, &args[i], &error);
    words += gen_words(p, fn->params[i]->type);
    gen_text_free(&arg);
  }
  if (status == HIA_OK) status = hia_run(function, args, fn->n_params, &o, &result, &error);
  if (status == HIA_OK) {
    char buf[1024];
    hia_value_format(result, buf, sizeof buf);
    gen_text_add(text, "%s, %llu calls, %llu rounds", buf, (unsigned long long)stats.calls,
                 (unsigned long long)stats.rounds);
  } else {
    add_error(status, error, text);
  }
  hia_value_free(result);
  hia_error_free(error);
  for (uint32_t i = 0; i < 16; i++) hia_value_free(args[i]);
}

/* ---- the test ---- */

static hia_engine *new_engine(hia_engine_kind kind) {
  hia_engine_options o = HIA_ENGINE_OPTIONS_INIT;
  hia_engine *engine = NULL;
  o.kind = kind;
  o.flags |= HIA_FLAG_COUNT;
  o.opt_level = 1;
  if (hia_engine_new(&o, &engine, NULL) == HIA_OK && kind == HIA_ENGINE_JIT &&
      hia_engine_native(engine, NULL) != HIA_OK) {
    hia_engine_free(engine);
    engine = NULL;
  }
  if (engine && diff_add_hosts(engine, NULL) != HIA_OK) abort();
  return engine;
}

/* Builds a program, runs it and adds the outcome to `got`, the text to `source`. Printing it again
 * must return the same text. */
static void build_and_run(hia_engine *engine, gen_program *p, gen_text *source, gen_text *got) {
  hia_builder *b = NULL;
  hia_module *module = NULL;
  hia_error *error = NULL;
  hia_status status = hia_builder_new(engine, "random.hia", &b, &error);
  if (status == HIA_OK) {
    make_program(b, p);
    hia_builder_print(b, gen_text_take, source, NULL);
    status = hia_builder_finish(b, &module, &error);
    gen_text again = {0};
    hia_builder_print(b, gen_text_take, &again, NULL);
    if (strcmp(source->data, again.data) != 0)
      gen_text_add(got, "printed differently:\n%s", again.data);
    gen_text_free(&again);
  }
  if (status == HIA_OK)
    run_main(module, p, got);
  else
    gen_text_add(got, "%s", hia_error_text(error));
  hia_error_free(error);
  hia_module_free(module);
  hia_builder_free(b);
}

void diff_build(const diff_random_options *o, diff_counts *counts) {
  static gen_outcome outcome; /* too large for a stack */
  hia_engine *engines[2] = {NULL, NULL};
  uint32_t uses = 0;
  time_t start = time(NULL);
  for (uint32_t n = 0; !o->count || n < o->count; n++) {
    if (o->seconds && time(NULL) - start >= (time_t)o->seconds) break;
    if (!engines[0] || ++uses == USES_OF_AN_ENGINE) {
      for (int i = 0; i < 2; i++) {
        hia_engine_free(engines[i]);
        engines[i] = new_engine(i ? HIA_ENGINE_JIT : HIA_ENGINE_INTERP);
      }
      uses = 0;
    }
    uint64_t seed = o->seed + n;
    uint32_t size = o->size ? o->size : 1 + (uint32_t)(seed % SIZES);
    char what[160];
    snprintf(what, sizeof what, "hia_diff --build --seed %llu --size %u --count 1 --thorough",
             (unsigned long long)seed, size);
    diff_watch(what);
    gen_program *p = gen_make(seed, size, false);
    gen_text written = {0}, expected = {0};
    gen_print(p, &written); /* notes what eval reports */
    gen_eval(p, MAX_EVALUATED, NULL, &outcome);
    bool agrees = true;
    if (outcome.end != GEN_TOO_LONG) {
      expect(p, &outcome, &expected);
      for (int i = 0; i < 2 && agrees; i++) {
        if (!engines[i] || (i && !o->thorough && seed % NATIVE_IN_TURN)) continue;
        gen_text source = {0}, got = {0};
        diff_taps();
        build_and_run(engines[i], p, &source, &got);
        if (diff_taps() != outcome.taps)
          gen_text_add(&got, " after other effects, or in another order");
        agrees = !strcmp(got.data, expected.data);
        if (!agrees)
          fprintf(stderr,
                  "FAIL %s (%s)\n  expected %s\n  got      %s\nof the program\n%s\nbuilt:\n%s",
                  what, i ? "jit" : "interp", expected.data, got.data, written.data, source.data);
        gen_text_free(&source);
        gen_text_free(&got);
      }
    }
    gen_text_free(&written);
    gen_text_free(&expected);
    gen_free(p);
    if (agrees)
      counts->passed++;
    else
      counts->failed++;
  }
  for (int i = 0; i < 2; i++) hia_engine_free(engines[i]);
  diff_watch(NULL);
}
