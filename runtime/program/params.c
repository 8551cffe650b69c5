/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Params of programs that have some. */
#include "runtime/program/program.h"

const hia_program_params hiaR_program_params = {hia_param_cell_load, hia_param_cell_convert,
                                                hia_param_cell_seed};
