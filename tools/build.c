/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* hiaton build: an object file, or the library or program that the system's compiler and ar make of
 * it. */
#include "tools/profile_read.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static int bad_file(const char *path, int wrong) {
  fprintf(stderr, "error[io]: %s could not be written: %s\n", path, strerror(wrong));
  return EXIT_PROGRAM;
}

static const char *base_name(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

/* Formatted text on the heap; NULL if there is no memory. */
static char *__attribute__((format(printf, 1, 2))) text(const char *fmt, ...) {
  char *out;
  va_list args;
  va_start(args, fmt);
  int len = vasprintf(&out, fmt, args);
  va_end(args);
  return len < 0 ? NULL : out;
}

/* ---- what is built ---- */

typedef struct building {
  const tool_options *options;
  hia_engine *engine;
  hia_module *module;
  hia_function *functions[MAX_FUNCTIONS];
  size_t n;
  hia_build_options build;
  tool_profile_points profile;
  bool has_ffi; /* what was built calls functions of the host through libffi */
} building;

/* Passes the object's bytes on, and notes whether the object refers to hiaR_ffi: the runtime's
 * static library then requires libffi. */
typedef struct object_output {
  tool_output *file;
  bool has_ffi;
} object_output;

static bool write_object(void *user, const char *bytes, size_t len) {
  static const char name[] = "hiaR_ffi"; /* among the symbols, with its NUL */
  object_output *out = user;
  out->has_ffi |= memmem(bytes, len, name, sizeof name) != NULL;
  return hiaR_output_write(out->file, bytes, len);
}

typedef hia_status (*writer)(hia_module *module, hia_function *const *functions, size_t n,
                             const hia_build_options *options, hia_write write, void *user,
                             hia_error **error);

static int load(building *b) {
  const tool_options *o = b->options;
  tool_options own = *o;
  own.engine.flags &= ~(uint32_t)HIA_FLAG_PROCESS_SYMBOLS;
  own.engine.flags |= HIA_FLAG_LINK_EXTERNS;
  int code = tool_load(&own, HIA_ENGINE_JIT, &b->engine, &b->module);
  if (code != EXIT_FINE) return code;
  b->build = (hia_build_options)HIA_BUILD_OPTIONS_INIT;
  b->build.prefix = o->prefix ? o->prefix : strcmp(o->file, "-") == 0 ? "stdin" : NULL;
  b->build.cpu = o->cpu;
  if (o->parallel) b->build.flags |= HIA_BUILD_PARALLEL;
  if (o->has_fuel) b->build.flags |= HIA_BUILD_FUEL;
  if (o->map) b->build.flags |= HIA_BUILD_MAPS;
  b->build.header = o->header;
  if (o->params) b->build.flags |= HIA_BUILD_EMBED_PARAMS;
  b->build.seed = o->seed;
  if (o->kind == TOOL_EXE) { /* of one function: --fn, or main */
    code = tool_function(o, b->module, &b->functions[0]);
    b->build.program = b->functions[0];
    b->n = 1;
    return code;
  }
  for (; b->n < o->n_functions; b->n++) {
    hia_error *error;
    hia_status status =
        hia_module_function(b->module, o->functions[b->n], &b->functions[b->n], &error);
    if (status != HIA_OK) return tool_fail(error, status);
  }
  return EXIT_FINE;
}

/* Writes to a file that is left open. */
static int write_to(building *b, const char *path, tool_output *out, writer write) {
  if (!tool_output_open(out, path)) return bad_file(path, errno);
  hia_error *error;
  object_output object = {out, false};
  hia_status status =
      write(b->module, b->functions, b->n, &b->build, write_object, &object, &error);
  b->has_ffi |= object.has_ffi;
  if (status == HIA_OK) return EXIT_FINE;
  if (!out->wrong) return tool_fail(error, status);
  hia_error_free(error);
  return bad_file(path, out->wrong);
}

/* ---- other programs ---- */

/* A command line; NULL behind the last word. */
typedef struct words {
  char **at;
  size_t n, size;
  bool bad; /* no memory */
} words;

/* Appends a word, which the list owns from here on. */
static void add(words *c, char *word) {
  if (word && c->n + 2 > c->size) {
    size_t size = 2 * c->size + 16;
    char **at = realloc(c->at, size * sizeof *at);
    if (at) c->at = at, c->size = size;
  }
  if (!word || c->n + 2 > c->size) {
    free(word);
    c->bad = true;
    return;
  }
  c->at[c->n++] = word;
  c->at[c->n] = NULL;
}

/* Appends the words of the environment variable ("clang -m64"), or `name` if it is not set. */
static void add_program(words *c, const char *variable, const char *name) {
  const char *given = getenv(variable);
  if (!given || !given[strspn(given, " \t")]) given = name;
  for (given += strspn(given, " \t"); *given; given += strspn(given, " \t")) {
    size_t len = strcspn(given, " \t");
    add(c, strndup(given, len));
    given += len;
  }
}

static void words_free(words *c) {
  for (size_t i = 0; i < c->n; i++) free(c->at[i]);
  free(c->at);
  *c = (words){.n = 0};
}

/* Runs it with the signal mask that this process started with. */
static int run_with(words *c, const char *variable, const sigset_t *signals) {
  if (c->bad) return tool_fail(NULL, HIA_MEMORY);
  posix_spawnattr_t attributes;
  if (posix_spawnattr_init(&attributes) != 0) return tool_fail(NULL, HIA_MEMORY);
  posix_spawnattr_setsigmask(&attributes, signals);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  fflush(stdout);
  pid_t pid;
  int wrong = posix_spawnp(&pid, c->at[0], NULL, &attributes, c->at, environ);
  posix_spawnattr_destroy(&attributes);
  if (wrong) {
    fprintf(stderr,
            "error[io]: cannot run `%s`: %s\n      = hint: the environment variable %s names "
            "another\n",
            c->at[0], strerror(wrong), variable);
    return EXIT_PROGRAM;
  }
  int status;
  while (waitpid(pid, &status, 0) < 0)
    if (errno != EINTR) {
      fprintf(stderr, "error[io]: `%s`: %s\n", c->at[0], strerror(errno));
      return EXIT_PROGRAM;
    }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return EXIT_FINE;
  if (WIFSIGNALED(status))
    fprintf(stderr, "error[link]: `%s` was ended by signal %d\n", c->at[0], WTERMSIG(status));
  else
    fprintf(stderr, "error[link]: `%s` ended with status %d\n", c->at[0], WEXITSTATUS(status));
  return EXIT_PROGRAM;
}

/* Holds signals that would end this process until the other program has ended: else that program
 * would go on writing to files that were removed. It gets the signal of a Ctrl-C itself. */
static int run(words *c, const char *variable) {
  sigset_t signals;
  tool_hold_signals(&signals);
  int code = run_with(c, variable, &signals);
  tool_release_signals(&signals);
  return code;
}

/* ---- the runtime ---- */

#ifndef HIA_LIBRARIES
#define HIA_LIBRARIES "../lib"
#endif

/* The path of a file of libhiaton_rt, in the build or installation of this program. NULL if it is
 * not there. */
static char *runtime_file(const char *name) {
  char self[PATH_MAX];
  ssize_t len = readlink("/proc/self/exe", self, sizeof self - 1);
  if (len <= 0) return NULL;
  self[len] = 0;
  int folder = (int)(base_name(self) - self);
  static const char *const folders[] = {HIA_LIBRARIES, "../lib"};
  for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
    char *path = text("%.*s%s/%s", folder, self, folders[i], name);
    if (path && access(path, R_OK) == 0) return path;
    free(path);
  }
  fprintf(stderr, "error[io]: %s is neither in %.*s%s nor in %.*s%s\n", name, folder, self,
          folders[0], folder, self, folders[1]);
  return NULL;
}

/* ---- linking ---- */

/* A private folder beside the output, from which the finished file is moved to its place. */
typedef struct workshop {
  char *target; /* of the output */
  bool is_file;
  char *folder, *object, *result;
} workshop;

static bool open_folder(workshop *w, const char *beside) {
  const char *temporary = getenv("TMPDIR");
  if (!temporary || !*temporary) temporary = "/tmp";
  w->folder = w->is_file
                  ? text("%.*s.hiaton-XXXXXX", (int)(base_name(beside) - beside), beside)
                  : text("%s/hiaton-XXXXXX", temporary); /* beside a pipe there is no place */
  if (!w->folder) return false;
  sigset_t before;
  tool_hold_signals(&before);
  char *made = mkdtemp(w->folder);
  int wrong = errno;
  if (made) tool_temporary(w->folder);
  tool_release_signals(&before);
  errno = wrong;
  if (made) return true;
  free(w->folder);
  w->folder = NULL;
  return false;
}

static int workshop_open(workshop *w, const char *path) {
  const char *name = base_name(path);
  int stem = (int)strcspn(name, ".");
  if (strncmp(name, "lib", 3) == 0 && stem > 3) name += 3, stem -= 3;
  w->target = tool_output_target(path, &w->is_file);
  if (!w->target || !open_folder(w, w->target)) return bad_file(path, errno);
  w->object = text("%s/%.*s.o", w->folder, stem, name);
  w->result = text("%s/result", w->folder);
  if (!w->object || !w->result) return tool_fail(NULL, HIA_MEMORY);
  tool_temporary(w->object);
  tool_temporary(w->result);
  return EXIT_FINE;
}

static void workshop_close(workshop *w) {
  if (w->object) unlink(w->object);
  if (w->result) unlink(w->result);
  if (w->folder) rmdir(w->folder);
  tool_forget_temporary(w->object);
  tool_forget_temporary(w->result);
  tool_forget_temporary(w->folder);
  free(w->object);
  free(w->result);
  free(w->folder);
  free(w->target);
}

static void add_for_linker(words *c, char *word) {
  add(c, strdup("-Xlinker")); /* -Wl takes a comma in a name for its own */
  add(c, word);
}

/* The RUNPATH of the library: its own folder, then that of the libhiaton_rt.so that it is linked
 * with, so that a program that opens it needs no LD_LIBRARY_PATH. A path with a `:` cannot be
 * expressed. */
static void add_runpath(words *c, const char *runtime) {
  char *path = realpath(runtime, NULL);
  int folder = path ? (int)(base_name(path) - path) - 1 : 0;
  if (path && strchr(path, ':')) folder = 0;
  add_for_linker(c, strdup("--enable-new-dtags"));
  add_for_linker(c, strdup("-rpath"));
  add_for_linker(c, text("$ORIGIN%s%.*s", folder > 0 ? ":" : "", folder, path ? path : ""));
  free(path);
}

static int link_object(const building *b, const workshop *w) {
  const tool_options *o = b->options;
  words c = {.n = 0};
  bool is_archive = o->kind == TOOL_STATIC, is_shared = o->kind == TOOL_SHARED;
  if (is_archive) {
    add_program(&c, "AR", "ar");
    add(&c, strdup("rcsD")); /* D: no dates, so that the same is the same */
    add(&c, strdup(w->result));
    add(&c, strdup(w->object));
  } else {
    char *runtime = runtime_file(is_shared ? "libhiaton_rt.so" : "libhiaton_rt.a");
    if (!runtime) return EXIT_PROGRAM;
    add_program(&c, "CC", "cc");
    if (is_shared) {
      add(&c, strdup("-shared"));
      add_for_linker(&c, strdup("-soname"));
      add_for_linker(&c, strdup(base_name(o->output)));
      add_runpath(&c, runtime);
    } else {
      add(&c, strdup("-Wl,--gc-sections"));
      add(&c, strdup("-pthread"));
    }
    add(&c, strdup("-o"));
    add(&c, strdup(w->result));
    add(&c, strdup(w->object));
    for (size_t i = 0; i < o->n_args; i++) add(&c, strdup(o->args[i]));
    add(&c, runtime);
    if (b->has_ffi && !is_shared) add(&c, strdup("-lffi"));
    add(&c, strdup("-lm"));
  }
  int code = run(&c, is_archive ? "AR" : "CC");
  words_free(&c);
  return code;
}

/* Moves the result to its place, or copies it there if that is no regular file. */
static int deliver(const building *b, const workshop *w) {
  const char *path = b->options->output;
  if (w->is_file) return rename(w->result, w->target) == 0 ? EXIT_FINE : bad_file(path, errno);
  tool_output out = {.file = -1};
  char bytes[8192];
  ssize_t n;
  int from = open(w->result, O_RDONLY | O_CLOEXEC), wrong = from < 0 ? errno : 0;
  if (!wrong && !tool_output_open(&out, path)) wrong = errno;
  while (!wrong && (n = read(from, bytes, sizeof bytes)) != 0)
    if (n < 0 || !hiaR_output_write(&out, bytes, (size_t)n)) wrong = n < 0 ? errno : out.wrong;
  if (from >= 0) close(from);
  tool_output_close(&out, true);
  if (out.wrong) wrong = out.wrong;
  return wrong ? bad_file(path, wrong) : EXIT_FINE;
}

static int build_linked(building *b) {
  workshop w = {0};
  int code = workshop_open(&w, b->options->output);
  tool_output object = {.file = -1};
  if (code == EXIT_FINE) {
    code = write_to(b, w.object, &object, hia_module_build_object);
    tool_output_close(&object, code == EXIT_FINE);
    if (code == EXIT_FINE && object.wrong) code = bad_file(w.object, object.wrong);
  }
  if (code == EXIT_FINE) code = link_object(b, &w);
  if (code == EXIT_FINE) code = deliver(b, &w);
  workshop_close(&w);
  return code;
}

/* ---- the command ---- */

static int close_output(tool_output *out, const char *path, int code) {
  tool_output_close(out, code == EXIT_FINE);
  return code == EXIT_FINE && out->wrong ? bad_file(path, out->wrong) : code;
}

static int build_all(building *b) {
  const tool_options *o = b->options;
  tool_output header = {.file = -1}, object = {.file = -1};
  int code = EXIT_FINE;
  if (o->header) code = write_to(b, o->header, &header, hia_module_build_header);
  if (code == EXIT_FINE && o->output && o->kind == TOOL_OBJECT)
    code = write_to(b, o->output, &object, hia_module_build_object);
  else if (code == EXIT_FINE && o->output)
    code = build_linked(b);
  code = close_output(&object, o->output, code);
  return close_output(&header, o->header, code);
}

int tool_build(const tool_options *options) {
  const tool_command *command = tool_find_command("build");
  if (!options->output && !options->header) return tool_usage(command, "-o FILE is missing");
  if (!options->output && options->kind != TOOL_OBJECT)
    return tool_usage(command, "-o FILE is missing: --header alone writes nothing else");
  bool links = options->kind == TOOL_EXE || options->kind == TOOL_SHARED;
  if (options->n_args && !links)
    return tool_usage(command, "`%s` is for the linker, which only --exe and --shared call",
                      options->args[0]);
  if (options->kind == TOOL_EXE && options->n_functions > 1)
    return tool_usage(command, "a program runs one function: --fn is there %zu times",
                      options->n_functions);
  building b = {.options = options};
  int code = options->profile ? tool_profile_read(options->profile, &b.profile) : EXIT_FINE;
  if (code == EXIT_FINE) code = load(&b);
  b.build.points = b.profile.points;
  b.build.n_points = b.profile.n;
  if (code == EXIT_FINE) code = build_all(&b);
  tool_profile_points_free(&b.profile);
  hia_module_free(b.module);
  hia_engine_free(b.engine);
  return code;
}
