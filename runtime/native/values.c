/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Typed entries with data, arrays or tensors in their signatures. Data and arrays are values. A
 * tensor comes in as a view (hiaton/tensors.h), and goes out as a value.
 *
 * To the run a view is a tensor with a header here, in the context's memory, and with the host's
 * elements, which are not copied. Its count is sticky, so that nothing is computed in its place;
 * but unlike an object of a value, whose count is HIA_OUTSIDE, it does not outlive the call, and is
 * copied where it, or a view of it, is part of a result (value/leave.c). */
#include "runtime/heap/tensor.h"
#include "runtime/native/host.h"
#include "runtime/value/handle.h"
#include <inttypes.h>
#include <stdio.h>

typedef struct passing {
  hia_host_context *host;
  const hia_code_module *module;
  const hia_code_root *root;
  uint32_t n_params, n_results; /* without fuel */
  hia_word *block;
  const hia_word *given; /* what the entry has written behind the block */
} passing;

static bool is_fuelled(const hia_code_module *module) {
  return !(module->flags & HIA_CODE_WITHOUT_FUEL);
}

/* The type of a word as values hold it: in the table that it belongs to (hia_code_module.types). */
static const hia_type_info *type_of(const passing *p, uint32_t word) {
  const hia_type_info *type = hiaR_type_info(p->module->types, p->root->types[word]);
  return hiaR_type_info(type->types, type->type);
}

static const hia_value *argument(const passing *p, uint32_t i) {
  return (const hia_value *)(uintptr_t)p->given[i];
}

static hia_status wrong_argument(const passing *p, uint32_t i, const hia_value *value) {
  char wanted[96], found[96], *said = p->host->said;
  hia_type_info_format(type_of(p, i), wanted, sizeof wanted);
  hia_type_info_format(value ? value->type : NULL, found, sizeof found);
  if (!value)
    snprintf(said, sizeof p->host->said, "parameter %u is no value", i + 1);
  else if (strcmp(wanted, found) == 0)
    snprintf(said, sizeof p->host->said,
             "parameter %u is of a type %s of another program, which differs", i + 1, found);
  else
    snprintf(said, sizeof p->host->said, "parameter %u must be of type %s, and is of type %s",
             i + 1, wanted, found);
  return hiaR_host_refuse(p->host, HIA_ARGUMENT, said);
}

/* ---- tensors that hosts lend ---- */

/* The entry of the type of a word that is a tensor; NULL: it is none. */
static const hia_type_entry *tensor_type(const passing *p, uint32_t word) {
  if (hiaR_is_scalar(p->root->types[word])) return NULL;
  const hia_type_info *type = hiaR_type_info(p->module->types, p->root->types[word]);
  const hia_type_entry *entry = hiaR_type_entry(&type->types->table, type->type);
  return entry->kind == HIA_KIND_TENSOR ? entry : NULL;
}

static size_t header_size(const hia_type_entry *type) {
  return sizeof(hia_tensor) + type->n * sizeof(int64_t);
}

/* Makes room for the headers of all parameters that are tensors. */
static bool make_room(const passing *p) {
  hia_host_context *host = p->host;
  size_t size = 0;
  for (uint32_t i = 0; i < p->n_params; i++) {
    const hia_type_entry *type = tensor_type(p, i);
    if (type) size += header_size(type);
  }
  if (size <= host->views_size) return true;
  hiaR_free(&host->allocator, host->views, host->views_size);
  host->views_size = 0;
  host->views = hiaR_alloc(&host->allocator, size);
  if (host->views) host->views_size = size;
  return host->views != NULL;
}

static hia_status HIA_PRINTF(3, 4)
    wrong_tensor(const passing *p, uint32_t i, const char *fmt, ...) {
  char *said = p->host->said;
  size_t size = sizeof p->host->said;
  int len = snprintf(said, size, "parameter %u ", i + 1);
  va_list args;
  va_start(args, fmt);
  vsnprintf(said + len, size - (size_t)len, fmt, args);
  va_end(args);
  return hiaR_host_refuse(p->host, HIA_ARGUMENT, said);
}

/* Fills in the header of a view: the address of the elements, and the sizes behind it. */
static hia_status take_view(const passing *p, uint32_t i, const hia_type_entry *type,
                            hia_tensor *to) {
  const char *view = (const char *)(uintptr_t)p->given[i];
  const hia_dtype dtype = (hia_dtype)type->element;
  const uint32_t size = hiaR_dtype_size(dtype);
  const void *elements;
  uint64_t n;
  if (!view) return wrong_tensor(p, i, "is no tensor");
  memcpy(&elements, view, sizeof elements);
  atomic_init(&to->counted.count, HIA_STICKY);
  to->counted.ctor = HIA_TENSOR_OUTSIDE;
  to->counted.spare = hiaR_tensor_spare(dtype, type->n);
  memcpy(to->dims, view + sizeof elements, type->n * sizeof *to->dims);
  for (uint32_t k = 0; k < type->n; k++)
    if (to->dims[k] < 0) return wrong_tensor(p, i, "has a size of %" PRId64, to->dims[k]);
  hia_dims shape = hiaR_tensor_dims(to);
  if (!hiaR_shape_elements(&shape, size, &n) || n > PTRDIFF_MAX / 2 / size)
    return wrong_tensor(p, i, "is larger than memory can be");
  to->data = n ? (char *)(uintptr_t)elements : (char *)&to->dims[type->n]; /* never NULL */
  if (!to->data) return wrong_tensor(p, i, "has %" PRIu64 " elements, but no address", n);
  if ((uintptr_t)to->data % size)
    return wrong_tensor(p, i, "is not aligned: the address of its elements is no multiple of %u",
                        size);
  for (uint64_t k = 0; dtype == HIA_BOOL && k < n; k++)
    if ((uint8_t)to->data[k] > 1)
      return wrong_tensor(p, i, "has a bool that is neither 0 nor 1: element %" PRIu64, k);
  return HIA_OK;
}

/* ---- arguments and results ---- */

/* Writes the words of the arguments. */
static hia_status take_arguments(const passing *p) {
  if (!make_room(p)) return hiaR_host_refuse(p->host, HIA_MEMORY, NULL);
  char *room = p->host->views;
  for (uint32_t i = 0; i < p->n_params; i++) {
    if (hiaR_is_scalar(p->root->types[i])) continue;
    const hia_type_entry *tensor = tensor_type(p, i);
    if (tensor) {
      hia_status status = take_view(p, i, tensor, (hia_tensor *)(void *)room);
      if (status != HIA_OK) return status;
      p->block[i] = (uintptr_t)room;
      room += header_size(tensor);
      continue;
    }
    const hia_value *value = argument(p, i);
    bool is_same = false;
    if (value && hiaR_type_infos_compare(type_of(p, i), value->type, &p->host->allocator, &is_same))
      return hiaR_host_refuse(p->host, HIA_MEMORY, NULL);
    if (!is_same) return wrong_argument(p, i, value);
    p->block[i] = value->words[0];
  }
  return HIA_OK;
}

static bool gives_references(const passing *p) {
  for (uint32_t i = 0; i < p->n_results; i++)
    if (!hiaR_is_scalar(p->root->types[p->root->n_params + i])) return true;
  return false;
}

/* Makes the values of the results that are wanted. False: no memory. */
static bool give_results(const passing *p, hia_objects *objects, bool has_outside) {
  for (uint32_t i = 0; has_outside && i < p->n_params; i++)
    if (!hiaR_is_scalar(p->root->types[i]) && !tensor_type(p, i) &&
        !hiaR_objects_depend(objects, argument(p, i)->objects))
      return false;
  if (!has_outside && !hiaR_objects_bytes(objects)) objects = NULL;
  uint32_t first = p->root->n_params;
  for (uint32_t i = 0; i < p->n_results; i++) {
    uint32_t at = first + i;
    if (hiaR_is_scalar(p->root->types[at]) || !p->given[at]) continue;
    if (hiaR_room(p->host, i)) {
      p->block[at] = 0;
      continue;
    }
    hia_value *value = hiaR_value_new(&p->host->allocator, type_of(p, at), objects, &p->block[at]);
    if (value) {
      p->block[at] = (uintptr_t)value;
      continue;
    }
    while (i-- > 0)
      if (!hiaR_is_scalar(p->root->types[first + i]) && p->given[first + i])
        hia_value_free((hia_value *)(uintptr_t)p->block[first + i]);
    return false;
  }
  return true;
}

hia_status hiaR_enter_values(hia_context *context, const hia_code_module *module, uint32_t root,
                             hia_word *block) {
  if (!context) return HIA_ARGUMENT;
  if (hiaR_is_in_call(context)) return HIA_BUSY;
  const hia_code_root *r = &module->roots[root];
  uint32_t n_fuel = is_fuelled(module);
  const passing p = {.host = context->host,
                     .module = module,
                     .root = r,
                     .n_params = r->n_params - n_fuel,
                     .n_results = r->n_results - n_fuel,
                     .block = block,
                     .given = block + r->n_params + r->n_results};
  hia_status status = take_arguments(&p);
  if (status != HIA_OK) return status;
  bool has_refs = gives_references(&p);
  hia_objects *objects =
      has_refs ? hiaR_objects_new(&p.host->allocator, p.host->max_memory ? SIZE_MAX : 0) : NULL;
  if (has_refs && !objects) return hiaR_host_refuse(p.host, HIA_MEMORY, NULL);
  bool has_outside;
  status = hiaR_enter_objects(context, module, root, block, objects, &has_outside);
  if (status == HIA_OK && has_refs && !give_results(&p, objects, has_outside))
    status = hiaR_host_refuse(p.host, HIA_MEMORY, NULL);
  hiaR_objects_release(objects);
  return status;
}

/* ---- maps ---- */

/* Calls the root for the row of the block. */
static hia_status call_row(hia_context *context, const hia_code_module *module, const hia_map *map,
                           hia_word *block) {
  const hia_code_root *r = &module->roots[map->root];
  hia_word *words = hiaR_map_words(map, block), *given = words + r->n_params + r->n_results;
  for (uint32_t i = 0; i < map->n_params; i++) {
    hia_repr repr = (hia_repr)map->dtypes[i];
    hia_word word = hiaR_load(repr, hiaR_map_element(map, block, i));
    *(repr == HIA_REPR_REF ? &given[i] : &words[i]) = word;
  }
  for (uint32_t i = 0; i < map->n_results; i++) given[r->n_params + i] = true; /* it is wanted */
  hia_status status = hiaR_enter_values(context, module, map->root, words);
  for (uint32_t i = 0, k = map->n_params; status == HIA_OK && i < map->n_results; i++, k++)
    hiaR_store((hia_repr)map->dtypes[k], hiaR_map_element(map, block, k), words[r->n_params + i]);
  return status;
}

/* The error of a map names the row. */
static void note_row(hia_host_context *host, uint64_t row, uint64_t timeout_ns) {
  size_t len = strlen(host->said);
  if (host->why == host->said)
    snprintf(host->said + len, sizeof host->said - len, ", in row %llu", (unsigned long long)row);
  if (host->bounds.timeout_ns) host->bounds.timeout_ns = timeout_ns;
  host->bounds.row = row;
  host->bounds.has_row = true;
}

hia_status hiaR_enter_map_values(hia_context *context, const hia_code_module *module,
                                 const hia_map *map, hia_word *block) {
  if (!context) return HIA_ARGUMENT;
  if (hiaR_is_in_call(context)) return HIA_BUSY;
  hia_host_context *host = context->host;
  const char *why = hiaR_map_wrong(map, block);
  uint64_t n = block[HIA_MAP_N], *row = &block[HIA_MAP_ROW];
  *row = host->rows = 0;
  if (why || !n) return hiaR_host_refuse(host, why ? HIA_ARGUMENT : HIA_OK, why);
  uint64_t timeout_ns = host->timeout_ns, start = timeout_ns ? hiaR_now() : 0;
  host->n_used_rooms = 0;
  hia_status status = call_row(context, module, map, block);
  while (status == HIA_OK && ++*row < n) {
    if (timeout_ns) { /* the map's, of which each row has what is left */
      uint64_t taken = hiaR_now() - start;
      hia_context_set_timeout(context, taken < timeout_ns ? timeout_ns - taken : 1);
    }
    status = call_row(context, module, map, block);
  }
  if (timeout_ns) hia_context_set_timeout(context, timeout_ns);
  host->n_used_rooms = host->n_rooms;
  host->rows = *row;
  if (status != HIA_OK) note_row(host, *row, timeout_ns);
  return status;
}

/* ---- types ---- */

const hia_type_info *hiaR_root_type(const hia_code_module *module, uint32_t root, size_t i) {
  const hia_code_root *r = &module->roots[root];
  uint32_t n_fuel = is_fuelled(module), n_params = r->n_params - n_fuel;
  if (!r->types || i >= n_params + r->n_results - n_fuel) return NULL;
  hia_type type = r->types[i < n_params ? i : i + n_fuel];
  return hiaR_is_scalar(type) ? NULL : hiaR_type_info(module->types, type);
}
