/* SPDX-License-Identifier: MIT */
/* For each name of the BLAS but gemm and its relatives, a jump to the fallback
 * BLAS that leaves all arguments as they are. So this library can take the
 * place of a BLAS. On other machines than x86-64 it only has gemm and its
 * relatives.
 *
 * r11 carries the number of the name: no argument is passed in it. */
#if defined(__x86_64__)

    .text
    .set    number, 0

#define NAME(name)                        \
    .globl  name;                         \
    .type   name, @function;              \
    .p2align 4;                           \
name:                                     \
    endbr64;                              \
    movl    $number, %r11d;               \
    jmp     *blas_places+8*number(%rip);  \
    .size   name, . - name;               \
    .set    number, number + 1;

#include "blas/forwarded.inc"

/* Find where the name is, with all registers that carry arguments saved. */
    .type   blas_first, @function
    .p2align 4
blas_first:
    endbr64
    .irp    register, r11, rax, rdi, rsi, rdx, rcx, r8, r9, r10
    pushq   %\register
    .endr
    subq    $128, %rsp
    .irp    i, 0, 1, 2, 3, 4, 5, 6, 7
    movups  %xmm\i, 16*\i(%rsp)
    .endr
    movq    %r11, %rdi
    call    blas_find_place
    movq    %rax, 192(%rsp) /* where r11 was saved */
    .irp    i, 0, 1, 2, 3, 4, 5, 6, 7
    movups  16*\i(%rsp), %xmm\i
    .endr
    addq    $128, %rsp
    .irp    register, r10, r9, r8, rcx, rdx, rsi, rdi, rax, r11
    popq    %\register
    .endr
    jmp     *%r11
    .size   blas_first, . - blas_first

    .data
    .hidden blas_places
    .globl  blas_places
    .type   blas_places, @object
    .p2align 4
blas_places:
    .rept   number
    .quad   blas_first
    .endr
    .size   blas_places, . - blas_places

#endif
#ifdef __ELF__
    .section .note.GNU-stack, "", %progbits
#endif
