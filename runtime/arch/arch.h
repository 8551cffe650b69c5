/* What an architecture provides: one assembly file, NAME.S, and its part of this header. */
#ifndef HIA_ARCH_H
#define HIA_ARCH_H

#include "runtime/runtime.h"

/* Calls fn(arg) with the stack pointer at `stack_top` (a multiple of 16) and the context in its
 * register. Answers 0 when fn returned, 1 when it was left by hiaR_arch_leave. */
int hiaR_arch_enter(hia_context *context, void *stack_top, void (*fn)(void *arg), void *arg);
/* The same on the stack that the caller runs on. */
void hiaR_arch_call(hia_context *context, void (*fn)(void *arg), void *arg);
/* Back to where hiaR_arch_enter was called, past all frames between. */
_Noreturn void hiaR_arch_leave(hia_context *context);

/* The stubs of abi.def; generated code calls them, C cannot. */
void hiaR_stub_poll(void);
void hiaR_stub_fail(void);
/* What they call, in native.c. `sp` is where the stub found its return address. */
void hiaR_native_poll(hia_context *context, const char *sp);
_Noreturn void hiaR_native_fail(uint32_t loc, uint32_t status, int64_t code, hia_context *context,
                                const char *sp);

#if defined(__x86_64__)
/* Does the machine have 32-byte vector registers, in use by the system? */
#define hiaR_arch_wide_registers() (__builtin_cpu_supports("avx") != 0)

/* How generated code compares the stack pointer with the limit, as LLVM inline assembly: a memory
 * operand in, a flag out, "the stack pointer is below". Reading the stack pointer as a value
 * instead (llvm.read_register) costs a move and keeps LLVM from setting up the frame only on the
 * paths that need one. */
#define HIA_ARCH_BELOW_LIMIT             "cmpq %rsp, $1"
#define HIA_ARCH_BELOW_LIMIT_CONSTRAINTS "={@cca},*m,~{dirflag},~{fpsr},~{flags}"

/* LLVM's pass that moves values to AVX-512's mask registers is quadratic in the size of a function.
 */
#define HIA_ARCH_COSTLY_FEATURES "-avx512f"
#else
#error "no port to this architecture: see runtime/arch/arch.h"
#endif

#endif
