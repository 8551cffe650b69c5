/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Params of programs that have some. */
#include "runtime/program/program.h"

const hia_program_params hiaR_program_params = {hia_params_load, hia_params_convert,
                                                hia_params_seed};
