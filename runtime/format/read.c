/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Values of a given type from text.
 *
 * A loop begins values and finishes them, with a stack of those that are open. An object of data is
 * allocated where its bracket opens, and its fields are stored as they are read. The number of
 * elements of an array is not known before its end, so elements are collected in a stack of their
 * own, `elements`, and copied into an object then.
 *
 * What is not a literal where a scalar is expected may be an expression. Then the reader goes back
 * to the beginning of that scalar, or of the outermost tuple of scalars that it is in, and the
 * evaluator reads the expression. If nothing else is open, that is the whole text. */
#include "runtime/heap/tensor.h"
#include "runtime/value/names.h"
#include "runtime/value/scan.h"
#include <stdio.h>

typedef struct open_value {
  hia_type type;         /* of brackets: that of the value in them */
  uint16_t ctor;         /* of data */
  uint8_t kind;          /* hia_type_kind; NONE: brackets around a value */
  char close;            /* its last character */
  uint64_t next;         /* the next part */
  uint64_t n;            /* parts; of an array UINT64_MAX */
  hia_word_cursor outer; /* where to go on behind it; of a tuple where its words begin */
  size_t elements;       /* array, tensor: its first byte in `elements` */
  uint32_t axis;         /* of a tensor's list: along which axis its items lie */
  const char *s;         /* where it begins */
} open_value;

/* The value that was begun or finished last, if it is none of the open ones: the place to which the
 * reader can go back. */
typedef struct last_value {
  hia_type type; /* HIA_NONE: the reader cannot go back */
  size_t n_open;
  const char *s;
  hia_word_cursor at;
} last_value;

typedef struct reader {
  const hia_reading *reading;
  const hia_type_table *types;
  hia_scan scan;
  hia_ctor_names names;
  hia_block stack;      /* of open_value */
  hia_block elements;   /* of open arrays */
  hia_block parts;      /* of a type that is looked into */
  hia_layout_word item; /* of a tensor */
  size_t n_open, n_elements /* bytes */;
  hia_dims shape;     /* of the tensor that is read, as far as its sizes are known */
  hia_word_cursor at; /* where the next word goes */
  last_value last;
  bool is_done; /* begin: the value has no parts that follow */
} reader;

static open_value *top_of(reader *r) { return (open_value *)r->stack.data + (r->n_open - 1); }

/* Temporary memory is charged to the objects' limit while it lasts. */
static bool grow(reader *r, hia_block *block, size_t size) {
  const hia_objects *objects = r->reading->objects;
  size_t used = r->stack.size + r->elements.size;
  if (size <= block->size) return true;
  if (objects && size + used > hiaR_objects_left(objects)) return false;
  return hiaR_block_grow(block, r->reading->allocator, size);
}

static hia_status push(reader *r, open_value value) {
  if (!grow(r, &r->stack, (r->n_open + 1) * sizeof value)) return HIA_MEMORY;
  ((open_value *)r->stack.data)[r->n_open++] = value;
  r->is_done = false;
  return HIA_OK;
}

/* ---- scalars ---- */

static hia_status not_of_type(reader *r, hia_type type, const char *from, const char *to,
                              const char *what) {
  char name[128];
  hiaR_type_text(r->types, type, name, sizeof name);
  return hiaR_scan_fail(&r->scan, "E0401", from, to, "expected a value of type %s, this is %s",
                        name, what);
}

/* The commonest case: an integer of few digits. */
static bool read_short_integer(reader *r, hia_type type, hia_word *word) {
  const char *s = r->scan.s, *end = r->scan.end;
  bool is_negative = s < end && *s == '-';
  s += is_negative;
  const char *digits = s;
  uint32_t v = 0;
  while (s < end && hiaR_is_digit(*s) && s - digits < 10) v = v * 10 + (uint32_t)(*s++ - '0');
  if (s == digits || s - digits > 9 || (s < end && (hiaR_is_name(*s) || *s == '.'))) return false;
  int32_t x = is_negative ? -(int32_t)v : (int32_t)v;
  *word = type == HIA_I32 ? hiaR_from_i32(x) : hiaR_from_i64(x);
  r->scan.s = s;
  return true;
}

static hia_status read_scalar(reader *r, hia_type type) {
  hia_scan *scan = &r->scan;
  hia_word word;
  hia_literal literal;
  const char *from = scan->s;
  r->is_done = true;
  if ((type == HIA_I32 || type == HIA_I64) && read_short_integer(r, type, &word)) {
    hiaR_put_word(&r->at, word);
    return HIA_OK;
  }
  bool is_negative = hiaR_accept(scan, '-');
  if (is_negative) hiaR_skip_space(scan);
  if (!hiaR_scan_literal(scan, &literal) || (is_negative && literal.kind == HIA_LITERAL_BOOL)) {
    scan->s = from;
    return hiaR_scan_unexpected(scan, "a value");
  }
  const char *to = scan->s;
  if (literal.suffix != HIA_NO_LITERAL_SUFFIX && literal.suffix != type)
    return not_of_type(r, type, from, to, hiaR_reprs[literal.suffix].name);
  if (literal.kind == HIA_LITERAL_BOOL) {
    if (type != HIA_BOOL) return not_of_type(r, type, from, to, "bool");
    word = hiaR_from_bool(*literal.s == 't');
  } else if (type == HIA_BOOL) {
    return not_of_type(r, type, from, to, "a number");
  } else if (literal.kind != HIA_LITERAL_INT && type < HIA_F32) {
    return not_of_type(r, type, from, to, "a float");
  } else if (literal.kind == HIA_LITERAL_INF || literal.kind == HIA_LITERAL_NAN) {
    word = hiaR_infinite_word(literal.kind == HIA_LITERAL_NAN, is_negative, (hia_dtype)type);
  } else {
    hia_number_state state =
        hiaR_read_word(literal.s, literal.end, literal.is_hex, is_negative, (hia_dtype)type, &word);
    const char *name = hiaR_reprs[type].name;
    if (state == HIA_NUMBER_RANGE)
      return hiaR_scan_fail(scan, "E0312", from, to, "this integer does not fit %s", name);
    if (state == HIA_NUMBER_LARGE)
      return hiaR_scan_fail(scan, "E0313", from, to, "this number is too large for %s", name);
  }
  hiaR_put_word(&r->at, word);
  return HIA_OK;
}

/* ---- tuples ---- */

static bool is_tuple(const reader *r, hia_type type) {
  return hiaR_type_kind(r->types, type) == HIA_KIND_TUPLE;
}

/* Finds out whether the type is a scalar, or a tuple of scalars. */
static hia_status check_scalars(reader *r, hia_type type, bool *is_all) {
  typedef struct {
    hia_type type;
    uint32_t next;
  } open_tuple;
  size_t n = 0;
  for (*is_all = type != HIA_NONE; *is_all;) {
    if (is_tuple(r, type)) {
      if (!grow(r, &r->parts, (n + 1) * sizeof(open_tuple))) return HIA_MEMORY;
      ((open_tuple *)r->parts.data)[n++] = (open_tuple){type, 0};
    } else {
      *is_all = hiaR_is_scalar(type);
    }
    open_tuple *open = r->parts.data;
    while (n && open[n - 1].next == hiaR_type_entry(r->types, open[n - 1].type)->n) n--;
    if (!n) break;
    type = hiaR_part(r->types, open[n - 1].type, 0, open[n - 1].next++);
  }
  return HIA_OK;
}

/* True if the bracket here only encloses a value of the tuple's type: `((1, Nil))`. A tuple that is
 * written without such brackets begins with as many brackets as its type. If there are more, what
 * follows its first part decides. */
static bool is_enclosed(reader *r, hia_type type) {
  size_t n_type = 0, n = 0;
  for (; is_tuple(r, type); type = hiaR_part(r->types, type, 0, 0)) n_type++;
  hia_scan at = r->scan;
  while (hiaR_accept(&at, '(')) {
    if (++n > n_type) break;
    hiaR_skip_space(&at);
  }
  if (n <= n_type) return false;
  const char *end = hiaR_scan_expression(&r->scan, r->scan.s + 1);
  return end < r->scan.end && *end == ')';
}

/* ---- data ---- */

static hia_status wrong_name(reader *r, hia_type type, const char *from, const char *to) {
  hia_ctor_slot similar;
  char text[128];
  int n = to - from > 60 ? 60 : (int)(to - from);
  if (hiaR_find_ctor(&r->names, HIA_NONE, from, (size_t)(to - from), &similar)) return HIA_MEMORY;
  if (similar.type) {
    hiaR_type_text(r->types, similar.type, text, sizeof text);
    return not_of_type(r, type, from, to, text);
  }
  hiaR_scan_fail(&r->scan, "E0201", from, to, "unknown name '%.*s'", n, from);
  const hia_type_entry *entry = hiaR_type_entry(r->types, type);
  const char *names = r->types->names;
  hiaR_type_text(r->types, type, text, sizeof text);
  if (entry->n == 1)
    hiaR_scan_hint(&r->scan, "a %s is written %s", text,
                   names + hiaR_ctor(r->types, type, 0)->name);
  else
    hiaR_scan_hint(&r->scan, "a %s begins with %s, %s%s", text,
                   names + hiaR_ctor(r->types, type, 0)->name,
                   names + hiaR_ctor(r->types, type, 1)->name, entry->n > 2 ? ", ..." : "");
  return HIA_ARGUMENT;
}

/* `so_far` arguments lie before the place where the reader is: a comma, or the closing bracket. */
static hia_status wrong_arity(reader *r, const open_value *data, uint64_t so_far) {
  const hia_ctor *ctor = hiaR_ctor(r->types, data->type, data->ctor);
  const char *names = r->types->names, *at = r->scan.s;
  while (at < r->scan.end && *at == ',') {
    at = hiaR_scan_expression(&r->scan, at + 1);
    so_far++;
  }
  char list[160] = "";
  size_t len = 0;
  for (uint32_t i = 0; i < ctor->n && len < sizeof list; i++)
    len += (size_t)snprintf(list + len, sizeof list - len, "%s%s", i ? ", " : "",
                            names + r->types->fields[ctor->first + i].name);
  const char *end = at < r->scan.end ? at + 1 : at;
  return hiaR_scan_fail(&r->scan, "E0203", data->s, end,
                        "'%.60s' takes %u argument%s (%s), not %llu", names + ctor->name, ctor->n,
                        ctor->n == 1 ? "" : "s", list, (unsigned long long)so_far);
}

static hia_status begin_data(reader *r, hia_type type) {
  hia_scan *scan = &r->scan;
  const char *from = scan->s, *to = hiaR_scan_name(scan);
  hia_ctor_slot slot;
  if (to == from || hiaR_is_digit(*from)) {
    hia_literal literal;
    bool is_literal = hiaR_scan_literal(scan, &literal);
    to = scan->s;
    scan->s = from;
    if (is_literal) return not_of_type(r, type, from, to, "a number");
    return hiaR_scan_unexpected(scan, "a value");
  }
  if (hiaR_find_ctor(&r->names, type, from, (size_t)(to - from), &slot)) return HIA_MEMORY;
  if (!slot.type) return wrong_name(r, type, from, to);
  const hia_ctor *ctor = hiaR_ctor(r->types, type, slot.number);
  const char *name = r->types->names + ctor->name;
  scan->s = to;
  hiaR_skip_space(scan);
  bool is_called = hiaR_accept(scan, '(');
  if (!ctor->n) {
    if (is_called) {
      hiaR_scan_fail(scan, "E0209", from, to,
                     "the constructor '%.60s' has no fields: it is a value and is not called",
                     name);
      hiaR_scan_hint(scan, "write %.60s", name);
      return HIA_ARGUMENT;
    }
    hiaR_put_word(&r->at, slot.number);
    r->is_done = true;
    return HIA_OK;
  }
  if (!is_called)
    return hiaR_scan_fail(scan, "E0203", from, to,
                          "the constructor '%.60s' is called with all its fields", name);
  hia_counted *object = hiaR_new_data(r->reading->objects, ctor, slot.number);
  if (!object) return HIA_MEMORY;
  hiaR_put_word(&r->at, hiaR_word_of(object));
  hia_status status = push(r, (open_value){.type = type,
                                           .ctor = hiaR_u16(slot.number),
                                           .kind = HIA_KIND_DATA,
                                           .close = ')',
                                           .n = ctor->n,
                                           .outer = r->at,
                                           .s = from});
  r->at = (hia_word_cursor){(char *)object, r->types->layout_words + ctor->layout.first};
  hiaR_skip_space(scan);
  if (status == HIA_OK && scan->s < scan->end && *scan->s == ')')
    return wrong_arity(r, top_of(r), 0);
  return status;
}

/* All fields are there: r->at is the object's. */
static hia_status end_data(reader *r, const open_value *data) {
  const hia_ctor *ctor = hiaR_ctor(r->types, data->type, data->ctor);
  char *object = r->at.base;
  hia_size_misfit misfit;
  r->at = data->outer;
  if (!ctor->n_sizes) return HIA_OK;
  if (hiaR_sizes_fit(r->types, ctor, object, &misfit)) return HIA_OK;
  char text[512];
  hiaR_size_misfit_print(r->types, ctor, &misfit, text, sizeof text);
  return hiaR_scan_fail(&r->scan, "E0340", data->s, r->scan.s, "%s", text);
}

/* ---- arrays ---- */

/* Cursors into the elements move with them. */
static void rebase(hia_word_cursor *at, const char *old, size_t old_size, char *new) {
  size_t offset = (size_t)((uintptr_t)at->base - (uintptr_t)old);
  if (old && at->base && offset < old_size) at->base = new + offset;
}

/* Makes room for an element behind the present ones, whose words are the next. */
static hia_status add_element(reader *r, uint32_t size, const hia_layout_word *layout_words) {
  hia_block old = r->elements;
  if (!grow(r, &r->elements, r->n_elements + size)) return HIA_MEMORY;
  if (r->elements.size != old.size) {
    open_value *open = r->stack.data;
    for (size_t i = 0; i < r->n_open; i++)
      rebase(&open[i].outer, old.data, old.size, r->elements.data);
    rebase(&r->last.at, old.data, old.size, r->elements.data);
  }
  r->at = (hia_word_cursor){(char *)r->elements.data + r->n_elements, layout_words};
  r->n_elements += size;
  return HIA_OK;
}

static hia_status begin_element(reader *r, hia_type array) {
  const hia_layout *layout = &hiaR_type_entry(r->types, array)->layout;
  return add_element(r, layout->size, r->types->layout_words + layout->first);
}

static hia_status end_array(reader *r, const open_value *open) {
  const hia_layout *layout = &hiaR_type_entry(r->types, open->type)->layout;
  size_t size = r->n_elements - open->elements;
  hia_array *array = hiaR_new_array(r->reading->objects, layout, size / layout->size);
  if (!array) return HIA_MEMORY;
  if (size) memcpy(array->data, (char *)r->elements.data + open->elements, size);
  r->n_elements = open->elements;
  r->at = open->outer;
  hiaR_put_word(&r->at, hiaR_word_of(array));
  return HIA_OK;
}

static hia_status begin_array(reader *r, hia_type type) {
  const char *from = r->scan.s;
  if (!hiaR_accept(&r->scan, '[')) return hiaR_scan_unexpected(&r->scan, "'[' and an array");
  open_value open = {.type = type,
                     .kind = HIA_KIND_ARRAY,
                     .close = ']',
                     .n = UINT64_MAX,
                     .outer = r->at,
                     .elements = r->n_elements,
                     .s = from};
  hiaR_skip_space(&r->scan);
  if (hiaR_accept(&r->scan, ']')) {
    r->is_done = true;
    return end_array(r, &open);
  }
  hia_status status = push(r, open);
  return status ? status : begin_element(r, type);
}

/* ---- tensors ----
 *
 * Lists of lists of scalars, one inside the other for each axis. All lists of an axis are of one
 * length. Of a list without elements the axes inside it have no length unless others say one: it is
 * 0. Where a list could stand, a tensor without elements may, with its sizes. */

/* Makes room for the next item of the list, if it is a scalar. */
static hia_status begin_item(reader *r, const open_value *list) {
  const hia_type_entry *entry = hiaR_type_entry(r->types, list->type);
  if (list->axis + 1 < entry->n) return HIA_OK;
  r->item = (hia_layout_word){.type = entry->element, .repr = (uint8_t)entry->element};
  return add_element(r, hiaR_reprs[entry->element].size, &r->item);
}

/* The sizes that a field declares for the tensor which is being read, if it is the field's value;
 * else NULL. */
static const uint32_t *declared_sizes(const reader *r) {
  const open_value *open = r->stack.data;
  for (size_t i = r->n_open; i-- > 0;) {
    if (open[i].kind == HIA_KIND_NONE || open[i].kind == HIA_KIND_TENSOR) continue;
    if (open[i].kind != HIA_KIND_DATA) return NULL;
    const hia_ctor *ctor = hiaR_ctor(r->types, open[i].type, open[i].ctor);
    if (!ctor->n_sizes) return NULL;
    const uint32_t *sizes = r->types->parts + ctor->sizes;
    for (uint64_t field = 0; field + 1 < open[i].next; field++)
      sizes += hiaR_type_sizes(r->types, r->types->fields[ctor->first + field].type);
    return sizes;
  }
  return NULL;
}

/* Sizes that the text does not show are those that a field declares, or 0. */
static void find_sizes(reader *r) {
  const uint32_t *declared = NULL;
  for (uint32_t i = 0; i < r->shape.rank; i++) {
    if (r->shape.dims[i] != HIA_DIM_UNKNOWN) continue;
    if (!declared) declared = declared_sizes(r);
    bool is_declared = declared && declared[i] != HIA_NONE;
    r->shape.dims[i] = is_declared ? (hia_dim)declared[i] : 0;
  }
}

/* The tensor has this shape; its elements begin there, and its word goes there. */
static hia_status end_tensor(reader *r, hia_type type, size_t elements, hia_word_cursor outer) {
  find_sizes(r);
  hia_dtype dtype = (hia_dtype)hiaR_type_entry(r->types, type)->element;
  hia_tensor *tensor = hiaR_new_tensor(r->reading->objects, dtype, &r->shape);
  if (!tensor) return HIA_MEMORY;
  size_t size = r->n_elements - elements;
  if (size) memcpy(tensor->data, (char *)r->elements.data + elements, size);
  r->n_elements = elements;
  r->at = outer;
  hiaR_put_word(&r->at, hiaR_word_of(tensor));
  return HIA_OK;
}

static hia_status end_list(reader *r, const open_value *list) {
  uint64_t n = list->next;
  hia_dim *dim = &r->shape.dims[list->axis];
  if (*dim == HIA_DIM_UNKNOWN) *dim = (hia_dim)n;
  if ((uint64_t)*dim != n)
    return hiaR_scan_fail(&r->scan, "E0401", list->s, r->scan.s,
                          "this list has %llu element%s, and those before it have %lld: a tensor "
                          "is rectangular",
                          (unsigned long long)n, n == 1 ? "" : "s", (long long)*dim);
  return list->axis ? HIA_OK : end_tensor(r, list->type, list->elements, list->outer);
}

/* The axis that the next list is of. */
static uint32_t next_axis(reader *r) {
  if (!r->n_open) return 0;
  const open_value *top = top_of(r);
  return top->kind == HIA_KIND_TENSOR ? top->axis + 1 : top->kind == HIA_KIND_NONE ? top->axis : 0;
}

static void begin_tensor(reader *r, hia_type type) {
  r->shape.rank = hiaR_type_entry(r->types, type)->n;
  for (uint32_t i = 0; i < r->shape.rank; i++) r->shape.dims[i] = HIA_DIM_UNKNOWN;
}

/* What stands for the elements of a tensor without any must be one of them. */
static hia_status check_fill(reader *r, hia_type type, const hia_empty_tensor *tensor) {
  hia_type element = hiaR_type_entry(r->types, type)->element;
  const char *end = r->scan.s;
  if (!tensor->fill)
    return element >= HIA_F32 ? HIA_OK : not_of_type(r, type, tensor->s, end, "a tensor of floats");
  hia_word_cursor at = r->at;
  hia_word word;
  r->at = (hia_word_cursor){(char *)&word, NULL};
  r->scan.s = tensor->fill;
  hia_status status = read_scalar(r, element);
  r->at = at;
  r->scan.s = end;
  return status;
}

/* All of a tensor, or what lies behind an axis of one, without elements. */
static hia_status read_empty_tensor(reader *r, hia_type type, uint32_t axis) {
  hia_empty_tensor tensor;
  hia_status status = hiaR_scan_empty_tensor(&r->scan, &tensor);
  if (status == HIA_OK) status = check_fill(r, type, &tensor);
  if (status) return status;
  if (!axis) begin_tensor(r, type);
  if (tensor.shape.rank != r->shape.rank - axis)
    return hiaR_scan_fail(&r->scan, "E0401", tensor.s, r->scan.s,
                          "a tensor of rank %u is expected here, this has %u size%s",
                          r->shape.rank - axis, tensor.shape.rank,
                          tensor.shape.rank == 1 ? "" : "s");
  for (uint32_t i = 0; i < tensor.shape.rank; i++) {
    hia_dim *dim = &r->shape.dims[axis + i], inner = tensor.shape.dims[i];
    if (*dim == HIA_DIM_UNKNOWN) *dim = inner;
    if (*dim != inner)
      return hiaR_scan_fail(&r->scan, "E0401", tensor.s, r->scan.s,
                            "size %lld of this is %lld in what is before it: a tensor is "
                            "rectangular",
                            (long long)inner, (long long)*dim);
  }
  r->is_done = true;
  return axis ? HIA_OK : end_tensor(r, type, r->n_elements, r->at);
}

static hia_status begin_list(reader *r, hia_type type, uint32_t axis) {
  const char *from = r->scan.s;
  if (hiaR_scan_has_sizes(&r->scan)) return read_empty_tensor(r, type, axis);
  if (!hiaR_accept(&r->scan, '['))
    return hiaR_scan_unexpected(&r->scan, axis ? "'[' and a list" : "'[' and a tensor");
  if (!axis) begin_tensor(r, type);
  open_value list = {.type = type,
                     .kind = HIA_KIND_TENSOR,
                     .close = ']',
                     .n = UINT64_MAX,
                     .outer = r->at,
                     .elements = r->n_elements,
                     .axis = axis,
                     .s = from};
  hiaR_skip_space(&r->scan);
  if (hiaR_accept(&r->scan, ']')) {
    r->is_done = true;
    return end_list(r, &list);
  }
  hia_status status = push(r, list);
  return status ? status : begin_item(r, &list);
}

/* ---- slices ----
 *
 * A list may be followed by a slice, as in the language. So an array without elements can say of
 * what it has none, where no type is given: `[Leaf(1, 2)][0..0]`. */

/* Behind a list, which has items: drops those that are not in the slices that follow. */
static hia_status slice(reader *r, open_value *list) {
  uint64_t from, to;
  while (hiaR_scan_slice(&r->scan, &from, &to)) {
    if (from > to || to > list->next)
      return hiaR_scan_fail(&r->scan, "E0401", list->s, r->scan.s,
                            "the slice %llu..%llu is not within %llu element%s",
                            (unsigned long long)from, (unsigned long long)to,
                            (unsigned long long)list->next, list->next == 1 ? "" : "s");
    char *items = (char *)r->elements.data + list->elements;
    size_t size = list->next ? (r->n_elements - list->elements) / (size_t)list->next : 0;
    list->next = to - from;
    if (size) memmove(items, items + (size_t)from * size, (size_t)list->next * size);
    r->n_elements = list->elements + (size_t)list->next * size;
  }
  return HIA_OK;
}

/* ---- all ---- */

/* Begins a value, up to its first part. */
static hia_status begin(reader *r, hia_type type) {
  hia_scan *scan = &r->scan;
  r->last = (last_value){type, r->n_open, scan->s, r->at};
  if (hiaR_is_scalar(type)) return read_scalar(r, type);
  bool is_bracket = scan->s < scan->end && *scan->s == '(';
  hia_type_kind kind = hiaR_type_kind(r->types, type);
  uint32_t axis = kind == HIA_KIND_TENSOR ? next_axis(r) : 0;
  if (kind == HIA_KIND_TUPLE && !is_bracket) return hiaR_scan_unexpected(scan, "'(' and a tuple");
  if (is_bracket) {
    bool is_enclosing = kind != HIA_KIND_TUPLE || is_enclosed(r, type);
    open_value open = {.type = type,
                       .kind = is_enclosing ? HIA_KIND_NONE : HIA_KIND_TUPLE,
                       .close = ')',
                       .n = is_enclosing ? 1 : hiaR_type_entry(r->types, type)->n,
                       .outer = r->at,
                       .axis = axis,
                       .s = scan->s++};
    return push(r, open);
  }
  return kind == HIA_KIND_DATA     ? begin_data(r, type)
         : kind == HIA_KIND_TENSOR ? begin_list(r, type, axis)
                                   : begin_array(r, type);
}

static hia_status trailing_comma(reader *r, const char *comma) {
  return hiaR_scan_fail(&r->scan, "E0102", comma, comma + 1,
                        "trailing comma: a list ends with its last element");
}

static hia_type next_part(const reader *r, open_value *top) {
  uint64_t i = top->next++;
  if (top->kind == HIA_KIND_TENSOR) {
    const hia_type_entry *entry = hiaR_type_entry(r->types, top->type);
    return top->axis + 1 == entry->n ? entry->element : top->type;
  }
  return top->kind == HIA_KIND_NONE ? top->type : hiaR_part(r->types, top->type, top->ctor, i);
}

/* Neither a comma that the value may have here, nor its end. */
static hia_status wrong_end(reader *r, const open_value *top, char c) {
  bool is_next = c == ',' || c == top->close;
  if (top->kind == HIA_KIND_DATA && is_next) return wrong_arity(r, top, top->next);
  return hiaR_scan_unexpected(&r->scan, top->close == ']'     ? "']' or ','"
                                        : top->next == top->n ? "')'"
                                        : c == ')'            ? "',' and another part"
                                                              : "')' or ','");
}

/* Behind a value: closes what it is the last part of. Unless all is read then, *type becomes that
 * of the next part. */
static hia_status finish(reader *r, hia_type *type) {
  hia_scan *scan = &r->scan;
  while (r->n_open) {
    open_value *top = top_of(r);
    hiaR_skip_space(scan);
    char c = scan->s < scan->end ? *scan->s : 0;
    if (c == ',' && top->next < top->n) {
      const char *comma = scan->s++;
      hiaR_skip_space(scan);
      if (scan->s < scan->end && *scan->s == top->close) return trailing_comma(r, comma);
      *type = next_part(r, top);
      return top->kind == HIA_KIND_ARRAY    ? begin_element(r, top->type)
             : top->kind == HIA_KIND_TENSOR ? begin_item(r, top)
                                            : HIA_OK;
    }
    bool is_list = top->close == ']';
    if (c != top->close || (top->next < top->n && !is_list)) return wrong_end(r, top, c);
    scan->s++;
    r->last = (last_value){top->type, r->n_open - 1, top->s, top->outer};
    hia_status status = is_list ? slice(r, top) : HIA_OK;
    if (status) return status;
    if (is_list) status = top->kind == HIA_KIND_ARRAY ? end_array(r, top) : end_list(r, top);
    if (status) return status;
    if (top->kind == HIA_KIND_DATA && (status = end_data(r, top))) return status;
    r->n_open--;
  }
  *type = HIA_NONE;
  hiaR_skip_space(scan);
  return scan->s == scan->end ? HIA_OK : hiaR_scan_unexpected(scan, "the end of the value");
}

/* After an error: reads an expression in place of the last scalar or tuple of scalars, if the text
 * there may be one. Returns the status of the error otherwise. */
static hia_status evaluate(reader *r) {
  hia_scan *scan = &r->scan;
  last_value last = r->last;
  hia_status status;
  bool is_all;
  if ((status = check_scalars(r, last.type, &is_all)) != HIA_OK) return status;
  if (!is_all) return HIA_ARGUMENT;
  bool is_outer = false;
  while (last.n_open) { /* tuples and brackets around it */
    const open_value *open = (open_value *)r->stack.data + (last.n_open - 1);
    if ((status = check_scalars(r, open->type, &is_all)) != HIA_OK) return status;
    if (!is_all) break;
    last = (last_value){open->type, last.n_open - 1, open->s, open->outer};
    is_outer = true;
  }
  const char *from = last.s, *to = hiaR_scan_expression(scan, from);
  /* A literal that ends where an expression would is no other expression. */
  bool is_literal = last.n_open && !is_outer && scan->s == to;
  if (is_literal && scan->s > from) return HIA_ARGUMENT;
  if (!last.n_open) from = scan->text, to = scan->end;
  const hia_evaluator *evaluator = r->reading->evaluator;
  if (!evaluator) {
    const char *code = scan->error->code;
    bool is_exact = strcmp(code, "E0101") != 0 && strcmp(code, "E0201") != 0;
    if (is_exact || to == from) return HIA_ARGUMENT;
    char name[128];
    hiaR_type_text(r->types, last.type, name, sizeof name);
    int n = to - from > 100 ? 100 : (int)(to - from);
    hiaR_scan_fail(scan, "E0401", from, to, "`%.*s%s` is no literal of type %s", n, from,
                   n < to - from ? "..." : "", name);
    return HIA_ARGUMENT;
  }
  if (to == from && last.n_open) return HIA_ARGUMENT;
  hia_type found;
  const hia_word *words;
  status = evaluator->evaluate(evaluator->user, (size_t)(from - scan->text), (size_t)(to - from),
                               last.type, &found, &words);
  if (status) {
    scan->error->is_reported = true;
    return status;
  }
  r->at = last.at;
  r->n_open = last.n_open;
  uint32_t n = hiaR_type_words(r->types, last.type);
  for (uint32_t i = 0; i < n; i++) hiaR_put_word(&r->at, words[i]);
  scan->s = to;
  r->last.type = HIA_NONE;
  r->is_done = true;
  return HIA_OK;
}

static hia_status read_all(reader *r, hia_type type) {
  for (;;) {
    hiaR_skip_space(&r->scan);
    hia_status status = begin(r, type);
    do {
      if (status == HIA_ARGUMENT) status = evaluate(r);
      if (status) return status;
      if (!r->is_done) break;
      status = finish(r, &type);
    } while (status);
    if (!r->is_done) {
      type = next_part(r, top_of(r));
    } else if (type == HIA_NONE) {
      return HIA_OK;
    }
  }
}

hia_status hiaR_value_read(const hia_reading *reading, const char *text, size_t len, hia_type type,
                           hia_word *words, hia_value_error *error) {
  reader r = {.reading = reading,
              .types = reading->types,
              .names = {.types = reading->types, .allocator = reading->allocator},
              .at = {(char *)words, NULL}};
  *error = (hia_value_error){.code = NULL};
  hia_status status = hiaR_scan_start(&r.scan, text, len, error);
  if (status == HIA_OK) status = read_all(&r, type);
  hiaR_block_free(&r.names.slots, reading->allocator);
  hiaR_block_free(&r.stack, reading->allocator);
  hiaR_block_free(&r.elements, reading->allocator);
  hiaR_block_free(&r.parts, reading->allocator);
  return status;
}
