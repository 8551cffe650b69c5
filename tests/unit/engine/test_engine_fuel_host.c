/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Fuel that several calls share: calls of host functions, the runs within them, and typed entries
 * that are called with one context. */
#include "tests/unit/helpers/engine_fuel.h"

/* ---- the host ---- */

static const char host_text[] =
    "extern impure fn again(n: i32) -> i32\n"
    "extern fn twice(n: i32) -> i32\n"
    "fn fib(n: i32) -> i32 = if n <= 1 then 1 else fib(n - 1) + fib(n - 2)\n"
    "fn inner(n: i32) -> i32 = if n > 20 then again(n - 10) + 1 else fib(n)\n"
    "fn main(n: i32) -> i32 = again(n) + again(n + 10) + (if n > 3 then again(n) else 0) + fib(5)\n"
    "fn pure(n: i32) -> i32 = { let _ = twice(n); twice(n) + twice(n) }\n";

typedef struct hosted {
  program p;
  hia_run_options options; /* of nested runs */
  int calls;
} hosted;

/* Runs `inner`, and fails as that does. */
static int32_t again(void *user, int32_t n, int32_t *result) {
  hosted *h = user;
  hia_function *inner;
  hia_value *arg = hia_value_i32(h->p.engine, n), *value = NULL;
  hia_status status = hia_module_function(h->p.module, "inner", &inner, NULL);
  if (status == HIA_OK) status = hia_run(inner, &arg, 1, &h->options, &value, NULL);
  if (status == HIA_OK) hia_value_get_i32(value, result);
  hia_value_free(value);
  hia_value_free(arg);
  h->calls++;
  return (int32_t)status;
}

static int32_t twice(void *user, int32_t n) {
  ((hosted *)user)->calls++;
  return n + n;
}

static void open_hosted(hosted *h, hia_engine_kind kind, const char *passes, const char *name) {
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  hia_host_function f = HIA_HOST_FUNCTION_INIT;
  hia_error *error;
  *h = (hosted){.options = HIA_RUN_OPTIONS_INIT};
  options.kind = kind;
  options.disabled_passes = passes;
  cr_assert_eq(hia_engine_new(&options, &h->p.engine, NULL), HIA_OK);
  f.declaration = "extern impure fn again(n: i32) -> i32";
  f.function = (void (*)(void))again;
  f.user = h;
  f.takes_user = f.returns_status = true;
  cr_assert_eq(hia_engine_register(h->p.engine, &f, NULL), HIA_OK);
  f.declaration = "extern fn twice(n: i32) -> i32";
  f.function = (void (*)(void))twice;
  f.returns_status = false;
  cr_assert_eq(hia_engine_register(h->p.engine, &f, NULL), HIA_OK);
  cr_assert_eq(hia_module_load_text(h->p.engine, "t.hia", host_text, strlen(host_text),
                                    &h->p.module, &error),
               HIA_OK, "%s", hia_error_text(error));
  cr_assert_eq(hia_module_function(h->p.module, name, &h->p.function, NULL), HIA_OK);
}

/* Nested runs use up the fuel of the outer run. main(15) makes 4 calls, one more in its arm,
 * and fib(5) 14; each run of inner(15) makes 1 and 1972 below it; inner(25) makes one, and
 * starts another such run. */
Test(fuel, runs_within_runs) {
  const uint64_t each = 1973, needed = 3 + 1 + 14 + each + (1 + each) + each;
  static const char *const passes[] = {NULL, "all"};
  static outcome first, o;
  uint64_t fuels[] = {0,
                      3,
                      4,
                      5,
                      each + 3,
                      each + 4,
                      2 * each + 4,
                      2 * each + 5,
                      needed - 15,
                      needed - 14,
                      needed - 1,
                      needed,
                      needed + 1,
                      UINT64_MAX};
  hosted h;
  for (size_t i = 0; i < sizeof fuels / sizeof fuels[0]; i++)
    for (size_t k = 0; k < 2 * n_kinds(); k++) {
      open_hosted(&h, kinds[k / 2], passes[k % 2], "main");
      run(&h.p, 15, fuels[i], &o);
      cr_assert_eq(o.status, fuels[i] < needed ? HIA_FUEL : HIA_OK, "%zu: %s", i, o.text);
      if (o.status == HIA_OK) cr_assert_eq(o.stats.fuel_left, fuels[i] - needed);
      if (k == 0) first = o;
      cr_assert_str_eq(o.text, first.text);
      cr_assert(o.stats.is_fuelled == first.stats.is_fuelled &&
                o.stats.fuel_left == first.stats.fuel_left);
      close_program(&h.p);
      if (kinds[k / 2] != HIA_ENGINE_JIT) continue;
      open_hosted(&h, HIA_ENGINE_JIT, passes[k % 2], "main");
      run_typed(&h.p, 15, fuels[i], &o);
      cr_assert_str_eq(o.text, first.text, "typed");
      cr_assert_eq(o.stats.fuel_left, first.stats.fuel_left);
      close_program(&h.p);
    }
}

/* A nested run may have a lower limit of its own; in a run without fuel there is none to inherit.
 */
Test(fuel, nested_runs_with_less) {
  static outcome o;
  hosted h;
  for (size_t k = 0; k < n_kinds(); k++) {
    open_hosted(&h, kinds[k], NULL, "main");
    h.options.has_fuel = true;
    h.options.fuel = 1972;
    run(&h.p, 15, 1000000, &o);
    cr_assert_eq(o.status, HIA_FUEL);
    cr_assert_eq(h.calls, 1);
    h.options.fuel = 1974;
    run(&h.p, 15, 1000000, &o);
    cr_assert_eq(o.status, HIA_OK, "%s", o.text);
    h.options.has_fuel = false;
    h.options.fuel = 0;
    hia_run_options unlimited = HIA_RUN_OPTIONS_INIT;
    run_with(&h.p, 15, &unlimited, &o);
    cr_assert_eq(o.status, HIA_OK);
    close_program(&h.p);
  }
}

/* With fuel a pure host function is called as often as it is charged. */
Test(fuel, calls_of_the_host) {
  static outcome o;
  static char graph[1 << 16];
  hosted h;
  for (size_t k = 0; k < n_kinds(); k++) {
    open_hosted(&h, kinds[k], NULL, "pure");
    run(&h.p, 5, 3, &o);
    cr_assert_str_eq(o.text, "20");
    cr_assert_eq(o.stats.fuel_left, 0);
    cr_assert_eq(h.calls, 3);
    run(&h.p, 5, 2, &o);
    cr_assert_eq(o.status, HIA_FUEL);
    cr_assert_eq(h.calls, 3);
    /* The dump can be loaded. */
    dump(&h.p, HIA_STAGE_STATIC, NULL, true, graph);
    hia_module *module;
    hia_error *error;
    cr_assert_eq(hia_module_load_ir(h.p.engine, "g.ir", graph, strlen(graph), &module, &error),
                 HIA_OK, "%s", hia_error_text(error));
    hia_function *f;
    cr_assert_eq(hia_module_function(module, "pure", &f, NULL), HIA_OK);
    hia_value *args[2] = {hia_value_i32(h.p.engine, 5), hia_value_i64(h.p.engine, 9)}, *result;
    cr_assert_eq(hia_call(f, args, 2, &result, NULL), HIA_OK);
    char buf[40];
    hia_value_format(result, buf, sizeof buf);
    cr_assert_str_eq(buf, "(20, 6)");
    hia_value_free(result);
    hia_value_free(args[0]);
    hia_value_free(args[1]);
    hia_module_free(module);
    close_program(&h.p);
  }
}

/* ---- typed entries ---- */

typedef hia_status (*typed_fn)(hia_context *, int32_t, int32_t *);

static typed_fn entry_of(const program *p, const char *name, bool has_fuel) {
  hia_function *f;
  hia_native_fn entry;
  hia_error *error;
  cr_assert_eq(hia_module_function(p->module, name, &f, &error), HIA_OK);
  hia_status status =
      (has_fuel ? hia_function_entry_with_fuel : hia_function_entry)(f, &entry, &error);
  cr_assert_eq(status, HIA_OK, "%s", hia_error_text(error));
  return (typed_fn)entry;
}

static uint64_t left(const hia_context *context) {
  uint64_t n = 1;
  cr_assert(hia_context_fuel_left(context, &n));
  return n;
}

/* All calls of a context use up its fuel together; entries without fuel are refused meanwhile. */
Test(fuel, typed_entries_share_what_a_context_has) {
  NEEDS_NATIVE;
  program p = open(HIA_ENGINE_JIT, "fib");
  typed_fn fib = entry_of(&p, "fib", true), deep = entry_of(&p, "deep", true);
  typed_fn inverse = entry_of(&p, "inverse", true), without = entry_of(&p, "fib", false);
  hia_context *context, *other;
  uint64_t fuel = 1;
  int32_t x = 0;
  cr_assert_eq(hia_engine_context_new(p.engine, &context, NULL), HIA_OK);
  cr_assert_eq(hia_engine_context_new(p.engine, &other, NULL), HIA_OK);
  cr_assert_not(hia_context_fuel_left(context, &fuel));
  cr_assert_eq(fuel, 0);
  /* Without fuel there is no such limit in any code. */
  cr_assert_eq(fib(context, 20, &x), HIA_OK);
  cr_assert_eq(x, 10946);
  cr_assert_eq(without(context, 20, &x), HIA_OK);

  hia_context_set_fuel(context, 100);
  for (int round = 0; round < 3; round++) { /* the first is a special one */
    cr_assert_eq(deep(context, 10, &x), HIA_OK);
    cr_assert_eq(x, 10);
    cr_assert_eq(left(context), 90u - 10u * (unsigned)round);
  }
  cr_assert_eq(without(context, 1, &x), HIA_UNSUPPORTED);
  cr_assert_not_null(strstr(hia_error_text(hia_context_error(context)), "not compiled for that"));
  cr_assert_eq(left(context), 70);
  cr_assert_eq(without(other, 20, &x), HIA_OK, "another context has no fuel to heed");
  cr_assert_eq(deep(context, 71, &x), HIA_FUEL);
  cr_assert_eq(left(context), 0);
  cr_assert_eq(deep(context, 0, &x), HIA_OK, "a call that makes none needs none");
  cr_assert_eq(deep(context, 1, &x), HIA_FUEL);

  /* A call that fails otherwise has used up everything, one that is refused nothing. */
  hia_context_set_fuel(context, 50);
  cr_assert_eq(inverse(context, 0, &x), HIA_DIV_ZERO);
  cr_assert_eq(left(context), 0);
  hia_context_set_fuel(context, 50);
  cr_assert_eq(fib(NULL, 0, &x), HIA_ARGUMENT);
  cr_assert_eq(fib(context, 3, &x), HIA_OK);
  cr_assert_eq(left(context), 46);

  hia_context_clear_fuel(context);
  cr_assert_not(hia_context_fuel_left(context, NULL));
  cr_assert_eq(without(context, 20, &x), HIA_OK);
  cr_assert_eq(fib(context, 20, &x), HIA_OK);
  /* Other limits apply in addition. */
  hia_context_set_fuel(context, UINT64_MAX);
  hia_context_set_timeout(context, 20000000);
  typed_fn pairs = entry_of(&p, "pairs", true);
  cr_assert_eq(pairs(context, INT32_MAX, &x), HIA_DEADLINE);
  hia_context_set_timeout(context, 0);
  hia_context_set_fuel(context, 1000);
  hia_context_cancel(context);
  cr_assert_eq(fib(context, 5, &x), HIA_CANCELLED);
  hia_context_reset(context);
  hia_context_set_fuel(context, 1000);
  cr_assert_eq(fib(context, 5, &x), HIA_OK);
  cr_assert_eq(left(context), 986);
  hia_context_free(other);
  hia_context_free(context);
  close_program(&p);
}

/* In a host function: calls a typed entry with a context of its own. */
typedef struct inner_call {
  typed_fn entry;
  hia_context *context, *outer; /* outer: the context of the call around this one; or NULL */
  hia_status busy;
} inner_call;

static hia_status call_inner(void *user, int32_t n, int32_t *result) {
  inner_call *c = user;
  if (c->outer) {
    c->busy = c->entry(c->outer, 1, result);
    hia_context_set_fuel(c->outer, 12345); /* it is in a call: nothing happens */
  }
  return c->entry(c->context, n, result);
}

/* A typed entry with fuel inside a run with fuel uses up the fuel of that run. */
Test(fuel, typed_entries_within_runs) {
  static const char nested[] = "extern impure fn inner(n: i32) -> i32\n"
                               "fn main(n: i32) -> i32 = inner(n) + inner(n)\n"
                               "fn deep(n: i32) -> i32 = if n == 0 then 0 else 1 + deep(n - 1)\n";
  NEEDS_NATIVE;
  program p;
  inner_call c = {.busy = HIA_OK};
  hia_host_function f = HIA_HOST_FUNCTION_INIT;
  f.declaration = "extern impure fn inner(n: i32) -> i32";
  f.function = (void (*)(void))call_inner;
  f.user = &c;
  f.takes_user = f.returns_status = true;
  cr_assert_eq(hia_engine_new(NULL, &p.engine, NULL), HIA_OK);
  cr_assert_eq(hia_engine_register(p.engine, &f, NULL), HIA_OK);
  cr_assert_eq(hia_module_load_text(p.engine, "t", nested, strlen(nested), &p.module, NULL),
               HIA_OK);
  cr_assert_eq(hia_module_function(p.module, "main", &p.function, NULL), HIA_OK);
  cr_assert_eq(hia_engine_context_new(p.engine, &c.context, NULL), HIA_OK);
  c.entry = entry_of(&p, "deep", true);
  typed_fn main_fn = entry_of(&p, "main", true);
  hia_context *context;
  cr_assert_eq(hia_engine_context_new(p.engine, &context, NULL), HIA_OK);
  int32_t x = 0;
  for (int by_entry = 0; by_entry < 2; by_entry++) {
    for (uint64_t fuel = 0; fuel < 25; fuel++) {
      static outcome o;
      bool is_enough = fuel >= 22; /* two calls of the host function, and ten below each */
      hia_context_set_fuel(c.context, 1000);
      if (by_entry) {
        hia_context_set_fuel(context, fuel);
        c.outer = context;
        o.status = main_fn(context, 10, &x);
        cr_assert(fuel < 2 || c.busy == HIA_BUSY);
        c.outer = NULL;
        if (is_enough) cr_assert_eq(left(context), fuel - 22);
      } else {
        run(&p, 10, fuel, &o);
        if (is_enough) cr_assert_eq(o.stats.fuel_left, fuel - 22);
      }
      cr_assert_eq(o.status, is_enough ? HIA_OK : HIA_FUEL, "%d %d", by_entry, (int)fuel);
      if (is_enough) cr_assert_eq(left(c.context), 980, "its own is used up too");
    }
  }
  hia_context_free(context);
  hia_context_free(c.context);
  close_program(&p);
}
