/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Checks a node: as many operands and results as its kind has, and of the right types. */
#include "runtime/image/check.h"

static hia_type ref_or_none(hia_type type) { return hiaR_is_scalar(type) ? HIA_NONE : type; }

/* The type of operand i of a node that makes or reads arrays; NONE: a scalar. */
static hia_type array_operand(const hia_image_checker *c, const hia_image_node *n, uint32_t i) {
  const hia_layout *element = &c->types[n->what - HIA_FIRST_TYPE].layout;
  const hia_layout_word *layout_words = c->layout_words + element->first;
  switch (n->kind) {
  case HIA_KIND_ELEMENTS: return ref_or_none(layout_words[i % element->n].type);
  case HIA_KIND_SET:
    return i == 0 ? n->what : i == 1 ? HIA_NONE : ref_or_none(layout_words[i - 2].type);
  case HIA_KIND_CONCAT: return n->what;
  default: return i == 0 && n->kind != HIA_KIND_NEW ? n->what : HIA_NONE;
  }
}

static bool is_array_kind(unsigned kind) {
  return kind >= HIA_KIND_ELEMENTS && kind <= HIA_KIND_NEW;
}

static bool check_array_node(hia_image_checker *c, const hia_image_node *n) {
  const hia_image_section *s = c->s;
  const uint32_t *ins = c->words + n->ins, *outs = c->words + n->outs;
  const hia_layout *element = &c->types[n->what - HIA_FIRST_TYPE].layout;
  for (uint32_t i = 0; i < n->n_ins; i++)
    if (!hiaR_check_read(c, s, ins[i] & ~HIA_IMAGE_TAKEN, array_operand(c, n, i))) return false;
  hia_type type = n->what;
  if (n->kind == HIA_KIND_LEN) type = HIA_NONE;
  if (n->kind == HIA_KIND_AT) type = ref_or_none(c->layout_words[element->first + n->imm].type);
  return hiaR_check_write(c, s, outs[0], type);
}

/* Checks what the node's kind says of the types of its operands and results, which are in range. */
static bool check_node_types(hia_image_checker *c, const hia_image_node *n) {
  if (n->kind == HIA_KIND_OPERATION) return hiaR_check_operation(c, n);
  if (is_array_kind(n->kind)) return check_array_node(c, n);
  const hia_image_section *s = c->s, *callee = NULL;
  const uint32_t *ins = c->words + n->ins, *outs = c->words + n->outs;
  const hia_ctor *ctor = NULL;
  const hia_layout_word *layout_words = NULL;
  hia_type data = HIA_NONE;
  if (n->kind == HIA_KIND_CALL || n->kind == HIA_KIND_LOOP) callee = &c->sections[n->what];
  if (n->kind == HIA_KIND_MAKE || n->kind == HIA_KIND_FIELD) {
    ctor = &c->ctors[n->what];
    layout_words = c->layout_words + ctor->layout.first;
    data = c->type_of_ctor[n->what];
  }
  if (n->kind == HIA_KIND_CTOR) {
    data = hiaR_check_ref_type(c, s, ins[0]);
    bool is_const = ins[0] >= s->n_slots - s->n_consts;
    if (!is_const && (data == HIA_NONE || hiaR_type_kind(&c->table, data) != HIA_KIND_DATA))
      return hiaR_check_bad(c, "a constructor of no data");
    return (!is_const || hiaR_check_read(c, s, ins[0], HIA_FIRST_TYPE)) &&
           hiaR_check_write(c, s, outs[0], HIA_NONE);
  }
  if (n->kind == HIA_KIND_OBSERVE) return true; /* of any type */
  for (uint32_t i = 0; i < n->n_ins; i++) {
    hia_type type = HIA_NONE;
    if (n->kind == HIA_KIND_MOVE) type = hiaR_check_ref_type(c, s, outs[0]);
    if (n->kind == HIA_KIND_MAKE) type = ref_or_none(layout_words[i].type);
    if (n->kind == HIA_KIND_FIELD) type = data;
    if (callee) type = hiaR_check_ref_type(c, callee, i);
    if (!hiaR_check_read(c, s, ins[i] & ~HIA_IMAGE_TAKEN, type)) return false;
  }
  uint64_t words = n->imm; /* of a FIELD: those that are left */
  for (uint32_t i = 0; i < n->n_outs && n->kind != HIA_KIND_MOVE; i++) {
    hia_type type = HIA_NONE;
    if (n->kind == HIA_KIND_MAKE) type = data;
    if (n->kind == HIA_KIND_FIELD) {
      bool is_set = ctor->layout.n <= HIA_MAX_FIELD_SET;
      type = ref_or_none(layout_words[is_set ? (uint64_t)__builtin_ctzll(words) : words].type);
      words &= words - 1;
    }
    if (callee) {
      /* A constant result may be of any type. */
      if (!hiaR_check_read(c, callee, c->words[callee->results + i],
                           hiaR_check_ref_type(c, s, outs[i])))
        return false;
      continue;
    }
    if (!hiaR_check_write(c, s, outs[i], type)) return false;
  }
  return true;
}

/* Checks the type of an array node, and that it has a possible number of operands. */
static bool check_array_type(hia_image_checker *c, const hia_image_node *n) {
  if (n->what < HIA_FIRST_TYPE || !hiaR_check_is_type(c, n->what) ||
      hiaR_type_kind(&c->table, n->what) != HIA_KIND_ARRAY)
    return hiaR_check_bad(c, "no such type of arrays");
  uint32_t words = c->types[n->what - HIA_FIRST_TYPE].layout.n, least = 1, most = 1;
  switch (n->kind) {
  case HIA_KIND_AT:
    if (n->imm >= words) return hiaR_check_bad(c, "no such word of an element");
    least = most = 2;
    break;
  case HIA_KIND_SLICE: least = most = 3; break;
  case HIA_KIND_SET: least = most = 2 + words; break;
  case HIA_KIND_ELEMENTS:
    least = 0, most = UINT32_MAX; /* a graph may have an array of no elements */
    if (n->n_ins % words) return hiaR_check_bad(c, "a part of an element");
    break;
  case HIA_KIND_CONCAT: most = UINT32_MAX; break;
  default: break;
  }
  return (n->n_ins >= least && n->n_ins <= most) || hiaR_check_bad(c, "wrong number of operands");
}

/* True if `imm` of a FIELD is right for a constructor with n words; *outs: how many it reads. */
static bool are_fields(uint64_t imm, uint32_t n, uint32_t *outs) {
  *outs = n > HIA_MAX_FIELD_SET ? 1 : (uint32_t)__builtin_popcountll(imm);
  if (n > HIA_MAX_FIELD_SET) return imm < n;
  return imm && (n == HIA_MAX_FIELD_SET || imm >> n == 0);
}

static bool may_take(unsigned kind) {
  return kind == HIA_KIND_MOVE || kind == HIA_KIND_CALL || kind == HIA_KIND_LOOP ||
         kind == HIA_KIND_MAKE || kind == HIA_KIND_FIELD || kind == HIA_KIND_ELEMENTS ||
         kind == HIA_KIND_SET || kind == HIA_KIND_OPERATION;
}

bool hiaR_check_node(hia_image_checker *c, const hia_image_node *n) {
  const hia_image_section *s = c->s;
  uint32_t ins = 0, outs = 0;
  switch (n->kind) {
  case HIA_KIND_KERNEL: {
    if (n->what >= c->h->kernels.n) return hiaR_check_bad(c, "no such kernel");
    const hia_image_kernel *k = &c->kernels[n->what];
    if (hiaR_ops[k->op].n_ins < 1 || hiaR_ops[k->op].n_ins > 3)
      return hiaR_check_bad(c, "a kernel of no op on scalars");
    ins = (uint32_t)hiaR_ops[k->op].n_ins, outs = 1;
    if (k->op == HIA_OP_CAST && n->imm >= HIA_N_DTYPES)
      return hiaR_check_bad(c, "a cast from no dtype");
    break;
  }
  case HIA_KIND_MOVE: ins = outs = 1; break;
  case HIA_KIND_SWITCH: ins = 1; break;
  case HIA_KIND_FAIL: ins = 1; break;
  case HIA_KIND_LEND: ins = 1; break;
  case HIA_KIND_REGAIN: ins = outs = 1; break;
  case HIA_KIND_COUNT:
    if (n->what > 1) return hiaR_check_bad(c, "a count of nothing");
    break;
  case HIA_KIND_OBSERVE: ins = 1; break;
  case HIA_KIND_JOIN: break;
  case HIA_KIND_MAKE:
    if (n->what >= c->h->ctors.n || !c->ctors[n->what].n)
      return hiaR_check_bad(c, "no such constructor");
    ins = c->ctors[n->what].layout.n, outs = 1;
    break;
  case HIA_KIND_CTOR: ins = outs = 1; break;
  case HIA_KIND_FIELD:
    if (n->what >= c->h->ctors.n || !are_fields(n->imm, c->ctors[n->what].layout.n, &outs))
      return hiaR_check_bad(c, "no such field");
    ins = 1;
    break;
  case HIA_KIND_HOST: /* the only node, so that the host function is called when its section is */
    if (n->what >= c->h->externs.n) return hiaR_check_bad(c, "no such extern");
    if (s->n_nodes != 1 || s->flags) return hiaR_check_bad(c, "a call of the host is not alone");
    ins = c->host_words[2 * (size_t)n->what], outs = c->host_words[2 * (size_t)n->what + 1];
    break;
  case HIA_KIND_CALL:
  case HIA_KIND_LOOP:
    if (n->what >= c->h->sections.n) return hiaR_check_bad(c, "no such section");
    ins = c->sections[n->what].n_params, outs = c->sections[n->what].n_results;
    break;
  case HIA_KIND_ELEMENTS:
  case HIA_KIND_LEN:
  case HIA_KIND_AT:
  case HIA_KIND_SLICE:
  case HIA_KIND_SET:
  case HIA_KIND_CONCAT:
  case HIA_KIND_NEW:
    if (!check_array_type(c, n)) return false;
    ins = n->n_ins, outs = 1;
    break;
  case HIA_KIND_OPERATION: {
    if (n->what >= c->h->kernels.n || hiaR_ops[c->kernels[n->what].op].shape == HIA_SHAPE_NONE)
      return hiaR_check_bad(c, "no such operation");
    int8_t wanted = hiaR_ops[c->kernels[n->what].op].n_ins;
    ins = wanted < 0 ? n->n_ins : (uint32_t)wanted, outs = 1;
    break;
  }
  default: return hiaR_check_bad(c, "kind %u of a node", n->kind);
  }
  if (n->n_ins != ins || n->n_outs != outs)
    return hiaR_check_bad(c, "wrong number of operands or results");
  if (n->kind == HIA_KIND_SWITCH && n->n_edges)
    return hiaR_check_bad(c, "a switch has edges of its own");
  if (n->tokens < 1 || n->tokens > HIA_MAX_TOKENS)
    return hiaR_check_bad(c, "a node waits for nothing");
  if (n->loc != HIA_NONE && n->loc >= c->h->locs.n) return hiaR_check_bad(c, "no such location");
  return hiaR_check_operands(c, n->ins, n->n_ins, 1, may_take(n->kind)) &&
         hiaR_check_list_below(c, n->outs, n->n_outs, s->n_slots - s->n_consts) &&
         hiaR_check_list(c, n->edges, n->n_edges) && check_node_types(c, n);
}
