/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* bench_json HIATON SOURCE-DIR FOLDER-TO-WRITE-TO [--no-native]: reads back the output of
 * `hiaton bench --json`. */
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

static const char *hiaton;
static int passed, failed;

static void check(bool holds, const char *what, const char *command) {
  if (holds) {
    passed++;
    return;
  }
  failed++;
  printf("FAILED: %s: %s\n", command, what);
}

/* Runs `hiaton bench WORDS --json`. Returns its output, if that is JSON and nothing else. */
static json_t *run(const char *words, int *exit_status) {
  char command[1024];
  snprintf(command, sizeof command, "'%s' bench %s --json 2>/dev/null", hiaton, words);
  FILE *pipe = popen(command, "r");
  if (!pipe) return NULL;
  json_error_t error;
  json_t *root = json_loadf(pipe, 0, &error);
  int status = pclose(pipe);
  *exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return root;
}

/* Checks a series of n times: the samples and the figures computed from them. */
static bool is_series(json_t *series, json_int_t n) {
  json_int_t median, fastest, slowest;
  json_t *samples, *sample;
  size_t i;
  if (json_unpack_ex(series, NULL, JSON_STRICT, "{s:I, s:I, s:I, s:o}", "median", &median,
                     "fastest", &fastest, "slowest", &slowest, "samples", &samples) != 0)
    return false;
  if ((json_int_t)json_array_size(samples) != n) return false;
  if (fastest <= 0 || fastest > median || median > slowest) return false;
  json_int_t low = slowest, high = fastest, below = 0, above = 0;
  json_array_foreach(samples, i, sample) {
    json_int_t ns = json_integer_value(sample);
    if (ns < low) low = ns;
    if (ns > high) high = ns;
    below += ns <= median;
    above += ns >= median;
  }
  return low == fastest && high == slowest && 2 * below >= n && 2 * above >= n;
}

static double median_of(json_t *row, const char *name) {
  return (double)json_integer_value(json_object_get(json_object_get(row, name), "median"));
}

static bool is_near(double x, double y) { return x - y < 1e-4 * y && y - x < 1e-4 * y; }

/* A measurement of fib(12) by these engines, each on 1 and 2 threads, in three runs. */
static void whole(const char *sources, const char *engines, const char *const *names, bool counts) {
  char words[512];
  snprintf(words, sizeof words,
           "'%s/examples/fib.hia' --fn fib 12 --engine %s --threads 1,2 --runs 3%s", sources,
           engines, counts ? " --count" : "");
  int status;
  json_t *root = run(words, &status);
  check(status == 0, "exit status", words);
  const char *version, *file, *function;
  json_t *arguments, *results, *row;
  json_int_t runs;
  int is_same;
  bool fits =
      json_unpack_ex(root, NULL, JSON_STRICT, "{s:s, s:s, s:s, s:o, s:I, s:b, s:o}", "hiaton",
                     &version, "file", &file, "function", &function, "arguments", &arguments,
                     "runs", &runs, "agree", &is_same, "results", &results) == 0;
  check(fits, "fields", words);
  if (!fits) {
    json_decref(root);
    return;
  }
  check(strcmp(function, "fib(n: i32) -> i32") == 0, "function", words);
  check(strstr(file, "/examples/fib.hia") != NULL, "file", words);
  check(json_array_size(arguments) == 1, "number of arguments", words);
  const char *argument = json_string_value(json_array_get(arguments, 0));
  check(argument && strcmp(argument, "12") == 0, "argument", words);
  check(runs == 3 && is_same, "runs, agree", words);
  size_t n = 0, i;
  while (names[n]) n++;
  check(json_array_size(results) == 2 * n, "number of results", words);
  json_array_foreach(results, i, row) {
    const char *engine, *result;
    json_int_t threads, calls = 0, rounds = 0, heap = -1, from_system = -1;
    json_t *compile, *time;
    double speed_up, efficiency;
    bool is_row;
    if (counts)
      is_row = json_unpack_ex(row, NULL, JSON_STRICT,
                              "{s:s, s:I, s:o, s:o, s:I, s:I, s:F, s:F, s:s, s:I, s:I}", "engine",
                              &engine, "threads", &threads, "compile_ns", &compile, "run_ns", &time,
                              "heap_bytes", &heap, "system_bytes", &from_system, "speed_up",
                              &speed_up, "efficiency", &efficiency, "result", &result, "calls",
                              &calls, "rounds", &rounds) == 0;
    else
      is_row =
          json_unpack_ex(row, NULL, JSON_STRICT, "{s:s, s:I, s:o, s:o, s:I, s:I, s:F, s:F, s:s}",
                         "engine", &engine, "threads", &threads, "compile_ns", &compile, "run_ns",
                         &time, "heap_bytes", &heap, "system_bytes", &from_system, "speed_up",
                         &speed_up, "efficiency", &efficiency, "result", &result) == 0;
    check(is_row, "fields of a result", words);
    if (!is_row || i / 2 >= n) continue;
    check(strcmp(engine, names[i / 2]) == 0, "engine", words);
    check(threads == (json_int_t)(i % 2) + 1, "threads", words);
    check(is_series(compile, 3), "compile_ns", words);
    check(is_series(time, 3), "run_ns", words);
    check(strcmp(result, "233") == 0, "result", words);
    check(heap == 0 && from_system == 0, "bytes of a program without objects", words);
    double ratio =
        median_of(json_array_get(results, i - i % 2), "run_ns") / median_of(row, "run_ns");
    check(is_near(speed_up, ratio), "speed_up", words);
    check(is_near(efficiency, ratio / (double)threads), "efficiency", words);
    /* With fib(0) = 1, fib(n) makes 2 fib(n + 1) - 1 calls, the first one included. */
    if (counts) check(calls == 2 * 233 - 1 && rounds == 0, "calls, rounds", words);
  }
  json_decref(root);
}

/* With an array there are its length and a rate; after the first run no memory is asked for. */
static void array(const char *folder) {
  char path[1024], words[2048];
  snprintf(path, sizeof path, "%s/bench_array.hia", folder);
  FILE *file = fopen(path, "w");
  if (!file) {
    check(false, "could not be written", path);
    return;
  }
  fputs("type T = L | N(l: T, r: T)\n"
        "fn size(t: T) -> i64 = match t { L => 1, N(l, r) => size(l) + size(r) }\n"
        "fn main(k: i32, none: [T], trees: [T]) = [size(t) + i64(k) for t in trees]\n",
        file);
  fclose(file);
  /* The first array has no elements: the second one counts. */
  snprintf(words, sizeof words, "'%s' --engine interp --runs 3 7 '[]' '[L, N(L, L), L]'", path);
  int status;
  json_t *root = run(words, &status);
  json_t *row = json_array_get(json_object_get(root, "results"), 0);
  double rate = json_number_value(json_object_get(row, "per_second"));
  check(status == 0 && json_integer_value(json_object_get(root, "elements")) == 3, "elements",
        words);
  check(is_near(rate, 3e9 / median_of(row, "run_ns")), "per_second", words);
  check(json_integer_value(json_object_get(row, "heap_bytes")) > 0, "heap_bytes", words);
  json_t *from_system = json_object_get(row, "system_bytes");
  check(from_system && json_integer_value(from_system) == 0, "system_bytes", words);
  json_decref(root);
  remove(path);
}

/* A long result is complete; an even number of runs has a median too. */
static void tuple(const char *folder) {
  char path[1024], words[2048], wanted[1024] = "(";
  snprintf(path, sizeof path, "%s/bench_json.hia", folder);
  FILE *file = fopen(path, "w");
  if (!file) {
    check(false, "could not be written", path);
    return;
  }
  fputs("fn main(x: i64) = (", file);
  for (int i = 0; i < 40; i++) {
    fprintf(file, "%sx * 1000 + %d", i ? ", " : "", i);
    snprintf(wanted + strlen(wanted), sizeof wanted - strlen(wanted), "%s5000%02d", i ? ", " : "",
             i);
  }
  strcat(wanted, ")");
  fputs(")\n", file);
  fclose(file);
  snprintf(words, sizeof words, "'%s' --engine interp --runs 4 500", path);
  int status;
  json_t *root = run(words, &status);
  json_t *row = json_array_get(json_object_get(root, "results"), 0);
  const char *result = json_string_value(json_object_get(row, "result"));
  check(status == 0 && result && strcmp(result, wanted) == 0, result ? result : "no result", words);
  check(is_series(json_object_get(row, "run_ns"), 4), "run_ns", words);
  json_decref(root);
  remove(path);
}

/* A result that `hiaton run` shortens is shortened here, too, and that is said. */
static void cut(void) {
  int status;
  json_t *root = run("-e 'iota(2000)' --engine interp,expand --runs 1", &status);
  json_t *row = json_array_get(json_object_get(root, "results"), 1);
  const char *result = json_string_value(json_object_get(row, "result"));
  check(status == 0 && result && strcmp(result, "[0, 1, 2, ..., 1997, 1998, 1999]") == 0,
        result ? result : "no result", "a tensor");
  check(json_is_true(json_object_get(row, "result_is_cut")), "result_is_cut", "a tensor");
  check(json_is_true(json_object_get(root, "agree")), "agree", "a tensor");
  json_decref(root);
}

/* Checks a column of a warm-up curve of three processes that have made 1, 2, 4 and 6 calls. */
static bool is_curve(json_t *curve, const char *wanted) {
  static const json_int_t calls[] = {1, 2, 4, 6};
  const char *column;
  json_t *points, *point;
  size_t i;
  json_int_t last = 0;
  if (json_unpack_ex(curve, NULL, JSON_STRICT, "{s:s, s:o}", "column", &column, "points",
                     &points) != 0 ||
      strcmp(column, wanted) != 0 || json_array_size(points) != 4)
    return false;
  json_array_foreach(points, i, point) {
    json_int_t n;
    json_t *times;
    if (json_unpack_ex(point, NULL, JSON_STRICT, "{s:I, s:o}", "calls", &n, "total_ns", &times) !=
        0)
      return false;
    json_int_t median = json_integer_value(json_object_get(times, "median"));
    if (n != calls[i] || !is_series(times, 3) || median <= last) return false;
    last = median;
  }
  return true;
}

static void warmup_curve(const char *sources) {
  static const char *const columns[] = {"interp", "jit", "auto", "cached"};
  char words[512];
  snprintf(
      words, sizeof words,
      "'%s/examples/fib.hia' --fn fib 12 --warmup-curve --runs 3 --max-calls 6 --max-time 1000",
      sources);
  int status, is_extrapolated, is_cached, is_same;
  json_t *root = run(words, &status);
  check(status == 0, "exit status", words);
  const char *version, *file, *function, *result;
  json_t *arguments, *calls, *ms, *curves;
  json_int_t runs, threads;
  bool fits =
      json_unpack_ex(root, NULL, JSON_STRICT,
                     "{s:s, s:s, s:s, s:o, s:I, s:I, s:o, s:o, s:b, s:b, s:b, s:s, s:o}", "hiaton",
                     &version, "file", &file, "function", &function, "arguments", &arguments,
                     "runs", &runs, "threads", &threads, "pays_from_calls", &calls, "pays_from_ms",
                     &ms, "pays_is_extrapolated", &is_extrapolated, "cache_is_used", &is_cached,
                     "agree", &is_same, "result", &result, "curves", &curves) == 0;
  check(fits, "fields", words);
  if (fits) {
    check(runs == 3 && threads == 1 && is_same && strcmp(result, "233") == 0, "numbers", words);
    check(strcmp(function, "fib(n: i32) -> i32") == 0, "function", words);
    check(json_is_null(calls) == json_is_null(ms), "where it pays", words);
    check(json_is_null(calls) || json_number_value(calls) >= 1, "calls", words);
    check(json_array_size(curves) == 4, "number of columns", words);
    for (size_t i = 0; i < 4; i++)
      check(is_curve(json_array_get(curves, i), columns[i]), columns[i], words);
  }
  json_decref(root);
}

/* A run that fails prints no JSON. */
static void failing(const char *sources) {
  char words[512];
  snprintf(words, sizeof words, "'%s/examples/gcd.hia' --engine interp 0 0", sources);
  int status;
  json_t *root = run(words, &status);
  check(!root && status == 1, "prints JSON", words);
  json_decref(root);
}

int main(int argc, char **argv) {
  if (argc < 4) return 2;
  hiaton = argv[1];
  static const char *const all[] = {"jit", "interp", "expand", NULL};
  bool has_native = argc < 5 || strcmp(argv[4], "--no-native") != 0;
  for (int counts = 0; counts < 2; counts++)
    whole(argv[2], has_native ? "jit,interp,expand" : "interp,expand", all + !has_native, counts);
  array(argv[3]);
  tuple(argv[3]);
  cut();
  if (has_native) warmup_curve(argv[2]);
  failing(argv[2]);
  printf("%d passed, %d failed\n", passed, failed);
  return failed != 0;
}
