/* The text form read back; docs/ir.md is its reference, print.c its inverse.
 *
 * The text is a user's. The reader makes sure of what the verifier cannot see any more (names and
 * numbers that mean something, one definition each, balanced braces) and leaves all that concerns
 * the graph to the verifier. The first mistake ends it. Time and memory are linear in the text:
 * numbers of values and regions index tables only up to the length of the text, and entries carry
 * the function they were made for, so that nothing is cleared per function. Nesting is kept in a
 * stack in memory. */
#include "graph/graph.h"
#include <stdio.h>

/* What a number of the text stands for. */
typedef struct {
  uint32_t epoch; /* function (counted from 1) that it belongs to */
  uint32_t is;    /* value or region */
} label;
typedef HIA_VEC(label) label_table;

typedef struct {
  uint32_t line, col;
} position;

typedef enum {
  FIX_VALUE,
  FIX_REGION,
  FIX_CALLEE,      /* of a node */
  FIX_CALLEE_SITE, /* of a site */
  FIX_FULL,        /* of a function */
  FIX_LOC_NODE,
  FIX_LOC_FN,
  FIX_LOC_SITE,
} fix_kind;

/* A use before its definition: of a value or region, known at the end of the function; of a
 * function or location, known at the end of the file. */
typedef struct {
  fix_kind kind;
  hia_fn_id fn;
  uint32_t at;     /* edge, node or site to correct */
  uint32_t number; /* of the text; of callees: index into reader.callees */
  position where;
} fix;

typedef struct {
  hia_region_id region;
  hia_node_id node; /* function state: the IF or LOOP */
} open_region;

typedef struct reader {
  hia_graph *g;
  hia_arena *arena, *scratch;
  const char *text, *at, *end, *line_start;
  uint32_t line;
  hia_read_error *error;
  jmp_buf stop;

  hia_fn *fn;
  hia_fn_id fn_id;
  uint32_t epoch;
  label_table values, regions;
  HIA_VEC(fix) fn_fixes, file_fixes;
  HIA_VEC(const char *) callees;
  HIA_VEC(hia_loc_id) locs; /* the table of locations */
  hia_index fn_names, extern_names;
  HIA_VEC(open_region) stack;
  hia_u32vec types; /* stack of tuple parts */
  hia_u32vec ins;
  HIA_VEC(hia_dtype) outs;
  hia_u32vec out_numbers;
  HIA_VEC(position) node_places; /* of all functions, one after the other */
  hia_u32vec first_place;        /* by function */
} reader;

/* ---- errors ---- */

static position here(const reader *r) {
  return (position){r->line, (uint32_t)(r->at - r->line_start) + 1};
}

static _Noreturn void fail_at(reader *r, position where, const char *fmt, ...) HIA_PRINTF(3, 4);
static _Noreturn void fail_at(reader *r, position where, const char *fmt, ...) {
  hia_text text;
  va_list args;
  hiaR_text_init(&text, r->arena);
  va_start(args, fmt);
  hiaR_text_vaddf(&text, fmt, args);
  va_end(args);
  *r->error = (hia_read_error){where.line, where.col, text.data};
  longjmp(r->stop, 1);
}
#define fail(r, ...) fail_at((r), here(r), __VA_ARGS__)

/* ---- characters ---- */

static bool is_letter(int c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
static bool is_digit(int c) { return c >= '0' && c <= '9'; }
static int hex_digit(int c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

static int peek(const reader *r) { return r->at < r->end ? (unsigned char)*r->at : -1; }

/* White space on the line: the operands of a node stand on one line with it. */
static void skip_blanks(reader *r) {
  while (peek(r) == ' ' || peek(r) == '\t' || peek(r) == '\r') r->at++;
}

static void skip(reader *r) {
  for (;;) {
    skip_blanks(r);
    if (peek(r) == '#') {
      while (r->at < r->end && *r->at != '\n') r->at++;
    } else if (peek(r) == '\n') {
      r->line++;
      r->line_start = ++r->at;
    } else {
      return;
    }
  }
}

static bool accept(reader *r, char c) {
  skip(r);
  if (peek(r) != c) return false;
  r->at++;
  return true;
}

static void expect(reader *r, char c) {
  if (!accept(r, c)) fail(r, "expected '%c'", c);
}

/* Length of the word at the cursor: letters, digits, and dots within. */
static size_t word_len(const reader *r) {
  const char *c = r->at;
  if (c == r->end || !is_letter((unsigned char)*c)) return 0;
  while (c < r->end && (is_letter((unsigned char)*c) || is_digit((unsigned char)*c) ||
                        (*c == '.' && c + 1 < r->end && is_letter((unsigned char)c[1]))))
    c++;
  return (size_t)(c - r->at);
}

static bool accept_word(reader *r, const char *word) {
  skip(r);
  size_t len = word_len(r);
  if (len != strlen(word) || memcmp(r->at, word, len) != 0) return false;
  r->at += len;
  return true;
}

static void expect_word(reader *r, const char *word) {
  if (!accept_word(r, word)) fail(r, "expected '%s'", word);
}

static uint64_t number(reader *r, uint64_t max) {
  skip(r);
  position start = here(r);
  if (!is_digit(peek(r))) fail(r, "expected a number");
  uint64_t n = 0;
  for (; is_digit(peek(r)); r->at++) {
    uint64_t digit = (uint64_t)(peek(r) - '0');
    if (n > (max - digit) / 10) fail_at(r, start, "number too large");
    n = n * 10 + digit;
  }
  return n;
}

static uint32_t u32(reader *r) { return (uint32_t)number(r, UINT32_MAX); }

/* An index: NONE is no index. */
static uint32_t index_number(reader *r) { return (uint32_t)number(r, HIA_NONE - 1); }

static char *string(reader *r) {
  hia_text text;
  hiaR_text_init(&text, r->arena);
  position start = here(r);
  expect(r, '"');
  hiaR_text_add(&text, "", 0);
  for (;;) {
    int c = peek(r);
    if (c < ' ' || c > '~')
      fail_at(r, start, "string does not end on its line, or holds other bytes");
    r->at++;
    if (c == '"') return text.data;
    char byte = (char)c;
    if (c == '\\') {
      c = peek(r);
      if (c == 'x' && r->end - r->at >= 3) {
        int high = hex_digit((unsigned char)r->at[1]), low = hex_digit((unsigned char)r->at[2]);
        if (high < 0 || low < 0 || high + low == 0) fail(r, "wrong escape");
        byte = (char)(unsigned char)(high * 16 + low);
        r->at += 3;
      } else if (c == '"' || c == '\\') {
        byte = (char)c;
        r->at++;
      } else {
        fail(r, "wrong escape");
      }
    }
    hiaR_text_add(&text, &byte, 1);
  }
}

static const char *name(reader *r) {
  skip(r);
  if (peek(r) == '"') return string(r);
  const char *start = r->at;
  if (!is_letter(peek(r))) fail(r, "expected a name");
  while (is_letter(peek(r)) || is_digit(peek(r))) r->at++;
  return hiaR_arena_strndup(r->arena, start, (size_t)(r->at - start));
}

/* ---- numbers of values, regions and locations ---- */

static label *label_of(reader *r, label_table *table, uint32_t n, position where) {
  /* A definition takes characters: a larger number is a mistake, and would cost memory. */
  if (n > (size_t)(r->end - r->text)) fail_at(r, where, "number %u is too large", n);
  if (n >= table->len) {
    hiaR_reserve(r->scratch, table, n + 1);
    memset(table->data + table->len, 0, (n + 1 - table->len) * sizeof(label));
    table->len = n + 1;
  }
  return &table->data[n];
}

static void define(reader *r, label_table *table, uint32_t n, uint32_t is, position where,
                   const char *sigil) {
  label *l = label_of(r, table, n, where);
  if (l->epoch == r->epoch) fail_at(r, where, "%s%u is defined twice", sigil, n);
  *l = (label){r->epoch, is};
}

static uint32_t find(const reader *r, const label_table *table, uint32_t n) {
  return n < table->len && table->data[n].epoch == r->epoch ? table->data[n].is : HIA_NONE;
}

/* A value that is defined already. */
static hia_value_id value(reader *r) {
  skip(r);
  position where = here(r);
  expect(r, '%');
  uint32_t n = index_number(r);
  if (peek(r) == ':') fail_at(r, where, "the next node begins on a new line");
  hia_value_id v = find(r, &r->values, n);
  if (v == HIA_NONE) fail_at(r, where, "%%%u is not defined before its use", n);
  return v;
}

static uint32_t region_label(reader *r, position *where) {
  skip(r);
  *where = here(r);
  expect(r, '.');
  return index_number(r);
}

static void fix_later(reader *r, bool at_end_of_file, fix_kind kind, uint32_t at, uint32_t n,
                      position where) {
  fix f = {kind, r->fn_id, at, n, where};
  if (at_end_of_file)
    hiaR_push(r->scratch, &r->file_fixes, f);
  else
    hiaR_push(r->scratch, &r->fn_fixes, f);
}

/* A location, if there is one: at once when it is a position of this function, else NONE for now.
 */
static hia_loc_id location(reader *r, fix_kind kind, uint32_t at) {
  if (!accept(r, '!')) return HIA_NONE;
  position where = here(r);
  uint32_t line = u32(r);
  if (peek(r) == ':') {
    r->at++;
    return hiaG_loc(r->g, line, u32(r), r->fn->source, HIA_NONE);
  }
  fix_later(r, true, kind, at, line, where);
  return HIA_NONE;
}

/* ---- types ---- */

static bool accept_dtype(reader *r, hia_dtype *type) {
  for (hia_dtype t = HIA_BOOL; t < HIA_N_DTYPES; t++)
    if (accept_word(r, hiaG_dtype_name(t))) {
      *type = t;
      return true;
    }
  return false;
}

static hia_dtype dtype(reader *r) {
  hia_dtype type = HIA_BOOL;
  if (!accept_dtype(r, &type)) fail(r, "expected a type: bool, i32, i64, f32 or f64");
  return type;
}

static uint32_t dtype_list(reader *r, hia_dtype **out) {
  r->outs.len = 0;
  expect(r, '(');
  if (!accept(r, ')')) {
    do hiaR_push(r->scratch, &r->outs, dtype(r));
    while (accept(r, ','));
    expect(r, ')');
  }
  *out = HIA_NEW_ARRAY(r->arena, hia_dtype, r->outs.len);
  if (r->outs.len) memcpy(*out, r->outs.data, r->outs.len * sizeof **out);
  return r->outs.len;
}

/* The language allows 1000 parts in a type, and a root with fuel gives one more (fuel.c); so no
 * deeper nesting either: recursion is bounded. */
enum { MAX_TYPE_PARTS = 1001 };

static hia_type type(reader *r, uint32_t depth) {
  hia_dtype scalar;
  if (accept_dtype(r, &scalar)) return scalar;
  position where = here(r);
  if (!accept(r, '(')) fail(r, "expected a type");
  if (depth > MAX_TYPE_PARTS) fail_at(r, where, "type is nested too deeply");
  uint32_t first = r->types.len, words = 0;
  do {
    hia_type part = type(r, depth + 1);
    words += hiaG_type_words(r->g->types, part);
    if (words > MAX_TYPE_PARTS) fail_at(r, where, "type has more than %d parts", MAX_TYPE_PARTS);
    hiaR_push(r->scratch, &r->types, part);
  } while (accept(r, ','));
  expect(r, ')');
  uint32_t n = r->types.len - first;
  if (n < 2) fail_at(r, where, "a tuple has at least two parts");
  r->types.len = first;
  return hiaG_tuple(r->g->types, r->types.data + first, n);
}

/* `(TYPE, ...) -> TYPE`: answers the result; the parameters are on the stack of types, alone. */
static hia_type signature(reader *r) {
  r->types.len = 0;
  expect(r, '(');
  if (!accept(r, ')')) {
    do {
      hia_type t = type(r, 0);
      hiaR_push(r->scratch, &r->types, t);
    } while (accept(r, ','));
    expect(r, ')');
  }
  expect(r, '-');
  expect(r, '>');
  return type(r, 0);
}

/* ---- constants ---- */

static hia_word integer(reader *r, hia_dtype t) {
  bool is_negative = accept(r, '-');
  uint64_t max = t == HIA_I32 ? (uint64_t)INT32_MAX : (uint64_t)INT64_MAX;
  uint64_t n = number(r, max + is_negative);
  return is_negative ? 0 - n : n;
}

/* 0x1.8p+1 and the like, exactly. */
static hia_word hex_float(reader *r, hia_dtype t) {
  skip(r);
  position start = here(r);
  bool is_negative = accept(r, '-');
  if (accept_word(r, "nan")) {
    bool is_f32 = t == HIA_F32;
    uint64_t bits = is_f32 ? 0x7fc00000u : 0x7ff8000000000000u;
    if (is_negative) fail_at(r, start, "the sign of a NaN is one of its bits");
    if (peek(r) == ':') {
      bits = 0;
      r->at++;
      if (r->end - r->at < 3 || r->at[0] != '0' || r->at[1] != 'x') fail(r, "expected 0x");
      r->at += 2;
      for (int digit; (digit = hex_digit(peek(r))) >= 0; r->at++) {
        if (bits >> 60) fail_at(r, start, "number too large");
        bits = bits << 4 | (uint64_t)digit;
      }
      uint64_t infinity = is_f32 ? 0x7f800000u : 0x7ff0000000000000u;
      uint64_t magnitude = bits & (is_f32 ? 0x7fffffffu : 0x7fffffffffffffffu);
      if (magnitude <= infinity || (is_f32 && bits >> 32))
        fail_at(r, start, "these bits are no NaN");
    }
    return bits;
  }
  uint64_t mantissa = 0;
  int64_t exponent = 0;
  bool is_infinite = accept_word(r, "inf");
  if (!is_infinite) {
    if (r->end - r->at < 3 || r->at[0] != '0' || r->at[1] != 'x')
      fail(r, "expected 0x, inf or nan");
    r->at += 2;
    bool has_digits = false, has_point = false;
    for (;; r->at++) {
      int digit = hex_digit(peek(r));
      if (peek(r) == '.' && !has_point) {
        has_point = true;
        continue;
      }
      if (digit < 0) break;
      has_digits = true;
      if (mantissa >> 56) fail_at(r, start, "more digits than a float holds");
      mantissa = mantissa << 4 | (uint64_t)digit;
      if (has_point) exponent -= 4;
    }
    if (!has_digits || peek(r) != 'p') fail(r, "expected hexadecimal digits and an exponent");
    r->at++;
    bool is_minus = peek(r) == '-';
    if (peek(r) == '-' || peek(r) == '+') r->at++;
    if (!is_digit(peek(r))) fail(r, "expected an exponent");
    int64_t power = (int64_t)number(r, 100000);
    exponent += is_minus ? -power : power;
  }
  /* Scale so that the value is mantissa * 2^exponent with the lowest exponent of an f64, or exactly
   * 53 bits: what does not fit is an error, never rounded. */
  double x = 0;
  if (mantissa) {
    while ((mantissa & 1) == 0) mantissa >>= 1, exponent++;
    int bits = 0;
    for (uint64_t m = mantissa; m; m >>= 1) bits++;
    int64_t top = exponent + bits - 1; /* of the leading bit */
    if (bits > 53 || top > 1023 || exponent < -1074) fail_at(r, start, "no f64 has this value");
    uint64_t word = 0;
    if (top >= -1022)
      word = (uint64_t)(top + 1023) << 52 | ((mantissa << (53 - bits)) & 0xfffffffffffff);
    else
      word = mantissa << (exponent + 1074);
    x = hiaR_to_f64(word);
  }
  if (is_infinite) x = hiaR_to_f64(0x7ff0000000000000u);
  if (is_negative) x = -x;
  if (t == HIA_F64) return hiaR_from_f64(x);
  /* The exact range check comes first: converting what overflows is undefined. */
  if (!is_infinite && (x > 0x1.fffffep127 || x < -0x1.fffffep127))
    fail_at(r, start, "no f32 has this value");
  float narrow = (float)x;
  if ((double)narrow != x) fail_at(r, start, "no f32 has this value");
  return hiaR_from_f32(narrow);
}

static hia_word constant(reader *r, hia_dtype t) {
  switch (t) {
  case HIA_BOOL:
    if (accept_word(r, "true")) return 1;
    if (accept_word(r, "false")) return 0;
    fail(r, "expected true or false");
  case HIA_I32:
  case HIA_I64: return integer(r, t);
  default: return hex_float(r, t);
  }
}

/* ---- functions ---- */

static hia_region_id new_region(reader *r, unsigned kind, hia_region_id parent) {
  hia_region region = {.kind = (uint8_t)kind,
                       .parent = parent,
                       .owner = HIA_NONE,
                       .first = HIA_NONE,
                       .last = HIA_NONE,
                       .pred = HIA_NONE};
  hiaR_push(r->arena, &r->fn->regions, region);
  return r->fn->regions.len - 1;
}

static void callee(reader *r, fix_kind kind, uint32_t at) {
  skip(r);
  position where = here(r);
  hiaR_push(r->scratch, &r->callees, name(r));
  fix_later(r, true, kind, at, r->callees.len - 1, where);
}

static uint32_t find_extern(const reader *r, const char *extern_name) {
  uint32_t hash = hiaR_hash(extern_name, strlen(extern_name)), at = hash, i;
  while ((i = hiaR_index_next(&r->extern_names, hash, &at)) != HIA_NONE)
    if (strcmp(r->g->externs.data[i].name, extern_name) == 0) return i;
  return HIA_NONE;
}

/* One node, in the innermost open region; of an IF or LOOP also the brace, which opens the next. */
static void node(reader *r) {
  hia_fn *fn = r->fn;
  hia_node_id n = fn->nodes.len;
  position start = here(r);
  uint64_t imm = 0;
  uint8_t flags = 0;
  r->outs.len = r->out_numbers.len = r->ins.len = 0;
  if (peek(r) == '%') {
    do {
      expect(r, '%');
      hiaR_push(r->scratch, &r->out_numbers, index_number(r));
      expect(r, ':');
      hiaR_push(r->scratch, &r->outs, dtype(r));
    } while (accept(r, ','));
    expect(r, '=');
    skip(r);
  }
  position place = here(r);
  size_t len = word_len(r);
  unsigned op = hiaR_op_by_name(r->at, len);
  if (op == HIA_OP_LIMIT) fail(r, "expected an op%s", len ? ": there is none of this name" : "");
  bool is_static = r->g->state == HIA_STATIC;
  if (hiaR_ops[op].traits & (is_static ? HIA_T_FUNCTION : HIA_T_STATIC))
    fail(r, "%s does not belong in a graph of this state", hiaR_ops[op].name);
  r->at += len;

  switch (op) {
  case HIA_OP_CONST:
    if (r->outs.len != 1) fail_at(r, place, "const has one result");
    imm = constant(r, r->outs.data[0]);
    break;
  case HIA_OP_ARG:
  case HIA_OP_COUNT:
  case HIA_OP_CHARGE:
  case HIA_OP_MERGE_ENTRY: imm = u32(r); break;
  case HIA_OP_CALL: callee(r, FIX_CALLEE, n); break;
  case HIA_OP_FORK:
  case HIA_OP_JOIN:
    imm = HIA_IMM(0, index_number(r));
    callee(r, FIX_CALLEE, n);
    break;
  case HIA_OP_STOLEN: imm = HIA_IMM(HIA_NONE, index_number(r)); break;
  case HIA_OP_HOST: {
    skip(r);
    position where = here(r);
    const char *extern_name = name(r);
    imm = find_extern(r, extern_name);
    if (imm == HIA_NONE) fail_at(r, where, "there is no extern %s", extern_name);
    break;
  }
  case HIA_OP_CALL_I:
  case HIA_OP_RETURN_I: {
    uint32_t site = index_number(r);
    expect(r, '.');
    imm = HIA_IMM(site, index_number(r));
    break;
  }
  case HIA_OP_SWITCH:
  case HIA_OP_MERGE:
  case HIA_OP_ENTER:
  case HIA_OP_NEXT:
  case HIA_OP_EXIT: {
    position where;
    uint32_t number_of_region = region_label(r, &where);
    fix_later(r, false, FIX_REGION, n, number_of_region, where);
    break;
  }
  default: break;
  }

  skip_blanks(r);
  if (peek(r) == '%') {
    do {
      skip(r);
      position where = here(r);
      if (op == HIA_OP_MERGE_LOOP && r->ins.len == 1) { /* comes from below */
        expect(r, '%');
        fix_later(r, false, FIX_VALUE, fn->edges.len + r->ins.len, index_number(r), where);
        hiaR_push(r->scratch, &r->ins, HIA_NONE);
      } else {
        hiaR_push(r->scratch, &r->ins, value(r));
      }
    } while (accept(r, ','));
  }
  if (op == HIA_OP_CAST && r->ins.len) imm = hiaG_type(fn, r->ins.data[0]);
  if (op == HIA_OP_ENTER && accept_word(r, "invariant")) imm = HIA_IMM(0, 1);
  if (op == HIA_OP_CALL && accept_word(r, "tail")) flags = HIA_NODE_TAIL;
  hia_loc_id loc = location(r, FIX_LOC_NODE, n);

  hia_region_id region = r->stack.data[r->stack.len - 1].region;
  hiaG_add(r->g, fn, region, op, r->ins.data, r->ins.len, r->outs.data, r->outs.len, imm, loc);
  fn->nodes.data[n].flags = flags;
  for (uint32_t i = 0; i < r->out_numbers.len; i++)
    define(r, &r->values, r->out_numbers.data[i], hiaG_out(fn, n, i), start, "%");
  hiaR_push(r->scratch, &r->node_places, place);
  if (op != HIA_OP_IF && op != HIA_OP_LOOP) return;
  hiaR_push(r->scratch, &r->stack, (open_region){fn->nodes.data[n].regions, n});
  expect(r, '{');
}

/* Function state: nodes and nested regions up to the brace that closes the body. */
static void function_body(reader *r) {
  while (r->stack.len) {
    skip(r);
    if (peek(r) != '}') {
      node(r);
      continue;
    }
    r->at++;
    open_region *top = &r->stack.data[r->stack.len - 1];
    if (top->node != HIA_NONE && top->region == r->fn->nodes.data[top->node].regions) {
      bool is_if = r->fn->nodes.data[top->node].op == HIA_OP_IF;
      expect_word(r, is_if ? "else" : "round");
      expect(r, '{');
      top->region++;
    } else {
      r->stack.len--;
    }
  }
}

static void open_static(reader *r, hia_region_id region, bool has_pred) {
  position where;
  uint32_t n = region_label(r, &where);
  define(r, &r->regions, n, region, where, ".");
  if (has_pred) r->fn->regions.data[region].pred = value(r);
  expect(r, '{');
  r->fn->regions.data[region].first = r->fn->nodes.len;
  hiaR_push(r->scratch, &r->stack, (open_region){region, HIA_NONE});
}

/* `site 3 fib tail partner 5 !1:20`, before the Call_i of the site. */
static void site(reader *r) {
  skip(r);
  position where = here(r);
  uint32_t n = index_number(r);
  if (n != r->g->sites.len)
    fail_at(r, where, "expected site %u: sites are in order", r->g->sites.len);
  hia_site s = {.caller = r->fn_id, .callee = HIA_NONE, .partner = HIA_NONE, .loc = HIA_NONE};
  callee(r, FIX_CALLEE_SITE, n);
  s.is_tail = accept_word(r, "tail");
  if (accept_word(r, "partner")) s.partner = index_number(r);
  s.loc = location(r, FIX_LOC_SITE, n);
  s.calls = s.returns = r->fn->nodes.len;
  hiaR_push(r->arena, &r->g->sites, s);
}

/* Static state: the flat list of nodes, in which braces mark the ranges of regions. */
static void section(reader *r) {
  hia_fn *fn = r->fn;
  fn->regions.data[0].first = 0;
  while (r->stack.len) {
    hia_region_id region = r->stack.data[r->stack.len - 1].region;
    if (accept_word(r, "then")) {
      hia_region_id then = new_region(r, HIA_REGION_THEN, region);
      new_region(r, HIA_REGION_ELSE, region);
      open_static(r, then, true);
    } else if (accept_word(r, "head")) {
      hia_region_id head = new_region(r, HIA_REGION_HEAD, region);
      new_region(r, HIA_REGION_ROUND, head);
      open_static(r, head, false);
    } else if (accept_word(r, "round")) {
      if (fn->regions.data[region].kind != HIA_REGION_HEAD ||
          fn->regions.data[region + 1].first != HIA_NONE)
        fail(r, "round stands in a head, once");
      open_static(r, region + 1, true);
    } else if (accept_word(r, "site")) {
      site(r);
    } else if (accept(r, '}')) {
      hia_region *closed = &fn->regions.data[region];
      closed->last = fn->nodes.len;
      r->stack.len--;
      if (closed->kind == HIA_REGION_THEN) {
        expect_word(r, "else");
        hia_value_id pred = closed->pred;
        open_static(r, region + 1, false);
        fn->regions.data[region + 1].pred = pred;
      } else if (closed->kind == HIA_REGION_HEAD &&
                 fn->regions.data[region + 1].first == HIA_NONE) {
        fail(r, "a head has a round");
      }
    } else {
      node(r);
    }
  }
}

static void end_of_function(reader *r) {
  for (uint32_t i = 0; i < r->fn_fixes.len; i++) {
    const fix *f = &r->fn_fixes.data[i];
    uint32_t is = find(r, f->kind == FIX_VALUE ? &r->values : &r->regions, f->number);
    if (is == HIA_NONE)
      fail_at(r, f->where, f->kind == FIX_VALUE ? "%%%u is not defined" : ".%u is not defined",
              f->number);
    if (f->kind == FIX_VALUE)
      r->fn->edges.data[f->at] = is;
    else
      r->fn->nodes.data[f->at].imm |= is;
  }
  r->fn_fixes.len = 0;
}

static void function(reader *r) {
  hia_arena *arena = r->arena;
  skip(r);
  position where = here(r);
  const char *fn_name = name(r);
  uint32_t hash = hiaR_hash(fn_name, strlen(fn_name)), at = hash, other;
  while ((other = hiaR_index_next(&r->fn_names, hash, &at)) != HIA_NONE)
    if (strcmp(hiaG_fn(r->g, other)->name, fn_name) == 0)
      fail_at(r, where, "function %s is defined twice", fn_name);
  /* Made without parameters: their ARG nodes are in the text. */
  r->fn_id = hiaG_fn_new(r->g, fn_name, HIA_NONE, HIA_NONE, NULL, 0, NULL, 0);
  hia_fn *fn = r->fn = hiaG_fn(r->g, r->fn_id);
  hiaR_index_add(r->scratch, &r->fn_names, hash, r->fn_id);
  hiaR_push(r->scratch, &r->first_place, r->node_places.len);
  r->epoch++;
  fn->n_params = dtype_list(r, &fn->params);
  expect(r, '-');
  expect(r, '>');
  fn->n_results = dtype_list(r, &fn->results);
  fn->source = hiaG_name(r->g, accept_word(r, "of") ? name(r) : fn_name);
  if (accept_word(r, "root")) {
    fn->is_root = true;
    fn->sig_result = signature(r);
    fn->n_sig_params = r->types.len;
    fn->sig_params = HIA_NEW_ARRAY(arena, hia_type, r->types.len);
    if (r->types.len) memcpy(fn->sig_params, r->types.data, r->types.len * sizeof(hia_type));
  }
  if (accept_word(r, "group")) fn->group = u32(r);
  if (accept_word(r, "raises")) fn->traits |= HIA_FN_RAISES;
  if (accept_word(r, "diverges")) fn->traits |= HIA_FN_DIVERGES;
  if (accept_word(r, "recursive")) fn->traits |= HIA_FN_RECURSIVE;
  if (accept_word(r, "effect")) fn->traits |= HIA_FN_EFFECT;
  if (accept_word(r, "impure")) fn->traits |= HIA_FN_IMPURE;
  if (accept_word(r, "full")) callee(r, FIX_FULL, 0);
  fn->loc = location(r, FIX_LOC_FN, 0);
  expect(r, '{');
  r->stack.len = 0;
  hiaR_push(r->scratch, &r->stack, (open_region){0, HIA_NONE});
  if (r->g->state == HIA_STATIC)
    section(r);
  else
    function_body(r);
  end_of_function(r);
}

/* ---- the file ---- */

static void location_table(reader *r) {
  while (accept(r, '!')) {
    position where = here(r);
    if (index_number(r) != r->locs.len) fail_at(r, where, "expected !%u: in order", r->locs.len);
    expect(r, '=');
    uint32_t fn_name = hiaG_name(r->g, name(r));
    uint32_t line = u32(r);
    expect(r, ':');
    uint32_t col = u32(r);
    hia_loc_id parent = HIA_NONE;
    if (accept_word(r, "in")) {
      expect(r, '!');
      where = here(r);
      uint32_t n = index_number(r);
      if (n >= r->locs.len) fail_at(r, where, "!%u is not defined before its use", n);
      parent = r->locs.data[n];
    }
    hiaR_push(r->scratch, &r->locs, hiaG_loc(r->g, line, col, fn_name, parent));
  }
}

static hia_fn_id find_fn(reader *r, const char *fn_name) {
  uint32_t hash = hiaR_hash(fn_name, strlen(fn_name)), at = hash, i;
  while ((i = hiaR_index_next(&r->fn_names, hash, &at)) != HIA_NONE)
    if (strcmp(hiaG_fn(r->g, i)->name, fn_name) == 0) return i;
  return HIA_NONE;
}

static void end_of_file(reader *r) {
  for (uint32_t i = 0; i < r->file_fixes.len; i++) {
    const fix *f = &r->file_fixes.data[i];
    hia_fn *fn = hiaG_fn(r->g, f->fn);
    uint32_t is;
    if (f->kind == FIX_CALLEE || f->kind == FIX_CALLEE_SITE || f->kind == FIX_FULL) {
      const char *callee_name = r->callees.data[f->number];
      is = find_fn(r, callee_name);
      if (is == HIA_NONE) fail_at(r, f->where, "there is no function %s", callee_name);
      if (f->kind == FIX_FULL)
        fn->full = is;
      else if (f->kind == FIX_CALLEE_SITE)
        r->g->sites.data[f->at].callee = is;
      else
        fn->nodes.data[f->at].imm |= is; /* the number of a fork stands in the other half */
      continue;
    }
    if (f->number >= r->locs.len)
      fail_at(r, f->where, "!%u is not in the table of locations", f->number);
    is = r->locs.data[f->number];
    if (f->kind == FIX_LOC_NODE)
      fn->nodes.data[f->at].loc = is;
    else if (f->kind == FIX_LOC_FN)
      fn->loc = is;
    else
      r->g->sites.data[f->at].loc = is;
  }
  /* How many Call_i and Return_i a site has follows from its callee; the verifier compares. */
  for (uint32_t s = 0; s < r->g->sites.len; s++) {
    hia_site *at = &r->g->sites.data[s];
    const hia_fn *to = hiaG_fn(r->g, at->callee);
    at->n_calls = to->n_params ? to->n_params : 1;
    at->n_returns = to->n_results;
    at->returns = at->calls + at->n_calls;
  }
}

static void extern_line(reader *r) {
  skip(r);
  position where = here(r);
  const char *extern_name = name(r);
  if (find_extern(r, extern_name) != HIA_NONE)
    fail_at(r, where, "extern %s is declared twice", extern_name);
  hia_type result = signature(r);
  bool is_impure = accept_word(r, "impure"), raises = accept_word(r, "raises");
  hiaR_index_add(r->scratch, &r->extern_names, hiaR_hash(extern_name, strlen(extern_name)),
                 r->g->externs.len);
  hiaG_extern_new(r->g, extern_name, is_impure, raises, r->types.data, r->types.len, result);
}

static void file(reader *r) {
  expect_word(r, "graph");
  if (accept_word(r, "static"))
    r->g->state = HIA_STATIC;
  else
    expect_word(r, "functions");
  skip(r);
  if (peek(r) != '"') fail(r, "expected the name of the source file");
  r->g->file = string(r);
  r->g->is_counted = accept_word(r, "counted");
  while (accept_word(r, "extern")) extern_line(r);
  while (accept_word(r, "fn")) function(r);
  location_table(r);
  skip(r);
  if (r->at < r->end) fail(r, "expected 'fn' or the end of the text");
  end_of_file(r);
}

static bool is_sound(reader *r) {
  hia_defect defect;
  if (hiaG_find_defect(r->g, &defect)) {
    position where = {0, 0};
    if (defect.fn != HIA_NONE && defect.node != HIA_NONE)
      where = r->node_places.data[r->first_place.data[defect.fn] + defect.node];
    *r->error = (hia_read_error){where.line, where.col, defect.message};
    return false;
  }
  return true;
}

hia_graph *hiaG_read(hia_comp *comp, hia_types *types, const char *text, size_t len,
                     hia_read_error *error) {
  *error = (hia_read_error){0, 0, NULL};
  hia_mark mark = hiaR_arena_mark(&comp->scratch);
  reader *r = HIA_NEW(&comp->scratch, reader);
  r->arena = &comp->arena;
  r->scratch = &comp->scratch;
  r->g = hiaG_new(comp, types, "");
  r->text = r->at = r->line_start = text;
  r->end = text + len;
  r->line = 1;
  r->error = error;
  hia_graph *g = NULL;
  if (setjmp(r->stop) == 0) {
    file(r);
    if (is_sound(r)) g = r->g;
  }
  hiaR_arena_release(&comp->scratch, mark);
  return g;
}
