/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Types as the headers of objects have them. */
#include "jit/engine/build.h"

static const char *const c_types[HIA_N_DTYPES] = {[HIA_BOOL] = "bool",
                                                  [HIA_I32] = "int32_t",
                                                  [HIA_I64] = "int64_t",
                                                  [HIA_F32] = "float",
                                                  [HIA_F64] = "double"};

const char *hiaJ_c_type(hia_dtype dtype) { return c_types[dtype]; }

hia_type hiaJ_type_in(hia_building *b, const hia_param *p) {
  hia_types from = hiaG_types_view(&p->info->types->table, b->types.comp);
  return hiaG_type_copy(&b->types, &from, p->info->type);
}
