/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The sizes that the fields of constructors declare (hia_ctor.sizes). Whoever makes an object of
 * words from outside of runs checks them, so that programs can rely on them. */
#include "runtime/heap/tensor.h"
#include "runtime/value/value.h"
#include <stdio.h>

typedef struct checking {
  const hia_type_table *types;
  const uint32_t *size; /* the next */
  hia_size_misfit *misfit;
} checking;

static bool check_tensor(checking *c, hia_type type, hia_word word) {
  const hia_type_entry *entry = hiaR_type_entry(c->types, type);
  const uint32_t *sizes = c->size;
  c->size += entry->n;
  if (word < HIA_FIRST_ADDRESS) return true;
  const hia_tensor *tensor = hiaR_tensor(word);
  bool fits = true;
  for (uint32_t i = 0; i < entry->n; i++)
    fits &= sizes[i] == HIA_NONE || tensor->dims[i] == (int64_t)sizes[i];
  if (fits) return true;
  c->misfit->dtype = (hia_dtype)entry->element;
  c->misfit->found = hiaR_tensor_dims(tensor);
  c->misfit->wanted.rank = entry->n;
  for (uint32_t i = 0; i < entry->n; i++)
    c->misfit->wanted.dims[i] = sizes[i] == HIA_NONE ? HIA_DIM_UNKNOWN : (int64_t)sizes[i];
  return false;
}

static bool check(checking *c, hia_type type, const char *base,
                  const hia_layout_word **layout_word);

/* Each element has the same sizes. */
static bool check_array(checking *c, const hia_type_entry *entry, hia_word word) {
  const uint32_t *first = c->size, n = hiaR_type_sizes(c->types, entry->element);
  uint64_t len = word < HIA_FIRST_ADDRESS ? 0 : ((const hia_array *)(uintptr_t)word)->n;
  bool fits = true, has_sizes = false;
  for (uint32_t i = 0; i < n; i++) has_sizes |= first[i] != HIA_NONE;
  for (uint64_t i = 0; has_sizes && fits && i < len; i++) {
    const hia_array *array = (const hia_array *)(uintptr_t)word;
    const hia_layout_word *layout_word = c->types->layout_words + entry->layout.first;
    c->size = first;
    fits = check(c, entry->element, array->data + i * entry->layout.size, &layout_word);
  }
  c->size = first + n;
  return fits;
}

/* The words of a value of the type are those from *layout_word on. */
static bool check(checking *c, hia_type type, const char *base,
                  const hia_layout_word **layout_word) {
  hia_type_kind kind = hiaR_type_kind(c->types, type);
  if (kind == HIA_KIND_TUPLE) {
    const hia_type_entry *entry = hiaR_type_entry(c->types, type);
    for (uint32_t i = 0; i < entry->n; i++)
      if (!check(c, c->types->parts[entry->first + i], base, layout_word)) return false;
    return true;
  }
  const hia_layout_word *at = (*layout_word)++;
  if (kind != HIA_KIND_TENSOR && kind != HIA_KIND_ARRAY) return true;
  hia_word word = hiaR_load(HIA_REPR_REF, base + at->at);
  return kind == HIA_KIND_TENSOR ? check_tensor(c, type, word)
                                 : check_array(c, hiaR_type_entry(c->types, type), word);
}

bool hiaR_sizes_fit(const hia_type_table *types, const hia_ctor *ctor, const void *object,
                    hia_size_misfit *misfit) {
  if (!ctor->n_sizes) return true;
  checking c = {.types = types, .size = types->parts + ctor->sizes, .misfit = misfit};
  const hia_layout_word *layout_word = types->layout_words + ctor->layout.first;
  for (misfit->field = 0; misfit->field < ctor->n; misfit->field++)
    if (!check(&c, types->fields[ctor->first + misfit->field].type, object, &layout_word))
      return false;
  return true;
}

void hiaR_size_misfit_print(const hia_type_table *types, const hia_ctor *ctor,
                            const hia_size_misfit *misfit, char *buf, size_t size) {
  char wanted[160], found[160];
  hiaR_shape_describe(misfit->dtype, &misfit->wanted, wanted, sizeof wanted);
  hiaR_shape_describe(misfit->dtype, &misfit->found, found, sizeof found);
  snprintf(buf, size, "%s: field %.60s of %.60s is %s, the value is %s",
           hiaR_status_message(HIA_SHAPE),
           types->names + types->fields[ctor->first + misfit->field].name,
           types->names + ctor->name, wanted, found);
}
