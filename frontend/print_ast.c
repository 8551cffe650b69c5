/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Prints the syntax tree: one node a line, indented by depth, with its position and, in functions
 * that were checked, its type. A generic function is printed once for each of its instances.
 *
 * In DOT a line is a node, with an edge from the last line of a depth less; a dashed edge leads
 * from a name to where the variable is bound. */
#include "frontend/kit/instance.h"
#include "frontend/syntax/ast.h"
#include "frontend/syntax/program.h"
#include "graph/ir/print.h"

static const char *const kind_names[] = {
    [HIA_AST_ERROR] = "error",
    [HIA_AST_INT] = "int",
    [HIA_AST_FLOAT] = "float",
    [HIA_AST_BOOL] = "bool",
    [HIA_AST_NAME] = "name",
    [HIA_AST_TUPLE] = "tuple",
    [HIA_AST_ARRAY] = "array",
    [HIA_AST_COMP] = "comprehension",
    [HIA_AST_IF] = "if",
    [HIA_AST_MATCH] = "match",
    [HIA_AST_LOOP] = "loop",
    [HIA_AST_BLOCK] = "block",
    [HIA_AST_CHAIN] = "chain",
    [HIA_AST_MATMUL] = "matmul",
    [HIA_AST_LOGIC] = "logic",
    [HIA_AST_COMPARE] = "compare",
    [HIA_AST_NOT] = "not",
    [HIA_AST_NEG] = "neg",
    [HIA_AST_CALL] = "call",
    [HIA_AST_CONVERT] = "convert",
    [HIA_AST_NAMED] = "named",
    [HIA_AST_INDEX] = "index",
    [HIA_AST_SLICE] = "slice",
    [HIA_AST_FIELD] = "field",
    [HIA_AST_GRAD] = "gradient",
    [HIA_AST_LET] = "let",
    [HIA_AST_LVAR] = "variable",
    [HIA_AST_PAT_CON] = "pattern",
    [HIA_AST_PAT_NAME] = "pattern",
    [HIA_AST_PAT_WILD] = "pattern",
    [HIA_AST_PAT_INT] = "pattern",
    [HIA_AST_PAT_BOOL] = "pattern",
    [HIA_AST_BIND_NAME] = "binder",
    [HIA_AST_BIND_WILD] = "binder",
    [HIA_AST_BIND_TUPLE] = "binder",
    [HIA_AST_PARAM] = "parameter",
    [HIA_AST_TYPE_ERROR] = "type-error",
    [HIA_AST_TYPE_DTYPE] = "type",
    [HIA_AST_TYPE_TENSOR] = "type-tensor",
    [HIA_AST_TYPE_NAME] = "type",
    [HIA_AST_TYPE_TUPLE] = "type-tuple",
    [HIA_AST_TYPE_ARRAY] = "type-array",
    [HIA_AST_DIM_ANY] = "dim-any",
};

typedef struct printer {
  const hia_program *p;
  const hia_inst *inst; /* or NULL */
  hia_text *out;        /* the current line; in DOT its label */
  /* DOT, else NULL: */
  hia_text *dot;
  uint32_t n_lines;
  hia_u32vec last; /* line by depth */
  uint32_t *bound; /* line of each binder, by node, in the instance printed last */
} printer;

/* ---- lines ---- */

static void begin(printer *pr, uint32_t depth) {
  if (!pr->dot) {
    hiaR_text_addf(pr->out, "%*s", (int)depth * 2, "");
    return;
  }
  pr->out->len = 0;
  pr->last.len = depth;
  hiaR_push(pr->dot->arena, &pr->last, pr->n_lines);
}

static void end(printer *pr, const char *attributes) {
  if (!pr->dot) {
    hiaR_text_add(pr->out, "\n", 1);
    return;
  }
  hiaR_text_addf(pr->dot, "n%u [%s label=\"", pr->n_lines, attributes);
  hiaG_dot_escape(pr->out->data, pr->dot);
  hiaR_text_addf(pr->dot, "\"];\n");
  uint32_t depth = pr->last.len - 1;
  if (depth)
    hiaR_text_addf(pr->dot, "n%u -> n%u;\n", pr->last.data[depth - 1], pr->last.data[depth]);
  pr->n_lines++;
}

static bool has_list(hia_ast_kind kind) {
  switch (kind) {
  case HIA_AST_TUPLE:
  case HIA_AST_ARRAY:
  case HIA_AST_COMP:
  case HIA_AST_MATCH:
  case HIA_AST_LOOP:
  case HIA_AST_BLOCK:
  case HIA_AST_CALL:
  case HIA_AST_CONVERT:
  case HIA_AST_PAT_CON:
  case HIA_AST_BIND_TUPLE:
  case HIA_AST_TYPE_TENSOR:
  case HIA_AST_TYPE_TUPLE: return true;
  default: return false;
  }
}

static bool is_typed(hia_ast_kind kind) {
  return (kind <= HIA_AST_FIELD && kind != HIA_AST_NAMED) || kind == HIA_AST_LVAR ||
         kind == HIA_AST_PAT_CON || kind == HIA_AST_PAT_NAME || kind == HIA_AST_BIND_NAME ||
         kind == HIA_AST_PARAM;
}

static const char *attributes(hia_ast_kind kind) {
  switch (kind) {
  case HIA_AST_INT:
  case HIA_AST_FLOAT:
  case HIA_AST_BOOL:
  case HIA_AST_NAME: return "shape=plaintext";
  default: return kind >= HIA_AST_PAT_CON ? "shape=ellipse" : "shape=box";
  }
}

/* ---- nodes ---- */

static void print_text(printer *pr, uint32_t start, uint32_t end) {
  hiaR_text_add(pr->out, " ", 1);
  hiaR_text_add(pr->out, pr->p->source->text + start, end - start);
}

/* ` grad f wrt x, W`; of one with an error ` grad` */
static void print_gradient(printer *pr, const hia_ast *n) {
  const hia_program *p = pr->p;
  hiaR_text_addf(pr->out, " %s", hiaF_symbol_text(p, hiaF_node(p, n->a)->a));
  if (n->op != HIA_REF_GRAD) return;
  const hia_decl *d = hiaF_decl(p, n->b);
  const hia_ast_grad *grad = &p->grads.data[n->c];
  hiaR_text_addf(pr->out, " %s", hiaF_symbol_text(p, d->symbol));
  for (uint32_t i = 0; i < grad->wrt.len; i++) {
    const hia_wrt *wrt = &grad->wrt.data[i];
    hia_symbol_id symbol = wrt->is_param ? hiaF_decl(p, wrt->i)->symbol
                                         : hiaF_node(p, p->extra.data[d->params + wrt->i])->a;
    hiaR_text_addf(pr->out, "%s %s", i ? "," : " wrt", hiaF_symbol_text(p, symbol));
  }
}

/* Prints what a line has besides kind, position and type. */
static void print_detail(printer *pr, const hia_ast *n) {
  const hia_program *p = pr->p;
  switch ((hia_ast_kind)n->kind) {
  case HIA_AST_INT:
  case HIA_AST_FLOAT:
  case HIA_AST_BOOL:
  case HIA_AST_PAT_BOOL:
  case HIA_AST_PAT_WILD:
  case HIA_AST_BIND_WILD: print_text(pr, n->start, n->end); break;
  case HIA_AST_PAT_INT:
    hiaR_text_addf(pr->out, n->flags & HIA_AST_NEGATIVE ? " -" : " ");
    hiaR_text_add(pr->out, p->source->text + n->start, n->end - n->start);
    break;
  case HIA_AST_NAME:
  case HIA_AST_NAMED:
  case HIA_AST_LVAR:
  case HIA_AST_PAT_CON:
  case HIA_AST_PAT_NAME:
  case HIA_AST_BIND_NAME:
  case HIA_AST_PARAM:
  case HIA_AST_TYPE_NAME:
    if (n->a != HIA_NONE) hiaR_text_addf(pr->out, " %s", hiaF_symbol_text(p, n->a));
    break;
  case HIA_AST_CALL:
    if (hiaF_node(p, n->a)->kind == HIA_AST_GRAD)
      print_gradient(pr, hiaF_node(p, n->a));
    else
      hiaR_text_addf(pr->out, " %s", hiaF_symbol_text(p, hiaF_node(p, n->a)->a));
    break;
  case HIA_AST_LOGIC: hiaR_text_addf(pr->out, n->op ? " or" : " and"); break;
  case HIA_AST_COMPARE: hiaR_text_addf(pr->out, " %s", hiaR_ops[n->op].name); break;
  case HIA_AST_CONVERT:
  case HIA_AST_TYPE_DTYPE:
  case HIA_AST_TYPE_TENSOR:
    hiaR_text_addf(pr->out, " %s", hiaG_dtype_name((hia_dtype)n->op));
    break;
  case HIA_AST_FIELD: hiaR_text_addf(pr->out, " %u", n->b); break;
  default: break;
  }
}

static void print_node(printer *pr, hia_ast_id id, uint32_t depth);

static void print_children(printer *pr, const hia_ast *n, uint32_t depth) {
  const hia_program *p = pr->p;
  switch ((hia_ast_kind)n->kind) {
  case HIA_AST_IF:
  case HIA_AST_SLICE:
    print_node(pr, n->a, depth);
    print_node(pr, n->b, depth);
    print_node(pr, n->c, depth);
    break;
  case HIA_AST_COMPARE:
  case HIA_AST_INDEX:
    print_node(pr, n->a, depth);
    print_node(pr, n->b, depth);
    break;
  case HIA_AST_NOT:
  case HIA_AST_NEG:
  case HIA_AST_FIELD:
  case HIA_AST_TYPE_ARRAY: print_node(pr, n->a, depth); break;
  case HIA_AST_NAMED: print_node(pr, n->b, depth); break;
  case HIA_AST_PARAM: print_node(pr, n->b, depth); break;
  case HIA_AST_LET: print_node(pr, n->a, depth); /* fall through */
  case HIA_AST_LVAR:
    print_node(pr, n->b, depth);
    print_node(pr, n->c, depth);
    break;
  case HIA_AST_CHAIN:
  case HIA_AST_MATMUL:
  case HIA_AST_LOGIC:
    print_node(pr, n->a, depth);
    for (uint32_t i = 0; i < n->c; i += 3) {
      uint32_t op = p->extra.data[n->b + i];
      if (n->kind == HIA_AST_CHAIN) {
        begin(pr, depth);
        hiaR_text_addf(pr->out, "%s", hiaR_ops[op].name);
        end(pr, "shape=plaintext");
      }
      print_node(pr, p->extra.data[n->b + i + 2], depth);
    }
    break;
  default:
    if (n->kind == HIA_AST_MATCH || n->kind == HIA_AST_COMP) print_node(pr, n->a, depth);
    if (has_list((hia_ast_kind)n->kind))
      for (uint32_t i = 0; i < n->c; i++) print_node(pr, p->extra.data[n->b + i], depth);
    if (n->kind == HIA_AST_BLOCK) print_node(pr, n->a, depth);
    if (n->kind == HIA_AST_LOOP) {
      print_node(pr, p->extra.data[n->a], depth);
      print_node(pr, p->extra.data[n->a + 1], depth);
    }
    break;
  }
}

static void print_node(printer *pr, hia_ast_id id, uint32_t depth) {
  if (id == HIA_NONE) return;
  const hia_program *p = pr->p;
  const hia_ast *n = hiaF_node(p, id);
  uint32_t line, col;
  hiaF_position(p, n->pos, &line, &col);
  begin(pr, depth);
  hiaR_text_addf(pr->out, "%s %u:%u", kind_names[n->kind], line, col);
  print_detail(pr, n);
  if (pr->inst != NULL && is_typed((hia_ast_kind)n->kind)) {
    hiaR_text_addf(pr->out, " : ");
    hia_ast_id first = hiaF_decl(p, pr->inst->decl)->first_node;
    hiaF_itype_print(&p->it, pr->inst->types[id - first], pr->out);
  }
  if (pr->dot) pr->bound[id] = pr->n_lines;
  end(pr, attributes((hia_ast_kind)n->kind));
  if (pr->dot && n->kind == HIA_AST_NAME && n->op == HIA_REF_VAR)
    hiaR_text_addf(pr->dot, "n%u -> n%u [style=dashed constraint=false];\n", pr->bound[id],
                   pr->bound[n->b]);
  print_children(pr, n, depth + 1);
}

static void print_decl(printer *pr, const hia_decl *d, const char *name) {
  static const char *const kinds[] = {
      [HIA_DECL_FN] = "fn",       [HIA_DECL_EXTERN] = "extern", [HIA_DECL_TYPE] = "type",
      [HIA_DECL_CON] = "variant", [HIA_DECL_CONST] = "const",   [HIA_DECL_PARAM] = "param",
  };
  const hia_program *p = pr->p;
  uint32_t line, col;
  hiaF_position(p, d->pos, &line, &col);
  uint32_t depth = d->kind == HIA_DECL_CON ? 1 : 0;
  begin(pr, depth++);
  hiaR_text_addf(pr->out, "%s%s %u:%u %s", kinds[d->kind], d->impure ? " impure" : "", line, col,
                 name);
  if (pr->inst != NULL) {
    hiaR_text_addf(pr->out, " : ");
    hiaF_itype_print(&p->it, pr->inst->result, pr->out);
  }
  end(pr, "shape=box style=bold");
  for (uint32_t i = 0; i < d->n_params; i++) print_node(pr, p->extra.data[d->params + i], depth);
  print_node(pr, d->type, depth);
  print_node(pr, d->body, depth);
}

static void print_decls(printer *pr) {
  const hia_program *p = pr->p;
  hia_arena *arena = pr->out->arena;
  hia_u32vec *insts = HIA_NEW_ARRAY(arena, hia_u32vec, p->decls.len + 1);
  for (uint32_t i = 0; i < p->insts.len; i++) {
    const hia_inst *inst = hiaF_inst(p, i);
    if (inst->checked) hiaR_push(arena, &insts[inst->decl], i);
  }
  for (uint32_t i = 0; i < p->decls.len; i++) {
    const hia_decl *d = hiaF_decl(p, i);
    pr->inst = NULL;
    if (insts[i].len == 0) print_decl(pr, d, hiaF_symbol_text(p, d->symbol));
    for (uint32_t k = 0; k < insts[i].len; k++) {
      pr->inst = hiaF_inst(p, insts[i].data[k]);
      print_decl(pr, d, hiaF_inst_name(p, insts[i].data[k], arena));
    }
  }
}

void hiaF_print_ast(const hia_program *p, hia_text *out) {
  printer pr = {.p = p, .out = out};
  print_decls(&pr);
}

void hiaF_dot_ast(const hia_program *p, hia_text *out) {
  hia_text label;
  hiaR_text_init(&label, out->arena);
  printer pr = {.p = p, .out = &label, .dot = out};
  pr.bound = HIA_NEW_ARRAY(out->arena, uint32_t, p->nodes.len + 1);
  hiaR_text_addf(out, "digraph hiaton {\nordering=out;\nnode [fontname=monospace fontsize=10];\n");
  print_decls(&pr);
  hiaR_text_addf(out, "}\n");
}
