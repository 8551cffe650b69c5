/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Lays out the tape of a version, and builds f.kept: f, which also returns the tape.
 *
 * A place keeps its words in one constructor; many words are cut into several objects
 * (pieces.c). A branch has the constructors of its THEN, then those of its ELSE. Where a body
 * or an arm keeps nothing but what a branch in it has kept, the branch's constructors stand for it:
 * one object for each way through nested branches.
 *
 *     body     fields of the version's type, or (a branch alone) its constructors
 *     branch   a type of its own, unless it is the only thing that is kept around it
 *     loop     End | Round(words..., rest): a list, the last round first
 *     map      the array of its elements has the words behind those of each element
 *     call     the tape that the callee returns
 *     rerun  no type: what f.back reads of it are results of a call (again.c)
 *
 * f.kept makes a piece as soon as its words are computed, and f.back reads it before the first node
 * that uses one of them: so neither has more than a few pieces' words at once. */
#include "graph/grad/shared.h"
#include "graph/ir/build.h"
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

/* An object, an element or the results of a call that has the words of one or two places. */
typedef struct holder {
  uint32_t place; /* the first */
  const hia_pieces *pieces;
  const hia_node_id
      *readers;     /* by word: the UNDEF of f.back that becomes its read; NONE: there is none */
  hia_node_id call; /* a rerun's: its words are results of this; else NONE */
} holder;

/* Words that are laid out, and what will read them. */
typedef struct laid_words {
  HIA_VEC(hia_type) types;
  hia_u32vec readers;
} laid_words;

typedef struct keeping {
  hia_back *b;
  hia_grad *d;
  hia_graph *g;
  const hia_fn *fn;
  hia_fn *back, *kept;
  hia_value_id *map;     /* by value of fn: that of f.kept */
  hia_value_id *records; /* by node of fn: the value of f.kept that has its record */
  hia_u32vec aliases;    /* by value of f.back: the one that is the same, or NONE */
  uint32_t rerun;        /* whose nodes are copied, not to f.kept but to what f.back calls; NONE */
  HIA_VEC(holder) holders;
  uint32_t n_named;       /* pieces that have a type */
  hia_node_id *first_use; /* by value of f.back, once it is needed: the first node that uses it */
  uint32_t *order; /* by node of f.back, likewise: its number in sequential order, from 1 on */
} keeping;

/* The constructors of a type that is being laid out. */
typedef struct ctors {
  HIA_VEC(hia_ctor_def) list;
} ctors;

static hia_grad_kept *kept_of(const keeping *k, uint32_t i) { return &k->b->kept.data[i]; }
static hia_grad_place *place_of(const keeping *k, uint32_t i) { return &k->b->places.data[i]; }
static const hia_node *node_of(const keeping *k, hia_node_id n) { return &k->fn->nodes.data[n]; }

/* ---- layout ---- */

/* Marks the values that f.back uses. */
static void find_used(keeping *k) {
  hia_arena *arena = k->d->arena;
  uint32_t *kept_by = HIA_NEW_ARRAY(arena, uint32_t, k->back->values.len + 1);
  for (uint32_t i = 0; i < k->b->kept.len; i++) kept_by[kept_of(k, i)->stands_for] = i + 1;
  HIA_EACH_NODE(k->back, n)
    for (uint32_t i = 0; i < k->back->nodes.data[n].n_ins; i++) {
      uint32_t number = kept_by[hiaG_in(k->back, n, i)];
      if (number) kept_of(k, number - 1)->is_used = true;
    }
}

/* Returns the words that a place keeps, in order. */
static hia_u32vec words_of(const keeping *k, uint32_t place) {
  hia_u32vec words = {0};
  const hia_grad_place *p = place_of(k, place);
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
static uint32_t own_word(const keeping *k, hia_node_id map, hia_value_id v) {
  hia_node_id yield = hiaG_yield_of(k->fn, node_of(k, map)->regions);
  for (uint32_t i = 0; i < k->fn->nodes.data[yield].n_ins; i++)
    if (hiaG_in(k->fn, yield, i) == v) return i;
  return HIA_NONE;
}

/* Returns the words that a comprehension keeps besides those of its elements. Notes in
 * `own_readers`, unless that is NULL, what reads the latter. */
static hia_u32vec words_of_each(keeping *k, hia_node_id map, hia_node_id *own_readers) {
  hia_u32vec kept = words_of(k, k->b->records[map].places[0]), more = {0};
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

static uint32_t ways_of(const keeping *k, uint32_t place);

/* Returns the branch whose record is the only thing that a place keeps, or NONE. Sets *n_ways to
 * the ways through it. */
static hia_node_id only_branch(const keeping *k, uint32_t place, uint32_t *n_ways) {
  hia_u32vec words = words_of(k, place);
  hia_place_kind kind = place_of(k, place)->kind;
  if (words.len != 1 || (kind != HIA_PLACE_BODY && kind != HIA_PLACE_ARM)) return HIA_NONE;
  const hia_grad_kept *entry = kept_of(k, words.data[0]);
  bool is_branch = entry->kind == HIA_KEPT_RECORD && node_of(k, entry->node)->op == HIA_OP_IF;
  if (!is_branch) return HIA_NONE;
  const hia_grad_record *record = &k->b->records[entry->node];
  *n_ways = ways_of(k, record->places[0]) + ways_of(k, record->places[1]);
  return entry->node;
}

/* Returns the number of constructors that a body or an arm adds to a type. */
static uint32_t ways_of(const keeping *k, uint32_t place) {
  uint32_t *known = &place_of(k, place)->n_ways, n_ways = 1;
  if (*known) return *known;
  bool is_branch = only_branch(k, place, &n_ways) != HIA_NONE;
  return *known = is_branch && n_ways <= MOST_WAYS ? n_ways : 1;
}

/* Returns the branch whose constructors stand for a place, or NONE. */
static hia_node_id sole_branch(const keeping *k, uint32_t place) {
  uint32_t n_ways = 1;
  hia_node_id branch = only_branch(k, place, &n_ways);
  return n_ways <= MOST_WAYS ? branch : HIA_NONE;
}

static void add_ctor(keeping *k, ctors *c, const hia_type *types, uint32_t n, const char *name) {
  hia_arena *arena = k->d->arena;
  const char **names = HIA_NEW_ARRAY(arena, const char *, n + 1);
  for (uint32_t i = 0; i < n; i++) names[i] = hiaR_arena_printf(arena, "x%u", i);
  hia_ctor_def def = {.name = name, .field_names = names, .field_types = types, .n_fields = n};
  hiaR_push(arena, &c->list, def);
}

static hia_type lay_out_word(keeping *k, uint32_t kept);

static void add_word(keeping *k, laid_words *w, hia_type type, hia_node_id reader) {
  hiaR_push(k->d->arena, &w->types, type);
  hiaR_push(k->d->arena, &w->readers, reader);
}

/* Lays out what is in these (indices of hia_grad_kept), and adds a word for each. */
static void lay_out_words(keeping *k, laid_words *w, hia_u32vec kept) {
  for (uint32_t i = 0; i < kept.len; i++) {
    hia_type type = lay_out_word(k, kept.data[i]);
    add_word(k, w, type, k->back->values.data[kept_of(k, kept.data[i])->stands_for].node);
  }
}

/* The words of a place have been laid out: cuts them, if they may be. `call`: see holder. */
static const hia_pieces *hold(keeping *k, uint32_t place, const laid_words *w, hia_node_id call,
                              bool may_cut) {
  const char *name = hiaG_type_text(k->g->types, k->d->versions.data[k->b->version].tape);
  holder h = {.place = place, .readers = w->readers.data, .call = call};
  h.pieces = may_cut ? hiaG_grad_pieces(k->d, w->types.data, w->types.len, name, &k->n_named)
                     : hiaG_grad_uncut(k->d, w->types.data, w->types.len);
  hiaR_push(k->d->arena, &k->holders, h);
  return place_of(k, place)->pieces = h.pieces;
}

static void define(keeping *k, hia_type type, const ctors *c) {
  hiaG_grad_define(k->d, type, c->list.data, c->list.len);
}

static const char *new_ctor_name(keeping *k, uint32_t number) {
  return hiaR_arena_printf(k->d->arena, "Way%u", number);
}

/* Lays out the constructors of a body or an arm, whose tape is a value `tape` of `type`. */
static void lay_out(keeping *k, uint32_t place, hia_type type, hia_value_id tape, ctors *c) {
  hia_node_id branch = sole_branch(k, place);
  hia_grad_place *p = place_of(k, place);
  p->tape = tape;
  p->type = type;
  if (branch != HIA_NONE) {
    hia_grad_record *record = &k->b->records[branch];
    record->type = type;
    k->aliases.data[kept_of(k, record->kept)->stands_for] = tape;
    uint32_t before = c->list.len;
    lay_out(k, record->places[0], type, tape, c);
    k->back->nodes.data[record->n_then].imm = hiaR_from_i32((int32_t)c->list.len);
    lay_out(k, record->places[1], type, tape, c);
    p->ctor = before;
    return;
  }
  laid_words w = {0};
  lay_out_words(k, &w, words_of(k, place));
  const hia_pieces *pieces = hold(k, place, &w, HIA_NONE, true);
  p->ctor = c->list.len;
  add_ctor(k, c, pieces->types + pieces->first, pieces->n, new_ctor_name(k, p->ctor));
}

/* Returns the type of a word, and lays out what is in it. */
static hia_type lay_out_word(keeping *k, uint32_t kept) {
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
    lay_out(k, record->places[0], record->type, entry->stands_for, &c);
    k->back->nodes.data[record->n_then].imm = hiaR_from_i32((int32_t)c.list.len);
    lay_out(k, record->places[1], record->type, entry->stands_for, &c);
    define(k, record->type, &c);
    return record->type;
  case HIA_OP_LOOP: {
    laid_words w = {0};
    for (uint32_t i = 0; i < 2; i++) {
      lay_out_words(k, &w, words_of(k, record->places[i]));
      place_of(k, record->places[i])->ctor = 1;
      place_of(k, record->places[i])->type = record->type;
    }
    add_word(k, &w, record->type, record->rest);
    const hia_pieces *pieces = hold(k, record->places[0], &w, HIA_NONE, true);
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
    hia_u32vec more = words_of_each(k, entry->node, w.readers.data);
    lay_out_words(k, &w, more);
    const hia_pieces *pieces = hold(k, record->places[0], &w, HIA_NONE, more.len != 0);
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
static void lay_out_rerun(keeping *k, hia_grad_rerun *s) {
  if (s->place == HIA_NONE) return;
  laid_words w = {0};
  lay_out_words(k, &w, words_of(k, s->place));
  hia_fn *again = hiaG_fn(k->g, s->again);
  again->is_removed = w.types.len == 0;
  if (again->is_removed) {
    hiaG_remove(k->back, s->call);
    if (s->count != HIA_NONE) hiaG_remove(k->back, s->count);
    return;
  }
  const hia_pieces *pieces = hold(k, s->place, &w, s->call, true);
  again->results = HIA_NEW_ARRAY(&k->g->comp->arena, hia_type, pieces->n);
  again->n_results = pieces->n;
  memcpy(again->results, pieces->types + pieces->first, pieces->n * sizeof *again->results);
  hiaG_set_outs(k->g, k->back, s->call, again->results, pieces->n);
}

/* ---- f.back: reads of the tape, where so far UNDEF nodes stand ---- */

/* Finds the first use of each value. What comprehensions and arms read of a record is its use, too.
 */
static void find_uses(keeping *k) {
  hia_arena *arena = k->d->arena;
  uint32_t n = 0;
  if (k->order) return;
  k->order = HIA_NEW_ARRAY(arena, uint32_t, k->back->nodes.len + 1);
  k->first_use = HIA_NEW_ARRAY(arena, hia_node_id, k->back->values.len + 1);
  memset(k->first_use, 0xff, k->back->values.len * sizeof *k->first_use);
  HIA_EACH_NODE(k->back, at) {
    k->order[at] = ++n;
    for (uint32_t i = 0; i < k->back->nodes.data[at].n_ins; i++) {
      hia_node_id *first = &k->first_use[hiaG_in(k->back, at, i)];
      if (*first == HIA_NONE) *first = at;
    }
  }
  for (uint32_t i = 0; i < k->b->places.len; i++) {
    const hia_grad_place *p = place_of(k, i);
    if (p->record == HIA_NONE) continue;
    hia_node_id *first = &k->first_use[kept_of(k, p->record)->stands_for];
    hia_node_id owner = k->back->regions.data[p->region].owner;
    bool is_there = k->order[owner] != 0;
    if (is_there && (*first == HIA_NONE || k->order[owner] < k->order[*first])) *first = owner;
  }
}

/* Returns the first node of the region that uses the result of `reader`, itself or in its regions;
 * or NONE. */
static hia_node_id first_use_in(const keeping *k, hia_region_id region, hia_node_id reader) {
  hia_node_id n = k->first_use[k->back->nodes.data[reader].outs];
  while (n != HIA_NONE && k->back->nodes.data[n].region != region)
    n = k->back->regions.data[k->back->nodes.data[n].region].owner;
  return n;
}

/* Returns, by piece, the node of f.back before which it is read. */
static hia_node_id *find_ends(keeping *k, const holder *h) {
  const hia_pieces *p = h->pieces;
  const hia_grad_place *place = place_of(k, h->place);
  hia_node_id *ends = HIA_NEW_ARRAY(k->d->arena, hia_node_id, p->pieces.len + 1);
  find_uses(k);
  for (uint32_t i = 0; i < p->pieces.len; i++) {
    const hia_piece *piece = &p->pieces.data[i];
    ends[i] = HIA_NONE;
    for (uint32_t item = piece->first; item < piece->first + piece->n; item++) {
      hia_node_id at = item >= p->n_words ? ends[item - p->n_words] : HIA_NONE;
      if (item < p->n_words && h->readers[item] != HIA_NONE)
        at = first_use_in(k, place->region, h->readers[item]);
      if (at != HIA_NONE && (ends[i] == HIA_NONE || k->order[at] < k->order[ends[i]])) ends[i] = at;
    }
  }
  return ends;
}

/* How an item is read that the holder itself has; or of a piece that is `piece`. */
typedef struct reading {
  unsigned op;
  hia_value_id ins[2];
  uint32_t n_ins;
  uint64_t imm;
} reading;

static reading read_item(const keeping *k, const holder *h, uint32_t item, hia_value_id piece) {
  const hia_grad_place *p = place_of(k, h->place);
  uint32_t field = hiaG_piece_field(h->pieces, item);
  if (piece != HIA_NONE) return (reading){HIA_OP_FIELD, {piece}, 1, HIA_IMM(0, field)};
  if (p->kind != HIA_PLACE_EACH)
    return (reading){HIA_OP_FIELD, {p->tape}, 1, HIA_IMM(p->ctor, field)};
  return (reading){HIA_OP_AT, {kept_of(k, p->record)->stands_for, p->tape}, 2, field};
}

/* Makes the UNDEF this node. */
static void becomes(keeping *k, hia_node_id n, hia_type type, reading r) {
  k->back->values.data[k->back->nodes.data[n].outs].type = type;
  k->back->nodes.data[n].op = (uint16_t)r.op;
  k->back->nodes.data[n].imm = r.imm;
  hiaG_set_ins(k->g, k->back, n, r.ins, r.n_ins);
}

static void read_holder(keeping *k, const holder *h) {
  const hia_pieces *p = h->pieces;
  hia_value_id *values = HIA_NEW_ARRAY(k->d->arena, hia_value_id, p->pieces.len + 1);
  hia_node_id *ends = p->pieces.len ? find_ends(k, h) : NULL;
  hia_node_id anchor = place_of(k, h->place)->anchor;
  for (uint32_t i = p->pieces.len; i-- > 0;) {
    uint32_t item = p->n_words + i, in = p->in[item];
    if (ends[i] == HIA_NONE) continue;
    if (in == HIA_NONE && h->call != HIA_NONE) {
      values[i] = hiaG_out(k->back, h->call, hiaG_piece_field(p, item));
      continue;
    }
    reading r = read_item(k, h, item, in == HIA_NONE ? HIA_NONE : values[in]);
    /* What was simplified by sizes may use them before the anchor. */
    bool is_early = in == HIA_NONE && k->order[ends[i]] < k->order[anchor];
    hia_node_id at = in != HIA_NONE ? ends[in] : is_early ? ends[i] : anchor;
    hia_loc_id loc = k->back->nodes.data[ends[i]].loc;
    hia_node_id n =
        hiaG_insert(k->g, k->back, at, r.op, r.ins, r.n_ins, &p->types[item], 1, r.imm, loc);
    values[i] = hiaG_out(k->back, n, 0);
  }
  for (uint32_t i = 0; i < p->n_words; i++) {
    hia_node_id n = h->readers[i];
    uint32_t in = p->in[i];
    bool is_unused = in != HIA_NONE && ends[in] == HIA_NONE; /* so its piece is not read either */
    if (n == HIA_NONE || is_unused) continue;
    if (in == HIA_NONE && h->call != HIA_NONE) {
      k->aliases.data[k->back->nodes.data[n].outs] =
          hiaG_out(k->back, h->call, hiaG_piece_field(p, i));
      continue;
    }
    becomes(k, n, p->types[i], read_item(k, h, i, in == HIA_NONE ? HIA_NONE : values[in]));
    if (in != HIA_NONE) hiaG_move(k->back, n, ends[in]);
  }
}

/* Values that there are by now, and of which nothing is known, are no aliases. */
static void no_more_aliases(keeping *k) {
  while (k->aliases.len < k->back->values.len) hiaR_push(k->d->arena, &k->aliases, HIA_NONE);
}

static void read_tapes(keeping *k) {
  for (uint32_t i = 0; i < k->b->kept.len; i++) {
    const hia_grad_kept *entry = kept_of(k, i);
    bool is_kept =
        entry->kind == HIA_KEPT_RECORD ? k->b->records[entry->node].kept == i : entry->is_used;
    if (!is_kept) hiaG_remove(k->back, k->back->values.data[entry->stands_for].node);
  }
  for (uint32_t i = 0; i < k->holders.len; i++) read_holder(k, &k->holders.data[i]);
  no_more_aliases(k);
  hiaG_substitute(k->back, k->aliases.data);
  for (uint32_t i = 0; i < k->b->kept.len; i++) {
    const hia_grad_kept *entry = kept_of(k, i);
    if (k->aliases.data[entry->stands_for] != HIA_NONE)
      hiaG_remove(k->back, k->back->values.data[entry->stands_for].node);
  }
  for (uint32_t i = 0; i < k->b->places.len; i++)
    if (!(k->back->nodes.data[place_of(k, i)->anchor].flags & HIA_NODE_DEAD))
      hiaG_remove(k->back, place_of(k, i)->anchor);
}

/* ---- f.kept ---- */

static void copy_region(keeping *k, hia_region_id from, hia_region_id to);

/* True if what is made here has the record of a node of f: nodes of reruns have theirs in what
 * f.back calls. */
static bool keeps(const keeping *k, hia_node_id n) {
  return k->b->records[n].kept != HIA_NONE && k->b->rerun_of[n] == k->rerun;
}

static hia_value_id value_kept(const keeping *k, uint32_t kept) {
  const hia_grad_kept *entry = kept_of(k, kept);
  return entry->kind == HIA_KEPT_VALUE ? k->map[entry->value] : k->records[entry->node];
}

static hia_u32vec values_kept(const keeping *k, hia_u32vec kept) {
  hia_u32vec values = {0};
  for (uint32_t i = 0; i < kept.len; i++)
    hiaR_push(k->d->arena, &values, value_kept(k, kept.data[i]));
  return values;
}

/* Returns what the holder of a place has of these words, at the end of a region. */
static hia_u32vec pack(keeping *k, uint32_t place, hia_region_id region, hia_u32vec values,
                       hia_loc_id loc) {
  return hiaG_grad_pack(k->d, (hia_grad_at){k->kept, region, loc}, place_of(k, place)->pieces,
                        values.data);
}

/* Returns the tape of a body or an arm, at the end of a region. */
static hia_value_id tape_of(keeping *k, uint32_t place, hia_region_id region, hia_loc_id loc) {
  hia_node_id branch = sole_branch(k, place);
  if (branch != HIA_NONE) return k->records[branch];
  const hia_grad_place *p = place_of(k, place);
  hia_u32vec values = values_kept(k, words_of(k, place));
  if (!values.len) return hiaG_const(k->g, k->kept, region, p->type, p->ctor, loc);
  hia_u32vec ins = pack(k, place, region, values, loc);
  return hiaG_out(
      k->kept,
      hiaG_add(k->g, k->kept, region, HIA_OP_DATA, ins.data, ins.len, &p->type, 1, p->ctor, loc),
      0);
}

static hia_u32vec operands(keeping *k, hia_node_id n) {
  hia_u32vec ins = {0};
  for (uint32_t i = 0; i < node_of(k, n)->n_ins; i++)
    hiaR_push(k->d->arena, &ins, k->map[hiaG_in(k->fn, n, i)]);
  return ins;
}

typedef HIA_VEC(hia_type) types_vec;
static types_vec out_types(keeping *k, hia_node_id n) {
  types_vec types = {0};
  for (uint32_t i = 0; i < node_of(k, n)->n_outs; i++)
    hiaR_push(k->d->arena, &types, hiaG_type(k->fn, node_of(k, n)->outs + i));
  return types;
}

static hia_node_id copy_node(keeping *k, hia_node_id n, hia_region_id to, hia_u32vec ins,
                             types_vec types, uint64_t imm) {
  const hia_node *node = node_of(k, n);
  hia_node_id copy = hiaG_add(k->g, k->kept, to, node->op, ins.data, ins.len, types.data, types.len,
                              imm, node->loc);
  k->kept->nodes.data[copy].flags = node->flags;
  for (uint32_t i = 0; i < node->n_outs; i++) k->map[node->outs + i] = hiaG_out(k->kept, copy, i);
  return copy;
}

/* Ends a region of f.kept with what `from` yields and `more`, unless that is NONE. */
static void copy_yield(keeping *k, hia_region_id from, hia_region_id to, hia_value_id more) {
  hia_u32vec ins = operands(k, hiaG_yield_of(k->fn, from));
  if (more != HIA_NONE) hiaR_push(k->d->arena, &ins, more);
  hiaG_yield(k->g, k->kept, to, ins.data, ins.len);
}

static void copy_branch(keeping *k, hia_node_id n, hia_region_id to) {
  const hia_grad_record *record = &k->b->records[n];
  types_vec types = out_types(k, n);
  bool is_kept = keeps(k, n);
  if (is_kept) hiaR_push(k->d->arena, &types, record->type);
  hia_node_id copy = copy_node(k, n, to, operands(k, n), types, node_of(k, n)->imm);
  for (uint32_t i = 0; i < 2; i++) {
    hia_region_id from = node_of(k, n)->regions + i, arm = k->kept->nodes.data[copy].regions + i;
    copy_region(k, from, arm);
    copy_yield(k, from, arm,
               is_kept ? tape_of(k, record->places[i], arm, node_of(k, n)->loc) : HIA_NONE);
  }
  if (is_kept) k->records[n] = hiaG_out(k->kept, copy, node_of(k, n)->n_outs);
}

static void copy_args(keeping *k, hia_region_id from, hia_region_id to) {
  HIA_EACH_ARG(k->fn, from, a)
    copy_node(k, a, to, (hia_u32vec){0}, out_types(k, a), node_of(k, a)->imm);
}

static void copy_loop(keeping *k, hia_node_id n, hia_region_id to) {
  const hia_grad_record *record = &k->b->records[n];
  hia_arena *arena = k->d->arena;
  bool is_kept = keeps(k, n);
  hia_loc_id loc = node_of(k, n)->loc;
  hia_u32vec ins = operands(k, n);
  types_vec types = out_types(k, n);
  if (is_kept) {
    hiaR_push(arena, &ins, hiaG_const(k->g, k->kept, to, record->type, 0, loc));
    hiaR_push(arena, &types, record->type);
  }
  hia_node_id copy = copy_node(k, n, to, ins, types, node_of(k, n)->imm);
  hia_region_id head = k->kept->nodes.data[copy].regions, from = node_of(k, n)->regions;
  hia_value_id list = HIA_NONE, more = HIA_NONE;
  copy_args(k, from, head);
  if (is_kept)
    list = hiaG_out(
        k->kept,
        hiaG_add(k->g, k->kept, head, HIA_OP_ARG, NULL, 0, &record->type, 1, ins.len - 1, loc), 0);
  copy_region(k, from, head);
  copy_yield(k, from, head, list);
  copy_region(k, from + 1, head + 1);
  if (is_kept) {
    hia_u32vec values = values_kept(k, words_of(k, record->places[0])),
               of_round = values_kept(k, words_of(k, record->places[1]));
    for (uint32_t i = 0; i < of_round.len; i++) hiaR_push(arena, &values, of_round.data[i]);
    hiaR_push(arena, &values, list);
    hia_u32vec kept = pack(k, record->places[0], head + 1, values, loc);
    more = hiaG_out(k->kept,
                    hiaG_add(k->g, k->kept, head + 1, HIA_OP_DATA, kept.data, kept.len,
                             &record->type, 1, 1, loc),
                    0);
    k->records[n] = hiaG_out(k->kept, copy, node_of(k, n)->n_outs);
  }
  copy_yield(k, from + 1, head + 1, more);
}

/* Makes the array of the elements alone, word by word of the array that has the records, too. */
static hia_value_id elements_alone(keeping *k, hia_node_id n, hia_region_id to, hia_value_id all,
                                   const hia_pieces *pieces) {
  hia_loc_id loc = node_of(k, n)->loc;
  hia_type i64 = HIA_I64, type = hiaG_type(k->fn, node_of(k, n)->outs);
  hia_node_id yield = hiaG_yield_of(k->fn, node_of(k, n)->regions);
  hia_node_id len = hiaG_add(k->g, k->kept, to, HIA_OP_LEN, &all, 1, &i64, 1, 0, loc);
  hia_value_id size = hiaG_out(k->kept, len, 0);
  hia_node_id map = hiaG_add(k->g, k->kept, to, HIA_OP_MAP, &size, 1, &type, 1, 0, loc);
  hia_region_id each = k->kept->nodes.data[map].regions;
  hia_node_id arg = hiaG_add(k->g, k->kept, each, HIA_OP_ARG, NULL, 0, &i64, 1, 0, loc);
  uint32_t n_own = k->fn->nodes.data[yield].n_ins;
  hia_grad_at at = {k->kept, each, loc};
  hia_unpacking u = hiaG_grad_unpack(k->d, at, pieces, all, hiaG_out(k->kept, arg, 0), n_own);
  for (uint32_t i = 0; i < n_own; i++) (void)hiaG_grad_unpack_word(k->d, at, &u, i);
  hiaG_yield(k->g, k->kept, each, u.values, n_own);
  return hiaG_out(k->kept, map, 0);
}

static void copy_map(keeping *k, hia_node_id n, hia_region_id to) {
  const hia_grad_record *record = &k->b->records[n];
  hia_u32vec more = {0};
  if (keeps(k, n)) more = words_of_each(k, n, NULL);
  types_vec types = out_types(k, n);
  if (more.len) types.data[0] = record->type;
  hia_node_id copy = copy_node(k, n, to, operands(k, n), types, node_of(k, n)->imm);
  hia_region_id from = node_of(k, n)->regions, each = k->kept->nodes.data[copy].regions;
  copy_args(k, from, each);
  copy_region(k, from, each);
  hia_u32vec values = operands(k, hiaG_yield_of(k->fn, from)), of_more = values_kept(k, more);
  for (uint32_t i = 0; i < of_more.len; i++) hiaR_push(k->d->arena, &values, of_more.data[i]);
  if (more.len) values = pack(k, record->places[0], each, values, node_of(k, n)->loc);
  hiaG_yield(k->g, k->kept, each, values.data, values.len);
  if (!keeps(k, n)) return;
  k->records[n] = hiaG_out(k->kept, copy, 0);
  if (more.len)
    k->map[node_of(k, n)->outs] =
        elements_alone(k, n, to, k->records[n], place_of(k, record->places[0])->pieces);
}

static void copy_call(keeping *k, hia_node_id n, hia_region_id to) {
  const hia_grad_record *record = &k->b->records[n];
  types_vec types = out_types(k, n);
  if (!keeps(k, n)) {
    copy_node(k, n, to, operands(k, n), types, node_of(k, n)->imm);
    return;
  }
  hiaR_push(k->d->arena, &types, record->type);
  hia_fn_id callee = k->d->versions.data[record->version].kept;
  hia_node_id copy = copy_node(k, n, to, operands(k, n), types, callee);
  k->records[n] = hiaG_out(k->kept, copy, node_of(k, n)->n_outs);
}

/* Copies the nodes from n on and before `end` but ARGs, the YIELD, and what stands around reruns.
 */
static void copy_nodes(keeping *k, hia_node_id n, hia_node_id end, hia_region_id to) {
  for (; n != end; n = node_of(k, n)->next) {
    if (node_of(k, n)->flags & (HIA_NODE_BEGIN | HIA_NODE_END)) continue;
    switch (node_of(k, n)->op) {
    case HIA_OP_ARG:
    case HIA_OP_YIELD: break;
    case HIA_OP_IF: copy_branch(k, n, to); break;
    case HIA_OP_LOOP: copy_loop(k, n, to); break;
    case HIA_OP_MAP: copy_map(k, n, to); break;
    case HIA_OP_CALL: copy_call(k, n, to); break;
    default: copy_node(k, n, to, operands(k, n), out_types(k, n), node_of(k, n)->imm);
    }
  }
}

static void copy_region(keeping *k, hia_region_id from, hia_region_id to) {
  copy_nodes(k, k->fn->regions.data[from].first, HIA_NONE, to);
}

/* Builds the function that computes again what f.back reads of a rerun. */
static void build_again(const keeping *kept, uint32_t rerun) {
  keeping k = *kept;
  const hia_grad_rerun *s = &k.b->reruns.data[rerun];
  if (s->place == HIA_NONE || hiaG_fn(k.g, s->again)->is_removed) return;
  k.rerun = rerun;
  k.kept = hiaG_fn(k.g, s->again);
  k.map = HIA_NEW_ARRAY(k.d->arena, hia_value_id, k.fn->values.len + 1);
  k.records = HIA_NEW_ARRAY(k.d->arena, hia_value_id, k.fn->nodes.len + 1);
  for (uint32_t i = 0; i < s->inputs.len; i++) k.map[s->inputs.data[i]] = hiaG_out(k.kept, i, 0);
  for (uint32_t i = 0; i < s->constants.len; i++) {
    hia_node_id n = k.fn->values.data[s->constants.data[i]].node;
    copy_node(&k, n, 0, (hia_u32vec){0}, out_types(&k, n), node_of(&k, n)->imm);
  }
  copy_nodes(&k, node_of(&k, s->begin)->next, s->end, 0);
  hia_u32vec results = pack(&k, s->place, 0, values_kept(&k, words_of(&k, s->place)), k.kept->loc);
  hiaG_yield(k.g, k.kept, 0, results.data, results.len);
  hiaG_compact(k.g, k.kept);
}

void hiaG_grad_kept(hia_back *b) {
  hia_grad *d = b->d;
  const hia_grad_version version = d->versions.data[b->version];
  keeping k = {.b = b, .d = d, .g = b->g, .fn = b->fn, .back = b->back};
  k.kept = hiaG_fn(b->g, version.kept);
  k.map = HIA_NEW_ARRAY(d->arena, hia_value_id, b->fn->values.len + 1);
  k.records = HIA_NEW_ARRAY(d->arena, hia_value_id, b->fn->nodes.len + 1);
  no_more_aliases(&k);
  k.rerun = HIA_NONE;
  find_used(&k);
  ctors c = {0};
  lay_out(&k, 0, version.tape, 0, &c);
  define(&k, version.tape, &c);
  for (uint32_t i = 0; i < b->reruns.len; i++) lay_out_rerun(&k, &b->reruns.data[i]);
  if (b->g->tapes) hiaG_grad_report(b);
  read_tapes(&k);
  for (uint32_t i = 0; i < b->fn->n_params; i++) k.map[i] = i;
  copy_region(&k, 0, 0);
  copy_yield(&k, 0, 0, tape_of(&k, 0, 0, b->fn->loc));
  for (uint32_t i = 0; i < b->reruns.len; i++) build_again(&k, i);
}
