/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* x86-64: the stubs that generated code calls on its slow paths (abi.def). */
#include "runtime/native/arch/x86_64.inc"

        .text

/* hiaR_stub_fail: edi location, esi status, rdx code. */
        .globl  hiaR_stub_fail
        .type   hiaR_stub_fail, @function
        .p2align 4
hiaR_stub_fail:
        .cfi_startproc
        movq    %r13, %rcx
        movq    (%rsp), %r9
        leaq    8(%rsp), %r8
        subq    $8, %rsp
        .cfi_def_cfa_offset 16
        callq   hiaR_native_fail@PLT
        ud2
        .cfi_endproc
        .size   hiaR_stub_fail, .-hiaR_stub_fail

/* hiaR_stub_poll: called by HIA_ARCH_CHECK (arch.h), with rax the address of the comparison; the
 * stack pointer there is 128 + 8 + 8 bytes above this one. */
        .globl  hiaR_stub_poll
        .type   hiaR_stub_poll, @function
        .p2align 4
hiaR_stub_poll:
        .cfi_startproc
        save_registers
        movq    %r13, %rdi
        leaq    16+8+128(%rbp), %rsi
        movq    -8(%rbp), %rdx
        callq   hiaR_native_poll@PLT
        restore_registers
        retq
        .cfi_endproc
        .size   hiaR_stub_poll, .-hiaR_stub_poll

/* The frame of a stub that keeps general registers (KEEP in abi.def): rax lies right below the word
 * that rbp points to. Vector registers are the caller's to keep. */
        .macro  keep_registers
        pushq   %rbp
        .cfi_def_cfa_offset 16
        .cfi_offset %rbp, -16
        movq    %rsp, %rbp
        .cfi_def_cfa_register %rbp
        .irp    r, rax, rcx, rdx, rsi, rdi, r8, r9, r10
        pushq   %\r
        .endr
        .endm

        .macro  put_back_registers
        .irp    r, r10, r9, r8, rdi, rsi, rdx, rcx, rax
        popq    %\r
        .endr
        popq    %rbp
        .cfi_def_cfa %rsp, 8
        .cfi_restore %rbp
        .endm

/* hiaR_stub_alloc: rdi the size, esi the location; returns in rax. */
        .globl  hiaR_stub_alloc
        .type   hiaR_stub_alloc, @function
        .p2align 4
hiaR_stub_alloc:
.Lalloc:
        .cfi_startproc
        keep_registers
        movl    %esi, %edx
        movq    %rdi, %rsi
        movq    %r13, %rdi
        leaq    16(%rbp), %rcx
        movq    8(%rbp), %r8
        callq   hiaR_native_alloc@PLT
        movq    %rax, -8(%rbp)
        put_back_registers
        retq
        .cfi_endproc
        .size   hiaR_stub_alloc, .-hiaR_stub_alloc

/* hiaR_stub_take: rdi the size, esi the location; returns in rax. The list of free blocks of n words is
 * word n of the heap. */
        .globl  hiaR_stub_take
        .type   hiaR_stub_take, @function
        .p2align 4
hiaR_stub_take:
        .cfi_startproc
        leaq    7(%rdi), %r11
        andq    $-8, %r11
        movq    HIA_local(%r13,%r11), %rax
        testq   %rax, %rax
        je      .Lalloc
        pushq   %rdi
        .cfi_def_cfa_offset 16
        movq    (%rax), %rdi
        movq    %rdi, HIA_local(%r13,%r11)
        popq    %rdi
        .cfi_def_cfa_offset 8
        retq
        .cfi_endproc
        .size   hiaR_stub_take, .-hiaR_stub_take

/* hiaR_stub_free: rdi the object, esi the base. */
        .globl  hiaR_stub_free
        .type   hiaR_stub_free, @function
        .p2align 4
hiaR_stub_free:
        .cfi_startproc
        keep_registers
        movl    %esi, %edx
        movq    %rdi, %rsi
        movq    %r13, %rdi
        callq   hiaR_native_free@PLT
        put_back_registers
        retq
        .cfi_endproc
        .size   hiaR_stub_free, .-hiaR_stub_free

/* hiaR_stub_unpack: rdi the object, esi the number of its shape, edx the set. */
        .globl  hiaR_stub_unpack
        .type   hiaR_stub_unpack, @function
        .p2align 4
hiaR_stub_unpack:
        .cfi_startproc
        keep_registers
        movl    %edx, %ecx
        movl    %esi, %edx
        movq    %rdi, %rsi
        movq    %r13, %rdi
        callq   hiaR_native_unpack@PLT
        put_back_registers
        retq
        .cfi_endproc
        .size   hiaR_stub_unpack, .-hiaR_stub_unpack

/* hiaR_stub_release: rdi the block, rsi its size. */
        .globl  hiaR_stub_release
        .type   hiaR_stub_release, @function
        .p2align 4
hiaR_stub_release:
        .cfi_startproc
        keep_registers
        movq    %rsi, %rdx
        movq    %rdi, %rsi
        movq    %r13, %rdi
        callq   hiaR_native_release@PLT
        put_back_registers
        retq
        .cfi_endproc
        .size   hiaR_stub_release, .-hiaR_stub_release

/* hiaR_stub_new: rdi the length, esi the base, edx the location; returns in rax.
 * hiaR_stub_own: the same with an array in rdi. */
        .macro  array_stub name, call
        .globl  \name
        .type   \name, @function
        .p2align 4
\name:
        .cfi_startproc
        keep_registers
        movl    %edx, %ecx
        movl    %esi, %edx
        movq    %rdi, %rsi
        movq    %r13, %rdi
        leaq    16(%rbp), %r8
        movq    8(%rbp), %r9
        callq   \call@PLT
        movq    %rax, -8(%rbp)
        put_back_registers
        retq
        .cfi_endproc
        .size   \name, .-\name
        .endm

        array_stub hiaR_stub_new, hiaR_native_new
        array_stub hiaR_stub_own, hiaR_native_own

/* hiaR_stub_slice: rdi the array, rsi and rdx the ends, ecx the base, r8d the location; returns in
 * rax. */
        .globl  hiaR_stub_slice
        .type   hiaR_stub_slice, @function
        .p2align 4
hiaR_stub_slice:
        .cfi_startproc
        keep_registers
        movl    %r8d, %r9d
        movl    %ecx, %r8d
        movq    %rdx, %rcx
        movq    %rsi, %rdx
        movq    %rdi, %rsi
        movq    %r13, %rdi
        leaq    16(%rbp), %rax
        pushq   8(%rbp)
        pushq   %rax
        callq   hiaR_native_slice@PLT
        addq    $16, %rsp
        movq    %rax, -8(%rbp)
        put_back_registers
        retq
        .cfi_endproc
        .size   hiaR_stub_slice, .-hiaR_stub_slice

/* hiaR_stub_concat: rdi the arrays, esi their number, edx the base, ecx the location; returns in
 * rax. */
        .globl  hiaR_stub_concat
        .type   hiaR_stub_concat, @function
        .p2align 4
hiaR_stub_concat:
        .cfi_startproc
        keep_registers
        movl    %ecx, %r8d
        movl    %edx, %ecx
        movl    %esi, %edx
        movq    %rdi, %rsi
        movq    %r13, %rdi
        leaq    16(%rbp), %r9
        subq    $8, %rsp
        pushq   8(%rbp)
        callq   hiaR_native_concat@PLT
        addq    $16, %rsp
        movq    %rax, -8(%rbp)
        put_back_registers
        retq
        .cfi_endproc
        .size   hiaR_stub_concat, .-hiaR_stub_concat

/* Stubs of programs with tensors, and with batches: each in a section of its own, so that others do
 * not link it. hiaR_native_NAME gets the context, what rdi and rsi hold, and where the code is. */
        .macro  begin_call name
        .section .text.hiaR_stub_\name, "ax", @progbits
        .globl  hiaR_stub_\name
        .type   hiaR_stub_\name, @function
        .p2align 4
hiaR_stub_\name:
        .cfi_startproc
        .endm
        .macro  end_call name
        subq    $8, %rsp
        .cfi_def_cfa_offset 16
        callq   hiaR_native_\name@PLT
        addq    $8, %rsp
        .cfi_def_cfa_offset 8
        retq
        .cfi_endproc
        .size   hiaR_stub_\name, .-hiaR_stub_\name
        .endm
        .macro  call_with name
        begin_call \name
        movq    %rsi, %rdx
        movq    %rdi, %rsi
        movq    %r13, %rdi
        leaq    8(%rsp), %rcx
        movq    (%rsp), %r8
        end_call \name
        .endm
/* With a location in edx: */
        .macro  call_at name
        begin_call \name
        movl    %edx, %ecx
        movq    %rsi, %rdx
        movq    %rdi, %rsi
        movq    %r13, %rdi
        leaq    8(%rsp), %r8
        movq    (%rsp), %r9
        end_call \name
        .endm

/* hiaR_stub_operate: rdi the operation, rsi the words, edx the location. */
        call_at operate

/* hiaR_stub_steps: rdi the steps, rsi the words. */
        call_with steps

/* hiaR_stub_tensors: rdi the tensors, rsi the words. */
        call_with tensors

/* hiaR_stub_defer: rdi the segment, rsi the words, edx the location. */
        call_at defer

/* hiaR_stub_owe: rdi what is late, rsi the words, edx the location. */
        call_at owe

/* Stubs of programs that have batches. */

/* hiaR_stub_settle: rdi the tensor or 0; its frame keeps all registers that a function preserves, since an iteration may
 * be frozen here; on top is the address at which it goes on. */
        .section .text.hiaR_stub_settle, "ax", @progbits
        .globl  hiaR_stub_settle
        .type   hiaR_stub_settle, @function
        .p2align 4
hiaR_stub_settle:
        .cfi_startproc
        movq    %rdi, %r8
        movq    %r13, %rdi
        leaq    8(%rsp), %rsi
        movq    (%rsp), %rdx
        leaq    .Lgoes_on(%rip), %rcx
        .irp    r, rbp, rbx, r12, r13, r14, r15
        pushq   %\r
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset %\r, 0
        .endr
        pushq   %rcx
        .cfi_adjust_cfa_offset 8
        movq    %rsp, %rcx
        callq   hiaR_native_settle@PLT
        addq    $8, %rsp
        .cfi_adjust_cfa_offset -8
.Lgoes_on:
        .irp    r, r15, r14, r13, r12, rbx, rbp
        popq    %\r
        .cfi_adjust_cfa_offset -8
        .cfi_restore %\r
        .endr
        retq
        .cfi_endproc
        .size   hiaR_stub_settle, .-hiaR_stub_settle

        plain_stub hiaR_stub_finish, hiaR_native_finish
        .text

/* hiaR_stub_range: edi location, esi code; rdx, rcx and r8 become a hia_range on the stack. */
        .globl  hiaR_stub_range
        .type   hiaR_stub_range, @function
        .p2align 4
hiaR_stub_range:
        .cfi_startproc
        movq    (%rsp), %r9
        leaq    8(%rsp), %rax
        pushq   %r8
        pushq   %rcx
        pushq   %rdx
        .cfi_def_cfa_offset 32
        movq    %rsp, %rdx
        movq    %r13, %rcx
        movq    %rax, %r8
        callq   hiaR_native_range@PLT
        ud2
        .cfi_endproc
        .size   hiaR_stub_range, .-hiaR_stub_range

/* hiaR_stub_join: rdi the frame of forks, esi the index; returns in rax. */
        .globl  hiaR_stub_join
        .type   hiaR_stub_join, @function
        .p2align 4
hiaR_stub_join:
        .cfi_startproc
        movl    %esi, %edx
        movq    %rdi, %rsi
        movq    %r13, %rdi
        leaq    8(%rsp), %rcx
        movq    (%rsp), %r8
        subq    $8, %rsp
        .cfi_def_cfa_offset 16
        callq   hiaR_native_join@PLT
        addq    $8, %rsp
        .cfi_def_cfa_offset 8
        retq
        .cfi_endproc
        .size   hiaR_stub_join, .-hiaR_stub_join

/* hiaR_stub_host: rdi the call, rsi its block; returns in eax. */
        .globl  hiaR_stub_host
        .protected hiaR_stub_host
        .type   hiaR_stub_host, @function
        .p2align 4
hiaR_stub_host:
        .cfi_startproc
        movq    %r13, %rdx
        jmp     hiaR_native_host@PLT
        .cfi_endproc
        .size   hiaR_stub_host, .-hiaR_stub_host

/* hiaR_stub_effect: rdi the call, rsi its block, edx parameters, ecx results; returns in eax. */
        .globl  hiaR_stub_effect
        .protected hiaR_stub_effect
        .type   hiaR_stub_effect, @function
        .p2align 4
hiaR_stub_effect:
        .cfi_startproc
        movq    %r13, %r8
        jmp     hiaR_native_effect@PLT
        .cfi_endproc
        .size   hiaR_stub_effect, .-hiaR_stub_effect

        .section .note.GNU-stack, "", @progbits
