/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Calls whose words are references. A file of its own, so that a program which passes scalars alone
 * does not link the copying of results. */
#include "runtime/heap/tensor.h"
#include "runtime/native/host.h"
#include "runtime/value/value.h"
#include <hiaton/tensors.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

/* ---- rooms: memory of the host's for results ---- */

enum { MAX_ROOMS = 1000 }; /* as many parts as the tuple of a result can have */

static hia_status HIA_PRINTF(2, 3) refuse(hia_host_context *host, const char *fmt, ...) {
  va_list args;
  va_start(args, fmt);
  vsnprintf(host->said, sizeof host->said, fmt, args);
  va_end(args);
  host->why = host->said;
  return HIA_ARGUMENT;
}

/* Looks at the tensor for a room. Its header is overwritten if it leaves the run in another result,
 * too. */
static hia_status look(hia_host_context *host, hia_room *room, uint32_t i, bool is_tensor,
                       hia_word word) {
  const hia_tensor *t = is_tensor ? hiaR_tensor(word) : NULL;
  const hia_dtype dtype = (hia_dtype)room->dtype;
  char text[160];
  if (!t || hiaR_tensor_dtype(t) != dtype || hiaR_tensor_rank(t) != room->rank) {
    hiaR_shape_describe(dtype, &(hia_dims){0}, text, sizeof text);
    return refuse(host, "result %u is no tensor of %s of rank %u, for which there is room", i + 1,
                  text, room->rank);
  }
  room->shape = hiaR_tensor_dims(t);
  room->from = t->data;
  uint64_t n = hiaR_tensor_len(t), most = room->size / hiaR_dtype_size(dtype);
  if (n <= most) return HIA_OK;
  hiaR_shape_describe(dtype, &room->shape, text, sizeof text);
  return refuse(host, "result %u is %s, and there is room for %" PRIu64 " element%s", i + 1, text,
                most, most == 1 ? "" : "s");
}

static bool is_tensor(const hia_shapes *shapes, hia_type type) {
  return !hiaR_is_scalar(type) &&
         shapes->list[hiaR_shape_base(shapes, type)].ctor == HIA_SHAPE_TENSOR;
}

static void fill(const hia_room *room) {
  uint64_t n = 1;
  for (uint32_t k = 0; k < room->rank; k++) {
    room->dims[k] = room->shape.dims[k];
    n *= (uint64_t)room->dims[k];
  }
  size_t size = n * hiaR_dtype_size((hia_dtype)room->dtype);
  if (size) memmove(room->elements, room->from, size); /* it may be an argument, too */
}

hia_status hia_context_set_room(hia_context *context, size_t result, hia_dtype dtype, size_t rank,
                                void *elements, size_t n, int64_t *dims) {
  if (!context) return HIA_ARGUMENT;
  if (hiaR_is_in_call(context)) return HIA_BUSY;
  hia_host_context *host = context->host;
  const hia_allocator *allocator = &host->allocator;
  uint32_t size = (unsigned)dtype < HIA_N_DTYPES ? hiaR_dtype_size(dtype) : 0;
  if (result >= MAX_ROOMS || (!dims && (elements || n))) return HIA_ARGUMENT;
  if (dims && (size == 0 || rank < 1 || rank > HIA_MAX_RANK || n > PTRDIFF_MAX / size ||
               (n && !elements) || (uintptr_t)elements % size))
    return HIA_ARGUMENT;
  if (result >= host->n_rooms) {
    if (!dims) return HIA_OK;
    hia_room *rooms = hiaR_alloc(allocator, (result + 1) * sizeof *rooms);
    if (!rooms) return HIA_MEMORY;
    memset(rooms, 0, (result + 1) * sizeof *rooms);
    if (host->n_rooms) memcpy(rooms, host->rooms, host->n_rooms * sizeof *rooms);
    hiaR_free(allocator, host->rooms, host->n_rooms * sizeof *rooms);
    host->rooms = rooms;
    host->n_rooms = host->n_used_rooms = (uint32_t)result + 1;
  }
  host->rooms[result] = (hia_room){.elements = elements,
                                   .size = n * size,
                                   .dims = dims,
                                   .dtype = (uint32_t)dtype,
                                   .rank = (uint32_t)rank};
  return HIA_OK;
}

/* ---- calls ---- */

/* Results for which there is room are looked at first and written last, so that nothing is written
 * if one does not fit or there is no memory for the others. */
static hia_status leave(hia_exchange *exchange, const hia_code_module *module, uint32_t root,
                        hia_word *block) {
  const hia_code_root *r = &module->roots[root];
  const hia_type *types = r->types + r->n_params;
  hia_host_context *host = exchange->host;
  hia_word *words = block + r->n_params;
  uint32_t n_fuel = !(module->flags & HIA_CODE_WITHOUT_FUEL), n = r->n_results - n_fuel;
  uint32_t n_rooms = host->n_used_rooms < n ? host->n_used_rooms : n;
  hia_status status = HIA_OK;
  if (!n_rooms)
    return hiaR_objects_leave(exchange->to, module->shapes, types, words, r->n_results,
                              &exchange->has_outside);
  for (uint32_t i = 0; i < n_rooms && status == HIA_OK; i++)
    if (hiaR_room(host, i))
      status = look(host, hiaR_room(host, i), i, is_tensor(module->shapes, types[i]), words[i]);
  for (uint32_t i = 0; i < n && status == HIA_OK; i++) {
    bool has_outside = false;
    if (!hiaR_room(host, i))
      status =
          hiaR_objects_leave(exchange->to, module->shapes, &types[i], &words[i], 1, &has_outside);
    exchange->has_outside |= has_outside;
  }
  for (uint32_t i = 0; i < n_rooms && status == HIA_OK; i++)
    if (hiaR_room(host, i)) fill(hiaR_room(host, i));
  return status;
}

hia_status hiaR_enter_objects(hia_context *context, const hia_code_module *module, uint32_t root,
                              hia_word *block, hia_objects *to, bool *has_outside) {
  *has_outside = false;
  if (!context) return HIA_ARGUMENT;
  if (hiaR_is_in_call(context)) return HIA_BUSY;
  hia_exchange exchange = {.host = context->host, .leave = leave, .to = to};
  context->host->exchange = module->roots[root].types ? &exchange : NULL;
  hia_status status = module->flags & HIA_CODE_WITHOUT_FUEL
                          ? hiaR_enter(context, module, root, block)
                          : hiaR_enter_fuelled(context, module, root, block);
  context->host->exchange = NULL;
  *has_outside = exchange.has_outside;
  return status;
}
