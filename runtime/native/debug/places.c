/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
#include "runtime/base/loc.h"
#include "runtime/native/debug/parts.h"

const char *hiaR_debug_file(const hia_places *places) {
  return places->file && *places->file ? places->file : "-";
}

hia_debug_place hiaR_debug_place(const hia_places *places, uint32_t loc) {
  hia_debug_place place = {.function = "?", .file = hiaR_debug_file(places), .outer = HIA_NONE};
  if (loc >= places->n_locs) return place;
  const hia_image_loc *l = &places->locs[loc];
  if (l->fn < places->strings_size) place.function = places->strings + l->fn;
  if (strcmp(place.function, HIA_EXPRESSION) == 0) place.file = HIA_EXPRESSION;
  place.line = l->line;
  place.col = l->col;
  for (uint32_t i = l->parent; i < places->n_locs; i = places->locs[i].parent) {
    if (hiaR_loc_is_mark(places->locs[i].fn)) continue;
    place.outer = i;
    break;
  }
  return place;
}

typedef HIA_VEC(hia_debug_row) rows;

static void add(rows *list, hia_arena *arena, uint32_t pc, uint32_t loc) {
  hia_debug_row *last = list->len ? &list->data[list->len - 1] : NULL;
  if (last && last->pc == pc)
    last->loc = loc;
  else if (!last || last->loc != loc)
    hiaR_push(arena, list, (hia_debug_row){pc, loc});
}

const hia_debug_row *hiaR_debug_rows(const hia_debug_code *code, const hia_outline_function *f,
                                     hia_arena *arena, uint32_t *n) {
  rows list = {0};
  uint32_t n_lines = 0;
  const hia_table_line *lines =
      code->tables ? hiaR_tables_lines(code->tables, f->pc, &n_lines) : NULL;
  add(&list, arena, f->pc, f->loc);
  for (uint32_t i = 0; i < n_lines && lines[i].pc < f->end; i++) {
    uint32_t loc = lines[i].loc == HIA_NONE ? f->loc : lines[i].loc / 2;
    add(&list, arena, lines[i].pc, loc);
  }
  *n = list.len;
  return list.data;
}
