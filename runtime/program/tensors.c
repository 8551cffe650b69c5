/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Files of programs whose function takes or returns tensors: in addition .npy and .npz. */
#include "runtime/program/program.h"
#include <stdio.h>

static hia_status load_numpy(const hia_program_files *files, const hia_type_info *type,
                             const char *name, const void *bytes, size_t size, const char *array,
                             hia_value **value, hia_error **error) {
  if (hiaR_word_ends_in(name, ".npy"))
    return (files->converts ? hia_data_convert_npy : hia_data_load_npy)(NULL, type, name, bytes,
                                                                        size, value, error);
  return (files->converts ? hia_data_convert_npz : hia_data_load_npz)(
      NULL, type, name, bytes, size, array, files->max_bytes, value, error);
}

static hia_status save(const hia_value *value, const char *const *names, const char *path,
                       hia_error **error) {
  if (hiaR_word_ends_in(path, ".npz"))
    return hia_value_save_npz_parts(value, names, names ? value->type->n_words : 0, path, error);
  bool is_npy = hiaR_word_ends_in(path, ".npy");
  return (is_npy ? hia_value_save_npy_file : hia_value_save_file)(value, path, error);
}

static int check_result(const char *path, const hia_value_types *types, hia_type result) {
  const hia_type_info *type = hiaR_type_info(types, result);
  if (hiaR_word_may_hold(path, type)) return FINE;
  char text[128];
  hia_type_info_format(type, text, sizeof text);
  fprintf(stderr, HIA_WORD_NO_TENSOR, text, path, hiaR_word_form(path));
  return WRONG;
}

const hia_program_kit hiaR_program_tensors_kit = {
    .load = hia_data_load,
    .load_numpy = load_numpy,
    .save = save,
    .check_result = check_result,
    .help = "  -o FILE.npy         write a tensor as NumPy does; @FILE.npy reads it\n"
            "  -o FILE.npz         write an archive of NumPy, a tuple too; @FILE.npz:NAME reads "
            "from it\n" HIA_HELP_TREES,
    .open_lists = hiaR_program_open_lists,
    .write_lists = hiaR_program_write_lists,
    .free_lists = hiaR_program_free_lists,
    .read_brackets = hia_data_read_brackets,
};
