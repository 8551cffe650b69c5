/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The types of sums (runtime/base/sums.h). To everything else they are data types like others;
 * their names are none that a program can give to one. */
#include "graph/ir/sums.h"

static const char *name_of(hia_types *types, hia_dtype dtype, uint32_t rank) {
  hia_text text;
  hiaR_text_init(&text, &types->comp->scratch);
  hiaR_text_addf(&text, "sum(%s[", hiaG_dtype_name(dtype));
  for (uint32_t i = 0; i < rank; i++) hiaR_text_addf(&text, i ? ", ?" : "?");
  hiaR_text_addf(&text, "])");
  return text.data;
}

bool hiaG_has_name_of_sum(const hia_types *types, hia_type type) {
  if (hiaG_type_kind(types, type) != HIA_KIND_DATA) return false;
  const hia_type_entry *entry = &types->entries.data[type - HIA_FIRST_TYPE];
  return strncmp(types->names.data + entry->name, "sum(", 4) == 0;
}

bool hiaG_sum_of(const hia_types *types, hia_type type, hia_dtype *dtype, uint32_t *rank) {
  hia_type_table table = hiaG_type_table(types);
  return hiaG_has_name_of_sum(types, type) && hiaR_sum_of(&table, type, dtype, rank);
}

bool hiaG_is_sum(const hia_types *types, hia_type type) {
  hia_dtype dtype;
  uint32_t rank;
  return hiaG_sum_of(types, type, &dtype, &rank);
}

uint32_t hiaG_rank_of_sum(const hia_types *types, hia_type type) {
  hia_dtype dtype;
  uint32_t rank;
  return hiaG_sum_of(types, type, &dtype, &rank) ? rank : 0;
}

/* Makes a type of sums. `lower` is the sum of the rank below; for rank 1 the dtype. */
static hia_type make(hia_types *types, hia_dtype dtype, uint32_t rank, hia_type lower) {
  hia_mark mark = hiaR_arena_mark(&types->comp->scratch);
  hia_type sum = hiaG_data(types, name_of(types, dtype, rank));
  hiaR_arena_release(&types->comp->scratch, mark);
  if (hiaG_data_is_defined(types, sum)) return sum;
  static const char *const x[] = {"x"}, *const ab[] = {"a", "b"}, *const ix[] = {"i", "x"},
                           *const abc[] = {"a", "b", "c"}, *const xab[] = {"x", "a", "b"},
                           *const abcd[] = {"a", "b", "c", "d"},
                           *const abcde[] = {"a", "b", "c", "d", "e"};
  hia_type dense = hiaG_tensor(types, dtype, rank), vector = hiaG_tensor(types, dtype, 1);
  hia_type matrix = hiaG_tensor(types, dtype, 2);
  const hia_type of_both[] = {sum, sum}, of_dense[] = {dense}, of_row[] = {HIA_I64, lower},
                 of_rows[] = {hiaG_tensor(types, HIA_I64, 1), dense}, of_part[] = {HIA_I64, sum},
                 of_outer[] = {vector, vector}, of_products[] = {matrix, matrix},
                 of_pair[] = {vector, vector, vector}, of_dense_then[] = {dense, sum, sum},
                 of_outer_then[] = {vector, vector, sum, sum},
                 of_pair_then[] = {vector, vector, vector, sum, sum};
  const hia_ctor_def ctors[HIA_SUM_ALL] = {
      [HIA_SUM_NOTHING] = {"Nothing", NULL, NULL, 0},
      [HIA_SUM_BOTH] = {"Both", ab, of_both, 2},
      [HIA_SUM_DENSE] = {"Dense", x, of_dense, 1},
      [HIA_SUM_ROW] = {"Row", ix, of_row, 2},
      [HIA_SUM_ROWS] = {"Rows", ix, of_rows, 2},
      [HIA_SUM_PART] = {"Part", ix, of_part, 2},
      [HIA_SUM_DENSE_THEN] = {"DenseThen", xab, of_dense_then, 3},
      [HIA_SUM_OUTER] = {"Outer", ab, of_outer, 2},
      [HIA_SUM_PRODUCTS] = {"Products", ab, of_products, 2},
      [HIA_SUM_PAIR] = {"Pair", abc, of_pair, 3},
      [HIA_SUM_OUTER_THEN] = {"OuterThen", abcd, of_outer_then, 4},
      [HIA_SUM_PAIR_THEN] = {"PairThen", abcde, of_pair_then, 5},
  };
  hiaG_data_define(types, sum, ctors, rank > 1 ? HIA_SUM_ALL : HIA_SUM_FEW);
  return sum;
}

hia_type hiaG_sum_type(hia_types *types, hia_dtype dtype, uint32_t rank) {
  hia_type sum = (hia_type)dtype;
  if ((dtype != HIA_F32 && dtype != HIA_F64) || rank < 1 || rank > HIA_MAX_RANK)
    HIA_BUG(types->comp, "a sum of %s and rank %u", hiaG_dtype_name(dtype), rank);
  for (uint32_t r = 1; r <= rank; r++) sum = make(types, dtype, r, sum);
  return sum;
}
