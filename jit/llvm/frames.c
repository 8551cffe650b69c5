/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Makes frame tables (runtime/native/tables.h), which lead from a return address to the frame's
 * size, the position of the call, and the forks that are open there.
 *
 * All of it is in the object file:
 *
 *   - The size is in .eh_frame: the distance from the stack pointer to the frame's end (DWARF's
 *     CFA).
 *   - The position is in .debug_line: the line number that lowering gave to the call (hiaL_line).
 *     The column stands for the forks that are open.
 *   - The forks, and the offsets in the frame where their data are, are in ELF sections that
 *     lowering writes (HIA_FORK_SECTION, HIA_ARCH_FRAME_SECTION).
 *
 * Each reader is a page of code. For code that was just compiled none of them runs before something
 * fails or a thief requests work. They understand only what LLVM writes for our functions. Where
 * they find something else there is no row, and the chain of calls ends. The formats: DWARF 4,
 * sections 6.2 (line programs) and 6.4 (call frames); .eh_frame as in the Linux Standard Base.
 *
 * A call's return address is the first byte behind it, which may belong to another line or, after a
 * call that never returns, to another function: rows are looked up one byte before. */
#include "jit/llvm/dwarf.h"
#include "runtime/native/arch/arch.h"
#include "runtime/native/tables.h"
#include <stdatomic.h>
#include <stdlib.h>

/* A row of a table. It holds from `pc` on, until the next row. */
typedef struct hia_frame_at {
  uint32_t pc;     /* offset in .text */
  uint32_t what;   /* bytes from the stack pointer to the frame's end, HIA_NO_FRAME; or the line */
  uint32_t number; /* with a line: the column */
} hia_frame_at;

typedef struct hia_frame_list {
  HIA_VEC(hia_frame_at) rows;
} hia_frame_list;

/* From .eh_frame: frames, and functions. In a function's row `what` is the offset of its end and
 * `number` the number of its fork map, 0 if it has none. */
typedef struct hia_frame_sizes {
  hia_frame_list frames, functions;
} hia_frame_sizes;

/* The state of making the tables of one object. */
typedef struct making {
  hia_comp *comp;
  const hia_object *object;
  hia_entries entries;
  hia_frame_sizes sizes;
  hia_frame_list lines;
  HIA_VEC(hia_table_map) maps; /* by number - 1 */
  HIA_VEC(hia_fork_site) sites;
  HIA_VEC(hia_fork_arg) args;
} making;

static void add_row(hia_comp *comp, hia_frame_list *list, uint64_t pc, uint32_t what,
                    uint64_t number) {
  hia_frame_at row = {(uint32_t)pc, what, (uint32_t)number};
  /* The last of several rows at one address counts. */
  if (list->rows.len && list->rows.data[list->rows.len - 1].pc == row.pc)
    list->rows.data[list->rows.len - 1] = row;
  else
    hiaR_push(&comp->arena, &list->rows, row);
}

/* The row that is in force at `pc`: the last one not behind it; NULL: there is none. */
static hia_frame_at *at(const hia_frame_list *list, uint32_t pc) {
  uint32_t low = 0, high = list->rows.len;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (list->rows.data[middle].pc <= pc)
      low = middle + 1;
    else
      high = middle;
  }
  return low ? &list->rows.data[low - 1] : NULL;
}

/* ---- .eh_frame ---- */

/* A rule for the frame's end: register + offset. Only the stack pointer is understood. */
typedef struct rule {
  uint64_t reg;
  uint64_t offset;
} rule;
#define STACK_POINTER 7u /* DWARF's number of rsp */
#define MAX_SAVED     8u /* nesting of remember_state */

typedef struct unwind {
  hia_comp *comp;
  hia_frame_list *list;
  uint64_t pc, end; /* of the function, offsets in .text */
  rule now, saved[MAX_SAVED];
  unsigned n_saved;
} unwind;

static void advance(unwind *u, uint64_t delta) {
  if (delta == 0) return;
  uint32_t size = u->now.reg == STACK_POINTER && u->now.offset < HIA_NO_FRAME
                      ? (uint32_t)u->now.offset
                      : HIA_NO_FRAME;
  add_row(u->comp, u->list, u->pc, size, 0);
  u->pc = delta > u->end - u->pc ? u->end : u->pc + delta;
}

/* Runs call frame instructions. False if one is not known. */
static bool run_rules(unwind *u, const hia_cie *info, hia_cursor c) {
  while (c.at < c.end && !c.bad) {
    uint64_t op = hiaJ_fixed(&c, 1);
    switch (op >> 6) {
    case 1: advance(u, (op & 0x3f) * info->code_align); continue;
    case 2: hiaJ_uleb(&c); continue; /* where a register is saved */
    case 3: continue;
    default: break;
    }
    switch (op) {
    case 0x00: break;                                                   /* nop */
    case 0x02: advance(u, hiaJ_fixed(&c, 1) * info->code_align); break; /* advance_loc1, 2, 4 */
    case 0x03: advance(u, hiaJ_fixed(&c, 2) * info->code_align); break;
    case 0x04: advance(u, hiaJ_fixed(&c, 4) * info->code_align); break;
    case 0x05: hiaJ_uleb(&c), hiaJ_uleb(&c); break; /* offset_extended */
    case 0x06:                                      /* restore_extended */
    case 0x07:                                      /* undefined */
    case 0x08: hiaJ_uleb(&c); break;                /* same_value */
    case 0x09: hiaJ_uleb(&c), hiaJ_uleb(&c); break; /* register */
    case 0x0a:                                      /* remember_state */
      if (u->n_saved == MAX_SAVED) return false;
      u->saved[u->n_saved++] = u->now;
      break;
    case 0x0b: /* restore_state */
      if (u->n_saved == 0) return false;
      u->now = u->saved[--u->n_saved];
      break;
    case 0x0c: /* def_cfa */
      u->now.reg = hiaJ_uleb(&c);
      u->now.offset = hiaJ_uleb(&c);
      break;
    case 0x0d: u->now.reg = hiaJ_uleb(&c); break;
    case 0x0e: u->now.offset = hiaJ_uleb(&c); break;
    case 0x13: u->now.offset = (uint64_t)(hiaJ_sleb(&c) * info->data_align); break;
    case 0x2e: hiaJ_uleb(&c); break; /* GNU_args_size */
    default: return false;
    }
  }
  return !c.bad;
}

/* Reads .eh_frame. False if a part of it is not understood; the rows of the rest are there. */
static bool read_sizes(hia_comp *comp, const hia_object *object, hia_frame_sizes *sizes) {
  hia_frame_list *list = &sizes->frames;
  hia_eh_frame reader = hiaJ_eh_frame(object);
  hia_fde fde;
  bool all = true;
  while (hiaJ_eh_frame_next(&reader, &fde)) {
    if (fde.section != object->text_index)
      continue; /* code for the host, or a constructor that a sanitizer added */
    if (fde.pc > object->text.size || fde.size > object->text.size - fde.pc) return false;
    unwind u = {.comp = comp, .list = list, .pc = fde.pc, .end = fde.pc + fde.size};
    if (run_rules(&u, &fde.cie, fde.cie.initial) && run_rules(&u, &fde.cie, fde.rules)) {
      advance(&u, u.end - u.pc);
    } else {
      all = false;
      add_row(comp, list, u.pc, HIA_NO_FRAME, 0);
    }
    add_row(comp, list, u.end, HIA_NO_FRAME, 0);
    add_row(comp, &sizes->functions, fde.pc, (uint32_t)u.end, 0);
  }
  return all && !reader.is_bad;
}

/* ---- .debug_line ---- */

typedef struct line_program {
  uint64_t min_length, line_range, opcode_base;
  int64_t line_base;
  unsigned char lengths[256]; /* operands of standard opcodes */
} line_program;

/* LLVM writes line 0, with whatever column came before, where an instruction has no location. */
static bool run_lines(hia_comp *comp, const hia_object *object, const line_program *p, hia_cursor c,
                      uint64_t *relocation, hia_frame_list *list) {
  uint64_t pc = 0;
  uint64_t line = 1, column = 0;
  bool is_text = true; /* false: the sequence is of another ELF section */
  while (c.at < c.end && !c.bad) {
    uint64_t op = hiaJ_fixed(&c, 1);
    if (op >= p->opcode_base) {
      uint64_t adjusted = op - p->opcode_base;
      pc += adjusted / p->line_range * p->min_length;
      line += (uint64_t)(p->line_base + (int64_t)(adjusted % p->line_range));
      if (is_text) add_row(comp, list, pc, (uint32_t)line, line ? column : 0);
      continue;
    }
    switch (op) {
    case 0: { /* extended */
      hia_cursor operand = hiaJ_slice(&c, hiaJ_uleb(&c));
      uint64_t extended = hiaJ_fixed(&operand, 1);
      if (extended == 1) { /* end_sequence */
        if (is_text) add_row(comp, list, pc, 0, 0);
        pc = 0;
        line = 1;
        column = 0;
        is_text = true;
      } else if (extended == 2) { /* set_address */
        uint64_t offset = (uint64_t)(operand.at - object->debug_line.data);
        is_text = hiaJ_object_target(object, &object->debug_line, offset, relocation, &pc);
      }
      break;
    }
    case 1: /* copy */
      if (is_text) add_row(comp, list, pc, (uint32_t)line, line ? column : 0);
      break;
    case 2: pc += hiaJ_uleb(&c) * p->min_length; break; /* advance_pc */
    case 3: line += (uint64_t)hiaJ_sleb(&c); break;     /* advance_line */
    case 5: column = hiaJ_uleb(&c); break;              /* set_column */
    case 8: /* const_add_pc */ pc += (255 - p->opcode_base) / p->line_range * p->min_length; break;
    case 9: pc += hiaJ_fixed(&c, 2); break; /* fixed_advance_pc */
    default:
      for (unsigned i = 0; i < p->lengths[op]; i++) hiaJ_uleb(&c);
    }
    if (is_text && pc > object->text.size) return false;
  }
  return !c.bad;
}

static bool read_lines(hia_comp *comp, const hia_object *object, hia_frame_list *list) {
  const hia_elf_section *elf_section = &object->debug_line;
  hia_cursor c = hiaJ_cursor(elf_section);
  uint64_t relocation = 0;
  while (c.end - c.at >= 4) {
    uint64_t length = hiaJ_fixed(&c, 4);
    if (length >= 0xfffffff0u) return false;
    hia_cursor unit = hiaJ_slice(&c, length);
    uint64_t version = hiaJ_fixed(&unit, 2);
    if (version < 3 || version > 5) return false;
    if (version == 5) hiaJ_fixed(&unit, 2); /* sizes of addresses and of segment selectors */
    uint64_t header_length = hiaJ_fixed(&unit, 4);
    hia_cursor header = hiaJ_slice(&unit, header_length);
    line_program p = {0};
    p.min_length = hiaJ_fixed(&header, 1);
    if (version >= 4) hiaJ_fixed(&header, 1); /* operations per instruction */
    hiaJ_fixed(&header, 1);                   /* is_stmt: of no interest */
    p.line_base = (int8_t)hiaJ_fixed(&header, 1);
    p.line_range = hiaJ_fixed(&header, 1);
    p.opcode_base = hiaJ_fixed(&header, 1);
    for (uint64_t i = 1; i < p.opcode_base; i++)
      p.lengths[i] = (unsigned char)hiaJ_fixed(&header, 1);
    if (header.bad || unit.bad || p.line_range == 0 || p.opcode_base == 0) return false;
    if (!run_lines(comp, object, &p, unit, &relocation, list)) return false;
  }
  return true;
}

/* ---- forks ---- */

/* Reads and skips a table that lowering wrote: the number of rows, then rows of `words` words. */
typedef struct table {
  const unsigned char *data;
  uint64_t n;
} table;
static table read_table(hia_cursor *c, unsigned words) {
  table t = {.n = hiaJ_fixed(c, 4)};
  t.data = c->at;
  if (t.n > (uint64_t)(c->end - c->at) / (4 * words)) c->bad = true;
  hiaJ_skip(c, c->bad ? 0 : t.n * 4 * words);
  return t;
}
static uint32_t word_at(const table *t, uint64_t i) {
  uint32_t word;
  memcpy(&word, t->data + i * 4, sizeof word);
  return word;
}

static void add_forking(making *m, const table *functions, uint64_t pc, uint64_t number,
                        uint32_t offset) {
  const hia_frame_at *size = at(&m->sizes.frames, (uint32_t)pc);
  hia_frame_at *function = at(&m->sizes.functions, (uint32_t)pc);
  if (number >= functions->n || !function || !size) return;
  if (size->what == HIA_NO_FRAME || offset >= size->what) return;
  uint64_t row = number * HIA_FORK_FUNCTION_WORDS;
  hia_table_map map = {.first_site = word_at(functions, row),
                       .n_sites = word_at(functions, row + 1),
                       .keeps_number = word_at(functions, row + 2) != 0,
                       .below = size->what - offset};
  hiaR_push(&m->comp->arena, &m->maps, map);
  function->number = m->maps.len;
}

/* Reads the rows that HIA_ARCH_FRAME writes: an address in the code, the number of its function,
 * the distance of the function's fork data from the stack pointer. */
static void read_fork_frames(making *m, const table *functions) {
  const hia_elf_section *elf_section = &m->object->fork_frames;
  hia_cursor c = hiaJ_cursor(elf_section);
  uint64_t relocation = 0;
  while (c.at < c.end) {
    uint64_t pc, at = (uint64_t)(c.at - elf_section->data);
    uint32_t offset;
    if (!hiaJ_object_target(m->object, elf_section, at, &relocation, &pc)) return;
    hiaJ_skip(&c, 8);
    uint64_t number = hiaJ_fixed(&c, 4);
    size_t length = hiaR_arch_frame_offset(c.at, (size_t)(c.end - c.at), &offset);
    if (!length || c.bad) return;
    hiaJ_skip(&c, length);
    add_forking(m, functions, pc, number, offset);
  }
}

/* True if every row refers only to rows that exist, and sites only to earlier sites. */
static bool are_sound(const table *functions, const table *sites, const table *args) {
  for (uint64_t i = 0; i < functions->n; i++) {
    uint64_t row = i * HIA_FORK_FUNCTION_WORDS;
    uint64_t first = word_at(functions, row), n = word_at(functions, row + 1);
    if (first + n > sites->n) return false;
    for (uint64_t k = 0; k < n; k++) {
      uint64_t site = (first + k) * HIA_FORK_SITE_WORDS;
      uint32_t around = word_at(sites, site), index = word_at(sites, site + 1);
      if ((around != HIA_NONE && around >= k) || index >= HIA_MAX_OPEN_FORKS) return false;
    }
  }
  for (uint64_t i = 0; i < sites->n; i++) {
    uint64_t site = i * HIA_FORK_SITE_WORDS;
    uint64_t n = word_at(sites, site + 2), first = word_at(sites, site + 5);
    if (first + n > args->n) return false;
  }
  return true;
}

static void read_forks(making *m) {
  const hia_elf_section *elf_section = &m->object->forks;
  hia_cursor c = hiaJ_cursor(elf_section);
  if (!elf_section->data) return;
  table functions = read_table(&c, HIA_FORK_FUNCTION_WORDS);
  table rows = read_table(&c, HIA_FORK_SITE_WORDS);
  table arg_rows = read_table(&c, HIA_FORK_ARG_WORDS);
  if (c.bad || !are_sound(&functions, &rows, &arg_rows)) return;
  for (uint64_t i = 0; i < arg_rows.n; i++) {
    uint64_t row = i * HIA_FORK_ARG_WORDS;
    uint64_t addend = word_at(&arg_rows, row + 2) | (uint64_t)word_at(&arg_rows, row + 3) << 32;
    uint32_t how = word_at(&arg_rows, row + 1);
    hia_fork_arg arg = {.word = word_at(&arg_rows, row),
                        .repr = (uint16_t)how,
                        .handing = (uint8_t)(how >> 16),
                        .holding = (uint8_t)(how >> 24),
                        .addend = (int64_t)addend};
    hiaR_push(&m->comp->arena, &m->args, arg);
  }
  for (uint64_t i = 0; i < rows.n; i++) {
    uint64_t row = i * HIA_FORK_SITE_WORDS;
    uint32_t callee = word_at(&rows, row + 4);
    hia_entry_at entry = callee < m->entries.n ? m->entries.at[callee] : (hia_entry_at){0};
    hia_fork_site site = {.around = word_at(&rows, row),
                          .index = word_at(&rows, row + 1),
                          .n_params = word_at(&rows, row + 2),
                          .n_results = word_at(&rows, row + 3),
                          .first_arg = word_at(&rows, row + 5),
                          .entry = entry.entry ? entry.entry - m->entries.base : 0,
                          .pays = entry.pays ? entry.pays - m->entries.base : 0};
    for (uint32_t k = 0; k < site.n_params; k++)
      site.gives |= m->args.data[site.first_arg + k].handing == HIA_FORK_GIVES;
    hiaR_push(&m->comp->arena, &m->sites, site);
  }
  read_fork_frames(m, &functions);
}

/* ---- the tables ---- */

static bool is_end(const hia_frame_at *row) { return row->what == HIA_NO_FRAME || row->what == 0; }

/* Where one function ends and the next begins, the end comes first. */
static int by_pc(const void *a, const void *b) {
  const hia_frame_at *x = a, *y = b;
  return x->pc != y->pc ? (x->pc > y->pc) - (x->pc < y->pc) : is_end(y) - is_end(x);
}

/* Today LLVM writes functions in order of address, but nothing promises it. */
static void sort(hia_frame_list *list) {
  for (uint32_t i = 1; i < list->rows.len; i++) {
    if (list->rows.data[i - 1].pc < list->rows.data[i].pc) continue;
    qsort(list->rows.data, list->rows.len, sizeof *list->rows.data, by_pc);
    return;
  }
}

/* Leaves out rows that equal the row before them except for their address. */
static void shorten(hia_frame_list *list) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < list->rows.len; i++) {
    const hia_frame_at *row = &list->rows.data[i], *last = n ? &list->rows.data[n - 1] : NULL;
    if (last && last->what == row->what && last->number == row->number) continue;
    list->rows.data[n++] = *row;
  }
  list->rows.len = n;
}

static uint32_t largest(const hia_frame_list *frames) {
  uint32_t most = 0;
  for (uint32_t i = 0; i < frames->rows.len; i++) {
    uint32_t size = frames->rows.data[i].what;
    if (size != HIA_NO_FRAME && size > most) most = size;
  }
  return most;
}

static void *copy(void *to, const void *from, size_t size) {
  if (size) memcpy(to, from, size);
  return (char *)to + size;
}

static hia_tables *serialise(making *m) {
  hia_frame_list *frames = &m->sizes.frames, *functions = &m->sizes.functions, *lines = &m->lines;
  uint32_t n_functions = 0;
  for (uint32_t i = 0; i < functions->rows.len; i++)
    n_functions += functions->rows.data[i].number != 0;
  hia_tables head = {.text_size = (uint32_t)m->object->text.size,
                     .max_frame = largest(frames),
                     .n_args = m->args.len,
                     .n_sites = m->sites.len,
                     .n_maps = m->maps.len,
                     .n_functions = n_functions,
                     .n_frames = frames->rows.len,
                     .n_lines = lines->rows.len};
  hia_tables *tables = hiaR_arena_alloc(&m->comp->arena, hiaR_tables_size(&head));
  *tables = head;
  void *at = copy(tables + 1, m->args.data, m->args.len * sizeof *m->args.data);
  at = copy(at, m->sites.data, m->sites.len * sizeof *m->sites.data);
  at = copy(at, m->maps.data, m->maps.len * sizeof *m->maps.data);
  for (uint32_t i = 0; i < functions->rows.len; i++) {
    const hia_frame_at *f = &functions->rows.data[i];
    if (f->number)
      at = copy(at, &(hia_table_function){f->pc, f->what, f->number - 1},
                sizeof(hia_table_function));
  }
  for (uint32_t i = 0; i < frames->rows.len; i++) {
    const hia_frame_at *f = &frames->rows.data[i];
    at = copy(at, &(hia_table_frame){f->pc, f->what}, sizeof(hia_table_frame));
  }
  for (uint32_t i = 0; i < lines->rows.len; i++) {
    const hia_frame_at *l = &lines->rows.data[i];
    hia_loc_id loc = hiaL_line_loc(l->what);
    uint32_t what = loc == HIA_NONE ? HIA_NONE : loc * 2 + hiaL_line_is_tail(l->what);
    at = copy(at, &(hia_table_line){l->pc, what, l->number}, sizeof(hia_table_line));
  }
  return tables;
}

hia_tables *hiaJ_frames_make(hia_comp *comp, const hia_object *object, hia_entries entries) {
  making m = {.comp = comp, .object = object, .entries = entries};
  read_sizes(comp, object, &m.sizes);
  read_lines(comp, object, &m.lines);
  sort(&m.sizes.frames);
  sort(&m.sizes.functions);
  sort(&m.lines);
  shorten(&m.sizes.frames);
  shorten(&m.lines);
  read_forks(&m);
  return serialise(&m);
}

hia_status hiaJ_frames_largest(const hia_allocator *allocator, const hia_object *object,
                               size_t *bytes) {
  hia_frame_sizes sizes = {0};
  hia_comp comp;
  volatile bool ok = false;
  hiaR_comp_init(&comp, allocator);
  if (HIA_TRY(&comp)) {
    ok = read_sizes(&comp, object, &sizes);
    *bytes = largest(&sizes.frames);
  }
  hia_status status = comp.status; /* of a throw */
  hiaR_comp_free(&comp);
  return status != HIA_OK ? status : ok ? HIA_OK : HIA_INTERNAL;
}

/* ---- the tables of code in this process ---- */

struct hia_frames {
  const hia_allocator *allocator;
  hia_object object;
  uintptr_t base;
  hia_entries entries;
  pthread_mutex_t lock; /* held while the tables are made */
  hia_comp comp;
  _Atomic(const hia_tables *) tables;
};

/* When out of memory, the next lookup tries again. */
static const hia_tables *make(hia_frames *f) {
  if (HIA_TRY(&f->comp)) return hiaJ_frames_make(&f->comp, &f->object, f->entries);
  hiaR_comp_free(&f->comp);
  hiaR_comp_init(&f->comp, f->allocator);
  return NULL;
}

hia_status hiaJ_frames_new(const hia_allocator *allocator, const hia_object *object, uintptr_t base,
                           hia_entries entries, hia_frames **out) {
  hia_frames *f = *out = hiaR_alloc(allocator, sizeof *f);
  if (!f) return HIA_MEMORY;
  f->allocator = allocator;
  f->object = *object;
  f->base = base;
  f->entries = entries;
  hiaR_comp_init(&f->comp, allocator);
  pthread_mutex_init(&f->lock, NULL);
  return HIA_OK;
}

void hiaJ_frames_free(hia_frames *f) {
  if (!f) return;
  pthread_mutex_destroy(&f->lock);
  hiaR_comp_free(&f->comp);
  hiaR_free(f->allocator, f, sizeof *f);
}

bool hiaJ_frames_find(void *user, uintptr_t return_address, hia_frame_row *row) {
  hia_frames *f = user;
  if (return_address <= f->base || return_address - f->base > f->object.text.size) return false;
  const hia_tables *tables = atomic_load_explicit(&f->tables, memory_order_acquire);
  if (!tables) {
    pthread_mutex_lock(&f->lock);
    tables = atomic_load_explicit(&f->tables, memory_order_relaxed);
    if (!tables) {
      tables = make(f);
      atomic_store_explicit(&f->tables, tables, memory_order_release);
    }
    pthread_mutex_unlock(&f->lock);
    if (!tables) return false;
  }
  return hiaR_tables_find(tables, f->base, return_address, row);
}
