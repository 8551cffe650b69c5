/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/helpers/gradient.h"
#include "graph/grad/rules/rules.h"
#include "graph/ir/build.h"

uint32_t gradient_cases(gradient_case *cases) {
  uint32_t n = 0;
  for (unsigned op = 0; op < HIA_OP_LIMIT && n + 4 <= GRADIENT_MAX_CASES; op++) {
    if (!hiaR_ops[op].name || hiaR_ops[op].gradient != HIA_GRADIENT_OWN) continue;
    if (hiaR_ops[op].shape != HIA_SHAPE_ELEMENTWISE) continue; /* gradient_tensor.h */
    for (hia_type t = HIA_F32; t <= HIA_F64; t++) {
      gradient_case c = {.op = op, .in = {t, t, t}, .out = t, .imm = 0};
      c.n_ins = (uint32_t)hiaR_ops[op].n_ins;
      if (op == HIA_OP_SELECT) c.in[0] = HIA_BOOL;
      if (op != HIA_OP_CAST) {
        cases[n++] = c;
        continue;
      }
      for (hia_type from = HIA_F32; from <= HIA_F64; from++) {
        c.in[0] = from;
        c.imm = from;
        cases[n++] = c;
      }
    }
  }
  return n;
}

hia_graph *gradient_graph(hia_comp *comp, hia_types *types, const gradient_case *c) {
  hia_graph *g = hiaG_new(comp, types, "");
  hia_type params[4];
  memcpy(params, c->in, sizeof c->in);
  params[c->n_ins] = c->out;
  hia_fn_id id =
      hiaG_fn_new(g, "f", hiaG_name(g, "f"), HIA_NONE, params, c->n_ins + 1, c->in, c->n_ins);
  hia_fn *fn = hiaG_fn(g, id);
  fn->is_root = true;
  fn->sig_params = fn->params;
  fn->n_sig_params = fn->n_params;
  fn->sig_result = c->n_ins == 1 ? c->in[0] : hiaG_tuple(types, c->in, c->n_ins);
  hia_value_id ins[3], gradients[3], dy = c->n_ins;
  for (uint32_t i = 0; i < c->n_ins; i++) ins[i] = i;
  hia_node_id node = hiaG_add(g, fn, 0, c->op, ins, c->n_ins, &c->out, 1, c->imm, HIA_NONE);
  hia_value_id out = hiaG_out(fn, node, 0);
  hia_gradient d = {.g = g,
                    .fn = fn,
                    .region = 0,
                    .loc = HIA_NONE,
                    .imm = c->imm,
                    .n_ins = c->n_ins,
                    .ins = ins,
                    .outs = &out,
                    .out_gradients = &dy,
                    .in_gradients = gradients};
  if (!hiaG_gradient(&d, c->op)) return NULL;
  for (uint32_t i = 0; i < c->n_ins; i++)
    if (gradients[i] == HIA_NONE) gradients[i] = hiaG_const(g, fn, 0, c->in[i], 0, HIA_NONE);
  hiaG_yield(g, fn, 0, gradients, c->n_ins);
  return g;
}

hia_word gradient_word(hia_type type, double x) {
  if (type == HIA_F32) return hiaR_from_f32((float)x);
  return type == HIA_F64 ? hiaR_from_f64(x) : hiaR_from_bool(x != 0);
}

double gradient_number(hia_type type, hia_word word) {
  if (type == HIA_F32) return (double)hiaR_to_f32(word);
  return type == HIA_F64 ? hiaR_to_f64(word) : (double)word;
}
