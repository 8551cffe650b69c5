/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* A draft as text of the language: one walk over each function's list, with a `let` for every value
 * that is neither part of an expression (is_inner) nor the value of its block (is_tail).
 *
 * The text has the types that were built, because nothing is left to the typing of literals. A
 * constant has its suffix, unless it stands beside an operand of known type or at the place of a
 * declared type; `if`s, loops and `fail` are bound with their types. */
#include "frontend/build.h"

#include <stdio.h>

/* Deeper blocks are indented no further, so that the text stays linear in the program. */
#define MAX_INDENT 40u

/* Binding strengths of expressions, weakest first. */
enum { LEVEL_ANY, LEVEL_COMPARE, LEVEL_SUM, LEVEL_PRODUCT, LEVEL_UNARY, LEVEL_POSTFIX };

/* Layouts of a block: an expression in the line; an `if` or loop alone, without braces; braces,
 * with `let`s. */
enum { IN_LINE, BARE, BRACES };

/* The use of a symbol in the function `fn`; of no meaning while another function is printed. */
typedef struct name_use {
  uint32_t fn;    /* the function + 1; 0: none yet */
  uint32_t tried; /* the last of x_2, x_3, ... that was tried */
  bool taken;
} name_use;

typedef struct printer {
  hia_draft *d;
  hia_text *out;
  const char *line_head; /* "# " for a function that is not finished: it is printed as comments */
  uint32_t indent;
  uint32_t fn;
  uint32_t n_numbered;       /* the last of v1, v2, ... that was tried */
  HIA_VEC(name_use) symbols; /* by symbol */
  hia_u32vec layouts;        /* those of the open blocks */
} printer;

static void put(printer *pr, const char *text) { hiaR_text_add(pr->out, text, strlen(text)); }

static void put_number(printer *pr, const char *before, uint32_t n) {
  char digits[16], *at = digits + sizeof digits;
  put(pr, before);
  do *--at = (char)('0' + n % 10);
  while (n /= 10);
  hiaR_text_add(pr->out, at, (size_t)(digits + sizeof digits - at));
}

static void new_line(printer *pr) {
  put(pr, "\n");
  put(pr, pr->line_head);
  for (uint32_t i = 0; i < pr->indent && i < MAX_INDENT; i++) put(pr, "  ");
}

static const hia_draft_item *item_at(const printer *pr, uint32_t index) {
  return &pr->d->items.data[index];
}

static uint32_t in_at(const printer *pr, const hia_draft_item *item, uint32_t i) {
  return pr->d->extra.data[item->ins + i];
}

static void put_type(printer *pr, hia_type type) { hiaG_type_print(&pr->d->types, type, pr->out); }

/* ---- names ----
 *
 * The names of a function are distinct, so that scopes do not matter, and differ from those of
 * functions and built-ins, which they would hide. */

static name_use *use_of(printer *pr, hia_symbol_id symbol) {
  while (pr->symbols.len <= symbol)
    hiaR_push(pr->out->arena, &pr->symbols, (name_use){0, 0, false});
  name_use *use = &pr->symbols.data[symbol];
  if (use->fn != pr->fn + 1) *use = (name_use){pr->fn + 1, 1, false};
  return use;
}

static bool take(printer *pr, hia_symbol_id symbol) {
  const hia_symbol *e = &pr->d->symbols.list.data[symbol];
  name_use *use = use_of(pr, symbol);
  if (use->taken || e->decl != HIA_NONE || e->type == HIA_DRAFT_BUILTIN) return false;
  return use->taken = true;
}

/* The next free name of v1, v2, ... */
static uint32_t numbered(printer *pr) {
  for (;;) {
    uint32_t k = ++pr->n_numbered;
    if (!pr->d->has_numbered) return HIA_DRAFT_NUMBERED + k;
    char text[16];
    int len = snprintf(text, sizeof text, "v%u", k);
    if (take(pr, hiaF_intern(&pr->d->symbols, text, (uint32_t)len))) return HIA_DRAFT_NUMBERED + k;
  }
}

static hia_symbol_id distinct(printer *pr, hia_symbol_id wish) {
  if (take(pr, wish)) return wish;
  hia_arena *scratch = &pr->d->comp->scratch;
  hia_mark mark = hiaR_arena_mark(scratch);
  uint32_t len = pr->d->symbols.list.data[wish].len, n = use_of(pr, wish)->tried;
  char *text = hiaR_arena_alloc(scratch, len + 16);
  memcpy(text, pr->d->symbols.list.data[wish].text, len);
  hia_symbol_id symbol;
  do {
    int more = snprintf(text + len, 16, "_%u", ++n);
    symbol = hiaF_intern(&pr->d->symbols, text, len + (uint32_t)more);
  } while (!take(pr, symbol));
  use_of(pr, wish)->tried = n;
  hiaR_arena_release(scratch, mark);
  return symbol;
}

static void put_name(printer *pr, uint32_t index) {
  hia_draft_item *item = &pr->d->items.data[index];
  if (item->printed == HIA_NONE) {
    uint32_t name = item->symbol == HIA_NONE ? numbered(pr) : distinct(pr, item->symbol);
    item->printed = name;
  }
  if (item->printed >= HIA_DRAFT_NUMBERED) {
    put_number(pr, "v", item->printed - HIA_DRAFT_NUMBERED);
  } else {
    const hia_symbol *e = &pr->d->symbols.list.data[item->printed];
    hiaR_text_add(pr->out, e->text, e->len);
  }
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
  return LEVEL_POSTFIX;
}

/* `bare`: the place decides the type, so no suffix is needed. Infinities and NaN have no notation:
 * they are printed as divisions. A negative number is put in brackets, since what follows could
 * bind more tightly than its minus sign. */
static void put_const(printer *pr, const hia_draft_item *item, int level, bool bare) {
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

static void put_expr(printer *pr, uint32_t index);

/* An operand at the place of its use; in brackets if it binds less tightly than `level`. */
static void put_use(printer *pr, uint32_t index, int level, bool bare) {
  const hia_draft_item *item = item_at(pr, index);
  if (item->kind == HIA_DRAFT_CONST) {
    put_const(pr, item, level, bare);
  } else if (item->is_inner) {
    bool brackets = level_of(item) < level;
    if (brackets) put(pr, "(");
    put_expr(pr, index);
    if (brackets) put(pr, ")");
  } else {
    put_name(pr, index);
  }
}

static void put_uses(printer *pr, const hia_draft_item *item, bool bare) {
  put(pr, "(");
  for (uint32_t i = 0; i < item->n_ins; i++) {
    if (i) put(pr, ", ");
    put_use(pr, in_at(pr, item, i), LEVEL_ANY, bare);
  }
  put(pr, ")");
}

/* The two operands of a shift do not take their types from each other. */
static void put_shift(printer *pr, const hia_draft_item *item) {
  bool is_i32 = item_at(pr, in_at(pr, item, 1))->type == HIA_I32; /* to which a literal settles */
  put(pr, "(");
  put_use(pr, in_at(pr, item, 0), LEVEL_ANY, false);
  put(pr, ", ");
  put_use(pr, in_at(pr, item, 1), LEVEL_ANY, is_i32);
  put(pr, ")");
}

static void put_op(printer *pr, const hia_draft_item *item) {
  infix op = infix_of(item->op);
  bool has_type = false; /* some operand from which literals take their type */
  for (uint32_t i = item->op == HIA_OP_SELECT; i < item->n_ins; i++)
    has_type |= item_at(pr, in_at(pr, item, i))->kind != HIA_DRAFT_CONST;
  if (op.text) {
    put_use(pr, in_at(pr, item, 0), op.level + (op.level == LEVEL_COMPARE), has_type);
    put(pr, " ");
    put(pr, op.text);
    put(pr, " ");
    put_use(pr, in_at(pr, item, 1), op.level + 1, has_type);
  } else if (item->op == HIA_OP_NEG) {
    put(pr, "-");
    put_use(pr, in_at(pr, item, 0), LEVEL_POSTFIX, false);
  } else {
    put(pr, hiaR_ops[item->op].name);
    if (hiaR_ops[item->op].rule == HIA_RULE_SHIFT)
      put_shift(pr, item);
    else
      put_uses(pr, item, has_type);
  }
}

/* The expression of an item that is no IF or LOOP. Inner items nest to a fixed depth (build.c). */
static void put_expr(printer *pr, uint32_t index) {
  const hia_draft_item *item = item_at(pr, index);
  switch ((hia_draft_kind)item->kind) {
  case HIA_DRAFT_OP: put_op(pr, item); break;
  case HIA_DRAFT_CONVERT:
    put(pr, hiaG_dtype_name((hia_dtype)item->type));
    put_uses(pr, item, false);
    break;
  case HIA_DRAFT_FAIL:
    put(pr, "fail");
    put_uses(pr, item, false);
    break;
  case HIA_DRAFT_CALL:
    put(pr, pr->d->symbols.list.data[pr->d->fns.data[item->index].symbol].text);
    put_uses(pr, item, true);
    break;
  case HIA_DRAFT_TUPLE: put_uses(pr, item, false); break;
  case HIA_DRAFT_PART:
    put_use(pr, in_at(pr, item, 0), LEVEL_POSTFIX, false);
    put_number(pr, ".", item->index);
    break;
  default: HIA_BUG(pr->d->comp, "a draft's item of kind %u is no expression", item->kind);
  }
}

/* ---- blocks ---- */

/* The layout of the block that begins at this place of the list. The first item that is not part of
 * another expression decides: if it is the value of the block, there are no `let`s. */
static uint32_t layout_at(const printer *pr, uint32_t at) {
  const hia_u32vec *list = &pr->d->fns.data[pr->fn].list;
  while (at < list->len && item_at(pr, list->data[at])->is_inner) at++;
  if (at == list->len) return BRACES;
  const hia_draft_item *item = item_at(pr, list->data[at]);
  if (item->kind >= HIA_DRAFT_ELSE) return IN_LINE;
  if (!item->is_tail) return BRACES;
  return item->kind == HIA_DRAFT_IF || item->kind == HIA_DRAFT_LOOP ? BARE : IN_LINE;
}

static void begin_block(printer *pr, uint32_t layout) {
  hiaR_push(pr->out->arena, &pr->layouts, layout);
  if (layout != BRACES) return;
  put(pr, "{");
  pr->indent++;
}

static uint32_t layout(const printer *pr) { return pr->layouts.data[pr->layouts.len - 1]; }

static void end_block(printer *pr) {
  bool in_braces = layout(pr) == BRACES;
  pr->layouts.len--;
  if (!in_braces) return;
  pr->indent--;
  new_line(pr);
  put(pr, "}");
}

/* The same for a place that an `else` or a brace follows: braces instead of a bare `if` or loop. */
static uint32_t closed_at(const printer *pr, uint32_t at) {
  uint32_t found = layout_at(pr, at);
  return found == BARE ? BRACES : found;
}

/* Prints the value of a block. An IF or LOOP that is its tail has been printed already. */
static void put_value(printer *pr, uint32_t index) {
  const hia_draft_item *item = item_at(pr, index);
  if (item->is_tail && (item->kind == HIA_DRAFT_IF || item->kind == HIA_DRAFT_LOOP)) return;
  if (layout(pr) == BRACES) new_line(pr);
  if (item->is_tail)
    put_expr(pr, index);
  else
    put_use(pr, index, LEVEL_ANY, true);
}

static void end_binding(printer *pr, const hia_draft_item *item) {
  if (!item->is_tail) put(pr, ";");
}

/* Prints "let x = ", or nothing for the value of a block. */
static void begin_binding(printer *pr, uint32_t index, bool with_type) {
  const hia_draft_item *item = item_at(pr, index);
  if (layout(pr) == BRACES) new_line(pr);
  if (item->is_tail) return;
  put(pr, "let ");
  if (item->uses == 0 && item->symbol == HIA_NONE)
    put(pr, "_");
  else
    put_name(pr, index);
  if (with_type) {
    put(pr, ": ");
    put_type(pr, item->type);
  }
  put(pr, " = ");
}

static void put_item(printer *pr, uint32_t at) {
  uint32_t index = pr->d->fns.data[pr->fn].list.data[at];
  const hia_draft_item *item = item_at(pr, index);
  if (item->is_inner) return;
  switch ((hia_draft_kind)item->kind) {
  case HIA_DRAFT_IF:
    begin_binding(pr, index, true);
    put(pr, "if ");
    put_use(pr, in_at(pr, item, 0), LEVEL_ANY, true);
    put(pr, " then ");
    begin_block(pr, closed_at(pr, at + 1));
    break;
  case HIA_DRAFT_ELSE:
    put_value(pr, in_at(pr, item, 0));
    end_block(pr);
    put(pr, " else ");
    begin_block(pr, layout_at(pr, at + 1));
    break;
  case HIA_DRAFT_END_IF:
    put_value(pr, in_at(pr, item, 0));
    end_block(pr);
    end_binding(pr, item_at(pr, item->index));
    break;
  case HIA_DRAFT_LOOP:
    begin_binding(pr, index, true);
    put(pr, "loop (");
    for (uint32_t i = 0; i < item->n_ins; i++) {
      if (i) put(pr, ", ");
      put_name(pr, item->index + i);
      put(pr, ": ");
      put_type(pr, item_at(pr, item->index + i)->type);
      put(pr, " = ");
      put_use(pr, in_at(pr, item, i), LEVEL_ANY, true);
    }
    put(pr, ") while ");
    begin_block(pr, closed_at(pr, at + 1));
    break;
  case HIA_DRAFT_WHILE:
    put_value(pr, in_at(pr, item, 0));
    end_block(pr);
    put(pr, " ");
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
    end_binding(pr, item_at(pr, item->index));
    break;
  case HIA_DRAFT_RETURN:
    put_value(pr, in_at(pr, item, 0));
    end_block(pr);
    break;
  default:
    if (item->is_tail) break; /* put_value prints it */
    begin_binding(pr, index, item->kind == HIA_DRAFT_FAIL);
    put_expr(pr, index);
    put(pr, ";");
  }
}

/* ---- functions ---- */

static void put_fn(printer *pr, uint32_t fn) {
  const hia_draft_function *f = &pr->d->fns.data[fn];
  const char *name = pr->d->symbols.list.data[f->symbol].text;
  bool is_done = f->state >= HIA_DRAFT_DONE;
  pr->fn = fn;
  pr->n_numbered = pr->layouts.len = 0;
  pr->line_head = is_done ? "" : "# ";
  put(pr, pr->line_head);
  if (f->state == HIA_DRAFT_EXTERN) put(pr, f->is_impure ? "extern impure " : "extern ");
  hiaR_text_addf(pr->out, "fn %s(", name);
  for (uint32_t i = 0; i < f->n_params; i++) {
    if (i) put(pr, ", ");
    put_name(pr, f->params + i);
    put(pr, ": ");
    put_type(pr, item_at(pr, f->params + i)->type);
  }
  put(pr, ") -> ");
  put_type(pr, f->result);
  if (f->state == HIA_DRAFT_DECLARED) {
    put(pr, " is not defined\n");
    return;
  }
  if (f->state == HIA_DRAFT_EXTERN) {
    put(pr, "\n");
    return;
  }
  put(pr, " =");
  uint32_t found = layout_at(pr, 0);
  pr->indent = found == BARE;
  if (found == BARE)
    new_line(pr);
  else
    put(pr, " ");
  begin_block(pr, found);
  for (uint32_t i = 0; i < f->list.len; i++) put_item(pr, i);
  pr->indent = 0;
  if (!is_done) {
    new_line(pr);
    put(pr, "is not at its end");
  }
  put(pr, "\n");
}

void hiaF_draft_print(hia_draft *d, hia_text *out) {
  printer pr = {.d = d, .out = out};
  for (uint32_t i = 0; i < d->items.len; i++) d->items.data[i].printed = HIA_NONE;
  for (uint32_t i = 0; i < d->fns.len; i++) {
    if (i) put(&pr, "\n");
    put_fn(&pr, i);
  }
}
