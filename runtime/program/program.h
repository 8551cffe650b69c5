/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Programs that `hiaton build --exe` makes: main.c has the options and the run, args.c the
 * arguments and the result. */
#ifndef HIA_PROGRAM_H_
#define HIA_PROGRAM_H_

#include "runtime/native/module.h"
#include "runtime/program/words.h"
#include "runtime/value/handle.h"

enum { FINE = 0, FAILED = 1, WRONG = 2 }; /* exit statuses */

typedef struct hia_program_file {
  char *text;
  size_t len, size;
} hia_program_file;
/* Words of all trees of a command line. */
typedef struct hia_program_lists {
  hia_words *vocab, *labels; /* or NULL */
} hia_program_lists;

/* What programs whose function has data or arrays do with files. Only the `main` of such a program
 * names it, so that others do not link it. files.c. */
typedef struct hia_program_files hia_program_files;
typedef struct hia_program_kit {
  int (*open_lists)(const hia_program_files *files, hia_program_lists *lists);
  int (*close_lists)(const hia_program_files *files, hia_program_lists *lists, int code);
  hia_status (*read)(const char *word, const hia_type_info *type, const hia_program_lists *lists,
                     const hia_program_files *files, const hia_program_file *file,
                     hia_value **value, hia_error **error);
  int (*check_output)(const char *path); /* an exit status */
  hia_status (*save)(const hia_value *value, const char *path, hia_error **error);
} hia_program_kit;
extern const hia_program_kit hiaR_program_kit;

/* Where arguments and the result are. */
struct hia_program_files {
  const hia_program_kit *kit;               /* or NULL */
  const char *vocab, *labels, *build_vocab; /* of trees in brackets; or NULL */
  const char *output;                       /* of the result; NULL: it is printed */
};

/* Prints an error on standard error, and frees it; it may be NULL. Returns an exit status. */
int hiaR_program_fail(hia_error *error, hia_status status);
/* Reads a file, of which the caller frees the text in any case. Returns an exit status. */
int hiaR_program_read_file(const char *path, hia_program_file *file);
void hiaR_program_free_file(hia_program_file *file);
/* Reads n arguments of these types, which the caller frees. Returns an exit status. */
int hiaR_program_args(const hia_value_types *types, const hia_type *params, char *const *words,
                      size_t n, const hia_program_files *files, hia_value **args);
/* Prints or saves the result. */
int hiaR_program_result(const hia_program_files *files, const hia_value *result);

#endif
