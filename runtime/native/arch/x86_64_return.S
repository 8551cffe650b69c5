/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* x86-64: where a frame returns that has a return barrier (barrier.c). */
#include "runtime/native/arch/x86_64.inc"

        .text

/* hiaR_stub_return: not a function, but where a frame returns whose return address was replaced,
 * with results in registers and its stack pointer right above the word that held the address.
 * hiaR_native_return restores the address. A debugger's walk outward ends here. It looks for the
 * call before a return address: hence the instruction in front. */
        .globl  hiaR_stub_return
        .type   hiaR_stub_return, @function
        .p2align 4
        .cfi_startproc
        .cfi_def_cfa %rsp, 0
        .cfi_undefined %rip
        nop
hiaR_stub_return:
        leaq    -8(%rsp), %rsp
        .cfi_def_cfa_offset 8
        save_registers
        movq    %r13, %rdi
        leaq    8(%rbp), %rsi
        callq   hiaR_native_return@PLT
        restore_registers
        leaq    8(%rsp), %rsp
        .cfi_def_cfa_offset 0
        jmpq    *-8(%rsp)
        .cfi_endproc
        .size   hiaR_stub_return, .-hiaR_stub_return

        .section .note.GNU-stack, "", @progbits
