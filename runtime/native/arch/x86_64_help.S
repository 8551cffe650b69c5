/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* x86-64: the entry of a help (crew.c), which only programs have that share operations. */
#include "runtime/native/arch/x86_64.inc"

        .protected hiaR_stub_help
        plain_stub hiaR_stub_help, hiaR_native_help

        .section .note.GNU-stack, "", @progbits
