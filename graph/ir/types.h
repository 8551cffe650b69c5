/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The types of a graph: a table that grows. Equal types are equal numbers: tuples and arrays are
 * interned by what they consist of, data types by name. */
#ifndef HIA_GRAPH_TYPES_H
#define HIA_GRAPH_TYPES_H

#include "runtime/base/base.h"
#include "runtime/base/type.h"

typedef struct hia_types {
  hia_comp *comp;
  HIA_VEC(hia_type_entry) entries;
  hia_u32vec parts;
  HIA_VEC(hia_ctor) ctors;
  HIA_VEC(hia_ctor_field) fields;
  HIA_VEC(hia_layout_word) layout_words;
  HIA_VEC(char) names;
  hia_index index; /* of entries */
} hia_types;
static inline bool hiaG_is_scalar(hia_type t) { return hiaR_is_scalar(t); }
void hiaG_types_init(hia_types *types, hia_comp *comp);
/* Returns the whole table; it holds until a type is added. */
hia_type_table hiaG_type_table(const hia_types *types);
bool hiaG_type_exists(const hia_types *types, hia_type type);
hia_type_kind hiaG_type_kind(const hia_types *types, hia_type type);
hia_type hiaG_tuple(hia_types *types, const hia_type *parts, uint32_t n); /* n >= 2 */
uint32_t hiaG_tuple_len(const hia_types *types, hia_type tuple);
hia_type hiaG_tuple_part(const hia_types *types, hia_type tuple, uint32_t i);
hia_type hiaG_array(hia_types *types, hia_type element);
hia_type hiaG_element(const hia_types *types, hia_type array);
/* Returns the type of tensors of a rank from 1 to HIA_MAX_RANK. A type does not say the sizes. */
hia_type hiaG_tensor(hia_types *types, hia_dtype dtype, uint32_t rank);
/* Returns that type if it has been made before, else NONE. Allocates nothing. */
hia_type hiaG_tensor_made(const hia_types *types, hia_dtype dtype, uint32_t rank);
hia_dtype hiaG_tensor_dtype(const hia_types *types, hia_type tensor);
uint32_t hiaG_rank(const hia_types *types, hia_type type); /* of a tensor or, 0, of a scalar */
/* Returns the dtype of a tensor, or the scalar type itself; HIA_N_DTYPES: the type is neither. */
hia_dtype hiaG_dtype(const hia_types *types, hia_type type);
/* Returns the type of this rank: a tensor's or, for rank 0, the scalar's. */
hia_type hiaG_ranked(hia_types *types, hia_dtype dtype, uint32_t rank);

/* Returns the data type of this name, at first without constructors, so that types can contain each
 * other. It has them from hiaG_data_define on, which is called once. */
typedef struct hia_ctor_def {
  const char *name;
  const char *const *field_names;
  const hia_type *field_types;
  uint32_t n_fields;
} hia_ctor_def;
hia_type hiaG_data(hia_types *types, const char *name);
/* Returns a new data type, whose name begins with `name`. */
hia_type hiaG_new_data(hia_types *types, const char *name, hia_arena *scratch);
bool hiaG_data_is_defined(const hia_types *types, hia_type data);
void hiaG_data_define(hia_types *types, hia_type data, const hia_ctor_def *ctors, uint32_t n);
/* Sets the sizes that the fields of a constructor declare, which so far has none: n of them, as in
 * hia_ctor. Must come before the type is copied to another table. */
void hiaG_data_sizes(hia_types *types, hia_type data, uint32_t number, const uint32_t *sizes,
                     uint32_t n);
/* True if these are the sizes. */
bool hiaG_data_has_sizes(const hia_types *types, hia_type data, uint32_t number,
                         const uint32_t *sizes, uint32_t n);
/* Marks a type and all that its values may lead to: marks[type - HIA_FIRST_TYPE]; no scalars. */
void hiaG_mark_parts(const hia_types *types, hia_type type, bool *marks);
/* True if values of the type are tensors, or may lead to some. */
bool hiaG_holds_tensors(const hia_types *types, hia_type type, hia_arena *scratch);
/* True if these are the constructors of the type, but for sizes. */
bool hiaG_data_is(const hia_types *types, hia_type data, const hia_ctor_def *ctors, uint32_t n);

uint32_t hiaG_type_words(const hia_types *types, hia_type type);
/* Returns the type in another table that is equal to one. Only `to` and its compilation are
 * changed. */
hia_type hiaG_type_copy(hia_types *to, const hia_types *from, hia_type type);
/* Writes the types of the words of a type, which are no tuples: hiaG_type_words of them. */
void hiaG_type_flatten(const hia_types *types, hia_type type, hia_type *out);
void hiaG_type_print(const hia_types *types, hia_type type, hia_text *out); /* as in the language */
/* Returns the type as text, in the scratch memory of the types' compilation; "?" if there is no
 * such type. */
const char *hiaG_type_text(const hia_types *types, hia_type type);
const char *hiaG_dtype_name(hia_dtype dtype);

#endif
