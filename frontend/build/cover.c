/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Checks that the arms of a draft's match cover every case, and that each can be reached, by the
 * check of the language (frontend/check/cover.c). That reads a syntax tree, so the match becomes
 * one, in a program of its own: with the data types that its patterns name, and without
 * expressions. */
#include "frontend/check/cover.h"
#include "frontend/build/build.h"

typedef struct maker {
  hia_draft *d;
  hia_program *p;
  hia_itype *datas; /* the types of the draft's data types; HIA_IT_NONE: not met yet */
  hia_text digits;  /* the numbers in patterns, which are the source */
} maker;

/* Returns the type of a field. The constructors of a data type are added when a pattern names
 * it. */
static hia_itype type_of(maker *m, hia_type type) {
  uint32_t data = hiaF_draft_data_of(m->d, type);
  if (data == HIA_NONE) return hiaG_is_scalar(type) ? type : HIA_IT_ERROR;
  if (m->datas[data] == HIA_IT_NONE)
    m->datas[data] =
        hiaF_idata(&m->p->it, hiaF_draft_text(m->d, m->d->datas.data[data].symbol), HIA_NONE);
  return m->datas[data];
}

static hia_symbol_id symbol_of(maker *m, hia_symbol_id symbol) {
  const hia_symbol *e = &m->d->symbols.list.data[symbol];
  return hiaF_intern(&m->p->symbols, e->text, e->len);
}

static void add_ctor(maker *m, uint32_t ctor, hia_itype type) {
  const hia_draft_ctor *c = &m->d->ctors.data[ctor];
  hia_decl decl = {.kind = HIA_DECL_CON,
                   .symbol = symbol_of(m, c->symbol),
                   .number = c->number,
                   .n_params = c->n,
                   .data = type};
  decl.param_types = HIA_NEW_ARRAY(m->p->arena, hia_itype, (size_t)c->n + 1);
  for (uint32_t i = 0; i < c->n; i++)
    decl.param_types[i] = type_of(m, m->d->fields.data[c->fields + i].type);
  m->p->symbols.list.data[decl.symbol].decl = m->p->decls.len;
  hiaR_push(m->p->arena, &m->p->decls, decl);
}

static void add_ctors(maker *m, uint32_t data) {
  hia_itype type = type_of(m, m->d->datas.data[data].type);
  hia_idata *entry = &m->p->it.data.data[type - HIA_IT_DATA];
  if (entry->decl != HIA_NONE) return;
  entry->decl = m->p->decls.len;
  const hia_u32vec *ctors = &m->d->datas.data[data].ctors;
  hiaR_push(m->p->arena, &m->p->decls,
            (hia_decl){.kind = HIA_DECL_TYPE, .n_cons = ctors->len, .data = type});
  for (uint32_t i = 0; i < ctors->len; i++) add_ctor(m, ctors->data[i], type);
}

static hia_ast number(maker *m, const hia_draft_pattern *p) {
  int64_t x = p->type == HIA_I32 ? hiaR_to_i32(p->word) : hiaR_to_i64(p->word);
  uint64_t magnitude = x < 0 ? 0 - (uint64_t)x : (uint64_t)x;
  hia_ast node = {.kind = HIA_AST_PAT_INT,
                  .op = HIA_NO_SUFFIX,
                  .flags = x < 0 ? HIA_AST_NEGATIVE : 0,
                  .start = (uint32_t)m->digits.len};
  hiaR_text_addf(&m->digits, "%llu", (unsigned long long)magnitude);
  node.end = (uint32_t)m->digits.len;
  return node;
}

/* A pattern that stands in several places becomes several nodes. Patterns nest to a fixed depth. */
static hia_ast_id add_pattern(maker *m, uint32_t pattern, uint32_t pos) {
  const hia_draft_pattern *p = &m->d->patterns.data[pattern];
  hia_arena *arena = m->p->arena;
  hia_ast node = {.kind = HIA_AST_PAT_WILD};
  if (p->kind == HIA_DRAFT_NUMBER && p->type != HIA_BOOL) node = number(m, p);
  if (p->kind == HIA_DRAFT_NUMBER && p->type == HIA_BOOL)
    node = (hia_ast){.kind = HIA_AST_PAT_BOOL, .a = p->word != 0};
  if (p->kind == HIA_DRAFT_CTOR) {
    const hia_draft_ctor *c = &m->d->ctors.data[p->ctor];
    add_ctors(m, c->data);
    hia_mark mark = hiaR_arena_mark(&m->d->comp->scratch);
    uint32_t *parts = HIA_NEW_ARRAY(&m->d->comp->scratch, uint32_t, (size_t)p->n + 1);
    for (uint32_t i = 0; i < p->n; i++)
      parts[i] = add_pattern(m, m->d->extra.data[p->first + i], pos);
    node = (hia_ast){
        .kind = HIA_AST_PAT_CON, .a = symbol_of(m, c->symbol), .b = m->p->extra.len, .c = p->n};
    for (uint32_t i = 0; i < p->n; i++) hiaR_push(arena, &m->p->extra, parts[i]);
    hiaR_arena_release(&m->d->comp->scratch, mark);
  }
  node.pos = pos;
  hiaR_push(arena, &m->p->nodes, node);
  return m->p->nodes.len - 1;
}

/* The position of an arm's pattern is the number of the arm. */
static hia_ast_id add_match(maker *m, const uint32_t *patterns, uint32_t n) {
  hia_arena *arena = m->p->arena;
  hia_u32vec arms = {0};
  for (uint32_t i = 0; i < n; i++) {
    hiaR_push(arena, &arms, add_pattern(m, patterns[i], i + 1));
    hiaR_push(arena, &arms, HIA_NONE); /* no expression */
  }
  hia_ast node = {.kind = HIA_AST_MATCH, .b = m->p->extra.len, .c = arms.len};
  for (uint32_t i = 0; i < arms.len; i++) hiaR_push(arena, &m->p->extra, arms.data[i]);
  hiaR_push(arena, &m->p->nodes, node);
  return m->p->nodes.len - 1;
}

void hiaF_draft_check_cover(hia_draft *d, hia_type subject, const uint32_t *patterns, uint32_t n) {
  hia_arena *arena = &d->comp->arena;
  hia_mark mark = hiaR_arena_mark(arena);
  hia_types types;
  hia_source source = {.name = "", .text = ""};
  hia_diags diags;
  hiaG_types_init(&types, d->comp);
  hiaF_diags_init(&diags, d->comp, &source);
  maker m = {.d = d, .p = hiaF_program_new(d->comp, &types, &source, &diags)};
  hiaR_text_init(&m.digits, arena);
  hiaR_text_add(&m.digits, "", 0);
  m.datas = HIA_NEW_ARRAY(arena, hia_itype, (size_t)d->datas.len + 1);
  for (uint32_t i = 0; i < d->datas.len; i++) m.datas[i] = HIA_IT_NONE;
  uint32_t data = hiaF_draft_data_of(d, subject);
  if (data != HIA_NONE) add_ctors(&m, data);
  hia_ast_id match = add_match(&m, patterns, n);
  source.text = m.digits.data;
  source.len = m.digits.len;
  hia_fault fault = {.message = NULL};
  hia_typing typing = {.p = m.p, .inst = HIA_NONE, .fault = &fault};
  hiaF_cover(&typing, match, type_of(&m, subject));
  if (fault.message != NULL && fault.code == HIA_E0311)
    hiaF_draft_wrong(d, "arm %u cannot be reached: the arms before it take all that it takes (%s)",
                     fault.start, hiaF_error_code(fault.code));
  if (fault.message != NULL)
    hiaF_draft_wrong(d, "%s (%s)", fault.message, hiaF_error_code(fault.code));
  hiaR_arena_release(arena, mark);
}
