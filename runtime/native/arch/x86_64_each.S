/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* x86-64: the loop of a driver (driver.h). */
#include "runtime/native/arch/x86_64.inc"
#include "runtime/native/driver_layout.h"

/* The stub's frame has the driver, to which the stack pointer points; 8 bytes; the registers that a
 * function preserves. */
#define ABOVE (HIA_DRIVER_SIZE + 8)

        .section .text.hiaR_stub_each, "ax", @progbits /* a program that calls it has drivers */

/* hiaR_stub_each: rdi the entry, rsi the block, edx the number of arguments. */
        .globl  hiaR_stub_each
        .type   hiaR_stub_each, @function
        .p2align 4
hiaR_stub_each:
        .cfi_startproc
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
        subq    $ABOVE, %rsp
        movq    %r13, HIA_DRIVER_CONTEXT(%rsp)
        movl    %edx, %ecx
        movq    %rsi, %rdx
        movq    %rdi, %rsi
        movq    %rsp, %rdi
        leaq    16(%rbp), %r8
        movq    8(%rbp), %r9
        callq   hiaR_native_each@PLT

/* Here the stack pointer points to the driver; no other register has a value. The address on top
 * of the stack is that at which the driver goes on if it is frozen meanwhile. */
.Lnext: movq    HIA_DRIVER_CONTEXT(%rsp), %r13
        leaq    ABOVE+40(%rsp), %rbp
        movq    %rsp, %rdi
        leaq    .Lthawed(%rip), %rax
        subq    $8, %rsp
        pushq   %rax
        movq    %rsp, %rsi
        callq   hiaR_native_drive@PLT
        addq    $16, %rsp
        cmpl    $HIA_DRIVE_BEGIN, %eax
        jb      .Lend
        je      .Lbegin
        cmpl    $HIA_DRIVE_THAW, %eax
        je      .Lthaw
        movq    HIA_DRIVER_GOES_ON(%rsp), %rsp
        jmp     .Lnext

.Lbegin:
        movq    HIA_DRIVER_BLOCK(%rsp), %rdi
        callq   *HIA_DRIVER_ENTRY(%rsp)
        jmp     .Lnext

/* The frames are put back from below. */
.Lthaw: movq    %rsp, %rdi
        movq    HIA_DRIVER_THAWED(%rsp), %rax
        movq    HIA_FROZEN_SP(%rax), %rsp
        callq   hiaR_native_thaw@PLT
        movq    %rax, %rsp
        retq

.Lthawed:
        addq    $8, %rsp
        jmp     .Lnext

.Lend:  addq    $ABOVE, %rsp
        popq    %r15
        popq    %r14
        popq    %r13
        popq    %r12
        popq    %rbx
        popq    %rbp
        .cfi_def_cfa %rsp, 8
        retq
        .cfi_endproc
        .size   hiaR_stub_each, .-hiaR_stub_each

/* _Noreturn void hiaR_arch_drive(driver) */
        .globl  hiaR_arch_drive
        .protected hiaR_arch_drive
        .type   hiaR_arch_drive, @function
        .p2align 4
hiaR_arch_drive:
        .cfi_startproc
        movq    %rdi, %rsp
        jmp     .Lnext
        .cfi_endproc
        .size   hiaR_arch_drive, .-hiaR_arch_drive

        .section .note.GNU-stack, "", @progbits
