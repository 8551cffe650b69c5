/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Reads DWARF as LLVM writes it for our functions, and understands no other. The formats: DWARF 4,
 * section 6.4 (call frames); .eh_frame as in the Linux Standard Base. */
#include "jit/llvm/dwarf.h"

hia_cursor hiaJ_cursor(const hia_elf_section *section) {
  const unsigned char *data = section->data;
  return (hia_cursor){data, data ? data + section->size : NULL, false};
}

uint64_t hiaJ_fixed(hia_cursor *c, unsigned n) {
  uint64_t value = 0;
  if ((size_t)(c->end - c->at) < n) {
    c->bad = true;
    c->at = c->end;
    return 0;
  }
  for (unsigned i = 0; i < n; i++) value |= (uint64_t)c->at[i] << (8 * i);
  c->at += n;
  return value;
}

uint64_t hiaJ_uleb(hia_cursor *c) {
  uint64_t value = 0, byte;
  unsigned shift = 0;
  do {
    byte = hiaJ_fixed(c, 1);
    if (shift < 64) value |= (byte & 0x7f) << shift;
    shift += 7;
  } while (byte & 0x80);
  return value;
}

int64_t hiaJ_sleb(hia_cursor *c) {
  uint64_t value = 0, byte;
  unsigned shift = 0;
  do {
    byte = hiaJ_fixed(c, 1);
    if (shift < 64) value |= (byte & 0x7f) << shift;
    shift += 7;
  } while (byte & 0x80);
  if (shift < 64 && (byte & 0x40)) value |= ~(uint64_t)0 << shift;
  return (int64_t)value;
}

void hiaJ_skip(hia_cursor *c, uint64_t n) {
  if (n > (uint64_t)(c->end - c->at)) c->bad = true;
  c->at = c->bad ? c->end : c->at + n;
}

hia_cursor hiaJ_slice(hia_cursor *c, uint64_t n) {
  hia_cursor part = {c->at, c->at, c->bad};
  hiaJ_skip(c, n);
  part.bad = c->bad;
  if (!part.bad) part.end = c->at;
  return part;
}

/* ---- .eh_frame ---- */

#define ENCODING 0x1b /* of addresses: relative, signed, 4 bytes */

static bool read_cie(hia_cursor c, hia_cie *out) {
  *out = (hia_cie){0};
  hiaJ_fixed(&c, 4); /* its id, 0 */
  if (hiaJ_fixed(&c, 1) != 1) return false;
  uint64_t encoding = 0;
  char augmentation[8] = "";
  for (unsigned i = 0;; i++) {
    char letter = (char)hiaJ_fixed(&c, 1);
    if (!letter) break;
    if (i >= sizeof augmentation - 1) return false;
    augmentation[i] = letter;
  }
  out->code_align = hiaJ_uleb(&c);
  out->data_align = hiaJ_sleb(&c);
  out->return_register = hiaJ_uleb(&c);
  if (augmentation[0] == 'z') {
    out->has_augmentation = true;
    hia_cursor data = hiaJ_slice(&c, hiaJ_uleb(&c));
    for (const char *letter = augmentation + 1; *letter; letter++) {
      if (*letter != 'R') return false; /* a personality, for one: our functions have none */
      encoding = hiaJ_fixed(&data, 1);
    }
  } else if (augmentation[0]) {
    return false;
  }
  out->initial = c;
  return !c.bad && encoding == ENCODING;
}

hia_eh_frame hiaJ_eh_frame(const hia_object *object) {
  return (hia_eh_frame){.object = object, .c = hiaJ_cursor(&object->eh_frame)};
}

/* Reads an FDE behind its id. False: it is left out. */
static bool read_fde(hia_eh_frame *r, hia_cursor entry, hia_fde *fde) {
  const hia_elf_section *section = &r->object->eh_frame;
  uint64_t at = (uint64_t)(entry.at - section->data);
  if (!hiaJ_object_place(r->object, section, at, &r->relocation, &fde->section, &fde->pc))
    return false;
  hiaJ_fixed(&entry, 4);
  fde->size = hiaJ_fixed(&entry, 4);
  if (r->cie.has_augmentation) hiaJ_skip(&entry, hiaJ_uleb(&entry));
  fde->cie = r->cie;
  fde->rules = entry;
  return true;
}

bool hiaJ_eh_frame_next(hia_eh_frame *r, hia_fde *fde) {
  while (r->c.end - r->c.at >= 4) {
    uint64_t length = hiaJ_fixed(&r->c, 4);
    if (length == 0) return false;
    const unsigned char *start = r->c.at;
    hia_cursor entry = hiaJ_slice(&r->c, length), peek = entry;
    if (length >= 0xfffffff0u || entry.bad) {
      r->is_bad = true;
      return false;
    }
    uint64_t id = hiaJ_fixed(&peek, 4);
    if (id == 0) {
      r->has_cie = read_cie(entry, &r->cie);
      r->is_bad |= !r->has_cie;
      r->cie_at = start - 4;
    } else if (!r->has_cie || start - id != r->cie_at) { /* all of ours share the CIE before them */
      r->is_bad = true;
    } else if (read_fde(r, peek, fde)) {
      return true;
    }
  }
  return false;
}
