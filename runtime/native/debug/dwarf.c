/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Lines, functions and frames as DWARF 4 of 32 bits.
 *
 * A function of the code is a subprogram. A position within it that comes from another function of
 * the program, since its body was inlined, lies in inlined subroutines, one in the other, as the
 * location's chain of calls says: so debuggers show the calls that hiaton's own backtraces show. */
#include "runtime/native/debug/bytes.h"
#include "runtime/native/debug/parts.h"
#include <unistd.h>

enum { VERSION = 4, ADDRESS_SIZE = 8 };

/* The files of positions, by their numbers. */
enum { PROGRAM_FILE = 1, EXPRESSION_FILE = 2 };
static uint32_t file_number(const hia_debug_place *place) {
  return strcmp(place->file, HIA_EXPRESSION) == 0 ? EXPRESSION_FILE : PROGRAM_FILE;
}

/* Leaves room for a length, which is put there when what it is of has been written. */
static size_t begin(hia_text *out) {
  hiaR_put(out, 0, 4);
  return out->len;
}
static void end(hia_text *out, size_t from) { hiaR_put_at(out, from - 4, out->len - from); }

/* ---- .debug_line ---- */

enum { /* opcodes */
       COPY = 1,
       ADVANCE_PC = 2,
       ADVANCE_LINE = 3,
       SET_FILE = 4,
       SET_COLUMN = 5,
       FIRST_SPECIAL = 13,
       EXTENDED_END = 1,
       EXTENDED_ADDRESS = 2,
};

static void put_line_header(const hia_debug_code *code, hia_text *out) {
  static const char lengths[FIRST_SPECIAL - 1] = {0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1};
  size_t header = begin(out);
  hiaR_put(out, 1, 1); /* the length of an instruction */
  hiaR_put(out, 1, 1); /* operations of an instruction */
  hiaR_put(out, 1, 1); /* every row is the begin of a statement */
  hiaR_put(out, (uint64_t)(int64_t)-5,
           1);          /* special opcodes, which are not used: lines from here */
  hiaR_put(out, 14, 1); /* so many */
  hiaR_put(out, FIRST_SPECIAL, 1);
  hiaR_text_add(out, lengths, sizeof lengths);
  hiaR_put(out, 0, 1); /* no folders but that of the compilation */
  const char *files[] = {hiaR_debug_file(code->places), HIA_EXPRESSION};
  for (size_t i = 0; i < HIA_LEN(files); i++) {
    hiaR_put_string(out, files[i]);
    hiaR_put(out, 0, 3); /* its folder, time and size */
  }
  hiaR_put(out, 0, 1);
  end(out, header);
}

typedef struct line_state {
  uint32_t pc, file, line, col;
} line_state;

static void put_row(hia_text *out, line_state *s, uint32_t pc, const hia_debug_place *place) {
  uint32_t file = file_number(place);
  if (file != s->file) {
    hiaR_put(out, SET_FILE, 1);
    hiaR_put_uleb(out, file);
  }
  if (place->col != s->col) {
    hiaR_put(out, SET_COLUMN, 1);
    hiaR_put_uleb(out, place->col);
  }
  hiaR_put(out, ADVANCE_LINE, 1);
  hiaR_put_sleb(out, (int64_t)place->line - s->line);
  hiaR_put(out, ADVANCE_PC, 1);
  hiaR_put_uleb(out, pc - s->pc);
  hiaR_put(out, COPY, 1);
  *s = (line_state){pc, file, place->line, place->col};
}

static void put_sequence(const hia_debug_code *code, const hia_outline_function *f, hia_text *out) {
  uint32_t n;
  const hia_debug_row *rows = hiaR_debug_rows(code, f, out->arena, &n);
  line_state s = {.pc = f->pc, .file = PROGRAM_FILE, .line = 1};
  hiaR_put(out, 0, 1);
  hiaR_put_uleb(out, 1 + ADDRESS_SIZE);
  hiaR_put(out, EXTENDED_ADDRESS, 1);
  hiaR_put(out, code->text + f->pc, ADDRESS_SIZE);
  for (uint32_t i = 0; i < n; i++) {
    hia_debug_place place = hiaR_debug_place(code->places, rows[i].loc);
    put_row(out, &s, rows[i].pc, &place);
  }
  hiaR_put(out, ADVANCE_PC, 1);
  hiaR_put_uleb(out, f->end - s.pc);
  hiaR_put(out, 0, 1);
  hiaR_put_uleb(out, 1);
  hiaR_put(out, EXTENDED_END, 1);
}

void hiaR_debug_line(const hia_debug_code *code, hia_text *out) {
  size_t unit = begin(out);
  hiaR_put(out, VERSION, 2);
  put_line_header(code, out);
  for (uint32_t i = 0; i < code->outline->n_functions; i++)
    put_sequence(code, &hiaR_outline_functions(code->outline)[i], out);
  end(out, unit);
}

/* ---- .debug_abbrev ---- */

/* The forms of entries, and their attributes, in the order in which they are written. */
enum { UNIT = 1, FUNCTION, INLINED, ORIGIN };

enum { /* DW_TAG, DW_AT and DW_FORM */
       TAG_COMPILE_UNIT = 0x11,
       TAG_INLINED_SUBROUTINE = 0x1d,
       TAG_SUBPROGRAM = 0x2e,
       AT_NAME = 0x03,
       AT_STMT_LIST = 0x10,
       AT_LOW_PC = 0x11,
       AT_HIGH_PC = 0x12,
       AT_LANGUAGE = 0x13,
       AT_COMP_DIR = 0x1b,
       AT_INLINE = 0x20,
       AT_PRODUCER = 0x25,
       AT_ABSTRACT_ORIGIN = 0x31,
       AT_DECL_FILE = 0x3a,
       AT_DECL_LINE = 0x3b,
       AT_CALL_FILE = 0x58,
       AT_CALL_LINE = 0x59,
       FORM_ADDR = 0x01,
       FORM_DATA4 = 0x06,
       FORM_STRING = 0x08,
       FORM_DATA1 = 0x0b,
       FORM_REF4 = 0x13,
       FORM_SEC_OFFSET = 0x17,
};

static const struct form {
  unsigned char tag, has_children, attributes[8][2];
} forms[] = {
    [UNIT] = {TAG_COMPILE_UNIT,
              1,
              {{AT_PRODUCER, FORM_STRING},
               {AT_LANGUAGE, FORM_DATA1},
               {AT_NAME, FORM_STRING},
               {AT_COMP_DIR, FORM_STRING},
               {AT_STMT_LIST, FORM_SEC_OFFSET},
               {AT_LOW_PC, FORM_ADDR},
               {AT_HIGH_PC, FORM_DATA4}}},
    [FUNCTION] = {TAG_SUBPROGRAM,
                  1,
                  {{AT_NAME, FORM_STRING},
                   {AT_DECL_FILE, FORM_DATA1},
                   {AT_DECL_LINE, FORM_DATA4},
                   {AT_LOW_PC, FORM_ADDR},
                   {AT_HIGH_PC, FORM_DATA4}}},
    [INLINED] = {TAG_INLINED_SUBROUTINE,
                 1,
                 {{AT_ABSTRACT_ORIGIN, FORM_REF4},
                  {AT_LOW_PC, FORM_ADDR},
                  {AT_HIGH_PC, FORM_DATA4},
                  {AT_CALL_FILE, FORM_DATA1},
                  {AT_CALL_LINE, FORM_DATA4}}},
    [ORIGIN] = {TAG_SUBPROGRAM, 0, {{AT_NAME, FORM_STRING}, {AT_INLINE, FORM_DATA1}}},
};

void hiaR_debug_abbrev(hia_text *out) {
  for (unsigned i = UNIT; i < HIA_LEN(forms); i++) {
    hiaR_put_uleb(out, i);
    hiaR_put_uleb(out, forms[i].tag);
    hiaR_put(out, forms[i].has_children, 1);
    for (unsigned k = 0; k < HIA_LEN(forms[i].attributes) && forms[i].attributes[k][0]; k++) {
      hiaR_put_uleb(out, forms[i].attributes[k][0]);
      hiaR_put_uleb(out, forms[i].attributes[k][1]);
    }
    hiaR_put(out, 0, 2);
  }
  hiaR_put(out, 0, 1);
}

/* ---- .debug_info ---- */

/* A function whose body was inlined, and where an entry refers to it. */
typedef struct inlined_name {
  const char *name;
  uint32_t at; /* of its own entry, once that is written */
} inlined_name;
typedef struct reference {
  uint32_t at, name;
} reference;

typedef struct describing {
  const hia_debug_code *code;
  hia_text *out;
  size_t unit; /* the begin of the compilation unit, from which references count */
  HIA_VEC(inlined_name) names;
  HIA_VEC(reference) references;
  hia_index index; /* of the names */
} describing;

static uint32_t name_index(describing *d, const char *name) {
  uint32_t hash = hiaR_hash(name, strlen(name)), at = hash, i;
  while ((i = hiaR_index_next(&d->index, hash, &at)) != HIA_NONE)
    if (strcmp(d->names.data[i].name, name) == 0) return i;
  hiaR_index_add(d->out->arena, &d->index, hash, d->names.len);
  hiaR_push(d->out->arena, &d->names, (inlined_name){.name = name});
  return d->names.len - 1;
}

static void put_range(const describing *d, uint32_t pc, uint32_t to) {
  hiaR_put(d->out, d->code->text + pc, ADDRESS_SIZE);
  hiaR_put(d->out, to - pc, 4);
}

/* Each row has entries of its own, so a longer chain is cut: its innermost calls are shown. */
enum { MAX_INLINED = 64 };

/* The positions of a row, from the inlined body to the function of the code. */
static void put_inlined(describing *d, uint32_t loc, uint32_t pc, uint32_t to) {
  HIA_VEC(hia_debug_place) chain = {0};
  for (uint32_t i = loc; i != HIA_NONE && chain.len <= MAX_INLINED;
       i = chain.data[chain.len - 1].outer)
    hiaR_push(d->out->arena, &chain, hiaR_debug_place(d->code->places, i));
  for (uint32_t i = chain.len; i-- > 1;) {
    const hia_debug_place *call = &chain.data[i];
    hiaR_put_uleb(d->out, INLINED);
    uint32_t name = name_index(d, chain.data[i - 1].function);
    hiaR_push(d->out->arena, &d->references, (reference){hiaR_u32(d->out->len), name});
    hiaR_put(d->out, 0, 4);
    put_range(d, pc, to);
    hiaR_put(d->out, file_number(call), 1);
    hiaR_put(d->out, call->line, 4);
  }
  for (uint32_t i = 1; i < chain.len; i++) hiaR_put(d->out, 0, 1);
}

static void put_function(describing *d, const hia_outline_function *f) {
  hia_debug_place place = hiaR_debug_place(d->code->places, f->loc);
  hiaR_put_uleb(d->out, FUNCTION);
  hiaR_put_string(d->out, hiaR_outline_names(d->code->outline) + f->name);
  hiaR_put(d->out, file_number(&place), 1);
  hiaR_put(d->out, place.line, 4);
  put_range(d, f->pc, f->end);
  uint32_t n;
  const hia_debug_row *rows = hiaR_debug_rows(d->code, f, d->out->arena, &n);
  for (uint32_t i = 0; i < n; i++)
    put_inlined(d, rows[i].loc, rows[i].pc, i + 1 < n ? rows[i + 1].pc : f->end);
  hiaR_put(d->out, 0, 1);
}

static void put_origins(describing *d) {
  for (uint32_t i = 0; i < d->names.len; i++) {
    d->names.data[i].at = hiaR_u32(d->out->len - d->unit);
    hiaR_put_uleb(d->out, ORIGIN);
    hiaR_put_string(d->out, d->names.data[i].name);
    hiaR_put(d->out, 1, 1); /* DW_INL_inlined */
  }
  for (uint32_t i = 0; i < d->references.len; i++) {
    const reference *r = &d->references.data[i];
    hiaR_put_at(d->out, r->at, d->names.data[r->name].at);
  }
}

/* The folder that relative names of files begin in. */
static void put_folder(hia_text *out) {
  char path[4096];
  hiaR_put_string(out, getcwd(path, sizeof path) ? path : "");
}

void hiaR_debug_info(const hia_debug_code *code, hia_text *out) {
  describing d = {.code = code, .out = out, .unit = out->len};
  size_t unit = begin(out);
  hiaR_put(out, VERSION, 2);
  hiaR_put(out, 0, 4); /* the abbreviations' offset */
  hiaR_put(out, ADDRESS_SIZE, 1);
  hiaR_put_uleb(out, UNIT);
  hiaR_put_string(out, "hiaton");
  hiaR_put(out, 0x0c, 1); /* DW_LANG_C99: debuggers know no language that is closer */
  hiaR_put_string(out, hiaR_debug_file(code->places));
  put_folder(out);
  hiaR_put(out, 0, 4); /* the lines' offset */
  put_range(&d, 0, code->outline->code_size);
  for (uint32_t i = 0; i < code->outline->n_functions; i++)
    put_function(&d, &hiaR_outline_functions(code->outline)[i]);
  put_origins(&d);
  hiaR_put(out, 0, 1);
  end(out, unit);
}

/* ---- frames ---- */

enum { STACK_POINTER = 7, RETURN_ADDRESS = 16, NO_CIE = 0 };
#define IS_CIE 0xffffffffu /* in .debug_frame */

/* The state in which functions begin; the outline has the rest. */
static void put_initial(hia_text *out) {
  static const char rules[] = {0x0c, STACK_POINTER, 8, (char)(0x80 | RETURN_ADDRESS), 1};
  hiaR_text_add(out, rules, sizeof rules);
}

static void put_cie(hia_text *out, uint32_t id, const char *augmentation) {
  size_t from = begin(out);
  hiaR_put(out, id, 4);
  hiaR_put(out, 1, 1);
  hiaR_put_string(out, augmentation);
  hiaR_put_uleb(out, 1);
  hiaR_put_sleb(out, -8);
  hiaR_put_uleb(out, RETURN_ADDRESS);
  if (*augmentation) {
    hiaR_put_uleb(out, 1);
    hiaR_put(out, 0x1b, 1); /* addresses are relative, signed, of 4 bytes */
  }
  put_initial(out);
  hiaR_put_padding(out, from - 4, 8);
  end(out, from);
}

static void put_rules(const hia_debug_code *code, const hia_outline_function *f, hia_text *out) {
  hiaR_text_add(out, (const char *)hiaR_outline_rules(code->outline) + f->rules, f->rules_size);
}

void hiaR_debug_frame(const hia_debug_code *code, hia_text *out) {
  put_cie(out, IS_CIE, "");
  for (uint32_t i = 0; i < code->outline->n_functions; i++) {
    const hia_outline_function *f = &hiaR_outline_functions(code->outline)[i];
    if (!f->rules_size) continue;
    size_t from = begin(out);
    hiaR_put(out, 0, 4); /* the offset of the CIE */
    hiaR_put(out, code->text + f->pc, ADDRESS_SIZE);
    hiaR_put(out, f->end - f->pc, ADDRESS_SIZE);
    put_rules(code, f, out);
    hiaR_put_padding(out, from - 4, 8);
    end(out, from);
  }
}

/* A distance, from the place where it stands or from `base`. */
static void put_distance(hia_text *out, size_t target, size_t base) {
  hiaR_put(out, (uint64_t)target - base, 4);
}

size_t hiaR_debug_eh_frame(const hia_debug_code *code, const hia_outline_function *f,
                           hia_text *out) {
  size_t section = out->len, size = f->end - f->pc, function = section - ((size + 7) & ~(size_t)7);
  put_cie(out, NO_CIE, "zR");
  size_t fde = out->len, from = begin(out);
  put_distance(out, out->len, section); /* back to the CIE */
  put_distance(out, function, out->len);
  hiaR_put(out, size, 4);
  hiaR_put_uleb(out, 0);
  put_rules(code, f, out);
  hiaR_put_padding(out, from - 4, 8);
  end(out, from);
  hiaR_put(out, 0, 8); /* its end */
  size_t header = out->len;
  hiaR_put(out, 1, 1);    /* version */
  hiaR_put(out, 0x1b, 1); /* the address of .eh_frame is relative, signed, of 4 bytes */
  hiaR_put(out, 0x03, 1); /* the number of rows has 4 bytes */
  hiaR_put(out, 0x3b, 1); /* addresses in rows are relative to this header, signed, of 4 bytes */
  put_distance(out, section, out->len);
  hiaR_put(out, 1, 4);
  put_distance(out, function, header);
  put_distance(out, fde, header);
  return out->len - header;
}
