/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Operations on tensors that native code calls: one, several in a row, and the memory for what a
 * fused loop computes. */
#include "runtime/heap/tensor.h"
#include "runtime/native/context.h"
#include "runtime/native/sampled.h"

HIA_UNINSTRUMENTED void hiaR_native_operate(hia_context *context,
                                            const hia_native_operation *operation, hia_word *words,
                                            uint32_t loc, const char *sp, uintptr_t pc) {
  if (operation->o.op != HIA_OP_TRAP)
    hiaR_need_heap(context, loc, sp, pc); /* it may be of scalars */
  hia_native_crew crew;
  bool has_crew = HIA_UNLIKELY(context->run.team != NULL) && hiaR_crew_join(context, sp, pc, &crew);
  const hia_env env = {&context->local, context->run.shapes, context->params,
                       context->is_shared != 0, has_crew ? &crew.crew : NULL};
  hia_misfortune why;
  hia_status status = operation->operate(&env, &operation->o, words, words, &why);
  if (has_crew && !status) status = hiaR_crew_leave(&crew);
  hiaR_sampled_took(context, loc, sp, pc);
  if (HIA_LIKELY(!status)) return;
  if (status == HIA_CANCELLED)
    hiaR_leave(context, hiaR_end_status(context), HIA_NONE, 0, sp, pc, NULL);
  if (status == HIA_RANGE) context->why.range = why.range;
  if (status == HIA_SHAPE) context->why.misfit = why.misfit;
  if (status == HIA_NAN_MADE) context->why.nan = why.nan;
  int64_t code = status == HIA_FUEL    ? (int64_t)why.fuel_left
                 : status == HIA_RANGE ? hiaR_range_code(why.of, why.is_slice)
                                       : 0;
  hiaR_leave(context, status, loc, code, sp, pc, NULL);
}

HIA_UNINSTRUMENTED void hiaR_native_steps(hia_context *context, const hia_native_steps *steps,
                                          hia_word *words, const char *sp, uintptr_t pc) {
  bool is_shared = context->is_shared != 0;
  for (uint64_t i = 0; i < steps->n; i++) {
    const hia_native_step *s = &steps->list[i];
    if (s->operation) {
      hia_word operands[HIA_STEP_INS];
      for (uint32_t k = 0; k < s->n_in; k++) operands[k] = words[s->ins[k]];
      hiaR_native_operate(context, s->operation, operands, s->loc, sp, pc);
      words[s->out] = operands[0];
    } else if (s->base == HIA_NONE) {
      hiaR_dup(words[s->ins[0]], is_shared);
    } else {
      hiaR_drop(&context->local, context->run.shapes, words[s->ins[0]], s->base, is_shared);
    }
  }
}

HIA_UNINSTRUMENTED void hiaR_native_tensors(hia_context *context, const hia_native_tensors *what,
                                            hia_word *words, const char *sp, uintptr_t pc) {
  hia_dims shape = {.rank = what->rank};
  for (uint32_t k = 0; k < what->rank; k++) shape.dims[k] = (int64_t)words[k];
  for (uint32_t i = 0; i < what->n; i++) {
    const hia_native_tensor *t = &what->list[i];
    hiaR_need_heap(context, t->loc, sp, pc);
    if (HIA_UNLIKELY(!hiaR_tensor_new(&context->local, (hia_dtype)t->dtype, &shape, &words[i])))
      hiaR_leave(context, HIA_MEMORY, t->loc, 0, sp, pc, NULL);
    hiaR_sampled_took(context, t->loc, sp, pc);
  }
}
