/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
#define HIA_LANE_BYTES 64
#define TABLE          hia_lanes_512
#include "bench/lanes_loops.h"
