/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Programs that `hiaton build --exe` makes: main.c has the options and the run, args.c the
 * arguments and the result. */
#ifndef HIA_PROGRAM_H_
#define HIA_PROGRAM_H_

#include "runtime/format/stream.h"
#include "runtime/native/module.h"
#include "runtime/program/command_words.h"
#include "runtime/value/handle.h"
#include <hiaton/params.h>

enum { FINE = 0, FAILED = 1, WRONG = 2 }; /* exit statuses */

typedef struct hia_program_file {
  char *text;
  size_t len, size;
} hia_program_file;

/* Where arguments and the result are. */
typedef struct hia_program_files {
  const char *vocab, *labels, *build_vocab; /* of trees in brackets; or NULL */
  const char *output;                       /* of the result; NULL: it is printed */
  uint64_t max_bytes;                       /* of the elements of an argument in an archive */
  bool converts;                            /* elements become ones of the parameter's dtype */
} hia_program_files;

/* What the function is called with. */
typedef struct hia_program_args {
  size_t n;
  hia_value **values;   /* NULL where there is a stream */
  hia_stream **streams; /* NULL where there is a value */
  bool has_streams;
  hia_vocab *vocab, *labels; /* of all trees, which streams look at; or NULL */
} hia_program_args;

/* What programs do with files of values: of three kits a `main` names the one that its function
 * needs, so that a program of scalars does not link what deals with objects. */
typedef struct hia_program_kit {
  /* A saved value. */
  hia_status (*load)(const hia_allocator *allocator, const hia_type_info *type, const char *name,
                     const void *bytes, size_t size, hia_value **value, hia_error **error);
  /* A .npy or, if the name of the file ends so, a .npz, of which `array` is the name or NULL. NULL:
     the function has no tensors. */
  hia_status (*load_numpy)(const hia_program_files *files, const hia_type_info *type,
                           const char *name, const void *bytes, size_t size, const char *array,
                           hia_value **value, hia_error **error);
  /* `names` are those of hia_program_parts. */
  hia_status (*save)(const hia_value *value, const char *const *names, const char *path,
                     hia_error **error);
  /* Whether a file of this name can have a result of the type: an exit status. */
  int (*check_result)(const char *path, const hia_value_types *types, hia_type type);
  const char *help; /* lines on files and options that not all programs have; or NULL */
  /* Trees in brackets. NULL: the function has neither data nor arrays nor tensors. */
  int (*open_lists)(const hia_program_files *files, hia_program_args *args);
  int (*write_lists)(const hia_program_files *files, const hia_program_args *args);
  void (*free_lists)(hia_program_args *args);
  hia_status (*read_brackets)(const hia_allocator *allocator, const hia_type_info *type,
                              const char *name, const char *text, size_t len,
                              const hia_bracket_options *options, hia_value **value,
                              hia_error **error);
} hia_program_kit;
#define HIA_HELP_TREES                                                                             \
  "  --vocab FILE        the words of trees in brackets in @FILE.ptb, one a line\n"                \
  "  --labels FILE       the labels of such trees, one a line; without it they are numbers\n"      \
  "  --build-vocab FILE  write the words of the trees to FILE\n"
extern const hia_program_kit hiaR_program_kit;         /* files.c */
extern const hia_program_kit hiaR_program_tensors_kit; /* tensors.c */
extern const hia_program_kit hiaR_program_scalars_kit; /* args.c */
static inline bool hiaR_program_has_trees(const hia_program_kit *kit) {
  return kit->read_brackets != NULL;
}

/* args.c: a check_result of functions without tensors. */
int hiaR_program_no_npy(const char *path, const hia_value_types *types, hia_type type);
/* files.c: of trees in brackets. */
int hiaR_program_open_lists(const hia_program_files *files, hia_program_args *args);
int hiaR_program_write_lists(const hia_program_files *files, const hia_program_args *args);
void hiaR_program_free_lists(hia_program_args *args);

/* What a program has for streams, of programs that have a function for them. streams.c. */
typedef struct hia_program_streams {
  /* HIA_UNSUPPORTED: the file is to be read in one piece. */
  hia_status (*open)(const char *word, const hia_type_info *type,
                     const hia_bracket_options *brackets, hia_stream **stream, hia_error **error);
  void (*free)(hia_stream *stream);
  hia_status (*fail)(const hia_allocator *allocator, hia_stream *const *streams, size_t n,
                     hia_error **error); /* hiaR_streams_fail */
} hia_program_streams;
extern const hia_program_streams hiaR_program_streams;

/* What --params and --seed do, of programs that have params. params.c. */
typedef struct hia_program_params {
  hia_status (*load)(hia_params *params, const char *path, hia_error **error);
  hia_status (*convert)(hia_params *params, const char *path, hia_error **error);
  hia_status (*seed)(hia_params *params, uint64_t seed, hia_error **error);
} hia_program_params;
extern const hia_program_params hiaR_program_params;

/* What a program consists of: a constant, which its `main` passes on (lower/object/object.c writes
 * it). */
typedef struct hia_program_parts {
  const hia_code_module *module;
  const hia_program_kit *kit;
  const hia_program_streams *streams; /* or NULL */
  const hia_program_params *params;   /* or NULL */
  const char *const *result_names;    /* of the parts of the result in a .npz, by word; or NULL */
  uint32_t root;                      /* of the module */
  uint32_t stream_root; /* the same function, whose arrays of data may be streams; HIA_NONE: there
                           is none */
} hia_program_parts;

/* The main function. */
int hiaR_program(int argc, char **argv, const hia_program_parts *parts);

/* Prints an error on standard error, and frees it; it may be NULL. Returns an exit status. */
int hiaR_program_fail(hia_error *error, hia_status status);
/* Reads a file, of which the caller frees the text in any case. Returns an exit status. */
int hiaR_program_read_file(const char *path, hia_program_file *file);
void hiaR_program_free_file(hia_program_file *file);
/* Prints that a file cannot be written, and why: an errno. Returns an exit status. */
int hiaR_program_cannot_write(const char *path, int wrong);
/* Reads args->n arguments of these types. Returns an exit status. The caller frees the arguments in
 * any case. */
int hiaR_program_args(const hia_program_parts *parts, const hia_program_files *files,
                      const hia_value_types *types, const hia_type *params, char *const *words,
                      hia_program_args *args);
void hiaR_program_free_args(const hia_program_parts *parts, hia_program_args *args);
/* Prints or saves the result. */
int hiaR_program_result(const hia_program_parts *parts, const hia_program_files *files,
                        const hia_value *result);

#endif
