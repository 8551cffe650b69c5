/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Calls of host functions by libffi. No other file refers to it, so a program whose image calls no
 * host function is linked without it. */
#include "runtime/host/host.h"
#include <ffi.h>

typedef struct prepared {
  ffi_cif cif;
  hia_host_target target;
  hia_host_signature signature; /* the caller owns its lists */
  ffi_type *types[];            /* of the arguments of the C function */
} prepared;

/* The C function has more arguments than the declared function: user data, and pointers to
 * results. */
enum { MAX_ARGUMENTS = 4096, FEW = 24 };

static size_t n_arguments(const hia_host_signature *s) {
  return 1 + (size_t)s->n_params + s->n_results;
}

static size_t size_of(const hia_host_signature *s) {
  if (n_arguments(s) > MAX_ARGUMENTS) return 0;
  return sizeof(prepared) + n_arguments(s) * sizeof(ffi_type *);
}

static ffi_type *type_of(hia_dtype dtype) {
  switch (dtype) {
  case HIA_BOOL: return &ffi_type_uint8;
  case HIA_I32: return &ffi_type_sint32;
  case HIA_I64: return &ffi_type_sint64;
  case HIA_F32: return &ffi_type_float;
  default: return &ffi_type_double;
  }
}

static bool by_pointer(const prepared *p) {
  return p->target.returns_status || p->signature.n_results != 1;
}

static bool prepare(void *at, const hia_host_target *target, const hia_host_signature *signature) {
  prepared *p = at;
  p->target = *target;
  p->signature = *signature;
  unsigned n = 0;
  if (target->takes_user) p->types[n++] = &ffi_type_pointer;
  for (uint32_t i = 0; i < signature->n_params; i++) p->types[n++] = type_of(signature->params[i]);
  for (uint32_t i = 0; by_pointer(p) && i < signature->n_results; i++)
    p->types[n++] = &ffi_type_pointer;
  ffi_type *result = target->returns_status ? &ffi_type_sint32
                     : by_pointer(p)        ? &ffi_type_void
                                            : type_of(signature->results[0]);
  return ffi_prep_cif(&p->cif, FFI_DEFAULT_ABI, n, result, p->types) == FFI_OK;
}

static hia_status make_call(const prepared *p, hia_word *slots, const uint32_t *ins,
                            const uint32_t *outs, void **arguments, hia_word *results,
                            hia_word **pointers) {
  const hia_host_signature *s = &p->signature;
  ffi_arg result = 0; /* libffi widens small results to it; a double fits */
  _Static_assert(sizeof(ffi_arg) >= sizeof(double), "no place for a double");
  ffi_cif cif = p->cif; /* libffi's parameter is not const */
  void *user = p->target.user;
  uint32_t n = 0;
  if (p->target.takes_user) arguments[n++] = &user;
  /* Words are little-endian and canonical: a smaller type stands at the start of one. */
  for (uint32_t i = 0; i < s->n_params; i++) arguments[n++] = &slots[ins[i]];
  for (uint32_t i = 0; by_pointer(p) && i < s->n_results; i++) {
    pointers[i] = &results[i];
    results[i] = 0;
    arguments[n++] = &pointers[i];
  }
  ffi_call(&cif, p->target.function, &result, arguments);
  if (p->target.returns_status) {
    hia_status status = hiaR_host_status((uint32_t)result);
    if (status) return status;
  }
  if (!by_pointer(p)) results[0] = (hia_word)result;
  for (uint32_t i = 0; i < s->n_results; i++)
    slots[outs[i]] = hiaR_load(hiaR_repr(s->results[i]), &results[i]);
  return HIA_OK;
}

static hia_status call(const void *prepared_call, hia_word *slots, const uint32_t *ins,
                       const uint32_t *outs, const hia_allocator *allocator) {
  const prepared *p = prepared_call;
  size_t n = n_arguments(&p->signature);
  void *few_arguments[FEW];
  hia_word few_results[FEW], *few_pointers[FEW];
  if (n <= FEW) return make_call(p, slots, ins, outs, few_arguments, few_results, few_pointers);
  size_t each = sizeof(void *) + sizeof(hia_word) + sizeof(hia_word *);
  char *block = hiaR_alloc(allocator, n * each);
  if (!block) return HIA_MEMORY;
  hia_word *results = (hia_word *)(void *)block;
  hia_word **pointers = (hia_word **)(void *)(results + n);
  hia_status status = make_call(p, slots, ins, outs, (void **)(pointers + n), results, pointers);
  hiaR_free(allocator, block, n * each);
  return status;
}

const hia_host_caller hiaR_ffi = {size_of, prepare, call};
