/* SPDX-License-Identifier: MIT */
/* Each name of the BLAS but gemm and its kin, a jump to the caller's own one
 * with all arguments as they are, so that this library can stand in its place.
 * Elsewhere than on x86-64 there are gemm and its kin alone.
 *
 * r11 carries the number of the name: nothing is passed in it. */
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

/* Ask where the name is, with all registers that carry arguments put away. */
    .type   blas_first, @function
    .p2align 4
blas_first:
    endbr64
    pushq   %r11
    pushq   %rax
    pushq   %rdi
    pushq   %rsi
    pushq   %rdx
    pushq   %rcx
    pushq   %r8
    pushq   %r9
    pushq   %r10
    subq    $128, %rsp
    movups  %xmm0, (%rsp)
    movups  %xmm1, 16(%rsp)
    movups  %xmm2, 32(%rsp)
    movups  %xmm3, 48(%rsp)
    movups  %xmm4, 64(%rsp)
    movups  %xmm5, 80(%rsp)
    movups  %xmm6, 96(%rsp)
    movups  %xmm7, 112(%rsp)
    movq    %r11, %rdi
    call    blas_find_place
    movq    %rax, 192(%rsp) /* where r11 was put */
    movups  (%rsp), %xmm0
    movups  16(%rsp), %xmm1
    movups  32(%rsp), %xmm2
    movups  48(%rsp), %xmm3
    movups  64(%rsp), %xmm4
    movups  80(%rsp), %xmm5
    movups  96(%rsp), %xmm6
    movups  112(%rsp), %xmm7
    addq    $128, %rsp
    popq    %r10
    popq    %r9
    popq    %r8
    popq    %rcx
    popq    %rdx
    popq    %rsi
    popq    %rdi
    popq    %rax
    popq    %r11
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
