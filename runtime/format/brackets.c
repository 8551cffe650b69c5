/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Trees in Penn brackets: `(3 (2 It) (4 works))`. A bracket has a label, and either a token or
 * other brackets. Between trees, and only there, `#` begins a comment, up to the end of the line:
 * within a tree it is a label or a token, as in the treebanks that have `(# #)`. The stack of open
 * brackets and that of finished trees lie in memory; a tree is made where its bracket closes.
 *
 * The time goes into branches that no processor foresees: how long a token is, whether a bracket is
 * a leaf. So the end of a token is found in 8 bytes at once, and what a bracket becomes is looked
 * up in a table that is made beforehand (choice, fitting). */
#include "runtime/format/brackets.h"
#include "runtime/format/vocabulary.h"
#include "runtime/value/objects.h"
#include <stdio.h>

/* ---- constructors ---- */

/* What a bracket's parts become in a constructor, and where they lie in its object. */
typedef struct fitting {
  bool is_usable; /* each of its fields is one of these */
  bool has_label, has_word, has_rest;
  bool is_empty;                       /* it has no fields, and so no object */
  uint32_t label_at, word_at, rest_at; /* bytes from the object's beginning */
  uint32_t trees_at;                   /* the trees lie one after the other, as all references do */
  uint32_t n_trees;
  hia_type rest;
  uint32_t size;
} fitting;

typedef struct open_bracket {
  const char *s;             /* where it opens */
  const char *label, *token; /* of label_len, token_len bytes; 0: there is none */
  uint32_t label_len, token_len;
  size_t trees; /* its first one */
} open_bracket;

typedef hia_bracket_reader reader;

/* The first constructor that fits; HIA_NONE: there is none. */
static uint32_t search(const reader *r, bool has_word, bool has_label, uint64_t n_trees) {
  const hia_type_entry *entry = hiaR_type_entry(r->types, r->tree);
  const fitting *f = r->fittings.data;
  for (uint32_t i = 0; i < entry->n; i++, f++) {
    if (!f->is_usable || f->has_word != has_word || (f->has_label && !has_label)) continue;
    if (f->has_rest ? n_trees >= f->n_trees : n_trees == f->n_trees) return i;
  }
  return HIA_NONE;
}

static uint32_t choose(const reader *r, bool has_word, bool has_label, uint64_t n_trees) {
  return n_trees < HIA_FEW_TREES ? r->choice[has_word][has_label][n_trees]
                                 : search(r, has_word, has_label, n_trees);
}

static fitting fit(const reader *r, const hia_ctor *ctor) {
  fitting f = {.is_usable = true, .is_empty = ctor->n == 0, .size = ctor->layout.size};
  for (uint32_t k = 0; k < ctor->n && f.is_usable; k++) {
    const hia_ctor_field *field = &r->types->fields[ctor->first + k];
    const char *name = r->types->names + field->name;
    /* The fields that fit have one word each. */
    uint32_t at = r->types->layout_words[ctor->layout.first + k].at;
    bool is_i32 = field->type == HIA_I32;
    if (is_i32 && !f.has_label && strcmp(name, "label") == 0) {
      f.has_label = true, f.label_at = at;
    } else if (is_i32 && !f.has_word && strcmp(name, "word") == 0) {
      f.has_word = true, f.word_at = at;
    } else if (field->type == r->tree && !f.has_rest) {
      if (f.n_trees++ == 0) f.trees_at = at;
    } else if (hiaR_type_kind(r->types, field->type) == HIA_KIND_ARRAY &&
               hiaR_type_entry(r->types, field->type)->element == r->tree && !f.has_rest) {
      f.has_rest = true, f.rest_at = at, f.rest = field->type;
    } else {
      f.is_usable = false;
    }
  }
  return f;
}

static hia_status prepare(reader *r) {
  const hia_type_entry *entry = hiaR_type_entry(r->types, r->tree);
  const hia_allocator *allocator = r->reading->allocator;
  if (!hiaR_block_grow(&r->fittings, allocator, entry->n * sizeof(fitting))) return HIA_MEMORY;
  bool is_any = false;
  for (uint32_t i = 0; i < entry->n; i++) {
    fitting f = fit(r, hiaR_ctor(r->types, r->tree, i));
    is_any |= f.is_usable;
    ((fitting *)r->fittings.data)[i] = f;
  }
  for (uint32_t i = 0; i < 4 * HIA_FEW_TREES; i++)
    r->choice[i & 1][i >> 1 & 1][i >> 2] = search(r, i & 1, i >> 1 & 1, i >> 2);
  char name[128];
  hiaR_type_text(r->types, r->tree, name, sizeof name);
  if (is_any) return HIA_OK;
  return hiaR_scan_fail(&r->scan, "E0401", r->scan.s, r->scan.s,
                        "no constructor of %s has only fields that a bracket can fill: label: i32, "
                        "word: i32, and trees",
                        name);
}

/* ---- brackets ---- */

static int cut(uint32_t len) { return len > 60 ? 60 : (int)len; }

static hia_status label_word(reader *r, const open_bracket *b, hia_word *word) {
  const char *s = b->label, *end = s + b->label_len;
  const hia_vocab *labels = r->reading->labels;
  if (labels) {
    uint32_t index = hiaR_vocab_find(labels, s, b->label_len);
    if (index > INT32_MAX)
      return hiaR_scan_fail(&r->scan, "E0401", s, end, "the labels do not have '%.*s'",
                            cut(b->label_len), s);
    *word = hiaR_from_i32((int32_t)index);
    return HIA_OK;
  }
  if (b->label_len == 1 && hiaR_is_digit(*s)) { /* usual */
    *word = (hia_word)(*s - '0');
    return HIA_OK;
  }
  bool is_negative = *s == '-';
  const char *digits = s + is_negative, *at = digits;
  while (at < end && hiaR_is_digit(*at)) at++;
  if (at == digits || at < end) {
    hiaR_scan_fail(&r->scan, "E0401", s, end, "the label '%.*s' is no number", cut(b->label_len),
                   s);
    hiaR_scan_hint(&r->scan, "name the labels in a file");
    return HIA_ARGUMENT;
  }
  if (hiaR_read_word(digits, end, false, is_negative, HIA_I32, word) == HIA_NUMBER_OK)
    return HIA_OK;
  return hiaR_scan_fail(&r->scan, "E0312", s, end, "this label does not fit i32");
}

static hia_status token_word(reader *r, const open_bracket *b, hia_word *word) {
  hia_vocab *words = r->reading->words;
  const char *s = b->token;
  uint32_t index = HIA_NONE;
  if (words) {
    uint32_t at;
    uint64_t key = hiaR_word_key(s, b->token_len, r->scan.end);
    index = hiaR_word_find(words, s, b->token_len, key, &at);
    if (index == HIA_NONE && r->reading->may_add) {
      index = hiaR_word_insert(words, s, b->token_len, key, at);
      if (index == HIA_NONE) return HIA_MEMORY;
    } else if (index == HIA_NONE) {
      index = r->unknown;
    }
  }
  if (index <= INT32_MAX) {
    *word = index;
    return HIA_OK;
  }
  hiaR_scan_fail(&r->scan, "E0401", s, s + b->token_len,
                 words ? "unknown word '%.*s'" : "no vocabulary has '%.*s'", cut(b->token_len), s);
  hiaR_scan_hint(&r->scan, words ? "the vocabulary has no line <unk>"
                                 : "a vocabulary is needed: --vocab FILE, or --build-vocab FILE");
  return HIA_ARGUMENT;
}

/* Trees without any fields take a byte or two as elements. */
void hiaR_brackets_store(const hia_bracket_reader *r, char *to, const hia_word *trees, uint64_t n,
                         const hia_layout *layout) {
  hia_repr repr = (hia_repr)r->types->layout_words[layout->first].repr;
  if (repr == HIA_REPR_REF && n) memcpy(to, trees, (size_t)n * sizeof *trees);
  for (uint64_t i = 0; repr != HIA_REPR_REF && i < n; i++)
    hiaR_store(repr, to + i * layout->size, trees[i]);
}

static hia_status make_array(reader *r, hia_type type, const hia_word *trees, uint64_t n,
                             hia_word *word) {
  const hia_layout *layout = &hiaR_type_entry(r->types, type)->layout;
  if (r->local && n == 0) {
    *word = 0;
    return HIA_OK;
  }
  hia_array *array = r->local ? hiaR_heap_alloc(r->local, hiaR_array_size(layout->size, n))
                              : hiaR_new_array(r->reading->objects, layout, n);
  if (!array) return HIA_MEMORY;
  if (r->local) {
    hiaR_object_begin(&array->counted, 0);
    array->n = n;
    array->data = (char *)(array + 1);
  }
  hiaR_brackets_store(r, array->data, trees, n, layout);
  *word = hiaR_word_of(array);
  return HIA_OK;
}

static inline hia_counted *make_object(reader *r, const fitting *f, uint32_t number) {
  if (!r->local) return hiaR_take_data(r->reading->objects, f->size, number);
  hia_counted *object = hiaR_heap_alloc(r->local, f->size);
  if (object) hiaR_object_begin(object, hiaR_u16(number));
  return object;
}

static hia_status no_constructor(reader *r, const open_bracket *b, uint64_t n_trees) {
  char name[128];
  hiaR_type_text(r->types, r->tree, name, sizeof name);
  return hiaR_scan_fail(&r->scan, "E0401", b->s, r->scan.s,
                        "no constructor of %s fits a bracket with %s and %llu subtree%s", name,
                        b->token_len   ? "a word"
                        : b->label_len ? "a label"
                                       : "no label",
                        (unsigned long long)n_trees, n_trees == 1 ? "" : "s");
}

/* Makes the tree of a bracket, which becomes the last finished one in place of those in it. */
static inline hia_status close_bracket(reader *r, const open_bracket *b) {
  uint64_t n_trees = r->n_done - b->trees;
  uint32_t number = choose(r, b->token_len > 0, b->label_len > 0, n_trees);
  if (number == HIA_NONE) return no_constructor(r, b, n_trees);
  const fitting *f = (const fitting *)r->fittings.data + number;
  hia_word *trees = (hia_word *)r->done.data + b->trees, result = number;
  if (!f->is_empty) {
    hia_counted *object = make_object(r, f, number);
    if (!object) return HIA_MEMORY;
    result = hiaR_word_of(object);
    char *base = (char *)object;
    hia_word word;
    hia_status status;
    for (uint32_t i = 0; i < f->n_trees; i++)
      hiaR_store(HIA_REPR_REF, base + f->trees_at + i * sizeof word, trees[i]);
    if (f->has_label) {
      if ((status = label_word(r, b, &word)) != HIA_OK) return status;
      hiaR_store(HIA_REPR_I32, base + f->label_at, word);
    }
    if (f->has_word) {
      if ((status = token_word(r, b, &word)) != HIA_OK) return status;
      hiaR_store(HIA_REPR_I32, base + f->word_at, word);
    }
    if (f->has_rest) {
      status = make_array(r, f->rest, trees + f->n_trees, n_trees - f->n_trees, &word);
      if (status != HIA_OK) return status;
      hiaR_store(HIA_REPR_REF, base + f->rest_at, word);
    }
  }
  *trees = result;
  r->n_done = b->trees + 1;
  return HIA_OK;
}

static inline bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
static inline bool ends_token(char c) { return c == '(' || c == ')' || is_blank(c); }

static inline const char *skip_blanks(const char *s, const char *end) {
  if (s < end && *s == ' ') s++; /* usually there is one, or none */
  while (s < end && *s <= ' ' && is_blank(*s)) s++;
  return s;
}

/* The end of the token that begins here. */
static inline const char *end_of_token(const char *s, const char *end) {
  const uint64_t ones = 0x0101010101010101u, tops = 0x8080808080808080u;
  for (; end - s >= 8; s += 8) {
    uint64_t x = hiaR_load_8(s), brackets = (x ^ '(' * ones) & ~ones;
    /* The lowest byte with its top bit set is ' ' or less, or a bracket: '(' ^ 1 is ')'. Those
     * above it need not be. */
    uint64_t found = (((x - '!' * ones) & ~x) | ((brackets - ones) & ~brackets)) & tops;
    if (!found) continue;
    s += __builtin_ctzll(found) / 8;
    break; /* there may be a control character, which is part of the token */
  }
  while (s < end && !ends_token(*s)) s++;
  return s;
}

static hia_status too_long(reader *r, const char *s) {
  return hiaR_scan_fail(&r->scan, "E0101", s, s + 1, "this word is too long");
}

/* There is neither "(" nor ")", but a word. */
static hia_status unexpected_word(reader *r, const open_bracket *top) {
  const char *s = r->scan.s, *end = end_of_token(s, r->scan.end);
  size_t len = (size_t)(end - s);
  return hiaR_scan_fail(&r->scan, "E0101", s, end, "expected %s, found the word '%.*s'",
                        !top             ? "'('"
                        : top->token_len ? "')'"
                                         : "'(' or ')'",
                        cut(len > UINT32_MAX ? UINT32_MAX : (uint32_t)len), s);
}

static inline hia_status push(reader *r, const open_bracket *b) {
  size_t n = r->n_open + 1;
  if (!hiaR_block_grow(&r->stack, r->reading->allocator, n * sizeof(open_bracket)))
    return HIA_MEMORY;
  ((open_bracket *)r->stack.data)[r->n_open++] = *b;
  return HIA_OK;
}

/* Reads "(", the label and the token behind it, and ")" if it follows. */
static inline hia_status read_bracket(reader *r) {
  const char *s = r->scan.s, *end = r->scan.end;
  open_bracket b = {.s = s++, .trees = r->n_done};
  /* There is place for its tree. */
  if (!hiaR_block_grow(&r->done, r->reading->allocator, (b.trees + 1) * sizeof(hia_word)))
    return HIA_MEMORY;
  size_t len = 1;
  if (end - s < 2 || s[0] <= ')' || s[1] != ' ') { /* the usual label is one character */
    s = skip_blanks(s, end);
    len = (size_t)(end_of_token(s, end) - s);
    if (len > UINT32_MAX) return too_long(r, s);
  }
  b.label = s;
  b.label_len = (uint32_t)len;
  b.token = s = skip_blanks(s + len, end);
  if (s == end || *s == '(') {
    r->scan.s = s;
    return push(r, &b);
  }
  s = end_of_token(s, end);
  len = (size_t)(s - b.token);
  if (len > UINT32_MAX) return too_long(r, b.token);
  b.token_len = (uint32_t)len;
  r->scan.s = s;
  if (s == end || *s != ')') return push(r, &b);
  r->scan.s++;
  return close_bracket(r, &b);
}

enum { LOOK = 1024 }; /* brackets between two questions */

hia_status hiaR_brackets_trees(reader *r) {
  hia_scan *scan = &r->scan;
  for (;;) {
    scan->s = skip_blanks(scan->s, scan->end);
    open_bracket *top = r->n_open ? (open_bracket *)r->stack.data + (r->n_open - 1) : NULL;
    hia_status status = HIA_OK;
    if (scan->s == scan->end) {
      if (!top) return HIA_OK;
      return hiaR_scan_fail(scan, "E0101", top->s, top->s + 1, "this bracket is not closed");
    }
    if (*scan->s == '(') {
      if (++r->n_read % LOOK == 0 && r->local && hiaR_heap_must_end(r->local->heap))
        return HIA_CANCELLED;
      if (top && top->token_len)
        return hiaR_scan_fail(scan, "E0101", scan->s, scan->s + 1, "expected ')', found '('");
      status = read_bracket(r);
    } else if (*scan->s == '#' && !top) {
      scan->s = hiaR_brackets_skip_comment(scan->s, scan->end);
    } else if (*scan->s != ')') {
      return unexpected_word(r, top);
    } else if (!top) {
      return hiaR_scan_fail(scan, "E0101", scan->s, scan->s + 1, "expected '(', found ')'");
    } else {
      scan->s++;
      r->n_open--;
      status = close_bracket(r, top);
    }
    if (status) return status;
  }
}

hia_status hiaR_brackets_begin(reader *r, const hia_bracket_reading *reading, hia_type type) {
  r->reading = reading;
  r->types = reading->types;
  bool is_array = hiaR_type_kind(r->types, type) == HIA_KIND_ARRAY;
  r->array = is_array ? type : HIA_NONE;
  r->tree = is_array ? hiaR_type_entry(r->types, type)->element : type;
  if (hiaR_type_kind(r->types, r->tree) != HIA_KIND_DATA) {
    char name[128];
    hiaR_type_text(r->types, type, name, sizeof name);
    return hiaR_scan_fail(&r->scan, "E0401", r->scan.s, r->scan.s,
                          "expected a value of type %s, these are trees", name);
  }
  r->unknown = reading->words ? hiaR_vocab_find(reading->words, "<unk>", 5) : HIA_NONE;
  return prepare(r);
}

void hiaR_brackets_end(reader *r) {
  hiaR_block_free(&r->stack, r->reading->allocator);
  hiaR_block_free(&r->done, r->reading->allocator);
}

void hiaR_brackets_free(reader *r) { hiaR_block_free(&r->fittings, r->reading->allocator); }

static hia_status read_value(reader *r, const hia_bracket_reading *reading, hia_type type,
                             hia_word *word) {
  hia_status status = hiaR_brackets_begin(r, reading, type);
  if (status == HIA_OK) status = hiaR_brackets_trees(r);
  if (status) return status;
  if (type != r->tree) return make_array(r, type, r->done.data, r->n_done, word);
  if (r->n_done == 1) {
    *word = *(const hia_word *)r->done.data;
    return HIA_OK;
  }
  return hiaR_scan_fail(&r->scan, "E0101", r->scan.text, r->scan.text,
                        "expected one tree, found %zu", r->n_done);
}

hia_status hiaR_brackets_read(const hia_bracket_reading *reading, const char *text, size_t len,
                              hia_type type, hia_word *word, hia_value_error *error) {
  reader r = {.reading = reading};
  *error = (hia_value_error){.code = NULL};
  hia_status status = hiaR_scan_start(&r.scan, text, len, error);
  if (status == HIA_OK) status = read_value(&r, reading, type, word);
  hiaR_brackets_end(&r);
  hiaR_brackets_free(&r);
  return status;
}
