/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
#include "runtime/native/units.h"
#include <stdlib.h>

typedef struct unit {
  hia_loaded_code *loaded; /* NULL: it is never called */
  uintptr_t text;
  bool (*find)(void *user, uintptr_t text, uintptr_t return_address, hia_frame_row *row);
  void *user;
} unit;

struct hia_units {
  const hia_allocator *allocator;
  unit *units;
  uint32_t n;
  uint32_t *by_address; /* numbers of the units; those that were not loaded come first */
  hia_entry_at *entries;
  size_t n_fns;
};

/* ---- entries ---- */

static bool is_number(const char *symbol, const char *prefix, const char *digits) {
  size_t n = strlen(prefix);
  return digits == symbol + n && strncmp(symbol, prefix, n) == 0;
}

uint64_t *hiaR_entry_word(const char *symbol, hia_entry_at *entries, size_t n) {
  const char *last = strrchr(symbol, '_'), *digits = last ? last + 1 : NULL;
  if (!digits || *digits < '0' || *digits > '9' || (*digits == '0' && digits[1])) return NULL;
  char *end;
  unsigned long f = strtoul(digits, &end, 10);
  if (*end || f >= n) return NULL;
  if (is_number(symbol, HIA_ENTRY_SYMBOL, digits)) return &entries[f].entry;
  if (is_number(symbol, HIA_PAYS_SYMBOL, digits)) return &entries[f].pays;
  return is_number(symbol, HIA_CODE_SYMBOL, digits) ? &entries[f].code : NULL;
}

static void find_entries(hia_units *u, const hia_loaded_code *loaded) {
  const char *name;
  uintptr_t address;
  for (uint32_t i = 0; hiaR_code_symbol_at(loaded, i, &name, &address); i++) {
    uint64_t *word = hiaR_entry_word(name, u->entries, u->n_fns);
    if (word) *word = address;
  }
}

/* ---- loading ---- */

static hia_status lacks(const hia_units *u, hia_error **error, const char *what) {
  return hiaR_fail_text(u->allocator, error, HIA_INTERNAL, NULL, "compiled code has no %s", what);
}

static hia_status fill_hosts(const hia_units *u, const unit *to, const hia_host_target *hosts,
                             uint32_t n, hia_error **error) {
  uintptr_t address;
  if (!hiaR_code_symbol(to->loaded, HIA_HOST_TABLE, &address))
    return lacks(u, error, HIA_HOST_TABLE);
  if (!hiaR_code_has(to->loaded, address, n * sizeof(hia_host_row)))
    return lacks(u, error, "room for its host functions");
  hia_host_row *rows = (hia_host_row *)address;
  for (uint32_t i = 0; i < n; i++) rows[i] = (hia_host_row){hosts[i].function, hosts[i].user};
  return HIA_OK;
}

static hia_status fill_cells(const hia_units *u, const unit *to, const hia_unit_code *code,
                             hia_error **error) {
  uintptr_t address;
  if (!hiaR_code_symbol(to->loaded, HIA_CELLS, &address)) return lacks(u, error, HIA_CELLS);
  if (!hiaR_code_has(to->loaded, address, code->n_cells * sizeof(uintptr_t)))
    return lacks(u, error, "room for its cells");
  uintptr_t *cells = (uintptr_t *)address;
  for (uint32_t i = 0; i < code->n_cells; i++) {
    cells[i] = code->cells[i] < u->n_fns ? u->entries[code->cells[i]].code : 0;
    if (!cells[i]) return lacks(u, error, "function that another unit calls");
  }
  return HIA_OK;
}

static void sort(hia_units *u) {
  for (uint32_t i = 0; i < u->n; i++) {
    uint32_t at = i;
    for (; at > 0 && u->units[u->by_address[at - 1]].text > u->units[i].text; at--)
      u->by_address[at] = u->by_address[at - 1];
    u->by_address[at] = i;
  }
}

static hia_status load(hia_units *u, const hia_unit_code *codes, const hia_host_target *hosts,
                       uint32_t n_hosts, hia_error **error) {
  for (uint32_t i = 0; i < u->n; i++) {
    unit *to = &u->units[i];
    if (!codes[i].laid) continue;
    hia_status status =
        hiaR_code_load(u->allocator, codes[i].laid, codes[i].laid_size, &to->loaded, error);
    if (status) return status;
    to->text = hiaR_code_text(to->loaded);
    to->find = codes[i].find;
    to->user = codes[i].user;
    find_entries(u, to->loaded);
  }
  for (uint32_t i = 0; i < u->n; i++) {
    const unit *to = &u->units[i];
    hia_status status = HIA_OK;
    if (to->loaded && codes[i].calls_host) status = fill_hosts(u, to, hosts, n_hosts, error);
    if (to->loaded && codes[i].n_cells && !status) status = fill_cells(u, to, &codes[i], error);
    if (status) return status;
  }
  sort(u);
  return HIA_OK;
}

hia_status hiaR_units_load(const hia_allocator *allocator, const hia_unit_code *codes, uint32_t n,
                           size_t n_fns, const hia_host_target *hosts, uint32_t n_hosts,
                           hia_units **out, hia_error **error) {
  *out = NULL;
  hia_units *u = hiaR_alloc(allocator, sizeof *u);
  if (!u) return hiaR_fail_memory(allocator, error);
  size_t size;
  u->allocator = allocator;
  u->n = n;
  u->n_fns = n_fns;
  if (hiaR_mul(n_fns, sizeof *u->entries, &size)) u->entries = hiaR_alloc(allocator, size);
  u->units = hiaR_alloc(allocator, n * sizeof *u->units);
  u->by_address = hiaR_alloc(allocator, n * sizeof *u->by_address);
  hia_status status = u->entries && u->units && u->by_address
                          ? load(u, codes, hosts, n_hosts, error)
                          : hiaR_fail_memory(allocator, error);
  if (status)
    hiaR_units_release(u);
  else
    *out = u;
  return status;
}

void hiaR_units_release(hia_units *u) {
  if (!u) return;
  for (uint32_t i = 0; u->units && i < u->n; i++) hiaR_code_release(u->units[i].loaded);
  hiaR_free(u->allocator, u->units, u->n * sizeof *u->units);
  hiaR_free(u->allocator, u->by_address, u->n * sizeof *u->by_address);
  hiaR_free(u->allocator, u->entries, u->n_fns * sizeof *u->entries);
  hiaR_free(u->allocator, u, sizeof *u);
}

hia_entry_at *hiaR_units_entries(const hia_units *u) { return u->entries; }
uintptr_t hiaR_units_text(const hia_units *u, uint32_t i) { return u->units[i].text; }

/* ---- frames ---- */

/* The unit in whose code the address may lie is the last that begins before it. */
bool hiaR_units_find(void *user, uintptr_t return_address, hia_frame_row *row) {
  const hia_units *u = user;
  uint32_t low = 0, high = u->n;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (u->units[u->by_address[middle]].text < return_address)
      low = middle + 1;
    else
      high = middle;
  }
  const unit *at = low ? &u->units[u->by_address[low - 1]] : NULL;
  return at && at->find && at->find(at->user, at->text, return_address, row);
}
