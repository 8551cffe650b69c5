/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The gradients of data and arrays.
 *
 * In memory a gradient has a form with a zero that needs no shape: a tensor's is a Sum, and these
 * are the types that the pass makes:
 *
 *     of a data type T    None | one constructor for each of T's, of the gradients of its fields
 *     of a Sum            None | the tensor that flows to all of its contributions alike
 *     of an array [E]     Nothing | Both(a, b) | Whole([gradients of E]) | At(i, gradients of E)
 *                         | Part(i, x)
 *
 * Only fields that can have gradients are there. Two gradients of data are added by a function that
 * goes down both, as far as both go. Those of an array are collected, and become one array, a
 * Whole, where they are asked for one by one: again by functions, which this file makes. */
#include "graph/grad/shared.h"
#include "graph/ir/build.h"
#include "graph/ir/sums.h"

enum { ARRAY_NOTHING, ARRAY_BOTH, ARRAY_WHOLE, ARRAY_AT, ARRAY_PART, N_ARRAY_CTORS };

/* ---- which types ---- */

static bool has(const hia_grad *d, hia_type type) {
  const hia_types *types = d->g->types;
  hia_dtype dtype = hiaG_dtype(types, type);
  if (dtype != HIA_N_DTYPES) return dtype == HIA_F32 || dtype == HIA_F64;
  return type - HIA_FIRST_TYPE < d->carries.len && d->carries.data[type - HIA_FIRST_TYPE];
}

static bool look_at_type(const hia_grad *d, hia_type type) {
  const hia_types *types = d->g->types;
  const hia_type_entry *entry = &types->entries.data[type - HIA_FIRST_TYPE];
  switch (entry->kind) {
  case HIA_KIND_ARRAY: return has(d, entry->element);
  case HIA_KIND_TUPLE:
    for (uint32_t i = 0; i < entry->n; i++)
      if (has(d, types->parts.data[entry->first + i])) return true;
    return false;
  case HIA_KIND_DATA:
    for (uint32_t i = 0; i < entry->n; i++) {
      const hia_ctor *ctor = &types->ctors.data[entry->first + i];
      for (uint32_t k = 0; k < ctor->n; k++)
        if (has(d, types->fields.data[ctor->first + k].type)) return true;
    }
    return false;
  default: return false;
  }
}

bool hiaG_has_gradient(hia_grad *d, hia_type type) {
  const hia_types *types = d->g->types;
  if (hiaG_dtype(types, type) == HIA_N_DTYPES &&
      (d->carries.len != types->entries.len || d->n_ctors != types->ctors.len)) {
    while (d->carries.len < types->entries.len) hiaR_push(d->arena, &d->carries, false);
    d->n_ctors = types->ctors.len;
    for (bool is_changed = true; is_changed;) {
      is_changed = false;
      for (uint32_t i = 0; i < d->carries.len; i++) {
        if (d->carries.data[i] || !look_at_type(d, HIA_FIRST_TYPE + i)) continue;
        d->carries.data[i] = is_changed = true;
      }
    }
  }
  return has(d, type);
}

/* ---- the types of gradients ---- */

hia_type hiaG_grad_type(hia_grad *d, hia_type type) {
  return hiaG_dtype(d->g->types, type) == HIA_N_DTYPES ? hiaG_grad_stored(d, type) : type;
}

typedef HIA_VEC(hia_type) type_vec;

/* Returns the types of the gradients of those of the words that can have gradients. */
static type_vec gradients_of(hia_grad *d, const hia_type *words, uint32_t n) {
  type_vec types = {0};
  for (uint32_t i = 0; i < n; i++)
    if (hiaG_has_gradient(d, words[i])) hiaR_push(d->arena, &types, hiaG_grad_stored(d, words[i]));
  return types;
}

static type_vec words_of_type(hia_grad *d, hia_type type) {
  type_vec words = {0};
  uint32_t n = hiaG_type_words(d->g->types, type);
  hiaR_reserve(d->arena, &words, n);
  words.len = n;
  hiaG_type_flatten(d->g->types, type, words.data);
  return words;
}

static type_vec words_of_ctor(hia_grad *d, hia_type type, uint32_t number) {
  type_vec words = {0};
  const hia_types *types = d->g->types;
  const hia_ctor *ctor =
      &types->ctors.data[types->entries.data[type - HIA_FIRST_TYPE].first + number];
  for (uint32_t i = 0; i < ctor->n; i++) {
    type_vec more = words_of_type(d, types->fields.data[ctor->first + i].type);
    for (uint32_t k = 0; k < more.len; k++) hiaR_push(d->arena, &words, more.data[k]);
  }
  return words;
}

static hia_ctor_def ctor_def(hia_grad *d, uint32_t number, type_vec fields) {
  const char **names = HIA_NEW_ARRAY(d->arena, const char *, fields.len + 1);
  for (uint32_t i = 0; i < fields.len; i++) names[i] = hiaR_arena_printf(d->arena, "x%u", i);
  const char *name = hiaR_arena_printf(d->arena, "Case%u", number);
  return (hia_ctor_def){name, names, fields.data, fields.len};
}

static uint32_t n_ctors_of(const hia_grad *d, hia_type data) {
  return d->g->types->entries.data[data - HIA_FIRST_TYPE].n;
}

static void define_of_data(hia_grad *d, const hia_grad_of_type *entry) {
  HIA_VEC(hia_ctor_def) defs = {0};
  hiaR_push(d->arena, &defs, ctor_def(d, 0, (type_vec){0}));
  for (uint32_t i = 0, n = n_ctors_of(d, entry->type); i < n; i++) {
    type_vec words = words_of_ctor(d, entry->type, i);
    type_vec fields = gradients_of(d, words.data, words.len);
    hiaR_push(d->arena, &defs, ctor_def(d, i + 1, fields));
  }
  hiaG_grad_define(d, entry->gradient, defs.data, defs.len);
}

static hia_type element_of(hia_grad *d, hia_type array) {
  type_vec words = words_of_type(d, hiaG_element(d->g->types, array));
  type_vec fields = gradients_of(d, words.data, words.len);
  return fields.len == 1 ? fields.data[0] : hiaG_tuple(d->g->types, fields.data, fields.len);
}

static void define_of_array(hia_grad *d, const hia_grad_of_type *entry) {
  hia_type element = element_of(d, entry->type), whole = hiaG_array(d->g->types, element);
  type_vec fields = {0}, of_at = {0}, of_part = {0}, of_whole = {0};
  hia_ctor_def defs[N_ARRAY_CTORS];
  defs[ARRAY_NOTHING] = ctor_def(d, ARRAY_NOTHING, fields);
  for (uint32_t i = 0; i < 2; i++) hiaR_push(d->arena, &fields, entry->gradient);
  defs[ARRAY_BOTH] = ctor_def(d, ARRAY_BOTH, fields);
  hiaR_push(d->arena, &of_whole, whole);
  defs[ARRAY_WHOLE] = ctor_def(d, ARRAY_WHOLE, of_whole);
  type_vec words = words_of_type(d, element);
  hiaR_push(d->arena, &of_at, HIA_I64);
  for (uint32_t i = 0; i < words.len; i++) hiaR_push(d->arena, &of_at, words.data[i]);
  defs[ARRAY_AT] = ctor_def(d, ARRAY_AT, of_at);
  hiaR_push(d->arena, &of_part, HIA_I64);
  hiaR_push(d->arena, &of_part, entry->gradient);
  defs[ARRAY_PART] = ctor_def(d, ARRAY_PART, of_part);
  hiaG_grad_define(d, entry->gradient, defs, N_ARRAY_CTORS);
}

/* Defines the gradient of a sum, for second derivatives. Here the tensor itself is stored: a sum is
 * collected once. */
static void define_of_sum(hia_grad *d, const hia_grad_of_type *entry) {
  hia_dtype dtype;
  uint32_t rank;
  type_vec fields = {0};
  hia_ctor_def defs[2] = {ctor_def(d, 0, fields)};
  hiaG_sum_of(d->g->types, entry->type, &dtype, &rank);
  hiaR_push(d->arena, &fields, hiaG_tensor(d->g->types, dtype, rank));
  defs[HIA_GRAD_OF_SUM] = ctor_def(d, 1, fields);
  hiaG_grad_define(d, entry->gradient, defs, 2);
}

static uint32_t find_of_type(hia_grad *d, hia_type type) {
  for (uint32_t i = 0; i < d->of_types.len; i++)
    if (d->of_types.data[i].type == type) return i;
  hia_grad_of_type entry = {.type = type, .add = HIA_NONE, .into = HIA_NONE};
  bool is_array = hiaG_type_kind(d->g->types, type) == HIA_KIND_ARRAY;
  entry.gradient = hiaG_grad_named_type(
      d, hiaR_arena_printf(d->arena, "Gradient %s", hiaG_type_text(d->g->types, type)));
  hiaR_push(d->arena, &d->of_types, entry); /* before what it consists of: types may be recursive */
  if (hiaG_is_sum(d->g->types, type))
    define_of_sum(d, &entry);
  else if (is_array)
    define_of_array(d, &entry);
  else
    define_of_data(d, &entry);
  return find_of_type(d, type);
}

hia_type hiaG_grad_stored(hia_grad *d, hia_type type) {
  const hia_types *types = d->g->types;
  if (hiaG_is_scalar(type)) return type;
  if (hiaG_type_kind(types, type) == HIA_KIND_TENSOR)
    return hiaG_sum_type(d->g->types, hiaG_dtype(types, type), hiaG_rank(types, type));
  uint32_t i = find_of_type(d, type); /* the vector may grow */
  return d->of_types.data[i].gradient;
}

/* Returns the number of a word among those that have gradients. */
static uint32_t rank_of_word(hia_grad *d, type_vec words, uint32_t word) {
  uint32_t at = 0;
  for (uint32_t i = 0; i < word; i++) at += hiaG_has_gradient(d, words.data[i]);
  return at;
}
uint32_t hiaG_grad_field(hia_grad *d, hia_type data, uint32_t ctor, uint32_t word) {
  return rank_of_word(d, words_of_ctor(d, data, ctor), word);
}
uint32_t hiaG_grad_fields(hia_grad *d, hia_type data, uint32_t ctor) {
  type_vec words = words_of_ctor(d, data, ctor);
  return rank_of_word(d, words, words.len);
}
uint32_t hiaG_grad_word(hia_grad *d, hia_type array, uint32_t word) {
  return rank_of_word(d, words_of_type(d, hiaG_element(d->g->types, array)), word);
}
hia_type hiaG_grad_element(hia_grad *d, hia_type array) { return element_of(d, array); }

/* ---- functions ---- */

static hia_value_id value_at(hia_grad *d, hia_grad_at at, unsigned op, const hia_value_id *ins,
                             uint32_t n_ins, hia_type out, uint64_t imm) {
  return hiaG_out(at.fn, hiaG_add(d->g, at.fn, at.region, op, ins, n_ins, &out, 1, imm, at.loc), 0);
}
static hia_value_id is_ctor(hia_grad *d, hia_grad_at at, hia_value_id v, uint32_t number) {
  hia_value_id ctor = value_at(d, at, HIA_OP_CTOR, &v, 1, HIA_I32, 0);
  hia_value_id n = hiaG_const(d->g, at.fn, at.region, HIA_I32, number, at.loc);
  return hiaG_op(d->g, at.fn, at.region, HIA_OP_EQ, (hia_value_id[]){ctor, n}, 2, at.loc);
}

hia_value_id hiaG_grad_zero(hia_grad *d, hia_grad_at at, hia_type stored) {
  return hiaG_const(d->g, at.fn, at.region, stored, 0, at.loc);
}

static uint32_t of_gradient(const hia_grad *d, hia_type gradient) {
  for (uint32_t i = 0; i < d->of_types.len; i++)
    if (d->of_types.data[i].gradient == gradient) return i;
  return HIA_NONE;
}

/* Adds a branch on `cond` with one result; the caller fills the regions, THEN first. */
static hia_node_id branch_at(hia_grad *d, hia_grad_at at, hia_value_id cond, hia_type type) {
  return hiaG_add(d->g, at.fn, at.region, HIA_OP_IF, &cond, 1, &type, 1, 0, at.loc);
}
static hia_grad_at arm_of(hia_grad_at at, hia_node_id branch, uint32_t k) {
  at.region = at.fn->nodes.data[branch].regions + k;
  return at;
}
static void yield_at(hia_grad *d, hia_grad_at at, hia_value_id v) {
  hiaG_yield(d->g, at.fn, at.region, &v, 1);
}

/* Ends a function that is a chain of branches, each in the ELSE of the one before: `result` is that
 * of the last ELSE, where `at` is. */
static void end_chain(hia_grad *d, hia_grad_at at, hia_u32vec branches, hia_value_id result) {
  for (uint32_t i = branches.len; i-- > 0;) {
    yield_at(d, at, result);
    result = hiaG_out(at.fn, branches.data[i], 0);
    at.region = at.fn->nodes.data[branches.data[i]].region;
  }
  yield_at(d, at, result);
}

/* Returns the sum of two gradients of constructor `number`, field by field. */
static hia_value_id add_fields(hia_grad *d, hia_grad_at at, hia_type type, uint32_t number,
                               hia_value_id a, hia_value_id b) {
  type_vec words = words_of_ctor(d, type, number);
  hia_u32vec fields = {0};
  if (!words.len) return a;
  for (uint32_t i = 0; i < words.len; i++) {
    hia_value_id x = value_at(d, at, HIA_OP_FIELD, &a, 1, words.data[i], HIA_IMM(number, i));
    hia_value_id y = value_at(d, at, HIA_OP_FIELD, &b, 1, words.data[i], HIA_IMM(number, i));
    hiaR_push(d->arena, &fields, hiaG_grad_add(d, at, words.data[i], x, y));
  }
  return value_at(d, at, HIA_OP_DATA, fields.data, fields.len, type, number);
}

/* Makes the function add(a, b) = if a is None then b else if b is None then a else by constructor.
 */
static hia_fn_id add_function(hia_grad *d, uint32_t of_type) {
  hia_type type = d->of_types.data[of_type].gradient;
  if (d->of_types.data[of_type].add != HIA_NONE) return d->of_types.data[of_type].add;
  hia_type params[2] = {type, type};
  const char *name = hiaG_new_name(d->g, hiaG_type_text(d->g->types, type), ".add");
  hia_fn_id id = hiaG_fn_new(d->g, name, hiaG_name(d->g, "grad"), HIA_NONE, params, 2, &type, 1);
  d->of_types.data[of_type].add = id;
  hia_grad_at at = {hiaG_fn(d->g, id), 0, HIA_NONE};
  hia_u32vec branches = {0};
  uint32_t n = n_ctors_of(d, type);
  for (uint32_t i = 0; i < n; i++) { /* None of a, None of b, then all but the last */
    hia_value_id cond = i < 2 ? is_ctor(d, at, i, 0) : is_ctor(d, at, 0, i - 1);
    hia_node_id branch = branch_at(d, at, cond, type);
    hia_grad_at then = arm_of(at, branch, 0);
    yield_at(d, then, i < 2 ? 1 - i : add_fields(d, then, type, i - 1, 0, 1));
    hiaR_push(d->arena, &branches, branch);
    at = arm_of(at, branch, 1);
  }
  hia_value_id result = add_fields(d, at, type, n - 1, 0, 1);
  end_chain(d, at, branches, result);
  return id;
}

hia_value_id hiaG_grad_add(hia_grad *d, hia_grad_at at, hia_type stored, hia_value_id a,
                           hia_value_id b) {
  hia_value_id terms[2] = {a, b};
  uint32_t of_type = of_gradient(d, stored);
  if (hiaG_type_kind(d->g->types, stored) != HIA_KIND_DATA)
    return hiaG_op(d->g, at.fn, at.region, HIA_OP_ADD, terms, 2, at.loc);
  if (of_type == HIA_NONE) return value_at(d, at, HIA_OP_DATA, terms, 2, stored, HIA_SUM_BOTH);
  if (hiaG_type_kind(d->g->types, d->of_types.data[of_type].type) == HIA_KIND_ARRAY)
    return value_at(d, at, HIA_OP_DATA, terms, 2, stored, ARRAY_BOTH);
  hia_fn_id add = add_function(d, of_type);
  hia_node_id call =
      hiaG_add(d->g, at.fn, at.region, HIA_OP_CALL, terms, 2, &stored, 1, add, at.loc);
  at.fn->nodes.data[call].flags |= HIA_NODE_TAIL; /* no call of the source */
  return hiaG_out(at.fn, call, 0);
}

/* ---- arrays ---- */

static hia_value_id of_two(hia_grad *d, hia_grad_at at, unsigned op, hia_value_id a,
                           hia_value_id b) {
  return hiaG_op(d->g, at.fn, at.region, op, (hia_value_id[]){a, b}, 2, at.loc);
}

/* Returns an array with these words added to those of element i. */
static hia_value_id add_at(hia_grad *d, hia_grad_at at, hia_type whole, hia_value_id array,
                           hia_value_id i, const hia_value_id *more) {
  type_vec words = words_of_type(d, hiaG_element(d->g->types, whole));
  hia_u32vec ins = {0};
  hiaR_push(d->arena, &ins, array);
  hiaR_push(d->arena, &ins, i);
  for (uint32_t k = 0; k < words.len; k++) {
    hia_value_id old = value_at(d, at, HIA_OP_AT, (hia_value_id[]){array, i}, 2, words.data[k], k);
    hiaR_push(d->arena, &ins, hiaG_grad_add(d, at, words.data[k], old, more[k]));
  }
  return value_at(d, at, HIA_OP_SET, ins.data, ins.len, whole, 0);
}

/* Adds the elements of array `x`, at `first` and behind it. */
static hia_value_id add_whole(hia_grad *d, hia_grad_at at, hia_type whole, hia_value_id array,
                              hia_value_id first, hia_value_id x) {
  type_vec words = words_of_type(d, hiaG_element(d->g->types, whole));
  hia_value_id len = value_at(d, at, HIA_OP_LEN, &x, 1, HIA_I64, 0);
  hia_value_id zero = hiaG_const(d->g, at.fn, at.region, HIA_I64, 0, at.loc);
  hia_type types[2] = {HIA_I64, whole};
  hia_node_id loop = hiaG_add(d->g, at.fn, at.region, HIA_OP_LOOP, (hia_value_id[]){zero, array}, 2,
                              &whole, 1, 0, at.loc);
  at.fn->nodes.data[loop].flags |= HIA_NODE_FREE;
  hia_grad_at head = arm_of(at, loop, 0), round = arm_of(at, loop, 1);
  hia_value_id k = value_at(d, head, HIA_OP_ARG, NULL, 0, types[0], 0);
  hia_value_id so_far = value_at(d, head, HIA_OP_ARG, NULL, 0, types[1], 1);
  hia_value_id exits[2] = {of_two(d, head, HIA_OP_LT, k, len), so_far};
  hiaG_yield(d->g, at.fn, head.region, exits, 2);
  hia_u32vec more = {0};
  for (uint32_t i = 0; i < words.len; i++)
    hiaR_push(d->arena, &more,
              value_at(d, round, HIA_OP_AT, (hia_value_id[]){x, k}, 2, words.data[i], i));
  hia_value_id one = hiaG_const(d->g, at.fn, round.region, HIA_I64, 1, at.loc);
  hia_value_id next[2] = {of_two(d, round, HIA_OP_ADD, k, one)};
  hia_value_id where = of_two(d, round, HIA_OP_ADD, first, k);
  next[1] = add_at(d, round, whole, so_far, where, more.data);
  hiaG_yield(d->g, at.fn, round.region, next, 2);
  return hiaG_out(at.fn, loop, 0);
}

/* Makes the function into(x, first, array), which returns the array with the gradient x added,
 * whose element 0 is at `first`. */
static hia_fn_id into_function(hia_grad *d, uint32_t of_type) {
  hia_type type = d->of_types.data[of_type].gradient;
  if (d->of_types.data[of_type].into != HIA_NONE) return d->of_types.data[of_type].into;
  hia_type whole = hiaG_array(d->g->types, element_of(d, d->of_types.data[of_type].type));
  hia_type params[3] = {type, HIA_I64, whole};
  const char *name = hiaG_new_name(d->g, hiaG_type_text(d->g->types, type), ".into");
  hia_fn_id id = hiaG_fn_new(d->g, name, hiaG_name(d->g, "grad"), HIA_NONE, params, 3, &whole, 1);
  d->of_types.data[of_type].into = id;
  hia_grad_at at = {hiaG_fn(d->g, id), 0, HIA_NONE};
  hia_u32vec branches = {0};
  hia_value_id result = HIA_NONE;
  for (uint32_t c = 0; c < N_ARRAY_CTORS; c++) {
    hia_grad_at arm = at;
    if (c + 1 < N_ARRAY_CTORS) {
      hia_node_id branch = branch_at(d, at, is_ctor(d, at, 0, c), whole);
      hiaR_push(d->arena, &branches, branch);
      arm = arm_of(at, branch, 0);
    }
    hia_value_id x = 0, args[3];
    type_vec words = words_of_ctor(d, type, c);
    hia_u32vec fields = {0};
    for (uint32_t i = 0; i < words.len; i++)
      hiaR_push(d->arena, &fields,
                value_at(d, arm, HIA_OP_FIELD, &x, 1, words.data[i], HIA_IMM(c, i)));
    result = 2;
    switch (c) {
    case ARRAY_NOTHING: break;
    case ARRAY_BOTH:
      for (uint32_t i = 0; i < 2; i++) {
        memcpy(args, (hia_value_id[]){fields.data[i], 1, result}, sizeof args);
        hia_node_id call =
            hiaG_add(d->g, at.fn, arm.region, HIA_OP_CALL, args, 3, &whole, 1, id, HIA_NONE);
        at.fn->nodes.data[call].flags |= HIA_NODE_TAIL;
        result = hiaG_out(at.fn, call, 0);
      }
      break;
    case ARRAY_WHOLE: result = add_whole(d, arm, whole, 2, 1, fields.data[0]); break;
    case ARRAY_AT:
      result =
          add_at(d, arm, whole, 2, of_two(d, arm, HIA_OP_ADD, 1, fields.data[0]), fields.data + 1);
      break;
    case ARRAY_PART: {
      hia_value_id first = of_two(d, arm, HIA_OP_ADD, 1, fields.data[0]);
      memcpy(args, (hia_value_id[]){fields.data[1], first, result}, sizeof args);
      hia_node_id call =
          hiaG_add(d->g, at.fn, arm.region, HIA_OP_CALL, args, 3, &whole, 1, id, HIA_NONE);
      at.fn->nodes.data[call].flags |= HIA_NODE_TAIL;
      result = hiaG_out(at.fn, call, 0);
      break;
    }
    default: break;
    }
    if (c + 1 < N_ARRAY_CTORS) {
      yield_at(d, arm, result);
      at = arm_of(at, branches.data[branches.len - 1], 1);
    }
  }
  end_chain(d, at, branches, result);
  return id;
}

hia_value_id hiaG_grad_whole(hia_grad *d, hia_grad_at at, hia_type array, hia_value_id x,
                             hia_value_id len) {
  const hia_node *def = hiaG_def(at.fn, x);
  if (def->op == HIA_OP_DATA && def->imm == ARRAY_WHOLE) return at.fn->edges.data[def->ins];
  uint32_t of_type = find_of_type(d, array);
  hia_type element = element_of(d, array), whole = hiaG_array(d->g->types, element);
  hia_fn_id into = into_function(d, of_type);
  hia_node_id map = hiaG_add(d->g, at.fn, at.region, HIA_OP_MAP, &len, 1, &whole, 1, 0, at.loc);
  hia_grad_at each = arm_of(at, map, 0);
  value_at(d, each, HIA_OP_ARG, NULL, 0, HIA_I64, 0);
  type_vec words = words_of_type(d, element);
  hia_u32vec zeros = {0};
  for (uint32_t i = 0; i < words.len; i++)
    hiaR_push(d->arena, &zeros, hiaG_grad_zero(d, each, words.data[i]));
  hiaG_yield(d->g, at.fn, each.region, zeros.data, zeros.len);
  hia_value_id first = hiaG_const(d->g, at.fn, at.region, HIA_I64, 0, at.loc);
  hia_value_id args[3] = {x, first, hiaG_out(at.fn, map, 0)};
  hia_node_id call =
      hiaG_add(d->g, at.fn, at.region, HIA_OP_CALL, args, 3, &whole, 1, into, at.loc);
  at.fn->nodes.data[call].flags |= HIA_NODE_TAIL;
  return hiaG_out(at.fn, call, 0);
}

hia_value_id hiaG_grad_of_whole(hia_grad *d, hia_grad_at at, hia_type array, hia_value_id x) {
  return value_at(d, at, HIA_OP_DATA, &x, 1, hiaG_grad_stored(d, array), ARRAY_WHOLE);
}

hia_value_id hiaG_grad_of_element(hia_grad *d, hia_grad_at at, hia_type array, hia_value_id i,
                                  uint32_t word, hia_value_id x) {
  type_vec words = words_of_type(d, element_of(d, array));
  hia_u32vec ins = {0};
  hiaR_push(d->arena, &ins, i);
  for (uint32_t k = 0; k < words.len; k++)
    hiaR_push(d->arena, &ins, k == word ? x : hiaG_grad_zero(d, at, words.data[k]));
  return value_at(d, at, HIA_OP_DATA, ins.data, ins.len, hiaG_grad_stored(d, array), ARRAY_AT);
}

hia_value_id hiaG_grad_of_part(hia_grad *d, hia_grad_at at, hia_type array, hia_value_id i,
                               hia_value_id x) {
  return value_at(d, at, HIA_OP_DATA, (hia_value_id[]){i, x}, 2, hiaG_grad_stored(d, array),
                  ARRAY_PART);
}
