/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Types as text: in the language's syntax, and as signatures. */
#include "runtime/value/value.h"

/* ---- in the language's syntax ---- */

size_t hiaR_type_text(const hia_type_table *types, hia_type type, char *buf, size_t size) {
  hia_open_type open[HIA_MAX_TYPE_PARTS];
  hia_type_pieces pieces = {.types = types, .type = type, .open = open, .max_open = HIA_LEN(open)};
  size_t len = 0;
  for (const char *piece; (piece = hiaR_type_piece(&pieces));) {
    size_t n = strlen(piece);
    if (n + 4 > size - len) piece = "...", n = 3, pieces.n_open = 0, pieces.type = HIA_NONE;
    if (n + 1 > size - len) len = size - 4;
    memcpy(buf + len, piece, n);
    len += n;
  }
  buf[len] = 0;
  return len;
}

/* ---- signatures ---- */

/* A number between `<` and `;` at s[*i], which is moved to the `;`: a type of the table that is no
 * tuple. HIA_NONE: it is none. */
static hia_type known_type(const hia_type_table *known, const char *s, size_t n, size_t *i) {
  uint64_t number = 0;
  size_t at = *i + 1;
  for (; at < n && s[at] >= '0' && s[at] <= '9' && number <= UINT32_MAX; at++)
    number = 10 * number + (uint64_t)(s[at] - '0');
  if (at == n || s[at] != ';' || !known || number < HIA_FIRST_TYPE ||
      number - HIA_FIRST_TYPE >= known->n_types ||
      hiaR_type_kind(known, (hia_type)number) == HIA_KIND_TUPLE)
    return HIA_NONE;
  *i = at;
  return (hia_type)number;
}

static void copy_rows(void *to, const void *from, size_t n, size_t size) {
  if (n) memcpy(to, from, n * size);
}

/* Tuples become entries in order of their closing brackets, behind those that are known. Their
 * parts are behind one another. */
hia_status hiaR_signature_read(hia_signature *signature, const hia_allocator *allocator,
                               const hia_type_table *known, const char *s, size_t n) {
  /* Every type takes a character, so n bounds the entries, the types, and the open brackets. */
  typedef struct {
    uint32_t first, n_words; /* of an open tuple: in `done` */
  } open_tuple;
  *signature = (hia_signature){.allocator = *allocator};
  size_t size, known_size, n_known = known ? known->n_types : 0,
                           n_known_parts = known ? known->n_parts : 0;
  if (n > UINT32_MAX / 2 ||
      !hiaR_mul(n + 1, sizeof(hia_type_entry) + 2 * sizeof(hia_type) + sizeof(open_tuple), &size) ||
      !hiaR_mul(n_known + n_known_parts, sizeof(hia_type_entry), &known_size) ||
      !hiaR_add(size, known_size, &size))
    return HIA_ARGUMENT;
  char *block = hiaR_alloc(allocator, size);
  if (!block) return HIA_MEMORY;
  signature->block = block;
  signature->size = size;
  hia_type_entry *entries = (hia_type_entry *)(void *)block;
  open_tuple *open = (open_tuple *)(void *)(entries + n_known + n + 1);
  hia_type *parts = (hia_type *)(void *)(open + n + 1), *done = parts + n_known_parts + n + 1;
  uint32_t n_types = (uint32_t)n_known, n_parts = (uint32_t)n_known_parts, n_done = 0, n_open = 0;
  hia_type_table *t = &signature->types;
  if (known) {
    *t = *known;
    copy_rows(entries, known->types, n_known, sizeof *entries);
    copy_rows(parts, known->parts, n_known_parts, sizeof *parts);
  }
  t->types = entries;
  t->parts = parts;
  for (size_t i = 0; i < n; i++) {
    if (s[i] == '(') {
      open[n_open++].first = n_done;
    } else if (s[i] == ')') {
      if (!n_open || n_done - open[n_open - 1].first < 2) goto wrong;
      uint32_t first = open[--n_open].first, n_words = 0;
      for (uint32_t k = first; k < n_done; k++) n_words += hiaR_type_words(t, done[k]);
      entries[n_types] = (hia_type_entry){
          .kind = HIA_KIND_TUPLE, .first = n_parts, .n = n_done - first, .n_words = n_words};
      memcpy(parts + n_parts, done + first, (n_done - first) * sizeof *parts);
      n_parts += n_done - first;
      n_done = first;
      done[n_done++] = HIA_FIRST_TYPE + n_types++;
    } else if (s[i] == '<') {
      hia_type type = known_type(known, s, n, &i);
      if (type == HIA_NONE) goto wrong;
      done[n_done++] = type;
    } else {
      hia_repr repr = hiaR_repr_of_code(s[i]);
      if (repr >= HIA_REPR_REF) goto wrong;
      done[n_done++] = (hia_type)repr;
    }
  }
  if (n_open) goto wrong;
  t->n_types = n_types;
  t->n_parts = n_parts;
  signature->parts = done;
  signature->n_parts = n_done;
  return HIA_OK;
wrong:
  hiaR_signature_free(signature);
  return HIA_ARGUMENT;
}

void hiaR_signature_free(hia_signature *signature) {
  hiaR_free(&signature->allocator, signature->block, signature->size);
  *signature = (hia_signature){.block = NULL};
}
