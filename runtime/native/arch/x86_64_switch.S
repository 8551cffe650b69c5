/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* x86-64: the switch to the engine's stack and back (arch.h).
 *
 * What changes the stack is marked as the frame of a signal handler: debuggers expect of no other
 * frame that its caller may be on another stack, and end a backtrace where the caller's has a lower
 * address. */
#include "runtime/native/arch/x86_64.inc"

        .text

/* The frame of hiaR_arch_enter and _nest, to which hiaR_arch_leave returns: the registers that a
 * function preserves. It is addressed through rbp, which all callees preserve: that is how an
 * unwinder crosses from the engine's stack to the host's. */
        .macro  open_frame
        pushq   %rbp
        .cfi_def_cfa_offset 16
        .cfi_offset %rbp, -16
        movq    %rsp, %rbp
        .cfi_def_cfa_register %rbp
        pushq   %rbx
        .cfi_offset %rbx, -24
        pushq   %r12
        .cfi_offset %r12, -32
        pushq   %r13
        .cfi_offset %r13, -40
        pushq   %r14
        .cfi_offset %r14, -48
        pushq   %r15
        .cfi_offset %r15, -56
        movq    %rsp, HIA_host_sp(%rdi)
        movq    %rdi, %r13
        .endm

/* int hiaR_arch_enter(context, stack_top, fn, arg) */
        .globl  hiaR_arch_enter
        .protected hiaR_arch_enter
        .type   hiaR_arch_enter, @function
        .p2align 4
hiaR_arch_enter:
        .cfi_startproc
        .cfi_signal_frame
        open_frame
        movq    %rsi, %rsp
        movq    %rcx, %rdi
        callq   *%rdx
        leaq    -40(%rbp), %rsp
        xorl    %eax, %eax
.Lback: popq    %r15
        popq    %r14
        popq    %r13
        popq    %r12
        popq    %rbx
        popq    %rbp
        .cfi_def_cfa %rsp, 8
        .cfi_restore %rbp
        .cfi_restore %rbx
        .cfi_restore %r12
        .cfi_restore %r13
        .cfi_restore %r14
        .cfi_restore %r15
        retq
        .cfi_endproc
        .size   hiaR_arch_enter, .-hiaR_arch_enter

/* int hiaR_arch_nest(context, fn, arg)
 * The frame of hiaR_arch_enter, without leaving the stack. */
        .globl  hiaR_arch_nest
        .protected hiaR_arch_nest
        .type   hiaR_arch_nest, @function
        .p2align 4
hiaR_arch_nest:
        .cfi_startproc
        open_frame
        movq    %rdx, %rdi
        subq    $8, %rsp
        callq   *%rsi
        leaq    -40(%rbp), %rsp
        xorl    %eax, %eax
        jmp     .Lback
        .cfi_endproc
        .size   hiaR_arch_nest, .-hiaR_arch_nest

/* void hiaR_arch_call(context, fn, arg) */
        .globl  hiaR_arch_call
        .protected hiaR_arch_call
        .type   hiaR_arch_call, @function
        .p2align 4
hiaR_arch_call:
        .cfi_startproc
        pushq   %r13
        .cfi_def_cfa_offset 16
        .cfi_offset %r13, -16
        movq    %rdi, %r13
        movq    %rdx, %rdi
        callq   *%rsi
        popq    %r13
        .cfi_def_cfa_offset 8
        .cfi_restore %r13
        retq
        .cfi_endproc
        .size   hiaR_arch_call, .-hiaR_arch_call

/* uint32_t hiaR_arch_visit(sp, fn, arg)
 *
 * Below the frame of hiaR_arch_enter the thread's stack is free. Through rbp an unwinder crosses
 * to the engine's stack, and from there back. */
        .globl  hiaR_arch_visit
        .protected hiaR_arch_visit
        .type   hiaR_arch_visit, @function
        .p2align 4
hiaR_arch_visit:
        .cfi_startproc
        .cfi_signal_frame
        pushq   %rbp
        .cfi_def_cfa_offset 16
        .cfi_offset %rbp, -16
        movq    %rsp, %rbp
        .cfi_def_cfa_register %rbp
        movq    %rdi, %rsp
        andq    $-16, %rsp
        movq    %rdx, %rdi
        callq   *%rsi
        movq    %rbp, %rsp
        popq    %rbp
        .cfi_def_cfa %rsp, 8
        .cfi_restore %rbp
        retq
        .cfi_endproc
        .size   hiaR_arch_visit, .-hiaR_arch_visit

/* _Noreturn void hiaR_arch_leave(context)
 *
 * Continues in the frame of hiaR_arch_enter where its pops begin. */
        .globl  hiaR_arch_leave
        .protected hiaR_arch_leave
        .type   hiaR_arch_leave, @function
        .p2align 4
hiaR_arch_leave:
        .cfi_startproc
        movq    HIA_host_sp(%rdi), %rsp
        leaq    40(%rsp), %rbp
        movl    $1, %eax
        jmp     .Lback
        .cfi_endproc
        .size   hiaR_arch_leave, .-hiaR_arch_leave

        .section .note.GNU-stack, "", @progbits
