/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Sums of parts that are all of the tensor. */
#include "runtime/tensor/collect.h"

/* A tensor at rows from .. to of axis 0. */
typedef struct tile {
  int64_t from, to;
  const hia_tensor *x;
} tile;

static tile tile_of(const hia_collecting *c, hia_word sum) {
  tile none = {-1, -1, NULL};
  hia_word x = hiaR_sum_word(sum, HIA_SUM_FIRST);
  int64_t from = hiaR_to_i64(hiaR_sum_word(sum, HIA_SUM_SECOND));
  if (x < HIA_FIRST_ADDRESS || hiaR_object(x)->ctor != HIA_SUM_DENSE || !hiaR_sum_is_sound(x))
    return none;
  const hia_tensor *t = hiaR_sum_tensor(x, HIA_SUM_FIRST);
  if (from < 0 || from > c->own_rows || t->dims[0] > c->own_rows - from) return none;
  for (uint32_t i = 1; i < c->shape.rank; i++)
    if (t->dims[i] != c->shape.dims[i]) return none;
  return (tile){from, from + t->dims[0], t};
}

/* Puts a tile among n others, which are in the order of their rows; one without rows is none. */
static uint32_t put_tile(tile *tiles, uint32_t n, tile t) {
  if (t.from == t.to) return n;
  uint32_t at = n;
  for (; at && tiles[at - 1].from > t.from; at--) tiles[at] = tiles[at - 1];
  tiles[at] = t;
  return n + 1;
}

/* Returns how many parts the sum consists of, if it consists of parts that are tensors, and these
 * are all of the result, one behind the other; else 0. */
static uint32_t find_tiles(const hia_collecting *c, hia_word sum, tile tiles[HIA_SUM_TILES]) {
  hia_word left[HIA_SUM_TILES];
  uint32_t n_left = 0, n = 0;
  left[n_left++] = sum;
  while (n_left) {
    hia_word next = left[--n_left];
    if (next < HIA_FIRST_ADDRESS) return 0;
    unsigned ctor = hiaR_object(next)->ctor;
    if (ctor != HIA_SUM_BOTH && ctor != HIA_SUM_PART) return 0;
    if (n + n_left + 2 > HIA_SUM_TILES) return 0;
    if (ctor == HIA_SUM_BOTH) {
      left[n_left++] = hiaR_sum_word(next, HIA_SUM_SECOND);
      left[n_left++] = hiaR_sum_word(next, HIA_SUM_FIRST);
      continue;
    }
    tile t = tile_of(c, next);
    if (!t.x) return 0;
    n = put_tile(tiles, n, t);
  }
  int64_t at = 0;
  for (uint32_t i = 0; i < n; at = tiles[i++].to)
    if (tiles[i].from != at) return 0;
  return at == c->own_rows ? n : 0;
}

static hia_status put_tiles(hia_collecting *c, const tile *tiles, uint32_t n) {
  hia_status status = hiaR_collect_make_result(c);
  for (uint32_t i = 0; i < n && !status; i++) {
    char *to = hiaR_collect_element(c, (uint64_t)tiles[i].from * c->below[0]);
    bool is_done = hiaR_work_copy(&c->work, to, tiles[i].x->data, hiaR_tensor_bytes(tiles[i].x));
    if (!is_done) status = HIA_CANCELLED;
  }
  return status;
}

hia_status hiaR_collect_tiles(hia_collecting *c, hia_word sum, bool *is_done) {
  tile tiles[HIA_SUM_TILES];
  uint32_t n = find_tiles(c, sum, tiles);
  *is_done = n > 0;
  return n ? put_tiles(c, tiles, n) : HIA_OK;
}
