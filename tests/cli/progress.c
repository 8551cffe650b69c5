/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* progress HIATON FOLDER-TO-WRITE-TO [--no-native]: the line that long work shows on a terminal.
 * Standard error of hiaton is a pseudo-terminal here. */
#include "tests/unit/helpers/time.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *hiaton;
static char folder[512], shown[1 << 16], printed[1 << 16];
static int passed, failed;

static void check(bool holds, const char *what) {
  if (holds) {
    passed++;
    return;
  }
  failed++;
  printf("FAILED: %s; the terminal got:\n", what);
  for (const char *p = shown; *p; p++) printf(*p == '\r' ? "\\r" : "%c", *p);
  printf("\nstandard output: %s\n", printed);
}

static void read_all(int from, char *text, size_t size) {
  size_t len = 0;
  for (ssize_t n; len + 1 < size && (n = read(from, text + len, size - 1 - len)) > 0;)
    len += (size_t)n; /* a terminal that nothing writes to any more is an error */
  text[len] = 0;
  close(from);
}

/* Runs hiaton; its errors go to a terminal of so many columns, or to a pipe. Returns its status. */
static int run(bool is_terminal, unsigned short columns, const char *const *words) {
  const char *argv[16] = {hiaton};
  for (size_t i = 0; words[i]; i++) argv[i + 1] = words[i];
  int out[2], errors[2];
  if (pipe(out) != 0) exit(2);
  if (is_terminal) {
    struct winsize size = {.ws_col = columns, .ws_row = 24};
    errors[0] = posix_openpt(O_RDWR | O_NOCTTY);
    if (errors[0] < 0 || grantpt(errors[0]) != 0 || unlockpt(errors[0]) != 0) exit(2);
    errors[1] = open(ptsname(errors[0]), O_RDWR | O_NOCTTY);
    if (errors[1] < 0 || ioctl(errors[1], TIOCSWINSZ, &size) != 0) exit(2);
  } else if (pipe(errors) != 0)
    exit(2);
  pid_t child = fork();
  if (child < 0) exit(2);
  if (child == 0) {
    dup2(out[1], STDOUT_FILENO);
    dup2(errors[1], STDERR_FILENO);
    close(out[0]), close(out[1]), close(errors[0]), close(errors[1]);
    execv(hiaton, (char *const *)argv);
    _exit(127);
  }
  close(out[1]);
  close(errors[1]);
  int status;
  read_all(errors[0], shown, sizeof shown); /* first: it is what is longer open */
  read_all(out[0], printed, sizeof printed);
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static char *write_file(const char *name, const char *text) {
  static char paths[4][600];
  static int n;
  char *path = paths[n++ % 4];
  snprintf(path, sizeof paths[0], "%s/%s", folder, name);
  FILE *file = fopen(path, "w");
  if (!file) exit(2);
  fputs(text, file);
  fclose(file);
  return path;
}

/* The line is gone before `rest`, or at the end: written over by blanks. */
static bool is_erased(const char *rest) {
  const char *end = rest ? strstr(shown, rest) : shown + strlen(shown);
  return end && end - shown > 6 && strncmp(end - 6, "     \r", 6) == 0;
}

static const char *endless;

/* So many seconds on a slow machine, as an argument. */
static const char *slowly(double seconds) {
  static char text[32];
  snprintf(text, sizeof text, "%g", seconds * test_slowness());
  return text;
}

static void long_run(void) {
  const char *words[] = {"run", endless, "1", "--engine", "interp", "--timeout", slowly(0.8), NULL};
  check(run(true, 80, words) == 1, "a run past its deadline");
  check(strncmp(shown, "\r", 1) == 0 && strstr(shown, " s"), "the time that has passed");
  check(is_erased(endless), "no line is left before the error");
  check(run(false, 0, words) == 1, "the same without a terminal");
  check(strncmp(shown, endless, strlen(endless)) == 0 && !strchr(shown, '\r'), "no line in a pipe");
}

static void narrow_run(void) {
  const char *words[] = {"run", endless, "1", "--engine", "interp", "--timeout", slowly(0.7), NULL};
  run(true, 4, words);
  check(strncmp(shown, "\r", 1) == 0, "a narrow terminal");
  const char *at = strchr(shown + 1, '\r');
  check(at && at - shown - 1 <= 3, "no line is wider than the terminal");
}

static void short_run(void) {
  const char *words[] = {"run", endless, "0", "--engine", "interp", NULL};
  bool is_quiet = false;
  for (int i = 0; i < 20 && !is_quiet; i++) { /* on a busy machine it may not be short */
    check(run(true, 80, words) == 0 && strcmp(printed, "0\n") == 0, "a short run");
    is_quiet = shown[0] == 0;
  }
  check(is_quiet, "it shows nothing");
}

/* The program works longer until there is a line, so that the machine may be of any speed. */
static void bench(void) {
  char rounds[16];
  const char *words[] = {"bench",    endless,  rounds,   "--fn", "slow",
                         "--engine", "interp", "--runs", "3",    NULL};
  for (int n = 1 << 20; n < 1 << 30; n *= 2) {
    snprintf(rounds, sizeof rounds, "%d", n);
    check(run(true, 80, words) == 0, "a bench");
    if (strstr(shown, " s, run ")) break;
  }
  check(strstr(shown, " s, run ") && strstr(shown, " of 3: interp, 1 thread"),
        "which run, on which engine");
  check(is_erased(NULL), "no line is left");
  check(!strchr(printed, '\r'), "the table has none");
}

/* A call that does not end: each process is ended when its time is over. */
static void warmup_curve(void) {
  const char *words[] = {"bench", endless, "1", "--warmup-curve", "--max-time", slowly(3.0), NULL};
  check(run(true, 80, words) == 1, "a warm-up curve of no call");
  check(strstr(shown, " s, warming up: interp") || strstr(shown, " s, warming up: cached"),
        "which trial");
  check(strstr(shown, " s, process 1 of 1: ") != NULL, "which process");
  check(is_erased("error: no call has ended"), "no line is left before the error");
}

/* Trees from a file that is large enough for a stream: 18 MB, of few words. */
static void stream(void) {
  enum { TREES = 3000, WORD = 6000 };
  size_t size = (size_t)TREES * (WORD + 16), len = 0;
  char *text = malloc(size), word[WORD + 1];
  if (!text) exit(2);
  memset(word, 'w', WORD);
  word[WORD] = 0;
  for (int i = 0; i < TREES; i++) len += (size_t)snprintf(text + len, size - len, "(0 %s)\n", word);
  const char *trees = write_file("trees.ptb", text);
  free(text);
  char argument[601], vocabulary[600];
  snprintf(argument, sizeof argument, "@%s", trees);
  snprintf(vocabulary, sizeof vocabulary, "%s/words", folder);
  const char *program =
      write_file("trees.hia", "type T = L(label: i32, word: i32)\n"
                              "fn spin(k: i32) -> i32 = loop (i = 0) while i < k { i + 1 }\n"
                              "fn main(trees: [T]) -> i32 =\n"
                              "  sum([match t { L(_, w) => spin(4000000 + w) } for t in trees])\n");
  const char *words[] = {"run",           program,    argument,    "--engine",  "interp",
                         "--build-vocab", vocabulary, "--timeout", slowly(1.5), NULL};
  check(run(true, 80, words) == 1, "a run over a stream, past its deadline");
  check(strstr(shown, " of 3000") != NULL, "how many trees have been read");
  unlink(trees);
  unlink(vocabulary);
}

/* The line stays below those of the epochs. As above the program works longer until there is one.
 */
static void training(void) {
  static const char text[] = "type N = N(rounds: i32)\n"
                             "param w: f32[1] = zeros()\n"
                             "fn work(k: i32) -> f32 =\n"
                             "  (loop (i = 0, s = 1.0) while i < k { (i + 1, s * 0.5 + w[0]) }).1\n"
                             "fn one(n: N) -> f32 = match n { N(k) => work(k) }\n"
                             "fn loss(ns: [N]) -> f32 = sum([one(n) for n in ns])\n";
  char program[600]; /* write_file's names are used again */
  snprintf(program, sizeof program, "%s", write_file("train.hia", text));
  const char *words[] = {"train", program,    "--data", NULL,   "--batch", "1", "--epochs",
                         "9",     "--engine", "interp", "--lr", "1e-9",    NULL};
  for (int n = 1 << 15; n < 1 << 25; n *= 2) {
    char data[200];
    snprintf(data, sizeof data, "[N(%d), N(%d), N(%d), N(%d)]", n, n, n, n);
    words[3] = write_file("train.txt", data);
    check(run(true, 120, words) == 0, "a training");
    if (strstr(shown, " of 4, loss ") && strstr(shown, "     \repoch ")) break;
  }
  check(strstr(shown, " s, epoch ") && strstr(shown, " of 9, batch ") && strstr(shown, ", loss "),
        "where it is");
  check(strstr(shown, " examples/s, ") && strstr(shown, " left"), "and how long it takes");
  check(strstr(shown, "     \repoch ") && strstr(shown, "epoch 9 of 9: loss "),
        "a line for each epoch");
  check(!strchr(printed, '\r') && strncmp(printed, "9 epochs, 36 steps: ", 20) == 0,
        "a line at the end");
  check(run(false, 0, words) == 0 && !strchr(shown, '\r') && strstr(shown, "\nepoch 9 of 9: "),
        "no line in a pipe");
}

int main(int argc, char **argv) {
  if (argc < 3) return 2;
  hiaton = argv[1];
  snprintf(folder, sizeof folder, "%s", argv[2]);
  bool has_native = argc < 4 || strcmp(argv[3], "--no-native") != 0;
  endless =
      write_file("endless.hia", "fn main(n: i32) -> i32 = loop (i = 0) while i < n { i / 2 }\n"
                                "fn slow(n: i32) -> i32 = loop (i = 0) while i < n { i + 1 }\n");
  long_run();
  narrow_run();
  short_run();
  bench();
  if (has_native) warmup_curve();
  stream();
  training();
  printf("%d passed, %d failed, 0 skipped\n", passed, failed);
  return failed != 0;
}
