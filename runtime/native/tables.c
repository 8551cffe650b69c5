/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Reading frame tables. Those that come with the code from our own compiler or from a linker are
 * not checked; those of a cache are. */
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

hia_fork_site *hiaR_tables_sites(hia_tables *tables) {
  return (hia_fork_site *)((char *)(tables + 1) + tables->n_args * sizeof(hia_fork_arg));
}

static bool is_range(uint64_t first, uint64_t n, uint64_t of) {
  return first <= of && n <= of - first;
}

static bool is_site(const hia_tables *t, const rows *r, const hia_fork_site *s, uint32_t number,
                    uint32_t n_fns) {
  uint64_t gives = 0;
  if (s->around != HIA_NONE && s->around >= number) return false;
  if (s->index >= HIA_MAX_OPEN_FORKS || !is_range(s->first_arg, s->n_params, t->n_args))
    return false;
  for (uint32_t i = 0; i < s->n_params; i++) {
    const hia_fork_arg *a = &r->args[s->first_arg + i];
    gives |= a->handing == HIA_FORK_GIVES;
    if (a->repr >= HIA_N_REPRS) return false;
  }
  return s->gives == gives && s->entry <= n_fns && s->pays <= n_fns;
}

bool hiaR_tables_check(const void *bytes, size_t size, uint32_t n_fns, uint32_t n_locs) {
  const hia_tables *t = bytes;
  if (size < sizeof *t) return false;
  uint64_t wanted = sizeof *t + (uint64_t)t->n_args * sizeof(hia_fork_arg) +
                    (uint64_t)t->n_sites * sizeof(hia_fork_site) +
                    (uint64_t)t->n_maps * sizeof(hia_table_map) +
                    (uint64_t)t->n_functions * sizeof(hia_table_function) +
                    (uint64_t)t->n_frames * sizeof(hia_table_frame) +
                    (uint64_t)t->n_lines * sizeof(hia_table_line);
  if (wanted != size) return false;
  rows r = rows_of(t);
  for (uint32_t i = 0; i < t->n_maps; i++) {
    const hia_table_map *m = &r.maps[i];
    if (!is_range(m->first_site, m->n_sites, t->n_sites)) return false;
    for (uint32_t k = 0; k < m->n_sites; k++)
      if (!is_site(t, &r, &r.sites[m->first_site + k], k, n_fns)) return false;
  }
  for (uint32_t i = 0; i < t->n_functions; i++)
    if (r.functions[i].map >= t->n_maps) return false;
  for (uint32_t i = 0; i < t->n_lines; i++)
    if (r.lines[i].loc != HIA_NONE && r.lines[i].loc / 2 >= n_locs) return false;
  return true;
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

const hia_table_line *hiaR_tables_lines(const hia_tables *t, uint32_t pc, uint32_t *n) {
  rows r = rows_of(t);
  uint32_t first = AT(r.lines, t->n_lines, pc);
  first = first == t->n_lines ? 0 : first + (r.lines[first].pc < pc);
  *n = t->n_lines - first;
  return r.lines + first;
}

bool hiaR_tables_unwind(void *user, uintptr_t return_address, hia_frame_row *row) {
  const hia_linked_tables *linked = user;
  uintptr_t text = (uintptr_t)linked->anchor - linked->tables->anchor;
  return hiaR_tables_find(linked->tables, text, return_address, row);
}
