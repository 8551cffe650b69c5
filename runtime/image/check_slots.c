/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Lists of words, and the slots that they name: in range, and read and written as of one type.
 * Saying what is wrong. */
#include "runtime/image/check.h"
#include <stdarg.h>
#include <stdio.h>

bool HIA_PRINTF(2, 3) hiaR_check_bad(hia_image_checker *c, const char *fmt, ...) {
  if (!c->error_size) return false;
  size_t at = 0;
  if (c->s) {
    int n = snprintf(c->error, c->error_size, "section %u: ", c->number);
    at = n < 0 ? 0 : (size_t)n < c->error_size ? (size_t)n : c->error_size - 1;
  }
  va_list args;
  va_start(args, fmt);
  vsnprintf(c->error + at, c->error_size - at, fmt, args);
  va_end(args);
  return false;
}

bool hiaR_check_list(hia_image_checker *c, uint32_t first, uint32_t n) {
  if (n > c->h->words.n || first > c->h->words.n - n)
    return hiaR_check_bad(c, "a list is out of bounds");
  c->list_words += n;
  if (c->list_words > c->h->words.n) return hiaR_check_bad(c, "lists overlap");
  return true;
}

bool hiaR_check_list_below(hia_image_checker *c, uint32_t first, uint32_t n, uint32_t limit) {
  if (!hiaR_check_list(c, first, n)) return false;
  for (uint32_t i = 0; i < n; i++)
    if (c->words[first + i] >= limit) return hiaR_check_bad(c, "a slot is out of range");
  return true;
}

/* The type of the references that a slot of the section holds; NONE: it holds scalars. */
hia_type hiaR_check_ref_type(const hia_image_checker *c, const hia_image_section *s,
                             uint32_t slot) {
  const uint32_t *refs = c->words + s->refs;
  uint32_t low = 0, high = s->n_refs / 2;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (refs[2 * middle] == slot) return refs[2 * middle + 1];
    if (refs[2 * middle] < slot)
      low = middle + 1;
    else
      high = middle;
  }
  return HIA_NONE;
}

/* Checks that a slot can be read as `type` (NONE: a scalar). Constants below the first address are
 * references of any type. */
bool hiaR_check_read(hia_image_checker *c, const hia_image_section *s, uint32_t slot,
                     hia_type type) {
  uint32_t n_computed = s->n_slots - s->n_consts;
  if (slot < n_computed) {
    if (hiaR_check_ref_type(c, s, slot) == type) return true;
  } else if (type == HIA_NONE || c->consts[s->consts + slot - n_computed] < HIA_FIRST_ADDRESS) {
    return true;
  }
  return hiaR_check_bad(c, "slot %u is used as of another type", slot);
}

bool hiaR_check_write(hia_image_checker *c, const hia_image_section *s, uint32_t slot,
                      hia_type type) {
  return hiaR_check_ref_type(c, s, slot) == type ||
         hiaR_check_bad(c, "slot %u is written as of another type", slot);
}

/* The list of reference slots, of a section whose slots are in range. */
bool hiaR_check_refs(hia_image_checker *c, const hia_image_section *s) {
  if (s->n_refs % 2 || !hiaR_check_list(c, s->refs, s->n_refs))
    return hiaR_check_bad(c, "half a reference");
  const uint32_t *refs = c->words + s->refs;
  for (uint32_t i = 0; i < s->n_refs; i += 2) {
    if (refs[i] >= s->n_slots - s->n_consts || (i && refs[i] <= refs[i - 2]))
      return hiaR_check_bad(c, "a slot of references is out of order");
    if (!hiaR_check_is_type(c, refs[i + 1]) || hiaR_is_scalar(refs[i + 1]) ||
        hiaR_type_kind(&c->table, refs[i + 1]) == HIA_KIND_TUPLE)
      return hiaR_check_bad(c, "slot %u holds no references", refs[i]);
  }
  return true;
}

/* The list of slots that are read, which may be taken if they hold references. */
bool hiaR_check_operands(hia_image_checker *c, uint32_t first, uint32_t n, uint32_t action,
                         bool may_take) {
  const hia_image_section *s = c->s;
  if (!hiaR_check_list(c, first, n)) return false;
  for (uint32_t i = 0; i < n; i += action) {
    uint32_t slot = c->words[first + i] & ~HIA_IMAGE_TAKEN;
    if (slot >= s->n_slots) return hiaR_check_bad(c, "a slot is out of range");
    if (c->words[first + i] == slot) continue;
    if (!may_take || slot >= s->n_slots - s->n_consts ||
        hiaR_check_ref_type(c, s, slot) == HIA_NONE)
      return hiaR_check_bad(c, "slot %u cannot be taken", slot);
  }
  return true;
}

/* A loop's variables are parameters, so parameters may be written; constants may not. */
bool hiaR_check_moves(hia_image_checker *c, uint32_t first, uint32_t n, bool may_take) {
  const hia_image_section *s = c->s;
  if (n % 2) return hiaR_check_bad(c, "half a move");
  if (!hiaR_check_operands(c, first, n, 2, may_take)) return false;
  for (uint32_t i = 1; i < n; i += 2)
    if (c->words[first + i] >= s->n_slots - s->n_consts)
      return hiaR_check_bad(c, "a constant is written");
  for (uint32_t i = 0; i < n; i += 2)
    if (!hiaR_check_read(c, s, c->words[first + i] & ~HIA_IMAGE_TAKEN,
                         hiaR_check_ref_type(c, s, c->words[first + i + 1])))
      return false;
  return true;
}
