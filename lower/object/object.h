/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* What an object file holds besides the code: tables of frames and positions, the image, types,
 * params, `main`. */
#ifndef HIA_LOWER_OBJECT_H
#define HIA_LOWER_OBJECT_H

#include "lower/kit/emit.h"

/* ---- object.c ---- */

/* hia_unwinder, hia_places, and the fields of the record from `image` on. */
enum { HIA_RECORD_REST = 11 };
LLVMValueRef hiaL_object_unwinder(hia_emit *e, LLVMValueRef *locs);
LLVMValueRef hiaL_object_places(hia_emit *e, LLVMValueRef locs);
void hiaL_object_rest(hia_emit *e, LLVMValueRef rest[HIA_RECORD_REST]);
/* `main`, which runs the plan's program. */
void hiaL_object_main(hia_emit *e, LLVMValueRef record);

/* ---- types.c ---- */

/* The types of the plan and their shapes, or NULL pointers. */
void hiaL_object_types(hia_emit *e, LLVMValueRef *types, LLVMValueRef *shapes);

#endif
