/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* What reading and writing safetensors have in common. */
#ifndef HIA_SAFETENSORS_H
#define HIA_SAFETENSORS_H

#include "runtime/interchange/interchange.h"

#define HIA_METADATA_NAME          "__metadata__"
#define HIA_METADATA_LEN           (sizeof HIA_METADATA_NAME - 1)
#define HIA_SAFETENSORS_MAX_HEADER 100000000u /* that of the format */

extern const char *const hiaR_safetensors_dtypes[HIA_N_FILE_DTYPES];

#endif
