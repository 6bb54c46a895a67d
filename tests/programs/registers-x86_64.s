# Every register edge between these instructions is written beside the one that reads; see tests/it/registers.rs.
# Flags are control, and so is the stack pointer. Writes of 32 bits write all 64, of 8 and 16 what they say; VEX writes all.
        .globl  _start
        .type   _start, @function
_start:
        mov     $7, %eax                /* [a] */
        mov     %eax, %ebx              /* [b] rax 4 from a */
        lea     3(%rbx,%rax), %rcx      /* [c] rbx 8 from b; rax 8 from a */
        mov     %cl, %al                /* [d] rcx 1 from c */
        mov     %rax, %rdx              /* [e] rax 1 from d; rax 7 from a */
        mov     $5, %bh                 /* [f] */
        movzbl  %bh, %esi               /* [g] rbx 1 from f */
        mov     %rbx, %rdi              /* [h] rbx 1 from f; rbx 7 from b */
        xor     %ecx, %ecx              /* [i] */
        mov     %dx, %cx                /* [j] rdx 2 from e */
        add     %rsi, %rcx              /* [k] rsi 8 from g; rcx 2 from j; rcx 6 from i */
        sub     %r8, %r8                /* [l] */
        imul    %rcx, %r8               /* [m] rcx 8 from k; r8 8 from l */
        mov     $3, %eax                /* [n] */
        mul     %rcx                    /* [o] rax 8 from n; rcx 8 from k */
        xchg    %rdx, %r8               /* [p] rdx 8 from o; r8 8 from m */
        mov     %rdx, %r9               /* [q] rdx 8 from p */
        mov     $2, %ecx                /* [r] */
        shl     %cl, %r9                /* [s] rcx 1 from r; r9 8 from q */
        cmp     %r9, %rax               /* [t] r9 8 from s; rax 8 from o */
        jne     1f                      /* [u] */
1:      push    %r9                     /* [v] r9 8 from s */
        pop     %r10                    /* [w] */
        movsbq  %r10b, %r11             /* [x] r10 1 from w */
        cqto                            /* [y] rax 8 from o */
        not     %rdx                    /* [z] rdx 8 from y */
        bswap   %edx                    /* [A] rdx 4 from z */
        pxor    %xmm0, %xmm0            /* [B] */
        cvtsi2sd %r11, %xmm0            /* [C] r11 8 from x */
        movapd  %xmm0, %xmm1            /* [D] zmm0 8 from C; zmm0 8 from B */
        addsd   %xmm0, %xmm1            /* [E] zmm0 8 from C; zmm1 8 from D */
        mulpd   %xmm1, %xmm0            /* [F] zmm1 8 from E; zmm1 8 from D; zmm0 8 from C; zmm0 8 from B */
        movd    %xmm0, %eax             /* [G] zmm0 4 from F */
        movq    %rax, %xmm2             /* [H] rax 8 from G */
        movdqa  %xmm2, %xmm3            /* [I] zmm2 16 from H */
        paddd   %xmm2, %xmm3            /* [J] zmm2 16 from H; zmm3 16 from I */
        pmuludq %xmm3, %xmm2            /* [M] zmm3 8 from J; zmm2 8 from H */
        psllq   %xmm2, %xmm3            /* [N] zmm2 8 from M; zmm3 16 from J */
        sbb     %rbx, %rbx              /* [O] */
        mov     %rbx, %rcx              /* [P] rbx 8 from O */
        mov     $60, %eax               /* [K] */
        xor     %edi, %edi              /* [L] */
        syscall
        .size   _start, . - _start
