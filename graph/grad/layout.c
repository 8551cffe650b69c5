/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Lays out the tape of a version.
 *
 * A region keeps its words in one constructor; many words are cut into several objects
 * (pieces.c). A branch has the constructors of its THEN, then those of its ELSE. Where a body
 * or an arm keeps nothing but what a branch in it has kept, the branch's constructors stand for it:
 * one object for each way through nested branches.
 *
 *     body     fields of the version's type, or (a branch alone) its constructors
 *     branch   a type of its own, unless it is the only thing that is kept around it
 *     loop     End | Round(words..., rest): a list, the last round first
 *     map      the array of its elements has the words behind those of each element
 *     call     the tape that the callee returns
 *     rerun    no type: what f.back reads of it are results of a call (again.c)
 *
 * f.kept makes a piece as soon as its words are computed (kept.c), and f.back reads it before the
 * first node that uses one of them (read_tape.c): so neither has more than a few pieces' words at
 * once. */
#include "graph/grad/keeping.h"
#include "graph/ir/change.h"
#include "graph/ir/walk.h"

/* Ways through nested branches that are constructors of one type; the constructors of both arms are
 * still those of a type. */
#ifdef HIA_STRESS
enum { MOST_WAYS = 4 };
#else
enum { MOST_WAYS = 4096 };
#endif

_Static_assert(2 * MOST_WAYS <= HIA_MAX_CTORS, "the arms of a branch are of one type");

/* Words that are laid out, and what will read them. */
typedef struct laid_words {
  HIA_VEC(hia_type) types;
  hia_u32vec readers;
} laid_words;

/* The constructors of a type that is being laid out. */
typedef struct ctors {
  HIA_VEC(hia_ctor_def) list;
} ctors;

/* Marks the values that f.back uses. */
static void find_used(hia_keeping *k) {
  hia_arena *arena = k->d->arena;
  uint32_t *kept_by = HIA_NEW_ARRAY(arena, uint32_t, k->back->values.len + 1);
  for (uint32_t i = 0; i < k->b->kept.len; i++) kept_by[kept_of(k, i)->stands_for] = i + 1;
  HIA_EACH_NODE(k->back, n)
    for (uint32_t i = 0; i < k->back->nodes.data[n].n_ins; i++) {
      uint32_t number = kept_by[hiaG_in(k->back, n, i)];
      if (number) kept_of(k, number - 1)->is_used = true;
    }
}

hia_u32vec hiaG_keep_words_of(const hia_keeping *k, uint32_t grad_region) {
  hia_u32vec words = {0};
  const hia_grad_region *p = grad_region_of(k, grad_region);
  for (uint32_t i = 0; i < p->kept.len; i++) {
    const hia_grad_kept *entry = kept_of(k, p->kept.data[i]);
    if (entry->kind == HIA_KEPT_RECORD ? k->b->records[entry->node].kept == p->kept.data[i]
                                       : entry->is_used)
      hiaR_push(k->d->arena, &words, p->kept.data[i]);
  }
  return words;
}

/* Returns the number of the word of an element of a comprehension that is this value; NONE: there
 * is none. */
static uint32_t own_word(const hia_keeping *k, hia_node_id map, hia_value_id v) {
  hia_node_id yield = hiaG_yield_of(k->fn, node_of(k, map)->regions);
  for (uint32_t i = 0; i < k->fn->nodes.data[yield].n_ins; i++)
    if (hiaG_in(k->fn, yield, i) == v) return i;
  return HIA_NONE;
}

hia_u32vec hiaG_keep_words_of_each(hia_keeping *k, hia_node_id map, hia_node_id *own_readers) {
  hia_u32vec kept = hiaG_keep_words_of(k, k->b->records[map].grad_regions[0]), more = {0};
  for (uint32_t i = 0; i < kept.len; i++) {
    const hia_grad_kept *entry = kept_of(k, kept.data[i]);
    uint32_t word = entry->kind == HIA_KEPT_VALUE ? own_word(k, map, entry->value) : HIA_NONE;
    if (word == HIA_NONE)
      hiaR_push(k->d->arena, &more, kept.data[i]);
    else if (own_readers)
      own_readers[word] = k->back->values.data[entry->stands_for].node;
  }
  return more;
}

static uint32_t ways_of(const hia_keeping *k, uint32_t grad_region);

/* Returns the branch whose record is the only thing that a region keeps, or NONE. Sets *n_ways to
 * the ways through it. */
static hia_node_id only_branch(const hia_keeping *k, uint32_t grad_region, uint32_t *n_ways) {
  hia_u32vec words = hiaG_keep_words_of(k, grad_region);
  hia_grad_region_kind kind = grad_region_of(k, grad_region)->kind;
  if (words.len != 1 || (kind != HIA_GRAD_BODY && kind != HIA_GRAD_ARM)) return HIA_NONE;
  const hia_grad_kept *entry = kept_of(k, words.data[0]);
  bool is_branch = entry->kind == HIA_KEPT_RECORD && node_of(k, entry->node)->op == HIA_OP_IF;
  if (!is_branch) return HIA_NONE;
  const hia_grad_record *record = &k->b->records[entry->node];
  *n_ways = ways_of(k, record->grad_regions[0]) + ways_of(k, record->grad_regions[1]);
  return entry->node;
}

/* Returns the number of constructors that a body or an arm adds to a type. */
static uint32_t ways_of(const hia_keeping *k, uint32_t grad_region) {
  uint32_t *known = &grad_region_of(k, grad_region)->n_ways, n_ways = 1;
  if (*known) return *known;
  bool is_branch = only_branch(k, grad_region, &n_ways) != HIA_NONE;
  return *known = is_branch && n_ways <= MOST_WAYS ? n_ways : 1;
}

hia_node_id hiaG_keep_sole_branch(const hia_keeping *k, uint32_t grad_region) {
  uint32_t n_ways = 1;
  hia_node_id branch = only_branch(k, grad_region, &n_ways);
  return n_ways <= MOST_WAYS ? branch : HIA_NONE;
}

static void add_ctor(hia_keeping *k, ctors *c, const hia_type *types, uint32_t n,
                     const char *name) {
  hia_arena *arena = k->d->arena;
  const char **names = HIA_NEW_ARRAY(arena, const char *, n + 1);
  for (uint32_t i = 0; i < n; i++) names[i] = hiaR_arena_printf(arena, "x%u", i);
  hia_ctor_def def = {.name = name, .field_names = names, .field_types = types, .n_fields = n};
  hiaR_push(arena, &c->list, def);
}

static hia_type lay_out_word(hia_keeping *k, uint32_t kept);

static void add_word(hia_keeping *k, laid_words *w, hia_type type, hia_node_id reader) {
  hiaR_push(k->d->arena, &w->types, type);
  hiaR_push(k->d->arena, &w->readers, reader);
}

/* Lays out what is in these (indices of hia_grad_kept), and adds a word for each. */
static void lay_out_words(hia_keeping *k, laid_words *w, hia_u32vec kept) {
  for (uint32_t i = 0; i < kept.len; i++) {
    hia_type type = lay_out_word(k, kept.data[i]);
    add_word(k, w, type, k->back->values.data[kept_of(k, kept.data[i])->stands_for].node);
  }
}

/* The words of a region have been laid out: cuts them, if they may be. `call`: see holder. */
static const hia_pieces *hold(hia_keeping *k, uint32_t grad_region, const laid_words *w,
                              hia_node_id call, bool may_cut) {
  const char *name = hiaG_type_text(k->g->types, k->d->versions.data[k->b->version].tape);
  hia_holder h = {.grad_region = grad_region, .readers = w->readers.data, .call = call};
  h.pieces = may_cut ? hiaG_grad_pieces(k->d, w->types.data, w->types.len, name, &k->n_named)
                     : hiaG_grad_uncut(k->d, w->types.data, w->types.len);
  hiaR_push(k->d->arena, &k->holders, h);
  return grad_region_of(k, grad_region)->pieces = h.pieces;
}

static void define(hia_keeping *k, hia_type type, const ctors *c) {
  hiaG_grad_define(k->d, type, c->list.data, c->list.len);
}

static const char *new_ctor_name(hia_keeping *k, uint32_t number) {
  return hiaR_arena_printf(k->d->arena, "Way%u", number);
}

/* Lays out the constructors of a body or an arm, whose tape is a value `tape` of `type`. */
static void lay_out(hia_keeping *k, uint32_t grad_region, hia_type type, hia_value_id tape,
                    ctors *c) {
  hia_node_id branch = hiaG_keep_sole_branch(k, grad_region);
  hia_grad_region *p = grad_region_of(k, grad_region);
  p->tape = tape;
  p->type = type;
  if (branch != HIA_NONE) {
    hia_grad_record *record = &k->b->records[branch];
    record->type = type;
    k->aliases.data[kept_of(k, record->kept)->stands_for] = tape;
    uint32_t before = c->list.len;
    lay_out(k, record->grad_regions[0], type, tape, c);
    k->back->nodes.data[record->n_then].imm = hiaR_from_i32((int32_t)c->list.len);
    lay_out(k, record->grad_regions[1], type, tape, c);
    p->ctor = before;
    return;
  }
  laid_words w = {0};
  lay_out_words(k, &w, hiaG_keep_words_of(k, grad_region));
  const hia_pieces *pieces = hold(k, grad_region, &w, HIA_NONE, true);
  p->ctor = c->list.len;
  add_ctor(k, c, pieces->types + pieces->first, pieces->n, new_ctor_name(k, p->ctor));
}

/* Returns the type of a word, and lays out what is in it. */
static hia_type lay_out_word(hia_keeping *k, uint32_t kept) {
  const hia_grad_kept *entry = kept_of(k, kept);
  if (entry->kind == HIA_KEPT_VALUE) return hiaG_type(k->fn, entry->value);
  hia_grad_record *record = &k->b->records[entry->node];
  ctors c = {0};
  switch (node_of(k, entry->node)->op) {
  case HIA_OP_IF:
    record->type = hiaG_grad_named_type(
        k->d,
        hiaR_arena_printf(k->d->arena, "%s branch %u",
                          hiaG_type_text(k->g->types, k->d->versions.data[k->b->version].tape),
                          entry->node));
    lay_out(k, record->grad_regions[0], record->type, entry->stands_for, &c);
    k->back->nodes.data[record->n_then].imm = hiaR_from_i32((int32_t)c.list.len);
    lay_out(k, record->grad_regions[1], record->type, entry->stands_for, &c);
    define(k, record->type, &c);
    return record->type;
  case HIA_OP_LOOP: {
    laid_words w = {0};
    for (uint32_t i = 0; i < 2; i++) {
      lay_out_words(k, &w, hiaG_keep_words_of(k, record->grad_regions[i]));
      grad_region_of(k, record->grad_regions[i])->ctor = 1;
      grad_region_of(k, record->grad_regions[i])->type = record->type;
    }
    add_word(k, &w, record->type, record->rest);
    const hia_pieces *pieces = hold(k, record->grad_regions[0], &w, HIA_NONE, true);
    add_ctor(k, &c, NULL, 0, "End");
    add_ctor(k, &c, pieces->types + pieces->first, pieces->n, "Round");
    define(k, record->type, &c);
    return record->type;
  }
  case HIA_OP_MAP: {
    /* The elements' own words come first. */
    hia_node_id yield = hiaG_yield_of(k->fn, node_of(k, entry->node)->regions);
    uint32_t n_own = k->fn->nodes.data[yield].n_ins;
    laid_words w = {0};
    for (uint32_t i = 0; i < n_own; i++)
      add_word(k, &w, hiaG_type(k->fn, hiaG_in(k->fn, yield, i)), HIA_NONE);
    hia_u32vec more = hiaG_keep_words_of_each(k, entry->node, w.readers.data);
    lay_out_words(k, &w, more);
    const hia_pieces *pieces = hold(k, record->grad_regions[0], &w, HIA_NONE, more.len != 0);
    const hia_type *types = pieces->types + pieces->first;
    record->type = hiaG_type(k->fn, node_of(k, entry->node)->outs);
    if (more.len)
      record->type = hiaG_array(
          k->g->types, pieces->n == 1 ? *types : hiaG_tuple(k->g->types, types, pieces->n));
    return record->type;
  }
  default: return record->type; /* of a call */
  }
}

/* Lays out the results of the call that computes again what f.back reads of a rerun. */
static void lay_out_rerun(hia_keeping *k, hia_grad_rerun *s) {
  if (s->grad_region == HIA_NONE) return;
  laid_words w = {0};
  lay_out_words(k, &w, hiaG_keep_words_of(k, s->grad_region));
  hia_fn *again = hiaG_fn(k->g, s->again);
  again->is_removed = w.types.len == 0;
  if (again->is_removed) {
    hiaG_remove(k->back, s->call);
    if (s->count != HIA_NONE) hiaG_remove(k->back, s->count);
    return;
  }
  const hia_pieces *pieces = hold(k, s->grad_region, &w, s->call, true);
  again->results = HIA_NEW_ARRAY(&k->g->comp->arena, hia_type, pieces->n);
  again->n_results = pieces->n;
  memcpy(again->results, pieces->types + pieces->first, pieces->n * sizeof *again->results);
  hiaG_set_outs(k->g, k->back, s->call, again->results, pieces->n);
}

void hiaG_keep_lay_out(hia_keeping *k) {
  hia_type tape = k->d->versions.data[k->b->version].tape;
  ctors c = {0};
  no_more_aliases(k);
  find_used(k);
  lay_out(k, 0, tape, 0, &c);
  define(k, tape, &c);
  for (uint32_t i = 0; i < k->b->reruns.len; i++) lay_out_rerun(k, &k->b->reruns.data[i]);
}
