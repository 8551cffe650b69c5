/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Data types: their limits, types without values, and the graph's types of them.
 *
 * A type has a value if one of its constructors can be made of values. `type T = T(t: T)` has none:
 * a value would contain another one, and so on. An array may be empty, so every array type has a
 * value. The types that have values are a least fixpoint, found in linear time: a constructor
 * counts the fields' data types of which no value is known yet, and each type has the list of the
 * constructors that count it. */
#include "frontend/check/check.h"
#include "frontend/check/constant.h"
#include "frontend/syntax/program.h"

typedef struct use {
  uint32_t con;  /* index into p->decls */
  uint32_t next; /* the next use of the same type, or NONE */
} use;

typedef struct finder {
  hia_program *p;
  uint32_t *n_open; /* how many data types without values the fields of a CON have, with
                       repetitions */
  uint32_t *uses;   /* the first use of a TYPE in `list`, or NONE */
  HIA_VEC(use) list;
  hia_u32vec queue;    /* types with values, whose uses have not been seen */
  hia_u32vec leads_to; /* a data type without values that each value of a data type needs */
} finder;

/* ---- limits ---- */

static void check_limits(hia_program *p, const hia_decl *type) {
  const hia_itypes *it = &p->it;
  if (type->n_cons > HIA_MAX_CTORS)
    hiaF_error(p->diags, HIA_E0316, type->pos, type->end,
               "'%s' has %u constructors, and a type has at most %u",
               hiaF_symbol_text(p, type->symbol), type->n_cons, HIA_MAX_CTORS);
  const hia_decl *cons = type + 1;
  for (uint32_t i = 0; i < type->n_cons; i++) {
    if (cons[i].broken) continue;
    uint32_t words = 0;
    for (uint32_t k = 0; k < cons[i].n_params && words <= HIA_MAX_CTOR_WORDS; k++) {
      hia_itype field = cons[i].param_types[k];
      const hia_ast *n = hiaF_node(p, hiaF_node(p, p->extra.data[cons[i].params + k])->b);
      if (field == HIA_IT_ERROR)
        hiaF_error(p->diags, HIA_E0316, n->start, n->end, "a type of more than %u parts",
                   HIA_MAX_TYPE_PARTS);
      words += hiaF_itype_words(it, field);
    }
    if (words > HIA_MAX_CTOR_WORDS)
      hiaF_error(p->diags, HIA_E0316, cons[i].pos, cons[i].end,
                 "the fields of '%s' have more than %u scalars, data and arrays in them",
                 hiaF_symbol_text(p, cons[i].symbol), HIA_MAX_CTOR_WORDS);
  }
}

/* ---- types without values ---- */

/* Calls `visit` for each data type of which a value of `type` contains one. */
static void each_data(finder *f, uint32_t con, hia_itype type,
                      void visit(finder *f, uint32_t con, hia_itype data)) {
  const hia_itypes *it = &f->p->it;
  if (hiaF_is_data(type)) visit(f, con, type);
  if (!hiaF_is_tuple(type)) return;
  for (uint32_t i = 0; i < hiaF_ituple_len(it, type); i++)
    each_data(f, con, hiaF_ituple_part(it, type, i), visit);
}

static void each_data_of_con(finder *f, uint32_t con,
                             void visit(finder *f, uint32_t con, hia_itype data)) {
  const hia_decl *d = hiaF_decl(f->p, con);
  for (uint32_t i = 0; i < d->n_params; i++) each_data(f, con, d->param_types[i], visit);
}

static void count(finder *f, uint32_t con, hia_itype data) {
  uint32_t type = hiaF_data_decl(&f->p->it, data);
  use u = {con, f->uses[type]};
  f->uses[type] = f->list.len;
  hiaR_push(f->p->arena, &f->list, u);
  f->n_open[con]++;
}

static uint32_t type_of_con(const hia_program *p, uint32_t con) {
  return con - hiaF_decl(p, con)->number - 1;
}

static void has_value(finder *f, uint32_t type) {
  hia_decl *d = hiaF_decl(f->p, type);
  if (!d->is_endless) return;
  d->is_endless = false;
  hiaR_push(f->p->arena, &f->queue, type);
}

/* Notes the first data type without values in the fields of a constructor, whose type has none
 * either. */
static void lead(finder *f, uint32_t con, hia_itype data) {
  uint32_t type = type_of_con(f->p, con), to = hiaF_data_decl(&f->p->it, data);
  if (f->leads_to.data[type] == HIA_NONE && hiaF_decl(f->p, to)->is_endless)
    f->leads_to.data[type] = to;
}

/* Reports the cycle of which `first` is the first type in the source. */
static void report_cycle(finder *f, uint32_t first) {
  hia_program *p = f->p;
  hia_text text;
  hiaR_text_init(&text, p->arena);
  uint32_t n = 0, type = first;
  do {
    if (n < 5)
      hiaR_text_addf(&text, "'%s' needs ", hiaF_symbol_text(p, hiaF_decl(p, type)->symbol));
    if (n++ == 5) hiaR_text_addf(&text, "... needs ");
    type = f->leads_to.data[type];
  } while (type != first);
  const hia_decl *d = hiaF_decl(p, first);
  const char *name = hiaF_symbol_text(p, d->symbol);
  hia_diag *diag =
      hiaF_error(p->diags, HIA_E0320, d->pos, d->end,
                 "the type '%s' has no value that ends: %s'%s'", name, text.data, name);
  const char *next = hiaF_symbol_text(p, hiaF_decl(p, f->leads_to.data[first])->symbol);
  hiaF_hint(p->diags, diag,
            "add a constructor without such a field, or make the field an array: [%s]", next);
}

/* Each type without values leads to one other, so the ways end in cycles. */
static void report_cycles(finder *f) {
  hia_program *p = f->p;
  uint32_t n = p->decls.len;
  uint32_t *seen = HIA_NEW_ARRAY(p->arena, uint32_t, (size_t)n + 1); /* 1 + where the walk began */
  for (uint32_t start = 0; start < n; start++) {
    uint32_t type = start;
    if (!hiaF_decl(p, start)->is_endless) continue;
    while (type != HIA_NONE && seen[type] == 0) {
      seen[type] = start + 1;
      type = f->leads_to.data[type];
    }
    if (type == HIA_NONE || seen[type] != start + 1) continue; /* reported */
    uint32_t first = type;
    for (uint32_t k = f->leads_to.data[type]; k != type; k = f->leads_to.data[k])
      if (k < first) first = k;
    report_cycle(f, first);
  }
}

static void find_endless(hia_program *p) {
  uint32_t n = p->decls.len;
  finder f = {.p = p,
              .n_open = HIA_NEW_ARRAY(p->arena, uint32_t, (size_t)n + 1),
              .uses = HIA_NEW_ARRAY(p->arena, uint32_t, (size_t)n + 1)};
  for (uint32_t i = 0; i < n; i++) {
    hia_decl *d = hiaF_decl(p, i);
    f.uses[i] = HIA_NONE;
    d->is_endless = d->kind == HIA_DECL_TYPE;
    hiaR_push(p->arena, &f.leads_to, HIA_NONE);
  }
  for (uint32_t i = 0; i < n; i++) {
    const hia_decl *d = hiaF_decl(p, i);
    /* Nothing follows from a type with an error. */
    if (d->kind == HIA_DECL_TYPE && (d->broken || d->n_cons == 0)) has_value(&f, i);
    if (d->kind != HIA_DECL_CON) continue;
    if (!d->broken) each_data_of_con(&f, i, count);
    if (f.n_open[i] == 0) has_value(&f, type_of_con(p, i));
  }
  for (uint32_t head = 0; head < f.queue.len; head++)
    for (uint32_t k = f.uses[f.queue.data[head]]; k != HIA_NONE; k = f.list.data[k].next)
      if (--f.n_open[f.list.data[k].con] == 0) has_value(&f, type_of_con(p, f.list.data[k].con));
  for (uint32_t i = 0; i < n; i++) {
    const hia_decl *d = hiaF_decl(p, i);
    if (d->kind == HIA_DECL_CON && hiaF_decl(p, type_of_con(p, i))->is_endless)
      each_data_of_con(&f, i, lead);
  }
  report_cycles(&f);
}

/* ---- the graph's types ---- */

/* Appends what the type of a field declares of sizes (hia_ctor.sizes). True if it declares any. */
static bool add_sizes(hia_program *p, hia_ast_id type, hia_arena *scratch, hia_u32vec *sizes) {
  const hia_ast n = *hiaF_node(p, type);
  bool any = false;
  if (n.kind == HIA_AST_TYPE_ARRAY) return add_sizes(p, n.a, scratch, sizes);
  for (uint32_t i = 0; n.kind == HIA_AST_TYPE_TUPLE && i < n.c; i++)
    any |= add_sizes(p, p->extra.data[n.b + i], scratch, sizes);
  for (uint32_t i = 0; n.kind == HIA_AST_TYPE_TENSOR && i < n.c; i++) {
    hia_ast_id dim = p->extra.data[n.b + i];
    int64_t value;
    bool has_size = hiaF_node(p, dim)->kind != HIA_AST_DIM_ANY;
    if (has_size && (!hiaF_constant_size(p, dim, &value) || value < 0)) {
      const hia_ast *d = hiaF_node(p, dim);
      hiaF_error(p->diags, HIA_E0323, d->start, d->end,
                 "a size of a field is an integer from 0 on");
      has_size = false;
    }
    has_size = has_size && value < HIA_NONE;
    hiaR_push(scratch, sizes, has_size ? (uint32_t)value : HIA_NONE);
    any |= has_size;
  }
  return any;
}

static void define(hia_program *p, const hia_decl *type) {
  hia_arena *scratch = &p->comp->scratch;
  hia_mark mark = hiaR_arena_mark(scratch);
  hia_ctor_def *defs = HIA_NEW_ARRAY(scratch, hia_ctor_def, type->n_cons);
  const hia_decl *cons = type + 1;
  for (uint32_t i = 0; i < type->n_cons; i++) {
    const char **names = HIA_NEW_ARRAY(scratch, const char *, (size_t)cons[i].n_params + 1);
    hia_type *types = HIA_NEW_ARRAY(scratch, hia_type, (size_t)cons[i].n_params + 1);
    for (uint32_t k = 0; k < cons[i].n_params; k++) {
      names[k] = hiaF_symbol_text(p, hiaF_node(p, p->extra.data[cons[i].params + k])->a);
      types[k] = hiaF_itype_type(&p->it, cons[i].param_types[k]);
    }
    defs[i] = (hia_ctor_def){hiaF_symbol_text(p, cons[i].symbol), names, types, cons[i].n_params};
  }
  hia_type data = hiaF_itype_type(&p->it, type->data);
  hiaG_data_define(p->it.types, data, defs, type->n_cons);
  for (uint32_t i = 0; i < type->n_cons; i++) {
    hia_u32vec sizes = {0};
    bool has_sizes = false;
    for (uint32_t k = 0; k < cons[i].n_params; k++)
      has_sizes |=
          add_sizes(p, hiaF_node(p, p->extra.data[cons[i].params + k])->b, scratch, &sizes);
    if (has_sizes) hiaG_data_sizes(p->it.types, data, i, sizes.data, sizes.len);
  }
  hiaR_arena_release(scratch, mark);
}

void hiaF_data(hia_program *p) {
  if (p->it.data.len == 0) return;
  for (uint32_t i = 0; i < p->decls.len; i++)
    if (hiaF_decl(p, i)->kind == HIA_DECL_TYPE && !hiaF_decl(p, i)->broken)
      check_limits(p, hiaF_decl(p, i));
  find_endless(p);
}

void hiaF_define_data(hia_program *p) {
  if (p->it.data.len == 0) return;
  if (p->diags->list.len > 0) return; /* the program makes no graph */
  for (uint32_t i = 0; i < p->decls.len; i++)
    if (hiaF_decl(p, i)->kind == HIA_DECL_TYPE) define(p, hiaF_decl(p, i));
}
