/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* What a program says of a param: a tensor or scalar of floats that runs read, and training changes
 * (docs/language.md, "Params"). Its values are runtime/param/'s. */
#ifndef HIA_PARAM_SPEC_H
#define HIA_PARAM_SPEC_H

#include "runtime/base/shape.h"

/* What the elements are at first. */
typedef enum hia_init {
  HIA_INIT_FULL,           /* a */
  HIA_INIT_UNIFORM,        /* from a on and below b, all alike */
  HIA_INIT_NORMAL,         /* mean a, standard deviation b */
  HIA_INIT_GLOROT_UNIFORM, /* uniform, from -r to r, r = sqrt(6 / (fan in + fan out)): Glorot and
                              Bengio, AISTATS 2010, equation 16. The fans are the last two sizes; of
                              a vector its size and 1 */
} hia_init;
#define HIA_N_INITS 4

typedef struct hia_param_spec {
  const char *name;
  hia_dtype dtype; /* f32 or f64 */
  hia_init init;
  double a, b;    /* finite; others than the initialiser reads are 0 */
  hia_dims shape; /* of numbers; rank 0: a scalar */
} hia_param_spec;

/* True if the parts fit together, and the elements into memory of 2^63 bytes. */
bool hiaR_param_is_sound(const hia_param_spec *spec);
/* An initialiser's name, and how many of a and b it reads. */
const char *hiaR_init_name(hia_init init);
uint32_t hiaR_init_arity(hia_init init);

#endif
