/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Large files as arguments of programs whose function may have them as streams. */
#include "runtime/program/program.h"

const hia_program_streams hiaR_program_streams = {hiaR_word_open_stream, hia_stream_free,
                                                  hiaR_streams_fail};
