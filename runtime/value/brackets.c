/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Trees in Penn brackets: `(3 (2 It) (4 works))`. A bracket has a label, and either a token or
 * other brackets. The stack of open brackets and that of finished trees lie in memory; a tree is
 * made where its bracket closes. */
#include "runtime/value/scan.h"
#include <stdio.h>

/* ---- vocabularies ---- */

typedef struct word_slot {
  uint32_t hash, index; /* index: from 1; 0: empty */
} word_slot;
typedef struct word_place {
  size_t at;
  uint32_t len;
} word_place;

struct hia_words {
  hia_allocator allocator;
  hia_block text, places, slots; /* bytes; word_place; word_slot */
  size_t n_text;
  uint32_t n, mask;
};

/* Words are short. The last step makes up for the weak low bits of the others. */
static uint32_t hash_of(const char *s, size_t n) {
  uint64_t h = n * 0x9e3779b97f4a7c15u;
  uint64_t x = 0;
  for (; n >= sizeof x; n -= sizeof x, s += sizeof x) {
    memcpy(&x, s, sizeof x);
    h = (h ^ x) * 0x9e3779b97f4a7c15u;
    h ^= h >> 32;
  }
  x = 0;
  for (size_t i = 0; i < n; i++) x = x << 8 | (unsigned char)s[i];
  h = (h ^ x) * 0x9e3779b97f4a7c15u;
  return (uint32_t)(h >> 32);
}

static uint32_t find(const hia_words *w, const char *s, size_t n, uint32_t hash, uint32_t *at) {
  const word_slot *slots = w->slots.data;
  for (*at = hash & w->mask; slots[*at].index; *at = (*at + 1) & w->mask) {
    if (slots[*at].hash != hash) continue;
    const word_place *place = (const word_place *)w->places.data + (slots[*at].index - 1);
    if (place->len == n && memcmp((const char *)w->text.data + place->at, s, n) == 0)
      return slots[*at].index - 1;
  }
  return HIA_NONE;
}

hia_words *hiaR_words_new(const hia_allocator *allocator) {
  hia_words *w = hiaR_alloc(allocator, sizeof *w);
  if (!w) return NULL;
  w->allocator = *allocator;
  if (!hiaR_block_grow(&w->slots, allocator, 64 * sizeof(word_slot))) {
    hiaR_words_free(w);
    return NULL;
  }
  memset(w->slots.data, 0, 64 * sizeof(word_slot));
  w->mask = 63;
  return w;
}

void hiaR_words_free(hia_words *w) {
  if (!w) return;
  hia_allocator allocator = w->allocator;
  hiaR_block_free(&w->text, &allocator);
  hiaR_block_free(&w->places, &allocator);
  hiaR_block_free(&w->slots, &allocator);
  hiaR_free(&allocator, w, sizeof *w);
}

uint32_t hiaR_words_find(const hia_words *w, const char *s, size_t n) {
  uint32_t at;
  return find(w, s, n, hash_of(s, n), &at);
}

static bool rehash(hia_words *w) {
  hia_block old = w->slots;
  uint32_t n = w->mask + 1;
  if (n > UINT32_MAX / 4) return false;
  w->slots = (hia_block){NULL, 0};
  if (!hiaR_block_grow(&w->slots, &w->allocator, 2 * (size_t)n * sizeof(word_slot))) {
    w->slots = old;
    return false;
  }
  word_slot *slots = w->slots.data;
  const word_slot *from = old.data;
  memset(slots, 0, 2 * (size_t)n * sizeof *slots);
  w->mask = 2 * n - 1;
  for (uint32_t i = 0; i < n; i++) {
    if (!from[i].index) continue;
    uint32_t at = from[i].hash & w->mask;
    while (slots[at].index) at = (at + 1) & w->mask;
    slots[at] = from[i];
  }
  hiaR_block_free(&old, &w->allocator);
  return true;
}

uint32_t hiaR_words_add(hia_words *w, const char *s, size_t n) {
  uint32_t at, hash = hash_of(s, n), index = find(w, s, n, hash, &at);
  if (index != HIA_NONE) return index;
  size_t size;
  if (n > UINT32_MAX || !hiaR_add(w->n_text, n, &size) ||
      !hiaR_block_grow(&w->text, &w->allocator, size + 1) ||
      !hiaR_block_grow(&w->places, &w->allocator, ((size_t)w->n + 1) * sizeof(word_place)))
    return HIA_NONE;
  if (w->n >= w->mask / 2) {
    if (!rehash(w)) return HIA_NONE;
    find(w, s, n, hash, &at);
  }
  memcpy((char *)w->text.data + w->n_text, s, n);
  ((word_place *)w->places.data)[w->n] = (word_place){w->n_text, (uint32_t)n};
  w->n_text = size;
  ((word_slot *)w->slots.data)[at] = (word_slot){hash, ++w->n};
  return w->n - 1;
}

hia_status hiaR_words_read(hia_words *w, const char *text, size_t len, hia_value_error *error) {
  hia_scan scan;
  *error = (hia_value_error){.code = NULL};
  hia_status status = hiaR_scan_start(&scan, text, len, error);
  uint32_t first = w->n;
  while (status == HIA_OK && scan.s < scan.end) {
    const char *s = scan.s, *end = memchr(s, '\n', (size_t)(scan.end - s));
    scan.s = end ? end + 1 : scan.end;
    if (!end) end = scan.end;
    if (end > s && end[-1] == '\r') end--;
    uint32_t n = w->n, index = hiaR_words_add(w, s, (size_t)(end - s));
    if (index == HIA_NONE) return HIA_MEMORY;
    if (w->n == n) /* the words behind it would have other numbers than their lines */
      status = hiaR_scan_fail(&scan, "E0202", s, end, "the word '%.*s' is on line %u already",
                              end - s > 60 ? 60 : (int)(end - s), s, index - first + 1);
  }
  return status;
}

const hia_allocator *hiaR_words_allocator(const hia_words *w) { return &w->allocator; }

uint32_t hiaR_words_len(const hia_words *w) { return w->n; }

const char *hiaR_words_get(const hia_words *w, uint32_t i, size_t *n) {
  const word_place *place = (const word_place *)w->places.data + i;
  *n = place->len;
  return (const char *)w->text.data + place->at;
}

/* ---- constructors ---- */

/* What the fields of a constructor are, in order. */
typedef enum field_kind { FIELD_LABEL, FIELD_WORD, FIELD_TREE, FIELD_TREES } field_kind;

typedef struct fitting {
  bool is_usable; /* each of its fields is one of these */
  bool has_label, has_word, has_rest;
  uint64_t n_trees;
} fitting;

typedef struct open_bracket {
  const char *s;             /* where it opens */
  const char *label, *token; /* NULL: there is none, so far */
  uint32_t label_len, token_len;
  size_t trees; /* its first one */
} open_bracket;

typedef struct reader {
  const hia_bracket_reading *reading;
  const hia_type_table *types;
  hia_scan scan;
  hia_type tree;
  hia_block fittings, stack, done; /* fitting, by constructor; open_bracket; hia_word */
  size_t n_open, n_done;
  uint32_t unknown; /* the index of <unk> */
} reader;

static hia_status prepare(reader *r) {
  const hia_type_entry *entry = hiaR_type_entry(r->types, r->tree);
  const hia_allocator *allocator = r->reading->allocator;
  if (!hiaR_block_grow(&r->fittings, allocator, entry->n * sizeof(fitting))) return HIA_MEMORY;
  bool is_any = false;
  for (uint32_t i = 0; i < entry->n; i++) {
    const hia_ctor *ctor = hiaR_ctor(r->types, r->tree, i);
    fitting f = {.is_usable = true};
    for (uint32_t k = 0; k < ctor->n && f.is_usable; k++) {
      const hia_ctor_field *field = &r->types->fields[ctor->first + k];
      const char *name = r->types->names + field->name;
      bool is_i32 = field->type == HIA_I32;
      if (is_i32 && !f.has_label && strcmp(name, "label") == 0)
        f.has_label = true;
      else if (is_i32 && !f.has_word && strcmp(name, "word") == 0)
        f.has_word = true;
      else if (field->type == r->tree && !f.has_rest)
        f.n_trees++;
      else if (hiaR_type_kind(r->types, field->type) == HIA_KIND_ARRAY &&
               hiaR_type_entry(r->types, field->type)->element == r->tree && !f.has_rest)
        f.has_rest = true;
      else
        f.is_usable = false;
    }
    is_any |= f.is_usable;
    ((fitting *)r->fittings.data)[i] = f;
  }
  char name[128];
  hiaR_type_text(r->types, r->tree, name, sizeof name);
  if (is_any) return HIA_OK;
  return hiaR_scan_fail(&r->scan, "E0401", r->scan.s, r->scan.s,
                        "no constructor of %s has only fields that a bracket can fill: label: i32, "
                        "word: i32, and trees",
                        name);
}

/* The first constructor that fits; HIA_NONE: there is none. */
static uint32_t choose(const reader *r, const open_bracket *b, uint64_t n_trees) {
  const hia_type_entry *entry = hiaR_type_entry(r->types, r->tree);
  const fitting *f = r->fittings.data;
  for (uint32_t i = 0; i < entry->n; i++, f++) {
    if (!f->is_usable || f->has_word != (b->token != NULL) || (f->has_label && !b->label)) continue;
    if (f->has_rest ? n_trees >= f->n_trees : n_trees == f->n_trees) return i;
  }
  return HIA_NONE;
}

/* ---- brackets ---- */

static int cut(uint32_t len) { return len > 60 ? 60 : (int)len; }

static hia_status label_word(reader *r, const open_bracket *b, hia_word *word) {
  const char *s = b->label, *end = s + b->label_len;
  const hia_words *labels = r->reading->labels;
  if (labels) {
    uint32_t index = hiaR_words_find(labels, s, b->label_len);
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
  hia_words *words = r->reading->words;
  const char *s = b->token;
  uint32_t index = HIA_NONE;
  if (words && r->reading->may_add) {
    index = hiaR_words_add(words, s, b->token_len);
    if (index == HIA_NONE) return HIA_MEMORY;
  } else if (words) {
    index = hiaR_words_find(words, s, b->token_len);
    if (index == HIA_NONE) index = r->unknown;
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

static hia_status make_array(reader *r, hia_type type, const hia_word *trees, uint64_t n,
                             hia_word *word) {
  const hia_layout *layout = &hiaR_type_entry(r->types, type)->layout;
  hia_array *array = hiaR_new_array(r->reading->objects, layout, n);
  if (!array) return HIA_MEMORY;
  if (n) memcpy(array->data, trees, (size_t)n * sizeof *trees);
  *word = hiaR_word_of(array);
  return HIA_OK;
}

/* Makes the tree of a bracket, which becomes the last finished one in place of those in it. */
static hia_status close_bracket(reader *r, const open_bracket *b) {
  hia_scan *scan = &r->scan;
  uint64_t n_trees = r->n_done - b->trees, left = n_trees;
  const hia_word *tree = left ? (const hia_word *)r->done.data + b->trees : NULL;
  uint32_t number = choose(r, b, n_trees);
  if (number == HIA_NONE) {
    char name[128];
    hiaR_type_text(r->types, r->tree, name, sizeof name);
    return hiaR_scan_fail(scan, "E0401", b->s, scan->s,
                          "no constructor of %s fits a bracket with %s and %llu subtree%s", name,
                          b->token   ? "a word"
                          : b->label ? "a label"
                                     : "no label",
                          (unsigned long long)n_trees, n_trees == 1 ? "" : "s");
  }
  const hia_ctor *ctor = hiaR_ctor(r->types, r->tree, number);
  hia_word result = number;
  if (ctor->n) {
    hia_counted *object = hiaR_new_data(r->reading->objects, ctor, number);
    if (!object) return HIA_MEMORY;
    result = hiaR_word_of(object);
    hia_word_cursor at = {(char *)object, r->types->places + ctor->layout.first};
    for (uint32_t i = 0; i < ctor->n; i++) {
      const hia_ctor_field *field = &r->types->fields[ctor->first + i];
      hia_status status = HIA_OK;
      hia_word word = 0;
      if (field->type == r->tree)
        word = *tree++, left--;
      else if (field->type != HIA_I32)
        status = make_array(r, field->type, tree, left, &word);
      else if (r->types->names[field->name] == 'l')
        status = label_word(r, b, &word);
      else
        status = token_word(r, b, &word);
      if (status) return status;
      hiaR_put_word(&at, word);
    }
  }
  if (!hiaR_block_grow(&r->done, r->reading->allocator, (b->trees + 1) * sizeof result))
    return HIA_MEMORY;
  ((hia_word *)r->done.data)[b->trees] = result;
  r->n_done = b->trees + 1;
  return HIA_OK;
}

static bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

static hia_status read_token(reader *r, open_bracket *b) {
  hia_scan *scan = &r->scan;
  const char *s = scan->s, *end = s;
  while (end < scan->end && *end != '(' && *end != ')' && !is_blank(*end)) end++;
  scan->s = end;
  if ((size_t)(end - s) > UINT32_MAX)
    return hiaR_scan_fail(scan, "E0101", s, s + 1, "this word is too long");
  uint32_t len = (uint32_t)(end - s);
  if (b && !b->label && r->n_done == b->trees) {
    b->label = s;
    b->label_len = len;
    return HIA_OK;
  }
  if (b && !b->token && r->n_done == b->trees) {
    b->token = s;
    b->token_len = len;
    return HIA_OK;
  }
  return hiaR_scan_fail(scan, "E0101", s, end, "expected %s, found the word '%.*s'",
                        !b         ? "'('"
                        : b->token ? "')'"
                                   : "'(' or ')'",
                        cut(len), s);
}

/* Reads trees to the end of the text. */
static hia_status read_trees(reader *r) {
  hia_scan *scan = &r->scan;
  for (;;) {
    while (scan->s < scan->end && is_blank(*scan->s)) scan->s++;
    open_bracket *top = r->n_open ? (open_bracket *)r->stack.data + (r->n_open - 1) : NULL;
    hia_status status = HIA_OK;
    if (scan->s == scan->end) {
      if (!top) return HIA_OK;
      hiaR_scan_fail(scan, "E0101", top->s, top->s + 1, "this bracket is not closed");
      return HIA_ARGUMENT;
    }
    if (*scan->s == '(') {
      if (top && top->token)
        return hiaR_scan_fail(scan, "E0101", scan->s, scan->s + 1, "expected ')', found '('");
      if (!hiaR_block_grow(&r->stack, r->reading->allocator,
                           (r->n_open + 1) * sizeof(open_bracket)))
        return HIA_MEMORY;
      ((open_bracket *)r->stack.data)[r->n_open++] =
          (open_bracket){.s = scan->s++, .trees = r->n_done};
    } else if (*scan->s != ')') {
      status = read_token(r, top);
    } else if (!top) {
      return hiaR_scan_fail(scan, "E0101", scan->s, scan->s + 1, "expected '(', found ')'");
    } else {
      scan->s++;
      status = close_bracket(r, top);
      r->n_open--;
    }
    if (status) return status;
  }
}

static hia_status read_value(reader *r, hia_type type, hia_word *word) {
  bool is_array = hiaR_type_kind(r->types, type) == HIA_KIND_ARRAY;
  r->tree = is_array ? hiaR_type_entry(r->types, type)->element : type;
  if (hiaR_type_kind(r->types, r->tree) != HIA_KIND_DATA) {
    char name[128];
    hiaR_type_text(r->types, type, name, sizeof name);
    return hiaR_scan_fail(&r->scan, "E0401", r->scan.s, r->scan.s,
                          "expected a value of type %s, these are trees", name);
  }
  const hia_words *words = r->reading->words;
  r->unknown = words ? hiaR_words_find(words, "<unk>", 5) : HIA_NONE;
  hia_status status = prepare(r);
  if (status == HIA_OK) status = read_trees(r);
  if (status) return status;
  if (is_array) return make_array(r, type, r->done.data, r->n_done, word);
  if (r->n_done == 1) {
    *word = *(const hia_word *)r->done.data;
    return HIA_OK;
  }
  return hiaR_scan_fail(&r->scan, "E0101", r->scan.text, r->scan.text,
                        "expected one tree, found %zu", r->n_done);
}

hia_status hiaR_brackets_read(const hia_bracket_reading *reading, const char *text, size_t len,
                              hia_type type, hia_word *word, hia_value_error *error) {
  reader r = {.reading = reading, .types = reading->types};
  *error = (hia_value_error){.code = NULL};
  hia_status status = hiaR_scan_start(&r.scan, text, len, error);
  if (status == HIA_OK) status = read_value(&r, type, word);
  hiaR_block_free(&r.fittings, reading->allocator);
  hiaR_block_free(&r.stack, reading->allocator);
  hiaR_block_free(&r.done, reading->allocator);
  return status;
}
