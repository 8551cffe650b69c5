/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Diagnostics of the frontend: their codes, and how the rooms add them (diag.c). What the engine
 * reads of them is in frontend.h. */
#ifndef HIA_FRONTEND_DIAG_H
#define HIA_FRONTEND_DIAG_H

#include "frontend/frontend.h"

enum hia_code {
#define HIA_ERROR(code, ...) HIA_##code,
#include "frontend/syntax/errors.def"
  HIA_N_ERRORS
};

/* Adds a diagnostic about bytes start .. end of the source. Returns NULL, and adds nothing, if the
 * list is full or has the same diagnostic at the same place. */
hia_diag *hiaF_error(hia_diags *diags, enum hia_code code, uint32_t start, uint32_t end,
                     const char *fmt, ...) HIA_PRINTF(5, 6);
/* These accept NULL for `diag`. A hint replaces an earlier one; notes are appended. */
void hiaF_hint(hia_diags *diags, hia_diag *diag, const char *fmt, ...) HIA_PRINTF(3, 4);
/* The last hint as a change of the source: bytes start .. end become this text. */
void hiaF_fix(hia_diags *diags, hia_diag *diag, hia_edit edit, uint32_t start, uint32_t end,
              const char *fmt, ...) HIA_PRINTF(6, 7);
/* `at`: a byte of the source, or HIA_NONE for a note without a place. */
void hiaF_note(hia_diags *diags, hia_diag *diag, uint32_t at, const char *fmt, ...)
    HIA_PRINTF(4, 5);
/* Shows bytes start .. end with the error, as having this shape. */
void hiaF_mark(hia_diags *diags, hia_diag *diag, uint32_t start, uint32_t end, const char *shape);
const char *hiaF_error_code(enum hia_code code);

/* Finds where the lines of the source begin, for hiaF_position. */
void hiaF_find_lines(hia_program *p);
/* The line and column that users see. The function of a position decides its file. */
void hiaF_position(const hia_program *p, uint32_t at, uint32_t *line, uint32_t *col);

#endif
