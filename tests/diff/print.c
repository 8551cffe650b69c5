/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Generated programs as source text, and values as the command line writes them. */
#include "tests/diff/program.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct printer {
  gen_program *p;
  gen_fn *fn;
  gen_text *out;
  size_t line_start;
  uint32_t line, indent;
} printer;

/* binding strengths, from weak to strong */
enum { OR, AND, NOT, COMPARE, SUM, PRODUCT, UNARY, POSTFIX };

static void put(printer *pr, const char *text) { gen_text_add(pr->out, "%s", text); }

static void new_line(printer *pr) {
  gen_text_add(pr->out, "\n%*s", (int)(2 * pr->indent), "");
  pr->line++;
  pr->line_start = pr->out->len - 2 * pr->indent;
}

static void mark(printer *pr, gen_expr *e) {
  e->line = pr->line;
  e->col = (uint32_t)(pr->out->len - pr->line_start) + 1;
}

/* ---- types and values ---- */

static const char *const dtype_names[] = {
    "bool", "i32", "i64", "f32", "f64", "X", "int-literal", "float-literal", "unknown", "error"};

void gen_print_type(const gen_program *p, gen_type t, gen_text *out) {
  if (gen_is_data(t)) {
    gen_text_add(out, "%s", gen_data_of(p, t)->name);
    return;
  }
  if (gen_is_array(t)) {
    gen_text_add(out, "[");
    gen_print_type(p, gen_element_of(p, t), out);
    gen_text_add(out, "]");
    return;
  }
  if (!gen_is_tuple(t)) {
    gen_text_add(out, "%s", t <= GEN_ERROR ? dtype_names[t] : "?");
    return;
  }
  for (uint32_t i = 0; i < gen_tuple_of(p, t)->n; i++) {
    gen_text_add(out, "%s", i ? ", " : "(");
    gen_print_type(p, gen_tuple_of(p, t)->parts[i], out);
  }
  gen_text_add(out, ")");
}

/* The fewest digits that read back to the same value, in the format of Python's repr. */
static void print_float(double x, bool is_f32, gen_text *out) {
  char e[40], digits[40];
  int decimal = 0; /* exponent of the first digit */
  if (x != x || isinf(x)) {
    gen_text_add(out, "%s", x != x ? "nan" : x < 0 ? "-inf" : "inf");
    return;
  }
  /* With n digits the nearest decimal is tried first, then its neighbours: at a power of two the
   * gap between floats changes, and a neighbour may read back. */
  bool reads_back = false;
  for (int n = 1; !reads_back; n++) {
    snprintf(e, sizeof e, "%.*e", n - 1, fabs(x));
    char *exponent = strchr(e, 'e');
    int ten = (int)strtol(exponent + 1, NULL, 10) - (n - 1);
    unsigned long long nearest = 0;
    for (const char *c = e; c < exponent; c++)
      if (*c != '.') nearest = nearest * 10 + (unsigned)(*c - '0');
    for (unsigned long long i = 0; i < 3 && !reads_back; i++) {
      unsigned long long mantissa = i == 0 ? nearest : i == 1 ? nearest - 1 : nearest + 1;
      snprintf(e, sizeof e, "%llue%d", mantissa, ten);
      reads_back = is_f32 ? (double)strtof(e, NULL) == fabs(x) : strtod(e, NULL) == fabs(x);
      snprintf(digits, sizeof digits, "%llu", mantissa);
      decimal = ten + (int)strlen(digits) - 1;
    }
  }
  int len = (int)strlen(digits);
  while (len > 1 && digits[len - 1] == '0') digits[--len] = 0;
  if (signbit(x)) gen_text_add(out, "-");
  if (decimal < -4 || decimal >= 16) {
    gen_text_add(out, "%c%s%s", digits[0], len > 1 ? "." : "", digits + 1);
    gen_text_add(out, "e%c%02d", decimal < 0 ? '-' : '+', abs(decimal));
  } else if (decimal < 0) {
    gen_text_add(out, "0.%.*s%s", -decimal - 1, "0000", digits);
  } else {
    for (int i = 0; i <= decimal || i < len; i++)
      gen_text_add(out, "%s%c", i == decimal + 1 ? "." : "", i < len ? digits[i] : '0');
    if (len <= decimal + 1) gen_text_add(out, ".0");
  }
}

void gen_print_scalar(gen_type t, uint64_t w, gen_text *out) {
  float f;
  double d;
  uint32_t low = (uint32_t)w;
  memcpy(&f, &low, sizeof f);
  memcpy(&d, &w, sizeof d);
  switch (t) {
  case GEN_BOOL: gen_text_add(out, "%s", w ? "true" : "false"); return;
  case GEN_F32: print_float((double)f, true, out); return;
  case GEN_F64: print_float(d, false, out); return;
  default: gen_text_add(out, "%lld", (long long)w);
  }
}

static const uint64_t *print_words(const gen_program *p, gen_type t, const uint64_t *w, bool reread,
                                   gen_text *out) {
  if (gen_is_data(t)) { /* the types of its fields are declared */
    const gen_object *o = gen_object_at(*w);
    const gen_con *con = &gen_data_of(p, t)->cons[o->con];
    const uint64_t *field = o->words;
    gen_text_add(out, "%s", con->name);
    for (uint32_t i = 0; i < con->n; i++) {
      gen_text_add(out, "%s", i ? ", " : "(");
      field = print_words(p, con->fields[i], field, false, out);
    }
    if (con->n) gen_text_add(out, ")");
    return w + 1;
  }
  if (gen_is_array(t)) {
    const gen_object *o = gen_object_at(*w);
    const uint64_t *element = o->words;
    gen_text_add(out, "[");
    for (uint64_t i = 0; i < o->n; i++) {
      if (i) gen_text_add(out, ", ");
      element = print_words(p, gen_element_of(p, t), element, reread, out);
    }
    gen_text_add(out, "]");
    return w + 1;
  }
  if (!gen_is_tuple(t)) {
    gen_print_scalar(t, *w, out);
    if (reread && (t == GEN_I64 || t == GEN_F64)) gen_text_add(out, "%s", dtype_names[t]);
    return w + 1;
  }
  for (uint32_t i = 0; i < gen_tuple_of(p, t)->n; i++) {
    gen_text_add(out, "%s", i ? ", " : "(");
    w = print_words(p, gen_tuple_of(p, t)->parts[i], w, reread, out);
  }
  gen_text_add(out, ")");
  return w;
}

void gen_print_value(const gen_program *p, gen_type t, const uint64_t *words, bool reread,
                     gen_text *out) {
  print_words(p, t, words, reread, out);
}

/* ---- expressions ---- */

static void print_expr(printer *pr, gen_expr *e, int level, bool is_closed);

static void print_args(printer *pr, gen_expr *call) {
  put(pr, "(");
  bool is_first = true;
  for (uint32_t i = 0; i < call->n; i++) {
    if (call->as.fn->params[i]->dropped) continue;
    if (!is_first) put(pr, ", ");
    is_first = false;
    print_expr(pr, call->kids[i], OR, true);
  }
  put(pr, ")");
}

static void print_list(printer *pr, gen_expr **kids, uint32_t n) {
  put(pr, "(");
  for (uint32_t i = 0; i < n; i++) {
    if (i) put(pr, ", ");
    print_expr(pr, kids[i], OR, true);
  }
  put(pr, ")");
}

/* An expression of this type, for the branch that is never taken. */
static void print_companion(printer *pr, gen_type t) {
  if (gen_is_tuple(t)) {
    for (uint32_t i = 0; i < gen_tuple_of(pr->p, t)->n; i++) {
      put(pr, i ? ", " : "(");
      print_companion(pr, gen_tuple_of(pr->p, t)->parts[i]);
    }
    put(pr, ")");
  } else if (gen_is_array(t)) {
    put(pr, "[");
    print_companion(pr, gen_element_of(pr->p, t));
    put(pr, "]");
  } else if (gen_is_data(t)) {
    const gen_data *data = gen_data_of(pr->p, t);
    const gen_con *con = &data->cons[data->base];
    put(pr, con->name);
    for (uint32_t i = 0; i < con->n; i++) {
      put(pr, i ? ", " : "(");
      print_companion(pr, con->fields[i]);
    }
    if (con->n) put(pr, ")");
  } else if (t == GEN_X) {
    put(pr, pr->fn->x_param->name);
  } else {
    put(pr, t == GEN_BOOL ? "false" : "0");
    if (t != GEN_BOOL) put(pr, dtype_names[t]);
  }
}

static void print_literal(printer *pr, gen_expr *e, bool with_suffix) {
  gen_text_add(pr->out, "%s%s%s", e->negative ? "-" : "", e->as.digits,
               with_suffix ? dtype_names[e->type] : "");
}

static void print_binder(printer *pr, const gen_binder *b) {
  if (b->n) {
    for (uint32_t i = 0; i < b->n; i++) {
      put(pr, i ? ", " : "(");
      print_binder(pr, &b->parts[i]);
    }
    put(pr, ")");
  } else {
    put(pr, b->var ? b->var->name : "_");
  }
}

static void print_block(printer *pr, gen_expr *e) {
  put(pr, "{");
  pr->indent++;
  for (uint32_t i = 0; i + 1 < e->n; i++) {
    gen_let *let = &e->as.lets[i];
    new_line(pr);
    put(pr, "let ");
    print_binder(pr, &let->binder);
    if (let->annotated) {
      put(pr, ": ");
      gen_print_type(pr->p, let->binder.type, pr->out);
    }
    put(pr, " = ");
    print_expr(pr, e->kids[i], OR, true);
    put(pr, ";");
  }
  new_line(pr);
  print_expr(pr, e->kids[e->n - 1], OR, true);
  pr->indent--;
  new_line(pr);
  put(pr, "}");
}

static void print_pattern(printer *pr, const gen_pattern *pattern) {
  if (pattern->var || pattern->any) {
    put(pr, pattern->var ? pattern->var->name : "_");
  } else if (gen_is_data(pattern->type)) {
    put(pr, gen_data_of(pr->p, pattern->type)->cons[pattern->value].name);
    for (uint32_t i = 0; i < pattern->n; i++) {
      put(pr, i ? ", " : "(");
      print_pattern(pr, &pattern->parts[i]);
    }
    if (pattern->n) put(pr, ")");
  } else if (pattern->type == GEN_BOOL) {
    put(pr, pattern->value ? "true" : "false");
  } else {
    gen_text_add(pr->out, "%lld", (long long)pattern->value);
  }
}

static void print_match(printer *pr, gen_expr *e) {
  put(pr, "match ");
  print_expr(pr, e->kids[0], OR, true);
  put(pr, " {");
  pr->indent++;
  for (uint32_t i = 1; i < e->n; i++) {
    new_line(pr);
    print_pattern(pr, &e->as.arms[i - 1]);
    put(pr, " => ");
    print_expr(pr, e->kids[i], OR, true);
    if (i + 1 < e->n) put(pr, ",");
  }
  pr->indent--;
  new_line(pr);
  put(pr, "}");
}

static void print_loop(printer *pr, gen_expr *e) {
  uint32_t n = e->n - 2;
  mark(pr, e);
  put(pr, "loop (");
  for (uint32_t i = 0; i < n; i++) {
    if (i) put(pr, ", ");
    put(pr, e->as.vars[i]->name);
    if (e->as.vars[i]->annotated) {
      put(pr, ": ");
      gen_print_type(pr->p, e->as.vars[i]->type, pr->out);
    }
    put(pr, " = ");
    print_expr(pr, e->kids[i], OR, true);
  }
  put(pr, ") while ");
  print_expr(pr, e->kids[n], OR, true);
  put(pr, " ");
  if (e->kids[n + 1]->kind == GEN_BLOCK && !e->kids[n + 1]->parens) {
    print_block(pr, e->kids[n + 1]);
  } else {
    put(pr, "{ ");
    print_expr(pr, e->kids[n + 1], OR, true);
    put(pr, " }");
  }
}

static int level_of(const gen_expr *e) {
  switch ((gen_kind)e->kind) {
  case GEN_OR: return OR;
  case GEN_AND: return AND;
  case GEN_NOT: return NOT;
  case GEN_LIT: return e->negative && !e->anchored ? UNARY : POSTFIX;
  case GEN_OP:
    if (gen_ops[e->op].on == GEN_COMPARISON) return COMPARE;
    if (e->op == GEN_NEG) return UNARY;
    return e->op <= GEN_SUB ? SUM : e->op <= GEN_REM ? PRODUCT : POSTFIX;
  default: return POSTFIX;
  }
}

static void print_op(printer *pr, gen_expr *e, int level, bool is_closed) {
  if (gen_is_infix(e->op)) {
    /* Comparisons do not chain, other operators group to the left. */
    print_expr(pr, e->kids[0], level == COMPARE ? SUM : level, false);
    put(pr, " ");
    mark(pr, e);
    gen_text_add(pr->out, "%s ", gen_ops[e->op].text);
    print_expr(pr, e->kids[1], level + 1, is_closed);
  } else {
    mark(pr, e);
    put(pr, gen_ops[e->op].text);
    if (e->op == GEN_NEG)
      print_expr(pr, e->kids[0], UNARY, is_closed);
    else
      print_list(pr, e->kids, e->n);
  }
}

/* Elements in brackets, between `..` or commas. */
static void print_array(printer *pr, gen_expr **kids, uint32_t n, const char *between) {
  put(pr, "[");
  for (uint32_t i = 0; i < n; i++) {
    if (i) put(pr, between);
    print_expr(pr, kids[i], OR, true);
  }
  put(pr, "]");
}

static void print_comprehension(printer *pr, gen_expr *e) {
  mark(pr, e);
  put(pr, "[");
  print_expr(pr, e->kids[e->n - 1], OR, true);
  gen_text_add(pr->out, " for %s in ", e->as.vars[0] ? e->as.vars[0]->name : "_");
  print_expr(pr, e->kids[0], OR, true);
  if (e->n == 3) {
    put(pr, "..");
    print_expr(pr, e->kids[1], OR, true);
  }
  put(pr, "]");
}

/* `level`: an expression that binds less tightly is put in brackets. `is_closed`: the text that
 * follows cannot be parsed as a part of an `if` that ends here. */
static void print_expr(printer *pr, gen_expr *e, int level, bool is_closed) {
  int own = level_of(e);
  bool brackets =
      e->parens || own < level || (e->kind == GEN_IF && (!is_closed || level == POSTFIX));
  if (brackets) {
    put(pr, "(");
    is_closed = true;
  }
  switch ((gen_kind)e->kind) {
  case GEN_LIT:
    if (e->anchored) put(pr, "select(true, ");
    print_literal(pr, e, !e->bare && !e->anchored);
    if (e->anchored) gen_text_add(pr->out, ", %s)", pr->fn->x_param->name);
    break;
  case GEN_TRUTH: put(pr, e->truth ? "true" : "false"); break;
  case GEN_VAR:
    mark(pr, e);
    if (e->tapped)
      gen_text_add(pr->out, "tap_%s(%s)", dtype_names[e->type], e->as.var->name);
    else
      put(pr, e->as.var->name);
    break;
  case GEN_CONST: put(pr, e->as.constant->name); break;
  case GEN_OP: print_op(pr, e, own, is_closed); break;
  case GEN_NOT:
    put(pr, "not ");
    print_expr(pr, e->kids[0], NOT, is_closed);
    break;
  case GEN_AND:
  case GEN_OR:
    print_expr(pr, e->kids[0], own, false);
    put(pr, own == AND ? " and " : " or ");
    print_expr(pr, e->kids[1], own + 1, is_closed);
    break;
  case GEN_SELECT:
    put(pr, "select");
    print_list(pr, e->kids, 3);
    break;
  case GEN_CAST:
    put(pr, dtype_names[e->type]);
    print_list(pr, e->kids, 1);
    break;
  case GEN_CALL:
    mark(pr, e);
    put(pr, e->as.fn->name);
    print_args(pr, e);
    break;
  case GEN_FAIL:
    if (e->anchored) put(pr, "(if true then ");
    mark(pr, e);
    put(pr, "fail");
    print_list(pr, e->kids, 1);
    if (e->anchored) {
      put(pr, " else ");
      print_companion(pr, e->type);
      put(pr, ")");
    }
    break;
  case GEN_IF:
    put(pr, "if ");
    print_expr(pr, e->kids[0], OR, true);
    put(pr, " then ");
    print_expr(pr, e->kids[1], OR, true);
    put(pr, " else ");
    print_expr(pr, e->kids[2], OR, is_closed);
    break;
  case GEN_MATCH: print_match(pr, e); break;
  case GEN_BLOCK: print_block(pr, e); break;
  case GEN_LOOP: print_loop(pr, e); break;
  case GEN_TUPLE: print_list(pr, e->kids, e->n); break;
  case GEN_FIELD:
    print_expr(pr, e->kids[0], POSTFIX, false);
    gen_text_add(pr->out, ".%u", e->field);
    break;
  case GEN_DATA:
    put(pr, gen_data_of(pr->p, e->type)->cons[e->con].name);
    if (e->n) print_list(pr, e->kids, e->n);
    break;
  case GEN_ARRAY: print_array(pr, e->kids, e->n, ", "); break;
  case GEN_INDEX:
  case GEN_SLICE:
    print_expr(pr, e->kids[0], POSTFIX, false);
    mark(pr, e);
    print_array(pr, e->kids + 1, e->n - 1, "..");
    break;
  case GEN_LEN:
  case GEN_SET:
  case GEN_CONCAT:
    mark(pr, e);
    put(pr, e->kind == GEN_LEN ? "len" : e->kind == GEN_SET ? "set" : "concat");
    print_list(pr, e->kids, e->n);
    break;
  case GEN_COMP: print_comprehension(pr, e); break;
  }
  if (brackets) put(pr, ")");
}

static void print_data(printer *pr, const gen_data *data) {
  gen_text_add(pr->out, "type %s = ", data->name);
  for (uint32_t c = 0; c < data->n_cons; c++) {
    const gen_con *con = &data->cons[c];
    gen_text_add(pr->out, "%s%s", c ? " | " : "", con->name);
    for (uint32_t i = 0; i < con->n; i++) {
      gen_text_add(pr->out, "%sx%u: ", i ? ", " : "(", i);
      gen_print_type(pr->p, con->fields[i], pr->out);
    }
    if (con->n) put(pr, ")");
  }
  new_line(pr);
}

void gen_print(gen_program *p, gen_text *out) {
  printer pr = {.p = p, .out = out, .line = 1, .line_start = out->len};
  for (gen_type t = GEN_BOOL; p->has_taps && t < GEN_X; t++) {
    gen_text_add(out, "extern impure fn tap_%s(x: %s) -> %s", dtype_names[t], dtype_names[t],
                 dtype_names[t]);
    new_line(&pr);
  }
  for (uint32_t i = 0; i < p->n_datas; i++)
    if (!p->datas[i].removed) print_data(&pr, &p->datas[i]);
  for (uint32_t i = 0; i < p->n_consts; i++) {
    gen_const *c = &p->consts[i];
    if (c->removed) continue;
    gen_text_add(out, "const %s", c->name);
    if (c->type < GEN_X) gen_text_add(out, ": %s", dtype_names[c->type]);
    put(&pr, " = ");
    print_expr(&pr, c->value, OR, true);
    new_line(&pr);
  }
  for (uint32_t i = 0; i < p->n_fns; i++) {
    gen_fn *fn = p->fns[i];
    if (fn->removed) continue;
    pr.fn = fn;
    gen_text_add(out, "fn %s(", fn->name);
    bool is_first = true;
    for (uint32_t k = 0; k < fn->n_params; k++) {
      if (fn->params[k]->dropped) continue;
      gen_text_add(out, "%s%s", is_first ? "" : ", ", fn->params[k]->name);
      is_first = false;
      if (fn->params[k]->annotated) {
        put(&pr, ": ");
        gen_print_type(p, fn->params[k]->type, out);
      }
    }
    put(&pr, ")");
    if (fn->declared) {
      put(&pr, " -> ");
      gen_print_type(p, fn->result, out);
    }
    put(&pr, " =");
    pr.indent = 1;
    new_line(&pr);
    print_expr(&pr, fn->body, OR, true);
    pr.indent = 0;
    new_line(&pr);
  }
}
