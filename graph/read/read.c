/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Reads the text form; docs/ir.md is its reference, print.c its inverse.
 *
 * The text comes from users. The reader checks what the verifier cannot see any more: names and
 * numbers refer to something, each has one definition, braces are balanced. All that concerns the
 * graph is left to the verifier. The first mistake ends the reading. Time and memory are linear in
 * the text: numbers of values and regions index tables only up to the length of the text, and each
 * entry has the number of the function it was made for, so that tables are not cleared per
 * function. Nesting is kept in a stack in memory. */
#include "graph/ir/build.h"
#include "graph/ir/sums.h"
#include "graph/read/reader.h"
#include "graph/verify/verify.h"
#include "runtime/base/loc.h"

static void location_table(hia_reader *r) {
  while (hiaG_scan_accept(r->s, '!')) {
    hia_position where = hiaG_scan_here(r->s);
    if (hiaG_scan_index(r->s) != r->locs.len)
      hiaG_scan_fail(r->s, where, "expected !%u: in order", r->locs.len);
    hiaG_scan_need(r->s, '=');
    hiaG_scan_skip(r->s);
    where = hiaG_scan_here(r->s);
    bool is_operand = hiaG_scan_peek(r->s) >= '0' && hiaG_scan_peek(r->s) <= '9';
    uint32_t number = is_operand ? hiaG_scan_u32(r->s) : 0;
    uint32_t fn_name = HIA_LOC_ELEMENT;
    if (hiaG_scan_accept(r->s, '['))
      hiaG_scan_need(r->s, ']');
    else if (!is_operand)
      fn_name = hiaG_name(r->g, hiaG_scan_name(r->s));
    uint32_t line = hiaG_scan_u32(r->s);
    hiaG_scan_need(r->s, ':');
    uint32_t col = hiaG_scan_u32(r->s);
    if (is_operand) {
      if (number >= HIA_LOC_MAX_OPERANDS)
        hiaG_scan_fail(r->s, where, "a location of operand %u", number);
      hiaG_scan_need(r->s, '+');
      fn_name = hiaR_loc_of_operand(number, hiaG_scan_u32(r->s));
    }
    hia_loc_id parent = HIA_NONE;
    if (hiaG_scan_word(r->s, "in")) {
      hiaG_scan_need(r->s, '!');
      where = hiaG_scan_here(r->s);
      uint32_t n = hiaG_scan_index(r->s);
      if (n >= r->locs.len) hiaG_scan_fail(r->s, where, "!%u is not defined before its use", n);
      parent = r->locs.data[n];
    }
    hiaR_push(r->s->scratch, &r->locs, hiaG_loc(r->g, line, col, fn_name, parent));
  }
}

static hia_fn_id find_fn(hia_reader *r, const char *fn_name) {
  uint32_t hash = hiaR_hash(fn_name, strlen(fn_name)), at = hash, i;
  while ((i = hiaR_index_next(&r->fn_names, hash, &at)) != HIA_NONE)
    if (strcmp(hiaG_fn(r->g, i)->name, fn_name) == 0) return i;
  return HIA_NONE;
}

static void end_of_file(hia_reader *r) {
  for (uint32_t i = 0; i < r->file_fixes.len; i++) {
    const hia_fix *f = &r->file_fixes.data[i];
    hia_fn *fn = f->fn < r->g->fns.len ? hiaG_fn(r->g, f->fn) : NULL; /* NULL: of an extern */
    uint32_t target;
    if (f->kind < FIX_LOC_NODE) {
      const char *callee_name = r->callees.data[f->number];
      target = find_fn(r, callee_name);
      if (target == HIA_NONE)
        hiaG_scan_fail(r->s, f->where, "there is no function %s", callee_name);
      if (f->kind == FIX_SLOW_PATH)
        fn->slow_path = target;
      else if (f->kind == FIX_OWNING)
        fn->owning_of = target;
      else if (f->kind == FIX_OWN_GRADIENT)
        fn->gradient = target;
      else if (f->kind == FIX_OF_EXTERN)
        r->g->externs.data[f->at].gradient = target;
      else if (f->kind == FIX_CALLEE_SITE)
        r->g->sites.data[f->at].callee = target;
      else if (f->kind == FIX_GRADIENT)
        r->g->gradients.data[f->at].fn = target;
      else
        fn->nodes.data[f->at].imm |= target; /* the number of a fork is in the other half */
      continue;
    }
    if (f->number >= r->locs.len)
      hiaG_scan_fail(r->s, f->where, "!%u is not in the table of locations", f->number);
    target = r->locs.data[f->number];
    if (f->kind == FIX_LOC_NODE)
      fn->nodes.data[f->at].loc = target;
    else if (f->kind == FIX_LOC_FN)
      fn->loc = target;
    else
      r->g->sites.data[f->at].loc = target;
  }
  /* How many Call_i and Return_i a site has follows from its callee; the verifier compares. */
  for (uint32_t s = 0; s < r->g->sites.len; s++) {
    hia_site *at = &r->g->sites.data[s];
    const hia_fn *to = hiaG_fn(r->g, at->callee);
    at->n_calls = to->n_params ? to->n_params : 1;
    at->n_returns = to->n_results;
    at->returns = at->calls + at->n_calls;
  }
}

static void extern_line(hia_reader *r) {
  hiaG_scan_skip(r->s);
  hia_position where = hiaG_scan_here(r->s);
  const char *extern_name = hiaG_scan_name(r->s);
  if (hiaG_read_find_extern(r, extern_name) != HIA_NONE)
    hiaG_scan_fail(r->s, where, "extern %s is declared twice", extern_name);
  hia_type result = hiaG_scan_signature(r->s);
  bool is_impure = hiaG_scan_word(r->s, "impure"), raises = hiaG_scan_word(r->s, "raises");
  hiaR_index_add(r->s->scratch, &r->extern_names, hiaR_hash(extern_name, strlen(extern_name)),
                 r->g->externs.len);
  hiaG_extern_new(r->g, extern_name, is_impure, raises, r->s->parts.data, r->s->parts.len, result);
  if (hiaG_scan_word(r->s, "gradient")) hiaG_read_callee(r, FIX_OF_EXTERN, r->g->externs.len - 1);
}

static hia_init initialiser(hia_scanner *s) {
  for (uint32_t i = 0; i < HIA_N_INITS; i++)
    if (hiaG_scan_word(s, hiaR_init_name((hia_init)i))) return (hia_init)i;
  hiaG_scan_skip(s);
  fail(s, "expected an initialiser");
}

/* Reads `param W: f32[3, 4] = uniform(-0.5, 0.5)`; the numbers are written as constants are. */
static void param_line(hia_reader *r) {
  hia_scanner *s = r->s;
  hia_param_spec spec = {0};
  hiaG_scan_skip(s);
  hia_position where = hiaG_scan_here(s);
  spec.name = hiaG_scan_name(s);
  if (hiaG_read_find_param(r, spec.name) != HIA_NONE)
    hiaG_scan_fail(s, where, "param %s is declared twice", spec.name);
  hiaG_scan_need(s, ':');
  spec.dtype = hiaG_scan_word(s, "f64") ? HIA_F64 : HIA_F32;
  if (spec.dtype == HIA_F32) hiaG_scan_need_word(s, "f32");
  if (hiaG_scan_accept(s, '[')) {
    do {
      if (spec.shape.rank == HIA_MAX_RANK) hiaG_scan_fail(s, where, "too many axes");
      spec.shape.dims[spec.shape.rank++] = hiaR_to_i64(hiaG_scan_constant(s, HIA_I64));
    } while (hiaG_scan_accept(s, ','));
    hiaG_scan_need(s, ']');
  }
  hiaG_scan_need(s, '=');
  spec.init = initialiser(s);
  double *operands[] = {&spec.a, &spec.b};
  hiaG_scan_need(s, '(');
  for (uint32_t i = 0; i < hiaR_init_arity(spec.init); i++) {
    if (i) hiaG_scan_need(s, ',');
    *operands[i] = hiaR_to_f64(hiaG_scan_constant(s, HIA_F64));
  }
  hiaG_scan_need(s, ')');
  if (!hiaR_param_is_sound(&spec)) hiaG_scan_fail(s, where, "this is no param of floats");
  hiaG_param_new(r->g, &spec);
}

/* Reads `sized [3, ?]`, which stands behind the fields of a constructor. */
static hia_u32vec read_sizes(hia_reader *r, hia_position where, const hia_ctor_def *ctor) {
  hia_scanner *s = r->s;
  hia_u32vec sizes = {0};
  uint32_t wanted = 0;
  hia_type_table types = hiaG_type_table(s->types);
  if (!hiaG_scan_word(s, "sized")) return sizes;
  hiaG_scan_need(s, '[');
  do {
    uint32_t size = hiaG_scan_accept(s, '?') ? HIA_NONE : hiaG_scan_u32(s);
    hiaR_push(s->scratch, &sizes, size);
  } while (hiaG_scan_accept(s, ','));
  hiaG_scan_need(s, ']');
  for (uint32_t i = 0; i < ctor->n_fields; i++)
    wanted += hiaR_type_sizes(&types, ctor->field_types[i]);
  if (sizes.len != wanted)
    hiaG_scan_fail(s, where, "%s has tensors with %u axes, and %u sizes", ctor->name, wanted,
                   sizes.len);
  return sizes;
}

/* Reads `type List = Nil | Cons(head: i32, tail: List)`. */
static void type_line(hia_reader *r) {
  hia_scanner *s = r->s;
  HIA_VEC(hia_ctor_def) ctors = {0};
  HIA_VEC(hia_u32vec) sizes = {0}; /* by constructor */
  hiaG_scan_skip(s);
  hia_position where = hiaG_scan_here(s);
  hia_type data = hiaG_data(s->types, hiaG_scan_name(s));
  for (uint32_t i = 0; i < r->data.len; i++)
    if (r->data.data[i] == data)
      hiaG_scan_fail(s, where, "type %s is defined twice", hiaG_type_text(s->types, data));
  hiaR_push(s->scratch, &r->data, data);
  hiaG_scan_need(s, '=');
  do {
    hia_ctor_def ctor = {.name = hiaG_scan_name(s)};
    HIA_VEC(const char *) names = {0};
    hia_u32vec types = {0};
    uint32_t n_words = 0;
    if (hiaG_scan_accept(s, '(')) {
      do {
        hiaR_push(s->scratch, &names, hiaG_scan_name(s));
        hiaG_scan_need(s, ':');
        hia_type t = hiaG_scan_type(s);
        hiaR_push(s->scratch, &types, t);
        n_words += hiaG_type_words(s->types, t);
        if (n_words > HIA_MAX_LAYOUT_WORDS)
          hiaG_scan_fail(s, where, "a constructor with more than %u words", HIA_MAX_LAYOUT_WORDS);
      } while (hiaG_scan_accept(s, ','));
      hiaG_scan_need(s, ')');
    }
    ctor.field_names = names.data, ctor.field_types = types.data, ctor.n_fields = types.len;
    hia_u32vec declared = read_sizes(r, where, &ctor);
    hiaR_push(s->scratch, &sizes, declared);
    hiaR_push(s->scratch, &ctors, ctor);
    if (ctors.len > HIA_MAX_CTORS) hiaG_scan_fail(s, where, "too many constructors");
  } while (hiaG_scan_accept(s, '|'));
  bool is_new = !hiaG_data_is_defined(s->types, data), is_same = true;
  if (is_new) hiaG_data_define(s->types, data, ctors.data, ctors.len);
  for (uint32_t i = 0; i < ctors.len && is_new; i++)
    hiaG_data_sizes(s->types, data, i, sizes.data[i].data, sizes.data[i].len);
  is_same = hiaG_data_is(s->types, data, ctors.data, ctors.len);
  for (uint32_t i = 0; i < ctors.len && is_same; i++)
    is_same = hiaG_data_has_sizes(s->types, data, i, sizes.data[i].data, sizes.data[i].len);
  if (hiaG_has_name_of_sum(s->types, data)) is_same &= hiaG_is_sum(s->types, data);
  if (!is_same)
    hiaG_scan_fail(s, where, "type %s is another one already", hiaG_type_text(s->types, data));
}

static void file(hia_reader *r) {
  hiaG_scan_need_word(r->s, "graph");
  if (hiaG_scan_word(r->s, "static"))
    r->g->state = HIA_STATIC;
  else
    hiaG_scan_need_word(r->s, "functions");
  hiaG_scan_skip(r->s);
  if (hiaG_scan_peek(r->s) != '"') fail(r->s, "expected the name of the source file");
  r->g->file = hiaG_scan_string(r->s);
  r->g->is_counted = hiaG_scan_word(r->s, "counted");
  while (hiaG_scan_word(r->s, "type")) type_line(r);
  hiaG_scan_types_end(r->s);
  while (hiaG_scan_word(r->s, "extern")) extern_line(r);
  while (hiaG_scan_word(r->s, "param")) param_line(r);
  while (hiaG_scan_word(r->s, "fn")) hiaG_read_function(r);
  location_table(r);
  hiaG_scan_skip(r->s);
  if (r->s->at < r->s->end) fail(r->s, "expected 'fn' or the end of the text");
  end_of_file(r);
}

static bool is_sound(hia_reader *r) {
  hia_defect defect;
  if (hiaG_find_defect(r->g, &defect)) {
    hia_position where = {0, 0};
    if (defect.fn != HIA_NONE && defect.node != HIA_NONE)
      where = r->node_positions.data[r->first_position.data[defect.fn] + defect.node];
    *r->s->error = (hia_read_error){where.line, where.col, defect.message};
    return false;
  }
  return true;
}

hia_graph *hiaG_read(hia_comp *comp, hia_types *types, const char *text, size_t len,
                     hia_read_error *error) {
  *error = (hia_read_error){0, 0, NULL};
  hia_mark mark = hiaR_arena_mark(&comp->scratch);
  hia_scanner *s = HIA_NEW(&comp->scratch, hia_scanner);
  s->arena = &comp->arena;
  s->scratch = &comp->scratch;
  s->types = types;
  s->text = s->at = s->line_start = text;
  s->end = text + len;
  s->line = 1;
  s->error = error;
  hia_reader *r = HIA_NEW(&comp->scratch, hia_reader);
  r->s = s;
  r->g = hiaG_new(comp, types, "");
  r->g->is_read = true;
  hia_graph *g = NULL;
  if (setjmp(s->stop) == 0) {
    file(r);
    if (is_sound(r)) g = r->g;
  }
  hiaR_arena_release(&comp->scratch, mark);
  return g;
}
