/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* A draft as text of the language: one walk over each function's list, with a `let` for every value
 * that is neither part of an expression (is_inner) nor the value of its block (is_tail).
 *
 * The text has the types that were built, because nothing is left to the typing of literals. A
 * constant has its suffix, unless it stands beside an operand of known type or as the argument of a
 * declared type; `fail`, empty arrays and items with blocks are bound with their types. */
#include "frontend/build/print.h"

#include <inttypes.h>
#include <stdio.h>

/* Deeper blocks are indented no further, so that the text stays linear in the program. */
#define MAX_INDENT 40u
/* Bytes of a line with a data type. */
#define MAX_LINE 90u

/* Binding strengths of expressions, weakest first. */
enum {
  LEVEL_ANY,
  LEVEL_COMPARE,
  LEVEL_SUM,
  LEVEL_PRODUCT,
  LEVEL_MATMUL,
  LEVEL_UNARY,
  LEVEL_POSTFIX
};

/* Layouts of a block: an expression in the line; an item with blocks alone, without braces; braces,
 * with `let`s. */
enum { IN_LINE, BARE, BRACES };

static void new_line(hia_draft_printer *pr) {
  hiaF_draft_put(pr, "\n");
  hiaF_draft_put(pr, pr->line_head);
  for (uint32_t i = 0; i < pr->indent && i < MAX_INDENT; i++) hiaF_draft_put(pr, "  ");
}

static uint32_t in_at(const hia_draft_printer *pr, const hia_draft_item *item, uint32_t i) {
  return pr->d->extra.data[item->ins + i];
}

/* ---- expressions ---- */

typedef struct infix {
  uint8_t level;
  const char *text;
} infix;

static infix infix_of(unsigned op) {
  switch (op) {
  case HIA_OP_ADD: return (infix){LEVEL_SUM, "+"};
  case HIA_OP_SUB: return (infix){LEVEL_SUM, "-"};
  case HIA_OP_MUL: return (infix){LEVEL_PRODUCT, "*"};
  case HIA_OP_DIV: return (infix){LEVEL_PRODUCT, "/"};
  case HIA_OP_REM: return (infix){LEVEL_PRODUCT, "%"};
  case HIA_OP_EQ: return (infix){LEVEL_COMPARE, "=="};
  case HIA_OP_NE: return (infix){LEVEL_COMPARE, "!="};
  case HIA_OP_LT: return (infix){LEVEL_COMPARE, "<"};
  case HIA_OP_LE: return (infix){LEVEL_COMPARE, "<="};
  case HIA_OP_GT: return (infix){LEVEL_COMPARE, ">"};
  case HIA_OP_GE: return (infix){LEVEL_COMPARE, ">="};
  default: return (infix){LEVEL_POSTFIX, NULL};
  }
}

/* The binding strength of what is printed in place of a use. */
static int level_of(const hia_draft_item *item) {
  if (item->kind == HIA_DRAFT_OP && item->is_inner)
    return item->op == HIA_OP_NEG ? LEVEL_UNARY : infix_of(item->op).level;
  if (item->kind == HIA_DRAFT_TENSOR && item->is_inner && item->op == HIA_OP_PRODUCT)
    return LEVEL_MATMUL;
  return LEVEL_POSTFIX;
}

/* `bare`: the place decides the type, so no suffix is needed. Infinities and NaN have no notation:
 * they are printed as divisions. A negative number is put in brackets, since what follows could
 * bind more tightly than its minus sign. */
static void put_const(hia_draft_printer *pr, const hia_draft_item *item, int level, bool bare) {
  char text[48];
  hia_dtype dtype = (hia_dtype)item->type;
  const char *suffix = dtype == HIA_BOOL ? "" : hiaG_dtype_name(dtype);
  hiaR_print_word(text, sizeof text, dtype, item->word);
  const char *digits = text[0] == '-' ? text + 1 : text, *sign = text[0] == '-' ? "-" : "";
  if (digits[0] == 'n')
    hiaR_text_addf(pr->out, "(0.0%s / 0.0%s)", suffix, suffix);
  else if (digits[0] == 'i')
    hiaR_text_addf(pr->out, "(%s1.0%s / 0.0%s)", sign, suffix, suffix);
  else
    hiaR_text_addf(pr->out, *sign && level > LEVEL_ANY ? "(%s%s%s)" : "%s%s%s", sign, digits,
                   bare ? "" : suffix);
}

static void put_ctor(hia_draft_printer *pr, uint32_t ctor) {
  hiaF_draft_put(pr, hiaF_draft_text(pr->d, pr->d->ctors.data[ctor].symbol));
}

static void put_expr(hia_draft_printer *pr, uint32_t index);

/* Prints an operand at the place of its use; in brackets if it binds less tightly than `level`. */
static void put_use(hia_draft_printer *pr, uint32_t index, int level, bool bare) {
  const hia_draft_item *item = hiaF_draft_item_at(pr, index);
  if (item->kind == HIA_DRAFT_CONST) {
    put_const(pr, item, level, bare);
  } else if (item->kind == HIA_DRAFT_WEIGHT) {
    hiaF_draft_put(pr, hiaF_draft_text(pr->d, pr->d->weights.data[item->index].symbol));
  } else if (hiaF_draft_is_constant(item)) {
    put_ctor(pr, item->index);
  } else if (item->is_inner) {
    bool brackets = level_of(item) < level;
    if (brackets) hiaF_draft_put(pr, "(");
    put_expr(pr, index);
    if (brackets) hiaF_draft_put(pr, ")");
  } else {
    hiaF_draft_put_name(pr, index);
  }
}

static void put_uses(hia_draft_printer *pr, const hia_draft_item *item, bool bare) {
  hiaF_draft_put(pr, "(");
  for (uint32_t i = 0; i < item->n_ins; i++) {
    if (i) hiaF_draft_put(pr, ", ");
    put_use(pr, in_at(pr, item, i), LEVEL_ANY, bare);
  }
  hiaF_draft_put(pr, ")");
}

/* Prints an operand at a place that decides no type: a literal settles to i32 there. */
static void put_index(hia_draft_printer *pr, uint32_t index, int level) {
  put_use(pr, index, level, hiaF_draft_item_at(pr, index)->type == HIA_I32);
}

static void put_between(hia_draft_printer *pr, const char *before, const hia_draft_item *item,
                        const char *behind) {
  hiaF_draft_put(pr, before);
  for (uint32_t i = 0; i < item->n_ins; i++) {
    if (i) hiaF_draft_put(pr, ", ");
    put_index(pr, in_at(pr, item, i), LEVEL_ANY);
  }
  hiaF_draft_put(pr, behind);
}

/* Prints a shift, whose two operands do not take their types from each other. */
static void put_shift(hia_draft_printer *pr, const hia_draft_item *item) {
  hiaF_draft_put(pr, "(");
  put_use(pr, in_at(pr, item, 0), LEVEL_ANY, false);
  hiaF_draft_put(pr, ", ");
  put_index(pr, in_at(pr, item, 1), LEVEL_ANY);
  hiaF_draft_put(pr, ")");
}

static void put_op(hia_draft_printer *pr, const hia_draft_item *item) {
  infix op = infix_of(item->op);
  bool has_type = false; /* some operand from which literals take their type */
  for (uint32_t i = item->op == HIA_OP_SELECT; i < item->n_ins; i++)
    has_type |= hiaF_draft_item_at(pr, in_at(pr, item, i))->kind != HIA_DRAFT_CONST;
  if (op.text) {
    put_use(pr, in_at(pr, item, 0), op.level + (op.level == LEVEL_COMPARE), has_type);
    hiaF_draft_put(pr, " ");
    hiaF_draft_put(pr, op.text);
    hiaF_draft_put(pr, " ");
    put_use(pr, in_at(pr, item, 1), op.level + 1, has_type);
  } else if (item->op == HIA_OP_NEG) {
    hiaF_draft_put(pr, "-");
    put_use(pr, in_at(pr, item, 0), LEVEL_POSTFIX, false);
  } else {
    hiaF_draft_put(pr, hiaR_ops[item->op].name);
    if (hiaR_ops[item->op].rule == HIA_RULE_SHIFT)
      put_shift(pr, item);
    else
      put_uses(pr, item, has_type);
  }
}

static void put_axis(hia_draft_printer *pr, const hia_draft_item *item) {
  if (item->index != HIA_NONE) hiaF_draft_put_number(pr, ", axis = ", item->index);
}

/* "[a, b]". A tensor of literals alone would have their types yet to find: they have suffixes. */
static void put_array(hia_draft_printer *pr, const hia_draft_item *item) {
  bool is_tensor = hiaF_draft_is_tensor(pr->d, item->type), has_type = !is_tensor;
  for (uint32_t i = 0; i < item->n_ins && !has_type; i++)
    has_type = hiaF_draft_item_at(pr, in_at(pr, item, i))->kind != HIA_DRAFT_CONST;
  hiaF_draft_put(pr, "[");
  for (uint32_t i = 0; i < item->n_ins; i++) {
    if (i) hiaF_draft_put(pr, ", ");
    put_use(pr, in_at(pr, item, i), LEVEL_ANY, has_type);
  }
  hiaF_draft_put(pr, "]");
}

/* Prints an op on tensors alone. Its first operand decides its type, the others are sizes and
 * labels. */
static void put_tensor(hia_draft_printer *pr, const hia_draft_item *item) {
  if (item->op == HIA_OP_PRODUCT) {
    put_use(pr, in_at(pr, item, 0), LEVEL_MATMUL, false);
    hiaF_draft_put(pr, " @ ");
    put_use(pr, in_at(pr, item, 1), LEVEL_UNARY, false);
    return;
  }
  bool has_one = item->op == HIA_OP_FULL || item->op == HIA_OP_RESHAPE ||
                 item->op == HIA_OP_CROSS_ENTROPY; /* operand before sizes, or a label */
  uint32_t first_size = item->op == HIA_OP_IOTA ? 0 : has_one ? 1 : item->n_ins;
  hiaF_draft_put(pr, hiaF_draft_op_name(item->op));
  hiaF_draft_put(pr, "(");
  for (uint32_t i = 0; i < item->n_ins; i++) {
    if (i) hiaF_draft_put(pr, ", ");
    if (i >= first_size)
      put_index(pr, in_at(pr, item, i), LEVEL_ANY);
    else
      put_use(pr, in_at(pr, item, i), LEVEL_ANY, false);
  }
  if (item->op == HIA_OP_DIM)
    hiaF_draft_put_number(pr, ", ", item->index == HIA_NONE ? 0 : item->index);
  else
    put_axis(pr, item);
  hiaF_draft_put(pr, ")");
}

/* "grad(f, wrt = (x, W))(a, b)". The parameters of f have their names already. */
static void put_grad(hia_draft_printer *pr, const hia_draft_item *item) {
  const hia_draft *d = pr->d;
  const hia_draft_grad *grad = &d->grads.data[item->word];
  hiaR_text_addf(pr->out, "%s(%s, wrt = %s", grad->has_value ? "value_and_grad" : "grad",
                 hiaF_draft_text(d, d->fns.data[item->index].symbol), grad->n > 1 ? "(" : "");
  for (uint32_t i = 0; i < grad->n; i++) {
    const hia_draft_item *wrt = hiaF_draft_item_at(pr, grad->wrt[i]);
    if (i) hiaF_draft_put(pr, ", ");
    if (wrt->kind == HIA_DRAFT_WEIGHT)
      hiaF_draft_put(pr, hiaF_draft_text(d, d->weights.data[wrt->index].symbol));
    else
      hiaF_draft_put_name(pr, grad->wrt[i]);
  }
  hiaF_draft_put(pr, grad->n > 1 ? "))" : ")");
  put_uses(pr, item, true);
}

/* Prints the expression of an item without blocks. Inner items nest to a fixed depth (draft.c). */
static void put_expr(hia_draft_printer *pr, uint32_t index) {
  const hia_draft_item *item = hiaF_draft_item_at(pr, index);
  switch ((hia_draft_kind)item->kind) {
  case HIA_DRAFT_OP: put_op(pr, item); break;
  case HIA_DRAFT_CONVERT:
    hiaF_draft_put(pr, hiaG_dtype_name(hiaF_draft_dtype(pr->d, item->type)));
    put_uses(pr, item, false);
    break;
  case HIA_DRAFT_FAIL:
    hiaF_draft_put(pr, "fail");
    put_uses(pr, item, false);
    break;
  case HIA_DRAFT_CALL:
    hiaF_draft_put(pr, pr->d->symbols.list.data[pr->d->fns.data[item->index].symbol].text);
    put_uses(pr, item, true);
    break;
  case HIA_DRAFT_GRAD: put_grad(pr, item); break;
  case HIA_DRAFT_TUPLE: put_uses(pr, item, false); break;
  case HIA_DRAFT_PART:
    put_use(pr, in_at(pr, item, 0), LEVEL_POSTFIX, false);
    hiaF_draft_put_number(pr, ".", item->index);
    break;
  case HIA_DRAFT_DATA:
    put_ctor(pr, item->index);
    put_uses(pr, item, true);
    break;
  case HIA_DRAFT_ARRAY: put_array(pr, item); break;
  case HIA_DRAFT_TENSOR: put_tensor(pr, item); break;
  case HIA_DRAFT_ONE_HOT: put_between(pr, "one_hot(", item, ")"); break;
  case HIA_DRAFT_EXPECT: put_use(pr, in_at(pr, item, 0), LEVEL_ANY, false); break;
  case HIA_DRAFT_EMPTY: hiaF_draft_put(pr, "[fail(0) for _ in 0..0]"); break;
  case HIA_DRAFT_LEN: put_between(pr, "len(", item, ")"); break;
  case HIA_DRAFT_SET: put_between(pr, "set(", item, ")"); break;
  case HIA_DRAFT_CONCAT:
    put_between(pr, "concat(", item, "");
    put_axis(pr, item);
    hiaF_draft_put(pr, ")");
    break;
  case HIA_DRAFT_AT:
  case HIA_DRAFT_SLICE:
    put_use(pr, in_at(pr, item, 0), LEVEL_POSTFIX, false);
    hiaF_draft_put(pr, "[");
    put_index(pr, in_at(pr, item, 1), LEVEL_ANY);
    if (item->kind == HIA_DRAFT_SLICE) {
      hiaF_draft_put(pr, "..");
      put_index(pr, in_at(pr, item, 2), LEVEL_ANY);
    }
    hiaF_draft_put(pr, "]");
    break;
  default: HIA_BUG(pr->d->comp, "a draft's item of kind %u is no expression", item->kind);
  }
}

/* ---- blocks ---- */

static bool has_blocks(const hia_draft_item *item) {
  return item->kind >= HIA_DRAFT_IF && item->kind <= HIA_DRAFT_FOR;
}

/* The layout of the block that begins at this place of the list. The first item that is not part of
 * another expression decides: if it is the value of the block, there are no `let`s. */
static uint32_t layout_at(const hia_draft_printer *pr, uint32_t at) {
  const hia_u32vec *list = &pr->d->fns.data[pr->fn].list;
  while (at < list->len && hiaF_draft_item_at(pr, list->data[at])->is_inner) at++;
  if (at == list->len) return BRACES;
  const hia_draft_item *item = hiaF_draft_item_at(pr, list->data[at]);
  if (item->kind >= HIA_DRAFT_ELSE) return IN_LINE;
  if (!item->is_tail) return BRACES;
  return has_blocks(item) ? BARE : IN_LINE;
}

static void begin_block(hia_draft_printer *pr, uint32_t layout) {
  hiaR_push(pr->out->arena, &pr->layouts, layout);
  if (layout != BRACES) return;
  hiaF_draft_put(pr, "{");
  pr->indent++;
}

static uint32_t layout(const hia_draft_printer *pr) {
  return pr->layouts.data[pr->layouts.len - 1];
}

static void end_block(hia_draft_printer *pr) {
  bool in_braces = layout(pr) == BRACES;
  pr->layouts.len--;
  if (!in_braces) return;
  pr->indent--;
  new_line(pr);
  hiaF_draft_put(pr, "}");
}

/* The layout of a block that an `else` or a brace follows: braces instead of a bare item. */
static uint32_t closed_at(const hia_draft_printer *pr, uint32_t at) {
  uint32_t found = layout_at(pr, at);
  return found == BARE ? BRACES : found;
}

/* Prints the value of a block. An item with blocks that is its tail has been printed already. */
static void put_value(hia_draft_printer *pr, uint32_t index) {
  const hia_draft_item *item = hiaF_draft_item_at(pr, index);
  if (item->is_tail && has_blocks(item)) return;
  if (layout(pr) == BRACES) new_line(pr);
  if (item->is_tail)
    put_expr(pr, index);
  else
    put_use(pr, index, LEVEL_ANY, true);
}

static void end_binding(hia_draft_printer *pr, const hia_draft_item *item) {
  if (!item->is_tail) hiaF_draft_put(pr, ";");
}

/* "f32[n, ?, 3]", of a tensor of which some sizes are expected. They follow it as operands. */
static void put_expected(hia_draft_printer *pr, const hia_draft_item *item) {
  uint32_t at = 1;
  hiaF_draft_put(pr, hiaG_dtype_name(hiaF_draft_dtype(pr->d, item->type)));
  for (uint32_t i = 0; i < hiaF_draft_rank(pr->d, item->type); i++) {
    hiaF_draft_put(pr, i ? ", " : "[");
    if (item->word >> i & 1)
      put_use(pr, in_at(pr, item, at++), LEVEL_ANY, true);
    else
      hiaF_draft_put(pr, "?");
  }
  hiaF_draft_put(pr, "]");
}

/* Prints "let x = ", or nothing for the value of a block. */
static void begin_binding(hia_draft_printer *pr, uint32_t index, bool with_type) {
  const hia_draft_item *item = hiaF_draft_item_at(pr, index);
  if (layout(pr) == BRACES) new_line(pr);
  if (item->is_tail) return;
  hiaF_draft_put(pr, "let ");
  if (item->uses == 0 && item->symbol == HIA_NONE)
    hiaF_draft_put(pr, "_");
  else
    hiaF_draft_put_name(pr, index);
  if (with_type) {
    hiaF_draft_put(pr, ": ");
    if (item->kind == HIA_DRAFT_EXPECT)
      put_expected(pr, item);
    else
      hiaF_draft_put_type(pr, item->type);
  }
  hiaF_draft_put(pr, " = ");
}

/* Prints a pattern; *bound: the first of the values that it binds, which becomes the one behind
 * them. Patterns nest to a fixed depth. */
static void put_pattern(hia_draft_printer *pr, uint32_t pattern, uint32_t *bound) {
  const hia_draft_pattern *p = &pr->d->patterns.data[pattern];
  char text[48];
  switch ((hia_draft_pattern_kind)p->kind) {
  case HIA_DRAFT_ANY: hiaF_draft_put(pr, "_"); break;
  case HIA_DRAFT_BIND: {
    const hia_draft_item *item = hiaF_draft_item_at(pr, (*bound)++);
    if (item->uses == 0 && item->symbol == HIA_NONE)
      hiaF_draft_put(pr, "_");
    else
      hiaF_draft_put_name(pr, *bound - 1);
    break;
  }
  case HIA_DRAFT_NUMBER:
    hiaR_print_word(text, sizeof text, (hia_dtype)p->type, p->word);
    hiaF_draft_put(pr, text);
    break;
  case HIA_DRAFT_CTOR:
    put_ctor(pr, p->ctor);
    for (uint32_t i = 0; i < p->n; i++) {
      hiaF_draft_put(pr, i ? ", " : "(");
      put_pattern(pr, pr->d->extra.data[p->first + i], bound);
    }
    if (p->n) hiaF_draft_put(pr, ")");
  }
}

/* " for x in xs]". The ends of a range are joined, so a literal takes the type of the other end. */
static void end_for(hia_draft_printer *pr, const hia_draft_item *item) {
  hiaF_draft_put(pr, " for ");
  hiaF_draft_put_name(pr, item->index);
  hiaF_draft_put(pr, " in ");
  for (uint32_t i = 0; i < item->n_ins; i++) {
    uint32_t in = in_at(pr, item, i), other_end = in_at(pr, item, item->n_ins - 1 - i);
    bool has_type = hiaF_draft_item_at(pr, other_end)->kind != HIA_DRAFT_CONST;
    if (i) hiaF_draft_put(pr, "..");
    put_use(pr, in, LEVEL_ANY, has_type || hiaF_draft_item_at(pr, in)->type == HIA_I32);
  }
  hiaF_draft_put(pr, "]");
}

/* True if the type of an expression depends on its place. */
static bool needs_type(const hia_draft_item *item) {
  return item->kind == HIA_DRAFT_FAIL || item->kind == HIA_DRAFT_EMPTY ||
         item->kind == HIA_DRAFT_ONE_HOT || item->kind == HIA_DRAFT_EXPECT;
}

static void put_item(hia_draft_printer *pr, uint32_t at) {
  uint32_t index = pr->d->fns.data[pr->fn].list.data[at];
  const hia_draft_item *item = hiaF_draft_item_at(pr, index);
  if (item->is_inner) return;
  switch ((hia_draft_kind)item->kind) {
  case HIA_DRAFT_IF:
    begin_binding(pr, index, true);
    hiaF_draft_put(pr, "if ");
    put_use(pr, in_at(pr, item, 0), LEVEL_ANY, true);
    hiaF_draft_put(pr, " then ");
    begin_block(pr, closed_at(pr, at + 1));
    break;
  case HIA_DRAFT_ELSE:
    put_value(pr, in_at(pr, item, 0));
    end_block(pr);
    hiaF_draft_put(pr, " else ");
    begin_block(pr, layout_at(pr, at + 1));
    break;
  case HIA_DRAFT_END_IF:
    put_value(pr, in_at(pr, item, 0));
    end_block(pr);
    end_binding(pr, hiaF_draft_item_at(pr, item->index));
    break;
  case HIA_DRAFT_LOOP:
    begin_binding(pr, index, true);
    hiaF_draft_put(pr, "loop (");
    for (uint32_t i = 0; i < item->n_ins; i++) {
      if (i) hiaF_draft_put(pr, ", ");
      hiaF_draft_put_name(pr, item->index + i);
      hiaF_draft_put(pr, ": ");
      hiaF_draft_put_type(pr, hiaF_draft_item_at(pr, item->index + i)->type);
      hiaF_draft_put(pr, " = ");
      put_use(pr, in_at(pr, item, i), LEVEL_ANY, true);
    }
    hiaF_draft_put(pr, ") while ");
    begin_block(pr, closed_at(pr, at + 1));
    break;
  case HIA_DRAFT_WHILE:
    put_value(pr, in_at(pr, item, 0));
    end_block(pr);
    hiaF_draft_put(pr, " ");
    begin_block(pr, BRACES);
    break;
  case HIA_DRAFT_END_LOOP:
    if (item->n_ins == 1) {
      put_value(pr, in_at(pr, item, 0));
    } else {
      new_line(pr);
      put_uses(pr, item, true);
    }
    end_block(pr);
    end_binding(pr, hiaF_draft_item_at(pr, item->index));
    break;
  case HIA_DRAFT_MATCH:
    begin_binding(pr, index, true);
    hiaF_draft_put(pr, "match ");
    put_index(pr, in_at(pr, item, 0), LEVEL_ANY);
    hiaF_draft_put(pr, " {");
    pr->indent++;
    break;
  case HIA_DRAFT_ARM: {
    uint32_t bound = (uint32_t)(item->word >> 32);
    new_line(pr);
    put_pattern(pr, (uint32_t)item->word, &bound);
    hiaF_draft_put(pr, " => ");
    begin_block(pr, layout_at(pr, at + 1));
    break;
  }
  case HIA_DRAFT_END_ARM:
    put_value(pr, in_at(pr, item, 0));
    end_block(pr);
    hiaF_draft_put(pr, ",");
    break;
  case HIA_DRAFT_END_MATCH:
    pr->indent--;
    new_line(pr);
    hiaF_draft_put(pr, "}");
    end_binding(pr, hiaF_draft_item_at(pr, item->index));
    break;
  case HIA_DRAFT_FOR:
    begin_binding(pr, index, true);
    hiaF_draft_put(pr, "[");
    begin_block(pr, layout_at(pr, at + 1));
    break;
  case HIA_DRAFT_END_FOR:
    put_value(pr, in_at(pr, item, 0));
    end_block(pr);
    end_for(pr, hiaF_draft_item_at(pr, item->index));
    end_binding(pr, hiaF_draft_item_at(pr, item->index));
    break;
  case HIA_DRAFT_RETURN:
    put_value(pr, in_at(pr, item, 0));
    end_block(pr);
    break;
  default:
    if (item->is_tail) break; /* put_value prints it */
    begin_binding(pr, index, needs_type(item));
    put_expr(pr, index);
    hiaF_draft_put(pr, ";");
  }
}

/* ---- data types ---- */

/* Fields without a name are f0, f1 and so on, by their place; with `_` where that is another
 * field's name. */
static void put_field_name(hia_draft_printer *pr, const hia_draft_ctor *c, uint32_t k) {
  const hia_draft *d = pr->d;
  hia_symbol_id symbol = d->fields.data[c->fields + k].symbol;
  if (symbol != HIA_NONE) {
    hiaF_draft_put(pr, hiaF_draft_text(d, symbol));
    return;
  }
  char name[16];
  snprintf(name, sizeof name, "f%u", k);
  hiaF_draft_put(pr, name);
  for (uint32_t i = 0; i < c->n; i++) {
    symbol = d->fields.data[c->fields + i].symbol;
    if (symbol == HIA_NONE) continue;
    const char *field_name = hiaF_draft_text(d, symbol);
    size_t len = strlen(name);
    if (strncmp(field_name, name, len) == 0 &&
        field_name[len + strspn(field_name + len, "_")] == '\0')
      hiaF_draft_put(pr, "_");
  }
}

static void put_new_ctor(hia_draft_printer *pr, uint32_t ctor) {
  const hia_draft_ctor *c = &pr->d->ctors.data[ctor];
  put_ctor(pr, ctor);
  for (uint32_t k = 0; k < c->n; k++) {
    hiaF_draft_put(pr, k ? ", " : "(");
    put_field_name(pr, c, k);
    hiaF_draft_put(pr, ": ");
    hiaF_draft_put_sized(pr, pr->d->fields.data[c->fields + k].type,
                         pr->d->fields.data[c->fields + k].dims);
  }
  if (c->n) hiaF_draft_put(pr, ")");
}

/* Prints a data type in one line, unless that is a long one. */
static void put_data(hia_draft_printer *pr, const hia_draft_data *data) {
  const char *name = hiaF_draft_text(pr->d, data->symbol);
  if (data->ctors.len == 0) {
    hiaR_text_addf(pr->out, "# type %s is not defined\n", name);
    return;
  }
  hiaR_text_addf(pr->out, "type %s =", name);
  size_t start = pr->out->len - strlen(name);
  for (uint32_t pass = 0; pass < 2; pass++) {
    size_t len = pr->out->len;
    for (uint32_t i = 0; i < data->ctors.len; i++) {
      if (pass) hiaF_draft_put(pr, "\n ");
      hiaF_draft_put(pr, i ? " | " : pass ? "   " : " ");
      put_new_ctor(pr, data->ctors.data[i]);
      if (pass == 0 && pr->out->len - start > MAX_LINE) break;
    }
    if (pass || pr->out->len - start <= MAX_LINE) break;
    pr->out->len = len;
  }
  hiaF_draft_put(pr, "\n");
}

/* ---- params ---- */

static void put_weight(hia_draft_printer *pr, const hia_draft_weight *w) {
  const hia_param_spec *spec = &w->spec;
  const double numbers[2] = {spec->a, spec->b};
  bool is_full = spec->init == HIA_INIT_FULL;
  uint32_t n = is_full ? 1 : hiaR_init_arity(spec->init);
  hiaR_text_addf(pr->out, "param %s: %s", hiaF_draft_text(pr->d, w->symbol),
                 hiaG_dtype_name(spec->dtype));
  for (uint32_t i = 0; i < spec->shape.rank; i++)
    hiaR_text_addf(pr->out, "%s%" PRId64, i ? ", " : "[", spec->shape.dims[i]);
  hiaF_draft_put(pr, spec->shape.rank ? "] = " : " = ");
  if (!is_full) hiaR_text_addf(pr->out, "%s(", hiaR_init_name(spec->init));
  for (uint32_t i = 0; i < n; i++) {
    char text[48];
    hia_word word =
        spec->dtype == HIA_F32 ? hiaR_from_f32((float)numbers[i]) : hiaR_from_f64(numbers[i]);
    hiaR_print_word(text, sizeof text, spec->dtype, word);
    hiaR_text_addf(pr->out, i ? ", %s" : "%s", text);
  }
  hiaF_draft_put(pr, is_full ? "\n" : ")\n");
}

/* ---- functions ---- */

static void begin_fn(hia_draft_printer *pr, uint32_t fn) {
  pr->fn = fn;
  pr->scope++;
  pr->n_numbered = pr->layouts.len = 0;
}

/* Begins a function whose parameters other functions name: so these have their names first of all,
 * and the same ones each time. */
static void begin_differentiated(hia_draft_printer *pr, uint32_t fn) {
  const hia_draft_function *f = &pr->d->fns.data[fn];
  begin_fn(pr, fn);
  for (uint32_t i = 0; i < f->n_params; i++)
    hiaF_draft_give_name(pr, &pr->d->items.data[f->params + i]);
}

static void put_fn(hia_draft_printer *pr, uint32_t fn) {
  const hia_draft_function *f = &pr->d->fns.data[fn];
  const char *name = pr->d->symbols.list.data[f->symbol].text;
  bool is_done = f->state >= HIA_DRAFT_DONE;
  if (f->is_differentiated)
    begin_differentiated(pr, fn);
  else
    begin_fn(pr, fn);
  pr->line_head = is_done ? "" : "# ";
  hiaF_draft_put(pr, pr->line_head);
  if (f->state == HIA_DRAFT_EXTERN) hiaF_draft_put(pr, f->is_impure ? "extern impure " : "extern ");
  hiaR_text_addf(pr->out, "fn %s(", name);
  for (uint32_t i = 0; i < f->n_params; i++) {
    if (i) hiaF_draft_put(pr, ", ");
    hiaF_draft_put_name(pr, f->params + i);
    hiaF_draft_put(pr, ": ");
    hiaF_draft_put_sized(pr, hiaF_draft_item_at(pr, f->params + i)->type, f->sizes[i]);
  }
  hiaF_draft_put(pr, ") -> ");
  hiaF_draft_put_sized(pr, f->result, f->sizes[f->n_params]);
  if (f->state == HIA_DRAFT_DECLARED) {
    hiaF_draft_put(pr, " is not defined\n");
    return;
  }
  if (f->state == HIA_DRAFT_EXTERN) {
    hiaF_draft_put(pr, "\n");
    return;
  }
  hiaF_draft_put(pr, " =");
  uint32_t found = layout_at(pr, 0);
  pr->indent = found == BARE;
  if (found == BARE)
    new_line(pr);
  else
    hiaF_draft_put(pr, " ");
  begin_block(pr, found);
  for (uint32_t i = 0; i < f->list.len; i++) put_item(pr, i);
  pr->indent = 0;
  if (!is_done) {
    new_line(pr);
    hiaF_draft_put(pr, "is not at its end");
  }
  hiaF_draft_put(pr, "\n");
}

void hiaF_draft_print(hia_draft *d, hia_text *out) {
  hia_draft_printer pr = {.d = d, .out = out};
  for (uint32_t i = 0; i < d->items.len; i++) d->items.data[i].printed = HIA_NONE;
  for (uint32_t i = 0; i < d->fns.len; i++)
    if (d->fns.data[i].is_differentiated) begin_differentiated(&pr, i);
  for (uint32_t i = 0; i < d->datas.len; i++) put_data(&pr, &d->datas.data[i]);
  if (d->datas.len && d->weights.len) hiaF_draft_put(&pr, "\n");
  for (uint32_t i = 0; i < d->weights.len; i++) put_weight(&pr, &d->weights.data[i]);
  for (uint32_t i = 0; i < d->fns.len; i++) {
    if (i || d->datas.len || d->weights.len) hiaF_draft_put(&pr, "\n");
    put_fn(&pr, i);
  }
}
