/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The host functions that an image calls: found, and prepared for their caller. */
#include "runtime/image/decode.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Reads a signature; its dtypes are stored in `at`. If `at` is NULL, they are only counted. */
static hia_dtype *decode_dtypes(const char *from, char end, hia_dtype *to) {
  for (; *from != end; from++)
    if (*from != '(' && *from != ')') *to++ = (hia_dtype)hiaR_repr_of_code(*from);
  return to;
}

static hia_host_signature host_signature(const char *text, hia_dtype *at) {
  hia_host_signature s = {.params = at};
  const char *end = strchr(text, '>');
  for (const char *c = text; c < end; c++) s.n_params += *c != '(' && *c != ')';
  for (const char *c = end + 1; *c; c++) s.n_results += *c != '(' && *c != ')';
  if (!at) return s;
  s.results = decode_dtypes(text, '>', at);
  decode_dtypes(end + 1, 0, at + s.n_params);
  return s;
}

hia_status HIA_PRINTF(3, 4)
    hiaR_refuse_image(char *error, size_t error_size, const char *fmt, ...) {
  if (!error_size) return HIA_BAD_IMAGE;
  va_list args;
  va_start(args, fmt);
  vsnprintf(error, error_size, fmt, args);
  va_end(args);
  return HIA_BAD_IMAGE;
}

/* Computes how many bytes the prepared calls take. */
hia_status hiaR_size_hosts(const hia_image_tables *t, const hia_image_hosts *hosts, size_t *size,
                           char *error, size_t error_size) {
  *size = 0;
  for (uint32_t i = 0; i < t->h->externs.n; i++) {
    const char *name = t->strings + t->externs[i].name;
    hia_host_signature s = host_signature(t->strings + t->externs[i].signature, NULL);
    size_t call_size = hosts && hosts->caller ? hosts->caller->size(&s) : 0;
    if (!call_size) {
      return hiaR_refuse_image(error, error_size,
                               hosts && hosts->caller
                                   ? "the host's function %s has too many parameters"
                                   : "it calls the host's function %s, but no caller was given",
                               name);
    }
    *size +=
        hiaR_room(call_size, 1) + hiaR_room((size_t)s.n_params + s.n_results, sizeof(hia_dtype));
  }
  return HIA_OK;
}

hia_status hiaR_prepare_hosts(hia_decoder *d, char *error, size_t error_size) {
  for (uint32_t i = 0; i < d->t.h->externs.n; i++) {
    const hia_image_extern *e = &d->t.externs[i];
    const char *name = d->t.strings + e->name;
    hia_host_signature s = host_signature(d->t.strings + e->signature, NULL);
    s = host_signature(d->t.strings + e->signature,
                       hiaR_decode_take(d, (size_t)s.n_params + s.n_results, sizeof(hia_dtype)));
    void *at = hiaR_decode_take(d, d->hosts->caller->size(&s), 1);
    hia_host_target target = {0};
    if (!d->hosts->find(d->hosts->user, i, name, &target) || !target.function)
      return hiaR_refuse_image(error, error_size, "there is no function %s of the host", name);
    if (target.returns_status && !(e->flags & HIA_EXTERN_RAISES))
      return hiaR_refuse_image(error, error_size, "the host's function %s may fail", name);
    if (!d->hosts->caller->prepare(at, &target, &s))
      return hiaR_refuse_image(error, error_size, "the host's function %s cannot be called", name);
    d->prepared[i] = (hia_host_instr){.caller = d->hosts->caller,
                                      .prepared = at,
                                      .n_outs = s.n_results,
                                      .is_impure = (e->flags & HIA_EXTERN_IMPURE) != 0,
                                      .is_safe = target.is_safe};
  }
  return HIA_OK;
}

bool hiaR_given_host(void *user, uint32_t number, const char *name, hia_host_target *target) {
  (void)number;
  for (const hia_given_host *given = user; given->name; given++)
    if (strcmp(given->name, name) == 0) {
      *target = given->target;
      return true;
    }
  return false;
}
