/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Computes operations of one signature: their operands are put side by side, the operation is
 * called once, and their pending tensors become views of its result.
 *
 * Operands that lie one after the other already, in the order of the operations, are read where
 * they are. So what one firing has computed the next one mostly reads without a copy. */
#include "runtime/interp/later/noted.h"
#include "runtime/run/events.h"

typedef struct firing {
  hia_worker *w;
  hia_later *l;
  const hia_op_signature *s;
  uint32_t n; /* operations in this block */
  uint32_t list[HIA_FIRED_ROWS];
} firing;

static const hia_operation_instr *operation_of(const hia_noted *n) { return n->instr->u.operation; }

static bool is_shared(const firing *f) { return f->w->is_shared; }

static void drop(const firing *f, hia_word ref) {
  hiaR_tensor_drop(&f->w->heap, ref, is_shared(f));
}

static void drop_operands(hia_worker *w, const hia_noted *n) {
  const hia_word *words = hiaR_noted_words(w->later, n);
  if (!n->instr) {
    hiaR_tensor_drop(&w->heap, words[0], w->is_shared);
    return;
  }
  const hia_operation *o = &operation_of(n)->o;
  for (uint32_t i = 0; i < o->n_in; i++)
    if (hiaR_operand_is_tensor(o, i)) hiaR_tensor_drop(&w->heap, words[i], w->is_shared);
}

/* ---- results ---- */

/* A pending tensor becomes a view of `owner`, which is no view. */
static void resolve(const firing *f, hia_tensor *t, hia_word owner, char *data) {
  t->data = data;
  hiaR_retain(f->w, owner);
  *hiaR_tensor_owner(t) = owner;
  t->counted.ctor = HIA_TENSOR_VIEW;
}

/* The tensor of an operation, and what are parts of it. */
static void set_result(const firing *f, hia_noted *n, hia_word owner, char *data) {
  uint32_t size = hiaR_dtype_size(hiaR_tensor_dtype(n->out));
  resolve(f, n->out, owner, data);
  for (uint32_t i = n->parts; i != HIA_NONE; i = hiaR_noted(f->l, i)->next) {
    hia_noted *part = hiaR_noted(f->l, i);
    if (!part->out) continue;
    resolve(f, part->out, owner, data + part->at * size);
    drop_operands(f->w, part);
    hia_word out = (uintptr_t)part->out;
    part->out = NULL;
    drop(f, out);
  }
  hia_word out = (uintptr_t)n->out;
  n->out = NULL;
  drop(f, out);
}

/* The result of all operations of the block: row i belongs to the i-th. */
static hia_status set_results(const firing *f, hia_word all) {
  hia_tensor *t = hiaR_tensor(all);
  const hia_tensor *first = hiaR_noted(f->l, f->list[0])->out;
  uint64_t bytes = hiaR_tensor_bytes(first);
  if (hiaR_tensor_bytes(t) != bytes * f->n) return HIA_INTERNAL;
  hia_word owner = t->counted.ctor == HIA_TENSOR_VIEW ? *hiaR_tensor_owner(t) : all;
  for (uint32_t i = 0; i < f->n; i++) {
    hia_noted *n = hiaR_noted(f->l, f->list[i]);
    if (i + 4 < f->n) __builtin_prefetch(hiaR_noted(f->l, f->list[i + 4])->out, 1);
    drop_operands(f->w, n);
    set_result(f, n, owner, t->data + i * bytes);
  }
  drop(f, all);
  return HIA_OK;
}

/* ---- operands ---- */

/* A tensor that is an operand for one call, and owns nothing. */
typedef struct lent {
  _Alignas(hia_tensor) char bytes[sizeof(hia_tensor) + (HIA_MAX_RANK + 1) * sizeof(int64_t)];
} lent;

static hia_word lend(lent *to, hia_tensor_kind kind, hia_dtype dtype, const hia_dims *dims,
                     const char *data, hia_word owner) {
  hia_tensor *t = (hia_tensor *)(void *)to->bytes;
  hiaR_object_begin(&t->counted, hiaR_u16(kind));
  atomic_init(&t->counted.count, HIA_STICKY);
  t->counted.spare = hiaR_tensor_spare(dtype, dims->rank);
  t->data = (char *)(uintptr_t)data;
  memcpy(t->dims, dims->dims, dims->rank * sizeof *t->dims);
  *hiaR_tensor_owner(t) = owner;
  return (uintptr_t)t;
}

static hia_word operand_of(const firing *f, uint32_t row, uint32_t i) {
  return hiaR_noted_words(f->l, hiaR_noted(f->l, f->list[row]))[i];
}

/* The operands of a call: `lent` or, if is_own has the bit, tensors that the block owns. */
typedef struct operands {
  hia_word words[32];
  uint32_t is_own;
  lent lent[32];
} operands;

static bool lie_together(const firing *f, uint32_t i, uint64_t bytes) {
  const char *first = hiaR_tensor(operand_of(f, 0, i))->data;
  for (uint32_t k = 1; k < f->n; k++)
    if (hiaR_tensor(operand_of(f, k, i))->data != first + k * bytes) return false;
  return true;
}

/* The rows of operand i, a tensor, as one tensor of these dims. False: no memory. */
static bool gather(const firing *f, operands *x, uint32_t i, const hia_dims *dims) {
  const hia_tensor *first = hiaR_tensor(operand_of(f, 0, i));
  hia_dtype dtype = hiaR_tensor_dtype(first);
  uint64_t bytes = hiaR_tensor_bytes(first);
  if (lie_together(f, i, bytes)) {
    x->words[i] = lend(&x->lent[i], HIA_TENSOR_OUTSIDE, dtype, dims, first->data, 0);
    return true;
  }
  if (!hiaR_tensor_new(&f->w->heap, dtype, dims, &x->words[i])) return false;
  x->is_own |= 1u << i;
  char *to = hiaR_tensor(x->words[i])->data;
  for (uint32_t k = 0; k < f->n; k++, to += bytes)
    memcpy(to, hiaR_tensor(operand_of(f, k, i))->data, bytes);
  return true;
}

/* Operand i, a scalar of each operation. If they differ they become a tensor of these dims. */
static bool gather_scalars(const firing *f, operands *x, uint32_t i, const hia_dims *dims,
                           hia_dtype dtype, hia_operation *o) {
  bool is_same = true;
  x->words[i] = operand_of(f, 0, i);
  for (uint32_t k = 1; k < f->n; k++) is_same &= operand_of(f, k, i) == x->words[i];
  if (is_same) return true;
  if (!hiaR_tensor_new(&f->w->heap, dtype, dims, &x->words[i])) return false;
  x->is_own |= 1u << i;
  o->tensors |= (uint64_t)1 << i;
  for (uint32_t k = 0; k < f->n; k++)
    hiaR_tensor_put(hiaR_tensor(x->words[i]), k, operand_of(f, k, i));
  return true;
}

static void drop_gathered(const firing *f, const operands *x) {
  for (uint32_t i = 0; i < 32; i++)
    if (x->is_own >> i & 1) drop(f, x->words[i]);
}

/* The dims of rows: a first axis for the operations, and as many as the result has, so that rows
 * are broadcast as they would be alone. `own`: NULL of scalars. */
static void rows_of(const firing *f, const hia_tensor *own, uint32_t rank, hia_dims *dims) {
  uint32_t before = rank - (own ? hiaR_tensor_rank(own) : 0);
  dims->rank = 1 + rank;
  dims->dims[0] = f->n;
  for (uint32_t k = 0; k < rank; k++) dims->dims[1 + k] = k < before ? 1 : own->dims[k - before];
}

static bool gather_lifted(const firing *f, operands *x, hia_operation *o) {
  uint32_t rank = hiaR_tensor_rank(hiaR_noted(f->l, f->list[0])->out);
  for (uint32_t i = 0; i < o->n_in; i++) {
    hia_word word = operand_of(f, 0, i);
    bool is_tensor = hiaR_operand_is_tensor(o, i);
    hia_dims dims;
    rows_of(f, is_tensor ? hiaR_tensor(word) : NULL, rank, &dims);
    hia_dtype dtype = o->op == HIA_OP_SELECT && i == 0 ? HIA_BOOL : (hia_dtype)o->at;
    if (o->op == HIA_OP_CAST && !is_tensor) dtype = (hia_dtype)o->imm;
    x->words[i] = word;
    if (f->s->d.shared >> i & 1) continue;
    if (!(is_tensor ? gather(f, x, i, &dims) : gather_scalars(f, x, i, &dims, dtype, o)))
      return false;
  }
  return true;
}

static bool gather_rows(const firing *f, operands *x, const hia_operation *o) {
  for (uint32_t i = 0; i < o->n_in; i++) {
    x->words[i] = operand_of(f, 0, i);
    if (!hiaR_operand_is_tensor(o, i)) continue;
    const hia_tensor *own = hiaR_tensor(x->words[i]);
    hia_dims dims;
    rows_of(f, own, hiaR_tensor_rank(own), &dims);
    /* A vector next to a matrix of each operation. */
    if (o->op == HIA_OP_PRODUCT && hiaR_tensor_rank(own) == 1) {
      dims.rank = 3;
      dims.dims[1] = i == 0 ? 1 : own->dims[0];
      dims.dims[2] = i == 0 ? own->dims[0] : 1;
    }
    if (!gather(f, x, i, &dims)) return false;
  }
  return true;
}

/* A param of rank 3 as one matrix of all its rows. */
static hia_word as_matrix(lent *to, hia_word ref) {
  hia_tensor *t = hiaR_tensor(ref);
  if (hiaR_tensor_rank(t) == 2) return ref;
  hia_dims dims = {.rank = 2, .dims = {t->dims[0] * t->dims[1], t->dims[2]}};
  hia_word owner = t->counted.ctor == HIA_TENSOR_VIEW ? *hiaR_tensor_owner(t) : ref;
  return lend(to, HIA_TENSOR_VIEW, hiaR_tensor_dtype(t), &dims, t->data, owner);
}

/* W @ x of each x is X @ transpose(W). */
static bool gather_vectors(const firing *f, operands *x) {
  hia_word w = operand_of(f, 0, 0);
  const hia_tensor *first = hiaR_tensor(operand_of(f, 0, 1));
  const hia_dims dims = {.rank = 2, .dims = {f->n, first->dims[0]}};
  if (!gather(f, x, 1, &dims)) return false;
  x->words[0] = x->words[1];
  x->is_own >>= 1;
  x->words[1] = as_matrix(&x->lent[2], w);
  return true;
}

static bool gather_matrix(const firing *f, operands *x) {
  const hia_tensor *first = hiaR_tensor(operand_of(f, 0, 0));
  int64_t columns = first->dims[hiaR_tensor_rank(first) - 1];
  int64_t rows = (int64_t)hiaR_tensor_len(first) / columns;
  const hia_dims dims = {.rank = 2, .dims = {f->n * rows, columns}};
  x->words[1] = operand_of(f, 0, 1);
  return gather(f, x, 0, &dims);
}

static bool gather_all(const firing *f, operands *x, hia_operation *o) {
  x->is_own = 0;
  switch (f->s->d.way) {
  case HIA_WAY_LIFT: return gather_lifted(f, x, o);
  case HIA_WAY_VECTORS: return gather_vectors(f, x);
  case HIA_WAY_MATRIX: return gather_matrix(f, x);
  default: return gather_rows(f, x, o);
  }
}

/* ---- computing ---- */

/* An operation computed alone gets its references, and may work in place, as without batches. */
static hia_status compute_alone(const firing *f) {
  hia_noted *n = hiaR_noted(f->l, f->list[0]);
  const hia_operation_instr *a = operation_of(n);
  const hia_env env = hiaR_later_env(f->w);
  hia_misfortune why;
  hia_word out;
  const hia_word *words = hiaR_noted_words(f->l, n);
  hia_status status = a->operate(&env, &a->o, words, &out, &why);
  for (uint32_t i = 0; i < a->o.n_in; i++)
    if (hiaR_operand_is_tensor(&a->o, i) && !hiaR_operand_is_taken(&a->o, i)) drop(f, words[i]);
  if (status) {
    n->instr = NULL; /* its operands are gone; the run ends */
    return status;
  }
  hia_tensor *t = hiaR_tensor(out);
  if (hiaR_tensor_bytes(t) != hiaR_tensor_bytes(n->out)) return HIA_INTERNAL;
  hia_word owner = t->counted.ctor == HIA_TENSOR_VIEW ? *hiaR_tensor_owner(t) : out;
  set_result(f, n, owner, t->data);
  drop(f, out);
  return HIA_OK;
}

/* HIA_MEMORY: nothing has changed. */
static hia_status compute_together(const firing *f) {
  const hia_operation_instr *a = operation_of(hiaR_noted(f->l, f->list[0]));
  const hia_env env = hiaR_later_env(f->w);
  hia_operation o = a->o;
  hia_operate operate = a->operate;
  hia_misfortune why;
  hia_word out;
  operands x;
  o.takes = 0;
  uint64_t begin = hiaR_now();
  bool has_memory = gather_all(f, &x, &o);
  if (f->s->d.way == HIA_WAY_AXES) o.imm++;
  if (f->s->d.way == HIA_WAY_VECTORS) operate = hiaR_e_PRODUCT_BT;
  f->l->usage.gather_ns += hiaR_now() - begin;
  hia_status status = has_memory ? operate(&env, &o, x.words, &out, &why) : HIA_MEMORY;
  drop_gathered(f, &x);
  return status ? status : set_results(f, out);
}

static hia_status compute_each(firing *f) {
  uint32_t list[HIA_FIRED_ROWS], n = f->n;
  hia_status status = HIA_OK;
  memcpy(list, f->list, n * sizeof *list);
  f->n = 1;
  for (uint32_t i = 0; i < n && !status; i++) {
    f->list[0] = list[i];
    status = compute_alone(f);
  }
  return status;
}

static hia_status compute_block(firing *f) {
  if (f->n == 1 || f->s->d.way == HIA_WAY_ALONE) return compute_each(f);
  hia_status status = compute_together(f);
  return status == HIA_MEMORY ? compute_each(f) : status; /* with less memory */
}

/* Nothing but the table refers to the result. What would have read it is not needed either. */
static void drop_unneeded(hia_worker *w, hia_noted *n) {
  hia_tensor *t = n->out;
  drop_operands(w, n);
  n->out = NULL;
  hiaR_heap_release(&w->heap, t, hiaR_pending_size(hiaR_tensor_rank(t)));
}

/* Fills a block with the operations that are needed, of *left in the list from *at on. */
static void fill_block(firing *f, uint32_t *at, uint32_t *left) {
  for (f->n = 0; *left && f->n < HIA_FIRED_ROWS; --*left) {
    uint32_t i = *at;
    hia_noted *n = hiaR_noted(f->l, i);
    *at = n->next;
    if (hiaR_count(&n->out->counted) == 1)
      drop_unneeded(f->w, n);
    else
      f->list[f->n++] = i;
  }
}

hia_status hiaR_fire(hia_worker *w, uint32_t signature, uint32_t first, uint32_t n) {
  firing f;
  f.w = w;
  f.l = w->later;
  f.s = hiaR_op_signature(w->later, signature);
  hia_batch_usage *usage = &f.l->usage;
  uint64_t begin = hiaR_now(), gather_ns = usage->gather_ns, rows = usage->rows;
  uint64_t op = HIA_ROWS_OF_OP | hiaR_noted(f.l, first)->instr->u.operation->o.op;
  uint64_t all = n < HIA_ROWS_MOST ? n : HIA_ROWS_MOST;
  hia_status status = HIA_OK;
  while (n && !status) {
    fill_block(&f, &first, &n);
    uint32_t many = f.n;
    if (!many) break;
    if (hiaR_heap_must_end(w->heap.heap)) return HIA_CANCELLED;
    usage->rows += many;
    hiaR_event(w->ring, HIA_EVENT_ROWS_BEGIN, HIA_ROWS(op, many, all));
    status = compute_block(&f);
    hiaR_event(w->ring, HIA_EVENT_ROWS_END, HIA_ROWS(op, many, all));
  }
  usage->waves += f.s->d.way == HIA_WAY_ALONE ? usage->rows - rows : usage->rows > rows;
  usage->compute_ns += hiaR_now() - begin - (usage->gather_ns - gather_ns);
  return status;
}
