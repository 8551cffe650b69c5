/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Reading frame tables. They come from our own compiler, with the code itself, and are not
 * checked. */
#include "runtime/native/tables.h"

/* Where the rows of each table begin. */
typedef struct rows {
  const hia_fork_arg *args;
  const hia_fork_site *sites;
  const hia_table_map *maps;
  const hia_table_function *functions;
  const hia_table_frame *frames;
  const hia_table_line *lines;
  const void *end;
} rows;

static rows rows_of(const hia_tables *t) {
  rows r;
  r.args = (const void *)(t + 1);
  r.sites = (const void *)(r.args + t->n_args);
  r.maps = (const void *)(r.sites + t->n_sites);
  r.functions = (const void *)(r.maps + t->n_maps);
  r.frames = (const void *)(r.functions + t->n_functions);
  r.lines = (const void *)(r.frames + t->n_frames);
  r.end = r.lines + t->n_lines;
  return r;
}

size_t hiaR_tables_size(const hia_tables *tables) {
  return (size_t)((const char *)rows_of(tables).end - (const char *)tables);
}

/* The index of the row that holds at `pc`: the last one that begins at or before it; n: there is
 * none. All rows begin with their pc. */
static uint32_t at(const void *first, size_t size, uint32_t n, uint32_t pc) {
  uint32_t low = 0, high = n;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2, begin;
    memcpy(&begin, (const char *)first + middle * size, sizeof begin);
    if (begin <= pc)
      low = middle + 1;
    else
      high = middle;
  }
  return low ? low - 1 : n;
}
#define AT(list, n, pc) at(list, sizeof *(list), n, pc)

/* A call's return address is the first byte after it, which may belong to another line or, after a
 * call that never returns, to another function: rows are looked up one byte before. */
bool hiaR_tables_find(const hia_tables *t, uintptr_t text, uintptr_t return_address,
                      hia_frame_row *row) {
  if (return_address <= text || return_address - text > t->text_size) return false;
  uint32_t pc = (uint32_t)(return_address - text - 1);
  rows r = rows_of(t);
  uint32_t frame = AT(r.frames, t->n_frames, pc), line = AT(r.lines, t->n_lines, pc),
           function = AT(r.functions, t->n_functions, pc);
  if (frame == t->n_frames || r.frames[frame].size == HIA_NO_FRAME) return false;
  static const hia_table_line none = {0, HIA_NONE, HIA_FORKS_UNKNOWN};
  const hia_table_line *l = line == t->n_lines ? &none : &r.lines[line];
  row->cfa = r.frames[frame].size;
  row->loc = l->loc == HIA_NONE ? HIA_NONE : l->loc / 2;
  row->is_tail = l->loc != HIA_NONE && l->loc % 2;
  row->number = l->number;
  row->forks = (hia_fork_map){.n_sites = 0};
  if (function != t->n_functions && pc < r.functions[function].end) {
    const hia_table_map *map = &r.maps[r.functions[function].map];
    row->forks = (hia_fork_map){.sites = r.sites + map->first_site,
                                .args = r.args,
                                .base = text - 1,
                                .n_sites = map->n_sites,
                                .below = map->below,
                                .keeps_number = map->keeps_number};
  }
  return true;
}

bool hiaR_tables_unwind(void *user, uintptr_t return_address, hia_frame_row *row) {
  const hia_linked_tables *linked = user;
  uintptr_t text = (uintptr_t)linked->anchor - linked->tables->anchor;
  return hiaR_tables_find(linked->tables, text, return_address, row);
}
