/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* What the numbers of values, regions and locations in the text refer to. */
#include "graph/ir/build.h"
#include "graph/read/reader.h"

static hia_label *label_of(hia_reader *r, hia_label_table *table, uint32_t n, hia_position where) {
  /* Each definition takes characters. So a number larger than the text is a mistake, and is refused
   * before it costs memory. */
  if (n > (size_t)(r->s->end - r->s->text))
    hiaG_scan_fail(r->s, where, "number %u is too large", n);
  if (n >= table->len) {
    hiaR_reserve(r->s->scratch, table, n + 1);
    memset(table->data + table->len, 0, (n + 1 - table->len) * sizeof(hia_label));
    table->len = n + 1;
  }
  return &table->data[n];
}

void hiaG_read_define(hia_reader *r, hia_label_table *table, uint32_t n, uint32_t to,
                      hia_position where, const char *sigil) {
  hia_label *l = label_of(r, table, n, where);
  if (l->epoch == r->epoch) hiaG_scan_fail(r->s, where, "%s%u is defined twice", sigil, n);
  *l = (hia_label){r->epoch, to};
}

uint32_t hiaG_read_find(const hia_reader *r, const hia_label_table *table, uint32_t n) {
  return n < table->len && table->data[n].epoch == r->epoch ? table->data[n].to : HIA_NONE;
}

hia_value_id hiaG_read_value(hia_reader *r) {
  hiaG_scan_skip(r->s);
  hia_position where = hiaG_scan_here(r->s);
  hiaG_scan_need(r->s, '%');
  uint32_t n = hiaG_scan_index(r->s);
  if (hiaG_scan_peek(r->s) == ':')
    hiaG_scan_fail(r->s, where, "the next node begins on a new line");
  hia_value_id v = hiaG_read_find(r, &r->values, n);
  if (v == HIA_NONE) hiaG_scan_fail(r->s, where, "%%%u is not defined before its use", n);
  return v;
}

uint32_t hiaG_read_region_label(hia_reader *r, hia_position *where) {
  hiaG_scan_skip(r->s);
  *where = hiaG_scan_here(r->s);
  hiaG_scan_need(r->s, '.');
  return hiaG_scan_index(r->s);
}

void hiaG_read_fix_later(hia_reader *r, bool at_end_of_file, hia_fix_kind kind, uint32_t at,
                         uint32_t n, hia_position where) {
  hia_fix f = {kind, r->fn_id, at, n, where};
  if (at_end_of_file)
    hiaR_push(r->s->scratch, &r->file_fixes, f);
  else
    hiaR_push(r->s->scratch, &r->fn_fixes, f);
}

hia_loc_id hiaG_read_location(hia_reader *r, hia_fix_kind kind, uint32_t at) {
  if (!hiaG_scan_accept(r->s, '!')) return HIA_NONE;
  hia_position where = hiaG_scan_here(r->s);
  uint32_t line = hiaG_scan_u32(r->s);
  if (hiaG_scan_peek(r->s) == ':') {
    r->s->at++;
    return hiaG_loc(r->g, line, hiaG_scan_u32(r->s), r->fn->source, HIA_NONE);
  }
  hiaG_read_fix_later(r, true, kind, at, line, where);
  return HIA_NONE;
}
