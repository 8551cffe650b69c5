/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* base/shape: every rule on tables of shapes, written as text; names and unknown sizes; what cannot
 * fit, with its message; sizes at the ends. Rules on sizes that are not known are compared with the
 * same rules on all numbers that these may be. */
#include "runtime/base/shape.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

/* "[2, n, ?]": names are single letters. */
static hia_dims shape(const char *text) {
  hia_dims s = {0};
  for (const char *p = text + 1; *p && *p != ']';) {
    if (*p == ',' || *p == ' ') {
      p++;
    } else if (*p >= 'a' && *p <= 'z') {
      s.dims[s.rank++] = HIA_DIM_NAMED(*p++);
    } else if (*p == '?') {
      s.dims[s.rank++] = HIA_DIM_UNKNOWN;
      p++;
    } else {
      char *end;
      s.dims[s.rank++] = strtoll(p, &end, 10);
      p = end;
    }
  }
  return s;
}

static const char *letter(const void *user, uint32_t name) {
  (void)user;
  static char text[2];
  text[0] = (char)name;
  return text;
}
static const hia_dim_names letters = {letter, NULL};

typedef enum {
  BROADCAST,
  INDEX,
  PRODUCT,
  OUTER,
  SET,
  EXPECT,
  LABELS,
  RESHAPE,
  TRANSPOSE,
  REDUCE,
  CONCAT,
  STACK
} rule;

static hia_fit apply(rule r, const hia_dims *ins, uint32_t n, uint32_t axis, hia_dims *out,
                     hia_misfit *misfit) {
  switch (r) {
  case BROADCAST: return hiaR_shape_broadcast(ins, n, out, misfit);
  case INDEX: return hiaR_shape_index(&ins[0], &ins[1], out, misfit);
  case PRODUCT: return hiaR_shape_product(&ins[0], &ins[1], out, misfit);
  case OUTER: return hiaR_shape_outer(&ins[0], &ins[1], out, misfit);
  case SET: return hiaR_shape_set(&ins[0], &ins[1], out, misfit);
  case EXPECT: return hiaR_shape_expect(&ins[0], &ins[1], out, misfit);
  case LABELS: return hiaR_shape_labels(&ins[0], &ins[1], out, misfit);
  case RESHAPE: return hiaR_shape_reshape(&ins[0], &ins[1], out, misfit);
  case TRANSPOSE: return hiaR_shape_transpose(&ins[0], out, misfit);
  case REDUCE: return hiaR_shape_reduce(&ins[0], axis, out, misfit);
  case CONCAT: return hiaR_shape_concat(ins, n, axis, out, misfit);
  default: return hiaR_shape_stack(ins, n, axis, out, misfit);
  }
}

typedef struct {
  rule r;
  const char *ins[3];
  uint32_t axis;
  hia_fit fit;
  const char *out; /* NEVER: the message */
} row;

#define ALWAYS    HIA_FIT_ALWAYS
#define SOMETIMES HIA_FIT_SOMETIMES
#define NEVER     HIA_FIT_NEVER
#define MAX       "[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,2]"
static const row rows[] = {
    {BROADCAST, {"[]"}, 0, ALWAYS, "[]"},
    {BROADCAST, {"[]", "[]"}, 0, ALWAYS, "[]"},
    {BROADCAST, {"[]", "[3]"}, 0, ALWAYS, "[3]"},
    {BROADCAST, {"[2, 3]", "[3]"}, 0, ALWAYS, "[2, 3]"},
    {BROADCAST, {"[2, 1]", "[1, 3]"}, 0, ALWAYS, "[2, 3]"},
    {BROADCAST, {"[3]", "[2, 1]", "[4, 1, 1]"}, 0, ALWAYS, "[4, 2, 3]"},
    {BROADCAST, {"[0]", "[1]"}, 0, ALWAYS, "[0]"},
    {BROADCAST, {"[0, 1]", "[5]"}, 0, ALWAYS, "[0, 5]"},
    {BROADCAST, {"[0]", "[2]"}, 0, NEVER, "axis 0 of [0] is 0, axis 0 of [2] is 2"},
    {BROADCAST, {"[2, 3]", "[2, 4]"}, 0, NEVER, "axis 1 of [2, 3] is 3, axis 1 of [2, 4] is 4"},
    {BROADCAST, {"[2, 3]", "[4]"}, 0, NEVER, "axis 1 of [2, 3] is 3, axis 0 of [4] is 4"},
    {BROADCAST, {"[1]", "[5, 3]", "[4]"}, 0, NEVER, "axis 1 of [5, 3] is 3, axis 0 of [4] is 4"},
    {BROADCAST, {"[n]", "[n]"}, 0, ALWAYS, "[n]"},
    {BROADCAST, {"[n]", "[1]"}, 0, ALWAYS, "[n]"},
    {BROADCAST, {"[n]", "[m]"}, 0, SOMETIMES, "[?]"},
    {BROADCAST, {"[n]", "[5]"}, 0, SOMETIMES, "[5]"},
    {BROADCAST, {"[0]", "[n]"}, 0, SOMETIMES, "[0]"},
    {BROADCAST, {"[?]", "[5]"}, 0, SOMETIMES, "[5]"},
    {BROADCAST, {"[?]", "[?]"}, 0, SOMETIMES, "[?]"},
    {BROADCAST, {"[?]", "[1]"}, 0, ALWAYS, "[?]"},
    {BROADCAST, {"[?]", "[n]"}, 0, SOMETIMES, "[?]"},
    {BROADCAST, {"[?]", "[5]", "[6]"}, 0, NEVER, "axis 0 of [5] is 5, axis 0 of [6] is 6"},
    {BROADCAST, {"[n, 3]", "[?, 4]"}, 0, NEVER, "axis 1 of [n, 3] is 3, axis 1 of [?, 4] is 4"},
    {BROADCAST, {MAX, "[7, 1]"}, 0, ALWAYS, "[1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 7, 2]"},
    {BROADCAST,
     {"[4000000000, 1]", "[4000000000]"},
     0,
     NEVER,
     "the result of [4000000000, 1] has too many elements"},

    {INDEX, {"[5, 3]", "[]"}, 0, ALWAYS, "[3]"},
    {INDEX, {"[5]", "[]"}, 0, ALWAYS, "[]"},
    {INDEX, {"[5, 3]", "[2, 7]"}, 0, ALWAYS, "[2, 7, 3]"},
    {INDEX, {"[n, ?]", "[m, 0]"}, 0, ALWAYS, "[m, 0, ?]"},
    {INDEX, {"[]", "[]"}, 0, NEVER, "[] has rank 0, which is not allowed here"},
    {INDEX,
     {MAX, "[1, 1]"},
     0,
     NEVER,
     "the result of [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2] has more than 16 axes"},
    {INDEX, {MAX, "[3]"}, 0, ALWAYS, "[3, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2]"},

    {PRODUCT, {"[3]", "[3]"}, 0, ALWAYS, "[]"},
    {PRODUCT, {"[2, 3]", "[3]"}, 0, ALWAYS, "[2]"},
    {PRODUCT, {"[3]", "[3, 4]"}, 0, ALWAYS, "[4]"},
    {PRODUCT, {"[2, 3]", "[3, 4]"}, 0, ALWAYS, "[2, 4]"},
    {PRODUCT, {"[0, 3]", "[3, 0]"}, 0, ALWAYS, "[0, 0]"},
    {PRODUCT, {"[2, 0]", "[0, 4]"}, 0, ALWAYS, "[2, 4]"},
    {PRODUCT, {"[7, 2, 3]", "[3]"}, 0, ALWAYS, "[7, 2]"},
    {PRODUCT, {"[3]", "[7, 3, 4]"}, 0, ALWAYS, "[7, 4]"},
    {PRODUCT, {"[7, 2, 3]", "[3, 4]"}, 0, ALWAYS, "[7, 2, 4]"},
    {PRODUCT, {"[2, 3]", "[7, 3, 4]"}, 0, ALWAYS, "[7, 2, 4]"},
    {PRODUCT, {"[8, 1, 2, 3]", "[7, 3, 4]"}, 0, ALWAYS, "[8, 7, 2, 4]"},
    {PRODUCT, {"[n, k]", "[k, m]"}, 0, ALWAYS, "[n, m]"},
    {PRODUCT, {"[n, k]", "[l, m]"}, 0, SOMETIMES, "[n, m]"},
    {PRODUCT, {"[n, ?]", "[5]"}, 0, SOMETIMES, "[n]"},
    {PRODUCT, {"[?, 2, 3]", "[5, 3, 4]"}, 0, SOMETIMES, "[5, 2, 4]"},
    {PRODUCT, {"[2, 3]", "[4, 5]"}, 0, NEVER, "axis 1 of [2, 3] is 3, axis 0 of [4, 5] is 4"},
    {PRODUCT, {"[2, 3]", "[1, 5]"}, 0, NEVER, "axis 1 of [2, 3] is 3, axis 0 of [1, 5] is 1"},
    {PRODUCT, {"[3]", "[4]"}, 0, NEVER, "axis 0 of [3] is 3, axis 0 of [4] is 4"},
    {PRODUCT,
     {"[7, 2, 3]", "[6, 3, 4]"},
     0,
     NEVER,
     "axis 0 of [7, 2, 3] is 7, axis 0 of [6, 3, 4] is 6"},
    {PRODUCT, {"[]", "[3]"}, 0, NEVER, "[] has rank 0, which is not allowed here"},
    {PRODUCT, {"[3]", "[]"}, 0, NEVER, "[] has rank 0, which is not allowed here"},

    {OUTER, {"[3]", "[n]"}, 0, ALWAYS, "[3, n]"},
    {OUTER, {"[0]", "[4]"}, 0, ALWAYS, "[0, 4]"},
    {OUTER, {"[3, 4]", "[4]"}, 0, NEVER, "[3, 4] has rank 2, which is not allowed here"},

    {SET, {"[5, 3]", "[3]"}, 0, ALWAYS, "[5, 3]"},
    {SET, {"[5]", "[]"}, 0, ALWAYS, "[5]"},
    {SET, {"[5, ?]", "[3]"}, 0, SOMETIMES, "[5, 3]"},
    {SET, {"[5, 3]", "[1]"}, 0, NEVER, "axis 1 of [5, 3] is 3, axis 0 of [1] is 1"},
    {SET, {"[5, 3]", "[]"}, 0, NEVER, "[5, 3] has rank 2, [] has rank 0"},

    {EXPECT, {"[5, 3]", "[5, 3]"}, 0, ALWAYS, "[5, 3]"},
    {EXPECT, {"[5, 3]", "[?, 3]"}, 0, ALWAYS, "[5, 3]"},
    {EXPECT, {"[?, n]", "[?, n]"}, 0, ALWAYS, "[?, n]"},
    {EXPECT, {"[?, n]", "[5, ?]"}, 0, SOMETIMES, "[5, n]"},
    {EXPECT, {"[5, 3]", "[?, 4]"}, 0, NEVER, "axis 1 of [5, 3] is 3, axis 1 of [?, 4] is 4"},
    {EXPECT, {"[5, 3]", "[3]"}, 0, NEVER, "[5, 3] has rank 2, [3] has rank 1"},

    {LABELS, {"[5, 3]", "[5]"}, 0, ALWAYS, "[5]"},
    {LABELS, {"[3]", "[]"}, 0, ALWAYS, "[]"},
    {LABELS, {"[n, m, 3]", "[n, 4]"}, 0, SOMETIMES, "[n, 4]"},
    {LABELS, {"[5, 3]", "[1]"}, 0, NEVER, "axis 0 of [5, 3] is 5, axis 0 of [1] is 1"},
    {LABELS, {"[5, 3]", "[]"}, 0, NEVER, "[5, 3] has rank 2, [] has rank 0"},
    {LABELS, {"[]", "[]"}, 0, NEVER, "[] has rank 0, which is not allowed here"},

    {RESHAPE, {"[2, 6]", "[3, 4]"}, 0, ALWAYS, "[3, 4]"},
    {RESHAPE, {"[]", "[1, 1]"}, 0, ALWAYS, "[1, 1]"},
    {RESHAPE, {"[0, 6]", "[7, 0]"}, 0, ALWAYS, "[7, 0]"},
    {RESHAPE, {"[n, m]", "[n, m]"}, 0, ALWAYS, "[n, m]"},
    {RESHAPE, {"[n, 6]", "[3, ?]"}, 0, SOMETIMES, "[3, ?]"},
    {RESHAPE, {"[2, 6]", "[5]"}, 0, NEVER, "[2, 6] and [5] have different numbers of elements"},

    {TRANSPOSE, {"[2, n]"}, 0, ALWAYS, "[n, 2]"},
    {TRANSPOSE, {"[2]"}, 0, NEVER, "[2] has rank 1, which is not allowed here"},

    {REDUCE, {"[2, n, 4]"}, 1, ALWAYS, "[2, 4]"},
    {REDUCE, {"[2, n, 4]"}, 2, ALWAYS, "[2, n]"},
    {REDUCE, {"[0]"}, 0, ALWAYS, "[]"},
    {REDUCE, {"[2, n, 4]"}, HIA_ALL_AXES, ALWAYS, "[]"},
    {REDUCE, {"[]"}, HIA_ALL_AXES, ALWAYS, "[]"},
    {REDUCE, {"[2, n]"}, 2, NEVER, "[2, n] has no axis 2"},
    {REDUCE, {"[]"}, 0, NEVER, "[] has no axis 0"},

    {CONCAT, {"[2, 3]"}, 0, ALWAYS, "[2, 3]"},
    {CONCAT, {"[n]"}, 0, ALWAYS, "[n]"},
    {CONCAT, {"[2, 3]", "[4, 3]"}, 0, ALWAYS, "[6, 3]"},
    {CONCAT, {"[2, 3]", "[2, 0]", "[2, 1]"}, 1, ALWAYS, "[2, 4]"},
    {CONCAT, {"[?, 3]", "[4, 3]"}, 0, ALWAYS, "[?, 3]"},
    {CONCAT, {"[2, ?]", "[4, 3]"}, 0, SOMETIMES, "[6, 3]"},
    {CONCAT,
     {"[2, ?]", "[4, 3]", "[1, 4]"},
     0,
     NEVER,
     "axis 1 of [4, 3] is 3, axis 1 of [1, 4] is 4"},
    {CONCAT, {"[2, 3]", "[3]"}, 0, NEVER, "[2, 3] has rank 2, [3] has rank 1"},
    {CONCAT, {"[]", "[]"}, 0, NEVER, "[] has no axis 0"},
    {CONCAT,
     {"[9223372036854775807, 0]", "[1, 0]"},
     0,
     NEVER,
     "the result of [9223372036854775807, 0] has too many elements"},

    {STACK, {"[]", "[]", "[]"}, 0, ALWAYS, "[3]"},
    {STACK, {"[2, 5]", "[2, 5]"}, 1, ALWAYS, "[2, 2, 5]"},
    {STACK, {"[2, 5]", "[2, 5]", "[2, 5]"}, 2, ALWAYS, "[2, 5, 3]"},
    {STACK, {"[n, ?]", "[n, 4]"}, 0, SOMETIMES, "[2, n, 4]"},
    {STACK, {"[2]", "[1]"}, 0, NEVER, "axis 0 of [2] is 2, axis 0 of [1] is 1"},
    {STACK, {"[2]", "[2]"}, 2, NEVER, "[2] has no axis 2"},
    {STACK,
     {MAX, MAX},
     0,
     NEVER,
     "the result of [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2] has more than 16 axes"},
};

static uint32_t n_ins(const row *r) {
  uint32_t n = 0;
  while (n < 3 && r->ins[n]) n++;
  return n;
}

Test(shape, rules) {
  hia_comp comp;
  hiaR_comp_init(&comp, &hiaR_malloc);
  for (size_t i = 0; i < HIA_LEN(rows); i++) {
    const row *r = &rows[i];
    hia_dims ins[3], out = {.rank = 99};
    hia_misfit misfit;
    for (uint32_t k = 0; k < n_ins(r); k++) ins[k] = shape(r->ins[k]);
    hia_fit fit = apply(r->r, ins, n_ins(r), r->axis, &out, &misfit);
    cr_assert_eq(fit, r->fit, "row %zu: %s %s: %d", i, r->ins[0], r->ins[1] ? r->ins[1] : "", fit);
    hia_text text;
    hiaR_text_init(&text, &comp.arena);
    if (fit == HIA_FIT_NEVER) {
      cr_assert_eq(out.rank, 99, "row %zu: nothing is written", i);
      hiaR_misfit_print(&misfit, &letters, &text);
      cr_assert_eq(apply(r->r, ins, n_ins(r), r->axis, &out, NULL), fit);
    } else {
      hiaR_shape_print(&out, &letters, &text);
      hia_dims *first = &ins[0]; /* in place */
      cr_assert_eq(apply(r->r, ins, n_ins(r), r->axis, first, &misfit), fit);
      cr_assert(first->rank == out.rank &&
                memcmp(first->dims, out.dims, out.rank * sizeof *out.dims) == 0);
    }
    cr_assert_str_eq(text.data, r->out, "row %zu: %s", i, text.data);
  }
  hiaR_comp_free(&comp);
}

/* ---- slices, joins, sizes ---- */

Test(shape, slices) {
  static const struct {
    const char *x;
    int64_t from, to;
    hia_fit fit;
    hia_dim len;
  } all[] = {
      {"[5, 3]", 1, 4, ALWAYS, 3},    {"[5]", 0, 0, ALWAYS, 0},
      {"[5]", 5, 5, ALWAYS, 0},       {"[0]", 0, 0, ALWAYS, 0},
      {"[5]", 4, 6, NEVER, 0},        {"[5]", 6, 6, NEVER, 0},
      {"[5]", 3, 2, NEVER, 0},        {"[n]", 3, 2, NEVER, 0},
      {"[n]", 2, 7, SOMETIMES, 5},    {"[?]", 0, 0, ALWAYS, 0},
      {"[5]", -1, 3, SOMETIMES, -1},  {"[5]", 2, -1, SOMETIMES, -1},
      {"[5]", 6, -1, NEVER, 0},       {"[5]", -1, 6, NEVER, 0},
      {"[?]", -1, -1, SOMETIMES, -1}, {"[5]", INT64_MAX, INT64_MAX, NEVER, 0},
  };
  for (size_t i = 0; i < HIA_LEN(all); i++) {
    hia_dims x = shape(all[i].x), out;
    hia_misfit misfit;
    cr_assert_eq(hiaR_shape_slice(&x, all[i].from, all[i].to, &out, &misfit), all[i].fit, "%zu", i);
    if (all[i].fit == NEVER) {
      cr_assert_eq(misfit.kind, HIA_MISFIT_RANGE);
      cr_assert_not(hiaR_misfit_rejects(&misfit));
      continue;
    }
    cr_assert_eq(out.dims[0], all[i].len, "%zu", i);
    cr_assert_eq(out.rank, x.rank);
  }
  hia_dims scalar = {0}, out;
  hia_misfit misfit;
  cr_assert_eq(hiaR_shape_slice(&scalar, 0, 0, &out, &misfit), HIA_FIT_NEVER);
  cr_assert(hiaR_misfit_rejects(&misfit));
}

Test(shape, computed_sizes) {
  static const struct {
    int64_t sizes[3];
    uint32_t n;
    const char *message; /* NULL: it is a shape */
  } cases[] = {
      {{0}, 0, NULL},
      {{3, 0, 2}, 3, NULL},
      {{INT64_MAX / 8}, 1, NULL},
      {{3, -1, -2}, 3, "size 1 is -1"},
      {{INT64_MIN}, 1, "size 0 is -9223372036854775808"},
      {{INT64_MAX, -5}, 2, "size 1 is -5"},
      {{INT64_MAX / 8, 2}, 2, "the result of [1152921504606846975, 2] has too many elements"}};
  hia_comp comp;
  hiaR_comp_init(&comp, &hiaR_malloc);
  for (size_t i = 0; i < HIA_LEN(cases); i++) {
    hia_dims out = {.rank = 9};
    hia_misfit misfit;
    hia_fit fit = hiaR_shape_of_sizes(cases[i].sizes, cases[i].n, &out, &misfit);
    cr_assert_eq(fit, cases[i].message ? NEVER : ALWAYS);
    cr_assert_eq(out.rank, cases[i].message ? 9 : cases[i].n);
    for (uint32_t k = 0; k < cases[i].n && !cases[i].message; k++)
      cr_assert_eq(out.dims[k], cases[i].sizes[k]);
    if (!cases[i].message) continue;
    hia_text text;
    hiaR_text_init(&text, &comp.arena);
    hiaR_misfit_print(&misfit, NULL, &text);
    cr_assert_str_eq(text.data, cases[i].message);
    cr_assert_not(hiaR_misfit_rejects(&misfit));
  }
  hiaR_comp_free(&comp);
}

Test(shape, joins) {
  hia_dims a = shape("[2, n, 3, ?]"), b = shape("[2, n, 4, ?]"), c = shape("[2]"), out;
  cr_assert(hiaR_shape_join(&a, &b, &out));
  hia_dims expected = shape("[2, n, ?, ?]");
  cr_assert_eq(memcmp(out.dims, expected.dims, 4 * sizeof *out.dims), 0);
  cr_assert_not(hiaR_shape_join(&a, &c, &out));
}

Test(shape, elements) {
  uint64_t n;
  hia_dims s = shape("[]");
  cr_assert(hiaR_shape_elements(&s, 8, &n) && n == 1);
  s = shape("[2, 0, 3]");
  cr_assert(hiaR_shape_elements(&s, 8, &n) && n == 0);
  s = shape("[1152921504606846975]"); /* 2^60 - 1 */
  cr_assert(hiaR_shape_elements(&s, 8, &n) && n == (1ull << 60) - 1);
  s = shape("[1152921504606846976]");
  cr_assert_not(hiaR_shape_elements(&s, 8, &n));
  cr_assert(hiaR_shape_elements(&s, 4, &n) && n == 1ull << 60);
  cr_assert(hiaR_shape_elements(&s, 1, &n) && n == 1ull << 60);
  s = shape("[9223372036854775807]");
  cr_assert(hiaR_shape_elements(&s, 1, &n) && n == INT64_MAX);
  /* A row must have a size, even if there is none. */
  s = shape("[0, 9223372036854775807, 2]");
  cr_assert_not(hiaR_shape_elements(&s, 1, &n));
  s = shape("[4294967296, 4294967296]");
  cr_assert_not(hiaR_shape_elements(&s, 1, &n));
  s = shape("[2, n]");
  cr_assert_not(hiaR_shape_elements(&s, 1, &n));
}

Test(shape, of_ops) {
  hia_dims ins[3] = {shape("[2, 1]"), shape("[3]"), shape("[]")}, out;
  for (unsigned op = 0; op < HIA_OP_LIMIT; op++) {
    const hia_op_info *info = &hiaR_ops[op];
    if (!info->name) continue;
    bool is_lifted = info->shape == HIA_SHAPE_ELEMENTWISE;
    cr_assert(is_lifted || info->rule == HIA_RULE_CONTROL || op >= 128, "%s", info->name);
    hia_fit fit = hiaR_shape_of_op(op, ins, &out, NULL);
    cr_assert_eq(fit, is_lifted ? HIA_FIT_ALWAYS : HIA_FIT_NEVER, "%s", info->name);
    if (!is_lifted) continue;
    cr_assert(out.rank == 2 && out.dims[0] == 2 && out.dims[1] == (info->n_ins > 1 ? 3 : 1));
  }
}

/* ---- ranks ---- */

/* The rank by the rules for shapes, of operands whose sizes are not known. */
static uint32_t rank_by_rule(unsigned op, uint64_t imm, const hia_dims *x, uint32_t n) {
  hia_dims out = {0}, sizes = {.rank = n ? n - 1 : 0};
  hia_fit fit = HIA_FIT_NEVER;
  uint32_t axis = imm == HIA_NONE ? HIA_ALL_AXES : (uint32_t)imm;
  bool has_scalars = true;
  for (uint32_t i = 0; i < sizes.rank; i++) {
    sizes.dims[i] = HIA_DIM_UNKNOWN;
    has_scalars &= x[i + 1].rank == 0;
  }
  switch ((hia_shape_rule)hiaR_ops[op].shape) {
  case HIA_SHAPE_ELEMENTWISE: fit = hiaR_shape_broadcast(x, n, &out, NULL); break;
  case HIA_SHAPE_DIM:
    fit = hiaR_shape_reduce(x, axis, &out, NULL);
    if (axis == HIA_ALL_AXES) fit = HIA_FIT_NEVER;
    out.rank = 0;
    break;
  case HIA_SHAPE_ROW:
    if (x[1].rank == 0) fit = hiaR_shape_index(x, &x[1], &out, NULL);
    break;
  case HIA_SHAPE_ITEM:
    if (x[1].rank == 0) fit = hiaR_shape_index(x, &x[1], &out, NULL);
    out.rank = 0;
    break;
  case HIA_SHAPE_ROWS:
    if (x[1].rank) fit = hiaR_shape_index(x, &x[1], &out, NULL);
    break;
  case HIA_SHAPE_PART:
    if (has_scalars) fit = hiaR_shape_slice(x, HIA_DIM_UNKNOWN, HIA_DIM_UNKNOWN, &out, NULL);
    break;
  case HIA_SHAPE_WITH:
    if (x[1].rank == 0) fit = hiaR_shape_set(x, &x[2], &out, NULL);
    break;
  case HIA_SHAPE_CAT: fit = hiaR_shape_concat(x, n, axis, &out, NULL); break;
  case HIA_SHAPE_STACK: fit = hiaR_shape_stack(x, n, axis, &out, NULL); break;
  case HIA_SHAPE_PACK:
    if (has_scalars && x->rank == sizes.rank) fit = hiaR_shape_stack(x, 1, 0, &out, NULL);
    break;
  case HIA_SHAPE_RESHAPE:
    if (x->rank && has_scalars) fit = hiaR_shape_reshape(x, &sizes, &out, NULL);
    break;
  case HIA_SHAPE_FULL:
    if (x->rank == 0 && has_scalars && sizes.rank) fit = HIA_FIT_ALWAYS;
    out = sizes;
    break;
  case HIA_SHAPE_IOTA:
  case HIA_SHAPE_ONE_HOT:
    if (x->rank == 0 && has_scalars) fit = HIA_FIT_ALWAYS;
    out.rank = 1;
    break;
  case HIA_SHAPE_EXPECT: {
    bool is_set = imm < 1u << x->rank && (uint32_t)__builtin_popcountll(imm) == sizes.rank;
    if (x->rank && has_scalars && is_set) fit = HIA_FIT_ALWAYS;
    out = *x;
    break;
  }
  case HIA_SHAPE_REDUCE:
    if (x->rank) fit = hiaR_shape_reduce(x, axis, &out, NULL);
    break;
  case HIA_SHAPE_PRODUCT: fit = hiaR_shape_product(x, &x[1], &out, NULL); break;
  case HIA_SHAPE_OUTER: fit = hiaR_shape_outer(x, &x[1], &out, NULL); break;
  case HIA_SHAPE_LAST:
    if (x->rank) fit = HIA_FIT_ALWAYS;
    out = *x;
    break;
  case HIA_SHAPE_LABELS: fit = hiaR_shape_labels(x, &x[1], &out, NULL); break;
  case HIA_SHAPE_LABELLED:
    fit = hiaR_shape_labels(x, &x[1], &out, NULL);
    if (x[2].rank != x[1].rank) fit = HIA_FIT_NEVER;
    out = *x;
    break;
  case HIA_SHAPE_TRANSPOSE: fit = hiaR_shape_transpose(x, &out, NULL); break;
  case HIA_SHAPE_COLLECT:
    if (x->rank && x[1].rank == x->rank) fit = HIA_FIT_ALWAYS;
    out = *x;
    break;
  case HIA_SHAPE_TOUCHED:
    if (x->rank && x[1].rank == x->rank) fit = HIA_FIT_ALWAYS;
    out = (hia_dims){.rank = 1};
    break;
  case HIA_SHAPE_COLLECT_ROWS: /* of the rank of the sum, not of the rows */
    if (x->rank && x[1].rank == 1 && x[2].rank == x->rank) fit = HIA_FIT_ALWAYS;
    out = *x;
    break;
  case HIA_SHAPE_ZEROS:
    if (x->rank) fit = HIA_FIT_ALWAYS;
    out = *x;
    break;
  case HIA_SHAPE_FIT: /* x is broadcast to the shape of the first operand */
    fit = hiaR_shape_broadcast(x, 2, &out, NULL);
    if (!x->rank || out.rank != x->rank) fit = HIA_FIT_NEVER;
    out = x[1];
    break;
  case HIA_SHAPE_SCATTER: /* what `rows` gives is added to what it is given */
    if (x[1].rank) fit = hiaR_shape_index(x, &x[1], &out, NULL);
    if (out.rank != x[2].rank) fit = HIA_FIT_NEVER;
    out = *x;
    break;
  case HIA_SHAPE_CUT:
    if (imm < x->rank && has_scalars) fit = HIA_FIT_ALWAYS;
    out = *x;
    break;
  case HIA_SHAPE_PRODUCT_AT:
  case HIA_SHAPE_PRODUCT_BT: /* sizes are not known: a transposed one has the same rank */
    if (x->rank > 1 && x[1].rank > 1) fit = hiaR_shape_product(x, &x[1], &out, NULL);
    break;
  case HIA_SHAPE_PARAM:
  case HIA_SHAPE_WORK:
  case HIA_SHAPE_ALIKE:
  case HIA_SHAPE_TRAP:
  case HIA_SHAPE_NONE: break;
  }
  return fit == HIA_FIT_NEVER ? HIA_NONE : out.rank;
}

Test(shape, ranks_are_those_of_shapes) {
  static const uint32_t some[] = {0, 1, 2, 3, 9, HIA_MAX_RANK};
  static const uint64_t imms[] = {0, 1, 2, 3, 5, HIA_NONE};
  enum { N = HIA_LEN(some) };
  uint32_t n_right = 0;
  for (unsigned op = 0; op < HIA_OP_LIMIT; op++) {
    int8_t n_ins = hiaR_ops[op].name ? hiaR_ops[op].n_ins : 0;
    for (uint32_t n = n_ins < 0 ? 1 : (uint32_t)n_ins; n && n <= (n_ins < 0 ? 4 : (uint32_t)n_ins);
         n++)
      for (uint32_t k = 0; k < N * N * N * N; k++) {
        hia_dims x[4];
        uint32_t ranks[4], digits = k;
        for (uint32_t i = 0; i < 4; i++, digits /= N) {
          x[i] = (hia_dims){.rank = ranks[i] = some[digits % N]};
          for (uint32_t a = 0; a < HIA_MAX_RANK; a++) x[i].dims[a] = HIA_DIM_UNKNOWN;
        }
        if (digits || (n < 4 && ranks[3])) continue;
        for (size_t j = 0; j < HIA_LEN(imms); j++) {
          bool has_imm = hiaR_ops[op].imm != HIA_IMM_NONE;
          uint64_t imm = has_imm ? imms[j] : 0;
          bool may_be_all = hiaR_ops[op].shape == HIA_SHAPE_REDUCE;
          if (imm == HIA_NONE && !may_be_all) continue;
          uint32_t wanted = rank_by_rule(op, imm, x, n);
          cr_assert_eq(hiaR_op_rank(op, imm, n, ranks, ranks[3]), wanted, "%s of %u %u %u %u, %d",
                       hiaR_ops[op].name, ranks[0], ranks[1], ranks[2], ranks[3], (int)imm);
          n_right += wanted != HIA_NONE;
        }
      }
  }
  cr_assert_gt(n_right, 1000);
}

/* ---- what is not known ---- */

/* Puts numbers for the letters and the unknown dims: digit i of `number` for the i-th. */
static void fill(hia_dims *ins, uint32_t n, uint32_t number) {
  static const int64_t sizes[] = {0, 1, 2, 3};
  int64_t of_letter[128];
  memset(of_letter, 0xff, sizeof of_letter);
  for (uint32_t i = 0; i < n; i++)
    for (uint32_t k = 0; k < ins[i].rank; k++) {
      hia_dim *d = &ins[i].dims[k];
      if (*d >= 0) continue;
      int64_t *known = *d == HIA_DIM_UNKNOWN ? NULL : &of_letter[hiaR_dim_name(*d)];
      if (known && *known >= 0) {
        *d = *known;
        continue;
      }
      *d = sizes[number % 4];
      number /= 4;
      if (known) *known = *d;
    }
}

static bool has_twice(const char *a, const char *b, char name) {
  char both[64];
  snprintf(both, sizeof both, "%s%s", a, b);
  return strchr(both, name) != strrchr(both, name);
}

/* A rule says ALWAYS, SOMETIMES or NEVER of sizes that are not known as it is for their values, and
 * what it says of the result is true. */
Test(shape, what_is_not_known_may_be_any_number) {
  static const char *const dims[] = {"1", "2", "3", "n", "m", "?"};
  static const rule rules[] = {BROADCAST, PRODUCT, SET, CONCAT, STACK};
  char a[32], b[32];
  for (uint32_t i = 0; i < HIA_LEN(rules); i++)
    for (uint32_t which = 0; which < 6 * 6 * 6 * 6; which++)
      for (uint32_t ranks = 0; ranks < 9; ranks++) {
        hia_dims ins[2], known[2], out, is;
        const char *d[4] = {dims[which % 6], dims[which / 6 % 6], dims[which / 36 % 6],
                            dims[which / 216]};
        snprintf(a, sizeof a, ranks % 3 == 2 ? "[%s, %s]" : ranks % 3 ? "[%s]" : "[]", d[0], d[1]);
        snprintf(b, sizeof b, ranks / 3 == 2 ? "[%s, %s]" : ranks / 3 ? "[%s]" : "[]", d[2], d[3]);
        ins[0] = shape(a), ins[1] = shape(b);
        hia_fit fit = apply(rules[i], ins, 2, 0, &out, NULL);
        uint32_t n_fit = 0, n_not = 0;
        for (uint32_t number = 0; number < 256; number++) {
          memcpy(known, ins, sizeof ins);
          fill(known, 2, number);
          hia_fit one = apply(rules[i], known, 2, 0, &is, NULL);
          cr_assert_neq(one, HIA_FIT_SOMETIMES, "%s %s", a, b);
          n_fit += one == HIA_FIT_ALWAYS;
          n_not += one == HIA_FIT_NEVER;
          if (one == HIA_FIT_NEVER) continue;
          cr_assert_neq(fit, HIA_FIT_NEVER, "rule %d of %s %s", rules[i], a, b);
          cr_assert_eq(out.rank, is.rank, "rule %d of %s %s", rules[i], a, b);
          for (uint32_t k = 0; k < is.rank; k++)
            cr_assert(out.dims[k] < 0 || out.dims[k] == is.dims[k], "rule %d of %s %s, axis %u",
                      rules[i], a, b, k);
        }
        if (fit == HIA_FIT_ALWAYS) cr_assert_eq(n_not, 0, "rule %d of %s %s", rules[i], a, b);
        /* A name that must be two numbers is not found out before it is one. */
        if (fit == HIA_FIT_SOMETIMES) {
          cr_assert(n_not, "rule %d of %s %s", rules[i], a, b);
          cr_assert(n_fit || has_twice(a, b, 'n') || has_twice(a, b, 'm'), "rule %d of %s %s",
                    rules[i], a, b);
        }
      }
}
