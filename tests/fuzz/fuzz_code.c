/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* libFuzzer target: any bytes are laid-out code or are refused. What is accepted is loaded, read
 * and written, but not executed.
 *
 * Nearly all inputs are refused for their size. So each is loaded twice: as it is, and with a head
 * whose numbers add up to it. */
#include "runtime/native/arch/arch.h"
#include "runtime/native/load.h"
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds, const char *what) {
  if (holds) return;
  fprintf(stderr, "%s\n", what);
  abort();
}

static void use(const hia_loaded_code *code, const hia_laid_code *head) {
  uintptr_t text = hiaR_code_text(code), address, found;
  uint64_t data_at = hiaR_laid_data_at(head), end = data_at + head->data_size;
  unsigned sum = 0;
  for (uint32_t i = 0; i < head->code_size; i++) sum += ((const unsigned char *)text)[i];
  char *data = (char *)text + data_at;
  if (head->data_size) {
    data[0] = data[head->data_size - 1] = (char)sum;
    if (head->data_size <= 1 << 20) memset(data, (int)sum, head->data_size);
  }
  const char *name;
  for (uint32_t i = 0; hiaR_code_symbol_at(code, i, &name, &address); i++) {
    check(address - text <= end, "a symbol outside");
    check(hiaR_code_symbol(code, name, &found) && found == address, "a symbol is not found");
  }
}

static void load(const void *bytes, size_t size) {
  hia_loaded_code *code;
  hia_error *error = NULL;
  hia_status checked = hiaR_code_check(bytes, size),
             status = hiaR_code_load(&hiaR_malloc, bytes, size, &code, &error);
  check((status == HIA_OK) == (code != NULL), "code without success");
  check((status == HIA_OK) == (error == NULL), "an error without failure");
  check(checked == HIA_OK || checked == HIA_BAD_IMAGE, "another status");
  check(checked == HIA_OK ? status == HIA_OK || status == HIA_INTERNAL || status == HIA_MEMORY
                          : status == HIA_INTERNAL,
        "the check says something else");
  if (code) {
    hia_laid_code head;
    memcpy(&head, bytes, sizeof head);
    use(code, &head);
  }
  hiaR_code_release(code);
  hia_error_free(error);
}

/* Makes the head one of so many bytes, as far as it can be. */
static void correct(hia_laid_code *head, size_t size) {
  memcpy(head->magic, HIA_LAID_MAGIC, sizeof head->magic);
  head->version = HIA_LAID_VERSION;
  head->machine = HIA_ARCH_MACHINE;
  head->abi = HIA_RT_ABI;
  head->spare = 0;
  head->n_relocations %= 16;
  head->n_imports %= 8;
  head->n_symbols %= 8;
  head->names_size %= 128;
  head->code_size = head->data_given = 0;
  uint64_t rows = hiaR_laid_size(head);
  if (size <= rows) return;
  head->text_size = 1;
  head->code_size = (uint32_t)(size - rows) / 2 + 1;
  head->data_given = (uint32_t)(size - rows) - head->code_size;
  if (head->data_size < head->data_given) head->data_size = head->data_given;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  load(data, size);
  hia_laid_code head;
  if (size < sizeof head) return 0;
  char *copy = malloc(size);
  if (!copy) return 0;
  memcpy(copy, data, size);
  memcpy(&head, data, sizeof head);
  correct(&head, size);
  memcpy(copy, &head, sizeof head);
  load(copy, size);
  free(copy);
  return 0;
}
