/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The part of jit/ that uses LLVM: sessions, pipelines, the object file, laid out and loaded, and
 * its frame tables. */
#ifndef HIA_BACKEND_H
#define HIA_BACKEND_H

#include "jit/jit.h"
#include "lower/lower.h"
#include "runtime/native/outline.h"
#include "runtime/native/units.h"
#include "runtime/run/error.h"
#include <llvm-c/Error.h>
#include <llvm-c/TargetMachine.h>
#include <pthread.h>

/* ---- elf.c: object files that LLVM made for us (ELF64, relocatable, one .text) ---- */

typedef struct hia_elf_section {
  const unsigned char *data;
  uint64_t size;
  const unsigned char *relocations; /* Elf64_Rela */
  uint64_t n_relocations;
} hia_elf_section;
typedef struct hia_object {
  const unsigned char *bytes;
  uint64_t size;
  uint32_t text_index; /* ELF section number of .text */
  hia_elf_section text, eh_frame, debug_line, forks, fork_frames, symbols, strings;
} hia_object;
/* Opens an object and checks its headers: on success all ELF sections lie within the bytes. False
 * if the bytes are no such file. */
bool hiaJ_object_open(hia_object *object, const void *bytes, size_t size);
/* The name of the i-th symbol and its offset in .text. The name is "" if the symbol is not in
 * .text. False if there are no more symbols. */
bool hiaJ_object_function(const hia_object *object, uint64_t i, const char **name,
                          uint64_t *offset);
/* The ELF section, and the offset in it, that the word at `at` of an ELF section refers to. False
 * if the word has no relocation. Relocations are in order of position: *next is a cursor. */
bool hiaJ_object_place(const hia_object *object, const hia_elf_section *elf_section, uint64_t at,
                       uint64_t *next, uint32_t *section, uint64_t *offset);
/* Does so for words that refer to .text; false, too, if the word refers to another ELF section. */
bool hiaJ_object_target(const hia_object *object, const hia_elf_section *elf_section, uint64_t at,
                        uint64_t *next, uint64_t *offset);

/* All of an object, for link.c: sections, symbols and relocations by number. Each function returns
 * false if there are fewer. */
typedef struct hia_object_section {
  const char *name;
  uint32_t type;      /* SHT_ */
  uint32_t relocated; /* of SHT_RELA: the number of the section that it is for */
  uint64_t flags;     /* SHF_ */
  uint64_t size, align;
  const unsigned char *data; /* NULL: it is all zeros */
} hia_object_section;
typedef struct hia_object_symbol {
  const char *name;
  uint32_t section; /* its number, or SHN_ */
  bool is_function, is_local, is_weak;
  uint64_t value; /* offset in the section; of SHN_COMMON: alignment */
  uint64_t size;
} hia_object_symbol;
typedef struct hia_object_relocation {
  uint64_t at; /* offset in the section that is relocated */
  uint32_t type;
  uint32_t symbol; /* its number */
  int64_t addend;
} hia_object_relocation;
uint32_t hiaJ_object_n_sections(const hia_object *object);
bool hiaJ_object_section(const hia_object *object, uint32_t i, hia_object_section *out);
uint64_t hiaJ_object_n_symbols(const hia_object *object);
bool hiaJ_object_symbol(const hia_object *object, uint64_t i, hia_object_symbol *out);
/* Reads a section of type SHT_RELA. */
bool hiaJ_object_relocation(const hia_object_section *section, uint64_t i,
                            hia_object_relocation *out);

/* Completes an object for the linker:
 *
 *   - The ELF section HIA_TABLES_SECTION, in which lowering left one word, receives the frame
 *     tables.
 *   - The module's record receives their max_frame.
 *   - ELF sections that only hiaton reads are marked so that the linker leaves them out.
 *
 * References to these and the numbers of ELF sections and symbols stay the same. `out` has
 * room for hiaJ_object_finished_size bytes. False if the object cannot be read. */
uint64_t hiaJ_object_finished_size(const hia_object *object, uint64_t tables_size);
typedef struct hia_tables hia_tables; /* runtime/native/tables.h */
bool hiaJ_object_finish(const hia_object *object, const hia_tables *tables, unsigned char *out);

/* ---- link.c: laid-out code ---- */

typedef struct hia_laid_code hia_laid_code; /* runtime/native/load.h */
/* Links an object as far as that is possible without addresses of this process. The block,
 * hiaR_laid_size bytes, is in the arena of `comp`; throws, HIA_INTERNAL if the object has what is
 * not understood. Unless `places` is NULL, *places becomes where each ELF section begins in the
 * loaded code, or HIA_NOT_LOADED, in the same arena. */
hia_laid_code *hiaJ_link(hia_comp *comp, const hia_object *object, const uint64_t **places);
#define HIA_NOT_LOADED     UINT64_MAX
#define HIA_NOT_UNDERSTOOD "LLVM made an object file that is not understood"

/* ---- frames.c: the frame tables ---- */

typedef struct hia_entries {
  const hia_entry_at *at; /* by function */
  size_t n;
  uint64_t base; /* what the tables count from: the byte before .text, or 0 if it is not loaded */
} hia_entries;
/* The tables of an object, in the arena of `comp`; throws. */
hia_tables *hiaJ_frames_make(hia_comp *comp, const hia_object *object, hia_entries entries);

/* The tables of an object whose .text was loaded at `base`, made at the first lookup of a row. A
 * lookup for which they cannot be made finds no row. Entries and the object's bytes
 * must outlive them. */
typedef struct hia_frames hia_frames;
hia_status hiaJ_frames_new(const hia_allocator *allocator, const hia_object *object, uintptr_t base,
                           hia_entries entries, hia_frames **out);
void hiaJ_frames_free(hia_frames *frames);
bool hiaJ_frames_find(void *frames, uintptr_t return_address, hia_frame_row *row);
/* The size of the largest frame in the object, in bytes. HIA_INTERNAL if a frame cannot be read. */
hia_status hiaJ_frames_largest(const hia_allocator *allocator, const hia_object *object,
                               size_t *largest);

/* ---- outline.c ---- */

/* The outline of an object of the graph, which lies at `places` in laid-out code (hiaJ_link). In
 * the arena of `comp`; throws. */
hia_outline *hiaJ_outline_make(hia_comp *comp, const hia_object *object, const uint64_t *places,
                               const hia_laid_code *laid, const hia_graph *g);
/* Leaves out where functions are defined. */
void hiaJ_outline_unplace(hia_outline *outline);

/* ---- session.c ---- */

/* What a compilation uses alone while it runs: an LLVM context (types accumulate in it, so it is
 * replaced after some compilations), a target machine per level, and a stack that is deep enough
 * for LLVM's recursion. */
typedef struct hia_compiler {
  struct hia_compiler *next;
  LLVMContextRef llvm;
  unsigned uses;
  LLVMTargetMachineRef machines[4];
  hia_context *stack;
} hia_compiler;

struct hia_session {
  const hia_allocator *allocator;
  LLVMTargetRef target;
  char *triple, *cpu, *features;
  char *data_layout;

  pthread_mutex_t lock; /* guards the field below */
  hia_compiler *compilers;
};

hia_status hiaJ_session_open(const hia_allocator *allocator, hia_session **out, hia_error **error);
void hiaJ_session_close(hia_session *session);
hia_compiler *hiaJ_compiler_take(hia_session *session); /* NULL: out of memory */
void hiaJ_compiler_put(hia_session *session, hia_compiler *compiler);
LLVMTargetMachineRef hiaJ_machine(hia_session *session, hia_compiler *compiler, int level);
/* A new target machine, which the caller disposes of, for the processor `cpu`; NULL: the host's
 * processor with its features. */
LLVMTargetMachineRef hiaJ_machine_for(const hia_session *session, const char *cpu, int level);
/* Consumes err and makes it an error. Returns HIA_INTERNAL. */
hia_status hiaJ_take_error(const hia_session *session, LLVMErrorRef err, hia_error **error);

/* ---- exit.c: the end of the process while a thread compiles ---- */

/* Called once LLVM's global state is there. */
void hiaJ_exit_prepare(void);
/* A thread is going to use LLVM. False: the process ends, and it must not. */
bool hiaJ_exit_enter(void);
void hiaJ_exit_leave(void);
/* What is under way should end. */
bool hiaJ_exit_is_near(void);

/* ---- compile.c ---- */

/* The object file of a codegen unit. */
typedef struct hia_unit_object {
  LLVMMemoryBufferRef bytes;
  uint32_t *cells; /* by cell: the function of another unit that it is for (hiaL_cells) */
  uint32_t n_cells;
  bool calls_host; /* it has a HIA_HOST_TABLE */
} hia_unit_object;
typedef struct hia_loaded_objects {
  hia_unit_object *units;
  uint32_t n;
} hia_loaded_objects;
/* Compiles a graph, to one object for each codegen unit; with a plan, and for what hosts call, to
 * one. */
hia_status hiaJ_compile(hia_session *session, const hia_graph *g,
                        const hia_compile_options *options, hia_host_side host,
                        const hia_object_plan *plan, hia_loaded_objects *objects,
                        hia_compile_report *report, hia_error **error);
void hiaJ_objects_free(const hia_session *session, hia_loaded_objects *objects);
/* hia_backend.dump */
hia_status hiaJ_dump(hia_session *session, const hia_graph *g, const hia_compile_options *options,
                     hia_native_dump what, hia_text *out, hia_error **error);

/* ---- code.c ---- */

/* Loads the objects, whose bytes it takes over. */
hia_status hiaJ_code_new(hia_session *session, const hia_graph *g, hia_loaded_objects *objects,
                         const hia_host_target *hosts, hia_code **out, hia_error **error);
void hiaJ_code_free(hia_session *session, hia_code *code);
uint64_t hiaJ_code_bytes(const hia_code *code); /* of machine code */
/* The error of an object file that is not as this code expects it. Returns HIA_INTERNAL. */
hia_status hiaJ_not_understood(const hia_session *session, hia_error **error);
/* Finds the functions of an object by the names of their symbols. `base`: the address of .text. */
void hiaJ_find_entries(const hia_object *object, uintptr_t base, hia_entry_at *entries, size_t n);
bool hiaJ_has_all_entries(const hia_graph *g, const hia_entry_at *entries); /* of its roots */
/* What hia_backend has under these names. */
hia_native_entry hiaJ_code_entry(const hia_code *code, hia_fn_id f);
hia_status hiaJ_host_side(hia_session *session, const hia_graph *g,
                          const hia_compile_options *options, hia_host_side side, hia_comp *comp,
                          hia_entry_unit *out, hia_error **error);
const hia_unwinder *hiaJ_code_unwinder(const hia_code *code);
const hia_units *hiaJ_code_loaded(const hia_code *code);
bool hiaJ_code_units(const hia_code *code, const hia_graph *g, hia_comp *comp,
                     const hia_entry_unit **units, uint32_t *n);
const void *hiaJ_code_object(const hia_code *code, uint32_t unit, size_t *size);

/* ---- cpu.c ---- */

/* True if LLVM knows a processor of this name. (LLVM's own lookup prints a warning if not.) */
bool hiaJ_cpu_exists(const char *name);
/* True if that processor has the instructions for fused multiply-add (FMA3, or FMA4). */
bool hiaJ_cpu_has_fma(const char *name);
/* True if a list of LLVM's features, such as "+avx,-fma4,+fma", has them. */
bool hiaJ_features_have_fma(const char *features);

/* ---- optimize.c ---- */

/* The level of the code generator for a graph of this size if the options require `level`. */
int hiaJ_codegen_level(int level, hia_size_class size);
/* Runs the passes of a level. Between the parts of a pipeline it checks `look` (which may be NULL):
 * if the compilation has to end, that status is returned; if it is late, the remaining parts are
 * left out and *is_cut is set. */
hia_status hiaJ_optimize(hia_session *session, LLVMModuleRef module, LLVMTargetMachineRef machine,
                         int level, hia_size_class size, hia_instrument instrument,
                         const hia_look *look, bool *is_cut, hia_error **error);

#endif
