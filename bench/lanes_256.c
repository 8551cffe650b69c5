/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
#define HIA_LANE_BYTES 32
#define TABLE          hia_lanes_256
#include "bench/lanes_loops.h"
