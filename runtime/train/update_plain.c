/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
#define SET hiaR_updates_plain
#include "runtime/train/update_body.h"
