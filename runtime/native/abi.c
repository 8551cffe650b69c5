/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The version of the runtime ABI as a symbol: an object that was made for another version does not
 * link, and the linker names what is missing. */
#include "runtime/native/module.h"

const uint32_t HIA_RT_ABI_SYMBOL = HIA_RT_ABI;
