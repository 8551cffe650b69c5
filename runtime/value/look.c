/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The type of a value by its own look.
 *
 * The type is found as codes in prefix order: a tuple's code and those of its parts, an array's
 * code and those of its element. The types of an array's elements are joined by the language's
 * rules for literals, code by code: types that join have the same shape. Of a constructor only the
 * name counts. */
#include "runtime/value/names.h"
#include "runtime/value/scan.h"

/* Codes; dtypes are themselves. */
#define CODE_INT   5u /* integer without a suffix */
#define CODE_FLOAT 6u
#define CODE_ARRAY 7u
#define CODE_TUPLE 0x80000000u /* + number of parts */
#define CODE_OTHER 0x40000000u /* + type: of data; of an expression */

typedef struct open_look {
  uint32_t start; /* its code */
  uint32_t n;     /* parts */
  uint32_t first; /* array: end of the codes of its element; 0: there is none yet */
  const char *s;
} open_look;

typedef struct looker {
  const hia_reading *reading;
  hia_scan scan;
  hia_ctor_names names;
  hia_block codes, stack;
  uint32_t n_codes, n_open;
  bool has_data;
  bool is_all; /* the evaluator has read all of the text; its type is `found` */
  hia_type found;
} looker;

static hia_status add_code(looker *l, uint32_t code) {
  if (!hiaR_block_grow(&l->codes, l->reading->allocator, (l->n_codes + 1) * sizeof code))
    return HIA_MEMORY;
  ((uint32_t *)l->codes.data)[l->n_codes++] = code;
  return HIA_OK;
}

static open_look *top_of(looker *l) { return (open_look *)l->stack.data + (l->n_open - 1); }

static bool is_array(const looker *l, const open_look *open) {
  return ((const uint32_t *)l->codes.data)[open->start] == CODE_ARRAY;
}

static hia_status too_many(looker *l, const char *from) {
  return hiaR_scan_fail(&l->scan, "E0316", from, l->scan.s,
                        "the type of this has more than %u parts", HIA_MAX_TYPE_PARTS);
}

static bool has_array(const looker *l) {
  const open_look *open = l->stack.data;
  for (uint32_t i = 0; i < l->n_open; i++)
    if (is_array(l, &open[i])) return true;
  return false;
}

/* An expression. If no array is open it is all of the text, as it is for hiaR_value_read. */
static hia_status evaluate(looker *l) {
  const hia_evaluator *evaluator = l->reading->evaluator;
  hia_scan *scan = &l->scan;
  if (!evaluator) return HIA_ARGUMENT;
  l->is_all = !has_array(l);
  const char *from = l->is_all ? scan->text : scan->s;
  const char *to = l->is_all ? scan->end : hiaR_scan_expression(scan, from);
  if (from == to && !l->is_all) return HIA_ARGUMENT;
  const hia_word *words;
  hia_status status = evaluator->evaluate(evaluator->user, (size_t)(from - scan->text),
                                          (size_t)(to - from), HIA_NONE, &l->found, &words);
  if (status) {
    scan->error->is_reported = true;
    return status;
  }
  scan->s = to;
  return l->is_all ? HIA_OK
                   : add_code(l, hiaR_is_scalar(l->found) ? l->found : CODE_OTHER | l->found);
}

static hia_status open_bracket(looker *l, uint32_t code) {
  open_look look = {.start = l->n_codes, .s = l->scan.s++};
  if (l->n_open == HIA_MAX_TYPE_PARTS) return too_many(l, look.s);
  if (!hiaR_block_grow(&l->stack, l->reading->allocator, (l->n_open + 1) * sizeof look))
    return HIA_MEMORY;
  ((open_look *)l->stack.data)[l->n_open++] = look;
  return add_code(l, code);
}

static hia_status look_at_name(looker *l, bool *is_ctor) {
  hia_scan *scan = &l->scan;
  const char *from = scan->s, *to = hiaR_scan_name(scan);
  hia_ctor_slot slot;
  if (hiaR_find_ctor(&l->names, HIA_NONE, from, (size_t)(to - from), &slot)) return HIA_MEMORY;
  *is_ctor = slot.type != 0;
  l->has_data |= *is_ctor;
  if (!*is_ctor)
    return hiaR_scan_fail(scan, "E0201", from, to, "unknown name '%.*s'",
                          to - from > 60 ? 60 : (int)(to - from), from);
  scan->s = to;
  hiaR_skip_space(scan);
  if (scan->s < scan->end && *scan->s == '(') { /* its fields */
    scan->s = hiaR_scan_expression(scan, scan->s + 1);
    while (scan->s < scan->end && *scan->s != ')')
      scan->s = hiaR_scan_expression(scan, scan->s + 1);
    if (!hiaR_accept(scan, ')')) return hiaR_scan_unexpected(scan, "')' or ','");
  }
  return add_code(l, CODE_OTHER | slot.type);
}

static uint32_t code_of(const hia_literal *literal) {
  static const uint8_t codes[] = {[HIA_LITERAL_INT] = CODE_INT,
                                  [HIA_LITERAL_FLOAT] = CODE_FLOAT,
                                  [HIA_LITERAL_INF] = CODE_FLOAT,
                                  [HIA_LITERAL_NAN] = CODE_FLOAT,
                                  [HIA_LITERAL_BOOL] = HIA_BOOL};
  return literal->suffix == HIA_NO_LITERAL_SUFFIX ? codes[literal->kind] : literal->suffix;
}

/* A tensor without elements, as the lists of lists that it would be. */
static hia_status look_at_empty_tensor(looker *l) {
  hia_empty_tensor tensor;
  uint32_t code = CODE_FLOAT;
  hia_status status = hiaR_scan_empty_tensor(&l->scan, &tensor);
  if (status == HIA_OK && tensor.fill) {
    hia_scan fill = l->scan;
    hia_literal literal;
    fill.s = tensor.fill;
    if (hiaR_accept(&fill, '-')) hiaR_skip_space(&fill);
    if (hiaR_scan_literal(&fill, &literal)) code = code_of(&literal);
  }
  for (uint32_t i = 0; status == HIA_OK && i < tensor.shape.rank; i++)
    status = add_code(l, CODE_ARRAY);
  return status == HIA_OK ? add_code(l, code) : status;
}

/* Looks at a value up to its first part; *is_open: it has one. */
static hia_status begin(looker *l, bool *is_open) {
  hia_scan *scan = &l->scan;
  hia_literal literal;
  hiaR_skip_space(scan);
  const char *from = scan->s;
  char c = from < scan->end ? *from : 0;
  *is_open = c == '(' || c == '[';
  if (*is_open) return open_bracket(l, c == '[' ? CODE_ARRAY : CODE_TUPLE);
  if (hiaR_accept(scan, '-')) hiaR_skip_space(scan);
  if (hiaR_scan_literal(scan, &literal) && (c != '-' || literal.kind != HIA_LITERAL_BOOL)) {
    const char *end = scan->s;
    hiaR_skip_space(scan);
    if (scan->s == scan->end || strchr(",)]", *scan->s)) return add_code(l, code_of(&literal));
    scan->s = end;
    hiaR_skip_space(scan);
    hiaR_scan_unexpected(scan, "the end of the value");
    scan->s = from;
    return evaluate(l);
  }
  scan->s = from;
  if (hiaR_scan_has_sizes(scan)) return look_at_empty_tensor(l);
  bool is_ctor = false;
  hia_status status =
      hiaR_is_name_start(c) ? look_at_name(l, &is_ctor) : hiaR_scan_unexpected(scan, "a value");
  return status == HIA_ARGUMENT && !is_ctor ? evaluate(l) : status;
}

/* ---- closing ---- */

static bool join(uint32_t *a, uint32_t b) {
  if (*a == b) return true;
  if (*a > b) { /* literals first */
    uint32_t c = *a;
    *a = b;
    b = c;
  }
  if (*a == CODE_INT && b == CODE_FLOAT) return *a = b, true;
  /* A dtype and a literal. */
  return *a < CODE_INT && ((b == CODE_INT && *a != HIA_BOOL) || (b == CODE_FLOAT && *a >= HIA_F32));
}

/* An element has ended. */
static hia_status join_element(looker *l, open_look *array) {
  uint32_t *codes = l->codes.data, from = array->start + 1;
  if (!array->first) {
    array->first = l->n_codes;
    return HIA_OK;
  }
  bool fits = l->n_codes - array->first == array->first - from;
  for (uint32_t i = 0; fits && array->first + i < l->n_codes; i++)
    fits = join(&codes[from + i], codes[array->first + i]);
  l->n_codes = array->first;
  return fits ? HIA_OK
              : hiaR_scan_fail(&l->scan, "E0301", array->s, l->scan.s,
                               "the elements of this array have different types");
}

/* Behind a value; *is_end: behind the outermost one. */
static hia_status finish(looker *l, bool *is_end) {
  hia_scan *scan = &l->scan;
  for (; l->n_open; l->n_open--) {
    open_look *top = top_of(l);
    bool array = is_array(l, top);
    hia_status status = array ? join_element(l, top) : HIA_OK;
    if (status) return status;
    top->n++;
    if (l->n_codes - top->start > HIA_MAX_TYPE_PARTS) return too_many(l, top->s);
    hiaR_skip_space(scan);
    if (hiaR_accept(scan, ',')) {
      hiaR_skip_space(scan);
      if (scan->s == scan->end || *scan->s != (array ? ']' : ')')) return HIA_OK;
      return hiaR_scan_fail(scan, "E0102", scan->s, scan->s + 1,
                            "trailing comma: a list ends with its last element");
    }
    if (!hiaR_accept(scan, array ? ']' : ')'))
      return hiaR_scan_unexpected(scan, array ? "']' or ','" : "')' or ','");
    uint64_t slice_begin, slice_end;
    while (array && hiaR_scan_slice(scan, &slice_begin, &slice_end)) continue;
    uint32_t *codes = (uint32_t *)l->codes.data + top->start;
    if (!array && top->n == 1) { /* brackets around a value */
      l->n_codes--;
      memmove(codes, codes + 1, (l->n_codes - top->start) * sizeof *codes);
    } else if (!array) {
      *codes = CODE_TUPLE + top->n;
    }
  }
  *is_end = true;
  hiaR_skip_space(scan);
  return scan->s == scan->end ? HIA_OK : hiaR_scan_unexpected(scan, "the end of the value");
}

static hia_status look(looker *l) {
  for (bool is_end = false, is_open; !is_end;) {
    hia_status status = begin(l, &is_open);
    if (status || l->is_all) return status;
    if (is_open) {
      hiaR_skip_space(&l->scan);
      const char *s = l->scan.s;
      if (s == l->scan.end || *s != (is_array(l, top_of(l)) ? ']' : ')')) continue;
      hiaR_scan_fail(&l->scan, "E0106", top_of(l)->s, s + 1,
                     *s == ')' ? "there is no empty tuple"
                               : "no type is given for this, and it has no element to say one");
      if (*s == ']')
        hiaR_scan_hint(&l->scan,
                       "an array without elements is [x][0..0], x being one that it could "
                       "have; a tensor is zeros(0), full(1, 0, 3)");
      return HIA_ARGUMENT;
    }
    status = finish(l, &is_end);
    /* What follows may make an expression of it. */
    if (status == HIA_ARGUMENT && !has_array(l) && !l->has_data) return evaluate(l);
    if (status) return status;
  }
  return HIA_OK;
}

/* A tensor, while more lists may be around it: + its rank * 256 + its dtype. */
#define CODE_TENSOR 0x20000000u

/* The type of a code that is final. */
static hia_type type_of(const looker *l, uint32_t code) {
  const hia_type_maker *maker = l->reading->maker;
  if (code < CODE_TENSOR) return code;
  return maker->tensor(maker->user, (hia_dtype)(code & 255), (code & ~CODE_TENSOR) >> 8);
}

/* A list of what has this code. */
static hia_type list_of(const looker *l, uint32_t code) {
  const hia_type_maker *maker = l->reading->maker;
  if (hiaR_is_scalar(code)) return CODE_TENSOR + 256 + code;
  if (code >= CODE_TENSOR && code < CODE_TENSOR + 256 * HIA_MAX_RANK) return code + 256;
  return code >= CODE_TENSOR ? HIA_NONE : maker->array(maker->user, code);
}

/* Makes the types that the codes say, from the last to the first: parts come before what consists
 * of them, the first part on top of the stack, which takes the place of the codes. */
static hia_status make_types(looker *l, hia_type *type) {
  const hia_type_maker *maker = l->reading->maker;
  uint32_t *codes = l->codes.data, n = l->n_codes, top = n;
  hia_type parts[HIA_MAX_TYPE_PARTS];
  while (n) {
    uint32_t code = codes[--n];
    hia_type made = code & ~CODE_OTHER;
    if (code == CODE_INT) made = HIA_I32;
    if (code == CODE_FLOAT) made = HIA_F32;
    bool is_tuple = (code & CODE_TUPLE) != 0;
    if (!maker && (is_tuple || code == CODE_ARRAY))
      return hiaR_scan_fail(&l->scan, "E0401", l->scan.text, l->scan.end,
                            "no type is given for this value");
    if (is_tuple) {
      uint32_t n_parts = code & ~CODE_TUPLE;
      for (uint32_t i = 0; i < n_parts; i++)
        if ((parts[i] = type_of(l, codes[top++])) == HIA_NONE) return HIA_MEMORY;
      made = maker->tuple(maker->user, parts, n_parts);
    } else if (code == CODE_ARRAY) {
      made = list_of(l, codes[top++]);
      if (made == HIA_NONE) return HIA_MEMORY;
    }
    if (made == HIA_NONE) return HIA_MEMORY;
    codes[--top] = made;
  }
  *type = type_of(l, codes[top]);
  return *type == HIA_NONE ? HIA_MEMORY : HIA_OK;
}

hia_status hiaR_value_look(const hia_reading *reading, const char *text, size_t len, hia_type *type,
                           hia_value_error *error) {
  looker l = {.reading = reading,
              .names = {.types = reading->types, .allocator = reading->allocator}};
  *error = (hia_value_error){.code = NULL};
  *type = HIA_NONE;
  hia_status status = hiaR_scan_start(&l.scan, text, len, error);
  if (status == HIA_OK) status = look(&l);
  if (status == HIA_OK && l.is_all) *type = l.found;
  if (status == HIA_OK && !l.is_all) status = make_types(&l, type);
  hiaR_block_free(&l.names.slots, reading->allocator);
  hiaR_block_free(&l.codes, reading->allocator);
  hiaR_block_free(&l.stack, reading->allocator);
  return status;
}
