/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* x86-64, System V: the switch to the engine's stack and back, and the stubs that generated code
 * calls on its slow paths. The context travels in r13, the register that LLVM's swiftcc assigns to
 * `swiftself`. Everything has unwind information, so that a debugger can walk from generated code
 * into the host. */

#define I32
#define I64
#define PTR
#define HIA_FIELD(offset, type, name, doc) .set HIA_##name, offset ;
#include "runtime/native/layout.def"

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

/* The frame of a stub that preserves every register but the flags, the vector registers in
 * whatever width they have: XSAVE writes those that vector_state names, up to 2688 bytes in its
 * standard form, to a 64-aligned area with a header of zeros at 512. Between save_registers and
 * restore_registers all callee-saved registers are as they were, rbp points to where it was
 * pushed, and rax lies right below. */
        .macro  save_registers
        pushq   %rbp
        .cfi_def_cfa_offset 16
        .cfi_offset %rbp, -16
        movq    %rsp, %rbp
        .cfi_def_cfa_register %rbp
        .irp    r, rax, rcx, rdx, rsi, rdi, r8, r9, r10, r11
        pushq   %\r
        .endr
        subq    $2688, %rsp
        andq    $-64, %rsp
        movl    HIA_vector_state(%r13), %eax
        testl   %eax, %eax
        je      1f
        xorl    %edx, %edx
        .irp    n, 0,1,2,3,4,5,6,7
        movq    %rdx, 512+8*\n(%rsp)
        .endr
        xsave64 (%rsp)
        vzeroupper
        jmp     2f
1:
        .irp    n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
        movups  %xmm\n, 16*\n(%rsp)
        .endr
2:
        .endm

        .macro  restore_registers
        movl    HIA_vector_state(%r13), %eax
        testl   %eax, %eax
        je      1f
        xorl    %edx, %edx
        xrstor64 (%rsp)
        jmp     2f
1:
        .irp    n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
        movups  16*\n(%rsp), %xmm\n
        .endr
2:
        leaq    -72(%rbp), %rsp
        .irp    r, r11, r10, r9, r8, rdi, rsi, rdx, rcx, rax
        popq    %\r
        .endr
        popq    %rbp
        .cfi_def_cfa %rsp, 8
        .cfi_restore %rbp
        .endm

/* hiaR_stub_poll: called by HIA_ARCH_CHECK (arch.h), with rax the place of the comparison; the
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

/* hiaR_stub_return: not a function, but where a frame returns whose return address was replaced,
 * with results in registers and its stack pointer right above the address's place.
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

/* The frame of a stub that keeps general registers (KEEP in abi.def): rax lies right below the place
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

/* hiaR_stub_operate: rdi the operation, rsi the words, edx the location. */
        .section .text.hiaR_stub_operate, "ax", @progbits /* a program that calls it has tensors */
        .globl  hiaR_stub_operate
        .type   hiaR_stub_operate, @function
        .p2align 4
hiaR_stub_operate:
        .cfi_startproc
        movl    %edx, %ecx
        movq    %rsi, %rdx
        movq    %rdi, %rsi
        movq    %r13, %rdi
        leaq    8(%rsp), %r8
        movq    (%rsp), %r9
        subq    $8, %rsp
        .cfi_def_cfa_offset 16
        callq   hiaR_native_operate@PLT
        addq    $8, %rsp
        .cfi_def_cfa_offset 8
        retq
        .cfi_endproc
        .size   hiaR_stub_operate, .-hiaR_stub_operate

/* hiaR_stub_defer: rdi the segment, rsi the words, edx the location. */
        .section .text.hiaR_stub_defer, "ax", @progbits /* a program that calls it has batches */
        .globl  hiaR_stub_defer
        .type   hiaR_stub_defer, @function
        .p2align 4
hiaR_stub_defer:
        .cfi_startproc
        movl    %edx, %ecx
        movq    %rsi, %rdx
        movq    %rdi, %rsi
        movq    %r13, %rdi
        leaq    8(%rsp), %r8
        movq    (%rsp), %r9
        subq    $8, %rsp
        .cfi_def_cfa_offset 16
        callq   hiaR_native_defer@PLT
        addq    $8, %rsp
        .cfi_def_cfa_offset 8
        retq
        .cfi_endproc
        .size   hiaR_stub_defer, .-hiaR_stub_defer

/* Stubs without arguments, which a program calls that has batches, or that shares operations. */
        .macro  plain_stub name, call
        .section .text.\name, "ax", @progbits
        .globl  \name
        .type   \name, @function
        .p2align 4
\name:
        .cfi_startproc
        movq    %r13, %rdi
        leaq    8(%rsp), %rsi
        movq    (%rsp), %rdx
        subq    $8, %rsp
        .cfi_def_cfa_offset 16
        callq   \call@PLT
        addq    $8, %rsp
        .cfi_def_cfa_offset 8
        retq
        .cfi_endproc
        .size   \name, .-\name
        .endm

        plain_stub hiaR_stub_settle, hiaR_native_settle
        plain_stub hiaR_stub_finish, hiaR_native_finish
        .protected hiaR_stub_help
        plain_stub hiaR_stub_help, hiaR_native_help
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

        .section .note.GNU-stack, "", @progbits
