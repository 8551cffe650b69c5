/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* libFuzzer target: any bytes are an entry of the cache or are refused. What is accepted is used as
 * an engine would use it, but its code is not loaded (fuzz_code.c does that).
 *
 * An entry has the version of the runtime's ABI; each input is read once more with the right one.
 */
#include "jit/cache/entry.h"
#include "runtime/heap/object.h"
#include "runtime/native/module.h"
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile unsigned sum;

static void read_string(const hia_entry *e, uint32_t at) {
  sum += (unsigned)strlen(e->strings + at);
}

static void use_tables(const hia_entry_unit *u) {
  hia_frame_row row;
  for (uint32_t pc = 0; pc < u->tables->text_size && pc < 4096; pc++)
    if (hiaR_tables_find(u->tables, 1000, 1001 + pc, &row)) sum += row.cfa + row.loc + row.number;
}

static void use(const hia_entry *e) {
  hia_shapes *shapes;
  size_t size;
  for (uint32_t i = 0; i < e->n_files; i++) read_string(e, e->files[i].path);
  for (uint32_t i = 0; i < e->n_externs; i++) read_string(e, e->externs[i]);
  for (uint32_t i = 0; i < e->n_callees; i++) read_string(e, e->callees[i].name);
  for (uint32_t i = 0; i < e->n_result_names; i++)
    if (e->result_names[i] != HIA_NONE) read_string(e, e->result_names[i]);
  for (size_t i = 0; i < e->key_size; i++) sum += (unsigned char)e->key[i];
  for (uint32_t i = 0; e->origins && i < e->n_locs; i++) sum += e->origins[i];
  if (hiaR_shapes_new(&e->types, &hiaR_malloc, &shapes, &size) == HIA_OK)
    hiaR_free(&hiaR_malloc, shapes, size);
  for (uint32_t i = 0; i < e->n_units; i++) {
    const hia_entry_unit *u = &e->units[i];
    for (size_t k = 0; k < u->laid_size; k++) sum += ((const unsigned char *)u->laid)[k];
    use_tables(u);
  }
}

static void read_entry(const uint8_t *data, size_t size) {
  char *copy = malloc(size ? size : 1); /* aligned, and its end is seen */
  if (!copy) return;
  memcpy(copy, data, size);
  for (int again = 0; again < 2; again++) {
    hia_comp comp;
    hia_entry e;
    hiaR_comp_init(&comp, &hiaR_malloc);
    if (HIA_TRY(&comp))
      if (hiaJ_entry_read(copy, size, &comp.arena, &e)) use(&e);
    comp.armed = false;
    hiaR_comp_free(&comp);
    const uint32_t abi = HIA_RT_ABI;
    if (size < 16) break;
    memcpy(copy, "hiaentry", 8);
    memcpy(copy + 12, &abi, sizeof abi);
  }
  free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  read_entry(data, size);
  return 0;
}
