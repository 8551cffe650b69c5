/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* From an object file to laid-out code (runtime/native/load.h), for x86-64.
 *
 * The two parts have these pieces, in this order:
 *
 *   code   .text, other sections with code, stubs, sections that are not written
 *   data   sections that are written, slots, those that are zeros, common symbols
 *
 * A distance within the loaded code is known here, and is put into the bytes. An import is called
 * through a stub, and its address is read from a slot. Whatever else a relocation may be (an
 * address within code, one of 32 bits, thread-local storage) does not occur in what hiaton has LLVM
 * generate, and is refused.
 *
 * .eh_frame is left out: hiaton unwinds through generated code by frame tables (frames.c), and what
 * debuggers need of it is in the outline (outline.c). Constructors, which sanitizers add, are laid
 * out but not called. */
#include "jit/llvm/backend.h"
#include "runtime/native/arch/arch.h"
#include "runtime/native/load.h"
#include <elf.h>
#include <stdlib.h>

#define NOWHERE HIA_NOT_LOADED
/* What lies further away cannot be reached by a distance of 32 bits. */
#define MAX_LOADED ((uint64_t)INT32_MAX)

enum { SLOT_SIZE = 8, STUB_SIZE = 8 };

typedef struct placed_section {
  hia_object_section s;
  uint64_t at; /* in the loaded code, or NOWHERE */
} placed_section;

typedef struct placed_symbol {
  hia_object_symbol s;
  uint64_t at;                 /* in the loaded code, or NOWHERE */
  uint32_t import, slot, stub; /* their numbers, or HIA_NONE */
} placed_symbol;

typedef struct linking {
  hia_comp *comp;
  const hia_object *object;
  placed_section *sections;
  placed_symbol *symbols;
  uint32_t n_sections, n_symbols;
  uint32_t *offered; /* symbols by name */
  uint32_t n_offered, n_imports, n_slots, n_stubs;
  uint64_t n_addresses; /* in data, besides slots */
  uint64_t names_size;

  uint64_t stubs_at, code_size, data_at, data_end, slots_at, end; /* offsets in the loaded code */

  /* What is made, and where its pieces are. */
  hia_laid_code *laid;
  hia_laid_relocation *relocations;
  uint32_t n_written; /* of them */
  unsigned char *code, *data;
} linking;

static _Noreturn void refuse(const linking *l, const char *what) {
  HIA_BUG(l->comp, HIA_NOT_UNDERSTOOD ": %s", what);
}

/* ---- what there is ---- */

static bool is_loaded(const hia_object_section *s) {
  return s->flags & SHF_ALLOC && strcmp(s->name, ".eh_frame") != 0;
}
static bool is_data(const hia_object_section *s) { return s->flags & SHF_WRITE; }
static bool is_code(const hia_object_section *s) { return s->flags & SHF_EXECINSTR; }

static void read_sections(linking *l) {
  l->n_sections = hiaJ_object_n_sections(l->object);
  l->sections = HIA_NEW_ARRAY(&l->comp->arena, placed_section, l->n_sections);
  for (uint32_t i = 0; i < l->n_sections; i++) {
    placed_section *section = &l->sections[i];
    hia_object_section *s = &section->s;
    section->at = NOWHERE;
    if (!hiaJ_object_section(l->object, i, s)) refuse(l, "a section");
    if (s->type == SHT_REL) refuse(l, "relocations without addends");
    if (s->type == SHT_RELA && s->relocated >= l->n_sections)
      refuse(l, "relocations of no section");
    if (!is_loaded(s)) continue;
    if (s->flags & SHF_TLS) refuse(l, "thread-local storage");
    if (is_code(s) && is_data(s)) refuse(l, "code that is written");
    if (!is_data(s) && !s->data) refuse(l, "constants without bytes");
    if (s->size > MAX_LOADED) refuse(l, "a large section");
    if (s->align > HIA_LAID_PAGE || s->align & (s->align - 1)) refuse(l, "an alignment");
  }
  const hia_object_section *text = &l->sections[l->object->text_index].s;
  if (!is_loaded(text) || !is_code(text) || !text->size) refuse(l, "no code");
}

static void read_symbols(linking *l) {
  uint64_t n = hiaJ_object_n_symbols(l->object);
  if (n >= HIA_NONE) refuse(l, "too many symbols");
  l->n_symbols = (uint32_t)n;
  l->symbols = HIA_NEW_ARRAY(&l->comp->arena, placed_symbol, l->n_symbols);
  for (uint32_t i = 0; i < l->n_symbols; i++) {
    placed_symbol *symbol = &l->symbols[i];
    symbol->at = NOWHERE;
    symbol->import = symbol->slot = symbol->stub = HIA_NONE;
    if (!hiaJ_object_symbol(l->object, i, &symbol->s)) refuse(l, "a symbol");
  }
}

/* ---- relocations, one by one ---- */

typedef void (*on_relocation)(linking *l, const placed_section *of, const hia_object_relocation *r);

static void each_relocation(linking *l, on_relocation call) {
  for (uint32_t i = 0; i < l->n_sections; i++) {
    const hia_object_section *s = &l->sections[i].s;
    if (s->type != SHT_RELA || !is_loaded(&l->sections[s->relocated].s)) continue;
    hia_object_relocation r;
    for (uint64_t k = 0; hiaJ_object_relocation(s, k, &r); k++)
      call(l, &l->sections[s->relocated], &r);
  }
}

static bool is_undefined(const placed_symbol *s) { return s->s.section == SHN_UNDEF; }

static void need_slot(linking *l, placed_symbol *s) {
  if (s->slot == HIA_NONE) s->slot = l->n_slots++;
}

/* Notes what a relocation needs besides its own bytes. */
static void prepare(linking *l, const placed_section *of, const hia_object_relocation *r) {
  if (r->symbol >= l->n_symbols) refuse(l, "a relocation to no symbol");
  placed_symbol *s = &l->symbols[r->symbol];
  uint64_t size = r->type == R_X86_64_64 ? 8 : 4;
  if (!of->s.data || r->at > of->s.size || size > of->s.size - r->at)
    refuse(l, "a relocation of no bytes");
  if (is_undefined(s) && s->import == HIA_NONE) {
    if (!s->s.name[0]) refuse(l, "a symbol without a name");
    s->import = l->n_imports++;
    l->names_size += strlen(s->s.name) + 1;
  }
  switch (r->type) {
  case R_X86_64_PC32: return;
  case R_X86_64_PLT32:
    if (!is_undefined(s)) return;
    need_slot(l, s);
    if (s->stub == HIA_NONE) s->stub = l->n_stubs++;
    return;
  case R_X86_64_GOTPCREL:
  case R_X86_64_GOTPCRELX:
  case R_X86_64_REX_GOTPCRELX: need_slot(l, s); return;
  case R_X86_64_64:
    if (!is_data(&of->s)) refuse(l, "an address in code or constants");
    l->n_addresses++;
    return;
  default: HIA_BUG(l->comp, HIA_NOT_UNDERSTOOD ": a relocation of type %u", r->type);
  }
}

/* ---- where everything lies ---- */

/* Reserves room behind *end. Returns its offset. */
static uint64_t reserve(const linking *l, uint64_t *end, uint64_t size, uint64_t align) {
  uint64_t at = (*end + align - 1) & ~(align - 1);
  if (at > MAX_LOADED || size > MAX_LOADED - at) refuse(l, "too large");
  *end = at + size;
  return at;
}

typedef bool (*is_kind)(const hia_object_section *s);
static bool is_other_code(const hia_object_section *s) { return is_code(s); }
static bool is_constant(const hia_object_section *s) { return !is_code(s) && !is_data(s); }
static bool is_given_data(const hia_object_section *s) { return is_data(s) && s->data; }
static bool is_zero_data(const hia_object_section *s) { return is_data(s) && !s->data; }

static void place_sections(linking *l, uint64_t *end, is_kind is_one) {
  for (uint32_t i = 0; i < l->n_sections; i++) {
    placed_section *section = &l->sections[i];
    if (section->at != NOWHERE || !is_loaded(&section->s) || !is_one(&section->s)) continue;
    section->at = reserve(l, end, section->s.size, section->s.align);
  }
}

static void place_common(linking *l, uint64_t *end) {
  for (uint32_t i = 0; i < l->n_symbols; i++) {
    placed_symbol *symbol = &l->symbols[i];
    uint64_t align = symbol->s.value;
    if (symbol->s.section != SHN_COMMON) continue;
    if (!align || align > HIA_LAID_PAGE || align & (align - 1)) refuse(l, "an alignment");
    symbol->at = reserve(l, end, symbol->s.size, align);
  }
}

static void place_symbols(linking *l) {
  for (uint32_t i = 0; i < l->n_symbols; i++) {
    placed_symbol *symbol = &l->symbols[i];
    if (is_undefined(symbol) || symbol->s.section >= l->n_sections) continue;
    const placed_section *section = &l->sections[symbol->s.section];
    if (section->at == NOWHERE) continue;
    if (symbol->s.value > section->s.size) refuse(l, "a symbol outside of its section");
    symbol->at = section->at + symbol->s.value;
  }
}

static void place(linking *l) {
  uint64_t end = 0;
  placed_section *text = &l->sections[l->object->text_index];
  text->at = reserve(l, &end, text->s.size, text->s.align);
  place_sections(l, &end, is_other_code);
  l->stubs_at = reserve(l, &end, (uint64_t)l->n_stubs * STUB_SIZE, STUB_SIZE);
  place_sections(l, &end, is_constant);
  l->code_size = end;
  l->data_at = reserve(l, &end, 0, HIA_LAID_PAGE);
  place_sections(l, &end, is_given_data);
  l->data_end = end;
  l->slots_at = reserve(l, &end, (uint64_t)l->n_slots * SLOT_SIZE, SLOT_SIZE);
  place_sections(l, &end, is_zero_data);
  place_common(l, &end);
  l->end = end;
  place_symbols(l);
}

/* ---- what it offers ---- */

typedef struct named {
  const char *name;
  uint32_t symbol;
} named;

static int by_name(const void *a, const void *b) {
  return strcmp(((const named *)a)->name, ((const named *)b)->name);
}

/* Offers the symbols that other objects could refer to: lowering keeps all others to the object. */
static void find_offered(linking *l) {
  named *list = HIA_NEW_ARRAY(&l->comp->arena, named, l->n_symbols);
  for (uint32_t i = 0; i < l->n_symbols; i++) {
    const placed_symbol *s = &l->symbols[i];
    if (s->s.is_local || s->at == NOWHERE) continue;
    list[l->n_offered++] = (named){s->s.name, i};
    l->names_size += strlen(s->s.name) + 1;
  }
  qsort(list, l->n_offered, sizeof *list, by_name);
  l->offered = HIA_NEW_ARRAY(&l->comp->arena, uint32_t, l->n_offered);
  for (uint32_t i = 0; i < l->n_offered; i++) l->offered[i] = list[i].symbol;
}

/* ---- writing ---- */

static void add_address(linking *l, uint64_t at, uint32_t import, int64_t addend) {
  hia_laid_relocation r = {hiaR_u32(at - l->data_at), import, addend};
  l->relocations[l->n_written++] = r;
}

/* The bytes of a place in the loaded code. */
static unsigned char *bytes_at(const linking *l, uint64_t at) {
  return at < l->data_at ? l->code + at : l->data + (at - l->data_at);
}

/* Puts the distance to `target` into the four bytes at `place`, plus an addend. */
static void put_distance(const linking *l, uint64_t place, uint64_t target, int64_t addend) {
  /* Offsets are less than 2^31. */
  int64_t distance = (int64_t)target - (int64_t)place;
  if (addend < INT32_MIN || addend > INT32_MAX) refuse(l, "an addend");
  distance += addend;
  if (distance < INT32_MIN || distance > INT32_MAX) refuse(l, "a distance");
  int32_t bytes = (int32_t)distance;
  memcpy(bytes_at(l, place), &bytes, sizeof bytes);
}

static void apply(linking *l, const placed_section *of, const hia_object_relocation *r) {
  const placed_symbol *s = &l->symbols[r->symbol];
  uint64_t place = of->at + r->at;
  bool is_slot = false;
  switch (r->type) {
  case R_X86_64_64:
    if (s->import != HIA_NONE)
      add_address(l, place, s->import, r->addend);
    else if (s->at == NOWHERE || r->addend < -(int64_t)s->at ||
             r->addend > (int64_t)(l->end - s->at))
      refuse(l, "an address of nothing");
    else
      add_address(l, place, HIA_NONE, (int64_t)s->at + r->addend);
    return;
  case R_X86_64_GOTPCREL:
  case R_X86_64_GOTPCRELX:
  case R_X86_64_REX_GOTPCRELX: is_slot = true; break;
  default: break;
  }
  uint64_t target = is_slot               ? l->slots_at + (uint64_t)s->slot * SLOT_SIZE
                    : s->stub != HIA_NONE ? l->stubs_at + (uint64_t)s->stub * STUB_SIZE
                                          : s->at;
  if (target == NOWHERE || (r->type == R_X86_64_PC32 && is_undefined(s)))
    refuse(l, "a distance to nothing");
  put_distance(l, place, target, r->addend);
}

/* Fills in the slots, and the stubs that jump through them. */
static void write_slots(linking *l) {
  for (uint32_t i = 0; i < l->n_symbols; i++) {
    const placed_symbol *s = &l->symbols[i];
    if (s->slot == HIA_NONE) continue;
    uint64_t slot = l->slots_at + (uint64_t)s->slot * SLOT_SIZE;
    if (s->import == HIA_NONE && s->at == NOWHERE) refuse(l, "an address of nothing");
    add_address(l, slot, s->import, s->import == HIA_NONE ? (int64_t)s->at : 0);
    if (s->stub == HIA_NONE) continue;
    static const unsigned char jump[STUB_SIZE] = {0xff, 0x25, 0, 0, 0, 0, 0xcc, 0xcc};
    uint64_t stub = l->stubs_at + (uint64_t)s->stub * STUB_SIZE;
    memcpy(bytes_at(l, stub), jump, sizeof jump);
    put_distance(l, stub + 2, slot, -4); /* from the end of the instruction */
  }
}

/* Writes a name, and moves *names behind it. Returns its offset. */
static uint32_t write_name(const char *first, char **names, const char *name) {
  size_t size = strlen(name) + 1;
  uint32_t at = hiaR_u32((uint64_t)(*names - first));
  memcpy(*names, name, size);
  *names += size;
  return at;
}

static void write_names(const linking *l, hia_laid_import *imports) {
  hia_laid_symbol *symbols = (hia_laid_symbol *)(imports + l->n_imports);
  char *first = (char *)(symbols + l->n_offered), *names = first;
  for (uint32_t i = 0; i < l->n_symbols; i++) {
    const placed_symbol *s = &l->symbols[i];
    if (s->import == HIA_NONE) continue;
    imports[s->import] = (hia_laid_import){.name = write_name(first, &names, s->s.name),
                                           .flags = s->s.is_weak ? HIA_IMPORT_OPTIONAL : 0};
  }
  for (uint32_t i = 0; i < l->n_offered; i++) {
    const placed_symbol *s = &l->symbols[l->offered[i]];
    symbols[i] =
        (hia_laid_symbol){.name = write_name(first, &names, s->s.name), .at = hiaR_u32(s->at)};
  }
}

static void copy_sections(const linking *l) {
  for (uint32_t i = 0; i < l->n_sections; i++) {
    const placed_section *section = &l->sections[i];
    if (section->at != NOWHERE && section->s.data)
      memcpy(bytes_at(l, section->at), section->s.data, section->s.size);
  }
}

static void new_block(linking *l) {
  uint64_t n_relocations = l->n_addresses + l->n_slots;
  if (n_relocations > UINT32_MAX || l->names_size > UINT32_MAX) refuse(l, "too large");
  hia_laid_code head = {.magic = HIA_LAID_MAGIC,
                        .version = HIA_LAID_VERSION,
                        .machine = HIA_ARCH_MACHINE,
                        .abi = HIA_RT_ABI,
                        .text_size = hiaR_u32(l->sections[l->object->text_index].s.size),
                        .code_size = hiaR_u32(l->code_size),
                        .data_size = hiaR_u32(l->end - l->data_at),
                        .data_given = hiaR_u32(l->data_end - l->data_at),
                        .n_relocations = (uint32_t)n_relocations,
                        .n_imports = l->n_imports,
                        .n_symbols = l->n_offered,
                        .names_size = (uint32_t)l->names_size};
  l->laid = hiaR_arena_alloc(&l->comp->arena, hiaR_laid_size(&head));
  *l->laid = head;
  l->relocations = (hia_laid_relocation *)(l->laid + 1);
  hia_laid_import *imports = (hia_laid_import *)(l->relocations + n_relocations);
  char *names = (char *)((hia_laid_symbol *)(imports + l->n_imports) + l->n_offered);
  l->code = (unsigned char *)names + l->names_size;
  l->data = l->code + l->code_size;
  write_names(l, imports);
}

static const uint64_t *list_places(const linking *l) {
  uint64_t *places = HIA_NEW_ARRAY(&l->comp->arena, uint64_t, l->n_sections);
  for (uint32_t i = 0; i < l->n_sections; i++) places[i] = l->sections[i].at;
  return places;
}

hia_laid_code *hiaJ_link(hia_comp *comp, const hia_object *object, const uint64_t **places) {
  linking l = {.comp = comp, .object = object};
  read_sections(&l);
  read_symbols(&l);
  each_relocation(&l, prepare);
  place(&l);
  find_offered(&l);
  new_block(&l);
  copy_sections(&l);
  each_relocation(&l, apply);
  write_slots(&l);
  if (places) *places = list_places(&l);
  return l.laid;
}
