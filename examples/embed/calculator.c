/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* A calculator whose formulas are hiaton programs, typed by users. Each formula has limits of calls
 * and loop rounds (fuel, which ends a formula at the same place on every machine), of time, of
 * depth of recursion and of memory. A formula that exceeds one only ends with an error. Numbers are
 * f64; `name(a, b) = formula` defines a function for the lines that follow.
 *
 *   calculator [LINE...]
 *
 * Without lines it takes its own and
 * prints:
 *   > 1 + 2 * 3
 *   7.0
 *   > hypot(a, b) = sqrt(a * a + b * b)
 *   > hypot(3, 4) / 0
 *   inf
 *   > fact(n) = if n < 2 then 1 else n * fact(n - 1)
 *   > fact(20)
 *   2.43290200817664e+18
 *   > fact(hypot(1, true))
 *   formula:3:34: error[E0302]: the parameter 'b' of 'hypot' is f64, but this is bool
 *   > loop (x: f64 = 0.5) while x > 0 { 1 - x }
 *   formula:3:20: error[fuel]: out of fuel
 *   > deep(n) = if n == 0 then 0 else 1 + deep(n - 1)
 *   > deep(20000)
 *   20000.0
 *   > deep(500000)
 *   formula:3:52: error[depth]: recursion too deep: more than 8.0 MiB of frames
 *   > if hypot(1, 1) < 1.5 then fail(3) else 0
 *   formula:4:46: error[failed]: the program called fail(3)
 */
#include <hiaton/hiaton.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- the limits of a formula ---- */

#define FUEL 1000000 /* calls and loop rounds */
#define TIMEOUT                                                                                    \
  (2 * 1000000000ull)      /* nanoseconds: fuel does not limit the time on a slow machine */
#define DEPTH  (8u << 20)  /* bytes of pending calls */
#define MEMORY (16u << 20) /* bytes of a run in all */
#define BUDGET (64u << 20) /* bytes of everything, compiling included */

/* An allocator that grants no more than its budget: hiaton then returns HIA_MEMORY. */
static atomic_size_t used;

static void *take(void *user, size_t size) {
  (void)user;
  if (atomic_fetch_add(&used, size) + size <= BUDGET) {
    void *block = malloc(size);
    if (block != NULL) return block;
  }
  atomic_fetch_sub(&used, size);
  return NULL;
}

static void give(void *user, void *block, size_t size) {
  (void)user;
  atomic_fetch_sub(&used, size);
  free(block);
}

static void *resize(void *user, void *block, size_t old_size, size_t size) {
  void *moved = take(user, size);
  if (moved == NULL) return NULL;
  memcpy(moved, block, old_size < size ? old_size : size);
  give(user, block, old_size);
  return moved;
}

/* ---- formulas ---- */

static char definitions[65536]; /* a line each */

static void report(const hia_error *error) {
  if (hia_error_line(error, 0) != 0)
    printf("%s:%u:%u: ", hia_error_file(error, 0), (unsigned)hia_error_line(error, 0),
           (unsigned)hia_error_col(error, 0));
  printf("error[%s]: %s\n", hia_error_code(error, 0), hia_error_message(error, 0));
}

/* The module of all definitions and this line; NULL if it has errors, which are reported. */
static hia_module *load(hia_engine *engine, const char *line) {
  size_t size = strlen(definitions) + strlen(line) + 1;
  char *text = malloc(size);
  if (text == NULL) return NULL;
  snprintf(text, size, "%s%s", definitions, line);
  hia_module *module = NULL;
  hia_error *error = NULL;
  if (hia_module_load_text(engine, "formula", text, size - 1, &module, &error) != HIA_OK)
    report(error);
  hia_error_free(error);
  free(text);
  return module;
}

static void evaluate(hia_engine *engine, const char *formula) {
  char line[1024];
  if (snprintf(line, sizeof line, "fn main() -> f64 = %s\n", formula) >= (int)sizeof line) {
    puts("the formula is too long");
    return;
  }
  hia_module *module = load(engine, line);
  hia_function *function = NULL;
  hia_value *result = NULL;
  hia_error *error = NULL;
  hia_run_options options = HIA_RUN_OPTIONS_INIT;
  options.has_fuel = true;
  options.fuel = FUEL;
  options.timeout_ns = TIMEOUT;
  if (module == NULL) return;
  if (hia_module_function(module, "main", &function, &error) == HIA_OK &&
      hia_run(function, NULL, 0, &options, &result, &error) == HIA_OK) {
    char text[64];
    hia_value_format(result, text, sizeof text);
    puts(text);
  } else {
    report(error);
  }
  hia_error_free(error);
  hia_value_free(result);
  hia_module_free(module);
}

/* "hypot(a, b) = ..." becomes "fn hypot(a: f64, b: f64) -> f64 = ...", and is kept if it checks. */
static void define(hia_engine *engine, const char *head, size_t head_len, const char *body) {
  char line[2048] = "fn ";
  size_t len = 3;
  bool in_name = false;
  for (size_t i = 0; i < head_len && len + 16 < sizeof line; i++) {
    bool ends = (head[i] == ',' || head[i] == ')') && in_name;
    if (ends) len += (size_t)snprintf(line + len, sizeof line - len, ": f64");
    in_name = !ends && head[i] != '(' && (in_name || head[i] != ' ');
    line[len++] = head[i];
  }
  size_t room = sizeof line - len;
  if ((size_t)snprintf(line + len, room, " -> f64 =%s\n", body) >= room ||
      strlen(definitions) + strlen(line) >= sizeof definitions) {
    puts("the definition is too long");
    return;
  }
  hia_module *module = load(engine, line);
  if (module != NULL) strcat(definitions, line);
  hia_module_free(module);
}

/* A definition has a lone `=`, behind a name and its parameters in brackets. */
static void calculate(hia_engine *engine, const char *line) {
  size_t close = strcspn(line, ")=");
  const char *behind = line[close] == ')' ? line + close + 1 : line;
  behind += strspn(behind, " ");
  if (line[close] == ')' && behind[0] == '=' && behind[1] != '=')
    define(engine, line, close + 1, behind + 1);
  else
    evaluate(engine, line);
}

int main(int argc, char **argv) {
  static char *own[] = {"1 + 2 * 3",
                        "hypot(a, b) = sqrt(a * a + b * b)",
                        "hypot(3, 4) / 0",
                        "fact(n) = if n < 2 then 1 else n * fact(n - 1)",
                        "fact(20)",
                        "fact(hypot(1, true))",
                        "loop (x: f64 = 0.5) while x > 0 { 1 - x }",
                        "deep(n) = if n == 0 then 0 else 1 + deep(n - 1)",
                        "deep(20000)",
                        "deep(500000)",
                        "if hypot(1, 1) < 1.5 then fail(3) else 0"};
  char **lines = argc > 1 ? argv + 1 : own;
  int n = argc > 1 ? argc - 1 : (int)(sizeof own / sizeof own[0]);

  const hia_allocator allocator = {take, resize, give, NULL};
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.allocator = &allocator;
  options.kind = HIA_ENGINE_INTERP; /* compiling does not pay for one run */
  options.max_depth = DEPTH;
  options.max_memory = MEMORY;
  hia_engine *engine = NULL;
  hia_error *error = NULL;
  hia_status status = hia_engine_new(&options, &engine, &error);
  if (status != HIA_OK) report(error);
  for (int i = 0; i < n && status == HIA_OK; i++) {
    printf("> %s\n", lines[i]);
    calculate(engine, lines[i]);
  }
  hia_error_free(error);
  hia_engine_free(engine);
  return status != HIA_OK;
}
