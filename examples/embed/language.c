/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* A small language of the host's, lowered to hiaton by the builder: a Lisp without types. Each of
 * its values is of one data type of hiaton, `type Value = Nil | Num(x: f64) | Pair(head: Value,
 * tail: Value)`. What the language checks when it runs, such as whether a value is a number, is a
 * `match` that fails in its other arms.
 *
 * The expressions:
 *
 *   12.5  x  nil  (let x e body)  (if c then else)  (f a b)
 *   (+ a b)  (- a b)  (* a b)  (< a b)  (cons a b)  (head a)  (tail a)
 *
 * nil is false, every other value is true. The function `sort` is then called through its typed
 * entry, with values that the host has made.
 *
 * prints:
 *   type Value = Nil | Num(x: f64) | Pair(head: Value, tail: Value)
 *
 *   fn number(v: Value) -> f64 =
 *     match v {
 *       Num(x) => x,
 *       _ => fail(1i32),
 *     }
 *
 *   fn head_of(v: Value) -> Value =
 *     match v {
 *       Pair(first, _) => first,
 *       _ => fail(2i32),
 *     }
 *
 *   fn tail_of(v: Value) -> Value =
 *     match v {
 *       Pair(_, rest) => rest,
 *       _ => fail(2i32),
 *     }
 *
 *   fn insert(x: Value, xs: Value) -> Value =
 *     match xs {
 *       Nil => Pair(x, Nil),
 *       _ => {
 *         let first = head_of(xs);
 *         let v1 = number(x);
 *         let v2: Value = if v1 < number(first) then Num(1.0) else Nil;
 *         match v2 {
 *           Nil => Pair(first, insert(x, tail_of(xs))),
 *           _ => Pair(x, xs),
 *         }
 *       },
 *     }
 *
 *   fn sort(xs: Value) -> Value =
 *     match xs {
 *       Nil => Nil,
 *       _ => {
 *         let v1 = head_of(xs);
 *         insert(v1, sort(tail_of(xs)))
 *       },
 *     }
 *
 *   Pair(Num(1.0), Pair(Num(2.0), Pair(Num(3.0), Nil)))
 *   sort.lisp:6:10: error[failed]: the program called fail(1)
 *       6 |     _ => fail(1i32),
 *         |          ^
 *     in number at sort.lisp:6:10
 *     called from insert at sort.lisp:27:31
 */
#include <ctype.h>
#include <hiaton/hiaton.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char program[] =
    "(def insert (x xs)"
    "  (if xs"
    "      (let first (head xs)"
    "        (if (< x first) (cons x xs) (cons first (insert x (tail xs)))))"
    "      (cons x nil)))"
    "(def sort (xs) (if xs (insert (head xs) (sort (tail xs))) nil))";

/* ---- the syntax tree: numbers, names, lists ---- */

typedef struct node {
  char name[16]; /* "": a list, or a number */
  double number;
  bool is_list;
  struct node *first, *next; /* the parts of a list */
} node;

static node nodes[200];
static size_t n_nodes;

static void complain(const char *what, const char *where) {
  fprintf(stderr, "%s: %s\n", what, where);
  exit(1);
}

static node *read_node(const char **at) {
  while (isspace((unsigned char)**at)) ++*at;
  if (**at == '\0' || n_nodes == sizeof nodes / sizeof nodes[0])
    complain("unfinished, or too long", program);
  node *n = &nodes[n_nodes++];
  if (**at == '(') {
    n->is_list = true;
    ++*at;
    for (node **last = &n->first; **at != ')'; last = &(*last)->next) *last = read_node(at);
    ++*at;
  } else if (isdigit((unsigned char)**at)) {
    char *end;
    n->number = strtod(*at, &end);
    *at = end;
  } else {
    size_t len = strcspn(*at, " ()");
    if (len >= sizeof n->name) complain("a long name", *at);
    memcpy(n->name, *at, len);
    *at += len;
  }
  while (isspace((unsigned char)**at)) ++*at;
  return n;
}

/* ---- lowering ---- */

typedef hia_build_value value;

typedef struct lowering {
  hia_builder *b;
  hia_build_type type; /* Value */
  hia_build_ctor nil, num, pair;
  hia_build_fn number, head, tail; /* the checks at run time */
  struct {
    const char *name;
    hia_build_fn fn;
  } fns[20];
  size_t n_fns;
  struct {
    const char *name;
    value is;
  } vars[20]; /* the innermost one last */
  size_t n_vars;
} lowering;

static value lower(lowering *l, const node *n);

static value nil(lowering *l) { return hia_build_data(l->b, l->nil, NULL, 0); }

/* A number as hiaton has it: fails with code 1 if the value is none. */
static value unboxed(lowering *l, const node *n) {
  value v = lower(l, n);
  return hia_build_call(l->b, l->number, &v, 1);
}

static value boxed(lowering *l, value x) { return hia_build_data(l->b, l->num, &x, 1); }

static bool is_call(const node *n, const char *name, size_t n_args) {
  size_t count = 0;
  for (const node *arg = n->first; arg != NULL; arg = arg->next) count++;
  return count == n_args + 1 && strcmp(n->first->name, name) == 0;
}

static value lower_name(lowering *l, const node *n) {
  for (size_t i = l->n_vars; i-- > 0;)
    if (strcmp(l->vars[i].name, n->name) == 0) return l->vars[i].is;
  if (strcmp(n->name, "nil") != 0) complain("unknown name", n->name);
  return nil(l);
}

static value lower_if(lowering *l, const node *condition) {
  const node *then = condition->next;
  hia_build_match(l->b, lower(l, condition));
  hia_build_arm_ctor(l->b, l->nil, NULL, 0);
  hia_build_end_arm(l->b, lower(l, then->next));
  hia_build_arm(l->b, "_", NULL, 0);
  hia_build_end_arm(l->b, lower(l, then));
  return hia_build_end_match(l->b);
}

static value lower_let(lowering *l, const node *name) {
  value v = hia_build_name(l->b, lower(l, name->next), name->name);
  if (l->n_vars == sizeof l->vars / sizeof l->vars[0]) complain("too many variables", name->name);
  l->vars[l->n_vars].name = name->name;
  l->vars[l->n_vars++].is = v;
  v = lower(l, name->next->next);
  l->n_vars--;
  return v;
}

/* Arguments are lowered one statement after the other: C leaves the order open in one expression.
 */
static value lower_call(lowering *l, const node *n) {
  value args[8];
  size_t n_args = 0;
  for (const node *arg = n->first->next; arg != NULL && n_args < 8; arg = arg->next)
    args[n_args++] = lower(l, arg);
  for (size_t i = 0; i < l->n_fns; i++)
    if (strcmp(l->fns[i].name, n->first->name) == 0)
      return hia_build_call(l->b, l->fns[i].fn, args, n_args); /* checks their number */
  complain("unknown function", n->first->name);
  return args[0];
}

static value lower(lowering *l, const node *n) {
  if (!n->is_list) return n->name[0] ? lower_name(l, n) : boxed(l, hia_build_f64(l->b, n->number));
  if (n->first == NULL) complain("an empty list", "()");
  const node *first = n->first->next;
  if (is_call(n, "if", 3)) return lower_if(l, first);
  if (is_call(n, "let", 3)) return lower_let(l, first);
  if (is_call(n, "head", 1) || is_call(n, "tail", 1)) {
    value v = lower(l, first);
    return hia_build_call(l->b, n->first->name[0] == 'h' ? l->head : l->tail, &v, 1);
  }
  if (is_call(n, "cons", 2)) {
    value parts[2];
    parts[0] = lower(l, first);
    parts[1] = lower(l, first->next);
    return hia_build_data(l->b, l->pair, parts, 2);
  }
  static const struct {
    const char *name;
    hia_opcode op;
  } ops[] = {
      {"+", HIA_OPCODE_ADD}, {"-", HIA_OPCODE_SUB}, {"*", HIA_OPCODE_MUL}, {"<", HIA_OPCODE_LT}};
  for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++) {
    if (!is_call(n, ops[i].name, 2)) continue;
    value x[2];
    x[0] = unboxed(l, first);
    x[1] = unboxed(l, first->next);
    value result = hia_build_op(l->b, ops[i].op, x, 2);
    if (ops[i].op != HIA_OPCODE_LT) return boxed(l, result);
    hia_build_if(l->b, result); /* true is 1 */
    hia_build_else(l->b, boxed(l, hia_build_f64(l->b, 1)));
    return hia_build_end_if(l->b, nil(l));
  }
  return lower_call(l, n);
}

/* A function that takes one constructor apart and fails for all others. */
static hia_build_fn build_check(lowering *l, const char *signature, const char *pattern, int code) {
  hia_build_fn f = hia_build_declare(l->b, signature);
  value part;
  hia_build_begin(l->b, f);
  hia_build_match(l->b, hia_build_param(l->b, f, 0));
  hia_build_arm(l->b, pattern, &part, 1);
  hia_build_end_arm(l->b, part);
  hia_build_arm(l->b, "_", NULL, 0);
  value wrong = hia_build_fail(l->b, hia_build_i32(l->b, code), hia_build_type_of(l->b, part));
  hia_build_end_arm(l->b, wrong);
  hia_build_return(l->b, hia_build_end_match(l->b));
  return f;
}

static void declare_values(lowering *l) {
  hia_builder *b = l->b;
  l->type = hia_build_declare_type(b, "Value"); /* its constructors may contain it */
  const hia_build_field num[] = {{"x", HIA_F64}};
  const hia_build_field pair[] = {{"head", l->type}, {"tail", l->type}};
  l->nil = hia_build_add_ctor(b, l->type, "Nil", NULL, 0);
  l->num = hia_build_add_ctor(b, l->type, "Num", num, 1);
  l->pair = hia_build_add_ctor(b, l->type, "Pair", pair, 2);
  l->number = build_check(l, "number(v: Value) -> f64", "Num(x)", 1);
  l->head = build_check(l, "head_of(v: Value) -> Value", "Pair(first, _)", 2);
  l->tail = build_check(l, "tail_of(v: Value) -> Value", "Pair(_, rest)", 2);
}

/* All functions are declared before the body of the first: they may call each other. */
static void lower_program(lowering *l, const char *text) {
  const node *defs[20];
  declare_values(l);
  while (*text != '\0' && l->n_fns < 20) {
    const node *def = defs[l->n_fns] = read_node(&text);
    if (!def->is_list || def->first == NULL || !is_call(def, "def", 3) ||
        !def->first->next->next->is_list)
      complain("no definition", program);
    hia_build_type params[8];
    size_t n = 0;
    for (const node *p = def->first->next->next->first; p != NULL && n < 8; p = p->next)
      params[n++] = l->type;
    l->fns[l->n_fns].name = def->first->next->name;
    l->fns[l->n_fns++].fn =
        hia_build_declare_types(l->b, def->first->next->name, params, n, l->type);
  }
  for (size_t i = 0; i < l->n_fns; i++) {
    const node *params = defs[i]->first->next->next;
    hia_build_begin(l->b, l->fns[i].fn);
    l->n_vars = 0;
    for (const node *p = params->first; p != NULL && l->n_vars < 8; p = p->next) {
      value v = hia_build_param(l->b, l->fns[i].fn, l->n_vars);
      l->vars[l->n_vars].name = p->name;
      l->vars[l->n_vars++].is = hia_build_name(l->b, v, p->name);
    }
    hia_build_return(l->b, lower(l, params->next));
  }
}

/* ---- running ---- */

static bool print(void *user, const char *bytes, size_t len) {
  (void)user;
  return fwrite(bytes, 1, len, stdout) == len;
}

/* hia_status sort(hia_context *, const hia_value *xs, hia_value **result) */
typedef hia_status (*sort_fn)(hia_context *, const hia_value *, hia_value **);

static void sort(hia_context *context, sort_fn entry, hia_function *f, const char *list) {
  hia_value *xs = NULL, *result = NULL;
  if (hia_value_parse(f, 0, list, &xs, NULL) != HIA_OK) complain("no value", list);
  if (entry(context, xs, &result) == HIA_OK) {
    hia_value_write(result, 1000, print, NULL, NULL, NULL);
    puts("");
  } else {
    printf("%s", hia_error_text(hia_context_error(context)));
  }
  hia_value_free(result);
  hia_value_free(xs);
}

int main(void) {
  hia_engine *engine = NULL;
  hia_module *module = NULL;
  hia_function *f = NULL;
  hia_native_fn entry = NULL;
  hia_context *context = NULL;
  hia_error *error = NULL;
  lowering l = {0};
  hia_status status = hia_engine_new(NULL, &engine, &error);
  if (status == HIA_OK) status = hia_builder_new(engine, "sort.lisp", &l.b, &error);
  if (status == HIA_OK) {
    lower_program(&l, program); /* the call of finish reports a mistake in it */
    hia_builder_print(l.b, print, NULL, NULL);
    puts("");
    status = hia_builder_finish(l.b, &module, &error);
  }
  hia_builder_free(l.b);
  if (status == HIA_OK) status = hia_module_function(module, "sort", &f, &error);
  if (status == HIA_OK) status = hia_function_entry(f, &entry, &error);
  if (status == HIA_OK) status = hia_engine_context_new(engine, &context, &error);
  if (status == HIA_OK) {
    sort(context, (sort_fn)entry, f, "Pair(Num(3), Pair(Num(1), Pair(Num(2), Nil)))");
    sort(context, (sort_fn)entry, f, "Pair(Num(3), Pair(Nil, Nil))"); /* nil is no number */
  } else {
    fputs(hia_error_text(error), stderr);
  }
  hia_error_free(error);
  hia_context_free(context);
  hia_module_free(module);
  hia_engine_free(engine);
  return status != HIA_OK;
}
