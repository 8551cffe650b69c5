/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Functions that cannot end.
 *
 * A function can end if some path through its body makes only calls of functions that can end: the
 * least fixpoint over the call graph. Callees are visited first; when a function turns out to end,
 * its callers are visited again. */
#include "frontend/check/check.h"
#include "frontend/kit/ends.h"
#include "frontend/kit/instance.h"
#include "frontend/syntax/program.h"

void hiaF_find_ending(hia_program *p, const hia_u32vec *reached) {
  hia_u32vec queue = {0};
  for (uint32_t i = 0; i < reached->len; i++) {
    hia_inst *inst = hiaF_inst(p, reached->data[i]);
    if (inst->ends) continue;
    inst->queued = true;
    hiaR_push(p->arena, &queue, reached->data[i]);
  }
  for (uint32_t head = 0; head < queue.len; head++) {
    hia_inst *inst = hiaF_inst(p, queue.data[head]);
    inst->queued = false;
    if (inst->ends || !hiaF_body_ends(p, inst, false)) continue;
    inst->ends = true;
    for (uint32_t i = 0; i < inst->callers.len; i++) {
      hia_inst *caller = hiaF_inst(p, inst->callers.data[i]);
      if (caller->ends || caller->queued || !caller->checked) continue;
      caller->queued = true;
      hiaR_push(p->arena, &queue, inst->callers.data[i]);
    }
  }
}
