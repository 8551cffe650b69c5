/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* What an architecture provides: its part of this header, NAME.inc with what its assembly files
 * share, and these: NAME_switch.S, the change of stack; NAME_stubs.S, what generated code calls;
 * NAME_each.S, the loop of a driver;
 * NAME_return.S, where frames with a return barrier return; NAME_help.S, the entry of a help. */
#ifndef HIA_ARCH_H
#define HIA_ARCH_H

#include "runtime/native/fork.h"
#include "runtime/native/module.h"
#include "runtime/native/native.h"

/* Calls fn(arg) with the stack pointer at `stack_top` (a multiple of 16) and the context in its
 * register. Returns 0 when fn returned, 1 when it was left by hiaR_arch_leave. */
int hiaR_arch_enter(hia_context *context, void *stack_top, void (*fn)(void *arg), void *arg);
/* Calls fn(arg) in the same way on the stack that the caller runs on. */
void hiaR_arch_call(hia_context *context, void (*fn)(void *arg), void *arg);
/* Does what hiaR_arch_call does, with the result of hiaR_arch_enter. It changes host_sp, which the
 * caller must save and restore. */
int hiaR_arch_nest(hia_context *context, void (*fn)(void *arg), void *arg);
/* Returns from the last hiaR_arch_enter or _nest, past all frames between. */
_Noreturn void hiaR_arch_leave(hia_context *context);

/* Calls fn(arg) from the engine's stack on the thread's, at or below `sp`, and returns its result.
 */
uint32_t hiaR_arch_visit(void *sp, uint32_t (*fn)(void *arg), void *arg);

/* The stubs of abi.def. Only generated code can call them; C cannot. */
void hiaR_stub_poll(void);
void hiaR_stub_fail(void);
void hiaR_stub_join(void);
void hiaR_stub_host(void);
void hiaR_stub_effect(void);
void hiaR_stub_alloc(void);
void hiaR_stub_take(void);
void hiaR_stub_free(void);
void hiaR_stub_unpack(void);
void hiaR_stub_release(void);
void hiaR_stub_new(void);
void hiaR_stub_own(void);
void hiaR_stub_slice(void);
void hiaR_stub_concat(void);
void hiaR_stub_operate(void);
void hiaR_stub_steps(void);
void hiaR_stub_tensors(void);
void hiaR_stub_defer(void);
void hiaR_stub_owe(void);
void hiaR_stub_settle(void);
void hiaR_stub_each(void);
void hiaR_stub_finish(void);
void hiaR_stub_range(void);
/* The entry of a help (crew.h). */
void hiaR_stub_help(void);
/* Where a frame returns whose return address was replaced: barrier.c. */
void hiaR_stub_return(void);
/* What the stubs call. `pc` lies in the function of compiled code that called the
 * stub, right after one of its instructions, and `sp` was its stack pointer there. */
void hiaR_native_poll(hia_context *context, const char *sp, uintptr_t pc);
/* A frame has returned that kept its return address in `word`, where it must be restored. */
void hiaR_native_return(hia_context *context, char *word);
hia_word *hiaR_native_join(hia_context *context, hia_fork_frame *frame, uint32_t index,
                           const char *sp, uintptr_t pc);
uint32_t hiaR_native_host(hia_host_call *call, hia_word *block, hia_context *context);
uint32_t hiaR_native_effect(hia_host_call *call, hia_word *block, uint32_t n_params,
                            uint32_t n_results, hia_context *context);
void *hiaR_native_alloc(hia_context *context, size_t size, uint32_t loc, const char *sp,
                        uintptr_t pc);
void hiaR_native_free(hia_context *context, hia_word object, uint32_t base);
void hiaR_native_unpack(hia_context *context, hia_word ref, uint32_t shape, uint32_t set);
void hiaR_native_release(hia_context *context, void *block, size_t size);
hia_word hiaR_native_new(hia_context *context, int64_t n, uint32_t base, uint32_t loc,
                         const char *sp, uintptr_t pc);
hia_word hiaR_native_own(hia_context *context, hia_word array, uint32_t base, uint32_t loc,
                         const char *sp, uintptr_t pc);
hia_word hiaR_native_slice(hia_context *context, hia_word array, int64_t first, int64_t end,
                           uint32_t base, uint32_t loc, const char *sp, uintptr_t pc);
hia_word hiaR_native_concat(hia_context *context, const hia_word *arrays, uint32_t n, uint32_t base,
                            uint32_t loc, const char *sp, uintptr_t pc);
void hiaR_native_operate(hia_context *context, const hia_native_operation *operation,
                         hia_word *words, uint32_t loc, const char *sp, uintptr_t pc);
void hiaR_native_steps(hia_context *context, const hia_native_steps *steps, hia_word *words,
                       const char *sp, uintptr_t pc);
void hiaR_native_tensors(hia_context *context, const hia_native_tensors *what, hia_word *words,
                         const char *sp, uintptr_t pc);
void hiaR_native_defer(hia_context *context, const hia_segment *segment, hia_word *words,
                       uint32_t loc, const char *sp, uintptr_t pc);
void hiaR_native_owe(hia_context *context, const hia_late_data *data, const hia_word *words,
                     uint32_t loc, const char *sp, uintptr_t pc);
/* `frame`: where the frame of the stub begins, which keeps all registers that a function preserves.
 * `awaited`: the tensor that is needed; 0: all that is pending. */
void hiaR_native_settle(hia_context *context, const char *sp, uintptr_t pc, char *frame,
                        hia_word awaited);
void hiaR_native_finish(hia_context *context, const char *sp, uintptr_t pc);
/* Computes parts of the work of a crew: that of the owner of the innermost invocation's job. */
void hiaR_native_help(hia_context *context, const char *sp, uintptr_t pc);
_Noreturn void hiaR_native_range(uint32_t loc, uint32_t code, const hia_range *range,
                                 hia_context *context, const char *sp, uintptr_t pc);
_Noreturn void hiaR_native_fail(uint32_t loc, uint32_t status, int64_t code, hia_context *context,
                                const char *sp, uintptr_t pc);

#if defined(__x86_64__)
/* The components of XSAVE that hold the vector registers: SSE and AVX, and of AVX-512 the masks,
 * the upper halves and the upper registers. 0 on machines that have SSE only. */
#define hiaR_arch_vector_state()                                                                   \
  (__builtin_cpu_supports("avx512f") ? 0xe6u : __builtin_cpu_supports("avx") ? 0x6u : 0u)

/* The safepoint of generated code: compares the stack pointer with the limit, as LLVM inline
 * assembly. It finds the context in its register, where the stub looks for it too. The slow side
 * stands behind the functions of the object, out of their way and outside of what their unwind
 * tables cover: so it passes the address of the comparison to the stub. It keeps off the red zone,
 * where a leaf function may keep values. */
#define HIA_ARCH_CONTEXT "{r13}"
#define HIA_ARCH_TEST    "cmpq %rsp, (%r13)"
/* The condition that is true below the limit, as an output of that assembly. */
#define HIA_ARCH_BELOW_LIMIT "={@cca}"
#define HIA_ARCH_CHECK                                                                             \
  HIA_ARCH_TEST "\n\t"                                                                             \
                "ja 2f\n"                                                                          \
                "1:\n\t"                                                                           \
                ".subsection 1\n"                                                                  \
                "2:\taddq $$-128, %rsp\n\t"                                                        \
                "pushq %rax\n\t"                                                                   \
                "leaq 1b(%rip), %rax\n\t"                                                          \
                "callq hia_poll@PLT\n\t"                                                           \
                "popq %rax\n\t"                                                                    \
                "subq $$-128, %rsp\n\t"                                                            \
                "jmp 1b\n\t"                                                                       \
                ".subsection 0"

/* hia_poll, which polls call: assembly outside of functions, once in each module. It jumps to the
 * stub through an entry of the table that is bound when the module is loaded. A call of the stub
 * itself would go through one that may be bound at the first call, and what binds that does not
 * keep all registers. */
#define HIA_ARCH_POLL                                                                              \
  ".ifndef hia_poll\n" /* modules may be joined */                                                 \
  ".pushsection .text.hia_poll,\"ax\",@progbits\n"                                                 \
  "hia_poll:\n\t"                                                                                  \
  "jmpq *hiaR_stub_poll@GOTPCREL(%rip)\n\t"                                                        \
  ".popsection\n"                                                                                  \
  ".endif\n"

/* Records the address $0 in a frame for number $1, as LLVM inline assembly that adds nothing to the
 * code: the address where it stands, the number, and an instruction that would compute $0,
 * since an operand can be written in no other way. (LLVM's stack maps would do it, but
 * take another register of the function for them.) In an ELF section that is not loaded. */
#define HIA_ARCH_FRAME_SECTION ".hia_frames"
#define HIA_ARCH_FRAME                                                                             \
  "1:\n\t"                                                                                         \
  ".pushsection " HIA_ARCH_FRAME_SECTION ",\"\",@progbits\n\t"                                     \
  ".quad 1b\n\t"                                                                                   \
  ".long ${1:c}\n\t"                                                                               \
  "leaq $0, %rax\n\t"                                                                              \
  ".popsection"
/* Decodes that instruction, if its offset from the stack pointer is 0 or more: 48 8d, then 04 24,
 * 44 24 and a byte, or 84 24 and four. Returns its length, or 0. */
static inline size_t hiaR_arch_frame_offset(const unsigned char *at, size_t n, uint32_t *offset) {
  if (n < 4 || at[0] != 0x48 || at[1] != 0x8d || at[3] != 0x24) return 0;
  size_t size = at[2] == 0x04 ? 0 : at[2] == 0x44 ? 1 : at[2] == 0x84 ? 4 : n;
  if (size > n - 4) return 0;
  *offset = 0;
  for (size_t i = 0; i < size; i++) *offset |= (uint32_t)at[4 + i] << (8 * i);
  return *offset >> (size == 1 ? 7 : 31) ? 0 : 4 + size;
}

/* LLVM's pass that moves values to AVX-512's mask registers is quadratic in the size of a function.
 */
#define HIA_ARCH_COSTLY_FEATURES "-avx512f"

#define HIA_ARCH_MACHINE 62 /* ELF's number of it, EM_X86_64 */
#else
#error "no port to this architecture: see runtime/native/arch/arch.h"
#endif

#endif
